/* spry_matrix_convert: the matrix in another layout, with other types, sorted, duplicates summed if wanted. */
#include "core/assemble.h"
#include "core/error.h"
#include "spry/tools.h"

static spry_status check_types(const spry_convert_options *o, spry_error *err)
{
    if (o->layout < SPRY_LAYOUT_DEFAULT || o->layout > SPRY_CSC)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "layout", o->layout, SPRY_CSC,
                                "convert: layout is %d, expected SPRY_CSR, SPRY_COO or SPRY_CSC", (int)o->layout);
    SPRYI_OK_OR_RETURN(spryi_check_value_type("convert", o->value_type, SPRY_TYPE_DEFAULT, err));
    SPRYI_OK_OR_RETURN(spryi_check_index_type("convert", "offset_type", o->offset_type, err));
    return spryi_check_index_type("convert", "index_type", o->index_type, err);
}

/* Fills in the defaults of *o, whose types are some, and checks that they hold A's sizes. */
static spry_status resolve_options(spry_convert_options *o, const spry_arrays *A, spry_error *err)
{
    if (o->layout == SPRY_LAYOUT_DEFAULT) o->layout = SPRY_CSR;
    if (o->value_type == SPRY_TYPE_DEFAULT) o->value_type = A->value_type;
    if (o->index_type == SPRY_INDEX_DEFAULT) o->index_type = A->index_type;
    if (o->layout == SPRY_COO) {
        o->offset_type = SPRY_I64; /* it has none: nothing to refuse */
    } else if (o->offset_type == SPRY_INDEX_DEFAULT && A->layout != SPRY_COO && o->index_type == SPRY_I32) {
        o->offset_type = A->offset_type;
    }
    return spryi_pick_index_types(&o->offset_type, &o->index_type, A->rows, A->cols, A->nnz, err);
}

/* The field to write into a file: what A's was, unless the values no longer fit it. */
static spryi_field field_of(const spry_matrix *A, spry_type value_type, int merged)
{
    if (value_type == SPRY_PATTERN) return SPRYI_FIELD_PATTERN;
    if (A->field == SPRYI_FIELD_PATTERN && merged) return SPRYI_INTEGER; /* values 2, 3, ... */
    return A->field;
}

spry_status spry_matrix_convert(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                const spry_convert_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !B ? "B" : !A ? "A" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_status status = SPRY_OK;
    spryi_compressed a = {0};
    spry_matrix *entries = NULL;
    int64_t duplicates = 0;
    spry_convert_options o = SPRY_INIT(spry_convert_options);
    SPRYI_TRY(SPRYI_TAKE(&o, options, err));
    SPRYI_TRY(check_types(&o, err));
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    A = entries;
    SPRYI_TRY(resolve_options(&o, &A->a, err));
    SPRYI_TRY(spryi_compress(context, &a, &A->a, o.layout, o.index_type, err));
    SPRYI_TRY(spryi_merge(context, &a, o.value_type, o.keep_duplicates, &duplicates, err));
    int merged = duplicates > 0 && !o.keep_duplicates;
    /* Sums of the two halves may have been rounded differently: the claim is dropped. */
    spry_symmetry symmetry = merged && o.value_type != SPRY_PATTERN ? SPRY_GENERAL : A->a.symmetry;
    if (o.value_type == SPRY_PATTERN && symmetry == SPRY_SKEW_SYMMETRIC) symmetry = SPRY_SYMMETRIC;
    SPRYI_TRY(spryi_compressed_finish(context, B, &a, o.layout, o.offset_type,
                                      duplicates > 0 && o.keep_duplicates ? SPRY_KNOWN_NO : SPRY_KNOWN_YES, symmetry,
                                      field_of(A, o.value_type, merged), err));
done:
    spryi_matrix_release(entries);
    spryi_compressed_clear(context, &a);
    return status;
}
