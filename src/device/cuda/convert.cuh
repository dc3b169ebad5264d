/*
 * Common parts of conversions on the device. Conversions run in the default stream and wait at the end. Scratch memory
 * is freed on every exit from a function.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

#include <type_traits>

/* Evaluates the expression with B as an unsigned integer of the size of a stored type, to copy values as bits. */
#define SPRY_BY_BYTES(type_number, B, ...)                                                                             \
    call_with_bytes(spry_type_bytes(type_number), [&](auto of_size) {                                                  \
        typedef decltype(of_size) B;                                                                                   \
        return __VA_ARGS__;                                                                                            \
    })
template <typename F> static inline auto call_with_bytes(size_t bytes, F call)
{
    if (bytes == sizeof(uint8_t)) return call(uint8_t());
    if (bytes == sizeof(uint16_t)) return call(uint16_t());
    if (bytes == sizeof(uint64_t)) return call(uint64_t());
    return call(uint32_t());
}

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

/* Device memory that lives as long as the object. */
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

enum { CONVERT_THREADS = 256, CONVERT_TILE = 2048 }; /* threads per block; entries or slots per block */

/* Returns the number of blocks of CONVERT_THREADS threads for `count` elements, one per thread. */
static inline unsigned convert_blocks(int64_t count)
{
    return (unsigned)ceil_div(count, CONVERT_THREADS);
}

/* Returns the number of bits of `most`. */
static inline int bits_of(int64_t most)
{
    int bits = 0;
    for (; most > 0; most >>= 1) bits++;
    return bits;
}

/* Returns a description of CSR with a's sizes and types, without arrays. */
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

/* Allocates an array of the storage. The caller owns the array, also after a failure of the conversion. */
spry_status spry_cuda_allocate_array(spryi_conversion *c, void **array, int64_t bytes, const char *what,
                                     spry_error *err);
/* Allocates the listed arrays of the storage that are NULL. */
spry_status spry_cuda_allocate_arrays(spryi_conversion *c, int (*sections)(void *storage, spryi_section *list),
                                      spry_error *err);

/* Finds the number of entries of the longest row. */
spry_status spry_cuda_longest(const spryi_device *device, const spry_arrays *csr, int64_t *longest, spry_error *err);

/*
 * Writes the row of every entry; rows has nnz elements. Work is divided by entries, so that many blocks share a long
 * row.
 */
spry_status spry_cuda_rows_of(const spry_arrays *csr, int32_t *rows, spry_error *err);

/*
 * Sorts keys stably by bits begin .. end - 1. *keys and *other are two arrays of `count` elements and may be exchanged;
 * on return, *keys is the sorted array.
 */
spry_status spry_cuda_sort_keys(const spryi_device *device, uint64_t **keys, uint64_t **other, int64_t count, int begin,
                                int end, spry_error *err);

/*
 * Sorts the entries by block columns, groups of `width` columns. Entries of the same block column keep their order. A
 * key has the index of the block column in its upper 32 bits (KEY_MAJOR) and the index of the entry in its lower 32
 * bits (KEY_ENTRY). *keys and *other are two arrays of nnz elements and may be exchanged; *keys is the result.
 */
enum { KEY_BITS = 32 };
#define KEY_MAJOR(key) ((uint32_t)((key) >> KEY_BITS))
#define KEY_ENTRY(key) ((uint32_t)(key))
spry_status spry_cuda_order_columns(const spryi_device *device, const spry_arrays *csr, uint32_t width, uint64_t **keys,
                                    uint64_t **other, spry_error *err);

/*
 * Sorts the entries by block rows, groups of `height` rows, and within a block row by block columns, groups of `width`
 * columns. The upper 32 bits of a key are the index of the block row. row_of is the result of spry_cuda_rows_of.
 */
spry_status spry_cuda_order_blocks(const spryi_device *device, const spry_arrays *csr, const int32_t *row_of,
                                   uint32_t height, uint32_t width, uint64_t **keys, uint64_t **other, spry_error *err);

/* Sets numbers[i] to the sum of numbers[0 .. i]. */
spry_status spry_cuda_scan(const spryi_device *device, int64_t *numbers, int64_t count, spry_error *err);

/*
 * csc_convert.cu: transposes a, which is CSR. Writes offsets, indices and values of CSR of the transpose; entries of
 * its rows are in the order of a's rows. values may be NULL. Returns SPRY_UNSUPPORTED if keys cannot index all entries.
 * Waits until the work is done.
 */
spry_status spry_cuda_transpose(const spryi_device *device, const spry_arrays *a, void *offsets, int32_t *rows,
                                void *values, spry_error *err);

/*
 * Returns the owner of entry k, such as its row: the last i of low .. high - 1 with offsets[i] <= k. Requires
 * offsets[low] <= k < offsets[high].
 */
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

/* Returns the index of the first key whose upper 32 bits are at least `major`, or count if there is none. */
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

/*
 * Finds the owners of entries begin and end - 1, by two threads. All threads of the block must call this function. The
 * owners of all entries of the tile are from range[0] to range[1].
 */
template <typename P> static __device__ void owners_of_tile(const P *__restrict__ offsets, int64_t count, int64_t begin,
                                                            int64_t end, int64_t *range)
{
    if (threadIdx.x < 2) range[threadIdx.x] = owner_of(offsets, 0, count, threadIdx.x == 0 ? begin : end - 1);
    __syncthreads();
}
