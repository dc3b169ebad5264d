#include "matrix/operation.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "matrix/row_lengths.h"

/* ---- options and operands -------------------------------------------------------------------------- */

spry_status spryi_take_matrix_options(spry_matrix_options *o, const spry_matrix_options *options, const char *who,
                                      const spry_matrix *A, spry_error *err)
{
    *o = SPRY_INIT(spry_matrix_options);
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(o, options, err));
    SPRYI_OK_OR_RETURN(spryi_check_range(who, "layout", o->layout, SPRY_LAYOUT_DEFAULT, SPRY_CSC,
                                         "SPRY_CSR, SPRY_COO or SPRY_CSC", err));
    SPRYI_OK_OR_RETURN(spryi_check_value_type(who, o->value_type, SPRY_TYPE_DEFAULT, err));
    SPRYI_OK_OR_RETURN(spryi_check_index_type(who, "offset_type", o->offset_type, err));
    SPRYI_OK_OR_RETURN(spryi_check_index_type(who, "index_type", o->index_type, err));
    if (o->layout == SPRY_LAYOUT_DEFAULT) o->layout = SPRY_CSR;
    if (o->index_type == SPRY_INDEX_DEFAULT) o->index_type = A->a.index_type;
    if (o->layout == SPRY_COO) o->offset_type = SPRY_I64; /* type of intermediate offsets; COO has none */
    return SPRY_OK;
}

spry_status spryi_check_result(const spry_matrix_options *o, int64_t rows, int64_t columns, int64_t nnz,
                               spry_error *err)
{
    spry_index_type offset_type = o->offset_type, index_type = o->index_type;
    return spryi_pick_index_types(&offset_type, &index_type, rows, columns, nnz, err);
}

spry_status spryi_check_arithmetic(const char *who, const char *name, spry_type type, spry_error *err)
{
    if (type == SPRY_PATTERN || spryi_value_slot(type) >= 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_UNSUPPORTED, name, type, SPRY_F64,
                            "%s: values of %s are %s, expected f32, f64 or a pattern: convert them first", who, name,
                            spry_type_name(type));
}

spry_status spryi_check_operand_vector(spry_const_vector *v, const char *who, const char *name, int64_t length,
                                       const spry_matrix *A, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_check_reserved(v, name, err));
    *v = spryi_resolved(*v);
    if (v->count != 1)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->count, 1, "%s: %s has %lld vectors, expected 1", who,
                                name, (long long)v->count);
    if (v->length != length)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->length, length,
                                "%s: %s has %lld elements, expected %lld", who, name, (long long)v->length,
                                (long long)length);
    if (spryi_value_slot(v->type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->type, SPRY_F64,
                                "%s: %s has type %d, expected SPRY_F32 or SPRY_F64", who, name, (int)v->type);
    if (v->device != A->a.device)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->device, A->a.device,
                                "%s: %s is on device %d and the matrix on device %d, expected one device", who, name,
                                v->device, A->a.device);
    if (!v->data && length > 0) return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "%s: %s has no data", who, name);
    if ((uintptr_t)v->data % spry_type_bytes(v->type) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "%s: data of %s are not aligned to %zu bytes", who, name,
                          spry_type_bytes(v->type));
    if (v->row_stride < 1 || (length > 1 && v->row_stride > INT64_MAX / 16 / length))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->row_stride, 1,
                                "%s: row_stride of %s is %lld, expected 1 or more, within memory", who, name,
                                (long long)v->row_stride);
    return SPRY_OK;
}

spry_status spryi_show_rows(spry_context *context, spry_arrays *rows, spryi_compressed *made, const spry_matrix *A,
                            bool sorted, spry_error *err)
{
    *rows = A->a;
    if (A->a.layout == SPRY_CSR && (!sorted || A->a.sorted == SPRY_KNOWN_YES || spryi_rows_rise(context, &A->a)))
        return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_compress(context, made, &A->a, SPRY_CSR, A->a.index_type, err));
    *rows = spryi_compressed_view(made);
    return SPRY_OK;
}

/* ---- results ---------------------------------------------------------------------------------------- */

spryi_field spryi_field_of(const spry_matrix *A, spry_type value_type, bool merged)
{
    if (value_type == SPRY_PATTERN) return SPRYI_FIELD_PATTERN;
    return A->field == SPRYI_FIELD_PATTERN && merged ? SPRYI_INTEGER : A->field;
}

spry_status spryi_deliver(spry_context *context, spry_matrix **B, spryi_compressed *c, const spry_matrix_options *o,
                          const spry_matrix *A, spry_symmetry symmetry, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t duplicates = 0;
    spry_index_type offset_type = o->offset_type, index_type = o->index_type;
    const int64_t majors = c->labels ? c->all_majors : c->majors;
    const spry_type exact = o->keep_duplicates ? c->value_type : SPRY_PATTERN;
    SPRYI_TRY(
        spryi_merge(context, c, o->value_type, o->keep_duplicates ? SPRYI_KEEP_ALL : SPRYI_SUM_ALL, &duplicates, err));
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, majors, c->minors, c->nnz, err));
    /* rounded sums may differ from their mirror images */
    if (duplicates > 0 && o->value_type != exact) symmetry = SPRY_GENERAL;
    if (o->value_type == SPRY_PATTERN && symmetry == SPRY_SKEW_SYMMETRIC) symmetry = SPRY_SYMMETRIC;
    const spry_known unique = duplicates > 0 && o->keep_duplicates ? SPRY_KNOWN_NO : SPRY_KNOWN_YES;
    SPRYI_OK_OR_RETURN(spryi_compressed_finish(context, B, c, o->layout, offset_type, unique, symmetry,
                                               spryi_field_of(A, o->value_type, duplicates > 0 && !o->keep_duplicates),
                                               err));
    (*B)->index_base = A->index_base;
    (*B)->symmetry_holds = symmetry != SPRY_GENERAL && A->symmetry_holds;
done:
    spryi_compressed_clear(context, c);
    return status;
}

spry_status spryi_deliver_rows(spry_context *context, spry_matrix **B, spryi_compressed *c,
                               const spry_matrix_options *o, const spry_matrix *A, spry_symmetry symmetry,
                               spry_error *err)
{
    spry_status status = SPRY_OK;
    if (o->layout == SPRY_CSC) {
        spryi_compressed columns = {0};
        const spry_arrays rows = spryi_compressed_view(c);
        status = spryi_compress(context, &columns, &rows, SPRY_CSC, c->index_type, err);
        spryi_compressed_clear(context, c);
        *c = columns;
    } else {
        status = spryi_sort(context, c, err);
    }
    if (status == SPRY_OK) return spryi_deliver(context, B, c, o, A, symmetry, err);
    spryi_compressed_clear(context, c);
    return status;
}
