/*
 * All decisions about the blocks and sums of swept, shared by the build on the host (swept_format.c) and on the device
 * (swept_convert.cu). Both builds give the same bits because they share this code.
 *
 * Rows are cut into blocks of at most a given cost (end_of_block). A search finds the least cost for which the number
 * of blocks is at most the wanted number (search_for, search_step). Then rows get sums (first_limits, sums_of_row), and
 * entries get slots.
 */
#pragma once

#include "formats/swept/swept.h"

enum {
    SPRYI_SWEPT_ENTRY_COST = 4,   /* cost of an entry; a row costs 1, for its sum and y */
    SPRYI_SWEPT_LEAST_PIECE = 32, /* a row is cut only if both parts have at least this number of entries */
    SPRYI_SWEPT_STRETCH = 16,     /* groups of a stretch, for which a row's entries are counted separately */
    /* most entries assigned to groups after the current group; rows with more adjacent entries cause padding */
    SPRYI_SWEPT_MOST_AHEAD = 4096,
    SPRYI_SWEPT_MOST_GROUPS = 1 << 22, /* limit of the groups of a block: slots are counted in 32 bits */
};

/*
 * Beginning of a block: its first row and entry. The entry is inside the row if the previous block has a part of the
 * row.
 */
typedef struct spryi_swept_cut {
    int64_t row, entry;
    int64_t row_begin; /* the row's first entry */
    int64_t before;    /* number of rows with entries before `row` */
} spryi_swept_cut;

/* Returns the cost of all rows before `row`. entries: number of entries before the row, or before a cut in the row. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_cost_before(int64_t entries, int64_t row)
{
    return SPRYI_SWEPT_ENTRY_COST * entries + row;
}

/* Returns the cost, counted from row 0, at which the block that begins at `at` ends if it may cost `most`. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_cost_limit(const spryi_swept_cut *at, int64_t most)
{
    return spryi_swept_cost_before(at->entry, at->row) + most;
}

/*
 * Sets the row and entry at which the block that begins at `at` ends. wanted: the result of spryi_swept_cost_limit.
 * row: the last row such that all rows of the block before it fit the limits of cost and of the number of sums.
 * begin .. end - 1: entries of this row.
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
 * Search for the least cost that gives at most `wanted` blocks: bisects low .. high until they differ by at most
 * `near`. The result is high. `narrow` is tried first and becomes high if it suffices.
 */
typedef struct spryi_swept_search {
    int64_t wanted, low, high, narrow, near;
} spryi_swept_search;

/* Does one step of the search. few: the middle cost gives at most `wanted` blocks. */
SPRYI_SWEPT_INLINE void spryi_swept_search_step(spryi_swept_search *search, bool few)
{
    const int64_t middle = search->low + (search->high - search->low) / 2;
    if (few)
        search->high = middle;
    else
        search->low = middle + 1;
}

/* Largest numbers of entries of a row that one sum serves. most: entries in the block. near: entries in a stretch. */
typedef struct spryi_swept_limits {
    int64_t most, near;
} spryi_swept_limits;

/*
 * Returns the limits for a block with this number of entries. A row gets a further sum if it has more entries than half
 * of the block's groups, or more entries in one stretch than 3/4 of the stretch's groups. With one sum, the row's last
 * entries would be in groups that are mostly empty.
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

/* Returns the stretch of entry `position` of the block, in column order. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_stretch(int64_t position)
{
    return position / (SPRYI_SWEPT_STRETCH * SPRYI_SWEPT_THREADS);
}

/*
 * Returns the number of sums of a row. entries: number of its entries in the block. near: the largest number of its
 * entries in a stretch.
 */
SPRYI_SWEPT_INLINE int64_t spryi_swept_sums_of_row(int64_t entries, int64_t near, const spryi_swept_limits *limits)
{
    const int64_t sum_count = (entries + limits->most - 1) / limits->most;
    const int64_t in_stretch = (near + limits->near - 1) / limits->near;
    const int64_t more = in_stretch > sum_count ? in_stretch : sum_count;
    return more > 1 ? more : 1;
}

/*
 * Returns the bitmap of a block's rows from `first` on, at most 32. before[r]: number of rows with entries that precede
 * row r of the block in the matrix.
 */
SPRYI_SWEPT_INLINE spryi_swept_bitmap spryi_swept_bitmap_of(const int64_t *before, int64_t first, int64_t rows)
{
    spryi_swept_bitmap bitmap;
    bitmap.bits = 0;
    bitmap.before = (uint32_t)(before[first] - before[0]);
    for (int bit = 0; bit < 32 && first + bit < rows; bit++)
        bitmap.bits |= (uint32_t)(before[first + bit + 1] > before[first + bit]) << bit;
    return bitmap;
}

/* Returns the number of bits that can store `sums` different sums and one further value, the padding. */
SPRYI_SWEPT_INLINE int32_t spryi_swept_sum_bits(int64_t sums)
{
    int32_t bits = 0;
    while (sums >> bits > 0) bits++;
    return bits;
}

/* ---- swept_cost.c ------------------------------------------------------------------------------------ */

/*
 * Returns sizes and types of CSR `a`, the limit of a block's sums, and the wanted number of blocks. If the limits
 * require more blocks, spryi_swept_search_for wants a multiple of this number.
 */
spryi_swept_sizes spryi_swept_sizes_of(const spryi_build_request *request, const spry_arrays *a);
/* Returns the largest number of rows with entries that a block may have. */
int64_t spryi_swept_most_rows(const spryi_swept_sizes *h);
/* Returns the largest cost that a block may have. */
int64_t spryi_swept_most_cost(void);
/*
 * Returns true if the limits of sums and costs may require more blocks than h->blocks. Otherwise the least number of
 * blocks need not be counted.
 */
bool spryi_swept_may_need_more(const spryi_swept_sizes *h);
/* Returns the search for the cost of a block. least: the least possible number of blocks, 0 if not counted. */
spryi_swept_search spryi_swept_search_for(const spryi_swept_sizes *h, int64_t least);
/*
 * Sets s->blocks and s->shared_rows, which the caller has allocated, and the sizes that depend on the cuts. cuts:
 * sizes.blocks + 1 elements.
 */
void spryi_swept_build_blocks(spryi_swept *s, const spryi_swept_cut *cuts);
/* Returns the largest number of sums of a block, the further sums of rows included. */
int64_t spryi_swept_most_sums(const spryi_swept *s, const spryi_swept_cut *cuts);
/*
 * Sets the blocks' positions in the arrays, and the arrays' sizes. Returns SPRY_TOO_LARGE if a block has too many
 * slots.
 */
spry_status spryi_swept_count_all(spryi_swept *s, spry_error *err);
/* Lists the arrays of a spryi_swept whose sizes are set. Returns the number of arrays. */
enum { SPRYI_SWEPT_ARRAYS = 7 };
int spryi_swept_arrays(void *storage, spryi_section *list);
void spryi_swept_cost(const spryi_swept *s, spryi_cost *cost);

static inline int64_t spryi_swept_slots(const spryi_swept_sizes *h)
{
    return h->batches * SPRYI_SWEPT_THREADS * spryi_swept_unroll(h->value_type);
}
