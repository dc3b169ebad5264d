/*
 * csr_vector_cuda: CSR-Vector, a group of lanes per row, without set-up. The default for few products.
 *
 * Idea: 2, 4, 8, 16 or 32 lanes of a warp read consecutive entries of a row, four each before they wait, and add up
 *       their sums by shuffles. A row over 128 entries, and over 16 per lane, is added by its whole warp. If 256
 *       consecutive rows have over 1.5 times their usual number of entries, and 1024 more, the blocks of these rows
 *       share those over 1024: each block reads all 256 lengths and adds every LANES-th long row.
 * Work: 256 threads per block. The mean row and the number of rows give the lanes (spryi_csr_vector_lanes), or the
 *       parameter `lanes`. If rows are longer than 512 in the mean, each has a block. With 32 lanes it is CSR-Vector as
 *       both papers print it, one warp per row.
 * Cost: bytes of CSR, read in whole sectors if rows are as long as the group; log2(lanes) shuffles per row. A long row
 *       keeps one block busy.
 * Source: Evtushenko 2019 and Meister 2013, CSR-Vector; Bell and Garland 2008, 4.3; groups smaller than a warp:
 *         Baskaran and Bordawekar 2009; long rows and loads in flight: this library.
 * Differences from the listings, with 32 lanes: y = alpha*A*x + beta*y. Entries of a pattern are 1. Long rows.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

enum { THREADS = SPRYI_CSR_BLOCK_A_ROW, WARP = 32, IN_FLIGHT = SPRYI_CSR_IN_FLIGHT };
enum { LONG_FOR_LANES = SPRYI_CSR_LONG_FOR_LANES, LONG_FOR_WARP = SPRYI_CSR_LONG_FOR_WARP };

/*
 * Loads *p if `wanted`, else returns 0. Without `volatile` the compiler would wait for each load of an f64 product, and
 * might move loads before wait_for_previous_kernel.
 */
#define LOAD_IF(T, ptx_type, constraint)                                                                               \
    static __device__ __forceinline__ T load_if(bool wanted, const T *p)                                               \
    {                                                                                                                  \
        T v = 0;                                                                                                       \
        asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global." ptx_type " %0, [%1];}"                    \
                     : constraint(v)                                                                                   \
                     : "l"(p), "r"((int)wanted));                                                                      \
        return v;                                                                                                      \
    }
LOAD_IF(int32_t, "s32", "+r")
LOAD_IF(int64_t, "s64", "+l")
LOAD_IF(float, "f32", "+f")
LOAD_IF(double, "f64", "+d")
#undef LOAD_IF

/* Adds the products of entries k, k + STEP, ... below end, with N entries in flight. */
template <int STEP, int N = IN_FLIGHT, typename V, typename J>
static __device__ __forceinline__ V add_entries(int64_t k, int64_t end, const J *__restrict__ Aj,
                                                const V *__restrict__ Ax, const V *__restrict__ x)
{
    V sum = 0;
#pragma unroll 1
    for (; k < end; k += N * STEP) {
        const int left = (int)min(end - k, (int64_t)(N * STEP));
        J j[N];
        V a[N], b[N];
#pragma unroll
        for (int u = 0; u < N; u++) j[u] = load_if(u * STEP < left, Aj + k + u * STEP);
#pragma unroll
        for (int u = 0; u < N; u++)
            a[u] = Ax ? load_if(u * STEP < left, Ax + k + u * STEP) : V(u * STEP < left);
#pragma unroll
        for (int u = 0; u < N; u++) b[u] = load_if(u * STEP < left, x + j[u]);
#pragma unroll
        for (int u = 0; u < N; u++) sum += a[u] * b[u];
    }
    return sum;
}

/* Adds the rows of the warp's lanes where `left` has a bit, each by all lanes. Returns the sum to the row's lane. */
template <typename V, typename P, typename J>
static __device__ V add_by_warp(unsigned left, P begin, P end, const J *__restrict__ Aj, const V *__restrict__ Ax,
                                const V *__restrict__ x)
{
    const int lane = lane_of_warp();
    V own = 0;
    for (; left; left &= left - 1) {
        const int whose = __ffs(left) - 1;
        const P first = __shfl_sync(0xffffffffu, begin, whose), last = __shfl_sync(0xffffffffu, end, whose);
        const V sum = lanes_sum(add_entries<WARP>((int64_t)first + lane, last, Aj, Ax, x), WARP);
        const V all = __shfl_sync(0xffffffffu, sum, 0);
        if (lane == whose) own = all;
    }
    return own;
}

/* Adds row i by the whole block, with N entries of each thread in flight. */
template <int N, typename V, typename P, typename J>
static __device__ __forceinline__ void add_by_block(int64_t i, const P *__restrict__ Ap, const J *__restrict__ Aj,
                                    const V *__restrict__ Ax, const V *__restrict__ x, V *__restrict__ y,
                                    scalar<V> alpha, scalar<V> beta)
{
    __shared__ V scratch[THREADS / WARP];
    const int64_t begin = load_if(true, Ap + i), end = load_if(true, Ap + i + 1);
    const V sum = sum_of_block<THREADS>(add_entries<THREADS, N>(begin + threadIdx.x, end, Aj, Ax, x), scratch);
    if (threadIdx.x == 0) put(y, i, sum, alpha.get(), beta.get());
}

template <typename V, typename P, typename J>
static __global__ void __launch_bounds__(THREADS)
    csr_vector_block(const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
                     const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    wait_for_previous_kernel();
    add_by_block<2 * IN_FLIGHT>(blockIdx.x, Ap, Aj, Ax, x, y, alpha, beta);
}

/*
 * Adds the rows over LONG_FOR_WARP among rows first .. end - 1, at most THREADS rows, which belong to `blocks` blocks.
 * All threads of these blocks call this function. Block `turn` adds the long rows turn, turn + blocks, ...
 */
template <typename V, typename P, typename J>
static __device__ void add_long_rows(int64_t first, int64_t end, int turn, int blocks, const P *__restrict__ Ap,
                                     const J *__restrict__ Aj, const V *__restrict__ Ax, const V *__restrict__ x,
                                     V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    __shared__ unsigned found[THREADS / WARP]; /* a bit per row */
    const int64_t mine = first + threadIdx.x;
    const int is_long = load_if(mine < end, Ap + mine + 1) - load_if(mine < end, Ap + mine) > LONG_FOR_WARP;
    const unsigned bits = __ballot_sync(0xffffffffu, is_long);
    if (lane_of_warp() == 0) found[threadIdx.x / WARP] = bits;
    if (!__syncthreads_or(is_long)) return;
    int number = 0;
    for (int w = 0; w < THREADS / WARP; w++)
        for (unsigned left = found[w]; left; left &= left - 1)
            if (number++ % blocks == turn)
                add_by_block<IN_FLIGHT>(first + w * WARP + __ffs(left) - 1, Ap, Aj, Ax, x, y, alpha, beta);
}

template <int LANES, typename V, typename P, typename J>
static __global__ void __launch_bounds__(THREADS, sizeof(V) == 8 ? 6 : 8)
    csr_vector(int64_t m, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
               const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta, int64_t usual)
{
    enum { ROWS = THREADS / LANES, LONG = LONG_FOR_LANES > 16 * LANES ? (int)LONG_FOR_LANES : 16 * LANES };
    const int64_t first = (int64_t)blockIdx.x * ROWS, i = first + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    wait_for_previous_kernel(); /* the previous kernel may have written the arrays of a plan for one product */
    /* groups of LANES blocks, counted from the last block, because dense rows are often last */
    const unsigned turn = (gridDim.x - 1 - blockIdx.x) % LANES, blocks = min((unsigned)LANES, blockIdx.x + turn + 1);
    const int64_t group_end = first + (int64_t)(turn + 1) * ROWS, group = group_end - (int64_t)blocks * ROWS;
    const bool may_be_long = load_if(true, Ap + min(group_end, m)) - load_if(true, Ap + group) > usual;
    const P begin = load_if(i < m, Ap + i), end = load_if(i < m, Ap + i + 1);
    const bool is_for_block = may_be_long && end - begin > LONG_FOR_WARP;
    const bool is_for_warp = end - begin > LONG && !is_for_block;
    V sum = is_for_warp || is_for_block ? V(0) : add_entries<LANES>((int64_t)begin + lane, end, Aj, Ax, x);
    sum = lanes_sum(sum, LANES);
    const unsigned left = __ballot_sync(0xffffffffu, is_for_warp && lane == 0);
    if (left) {
        const V own = add_by_warp(left, begin, end, Aj, Ax, x);
        if (is_for_warp) sum = own;
    }
    if (i < m && lane == 0 && !is_for_block) put(y, i, sum, alpha.get(), beta.get());
    if (!may_be_long) return;
    add_long_rows(group, min(group_end, m), (int)turn, (int)blocks, Ap, Aj, Ax, x, y, alpha, beta);
}

/* LANES == THREADS: a block per row. */
template <int LANES, typename V, typename P, typename J>
static spry_status launch(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const P *Ap = (const P *)a->offsets;
    const J *Aj = (const J *)a->indices;
    const V *Ax = (const V *)a->values, *x = (const V *)args->x;
    if (a->rows == 0) return SPRY_OK;
    const int64_t blocks = ceil_div(a->rows, THREADS / LANES);
    const int64_t usual = (int64_t)(1.5 * THREADS * (double)a->nnz / (double)a->rows) + LONG_FOR_WARP;
    if constexpr (LANES == THREADS)
        launch_early(args, csr_vector_block<V, P, J>, blocks, THREADS, 0, Ap, Aj, Ax, x, (V *)args->y,
                     SPRY_ALPHA(V, args), SPRY_BETA(V, args));
    else
        launch_early(args, csr_vector<LANES, V, P, J>, blocks, THREADS, 0, a->rows, Ap, Aj, Ax, x, (V *)args->y,
                     SPRY_ALPHA(V, args), SPRY_BETA(V, args), usual);
    return launched(err, "csr_vector_cuda");
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const int given = (int)args->kernel_parameters[SPRYI_CSR_LANES]; /* the words of the parameter are 2, 4, ... 32 */
    const int lanes = given > 0 ? 1 << given : spryi_csr_vector_lanes(a->rows, a->nnz);
    if (lanes == 2) return launch<2, V, P, J>(args, err);
    if (lanes == 4) return launch<4, V, P, J>(args, err);
    if (lanes == 8) return launch<8, V, P, J>(args, err);
    if (lanes == 16) return launch<16, V, P, J>(args, err);
    return lanes == 32 ? launch<32, V, P, J>(args, err) : launch<THREADS, V, P, J>(args, err);
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr_vector = {"csr_vector_cuda", &runs, NULL, NULL, NULL, NULL};
