/*
 * Entries in any order to CSR, by core/assemble.h. Grouping is stable, so rows come out sorted from files that are
 * sorted by column or by row, lower or upper triangle alike: the order of SuiteSparse files costs no comparison.
 */
#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/mtx.h"

#include <string.h>

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
