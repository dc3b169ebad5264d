/* The format packed: its descriptor, and its arrays for containers and devices. */
#include "core/context.h"
#include "core/memory.h"
#include "formats/packed/packed_driver.h"
#include "formats/packed/packed_layout.h"
#include "formats/shared/owned_arrays.h"

static spry_status build(spry_context *context, void **storage, const spryi_build_request *request, spry_error *err)
{
    spryi_packed *s = NULL;
    spry_status status = SPRYI_NEW(context, &s, 1, "packed storage", err);
    if (status != SPRY_OK) return status;
    *s = (spryi_packed){0};
    status = spryi_packed_build(context, s, request, err);
    if (status == SPRY_OK)
        *storage = s;
    else
        spryi_storage_destroy(context, &spryi_format_packed, s);
    return status;
}

/* Other values may differ from slice to slice, and are not shared then. */
static int64_t growth_bytes(const void *storage)
{
    const spryi_packed *s = storage;
    return s->most_slots > s->slots ? (s->most_slots - s->slots) * (int64_t)spry_type_bytes(s->a.value_type) : 0;
}

static int sections(void *storage, spryi_section *list)
{
    spryi_packed *s = storage;
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    list[count++] = (spryi_section){"packed", NULL, &s->block, 8, sizeof s->block}; /* block to long_nnz */
    return count + spryi_packed_arrays(s, list + count);
}

/* The arrays that are there: a pattern has no values. */
static int device_sections(void *storage, spryi_section *list)
{
    spryi_section all[SPRYI_PACKED_ARRAYS];
    int count = 0, there = spryi_packed_arrays(storage, all);
    for (int n = 0; n < there; n++)
        if (*all[n].array) list[count++] = all[n];
    return count;
}

const spryi_format spryi_format_packed = {
    .name = "packed",
    .title = "packed CSR-k: slices of 32 rows whose indices vanish",
    .storage = "nnz values + 20 bytes of 32 rows + what indices are left: none on grids, to 2 bytes an entry",
    .best_for = "meshes and grids, matrices of dense blocks, columns that are near each other",
    .predict = spryi_packed_predict,
    .build = build,
    .growth_bytes = growth_bytes,
    .workspace_bytes = spryi_packed_workspace,
    .to_csr = spryi_packed_to_csr,
    .storage_size = sizeof(spryi_packed),
    .windows_at = offsetof(spryi_packed, windows),
    .device_sections = device_sections,
    .transposed_apart = 1,
    .sections = sections,
    .check = spryi_packed_check,
};
