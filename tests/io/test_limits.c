/*
 * Tests of the reader's memory_limit_bytes. The limit must hold for any sizes that the file states. Only reading the
 * head of a file, up to 1 MB, is exempt.
 */
#include "files.h"
#include "spry/io.h"

#include <unistd.h>

#define BANNER "%%MatrixMarket matrix "

enum { MB = 1 << 20, ENTRIES = 3000 };

static spry_read_options within(int64_t limit)
{
    spry_read_options o = SPRY_INIT(spry_read_options);
    o.memory_limit_bytes = limit;
    return o;
}

/* Reads the path in its own context. *peak is the most bytes that the context held. */
static spry_status read_within(const char *path, int64_t limit, int threads, spry_type type, int64_t *peak,
                               spry_error *err)
{
    spry_context *context = context_of(threads);
    spry_matrix *mark = (spry_matrix *)(uintptr_t)1, *A = mark;
    spry_read_options o = within(limit);
    o.value_type = type;
    spry_status status = strncmp(path, "gen:", 4) == 0 ? spry_matrix_generate(context, &A, path, &o, err)
                                                       : spry_matrix_read(context, &A, path, &o, err);
    *peak = context_peak_bytes(context);
    if (status == SPRY_OK)
        spry_matrix_destroy(A);
    else
        assert_ptr_equal(A, mark);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
    return status;
}

/* Returns the most bytes that a call may hold under the limit. Reading the head may need up to 1 MB. */
static int64_t held_at_most(int64_t limit)
{
    return limit > MB ? limit : MB;
}

/*
 * Checks that the smallest limit that succeeds equals the peak memory without a limit. Under a smaller limit, the error
 * must report a limit that suffices.
 */
static void is_kept(const char *path, spry_type type)
{
    spry_error err = SPRY_ERROR_INIT;
    int64_t most = 0, peak = 0;
    if (read_within(path, 0, 1, type, &most, &err) != SPRY_OK) fail_msg("%s", err.message);
    if (read_within(path, most, 1, type, &peak, &err) != SPRY_OK) fail_msg("%s", err.message);
    assert_int_equal(peak, most);
    for (int64_t limit = 1; limit < most; limit = limit < most / 2 ? 2 * limit : limit < most - 1 ? most - 1 : most) {
        const spry_status status = read_within(path, limit, 1, type, &peak, &err);
        spry_error again = SPRY_ERROR_INIT;
        int64_t enough = 0;
        if (status != SPRY_TOO_LARGE || strcmp(err.argument, "memory_limit_bytes") != 0 || err.limit != limit ||
            err.value < most || peak > held_at_most(limit) ||
            read_within(path, err.value, 1, type, &enough, &again) != SPRY_OK || enough > err.value)
            fail_msg("%s, %lld of %lld bytes: status %d, value %lld, limit %lld, %lld held: %s", path, (long long)limit,
                     (long long)most, (int)status, (long long)err.value, (long long)err.limit, (long long)peak,
                     err.message);
    }
    for (int64_t limit = most / 4; limit < 4 * most; limit += most / 4) {
        const spry_status status = read_within(path, limit, 2, type, &peak, &err);
        assert_true(status == SPRY_OK || status == SPRY_TOO_LARGE);
        assert_true(peak <= held_at_most(limit));
    }
}

/* Writes entries scattered over the lower triangle of 500 x 500, with repeated positions. */
static char *entries_of(const char *kind, int values)
{
    char *text = malloc(64 * ENTRIES + 200), *to = text;
    if (!text) abort();
    to += sprintf(to, "%s%s\n500 500 %d\n", BANNER, kind, ENTRIES);
    for (int k = 0; k < ENTRIES; k++) {
        const int i = k * 37 % 500, j = i > 0 ? k * 11 % i : 0;
        to += values ? sprintf(to, "%d %d %d.5\n", i + 1, j + 1, k % 9) : sprintf(to, "%d %d\n", i + 1, j + 1);
    }
    return text;
}

static char *array_of(void)
{
    char *text = malloc(4 * ENTRIES + 200), *to = text;
    if (!text) abort();
    to += sprintf(to, "%sarray real general\n%d 1\n", BANNER, ENTRIES);
    for (int k = 0; k < ENTRIES; k++) to += sprintf(to, "%d\n", k % 3);
    return text;
}

static void texts(void **state)
{
    char *const all[] = {entries_of("coordinate real general", 1), entries_of("coordinate real symmetric", 1),
                         entries_of("coordinate pattern general", 0), array_of()};
    for (int n = 0; n < 4; n++) {
        size_t bytes = 0;
        unsigned char *packed = gzip_of(all[n], strlen(all[n]), &bytes);
        is_kept(temporary_file("plain.mtx", all[n], strlen(all[n])), SPRY_F64);
        is_kept(temporary_file("plain.mtx", all[n], strlen(all[n])), SPRY_PATTERN);
        is_kept(temporary_file("packed.mtx.gz", packed, bytes), SPRY_F32);
        free(packed);
        free(all[n]);
    }
}

static void containers(void **state)
{
    static const char *const formats[] = {"csr", "coo", "sell", "packed"};
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "gen:grid5,x=60,y=60");
    for (int f = 0; f < 4; f++) {
        const char *path = temporary_path("matrix.spry");
        spry_write_options o = SPRY_INIT(spry_write_options);
        o.format = formats[f];
        assert_int_equal(spry_matrix_write(A, path, &o, NULL), SPRY_OK);
        is_kept(path, SPRY_TYPE_DEFAULT);
        is_kept(path, SPRY_F32);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void in_memory(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = SPRY_ERROR_INIT;
    char *text = entries_of("coordinate real general", 1);
    spry_read_options o = within(20000);
    assert_int_equal(spry_matrix_read_memory(context, &A, text, strlen(text), "text", &o, &err), SPRY_TOO_LARGE);
    assert_string_equal(err.argument, "memory_limit_bytes");
    assert_string_equal(err.file, "text");
    assert_true(err.value >= ENTRIES * 16 + 501 * 8 && context_peak_bytes(context) < MB);
    o.memory_limit_bytes = 4 * MB;
    assert_int_equal(spry_matrix_read_memory(context, &A, text, strlen(text), "text", &o, &err), SPRY_OK);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(text);
}

/* Asserts that a matrix is refused because of its size line, before arrays of the stated sizes are allocated. */
static void claims(void **state)
{
    static const char rows[] = BANNER "coordinate real general\n1000000000000 1 1\n1 1 1\n";
    spry_error err = SPRY_ERROR_INIT;
    int64_t peak = 0;
    assert_int_equal(read_within(temporary_file("rows.mtx", rows, sizeof rows - 1), 8 * MB, 1, SPRY_F64, &peak, &err),
                     SPRY_TOO_LARGE);
    assert_true(err.value > 8000000000000 && err.limit == 8 * MB && peak < MB);
}

/* Asserts that 64 MB of comments, or one line of 64 MB, are decompressed with little memory. */
static void bombs(void **state)
{
    enum { MOST = 4 * MB };
    const size_t length = (size_t)64 * MB;
    char *text = malloc(length + 200);
    spry_error err = SPRY_ERROR_INIT;
    if (!text) abort();
    for (int one_line = 0; one_line < 2; one_line++) {
        char *to = text + sprintf(text, "%scoordinate real general\n%%", BANNER);
        memset(to, 'x', length);
        for (size_t k = 0; !one_line && k < length - 1; k += 64) memcpy(to + k, "\n%", 2);
        const int end = sprintf(to + length, "\n2 2 1\n1 2 3\n");
        size_t bytes = 0;
        int64_t peak = 0;
        unsigned char *packed = gzip_of(text, (size_t)(to - text) + length + (size_t)end, &bytes);
        const char *path = temporary_file("bomb.mtx.gz", packed, bytes);
        if (read_within(path, MOST, 2, SPRY_F64, &peak, &err) != SPRY_OK) fail_msg("%s", err.message);
        assert_true(peak <= MOST);
        free(packed);
    }
    free(text);
}

static void pipes(void **state)
{
    static const char text[] = BANNER "coordinate real general\n3 3 2\n1 1 1\n3 2 4\n";
    for (int n = 0; n < 2; n++) {
        int ends[2];
        char path[64];
        spry_error err = SPRY_ERROR_INIT;
        int64_t peak = 0;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
        (void)close(ends[1]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        const int64_t limit = n == 0 ? 10000 : 8 * MB;
        assert_int_equal(read_within(path, limit, 1, SPRY_F64, &peak, &err), n == 0 ? SPRY_TOO_LARGE : SPRY_OK);
        assert_true(peak <= held_at_most(limit));
        (void)close(ends[0]);
    }
}

static void generated(void **state)
{
    spry_error err = SPRY_ERROR_INIT;
    int64_t peak = 0;
    assert_int_equal(read_within("gen:grid5,x=2000,y=2000", MB, 1, SPRY_F64, &peak, &err), SPRY_TOO_LARGE);
    assert_string_equal(err.argument, "memory_limit_bytes");
    assert_true(err.value > 200 * (int64_t)MB && err.limit == MB && peak < MB);
    is_kept("gen:grid5,x=50,y=50", SPRY_F64);
    is_kept("gen:rmat,scale=8", SPRY_F64);
}

static void refused_limits(void **state)
{
    static const char *const sources[] = {"/dev/null", "gen:grid5"};
    for (int n = 0; n < 2; n++) {
        spry_error err = SPRY_ERROR_INIT;
        int64_t peak = 0;
        assert_int_equal(read_within(sources[n], -1, 1, SPRY_F64, &peak, &err), SPRY_INVALID_ARGUMENT);
        assert_string_equal(err.argument, "memory_limit_bytes");
        assert_int_equal(err.value, -1);
        assert_int_equal(peak, 0);
    }
}

/*
 * Tests vectors, whose reader has no option for a memory limit. If the size line states too many rows, reading must
 * fail with little memory in use.
 */
static void vectors(void **state)
{
    static const char *const claims[] = {BANNER "coordinate real general\n1000000000000000 1 1\n1 1 1\n",
                                         BANNER "array real general\n1000000000000000 1\n1\n"};
    for (int n = 0; n < 2; n++) {
        spry_context *context = context_of(1);
        spry_vector v = {0};
        spry_error err = SPRY_ERROR_INIT;
        const char *path = temporary_file("vector.mtx", claims[n], strlen(claims[n]));
        assert_int_equal(spry_vector_read(context, &v, path, SPRY_F64, &err),
                         n == 0 ? SPRY_OUT_OF_MEMORY : SPRY_BAD_FILE);
        assert_null(v.data);
        assert_true(context_peak_bytes(context) < 8 * MB);
        assert_int_equal(context_bytes(context), 0);
        spry_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),     cmocka_unit_test(containers),     cmocka_unit_test(in_memory),
        cmocka_unit_test(claims),    cmocka_unit_test(bombs),          cmocka_unit_test(pipes),
        cmocka_unit_test(generated), cmocka_unit_test(refused_limits), cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
