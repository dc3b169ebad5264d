/* The catalogue: all formats and kernels, of families (families.h) and drivers, by name or by index. */
#pragma once

#include "core/device.h"
#include "core/kernel.h"
#include "matrix/matrix.h"

#include <stdbool.h>

/* End of the message about an unknown name, if this build lacks the studies: SPRYI_STUDIES_MISSING("kernels"). */
#ifdef SPRY_STUDIES
#define SPRYI_STUDIES_MISSING(things) ""
#else
#define SPRYI_STUDIES_MISSING(things) "; " things " of studies need a build with -DSPRY_STUDIES=ON"
#endif

/* Return the format or kernel of an index, from 0; NULL past the last. */
const spryi_format *spryi_format_at(int index);
/* Kernels of a format and device are listed from slow to fast: the last available one is the default. */
const spryi_kernel *spryi_kernel_at(int index);

/* Returns format `index`, from 0, of the formats that have an estimator; NULL past the last. The first is csr. */
const spryi_format *spryi_estimated_at(int index);
/* Returns the index of a format with an estimator; -1 if the format has no estimator. */
int spryi_estimated_index(const char *format);

const spryi_format *spryi_find_format(const char *name); /* NULL: no such format */
const spryi_kernel *spryi_find_kernel(const char *name); /* ignores parameters after the name; NULL: no such kernel */

/*
 * Parses "NAME[:key=value...]" to a format and its parameters. Returns SPRY_UNKNOWN_NAME or SPRY_INVALID_ARGUMENT, with
 * the fault and the known names in the message.
 */
spry_status spryi_parse_format(const spryi_format **format, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               spry_error *err);

enum { SPRYI_MOST_PARAMETER_TEXT = 90 };

/*
 * Parses the name of a kernel: "csr_vector_cuda:lanes=32", with at most SPRYI_MOST_PARAMETER_TEXT bytes after its name.
 * The message about an unknown name lists kernels of `operation`.
 */
spry_status spryi_parse_kernel(const spryi_kernel **kernel, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               unsigned operation, spry_error *err);

/* Returns the number of kernels that read the format (NULL: any format) and have one of the operations. */
int spryi_count_kernels(unsigned operations, const char *format);

/* Returns whether `format` names the format of a container and has only parameters that equal the container's. */
bool spryi_is_stored_as(const spryi_stored *stored, const char *format);

/* Returns whether a kernel of the format multiplies patterns, which have no stored values. */
bool spryi_has_pattern_kernel(const spryi_format *format);

/*
 * Returns whether the kernel has the operation for a row of types (base/types.h). operation: SPRYI_OP_SPMV or
 * SPRYI_OP_SPMV_T.
 */
bool spryi_kernel_takes(const spryi_kernel *kernel, unsigned operation, int row);

/* Returns SPRY_UNSUPPORTED if no kernel of the format multiplies matrices whose values have the type `stored`. */
spry_status spryi_check_stores(const spryi_format *format, spry_type stored, spry_error *err);

/* Returns whether a device of the context can run the kernel. If not, *reason is a text that lives with the context. */
bool spryi_kernel_available(const spry_context *context, const spryi_kernel *kernel, const char **reason);

/* Returns the generator of an index, from 0; NULL past the last. */
const struct spryi_generator *spryi_generator_at(int n);

/* ---- selection ---- */

/* Request for a device and a kernel: what the caller asked for, and the devices of the operands. */
typedef struct spryi_selection_request {
    unsigned operation; /* SPRYI_OP_ bit */
    int device;         /* public number; SPRY_DEVICE_DEFAULT: the named kernel's device, else the operands' device */
    const char *kernel; /* NULL: the library's choice */
    const char *format; /* required format of the kernel; NULL: any */
    bool allow_nondeterministic;
    int row; /* row of the kernels' tables: spryi_value_row */
    int operand_device;
    int result_device;
    /* texts for messages, for example "the matrix", "vector_device", "vector_device", "the plan's own device" */
    const char *operand, *result_argument, *result, *result_place;
} spryi_selection_request;

/*
 * Selects the device that the request names. If it names no device, selects the device of the named kernel, else the
 * device of the operands. Operands and results must be on the selected device or on the host.
 */
spry_status spryi_select_device(const spry_context *context, const spryi_device **device,
                                const spryi_selection_request *request, spry_error *err);

/*
 * Finds the kernel that the request names, and its parameters. The kernel must run on the device and have the
 * operation.
 */
spry_status spryi_select_named_kernel(const spryi_device *device, const spryi_kernel **kernel,
                                      int64_t parameters[SPRYI_PARAMETERS], const spryi_selection_request *request,
                                      spry_error *err);

/*
 * Selects a kernel of the format on the device: `suitable` if it names a usable kernel, else the last usable one in the
 * list.
 */
spry_status spryi_select_kernel(const spryi_device *device, const spryi_kernel **kernel, const spryi_format *format,
                                const char *suitable, const spryi_selection_request *request, spry_error *err);
