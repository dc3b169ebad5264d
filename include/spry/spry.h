/*
 * Spry: sparse matrix products on CPUs and NVIDIA GPUs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The only public header. It is written in the order in which it is learned:
 *
 *    1. versions            6. what a plan is and costs    11. sparse times sparse
 *    2. status and errors   7. reading and writing files   12. devices, formats and kernels
 *    3. types               8. generated matrices          13. vectors, PageRank, Conjugate Gradient
 *    4. context, matrix     9. checking, figures, verification
 *    5. planning and multiplying                           10. converting, reordering
 *
 * Rules that hold everywhere:
 *  - y = alpha*op(A)*x + beta*y; A is m x n with nnz stored entries; i is a row, j a column, k an entry.
 *    Rows, columns and entries are counted from 0.
 *  - A fallible function returns a spry_status and takes a spry_error pointer last, which may be NULL.
 *    On failure its outputs are left as they were, nothing leaks, and the error says what, where and
 *    what was expected. The library never prints, never exits and never aborts. Exceptions: spry_matrix_check
 *    fills its report with SPRY_INVALID_MATRIX too; spry_pagerank and spry_cg fill result, and x where the iteration
 *    began, with SPRY_NOT_CONVERGED too; after SPRY_DEVICE_FAILED what the device was writing is undefined.
 *  - Outputs come first after the context. Handles (context, matrix, plans, ordering) are opaque; each has one
 *    destroy function, which accepts NULL.
 *  - Structs that may grow begin with struct_size; set it to sizeof the struct (SPRY_INIT does) and
 *    leave the rest zero: zero means the default. Before version 1.0 the size must be the library's own, so
 *    recompile against each version. Strings in a filled struct belong to the library and live as long as
 *    the handle they came from, or for ever where there is none.
 *  - A context may be used by several threads at once; a matrix and a plan may too, once made.
 *    What needs exclusive use says so.
 *  - A matrix is "sound" when spry_matrix_check finds no structural fault. Matrices that were read, generated
 *    or converted are. Of the caller's own arrays only what takes constant time is checked at creation;
 *    planning, multiplying, converting and statistics trust the rest, and unsound arrays crash them.
 *  - Sizes in bytes are called ..._bytes, times in microseconds ..._us.
 */
#ifndef SPRY_SPRY_H
#define SPRY_SPRY_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define SPRY_API
#else
#define SPRY_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ *
 * 1. Versions
 * ------------------------------------------------------------------------------------------------ */

#define SPRY_VERSION_MAJOR 0
#define SPRY_VERSION_MINOR 1
#define SPRY_VERSION_PATCH 1

/* The version of the library that runs, "0.1.1"; the macros tell the one compiled against. */
SPRY_API const char *spry_version(void);

/* ------------------------------------------------------------------------------------------------ *
 * 2. Status and errors
 * ------------------------------------------------------------------------------------------------ */

/* Numbered in decades by theme; a number never changes its meaning. */
typedef enum spry_status {
    SPRY_OK = 0,

    SPRY_INVALID_ARGUMENT = 10, /* NULL, a value outside its range, an option struct of unknown size */
    SPRY_INVALID_SIZE = 11,     /* vector or matrix sizes that do not fit together */
    SPRY_INVALID_MATRIX = 12,   /* arrays that are no matrix: offsets that fall, a column out of range */
    SPRY_UNKNOWN_NAME = 13,     /* no such format, kernel, device, generator or suite */

    SPRY_FILE_ERROR = 20, /* cannot be opened, read or written: missing, a directory, no permission */
    SPRY_BAD_FILE = 21,   /* opened, but its content is wrong; error.line tells where */

    SPRY_OUT_OF_MEMORY = 30,
    SPRY_TOO_LARGE = 31, /* refused before allocating: over a limit or past what the index type holds */

    SPRY_UNSUPPORTED = 40,   /* well-formed, but this library cannot do it (yet); never a silent fallback */
    SPRY_NOT_CONVERGED = 41, /* an iteration stopped without reaching its tolerance */

    SPRY_DEVICE_UNAVAILABLE = 50, /* no such device here, or it cannot be used; the message tells why */
    SPRY_DEVICE_FAILED = 51,      /* the device reported an error while working */

    SPRY_INTERNAL = 90 /* a fault of the library itself */
} spry_status;

/*
 * What went wrong, for a program (fields) and for a person (message: one sentence, no newline).
 * The caller owns it and may keep it on the stack; a call that succeeds leaves it untouched.
 * spry_error err = SPRY_ERROR_INIT; is needed only where it is read without looking at the status.
 */
typedef struct spry_error {
    spry_status status;
    char message[512];
    char argument[48]; /* name of the offending argument or option, "" where there is none */
    int64_t value;     /* the offending value and the limit it broke, 0 where there is none */
    int64_t limit;
    char file[256]; /* input file, "" where there is none */
    int64_t line;   /* line in it, counted from 1; 0 where there is none */
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

/* Short constant text such as "out of memory". */
SPRY_API const char *spry_status_text(spry_status status);

/* spry_spmv_options options = SPRY_INIT(spry_spmv_options); zeroes the struct and sets its size. */
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

/* ------------------------------------------------------------------------------------------------ *
 * 3. Types
 * ------------------------------------------------------------------------------------------------ */

/* What a number is. SPRY_PATTERN: no values are stored, every entry counts as 1. */
typedef enum spry_type { SPRY_TYPE_DEFAULT = 0, SPRY_F32 = 1, SPRY_F64 = 2, SPRY_PATTERN = 3 } spry_type;

/* What an index is. Legal (offset, column) pairs: 32/32, 64/32, 64/64. */
typedef enum spry_index_type { SPRY_INDEX_DEFAULT = 0, SPRY_I32 = 1, SPRY_I64 = 2 } spry_index_type;

typedef enum spry_op {
    SPRY_NO_TRANSPOSE = 0, /* op(A) = A */
    SPRY_TRANSPOSE = 1     /* op(A) = A^T */
} spry_op;

/* Something that is known to hold, known not to hold, or not known: never guessed. */
typedef enum spry_known { SPRY_NOT_KNOWN = 0, SPRY_KNOWN_NO = 1, SPRY_KNOWN_YES = 2 } spry_known;

SPRY_API size_t spry_type_bytes(spry_type type);             /* 4, 8, 0 */
SPRY_API const char *spry_type_name(spry_type type);         /* "f32", "f64", "pattern" */
SPRY_API size_t spry_index_type_bytes(spry_index_type type); /* 4, 8 */

/* ------------------------------------------------------------------------------------------------ *
 * 4. Context and matrix
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_context spry_context;   /* allocator, threads, devices */
typedef struct spry_matrix spry_matrix;     /* the user's data, borrowed or owned; never modified */
typedef struct spry_spmv_plan spry_spmv_plan;         /* a matrix made ready for one operation on one device */
typedef struct spry_ordering spry_ordering; /* a new numbering of rows and columns, see section 10 */

/* Which threads run the products, the passes of solvers and the rows of sparse products of a context. */
typedef enum spry_threading {
    SPRY_THREADING_DEFAULT = 0, /* the pool */
    SPRY_THREADING_POOL = 1,    /* the context's own threads, started when first needed */
    SPRY_THREADING_OPENMP = 2   /* OpenMP's */
} spry_threading;

typedef struct spry_context_options {
    size_t struct_size;
    /*
     * Memory hooks, both or none; user is handed to them. allocate returns at least `bytes` bytes aligned to
     * `alignment` (a power of two) or NULL; release gets the same size back. Both may be called from any thread.
     */
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *pointer, size_t bytes);
    void *user;
    /*
     * Threads a product may use, the caller's among them, at most 4096; 0: as many as OpenMP would (OMP_NUM_THREADS,
     * else the processors). Small products use fewer, down to one. The others are the context's own: they start when
     * first needed, sleep soon after a product and end with the context. The caller does by itself what they do not
     * come for, so other programs that use the processors cost a product about what they take. Of several threads
     * of the caller that multiply at once, one at a time has the context's threads, and the others work alone: give
     * them contexts of their own where each should have some. Results do not depend on any of this.
     * Set-up, files and conversions use OpenMP.
     * In the forked child of a process with several threads, the thread that forked works alone, with the same results;
     * threads that the child starts have others again. No other thread may be in a call of the library while one forks,
     * and GPUs are the parent's. On the CPU 64 KB are stack enough, for a caller's threads and for OpenMP's.
     */
    int threads;
    spry_threading threading;
    /*
     * The caller's own threads in place of these; NULL: none. It calls task(argument, 0 .. tasks - 1), each once, in
     * any order and on any threads, and returns when all are done. Threads that use the context may call it, several at
     * once; executor is handed to it as `user`. Tasks never wait for one that has not begun.
     */
    void (*execute)(void *user, int tasks, void (*task)(void *argument, int index), void *argument);
    void *executor;
    /*
     * Path of the CUDA plug-in (with a slash). NULL: the environment variable SPRY_CUDA_PLUGIN, else libspry-cuda.so in
     * libspry's own folder. It is loaded when a GPU is first asked about; that it cannot be is a device's reason.
     */
    const char *cuda_plugin;
} spry_context_options;

/* options may be NULL. The context must outlive every matrix and plan made with it, and plans of its matrices. */
SPRY_API spry_status spry_context_create(spry_context **context, const spry_context_options *options, spry_error *err);
SPRY_API void spry_context_destroy(spry_context *context);

/*
 * Reads a table that `spry tune` wrote, of the sizes that csr2 and csr3 take where none are given (docs/csr-k.md).
 * Plans made from then on follow it: on the CPU, and on GPUs of the compute capability that it was fitted for. Not
 * while another thread uses the context. SPRY_BAD_FILE, with the line, leaves the context as it was.
 */
SPRY_API spry_status spry_context_load_tuning(spry_context *context, const char *path, spry_error *err);

/* Threads that a call on this thread may use: the context's, or 1 where a fork left it alone (see `threads`). */
SPRY_API int spry_context_threads(const spry_context *context);

/* Bytes that the library holds for this context now, and the most it ever held. Borrowed arrays are the caller's. */
SPRY_API int64_t spry_context_bytes(const spry_context *context);
SPRY_API int64_t spry_context_peak_bytes(const spry_context *context);

/*
 * Without memory hooks, large blocks (8 MB and more) that are given back stay with the context for the next ones, which
 * are then made in half the time: not counted above, with what is held no more than the peak, at most an eighth of the
 * machine's memory, and free for the system to take when memory is short. They go with the context, or now: how many.
 * GPU memory that is given back stays with the process, up to a quarter of the device; it goes with the last context
 * that looked for GPUs, or now, counted in.
 */
SPRY_API int64_t spry_context_trim(spry_context *context);

/* The forms in which a matrix can be handed over; a plan may store it otherwise. */
typedef enum spry_layout {
    SPRY_LAYOUT_DEFAULT = 0,
    SPRY_CSR = 1, /* offsets[m+1] over rows,    indices = columns; row i holds entries offsets[i] .. offsets[i+1]-1 */
    SPRY_COO = 2, /* rows[nnz] and indices[nnz] = columns; any order; duplicates count as their sum */
    SPRY_CSC = 3  /* offsets[n+1] over columns, indices = rows */
} spry_layout;

typedef enum spry_ownership {
    SPRY_BORROW = 0, /* the caller keeps the arrays alive and unchanged while the matrix or a plan of it lives */
    SPRY_COPY = 1    /* the library copies them now */
} spry_ownership;

typedef enum spry_symmetry {
    SPRY_GENERAL = 0,
    SPRY_SYMMETRIC = 1,     /* A = A^T; every entry is stored, both halves; NaN is the image of NaN */
    SPRY_SKEW_SYMMETRIC = 2 /* A = -A^T; the same; the diagonal is zero where it is stored */
} spry_symmetry;

/*
 * The arrays of a matrix, as given to spry_matrix_create and as shown by spry_matrix_get_arrays. layout,
 * sizes, types and pointers have no default: they must be given.
 */
typedef struct spry_arrays {
    size_t struct_size;
    spry_layout layout;
    int64_t rows, cols, nnz;
    spry_index_type offset_type; /* CSR, CSC: of offsets. COO: unused */
    spry_index_type index_type;  /* of indices, and of COO's rows */
    spry_type value_type;        /* SPRY_PATTERN: values is NULL */
    const void *offsets;         /* rows+1 (CSR) or cols+1 (CSC) entries, first 0, last nnz, never falling */
    const void *row_indices;     /* COO: nnz entries */
    const void *indices;         /* nnz entries */
    const void *values;          /* nnz entries */
    int device;                  /* where the arrays are: 0 host memory, else a device number of section 12 */
    spry_ownership ownership;
    /*
     * What the caller vouches for; SPRY_NOT_KNOWN is always safe. sorted: by row (column in CSC), then index.
     * A false claim makes products of COO, and files written, wrong; spry_matrix_check finds it out.
     */
    spry_known sorted, unique;
    spry_symmetry symmetry; /* SPRY_GENERAL claims nothing */
} spry_arrays;

/*
 * Makes a matrix of the caller's arrays. Checks in constant time what can be: sizes, pointers, their alignment,
 * types, first and last offset, nnz against the index type. spry_matrix_check (section 9) checks the rest.
 */
SPRY_API spry_status spry_matrix_create(spry_context *context, spry_matrix **A, const spry_arrays *arrays,
                                        spry_error *err);

/* The commonest cases in one line: borrowed CSR arrays in host memory with 32-bit indices. nnz = offsets[rows]. */
SPRY_API spry_status spry_matrix_borrow_csr_f64(spry_context *context, spry_matrix **A, int64_t rows, int64_t cols,
                                                const int32_t *offsets, const int32_t *columns, const double *values,
                                                spry_error *err);
SPRY_API spry_status spry_matrix_borrow_csr_f32(spry_context *context, spry_matrix **A, int64_t rows, int64_t cols,
                                                const int32_t *offsets, const int32_t *columns, const float *values,
                                                spry_error *err);

/* A plan keeps what it needs of its matrix: the handle may go first, borrowed arrays may not. */
SPRY_API void spry_matrix_destroy(spry_matrix *A);

/* Shows the arrays; they stay the matrix's own. `ownership` tells whether they are borrowed. */
SPRY_API spry_status spry_matrix_get_arrays(const spry_matrix *A, spry_arrays *arrays, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 5. Planning and multiplying
 * ------------------------------------------------------------------------------------------------ */

/*
 * A dense vector, or `columns` of them: entry i of column c is data[c*stride + i]. A product takes as many
 * columns of x as of y, each for itself. The data stay the caller's. x is only read.
 */
typedef struct spry_vector {
    void *data;
    int64_t length;
    spry_type type;  /* SPRY_F32 or SPRY_F64 */
    int64_t columns; /* 0 counts as 1 */
    int64_t stride;  /* from one column to the next, in entries; 0 counts as length */
    int device;      /* where the data are: 0 host memory, else a device number */
} spry_vector;

/* One column in host memory. Takes const for the sake of x, which is only read; never give it a constant y. */
static inline spry_vector spry_vector_f64(const double *data, int64_t length)
{
    spry_vector v = {(void *)(uintptr_t)data, length, SPRY_F64, 1, length, 0};
    return v;
}
static inline spry_vector spry_vector_f32(const float *data, int64_t length)
{
    spry_vector v = {(void *)(uintptr_t)data, length, SPRY_F32, 1, length, 0};
    return v;
}

typedef struct spry_spmv_options {
    size_t struct_size;
    spry_op op;
    const char *device; /* "cpu" or a name of section 12; NULL: where the matrix is */
    /*
     * A format of section 12, with parameters if wanted ("sell", "sell:c=16:sigma=4096"), or "auto": the library's
     * choice, told with its reason (spry_spmv_plan_info). NULL: "auto".
     */
    const char *format;
    const char *kernel; /* a kernel of section 12, which determines format and device; NULL: the best for them */
    /* "none" (NULL), "rcm", "bandk", "degree": the plan multiplies a copy in that order (spry_ordering_create, on the host).
       x and y stay in the caller's: a run gathers both through its workspace, 4 bytes and 2 or 3 numbers an entry. */
    const char *ordering;
    /* csr2, csr3: bandk's ordering whose numbers A has got: its groups, not equal ones. Outlives the plan. NULL: no */
    const spry_ordering *groups;
    /*
     * x, y, alpha, beta and the compute type; default: the matrix's value type (f64 for a pattern). It must be
     * that type (convert the matrix otherwise), but of a pattern. Of that csr, csc and sell store no values (kernels
     * whose types name "pattern"); the other formats get an array of ones in the plan.
     */
    spry_type vector_type;
    int vector_device;          /* where x and y will be: 0 host memory, else a device number */
    int64_t expected_calls;     /* products expected of the plan, against which conversion is weighed; 0: many */
    int allow_nondeterministic; /* 1: kernels whose bits may change from run to run may be picked (some of GPUs) */
    /*
     * Refuse (SPRY_TOO_LARGE) a format that needs more than this. 0: the padding guard refuses what would store over
     * two zeros for each entry; a limit takes its place.
     */
    int64_t memory_limit_bytes;
    /*
     * Of a pattern alone: multiplies by diag(row_scaling) * A * diag(column_scaling), so that matrices such as D^-1 A
     * need no values. Entries of vector_type, rows and cols of them, in host memory, the caller's, unchanged while
     * the plan lives; NULL: ones. Each costs one more pass over a vector a run, and workspace of its size.
     */
    const void *row_scaling, *column_scaling;
    int threads; /* of a run on the CPU, at most 4096, however small the product; 0: up to the context's */
} spry_spmv_options;

/*
 * Makes A, which must be sound, ready for y = alpha*op(A)*x + beta*y. options may be NULL.
 * While the plan lives A's arrays must not change; after a change of values (not of the structure)
 * say spry_spmv_plan_update. A plan is immutable otherwise, so several threads may run it at once,
 * each with a workspace of its own (see spry_run_options).
 *
 * Default: the format that the rules of docs/formats.md give, told in spry_spmv_plan_info.reason; with
 * expected_calls of 1 to 7, csr. In csr, CSR arrays are used where they lie, of COO known to be sorted the columns and
 * values are; anything else is converted into arrays that the plan owns. Set-up reads the columns once, to find rows
 * whose columns need not be read in every product (about the time of one to two products); with expected_calls of 1
 * or 2 it does not, and takes microseconds.
 * Determinism: the same plan gives the same bits in every run, and on the CPU for any number of threads at one level
 * of spry_device_info.simd; but for kernels that allow_nondeterministic lets in (spry_spmv_plan_info.deterministic is 0).
 * Accuracy, for each i, with eps = 2^-23 (f32) or 2^-52 (f64) and nnz_i the entries of row i of op(A):
 *     |computed y_i - exact y_i| <= (nnz_i + 3) * eps * (|alpha| |op(A)| |x| + |beta y|)_i
 * as long as nothing overflows, and but for (nnz_i + 3) * (1 + |alpha|) * smallest number where results underflow.
 */
SPRY_API spry_status spry_spmv_plan_create(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                                    const spry_spmv_options *options, spry_error *err);
SPRY_API void spry_spmv_plan_destroy(spry_spmv_plan *plan);

typedef struct spry_run_options {
    size_t struct_size;
    void *stream; /* GPU: the cudaStream_t to run in; NULL: the default stream */
    /*
     * Workspace of at least spry_spmv_plan_info.workspace_bytes bytes on the plan's device, aligned to 64 bytes:
     * aligned_alloc(64, (bytes + 63) / 64 * 64). NULL: the plan's own, of which there is one: then runs of this
     * plan must not overlap, unless workspace_bytes is 0, when they always may. On a GPU it has to be cleared once,
     * before its first run; runs leave it ready for the next.
     */
    void *workspace;
    int64_t workspace_bytes;
    int scalar_device; /* where alpha and beta are, both given then: 0 host memory, else the plan's GPU */
    int threads;       /* of this run, at most 4096; 0: the plan's */
} spry_run_options;

/*
 * y = alpha*op(A)*x + beta*y. alpha and beta point to one number of the compute type, on the host
 * (or on the plan's device); NULL: alpha = 1, beta = 0. With beta = 0, y is written without being read,
 * so NaN in it does not matter; with alpha = 0, y = beta*y and neither A nor x is looked at (the rules of the
 * BLAS). y must not overlap x, A's arrays or the scalings. options may be NULL. Allocates nothing (the
 * system does where the context's threads start).
 */
SPRY_API spry_status spry_spmv_plan_run(const spry_spmv_plan *plan, const void *alpha, spry_vector x, const void *beta,
                                   spry_vector y, const spry_run_options *options, spry_error *err);

/* For values changed in place, structure unchanged: refreshes what the plan copied. With an ordering A is permuted
   anew, beside the copy that there is: the plan's set-up without the search for the ordering. Exclusive use. */
SPRY_API spry_status spry_spmv_plan_update(spry_spmv_plan *plan, spry_error *err);

/* One product without a plan to keep: plans for one call with vectors of x's type, runs, and destroys the plan. */
SPRY_API spry_status spry_spmv(spry_context *context, const void *alpha, const spry_matrix *A, spry_vector x,
                               const void *beta, spry_vector y, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 6. What a plan is and costs
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_spmv_plan_info {
    size_t struct_size;
    const char *op;          /* "spmv", "spmv_t" */
    const char *device;      /* "cpu", ... */
    const char *format;      /* "csr", ... */
    const char *parameters;  /* of the format, as resolved: "c=8:sigma=256"; "" where it has none */
    const char *kernel;      /* "csr_avx512_cpu", ... */
    const char *ordering;    /* "none", ... */
    const char *reason;      /* one sentence: why these */
    int deterministic;       /* 1: the same bits in every run */
    int threads;             /* threads a run may use; 0 on a GPU */
    int64_t storage_bytes;   /* of the format that a run reads, borrowed arrays included */
    int64_t owned_bytes;     /* of it and beside it, what the plan itself allocated */
    int64_t workspace_bytes; /* what a concurrent run must bring */
    double setup_us;         /* time that planning took: analysis, conversion */
    double upload_us;        /* of which moving data to the device */
    double predicted_us;     /* time of a run by the cost model; 0: no model yet */
} spry_spmv_plan_info;

SPRY_API spry_status spry_spmv_plan_get_info(const spry_spmv_plan *plan, spry_spmv_plan_info *info, spry_error *err);

typedef struct spry_measurement {
    size_t struct_size;
    double first_us;                   /* the first run of this call, nothing warmed up */
    double median_us, mean_us, min_us; /* of the batches, per run */
    double spread_us;                  /* third quartile - first quartile of the batches */
    int64_t runs;                      /* timed runs in all */
    double gflops;                     /* 2*nnz / median */
    double gbps;                       /* bytes of plain CSR / median: values, columns, offsets, x once, y once */
} spry_measurement;

/*
 * Measures the plan on vectors of its own, where the plan's are: at least 20 batches of at least 1 ms, warm. It takes a
 * fraction of a second, and allocates the two vectors. Uses the plan's workspace: runs must not overlap.
 */
SPRY_API spry_status spry_spmv_plan_measure(spry_spmv_plan *plan, spry_measurement *measurement, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 7. Reading and writing files
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_read_options {
    size_t struct_size;
    spry_type value_type;        /* default f64 (a pattern file's entries are 1.0); SPRY_PATTERN drops the values */
    spry_index_type offset_type; /* default: 32 bits where nnz allows, else 64 */
    spry_index_type index_type;  /* default: 32 bits where rows and columns allow, else 64 */
} spry_read_options;

/*
 * Reads a Matrix Market file (.mtx; gzip is recognised by its content), "-" for standard input, or
 * "gen:NAME[,key=value...]" (section 8) into an owned CSR matrix: sorted, duplicates summed, both
 * halves of a symmetric file stored. Values are rounded correctly to value_type, whatever the locale.
 * Zeros of an array file are dropped; entries above the diagonal of a symmetric file are mirrored like those
 * below; a value past the type's range is read as infinity. Complex files are SPRY_UNSUPPORTED; whatever is
 * wrong in a file is SPRY_BAD_FILE with the line. A line has at most 65536 characters, a comment any number.
 *
 * Pipes, devices and standard input are read as they come, so that endless input is refused at its first fault: the
 * banner, an entry too many, or more than 64 MB of comments and blank lines, which a file may have.
 *
 * A container (.spry; recognised by its content) opens as the layout and types it was written with, which options
 * other than default convert; entries are in the order written. Its file is mapped, not copied (nor counted in
 * spry_context_bytes), and must not be changed in place or cut while the matrix lives; all of it is verified first:
 * checksums, then offsets, ranges and order, so that products of it are safe. Whatever is wrong is SPRY_BAD_FILE,
 * a container of a newer version too. docs/container.md has the layout.
 * Format: R. F. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996.
 */
SPRY_API spry_status spry_matrix_read(spry_context *context, spry_matrix **A, const char *path,
                                      const spry_read_options *options, spry_error *err);

/*
 * The same of `bytes` bytes of Matrix Market text (or gzip of it), or of a container, in memory; `name` stands for the
 * file in messages. Nothing of the bytes is kept.
 */
SPRY_API spry_status spry_matrix_read_memory(spry_context *context, spry_matrix **A, const void *text, size_t bytes,
                                             const char *name, const spry_read_options *options, spry_error *err);

typedef struct spry_write_options {
    size_t struct_size;
    int full;            /* 1: write both halves of a symmetric matrix; 0: its lower triangle */
    const char *comment; /* written after the banner, lines of 1024 characters at most behind "%"; NULL: none */
    const char *format;  /* containers: a format of section 12, or "csc", to store A in; NULL: A's own layout */
} spry_write_options;

/*
 * Writes Matrix Market text, gzip if path ends in ".gz", to standard output if it is "-". Values are
 * written with as many digits as bring back the same value. The file appears under its name only when
 * it is complete (nameless until then, or temporary beside it); a device or FIFO is written directly. A matrix claimed
 * symmetric that is not is SPRY_INVALID_MATRIX: its lower triangle would lose entries. options may be NULL.
 *
 * A path that ends in ".spry" makes a container: A as it is stored, all entries, or in options->format (reading gives
 * CSR back); comment is refused, full means nothing.
 */
SPRY_API spry_status spry_matrix_write(const spry_matrix *A, const char *path, const spry_write_options *options,
                                       spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 8. Generated matrices
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_generator_info {
    size_t struct_size;
    const char *name;        /* "grid7" */
    const char *parameters;  /* "x=140,y=140,z=140": the keys and their defaults */
    const char *description; /* one line */
} spry_generator_info;

/* Lists the generators: index from 0; SPRY_UNKNOWN_NAME past the last. */
SPRY_API int spry_generator_count(void);
SPRY_API spry_status spry_generator_get_info(int index, spry_generator_info *info, spry_error *err);

/*
 * spec is "NAME" or "NAME,key=value,...", with or without "gen:" before it. The same matrix on every machine.
 * Values are random, from -0.5 to 0.5, one drawn for each entry: "grid7" and the like are symmetric in pattern alone.
 * Only "laplace5", "laplace7", "grid5a" and "grid7a" have the values of finite differences, and are symmetric positive
 * definite.
 */
SPRY_API spry_status spry_matrix_generate(spry_context *context, spry_matrix **A, const char *spec,
                                          const spry_read_options *options, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 9. Checking, figures, verification
 * ------------------------------------------------------------------------------------------------ */

/* Faults of a matrix's arrays. A count of 0 leaves its positions at -1. "Major" is the row (CSR, COO), column (CSC). */
typedef struct spry_matrix_report {
    size_t struct_size;
    int64_t bad_ends;                 /* 1 or 2: offsets do not start at 0, do not end at nnz */
    int64_t falling_offsets;          /* offsets smaller than the one before or past nnz */
    int64_t first_falling;            /* i of the first: offsets[i+1] is at fault */
    int64_t out_of_range;             /* indices below 0 or past the last row or column */
    int64_t first_out_of_range;       /* entry of the first ... */
    int64_t first_out_of_range_major; /* ... and its major index */
    int64_t first_out_of_range_value; /* ... and the index found there */
    int64_t unsorted;                 /* entries smaller than the one before them in their row (COO: in row order) */
    int64_t first_unsorted, first_unsorted_major;
    int64_t duplicates; /* entries whose position is stored earlier */
    int64_t first_duplicate, first_duplicate_major;
    int64_t not_finite; /* values that are Inf or NaN */
    int64_t first_not_finite, first_not_finite_major;
} spry_matrix_report;

/*
 * Looks at every entry. SPRY_INVALID_MATRIX when a structural fault makes products undefined (offsets,
 * ranges), with the first one in the message, or when a claim made at creation (sorted, unique, symmetry) is
 * false; unsorted, duplicate and non-finite entries are legal and only reported. What it learns of order and
 * uniqueness becomes known of A: exclusive use of A. report may be NULL.
 */
SPRY_API spry_status spry_matrix_check(spry_matrix *A, spry_matrix_report *report, spry_error *err);

enum { SPRY_HISTOGRAM_BINS = 40 };

/* Figures of a matrix's structure. Row lengths count stored entries. */
typedef struct spry_matrix_stats {
    size_t struct_size;
    int64_t rows, cols, nnz;
    int64_t min_row, max_row, empty_rows;
    int64_t longest_row;                           /* index of the first row of max_row entries */
    double mean_row, variance_row;                 /* variance over rows, divided by rows */
    int64_t bandwidth;                             /* max |i - j| */
    int64_t profile;                               /* sum over rows of i - (smallest column <= i of the row, or i) */
    int64_t diagonal_entries;                      /* rows whose (i,i) is stored */
    spry_known pattern_symmetric, value_symmetric; /* of square matrices; KNOWN_NO for others */
    /* rows of length 0; 1; 2..3; 4..7; ... bin b > 0 counts lengths 2^(b-1) .. 2^b - 1 */
    int64_t histogram[SPRY_HISTOGRAM_BINS];
} spry_matrix_stats;

/* O(nnz). A must be sound (spry_matrix_check); CSR, COO or CSC in host memory. */
SPRY_API spry_status spry_matrix_get_stats(const spry_matrix *A, spry_matrix_stats *stats, spry_error *err);

/* What a format takes for a matrix. */
typedef struct spry_storage {
    size_t struct_size;
    const char *format;  /* "ell" */
    char parameters[64]; /* as the format would resolve them, "" where it has none */
    int64_t words;       /* values and indices alike, each counted once: the unit of textbook formulas */
    int64_t bytes;       /* of the same arrays; what a plan adds beside them (row blocks, some kilobytes) is left out */
    int64_t padding;     /* stored entries that are none of A's */
    int refused;         /* 1: the padding guard, or the memory limit in options, would refuse to build it */
    char reason[320];    /* of "auto": why this format; else "" */
} spry_storage;

/*
 * Predicts, without building it, what options->format (a name, or "auto") takes, exactly. O(rows) from CSR for
 * most formats, O(nnz) for bsr; A is sound. options->op and vector_type count, device and kernel do not.
 */
SPRY_API spry_status spry_spmv_predict_storage(spry_context *context, spry_storage *storage, const spry_matrix *A,
                                          const spry_spmv_options *options, spry_error *err);

/* Density picture: counts[r*width + c] = entries that fall in cell (r, c) of a height x width grid over A. O(nnz). */
SPRY_API spry_status spry_matrix_spy(const spry_matrix *A, int64_t *counts, int height, int width, spry_error *err);

typedef struct spry_spmv_verification {
    size_t struct_size;
    double max_error;   /* largest |computed - reference| as a share of the bound of section 5; NaN or Inf: infinite */
    int64_t worst_row;  /* where */
    int64_t wrong_rows; /* rows past the bound */
} spry_spmv_verification;

/*
 * Recomputes alpha*op(A)*x + beta*y_before in about twice the precision and compares y row by row under
 * the bound of section 5. y_before may be an empty vector (data NULL) when beta is 0 or NULL.
 * alpha, beta and eps are of the type of the vectors. Returns SPRY_OK when it could compare: wrong_rows == 0 is
 * the verdict.
 * An entry whose reference is not finite must be the same infinity, or NaN, in y.
 */
SPRY_API spry_status spry_spmv_verify(spry_context *context, spry_spmv_verification *verification, const spry_matrix *A,
                                      spry_op op, const void *alpha, spry_vector x, const void *beta,
                                      spry_vector y_before, spry_vector y, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 10. Converting and reordering a matrix
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_convert_options {
    size_t struct_size;
    spry_layout layout; /* default CSR */
    /* default: as A. Each entry of a pattern counts 1, so duplicates sum up; into a pattern, positions alone survive */
    spry_type value_type;
    spry_index_type offset_type; /* default: as A where it has offsets, else the smallest that holds nnz */
    spry_index_type index_type;  /* default: as A */
    int keep_duplicates; /* 1: keep entries at one position apart; 0: sum them in f64, in stored order, rounded once */
} spry_convert_options;

/* Makes an owned matrix of another layout or type, sorted; A stays as it is and must be sound. options may be NULL. */
SPRY_API spry_status spry_matrix_convert(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                         const spry_convert_options *options, spry_error *err);

/*
 * perm[new] = old. Of a square matrix rows and columns take one ordering, found on the pattern of A + A^T: B = P A P^T,
 * and with x'[i] = x[perm[i]], B*x' is (A*x)[perm[i]]. Of others only rows move. docs/csr-k.md has methods and costs.
 */
typedef struct spry_ordering_options {
    size_t struct_size;
    /* "rcm" (NULL): a narrow band; "bandk": one made of CSR-k's groups (docs/csr-k.md); "degree": longest rows first */
    const char *method;
    int k;              /* bandk: 2 (super-rows alone) or 3; 0: 3 */
    int64_t srs, ssrs;  /* bandk: rows a super-row and super-rows a super-super-row, about; 0: those of `tuning` */
    const char *tuning; /* "cpu" (NULL), "volta", "ampere", "hopper", "table": as in csr3; the context's table counts */
} spry_ordering_options;
/* A: sound, in host memory, under 2^31 - 1 rows (not square: and columns). The same for any number of threads. */
SPRY_API spry_status spry_ordering_create(spry_context *context, spry_ordering **ordering, const spry_matrix *A,
                                  const spry_ordering_options *options, spry_error *err);
SPRY_API void spry_ordering_destroy(spry_ordering *ordering);
typedef struct spry_ordering_info {
    size_t struct_size;
    const char *method;
    int64_t rows, cols;
    const int64_t *row_perm, *col_perm; /* one array, the ordering's own; col_perm is NULL where columns stay */
    int64_t components;                 /* connected parts of the graph; 0: not looked for */
    int64_t sr_count, ssr_count;        /* bandk: super-row s of B holds rows sr_ptr[s] .. sr_ptr[s+1]-1, and ... */
    const int64_t *sr_ptr, *ssr_ptr;    /* ... ssr_ptr likewise super-rows; NULL where there are none */
    int64_t srs, ssrs;                  /* sizes aimed at */
    double setup_us;                    /* time that spry_ordering_create took */
} spry_ordering_info;
SPRY_API spry_status spry_ordering_get_info(const spry_ordering *ordering, spry_ordering_info *info, spry_error *err);
typedef struct spry_ordering_stats {
    size_t struct_size;
    int64_t bandwidth_before, bandwidth_after, profile_before, profile_after; /* as in spry_matrix_stats */
} spry_ordering_stats;
/* Of A as it is and in that order, without making B. O(nnz). A has the sizes of the matrix that was ordered. */
SPRY_API spry_status spry_ordering_get_stats(const spry_ordering *ordering, spry_ordering_stats *figures,
                                               const spry_matrix *A, spry_error *err);
/* B: owned, sorted CSR, b_ij = a_row_perm[i],col_perm[j]; NULL: stays. Types, field, duplicates (and, where both sides
   move alike, symmetry) are A's. */
SPRY_API spry_status spry_matrix_permute(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                         const int64_t *row_perm, const int64_t *col_perm, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 11. Sparse times sparse
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_spgemm_plan spry_spgemm_plan; /* A and B made ready for C = alpha*A*op(B), with C's structure */

/* What a product was, and what it took. */
typedef struct spry_spgemm_info {
    size_t struct_size;
    const char *device, *kernel; /* "cpu", "spgemm_rows_cpu" */
    char reason[200];            /* one sentence: why this device and this kernel */
    int deterministic;           /* 1: the same bits in every run, and on the CPU for any number of threads */
    int threads;                 /* threads at work; 0 on a GPU */
    int64_t rows, cols, nnz;     /* of C */
    int64_t products;            /* multiplications: sum over the entries (i,k) of A of the entries in row k of op(B) */
    double compression;          /* products / entries of C's structure; 0 where there are none */
    int64_t chunks;              /* pieces of rows it was done in: 1 unless a memory limit asked for more */
    int64_t peak_bytes;          /* inputs, result and workspace: the most held at once on the device that computes */
    int64_t workspace_bytes;     /* of it, neither inputs nor result: accumulators, converted inputs */
    double setup_us;             /* symbolic phase (where there is one), with the conversions and the upload before */
    double upload_us;            /* of setup_us, moving inputs to the device */
    double run_us;               /* numeric phase, or both at once: of the last run of a plan */
    double download_us;          /* of run_us, moving C to the host */
} spry_spgemm_info;

typedef struct spry_spgemm_options {
    size_t struct_size;
    const void *alpha; /* one number of C's value type in host memory; NULL: 1 */
    spry_op op_b;      /* SPRY_TRANSPOSE: C = alpha*A*B^T */
    /* A name of section 12; "auto": what is foretold to be faster, the CPU where that fails; NULL: where A is. */
    const char *device;
    const char *kernel;   /* one that spry_spgemm_kernel_get_info lists; NULL: the best */
    int result_device;    /* where C will be: 0 host memory, else the number of the GPU that computes */
    spry_type value_type; /* of C where A and B are both patterns, whose entries count 1: SPRY_F32 or F64 (default) */
    spry_index_type offset_type; /* of C; default: 32 bits where its entries allow and columns have them, else 64 */
    int drop_zeros; /* 1: entries that come out as 0 are left out; 0: they stay, as all of the structure does */
    int threads;    /* at most, up to 4096; 0: the context's */
    int64_t memory_limit_bytes; /* inputs, result and workspace together, on the device that computes; 0: none */
    spry_spgemm_info *info;     /* filled when spry_spgemm succeeds, its struct_size set before; NULL: nobody asks */
} spry_spgemm_options;

/*
 * C = alpha*A*op(B): an owned CSR matrix, rows sorted, each position once. A (m x l) and op(B) (l x n) must be sound;
 * they may be one matrix. Any layout: what is no CSR with the indices of the other is converted first, and counts as
 * workspace. Entries at one position count as their sum, rows need not be sorted. Value types agree, but that a pattern
 * goes with any. C's structure is that of the product of the patterns, so numerical zeros stay unless drop_zeros.
 *
 * A symbolic phase counts C's rows exactly, then C is allocated, exactly, and filled; where a CPU can reserve address
 * space for all products, one product counts and fills at once. Workspace of two phases is some numbers a
 * thread for each column that the widest row of C spans, or a table for the longest row where that is less or memory
 * is short; it does not grow with the products. Under memory_limit_bytes it is made smaller, down to one thread,
 * before the product is refused: SPRY_TOO_LARGE with the bytes needed, where possible before work starts, always
 * before C is allocated. docs/spgemm.md has the rule, and the algorithms.
 * Determinism: the same bits on one device for any number of threads, any limit and from plans. On the CPU each c_ij
 * is summed in the order of row i of A. Accuracy, with t_ij the products that meet in c_ij, as long as nothing
 * overflows or underflows:
 *     |computed c_ij - exact c_ij| <= (t_ij + 3) * eps * |alpha| (|A| |op(B)|)_ij
 */
SPRY_API spry_status spry_spgemm(spry_context *context, spry_matrix **C, const spry_matrix *A, const spry_matrix *B,
                                 const spry_spgemm_options *options, spry_error *err);

/* What a product would take, without doing it. */
typedef struct spry_spgemm_prediction {
    size_t struct_size;
    int64_t rows, cols, products; /* exact */
    int64_t nnz, nnz_bound;       /* of C: exact where `exact` is 1, else from a sample of the rows; at most */
    int exact;
    double compression;
    int64_t input_bytes, result_bytes, workspace_bytes, peak_bytes; /* without a limit */
    int64_t least_bytes;                                            /* the smallest limit under which it can be done */
    const char *device, *kernel;
} spry_spgemm_prediction;

/* On the CPU exact, by a symbolic phase: a third to three quarters of the product's time, and none of its memory.
   options may be NULL. */
SPRY_API spry_status spry_spgemm_predict(spry_context *context, spry_spgemm_prediction *estimate, const spry_matrix *A,
                                          const spry_matrix *B, const spry_spgemm_options *options, spry_error *err);

/*
 * The symbolic phase by itself, for products that are repeated with new values in the same structure: C's structure and
 * all workspace are made here. While the plan lives the structures of A and B must not change; their values may. The
 * plan keeps both handles alive. drop_zeros is SPRY_UNSUPPORTED, options->info is not filled.
 */
SPRY_API spry_status spry_spgemm_plan_create(spry_context *context, spry_spgemm_plan **plan, const spry_matrix *A,
                                      const spry_matrix *B, const spry_spgemm_options *options, spry_error *err);

/* The numeric phase: C's values of the present values of A and B. alpha as in the options, NULL: that of the options.
   Allocates nothing. Exclusive use of the plan and of its result. */
SPRY_API spry_status spry_spgemm_plan_run(spry_spgemm_plan *plan, const void *alpha, spry_error *err);

/*
 * C, after the first run (SPRY_INVALID_ARGUMENT before): a handle of its own on the plan's arrays, which later runs
 * fill anew. It may outlive the plan.
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
 * Recomputes the product of options (alpha, op_b, drop_zeros count) and compares. A, B and C: host memory, sound.
 * Returns SPRY_OK when it could compare: wrong_rows == 0 is the verdict. SPRY_VERIFY_RANDOM sums the bounds of a row,
 * with the entries of A's row for t_ij, so it lets smaller faults pass than SPRY_VERIFY_EXACT does.
 */
SPRY_API spry_status spry_spgemm_verify(spry_context *context, spry_spgemm_verification *verification,
                                        const spry_matrix *C, const spry_matrix *A, const spry_matrix *B,
                                        const spry_spgemm_options *options, spry_thoroughness how, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 12. Devices, formats and kernels
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_device_info {
    size_t struct_size;
    const char *name;        /* "cpu", "cuda", "cuda:1", ...: what options name */
    const char *description; /* "Intel(R) Xeon(R) Processor" */
    int available;           /* 1: can be used */
    const char *reason;      /* why not, "" if it can */
    int units;               /* processors, multiprocessors */
    const char *simd;        /* CPU: the level that kernels use, "portable", "avx2", "avx512"; "" on GPUs */
    int64_t memory_bytes;
    int64_t cache_bytes;    /* last level */
    int compute_capability; /* of a GPU: 90 for 9.0; 0 on the CPU */
} spry_device_info;

/*
 * Device 0 is the CPU and always available. GPUs follow; when there is none to use, one device "cuda" is listed with
 * the reason (no plug-in, no driver, ...). The first call loads the CUDA plug-in if there is one.
 */
SPRY_API int spry_device_count(const spry_context *context);
SPRY_API spry_status spry_device_get_info(const spry_context *context, int device, spry_device_info *info,
                                          spry_error *err);

/*
 * Host memory that this process can still take: the least of what the machine has available, what its control groups (a
 * container's limit) leave, and what its own limits (ulimit -v, -d) leave. The library refuses to take more at once.
 */
SPRY_API int64_t spry_available_memory_bytes(void);

/*
 * Memory of a GPU (device >= 1), for callers without CUDA's headers; pointers of cudaMalloc serve as well. Nobody
 * counts it: spry_device_free is the caller's to call, and accepts NULL.
 */
SPRY_API spry_status spry_device_allocate(const spry_context *context, void **data, int device, int64_t bytes,
                                          spry_error *err);
SPRY_API void spry_device_free(const spry_context *context, int device, void *data);

/*
 * Copies bytes between host (0) and a GPU, or within one, in the order of `stream` (a cudaStream_t; NULL: the default
 * one). Asynchronous within a GPU; a copy from or to pageable host memory returns when the host's side is done with.
 */
SPRY_API spry_status spry_device_copy(const spry_context *context, void *to, int to_device, const void *from,
                                      int from_device, int64_t bytes, void *stream, spry_error *err);
SPRY_API spry_status spry_device_synchronize(const spry_context *context, int device, void *stream, spry_error *err);

/* Copy bandwidth of a GPU in GB/s, read plus written, arrays of 8 times its last cache: under a second. */
SPRY_API spry_status spry_device_measure_copy(const spry_context *context, int device, double *gbps, spry_error *err);

typedef struct spry_format_info {
    size_t struct_size;
    const char *name;     /* "csr" */
    const char *title;    /* "compressed sparse rows" */
    const char *storage;  /* formula in words: "nnz values + nnz columns + (m+1) offsets" */
    const char *best_for; /* one line */
    /* "c=NUMBER (rows a slice); sigma=NUMBER (...)": what may follow the name in options; "" where there are none */
    const char *parameters;
    int kernels; /* how many kernels there are */
} spry_format_info;

SPRY_API int spry_format_count(void);
SPRY_API spry_status spry_format_get_info(int index, spry_format_info *info, spry_error *err);

typedef struct spry_kernel_info {
    size_t struct_size;
    const char *name;       /* "csr_avx512_cpu" */
    const char *format;     /* "csr" */
    const char *device;     /* "cpu" or "cuda" */
    const char *operations; /* "spmv", "spmv spmv_t" or "spgemm" */
    const char *types;      /* "f32 f64" or "f32 f64 pattern" */
    const char *indices;    /* "32/32 64/32 64/64" */
    int deterministic;
    int available;      /* 1: this machine can run it */
    const char *reason; /* why not, "" if it can */
    const char *idea;   /* one sentence */
    const char *source; /* paper and section, or "this library" */
    int study;          /* 1: kept for comparison, taken by name alone: another of its format is faster */
} spry_kernel_info;

/* Every kernel of SpMV that the library knows, also those that this machine cannot run. */
SPRY_API int spry_kernel_count(void);
SPRY_API spry_status spry_kernel_get_info(const spry_context *context, int index, spry_kernel_info *info,
                                          spry_error *err);

/* The same of the kernels of section 11: their operation is "spgemm", their format "csr". */
SPRY_API int spry_spgemm_kernel_count(void);
SPRY_API spry_status spry_spgemm_kernel_get_info(const spry_context *context, int index, spry_kernel_info *info,
                                                 spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 13. Vectors, PageRank, Conjugate Gradient
 * ------------------------------------------------------------------------------------------------ */

/*
 * One column of zeros in the context's memory (device 0) or in that of a GPU (its number), to be given back with
 * spry_vector_destroy, which also clears *v and accepts a cleared one. Vectors of the caller's own are as good.
 */
SPRY_API spry_status spry_vector_create(spry_context *context, spry_vector *v, int64_t length, spry_type type,
                                        int device, spry_error *err);
SPRY_API void spry_vector_destroy(spry_context *context, spry_vector *v);

/*
 * Reads a Matrix Market file (plain or gzip, "-": standard input) of n x 1 entries, array or coordinate (entries
 * that are left out are 0), into a vector as spry_vector_create makes it. type: SPRY_F32 or SPRY_F64 (default).
 */
SPRY_API spry_status spry_vector_read(spry_context *context, spry_vector *v, const char *path, spry_type type,
                                      spry_error *err);

/* Writes one column as a Matrix Market array, as spry_matrix_write does but never compressed. comment may be NULL. */
SPRY_API spry_status spry_vector_write(spry_context *context, spry_vector v, const char *path, const char *comment,
                                       spry_error *err);

/* How an iteration ended. */
typedef enum spry_verdict {
    SPRY_VERDICT_NONE = 0, /* it did not begin */
    SPRY_VERDICT_CONVERGED = 1,
    SPRY_VERDICT_ITERATION_LIMIT = 2,
    SPRY_VERDICT_STAGNATION = 3,         /* CG: the residual no longer falls, see spry_cg */
    SPRY_VERDICT_NOT_SYMMETRIC = 4,      /* CG: A is not */
    SPRY_VERDICT_NEGATIVE_CURVATURE = 5, /* CG: p'Ap <= 0 for some p, so A is not positive definite */
    SPRY_VERDICT_BAD_DIAGONAL = 6,       /* CG, jacobi: a diagonal entry is 0, negative, missing or has no reciprocal */
    SPRY_VERDICT_ZERO_COLUMN = 7,        /* PageRank: columns without weight, which were not allowed */
    SPRY_VERDICT_NOT_FINITE = 8,         /* Inf or NaN came up: in the input, or by overflow */
    SPRY_VERDICT_STOPPED = 9,            /* the caller's observer said so */
    SPRY_VERDICT_OUT_OF_RANGE = 10       /* CG: x has entries that its type does not hold, see spry_cg */
} spry_verdict;

/* Short constant text such as "negative curvature". */
SPRY_API const char *spry_verdict_text(spry_verdict verdict);

/*
 * Called after each iteration with its residual (relative to ||b|| in CG); anything but 0 stops. On a GPU iterations
 * are started ahead, one for each eight that are done, at most 32, and told of when they have ended: a stop then comes
 * after the last one started.
 */
typedef int (*spry_observer)(void *user, int64_t iteration, double residual);

typedef enum spry_norm { SPRY_NORM_1 = 0, SPRY_NORM_2 = 1, SPRY_NORM_INF = 2 } spry_norm;

/* What entry (i, j) of the matrix of a graph stands for. The default takes A for B; a graph's file wants the other. */
typedef enum spry_edges {
    SPRY_COLUMN_TO_ROW = 0, /* a link from j to i: B = A */
    SPRY_ROW_TO_COLUMN = 1  /* a link from i to j, as most graph files (and spry pagerank) have it: B = A^T */
} spry_edges;

/* What becomes of nodes that link nowhere, columns of B without weight. */
typedef enum spry_zero_columns {
    SPRY_ZERO_ABORT = 0,    /* refuse: SPRY_VERDICT_ZERO_COLUMN */
    SPRY_ZERO_TELEPORT = 1, /* their rank is spread over all nodes: a zero column counts as e/n */
    SPRY_ZERO_DROP = 2      /* the columns stay zero: the mass that enters them is lost */
} spry_zero_columns;

typedef struct spry_pagerank_options {
    size_t struct_size;
    double alpha;           /* damping, in (0, 1); 0: 0.85 */
    double tolerance;       /* stop when ||x_k - x_(k-1)|| <= tolerance; 0: 1e-8 */
    spry_norm norm;         /* ... in this norm */
    int64_t max_iterations; /* 0: 200 */
    spry_edges edges;
    spry_zero_columns zero_columns;
    const char *device, *format, *kernel; /* as in spry_spmv_options */
    spry_observer observe;                /* NULL: none */
    void *user;                           /* for it */
} spry_pagerank_options;

typedef struct spry_pagerank_result {
    size_t struct_size;
    spry_verdict verdict;
    int64_t iterations;
    double residual;           /* ||x_k - x_(k-1)|| in the norm asked for; NaN before the first iteration */
    double error_bound;        /* alpha/(1-alpha) * ||x_k - x_(k-1)||_1 >= ||x_k - x||_1, but for rounding */
    double mass;               /* sum of x_k; 1 unless mass was dropped, which was then 1 - mass */
    int as_it_stands;          /* 1: B was column-stochastic already, and was not divided by its column sums */
    int64_t zero_columns;      /* nodes that link nowhere ... */
    int64_t first_zero_column; /* ... the first of them, -1: none ... */
    double zero_mass;          /* ... and their share of x_k */
    const char *format, *kernel;
    double setup_us; /* column sums and plan */
    double solve_us; /* the iterations, of which products took product_us */
    double product_us;
} spry_pagerank_result;

/*
 * The PageRank of a graph: x_k = alpha*B*x_(k-1) + (1-alpha)/n*e from x_0 = e/n, where B is A (or A^T, see edges)
 * with each entry divided by its column sum; as it stands when every column sums to 1 within 8 eps. A is n x n,
 * n >= 1, sound; stored entries at one position count as their sum. x has n entries of A's value type (either type for
 * a pattern).
 *
 * The scaling is applied to x, not to A: nothing is copied but what the plan does, and a matrix whose entries are all
 * 1 is multiplied as a pattern. An iteration is one product and one pass over four vectors. Allocates three vectors
 * and the column factors once. The same bits for any number of threads.
 *
 * On a GPU (device "cuda", or where A is) all of it stays in its memory; x may be there or on the host. A in device
 * memory is copied to the host once for its column sums, and is multiplied where it lies unless edges exchange its rows
 * and columns. The residual and the number of iterations are those of the iteration that ended it. product_us comes
 * from ten products that are timed by themselves afterwards.
 *
 * SPRY_NOT_CONVERGED for every verdict but converged: then too result is filled, and x holds the last iterate (but
 * after SPRY_VERDICT_ZERO_COLUMN, where it is as it was). SPRY_INVALID_MATRIX: a negative entry or one that is not
 * finite. result and options may be NULL.
 * Source: O. Meister, CUDA Kernels for SpMV (tutorial), 2013; the bound: the map contracts the 1-norm by alpha.
 */
SPRY_API spry_status spry_pagerank(spry_context *context, spry_vector x, spry_pagerank_result *result,
                                   const spry_matrix *A, const spry_pagerank_options *options, spry_error *err);

typedef enum spry_precond { SPRY_PRECOND_NONE = 0, SPRY_PRECOND_JACOBI = 1 } spry_precond;

typedef struct spry_cg_options {
    size_t struct_size;
    spry_precond precond;
    double tolerance;       /* stop when ||b - A*x||_2 <= tolerance * ||b||_2; 0: 1e-8, in f32 1e-3, see spry_cg */
    int64_t max_iterations; /* 0: 10*n, but at least 100 and at most 100 000 */
    int64_t patience;       /* iterations without a new smallest residual that count as stagnation; 0: see spry_cg */
    int start_from_x;       /* 1: x holds a first guess; 0: start from zero, x is only written */
    const char *device, *format, *kernel; /* as in spry_spmv_options */
    spry_observer observe;                /* NULL: none */
    void *user;                           /* for it */
} spry_cg_options;

typedef struct spry_cg_result {
    size_t struct_size;
    spry_verdict verdict;
    int64_t iterations;
    double residual; /* relative to ||b||, as carried along by the iteration; NaN when it did not begin */
    /*
     * ||b - A*x|| / ||b||, computed at the end in the type of x. Below eps * || |A| |x| || / ||b|| it is rounding
     * alone, so that a system whose entries differ by many orders of magnitude may be called converged by it.
     */
    double true_residual;
    int64_t restarts; /* times it went on from b - A*x, because the carried residual had lost touch with it */
    int64_t bad_row;  /* SPRY_VERDICT_BAD_DIAGONAL: the row; -1: none */
    const char *format, *kernel;
    double setup_us; /* symmetry, diagonal and plan */
    double solve_us; /* the iterations, of which products took product_us */
    double product_us;
} spry_cg_result;

/*
 * Solves A*x = b by the method of Conjugate Gradients for symmetric positive definite A, n x n, sound. x and b have n
 * entries of A's value type (either type for a pattern) and do not overlap. On a GPU as spry_pagerank: vectors may be
 * there or on the host; A in device memory is copied to the host once, but for a claim of symmetry without jacobi.
 *
 * Whether A is symmetric is looked up (spry_matrix_get_stats) unless its creator vouched for it; if not, the message
 * names the first entry that differs from its mirror image. An iteration is one product and two passes over vectors,
 * nine times n numbers read or written in all (eleven with jacobi); dots are summed in f64 whatever the type. Allocates
 * three vectors (four with jacobi) once. The same bits for any number of threads.
 *
 * When the carried residual has reached the tolerance, b - A*x is computed: converged if it has too, else the iteration
 * begins anew from it. Stagnation: a restart whose true residual is over half that of the one before, or `patience`
 * iterations (0: n, but 200 to 50 000) without the carried residual falling 1 % below its smallest.
 *
 * What can be reached: an x rounded to its type leaves about eps ||A|| ||x|| / ||b|| of b (eps 1.2e-7 in f32, 2.2e-16
 * in f64), which is up to eps times the condition of A. 1e-3 in f32 is reached up to a condition of some thousands, as
 * 1e-8 in f64 is up to some 10^7; well-conditioned systems reach 1e-6 in f32. A tolerance that is given holds as it is:
 * one that cannot be reached ends in stagnation.
 *
 * Magnitudes: where squares of A's or b's entries underflow or overflow, the system is scaled by powers of two, which
 * changes no other bit (b, and where A is extreme its values, are then copied, through host memory). Residuals are
 * relative, so they are the caller's. SPRY_VERDICT_OUT_OF_RANGE: x itself has entries that its type does not hold, and
 * what x becomes then, with infinities or zeros, is no solution.
 *
 * SPRY_NOT_CONVERGED for every verdict but converged: then too result is filled, and x holds the last iterate (but when
 * the iteration did not begin: not symmetric, bad diagonal; then it is as it was). b = 0 gives x = 0.
 * result and options may be NULL.
 * Source: M. R. Hestenes, E. Stiefel, Methods of Conjugate Gradients for Solving Linear Systems, 1952; both dots in one
 * pass: G. Meurant, Multitasking the Conjugate Gradient Method on the CRAY X-MP/48, 1987.
 */
SPRY_API spry_status spry_cg(spry_context *context, spry_vector x, spry_cg_result *result, const spry_matrix *A,
                             spry_vector b, const spry_cg_options *options, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
