/*
 * The storages of formats csr and csc, and the auxiliary arrays of CPU products: row blocks, runs, and the chunks of
 * transposed products. csr.h explains all of them; spans_avx512.c finds spans. The storage of csc is CSR of A^T.
 */
#ifndef SPRYI_TEMPLATE
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "formats/csc/csc.h"
#include "formats/csr/csr.h"
#include "formats/shared/storage_limits.h"
#include "matrix/assemble.h"
#include "matrix/columns.h"
#include "matrix/row_lengths.h"

#include <string.h>

/* ---- row blocks ---------------------------------------------------------------------------------------- */

enum {
    LEAST_COST = 4096, /* minimum cost of a block; blocks of a small matrix are small, to give work to more threads */
    BLOCKS = 256       /* number of blocks of a matrix whose blocks have neither the minimum nor the maximum cost */
};

static int64_t total_cost(const spry_arrays *csr)
{
    return csr->nnz + SPRYI_CSR_ROW_COST * csr->rows;
}

static int64_t block_cost_of(const spry_arrays *csr)
{
    const int64_t cost = total_cost(csr) / BLOCKS;
    if (cost < LEAST_COST) return LEAST_COST;
    return cost > SPRYI_CSR_MOST_COST ? SPRYI_CSR_MOST_COST : cost;
}

/* Cuts row i into pieces of nearly equal size, each with at most `cost` entries. */
static void cut_long_row(const spry_arrays *csr, int64_t i, int64_t cost, spryi_csr_blocks *blocks)
{
    const int64_t k = spryi_offset_of(csr, i), length = spryi_offset_of(csr, i + 1) - k;
    const int64_t pieces = (length + cost - 1) / cost;
    if (blocks->long_rows)
        blocks->long_rows[blocks->long_count] =
            (spryi_csr_long_row){.row = i, .first = blocks->piece_count, .count = pieces};
    for (int64_t p = 0; blocks->list && p < pieces; p++)
        blocks->list[blocks->count + p] = (spryi_csr_block){.begin = k + length * p / pieces,
                                                            .end = k + length * (p + 1) / pieces,
                                                            .piece = blocks->piece_count + p,
                                                            .row = i};
    blocks->long_count++;
    blocks->count += pieces;
    blocks->piece_count += pieces;
}

/*
 * Ends a block where the total cost of all rows so far reaches a multiple of the block cost. A row longer than a block
 * can only be the last row before such an end. If the arrays are NULL, the function only counts their elements.
 */
static void cut(const spry_arrays *csr, spryi_csr_blocks *blocks)
{
    const int64_t block_cost = block_cost_of(csr), total = total_cost(csr);
    blocks->count = blocks->long_count = blocks->piece_count = 0;
    for (int64_t cost = block_cost, begin = 0, end = csr->rows; begin < csr->rows; cost += block_cost, begin = end) {
        end = csr->rows;
        if (cost < total) SPRYI_BISECT(end, 0, csr->rows, spryi_offset_of(csr, end) + SPRYI_CSR_ROW_COST * end < cost);
        if (end == begin) continue;
        const bool is_long = spryi_offset_of(csr, end) - spryi_offset_of(csr, end - 1) > block_cost;
        const int64_t whole = is_long ? end - 1 : end;
        if (whole > begin) {
            if (blocks->list)
                blocks->list[blocks->count] = (spryi_csr_block){.begin = begin, .end = whole, .piece = -1};
            blocks->count++;
        }
        if (is_long) cut_long_row(csr, whole, block_cost, blocks);
    }
}

static spry_status build_blocks(spry_context *context, spryi_csr_blocks *blocks, const spry_arrays *csr,
                                spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_csr_blocks counts = {0};
    cut(csr, &counts);
    SPRYI_TRY(SPRYI_NEW(context, &blocks->list, counts.count, "row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &blocks->long_rows, counts.long_count, "long rows", err));
    cut(csr, blocks);
done:
    return status;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* Relation of a row's columns to those of the previous row. */
enum { UNRELATED, STRIDE, SAME };

enum { AHEAD = 2048 }; /* distance of the prefetch of columns, in bytes */

#define SPRYI_TEMPLATE "formats/csr/csr_format.c" /* its second half */
#include "base/instantiate_indices.h"

/* Runs of one block. */
typedef struct run_list {
    const spry_arrays *csr;
    spryi_csr_run *runs;
    int64_t first_row, count, most;
    int64_t structured; /* entries in strided and shared runs */
    bool full;          /* the block has more runs than `most`; its remaining rows are skipped */
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
        list->full = true;
        return;
    }
    list->runs[list->count++] = (spryi_csr_run){
        .begin = (int32_t)(begin - list->first_row),
        .end = (int32_t)(end - list->first_row),
        .kind = (int16_t)kind,
        .group = (int16_t)group,
    };
}

/* Appends rows with the same columns, in groups of nearly equal size. */
static void append_shared(run_list *list, int64_t begin, int64_t end)
{
    int64_t rows = end - begin, groups = (rows + SPRYI_MAX_GROUP - 1) / SPRYI_MAX_GROUP;
    for (int64_t g = 0; g < groups; g++) {
        int64_t from = begin + rows * g / groups, to = begin + rows * (g + 1) / groups;
        append(list, SPRYI_RUN_SHARED, from, to, (int)(to - from));
    }
}

enum { ROWS_AT_ONCE = SPRYI_CSR_MOST_COST / SPRYI_CSR_ROW_COST + 1 }; /* maximum rows of a block of csr */

/* Finds runs in at most ROWS_AT_ONCE rows. */
static void find_in_rows(run_list *list, int64_t begin, int64_t end)
{
    uint8_t relation[ROWS_AT_ONCE];
    SPRYI_BY_PAIR(list->csr, relate_rows, list->csr->offsets, list->csr->indices, begin, end, relation);
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

/* Finds the runs of a block. A block of csr-k is a super-row and may have more than ROWS_AT_ONCE rows. */
static void find_in_block(run_list *list, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end && !list->full; i += ROWS_AT_ONCE)
        find_in_rows(list, i, i + ROWS_AT_ONCE < end ? i + ROWS_AT_ONCE : end);
    if (list->full || list->structured * 2 < spryi_csr_entries(list->csr, begin, end)) {
        list->count = list->structured = 0;
        list->full = false;
        append(list, SPRYI_RUN_GENERAL, begin, end, 0);
    }
}

static int64_t most_runs(const spry_arrays *csr, const spryi_csr_block *block)
{
    return block->piece >= 0 ? 0 : 1 + spryi_csr_entries(csr, block->begin, block->end) / SPRYI_MIN_RUN_ENTRIES;
}

/* Copies the runs of all blocks from `scratch` to *runs, without gaps. */
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

/* Finds the runs of each block by comparing every row with the previous one. Sets runs_begin and runs_end. */
static spry_status find_runs(spry_context *context, spryi_csr_runs *runs, spryi_csr_blocks *blocks,
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

/* Builds one general run per block. */
static spry_status build_general_runs(spry_context *context, spryi_csr_runs *runs, spryi_csr_blocks *blocks,
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

/* ---- chunks: phases and windows ------------------------------------------------------------------------ */

enum {
    LEAST_PAGE = 9,    /* minimum size of a page: 2^9 = 512 columns */
    MOST_PAGES = 8192, /* maximum number of pages; a longer y has larger pages */
    PROCESSORS = 8,    /* processors assumed in the cost of phases, so that the choice depends only on the matrix */
    LEAST_SPEEDUP = 4, /* speedup of phases on PROCESSORS processors, below which windows are tried */
    LEAST_BLOCKS = 4   /* minimum blocks for multiple units; fewer blocks are too little work for two threads */
};

/*
 * Pages of y that each unit touches, which means that the unit adds to some of their elements. A unit is a chunk of the
 * smallest size. A page is 2^shift elements of y.
 */
typedef struct coverage {
    const spry_arrays *csr;
    const spryi_csr_blocks *blocks;
    const spryi_csr_runs *runs;
    int64_t units, pages, words; /* words: 64-bit words per unit, one bit per page */
    int shift;
    uint8_t *touched; /* units x pages elements: 1 if the unit touches the page */
    uint64_t *bits;   /* units x words, one bit per page; the bits of joined chunks replace the bits of units */
} coverage;

/* An assignment of chunks to phases. A chunk has 2^doubled units; unit u is in chunk u >> doubled. */
typedef struct attempt {
    int64_t chunks, phases;
    int doubled;
    int64_t cost; /* estimated time on PROCESSORS processors; 1 is the time of one unit */
    uint8_t phase[SPRYI_MOST_CHUNKS];
} attempt;

/* Sets touched[page] for the pages of the columns of entries begin .. end - 1. */
static void mark_entries(const coverage *v, int64_t begin, int64_t end, uint8_t *touched)
{
    const int32_t *narrow = v->csr->indices;
    const int64_t *wide = v->csr->indices;
    if (v->csr->index_type == SPRY_I32)
        for (int64_t k = begin; k < end; k++) touched[narrow[k] >> v->shift] = 1;
    else
        for (int64_t k = begin; k < end; k++) touched[wide[k] >> v->shift] = 1;
}

/* Marks the pages of rows begin .. end - 1, a strided run. Reads only the columns of the first row. */
static void mark_strided(const coverage *v, int64_t begin, int64_t end, uint8_t *touched)
{
    for (int64_t k = spryi_offset_of(v->csr, begin); k < spryi_offset_of(v->csr, begin + 1); k++) {
        const int64_t column = spryi_minor_of(v->csr, k);
        for (int64_t page = column >> v->shift; page <= (column + (end - begin - 1)) >> v->shift; page++)
            touched[page] = 1;
    }
}

static void mark_block(const coverage *v, const spryi_csr_block *block, uint8_t *touched)
{
    if (block->piece >= 0) mark_entries(v, block->begin, block->end, touched);
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        const spryi_csr_run *run = &v->runs->list[r];
        const int64_t begin = block->begin + run->begin, end = block->begin + run->end;
        if (run->kind == SPRYI_RUN_STRIDED)
            mark_strided(v, begin, end, touched);
        else if (run->kind == SPRYI_RUN_SHARED)
            for (int64_t i = begin; i < end; i += run->group)
                mark_entries(v, spryi_offset_of(v->csr, i), spryi_offset_of(v->csr, i + 1), touched);
        else
            mark_entries(v, spryi_offset_of(v->csr, begin), spryi_offset_of(v->csr, end), touched);
    }
}

static int64_t first_block(const coverage *v, int64_t unit)
{
    return v->blocks->count * unit / v->units;
}

static void mark_units(void *job, int64_t begin, int64_t end)
{
    const coverage *v = job;
    for (int64_t u = begin; u < end; u++) {
        uint8_t *touched = v->touched + u * v->pages;
        memset(touched, 0, (size_t)v->pages);
        for (int64_t b = first_block(v, u); b < first_block(v, u + 1); b++) mark_block(v, &v->blocks->list[b], touched);
        uint64_t *bits = v->bits + u * v->words;
        memset(bits, 0, (size_t)v->words * sizeof *bits);
        for (int64_t page = 0; page < v->pages; page++) bits[page / 64] |= (uint64_t)touched[page] << page % 64;
    }
}

static spry_status mark_pages(spry_context *context, coverage *v, spry_error *err)
{
    spry_status status = SPRY_OK;
    v->units = v->blocks->count < SPRYI_MOST_CHUNKS ? v->blocks->count : SPRYI_MOST_CHUNKS;
    if (v->units < LEAST_BLOCKS) v->units = 1;
    v->shift = LEAST_PAGE;
    while ((v->csr->columns - 1) >> v->shift >= MOST_PAGES) v->shift++;
    v->pages = ((v->csr->columns - 1) >> v->shift) + 1;
    v->words = (v->pages + 63) / 64;
    SPRYI_TRY(SPRYI_NEW(context, &v->touched, v->units * v->pages, "pages of y (scratch)", err));
    SPRYI_TRY(SPRYI_NEW(context, &v->bits, v->units * v->words, "pages of y (scratch)", err));
    spryi_loop(context, spryi_threads(context, v->csr->nnz), v->units, 1, mark_units, v);
done:
    return status;
}

/* Joins neighbouring chunks in pairs: a joined chunk has the bits of both chunks. */
static void join_neighbours(const coverage *v, int64_t chunks)
{
    for (int64_t c = 0; c < chunks; c++)
        for (int64_t w = 0; w < v->words; w++) {
            uint64_t bits = v->bits[c * v->words + w];
            if (c % 2 == 0)
                v->bits[c / 2 * v->words + w] = bits;
            else
                v->bits[c / 2 * v->words + w] |= bits;
        }
}

static bool overlap(const uint64_t *a, const uint64_t *b, int64_t words)
{
    for (int64_t w = 0; w < words; w++)
        if (a[w] & b[w]) return true;
    return false;
}

/*
 * Assigns each chunk to the first phase with which it has no page in common. Returns false if more than
 * SPRYI_MOST_PHASES phases are needed.
 */
static bool assign_phases(const coverage *v, attempt *t, uint64_t *taken)
{
    int64_t counts[SPRYI_MOST_PHASES] = {0};
    memset(taken, 0, (size_t)(SPRYI_MOST_PHASES * v->words) * sizeof *taken);
    for (int64_t c = 0; c < t->chunks; c++) {
        const uint64_t *bits = v->bits + c * v->words;
        int phase = 0;
        while (phase < SPRYI_MOST_PHASES && overlap(bits, taken + phase * v->words, v->words)) phase++;
        if (phase == SPRYI_MOST_PHASES) return false;
        for (int64_t w = 0; w < v->words; w++) taken[phase * v->words + w] |= bits[w];
        t->phase[c] = (uint8_t)phase;
        counts[phase]++;
        if (phase >= t->phases) t->phases = phase + 1;
    }
    for (int64_t phase = 0; phase < t->phases; phase++)
        t->cost += ((counts[phase] + PROCESSORS - 1) / PROCESSORS) << t->doubled;
    return true;
}

/*
 * Returns the attempt with the least cost. If several attempts have the least cost, returns the one with the largest
 * chunks. Overwrites v->bits.
 */
static attempt best_phases(const coverage *v, uint64_t *taken)
{
    attempt best = {.cost = INT64_MAX}; /* a single chunk always has a phase, so a valid attempt is found */
    for (int doubled = 0;; doubled++) {
        attempt t = {.doubled = doubled, .chunks = ((v->units - 1) >> doubled) + 1};
        if (assign_phases(v, &t, taken) && t.cost <= best.cost) best = t;
        if (t.chunks == 1) return best;
        join_neighbours(v, t.chunks);
    }
}

/* Returns the columns of the pages from the first to the last that units begin .. end - 1 touch. */
static spryi_csr_range window_of(const coverage *v, int64_t begin, int64_t end)
{
    int64_t first = v->pages, last = -1;
    for (int64_t u = begin; u < end; u++) {
        const uint8_t *touched = v->touched + u * v->pages;
        int64_t page = 0;
        while (page < first && !touched[page]) page++;
        first = page;
        for (page = v->pages - 1; page > last && !touched[page];) page--;
        last = page;
    }
    if (last < first) return (spryi_csr_range){0};
    int64_t to = (last + 1) << v->shift;
    return (spryi_csr_range){first << v->shift, to < v->csr->columns ? to : v->csr->columns};
}

/*
 * Builds the largest number of chunks whose windows together are within the limit of SPRYI_WINDOW_SHARE. Chunks have
 * nearly equal work. Returns the number of chunks, 0 if fewer than 2 fit.
 */
static int64_t build_windows(const coverage *v, spry_type vector_type, spryi_csr_chunk list[SPRYI_MOST_WINDOWS],
                             int64_t *elements)
{
    const spry_arrays *a = v->csr;
    const int64_t entry = (int64_t)(spry_type_bytes(a->value_type) + spryi_index_type_bytes(a->index_type));
    const int64_t most = a->nnz * entry / SPRYI_WINDOW_SHARE / (int64_t)spry_type_bytes(vector_type);
    for (int64_t count = v->units < SPRYI_MOST_WINDOWS ? v->units : SPRYI_MOST_WINDOWS; count > 1; count--) {
        *elements = 0;
        for (int64_t c = 0; c < count; c++) {
            const int64_t begin = v->units * c / count, end = v->units * (c + 1) / count;
            list[c] = (spryi_csr_chunk){.first = first_block(v, begin),
                                        .last = first_block(v, end),
                                        .window = window_of(v, begin, end),
                                        .at = *elements};
            *elements += list[c].window.end - list[c].window.begin;
        }
        if (*elements <= most) return count;
    }
    return *elements = 0;
}

/* Lists chunks ordered by phase. Sets place[c] to the index of chunk c in the list. */
static void place_chunks(spryi_csr_chunks *chunks, const coverage *v, const attempt *a, int64_t *place)
{
    chunks->phase_count = a->phases;
    for (int64_t phase = 0; phase < a->phases; phase++) {
        chunks->phases[phase] = chunks->count;
        for (int64_t c = 0; c < a->chunks; c++) {
            if (a->phase[c] != phase) continue;
            const int64_t begin = c << a->doubled, end = (c + 1) << a->doubled;
            chunks->list[chunks->count] = (spryi_csr_chunk){.first = first_block(v, begin),
                                                            .last = first_block(v, end < v->units ? end : v->units)};
            place[c] = chunks->count++;
        }
    }
    chunks->phases[a->phases] = chunks->count;
}

/*
 * Sets owner[page] to the list index of the first chunk that touches the page. An untouched page gets the owner of the
 * previous page.
 */
static void find_owners(const coverage *v, const attempt *a, const int64_t *place, int32_t *owner)
{
    for (int64_t page = 0; page < v->pages; page++) owner[page] = INT32_MAX;
    for (int64_t u = 0; u < v->units; u++) {
        const uint8_t *touched = v->touched + u * v->pages;
        const int32_t at = (int32_t)place[u >> a->doubled];
        for (int64_t page = 0; page < v->pages; page++)
            if (touched[page] && at < owner[page]) owner[page] = at;
    }
    for (int64_t page = 0; page < v->pages; page++)
        if (owner[page] == INT32_MAX) owner[page] = page > 0 ? owner[page - 1] : 0;
}

/* Builds each chunk's ranges: consecutive pages that the chunk owns. */
static spry_status build_ranges(spry_context *context, spryi_csr_chunks *chunks, const coverage *v,
                                const int32_t *owner, spry_error *err)
{
    for (int64_t page = 0; page < v->pages; page++)
        if (page == 0 || owner[page] != owner[page - 1]) chunks->list[owner[page]].ranges_end++;
    for (int64_t c = 0; c < chunks->count; c++) {
        spryi_csr_chunk *chunk = &chunks->list[c];
        chunk->ranges_begin = chunks->range_count;
        chunks->range_count += chunk->ranges_end;
        chunk->ranges_end = chunk->ranges_begin;
    }
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &chunks->ranges, chunks->range_count, "ranges", err));
    for (int64_t page = 0, next; page < v->pages; page = next) {
        for (next = page + 1; next < v->pages && owner[next] == owner[page];) next++;
        const int64_t end = next << v->shift;
        chunks->ranges[chunks->list[owner[page]].ranges_end++] =
            (spryi_csr_range){page << v->shift, end < v->csr->columns ? end : v->csr->columns};
    }
    return SPRY_OK;
}

static spry_status build_phases(spry_context *context, spryi_csr_chunks *chunks, const coverage *v, const attempt *best,
                                spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t place[SPRYI_MOST_CHUNKS];
    int32_t *owner = NULL;
    SPRYI_TRY(SPRYI_NEW(context, &chunks->list, best->chunks, "chunks", err));
    place_chunks(chunks, v, best, place);
    SPRYI_TRY(SPRYI_NEW(context, &owner, v->pages, "pages of y (scratch)", err));
    find_owners(v, best, place, owner);
    status = build_ranges(context, chunks, v, owner, err);
done:
    spryi_release(context, owner);
    return status;
}

/* Builds the chunks of s. The runs of its blocks must have been found. Reads the columns once. */
static spry_status build_chunks(spry_context *context, spryi_csr *s, spry_error *err)
{
    spryi_csr_chunks *chunks = &s->chunks;
    spry_status status = SPRY_OK;
    coverage v = {.csr = &s->a, .blocks = &s->blocks, .runs = &s->runs};
    uint64_t *taken = NULL;
    spryi_csr_chunk windows[SPRYI_MOST_WINDOWS];
    SPRYI_TRY(mark_pages(context, &v, err));
    SPRYI_TRY(SPRYI_NEW(context, &taken, SPRYI_MOST_PHASES * v.words, "phases (scratch)", err));
    const attempt best = best_phases(&v, taken);
    const bool try_windows = best.cost * LEAST_SPEEDUP > v.units;
    const int64_t count = try_windows ? build_windows(&v, s->vector_type, windows, &chunks->window_elements) : 0;
    if (count > 0) {
        SPRYI_TRY(SPRYI_NEW(context, &chunks->list, count, "chunks", err));
        memcpy(chunks->list, windows, (size_t)count * sizeof *windows);
        chunks->count = count;
    } else {
        status = build_phases(context, chunks, &v, &best, err);
    }
done:
    spryi_release(context, taken);
    spryi_release(context, v.bits);
    spryi_release(context, v.touched);
    return status;
}

/* ---- auxiliary arrays ---------------------------------------------------------------------------------- */

#ifdef SPRY_HAVE_X86
/*
 * Returns true if AVX-512 kernels, which use spans, will run, and will run often enough. If the request names no
 * kernel, the kernels of the context's SIMD level will run.
 */
static bool wants_spans(const spry_context *context, const spryi_build_request *request)
{
    const int64_t calls = request->options->expected_calls;
    if (calls > 0 && calls < SPRYI_CSR_CALLS_FOR_SPANS) return false;
    return (request->kernel ? request->kernel->simd : context->simd) >= SPRYI_AVX512;
}
#endif

/*
 * Returns whether `calls` products (0: many) save the time of finding runs. repeated: share of the entries in rows that
 * repeat or shift the previous row's columns. Measured on one thread of a Zen 3: finding runs takes as long as 1.2
 * products of grid5, 1 of grid7, 0.5 of grid27 and 0.4 of fem3. A product with runs takes 0.8 to 0.95 of the time on
 * grid5 and grid7, and 0.6 on grid27 and fem3. It is not faster on G3_circuit and cnr-2000, where less than half of the
 * rows are in runs.
 */
static bool runs_pay(const spry_arrays *a, double repeated, int64_t calls)
{
    static const double FEW = 0.05; /* below this share runs are rare, for any number of calls */
    if (repeated < FEW || calls == 0) return repeated >= FEW;
    const double mean = (double)a->nnz / (double)a->rows;
    const double cost = 0.3 + 4.5 / mean, gain = repeated * repeated * (0.45 - 1.3 / mean);
    return (double)calls * gain > cost;
}

spry_status spryi_csr_finish(spry_context *context, spryi_csr *s, const spryi_build_request *request, bool scatters,
                             spry_error *err)
{
    const int64_t calls = request->options->expected_calls;
    const bool own_blocks = s->blocks.list != NULL;
    spryi_column_reader reader = spryi_reader_of(&s->a);
    spryi_row_relations relations = {0};
    spry_status status = SPRY_OK;
    s->vector_type = request->options->vector_type;
    s->scatters = scatters;
    if (!own_blocks && (calls == 0 || calls >= SPRYI_CSR_CALLS_FOR_RUNS))
        SPRYI_TRY(spryi_find_relations(&relations, &reader, SPRYI_QUICK, err));
    if (!own_blocks) SPRYI_TRY(build_blocks(context, &s->blocks, &s->a, err));
    if (own_blocks || runs_pay(&s->a, relations.repeated, calls))
        SPRYI_TRY(find_runs(context, &s->runs, &s->blocks, &s->a, err));
    else
        SPRYI_TRY(build_general_runs(context, &s->runs, &s->blocks, err));
    if (scatters) SPRYI_TRY(build_chunks(context, s, err));
#ifdef SPRY_HAVE_X86
    if (!scatters && wants_spans(context, request))
        SPRYI_TRY(spryi_csr_spans_find(context, &s->spans, &s->runs, &s->blocks, &s->a, s->vector_type, err));
#endif
done:
    return status;
}

void spryi_csr_release_auxiliary(spry_context *context, spryi_csr *s)
{
    spryi_release(context, s->blocks.list);
    spryi_release(context, s->blocks.long_rows);
    spryi_release(context, s->runs.list);
    spryi_release(context, s->spans.list);
    spryi_release(context, s->chunks.list);
    spryi_release(context, s->chunks.ranges);
}

static void destroy(spry_context *context, void *storage)
{
    spryi_csr *s = storage;
    spryi_csr_release_auxiliary(context, s);
    spryi_matrix_release(s->owned);
    spryi_release(context, s->offsets);
    spryi_release(context, s);
}

/* ---- storage of both formats --------------------------------------------------------------------------- */

static int64_t auxiliary_bytes(const spryi_csr *s)
{
    return s->blocks.count * (int64_t)sizeof *s->blocks.list + s->runs.count * (int64_t)sizeof *s->runs.list +
           s->blocks.long_count * (int64_t)sizeof *s->blocks.long_rows +
           s->spans.count * (int64_t)sizeof *s->spans.list + s->chunks.count * (int64_t)sizeof *s->chunks.list +
           s->chunks.range_count * (int64_t)sizeof *s->chunks.ranges;
}

static int64_t storage_bytes(const void *storage)
{
    const spryi_csr *s = storage;
    return spryi_arrays_bytes(&s->a) + auxiliary_bytes(s);
}

static int64_t owned_bytes(const void *storage)
{
    const spryi_csr *s = storage;
    const int64_t bytes = s->owned     ? spryi_arrays_bytes(&s->a)
                          : s->offsets ? (s->a.rows + 1) * (int64_t)sizeof(int64_t)
                                       : 0;
    return bytes + auxiliary_bytes(s);
}

static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_csr *s = storage;
    if (!s->scatters) return SPRYI_CSR_SUMS * s->blocks.piece_count * (int64_t)sizeof(double);
    int64_t elements = s->chunks.window_elements > s->a.columns ? s->chunks.window_elements : s->a.columns;
    return elements * (int64_t)spry_type_bytes(vector_type);
}

static int device_sections(void *storage, spryi_section *sections)
{
    spryi_csr *s = storage;
    spry_arrays *a = &s->a;
    int count = 0;
    /* The casts are safe: on a device the arrays are the plan's own copies. */
    const int64_t offset_bytes = (int64_t)spryi_index_type_bytes(a->offset_type);
    const int64_t index_bytes = (int64_t)spryi_index_type_bytes(a->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(a->value_type);
    void **offsets = (void **)(uintptr_t)&a->offsets, **columns = (void **)(uintptr_t)&a->indices;
    sections[count++] = (spryi_section){"offsets", offsets, NULL, a->rows + 1, offset_bytes};
    sections[count++] = (spryi_section){"columns", columns, NULL, a->nnz, index_bytes};
    if (value_bytes > 0)
        sections[count++] = (spryi_section){"values", (void **)(uintptr_t)&a->values, NULL, a->nnz, value_bytes};
    return count;
}

/* ---- format csr ---------------------------------------------------------------------------------------- */

static bool is_sorted_coo(const spry_arrays *a)
{
    return a->layout == SPRY_COO && a->sorted == SPRY_KNOWN_YES;
}

/* Builds row offsets from COO sorted by row. Columns and values are borrowed from the user. */
static spry_status offsets_of_coo(spry_context *context, spryi_csr *s, const spry_arrays *a, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &s->offsets, a->rows + 1, "row offsets", err));
    for (int64_t i = 0, k = 0; i <= a->rows; i++) {
        while (k < a->nnz && spryi_index_at(a->row_indices, a->index_type, k) < i) k++;
        s->offsets[i] = k;
    }
    s->a.layout = SPRY_CSR;
    s->a.offset_type = SPRY_I64;
    s->a.offsets = s->offsets;
    s->a.row_indices = NULL;
    return SPRY_OK;
}

static spry_status predict_csr(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                               spry_error *err)
{
    (void)context, (void)err;
    spry_arrays a = request->A->a;
    const bool same_values = a.value_type == request->value_type;
    if (same_values && is_sorted_coo(&a)) /* offsets_of_coo builds 64-bit offsets */
        a.offset_type = SPRY_I64;
    else if (!same_values || a.layout != SPRY_CSR)
        a.offset_type = a.nnz <= INT32_MAX ? a.index_type : SPRY_I64;
    a.layout = SPRY_CSR;
    a.value_type = request->value_type;
    cost->bytes = spryi_arrays_bytes(&a);
    if (same_values && request->A->a.layout == SPRY_CSR) cost->borrowed = cost->bytes;
    if (same_values && is_sorted_coo(&request->A->a))
        cost->borrowed = cost->bytes - (a.rows + 1) * (int64_t)sizeof(int64_t); /* the plan owns the offsets */
    cost->words = (a.value_type == SPRY_PATTERN ? 1 : 2) * a.nnz + a.rows + 1;
    return SPRY_OK;
}

static spry_status build_csr(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_matrix *A = request->A;
    const spry_spmv_options *options = request->options;
    spryi_cost cost = {0};
    spryi_csr *s = storage;
    SPRYI_OK_OR_RETURN(predict_csr(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "csr", &cost, err));
    *s = (spryi_csr){.a = A->a};
    if (A->a.value_type == request->value_type && is_sorted_coo(&A->a)) {
        SPRYI_OK_OR_RETURN(offsets_of_coo(context, s, &A->a, err));
    } else if (A->a.value_type != request->value_type || A->a.layout != SPRY_CSR) {
        SPRYI_OK_OR_RETURN(spryi_matrix_as_csr(context, &s->owned, A, request->value_type, err));
        s->a = s->owned->a;
    }
    /* GPU kernels use only the CSR arrays, so the auxiliary arrays are built only for CPUs */
    if (!request->massively_parallel)
        SPRYI_OK_OR_RETURN(spryi_csr_finish(context, s, request, options->op == SPRY_TRANSPOSE, err));
    return SPRY_OK;
}

const spryi_format spryi_format_csr = {
    .name = "csr",
    .title = "compressed sparse rows",
    .formula = "nnz values + nnz columns + (m+1) offsets",
    .best_for = "everything, without a copy: the default",
    .takes_any_layout = 1,
    .in_place = 1,
    .layout.size = sizeof(spryi_csr),
    .layout.device_sections = device_sections,
    .predict = predict_csr,
    .build = build_csr,
    .destroy = destroy,
    .storage_bytes = storage_bytes,
    .owned_bytes = owned_bytes,
    .workspace_bytes = workspace_bytes,
    .choice.estimator = &spryi_csr_estimator,
    .choice.tree_answers = SPRYI_TREE_MEMORY | SPRYI_TREE_OTHER,
};

/* ---- format csc ---------------------------------------------------------------------------------------- */

/* Converts A to CSC by sorting the entries. A may have any layout and value type. */
static spry_status convert_to_csc(spry_context *context, spry_matrix **csc, const spryi_build_request *request,
                                  spry_error *err)
{
    const spry_matrix *A = request->A;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    spry_index_type offset_type = SPRY_INDEX_DEFAULT, index_type = A->a.index_type;
    if (A->a.layout != SPRY_COO) offset_type = A->a.offset_type;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, A->a.rows, A->a.columns, A->a.nnz, err));
    SPRYI_TRY(spryi_compress(context, &c, &A->a, SPRY_CSC, index_type, err));
    SPRYI_TRY(spryi_merge(context, &c, request->value_type, SPRYI_KEEP_ALL, NULL, err));
    SPRYI_TRY(spryi_compressed_finish(context, csc, &c, SPRY_CSC, offset_type, 0, SPRY_GENERAL, A->field, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

static spry_status predict_csc(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                               spry_error *err)
{
    (void)context, (void)err;
    spry_arrays a = request->A->a;
    if (a.layout == SPRY_COO) a.offset_type = a.nnz <= INT32_MAX ? a.index_type : SPRY_I64;
    a.layout = SPRY_CSC;
    a.value_type = request->value_type;
    cost->bytes = spryi_arrays_bytes(&a);
    if (request->A->a.layout == SPRY_CSC && request->A->a.value_type == a.value_type) cost->borrowed = cost->bytes;
    cost->words = (a.value_type == SPRY_PATTERN ? 1 : 2) * a.nnz + a.columns + 1;
    return SPRY_OK;
}

static spry_status build_csc(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_matrix *A = request->A;
    spryi_cost cost = {0};
    spryi_csr *s = storage;
    SPRYI_OK_OR_RETURN(predict_csc(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "csc", &cost, err));
    *s = (spryi_csr){.a = A->a};
    if (A->a.layout != SPRY_CSC || A->a.value_type != request->value_type) {
        if (A->a.layout == SPRY_CSR && A->a.value_type == request->value_type)
            SPRYI_OK_OR_RETURN(spryi_csc_from_csr(context, &s->owned, A, err));
        else
            SPRYI_OK_OR_RETURN(convert_to_csc(context, &s->owned, request, err));
        s->a = s->owned->a;
    }
    const int64_t rows = s->a.rows;
    s->a.rows = s->a.columns;
    s->a.columns = rows;
    s->a.layout = SPRY_CSR;
    if (!request->massively_parallel) /* GPU kernels do not use the auxiliary arrays */
        SPRYI_OK_OR_RETURN(spryi_csr_finish(context, s, request, request->options->op == SPRY_NO_TRANSPOSE, err));
    return SPRY_OK;
}

const spryi_format spryi_format_csc = {
    .name = "csc",
    .title = "compressed sparse columns",
    .formula = "nnz values + nnz rows + (n+1) offsets",
    .best_for = "many transposed products; matrices given by columns",
    .takes_any_layout = 1,
    .predict = predict_csc,
    .build = build_csc,
    .destroy = destroy,
    .storage_bytes = storage_bytes,
    .owned_bytes = owned_bytes,
    .workspace_bytes = workspace_bytes,
    .layout.size = sizeof(spryi_csr),
    .layout.device_sections = device_sections,
    .choice.tree_answers = SPRYI_TREE_COLUMNS,
};

#else /* for each pair of index types (base/instantiate_indices.h) */

/*
 * Returns true if c[j] - before[j] == by for each j. Compares eight columns at a time: most rows differ in the first
 * columns.
 */
static inline bool SPRY_FN(all_differ_by)(const SPRY_J *c, const SPRY_J *before, int64_t length, SPRY_J by)
{
    int64_t j = 0;
    for (; j + 8 <= length; j += 8) {
        SPRY_J differs = 0;
        for (int q = 0; q < 8; q++) differs |= (SPRY_J)((c[j + q] - before[j + q]) ^ by);
        if (differs != 0) return false;
    }
    for (; j < length; j++)
        if (c[j] - before[j] != by) return false;
    return true;
}

/* Sets relation[i - begin] for rows begin .. end - 1. The first row is UNRELATED. */
static void SPRY_FN(relate_rows)(const SPRY_P *Ap, const SPRY_J *Aj, int64_t begin, int64_t end, uint8_t *relation)
{
    relation[0] = UNRELATED;
    for (int64_t i = begin + 1; i < end; i++) {
        int64_t length = Ap[i + 1] - Ap[i];
        /* only the first column of most rows is read; the processor does not prefetch such accesses */
        __builtin_prefetch((const void *)((uintptr_t)(Aj + Ap[i]) + AHEAD));
        relation[i - begin] = UNRELATED;
        if (length == 0 || Ap[i] - Ap[i - 1] != length) continue;
        const SPRY_J *c = Aj + Ap[i], *before = c - length;
        if ((c[0] == before[0] || c[0] == before[0] + 1) && SPRY_FN(all_differ_by)(c, before, length, c[0] - before[0]))
            relation[i - begin] = c[0] == before[0] ? SAME : STRIDE;
    }
}

#endif
