/*
 * The catalogue: every format and kernel that there is, of all families (families.h) and of devices. Whoever asks for
 * one by name, or goes over all of them, asks here.
 */
#pragma once

#include "core/device.h"
#include "core/kernel.h"
#include "matrix/matrix.h"

#include <stdbool.h>

/* Ends the message about an unknown name, if this build lacks the studies: SPRYI_STUDIES_MISSING("kernels"). */
#ifdef SPRY_STUDIES
#define SPRYI_STUDIES_MISSING(what) ""
#else
#define SPRYI_STUDIES_MISSING(what) "; " what " of studies need a build with -DSPRY_STUDIES=ON"
#endif

/* Those numbered from 0 on; NULL past the last. */
const spryi_format *spryi_format_at(int index);
/* Within a format and device from slow to fast: the last that is available is the default. */
const spryi_kernel *spryi_kernel_at(int index);

/* Formats with an estimator, by index from 0; NULL past the last. The baseline, csr, is the first. */
const spryi_format *spryi_estimated_at(int index);
/* Returns the index of such a format; -1 if the format has no estimator. */
int spryi_estimated_index(const char *format);

const spryi_format *spryi_find_format(const char *name); /* NULL: no such */
const spryi_kernel *spryi_find_kernel(const char *name); /* parameters behind it do not count; NULL: no such */

/*
 * "NAME[:key=value...]" to a format and its parameters. SPRY_UNKNOWN_NAME or SPRY_INVALID_ARGUMENT name the fault and
 * the names that there are.
 */
spry_status spryi_parse_format(const spryi_format **format, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               spry_error *err);

enum { SPRYI_MOST_PARAMETER_TEXT = 90 };

/*
 * Parses the name of a kernel: "csr_vector_cuda:lanes=32", with at most SPRYI_MOST_PARAMETER_TEXT bytes after its name.
 * The refusal of an unknown name lists kernels of `operation`.
 */
spry_status spryi_parse_kernel(const spryi_kernel **kernel, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               unsigned operation, spry_error *err);

/* Counts the kernels of a format that have one of the operations. format NULL: of all formats. */
int spryi_count_kernels(unsigned operations, const char *format);

/* 1: `format` names what a container holds; parameters that it gives are the container's. */
int spryi_is_stored_as(const spryi_stored *stored, const char *format);

/* 1: patterns are stored in this format without values. */
int spryi_has_pattern_kernel(const spryi_format *format);

/* 1: the kernel has the operation, one SPRYI_OP_ bit of products with vectors, for a row of types (base/types.h). */
int spryi_kernel_takes(const spryi_kernel *kernel, unsigned operation, int row);

/* SPRY_UNSUPPORTED where no kernel of the format multiplies values that are stored as that type. */
spry_status spryi_check_stores(const spryi_format *format, spry_type stored, spry_error *err);

/* 1: a device of this context can run the kernel; otherwise 0, and *reason is a text that lives with the context. */
int spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason);

/* Returns the generator of an index, from 0; NULL past the last. */
const struct spryi_generator *spryi_generator_at(int n);

/* ---- selection ---- */

/* The caller's request, and where the operands lie (device numbers). */
typedef struct spryi_selection_request {
    unsigned operation; /* SPRYI_OP_ bit */
    int device;         /* a public number; SPRY_DEVICE_DEFAULT: the kernel's, else where the operands are */
    const char *kernel; /* NULL: the library's choice */
    const char *format; /* that the kernel has to work on; NULL: any */
    bool allow_nondeterministic;
    int row; /* of the kernels' tables: spryi_value_row */
    int operand_device;
    int result_device;
    /* for messages: "the matrix", "vector_device", "vector_device", "the plan's own device" */
    const char *operand, *result_argument, *result, *result_place;
} spryi_selection_request;

/*
 * The device named, else the kernel's, else where the operands are. Operands and results have to be there or on the
 * host.
 */
spry_status spryi_select_device(const spry_context *context, const spryi_device **device,
                                const spryi_selection_request *request, spry_error *err);

/* The kernel that the request names, which has to run on the device and have the operation; and its parameters. */
spry_status spryi_select_named_kernel(const spryi_device *device, const spryi_kernel **kernel,
                                      int64_t parameters[SPRYI_PARAMETERS], const spryi_selection_request *request,
                                      spry_error *err);

/*
 * The kernel of a format on the device: `suitable`, where that is one and can be used, else the last one listed that
 * can be used.
 */
spry_status spryi_select_kernel(const spryi_device *device, const spryi_kernel **kernel, const spryi_format *format,
                                const char *suitable, const spryi_selection_request *request, spry_error *err);
