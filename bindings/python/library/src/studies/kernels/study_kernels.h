/*
 * Kernels that are kept to be read, compared and cited: the definitions, and kernels of papers. Another kernel of the
 * same format is faster wherever it was measured, so that plans take these by name alone.
 */
#ifndef SPRYI_STUDY_KERNELS_H
#define SPRYI_STUDY_KERNELS_H

#include "core/kernel.h"

extern const spryi_kernel spryi_csr_reference_cpu, spryi_csr_scalar_cuda, spryi_csr_vector_shared_cuda,
    spryi_csc_reference_cpu, spryi_coo_atomic_cuda, spryi_ell_reference_cpu, spryi_sell_reference_cpu,
    spryi_hyb_one_launch_cuda, spryi_hyb_atomic_cuda, spryi_scoo_reference_cpu, spryi_bsr_reference_cpu,
    spryi_csr2_reference_cpu, spryi_csr3_reference_cpu, spryi_csr4_reference_cpu, spryi_csr2_listing_cpu,
    spryi_csr3_listing_cpu, spryi_csr4_listing_cpu, spryi_packed_reference_cpu;

#endif
