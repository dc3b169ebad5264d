/* Tests the information that a matrix reports about its source file. */
#include "files.h"
#include "spry/io.h"
#include "spry/matrix.h"

#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
enum { NO = SPRY_KNOWN_NO, YES = SPRY_KNOWN_YES };

static const struct sample {
    const char *name, *text, *kind, *layout, *field, *symmetry;
    int64_t rows, cols, entries;
    int by_row, by_column, duplicates;
} samples[] = {
    {"x.mtx", GENERAL "2 3 3\n1 1 1\n1 3 2\n2 1 3\n", "Matrix Market", "coordinate", "real", "general", 2, 3, 3, YES,
     NO, NO},
    {"x.mtx", GENERAL "2 3 3\n1 1 1\n2 1 2\n1 3 3\n", "Matrix Market", "coordinate", "real", "general", 2, 3, 3, NO,
     YES, NO},
    {"x.mtx", GENERAL "2 3 3\n2 1 1\n1 1 2\n1 3 3\n", "Matrix Market", "coordinate", "real", "general", 2, 3, 3, NO, NO,
     NO},
    {"x.mtx", GENERAL "2 3 3\n1 1 1\n1 1 2\n1 3 3\n", "Matrix Market", "coordinate", "real", "general", 2, 3, 3, YES,
     YES, YES},
    {"x.mtx", "%%MatrixMarket matrix coordinate INTEGER Hermitian\n3 3 2\n1 1 1\n3 1 2\n", "Matrix Market",
     "coordinate", "integer", "hermitian", 3, 3, 2, YES, YES, NO},
    {"x.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n3 1\n3 1\n", "Matrix Market", "coordinate",
     "pattern", "symmetric", 3, 3, 2, YES, YES, YES},
    {"x.mtx", "%%MatrixMarket matrix array double general\n2 2\n1\n0\n3\n4\n", "Matrix Market", "array", "double",
     "general", 2, 2, 4, NO, YES, NO},
    {"x.csv", "a,b\n0,1\n0,5\n0,5\n", "edge list", "2 columns", "pattern", "", -1, -1, 3, YES, YES, YES},
    {"x.txt", "3 1 2\n0 1 2\n", "edge list", "3 columns", "real", "", -1, -1, 2, NO, NO, NO},
    {"x.csv", ",source,target\n0,0,1\n", "edge list", "source, target of 3 columns", "pattern", "", -1, -1, 1, YES, YES,
     NO},
    {"x.csv", "source,value,weight,target,a longer name, and more\n0,7,2,1,x,y\n", "edge list",
     "source, target, weight of 6 columns (not read: value, a longer name, and more)", "real", "", -1, -1, 1, YES, YES,
     NO},
};

static void expect(const spry_matrix *A, const struct sample *s, int gzip)
{
    spry_source_info info = SPRY_INIT(spry_source_info);
    assert_int_equal(SPRY_OK, spry_matrix_get_source(A, &info, NULL));
    assert_string_equal(info.kind, s->kind);
    assert_string_equal(info.layout, s->layout);
    assert_string_equal(info.field, s->field);
    assert_string_equal(info.symmetry, s->symmetry);
    assert_string_equal(info.packing, gzip ? "gzip" : "");
    assert_int_equal(info.rows, s->rows);
    assert_int_equal(info.columns, s->cols);
    assert_int_equal(info.entries, s->entries);
    assert_int_equal(info.by_row, s->by_row);
    assert_int_equal(info.by_column, s->by_column);
    assert_int_equal(info.duplicates, s->duplicates);
}

static void test_text(void **state)
{
    spry_context *context = context_of(2);
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        const struct sample *s = &samples[k];
        spry_matrix *A = NULL, *B = NULL;
        size_t bytes;
        unsigned char *packed = gzip_of(s->text, strlen(s->text), &bytes);
        assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, s->text, strlen(s->text), s->name, NULL, NULL));
        assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &B, packed, bytes, s->name, NULL, NULL));
        expect(A, s, 0);
        expect(B, s, 1);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        free(packed);
    }
    spry_context_destroy(context);
}

static void test_others(void **state)
{
    static const struct sample csr = {"", "", "container", "csr", "f64", "general", 9, 9, 33, YES, 0, NO};
    static const struct sample sell = {"", "", "container", "sell:c=4:sigma=8", "f64", "general", 9, 9, 33, 0, 0, 0};
    static const struct sample generated = {"", "", "generated", "", "", "", 9, 9, 33, YES, 0, NO};
    static const struct sample nowhere = {"", "", "", "", "", "", -1, -1, -1, 0, 0, 0};
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    spry_write_options options = SPRY_INIT(spry_write_options);
    spry_matrix_options converting = SPRY_INIT(spry_matrix_options);
    assert_int_equal(SPRY_OK, spry_matrix_generate(context, &A, "grid5,x=3,y=3", NULL, &err));
    expect(A, &generated, 0);
    const char *path = temporary_path("a.spry");
    assert_int_equal(SPRY_OK, spry_matrix_write(A, path, NULL, &err));
    spry_matrix *B = read_matrix(context, path, NULL);
    expect(B, &csr, 0);
    spry_matrix_destroy(B);
    options.format = "sell:c=4:sigma=8";
    assert_int_equal(SPRY_OK, spry_matrix_write(A, path, &options, &err));
    B = read_matrix(context, path, NULL);
    expect(B, &sell, 0);
    spry_matrix_destroy(B);
    B = convert_matrix(context, A, &converting);
    expect(B, &nowhere, 0);
    spry_matrix_destroy(B);
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_get_source(NULL, &(spry_source_info){0}, &err));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_get_source(A, NULL, &err));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_get_source(A, &(spry_source_info){0}, &err)); /* no size */
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
