/*
 * Plans of both directions: a plan for op(A) that has another for its transpose. A matrix in host memory is copied to a
 * GPU once, and both are made of the copy. It goes when they are made, but where a storage reads its arrays as they are
 * (csr's); then the other is made of it in updates, too.
 */
#include "plan/measured.h"
#include "plan/plan.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- the copy ------------------------------------------------------------------------------------------ */

spry_status spryi_share_copy(spry_spmv_plan *plan, spryi_pairing *pairing, spry_error *err)
{
    const spryi_device *d = plan->device;
    const spry_arrays *a = &plan->A->a;
    const int may = !d->driver->host_memory && a->device == 0 && a->layout == SPRY_CSR && a->index_type == SPRY_I32 &&
                    a->triangle == SPRY_ALL_ENTRIES && !plan->A->stored;
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

/* 1: the storage reads arrays of the copy. */
static int reads_copy(const spry_spmv_plan *plan, const spry_matrix *copy)
{
    const spry_arrays *s = spryi_storage_arrays(plan->format, plan->stored.storage), *a = &copy->a;
    return (s->offsets && s->offsets == a->offsets) || (s->indices && s->indices == a->indices) ||
           (s->values && s->values == a->values);
}

/* ---- making both --------------------------------------------------------------------------------------- */

enum { SAMPLED_ROWS = 64, SAMPLED_ENTRIES = 8, LONGEST_SEARCHED = 4096 };

static int holds(const spry_arrays *a, int64_t i, int64_t j)
{
    const int64_t begin = spryi_offset_of(a, i), end = spryi_offset_of(a, i + 1);
    for (int64_t k = begin; k < end && k < begin + LONGEST_SEARCHED; k++)
        if (spryi_minor_of(a, k) == j) return 1;
    return 0;
}

/* 1: in some rows of CSR in host memory the mirror images of some entries are all stored. */
static int looks_symmetric(const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    if (a->symmetry != SPRY_GENERAL) return 1;
    if (a->rows != a->cols || a->layout != SPRY_CSR || a->device > 0 || A->stored || a->triangle != SPRY_ALL_ENTRIES)
        return 0;
    for (int r = 0; r < SAMPLED_ROWS && r < a->rows; r++) {
        const int64_t i = a->rows / SAMPLED_ROWS * r + a->rows % SAMPLED_ROWS * r / SAMPLED_ROWS;
        const int64_t begin = spryi_offset_of(a, i), count = spryi_offset_of(a, i + 1) - begin;
        for (int e = 0; e < SAMPLED_ENTRIES && e < count; e++)
            if (!holds(a, spryi_minor_of(a, begin + count * e / SAMPLED_ENTRIES), i)) return 0;
    }
    return a->rows > 0;
}

/* Finds whether one storage serves both directions: the claim of symmetry holds, and there are no scalings. */
static spry_status is_own_transpose(bool *is, const spry_matrix *A, const spry_spmv_options *o, spry_error *err)
{
    spryi_unequal found;
    *is = A->a.symmetry == SPRY_SYMMETRIC && !o->row_scaling && !o->column_scaling;
    if (*is && A->a.device > 0) *is = A->symmetry_holds; /* the entries are not on the host */
    if (!*is) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_find_false_claim(&found, A, err));
    *is = found.row < 0;
    return SPRY_OK;
}

/* The options of the other direction. */
static spry_spmv_options options_of_other(const spry_spmv_options *given)
{
    spry_spmv_options o = *given;
    o.op = given->op == SPRY_TRANSPOSE ? SPRY_NO_TRANSPOSE : SPRY_TRANSPOSE;
    return o;
}

/* Plans the other direction of `first` with a limit of its own. */
static spry_status make_other(spry_spmv_plan *first, const spry_matrix *A, const spry_spmv_options *given,
                              int64_t limit, spryi_pairing *pairing, spry_error *err)
{
    char format[160];
    spryi_trial trial = {0};
    spry_spmv_options o = options_of_other(given);
    o.memory_limit_bytes = limit;
    pairing->flips = o.kernel != NULL;
    if (!o.kernel && spryi_format_is_auto(&o) && looks_symmetric(A)) {
        const char *parameters = first->stored.parameters;
        spry_error why = SPRY_ERROR_INIT;
        snprintf(format, sizeof format, "%s%s%s", first->format->name, parameters[0] ? ":" : "", parameters);
        o.format = format;
        pairing->flips = 1;
        if (spryi_plan_one(first->context, &first->other, A, &o, &trial, pairing, &why) == SPRY_OK) return SPRY_OK;
        o.format = given->format;
        pairing->flips = 0;
    }
    return spryi_plan_one(first->context, &first->other, A, &o, &trial, pairing, err);
}

/* Returns what `limit` leaves beside `taken` bytes, at least 1. */
static int64_t left_of(int64_t limit, int64_t taken)
{
    return limit == 0 || limit == INT64_MAX ? limit : limit > taken ? limit - taken : 1;
}

/* Returns a limit that suffices for the other direction, found by a plan that may own one byte. */
static int64_t needs_of_other(spry_context *context, const spry_matrix *A, const spry_spmv_options *given,
                              spryi_pairing *pairing)
{
    spryi_trial trial = {0};
    spry_error why = SPRY_ERROR_INIT;
    spry_spmv_plan *other = NULL;
    spry_spmv_options o = options_of_other(given);
    o.memory_limit_bytes = 1;
    pairing->flips = o.kernel != NULL;
    const spry_status status = spryi_plan_one(context, &other, A, &o, &trial, pairing, &why);
    const int64_t bytes = status == SPRY_OK                   ? spryi_most_owned_bytes(other)
                          : spryi_is_over_limit(status, &why) ? why.value
                                                              : 0;
    pairing->flips = 0;
    spry_spmv_plan_destroy(other);
    return bytes;
}

static spry_status refuse_both(int64_t bytes, int64_t limit, spry_error *err)
{
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                            "a plan of both directions would own up to %lld bytes, over the limit of %lld",
                            (long long)bytes, (long long)limit);
}

/* Bytes of the copy on the device, which both directions may go on reading. */
static int64_t copy_bytes(const spryi_pairing *pairing)
{
    return pairing->copy ? spryi_arrays_bytes(&pairing->copy->a) : 0;
}

/*
 * Plans both directions under the limit of *o. The first takes what it likes; if that leaves too little for the other,
 * the first is planned again with what the other leaves.
 */
static spry_status make_pair(spry_context *context, spry_spmv_plan **first, const spry_matrix *A,
                             const spry_spmv_options *o, spryi_pairing *pairing, spry_error *err)
{
    const int64_t limit = o->memory_limit_bytes;
    int64_t other = 0, taken = 0;
    for (int pass = 0; pass < 2; pass++) {
        spry_spmv_options own = *o;
        spryi_trial trial = {0};
        spry_error why = SPRY_ERROR_INIT;
        own.memory_limit_bytes = left_of(limit, spryi_add_bytes(other, copy_bytes(pairing)));
        spry_status status = spryi_plan_one(context, first, A, &own, &trial, pairing, &why);
        if (spryi_is_over_limit(status, &why)) {
            taken = spryi_add_bytes(why.value, copy_bytes(pairing));
            if (pass == 0) other = needs_of_other(context, A, o, pairing);
            break;
        }
        if (status != SPRY_OK) return spryi_hand_on(err, &why);
        taken = spryi_add_bytes(spryi_most_owned_bytes(*first), copy_bytes(pairing));
        status = make_other(*first, A, o, left_of(limit, taken), pairing, &why);
        if (status == SPRY_OK) return SPRY_OK;
        if (!spryi_is_over_limit(status, &why)) return spryi_hand_on(err, &why);
        other = needs_of_other(context, A, o, pairing);
        if (pass == 0) {
            spry_spmv_plan_destroy(*first);
            *first = NULL;
            pairing->flips = 0;
        }
    }
    return refuse_both(spryi_add_bytes(taken, other), limit, err);
}

/* Releases the copy, unless a storage reads its arrays. The plans refer to A's arrays from then on. */
static spry_status settle_copy(spry_spmv_plan *plan, const spry_matrix *A, spryi_pairing *pairing, spry_error *err)
{
    spry_matrix *given;
    if (!pairing->copy) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &given, err));
    plan->shared_us = pairing->copy_us;
    if (reads_copy(plan, pairing->copy) || reads_copy(plan->other, pairing->copy)) {
        plan->as_given = given;
        plan->shared = spryi_matrix_retain(pairing->copy);
        return SPRY_OK;
    }
    spryi_refer_to(plan, pairing->copy, given);
    spryi_refer_to(plan->other, pairing->copy, given);
    spryi_list_read(plan);
    spryi_list_read(plan->other);
    spryi_matrix_release(given);
    return SPRY_OK;
}

spry_status spryi_plan_both(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                            const spry_spmv_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !plan ? "plan" : !A ? "A" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_status status = SPRY_OK;
    spryi_trial trial = {0};
    spryi_pairing pairing = {0};
    spry_spmv_plan *made = NULL;
    spry_spmv_options o = *options;
    bool one_storage;
    o.both_directions = 0;
    SPRYI_TRY(is_own_transpose(&one_storage, A, &o, err));
    if (one_storage) {
        SPRYI_TRY(spryi_plan_one(context, &made, A, &o, &trial, NULL, err));
        made->other = made;
    } else {
        SPRYI_TRY(make_pair(context, &made, A, &o, &pairing, err));
        SPRYI_TRY(settle_copy(made, A, &pairing, err));
        made->setup_us += made->other->setup_us;
    }
    *plan = made;
    made = NULL;
done:
    spryi_matrix_release(pairing.copy);
    spry_spmv_plan_destroy(made);
    return status;
}

void spryi_discard_both(spry_spmv_plan *plan)
{
    if (plan->other != plan) spry_spmv_plan_destroy(plan->other);
    plan->other = NULL;
    spryi_matrix_release(plan->as_given);
    spryi_matrix_release(plan->shared);
    plan->as_given = plan->shared = NULL;
}

/* ---- values that change -------------------------------------------------------------------------------- */

/* The values that the caller changed, or other ones, into the copy that both are made of. */
static spry_status copy_values(spry_spmv_plan *plan, const spry_update_options *o, spry_error *err)
{
    const spryi_device *d = plan->device;
    const spry_arrays *to = &plan->shared->a;
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

/* Checks that new values are symmetric, since one storage serves both directions. */
static spry_status check_values(const spry_spmv_plan *plan, const void *values, spry_error *err)
{
    const spry_matrix *given = plan->order ? plan->order->given : plan->A;
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

spry_status spryi_update_both(spry_spmv_plan *plan, const spry_update_options *options, spry_error *err)
{
    spry_update_options o;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    const double start = spryi_now_us();
    if (plan->other == plan) SPRYI_OK_OR_RETURN(check_values(plan, o.values, err));
    if (plan->shared) {
        SPRYI_OK_OR_RETURN(copy_values(plan, &o, err));
        o.values = NULL;
    }
    SPRYI_OK_OR_RETURN(spryi_update_one(plan, &o, err));
    if (plan->other != plan) SPRYI_OK_OR_RETURN(spryi_update_one(plan->other, &o, err));
    plan->update_us = spryi_now_us() - start;
    return SPRY_OK;
}

/* ---- what they cost ------------------------------------------------------------------------------------ */

void spryi_tell_both(const spry_spmv_plan *plan, spry_spmv_plan_info *info)
{
    const spry_spmv_plan *other = plan->other;
    const int64_t own = spryi_owned_bytes(plan);
    info->other_format = other->format->name;
    info->other_kernel = other->kernel->name;
    info->two_plans_bytes = 2 * own;
    info->upload_us += plan->shared_us;
    if (other == plan) return;
    const int64_t copy = plan->shared ? spryi_arrays_bytes(&plan->shared->a) : 0;
    const int64_t read = plan->shared ? (reads_copy(plan, plan->shared) + reads_copy(other, plan->shared)) * copy : 0;
    info->owned_bytes = own + spryi_owned_bytes(other) + copy;
    info->two_plans_bytes = own + spryi_owned_bytes(other) + read;
    info->upload_us += other->stored.upload_us + (other->order ? other->order->upload_us : 0);
    if (other->workspace_bytes > info->workspace_bytes) info->workspace_bytes = other->workspace_bytes;
    info->values_in_place = info->values_in_place && spryi_values_in_place(other) && !plan->shared;
}
