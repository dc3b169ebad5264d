/* Tests of the writer: content, bitwise equal matrices when files are read again, and failures that leave no files. */
#include "files.h"
#include "spry/io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "%%MatrixMarket matrix coordinate "

static spry_matrix *read_text(spry_context *context, const char *text, const spry_read_options *options)
{
    spry_matrix *A = NULL;
    MUST(spry_matrix_read_memory(context, &A, text, strlen(text), "x", options, err));
    return A;
}

static void write_to(const spry_matrix *A, const char *path, const spry_write_options *options)
{
    MUST(spry_matrix_write(A, path, options, err));
}

static void expect_written(const spry_matrix *A, const spry_write_options *options, const char *expected)
{
    const char *path = temporary_path("written.mtx");
    write_to(A, path, options);
    char *text = content_of(path, NULL);
    assert_string_equal(expected, text);
    free(text);
}

/* Checks that reading `text` and writing gives `expected`. */
static void test_text(void **state)
{
    static const char *const cases[][2] = {
        {HEAD "real general\n2 3 3\n2 3 -2.50\n1 1 1e0\n1 2 1e-7\n",
         HEAD "real general\n2 3 3\n1 1 1\n1 2 1e-7\n2 3 -2.5\n"},
        {HEAD "integer general\n2 2 2\n2 2 -7\n1 1 9007199254740993\n",
         HEAD "integer general\n2 2 2\n1 1 9007199254740992\n2 2 -7\n"},
        {HEAD "pattern symmetric\n2 2 2\n2 1\n1 1\n", HEAD "pattern symmetric\n2 2 2\n1 1\n2 1\n"},
        {HEAD "pattern general\n1 1 2\n1 1\n1 1\n", HEAD "real general\n1 1 1\n1 1 2\n"},
        {HEAD "real symmetric\n2 2 2\n1 2 3\n2 2 inf\n", HEAD "real symmetric\n2 2 2\n2 1 3\n2 2 inf\n"},
        {HEAD "real skew-symmetric\n2 2 1\n2 1 0.1\n", HEAD "real skew-symmetric\n2 2 1\n2 1 0.1\n"},
        {HEAD "real general\n0 3 0\n", HEAD "real general\n0 3 0\n"},
        {"%%MatrixMarket matrix array integer general\n2 1\n0\n4\n", HEAD "integer general\n2 1 1\n2 1 4\n"},
    };
    spry_context *context = context_of(1);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        spry_matrix *A = read_text(context, cases[c][0], NULL);
        expect_written(A, NULL, cases[c][1]);
        spry_matrix_destroy(A);
    }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Writes edge lists. Nodes count from the matrix's index base, and a symmetric matrix has the edges of both triangles.
 */
static void test_csv(void **state)
{
    static const char *const cases[][2] = {
        {HEAD "real general\n2 3 2\n2 3 -2.50\n1 1 1e0\n", "source,target,weight\n1,1,1\n2,3,-2.5\n"},
        {HEAD "integer symmetric\n2 2 2\n2 1 4\n2 2 5\n", "source,target,weight\n1,2,4\n2,1,4\n2,2,5\n"},
        {HEAD "pattern general\n2 2 1\n2 1\n", "source,target\n2,1\n"},
        {HEAD "real general\n0 3 0\n", "source,target,weight\n"},
    };
    spry_context *context = context_of(2);
    spry_write_options options = SPRY_INIT(spry_write_options);
    spry_read_options from_1 = SPRY_INIT(spry_read_options);
    from_1.index_base = 1;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        spry_matrix *A = read_text(context, cases[c][0], NULL), *B = NULL;
        const char *path = temporary_path("written.csv");
        write_to(A, path, NULL);
        char *text = content_of(path, NULL);
        assert_string_equal(cases[c][1], text);
        free(text);
        path = temporary_path("written.CSV.gz");
        write_to(A, path, NULL);
        if (spry_matrix_nnz(A) > 0) {
            B = read_matrix(context, path, &from_1);
            assert_int_equal(spry_matrix_nnz(A), spry_matrix_nnz(B));
        }
        options.comment = "none";
        assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(A, path, &options, NULL));
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
    }
    spry_context_destroy(context);
}

/* Asserts that the file's name selects the kind of file. An unknown name is refused before anything is written. */
static void test_names(void **state)
{
    static const struct {
        const char *name, *begin; /* begin: first bytes of the file; NULL: the name is refused */
    } cases[] = {
        {"a.mtx", "%%Matrix"},    {"a.MTX.gz", "\x1f\x8b"},
        {"a", "%%Matrix"},        {".mtx", "%%Matrix"},
        {"a.gz", "\x1f\x8b"},     {"a.b.csv", "source,target"},
        {"a.csv.gz", "\x1f\x8b"}, {"a.spry", "\x89SPY\r"},
        {"a.spry.gz", NULL},      {"a.npz", NULL},
        {"a.txt", NULL},          {"a.mtx.xz", NULL},
        {"a.html", NULL},         {"a.", NULL},
    };
    spry_context *context = context_of(1);
    spry_matrix *A = read_text(context, HEAD "real general\n0 3 0\n", NULL);
    const int files = count_files();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char begin[16] = "";
        const char *const path = temporary_path(cases[c].name);
        spry_error err = {0};
        const spry_status status = spry_matrix_write(A, path, NULL, &err);
        assert_int_equal(cases[c].begin ? SPRY_OK : SPRY_INVALID_ARGUMENT, status);
        if (!cases[c].begin) {
            assert_non_null(strstr(err.message, "expected .mtx or .csv, also with .gz behind it, or .spry"));
            continue;
        }
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        (void)fread(begin, 1, sizeof begin - 1, file);
        fclose(file);
        assert_int_equal(0, remove(path));
        if (strncmp(begin, cases[c].begin, strlen(cases[c].begin)) != 0) fail_msg("%s: %s", cases[c].name, begin);
    }
    assert_int_equal(SPRY_OK, spry_matrix_write(A, "/dev/null", NULL, NULL));
    assert_int_equal(files, count_files());
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void test_options(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = read_text(context, HEAD "real skew-symmetric\n2 2 1\n2 1 0.5\n", NULL);
    spry_write_options options = SPRY_INIT(spry_write_options);
    options.full = 1;
    options.comment = "first\n\n second\n";
    expect_written(A, &options, HEAD "real general\n%first\n%\n% second\n2 2 2\n1 2 -0.5\n2 1 0.5\n");
    options.comment = "one";
    options.full = 0;
    expect_written(A, &options, HEAD "real skew-symmetric\n%one\n2 2 1\n2 1 0.5\n");
    options.comment = "";
    expect_written(A, &options, HEAD "real skew-symmetric\n2 2 1\n2 1 0.5\n");
    spry_error err = {0};
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(A, NULL, NULL, &err));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(NULL, "x", NULL, &err));
    options.struct_size = 1;
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(A, temporary_path("x"), &options, &err));
    static const struct {
        const char *file, *argument, *message;
    } refused[] = {{"x.csv", "full", "write: full is an option of Matrix Market files of matrices, which "},
                   {"x.spry", "full", "write: full is an option of "},
                   {"x.csv", "comment", "write: comment is an option of Matrix Market files, which "},
                   {"x.spry", "comment", "write: comment is an option of "},
                   {"x.mtx", "format", "write: format is an option of containers, whose names end in .spry, which "},
                   {"x.csv", "row_name", "write: row_name is an option of CSV files of vectors, which "},
                   {"x.csv", "value_name", "write: value_name is an option of "},
                   {"x.csv", "index_base", "write: index_base is an option of "}};
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++) {
        spry_write_options o = SPRY_INIT(spry_write_options);
        const char *const path = temporary_path(refused[r].file), *const name = refused[r].argument;
        o.full = strcmp(name, "full") == 0;
        o.index_base = strcmp(name, "index_base") == 0;
        if (strcmp(name, "comment") == 0) o.comment = "c";
        if (strcmp(name, "format") == 0) o.format = "csr";
        if (strcmp(name, "row_name") == 0) o.row_name = "node";
        if (strcmp(name, "value_name") == 0) o.value_name = "rank";
        assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(A, path, &o, &err));
        assert_string_equal(name, err.argument);
        assert_non_null(strstr(err.message, refused[r].message));
        assert_int_not_equal(0, access(path, F_OK));
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Writes borrowed COO and CSC matrices that are unsorted and have duplicates and 64-bit indices. */
static void test_layouts(void **state)
{
    static const int64_t offsets[4] = {0, 2, 2, 4}, indices[4] = {1, 0, 1, 1}, rows[4] = {2, 0, 2, 1};
    static const float values[4] = {0.1f, 16777216.0f, 1e-45f, -3.4028235e38f};
    static const char *const expected[3] = {
        HEAD "real general\n3 2 4\n1 2 0.1\n1 1 16777216\n3 2 1e-45\n3 2 -3.4028235e+38\n",
        HEAD "real general\n3 2 4\n3 2 0.1\n1 1 16777216\n3 2 1e-45\n2 2 -3.4028235e+38\n",
        HEAD "real general\n2 3 4\n2 1 0.1\n1 1 16777216\n2 3 1e-45\n2 3 -3.4028235e+38\n",
    };
    spry_context *context = context_of(1);
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++) {
        spry_arrays a = SPRY_INIT(spry_arrays);
        a.layout = (spry_layout)layout;
        a.rows = layout == SPRY_CSC ? 2 : 3;
        a.columns = layout == SPRY_CSC ? 3 : 2;
        a.nnz = 4;
        a.offset_type = a.index_type = SPRY_I64;
        a.value_type = SPRY_F32;
        a.offsets = layout == SPRY_COO ? NULL : offsets;
        a.row_indices = layout == SPRY_COO ? rows : NULL;
        a.indices = indices;
        a.values = values;
        spry_matrix *A = create_matrix(context, &a);
        expect_written(A, NULL, expected[layout - 1]);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

static void test_unsound_matrix(void **state)
{
    static const int32_t offsets[3] = {0, 1, 2}, columns[2] = {0, 2};
    static const double values[2] = {1, 2};
    spry_context *context = context_of(1);
    spry_error err = {0};
    spry_matrix *A = borrow_csr(context, 2, 2, offsets, columns, values);
    const char *path = temporary_path("unsound.mtx");
    assert_int_equal(SPRY_INVALID_MATRIX, spry_matrix_write(A, path, NULL, &err));
    assert_string_equal("entry 1 is at row 1, column 2 (counted from 0), outside the 2 x 2 matrix", err.message);
    assert_int_not_equal(0, access(path, F_OK));
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- round trips ------------------------------------------------------------------------------- */

static uint64_t random_state = 7;

/* Builds a 300 x 4000 matrix whose values are random bits, without NaN. */
static spry_matrix *random_matrix(spry_context *context, spry_type type)
{
    enum { ROWS = 300, COLUMNS = 4000, EVERY = 9 };
    int32_t *offsets = malloc((ROWS + 1) * sizeof *offsets), *columns = malloc(ROWS * COLUMNS * sizeof *columns);
    double *values = malloc(ROWS * COLUMNS * sizeof *values);
    float *values32 = malloc(ROWS * COLUMNS * sizeof *values32);
    assert_true(offsets && columns && values && values32);
    int32_t nnz = offsets[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            if (next_random(&random_state) % EVERY) continue;
            uint64_t bits = next_random(&random_state);
            uint32_t bits32 = (uint32_t)next_random(&random_state);
            memcpy(&values[nnz], &bits, sizeof bits);
            memcpy(&values32[nnz], &bits32, sizeof bits32);
            if (isnan(values[nnz])) values[nnz] = INFINITY;
            if (isnan(values32[nnz])) values32[nnz] = -INFINITY;
            columns[nnz++] = j;
        }
        offsets[i + 1] = nnz;
    }
    spry_arrays a = csr_arrays(ROWS, COLUMNS, offsets, columns,
                               type == SPRY_F64   ? (void *)values
                               : type == SPRY_F32 ? (void *)values32
                                                  : NULL,
                               type);
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(context, &a);
    free(offsets);
    free(columns);
    free(values);
    free(values32);
    return A;
}

static void test_round_trip(void **state)
{
    static const char *const names[] = {"round.mtx", "round.mtx.gz"};
    for (int type = SPRY_F32; type <= SPRY_PATTERN; type++)
        for (int gz = 0; gz < 2; gz++) {
            char *first = NULL;
            size_t first_bytes = 0;
            for (int threads = 1; threads <= 5; threads += 2) {
                spry_context *context = context_of(threads);
                random_state = 7;
                spry_matrix *A = random_matrix(context, (spry_type)type);
                spry_read_options options = SPRY_INIT(spry_read_options);
                options.value_type = (spry_type)type;
                const char *path = temporary_path(names[gz]);
                write_to(A, path, NULL);
                spry_matrix *B = read_matrix(context, path, &options);
                assert_same_matrix(A, B);
                size_t bytes;
                char *text = content_of(path, &bytes);
                if (!first) {
                    first = text;
                    first_bytes = bytes;
                } else { /* equal files for all thread counts */
                    assert_int_equal(first_bytes, bytes);
                    assert_memory_equal(first, text, bytes);
                    free(text);
                }
                spry_matrix_destroy(A);
                spry_matrix_destroy(B);
                assert_int_equal(0, context_bytes(context));
                spry_context_destroy(context);
            }
            free(first);
        }
}

/* ---- targets ----------------------------------------------------------------------------------- */

static void test_failures(void **state)
{
    spry_context *context = context_of(3);
    spry_matrix *A = random_matrix(context, SPRY_F64);
    spry_error err = {0};
    char message[700];
    int before = count_files();
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(SPRY_FILE_ERROR, spry_matrix_write(A, "/dev/full", NULL, &err));
        assert_string_equal("/dev/full: cannot be written: No space left on device", err.message);
    }
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(A, "", NULL, &err));
    assert_string_equal("path", err.argument);
    assert_string_equal("write: path is empty, expected a file's name", err.message);
    const char *path = temporary_path("no_such_folder/x.mtx");
    assert_int_equal(SPRY_FILE_ERROR, spry_matrix_write(A, path, NULL, &err));
    snprintf(message, sizeof message, "%s: cannot be created: No such file or directory", path);
    assert_string_equal(message, err.message);
    assert_int_equal(SPRY_FILE_ERROR, spry_matrix_write(A, temporary_folder(), NULL, &err));
    snprintf(message, sizeof message, "%s: is a directory, expected a file to write", temporary_folder());
    assert_string_equal(message, err.message);

    /* The disk becomes full during writing. The old file must remain, and the temporary file must be removed. */
    path = temporary_file("kept.mtx", "old", 3);
    struct rlimit old, small = {.rlim_cur = 100000};
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &old));
    small.rlim_max = old.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
    spry_status status = spry_matrix_write(A, path, NULL, &err);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &old));
    assert_int_equal(SPRY_FILE_ERROR, status);
    snprintf(message, sizeof message, "%s: cannot be written: File too large", path);
    assert_string_equal(message, err.message);
    char *kept = content_of(path, NULL);
    assert_string_equal("old", kept);
    free(kept);
    assert_int_equal(before + 1, count_files());
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Asserts that writing keeps symbolic links and file modes, and writes directly to devices and FIFOs. */
static void test_targets(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = read_text(context, HEAD "pattern general\n1 1 1\n1 1\n", NULL);
    static const char expected[] = HEAD "pattern general\n1 1 1\n1 1\n";
    const char *target = temporary_file("target.mtx", "old", 3), *link = temporary_path("link.mtx");
    assert_int_equal(0, chmod(target, 0640));
    assert_int_equal(0, symlink(target, link));
    write_to(A, link, NULL);
    struct stat facts;
    assert_int_equal(0, lstat(link, &facts));
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(0, stat(target, &facts));
    assert_int_equal(0640, facts.st_mode & 0777);
    assert_int_equal(sizeof expected - 1, facts.st_size);

    write_to(A, "/dev/null", NULL);
    assert_int_equal(0, stat("/dev/null", &facts));
    assert_true(S_ISCHR(facts.st_mode));

    const char *fifo = temporary_path("pipe.mtx");
    assert_int_equal(0, mkfifo(fifo, 0600));
    int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    write_to(A, fifo, NULL);
    char got[200] = "";
    assert_int_equal(sizeof expected - 1, read(reader, got, sizeof got - 1));
    assert_string_equal(expected, got);
    close(reader);
    assert_int_equal(0, lstat(fifo, &facts));
    assert_true(S_ISFIFO(facts.st_mode));

    int saved = dup(STDOUT_FILENO), out = open(temporary_path("stdout.txt"), O_RDWR | O_CREAT, 0600);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    spry_status status = spry_matrix_write(A, "-", NULL, NULL);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_int_equal(SPRY_OK, status);
    memset(got, 0, sizeof got);
    assert_int_equal(sizeof expected - 1, pread(out, got, sizeof got - 1, 0));
    assert_string_equal(expected, got);
    close(out);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),       cmocka_unit_test(test_csv),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_options),    cmocka_unit_test(test_layouts),  cmocka_unit_test(test_unsound_matrix),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_failures), cmocka_unit_test(test_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
