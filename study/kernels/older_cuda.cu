/*
 * spgemm_seed_older_cuda: the older method, as far as seed 002, the paper of study 002, describes it. The seed compares
 * its own GetNNZ and its own loading with this method. The seed's reference [3] is Deshpande, Sparse Matrix
 * Multiplication using CUDA and Mex Interface, 2012.
 *
 * Idea: B is converted to columns first. Every row of A is merged with every column of B. If they share an index, C has
 *       an entry, the sum of the products. A first pass counts entries, a scan computes offsets, and a second pass
 *       computes columns and values.
 * Work: a block of 128 threads per row of C, one thread per column of B at a time, which merges the row and the column.
 *       Rows of C are sorted, because the threads of a block number the columns that have an entry by warp votes
 *       (ballots).
 * Cost: rows times columns merges in each of two passes, whatever the number of products. A merge reads up to a whole
 *       row and column. The conversion is a radix sort of B's entries. Its workspace is at least 16 bytes per entry, in
 *       addition to B by columns.
 * Source: seed 002, sections 2.2, 3.3 and 5.
 * Interpretation: the seed states that formats are converted and that a row of A is processed "in conjunction with" a
 *       column of B. Its section 2.2 has the sequential form, which searches the column for each entry of the row. This
 *       kernel merges instead, so that the older method is not slower than necessary. If a row's next index is smaller,
 *       the merge starts again at the column's first entry. If it only counts, it stops at the first shared index.
 *       Entries with value 0 are kept. The seed does not state where the conversion ran: this kernel converts on the
 *       GPU, spgemm_seed_dot_cpu on the host. Sums follow the order of A's row, so runs give the same bits.
 */
#include "study/kernels/seeds_cuda.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <stdlib.h>

enum { OLDER_THREADS = 128, OLDER_WARPS = OLDER_THREADS / 32, BLOCKS_A_MULTIPROCESSOR = 16 };

enum older_mark { AT_CONVERT, AT_CONVERTED, AT_COUNT, AT_COUNTED, AT_SCAN, AT_SCANNED, AT_FILL, AT_FILLED };

/* B by columns, with sorted rows. */
struct older_columns {
    const int64_t *p;
    const int32_t *i;
    const void *x;
};

struct older_state {
    older_columns columns;
    int32_t *from; /* for each entry in the order by columns, its index in the order by rows */
    int blocks;
    int32_t *counts;
    unsigned long long *products;
    void *workspace, *scan_space;
    int64_t workspace_bytes;
    size_t scan_bytes;
    stage_clock clock;
};

/* ---- conversion ----------------------------------------------------------------------------------------- */

/* One thread per entry: writes the entry's index and its row. */
static __global__ void number_entries(gpu_csr B, int32_t *numbers, int32_t *row_of)
{
    const int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= B.nnz) return;
    int64_t low = 0, high = B.rows;
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        if (B.p.get(middle) <= e)
            low = middle;
        else
            high = middle;
    }
    numbers[e] = (int32_t)e;
    row_of[e] = (int32_t)low;
}

/* One thread per column: finds the number of sorted entries before the column's first entry. */
static __global__ void find_columns(const int32_t *sorted, int64_t nnz, int64_t cols, int64_t *p)
{
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j > cols) return;
    int64_t low = 0, high = nnz;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sorted[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    p[j] = low;
}

/* Copies the rows and values of B's entries to i and x, in the order by columns. If i is NULL, copies only values. */
template <typename V>
static __global__ void gather(const int32_t *from, const int32_t *row_of, const V *Bx, int64_t nnz, int32_t *i, V *x)
{
    const int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= nnz) return;
    if (i) i[e] = row_of[from[e]];
    x[e] = Bx[from[e]];
}

static int64_t padded(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Sorts B's entries by column with a stable sort, so that rows increase within each column. */
static spry_status convert(const spryi_device_product *product, older_state *own, char *scratch, size_t sort_bytes,
                           int64_t *p, int32_t *i, void *x, spry_error *err)
{
    const gpu_csr B = gpu_csr_of(&product->b);
    cudaStream_t stream = (cudaStream_t)product->stream;
    const int64_t part = padded(4 * B.nnz);
    int32_t *sorted = (int32_t *)scratch, *numbers = (int32_t *)(scratch + part);
    int32_t *row_of = (int32_t *)(scratch + 2 * part);
    void *space = scratch + 3 * part;
    const unsigned blocks = convert_blocks(B.nnz);
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_CONVERT, stream, err));
    if (B.nnz > 0) {
        number_entries<<<blocks, CONVERT_THREADS, 0, stream>>>(B, numbers, row_of);
        SPRY_CUDA_TRY(launched(err, "spgemm: rows of entries"));
        SPRY_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(space, sort_bytes, B.j, sorted, numbers, own->from, (int)B.nnz,
                                                        0, bits_of(B.cols), stream),
                        "spgemm: sort", err);
        SPRY_BY_TYPE(product->type, V,
                     gather<<<blocks, CONVERT_THREADS, 0, stream>>>(own->from, row_of, (const V *)B.x, B.nnz, i,
                                                                    (V *)x));
        SPRY_CUDA_TRY(launched(err, "spgemm: columns"));
    }
    find_columns<<<convert_blocks(B.cols + 1), CONVERT_THREADS, 0, stream>>>(sorted, B.nnz, B.cols, p);
    SPRY_CUDA_TRY(launched(err, "spgemm: offsets of columns"));
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_CONVERTED, stream, err));
    own->columns = {p, i, x};
    return SPRY_OK;
}

/* ---- rows times columns --------------------------------------------------------------------------------- */

/*
 * Merges a row of A, whose entries are begin .. end - 1, with column j of B. Returns true if they share an index. If
 * VALUES is true, also adds to *sum the products of the entries at shared indices.
 */
template <typename V, bool VALUES> static __device__ bool multiply(const seed_rows &r, const older_columns &columns,
                                                                   int64_t begin, int64_t end, int64_t j, V *sum)
{
    const int64_t first = columns.p[j], last = columns.p[j + 1];
    int64_t t = first;
    int32_t previous = -1;
    bool has_entry = false;
    for (int64_t k = begin; k < end; k++) {
        const int32_t i = __ldg(r.A.j + k);
        if (i < previous) t = first; /* the row is not sorted */
        previous = i;
        while (t < last && __ldg(columns.i + t) < i) t++;
        if (t == last || __ldg(columns.i + t) != i) continue;
        has_entry = true;
        if (!VALUES) break;
        *sum += __ldg((const V *)r.A.x + k) * __ldg((const V *)columns.x + t);
    }
    return has_entry;
}

static __global__ void __launch_bounds__(OLDER_THREADS)
    count_entries(seed_rows r, older_columns columns, int32_t *counts)
{
    __shared__ int block_count;
    for (int row = blockIdx.x; row < r.rows; row += gridDim.x) {
        const int64_t begin = r.A.p.get(r.first + row), end = r.A.p.get(r.first + row + 1);
        int count = 0;
        if (threadIdx.x == 0) block_count = 0;
        __syncthreads();
        for (int64_t j = threadIdx.x; j < r.B.cols && begin < end; j += OLDER_THREADS)
            count += multiply<float, false>(r, columns, begin, end, j, NULL);
        if (count > 0) atomicAdd(&block_count, count);
        __syncthreads();
        if (threadIdx.x == 0) counts[row] = block_count;
    }
}

/* Returns how many threads before this thread in the block have an entry. */
static __device__ __forceinline__ int position_of(bool has_entry, int *warps)
{
    const unsigned lanes = __ballot_sync(0xffffffffu, has_entry);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) warps[warp] = __popc(lanes);
    __syncthreads();
    int position = __popc(lanes & ((1u << lane) - 1));
    for (int w = 0; w < warp; w++) position += warps[w];
    __syncthreads();
    return position;
}

template <typename V> static __global__ void __launch_bounds__(OLDER_THREADS)
    fill_entries(seed_rows r, older_columns columns, V alpha, const int64_t *Cp, int32_t *Cj, V *Cx)
{
    __shared__ int warps[OLDER_WARPS];
    for (int row = blockIdx.x; row < r.rows; row += gridDim.x) {
        const int64_t begin = r.A.p.get(r.first + row), end = r.A.p.get(r.first + row + 1), last = Cp[row + 1];
        int64_t at = Cp[row];
        for (int64_t base = 0; base < r.B.cols && at < last; base += OLDER_THREADS) {
            const int64_t j = base + threadIdx.x;
            V sum = 0;
            const bool has_entry = j < r.B.cols && multiply<V, true>(r, columns, begin, end, j, &sum);
            const int found = __syncthreads_count(has_entry);
            if (found == 0) continue;
            const int position = position_of(has_entry, warps);
            if (has_entry) {
                Cj[at + position] = (int32_t)j;
                Cx[at + position] = alpha * sum;
            }
            at += found;
        }
    }
}

/* ---- phases ------------------------------------------------------------------------------------------- */

/*
 * Allocates the workspace (counts, B by columns, scratch of the conversion) and converts B. The sort needs 32-bit
 * counts.
 */
static spry_status older_prepare(spryi_device_product *product, older_state *own, int rows, spry_error *err)
{
    const spry_arrays *b = &product->b;
    size_t sort_bytes = 0;
    if (b->nnz > INT32_MAX)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "B", b->nnz, INT32_MAX,
                                "spgemm_seed_older_cuda: B has %lld entries, expected at most %d", (long long)b->nnz,
                                INT32_MAX);
    SPRY_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(NULL, sort_bytes, (const int32_t *)NULL, (int32_t *)NULL,
                                                    (const int32_t *)NULL, (int32_t *)NULL, (int)b->nnz, 0,
                                                    bits_of(b->columns)),
                    "spgemm: sort", err);
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(NULL, own->scan_bytes, (int32_t *)NULL, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), (int64_t)rows + 1),
                    "spgemm: scan", err);
    const int64_t head = 256, counts = padded(4 * ((int64_t)rows + 1)), scan = padded((int64_t)own->scan_bytes);
    const int64_t offsets = padded(8 * (b->columns + 1)), indices = padded(4 * b->nnz);
    const int64_t values = padded(b->nnz * (int64_t)spry_type_bytes(product->type));
    const int64_t kept = head + counts + scan + offsets + 2 * indices + values;
    own->workspace_bytes = kept + 3 * indices + (int64_t)sort_bytes;
    SPRY_CUDA_TRY(product->memory.allocate(product, &own->workspace, own->workspace_bytes, "B by columns", err));
    char *at = (char *)own->workspace;
    own->products = (unsigned long long *)at;
    own->counts = (int32_t *)(at + head);
    own->scan_space = at + head + counts;
    char *columns = at + head + counts + scan + indices;
    own->from = (int32_t *)(at + head + counts + scan);
    SPRY_CUDA_CHECK(cudaMemsetAsync(at, 0, (size_t)(head + counts), (cudaStream_t)product->stream), "spgemm: clear",
                    err);
    return convert(product, own, at + kept, sort_bytes, (int64_t *)columns, (int32_t *)(columns + offsets),
                   columns + offsets + indices, err);
}

static spry_status older_count(spryi_device_product *product, older_state *own, spry_error *err)
{
    const seed_rows r = rows_of(product);
    cudaStream_t stream = (cudaStream_t)product->stream;
    unsigned long long found = 0;
    SPRY_CUDA_TRY(older_prepare(product, own, r.rows, err));
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_COUNT, stream, err));
    if (r.rows > 0) {
        const int64_t most = (int64_t)BLOCKS_A_MULTIPROCESSOR * product->processor.multiprocessors;
        own->blocks = r.rows < most ? r.rows : (int)most;
        count_entries<<<(unsigned)own->blocks, OLDER_THREADS, 0, stream>>>(r, own->columns, own->counts);
        SPRY_CUDA_TRY(launched(err, "spgemm: count of rows times columns"));
        SPRY_CUDA_TRY(clock_mark(&own->clock, AT_COUNTED, stream, err));
        add_products<<<256, 256, 0, stream>>>(r, own->products);
        SPRY_CUDA_TRY(launched(err, "spgemm: products"));
    }
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_SCAN, stream, err));
    SPRY_CUDA_CHECK(cub::DeviceScan::ExclusiveScan(own->scan_space, own->scan_bytes, own->counts, product->c_offsets,
                                                   cuda::std::plus<>(), int64_t(0), (int64_t)r.rows + 1, stream),
                    "spgemm: scan", err);
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_SCANNED, stream, err));
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&found, own->products, sizeof found, cudaMemcpyDeviceToHost, stream),
                    "spgemm: read", err);
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&product->nnz, product->c_offsets + r.rows, sizeof product->nnz,
                                    cudaMemcpyDeviceToHost, stream),
                    "spgemm: read", err);
    SPRY_CUDA_CHECK(cudaStreamSynchronize(stream), "spgemm: count", err);
    product->products = (int64_t)found;
    return SPRY_OK;
}

static void older_discard(spryi_device_product *product)
{
    older_state *own = (older_state *)product->state;
    if (!own) return;
    if (own->workspace) product->memory.release(product, own->workspace, own->workspace_bytes);
    clock_close(&own->clock);
    free(own);
    product->state = NULL;
}

static spry_status older_symbolic(spryi_device_product *product, spry_error *err)
{
    older_state *own = (older_state *)calloc(1, sizeof *own);
    if (!own) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %zu bytes", sizeof *own);
    product->state = own;
    spry_status status = gpu_require_rising(product, err);
    if (status == SPRY_OK) status = clock_open(&own->clock, product->measure_stages, err);
    if (status == SPRY_OK) status = older_count(product, own, err);
    if (status != SPRY_OK) older_discard(product);
    return status;
}

/* Computes columns and values. In a repeated run of a plan, gathers B's values again because they may have changed. */
static spry_status older_numeric(spryi_device_product *product, spry_error *err)
{
    older_state *own = (older_state *)product->state;
    const seed_rows r = rows_of(product);
    cudaStream_t stream = (cudaStream_t)product->stream;
    if (product->nnz == 0) return SPRY_OK;
    if (product->values_only) {
        const int64_t nnz = product->b.nnz;
        SPRY_BY_TYPE(product->type, V,
                     gather<<<convert_blocks(nnz), CONVERT_THREADS, 0, stream>>>(own->from, NULL,
                                                                                 (const V *)product->b.values, nnz,
                                                                                 NULL, (V *)own->columns.x));
        SPRY_CUDA_TRY(launched(err, "spgemm: values by columns"));
    }
    SPRY_CUDA_TRY(clock_mark(&own->clock, AT_FILL, stream, err));
    SPRY_BY_TYPE(product->type, V,
                 fill_entries<<<(unsigned)own->blocks, OLDER_THREADS, 0, stream>>>(r, own->columns,
                                                                                   *(const V *)product->alpha,
                                                                                   product->c_offsets,
                                                                                   product->c_columns,
                                                                                   (V *)product->c_values));
    SPRY_CUDA_TRY(launched(err, "spgemm: rows times columns"));
    return clock_mark(&own->clock, AT_FILLED, stream, err);
}

static spry_status older_stages(spryi_device_product *product, spryi_spgemm_stages *stages, spry_error *err)
{
    const stage_clock *clock = &((const older_state *)product->state)->clock;
    (void)err;
    stages->convert_us = clock_us(clock, AT_CONVERT, AT_CONVERTED);
    stages->count_us = clock_us(clock, AT_COUNT, AT_COUNTED);
    stages->scan_us = clock_us(clock, AT_SCAN, AT_SCANNED);
    stages->fill_us = clock_us(clock, AT_FILL, AT_FILLED);
    stages->sort_us = stages->fill_us >= 0 ? 0 : -1;
    return SPRY_OK;
}

static const spryi_spgemm_device_phases older_phases = {older_symbolic, older_numeric, older_discard, older_stages};
const spryi_kernel_functions spry_cuda_spgemm_seed_older =
    {"spgemm_seed_older_cuda", NULL, NULL, NULL, NULL, NULL, &older_phases};
