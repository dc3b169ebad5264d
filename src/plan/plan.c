/* Making a plan: the options to a device, a format and a kernel; then the storage, and what a run needs beside it. */
#include "plan/plan.h"
#include "spry/tools.h"

#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "core/assemble.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/ordering.h"
#include "plan/measured.h"
#include "plan/select.h"

#include <stdio.h>
#include <string.h>

static const double MOST_BUDGET = 1e12; /* us, some days */

spry_status spryi_check_spmv_options(const spry_spmv_options *o, spry_error *err)
{
    if (o->op != SPRY_NO_TRANSPOSE && o->op != SPRY_TRANSPOSE)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "op", o->op, SPRY_TRANSPOSE,
                                "op is %d, expected SPRY_NO_TRANSPOSE or SPRY_TRANSPOSE", (int)o->op);
    if (o->vector_type != SPRY_TYPE_DEFAULT && spryi_value_slot(o->vector_type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "vector_type", o->vector_type, SPRY_F64,
                                "vector_type is %d, expected SPRY_F32 or SPRY_F64", (int)o->vector_type);
    const struct {
        const char *name;
        int64_t value, most;
    } numbers[] = {{"expected_calls", o->expected_calls, INT64_MAX},
                   {"expected_updates", o->expected_updates, INT64_MAX},
                   {"columns", o->columns, INT64_MAX},
                   {"row_major", o->row_major, 1},
                   {"both_directions", o->both_directions, 1},
                   {"memory_limit_bytes", o->memory_limit_bytes, INT64_MAX}};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        if (numbers[n].value < 0 || numbers[n].value > numbers[n].most)
            return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, numbers[n].name, numbers[n].value,
                                    numbers[n].value < 0 ? 0 : numbers[n].most, "%s is %lld, expected 0 or %s",
                                    numbers[n].name, (long long)numbers[n].value, numbers[n].most == 1 ? "1" : "more");
    if (!(o->budget_us >= 0 && o->budget_us <= MOST_BUDGET))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "budget_us", "budget_us is %g, expected 0 to %g microseconds",
                          o->budget_us, MOST_BUDGET);
    if (o->vector_device < SPRY_CPU)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "vector_device", o->vector_device, SPRY_CPU,
                                "vector_device is %d, expected SPRY_DEVICE_DEFAULT, SPRY_CPU or the plan's GPU",
                                o->vector_device);
    SPRYI_OK_OR_RETURN(spryi_check_threads(o->threads, "plan", err));
    SPRYI_OK_OR_RETURN(spryi_check_policy(o->policy, err));
    return spryi_check_ordering(o, err);
}

spry_status spryi_vector_type_of(spry_type *type, const spry_matrix *A, const spry_spmv_options *o, spry_error *err)
{
    spry_type value_type = A->a.value_type;
    *type = o->vector_type;
    if (*type == SPRY_TYPE_DEFAULT) *type = spryi_usual_vectors(value_type);
    if (spryi_value_row(value_type, *type) < 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "vector_type",
                          "%s values with %s vectors are not supported, expected the same type, f32 values with f64 "
                          "vectors, or bf16 or f16 values with f32: convert the matrix with spry_matrix_convert",
                          spry_type_name(value_type), spry_type_name(*type));
    return SPRY_OK;
}

/* ---- device, format and kernel ------------------------------------------------------------------------- */

static spryi_selection_request request_for(const spry_spmv_plan *plan, const spry_spmv_options *o)
{
    return (spryi_selection_request){
        .operation = plan->options.op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV,
        .device = o->device,
        .kernel = o->kernel,
        .allow_nondeterministic = o->allow_nondeterministic,
        .row = spryi_value_row(plan->A->a.value_type, plan->vector_type),
        .operand_device = plan->A->a.device,
        .result_device = o->vector_device,
        .operand = "the matrix",
        .result_argument = "vector_device",
        .result = "vector_device",
        .result_place = "the plan's own device",
    };
}

static spry_status select_device(spry_spmv_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const spryi_selection_request request = request_for(plan, o);
    spry_status status = spryi_select_device(plan->context, &plan->device, &request, err);
    if (status == SPRY_OK && (o->row_scaling || o->column_scaling) && !plan->device->driver->host_memory)
        return spryi_fail(err, SPRY_UNSUPPORTED, o->row_scaling ? "row_scaling" : "column_scaling",
                          "row_scaling and column_scaling are the CPU's so far, the product was asked for on %s",
                          plan->device->name);
    return status;
}

/* 1: the format is the library's choice. */
static int is_auto(const spry_spmv_options *o)
{
    return !o->kernel && spryi_format_is_auto(o);
}

/* plan->kernel, and its functions on the device, for plan->format; `suits` may be NULL. */
static spry_status select_kernel(spry_spmv_plan *plan, const spry_spmv_options *o, const char *suits, spry_error *err)
{
    const spryi_device *d = plan->device;
    const spryi_selection_request request = request_for(plan, o);
    const char *reason;
    if (!suits && plan->format->gpu_kernel && d->driver->massively_parallel)
        suits = plan->format->gpu_kernel(plan->A, plan->parameters);
    spry_status status = spryi_select_kernel(d, &plan->kernel, plan->format, suits, &request, err);
    if (status == SPRY_OK) d->ops->find_kernel(d, plan->kernel, &plan->functions, &reason);
    return status;
}

static spry_status select_named_kernel(spry_spmv_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const spryi_device *d = plan->device;
    spryi_selection_request request = request_for(plan, o);
    const char *reason;
    if (!spryi_format_is_auto(o) && spryi_find_kernel(o->kernel)) {
        SPRYI_OK_OR_RETURN(spryi_parse_format(&plan->format, plan->parameters, o->format, err));
        request.format = plan->format->name;
    }
    SPRYI_OK_OR_RETURN(spryi_select_named_kernel(d, &plan->kernel, plan->kernel_parameters, &request, err));
    const char *colon = strchr(o->kernel, ':');
    snprintf(plan->kernel_text, sizeof plan->kernel_text, "%s", colon ? colon + 1 : "");
    d->ops->find_kernel(d, plan->kernel, &plan->functions, &reason);
    plan->format = spryi_find_format(plan->kernel->format);
    plan->reason_code = SPRY_REASON_NAMED;
    snprintf(plan->reason, sizeof plan->reason, "kernel %s was asked for", o->kernel);
    return SPRY_OK;
}

/* The function of the kernel for a storage of these types; NULL: there is none. */
static spryi_run_fn run_of(const spry_spmv_plan *plan, const spry_arrays *stored, spry_type value_type)
{
    const spry_index_type offset_type = stored->layout == SPRY_COO ? stored->index_type : stored->offset_type;
    const spryi_run_table *table = plan->options.op == SPRY_TRANSPOSE ? plan->functions.spmv_t : plan->functions.spmv;
    const int pair = spryi_index_pair(offset_type, stored->index_type);
    return table ? (*table)[spryi_value_row(value_type, plan->vector_type)][pair] : NULL;
}

/* What the kernel reads of plan->A: its type, or the vectors' where it needs a pattern's ones. */
static spry_type stored_type(const spry_spmv_plan *plan)
{
    const spry_type type = plan->A->a.value_type;
    return type == SPRY_PATTERN && !plan->kernel->pattern ? plan->vector_type : type;
}

/* 1: the kernel takes the container's storage as it is. */
static int reads_stored(const spry_spmv_plan *plan)
{
    const spry_arrays *a = &plan->A->a;
    return stored_type(plan) == a->value_type && run_of(plan, a, a->value_type);
}

/* Of a container that does not serve as it is: its CSR. */
static spry_status take_entries(spry_spmv_plan *plan, spry_error *err)
{
    spry_matrix *entries;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(plan->A, &entries, err));
    spryi_matrix_release(plan->A);
    plan->A = entries;
    return SPRY_OK;
}

/* Takes `format` in place of the plan's, which was refused for its memory or its types. */
static spry_status select_named_instead(spry_spmv_plan *plan, const spry_spmv_options *o, const char *format,
                                        spry_error *err)
{
    spryi_choice choice = {0};
    spryi_choose_instead(&choice, format, plan->format->name);
    plan->format = choice.format;
    plan->estimated_us = plan->estimated_csr_us;
    memset(plan->parameters, 0, sizeof plan->parameters);
    plan->reason_code = choice.code;
    snprintf(plan->reason, sizeof plan->reason, "%s", choice.reason);
    return select_kernel(plan, o, choice.kernel, err);
}

/* Takes csr, which borrows what there is, or csc if csr has no kernel for the transposed product (on GPUs). */
static spry_status select_instead(spry_spmv_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const spryi_format *refused = plan->format;
    spry_error why = SPRY_ERROR_INIT;
    SPRYI_OK_OR_RETURN(plan->A->stored ? take_entries(plan, err) : SPRY_OK);
    const spry_status status = select_named_instead(plan, o, "csr", &why);
    const int by_columns = status == SPRY_UNSUPPORTED && plan->options.op == SPRY_TRANSPOSE;
    if (!by_columns || strcmp(refused->name, "csc") == 0) return status == SPRY_OK ? status : spryi_hand_on(err, &why);
    plan->format = refused;
    return select_named_instead(plan, o, "csc", err);
}

static void tell_types(spry_spmv_plan *plan, const char *passed)
{
    plan->reason_code = SPRY_REASON_TYPES;
    snprintf(plan->reason, sizeof plan->reason, "%s: %s has no kernel for these types of values", plan->format->name,
             passed);
}

/* The format of a choice, with its reason. */
static void take_choice(spry_spmv_plan *plan, const spryi_choice *choice)
{
    plan->format = choice->format;
    plan->estimated_us = choice->us;
    plan->estimated_csr_us = choice->csr_us;
    memcpy(plan->parameters, choice->parameters, sizeof plan->parameters);
    plan->reason_code = choice->code;
    snprintf(plan->reason, sizeof plan->reason, "%s", choice->reason);
}

/* The library's choice: what a container holds, else what suits the matrix; *kernel: that suits, or NULL. */
static spry_status choose_format(spry_spmv_plan *plan, const spry_spmv_options *o, const char **kernel, spry_error *err)
{
    const spryi_stored *stored = plan->A->stored;
    spryi_choice choice = {0};
    if (stored) {
        plan->format = stored->format;
        plan->reason_code = SPRY_REASON_STORED;
        spryi_tell_stored(plan->reason, sizeof plan->reason, stored);
        return SPRY_OK;
    }
    SPRYI_OK_OR_RETURN(spryi_choose_format(plan->A, o, plan->device, &choice, err));
    take_choice(plan, &choice);
    *kernel = choice.kernel;
    return SPRY_OK;
}

/* The format and the kernel: those named, or a choice for the matrix; csr where that has no kernel for the types. */
static spry_status select_format(spry_spmv_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const char *suits = NULL;
    if (o->kernel) return select_named_kernel(plan, o, err);
    if (!is_auto(o)) {
        SPRYI_OK_OR_RETURN(spryi_parse_format(&plan->format, plan->parameters, o->format, err));
        plan->reason_code = SPRY_REASON_NAMED;
        snprintf(plan->reason, sizeof plan->reason, "format %s was asked for", plan->format->name);
    } else {
        SPRYI_OK_OR_RETURN(choose_format(plan, o, &suits, err));
    }
    spry_error why = SPRY_ERROR_INIT;
    spry_status status = select_kernel(plan, o, suits, &why);
    if (status == SPRY_OK && plan->reason_code == SPRY_REASON_STORED && !reads_stored(plan)) status = SPRY_UNSUPPORTED;
    if (status == SPRY_OK) return SPRY_OK;
    if (status != SPRY_UNSUPPORTED || !is_auto(o) || plan->format->in_place) return spryi_hand_on(err, &why);
    const char *passed = plan->format->name;
    status = select_instead(plan, o, err);
    tell_types(plan, passed);
    return status;
}

/* ---- storage and workspace ------------------------------------------------------------------------------- */

static spry_status find_run(spry_spmv_plan *plan, spry_error *err)
{
    plan->run = run_of(plan, spryi_storage_arrays(plan->format, plan->stored.storage), plan->value_type);
    const unsigned op = plan->options.op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV;
    plan->several = (plan->functions.several & op) != 0;
    plan->several_apart = (plan->functions.several_apart & op) != 0;
    if (plan->several_apart && plan->functions.takes_apart) /* a look at the columns, for plans of several alone */
        plan->several_apart = (plan->options.columns > 1 || !plan->device->driver->host_memory) &&
                              plan->functions.takes_apart(plan->stored.storage);
    if (plan->run) return SPRY_OK;
    return spryi_fail(err, SPRY_UNSUPPORTED, "kernel",
                      "kernel %s has no %s for %s values and %s vectors with these indices", plan->kernel->name,
                      plan->options.op == SPRY_TRANSPOSE ? "transposed product" : "product",
                      spry_type_name(plan->value_type), spry_type_name(plan->vector_type));
}

/* What the kernel keeps beside the storage, and the bytes of workspace that it asks for. */
static spry_status prepare_kernel(spry_spmv_plan *plan, spry_error *err)
{
    const spryi_device *d = plan->device;
    const spryi_kernel_functions *f = &plan->functions;
    const spryi_prepare_request request = {.format = plan->format,
                                           .storage = plan->stored.storage,
                                           .vector_type = plan->vector_type,
                                           .op = plan->options.op,
                                           .device = d,
                                           .kernel_parameters = plan->kernel_parameters};
    spry_status status = SPRY_OK;
    int previous = 0;
    if (f->prepare) {
        SPRYI_TRY(d->ops->enter(d, &previous, err));
        status = f->prepare(&request, &plan->auxiliary, &plan->auxiliary_bytes, err);
        d->ops->leave(d, previous);
        if (status == SPRY_OK) status = d->ops->synchronize(d, NULL, err); /* the caller's streams need not wait */
    }
    if (status == SPRY_OK)
        plan->workspace_bytes = f->workspace_bytes ? f->workspace_bytes(&request, plan->auxiliary) : 0;
done:
    return status;
}

/* The workspace, and the device's copies of vectors that lie elsewhere. */
static spry_status allocate_vectors(spry_spmv_plan *plan, spry_error *err)
{
    const spryi_device *d = plan->device;
    const int64_t size = (int64_t)spry_type_bytes(plan->vector_type);
    if (plan->workspace_bytes > 0) {
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &plan->workspace, plan->workspace_bytes, "workspace", err));
        /* kernels in host memory expect nothing of it; the others find zeros, and leave them */
        if (!d->driver->host_memory) SPRYI_OK_OR_RETURN(d->ops->clear(d, plan->workspace, plan->workspace_bytes, err));
    }
    if (plan->order) plan->zero = plan->order->zero;
    if (spryi_has_zero_block(plan)) {
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &plan->zero_block, SPRYI_ZERO_BYTES, "a zero", err));
        SPRYI_OK_OR_RETURN(d->ops->clear(d, plan->zero_block, SPRYI_ZERO_BYTES, err));
        plan->zero = plan->zero_block;
    }
    if (spryi_has_copies(plan)) {
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &plan->x, plan->x_length * size, "x", err));
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &plan->y, plan->y_length * size, "y", err));
        if (plan->options.row_major) {
            SPRYI_OK_OR_RETURN(spryi_allocate(plan->context, &plan->host_x, plan->x_length, (size_t)size, "x", err));
            SPRYI_OK_OR_RETURN(spryi_allocate(plan->context, &plan->host_y, plan->y_length, (size_t)size, "y", err));
        }
    }
    return SPRY_OK;
}

/* The chosen format's storage of plan->A. */
static spry_status make_storage(spry_spmv_plan *plan, spry_error *err)
{
    const spryi_stored *stored = plan->A->stored;
    if (stored && !(plan->format == stored->format && reads_stored(plan))) SPRYI_OK_OR_RETURN(take_entries(plan, err));
    plan->value_type = stored_type(plan);
    return spryi_make_storage(plan, &plan->stored, err);
}

/* The matrix whose values the caller changes. */
static spry_matrix **given_to(spry_spmv_plan *plan)
{
    return plan->order ? &plan->order->given : &plan->A;
}

void spryi_refer_to(spry_spmv_plan *plan, const spry_matrix *from, const spry_matrix *to)
{
    const bool is_given = plan->order && plan->order->given == from;
    if (plan->A == from) spryi_replace_matrix(plan, to);
    if (!is_given) return;
    spryi_matrix_release(plan->order->given);
    plan->order->given = spryi_matrix_retain(to);
}

static void tell_expansion(spry_spmv_plan *plan)
{
    const size_t used = strlen(plan->reason);
    snprintf(plan->reason + used, sizeof plan->reason - used, "; of one triangle the plan has made both");
}

static void discard_auxiliary(spry_spmv_plan *plan)
{
    if (plan->functions.discard && plan->auxiliary) plan->functions.discard(plan->device, plan->auxiliary);
    plan->auxiliary = NULL;
    plan->auxiliary_bytes = 0;
}

/* The storage and all that is beside it in the plan, as long as it is no more than the caller allows. */
static spry_status build(spry_spmv_plan *plan, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT;
    spry_status status = make_storage(plan, &why);
    if (spryi_is_over_limit(status, &why)) return spryi_refuse_storage(plan, &why, err);
    if (status != SPRY_OK) return spryi_hand_on(err, &why);
    SPRYI_TRY(find_run(plan, err));
    SPRYI_TRY(prepare_kernel(plan, err));
    SPRYI_TRY(spryi_place_order(plan, err));
    SPRYI_TRY(spryi_add_maps(plan, err));
    SPRYI_TRY(spryi_check_memory_limit(&plan->options, plan->format->name, spryi_most_owned_bytes(plan), err));
    SPRYI_TRY(allocate_vectors(plan, err));
done:
    return status;
}

/* For another try with csr. Nothing of the vectors was allocated: that comes last, and is never too large. */
static void discard_build(spry_spmv_plan *plan)
{
    discard_auxiliary(plan);
    spryi_discard_storage(plan, &plan->stored);
}

void spryi_discard_built(spry_spmv_plan *plan)
{
    const spryi_device *d = plan->device;
    void **const blocks[] = {&plan->workspace, &plan->x, &plan->y, &plan->zero_block};
    discard_auxiliary(plan);
    if (d) { /* the first that is found */
        spryi_discard_storage(plan, &plan->stored);
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            d->ops->release(d, *blocks[b]);
            *blocks[b] = NULL;
        }
    }
    spryi_release(plan->context, plan->host_x);
    spryi_release(plan->context, plan->host_y);
    plan->host_x = plan->host_y = NULL;
}

static void count_threads(spry_spmv_plan *plan)
{
    enum { ENTRY = 4 }; /* bytes: its part of the work where it takes less, by values or indices that repeat */
    const int64_t stored = spryi_storage_bytes(plan->format, plan->stored.storage);
    const int64_t bytes = stored > plan->nnz * ENTRY ? stored : plan->nnz * ENTRY;
    plan->threads = spryi_threads_for(plan->context, bytes, plan->options.threads);
}

spry_status spryi_build_choice(spry_spmv_plan *plan, const spry_spmv_options *o, const spryi_choice *choice,
                               spry_error *err)
{
    take_choice(plan, choice);
    spry_status status = select_kernel(plan, o, choice->kernel, err);
    if (status == SPRY_OK) status = build(plan, err);
    if (status == SPRY_OK)
        count_threads(plan);
    else
        spryi_discard_built(plan);
    return status;
}

/* The format, its storage and what is beside it; csr where that is refused for its memory. */
static spry_status choose_and_build(spry_spmv_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT; /* of a choice that csr takes the place of, which is no failure of the call */
    spry_status status;
    const double search = spryi_now_us();
    SPRYI_OK_OR_RETURN(select_format(plan, o, err));
    plan->search_us += spryi_now_us() - search;
    while (((status = build(plan, &why)) == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED) && is_auto(o) &&
           !plan->format->in_place) {
        const char *passed = plan->format->name;
        discard_build(plan);
        spry_error none = SPRY_ERROR_INIT;
        if (select_instead(plan, o, &none) != SPRY_OK)
            return spryi_hand_on(err, status == SPRY_TOO_LARGE ? &why : &none);
        if (status == SPRY_UNSUPPORTED) tell_types(plan, passed);
    }
    if (status != SPRY_OK) return spryi_hand_on(err, &why);
    count_threads(plan);
    return SPRY_OK;
}

/* The plan, which has device, order and matrix, in the format that its policy takes; it may become another block. */
static spry_status build_by_policy(spry_spmv_plan **plan, const spry_spmv_options *o, spryi_trial *trial,
                                   spry_error *err)
{
    int done = 0;
    if (is_auto(o) && spryi_is_measured(o->policy) && !(*plan)->A->stored)
        SPRYI_OK_OR_RETURN(spryi_measure_plan(plan, o, trial, &done, err));
    if (!done) SPRYI_OK_OR_RETURN(choose_and_build(*plan, o, err));
    if (trial->note[0]) {
        char *reason = (*plan)->reason;
        const size_t used = strlen(reason);
        snprintf(reason + used, sizeof(*plan)->reason - used, "%s", trial->note);
    }
    return SPRY_OK;
}

spry_status spry_spmv_plan_create(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                                  const spry_spmv_options *options, spry_error *err)
{
    spryi_trial trial = {0};
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    if (o.both_directions == 1) return spryi_plan_both(context, plan, A, &o, err);
    return spryi_plan_create(context, plan, A, options, &trial, err);
}

spry_status spryi_plan_create(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                              const spry_spmv_options *options, spryi_trial *trial, spry_error *err)
{
    return spryi_plan_one(context, plan, A, options, trial, NULL, err);
}

spry_status spryi_plan_one(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                           const spry_spmv_options *options, spryi_trial *trial, spryi_pairing *pairing,
                           spry_error *err)
{
    const char *missing = !context ? "context" : !plan ? "plan" : !A ? "A" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    double start = spryi_now_us();
    spry_status status = SPRY_OK;
    spry_spmv_plan *made = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    SPRYI_TRY(SPRYI_TAKE(&o, options, err));
    SPRYI_TRY(spryi_check_spmv_options(&o, err));
    SPRYI_TRY(spryi_vector_type_of(&o.vector_type, A, &o, err));
    o.vector_device = o.vector_device == SPRY_DEVICE_DEFAULT ? A->a.device : spryi_device_number(o.vector_device);
    SPRYI_TRY(SPRYI_NEW(context, &made, 1, "plan", err));
    *made = (spry_spmv_plan){
        .context = spryi_context_retain(context),
        .A = spryi_matrix_retain(A),
        .groups = spryi_ordering_retain(o.groups),
        .op = o.op,
        .vector_type = o.vector_type,
        .number_bytes = spry_type_bytes(o.vector_type),
        .y_length = o.op == SPRY_TRANSPOSE ? A->a.cols : A->a.rows,
        .x_length = o.op == SPRY_TRANSPOSE ? A->a.rows : A->a.cols,
        .options = o,
    };
    made->options.format = made->options.kernel = made->options.ordering = made->options.policy = NULL;
    pthread_mutex_init(&made->in_use, NULL); /* cannot fail with default attributes where we build for */
    SPRYI_TRY(select_device(made, &o, err));
    if (o.stream) SPRYI_TRY(spryi_wait_for(made->device, o.stream, err));
    const int flips = pairing && pairing->flips && o.op == SPRY_TRANSPOSE;
    if (made->A->stored && (flips || !spryi_may_read_stored(made->A, &o))) SPRYI_TRY(take_entries(made, err));
    if (pairing) SPRYI_TRY(spryi_share_copy(made, pairing, err));
    SPRYI_TRY(spryi_order_plan(made, &o, err));
    if (flips || spryi_multiplies_transposed(made->device, made->A, &o)) SPRYI_TRY(spryi_flip_plan(made, err));
    o.op = made->options.op;
    made->nnz = made->A->a.nnz;
    SPRYI_TRY(build_by_policy(&made, &o, trial, err));
    if (spryi_is_expanded(made)) tell_expansion(made);
    if (made->op != made->options.op) spryi_tell_transposed(made->reason, sizeof made->reason);
    spryi_drop_copy(made);
    made->setup_us = spryi_now_us() - start;
    *plan = made;
    made = NULL;
done:
    spry_spmv_plan_destroy(made);
    return status;
}

void spry_spmv_plan_destroy(spry_spmv_plan *plan)
{
    if (!plan) return;
    spryi_discard_both(plan);
    spryi_discard_built(plan);
    spryi_discard_ordering(plan);
    spry_ordering_destroy(plan->groups);
    spryi_matrix_release(plan->A);
    pthread_mutex_destroy(&plan->in_use);
    spry_context *context = plan->context;
    spryi_release(context, plan);
    spryi_context_release(context);
}

/* The new storage is made beside the old, so that a failure leaves the plan as it was. */
static spry_status renew(spry_spmv_plan *plan, spry_error *err)
{
    const spry_matrix *given = *given_to(plan);
    if (given->a.value_type == SPRY_PATTERN || given->stored) return SPRY_OK; /* nothing can have changed */
    SPRYI_OK_OR_RETURN(plan->order ? spryi_order_values(plan, err) : SPRY_OK);
    spry_status status = spryi_renew_storage(plan, err);
    spryi_drop_copy(plan);
    return status;
}

/* The same with values in another array, which the plan refers to from then on. */
static spry_status take_values(spry_spmv_plan *plan, const void *values, spry_error *err)
{
    spry_matrix *old = *given_to(plan), *made;
    if (old->stored)
        return spryi_fail(err, SPRY_UNSUPPORTED, "values", "values: the plan reads a container, whose values stay");
    SPRYI_OK_OR_RETURN(spryi_matrix_with_values(&made, old, values, err));
    old = spryi_matrix_retain(old);
    spryi_refer_to(plan, old, made);
    spry_status status = renew(plan, err);
    if (status != SPRY_OK) spryi_refer_to(plan, made, old);
    spryi_matrix_release(old);
    spryi_matrix_release(made);
    spryi_list_read(plan);
    return status;
}

spry_status spry_spmv_plan_update(spry_spmv_plan *plan, const spry_update_options *options, spry_error *err)
{
    if (!plan) return spryi_fail_missing(err, "plan");
    return plan->other ? spryi_update_both(plan, options, err) : spryi_update_one(plan, options, err);
}

spry_status spryi_update_one(spry_spmv_plan *plan, const spry_update_options *options, spry_error *err)
{
    spry_update_options o;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    const double start = spryi_now_us();
    const void *values = o.values;
    if (o.stream) SPRYI_OK_OR_RETURN(spryi_wait_for(plan->device, o.stream, err));
    SPRYI_OK_OR_RETURN(values && values != (*given_to(plan))->a.values ? take_values(plan, values, err)
                                                                       : renew(plan, err));
    plan->update_us = spryi_now_us() - start;
    return SPRY_OK;
}
