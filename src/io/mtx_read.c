/*
 * A Matrix Market file: its entries, in any order, to CSR (matrix/assemble.h). Grouping is stable, so rows come out
 * sorted from files that are sorted by column or by row, lower or upper triangle alike: the order of SuiteSparse files
 * costs no comparison.
 */
#include "base/error.h"
#include "base/memory.h"
#include "io/mtx.h"
#include "io/source.h"
#include "matrix/assemble.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- to CSR -------------------------------------------------------------------------------------- */

/* Values of the dense columns that are not zero, moved together, get their indices. */
static spry_status index_array(spry_context *context, const spryi_mtx *head, spryi_mtx_entries *e, spry_error *err)
{
    int64_t kept = 0, k = 0;
    size_t index_bytes = spry_index_type_bytes(e->index_type);
    for (int64_t v = 0; v < e->count; v++) kept += spryi_value_at(e->values, e->value_type, v) != 0;
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->rows, kept, index_bytes, "row indices of the array", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &e->cols, kept, index_bytes, "column indices of the array", err));
    kept = 0;
    for (int64_t j = 0; j < head->n && k < e->count; j++) {
        int64_t first = head->symmetry == SPRY_GENERAL ? 0 : head->symmetry == SPRY_SYMMETRIC ? j : j + 1;
        for (int64_t i = first; i < head->m; i++, k++) {
            double value = spryi_value_at(e->values, e->value_type, k);
            if (value == 0) continue;
            spryi_set_index(e->rows, e->index_type, kept, i);
            spryi_set_index(e->cols, e->index_type, kept, j);
            spryi_set_value(e->values, e->value_type, kept++, value);
        }
    }
    e->count = kept;
    e->order = (spryi_entry_order){0, 0, 1};
    return SPRY_OK;
}

static spry_known known(int holds)
{
    return holds ? SPRY_KNOWN_YES : SPRY_KNOWN_NO;
}

spry_status spryi_mtx_to_csr(spry_context *context, spry_matrix **A, const spryi_mtx *head, spryi_mtx_entries *e,
                             const spry_read_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed a = {0};
    spry_index_type offset_type = options->offset_type;
    const spry_type value_type = options->value_type;
    int64_t duplicates = 0;
    if (head->array) SPRYI_TRY(index_array(context, head, e, err));
    const spryi_entry_order order = e->order;
    if (value_type == SPRY_PATTERN) { /* values of an array only told where zeros are */
        spryi_release(context, e->values);
        e->values = NULL;
        e->value_type = SPRY_PATTERN;
    }
    spryi_entries entries = {.majors = head->m,
                             .minors = head->n,
                             .nnz = e->count,
                             .index_type = e->index_type,
                             .value_type = e->value_type,
                             .major = e->rows,
                             .minor = e->cols,
                             .values = e->values,
                             .symmetry = head->symmetry,
                             .owned = 1,
                             .in_order = e->order.strict,
                             .local = 1};
    e->rows = e->cols = e->values = NULL;
    const int distinct = e->order.strict && head->symmetry == SPRY_GENERAL;
    SPRYI_TRY(spryi_group(context, &a, &entries, e->index_type, err));
    if (offset_type == SPRY_I32 && a.nnz > INT32_MAX)
        SPRYI_TRY(spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                                  "%lld entries do not fit 32-bit offsets, which hold %d", (long long)a.nnz,
                                  INT32_MAX));
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &e->index_type, head->m, head->n, a.nnz, err));
    /* A pattern's duplicates count as their sum: each of its entries is 1. */
    if (!distinct || value_type != a.value_type)
        SPRYI_TRY(spryi_merge(context, &a, value_type, options->drop_duplicates ? SPRYI_KEEP_FIRST : SPRYI_SUM_ALL,
                              &duplicates, err));
    const bool all_ones = value_type == SPRY_PATTERN && head->symmetry != SPRY_GENERAL;
    status = spryi_compressed_finish(context, A, &a, SPRY_CSR, offset_type, SPRY_KNOWN_YES,
                                     all_ones ? SPRY_SYMMETRIC : head->symmetry, head->field, err);
    if (status == SPRY_OK) {
        (*A)->symmetry_holds = true;
        (*A)->source.by_row = known(order.by_row);
        (*A)->source.by_column = known(order.by_column);
        (*A)->source.duplicates = known(duplicates > 0);
    }
done:
    spryi_mtx_release(context, e);
    spryi_compressed_clear(context, &a);
    return status;
}

/* ---- both triangles ------------------------------------------------------------------------------ */

/* The columns of the entries below the diagonal, row by row, sorted. */
typedef struct lower {
    int64_t *offsets, *cols;
} lower;

static int64_t row_of(const spryi_mtx_entries *e, int64_t k)
{
    return spryi_index_at(e->rows, e->index_type, k);
}

static int64_t col_of(const spryi_mtx_entries *e, int64_t k)
{
    return spryi_index_at(e->cols, e->index_type, k);
}

/* Most files hold one triangle. */
static bool has_both_triangles(const spryi_mtx_entries *e)
{
    bool above = false, below = false;
    for (int64_t k = 0; k < e->count && !(above && below); k++) {
        const int64_t i = row_of(e, k), j = col_of(e, k);
        above |= i < j;
        below |= i > j;
    }
    return above && below;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static spry_status make_lower(spry_context *context, lower *l, int64_t m, const spryi_mtx_entries *e, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &l->offsets, m + 2, "offsets of a triangle", err));
    for (int64_t i = 0; i < m + 2; i++) l->offsets[i] = 0;
    for (int64_t k = 0; k < e->count; k++)
        if (row_of(e, k) > col_of(e, k)) l->offsets[row_of(e, k) + 2]++;
    for (int64_t i = 0; i < m; i++) l->offsets[i + 2] += l->offsets[i + 1];
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &l->cols, l->offsets[m + 1], "columns of a triangle", err));
    for (int64_t k = 0; k < e->count; k++)
        if (row_of(e, k) > col_of(e, k)) l->cols[l->offsets[row_of(e, k) + 1]++] = col_of(e, k);
    for (int64_t i = 0; i < m; i++) {
        const int64_t count = l->offsets[i + 1] - l->offsets[i];
        if (count > 1) qsort(l->cols + l->offsets[i], (size_t)count, sizeof *l->cols, by_size);
    }
    return SPRY_OK;
}

static bool is_in(const lower *l, int64_t i, int64_t j)
{
    const int64_t count = l->offsets[i + 1] - l->offsets[i];
    return count > 0 && bsearch(&j, l->cols + l->offsets[i], (size_t)count, sizeof j, by_size);
}

/*
 * SPRY_BAD_FILE if the file of a symmetric, skew-symmetric or Hermitian matrix holds an entry and its
 * mirror image, since each entry stands for both.
 */
static spry_status check_triangles(spry_context *context, const spryi_mtx *head, const spryi_mtx_entries *e,
                                   spry_error *err)
{
    lower l = {0};
    spry_status status = SPRY_OK;
    if (!has_both_triangles(e)) return SPRY_OK;
    SPRYI_TRY(make_lower(context, &l, head->m, e, err));
    for (int64_t k = 0; k < e->count; k++) {
        const int64_t i = row_of(e, k), j = col_of(e, k);
        if (i >= j || !is_in(&l, j, i)) continue;
        status = spryi_fail_file(err, SPRY_BAD_FILE, head->name, e->first_line > 0 ? e->first_line + k : 0,
                                 "entry (%lld, %lld) is the mirror image of entry (%lld, %lld), and each entry of a %s "
                                 "file stands for both; expected one triangle, or read with duplicates dropped "
                                 "(drop_duplicates)",
                                 (long long)i + 1, (long long)j + 1, (long long)j + 1, (long long)i + 1,
                                 head->symmetry_name);
        break;
    }
done:
    spryi_release(context, l.offsets);
    spryi_release(context, l.cols);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------- */

spry_status spryi_mtx_pick_index_type(const spryi_mtx *head, const spry_read_options *options, spry_index_type *type,
                                      spry_error *err)
{
    int64_t longer = head->m > head->n ? head->m : head->n;
    if (longer > INT32_MAX && (options->index_type == SPRY_I32 || options->offset_type == SPRY_I32))
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "%lld rows or columns do not fit 32-bit indices, which hold %d", (long long)longer,
                               INT32_MAX);
    spry_index_type offset_type = options->offset_type;
    *type = options->index_type;
    return spryi_pick_index_types(&offset_type, type, head->m, head->n, 0, err);
}

/* The file's entries and the offsets, held at once in any case, are asked for before any of it is made. */
static spry_status check_limit(const spryi_text *text, const spryi_mtx *head, spry_index_type index_type,
                               spry_type value_type, spry_error *err)
{
    const double entries = (head->symmetry == SPRY_GENERAL ? 1 : 2) * (double)head->entries;
    const int64_t indices = head->array ? 0 : 2 * (int64_t)spry_index_type_bytes(index_type);
    const int64_t values = head->field == SPRYI_FIELD_PATTERN          ? 0
                           : value_type == SPRY_PATTERN && head->array ? (int64_t)sizeof(double)
                                                                       : (int64_t)spry_type_bytes(value_type);
    const int64_t enough = spryi_text_enough(text, entries, head->m, index_type);
    return spryi_note_needs(head->entries * (indices + values) + 8 * (head->m + 1), enough, "entries and offsets", err);
}

static void tell_source(const spryi_text *text, const spryi_mtx *head, spryi_source *source)
{
    source->kind = SPRYI_MATRIX_MARKET;
    source->field = head->field_name;
    source->symmetry = head->symmetry_name;
    source->packing = spryi_packing_name(text->packing);
    snprintf(source->layout, sizeof source->layout, "%s", head->array ? "array" : "coordinate");
    source->rows = head->m;
    source->cols = head->n;
    source->entries = head->entries;
}

spry_status spryi_mtx_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spryi_mtx head;
    spryi_mtx_entries entries;
    spryi_block block;
    spry_index_type index_type;
    spry_status status = spryi_block_create(text, &block, err);
    if (status != SPRY_OK) return status;
    SPRYI_TRY(spryi_mtx_read_head(text, &block, &head, err));
    SPRYI_TRY(spryi_mtx_pick_index_type(&head, options, &index_type, err));
    spryi_block_destroy(text, &block);
    const spry_type read_as = spryi_read_as(options->value_type);
    SPRYI_TRY(check_limit(text, &head, index_type, read_as, err));
    SPRYI_TRY(spryi_mtx_read_entries(text, &head, index_type, read_as, &entries, err));
    if (head.symmetry != SPRY_GENERAL && !head.array && !options->drop_duplicates)
        status = check_triangles(text->context, &head, &entries, err);
    if (status != SPRY_OK) {
        spryi_mtx_release(text->context, &entries);
        goto done;
    }
    status = spryi_mtx_to_csr(text->context, A, &head, &entries, options, err);
    if (status == SPRY_OK) tell_source(text, &head, &(*A)->source);
    if (status == SPRY_OK) (*A)->index_base = 1;
done:
    spryi_block_destroy(text, &block);
    return status;
}
