/*
 * The edge between libspry and libspry-cuda.so. libspry knows the names and the meaning of the CUDA kernels and links
 * nothing of CUDA; the plug-in, one shared library that is looked for at run time, supplies the functions. Both sides
 * are of one build: the loader refuses any other (build_id).
 */
#ifndef SPRYI_CUDA_PLUGIN_H
#define SPRYI_CUDA_PLUGIN_H

#include "core/kernel.h"

/* What a kernel may keep on the device beside a storage (row blocks, merge splits). */
typedef struct spryi_cuda_prepare {
    const void *storage; /* with device arrays */
    spry_type vector_type;
    spry_op op;
    int device;
} spryi_cuda_prepare;

typedef struct spryi_cuda_kernel {
    const char *name; /* as its descriptor's */
    const spryi_run_table *spmv, *spmv_t;
    /* *auxiliary is the kernel's own, made with spryi_cuda_allocate's peers; *bytes is what it takes on the device. */
    spry_status (*prepare)(const spryi_cuda_prepare *request, void **auxiliary, int64_t *bytes, spry_error *err);
    void (*discard)(int device, void *auxiliary);
    /* Device bytes that a run needs beside y, zero before the first run and left so; NULL: none. */
    int64_t (*workspace_bytes)(const spryi_cuda_prepare *request, const void *auxiliary);
} spryi_cuda_kernel;

/* A format's storage that is to be made on the device, of CSR that lies there. */
typedef struct spryi_cuda_conversion {
    const spryi_build_request *request; /* its csr and the arrays of its A are not to be looked at */
    spry_arrays csr;                    /* device addresses; values as the request stores them, 32-bit columns */
    /* spryi_check_padding, to be asked before slots are allocated */
    spry_status (*guard)(const spryi_build_request *request, const char *format, const spryi_figure *figure,
                         spry_error *err);
    /* What is made: the figure, the struct (zeroed before), and its device arrays but for those that are csr's. */
    spryi_figure figure;
    void *storage;
    void *made[SPRYI_MOST_SECTIONS]; /* the caller's, also after a failure */
    int made_count;
    int64_t made_bytes;
} spryi_cuda_conversion;

/*
 * What build and upload would put on the device, to the bit (the format's device_sections), done when it returns. The
 * device is current. SPRY_UNSUPPORTED: this matrix has to be converted on the host.
 */
typedef struct spryi_cuda_converter {
    const char *format;
    spry_status (*convert)(spryi_cuda_conversion *conversion, spry_error *err);
} spryi_cuda_converter;

typedef struct spryi_cuda_device {
    char name[96];
    int multiprocessors, major, minor;
    int shared_bytes; /* that a block of threads may have */
    int64_t memory_bytes, cache_bytes;
    char driver[32]; /* "13.0": the CUDA version the driver knows */
} spryi_cuda_device;

/* to_i = from[places_i] + beta*to_i. beta NULL or 0: `to` is not read. */
typedef struct spryi_cuda_gather {
    void *to;
    const void *from;
    const int32_t *places;
    int64_t length; /* of to and places */
    spry_type type;
    const void *beta;
    int beta_on_device;
    void *stream;
} spryi_cuda_gather;

typedef enum spryi_copy { SPRYI_TO_DEVICE, SPRYI_FROM_DEVICE, SPRYI_WITHIN_DEVICE } spryi_copy;

typedef struct spryi_cuda_plugin spryi_cuda_plugin;

/* Devices are numbered as CUDA does. Every function leaves the caller's current device as it was. */
struct spryi_cuda_plugin {
    const char *build_id;
    const spryi_cuda_kernel *const *kernels;
    int kernel_count;
    const spryi_cuda_converter *const *converters; /* of formats that it has none for, the host makes the storage */
    int converter_count;
    /* Devices, 0 with the reason where there are none or the driver cannot be used. */
    int (*count)(char *reason, size_t reason_size);
    spry_status (*describe)(int device, spryi_cuda_device *info, spry_error *err);
    /* Usable in any stream on return; given back when the work of all streams of the device is done. NULL is fine. */
    spry_status (*allocate)(int device, void **pointer, int64_t bytes, const char *what, spry_error *err);
    void (*release)(int device, void *pointer);
    /*
     * In the order of the default stream, without waiting: for memory that is used there alone until somebody has
     * waited for that stream. Each takes memory of the other kind too.
     */
    spry_status (*allocate_in_order)(int device, void **pointer, int64_t bytes, const char *what, spry_error *err);
    void (*release_in_order)(int device, void *pointer);
    int (*started)(int device); /* 1: its memory has been used in this process */
    int64_t (*trim)(void); /* gives unused memory that is kept back to the driver: how many bytes, of all devices */
    void (*open)(void);    /* a context begins to use the plug-in */
    void (*close)(void);   /* and is gone; with the last one goes what trim gives back */
    spry_status (*clear)(int device, void *pointer, int64_t bytes, spry_error *err); /* to zeros, at once */
    /* In the order of the stream; from or to pageable host memory it returns when the host side is done with. */
    spry_status (*copy)(int device, void *to, const void *from, int64_t bytes, spryi_copy kind, void *stream,
                        spry_error *err);
    spry_status (*synchronize)(int device, void *stream, spry_error *err);
    /* y = beta*y; beta = 0 writes zeros. */
    spry_status (*scale)(int device, void *y, spry_type type, int64_t length, double beta, void *stream,
                         spry_error *err);
    spry_status (*gather)(const spryi_cuda_gather *request, spry_error *err); /* the device is current */
    /* GB/s of a device-to-device copy of arrays of `bytes` bytes, read and written, median. */
    spry_status (*copy_bandwidth)(int device, int64_t bytes, double *gbps, spry_error *err);
    /* Makes `device` current and says which was; leave makes that one current again. */
    spry_status (*enter)(int device, int *previous, spry_error *err);
    void (*leave)(int previous);
    const struct spryi_vector_ops *vector_ops; /* of the solvers: solve/vector_ops.h */
    const struct spryi_cuda_spgemm *spgemm;    /* sparse times sparse: spgemm/spgemm.h; NULL: it has none */
};

/* The plug-in exports one function of this type under this name. */
typedef const spryi_cuda_plugin *(*spryi_cuda_entry)(void);
#define SPRYI_CUDA_ENTRY "spryi_cuda_plugin_entry"

/*
 * cuda_loader.c: the plug-in for a context, looked for at the first call: the path of the context's options, else that
 * of the environment variable SPRY_CUDA_PLUGIN, else beside libspry. NULL: not to be had, for *reason (may be NULL).
 */
const spryi_cuda_plugin *spryi_cuda(const spry_context *context, const char **reason);

/* GPUs that can be used; *reason tells why there are none. */
int spryi_cuda_devices(const spry_context *context, const char **reason);

/*
 * device.c: SPRY_OK where device, numbered from 1, is a GPU that can be used, and its plug-in through *plugin (may be
 * NULL).
 */
spry_status spryi_cuda_usable(const spry_context *context, int device, const spryi_cuda_plugin **plugin,
                              spry_error *err);

/* "cuda" or "cuda:N" to CUDA's number; SPRY_DEVICE_UNAVAILABLE with the reason. */
spry_status spryi_cuda_device_of(const spry_context *context, const char *name, int *device, spry_error *err);

const spryi_cuda_kernel *spryi_cuda_find_kernel(const spryi_cuda_plugin *plugin, const char *name);
const spryi_cuda_converter *spryi_cuda_find_converter(const spryi_cuda_plugin *plugin, const char *format);

#endif
