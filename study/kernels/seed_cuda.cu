/*
 * spgemm_seed_*_cuda: seed 002 (Rose, GPU Sparse Matrix Multiplication with CUDA, 2013): getvals as it was printed but
 * for its faults, with the improvements that its conclusion asks for as parameters; together with all four of them.
 *
 * Idea: GetNNZ marks the columns of a row of C in a table of all columns and counts; a scan makes offsets; GetVals
 *       keeps in a table of all columns where a column's entry lies in the row and takes the next place (atomicInc) for
 *       a new one; SortCols sorts each row in place by radix, buckets waiting in a queue.
 * Work: a group of threads a row and a table, a row of B at a time: no two threads meet in an entry. A block is a
 *       group, or several (rows=N); groups have fixed rows, or claim the next ones as they get free (claim=N).
 * Cost: the tables, cleared for each row: rows times columns; with reset=touched only what a row has met, and the
 *       tables once. They take `cols` numbers a group: fewer blocks where there is less memory. SortCols: one thread
 *       moves a bucket, with as many threads as a row can have buckets at once, longest row / 2 + 1, in warps, 32 to
 *       256 (the paper: "a number of threads based on maxRowNNZ").
 * Source: seed 002, section 4; together: section 6.
 * Differences: rows of A where the listing reads C's and entries where it takes rows; GetNNZ runs with a stride of all
 *       its threads and adds them all up; barriers where it relies on lockstep; structure is kept where a value is 0;
 *       values of 64 bits too; rows of a queue are read before any is added. The longest row is found by GetNNZ, which
 *       the paper leaves to a call of Thrust. Positions within a row come in no fixed order, but sums do, and sorted
 *       rows are the same bit for bit.
 */
#include "study/kernels/seeds_cuda.cuh"

extern "C" {
#include "study/kernels/seeds.h"
}

#include <cub/device/device_scan.cuh>
#include <stdlib.h>

enum { RADIX_BITS = 4, RADIX_BASE = 1 << RADIX_BITS, SORT_MOST = 256, MOST_THREADS = 1024, MOST_GROUPS = 32 };

/* What differs between runs of the kernels. */
struct seed_way {
    int rows;          /* groups a block, each with a row and a table */
    int lanes;         /* threads of a group, a power of two */
    int count;         /* the same in GetNNZ */
    int blocks;        /* a multiprocessor */
    int claim;         /* rows that a group claims at a time; 0: each has its own */
    int sort;          /* threads of SortCols; 0: by the longest row */
    int reset_touched; /* 1: only what a row has marked is cleared after it */
};

enum seed_mark { AT_COUNT, AT_COUNTED, AT_SCAN, AT_SCANNED, AT_FILL, AT_FILLED, AT_SORTED };

struct seed_state {
    seed_way way;
    int blocks, rows, sort_blocks, sort_threads;
    unsigned *longest;               /* device: entries of the longest row of C; beside it rows claimed */
    int32_t *table, *counts, *queue; /* device: a table a group, all -1 between rows where touched are reset */
    int64_t queue_length, queue_bytes, workspace_bytes;
    void *workspace;
    stage_clock clock;
};

/* The threads that work on a row. */
struct seed_group {
    int own, lane, lanes; /* own: its number in the block */
    unsigned mask;        /* of it in its warp, where it is no larger */
};

static __device__ __forceinline__ seed_group group_of(int lanes)
{
    const int in_warp = threadIdx.x % 32;
    const unsigned all = lanes < 32 ? (1u << lanes) - 1 : 0xffffffffu;
    const seed_group g = {(int)threadIdx.x / lanes, (int)threadIdx.x % lanes, lanes, all << (in_warp / lanes * lanes)};
    return g;
}

/* Groups of several warps have a barrier each: at most 16 fit into a block. */
static __device__ __forceinline__ void group_barrier(const seed_group &g)
{
    if (g.lanes <= 32)
        __syncwarp(g.mask);
    else
        asm volatile("bar.sync %0, %1;" : : "r"(g.own), "r"(g.lanes) : "memory");
}

/* Rows left to a group: the one it has, and where those it has claimed end. */
struct seed_turn {
    int row, end;
};

/* The group's next row; row -1: none is left. groups: of all blocks. */
static __device__ __forceinline__ void next_row(seed_turn *turn, const seed_group &g, int claim, int groups, int rows,
                                                unsigned *claimed, int *shared_row)
{
    if (claim == 0) {
        turn->row = turn->row + groups < rows ? turn->row + groups : -1;
        return;
    }
    if (++turn->row < turn->end) return;
    group_barrier(g);
    if (g.lane == 0) *shared_row = (int)atomicAdd(claimed, (unsigned)claim);
    group_barrier(g);
    const int first = *shared_row;
    turn->end = first + claim < rows ? first + claim : rows;
    turn->row = first < rows ? first : -1;
}

/* Before its first row. number: the group's among all. */
static __device__ __forceinline__ void first_row(seed_turn *turn, const seed_group &g, int claim, int number,
                                                 int groups, int rows, unsigned *claimed, int *shared_row)
{
    turn->row = claim == 0 ? number - groups : -1;
    turn->end = 0;
    next_row(turn, g, claim, groups, rows, claimed, shared_row);
}

/* ---- GetNNZ ------------------------------------------------------------------------------------------- */

/* Visits the columns of the group's row of C; SET: those not yet marked are counted, else marks are taken back. */
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
    seed_turn turn;
    first_row(&turn, g, way.claim, number, groups, r.rows, claimed, &shared_row[g.own]);
    while (turn.row >= 0) {
        if (!way.reset_touched) {
            for (int64_t j = g.lane; j < r.B.cols; j += g.lanes) table[j] = -1;
            group_barrier(g);
        }
        of_thread[threadIdx.x] = mark_columns<true>(r, turn.row, g, table);
        group_barrier(g);
        if (g.lane == 0) {
            int nnz = 0;
            for (int t = 0; t < g.lanes; t++) nnz += of_thread[g.own * g.lanes + t];
            counts[turn.row] = nnz;
            atomicMax(longest, (unsigned)nnz);
        }
        if (way.reset_touched) (void)mark_columns<false>(r, turn.row, g, table);
        group_barrier(g);
        next_row(&turn, g, way.claim, groups, r.rows, claimed, &shared_row[g.own]);
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
    seed_turn turn;
    first_row(&turn, g, way.claim, number, groups, r.rows, claimed, &shared_row[g.own]);
    if (g.lane == 0) *back = 0;
    while (turn.row >= 0) {
        const int64_t at = Cp[turn.row];
        const unsigned entries = (unsigned)(Cp[turn.row + 1] - at);
        if (!way.reset_touched)
            for (int64_t j = g.lane; j < r.B.cols; j += g.lanes) table[j] = -1;
        group_barrier(g);
        for (int64_t k = r.A.p.get(r.first + turn.row); k < r.A.p.get(r.first + turn.row + 1); k++) {
            const int64_t i = __ldg(r.A.j + k), end = r.B.p.get(i + 1);
            const V a = __ldg((const V *)r.A.x + k);
            for (int64_t e = r.B.p.get(i) + g.lane; e < end; e += g.lanes) {
                const int32_t j = __ldg(r.B.j + e);
                const V product = a * __ldg((const V *)r.B.x + e);
                int32_t place = table[j];
                if (place == -1) { /* wraps to 0 with the row's last entry */
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
        next_row(&turn, g, way.claim, groups, r.rows, claimed, &shared_row[g.own]);
    }
}

/* ---- SortCols ----------------------------------------------------------------------------------------- */

/* A bucket: entries front .. back - 1 of a row, equal in the digits before `pass`. */
struct seed_bucket {
    int32_t pass, front, back;
};

/* Sorts a bucket by one digit, in place; its parts of more than one entry join the queue. */
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
            if (to == d) continue; /* f is e */
            const int32_t j = Cj[f];
            const V x = Cx[f];
            Cj[f] = Cj[e];
            Cx[f] = Cx[e];
            Cj[e] = j;
            Cx[e] = x;
        }
    }
}

/* Dynamic shared memory: two numbers a digit and thread. */
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
            const unsigned there = pushed;
            if (taken == there) break;
            seed_bucket mine = {-1, 0, 0};
            if (taken + threadIdx.x < there) mine = queue[(taken + threadIdx.x) % (unsigned)length];
            __syncthreads(); /* all have taken theirs, and read `pushed`, before any bucket is added */
            taken = there - taken <= blockDim.x ? there : taken + blockDim.x;
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

/* A number of the kernel's name, `other` where it was not given. */
static int given_or(const spryi_device_product *product, int parameter, int other)
{
    const int64_t given = product->kernel_parameters[parameter];
    return given == SPRYI_GIVEN_ZERO ? 0 : given > 0 ? (int)given : other;
}

/* The same of a word: least, 2 least, 4 least ... */
static int power_or(const spryi_device_product *product, int parameter, int least, int other)
{
    const int64_t word = product->kernel_parameters[parameter];
    return word > 0 ? least << (word - 1) : other;
}

/*
 * All four improvements: a group as wide as B's mean row, eight of them a block or as many as 128 threads make, and 32
 * a multiprocessor: more share the rows, but each has a table that is cleared once.
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
    way.reset_touched = 1;
    return way;
}

/* As printed: a block of 32 threads a row, 128 in GetNNZ. */
static seed_way printed(void)
{
    seed_way way = {};
    way.rows = 1;
    way.lanes = 32;
    return way;
}

/* What the name says, and what follows of it where it says nothing. */
static spry_status resolve(seed_way *way, const spryi_device_product *product, int together, spry_error *err)
{
    seed_way w = together ? together_for(product) : printed();
    const int64_t reset = product->kernel_parameters[SPRYI_SEED_RESET]; /* all, touched */
    w.rows = given_or(product, SPRYI_SEED_ROWS, w.rows);
    w.lanes = power_or(product, SPRYI_SEED_LANES, SPRYI_SEED_LEAST_LANES, w.lanes);
    w.claim = given_or(product, SPRYI_SEED_CLAIM, w.claim);
    w.blocks = given_or(product, SPRYI_SEED_BLOCKS, w.blocks > 0 ? w.blocks : w.rows < 16 ? 16 / w.rows : 1);
    w.sort = power_or(product, SPRYI_SEED_SORT, SPRYI_SEED_LEAST_SORT, 0);
    w.reset_touched = reset > 0 ? reset == 2 : w.reset_touched;
    int most = 128; /* of GetNNZ, a row: as printed, or what a block of these rows has room for */
    while (most * w.rows > MOST_THREADS) most /= 2;
    w.count = power_or(product, SPRYI_SEED_COUNT, SPRYI_SEED_LEAST_LANES, together ? w.lanes : most);
    if (w.rows * w.lanes > MOST_THREADS) return refuse("rows times lanes", w.rows * w.lanes, "at most 1024", err);
    if (w.rows * w.count > MOST_THREADS) return refuse("rows times count", w.rows * w.count, "at most 1024", err);
    *way = w;
    return SPRY_OK;
}

/* Tables within an eighth of the device's memory: fewer blocks where the matrix is wide. */
static spry_status seed_make(spryi_device_product *product, seed_state *own, void **scan_space, size_t *scan_bytes,
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

/* Threads by the longest row, as many blocks as the device runs at once, and a queue for each. */
static spry_status seed_make_queues(spryi_device_product *product, seed_state *own, int64_t longest, spry_error *err)
{
    int at_once = 1;
    own->queue_length = longest / 2 + 1; /* buckets of two entries and more */
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
    SPRY_CUDA_TRY(seed_make(product, own, &scan_space, &scan_bytes, err));
    const seed_rows r = rows_of(product);
    cudaStream_t stream = (cudaStream_t)product->stream;
    unsigned long long *products = (unsigned long long *)(own->longest + 8);
    if (r.rows > 0) {
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
    return seed_make_queues(product, own, (int64_t)longest, err);
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

static spry_status seed_symbolic(spryi_device_product *product, int together, spry_error *err)
{
    seed_state *own = (seed_state *)calloc(1, sizeof *own);
    if (!own) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %zu bytes", sizeof *own);
    own->rows = (int)(product->row_end - product->row_begin);
    product->state = own;
    spry_status status = resolve(&own->way, product, together, err);
    if (status == SPRY_OK) status = gpu_require_rising(product, err);
    if (status == SPRY_OK) status = clock_open(&own->clock, product->tell_stages, err);
    if (status == SPRY_OK) status = seed_count(product, own, err);
    if (status != SPRY_OK) seed_discard(product);
    return status;
}

template <typename V> static __global__ void seed_scale(V *x, int64_t count, V alpha)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] *= alpha;
}

template <typename V> static spry_status seed_fill(spryi_device_product *product, seed_state *own, spry_error *err)
{
    const seed_rows r = rows_of(product);
    cudaStream_t stream = (cudaStream_t)product->stream;
    V *Cx = (V *)product->c_values;
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_FILL, stream, err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(own->longest + 1, 0, sizeof(unsigned), stream), "spgemm: clear", err);
    get_vals<V><<<(unsigned)own->blocks, own->way.lanes * own->way.rows, 0, stream>>>(r, own->way, own->table,
                                                                                      product->c_offsets,
                                                                                      product->c_columns, Cx,
                                                                                      own->longest + 1);
    SPRY_CUDA_TRY(launched(err, "spgemm: GetVals"));
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_FILLED, stream, err));
    int bits = bits_of(product->b.columns - 1);
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
SEED(getvals, 0)
SEED(together, 1)
