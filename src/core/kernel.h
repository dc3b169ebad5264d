/*
 * Descriptors: what the library knows about formats and kernels. The chooser, the tests, the benchmark,
 * `spry kernels` and the tables of the documentation iterate these lists, so a format or a kernel that
 * is in the list is tested, measured and documented, and one that is not does not exist.
 *
 * A new kernel: one file in src/formats/<family>/ and one line in src/ops/registry.c.
 */
#ifndef SPRYI_KERNEL_H
#define SPRYI_KERNEL_H

#include "core/cpu_features.h"
#include "core/matrix.h"
#include "spry/spry.h"

enum { SPRYI_OP_SPMV = 1u << 0, SPRYI_OP_SPMV_T = 1u << 1 };

/* One product. Everything has been validated; kernels check nothing. */
typedef struct spryi_run_args {
    const void *storage; /* the format's own struct, as its build made it */
    const void *alpha;   /* one number of the compute type, host */
    const void *beta;    /* *beta == 0: y is not read */
    const void *x;       /* one column, host or device as the kernel's device is */
    void *y;
    void *workspace; /* workspace_bytes(storage) bytes; no content survives between runs */
    int threads;
    void *stream;
} spryi_run_args;

typedef spry_status (*spryi_run_fn)(const spryi_run_args *args, spry_error *err);

/* [value type][index pair]; NULL where the combination does not exist. */
typedef spryi_run_fn spryi_run_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS];

typedef struct spryi_kernel {
    const char *name;   /* <format>_<way>_<device> */
    const char *format; /* name of a spryi_format */
    const char *device; /* "cpu", "cuda" */
    const char *idea;   /* one sentence */
    const char *source;
    int deterministic;
    spryi_simd simd;               /* level a CPU kernel needs; kernels of one format are listed from slow to fast */
    const spryi_run_table *spmv;   /* NULL: not offered */
    const spryi_run_table *spmv_t; /* NULL: not offered */
} spryi_kernel;

/*
 * A storage layout a plan may use. build takes any sound matrix, of any layout, and makes the storage,
 * borrowing what it can of A's arrays (the plan keeps A alive) and owning the rest.
 */
typedef struct spryi_format {
    const char *name, *title;
    const char *storage;  /* formula in words */
    const char *best_for; /* one line */
    spry_status (*build)(spry_context *context, void **storage, const spry_matrix *A, const spry_spmv_options *options,
                         spry_error *err);
    void (*destroy)(spry_context *context, void *storage);
    int64_t (*storage_bytes)(const void *storage);                    /* what a run reads, borrowed arrays included */
    int64_t (*owned_bytes)(const void *storage);                      /* what build allocated of it and beside it */
    int64_t (*workspace_bytes)(const void *storage);                  /* what a run needs beside it */
    int (*borrows_values)(const void *storage, const spry_matrix *A); /* 1: a change of A's values is seen at once */
    const spry_arrays *(*arrays)(const void *storage); /* types of what is stored: picks the table slot */
} spryi_format;

/* y_i = beta*y_i for begin <= i < end; beta = 0 writes zeros without reading. beta holds an f32 exactly. */
void spryi_scale(void *y, spry_type type, int64_t begin, int64_t end, double beta);

/* For builds: SPRY_TOO_LARGE, with the bytes, where a conversion to `format` would own more than the options allow. */
spry_status spryi_check_memory_limit(const spry_spmv_options *options, const char *format, int64_t bytes,
                                     spry_error *err);

extern const spryi_format *const spryi_formats[];
extern const int spryi_format_count;
extern const spryi_kernel *const spryi_kernels[];
extern const int spryi_kernel_count;

const spryi_format *spryi_find_format(const char *name); /* NULL: no such */
const spryi_kernel *spryi_find_kernel(const char *name);

/* 1 if this context can run the kernel; otherwise 0, and *reason is a constant text. */
int spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason);

#endif
