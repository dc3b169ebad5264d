/*
 * The one way from a request to a device and a kernel, for every operation: names, where the operands are,
 * availability, determinism, and the refusals that say what does not fit.
 */
#pragma once

#include "catalogue/catalogue.h"

#include <stdbool.h>

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
