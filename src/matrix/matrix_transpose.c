/* spry_matrix_transpose. */
#include "base/error.h"
#include "base/memory.h"
#include "matrix/device_operation.h"
#include "matrix/operation.h"
#include "matrix/row_lengths.h"

/* Returns whether the transpose has A's types and layout CSR, so that entries are only moved, not converted. */
static bool only_moves(const spry_matrix_options *o, const spry_arrays *a)
{
    spry_index_type offset_type = o->offset_type, index_type = o->index_type;
    if (a->layout != SPRY_CSR || o->layout != SPRY_CSR || o->value_type != a->value_type) return false;
    if (spryi_pick_index_types(&offset_type, &index_type, a->rows, a->columns, a->nnz, NULL) != SPRY_OK) return false;
    return offset_type == a->offset_type && index_type == a->index_type;
}

/* Converts A to CSC, whose arrays are the CSR arrays of the transpose. *B remains NULL if duplicates must be summed. */
static spry_status move_entries(spry_context *context, spry_matrix **B, const spry_matrix *A, bool keep_duplicates,
                                spry_error *err)
{
    spry_matrix *made = NULL;
    SPRYI_OK_OR_RETURN(spryi_csc_from_csr(context, &made, A, err));
    const spry_arrays flipped = spryi_transposed_view(&made->a);
    made->a = flipped;
    made->a.ownership = SPRY_COPY;
    if (made->a.unique != SPRY_KNOWN_YES)
        made->a.unique = spryi_rows_rise(context, &made->a) ? SPRY_KNOWN_YES : SPRY_KNOWN_NO;
    if (!keep_duplicates && made->a.unique == SPRY_KNOWN_NO) {
        spryi_matrix_release(made);
        return SPRY_OK;
    }
    made->index_base = A->index_base;
    made->symmetry_holds = A->symmetry_holds;
    *B = made;
    return SPRY_OK;
}

static spry_status transpose_on_host(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                     spry_matrix_options *o, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *entries = NULL, *made = NULL;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    if (only_moves(o, &entries->a)) SPRYI_TRY(move_entries(context, &made, entries, o->keep_duplicates, err));
    if (!made) {
        const spry_arrays view = spryi_transposed_view(&entries->a);
        SPRYI_TRY(spryi_check_result(o, view.rows, view.columns, o->keep_duplicates ? view.nnz : 0, err));
        SPRYI_TRY(spryi_compress(context, &c, &view, o->layout, o->index_type, err));
        SPRYI_TRY(spryi_deliver(context, &made, &c, o, entries, entries->a.symmetry, err));
    }
    *B = made;
done:
    spryi_matrix_release(entries);
    spryi_compressed_clear(context, &c);
    return status;
}

static spry_status transpose_on_device(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                       const spry_matrix_options *o, spry_error *err)
{
    spryi_device_result result;
    spry_status status = SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_begin_on_device(&result, context, "transpose", A, o, A->a.value_type, err));
    result.made.rows = A->a.columns;
    result.made.columns = A->a.rows;
    result.symmetry = A->a.symmetry;
    SPRYI_TRY(result.functions->transpose(result.device, &result.made, &result.entries[0]->a, err));
    SPRYI_TRY(spryi_deliver_from_device(&result, B, A, o, err));
done:
    spryi_end_on_device(&result);
    return status;
}

spry_status spry_matrix_transpose(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                  const spry_matrix_options *options, spry_error *err)
{
    SPRYI_NEEDS(context, err);
    SPRYI_NEEDS(B, err);
    SPRYI_NEEDS(A, err);
    spry_matrix_options o;
    SPRYI_OK_OR_RETURN(spryi_take_matrix_options(&o, options, "transpose", A, err));
    if (o.value_type == SPRY_TYPE_DEFAULT) o.value_type = A->a.value_type;
    return A->a.device > 0 ? transpose_on_device(context, B, A, &o, err) : transpose_on_host(context, B, A, &o, err);
}
