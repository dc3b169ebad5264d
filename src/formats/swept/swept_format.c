/*
 * The storage of format swept: build from CSR on the host, and conversion to CSR.
 *
 * Build: rows are cut into blocks of about equal cost, whose sums fit the shared memory. A bisection finds the least
 * cost per block that gives at most the wanted number of blocks. A radix sort orders the entries of each block by
 * column. Then each entry is assigned to the first group that has fewer than 1024 entries, does not yet have the
 * entry's sum, and is in a batch whose base is near enough to the entry's column. A thread builds one block at a time.
 * Sorting 32-bit columns takes 3 passes. During the build, the slot of an entry takes 8 bytes.
 *
 * Conversion to CSR: the entries of rows are counted, then copied in the order of groups, block by block.
 *
 * Source: SCOO: Dang and Schmidt 2012; the groups: this library.
 */
#ifndef SPRY_FN
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/shared/owned_arrays.h"
#include "formats/shared/storage_limits.h"
#include "formats/swept/swept_layout.h"
#include "matrix/assemble.h"

#include <string.h>

/* Slot of an entry, relative to the block's first slot, and the entry's sum. */
typedef struct entry_slot {
    uint32_t slot, sum;
} entry_slot;

/* A storage during its build. The arrays `before`, `cuts` and `targets` are released at the end. */
typedef struct swept_build {
    spryi_swept *s;
    const spry_arrays *a;  /* CSR */
    int64_t *before;       /* rows + 1 elements: number of rows with entries before each row */
    spryi_swept_cut *cuts; /* blocks + 1 */
    entry_slot *targets;   /* nnz */
} swept_build;

/* ---- cut rows into blocks ------------------------------------------------------------------------------ */

typedef struct cutting {
    const spry_arrays *a;
    const int64_t *before; /* number of rows with entries before each row */
    int64_t most_sums;     /* most rows with entries of a block */
} cutting;

static int64_t entries_before(const cutting *c, int64_t row)
{
    return spryi_index_at(c->a->offsets, c->a->offset_type, row);
}

/*
 * Returns the last row in low .. high whose preceding rows have a cost of at most `most` or, if by_sums, contain at
 * most `most` rows with entries.
 */
static int64_t last_row(const cutting *c, int64_t low, int64_t high, int64_t most, bool by_sums)
{
    int64_t i;
    SPRYI_BISECT(i, low + 1, high + 1,
                 (by_sums ? c->before[i] : spryi_swept_cost_before(entries_before(c, i), i)) <= most);
    return i - 1;
}

/* Returns the end of the block that begins at `at` and may cost `most`. */
static spryi_swept_cut next_cut(const cutting *c, const spryi_swept_cut *at, int64_t most)
{
    spryi_swept_cut to;
    const int64_t rows = c->a->rows, wanted = spryi_swept_cost_limit(at, most);
    /* one sum is reserved for a row that is cut */
    const int64_t sums = c->before[at->row] + c->most_sums - 1;
    int64_t row = last_row(c, at->row, rows, wanted, false);
    if (c->before[row] > sums) row = last_row(c, at->row, row, sums, true);
    spryi_swept_end_of_block(&to, at, rows, wanted, row, entries_before(c, row),
                             entries_before(c, row < rows ? row + 1 : row));
    to.row_begin = entries_before(c, to.row);
    to.before = c->before[to.row];
    return to;
}

/* Cuts rows into blocks that cost at most `most` each. Returns the number of blocks. cuts may be NULL. */
static int64_t cut_by_cost(const cutting *c, int64_t most, spryi_swept_cut *cuts)
{
    spryi_swept_cut at = {0};
    int64_t blocks = 0;
    while (at.row < c->a->rows) {
        if (cuts) cuts[blocks] = at;
        at = next_cut(c, &at, most);
        blocks++;
    }
    if (cuts) cuts[blocks] = at;
    return blocks;
}

static int64_t cost_for(const cutting *c, spryi_swept_search search)
{
    if (cut_by_cost(c, search.narrow, NULL) <= search.wanted) search.high = search.narrow;
    while (search.high - search.low > search.near)
        spryi_swept_search_step(&search,
                                cut_by_cost(c, search.low + (search.high - search.low) / 2, NULL) <= search.wanted);
    return search.high > 0 ? search.high : 1;
}

static void mark_rows(void *job, int64_t begin, int64_t end)
{
    const swept_build *state = job;
    const void *offsets = state->a->offsets;
    const spry_index_type type = state->a->offset_type;
    int64_t *before = state->before;
    for (int64_t i = begin; i < end; i++)
        before[i + 1] = spryi_index_at(offsets, type, i + 1) > spryi_index_at(offsets, type, i);
}

static spry_status count_rows(spry_context *context, swept_build *state, spry_error *err)
{
    const spry_arrays *a = state->a;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &state->before, a->rows + 1, "rows with entries", err));
    state->before[0] = 0;
    spryi_loop(context, spryi_threads(context, a->rows), a->rows, 0, mark_rows, state);
    spryi_scan(state->before, a->rows);
    return SPRY_OK;
}

/* Finds blocks and shared rows. Sizes and types of state->s must be set. */
static spry_status cut_rows(spry_context *context, swept_build *state, spry_error *err)
{
    spryi_swept *s = state->s;
    spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    SPRYI_TRY(count_rows(context, state, err));
    const cutting c = {.a = state->a, .before = state->before, .most_sums = spryi_swept_most_rows(h)};
    const int64_t least = spryi_swept_may_need_more(h) ? cut_by_cost(&c, spryi_swept_most_cost(), NULL) : 0;
    const int64_t cost = cost_for(&c, spryi_swept_search_for(h, least));
    h->blocks = cut_by_cost(&c, cost, NULL);
    SPRYI_TRY(SPRYI_NEW(context, &state->cuts, h->blocks + 1, "cuts of row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->blocks, h->blocks, "row blocks", err));
    /* each block begins at most one shared row */
    SPRYI_TRY(SPRYI_NEW(context, &s->shared_rows, h->blocks, "rows in pieces", err));
    cut_by_cost(&c, cost, state->cuts);
    spryi_swept_build_blocks(s, state->cuts);
done:
    return status;
}

/* ---- sort entries into groups -------------------------------------------------------------------------- */

enum {
    DIGIT_BITS = 11,
    /*
     * Exceeds the number of open groups. The open groups after the first have at least one entry each, and at most
     * MOST_AHEAD entries in total.
     */
    WINDOW = 2 * SPRYI_SWEPT_MOST_AHEAD,
    MOST_STRETCHES = SPRYI_SWEPT_MOST_ENTRIES / (SPRYI_SWEPT_STRETCH * SPRYI_SWEPT_THREADS) + 1,
    MULTIPLE_SUMS = -2, /* stored instead of a group if the row has further sums */
};

/* State of a row with entries while its block is packed. */
typedef struct row_state {
    int32_t entries, sum_count, next_sum; /* next_sum: which of the row's sums its next entry uses */
    int32_t further;                      /* second sum; the others follow */
    int32_t group, first;                 /* last group with an entry of the row; last group with its first sum */
} row_state;

/*
 * For one row: the last stretch with entries, the number of entries in this stretch, and the largest number of entries
 * in any stretch. The members have 16 bits, since they are read for each entry.
 */
typedef struct row_stretch {
    uint16_t last, near, most;
} row_stretch;
_Static_assert(SPRYI_SWEPT_STRETCH *SPRYI_SWEPT_THREADS <= UINT16_MAX && MOST_STRETCHES < UINT16_MAX,
               "a row's counts in 16 bits");

/* Scratch memory in which a thread packs a block. */
typedef struct packing {
    char *entries; /* 2 * most_entries elements of the template's type */
    int64_t most_entries;
    uint32_t *sum_of; /* sum of each entry, in stored order */
    row_state *rows;  /* state of each row with entries */
    row_stretch *counts;
    int32_t *last;     /* for each sum, the last group that has it, or MULTIPLE_SUMS */
    int64_t most_sums; /* number of sums that a block may have at most */
    int64_t *base;     /* WINDOW elements: first column of batches; during the sort, counters of the digits */
    int32_t *filled;   /* WINDOW elements: number of entries of each open group */
} packing;
_Static_assert(WINDOW >= 1 << DIGIT_BITS, "a counter for each digit");

/* Closes a group: frees its place in the window of open groups. Returns the number of its entries. */
static int32_t close_group(packing *p, int64_t group)
{
    const int32_t filled = p->filled[group % WINDOW];
    p->filled[group % WINDOW] = 0;
    return filled;
}

/* Counts an entry of the row. e: the entry's position in the block in column order. */
static void count_entry(row_stretch *row, int64_t e)
{
    const uint16_t stretch = (uint16_t)(spryi_swept_stretch(e) + 1);
    row->near = (uint16_t)(row->last == stretch ? row->near + 1 : 1);
    row->last = stretch;
    if (row->near > row->most) row->most = row->near;
}

/* Assigns sums to the rows of a block of `count` entries. */
static void assign_sums(spryi_swept_block *block, int64_t count, int64_t unroll, packing *p)
{
    const int64_t rows = block->sums;
    spryi_swept_limits limits = spryi_swept_first_limits(count, unroll);
    int64_t sums, extras;
    do {
        sums = rows;
        extras = 0;
        for (int64_t r = 0; r < rows; r++) {
            row_state *row = &p->rows[r];
            row->sum_count = (int32_t)spryi_swept_sums_of_row(row->entries, p->counts[r].most, &limits);
            row->further = (int32_t)sums;
            extras += row->sum_count > 1;
            sums += row->sum_count - 1;
        }
        limits.most *= 2;
        limits.near *= 2;
    } while (sums > p->most_sums && extras > 0);
    block->all_sums = (int32_t)sums;
    block->sum_bits = spryi_swept_sum_bits(sums);
    block->extras = (int32_t)extras;
    for (int64_t n = 0; n < sums; n++) p->last[n] = -1;
    for (int64_t r = 0; r < rows; r++) {
        p->rows[r].next_sum = p->rows[r].group = 0;
        p->rows[r].first = -1;
        if (p->rows[r].sum_count > 1) p->last[r] = MULTIPLE_SUMS;
    }
}

/* Chooses the row's next sum for an entry in the group. Returns the sum. sum: the row's first sum. */
static int64_t assign_next_sum(packing *p, row_state *row, int64_t sum, int32_t group)
{
    if (row->next_sum == 0)
        row->first = group;
    else
        p->last[sum = row->further + row->next_sum - 1] = group;
    row->group = group;
    row->next_sum = row->next_sum + 1 < row->sum_count ? row->next_sum + 1 : 0;
    return sum;
}

#define SPRYI_NO_OFFSETS
#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/swept/swept_format.c" /* the second half of this file */
#include "base/instantiate.h"

typedef void (*pack_fn)(const swept_build *state, int64_t block, packing *p);
typedef void (*fill_fn)(const swept_build *state, int64_t block);
static const pack_fn packs[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(pack);
static const fill_fn fills[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill);

/* A type at least as large as the type `entry` of any instance. */
typedef struct widest_entry {
    int64_t column, position;
} widest_entry;

/* Returns the part of `memory` after *used bytes and adds its size to *used. If memory is NULL, only adds the size. */
static void *next_part(char *memory, int64_t *used, int64_t count, size_t item_bytes)
{
    void *part = memory ? memory + *used : NULL;
    *used += (count * (int64_t)item_bytes + SPRYI_ALIGNMENT - 1) / SPRYI_ALIGNMENT * SPRYI_ALIGNMENT;
    return part;
}

/* Sets the arrays of a packing, whose sizes are set, to parts of `memory`. Returns their total bytes. */
static int64_t lay_out(packing *p, char *memory, int64_t most_rows)
{
    int64_t used = 0;
    p->entries = next_part(memory, &used, 2 * p->most_entries, sizeof(widest_entry));
    p->sum_of = next_part(memory, &used, p->most_entries, sizeof *p->sum_of);
    p->rows = next_part(memory, &used, most_rows, sizeof *p->rows);
    p->counts = next_part(memory, &used, most_rows, sizeof *p->counts);
    p->last = next_part(memory, &used, p->most_sums, sizeof *p->last);
    p->base = next_part(memory, &used, WINDOW, sizeof *p->base);
    p->filled = next_part(memory, &used, WINDOW, sizeof *p->filled);
    return used;
}

static int threads_for(const spry_context *context, const spryi_swept_sizes *h)
{
    int threads = spryi_threads(context, h->rows + h->nnz);
    return threads < h->blocks ? threads : h->blocks > 0 ? (int)h->blocks : 1;
}

typedef struct pack_job {
    const swept_build *state;
    const packing *sizes;
    pack_fn pack;
    char *scratch;
    int64_t bytes, most_rows;
} pack_job;

static void pack_some_blocks(void *job, int64_t begin, int64_t end, int part)
{
    const pack_job *j = job;
    packing p = *j->sizes;
    lay_out(&p, j->scratch + part * j->bytes, j->most_rows);
    for (int64_t b = begin; b < end; b++) j->pack(j->state, b, &p);
}

/* Finds the slot of every entry, and the remaining sizes. */
static spry_status pack_blocks(spry_context *context, swept_build *state, spry_error *err)
{
    spryi_swept *s = state->s;
    spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    void *scratch = NULL;
    int64_t most_rows = 0;
    packing sizes = {0};
    for (int64_t b = 0; b < h->blocks; b++) {
        const int64_t entries = state->cuts[b + 1].entry - state->cuts[b].entry;
        if (entries > sizes.most_entries) sizes.most_entries = entries;
        if (s->blocks[b].sums > most_rows) most_rows = s->blocks[b].sums;
    }
    sizes.most_sums = spryi_swept_most_sums(s, state->cuts);
    const int64_t bytes = lay_out(&sizes, NULL, most_rows);
    const int threads = threads_for(context, h);
    SPRYI_TRY(SPRYI_NEW(context, &state->targets, h->nnz, "slots of entries", err));
    SPRYI_TRY(spryi_allocate(context, &scratch, threads, (size_t)bytes, "scratch memory of sorting", err));
    spryi_loop_in_parts(context, threads, h->blocks, 1, pack_some_blocks,
                        &(pack_job){state, &sizes, SPRYI_INSTANCE(packs, state->a), scratch, bytes, most_rows});
    SPRYI_TRY(spryi_swept_count_all(s, err));
done:
    spryi_release(context, scratch);
    return status;
}

/* ---- fill the arrays ----------------------------------------------------------------------------------- */

/*
 * Lists the further sums of rows from the sums of entries. owner: scratch; owner[n] is the first sum of the row that
 * has the block's n-th further sum.
 */
static void fill_extras(const swept_build *state, int64_t b, int32_t *owner)
{
    spryi_swept *s = state->s;
    const spryi_swept_block *block = &s->blocks[b];
    const uint32_t first = (uint32_t)block->sums, further = (uint32_t)(block->all_sums - block->sums);
    int64_t row = block->first_row, found = block->first_extra - 1;
    for (int64_t k = state->cuts[b].entry; further > 0 && k < state->cuts[b + 1].entry; k++) {
        while (spryi_index_at(state->a->offsets, state->a->offset_type, row + 1) <= k) row++;
        if (state->targets[k].sum >= first)
            owner[state->targets[k].sum - first] = (int32_t)(state->before[row] - state->before[block->first_row]);
    }
    for (uint32_t n = 0; n < further; n++) {
        if (n == 0 || owner[n] != owner[n - 1])
            s->extras[++found] = (spryi_swept_extra){.sum = owner[n], .first = (int32_t)(first + n)};
        s->extras[found].count++;
    }
}

typedef struct fill_job {
    const swept_build *state;
    fill_fn fill;
    int32_t *owner;
    int64_t most; /* largest number of further sums of a block */
} fill_job;

static void fill_some_blocks(void *job, int64_t begin, int64_t end, int part)
{
    const fill_job *j = job;
    const spryi_swept *s = j->state->s;
    for (int64_t b = begin; b < end; b++) {
        const spryi_swept_block *block = &s->blocks[b];
        for (int32_t r = 0; r < block->rows; r += 32)
            s->bitmaps[block->first_bitmap + r / 32] =
                spryi_swept_bitmap_of(j->state->before + block->first_row, r, block->rows);
        fill_extras(j->state, b, j->owner + part * (j->most + 1));
        j->fill(j->state, b);
    }
}

/* Fills all arrays except blocks and shared rows. */
static spry_status fill_blocks(spry_context *context, swept_build *state, spry_error *err)
{
    spryi_swept *s = state->s;
    const spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    int32_t *owner = NULL;
    int64_t most = 0;
    for (int64_t b = 0; b < h->blocks; b++)
        if (s->blocks[b].all_sums - s->blocks[b].sums > most) most = s->blocks[b].all_sums - s->blocks[b].sums;
    const int threads = threads_for(context, h);
    SPRYI_TRY(SPRYI_NEW(context, &owner, threads * (most + 1), "rows of further sums", err));
    spryi_loop_in_parts(context, threads, h->blocks, 1, fill_some_blocks,
                        &(fill_job){state, SPRYI_INSTANCE(fills, state->a), owner, most});
done:
    spryi_release(context, owner);
    return status;
}

/* ---- predict and build --------------------------------------------------------------------------------- */

static spry_status plan_slots(spry_context *context, swept_build *state, const spryi_build_request *request,
                              spry_error *err)
{
    const spry_arrays *a = state->a = &request->csr->a;
    state->s->sizes = spryi_swept_sizes_of(request, a);
    state->s->types = spryi_types_of(a->rows, a->columns, a->nnz, (int32_t)a->value_type, (int32_t)a->offset_type,
                                     (int32_t)a->index_type);
    spry_status status = cut_rows(context, state, err);
    return status == SPRY_OK ? pack_blocks(context, state, err) : status;
}

static void release_scratch(spry_context *context, swept_build *state)
{
    spryi_release(context, state->before);
    spryi_release(context, state->cuts);
    spryi_release(context, state->targets);
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    spryi_swept s = {0};
    swept_build state = {.s = &s};
    spry_status status = plan_slots(context, &state, request, err);
    if (status == SPRY_OK) spryi_swept_cost(&s, cost);
    release_scratch(context, &state);
    spryi_release_arrays(context, &s, spryi_swept_arrays);
    return status;
}

/*
 * Refuses a large matrix before its entries are sorted if even storage without padding would exceed the limit. The
 * number of slots is still unknown, so the check assumes a batch for each entry.
 */
static spry_status refuse_early(const spryi_build_request *request, spry_error *err)
{
    enum { LARGE = 1 << 24 }; /* number of rows plus entries of a matrix whose sorting takes seconds */
    const spry_arrays *a = &request->csr->a;
    const int64_t slot = (int64_t)spry_type_bytes(a->value_type) + (int64_t)sizeof(uint32_t);
    const int64_t limit = request->options->memory_limit_bytes;
    if (limit == 0 || a->nnz + a->rows < LARGE || a->nnz * slot + a->rows / 8 <= limit) return SPRY_OK;
    const int64_t batch = spryi_swept_unroll((int32_t)a->value_type) * SPRYI_SWEPT_THREADS * slot;
    const spryi_cost most = {.bytes = a->nnz < INT64_MAX / 4 / batch ? a->nnz * (batch + 64) + 64 * a->rows
                                                                     : INT64_MAX};
    return spryi_check_storage(request, "swept", &most, err);
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    spryi_swept *s = storage;
    spryi_cost cost = {0};
    swept_build state = {.s = s};
    spry_status status = SPRY_OK;
    SPRYI_TRY(refuse_early(request, err));
    SPRYI_TRY(plan_slots(context, &state, request, err));
    spryi_swept_cost(s, &cost);
    SPRYI_TRY(spryi_admit(request, "swept", &cost, err));
    SPRYI_TRY(spryi_allocate_arrays(context, s, spryi_swept_arrays, err));
    SPRYI_TRY(fill_blocks(context, &state, err));
done:
    release_scratch(context, &state);
    return status;
}

/* ---- conversion to CSR --------------------------------------------------------------------------------- */

typedef int64_t (*count_fn)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at);
typedef void (*unpack_fn)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at,
                          int64_t head, const spry_arrays *A);
static const count_fn counts[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(count);
static const unpack_fn unpacks[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(unpack);

/*
 * Converts the numbers of entries of rows in `at` to row offsets. heads[b]: if block b continues a row of the previous
 * block, on entry the number of block b's entries of the row, on return the position of the first of them.
 */
static void locate_rows(const spryi_swept *s, spry_arrays *a, int64_t *at, int64_t *heads)
{
    const int64_t blocks = s->sizes.blocks;
    for (int64_t b = 0; b < blocks; b++) {
        if (s->blocks[b].head_row < 0) continue;
        const int64_t pieces = at[s->blocks[b].first_row + 1];
        at[s->blocks[b].first_row + 1] += heads[b];
        heads[b] = pieces;
    }
    spryi_scan(at, a->rows);
    for (int64_t b = 0; b < blocks; b++) heads[b] += at[s->blocks[b].first_row];
    for (int64_t i = 0; i <= a->rows; i++) spryi_set_index((void *)(uintptr_t)a->offsets, a->offset_type, i, at[i]);
}

typedef struct block_job {
    const spryi_swept *s;
    const spry_arrays *a;
    int64_t *at, *heads;
    int32_t *rows;
} block_job;

static void count_blocks(void *job, int64_t begin, int64_t end, int part)
{
    const block_job *j = job;
    int32_t *row_of = j->rows + part * j->s->sizes.most_sums;
    for (int64_t b = begin; b < end; b++) {
        spryi_swept_rows_of_sums(j->s, &j->s->blocks[b], row_of);
        j->heads[b] = SPRYI_INSTANCE(counts, j->a)(j->s, &j->s->blocks[b], row_of, j->at);
    }
}

static void unpack_blocks(void *job, int64_t begin, int64_t end, int part)
{
    const block_job *j = job;
    int32_t *row_of = j->rows + part * j->s->sizes.most_sums;
    for (int64_t b = begin; b < end; b++) {
        spryi_swept_rows_of_sums(j->s, &j->s->blocks[b], row_of);
        SPRYI_INSTANCE(unpacks, j->a)(j->s, &j->s->blocks[b], row_of, j->at, j->heads[b], j->a);
    }
}

static void release_csr(spry_context *context, spry_arrays *a)
{
    spryi_release(context, (void *)(uintptr_t)a->offsets);
    spryi_release(context, (void *)(uintptr_t)a->indices);
    spryi_release(context, (void *)(uintptr_t)a->values);
    a->offsets = a->indices = a->values = NULL;
}

/* Allocates the arrays of CSR with the rows, nnz and types of *a. */
static spry_status new_csr(spry_context *context, spry_arrays *a, spry_error *err)
{
    void *offsets = NULL, *columns = NULL, *values = NULL;
    spry_status status =
        spryi_allocate(context, &offsets, a->rows + 1, spryi_index_type_bytes(a->offset_type), "row offsets", err);
    if (status == SPRY_OK)
        status = spryi_allocate(context, &columns, a->nnz, spryi_index_type_bytes(a->index_type), "columns", err);
    if (status == SPRY_OK && a->value_type != SPRY_PATTERN)
        status = spryi_allocate(context, &values, a->nnz, spry_type_bytes(a->value_type), "values", err);
    a->offsets = offsets;
    a->indices = columns;
    a->values = values;
    if (status != SPRY_OK) release_csr(context, a);
    return status;
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_swept *s = storage;
    const spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    int64_t *at = NULL, *heads = NULL;
    int32_t *rows = NULL;
    spry_arrays a = s->types;
    const int threads = spryi_threads(context, a.rows + a.nnz);
    SPRYI_TRY(new_csr(context, &a, err));
    SPRYI_TRY(SPRYI_NEW(context, &at, a.rows + 1, "positions of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &heads, h->blocks, "positions of shared rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &rows, threads * h->most_sums, "rows of sums", err));
    a.sorted = h->shared_rows == 0 ? SPRY_KNOWN_YES : SPRY_NOT_KNOWN; /* columns rise only within a piece of a row */
    memset(at, 0, (size_t)(a.rows + 1) * sizeof *at);
    block_job j = {s, &a, at, heads, rows};
    spryi_loop_in_parts(context, threads, h->blocks, 1, count_blocks, &j);
    locate_rows(s, &a, at, heads);
    spryi_loop_in_parts(context, threads, h->blocks, 1, unpack_blocks, &j);
    status = spryi_matrix_adopt(context, csr, &a, a.value_type == SPRY_PATTERN ? SPRYI_FIELD_PATTERN : SPRYI_REAL, err);
    a = s->types; /* not released below: adopt owns the arrays, also after a failure */
done:
    spryi_release(context, at);
    spryi_release(context, heads);
    spryi_release(context, rows);
    release_csr(context, &a);
    return status;
}

/* ---- descriptor ---------------------------------------------------------------------------------------- */

/* Returns the bytes for the reference kernel: sums of rows or of columns, and the row indices of a block's sums. */
static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_swept_sizes *h = &((const spryi_swept *)storage)->sizes;
    return (h->rows > h->cols ? h->rows : h->cols) * (int64_t)spry_type_bytes(vector_type) +
           h->most_sums * (int64_t)sizeof(int32_t);
}

static const spryi_parameter parameters[] = {
    {"blocks", 1, 1 << 20, "row blocks"},
    {"sums", 2, SPRYI_SWEPT_MOST_SUMS, "most sums of a block"},
    {.name = NULL},
};

const spryi_format spryi_format_swept = {
    .name = "swept",
    .title = "swept row blocks: SCOO for a GPU's shared memory",
    .formula = "slots values + slots indices of 32 bits + batches bases + a bit per row",
    .best_for = "scattered columns on GPUs, where each x serves few entries",
    .parameters.list = parameters,
    .parameters.text =
        "blocks=NUMBER (row blocks; default: one per multiprocessor); sums=NUMBER (most sums of a block; default: "
        "as many as fit the shared memory)",
    .predict = predict,
    .build = build,
    .workspace_bytes = workspace_bytes,
    .to_csr = to_csr,
    .layout.size = sizeof(spryi_swept),
    .layout.device_sections = spryi_swept_arrays, /* containers store CSR, since cuts depend on the GPU */
    .choice.estimator = &spryi_swept_estimator,
};

#else /* for each stored type and pair of index types: base/instantiate.h */

/* ---- sort entries into groups -------------------------------------------------------------------------- */

/* An entry of a block, for the sort. */
typedef struct SPRY_FN(entry) {
    SPRY_J column;
    uint32_t position; /* in the block, in stored order */
} SPRY_FN(entry);

/*
 * Sorts by column, stably. Returns true if the result is in `to`, false if it is in `from`. at: a counter for each
 * digit.
 */
static bool SPRY_FN(sort_columns)(SPRY_FN(entry) * from, SPRY_FN(entry) * to, int64_t count, int64_t cols, int64_t *at)
{
    int passes = 0;
    for (int shift = 0; shift < 63 && (cols - 1) >> shift > 0; shift += DIGIT_BITS, passes++) {
        memset(at, 0, (1 << DIGIT_BITS) * sizeof *at);
        for (int64_t k = 0; k < count; k++) at[(int64_t)from[k].column >> shift & ((1 << DIGIT_BITS) - 1)]++;
        for (int64_t d = 0, sum = 0; d < 1 << DIGIT_BITS; d++) {
            const int64_t entries = at[d];
            at[d] = sum;
            sum += entries;
        }
        for (int64_t k = 0; k < count; k++)
            to[at[(int64_t)from[k].column >> shift & ((1 << DIGIT_BITS) - 1)]++] = from[k];
        SPRY_FN(entry) *swap = from;
        from = to;
        to = swap;
    }
    return passes % 2;
}

/*
 * Assigns the block's entries, in column order, to groups. An entry is assigned to the first open group that can hold
 * it. The first open group is closed if it is full, if a column is too far from its batch's base, or if MOST_AHEAD
 * entries are in groups after it. A group therefore has the first entries that are in no earlier group and have
 * distinct sums. The device's build, which fills group after group, gives the same result.
 */
static void SPRY_FN(pack_sorted)(const SPRY_FN(entry) * entries, int64_t count, spryi_swept_block *block, packing *p,
                                 entry_slot *targets)
{
    const int64_t unroll = SPRYI_SWEPT_UNROLL(SPRY_B), widest = (int64_t)1 << (32 - block->sum_bits);
    int64_t open = 0, groups = 0; /* groups before `open` are closed; groups: number of groups with entries */
    int64_t held = 0;             /* entries of open groups */
    for (int64_t e = 0; e < count; e++) {
        const int64_t column = entries[e].column;
        int64_t sum = p->sum_of[entries[e].position], group = p->last[sum] + 1;
        row_state *row = group > MULTIPLE_SUMS + 1 ? NULL : &p->rows[sum];
        if (row) {
            group = 1 + (row->next_sum == 0 ? row->first : p->last[row->further + row->next_sum - 1]);
            if (group < row->group) group = row->group;
        }
        /* closes the batches from whose base this column is too far */
        while (open < groups && column - p->base[open / unroll % WINDOW] >= widest)
            for (int64_t end = (open / unroll + 1) * unroll; open < end; open++) held -= close_group(p, open);
        if (group < open) group = open;
        while (group < groups && p->filled[group % WINDOW] == SPRYI_SWEPT_THREADS) group++;
        if (group >= groups) {
            if (group / unroll >= (groups + unroll - 1) / unroll) p->base[group / unroll % WINDOW] = column;
            groups = group + 1;
        }
        const int64_t position = p->filled[group % WINDOW]++;
        held++;
        if (row)
            sum = assign_next_sum(p, row, sum, (int32_t)group);
        else
            p->last[sum] = (int32_t)group;
        targets[entries[e].position] =
            (entry_slot){.slot = (uint32_t)spryi_swept_slot(group, position, unroll), .sum = (uint32_t)sum};
        for (int32_t filled; open < groups && ((filled = p->filled[open % WINDOW]) == SPRYI_SWEPT_THREADS ||
                                               held - filled >= SPRYI_SWEPT_MOST_AHEAD);
             open++)
            held -= close_group(p, open);
    }
    block->batches = (int32_t)((groups + unroll - 1) / unroll);
}

static void SPRY_FN(pack)(const swept_build *state, int64_t b, packing *p)
{
    const spryi_swept *s = state->s;
    const SPRY_J *Aj = state->a->indices;
    spryi_swept_block *block = &s->blocks[b];
    const int64_t begin = state->cuts[b].entry, end = state->cuts[b + 1].entry, count = end - begin;
    SPRY_FN(entry) *entries = (SPRY_FN(entry) *)p->entries, *other = entries + p->most_entries;
    for (int64_t k = begin; k < end; k++) entries[k - begin] = (SPRY_FN(entry)){Aj[k], (uint32_t)(k - begin)};
    memset(p->rows, 0, (size_t)block->sums * sizeof *p->rows);
    for (int64_t i = block->first_row; i < block->first_row + block->rows; i++) {
        const int64_t first = spryi_offset_of(state->a, i), last = spryi_offset_of(state->a, i + 1);
        const int64_t from = first > begin ? first : begin, to = last < end ? last : end;
        const uint32_t sum = (uint32_t)(state->before[i] - state->before[block->first_row]);
        for (int64_t k = from; k < to; k++) p->sum_of[k - begin] = sum;
        if (from < to) p->rows[sum].entries = (int32_t)(to - from);
    }
    if (SPRY_FN(sort_columns)(entries, other, count, state->a->columns, p->base)) entries = other;
    memset(p->counts, 0, (size_t)block->sums * sizeof *p->counts);
    for (int64_t e = 0; e < count; e++) count_entry(&p->counts[p->sum_of[entries[e].position]], e);
    assign_sums(block, count, spryi_swept_unroll(s->sizes.value_type), p);
    memset(p->filled, 0, WINDOW * sizeof *p->filled);
    SPRY_FN(pack_sorted)(entries, count, block, p, state->targets + begin);
}

/* ---- fill the arrays ----------------------------------------------------------------------------------- */

/* Fills the block's slots with entries and padding. */
static void SPRY_FN(fill)(const swept_build *state, int64_t b)
{
    spryi_swept *s = state->s;
    const SPRY_J *Aj = state->a->indices;
    const SPRY_B *Ax = state->a->values;
    const int64_t in_batch = SPRYI_SWEPT_THREADS * SPRYI_SWEPT_UNROLL(SPRY_B);
    const int64_t begin = s->blocks[b].first_batch, end = begin + s->blocks[b].batches;
    uint32_t *indices = s->indices + begin * in_batch;
    SPRY_B *values = Ax ? (SPRY_B *)s->values + begin * in_batch : NULL;
    const uint32_t padding = spryi_swept_padding(&s->blocks[b]);
    for (int64_t n = 0; n < (end - begin) * in_batch; n++) {
        indices[n] = padding;
        if (Ax) values[n] = 0;
    }
    for (int64_t n = begin; n < end; n++) s->bases[n] = INT64_MAX; /* lowered to the least column below */
    for (int64_t k = state->cuts[b].entry; k < state->cuts[b + 1].entry; k++) {
        int64_t *base = &s->bases[begin + state->targets[k].slot / in_batch];
        if (Aj[k] < *base) *base = Aj[k];
    }
    for (int64_t k = state->cuts[b].entry; k < state->cuts[b + 1].entry; k++) {
        const entry_slot target = state->targets[k];
        const uint32_t column = (uint32_t)(Aj[k] - s->bases[begin + target.slot / in_batch]);
        indices[target.slot] = column << s->blocks[b].sum_bits | target.sum;
        if (Ax) values[target.slot] = Ax[k];
    }
}

/* ---- conversion to CSR --------------------------------------------------------------------------------- */

/*
 * Adds the number of entries of each row to at[row + 1]. If the previous block has begun the first row, returns the
 * number of entries of this row instead.
 */
static int64_t SPRY_FN(count)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at)
{
    const int64_t batch = SPRYI_SWEPT_THREADS * spryi_swept_unroll(s->sizes.value_type), first = block->first_batch;
    const uint32_t padding = spryi_swept_padding(block);
    int64_t head = 0;
    for (int64_t n = first * batch; n < (first + block->batches) * batch; n++) {
        const uint32_t sum = s->indices[n] & padding;
        if (sum == padding) continue;
        if (row_of[sum] == 0 && block->head_row >= 0)
            head++;
        else
            at[block->first_row + row_of[sum] + 1]++;
    }
    return head;
}

/*
 * Copies the block's entries. at[row]: position of the row's next entry. head: position of the next entry of the first
 * row, if the previous block has begun the row.
 */
static void SPRY_FN(unpack)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at,
                            int64_t head, const spry_arrays *A)
{
    const int64_t unroll = spryi_swept_unroll(s->sizes.value_type);
    const int64_t first = block->first_batch * SPRYI_SWEPT_THREADS * unroll;
    const uint32_t padding = spryi_swept_padding(block);
    SPRY_J *columns = (SPRY_J *)(uintptr_t)A->indices;
    SPRY_B *values = (SPRY_B *)(uintptr_t)A->values;
    for (int64_t group = 0; group < block->batches * unroll; group++)
        for (int64_t position = 0; position < SPRYI_SWEPT_THREADS; position++) {
            const int64_t slot = first + spryi_swept_slot(group, position, unroll);
            const uint32_t sum = s->indices[slot] & padding;
            if (sum == padding) continue;
            const int64_t to = row_of[sum] == 0 && block->head_row >= 0 ? head++ : at[block->first_row + row_of[sum]]++;
            columns[to] = (SPRY_J)spryi_swept_column(s, block, block->first_batch + group / unroll, slot);
            if (values) values[to] = ((const SPRY_B *)s->values)[slot];
        }
}

#endif
