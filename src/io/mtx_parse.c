/*
 * Lines to entries, in three tiers. What most files consist of, "i j -d.ddde-dd" with one blank between and at
 * most 63 characters, is taken apart by a mask of the characters that are no digits: from one word to the
 * next it is a few operations on bits, no loop and no branch that depends on the data, so that the processor
 * works on several lines at a time. Numbers with more blanks or digits are read word by word, eight characters at
 * once. All else, and whatever is wrong, goes to spryi_mtx_line.
 */
#include "io/mtx_parse.h"

#include "io/fast_numbers.h"

/* The line at p as entry k; returns behind its newline, NULL when it is no ordinary one. Loads 64 bytes and more. */
SPRYI_INLINE const char *masked_line(const spryi_mtx *head, const char *p, int wide, int array, spry_type type,
                                     const spryi_parsed *to, int64_t k)
{
    uint64_t mask = mask_of_words(p);
    unsigned end = 0;
    if (!array) {
        if (!mask) return NULL;
        unsigned i_end = FIRST(mask);
        mask = DROP_FIRST(mask);
        if (!mask) return NULL;
        unsigned j_end = FIRST(mask), j_count = j_end - i_end - 1;
        if (i_end - 1 > 7 || j_count - 1 > 7 || p[i_end] != ' ') return NULL;
        uint64_t i = one_to_eight_digits(p, i_end), j = one_to_eight_digits(p + i_end + 1, j_count);
        if (i - 1 >= (uint64_t)head->m || j - 1 >= (uint64_t)head->n) return NULL;
        if (i == j && head->symmetry == SPRY_SKEW_SYMMETRIC) return NULL; /* its value must be zero */
        store_index(to->rows, wide, k, i - 1);
        store_index(to->cols, wide, k, j - 1);
        end = j_end;
    }
    if (type != SPRY_PATTERN) {
        if (!array && p[end] != ' ') return NULL;
        end = masked_value(p, array, mask, head->field == SPRYI_INTEGER, type, to->values, k);
        if (end == 0) return NULL;
    }
    if (LIKELY(p[end] == '\n')) return p + end + 1;
    return p[end] == '\r' && p[end + 1] == '\n' ? p + end + 2 : NULL;
}

/* ---- second tier ------------------------------------------------------------------------------- */

/* The line at p as entry k; returns behind its newline, NULL when it is not in ordinary form (or is wrong). */
SPRYI_INLINE const char *fast_line(const spryi_mtx *head, const char *p, int wide, int array, spry_type type,
                                   const spryi_parsed *to, int64_t k)
{
    while (*p == ' ' || *p == '\t') p++;
    if (!array) {
        uint64_t i, j;
        p = fast_index(p, &i);
        if (!p || i - 1 >= (uint64_t)head->m) return NULL;
        p = fast_blanks(p);
        if (!p) return NULL;
        p = fast_index(p, &j);
        if (!p || j - 1 >= (uint64_t)head->n) return NULL;
        if (__builtin_expect(i == j && head->symmetry == SPRY_SKEW_SYMMETRIC, 0)) return NULL; /* must be zero */
        store_index(to->rows, wide, k, i - 1);
        store_index(to->cols, wide, k, j - 1);
        if (type != SPRY_PATTERN) {
            p = fast_blanks(p);
            if (!p) return NULL;
        }
    }
    if (type != SPRY_PATTERN) {
        p = fast_value(p, head->field == SPRYI_INTEGER, type, to->values, k);
        if (!p) return NULL;
    }
    if (__builtin_expect(*p != '\n', 0)) {
        while (spryi_is_blank(*p)) p++;
        if (*p != '\n') return NULL;
    }
    return p + 1;
}

static void store_entry(const spryi_entry *entry, int wide, int array, spry_type type, const spryi_parsed *to,
                        int64_t k)
{
    if (!array) {
        store_index(to->rows, wide, k, (uint64_t)entry->i);
        store_index(to->cols, wide, k, (uint64_t)entry->j);
    }
    if (type == SPRY_F64) ((double *)to->values)[k] = entry->f64;
    if (type == SPRY_F32) ((float *)to->values)[k] = entry->f32;
}

/* ---- a block ----------------------------------------------------------------------------------- */

SPRYI_INLINE void parse_as(const spryi_mtx *head, const spryi_block *block, int wide, int array, spry_type type,
                           spryi_parsed *to)
{
    const char *p = block->text;
    const char *masked_end = last_line_start(block, MASKED_BYTES + 16), *fast_end = last_line_start(block, 8);
    int64_t k = 0, others = 0, aside = 0;
    to->bad = NULL;
    while (p < block->end) {
        if (LIKELY(p < masked_end)) {
            const char *next = masked_line(head, p, wide, array, type, to, k);
            if (LIKELY(next != NULL)) {
                p = next;
                k++;
                continue;
            }
        }
        if (p < fast_end) {
            const char *next = fast_line(head, p, wide, array, type, to, k);
            if (LIKELY(next != NULL && next - p <= SPRYI_LINE_BYTES)) {
                p = next;
                k++;
                continue;
            }
        }
        spryi_entry entry;
        const char *end = spryi_line_end(p, block->end);
        spryi_line kind = spryi_mtx_line(head, p, end, &entry, NULL);
        if (kind == SPRYI_LINE_BAD) {
            to->bad = p;
            break;
        }
        if (kind == SPRYI_LINE_ENTRY) {
            store_entry(&entry, wide, array, type, to, k);
            k++;
        } else {
            others++;
            aside += end - p + 1;
        }
        p = end < block->end ? end + 1 : end;
    }
    to->count = k;
    to->lines = k + others;
    to->aside = aside;
}

void spryi_mtx_parse(const spryi_mtx *head, const spryi_block *block, spry_index_type index_type, spry_type type,
                     spryi_parsed *to)
{
    const int wide = index_type == SPRY_I64;
#define PARSE(tag, s, v, c, argument)                                                                                  \
    if ((int)type == (int)spryi_type_##s)                                                                              \
        head->array ? parse_as(head, block, 0, 1, (spry_type)spryi_type_##s, to)                                       \
        : wide      ? parse_as(head, block, 1, 0, (spry_type)spryi_type_##s, to)                                       \
                    : parse_as(head, block, 0, 0, (spry_type)spryi_type_##s, to);
    SPRYI_PLAIN_ROWS(PARSE, 0)
#undef PARSE
    if (type == SPRY_PATTERN)
        wide ? parse_as(head, block, 1, 0, SPRY_PATTERN, to) : parse_as(head, block, 0, 0, SPRY_PATTERN, to);
    if (head->array) return;
    to->order = wide ? spryi_order_of(to->rows, to->cols, SPRY_I64, to->count)
                     : spryi_order_of(to->rows, to->cols, SPRY_I32, to->count);
}
