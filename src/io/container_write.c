/* Writing a container: hashes first, since the head comes first, then each array in one piece. */
#include "base/error.h"
#include "catalogue/catalogue.h"
#include "io/container.h"
#include "io/output.h"
#include "spry/io.h"
#include "spry/tools.h"

#include <stdio.h>
#include <string.h>

/* PNG's idea: a byte that no text has, and line ends that a transfer as text would change. */
const unsigned char spryi_container_magic[8] = {SPRYI_CONTAINER_FIRST_BYTE, 'S', 'P', 'Y', '\r', '\n', 0x1a, '\n'};

spry_status spryi_container_check_machine(const char *name, spry_error *err)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)name, (void)err;
    return SPRY_OK;
#else
    return spryi_fail_file(err, SPRY_UNSUPPORTED, name, 0, "containers are little-endian, this machine is not");
#endif
}

int spryi_container_parts(const spry_arrays *a, spryi_container_part parts[3])
{
    int count = 0;
    int64_t index_bytes = (int64_t)spry_index_type_bytes(a->index_type);
    if (a->layout == SPRY_COO) {
        parts[count++] = (spryi_container_part){"rows", a->row_indices, a->nnz, index_bytes};
    } else {
        int64_t majors = a->layout == SPRY_CSC ? a->cols : a->rows;
        int64_t offset_bytes = (int64_t)spry_index_type_bytes(a->offset_type);
        parts[count++] = (spryi_container_part){"offsets", a->offsets, majors + 1, offset_bytes};
    }
    parts[count++] = (spryi_container_part){"indices", a->indices, a->nnz, index_bytes};
    if (a->value_type != SPRY_PATTERN)
        parts[count++] = (spryi_container_part){"values", a->values, a->nnz, (int64_t)spry_type_bytes(a->value_type)};
    return count;
}

/* ---- what is written --------------------------------------------------------------------------- */

/* The matrix in the layout wanted, or a storage beside it. */
typedef struct content {
    const char *layout;
    char parameters[64];
    spry_matrix *converted; /* NULL: A as it is */
    const spryi_format *format;
    void *storage; /* NULL: the arrays of converted, or of A */
    int borrowed;  /* 1: the storage is that of the container that A was read from */
} content;

static spry_status build(spry_context *context, content *c, const spry_matrix *A,
                         const int64_t parameters[SPRYI_PARAMETERS], spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spryi_cost cost = {0};
    options.vector_type = spryi_usual_vectors(A->a.value_type);
    spryi_build_request request = {.A = A, .options = &options, .value_type = A->a.value_type, .cost = &cost};
    if (A->a.value_type == SPRY_PATTERN && !spryi_has_pattern_kernel(c->format)) request.value_type = SPRY_F64;
    SPRYI_TRY(spryi_check_stores(c->format, request.value_type, err));
    memcpy(request.parameters, parameters, sizeof request.parameters);
    if (!c->format->takes_any_layout) SPRYI_TRY(spryi_matrix_as_csr(context, &request.csr, A, request.value_type, err));
    SPRYI_TRY(spryi_storage_build(context, c->format, &c->storage, &request, err));
    memcpy(c->parameters, cost.parameters, sizeof c->parameters);
done:
    spryi_matrix_release(request.csr);
    return status;
}

/* 1: A lies in that format already, whose parameters are its own or not given; then *c is it. */
static int keep_storage(content *c, const spry_matrix *A, const char *format)
{
    const spryi_stored *stored = A->stored;
    if (!stored || !spryi_is_stored_as(stored, format)) return 0;
    c->format = stored->format;
    c->layout = stored->format->name;
    c->storage = stored->storage;
    c->borrowed = 1;
    memcpy(c->parameters, stored->text, sizeof c->parameters);
    return 1;
}

int spryi_container_stores(const spryi_format *format)
{
    const char *const name = format->name; /* csr, csc and coo are the arrays of a matrix */
    return format->sections || strcmp(name, "csr") == 0 || strcmp(name, "csc") == 0 || strcmp(name, "coo") == 0;
}

/* SPRY_UNSUPPORTED with the formats that a container stores. */
static spry_status refuse_format(const char *format, spry_error *err)
{
    char known[256] = "";
    const spryi_format *f;
    for (int i = 0; (f = spryi_format_at(i)) != NULL; i++) {
        const size_t used = strlen(known);
        if (!spryi_container_stores(f)) continue;
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", f->name);
    }
    return spryi_fail(err, SPRY_UNSUPPORTED, "format",
                      "write: a container cannot store format %.40s, expected one of %s", format, known);
}

/* Builds what options->format asks for. */
static spry_status resolve(spry_context *context, content *c, const spry_matrix *A, const char *format, spry_error *err)
{
    spry_layout layout = format ? SPRY_CSR : A->a.layout;
    int64_t parameters[SPRYI_PARAMETERS] = {0};
    if (format && strcmp(format, "csc") == 0) {
        layout = SPRY_CSC;
    } else if (format) {
        SPRYI_OK_OR_RETURN(spryi_parse_format(&c->format, parameters, format, err));
        c->layout = c->format->name;
        if (c->format->sections) return build(context, c, A, parameters, err);
        if (!spryi_container_stores(c->format)) return refuse_format(format, err);
        if (strcmp(c->format->name, "coo") == 0) layout = SPRY_COO;
    }
    c->layout = layout == SPRY_CSC ? "csc" : layout == SPRY_COO ? "coo" : "csr";
    if (layout == A->a.layout) return SPRY_OK;
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    options.layout = layout;
    options.keep_duplicates = 1;
    return spry_matrix_convert(context, &c->converted, A, &options, err);
}

static int list_parts(const content *c, const spry_matrix *A, spryi_container_part *parts,
                      spryi_section sections[SPRYI_MOST_SECTIONS])
{
    if (!c->storage) return spryi_container_parts(c->converted ? &c->converted->a : &A->a, parts);
    int count = c->format->sections(c->storage, sections);
    for (int s = 0; s < count; s++) {
        const void *data = sections[s].array ? *sections[s].array : sections[s].inside;
        parts[s] = (spryi_container_part){sections[s].name, data, sections[s].count, sections[s].item_bytes};
    }
    return count;
}

/* ---- the file ---------------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t offset)
{
    return (offset + SPRYI_CONTAINER_ALIGNMENT - 1) / SPRYI_CONTAINER_ALIGNMENT * SPRYI_CONTAINER_ALIGNMENT;
}

static spry_status make_head(spryi_container_head *head, const content *c, const spry_matrix *A,
                             const spryi_container_part *parts, int count, spry_error *err)
{
    const spry_arrays *a = c->storage     ? spryi_storage_arrays(c->format, c->storage)
                           : c->converted ? &c->converted->a
                                          : &A->a;
    int ones = c->storage && A->a.value_type == SPRY_PATTERN && a->value_type != SPRY_PATTERN;
    *head = (spryi_container_head){
        .version = A->index_base == 0 ? SPRYI_CONTAINER_BASE_0
                   : ones             ? SPRYI_CONTAINER_ONES
                                      : SPRYI_CONTAINER_FIRST,
        .counts_from_0 = A->index_base == 0,
        .head_bytes = SPRYI_CONTAINER_HEAD,
        .rows = A->a.rows,
        .cols = A->a.cols,
        .nnz = A->a.nnz,
        .value_type = (uint8_t)(ones ? SPRY_PATTERN : a->value_type),
        .offset_type = (uint8_t)a->offset_type,
        .index_type = (uint8_t)a->index_type,
        .sorted = c->storage ? SPRY_NOT_KNOWN : (uint8_t)a->sorted,
        .unique = c->storage ? SPRY_NOT_KNOWN : (uint8_t)a->unique,
        .symmetry = (uint8_t)A->a.symmetry,
        .field = (uint8_t)A->field,
        .section_count = (uint32_t)count,
        .chunk_bytes = SPRYI_CONTAINER_CHUNK,
    };
    memcpy(head->magic, spryi_container_magic, sizeof head->magic);
    snprintf(head->layout, sizeof head->layout, "%s", c->layout);
    memcpy(head->parameters, c->parameters, strlen(c->parameters));
    uint64_t hashes[SPRYI_MOST_SECTIONS], end = SPRYI_CONTAINER_HEAD;
    SPRYI_OK_OR_RETURN(spryi_container_hash(A->context, parts, count, hashes, err));
    for (int s = 0; s < count; s++) {
        spryi_container_section *section = &head->sections[s];
        snprintf(section->name, sizeof section->name, "%s", parts[s].name);
        section->offset = aligned(end);
        section->count = (uint64_t)parts[s].count;
        section->item_bytes = (uint64_t)parts[s].item_bytes;
        section->hash = hashes[s];
        end = section->offset + section->count * section->item_bytes;
    }
    head->file_bytes = end;
    head->checksum = spryi_container_checksum(head);
    return SPRY_OK;
}

static spry_status write_file(const spryi_output *output, const spryi_container_head *head,
                              const spryi_container_part *parts, spry_error *err)
{
    static const unsigned char zeros[SPRYI_CONTAINER_ALIGNMENT];
    spry_status status = spryi_output_write(output, head, sizeof *head, err);
    uint64_t end = sizeof *head;
    for (uint32_t s = 0; s < head->section_count && status == SPRY_OK; s++) {
        const spryi_container_section *section = &head->sections[s];
        uint64_t bytes = section->count * section->item_bytes;
        status = spryi_output_write(output, zeros, (size_t)(section->offset - end), err);
        if (status == SPRY_OK) status = spryi_output_write(output, parts[s].data, (size_t)bytes, err);
        end = section->offset + bytes;
    }
    return status;
}

spry_status spryi_container_write(const spry_matrix *A, const char *path, const spry_write_options *options,
                                  spry_error *err)
{
    spry_status status = SPRY_OK;
    content c = {0};
    spryi_container_head head;
    spryi_container_part parts[SPRYI_MOST_SECTIONS];
    spryi_section sections[SPRYI_MOST_SECTIONS];
    spryi_output output = {.fd = -1};
    spry_context *context = A->context;
    spry_matrix *entries = NULL;
    if (options && options->comment)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "comment", "write: a container (.spry) holds no comment");
    SPRYI_TRY(spryi_container_check_machine(path, err));
    if (!options || !options->format || !keep_storage(&c, A, options->format)) {
        SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
        A = entries;
        SPRYI_TRY(resolve(A->context, &c, A, options ? options->format : NULL, err));
    }
    int count = list_parts(&c, A, parts, sections);
    SPRYI_TRY(make_head(&head, &c, A, parts, count, err));
    SPRYI_TRY(spryi_output_open(&output, path, err));
    status = write_file(&output, &head, parts, err);
done:
    if (status == SPRY_OUT_OF_MEMORY) status = spryi_name_file(err, status, path);
    if (c.storage && !c.borrowed) spryi_storage_destroy(context, c.format, c.storage);
    spryi_matrix_release(c.converted);
    spryi_matrix_release(entries);
    return spryi_output_close(&output, status, err);
}
