/*
 * Code for rows that a block computes (block_cuda.cu) and for windows of giant rows (giant_cuda.cu). A batch holds rows
 * of B that a row of A selects. A mask has a bit for each column of the row of C. The mask and the number of columns
 * before each of its words give the positions of sums.
 */
#pragma once

#include "base/bisect.h"
#include "spgemm/kernels/cuda/steps_cuda.cuh"

enum {
    BLOCK_THREADS = 512,
    MASK_WORDS = 49152,
    AHEAD = 4 /* rows of B, or pieces of a long row, that are loaded in advance */
};

/* Returns the number of words of a mask if a multiprocessor runs one block; at most the words that B's columns need. */
static inline int gpu_mask_words(const gpu_work *w)
{
    int64_t most = (w->shared_bytes - 1024 - 8192) / 132 * 32; /* 32 words and a word of the summary have 132 bytes */
    if (most > MASK_WORDS) most = MASK_WORDS;
    const int64_t all = ceil_div(w->rows.B.cols, 32) + 1;
    return (int)(all < most ? all : most);
}

/*
 * A batch of entries of A, one per thread of the block. Holds the rows of B that the entries select, or the parts of
 * these rows in the window. Empty rows are left out.
 */
template <typename V, int THREADS = BLOCK_THREADS> struct met_batch {
    int64_t from[THREADS];
    V a[THREADS];
    int length[THREADS];
    int of_warp[THREADS / 32];
    int met;
};

/* Returns the sum of v over the block. scratch: one element per warp, free after the call. */
static __device__ __forceinline__ int block_sum(int v, int *scratch)
{
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    int all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++) all += scratch[w];
    __syncthreads();
    return all;
}

/* Returns the first position in j[0 .. length - 1] whose column is at least `column`. */
static __device__ __forceinline__ int64_t position_of(const int32_t *j, int64_t length, int64_t column)
{
    int64_t k;
    SPRYI_BISECT(k, 0, length, __ldg(j + k) < column);
    return k;
}

/*
 * Loads entries k .. k + blockDim.x - 1 of a row of A that ends at `end`. whole: uses rows of B in full, not only their
 * parts in the window.
 */
template <bool VALUES, typename V, int THREADS> static __device__ __forceinline__ void
meet_batch(const gpu_rows &r, met_batch<V, THREADS> *b, int64_t k, int64_t end, bool whole, int64_t first, int64_t last)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    int64_t from = 0;
    int length = 0;
    if (k + threadIdx.x < end) {
        const int32_t j = __ldg(r.A.j + k + threadIdx.x);
        from = r.B.p.get(j);
        length = (int)(r.B.p.get((int64_t)j + 1) - from);
        if (!whole) {
            const int64_t skipped = position_of(r.B.j + from, length, first);
            length = (int)position_of(r.B.j + from + skipped, length - skipped, last);
            from += skipped;
        }
    }
    const unsigned some = __ballot_sync(ALL_LANES, length > 0);
    __syncthreads(); /* the previous batch is no longer used */
    if (lane == 0) b->of_warp[warp] = __popc(some);
    __syncthreads();
    int met = 0, at = 0;
    for (int w = 0; w < warps; w++) {
        if (w == warp) at = met + __popc(some & ((1u << lane) - 1));
        met += b->of_warp[w];
    }
    if (length > 0) {
        b->from[at] = from;
        b->length[at] = length;
        if (VALUES) b->a[at] = __ldg((const V *)r.A.x + k + threadIdx.x);
    }
    if (threadIdx.x == 0) b->met = met;
    __syncthreads();
}

/* ---- the mask ----------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void add_bit(unsigned *mask, int bit)
{
    const unsigned one = 1u << (bit & 31);
    if (!(((volatile unsigned *)mask)[bit >> 5] & one)) atomicOr(&mask[bit >> 5], one);
}

/*
 * Inspects 32 pieces of 32 words, from word s on. Returns a mask of the pieces before word `to` that have columns
 * according to the summary.
 */
static __device__ __forceinline__ unsigned pieces_with_columns(const unsigned *summary, int s, int to)
{
    const int piece = s / 32 + threadIdx.x % 32;
    return __ballot_sync(ALL_LANES, 32 * piece < to && (!summary || summary[piece] != 0));
}

/*
 * Numbers the columns in `words` words: start, start + 1, and so on. Stores the number of word w's first column in
 * before[w], and all columns in j. Both arrays may be NULL. Returns how many columns there are. summary: a bit
 * per word, 1 if the word has columns; NULL: all words are read.
 */
template <typename N> static __device__ __forceinline__ int number_words(const unsigned *mask, const unsigned *summary,
                                                                         N *before, int words, int64_t first, int start,
                                                                         int32_t *j, int *scratch)
{
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int each = ((words + warps - 1) / warps + 31) / 32 * 32, from = warp * each, to = min(words, from + each);
    int mine = 0;
    for (int s = from; s < to; s += 1024) {
        for (unsigned left = pieces_with_columns(summary, s, to); left; left &= left - 1) {
            const int w = s + 32 * (__ffs(left) - 1) + lane;
            if (w < to) mine += __popc(mask[w]);
        }
    }
    mine = warp_sum(mine);
    if (lane == 0) scratch[warp] = mine;
    __syncthreads();
    int at = start, total = 0;
    for (int w = 0; w < warps; w++) {
        if (w < warp) at += scratch[w];
        total += scratch[w];
    }
    for (int s = from; s < to; s += 1024) {
        for (unsigned left = pieces_with_columns(summary, s, to); left; left &= left - 1) {
            const int w = s + 32 * (__ffs(left) - 1) + lane;
            unsigned bits = w < to ? mask[w] : 0;
            int of_words;
            int place = at + lanes_before(__popc(bits), 32, &of_words);
            at += of_words;
            if (before && w < to) before[w] = (N)place;
            if (j) {
                for (; bits; bits &= bits - 1) j[place++] = (int32_t)(first + (int64_t)w * 32 + __ffs(bits) - 1);
            }
        }
    }
    __syncthreads();
    return total;
}

/* ---- values, packed ----------------------------------------------------------------------------------- */

/* Synchronizes the `lanes` threads of a group: a warp or more. */
static __device__ __forceinline__ void group_barrier(int group, int lanes)
{
    if (lanes == 32)
        __syncwarp();
    else if (lanes == (int)blockDim.x)
        __syncthreads();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(lanes) : "memory");
}

/* Computes the position of a column's value. */
struct mask_positions {
    const unsigned *mask;
    const uint16_t *before;
    int64_t first;
    __device__ __forceinline__ int of(int32_t column) const
    {
        const int64_t bit = column - first;
        const int w = (int)(bit >> 5);
        return before[w] + __popc(mask[w] & ((1u << (bit & 31)) - 1));
    }
};

/*
 * State of a group that reads its rows of the batch in pieces of one entry per lane: the current position, and AHEAD
 * pieces in registers. row: index in the batch, `met` or more after the last row.
 */
template <typename V> struct batch_pieces {
    int64_t from;
    int left, row;
    int32_t j[AHEAD];
    int of[AHEAD];
    V x[AHEAD];
};

template <typename V> static __device__ __forceinline__ void
fetch_pieces(batch_pieces<V> *p, const gpu_rows &r, const met_batch<V> *b, int met, int groups, int lane, int lanes)
{
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        p->from += lanes;
        p->left -= lanes;
        if (p->left <= 0 && p->row < met) {
            p->row += groups;
            if (p->row < met) {
                p->from = b->from[p->row];
                p->left = b->length[p->row];
            }
        }
        p->of[u] = p->row;
        p->j[u] = -1;
        p->x[u] = 0;
        if (p->row < met && lane < p->left) {
            p->j[u] = __ldg(r.B.j + p->from + lane);
            p->x[u] = __ldg((const V *)r.B.x + p->from + lane);
        }
    }
}

/*
 * Adds a*b to values[position of the column] for the batch. Each group processes its rows of B in order, with a barrier
 * between rows. The next pieces are loaded during the additions.
 */
template <typename V> static __device__ __forceinline__ void add_batch(const gpu_rows &r, const met_batch<V> *b,
                                                                       const mask_positions &positions, V *values,
                                                                       int group, int groups, int lanes)
{
    const int lane = threadIdx.x % lanes, met = b->met;
    batch_pieces<V> next;
    next.from = next.left = 0;
    next.row = group - groups;
    fetch_pieces(&next, r, b, met, groups, lane, lanes);
    while (next.of[0] < met) {
        int place[AHEAD], of[AHEAD + 1];
        V x[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) { /* positions first: unlike sums, they do not depend on each other */
            place[u] = next.j[u] >= 0 ? positions.of(next.j[u]) : -1;
            of[u] = next.of[u];
            x[u] = next.x[u];
        }
        fetch_pieces(&next, r, b, met, groups, lane, lanes);
        of[AHEAD] = next.of[0];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            if (place[u] >= 0) add_product(&values[place[u]], b->a[of[u]], x[u]);
            if (of[u + 1] != of[u]) group_barrier(group, lanes);
        }
    }
}
