/*
 * CSR on the CPU.
 *
 *     row 0: a . b .        offsets  0 2 3 5        row i holds entries offsets[i] .. offsets[i+1]-1
 *     row 1: . c . .        columns  0 2 1 0 3
 *     row 2: d . . e        values   a b c d e     (none where all are ones: a pattern)
 *
 * The user's three arrays are used as they are. Beside them the plan keeps auxiliary arrays, which hold no value of the
 * matrix: row blocks for the threads (row_blocks.h), in them runs of rows whose columns need not all be read (runs.h),
 * then either spans, by which AVX-512 loads x (spans.h), or for y = A^T x chunks that do not meet in y (chunks.h).
 * Kernels are loops over runs, which csr_driver.h calls: csr_<level>_cpu.c for y = A x, csr_scatter_<level>.c for A^T.
 *
 * Format csc is the same struct with the arrays of A^T: its columns are rows here, and its products change places.
 */
#pragma once

#include "core/kernel.h"
#include "formats/csr/chunks.h"
#include "formats/csr/row_blocks.h"
#include "formats/csr/runs.h"
#include "formats/csr/spans.h"

/* Products that a plan has to expect for what they take to pay. */
enum {
    SPRYI_CSR_CALLS_FOR_RUNS = 3,   /* finding runs reads the columns once: about half a product */
    SPRYI_CSR_CALLS_FOR_SPANS = 16, /* finding spans takes two to four, and saves a fifth to a half of each */
};

enum { SPRYI_CSR_SUMS = 16 /* columns for which the workspace has the sums of pieces */ };
enum {
    SPRYI_CSR_APART = 4,     /* columns that lie apart, which CPU kernels multiply at once (csr_apart.c), */
    SPRYI_CSR_APART_MEAN = 8 /* where rows have up to so many entries */
};

/* The storage of format csr. */
typedef struct spryi_csr {
    spry_arrays a;      /* CSR in host memory, borrowed from the matrix or ... */
    spry_matrix *owned; /* ... of this conversion, or NULL */
    int64_t *offsets;   /* made here when only offsets were missing (from sorted COO), or NULL */
    spry_type vector_type;
    int scatters; /* 1: made for y = A^T x */
    spryi_csr_blocks blocks;
    spryi_csr_runs runs;
    spryi_csr_spans spans;
    spryi_csr_chunks chunks;
} spryi_csr;

extern const spryi_format spryi_format_csr;
extern const struct spryi_estimator spryi_csr_estimator; /* csr_work.c */
/* Parameters of kernels, by their places in the kernels' lists. */
enum { SPRYI_CSR_LANES };                        /* of csr_vector_cuda */
enum { SPRYI_CSR_NNZ_PER_WG, SPRYI_CSR_VECTOR }; /* of csr_adaptive_cuda and csr_adaptive_atomic_cuda */
enum { SPRYI_CSR_MOST_VECTOR = 2048 };

extern const spryi_kernel spryi_csr_portable_cpu, spryi_csr_avx2_cpu, spryi_csr_avx512_cpu;
extern const spryi_kernel spryi_csr_scalar_cuda, spryi_csr_vector_cuda, spryi_csr_merge_cuda;
extern const spryi_kernel spryi_csr_adaptive_atomic_cuda, spryi_csr_adaptive_cuda, spryi_csr_scatter_cuda;

/*
 * csr_format.c: what formats csr, csc and csr-k share. finish makes all auxiliary arrays of s, whose CSR is there;
 * finish_runs those that come after the runs: chunks for `scatters`, else spans if the plan will use them.
 */
spry_status spryi_csr_finish(spry_context *context, spryi_csr *s, const spryi_build_request *request, int scatters,
                             spry_error *err);
spry_status spryi_csr_finish_runs(spry_context *context, spryi_csr *s, const spryi_build_request *request, int scatters,
                                  spry_error *err);
void spryi_csr_release_auxiliary(spry_context *context, spryi_csr *s);
void spryi_csr_destroy(spry_context *context, void *storage);
int64_t spryi_csr_storage_bytes(const void *storage);
int64_t spryi_csr_owned_bytes(const void *storage);
int64_t spryi_csr_workspace_bytes(const void *storage, spry_type vector_type);
int spryi_csr_borrows_values(const void *storage, const spry_arrays *a);
const spry_arrays *spryi_csr_arrays(const void *storage);
int spryi_csr_device_sections(void *storage, spryi_section *sections);

/*
 * What kernels run. gather is the product with A, csr's plain and csc's transposed one; scatter that with A^T, csr's
 * transposed and csc's plain one.
 */
extern const spryi_run_table spryi_csr_gather_portable, spryi_csr_gather_avx2, spryi_csr_gather_avx512;
extern const spryi_run_table spryi_csr_scatter_portable, spryi_csr_scatter_avx2, spryi_csr_scatter_avx512;
