/*
 * Rows of A with few entries: the thread of a row merges its rows of B.
 *
 * Idea: the first columns left of the (at most 8) sorted rows of B stay in registers; the least is C's next column,
 *       and every row that has it adds its product and moves on. No table, no sort, no atomic operation; counting is
 *       the same loop without values. A warp brings the rows of B of its 32 rows into shared memory first (neighbours'
 *       are neighbours more often than not, so that reads are coalesced), and puts C together there.
 * Work: a warp 32 neighbouring rows; warps whose rows need more shared memory than there is read and write directly.
 * Cost: Aj, B's rows once for each entry of A (from cache), C written once.
 * Source: merge of sorted rows: Gremse et al. 2015 (RMerge); staging: this library.
 */
#include "spgemm/gpu_spgemm_cuda.h"

#include <cuda_pipeline.h>

/* ---- extents ----------------------------------------------------------------------------------------- */

enum { CLASSIFY_THREADS = 128 };

struct row_extent {
    int64_t products;
    int32_t first, last; /* columns */
};

/* Of entry k of A: the row of B it meets. */
static __device__ __forceinline__ void extend(row_extent *e, const gpu_rows &r, int64_t k, int with_span)
{
    const int32_t j = __ldg(r.A.j + k);
    const int64_t start = r.B.p.get(j), end = r.B.p.get((int64_t)j + 1);
    e->products += end - start;
    if (with_span && end > start) {
        e->first = min(e->first, __ldg(r.B.j + start));
        e->last = max(e->last, __ldg(r.B.j + end - 1));
    }
}

/* ---- merge -------------------------------------------------------------------------------------------- */

/* What a lane merges: rows of B as positions in the staged arrays, or in B's own where nothing is staged. */
template <int MOST, typename V, typename P> struct merge_heads {
    P at[MOST], end[MOST];
    int32_t column[MOST];
    V a[MOST];
};

/*
 * Asks for the u-th rows of B of a warp's lanes, to stage_j, stage_x + *used: neighbours in B in one go, else each by
 * its lane. Returns where the lane's begins.
 */
template <bool VALUES, typename V> static __device__ __forceinline__ int
stage_rows(int64_t start, int length, const int32_t *Bj, const V *Bx, int32_t *stage_j, V *stage_x, int *used)
{
    const int lane = threadIdx.x % 32;
    const int64_t next = __shfl_down_sync(ALL_LANES, start, 1);
    int total, at;
    if (__all_sync(ALL_LANES, length > 0 && (lane == 31 || start + length == next))) {
        const int64_t from = __shfl_sync(ALL_LANES, start, 0);
        at = *used + (int)(start - from);
        total = __shfl_sync(ALL_LANES, (int)(start - from) + length, 31);
        for (int e = lane; e < total; e += 32) {
            __pipeline_memcpy_async(&stage_j[*used + e], Bj + from + e, sizeof(int32_t));
            if (VALUES) __pipeline_memcpy_async(&stage_x[*used + e], Bx + from + e, sizeof(V));
        }
    } else {
        at = *used + lanes_before(length, 32, &total);
        for (int e = 0; e < length; e++) {
            __pipeline_memcpy_async(&stage_j[at + e], Bj + start + e, sizeof(int32_t));
            if (VALUES) __pipeline_memcpy_async(&stage_x[at + e], Bx + start + e, sizeof(V));
        }
    }
    *used += total;
    return at;
}

/* Merges; the n-th column and sum go to out_j[n], out_x[n] (NULL: only counted). Returns how many. */
template <int MOST, bool VALUES, typename V, typename P> static __device__ __forceinline__ int
merge_lane(merge_heads<MOST, V, P> &h, const int32_t *Bj, const V *Bx, V alpha, int32_t *out_j, V *out_x)
{
    int n = 0;
    while (true) {
        int32_t least = h.column[0];
#pragma unroll
        for (int u = 1; u < MOST; u++) least = min(least, h.column[u]);
        if (least == NO_COLUMN) return n;
        V sum = 0;
#pragma unroll
        for (int u = 0; u < MOST; u++) {
            if (h.column[u] == least) {
                if (VALUES) add_product(&sum, h.a[u], Bx[h.at[u]]);
                h.at[u]++;
                h.column[u] = h.at[u] < h.end[u] ? Bj[h.at[u]] : NO_COLUMN;
            }
        }
        if (VALUES) {
            if (out_j) out_j[n] = least;
            out_x[n] = alpha * sum;
        }
        n++;
    }
}

/* A warp's 32 rows. MOST: no row of them has more entries. */
template <int MOST, bool VALUES, typename V>
static __device__ __forceinline__ void merge_warp(const gpu_rows &r, int64_t i, int64_t start, int length, int most_in,
                                                  int most_out, char *shared, row_offsets Cp, int32_t *Cj, V *Cx,
                                                  V alpha)
{
    const int lane = threadIdx.x % 32;
    int64_t from[MOST];
    int lengths[MOST], products = 0;
    V a[MOST];
#pragma unroll
    for (int u = 0; u < MOST; u++) {
        from[u] = lengths[u] = 0;
        a[u] = 0;
        if (u < length) {
            const int32_t j = __ldg(r.A.j + start + u);
            from[u] = r.B.p.get(j);
            lengths[u] = (int)(r.B.p.get((int64_t)j + 1) - from[u]);
            if (VALUES) a[u] = __ldg((const V *)r.A.x + start + u);
        }
        products += lengths[u];
    }
    const int of_all = warp_sum(products), staged = of_all <= most_in;
    if (of_all == 0) return;
    V *stage_x = (V *)shared;
    int32_t *stage_j = (int32_t *)(stage_x + (VALUES ? most_in : 0));
    int64_t base = 0, results = 0;
    int direct = 1, out_at = 0;
    V *out_x = (V *)(stage_j + most_in + (most_in & 1));
    int32_t *out_j = (int32_t *)(out_x + (VALUES ? most_out : 0));
    if (VALUES) {
        const int64_t mine = i < r.rows && products > 0 ? Cp.get(i) : -1;
        const int count = mine >= 0 ? r.counts[i] : 0;
        int total;
        out_at = lanes_before(count, 32, &total);
        /* the lanes' rows follow one another in C: then they leave together */
        const unsigned any = __ballot_sync(ALL_LANES, mine >= 0);
        if (any == 0) return;
        const int64_t shift = mine - out_at;
        base = __shfl_sync(ALL_LANES, shift, __ffs(any) - 1);
        direct = !__all_sync(ALL_LANES, mine < 0 || shift == base) || total > most_out;
        results = direct ? mine : total;
    }
    int n;
    int32_t *to_j = direct ? (Cj ? Cj + results : NULL) : Cj ? out_j + out_at : NULL;
    V *to_x = direct ? Cx + results : out_x + out_at;
    if (staged) {
        merge_heads<MOST, V, int> h;
        int used = 0;
#pragma unroll
        for (int u = 0; u < MOST; u++) {
            h.at[u] = stage_rows<VALUES>(from[u], lengths[u], r.B.j, (const V *)r.B.x, stage_j, stage_x, &used);
            h.end[u] = h.at[u] + lengths[u];
            h.a[u] = a[u];
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
#pragma unroll
        for (int u = 0; u < MOST; u++) h.column[u] = lengths[u] > 0 ? stage_j[h.at[u]] : NO_COLUMN;
        n = merge_lane<MOST, VALUES>(h, stage_j, stage_x, alpha, to_j, to_x);
    } else {
        merge_heads<MOST, V, int64_t> h;
#pragma unroll
        for (int u = 0; u < MOST; u++) {
            h.at[u] = from[u];
            h.end[u] = from[u] + lengths[u];
            h.a[u] = a[u];
            h.column[u] = lengths[u] > 0 ? __ldg(r.B.j + from[u]) : NO_COLUMN;
        }
        n = merge_lane<MOST, VALUES>(h, r.B.j, (const V *)r.B.x, alpha, to_j, to_x);
    }
    if (!VALUES) {
        if (products > 0) r.counts[i] = n;
        const int of_warp = warp_sum(n);
        if (lane == 0 && (unsigned)of_warp > r.found->merge_results)
            atomicMax(&r.found->merge_results, (unsigned)of_warp);
        return;
    }
    if (direct) return;
    __syncwarp();
    for (int e = lane; e < (int)results; e += 32) {
        if (Cj) Cj[base + e] = out_j[e];
        Cx[base + e] = out_x[e];
    }
}

template <bool VALUES, typename V>
static __device__ __forceinline__ void merge_any(const gpu_rows &r, int64_t i, int64_t start, int length, int longest,
                                                 int most_in, int most_out, char *shared, row_offsets Cp, int32_t *Cj,
                                                 V *Cx, V alpha)
{
#define MERGE(MOST) merge_warp<MOST, VALUES, V>(r, i, start, length, most_in, most_out, shared, Cp, Cj, Cx, alpha)
    if (longest <= 3)
        MERGE(3);
    else if (longest <= 4)
        MERGE(4);
    else if (longest <= 5)
        MERGE(5);
    else if (longest <= 7)
        MERGE(7);
    else
        MERGE(8);
#undef MERGE
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

/* A row of up to MERGE_MOST entries by its thread, a longer one by its warp; then rows to be merged are counted. */
static __global__ void __launch_bounds__(CLASSIFY_THREADS) classify_rows(gpu_rows r, int most_in, int bytes_of_warp)
{
    extern __shared__ double2 merge_shared[];
    __shared__ unsigned rows[ROW_CLASSES], most[3];
    __shared__ unsigned long long products_of_block, most_products;
    if (threadIdx.x < ROW_CLASSES) rows[threadIdx.x] = 0;
    if (threadIdx.x < 3) most[threadIdx.x] = 0;
    if (threadIdx.x == 0) products_of_block = most_products = 0;
    __syncthreads();
    const int64_t i = (int64_t)blockIdx.x * CLASSIFY_THREADS + threadIdx.x;
    const int lane = threadIdx.x % 32;
    int64_t start = 0, end = 0;
    if (i < r.rows) {
        start = r.A.p.get(r.first + i);
        end = r.A.p.get(r.first + i + 1);
    }
    row_extent mine = {0, NO_COLUMN, -1};
    int by_warp = end - start > MERGE_MOST;
    if (!by_warp) {
        for (int64_t k = start; k < end; k++) extend(&mine, r, k, 0);
        by_warp = mine.products > MERGE_PRODUCTS;
    }
    /* where few of a warp's rows could be merged, they go with the others */
    const unsigned some = __ballot_sync(ALL_LANES, by_warp || mine.products > 0);
    if (4 * __popc(__ballot_sync(ALL_LANES, !by_warp && mine.products > 0)) <= __popc(some))
        by_warp = by_warp || mine.products > 0;
    int class_now = by_warp ? ROW_BLOCK : mine.products > 0 ? ROW_MERGE : ROW_EMPTY, words = 0;
    const int merged = by_warp ? 0 : (int)mine.products;
    for (unsigned left = __ballot_sync(ALL_LANES, by_warp); left; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const int64_t from = __shfl_sync(ALL_LANES, start, owner), to = __shfl_sync(ALL_LANES, end, owner);
        row_extent e = {0, NO_COLUMN, -1};
        for (int64_t k = from + lane; k < to; k += 32) extend(&e, r, k, 1);
        for (int step = 16; step > 0; step /= 2) {
            e.products += __shfl_xor_sync(ALL_LANES, e.products, step);
            e.first = min(e.first, __shfl_xor_sync(ALL_LANES, e.first, step));
            e.last = max(e.last, __shfl_xor_sync(ALL_LANES, e.last, step));
        }
        if (lane == owner) mine = e;
    }
    if (by_warp) {
        class_now = ROW_EMPTY;
        if (mine.products > 0) {
            words = mine.last / 32 - mine.first / 32 + 1;
            class_now = gpu_class_of(mine.products, words);
        }
        if (i < r.rows) {
            r.low[i] = mine.first / 32;
            r.products[i] = (int32_t)min(mine.products, (int64_t)NO_COLUMN);
        }
    }
    if (i < r.rows) {
        r.words[i] = words;
        if (class_now != ROW_MERGE) r.counts[i] = 0;
        if (i == r.rows - 1) r.counts[r.rows] = 0;
    }
    const int merged_of_warp = warp_sum(merged), longest = warp_max(class_now == ROW_MERGE ? (int)(end - start) : 0);
    int64_t all = mine.products, most_of_warp = mine.products;
    for (int step = 16; step > 0; step /= 2) {
        all += __shfl_xor_sync(ALL_LANES, all, step);
        most_of_warp = max(most_of_warp, __shfl_xor_sync(ALL_LANES, most_of_warp, step));
    }
    for (int c = 1; c < ROW_CLASSES; c++) {
        const unsigned of_class = __ballot_sync(ALL_LANES, class_now == c);
        if (lane == 0 && of_class) atomicAdd(&rows[c], (unsigned)__popc(of_class));
    }
    if (lane == 0) {
        atomicAdd(&products_of_block, (unsigned long long)all);
        atomicMax(&most_products, (unsigned long long)most_of_warp);
        atomicMax(&most[0], (unsigned)merged_of_warp);
        atomicMax(&most[1], (unsigned)longest);
    }
    if (merged_of_warp > 0)
        merge_any<false, float>(r, i, start, class_now == ROW_MERGE ? (int)(end - start) : 0, longest, most_in, 0,
                                (char *)merge_shared + (threadIdx.x / 32) * bytes_of_warp, row_offsets(), NULL, NULL,
                                0.0f);
    __syncthreads();
    if (threadIdx.x < ROW_CLASSES && rows[threadIdx.x]) atomicAdd(&r.found->rows[threadIdx.x], rows[threadIdx.x]);
    if (threadIdx.x == 0) {
        if (products_of_block) atomicAdd(&r.found->products, products_of_block);
        /* a read first: most blocks have nothing to raise */
        if (most[0] > r.found->merge_products) atomicMax(&r.found->merge_products, most[0]);
        if (most[1] > r.found->merge_longest) atomicMax(&r.found->merge_longest, most[1]);
        const unsigned top = (unsigned)min(most_products, 0xffffffffull);
        if (top > r.found->most_products) atomicMax(&r.found->most_products, top);
    }
}

enum { MERGE_WARPS = 2, MERGE_THREADS = 32 * MERGE_WARPS };

template <typename V> static __global__ void __launch_bounds__(MERGE_THREADS)
    merge_rows(gpu_rows r, int most_in, int most_out, int bytes_of_warp, row_offsets Cp, int32_t *Cj, V *Cx, V alpha)
{
    extern __shared__ double2 merge_shared[];
    const int64_t i = (int64_t)blockIdx.x * MERGE_THREADS + threadIdx.x;
    int64_t start = 0;
    int length = 0;
    if (i < r.rows && r.words[i] == 0 && r.counts[i] > 0) {
        start = r.A.p.get(r.first + i);
        length = (int)(r.A.p.get(r.first + i + 1) - start);
    }
    const int longest = warp_max(length);
    if (longest > 0)
        merge_any<true, V>(r, i, start, length, longest, most_in, most_out,
                           (char *)merge_shared + (threadIdx.x / 32) * bytes_of_warp, Cp, Cj, Cx, alpha);
}

/* ---- launches ----------------------------------------------------------------------------------------- */

/* Rows of this length on average need about so many entries a warp. */
spry_status gpu_classify_rows(const gpu_rows *r, cudaStream_t stream, spry_error *err)
{
    if (r->rows == 0) return SPRY_OK;
    const double mean = r->A.rows > 0 ? (double)r->A.nnz / (double)r->A.rows : 0;
    const int in = mean > MERGE_MOST ? 512 : mean > 7 ? 2048 : ((int)(32 * (mean + 1) * (mean + 1)) + 3) & ~3;
    const int of_warp = in * 4, bytes = of_warp * (CLASSIFY_THREADS / 32);
    cudaError_t code = cudaFuncSetAttribute(classify_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: classify rows");
    classify_rows<<<(unsigned)ceil_div(r->rows, CLASSIFY_THREADS), CLASSIFY_THREADS, bytes, stream>>>(*r, in, of_warp);
    return launched(err, "spgemm: classify rows");
}

/* Entries a warp may stage: what its neighbours need at most, within what leaves room for enough warps. */
static int staged_entries(unsigned needed, int limit)
{
    const int n = needed < (unsigned)limit ? (int)needed : limit;
    return (n + 3) & ~3;
}

template <typename V> static spry_status run_merge(const gpu_rows *r, const gpu_row_counts *found, row_offsets Cp,
                                                   int32_t *Cj, V *Cx, V alpha, cudaStream_t stream, spry_error *err)
{
    const int in = staged_entries(found->merge_products, 2048), out = staged_entries(found->merge_results, 1024);
    const int of_warp = ((in + out) * (int)(sizeof(int32_t) + sizeof(V)) + 15) & ~15;
    cudaError_t code =
        cudaFuncSetAttribute(merge_rows<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, of_warp * MERGE_WARPS);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: merge rows");
    merge_rows<V>
        <<<(unsigned)ceil_div(r->rows, MERGE_THREADS), MERGE_THREADS, of_warp * MERGE_WARPS, stream>>>(*r, in, out,
                                                                                                       of_warp, Cp, Cj,
                                                                                                       Cx, alpha);
    return launched(err, "spgemm: merge rows");
}

spry_status gpu_merge_values(const gpu_rows *r, const gpu_row_counts *found, const gpu_result *C, cudaStream_t stream,
                             spry_error *err)
{
    if (found->rows[ROW_MERGE] == 0) return SPRY_OK;
    if (C->type == SPRY_F64) return run_merge<double>(r, found, C->p, C->j, (double *)C->x, C->alpha, stream, err);
    return run_merge<float>(r, found, C->p, C->j, (float *)C->x, (float)C->alpha, stream, err);
}
