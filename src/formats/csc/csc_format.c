/* Making the storage of format csc: arrays of a CSC matrix borrowed, others converted. */
#include "base/error.h"
#include "base/memory.h"
#include "formats/csc/csc.h"
#include "formats/shared/padding_guard.h"
#include "matrix/assemble.h"

/* Any layout and value type, by way of sorted entries. */
static spry_status convert(spry_context *context, spry_matrix **csc, const spryi_build_request *request,
                           spry_error *err)
{
    const spry_matrix *A = request->A;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    spry_index_type offset_type = SPRY_INDEX_DEFAULT, index_type = A->a.index_type;
    if (A->a.layout != SPRY_COO) offset_type = A->a.offset_type;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, A->a.rows, A->a.cols, A->a.nnz, err));
    SPRYI_TRY(spryi_compress(context, &c, &A->a, SPRY_CSC, index_type, err));
    SPRYI_TRY(spryi_merge(context, &c, request->value_type, SPRYI_KEEP_ALL, NULL, err));
    SPRYI_TRY(spryi_compressed_finish(context, csc, &c, SPRY_CSC, offset_type, 0, SPRY_GENERAL, A->field, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    (void)context, (void)err;
    spry_arrays a = request->A->a;
    if (a.layout == SPRY_COO) a.offset_type = a.nnz <= INT32_MAX ? a.index_type : SPRY_I64;
    a.layout = SPRY_CSC;
    a.value_type = request->value_type;
    cost->bytes = spryi_arrays_bytes(&a);
    if (request->A->a.layout == SPRY_CSC && request->A->a.value_type == a.value_type) cost->borrowed = cost->bytes;
    cost->words = (a.value_type == SPRY_PATTERN ? 1 : 2) * a.nnz + a.cols + 1;
    return SPRY_OK;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_matrix *A = request->A;
    spryi_cost cost = {0};
    spryi_csr *s = storage;
    SPRYI_OK_OR_RETURN(predict(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "csc", &cost, err));
    *s = (spryi_csr){.a = A->a};
    if (A->a.layout != SPRY_CSC || A->a.value_type != request->value_type) {
        if (A->a.layout == SPRY_CSR && A->a.value_type == request->value_type)
            SPRYI_OK_OR_RETURN(spryi_csc_from_csr(context, &s->owned, A, err));
        else
            SPRYI_OK_OR_RETURN(convert(context, &s->owned, request, err));
        s->a = s->owned->a;
    }
    const int64_t rows = s->a.rows;
    s->a.rows = s->a.cols;
    s->a.cols = rows;
    s->a.layout = SPRY_CSR;
    if (!request->massively_parallel) /* a GPU's kernels use the arrays alone */
        SPRYI_OK_OR_RETURN(spryi_csr_finish(context, s, request, request->options->op == SPRY_NO_TRANSPOSE, err));
    return SPRY_OK;
}

const spryi_format spryi_format_csc = {
    .name = "csc",
    .title = "compressed sparse columns",
    .storage = "nnz values + nnz rows + (n+1) offsets",
    .best_for = "many transposed products; matrices that come in columns",
    .takes_any_layout = 1,
    .predict = predict,
    .build = build,
    .destroy = spryi_csr_destroy,
    .storage_bytes = spryi_csr_storage_bytes,
    .owned_bytes = spryi_csr_owned_bytes,
    .workspace_bytes = spryi_csr_workspace_bytes,
    .borrows_values = spryi_csr_borrows_values,
    .arrays = spryi_csr_arrays,
    .storage_size = sizeof(spryi_csr),
    .device_sections = spryi_csr_device_sections,
    .tree_answers = SPRYI_TREE_COLUMNS,
};
