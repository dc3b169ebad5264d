/* Rows by class and by list: counting sorts on the device, a block of rows at a time. */
#include "spgemm/gpu_spgemm_cuda.h"

enum { LIST_THREADS = 256, MOST_LISTS = 16 };

static __device__ __forceinline__ int hash_bytes(int c)
{
    return c < 3 ? 1024 * (c + 1) : c == 3 ? 5120 : c == 4 ? 8192 : 18560;
}

/* The list of the numeric phase. */
static __device__ __forceinline__ int list_now(const gpu_rows &r, int64_t i, int value_bytes, int shared_bytes)
{
    const int words = r.words[i], entries = r.counts[i];
    if (words == 0 || entries == 0) return -1;
    if (words < 0) {
        const int64_t need = gpu_slots_for(-words) * GPU_SLOT_BYTES + (int64_t)entries * value_bytes + 16;
        for (int c = 0; c < 6; c++)
            if (need <= hash_bytes(c)) return LIST_HASH + c;
    }
    if (words > 0 && words <= SPAN_WORDS && r.products[i] <= SPAN_PRODUCTS) {
        const int64_t need = words * 8 + 4 * SUMMARY_WORDS + (int64_t)entries * value_bytes;
        for (int c = 0; c < 4; c++)
            if (need <= 2048 << c) return LIST_SPAN + c;
    }
    /* the values of as many groups as short rows of B want, but in no more than half a multiprocessor's memory */
    const int64_t length = r.A.p.get(r.first + i + 1) - r.A.p.get(r.first + i);
    for (int groups = gpu_groups_wanted(r.products[i], length, 256); groups >= 1; groups /= 2) {
        for (int s = 0; s < (groups > 1 ? 2 : 3); s++) {
            const int bytes = gpu_block_bytes(s, shared_bytes), index = min(words, gpu_block_words(bytes));
            if (index < words && s < 2) continue;
            if (index * 6 + 16 + (int64_t)groups * entries * value_bytes <= bytes) return LIST_BLOCK + s;
        }
    }
    return LIST_GIANT;
}

struct list_bases {
    unsigned at[MOST_LISTS];
};

/*
 * NUMERIC: counts (fill = 0) into found->list, or fills r.list by what was counted. Else fills by class from `bases`.
 * The rest of found->list are the positions reached.
 */
template <bool NUMERIC> static __global__ void __launch_bounds__(LIST_THREADS)
    list_rows(gpu_rows r, list_bases bases, int lists, int fill, int value_bytes, int shared_bytes)
{
    __shared__ unsigned here[MOST_LISTS], base[MOST_LISTS];
    if (threadIdx.x < MOST_LISTS) here[threadIdx.x] = 0;
    __syncthreads();
    const int64_t i = (int64_t)blockIdx.x * LIST_THREADS + threadIdx.x;
    int list = -1;
    if (i < r.rows)
        list = NUMERIC           ? list_now(r, i, value_bytes, shared_bytes)
               : r.words[i] == 0 ? -1
                                 : gpu_class_of(r.products[i], r.words[i]) - ROW_SPAN_LOW;
    const int lane = threadIdx.x % 32;
    unsigned mine = 0;
    for (int c = 0; c < lists; c++) {
        const unsigned of_list = __ballot_sync(ALL_LANES, list == c);
        if (of_list == 0) continue;
        unsigned first = 0;
        if (lane == 0) first = atomicAdd(&here[c], (unsigned)__popc(of_list));
        first = __shfl_sync(ALL_LANES, first, 0);
        if (list == c) mine = first + __popc(of_list & ((1u << lane) - 1));
    }
    __syncthreads();
    if ((int)threadIdx.x < lists && here[threadIdx.x] > 0) {
        if (!fill) {
            atomicAdd(&r.found->list[threadIdx.x], here[threadIdx.x]);
        } else {
            unsigned from = bases.at[threadIdx.x];
            if (NUMERIC) {
                from = 0;
                for (unsigned c = 0; c < threadIdx.x; c++) from += r.found->list[c];
            }
            base[threadIdx.x] = from +
                                atomicAdd(&r.found->list[MOST_LISTS * (1 + NUMERIC) + threadIdx.x], here[threadIdx.x]);
        }
    }
    if (!fill) return;
    __syncthreads();
    if (list >= 0) r.list[base[list] + mine] = (int32_t)i;
}

spry_status gpu_list_classes(const gpu_rows *r, const gpu_row_counts *found, cudaStream_t stream, spry_error *err)
{
    list_bases bases = {};
    unsigned at = 0;
    for (int c = ROW_SPAN_LOW; c < ROW_CLASSES; c++) {
        bases.at[c - ROW_SPAN_LOW] = at;
        at += found->rows[c];
    }
    if (at == 0) return SPRY_OK;
    list_rows<false><<<(unsigned)ceil_div(r->rows, LIST_THREADS), LIST_THREADS, 0, stream>>>(*r, bases,
                                                                                             ROW_CLASSES - ROW_SPAN_LOW,
                                                                                             1, 0, 0);
    return launched(err, "spgemm: list classes");
}

spry_status gpu_list_numeric(const gpu_rows *r, int value_bytes, const gpu_limits *limits, cudaStream_t stream,
                             spry_error *err)
{
    const list_bases none = {};
    for (int fill = 0; fill < 2; fill++)
        list_rows<true><<<(unsigned)ceil_div(r->rows, LIST_THREADS), LIST_THREADS, 0, stream>>>(*r, none, LISTS, fill,
                                                                                                value_bytes,
                                                                                                limits->shared_bytes);
    return launched(err, "spgemm: list rows");
}
