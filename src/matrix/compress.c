/* From a matrix's arrays to compressed ones, and from those to a matrix: the ends of assemble.c. */
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/kernel.h"
#include "matrix/assemble.h"

#include <string.h>

/* Rows to an entry from which offsets for all of them, 8 bytes each, are worse than sorting on one thread. */
enum { SPARSE_ROWS = 32 };

spry_arrays spryi_compressed_view(const spryi_compressed *a)
{
    spry_arrays view =
        spryi_types_of(a->majors, a->minors, a->nnz, (int32_t)a->value_type, SPRY_I64, (int32_t)a->index_type);
    view.offsets = a->offsets;
    view.indices = a->indices;
    view.values = a->values;
    return view;
}

typedef struct expansion {
    void *indices;
    spry_index_type index_type;
    const void *offsets;
    spry_index_type offset_type;
    const int64_t *labels;
} expansion;

static void expand_majors(void *job, int64_t begin, int64_t end)
{
    const expansion j = *(const expansion *)job; /* a copy that no store can change */
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = spryi_index_at(j.offsets, j.offset_type, i + 1), major = j.labels ? j.labels[i] : i;
        for (int64_t k = spryi_index_at(j.offsets, j.offset_type, i); k < last; k++)
            spryi_set_index(j.indices, j.index_type, k, major);
    }
}

/* (*indices)[k] = the major of entry k: i, or labels[i]. */
static spry_status expand(spry_context *context, void **indices, const void *offsets, spry_index_type offset_type,
                          const int64_t *labels, int64_t majors, int64_t nnz, spry_index_type index_type,
                          spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_allocate(context, indices, nnz, spry_index_type_bytes(index_type), "row indices", err));
    spryi_loop(context, spryi_threads(context, majors + nnz), majors, 4096, expand_majors,
               &(expansion){*indices, index_type, offsets, offset_type, labels});
    return SPRY_OK;
}

typedef struct copying {
    void *to;
    spry_index_type to_type;
    const void *from;
    spry_index_type from_type;
} copying;

static void copy_some_indices(void *job, int64_t begin, int64_t end)
{
    const copying j = *(const copying *)job;
    for (int64_t k = begin; k < end; k++) spryi_set_index(j.to, j.to_type, k, spryi_index_at(j.from, j.from_type, k));
}

static void copy_indices(const spry_context *context, void *to, spry_index_type to_type, const void *from,
                         spry_index_type from_type, int64_t count)
{
    spryi_loop(context, spryi_threads(context, count), count, 0, copy_some_indices,
               &(copying){to, to_type, from, from_type});
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
    SPRYI_TRY(spryi_compressed_allocate(context, &made, err));
    copy_indices(context, made.offsets, SPRY_I64, A->offsets, A->offset_type, majors + 1);
    copy_indices(context, made.indices, index_type, A->indices, A->index_type, A->nnz);
    if (value_bytes > 0 && A->nnz > 0) memcpy(made.values, A->values, (size_t)A->nnz * value_bytes);
    SPRYI_TRY(spryi_sort(context, &made, err));
    *to = made;
    made = (spryi_compressed){0};
done:
    spryi_compressed_clear(context, &made);
    return status;
}

/* The majors that occur and where their entries begin, from all entries' majors in order. */
static void label(spryi_compressed *a, const void *major, spry_index_type type)
{
    a->majors = 0;
    for (int64_t k = 0; k < a->nnz; k++) {
        int64_t i = spryi_index_at(major, type, k);
        if (k > 0 && i == a->labels[a->majors - 1]) continue;
        a->offsets[a->majors] = k;
        a->labels[a->majors++] = i;
    }
    a->offsets[a->majors] = a->nnz;
}

/*
 * spryi_group where most majors have no entries: their indices are sorted as one list, each with the number of its
 * entry, which the sort moves like a value. O(nnz) memory and time, on one thread: these are few entries.
 */
static spry_status group_few(spry_context *context, spryi_compressed *to, const spryi_entries *from,
                             spry_index_type index_type, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t nnz = from->nnz, ends[2] = {0, nnz}, *number = NULL;
    size_t width = spry_type_bytes(from->value_type);
    spryi_compressed list = {.majors = 1,
                             .minors = from->majors,
                             .nnz = nnz,
                             .index_type = from->index_type,
                             .value_type = SPRY_F64,
                             .offsets = ends};
    spryi_compressed made = {.minors = from->minors,
                             .nnz = nnz,
                             .index_type = index_type,
                             .value_type = from->value_type,
                             .all_majors = from->majors};
    SPRYI_TRY(spryi_allocate(context, &list.indices, nnz, spry_index_type_bytes(from->index_type), "row order", err));
    SPRYI_TRY(SPRYI_NEW(context, &number, nnz, "row order", err));
    list.values = number;
    SPRYI_TRY(SPRYI_NEW(context, &made.labels, nnz, "rows with entries", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.offsets, nnz + 1, "offsets", err));
    SPRYI_TRY(spryi_allocate(context, &made.indices, nnz, spry_index_type_bytes(index_type), "indices", err));
    if (width > 0) SPRYI_TRY(spryi_allocate(context, &made.values, nnz, width, "values", err));
    copy_indices(context, list.indices, from->index_type, from->major, from->index_type, nnz);
    for (int64_t k = 0; k < nnz; k++) number[k] = k;
    SPRYI_TRY(spryi_sort(context, &list, err));
    label(&made, list.indices, from->index_type);
    for (int64_t k = 0; k < nnz; k++) {
        spryi_set_index(made.indices, index_type, k, spryi_index_at(from->minor, from->index_type, number[k]));
        spryi_move_value(made.values, k, from->values, number[k], from->value_type);
    }
    SPRYI_TRY(spryi_sort(context, &made, err));
    *to = made;
    made = (spryi_compressed){0};
done:
    spryi_release(context, list.indices);
    spryi_release(context, number);
    spryi_compressed_clear(context, &made);
    return status;
}

/*
 * 1: entries that follow each other lie near each other mostly, in the direction that they are grouped by, as in meshes
 * and grids that are numbered along: of STRETCHES samples all but a few span no more majors than a cache holds ends of.
 */
static int are_local(const spryi_entries *e)
{
    enum { STRETCHES = 128, LENGTH = 256, MOST_MAJORS = 1 << 15, FEW = STRETCHES / 16 };
    int wide = 0;
    if (e->majors <= MOST_MAJORS) return 1;
    for (int n = 0; n < STRETCHES && wide <= FEW; n++) {
        const int64_t begin = (int64_t)((double)e->nnz / STRETCHES * n);
        const int64_t end = begin + LENGTH < e->nnz ? begin + LENGTH : e->nnz;
        int64_t low = INT64_MAX, high = -1;
        for (int64_t k = begin; k < end; k++) {
            const int64_t i = spryi_index_at(e->major, e->index_type, k);
            if (i < low) low = i;
            if (i > high) high = i;
        }
        wide += high - low > MOST_MAJORS;
    }
    return wide <= FEW;
}

spry_status spryi_compress(spry_context *context, spryi_compressed *to, const spry_arrays *A, spry_layout layout,
                           spry_index_type index_type, spry_error *err)
{
    const int whole = A->triangle == SPRY_ALL_ENTRIES;
    if (A->nnz > 0 && !A->indices)
        return spryi_fail(err, SPRY_INTERNAL, "A", "compress: the matrix is a container's, without arrays");
    if (whole && A->layout == (layout == SPRY_COO ? SPRY_CSR : layout))
        return copy_sorted(context, to, A, index_type, err);
    spry_status status = SPRY_OK;
    void *expanded = NULL;
    const void *rows = A->row_indices, *columns = A->indices;
    if (A->layout != SPRY_COO) {
        SPRYI_TRY(expand(context, &expanded, A->offsets, A->offset_type, NULL,
                         A->layout == SPRY_CSC ? A->cols : A->rows, A->nnz, A->index_type, err));
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
                             .values = A->values,
                             .symmetry = whole ? SPRY_GENERAL : A->symmetry};
    entries.local = are_local(&entries);
    int few = whole && layout == SPRY_COO && entries.majors / SPARSE_ROWS > entries.nnz;
    SPRYI_TRY(few ? group_few(context, to, &entries, index_type, err)
                  : spryi_group(context, to, &entries, index_type, err));
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
    if (layout == SPRY_COO) {
        SPRYI_TRY(expand(context, &rows, a->offsets, SPRY_I64, a->labels, a->majors, a->nnz, a->index_type, err));
    } else if (offset_type == SPRY_I32) {
        SPRYI_TRY(spryi_allocate(context, &narrow, a->majors + 1, sizeof(int32_t), "offsets", err));
        copy_indices(context, narrow, SPRY_I32, a->offsets, SPRY_I64, a->majors + 1);
    }
    if (layout == SPRY_COO || narrow) {
        spryi_release(context, a->offsets);
        a->offsets = NULL;
    }
    int64_t majors = a->labels ? a->all_majors : a->majors;
    spryi_release(context, a->labels);
    a->labels = NULL;
    spry_arrays arrays = spryi_compressed_view(a);
    arrays.layout = layout;
    arrays.rows = layout == SPRY_CSC ? a->minors : majors;
    arrays.cols = layout == SPRY_CSC ? majors : a->minors;
    arrays.offset_type = layout == SPRY_COO ? SPRY_INDEX_DEFAULT : offset_type;
    if (narrow) arrays.offsets = narrow;
    arrays.row_indices = rows;
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
