/*
 * From CSR to swept row blocks on the host.
 *
 * Idea: rows are cut into blocks of about equal cost, whose sums fit the shared memory; the least cost per block that
 *       gives no more blocks than wanted is found by bisection. In each block the entries are sorted by column (radix
 *       sort), then each goes to the first group that has neither its sum nor 1024 entries, nor a base too far away.
 * Work: a thread a block.
 * Cost: 3 passes of sorting for 32-bit columns, 8 bytes an entry for its slot.
 * Source: seed 000, SCOO: Dang and Schmidt 2012; the groups: this library.
 */
#ifndef SPRY_FN
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/swept/swept_layout.h"
#include "matrix/assemble.h"

#include <string.h>

/* An entry's slot, from its block's first, and sum. */
typedef struct entry_slot {
    uint32_t slot, sum;
} entry_slot;

/* A storage being made; all but `s` is released afterwards. */
typedef struct swept_build {
    spryi_swept *s;
    const spry_arrays *a;  /* CSR */
    int64_t *before;       /* rows + 1: rows with entries before each */
    spryi_swept_cut *cuts; /* blocks + 1 */
    entry_slot *targets;   /* nnz */
} swept_build;

/* ---- cutting rows into blocks --------------------------------------------------------------------------- */

typedef struct cutting {
    const spry_arrays *a;
    const int64_t *before; /* rows with entries before each */
    int64_t most_sums;     /* rows with entries in a block */
} cutting;

static int64_t entries_before(const cutting *c, int64_t row)
{
    return spryi_index_at(c->a->offsets, c->a->offset_type, row);
}

/* The last row in low .. high before which there is no more than `most`, of cost or of rows with entries. */
static int64_t last_row(const cutting *c, int64_t low, int64_t high, int64_t most, int by_sums)
{
    int64_t i;
    SPRYI_BISECT(i, low + 1, high + 1,
                 (by_sums ? c->before[i] : spryi_swept_cost_before(entries_before(c, i), i)) <= most);
    return i - 1;
}

/* Where the block from `at` on ends that may cost `most`. */
static spryi_swept_cut next_cut(const cutting *c, const spryi_swept_cut *at, int64_t most)
{
    spryi_swept_cut to;
    const int64_t rows = c->a->rows, wanted = spryi_swept_cost_limit(at, most);
    /* one sum is left for a row that is cut */
    const int64_t sums = c->before[at->row] + c->most_sums - 1;
    int64_t row = last_row(c, at->row, rows, wanted, 0);
    if (c->before[row] > sums) row = last_row(c, at->row, row, sums, 1);
    spryi_swept_end_of_block(&to, at, rows, wanted, row, entries_before(c, row),
                             entries_before(c, row < rows ? row + 1 : row));
    to.row_begin = entries_before(c, to.row);
    to.before = c->before[to.row];
    return to;
}

/* Blocks that cost at most `most` each; cuts NULL: how many there are. */
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
    const swept_build *made = job;
    const void *offsets = made->a->offsets;
    const spry_index_type type = made->a->offset_type;
    int64_t *before = made->before;
    for (int64_t i = begin; i < end; i++)
        before[i + 1] = spryi_index_at(offsets, type, i + 1) > spryi_index_at(offsets, type, i);
}

static spry_status count_rows(spry_context *context, swept_build *made, spry_error *err)
{
    const spry_arrays *a = made->a;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &made->before, a->rows + 1, "rows with entries", err));
    made->before[0] = 0;
    spryi_loop(context, spryi_threads(context, a->rows), a->rows, 0, mark_rows, made);
    spryi_scan(made->before, a->rows);
    return SPRY_OK;
}

/* Blocks and shared rows; the sizes and types are there. */
static spry_status cut_rows(spry_context *context, swept_build *made, spry_error *err)
{
    spryi_swept *s = made->s;
    spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    SPRYI_TRY(count_rows(context, made, err));
    const cutting c = {.a = made->a, .before = made->before, .most_sums = spryi_swept_most_rows(h)};
    const int64_t least = spryi_swept_may_need_more(h) ? cut_by_cost(&c, spryi_swept_most_cost(), NULL) : 0;
    const int64_t cost = cost_for(&c, spryi_swept_search_for(h, least));
    h->blocks = cut_by_cost(&c, cost, NULL);
    SPRYI_TRY(SPRYI_NEW(context, &made->cuts, h->blocks + 1, "cuts of row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->blocks, h->blocks, "row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->shared_rows, h->blocks, "rows in pieces", err)); /* a block begins one at most */
    cut_by_cost(&c, cost, made->cuts);
    spryi_swept_make_blocks(s, made->cuts);
done:
    return status;
}

/* ---- packing entries into groups ------------------------------------------------------------------------ */

enum {
    DIGIT_BITS = 11,
    WINDOW = 2 *
             SPRYI_SWEPT_MOST_AHEAD, /* groups that may be open at once, and more: each behind the first has an entry */
    MOST_STRETCHES = SPRYI_SWEPT_MOST_ENTRIES / (SPRYI_SWEPT_STRETCH * SPRYI_SWEPT_THREADS) + 1,
    SEVERAL_SUMS = -2, /* in place of a group: the row has several sums */
};

/* A row with entries while its block is packed. */
typedef struct row_state {
    int32_t entries, sum_count, next_sum; /* its entries take its sums one after the other */
    int32_t further;                      /* the second of them, the others follow */
    int32_t group, first;                 /* the last that had an entry of it; that had its first sum */
} row_state;

/* The last stretch in which a row has entries, how many, and the most in any; small, as each entry is counted. */
typedef struct row_stretch {
    uint16_t last, near, most;
} row_stretch;
_Static_assert(SPRYI_SWEPT_STRETCH *SPRYI_SWEPT_THREADS <= UINT16_MAX && MOST_STRETCHES < UINT16_MAX,
               "a row's counts in 16 bits");

/* Scratch memory in which a thread packs a block. */
typedef struct packing {
    char *entries; /* twice most_entries, of the template's type */
    int64_t most_entries;
    uint32_t *sum_of; /* an entry, in stored order */
    row_state *rows;  /* a row with entries */
    row_stretch *counts;
    int32_t *last;     /* of each sum: the group that had it last, or SEVERAL_SUMS in a row's first */
    int64_t most_sums; /* that a block may have */
    int64_t *base;     /* WINDOW: the first column of batches; while columns are sorted, where the next goes */
    int32_t *filled;   /* WINDOW: entries of open groups */
} packing;
_Static_assert(WINDOW >= 1 << DIGIT_BITS, "a counter for each digit");

/* The group takes no more entries, of which it has so many; its position is for a group to come. */
static int32_t close_group(packing *p, int64_t group)
{
    const int32_t filled = p->filled[group % WINDOW];
    p->filled[group % WINDOW] = 0;
    return filled;
}

/* Entry number `e` of the block, in the order of columns, is the row's. */
static void count_entry(row_stretch *row, int64_t e)
{
    const uint16_t stretch = (uint16_t)(spryi_swept_stretch(e) + 1);
    row->near = (uint16_t)(row->last == stretch ? row->near + 1 : 1);
    row->last = stretch;
    if (row->near > row->most) row->most = row->near;
}

/* Sums for the rows of a block of so many entries. */
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
        if (p->rows[r].sum_count > 1) p->last[r] = SEVERAL_SUMS;
    }
}

/* The group takes the row's next sum, which is returned; `sum` is the first of them. */
static int64_t take_next_sum(packing *p, row_state *row, int64_t sum, int32_t group)
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
#define SPRYI_TEMPLATE "formats/swept/swept_build.c" /* its second half */
#include "base/instantiate.h"
#include "formats/shared/padding_guard.h"

typedef void (*pack_fn)(const swept_build *made, int64_t block, packing *p);
typedef void (*fill_fn)(const swept_build *made, int64_t block);
static const pack_fn packs[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(pack);
static const fill_fn fills[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill);

/* No entry that is sorted is larger than this. */
typedef struct widest_entry {
    int64_t column, position;
} widest_entry;

/* The next part of `memory` after *used bytes; NULL: parts are only counted. */
static void *next_part(char *memory, int64_t *used, int64_t count, size_t item_bytes)
{
    void *part = memory ? memory + *used : NULL;
    *used += (count * (int64_t)item_bytes + SPRYI_ALIGNMENT - 1) / SPRYI_ALIGNMENT * SPRYI_ALIGNMENT;
    return part;
}

/* The arrays of a packing, whose sizes are known, in memory; returns their bytes. */
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
    const swept_build *made;
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
    for (int64_t b = begin; b < end; b++) j->pack(j->made, b, &p);
}

/* Finds every entry's slot; all sizes are known then. */
static spry_status pack_blocks(spry_context *context, swept_build *made, spry_error *err)
{
    spryi_swept *s = made->s;
    spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    void *scratch = NULL;
    int64_t most_rows = 0;
    packing sizes = {0};
    for (int64_t b = 0; b < h->blocks; b++) {
        const int64_t entries = made->cuts[b + 1].entry - made->cuts[b].entry;
        if (entries > sizes.most_entries) sizes.most_entries = entries;
        if (s->blocks[b].sums > most_rows) most_rows = s->blocks[b].sums;
    }
    sizes.most_sums = spryi_swept_most_sums(s, made->cuts);
    const int64_t bytes = lay_out(&sizes, NULL, most_rows);
    const int threads = threads_for(context, h);
    SPRYI_TRY(SPRYI_NEW(context, &made->targets, h->nnz, "slots of entries", err));
    SPRYI_TRY(spryi_allocate(context, &scratch, threads, (size_t)bytes, "scratch memory of sorting", err));
    spryi_loop_in_parts(context, threads, h->blocks, 1, pack_some_blocks,
                        &(pack_job){made, &sizes, SPRYI_INSTANCE(packs, made->a), scratch, bytes, most_rows});
    SPRYI_TRY(spryi_swept_count_all(s, err));
done:
    spryi_release(context, scratch);
    return status;
}

/* ---- filling ------------------------------------------------------------------------------------------- */

/* The rows' further sums, by where the entries went; owner[n]: the row of the block's n-th further sum. */
static void fill_extras(const swept_build *made, int64_t b, int32_t *owner)
{
    spryi_swept *s = made->s;
    const spryi_swept_block *block = &s->blocks[b];
    const uint32_t first = (uint32_t)block->sums, further = (uint32_t)(block->all_sums - block->sums);
    int64_t row = block->first_row, found = block->first_extra - 1;
    for (int64_t k = made->cuts[b].entry; further > 0 && k < made->cuts[b + 1].entry; k++) {
        while (spryi_index_at(made->a->offsets, made->a->offset_type, row + 1) <= k) row++;
        if (made->targets[k].sum >= first)
            owner[made->targets[k].sum - first] = (int32_t)(made->before[row] - made->before[block->first_row]);
    }
    for (uint32_t n = 0; n < further; n++) {
        if (n == 0 || owner[n] != owner[n - 1])
            s->extras[++found] = (spryi_swept_extra){.sum = owner[n], .first = (int32_t)(first + n)};
        s->extras[found].count++;
    }
}

typedef struct fill_job {
    const swept_build *made;
    fill_fn fill;
    int32_t *owner;
    int64_t most; /* further sums of a block */
} fill_job;

static void fill_some_blocks(void *job, int64_t begin, int64_t end, int part)
{
    const fill_job *j = job;
    const spryi_swept *s = j->made->s;
    for (int64_t b = begin; b < end; b++) {
        const spryi_swept_block *block = &s->blocks[b];
        for (int32_t r = 0; r < block->rows; r += 32)
            s->bitmaps[block->first_bitmap + r / 32] =
                spryi_swept_bitmap_of(j->made->before + block->first_row, r, block->rows);
        fill_extras(j->made, b, j->owner + part * (j->most + 1));
        j->fill(j->made, b);
    }
}

/* Fills the arrays but for blocks and shared rows. */
static spry_status fill_blocks(spry_context *context, swept_build *made, spry_error *err)
{
    spryi_swept *s = made->s;
    const spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    int32_t *owner = NULL;
    int64_t most = 0;
    for (int64_t b = 0; b < h->blocks; b++)
        if (s->blocks[b].all_sums - s->blocks[b].sums > most) most = s->blocks[b].all_sums - s->blocks[b].sums;
    const int threads = threads_for(context, h);
    SPRYI_TRY(SPRYI_NEW(context, &owner, threads * (most + 1), "rows of further sums", err));
    spryi_loop_in_parts(context, threads, h->blocks, 1, fill_some_blocks,
                        &(fill_job){made, SPRYI_INSTANCE(fills, made->a), owner, most});
done:
    spryi_release(context, owner);
    return status;
}

/* ---- all together --------------------------------------------------------------------------------------- */

static spry_status plan_slots(spry_context *context, swept_build *made, const spryi_build_request *request,
                              spry_error *err)
{
    const spry_arrays *a = made->a = &request->csr->a;
    made->s->sizes = spryi_swept_sizes_of(request, a);
    made->s->types = spryi_types_of(a->rows, a->cols, a->nnz, (int32_t)a->value_type, (int32_t)a->offset_type,
                                    (int32_t)a->index_type);
    spry_status status = cut_rows(context, made, err);
    return status == SPRY_OK ? pack_blocks(context, made, err) : status;
}

static void release_scratch(spry_context *context, swept_build *made)
{
    spryi_release(context, made->before);
    spryi_release(context, made->cuts);
    spryi_release(context, made->targets);
}

spry_status spryi_swept_predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                                spry_error *err)
{
    spryi_swept s = {0};
    swept_build made = {.s = &s};
    spry_status status = plan_slots(context, &made, request, err);
    if (status == SPRY_OK) spryi_swept_cost(&s, cost);
    release_scratch(context, &made);
    spryi_release(context, s.blocks);
    spryi_release(context, s.shared_rows);
    return status;
}

/*
 * Refuses a large matrix before its entries are sorted if even storage without padding would pass the limit. The number
 * of slots is not known then: each entry may take a batch.
 */
static spry_status refuse_early(const spryi_build_request *request, spry_error *err)
{
    enum { LARGE = 1 << 24 }; /* rows and entries, for which sorting takes seconds */
    const spry_arrays *a = &request->csr->a;
    const int64_t slot = (int64_t)spry_type_bytes(a->value_type) + (int64_t)sizeof(uint32_t);
    const int64_t limit = request->options->memory_limit_bytes;
    if (limit == 0 || a->nnz + a->rows < LARGE || a->nnz * slot + a->rows / 8 <= limit) return SPRY_OK;
    const int64_t batch = spryi_swept_unroll((int32_t)a->value_type) * SPRYI_SWEPT_THREADS * slot;
    const spryi_cost most = {.bytes = a->nnz < INT64_MAX / 4 / batch ? a->nnz * (batch + 64) + 64 * a->rows
                                                                     : INT64_MAX};
    return spryi_check_padding(request, "swept", &most, err);
}

spry_status spryi_swept_build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    spryi_swept *s = storage;
    spryi_section arrays[SPRYI_SWEPT_ARRAYS];
    spryi_cost cost = {0};
    swept_build made = {.s = s};
    spry_status status = SPRY_OK;
    SPRYI_TRY(refuse_early(request, err));
    SPRYI_TRY(plan_slots(context, &made, request, err));
    spryi_swept_cost(s, &cost);
    SPRYI_TRY(spryi_admit(request, "swept", &cost, err));
    for (int n = 0, count = spryi_swept_arrays(s, arrays); n < count; n++)
        if (!*arrays[n].array)
            SPRYI_TRY(spryi_allocate(context, arrays[n].array, arrays[n].count, (size_t)arrays[n].item_bytes,
                                     arrays[n].name, err));
    SPRYI_TRY(fill_blocks(context, &made, err));
done:
    release_scratch(context, &made);
    return status;
}

#else /* once for each value type and pair of index types */

/* An entry of a block, to be sorted. */
typedef struct SPRY_FN(entry) {
    SPRY_J column;
    uint32_t position; /* in the block, as A has it */
} SPRY_FN(entry);

/* Stably, by column: `from` has the entries in the end where 0 is returned, else `to`. at: a counter for each digit. */
static int SPRY_FN(sort_columns)(SPRY_FN(entry) * from, SPRY_FN(entry) * to, int64_t count, int64_t cols, int64_t *at)
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
 * The block's entries, in the order of columns, to groups. An entry goes to the first group that can have it; the first
 * open one is closed when it is full, when a column is too far from its batch's base, or when AHEAD entries are in
 * groups behind it. So a group has the first entries that the groups before left and that share no sum: the device's
 * build goes group by group to the same result.
 */
static void SPRY_FN(pack_sorted)(const SPRY_FN(entry) * entries, int64_t count, spryi_swept_block *block, packing *p,
                                 entry_slot *targets)
{
    const int64_t unroll = SPRYI_SWEPT_UNROLL(SPRY_B), widest = (int64_t)1 << (32 - block->sum_bits);
    int64_t open = 0, groups = 0; /* groups before `open` take nothing more; so many have entries */
    int64_t held = 0;             /* entries of open groups */
    for (int64_t e = 0; e < count; e++) {
        const int64_t column = entries[e].column;
        int64_t sum = p->sum_of[entries[e].position], group = p->last[sum] + 1;
        row_state *row = group > SEVERAL_SUMS + 1 ? NULL : &p->rows[sum];
        if (row) {
            group = 1 + (row->next_sum == 0 ? row->first : p->last[row->further + row->next_sum - 1]);
            if (group < row->group) group = row->group;
        }
        /* a batch that this column is too far from is closed, and with it those before */
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
            sum = take_next_sum(p, row, sum, (int32_t)group);
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

static void SPRY_FN(pack)(const swept_build *made, int64_t b, packing *p)
{
    const spryi_swept *s = made->s;
    const SPRY_J *Aj = made->a->indices;
    spryi_swept_block *block = &s->blocks[b];
    const int64_t begin = made->cuts[b].entry, end = made->cuts[b + 1].entry, count = end - begin;
    SPRY_FN(entry) *entries = (SPRY_FN(entry) *)p->entries, *other = entries + p->most_entries;
    for (int64_t k = begin; k < end; k++) entries[k - begin] = (SPRY_FN(entry)){Aj[k], (uint32_t)(k - begin)};
    memset(p->rows, 0, (size_t)block->sums * sizeof *p->rows);
    for (int64_t i = block->first_row; i < block->first_row + block->rows; i++) {
        const int64_t first = spryi_offset_of(made->a, i), last = spryi_offset_of(made->a, i + 1);
        const int64_t from = first > begin ? first : begin, to = last < end ? last : end;
        const uint32_t sum = (uint32_t)(made->before[i] - made->before[block->first_row]);
        for (int64_t k = from; k < to; k++) p->sum_of[k - begin] = sum;
        if (from < to) p->rows[sum].entries = (int32_t)(to - from);
    }
    if (SPRY_FN(sort_columns)(entries, other, count, made->a->cols, p->base)) entries = other;
    memset(p->counts, 0, (size_t)block->sums * sizeof *p->counts);
    for (int64_t e = 0; e < count; e++) count_entry(&p->counts[p->sum_of[entries[e].position]], e);
    assign_sums(block, count, spryi_swept_unroll(s->sizes.value_type), p);
    memset(p->filled, 0, WINDOW * sizeof *p->filled);
    SPRY_FN(pack_sorted)(entries, count, block, p, made->targets + begin);
}

/* The block's slots, which padding fills where no entry does. */
static void SPRY_FN(fill)(const swept_build *made, int64_t b)
{
    spryi_swept *s = made->s;
    const SPRY_J *Aj = made->a->indices;
    const SPRY_B *Ax = made->a->values;
    const int64_t in_batch = SPRYI_SWEPT_THREADS * SPRYI_SWEPT_UNROLL(SPRY_B);
    const int64_t begin = s->blocks[b].first_batch, end = begin + s->blocks[b].batches;
    uint32_t *indices = s->indices + begin * in_batch;
    SPRY_B *values = Ax ? (SPRY_B *)s->values + begin * in_batch : NULL;
    const uint32_t padding = spryi_swept_padding(&s->blocks[b]);
    for (int64_t n = 0; n < (end - begin) * in_batch; n++) {
        indices[n] = padding;
        if (Ax) values[n] = 0;
    }
    for (int64_t n = begin; n < end; n++) s->bases[n] = INT64_MAX; /* then the least column */
    for (int64_t k = made->cuts[b].entry; k < made->cuts[b + 1].entry; k++) {
        int64_t *base = &s->bases[begin + made->targets[k].slot / in_batch];
        if (Aj[k] < *base) *base = Aj[k];
    }
    for (int64_t k = made->cuts[b].entry; k < made->cuts[b + 1].entry; k++) {
        const entry_slot target = made->targets[k];
        const uint32_t column = (uint32_t)(Aj[k] - s->bases[begin + target.slot / in_batch]);
        indices[target.slot] = column << s->blocks[b].sum_bits | target.sum;
        if (Ax) values[target.slot] = Ax[k];
    }
}

#endif
