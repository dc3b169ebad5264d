/*
 * Tests of files of scipy.sparse.save_npz. Some are written by SciPy (tests/fuzz/corpus/npz), others are archives built
 * in this file with one fault each. Skipped if the library was built without minizip.
 */
#include "files.h"

#include "matrix/matrix.h"
#include "spry/io.h"

#include <zlib.h>

#define FOLDER SPRY_TEST_ROOT "/tests/fuzz/corpus/npz/"

/* ---- files written by SciPy --------------------------------------------------------------------------- */

static const double four_by_six[] = {1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 4.5, 0, 0, 0, 0, -6, 0, 0, 7};

static const struct scipy_file {
    const char *name, *layout, *field;
    int64_t rows, cols, nnz, entries;
    spryi_field kind;
    int drop;
    const double *dense;
} files[] = {
    {"csr.npz", "csr", "float64", 4, 6, 6, 6, SPRYI_REAL, 0, four_by_six},
    {"csc.npz", "csc", "float64", 4, 6, 6, 6, SPRYI_REAL, 0, four_by_six},
    {"coo.npz", "coo", "float64", 4, 6, 6, 6, SPRYI_REAL, 0, four_by_six},
    {"bsr.npz", "bsr", "float64", 4, 6, 6, 12, SPRYI_REAL, 0, four_by_six},
    {"fortran.npz", "bsr", "float64", 4, 6, 6, 12, SPRYI_REAL, 0, four_by_six},
    {"dia.npz", "dia", "float64", 4, 6, 6, 24, SPRYI_REAL, 0, four_by_six},
    {"f32.npz", "csr", "float32", 4, 6, 6, 6, SPRYI_REAL, 0, four_by_six},
    {"big_endian.npz", "csr", "float64", 4, 6, 6, 6, SPRYI_REAL, 0, four_by_six},
    {"int.npz", "csr", "int16", 2, 2, 3, 3, SPRYI_INTEGER, 0, (const double[]){2, 1, 0, 3}},
    {"bool.npz", "csr", "bool", 2, 2, 3, 3, SPRYI_INTEGER, 0, (const double[]){1, 1, 0, 1}},
    {"duplicates.npz", "csr", "float64", 1, 2, 2, 3, SPRYI_REAL, 0, (const double[]){4, 3}},
    {"duplicates.npz", "csr", "float64", 1, 2, 2, 3, SPRYI_REAL, 1, (const double[]){4, 1}},
};

static void expect_file(const struct scipy_file *f, const spry_matrix *A)
{
    spry_source_info info = SPRY_INIT(spry_source_info);
    assert_int_equal(SPRY_OK, spry_matrix_get_source(A, &info, NULL));
    if (A->a.rows != f->rows || A->a.columns != f->cols || A->a.nnz != f->nnz || A->field != f->kind ||
        info.entries != f->entries || info.rows != f->rows || info.columns != f->cols ||
        strcmp(info.kind, "SciPy npz") != 0 || strcmp(info.layout, f->layout) != 0 || strcmp(info.field, f->field) != 0)
        fail_msg("%s: %lld x %lld, %lld entries; %s %s %s, %lld entries", f->name, (long long)A->a.rows,
                 (long long)A->a.columns, (long long)A->a.nnz, info.kind, info.layout, info.field,
                 (long long)info.entries);
    double *dense = dense_of(A);
    for (int64_t k = 0; k < f->rows * f->cols; k++)
        if (dense[k] != f->dense[k]) fail_msg("%s: element %d is %g", f->name, (int)k, dense[k]);
    free(dense);
}

static void test_what_scipy_wrote(void **state)
{
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        for (int threads = 1; threads <= 3; threads += 2) {
            char path[512];
            size_t bytes;
            snprintf(path, sizeof path, FOLDER "%s", files[k].name);
            char *content = content_of(path, &bytes);
            spry_context *context = context_of(threads);
            spry_matrix *A = NULL, *B = NULL;
            spry_error err = {0};
            spry_read_options o = SPRY_INIT(spry_read_options);
            o.drop_duplicates = files[k].drop;
            if (spry_matrix_read(context, &A, path, &o, &err) != SPRY_OK ||
                spry_matrix_read_memory(context, &B, content, bytes, "x", &o, &err) != SPRY_OK)
                fail_msg("%s", err.message);
            expect_file(&files[k], A);
            assert_same_matrix(A, B);
            assert_int_equal(0, A->index_base);
            o.value_type = SPRY_PATTERN;
            o.index_type = o.offset_type = SPRY_I64;
            spry_matrix *P = read_matrix(context, path, &o);
            assert_int_equal(files[k].nnz, P->a.nnz);
            assert_null(P->a.values);
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
            spry_matrix_destroy(P);
            assert_int_equal(0, context_bytes(context));
            spry_context_destroy(context);
            free(content);
        }
}

/* ---- archives built here ------------------------------------------------------------------------------ */

typedef struct archive {
    unsigned char bytes[8192], directory[2048];
    size_t length, directory_length;
    int members;
} archive;

static void put(unsigned char *to, size_t *at, uint32_t value, int count)
{
    for (int b = 0; b < count; b++) to[(*at)++] = (unsigned char)(value >> (8 * b));
}

/* Writes the fields that the local head and the directory share. method 0: stored without compression. */
static void put_facts(unsigned char *to, size_t *at, int method, const void *data, size_t size, size_t name_length)
{
    put(to, at, 20, 2);
    put(to, at, 0, 2);
    put(to, at, (uint32_t)method, 2);
    put(to, at, 0, 4);
    put(to, at, (uint32_t)crc32(0, data, (uInt)size), 4);
    put(to, at, (uint32_t)size, 4);
    put(to, at, (uint32_t)size, 4);
    put(to, at, (uint32_t)name_length, 2);
    put(to, at, 0, 2);
}

static void add_member(archive *a, const char *name, int method, const void *data, size_t size)
{
    const size_t begin = a->length, length = strlen(name);
    put(a->bytes, &a->length, 0x04034b50, 4);
    put_facts(a->bytes, &a->length, method, data, size, length);
    memcpy(a->bytes + a->length, name, length);
    memcpy(a->bytes + a->length + length, data, size);
    a->length += length + size;
    put(a->directory, &a->directory_length, 0x02014b50, 4);
    put(a->directory, &a->directory_length, 20, 2);
    put_facts(a->directory, &a->directory_length, method, data, size, length);
    put(a->directory, &a->directory_length, 0, 4); /* comment, disk */
    put(a->directory, &a->directory_length, 0, 2);
    put(a->directory, &a->directory_length, 0, 4);
    put(a->directory, &a->directory_length, (uint32_t)begin, 4);
    memcpy(a->directory + a->directory_length, name, length);
    a->directory_length += length;
    a->members++;
}

static void finish(archive *a)
{
    const size_t begin = a->length;
    memcpy(a->bytes + a->length, a->directory, a->directory_length);
    a->length += a->directory_length;
    put(a->bytes, &a->length, 0x06054b50, 4);
    put(a->bytes, &a->length, 0, 4);
    put(a->bytes, &a->length, (uint32_t)a->members, 2);
    put(a->bytes, &a->length, (uint32_t)a->members, 2);
    put(a->bytes, &a->length, (uint32_t)a->directory_length, 4);
    put(a->bytes, &a->length, (uint32_t)begin, 4);
    put(a->bytes, &a->length, 0, 2);
}

typedef struct member {
    const char *name, *head; /* head NULL: the archive lacks this member */
    const void *data;
    size_t bytes;
} member;

#define ARRAY(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }\n"
#define DATA(type, ...) (const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__})

/*
 * Builds an archive of the 2 x 3 matrix with the entries 1 at (0, 0), 2 at (0, 2) and 3 at (1, 1). One member is
 * replaced by `other`.
 */
static void make_archive(archive *a, const member *other)
{
    const member members[] = {{"format.npy", ARRAY("|S3", "()"), "csr", 3},
                              {"shape.npy", ARRAY("<i8", "(2,)"), DATA(int64_t, 2, 3)},
                              {"data.npy", ARRAY("<f8", "(3,)"), DATA(double, 1, 2, 3)},
                              {"indices.npy", ARRAY("<i4", "(3,)"), DATA(int32_t, 0, 2, 1)},
                              {"indptr.npy", ARRAY("<i4", "(3,)"), DATA(int32_t, 0, 2, 3)},
                              {"offsets.npy", NULL, NULL, 0}};
    *a = (archive){0};
    for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
        const member *m = other && strcmp(other->name, members[k].name) == 0 ? other : &members[k];
        unsigned char content[1024];
        size_t length = 0;
        if (!m->head) continue;
        if (m->head[0] == '{') {
            memcpy(content, "\x93NUMPY\1\0", 8);
            length = 8;
            put(content, &length, (uint32_t)strlen(m->head), 2);
        }
        memcpy(content + length, m->head, strlen(m->head));
        length += strlen(m->head);
        if (m->bytes > 0) memcpy(content + length, m->data, m->bytes);
        add_member(a, m->name, 0, content, length + m->bytes);
    }
    finish(a);
}

static spry_status read_archive(const archive *a, spry_matrix **A, spry_error *err)
{
    spry_context *context = context_of(1);
    unsigned char *exact = malloc(a->length);
    memcpy(exact, a->bytes, a->length);
    spry_matrix *made = NULL;
    const spry_status status = spry_matrix_read_memory(context, &made, exact, a->length, "x.npz", NULL, err);
    if (A)
        *A = made;
    else
        spry_matrix_destroy(made);
    free(exact);
    if (!A) assert_int_equal(0, context_bytes(context));
    if (!A) spry_context_destroy(context);
    return status;
}

static const struct wrong {
    member other;
    spry_status status;
    const char *message;
} wrongs[] = {
    {{"format.npy", NULL, NULL, 0}, SPRY_UNSUPPORTED, "is a zip archive without the member format.npy"},
    {{"format.npy", ARRAY("|S3", "()"), "lil", 3}, SPRY_UNSUPPORTED, "states format 'lil'; csr, csc, coo, bsr and dia"},
    {{"format.npy", ARRAY("<i4", "()"), DATA(int32_t, 1)}, SPRY_BAD_FILE, "format.npy: expected a word"},
    {{"format.npy", "no array at all", NULL, 0}, SPRY_BAD_FILE, "format.npy: is not a NumPy array"},
    {{"shape.npy", NULL, NULL, 0}, SPRY_BAD_FILE, "has no member shape.npy"},
    {{"shape.npy", ARRAY("<i8", "(3,)"), DATA(int64_t, 2, 3, 4)},
     SPRY_BAD_FILE,
     "shape.npy has 3 elements, expected 2"},
    {{"shape.npy", ARRAY("<i8", "(2,)"), DATA(int64_t, -2, 3)}, SPRY_BAD_FILE, "shape.npy: element 0 is not within 0"},
    {{"shape.npy", ARRAY("<i8", "(2,)"), DATA(int64_t, 5, 3)}, SPRY_BAD_FILE, "indptr.npy has 3 elements, expected 6"},
    {{"data.npy", NULL, NULL, 0}, SPRY_BAD_FILE, "has no member data.npy"},
    {{"data.npy", ARRAY("<f8", "(2,)"), DATA(double, 1, 2)},
     SPRY_BAD_FILE,
     "data has fewer elements than indptr states"},
    {{"data.npy", ARRAY("<f8", "(4,)"), DATA(double, 1, 2, 3)},
     SPRY_BAD_FILE,
     "a number of bytes that does not match its shape"},
    {{"data.npy", ARRAY("<f8", "(3, 1)"), DATA(double, 1, 2, 3)},
     SPRY_BAD_FILE,
     "data.npy has 2 dimensions, expected 1"},
    {{"data.npy", ARRAY("<c16", "(1,)"), DATA(double, 1, 2)}, SPRY_UNSUPPORTED, "data.npy: values are complex128"},
    {{"data.npy", ARRAY("|O", "(3,)"), DATA(double, 1, 2, 3)}, SPRY_UNSUPPORTED, "has elements of an unknown type"},
    {{"data.npy", ARRAY("<f8", "(99999999999999999999,)"), NULL, 0}, SPRY_BAD_FILE, "has an invalid head"},
    {{"data.npy", "{'descr': '<f8', 'shape': (0,), }", NULL, 0}, SPRY_BAD_FILE, "has an invalid head"},
    {{"indices.npy", ARRAY("<i4", "(3,)"), DATA(int32_t, 0, 3, 1)}, SPRY_BAD_FILE, "element 1 is not within 0 .. 2"},
    {{"indices.npy", ARRAY("<i4", "(3,)"), DATA(int32_t, 0, 2, -1)}, SPRY_BAD_FILE, "element 2 is not within 0 .. 2"},
    {{"indices.npy", ARRAY("<f4", "(3,)"), DATA(float, 0, 2, 1)}, SPRY_BAD_FILE, "expected whole numbers"},
    {{"indices.npy", ARRAY("<u8", "(3,)"), DATA(uint64_t, 0, UINT64_MAX, 1)}, SPRY_BAD_FILE, "element 1 is not within"},
    {{"indices.npy", ARRAY("<i4", "(2,)"), DATA(int32_t, 0, 2)}, SPRY_BAD_FILE, "indices has fewer elements than"},
    {{"indptr.npy", ARRAY("<i4", "(3,)"), DATA(int32_t, 0, 3, 2)}, SPRY_BAD_FILE, "csr matrix: indptr falls"},
    {{"indptr.npy", ARRAY("<i4", "(3,)"), DATA(int32_t, 1, 2, 3)}, SPRY_BAD_FILE, "indptr does not begin with 0"},
    {{"indptr.npy", ARRAY("<i4", "(3,)"), DATA(int32_t, 0, -2, 3)},
     SPRY_BAD_FILE,
     "indptr.npy: element 1 is not within"},
};

static void test_what_is_wrong(void **state)
{
    static archive a;
    spry_error err = {0};
    spry_matrix *A = NULL;
    make_archive(&a, NULL);
    assert_int_equal(SPRY_OK, read_archive(&a, NULL, &err));
    for (size_t w = 0; w < sizeof wrongs / sizeof *wrongs; w++) {
        make_archive(&a, &wrongs[w].other);
        if (read_archive(&a, NULL, &err) != wrongs[w].status || !strstr(err.message, wrongs[w].message))
            fail_msg("case %d: status %d, \"%s\", expected %d, \"%s\"", (int)w, (int)err.status, err.message,
                     (int)wrongs[w].status, wrongs[w].message);
        assert_string_equal(err.file, "x.npz");
    }
    /* arrays may be longer than indptr states; additional elements are ignored */
    make_archive(&a, &(member){"indices.npy", ARRAY("<i8", "(4,)"), DATA(int64_t, 0, 2, 1, -77)});
    assert_int_equal(SPRY_OK, read_archive(&a, &A, &err));
    assert_int_equal(3, A->a.nnz);
    spry_context *context = A->context;
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void test_damage(void **state)
{
    static archive a, b;
    spry_error err = {0};
    make_archive(&a, NULL);
    int refused = 0;
    for (size_t cut = 1; cut + 3 < a.length; cut++) { /* the last bytes, a comment, are ignored */
        b = a;
        b.length = cut;
        const spry_status status = read_archive(&b, NULL, &err);
        if (status != SPRY_BAD_FILE && status != SPRY_UNSUPPORTED)
            fail_msg("%d of %d bytes: status %d", (int)cut, (int)a.length, (int)status);
        refused++;
    }
    assert_true(refused > 500);
    for (size_t at = 0; at < a.length; at++) { /* the reader ignores some of these bytes */
        b = a;
        b.bytes[at] ^= 0x55;
        const spry_status status = read_archive(&b, NULL, &err);
        assert_true(status == SPRY_OK || status == SPRY_BAD_FILE || status == SPRY_UNSUPPORTED);
    }
    const double two = 2; /* a changed value in data.npy makes its checksum wrong */
    for (size_t at = 0; at + 8 < a.length; at++) {
        if (memcmp(a.bytes + at, &two, sizeof two) != 0) continue;
        b = a;
        b.bytes[at + 7] ^= 1;
        assert_int_equal(SPRY_BAD_FILE, read_archive(&b, NULL, &err));
        assert_string_equal(err.message, "x.npz: data.npy: is damaged: its checksum is wrong");
    }
    make_archive(&b, NULL);
    b = (archive){0};
    add_member(&b, "format.npy", 12, "bzip2", 5);
    finish(&b);
    assert_int_equal(SPRY_BAD_FILE, read_archive(&b, NULL, &err));
    assert_non_null(strstr(err.message, "format.npy: is compressed in a way that NumPy does not write"));
}

/* ---- memory ---------------------------------------------------------------------------------------- */

static spry_status read_named(spry_context *context, const void *name, spry_error *err)
{
    spry_matrix *A = NULL;
    const spry_status status = spry_matrix_read(context, &A, name, NULL, err);
    spry_matrix_destroy(A);
    return status;
}

static void test_every_allocation(void **state)
{
    static const char *const names[] = {FOLDER "csr.npz", FOLDER "csc.npz", FOLDER "coo.npz", FOLDER "bsr.npz",
                                        FOLDER "dia.npz"};
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        assert_true(fail_every_allocation(read_named, names[f], 1) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_scipy_wrote),
        cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_every_allocation),
    };
    static archive a;
    spry_error err = {0};
    make_archive(&a, NULL);
    if (read_archive(&a, NULL, &err) == SPRY_UNSUPPORTED && strstr(err.message, "was built without minizip")) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
