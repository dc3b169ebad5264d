/*
 * Asserts that the reader returns the matrix that the writer wrote. Tests symmetric matrices, patterns in every format,
 * and long comments.
 */
#include "catalogue/catalogue.h"
#include "core/kernel.h"
#include "files.h"
#include "io/container.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"

#define HEAD "%%MatrixMarket matrix coordinate "

static spry_matrix *read_from(spry_context *context, const char *path, spry_type value_type)
{
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = value_type;
    return read_matrix(context, path, &options);
}

static spry_matrix *read_text(spry_context *context, const char *text, spry_type value_type)
{
    return read_from(context, temporary_file("text.mtx", text, strlen(text)), value_type);
}

static void write_to(const spry_matrix *A, const char *path, const char *format, const char *comment)
{
    spry_write_options options = SPRY_INIT(spry_write_options);
    options.format = format;
    options.comment = comment;
    MUST(spry_matrix_write(A, path, &options, err));
}

static void expect_text(const spry_matrix *A, const char *expected)
{
    const char *path = temporary_path("expected.mtx");
    write_to(A, path, NULL, NULL);
    char *text = content_of(path, NULL);
    assert_string_equal(expected, text);
    free(text);
}

/* ---- values that are compared ------------------------------------------------------------------- */

/* Asserts that a container and a text file keep the field symmetry of a matrix that was read from a symmetric file. */
static void test_symmetry(void **state)
{
    static const char *const texts[] = {
        HEAD "real symmetric\n3 3 4\n1 1 nan\n2 1 nan\n3 2 1\n3 3 2\n",
        HEAD "real symmetric\n3 3 4\n1 1 inf\n2 1 -inf\n3 1 -0\n3 2 0\n",
        HEAD "real skew-symmetric\n3 3 3\n2 1 nan\n3 1 2.5\n3 2 -1\n",
        HEAD "real skew-symmetric\n3 3 3\n2 1 -inf\n3 1 0\n3 2 -0\n",
        HEAD "integer skew-symmetric\n3 3 3\n2 1 -0\n3 1 0\n3 2 7\n",
        HEAD "integer symmetric\n2 2 2\n1 1 -0\n2 1 4\n",
    };
    spry_context *context = context_of(1);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            spry_matrix *A = read_text(context, texts[t], (spry_type)type), *B = NULL;
            spry_error err = {0};
            write_to(A, temporary_path("there.spry"), NULL, NULL);
            B = read_from(context, temporary_path("there.spry"), SPRY_TYPE_DEFAULT);
            assert_same_matrix(A, B);
            if (spry_matrix_check(B, NULL, SPRY_CHECK_ALL, &err) != SPRY_OK) fail_msg("%s: %s", texts[t], err.message);
            spry_matrix_destroy(B);
            B = read_from(context, temporary_path("there.spry"), SPRY_TYPE_DEFAULT);
            expect_text(B, texts[t]);
            spry_matrix_destroy(B);
            B = read_from(context, temporary_path("expected.mtx"), (spry_type)type);
            assert_same_matrix(A, B);
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
        }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Checks matrices that are falsely declared symmetric or skew-symmetric. NaN equals only NaN, and the diagonal of a
 * skew-symmetric matrix must be zero.
 */
static void test_false_symmetry(void **state)
{
    static const int32_t offsets[] = {0, 2, 4}, columns[] = {0, 1, 0, 1};
    const double nan = NAN, values[][4] = {{0, nan, 1, 0}, {0, 1, nan, 0}, {nan, 1, -1, 0}, {0, nan, nan, 3}};
    spry_context *context = context_of(1);
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (int symmetry = SPRY_SYMMETRIC; symmetry <= SPRY_SKEW_SYMMETRIC; symmetry++) {
            spry_arrays a = SPRY_INIT(spry_arrays);
            spry_error err = {0};
            a.layout = SPRY_CSR;
            a.rows = a.columns = 2;
            a.nnz = 4;
            a.offset_type = a.index_type = SPRY_I32;
            a.value_type = SPRY_F64;
            a.offsets = offsets;
            a.indices = columns;
            a.values = values[v];
            a.symmetry = (spry_symmetry)symmetry;
            spry_matrix *A = create_matrix(context, &a);
            int holds = v == 3 && symmetry == SPRY_SYMMETRIC;
            assert_int_equal(holds ? SPRY_OK : SPRY_INVALID_MATRIX, spry_matrix_check(A, NULL, SPRY_CHECK_ALL, &err));
            spry_matrix_destroy(A);
        }
    spry_context_destroy(context);
}

/* ---- patterns ----------------------------------------------------------------------------------- */

/*
 * Asserts that a pattern written to a container in any format is read as a pattern with the same positions, and is
 * written to text as a pattern.
 */
static void test_patterns(void **state)
{
    static const char *const texts[] = {
        HEAD "pattern general\n4 5 7\n1 1\n1 2\n2 1\n2 2\n3 5\n4 1\n4 4\n",
        HEAD "pattern symmetric\n4 4 4\n1 1\n2 1\n3 3\n4 2\n",
        HEAD "pattern general\n2 3 0\n",
    };
    spry_context *context = context_of(2);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (int f = 0; f <= format_count(); f++) {
            const char *name = f < format_count() ? spryi_format_at(f)->name : "csc";
            if (f < format_count() && !spryi_container_stores(spryi_format_at(f))) continue;
            char path[512];
            snprintf(path, sizeof path, "%s", temporary_path("pattern.spry"));
            spry_matrix *A = read_text(context, texts[t], SPRY_PATTERN), *B = NULL;
            write_to(A, path, name, NULL);
            B = read_from(context, path, SPRY_TYPE_DEFAULT);
            if (arrays_of(B).value_type != SPRY_PATTERN) fail_msg("%s comes back with values", name);
            assert_null(arrays_of(B).values);
            spry_matrix_options to_csr = SPRY_INIT(spry_matrix_options);
            to_csr.layout = SPRY_CSR;
            spry_matrix *C = convert_matrix(context, B, &to_csr);
            assert_same_matrix(A, C);
            expect_text(C, texts[t]);
            spry_matrix_destroy(B);
            B = read_from(context, path, SPRY_F32); /* f32 values are requested, so entries get the value 1 */
            spry_arrays b = arrays_of(B);
            for (int64_t k = 0; k < b.nnz; k++) assert_true(((const float *)b.values)[k] == 1);
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
            spry_matrix_destroy(C);
        }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Asserts that ones that were read as values remain values in a container. A container has version 1 unless it needs
 * version 2.
 */
static void test_ones(void **state)
{
    static const char text[] = HEAD "pattern general\n2 2 2\n1 1\n2 1\n";
    spry_context *context = context_of(1);
    for (int f = 0; f < format_count(); f++)
        for (int type = SPRY_F32; spryi_container_stores(spryi_format_at(f)) && type <= SPRY_PATTERN; type++) {
            spry_matrix *A = read_text(context, text, (spry_type)type), *B = NULL;
            const char *path = temporary_path("ones.spry");
            write_to(A, path, spryi_format_at(f)->name, NULL);
            spryi_container_head head;
            char *file = content_of(path, NULL);
            memcpy(&head, file, sizeof head);
            free(file);
            if (type != SPRY_PATTERN) assert_int_equal(SPRYI_CONTAINER_FIRST, head.version);
            assert_int_equal(type, head.kind.value_type);
            B = read_from(context, path, SPRY_TYPE_DEFAULT);
            assert_int_equal(type, arrays_of(B).value_type);
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
        }
    spry_context_destroy(context);
}

/* Asserts that an entry that a pattern has twice counts twice in products, in every format. */
static void test_repeated_pattern(void **state)
{
    static const int32_t offsets[] = {0, 3, 4}, columns[] = {0, 0, 1, 1};
    spry_context *context = context_of(1);
    spry_arrays a = csr_arrays(2, 2, offsets, columns, NULL, SPRY_PATTERN);
    for (int f = 0; f < format_count(); f++) {
        if (!spryi_container_stores(spryi_format_at(f))) continue;
        spry_matrix *B = NULL;
        spry_matrix *A = create_matrix(context, &a);
        write_to(A, temporary_path("twice.spry"), spryi_format_at(f)->name, NULL);
        B = read_from(context, temporary_path("twice.spry"), SPRY_TYPE_DEFAULT);
        spry_matrix_options summed = SPRY_INIT(spry_matrix_options);
        summed.value_type = SPRY_F64;
        spry_matrix *C = convert_matrix(context, B, &summed);
        double *dense = dense_of(C);
        assert_true(dense[0] == 2 && dense[1] == 1 && dense[2] == 0 && dense[3] == 1);
        free(dense);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        spry_matrix_destroy(C);
    }
    spry_context_destroy(context);
}

/*
 * Writes a skew-symmetric pattern, which has no entries. Matrix Market has no banner for such a pattern, so the file
 * must be general.
 */
static void test_skew_pattern(void **state)
{
    static const int64_t offsets[] = {0, 0, 0};
    spry_context *context = context_of(1);
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSR;
    a.rows = a.columns = 2;
    a.offset_type = a.index_type = SPRY_I64;
    a.value_type = SPRY_PATTERN;
    a.offsets = offsets;
    a.symmetry = SPRY_SKEW_SYMMETRIC;
    spry_matrix *A = create_matrix(context, &a);
    expect_text(A, HEAD "pattern general\n2 2 0\n");
    spry_matrix_destroy(A);
    spry_matrix_destroy(read_from(context, temporary_path("expected.mtx"), SPRY_PATTERN));
    spry_context_destroy(context);
}

/* ---- comments ----------------------------------------------------------------------------------- */

/* Checks that no line exceeds the format's limit. Without '%' and line ends the comment equals the original. */
static void check_comment(const char *path, const char *comment, int whole_words)
{
    char *text = content_of(path, NULL), *line = text, *said = calloc(1, strlen(text) + 1), *to = said;
    assert_non_null(said);
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        assert_true(end - line < 1024);
        if (line[0] != '%' || line[1] == '%') continue;
        assert_int_not_equal(0x80, (unsigned char)line[1] & 0xc0); /* no line begins within a character */
        if (to > said && whole_words) *to++ = ' ';
        memcpy(to, line + 1, (size_t)(end - line - 1));
        to += end - line - 1;
    }
    assert_string_equal(comment, said);
    free(said);
    free(text);
}

static void test_comments(void **state)
{
    enum { LONG = 200000 };
    static const char *const letters[] = {"x", "word ", "\xe2\x82\xac", "\xf0\x9f\x98\x80-"};
    static const size_t lengths[] = {1, 1021, 1022, 1023, 1024, 1025, 2044, 2045, 70000, LONG};
    spry_context *context = context_of(1);
    spry_matrix *A = read_text(context, HEAD "real general\n1 1 1\n1 1 5\n", SPRY_F64);
    char *comment = malloc(LONG + 8);
    double number = 5;
    assert_non_null(comment);
    for (size_t l = 0; l < sizeof letters / sizeof *letters; l++)
        for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
            size_t length = 0, step = strlen(letters[l]);
            for (; length < lengths[n]; length += step) memcpy(comment + length, letters[l], step + 1);
            if (l == 1) comment[length - 1] = 'd'; /* no blank at the end, which a line break could remove */
            for (int way = 0; way < 3; way++) {
                char path[512];
                snprintf(path, sizeof path, "%s", temporary_path(way == 1 ? "c.mtx.gz" : "c.mtx"));
                if (way < 2) write_to(A, path, NULL, comment);
                if (way == 2) {
                    spry_vector v = spry_vector_f64(&number, 1);
                    spry_write_options options = SPRY_INIT(spry_write_options);
                    options.comment = comment;
                    assert_int_equal(SPRY_OK,
                                     spry_vector_write(context, spry_vector_as_const(v), path, &options, NULL));
                }
                spry_matrix *B = read_from(context, path, SPRY_F64);
                assert_same_matrix(A, B);
                spry_matrix_destroy(B);
                if (way != 1) check_comment(path, comment, l == 1);
            }
        }
    free(comment);
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symmetry), cmocka_unit_test(test_false_symmetry),   cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_ones),     cmocka_unit_test(test_repeated_pattern), cmocka_unit_test(test_skew_pattern),
        cmocka_unit_test(test_comments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
