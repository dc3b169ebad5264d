/* Reads a matrix: checks the options, finds the kind of the file and calls its reader. */
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "io/container.h"
#include "io/readers.h"
#include "spry/io.h"

#include <stdio.h>
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
    SPRYI_OK_OR_RETURN(spryi_check_range("read", "index_base", options->index_base, 0, 1, "0 or 1", err));
    if (options->input && strcmp(options->input, "edges") != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "input", "read: input is '%.40s', expected 'edges'",
                          options->input);
    return spryi_check_memory_limit_option("read", options->memory_limit_bytes, err);
}

/*
 * Rejects options that only apply to edge lists. sorts: the reader of this kind of file sorts entries, so that it can
 * drop duplicates.
 */
static spry_status refuse_options(const spry_read_options *o, const char *kind, int sorts, spry_error *err)
{
    const char *given = o->input                       ? "input"
                        : o->index_base != 0           ? "index_base"
                        : o->undirected                ? "undirected"
                        : o->drop_duplicates && !sorts ? "drop_duplicates"
                                                       : NULL;
    if (!given) return SPRY_OK;
    if (strcmp(given, "input") == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, given, "input is 'edges', but this is a %s", kind);
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, given, "%s is for %s, and this is a %s", given,
                      sorts || given[0] != 'd' ? "edge lists" : "text and npz files", kind);
}

/* Reads only the first bytes that show the kind, because a pipe may not have more yet. */
static spry_status peek(spryi_text *text, char head[10], int64_t *got, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_text_peek(text, head, 2, got, err));
    const int64_t more = *got < 2 ? 0 : memcmp(head, "PK", 2) == 0 ? 4 : memcmp(head, "MA", 2) == 0 ? 10 : 0;
    return more > 0 ? spryi_text_peek(text, head, more, got, err) : SPRY_OK;
}

/* Returns SPRY_UNSUPPORTED with a message that describes how to convert a MATLAB file. */
static spry_status refuse_matlab(const spryi_text *text, const char *head, spry_error *err)
{
    return spryi_fail_file(err, SPRY_UNSUPPORTED, text->name, 0,
                           "is a MATLAB file%s, which is not read; in MATLAB or Octave write its entries, 'mmwrite' or "
                           "'[i,j,v] = find(A); dlmwrite(\"A.txt\", [i,j,v], \"precision\", 17)', read with base 1",
                           memcmp(head, "MATLAB 7.3", 10) == 0 ? " of version 7.3" : "");
}

/*
 * Reads a file by the kind that its content shows. Lists of edges may begin with anything and are identified by the
 * ending of the name or by options->input.
 */
static spry_status read_text(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    char head[10];
    int64_t got = 0;
    int edges = 0;
    SPRYI_OK_OR_RETURN(peek(text, head, &got, err));
    if (got > 0 && (unsigned char)head[0] == SPRYI_CONTAINER_FIRST_BYTE) {
        SPRYI_OK_OR_RETURN(refuse_options(options, SPRYI_CONTAINER, 0, err));
        return spryi_container_read(text, A, options, err);
    }
    spry_read_options chosen = *options;
    if (chosen.value_type == SPRY_TYPE_DEFAULT) chosen.value_type = SPRY_F64;
    if (got == 10 && memcmp(head, "MATLAB ", 7) == 0) return refuse_matlab(text, head, err);
    if (got == 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0)) {
        SPRYI_OK_OR_RETURN(refuse_options(options, SPRYI_NPZ, 1, err));
        return spryi_npz_read(text, A, &chosen, err);
    }
    SPRYI_OK_OR_RETURN(spryi_edges_are(text, options->input != NULL, &edges, err));
    if (edges) return spryi_edges_read(text, A, &chosen, err);
    SPRYI_OK_OR_RETURN(refuse_options(options, SPRYI_MATRIX_MARKET " file", 1, err));
    return spryi_mtx_read(text, A, &chosen, err);
}

/*
 * Begins the memory limit of the options. A limit below HEAD_BYTES is raised, so that the head of the file can be read
 * and a refusal can report which limit suffices.
 */
static void begin_limit(spryi_memory_limit *limit, const spry_read_options *o)
{
    enum { HEAD_BYTES = 1 << 20 };
    spryi_begin_memory_limit(limit, o->memory_limit_bytes);
    if (limit->most < HEAD_BYTES) limit->most = HEAD_BYTES;
}

spry_status spry_matrix_read_memory(spry_context *context, spry_matrix **A, const void *content, size_t bytes,
                                    const char *name, const spry_read_options *options, spry_error *err)
{
    spry_read_options o;
    SPRYI_DEFAULT_FLOATS;
    /* content may be NULL if there are no bytes */
    SPRYI_OK_OR_RETURN(check_options(context, A, content || bytes == 0 ? "" : NULL, "content", &o, options, err));
    spryi_text opened;
    if (!name) name = "memory";
    spryi_memory_limit limit;
    begin_limit(&limit, &o);
    spry_status status = spryi_text_open_memory(context, &opened, content, bytes, name, err);
    if (status == SPRY_OK) {
        status = read_text(&opened, A, &o, err);
        spryi_text_close(&opened);
    }
    return spryi_name_file(err, spryi_end_memory_limit(&limit, status, err), name);
}

spry_status spry_matrix_read(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                             spry_error *err)
{
    spry_read_options o;
    SPRYI_DEFAULT_FLOATS;
    SPRYI_OK_OR_RETURN(check_options(context, A, path, "path", &o, options, err));
    if (!path[0]) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "path", "read: path is empty, expected a file's name");
    spryi_text opened = {.name = path};
    spryi_memory_limit limit;
    begin_limit(&limit, &o);
    spry_status status = spryi_text_open(context, &opened, path, false, err);
    if (status == SPRY_OK) {
        status = read_text(&opened, A, &o, err);
        spryi_text_close(&opened);
    }
    return spryi_name_file(err, spryi_end_memory_limit(&limit, status, err), opened.name);
}

/* ---- source of the matrix --------------------------------------------------------------------------- */

spry_status spry_matrix_get_source(const spry_matrix *A, spry_source_info *info, spry_error *err)
{
    if (!A || !info) return spryi_fail_missing(err, !A ? "A" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_source *s = &A->source;
    spry_source_info source = {.rows = -1, .columns = -1, .entries = -1, .index_base = A->index_base};
    if (s->kind) {
        snprintf(source.kind, sizeof source.kind, "%s", s->kind);
        snprintf(source.layout, sizeof source.layout, "%s", s->layout);
        snprintf(source.field, sizeof source.field, "%s", s->field ? s->field : "");
        snprintf(source.symmetry, sizeof source.symmetry, "%s", s->symmetry ? s->symmetry : "");
        snprintf(source.packing, sizeof source.packing, "%s", s->packing ? s->packing : "");
        source.rows = s->rows;
        source.columns = s->cols;
        source.entries = s->entries;
        source.by_row = s->by_row;
        source.by_column = s->by_column;
        source.duplicates = s->duplicates;
    }
    SPRYI_GIVE(info, &source);
    return SPRY_OK;
}

spry_status spry_matrix_set_index_base(spry_matrix *A, int index_base, spry_error *err)
{
    if (!A) return spryi_fail_missing(err, "A");
    SPRYI_OK_OR_RETURN(spryi_check_range(NULL, "index_base", index_base, 0, 1, "0 or 1", err));
    A->index_base = index_base;
    if (A->stored && A->stored->csr) A->stored->csr->index_base = index_base;
    return SPRY_OK;
}
