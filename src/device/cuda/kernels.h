/* Every kernel of the plug-in; each is defined in its family's *_cuda.cu and described in libspry's registry. */
#ifndef SPRY_CUDA_KERNELS_H
#define SPRY_CUDA_KERNELS_H

#include "core/cuda_plugin.h"

extern const spryi_cuda_kernel spry_cuda_csr_scalar, spry_cuda_csr_vector_shared, spry_cuda_csr_vector,
    spry_cuda_csr_adaptive_atomic, spry_cuda_csr_adaptive, spry_cuda_csr_merge, spry_cuda_csr_scatter,
    spry_cuda_csc_scatter, spry_cuda_csc_vector, spry_cuda_csc_merge, spry_cuda_coo_atomic, spry_cuda_coo_segmented,
    spry_cuda_ell_slots, spry_cuda_sell_chunks, spry_cuda_hyb_atomic, spry_cuda_hyb_segmented, spry_cuda_scoo_shared,
    spry_cuda_swept_barrier, spry_cuda_bsr_blocks, spry_cuda_bsr_scatter, spry_cuda_csr2_lanes, spry_cuda_csr3_gpuspmv3,
    spry_cuda_csr3_gpuspmv35, spry_cuda_packed_slices;

extern const struct spryi_vector_ops spry_cuda_vector_ops; /* vector_ops_cuda.cu */
extern const struct spryi_device_spgemm spry_cuda_spgemm;  /* src/spgemm/cuda/gpu_support_cuda.cu */

/* clang-format off */
#define SPRY_CUDA_KERNELS                                                                                              \
    &spry_cuda_csr_scalar, &spry_cuda_csr_vector_shared, &spry_cuda_csr_vector,                                        \
    &spry_cuda_csr_adaptive_atomic, &spry_cuda_csr_adaptive, &spry_cuda_csr_merge, &spry_cuda_csr_scatter,             \
    &spry_cuda_csc_scatter, &spry_cuda_csc_vector, &spry_cuda_csc_merge,                                               \
    &spry_cuda_coo_atomic, &spry_cuda_coo_segmented,                                                                   \
    &spry_cuda_ell_slots, &spry_cuda_sell_chunks,                                                                      \
    &spry_cuda_hyb_atomic, &spry_cuda_hyb_segmented, &spry_cuda_scoo_shared, &spry_cuda_swept_barrier,                 \
    &spry_cuda_bsr_blocks, &spry_cuda_bsr_scatter,                                                                     \
    &spry_cuda_csr2_lanes, &spry_cuda_csr3_gpuspmv3, &spry_cuda_csr3_gpuspmv35, &spry_cuda_packed_slices
/* clang-format on */

/* memory.cu: the plug-in's device memory. */
spry_status spry_cuda_allocate(int device, void **pointer, int64_t bytes, const char *what, spry_error *err);
spry_status spry_cuda_allocate_in_order(int device, void **pointer, int64_t bytes, const char *what, spry_error *err);
void spry_cuda_release(int device, void *pointer);
void spry_cuda_release_in_order(int device, void *pointer);
int64_t spry_cuda_trim(void);
void spry_cuda_open(void);
void spry_cuda_close(void);

/* vector_map.cu: the plug-in's pass over a vector. */
spry_status spry_cuda_map(const spryi_device *device, const spryi_vector_map *request, spry_error *err);

/* Conversions from CSR on the device; each is defined in its family's *_convert.cu. */
extern const spryi_cuda_converter spry_cuda_to_coo, spry_cuda_to_csc, spry_cuda_to_ell, spry_cuda_to_sell,
    spry_cuda_to_hyb, spry_cuda_to_scoo, spry_cuda_to_swept, spry_cuda_to_bsr, spry_cuda_to_csr2, spry_cuda_to_csr3,
    spry_cuda_to_packed;

/* clang-format off */
#define SPRY_CUDA_CONVERTERS                                                                                           \
    &spry_cuda_to_coo, &spry_cuda_to_csc, &spry_cuda_to_ell, &spry_cuda_to_sell, &spry_cuda_to_hyb,                    \
    &spry_cuda_to_scoo, &spry_cuda_to_swept, &spry_cuda_to_bsr, &spry_cuda_to_csr2, &spry_cuda_to_csr3,                \
    &spry_cuda_to_packed
/* clang-format on */

#endif
