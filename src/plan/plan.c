/* Builds and updates a plan of one direction: check, map, choose, build, prepare. */
#include "plan/plan.h"
#include "spry/matrix.h"

#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "formats/shared/storage_limits.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"

#include <stdio.h>
#include <string.h>

static const double MOST_BUDGET = 1e12; /* largest measure_budget_us: more than eleven days */

spry_status spryi_check_spmv_options(const spry_spmv_options *o, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_check_range(NULL, "op", o->op, SPRY_NO_TRANSPOSE, SPRY_TRANSPOSE,
                                         "SPRY_NO_TRANSPOSE or SPRY_TRANSPOSE", err));
    if (o->vector_type != SPRY_TYPE_DEFAULT && spryi_value_slot(o->vector_type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "vector_type", o->vector_type, SPRY_F64,
                                "vector_type is %d, expected SPRY_F32 or SPRY_F64", (int)o->vector_type);
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"expected_calls", o->expected_calls},
                   {"expected_updates", o->expected_updates},
                   {"memory_limit_bytes", o->memory_limit_bytes}};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        SPRYI_OK_OR_RETURN(spryi_check_range(NULL, numbers[n].name, numbers[n].value, 0, INT64_MAX, "0 or more", err));
    SPRYI_OK_OR_RETURN(spryi_check_range(NULL, "count", o->count, 0, INT32_MAX, "0 to 2147483647", err));
    if (!(o->measure_budget_us >= 0 && o->measure_budget_us <= MOST_BUDGET))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "measure_budget_us",
                          "measure_budget_us is %g, expected 0 to %g microseconds", o->measure_budget_us, MOST_BUDGET);
    SPRYI_OK_OR_RETURN(spryi_check_range(NULL, "vector_device", o->vector_device, SPRY_CPU, INT64_MAX,
                                         "SPRY_DEVICE_DEFAULT, SPRY_CPU or the plan's GPU", err));
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

/* ---- check --------------------------------------------------------------------------------------------- */

/* Returns the criteria for selecting a device or a kernel for a product with A. */
static spryi_selection_request selection_for(const spry_matrix *A, const spry_spmv_options *o)
{
    return (spryi_selection_request){
        .operation = o->op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV,
        .device = o->device,
        .kernel = o->kernel,
        .allow_nondeterministic = o->allow_nondeterministic,
        .row = spryi_value_row(A->a.value_type, o->vector_type),
        .operand_device = A->a.device,
        .result_device = o->vector_device,
        .operand = "the matrix",
        .result_argument = "vector_device",
        .result = "vector_device",
        .result_place = "the plan's own device",
    };
}

static spry_status select_device(spryi_plan_request *request, const spry_context *context, const spry_matrix *A,
                                 spry_error *err)
{
    const spry_spmv_options *o = &request->options;
    const spryi_selection_request selection = selection_for(A, o);
    SPRYI_OK_OR_RETURN(spryi_select_device(context, &request->device, &selection, err));
    const char *scaling = o->row_scaling ? "row_scaling" : o->column_scaling ? "column_scaling" : NULL;
    if (scaling && !request->device->driver->host_memory)
        return spryi_fail(err, SPRY_UNSUPPORTED, scaling,
                          "row_scaling and column_scaling need a plan on the CPU, this plan is for %s",
                          request->device->name);
    if (scaling && A->a.value_type != SPRY_PATTERN)
        return spryi_fail(err, SPRY_UNSUPPORTED, scaling,
                          "row_scaling and column_scaling are for patterns, this matrix has %s values",
                          spry_type_name(A->a.value_type));
    return SPRY_OK;
}

/* Checks the options, resolves their defaults, and selects the device. */
static spry_status check(spryi_plan_request *request, const spry_context *context, const spry_matrix *A,
                         const spry_spmv_options *options, spry_error *err)
{
    spry_spmv_options *o = &request->options;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(o, options, err));
    SPRYI_OK_OR_RETURN(spryi_check_spmv_options(o, err));
    SPRYI_OK_OR_RETURN(spryi_vector_type_of(&o->vector_type, A, o, err));
    o->vector_device = o->vector_device == SPRY_DEVICE_DEFAULT ? A->a.device : spryi_device_number(o->vector_device);
    request->op = o->op;
    request->vector_type = o->vector_type;
    request->element_bytes = spry_type_bytes(o->vector_type);
    request->x_length = o->op == SPRY_TRANSPOSE ? A->a.rows : A->a.columns;
    request->y_length = o->op == SPRY_TRANSPOSE ? A->a.columns : A->a.rows;
    SPRYI_OK_OR_RETURN(select_device(request, context, A, err));
    request->groups = spryi_ordering_retain(o->groups);
    return o->stream ? spryi_wait_for(request->device, o->stream, err) : SPRY_OK;
}

/* ---- choose --------------------------------------------------------------------------------- */

/*
 * Returns the type of stored values that the kernel reads: the matrix's type. If the matrix is a pattern and the kernel
 * needs values, returns the vectors' type.
 */
static spry_type stored_type(const spryi_plan *plan, const spryi_kernel *kernel)
{
    const spry_type type = plan->A->a.value_type;
    return type == SPRY_PATTERN && !kernel->pattern ? plan->request.vector_type : type;
}

static void find_functions(const spryi_plan *plan, spryi_plan_target *target)
{
    const spryi_device *d = plan->request.device;
    const char *reason;
    d->ops->find_kernel(d, target->kernel, &target->functions, &reason);
    target->value_type = stored_type(plan, target->kernel);
}

/* Selects a kernel for the format. suits: name of the preferred kernel; NULL: no preference. */
static spry_status select_kernel(const spryi_plan *plan, spryi_plan_target *target, const char *suits, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const spryi_stored *stored = plan->A->stored;
    const spryi_selection_request request = selection_for(plan->A, &plan->request.options);
    spryi_selection_request own = request; /* for a container, whose values may have a narrower type */
    if (stored) own.row = spryi_value_row(spryi_storage_arrays(stored->storage)->value_type, plan->request.vector_type);
    if (!suits && target->format->choice.gpu_kernel && d->driver->massively_parallel)
        suits = target->format->choice.gpu_kernel(plan->A, target->parameters);
    if (own.row < 0 || spryi_select_kernel(d, &target->kernel, target->format, suits, &own, NULL) != SPRY_OK)
        SPRYI_OK_OR_RETURN(spryi_select_kernel(d, &target->kernel, target->format, suits, &request, err));
    find_functions(plan, target);
    return SPRY_OK;
}

static spry_status select_named_kernel(const spryi_plan *plan, spryi_plan_target *target, spry_error *err)
{
    const spry_spmv_options *o = &plan->request.options;
    spryi_selection_request request = selection_for(plan->A, o);
    if (!spryi_format_is_auto(o) && spryi_find_kernel(o->kernel)) {
        SPRYI_OK_OR_RETURN(spryi_parse_format(&target->format, target->parameters, o->format, err));
        request.format = target->format->name;
    }
    SPRYI_OK_OR_RETURN(
        spryi_select_named_kernel(plan->request.device, &target->kernel, target->kernel_parameters, &request, err));
    const char *colon = strchr(o->kernel, ':');
    snprintf(target->kernel_text, sizeof target->kernel_text, "%s", colon ? colon + 1 : "");
    find_functions(plan, target);
    target->format = spryi_find_format(target->kernel->format);
    target->reason_code = SPRY_REASON_NAMED;
    snprintf(target->reason, sizeof target->reason, "kernel %s was asked for", o->kernel);
    return SPRY_OK;
}

spryi_run_fn spryi_run_of(const spryi_plan *plan, const spry_arrays *stored)
{
    const spry_index_type offset_type = stored->layout == SPRY_COO ? stored->index_type : stored->offset_type;
    const spryi_plan_target *target = &plan->target;
    const bool transposes = plan->request.options.op == SPRY_TRANSPOSE;
    const spryi_run_table *table = transposes ? target->functions.spmv_t : target->functions.spmv;
    const int pair = spryi_index_pair(offset_type, stored->index_type);
    const int row = spryi_value_row(stored->value_type, plan->request.vector_type);
    return table && row >= 0 ? (*table)[row][pair] : NULL;
}

static bool reads_stored(const spryi_plan *plan)
{
    const spry_matrix *A = plan->A;
    if (!A->stored || A->stored->format != plan->target.format) return false;
    return plan->target.value_type == A->a.value_type && spryi_run_of(plan, &A->a) &&
           spryi_run_of(plan, spryi_storage_arrays(A->stored->storage));
}

spry_status spryi_take_entries(spryi_plan *plan, spry_error *err)
{
    const bool reads_blocks = spryi_reads_blocks(plan);
    spry_matrix *entries;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(reads_blocks ? plan->map.given : plan->A, &entries, err));
    spryi_matrix_release(plan->A);
    plan->A = entries;
    if (reads_blocks) {
        plan->map.is_changed = true;
    } else if (plan->map.given) {
        spryi_matrix_release(plan->map.given);
        plan->map.given = spryi_matrix_retain(entries);
    }
    if (plan->target.kernel) plan->target.value_type = stored_type(plan, plan->target.kernel);
    return SPRY_OK;
}

/* Returns whether the library chooses both format and kernel. */
static bool is_auto(const spryi_plan *plan)
{
    return !plan->request.options.kernel && spryi_format_is_auto(&plan->request.options);
}

static void add_reason(spryi_plan *plan, const char *text)
{
    char *reason = plan->target.reason;
    const size_t used = strlen(reason);
    snprintf(reason + used, sizeof plan->target.reason - used, "%s", text);
}

_Static_assert(sizeof((spryi_choice *)0)->reason == sizeof((spryi_plan_target *)0)->reason, "copied as a whole");

static spry_status take_choice(spryi_plan *plan, const spryi_choice *choice, spry_error *err)
{
    spryi_plan_target *target = &plan->target;
    *target = (spryi_plan_target){.format = choice->format,
                                  .us = choice->us,
                                  .csr_us = choice->csr_us,
                                  .reason_code = choice->code};
    memcpy(target->parameters, choice->parameters, sizeof target->parameters);
    memcpy(target->reason, choice->reason, sizeof target->reason);
    return select_kernel(plan, target, choice->kernel, err);
}

/* Selects `format` instead of the refused format. */
static spry_status select_format_instead(spryi_plan *plan, const spryi_plan_target *refused, const char *format,
                                         spry_error *err)
{
    spryi_choice choice = {0};
    spryi_choose_instead(&choice, format, refused->format->name);
    choice.us = choice.csr_us = refused->csr_us;
    return take_choice(plan, &choice, err);
}

static spry_status choose_instead(spryi_plan *plan, spry_error *err)
{
    const spryi_plan_target refused = plan->target;
    spry_error why = SPRY_ERROR_INIT;
    SPRYI_OK_OR_RETURN(plan->A->stored ? spryi_take_entries(plan, err) : SPRY_OK);
    const spry_status status = select_format_instead(plan, &refused, "csr", &why);
    const bool by_columns = status == SPRY_UNSUPPORTED && plan->request.options.op == SPRY_TRANSPOSE;
    if (!by_columns || strcmp(refused.format->name, "csc") == 0)
        return status == SPRY_OK ? status : spryi_hand_on(err, &why);
    return select_format_instead(plan, &refused, "csc", err);
}

static void set_types_reason(spryi_plan *plan, const char *passed)
{
    plan->target.reason_code = SPRY_REASON_TYPES;
    snprintf(plan->target.reason, sizeof plan->target.reason, "%s: %s has no kernel for these types of values",
             plan->target.format->name, passed);
}

/* Chooses a container's stored format, or else a format that suits the matrix. */
static spry_status choose_format(const spryi_plan *plan, spryi_choice *choice, spry_error *err)
{
    const spryi_stored *stored = plan->A->stored;
    if (!stored) return spryi_choose_format(plan->A, &plan->request.options, plan->request.device, choice, err);
    spryi_choose_stored(choice, stored);
    return SPRY_OK;
}

/* Returns whether only the narrow type of the container's values prevents the kernel from reading it. */
static bool is_too_narrow(const spryi_plan *plan)
{
    return plan->A->stored && spryi_is_stored_narrow(plan->A) && spryi_run_of(plan, &plan->A->a);
}

/*
 * Chooses a format and a kernel. If no kernel of a container's format reads its narrow values, builds the format with
 * values of A's type. Falls back to csr if the format has no kernel for the types of values.
 */
static spry_status choose(spryi_plan *plan, spry_error *err)
{
    spryi_choice choice = {0};
    spry_error why = SPRY_ERROR_INIT;
    SPRYI_OK_OR_RETURN(choose_format(plan, &choice, err));
    spry_status status = take_choice(plan, &choice, &why);
    const bool readable = !plan->A->stored || choice.format->in_place;
    if (status == SPRY_OK && (readable || reads_stored(plan))) return SPRY_OK;
    if (status == SPRY_OK && is_too_narrow(plan)) {
        snprintf(plan->target.reason, sizeof plan->target.reason,
                 "the container holds format %s; its %s values are widened for the kernel", choice.format->name,
                 spry_type_name(spryi_storage_arrays(plan->A->stored->storage)->value_type));
        return spryi_take_entries(plan, err);
    }
    if (status != SPRY_OK && (status != SPRY_UNSUPPORTED || choice.format->in_place)) return spryi_hand_on(err, &why);
    status = choose_instead(plan, err);
    set_types_reason(plan, choice.format->name);
    return status;
}

static spry_status select_named_format(spryi_plan *plan, spry_error *err)
{
    spryi_plan_target *target = &plan->target;
    SPRYI_OK_OR_RETURN(spryi_parse_format(&target->format, target->parameters, plan->request.options.format, err));
    target->reason_code = SPRY_REASON_NAMED;
    snprintf(target->reason, sizeof target->reason, "format %s was asked for", target->format->name);
    return select_kernel(plan, target, NULL, err);
}

static spry_status choose_target(spryi_plan *plan, spry_error *err)
{
    const double start = spryi_now_us();
    const spry_status status = plan->request.options.kernel ? select_named_kernel(plan, &plan->target, err)
                               : is_auto(plan)              ? choose(plan, err)
                                                            : select_named_format(plan, err);
    plan->times.search_us += spryi_now_us() - start;
    return status;
}

/* ---- prepare ------------------------------------------------------------------------------------------- */

enum { ZERO_BYTES = 64 };

static spry_status find_run(const spryi_plan *plan, spryi_plan_product *product, spry_error *err)
{
    const spryi_plan_target *target = &plan->target;
    const spryi_kernel_functions *f = &target->functions;
    const spry_spmv_options *o = &plan->request.options;
    const unsigned op = o->op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV;
    product->run = spryi_run_of(plan, spryi_storage_arrays(plan->stored.storage));
    product->joins_rows = (f->multi_row_major & op) != 0;
    product->joins_columns = (f->multi_column_major & op) != 0;
    /* supports_column_major reads all columns, so on a CPU it is called only if count > 1. */
    if (product->joins_columns && f->supports_column_major)
        product->joins_columns = (o->count > 1 || !plan->request.device->driver->host_memory) &&
                                 f->supports_column_major(plan->stored.storage, o->count);
    if (product->run) return SPRY_OK;
    return spryi_fail(err, SPRY_UNSUPPORTED, "kernel",
                      "kernel %s has no %s for %s values and %s vectors with these indices", target->kernel->name,
                      o->op == SPRY_TRANSPOSE ? "transposed product" : "product", spry_type_name(target->value_type),
                      spry_type_name(o->vector_type));
}

/* Builds the kernel's auxiliary data. *workspace_bytes: the workspace that the kernel needs. */
static spry_status prepare_kernel(const spryi_plan *plan, spryi_plan_product *product, int64_t *workspace_bytes,
                                  spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const spryi_kernel_functions *f = &plan->target.functions;
    const spryi_prepare_request request = {.format = plan->target.format,
                                           .storage = plan->stored.storage,
                                           .vector_type = plan->request.vector_type,
                                           .op = plan->request.options.op,
                                           .device = d,
                                           .kernel_parameters = plan->target.kernel_parameters};
    if (f->prepare) {
        int previous = 0;
        SPRYI_OK_OR_RETURN(d->ops->enter(d, &previous, err));
        const spry_status status = f->prepare(&request, &product->auxiliary, &product->auxiliary_bytes, err);
        d->ops->leave(d, previous);
        if (status != SPRY_OK) return status;
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, err)); /* runs in the caller's streams then need not wait */
    }
    *workspace_bytes = f->workspace_bytes ? f->workspace_bytes(&request, product->auxiliary) : 0;
    return SPRY_OK;
}

static int threads_of(const spryi_plan *plan)
{
    /* An entry counts as at least ENTRY bytes. A storage may have fewer bytes per entry if values or indices repeat. */
    enum { ENTRY = 4 };
    if (plan->target.kernel->one_thread) return 1;
    const int64_t stored = spryi_storage_bytes(plan->target.format, plan->stored.storage);
    const int64_t bytes = stored > plan->map.nnz * ENTRY ? stored : plan->map.nnz * ENTRY;
    return spryi_threads_for(plan->context, bytes, plan->request.options.threads);
}

/* ---- the workspace ------------------------------------------------------------------------------------- */

/* Returns whether runs may multiply multiple columns together, if the kernel supports it. */
static bool columns_may_meet(const spryi_plan *plan, const spryi_plan_map *map)
{
    return plan->request.options.vector_device == plan->request.device->number && !spryi_changes_x(map) &&
           !spryi_changes_y(map);
}

bool spryi_takes_columns(const spryi_plan *plan, const spryi_plan_map *map, bool row_major)
{
    const bool takes = row_major ? plan->product.joins_rows && plan->request.options.row_major
                                 : plan->product.joins_columns || plan->work.joined > 0;
    return takes && columns_may_meet(plan, map);
}

/*
 * Returns the number of columns that are copied to row-major together, if the plan copies. This is the plan's `count`,
 * but at most 64 bytes per row on a CPU, and 256 on a GPU. With room for three columns, any number of columns
 * above one splits into passes of at least two columns. In a pass of a single column, results would have other bits.
 */
static int64_t joined_columns(const spryi_plan *plan)
{
    enum { LEAST = 3, CPU = 64, GPU = 256 };
    const int64_t bytes = plan->request.device->driver->host_memory ? CPU : GPU, count = plan->request.options.count;
    const int64_t most = bytes / (int64_t)plan->request.element_bytes;
    return spryi_joined_stride(plan, count < LEAST ? LEAST : count < most ? count : most);
}

/* Returns joined_columns if the kernel needs row-major vectors and copies to row-major pay, else 0. */
static int64_t columns_to_join(const spryi_plan *plan)
{
    const spryi_plan_request *r = &plan->request;
    const spry_spmv_options *o = &r->options;
    if (o->count <= 1 || o->row_major || !plan->product.joins_rows || plan->product.joins_columns) return 0;
    const double matrix = (double)spryi_storage_bytes(plan->target.format, plan->stored.storage);
    const double vectors = (double)r->element_bytes * (double)(r->x_length + r->y_length);
    if (!r->device->driver->host_memory && !spryi_copies_pay((double)o->count, matrix, vectors)) return 0;
    return columns_may_meet(plan, &plan->map) ? joined_columns(plan) : 0;
}

/* Returns the bytes of `elements` in the workspace, rounded up to cache lines. */
static int64_t padded(const spryi_plan *plan, int64_t elements)
{
    return (elements * (int64_t)plan->request.element_bytes + 63) / 64 * 64;
}

/*
 * Returns the sizes of the workspace: the kernel's bytes, then the storage's x and y if they differ from the caller's.
 */
static spryi_plan_workspace workspace_of(const spryi_plan *plan, int64_t kernel_bytes)
{
    const spryi_plan_request *r = &plan->request;
    const int64_t joined = columns_to_join(plan);
    spryi_plan_workspace work = {.bytes = kernel_bytes, .x_at = (kernel_bytes + 63) / 64 * 64, .joined = joined};
    const bool maps_x = spryi_maps_x(plan, &plan->map), maps_y = spryi_maps_y(plan, &plan->map);
    if (joined == 0 && !maps_x && !maps_y) return work;
    work.t_at = work.x_at + (joined > 0 ? padded(plan, r->x_length * joined) : maps_x ? padded(plan, r->x_length) : 0);
    work.bytes = work.t_at + (joined > 0 ? padded(plan, r->y_length * joined) : maps_y ? padded(plan, r->y_length) : 0);
    return work;
}

/* ---- bytes that a plan owns, and bounds for memory limits --------------------------------------------- */

/* Returns whether the plan has its own block of device memory for `zero`, whose bytes are all 0. */
static bool has_zero_block(const spryi_plan *plan)
{
    return !plan->map.zero && (plan->request.options.row_major || plan->work.joined > 0) &&
           !plan->request.device->driver->host_memory;
}

/* Returns whether runs copy host vectors to the device and back. */
static bool has_copies(const spryi_plan *plan)
{
    return plan->request.options.vector_device != plan->request.device->number;
}

int64_t spryi_owned_bytes(const spryi_plan *plan)
{
    const void *storage = plan->stored.storage;
    const int64_t vectors = (plan->request.x_length + plan->request.y_length) * (int64_t)plan->request.element_bytes;
    int64_t bytes = plan->stored.from_container ? 0
                    : plan->stored.on_device ? spryi_storage_bytes(plan->target.format, storage) - plan->stored.borrowed
                                             : spryi_storage_owned_bytes(plan->target.format, storage);
    bytes += plan->product.auxiliary_bytes + plan->work.bytes + spryi_ordering_bytes(plan, true);
    if (has_zero_block(plan)) bytes += ZERO_BYTES;
    if (has_copies(plan)) bytes += plan->request.options.row_major ? 2 * vectors : vectors;
    return bytes;
}

int64_t spryi_most_owned_bytes(const spryi_plan *plan)
{
    const spryi_format *format = plan->target.format;
    const bool grows = format->growth_bytes && !plan->stored.from_container && !plan->stored.on_device;
    return spryi_owned_bytes(plan) + plan->stored.widening + (grows ? format->growth_bytes(plan->stored.storage) : 0);
}

/* Returns a bound on the bytes of the plan's ordering and of the vectors that runs copy. */
static int64_t most_for_vectors(const spryi_plan *plan)
{
    enum { FIXED = 512 }; /* bytes of padding */
    const spry_spmv_options *o = &plan->request.options;
    const int64_t lines = spryi_add_bytes(plan->request.x_length, plan->request.y_length);
    const bool is_mapped = o->row_major || plan->map.is_changed || o->row_scaling || o->column_scaling;
    const int64_t element = (int64_t)plan->request.element_bytes;
    const int64_t columns = o->count > 1 ? joined_columns(plan) * element : is_mapped ? element : 0;
    const int64_t order = plan->map.is_changed ? (int64_t)sizeof(int32_t) : 0;
    const int64_t copies = has_copies(plan) ? 2 * element : 0;
    const int64_t copy_of_A = spryi_has_copy(plan) ? spryi_arrays_bytes(&plan->A->a) : 0;
    if (lines > INT64_MAX / 1024) return INT64_MAX;
    return spryi_add_bytes(FIXED + lines * (columns + copies + order), copy_of_A);
}

bool spryi_is_over_limit(spry_status status, const spry_error *why)
{
    return status == SPRY_TOO_LARGE && strcmp(why->argument, "memory_limit_bytes") == 0;
}

/* Reports a refusal of the format's arrays, with a bound on all bytes that the plan would own. */
static spry_status refuse_storage(const spryi_plan *plan, const spry_error *why, spry_error *err)
{
    const int64_t value = spryi_add_bytes(why->value, most_for_vectors(plan));
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", value, why->limit,
                            "a plan in %s would own up to %lld bytes, over the limit of %lld",
                            plan->target.format->name, (long long)value, (long long)why->limit);
}

/* ---- allocation and release of the workspace ---- */

static spry_status allocate(spryi_plan *plan, spryi_plan_workspace *work, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const size_t size = plan->request.element_bytes;
    const int64_t x_length = plan->request.x_length, y_length = plan->request.y_length;
    if (work->bytes > 0) {
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &work->memory, work->bytes, "workspace", err));
        /*
         * kernels on devices with their own memory need a workspace of zeros and leave zeros; host kernels need no
         * zeros
         */
        if (!d->driver->host_memory) SPRYI_OK_OR_RETURN(d->ops->clear(d, work->memory, work->bytes, err));
    }
    work->zero = plan->map.zero;
    if (has_zero_block(plan)) {
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &work->zero_block, ZERO_BYTES, "a zero", err));
        SPRYI_OK_OR_RETURN(d->ops->clear(d, work->zero_block, ZERO_BYTES, err));
        work->zero = work->zero_block;
    }
    if (!has_copies(plan)) return SPRY_OK;
    SPRYI_OK_OR_RETURN(d->ops->allocate(d, &work->x, x_length * (int64_t)size, "x", err));
    SPRYI_OK_OR_RETURN(d->ops->allocate(d, &work->y, y_length * (int64_t)size, "y", err));
    if (!plan->request.options.row_major) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_allocate(plan->context, &work->host_x, x_length, size, "x", err));
    return spryi_allocate(plan->context, &work->host_y, y_length, size, "y", err);
}

void spryi_list_reads(spryi_plan *plan)
{
    const spry_spmv_options *o = &plan->request.options;
    const spry_arrays *a = &plan->map.given->a;
    const int64_t size = (int64_t)plan->request.element_bytes;
    spryi_array list[SPRYI_ARRAYS];
    spryi_list_arrays(list, a);
    const spryi_span all[] = {
        {"A's values", list[SPRYI_VALUES]},
        {a->layout == SPRY_CSC ? "A's row indices" : "A's columns", list[SPRYI_INDICES]},
        {"A's row indices", list[SPRYI_ROW_INDICES]},
        {"A's offsets", list[SPRYI_OFFSETS]},
        {"row_scaling", {o->row_scaling, a->rows * size}},
        {"column_scaling", {o->column_scaling, a->columns * size}},
    };
    _Static_assert(sizeof all == sizeof plan->reads.list, "room for all");
    plan->reads.count = 0;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (all[n].array.data && all[n].array.bytes > 0) plan->reads.list[plan->reads.count++] = all[n];
}

/* Prepares plan->product and plan->work. Fails if the plan would own more than its memory limit. */
static spry_status prepare(spryi_plan *plan, spry_error *err)
{
    int64_t kernel_bytes = 0;
    SPRYI_OK_OR_RETURN(find_run(plan, &plan->product, err));
    SPRYI_OK_OR_RETURN(prepare_kernel(plan, &plan->product, &kernel_bytes, err));
    plan->product.threads = threads_of(plan);
    plan->work = workspace_of(plan, kernel_bytes);
    spryi_list_reads(plan);
    SPRYI_OK_OR_RETURN(
        spryi_check_memory_limit(&plan->request.options, plan->target.format->name, spryi_most_owned_bytes(plan), err));
    return allocate(plan, &plan->work, err);
}

static void discard_prepared(spryi_plan *plan)
{
    const spryi_device *d = plan->request.device;
    const spryi_plan_workspace *work = &plan->work;
    void *const blocks[] = {work->memory, work->x, work->y, work->zero_block};
    if (plan->product.auxiliary && plan->target.functions.discard)
        plan->target.functions.discard(d, plan->product.auxiliary);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        if (blocks[b]) d->ops->release(d, blocks[b]);
    spryi_release(plan->context, work->host_x);
    spryi_release(plan->context, work->host_y);
    plan->product = (spryi_plan_product){0};
    plan->work = (spryi_plan_workspace){0};
}

/* ---- build --------------------------------------------------------------------------------------------- */

/* Builds the storage of plan->A. If the kernel cannot read a container, replaces the container by its entries. */
static spry_status build(spryi_plan *plan, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT;
    if (plan->A->stored && !reads_stored(plan)) SPRYI_OK_OR_RETURN(spryi_take_entries(plan, err));
    const spry_status status = spryi_make_storage(plan, &plan->stored, &why);
    if (spryi_is_over_limit(status, &why)) return refuse_storage(plan, &why, err);
    return status == SPRY_OK ? status : spryi_hand_on(err, &why);
}

static spry_status build_and_prepare(spryi_plan *plan, spry_error *err)
{
    SPRYI_OK_OR_RETURN(build(plan, err));
    return prepare(plan, err);
}

void spryi_discard_built(spryi_plan *plan)
{
    discard_prepared(plan);
    spryi_discard_storage(plan, &plan->stored);
}

spry_status spryi_build_choice(spryi_plan *plan, const spryi_choice *choice, spry_error *err)
{
    spry_status status = take_choice(plan, choice, err);
    if (status == SPRY_OK) status = build_and_prepare(plan, err);
    if (status != SPRY_OK) spryi_discard_built(plan);
    return status;
}

/* Chooses, builds and prepares. Falls back to csr if a choice is refused for its memory or its types. */
static spry_status choose_and_build(spryi_plan *plan, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT; /* why the choice was refused; the call may still succeed */
    spry_status status;
    SPRYI_OK_OR_RETURN(choose_target(plan, err));
    while (((status = build_and_prepare(plan, &why)) == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED) &&
           is_auto(plan) && !plan->target.format->in_place) {
        const char *refused = plan->target.format->name;
        spry_error none = SPRY_ERROR_INIT;
        spryi_discard_built(plan);
        if (choose_instead(plan, &none) != SPRY_OK) return spryi_hand_on(err, status == SPRY_TOO_LARGE ? &why : &none);
        if (status == SPRY_UNSUPPORTED) set_types_reason(plan, refused);
    }
    return status == SPRY_OK ? status : spryi_hand_on(err, &why);
}

static spry_status build_by_policy(spryi_plan *plan, spryi_trial *trial, spry_error *err)
{
    bool done = false;
    if (is_auto(plan) && spryi_is_measured(plan->request.options.policy) && !plan->A->stored)
        SPRYI_OK_OR_RETURN(spryi_measure_plan(plan, trial, &done, err));
    if (!done) SPRYI_OK_OR_RETURN(choose_and_build(plan, err));
    if (trial->note[0]) add_reason(plan, trial->note);
    return SPRY_OK;
}

/* Completes the reason, and releases objects that only building needs: names of the options, and the mapped matrix. */
static void finish(spryi_plan *plan, double start)
{
    spry_spmv_options *o = &plan->request.options;
    o->format = o->kernel = o->ordering = o->policy = NULL;
    if (spryi_is_expanded(plan))
        add_reason(plan, plan->map.given->a.layout == SPRY_BSR ? "; the plan has built CSR of the blocks"
                                                               : "; the plan has built both triangles from one");
    if (plan->request.op != o->op) spryi_write_transposed_reason(plan->target.reason, sizeof plan->target.reason);
    spryi_drop_copy(plan);
    plan->times.setup_us = spryi_now_us() - start;
}

spry_status spryi_plan_one(spry_context *context, spryi_plan *plan, const spry_matrix *A,
                           const spry_spmv_options *options, spryi_trial *trial, spryi_pairing *pairing,
                           spry_error *err)
{
    const double start = spryi_now_us();
    spry_status status = SPRY_OK;
    *plan = (spryi_plan){.context = spryi_context_retain(context), .A = spryi_matrix_retain(A)};
    pthread_mutex_init(&plan->in_use, NULL); /* cannot fail with default attributes on the supported systems */
    SPRYI_TRY(check(&plan->request, context, A, options, err));
    SPRYI_TRY(spryi_map_plan(plan, pairing, err));
    SPRYI_TRY(build_by_policy(plan, trial, err));
    finish(plan, start);
    return SPRY_OK;
done:
    spryi_discard_plan(plan);
    return status;
}

void spryi_discard_plan(spryi_plan *plan)
{
    spry_context *context = plan->context;
    if (!context) return;
    spryi_discard_built(plan);
    spryi_discard_map(plan);
    spry_ordering_destroy(plan->request.groups);
    spryi_matrix_release(plan->A);
    pthread_mutex_destroy(&plan->in_use);
    plan->context = NULL;
    spryi_context_release(context);
}

/* ---- updates ------------------------------------------------------------------------------------------- */

void spryi_refer_to(spryi_plan *plan, const spry_matrix *from, const spry_matrix *to)
{
    const bool is_given = plan->map.given == from;
    if (plan->A == from) spryi_replace_matrix(plan, to);
    if (!is_given) return;
    spryi_matrix_release(plan->map.given);
    plan->map.given = spryi_matrix_retain(to);
}

/*
 * Stores the current values. Builds the new storage next to the old one, so that a failure leaves the plan unchanged.
 */
static spry_status renew(spryi_plan *plan, spry_error *err)
{
    const spry_matrix *given = plan->map.given;
    if (given->a.value_type == SPRY_PATTERN || given->stored) return SPRY_OK; /* values cannot have changed */
    SPRYI_OK_OR_RETURN(plan->map.is_changed ? spryi_order_values(plan, err) : SPRY_OK);
    const spry_status status = spryi_renew_storage(plan, err);
    if (status == SPRY_OK) plan->product.run = spryi_run_of(plan, spryi_storage_arrays(plan->stored.storage));
    spryi_drop_copy(plan);
    return status;
}

spry_status spryi_refuse_new_values(spry_error *err)
{
    return spryi_fail(err, SPRY_UNSUPPORTED, "values",
                      "values: the plan reads a container, whose values cannot change");
}

/* Stores the values of another array. The plan refers to that array from then on. */
static spry_status take_values(spryi_plan *plan, const void *values, spry_error *err)
{
    spry_matrix *old = plan->map.given, *made;
    if (old->stored) return spryi_refuse_new_values(err);
    SPRYI_OK_OR_RETURN(spryi_matrix_with_values(&made, old, values, err));
    old = spryi_matrix_retain(old);
    spryi_refer_to(plan, old, made);
    const spry_status status = renew(plan, err);
    if (status != SPRY_OK) spryi_refer_to(plan, made, old);
    spryi_matrix_release(old);
    spryi_matrix_release(made);
    spryi_list_reads(plan);
    return status;
}

spry_status spryi_update_one(spryi_plan *plan, const spry_update_options *o, spry_error *err)
{
    const double start = spryi_now_us();
    if (o->stream) SPRYI_OK_OR_RETURN(spryi_wait_for(plan->request.device, o->stream, err));
    SPRYI_OK_OR_RETURN(o->values && o->values != plan->map.given->a.values ? take_values(plan, o->values, err)
                                                                           : renew(plan, err));
    plan->times.update_us = spryi_now_us() - start;
    return SPRY_OK;
}
