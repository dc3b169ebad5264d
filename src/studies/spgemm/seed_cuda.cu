/*
 * spgemm_seed_*_cuda: seed 002 (Rose, GPU Sparse Matrix Multiplication with CUDA, 2013), as it was printed but for its
 * faults, and each of the four improvements that its conclusion asks for by itself.
 *
 * Idea: GetNNZ marks the columns of a row of C in a table of all columns and counts; a scan makes offsets; GetVals
 *       keeps in a table of all columns where a column's entry lies in the row and takes the next place (atomicInc) for
 *       a new one; SortCols sorts each row in place by radix, buckets waiting in a queue.
 * Work: a block a row and a table, a row of B at a time: no two threads meet in an entry.
 * Cost: the tables, cleared for each row: rows times columns. They take `cols` numbers a block: fewer blocks where
 *       there is less memory. SortCols: one thread moves a bucket.
 * Differences: rows of A where the listing reads C's and entries where it takes rows; GetNNZ runs with a stride of all
 *       its threads and adds them all up; barriers where it relies on lockstep; structure is kept where a value is 0;
 *       values of 64 bits too; rows of a queue are read before any is added. Positions within a row come in no fixed
 *       order, but sums do, and sorted rows are the same bit for bit.
 */
#include "device/cuda/convert.cuh"
#include "device/cuda/kernels.h"
#include "spgemm/cuda/rows_cuda.cuh"

#include <cub/device/device_scan.cuh>
#include <stdlib.h>

enum { RADIX_BITS = 4, RADIX_BASE = 1 << RADIX_BITS, SORT_THREADS = 64 };

/* How a variant differs from the listing. */
struct seed_way {
    int lanes, rows_a_block, blocks_a_multiprocessor;
    int reset_touched; /* 1: only what a row has marked is cleared after it */
    int claim;         /* 1: blocks take the next row as they get free */
};

struct seed_state {
    seed_way way;
    int blocks, rows, sort_blocks;
    unsigned *longest;               /* device: entries of the longest row of C; beside it rows claimed */
    int32_t *table, *counts, *queue; /* device: a table a group, all -1 between rows where touched are reset */
    int64_t queue_length, queue_bytes, workspace_bytes;
    void *workspace;
};

struct seed_rows {
    gpu_csr A, B;
    int64_t first;
    int rows;
};

static __device__ __forceinline__ void seed_barrier(int lanes)
{
    if (lanes == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* The group's next row, -1: none is left. Groups of whole blocks and warps alike. */
static __device__ __forceinline__ int next_row(const seed_way &way, int row, int groups, int rows, unsigned *claimed,
                                               int *shared_row)
{
    if (!way.claim) return row + groups < rows ? row + groups : -1;
    const int lane = threadIdx.x % way.lanes;
    seed_barrier(way.lanes);
    if (lane == 0) *shared_row = (int)atomicAdd(claimed, 1u);
    seed_barrier(way.lanes);
    return *shared_row < rows ? *shared_row : -1;
}

/* ---- GetNNZ ------------------------------------------------------------------------------------------- */

/* Visits the columns of the group's row of C; SET: those not yet marked are counted, else marks are taken back. */
template <bool SET> static __device__ int mark_columns(const seed_rows &r, int row, int lanes, int32_t *table)
{
    const int lane = threadIdx.x % lanes;
    int count = 0;
    for (int64_t k = r.A.p.get(r.first + row); k < r.A.p.get(r.first + row + 1); k++) {
        const int64_t i = __ldg(r.A.j + k), end = r.B.p.get(i + 1);
        for (int64_t e = r.B.p.get(i) + lane; e < end; e += lanes) {
            const int32_t j = __ldg(r.B.j + e);
            if (SET) count += table[j] == -1;
            table[j] = SET ? 1 : -1;
        }
        seed_barrier(lanes);
    }
    return count;
}

static __global__ void get_nnz(seed_rows r, seed_way way, int32_t *tables, int32_t *counts, unsigned *longest,
                               unsigned *claimed)
{
    __shared__ int of_thread[256], shared_row[8];
    const int own = threadIdx.x / way.lanes, lane = threadIdx.x % way.lanes;
    const int group = blockIdx.x * way.rows_a_block + own, groups = gridDim.x * way.rows_a_block;
    int32_t *table = tables + (int64_t)group * r.B.cols;
    int row = way.claim ? next_row(way, 0, groups, r.rows, claimed, &shared_row[own]) : group < r.rows ? group : -1;
    while (row >= 0) {
        if (!way.reset_touched) {
            for (int64_t j = lane; j < r.B.cols; j += way.lanes) table[j] = -1;
            seed_barrier(way.lanes);
        }
        of_thread[threadIdx.x] = mark_columns<true>(r, row, way.lanes, table);
        seed_barrier(way.lanes);
        if (lane == 0) {
            int nnz = 0;
            for (int t = 0; t < way.lanes; t++) nnz += of_thread[own * way.lanes + t];
            counts[row] = nnz;
            atomicMax(longest, (unsigned)nnz);
        }
        if (way.reset_touched) (void)mark_columns<false>(r, row, way.lanes, table);
        seed_barrier(way.lanes);
        row = next_row(way, row, groups, r.rows, claimed, &shared_row[own]);
    }
}

/* ---- GetVals ------------------------------------------------------------------------------------------ */

template <typename V> static __global__ void get_vals(seed_rows r, seed_way way, int32_t *tables, const int64_t *Cp,
                                                      int32_t *Cj, V *Cx, unsigned *claimed)
{
    __shared__ unsigned back[8];
    __shared__ int shared_row[8];
    const int own = threadIdx.x / way.lanes, lane = threadIdx.x % way.lanes;
    const int group = blockIdx.x * way.rows_a_block + own, groups = gridDim.x * way.rows_a_block;
    int32_t *table = tables + (int64_t)group * r.B.cols;
    int row = way.claim ? next_row(way, 0, groups, r.rows, claimed, &shared_row[own]) : group < r.rows ? group : -1;
    if (lane == 0) back[own] = 0;
    while (row >= 0) {
        const int64_t at = Cp[row];
        const unsigned entries = (unsigned)(Cp[row + 1] - at);
        if (!way.reset_touched)
            for (int64_t j = lane; j < r.B.cols; j += way.lanes) table[j] = -1;
        seed_barrier(way.lanes);
        for (int64_t k = r.A.p.get(r.first + row); k < r.A.p.get(r.first + row + 1); k++) {
            const int64_t i = __ldg(r.A.j + k), end = r.B.p.get(i + 1);
            const V a = __ldg((const V *)r.A.x + k);
            for (int64_t e = r.B.p.get(i) + lane; e < end; e += way.lanes) {
                const int32_t j = __ldg(r.B.j + e);
                const V product = a * __ldg((const V *)r.B.x + e);
                int32_t place = table[j];
                if (place == -1) { /* wraps to 0 with the row's last entry */
                    table[j] = place = (int32_t)atomicInc(&back[own], entries - 1);
                    Cj[at + place] = j;
                    Cx[at + place] = product;
                } else {
                    Cx[at + place] += product;
                }
            }
            seed_barrier(way.lanes);
        }
        if (way.reset_touched)
            for (unsigned e = lane; e < entries; e += way.lanes) table[Cj[at + e]] = -1;
        seed_barrier(way.lanes);
        row = next_row(way, row, groups, r.rows, claimed, &shared_row[own]);
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
template <typename V> static __global__ void __launch_bounds__(SORT_THREADS)
    sort_cols(int rows, int most_shift, const int64_t *Cp, int32_t *Cj, V *Cx, seed_bucket *queues, int64_t length)
{
    __shared__ int digits[2 * RADIX_BASE * SORT_THREADS];
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
            taken = there - taken <= SORT_THREADS ? there : taken + SORT_THREADS;
            if (mine.pass >= 0)
                sort_bucket(mine, most_shift, Cj + at, Cx + at, next, next + RADIX_BASE, queue, (unsigned)length,
                            &pushed);
            __syncthreads();
        }
    }
}

/* ---- phases ------------------------------------------------------------------------------------------- */

static seed_rows rows_of(const spryi_device_product *product)
{
    seed_rows r = {};
    r.A = gpu_csr_of(&product->a);
    r.B = gpu_csr_of(&product->b);
    r.first = product->row_begin;
    r.rows = (int)(product->row_end - product->row_begin);
    return r;
}

static __global__ void add_products(seed_rows r, unsigned long long *products)
{
    unsigned long long sum = 0;
    const int64_t from = r.A.p.get(r.first), to = r.A.p.get(r.first + r.rows);
    for (int64_t k = from + (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < to;
         k += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = __ldg(r.A.j + k);
        sum += (unsigned long long)(r.B.p.get(i + 1) - r.B.p.get(i));
    }
    if (sum) atomicAdd(products, sum);
}

/* Tables within an eighth of the device's memory: fewer blocks where the matrix is wide. */
static spry_status seed_make(spryi_device_product *product, seed_state *own, void **scan_space, size_t *scan_bytes,
                             spry_error *err)
{
    size_t unused = 0, memory = 0;
    SPRY_CUDA_CHECK(cudaMemGetInfo(&unused, &memory), "spgemm: memory", err);
    int64_t most = (int64_t)(memory / 8);
    if (product->most_bytes > 0 && product->most_bytes < most) most = product->most_bytes;
    const int64_t table = 4 * product->b.cols * own->way.rows_a_block;
    int64_t blocks = (int64_t)own->way.blocks_a_multiprocessor * product->multiprocessors;
    if (blocks > ceil_div(own->rows, own->way.rows_a_block)) blocks = ceil_div(own->rows, own->way.rows_a_block);
    if (table > 0 && blocks > most / table) blocks = most / table;
    own->blocks = (int)(blocks > 1 ? blocks : 1);
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(NULL, *scan_bytes, (int32_t *)NULL, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), (int64_t)own->rows + 1),
                    "spgemm: scan", err);
    const int64_t head = 256, counts = (4 * ((int64_t)own->rows + 1) + 255) / 256 * 256;
    const int64_t tables = (table * own->blocks + 255) / 256 * 256;
    own->workspace_bytes = head + counts + tables + (int64_t)*scan_bytes;
    SPRY_CUDA_TRY(product->allocate(product, &own->workspace, own->workspace_bytes, "tables of a product", err));
    char *at = (char *)own->workspace;
    own->longest = (unsigned *)at;
    own->counts = (int32_t *)(at + head);
    own->table = (int32_t *)(at + head + counts);
    *scan_space = at + head + counts + tables;
    cudaStream_t stream = (cudaStream_t)product->stream;
    SPRY_CUDA_CHECK(cudaMemsetAsync(at, 0, (size_t)(head + counts), stream), "spgemm: clear", err);
    SPRY_CUDA_CHECK(cudaMemsetAsync(own->table, 0xff, (size_t)tables, stream), "spgemm: clear", err);
    return SPRY_OK;
}

static spry_status seed_count(spryi_device_product *product, seed_state *own, spry_error *err)
{
    void *scan_space = NULL;
    size_t scan_bytes = 0;
    SPRY_CUDA_TRY(seed_make(product, own, &scan_space, &scan_bytes, err));
    const seed_rows r = rows_of(product);
    const seed_way &way = own->way;
    cudaStream_t stream = (cudaStream_t)product->stream;
    unsigned long long *products = (unsigned long long *)(own->longest + 8);
    if (r.rows > 0) {
        /* GetNNZ: four times the threads a row, as printed */
        seed_way nnz_way = way;
        if (way.rows_a_block == 1) nnz_way.lanes = 128;
        get_nnz<<<(unsigned)own->blocks, nnz_way.lanes * way.rows_a_block, 0, stream>>>(r, nnz_way, own->table,
                                                                                        own->counts, own->longest,
                                                                                        own->longest + 1);
        SPRY_CUDA_TRY(launched(err, "spgemm: GetNNZ"));
        add_products<<<256, 256, 0, stream>>>(r, products);
        SPRY_CUDA_TRY(launched(err, "spgemm: products"));
    }
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(scan_space, scan_bytes, own->counts, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), (int64_t)r.rows + 1, stream),
                    "spgemm: scan", err);
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
    own->queue_length = (int64_t)longest / 2 + 1;
    const int64_t most_queues = ((int64_t)1 << 30) / (own->queue_length * (int64_t)sizeof(seed_bucket));
    own->sort_blocks = 16 * product->multiprocessors;
    if (own->sort_blocks > most_queues) own->sort_blocks = most_queues > 1 ? (int)most_queues : 1;
    if (own->sort_blocks > r.rows) own->sort_blocks = r.rows > 1 ? r.rows : 1;
    own->queue_bytes = own->sort_blocks * own->queue_length * (int64_t)sizeof(seed_bucket);
    return product->allocate(product, (void **)&own->queue, own->queue_bytes, "queues of a sort", err);
}

static void seed_discard(spryi_device_product *product)
{
    seed_state *own = (seed_state *)product->state;
    if (!own) return;
    if (own->queue) product->release(product, own->queue, own->queue_bytes);
    if (own->workspace) product->release(product, own->workspace, own->workspace_bytes);
    free(own);
    product->state = NULL;
}

static spry_status seed_symbolic(spryi_device_product *product, const seed_way *way, spry_error *err)
{
    seed_state *own = (seed_state *)calloc(1, sizeof *own);
    if (!own) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %zu bytes", sizeof *own);
    own->way = *way;
    own->rows = (int)(product->row_end - product->row_begin);
    product->state = own;
    spry_status status = gpu_require_rising(product, err);
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
    SPRY_CUDA_CHECK(cudaMemsetAsync(own->longest + 1, 0, sizeof(unsigned), stream), "spgemm: clear", err);
    get_vals<V><<<(unsigned)own->blocks, own->way.lanes * own->way.rows_a_block, 0, stream>>>(r, own->way, own->table,
                                                                                              product->c_offsets,
                                                                                              product->c_columns, Cx,
                                                                                              own->longest + 1);
    SPRY_CUDA_TRY(launched(err, "spgemm: GetVals"));
    int bits = bits_of(product->b.cols - 1);
    const int most_shift = bits > 0 ? (bits - 1) / RADIX_BITS : 0;
    sort_cols<V><<<(unsigned)own->sort_blocks, SORT_THREADS, 0, stream>>>(r.rows, most_shift, product->c_offsets,
                                                                          product->c_columns, Cx,
                                                                          (seed_bucket *)own->queue, own->queue_length);
    SPRY_CUDA_TRY(launched(err, "spgemm: SortCols"));
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

/* lanes, rows a block, blocks a multiprocessor, reset touched, claim */
#define SEED(name, ...)                                                                                                \
    static spry_status name##_symbolic(spryi_device_product *product, spry_error *err)                                 \
    {                                                                                                                  \
        static const seed_way way = {__VA_ARGS__};                                                                     \
        return seed_symbolic(product, &way, err);                                                                      \
    }                                                                                                                  \
    static const spryi_spgemm_device_phases name##_phases = {name##_symbolic, seed_numeric, seed_discard};             \
    const spryi_kernel_functions spry_cuda_spgemm_seed_##name =                                                        \
        {"spgemm_seed_" #name "_cuda", NULL, NULL, NULL, NULL, NULL, &name##_phases};
SEED(getvals, 32, 1, 16, 0, 0)
SEED(reset, 32, 1, 16, 1, 0)
SEED(rows, 32, 4, 4, 0, 0)
SEED(claim, 32, 1, 16, 0, 1)
SEED(balance, 128, 1, 16, 0, 0)
