/* The kernels of studies/kernels, and those on the GPU as libspry knows them; their functions are in the plug-in. */
#include "core/family.h"
#include "studies/kernels/study_kernels.h"

const spryi_kernel spryi_csr_scalar_cuda = {
    .name = "csr_scalar_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "a thread a row",
    .source = "Evtushenko 2019, CSR-Scalar; Bell and Garland 2008, 4.2",
    .study = 1,
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr_vector_shared_cuda = {
    .name = "csr_vector_shared_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "a warp a row, added up in shared memory",
    .source = "Meister 2013, CSR kernel 2 with reduce; Bell and Garland 2008, 4.3",
    .study = 1,
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_coo_atomic_cuda = {
    .name = "coo_atomic_cuda",
    .format = "coo",
    .device = "cuda",
    .idea = "a thread an entry, added to y by atomics",
    .source = "Evtushenko 2019 and the lecture Sparse Methods, COO",
    .study = 1,
    .deterministic = 0,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_hyb_atomic_cuda = {
    .name = "hyb_atomic_cuda",
    .format = "hyb",
    .device = "cuda",
    .idea = "ELL by a thread a row, then the rest by atomics",
    .source = "Evtushenko 2019 and the lecture Sparse Methods, HYB, in ordered launches; Bell and Garland 2008, 4.5",
    .study = 1,
    .deterministic = 0,
    .operations = SPRYI_OP_SPMV,
};

/* clang-format off */
static const spryi_kernel *const kernels[] = {
    &spryi_csr_reference_cpu,
    &spryi_csr_scalar_cuda,
    &spryi_csr_vector_shared_cuda,
    &spryi_csc_reference_cpu,
    &spryi_coo_atomic_cuda,
    &spryi_ell_reference_cpu,
    &spryi_sell_reference_cpu,
    &spryi_hyb_atomic_cuda,
    &spryi_scoo_reference_cpu,
    &spryi_bsr_reference_cpu,
    &spryi_csr2_reference_cpu,
    &spryi_csr3_reference_cpu,
    &spryi_packed_reference_cpu,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_study_kernels = {"studies", NULL, kernels};
