/*
 * Sorts the rows by class, and later by the list of the numeric phase to which a row belongs. Both are counting sorts
 * on the device, in which a block processes LIST_THREADS rows.
 */
#include "spgemm/kernels/cuda/steps_cuda.cuh"

enum { LIST_THREADS = 256, MOST_LISTS = 24 };

static __device__ __forceinline__ int64_t row_length(const gpu_rows &r, int64_t i)
{
    return r.A.p.get(r.first + i + 1) - r.A.p.get(r.first + i);
}

/* Returns the list of the numeric phase to which row i belongs, or -1 if the row is merged or empty. */
static __device__ __forceinline__ int list_now(const gpu_rows &r, int64_t i, int value_bytes, int shared_bytes)
{
    const int words = r.words[i], entries = r.counts[i];
    if (words == 0 || entries == 0) return -1;
    const int64_t length = row_length(r, i);
    const int of_class = gpu_class_of(r.products[i], words, length);
    if (of_class >= ROW_SORT && of_class < ROW_SORT + SORT_SIZES) return LIST_SORT + of_class - ROW_SORT;
    if (r.products[i] <= SPAN_PRODUCTS) {
        const int64_t values = (int64_t)entries * value_bytes + 16, distinct = r.distinct[i];
        const int64_t levels = 8 * (gpu_summary_pairs(r.low[i], words) + distinct) + values;
        const int64_t hash = (int64_t)gpu_slots_for((int)distinct) * GPU_SLOT_BYTES + values;
        const bool by_levels = levels <= hash;
        const int first = by_levels ? LIST_LEVELS : LIST_HASH, end = by_levels ? LIST_HASH : LIST_BLOCK;
        for (int c = first; c < end; c++)
            if ((by_levels ? levels : hash) <= gpu_list_bytes(c)) return c;
    }
    /* tries multiple groups if rows of B are short, but only within half of a multiprocessor's shared memory */
    for (int groups = gpu_groups_wanted(r.products[i], length, entries, 256); groups >= 1; groups /= 2) {
        for (int s = 0; s < (groups > 1 ? 3 : 4); s++) {
            const int bytes = gpu_block_bytes(s, shared_bytes), index = min(words, gpu_block_words(bytes));
            if (index < words && s < 3) continue;
            if (index * 6 + 16 + (int64_t)groups * entries * value_bytes <= bytes) return LIST_BLOCK + s;
        }
    }
    return LIST_GIANT;
}

struct list_bases {
    unsigned at[MOST_LISTS];
};

/*
 * NUMERIC: counts the rows of each list in found->list (fill = 0), or fills r.list from these counts. Otherwise fills
 * r.list by class; `bases` has the first position of each class. The elements of found->list after the counts are the
 * current positions while r.list is filled.
 */
template <bool NUMERIC> static __global__ void __launch_bounds__(LIST_THREADS)
    list_rows(gpu_rows r, list_bases bases, int lists, int fill, int value_bytes, int shared_bytes)
{
    __shared__ unsigned in_block[MOST_LISTS], base[MOST_LISTS];
    if (threadIdx.x < MOST_LISTS) in_block[threadIdx.x] = 0;
    __syncthreads();
    const int64_t i = (int64_t)blockIdx.x * LIST_THREADS + threadIdx.x;
    int list = -1;
    if (i < r.rows)
        list = NUMERIC           ? list_now(r, i, value_bytes, shared_bytes)
               : r.words[i] == 0 ? -1
                                 : gpu_class_of(r.products[i], r.words[i], row_length(r, i)) - ROW_SPAN_LOW;
    const int lane = threadIdx.x % 32;
    unsigned mine = 0;
    for (int c = 0; c < lists; c++) {
        const unsigned of_list = __ballot_sync(ALL_LANES, list == c);
        if (of_list == 0) continue;
        unsigned first = 0;
        if (lane == 0) first = atomicAdd(&in_block[c], (unsigned)__popc(of_list));
        first = __shfl_sync(ALL_LANES, first, 0);
        if (list == c) mine = first + __popc(of_list & ((1u << lane) - 1));
    }
    __syncthreads();
    if ((int)threadIdx.x < lists && in_block[threadIdx.x] > 0) {
        if (!fill) {
            atomicAdd(&r.found->list[threadIdx.x], in_block[threadIdx.x]);
        } else {
            unsigned from = bases.at[threadIdx.x];
            if (NUMERIC) {
                from = 0;
                for (unsigned c = 0; c < threadIdx.x; c++) from += r.found->list[c];
            }
            base[threadIdx.x] =
                from + atomicAdd(&r.found->list[MOST_LISTS * (1 + NUMERIC) + threadIdx.x], in_block[threadIdx.x]);
        }
    }
    if (!fill) return;
    __syncthreads();
    if (list >= 0) r.list[base[list] + mine] = (int32_t)i;
}

/* Clears the positions before lists are filled. */
static spry_status clear_positions(gpu_work *w, spry_error *err)
{
    SPRY_CUDA_CHECK(cudaMemsetAsync(w->rows.found->list + MOST_LISTS, 0, 2 * MOST_LISTS * sizeof(unsigned), w->stream),
                    "spgemm: clear", err);
    return SPRY_OK;
}

spry_status gpu_list_classes(gpu_work *w, spry_error *err)
{
    list_bases bases = {};
    unsigned at = 0;
    for (int c = ROW_SPAN_LOW; c < ROW_CLASSES; c++) {
        bases.at[c - ROW_SPAN_LOW] = at;
        at += w->found.rows[c];
    }
    if (at == 0) return SPRY_OK;
    SPRY_CUDA_TRY(clear_positions(w, err));
    list_rows<false>
        <<<(unsigned)ceil_div(w->rows.rows, LIST_THREADS), LIST_THREADS, 0, w->stream>>>(w->rows, bases,
                                                                                         ROW_CLASSES - ROW_SPAN_LOW, 1,
                                                                                         0, 0);
    return launched(err, "spgemm: list classes");
}

spry_status gpu_list_numeric(gpu_work *w, int value_bytes, int again, spry_error *err)
{
    const list_bases none = {};
    if (again) SPRY_CUDA_TRY(clear_positions(w, err));
    for (int fill = again; fill < 2; fill++)
        list_rows<true>
            <<<(unsigned)ceil_div(w->rows.rows, LIST_THREADS), LIST_THREADS, 0, w->stream>>>(w->rows, none, LISTS, fill,
                                                                                             value_bytes,
                                                                                             w->shared_bytes);
    return launched(err, "spgemm: list rows");
}
