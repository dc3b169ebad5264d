/*
 * Descriptors of formats and kernels. The choice among formats, the tests, the benchmark, `spry kernels` and the tables
 * of the documentation iterate the lists of descriptors. Each listed format and kernel is therefore tested, measured
 * and documented.
 *
 * A new kernel is one file in src/formats/<family>/ or src/spgemm/ and one line in its family's list.
 */
#pragma once

#include "base/cpu_features.h"
#include "base/types.h"
#include "spry/spry.h"

#include <stdbool.h>

enum {
    SPRYI_OP_SPMV = 1u << 0,
    SPRYI_OP_SPMV_T = 1u << 1,
    SPRYI_OP_VECTOR = SPRYI_OP_SPMV | SPRYI_OP_SPMV_T, /* products of a matrix and a vector */
    SPRYI_OP_SPGEMM = 1u << 2
};

/*
 * An integer that a user may set for a format or a kernel: "sell:c=16:sigma=4096", "csr_vector_cuda:lanes=32". 0, the
 * default, lets the format or kernel decide.
 */
typedef struct spryi_parameter {
    const char *name;
    int64_t least, most;
    const char *text; /* description, one line */
} spryi_parameter;

enum { SPRYI_PARAMETERS = 8, SPRYI_GIVEN_ZERO = -1 /* stands for a 0 that the user set */ };

/* Parameters of a format or a kernel. All NULL: none. */
typedef struct spryi_parameters {
    const spryi_parameter *list; /* at most SPRYI_PARAMETERS parameters, then an element with the name NULL */
    /* Words for the values 1, 2, ... of a parameter, then NULL. NULL: the parameter is given as a number. */
    const char *const *words[SPRYI_PARAMETERS];
    const char *text; /* for help texts: "c=NUMBER (rows a slice); sigma=NUMBER (...)" */
} spryi_parameters;

/* Baseline of all comparisons. It replaces a format that does not fit in memory. */
#define SPRYI_BASELINE "csr"

/* Answers of the decision tree of Sparse Methods (choose/choose.c). Each chooses one format. */
typedef enum spryi_tree_answer {
    SPRYI_TREE_COLUMNS = 1 << 0,       /* the product is transposed */
    SPRYI_TREE_MEMORY = 1 << 1,        /* the policy is "tree:memory" */
    SPRYI_TREE_UNPREDICTABLE = 1 << 2, /* the policy is "tree:unpredictable" */
    SPRYI_TREE_UNIFORM = 1 << 3,       /* rows of one length */
    SPRYI_TREE_FEW_LONG = 1 << 4,      /* rows of one length and a few long rows */
    SPRYI_TREE_VERY_SPARSE = 1 << 5,
    SPRYI_TREE_OTHER = 1 << 6
} spryi_tree_answer;

/* Size of the samples that an inspection uses. */
typedef enum spryi_effort { SPRYI_QUICK, SPRYI_FULL } spryi_effort;

/* One product. All arguments are validated; kernels check nothing. */
typedef struct spryi_run_args {
    const void *storage; /* the format's struct, filled by its build */
    const void *alpha;   /* one element of the compute type, on the host */
    const void *beta;    /* if *beta is 0, y is not read */
    const void *x;       /* one vector or multiple vectors, on the kernel's device */
    void *y;
    int64_t columns; /* number of vectors; over 1 only for operations in `multi_row_major` or `multi_column_major` */
    int64_t x_stride, y_stride; /* elements between rows of multiple vectors; on a GPU at most 2^31 - 1 bytes */
    int64_t x_column_stride,
        y_column_stride;     /* distance between vectors in elements. If not 1, x_stride and y_stride are 1 */
    void *workspace;         /* workspace_bytes(storage) bytes; content is not kept between runs */
    spry_type vector_type;   /* type of alpha, beta, x and y: the compute type */
    int threads;             /* at most this many threads of `pool` */
    struct spryi_pool *pool; /* base/pool.h; NULL: one thread */
    /* only for GPUs */
    bool scalars_on_device;           /* alpha and beta are device addresses */
    int device;                       /* CUDA's index of the device that is current while a kernel is launched */
    const void *auxiliary;            /* created by the kernel's prepare */
    const int64_t *kernel_parameters; /* SPRYI_PARAMETERS values, as in spryi_build_request */
    void *stream;
} spryi_run_args;

typedef spry_status (*spryi_run_fn)(const spryi_run_args *args, spry_error *err);

/* Functions by spryi_value_row and spryi_index_pair. NULL: the combination is not supported. */
typedef spryi_run_fn spryi_run_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS];

/* How plans may store values in fewer bytes. */
typedef enum spryi_narrows {
    SPRYI_NARROWS_NOTHING,
    SPRYI_NARROWS_FLOATS,   /* in narrower floating-point types */
    SPRYI_NARROWS_TO_TABLES /* in narrower floating-point types, or as indices into a table */
} spryi_narrows;

typedef struct spryi_kernel {
    const char *name;   /* <format>_<way>_<device>; for SpGEMM spgemm_<way>_<device> */
    const char *format; /* name of a spryi_format */
    const char *device; /* "cpu", "cuda" */
    const char *idea;   /* one sentence */
    const char *source;
    spryi_narrows narrows; /* products keep their bits */
    bool study;            /* kept for comparison: another kernel of the format was faster in all measurements */
    bool nondeterministic; /* bits may differ between runs */
    bool pattern;          /* also multiplies SPRY_PATTERN, whose entries are 1 and not stored */
    bool one_thread;       /* CPU kernel that runs on one thread, however many a plan may use */
    spryi_simd simd;       /* required level of a CPU kernel; kernels of one format are listed from slow to fast */
    const spryi_run_table *spmv;                   /* NULL: not supported */
    const spryi_run_table *spmv_t;                 /* NULL: not supported */
    const struct spryi_spgemm_host_phases *spgemm; /* functions for SpGEMM (spgemm/spgemm.h); NULL: not supported */
    /* Operations (SPRYI_OP_ bits) that can multiply row-major, or column-major, vectors together instead of singly. */
    unsigned multi_row_major, multi_column_major;
    /*
     * Returns 1 if multi_column_major applies to the storage and to `columns` vectors (0 means 1). NULL: it always
     * applies. Only CPU kernels set it.
     */
    int (*supports_column_major)(const void *storage, int64_t columns);
    /*
     * `operations`: the kernel's operations (SPRYI_OP_ bits). `mixed`: those operations that also support mixed rows of
     * types (base/types.h). Only CUDA kernels set them, since the functions of CUDA kernels are in the plug-in. If
     * `operations` is 0, the tables `spmv` and `spmv_t` show which operations and types the kernel supports.
     */
    unsigned operations, mixed;
    spryi_parameters parameters;
} spryi_kernel;

/* Sets name, format and device of the kernel <format>_<way>_<device>. */
#define SPRYI_KERNEL_OF(format_name, way, device_name)                                                                 \
    .name = format_name "_" way "_" device_name, .format = format_name, .device = device_name

/* Input of a format's build and predict. */
typedef struct spryi_build_request {
    const spry_matrix *A;
    /*
     * A as CSR with values of value_type: A itself if suitable, else a conversion that the plan releases after the
     * build. A build that borrows arrays of csr retains csr. csr is NULL for formats that accept any layout. Rows may
     * be unsorted and have duplicates.
     */
    spry_matrix *csr;
    const struct spryi_kernel *kernel; /* kernel that will run; NULL: not chosen */
    const spry_spmv_options *options;  /* op and vector_type are set; strings must not be kept */
    spry_type value_type;              /* type to store; SPRY_PATTERN: no values */
    spry_type narrow_type;             /* build may store values in this type if none changes; 0: none */
    bool massively_parallel;           /* for a device with thousands of threads; default parameters should suit it */
    int compute_major;                 /* major compute capability; 0: unknown */
    int units;                         /* multiprocessors; 0: unknown */
    int shared_bytes;                  /* bytes of shared memory that a thread block may use; 0: unknown */
    bool only_cpu_reads;               /* only products on a CPU read the storage */
    bool copied;                       /* the storage will be copied to a device, so the plan owns all arrays */
    int64_t parameters[SPRYI_PARAMETERS];        /* in the order of the format's list; 0: the user did not set it */
    int64_t kernel_parameters[SPRYI_PARAMETERS]; /* in the order of the kernel's list; all 0: none was set */
    const struct spryi_group_table *group_table; /* loaded sizes of CSR-k's groups; NULL: none */
    struct spryi_cost *cost;                     /* if not NULL, build stores the cost here, as predict does */
} spryi_build_request;

/* Memory that a format needs for a matrix. The numbers are exact and known before the build. */
typedef struct spryi_cost {
    int64_t bytes;           /* bytes of the format's arrays, without data that a plan adds, such as row blocks */
    int64_t words;           /* number of elements of these arrays, values and indices alike, as in Sparse Methods */
    int64_t borrowed;        /* part of `bytes`: arrays of A that the storage borrows; the plan owns the rest */
    int64_t padding;         /* stored entries that A does not have */
    int64_t extra_workspace; /* workspace that only this format needs, in bytes */
    char parameters[64];     /* parameters used: "c=16:sigma=4096"; "" if none */
} spryi_cost;

/* One array of a storage, or numbers inside the storage's struct. Sections are the content of a container. */
typedef struct spryi_section {
    char name[16];
    void **array;              /* address of the array's pointer; NULL: the data are inside the struct */
    void *inside;              /* address of the data if `array` is NULL */
    int64_t count, item_bytes; /* number of items, which may be 0; bytes of an item */
} spryi_section;

enum { SPRYI_MOST_SECTIONS = 16 };
#define SPRYI_TABLE_SECTION "table" /* the last section of a storage whose values are indices into a table */

/* One part of a transposed product (formats/shared/column_windows.h). */
typedef struct spryi_window {
    int64_t begin, end; /* rows of the part, or its entries if spryi_windows_of_entries built the window */
    int64_t low, high;  /* columns of the part's entries: low <= j < high */
    int64_t at;         /* position of the window in the workspace, in elements */
} spryi_window;

typedef struct spryi_windows {
    spryi_window *parts;
    int64_t count;
    int64_t numbers; /* number of elements of all windows together */
} spryi_windows;

/* Sizes and arrays of a format's storage. */
typedef struct spryi_storage_layout {
    size_t size;
    size_t windows_at; /* offset of a spryi_windows in the storage, for transposed products; 0: none */
    /*
     * Lists the sections that a container needs to restore the storage, at most SPRYI_MOST_SECTIONS. Numbers inside the
     * storage come first. The function can list the counts of the arrays even if only these numbers of the storage are
     * set and all else is zero. NULL: containers store CSR instead of this format.
     */
    int (*sections)(void *storage, spryi_section *sections);
    /* Lists the arrays that a GPU needs. NULL: all sections that are arrays, except empty arrays and host_only. */
    int (*device_sections)(void *storage, spryi_section *sections);
    const char *host_only;      /* name of a section that GPUs do not need; NULL: none */
    bool sections_lack_columns; /* build adds data for transposed products that the sections lack */
} spryi_storage_layout;

/* Members that only the choice among formats uses. */
typedef struct spryi_format_choice {
    unsigned tree_answers; /* SPRYI_TREE_ bits that choose this format */
    /* Returns the default kernel on a GPU for this matrix. If gpu_kernel is NULL, it is the last kernel in the list. */
    const char *(*gpu_kernel)(const spry_matrix *A, const int64_t *parameters);
    const struct spryi_estimator *estimator; /* core/estimate.h; NULL: the format is never chosen by cost */
} spryi_format_choice;

/*
 * A storage layout that a plan may use. build fills a zeroed storage from a valid matrix. The storage borrows those
 * arrays of A that it can use unchanged (the plan keeps A alive) and owns the others. build fails before it allocates
 * if spryi_check_storage fails. If build fails, its caller, spryi_storage_build, destroys the storage.
 */
typedef struct spryi_format {
    const char *name, *title;
    const char *formula;  /* text: how the storage's size in words is computed */
    const char *best_for; /* one line */
    spryi_parameters parameters;
    bool takes_any_layout; /* request.csr is not needed */
    bool in_place;         /* CSR with values of the stored type is used without a copy, in any device's memory */
    spry_status (*predict)(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                           spry_error *err);
    spry_status (*build)(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err);
    /*
     * The next five functions may be NULL. NULL means that the storage owns the arrays of its sections and its windows.
     * Such a storage stores no values if the matrix is a pattern, and its runs need only the windows' workspace. Every
     * storage begins with a spry_arrays, which has sizes and types, and borrowed arrays if there are any.
     */
    void (*destroy)(spry_context *context, void *storage);
    int64_t (*storage_bytes)(const void *storage); /* bytes that a run reads, borrowed arrays included */
    int64_t (*owned_bytes)(const void *storage);   /* bytes that build allocated; NULL: storage_bytes */
    int64_t (*workspace_bytes)(const void *storage, spry_type vector_type); /* bytes of workspace that a run needs */
    int64_t (*growth_bytes)(const void *storage); /* largest growth of owned_bytes when values change; NULL: 0 */
    /* Converts the storage to CSR that owns its arrays, without padding. NULL for csr, csc and coo. */
    spry_status (*to_csr)(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err);
    /*
     * Creates a storage of SPRY_BSR arrays in host memory. The storage borrows the arrays and owns only its struct.
     * Sets *storage to NULL if the format cannot read the arrays. Only the format bsr has this function.
     */
    spry_status (*borrow_blocks)(spry_context *context, void **storage, const spry_arrays *a, spry_error *err);
    /* Checks a restored storage. SPRY_OK means: products and to_csr access no memory outside its arrays and vectors. */
    spry_status (*check)(const spry_context *context, const void *storage, spry_error *err);
    spryi_storage_layout layout;
    spryi_format_choice choice;
} spryi_format;

/*
 * Call the format's functions, or do the default if these are NULL. spryi_storage_device_sections lists at most
 * SPRYI_MOST_SECTIONS sections.
 */
spry_status spryi_storage_build(spry_context *context, const spryi_format *format, void **storage,
                                const spryi_build_request *request, spry_error *err);
void spryi_storage_destroy(spry_context *context, const spryi_format *format, void *storage);
int64_t spryi_storage_bytes(const spryi_format *format, const void *storage);
static inline int64_t spryi_storage_owned_bytes(const spryi_format *format, const void *storage)
{
    return format->owned_bytes ? format->owned_bytes(storage) : spryi_storage_bytes(format, storage);
}
static inline int64_t spryi_storage_workspace(const spryi_format *format, const void *storage, spry_type vector_type)
{
    if (format->workspace_bytes) return format->workspace_bytes(storage, vector_type);
    const spryi_windows *windows = (const spryi_windows *)((const char *)storage + format->layout.windows_at);
    return format->layout.windows_at > 0 ? windows->numbers * (int64_t)spry_type_bytes(vector_type) : 0;
}

/* Returns the sizes, types and borrowed arrays of any storage. */
static inline const spry_arrays *spryi_storage_arrays(const void *storage)
{
    return (const spry_arrays *)storage; /* the cast is for C++ */
}

/* Returns whether the storage reads A's values. */
static inline bool spryi_storage_borrows_values(const void *storage, const spry_arrays *a)
{
    const spry_arrays *s = spryi_storage_arrays(storage);
    if (s->value_type == SPRY_PATTERN) return a->value_type == SPRY_PATTERN;
    if (s->values) return s->values == a->values;
    /* without entries there may be no values: other arrays show whether the storage borrows */
    return a->nnz == 0 && !a->values && (a->offsets ? s->offsets == a->offsets : s->layout == a->layout);
}
int spryi_storage_device_sections(const spryi_format *format, void *storage, spryi_section *list);

/* Returns the bytes of the arrays in a list of sections. */
static inline int64_t spryi_listed_bytes(const spryi_section *list, int count)
{
    int64_t bytes = 0;
    for (int n = 0; n < count; n++)
        if (list[n].array) bytes += list[n].count * list[n].item_bytes;
    return bytes;
}

/* Computes y_i = beta*y_i for begin <= i < end, with *beta of y's type. *beta = 0 writes zeros without reading y. */
void spryi_scale(void *y, spry_type type, int64_t begin, int64_t end, const void *beta);

enum { SPRYI_FAMILY_FORMATS = 3, SPRYI_FAMILY_KERNELS = 23 };

/*
 * A family of storage layouts: its formats, and their kernels for all devices. A list has one line per entry, for short
 * diffs. Unused elements are NULL; a list may be full.
 */
typedef struct spryi_family {
    const char *name; /* name of its folder */
    const spryi_format *formats[SPRYI_FAMILY_FORMATS];
    const spryi_kernel *kernels[SPRYI_FAMILY_KERNELS]; /* kernels of one format and device: from slow to fast */
} spryi_family;

/* List entry of a kernel that exists only for x86 processors. */
#ifdef SPRY_HAVE_X86
#define SPRYI_X86(kernel) &kernel,
#else
#define SPRYI_X86(kernel)
#endif
