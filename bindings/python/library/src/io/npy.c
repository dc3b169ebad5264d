#include "io/npy.h"

#include "core/element.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/mtx.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 4096, BUFFER_BYTES = 64 << 10 };

static spry_status fail(const spryi_zip *zip, const spryi_npy *npy, spry_status status, const char *what,
                        spry_error *err)
{
    return spryi_fail_file(err, status, zip->text->name, 0, "%s: %s", npy->name, what);
}

/* ---- the head, a dictionary as Python writes it -------------------------------------------------- */

/* Behind the key and its colon; NULL: there is no such key. */
static const char *value_of(const char *head, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *p = strstr(head, quoted);
    if (!p) return NULL;
    p += strlen(quoted);
    while (*p == ' ' || *p == ':') p++;
    return p;
}

/* '<f8', '|b1': byte order, kind and bytes of an element, of text characters. */
static int take_type(const char *p, spryi_npy *npy)
{
    const int big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    int64_t bytes;
    int past;
    if (!p || p[0] != '\'' || !p[1] || !strchr("<>|=", p[1]) || !p[2] || !strchr("fiubcSU", p[2])) return 0;
    const char *stop = spryi_read_digits(p + 3, p + strlen(p), &bytes, &past);
    if (stop == p + 3 || *stop != '\'' || past || bytes < 1 || bytes > 256) return 0;
    npy->kind = p[2];
    npy->item_bytes = (int)(p[2] == 'U' ? 4 * bytes : bytes);
    npy->swapped = p[1] == (big ? '<' : '>');
    return 1;
}

/* (), (5,), (5, 3) */
static int take_shape(const char *p, spryi_npy *npy)
{
    npy->count = 1;
    npy->dimensions = 0;
    for (int d = 0; d < SPRYI_NPY_DIMENSIONS; d++) npy->shape[d] = 1;
    if (!p || *p++ != '(') return 0;
    for (;;) {
        int past;
        while (*p == ' ' || *p == ',') p++;
        if (*p == ')') return 1;
        if (npy->dimensions == SPRYI_NPY_DIMENSIONS) return 0;
        int64_t *extent = &npy->shape[npy->dimensions++];
        const char *stop = spryi_read_digits(p, p + strlen(p), extent, &past);
        if (stop == p || past || __builtin_mul_overflow(npy->count, *extent, &npy->count) ||
            npy->count > INT64_MAX / 64)
            return 0;
        p = stop;
    }
}

static spry_status read_head(spryi_zip *zip, spryi_npy *npy, spry_error *err)
{
    unsigned char start[12];
    char head[HEAD_BYTES];
    SPRYI_OK_OR_RETURN(zip->left < 10 ? fail(zip, npy, SPRY_BAD_FILE, "is no NumPy array", err)
                                      : spryi_zip_read(zip, start, 10, err));
    if (memcmp(start, "\x93NUMPY", 6) != 0) return fail(zip, npy, SPRY_BAD_FILE, "is no NumPy array", err);
    int64_t bytes = start[8] | start[9] << 8;
    if (start[6] > 1) {
        SPRYI_OK_OR_RETURN(spryi_zip_read(zip, start + 10, 2, err));
        bytes |= (int64_t)start[10] << 16 | (int64_t)start[11] << 24;
    }
    if (start[6] < 1 || start[6] > 3 || bytes >= HEAD_BYTES)
        return fail(zip, npy, SPRY_UNSUPPORTED, "is a NumPy array of an unknown version, or of named fields", err);
    SPRYI_OK_OR_RETURN(spryi_zip_read(zip, head, bytes, err));
    head[bytes] = '\0';
    const char *fortran = value_of(head, "fortran_order");
    if (!take_type(value_of(head, "descr"), npy))
        return fail(zip, npy, SPRY_UNSUPPORTED, "has elements of an unknown type, expected numbers", err);
    if (!fortran || !take_shape(value_of(head, "shape"), npy))
        return fail(zip, npy, SPRY_BAD_FILE, "has a head that makes no sense", err);
    npy->fortran = strncmp(fortran, "True", 4) == 0;
    int64_t expected;
    if (__builtin_mul_overflow(npy->count, npy->item_bytes, &expected) || expected != zip->left)
        return fail(zip, npy, SPRY_BAD_FILE, "has another number of bytes than its shape tells", err);
    return SPRY_OK;
}

spry_status spryi_npy_open(spryi_zip *zip, const char *name, spryi_npy *npy, int *there, spry_error *err)
{
    int64_t bytes;
    *npy = (spryi_npy){.name = name};
    *there = 0;
    SPRYI_OK_OR_RETURN(spryi_zip_open_member(zip, name, &bytes, err));
    *there = bytes >= 0;
    return *there ? read_head(zip, npy, err) : SPRY_OK;
}

void spryi_npy_type_name(const spryi_npy *npy, char *to, size_t size)
{
    const char *kind = npy->kind == 'f' ? "float" : npy->kind == 'i' ? "int" : npy->kind == 'u' ? "uint" : "complex";
    if (npy->kind == 'b')
        snprintf(to, size, "bool");
    else
        snprintf(to, size, "%s%d", kind, 8 * npy->item_bytes);
}

/* ---- elements ----------------------------------------------------------------------------------- */

static void swap_bytes(unsigned char *data, int64_t count, int item_bytes)
{
    for (int64_t k = 0; k < count; k++, data += item_bytes)
        for (int b = 0; b < item_bytes / 2; b++) {
            const unsigned char byte = data[b];
            data[b] = data[item_bytes - 1 - b];
            data[item_bytes - 1 - b] = byte;
        }
}

/* The next `count` elements, in this machine's byte order. */
static spry_status read_elements(spryi_zip *zip, const spryi_npy *npy, void *to, int64_t count, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_zip_read(zip, to, count * npy->item_bytes, err));
    if (npy->swapped) swap_bytes(to, count, npy->item_bytes);
    return SPRY_OK;
}

spry_status spryi_npy_read_text(spryi_zip *zip, const spryi_npy *npy, char *to, size_t size, spry_error *err)
{
    unsigned char data[1024];
    const int width = npy->kind == 'U' ? 4 : 1;
    if ((npy->kind != 'S' && npy->kind != 'U') || npy->count != 1 || npy->item_bytes > (int)sizeof data)
        return fail(zip, npy, SPRY_BAD_FILE, "expected a word", err);
    SPRYI_OK_OR_RETURN(spryi_zip_read(zip, data, npy->item_bytes, err));
    size_t length = 0;
    for (int c = 0; c < npy->item_bytes / width && length + 1 < size; c++) {
        const unsigned char byte = data[c * width + (npy->swapped && width == 4 ? 3 : 0)];
        if (byte == 0) break;
        to[length++] = byte < 0x7f ? (char)byte : '?';
    }
    to[length] = '\0';
    return spryi_zip_close_member(zip, err);
}

#define EVERY_INTEGER(DO)                                                                                              \
    DO('i', int8_t)                                                                                                    \
    DO('i', int16_t)                                                                                                   \
    DO('i', int32_t)                                                                                                   \
    DO('i', int64_t) DO('u', uint8_t) DO('u', uint16_t) DO('u', uint32_t) DO('u', uint64_t) DO('b', uint8_t)

/* Returns the first of `checked` elements that is out of range; `count` where none is. */
static int64_t take_integers(const spryi_npy *npy, const void *data, int64_t count, void *to, spry_index_type type,
                             int64_t at, int64_t checked, int64_t least, int64_t most)
{
    int64_t odd = count;
#define TAKE(letter, ctype)                                                                                            \
    if (npy->kind == (letter) && npy->item_bytes == (int)sizeof(ctype)) {                                              \
        for (int64_t k = 0; k < count; k++) {                                                                          \
            const int64_t value = (int64_t)((const ctype *)data)[k];                                                   \
            if (at + k < checked && (value < least || value > most) && odd == count) odd = k;                          \
            spryi_set_index(to, type, at + k, value);                                                                  \
        }                                                                                                              \
    }
    EVERY_INTEGER(TAKE)
#undef TAKE
    return odd;
}

static int is_integer(const spryi_npy *npy)
{
#define IS(letter, ctype)                                                                                              \
    if (npy->kind == (letter) && npy->item_bytes == (int)sizeof(ctype)) return 1;
    EVERY_INTEGER(IS)
#undef IS
    return 0;
}

spry_status spryi_npy_read_integers(spryi_zip *zip, const spryi_npy *npy, void *to, spry_index_type type,
                                    int64_t checked, int64_t least, int64_t most, spry_error *err)
{
    if (!is_integer(npy)) return fail(zip, npy, SPRY_BAD_FILE, "expected whole numbers", err);
    int64_t *buffer = NULL;
    spry_context *context = zip->text->context;
    spry_status status = spryi_allocate(context, (void **)&buffer, 1, BUFFER_BYTES, "a part of an array", err);
    const int64_t each = BUFFER_BYTES / npy->item_bytes;
    for (int64_t at = 0, count; status == SPRY_OK && at < npy->count; at += count) {
        count = npy->count - at < each ? npy->count - at : each;
        status = read_elements(zip, npy, buffer, count, err);
        if (status != SPRY_OK) break;
        const int64_t odd = take_integers(npy, buffer, count, to, type, at, checked, least, most);
        if (odd < count)
            status = spryi_fail_file(err, SPRY_BAD_FILE, zip->text->name, 0,
                                     "%s: element %lld is not within %lld .. %lld", npy->name, (long long)(at + odd),
                                     (long long)least, (long long)most);
    }
    spryi_release(context, buffer);
    return status == SPRY_OK ? spryi_zip_close_member(zip, err) : status;
}

/* Rounded once: a whole number goes to f32 by no detour. */
static void take_values(const spryi_npy *npy, const void *data, int64_t count, void *to, spry_type type, int64_t at)
{
#define TAKE(letter, ctype)                                                                                            \
    if (npy->kind == (letter) && npy->item_bytes == (int)sizeof(ctype)) {                                              \
        for (int64_t k = 0; k < count; k++) {                                                                          \
            const ctype value = ((const ctype *)data)[k];                                                              \
            if (type == SPRY_F64) ((double *)to)[at + k] = (double)value;                                              \
            if (type == SPRY_F32) ((float *)to)[at + k] = (float)value;                                                \
        }                                                                                                              \
    }
    EVERY_INTEGER(TAKE)
    TAKE('f', float)
    TAKE('f', double)
#undef TAKE
    if (npy->kind == 'f' && npy->item_bytes == 2)
        for (int64_t k = 0; k < count; k++) spryi_set_value(to, type, at + k, spryi_value_at(data, SPRY_F16, k));
}

spry_status spryi_npy_read_values(spryi_zip *zip, const spryi_npy *npy, void *to, spry_type type, spry_error *err)
{
    const int is_float = npy->kind == 'f' && (npy->item_bytes == 2 || npy->item_bytes == 4 || npy->item_bytes == 8);
    if (!is_float && !is_integer(npy)) {
        char name[24];
        spryi_npy_type_name(npy, name, sizeof name);
        return spryi_fail_file(err, SPRY_UNSUPPORTED, zip->text->name, 0,
                               "%s: values are %s; real numbers of at most 64 bits, whole ones and bool are read",
                               npy->name, npy->kind == 'S' || npy->kind == 'U' ? "text" : name);
    }
    double *buffer = NULL;
    spry_context *context = zip->text->context;
    spry_status status = spryi_allocate(context, (void **)&buffer, 1, BUFFER_BYTES, "a part of an array", err);
    const int64_t each = BUFFER_BYTES / npy->item_bytes;
    for (int64_t at = 0, count; status == SPRY_OK && at < npy->count; at += count) {
        count = npy->count - at < each ? npy->count - at : each;
        status = read_elements(zip, npy, buffer, count, err);
        if (status == SPRY_OK) take_values(npy, buffer, count, to, type, at);
    }
    spryi_release(context, buffer);
    return status == SPRY_OK ? spryi_zip_close_member(zip, err) : status;
}
