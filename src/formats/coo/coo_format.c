/* Builds the storage of format coo. Columns and values are borrowed if the matrix has them in row order. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/coo/coo.h"
#include "formats/shared/storage_limits.h"
#include "matrix/assemble.h"

#include <stdbool.h>

static void expand_rows(void *job, int64_t begin, int64_t end)
{
    const spry_arrays a = ((const spryi_coo *)job)->a; /* local copy: the stores to rows cannot change it */
    void *rows = ((const spryi_coo *)job)->rows;
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = spryi_index_at(a.offsets, a.offset_type, i + 1);
        for (int64_t k = spryi_index_at(a.offsets, a.offset_type, i); k < last; k++)
            spryi_set_index(rows, a.index_type, k, i);
    }
}

/*
 * Builds the row index of each entry of a CSR matrix, in parallel. Each thread writes the entries of consecutive rows.
 */
static spry_status rows_of_csr(spry_context *context, spryi_coo *s, const spry_arrays *a, spry_error *err)
{
    SPRYI_OK_OR_RETURN(
        spryi_allocate(context, &s->rows, a->nnz, spryi_index_type_bytes(a->index_type), "row indices", err));
    spryi_loop(context, spryi_threads(context, a->nnz + a->rows), a->rows, 0, expand_rows, s);
    s->a.layout = SPRY_COO;
    s->a.offsets = NULL;
    s->a.row_indices = s->rows;
    return SPRY_OK;
}

static spry_status convert(spry_context *context, spryi_coo *s, const spryi_build_request *request, spry_error *err)
{
    const spry_matrix *A = request->A;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_compress(context, &c, &A->a, SPRY_COO, A->a.index_type, err));
    SPRYI_TRY(spryi_merge(context, &c, request->value_type, SPRYI_KEEP_ALL, NULL, err));
    SPRYI_TRY(spryi_compressed_finish(context, &s->owned, &c, SPRY_COO, SPRY_I64, 0, SPRY_GENERAL, A->field, err));
    s->a = s->owned->a;
done:
    spryi_compressed_clear(context, &c);
    return status;
}

static void destroy(spry_context *context, void *storage)
{
    spryi_coo *s = storage;
    spryi_matrix_release(s->owned);
    spryi_release(context, s->rows);
    spryi_windows_clear(context, &s->windows);
    spryi_release(context, s);
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    (void)context, (void)err;
    spry_arrays a = request->A->a;
    /* arrays of A can be borrowed only if their values have the requested type */
    const spry_layout from = a.value_type == request->value_type ? a.layout : SPRY_LAYOUT_DEFAULT;
    a.layout = SPRY_COO;
    a.value_type = request->value_type;
    cost->bytes = spryi_arrays_bytes(&a);
    if (from == SPRY_CSR) cost->borrowed = cost->bytes - a.nnz * (int64_t)spryi_index_type_bytes(a.index_type);
    if (from == SPRY_COO && a.sorted == SPRY_KNOWN_YES) cost->borrowed = cost->bytes;
    cost->words = 3 * a.nnz;
    return SPRY_OK;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_matrix *A = request->A;
    spryi_cost cost = {0};
    spryi_coo *s = storage;
    SPRYI_OK_OR_RETURN(predict(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "coo", &cost, err));
    *s = (spryi_coo){.a = A->a, .block_count = spryi_blocks_of(A->a.nnz, SPRYI_COO_BLOCK)};
    const bool same_values = A->a.value_type == request->value_type;
    if (same_values && A->a.layout == SPRY_CSR) {
        SPRYI_OK_OR_RETURN(rows_of_csr(context, s, &A->a, err));
    } else if (!same_values || A->a.layout != SPRY_COO || A->a.sorted != SPRY_KNOWN_YES) {
        SPRYI_OK_OR_RETURN(convert(context, s, request, err));
    }
    if (request->options->op == SPRY_TRANSPOSE && !request->massively_parallel)
        SPRYI_OK_OR_RETURN(spryi_windows_of_entries(context, &s->windows, &s->a, err));
    return SPRY_OK;
}

static int64_t storage_bytes(const void *storage)
{
    return spryi_arrays_bytes(&((const spryi_coo *)storage)->a);
}

static int64_t owned_bytes(const void *storage)
{
    const spryi_coo *s = storage;
    if (s->owned) return spryi_arrays_bytes(&s->a);
    return s->rows ? s->a.nnz * (int64_t)spryi_index_type_bytes(s->a.index_type) : 0;
}

static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_coo *s = storage;
    if (s->windows.count > 0) return spryi_windows_workspace(&s->windows, vector_type);
    return s->block_count * (int64_t)sizeof(double);
}

/* The casts remove const. This is safe because on a device the arrays are the plan's own copies. */
static int device_sections(void *storage, spryi_section *sections)
{
    spry_arrays *a = &((spryi_coo *)storage)->a;
    const int64_t index_bytes = (int64_t)spryi_index_type_bytes(a->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(a->value_type);
    sections[0] = (spryi_section){"rows", (void **)(uintptr_t)&a->row_indices, NULL, a->nnz, index_bytes};
    sections[1] = (spryi_section){"columns", (void **)(uintptr_t)&a->indices, NULL, a->nnz, index_bytes};
    sections[2] = (spryi_section){"values", (void **)(uintptr_t)&a->values, NULL, a->nnz, value_bytes};
    return 3;
}

const spryi_format spryi_format_coo = {
    .name = "coo",
    .title = "coordinates",
    .formula = "nnz values + nnz columns + nnz rows",
    .best_for = "matrices with many empty rows; the form in which entries are collected",
    .takes_any_layout = 1,
    .predict = predict,
    .build = build,
    .destroy = destroy,
    .storage_bytes = storage_bytes,
    .owned_bytes = owned_bytes,
    .workspace_bytes = workspace_bytes,
    .layout.size = sizeof(spryi_coo),
    .layout.device_sections = device_sections,
    .choice.estimator = &spryi_coo_estimator,
    .choice.tree_answers = SPRYI_TREE_VERY_SPARSE,
};
