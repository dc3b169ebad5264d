/*
 * What both builds of swept share, the host's (swept_cut.c, swept_pack.c) and the device's (swept_convert.cu): every
 * decision about cuts and sums. What follows from those is in swept_figure.c. Bits are the same because the code is.
 */
#ifndef SPRYI_SWEPT_PART_H
#define SPRYI_SWEPT_PART_H

#include "formats/scoo/swept.h"

enum {
    SPRYI_SWEPT_ROW_SHARE = 4,    /* a row's sum and y cost as much as 1 / ROW_SHARE entries */
    SPRYI_SWEPT_LEAST_PIECE = 32, /* entries: rows are not cut closer to their ends */
    SPRYI_SWEPT_STRETCH = 16,     /* groups, on which a row's entries are counted apart */
    /* entries behind the group being filled, at most: a row with more of them near each other costs padding */
    SPRYI_SWEPT_AHEAD = 4096,
    SPRYI_SWEPT_MOST_GROUPS = 1 << 22, /* of a block, which has to have less: slots are numbered in 32 bits */
};

/* Where a block begins: row, and entry, which lies inside of the row if the block before has some of it. */
typedef struct spryi_swept_cut {
    int64_t row, entry;
    int64_t row_begin; /* the row's first entry */
    int64_t before;    /* rows with entries before it */
} spryi_swept_cut;

/* What is before a row of so many entries before it. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_cost(int64_t entries, int64_t row)
{
    return SPRYI_SWEPT_ROW_SHARE * entries + row;
}

/* What the block from `at` on may end at, where it may cost `most`. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_wanted(const spryi_swept_cut *at, int64_t most)
{
    return spryi_swept_cost(at->entry, at->row) + most;
}

/*
 * Where the block from `at` on ends, row and entry: `row`, of entries begin .. end - 1, is the last one that its cost
 * and its sums leave room for.
 */
SPRYI_SWEPT_INLINE void spryi_swept_end(spryi_swept_cut *to, const spryi_swept_cut *at, int64_t rows, int64_t wanted,
                                        int64_t row, int64_t begin, int64_t end)
{
    const int64_t least = SPRYI_SWEPT_LEAST_PIECE;
    to->row = row;
    to->entry = begin;
    if (row < rows) {
        const int64_t from = row == at->row ? at->entry : begin;
        const int64_t taken = (wanted - spryi_swept_cost(from, row)) / SPRYI_SWEPT_ROW_SHARE;
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

/* One step: whether the cost in the middle gives few enough blocks. */
SPRYI_SWEPT_INLINE void spryi_swept_halve(spryi_swept_search *search, int few)
{
    const int64_t middle = search->low + (search->high - search->low) / 2;
    if (few)
        search->high = middle;
    else
        search->low = middle + 1;
}

/* Entries that one sum serves: of all groups, and of those of a stretch. */
typedef struct spryi_swept_share {
    int64_t most, near;
} spryi_swept_share;

/*
 * Of a block of so many entries: more than half of the groups, or, in the stretch where a row has most, more than 3/4
 * of those, want a further sum. With fewer, entries pile up to the end.
 */
SPRYI_SWEPT_INLINE spryi_swept_share spryi_swept_first_share(int64_t entries, int64_t unroll)
{
    const int64_t batch = unroll * SPRYI_SWEPT_THREADS, groups = (entries + batch - 1) / batch * unroll;
    const int64_t near = groups < SPRYI_SWEPT_STRETCH ? groups : SPRYI_SWEPT_STRETCH * 3 / 4;
    spryi_swept_share share;
    share.most = groups / 2 > 0 ? groups / 2 : 1;
    share.near = near > 0 ? near : 1;
    return share;
}

/* The stretch of entry number `place` of the block, in the order of columns. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_stretch(int64_t place)
{
    return place / (SPRYI_SWEPT_STRETCH * SPRYI_SWEPT_THREADS);
}

/* Sums of a row of so many entries, `near` of them in the stretch where it has most. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_turns(int64_t entries, int64_t near, const spryi_swept_share *share)
{
    const int64_t turns = (entries + share->most - 1) / share->most;
    const int64_t nearby = (near + share->near - 1) / share->near;
    const int64_t more = nearby > turns ? nearby : turns;
    return more > 1 ? more : 1;
}

/* Bits of an index that tell so many sums, and one number more: padding. */
SPRYI_SWEPT_INLINE int32_t spryi_swept_sum_bits(int64_t sums)
{
    int32_t bits = 0;
    while (sums >> bits > 0) bits++;
    return bits;
}

/* ---- swept_figure.c ------------------------------------------------------------------------------------ */

/* Sizes and types of CSR `a`, the room, and in `blocks` how many there should be, or rounds of how many. */
spryi_swept_head spryi_swept_head_of(const spryi_build_request *request, const spry_arrays *a);
/* Rows with entries that a block may have. */
int64_t spryi_swept_most_rows(const spryi_swept_head *h);
/* What no block costs more than. */
int64_t spryi_swept_most_cost(void);
/* Whether sums or costs may want more blocks than the head tells; else they need not be counted. */
int spryi_swept_may_need_more(const spryi_swept_head *h);
/* How the cost of a block is looked for, where there are `least` blocks at the least (0: not counted). */
spryi_swept_search spryi_swept_search_for(const spryi_swept_head *h, int64_t least);
/* Of blocks + 1 cuts: blocks and chains, which have room for as many, and the sizes that follow. */
void spryi_swept_link(spryi_swept *s, const spryi_swept_cut *cuts);
/* Sums that a block may have when further ones are shared out. */
int64_t spryi_swept_most_sums(const spryi_swept *s, const spryi_swept_cut *cuts);
/* Sizes that follow from the blocks; SPRY_TOO_LARGE. */
spry_status spryi_swept_add_up(spryi_swept *s, spry_error *err);
int64_t spryi_swept_bytes(const spryi_swept_head *h);
void spryi_swept_figure(const spryi_swept *s, spryi_figure *figure);

static inline int64_t spryi_swept_slots(const spryi_swept_head *h)
{
    return h->batches * SPRYI_SWEPT_THREADS * spryi_swept_unroll(h->value_type);
}

/* ---- the host's build (swept_cut.c, swept_pack.c) ------------------------------------------------------ */

/* What becomes of an entry: slot, from its block's first, and sum. */
typedef struct spryi_swept_target {
    uint32_t slot, sum;
} spryi_swept_target;

/* A storage being made; all but `s` is let go of afterwards. */
typedef struct spryi_swept_making {
    spryi_swept *s;
    const spry_arrays *a;        /* CSR */
    int64_t *before;             /* rows + 1: rows with entries before each */
    spryi_swept_cut *cuts;       /* blocks + 1 */
    spryi_swept_target *targets; /* nnz */
} spryi_swept_making;

/* Cuts, blocks and chains are made; the head is there. */
spry_status spryi_swept_cut_rows(spry_context *context, spryi_swept_making *made, spry_error *err);
/* Finds every entry's slot; all sizes are known. */
spry_status spryi_swept_pack(spry_context *context, spryi_swept_making *made, spry_error *err);
/* Fills present, longs, bases, indices and values, which are allocated. */
spry_status spryi_swept_fill(spry_context *context, spryi_swept_making *made, spry_error *err);

#endif
