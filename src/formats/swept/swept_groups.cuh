/*
 * The slot of every entry of a row block, on the device, with the same result as the host's (swept_format.c).
 *
 * Idea: entries are numbered in the order of columns; rows get their sums; then a block of threads goes from group to
 *       group. A group takes the first entries that the groups before have left and whose row's entry as many before as
 *       the row has sums lies in one of those, so that all that is needed of an entry is where that other one lies.
 * Work: by entries (tiles of CONVERT_TILE), but for sums and groups: a block of threads a row block.
 * Source: this library.
 */
#pragma once

extern "C" {
#include "formats/swept/swept_layout.h"
}
#include "base/bisect.h"
#include "device/cuda/convert.cuh"
#include "device/cuda/reduce.cuh"

static_assert(SPRYI_SWEPT_THREADS == 1024, "what sum_before wants");
enum { GROUP = SPRYI_SWEPT_THREADS, AHEAD = SPRYI_SWEPT_MOST_AHEAD };
#define NONE UINT32_MAX
#define FULL_WARP 0xffffffffu

/* The matrix, its blocks and what is known of rows and entries, for all kernels. */
template <typename P> struct sweeping {
    const P *Ap;
    const int32_t *Aj;
    const int64_t *before;
    int64_t rows, cols, nnz, block_count;
    const int64_t *starts;     /* block_count + 1: entries */
    const int64_t *first_sum;  /* block_count + 1: rows with entries, those of every block */
    spryi_swept_block *blocks; /* extras, sums and batches are filled in */
    int64_t unroll, most_sums;
    uint32_t *most;                /* a row with entries: those in the stretch where it has most, 0: few */
    uint32_t *sum_count, *further; /* its sums, and the second of them */
    uint32_t *position;            /* an entry, rows sorted: which one of its block's in the order of columns */
    uint32_t *slot;                /* an entry in the order of columns: group * GROUP + position in it, NONE: not yet */
    uint64_t *keys;                /* the same: column, below what column_mask hides, and the entry's number */
    uint32_t column_mask;
};

/* An entry in the order of columns: the one that its group comes after, and its sum. */
typedef uint2 record;

template <typename P> static __device__ __forceinline__ int64_t column_of(const sweeping<P> &w, int64_t p)
{
    return KEY_MAJOR(w.keys[p]) & w.column_mask;
}

/* A block, as kernels see it that are cut by entries: which ones it has, and the sum of row i less before[i]. */
struct own_block {
    int64_t number, begin, end, sums;
};

template <typename P> static __device__ __forceinline__ own_block block_at(const sweeping<P> &w, int64_t number)
{
    own_block b;
    b.number = number;
    b.begin = w.starts[number];
    b.end = w.starts[number + 1];
    b.sums = w.first_sum[number] - w.before[w.blocks[number].first_row];
    return b;
}

/* A row's entries in a block; `sum` counts over all blocks. */
struct piece {
    int64_t begin, end, sum;
};

template <typename P>
static __device__ __forceinline__ piece piece_of(const sweeping<P> &w, const own_block &b, int64_t row)
{
    piece p;
    p.begin = (int64_t)w.Ap[row] > b.begin ? (int64_t)w.Ap[row] : b.begin;
    p.end = (int64_t)w.Ap[row + 1] < b.end ? (int64_t)w.Ap[row + 1] : b.end;
    p.sum = b.sums + w.before[row];
    return p;
}

/* The tiles of kernels that are cut by entries: rows and blocks between which their entries lie. */
struct tile {
    int64_t begin, end, rows[2], blocks[2];
};

template <typename P> static __device__ void open_tile(const sweeping<P> &w, tile *t)
{
    const int64_t begin = (int64_t)blockIdx.x * CONVERT_TILE;
    const int64_t end = begin + CONVERT_TILE < w.nnz ? begin + CONVERT_TILE : w.nnz;
    if (threadIdx.x == 0) {
        t->begin = begin;
        t->end = end;
    }
    owners_of_tile(w.Ap, w.rows, begin, end, t->rows);
    owners_of_tile(w.starts, w.block_count, begin, end, t->blocks);
}

/* The tile's entries that are this thread's, rising; b is the block of each, if it was that of the first. */
#define EACH_ENTRY_OF_TILE(k, t, b)                                                                                    \
    for (int64_t k = (t).begin + threadIdx.x; next_entry(w, t, k, &(b)); k += CONVERT_THREADS)

template <typename P>
static __device__ __forceinline__ bool next_entry(const sweeping<P> &w, const tile &t, int64_t k, own_block *b)
{
    if (k >= t.end) return false;
    while (k >= b->end) *b = block_at(w, b->number + 1);
    return true;
}

template <typename P>
static __device__ __forceinline__ int64_t row_in_tile(const sweeping<P> &w, const tile &t, int64_t k)
{
    return owner_of(w.Ap, t.rows[0], t.rows[1] + 1, k);
}

/* ---- the order of columns ------------------------------------------------------------------------------ */

/* Keys by blocks, in one by columns. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    make_keys(const sweeping<P> w, int column_bits)
{
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    EACH_ENTRY_OF_TILE(k, t, b)
    w.keys[k] = (uint64_t)((uint32_t)b.number << column_bits | (uint32_t)w.Aj[k]) << KEY_BITS | (uint64_t)k;
}

/* Columns in keys give way to blocks. */
template <typename P> static __global__ void put_blocks(const sweeping<P> w)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= w.nnz) return;
    const uint32_t k = KEY_ENTRY(w.keys[p]);
    w.keys[p] = (uint64_t)owner_of(w.starts, 0, w.block_count, (int64_t)k) << KEY_BITS | k;
}

/* And back. */
template <typename P> static __global__ void put_columns(const sweeping<P> w)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= w.nnz) return;
    const uint32_t k = KEY_ENTRY(w.keys[p]);
    w.keys[p] = (uint64_t)(uint32_t)w.Aj[k] << KEY_BITS | k;
}

/* Where the entries went, rows sorted; *unsorted becomes 1 where they are not. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    number_entries(const sweeping<P> w, int *unsorted)
{
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    bool falls = false;
    EACH_ENTRY_OF_TILE(k, t, b)
    {
        if (k > 0 && w.Aj[k] < w.Aj[k - 1]) falls |= k > (int64_t)w.Ap[row_in_tile(w, t, k)];
        w.position[KEY_ENTRY(w.keys[k])] = (uint32_t)(k - b.begin); /* a block's keys stand where its entries do */
    }
    if (falls) *unsorted = 1;
}

/* Keys by rows instead, of the entries in the order of columns. */
template <typename P>
static __global__ void key_rows(const sweeping<P> w, const int32_t *__restrict__ row_of, uint64_t *__restrict__ by_rows)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < w.nnz) by_rows[p] = (uint64_t)(uint32_t)row_of[KEY_ENTRY(w.keys[p])] << KEY_BITS | (uint64_t)p;
}

/* The same as number_entries, of entries whose rows have been sorted. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    number_sorted(const sweeping<P> w, const uint64_t *__restrict__ by_rows)
{
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    EACH_ENTRY_OF_TILE(k, t, b)
    w.position[k] = KEY_ENTRY(by_rows[k]) - (uint32_t)b.begin;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* Where a row has more entries in a stretch than a sum serves: how many, at the last of each stretch. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS) count_nearby(const sweeping<P> w)
{
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    int64_t of_block = -1, few = 0;
    EACH_ENTRY_OF_TILE(k, t, b)
    {
        if (b.number != of_block) few = spryi_swept_first_limits(b.end - b.begin, w.unroll).near;
        of_block = b.number;
        const int64_t stretch = spryi_swept_stretch(w.position[k]);
        if (k - few < b.begin || spryi_swept_stretch(w.position[k - few]) != stretch) continue; /* most end here */
        const piece own = piece_of(w, b, row_in_tile(w, t, k));
        if (k - few < own.begin || (k + 1 < own.end && spryi_swept_stretch(w.position[k + 1]) == stretch)) continue;
        int64_t first; /* the row's first entry in the stretch */
        SPRYI_BISECT(first, own.begin, k - few, spryi_swept_stretch(w.position[first]) < stretch);
        atomicMax(w.most + own.sum, (uint32_t)(k - first + 1));
    }
}

/* A thread's rows of a block. */
struct row_range {
    int64_t begin, end;
};

static __device__ row_range rows_of_thread(const spryi_swept_block &block)
{
    const int64_t each = (block.rows + GROUP - 1) / GROUP, last = block.first_row + block.rows;
    row_range own;
    own.begin = block.first_row + threadIdx.x * each;
    own.end = own.begin + each;
    if (own.begin > last) own.begin = last;
    if (own.end > last) own.end = last;
    return own;
}

template <typename P>
static __device__ int64_t sum_count_of(const sweeping<P> &w, const piece &p, spryi_swept_limits limits)
{
    return spryi_swept_sums_of_row(p.end - p.begin, w.most[p.sum], &limits);
}

/* A block of threads a row block: how many sums each row has. */
template <typename P> static __global__ void __launch_bounds__(GROUP) assign_sums(const sweeping<P> w)
{
    const spryi_swept_block block = w.blocks[blockIdx.x];
    const own_block b = block_at(w, blockIdx.x);
    const row_range own = rows_of_thread(block);
    spryi_swept_limits limits = spryi_swept_first_limits(b.end - b.begin, w.unroll);
    int64_t further, extras, all;
    for (;; limits.most *= 2, limits.near *= 2) {
        further = extras = 0;
        for (int64_t i = own.begin; i < own.end; i++) {
            const piece p = piece_of(w, b, i);
            const int64_t sum_count = p.begin < p.end ? sum_count_of(w, p, limits) : 1;
            further += sum_count - 1;
            extras += sum_count > 1;
        }
        further = block.sums + sum_before(further, &all);
        (void)sum_before(extras, &extras);
        if (block.sums + all <= w.most_sums || extras == 0) break;
    }
    for (int64_t i = own.begin; i < own.end; i++) {
        const piece p = piece_of(w, b, i);
        if (p.begin >= p.end) continue;
        const int64_t sum_count = sum_count_of(w, p, limits);
        w.sum_count[p.sum] = (uint32_t)sum_count;
        w.further[p.sum] = (uint32_t)further;
        further += sum_count - 1;
    }
    if (threadIdx.x > 0) return;
    w.blocks[b.number].all_sums = (int32_t)(block.sums + all);
    w.blocks[b.number].sum_bits = spryi_swept_sum_bits(block.sums + all);
    w.blocks[b.number].extras = (int32_t)extras;
}

template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    put_records(const sweeping<P> w, record *__restrict__ records)
{
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    EACH_ENTRY_OF_TILE(k, t, b)
    {
        const piece own = piece_of(w, b, row_in_tile(w, t, k));
        const uint32_t sum_count = w.sum_count[own.sum],
                       next_sum = sum_count > 1 ? (uint32_t)(k - own.begin) % sum_count : 0;
        record r;
        r.x = k - own.begin >= sum_count ? w.position[k - sum_count] : NONE;
        r.y = next_sum == 0 ? (uint32_t)(own.sum - w.first_sum[b.number]) : w.further[own.sum] + next_sum - 1;
        records[b.begin + w.position[k]] = r;
    }
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* In a block of GROUP threads, of which each has two flags: how many flags of the threads before are set. */
static __device__ __forceinline__ int ones_before(bool first, bool second, int *of_warp)
{
    const int lane = lane_of_warp(), warp = threadIdx.x / 32;
    const unsigned lower = (1u << lane) - 1;
    const unsigned firsts = __ballot_sync(FULL_WARP, first), seconds = __ballot_sync(FULL_WARP, second);
    if (lane == 0) of_warp[warp] = __popc(firsts) + __popc(seconds);
    __syncthreads();
    const int sum = warp_scan(of_warp[lane]);
    const int of_warps = __shfl_sync(FULL_WARP, sum, warp > 0 ? warp - 1 : 0);
    return (warp > 0 ? of_warps : 0) + __popc(firsts & lower) + __popc(seconds & lower);
}

/* A candidate: its number in the block, if it is looked at, and if it joins the group. */
struct candidate {
    int64_t at;
    bool fits, joins;
};

/*
 * By a block of GROUP threads: group by group. Candidates are those that the group before has left, which lie in a
 * list, and then the next in the order of columns; two a thread, as nearly all join.
 */
template <typename P> static __global__ void __launch_bounds__(GROUP)
    fill_groups(const sweeping<P> w, const record *__restrict__ all_records)
{
    enum { EACH = 2 };
    __shared__ uint32_t lists[2][AHEAD];
    __shared__ int joining[GROUP / 32];
    const int64_t b = blockIdx.x, first = w.starts[b], unroll = w.unroll;
    const int count = (int)(w.starts[b + 1] - first);
    const int64_t widest = (int64_t)1 << (32 - w.blocks[b].sum_bits);
    const bool all_near = w.cols <= widest;
    const record *records = all_records + first;
    uint32_t *slots = w.slot + first, *list = lists[0], *left = lists[1];
    int listed = 0, next = 0, group = 0; /* listed: of the list; next: not looked at yet */
    int64_t base = 0;
    for (; (listed > 0 || next < count) && group < SPRYI_SWEPT_MOST_GROUPS; group++) {
        int joined = 0, kept = 0, taken = 0; /* taken: candidates that were looked at */
        if (!all_near && group % unroll == 0) base = column_of(w, first + (listed > 0 ? list[0] : next));
        for (bool open = true; open;) {
            candidate own[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int c = taken + EACH * (int)threadIdx.x + e;
                own[e].at = c < listed ? (int64_t)list[c] : (int64_t)next + (c - listed);
                own[e].fits = own[e].at < count && (all_near || column_of(w, first + own[e].at) - base < widest);
                const uint32_t after = own[e].at < count ? records[own[e].at].x : 0;
                /* NONE is past all groups */
                own[e].joins = own[e].at < count && (after == NONE || slots[after] / GROUP < (uint32_t)group);
            }
            int joins = ones_before(own[0].joins, own[1].joins, joining), looked_at = 0, joined_of_them = 0;
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int stays = EACH * (int)threadIdx.x + e - joins;
                /* the first candidates, up to one that is too far, or for which there is no position */
                if (own[e].fits && joined + joins < GROUP && kept + stays < AHEAD) {
                    if (own[e].joins)
                        slots[own[e].at] = (uint32_t)group * GROUP + (uint32_t)(joined + joins);
                    else
                        left[kept + stays] = (uint32_t)own[e].at;
                    looked_at++;
                    joined_of_them += own[e].joins;
                }
                joins += own[e].joins;
            }
            const int all = __syncthreads_count(looked_at > 0) + __syncthreads_count(looked_at > 1);
            const int of_them = __syncthreads_count(joined_of_them > 0) + __syncthreads_count(joined_of_them > 1);
            taken += all;
            joined += of_them;
            kept += all - of_them;
            open = all == EACH * GROUP && joined < GROUP && kept < AHEAD;
        }
        for (int c = taken + (int)threadIdx.x; c < listed; c += GROUP) left[kept + c - taken] = list[c];
        __syncthreads();
        next += taken > listed ? taken - listed : 0;
        listed = kept + (listed > taken ? listed - taken : 0);
        uint32_t *swap = list;
        list = left;
        left = swap;
    }
    if (threadIdx.x == 0) w.blocks[b].batches = (int32_t)((group + unroll - 1) / unroll);
}
