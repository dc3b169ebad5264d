/*
 * Converts CSR to swept row blocks on the device, with the same bits as on the host.
 *
 * Idea: each warp cuts the rows into blocks of one cost. Together the warps try all costs that ten steps of the search
 *       may reach. Entry indices are sorted by column, then by block. A group gets the first remaining entries in
 *       column order whose sum is free: the row's last earlier entry with the same sum must be in an earlier group. A
 *       block of threads fills the groups in order, from up to 2048 candidates at a time. For a candidate it reads only
 *       the slot of that earlier entry. A row block takes a few hundred steps, while the host assigns entry by entry.
 * Work: a warp for each cost; a block of threads for each row block to fill groups; in the other kernels a thread for
 *       each entry, row or slot. No thread handles a whole long row.
 * Cost: 16 bytes per entry for each of the 3 to 5 passes of the sorts (a pass sorts 8 bits of the columns or of the
 *       blocks), and about 120 bytes per entry for the rest. Scratch: 20 bytes per entry and 24 per row. If rows are
 *       not sorted, 16 more bytes per entry.
 * Source: radix sort and scan: CUB; the groups: this library.
 */
extern "C" {
#include "formats/swept/swept_layout.h"
}
#include "base/bisect.h"
#include "device/cuda/convert.cuh"
#include "device/cuda/reduce.cuh"

#include <stdlib.h>

enum {
    CLEAR_PARTS = 16, /* blocks of threads per row block that clear slots */
    LEVELS = 10,      /* levels of the search per round; a round tries all outcomes */
    NODES = 1 << LEVELS,
    ROUNDS = 3, /* most rounds, since costs have 30 bits; a search below `narrow` has one round */
    WARPS = CONVERT_THREADS / 32,
};
static_assert(LEVELS * ROUNDS >= 30, "costs have 30 bits");

static_assert(SPRYI_SWEPT_THREADS == 1024, "sum_before needs 1024 threads");
enum { GROUP = SPRYI_SWEPT_THREADS, AHEAD = SPRYI_SWEPT_MOST_AHEAD };
#define NONE UINT32_MAX
#define FULL_WARP 0xffffffffu

/* The matrix, its blocks, and data of rows and entries, for all kernels. */
template <typename P> struct sweeping {
    const P *Ap;
    const int32_t *Aj;
    const int64_t *before;
    int64_t rows, cols, nnz, block_count;
    const int64_t *starts;     /* block_count + 1: first entry of each block */
    const int64_t *first_sum;  /* block_count + 1: first sum of each block, over all blocks */
    spryi_swept_block *blocks; /* kernels set extras, sums and batches */
    int64_t unroll, most_sums;
    uint32_t *most; /* largest number of entries of each row in a stretch; 0: one sum suffices for every stretch */
    uint32_t *sum_count, *further; /* for each row, the number of its sums and its second sum */
    uint32_t *position;            /* for each entry, by row and column, its position in column order in its block */
    uint32_t *slot;                /* for each entry, in column order, group * GROUP + position; NONE: unassigned */
    uint64_t *keys;                /* for each entry, in column order, its column (under column_mask) and its index */
    uint32_t column_mask;
};

/* x: position in column order of the row's last earlier entry with the same sum, or NONE. y: the entry's sum. */
typedef uint2 record;

template <typename P> static __device__ __forceinline__ int64_t column_of(const sweeping<P> &w, int64_t p)
{
    return KEY_MAJOR(w.keys[p]) & w.column_mask;
}

/*
 * The row block of a thread's entry. begin, end: the block's entries. sums + before[i] is the first sum of row i of the
 * block, counted over all blocks.
 */
struct own_block {
    int64_t index, begin, end, sums;
};

template <typename P> static __device__ __forceinline__ own_block block_at(const sweeping<P> &w, int64_t block)
{
    own_block b;
    b.index = block;
    b.begin = w.starts[block];
    b.end = w.starts[block + 1];
    b.sums = w.first_sum[block] - w.before[w.blocks[block].first_row];
    return b;
}

/* A row's entries in a block. sum: the row's first sum, counted over all blocks. */
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

/*
 * The tile of a thread block: up to CONVERT_TILE entries, in kernels with a thread for each entry, and the ranges of
 * rows and row blocks that have these entries.
 */
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

/*
 * Loops over this thread's entries of the tile, in rising order. b: block of the tile's first entry; advances to each
 * entry's block.
 */
#define EACH_ENTRY_OF_TILE(k, t, b)                                                                                    \
    for (int64_t k = (t).begin + threadIdx.x; next_entry(w, t, k, &(b)); k += CONVERT_THREADS)

template <typename P>
static __device__ __forceinline__ bool next_entry(const sweeping<P> &w, const tile &t, int64_t k, own_block *b)
{
    if (k >= t.end) return false;
    while (k >= b->end) *b = block_at(w, b->index + 1);
    return true;
}

template <typename P>
static __device__ __forceinline__ int64_t row_in_tile(const sweeping<P> &w, const tile &t, int64_t k)
{
    return owner_of(w.Ap, t.rows[0], t.rows[1] + 1, k);
}

/* ---- cutting rows into blocks, as in swept_format.c -------------------------------------------------------- */

/* The matrix to cut, and the search for the cost of a block. */
template <typename P> struct cutting {
    const P *Ap;
    const int64_t *before; /* for each row, the number of preceding rows with entries */
    int64_t rows, most_rows;
    spryi_swept_search search;
    int32_t *blocks; /* NODES per round: number of blocks at the node's cost; node 0: at search.narrow */
};

/*
 * Returns the last row whose preceding rows have a cost of at most `most` or, if BY_SUMS, contain at most `most` rows
 * with entries. Called by a warp.
 */
template <typename P, bool BY_SUMS> static __device__ int64_t last_row(const cutting<P> &c, int64_t most)
{
    int64_t row = 0, step = 1;
    while (32 * step <= c.rows) step *= 32;
    for (; step > 0; step /= 32) { /* all searches have the same first probes, which remain in the first-level cache */
        const int64_t probe = row + lane_of_warp() * step;
        const bool fits = probe <= c.rows &&
                          (BY_SUMS ? c.before[probe] : spryi_swept_cost_before((int64_t)c.Ap[probe], probe)) <= most;
        row += (__popc(__ballot_sync(FULL_WARP, fits)) - 1) * step;
    }
    return row;
}

/* Returns the end of the block that begins at `at` and may cost `most`. Called by a warp. */
template <typename P>
static __device__ spryi_swept_cut next_cut(const cutting<P> &c, const spryi_swept_cut &at, int64_t most)
{
    spryi_swept_cut to;
    const int64_t wanted = spryi_swept_cost_limit(&at, most), sums = at.before + c.most_rows - 1;
    int64_t row = last_row<P, false>(c, wanted);
    if (c.before[row] > sums) row = last_row<P, true>(c, sums);
    const int64_t after = row < c.rows ? row + 1 : row; /* independent loads */
    const int64_t begin = (int64_t)c.Ap[row], end = (int64_t)c.Ap[after], before = c.before[row];
    const int64_t before_end = c.before[after];
    spryi_swept_end_of_block(&to, &at, c.rows, wanted, row, begin, end);
    to.row_begin = to.row > row ? end : begin;
    to.before = to.row > row ? before_end : before;
    return to;
}

/*
 * Returns the number of blocks that cost at most `most` each. cuts: NULL, or room for most_blocks + 1 cuts. Called by a
 * warp.
 */
template <typename P>
static __device__ int64_t cut_by_cost(const cutting<P> &c, int64_t most, spryi_swept_cut *cuts, int64_t most_blocks)
{
    spryi_swept_cut at = {0, 0, 0, 0};
    int64_t blocks = 0;
    while (at.row < c.rows) {
        if (cuts && blocks < most_blocks && lane_of_warp() == 0) cuts[blocks] = at;
        at = next_cut(c, at, most);
        blocks++;
    }
    if (cuts && blocks <= most_blocks && lane_of_warp() == 0) cuts[blocks] = at;
    return blocks;
}

static __device__ __forceinline__ bool continues(const spryi_swept_search &search)
{
    return search.high - search.low > search.near;
}

/* Returns the search after `rounds` rounds. */
template <typename P> static __device__ spryi_swept_search replay(const cutting<P> &c, int rounds)
{
    spryi_swept_search search = c.search;
    for (int round = 0; round < rounds; round++)
        for (int level = 0, node = 1; level < LEVELS && continues(search); level++) {
            const int few = c.blocks[round * NODES + node] <= search.wanted;
            spryi_swept_search_step(&search, few);
            node = 2 * node + few;
        }
    return search;
}

/*
 * Counts the blocks for the cost of each node of the search tree, one warp per node. Node 1 is the middle cost. Node 2n
 * follows node n if node n gives too many blocks, node 2n + 1 if it gives few enough. Node 0 is `narrow`.
 */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS) try_costs(const cutting<P> c, int round)
{
    const int node = blockIdx.x * WARPS + threadIdx.x / 32;
    spryi_swept_search search = replay(c, round);
    int depth = 0;
    while (node >> (depth + 1) > 0) depth++;
    for (; depth > 0 && continues(search); depth--) spryi_swept_search_step(&search, node >> (depth - 1) & 1);
    if (node > 0 && !continues(search)) return;
    const int64_t cost = node > 0 ? search.low + (search.high - search.low) / 2 : search.narrow;
    const int64_t count = cut_by_cost(c, cost, NULL, 0);
    if (lane_of_warp() == 0) c.blocks[round * NODES + node] = (int32_t)count;
}

/* Counts the blocks that cost at most `most` each. Launched with one warp. */
template <typename P> static __global__ void count_blocks(const cutting<P> c, int64_t most, int64_t *count)
{
    const int64_t blocks = cut_by_cost(c, most, NULL, 0);
    if (lane_of_warp() == 0) *count = blocks;
}

/* Writes the cuts found by a search of `rounds` rounds, and the number of blocks. Launched with one warp. */
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

/* ---- column order -------------------------------------------------------------------------------------- */

/* Sets the key of each entry to its block and column. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    build_keys(const sweeping<P> w, int column_bits)
{
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    EACH_ENTRY_OF_TILE(k, t, b)
    w.keys[k] = (uint64_t)((uint32_t)b.index << column_bits | (uint32_t)w.Aj[k]) << KEY_BITS | (uint64_t)k;
}

/* Replaces the columns in the keys by blocks. */
template <typename P> static __global__ void put_blocks(const sweeping<P> w)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= w.nnz) return;
    const uint32_t k = KEY_ENTRY(w.keys[p]);
    w.keys[p] = (uint64_t)owner_of(w.starts, 0, w.block_count, (int64_t)k) << KEY_BITS | k;
}

/* Replaces the blocks in the keys by columns. */
template <typename P> static __global__ void put_columns(const sweeping<P> w)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= w.nnz) return;
    const uint32_t k = KEY_ENTRY(w.keys[p]);
    w.keys[p] = (uint64_t)(uint32_t)w.Aj[k] << KEY_BITS | k;
}

/* Sets each entry's position in column order if rows are sorted. Sets *unsorted to 1 if a row is not sorted. */
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
        w.position[KEY_ENTRY(w.keys[k])] = (uint32_t)(k - b.begin); /* is valid also if rows are not sorted */
    }
    if (falls) *unsorted = 1;
}

/* Sets the key of each entry, in column order, to its row and position. */
template <typename P>
static __global__ void key_rows(const sweeping<P> w, const int32_t *__restrict__ row_of, uint64_t *__restrict__ by_rows)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < w.nnz) by_rows[p] = (uint64_t)(uint32_t)row_of[KEY_ENTRY(w.keys[p])] << KEY_BITS | (uint64_t)p;
}

/* Sets the positions from keys sorted by row. */
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

/*
 * Sets w.most of rows with more entries in a stretch than one sum serves. The thread that has the row's last entry in
 * the stretch counts the row's entries in the stretch.
 */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS) count_nearby(const sweeping<P> w)
{
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    int64_t of_block = -1, few = 0;
    EACH_ENTRY_OF_TILE(k, t, b)
    {
        if (b.index != of_block) few = spryi_swept_first_limits(b.end - b.begin, w.unroll).near;
        of_block = b.index;
        const int64_t stretch = spryi_swept_stretch(w.position[k]);
        if (k - few < b.begin || spryi_swept_stretch(w.position[k - few]) != stretch) continue; /* most exit */
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

/* Assigns the number of sums to each row. A block of threads for each row block. */
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
    w.blocks[b.index].all_sums = (int32_t)(block.sums + all);
    w.blocks[b.index].sum_bits = spryi_swept_sum_bits(block.sums + all);
    w.blocks[b.index].extras = (int32_t)extras;
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
        r.y = next_sum == 0 ? (uint32_t)(own.sum - w.first_sum[b.index]) : w.further[own.sum] + next_sum - 1;
        records[b.begin + w.position[k]] = r;
    }
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/*
 * Returns the number of set flags of the preceding threads. Each thread has two flags. Called by a block of GROUP
 * threads.
 */
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

/* A candidate. at: position in column order. fits: its column is near the batch's base. joins: its sum is free. */
struct candidate {
    int64_t at;
    bool fits, joins;
};

/*
 * Fills the groups of a row block in order. The candidates are the entries that the previous group left, in a list,
 * followed by the next entries in column order. Each thread has two candidates, since nearly all candidates join. GROUP
 * threads for each row block.
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
    int listed = 0, next = 0, group = 0; /* listed: length of the list; next: first entry that is not yet a candidate */
    int64_t base = 0;
    for (; (listed > 0 || next < count) && group < SPRYI_SWEPT_MOST_GROUPS; group++) {
        int joined = 0, kept = 0, taken = 0; /* taken: candidates processed */
        if (!all_near && group % unroll == 0) base = column_of(w, first + (listed > 0 ? list[0] : next));
        for (bool open = true; open;) {
            candidate own[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int c = taken + EACH * (int)threadIdx.x + e;
                own[e].at = c < listed ? (int64_t)list[c] : (int64_t)next + (c - listed);
                own[e].fits = own[e].at < count && (all_near || column_of(w, first + own[e].at) - base < widest);
                const uint32_t after = own[e].at < count ? records[own[e].at].x : 0;
                /* an unassigned slot is NONE, which counts as a later group */
                own[e].joins = own[e].at < count && (after == NONE || slots[after] / GROUP < (uint32_t)group);
            }
            int joins = ones_before(own[0].joins, own[1].joins, joining), processed = 0, processed_joins = 0;
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int kept_before = EACH * (int)threadIdx.x + e - joins;
                /* processes candidates up to the first that does not fit or has no room */
                if (own[e].fits && joined + joins < GROUP && kept + kept_before < AHEAD) {
                    if (own[e].joins)
                        slots[own[e].at] = (uint32_t)group * GROUP + (uint32_t)(joined + joins);
                    else
                        left[kept + kept_before] = (uint32_t)own[e].at;
                    processed++;
                    processed_joins += own[e].joins;
                }
                joins += own[e].joins;
            }
            const int all = __syncthreads_count(processed > 0) + __syncthreads_count(processed > 1);
            const int new_joins = __syncthreads_count(processed_joins > 0) + __syncthreads_count(processed_joins > 1);
            taken += all;
            joined += new_joins;
            kept += all - new_joins;
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

/* ---- filling ------------------------------------------------------------------------------------------- */

/* Sets the bitmaps of a row block, a thread for each word. */
template <typename P> static __global__ void fill_bitmaps(const sweeping<P> w, spryi_swept_bitmap *bitmaps)
{
    const spryi_swept_block block = w.blocks[blockIdx.x];
    const int64_t *before = w.before + block.first_row;
    for (int64_t n = threadIdx.x; n * 32 < block.rows; n += blockDim.x)
        bitmaps[block.first_bitmap + n] = spryi_swept_bitmap_of(before, n * 32, block.rows);
}

/* Lists the rows with further sums. A block of threads processes one row block. */
template <typename P> static __global__ void __launch_bounds__(GROUP)
    fill_extras(const sweeping<P> w, spryi_swept_extra *extras)
{
    const int64_t b = blockIdx.x, sums = w.first_sum[b + 1] - w.first_sum[b], each = (sums + GROUP - 1) / GROUP;
    const uint32_t *sum_count = w.sum_count + w.first_sum[b], *further = w.further + w.first_sum[b];
    const int64_t begin = threadIdx.x * each, end = begin + each < sums ? begin + each : sums;
    int64_t own = 0, all;
    if (w.blocks[b].extras == 0) return;
    for (int64_t r = begin; r < end; r++) own += sum_count[r] > 1;
    extras += w.blocks[b].first_extra + sum_before(own, &all);
    for (int64_t r = begin; r < end; r++) {
        if (sum_count[r] == 1) continue;
        const spryi_swept_extra row = {(int32_t)r, (int32_t)further[r], (int32_t)sum_count[r] - 1};
        *extras++ = row;
    }
}

/* Fills slots with padding, which entries overwrite. CLEAR_PARTS blocks of threads for each row block. */
template <typename V, typename P> static __global__ void clear_slots(const sweeping<P> w, uint32_t *indices, V *values)
{
    const spryi_swept_block block = w.blocks[blockIdx.x / CLEAR_PARTS];
    const int64_t batch = GROUP * w.unroll, begin = block.first_batch * batch, end = begin + block.batches * batch;
    const uint32_t padding = spryi_swept_padding(&block);
    for (int64_t n = begin + blockIdx.x % CLEAR_PARTS * CONVERT_THREADS + threadIdx.x; n < end;
         n += CLEAR_PARTS * CONVERT_THREADS) {
        indices[n] = padding;
        if (values) values[n] = 0;
    }
}

/* Sets the base of each batch to its least column, which is the column of its first entry. */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    fill_bases(const sweeping<P> w, int64_t *__restrict__ bases)
{
    constexpr uint32_t batch = GROUP * SPRYI_SWEPT_UNROLL(V);
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    EACH_ENTRY_OF_TILE(p, t, b)
    {
        const uint32_t slot = w.slot[p];
        if (slot % batch == 0) bases[w.blocks[b.index].first_batch + slot / batch] = column_of(w, p);
    }
}

template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    fill_slots(const sweeping<P> w, const record *__restrict__ records, const V *__restrict__ Ax,
               const int64_t *__restrict__ bases, uint32_t *__restrict__ indices, V *__restrict__ values)
{
    constexpr uint32_t unroll = SPRYI_SWEPT_UNROLL(V);
    __shared__ tile t;
    open_tile(w, &t);
    own_block b = block_at(w, t.blocks[0]);
    EACH_ENTRY_OF_TILE(p, t, b)
    {
        const spryi_swept_block *block = w.blocks + b.index;
        const uint32_t slot = w.slot[p], group = slot / GROUP;
        const int64_t batch = block->first_batch + group / unroll, column = column_of(w, p);
        const int64_t to = block->first_batch * GROUP * unroll + spryi_swept_slot(group, slot % GROUP, unroll);
        indices[to] = (uint32_t)(column - bases[batch]) << block->sum_bits | records[p].y;
        if (values) values[to] = Ax[KEY_ENTRY(w.keys[p])];
    }
}

/* ---- host functions ------------------------------------------------------------------------------------- */

/* Divides one allocation into parts. If at is NULL, only adds up the sizes. */
struct carving {
    char *at;
    int64_t used;
    template <typename T> T *take(int64_t count)
    {
        T *part = at ? (T *)(at + used) : NULL;
        used += (count * (int64_t)sizeof(T) + 255) / 256 * 256;
        return part;
    }
};

/* An array in host memory, for data of blocks. */
struct host_array {
    void *at;
    host_array() : at(NULL)
    {
    }
    ~host_array()
    {
        free(at);
    }
    host_array(const host_array &) = delete;
    host_array &operator=(const host_array &) = delete;
    spry_status make(int64_t bytes, spry_error *err)
    {
        at = malloc((size_t)bytes + 1);
        return at ? SPRY_OK : spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "swept: row blocks");
    }
};

static spry_status to_host(void *to, const void *from, int64_t bytes, spry_error *err)
{
    if (bytes > 0) SPRY_CUDA_CHECK(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyDeviceToHost), "swept", err);
    return SPRY_OK;
}

static spry_status to_device(void *to, const void *from, int64_t bytes, spry_error *err)
{
    if (bytes > 0) SPRY_CUDA_CHECK(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyHostToDevice), "swept", err);
    return SPRY_OK;
}

/* State of a conversion: the storage and all scratch memory. */
template <typename P> struct swept_conversion {
    spryi_conversion *c;
    spryi_swept *s;
    sweeping<P> w;
    spryi_swept_cut *cuts; /* on the host */
    host_array cut_space, block_space, shared_space;
    scratch row_space, small_space, entry_space;
};

/* Searches for the cost of a block and cuts the rows. *count: number of blocks. The cuts are in device memory. */
template <typename P> static spry_status search_cost(const cutting<P> &c, int rounds, spryi_swept_cut *cuts,
                                                     int64_t *device_count, int64_t *count, int64_t *narrow_count,
                                                     spry_error *err)
{
    int64_t results[2]; /* [0]: number of blocks. The low half of [1]: c.blocks[0] */
    for (int round = 0; round < rounds; round++) {
        try_costs<<<NODES / WARPS, CONVERT_THREADS>>>(c, round);
        SPRY_CUDA_TRY(launched(err, "swept: costs"));
    }
    put_cuts<<<1, 32>>>(c, rounds, cuts, device_count);
    SPRY_CUDA_TRY(launched(err, "swept: cuts"));
    SPRY_CUDA_TRY(to_host(results, device_count, sizeof results, err));
    *count = results[0];
    *narrow_count = (int32_t)results[1];
    return SPRY_OK;
}

/*
 * Counts the rows with entries before each row, and finds the cuts. Copies the cuts of the s->sizes.blocks blocks to
 * the host.
 */
template <typename P> static spry_status cut_rows(swept_conversion<P> *m, spry_error *err)
{
    const spry_arrays *a = &m->c->csr;
    spryi_swept_sizes *h = &m->s->sizes;
    cutting<P> c = {};
    int64_t least = 0, count = 0, narrow_count = 0;
    SPRY_CUDA_TRY(m->row_space.make(m->c->device, (a->rows + 1) * (int64_t)sizeof(int64_t), "swept: rows", err));
    int64_t *before = (int64_t *)m->row_space.at;
    mark_rows<<<convert_blocks(a->rows + 1), CONVERT_THREADS>>>((const P *)a->offsets, a->rows, before);
    SPRY_CUDA_TRY(launched(err, "swept: rows"));
    SPRY_CUDA_TRY(spry_cuda_scan(m->c->device, before, a->rows + 1, err));
    c.Ap = (const P *)a->offsets;
    c.before = m->w.before = before;
    c.rows = a->rows;
    c.most_rows = spryi_swept_most_rows(h);
    scratch counts, cuts;
    SPRY_CUDA_TRY(
        counts.make(m->c->device, sizeof(int64_t) + ROUNDS * NODES * (int64_t)sizeof(int32_t), "swept: costs", err));
    int64_t *device_count = (int64_t *)counts.at;
    c.blocks = (int32_t *)(device_count + 1);
    if (spryi_swept_may_need_more(h)) {
        count_blocks<<<1, 32>>>(c, spryi_swept_most_cost(), device_count);
        SPRY_CUDA_TRY(launched(err, "swept: blocks"));
        SPRY_CUDA_TRY(to_host(&least, device_count, sizeof least, err));
    }
    c.search = spryi_swept_search_for(h, least);
    const int64_t wanted = c.search.wanted, widest = c.search.high;
    SPRY_CUDA_TRY(cuts.make(m->c->device, (wanted + 1) * (int64_t)sizeof(spryi_swept_cut), "swept: cuts", err));
    c.search.high = c.search.narrow;
    SPRY_CUDA_TRY(search_cost(c, 1, (spryi_swept_cut *)cuts.at, device_count, &count, &narrow_count, err));
    if (narrow_count > wanted) {
        c.search.high = widest;
        SPRY_CUDA_TRY(search_cost(c, ROUNDS, (spryi_swept_cut *)cuts.at, device_count, &count, &narrow_count, err));
    }
    if (count > wanted) return spryi_fail(err, SPRY_INTERNAL, NULL, "swept: the cuts give more blocks than requested");
    h->blocks = count;
    SPRY_CUDA_TRY(m->cut_space.make((count + 1) * (int64_t)sizeof(spryi_swept_cut), err));
    m->cuts = (spryi_swept_cut *)m->cut_space.at;
    return to_host(m->cuts, cuts.at, (count + 1) * (int64_t)sizeof(spryi_swept_cut), err);
}

/* Builds blocks and shared rows on the host, temporarily in s. Copies the parts that kernels need to the device. */
template <typename P> static spry_status put_blocks_on_device(swept_conversion<P> *m, spry_error *err)
{
    const int64_t blocks = m->s->sizes.blocks;
    host_array host_sums;
    SPRY_CUDA_TRY(m->block_space.make(blocks * (int64_t)sizeof(spryi_swept_block), err));
    SPRY_CUDA_TRY(m->shared_space.make(blocks * (int64_t)sizeof(spryi_swept_shared_row), err));
    SPRY_CUDA_TRY(host_sums.make(2 * (blocks + 1) * (int64_t)sizeof(int64_t), err));
    m->s->blocks = (spryi_swept_block *)m->block_space.at;
    m->s->shared_rows = (spryi_swept_shared_row *)m->shared_space.at;
    spryi_swept_build_blocks(m->s, m->cuts);
    int64_t *starts = (int64_t *)host_sums.at, *first_sum = starts + blocks + 1;
    first_sum[0] = 0;
    for (int64_t b = 0; b <= blocks; b++) {
        starts[b] = m->cuts[b].entry;
        if (b < blocks) first_sum[b + 1] = first_sum[b] + m->s->blocks[b].sums;
    }
    const int64_t sums = first_sum[blocks];
    carving all = {NULL, 0};
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            SPRY_CUDA_TRY(m->small_space.make(m->c->device, all.used, "swept: row blocks", err));
            all.at = (char *)m->small_space.at;
            all.used = 0;
        }
        m->w.starts = all.take<int64_t>(2 * (blocks + 1));
        m->w.blocks = all.take<spryi_swept_block>(blocks);
        m->w.most = all.take<uint32_t>(sums);
        m->w.sum_count = all.take<uint32_t>(sums);
        m->w.further = all.take<uint32_t>(sums);
    }
    m->w.first_sum = m->w.starts + blocks + 1;
    m->w.block_count = blocks;
    m->w.most_sums = spryi_swept_most_sums(m->s, m->cuts);
    SPRY_CUDA_TRY(to_device((void *)m->w.starts, host_sums.at, 2 * (blocks + 1) * (int64_t)sizeof(int64_t), err));
    SPRY_CUDA_TRY(to_device(m->w.blocks, m->s->blocks, blocks * (int64_t)sizeof(spryi_swept_block), err));
    if (sums > 0) SPRY_CUDA_CHECK(cudaMemsetAsync(m->w.most, 0, (size_t)sums * sizeof(uint32_t)), "swept", err);
    return SPRY_OK;
}

/* Sorts the entries' keys into column order in each block. *other: the unused half of the space. */
template <typename P> static spry_status order_entries(swept_conversion<P> *m, uint64_t **other, spry_error *err)
{
    sweeping<P> *w = &m->w;
    const int64_t nnz = w->nnz;
    const int column_bits = bits_of(w->cols - 1), block_bits = bits_of(w->block_count - 1);
    if (column_bits + block_bits <= KEY_BITS) {
        build_keys<<<(unsigned)ceil_div(nnz, CONVERT_TILE), CONVERT_THREADS>>>(*w, column_bits);
        SPRY_CUDA_TRY(launched(err, "swept: keys"));
        w->column_mask = (uint32_t)(((uint64_t)1 << column_bits) - 1);
        return spry_cuda_sort_keys(m->c->device, &w->keys, other, nnz, KEY_BITS, KEY_BITS + column_bits + block_bits,
                                   err);
    }
    w->column_mask = UINT32_MAX;
    SPRY_CUDA_TRY(spry_cuda_order_columns(m->c->device, &m->c->csr, 1, &w->keys, other, err));
    put_blocks<<<convert_blocks(nnz), CONVERT_THREADS>>>(*w);
    SPRY_CUDA_TRY(launched(err, "swept: keys"));
    SPRY_CUDA_TRY(spry_cuda_sort_keys(m->c->device, &w->keys, other, nnz, KEY_BITS, KEY_BITS + block_bits, err));
    put_columns<<<convert_blocks(nnz), CONVERT_THREADS>>>(*w);
    return launched(err, "swept: keys");
}

/* Finds each entry's position in column order if A's rows are not sorted. */
template <typename P> static spry_status number_unsorted(swept_conversion<P> *m, spry_error *err)
{
    const spry_arrays *a = &m->c->csr;
    scratch key_space, row_space;
    SPRY_CUDA_TRY(key_space.make(m->c->device, 2 * a->nnz * (int64_t)sizeof(uint64_t), "swept: entries", err));
    SPRY_CUDA_TRY(row_space.make(m->c->device, a->nnz * (int64_t)sizeof(int32_t), "swept: rows of entries", err));
    uint64_t *by_rows = (uint64_t *)key_space.at, *other = by_rows + a->nnz;
    SPRY_CUDA_TRY(spry_cuda_rows_of(a, (int32_t *)row_space.at, err));
    key_rows<<<convert_blocks(a->nnz), CONVERT_THREADS>>>(m->w, (const int32_t *)row_space.at, by_rows);
    SPRY_CUDA_TRY(launched(err, "swept: keys"));
    SPRY_CUDA_TRY(
        spry_cuda_sort_keys(m->c->device, &by_rows, &other, a->nnz, KEY_BITS, KEY_BITS + bits_of(a->rows - 1), err));
    number_sorted<<<(unsigned)ceil_div(a->nnz, CONVERT_TILE), CONVERT_THREADS>>>(m->w, by_rows);
    return launched(err, "swept: positions");
}

/* Sorts the keys and finds the positions of entries of sorted rows. *records: space for the records. */
template <typename P> static spry_status number_all(swept_conversion<P> *m, record **records, spry_error *err)
{
    const int64_t nnz = m->w.nnz;
    int unsorted = 0;
    scratch flag;
    SPRY_CUDA_TRY(m->entry_space.make(m->c->device, nnz * (int64_t)(2 * sizeof(uint64_t) + sizeof(uint32_t)),
                                      "swept: entries", err));
    m->w.keys = (uint64_t *)m->entry_space.at;
    uint64_t *other = m->w.keys + nnz;
    m->w.position = m->w.slot = (uint32_t *)(m->w.keys + 2 * nnz);
    SPRY_CUDA_TRY(order_entries(m, &other, err));
    static_assert(sizeof(record) == sizeof(uint64_t), "records take the position of keys");
    *records = (record *)other;
    SPRY_CUDA_TRY(flag.make(m->c->device, sizeof unsorted, "swept: order", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(flag.at, 0, sizeof unsorted), "swept: order", err);
    number_entries<<<(unsigned)ceil_div(nnz, CONVERT_TILE), CONVERT_THREADS>>>(m->w, (int *)flag.at);
    SPRY_CUDA_TRY(launched(err, "swept: positions"));
    SPRY_CUDA_TRY(to_host(&unsorted, flag.at, sizeof unsorted, err));
    return unsorted ? number_unsorted(m, err) : SPRY_OK;
}

/* Finds every entry's record and slot. Copies the completed blocks to the host. */
template <typename P> static spry_status find_slots(swept_conversion<P> *m, record **records, spry_error *err)
{
    const int64_t nnz = m->w.nnz, blocks = m->w.block_count;
    const unsigned tiles = (unsigned)ceil_div(nnz, CONVERT_TILE);
    if (blocks > INT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "swept: more blocks than a CUDA launch permits");
    if (nnz > 0) {
        SPRY_CUDA_TRY(number_all(m, records, err));
        count_nearby<<<tiles, CONVERT_THREADS>>>(m->w);
        SPRY_CUDA_TRY(launched(err, "swept: entries of rows"));
    }
    if (blocks > 0) assign_sums<<<(unsigned)blocks, GROUP>>>(m->w);
    SPRY_CUDA_TRY(launched(err, "swept: sums"));
    if (nnz > 0) {
        put_records<<<tiles, CONVERT_THREADS>>>(m->w, *records);
        SPRY_CUDA_TRY(launched(err, "swept: records"));
        SPRY_CUDA_CHECK(cudaMemsetAsync(m->w.slot, 0xff, (size_t)nnz * sizeof(uint32_t)), "swept: slots", err);
        fill_groups<<<(unsigned)blocks, GROUP>>>(m->w, *records);
        SPRY_CUDA_TRY(launched(err, "swept: groups"));
    }
    SPRY_CUDA_TRY(to_host(m->s->blocks, m->w.blocks, blocks * (int64_t)sizeof(spryi_swept_block), err));
    SPRY_CUDA_TRY(spryi_swept_count_all(m->s, err));
    return to_device(m->w.blocks, m->s->blocks, blocks * (int64_t)sizeof(spryi_swept_block), err);
}

/* Allocates the storage's arrays. Moves blocks and shared rows from the host to the device. */
static spry_status allocate(spryi_conversion *c, spryi_swept *s, spry_error *err)
{
    const spryi_swept_block *blocks = s->blocks;
    const spryi_swept_shared_row *shared_rows = s->shared_rows;
    s->blocks = NULL;
    s->shared_rows = NULL;
    SPRY_CUDA_TRY(spry_cuda_allocate_arrays(c, spryi_swept_arrays, err));
    SPRY_CUDA_TRY(to_device(s->blocks, blocks, s->sizes.blocks * (int64_t)sizeof *s->blocks, err));
    return to_device(s->shared_rows, shared_rows, s->sizes.shared_rows * (int64_t)sizeof *s->shared_rows, err);
}

template <typename V, typename P>
static spry_status fill(swept_conversion<P> *m, const record *records, spry_error *err)
{
    const spryi_swept *s = m->s;
    const unsigned blocks = (unsigned)m->w.block_count, tiles = (unsigned)ceil_div(m->w.nnz, CONVERT_TILE);
    if (blocks == 0) return SPRY_OK;
    fill_bitmaps<<<blocks, CONVERT_THREADS>>>(m->w, s->bitmaps);
    fill_extras<<<blocks, GROUP>>>(m->w, s->extras);
    SPRY_CUDA_TRY(launched(err, "swept: rows"));
    if (m->w.nnz == 0) return SPRY_OK;
    clear_slots<V><<<blocks * CLEAR_PARTS, CONVERT_THREADS>>>(m->w, s->indices, (V *)s->values);
    fill_bases<V><<<tiles, CONVERT_THREADS>>>(m->w, s->bases);
    fill_slots<V>
        <<<tiles, CONVERT_THREADS>>>(m->w, records, (const V *)m->c->csr.values, s->bases, s->indices, (V *)s->values);
    return launched(err, "swept: slots");
}

/* Builds the storage. Values are copied as bits: V is an unsigned type of their size, of 4 bytes for a pattern. */
template <typename P> static spry_status build(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_swept *s = (spryi_swept *)c->storage;
    swept_conversion<P> m = {};
    record *records = NULL;
    m.c = c;
    m.s = s;
    s->sizes = spryi_swept_sizes_of(c->request, a);
    s->types = shape_of(a);
    SPRY_CUDA_TRY(cut_rows(&m, err));
    m.w.Ap = (const P *)a->offsets;
    m.w.Aj = (const int32_t *)a->indices;
    m.w.rows = a->rows;
    m.w.cols = a->columns;
    m.w.nnz = a->nnz;
    m.w.unroll = spryi_swept_unroll(s->sizes.value_type);
    SPRY_CUDA_TRY(put_blocks_on_device(&m, err));
    SPRY_CUDA_TRY(find_slots(&m, &records, err));
    spryi_swept_cost(s, &c->cost);
    SPRY_CUDA_TRY(c->guard(c->request, "swept", &c->cost, err));
    SPRY_CUDA_TRY(allocate(c, s, err));
    SPRY_CUDA_TRY(SPRY_BY_BYTES(a->value_type, B, fill<B>(&m, records, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "swept", err); /* before scratch is freed */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    if (c->csr.nnz >= UINT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "swept: more entries than a key can number");
    return SPRY_BY_TYPE(c->csr.offset_type, P, build<P>(c, err));
}

const spryi_converter spry_cuda_to_swept = {"swept", convert};
