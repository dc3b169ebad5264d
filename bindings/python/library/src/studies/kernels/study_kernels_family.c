/* The kernels of studies/kernels, and those on the GPU as libspry knows them; their functions are in the plug-in. */
#include "core/family.h"
#include "studies/kernels/study_kernels.h"

#define KERNEL(layout, way, atomic, idea_text, source_text)                                                            \
    const spryi_kernel spryi_##layout##_##way##_cuda = {                                                               \
        .name = #layout "_" #way "_cuda",                                                                              \
        .format = #layout,                                                                                             \
        .device = "cuda",                                                                                              \
        .idea = idea_text,                                                                                             \
        .source = source_text,                                                                                         \
        .study = 1,                                                                                                    \
        .deterministic = !(atomic),                                                                                    \
        .pattern = !(atomic),                                                                                          \
        .operations = SPRYI_OP_SPMV,                                                                                   \
    };

KERNEL(csr, scalar, 0, "a thread a row", "Evtushenko 2019, CSR-Scalar; Bell and Garland 2008, 4.2")
KERNEL(csr, vector_shared, 0, "a warp a row, added up in shared memory",
       "Meister 2013, CSR kernel 2 with reduce; Bell and Garland 2008, 4.3")
KERNEL(coo, atomic, 1, "a thread an entry, added to y by atomics", "Evtushenko 2019 and Sparse Methods, COO")
KERNEL(hyb, atomic, 1, "ELL by a thread a row, then the rest by atomics",
       "Evtushenko 2019 and Sparse Methods, HYB, in ordered launches; Bell and Garland 2008, 4.5")

KERNEL(hyb, one_launch, 1, "both parts in one launch, by atomics on a cleared y", "Evtushenko 2019, listing 8")

/* clang-format off */
static const spryi_kernel *const kernels[] = {
    &spryi_csr_reference_cpu,
    &spryi_csr_scalar_cuda,
    &spryi_csr_vector_shared_cuda,
    &spryi_csc_reference_cpu,
    &spryi_coo_atomic_cuda,
    &spryi_ell_reference_cpu,
    &spryi_sell_reference_cpu,
    &spryi_hyb_one_launch_cuda,
    &spryi_hyb_atomic_cuda,
    &spryi_scoo_reference_cpu,
    &spryi_bsr_reference_cpu,
    &spryi_csr2_reference_cpu,
    &spryi_csr3_reference_cpu,
    &spryi_csr4_reference_cpu,
    &spryi_csr2_listing_cpu,
    &spryi_csr3_listing_cpu,
    &spryi_csr4_listing_cpu,
    &spryi_packed_reference_cpu,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_study_kernels = {"studies", NULL, kernels};
