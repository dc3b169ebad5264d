/* A whole Matrix Market file. */
#include "core/error.h"
#include "core/memory.h"
#include "io/mtx.h"
#include "io/source.h"

#include <stdio.h>

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
        status = spryi_mtx_check_triangles(text->context, &head, &entries, err);
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
