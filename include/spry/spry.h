/*
 * Spry: sparse matrix products on CPUs and NVIDIA GPUs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products with vectors need only this header. The others:
 *  - matrix.h: matrices from matrices, statistics, orderings
 *  - spgemm.h: products of sparse matrices
 *  - solve.h: PageRank, Conjugate Gradient
 *  - io.h: files, generated matrices
 *  - cuda.h: streams and memory of GPUs
 *  - tune.h: choice of formats, measuring, lists
 *  - study.h: details for studies of formats
 *  - spry.hpp: the interface for C++17
 *
 * Notation: y = alpha*op(A)*x + beta*y. A has m rows, n columns and nnz stored entries. i is a row, j a column, k an
 * entry. Arguments and fields count from 0. Messages count rows and columns as the matrix's source does
 * (spry_arrays.index_base) and say so.
 *
 * Rules:
 *  - Arguments: the context or handle, outputs, inputs, options, error.
 *  - A function that can fail returns a spry_status. After a failure, outputs are unchanged unless the function says
 *    otherwise, and nothing leaks. err and options may be NULL. The library never prints, exits or aborts.
 *  - Each handle has one destroy function, which accepts NULL. Handles may be destroyed in any order. Vectors of
 *    spry_vector_create are destroyed before their context.
 *  - A struct with struct_size is created by SPRY_INIT. Zero, NULL and false mean the default. In the options of a run
 *    they mean the plan's value, if it has one. Structs of an older header with the same SONAME are accepted.
 *  - Options and what they point to are read during the call, unless a comment says otherwise. Arrays without elements
 *    may be NULL. Other pointers are aligned to their elements.
 *  - Strings in filled structs are never NULL. They live as long as the handle in the first argument, else forever.
 *  - Threads may share contexts, matrices and plans. A function that needs exclusive use of a handle says so.
 *  - Results have the same bits for any number of threads. Exceptions say so.
 *  - Sizes in bytes end in _bytes, times in microseconds in _us.
 *
 * Spry does not have: complex values; triangular solves, factorizations, solvers for unsymmetric systems; dense
 * matrices other than blocks of vectors; semirings, masks, sparse vectors; work on several GPUs, except through PETSc
 * (docs/petsc.md); changes of a matrix's structure in place; other devices than x86-64 CPUs and NVIDIA GPUs.
 */
#ifndef SPRY_SPRY_H
#define SPRY_SPRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define SPRY_API
#else
#define SPRY_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define SPRY_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SPRY_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SPRY_VERSION_MAJOR 0
#define SPRY_VERSION_MINOR 3
#define SPRY_VERSION_PATCH 0

/* 300 for 0.3.0. */
#define SPRY_VERSION (SPRY_VERSION_MAJOR * 10000 + SPRY_VERSION_MINOR * 100 + SPRY_VERSION_PATCH)

/* Returns the version of the running library, "0.3.0". */
SPRY_API const char *spry_version(void);

/* ---- 1. Status and errors ---- */

typedef enum spry_status {
    SPRY_OK = 0,

    SPRY_INVALID_ARGUMENT = 10, /* NULL, a value outside of its range, a vector of a wrong type, ... */
    SPRY_INVALID_SIZE = 11,     /* sizes of vectors and matrices that do not match */
    SPRY_INVALID_MATRIX = 12,   /* inconsistent arrays: decreasing offsets, a column out of range, a false claim */
    SPRY_UNKNOWN_NAME = 13,     /* no such format, kernel, device, ...; the message lists the names */

    SPRY_FILE_ERROR = 20, /* the file cannot be opened, read or written */
    SPRY_BAD_FILE = 21,   /* the content is wrong; error.line is the line */

    SPRY_OUT_OF_MEMORY = 30,
    SPRY_TOO_LARGE = 31, /* refused before allocation: over a limit, or more than the index type holds */

    SPRY_UNSUPPORTED = 40,   /* valid, but the library cannot do this: no kernel for these types, ... */
    SPRY_NOT_CONVERGED = 41, /* an iteration stopped before its tolerance */

    SPRY_DEVICE_UNAVAILABLE = 50, /* this machine has no such device, or the device cannot be used */
    SPRY_DEVICE_FAILED = 51,      /* the device reported an error; contents of output arrays are undefined */

    SPRY_INTERNAL = 90 /* a fault of the library */
} spry_status;

/* An error. A call that succeeds leaves the struct unchanged. */
typedef struct spry_error {
    spry_status status;
    char message[512]; /* one sentence */
    char argument[48]; /* name of the argument, option or allocation, or "" */
    int64_t value;     /* the number at fault or needed, or a row; else 0 */
    int64_t limit;     /* the number that is allowed, expected or available, or a column */
    char file[256];    /* path, or "" */
    int64_t line;      /* line of the file, from 1; 0: none */
    int64_t reserved[4];
} spry_error;

#ifdef __cplusplus
#define SPRY_ERROR_INIT                                                                                                \
    {                                                                                                                  \
    }
#else
#define SPRY_ERROR_INIT                                                                                                \
    {                                                                                                                  \
        0                                                                                                              \
    }
#endif

/* Returns a short constant text, such as "out of memory". */
SPRY_API const char *spry_status_text(spry_status status);

/* spry_spmv_options options = SPRY_INIT(spry_spmv_options); other languages clear the struct and set struct_size. */
#ifdef __cplusplus
extern "C++" { /* templates have no C linkage */
template <typename T> static inline T spry_init_(void)
{
    T value = T();
    value.struct_size = sizeof value;
    return value;
}
}
#define SPRY_INIT(type) (spry_init_<type>())
#else
#define SPRY_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

/* ---- 2. Types ---- */

/* Type of elements. Vectors have f32 or f64. The 16-bit types (stored as uint16_t) are for values of matrices. */
typedef enum spry_type {
    SPRY_TYPE_DEFAULT = 0,
    SPRY_F32 = 1,
    SPRY_F64 = 2,
    SPRY_PATTERN = 3, /* no values are stored; every entry is 1 */
    SPRY_BF16 = 4,
    SPRY_F16 = 5
} spry_type;

/* Type of indices. Supported pairs of offsets and columns: 32/32, 64/32, 64/64. */
typedef enum spry_index_type { SPRY_INDEX_DEFAULT = 0, SPRY_I32 = 1, SPRY_I64 = 2 } spry_index_type;

typedef enum spry_op {
    SPRY_NO_TRANSPOSE = 0, /* op(A) = A */
    SPRY_TRANSPOSE = 1     /* op(A) = A^T */
} spry_op;

typedef enum spry_known { SPRY_NOT_KNOWN = 0, SPRY_KNOWN_NO = 1, SPRY_KNOWN_YES = 2 } spry_known;

SPRY_API const char *spry_type_name(spry_type type); /* "f32", "f64", "pattern", "bf16", "f16" */
SPRY_API size_t spry_type_bytes(spry_type type);     /* 4, 8, 0, 2, 2 */

/* ---- 3. Context ---- */

typedef struct spry_context spry_context;     /* allocator, threads, devices */
typedef struct spry_matrix spry_matrix;       /* the user's data, borrowed or owned */
typedef struct spry_spmv_plan spry_spmv_plan; /* a matrix prepared for products with vectors on one device */
typedef struct spry_ordering spry_ordering;   /* a permutation of rows and columns, see matrix.h */

typedef struct spry_context_options {
    size_t struct_size;
    /*
     * Host memory: both functions or none. allocate returns memory of that alignment (a power of two), or NULL.
     * bytes is over 0. release gets bytes again. Any thread may call them.
     */
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *pointer, size_t bytes);
    void *user;
    /*
     * Threads per call, the calling thread included, at most 4096. 0: OMP_NUM_THREADS, else the number of processors.
     * Small products use fewer. docs/how-to/threads-and-devices.md has forking, stacks and concurrent calls.
     */
    int threads;
    /*
     * Runs tasks on the caller's threads. Calls task(argument, i) once for each i from 0 to tasks - 1, in any order.
     * Returns when all have ended. Any thread may call it.
     */
    void (*execute)(void *user, int tasks, void (*task)(void *argument, int index), void *argument);
    void *execute_user;
    const struct spry_device_hooks *device_hooks; /* functions that allocate GPU memory, see cuda.h */
    const char *cuda_plugin; /* path of libspry-cuda.so; NULL: SPRY_CUDA_PLUGIN, else the folder of libspry.so */
    bool no_caches;          /* released memory returns to the system immediately, see spry_context_trim (tune.h) */
} spry_context_options;

SPRY_MUST_CHECK SPRY_API spry_status spry_context_create(spry_context **context, const spry_context_options *options,
                                                         spry_error *err);
/* Matrices and plans keep their context alive until they are destroyed. */
SPRY_API void spry_context_destroy(spry_context *context);

typedef struct spry_context_info {
    size_t struct_size;
    int threads;                    /* of a call by this thread; 1 in a forked child */
    int64_t bytes, peak_bytes;      /* memory of matrices, plans and work, now and at most; without borrowed arrays */
    int64_t cached_bytes;           /* released memory that the context keeps for reuse */
    int64_t available_memory_bytes; /* host memory that this process can still allocate */
} spry_context_info;

SPRY_API spry_status spry_context_get_info(const spry_context *context, spry_context_info *info, spry_error *err);

/* ---- 4. Devices ---- */

/*
 * A device is an int: SPRY_CPU, or 1, 2, ... for GPUs. 0 is the default. For data (arrays, vectors, scalars, copies)
 * the default is host memory. For work and results, see the option.
 */
enum {
    SPRY_DEVICE_DEFAULT = 0,
    SPRY_CPU = -1,
    SPRY_DEVICE_AUTO = -2 /* where offered: the device with the least predicted time */
};

typedef struct spry_device_info {
    size_t struct_size;
    int device;
    const char *name;        /* "cpu", "cuda", "cuda:1", ... */
    const char *kind;        /* "cpu", "cuda" */
    int ordinal;             /* of a GPU: CUDA's device number */
    const char *description; /* "Intel(R) Xeon(R) Processor" */
    bool available;
    const char *reason; /* why the device is not available, or "" */
    int units;          /* processors, multiprocessors */
    const char *simd;   /* instruction set of CPU kernels: "portable", "avx2", "avx512"; "" on GPUs */
    int64_t memory_bytes;
    int64_t cache_bytes;    /* last level */
    int compute_capability; /* of a GPU: 90 for 9.0 */
} spry_device_info;

/* Returns the number of devices: the CPU and the GPUs. Without a usable GPU, device 1 exists and has the reason. */
SPRY_API int spry_device_count(const spry_context *context);

/* device: SPRY_CPU or 0, or 1 to spry_device_count - 1. */
SPRY_API spry_status spry_device_get_info(const spry_context *context, spry_device_info *info, int device,
                                          spry_error *err);

/* Finds an available device by name. SPRY_DEVICE_UNAVAILABLE: the message has the reason. */
SPRY_MUST_CHECK SPRY_API spry_status spry_device_find(const spry_context *context, int *device, const char *name,
                                                      spry_error *err);

/* ---- 5. Matrix ---- */

typedef enum spry_layout {
    SPRY_LAYOUT_DEFAULT = 0,
    SPRY_CSR = 1, /* row i has the entries offsets[i] .. offsets[i+1]-1; indices are columns */
    SPRY_COO = 2, /* row_indices and indices (columns) of each entry, in any order */
    SPRY_CSC = 3, /* column j has the entries offsets[j] .. offsets[j+1]-1; indices are rows */
    SPRY_BSR = 4  /* block row i has the blocks offsets[i] .. offsets[i+1]-1; indices are block columns */
} spry_layout;

typedef enum spry_ownership {
    SPRY_BORROW = 0, /* the arrays stay the caller's and must outlive the matrix and its plans */
    SPRY_COPY = 1    /* the library copies the arrays */
} spry_ownership;

typedef enum spry_symmetry {
    SPRY_GENERAL = 0,       /* nothing is claimed */
    SPRY_SYMMETRIC = 1,     /* A = A^T */
    SPRY_SKEW_SYMMETRIC = 2 /* A = -A^T */
} spry_symmetry;

/* Stored entries. One triangle stands for both: host memory, a matrix with a claim of symmetry. */
typedef enum spry_triangle {
    SPRY_ALL_ENTRIES = 0,
    SPRY_LOWER_TRIANGLE = 1, /* entries with j <= i; a_ij below the diagonal also stands for a_ji */
    SPRY_UPPER_TRIANGLE = 2  /* entries with j >= i */
} spry_triangle;

/*
 * Arrays of a matrix. layout, sizes, types and pointers have no default. Rows need not be sorted. Entries at one
 * position count as their sum. While the matrix or a plan lives, borrowed offsets and indices must not change.
 * Borrowed values may change, see section 8.
 */
typedef struct spry_arrays {
    size_t struct_size;
    spry_layout layout;
    int64_t rows, columns, nnz;
    spry_index_type offset_type; /* of offsets (CSR, CSC, BSR) */
    spry_index_type index_type;  /* of indices and row_indices */
    spry_type value_type;        /* SPRY_PATTERN: values is NULL */
    const void *offsets;         /* rows + 1 (CSR) or columns + 1 (CSC) elements, from 0 to nnz; BSR: block rows + 1 */
    const void *row_indices;     /* COO: nnz elements */
    const void *indices;         /* nnz elements, or one per block */
    const void *values;          /* nnz elements */
    int device;                  /* memory of all arrays; default: host */
    spry_ownership ownership;
    int index_base;         /* 0, or 1: offsets and indices count from 1, and A copies them to count from 0 */
    spry_known sorted;      /* claim: by row (CSC: column), then by index. SPRY_NOT_KNOWN is always safe */
    spry_known unique;      /* claim: one entry per position */
    spry_symmetry symmetry; /* claim, which is checked before a result depends on it */
    spry_triangle triangle; /* plans that need both triangles build them (spry_spmv_plan_info.expanded) */
    /*
     * BSR: rows and columns of a block; else 0. rows, columns and nnz count elements, zeros too. Blocks are stored
     * column by column. No triangles. Format bsr reads blocks of up to 16 x 16 in place if block columns rise. Other
     * plans build CSR (expanded).
     */
    int64_t block_size;
} spry_arrays;

/*
 * Creates a matrix from arrays. Checks sizes, pointers, alignment, types and the first and last offset, in constant
 * time. Arrays of unknown source need spry_matrix_check: products with inconsistent arrays crash.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_create(spry_context *context, spry_matrix **A,
                                                        const spry_arrays *arrays, spry_error *err);

/* Creates a matrix that borrows CSR arrays in host memory with 32-bit indices. nnz is offsets[rows]. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_borrow_csr_f64(spry_context *context, spry_matrix **A, int64_t rows,
                                                                int64_t columns, const int32_t *offsets,
                                                                const int32_t *indices, const double *values,
                                                                spry_error *err);
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_borrow_csr_f32(spry_context *context, spry_matrix **A, int64_t rows,
                                                                int64_t columns, const int32_t *offsets,
                                                                const int32_t *indices, const float *values,
                                                                spry_error *err);

/* Destroys the handle. Plans keep what they need, except borrowed arrays. */
SPRY_API void spry_matrix_destroy(spry_matrix *A);

/* Sizes; 0 if A is NULL. nnz counts stored entries. */
SPRY_API int64_t spry_matrix_rows(const spry_matrix *A);
SPRY_API int64_t spry_matrix_columns(const spry_matrix *A);
SPRY_API int64_t spry_matrix_nnz(const spry_matrix *A);

/* Fills in the arrays of A, which stay A's. ownership: SPRY_BORROW if values are the caller's or a container's. */
SPRY_API spry_status spry_matrix_get_arrays(const spry_matrix *A, spry_arrays *arrays, spry_error *err);

/*
 * Gives the values of an owned matrix for writing. Drops a claim of symmetry if all entries are stored. Call
 * spry_matrix_values_changed afterwards. SPRY_UNSUPPORTED for borrowed values, containers and patterns.
 */
SPRY_API spry_status spry_matrix_get_values(spry_matrix *A, void **values, spry_error *err);

/* Faults of arrays. Counts, and the first entry (k, and its row or CSC column; BSR: block) of each kind; -1: none. */
typedef struct spry_matrix_report {
    size_t struct_size;
    int64_t bad_ends;           /* 1: first offset is not 0, 2: last offset is not nnz */
    int64_t decreasing_offsets; /* offsets smaller than their predecessor or over nnz */
    int64_t first_decreasing;   /* i, if offsets[i+1] is at fault */
    int64_t out_of_range;       /* indices below 0 or over the last row or column */
    int64_t first_out_of_range, first_out_of_range_major, first_out_of_range_value;
    int64_t unsorted; /* legal */
    int64_t first_unsorted, first_unsorted_major;
    int64_t duplicates; /* legal: entries at a position that is already stored */
    int64_t first_duplicate, first_duplicate_major;
    int64_t not_finite; /* legal: values that are infinite or NaN */
    int64_t first_not_finite, first_not_finite_major;
} spry_matrix_report;

typedef enum spry_check {
    SPRY_CHECK_STRUCTURE = 0, /* offsets, indices and triangle, in one pass; host or GPU memory */
    SPRY_CHECK_ALL = 1        /* also order, duplicates, values and claims; host memory; exclusive use of A */
} spry_check;

/*
 * Checks the arrays of A. SPRY_INVALID_MATRIX: the message names the first fault. SPRY_CHECK_ALL fills report, after
 * SPRY_INVALID_MATRIX too, and records order and uniqueness in A. report: may be NULL; SPRY_CHECK_STRUCTURE needs NULL.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_check(spry_matrix *A, spry_matrix_report *report, spry_check how,
                                                       spry_error *err);

/* ---- 6. Vectors ---- */

/*
 * A vector, or a block of count vectors: element i of vector c is data[i*row_stride + c*column_stride].
 *  - one vector: row_stride >= 1
 *  - column-major: row_stride 1, column_stride >= length
 *  - row-major: column_stride 1, row_stride >= count; only in spry_spmv and for plans with row_major
 * Other strides are SPRY_INVALID_SIZE. x and y may differ in order.
 */
typedef struct spry_vector {
    void *data;
    int64_t length;
    int64_t count;         /* 0: 1 */
    int64_t row_stride;    /* 0: 1 */
    int64_t column_stride; /* 0: length; 1 if count and row_stride are over 1 */
    spry_type type;        /* SPRY_F32 or SPRY_F64 */
    int device;            /* memory of data; default: host */
    int64_t reserved[2];   /* must be 0 */
} spry_vector;

/* A vector that is only read. */
typedef struct spry_const_vector {
    const void *data;
    int64_t length, count, row_stride, column_stride;
    spry_type type;
    int device;
    int64_t reserved[2];
} spry_const_vector;

/* One vector in host memory. */
static inline spry_vector spry_vector_f64(double *data, int64_t length)
{
    spry_vector v = {data, length, 1, 1, length, SPRY_F64, 0, {0, 0}};
    return v;
}
static inline spry_vector spry_vector_f32(float *data, int64_t length)
{
    spry_vector v = {data, length, 1, 1, length, SPRY_F32, 0, {0, 0}};
    return v;
}
static inline spry_const_vector spry_const_vector_f64(const double *data, int64_t length)
{
    spry_const_vector v = {data, length, 1, 1, length, SPRY_F64, 0, {0, 0}};
    return v;
}
static inline spry_const_vector spry_const_vector_f32(const float *data, int64_t length)
{
    spry_const_vector v = {data, length, 1, 1, length, SPRY_F32, 0, {0, 0}};
    return v;
}
static inline spry_const_vector spry_vector_as_const(spry_vector v)
{
    spry_const_vector c = {v.data,          v.length, v.count,  v.row_stride,
                           v.column_stride, v.type,   v.device, {v.reserved[0], v.reserved[1]}};
    return c;
}

/* Creates one vector of zeros, f32 or f64, in host memory or a GPU's memory. spry_vector_destroy clears *v. */
SPRY_MUST_CHECK SPRY_API spry_status spry_vector_create(spry_context *context, spry_vector *v, int64_t length,
                                                        spry_type type, int device, spry_error *err);
SPRY_API void spry_vector_destroy(spry_context *context, spry_vector *v);

/* ---- 7. Products ---- */

typedef struct spry_spmv_options {
    size_t struct_size;
    spry_op op;
    int device;         /* default: the device of the named kernel, else of the matrix */
    int vector_device;  /* memory of x and y: SPRY_CPU or the plan's GPU; default: where the matrix is */
    const char *format; /* "sell:c=16:sigma=4096", ..., see spry_format_get_info (tune.h); NULL or "auto": chosen */
    const char *kernel; /* a name of spry_kernel_get_info (tune.h); NULL: the best */
    /* "rcm", "bandk", "degree", "bfs": the plan multiplies a reordered copy; x and y keep their order. NULL: "none" */
    const char *ordering;
    const spry_ordering *groups; /* CSR-k's super-rows, see study.h; NULL: chosen */
    /*
     * Type of x, y, alpha and beta. Default: the matrix's; f64 for a pattern, f32 for 16-bit values. Also supported:
     * f64 with f32 values, f32 with a pattern.
     */
    spry_type vector_type;
    int64_t count;               /* vectors per run that the plan is tuned for; 0: 1. Runs may have other counts */
    bool row_major;              /* runs also accept row-major blocks, for which the plan is tuned */
    int64_t expected_calls;      /* runs that set-up is weighed against; 0: 10 000 */
    int64_t expected_updates;    /* updates of values among them, each of which may convert again */
    bool allow_nondeterministic; /* also choose kernels whose bits can differ between runs */
    /*
     * Limit of owned_bytes (spry_spmv_plan_info), also after updates. SPRY_TOO_LARGE: error.value is a limit that
     * suffices. 0: only formats that store over two zeros per entry are refused.
     */
    int64_t memory_limit_bytes;
    void *stream; /* GPU: planning waits for this stream, and runs use it by default, see cuda.h */
    /*
     * Only for a pattern on the CPU: diag(row_scaling)*A*diag(column_scaling) replaces A. Arrays of vector_type, which
     * runs read and which must outlive the plan. NULL: ones. For values see spry_matrix_scale (matrix.h).
     */
    const void *row_scaling, *column_scaling;
    int threads; /* of a run on the CPU; 0: up to the context's */
    /*
     * "cost" (NULL): chooses the format with the least predicted time over expected_calls, set-up included; csr if the
     * calls do not pay for an inspection of A. "measure": times the most promising formats and remembers
     * the fastest (spry_context_set_choices in tune.h). docs/choosing.md has the rules.
     */
    const char *policy;
    double measure_budget_us; /* limit of the time that "measure" takes; 0: 50 000 */
    bool both_directions;     /* runs may also multiply by op(A)^T. A symmetric matrix needs one storage for both */
    bool keep_value_type;     /* false: values may have a narrower type if none changes */
} spry_spmv_options;

/*
 * Creates a plan: chooses a format and a kernel, and converts A if necessary. Format csr uses CSR arrays in place.
 * Every run has the same bits, unless spry_spmv_plan_info.deterministic is false.
 * Accuracy, with eps = 2^-23 (f32 vectors) or 2^-52 (f64) and nnz_i entries in row i of op(A), unless values overflow
 * or underflow: |computed y_i - exact y_i| <= (nnz_i + 3) * eps * (|alpha| |op(A)| |x| + |beta y|)_i
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_plan_create(spry_context *context, spry_spmv_plan **plan,
                                                           const spry_matrix *A, const spry_spmv_options *options,
                                                           spry_error *err);
SPRY_API void spry_spmv_plan_destroy(spry_spmv_plan *plan);

typedef struct spry_spmv_run_options {
    size_t struct_size;
    void *stream; /* GPU: a cudaStream_t */
    /*
     * workspace_bytes (spry_spmv_plan_info) or more on the plan's device, aligned to 64 bytes. Only needed on a GPU,
     * for runs that overlap in several streams, each with its own. Must be zero before its first use.
     */
    void *workspace;
    int64_t workspace_bytes;
    int scalar_device; /* memory of alpha and beta: host or the plan's GPU */
    int threads;
    bool transpose; /* multiplies by op(A)^T; the plan has both_directions */
} spry_spmv_run_options;

/*
 * Computes y = alpha*op(A)*x + beta*y. alpha and beta point to one element of vector_type; NULL: 1 and 0. If beta is
 * 0, y is not read. If alpha is 0, x is not read. y must not overlap x, an array of the plan, or alpha and beta on a
 * GPU. With vectors on the GPU, the call returns when its kernels are started (cuda.h).
 * Runs allocate memory if they overlap on a CPU and the plan has workspace_bytes. A single vector with row_stride over
 * 1 makes runs without row_major allocate and wait.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_plan_run(const spry_spmv_plan *plan, spry_vector y, const void *alpha,
                                                        spry_const_vector x, const void *beta,
                                                        const spry_spmv_run_options *options, spry_error *err);

/* Plans for the type of x and runs once. Vectors are where A is. */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv(spry_context *context, spry_vector y, const void *alpha,
                                               const spry_matrix *A, spry_const_vector x, const void *beta,
                                               spry_error *err);

/* ---- 8. Values that change ---- */

typedef struct spry_update_options {
    size_t struct_size;
    /* Array in the order and memory of A's, read until another replaces it, perhaps A's. NULL: changed in place. */
    const void *values;
    void *stream; /* GPU: the update waits for this stream */
} spry_update_options;

/*
 * Takes over new values of A in the plan; the structure is unchanged. A plan with values_in_place (spry_spmv_plan_info)
 * reads changed values without it. A plan with from_file refuses arrays. Exclusive use of the plan. After a failure the
 * plan has the old values or refuses runs, except perhaps in one of both_directions.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_plan_update(spry_spmv_plan *plan, const spry_update_options *options,
                                                           spry_error *err);

/*
 * Updates all SpMV and CG plans of A after its values have changed in place. Plans that read another array read that
 * again. Exclusive use of A and of the plans. After a failure some plans have the old values, and CG plans need another
 * update. options->values must be NULL.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_values_changed(spry_matrix *A, const spry_update_options *options,
                                                                spry_error *err);

/* ---- 9. Description and cost of a plan ---- */

enum { SPRY_NEVER = -1 };

/* Why a plan has its format. */
typedef enum spry_reason {
    SPRY_REASON_NONE = 0,
    SPRY_REASON_NAMED = 1,      /* the options name it, or one of its kernels */
    SPRY_REASON_FEW_CALLS = 2,  /* too few calls or entries for a conversion */
    SPRY_REASON_IN_PLACE = 3,   /* arrays in GPU memory are used in place */
    SPRY_REASON_PATTERN = 4,    /* stores no values */
    SPRY_REASON_EMPTY = 5,      /* A has no entries */
    SPRY_REASON_TRANSPOSED = 6, /* csc reads A^T by rows */
    SPRY_REASON_UNIFORM_ROWS = 7,
    SPRY_REASON_IRREGULAR_ROWS = 8,
    SPRY_REASON_VERY_SPARSE = 9,
    SPRY_REASON_FEWER_BYTES = 10,
    SPRY_REASON_BLOCKS = 11,
    SPRY_REASON_SCATTERED = 12,
    SPRY_REASON_MEMORY = 13,     /* the first choice exceeds memory_limit_bytes */
    SPRY_REASON_TYPES = 14,      /* the first choice has no kernel for the types */
    SPRY_REASON_FEW_ROWS = 15,   /* too few rows for a GPU */
    SPRY_REASON_STORED = 16,     /* A is a container in this format, or BSR */
    SPRY_REASON_LEAST_TIME = 17, /* least predicted time, set-up included */
    SPRY_REASON_MEASURED = 18,   /* least measured time */
    SPRY_REASON_REMEMBERED = 19  /* measured earlier */
} spry_reason;

typedef struct spry_spmv_plan_info {
    size_t struct_size;
    spry_op op;
    int device;
    const char *device_name;       /* "cpu", "cuda", ... */
    const char *format;            /* "csr", ... */
    const char *parameters;        /* of the format: "c=8:sigma=256", or "" */
    const char *kernel;            /* "csr_avx512_cpu", ... */
    const char *kernel_parameters; /* "lanes=32", or "" */
    const char *ordering;          /* "none", ... */
    spry_reason reason_code;
    const char *reason; /* one sentence: why this format */
    bool deterministic;
    bool values_in_place;     /* runs read A's values; a change needs no update */
    bool expanded;            /* A stores one triangle or blocks, the plan CSR of all entries */
    bool from_file;           /* runs read a container in a format other than csr and csc (io.h) */
    int threads;              /* at most, of a run; 0 on a GPU */
    int64_t storage_bytes;    /* read by a run, borrowed arrays included */
    int64_t owned_bytes;      /* allocated by the plan, workspace included */
    int64_t workspace_bytes;  /* needed by each concurrent run */
    double setup_us;          /* time of planning */
    double upload_us;         /* part of setup_us: copies to the device */
    double update_us;         /* time of the last update; 0: none */
    double predicted_us;      /* predicted time of a run with count vectors; 0: not predicted */
    const char *baseline;     /* format to compare with: "csr" */
    double baseline_us;       /* predicted time of a run in baseline */
    int64_t break_even_calls; /* runs until ahead of baseline, set-up included; 0: is baseline; or SPRY_NEVER */
    const char *other_format, *other_kernel; /* with both_directions: of the other direction, else "" */
    spry_type value_type;                    /* of stored values */
} spry_spmv_plan_info;

/* The first call for a plan predicts times, which takes milliseconds and up to 8 MB. */
SPRY_API spry_status spry_spmv_plan_get_info(const spry_spmv_plan *plan, spry_spmv_plan_info *info, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
