/*
 * What conversions on the device share. They run in the default stream, wait at the end, and hold scratch memory in
 * objects that free it however a function is left.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

#include <type_traits>

/* An integer as wide as a value, which is moved and not computed with. */
template <typename S>
using value_bits = std::conditional_t<sizeof(S) == 8, uint64_t, std::conditional_t<sizeof(S) == 4, uint32_t, uint16_t>>;

#define SPRY_CUDA_TRY(...)                                                                                             \
    do {                                                                                                               \
        spry_status status_ = (__VA_ARGS__);                                                                           \
        if (status_ != SPRY_OK) return status_;                                                                        \
    } while (0)
#define SPRY_CUDA_CHECK(call, what, err)                                                                               \
    do {                                                                                                               \
        cudaError_t code_ = (call);                                                                                    \
        if (code_ != cudaSuccess) return spry_cuda_fail(err, code_, what);                                             \
    } while (0)

/* Device memory for as long as the scope lasts. */
struct scratch {
    void *at;
    const spryi_device *device;
    scratch() : at(NULL), device(NULL)
    {
    }
    ~scratch()
    {
        if (at) spry_cuda_free(device, at);
    }
    scratch(const scratch &) = delete;
    scratch &operator=(const scratch &) = delete;
    spry_status make(const spryi_device *on, int64_t bytes, const char *what, spry_error *err)
    {
        device = on;
        return spry_cuda_new(device, &at, bytes, what, err);
    }
};

enum { CONVERT_THREADS = 256, CONVERT_TILE = 2048 }; /* of kernels that are cut by entries or slots */

/* Blocks of CONVERT_THREADS threads, one a number. */
static inline unsigned convert_blocks(int64_t count)
{
    return (unsigned)ceil_div(count, CONVERT_THREADS);
}

/* Numbers 0 .. most take so many bits. */
static inline int bits_of(int64_t most)
{
    int bits = 0;
    for (; most > 0; most >>= 1) bits++;
    return bits;
}

/* a's sizes and types, as CSR without arrays. */
static inline spry_arrays shape_of(const spry_arrays *a)
{
    spry_arrays shape = *a;
    shape.layout = SPRY_CSR;
    shape.offsets = shape.indices = shape.values = shape.row_indices = NULL;
    shape.ownership = SPRY_COPY;
    shape.symmetry = SPRY_GENERAL;
    shape.device = 0;
    return shape;
}

/* An array of the storage, which is the caller's from now on. */
spry_status spry_cuda_make(spryi_conversion *c, void **array, int64_t bytes, const char *what, spry_error *err);
/* Makes the listed arrays of the storage that are NULL. */
spry_status spry_cuda_make_arrays(spryi_conversion *c, int (*sections)(void *storage, spryi_section *list),
                                  spry_error *err);

/* Entries of the longest row. */
spry_status spry_cuda_longest(const spryi_device *device, const spry_arrays *csr, int64_t *longest, spry_error *err);

/* The row of every entry; rows has nnz numbers. Cut by entries: a long row is the work of many blocks. */
spry_status spry_cuda_rows_of(const spry_arrays *csr, int32_t *rows, spry_error *err);

/*
 * Sorts keys by bits begin .. end - 1, equal ones in their order. *keys and *other are two arrays of `count`; which one
 * is sorted in the end is *keys.
 */
spry_status spry_cuda_sort_keys(const spryi_device *device, uint64_t **keys, uint64_t **other, int64_t count, int begin,
                                int end, spry_error *err);

/*
 * Keys of the entries by columns of `width` matrix columns, those of one as they are stored: upper 32 bits the column,
 * lower 32 the entry's number (KEY_ENTRY). *keys and *other are two arrays of nnz; *keys is the result.
 */
enum { KEY_BITS = 32 };
#define KEY_MAJOR(key) ((uint32_t)((key) >> KEY_BITS))
#define KEY_ENTRY(key) ((uint32_t)(key))
spry_status spry_cuda_order_columns(const spryi_device *device, const spry_arrays *csr, uint32_t width, uint64_t **keys,
                                    uint64_t **other, spry_error *err);

/*
 * The same by rows of `height` matrix rows, in one of them by columns of `width`: the upper 32 bits are the row. row_of
 * is spry_cuda_rows_of's.
 */
spry_status spry_cuda_order_blocks(const spryi_device *device, const spry_arrays *csr, const int32_t *row_of,
                                   uint32_t height, uint32_t width, uint64_t **keys, uint64_t **other, spry_error *err);

/* numbers[i] = the sum of numbers[0 .. i]. */
spry_status spry_cuda_scan(const spryi_device *device, int64_t *numbers, int64_t count, spry_error *err);

/*
 * csc_convert.cu: CSR of the transposed, as offsets, rows and values of a, which is CSR, in columns, each in the order of the rows; values may be NULL.
 * SPRY_UNSUPPORTED: more entries than a key can number. Returns when it is done.
 */
spry_status spry_cuda_transpose(const spryi_device *device, const spry_arrays *a, void *offsets, int32_t *rows,
                                void *values, spry_error *err);

/* The last i of low .. high - 1 with offsets[i] <= k, given offsets[low] <= k < offsets[high]: whose entry k is. */
template <typename P>
static __device__ __forceinline__ int64_t owner_of(const P *__restrict__ offsets, int64_t low, int64_t high, int64_t k)
{
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        if ((int64_t)offsets[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The keys before the first of `major` or later. */
static __device__ __forceinline__ int64_t first_of_major(const uint64_t *__restrict__ keys, int64_t count,
                                                         int64_t major)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if ((int64_t)KEY_MAJOR(keys[middle]) < major)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* For a whole block: owners of begin and end - 1, found by two threads; everything between lies between those. */
template <typename P> static __device__ void owners_of_tile(const P *__restrict__ offsets, int64_t count, int64_t begin,
                                                            int64_t end, int64_t *range)
{
    if (threadIdx.x < 2) range[threadIdx.x] = owner_of(offsets, 0, count, threadIdx.x == 0 ? begin : end - 1);
    __syncthreads();
}
