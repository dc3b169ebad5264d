/* Tests valid files of every kind, whose entries were determined by hand, and every source of text. */
#include "files.h"

#include "matrix/matrix.h"
#include "spry/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAL "%%MatrixMarket matrix coordinate real general\n"

typedef struct good_file {
    const char *text;
    int64_t rows, cols, nnz;
    spry_symmetry symmetry;
    spryi_field field;
    double dense[12];
} good_file;

static const good_file good_files[] = {
    {REAL "2 3 3\n1 1 1.5\n2 3 -2\n1 2 4e1\n", 2, 3, 3, SPRY_GENERAL, SPRYI_REAL, {1.5, 40, 0, 0, 0, -2}},
    {"%%matrixmarket MATRIX Coordinate DOUBLE General\n2 2 1\n2 1 7\n", 2, 2, 1, 0, SPRYI_REAL, {0, 0, 7, 0}},
    {"%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 -3\n1 2 +4\n2 2 007\n",
     2,
     2,
     3,
     0,
     SPRYI_INTEGER,
     {-3, 4, 0, 7}},
    {REAL "+2 +3 +2\n+1 +2 +5\n2 +3 6\n", 2, 3, 2, SPRY_GENERAL, SPRYI_REAL, {0, 5, 0, 0, 0, 6}},
    {"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n1 2\n",
     2,
     2,
     2,
     0,
     SPRYI_FIELD_PATTERN,
     {0, 1, 1, 0}},
    {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 2\n3 2 3\n",
     3,
     3,
     5,
     SPRY_SYMMETRIC,
     SPRYI_REAL,
     {1, 2, 0, 2, 0, 3, 0, 3, 0}},
    {"%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n1 1 1\n2 1 2\n",
     2,
     2,
     3,
     SPRY_SYMMETRIC,
     SPRYI_REAL,
     {1, 2, 2, 0}},
    /* in a symmetric file, an entry above the diagonal also stands for its mirror image */
    {"%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n1 3 5\n3 2 6\n",
     3,
     3,
     4,
     SPRY_SYMMETRIC,
     SPRYI_INTEGER,
     {0, 0, 5, 0, 0, 6, 5, 6, 0}},
    {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
     2,
     2,
     3,
     SPRY_SYMMETRIC,
     SPRYI_FIELD_PATTERN,
     {1, 1, 1, 0}},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 2.5\n3 1 -4\n",
     3,
     3,
     4,
     SPRY_SKEW_SYMMETRIC,
     SPRYI_REAL,
     {0, -2.5, 4, 2.5, 0, 0, -4, 0, 0}},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 1\n",
     2,
     2,
     3,
     SPRY_SKEW_SYMMETRIC,
     SPRYI_REAL,
     {0, -1, 1, 0}},
    /* dense files list all elements by columns; zeros are not stored */
    {"%%MatrixMarket matrix array real general\n2 3\n1\n2\n0\n4\n-0.0\n6\n",
     2,
     3,
     4,
     0,
     SPRYI_REAL,
     {1, 0, 0, 2, 4, 6}},
    {"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
     2,
     2,
     4,
     SPRY_SYMMETRIC,
     SPRYI_INTEGER,
     {1, 2, 2, 3}},
    {"%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
     3,
     3,
     6,
     SPRY_SKEW_SYMMETRIC,
     SPRYI_REAL,
     {0, -1, -2, 1, 0, -3, 2, 3, 0}},
    {"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 3\n1 1 18446744073709551615\n1 2 "
     "9007199254740993\n"
     "2 2 9223372036854776833\n",
     2,
     2,
     3,
     0,
     SPRYI_INTEGER,
     {18446744073709551616.0, 9007199254740992, 0, 9223372036854777856.0}},
    {"%%MatrixMarket matrix array unsigned-integer general\n2 1\n0\n7\n", 2, 1, 1, 0, SPRYI_INTEGER, {0, 7}},
    /* entries of a symmetric matrix in both triangles, each once */
    {"%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n2 1 1\n1 3 2\n3 2 3\n2 2 4\n",
     3,
     3,
     7,
     SPRY_SYMMETRIC,
     SPRYI_REAL,
     {0, 1, 2, 1, 4, 3, 2, 3, 0}},
    /* duplicates are summed, explicit zeros remain */
    {REAL "2 2 5\n2 2 1\n1 1 2\n2 2 4\n1 2 0\n2 2 8\n", 2, 2, 3, 0, SPRYI_REAL, {2, 0, 0, 13}},
    {"%%MatrixMarket matrix coordinate pattern general\n1 1 2\n1 1\n1 1\n", 1, 1, 1, 0, SPRYI_FIELD_PATTERN, {2}},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 1\n2 1 2\n1 1 5\n",
     2,
     2,
     3,
     SPRY_SYMMETRIC,
     SPRYI_REAL,
     {5, 3, 3, 0}},
    /* blanks, empty lines and line ends */
    {"\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\r\n% c\r\n\r\n2 2 2\r\n%\r\n1 1 1\r\n\r\n  \t2\t 2   "
     "2.5 \r\n",
     2,
     2,
     2,
     0,
     SPRYI_REAL,
     {1, 0, 0, 2.5}},
    {REAL "%no newline at the end\n \t 1   1\t1\n% between\n\n1 1 .5\n\n% behind", 1, 1, 1, 0, SPRYI_REAL, {0.5}},
    {REAL "1 2 2\n1 1 5.\n1 2 -.5e-1", 1, 2, 2, 0, SPRYI_REAL, {5, -0.05}},
    {REAL "1 4 4\n+1 1 1d2\n1 2 1D+2\n1 3 1E-2\n1 4 +1e02\n", 1, 4, 4, 0, SPRYI_REAL, {100, 100, 0.01, 100}},
    {REAL "1 3 3\n1 1 inf\n1 2 -Infinity\n1 3 INF\n", 1, 3, 3, 0, SPRYI_REAL, {INFINITY, -INFINITY, INFINITY}},
    {REAL "1 3 3\n1 1 1e999\n1 2 -1e-999\n1 3 1e-99999999999999999999\n", 1, 3, 3, 0, SPRYI_REAL, {INFINITY, -0.0, 0}},
    {REAL "2 2 3\n0000000000000000000001 1 1\n000000000001 00000000002 2\n2 2 0000000000000000000000000000003\n",
     2,
     2,
     3,
     0,
     SPRYI_REAL,
     {1, 2, 0, 3}},
    /* empty matrices */
    {REAL "0 0 0\n", 0, 0, 0, 0, SPRYI_REAL, {0}},
    {REAL "0 7 0", 0, 7, 0, 0, SPRYI_REAL, {0}},
    {REAL "3 0 0\n\n\n", 3, 0, 0, 0, SPRYI_REAL, {0}},
    {REAL "2 2 0\n% none\n", 2, 2, 0, 0, SPRYI_REAL, {0}},
    {"%%MatrixMarket matrix array real general\n0 3\n", 0, 3, 0, 0, SPRYI_REAL, {0}},
    {"%%MatrixMarket matrix array real skew-symmetric\n1 1\n", 1, 1, 0, SPRY_SKEW_SYMMETRIC, SPRYI_REAL, {0}},
};

static void check_matrix(const good_file *f, const spry_matrix *A)
{
    spry_arrays a = arrays_of(A);
    assert_int_equal(f->rows, a.rows);
    assert_int_equal(f->cols, a.columns);
    assert_int_equal(f->nnz, a.nnz);
    assert_int_equal(f->symmetry, a.symmetry);
    assert_int_equal(f->field, A->field);
    assert_int_equal(SPRY_KNOWN_YES, a.sorted);
    assert_int_equal(SPRY_KNOWN_YES, a.unique);
    assert_int_equal(SPRY_COPY, a.ownership);
    const int32_t *Ap = a.offsets, *Aj = a.indices;
    assert_int_equal(0, Ap[0]);
    assert_int_equal(a.nnz, Ap[a.rows]);
    for (int64_t i = 0; i < a.rows; i++)
        for (int32_t k = Ap[i] + 1; k < Ap[i + 1]; k++) assert_true(Aj[k - 1] < Aj[k]);
    double *dense = dense_of(A);
    for (int64_t k = 0; k < a.rows * a.columns; k++)
        if (!(dense[k] == f->dense[k]))
            fail_msg("entry %d is %g, expected %g: %s", (int)k, dense[k], f->dense[k], f->text);
    free(dense);
}

static void test_table(void **state)
{
    for (size_t g = 0; g < sizeof good_files / sizeof good_files[0]; g++) {
        const good_file *f = &good_files[g];
        size_t bytes = strlen(f->text), packed_bytes;
        unsigned char *packed = gzip_of(f->text, bytes, &packed_bytes);
        const char *path = temporary_file("good.mtx", f->text, bytes);
        const char *gz = temporary_file("good.mtx.gz", packed, packed_bytes);
        for (int threads = 1; threads <= 5; threads += 4) {
            spry_context *context = context_of(threads);
            spry_matrix *A[4] = {NULL};
            spry_error err = {0};
            char *exact = malloc(bytes);
            memcpy(exact, f->text, bytes);
            if (spry_matrix_read_memory(context, &A[0], exact, bytes, NULL, NULL, &err) != SPRY_OK)
                fail_msg("%s: %s", err.message, f->text);
            free(exact);
            assert_int_equal(SPRY_OK, spry_matrix_read(context, &A[1], path, NULL, &err));
            assert_int_equal(SPRY_OK, spry_matrix_read(context, &A[2], gz, NULL, &err));
            assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A[3], packed, packed_bytes, "x", NULL, &err));
            for (int s = 0; s < 4; s++) {
                check_matrix(f, A[s]);
                spry_matrix_destroy(A[s]);
            }
            assert_int_equal(0, context_bytes(context));
            spry_context_destroy(context);
        }
        free(packed);
    }
}

static void test_nan(void **state)
{
    static const char text[] = REAL "1 3 3\n1 1 nan\n1 2 -NaN\n1 3 1\n";
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, text, sizeof text - 1, "x", NULL, NULL));
    double *dense = dense_of(A);
    assert_true(isnan(dense[0]) && isnan(dense[1]) && dense[2] == 1);
    free(dense);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Reads one file with every value type and index pair. */
static void test_types(void **state)
{
    static const char text[] =
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n3 1 0.1\n1 1 16777217\n3 3 1e-50\n3 1 0.2\n";
    static const spry_index_type pairs[3][2] = {{SPRY_I32, SPRY_I32}, {SPRY_I64, SPRY_I32}, {SPRY_I64, SPRY_I64}};
    static const int32_t offsets[4] = {0, 2, 2, 4}, columns[4] = {0, 2, 0, 2};
    static const double values[4] = {16777217, 0.1 + 0.2, 0.1 + 0.2, 1e-50};
    for (int t = 0; t < 9; t++) {
        spry_context *context = context_of(2);
        spry_read_options options = SPRY_INIT(spry_read_options);
        options.offset_type = pairs[t % 3][0];
        options.index_type = pairs[t % 3][1];
        options.value_type = (spry_type)(t / 3 + 1);
        spry_matrix *A = NULL;
        assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, text, sizeof text - 1, "x", &options, NULL));
        spry_arrays a = arrays_of(A);
        assert_int_equal(options.offset_type, a.offset_type);
        assert_int_equal(options.index_type, a.index_type);
        assert_int_equal(options.value_type, a.value_type);
        assert_int_equal(4, a.nnz);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(offsets[k], spryi_index_at(a.offsets, a.offset_type, k));
            assert_int_equal(columns[k], spryi_index_at(a.indices, a.index_type, k));
            if (a.value_type == SPRY_F64) assert_true(((const double *)a.values)[k] == values[k]);
        }
        if (a.value_type == SPRY_F32) {
            const float *Ax = a.values;
            assert_true(Ax[0] == 16777216.0f && Ax[3] == 0);
            assert_true(Ax[1] == (float)((double)0.1f + (double)0.2f) && Ax[2] == Ax[1]);
        }
        if (a.value_type == SPRY_PATTERN) assert_null(a.values);
        spry_matrix_destroy(A);
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
    }
}

/* ---- large files: equal results for all thread counts and all orders of entries ------------------ */

typedef struct entry {
    int i, j;
    double x;
} entry;

enum { SIDE = 3000, ENTRIES = 120000 };

static unsigned long long random_state = 1;

static unsigned next_draw(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33);
}

static int by_row(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->i != y->i ? (x->i > y->i) - (x->i < y->i) : (x->j > y->j) - (x->j < y->j);
}

static int by_column(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->j != y->j ? (x->j > y->j) - (x->j < y->j) : (x->i > y->i) - (x->i < y->i);
}

/* Draws distinct positions, with some long and some empty rows. lower: only i >= j. */
static int make_entries(entry *e, int lower)
{
    int count = 0;
    for (int k = 0; k < ENTRIES; k++) {
        int i = next_draw() % 4 == 0 ? 17 : (int)(next_draw() % (SIDE - 40)), j = (int)(next_draw() % SIDE);
        e[count].i = lower && j > i ? j : i;
        e[count].j = lower && j > i ? i : j;
        e[count++].x = (double)(int)(next_draw() % 2000001 - 1000000) / 1024;
    }
    qsort(e, (size_t)count, sizeof *e, by_row);
    int unique = 0;
    for (int k = 0; k < count; k++)
        if (unique == 0 || by_row(&e[unique - 1], &e[k]) != 0) e[unique++] = e[k];
    return unique;
}

static char *print_entries(const entry *e, int count, const char *symmetry, int blank_lines, size_t *bytes)
{
    char *text = malloc((size_t)count * 48 + 200), *to = text;
    assert_non_null(text);
    to += sprintf(to, "%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n", symmetry, SIDE, SIDE, count);
    for (int k = 0; k < count; k++) {
        to += sprintf(to, k % 7 == 0 ? "  %d\t%d  %.17g\r\n" : "%d %d %.17g\n", e[k].i + 1, e[k].j + 1, e[k].x);
        if (blank_lines && k % 1000 == 0) to += sprintf(to, "%% entry %d\n\n", k);
    }
    *bytes = (size_t)(to - text);
    return text;
}

static spry_matrix *read_text(spry_context *context, const char *text, size_t bytes)
{
    spry_matrix *A = NULL;
    MUST(spry_matrix_read_memory(context, &A, text, bytes, "x", NULL, err));
    return A;
}

static void check_against_entries(const spry_matrix *A, const entry *e, int count)
{
    spry_arrays a = arrays_of(A);
    const int32_t *Ap = a.offsets, *Aj = a.indices;
    const double *Ax = a.values;
    assert_int_equal(count, a.nnz);
    for (int k = 0, i = 0; k < count; k++) {
        while (Ap[i + 1] <= k) i++;
        assert_int_equal(e[k].i, i);
        assert_int_equal(e[k].j, Aj[k]);
        assert_true(e[k].x == Ax[k]);
    }
}

static void shuffle(entry *e, int count)
{
    for (int k = count - 1; k > 0; k--) {
        int other = (int)(next_draw() % (unsigned)(k + 1));
        entry swap = e[k];
        e[k] = e[other];
        e[other] = swap;
    }
}

static void test_orders_and_threads(void **state)
{
    entry *e = malloc(2 * ENTRIES * sizeof *e), *full = malloc(2 * ENTRIES * sizeof *e);
    assert_true(e && full);
    for (int symmetric = 0; symmetric < 3; symmetric++) {
        int count = make_entries(e, symmetric), all = 0;
        static const char *const names[] = {"general", "symmetric", "skew-symmetric"};
        for (int k = 0; k < count; k++) {
            if (symmetric == 2 && e[k].i == e[k].j) e[k].x = 0;
            full[all++] = e[k];
            if (symmetric && e[k].i != e[k].j) full[all++] = (entry){e[k].j, e[k].i, symmetric == 2 ? -e[k].x : e[k].x};
        }
        qsort(full, (size_t)all, sizeof *full, by_row);
        for (int order = 0; order < 3; order++) {
            if (order == 1) qsort(e, (size_t)count, sizeof *e, by_column);
            if (order == 2) shuffle(e, count);
            size_t bytes;
            char *text = print_entries(e, count, names[symmetric], order != 1, &bytes);
            for (int threads = 1; threads <= 5; threads += 2) {
                spry_context *context = context_of(threads);
                spry_matrix *A = read_text(context, text, bytes);
                check_against_entries(A, full, all);
                const char *path = temporary_file("large.mtx", text, bytes);
                spry_matrix *B = read_matrix(context, path, NULL);
                assert_same_matrix(A, B);
                spry_matrix_destroy(A);
                spry_matrix_destroy(B);
                spry_context_destroy(context);
            }
            free(text);
        }
    }
    free(e);
    free(full);
}

/* Duplicates are summed in file order with any number of threads. */
static void test_duplicates_in_file_order(void **state)
{
    enum { COPIES = 40000 };
    entry *e = malloc(COPIES * sizeof *e);
    assert_non_null(e);
    double sums[3] = {0, 0, 0};
    for (int k = 0; k < COPIES; k++) {
        e[k] = (entry){(int)(next_draw() % 3), 5, ldexp((double)next_draw(), (int)(next_draw() % 60) - 30)};
        if (next_draw() % 2) e[k].x = -e[k].x;
        sums[e[k].i] += e[k].x;
    }
    size_t bytes;
    char *text = print_entries(e, COPIES, "general", 0, &bytes);
    for (int threads = 1; threads <= 5; threads++) {
        spry_context *context = context_of(threads);
        spry_matrix *A = read_text(context, text, bytes);
        spry_arrays a = arrays_of(A);
        assert_int_equal(3, a.nnz);
        assert_memory_equal(sums, a.values, sizeof sums);
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
    free(text);
    free(e);
}

/* ---- sources of text --------------------------------------------------------------------------- */

static void test_gzip_members(void **state)
{
    static const char *const parts[] = {REAL "2 2 ", "4\n1 1 1\n1 2", " 2\n", "2 1 3\n2 2 4\n"};
    unsigned char all[2000];
    size_t used = 0;
    for (int m = 0; m < 4; m++) {
        size_t bytes;
        unsigned char *packed = gzip_of(parts[m], strlen(parts[m]), &bytes);
        memcpy(all + used, packed, bytes);
        used += bytes;
        free(packed);
    }
    memset(all + used, 0, 100); /* padding, as on tapes */
    spry_context *context = context_of(2);
    for (size_t padding = 0; padding <= 100; padding += 50) {
        spry_matrix *A = NULL;
        assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, all, used + padding, "x", NULL, NULL));
        double *dense = dense_of(A);
        assert_true(dense[0] == 1 && dense[1] == 2 && dense[2] == 3 && dense[3] == 4);
        free(dense);
        spry_matrix_destroy(A);
    }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Reads from standard input: a pipe with text, a pipe with gzip data, and a file that was partly read before. */
static void test_standard_input(void **state)
{
    size_t bytes, packed_bytes;
    entry *e = malloc(ENTRIES * sizeof *e);
    int count = make_entries(e, 0);
    char *text = print_entries(e, count, "general", 1, &bytes);
    unsigned char *packed = gzip_of(text, bytes, &packed_bytes);
    spry_context *context = context_of(2);
    int saved = dup(STDIN_FILENO);
    for (int way = 0; way < 2; way++) {
        int ends[2];
        assert_int_equal(0, pipe(ends));
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const char *data = way ? (const char *)packed : text;
            size_t left = way ? packed_bytes : bytes;
            for (ssize_t sent; left > 0 && (sent = write(ends[1], data, left)) > 0; left -= (size_t)sent) data += sent;
            _exit(0);
        }
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        spry_matrix *A = NULL;
        assert_int_equal(SPRY_OK, spry_matrix_read(context, &A, "/dev/stdin", NULL, NULL));
        check_against_entries(A, e, count);
        spry_matrix_destroy(A);
        waitpid(child, NULL, 0);
    }
    static const char two_files[] = "skip me\n%%MatrixMarket matrix array real general\n1 1\n9\n";
    int fd = open(temporary_file("stdin.mtx", two_files, sizeof two_files - 1), O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
    assert_int_equal(8, lseek(STDIN_FILENO, 8, SEEK_SET));
    spry_vector v = {0};
    spry_error err = {0};
    assert_int_equal(SPRY_OK, spry_vector_read(context, &v, "-", SPRY_F64, &err));
    assert_true(v.length == 1 && ((const double *)v.data)[0] == 9);
    spry_vector_destroy(context, &v);
    assert_int_equal(SPRY_BAD_FILE, spry_vector_read(context, &v, "-", SPRY_F64, &err));
    assert_true(strncmp(err.message, "standard input: the file is empty", 33) == 0);
    dup2(saved, STDIN_FILENO);
    close(saved);
    spry_context_destroy(context);
    free(packed);
    free(text);
    free(e);
}

static void test_fifo(void **state)
{
    static const char text[] = REAL "1 1 1\n1 1 9\n";
    const char *path = temporary_path("fifo");
    assert_int_equal(0, mkfifo(path, 0600));
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY);
        _exit(write(fd, text, sizeof text - 1) != sizeof text - 1);
    }
    spry_context *context = context_of(1);
    spry_matrix *A = read_matrix(context, path, NULL);
    waitpid(child, NULL, 0);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_orders_and_threads),
        cmocka_unit_test(test_duplicates_in_file_order),
        cmocka_unit_test(test_gzip_members),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_fifo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
