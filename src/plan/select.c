#include "plan/select.h"

#include "base/error.h"

#include <string.h>

/* The kernel that the request names; NULL: none, or none of such an operation. */
static const spryi_kernel *named_kernel(const spryi_selection_request *request)
{
    const unsigned alike = request->operation == SPRYI_OP_SPGEMM ? SPRYI_OP_SPGEMM : SPRYI_OP_VECTOR;
    const spryi_kernel *kernel = request->kernel ? spryi_find_kernel(request->kernel) : NULL;
    return kernel && spryi_kernel_offers(kernel, alike) ? kernel : NULL;
}

spry_status spryi_select_device(const spry_context *context, const spryi_device **device,
                                const spryi_selection_request *request, spry_error *err)
{
    const spryi_kernel *kernel = named_kernel(request);
    const spryi_device *there = spryi_device_at(context, request->operand_device), *picked = there;
    if (request->device != SPRY_DEVICE_DEFAULT)
        SPRYI_OK_OR_RETURN(spryi_device_asked(context, &picked, request->device, err));
    else if (kernel && strcmp(kernel->device, there->driver->name) != 0)
        picked = spryi_device_of_kind(context, kernel->device);
    if (!picked->ops) return spryi_device_usable(context, &picked, picked->number, err);
    if (request->operand_device != 0 && request->operand_device != picked->number)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "device", request->operand_device, picked->number,
                                "%s is in memory of device %d, the product was asked for on %s", request->operand,
                                request->operand_device, picked->name);
    if (request->result_device != 0 && request->result_device != picked->number) {
        const bool is_device = spryi_device_at(context, request->result_device) != NULL;
        return spryi_fail_value(err, is_device ? SPRY_UNSUPPORTED : SPRY_INVALID_ARGUMENT, request->result_argument,
                                request->result_device, picked->number, "%s is %d%s, expected SPRY_CPU%s%s",
                                request->result, request->result_device, is_device ? "" : ", the number of no device",
                                picked->number == 0 ? "" : " or ", picked->number == 0 ? "" : request->result_place);
    }
    *device = picked;
    return SPRY_OK;
}

static const char *product_of(unsigned operation)
{
    return operation == SPRYI_OP_SPGEMM   ? "sparse product"
           : operation == SPRYI_OP_SPMV_T ? "transposed product"
                                          : "product";
}

/* Returns whether the table has an instance for the row of value types. */
static bool has_row(const spryi_run_table *table, int row)
{
    for (int pair = 0; table && pair < SPRYI_INDEX_PAIRS; pair++)
        if ((*table)[row][pair]) return true;
    return false;
}

/* Returns whether the functions have the request's product for its types. */
static bool has_product(const spryi_kernel_functions *functions, const spryi_selection_request *request)
{
    return request->operation == SPRYI_OP_SPGEMM ||
           has_row(request->operation == SPRYI_OP_SPMV_T ? functions->spmv_t : functions->spmv, request->row);
}

/* " for f32 values and f64 vectors", where these are of two types. */
static const char *types_text(const spryi_selection_request *request)
{
#define TEXT(tag, s, v, c, argument)                                                                                   \
    if (request->row == (int)spryi_row_##tag) return " for " #s " values and " #v " vectors";
    if (request->operation == SPRYI_OP_SPGEMM) return "";
    SPRYI_MIXED_ROWS(TEXT, 0)
    return "";
}

spry_status spryi_select_named_kernel(const spryi_device *device, const spryi_kernel **kernel,
                                      int64_t parameters[SPRYI_PARAMETERS], const spryi_selection_request *request,
                                      spry_error *err)
{
    const spryi_kernel *named = named_kernel(request);
    const spryi_kernel *any;
    spryi_kernel_functions functions = {0};
    const char *reason;
    int64_t given[SPRYI_PARAMETERS];
    SPRYI_OK_OR_RETURN(spryi_parse_kernel(&any, given, request->kernel, err));
    if (!named)
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s", any->name,
                          product_of(request->operation));
    if (request->format && strcmp(request->format, named->format) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %s works on format %s, but format is %s",
                          named->name, named->format, request->format);
    if (strcmp(named->device, device->driver->name) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %s runs on %s, but device is %s", named->name,
                          named->device, device->name);
    if (!spryi_kernel_available(device->context, named, &reason))
        return spryi_fail(err, SPRY_DEVICE_UNAVAILABLE, "kernel", "kernel %s: %s", named->name, reason);
    if (named->nondeterministic && !request->allow_nondeterministic)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "allow_nondeterministic",
                          "kernel %s may change bits from run to run: set allow_nondeterministic to use it",
                          named->name);
    if (!spryi_kernel_offers(named, request->operation))
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s", named->name,
                          product_of(request->operation));
    if (!device->ops->find_kernel(device, named, &functions, &reason) || !has_product(&functions, request))
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s%s", named->name,
                          product_of(request->operation), types_text(request));
    memcpy(parameters, given, sizeof given);
    *kernel = named;
    return SPRY_OK;
}

/* Returns whether the device has the kernel, and the kernel the format and the product for the types of values. */
static bool can_run(const spryi_device *device, const spryi_kernel *kernel, const spryi_format *format,
                    const spryi_selection_request *request)
{
    spryi_kernel_functions functions;
    const char *reason;
    return strcmp(kernel->format, format->name) == 0 && strcmp(kernel->device, device->driver->name) == 0 &&
           (!kernel->nondeterministic || request->allow_nondeterministic) &&
           spryi_kernel_offers(kernel, request->operation) &&
           device->ops->find_kernel(device, kernel, &functions, &reason) && has_product(&functions, request);
}

spry_status spryi_select_kernel(const spryi_device *device, const spryi_kernel **kernel, const spryi_format *format,
                                const char *suitable, const spryi_selection_request *request, spry_error *err)
{
    const spryi_kernel *picked = suitable ? spryi_find_kernel(suitable) : NULL;
    if (picked && !can_run(device, picked, format, request)) picked = NULL;
    if (!picked) /* the last one */
        for (int k = 0; spryi_kernel_at(k); k++)
            if (can_run(device, spryi_kernel_at(k), format, request)) picked = spryi_kernel_at(k);
    if (!picked)
        return spryi_fail(err, SPRY_UNSUPPORTED, "format", "format %s has no kernel for %s %s%s on %s", format->name,
                          request->operation == SPRYI_OP_SPMV_T ? "the" : "this", product_of(request->operation),
                          types_text(request), device->driver->massively_parallel ? "a GPU" : "the cpu");
    *kernel = picked;
    return SPRY_OK;
}
