/* The steps of SpGEMM on the GPU, in the order in which the driver (driver_cuda.cu) calls them. */
#pragma once

#include "device/cuda/convert.cuh"
#include "spgemm/kernels/cuda/rows_cuda.cuh"

/* Lists of the numeric phase: rows grouped by the shared memory they need. */
enum {
    LIST_LEVELS = 0, /* 10 lists: gpu_list_bytes per group of lanes */
    LIST_HASH = 10,  /* 3 lists: gpu_list_bytes per group */
    LIST_BLOCK = 13, /* 4 lists: gpu_block_bytes per block */
    LIST_GIANT = 17,
    LIST_SORT = 18, /* SORT_SIZES lists */
    LISTS = LIST_SORT + SORT_SIZES,
    SPAN_LOW_WORDS = 352,
    SPAN_HIGH_WORDS = 1024,
    SORT_ENTRIES = 64, /* maximal entries of a row of A whose products are sorted */
    SORT_BITS = 9,     /* bits of a product's position; 2^SORT_BITS = HASH_PRODUCTS. Other bits are the column */
    SORT_WORDS = 1 << (32 - SORT_BITS - 5),
    SPAN_PRODUCTS = 16384,  /* maximal products of a row that a group of lanes computes */
    GPU_BATCH_BYTES = 12288 /* static shared memory of a block, and memory that the device reserves */
};

/* Destination of C. j NULL: the columns are already in `known`; only values are computed. */
struct gpu_result {
    spry_type type;
    row_offsets p; /* offsets of the chunk's rows */
    int32_t *j;
    const int32_t *known;
    void *x;
    const void *alpha; /* one value of `type`, on the host */
};

/* State of a chunk of rows between steps. */
struct gpu_work {
    gpu_rows rows;
    gpu_row_counts found; /* the host's copy of rows.found */
    int lanes;            /* lanes that share a row of A */
    int multiprocessors, shared_bytes;
    bool overlaps; /* the device can start a kernel before the previous kernel ends */
    bool follows;  /* the last kernel in the stream was launched by gpu_launch, so the next need not wait for it */
    cudaStream_t stream;
};

/*
 * Kernels of a phase do not need each other's results. A kernel starts when all blocks of the previous kernel have
 * started (gpu_started). A kernel ends after the previous kernel has ended, because all threads of its blocks call
 * gpu_finish. So work after the phase is ordered after all kernels of the phase.
 */
static __device__ __forceinline__ void gpu_started(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
static __device__ __forceinline__ void gpu_finish(void)
{
#if __CUDA_ARCH__ >= 900
    if (blockIdx.x == 0) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Launches a kernel that uses gpu_started and gpu_finish. The kernel's first argument is w->rows. */
template <typename... P, typename... A> static spry_status gpu_launch(gpu_work *w, void (*kernel)(gpu_rows, P...),
                                                                      int64_t blocks, int threads, int bytes,
                                                                      const char *what, spry_error *err, A... arguments)
{
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config = early_launch(&early, blocks, threads, bytes, w->stream);
    config.numAttrs = w->overlaps && w->follows ? 1 : 0;
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code == cudaSuccess) code = cudaLaunchKernelEx(&config, kernel, w->rows, (P)arguments...);
    w->follows = true;
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, what);
}

/* Returns the lanes that share a row of A, from the mean length of the selected rows of B. */
static inline int gpu_lanes_of(const gpu_row_counts *found, int64_t entries)
{
    const double mean = entries > 0 ? (double)found->products / (double)entries : 0;
    return mean <= 8 ? 8 : mean <= 20 ? 16 : 32;
}

/* Returns the number of words that hold one bit per row, including an additional word. */
static inline int64_t gpu_shift_words(int64_t rows)
{
    return (rows + 31) / 32 + 2;
}
/* Returns the maximal number of groups of runs: a run has at least 16 rows, a group up to 32. */
static inline int64_t gpu_most_groups(int64_t rows)
{
    return rows / 16 + 1;
}
/* Finds and counts runs. Called before gpu_classify_rows, which skips these rows. */
spry_status gpu_count_runs(gpu_work *w, spry_error *err);
spry_status gpu_run_values(gpu_work *w, const gpu_result *C, spry_error *err);

/* Classifies rows, and counts the entries of merged rows. */
spry_status gpu_classify_rows(gpu_work *w, spry_error *err);
spry_status gpu_merge_values(gpu_work *w, const gpu_result *C, spry_error *err);

/*
 * gpu_sample_columns samples B's columns and sets found->sample_same. From this number, gpu_pairs_pay decides on the
 * host whether pairs (pairs_cuda.cu) save time. gpu_build_pairs builds the pairs.
 */
spry_status gpu_sample_columns(gpu_work *w, spry_error *err);
bool gpu_pairs_pay(const gpu_work *w);
spry_status gpu_build_pairs(gpu_work *w, spry_error *err);

/* Lists rows by class in rows.list, in the order of the classes. The host must have read `found`. */
spry_status gpu_list_classes(gpu_work *w, spry_error *err);
/* Sorts rows.list by lists of the numeric phase, and sets found->list to the counts. again: counts are known. */
spry_status gpu_list_numeric(gpu_work *w, int value_bytes, int again, spry_error *err);

/*
 * Count or compute the rows of classes span and hash (gpu_group_*) and block (gpu_block_*). If C is not NULL, a count
 * function does not count again, but stores in C the columns that were not kept.
 */
spry_status gpu_group_count(gpu_work *w, const gpu_result *C, spry_error *err);
spry_status gpu_group_values(gpu_work *w, const gpu_result *C, spry_error *err);
spry_status gpu_block_count(gpu_work *w, const gpu_result *C, spry_error *err);
spry_status gpu_block_values(gpu_work *w, const gpu_result *C, spry_error *err);

/* Count and compute the rows whose products are sorted. */
spry_status gpu_sort_count(gpu_work *w, spry_error *err);
spry_status gpu_sort_values(gpu_work *w, const gpu_result *C, spry_error *err);

/*
 * Returns the bytes of the table of giant rows, at most `most` unless one row needs more. A smaller table holds some of
 * the rows at a time.
 */
int64_t gpu_giant_table(const gpu_work *w, int64_t most);
spry_status gpu_giant_values(gpu_work *w, const gpu_result *C, void *table, int64_t table_bytes, spry_error *err);

/* Returns the bytes of shared memory of a group of lanes, for a list below LIST_BLOCK. */
static inline __host__ __device__ int gpu_list_bytes(int list)
{
    switch (list) {
    case LIST_LEVELS: return 512;
    case LIST_LEVELS + 1: return 1024;
    case LIST_LEVELS + 2: return 1536;
    case LIST_LEVELS + 3: return 2048;
    case LIST_LEVELS + 4: return 3072;
    case LIST_LEVELS + 5: return 4096;
    case LIST_LEVELS + 6: return 6144;
    case LIST_LEVELS + 7: return 8192;
    case LIST_LEVELS + 8: return 12288;
    case LIST_LEVELS + 9: return 16384;
    case LIST_HASH: return 2048;
    case LIST_HASH + 1: return 5120;
    default: return 18560;
    }
}

/* Returns the number of pairs in the summary of `words` words of 32 columns from word `low` on: one per 32 words. */
static inline __host__ __device__ int gpu_summary_pairs(int low, int words)
{
    return words > 0 ? ((low + words - 1) >> 5) - (low >> 5) + 1 : 0;
}

/*
 * Returns the slots of a hash table for `words` words. A slot takes GPU_SLOT_BYTES bytes in a table of pairs, including
 * the list of words.
 */
static inline __host__ __device__ int gpu_slots_for(int words)
{
    int slots = 32;
    while (slots < 2 * words) slots *= 2;
    return slots;
}
enum { GPU_SLOT_BYTES = 14 };

/* Returns the dynamic shared memory of a block of list LIST_BLOCK + s. 5, 3, 2 or 1 blocks share a multiprocessor. */
static inline __host__ __device__ int gpu_block_bytes(int s, int shared_bytes)
{
    const int share = shared_bytes / (s == 0 ? 5 : 4 - s);
    return (share - GPU_BATCH_BYTES) & ~15;
}

/*
 * Returns the words of the mask of a block of list LIST_BLOCK + s. bytes: gpu_block_bytes(s, ...). Values use the
 * remaining memory.
 */
static inline __host__ __device__ int gpu_block_words(int bytes)
{
    return bytes / 2 / 6;
}

/* Returns the index of the size class of a sorted row, below SORT_SIZES. */
static __device__ __forceinline__ int gpu_sort_size(int64_t products)
{
    return products <= HASH_PRODUCTS / 8   ? 0
           : products <= HASH_PRODUCTS / 4 ? 1
           : products <= HASH_PRODUCTS / 2 ? 2
                                           : 3;
}

/* Returns the class of a row that is not merged. words: span of its columns; length: entries of A. */
static __device__ __forceinline__ int gpu_class_of(int64_t products, int words, int64_t length)
{
    if (products <= HASH_PRODUCTS && length <= SORT_ENTRIES && words <= SORT_WORDS &&
        (words > SPAN_LOW_WORDS || products <= MERGE_PRODUCTS))
        return ROW_SORT + gpu_sort_size(products);
    if (products <= SPAN_PRODUCTS) {
        if (words <= SPAN_HIGH_WORDS) return words <= SPAN_LOW_WORDS ? ROW_SPAN_LOW : ROW_SPAN_HIGH;
        if (words <= SPAN_WORDS && products > HASH_PRODUCTS / 8)
            return ROW_SPAN_WIDE; /* with fewer products, clearing takes too long */
    }
    if (products > HASH_PRODUCTS) return products <= BLOCK_LOW_PRODUCTS ? ROW_BLOCK_LOW : ROW_BLOCK;
    return products <= HASH_PRODUCTS / 4   ? ROW_HASH_LOW
           : products <= HASH_PRODUCTS / 2 ? ROW_HASH_MIDDLE
                                           : ROW_HASH_HIGH;
}

/*
 * Returns the number of groups of a block's threads that process rows of B in turn, from the mean length of these rows.
 * Each group has its own values, which must be cleared and added. With few products per entry, fewer groups are used.
 */
static __device__ __forceinline__ int gpu_groups_wanted(int64_t products, int64_t length, int entries, int threads)
{
    const int64_t mean = products / length;
    int lanes = 32;
    while (lanes < threads && lanes < mean / 2) lanes *= 2;
    int groups = min(8, threads / lanes);
    while (groups > 2 && (int64_t)groups * entries > 2 * products) groups /= 2;
    return groups;
}
