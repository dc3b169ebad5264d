#include "matrix/device_operation.h"

#include "base/error.h"
#include "base/memory.h"

spry_status spryi_operand_device(const spryi_device **device, const spry_context *context, const char *who,
                                 const spry_matrix *A, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_device_usable(context, device, A->a.device, err));
    if (!(*device)->ops->matrix)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "A", A->a.device, 0, "%s: not available on device %s", who,
                                (*device)->name);
    if (A->a.index_type != SPRY_I32)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "A", A->a.index_type, SPRY_I32,
                                "%s: indices of a matrix on a GPU are of 64 bits, expected 32", who);
    return SPRY_OK;
}

/* Checks that the options request what a GPU can create: CSR with 32-bit indices and values of value_type. */
static spry_status check_form(const char *who, const spry_matrix_options *o, spry_type value_type, spry_error *err)
{
    if (o->layout != SPRY_CSR)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "layout", o->layout, SPRY_CSR,
                                "%s: layout is %d, but a result on a GPU must be SPRY_CSR", who, (int)o->layout);
    if (o->index_type != SPRY_I32)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "index_type", o->index_type, SPRY_I32,
                                "%s: index_type is SPRY_I64, but a result on a GPU has 32-bit indices", who);
    if (o->value_type != value_type)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "value_type", o->value_type, value_type,
                                "%s: value_type is %s, but the result on a GPU must be %s", who,
                                spry_type_name(o->value_type), spry_type_name(value_type));
    return SPRY_OK;
}

spry_status spryi_begin_on_device(spryi_device_result *result, spry_context *context, const char *who,
                                  const spry_matrix *A, const spry_matrix_options *o, spry_type value_type,
                                  spry_error *err)
{
    *result = (spryi_device_result){.context = context};
    SPRYI_OK_OR_RETURN(spryi_operand_device(&result->device, context, who, A, err));
    SPRYI_OK_OR_RETURN(check_form(who, o, value_type, err));
    result->functions = result->device->ops->matrix;
    result->made = spryi_types_of(A->a.rows, A->a.columns, 0, (int32_t)value_type, (int32_t)o->offset_type, SPRY_I32);
    result->made.device = A->a.device;
    SPRYI_OK_OR_RETURN(spryi_wait_for(result->device, o->stream, err));
    return spryi_matrix_entries(A, &result->entries[0], err);
}

static void release_arrays(const spryi_device *device, spry_arrays *a)
{
    device->ops->release(device, (void *)(uintptr_t)a->offsets);
    device->ops->release(device, (void *)(uintptr_t)a->indices);
    device->ops->release(device, (void *)(uintptr_t)a->values);
    a->offsets = a->indices = a->values = NULL;
}

void spryi_end_on_device(spryi_device_result *result)
{
    release_arrays(result->device, &result->made);
    for (int m = 0; m < 2; m++) spryi_matrix_release(result->entries[m]);
    for (int s = 0; s < 2; s++) release_arrays(result->device, &result->sorted[s]);
    for (int l = 0; l < result->lists; l++) result->device->ops->release(result->device, result->list[l]);
}

spry_status spryi_upload_list(spryi_device_result *result, const int64_t **on_device, const int64_t *list,
                              int64_t count, spry_error *err)
{
    const spryi_device *device = result->device;
    const int64_t bytes = count * (int64_t)sizeof *list;
    void **made = &result->list[result->lists];
    *on_device = NULL;
    if (!list) return SPRY_OK;
    SPRYI_OK_OR_RETURN(device->ops->allocate(device, made, bytes, "selection", err));
    result->lists++;
    *on_device = *made;
    return bytes > 0 ? device->ops->copy(device, *made, list, bytes, SPRYI_TO_DEVICE, NULL, err) : SPRY_OK;
}

/* ---- the order of rows ------------------------------------------------------------------------------ */

static spry_status order_of(const spryi_device_result *result, spryi_row_order *order, const spry_matrix *A,
                            spry_error *err)
{
    *order = SPRYI_ROWS_RISING;
    if (A->a.sorted == SPRY_KNOWN_YES && A->a.unique == SPRY_KNOWN_YES) return SPRY_OK;
    return result->functions->inspect(result->device, order, &A->a, err);
}

/* Copies a to *to with sorted rows and values of value_type. */
static spry_status sort_rows(const spryi_device_result *result, spry_arrays *to, bool *repeats, const spry_arrays *a,
                             spry_type value_type, bool keep_duplicates, spry_error *err)
{
    *to = spryi_types_of(a->rows, a->columns, 0, (int32_t)value_type, (int32_t)a->offset_type, SPRY_I32);
    to->device = a->device;
    return result->functions->sort(result->device, to, repeats, a, keep_duplicates, err);
}

spry_status spryi_sorted_on_device(spryi_device_result *result, spry_arrays *rows, bool *repeats, const spry_matrix *A,
                                   spry_error *err)
{
    spryi_row_order order;
    *rows = A->a;
    SPRYI_OK_OR_RETURN(order_of(result, &order, A, err));
    *repeats = order == SPRYI_ROWS_SORTED;
    if (order != SPRYI_ROWS_UNSORTED) return SPRY_OK;
    SPRYI_OK_OR_RETURN(sort_rows(result, &result->sorted[0], repeats, &A->a, A->a.value_type, true, err));
    *rows = result->sorted[0];
    return SPRY_OK;
}

spry_status spryi_rising_on_device(spryi_device_result *result, int slot, spry_arrays *rows, bool *repeats,
                                   const spry_matrix *A, spry_error *err)
{
    spryi_row_order order;
    *rows = A->a;
    *repeats = false;
    SPRYI_OK_OR_RETURN(order_of(result, &order, A, err));
    if (order == SPRYI_ROWS_RISING) return SPRY_OK;
    SPRYI_OK_OR_RETURN(sort_rows(result, &result->sorted[slot], repeats, &A->a, result->made.value_type, false, err));
    *rows = result->sorted[slot];
    return SPRY_OK;
}

/* Sorts result->made unless its order is sufficient. Sums get the type value_type. */
static spry_status tidy(spryi_device_result *result, spry_type value_type, bool keep_duplicates, bool *repeats,
                        spry_error *err)
{
    spryi_row_order order = SPRYI_ROWS_RISING;
    spry_arrays sorted;
    if (!result->rises) SPRYI_OK_OR_RETURN(result->functions->inspect(result->device, &order, &result->made, err));
    *repeats = order == SPRYI_ROWS_SORTED;
    if (order == SPRYI_ROWS_RISING || (*repeats && keep_duplicates)) return SPRY_OK;
    spry_status status = sort_rows(result, &sorted, repeats, &result->made, value_type, keep_duplicates, err);
    release_arrays(result->device, &result->made);
    result->made = sorted;
    return status;
}

spry_status spryi_deliver_from_device(spryi_device_result *result, spry_matrix **B, const spry_matrix *A,
                                      const spry_matrix_options *o, spry_error *err)
{
    bool repeats;
    SPRYI_OK_OR_RETURN(tidy(result, o->value_type, o->keep_duplicates, &repeats, err));
    spry_arrays made = result->made;
    result->made.offsets = result->made.indices = result->made.values = NULL; /* the matrix owns the arrays, also
                                                                               * after a failure */
    const bool is_exact = !repeats || (o->keep_duplicates || o->value_type == SPRY_PATTERN);
    made.symmetry = is_exact ? result->symmetry : SPRY_GENERAL;
    if (o->value_type == SPRY_PATTERN && made.symmetry == SPRY_SKEW_SYMMETRIC) made.symmetry = SPRY_SYMMETRIC;
    made.sorted = SPRY_KNOWN_YES;
    made.unique = repeats && o->keep_duplicates ? SPRY_KNOWN_NO : SPRY_KNOWN_YES;
    const spryi_field field = spryi_field_of(A, made.value_type, repeats && !o->keep_duplicates);
    SPRYI_OK_OR_RETURN(spryi_matrix_adopt(result->context, B, &made, field, err));
    (*B)->index_base = A->index_base;
    (*B)->symmetry_holds = made.symmetry != SPRY_GENERAL && A->symmetry_holds;
    return SPRY_OK;
}
