#include "core/error.h"
#include "core/float_env.h"
#include "core/memory.h"
#include "io/container.h"
#include "io/mtx.h"
#include "spry/io.h"
#include "spry/tools.h"

#include <string.h>

static spry_status check_options(spry_context *context, spry_matrix **A, const void *source, const char *source_name,
                                 spry_read_options *o, const spry_read_options *options, spry_error *err)
{
    if (!context || !A || !source) {
        const char *missing = !context ? "context" : !A ? "A" : source_name;
        return spryi_fail_missing(err, missing);
    }
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(o, options, err));
    options = o;
    SPRYI_OK_OR_RETURN(spryi_check_value_type("read", options->value_type, SPRY_TYPE_DEFAULT, err));
    SPRYI_OK_OR_RETURN(spryi_check_index_type("read", "offset_type", options->offset_type, err));
    SPRYI_OK_OR_RETURN(spryi_check_index_type("read", "index_type", options->index_type, err));
    if (options->offset_type == SPRY_I32 && options->index_type == SPRY_I64)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "index_type",
                          "read: offset and index types must be one of the pairs 32/32, 64/32 and 64/64 bits");
    return spryi_check_memory_limit_option("read", options->memory_limit_bytes, err);
}

static spry_status pick_index_type(const spryi_mtx *head, const spry_read_options *options, spry_index_type *type,
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
static spry_status check_limit(const spryi_mtx *head, spry_index_type index_type, spry_type value_type, spry_error *err)
{
    const int64_t indices = head->array ? 0 : 2 * (int64_t)spry_index_type_bytes(index_type);
    const int64_t values = head->field == SPRYI_FIELD_PATTERN          ? 0
                           : value_type == SPRY_PATTERN && head->array ? (int64_t)sizeof(double)
                                                                       : (int64_t)spry_type_bytes(value_type);
    return spryi_check_own_limit(head->entries * (indices + values) + 8 * (head->m + 1), "entries and offsets", err);
}

static spry_status read_mtx(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spry_read_options chosen = options ? *options : SPRY_INIT(spry_read_options);
    if (chosen.value_type == SPRY_TYPE_DEFAULT) chosen.value_type = SPRY_F64;
    spryi_mtx head;
    spryi_mtx_entries entries;
    spryi_block block;
    spry_index_type index_type;
    spry_status status = spryi_block_create(text, &block, err);
    if (status != SPRY_OK) return status;
    SPRYI_TRY(spryi_mtx_read_head(text, &block, &head, err));
    SPRYI_TRY(pick_index_type(&head, &chosen, &index_type, err));
    spryi_block_destroy(text, &block);
    const int narrow = chosen.value_type != SPRY_PATTERN && spryi_value_slot(chosen.value_type) < 0;
    const spry_type read_as = narrow ? SPRY_F64 : chosen.value_type; /* rounded once, with all entries of a position */
    SPRYI_TRY(check_limit(&head, index_type, read_as, err));
    SPRYI_TRY(spryi_mtx_read_entries(text, &head, index_type, read_as, &entries, err));
    status = spryi_mtx_to_csr(text->context, A, &head, &entries, chosen.offset_type, chosen.value_type, err);
done:
    spryi_block_destroy(text, &block);
    return status;
}

static spry_status read_text(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    if (spryi_container_is(text)) return spryi_container_read(text, A, options, err);
    return read_mtx(text, A, options, err);
}

spry_status spry_matrix_read_memory(spry_context *context, spry_matrix **A, const void *text, size_t bytes,
                                    const char *name, const spry_read_options *options, spry_error *err)
{
    spry_read_options o;
    SPRYI_DEFAULT_FLOATS;
    /* No text at all may come as NULL. */
    SPRYI_OK_OR_RETURN(check_options(context, A, text || bytes == 0 ? "" : NULL, "text", &o, options, err));
    spryi_text opened;
    if (!name) name = "memory";
    spryi_memory_limit limit;
    spryi_begin_memory_limit(&limit, o.memory_limit_bytes);
    spry_status status = spryi_text_open_memory(context, &opened, text, bytes, name, err);
    if (status == SPRY_OK) {
        status = read_text(&opened, A, &o, err);
        spryi_text_close(&opened);
    }
    return spryi_name_file(err, spryi_end_memory_limit(&limit, status, err), name);
}

static spry_status read_source(spry_context *context, spry_matrix **A, const char *path, int may_be_standard_input,
                               const spry_read_options *options, spry_error *err)
{
    spry_read_options o;
    SPRYI_DEFAULT_FLOATS;
    SPRYI_OK_OR_RETURN(check_options(context, A, path, "path", &o, options, err));
    if (!path[0]) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "path", "read: path is empty, expected a file's name");
    spryi_text opened = {.name = path};
    spryi_memory_limit limit;
    spryi_begin_memory_limit(&limit, o.memory_limit_bytes);
    spry_status status = spryi_text_open(context, &opened, path, may_be_standard_input, err);
    if (status == SPRY_OK) {
        status = read_text(&opened, A, &o, err);
        spryi_text_close(&opened);
    }
    return spryi_name_file(err, spryi_end_memory_limit(&limit, status, err), opened.name);
}

spry_status spry_matrix_read(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                             spry_error *err)
{
    return read_source(context, A, path, 0, options, err);
}

spry_status spry_matrix_open(spry_context *context, spry_matrix **A, const char *source,
                             const spry_read_options *options, spry_error *err)
{
    if (source && strncmp(source, "gen:", 4) == 0) return spry_matrix_generate(context, A, source + 4, options, err);
    return read_source(context, A, source, 1, options, err);
}
