/*
 * Finds stepped and shared runs (see csr.h): every row is compared with the one before it, one reading
 * of the columns in all, in parallel over blocks. Each block writes its runs into a slice as long as
 * runs can be worth having, and the slices are packed after.
 */
#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/csr/csr.h"

#include <string.h>

/* How a row's columns relate to those of the row before. */
enum { UNRELATED, STEPS, SAME };

enum { AHEAD = 2048 }; /* bytes, at which columns are fetched */

#define SPRYI_TEMPLATE "formats/csr/csr_runs.tmpl.c"
#include "core/instantiate_indices.h"

static void relate_rows(const spryi_csr *s, int64_t begin, int64_t end, uint8_t *relation)
{
    switch (spryi_index_pair(s->a.offset_type, s->a.index_type)) {
    case 0: relate_rows_32_32(s->a.offsets, s->a.indices, begin, end, relation); break;
    case 1: relate_rows_64_32(s->a.offsets, s->a.indices, begin, end, relation); break;
    default: relate_rows_64_64(s->a.offsets, s->a.indices, begin, end, relation); break;
    }
}

static int64_t offset(const spryi_csr *s, int64_t i)
{
    return spryi_index_at(s->a.offsets, s->a.offset_type, i);
}

/* The runs of one block. full: there are more than would pay, the rest is not looked at. */
typedef struct run_list {
    const spryi_csr *s;
    spryi_csr_run *runs;
    int64_t first_row, count, most;
    int64_t structured; /* entries in stepped and shared runs */
    int full;
} run_list;

static void append(run_list *list, spryi_csr_run_kind kind, int64_t begin, int64_t end, int group)
{
    spryi_csr_run *last = list->count > 0 ? &list->runs[list->count - 1] : NULL;
    if (kind != SPRYI_RUN_GENERAL) list->structured += offset(list->s, end) - offset(list->s, begin);
    if (last && last->kind == (int16_t)kind && last->group == group && kind != SPRYI_RUN_STEPPED) {
        last->end = (int32_t)(end - list->first_row);
        return;
    }
    if (list->count == list->most) {
        list->full = 1;
        return;
    }
    list->runs[list->count++] = (spryi_csr_run){
        .begin = (int32_t)(begin - list->first_row),
        .end = (int32_t)(end - list->first_row),
        .kind = (int16_t)kind,
        .group = (int16_t)group,
    };
}

/* Rows begin..end all have the same columns: groups of nearly equal size, none over the largest. */
static void append_shared(run_list *list, int64_t begin, int64_t end)
{
    int64_t rows = end - begin, groups = (rows + SPRYI_MAX_GROUP - 1) / SPRYI_MAX_GROUP;
    for (int64_t g = 0; g < groups; g++) {
        int64_t from = begin + rows * g / groups, to = begin + rows * (g + 1) / groups;
        append(list, SPRYI_RUN_SHARED, from, to, (int)(to - from));
    }
}

enum { ROWS_AT_ONCE = SPRYI_CSR_MOST_COST / SPRYI_CSR_ROW_COST + 1 }; /* as many as a block of csr can have */

/* At most ROWS_AT_ONCE rows. */
static void find_in_rows(run_list *list, int64_t begin, int64_t end)
{
    uint8_t relation[ROWS_AT_ONCE];
    relate_rows(list->s, begin, end, relation);
    for (int64_t i = begin; i < end && !list->full;) {
        int64_t to = i + 1;
        int first = to < end ? relation[to - begin] : UNRELATED;
        while (first != UNRELATED && to < end && relation[to - begin] == first) to++;
        if (first == SAME) {
            append_shared(list, i, to);
        } else if (first == STEPS && to - i >= SPRYI_MIN_STEPPED) {
            append(list, SPRYI_RUN_STEPPED, i, to, 0);
        } else {
            append(list, SPRYI_RUN_GENERAL, i, to, 0);
        }
        i = to;
    }
}

/* Blocks of csr-k, whole groups of any size, may have more rows than are related at once. */
static void find_in_block(run_list *list, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end && !list->full; i += ROWS_AT_ONCE)
        find_in_rows(list, i, i + ROWS_AT_ONCE < end ? i + ROWS_AT_ONCE : end);
    if (list->full || list->structured * 2 < offset(list->s, end) - offset(list->s, begin)) {
        list->count = list->structured = list->full = 0;
        append(list, SPRYI_RUN_GENERAL, begin, end, 0);
    }
}

static int64_t most_runs(const spryi_csr *s, const spryi_csr_block *block)
{
    if (block->piece >= 0) return 0;
    return 1 + (offset(s, block->end) - offset(s, block->begin)) / SPRYI_MIN_RUN_ENTRIES;
}

spry_status spryi_csr_find_runs(spry_context *context, spryi_csr *s, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_csr_run *scratch = NULL;
    int64_t slots = 0, structured = 0;
    int threads = spryi_threads(context, s->a.nnz + s->a.rows);
    for (int64_t b = 0; b < s->block_count; b++) {
        s->blocks[b].runs_begin = slots;
        slots += most_runs(s, &s->blocks[b]);
    }
    SPRYI_TRY(SPRYI_NEW(context, &scratch, slots, "row runs (scratch)", err));
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : structured)
    for (int64_t b = 0; b < s->block_count; b++) {
        spryi_csr_block *block = &s->blocks[b];
        run_list list = {.s = s, .runs = scratch + block->runs_begin, .first_row = block->begin};
        list.most = most_runs(s, block);
        if (block->piece < 0) find_in_block(&list, block->begin, block->end);
        block->runs_end = block->runs_begin + list.count;
        structured += list.structured;
    }
    for (int64_t b = 0; b < s->block_count; b++) s->run_count += s->blocks[b].runs_end - s->blocks[b].runs_begin;
    SPRYI_TRY(SPRYI_NEW(context, &s->runs, s->run_count, "row runs", err));
    int64_t packed = 0;
    for (int64_t b = 0; b < s->block_count; b++) {
        spryi_csr_block *block = &s->blocks[b];
        int64_t count = block->runs_end - block->runs_begin;
        if (count > 0) memcpy(s->runs + packed, scratch + block->runs_begin, (size_t)count * sizeof *scratch);
        block->runs_begin = packed;
        block->runs_end = packed += count;
    }
    s->structured = s->a.nnz > 0 ? (double)structured / (double)s->a.nnz : 0;
done:
    spryi_release(context, scratch);
    return status;
}
