/*
 * All entries of a file, by several threads.
 *
 * Each thread takes the next block of lines, parses it into arrays that stay in its cache, waits until the
 * block before has told where its entries end, and copies its own behind them. So no pass counts lines first, and a
 * fault is reported by the first block in file order that has one.
 */
#include "base/error.h"
#include "base/memory.h"
#include "io/entry_order.h"
#include "io/fast_numbers.h"
#include "io/mtx.h"

#include <string.h>

/* ---- lines to entries ---------------------------------------------------------------------------------- */

/*
 * Three tiers. What most files consist of, "i j -d.ddde-dd" with one blank between and at
 * most 63 characters, is taken apart by a mask of the characters that are no digits: from one word to the
 * next it is a few operations on bits, no loop and no branch that depends on the data, so that the processor
 * works on several lines at a time. Numbers with more blanks or digits are read word by word, eight characters at
 * once. All else, and whatever is wrong, goes to spryi_mtx_line.
 */
typedef struct parsed_block {
    void *rows, *cols, *values;
    int64_t count, lines;
    int64_t aside; /* bytes of comments and blank lines */
    spryi_entry_order order;
    int64_t at;      /* where its entries go */
    const char *bad; /* start of the first bad line, NULL: none; count and lines stand before it */
} parsed_block;

/* The line at p as entry k; returns behind its newline, NULL when it is no ordinary one. Loads 64 bytes and more. */
SPRYI_INLINE const char *masked_line(const spryi_mtx *head, const char *p, int wide, int array, spry_type type,
                                     const parsed_block *to, int64_t k)
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

/* The line at p as entry k; returns behind its newline, NULL when it is not in ordinary form (or is wrong). */
SPRYI_INLINE const char *fast_line(const spryi_mtx *head, const char *p, int wide, int array, spry_type type,
                                   const parsed_block *to, int64_t k)
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

static void store_entry(const spryi_entry *entry, int wide, int array, spry_type type, const parsed_block *to,
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
                           parsed_block *to)
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

typedef struct job {
    spryi_text *text;
    const spryi_mtx *head;
    spryi_mtx_entries *entries;
    spry_type parsed_type; /* f64 where values are only checked */
    /* belong to the thread that has the next block */
    int64_t count, lines, aside;
    int64_t last_i, last_j;
} job;

/*
 * type is that of to->values; SPRY_PATTERN where lines have no value. The arrays have room for as many entries as
 * the block can hold.
 */
static spry_status parse(const void *job_of_text, const spryi_block *block, void *parsed, spry_error *err)
{
    const job *work = job_of_text;
    const spryi_mtx *head = work->head;
    const spry_type type = head->field == SPRYI_FIELD_PATTERN ? SPRY_PATTERN : work->parsed_type;
    const int wide = work->entries->index_type == SPRY_I64;
    parsed_block *to = parsed;
    (void)err;
#define PARSE(tag, s, v, c, argument)                                                                                  \
    if ((int)type == (int)spryi_type_##s)                                                                              \
        head->array ? parse_as(head, block, 0, 1, (spry_type)spryi_type_##s, to)                                       \
        : wide      ? parse_as(head, block, 1, 0, (spry_type)spryi_type_##s, to)                                       \
                    : parse_as(head, block, 0, 0, (spry_type)spryi_type_##s, to);
    SPRYI_PLAIN_ROWS(PARSE, 0)
#undef PARSE
    if (type == SPRY_PATTERN)
        wide ? parse_as(head, block, 1, 0, SPRY_PATTERN, to) : parse_as(head, block, 0, 0, SPRY_PATTERN, to);
    if (head->array) return SPRY_OK;
    to->order = wide ? spryi_order_of(to->rows, to->cols, SPRY_I64, to->count)
                     : spryi_order_of(to->rows, to->cols, SPRY_I32, to->count);
    return SPRY_OK;
}

/* ---- appending in order ------------------------------------------------------------------------ */

static spry_status explain(const spryi_mtx *head, const char *p, const char *block_end, int64_t line, int surplus,
                           spry_error *err)
{
    const char *end = spryi_line_end(p, block_end);
    spryi_fault fault = {""};
    spryi_entry entry;
    if (surplus)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, line,
                               "expected the end of the file after %lld entries, found %s", (long long)head->entries,
                               spryi_mtx_show(p, end).text);
    (void)spryi_mtx_line(head, p, end, &entry, &fault);
    return spryi_fail_file(err, SPRY_BAD_FILE, head->name, line, "%s", fault.text);
}

/* The block has more than `left` entries: where the first too many is. */
static spry_status explain_surplus(const job *work, const spryi_block *block, int64_t left, spry_error *err)
{
    int64_t line = work->lines + 1;
    for (const char *p = block->text; p < block->end; line++) {
        const char *end = spryi_line_end(p, block->end);
        spryi_entry entry;
        spryi_line kind = spryi_mtx_line(work->head, p, end, &entry, NULL);
        if (kind != SPRYI_LINE_EMPTY && left-- == 0) return explain(work->head, p, block->end, line, 1, err);
        p = end < block->end ? end + 1 : end;
    }
    return spryi_fail(err, SPRY_INTERNAL, NULL, "surplus entry not found again");
}

static spry_status claim_range(void *job_of_text, const spryi_block *block, void *parsed, spry_error *err)
{
    job *work = job_of_text;
    parsed_block *from = parsed;
    int64_t left = work->head->entries - work->count;
    if (from->count > left) return explain_surplus(work, block, left, err);
    if (from->bad)
        return explain(work->head, from->bad, block->end, work->lines + from->lines + 1, from->count == left, err);
    from->at = work->count;
    if (from->count > 0 && !work->head->array) {
        const spry_index_type type = work->entries->index_type;
        const int64_t i = spryi_index_at(from->rows, type, 0), j = spryi_index_at(from->cols, type, 0);
        spryi_order_join(&work->entries->order, &from->order, work->last_i, work->last_j, i, j);
        work->last_i = spryi_index_at(from->rows, type, from->count - 1);
        work->last_j = spryi_index_at(from->cols, type, from->count - 1);
    }
    work->count += from->count;
    work->lines += from->lines;
    work->aside += from->aside;
    return spryi_mtx_check_aside(work->text, work->aside, work->lines, err);
}

static void append(const void *job_of_text, const void *parsed)
{
    const spryi_mtx_entries *entries = ((const job *)job_of_text)->entries;
    const parsed_block *from = parsed;
    size_t index_bytes = spry_index_type_bytes(entries->index_type), value_bytes = spry_type_bytes(entries->value_type);
    const size_t count = (size_t)from->count;
    if (count == 0) return;
    if (entries->rows) {
        memcpy((char *)entries->rows + (size_t)from->at * index_bytes, from->rows, count * index_bytes);
        memcpy((char *)entries->cols + (size_t)from->at * index_bytes, from->cols, count * index_bytes);
    }
    if (entries->values)
        memcpy((char *)entries->values + (size_t)from->at * value_bytes, from->values, count * value_bytes);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void release_parsed(spry_context *context, void *parsed)
{
    parsed_block *p = parsed;
    spryi_release(context, p->rows);
    spryi_release(context, p->cols);
    spryi_release(context, p->values);
}

static spry_status create_parsed(const void *job_of_text, void *parsed, spry_error *err)
{
    const job *work = job_of_text;
    parsed_block *p = parsed;
    spry_context *context = work->text->context;
    size_t index_bytes = spry_index_type_bytes(work->entries->index_type);
    const spryi_mtx *head = work->head;
    int64_t least = (head->array ? 0 : 4) + (head->field == SPRYI_FIELD_PATTERN ? 0 : 2); /* bytes of a line */
    int64_t most = (1 + SPRYI_BLOCK_BYTES + SPRYI_LINE_BYTES) / least + 1;
    if (!head->array) {
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &p->rows, most, index_bytes, "parsed rows", err));
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &p->cols, most, index_bytes, "parsed columns", err));
    }
    if (head->field == SPRYI_FIELD_PATTERN) return SPRY_OK;
    return spryi_allocate(context, &p->values, most, spry_type_bytes(work->parsed_type), "parsed values", err);
}

static spry_status allocate_entries(spry_context *context, const spryi_mtx *head, spryi_mtx_entries *e, spry_error *err)
{
    size_t index_bytes = spry_index_type_bytes(e->index_type);
    if (!head->array) {
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->rows, e->count, index_bytes, "row indices of the file", err));
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->cols, e->count, index_bytes, "column indices of the file", err));
    }
    if (e->value_type != SPRY_PATTERN)
        SPRYI_OK_OR_RETURN(
            spryi_allocate(context, &e->values, e->count, spry_type_bytes(e->value_type), "values of the file", err));
    return SPRY_OK;
}

void spryi_mtx_release(spry_context *context, spryi_mtx_entries *entries)
{
    spryi_release(context, entries->rows);
    spryi_release(context, entries->cols);
    spryi_release(context, entries->values);
    entries->rows = entries->cols = entries->values = NULL;
}

spry_status spryi_mtx_read_entries(spryi_text *text, const spryi_mtx *head, spry_index_type index_type,
                                   spry_type value_type, spryi_mtx_entries *entries, spry_error *err)
{
    static const spryi_readers readers = {sizeof(parsed_block), create_parsed, release_parsed, parse,
                                          claim_range,          append};
    spry_context *context = text->context;
    *entries = (spryi_mtx_entries){.index_type = index_type,
                                   .value_type = head->field == SPRYI_FIELD_PATTERN ? SPRY_PATTERN : value_type,
                                   .count = head->entries,
                                   .order = SPRYI_ALL_ORDERS};
    if (head->array && value_type == SPRY_PATTERN) entries->value_type = SPRY_F64; /* tells where zeros are */
    job work = {.text = text,
                .head = head,
                .entries = entries,
                .parsed_type = value_type == SPRY_F32 ? SPRY_F32 : SPRY_F64,
                .lines = head->lines,
                .aside = head->aside,
                .last_i = -1,
                .last_j = -1};
    spry_status status = allocate_entries(context, head, entries, err);
    if (status == SPRY_OK) status = spryi_text_share(text, &readers, &work, err);
    if (status == SPRY_OK && work.count < head->entries)
        status = spryi_fail_file(err, SPRY_BAD_FILE, head->name, work.lines, "the file ends after %lld of %lld entries",
                                 (long long)work.count, (long long)head->entries);
    if (work.lines == head->lines + work.count) entries->first_line = head->lines + 1;
    if (status != SPRY_OK) spryi_mtx_release(context, entries);
    return status;
}
