/*
 * A device is an interface. The library's drivers of devices (device/drivers.c) each bring one kind, "cpu" or "cuda":
 * they find its devices and give a table of functions for what is done there. Nothing above asks which kind it has;
 * what differs is a property (host_memory, massively_parallel) or a function.
 *
 * Devices of a context are numbered as spry.h does: 0 is the CPU. A kind without a device that can be used has one
 * entry all the same, whose reason tells why.
 */
#pragma once

#include "core/kernel.h"

#include <stdbool.h>

typedef struct spryi_device spryi_device;
typedef struct spryi_driver spryi_driver;

/* Lengths of the rows of a CSR matrix. */
typedef struct spryi_row_look {
    double longest, squares; /* entries of the longest row; sum of the squared lengths */
    int sound;               /* 1: offsets and columns are valid */
} spryi_row_look;

/* ---- what kernels have on a device --------------------------------------------------------------------- */

/* A storage that is made ready for one kernel. */
typedef struct spryi_prepare_request {
    const spryi_format *format;
    const void *storage; /* its arrays are where the device reads them */
    spry_type vector_type;
    spry_op op;
    const spryi_device *device;       /* it is current */
    const int64_t *kernel_parameters; /* as in spryi_run_args */
} spryi_prepare_request;

/* The functions of one kernel. */
typedef struct spryi_kernel_functions {
    const char *name; /* as its descriptor's */
    const spryi_run_table *spmv, *spmv_t;
    /*
     * What the kernel keeps on the device beside the storage (row blocks, merge splits): *auxiliary, of *bytes, its
     * own until discard. NULL: it keeps nothing.
     */
    spry_status (*prepare)(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err);
    void (*discard)(const spryi_device *device, void *auxiliary);
    /* Bytes that a run needs beside y; they are zero before the first run and left so. NULL: none. */
    int64_t (*workspace_bytes)(const spryi_prepare_request *request, const void *auxiliary);
    const struct spryi_spgemm_device_phases *spgemm; /* of SpGEMM in device memory (spgemm/spgemm.h) */
    unsigned several, several_apart;                 /* as its descriptor's */
    int (*takes_apart)(const void *storage);         /* 1: several_apart holds for it; NULL: it always does */
} spryi_kernel_functions;

/* A format's storage that is to be made on the device, of CSR that lies there. */
typedef struct spryi_conversion {
    const spryi_build_request *request; /* its csr and the arrays of its A are not to be looked at */
    spry_arrays csr;                    /* device addresses; values as the request stores them, 32-bit columns */
    /* spryi_check_storage, to be asked before slots are allocated */
    spry_status (*guard)(const spryi_build_request *request, const char *format, const spryi_cost *cost,
                         spry_error *err);
    /* The result: its cost, the struct (zeroed before), and its device arrays but for those that are csr's. */
    spryi_cost cost;
    void *storage;
    void *made[SPRYI_MOST_SECTIONS]; /* the caller's, also after a failure */
    int made_count;
    int64_t made_bytes;
    const spryi_device *device; /* it is current */
} spryi_conversion;

/*
 * Makes what build on the host and a copy would put on the device, to the bit (the format's device_sections), done when
 * it returns. SPRY_UNSUPPORTED: this matrix has to be converted on the host.
 */
typedef struct spryi_converter {
    const char *format;
    spry_status (*convert)(spryi_conversion *conversion, spry_error *err);
} spryi_converter;

/*
 * A pass over a vector, for permuted and scaled products:
 *
 *     to_i = s * from_p + beta*to_i     p = permutation_i (NULL: i)
 *                                       s = scaling_p or, with scaling_of_to, scaling_i (NULL: 1)
 */
typedef struct spryi_vector_map {
    void *to;
    const void *from;               /* may be `to` without a permutation */
    int64_t to_stride, from_stride; /* entries from one to the next; 0 counts as 1 */
    const int32_t *permutation;     /* where the device reads it */
    const void *scaling;            /* of `type`; in host memory devices alone */
    int scaling_of_to;
    int64_t length;                        /* of to */
    int64_t columns, to_apart, from_apart; /* over 1: so many vectors, so far apart, without permutation and scaling */
    spry_type type;
    const void *beta; /* of `type`; NULL or 0: `to` is not read */
    int beta_on_device;
    int threads;
    struct spryi_pool *pool;
    void *stream;
} spryi_vector_map;

/* Pieces of an array in the device's memory, packed into host memory. */
enum { SPRYI_PIECE_BYTES = 64 };
typedef struct spryi_gather {
    void *to;              /* host memory, count pieces long; the last piece of the array may be cut */
    const void *from;      /* device memory, a multiple of 4 */
    int64_t bytes;         /* of `from`, a multiple of 4 */
    const int64_t *pieces; /* host memory: those that are wanted, by their numbers; one may be there twice */
    int64_t count;
} spryi_gather;

/* ---- operations on matrices -------------------------------------------------------------------------------- */

/* Order of the columns in the rows of CSR. */
typedef enum spryi_row_order {
    SPRYI_ROWS_UNSORTED, /* a row is not sorted */
    SPRYI_ROWS_SORTED,   /* all rows are sorted, and a column is repeated */
    SPRYI_ROWS_RISING    /* columns increase in every row */
} spryi_row_order;

/* An operand of a sum and its factor. */
typedef struct spryi_device_term {
    spry_arrays rows; /* columns increase in every row */
    double factor;
} spryi_device_term;

/* Rows and columns to extract. The lists are in device memory. */
typedef struct spryi_device_selection {
    const int64_t *rows; /* rows of A; NULL: rows from first_row on */
    int64_t first_row;
    const int64_t *place; /* first new column of each column of A, or -1; NULL: columns from first_column on */
    const int64_t *next;  /* next new column from the same column of A, or -1; NULL: each column is selected once */
    int64_t first_column;
    bool all_columns; /* place is NULL and all columns are selected */
} spryi_device_selection;

/*
 * Operations on CSR in device memory with 32-bit columns. Work is in the default stream and has ended on return.
 *
 * The caller sets rows, cols, index_type, value_type and offset_type of *made; the default offset_type becomes the
 * smallest that holds the entries. A function fills in nnz and the arrays, which it allocates on the device. They are
 * the caller's, also after a failure.
 */
typedef struct spryi_matrix_functions {
    spry_status (*inspect)(const spryi_device *device, spryi_row_order *order, const spry_arrays *a, spry_error *err);
    /* Entries of a row of A^T are in the order of A's rows. */
    spry_status (*transpose)(const spryi_device *device, spry_arrays *made, const spry_arrays *a, spry_error *err);
    /*
     * Sorts the rows, stably. Sums entries at one position in f64 unless they are kept. *repeats: a has duplicates.
     * The value type of *made may be another one than that of a.
     */
    spry_status (*sort)(const spryi_device *device, spry_arrays *made, bool *repeats, const spry_arrays *a,
                        bool keep_duplicates, spry_error *err);
    spry_status (*add)(const spryi_device *device, spry_arrays *made, const spryi_device_term *a,
                       const spryi_device_term *b, spry_error *err);
    /* Entries of a row keep the order of A; copies of an entry follow each other. */
    spry_status (*extract)(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                           const spryi_device_selection *selection, spry_error *err);
    /* Vectors without data are ones. The factor of the smaller index is multiplied first. */
    spry_status (*scale)(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                         const spry_const_vector *row, const spry_const_vector *column, spry_error *err);
    /* Sums entries at one position in stored order. */
    spry_status (*diagonal)(const spryi_device *device, const spry_vector *d, const spry_arrays *a, spry_error *err);
} spryi_matrix_functions;

typedef enum spryi_copy { SPRYI_TO_DEVICE, SPRYI_FROM_DEVICE, SPRYI_WITHIN_DEVICE } spryi_copy;

/* ---- the interface --------------------------------------------------------------------------------------- */

/*
 * The functions of a device. Every one leaves the caller's current device as it was, but for enter. A stream is the
 * caller's or NULL, the default one.
 */
typedef struct spryi_device_ops {
    /* Usable in any stream on return; given back when the work of all streams of the device is done. NULL is fine. */
    spry_status (*allocate)(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                            spry_error *err);
    void (*release)(const spryi_device *device, void *pointer);
    /*
     * In the order of the default stream, without waiting: for memory that is used there alone until somebody has
     * waited for that stream. Each takes memory of the other kind too.
     */
    spry_status (*allocate_in_order)(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                                     spry_error *err);
    void (*release_in_order)(const spryi_device *device, void *pointer);
    spry_status (*clear)(const spryi_device *device, void *pointer, int64_t bytes, spry_error *err); /* at once */
    /* In the order of the stream; from or to pageable host memory it returns when the host side is done with. */
    spry_status (*copy)(const spryi_device *device, void *to, const void *from, int64_t bytes, spryi_copy kind,
                        void *stream, spry_error *err);
    /*
     * Of CSR in the device's memory how long rows are and, where `checked`, whether offsets and indices are those of a
     * matrix; else look->sound is 1. Waits. NULL: in host memory.
     */
    spry_status (*look_at_rows)(const spryi_device *device, spryi_row_look *look, const spry_arrays *csr, int checked,
                                spry_error *err);
    spry_status (*gather)(const spryi_device *device, const spryi_gather *request, spry_error *err); /* the same */
    spry_status (*synchronize)(const spryi_device *device, void *stream, spry_error *err);
    /* Returns when the work of all streams is done. In host memory there are none: NULL. */
    spry_status (*finish)(const spryi_device *device, spry_error *err);
    /* Makes the device current and says which was; leave makes that one current again. */
    spry_status (*enter)(const spryi_device *device, int *previous, spry_error *err);
    void (*leave)(const spryi_device *device, int previous);
    /* y = beta*y, beta a host number of `type`; beta = 0 writes zeros. */
    spry_status (*scale)(const spryi_device *device, void *y, spry_type type, int64_t length, const void *beta,
                         void *stream, spry_error *err);
    spry_status (*map)(const spryi_device *device, const spryi_vector_map *request, spry_error *err);
    /* GB/s of a copy of arrays of `bytes` bytes on the device, read and written, median. NULL: not measured here. */
    spry_status (*copy_bandwidth)(const spryi_device *device, int64_t bytes, double *gbps, spry_error *err);
    /* 1 and the kernel's functions, or 0 and a constant text that tells why the device cannot run it. */
    int (*find_kernel)(const spryi_device *device, const spryi_kernel *kernel, spryi_kernel_functions *functions,
                       const char **reason);
    /* NULL: storages of the format are made on the host. The function may be NULL. */
    const spryi_converter *(*find_converter)(const spryi_device *device, const char *format);
    /* Passes of the solvers (device/vector_ops.h); NULL: it has none. */
    const struct spryi_vector_ops *(*vector_ops)(const spryi_device *device);
    const spryi_matrix_functions *matrix;        /* operations on matrices; NULL: in host memory */
    const struct spryi_spgemm_functions *spgemm; /* what SpGEMM needs beside kernels (spgemm/spgemm.h); NULL: nothing */
} spryi_device_ops;

struct spryi_device {
    const spryi_driver *driver;
    const spryi_device_ops *ops; /* NULL: the device cannot be used, for `reason` */
    spry_context *context;
    int number;  /* 0 is the CPU, others as in spry.h */
    int ordinal; /* the driver's own number */
    char name[16], description[256];
    const char *reason; /* "" where it can be used; lives as long as the context */
    const char *simd;   /* of a CPU, the level that kernels may use; NULL: none */
    int uncached;       /* 1: the context wants its memory given back at once */
    int units;          /* cores or multiprocessors */
    int shared_bytes;   /* that a block of threads may have */
    int major, minor;   /* compute capability */
    int64_t memory_bytes, cache_bytes;
};

/* A kind of device. */
struct spryi_driver {
    const char *name;         /* as descriptors and users name it: "cpu", "cuda" */
    const char *title;        /* for a device that cannot be used: "NVIDIA GPU" */
    const char *device_title; /* in "there are 2 CUDA devices" */
    int host_memory;        /* 1: it works in the host's memory and threads: arrays and vectors serve where they are */
    int massively_parallel; /* 1: formats and their parameters should suit thousands of threads */
    const char *indices;    /* index pairs that its kernels take: "32/32 64/32" */
    double start_us;        /* from the first look for a device to its first work: driver, memory, first kernel */
    /* Kernels that stand in the device's own folder and no family's; end with NULL. NULL: none. */
    const spryi_kernel *const *kernels;
    /*
     * Finds the devices that this process can use: fills at most `most` of them (ops, ordinal and all that tells of
     * them) and returns how many. With 0, and maybe with more, `reason` (reason_size bytes) tells what is missing.
     * *state is the driver's own, for the context. Called once a context.
     */
    int (*find)(spry_context *context, spryi_device *devices, int most, const void **state, char *reason,
                size_t reason_size);
    int64_t (*trim)(const void *state); /* gives memory that is kept back: how many bytes. NULL: it keeps none */
    int64_t (*cached_bytes)(const void *state); /* that trim would give back; where that is a function, this is */
    void (*close)(const void *state);           /* the context is gone. NULL: nothing to do */
};

/* ---- devices of a context ------------------------------------------------------------------------------ */

/* The device of a number, found at the first need; NULL: there is none of that number. */
const spryi_device *spryi_device_at(const spry_context *context, int number);

/* Of the public numbers, SPRY_CPU and 0 for the host's memory, the one of the list: 0 is the CPU. */
int spryi_device_number(int device);

/* A vector with what 0 counts as filled in: columns, strides and the number of the device. */
static inline spry_const_vector spryi_resolved(spry_const_vector v)
{
    if (v.count == 0) v.count = 1;
    if (v.row_stride == 0) v.row_stride = 1;
    if (v.column_stride == 0) v.column_stride = v.row_stride == 1 ? v.length : 1;
    v.device = spryi_device_number(v.device);
    return v;
}

/* The public number of a device. */
int spryi_told_device(const spryi_device *device);

/* Returns when the stream (NULL: the default one) has done its work; in host memory there is none to wait for. */
spry_status spryi_wait_for(const spryi_device *device, void *stream, spry_error *err);

/*
 * A device with memory of its own that can be used (device may be NULL); SPRY_INVALID_ARGUMENT or
 * SPRY_DEVICE_UNAVAILABLE otherwise.
 */
spry_status spryi_device_usable(const spry_context *context, const spryi_device **device, int number, spry_error *err);

/* The kind of that name, whether or not it has a device; NULL: no such. */
const spryi_driver *spryi_driver_named(const char *name);

/* The first device of a kind, maybe one that cannot be used. */
const spryi_device *spryi_device_of_kind(const spry_context *context, const char *kind);
