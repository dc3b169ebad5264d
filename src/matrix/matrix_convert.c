/*
 * spry_matrix_convert: the matrix in another layout or with other types, sorted, with duplicates summed unless options
 * keep them.
 */
#include "base/context.h"
#include "base/element.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "matrix/device_operation.h"
#include "matrix/operation.h"

#include <math.h>

/* ---- rounding ---------------------------------------------------------------------------------------- */

/* Result of rounding a sequence of entries. Entries are numbered in stored order. */
typedef struct rounded {
    int64_t count, overflowed, vanished;
    double largest;
    int64_t largest_at, overflowed_at; /* -1: none */
} rounded;

static const rounded nothing = {.largest_at = -1, .overflowed_at = -1};

/* Updates *r for entry k, whose value `before` was rounded to `after`. */
static inline void count_rounding(rounded *r, int64_t k, double before, double after)
{
    if (before == after || before != before) return;
    const int overflows = isinf(after);
    const double change = fabs((after - before) / before);
    r->count++;
    r->vanished += after == 0;
    if (overflows && r->overflowed++ == 0) r->overflowed_at = k;
    if (!overflows && change > r->largest) {
        r->largest = change;
        r->largest_at = k;
    }
}

/* Combines *r with *behind, the result for the entries that follow the entries of *r. */
static void add_rounding(rounded *r, const rounded *behind)
{
    if (r->overflowed == 0) r->overflowed_at = behind->overflowed_at;
    if (behind->largest > r->largest) r->largest_at = behind->largest_at;
    r->largest = fmax(r->largest, behind->largest);
    r->count += behind->count;
    r->overflowed += behind->overflowed;
    r->vanished += behind->vanished;
}

typedef struct round_job {
    const spryi_compressed *a;
    void *values;
    spry_type value_type;
    rounded *parts;
} round_job;

enum { ROUNDED_TOGETHER = 1 << 14 };

static void round_blocks(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const round_job *j = job;
    for (int64_t b = begin; b < end; b++) {
        j->parts[b] = nothing;
        for (int64_t k = b * ROUNDED_TOGETHER; k < (b + 1) * ROUNDED_TOGETHER && k < j->a->nnz; k++) {
            const double before = ((const double *)j->a->values)[k];
            spryi_set_value(j->values, j->value_type, k, before);
            count_rounding(&j->parts[b], k, before, spryi_value_at(j->values, j->value_type, k));
        }
    }
}

/* Converts a's values from f64 to value_type. */
static spry_status round_values(spry_context *context, spryi_compressed *a, spry_type value_type, rounded *result,
                                spry_error *err)
{
    const int64_t blocks = (a->nnz + ROUNDED_TOGETHER - 1) / ROUNDED_TOGETHER;
    rounded *parts = NULL;
    void *values = NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &parts, blocks, "rounding", err));
    SPRYI_TRY(spryi_allocate(context, &values, a->nnz, spry_type_bytes(value_type), "values", err));
    spryi_loop(context, spryi_threads(context, a->nnz), blocks, 1, round_blocks,
               &(round_job){a, values, value_type, parts});
    *result = nothing;
    for (int64_t b = 0; b < blocks; b++) add_rounding(result, &parts[b]);
    spryi_release(context, a->values);
    a->values = values;
    a->value_type = value_type;
    values = NULL;
done:
    spryi_release(context, parts);
    spryi_release(context, values);
    return status;
}

/* Finds row and column of entry k of B; both are -1 if k is -1. */
static void place_of(const spry_arrays *B, int64_t k, int64_t *row, int64_t *col)
{
    *row = *col = -1;
    if (k < 0) return;
    const int64_t minor = spryi_minor_of(B, k);
    const int64_t major = B->layout == SPRY_COO ? spryi_row_of(B, k) : spryi_major_of(B, k);
    *row = B->layout == SPRY_CSC ? minor : major;
    *col = B->layout == SPRY_CSC ? major : minor;
}

static void fill_rounding(spry_rounding *rounding, const rounded *r, const spry_arrays *B)
{
    spry_rounding result = {.struct_size = sizeof result,
                            .rounded = r->count,
                            .overflowed = r->overflowed,
                            .vanished = r->vanished,
                            .largest = r->largest};
    place_of(B, r->largest_at, &result.largest_row, &result.largest_column);
    place_of(B, r->overflowed_at, &result.overflowed_row, &result.overflowed_column);
    SPRYI_GIVE(rounding, &result);
}

static spry_status convert_on_host(spry_context *context, spry_matrix **B, spry_rounding *rounding,
                                   const spry_matrix *A, spry_matrix_options *o, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    spry_matrix *entries = NULL, *made = NULL;
    int64_t duplicates = 0;
    rounded result = nothing;
    const spryi_duplicates what = o->keep_duplicates ? SPRYI_KEEP_ALL : SPRYI_SUM_ALL;
    SPRYI_TRY(spryi_check_result(o, A->a.rows, A->a.columns, o->keep_duplicates ? A->a.nnz : 0, err));
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    SPRYI_TRY(spryi_compress(context, &c, &entries->a, o->layout, o->index_type, err));
    spry_symmetry symmetry = entries->a.symmetry;
    if (rounding && o->value_type != SPRY_PATTERN) {
        const spry_type exact = o->keep_duplicates ? c.value_type : SPRY_PATTERN;
        SPRYI_TRY(spryi_merge(context, &c, SPRY_F64, what, &duplicates, err));
        SPRYI_TRY(round_values(context, &c, o->value_type, &result, err));
        if (duplicates > 0 && o->value_type != exact) symmetry = SPRY_GENERAL;
    }
    SPRYI_TRY(spryi_deliver(context, &made, &c, o, entries, symmetry, err));
    if (duplicates > 0) made->field = spryi_field_of(A, o->value_type, !o->keep_duplicates);
    if (rounding) fill_rounding(rounding, &result, &made->a);
    *B = made;
done:
    spryi_matrix_release(entries);
    spryi_compressed_clear(context, &c);
    return status;
}

static spry_status convert_on_device(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                     const spry_matrix_options *o, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_device_result result;
    bool repeats;
    SPRYI_OK_OR_RETURN(spryi_begin_on_device(&result, context, "convert", A, o, o->value_type, err));
    A = result.entries[0];
    SPRYI_TRY(result.functions->sort(result.device, &result.made, &repeats, &A->a, o->keep_duplicates, err));
    const spry_type exact = o->keep_duplicates ? A->a.value_type : SPRY_PATTERN;
    if (!repeats || o->value_type == exact) result.symmetry = A->a.symmetry;
    result.rises = !repeats || !o->keep_duplicates;
    SPRYI_TRY(spryi_deliver_from_device(&result, B, A, o, err));
    (*B)->field = spryi_field_of(A, o->value_type, repeats && !o->keep_duplicates);
done:
    spryi_end_on_device(&result);
    return status;
}

spry_status spry_matrix_convert(spry_context *context, spry_matrix **B, spry_rounding *rounding, const spry_matrix *A,
                                const spry_matrix_options *options, spry_error *err)
{
    SPRYI_NEEDS(context, err);
    SPRYI_NEEDS(B, err);
    SPRYI_NEEDS(A, err);
    spry_matrix_options o;
    SPRYI_OK_OR_RETURN(spryi_take_matrix_options(&o, options, "convert", A, err));
    if (o.value_type == SPRY_TYPE_DEFAULT) o.value_type = A->a.value_type;
    if (rounding) SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(rounding, err));
    if (A->a.device == 0) return convert_on_host(context, B, rounding, A, &o, err);
    if (rounding)
        return spryi_fail(err, SPRY_UNSUPPORTED, "rounding",
                          "convert: rounding is not reported for a matrix on a GPU, expected NULL");
    return convert_on_device(context, B, A, &o, err);
}

spry_arrays spryi_types_of(int64_t rows, int64_t cols, int64_t nnz, int32_t value_type, int32_t offset_type,
                           int32_t index_type)
{
    spry_arrays types = SPRY_INIT(spry_arrays);
    types.layout = SPRY_CSR;
    types.rows = rows;
    types.columns = cols;
    types.nnz = nnz;
    types.offset_type = (spry_index_type)offset_type;
    types.index_type = (spry_index_type)index_type;
    types.value_type = (spry_type)value_type;
    return types;
}

spry_status spryi_matrix_as_csr(spry_context *context, spry_matrix **csr, const spry_matrix *A, spry_type value_type,
                                spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    spry_matrix *entries = NULL;
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    A = entries;
    if (A->a.layout == SPRY_CSR && A->a.value_type == value_type) {
        *csr = entries;
        return SPRY_OK;
    }
    spry_index_type offset_type = SPRY_INDEX_DEFAULT, index_type = A->a.index_type;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, A->a.rows, A->a.columns, A->a.nnz, err));
    SPRYI_TRY(spryi_compress(context, &c, &A->a, SPRY_CSR, index_type, err));
    SPRYI_TRY(spryi_merge(context, &c, value_type, SPRYI_KEEP_ALL, NULL, err));
    SPRYI_TRY(spryi_compressed_finish(context, csr, &c, SPRY_CSR, offset_type, 0, SPRY_GENERAL, A->field, err));
done:
    spryi_matrix_release(entries);
    spryi_compressed_clear(context, &c);
    return status;
}
