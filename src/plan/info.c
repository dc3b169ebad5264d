/* What a plan tells of itself. */
#include "plan/plan.h"

#include "core/error.h"
#include "core/team.h"

#include <stddef.h>

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
