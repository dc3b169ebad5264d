/*
 * Tests every fault that a file may have. Status, line and message must be exact, from memory and from a file, with 1
 * and 5 threads.
 */
#include "files.h"
#include "spry/io.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COORDINATE "%%MatrixMarket matrix coordinate real general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"
#define BANNER "'%%MatrixMarket matrix coordinate real general'"
#define BAD SPRY_BAD_FILE
#define MIRROR(entry, other, kind)                                                                                     \
    "entry " entry " is the mirror image of entry " other ", and each entry of a " kind                                \
    " file stands for both; expected one triangle, or read with duplicates dropped (drop_duplicates)"

typedef struct bad_file {
    const char *text;
    size_t bytes; /* 0: up to the NUL */
    spry_status status;
    int64_t line;
    const char *message; /* after "FILE:LINE: " */
} bad_file;

static const bad_file bad_files[] = {
    /* banner */
    {"", 0, BAD, 0, "the file is empty, expected " BANNER},
    {"\n", 0, BAD, 1, "expected a banner such as " BANNER ", found the end of the line"},
    {"1 1 1\n1 1 5\n", 0, BAD, 1,
     "expected a banner such as " BANNER
     ", found '1'; its lines look like those of an edge list, whose name ends in .txt, "
     ".csv, .tsv, .edges or .el, or which is read with input 'edges'"},
    {"%MatrixMarket matrix coordinate real general\n1 1 0\n", 0, BAD, 1,
     "expected a banner such as " BANNER ", found '%MatrixMarket'"},
    {"\x7f\x45LX\x02\x01\x01\0\0\0\0\0\0\0\0\x03", 16, BAD, 1,
     "expected a banner such as " BANNER
     ", found '\\x7fELX\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x03'"},
    {"PK\x05\x04\x14\0\0\0\x08\0\x8a\xb1mWwhatever is in this archive\n", 43, BAD, 1,
     "expected a banner such as " BANNER ", found 'PK\\x05\\x04\\x14\\x00\\x00\\x00\\x08\\x00\\x8a\\xb1mWwhatever'"},
    {"%%MatrixMarket\n1 1 0\n", 0, BAD, 1, "expected 'matrix' in the banner, found the end of the line"},
    {"%%MatrixMarket graph coordinate real general\n1 1 0\n", 0, BAD, 1,
     "expected 'matrix' in the banner, found 'graph'"},
    {"%%MatrixMarket matrix sparse real general\n1 1 0\n", 0, BAD, 1,
     "expected 'coordinate' or 'array' in the banner, found 'sparse'"},
    {"%%MatrixMarket matrix coordinate float general\n1 1 0\n", 0, BAD, 1,
     "expected 'real', 'double', 'integer', 'unsigned-integer' or 'pattern' in the banner, found 'float'"},
    {"%%MatrixMarket matrix coordinate real triangular\n1 1 0\n", 0, BAD, 1,
     "expected 'general', 'symmetric', 'skew-symmetric' or 'hermitian' in the banner, found 'triangular'"},
    {"%%MatrixMarket matrix coordinate real\n1 1 0\n", 0, BAD, 1,
     "expected 'general', 'symmetric', 'skew-symmetric' or 'hermitian' in the banner, found the end of the line"},
    {"%%MatrixMarket matrix coordinate real general twice\n1 1 0\n", 0, BAD, 1,
     "expected the end of the banner, found 'twice'"},
    {"%%MatrixMarket vector coordinate real general\n1 0\n", 0, SPRY_UNSUPPORTED, 1,
     "the file holds a vector; this library reads 'matrix' files only"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n", 0, SPRY_UNSUPPORTED, 1,
     "complex matrices are not supported yet, expected 'real', 'double', 'integer', 'unsigned-integer' or 'pattern'"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 2\n", 0, SPRY_UNSUPPORTED, 1,
     "complex matrices are not supported yet, expected 'real', 'double', 'integer', 'unsigned-integer' or 'pattern'"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n", 0, BAD, 1,
     "an array file has values, but its banner says 'pattern'; expected 'real' or 'integer'"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", 0, BAD, 1,
     "a pattern has no signs, so it cannot be skew-symmetric; expected 'general' or 'symmetric'"},
    /* sizes */
    {COORDINATE, 0, BAD, 1, "the file ends before its size line, expected 'ROWS COLUMNS ENTRIES'"},
    {COORDINATE "% only\n\n% comments\n", 0, BAD, 4,
     "the file ends before its size line, expected 'ROWS COLUMNS ENTRIES'"},
    {ARRAY "%\n", 0, BAD, 2, "the file ends before its size line, expected 'ROWS COLUMNS'"},
    {COORDINATE "3 3\n1 1 1\n", 0, BAD, 2,
     "expected the number of entries in the size line, found the end of the line"},
    {COORDINATE "three 3 1\n1 1 1\n", 0, BAD, 2, "expected the number of rows in the size line, found 'three'"},
    {COORDINATE "3 -3 1\n1 1 1\n", 0, BAD, 2, "expected the number of columns in the size line, found '-3'"},
    {COORDINATE "3 3 1.0\n1 1 1\n", 0, BAD, 2, "expected the number of entries in the size line, found '1.0'"},
    {COORDINATE "%\n3 3 1 1\n1 1 1\n", 0, BAD, 3,
     "expected the end of the size line, which is 'ROWS COLUMNS ENTRIES', found '1'"},
    {ARRAY "2 2 4\n1\n2\n3\n4\n", 0, BAD, 2, "expected the end of the size line, which is 'ROWS COLUMNS', found '4'"},
    {COORDINATE "99999999999999999999 1 1\n1 1 1\n", 0, BAD, 2,
     "'99999999999999999999' rows are more than indices can hold, which is 144115188075855871"},
    {COORDINATE "1 9223372036854775807 1\n1 1 1\n", 0, BAD, 2,
     "'9223372036854775807' columns are more than indices can hold, which is 144115188075855871"},
    {COORDINATE "3 3 1000000000000\n1 1 1\n", 0, BAD, 2,
     "the size line announces 1000000000000 entries, but the rest of the file has room for 1 at most"},
    {PATTERN "3 3 3\n1 1\n2 2", 0, BAD, 2,
     "the size line announces 3 entries, but the rest of the file has room for 2 at most"},
    {ARRAY "1000000000 1000000000\n1\n", 0, BAD, 2,
     "an array of 1000000000 x 1000000000 values is more than this file can contain"},
    {ARRAY "1000 1000\n1\n2\n", 0, BAD, 2,
     "the size line announces 1000000 entries, but the rest of the file has room for 2 at most"},
    {COORDINATE "0 5 1\n1 1 1\n", 0, BAD, 2, "1 entries in a matrix of 0 rows and 5 columns, expected 0"},
    {SYMMETRIC "3 4 1\n1 1 1\n", 0, BAD, 2,
     "the banner says symmetric, but the matrix is not square: 3 rows, 4 columns"},
    {SKEW "5 4 1\n2 1 1\n", 0, BAD, 2,
     "the banner says skew-symmetric, but the matrix is not square: 5 rows, 4 columns"},
    /* an entry and its mirror image: in a symmetric file, each of them already stands for both */
    {SYMMETRIC "2 2 3\n1 1 1\n2 1 5\n1 2 5\n", 0, BAD, 5, MIRROR("(1, 2)", "(2, 1)", "symmetric")},
    {SYMMETRIC "4 4 4\n1 4 1\n3 2 1\n2 3 1\n4 1 1\n", 0, BAD, 3, MIRROR("(1, 4)", "(4, 1)", "symmetric")},
    {SKEW "2 2 2\n1 2 5\n2 1 -5\n", 0, BAD, 3, MIRROR("(1, 2)", "(2, 1)", "skew-symmetric")},
    {"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 3\n3 1\n", 0, BAD, 3,
     MIRROR("(1, 3)", "(3, 1)", "symmetric")},
    {SYMMETRIC "2 2 2\n2 1 5\n% between\n1 2 5\n", 0, BAD, 0, MIRROR("(1, 2)", "(2, 1)", "symmetric")},
    /* indices */
    {COORDINATE "10 10 2\n1 1 1\n12 1 1\n", 0, BAD, 4, "row index 12 is past the last row 10"},
    {COORDINATE "10 10 2\n1 1 1\n1 11 1\n", 0, BAD, 4, "column index 11 is past the last column 10"},
    {COORDINATE "10 10 2\n1 1 1\n0 1 1\n", 0, BAD, 4, "row index 0 is below 1, the first row"},
    {COORDINATE "10 10 2\n% x\n\n1 0 1\n1 1 1\n", 0, BAD, 5, "column index 0 is below 1, the first column"},
    {COORDINATE "10 10 1\n-1 1 1\n", 0, BAD, 3, "row index -1 is below 1, the first row"},
    {COORDINATE "10 10 1\n1 99999999999999999999999 1\n", 0, BAD, 3,
     "column index 99999999999999999999999 is past the last column 10"},
    {COORDINATE "10 10 1\n18446744073709551617 1 1\n", 0, BAD, 3,
     "row index 18446744073709551617 is past the last row 10"},
    {COORDINATE "10 10 1\n1.0 1 1\n", 0, BAD, 3, "expected a row index, found '1.0'"},
    {COORDINATE "10 10 1\nabc 1 1\n", 0, BAD, 3, "expected a row index, found 'abc'"},
    {COORDINATE "10 10 1\n1,2,3.5\n", 0, BAD, 3, "expected a row index, found '1,2,3.5'"},
    {COORDINATE "10 10 1\n    7   \n", 0, BAD, 3, "expected a column index, found the end of the line"},
    {COORDINATE "10 10 1\n1 \x01\xff\xfe 1\n", 0, BAD, 3, "expected a column index, found '\\x01\\xff\\xfe'"},
    {COORDINATE "10 10 1\n1 1\0 1\n  ", sizeof(COORDINATE "10 10 1\n1 1\0 1\n  ") - 1, BAD, 3,
     "expected a column index, found '1\\x00'"},
    /* values */
    {COORDINATE "10 10 2\n1 1 1\n1 2\n3 3 1\n", 0, BAD, 4, "expected a number, found the end of the line"},
    {COORDINATE "10 10 1\n1 1 one\n", 0, BAD, 3, "expected a number, found 'one'"},
    {COORDINATE "10 10 1\n1 1 1.5.2\n", 0, BAD, 3, "expected a number, found '1.5.2'"},
    {COORDINATE "10 10 1\n1 1 1e\n", 0, BAD, 3, "expected a number, found '1e'"},
    {COORDINATE "10 10 1\n1 1 1e+\n", 0, BAD, 3, "expected a number, found '1e+'"},
    {COORDINATE "10 10 1\n1 1 .\n", 0, BAD, 3, "expected a number, found '.'"},
    {COORDINATE "10 10 1\n1 1 -\n", 0, BAD, 3, "expected a number, found '-'"},
    {COORDINATE "10 10 1\n1 1 --5\n", 0, BAD, 3, "expected a number, found '--5'"},
    {COORDINATE "10 10 1\n1 1 1,5\n", 0, BAD, 3, "expected a number, found '1,5'"},
    {COORDINATE "10 10 1\n1 1 0x10\n", 0, BAD, 3, "expected a number, found '0x10'"},
    {COORDINATE "10 10 1\n1 1 infinit\n", 0, BAD, 3, "expected a number, found 'infinit'"},
    {COORDINATE "10 10 2\n1 1 1 7\n2 2 2\n", 0, BAD, 3, "expected the end of the line after the value, found '7'"},
    {COORDINATE "10 10 1\n1 1 1.5abc\n", 0, BAD, 3, "expected a number, found '1.5abc'"},
    {COORDINATE "10 10 1\n1 1 1 % note\n", 0, BAD, 3, "expected the end of the line after the value, found '%'"},
    {PATTERN "10 10 1\n1 1 1\n", 0, BAD, 3, "expected the end of the line after the column index, found '1'"},
    {INTEGER "10 10 1\n1 1 1.5\n", 0, BAD, 3, "expected an integer, as the banner says, found '1.5'"},
    {INTEGER "10 10 1\n1 1 1e3\n", 0, BAD, 3, "expected an integer, as the banner says, found '1e3'"},
    {INTEGER "10 10 1\n1 1 nan\n", 0, BAD, 3, "expected an integer, as the banner says, found 'nan'"},
    {INTEGER "10 10 1\n1 1 x\n", 0, BAD, 3, "expected an integer, found 'x'"},
    {ARRAY "2 1\n1\n2 3\n", 0, BAD, 4, "expected the end of the line after the value, found '3'"},
    {ARRAY "2 1\n1\nx\n", 0, BAD, 4, "expected a number, found 'x'"},
    {SKEW "3 3 2\n2 1 5\n2 2 1\n", 0, BAD, 4,
     "diagonal entry (2, 2) is 1, but a skew-symmetric matrix has zeros there"},
    {SKEW "3 3 1\n2 2 nan\n", 0, BAD, 3, "diagonal entry (2, 2) is nan, but a skew-symmetric matrix has zeros there"},
    /* numbers of entries */
    {COORDINATE "3 3 3\n1 1 1.25\n2 2 2.25\n", 0, BAD, 4, "the file ends after 2 of 3 entries"},
    {COORDINATE "3 3 2\n% a long comment instead\n% of entries\n", 0, BAD, 4, "the file ends after 0 of 2 entries"},
    {COORDINATE "3 3 2\n1 1 1.25\n2 2 2.2", 0, SPRY_OK, 0, NULL}, /* truncated, but undetectable */
    {COORDINATE "3 3 2\n1 1 1.25\n2 2 ", 0, BAD, 4, "expected a number, found the end of the line"},
    {COORDINATE "3 3 1\n1 1 1\n\n2 2 2\n", 0, BAD, 5, "expected the end of the file after 1 entries, found '2'"},
    {COORDINATE "3 3 1\n1 1 1\nend\n", 0, BAD, 4, "expected the end of the file after 1 entries, found 'end'"},
    {COORDINATE "3 3 0\n1 1 1\n", 0, BAD, 3, "expected the end of the file after 0 entries, found '1'"},
    {ARRAY "2 1\n1\n2\n3\n", 0, BAD, 5, "expected the end of the file after 2 entries, found '3'"},
    {ARRAY "3 1\n1.5\n2.5\n", 0, BAD, 4, "the file ends after 2 of 3 entries"},
};

static void expect(const bad_file *f, const char *file, spry_status status, const spry_error *err)
{
    char message[600];
    if (f->line > 0) {
        snprintf(message, sizeof message, "%s:%lld: %s", file, (long long)f->line, f->message);
    } else {
        snprintf(message, sizeof message, "%s: %s", file, f->message);
    }
    if (status != f->status || strcmp(message, err->message) != 0 || err->line != f->line)
        fail_msg("status %d, line %lld, \"%s\"; expected %d, %lld, \"%s\"", status, (long long)err->line, err->message,
                 f->status, (long long)f->line, message);
    assert_string_equal(file, err->file);
    assert_int_equal(f->status, err->status);
}

static void test_table(void **state)
{
    int count = 0;
    for (size_t b = 0; b < sizeof bad_files / sizeof bad_files[0]; b++) {
        const bad_file *f = &bad_files[b];
        size_t bytes = f->bytes ? f->bytes : strlen(f->text);
        for (int threads = 1; threads <= 5; threads += 4) {
            spry_context *context = context_of(threads);
            spry_error err = {0};
            spry_matrix *A = NULL;
            char *exact = malloc(bytes ? bytes : 1); /* lets a sanitizer detect reads beyond the text */
            memcpy(exact, f->text, bytes);
            spry_status status = spry_matrix_read_memory(context, &A, exact, bytes, "x.mtx", NULL, &err);
            free(exact);
            if (f->status == SPRY_OK) {
                assert_int_equal(SPRY_OK, status);
                spry_matrix_destroy(A);
                A = NULL;
            } else {
                expect(f, "x.mtx", status, &err);
                const char *path = temporary_file("bad.mtx", f->text, bytes);
                expect(f, path, spry_matrix_read(context, &A, path, NULL, &err), &err);
                assert_int_equal(f->status, spry_matrix_read(context, &A, path, NULL, NULL));
                count++;
            }
            assert_null(A);
            assert_int_equal(0, context_bytes(context));
            spry_context_destroy(context);
        }
    }
    assert_true(count >= 2 * 45);
}

/* ---- long files: the first fault in file order, with any number of threads -------------------- */

typedef struct long_text {
    char *text;
    size_t bytes;
} long_text;

enum { LONG_LINES = 200000 };

/* Builds a file of LONG_LINES entries and replaces line `at` and line `also` (0: none). */
static long_text long_file(long at, const char *line, long also, const char *other)
{
    long_text t = {malloc((size_t)LONG_LINES * 32 + 100000), 0};
    assert_non_null(t.text);
    char *to = t.text + sprintf(t.text, "%s%d 7 %d\n", COORDINATE, LONG_LINES, LONG_LINES);
    for (long l = 3; l < LONG_LINES + 3; l++)
        to += l == at     ? sprintf(to, "%s", line)
              : l == also ? sprintf(to, "%s", other)
                          : sprintf(to, "%ld %ld %.6f\n", l - 2, l % 7 + 1, 1.0 / (double)l);
    t.bytes = (size_t)(to - t.text);
    return t;
}

static void expect_long(long_text t, int64_t line, const char *message)
{
    size_t packed_bytes;
    unsigned char *packed = gzip_of(t.text, t.bytes, &packed_bytes);
    bad_file f = {NULL, 0, BAD, line, message};
    const char *path = temporary_file("long.mtx", t.text, t.bytes);
    const char *gz = temporary_file("long.mtx.gz", packed, packed_bytes);
    for (int threads = 1; threads <= 5; threads += 2) {
        spry_context *context = context_of(threads);
        spry_matrix *A = NULL;
        spry_error err = {0};
        expect(&f, "x.mtx", spry_matrix_read_memory(context, &A, t.text, t.bytes, "x.mtx", NULL, &err), &err);
        expect(&f, path, spry_matrix_read(context, &A, path, NULL, &err), &err);
        expect(&f, gz, spry_matrix_read(context, &A, gz, NULL, &err), &err);
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
    }
    free(packed);
    free(t.text);
}

static void test_first_fault_of_a_long_file(void **state)
{
    expect_long(long_file(150000, "1 8 1\n", 0, ""), 150000, "column index 8 is past the last column 7");
    expect_long(long_file(150000, "1 8 1\n", 40000, "1 1 x\n"), 40000, "expected a number, found 'x'");
    expect_long(long_file(3, "0 1 1\n", LONG_LINES, "1 9 x\n"), 3, "row index 0 is below 1, the first row");
    expect_long(long_file(LONG_LINES + 2, "1 1 1 1", 0, ""), LONG_LINES + 2,
                "expected the end of the line after the value, found '1'");
    expect_long(long_file(100000, "", 0, ""), LONG_LINES + 1, "the file ends after 199999 of 200000 entries");
    expect_long(long_file(100000, "1 1 1\n\n%\n2 1 1\n", 0, ""), LONG_LINES + 5,
                "expected the end of the file after 200000 entries, found '200000'");
    expect_long(long_file(100000, "1 1 1\n2 1 1\n", LONG_LINES + 2, "broken\n"), LONG_LINES + 3,
                "expected the end of the file after 200000 entries, found 'broken'");
}

/*
 * Asserts that lines longer than the limit are refused, wherever they are in the reader's blocks. Lines up to the limit
 * must be read.
 */
static void test_long_lines(void **state)
{
    enum { LIMIT = 64 << 10 };
    char *line = malloc(LIMIT + 3);
    assert_non_null(line);
    for (long at = 3; at < 60000; at += 9973) {
        memset(line, ' ', LIMIT);
        memcpy(line, "3 1 1", 5);
        strcpy(line + LIMIT - 1, " \n"); /* exactly the limit */
        long_text t = long_file(at, line, 0, "");
        spry_context *context = context_of(2);
        const char *path = temporary_file("lines.mtx", t.text, t.bytes);
        spry_matrix *A = read_matrix(context, path, NULL);
        spry_matrix_destroy(A);
        spry_context_destroy(context);
        free(t.text);
        strcpy(line + LIMIT - 1, "  \n");
        expect_long(long_file(at, line, 0, ""), at, "the line has more than 65536 characters, the format allows 1024");
    }
    free(line);
}

static void test_noise_without_a_newline(void **state)
{
    enum { BYTES = 3 << 20 };
    char *noise = malloc(BYTES);
    assert_non_null(noise);
    memset(noise, 'x', BYTES);
    memcpy(noise, COORDINATE "9 9 9\n", sizeof(COORDINATE "9 9 9\n") - 1);
    expect_long((long_text){noise, BYTES}, 3, "the line has more than 65536 characters, the format allows 1024");
}

/* ---- gzip -------------------------------------------------------------------------------------- */

static void expect_gzip(const unsigned char *packed, size_t bytes, const char *message)
{
    bad_file f = {NULL, 0, BAD, 0, message};
    const char *path = temporary_file("bad.mtx.gz", packed, bytes);
    for (int threads = 1; threads <= 5; threads += 4) {
        spry_context *context = context_of(threads);
        spry_matrix *A = NULL;
        spry_error err = {0};
        expect(&f, path, spry_matrix_read(context, &A, path, NULL, &err), &err);
        expect(&f, "x.gz", spry_matrix_read_memory(context, &A, packed, bytes, "x.gz", NULL, &err), &err);
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
    }
}

static void test_broken_gzip(void **state)
{
    static const char early[] = "the gzip data end too early: the file was cut short";
    long_text t = long_file(0, "", 0, "");
    size_t bytes;
    unsigned char *packed = gzip_of(t.text, t.bytes, &bytes);
    expect_gzip(packed, bytes - 1, early); /* all text is present, its checksum is truncated */
    expect_gzip(packed, bytes / 2, early);
    expect_gzip(packed, 15, early);
    expect_gzip(packed, 2, early);
    packed[bytes - 6] ^= 1;
    expect_gzip(packed, bytes, "the gzip data are damaged: incorrect data check");
    packed[bytes - 6] ^= 1;
    packed[2] = 7;
    expect_gzip(packed, bytes, "the gzip data are damaged: unknown compression method");
    free(packed);

    packed = gzip_of(t.text, t.bytes, &bytes);
    packed = realloc(packed, bytes + 1);
    packed[bytes] = 'x';
    expect_gzip(packed, bytes + 1, "bytes that are not gzip follow the end of the gzip data");
    free(packed);
    free(t.text);
}

/* Asserts that a small gzip file whose size line announces a large matrix is refused before large allocations. */
static void test_gzip_counts(void **state)
{
    static const char text[] = COORDINATE "9 9 900000000000\n1 1 1\n";
    size_t bytes;
    unsigned char *packed = gzip_of(text, sizeof text - 1, &bytes);
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    assert_int_equal(BAD, spry_matrix_read_memory(context, &A, packed, bytes, "x.gz", NULL, &err));
    assert_non_null(strstr(err.message, "x.gz:2: the size line announces 900000000000 entries, but the rest"));
    assert_true(context_peak_bytes(context) < 4 << 20);
    spry_context_destroy(context);
    free(packed);
}

/* ---- paths that are no files ------------------------------------------------------------------- */

static void expect_file_error(const char *path, const char *message)
{
    bad_file f = {NULL, 0, SPRY_FILE_ERROR, 0, message};
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    expect(&f, path, spry_matrix_read(context, &A, path, NULL, &err), &err);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

static void test_no_file(void **state)
{
    expect_file_error(temporary_path("missing.mtx"), "cannot be opened: No such file or directory");
    expect_file_error(temporary_folder(), "is a directory, expected a file with a matrix");
    const char *path = temporary_file("closed.mtx", "x", 1);
    expect_file_error(temporary_path("closed.mtx/x"), "cannot be opened: Not a directory");
    assert_int_equal(0, chmod(path, 0));
    int root = geteuid() == 0;
    if (root) assert_int_equal(0, chmod(temporary_folder(), 0755));
    if (root) assert_int_equal(0, seteuid(65534));
    expect_file_error(path, "cannot be opened: Permission denied");
    if (root) assert_int_equal(0, seteuid(0));
}

/* A message has one line for any name, and shows the end of a long name. */
static void test_strange_names(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    assert_int_equal(SPRY_FILE_ERROR, spry_matrix_read(context, &A, "no\n\x1b[2J\x7f\tfile", NULL, &err));
    assert_string_equal("no\\n\\x1b[2J\\x7f\\x09file: cannot be opened: No such file or directory", err.message);
    assert_string_equal("no\n\x1b[2J\x7f\tfile", err.file);
    assert_int_equal(BAD, spry_matrix_read_memory(context, &A, "x\n", 2, "a\r\nb", NULL, &err));
    assert_non_null(strstr(err.message, "a\\x0d\\nb:1: expected"));
    assert_int_equal(SPRY_UNKNOWN_NAME, spry_matrix_generate(context, &A, "gen:gr\nid", NULL, &err));
    assert_null(strchr(err.message, '\n'));
    assert_non_null(strstr(err.message, "gr\\nid"));

    char path[1000];
    for (size_t length = 150; length < sizeof path; length++) {
        memset(path, length % 2 ? '\n' : 'x', length);
        memcpy(path + length - 4, "last", 5);
        assert_int_equal(SPRY_FILE_ERROR, spry_matrix_read(context, &A, path, NULL, &err));
        assert_null(strchr(err.message, '\n'));
        assert_true(strlen(err.message) < 300);
        assert_non_null(strstr(err.message, "last: cannot be opened: "));
    }
    spry_context_destroy(context);
}

/* ---- sizes that a file may have but this library or machine cannot hold ------------------------- */

static void test_sizes_that_do_not_fit(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    spry_read_options options = SPRY_INIT(spry_read_options);
    static const char wide[] = COORDINATE "3000000000 3 1\n2999999999 1 5\n";
    options.index_type = SPRY_I32;
    assert_int_equal(BAD, spry_matrix_read_memory(context, &A, wide, sizeof wide - 1, "x.mtx", &options, &err));
    assert_string_equal("x.mtx:2: 3000000000 rows or columns do not fit 32-bit indices, which hold 2147483647",
                        err.message);
    options.index_type = SPRY_INDEX_DEFAULT;
    options.offset_type = SPRY_I32;
    assert_int_equal(BAD, spry_matrix_read_memory(context, &A, wide, sizeof wide - 1, "x.mtx", &options, &err));

    /* A valid file whose offsets would need 10^17 * 8 bytes. */
    static const char vast[] = COORDINATE "100000000000000000 3 1\n2 1 5\n";
    assert_int_equal(SPRY_OUT_OF_MEMORY,
                     spry_matrix_read_memory(context, &A, vast, sizeof vast - 1, "x.mtx", NULL, &err));
    assert_string_equal("x.mtx", err.file);
    assert_non_null(strstr(err.message, "x.mtx: out of memory: offsets needs 800 PB, "));
    assert_int_equal(0, context_bytes(context));
    assert_null(A);
    spry_context_destroy(context);
}

static void test_bad_arguments(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    spry_read_options options = SPRY_INIT(spry_read_options);
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(context, &A, NULL, NULL, &err));
    assert_string_equal("path", err.argument);
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(context, &A, "", NULL, &err));
    assert_string_equal("path", err.argument);
    assert_string_equal("read: path is empty, expected a file's name", err.message);
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(NULL, &A, "x", NULL, &err));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(context, NULL, "x", NULL, &err));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read_memory(context, &A, NULL, 5, "x", NULL, &err));
    options.value_type = (spry_type)9;
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(context, &A, "x", &options, &err));
    assert_string_equal("value_type", err.argument);
    options = (spry_read_options){.struct_size = sizeof options, .offset_type = SPRY_I32, .index_type = SPRY_I64};
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(context, &A, "x", &options, &err));
    options = (spry_read_options){0};
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_read(context, &A, "x", &options, &err));
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_first_fault_of_a_long_file),
        cmocka_unit_test(test_long_lines),    cmocka_unit_test(test_noise_without_a_newline),
        cmocka_unit_test(test_broken_gzip),   cmocka_unit_test(test_gzip_counts),
        cmocka_unit_test(test_no_file),       cmocka_unit_test(test_sizes_that_do_not_fit),
        cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_strange_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
