/*
 * The interface between the benchmark and a peer module: another library's product, measured beside
 * Spry's in the same run. A module is a shared object spry-peer-<name>.so that exports one function,
 * spry_peer_get. The benchmark looks for modules in the folder that the environment variable
 * SPRY_PEER_DIR names, else in peers/ beside the program.
 *
 * A module borrows the arrays it is given: they live until destroy and never change. It prints nothing
 * and does not exit. prepare may copy, convert and tune; run must do nothing but the product. *state comes NULL; what
 * prepare puts there goes to destroy, also when prepare does not succeed.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SPRY_PEER_ABI = 6 };

/* The answers of a module's functions. UNSUPPORTED: well-formed, but not offered; the case is skipped. */
enum { SPRY_PEER_OK = 0, SPRY_PEER_UNSUPPORTED = 1, SPRY_PEER_FAILED = 2 };

/* One sentence on what went wrong. */
typedef struct spry_peer_error {
    char text[256];
} spry_peer_error;

/* Fills in the sentence and returns the status. */
__attribute__((format(printf, 3, 4))) static inline int spry_peer_fail(spry_peer_error *error, int status,
                                                                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

/* Leaves a function that answers so, where the expression is another answer than OK. */
#define SPRY_PEER_TRY(expression)                                                                                      \
    do {                                                                                                               \
        int result_ = (expression);                                                                                    \
        if (result_ != SPRY_PEER_OK) return result_;                                                                   \
    } while (0)

/* Cleared memory for a state, which goes to *state at once; NULL, with the sentence, where there is none. */
static inline void *spry_peer_new(void **state, size_t bytes, spry_peer_error *error)
{
    *state = calloc(1, bytes);
    if (!*state) spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory");
    return *state;
}

/* CSR in host memory. The widths tell the types: 4 and 8 bytes are f32 and f64, int32_t and int64_t. */
typedef struct spry_peer_matrix {
    int64_t rows, cols, nnz;
    int value_bytes, offset_bytes, index_bytes;
    const void *offsets; /* rows + 1 */
    const void *columns; /* nnz, sorted within each row */
    const void *values;  /* nnz */
} spry_peer_matrix;

/* Offset or column k of an array whose items have so many bytes. */
static inline int64_t spry_peer_index(int bytes, const void *array, int64_t k)
{
    return bytes == 8 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

/* Where row i begins; of i = rows, where the last one ends. */
static inline int64_t spry_peer_offset(const spry_peer_matrix *a, int64_t i)
{
    return spry_peer_index(a->offset_bytes, a->offsets, i);
}

static inline void spry_peer_put_index(int bytes, void *array, int64_t k, int64_t value)
{
    if (bytes == 8)
        ((int64_t *)array)[k] = value;
    else
        ((int32_t *)array)[k] = (int32_t)value;
}

typedef struct spry_peer_request {
    spry_peer_matrix matrix;
    int variant;            /* the kernel's */
    int transpose;          /* 1: y = alpha*A^T*x + beta*y */
    int64_t columns;        /* of x and y: 1 for the module's kernels; for its spmm, from 1 on, */
    int row_major;          /* which lie one behind the other (0), or else rows of all columns do (1) */
    int threads;            /* that the product may use */
    int64_t expected_calls; /* products that will follow: what tuning may count on */
} spry_peer_request;

typedef struct spry_peer_cost {
    double upload_us;  /* of prepare's time, moving data to a device */
    double startup_us; /* of prepare's time, starting the library, once in a process: no part of the set-up time */
    int64_t bytes;     /* that a run reads of the matrix; 0: not known */
    int threads;       /* that a run really uses */
    int deterministic; /* comes filled with the kernel's; to be set where it is another for this request */
    char version[64];  /* of the library measured, where only prepare finds it out; else empty */
    const double *us;  /* where a run leaves its time, of peers that are handed x and y over; NULL: the clock counts */
} spry_peer_cost;

typedef struct spry_peer_kernel {
    const char *name;   /* "mkl_csr" */
    const char *format; /* "csr": the format of Spry's that it stands beside */
    const char *device; /* "cpu" */
    const char *title;  /* "Intel oneMKL mkl_sparse_d_mv without hints" */
    int deterministic;  /* 1: the same bits in every run; 0: not; -1: not documented */
    /* The benchmark times prepare: that is the peer's set-up time. error gets one sentence when it is not OK. */
    int (*prepare)(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error);
    /*
     * x and y are of the matrix's value type, without gaps, in the memory of `device`: "cpu" or "cuda", where run may
     * return before the product is done, in the order of the default stream. With beta = 0, y may hold NaN and must be
     * overwritten.
     */
    int (*run)(void *state, double alpha, const void *x, double beta, void *y);
    void (*destroy)(void *state);
    int variant; /* tells kernels apart that have a prepare in common */
} spry_peer_kernel;

/* ---- sparse times sparse ------------------------------------------------------------------------ */

typedef struct spry_peer_spgemm_request {
    spry_peer_matrix a, b; /* rows of b = columns of a; the same arrays where a matrix is squared */
    int variant, threads;
} spry_peer_spgemm_request;

/* The time and memory of one product. */
typedef struct spry_peer_product {
    double us;          /* comes negative: the benchmark's clock counts. A peer in another process tells its own time */
    int64_t peak_bytes; /* comes negative: not known. Inputs, result and buffers together, the most held at once */
} spry_peer_product;

/*
 * C = A*B in CSR. The benchmark times run: one whole product from the inputs as prepare left them to C, with every
 * allocation, conversion and sorting that it takes. A sequence is prepare, (run, [fetch], release)..., destroy.
 */
typedef struct spry_peer_spgemm {
    const char *name;   /* "mkl_sp2m" */
    const char *device; /* "cpu", "cuda" */
    const char *title;
    int deterministic; /* as in spry_peer_kernel */
    int (*prepare)(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost, spry_peer_error *error);
    /* Returns when C is complete, wherever the peer keeps it. UNSUPPORTED: a limit of the peer's, not a fault. */
    int (*run)(void *state, spry_peer_product *product, spry_peer_error *error);
    /* Shows the last C in host memory, its rows sorted or not as run left them; the arrays live until release. */
    int (*fetch)(void *state, spry_peer_matrix *c, spry_peer_error *error);
    void (*release)(void *state); /* gives the last C back, if there is one */
    void (*destroy)(void *state);
    int variant; /* as in spry_peer_kernel */
} spry_peer_spgemm;

/* ---- methods that iterate --------------------------------------------------------------------------- */

/*
 * CG: A*x = b without preconditioner, from x = 0, until ||r||_2 <= tolerance * ||b||_2.
 * PAGERANK: x = alpha*B*x + (1-alpha)/n*e from x = e/n, until ||x_k - x_(k-1)||_1 <= tolerance. B is the matrix
 * transposed, each column divided by its sum; a column without weight counts as e/n.
 */
typedef enum spry_peer_method { SPRY_PEER_CG, SPRY_PEER_PAGERANK } spry_peer_method;

typedef struct spry_peer_solver_request {
    spry_peer_matrix matrix; /* square, symmetric for CG; of PageRank entry (i, j) >= 0 is a link from i to j */
    int variant, threads;
    double alpha, tolerance;
    int64_t max_iterations;
} spry_peer_solver_request;

typedef struct spry_peer_solution {
    int64_t iterations; /* until the rule held, or the limit */
    double residual;    /* by which the method stopped: ||r||/||b||, or ||x_k - x_(k-1)||_1 */
    double us;          /* comes negative: the benchmark's clock counts. Else the time of the iterations */
} spry_peer_solution;

/*
 * The benchmark divides the time of solve by the iterations. What is done once belongs to prepare: uploads,
 * conversions, the transposed, workspaces. Moving b and x is no part of the time of a peer that tells it.
 */
typedef struct spry_peer_solver {
    const char *name;   /* "eigen_cg" */
    const char *device; /* "cpu", "cuda" */
    const char *title;
    spry_peer_method method;
    int deterministic; /* as in spry_peer_kernel */
    int (*prepare)(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error);
    /* A whole solve. x and b are of the matrix's value type, in host memory; b is NULL of PageRank. */
    int (*solve)(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error);
    void (*destroy)(void *state);
    int variant; /* as in spry_peer_kernel */
} spry_peer_solver;

/* ---- the module --------------------------------------------------------------------------------- */

typedef struct spry_peer_module {
    int abi;             /* SPRY_PEER_ABI */
    const char *name;    /* "mkl" */
    const char *version; /* of the library measured: "2025.2.0" */
    int kernel_count;    /* of A times a vector; 0: none, and NULL, as of the others */
    const spry_peer_kernel *kernels;
    int spgemm_count; /* of A times a sparse matrix */
    const spry_peer_spgemm *spgemm;
    int spmm_count; /* of A times several columns */
    const spry_peer_kernel *spmm;
    int solver_count; /* methods that iterate */
    const spry_peer_solver *solvers;
} spry_peer_module;

/* NULL with a sentence in error when the module cannot be used here. */
typedef const spry_peer_module *(*spry_peer_get_fn)(spry_peer_error *error);

#define SPRY_PEER_EXPORT __attribute__((visibility("default")))
SPRY_PEER_EXPORT const spry_peer_module *spry_peer_get(spry_peer_error *error);

#ifdef __cplusplus
}
#endif
