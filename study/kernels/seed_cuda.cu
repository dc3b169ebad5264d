/*
 * spgemm_seed_*_cuda: kernels of study 002 (Rose, GPU Sparse Matrix Multiplication with CUDA, 2013).
 * With reset=printed, spgemm_seed_getvals_cuda runs the listings of GetNNZ and GetVals. With reset=repaired, GetVals
 * clears each element of its table once (seed_listings.cuh). Other settings run the repaired method with parameters for
 * the improvements that the paper's conclusion proposes. spgemm_seed_together_cuda has all of them.
 *
 * Idea: GetNNZ marks the columns of a row of C in a table of all columns and counts them. A scan computes offsets.
 *       GetVals keeps the position of each column's entry in a table of all columns, and takes the next position
 *       (atomicInc) for a new column. SortCols sorts each row in place by radix, with a queue of buckets.
 * Work: one group of threads with one table computes a row of C. The group processes one row of B at a time, so two
 *       threads never update the same entry. A block has one group, or more (rows=N). Rows are assigned to groups in
 *       advance, or a group that has finished its rows claims the next N rows by atomicAdd (claim=N).
 * Cost: with reset=all, tables are cleared for each row, which costs rows times columns. GetNNZ skips rows of A without
 *       entries. With reset=touched, each row clears only the table entries that were used for that row, and all tables
 *       are cleared once. A table has `cols` elements per group, so less memory allows fewer blocks. SortCols: one
 *       thread sorts a bucket. The number of threads is the largest number of buckets of a row, longest row / 2 + 1, in
 *       whole warps, 32 to 256 (the paper: "a number of threads based on maxRowNNZ").
 * Source: seed 002, section 4; together: section 6.
 * Differences of SortCols from the listing:
 *   The paper does not state RADIX_BITS; here it is 4. Rows with one entry are skipped, too.
 *   The listing's threads race. Here all threads read their buckets before any bucket is added, and a barrier separates
 *   rows.
 *   If the number of columns is a power of 16, the listing begins with a digit that is always 0. Only reset=printed and
 *   reset=repaired have this pass.
 *   Buckets are filled from their fronts, in the order of digits, instead of from their ends. The queue counts buckets
 *   and takes remainders, instead of wrapping its ends. It is not cleared. Nothing is added after the last digit.
 * Differences of GetNNZ and GetVals with other settings, in addition to seed_listings.cuh: threads stride by their
 *   number, all counts are added up, and counts are kept in registers. Branches replace the selected addresses. The
 *   first product of an entry is stored, so C's values are not cleared. Barriers depend on the group's size.
 * Differences of all settings: a scan of CUB replaces Thrust's. Entries with value 0 are kept, as by the listings. The
 *   order of a row's entries is not fixed, but the order of each sum is, so sorted rows are equal bit for bit.
 */
#include "study/kernels/seed_listings.cuh"

extern "C" {
#include "study/kernels/seeds.h"
}

#include <cub/device/device_scan.cuh>
#include <stdlib.h>

enum { RADIX_BITS = 4, RADIX_BASE = 1 << RADIX_BITS, SORT_MOST = 256, MOST_THREADS = 1024, MOST_GROUPS = 32 };

/* Parameters of the kernels. */
struct seed_way {
    int rows;           /* groups per block, each with a row and a table */
    int lanes;          /* threads per group in GetVals, a power of two */
    int count;          /* threads per group in GetNNZ, a power of two */
    int blocks;         /* blocks per multiprocessor */
    int claim;          /* rows that a group claims at a time; 0: rows are assigned in advance */
    int sort;           /* threads of SortCols; 0: computed from the longest row */
    bool reset_touched; /* clears only the table entries that a row used */
    bool listed;        /* runs the listings of GetNNZ and GetVals */
    bool repaired;      /* the listing of GetVals clears each element once */
};

enum seed_mark { AT_COUNT, AT_COUNTED, AT_SCAN, AT_SCANNED, AT_FILL, AT_FILLED, AT_SORTED };

struct seed_state {
    seed_way way;
    int blocks, rows, sort_blocks, sort_threads;
    /* In device memory. [0]: entries of C's longest row. [1]: number of claimed rows. [8]: multiplications. */
    unsigned *longest;
    /* In device memory. table: one table per group; with reset_touched, all elements are -1 between rows. */
    int32_t *table, *counts, *queue;
    int64_t queue_length, queue_bytes, workspace_bytes;
    void *workspace;
    stage_clock clock;
};

/* The threads that process one row. */
struct seed_group {
    int own, lane, lanes; /* own: index of the group in the block */
    unsigned mask;        /* the group's threads in their warp, as bits; all 32 if the group is larger */
};

static __device__ __forceinline__ seed_group group_of(int lanes)
{
    const int in_warp = threadIdx.x % 32;
    const unsigned all = lanes < 32 ? (1u << lanes) - 1 : 0xffffffffu;
    const seed_group g = {(int)threadIdx.x / lanes, (int)threadIdx.x % lanes, lanes, all << (in_warp / lanes * lanes)};
    return g;
}

/* Synchronizes a group. Each group larger than a warp has its own hardware barrier. A block has at most 16 barriers. */
static __device__ __forceinline__ void group_barrier(const seed_group &g)
{
    if (g.lanes <= 32)
        __syncwarp(g.mask);
    else
        asm volatile("bar.sync %0, %1;" : : "r"(g.own), "r"(g.lanes) : "memory");
}

/* The group's current row, and the end of the rows that the group last claimed by atomicAdd. */
struct row_cursor {
    int row, end;
};

/* Advances to the group's next row, or to -1 if none is left. groups: number of groups in all blocks. */
static __device__ __forceinline__ void next_row(row_cursor *cursor, const seed_group &g, int claim, int groups,
                                                int rows, unsigned *claimed, int *shared_row)
{
    if (claim == 0) {
        cursor->row = cursor->row + groups < rows ? cursor->row + groups : -1;
        return;
    }
    if (++cursor->row < cursor->end) return;
    group_barrier(g);
    if (g.lane == 0) *shared_row = (int)atomicAdd(claimed, (unsigned)claim);
    group_barrier(g);
    const int first = *shared_row;
    cursor->end = first + claim < rows ? first + claim : rows;
    cursor->row = first < rows ? first : -1;
}

/* Advances to the group's first row. number: index of the group in all blocks. */
static __device__ __forceinline__ void first_row(row_cursor *cursor, const seed_group &g, int claim, int number,
                                                 int groups, int rows, unsigned *claimed, int *shared_row)
{
    cursor->row = claim == 0 ? number - groups : -1;
    cursor->end = 0;
    next_row(cursor, g, claim, groups, rows, claimed, shared_row);
}

/* ---- GetNNZ ------------------------------------------------------------------------------------------- */

/* SET: marks the columns of the row of C in `table` and returns how many this thread marked. Else clears the marks. */
template <bool SET> static __device__ int mark_columns(const seed_rows &r, int row, const seed_group &g, int32_t *table)
{
    int count = 0;
    for (int64_t k = r.A.p.get(r.first + row); k < r.A.p.get(r.first + row + 1); k++) {
        const int64_t i = __ldg(r.A.j + k), end = r.B.p.get(i + 1);
        for (int64_t e = r.B.p.get(i) + g.lane; e < end; e += g.lanes) {
            const int32_t j = __ldg(r.B.j + e);
            if (SET) count += table[j] == -1;
            table[j] = SET ? 1 : -1;
        }
        group_barrier(g);
    }
    return count;
}

static __global__ void __launch_bounds__(MOST_THREADS)
    get_nnz(seed_rows r, seed_way way, int32_t *tables, int32_t *counts, unsigned *longest, unsigned *claimed)
{
    __shared__ int of_thread[MOST_THREADS], shared_row[MOST_GROUPS];
    const seed_group g = group_of(way.count);
    const int number = blockIdx.x * way.rows + g.own, groups = gridDim.x * way.rows;
    int32_t *table = tables + (int64_t)number * r.B.cols;
    row_cursor cursor;
    first_row(&cursor, g, way.claim, number, groups, r.rows, claimed, &shared_row[g.own]);
    while (cursor.row >= 0) {
        if (r.A.p.get(r.first + cursor.row) == r.A.p.get(r.first + cursor.row + 1)) {
            group_barrier(g); /* counts has been cleared */
            next_row(&cursor, g, way.claim, groups, r.rows, claimed, &shared_row[g.own]);
            continue;
        }
        if (!way.reset_touched) {
            for (int64_t j = g.lane; j < r.B.cols; j += g.lanes) table[j] = -1;
            group_barrier(g);
        }
        of_thread[threadIdx.x] = mark_columns<true>(r, cursor.row, g, table);
        group_barrier(g);
        if (g.lane == 0) {
            int nnz = 0;
            for (int t = 0; t < g.lanes; t++) nnz += of_thread[g.own * g.lanes + t];
            counts[cursor.row] = nnz;
            atomicMax(longest, (unsigned)nnz);
        }
        if (way.reset_touched) (void)mark_columns<false>(r, cursor.row, g, table);
        group_barrier(g);
        next_row(&cursor, g, way.claim, groups, r.rows, claimed, &shared_row[g.own]);
    }
}

/* ---- GetVals ------------------------------------------------------------------------------------------ */

template <typename V> static __global__ void __launch_bounds__(MOST_THREADS)
    get_vals(seed_rows r, seed_way way, int32_t *tables, const int64_t *Cp, int32_t *Cj, V *Cx, unsigned *claimed)
{
    __shared__ unsigned backs[MOST_GROUPS];
    __shared__ int shared_row[MOST_GROUPS];
    const seed_group g = group_of(way.lanes);
    const int number = blockIdx.x * way.rows + g.own, groups = gridDim.x * way.rows;
    int32_t *table = tables + (int64_t)number * r.B.cols;
    unsigned *back = &backs[g.own];
    row_cursor cursor;
    first_row(&cursor, g, way.claim, number, groups, r.rows, claimed, &shared_row[g.own]);
    if (g.lane == 0) *back = 0;
    while (cursor.row >= 0) {
        const int64_t at = Cp[cursor.row];
        const unsigned entries = (unsigned)(Cp[cursor.row + 1] - at);
        if (!way.reset_touched)
            for (int64_t j = g.lane; j < r.B.cols; j += g.lanes) table[j] = -1;
        group_barrier(g);
        for (int64_t k = r.A.p.get(r.first + cursor.row); k < r.A.p.get(r.first + cursor.row + 1); k++) {
            const int64_t i = __ldg(r.A.j + k), end = r.B.p.get(i + 1);
            const V a = __ldg((const V *)r.A.x + k);
            for (int64_t e = r.B.p.get(i) + g.lane; e < end; e += g.lanes) {
                const int32_t j = __ldg(r.B.j + e);
                const V product = a * __ldg((const V *)r.B.x + e);
                int32_t place = table[j];
                if (place == -1) { /* *back counts used places, and returns to 0 after the last one */
                    table[j] = place = (int32_t)atomicInc(back, entries - 1);
                    Cj[at + place] = j;
                    Cx[at + place] = product;
                } else {
                    Cx[at + place] += product;
                }
            }
            group_barrier(g);
        }
        if (way.reset_touched)
            for (unsigned e = g.lane; e < entries; e += g.lanes) table[Cj[at + e]] = -1;
        group_barrier(g);
        next_row(&cursor, g, way.claim, groups, r.rows, claimed, &shared_row[g.own]);
    }
}

/* ---- SortCols ----------------------------------------------------------------------------------------- */

/* A bucket: entries front .. back - 1 of a row, whose columns are equal in the digits before digit `pass`. */
struct seed_bucket {
    int32_t pass, front, back;
};

/* Sorts a bucket by one digit, in place. Two or more entries with an equal digit become a new bucket in the queue. */
template <typename V> static __device__ void sort_bucket(const seed_bucket &b, int most_shift, int32_t *Cj, V *Cx,
                                                         int *next, int *bounds, seed_bucket *queue, unsigned length,
                                                         unsigned *pushed)
{
    const int shift = (most_shift - b.pass) * RADIX_BITS;
    for (int d = 0; d < RADIX_BASE; d++) next[d] = 0;
    for (int e = b.front; e < b.back; e++) next[Cj[e] >> shift & (RADIX_BASE - 1)]++;
    int at = b.front;
    for (int d = 0; d < RADIX_BASE; d++) {
        const int size = next[d];
        next[d] = at;
        at += size;
        bounds[d] = at;
        if (size > 1 && b.pass < most_shift) {
            const seed_bucket part = {b.pass + 1, at - size, at};
            queue[atomicAdd(pushed, 1u) % length] = part;
        }
    }
    for (int d = 0; d < RADIX_BASE; d++) {
        while (next[d] < bounds[d]) {
            const int e = next[d], to = Cj[e] >> shift & (RADIX_BASE - 1);
            const int f = next[to]++;
            if (to == d) continue; /* the entry is in place: f == e */
            const int32_t j = Cj[f];
            const V x = Cx[f];
            Cj[f] = Cj[e];
            Cx[f] = Cx[e];
            Cj[e] = j;
            Cx[e] = x;
        }
    }
}

/* Sorts rows. Dynamic shared memory: two int per digit and thread. */
template <typename V> static __global__ void __launch_bounds__(SORT_MOST)
    sort_cols(int rows, int most_shift, const int64_t *Cp, int32_t *Cj, V *Cx, seed_bucket *queues, int64_t length)
{
    extern __shared__ int digits[];
    __shared__ unsigned pushed;
    seed_bucket *queue = queues + blockIdx.x * length;
    int *next = digits + threadIdx.x * 2 * RADIX_BASE;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const int64_t at = Cp[row];
        const int entries = (int)(Cp[row + 1] - at);
        if (entries < 2) continue;
        __syncthreads();
        if (threadIdx.x == 0) {
            const seed_bucket all = {0, 0, entries};
            queue[0] = all;
            pushed = 1;
        }
        __syncthreads();
        unsigned taken = 0;
        while (true) {
            const unsigned end = pushed;
            if (taken == end) break;
            seed_bucket mine = {-1, 0, 0};
            if (taken + threadIdx.x < end) mine = queue[(taken + threadIdx.x) % (unsigned)length];
            __syncthreads(); /* all threads read `pushed` and their buckets before any bucket is added */
            taken = end - taken <= blockDim.x ? end : taken + blockDim.x;
            if (mine.pass >= 0)
                sort_bucket(mine, most_shift, Cj + at, Cx + at, next, next + RADIX_BASE, queue, (unsigned)length,
                            &pushed);
            __syncthreads();
        }
    }
}

/* ---- phases ------------------------------------------------------------------------------------------- */

static spry_status refuse(const char *name, int given, const char *expected, spry_error *err)
{
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "kernel", given, 0,
                            "the seed's sparse product: %s is %d, expected %s", name, given, expected);
}

/* Returns a numeric parameter of the kernel's name, or `other` if it is not given. */
static int given_or(const spryi_device_product *product, int parameter, int other)
{
    const int64_t given = product->kernel_parameters[parameter];
    return given == SPRYI_GIVEN_ZERO ? 0 : given > 0 ? (int)given : other;
}

/*
 * Returns the value of a parameter whose value is a word of a list: `least` for the first word, twice as much for each
 * further word, or `other` if the parameter is not given.
 */
static int power_or(const spryi_device_product *product, int parameter, int least, int other)
{
    const int64_t word = product->kernel_parameters[parameter];
    return word > 0 ? least << (word - 1) : other;
}

/*
 * Returns the parameters with all four improvements. The number of threads in a group is the mean number of entries of
 * B's rows, rounded up to a power of two. A block has eight groups or 128 threads. A multiprocessor has about 32
 * groups: more groups balance better, but each needs a table that is cleared once.
 */
static seed_way together_for(const spryi_device_product *product)
{
    const int64_t mean = product->b.rows > 0 ? ceil_div(product->b.nnz, product->b.rows) : 0;
    seed_way way = {};
    way.lanes = SPRYI_SEED_LEAST_LANES;
    while (way.lanes < mean && way.lanes < 128) way.lanes *= 2;
    way.rows = way.lanes <= 16 ? 8 : 128 / way.lanes;
    way.claim = 4;
    way.blocks = way.rows > 1 ? 32 / way.rows : 16;
    way.reset_touched = true;
    return way;
}

/* Returns the parameters as printed: one row per block, 32 threads, 128 in GetNNZ. */
static seed_way printed(void)
{
    seed_way way = {};
    way.rows = 1;
    way.lanes = 32;
    return way;
}

/* Resolves the parameters: those of the kernel's name, and defaults for the rest. */
static spry_status resolve(seed_way *way, const spryi_device_product *product, bool together, spry_error *err)
{
    seed_way w = together ? together_for(product) : printed();
    const int64_t reset = product->kernel_parameters[SPRYI_SEED_RESET]; /* all, touched, printed, repaired */
    w.rows = given_or(product, SPRYI_SEED_ROWS, w.rows);
    w.lanes = power_or(product, SPRYI_SEED_LANES, SPRYI_SEED_LEAST_LANES, w.lanes);
    w.claim = given_or(product, SPRYI_SEED_CLAIM, w.claim);
    w.blocks = given_or(product, SPRYI_SEED_BLOCKS, w.blocks > 0 ? w.blocks : w.rows < 16 ? 16 / w.rows : 1);
    w.sort = power_or(product, SPRYI_SEED_SORT, SPRYI_SEED_LEAST_SORT, 0);
    w.reset_touched = reset > 0 ? reset == 2 : w.reset_touched;
    w.listed = reset >= 3;
    w.repaired = reset == 4;
    int most = 128; /* default of count: as printed, or less to fit in a block */
    while (most * w.rows > MOST_THREADS) most /= 2;
    w.count = power_or(product, SPRYI_SEED_COUNT, SPRYI_SEED_LEAST_LANES, together ? w.lanes : most);
    if (w.rows * w.lanes > MOST_THREADS) return refuse("rows times lanes", w.rows * w.lanes, "at most 1024", err);
    if (w.rows * w.count > MOST_THREADS) return refuse("rows times count", w.rows * w.count, "at most 1024", err);
    if (w.listed && (w.rows != 1 || w.lanes != LISTED_VALS_THREADS || w.count != LISTED_NNZ_THREADS || w.claim != 0))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "kernel", w.rows, 1,
                                "the seed's sparse product: rows, lanes, count or claim with a listing's reset, "
                                "expected none");
    *way = w;
    return SPRY_OK;
}

/* Allocates the tables, in at most an eighth of the device's memory: a wide matrix gets fewer blocks. */
static spry_status seed_allocate(spryi_device_product *product, seed_state *own, void **scan_space, size_t *scan_bytes,
                                 spry_error *err)
{
    size_t unused = 0, memory = 0;
    SPRY_CUDA_CHECK(cudaMemGetInfo(&unused, &memory), "spgemm: memory", err);
    int64_t most = (int64_t)(memory / 8);
    if (product->memory.most_bytes > 0 && product->memory.most_bytes < most) most = product->memory.most_bytes;
    const int64_t table = 4 * product->b.columns * own->way.rows;
    int64_t blocks = (int64_t)own->way.blocks * product->processor.multiprocessors;
    if (blocks > ceil_div(own->rows, own->way.rows)) blocks = ceil_div(own->rows, own->way.rows);
    if (table > 0 && blocks > most / table) blocks = most / table;
    own->blocks = (int)(blocks > 1 ? blocks : 1);
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(NULL, *scan_bytes, (int32_t *)NULL, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), (int64_t)own->rows + 1),
                    "spgemm: scan", err);
    const int64_t head = 256, counts = (4 * ((int64_t)own->rows + 1) + 255) / 256 * 256;
    const int64_t tables = (table * own->blocks + 255) / 256 * 256;
    own->workspace_bytes = head + counts + tables + (int64_t)*scan_bytes;
    SPRY_CUDA_TRY(product->memory.allocate(product, &own->workspace, own->workspace_bytes, "tables of a product", err));
    char *at = (char *)own->workspace;
    own->longest = (unsigned *)at;
    own->counts = (int32_t *)(at + head);
    own->table = (int32_t *)(at + head + counts);
    *scan_space = at + head + counts + tables;
    cudaStream_t stream = (cudaStream_t)product->stream;
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_COUNT, stream, err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(at, 0, (size_t)(head + counts), stream), "spgemm: clear", err);
    if (own->way.reset_touched)
        SPRY_CUDA_CHECK(cudaMemsetAsync(own->table, 0xff, (size_t)tables, stream), "spgemm: clear", err);
    return SPRY_OK;
}

/*
 * Chooses the threads of SortCols by the longest row, and as many blocks as fit on the device. Allocates their queues.
 */
static spry_status seed_allocate_queues(spryi_device_product *product, seed_state *own, int64_t longest,
                                        spry_error *err)
{
    int at_once = 1;
    own->queue_length = longest / 2 + 1; /* enough for all buckets of two or more entries of a row */
    const int64_t threads = ceil_div(own->queue_length, 32) * 32;
    own->sort_threads = own->way.sort > 0 ? own->way.sort : threads < SORT_MOST ? (int)threads : SORT_MOST;
    const size_t shared = (size_t)own->sort_threads * 2 * RADIX_BASE * sizeof(int);
    const void *kernel = product->type == SPRY_F64 ? (const void *)sort_cols<double> : (const void *)sort_cols<float>;
    SPRY_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, own->sort_threads, shared),
                    "spgemm: SortCols", err);
    int64_t most = (int64_t)1 << 30;
    if (product->memory.most_bytes > 0 && product->memory.most_bytes / 8 < most) most = product->memory.most_bytes / 8;
    int64_t blocks = (int64_t)at_once * product->processor.multiprocessors;
    const int64_t queues = most / (own->queue_length * (int64_t)sizeof(seed_bucket));
    if (blocks > queues) blocks = queues;
    if (blocks > own->rows) blocks = own->rows;
    own->sort_blocks = (int)(blocks > 1 ? blocks : 1);
    own->queue_bytes = own->sort_blocks * own->queue_length * (int64_t)sizeof(seed_bucket);
    return product->memory.allocate(product, (void **)&own->queue, own->queue_bytes, "queues of a sort", err);
}

static spry_status seed_count(spryi_device_product *product, seed_state *own, spry_error *err)
{
    void *scan_space = NULL;
    size_t scan_bytes = 0;
    SPRY_CUDA_TRY(seed_allocate(product, own, &scan_space, &scan_bytes, err));
    const seed_rows r = rows_of(product);
    cudaStream_t stream = (cudaStream_t)product->stream;
    unsigned long long *products = (unsigned long long *)(own->longest + 8);
    if (r.rows > 0) {
        if (own->way.listed)
            listed_nnz<<<(unsigned)own->blocks, LISTED_NNZ_THREADS, 0, stream>>>(r, own->table, own->counts,
                                                                                 own->longest);
        else
            get_nnz<<<(unsigned)own->blocks, own->way.count * own->way.rows, 0, stream>>>(r, own->way, own->table,
                                                                                          own->counts, own->longest,
                                                                                          own->longest + 1);
        SPRY_CUDA_TRY(launched(err, "spgemm: GetNNZ"));
        SPRY_CUDA_TRY(clock_mark(&own->clock, AT_COUNTED, stream, err));
        add_products<<<256, 256, 0, stream>>>(r, products);
        SPRY_CUDA_TRY(launched(err, "spgemm: products"));
    }
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_SCAN, stream, err));
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(scan_space, scan_bytes, own->counts, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), (int64_t)r.rows + 1, stream),
                    "spgemm: scan", err);
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_SCANNED, stream, err));
    unsigned long long found = 0;
    unsigned longest = 0;
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&found, products, sizeof found, cudaMemcpyDeviceToHost, stream), "spgemm: read",
                    err);
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&longest, own->longest, sizeof longest, cudaMemcpyDeviceToHost, stream),
                    "spgemm: read", err);
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&product->nnz, product->c_offsets + r.rows, sizeof product->nnz,
                                    cudaMemcpyDeviceToHost, stream),
                    "spgemm: read", err);
    SPRY_CUDA_CHECK(cudaStreamSynchronize(stream), "spgemm: count", err);
    product->products = (int64_t)found;
    return seed_allocate_queues(product, own, (int64_t)longest, err);
}

static void seed_discard(spryi_device_product *product)
{
    seed_state *own = (seed_state *)product->state;
    if (!own) return;
    if (own->queue) product->memory.release(product, own->queue, own->queue_bytes);
    if (own->workspace) product->memory.release(product, own->workspace, own->workspace_bytes);
    clock_close(&own->clock);
    free(own);
    product->state = NULL;
}

static spry_status seed_symbolic(spryi_device_product *product, bool together, spry_error *err)
{
    seed_state *own = (seed_state *)calloc(1, sizeof *own);
    if (!own) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %zu bytes", sizeof *own);
    own->rows = (int)(product->row_end - product->row_begin);
    product->state = own;
    spry_status status = resolve(&own->way, product, together, err);
    if (status == SPRY_OK) status = gpu_require_rising(product, err);
    if (status == SPRY_OK) status = clock_open(&own->clock, product->measure_stages, err);
    if (status == SPRY_OK) status = seed_count(product, own, err);
    if (status != SPRY_OK) seed_discard(product);
    return status;
}

template <typename V> static __global__ void seed_scale(V *x, int64_t count, V alpha)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] *= alpha;
}

/* Starts GetVals. The listings add to C's values, which are cleared first; this pass is no stage of the method. */
template <typename V> static spry_status launch_vals(spryi_device_product *product, seed_state *own, spry_error *err)
{
    const seed_rows r = rows_of(product);
    cudaStream_t stream = (cudaStream_t)product->stream;
    const unsigned blocks = (unsigned)own->blocks;
    const int64_t *Cp = product->c_offsets;
    int32_t *Cj = product->c_columns;
    V *Cx = (V *)product->c_values;
    if (own->way.listed)
        SPRY_CUDA_CHECK(cudaMemsetAsync(Cx, 0, (size_t)product->nnz * sizeof(V), stream), "spgemm: clear", err);
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_FILL, stream, err));
    if (!own->way.listed)
        get_vals<V><<<blocks, own->way.lanes * own->way.rows, 0, stream>>>(r, own->way, own->table, Cp, Cj, Cx,
                                                                           own->longest + 1);
    else if (own->way.repaired)
        listed_vals<V, true><<<blocks, LISTED_VALS_THREADS, 0, stream>>>(r, own->table, Cp, Cj, Cx);
    else
        listed_vals<V, false><<<blocks, LISTED_VALS_THREADS, 0, stream>>>(r, own->table, Cp, Cj, Cx);
    SPRY_CUDA_TRY(launched(err, "spgemm: GetVals"));
    return clock_mark(&own->clock, AT_FILLED, stream, err);
}

template <typename V> static spry_status seed_fill(spryi_device_product *product, seed_state *own, spry_error *err)
{
    const seed_rows r = rows_of(product);
    cudaStream_t stream = (cudaStream_t)product->stream;
    V *Cx = (V *)product->c_values;
    SPRY_CUDA_CHECK(cudaMemsetAsync(own->longest + 1, 0, sizeof(unsigned), stream), "spgemm: clear", err);
    SPRY_CUDA_TRY(launch_vals<V>(product, own, err));
    int bits = bits_of(product->b.columns - (own->way.listed ? 0 : 1)); /* the listing: log2 of the columns */
    const int most_shift = bits > 0 ? (bits - 1) / RADIX_BITS : 0;
    const size_t shared = (size_t)own->sort_threads * 2 * RADIX_BASE * sizeof(int);
    sort_cols<V><<<(unsigned)own->sort_blocks, own->sort_threads, shared, stream>>>(r.rows, most_shift,
                                                                                    product->c_offsets,
                                                                                    product->c_columns, Cx,
                                                                                    (seed_bucket *)own->queue,
                                                                                    own->queue_length);
    SPRY_CUDA_TRY(launched(err, "spgemm: SortCols"));
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_SORTED, stream, err));
    const V alpha = *(const V *)product->alpha;
    if (alpha == 1) return SPRY_OK;
    seed_scale<V><<<(unsigned)ceil_div(product->nnz, 256), 256, 0, stream>>>(Cx, product->nnz, alpha);
    return launched(err, "spgemm: scale");
}

static spry_status seed_numeric(spryi_device_product *product, spry_error *err)
{
    seed_state *own = (seed_state *)product->state;
    if (product->nnz == 0) return SPRY_OK;
    return product->type == SPRY_F64 ? seed_fill<double>(product, own, err) : seed_fill<float>(product, own, err);
}

static spry_status seed_stages(spryi_device_product *product, spryi_spgemm_stages *stages, spry_error *err)
{
    const stage_clock *clock = &((const seed_state *)product->state)->clock;
    (void)err;
    stages->count_us = clock_us(clock, AT_COUNT, AT_COUNTED);
    stages->scan_us = clock_us(clock, AT_SCAN, AT_SCANNED);
    stages->fill_us = clock_us(clock, AT_FILL, AT_FILLED);
    stages->sort_us = clock_us(clock, AT_FILLED, AT_SORTED);
    return SPRY_OK;
}

#define SEED(name, together)                                                                                           \
    static spry_status name##_symbolic(spryi_device_product *product, spry_error *err)                                 \
    {                                                                                                                  \
        return seed_symbolic(product, together, err);                                                                  \
    }                                                                                                                  \
    static const spryi_spgemm_device_phases name##_phases = {name##_symbolic, seed_numeric, seed_discard,              \
                                                             seed_stages};                                             \
    const spryi_kernel_functions spry_cuda_spgemm_seed_##name =                                                        \
        {"spgemm_seed_" #name "_cuda", NULL, NULL, NULL, NULL, NULL, &name##_phases};
SEED(getvals, false)
SEED(together, true)
