/*
 * Reads dense vectors from Matrix Market files, and writes them as Matrix Market or CSV. Matrix Market files are
 * written as n x k arrays. Coordinate files can also be read.
 */
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "core/device.h"
#include "io/decimal.h"
#include "io/output.h"
#include "io/readers.h"
#include "spry/io.h"

#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 64 << 10 };

/* ---- reading ------------------------------------------------------------------------------------ */

static spry_status check_head(const spryi_mtx *head, spry_error *err)
{
    if (head->n < 1 || (head->n > 1 && head->symmetry != SPRY_GENERAL))
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "the matrix is %lld x %lld%s, expected a vector, which is n x 1, or several in a "
                               "general matrix",
                               (long long)head->m, (long long)head->n, head->n < 1 ? "" : " and symmetric");
    int64_t entries;
    if (__builtin_mul_overflow(head->m, head->n, &entries))
        return spryi_fail_file(err, SPRY_TOO_LARGE, head->name, head->lines,
                               "%lld x %lld entries overflow what can be addressed", (long long)head->m,
                               (long long)head->n);
    return SPRY_OK;
}

/*
 * Stores the values. The values of an array are stored in order, column by column. The values of a coordinate file are
 * added at their positions, in file order.
 */
static void add_entries(const spry_vector *v, const spryi_mtx_entries *entries)
{
    for (int64_t k = 0; k < entries->count; k++) {
        int64_t at = k;
        if (entries->rows)
            at = spryi_index_at(entries->rows, entries->index_type, k) +
                 spryi_index_at(entries->cols, entries->index_type, k) * v->column_stride;
        double value = spryi_value_at(entries->values, entries->value_type, k);
        if (entries->rows) value += spryi_value_at(v->data, v->type, at);
        spryi_set_value(v->data, v->type, at, value);
    }
}

static spry_status read_text(spryi_text *text, spry_vector *v, spry_type type, spry_error *err)
{
    spryi_mtx head;
    spryi_block block;
    spryi_mtx_entries entries = {0};
    spry_vector made = {0};
    spry_index_type offset_type = SPRY_INDEX_DEFAULT, index_type = SPRY_INDEX_DEFAULT;
    spry_status status = spryi_block_create(text, &block, err);
    if (status != SPRY_OK) return status;
    SPRYI_TRY(spryi_mtx_read_head(text, &block, &head, err));
    SPRYI_TRY(check_head(&head, err));
    spryi_block_destroy(text, &block);
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, head.m, head.n, 0, err));
    /* Reads the entries first, so that nothing is allocated for a truncated file. */
    SPRYI_TRY(spryi_mtx_read_entries(text, &head, index_type, type, &entries, err));
    SPRYI_TRY(spry_vector_create(text->context, &made, head.m * head.n, type, 0, err));
    made.length = made.column_stride = head.m;
    made.count = head.n;
    add_entries(&made, &entries);
    *v = made;
done:
    spryi_mtx_release(text->context, &entries);
    spryi_block_destroy(text, &block);
    return status;
}

spry_status spry_vector_read(spry_context *context, spry_vector *v, const char *path, spry_type type, spry_error *err)
{
    if (!context || !v || !path) {
        const char *missing = !context ? "context" : !v ? "v" : "path";
        return spryi_fail_missing(err, missing);
    }
    if (type == SPRY_TYPE_DEFAULT) type = SPRY_F64;
    if (spryi_value_slot(type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "type", type, SPRY_F64,
                                "read: type is %d, expected SPRY_F32 or SPRY_F64", (int)type);
    SPRYI_DEFAULT_FLOATS;
    spryi_text text;
    SPRYI_OK_OR_RETURN(spryi_text_open(context, &text, path, true, err));
    spry_status status = spryi_name_file(err, read_text(&text, v, type, err), text.name);
    spryi_text_close(&text);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------ */

static spry_status check_write(const spry_context *context, const spry_const_vector *v, const char *path,
                               spry_error *err)
{
    if (!context || !path)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "path", "write: %s is NULL",
                          !context ? "context" : "path");
    if (spryi_value_slot(v->type) < 0 || v->length < 0 || (!v->data && v->length > 0) || v->count < 0 ||
        v->row_stride < 0 || v->column_stride < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "v",
                          "write: expected a vector of f32 or f64, with count and strides of 0 or more");
    if (v->device > 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "v", "write: the vector is in device memory, expected host memory");
    SPRYI_OK_OR_RETURN(spryi_check_stride(v->row_stride, v->length, "v", "row_stride", err));
    SPRYI_OK_OR_RETURN(spryi_check_stride(v->column_stride, v->count, "v", "column_stride", err));
    return spryi_check_reserved(v, "v", err);
}

/* Vectors are written uncompressed. */
static spry_status check_name(const char *path, spryi_output_kind *kind, spry_error *err)
{
    bool gzip;
    SPRYI_OK_OR_RETURN(spryi_output_kind_of(path, kind, &gzip, err));
    if (!gzip && *kind != SPRYI_OUTPUT_CONTAINER) return SPRY_OK;
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, "path",
                      "write: a vector is written as plain text, expected a name that ends in .mtx or .csv, not %s",
                      path);
}

static spry_status write_head(spry_context *context, const spryi_output *output, const char *comment,
                              const spry_const_vector *v, spry_error *err)
{
    static const char banner[] = "%%MatrixMarket matrix array real general\n";
    char size[64], *lines = NULL;
    size_t bytes = spryi_mtx_comment(NULL, comment);
    spry_status status = SPRYI_NEW(context, &lines, (int64_t)bytes, "comment of the file", err);
    if (status != SPRY_OK) return status;
    (void)spryi_mtx_comment(lines, comment);
    int length = snprintf(size, sizeof size, "%lld %lld\n", (long long)v->length, (long long)v->count);
    SPRYI_TRY(spryi_output_write(output, banner, sizeof banner - 1, err));
    SPRYI_TRY(spryi_output_write(output, lines, bytes, err));
    status = spryi_output_write(output, size, (size_t)length, err);
done:
    spryi_release(context, lines);
    return status;
}

static spry_status write_numbers(const spryi_output *output, const spry_const_vector *v, char *text, spry_error *err)
{
    char *to = text;
    for (int64_t c = 0; c < v->count; c++)
        for (int64_t i = 0; i < v->length; i++) {
            to = spryi_decimal_write_value(to, v->data, v->type, i * v->row_stride + c * v->column_stride);
            *to++ = '\n';
            if (to - text < PIECE_BYTES - SPRYI_NUMBER_CHARS - 1) continue;
            SPRYI_OK_OR_RETURN(spryi_output_write(output, text, (size_t)(to - text), err));
            to = text;
        }
    return spryi_output_write(output, text, (size_t)(to - text), err);
}

/* Writes the text to the output if the buffer has no space for another number. */
static spry_status make_room(const spryi_output *output, char *text, char **to, spry_error *err)
{
    const size_t bytes = (size_t)(*to - text);
    if (bytes < PIECE_BYTES - SPRYI_NUMBER_CHARS - 2) return SPRY_OK;
    *to = text;
    return spryi_output_write(output, text, bytes, err);
}

/* Writes a line for each row: its index and its values. */
static spry_status write_rows(const spryi_output *output, const spry_const_vector *v, int base, char *text,
                              spry_error *err)
{
    char *to = text;
    for (int64_t i = 0; i < v->length; i++) {
        SPRYI_OK_OR_RETURN(make_room(output, text, &to, err));
        to = spryi_decimal_write_i64(to, i + base);
        for (int64_t c = 0; c < v->count; c++) {
            SPRYI_OK_OR_RETURN(make_room(output, text, &to, err));
            *to++ = ',';
            to = spryi_decimal_write_value(to, v->data, v->type, i * v->row_stride + c * v->column_stride);
        }
        SPRYI_OK_OR_RETURN(make_room(output, text, &to, err));
        *to++ = '\n';
    }
    return spryi_output_write(output, text, (size_t)(to - text), err);
}

/* Writes "row,value", or "row,value1,value2" for two vectors. */
static spry_status write_names(const spryi_output *output, const spry_const_vector *v,
                               const spry_write_options *options, spry_error *err)
{
    const char *const row = options->row_name ? options->row_name : "row";
    const char *const value = options->value_name ? options->value_name : "value";
    SPRYI_OK_OR_RETURN(spryi_output_write(output, row, strlen(row), err));
    for (int64_t c = 0; c < v->count; c++) {
        char number[24] = "";
        if (v->count > 1) snprintf(number, sizeof number, "%lld", (long long)(c + 1));
        SPRYI_OK_OR_RETURN(spryi_output_write(output, ",", 1, err));
        SPRYI_OK_OR_RETURN(spryi_output_write(output, value, strlen(value), err));
        SPRYI_OK_OR_RETURN(spryi_output_write(output, number, strlen(number), err));
    }
    return spryi_output_write(output, "\n", 1, err);
}

spry_status spry_vector_write(spry_context *context, spry_const_vector v, const char *path,
                              const spry_write_options *options, spry_error *err)
{
    SPRYI_DEFAULT_FLOATS;
    spryi_output output = {.fd = -1};
    char *text = NULL;
    spryi_output_kind kind;
    spry_write_options o;
    spry_status status = SPRY_OK;
    SPRYI_OK_OR_RETURN(check_write(context, &v, path, err));
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    SPRYI_OK_OR_RETURN(check_name(path, &kind, err));
    SPRYI_OK_OR_RETURN(spryi_check_write_options(&o, path, kind, true, err));
    SPRYI_OK_OR_RETURN(spryi_check_range("write", "index_base", o.index_base, 0, 1, "0 or 1", err));
    v = spryi_resolved(v);
    SPRYI_TRY(SPRYI_NEW(context, &text, PIECE_BYTES, "text to write", err));
    SPRYI_TRY(spryi_output_open(&output, path, err));
    if (kind == SPRYI_OUTPUT_CSV) {
        SPRYI_TRY(write_names(&output, &v, &o, err));
        status = write_rows(&output, &v, o.index_base, text, err);
    } else {
        SPRYI_TRY(write_head(context, &output, o.comment, &v, err));
        status = write_numbers(&output, &v, text, err);
    }
done:
    spryi_release(context, text);
    return spryi_output_close(&output, status, err);
}
