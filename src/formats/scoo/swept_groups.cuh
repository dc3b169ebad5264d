/* Where every entry of a row block goes: the order of columns, sums, groups; included by swept_convert.cu. */
#ifndef SPRY_SWEPT_GROUPS_CUH
#define SPRY_SWEPT_GROUPS_CUH

#include "formats/scoo/swept_cuts.cuh"

enum { GROUP = SPRYI_SWEPT_THREADS, AHEAD = SPRYI_SWEPT_AHEAD };
#define NONE UINT32_MAX

/* What all the kernels look at. */
template <typename P> struct sweeping {
    const P *Ap;
    const int32_t *Aj;
    const int64_t *before;
    int64_t rows, nnz, block_count;
    const int64_t *starts;     /* block_count + 1: entries */
    const int64_t *first_sum;  /* block_count + 1: rows with entries, those of every block */
    spryi_swept_block *blocks; /* longs, sums and batches are filled in */
    int64_t unroll, most_sums;
    uint32_t *most;            /* a row with entries: those in the stretch where it has most, 0: few */
    uint32_t *turns, *further; /* its sums, and the second of them */
    uint32_t *place;           /* an entry, rows sorted: which one of its block's in the order of columns */
    uint32_t *slot;            /* an entry in the order of columns: group * GROUP + place in it, NONE: not yet */
};

/* An entry in the order of columns: the one that its group comes after, column, sum and number in A. */
typedef uint4 record;

/* A row's entries in a block; `sum` counts over all blocks. */
struct piece {
    int64_t begin, end, sum;
};

template <typename P> static __device__ __forceinline__ piece piece_of(const sweeping<P> &w, int64_t block, int64_t row)
{
    const int64_t begin = w.starts[block], end = w.starts[block + 1];
    piece p;
    p.begin = (int64_t)w.Ap[row] > begin ? (int64_t)w.Ap[row] : begin;
    p.end = (int64_t)w.Ap[row + 1] < end ? (int64_t)w.Ap[row + 1] : end;
    p.sum = w.first_sum[block] + w.before[row] - w.before[w.blocks[block].first_row];
    return p;
}

/* The tiles of kernels that are cut by entries: rows and blocks between which their entries lie. */
template <typename P> struct tile {
    int64_t begin, end, rows[2], blocks[2];
};

template <typename P> static __device__ void open_tile(const sweeping<P> &w, tile<P> *t)
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

template <typename P>
static __device__ __forceinline__ int64_t row_in_tile(const sweeping<P> &w, const tile<P> &t, int64_t k)
{
    return owner_of(w.Ap, t.rows[0], t.rows[1] + 1, k);
}

template <typename P>
static __device__ __forceinline__ int64_t block_in_tile(const sweeping<P> &w, const tile<P> &t, int64_t k)
{
    return owner_of(w.starts, t.blocks[0], t.blocks[1] + 1, k);
}

#define EACH_ENTRY_OF_TILE(k, t) for (int64_t k = (t).begin + threadIdx.x; k < (t).end; k += CONVERT_THREADS)

/* ---- the order of columns ------------------------------------------------------------------------------ */

/* Columns in keys give way to blocks. */
template <typename P> static __global__ void put_blocks(const sweeping<P> w, uint64_t *keys)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= w.nnz) return;
    const uint32_t k = KEY_ENTRY(keys[p]);
    keys[p] = (uint64_t)owner_of(w.starts, 0, w.block_count, (int64_t)k) << KEY_BITS | k;
}

/* Where the entries went, rows sorted; *unsorted becomes 1 where they are not. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    place_entries(const sweeping<P> w, const uint64_t *__restrict__ keys, int *unsorted)
{
    __shared__ tile<P> t;
    open_tile(w, &t);
    bool falls = false;
    EACH_ENTRY_OF_TILE(k, t)
    {
        const int64_t row = row_in_tile(w, t, k);
        falls |= k > (int64_t)w.Ap[row] && w.Aj[k] < w.Aj[k - 1];
        /* the keys of a block are in its entries' places */
        w.place[KEY_ENTRY(keys[k])] = (uint32_t)(k - w.starts[block_in_tile(w, t, k)]);
    }
    if (falls) *unsorted = 1;
}

/* Keys by rows instead, of the entries in the order of columns. */
static __global__ void key_rows(const uint64_t *__restrict__ keys, const int32_t *__restrict__ row_of, int64_t nnz,
                                uint64_t *__restrict__ by_rows)
{
    const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < nnz) by_rows[p] = (uint64_t)(uint32_t)row_of[KEY_ENTRY(keys[p])] << KEY_BITS | (uint64_t)p;
}

/* The same as place_entries, of entries whose rows have been sorted. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    place_sorted(const sweeping<P> w, const uint64_t *__restrict__ by_rows)
{
    __shared__ tile<P> t;
    open_tile(w, &t);
    EACH_ENTRY_OF_TILE(k, t) w.place[k] = KEY_ENTRY(by_rows[k]) - (uint32_t)w.starts[block_in_tile(w, t, k)];
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* Where a row has more entries in a stretch than a sum serves: how many, at the last of each stretch. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS) count_nearby(const sweeping<P> w)
{
    __shared__ tile<P> t;
    open_tile(w, &t);
    EACH_ENTRY_OF_TILE(k, t)
    {
        const int64_t b = block_in_tile(w, t, k), begin = w.starts[b], end = w.starts[b + 1];
        const int64_t few = spryi_swept_first_share(end - begin, w.unroll).near;
        const int64_t stretch = spryi_swept_stretch(w.place[k]);
        if (k - few < begin || spryi_swept_stretch(w.place[k - few]) != stretch) continue; /* most end here */
        const piece own = piece_of(w, b, row_in_tile(w, t, k));
        if (k - few < own.begin || (k + 1 < own.end && spryi_swept_stretch(w.place[k + 1]) == stretch)) continue;
        int64_t low = own.begin, high = k - few; /* the row's first entry in the stretch */
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (spryi_swept_stretch(w.place[middle]) < stretch)
                low = middle + 1;
            else
                high = middle;
        }
        atomicMax(w.most + own.sum, (uint32_t)(k - low + 1));
    }
}

/* For a block of GROUP threads: the sum of what the threads before have; *total that of all. */
static __device__ int64_t sum_before(int64_t own, int64_t *total)
{
    __shared__ int64_t of_warp[GROUP / 32];
    const int lane = lane_of_warp(), warp = threadIdx.x / 32;
    int64_t sum = own, warps;
    for (int step = 1; step < 32; step *= 2) {
        const int64_t lower = __shfl_up_sync(FULL_WARP, sum, step);
        sum += lane >= step ? lower : 0;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    warps = of_warp[lane];
    for (int step = 1; step < 32; step *= 2) {
        const int64_t lower = __shfl_up_sync(FULL_WARP, warps, step);
        warps += lane >= step ? lower : 0;
    }
    *total = __shfl_sync(FULL_WARP, warps, 31);
    const int64_t before = __shfl_sync(FULL_WARP, warps, warp > 0 ? warp - 1 : 0);
    __syncthreads(); /* of_warp may be written again */
    return (warp > 0 ? before : 0) + sum - own;
}

/* A thread's rows of a block. */
struct share_of_rows {
    int64_t begin, end;
};

static __device__ share_of_rows rows_of_thread(const spryi_swept_block &block)
{
    const int64_t each = (block.rows + GROUP - 1) / GROUP, last = block.first_row + block.rows;
    share_of_rows own;
    own.begin = block.first_row + threadIdx.x * each;
    own.end = own.begin + each;
    if (own.begin > last) own.begin = last;
    if (own.end > last) own.end = last;
    return own;
}

template <typename P> static __device__ int64_t turns_of(const sweeping<P> &w, const piece &p, spryi_swept_share share)
{
    return spryi_swept_turns(p.end - p.begin, w.most[p.sum], &share);
}

/* A block of threads a row block: how many sums each row has. */
template <typename P> static __global__ void __launch_bounds__(GROUP) share_sums(const sweeping<P> w)
{
    const int64_t b = blockIdx.x;
    const spryi_swept_block block = w.blocks[b];
    const share_of_rows own = rows_of_thread(block);
    spryi_swept_share share = spryi_swept_first_share(w.starts[b + 1] - w.starts[b], w.unroll);
    int64_t further, longs, all;
    for (;; share.most *= 2, share.near *= 2) {
        further = longs = 0;
        for (int64_t i = own.begin; i < own.end; i++) {
            const piece p = piece_of(w, b, i);
            const int64_t turns = p.begin < p.end ? turns_of(w, p, share) : 1;
            further += turns - 1;
            longs += turns > 1;
        }
        further = block.sums + sum_before(further, &all);
        (void)sum_before(longs, &longs);
        if (block.sums + all <= w.most_sums || longs == 0) break;
    }
    for (int64_t i = own.begin; i < own.end; i++) {
        const piece p = piece_of(w, b, i);
        if (p.begin >= p.end) continue;
        const int64_t turns = turns_of(w, p, share);
        w.turns[p.sum] = (uint32_t)turns;
        w.further[p.sum] = (uint32_t)further;
        further += turns - 1;
    }
    if (threadIdx.x > 0) return;
    w.blocks[b].all_sums = (int32_t)(block.sums + all);
    w.blocks[b].sum_bits = spryi_swept_sum_bits(block.sums + all);
    w.blocks[b].longs = (int32_t)longs;
}

/* stream: which entry of A each is in the order of columns, where rows were not sorted; else NULL. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    put_records(const sweeping<P> w, const uint64_t *__restrict__ stream, record *__restrict__ records)
{
    __shared__ tile<P> t;
    open_tile(w, &t);
    EACH_ENTRY_OF_TILE(k, t)
    {
        const int64_t b = block_in_tile(w, t, k);
        const piece own = piece_of(w, b, row_in_tile(w, t, k));
        const uint32_t turns = w.turns[own.sum], turn = (uint32_t)(k - own.begin) % turns;
        const int64_t at = w.starts[b] + w.place[k];
        const uint32_t entry = stream ? KEY_ENTRY(stream[at]) : (uint32_t)k;
        record r;
        r.x = k - own.begin >= turns ? w.place[k - turns] : NONE;
        r.y = (uint32_t)w.Aj[entry];
        r.z = turn == 0 ? (uint32_t)(own.sum - w.first_sum[b]) : w.further[own.sum] + turn - 1;
        r.w = entry;
        records[at] = r;
    }
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/*
 * By a block of GROUP threads: group by group. Candidates are those that the group before has left, which lie in a list,
 * and then the next in the order of columns.
 */
template <typename P> static __global__ void __launch_bounds__(GROUP)
    fill_groups(const sweeping<P> w, const record *__restrict__ all_records)
{
    __shared__ uint32_t lists[2][AHEAD];
    __shared__ int joining[GROUP / 32];
    const int64_t b = blockIdx.x, first = w.starts[b];
    const int count = (int)(w.starts[b + 1] - first), lane = lane_of_warp(), warp = threadIdx.x / 32;
    const int64_t widest = (int64_t)1 << (32 - w.blocks[b].sum_bits), unroll = w.unroll;
    const record *records = all_records + first;
    uint32_t *slots = w.slot + first;
    uint32_t *list = lists[0], *left = lists[1];
    int listed = 0, next = 0, group = 0; /* listed: of the list; next: not looked at yet */
    int64_t base = 0;
    for (; (listed > 0 || next < count) && group < SPRYI_SWEPT_MOST_GROUPS; group++) {
        int joined = 0, kept = 0, taken = 0; /* taken: candidates that were looked at */
        if (group % unroll == 0) base = (int64_t)records[listed > 0 ? list[0] : next].y;
        for (bool open = true; open;) {
            const int c = taken + (int)threadIdx.x;
            const int64_t at = c < listed ? (int64_t)list[c] : (int64_t)next + (c - listed);
            bool fits = false, joins = false;
            if (at < count) {
                const record r = records[at];
                fits = (int64_t)r.y - base < widest;
                joins = r.x == NONE || slots[r.x] / GROUP < (uint32_t)group; /* NONE is past all groups */
            }
            const unsigned mask = __ballot_sync(FULL_WARP, joins);
            if (lane == 0) joining[warp] = __popc(mask);
            __syncthreads();
            int before = joining[lane], own = 0;
            for (int step = 1; step < 32; step *= 2) {
                const int lower = __shfl_up_sync(FULL_WARP, before, step);
                before += lane >= step ? lower : 0;
            }
            own = __shfl_sync(FULL_WARP, before, warp > 0 ? warp - 1 : 0);
            own = (warp > 0 ? own : 0) + __popc(mask & ((1u << lane) - 1));
            /* the first candidates, up to one that is too far, or for which there is no place */
            const int stays = (int)threadIdx.x - own;
            const bool looked_at = fits && joined + own < GROUP && kept + stays < AHEAD;
            if (looked_at && joins) slots[at] = (uint32_t)group * GROUP + joined + own;
            if (looked_at && !joins) left[kept + stays] = (uint32_t)at;
            const int all = __syncthreads_count(looked_at), of_them = __syncthreads_count(looked_at && joins);
            taken += all;
            joined += of_them;
            kept += all - of_them;
            open = all == GROUP && joined < GROUP && kept < AHEAD;
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

#endif
