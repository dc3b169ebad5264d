/*
 * All entries of a file, by several threads.
 *
 * Each thread takes the next block of lines, parses it into arrays that stay in its cache, waits until the
 * block before has told where its entries end, and copies its own behind them. So entries stand in file order
 * whatever the number of threads, no pass counts lines first, and a fault is reported by the first block in
 * file order that has one.
 */
#include "core/error.h"
#include "core/memory.h"
#include "io/mtx_parse.h"
#include "io/ordered_handover.h"

#include <string.h>

typedef struct job {
    spryi_text *text;
    const spryi_mtx *head;
    spryi_mtx_entries *entries;
    spry_type parsed_type;      /* f64 where values are only checked */
    _Atomic int64_t next_block; /* the one that may append now */
    _Atomic int stop;
    /* belong to the thread that has the next block */
    int64_t count, lines, aside;
    int64_t last_i, last_j;
    spry_status status;
    spry_error error;
} job;

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

static spry_status claim_range(job *work, const spryi_block *block, const spryi_parsed *from, int64_t *at,
                               spry_error *err)
{
    int64_t left = work->head->entries - work->count;
    if (from->count > left) return explain_surplus(work, block, left, err);
    if (from->bad)
        return explain(work->head, from->bad, block->end, work->lines + from->lines + 1, from->count == left, err);
    *at = work->count;
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

static void append(const spryi_mtx_entries *entries, const spryi_parsed *from, int64_t at)
{
    size_t index_bytes = spry_index_type_bytes(entries->index_type), value_bytes = spry_type_bytes(entries->value_type);
    size_t count = (size_t)from->count;
    if (count == 0) return;
    if (entries->rows) {
        memcpy((char *)entries->rows + (size_t)at * index_bytes, from->rows, count * index_bytes);
        memcpy((char *)entries->cols + (size_t)at * index_bytes, from->cols, count * index_bytes);
    }
    if (entries->values) memcpy((char *)entries->values + (size_t)at * value_bytes, from->values, count * value_bytes);
}

static void work_through(void *job_of_text, spryi_block *block, void *parsed)
{
    job *work = job_of_text;
    spryi_parsed *own = parsed;
    while (!atomic_load_explicit(&work->stop, memory_order_relaxed)) {
        spry_error error = {0};
        int64_t at = 0;
        spry_status status = spryi_text_next(work->text, block, &error);
        int finished = block->finished;
        if (status == SPRY_OK && !finished) {
            spry_type type = work->head->field == SPRYI_FIELD_PATTERN ? SPRY_PATTERN : work->parsed_type;
            spryi_mtx_parse(work->head, block, work->entries->index_type, type, own);
        }
        spryi_handover_wait(&work->next_block, block->number);
        int mine = work->status == SPRY_OK;
        if (mine && status == SPRY_OK && !finished) status = claim_range(work, block, own, &at, &error);
        if (mine && status != SPRY_OK) {
            work->status = status;
            work->error = error;
        }
        if (status != SPRY_OK || !mine) atomic_store_explicit(&work->stop, 1, memory_order_relaxed);
        spryi_handover_done(&work->next_block, block->number);
        if (status != SPRY_OK || finished || !mine) return;
        append(work->entries, own, at);
    }
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void release_parsed(spry_context *context, void *parsed)
{
    spryi_parsed *p = parsed;
    spryi_release(context, p->rows);
    spryi_release(context, p->cols);
    spryi_release(context, p->values);
}

static spry_status create_parsed(const void *job_of_text, void *parsed, spry_error *err)
{
    const job *work = job_of_text;
    spryi_parsed *p = parsed;
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
    static const spryi_readers readers = {sizeof(spryi_parsed), create_parsed, release_parsed, work_through};
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
    if (status == SPRY_OK && work.status != SPRY_OK) {
        status = work.status;
        if (err) *err = work.error;
    } else if (status == SPRY_OK && work.count < head->entries) {
        status = spryi_fail_file(err, SPRY_BAD_FILE, head->name, work.lines, "the file ends after %lld of %lld entries",
                                 (long long)work.count, (long long)head->entries);
    }
    if (work.lines == head->lines + work.count) entries->first_line = head->lines + 1;
    if (status != SPRY_OK) spryi_mtx_release(context, entries);
    return status;
}
