/*
 * Lines of edges to arrays, in the three tiers of io/mtx_parse.c: by a mask of the characters that are no digits, word
 * by word, and with care (spryi_edges_line), which all that is wrong comes to.
 */
#include "io/edges.h"
#include "io/fast_numbers.h"

SPRYI_INLINE int is_separator(char c)
{
    return (c == ' ') | (c == '\t') | (c == ',') | (c == ';');
}

/* Stores edge k, numbered as in the file. 0: a number is below the first. */
SPRYI_INLINE int store_edge(const spryi_edges *edges, spryi_parsed_edges *to, int64_t k, uint64_t i, uint64_t j)
{
    i -= (uint64_t)edges->base;
    j -= (uint64_t)edges->base;
    if ((int64_t)(i | j) < 0) return 0;
    to->rows[k] = (int64_t)i;
    to->cols[k] = (int64_t)j;
    return 1;
}

/* The line at p as edge k; returns behind its newline, NULL when it is no ordinary one. Loads 64 bytes and more. */
SPRYI_INLINE const char *masked_line(const spryi_edges *edges, const char *p, spry_type type, spryi_parsed_edges *to,
                                     int64_t k)
{
    uint64_t mask = mask_of_words(p);
    if (!mask) return NULL;
    const unsigned i_end = FIRST(mask);
    mask = DROP_FIRST(mask);
    if (!mask) return NULL;
    const unsigned j_end = FIRST(mask), j_count = j_end - i_end - 1;
    if (i_end - 1 > 7 || j_count - 1 > 7 || !is_separator(p[i_end])) return NULL;
    if (!store_edge(edges, to, k, one_to_eight_digits(p, i_end), one_to_eight_digits(p + i_end + 1, j_count)))
        return NULL;
    unsigned end = j_end;
    if (type != SPRY_PATTERN) {
        if (!is_separator(p[end])) return NULL;
        end = masked_value(p, 0, mask, 0, type, to->values, k);
        if (end == 0) return NULL;
    }
    if (LIKELY(p[end] == '\n')) return p + end + 1;
    return p[end] == '\r' && p[end + 1] == '\n' ? p + end + 2 : NULL;
}

/* Behind blanks and at most one divider; NULL: there are none. */
SPRYI_INLINE const char *fast_separator(const char *p)
{
    const char *begin = p;
    while (*p == ' ' || *p == '\t') p++;
    if (spryi_is_divider(*p)) p++;
    while (*p == ' ' || *p == '\t') p++;
    return p > begin ? p : NULL;
}

/* The line at p as edge k; returns behind its newline, NULL when it is not in ordinary form (or is wrong). */
SPRYI_INLINE const char *fast_line(const spryi_edges *edges, const char *p, spry_type type, spryi_parsed_edges *to,
                                   int64_t k)
{
    uint64_t i, j;
    while (*p == ' ' || *p == '\t') p++;
    p = fast_index(p, &i);
    if (!p) return NULL;
    p = fast_separator(p);
    if (!p) return NULL;
    p = fast_index(p, &j);
    if (!p || !store_edge(edges, to, k, i, j)) return NULL;
    if (type != SPRY_PATTERN) {
        p = fast_separator(p);
        if (!p) return NULL;
        p = fast_value(p, 0, type, to->values, k);
        if (!p) return NULL;
    }
    while (spryi_is_blank(*p)) p++;
    return *p == '\n' ? p + 1 : NULL;
}

SPRYI_INLINE void parse_as(const spryi_edges *edges, const spryi_block *block, spry_type type, spryi_parsed_edges *to)
{
    const char *p = block->text;
    const int fast = edges->columns == 0;
    const char *masked_end = fast ? last_line_start(block, MASKED_BYTES + 16) : p;
    const char *fast_end = fast ? last_line_start(block, 8) : p;
    int64_t k = 0, others = 0, aside = 0;
    to->bad = NULL;
    while (p < block->end) {
        const char *next = NULL;
        if (LIKELY(p < masked_end)) next = masked_line(edges, p, type, to, k);
        if (!next && p < fast_end) {
            next = fast_line(edges, p, type, to, k);
            if (next && next - p > SPRYI_LINE_BYTES) next = NULL;
        }
        if (LIKELY(next != NULL)) {
            p = next;
            k++;
            continue;
        }
        spryi_entry entry;
        const char *end = spryi_line_end(p, block->end);
        const spryi_line kind = spryi_edges_line(edges, p, end, &entry, NULL);
        if (kind == SPRYI_LINE_BAD) {
            to->bad = p;
            break;
        }
        if (kind == SPRYI_LINE_ENTRY) {
            to->rows[k] = entry.i;
            to->cols[k] = entry.j;
            if (type == SPRY_F64) ((double *)to->values)[k] = entry.f64;
            if (type == SPRY_F32) ((float *)to->values)[k] = entry.f32;
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

void spryi_edges_parse(const spryi_edges *edges, const spryi_block *block, spry_type type, spryi_parsed_edges *to)
{
    if (type == SPRY_PATTERN) parse_as(edges, block, SPRY_PATTERN, to);
    if (type == SPRY_F64) parse_as(edges, block, SPRY_F64, to);
    if (type == SPRY_F32) parse_as(edges, block, SPRY_F32, to);
    to->order = spryi_order_of(to->rows, to->cols, SPRY_I64, to->count);
    int64_t largest = -1;
    for (int64_t k = 0; k < to->count; k++) {
        const int64_t larger = to->rows[k] > to->cols[k] ? to->rows[k] : to->cols[k];
        largest = larger > largest ? larger : largest;
    }
    to->largest = largest;
}
