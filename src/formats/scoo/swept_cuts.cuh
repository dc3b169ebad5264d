/* Cutting rows into blocks on the device, with the cuts that swept_cut.c makes; included by swept_convert.cu. */
#ifndef SPRY_SWEPT_CUTS_CUH
#define SPRY_SWEPT_CUTS_CUH

extern "C" {
#include "formats/scoo/swept_part.h"
}
#include "cuda/convert.cuh"

enum {
    LEVELS = 10, /* of the search for a cost, of which a round has all outcomes tried */
    NODES = 1 << LEVELS,
    ROUNDS = 3, /* at most: costs have 30 bits; one, where `narrow` serves */
    WARPS = CONVERT_THREADS / 32,
};
static_assert(LEVELS * ROUNDS >= 30, "costs have 30 bits");

#define FULL_WARP 0xffffffffu

static __device__ __forceinline__ int lane_of_warp(void)
{
    return threadIdx.x % 32;
}

/* What is cut, and the search for the cost of a block. */
template <typename P> struct cutting {
    const P *Ap;
    const int64_t *before; /* rows with entries before each */
    int64_t rows, most_rows;
    spryi_swept_search search;
    int32_t *blocks; /* NODES a round: how many there are at that cost; 0: at search.narrow */
};

/* By a warp: the last row before which there is no more than `most`, of cost or of rows with entries. */
template <typename P, bool BY_SUMS> static __device__ int64_t last_row(const cutting<P> &c, int64_t most)
{
    int64_t row = 0, step = 1;
    while (32 * step <= c.rows) step *= 32;
    for (; step > 0; step /= 32) { /* the same probes for every search: they stay in the first-level cache */
        const int64_t probe = row + lane_of_warp() * step;
        const bool fits = probe <= c.rows &&
                          (BY_SUMS ? c.before[probe] : spryi_swept_cost((int64_t)c.Ap[probe], probe)) <= most;
        row += (__popc(__ballot_sync(FULL_WARP, fits)) - 1) * step;
    }
    return row;
}

/* By a warp: where the block from `at` on ends that may cost `most`. */
template <typename P>
static __device__ spryi_swept_cut next_cut(const cutting<P> &c, const spryi_swept_cut &at, int64_t most)
{
    spryi_swept_cut to;
    const int64_t wanted = spryi_swept_wanted(&at, most), sums = at.before + c.most_rows - 1;
    int64_t row = last_row<P, false>(c, wanted);
    if (c.before[row] > sums) row = last_row<P, true>(c, sums);
    const int64_t after = row < c.rows ? row + 1 : row; /* loads that do not wait for each other */
    const int64_t begin = (int64_t)c.Ap[row], end = (int64_t)c.Ap[after], before = c.before[row];
    const int64_t before_end = c.before[after];
    spryi_swept_end(&to, &at, c.rows, wanted, row, begin, end);
    to.row_begin = to.row > row ? end : begin;
    to.before = to.row > row ? before_end : before;
    return to;
}

/* By a warp: blocks that cost at most `most` each; cuts, unless NULL, has room for `room` and one. */
template <typename P>
static __device__ int64_t cut_by_cost(const cutting<P> &c, int64_t most, spryi_swept_cut *cuts, int64_t room)
{
    spryi_swept_cut at = {0, 0, 0, 0};
    int64_t blocks = 0;
    while (at.row < c.rows) {
        if (cuts && blocks < room && lane_of_warp() == 0) cuts[blocks] = at;
        at = next_cut(c, at, most);
        blocks++;
    }
    if (cuts && blocks <= room && lane_of_warp() == 0) cuts[blocks] = at;
    return blocks;
}

static __device__ __forceinline__ bool goes_on(const spryi_swept_search &search)
{
    return search.high - search.low > search.near;
}

/* What `rounds` rounds leave of the search. */
template <typename P> static __device__ spryi_swept_search replay(const cutting<P> &c, int rounds)
{
    spryi_swept_search search = c.search;
    for (int round = 0; round < rounds; round++)
        for (int level = 0, node = 1; level < LEVELS && goes_on(search); level++) {
            const int few = c.blocks[round * NODES + node] <= search.wanted;
            spryi_swept_halve(&search, few);
            node = 2 * node + few;
        }
    return search;
}

/*
 * A warp a node: 1 the cost in the middle, 2n and 2n + 1 those asked for where n gave too many blocks, or few enough.
 * Node 0 is `narrow`.
 */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS) try_costs(const cutting<P> c, int round)
{
    const int node = blockIdx.x * WARPS + threadIdx.x / 32;
    spryi_swept_search search = replay(c, round);
    int depth = 0;
    while (node >> (depth + 1) > 0) depth++;
    for (; depth > 0 && goes_on(search); depth--) spryi_swept_halve(&search, node >> (depth - 1) & 1);
    if (node > 0 && !goes_on(search)) return;
    const int64_t cost = node > 0 ? search.low + (search.high - search.low) / 2 : search.narrow;
    const int64_t count = cut_by_cost(c, cost, NULL, 0);
    if (lane_of_warp() == 0) c.blocks[round * NODES + node] = (int32_t)count;
}

/* A warp: the blocks where each may cost `most`. */
template <typename P> static __global__ void count_blocks(const cutting<P> c, int64_t most, int64_t *count)
{
    const int64_t blocks = cut_by_cost(c, most, NULL, 0);
    if (lane_of_warp() == 0) *count = blocks;
}

/* A warp: the cuts that the search has found in so many rounds, and how many. */
template <typename P>
static __global__ void put_cuts(const cutting<P> c, int rounds, spryi_swept_cut *cuts, int64_t *count)
{
    const spryi_swept_search search = replay(c, rounds);
    const int64_t blocks = cut_by_cost(c, search.high > 0 ? search.high : 1, cuts, search.wanted);
    if (lane_of_warp() == 0) *count = blocks;
}

template <typename P> static __global__ void mark_rows(const P *__restrict__ Ap, int64_t m, int64_t *before)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= m) before[i] = i > 0 && Ap[i] > Ap[i - 1];
}

#endif
