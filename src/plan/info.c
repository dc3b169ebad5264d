/* What a plan tells of itself. */
#include "plan/plan.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/pool.h"

#include <stddef.h>
#include <string.h>

spry_status spry_spmv_plan_get_info(const spry_spmv_plan *plan, spry_spmv_plan_info *info, spry_error *err)
{
    if (!plan || !info) return spryi_fail_missing(err, !plan ? "plan" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    spry_spmv_plan_info told = {
        .struct_size = sizeof told,
        .op = plan->op,
        .device = spryi_told_device(plan->device),
        .device_name = plan->device->name,
        .format = plan->format->name,
        .parameters = plan->stored.parameters,
        .kernel = plan->kernel->name,
        .ordering = plan->order ? plan->order->name : "none",
        .reason_code = plan->reason_code,
        .reason = plan->reason,
        .deterministic = !plan->kernel->nondeterministic,
        .values_in_place = spryi_values_in_place(plan),
        .threads = plan->device->driver->host_memory ? spryi_team(plan->threads) : 0,
        .storage_bytes = spryi_storage_bytes(plan->format, plan->stored.storage) + spryi_ordering_bytes(plan, 0),
        .owned_bytes = spryi_owned_bytes(plan),
        .workspace_bytes = plan->workspace_bytes,
        .setup_us = plan->setup_us,
        .upload_us = plan->stored.upload_us + (plan->order ? plan->order->upload_us : 0),
        .update_us = plan->update_us,
        .expanded = spryi_is_expanded(plan),
        .from_file = plan->stored.mapped,
        .kernel_parameters = plan->kernel_text,
        .other_format = "",
        .other_kernel = "",
    };
    if (plan->other) spryi_tell_both(plan, &told);
    if (info->struct_size > offsetof(spry_spmv_plan_info, baseline)) spryi_predict_times(plan, &told);
    SPRYI_GIVE(info, &told);
    return SPRY_OK;
}

/* ---- what a plan owns, and bounds of it for memory limits ---------------------------------------------- */

int spryi_has_zero_block(const spry_spmv_plan *plan)
{
    return !plan->order && (plan->options.row_major || plan->brought > 0) && !plan->device->driver->host_memory;
}

int spryi_has_copies(const spry_spmv_plan *plan)
{
    return plan->options.vector_device != plan->device->number;
}

int64_t spryi_owned_bytes(const spry_spmv_plan *plan)
{
    const void *storage = plan->stored.storage;
    const int64_t vectors = (plan->x_length + plan->y_length) * (int64_t)plan->number_bytes;
    int64_t bytes = plan->stored.mapped      ? 0
                    : plan->stored.on_device ? spryi_storage_bytes(plan->format, storage) - plan->stored.borrowed
                                             : spryi_storage_owned_bytes(plan->format, storage);
    bytes += plan->auxiliary_bytes + plan->workspace_bytes + spryi_ordering_bytes(plan, 1);
    if (spryi_has_zero_block(plan)) bytes += SPRYI_ZERO_BYTES;
    if (spryi_has_copies(plan)) bytes += plan->options.row_major ? 2 * vectors : vectors;
    return bytes;
}

int64_t spryi_most_owned_bytes(const spry_spmv_plan *plan)
{
    const spryi_format *format = plan->format;
    const int grows = format->growth_bytes && !plan->stored.mapped && !plan->stored.on_device;
    return spryi_owned_bytes(plan) + (grows ? format->growth_bytes(plan->stored.storage) : 0);
}

/* Bounds the bytes of the plan's ordering and of the vectors that runs copy or bring into rows. */
static int64_t most_for_vectors(const spry_spmv_plan *plan)
{
    enum { LINE = 64, FIXED = 512 }; /* bytes of the row that columns are brought into; of padding */
    const spry_spmv_options *o = &plan->options;
    const int64_t lines = spryi_add_bytes(plan->x_length, plan->y_length);
    const int is_mapped = o->row_major || plan->order || o->row_scaling || o->column_scaling;
    const int64_t columns = o->columns > 1 ? LINE : is_mapped ? (int64_t)plan->number_bytes : 0;
    const int64_t order = plan->order ? (int64_t)sizeof(int32_t) : 0;
    const int64_t copies = spryi_has_copies(plan) ? 2 * (int64_t)plan->number_bytes : 0;
    const int64_t copy_of_A = spryi_has_copy(plan) ? spryi_arrays_bytes(&plan->A->a) : 0;
    if (lines > INT64_MAX / 1024) return INT64_MAX;
    return spryi_add_bytes(FIXED + lines * (columns + copies + order), copy_of_A);
}

int spryi_is_over_limit(spry_status status, const spry_error *why)
{
    return status == SPRY_TOO_LARGE && strcmp(why->argument, "memory_limit_bytes") == 0;
}

spry_status spryi_refuse_storage(const spry_spmv_plan *plan, const spry_error *why, spry_error *err)
{
    const int64_t value = spryi_add_bytes(why->value, most_for_vectors(plan));
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", value, why->limit,
                            "a plan in %s would own up to %lld bytes, over the limit of %lld", plan->format->name,
                            (long long)value, (long long)why->limit);
}
