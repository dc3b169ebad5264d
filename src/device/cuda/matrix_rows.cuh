/* CSR with 32-bit columns for operations on matrices. Types are resolved at run time. */
#pragma once

#include "device/cuda/convert.cuh"

/* Arrays of CSR on the device. */
struct gpu_rows {
    const void *offsets;
    const int32_t *columns;
    const void *values;
    int64_t rows, nnz;
    spry_type type;
    bool wide; /* offsets have 64 bits */

    __device__ int64_t offset(int64_t i) const
    {
        return wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
    }
    __device__ double value(int64_t k) const
    {
        switch ((int)type) {
        case SPRY_F64: return ((const double *)values)[k];
        case SPRY_F32: return ((const float *)values)[k];
        case SPRY_BF16: return widened(((const spryi_bf16 *)values)[k]);
        case SPRY_F16: return widened(((const spryi_f16 *)values)[k]);
        default: return 1;
        }
    }
};

static inline gpu_rows gpu_rows_of(const spry_arrays *a)
{
    gpu_rows rows = {a->offsets,    (const int32_t *)a->indices, a->values, a->rows, a->nnz,
                     a->value_type, a->offset_type == SPRY_I64};
    return rows;
}

/* Stores a value, rounded to the type. A pattern stores none. */
static __device__ __forceinline__ void set_value(void *values, spry_type type, int64_t k, double value)
{
    switch ((int)type) {
    case SPRY_F64: ((double *)values)[k] = value; break;
    case SPRY_F32: ((float *)values)[k] = (float)value; break;
    case SPRY_BF16: round_to((spryi_bf16 *)values + k, value); break;
    case SPRY_F16: round_to((spryi_f16 *)values + k, value); break;
    default: break;
    }
}

/* Copies the bits of a value. */
static __device__ __forceinline__ void move_value(void *to, int64_t at, const void *from, int64_t k, spry_type type)
{
    switch ((int)type) {
    case SPRY_F64: ((uint64_t *)to)[at] = ((const uint64_t *)from)[k]; break;
    case SPRY_F32: ((uint32_t *)to)[at] = ((const uint32_t *)from)[k]; break;
    case SPRY_PATTERN: break;
    default: ((uint16_t *)to)[at] = ((const uint16_t *)from)[k]; break;
    }
}

/* Returns the index of the thread in its grid. */
static __device__ __forceinline__ int64_t thread_index(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* matrix_order.cu: allocates the arrays of *made for nnz entries and chooses its offset type. */
spry_status spry_cuda_allocate_rows(const spryi_device *device, spry_arrays *made, int64_t nnz, spry_error *err);

/* matrix_order.cu: copies offsets, which may have another type. */
spry_status spry_cuda_copy_offsets(const spry_arrays *to, const void *from, spry_index_type type, spry_error *err);

/* matrix_order.cu: the functions of spryi_matrix_functions. */
spry_status spry_cuda_inspect_rows(const spryi_device *device, spryi_row_order *order, const spry_arrays *a,
                                   spry_error *err);
spry_status spry_cuda_transpose_rows(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                                     spry_error *err);
spry_status spry_cuda_sort_rows(const spryi_device *device, spry_arrays *made, bool *repeats, const spry_arrays *a,
                                bool keep_duplicates, spry_error *err);
