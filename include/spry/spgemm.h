/*
 * Spry: products of sparse matrices.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_SPGEMM_H
#define SPRY_SPGEMM_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spry_spgemm_plan spry_spgemm_plan; /* A and B made ready for C = alpha*op(A)*op(B), and C's structure */

/* What a product was, and what it took. */
typedef struct spry_spgemm_info {
    size_t struct_size;
    int device;                 /* its number: SPRY_CPU, 1, ... */
    const char *device_name;    /* "cpu", "cuda", ... */
    const char *kernel;         /* "spgemm_rows_cpu" */
    char reason[200];           /* one sentence: why this device and this kernel */
    int deterministic;          /* 1: the same bits in every run, and on the CPU for any number of threads */
    int threads;                /* threads at work; 0 on a GPU */
    int64_t rows, columns, nnz; /* of C */
    int64_t products;           /* multiplications: sum over entries (i,k) of op(A) of the entries in row k of op(B) */
    double compression;         /* products / entries of C's structure; 0 where there are none */
    int64_t chunks;             /* pieces of rows it was done in: 1 unless a memory limit asked for more */
    int64_t peak_bytes;         /* inputs, result and workspace: the most held at once on the device that computes */
    int64_t workspace_bytes;    /* of it, neither inputs nor result: accumulators, converted inputs */
    double setup_us;            /* before run_us: conversions, upload, symbolic phase; of a plan all of its creation */
    double upload_us;           /* of setup_us, moving inputs to the device */
    double run_us;              /* numeric phase, or both at once: of the last run of a plan */
    double download_us;         /* of run_us, moving C to the host */
    /*
     * The kernel's stages in us, of the last run; -1: there was none, or the kernel does not tell it apart. On a GPU
     * kernels of studies alone tell them, where tell_stages asks for it. One pass is a fill.
     */
    double convert_us; /* op(B) by columns, for kernels that need it so */
    double count_us;   /* the entries of each row of C */
    double scan_us;    /* their sum: C's offsets */
    double fill_us;    /* columns and values */
    double sort_us;    /* rows by their columns; 0: they come out sorted */
} spry_spgemm_info;

typedef struct spry_spgemm_options {
    size_t struct_size;
    const void *alpha;  /* one number of C's value type in host memory; NULL: 1 */
    spry_op op_a, op_b; /* SPRY_TRANSPOSE: of A, of B. What is in device memory is not transposed */
    /* SPRY_DEVICE_AUTO: what is predicted to be faster, the CPU where that fails; SPRY_DEVICE_DEFAULT: the named
       kernel's, else where A is */
    int device;
    int result_device;    /* where C will be: SPRY_CPU or the GPU that computes; SPRY_DEVICE_DEFAULT: where A is */
    const char *kernel;   /* one of spry_spgemm_kernel_get_info (tools.h); NULL: the best */
    spry_type value_type; /* of C where A and B are both patterns, whose entries count 1: SPRY_F32 or F64 (default) */
    spry_index_type offset_type; /* of C; default: 32 bits where its entries allow and columns have them, else 64 */
    int drop_zeros; /* 1: entries that come out as 0 are left out; 0: they stay, as all of the structure does */
    int threads;    /* at most, up to 4096; 0: the context's */
    /* Inputs, result, workspace and scratch of conversions together, on the device that computes; 0: no limit. */
    int64_t memory_limit_bytes;
    spry_spgemm_info *info; /* filled when spry_spgemm succeeds, its struct_size set before; NULL: nobody asks */
    /*
     * Of the GPU that computes; not looked at where the CPU does. The call waits for what the stream holds before it
     * reads operands, and its work has ended on return. NULL: the default stream, in whose order a single product is
     * that stays on the GPU; plans and results in host memory are complete on return.
     */
    void *stream;
    int tell_stages; /* 1: a GPU's kernels measure their stages, by events in its stream, for info */
} spry_spgemm_options;

/*
 * C = alpha*op(A)*op(B): an owned CSR matrix, rows sorted, each position once. op(A) (m x l) and op(B) (l x n) must be
 * sound; they may be one matrix. Any layout: what is no CSR with the indices of the other is converted first, and
 * counts as workspace; a transposed CSC is CSR as it lies, a transposed CSR is converted. Entries at one position count
 * as their sum, rows need not be sorted. A kernel may add them before it multiplies, or multiply each: if an operand is
 * infinite or NaN, or a sum overflows, c_ij may be an infinity with one kernel and NaN with another.
 * Values are f32 or f64, the same type in A and B, or a pattern in one or both. bf16 and f16 are SPRY_UNSUPPORTED:
 * convert them. C's structure is that of the product of the patterns, so numerical zeros stay unless drop_zeros.
 *
 * A symbolic phase counts C's rows exactly, then C is allocated, exactly, and filled; where a CPU can reserve address
 * space for all products, one product counts and fills at once. Workspace of two phases is some numbers a
 * thread for each column that the widest row of C spans, or a table for the longest row where that is less or memory
 * is short; it does not grow with the products. Under memory_limit_bytes it is made smaller, down to one thread,
 * before the product is refused: SPRY_TOO_LARGE, where possible before work starts, always before C is allocated.
 * error.limit is then memory_limit_bytes, and error.value a limit that suffices: the least one once C's rows have been
 * counted, an upper bound before. On a GPU error.value is the bytes needed so far, which may not suffice, as kernels
 * allocate workspace while they run.
 * docs/spgemm.md has the rule, and the algorithms.
 * Determinism: the same bits on one device for any number of threads, any limit and from plans. On the CPU each c_ij
 * is summed in the order of row i of op(A). Accuracy, with t_ij the products that meet in c_ij, as long as nothing
 * overflows or underflows:
 *     |computed c_ij - exact c_ij| <= (t_ij + 3) * eps * |alpha| (|op(A)| |op(B)|)_ij
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm(spry_context *context, spry_matrix **C, const spry_matrix *A,
                                                 const spry_matrix *B, const spry_spgemm_options *options,
                                                 spry_error *err);

/* What a product would take, without doing it. */
typedef struct spry_spgemm_prediction {
    size_t struct_size;
    int64_t rows, columns, products; /* exact */
    int64_t nnz, nnz_bound;          /* of C: exact where `exact` is 1, else from a sample of the rows; at most */
    int exact;
    double compression;
    int64_t input_bytes, result_bytes, workspace_bytes, peak_bytes; /* without a limit */
    int64_t least_bytes; /* the smallest limit under which it can be done once */
    int device;
    const char *device_name, *kernel;
} spry_spgemm_prediction;

/* On the CPU exact, by a symbolic phase: a third to three quarters of the product's time, and none of its memory.
   options may be NULL. */
SPRY_API spry_status spry_spgemm_predict(spry_context *context, spry_spgemm_prediction *estimate, const spry_matrix *A,
                                         const spry_matrix *B, const spry_spgemm_options *options, spry_error *err);

/*
 * For products that are repeated with new values in the same structure: C's structure, its arrays and all workspace
 * are made here. On a CPU this takes one to two times as long as spry_spgemm. On a GPU columns are found together
 * with values, so that a first product is computed here. While the plan lives the structures of A and B must not
 * change; their values may, in place. The plan keeps both handles alive, and of an operand that is converted where
 * each value came from (8 bytes an entry). drop_zeros is SPRY_UNSUPPORTED, options->info is not filled.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_plan_create(spry_context *context, spry_spgemm_plan **plan,
                                                             const spry_matrix *A, const spry_matrix *B,
                                                             const spry_spgemm_options *options, spry_error *err);

/*
 * The structure of C, right after creation: CSR, its sizes and types, its offsets and columns where C will be
 * (device), values NULL; offset_type tells whether offsets have 32 or 64 bits. The arrays are the plan's, and valid
 * while the plan or a handle of its result lives.
 */
SPRY_API spry_status spry_spgemm_plan_get_structure(const spry_spgemm_plan *plan, spry_arrays *structure,
                                                    spry_error *err);

typedef struct spry_spgemm_run_options {
    size_t struct_size;
    const void *alpha; /* one number of C's value type in host memory; NULL: that of the plan's options */
    /*
     * Where C will be, in host memory or on the plan's result_device: nnz numbers of C's value type, aligned to it,
     * which this run writes instead of the plan's own. SPRY_INVALID_ARGUMENT if they overlap arrays of A, of B or of
     * C's structure. NULL: the plan's own.
     */
    void *values;
    /* A stream of the plan's GPU, or NULL. The run waits for what it holds, and has ended on return. CPU: ignored. */
    void *stream;
} spry_spgemm_run_options;

/*
 * The numeric phase: C's values of the present values of A and B. options may be NULL. Exclusive use of the plan and of
 * its result. Allocates nothing, but that a run into the caller's values gives back those of the plan as long as no run
 * has filled them; the first run that does then allocates them.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_plan_run(spry_spgemm_plan *plan,
                                                          const spry_spgemm_run_options *options, spry_error *err);

/*
 * C, after the first run into the plan's own values (SPRY_INVALID_ARGUMENT before): a handle of its own on the plan's
 * arrays, which later runs of this kind fill anew. It may outlive the plan.
 */
SPRY_API spry_status spry_spgemm_plan_get_result(const spry_spgemm_plan *plan, spry_matrix **C, spry_error *err);
SPRY_API spry_status spry_spgemm_plan_get_info(const spry_spgemm_plan *plan, spry_spgemm_info *info, spry_error *err);
SPRY_API void spry_spgemm_plan_destroy(spry_spgemm_plan *plan);

typedef enum spry_thoroughness {
    SPRY_VERIFY_RANDOM = 0, /* C*x = alpha*A*(op(B)*x) for a random x, row by row: time and memory of three SpMVs */
    SPRY_VERIFY_EXACT = 1   /* the structure and every value, against the product in about twice the precision */
} spry_thoroughness;

typedef struct spry_spgemm_verification {
    size_t struct_size;
    double max_error;  /* largest |computed - reference| as a share of the bound of spry_spgemm; NaN or Inf: infinite */
    int64_t worst_row; /* where; -1: C has no rows */
    int64_t wrong_rows;      /* rows past the bound, or with a wrong structure */
    int64_t first_misshapen; /* exact: first row that lacks a position, or has one too many or out of order; -1: none */
} spry_spgemm_verification;

/*
 * Recomputes the product of options (alpha, op_a, op_b, drop_zeros count) and compares. A, B and C: host memory, sound.
 * Returns SPRY_OK when it could compare: wrong_rows == 0 is the verdict. SPRY_VERIFY_RANDOM sums the bounds of a row,
 * with the entries of A's row for t_ij, so it lets smaller faults pass than SPRY_VERIFY_EXACT does.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_verify(spry_context *context, spry_spgemm_verification *verification,
                                                        const spry_matrix *C, const spry_matrix *A,
                                                        const spry_matrix *B, const spry_spgemm_options *options,
                                                        spry_thoroughness how, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
