/* The steps of SpGEMM on the GPU, in the order in which the driver (driver_cuda.cu) takes them. */
#pragma once

#include "device/cuda/convert.cuh"
#include "spgemm/kernels/cuda/rows_cuda.cuh"

/* Lists of the numeric phase: rows by the shared memory that they need. */
enum {
    LIST_LEVELS = 0, /* 10: gpu_list_bytes a group of lanes */
    LIST_HASH = 10,  /* 3: gpu_list_bytes a group */
    LIST_BLOCK = 13, /* 4: gpu_block_bytes a block */
    LIST_GIANT = 17,
    LIST_SORT = 18, /* SORT_SIZES */
    LISTS = LIST_SORT + SORT_SIZES,
    SPAN_LOW_WORDS = 352,
    SPAN_HIGH_WORDS = 1024,
    SORT_ENTRIES = 64, /* of a row of A whose products are sorted */
    SORT_BITS = 9,     /* of a product's place in its row: 2^SORT_BITS = HASH_PRODUCTS; the rest is for columns */
    SORT_WORDS = 1 << (32 - SORT_BITS - 5),
    SPAN_PRODUCTS = 16384,  /* more are too many for a warp */
    GPU_BATCH_BYTES = 12288 /* static shared memory of a block, and what the device takes */
};

/* Where C goes. j NULL: the columns are there already (in `known`) and stay; only values are computed. */
struct gpu_result {
    spry_type type;
    row_offsets p; /* of the piece's rows, counted from its first */
    int32_t *j;
    const int32_t *known;
    void *x;
    const void *alpha; /* one number of `type`, host */
};

/* A piece of rows on its way through the steps. */
struct gpu_work {
    gpu_rows rows;
    gpu_row_counts found; /* what the host has read of rows.found */
    int lanes;            /* that share a row of A */
    int multiprocessors, shared_bytes;
    int overlaps; /* the device lets a kernel start before the one before it ends */
    int follows;  /* the last kernel in the stream is one of gpu_launch, which the next one need not wait for */
    cudaStream_t stream;
};

/*
 * Kernels of a phase do not need one another's results. Each starts when the one before has no more blocks to start
 * (started) and ends after it (finish, that all of a block's threads reach), so that what comes later is behind all.
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

/* Launches such a kernel, whose first argument are the rows. */
template <typename... P, typename... A> static spry_status gpu_launch(gpu_work *w, void (*kernel)(gpu_rows, P...),
                                                                      int64_t blocks, int threads, int bytes,
                                                                      const char *what, spry_error *err, A... arguments)
{
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config = early_launch(&early, blocks, threads, bytes, w->stream);
    config.numAttrs = w->overlaps && w->follows ? 1 : 0;
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code == cudaSuccess) code = cudaLaunchKernelEx(&config, kernel, w->rows, (P)arguments...);
    w->follows = 1;
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, what);
}

/* Lanes that share a row of A, after the mean length of the rows of B that it meets. */
static inline int gpu_lanes_of(const gpu_row_counts *found, int64_t entries)
{
    const double mean = entries > 0 ? (double)found->products / (double)entries : 0;
    return mean <= 8 ? 8 : mean <= 20 ? 16 : 32;
}

/* Words of the bits of so many rows, with one more than they need. */
static inline int64_t gpu_shift_words(int64_t rows)
{
    return (rows + 31) / 32 + 2;
}
/* Most groups of runs of so many rows: a run has 16 rows at least, a group of it up to 32. */
static inline int64_t gpu_most_groups(int64_t rows)
{
    return rows / 16 + 1;
}
/* Finds and counts runs; before gpu_classify_rows, which leaves them out. */
spry_status gpu_count_runs(gpu_work *w, spry_error *err);
spry_status gpu_run_values(gpu_work *w, const gpu_result *C, spry_error *err);

/* Counts the rows that threads merge, too. */
spry_status gpu_classify_rows(gpu_work *w, spry_error *err);
spry_status gpu_merge_values(gpu_work *w, const gpu_result *C, spry_error *err);

/* A look at B's columns: found.sample_same, by which the host knows whether pairs pay. Then they are made. */
spry_status gpu_sample_columns(gpu_work *w, spry_error *err);
int gpu_pairs_pay(const gpu_work *w);
spry_status gpu_make_pairs(gpu_work *w, spry_error *err);

/* Rows by class into rows.list, in the order of the classes; the host has read `found`. */
spry_status gpu_list_classes(gpu_work *w, spry_error *err);
/* Rows by list of the numeric phase; found.list tells how many, to be read by the host. again: that is known. */
spry_status gpu_list_numeric(gpu_work *w, int value_bytes, int again, spry_error *err);

/* Rows of the classes that are not merged. C not NULL: they were counted; columns that were not kept go to C. */
spry_status gpu_group_count(gpu_work *w, const gpu_result *C, spry_error *err);
spry_status gpu_group_values(gpu_work *w, const gpu_result *C, spry_error *err);
spry_status gpu_block_count(gpu_work *w, const gpu_result *C, spry_error *err);
spry_status gpu_block_values(gpu_work *w, const gpu_result *C, spry_error *err);

/* The same of rows that are sorted, whose columns need no finding. */
spry_status gpu_sort_count(gpu_work *w, spry_error *err);
spry_status gpu_sort_values(gpu_work *w, const gpu_result *C, spry_error *err);

/* Bytes of the table of giant rows, of some at a time where it would pass `most`. */
int64_t gpu_giant_table(const gpu_work *w, int64_t most);
spry_status gpu_giant_values(gpu_work *w, const gpu_result *C, void *table, int64_t table_bytes, spry_error *err);

/* Shared memory of a group of lanes in each list below LIST_BLOCK. */
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

/* Pairs above the words of 32 columns from the low-th on: one for each 32 of these. */
static inline __host__ __device__ int gpu_summary_pairs(int low, int words)
{
    return words > 0 ? ((low + words - 1) >> 5) - (low >> 5) + 1 : 0;
}

/* Slots of a table of so many words, and what a table of pairs takes with the list of its words. */
static inline __host__ __device__ int gpu_slots_for(int words)
{
    int slots = 32;
    while (slots < 2 * words) slots *= 2;
    return slots;
}
enum { GPU_SLOT_BYTES = 14 };

/* Dynamic shared memory of a block of list LIST_BLOCK + s: so that 5, 3, 2 or 1 of them share a multiprocessor. */
static inline __host__ __device__ int gpu_block_bytes(int s, int shared_bytes)
{
    const int share = shared_bytes / (s == 0 ? 5 : 4 - s);
    return (share - GPU_BATCH_BYTES) & ~15;
}

/* Words of the mask of such a block; the rest is for values. */
static inline __host__ __device__ int gpu_block_words(int bytes)
{
    return bytes / 2 / 6;
}

/* One of the SORT_SIZES sizes of rows that are sorted. */
static __device__ __forceinline__ int gpu_sort_size(int64_t products)
{
    return products <= HASH_PRODUCTS / 8   ? 0
           : products <= HASH_PRODUCTS / 4 ? 1
           : products <= HASH_PRODUCTS / 2 ? 2
                                           : 3;
}

/* Where a row goes that is not merged, after its products, the words that its columns span, and A's entries. */
static __device__ __forceinline__ int gpu_class_of(int64_t products, int words, int64_t length)
{
    if (products <= HASH_PRODUCTS && length <= SORT_ENTRIES && words <= SORT_WORDS &&
        (words > SPAN_LOW_WORDS || products <= MERGE_PRODUCTS))
        return ROW_SORT + gpu_sort_size(products);
    if (products <= SPAN_PRODUCTS) {
        if (words <= SPAN_HIGH_WORDS) return words <= SPAN_LOW_WORDS ? ROW_SPAN_LOW : ROW_SPAN_HIGH;
        if (words <= SPAN_WORDS && products > HASH_PRODUCTS / 8) return ROW_SPAN_WIDE; /* clearing it has to pay */
    }
    if (products > HASH_PRODUCTS) return products <= BLOCK_LOW_PRODUCTS ? ROW_BLOCK_LOW : ROW_BLOCK;
    return products <= HASH_PRODUCTS / 4   ? ROW_HASH_LOW
           : products <= HASH_PRODUCTS / 2 ? ROW_HASH_MIDDLE
                                           : ROW_HASH_HIGH;
}

/*
 * Groups of a block's threads that take one row of B after another, after their mean length. Each has values of its
 * own, which have to be cleared and added: no more than there are products to pay for that.
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
