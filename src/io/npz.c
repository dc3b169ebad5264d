/*
 * Reader of .npz files of scipy.sparse.save_npz, which are zip archives of NumPy arrays. Each archive has the members
 * format, shape and data. The other members depend on the format: indices and indptr, row and col, or offsets. All
 * formats are read as entries in file order. CSR is built from the entries as for text files.
 */
#include "io/readers.h"

#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"
#include "spry/io.h"

#include <stdio.h>
#include <string.h>

#if SPRY_HAVE_MINIZIP

#include <errno.h>
#include <unistd.h>

#include <minizip/unzip.h>

/*
 * A zip archive that minizip reads (docs/decisions.md, 20). One member at a time is open. Sizes that the archive states
 * are compared with the size of the file before memory is allocated.
 */
typedef struct zip_archive {
    const spryi_text *text; /* a file or memory, not a feed */
    int64_t at;             /* position of minizip's next read */
    void *archive;          /* minizip's state, which takes some kilobytes from malloc */
    const char *member;     /* name of the open member; NULL: none */
    int64_t left;           /* bytes of the member that are still to be read */
    int64_t stored;         /* position of the next byte of an uncompressed member; 0: minizip reads the member */
    unsigned long sum;      /* checksum of the bytes read so far, if the member is uncompressed */
    unsigned long wanted;   /* checksum of the whole member */
    int number;             /* errno of a failed read; 0: none */
} zip_archive;

enum { MOST_RATIO = 1032, MOST_READ = 1 << 30 }; /* MOST_RATIO: largest ratio to which deflate compresses */

/* ---- file access of minizip ---------------------------------------------------------------------- */

static voidpf ZCALLBACK open_file(voidpf opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong ZCALLBACK read_file(voidpf opaque, voidpf stream, void *to, uLong size)
{
    zip_archive *zip = opaque;
    const spryi_text *text = zip->text;
    uLong got = 0;
    (void)stream;
    if (text->memory) {
        const int64_t left = text->bytes - zip->at;
        got = left < (int64_t)size ? (uLong)left : size;
        memcpy(to, text->memory + zip->at, got);
    }
    while (!text->memory && got < size) {
        const ssize_t count = pread(text->fd, (char *)to + got, size - got, zip->at + (int64_t)got);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) zip->number = errno;
        if (count <= 0) break;
        got += (uLong)count;
    }
    zip->at += (int64_t)got;
    return got;
}

static ZPOS64_T ZCALLBACK position_in_file(voidpf opaque, voidpf stream)
{
    (void)stream;
    return (ZPOS64_T)((zip_archive *)opaque)->at;
}

static long ZCALLBACK seek_file(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    zip_archive *zip = opaque;
    const int64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? zip->at
                         : origin == ZLIB_FILEFUNC_SEEK_END ? zip->text->bytes
                                                            : 0;
    (void)stream;
    if (offset > (ZPOS64_T)(zip->text->bytes - from)) return -1;
    zip->at = from + (int64_t)offset;
    return 0;
}

static int ZCALLBACK close_file(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

/* ---- archive and members ------------------------------------------------------------------------ */

static spry_status fail_zip(const zip_archive *zip, const char *what, spry_error *err)
{
    if (zip->number != 0) return spryi_fail_errno(err, zip->text->name, "cannot be read", zip->number);
    return spryi_fail_file(err, SPRY_BAD_FILE, zip->text->name, 0, "%s%s%s", zip->member ? zip->member : "",
                           zip->member ? ": " : "", what);
}

static spry_status open_zip(zip_archive *zip, const spryi_text *text, spry_error *err)
{
    *zip = (zip_archive){.text = text};
    if (text->feed.fd >= 0)
        return spryi_fail_file(err, SPRY_UNSUPPORTED, text->name, 0,
                               "is a zip archive, as .npz files are, which is not read from a pipe");
    zlib_filefunc64_def functions = {.zopen64_file = open_file,
                                     .zread_file = read_file,
                                     .ztell64_file = position_in_file,
                                     .zseek64_file = seek_file,
                                     .zclose_file = close_file,
                                     .zerror_file = close_file,
                                     .opaque = zip};
    zip->archive = unzOpen2_64(text->name, &functions);
    if (zip->archive) return SPRY_OK;
    return fail_zip(zip, "is cut or damaged: a zip archive's directory was not found at its end", err);
}

static void close_zip(zip_archive *zip)
{
    if (!zip->archive) return;
    if (zip->member) (void)unzCloseCurrentFile(zip->archive);
    (void)unzClose(zip->archive);
    zip->archive = NULL;
}

static spry_status open_member(zip_archive *zip, const char *name, int64_t *bytes, spry_error *err)
{
    unz_file_info64 info;
    *bytes = -1;
    const int found = unzLocateFile(zip->archive, name, 1);
    if (found == UNZ_END_OF_LIST_OF_FILE && zip->number == 0) return SPRY_OK;
    zip->member = name; /* for the message */
    spry_status status = SPRY_OK;
    if (found != UNZ_OK || unzGetCurrentFileInfo64(zip->archive, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK) {
        status = fail_zip(zip, "the archive's directory is damaged", err);
    } else if (info.flag & 1) {
        status = fail_zip(zip, "is encrypted", err);
    } else if (info.compression_method != 0 && info.compression_method != Z_DEFLATED) {
        status = fail_zip(zip, "is compressed in a way that NumPy does not write", err);
    } else if (info.compressed_size > (ZPOS64_T)zip->text->bytes ||
               info.uncompressed_size / MOST_RATIO > info.compressed_size) {
        status = fail_zip(zip, "claims more bytes than the file can contain", err);
    } else if (unzOpenCurrentFile(zip->archive) != UNZ_OK) {
        status = fail_zip(zip, "cannot be opened: the archive is damaged, or memory is out", err);
    } else {
        *bytes = zip->left = (int64_t)info.uncompressed_size;
        const int as_it_is = info.compression_method == 0 && info.compressed_size == info.uncompressed_size;
        zip->stored = as_it_is ? (int64_t)unzGetCurrentFileZStreamPos64(zip->archive) : 0;
        zip->sum = crc32(0, NULL, 0);
        zip->wanted = info.crc;
    }
    if (status != SPRY_OK) zip->member = NULL;
    return status;
}

/* Reads bytes of an uncompressed member directly from the input. minizip would copy them one by one. */
static spry_status read_stored(zip_archive *zip, void *to, int64_t bytes, spry_error *err)
{
    const int fits = bytes <= zip->left && bytes <= zip->text->bytes - zip->stored;
    zip->at = zip->stored;
    if (!fits || (int64_t)read_file(zip, NULL, to, (uLong)bytes) < bytes) return fail_zip(zip, "is cut short", err);
    zip->sum = crc32_z(zip->sum, to, (z_size_t)bytes);
    zip->stored += bytes;
    zip->left -= bytes;
    return SPRY_OK;
}

static spry_status read_bytes(zip_archive *zip, void *to, int64_t bytes, spry_error *err)
{
    if (zip->stored > 0) return read_stored(zip, to, bytes, err);
    char *at = to;
    while (bytes > 0) {
        const int got = unzReadCurrentFile(zip->archive, at, (unsigned)(bytes < MOST_READ ? bytes : MOST_READ));
        if (got <= 0) return fail_zip(zip, got < 0 ? "is damaged" : "is cut short", err);
        at += got;
        bytes -= got;
        zip->left -= got;
    }
    return SPRY_OK;
}

static spry_status close_member(zip_archive *zip, spry_error *err)
{
    const int result = unzCloseCurrentFile(zip->archive);
    const int holds = zip->stored == 0 || zip->left > 0 || zip->sum == zip->wanted;
    const spry_status status = result == UNZ_OK && holds ? SPRY_OK
                                                         : fail_zip(zip, "is damaged: its checksum is wrong", err);
    zip->member = NULL;
    return status;
}

/* Head of an array (NumPy Enhancement Proposal 1). */
enum { DIMENSIONS = 3 };

typedef struct npy_array {
    const char *name; /* name of the member */
    char kind;        /* NumPy's letter: f, i, u, b, c, S, U */
    int item_bytes;
    bool swapped; /* elements have the opposite byte order of this machine */
    bool fortran; /* column-major: the first index varies fastest */
    int dimensions;
    int64_t shape[DIMENSIONS]; /* 1 for missing dimensions */
    int64_t count;             /* number of elements */
} npy_array;

enum { HEAD_BYTES = 4096, BUFFER_BYTES = 64 << 10 };

static spry_status fail(const zip_archive *zip, const npy_array *npy, spry_status status, const char *what,
                        spry_error *err)
{
    return spryi_fail_file(err, status, zip->text->name, 0, "%s: %s", npy->name, what);
}

/* ---- the head, a Python dictionary --------------------------------------------------------------- */

/* Returns the text after the key and its colon, or NULL if the key is missing. */
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

/*
 * Reads a type, such as '<f8' or '|b1': byte order, kind, and size of an element in bytes. The size of text is in
 * characters.
 */
static int take_type(const char *p, npy_array *npy)
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

/* Reads a shape, such as (), (5,) or (5, 3). */
static int take_shape(const char *p, npy_array *npy)
{
    npy->count = 1;
    npy->dimensions = 0;
    for (int d = 0; d < DIMENSIONS; d++) npy->shape[d] = 1;
    if (!p || *p++ != '(') return 0;
    for (;;) {
        int past;
        while (*p == ' ' || *p == ',') p++;
        if (*p == ')') return 1;
        if (npy->dimensions == DIMENSIONS) return 0;
        int64_t *extent = &npy->shape[npy->dimensions++];
        const char *stop = spryi_read_digits(p, p + strlen(p), extent, &past);
        if (stop == p || past || __builtin_mul_overflow(npy->count, *extent, &npy->count) ||
            npy->count > INT64_MAX / 64)
            return 0;
        p = stop;
    }
}

static spry_status read_head(zip_archive *zip, npy_array *npy, spry_error *err)
{
    unsigned char start[12];
    char head[HEAD_BYTES];
    SPRYI_OK_OR_RETURN(zip->left < 10 ? fail(zip, npy, SPRY_BAD_FILE, "is not a NumPy array", err)
                                      : read_bytes(zip, start, 10, err));
    if (memcmp(start, "\x93NUMPY", 6) != 0) return fail(zip, npy, SPRY_BAD_FILE, "is not a NumPy array", err);
    int64_t bytes = start[8] | start[9] << 8;
    if (start[6] > 1) {
        SPRYI_OK_OR_RETURN(read_bytes(zip, start + 10, 2, err));
        bytes |= (int64_t)start[10] << 16 | (int64_t)start[11] << 24;
    }
    if (start[6] < 1 || start[6] > 3 || bytes >= HEAD_BYTES)
        return fail(zip, npy, SPRY_UNSUPPORTED, "is a NumPy array of an unknown version, or of named fields", err);
    SPRYI_OK_OR_RETURN(read_bytes(zip, head, bytes, err));
    head[bytes] = '\0';
    const char *fortran = value_of(head, "fortran_order");
    if (!take_type(value_of(head, "descr"), npy))
        return fail(zip, npy, SPRY_UNSUPPORTED, "has elements of an unknown type, expected numbers", err);
    if (!fortran || !take_shape(value_of(head, "shape"), npy))
        return fail(zip, npy, SPRY_BAD_FILE, "has an invalid head", err);
    npy->fortran = strncmp(fortran, "True", 4) == 0;
    int64_t expected;
    if (__builtin_mul_overflow(npy->count, npy->item_bytes, &expected) || expected != zip->left)
        return fail(zip, npy, SPRY_BAD_FILE, "has a number of bytes that does not match its shape", err);
    return SPRY_OK;
}

/*
 * Opens a member and reads its head into *npy. *exists: the archive has such a member. An open member is closed by
 * read_text, read_integers or read_real_values, or when the next member is opened.
 */
static spry_status open_npy(zip_archive *zip, const char *name, npy_array *npy, int *exists, spry_error *err)
{
    int64_t bytes;
    *npy = (npy_array){.name = name};
    *exists = 0;
    SPRYI_OK_OR_RETURN(open_member(zip, name, &bytes, err));
    *exists = bytes >= 0;
    return *exists ? read_head(zip, npy, err) : SPRY_OK;
}

/* Writes NumPy's name of the type, "float64" or "int32": at most 23 characters. */
static void name_type(const npy_array *npy, char *to, size_t size)
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

/* Reads the next `count` elements in this machine's byte order. */
static spry_status read_elements(zip_archive *zip, const npy_array *npy, void *to, int64_t count, spry_error *err)
{
    SPRYI_OK_OR_RETURN(read_bytes(zip, to, count * npy->item_bytes, err));
    if (npy->swapped) swap_bytes(to, count, npy->item_bytes);
    return SPRY_OK;
}

/* Reads the text of one element, at most size - 1 characters. */
static spry_status read_text(zip_archive *zip, const npy_array *npy, char *to, size_t size, spry_error *err)
{
    unsigned char data[1024];
    const int width = npy->kind == 'U' ? 4 : 1;
    if ((npy->kind != 'S' && npy->kind != 'U') || npy->count != 1 || npy->item_bytes > (int)sizeof data)
        return fail(zip, npy, SPRY_BAD_FILE, "expected a word", err);
    SPRYI_OK_OR_RETURN(read_bytes(zip, data, npy->item_bytes, err));
    size_t length = 0;
    for (int c = 0; c < npy->item_bytes / width && length + 1 < size; c++) {
        const unsigned char byte = data[c * width + (npy->swapped && width == 4 ? 3 : 0)];
        if (byte == 0) break;
        to[length++] = byte < 0x7f ? (char)byte : '?';
    }
    to[length] = '\0';
    return close_member(zip, err);
}

#define EVERY_INTEGER(DO)                                                                                              \
    DO('i', int8_t)                                                                                                    \
    DO('i', int16_t)                                                                                                   \
    DO('i', int32_t)                                                                                                   \
    DO('i', int64_t) DO('u', uint8_t) DO('u', uint16_t) DO('u', uint32_t) DO('u', uint64_t) DO('b', uint8_t)

/*
 * Converts `count` elements of an array, from element `at` on, to integers. Returns the index in data of the first
 * element outside least .. most, or `count` if there is none. Checks only the first `checked` elements of the array.
 */
static int64_t take_integers(const npy_array *npy, const void *data, int64_t count, void *to, spry_index_type type,
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

static int is_integer(const npy_array *npy)
{
#define IS(letter, ctype)                                                                                              \
    if (npy->kind == (letter) && npy->item_bytes == (int)sizeof(ctype)) return 1;
    EVERY_INTEGER(IS)
#undef IS
    return 0;
}

/* Reads integers into an array of the type. The first `checked` must be in least .. most. */
static spry_status read_integers(zip_archive *zip, const npy_array *npy, void *to, spry_index_type type,
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
    return status == SPRY_OK ? close_member(zip, err) : status;
}

/* Converts values with one rounding: an integer is converted directly to f32, not first to f64. */
static void take_values(const npy_array *npy, const void *data, int64_t count, void *to, spry_type type, int64_t at)
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

/*
 * Reads values and rounds them to f32 or f64. If type is SPRY_PATTERN, the values are not kept. Returns
 * SPRY_UNSUPPORTED if the values are complex, for example.
 */
static spry_status read_real_values(zip_archive *zip, const npy_array *npy, void *to, spry_type type, spry_error *err)
{
    const int is_float = npy->kind == 'f' && (npy->item_bytes == 2 || npy->item_bytes == 4 || npy->item_bytes == 8);
    if (!is_float && !is_integer(npy)) {
        char name[24];
        name_type(npy, name, sizeof name);
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
    return status == SPRY_OK ? close_member(zip, err) : status;
}

typedef struct npz {
    zip_archive zip;
    spry_context *context;
    const char *name;
    char format[16], field[24];
    spryi_mtx head; /* sizes, field */
    spry_type type; /* type that `values` are read in */
    npy_array data; /* head of the last array of values */
    spryi_mtx_entries entries;
    void *values;             /* values of blocks or diagonals, in file order */
    void *indices, *pointers; /* 64-bit copies of indices or offsets, and of indptr */
} npz;

static spry_status bad(const npz *f, spry_error *err, const char *what)
{
    return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "%s matrix: %s", f->format, what);
}

/* ---- members ------------------------------------------------------------------------------------ */

static spry_status open_array(npz *f, const char *name, int dimensions, npy_array *npy, spry_error *err)
{
    int exists;
    SPRYI_OK_OR_RETURN(open_npy(&f->zip, name, npy, &exists, err));
    if (!exists)
        return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "has no member %s, expected a file of %s", name,
                               "scipy.sparse.save_npz");
    if (npy->dimensions == dimensions) return SPRY_OK;
    return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "%s has %d dimensions, expected %d", name, npy->dimensions,
                           dimensions);
}

/*
 * Reads an array of *count indices. *count -1: the array may have any length, which is stored in *count. The first
 * `checked` indices (-1: all) must be in least .. most.
 */
static spry_status read_indices(npz *f, const char *name, spry_index_type type, void **to, int64_t *count,
                                int64_t checked, int64_t least, int64_t most, spry_error *err)
{
    npy_array npy;
    SPRYI_OK_OR_RETURN(open_array(f, name, 1, &npy, err));
    if (*count >= 0 && npy.count != *count)
        return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "%s has %lld elements, expected %lld", name,
                               (long long)npy.count, (long long)*count);
    *count = npy.count;
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, to, npy.count, spryi_index_type_bytes(type), name, err));
    return read_integers(&f->zip, &npy, *to, type, checked < 0 ? npy.count : checked, least, most, err);
}

/* Reads data.npy. Sets the matrix's field by the type of the values. */
static spry_status read_values(npz *f, int dimensions, void **to, spry_type type, spry_error *err)
{
    SPRYI_OK_OR_RETURN(open_array(f, "data.npy", dimensions, &f->data, err));
    name_type(&f->data, f->field, sizeof f->field);
    f->head.field = f->data.kind == 'f' ? SPRYI_REAL : SPRYI_INTEGER;
    if (type != SPRY_PATTERN)
        SPRYI_OK_OR_RETURN(spryi_allocate(f->context, to, f->data.count, spry_type_bytes(type), "values", err));
    return read_real_values(&f->zip, &f->data, *to, type, err);
}

static spry_status read_sizes(npz *f, const spryi_text *text, const spry_read_options *options, spry_error *err)
{
    int exists;
    int64_t *shape = NULL, two = 2;
    npy_array npy;
    SPRYI_OK_OR_RETURN(open_npy(&f->zip, "format.npy", &npy, &exists, err));
    if (!exists)
        return spryi_fail_file(err, SPRY_UNSUPPORTED, f->name, 0,
                               "is a zip archive without the member format.npy of scipy.sparse.save_npz; if it holds a "
                               "matrix file, unpack it (unzip)");
    SPRYI_OK_OR_RETURN(read_text(&f->zip, &npy, f->format, sizeof f->format, err));
    spry_status status = read_indices(f, "shape.npy", SPRY_I64, (void **)&shape, &two, -1, 0, INT64_MAX / 64, err);
    if (status == SPRY_OK) {
        f->head = (spryi_mtx){.name = f->name, .m = shape[0], .n = shape[1]};
        status = spryi_mtx_pick_index_type(&f->head, options, &f->entries.index_type, err);
    }
    spryi_release(f->context, shape);
    if (status != SPRY_OK) return status;
    SPRYI_OK_OR_RETURN(open_npy(&f->zip, "data.npy", &npy, &exists, err));
    const double entries = exists ? 2 * (double)npy.count : 0;
    return spryi_note_needs(8 * (f->head.m + 1), spryi_text_enough(text, entries, f->head.m, SPRY_I64), "offsets", err);
}

/* Reads offsets of `majors` rows, columns or block rows. *count: the last offset. */
static spry_status read_pointers(npz *f, int64_t majors, int64_t *count, spry_error *err)
{
    int64_t length = majors + 1;
    SPRYI_OK_OR_RETURN(read_indices(f, "indptr.npy", SPRY_I64, &f->pointers, &length, -1, 0, INT64_MAX / 64, err));
    const int64_t *pointers = f->pointers;
    if (pointers[0] != 0) return bad(f, err, "indptr does not begin with 0");
    for (int64_t i = 0; i < majors; i++)
        if (pointers[i + 1] < pointers[i]) return bad(f, err, "indptr falls");
    *count = pointers[majors];
    return SPRY_OK;
}

/* ---- formats ------------------------------------------------------------------------------------ */

static spry_status allocate_entries(npz *f, int64_t count, int with_values, spry_error *err)
{
    spryi_mtx_entries *e = &f->entries;
    const size_t index_bytes = spryi_index_type_bytes(e->index_type);
    e->count = count;
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, &e->rows, count, index_bytes, "row indices", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, &e->cols, count, index_bytes, "column indices", err));
    if (!with_values) return SPRY_OK;
    return spryi_allocate(f->context, &e->values, count, spry_type_bytes(e->value_type), "values", err);
}

/* Reads csr and csc. Arrays may be longer than indptr states, as SciPy permits. */
static spry_status read_compressed(npz *f, int by_column, spry_error *err)
{
    spryi_mtx_entries *e = &f->entries;
    const int64_t majors = by_column ? f->head.n : f->head.m, minors = by_column ? f->head.m : f->head.n;
    int64_t count, length = -1;
    void **major = by_column ? &e->cols : &e->rows, **minor = by_column ? &e->rows : &e->cols;
    SPRYI_OK_OR_RETURN(read_pointers(f, majors, &count, err));
    SPRYI_OK_OR_RETURN(read_indices(f, "indices.npy", e->index_type, minor, &length, count, 0, minors - 1, err));
    if (length < count) return bad(f, err, "indices has fewer elements than indptr states");
    SPRYI_OK_OR_RETURN(read_values(f, 1, &e->values, e->value_type, err));
    if (f->data.count < count) return bad(f, err, "data has fewer elements than indptr states");
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, major, count, spryi_index_type_bytes(e->index_type), "indices", err));
    const int64_t *pointers = f->pointers;
    for (int64_t i = 0; i < majors; i++)
        for (int64_t k = pointers[i]; k < pointers[i + 1]; k++) spryi_set_index(*major, e->index_type, k, i);
    e->count = count;
    return SPRY_OK;
}

static spry_status read_coo(npz *f, spry_error *err)
{
    spryi_mtx_entries *e = &f->entries;
    e->count = -1;
    SPRYI_OK_OR_RETURN(read_indices(f, "row.npy", e->index_type, &e->rows, &e->count, -1, 0, f->head.m - 1, err));
    SPRYI_OK_OR_RETURN(read_indices(f, "col.npy", e->index_type, &e->cols, &e->count, -1, 0, f->head.n - 1, err));
    SPRYI_OK_OR_RETURN(read_values(f, 1, &e->values, e->value_type, err));
    return f->data.count == e->count ? SPRY_OK : bad(f, err, "data has another number of elements than row and col");
}

/* Returns the index of element (a, b, c) among the values of an array. */
static int64_t place(const npy_array *npy, int64_t a, int64_t b, int64_t c)
{
    return npy->fortran ? (c * npy->shape[1] + b) * npy->shape[0] + a : (a * npy->shape[1] + b) * npy->shape[2] + c;
}

/*
 * Adds a value of a block or diagonal as an entry. If `filling` is 0, entries are not allocated yet, and the function
 * only counts the entry. Skips zeros.
 */
static void add_entry(npz *f, int64_t i, int64_t j, int64_t at, int filling)
{
    spryi_mtx_entries *e = &f->entries;
    const double value = spryi_value_at(f->values, f->type, at);
    if (value == 0) return;
    if (filling) {
        spryi_set_index(e->rows, e->index_type, e->count, i);
        spryi_set_index(e->cols, e->index_type, e->count, j);
        if (e->values) spryi_set_value(e->values, e->value_type, e->count, value);
    }
    e->count++;
}

static void walk_blocks(npz *f, int filling)
{
    const int64_t *pointers = f->pointers, height = f->data.shape[1], width = f->data.shape[2];
    f->entries.count = 0;
    for (int64_t block_row = 0; block_row < f->head.m / height; block_row++)
        for (int64_t b = pointers[block_row]; b < pointers[block_row + 1]; b++) {
            const int64_t block_col = ((const int64_t *)f->indices)[b];
            for (int64_t r = 0; r < height; r++)
                for (int64_t c = 0; c < width; c++)
                    add_entry(f, block_row * height + r, block_col * width + c, place(&f->data, b, r, c), filling);
        }
}

static void walk_diagonals(npz *f, int filling)
{
    const int64_t *offsets = f->indices, m = f->head.m, n = f->head.n;
    f->entries.count = 0;
    for (int64_t d = 0; d < f->data.shape[0]; d++) {
        const int64_t first = offsets[d] > 0 ? offsets[d] : 0;
        int64_t last = f->data.shape[1] < n ? f->data.shape[1] : n;
        if (last > m + offsets[d]) last = m + offsets[d];
        for (int64_t j = first; j < last; j++) add_entry(f, j - offsets[d], j, place(&f->data, d, j, 0), filling);
    }
}

/*
 * Counts the entries with `walk`, allocates them, and fills them in with `walk`. Needs the values even if the matrix
 * does not keep them, since zeros are skipped.
 */
static spry_status fill_entries(npz *f, void (*walk)(npz *, int), spry_error *err)
{
    walk(f, 0);
    SPRYI_OK_OR_RETURN(allocate_entries(f, f->entries.count, f->entries.value_type != SPRY_PATTERN, err));
    walk(f, 1);
    return SPRY_OK;
}

static spry_status read_bsr(npz *f, spry_error *err)
{
    SPRYI_OK_OR_RETURN(read_values(f, 3, &f->values, f->type, err));
    int64_t count, height = f->data.shape[1], width = f->data.shape[2], blocks = f->data.shape[0];
    if (height < 1 || width < 1 || f->head.m % height != 0 || f->head.n % width != 0)
        return bad(f, err, "blocks of data do not divide the matrix");
    SPRYI_OK_OR_RETURN(
        read_indices(f, "indices.npy", SPRY_I64, &f->indices, &blocks, -1, 0, f->head.n / width - 1, err));
    SPRYI_OK_OR_RETURN(read_pointers(f, f->head.m / height, &count, err));
    if (count > blocks) return bad(f, err, "data has fewer blocks than indptr states");
    return fill_entries(f, walk_blocks, err);
}

static spry_status read_dia(npz *f, spry_error *err)
{
    SPRYI_OK_OR_RETURN(read_values(f, 2, &f->values, f->type, err));
    int64_t diagonals = f->data.shape[0];
    SPRYI_OK_OR_RETURN(
        read_indices(f, "offsets.npy", SPRY_I64, &f->indices, &diagonals, -1, -f->head.m, f->head.n, err));
    return fill_entries(f, walk_diagonals, err);
}

static spry_status read_entries(npz *f, spry_error *err)
{
    if (strcmp(f->format, "csr") == 0) return read_compressed(f, 0, err);
    if (strcmp(f->format, "csc") == 0) return read_compressed(f, 1, err);
    if (strcmp(f->format, "coo") == 0) return read_coo(f, err);
    if (strcmp(f->format, "bsr") == 0) return read_bsr(f, err);
    if (strcmp(f->format, "dia") == 0) return read_dia(f, err);
    return spryi_fail_file(err, SPRY_UNSUPPORTED, f->name, 0,
                           "format.npy states format '%s'; csr, csc, coo, bsr and dia are read", f->format);
}

/* ---- the whole file --------------------------------------------------------------------------- */

static void fill_source(const npz *f, spryi_source *source)
{
    static const char *const types[] = {"float16", "float32", "float64", "int8",   "int16",  "int32",
                                        "int64",   "uint8",   "uint16",  "uint32", "uint64", "bool"};
    source->kind = SPRYI_NPZ;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (strcmp(f->field, types[t]) == 0) source->field = types[t];
    snprintf(source->layout, sizeof source->layout, "%s", f->format);
    source->rows = f->head.m;
    source->cols = f->head.n;
    source->entries = f->values ? f->data.count : f->head.entries;
}

spry_status spryi_npz_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    const spry_type read_as = spryi_read_as(options->value_type);
    npz f = {.context = text->context,
             .name = text->name,
             .type = read_as == SPRY_PATTERN ? SPRY_F64 : read_as,
             .entries = {.value_type = read_as}};
    spry_status status = SPRY_OK;
    SPRYI_TRY(open_zip(&f.zip, text, err));
    SPRYI_TRY(read_sizes(&f, text, options, err));
    SPRYI_TRY(read_entries(&f, err));
    spryi_mtx_entries *e = &f.entries;
    e->order = e->index_type == SPRY_I32 ? spryi_order_of(e->rows, e->cols, SPRY_I32, e->count)
                                         : spryi_order_of(e->rows, e->cols, SPRY_I64, e->count);
    f.head.entries = e->count;
    SPRYI_TRY(spryi_mtx_to_csr(f.context, A, &f.head, e, options, err));
    fill_source(&f, &(*A)->source);
done:
    close_zip(&f.zip);
    spryi_mtx_release(f.context, &f.entries);
    spryi_release(f.context, f.values);
    spryi_release(f.context, f.indices);
    spryi_release(f.context, f.pointers);
    return status;
}

#else

spry_status spryi_npz_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    (void)A, (void)options;
    return spryi_fail_file(err, SPRY_UNSUPPORTED, text->name, 0,
                           "is a zip archive, as .npz files are; this library was built without minizip, by which it "
                           "would read them");
}

#endif
