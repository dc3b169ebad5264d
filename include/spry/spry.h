/*
 * Spry: sparse matrix products on CPUs and NVIDIA GPUs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs that multiply need only this header. Others: matrix.h (matrices from matrices, statistics, orderings),
 * spgemm.h (sparse products), solve.h (PageRank, Conjugate Gradient), io.h (files, generated matrices), cuda.h (memory
 * and streams of GPUs), tune.h (how formats are chosen, measuring, lists), study.h (for studies of formats).
 *
 * Rules that hold everywhere:
 *  - y = alpha*op(A)*x + beta*y; A is m x n with nnz stored entries; i is a row, j a column, k an entry. Arguments and
 *    fields of structs count rows, columns and entries from 0. Messages count them in the matrix's base
 *    (spry_matrix_index_base) and say so: "(counted from 1)". Lines of files count from 1.
 *  - A function is called spry_OBJECT_VERB. Its first argument is the context, or the handle it works on; outputs
 *    follow, then inputs, options, and the error. What makes a handle is ..._create or says how, as ..._read.
 *  - A fallible function returns a spry_status and takes a spry_error pointer last, which may be NULL.
 *    On failure its outputs are left as they were, nothing leaks, and the error says what, where and
 *    what was expected. The library never prints, never exits and never aborts. Exceptions are named where they are:
 *    spry_matrix_check, spry_pagerank and spry_cg fill more. After SPRY_DEVICE_FAILED what the device was writing is
 *    undefined.
 *  - Handles (context, matrix, plans, ordering) are opaque; each has one destroy function, which accepts NULL. They may
 *    be destroyed in any order: each keeps what it needs. What was made with one context may be used with another.
 *  - Options and the numbers and strings that they point to are read during the call. Arrays that have to live longer
 *    are named where they are: those of a borrowed matrix, scalings.
 *  - Structs that may grow begin with struct_size; SPRY_INIT sets it and clears the rest: zero means the default, but
 *    where the field says how a zero is said. A smaller struct, of an earlier header of this SONAME, is taken as well:
 *    what it lacks is the default, or is not filled. spry_error, spry_vector and spry_const_vector never change
 *    their size. Strings in a filled struct belong to the library and live as long as the handle they came from, or for
 *    ever where there is none.
 *  - A context may be used by several threads at once; a matrix and a plan may too, once made.
 *    What needs exclusive use says so.
 *  - A matrix is "sound" when spry_matrix_check finds no structural fault. Matrices that were read, generated
 *    or converted are. Of the caller's own arrays only what takes constant time is checked at creation;
 *    planning, multiplying, converting and statistics trust the rest, and unsound arrays crash them.
 *  - Files are read and written, matrices generated, converted and checked, and messages told with the same result in
 *    every locale and every floating-point environment, which are the caller's again on return. Everything else
 *    rounds and treats denormal numbers (on x86: FTZ, DAZ) as the calling thread does, on all threads of the call. The
 *    promises about results hold if the calling thread rounds to nearest and keeps denormal numbers.
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

/* Of functions whose result tells if there is anything to use: to look away is a warning. */
#if defined(__GNUC__)
#define SPRY_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SPRY_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ *
 * 1. Versions
 * ------------------------------------------------------------------------------------------------ */

#define SPRY_VERSION_MAJOR 0
#define SPRY_VERSION_MINOR 2
#define SPRY_VERSION_PATCH 0

/* One number, which grows with every version: 200 for 0.2.0. */
#define SPRY_VERSION (SPRY_VERSION_MAJOR * 10000 + SPRY_VERSION_MINOR * 100 + SPRY_VERSION_PATCH)

/* The version of the library that runs, "0.2.0" and 200; the macros tell the one compiled against. */
SPRY_API const char *spry_version(void);
SPRY_API int spry_version_number(void);

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

/* The same for other languages: clears `size` bytes, the caller's size of the struct, and sets struct_size. */
SPRY_API void spry_struct_init(void *options, size_t size);

/* ------------------------------------------------------------------------------------------------ *
 * 3. Types
 * ------------------------------------------------------------------------------------------------ */

/*
 * What a number is. Vectors are f32 or f64; values of a matrix may also be of 16 bits, which halve the bytes of f32:
 * bf16 has its range and 8 bits of precision, f16 (IEEE 754) 11 bits and numbers up to 65504, in uint16_t arrays.
 * SPRY_PATTERN: no values are stored, every entry counts as 1.
 */
typedef enum spry_type {
    SPRY_TYPE_DEFAULT = 0,
    SPRY_F32 = 1,
    SPRY_F64 = 2,
    SPRY_PATTERN = 3,
    SPRY_BF16 = 4,
    SPRY_F16 = 5
} spry_type;

/* What an index is. Legal (offset, column) pairs: 32/32, 64/32, 64/64. */
typedef enum spry_index_type { SPRY_INDEX_DEFAULT = 0, SPRY_I32 = 1, SPRY_I64 = 2 } spry_index_type;

typedef enum spry_op {
    SPRY_NO_TRANSPOSE = 0, /* op(A) = A */
    SPRY_TRANSPOSE = 1     /* op(A) = A^T */
} spry_op;

/* Something that is known to hold, known not to hold, or not known: never guessed. */
typedef enum spry_known { SPRY_NOT_KNOWN = 0, SPRY_KNOWN_NO = 1, SPRY_KNOWN_YES = 2 } spry_known;

SPRY_API size_t spry_type_bytes(spry_type type);             /* 4, 8, of a pattern 0, of bf16 and f16 2 */
SPRY_API const char *spry_type_name(spry_type type);         /* "f32", "f64", "pattern", "bf16", "f16" */
SPRY_API size_t spry_index_type_bytes(spry_index_type type); /* 4, 8 */

/* ------------------------------------------------------------------------------------------------ *
 * 4. Context
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_context spry_context;     /* allocator, threads, devices */
typedef struct spry_matrix spry_matrix;       /* the user's data, borrowed or owned */
typedef struct spry_spmv_plan spry_spmv_plan; /* a matrix made ready for products with vectors on one device */
typedef struct spry_ordering spry_ordering;   /* a new numbering of rows and columns, see matrix.h */

/* Every context has a pool of threads of its own. SPRY_THREADING_OPENMP remains from earlier versions. */
typedef enum spry_threading {
    SPRY_THREADING_DEFAULT = 0, /* the pool */
    SPRY_THREADING_POOL = 1,    /* the pool, whose threads start when first needed */
    SPRY_THREADING_OPENMP = 2   /* the pool */
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
     * The number of threads that a call may use, the calling thread included, at most 4096. 0: the first number of the
     * environment variable OMP_NUM_THREADS if that is 1 to 4096, else the number of processors that the calling thread
     * may use. Small products use fewer threads, down to one. Threads besides the calling one are the context's own.
     * They start when first needed, run on the processors that the thread that created the context could use, sleep
     * soon after a call, and end with the context. If the system starts fewer, or other programs use the processors,
     * calls take longer, as the calling thread does the rest. If several threads make calls at once, only one of them
     * has the context's threads, and the others work alone: to give threads to each, create a context for each. Results
     * do not depend on any of this.
     * In the forked child of a process with several threads, the thread that forked works alone, with the same results;
     * threads that the child starts have others again. No other thread may be in a call of the library while one forks,
     * and GPUs are the parent's. On the CPU 64 KB are stack enough, for a caller's threads and for those of execute.
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
    /*
     * GPU memory hooks, both or none; device_user is handed to them, and the GPU's number as this header counts.
     * device_allocate returns memory of that GPU, aligned to 256 bytes, or NULL; the library waits for the GPU before
     * device_release gets it back. Both may be called from any thread, with the GPU current, and never by runs of
     * plans. All that the library allocates on a GPU for this context comes from them, spry_device_allocate's too,
     * and nothing is cached.
     */
    void *(*device_allocate)(void *user, int device, int64_t bytes);
    void (*device_release)(void *user, int device, void *pointer, int64_t bytes);
    void *device_user;
    int no_caches; /* 1: memory that is given back goes to the system at once, the GPU's too; see spry_context_trim */
} spry_context_options;

/* options may be NULL. Matrices, plans and orderings keep the context that they were made with alive. */
SPRY_MUST_CHECK SPRY_API spry_status spry_context_create(spry_context **context, const spry_context_options *options,
                                                         spry_error *err);
SPRY_API void spry_context_destroy(spry_context *context);

/* Threads that a call on this thread may use: the context's, or 1 where a fork left it alone (see `threads`). */
SPRY_API int spry_context_threads(const spry_context *context);

/* Bytes that the library holds for this context now, and the most it ever held; not counted are the context itself
   (about 50 KB) and borrowed arrays, which are the caller's. */
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

/*
 * What spry_context_trim would give back now: the context's blocks and, where it looked for GPUs, the process's memory
 * there; a GPU may keep those of its pages that memory in use shares.
 */
SPRY_API int64_t spry_context_cached_bytes(const spry_context *context);

/* ------------------------------------------------------------------------------------------------ *
 * 5. Devices
 * ------------------------------------------------------------------------------------------------ */

/*
 * A device is a number, everywhere: SPRY_CPU, or 1 and more for GPUs (spry_device_info has CUDA's number of each). A
 * field or argument that says where data are (of arrays, vectors, scalars, copies) also accepts 0 for host memory. In
 * options 0 is SPRY_DEVICE_DEFAULT: the option's comment says which device it stands for.
 */
enum {
    SPRY_DEVICE_DEFAULT = 0,
    SPRY_CPU = -1,        /* the CPU, host memory */
    SPRY_DEVICE_AUTO = -2 /* where the options say so: the one that is predicted to be faster */
};

/*
 * What a run on a GPU does.
 *  - Work goes into the stream that the call was given (a cudaStream_t), in order. NULL: CUDA's legacy default stream.
 *  - A product of vectors in the GPU's memory is asynchronous: it returns when its kernels are started. alpha and beta
 *    in host memory are read before it returns, those in the GPU's memory when the kernels run.
 *  - A product of host vectors copies x there and y back, and returns when y is there.
 *  - A product of vectors in the GPU's memory can be captured in a CUDA graph: it allocates nothing and waits for
 *    nothing, in every mode of capturing and without a run before. The graph holds the numbers alpha and beta that
 *    are in host memory and the addresses of all else: of vectors, workspace and plan. Updates keep these addresses,
 *    unless they bring an array of values (spry_update_options.values): capture anew after such an update.
 *  - All other calls allocate memory of the GPU or wait for it, which CUDA forbids while the call's stream is captured,
 *    and, for some of them, while any stream is. Such a call fails with SPRY_DEVICE_FAILED and ends the capture. The
 *    calls that follow work.
 *  - Arrays in the GPU's memory are complete when a matrix is made of them, unless a stream that planning is given
 *    completes their indices and values. spry_matrix_create and checks have no stream.
 *  - Planning, updating and sparse products begin after what their stream holds, and have ended on return; a sparse
 *    product whose result stays on the GPU, without a stream, is in the order of the default one. Solvers run in
 *    theirs, and have ended on return.
 *  - A fault of a kernel shows as SPRY_DEVICE_FAILED in the next call that waits for the stream.
 *  - The calling thread's current CUDA device is on return what it was.
 */
typedef struct spry_device_info {
    size_t struct_size;
    int device;              /* its number: SPRY_CPU, 1, ... */
    const char *name;        /* "cpu", "cuda", "cuda:1", ...: what spry_device_find takes */
    const char *kind;        /* "cpu", "cuda": what kernels are for */
    int ordinal;             /* CUDA's number of a GPU; 0 on the CPU */
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
 * How many devices are listed: the CPU, which is always available, and GPUs; when there is none to use, one device
 * "cuda" is listed with the reason (no plug-in, no driver, ...). The info of each tells if it can be used.
 * The first call loads the CUDA plug-in if there is one.
 */
SPRY_API int spry_device_count(const spry_context *context);

/* device: SPRY_CPU or 0, or a GPU's number, from 1 to spry_device_count - 1. */
SPRY_API spry_status spry_device_get_info(const spry_context *context, spry_device_info *info, int device,
                                          spry_error *err);

/* The number of the device with that name, which can be used; SPRY_DEVICE_UNAVAILABLE tells why it cannot. */
SPRY_MUST_CHECK SPRY_API spry_status spry_device_find(const spry_context *context, int *device, const char *name,
                                                      spry_error *err);

/*
 * Host memory that this process can still take: the least of what the machine has available, what its control groups (a
 * container's limit) leave, and what its own limits (ulimit -v, -d) leave. The library refuses to take more at once.
 */
SPRY_API int64_t spry_available_memory_bytes(void);

/* ------------------------------------------------------------------------------------------------ *
 * 6. Matrix
 * ------------------------------------------------------------------------------------------------ */

/* The forms in which a matrix can be handed over; a plan may store it otherwise. */
typedef enum spry_layout {
    SPRY_LAYOUT_DEFAULT = 0,
    SPRY_CSR = 1, /* offsets[m+1] over rows,    indices = columns; row i holds entries offsets[i] .. offsets[i+1]-1 */
    SPRY_COO = 2, /* rows[nnz] and indices[nnz] = columns; any order; duplicates count as their sum */
    SPRY_CSC = 3  /* offsets[n+1] over columns, indices = rows */
} spry_layout;

typedef enum spry_ownership {
    /* The caller keeps the arrays alive while the matrix or a plan of it lives, and offsets and indices unchanged;
       values may change between calls, see section 9. Of arrays that are shown: they are not the matrix's own. */
    SPRY_BORROW = 0,
    SPRY_COPY = 1 /* the library copies them now */
} spry_ownership;

typedef enum spry_symmetry {
    SPRY_GENERAL = 0,
    SPRY_SYMMETRIC = 1,     /* A = A^T; every entry is stored, both halves; NaN is the image of NaN */
    SPRY_SKEW_SYMMETRIC = 2 /* A = -A^T; the same; the diagonal is zero where it is stored */
} spry_symmetry;

/* Which entries of a symmetric or skew-symmetric matrix are stored. */
typedef enum spry_triangle {
    SPRY_ALL_ENTRIES = 0,
    SPRY_LOWER_TRIANGLE = 1, /* those with j <= i; each below the diagonal stands for its mirror image too */
    SPRY_UPPER_TRIANGLE = 2  /* those with j >= i */
} spry_triangle;

/*
 * The arrays of a matrix, as given to spry_matrix_create and as shown by spry_matrix_get_arrays. layout,
 * sizes, types and pointers have no default: they must be given.
 */
typedef struct spry_arrays {
    size_t struct_size;
    spry_layout layout;
    int64_t rows, columns, nnz;
    spry_index_type offset_type; /* CSR, CSC: of offsets. COO: unused */
    spry_index_type index_type;  /* of indices, and of COO's rows */
    spry_type value_type;        /* SPRY_PATTERN: values is NULL */
    const void *offsets;         /* rows+1 (CSR) or columns+1 (CSC) entries, first 0, last nnz, never falling */
    const void *row_indices;     /* COO: nnz entries */
    const void *indices;         /* nnz entries */
    const void *values;          /* nnz entries */
    int device;                  /* where the arrays are: 0 or SPRY_CPU host memory, else a GPU */
    spry_ownership ownership;
    /*
     * 0, or 1 where offsets and indices count from 1, as Fortran's do: then the matrix has copies of them that count
     * from 0, which spry_matrix_get_arrays shows; values are borrowed all the same.
     */
    int index_base;
    /*
     * What the caller vouches for; SPRY_NOT_KNOWN is always safe. sorted: by row (column in CSC), then index.
     * A false claim of sorted or unique makes products of COO, and files written, wrong; spry_matrix_check finds it
     * out. A claim of symmetry is checked wherever a result would depend on it.
     */
    spry_known sorted, unique;
    spry_symmetry symmetry; /* SPRY_GENERAL claims nothing */
    /*
     * One triangle: symmetry says what the other is; host memory, square. Each plan and each operation that needs both
     * makes them for itself (spry_spmv_plan_info.expanded), of the values at that time: an entry below the diagonal
     * stands for its mirror image too (its negative in a skew-symmetric matrix), the diagonal is as it is stored, and
     * duplicates stay. Offsets of both are as wide as those given, but of 64 bits where 32 do not hold them. An entry
     * in the other triangle is a fault, which is found where they are made: SPRY_INVALID_MATRIX with row and column.
     */
    spry_triangle triangle;
} spry_arrays;

/*
 * Makes a matrix of the caller's arrays. Checks in constant time what can be: sizes, pointers, their alignment,
 * types, first and last offset, nnz against the index type, and offsets of 64 bits that are given as 32 or the reverse
 * as far as some offsets show it. spry_matrix_check (matrix.h) checks the rest.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_create(spry_context *context, spry_matrix **A,
                                                        const spry_arrays *arrays, spry_error *err);

/*
 * Looks at every offset and index, and at nothing else: SPRY_INVALID_MATRIX with the first that falls or is out of
 * its range, or lies in the triangle that is not stored. One pass at the speed of memory, for arrays from elsewhere;
 * A is sound after it. A GPU looks at arrays in its memory, and those with a fault are copied to the host to tell it.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_check_structure(const spry_matrix *A, spry_error *err);

/* The commonest cases in one line: borrowed CSR arrays in host memory with 32-bit indices. nnz = offsets[rows]. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_borrow_csr_f64(spry_context *context, spry_matrix **A, int64_t rows,
                                                                int64_t columns, const int32_t *offsets,
                                                                const int32_t *indices, const double *values,
                                                                spry_error *err);
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_borrow_csr_f32(spry_context *context, spry_matrix **A, int64_t rows,
                                                                int64_t columns, const int32_t *offsets,
                                                                const int32_t *indices, const float *values,
                                                                spry_error *err);

/* A plan keeps what it needs of its matrix: the handle may go first, borrowed arrays may not. */
SPRY_API void spry_matrix_destroy(spry_matrix *A);

/* Return the sizes of A, or 0 if A is NULL. nnz counts stored entries: of one triangle those given. */
SPRY_API int64_t spry_matrix_rows(const spry_matrix *A);
SPRY_API int64_t spry_matrix_columns(const spry_matrix *A);
SPRY_API int64_t spry_matrix_nnz(const spry_matrix *A);

/*
 * The base, 0 or 1, in which messages about A count its rows, columns and entries. It is the base of the file that A
 * was read from: 0 for .npz, 1 for Matrix Market, spry_read_options.index_base for edge lists, the base that a
 * container remembers. Generated matrices have 1, arrays of the caller spry_arrays.index_base. A matrix computed from A
 * has the base of A.
 */
SPRY_API int spry_matrix_index_base(const spry_matrix *A);

/*
 * Sets that base. Arrays, indices and fields of structs do not change; a container written from A remembers the base.
 * index_base: 0 or 1, else SPRY_INVALID_ARGUMENT. Not while another thread uses A.
 */
SPRY_API spry_status spry_matrix_set_index_base(spry_matrix *A, int index_base, spry_error *err);

/*
 * The values of a matrix that owns them, in the order of its entries, to be written; plans of it are told by
 * spry_spmv_plan_update. A matrix that stores all entries no longer claims symmetry afterwards. SPRY_UNSUPPORTED where
 * the values are the caller's, a file's, or there are none.
 */
SPRY_API spry_status spry_matrix_get_values(spry_matrix *A, void **values, spry_error *err);

/* diagonal[i] = entry (i, i), the sum of what is stored there, or 0: min(rows, columns) numbers. */
SPRY_API spry_status spry_matrix_get_diagonal(const spry_matrix *A, double *diagonal, spry_error *err);

/*
 * Shows the arrays; they stay the matrix's own. `ownership` is SPRY_BORROW where they are the caller's or a mapped
 * file's. One triangle is shown as it was given; a container in a format as CSR, which is made now if it was not yet.
 */
SPRY_API spry_status spry_matrix_get_arrays(const spry_matrix *A, spry_arrays *arrays, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 7. Vectors
 * ------------------------------------------------------------------------------------------------ */

/*
 * A dense vector, or `columns` of them: entry i of column c is data[i*row_stride + c*column_stride]. Several columns
 * are column-major (row_stride 1, column_stride at least length) or row-major (column_stride 1, row_stride at least
 * columns). One column may have any row_stride. A row_stride over 1 needs a plan with row_major, which takes
 * row_stride 1 as well; spry_spmv takes all. x and y have the same number of columns. The data stay the caller's.
 *
 * The bits of a run depend on the number, the layout and the strides of its vectors. The values of one column do not
 * change the bits of another.
 */
typedef struct spry_vector {
    void *data;
    int64_t length;
    int64_t count;         /* 0 counts as 1 */
    int64_t row_stride;    /* from one entry of a column to the next; 0 counts as 1 */
    int64_t column_stride; /* from one column to the next; 0 counts as length, or as 1 where row_stride is not 1 */
    spry_type type;        /* SPRY_F32 or SPRY_F64 */
    int device;            /* where the data are: 0 or SPRY_CPU host memory, else a GPU */
    int64_t reserved[2];   /* not read */
} spry_vector;

/* The same of data that are read alone. */
typedef struct spry_const_vector {
    const void *data;
    int64_t length, count, row_stride, column_stride;
    spry_type type;
    int device;
    int64_t reserved[2];
} spry_const_vector;

/* One column in host memory. */
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

/* A vector as an operand that is read alone. */
static inline spry_const_vector spry_vector_as_const(spry_vector v)
{
    spry_const_vector c = {v.data, v.length, v.count, v.row_stride, v.column_stride, v.type, v.device, {0, 0}};
    return c;
}

/*
 * One column of zeros, SPRY_F32 or SPRY_F64, in the context's memory (device 0) or in that of a GPU (its number), to be
 * given back while the context lives with spry_vector_destroy, which also clears *v and accepts a cleared one. Vectors
 * of the caller's own are as good.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_vector_create(spry_context *context, spry_vector *v, int64_t length,
                                                        spry_type type, int device, spry_error *err);
SPRY_API void spry_vector_destroy(spry_context *context, spry_vector *v);

/* ------------------------------------------------------------------------------------------------ *
 * 8. Planning and multiplying
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_spmv_options {
    size_t struct_size;
    spry_op op;
    int device;        /* SPRY_DEVICE_DEFAULT: the named kernel's, else where the matrix is */
    int vector_device; /* where x and y will be: SPRY_CPU or the plan's GPU; SPRY_DEVICE_DEFAULT: where the matrix is */
    /*
     * A format of spry_format_get_info (tune.h), with parameters if wanted ("sell", "sell:c=16:sigma=4096"), or
     * "auto": the library's choice, told with its reason (spry_spmv_plan_info). NULL: "auto".
     */
    const char *format;
    const char
        *kernel; /* a kernel of spry_kernel_get_info, which determines format and kind of device; NULL: the best */
    /* "none" (NULL), "rcm", "bandk", "degree", "bfs": the plan multiplies a copy in that order, found on the host
       (spry_ordering_create). x and y stay in the caller's: a run gathers both through its workspace, 4 bytes and 2 or
       3 numbers an entry. */
    const char *ordering;
    /* csr2, csr3, csr4: bandk's ordering whose numbers A has got, or the caller's groups (spry_ordering_create_groups):
       these groups, not equal ones. NULL: equal ones */
    const spry_ordering *groups;
    /*
     * x, y, alpha, beta and the compute type; default: the matrix's value type (f64 for a pattern, f32 for values of 16
     * bits). It must be that type (convert the matrix otherwise), but that
     *  - f32 values multiply f64 vectors, bf16 and f16 values f32 vectors: each value is widened, exactly, and sums are
     *    of the vectors' type. docs/products.md lists the kernels that have such products; "auto" takes among these;
     *  - of a pattern csr, csc and sell store no values (kernels whose types name "pattern"); the other formats get an
     *    array of ones in the plan.
     */
    spry_type vector_type;
    /*
     * Vectors that a run will mostly multiply; 0: one. Runs of another number are as right. expected_calls counts runs,
     * and "auto" weighs set-up against the time of all columns. Where column-major ones are brought into rows for the
     * kernel, over 1 means workspace of up to 64 bytes for each row and column of the matrix.
     */
    int64_t count;
    /* 1: runs may have vectors with a row_stride over 1, for a workspace of a column of x and one of y; 0: row_stride
       is 1 in all runs */
    int row_major;
    int64_t expected_calls;     /* products expected of the plan, against which conversion is weighed; 0: 10 000 */
    int64_t expected_updates;   /* updates of values expected of it, each of which converts again; 0: none. Both are */
                                /* totals of its life: expected_calls / (1 + expected_updates) products pay for each */
                                /* conversion, or 10 000 if expected_calls is 0 */
    int allow_nondeterministic; /* 1: kernels whose bits may change from run to run may be picked (some of GPUs) */
    /*
     * The most bytes that the plan may own (spry_spmv_plan_info.owned_bytes), now and after any update. Planning and
     * updates hold scratch memory in addition. Borrowed arrays do not count. "auto" replaces a format that could own
     * more by csr, or by csc for a transposed product on a GPU. If a named format, or that csr or csc, could own more,
     * the plan is refused with SPRY_TOO_LARGE. error.limit is then this limit, and error.value a limit that suffices,
     * which may be more than the plan will own.
     * 0: no limit, but the padding guard refuses formats that would store over two zeros for each entry. A limit takes
     * the guard's place (INT64_MAX lifts it).
     */
    int64_t memory_limit_bytes;
    void *stream; /* GPU: the stream after whose work A is read; see section 5 */
    /*
     * Of a pattern alone: multiplies by diag(row_scaling) * A * diag(column_scaling), so that matrices such as D^-1 A
     * need no values. Entries of vector_type, rows and columns of them, in host memory, the caller's, unchanged while
     * the plan lives; NULL: ones. Each costs one more pass over a vector a run, and workspace of its size. With
     * alpha = 0 neither is looked at; else a row without entries gets alpha * row_scaling_i * 0 + beta*y_i, which is
     * NaN where row_scaling_i is infinite or NaN, and column_scaling_j counts only where column j has entries.
     */
    const void *row_scaling, *column_scaling;
    int threads; /* of a run on the CPU, at most 4096, however small the product; 0: up to the context's */
    /*
     * How "auto" decides. "cost" (NULL): the least predicted time over the products expected, set-up counted in
     * (docs/choosing.md). "measure": formats that "cost" predicts within twice its best, at most four and csr among
     * them, are made and timed in turns on vectors of the plan's own, and the least measured time is taken, with the
     * set-up counted in where expected_calls is told. The answer is remembered by the context and, where it has one, in
     * its file (spry_context_set_choices in io.h): a plan of a matrix of the same structure takes it without timing.
     * What is measured differs from run to run, and with the format the last bits of results; a plan's stay the same.
     * Until the trial is over up to four storages are held at once, of which each keeps memory_limit_bytes; one that is
     * refused, also for want of memory, is left out. Without memory for the vectors nothing is timed: the plan is that
     * of "cost", and its reason tells so. Trials in one context wait for each other. "tree": the decision
     * tree of Sparse Methods by row lengths alone, for comparison; what it asks the caller stands behind its name,
     * "tree:memory" (it is scarce) or "tree:unpredictable" (the rows are).
     */
    const char *policy;
    /*
     * Of "measure": the time that making and timing formats may take; 0: 50 000. None is begun whose predicted set-up
     * is more than what is left, with time for some runs, but for the one that "cost" takes, which is always made: with
     * a budget of 1 the plan is that of "cost", is not remembered, and the reason tells so. Looking at the matrix comes
     * on top.
     */
    double budget_us;
    /*
     * 1: the plan multiplies in both directions, with op(A) and, where a run says so, with
     * its transpose, as first-order solvers of linear programs do in turns. Each direction has a format and a kernel of
     * its own, and a storage. Both share one storage if A is marked symmetric, its values are symmetric, and there are
     * no scalings. The values are checked on the host, entries at one position as their sum in f64. If such entries
     * cancel, the accuracy bound of transposed runs has |A| + |A^T| in place of |op(A)|. In GPU memory the mark counts
     * only if an earlier check or the library itself has confirmed it. The matrix is moved to a GPU once for both. If
     * the structure of A looks symmetric, the second direction has the first's format without an inspection of its own.
     * memory_limit_bytes covers both directions, and a copy of A that they share on a GPU.
     */
    int both_directions;
} spry_spmv_options;

/*
 * Makes A, which must be sound, ready for y = alpha*op(A)*x + beta*y. options may be NULL.
 * While the plan lives A's structure must not change; after a change of values say spry_spmv_plan_update. A plan is
 * immutable otherwise, and several threads may run it at once (see spry_spmv_run_options.workspace).
 *
 * Default: the format that the rules of docs/choosing.md give, told in spry_spmv_plan_info.reason; with
 * expected_calls of 1 to 7, csr (csc for a transposed product on a GPU). In csr, CSR arrays are used where they lie, of
 * COO known to be sorted the columns and values are; anything else is converted into arrays that the plan owns. Set-up
 * reads the columns once, to find rows whose columns need not be read in every product (about the time of one to two
 * products); with expected_calls of 1 or 2 it does not, and takes microseconds.
 * Determinism: the same plan gives the same bits in every run, and on the CPU for any number of threads at one level
 * of spry_device_info.simd; but for kernels that allow_nondeterministic lets in (info: deterministic is 0).
 * Accuracy, for each i, with eps = 2^-23 (f32 vectors) or 2^-52 (f64 vectors), nnz_i the entries of row i of op(A), and
 * A as it is stored, whatever it was rounded from:
 *     |computed y_i - exact y_i| <= (nnz_i + 3) * eps * (|alpha| |op(A)| |x| + |beta y|)_i
 * as long as nothing overflows, and but for (nnz_i + 3) * (1 + |alpha|) * smallest number where results underflow.
 * Entries at one position count as their sum. A format may add them up before it multiplies (bsr does), or multiply
 * each: where x is infinite and they differ in sign, y_i may be an infinity in one format and NaN in another.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_plan_create(spry_context *context, spry_spmv_plan **plan,
                                                           const spry_matrix *A, const spry_spmv_options *options,
                                                           spry_error *err);
SPRY_API void spry_spmv_plan_destroy(spry_spmv_plan *plan);

typedef struct spry_spmv_run_options {
    size_t struct_size;
    void *stream; /* GPU: the cudaStream_t to run in; NULL: the default stream */
    /*
     * Workspace of at least spry_spmv_plan_info.workspace_bytes bytes on the plan's device, aligned to 64 bytes:
     * aligned_alloc(64, (bytes + 63) / 64 * 64). NULL: the plan's own. Who needs one, for runs of a plan that overlap:
     *  - on a CPU nobody: of runs that overlap, all except one allocate workspace_bytes themselves, if that is not 0;
     *  - on a GPU not those of host vectors, which wait for each other, nor those in one stream, launches of graphs
     *    included;
     *  - on a GPU all but one of those of vectors in its memory that overlap in several streams, unless workspace_bytes
     *    is 0. It is cleared by zeros once, before its first run; each run leaves it ready for the next.
     */
    void *workspace;
    int64_t workspace_bytes;
    int scalar_device; /* where alpha and beta are: 0 or SPRY_CPU host memory, else the plan's GPU, both given then */
    int threads;       /* of this run, at most 4096; 0: the plan's */
    int transpose;     /* 1: of a plan with both_directions, y = alpha*op(A)^T*x + beta*y */
} spry_spmv_run_options;

/*
 * y = alpha*op(A)*x + beta*y. alpha and beta point to one number of the compute type, on the host (or on the plan's
 * device); NULL: alpha = 1, beta = 0. With beta = 0, y is written without being read, so NaN in it does not matter;
 * with alpha = 0, y = beta*y and neither A's nor x's entries are looked at (the rules of the BLAS). y must not overlap
 * x, A's arrays or the scalings. options may be NULL. A run allocates nothing, with one exception: on a CPU, a run that
 * begins while another run uses the plan's workspace allocates spry_spmv_plan_info.workspace_bytes, and returns
 * SPRY_OUT_OF_MEMORY if it cannot. The run of a plan with workspace_bytes 0, or with options->workspace, never
 * allocates. (The operating system allocates when the context's threads start.)
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_plan_run(const spry_spmv_plan *plan, spry_vector y, const void *alpha,
                                                        spry_const_vector x, const void *beta,
                                                        const spry_spmv_run_options *options, spry_error *err);

/* One product without a plan to keep: plans for one call with vectors of x's type, runs, and destroys the plan. */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv(spry_context *context, spry_vector y, const void *alpha,
                                               const spry_matrix *A, spry_const_vector x, const void *beta,
                                               spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 9. Values that change
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_update_options {
    size_t struct_size;
    /*
     * An array of A's new values, in the order, of the type and in the memory of those A was created with. The plan
     * refers to it from then on; A and other plans of it do not. NULL: the array that it has, changed in place.
     * SPRY_UNSUPPORTED if the plan uses the storage of a format in a container, whose values do not change.
     */
    const void *values;
    void *stream; /* GPU: the stream after whose work the values are read; see section 5 */
} spry_update_options;

/*
 * For new values in the same structure: refreshes what the plan copied, which has cost
 * spry_spmv_plan_info.update_us. A plan that reads the caller's values in place (values_in_place) sees a change in
 * place at once, and needs no update. With an ordering A is permuted anew, beside the copy that there is: the plan's
 * set-up without the search for the ordering. options may be NULL. Exclusive use of the plan. On failure the plan
 * multiplies as before; of a plan with both_directions one direction may have the new values already.
 *
 * If one storage serves both directions, values_in_place is 0, and each change needs an update, which checks the
 * symmetry. New values that are not symmetric are SPRY_INVALID_MATRIX. If they were changed in place, the plan may read
 * them before the update and after its refusal: transposed runs then multiply by A until an update succeeds.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_plan_update(spry_spmv_plan *plan, const spry_update_options *options,
                                                           spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * 10. What a plan is and costs
 * ------------------------------------------------------------------------------------------------ */

/* Why a plan has its format. A number never changes its meaning. */
typedef enum spry_reason {
    SPRY_REASON_NONE = 0,
    SPRY_REASON_NAMED = 1,          /* the options name it, or a kernel of it */
    SPRY_REASON_FEW_CALLS = 2,      /* too few calls are expected for a conversion to pay */
    SPRY_REASON_IN_PLACE = 3,       /* the matrix is in device memory, where its arrays serve as they are */
    SPRY_REASON_PATTERN = 4,        /* it stores no values */
    SPRY_REASON_EMPTY = 5,          /* there are no entries */
    SPRY_REASON_TRANSPOSED = 6,     /* the transposed product works by columns, and a look would not pay */
    SPRY_REASON_UNIFORM_ROWS = 7,   /* row lengths differ little */
    SPRY_REASON_IRREGULAR_ROWS = 8, /* they differ much */
    SPRY_REASON_VERY_SPARSE = 9,    /* most rows have next to no entries */
    SPRY_REASON_FEWER_BYTES = 10,   /* its product reads fewer bytes */
    SPRY_REASON_BLOCKS = 11,        /* the matrix has dense blocks */
    SPRY_REASON_SCATTERED = 12,     /* columns are scattered over more of x than caches hold */
    SPRY_REASON_MEMORY = 13,        /* the format chosen first would take more memory than is allowed */
    SPRY_REASON_TYPES = 14,         /* the format chosen first has no kernel for these types */
    SPRY_REASON_FEW_ROWS = 15,      /* there are too few rows for a GPU to go by rows */
    SPRY_REASON_STORED = 16,        /* the matrix comes from a container in this format */
    SPRY_REASON_LEAST_TIME = 17,    /* it is predicted to take the least time, its set-up counted in */
    SPRY_REASON_MEASURED = 18,      /* it took the least time of those that this plan's set-up measured */
    SPRY_REASON_REMEMBERED = 19     /* that was measured before, by this context or in its file of choices */
} spry_reason;

typedef struct spry_spmv_plan_info {
    size_t struct_size;
    spry_op op;
    int device;              /* its number: SPRY_CPU, 1, ... */
    const char *device_name; /* "cpu", "cuda", ... */
    const char *format;      /* "csr", ... */
    const char *parameters;  /* of the format, as resolved: "c=8:sigma=256"; "" where it has none */
    const char *kernel;      /* "csr_avx512_cpu", ... */
    const char *ordering;    /* "none", ... */
    spry_reason reason_code; /* why this format ... */
    const char *reason;      /* ... and one sentence, which names it; the same in every locale */
    int deterministic;       /* 1: the same bits in every run */
    int threads;             /* threads a run may use; 0 on a GPU */
    int values_in_place;     /* 1: runs read the caller's values where they are; a change needs no update */
    int64_t storage_bytes;   /* of the format that a run reads, borrowed arrays included */
    int64_t owned_bytes;     /* of it and beside it, what the plan itself allocated */
    int64_t workspace_bytes; /* what a concurrent run must bring */
    double setup_us;         /* time that planning took: analysis, conversion */
    double upload_us;        /* of which moving data to the device */
    double update_us;        /* time of the last update; 0: there was none */
    int expanded;            /* 1: A stores one triangle, and the plan has both */
    int from_file;           /* 1: runs read a container in a format where it is mapped */
    /*
     * Predictions, in microseconds, for vectors on the device that the plan's options say: predicted_us of a run,
     * baseline_us of a run in `baseline`, which is "csr" of A's entries. Both are the times that spry_spmv_explain
     * (tune.h) has for the formats, plus passes for orderings, scalings and copies between devices. The first question
     * of a process measures the bandwidth of memory (some milliseconds, and megabytes of the context's memory; without
     * them predictions are 0), and the first one of a plan whose format was named inspects A. docs/choosing.md has the
     * model. The first question about a GPU's plan must not come while a stream is captured. predicted_update_us:
     * set-up without the choice of a format and the search for an ordering; 0 if values are read in place.
     */
    const char *baseline;
    double baseline_us, predicted_us, predicted_update_us;
    /*
     * From how many runs on the plan is ahead of the baseline, set-up counted, updates not (each costs
     * predicted_update_us more): setup_us / (baseline_us - predicted_us), rounded up; 0: from the first, since it is
     * the baseline; SPRY_NEVER: its runs are not predicted to be faster.
     */
    int64_t break_even_calls;
    const char *kernel_parameters; /* as they were asked for behind the kernel's name: "lanes=32"; "" where none were */
    /*
     * Of plans with both_directions, else "" and 0: format and kernel of the other direction, and what two plans, one
     * for each, would own, where owned_bytes, workspace_bytes and setup_us are of both directions of this one. What
     * else is told is of op(A).
     */
    const char *other_format, *other_kernel;
    int64_t two_plans_bytes;
} spry_spmv_plan_info;

enum { SPRY_NEVER = -1 };

SPRY_API spry_status spry_spmv_plan_get_info(const spry_spmv_plan *plan, spry_spmv_plan_info *info, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
