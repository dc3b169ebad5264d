/*
 * A device is an interface. Each driver (device/drivers.c) supplies one kind of device, "cpu" or "cuda": it finds the
 * devices and provides a table of functions. Code that uses devices does not test for the kind. It tests properties
 * (host_memory, massively_parallel) or whether a function is NULL.
 *
 * Devices of a context are numbered as in spry.h: 0 is the CPU. If no device of a kind is usable, the kind has one
 * entry in the list, whose `reason` says why.
 */
#pragma once

#include "core/kernel.h"

#include <stdbool.h>

typedef struct spryi_device spryi_device;
typedef struct spryi_driver spryi_driver;

/* Lengths of the rows of a CSR matrix. */
typedef struct spryi_row_summary {
    double longest, squares; /* entries of the longest row; sum of squared row lengths */
    bool sound;              /* offsets and columns are valid */
} spryi_row_summary;

/* ---- kernels of a device --------------------------------------------------------------------------------- */

/* A storage to prepare for one kernel. */
typedef struct spryi_prepare_request {
    const spryi_format *format;
    const void *storage; /* its arrays are in memory that the device can read */
    spry_type vector_type;
    spry_op op;
    const spryi_device *device;       /* must be current */
    const int64_t *kernel_parameters; /* as in spryi_run_args */
} spryi_prepare_request;

/* The functions of one kernel. */
typedef struct spryi_kernel_functions {
    const char *name; /* as in spryi_kernel */
    const spryi_run_table *spmv, *spmv_t;
    /*
     * Creates data that the kernel keeps on the device in addition to the storage, such as row blocks or merge splits.
     * Sets *auxiliary to the data and *bytes to their size. `discard` frees the data. NULL: the kernel keeps no data.
     */
    spry_status (*prepare)(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err);
    void (*discard)(const spryi_device *device, void *auxiliary);
    /*
     * Returns the size of the workspace that a run needs in addition to y, in bytes. The workspace contains only zeros
     * before the first run and after each run. NULL: runs need no workspace.
     */
    int64_t (*workspace_bytes)(const spryi_prepare_request *request, const void *auxiliary);
    const struct spryi_spgemm_device_phases *spgemm;                    /* SpGEMM in device memory (spgemm/spgemm.h) */
    unsigned multi_row_major, multi_column_major;                       /* as in spryi_kernel */
    int (*supports_column_major)(const void *storage, int64_t columns); /* as in spryi_kernel */
} spryi_kernel_functions;

/* A storage to build on the device, from CSR in device memory. */
typedef struct spryi_conversion {
    const spryi_build_request *request; /* its csr and the arrays of its A must not be read */
    spry_arrays csr;                    /* device addresses; values of the value_type or narrow_type, 32-bit columns */
    void *table;                        /* f64 values that the values of csr index, for the storage to use; or NULL */
    /* Equals spryi_check_storage. The converter calls guard when it knows the cost, before it allocates the arrays. */
    spry_status (*guard)(const spryi_build_request *request, const char *format, const spryi_cost *cost,
                         spry_error *err);
    /* Results. The caller allocates the struct *storage and sets it to zero. The caller owns `made` after a failure. */
    spryi_cost cost;
    void *storage;
    void *made[SPRYI_MOST_SECTIONS]; /* device arrays allocated for the storage; its other arrays are those of csr */
    int built_count;
    int64_t built_bytes;
    const spryi_device *device; /* must be current */
} spryi_conversion;

/*
 * Builds a storage on the device. Unless values are indices into a table, which only devices build, its arrays (the
 * format's device_sections) have the same bits as the copied arrays of a storage that is built on the host. Returns
 * when the storage is complete. Returns SPRY_UNSUPPORTED if the matrix must be converted on the host.
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
    const void *from;               /* may equal `to` if there is no permutation */
    int64_t to_stride, from_stride; /* distance between consecutive elements, in elements; 0 means 1 */
    const int32_t *permutation;     /* p, in memory that the device reads; NULL: none */
    const void *scaling;            /* factors of type `type`; only on devices that use host memory */
    int scaling_of_to;
    int64_t length; /* number of elements of `to` */
    int64_t columns, to_column_stride,
        from_column_stride; /* number of vectors, and distances between them in elements. If columns is over 1,
                                            * permutation and scaling are NULL. */
    spry_type type;
    const void *beta; /* factor of type `type`; if beta is NULL or 0, `to` is not read */
    int beta_on_device;
    int threads;
    struct spryi_pool *pool;
    void *stream;
} spryi_vector_map;

/* Request to copy pieces of an array from device memory to consecutive host memory. A piece has SPRYI_PIECE_BYTES. */
enum { SPRYI_PIECE_BYTES = 64 };
typedef struct spryi_gather {
    void *to;              /* host memory for count pieces; the last piece of the array may be partial */
    const void *from;      /* device memory; the address is a multiple of 4 */
    int64_t bytes;         /* size of `from`, a multiple of 4 */
    const int64_t *pieces; /* host memory: indices of the pieces, in any order, repeats allowed */
    int64_t count;
} spryi_gather;

/* ---- operations on matrices -------------------------------------------------------------------------------- */

/* Order of the columns in the rows of CSR. */
typedef enum spryi_row_order {
    SPRYI_ROWS_UNSORTED, /* some row is not sorted */
    SPRYI_ROWS_SORTED,   /* all rows are sorted; some column is repeated */
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
    const int64_t *place; /* place[j]: first new column that copies column j, or -1; NULL: from first_column on */
    const int64_t *next;  /* next[n]: next new column that copies the same column as n, or -1; NULL: always -1 */
    int64_t first_column;
    bool all_columns; /* place is NULL and all columns are selected */
} spryi_device_selection;

/*
 * Operations on CSR in device memory with 32-bit columns. Work is in the default stream and has ended on return.
 *
 * The caller sets rows, columns, index_type, value_type and offset_type of *made. If offset_type is the default, the
 * function replaces it by the smallest type that suffices. A function fills in nnz and the arrays, which it allocates
 * on the device. The caller owns the arrays, also after a failure.
 */
typedef struct spryi_matrix_functions {
    spry_status (*inspect)(const spryi_device *device, spryi_row_order *order, const spry_arrays *a, spry_error *err);
    /* Entries of a row of A^T are in the order of their rows in A. */
    spry_status (*transpose)(const spryi_device *device, spry_arrays *made, const spry_arrays *a, spry_error *err);
    /*
     * Sorts the entries of each row by column, stably. Adds duplicates, entries at the same position, in f64 unless
     * keep_duplicates is true. Sets *repeats to whether a has duplicates. The value type of *made may differ from a's.
     */
    spry_status (*sort)(const spryi_device *device, spry_arrays *made, bool *repeats, const spry_arrays *a,
                        bool keep_duplicates, spry_error *err);
    spry_status (*add)(const spryi_device *device, spry_arrays *made, const spryi_device_term *a,
                       const spryi_device_term *b, spry_error *err);
    /* Entries of a row keep the order that they have in A. Copies of the same entry follow each other. */
    spry_status (*extract)(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                           const spryi_device_selection *selection, spry_error *err);
    /*
     * A vector without data means factors of 1. Multiplies entry (i, j) by row[i] and column[j], the smaller index
     * first.
     */
    spry_status (*scale)(const spryi_device *device, spry_arrays *made, const spry_arrays *a,
                         const spry_const_vector *row, const spry_const_vector *column, spry_error *err);
    /* Adds entries at the same position in the order in which they are stored. */
    spry_status (*diagonal)(const spryi_device *device, const spry_vector *d, const spry_arrays *a, spry_error *err);
    /*
     * Inspects the row lengths. If `checked`, also finds whether offsets and indices are valid; otherwise sets
     * summary->sound to true.
     */
    spry_status (*summarize_rows)(const spryi_device *device, spryi_row_summary *summary, const spry_arrays *csr,
                                  int checked, spry_error *err);
    /*
     * Stores values in device memory as narrow_type. Sets *exact to whether no value changes. table: for SPRYI_TABLE8
     * and SPRYI_TABLE16, device memory for spryi_table_values elements, which the function fills; else NULL.
     */
    spry_status (*narrow)(const spryi_device *device, void *to, spry_type narrow_type, const void *wide,
                          spry_type wide_type, int64_t count, double *table, bool *exact, spry_error *err);
} spryi_matrix_functions;

typedef enum spryi_copy { SPRYI_TO_DEVICE, SPRYI_FROM_DEVICE, SPRYI_WITHIN_DEVICE } spryi_copy;

/* ---- the interface --------------------------------------------------------------------------------------- */

/*
 * Functions of a device. All functions except enter and leave keep the caller's current device. `stream` is a stream
 * of the caller; NULL is the default stream.
 */
typedef struct spryi_device_ops {
    /*
     * Allocated memory is usable in any stream. release frees it when the work of all streams of the device is done.
     * The pointer may be NULL.
     */
    spry_status (*allocate)(const spryi_device *device, void **pointer, int64_t bytes, const char *label,
                            spry_error *err);
    void (*release)(const spryi_device *device, void *pointer);
    /*
     * Allocate and release memory in the order of the default stream, without waiting. Until the caller waits for the
     * default stream, only work in that stream may use the memory. release and release_in_order accept memory of both
     * allocation functions.
     */
    spry_status (*allocate_in_order)(const spryi_device *device, void **pointer, int64_t bytes, const char *label,
                                     spry_error *err);
    void (*release_in_order)(const spryi_device *device, void *pointer);
    /* Sets memory to zero. Returns when the work is done. */
    spry_status (*clear)(const spryi_device *device, void *pointer, int64_t bytes, spry_error *err);
    /* Copies in the order of the stream. With pageable host memory, returns when the host memory may be used again. */
    spry_status (*copy)(const spryi_device *device, void *to, const void *from, int64_t bytes, spryi_copy kind,
                        void *stream, spry_error *err);
    /* NULL on devices that use host memory. */
    spry_status (*gather)(const spryi_device *device, const spryi_gather *request, spry_error *err);
    spry_status (*synchronize)(const spryi_device *device, void *stream, spry_error *err);
    bool (*is_capturing)(void *stream); /* into a graph; NULL on devices that use host memory */
    /* Waits for the work of all streams. NULL on devices that use host memory. */
    spry_status (*finish)(const spryi_device *device, spry_error *err);
    /* enter makes the device current and returns the previous device; leave makes that device current again. */
    spry_status (*enter)(const spryi_device *device, int *previous, spry_error *err);
    void (*leave)(const spryi_device *device, int previous);
    /* y = beta*y. beta is in host memory, of `type`; beta = 0 writes zeros. */
    spry_status (*scale)(const spryi_device *device, void *y, spry_type type, int64_t length, const void *beta,
                         void *stream, spry_error *err);
    spry_status (*map)(const spryi_device *device, const spryi_vector_map *request, spry_error *err);
    /* Measures the median GB/s of copies of `bytes` bytes, with bytes read and written counted. NULL: not measured. */
    spry_status (*copy_bandwidth)(const spryi_device *device, int64_t bytes, double *gbps, spry_error *err);
    /*
     * Returns 1 and the kernel's functions, or 0 and a constant text: the reason why the device cannot run the
     * kernel.
     */
    int (*find_kernel)(const spryi_device *device, const spryi_kernel *kernel, spryi_kernel_functions *functions,
                       const char **reason);
    /* Returns NULL if storages of the format are built on the host. The function may be NULL. */
    const spryi_converter *(*find_converter)(const spryi_device *device, const char *format);
    /* Vector operations of the solvers (device/vector_ops.h). NULL: none. */
    const struct spryi_vector_ops *(*vector_ops)(const spryi_device *device);
    const spryi_matrix_functions *matrix;        /* NULL: operations on matrices run on the host */
    const struct spryi_spgemm_functions *spgemm; /* functions that SpGEMM needs in addition to kernels; NULL: none */
} spryi_device_ops;

struct spryi_device {
    const spryi_driver *driver;
    const spryi_device_ops *ops; /* NULL: the device cannot be used; see `reason` */
    spry_context *context;
    int number;  /* 0 is the CPU; GPUs as in spry.h */
    int ordinal; /* the driver's index of the device */
    char name[16], description[256];
    const char *reason; /* "" if usable; lives as long as the context */
    const char *simd;   /* instruction set level that kernels may use on a CPU; NULL: none */
    bool uncached;      /* freed memory returns to the system immediately, since the context has no caches */
    int units;          /* cores or multiprocessors */
    int shared_bytes;   /* bytes of shared memory that a thread block may use */
    int major, minor;   /* compute capability */
    int64_t memory_bytes, cache_bytes;
};

/* A driver: a kind of device. */
struct spryi_driver {
    const char *name;         /* name in descriptors and options: "cpu", "cuda" */
    const char *title;        /* title of a device that cannot be used: "NVIDIA GPU" */
    const char *device_title; /* "CUDA", for messages such as "there are 2 CUDA devices" */
    bool host_memory;         /* uses the host's memory and threads; arrays and vectors need no copies */
    bool massively_parallel;  /* formats and their parameters should suit thousands of threads */
    const char *indices;      /* bits of offsets and columns that its kernels support: "32/32 64/32" */
    double start_us;          /* time to start the driver, allocate memory and load the first kernel */
    /* List of the kernels in the driver's folder that belong to no family. It ends with NULL. NULL: no kernels. */
    const spryi_kernel *const *kernels;
    /*
     * Finds the devices that this process can use. Fills at most `most` devices (ops, ordinal, properties) and returns
     * their number. If the number is 0, writes to `reason` (reason_size bytes) what is missing; may also do so if some
     * devices are found. *state is the driver's state for the context. Called once per context.
     */
    int (*find)(spry_context *context, spryi_device *devices, int most, const void **state, char *reason,
                size_t reason_size);
    int64_t (*trim)(const void *state);         /* Frees cached memory. Returns its bytes. NULL: no cache */
    int64_t (*cached_bytes)(const void *state); /* Returns the bytes that trim would free. NULL if trim is NULL. */
    void (*close)(const void *state);           /* called when the context is destroyed; NULL: nothing to do */
};

/* ---- devices of a context ------------------------------------------------------------------------------ */

/* Returns the device with an index; NULL: no such device. The first call for another index than 0 finds all devices. */
const spryi_device *spryi_device_at(const spry_context *context, int number);

/* Converts a public device number to an index in the context's device list. SPRY_CPU and 0 mean the CPU, index 0. */
int spryi_device_number(int device);

/* Returns the vector with count and strides set to their defaults where they are 0, and with the device's index. */
static inline spry_const_vector spryi_resolved(spry_const_vector v)
{
    if (v.count == 0) v.count = 1;
    if (v.row_stride == 0) v.row_stride = 1;
    if (v.column_stride == 0) v.column_stride = v.row_stride == 1 ? v.length : 1;
    v.device = spryi_device_number(v.device);
    return v;
}

/* Returns the public number of a device. */
int spryi_reported_device(const spryi_device *device);

/* Waits for the work of a stream (NULL: the default stream). Does nothing on devices that use host memory. */
spry_status spryi_wait_for(const spryi_device *device, void *stream, spry_error *err);

/*
 * Finds the GPU of a number; it must be usable. device may be NULL. Returns SPRY_INVALID_ARGUMENT if there is no such
 * GPU, SPRY_DEVICE_UNAVAILABLE if it cannot be used.
 */
spry_status spryi_device_usable(const spry_context *context, const spryi_device **device, int number, spry_error *err);

/* Returns the driver of a name, even without devices. NULL: no such driver. */
const spryi_driver *spryi_driver_named(const char *name);

/* Returns the first device of a kind, even if it cannot be used. */
const spryi_device *spryi_device_of_kind(const spry_context *context, const char *kind);
