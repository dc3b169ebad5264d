/*
 * Contents of the plug-in: kernels (defined in a family's *_cuda.cu and described in its *_family.c), conversions from
 * CSR on the device (*_convert.cu), memory, and passes over vectors. A new kernel or conversion is a line here.
 */
#pragma once

#include "core/device.h"

#ifdef SPRY_STUDIES
#include "study/kernels/study_kernels.h"
#define SPRY_CUDA_NOT(name)
#define SPRY_CUDA_STUDY_KERNELS(KERNEL) SPRYI_STUDY_KERNELS(SPRY_CUDA_NOT, KERNEL)
#else
#define SPRY_CUDA_STUDY_KERNELS(KERNEL)
#endif

/* clang-format off */
/* KERNEL(NAME) refers to spry_cuda_NAME. */
#define SPRY_CUDA_KERNELS(KERNEL)                                                                                      \
    KERNEL(csr_scalar)                                                                                                 \
    KERNEL(csr_vector)                                                                                                 \
    KERNEL(csr_adaptive_atomic)                                                                                        \
    KERNEL(csr_adaptive)                                                                                               \
    KERNEL(csr_merge)                                                                                                  \
    KERNEL(csr_scatter)                                                                                                \
    KERNEL(csc_scatter)                                                                                                \
    KERNEL(csc_vector)                                                                                                 \
    KERNEL(csc_merge)                                                                                                  \
    KERNEL(coo_segmented)                                                                                              \
    KERNEL(ell_slots)                                                                                                  \
    KERNEL(sell_chunks)                                                                                                \
    KERNEL(hyb_segmented)                                                                                              \
    KERNEL(scoo_shared)                                                                                                \
    KERNEL(swept_barrier)                                                                                              \
    KERNEL(bsr_blocks)                                                                                                 \
    KERNEL(csr2_lanes)                                                                                                 \
    KERNEL(csr3_gpuspmv3)                                                                                              \
    KERNEL(csr3_gpuspmv35)                                                                                             \
    KERNEL(windowed_staged)                                                                                            \
    KERNEL(packed_slices)                                                                                              \
    KERNEL(spgemm_rows)                                                                                                \
    SPRY_CUDA_STUDY_KERNELS(KERNEL)

/* CONVERTER(FORMAT) refers to spry_cuda_to_FORMAT. */
#define SPRY_CUDA_CONVERTERS(CONVERTER)                                                                                \
    CONVERTER(csc)                                                                                                     \
    CONVERTER(sell)                                                                                                    \
    CONVERTER(swept)                                                                                                   \
    CONVERTER(bsr)                                                                                                     \
    CONVERTER(packed)                                                                                                  \
    CONVERTER(windowed)
/* clang-format on */

#define SPRY_CUDA_DECLARE(name) extern const spryi_kernel_functions spry_cuda_##name;
SPRY_CUDA_KERNELS(SPRY_CUDA_DECLARE)
#undef SPRY_CUDA_DECLARE
#define SPRY_CUDA_DECLARE(name) extern const spryi_converter spry_cuda_to_##name;
SPRY_CUDA_CONVERTERS(SPRY_CUDA_DECLARE)
#undef SPRY_CUDA_DECLARE

extern const struct spryi_vector_ops spry_cuda_vector_ops;   /* vector_ops_cuda.cu */
extern const spryi_matrix_functions spry_cuda_matrix;        /* matrix_operations.cu */
extern const struct spryi_spgemm_functions spry_cuda_spgemm; /* src/spgemm/kernels/cuda/support_cuda.cu */

/* memory.cu: the plug-in's device memory. */
spry_status spry_cuda_allocate(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                               spry_error *err);
spry_status spry_cuda_summarize_rows(const spryi_device *device, spryi_row_summary *summary, const spry_arrays *csr,
                                     int checked, spry_error *err); /* row_summary.cu */
spry_status spry_cuda_gather(const spryi_device *device, const spryi_gather *request, spry_error *err); /* gather.cu */
spry_status spry_cuda_allocate_in_order(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                                        spry_error *err);
void spry_cuda_release(const spryi_device *device, void *pointer);
void spry_cuda_release_in_order(const spryi_device *device, void *pointer);
int64_t spry_cuda_trim(void);
int64_t spry_cuda_cached_bytes(void);
void spry_cuda_open(void);
void spry_cuda_close(void);

/*
 * memory.cu: a block of host memory that kernels of all devices can access. One caller at a time has the block, until
 * it unlocks the block.
 */
enum { SPRY_CUDA_HOST_BLOCK_BYTES = 576 << 10 };
int spry_cuda_lock_host_block(void **block); /* returns a cudaError_t; if not cudaSuccess, locks nothing */
void spry_cuda_unlock_host_block(void);
void spry_cuda_free_host_block(void); /* called when the last context is destroyed */

/* vector_map.cu: the plug-in's pass over a vector. */
spry_status spry_cuda_map(const spryi_device *device, const spryi_vector_map *request, spry_error *err);
