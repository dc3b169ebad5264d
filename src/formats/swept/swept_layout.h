/*
 * Every decision about the blocks and sums of swept, for the host's build (swept_format.c) and the device's
 * (swept_convert.cu). Both give the same bits because this code is the same.
 *
 * Rows are cut into blocks of at most some cost (end_of_block); the least such cost that gives no more blocks than
 * wanted is searched for (search_for, search_step). Rows get sums (first_limits, sums_of_row), then entries get slots.
 */
#pragma once

#include "formats/swept/swept.h"

enum {
    SPRYI_SWEPT_ENTRY_COST = 4,   /* of an entry; a row's sum and y cost 1 */
    SPRYI_SWEPT_LEAST_PIECE = 32, /* entries: rows are not cut closer to their ends */
    SPRYI_SWEPT_STRETCH = 16,     /* groups, on which a row's entries are counted apart */
    /* entries behind the group being filled, at most: a row with more of them near each other costs padding */
    SPRYI_SWEPT_MOST_AHEAD = 4096,
    SPRYI_SWEPT_MOST_GROUPS = 1 << 22, /* of a block, which has to have less: slots are numbered in 32 bits */
};

/* Where a block begins: row, and entry, which lies inside of the row if the block before has some of it. */
typedef struct spryi_swept_cut {
    int64_t row, entry;
    int64_t row_begin; /* the row's first entry */
    int64_t before;    /* rows with entries before it */
} spryi_swept_cut;

/* The cost of all before a row that has so many entries before it. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_cost_before(int64_t entries, int64_t row)
{
    return SPRYI_SWEPT_ENTRY_COST * entries + row;
}

/* The cost that the block from `at` on ends at, where it may cost `most`. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_cost_limit(const spryi_swept_cut *at, int64_t most)
{
    return spryi_swept_cost_before(at->entry, at->row) + most;
}

/*
 * Where the block from `at` on ends, row and entry: `row`, of entries begin .. end - 1, is the last one that its cost
 * and its sums leave room for.
 */
SPRYI_SWEPT_INLINE void spryi_swept_end_of_block(spryi_swept_cut *to, const spryi_swept_cut *at, int64_t rows,
                                                 int64_t wanted, int64_t row, int64_t begin, int64_t end)
{
    const int64_t least = SPRYI_SWEPT_LEAST_PIECE;
    to->row = row;
    to->entry = begin;
    if (row < rows) {
        const int64_t from = row == at->row ? at->entry : begin;
        const int64_t taken = (wanted - spryi_swept_cost_before(from, row)) / SPRYI_SWEPT_ENTRY_COST;
        if (taken >= least && end - from - taken >= least)
            to->entry = from + taken;
        else if (taken >= least)
            to->row = row + 1;
    }
    if (to->row == at->row && to->entry <= at->entry) to->row = row + 1;
    if (to->row > row) to->entry = end;
}

/*
 * The search for the least cost at which there are no more blocks than wanted: by halves of low .. high, until they are
 * no further apart than `near`; high is what is taken. `narrow` becomes high first if it serves.
 */
typedef struct spryi_swept_search {
    int64_t wanted, low, high, narrow, near;
} spryi_swept_search;

/* One step; few: the cost in the middle gives few enough blocks. */
SPRYI_SWEPT_INLINE void spryi_swept_search_step(spryi_swept_search *search, int few)
{
    const int64_t middle = search->low + (search->high - search->low) / 2;
    if (few)
        search->high = middle;
    else
        search->low = middle + 1;
}

/* Entries that one sum serves: of all groups, and of those of a stretch. */
typedef struct spryi_swept_limits {
    int64_t most, near;
} spryi_swept_limits;

/*
 * The limits in a block of so many entries: rows with more entries than half of the groups or, in the stretch where
 * they have most, than 3/4 of its groups, get a further sum. Otherwise their entries would pile up at the end.
 */
SPRYI_SWEPT_INLINE spryi_swept_limits spryi_swept_first_limits(int64_t entries, int64_t unroll)
{
    const int64_t batch = unroll * SPRYI_SWEPT_THREADS, groups = (entries + batch - 1) / batch * unroll;
    const int64_t near = groups < SPRYI_SWEPT_STRETCH ? groups : SPRYI_SWEPT_STRETCH * 3 / 4;
    spryi_swept_limits limits;
    limits.most = groups / 2 > 0 ? groups / 2 : 1;
    limits.near = near > 0 ? near : 1;
    return limits;
}

/* The stretch of entry number `position` of the block, in the order of columns. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_stretch(int64_t position)
{
    return position / (SPRYI_SWEPT_STRETCH * SPRYI_SWEPT_THREADS);
}

/* Sums of a row of so many entries, `near` of them in the stretch where it has most. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_sums_of_row(int64_t entries, int64_t near, const spryi_swept_limits *limits)
{
    const int64_t sum_count = (entries + limits->most - 1) / limits->most;
    const int64_t nearby = (near + limits->near - 1) / limits->near;
    const int64_t more = nearby > sum_count ? nearby : sum_count;
    return more > 1 ? more : 1;
}

/* 32 of a block's rows, from number first on; before[r]: rows of the matrix with entries before row r of the block. */
SPRYI_SWEPT_INLINE spryi_swept_bitmap spryi_swept_bitmap_of(const int64_t *before, int64_t first, int64_t rows)
{
    spryi_swept_bitmap bitmap;
    bitmap.bits = 0;
    bitmap.before = (uint32_t)(before[first] - before[0]);
    for (int bit = 0; bit < 32 && first + bit < rows; bit++)
        bitmap.bits |= (uint32_t)(before[first + bit + 1] > before[first + bit]) << bit;
    return bitmap;
}

/* Bits of an index that tell so many sums, and one number more: padding. */
SPRYI_SWEPT_INLINE int32_t spryi_swept_sum_bits(int64_t sums)
{
    int32_t bits = 0;
    while (sums >> bits > 0) bits++;
    return bits;
}

/* ---- swept_cost.c ------------------------------------------------------------------------------------ */

/* Sizes and types of CSR `a`, the most sums, and in `blocks` how many there should be, or rounds of how many. */
spryi_swept_sizes spryi_swept_sizes_of(const spryi_build_request *request, const spry_arrays *a);
/* Rows with entries that a block may have. */
int64_t spryi_swept_most_rows(const spryi_swept_sizes *h);
/* No block costs more. */
int64_t spryi_swept_most_cost(void);
/* 1 if sums or costs may want more blocks than the sizes tell; else blocks need not be counted. */
int spryi_swept_may_need_more(const spryi_swept_sizes *h);
/* How the cost of a block is looked for, where there are `least` blocks at the least (0: not counted). */
spryi_swept_search spryi_swept_search_for(const spryi_swept_sizes *h, int64_t least);
/* Blocks and shared rows, which have room for as many, and the sizes that follow, from blocks + 1 cuts. */
void spryi_swept_make_blocks(spryi_swept *s, const spryi_swept_cut *cuts);
/* Sums that a block may have when further ones are given out. */
int64_t spryi_swept_most_sums(const spryi_swept *s, const spryi_swept_cut *cuts);
/* Sizes that follow from the blocks; SPRY_TOO_LARGE. */
spry_status spryi_swept_count_all(spryi_swept *s, spry_error *err);
/* Lists the arrays of a spryi_swept whose sizes are known; returns how many there are. */
enum { SPRYI_SWEPT_ARRAYS = 7 };
int spryi_swept_arrays(void *storage, spryi_section *list);
void spryi_swept_cost(const spryi_swept *s, spryi_cost *cost);

static inline int64_t spryi_swept_slots(const spryi_swept_sizes *h)
{
    return h->batches * SPRYI_SWEPT_THREADS * spryi_swept_unroll(h->value_type);
}
