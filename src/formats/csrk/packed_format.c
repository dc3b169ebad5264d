/* Making the storage of format packed, and what containers need of it. */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/csrk/packed_part.h"
#include "formats/ell/ell.h"

static void clear(spry_context *context, spryi_packed *s)
{
    spryi_release(context, s->slices);
    spryi_release(context, s->extras);
    spryi_release(context, s->indices);
    spryi_release(context, s->values);
    spryi_release(context, s->long_rows);
    spryi_release(context, s->long_first);
    spryi_release(context, s->pieces);
    spryi_release(context, s->long_columns);
    spryi_release(context, s->long_values);
    spryi_windows_clear(context, &s->windows);
}

static void destroy(spry_context *context, void *storage)
{
    clear(context, storage);
    spryi_release(context, storage);
}

static spry_status predict(spry_context *context, spryi_figure *figure, const spryi_build_request *request,
                           spry_error *err)
{
    spryi_packed s = {0};
    spryi_packed_surveyed *parts = NULL;
    const spry_status status = spryi_packed_survey(context, &s, &parts, &request->csr->a, err);
    if (status == SPRY_OK) spryi_packed_figure(figure, &s);
    spryi_release(context, parts);
    return status;
}

static spry_status build(spry_context *context, void **storage, const spryi_build_request *request, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spry_arrays *a = &request->csr->a;
    spryi_packed_surveyed *parts = NULL;
    spryi_packed *s = NULL;
    spryi_figure figure = {0};
    SPRYI_TRY(SPRYI_NEW(context, &s, 1, "packed storage", err));
    *s = (spryi_packed){0};
    SPRYI_TRY(spryi_packed_survey(context, s, &parts, a, err));
    spryi_packed_figure(&figure, s);
    SPRYI_TRY(spryi_admit(request, "packed", &figure, err));
    SPRYI_TRY(spryi_packed_make(context, s, parts, a, err));
    if (request->options->op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_windows_make(context, &s->windows, a, spryi_packed_group(s->block), err));
    *storage = s;
    s = NULL;
done:
    spryi_release(context, parts);
    if (s) destroy(context, s);
    return status;
}

static int64_t storage_bytes(const void *storage)
{
    const spryi_packed *s = storage;
    return spryi_packed_array_bytes(s) + s->windows.count * (int64_t)sizeof *s->windows.parts;
}

static int borrows_values(const void *storage, const spry_matrix *A)
{
    return ((const spryi_packed *)storage)->a.value_type == SPRY_PATTERN && A->a.value_type == SPRY_PATTERN;
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    return spryi_packed_to_csr(context, csr, storage, err);
}

static int64_t one_more(int64_t count)
{
    return count < 0 || count == INT64_MAX ? -1 : count + 1;
}

static int arrays_of(spryi_packed *s, spryi_section *list)
{
    const int64_t index_bytes = (int64_t)spry_index_type_bytes(s->a.index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(s->a.value_type);
    const int values = value_bytes > 0;
    const int64_t bytes = spryi_ell_product(s->units, SPRYI_PACKED_UNIT);
    int n = 0;
    list[n++] = (spryi_section){"slices", (void **)&s->slices, NULL, one_more(s->slice_count), sizeof *s->slices};
    list[n++] = (spryi_section){"extras", (void **)&s->extras, NULL, s->slice_count, sizeof *s->extras};
    list[n++] = (spryi_section){"indices", (void **)&s->indices, NULL, bytes, 1};
    list[n++] = (spryi_section){"values", &s->values, NULL, values ? s->slots : 0, values ? value_bytes : 1};
    list[n++] = (spryi_section){"long_rows", (void **)&s->long_rows, NULL, s->long_count, sizeof *s->long_rows};
    list[n++] =
        (spryi_section){"long_first", (void **)&s->long_first, NULL, one_more(s->long_count), sizeof *s->long_first};
    list[n++] = (spryi_section){"pieces", (void **)&s->pieces, NULL, one_more(s->piece_count), sizeof *s->pieces};
    list[n++] = (spryi_section){"long_columns", &s->long_columns, NULL, s->long_nnz, index_bytes};
    list[n++] =
        (spryi_section){"long_values", &s->long_values, NULL, values ? s->long_nnz : 0, values ? value_bytes : 1};
    return n;
}

static int sections(void *storage, spryi_section *list)
{
    spryi_packed *s = storage;
    int count = 0;
    spryi_ell_shape_sections(&s->a, list, &count);
    list[count++] = (spryi_section){"packed", NULL, &s->block, 8, sizeof s->block}; /* block to long_nnz */
    return count + arrays_of(s, list + count);
}

/* Without arrays that a pattern does not have. */
static int device_sections(void *storage, spryi_section *list)
{
    spryi_packed *s = storage;
    spryi_section all[SPRYI_MOST_SECTIONS];
    int count = 0, there = arrays_of(s, all);
    for (int n = 0; n < there; n++)
        if (*all[n].array) list[count++] = all[n];
    return count;
}

const spryi_format spryi_format_packed = {
    .name = "packed",
    .title = "packed CSR-k: slices of 32 rows whose indices vanish",
    .storage = "nnz values + 20 bytes of 32 rows + what indices are left: none on grids, to 2 bytes an entry",
    .best_for = "meshes and grids, matrices of dense blocks, columns that are near each other",
    .predict = predict,
    .build = build,
    .destroy = destroy,
    .storage_bytes = storage_bytes,
    .owned_bytes = storage_bytes,
    .workspace_bytes = spryi_packed_workspace,
    .borrows_values = borrows_values,
    .arrays = spryi_leading_arrays,
    .to_csr = to_csr,
    .storage_size = sizeof(spryi_packed),
    .device_sections = device_sections,
    .sections = sections,
    .check = spryi_packed_check,
};
