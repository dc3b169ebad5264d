/*
 * Spry: products of sparse matrices. docs/spgemm.md explains memory, devices and algorithms.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPRY_SPGEMM_H
#define SPRY_SPGEMM_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A and B prepared for C = alpha*op(A)*op(B), with C's structure. */
typedef struct spry_spgemm_plan spry_spgemm_plan;

typedef struct spry_spgemm_info {
    size_t struct_size;
    int device;                 /* that computes: SPRY_CPU, 1, ... */
    const char *device_name;    /* "cpu", "cuda", ... */
    const char *kernel;         /* "spgemm_rows_cpu" */
    char reason[200];           /* for device and kernel */
    bool deterministic;         /* every run has the same bits */
    int threads;                /* 0 on a GPU */
    int64_t rows, columns, nnz; /* of C */
    int64_t products;           /* multiplications */
    double compression;         /* products / nnz */
    int64_t chunks;             /* pieces of rows, over 1 under a memory limit */
    int64_t peak_bytes;         /* most bytes held at once on the device: inputs, result, workspace */
    int64_t workspace_bytes;    /* part of peak_bytes */
    double setup_us;            /* conversion, upload, counting; of a plan, its creation */
    double upload_us;           /* part of setup_us: copies of inputs to the device */
    double run_us;              /* computing; of a plan, the last run */
    double download_us;         /* part of run_us: copies of C to the host */
} spry_spgemm_info;

typedef struct spry_spgemm_options {
    size_t struct_size;
    const void *alpha;           /* one element of C's value type in host memory; NULL: 1 */
    spry_op op_a, op_b;          /* matrices in device memory are not transposed */
    int device;                  /* default: the named kernel's, else A's; SPRY_DEVICE_AUTO: predicted to be faster */
    int result_device;           /* of C: SPRY_CPU or the GPU that computes; default: A's */
    const char *kernel;          /* "spgemm" kernel of spry_kernel_get_info (tune.h); NULL: the best */
    spry_type value_type;        /* of C if A and B are patterns: SPRY_F32 or SPRY_F64 (default) */
    spry_index_type offset_type; /* of C; default: the smallest possible. Columns have the wider type of A and B */
    bool drop_zeros;             /* C leaves out entries whose value is 0 */
    int threads;                 /* at most 4096; 0: the context's */
    int64_t memory_limit_bytes;  /* for inputs, result, workspace and conversions on the device; 0: no limit */
    void *stream;                /* GPU: the call waits for this stream */
    struct spry_spgemm_stages *stages; /* receives times of stages (study.h); NULL: they are not measured */
} spry_spgemm_options;

/*
 * Computes C = alpha*op(A)*op(B).
 * C: an owned CSR matrix, rows sorted, each position once, with the structure of the product of the patterns.
 * info: filled on success; may be NULL.
 * A, B: consistent, any layout except BSR, f32 or f64 values of one type; either may be a pattern. They may be one
 * matrix.
 * Operands other than CSR with common index types are converted, as workspace.
 * SPRY_TOO_LARGE: memory_limit_bytes does not suffice. error.value: on the CPU a limit that suffices, perhaps not the
 * least; on a GPU the bytes needed so far.
 * Same bits for any limit and for plans. With t_ij the number of products in c_ij:
 *     |computed c_ij - exact c_ij| <= (t_ij + 3) * eps * |alpha| (|op(A)| |op(B)|)_ij
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm(spry_context *context, spry_matrix **C, spry_spgemm_info *info,
                                                 const spry_matrix *A, const spry_matrix *B,
                                                 const spry_spgemm_options *options, spry_error *err);

typedef struct spry_spgemm_estimate_info {
    size_t struct_size;
    int64_t rows, columns, products;
    int64_t nnz, nnz_bound; /* of C; upper bound */
    bool exact;             /* nnz is no estimate */
    double compression;
    int64_t input_bytes, result_bytes, workspace_bytes, peak_bytes; /* without a limit */
    int64_t least_bytes;                                            /* least limit that suffices, for plans too */
    int device;
    const char *device_name, *kernel;
} spry_spgemm_estimate_info;

/* Counts what a product needs. Exact on the CPU. */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_estimate(spry_context *context, spry_spgemm_estimate_info *estimate,
                                                          const spry_matrix *A, const spry_matrix *B,
                                                          const spry_spgemm_options *options, spry_error *err);

/*
 * Creates a plan for products with new values in the same structure. The plan has C's structure and all workspace.
 * Structures of A and B must not change while the plan exists; values may change in place. drop_zeros is
 * SPRY_UNSUPPORTED.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_plan_create(spry_context *context, spry_spgemm_plan **plan,
                                                             const spry_matrix *A, const spry_matrix *B,
                                                             const spry_spgemm_options *options, spry_error *err);

/*
 * Shows C's structure: CSR of C's type with values NULL. With values, a matrix can borrow it. The arrays are the
 * plan's, on result_device, and are valid while the plan or its result exists.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_plan_get_structure(const spry_spgemm_plan *plan,
                                                                    spry_arrays *structure, spry_error *err);

typedef struct spry_spgemm_run_options {
    size_t struct_size;
    const void *alpha; /* NULL: the plan's */
    void *stream;      /* NULL: that of the plan's options */
} spry_spgemm_run_options;

/*
 * Computes C's values from the present values of A and B. Plans of C need spry_matrix_values_changed afterwards.
 * values: nnz elements on result_device that overlap no other array. NULL: the plan's own array.
 * Exclusive use of the plan and its result. Runs allocate only the plan's own array.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_plan_run(spry_spgemm_plan *plan, void *values,
                                                          const spry_spgemm_run_options *options, spry_error *err);

/*
 * Returns C with the plan's own values, which later runs change. C may outlive the plan. Destroy C once for each call.
 * SPRY_INVALID_ARGUMENT before the first run with values NULL.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_plan_get_result(const spry_spgemm_plan *plan, spry_matrix **C,
                                                                 spry_error *err);
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_plan_get_info(const spry_spgemm_plan *plan, spry_spgemm_info *info,
                                                               spry_error *err);
SPRY_API void spry_spgemm_plan_destroy(spry_spgemm_plan *plan);

/*
 * Computes C = alpha * P^T*A*P, the coarse matrix of multigrid. A is n x n and P is n x m, as for spry_spgemm.
 * C: an owned CSR matrix without a claim of symmetry, because rounded c_ij and c_ji may differ.
 * plan: NULL, or receives a plan whose result is C and whose runs use the present values of A and P.
 * options: op_a and op_b must be 0. kernel may also be "spgemm_triple_rows_cpu" or "spgemm_triple_runs_cpu", which
 * store no product of two.
 * SPRY_TOO_LARGE: error.value is the bytes needed so far. With t_ij the number of products p_ki*a_kl*p_lj:
 *     |computed c_ij - exact c_ij| <= (t_ij + 6) * eps * |alpha| (|P|^T |A| |P|)_ij
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_triple(spry_context *context, spry_matrix **C, spry_spgemm_plan **plan,
                                                        const spry_matrix *A, const spry_matrix *P,
                                                        const spry_spgemm_options *options, spry_error *err);

typedef enum spry_thoroughness {
    SPRY_VERIFY_RANDOM = 0, /* compares C*x with alpha*op(A)*(op(B)*x) for a random x */
    SPRY_VERIFY_EXACT = 1   /* compares the structure and every value */
} spry_thoroughness;

typedef struct spry_spgemm_verification {
    size_t struct_size;
    double max_error;        /* largest error, as a share of the bound of spry_spgemm */
    int64_t worst_row;       /* row of max_error; -1: C has no rows */
    int64_t wrong_rows;      /* rows over the bound, or with a wrong structure */
    int64_t first_misshapen; /* with SPRY_VERIFY_EXACT: first row with a wrong structure; -1: none */
} spry_spgemm_verification;

/*
 * Compares C with the product in about twice the precision; host memory. options: alpha, op_a, op_b and drop_zeros
 * count. Returns SPRY_OK also if C is wrong (wrong_rows).
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_verify(spry_context *context, spry_spgemm_verification *verification,
                                                        const spry_matrix *C, const spry_matrix *A,
                                                        const spry_matrix *B, const spry_spgemm_options *options,
                                                        spry_thoroughness how, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
