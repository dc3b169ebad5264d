/*
 * Sparse times sparse inside the library: what the public operation (ops/spgemm.c) and the ways to do it share. Every
 * way has a symbolic phase, which counts the rows of C, and a numeric phase, which fills them or, in a structure that
 * is there, the values alone. Descriptors are listed in ops/registry.c; those of the GPU have their functions in the
 * plug-in.
 */
#ifndef SPRYI_SPGEMM_H
#define SPRYI_SPGEMM_H

#include "core/cpu_features.h"
#include "core/cuda_plugin.h"
#include "core/matrix.h"
#include "spry/spry.h"

/* ---- CPU --------------------------------------------------------------------------------------- */

typedef struct spryi_spgemm_job spryi_spgemm_job;

/* A phase of a whole product, in parallel; it allocates nothing. */
typedef void (*spryi_spgemm_fn)(spryi_spgemm_job *job);

typedef spryi_spgemm_fn spryi_spgemm_count_table[SPRYI_INDEX_PAIRS];
typedef spryi_spgemm_fn spryi_spgemm_fill_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS];

typedef struct spryi_spgemm_kernel {
    const char *name;   /* spgemm_<way>_<device> */
    const char *device; /* "cpu", "cuda" */
    const char *idea;   /* one sentence */
    const char *source;
    int deterministic;
    int sequential;  /* 1: one thread, as a teaching reference has it */
    int uses_words;  /* 1: job->words are worth making */
    int needs_csc;   /* 1: op(B) by columns beside op(B) by rows */
    spryi_simd simd; /* kernels are listed from slow to fast: the last one that can run is the default */
    /* Of CPU kernels; those of GPUs have none here. Bytes of workspace for each phase, job->most_bytes permitting. */
    int64_t (*count_bytes)(spryi_spgemm_job *job);
    int64_t (*fill_bytes)(spryi_spgemm_job *job); /* after count */
    const spryi_spgemm_count_table *count;        /* counts of the rows into offsets[i + 1]; widest, longest */
    const spryi_spgemm_fill_table *fill;          /* columns and values */
    const spryi_spgemm_fill_table *refill;        /* values, columns being there */
    /*
     * Both phases at once, offsets from 0 included; NULL: there is none, of some types none. columns and values have
     * room for all products; pieces are those of spryi_spgemm_cut_once.
     */
    int64_t (*once_bytes)(spryi_spgemm_job *job); /* sets job->windows, entries, listed */
    const spryi_spgemm_fill_table *once;
} spryi_spgemm_kernel;

/* Pieces of rows with about equal work, cut by the matrix; threads take one after the other. */
typedef struct spryi_spgemm_pieces {
    int64_t count;
    int64_t *rows;           /* count + 1 */
    int64_t *products;       /* count, in the same block; NULL of those that are cut again, which have in its stead: */
    int64_t *sizes, *places; /* entries of C in each, and before each, count + 1 */
} spryi_spgemm_pieces;

/* Rows of C by the words of 64 columns that they span: bin b holds those of 2^(b-1) to 2^b - 1 words. */
enum { SPRYI_SPAN_BINS = 60 };
typedef struct spryi_spgemm_spans {
    int64_t widest[SPRYI_SPAN_BINS];  /* most words that a row spans */
    int64_t busiest[SPRYI_SPAN_BINS]; /* most slots that a row of the bin needs: products, or columns if less */
    int64_t scattered; /* of rows with few products in a wide span, the most slots: no part of the bins */
    int64_t twins;     /* of rows whose columns in A are those of the row before, the most words */
    int64_t repeated;  /* of rows that repeat the one before, the most words */
} spryi_spgemm_spans;

/* Rows of B as bits: columns that follow each other in one word of 64 are one entry. count 0: not made. */
typedef struct spryi_spgemm_words {
    int64_t count, bytes;
    int64_t *offsets; /* rows + 1 */
    int32_t *index;   /* column / 64 */
    uint64_t *bits;
} spryi_spgemm_words;

enum { SPRYI_STREAMS_FROM = 16 << 20 }; /* bytes of C that would not stay in the caches */

/* One product on the CPU. Everything has been validated. */
struct spryi_spgemm_job {
    spry_arrays a, b;      /* CSR of one index pair, values of `type`; b is op(B). Duplicates and any order may be */
    spry_arrays b_columns; /* where the kernel needs it: op(B), CSC */
    spry_type type;
    double alpha;     /* holds an f32 exactly */
    int threads;      /* at most; the bytes functions may lower it to fit */
    int b_rises;      /* 1: rows of b are sorted and hold no position twice */
    int64_t products; /* in all */
    spryi_spgemm_pieces pieces;
    spryi_spgemm_words words; /* of b, where they pay */
    int grouped;              /* once: 1: by groups */
    uint32_t *groups;         /* of b, where they pay: at the offset of each row, what groups.c makes */
    int64_t most_bytes;       /* that a phase's workspace should not exceed, where it can help it; 0: no matter */
    int64_t piece_work;       /* entries and rows a piece; 0: the library's choice (tests cut finer) */
    /* What the phase's bytes function said, cleared to 0 once before; phases leave it so, but for what runs take. */
    void *workspace;
    /* count makes: */
    int64_t *offsets; /* rows + 1 */
    spryi_spgemm_spans spans;
    int64_t longest; /* entries of the longest row of C */
    /* fill's bytes function makes of them: */
    int64_t windows, slots;  /* of a thread's dense window, in words of 64 columns, and of its hash table */
    int64_t ring;            /* once: groups of eight columns in a thread's window of those; 0: none */
    int64_t entries, listed; /* once: of a thread's buffer for C, and of its list of a row's products */
    /* for rows that share one order: products of such a row, values, entries on their way to C; 0: not looked for */
    int64_t run_products, run_values, run_staged;
    /* fill makes: */
    void *columns, *values;
    int streams; /* 1: C is large, and written past the caches */
};

/* pieces.c: cuts the rows of job->a, and counts all products (INT64_MAX where they overflow). */
spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err);

/*
 * pieces.c: cuts the rows again, so that a piece has no more than `most` rows and products (or columns of C, a row, if
 * less), or is one row.
 */
spry_status spryi_spgemm_cut_once(spry_context *context, spryi_spgemm_job *job, int64_t most, spry_error *err);

/*
 * words.c: makes job->words where rows of b are read often enough and columns lie close enough for it to pay, and where
 * that takes no more than most_bytes (0: no matter).
 */
spry_status spryi_spgemm_make_words(spry_context *context, spryi_spgemm_job *job, int64_t most_bytes, spry_error *err);
void spryi_spgemm_drop_words(spry_context *context, spryi_spgemm_job *job);

/*
 * groups.c: rows of b as groups of eight columns, each row from its offset on: column / 8, a mark of the row's last
 * one, and a bit for each column that is there.
 */
#define SPRYI_GROUP_COLUMNS (1 << 26)
#define SPRYI_GROUP_LAST 256u
int spryi_spgemm_groups_pay(const spry_context *context, const spryi_spgemm_job *job);
spry_status spryi_spgemm_make_groups(spry_context *context, spryi_spgemm_job *job, spry_error *err);

/* pieces.c: 1 if each row's columns rise. Looks at all of them, or knows it. */
int spryi_spgemm_rises(const spry_context *context, const spry_arrays *csr);

/* gpu_cuda.c */
extern const spryi_spgemm_kernel spryi_spgemm_seed_getvals_cuda, spryi_spgemm_seed_reset_cuda,
    spryi_spgemm_seed_rows_cuda, spryi_spgemm_seed_claim_cuda, spryi_spgemm_seed_balance_cuda, spryi_spgemm_rows_cuda;

extern const spryi_spgemm_kernel *const spryi_spgemm_kernels[];
extern const int spryi_spgemm_kernel_count;
const spryi_spgemm_kernel *spryi_find_spgemm_kernel(const char *name);
int spryi_spgemm_kernel_available(const spry_context *context, const spryi_spgemm_kernel *kernel, const char **reason);

/* ---- GPU: what the plug-in supplies --------------------------------------------------------------- */

typedef struct spryi_cuda_product spryi_cuda_product;

/*
 * One product on a GPU, or a chunk of its rows. ops fills in the first part and owns the arrays; a kernel's symbolic
 * phase fills in the second; numeric may then be called any number of times, and discard once. The device is current.
 */
struct spryi_cuda_product {
    spry_arrays a, b; /* CSR in device memory, 32-bit columns, offsets of one type, values of `type`; b is op(B) */
    spry_type type;
    int device; /* CUDA's number */
    int multiprocessors, shared_bytes, major;
    void *stream;
    int64_t row_begin, row_end; /* rows of a that are to be multiplied */
    /*
     * Device memory for the kernel's own, counted against the limit: SPRY_TOO_LARGE where it would pass it. Blocks
     * that live between phases hang on `state` and go with discard.
     */
    spry_status (*allocate)(spryi_cuda_product *product, void **pointer, int64_t bytes, const char *what,
                            spry_error *err);
    void (*release)(spryi_cuda_product *product, void *pointer, int64_t bytes); /* of an allocate; NULL is fine */
    void *owner;                                                                /* of allocate and release */
    int64_t most_bytes; /* that workspace should not exceed where the kernel can choose; 0: no matter */
    int64_t *c_offsets; /* device, row_end - row_begin + 1 entries, which symbolic fills: from 0 to nnz */
    /* symbolic tells: */
    int64_t products, nnz;
    void *state; /* the kernel's own, NULL before */
    /* numeric gets: */
    double alpha;       /* holds an f32 exactly */
    int32_t *c_columns; /* device, nnz */
    void *c_values;     /* device, nnz */
    int values_alone;   /* 1: c_columns are there from an earlier numeric phase */
};

typedef struct spryi_cuda_spgemm_kernel {
    const char *name;                                                      /* as its descriptor's */
    spry_status (*symbolic)(spryi_cuda_product *product, spry_error *err); /* done when it returns */
    spry_status (*numeric)(spryi_cuda_product *product, spry_error *err);  /* in the stream; allocates nothing */
    void (*discard)(spryi_cuda_product *product);
} spryi_cuda_spgemm_kernel;

/* core/cuda_plugin.h points to one of these. */
typedef struct spryi_cuda_spgemm {
    const spryi_cuda_spgemm_kernel *const *kernels;
    int kernel_count;
    /* Products of rows 0 .. i-1, for each i: rows + 1 numbers into host memory, for cutting into chunks. */
    spry_status (*scan_products)(spryi_cuda_product *product, int64_t *host_scan, spry_error *err);
    /* to[i] = from[i] + shift, in 32 bits where to_32. */
    spry_status (*copy_offsets)(int device, void *to, int to_32, const int64_t *from, int64_t shift, int64_t count,
                                void *stream, spry_error *err);
    /*
     * Leaves out the entries whose value is 0: offsets (64 bits), columns and values are rewritten in place, stably;
     * *nnz is what is left. flags: nnz + 1 numbers of workspace.
     */
    spry_status (*drop_zeros)(int device, int64_t *offsets, int32_t *columns, void *values, spry_type type,
                              int64_t rows, int64_t *nnz, void *workspace, void *stream, spry_error *err);
    int64_t (*drop_zeros_bytes)(spry_type type, int64_t rows, int64_t nnz);
} spryi_cuda_spgemm;

/* NULL: the plug-in has none of that name. */
const spryi_cuda_spgemm_kernel *spryi_cuda_find_spgemm_kernel(const spryi_cuda_plugin *plugin, const char *name);

#endif
