/*
 * The caller's plan, which has one direction or two. For two directions, a matrix in host memory is copied to a GPU
 * once. When both directions are built, the copy is released if no storage reads its arrays. Otherwise updates copy new
 * values to the copy.
 */
#include "plan/plan.h"

#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/matrix.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- the copy ------------------------------------------------------------------------------------------ */

spry_status spryi_share_copy(spryi_plan *plan, spryi_pairing *pairing, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const spry_arrays *a = &plan->A->a;
    const bool may = !d->driver->host_memory && a->device == 0 && a->layout == SPRY_CSR && a->index_type == SPRY_I32 &&
                     !spryi_is_compact(a) && !plan->A->stored;
    if (!may) return SPRY_OK;
    if (!pairing->copy) {
        const double start = spryi_now_us();
        SPRYI_OK_OR_RETURN(spryi_copy_to_device(d, &pairing->copy, plan->A, err));
        pairing->copy_us = spryi_now_us() - start;
    }
    spryi_matrix_release(plan->A);
    plan->A = spryi_matrix_retain(pairing->copy);
    return SPRY_OK;
}

/* Returns whether the storage reads arrays of the copy. */
static bool reads_copy(const spryi_plan *plan, const spry_matrix *copy)
{
    const spry_arrays *s = spryi_storage_arrays(plan->stored.storage), *a = &copy->a;
    return (s->offsets && s->offsets == a->offsets) || (s->indices && s->indices == a->indices) ||
           (s->values && s->values == a->values);
}

/* ---- building both directions ------------------------------------------------------------------------- */

enum { SAMPLED_ROWS = 64, SAMPLED_ENTRIES = 8, LONGEST_SEARCHED = 4096 };

static bool holds(const spry_arrays *a, int64_t i, int64_t j)
{
    const int64_t begin = spryi_offset_of(a, i), end = spryi_offset_of(a, i + 1);
    for (int64_t k = begin; k < end && k < begin + LONGEST_SEARCHED; k++)
        if (spryi_minor_of(a, k) == j) return 1;
    return 0;
}

/* Samples rows of CSR in host memory. Returns whether the mirror image of each sampled entry is stored. */
static bool seems_symmetric(const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    if (a->symmetry != SPRY_GENERAL) return 1;
    if (a->rows != a->columns || a->layout != SPRY_CSR || a->device > 0 || A->stored || spryi_is_compact(a)) return 0;
    for (int r = 0; r < SAMPLED_ROWS && r < a->rows; r++) {
        const int64_t i = a->rows / SAMPLED_ROWS * r + a->rows % SAMPLED_ROWS * r / SAMPLED_ROWS;
        const int64_t begin = spryi_offset_of(a, i), count = spryi_offset_of(a, i + 1) - begin;
        for (int e = 0; e < SAMPLED_ENTRIES && e < count; e++)
            if (!holds(a, spryi_minor_of(a, begin + count * e / SAMPLED_ENTRIES), i)) return 0;
    }
    return a->rows > 0;
}

/*
 * Sets *is to true if one storage serves both directions: A is marked as symmetric, its entries are symmetric, and
 * there are no scalings.
 */
static spry_status is_own_transpose(bool *is, const spry_matrix *A, const spry_spmv_options *o, spry_error *err)
{
    spryi_unequal found;
    *is = A->a.symmetry == SPRY_SYMMETRIC && !o->row_scaling && !o->column_scaling;
    if (*is && A->a.device > 0) *is = A->symmetry_holds; /* the host cannot compare entries on a GPU */
    if (!*is) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_find_false_claim(&found, A, err));
    *is = found.row < 0;
    return SPRY_OK;
}

/* Returns the options of the other direction. */
static spry_spmv_options options_of_other(const spry_spmv_options *given)
{
    spry_spmv_options o = *given;
    o.op = given->op == SPRY_TRANSPOSE ? SPRY_NO_TRANSPOSE : SPRY_TRANSPOSE;
    return o;
}

/*
 * Plans the other direction with the memory limit `limit`. If A looks symmetric, tries the first direction's format
 * first.
 */
static spry_status plan_other(spry_spmv_plan *plan, const spry_matrix *A, const spry_spmv_options *given, int64_t limit,
                              spry_error *err)
{
    char format[160];
    const spryi_plan *first = &plan->forward;
    spryi_pairing *pairing = &plan->pairing;
    spryi_trial trial = {0};
    spry_spmv_options o = options_of_other(given);
    if (!plan->backward) {
        SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &plan->backward, 1, "plan of the other direction", err));
        plan->backward->context = NULL; /* empty */
    }
    o.memory_limit_bytes = limit;
    pairing->flips = o.kernel != NULL;
    if (!o.kernel && spryi_format_is_auto(&o) && seems_symmetric(A)) {
        const char *parameters = first->stored.parameters;
        spry_error why = SPRY_ERROR_INIT;
        snprintf(format, sizeof format, "%s%s%s", first->target.format->name, parameters[0] ? ":" : "", parameters);
        o.format = format;
        pairing->flips = true;
        if (spryi_plan_one(plan->context, plan->backward, A, &o, &trial, pairing, &why) == SPRY_OK) return SPRY_OK;
        o.format = given->format;
        pairing->flips = false;
    }
    return spryi_plan_one(plan->context, plan->backward, A, &o, &trial, pairing, err);
}

/*
 * Returns how many bytes of `limit` remain after `owned` bytes, at least 1. No limit (0 or INT64_MAX) remains no limit.
 */
static int64_t left_of(int64_t limit, int64_t owned)
{
    return limit == 0 || limit == INT64_MAX ? limit : limit > owned ? limit - owned : 1;
}

/*
 * Returns a limit that suffices for the other direction. Plans that direction with a limit of one byte and reads the
 * size from the refusal.
 */
static int64_t needs_of_other(spry_spmv_plan *plan, const spry_matrix *A, const spry_spmv_options *given)
{
    spryi_trial trial = {0};
    spry_error why = SPRY_ERROR_INIT;
    spryi_plan other;
    spry_spmv_options o = options_of_other(given);
    o.memory_limit_bytes = 1;
    plan->pairing.flips = o.kernel != NULL;
    const spry_status status = spryi_plan_one(plan->context, &other, A, &o, &trial, &plan->pairing, &why);
    const int64_t bytes = status == SPRY_OK                   ? spryi_most_owned_bytes(&other)
                          : spryi_is_over_limit(status, &why) ? why.value
                                                              : 0;
    plan->pairing.flips = false;
    spryi_discard_plan(&other);
    return bytes;
}

static spry_status refuse_both(int64_t bytes, int64_t limit, spry_error *err)
{
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                            "a plan of both directions would own up to %lld bytes, over the limit of %lld",
                            (long long)bytes, (long long)limit);
}

/* Returns the bytes of the copy on the device, which both directions may read. */
static int64_t copy_bytes(const spry_spmv_plan *plan)
{
    return plan->pairing.copy ? spryi_arrays_bytes(&plan->pairing.copy->a) : 0;
}

/*
 * Plans both directions under the limit of *o. If the first direction leaves too little memory for the second, plans
 * the first again with the memory that the second leaves.
 */
static spry_status plan_pair(spry_spmv_plan *plan, const spry_matrix *A, const spry_spmv_options *o, spry_error *err)
{
    const int64_t limit = o->memory_limit_bytes;
    int64_t other = 0, owned = 0;
    for (int pass = 0; pass < 2; pass++) {
        spry_spmv_options own = *o;
        spryi_trial trial = {0};
        spry_error why = SPRY_ERROR_INIT;
        own.memory_limit_bytes = left_of(limit, spryi_add_bytes(other, copy_bytes(plan)));
        spry_status status = spryi_plan_one(plan->context, &plan->forward, A, &own, &trial, &plan->pairing, &why);
        if (spryi_is_over_limit(status, &why)) {
            owned = spryi_add_bytes(why.value, copy_bytes(plan));
            if (pass == 0) other = needs_of_other(plan, A, o);
            break;
        }
        if (status != SPRY_OK) return spryi_hand_on(err, &why);
        owned = spryi_add_bytes(spryi_most_owned_bytes(&plan->forward), copy_bytes(plan));
        status = plan_other(plan, A, o, left_of(limit, owned), &why);
        if (status == SPRY_OK) return SPRY_OK;
        if (!spryi_is_over_limit(status, &why)) return spryi_hand_on(err, &why);
        other = needs_of_other(plan, A, o);
        if (pass == 0) spryi_discard_plan(&plan->forward);
    }
    return refuse_both(spryi_add_bytes(owned, other), limit, err);
}

/* Releases the copy, unless a storage reads its arrays. The directions then refer to A's arrays. */
static spry_status settle_copy(spry_spmv_plan *plan, const spry_matrix *A, spry_error *err)
{
    spry_matrix *copy = plan->pairing.copy, *given;
    if (!copy) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &given, err));
    if (reads_copy(&plan->forward, copy) || reads_copy(plan->backward, copy)) {
        plan->as_given = given;
        return SPRY_OK;
    }
    spryi_plan *const directions[] = {&plan->forward, plan->backward};
    for (int n = 0; n < 2; n++) {
        spryi_refer_to(directions[n], copy, given);
        spryi_list_reads(directions[n]);
    }
    spryi_matrix_release(given);
    spryi_matrix_release(copy);
    plan->pairing.copy = NULL;
    return SPRY_OK;
}

static spry_status plan_both(spry_spmv_plan *plan, const spry_matrix *A, const spry_spmv_options *options,
                             spry_error *err)
{
    spryi_trial trial = {0};
    spry_spmv_options o = *options;
    bool one_storage;
    o.both_directions = 0;
    SPRYI_OK_OR_RETURN(is_own_transpose(&one_storage, A, &o, err));
    if (one_storage) {
        SPRYI_OK_OR_RETURN(spryi_plan_one(plan->context, &plan->forward, A, &o, &trial, NULL, err));
        plan->backward = &plan->forward;
        return SPRY_OK;
    }
    SPRYI_OK_OR_RETURN(plan_pair(plan, A, &o, err));
    SPRYI_OK_OR_RETURN(settle_copy(plan, A, err));
    plan->forward.times.setup_us += plan->backward->times.setup_us;
    return SPRY_OK;
}

/* Updates the plan that contains the dependent. */
static spry_status update_dependent(spryi_dependent *self, const spry_update_options *options, spry_error *err)
{
    return spry_spmv_plan_update((spry_spmv_plan *)((char *)self - offsetof(spry_spmv_plan, of_matrix)), options, err);
}

spry_status spry_spmv_plan_create(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                                  const spry_spmv_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !plan ? "plan" : !A ? "A" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spryi_trial trial = {0};
    spry_spmv_options o;
    spry_spmv_plan *made = NULL;
    spry_status status = SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &made, 1, "plan", err));
    made->context = spryi_context_retain(context);
    made->forward.context = NULL; /* empty */
    made->backward = NULL;
    made->as_given = NULL;
    made->is_stale = false;
    made->pairing = (spryi_pairing){0};
    made->of_matrix = (spryi_dependent){.update = update_dependent};
    SPRYI_TRY(o.both_directions ? plan_both(made, A, &o, err)
                                : spryi_plan_one(context, &made->forward, A, &o, &trial, NULL, err));
    spryi_add_dependent(A, &made->of_matrix);
    *plan = made;
    made = NULL;
done:
    spry_spmv_plan_destroy(made);
    return status;
}

void spry_spmv_plan_destroy(spry_spmv_plan *plan)
{
    if (!plan) return;
    spry_context *context = plan->context;
    spryi_remove_dependent(&plan->of_matrix);
    if (plan->backward && plan->backward != &plan->forward) {
        spryi_discard_plan(plan->backward);
        spryi_release(context, plan->backward);
    }
    spryi_discard_plan(&plan->forward);
    spryi_matrix_release(plan->as_given);
    spryi_matrix_release(plan->pairing.copy);
    spryi_release(context, plan);
    spryi_context_release(context);
}

/* ---- values that change -------------------------------------------------------------------------------- */

/* Copies the caller's values to the copy on the device. */
static spry_status copy_values(spry_spmv_plan *plan, const spry_update_options *o, spry_error *err)
{
    const spryi_device *d = plan->forward.request.device;
    const spry_arrays *to = &plan->pairing.copy->a;
    spry_matrix *made;
    if (o->values && o->values != plan->as_given->a.values) {
        SPRYI_OK_OR_RETURN(spryi_matrix_with_values(&made, plan->as_given, o->values, err));
        spryi_matrix_release(plan->as_given);
        plan->as_given = made;
    }
    const int64_t bytes = to->nnz * (int64_t)spry_type_bytes(to->value_type);
    if (!to->values || bytes == 0) return SPRY_OK;
    if (o->stream) SPRYI_OK_OR_RETURN(spryi_wait_for(d, o->stream, err));
    SPRYI_OK_OR_RETURN(
        d->ops->copy(d, (void *)(uintptr_t)to->values, plan->as_given->a.values, bytes, SPRYI_TO_DEVICE, NULL, err));
    return d->ops->synchronize(d, NULL, err);
}

/* Checks that new values are symmetric, because one storage serves both directions. */
static spry_status check_values(const spryi_plan *plan, const void *values, spry_error *err)
{
    const spry_matrix *given = plan->map.given;
    const bool others = values && values != given->a.values;
    spry_matrix *changed = NULL;
    spryi_unequal found;
    if (given->stored || given->a.triangle != SPRY_ALL_ENTRIES || given->a.device > 0) return SPRY_OK;
    if (given->symmetry_holds && given->a.symmetry == SPRY_SYMMETRIC && !others) return SPRY_OK;
    if (others) SPRYI_OK_OR_RETURN(spryi_matrix_with_values(&changed, given, values, err));
    spry_status status = spryi_find_unequal(&found, changed ? changed : given, &(spryi_symmetry_test){0}, err);
    spryi_matrix_release(changed);
    if (status != SPRY_OK || found.row < 0) return status;
    const int base = given->index_base;
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "values", found.row, found.column,
                            "update: one storage serves both directions, since A was symmetric, but the new value at "
                            "(%lld, %lld), counted from %d, is %g and its mirror image %g; expected symmetric values, "
                            "or a new plan",
                            (long long)found.row + base, (long long)found.column + base, base, found.value,
                            found.mirrored);
}

static spry_status update_both(spry_spmv_plan *plan, const spry_update_options *options, spry_error *err)
{
    spry_update_options o = *options;
    spryi_plan *forward = &plan->forward, *backward = plan->backward;
    const double start = spryi_now_us();
    const void *before = forward->map.given->a.values;
    if (o.values && (forward->map.given->stored || backward->map.given->stored)) return spryi_refuse_new_values(err);
    if (backward == forward) {
        const spry_status status = check_values(forward, o.values, err);
        const bool changed_in_place = spryi_values_in_place(forward) && (!o.values || o.values == before);
        plan->is_stale = changed_in_place ? status != SPRY_OK : plan->is_stale && status != SPRY_OK;
        SPRYI_OK_OR_RETURN(status);
    }
    if (plan->pairing.copy) {
        SPRYI_OK_OR_RETURN(copy_values(plan, &o, err));
        o.values = NULL;
    }
    SPRYI_OK_OR_RETURN(spryi_update_one(forward, &o, err));
    if (backward != forward) {
        const spry_status status = spryi_update_one(backward, &o, err);
        if (status != SPRY_OK) { /* the forward direction returns to the values that it read before */
            if (o.values) {
                o.values = before;
                (void)spryi_update_one(forward, &o, NULL);
            }
            return status;
        }
    }
    forward->times.update_us = spryi_now_us() - start;
    return SPRY_OK;
}

spry_status spry_spmv_plan_update(spry_spmv_plan *plan, const spry_update_options *options, spry_error *err)
{
    if (!plan) return spryi_fail_missing(err, "plan");
    spry_update_options o;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    SPRYI_OK_OR_RETURN(plan->backward ? update_both(plan, &o, err) : spryi_update_one(&plan->forward, &o, err));
    spryi_note_update(&plan->of_matrix);
    return SPRY_OK;
}

/* ---- what a plan reports --------------------------------------------------------------------------------- */

/* Fills in the fields that only plans of two directions report. */
static void fill_both(const spry_spmv_plan *plan, spry_spmv_plan_info *info)
{
    const spryi_plan *forward = &plan->forward, *backward = plan->backward;
    const spry_matrix *copy = plan->pairing.copy;
    const int64_t own = spryi_owned_bytes(forward);
    info->other_format = backward->target.format->name;
    info->other_kernel = backward->target.kernel->name;
    info->upload_us += plan->pairing.copy_us;
    if (backward == forward) {
        info->values_in_place = false; /* an update must check that the values are symmetric */
        return;
    }
    const int64_t other = spryi_owned_bytes(backward);
    info->owned_bytes = own + other + copy_bytes(plan);
    info->upload_us += backward->stored.upload_us + backward->map.upload_us;
    if (backward->work.bytes > info->workspace_bytes) info->workspace_bytes = backward->work.bytes;
    info->values_in_place = info->values_in_place && spryi_values_in_place(backward) && !copy;
}

spry_status spry_spmv_plan_get_info(const spry_spmv_plan *of, spry_spmv_plan_info *info, spry_error *err)
{
    if (!of || !info) return spryi_fail_missing(err, !of ? "plan" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_plan *plan = &of->forward;
    const spryi_device *d = plan->request.device;
    const spryi_plan_target *target = &plan->target;
    spry_spmv_plan_info result = {
        .struct_size = sizeof result,
        .op = plan->request.op,
        .device = spryi_reported_device(d),
        .device_name = d->name,
        .format = target->format->name,
        .parameters = plan->stored.parameters,
        .kernel = target->kernel->name,
        .ordering = plan->map.ordering,
        .reason_code = target->reason_code,
        .reason = target->reason,
        .deterministic = !target->kernel->nondeterministic,
        .values_in_place = spryi_values_in_place(plan),
        .threads = d->driver->host_memory ? spryi_team(plan->product.threads) : 0,
        .storage_bytes = spryi_storage_bytes(target->format, plan->stored.storage) + spryi_ordering_bytes(plan, false),
        .owned_bytes = spryi_owned_bytes(plan),
        .workspace_bytes = plan->work.bytes,
        .setup_us = plan->times.setup_us,
        .upload_us = plan->stored.upload_us + plan->map.upload_us,
        .update_us = plan->times.update_us,
        .expanded = spryi_is_expanded(plan),
        .from_file = plan->stored.from_container && !spryi_reads_blocks(plan),
        .kernel_parameters = target->kernel_text,
        .other_format = "",
        .other_kernel = "",
        .value_type = spryi_storage_arrays(plan->stored.storage)->value_type,
    };
    if (of->backward) fill_both(of, &result);
    if (info->struct_size > offsetof(spry_spmv_plan_info, baseline)) spryi_predict_times(of, &result);
    SPRYI_GIVE(info, &result);
    return SPRY_OK;
}
