/* Prepares the runs of a plan: the kernel's function and data, the workspace, and copies of vectors on the device. */
#include "plan/plan.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/shared/padding_guard.h"
#include "matrix/assemble.h"

#include <string.h>

enum { ZERO_BYTES = 64 };

/* ---- the kernel ---------------------------------------------------------------------------------------- */

static spry_status find_run(const spryi_plan *plan, spryi_plan_product *product, spry_error *err)
{
    const spryi_plan_target *target = &plan->target;
    const spryi_kernel_functions *f = &target->functions;
    const spry_spmv_options *o = &plan->request.options;
    const unsigned op = o->op == SPRY_TRANSPOSE ? SPRYI_OP_SPMV_T : SPRYI_OP_SPMV;
    product->run = spryi_run_of(plan, spryi_storage_arrays(target->format, plan->stored.storage));
    product->joins_rows = (f->several & op) != 0;
    product->joins_columns = (f->several_apart & op) != 0;
    if (product->joins_columns && f->takes_apart) /* inspects the columns, only for plans of multiple vectors */
        product->joins_columns = (o->columns > 1 || !plan->request.device->driver->host_memory) &&
                                 f->takes_apart(plan->stored.storage);
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
        SPRYI_OK_OR_RETURN(d->ops->synchronize(d, NULL, err)); /* the caller's streams need not wait */
    }
    *workspace_bytes = f->workspace_bytes ? f->workspace_bytes(&request, product->auxiliary) : 0;
    return SPRY_OK;
}

static int threads_of(const spryi_plan *plan)
{
    enum { ENTRY = 4 }; /* bytes of work per entry, if repeated values or indices make the storage smaller */
    const int64_t stored = spryi_storage_bytes(plan->target.format, plan->stored.storage);
    const int64_t bytes = stored > plan->map.nnz * ENTRY ? stored : plan->map.nnz * ENTRY;
    return spryi_threads_for(plan->context, bytes, plan->request.options.threads);
}

/* ---- the workspace ------------------------------------------------------------------------------------- */

/* Returns whether runs may multiply several columns together, if the kernel joins such columns. */
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
 * Returns the number of separate columns that are copied to row-major together, for kernels that take only rows: at
 * most a row of 64 bytes. The copies are two passes over x and three over y, and save reading the matrix per column.
 * With room for three, any number but one splits into passes of two or more, so that no column is multiplied alone,
 * with other bits.
 */
static int64_t columns_to_join(const spryi_plan *plan)
{
    const spry_spmv_options *o = &plan->request.options;
    const int64_t most = 64 / (int64_t)plan->request.element_bytes, least = 3, wanted = o->columns;
    if (wanted <= 1 || o->row_major || !plan->product.joins_rows || plan->product.joins_columns) return 0;
    return !columns_may_meet(plan, &plan->map) ? 0 : wanted < least ? least : wanted < most ? wanted : most;
}

/* Returns the bytes of so many elements in the workspace. */
static int64_t padded(const spryi_plan *plan, int64_t elements)
{
    return (elements * (int64_t)plan->request.element_bytes + 63) / 64 * 64;
}

/* Returns the sizes of the workspace, after the kernel's bytes x and y if they are not the caller's. */
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

/* ---- what a plan owns, and bounds of it for memory limits ---------------------------------------------- */

/* Returns whether the plan has a zero of its own in the device's memory. */
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
    return spryi_owned_bytes(plan) + (grows ? format->growth_bytes(plan->stored.storage) : 0);
}

/* Bounds the bytes of the plan's ordering and of the vectors that runs copy or bring into rows. */
static int64_t most_for_vectors(const spryi_plan *plan)
{
    enum { LINE = 64, FIXED = 512 }; /* bytes of the row that columns are brought into; of padding */
    const spry_spmv_options *o = &plan->request.options;
    const int64_t lines = spryi_add_bytes(plan->request.x_length, plan->request.y_length);
    const bool is_mapped = o->row_major || plan->map.is_changed || o->row_scaling || o->column_scaling;
    const int64_t columns = o->columns > 1 ? LINE : is_mapped ? (int64_t)plan->request.element_bytes : 0;
    const int64_t order = plan->map.is_changed ? (int64_t)sizeof(int32_t) : 0;
    const int64_t copies = has_copies(plan) ? 2 * (int64_t)plan->request.element_bytes : 0;
    const int64_t copy_of_A = spryi_has_copy(plan) ? spryi_arrays_bytes(&plan->A->a) : 0;
    if (lines > INT64_MAX / 1024) return INT64_MAX;
    return spryi_add_bytes(FIXED + lines * (columns + copies + order), copy_of_A);
}

bool spryi_is_over_limit(spry_status status, const spry_error *why)
{
    return status == SPRY_TOO_LARGE && strcmp(why->argument, "memory_limit_bytes") == 0;
}

spry_status spryi_refuse_storage(const spryi_plan *plan, const spry_error *why, spry_error *err)
{
    const int64_t value = spryi_add_bytes(why->value, most_for_vectors(plan));
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", value, why->limit,
                            "a plan in %s would own up to %lld bytes, over the limit of %lld",
                            plan->target.format->name, (long long)value, (long long)why->limit);
}

static spry_status allocate(spryi_plan *plan, spryi_plan_workspace *work, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const size_t size = plan->request.element_bytes;
    const int64_t x_length = plan->request.x_length, y_length = plan->request.y_length;
    if (work->bytes > 0) {
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &work->memory, work->bytes, "workspace", err));
        /* kernels of a device's own memory find zeros and leave zeros; those of host memory expect nothing */
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
        {"column_scaling", {o->column_scaling, a->cols * size}},
    };
    _Static_assert(sizeof all == sizeof plan->reads.list, "room for all");
    plan->reads.count = 0;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (all[n].array.data && all[n].array.bytes > 0) plan->reads.list[plan->reads.count++] = all[n];
}

spry_status spryi_prepare(spryi_plan *plan, spry_error *err)
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

void spryi_discard_prepared(spryi_plan *plan)
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
