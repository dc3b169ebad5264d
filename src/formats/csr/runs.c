/*
 * Every row is compared with the one before it, in parallel over blocks. Each block writes its runs into a slice as
 * long as runs can be worth having, and the slices are packed after.
 */
#include "formats/csr/runs.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"

#include <string.h>

/* How a row's columns relate to those of the row before. */
enum { UNRELATED, STRIDE, SAME };

enum { AHEAD = 2048 }; /* bytes, at which columns are fetched */

#define SPRYI_TEMPLATE "formats/csr/runs.tmpl.c"
#include "base/instantiate_indices.h"

static void relate_rows(const spry_arrays *csr, int64_t begin, int64_t end, uint8_t *relation)
{
    SPRYI_BY_PAIR(csr, relate_rows, csr->offsets, csr->indices, begin, end, relation);
}

/* The runs of one block. full: there are more than would pay, the rest is not looked at. */
typedef struct run_list {
    const spry_arrays *csr;
    spryi_csr_run *runs;
    int64_t first_row, count, most;
    int64_t structured; /* entries in strided and shared runs */
    int full;
} run_list;

static void append(run_list *list, spryi_csr_run_kind kind, int64_t begin, int64_t end, int group)
{
    spryi_csr_run *last = list->count > 0 ? &list->runs[list->count - 1] : NULL;
    if (kind != SPRYI_RUN_GENERAL) list->structured += spryi_csr_entries(list->csr, begin, end);
    if (last && last->kind == (int16_t)kind && last->group == group && kind != SPRYI_RUN_STRIDED) {
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
    relate_rows(list->csr, begin, end, relation);
    for (int64_t i = begin; i < end && !list->full;) {
        int64_t to = i + 1;
        int first = to < end ? relation[to - begin] : UNRELATED;
        while (first != UNRELATED && to < end && relation[to - begin] == first) to++;
        if (first == SAME) {
            append_shared(list, i, to);
        } else if (first == STRIDE && to - i >= SPRYI_MIN_STRIDED) {
            append(list, SPRYI_RUN_STRIDED, i, to, 0);
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
    if (list->full || list->structured * 2 < spryi_csr_entries(list->csr, begin, end)) {
        list->count = list->structured = list->full = 0;
        append(list, SPRYI_RUN_GENERAL, begin, end, 0);
    }
}

static int64_t most_runs(const spry_arrays *csr, const spryi_csr_block *block)
{
    return block->piece >= 0 ? 0 : 1 + spryi_csr_entries(csr, block->begin, block->end) / SPRYI_MIN_RUN_ENTRIES;
}

/* *runs = those that blocks have in `scratch`, one block's after the other's. */
static spry_status pack(spry_context *context, spryi_csr_runs *runs, spryi_csr_blocks *blocks,
                        const spryi_csr_run *scratch, spry_error *err)
{
    for (int64_t b = 0; b < blocks->count; b++) runs->count += blocks->list[b].runs_end - blocks->list[b].runs_begin;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &runs->list, runs->count, "row runs", err));
    int64_t packed = 0;
    for (int64_t b = 0; b < blocks->count; b++) {
        spryi_csr_block *block = &blocks->list[b];
        const int64_t count = block->runs_end - block->runs_begin;
        if (count > 0) memcpy(runs->list + packed, scratch + block->runs_begin, (size_t)count * sizeof *scratch);
        block->runs_begin = packed;
        block->runs_end = packed += count;
    }
    return SPRY_OK;
}

typedef struct find_job {
    const spry_arrays *csr;
    spryi_csr_block *blocks;
    spryi_csr_run *scratch;
    atomic_llong structured;
} find_job;

static void find_in_blocks(void *job, int64_t begin, int64_t end)
{
    find_job *j = job;
    int64_t structured = 0;
    for (int64_t b = begin; b < end; b++) {
        spryi_csr_block *block = &j->blocks[b];
        run_list list = {.csr = j->csr, .runs = j->scratch + block->runs_begin, .first_row = block->begin};
        list.most = most_runs(j->csr, block);
        if (block->piece < 0) find_in_block(&list, block->begin, block->end);
        block->runs_end = block->runs_begin + list.count;
        structured += list.structured;
    }
    atomic_fetch_add(&j->structured, structured);
}

spry_status spryi_csr_runs_find(spry_context *context, spryi_csr_runs *runs, spryi_csr_blocks *blocks,
                                const spry_arrays *csr, spry_error *err)
{
    spry_status status = SPRY_OK;
    find_job j = {.csr = csr, .blocks = blocks->list};
    int64_t slots = 0;
    for (int64_t b = 0; b < blocks->count; b++) {
        blocks->list[b].runs_begin = slots;
        slots += most_runs(csr, &blocks->list[b]);
    }
    SPRYI_TRY(SPRYI_NEW(context, &j.scratch, slots, "row runs (scratch)", err));
    spryi_loop(context, spryi_threads(context, csr->nnz + csr->rows), blocks->count, 0, find_in_blocks, &j);
    SPRYI_TRY(pack(context, runs, blocks, j.scratch, err));
    runs->structured = csr->nnz > 0 ? (double)j.structured / (double)csr->nnz : 0;
done:
    spryi_release(context, j.scratch);
    return status;
}

spry_status spryi_csr_runs_general(spry_context *context, spryi_csr_runs *runs, spryi_csr_blocks *blocks,
                                   spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &runs->list, blocks->count, "row runs", err));
    for (int64_t b = 0; b < blocks->count; b++) {
        spryi_csr_block *block = &blocks->list[b];
        block->runs_begin = runs->count;
        if (block->piece < 0) runs->list[runs->count++] = (spryi_csr_run){.end = (int32_t)(block->end - block->begin)};
        block->runs_end = runs->count;
    }
    return SPRY_OK;
}
