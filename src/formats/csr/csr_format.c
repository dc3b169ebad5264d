/* Making the storage of format csr: arrays borrowed wherever the matrix already has them. */
#include "formats/csr/csr.h"
#include "matrix/row_relations.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/shared/padding_guard.h"
#include "matrix/columns.h"

static int is_sorted_coo(const spry_arrays *a)
{
    return a->layout == SPRY_COO && a->sorted == SPRY_KNOWN_YES;
}

/* Offsets of COO that is sorted by row: columns and values stay the user's. */
static spry_status offsets_of_coo(spry_context *context, spryi_csr *s, const spry_arrays *a, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &s->offsets, a->rows + 1, "row offsets", err));
    for (int64_t i = 0, k = 0; i <= a->rows; i++) {
        while (k < a->nnz && spryi_index_at(a->row_indices, a->index_type, k) < i) k++;
        s->offsets[i] = k;
    }
    s->a.layout = SPRY_CSR;
    s->a.offset_type = SPRY_I64;
    s->a.offsets = s->offsets;
    s->a.row_indices = NULL;
    return SPRY_OK;
}

void spryi_csr_release_auxiliary(spry_context *context, spryi_csr *s)
{
    spryi_csr_blocks_release(context, &s->blocks);
    spryi_release(context, s->runs.list);
    spryi_release(context, s->spans.list);
    spryi_csr_chunks_release(context, &s->chunks);
}

void spryi_csr_destroy(spry_context *context, void *storage)
{
    spryi_csr *s = storage;
    spryi_csr_release_auxiliary(context, s);
    spryi_matrix_release(s->owned);
    spryi_release(context, s->offsets);
    spryi_release(context, s);
}

#ifdef SPRY_HAVE_X86
/* Kernels with AVX-512 use spans. Where no kernel is chosen yet, the context's level counts. */
static int wants_spans(const spry_context *context, const spryi_build_request *request)
{
    const int64_t calls = request->options->expected_calls;
    if (calls > 0 && calls < SPRYI_CSR_CALLS_FOR_SPANS) return 0;
    return (request->kernel ? request->kernel->simd : context->simd) >= SPRYI_AVX512;
}
#endif

spry_status spryi_csr_finish_runs(spry_context *context, spryi_csr *s, const spryi_build_request *request, int scatters,
                                  spry_error *err)
{
    s->scatters = scatters;
    if (scatters) return spryi_csr_chunks_make(context, &s->chunks, &s->a, &s->blocks, &s->runs, s->vector_type, err);
#ifdef SPRY_HAVE_X86
    if (wants_spans(context, request))
        return spryi_csr_spans_find(context, &s->spans, &s->runs, &s->blocks, &s->a, s->vector_type, err);
#else
    (void)request;
#endif
    return SPRY_OK;
}

spry_status spryi_csr_finish(spry_context *context, spryi_csr *s, const spryi_build_request *request, int scatters,
                             spry_error *err)
{
    static const double FEW =
        0.05; /* share of entries in rows that resemble the one before: hardly any block has runs */
    const spry_spmv_options *options = request->options;
    const int long_enough = options->expected_calls == 0 || options->expected_calls >= SPRYI_CSR_CALLS_FOR_RUNS;
    spryi_column_reader reader = spryi_reader_of(&s->a);
    spryi_row_relations relations = {0};
    spry_status status = SPRY_OK;
    s->vector_type = options->vector_type;
    if (long_enough) SPRYI_TRY(spryi_find_relations(&relations, &reader, SPRYI_QUICK, err));
    SPRYI_TRY(spryi_csr_blocks_make(context, &s->blocks, &s->a, err));
    if (relations.repeated >= FEW)
        SPRYI_TRY(spryi_csr_runs_find(context, &s->runs, &s->blocks, &s->a, err));
    else
        SPRYI_TRY(spryi_csr_runs_general(context, &s->runs, &s->blocks, err));
    status = spryi_csr_finish_runs(context, s, request, scatters, err);
done:
    return status;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    (void)context, (void)err;
    spry_arrays a = request->A->a;
    const int as_is = a.value_type == request->value_type;
    if (as_is && is_sorted_coo(&a)) /* as build makes them */
        a.offset_type = SPRY_I64;
    else if (!as_is || a.layout != SPRY_CSR)
        a.offset_type = a.nnz <= INT32_MAX ? a.index_type : SPRY_I64;
    a.layout = SPRY_CSR;
    a.value_type = request->value_type;
    cost->bytes = spryi_arrays_bytes(&a);
    if (as_is && request->A->a.layout == SPRY_CSR) cost->borrowed = cost->bytes;
    if (as_is && is_sorted_coo(&request->A->a))
        cost->borrowed = cost->bytes - (a.rows + 1) * (int64_t)sizeof(int64_t); /* but for the offsets */
    cost->words = (a.value_type == SPRY_PATTERN ? 1 : 2) * a.nnz + a.rows + 1;
    return SPRY_OK;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_matrix *A = request->A;
    const spry_spmv_options *options = request->options;
    spryi_cost cost = {0};
    spryi_csr *s = storage;
    SPRYI_OK_OR_RETURN(predict(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "csr", &cost, err));
    *s = (spryi_csr){.a = A->a};
    if (A->a.value_type == request->value_type && is_sorted_coo(&A->a)) {
        SPRYI_OK_OR_RETURN(offsets_of_coo(context, s, &A->a, err));
    } else if (A->a.value_type != request->value_type || A->a.layout != SPRY_CSR) {
        SPRYI_OK_OR_RETURN(spryi_matrix_as_csr(context, &s->owned, A, request->value_type, err));
        s->a = s->owned->a;
    }
    /* a GPU's kernels use the arrays alone */
    if (!request->massively_parallel)
        SPRYI_OK_OR_RETURN(spryi_csr_finish(context, s, request, options->op == SPRY_TRANSPOSE, err));
    return SPRY_OK;
}

static int64_t auxiliary_bytes(const spryi_csr *s)
{
    return s->blocks.count * (int64_t)sizeof *s->blocks.list + s->runs.count * (int64_t)sizeof *s->runs.list +
           s->blocks.long_count * (int64_t)sizeof *s->blocks.long_rows +
           s->spans.count * (int64_t)sizeof *s->spans.list + s->chunks.count * (int64_t)sizeof *s->chunks.list +
           s->chunks.range_count * (int64_t)sizeof *s->chunks.ranges;
}

int64_t spryi_csr_storage_bytes(const void *storage)
{
    const spryi_csr *s = storage;
    return spryi_arrays_bytes(&s->a) + auxiliary_bytes(s);
}

int64_t spryi_csr_owned_bytes(const void *storage)
{
    const spryi_csr *s = storage;
    int64_t arrays = s->owned ? spryi_arrays_bytes(&s->a) : s->offsets ? (s->a.rows + 1) * (int64_t)sizeof(int64_t) : 0;
    return arrays + auxiliary_bytes(s);
}

int64_t spryi_csr_workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_csr *s = storage;
    if (!s->scatters) return SPRYI_CSR_SUMS * s->blocks.piece_count * (int64_t)sizeof(double);
    int64_t numbers = s->chunks.window_numbers > s->a.cols ? s->chunks.window_numbers : s->a.cols;
    return numbers * (int64_t)spry_type_bytes(vector_type);
}

int spryi_csr_borrows_values(const void *storage, const spry_arrays *a)
{
    return ((const spryi_csr *)storage)->a.values == a->values;
}

const spry_arrays *spryi_csr_arrays(const void *storage)
{
    return &((const spryi_csr *)storage)->a;
}

int spryi_csr_device_sections(void *storage, spryi_section *sections)
{
    spryi_csr *s = storage;
    spry_arrays *a = &s->a;
    int count = 0;
    /* The struct's constness is a promise to callers; the copy that is listed here belongs to the plan. */
    const int64_t offset_bytes = (int64_t)spry_index_type_bytes(a->offset_type);
    const int64_t index_bytes = (int64_t)spry_index_type_bytes(a->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(a->value_type);
    void **offsets = (void **)(uintptr_t)&a->offsets, **columns = (void **)(uintptr_t)&a->indices;
    sections[count++] = (spryi_section){"offsets", offsets, NULL, a->rows + 1, offset_bytes};
    sections[count++] = (spryi_section){"columns", columns, NULL, a->nnz, index_bytes};
    if (value_bytes > 0)
        sections[count++] = (spryi_section){"values", (void **)(uintptr_t)&a->values, NULL, a->nnz, value_bytes};
    return count;
}

const spryi_format spryi_format_csr = {
    .name = "csr",
    .title = "compressed sparse rows",
    .storage = "nnz values + nnz columns + (m+1) offsets",
    .best_for = "everything, without a copy: the default",
    .takes_any_layout = 1,
    .in_place = 1,
    .storage_size = sizeof(spryi_csr),
    .device_sections = spryi_csr_device_sections,
    .predict = predict,
    .build = build,
    .destroy = spryi_csr_destroy,
    .storage_bytes = spryi_csr_storage_bytes,
    .owned_bytes = spryi_csr_owned_bytes,
    .workspace_bytes = spryi_csr_workspace_bytes,
    .borrows_values = spryi_csr_borrows_values,
    .arrays = spryi_csr_arrays,
    .estimator = &spryi_csr_estimator,
    .tree_answers = SPRYI_TREE_MEMORY | SPRYI_TREE_OTHER,
};
