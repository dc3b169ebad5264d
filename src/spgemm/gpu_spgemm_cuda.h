/* The steps of SpGEMM on the GPU, in the order in which the driver (gpu_driver_cuda.cu) takes them. */
#ifndef SPRY_GPU_SPGEMM_CUDA_H
#define SPRY_GPU_SPGEMM_CUDA_H

#include "spgemm/gpu_rows_cuda.cuh"

/* Lists of the numeric phase: rows by the shared memory that they need. */
enum {
    LIST_SPAN = 0,   /* 4: GPU_SPAN_BYTES a group of lanes */
    LIST_HASH = 4,   /* 6: GPU_HASH_BYTES a group */
    LIST_BLOCK = 10, /* 3: gpu_block_bytes a block */
    LIST_GIANT = 13,
    LISTS = 14,
    SPAN_LOW_WORDS = 352,
    SPAN_HIGH_WORDS = 1024,
    SUMMARY_WORDS = SPAN_WORDS / 32,
    SPAN_PRODUCTS = 16384,  /* more are too many for a warp */
    MOST_DISTINCT = 512,    /* words of a hashed row */
    GPU_BATCH_BYTES = 12288 /* static shared memory of a block, and what the device takes */
};

/* Where C goes. j NULL: the columns are there already (in `known`) and stay; only values are computed. */
struct gpu_result {
    spry_type type;
    row_offsets p; /* of the piece's rows, counted from its first */
    int32_t *j;
    const int32_t *known;
    void *x;
    double alpha;
};

struct gpu_limits {
    int multiprocessors, shared_bytes;
};

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
spry_status gpu_count_runs(const gpu_rows *r, int multiprocessors, cudaStream_t stream, spry_error *err);
spry_status gpu_run_values(const gpu_rows *r, const gpu_row_counts *found, const gpu_result *C, cudaStream_t stream,
                           spry_error *err);

/* Counts the rows that threads merge, too. */
spry_status gpu_classify_rows(const gpu_rows *r, int multiprocessors, cudaStream_t stream, spry_error *err);
spry_status gpu_merge_values(const gpu_rows *r, const gpu_row_counts *found, const gpu_result *C, cudaStream_t stream,
                             spry_error *err);

/* Rows by class into r->list, in the order of the classes; the host has read `found`. */
spry_status gpu_list_classes(const gpu_rows *r, const gpu_row_counts *found, cudaStream_t stream, spry_error *err);
/* Rows by list of the numeric phase; found->list tells how many, to be read by the host. */
spry_status gpu_list_numeric(const gpu_rows *r, int value_bytes, const gpu_limits *limits, cudaStream_t stream,
                             spry_error *err);

spry_status gpu_group_count(const gpu_rows *r, const gpu_row_counts *found, int lanes, cudaStream_t stream,
                            spry_error *err);
spry_status gpu_group_values(const gpu_rows *r, const gpu_row_counts *found, int lanes, const gpu_result *C,
                             cudaStream_t stream, spry_error *err);

spry_status gpu_block_count(const gpu_rows *r, const gpu_row_counts *found, const gpu_limits *limits,
                            cudaStream_t stream, spry_error *err);
/* Bytes of the table of the windows of giant rows, of some at a time where it would pass `most`. */
int64_t gpu_giant_table(const gpu_rows *r, const gpu_row_counts *found, const gpu_limits *limits, int value_bytes,
                        int64_t most);
/* `table`: for the windows of as many giant rows at once as it has room for. */
spry_status gpu_block_values(const gpu_rows *r, const gpu_row_counts *found, const gpu_limits *limits,
                             const gpu_result *C, int32_t *table, int64_t table_bytes, cudaStream_t stream,
                             spry_error *err);

/* Shared memory of a group of lanes in each list. */
static const int GPU_SPAN_BYTES[4] = {2048, 4096, 8192, 16384};
static const int GPU_HASH_BYTES[6] = {1024, 2048, 3072, 5120, 8192, 18560};

/* Slots of a table of so many words, and what a table of pairs takes with the list of its words. */
static inline __host__ __device__ int gpu_slots_for(int words)
{
    int slots = 32;
    while (slots < 2 * words) slots *= 2;
    return slots;
}
enum { GPU_SLOT_BYTES = 14 };

/* Dynamic shared memory of a block of list LIST_BLOCK + s: so that 5, 2 or 1 of them share a multiprocessor. */
static inline __host__ __device__ int gpu_block_bytes(int s, int shared_bytes)
{
    const int share = s == 0 ? shared_bytes / 5 : s == 1 ? shared_bytes / 2 : shared_bytes;
    return (share - GPU_BATCH_BYTES) & ~15;
}

/* Words of the mask of such a block; the rest is for values. */
static inline __host__ __device__ int gpu_block_words(int bytes)
{
    return bytes / 2 / 6;
}

/* Of a row that is not merged, after its products and the words that its columns span. */
static __device__ __forceinline__ int gpu_class_of(int64_t products, int words)
{
    if (products <= SPAN_PRODUCTS) {
        if (words <= SPAN_HIGH_WORDS) return words <= SPAN_LOW_WORDS ? ROW_SPAN_LOW : ROW_SPAN_HIGH;
        if (words <= SPAN_WORDS && products > HASH_PRODUCTS / 8) return ROW_SPAN_WIDE; /* clearing it has to pay */
    }
    if (products > HASH_PRODUCTS) return ROW_BLOCK;
    return products <= HASH_PRODUCTS / 4   ? ROW_HASH_LOW
           : products <= HASH_PRODUCTS / 2 ? ROW_HASH_MIDDLE
                                           : ROW_HASH_HIGH;
}

/* Groups of a block's threads that take rows of B in turn, after their mean length; each has values of its own. */
static __device__ __forceinline__ int gpu_groups_wanted(int64_t products, int64_t length, int threads)
{
    const int64_t mean = products / length;
    int lanes = 32;
    while (lanes < threads && lanes < mean / 2) lanes *= 2;
    return min(8, threads / lanes);
}

#endif
