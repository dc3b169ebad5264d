/* Planning: names to descriptors, then the format's build. */
#include "ops/plan.h"

#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/team.h"
#include "ops/choice.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

double spryi_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static spry_status check_options(const spry_spmv_options *o, spry_error *err)
{
    if (o->op != SPRY_NO_TRANSPOSE && o->op != SPRY_TRANSPOSE)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "op", o->op, SPRY_TRANSPOSE,
                                "op is %d, expected SPRY_NO_TRANSPOSE or SPRY_TRANSPOSE", (int)o->op);
    if (o->vector_type != SPRY_TYPE_DEFAULT && spryi_value_slot(o->vector_type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "vector_type", o->vector_type, SPRY_F64,
                                "vector_type is %d, expected SPRY_F32 or SPRY_F64", (int)o->vector_type);
    if (o->expected_calls < 0 || o->memory_limit_bytes < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, o->expected_calls < 0 ? "expected_calls" : "memory_limit_bytes",
                          "expected_calls and memory_limit_bytes must not be negative");
    return spryi_check_ordering(o, err);
}

spry_status spryi_vector_type_of(spry_type *type, const spry_matrix *A, const spry_spmv_options *o, spry_error *err)
{
    spry_type value_type = A->a.value_type;
    *type = o->vector_type != SPRY_TYPE_DEFAULT ? o->vector_type : value_type == SPRY_F32 ? SPRY_F32 : SPRY_F64;
    if (value_type != SPRY_PATTERN && value_type != *type)
        return spryi_fail(err, SPRY_UNSUPPORTED, "vector_type",
                          "%s values with %s vectors are not supported: convert the matrix with spry_matrix_convert",
                          spry_type_name(value_type), spry_type_name(*type));
    return SPRY_OK;
}

int spryi_has_pattern_kernel(const spryi_format *format)
{
    for (int k = 0; k < spryi_kernel_count; k++)
        if (spryi_kernels[k]->pattern && strcmp(spryi_kernels[k]->format, format->name) == 0) return 1;
    return 0;
}

/* Settles the device: the one named, else the kernel's, else where the matrix is; and where vectors may be. */
static spry_status settle_device(spry_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const spryi_kernel *kernel = o->kernel ? spryi_find_kernel(o->kernel) : NULL;
    char text[32];
    const char *name = o->device;
    if (!name) name = kernel ? kernel->device : plan->A->a.device > 0 ? text : "cpu";
    if (name == text) snprintf(text, sizeof text, "cuda:%d", plan->A->a.device - 1);
    int gpu = -1;
    if (strcmp(name, "cpu") != 0) {
        spry_status status = spryi_cuda_device_of(plan->context, name, &gpu, err);
        if (status != SPRY_OK) return status;
    }
    if (plan->A->a.device != 0 && plan->A->a.device != gpu + 1)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "device", plan->A->a.device, gpu + 1,
                                "the matrix is in memory of device %d, the product was asked for on %s",
                                plan->A->a.device, name);
    if (o->vector_device != 0 && o->vector_device != gpu + 1)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "vector_device", o->vector_device, gpu + 1,
                                "vector_device is %d, expected 0 (host memory)%s", o->vector_device,
                                gpu < 0 ? "" : " or the plan's own device");
    if (gpu < 0) return SPRY_OK;
    if (o->row_scaling || o->column_scaling)
        return spryi_fail(err, SPRY_UNSUPPORTED, o->row_scaling ? "row_scaling" : "column_scaling",
                          "row_scaling and column_scaling are the CPU's so far, the product was asked for on %s", name);
    spry_status status = SPRYI_NEW(plan->context, &plan->cuda, 1, "plan", err);
    if (status != SPRY_OK) return status;
    *plan->cuda = (spryi_plan_cuda){.plugin = spryi_cuda(plan->context, NULL), .device = gpu};
    return SPRY_OK;
}

/* The device's kind as descriptors name it. */
static const char *device_of(const spry_plan *plan)
{
    return plan->cuda ? "cuda" : "cpu";
}

static spryi_run_fn run_of(const spry_plan *plan, int pair)
{
    const spryi_kernel *kernel = plan->kernel;
    const spryi_run_table *table = plan->cuda && plan->op == SPRY_TRANSPOSE ? plan->cuda->kernel->spmv_t
                                   : plan->cuda                             ? plan->cuda->kernel->spmv
                                   : plan->op == SPRY_TRANSPOSE             ? kernel->spmv_t
                                                                            : kernel->spmv;
    return table ? (*table)[spryi_value_slot(plan->vector_type)][pair] : NULL;
}

static const char *product_of(const spry_plan *plan)
{
    return plan->op == SPRY_TRANSPOSE ? "transposed product" : "product";
}

static spry_status named_kernel(spry_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const spryi_kernel *kernel = spryi_find_kernel(o->kernel);
    if (!kernel)
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "kernel", "no kernel \"%s\"; `spry kernels` lists them", o->kernel);
    if (o->format && strcmp(o->format, "auto") != 0) {
        const spryi_format *format;
        spry_status status = spryi_parse_format(&format, plan->parameters, o->format, err);
        if (status != SPRY_OK) return status;
        if (strcmp(format->name, kernel->format) != 0)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %s works on format %s, but format is %s",
                              kernel->name, kernel->format, format->name);
    }
    const char *reason;
    if (!spryi_kernel_available(plan->context, kernel, &reason))
        return spryi_fail(err, SPRY_DEVICE_UNAVAILABLE, "kernel", "kernel %s: %s", kernel->name, reason);
    if (strcmp(kernel->device, device_of(plan)) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %s runs on %s, but device is %s", kernel->name,
                          kernel->device, o->device ? o->device : device_of(plan));
    if (!kernel->deterministic && !o->allow_nondeterministic)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "allow_nondeterministic",
                          "kernel %s may change bits from run to run: set allow_nondeterministic to use it",
                          kernel->name);
    if (!spryi_kernel_offers(kernel, plan->op))
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s", kernel->name, product_of(plan));
    plan->kernel = kernel;
    plan->format = spryi_find_format(kernel->format);
    snprintf(plan->reason, sizeof plan->reason, "kernel %s was asked for", kernel->name);
    return SPRY_OK;
}

/* The fastest usable kernel of plan->format: the one that suits the matrix, else the last one listed. */
static spry_status best_kernel(spry_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const char *reason = "", *suits = spryi_choose_kernel(plan->A, plan->format, device_of(plan), plan->op);
    const spryi_kernel *suitable = suits ? spryi_find_kernel(suits) : NULL;
    if (suitable && spryi_kernel_offers(suitable, plan->op) &&
        spryi_kernel_available(plan->context, suitable, &reason)) {
        plan->kernel = suitable;
        return SPRY_OK;
    }
    for (int k = spryi_kernel_count - 1; k >= 0 && !plan->kernel; k--) {
        const spryi_kernel *kernel = spryi_kernels[k];
        int offers = spryi_kernel_offers(kernel, plan->op);
        if (strcmp(kernel->format, plan->format->name) != 0 || strcmp(kernel->device, device_of(plan)) != 0) continue;
        if (!offers || (!kernel->deterministic && !o->allow_nondeterministic)) continue;
        if (spryi_kernel_available(plan->context, kernel, &reason)) plan->kernel = kernel;
    }
    if (!plan->kernel)
        return spryi_fail(err, SPRY_UNSUPPORTED, "format", "format %s has no kernel for %s on %s", plan->format->name,
                          plan->op == SPRY_TRANSPOSE ? "the transposed product" : "this product",
                          plan->cuda ? "a GPU" : "the cpu");
    return SPRY_OK;
}

void spryi_choose_instead(spryi_choice *choice, const char *refused)
{
    choice->format = spryi_find_format("csr");
    snprintf(choice->reason, sizeof choice->reason, "csr: %s would take more memory than is allowed", refused);
}

/* 1: the format is the library's choice. */
static int is_auto(const spry_spmv_options *o)
{
    return !o->kernel && (!o->format || strcmp(o->format, "auto") == 0);
}

static spry_status pick(spry_plan *plan, const spry_matrix *A, const spry_spmv_options *o, spry_error *err)
{
    if (o->kernel) return named_kernel(plan, o, err);
    if (!is_auto(o)) {
        spry_status status = spryi_parse_format(&plan->format, plan->parameters, o->format, err);
        if (status != SPRY_OK) return status;
        snprintf(plan->reason, sizeof plan->reason, "format %s was asked for", plan->format->name);
    } else {
        spryi_choice choice = {0};
        spry_status status = spryi_choose_spmv(A, o, &choice, err);
        if (status != SPRY_OK) return status;
        plan->format = choice.format;
        memcpy(plan->parameters, choice.parameters, sizeof plan->parameters);
        snprintf(plan->reason, sizeof plan->reason, "%s", choice.reason);
    }
    return best_kernel(plan, o, err);
}

/* What the policy chose was refused: csr, which borrows what there is. */
static int can_choose_instead(const spry_plan *plan, const spry_spmv_options *o)
{
    return is_auto(o) && strcmp(plan->format->name, "csr") != 0;
}

static spry_status pick_instead(spry_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    spryi_choice choice = {0};
    spryi_choose_instead(&choice, plan->format->name);
    plan->format = choice.format;
    plan->kernel = NULL;
    memset(plan->parameters, 0, sizeof plan->parameters);
    snprintf(plan->reason, sizeof plan->reason, "%s", choice.reason);
    return best_kernel(plan, o, err);
}

spry_status spryi_complete_request(spry_context *context, spryi_build_request *request, const spryi_format *format,
                                   spry_error *err)
{
    if (format->takes_any_layout) return SPRY_OK;
    return spryi_matrix_as_csr(context, &request->csr, request->A, request->value_type, request->options, format->name,
                               err);
}

spryi_build_request spryi_request_of(const spry_plan *plan)
{
    spryi_build_request request = {.A = plan->A,
                                   .options = &plan->options,
                                   .value_type = plan->value_type,
                                   .for_gpu = plan->cuda != NULL,
                                   .tuning = &plan->context->tuning};
    if (plan->cuda) {
        request.gpu_major = plan->context->cuda->gpus[plan->cuda->device].major;
        request.gpu_multiprocessors = plan->context->cuda->gpus[plan->cuda->device].multiprocessors;
        request.gpu_shared_bytes = plan->context->cuda->gpus[plan->cuda->device].shared_bytes;
    }
    memcpy(request.parameters, plan->parameters, sizeof request.parameters);
    return request;
}

/* plan->format's storage of plan->A, now; *figure, unless NULL, is what the format tells of it. */
static spry_status build_storage(const spry_plan *plan, void **storage, spryi_figure *figure, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *host = NULL;
    spryi_build_request request = spryi_request_of(plan);
    request.figure = figure;
    /* of a matrix in device memory csr takes the arrays as they are; other formats are made on the host */
    if (plan->A->a.device > 0 &&
        (strcmp(plan->format->name, "csr") != 0 || plan->A->a.value_type != plan->value_type)) {
        SPRYI_TRY(spryi_cuda_download(plan, &host, err));
        request.A = host;
    }
    SPRYI_TRY(spryi_complete_request(plan->context, &request, plan->format, err));
    SPRYI_TRY(plan->format->build(plan->context, storage, &request, err));
done:
    spryi_matrix_release(request.csr);
    spryi_matrix_release(host);
    return status;
}

static spry_status build(spry_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_figure figure = {0};
    plan->value_type = plan->kernel->pattern && plan->A->a.value_type == SPRY_PATTERN ? SPRY_PATTERN
                                                                                      : plan->vector_type;
    int converted = 0;
    if (plan->cuda) {
        plan->cuda->kernel = spryi_cuda_find_kernel(plan->cuda->plugin, plan->kernel->name);
        SPRYI_TRY(spryi_cuda_convert(plan, &converted, err));
    }
    if (!converted) {
        SPRYI_TRY(build_storage(plan, &plan->storage, &figure, err));
        memcpy(plan->parameter_text, figure.parameters, sizeof plan->parameter_text);
    }
    const spry_arrays *stored = plan->format->arrays(plan->storage);
    spry_index_type offset_type = stored->layout == SPRY_COO ? stored->index_type : stored->offset_type;
    plan->run = run_of(plan, spryi_index_pair(offset_type, stored->index_type));
    if (!plan->run) {
        status = spryi_fail(err, SPRY_UNSUPPORTED, "kernel", "kernel %s has no %s for %s values with these indices",
                            plan->kernel->name, product_of(plan), spry_type_name(plan->vector_type));
        goto done;
    }
    if (plan->cuda) {
        status = spryi_cuda_plan(plan, err);
        goto done;
    }
    plan->workspace_bytes = plan->format->workspace_bytes(plan->storage);
    SPRYI_TRY(spryi_add_scaling(plan, err));
    spryi_add_ordering(plan);
    if (plan->workspace_bytes > 0)
        SPRYI_TRY(spryi_allocate(plan->context, &plan->workspace, plan->workspace_bytes, 1, "workspace", err));
done:
    return status;
}

spry_status spry_plan_spmv(spry_context *context, spry_plan **plan, const spry_matrix *A,
                           const spry_spmv_options *options, spry_error *err)
{
    if (!context || !plan || !A)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT,
                          !context ? "context"
                          : !plan  ? "plan"
                                   : "A",
                          "context, plan and A must not be NULL");
    double start = spryi_now_us();
    spry_status status = SPRY_OK;
    spry_plan *made = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    SPRYI_TRY(SPRYI_CHECK_OPTIONS(options, err));
    if (options) o = *options;
    SPRYI_TRY(check_options(&o, err));
    SPRYI_TRY(spryi_vector_type_of(&o.vector_type, A, &o, err));
    SPRYI_TRY(SPRYI_NEW(context, &made, 1, "plan", err));
    *made = (spry_plan){
        .context = context,
        .A = spryi_matrix_retain(A),
        .op = o.op,
        .vector_type = o.vector_type,
        .y_length = o.op == SPRY_TRANSPOSE ? A->a.cols : A->a.rows,
        .x_length = o.op == SPRY_TRANSPOSE ? A->a.rows : A->a.cols,
        .threads = context->threads,
        .options = o,
    };
    made->options.device = made->options.format = made->options.kernel = made->options.ordering = NULL;
    SPRYI_TRY(settle_device(made, &o, err));
    SPRYI_TRY(spryi_order_plan(made, &o, err));
    SPRYI_TRY(pick(made, made->A, &o, err));
    while ((status = build(made, err)) == SPRY_TOO_LARGE && can_choose_instead(made, &o))
        SPRYI_TRY(pick_instead(made, &o, err));
    if (status != SPRY_OK) goto done;
    spryi_drop_copy(made);
    made->setup_us = spryi_now_us() - start;
    *plan = made;
    made = NULL;
done:
    spry_plan_destroy(made);
    return status;
}

void spry_plan_destroy(spry_plan *plan)
{
    if (!plan) return;
    if (plan->cuda && plan->cuda->kernel) spryi_cuda_discard(plan);
    spryi_release(plan->context, plan->cuda);
    if (plan->storage) plan->format->destroy(plan->context, plan->storage);
    spryi_release(plan->context, plan->workspace);
    spryi_discard_ordering(plan);
    spryi_matrix_release(plan->A);
    spryi_release(plan->context, plan);
}

/* Built anew beside the old, so that a failure leaves the plan as it was. */
spry_status spry_plan_update_values(spry_plan *plan, spry_error *err)
{
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "plan must not be NULL");
    if (plan->order && plan->order->given->a.value_type == SPRY_PATTERN) return SPRY_OK; /* nothing can have changed */
    spry_status status = plan->order ? spryi_order_values(plan, err) : SPRY_OK;
    if (status != SPRY_OK) return status;
    if (plan->A->a.device > 0 || !plan->cuda)
        if (plan->format->borrows_values(plan->storage, plan->A)) return SPRY_OK;
    void *fresh = NULL;
    int converted = 0;
    if (plan->cuda && plan->cuda->converted) status = spryi_cuda_convert_again(plan, &converted, err);
    if (status == SPRY_OK && !converted) status = build_storage(plan, &fresh, NULL, err);
    if (status != SPRY_OK || converted) spryi_drop_copy(plan);
    if (status != SPRY_OK || converted) return status;
    if (plan->cuda) {
        status = spryi_cuda_update(plan, fresh, err);
        plan->format->destroy(plan->context, fresh);
        spryi_drop_copy(plan);
        return status;
    }
    plan->format->destroy(plan->context, plan->storage);
    plan->storage = fresh;
    spryi_drop_copy(plan);
    return SPRY_OK;
}

spry_status spry_plan_get_info(const spry_plan *plan, spry_plan_info *info, spry_error *err)
{
    if (!plan || !info)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !plan ? "plan" : "info", "plan and info must not be NULL");
    spry_status status = SPRYI_CHECK_OPTIONS(info, err);
    if (status != SPRY_OK) return status;
    *info = (spry_plan_info){
        .struct_size = sizeof *info,
        .op = plan->op == SPRY_TRANSPOSE ? "spmv_t" : "spmv",
        .device = plan->kernel->device,
        .format = plan->format->name,
        .parameters = plan->parameter_text,
        .kernel = plan->kernel->name,
        .ordering = plan->order ? plan->order->name : "none",
        .reason = plan->reason,
        .deterministic = plan->kernel->deterministic,
        .threads = plan->cuda ? 0 : spryi_team(plan->threads),
        .storage_bytes = plan->format->storage_bytes(plan->storage) + spryi_ordering_bytes(plan, 0),
        .owned_bytes = plan->format->owned_bytes(plan->storage) + plan->workspace_bytes + spryi_ordering_bytes(plan, 1),
        .workspace_bytes = plan->workspace_bytes,
        .setup_us = plan->setup_us,
        .upload_us = plan->cuda ? plan->cuda->upload_us : 0,
    };
    return SPRY_OK;
}
