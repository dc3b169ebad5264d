/* The family of the studies' kernels, and descriptors of its GPU kernels for SpMV. The plug-in has their functions. */
#include "study/kernels/study_kernels.h"

#define KERNEL(layout, way, atomic, idea_text, source_text)                                                            \
    const spryi_kernel spryi_##layout##_##way##_cuda = {                                                               \
        SPRYI_KERNEL_OF(#layout, #way, "cuda"), .idea = idea_text,    .source = source_text,       .study = 1,         \
        .nondeterministic = (atomic),           .pattern = !(atomic), .operations = SPRYI_OP_SPMV,                     \
    };

KERNEL(csr, vector_shared, 0, "one warp per row, sums in shared memory",
       "Meister 2013, CSR kernel 2 with reduce; Bell and Garland 2008, 4.3")
KERNEL(coo, atomic, 1, "one thread per entry, added to y with atomics", "Evtushenko 2019 and Sparse Methods, COO")

static const spryi_parameter slice_rows[] = {{"rows", 0, 0, "maximum rows per slice"}, {0}};
static const char *const row_counts[] = {"32", "64", "128", "256", "512", NULL};
const spryi_kernel spryi_coo_sliced_cuda = {
    SPRYI_KERNEL_OF("coo", "sliced", "cuda"),
    .idea = "SCOO as described: one block per slice of rows, sums in shared memory, multiple lanes per row",
    .source = "Evtushenko 2019, SCOO; Dang and Schmidt 2012",
    .study = 1,
    .nondeterministic = 1,
    .operations = SPRYI_OP_SPMV,
    .parameters.list = slice_rows,
    .parameters.words = {row_counts},
    .parameters.text = "rows=32|64|128|256|512 (maximum rows per slice; lower slices have more lanes; 512)",
};

const spryi_kernel spryi_ell_listing_cuda = {
    SPRYI_KERNEL_OF("ell", "listing", "cuda"),
    .idea = "ELL as listed: one thread per row, padding is multiplied",
    .source = "Evtushenko 2019, listing 6; Bell and Garland 2008, 4.1",
    .study = 1,
    .operations = SPRYI_OP_SPMV,
};

KERNEL(hyb, atomic, 1, "ELL as listed, then the COO part with atomics in a second launch",
       "Sparse Methods, Hybrid Kernel; Bell and Garland 2008, 4.5")

static const spryi_parameter adaptive[] = {{"nnz_per_wg", 0, 0, "entries and threads per row block"}, {0}};
static const char *const block_sizes[] = {"64", "256", "1024", NULL};
const spryi_kernel spryi_csr_adaptive_listing_cuda = {
    SPRYI_KERNEL_OF("csr", "adaptive_listing", "cuda"),
    .idea = "CSR-Adaptive as listed: one thread per entry of a row block, rows added up in shared memory",
    .source = "Evtushenko 2019, listings 4 and 5",
    .study = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
    .parameters.list = adaptive,
    .parameters.words = {block_sizes},
    .parameters.text = "nnz_per_wg=64|256|1024 (entries and threads per row block; 64)",
};

static const spryi_parameter width[] = {{"width", 0, INT32_MAX, "slots per row of the ELL part"}, {0}};
const spryi_kernel spryi_hyb_one_launch_cuda = {
    SPRYI_KERNEL_OF("hyb", "one_launch", "cuda"),
    .idea = "both parts in one launch, with atomics on a cleared y",
    .source = "Evtushenko 2019, listing 8",
    .study = 1,
    .nondeterministic = 1,
    .operations = SPRYI_OP_SPMV,
    .parameters.list = width,
    .parameters.text = "width=N (slots per row of the ELL part; default: the mean row length)",
};

#define CPU(name) &spryi_##name##_cpu,
#define CUDA(name) &spryi_##name##_cuda,
const spryi_family spryi_family_study = {.name = "study", .kernels = {SPRYI_STUDY_KERNELS(CPU, CUDA)}};
