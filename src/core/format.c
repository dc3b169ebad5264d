/* What all formats share: their names with parameters, the padding guard, and A as the CSR they are built from. */
#include "core/assemble.h"
#include "core/error.h"
#include "core/kernel.h"
#include "core/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

spry_status spryi_check_memory_limit(const spry_spmv_options *options, const char *format, int64_t bytes,
                                     spry_error *err)
{
    int64_t limit = options->memory_limit_bytes;
    if (limit == 0 || bytes <= limit) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                            "format %s would take %lld bytes, over the limit of %lld", format, (long long)bytes,
                            (long long)limit);
}

spry_status spryi_check_padding(const spryi_build_request *request, const char *format, const spryi_figure *figure,
                                spry_error *err)
{
    enum { SMALL = 4096 }; /* entries: not worth refusing */
    int64_t nnz = request->A->a.nnz;
    if (request->options->memory_limit_bytes > 0)
        return spryi_check_memory_limit(request->options, format, figure->bytes, err);
    if (figure->padding <= SMALL || (figure->padding - SMALL) / SPRYI_MOST_PADDING <= nnz) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "format", figure->bytes, 0,
                            "format %s would take %lld bytes, %lld of %lld entries padding: refused by the padding "
                            "guard (a memory limit of as many bytes allows it)",
                            format, (long long)figure->bytes, (long long)figure->padding,
                            (long long)(figure->padding + nnz));
}

spry_status spryi_admit(const spryi_build_request *request, const char *format, const spryi_figure *figure,
                        spry_error *err)
{
    if (request->figure) *request->figure = *figure;
    return spryi_check_padding(request, format, figure, err);
}

int spryi_borrows_no_values(const void *storage, const spry_matrix *A)
{
    (void)storage, (void)A;
    return 0;
}

const spry_arrays *spryi_leading_arrays(const void *storage)
{
    return storage;
}

spry_arrays spryi_types_of(int64_t rows, int64_t cols, int64_t nnz, int32_t value_type, int32_t offset_type,
                           int32_t index_type)
{
    spry_arrays types = SPRY_INIT(spry_arrays);
    types.layout = SPRY_CSR;
    types.rows = rows;
    types.cols = cols;
    types.nnz = nnz;
    types.offset_type = (spry_index_type)offset_type;
    types.index_type = (spry_index_type)index_type;
    types.value_type = (spry_type)value_type;
    return types;
}

spry_status spryi_new_csr(spry_context *context, spry_arrays *a, spry_error *err)
{
    void *offsets = NULL, *columns = NULL, *values = NULL;
    spry_status status =
        spryi_allocate(context, &offsets, a->rows + 1, spry_index_type_bytes(a->offset_type), "row offsets", err);
    if (status == SPRY_OK)
        status = spryi_allocate(context, &columns, a->nnz, spry_index_type_bytes(a->index_type), "columns", err);
    if (status == SPRY_OK && a->value_type != SPRY_PATTERN)
        status = spryi_allocate(context, &values, a->nnz, spry_type_bytes(a->value_type), "values", err);
    a->offsets = offsets;
    a->indices = columns;
    a->values = values;
    if (status != SPRY_OK) spryi_release_csr(context, a);
    return status;
}

void spryi_release_csr(spry_context *context, spry_arrays *a)
{
    spryi_release(context, (void *)(uintptr_t)a->offsets);
    spryi_release(context, (void *)(uintptr_t)a->indices);
    spryi_release(context, (void *)(uintptr_t)a->values);
    a->offsets = a->indices = a->values = NULL;
}

int spryi_sections_for_device(spryi_section *list, int count, const char *not_it)
{
    int kept = 0;
    for (int n = 0; n < count; n++)
        if (list[n].array && list[n].count > 0 && !(not_it && strcmp(list[n].name, not_it) == 0))
            list[kept++] = list[n];
    return kept;
}

spry_status spryi_matrix_as_csr(spry_context *context, spry_matrix **csr, const spry_matrix *A, spry_type value_type,
                                const spry_spmv_options *options, const char *format, spry_error *err)
{
    if (A->a.layout == SPRY_CSR && A->a.value_type == value_type) {
        *csr = spryi_matrix_retain(A);
        return SPRY_OK;
    }
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    spry_index_type offset_type = SPRY_INDEX_DEFAULT, index_type = A->a.index_type;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, A->a.rows, A->a.cols, A->a.nnz, err));
    spry_arrays made = A->a;
    made.layout = SPRY_CSR;
    made.value_type = value_type;
    made.offset_type = offset_type;
    SPRYI_TRY(spryi_check_memory_limit(options, format, spryi_arrays_bytes(&made), err));
    SPRYI_TRY(spryi_compress(context, &c, &A->a, SPRY_CSR, index_type, err));
    SPRYI_TRY(spryi_merge(context, &c, value_type, 1, NULL, err));
    SPRYI_TRY(spryi_compressed_finish(context, csr, &c, SPRY_CSR, offset_type, 0, SPRY_GENERAL, A->field, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- names with parameters ----------------------------------------------------------------------- */

/* "c, sigma" of a format's parameters, for messages. */
static void list_parameters(char *text, size_t size, const spryi_format *format)
{
    snprintf(text, size, "%s", format->parameters ? "" : "none");
    for (const spryi_parameter *p = format->parameters; p && p->name; p++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", p->name);
    }
}

/* The number of a word of `length` bytes; 0: none of the list. */
static int64_t number_of_word(const char *const *words, const char *text, size_t length)
{
    for (int w = 0; words[w]; w++)
        if (strlen(words[w]) == length && memcmp(words[w], text, length) == 0) return w + 1;
    return 0;
}

/* One "key=value" of `length` bytes. */
static spry_status parse_parameter(const spryi_format *format, int64_t *parameters, const char *text, size_t length,
                                   spry_error *err)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    int slot = 0;
    const spryi_parameter *p = format->parameters;
    for (; p && p->name; p++, slot++)
        if (strlen(p->name) == name_length && memcmp(p->name, text, name_length) == 0) break;
    if (!p || !p->name) {
        char known[96];
        list_parameters(known, sizeof known, format);
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "format", "format %s has no parameter \"%.*s\", expected %s",
                          format->name, (int)name_length, text, known);
    }
    if (parameters[slot] != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format", "format %s: %s is given twice", format->name, p->name);
    const char *const *words = format->parameter_words[slot];
    if (words) {
        parameters[slot] = equals ? number_of_word(words, equals + 1, length - name_length - 1) : 0;
        if (parameters[slot] > 0) return SPRY_OK;
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format", "format %s: \"%.*s\", expected %s=WORD (%s)",
                          format->name, (int)length, text, p->name, p->text);
    }
    char *end = NULL;
    errno = 0;
    long long value = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || end != text + length || end == equals + 1 || errno || value < p->least || value > p->most)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "format", value, p->most,
                                "format %s: \"%.*s\", expected %s=NUMBER from %lld to %lld (%s)", format->name,
                                (int)length, text, p->name, (long long)p->least, (long long)p->most, p->text);
    parameters[slot] = value;
    return SPRY_OK;
}

spry_status spryi_parse_format(const spryi_format **format, int64_t parameters[SPRYI_PARAMETERS], const char *text,
                               spry_error *err)
{
    char name[32];
    size_t length = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), text);
    const spryi_format *found = spryi_find_format(name);
    if (!found && length == 4 && memcmp(text, "auto", 4) == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format",
                          "auto is a plan's choice of a format, without parameters; expected a format of `spry "
                          "kernels`");
    if (!found)
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "format", "no format \"%.*s\"; `spry kernels` lists them",
                          (int)length, text);
    int64_t values[SPRYI_PARAMETERS] = {0};
    for (const char *next = text + length; *next == ':';) {
        next++;
        length = strcspn(next, ":");
        spry_status status = parse_parameter(found, values, next, length, err);
        if (status != SPRY_OK) return status;
        next += length;
    }
    memcpy(parameters, values, sizeof values);
    *format = found;
    return SPRY_OK;
}
