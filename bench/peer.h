/*
 * The interface between the benchmark and a peer module, which wraps another library. A module is a shared object
 * spry-peer-<name>.so that exports one function, spry_peer_get. The benchmark searches modules in the folder of the
 * environment variable SPRY_PEER_DIR, else in peers/ in the program's folder.
 *
 * A module borrows its input arrays, which are constant and valid until destroy. It prints nothing and does not exit.
 * prepare may copy, convert and tune; run only computes the product. *state is NULL before prepare. The benchmark
 * passes the state of prepare to destroy, also after a failure of prepare.
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

/* Results of a module's functions. UNSUPPORTED: a valid request that the peer does not support; the case is skipped. */
enum { SPRY_PEER_OK = 0, SPRY_PEER_UNSUPPORTED = 1, SPRY_PEER_FAILED = 2 };

/* The reason of a failure, in one sentence. */
typedef struct spry_peer_error {
    char text[256];
} spry_peer_error;

/* Fills in the error and returns the status. */
__attribute__((format(printf, 3, 4))) static inline int spry_peer_fail(spry_peer_error *error, int status,
                                                                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

/* Returns from the function with the result of the expression, unless it is OK. */
#define SPRY_PEER_TRY(expression)                                                                                      \
    do {                                                                                                               \
        int result_ = (expression);                                                                                    \
        if (result_ != SPRY_PEER_OK) return result_;                                                                   \
    } while (0)

/* Allocates zeroed memory for a state and stores it in *state. Returns NULL with an error if memory is short. */
static inline void *spry_peer_new(void **state, size_t bytes, spry_peer_error *error)
{
    *state = calloc(1, bytes);
    if (!*state) spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory");
    return *state;
}

/* CSR in host memory. 4 and 8 bytes mean f32 and f64 for values, int32_t and int64_t for offsets and columns. */
typedef struct spry_peer_matrix {
    int64_t rows, cols, nnz;
    int value_bytes, offset_bytes, index_bytes;
    const void *offsets; /* rows + 1 elements */
    const void *columns; /* nnz elements, in increasing order within each row */
    const void *values;  /* nnz elements */
} spry_peer_matrix;

/* Returns element k of an array of offsets or columns. bytes: size of an element. */
static inline int64_t spry_peer_index(int bytes, const void *array, int64_t k)
{
    return bytes == 8 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

/* Returns the offset of row i; for i = rows the end of the last row. */
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
    int variant;            /* variant of the kernel */
    int transpose;          /* 1: y = alpha*A^T*x + beta*y */
    int64_t columns;        /* columns of x and y: 1 for `kernels`, 1 or more for `spmm` */
    int row_major;          /* 1: x and y are row-major; 0: column-major */
    int threads;            /* threads that the product may use */
    int64_t expected_calls; /* expected number of products, for tuning */
} spry_peer_request;

typedef struct spry_peer_cost {
    double upload_us;  /* part of prepare's time: moving data to a device */
    double startup_us; /* part of prepare's time: starting the library once per process; not counted as set-up */
    int64_t bytes;     /* bytes of the matrix that a run reads; 0: not known */
    int threads;       /* threads that a run uses */
    int deterministic; /* initially the value of the peer's kernel; prepare may set another for this request */
    char version[64];  /* version of the library, if only prepare finds it; else empty */
    const double *us;  /* time of the last run, for peers in another process; NULL: the benchmark measures the time */
} spry_peer_cost;

typedef struct spry_peer_kernel {
    const char *name;   /* "mkl_csr" */
    const char *format; /* "csr": the format of Spry with which it is compared */
    const char *device; /* "cpu" */
    const char *title;  /* "Intel oneMKL mkl_sparse_d_mv without hints" */
    int deterministic;  /* 1: equal bits in every run; 0: not; -1: not documented */
    /* Prepares products. Its time is the peer's set-up time. Fills in error if the result is not OK. */
    int (*prepare)(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error);
    /*
     * Computes y = alpha*op(A)*x + beta*y. x and y have the matrix's value type, are contiguous and in the memory of
     * `device`. If device is "cuda", run may enqueue the product in the default stream and return before it is
     * complete. With beta = 0, y may hold NaN and must be overwritten.
     */
    int (*run)(void *state, double alpha, const void *x, double beta, void *y);
    void (*destroy)(void *state);
    int variant; /* distinguishes kernels that share prepare */
} spry_peer_kernel;

/* ---- sparse times sparse ------------------------------------------------------------------------ */

typedef struct spry_peer_spgemm_request {
    spry_peer_matrix a, b; /* rows of b = columns of a; equal arrays if a matrix is squared */
    int variant, threads;
} spry_peer_spgemm_request;

/* The time and memory of one product. */
typedef struct spry_peer_product {
    /*
     * Microseconds of the product, which a peer in another process sets. It is negative before run. If run leaves it
     * negative, the benchmark uses its own time of run.
     */
    double us;
    /* Peak of the bytes of inputs, result and buffers together. Negative if not known; run is called with -1. */
    int64_t peak_bytes;
} spry_peer_product;

/*
 * C = A*B in CSR. The benchmark times run: one whole product from prepared inputs to C, with all allocations,
 * conversions and sorting. Calls come in the order prepare, (run, [fetch], release)..., destroy.
 */
typedef struct spry_peer_spgemm {
    const char *name;   /* "mkl_sp2m" */
    const char *device; /* "cpu", "cuda" */
    const char *title;
    int deterministic; /* as in spry_peer_kernel */
    int (*prepare)(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost, spry_peer_error *error);
    /* Returns when C is complete, in host or GPU memory; UNSUPPORTED if the product exceeds a limit of the peer. */
    int (*run)(void *state, spry_peer_product *product, spry_peer_error *error);
    /* Returns the last C in host memory, with rows in the order of run. The arrays are valid until release. */
    int (*fetch)(void *state, spry_peer_matrix *c, spry_peer_error *error);
    void (*release)(void *state); /* frees the last C, if any */
    void (*destroy)(void *state);
    int variant; /* as in spry_peer_kernel */
} spry_peer_spgemm;

/* ---- iterative methods ------------------------------------------------------------------------------ */

/*
 * CG: solves A*x = b without preconditioner, from x = 0, until ||r||_2 <= tolerance * ||b||_2.
 * PAGERANK: iterates x = alpha*B*x + (1-alpha)/n*e from x = e/n, until ||x_k - x_(k-1)||_1 <= tolerance. B is the
 * transposed matrix with each column divided by its sum; a column with sum 0 is replaced by e/n.
 */
typedef enum spry_peer_method { SPRY_PEER_CG, SPRY_PEER_PAGERANK } spry_peer_method;

typedef struct spry_peer_solver_request {
    spry_peer_matrix matrix; /* square; symmetric for CG; for PageRank, entry (i, j) >= 0 is a link from i to j */
    int variant, threads;
    double alpha, tolerance;
    int64_t max_iterations;
} spry_peer_solver_request;

typedef struct spry_peer_solution {
    int64_t iterations; /* iterations until convergence or the limit */
    double residual;    /* residual of the stopping rule: ||r||/||b||, or ||x_k - x_(k-1)||_1 */
    double us; /* time of the iterations; negative if the peer does not set it; then the benchmark uses its own time */
} spry_peer_solution;

/*
 * The benchmark divides the time of solve by the iterations. prepare does all work that is done once: uploads,
 * conversions, transposition, workspaces. If a peer reports its time, this time excludes the transfer of b and x.
 */
typedef struct spry_peer_solver {
    const char *name;   /* "eigen_cg" */
    const char *device; /* "cpu", "cuda" */
    const char *title;
    spry_peer_method method;
    int deterministic; /* as in spry_peer_kernel */
    int (*prepare)(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error);
    /* Solves. x and b have the matrix's value type and are in host memory; b is NULL for PageRank. */
    int (*solve)(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error);
    void (*destroy)(void *state);
    int variant; /* as in spry_peer_kernel */
} spry_peer_solver;

/* ---- the module --------------------------------------------------------------------------------- */

typedef struct spry_peer_module {
    int abi;             /* SPRY_PEER_ABI */
    const char *name;    /* "mkl" */
    const char *version; /* version of the library, "2025.2.0" */
    int kernel_count;    /* length of `kernels`: A times a vector. In each list, 0 and NULL mean no kernels */
    const spry_peer_kernel *kernels;
    int spgemm_count; /* length of `spgemm`: A times a sparse matrix */
    const spry_peer_spgemm *spgemm;
    int spmm_count; /* length of `spmm`: A times multiple vectors */
    const spry_peer_kernel *spmm;
    int solver_count; /* length of `solvers`: iterative methods */
    const spry_peer_solver *solvers;
} spry_peer_module;

/* Returns the module, or NULL with an error if this machine cannot use it. */
typedef const spry_peer_module *(*spry_peer_get_fn)(spry_peer_error *error);

#define SPRY_PEER_EXPORT __attribute__((visibility("default")))
SPRY_PEER_EXPORT const spry_peer_module *spry_peer_get(spry_peer_error *error);

#ifdef __cplusplus
}
#endif
