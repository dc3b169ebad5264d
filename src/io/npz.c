/*
 * A .npz of scipy.sparse.save_npz: members format, shape and data, and those that the format has, indices and indptr,
 * row and col, or offsets. All become entries in the order of the file, then CSR as those of text do.
 */
#include "io/npz.h"

#include "core/error.h"
#include "core/memory.h"
#include "io/mtx.h"
#include "io/npy.h"
#include "io/source.h"

#include <stdio.h>
#include <string.h>

typedef struct npz {
    spryi_zip zip;
    spry_context *context;
    const char *name;
    char format[16], field[24];
    spryi_mtx head; /* sizes, field */
    spry_type type; /* of the values kept */
    spryi_npy data; /* of the latest array of values */
    spryi_mtx_entries entries;
    void *values;             /* of blocks and diagonals, as they lie in the file */
    void *indices, *pointers; /* pointers: 64 bits */
} npz;

int spryi_npz_is(const char *head, int64_t bytes)
{
    return bytes >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

static spry_status bad(const npz *f, spry_error *err, const char *what)
{
    return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "%s matrix: %s", f->format, what);
}

/* ---- members ------------------------------------------------------------------------------------ */

static spry_status open_array(npz *f, const char *name, int dimensions, spryi_npy *npy, spry_error *err)
{
    int there;
    SPRYI_OK_OR_RETURN(spryi_npy_open(&f->zip, name, npy, &there, err));
    if (!there)
        return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "has no member %s, expected a file of %s", name,
                               "scipy.sparse.save_npz");
    if (npy->dimensions == dimensions) return SPRY_OK;
    return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "%s has %d dimensions, expected %d", name, npy->dimensions,
                           dimensions);
}

/* count -1: any, told by *count. The first `checked` (-1: all) have to be least .. most. */
static spry_status read_indices(npz *f, const char *name, spry_index_type type, void **to, int64_t *count,
                                int64_t checked, int64_t least, int64_t most, spry_error *err)
{
    spryi_npy npy;
    SPRYI_OK_OR_RETURN(open_array(f, name, 1, &npy, err));
    if (*count >= 0 && npy.count != *count)
        return spryi_fail_file(err, SPRY_BAD_FILE, f->name, 0, "%s has %lld elements, expected %lld", name,
                               (long long)npy.count, (long long)*count);
    *count = npy.count;
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, to, npy.count, spry_index_type_bytes(type), name, err));
    return spryi_npy_read_integers(&f->zip, &npy, *to, type, checked < 0 ? npy.count : checked, least, most, err);
}

/* The matrix's field follows the type of its values. */
static spry_status read_values(npz *f, int dimensions, void **to, spry_type type, spry_error *err)
{
    SPRYI_OK_OR_RETURN(open_array(f, "data.npy", dimensions, &f->data, err));
    spryi_npy_type_name(&f->data, f->field, sizeof f->field);
    f->head.field = f->data.kind == 'f' ? SPRYI_REAL : SPRYI_INTEGER;
    if (type != SPRY_PATTERN)
        SPRYI_OK_OR_RETURN(spryi_allocate(f->context, to, f->data.count, spry_type_bytes(type), "values", err));
    return spryi_npy_read_values(&f->zip, &f->data, *to, type, err);
}

static spry_status read_head(npz *f, const spryi_text *text, const spry_read_options *options, spry_error *err)
{
    int there;
    int64_t *shape = NULL, two = 2;
    spryi_npy npy;
    SPRYI_OK_OR_RETURN(spryi_npy_open(&f->zip, "format.npy", &npy, &there, err));
    if (!there)
        return spryi_fail_file(err, SPRY_UNSUPPORTED, f->name, 0,
                               "is a zip archive without the member format.npy of scipy.sparse.save_npz; if it holds a "
                               "matrix file, unpack it (unzip)");
    SPRYI_OK_OR_RETURN(spryi_npy_read_text(&f->zip, &npy, f->format, sizeof f->format, err));
    spry_status status = read_indices(f, "shape.npy", SPRY_I64, (void **)&shape, &two, -1, 0, INT64_MAX / 64, err);
    if (status == SPRY_OK) {
        f->head = (spryi_mtx){.name = f->name, .m = shape[0], .n = shape[1]};
        status = spryi_mtx_pick_index_type(&f->head, options, &f->entries.index_type, err);
    }
    spryi_release(f->context, shape);
    if (status != SPRY_OK) return status;
    SPRYI_OK_OR_RETURN(spryi_npy_open(&f->zip, "data.npy", &npy, &there, err));
    const double entries = there ? 2 * (double)npy.count : 0;
    return spryi_note_needs(8 * (f->head.m + 1), spryi_text_enough(text, entries, f->head.m, SPRY_I64), "offsets", err);
}

/* Offsets of `majors` rows, columns or rows of blocks; *count: what they end with. */
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
    const size_t index_bytes = spry_index_type_bytes(e->index_type);
    e->count = count;
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, &e->rows, count, index_bytes, "row indices", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, &e->cols, count, index_bytes, "column indices", err));
    if (!with_values) return SPRY_OK;
    return spryi_allocate(f->context, &e->values, count, spry_type_bytes(e->value_type), "values", err);
}

/* csr and csc: arrays may be longer than what indptr tells, as SciPy allows. */
static spry_status read_compressed(npz *f, int by_column, spry_error *err)
{
    spryi_mtx_entries *e = &f->entries;
    const int64_t majors = by_column ? f->head.n : f->head.m, minors = by_column ? f->head.m : f->head.n;
    int64_t count, length = -1;
    void **major = by_column ? &e->cols : &e->rows, **minor = by_column ? &e->rows : &e->cols;
    SPRYI_OK_OR_RETURN(read_pointers(f, majors, &count, err));
    SPRYI_OK_OR_RETURN(read_indices(f, "indices.npy", e->index_type, minor, &length, count, 0, minors - 1, err));
    if (length < count) return bad(f, err, "indices has fewer elements than indptr tells");
    SPRYI_OK_OR_RETURN(read_values(f, 1, &e->values, e->value_type, err));
    if (f->data.count < count) return bad(f, err, "data has fewer elements than indptr tells");
    SPRYI_OK_OR_RETURN(spryi_allocate(f->context, major, count, spry_index_type_bytes(e->index_type), "indices", err));
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

/* Where element (a, b, c) of an array lies among its values. */
static int64_t place(const spryi_npy *npy, int64_t a, int64_t b, int64_t c)
{
    return npy->fortran ? (c * npy->shape[1] + b) * npy->shape[0] + a : (a * npy->shape[1] + b) * npy->shape[2] + c;
}

/* One value of a block or diagonal becomes an entry, or is counted where there are no entries yet; zeros are none. */
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

/* The values tell where zeros are, whatever is kept of them; entries are counted, then filled in. */
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
    if (count > blocks) return bad(f, err, "data has fewer blocks than indptr tells");
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
                           "format.npy tells format '%s'; csr, csc, coo, bsr and dia are read", f->format);
}

/* ---- together ----------------------------------------------------------------------------------- */

static void tell_source(const npz *f, spryi_source *source)
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
    SPRYI_TRY(spryi_zip_open(&f.zip, text, err));
    SPRYI_TRY(read_head(&f, text, options, err));
    SPRYI_TRY(read_entries(&f, err));
    spryi_mtx_entries *e = &f.entries;
    e->order = e->index_type == SPRY_I32 ? spryi_order_of(e->rows, e->cols, SPRY_I32, e->count)
                                         : spryi_order_of(e->rows, e->cols, SPRY_I64, e->count);
    f.head.entries = e->count;
    SPRYI_TRY(spryi_mtx_to_csr(f.context, A, &f.head, e, options, err));
    tell_source(&f, &(*A)->source);
done:
    spryi_zip_close(&f.zip);
    spryi_mtx_release(f.context, &f.entries);
    spryi_release(f.context, f.values);
    spryi_release(f.context, f.indices);
    spryi_release(f.context, f.pointers);
    return status;
}
