/* spry_matrix_scale and spry_matrix_diagonal. */
#include "base/context.h"
#include "base/element.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/device_operation.h"
#include "matrix/operation.h"

#include <string.h>

/* ---- scaling -------------------------------------------------------------------------------------------- */

/* Scalings of the majors and the minors of arrays; data NULL: the identity. */
typedef struct scale_job {
    const spryi_compressed *a;
    spry_const_vector major, minor;
    void *values;
    spry_type value_type;
} scale_job;

static inline double factor_at(const spry_const_vector *v, int64_t i)
{
    return v->data ? spryi_value_at(v->data, v->type, i * v->row_stride) : 1;
}

/* Multiplies by the factor of the smaller index first, so that an entry and its mirror image get the same bits. */
static void scale_majors(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const scale_job j = *(const scale_job *)job; /* local copies, so that writes to arrays force no reload */
    const spryi_compressed a = *j.a;
    for (int64_t i = begin; i < end; i++) {
        const double own = factor_at(&j.major, a.labels ? a.labels[i] : i);
        const int64_t line = a.labels ? a.labels[i] : i;
        for (int64_t k = a.offsets[i]; k < a.offsets[i + 1]; k++) {
            const int64_t other = spryi_index_at(a.indices, a.index_type, k);
            const double value = spryi_value_at(a.values, a.value_type, k), factor = factor_at(&j.minor, other);
            spryi_set_value(j.values, j.value_type, k, line <= other ? own * value * factor : factor * value * own);
        }
    }
}

/* Scales the values of *c and converts them to value_type. */
static spry_status scale_values(spry_context *context, spryi_compressed *c, const spry_const_vector *major,
                                const spry_const_vector *minor, spry_type value_type, spry_error *err)
{
    enum { MAJORS = 512 };
    scale_job j = {c, *major, *minor, c->values, value_type};
    if (value_type != c->value_type)
        SPRYI_OK_OR_RETURN(spryi_allocate(context, &j.values, c->nnz, spry_type_bytes(value_type), "values", err));
    spryi_loop(context, spryi_threads(context, c->nnz), c->majors, MAJORS, scale_majors, &j);
    if (j.values != c->values) spryi_release(context, c->values);
    c->values = j.values;
    c->value_type = value_type;
    return SPRY_OK;
}

/* Returns whether the row scaling and the column scaling are known to be equal. */
static bool are_equal(const spry_const_vector *r, const spry_const_vector *c)
{
    if (!r->data || !c->data) return r->data == c->data;
    return r->data == c->data && r->type == c->type && r->row_stride == c->row_stride;
}

static spry_status scale_on_host(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                 const spry_const_vector *row, const spry_const_vector *column, spry_matrix_options *o,
                                 spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *entries = NULL, *made = NULL;
    spryi_compressed c = {0};
    int64_t duplicates = 0;
    const bool by_column = o->layout == SPRY_CSC, scales = row->data || column->data;
    SPRYI_TRY(spryi_check_result(o, A->a.rows, A->a.columns, 0, err));
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    SPRYI_TRY(spryi_compress(context, &c, &entries->a, o->layout, o->index_type, err));
    SPRYI_TRY(spryi_merge(context, &c, c.value_type, SPRYI_KEEP_ALL, &duplicates, err));
    if (scales && o->value_type != SPRY_PATTERN) { /* duplicates are rounded once, after they are summed */
        const spry_type type = duplicates > 0 && !o->keep_duplicates ? SPRY_F64 : o->value_type;
        SPRYI_TRY(scale_values(context, &c, by_column ? column : row, by_column ? row : column, type, err));
    }
    /* scaled duplicates may have another sum than their mirror images */
    const bool keeps = are_equal(row, column) && !(scales && duplicates > 0);
    SPRYI_TRY(spryi_deliver(context, &made, &c, o, entries, keeps ? entries->a.symmetry : SPRY_GENERAL, err));
    if (scales && o->value_type != SPRY_PATTERN) made->field = SPRYI_REAL;
    *B = made;
done:
    spryi_matrix_release(entries);
    spryi_compressed_clear(context, &c);
    return status;
}

static spry_status scale_on_device(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                   const spry_const_vector *row, const spry_const_vector *column,
                                   const spry_matrix_options *o, spry_type natural, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_device_result result;
    bool repeats = false;
    spry_arrays rows;
    const bool scales = row->data || column->data;
    SPRYI_OK_OR_RETURN(spryi_begin_on_device(&result, context, "scale", A, o, natural, err));
    A = result.entries[0];
    SPRYI_TRY(spryi_sorted_on_device(&result, &rows, &repeats, A, err));
    if (are_equal(row, column) && !(scales && repeats)) result.symmetry = A->a.symmetry;
    if (scales && repeats && !o->keep_duplicates && natural != SPRY_PATTERN)
        result.made.value_type = SPRY_F64; /* duplicates are rounded once, after they are summed */
    SPRYI_TRY(result.functions->scale(result.device, &result.made, &rows, row, column, err));
    SPRYI_TRY(spryi_deliver_from_device(&result, B, A, o, err));
    if (scales && o->value_type != SPRY_PATTERN) (*B)->field = SPRYI_REAL;
done:
    spryi_end_on_device(&result);
    return status;
}

spry_status spry_matrix_scale(spry_context *context, spry_matrix **B, const spry_matrix *A,
                              spry_const_vector row_scaling, spry_const_vector column_scaling,
                              const spry_matrix_options *options, spry_error *err)
{
    SPRYI_NEEDS(context, err);
    SPRYI_NEEDS(B, err);
    SPRYI_NEEDS(A, err);
    spry_matrix_options o;
    SPRYI_OK_OR_RETURN(spryi_take_matrix_options(&o, options, "scale", A, err));
    SPRYI_OK_OR_RETURN(spryi_check_arithmetic("scale", "A", A->a.value_type, err));
    if (row_scaling.data)
        SPRYI_OK_OR_RETURN(spryi_check_operand_vector(&row_scaling, "scale", "row_scaling", A->a.rows, A, err));
    if (column_scaling.data)
        SPRYI_OK_OR_RETURN(
            spryi_check_operand_vector(&column_scaling, "scale", "column_scaling", A->a.columns, A, err));
    if (row_scaling.data && column_scaling.data && row_scaling.type != column_scaling.type)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "column_scaling", column_scaling.type, row_scaling.type,
                                "scale: row_scaling is %s and column_scaling is %s, expected one type",
                                spry_type_name(row_scaling.type), spry_type_name(column_scaling.type));
    const spry_const_vector *given = row_scaling.data ? &row_scaling : &column_scaling;
    const spry_type natural = A->a.value_type == SPRY_PATTERN && given->data ? given->type : A->a.value_type;
    if (o.value_type == SPRY_TYPE_DEFAULT) o.value_type = natural;
    SPRYI_OK_OR_RETURN(spryi_check_arithmetic("scale", "value_type", o.value_type, err));
    return A->a.device > 0 ? scale_on_device(context, B, A, &row_scaling, &column_scaling, &o, natural, err)
                           : scale_on_host(context, B, A, &row_scaling, &column_scaling, &o, err);
}

/* ---- the diagonal --------------------------------------------------------------------------------------- */

typedef struct diagonal_job {
    const spry_arrays *a;
    const spry_vector *d;
} diagonal_job;

/* Sums the entries (i, i) of majors begin .. end - 1 in stored order. */
static void sum_diagonal(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    /* local copies, so that writes to arrays force no reload */
    const spry_arrays a = *((const diagonal_job *)job)->a;
    const spry_vector d = *((const diagonal_job *)job)->d;
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = spryi_offset_of(&a, i + 1);
        double sum = 0;
        for (int64_t k = spryi_offset_of(&a, i); k < last; k++)
            if (spryi_minor_of(&a, k) == i) sum += spryi_value_of(&a, k);
        spryi_set_value(d.data, d.type, i * d.row_stride, sum);
    }
}

/* Sums the diagonal of COO, whose entries are in any order. */
static spry_status sum_scattered(spry_context *context, const spry_arrays *a, const spry_vector *d, spry_error *err)
{
    SPRYI_DEFAULT_FLOATS;
    double *sums = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &sums, d->length, "diagonal", err));
    for (int64_t i = 0; i < d->length; i++) sums[i] = 0;
    for (int64_t k = 0; k < a->nnz; k++) {
        const int64_t i = spryi_row_of(a, k);
        if (i == spryi_minor_of(a, k)) sums[i] += spryi_value_of(a, k);
    }
    for (int64_t i = 0; i < d->length; i++) spryi_set_value(d->data, d->type, i * d->row_stride, sums[i]);
    spryi_release(context, sums);
    return SPRY_OK;
}

/*
 * Sums the diagonal. Reads one triangle directly, since it contains the whole diagonal. Converts containers and blocks
 * first, since they do not list their entries.
 */
static spry_status diagonal_on_host(const spry_matrix *A, const spry_vector *d, spry_error *err)
{
    spry_matrix *entries = NULL;
    spry_status status = SPRY_OK;
    const bool lists = !A->stored && A->a.layout != SPRY_BSR;
    SPRYI_OK_OR_RETURN(lists ? SPRY_OK : spryi_matrix_entries(A, &entries, err));
    const spry_arrays *a = entries ? &entries->a : &A->a;
    if (a->layout == SPRY_COO)
        status = sum_scattered(A->context, a, d, err);
    else
        spryi_loop(A->context, spryi_threads(A->context, a->nnz), d->length, 1024, sum_diagonal, &(diagonal_job){a, d});
    spryi_matrix_release(entries);
    return status;
}

spry_status spry_matrix_diagonal(const spry_matrix *A, spry_vector diagonal, spry_error *err)
{
    SPRYI_NEEDS(A, err);
    const int64_t length = A->a.rows < A->a.columns ? A->a.rows : A->a.columns;
    spry_const_vector d = spry_vector_as_const(diagonal);
    SPRYI_OK_OR_RETURN(spryi_check_operand_vector(&d, "diagonal", "diagonal", length, A, err));
    diagonal.row_stride = d.row_stride;
    if (A->a.device == 0) return diagonal_on_host(A, &diagonal, err);
    const spryi_device *device;
    SPRYI_OK_OR_RETURN(spryi_operand_device(&device, A->context, "diagonal", A, err));
    spry_matrix *entries;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &entries, err));
    const spry_status status = device->ops->matrix->diagonal(device, &diagonal, &entries->a, err);
    spryi_matrix_release(entries);
    return status;
}
