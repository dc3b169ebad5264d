/* From a matrix's arrays to compressed ones, and from those to a matrix: the ends of assemble.c. */
#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* (*indices)[k] = the major of entry k. */
static spry_status expand(spry_context *context, void **indices, const void *offsets, spry_index_type offset_type,
                          int64_t majors, int64_t nnz, spry_index_type index_type, spry_error *err)
{
    spry_status status = spryi_allocate(context, indices, nnz, spry_index_type_bytes(index_type), "row indices", err);
    if (status != SPRY_OK) return status;
    int threads = spryi_threads(context, majors + nnz);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4096)
    for (int64_t i = 0; i < majors; i++) {
        int64_t last = spryi_index_at(offsets, offset_type, i + 1);
        for (int64_t k = spryi_index_at(offsets, offset_type, i); k < last; k++)
            spryi_set_index(*indices, index_type, k, i);
    }
    return SPRY_OK;
}

static void copy_indices(void *to, spry_index_type to_type, const void *from, spry_index_type from_type, int64_t count,
                         int threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t k = 0; k < count; k++) spryi_set_index(to, to_type, k, spryi_index_at(from, from_type, k));
}

static spry_status copy_sorted(spry_context *context, spryi_compressed *to, const spry_arrays *A,
                               spry_index_type index_type, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t majors = A->layout == SPRY_CSC ? A->cols : A->rows;
    spryi_compressed made = {.majors = majors,
                             .minors = A->layout == SPRY_CSC ? A->rows : A->cols,
                             .nnz = A->nnz,
                             .index_type = index_type,
                             .value_type = A->value_type};
    size_t value_bytes = spry_type_bytes(A->value_type);
    SPRYI_TRY(SPRYI_NEW(context, &made.offsets, majors + 1, "offsets", err));
    SPRYI_TRY(spryi_allocate(context, &made.indices, A->nnz, spry_index_type_bytes(index_type), "indices", err));
    if (value_bytes > 0) SPRYI_TRY(spryi_allocate(context, &made.values, A->nnz, value_bytes, "values", err));
    copy_indices(made.offsets, SPRY_I64, A->offsets, A->offset_type, majors + 1, spryi_threads(context, majors));
    copy_indices(made.indices, index_type, A->indices, A->index_type, A->nnz, spryi_threads(context, A->nnz));
    if (value_bytes > 0 && A->nnz > 0) memcpy(made.values, A->values, (size_t)A->nnz * value_bytes);
    SPRYI_TRY(spryi_sort(context, &made, err));
    *to = made;
    made = (spryi_compressed){0};
done:
    spryi_compressed_clear(context, &made);
    return status;
}

spry_status spryi_compress(spry_context *context, spryi_compressed *to, const spry_arrays *A, spry_layout layout,
                           spry_index_type index_type, spry_error *err)
{
    if (A->layout == layout) return copy_sorted(context, to, A, index_type, err);
    spry_status status = SPRY_OK;
    void *expanded = NULL;
    const void *rows = A->row_indices, *columns = A->indices;
    if (A->layout != SPRY_COO) {
        SPRYI_TRY(expand(context, &expanded, A->offsets, A->offset_type, A->layout == SPRY_CSC ? A->cols : A->rows,
                         A->nnz, A->index_type, err));
        rows = A->layout == SPRY_CSC ? A->indices : expanded;
        columns = A->layout == SPRY_CSC ? expanded : A->indices;
    }
    int by_column = layout == SPRY_CSC;
    spryi_entries entries = {.majors = by_column ? A->cols : A->rows,
                             .minors = by_column ? A->rows : A->cols,
                             .nnz = A->nnz,
                             .index_type = A->index_type,
                             .value_type = A->value_type,
                             .major = by_column ? columns : rows,
                             .minor = by_column ? rows : columns,
                             .values = A->values};
    SPRYI_TRY(spryi_group(context, to, &entries, index_type, err));
done:
    spryi_release(context, expanded);
    return status;
}

spry_status spryi_compressed_finish(spry_context *context, spry_matrix **A, spryi_compressed *a, spry_layout layout,
                                    spry_index_type offset_type, spry_known unique, spry_symmetry symmetry,
                                    spryi_field field, spry_error *err)
{
    spry_status status = SPRY_OK;
    void *rows = NULL, *narrow = NULL;
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    if (layout == SPRY_COO) {
        SPRYI_TRY(expand(context, &rows, a->offsets, SPRY_I64, a->majors, a->nnz, a->index_type, err));
    } else if (offset_type == SPRY_I32) {
        SPRYI_TRY(spryi_allocate(context, &narrow, a->majors + 1, sizeof(int32_t), "offsets", err));
        copy_indices(narrow, SPRY_I32, a->offsets, SPRY_I64, a->majors + 1, spryi_threads(context, a->majors));
    }
    if (layout == SPRY_COO || narrow) {
        spryi_release(context, a->offsets);
        a->offsets = NULL;
    }
    arrays.layout = layout;
    arrays.rows = layout == SPRY_CSC ? a->minors : a->majors;
    arrays.cols = layout == SPRY_CSC ? a->majors : a->minors;
    arrays.nnz = a->nnz;
    arrays.offset_type = layout == SPRY_COO ? SPRY_INDEX_DEFAULT : offset_type;
    arrays.index_type = a->index_type;
    arrays.value_type = a->value_type;
    arrays.offsets = narrow ? narrow : a->offsets;
    arrays.row_indices = rows;
    arrays.indices = a->indices;
    arrays.values = a->values;
    arrays.ownership = SPRY_COPY;
    arrays.sorted = SPRY_KNOWN_YES;
    arrays.unique = unique;
    arrays.symmetry = symmetry;
    *a = (spryi_compressed){0}; /* adopt has them, whatever it returns */
    return spryi_matrix_adopt(context, A, &arrays, field, err);
done:
    spryi_compressed_clear(context, a);
    return status;
}
