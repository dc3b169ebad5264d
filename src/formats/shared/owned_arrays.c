#include "formats/shared/owned_arrays.h"

#include "base/error.h"
#include "base/memory.h"

spry_status spryi_allocate_arrays(spry_context *context, void *storage, spryi_sections_fn sections, spry_error *err)
{
    spryi_section list[SPRYI_MOST_SECTIONS];
    spry_status status = SPRY_OK;
    const int count = sections(storage, list);
    for (int s = 0; s < count; s++)
        if (list[s].array && !*list[s].array)
            SPRYI_TRY(
                spryi_allocate(context, list[s].array, list[s].count, (size_t)list[s].item_bytes, list[s].name, err));
done:
    return status;
}

void spryi_release_arrays(spry_context *context, void *storage, spryi_sections_fn sections)
{
    spryi_section list[SPRYI_MOST_SECTIONS];
    const int count = sections(storage, list);
    for (int s = 0; s < count; s++) {
        if (!list[s].array) continue;
        spryi_release(context, *list[s].array);
        *list[s].array = NULL;
    }
}

/* ---- storages that begin with spry_arrays ---------------------------------------------------------- */

spry_arrays spryi_shape_of(const spry_arrays *csr)
{
    spry_arrays shape = *csr;
    shape.offsets = shape.indices = shape.values = NULL;
    shape.ownership = SPRY_COPY;
    shape.symmetry = SPRY_GENERAL;
    return shape;
}

void spryi_list_shape(spry_arrays *a, spryi_section *list, int *count)
{
    list[(*count)++] = (spryi_section){"shape", NULL, &a->rows, 3, sizeof a->rows};
    list[(*count)++] = (spryi_section){"types", NULL, &a->offset_type, 3, sizeof a->offset_type};
    list[(*count)++] = (spryi_section){"order", NULL, &a->sorted, 2, sizeof a->sorted};
}

spry_status spryi_check_shape(const spry_arrays *a, const char *format, spry_error *err)
{
    if (a->rows < 0 || a->columns < 0 || a->nnz < 0)
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "%s: sizes %lld, %lld, %lld, expected none negative", format,
                          (long long)a->rows, (long long)a->columns, (long long)a->nnz);
    if (spryi_index_pair(a->offset_type, a->index_type) < 0)
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "%s: index types %d and %d are no legal pair", format,
                          (int)a->offset_type, (int)a->index_type);
    if (a->value_type != SPRY_PATTERN && spryi_stored_row(a->value_type) < 0)
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "%s: value type %d is unknown", format, (int)a->value_type);
    if (a->sorted < SPRY_NOT_KNOWN || a->sorted > SPRY_KNOWN_YES || a->unique < SPRY_NOT_KNOWN ||
        a->unique > SPRY_KNOWN_YES)
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "%s: flags %d and %d, expected 0 to 2", format, (int)a->sorted,
                          (int)a->unique);
    return SPRY_OK;
}

spry_status spryi_check_columns(const spry_arrays *a, const void *columns, int64_t count, const char *format,
                                spry_error *err)
{
    int64_t bad = 0;
    if (a->index_type == SPRY_I32) {
        const int32_t *Aj = columns;
        for (int64_t k = 0; k < count; k++) bad += Aj[k] < 0 || Aj[k] >= a->columns;
    } else {
        const int64_t *Aj = columns;
        for (int64_t k = 0; k < count; k++) bad += Aj[k] < 0 || Aj[k] >= a->columns;
    }
    if (bad == 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_BAD_FILE, NULL, bad, a->columns, "%s: %lld columns are not in 0 to %lld", format,
                            (long long)bad, (long long)a->columns - 1);
}

spry_status spryi_start_csr(spry_context *context, spryi_compressed *c, const spry_arrays *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    *c = (spryi_compressed){.majors = a->rows, .minors = a->columns, .nnz = a->nnz};
    c->index_type = a->index_type;
    c->value_type = a->value_type;
    SPRYI_TRY(SPRYI_NEW(context, &c->offsets, a->rows + 1, "row offsets", err));
    SPRYI_TRY(spryi_allocate(context, &c->indices, a->nnz, spryi_index_type_bytes(a->index_type), "columns", err));
    if (a->value_type != SPRY_PATTERN)
        SPRYI_TRY(spryi_allocate(context, &c->values, a->nnz, spry_type_bytes(a->value_type), "values", err));
done:
    return status;
}

spry_status spryi_finish_csr(spry_context *context, spry_matrix **csr, spryi_compressed *c, const spry_arrays *a,
                             spry_error *err)
{
    spry_status status =
        spryi_compressed_finish(context, csr, c, SPRY_CSR, a->offset_type, a->unique, SPRY_GENERAL, SPRYI_REAL, err);
    if (status == SPRY_OK) (*csr)->a.sorted = a->sorted;
    return status;
}
