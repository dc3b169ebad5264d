/*
 * Descriptors: what the library knows about formats and kernels. The chooser, the tests, the benchmark,
 * `spry kernels` and the tables of the documentation iterate these lists, so a format or a kernel that
 * is in the list is tested, measured and documented, and one that is not does not exist.
 *
 * A new kernel: one file in src/formats/<family>/ or src/spgemm/ and one line in its family's list.
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
 * A number that a user may set of a format, or of a kernel: "sell:c=16:sigma=4096", "csr_vector_cuda:lanes=32". 0, when
 * not given, lets the format or kernel decide.
 */
typedef struct spryi_parameter {
    const char *name;
    int64_t least, most;
    const char *text; /* what it is, one line */
} spryi_parameter;

enum { SPRYI_PARAMETERS = 8, SPRYI_GIVEN_ZERO = -1 /* stands for a 0 that was given, where the least is 0 */ };

/* Parameters that a format or a kernel has. All NULL: none. */
typedef struct spryi_parameters {
    const spryi_parameter *list; /* up to SPRYI_PARAMETERS, the last with name NULL */
    /* Words that a parameter may have, then NULL; the first word counts as 1, and so on. NULL: numbers. */
    const char *const *words[SPRYI_PARAMETERS];
    const char *text; /* for people: "c=NUMBER (rows a slice); sigma=NUMBER (...)" */
} spryi_parameters;

/* Baseline of all comparisons. It replaces a format that does not fit in memory. */
#define SPRYI_BASELINE "csr"

/* Answers of the decision tree of Sparse Methods (choose/choose.c). Each chooses one format. */
typedef enum spryi_tree_answer {
    SPRYI_TREE_COLUMNS = 1 << 0,       /* column operations */
    SPRYI_TREE_MEMORY = 1 << 1,        /* memory-constrained */
    SPRYI_TREE_UNPREDICTABLE = 1 << 2, /* the caller says so */
    SPRYI_TREE_UNIFORM = 1 << 3,       /* rows of one length */
    SPRYI_TREE_FEW_LONG = 1 << 4,      /* rows of one length and a few long ones */
    SPRYI_TREE_VERY_SPARSE = 1 << 5,
    SPRYI_TREE_OTHER = 1 << 6
} spryi_tree_answer;

/* How large the samples are that a format's guesses rest on. */
typedef enum spryi_effort { SPRYI_QUICK, SPRYI_FULL } spryi_effort;

/* One product. Everything has been validated; kernels check nothing. */
typedef struct spryi_run_args {
    const void *storage; /* the format's own struct, as its build made it */
    const void *alpha;   /* one number of the compute type, host */
    const void *beta;    /* *beta == 0: y is not read */
    const void *x;       /* one column, host or device as the kernel's device is; or several: */
    void *y;
    int64_t columns; /* over 1: of x and of y, for operations that the kernel lists in `several` or `several_apart` */
    int64_t x_stride, y_stride; /* of several: from row to row, up to 2^31 - 1 where memory is a device's own, */
    int64_t x_apart, y_apart;   /* and from column to column: 1 where they lie row by row; else strides are 1 */
    void *workspace;            /* workspace_bytes(storage) bytes; no content survives between runs */
    spry_type vector_type;      /* of alpha, beta, x and y: the compute type */
    int threads;                /* at most, of `pool` */
    struct spryi_pool *pool;    /* base/pool.h; NULL: one thread */
    /* of GPUs */
    int scalars_on_device;            /* 1: alpha and beta are device addresses */
    int device;                       /* CUDA's number; it is current while a kernel is launched */
    const void *auxiliary;            /* what the kernel's prepare made */
    const int64_t *kernel_parameters; /* SPRYI_PARAMETERS numbers in the order of the kernel's list, as in a build */
    void *stream;
} spryi_run_args;

typedef spry_status (*spryi_run_fn)(const spryi_run_args *args, spry_error *err);

/* [spryi_value_row][index pair]; NULL where the combination does not exist. */
typedef spryi_run_fn spryi_run_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS];

typedef struct spryi_kernel {
    const char *name;   /* <format>_<way>_<device>, of SpGEMM spgemm_<way>_<device> */
    const char *format; /* name of a spryi_format */
    const char *device; /* "cpu", "cuda" */
    const char *idea;   /* one sentence */
    const char *source;
    int study;            /* 1: kept for comparison: another kernel of the format is faster wherever it was measured */
    int nondeterministic; /* 1: bits may differ from run to run */
    int pattern;          /* 1: also multiplies storage of SPRY_PATTERN, whose entries are 1 and take no memory */
    spryi_simd simd;      /* level a CPU kernel needs; kernels of one format are listed from slow to fast */
    const spryi_run_table *spmv;                   /* NULL: not offered */
    const spryi_run_table *spmv_t;                 /* NULL: not offered */
    const struct spryi_spgemm_host_phases *spgemm; /* (spgemm/spgemm.h) NULL: not offered */
    /* Operations, SPRYI_OP_ bits, whose functions take several columns at once: row by row, column by column. */
    unsigned several, several_apart;
    int (*takes_apart)(const void *storage); /* 1: several_apart holds for it; NULL: it always does; of CPU kernels */
    /* Of CUDA kernels, whose functions the plug-in has: SPRYI_OP_ bits, and those that exist for mixed rows of types
       (base/types.h), too; operations 0: the tables tell both. */
    unsigned operations, mixed;
    spryi_parameters parameters;
} spryi_kernel;

/* The members name, format and device of the kernel <format>_<way>_<device>. */
#define SPRYI_KERNEL_OF(format_name, way, device_name)                                                                 \
    .name = format_name "_" way "_" device_name, .format = format_name, .device = device_name

/* What a format is asked to build, or to predict. */
typedef struct spryi_build_request {
    const spry_matrix *A;
    /*
     * A as CSR with values of value_type: A itself where it is that, else a conversion that the plan lets go of after
     * the build; a build that borrows its arrays retains it. NULL for formats that take any layout. Rows may
     * be unsorted and hold duplicates.
     */
    spry_matrix *csr;
    const struct spryi_kernel *kernel; /* that will run; NULL: not chosen yet */
    const spry_spmv_options *options;  /* op and vector_type are filled in; its strings must not be kept */
    spry_type value_type;              /* to be stored: the vectors' type, or SPRY_PATTERN: no values */
    int massively_parallel; /* 1: it is for a device of thousands of threads: parameters that are not given suit it */
    int compute_major;      /* of its compute capability, before the point; 0: not known */
    int units;              /* multiprocessors; 0: not known */
    int shared_bytes;       /* that a block of threads may have; 0: not known */
    int stays;              /* 1: a plan on a CPU runs what is built, and nothing else reads it */
    int copied;             /* 1: what is built will be copied to a device's memory, so that the plan owns all of it */
    int64_t parameters[SPRYI_PARAMETERS];        /* in the order of the format's list; 0: not given; SPRYI_GIVEN_ZERO */
    int64_t kernel_parameters[SPRYI_PARAMETERS]; /* of the kernel that is named; all 0: none is */
    const struct spryi_group_table *group_table; /* loaded sizes of CSR-k's groups; NULL: none */
    struct spryi_cost *cost; /* where build tells what it makes, as predict would; NULL: nobody asks */
} spryi_build_request;

/* What a format takes for a matrix, exact, known before it is built. */
typedef struct spryi_cost {
    int64_t bytes;       /* of the format's arrays; what a plan adds beside them (row blocks, runs) is left out */
    int64_t words;       /* of the same arrays, values and indices alike: the count of Sparse Methods */
    int64_t borrowed;    /* of bytes, in arrays of A that serve where they are; the plan owns the rest */
    int64_t padding;     /* stored entries that are none of A's */
    int64_t beside;      /* workspace that only this format needs, in bytes */
    char parameters[64]; /* as resolved: "c=16:sigma=4096"; "" where there are none */
} spryi_cost;

/* One array of a storage, or numbers that lie inside of it: what a container keeps of a format. A count may be 0. */
typedef struct spryi_section {
    char name[16];
    void **array; /* where the storage holds the array's address; NULL: the data lie in the storage itself, */
    void *inside; /* here */
    int64_t count, item_bytes;
} spryi_section;

enum { SPRYI_MOST_SECTIONS = 16 };

/* Parts of a transposed product: formats/shared/column_windows.h. */
typedef struct spryi_window {
    int64_t begin, end; /* of the part: rows, or entries where spryi_windows_of_entries made it */
    int64_t low, high;  /* columns that it meets: low <= j < high */
    int64_t at;         /* where the window lies in the workspace, in numbers */
} spryi_window;

typedef struct spryi_windows {
    spryi_window *parts;
    int64_t count;
    int64_t numbers; /* in all windows together */
} spryi_windows;

/* Sizes and arrays of a format's storage. */
typedef struct spryi_storage_layout {
    size_t size;
    size_t windows_at; /* offset of a spryi_windows in the storage, for transposed products; 0: there is none */
    /*
     * Lists what a container needs to restore the storage, at most SPRYI_MOST_SECTIONS, numbers inside the storage
     * first. A zeroed storage with these numbers suffices to list the counts of the arrays. NULL: containers keep this
     * format as CSR.
     */
    int (*sections)(void *storage, spryi_section *sections);
    /* Lists the arrays that a GPU needs, without numbers. NULL: all sections that are not empty, except host_only. */
    int (*device_sections)(void *storage, spryi_section *sections);
    const char *host_only;     /* name of a section */
    int sections_lack_columns; /* 1: transposed products need more than the sections, which build makes for them */
} spryi_storage_layout;

/* Members that only the choice among formats uses. */
typedef struct spryi_format_choice {
    unsigned tree_answers; /* SPRYI_TREE_ bits that choose this format */
    /* Returns the default kernel on a GPU for this matrix. NULL: the last in the list. */
    const char *(*gpu_kernel)(const spry_matrix *A, const int64_t *parameters);
    const struct spryi_estimator *estimator; /* core/estimate.h; NULL: the format is never chosen by cost */
} spryi_format_choice;

/*
 * A storage layout that a plan may use. build fills a zeroed storage of a sound matrix. It borrows what it can of A's
 * arrays (the plan keeps A alive) and owns the rest. Before it allocates, it refuses what spryi_check_storage refuses.
 * If it fails, its caller, spryi_storage_build, destroys the storage.
 */
typedef struct spryi_format {
    const char *name, *title;
    const char *formula;  /* of the storage, in words */
    const char *best_for; /* one line */
    spryi_parameters parameters;
    int takes_any_layout; /* 1: request.csr is not made */
    int in_place;         /* 1: CSR with the values to be stored is used where it is, in any device's memory */
    spry_status (*predict)(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                           spry_error *err);
    spry_status (*build)(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err);
    /*
     * The next five may be NULL and are called by the spryi_storage_ functions. NULL stands for a storage that owns the
     * arrays of its sections and its windows, keeps no values of a pattern, and whose runs need only the windows'
     * workspace. Every storage begins with a spry_arrays: sizes and types, and borrowed arrays if there are any.
     */
    void (*destroy)(spry_context *context, void *storage);
    int64_t (*storage_bytes)(const void *storage); /* that a run reads, borrowed arrays included */
    int64_t (*owned_bytes)(const void *storage);   /* that build allocated; NULL: storage_bytes */
    int64_t (*workspace_bytes)(const void *storage, spry_type vector_type); /* of a run */
    int64_t (*growth_bytes)(const void *storage); /* that owned_bytes may grow by if the values change; NULL: 0 */
    /* Converts the storage to CSR that owns its arrays, without padding. NULL for the matrix's own layouts. */
    spry_status (*to_csr)(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err);
    /*
     * Creates a storage of SPRY_BSR arrays in host memory that borrows them, so that only the struct is owned. *storage
     * is NULL if the format cannot read them. NULL for all formats but one.
     */
    spry_status (*borrow_blocks)(spry_context *context, void **storage, const spry_arrays *a, spry_error *err);
    /* Checks a restored storage. SPRY_OK: products and to_csr access nothing outside its arrays and the vectors. */
    spry_status (*check)(const spry_context *context, const void *storage, spry_error *err);
    spryi_storage_layout layout;
    spryi_format_choice choice;
} spryi_format;

/* Call the format's functions, or do what NULL stands for. The last lists at most SPRYI_MOST_SECTIONS. */
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

/* y_i = beta*y_i for begin <= i < end, *beta of y's type; *beta = 0 writes zeros without reading. */
void spryi_scale(void *y, spry_type type, int64_t begin, int64_t end, const void *beta);

enum { SPRYI_FAMILY_FORMATS = 3, SPRYI_FAMILY_KERNELS = 23 };

/*
 * A family of storage layouts: its formats, and the kernels of every device that work on them. The lists have a line
 * for each entry, so that a new entry is a line in a diff. Unused elements are NULL; a list may be full.
 */
typedef struct spryi_family {
    const char *name; /* of its folder */
    const spryi_format *formats[SPRYI_FAMILY_FORMATS];
    const spryi_kernel *kernels[SPRYI_FAMILY_KERNELS]; /* within a format and device from slow to fast */
} spryi_family;

/* A list's line for a kernel that x86 processors alone have. */
#ifdef SPRY_HAVE_X86
#define SPRYI_X86(kernel) &kernel,
#else
#define SPRYI_X86(kernel)
#endif
