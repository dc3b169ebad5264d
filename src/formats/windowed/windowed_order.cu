/*
 * Orders the rows for windowed on the device: steps 1 to 4 of windowed_layout.h, with the same result as on the host.
 *
 * Idea: a hash table finds the first row of each pattern; other rows are compared with that row. Cells grow in rounds.
 *       All rounds are launched together; a round returns if the previous round set no label. Rows are sorted stably by
 *       kind and leader. The result is then sorted by kind and cell. The device computes the order with cells and the
 *       order without cells before the host chooses one. The host reads data from the device twice in total.
 * Work: 8 lanes per row. 16 blocks count the columns of a sampled window, with one bit per column.
 * Cost: columns are read three times, columns of leaders once more for cells; scratch of 80 to 110 bytes per row.
 * Source: open addressing; radix sort: CUB; this library.
 */
#include "formats/windowed/windowed_device.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <climits>

enum { PARTS = 16, MOST_RUN = SPRYI_WINDOWED_MOST_RUN, MOST_BLOCKS = 1024 };

/* Sums computed on the device. Zero at the beginning. */
struct order_sums {
    unsigned long long leaders, of_runs, long_count, long_nnz, pieces;
    unsigned long long columns[2];       /* columns of the sampled windows: [0] natural order, [1] cells */
    int seen, matching[2][MOST_RUN + 1]; /* sampled rows, and those of them that consist of runs, by [strided][run] */
    int taken[SPRYI_WINDOWED_ROUNDS];    /* nonzero: a label was set in the round */
};

static __device__ __forceinline__ int64_t row_of_lanes()
{
    return ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / ROW_LANES;
}

static inline unsigned row_blocks(int64_t rows)
{
    return convert_blocks(rows * ROW_LANES);
}

/* Returns the number of blocks for kernels that compute sums. Their threads step through all rows. */
static inline unsigned few_blocks(int64_t rows)
{
    return convert_blocks(rows) < MOST_BLOCKS ? convert_blocks(rows) : (unsigned)MOST_BLOCKS;
}

/* ---- groups ---------------------------------------------------------------------------------------------- */

/* A hash table with open addressing. The hash that equals FREE has its own slot, after all other slots. */
struct pattern_table {
    unsigned long long *hash;
    uint32_t *first; /* smallest row of each slot */
    uint64_t mask;
};
static const unsigned long long FREE = ULLONG_MAX;

static __device__ uint32_t claim_slot(const pattern_table &table, unsigned long long hash, uint32_t row)
{
    uint64_t slot = hash & table.mask;
    if (hash == FREE) slot = table.mask + 1;
    while (hash != FREE) {
        unsigned long long found = *(volatile unsigned long long *)(table.hash + slot);
        if (found == FREE) found = atomicCAS(table.hash + slot, FREE, hash);
        if (found == FREE || found == hash) break;
        slot = (slot + 1) & table.mask;
    }
    if (*(volatile uint32_t *)(table.first + slot) > row) atomicMin(table.first + slot, row);
    return (uint32_t)slot;
}

/* Sets slots[i] to the slot of the pattern of row i, NO_ROW for long rows. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    hash_rows(const windowed_csr<P> a, const pattern_table table, uint32_t *slots)
{
    const int64_t i = row_of_lanes(), begin = i < a.rows ? (int64_t)a.Ap[i] : 0;
    const int64_t length = i < a.rows ? a.length(i) : 0;
    const bool is_long = length > SPRYI_WINDOWED_LONG;
    unsigned long long hash = 0;
    for (int64_t k = threadIdx.x % ROW_LANES; !is_long && k < length; k += ROW_LANES)
        hash += spryi_windowed_hash_of_entry(k, a.Aj[begin + k]);
    hash = lanes_sum(hash, ROW_LANES);
    if (threadIdx.x % ROW_LANES > 0 || i >= a.rows) return;
    hash += spryi_windowed_hash_of_length(length);
    slots[i] = is_long ? NO_ROW : claim_slot(table, hash, (uint32_t)i);
}

/* Replaces leader[i], which holds the slot of row i, by the leader of row i. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    find_leaders(const windowed_csr<P> a, const pattern_table table, uint32_t *leader)
{
    const int64_t i = row_of_lanes();
    const uint32_t slot = i < a.rows ? leader[i] : NO_ROW, first = slot != NO_ROW ? table.first[slot] : NO_ROW;
    bool differs = false;
    if (slot != NO_ROW && first != i) {
        const int64_t length = a.length(i), begin = (int64_t)a.Ap[i], other = (int64_t)a.Ap[first];
        differs = a.length(first) != length;
        for (int64_t k = threadIdx.x % ROW_LANES; !differs && k < length; k += ROW_LANES)
            differs = a.Aj[begin + k] != a.Aj[other + k];
    }
    const unsigned own = ((1u << ROW_LANES) - 1) << (lane_of_warp() & ~(ROW_LANES - 1));
    const bool alone = (__ballot_sync(FULL_WARP, differs) & own) != 0;
    if (i < a.rows && threadIdx.x % ROW_LANES == 0) leader[i] = alone ? (uint32_t)i : first;
}

/* Adds the sum of `own` over a block's threads to *sum. */
static __device__ void add_up(unsigned long long own, unsigned long long *sum)
{
    __shared__ unsigned long long scratch[CONVERT_THREADS / 32];
    own = sum_of_block<CONVERT_THREADS>(own, scratch);
    if (threadIdx.x == 0 && own > 0) atomicAdd(sum, own);
}

template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    count_rows(const windowed_csr<P> a, const uint32_t *__restrict__ leader, order_sums *sums)
{
    unsigned long long leaders = 0, long_rows = 0, entries = 0, pieces = 0;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.rows; i += step) {
        leaders += leader[i] == i;
        if (leader[i] != NO_ROW) continue;
        long_rows++;
        entries += (unsigned long long)a.length(i);
        pieces += (unsigned long long)((a.length(i) + SPRYI_WINDOWED_PIECE - 1) / SPRYI_WINDOWED_PIECE);
    }
    add_up(leaders, &sums->leaders);
    add_up(long_rows, &sums->long_count);
    add_up(entries, &sums->long_nnz);
    add_up(pieces, &sums->pieces);
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

/* Returns true if columns of run t are `stride` apart. The row has `count` runs and starts at Aj. */
static __device__ bool is_run(const int32_t *Aj, int64_t count, int64_t t, int64_t run, int64_t stride)
{
    const int64_t first = Aj[stride == 1 ? t * run : t];
    bool is = stride == 1 || first < stride;
    for (int64_t c = 1; c < run && is; c++) is = Aj[stride == 1 ? t * run + c : c * count + t] == first + c * stride;
    return is;
}

/*
 * Returns true if the rows whose indices are the first and last column of a run belong to one group. first: the run's
 * first column. Always returns true for matrices that are not square.
 */
template <typename P> static __device__ bool joins_group(const windowed_csr<P> &a, const uint32_t *__restrict__ leader,
                                                         int64_t first, int64_t run, int64_t stride)
{
    return a.rows != a.cols || leader[first] == leader[first + (run - 1) * stride];
}

static __host__ __device__ inline bool may_have_runs(int64_t cols, int strided, int64_t run, int64_t *stride)
{
    *stride = strided ? cols / run : 1;
    return !strided || (cols % run == 0 && *stride != 1);
}

/* Counts the sampled rows, and for each run and stride the rows that consist of such runs. A warp handles one row. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    sample_runs(const windowed_csr<P> a, const uint32_t *__restrict__ leader, int64_t samples, order_sums *sums)
{
    const int64_t n = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    if (n >= samples) return;
    const int64_t i = spryi_windowed_sample(a.rows, n, samples), length = a.length(i);
    if (length == 0 || length > SPRYI_WINDOWED_LONG) return;
    const int32_t *Aj = a.Aj + a.Ap[i];
    if (lane_of_warp() == 0) atomicAdd(&sums->seen, 1);
    for (int strided = 0; strided < 2; strided++)
        for (int run = MOST_RUN; run > 1; run--) {
            int64_t stride = 1;
            if (!may_have_runs(a.cols, strided, run, &stride) || length % run != 0) continue;
            bool matches = true;
            int joined = 0;
            for (int64_t t = lane_of_warp(); t < length / run; t += LANES) {
                matches = matches && is_run(Aj, length / run, t, run, stride);
                joined += matches && joins_group(a, leader, Aj[stride == 1 ? t * run : t], run, stride);
            }
            matches = __all_sync(FULL_WARP, matches);
            joined = lanes_sum(joined, LANES);
            if (lane_of_warp() == 0 && matches && spryi_windowed_mostly_joined(length / run, joined))
                atomicAdd(&sums->matching[strided][run], 1);
        }
}

/* Sets without_runs[i] to 1 for each leader i whose columns do not form runs of this length and stride, else to 0. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    mark_without_runs(const windowed_csr<P> a, const uint32_t *__restrict__ leader, int64_t run, int64_t stride,
                      uint8_t *__restrict__ without_runs)
{
    const int64_t i = row_of_lanes();
    bool matches = true;
    if (i < a.rows && leader[i] == i) {
        const int64_t length = a.length(i);
        matches = length % run == 0;
        for (int64_t t = threadIdx.x % ROW_LANES; matches && t < length / run; t += ROW_LANES)
            matches = is_run(a.Aj + a.Ap[i], length / run, t, run, stride);
    }
    const unsigned own = ((1u << ROW_LANES) - 1) << (lane_of_warp() & ~(ROW_LANES - 1));
    const unsigned all = __ballot_sync(FULL_WARP, matches);
    if (i < a.rows && threadIdx.x % ROW_LANES == 0) without_runs[i] = (all & own) != own;
}

static __global__ void __launch_bounds__(CONVERT_THREADS)
    count_of_runs(const uint32_t *__restrict__ leader, const uint8_t *__restrict__ without_runs, int64_t rows,
                  order_sums *sums)
{
    unsigned long long of_runs = 0;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += step)
        of_runs += leader[i] != NO_ROW && !without_runs[leader[i]];
    add_up(of_runs, &sums->of_runs);
}

/* ---- cells ----------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(CONVERT_THREADS)
    choose_seeds(const uint32_t *__restrict__ leader, int64_t rows, int64_t spacing, uint64_t *__restrict__ reached)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const bool is_seed = leader[i] == i && spryi_windowed_is_seed(i, spacing);
    reached[i] = is_seed ? spryi_windowed_reached(0, (uint32_t)i) : SPRYI_WINDOWED_UNREACHED;
}

/*
 * Leaders that got a label in round `round` offer the label to the leaders of their columns. leader: NULL if every row
 * is its own leader.
 */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    offer_labels(const windowed_csr<P> a, const uint32_t *__restrict__ leader, uint64_t *reached, int round,
                 order_sums *sums)
{
    enum { AHEAD = 4 };
    __shared__ int64_t row[CONVERT_THREADS];
    __shared__ int count;
    if (round > 0 && !sums->taken[round - 1]) return;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const int64_t own = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (own < a.rows && spryi_windowed_was_reached_in(reached[own], round)) row[atomicAdd(&count, 1)] = own;
    __syncthreads();
    bool taken = false;
    for (int n = threadIdx.x / ROW_LANES; n < count; n += CONVERT_THREADS / ROW_LANES) {
        const int64_t i = row[n];
        const uint64_t offer = spryi_windowed_offer(reached[i]);
        const int64_t begin = (int64_t)a.Ap[i] + threadIdx.x % ROW_LANES, end = (int64_t)a.Ap[i + 1];
        for (int64_t k = begin; k < end; k += AHEAD * ROW_LANES) {
            uint32_t to[AHEAD];
            uint64_t state[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                to[u] = k + u * ROW_LANES < end ? (uint32_t)a.Aj[k + u * ROW_LANES] : NO_ROW;
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                if (leader && to[u] != NO_ROW) to[u] = leader[to[u]];
#pragma unroll
            for (int u = 0; u < AHEAD; u++) state[u] = to[u] != NO_ROW ? reached[to[u]] : 0;
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if (state[u] <= offer) continue;
                atomicMin((unsigned long long *)reached + to[u], (unsigned long long)offer);
                taken = true;
            }
        }
    }
    if (__syncthreads_or(taken) && threadIdx.x == 0 && !sums->taken[round]) sums->taken[round] = 1;
}

/* ---- order ----------------------------------------------------------------------------------------------- */

/* Sort key of a row: the kind, and in the low bits the cell, or the leader if reached is NULL. Long rows come last. */
struct row_keys {
    const uint32_t *leader;
    const uint64_t *reached;
    const uint8_t *without_runs; /* NULL: all rows are of one kind */
    int64_t rows, window;
    int bits; /* number of bits of a row index */
    __device__ uint32_t of(int64_t i) const
    {
        const uint32_t own = leader[i];
        if (own == NO_ROW) return (uint32_t)2 << bits;
        const uint32_t below = reached ? spryi_windowed_cell(reached[own], own, window) : own;
        return (without_runs ? (uint32_t)without_runs[own] : 0) << bits | below;
    }
};

/* Computes the sort keys of the rows. from: order of the rows; NULL: natural order. */
static __global__ void __launch_bounds__(CONVERT_THREADS)
    compute_keys(const row_keys key, const uint32_t *__restrict__ from, uint32_t *__restrict__ keys,
                 uint32_t *__restrict__ rows)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= key.rows) return;
    const uint32_t i = from ? from[n] : (uint32_t)n;
    keys[n] = key.of(i);
    rows[n] = i;
}

static __global__ void __launch_bounds__(CONVERT_THREADS) number_rows(uint32_t *__restrict__ rows, int64_t count)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) rows[i] = (uint32_t)i;
}

/*
 * Counts the distinct columns of sampled windows. A window has PARTS blocks. blockIdx.y: window. blockIdx.z: order (0:
 * natural, 1: cells). seen: `size` words for each window and order, one bit per column.
 */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    sample_windows(const windowed_csr<P> a, const uint32_t *__restrict__ leader, const uint32_t *__restrict__ natural,
                   const uint32_t *__restrict__ in_cells, int64_t count, int64_t window, uint32_t *seen, int64_t size,
                   order_sums *sums)
{
    const uint32_t *rows = blockIdx.z == 0 ? natural : in_cells;
    const int64_t step = (int64_t)gridDim.x * (CONVERT_THREADS / ROW_LANES);
    const int64_t first = spryi_windowed_sample(count / window, blockIdx.y, SPRYI_WINDOWED_SAMPLED) * window;
    unsigned long long found = 0;
    seen += (int64_t)(blockIdx.z * SPRYI_WINDOWED_SAMPLED + blockIdx.y) * size;
    for (int64_t n = row_of_lanes(); n < window; n += step) {
        const uint32_t own = leader[rows[first + n]];
        if (n > 0 && leader[rows[first + n - 1]] == own) continue;
        for (int64_t k = (int64_t)a.Ap[own] + threadIdx.x % ROW_LANES; k < (int64_t)a.Ap[own + 1]; k += ROW_LANES) {
            const int32_t j = a.Aj[k];
            const uint32_t bit = 1u << (j % 32);
            if (!(seen[j / 32] & bit)) found += !(atomicOr(seen + j / 32, bit) & bit);
        }
    }
    add_up(found, &sums->columns[blockIdx.z]);
}

/* ---- the host's side ------------------------------------------------------------------------------------- */

/* State of the steps. key_space first holds the table of patterns, later the arrays of mark_kinds. */
template <typename P> struct ordering {
    spryi_conversion *c;
    spryi_windowed *s;
    windowed_order *o;
    windowed_csr<P> a;
    scratch sum_space, key_space, sort_space, seen_space; /* freed when the device has finished */
    size_t sort_bytes;
    order_sums *sums, read; /* on the device, and on the host */
    uint32_t *rows[3];      /* arrays for sorting rows */
    uint32_t *keys[2];
    uint64_t *reached;
    uint8_t *without_runs; /* NULL: run is 1 */
};

/* Bytes of key_space per row: two keys, the row's state, the row's kind. */
enum { KEY_BYTES = 2 * sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint8_t) };

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

template <typename P> static spry_status read_sums(ordering<P> *m, spry_error *err)
{
    SPRY_CUDA_CHECK(cudaMemcpy(&m->read, m->sums, sizeof m->read, cudaMemcpyDeviceToHost), "windowed: sums", err);
    return SPRY_OK;
}

template <typename P> static spry_status find_groups(ordering<P> *m, spry_error *err)
{
    const int64_t rows = m->a.rows, samples = rows < SPRYI_WINDOWED_SAMPLES ? rows : (int64_t)SPRYI_WINDOWED_SAMPLES;
    windowed_order *o = m->o;
    int64_t slots = 16;
    while (slots < 2 * rows) slots *= 2;
    const int64_t hash_bytes = (slots + 1) * (int64_t)sizeof(uint64_t);
    const int64_t first_bytes = (slots + 1) * (int64_t)sizeof(uint32_t);
    SPRY_CUDA_TRY(o->space.make(m->c->device, 4 * rows * (int64_t)sizeof(uint32_t), "windowed: rows", err));
    SPRY_CUDA_TRY(
        m->key_space.make(m->c->device, larger(hash_bytes + first_bytes, KEY_BYTES * rows), "windowed: patterns", err));
    SPRY_CUDA_TRY(m->sum_space.make(m->c->device, sizeof(order_sums), "windowed: sums", err));
    m->sums = (order_sums *)m->sum_space.at;
    o->leader = (uint32_t *)o->space.at;
    for (int n = 0; n < 3; n++) m->rows[n] = o->leader + (n + 1) * rows;
    const pattern_table table = {(unsigned long long *)m->key_space.at,
                                 (uint32_t *)((char *)m->key_space.at + hash_bytes), (uint64_t)slots - 1};
    SPRY_CUDA_CHECK(cudaMemsetAsync(m->sums, 0, sizeof(order_sums)), "windowed: sums", err);
    SPRY_CUDA_CHECK(cudaMemsetAsync(m->key_space.at, 0xff, (size_t)(hash_bytes + first_bytes)), "windowed: patterns",
                    err);
    hash_rows<<<row_blocks(rows), CONVERT_THREADS>>>(m->a, table, o->leader);
    SPRY_CUDA_TRY(launched(err, "windowed: patterns"));
    find_leaders<<<row_blocks(rows), CONVERT_THREADS>>>(m->a, table, o->leader);
    SPRY_CUDA_TRY(launched(err, "windowed: leaders"));
    count_rows<<<few_blocks(rows), CONVERT_THREADS>>>(m->a, o->leader, m->sums);
    SPRY_CUDA_TRY(launched(err, "windowed: leaders"));
    sample_runs<<<convert_blocks(samples * LANES), CONVERT_THREADS>>>(m->a, o->leader, samples, m->sums);
    SPRY_CUDA_TRY(launched(err, "windowed: samples"));
    SPRY_CUDA_TRY(read_sums(m, err));
    o->long_count = (int64_t)m->read.long_count;
    o->long_nnz = (int64_t)m->read.long_nnz;
    o->piece_count = (int64_t)m->read.pieces;
    o->count = o->of_runs = rows - o->long_count;
    return SPRY_OK;
}

template <typename P> static void choose_run(ordering<P> *m)
{
    m->s->run = m->s->stride = 1;
    if (!spryi_windowed_has_groups((int64_t)m->read.leaders, m->o->count)) return;
    for (int strided = 0; strided < 2; strided++)
        for (int64_t run = MOST_RUN; run > 1; run--) {
            int64_t stride = 1;
            if (!may_have_runs(m->a.cols, strided, run, &stride)) continue;
            if (!spryi_windowed_mostly_runs(m->read.seen, m->read.matching[strided][run])) continue;
            m->s->run = run;
            m->s->stride = stride;
            return;
        }
}

/* Sets the arrays in key_space. Computes the kinds of rows if there are rows of runs. */
template <typename P> static spry_status mark_kinds(ordering<P> *m, spry_error *err)
{
    const int64_t rows = m->a.rows;
    m->reached = (uint64_t *)m->key_space.at;
    m->keys[0] = (uint32_t *)(m->reached + rows);
    m->keys[1] = m->keys[0] + rows;
    if (m->s->run == 1) return SPRY_OK;
    m->without_runs = (uint8_t *)(m->keys[1] + rows);
    mark_without_runs<<<row_blocks(rows), CONVERT_THREADS>>>(m->a, m->o->leader, m->s->run, m->s->stride,
                                                             m->without_runs);
    SPRY_CUDA_TRY(launched(err, "windowed: runs"));
    count_of_runs<<<few_blocks(rows), CONVERT_THREADS>>>(m->o->leader, m->without_runs, rows, m->sums);
    return launched(err, "windowed: runs");
}

/* Computes the state of each leader. */
template <typename P> static spry_status find_cells(ordering<P> *m, spry_error *err)
{
    const int64_t rows = m->a.rows;
    const int64_t spacing = spryi_windowed_spacing(m->s->window, (int64_t)m->read.leaders, m->o->count);
    const uint32_t *leader = (int64_t)m->read.leaders == rows ? NULL : m->o->leader;
    choose_seeds<<<convert_blocks(rows), CONVERT_THREADS>>>(m->o->leader, rows, spacing, m->reached);
    SPRY_CUDA_TRY(launched(err, "windowed: seeds"));
    for (int round = 0; round < SPRYI_WINDOWED_ROUNDS; round++) {
        offer_labels<<<convert_blocks(rows), CONVERT_THREADS>>>(m->a, leader, m->reached, round, m->sums);
        SPRY_CUDA_TRY(launched(err, "windowed: cells"));
    }
    return SPRY_OK;
}

/*
 * Sorts the rows by kind and cell, or by kind and leader if reached is NULL, into *first. Rows with equal keys keep the
 * order `from` (NULL: natural order). *first and *second may be swapped.
 */
template <typename P> static spry_status sort_rows(ordering<P> *m, const uint64_t *reached, const uint32_t *from,
                                                   uint32_t **first, uint32_t **second, spry_error *err)
{
    const int64_t rows = m->a.rows;
    const int bits = bits_of(rows - 1), end = bits + 2;
    const row_keys key = {m->o->leader, reached, m->without_runs, rows, m->s->window, bits};
    compute_keys<<<convert_blocks(rows), CONVERT_THREADS>>>(key, from, m->keys[0], *first);
    SPRY_CUDA_TRY(launched(err, "windowed: keys"));
    cub::DoubleBuffer<uint32_t> keys(m->keys[0], m->keys[1]);
    cub::DoubleBuffer<uint32_t> sorted(*first, *second);
    if (!m->sort_space.at) {
        SPRY_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(NULL, m->sort_bytes, keys, sorted, rows, 0, end),
                        "windowed: sort", err);
        SPRY_CUDA_TRY(m->sort_space.make(m->c->device, (int64_t)m->sort_bytes, "sorting", err));
    }
    SPRY_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(m->sort_space.at, m->sort_bytes, keys, sorted, rows, 0, end),
                    "windowed: sort", err);
    *first = sorted.Current();
    *second = sorted.Alternate();
    return launched(err, "windowed: sort");
}

/* Sorts the rows by kind and leader into *first. *first and *second may be swapped. */
template <typename P>
static spry_status sort_naturally(ordering<P> *m, uint32_t **first, uint32_t **second, spry_error *err)
{
    if (m->without_runs || (int64_t)m->read.leaders < m->a.rows) return sort_rows(m, NULL, NULL, first, second, err);
    number_rows<<<convert_blocks(m->a.rows), CONVERT_THREADS>>>(*first, m->a.rows);
    return launched(err, "windowed: rows");
}

/* Counts the columns of the sampled windows in natural order and in cells. */
template <typename P>
static spry_status sample_orders(ordering<P> *m, const uint32_t *natural, const uint32_t *in_cells, spry_error *err)
{
    const int64_t size = ceil_div(m->a.cols, 32), bytes = 2 * SPRYI_WINDOWED_SAMPLED * size * (int64_t)sizeof(uint32_t);
    const dim3 blocks(PARTS, SPRYI_WINDOWED_SAMPLED, 2);
    SPRY_CUDA_TRY(m->seen_space.make(m->c->device, bytes, "windowed: columns", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(m->seen_space.at, 0, (size_t)bytes), "windowed: columns", err);
    sample_windows<<<blocks, CONVERT_THREADS>>>(m->a, m->o->leader, natural, in_cells, m->o->count, m->s->window,
                                                (uint32_t *)m->seen_space.at, size, m->sums);
    return launched(err, "windowed: samples");
}

template <typename P> static spry_status order_rows(ordering<P> *m, spry_error *err)
{
    const int64_t asked = m->c->request->parameters[SPRYI_WINDOWED_ASKED_ORDER];
    const bool may = spryi_windowed_may_have_cells(m->a.rows, m->a.cols, m->o->count, m->s->window, asked);
    uint32_t *natural = m->rows[0], *spare = m->rows[1], *in_cells = m->rows[2];
    SPRY_CUDA_TRY(sort_naturally(m, &natural, &spare, err));
    if (may) {
        SPRY_CUDA_TRY(find_cells(m, err));
        SPRY_CUDA_TRY(sort_rows(m, m->reached, natural, &in_cells, &spare, err));
    }
    if (may && asked == 0) SPRY_CUDA_TRY(sample_orders(m, natural, in_cells, err));
    if (m->without_runs || (may && asked == 0)) SPRY_CUDA_TRY(read_sums(m, err));
    if (m->without_runs) m->o->of_runs = (int64_t)m->read.of_runs;
    m->s->cells = may &&
                  (asked != 0 || spryi_windowed_cells_pay((int64_t)m->read.columns[1], (int64_t)m->read.columns[0]));
    m->o->rows = m->s->cells ? in_cells : natural;
    return SPRY_OK;
}

template <typename P> static spry_status build_order(spryi_conversion *c, windowed_order *order, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    ordering<P> m = {};
    m.c = c;
    m.s = (spryi_windowed *)c->storage;
    m.o = order;
    m.a = {(const P *)a->offsets, (const int32_t *)a->indices, a->rows, a->columns};
    SPRY_CUDA_TRY(find_groups(&m, err));
    choose_run(&m);
    SPRY_CUDA_TRY(mark_kinds(&m, err));
    SPRY_CUDA_TRY(order_rows(&m, err));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "windowed: order", err); /* before the scratch is freed */
    return SPRY_OK;
}

spry_status spry_cuda_windowed_order(spryi_conversion *c, windowed_order *order, spry_error *err)
{
    spryi_windowed *s = (spryi_windowed *)c->storage;
    s->run = s->stride = 1;
    if (c->csr.rows == 0) return SPRY_OK;
    return SPRY_BY_TYPE(c->csr.offset_type, P, build_order<P>(c, order, err));
}
