/*
 * csr_adaptive_cuda and csr_adaptive_atomic_cuda: CSR-Adaptive.
 *
 * Idea: rows are grouped into row blocks of at most NNZ_PER_WG entries (csr_row_blocks.cuh). A block of threads uses
 *       one of three methods for its row block:
 *         CSR-Stream   multiple rows: the products of all entries go to shared memory, then each row is added up
 *         CSR-Vector   one row of up to NNZ_PER_WG entries: all threads multiply it, or one warp if it has up to
 *                      ONE_WARP entries
 *         CSR-VectorL  a part of a longer row
 *       In the atomic form, parts add their sums to y by atomicAdd, after another launch has multiplied these elements
 *       of y by beta. In the default form, the sums go to the workspace, and the block that finishes last adds them up
 *       in the order of the parts.
 * Work: 256 threads and NNZ_PER_WG = 2048 in f64, 128 threads and 1024 in f32; parts have 2 NNZ_PER_WG entries. The
 *       CSR-Stream of the paper's listing is correct only if the block has NNZ_PER_WG threads. Here each thread has
 *       eight entries. The parameter nnz_per_wg gives one, two, four or eight entries per thread; with nnz_per_wg=256
 *       the kernel equals the listing. The parameter `vector` is the length above which CSR-VectorL multiplies a row
 *       that is alone in its block. The listing has the length 64; the default is NNZ_PER_WG.
 * Cost: bytes of CSR and 16 bytes per row block. Offsets are copied to the host once, when the plan is built. Rows may
 *       have any length. The default form is deterministic. The atomic form is not; with an infinite alpha it may give
 *       NaN for a long row if the sums of its parts differ in sign.
 * Source: Evtushenko 2019, CSR-Adaptive; Greathouse and Daga, Efficient sparse matrix-vector multiplication on GPUs
 *         using the CSR storage format, 2014; CSR-VectorL: Daga and Greathouse 2015.
 */
#include "device/cuda/reduce.cuh"
#include "formats/csr/csr_row_blocks.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

enum { ONE_WARP = 64 };

/* Workspace for the sums of parts; both pointers are NULL in the atomic form. */
template <typename V> struct part_workspace {
    V *partial;        /* part_count sums */
    unsigned *arrived; /* long_count counters of the parts that have arrived */
};

template <typename SHAPE, typename V, typename P, typename J>
static __device__ void vector_long(const csr_row_blocks s, const csr_row_block mine, const P *__restrict__ Ap,
                                   const J *__restrict__ Aj, const V *__restrict__ Ax, const V *__restrict__ x, V *y,
                                   V alpha, V beta, part_workspace<V> at, V *scratch)
{
    constexpr int THREADS = SHAPE::threads, PART = SHAPE::part;
    const int64_t begin = (int64_t)Ap[mine.row] + (int64_t)mine.part * PART, row_end = (int64_t)Ap[mine.row + 1];
    const int64_t end = row_end - begin > PART ? begin + PART : row_end;
    V sum = strided_product<THREADS>(begin + threadIdx.x, end, Aj, Ax, x);
    sum = sum_of_block<THREADS>(sum, scratch);
    if (!at.partial) {
        if (threadIdx.x == 0 && alpha != 0) atomicAdd(y + mine.row, alpha * sum);
        return;
    }
    const csr_long_row row = s.long_rows[mine.long_row];
    const int last =
        add_part<THREADS>(&sum, mine.part, row.parts, at.partial + row.first, at.arrived + mine.long_row, scratch);
    if (last && threadIdx.x == 0) put(y, mine.row, sum, alpha, beta);
}

/* Multiplies one row of `count` entries from `base` on. */
template <typename SHAPE, typename V, typename J>
static __device__ void vector_row(int64_t row, int64_t base, int count, const J *__restrict__ Aj,
                                  const V *__restrict__ Ax, const V *__restrict__ x, V *y, V alpha, V beta, V *scratch)
{
    constexpr int THREADS = SHAPE::threads;
    V sum;
    if (count <= ONE_WARP) {
        if (threadIdx.x >= 32) return;
        sum = lanes_sum(strided_product<32>(base + threadIdx.x, base + count, Aj, Ax, x), 32);
    } else {
        sum = strided_product<THREADS>(base + threadIdx.x, base + count, Aj, Ax, x);
        sum = sum_of_block<THREADS>(sum, scratch);
    }
    if (threadIdx.x == 0) put(y, row, sum, alpha, beta);
}

/*
 * Multiplies rows first .. first + rows - 1, which have `count` entries from `begin` on. Reads from the start of the
 * sector of entry `begin`; the products of entries before `begin` are not used. Threads beyond the last entry load that
 * entry again, and their products are not used. There is no branch, so that all loads are in flight together.
 */
template <typename SHAPE, typename V, typename P, typename J>
static __device__ void stream_rows(int64_t first, int rows, int64_t begin, int count, const P *__restrict__ Ap,
                                   const J *__restrict__ Aj, const V *__restrict__ Ax, const V *__restrict__ x, V *y,
                                   V alpha, V beta, V *products)
{
    constexpr int THREADS = SHAPE::threads, ITEMS = SHAPE::items;
    const int64_t base = begin / CSR_SECTOR * CSR_SECTOR;
    count += (int)(begin - base);
    if (count > 0) {
        int k[ITEMS];
        J j[ITEMS];
        V a[ITEMS];
#pragma unroll
        for (int u = 0; u < ITEMS; u++) k[u] = min((int)threadIdx.x + u * THREADS, count - 1);
#pragma unroll
        for (int u = 0; u < ITEMS; u++) j[u] = load_once(Aj + base + k[u]);
#pragma unroll
        for (int u = 0; u < ITEMS; u++) a[u] = Ax ? load_once(Ax + base + k[u]) : V(1);
#pragma unroll
        for (int u = 0; u < ITEMS; u++) products[threadIdx.x + u * THREADS] = a[u] * x[j[u]];
    }
    __syncthreads();
    const int lanes = lanes_for<THREADS>(rows), lane = threadIdx.x & (lanes - 1), group = threadIdx.x / lanes;
    for (int done = 0; done < rows;
         done += THREADS / lanes) { /* one iteration unless there are more rows than groups of lanes */
        const int r = done + group;
        V sum = 0;
        if (r < rows)
            for (int k = (int)(Ap[first + r] - base) + lane, end = (int)(Ap[first + r + 1] - base); k < end; k += lanes)
                sum += products[k];
        sum = lanes_sum(sum, lanes);
        if (r < rows && lane == 0) put(y, first + r, sum, alpha, beta);
    }
}

template <typename SHAPE, typename V, typename P, typename J> static __global__ void __launch_bounds__(SHAPE::threads)
    csr_adaptive(const csr_row_blocks s, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
                 const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given, scalar<V> beta_given,
                 part_workspace<V> at)
{
    __shared__ V products[SHAPE::nnz_per_wg];
    const V alpha = alpha_given.get(), beta = beta_given.get();
    const csr_row_block mine = s.block[blockIdx.x];
    if (mine.long_row >= 0) {
        vector_long<SHAPE>(s, mine, Ap, Aj, Ax, x, y, alpha, beta, at, products);
        return;
    }
    const int rows = (int)(s.block[blockIdx.x + 1].row - mine.row);
    const int64_t base = (int64_t)Ap[mine.row];
    const int count = (int)((int64_t)Ap[mine.row + rows] - base);
    if (rows == 1)
        vector_row<SHAPE>(mine.row, base, count, Aj, Ax, x, y, alpha, beta, products);
    else
        stream_rows<SHAPE>(mine.row, rows, base, count, Ap, Aj, Ax, x, y, alpha, beta, products);
}

/* Sets y = beta*y for the long rows. */
template <typename V>
static __global__ void scale_long_rows(int64_t count, const csr_long_row *rows, V *y, scalar<V> beta_given)
{
    const int64_t l = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (l < count) put(y, rows[l].row, V(0), V(0), beta_given.get());
}

/* The workspace has the sums of the parts, and then the counters of the long rows, which are zero between runs. */
static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    const csr_row_blocks *s = (const csr_row_blocks *)auxiliary;
    (void)request;
    return s->long_count > 0 ? s->part_count * 8 + s->long_count * 4 : 0;
}

template <typename SHAPE, typename V, typename P, typename J>
static void launch_shape(const spryi_run_args *args, part_workspace<V> at)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const csr_row_blocks *s = (const csr_row_blocks *)args->auxiliary;
    csr_adaptive<SHAPE, V, P, J>
        <<<(unsigned)s->blocks, SHAPE::threads, 0, stream_of(args)>>>(*s, (const P *)a->offsets, (const J *)a->indices,
                                                                      (const V *)a->values, (const V *)args->x,
                                                                      (V *)args->y, SPRY_ALPHA(V, args),
                                                                      SPRY_BETA(V, args), at);
}

template <typename V, typename P, typename J>
static spry_status launch(const spryi_run_args *args, part_workspace<V> at, const char *name, spry_error *err)
{
    /* the value of the parameter is the position of the user's word in its list, counted from 1; 0: default */
    switch (args->kernel_parameters[SPRYI_CSR_NNZ_PER_WG]) {
    case 1: launch_shape<row_block_shape<V, 256>, V, P, J>(args, at); break;
    case 2: launch_shape<row_block_shape<V, 512>, V, P, J>(args, at); break;
    case 3: launch_shape<row_block_shape<V, 1024>, V, P, J>(args, at); break;
    case 4: launch_shape<row_block_shape<V, 2048>, V, P, J>(args, at); break;
    default: launch_shape<row_block_shape<V>, V, P, J>(args, at); break;
    }
    return launched(err, name);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const csr_row_blocks *s = (const csr_row_blocks *)args->auxiliary;
    part_workspace<V> at = {};
    if (s->blocks == 0) return SPRY_OK;
    if (s->long_count > 0) {
        at.partial = (V *)args->workspace;
        at.arrived = (unsigned *)((char *)args->workspace + s->part_count * 8);
    }
    return launch<V, P, J>(args, at, "csr_adaptive_cuda", err);
}

template <typename V, typename P, typename J> static spry_status run_atomic(const spryi_run_args *args, spry_error *err)
{
    const csr_row_blocks *s = (const csr_row_blocks *)args->auxiliary;
    part_workspace<V> no_workspace = {};
    if (s->blocks == 0) return SPRY_OK;
    if (s->long_count > 0)
        scale_long_rows<V>
            <<<(unsigned)ceil_div(s->long_count, 256), 256, 0, stream_of(args)>>>(s->long_count, s->long_rows,
                                                                                  (V *)args->y, SPRY_BETA(V, args));
    return launch<V, P, J>(args, no_workspace, "csr_adaptive_atomic_cuda", err);
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);
static const spryi_run_table atomic_runs = SPRY_CUDA_TABLE(run_atomic);

const spryi_kernel_functions spry_cuda_csr_adaptive =
    {"csr_adaptive_cuda", &runs, NULL, spry_cuda_row_blocks_prepare, spry_cuda_row_blocks_discard, workspace_bytes};

const spryi_kernel_functions spry_cuda_csr_adaptive_atomic =
    {"csr_adaptive_atomic_cuda", &atomic_runs, NULL, spry_cuda_row_blocks_prepare, spry_cuda_row_blocks_discard, NULL};
