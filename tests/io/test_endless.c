/*
 * Asserts that endless wrong input is refused at the first fault with little memory, and that valid input of any length
 * is read. The tests limit the memory of contexts. An alarm kills a test that waits too long.
 */
#include "files.h"
#include "spry/io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COORDINATE "%%MatrixMarket matrix coordinate real general\n"
#define WANTED "expected a banner such as '%%MatrixMarket matrix coordinate real general', found "
#define ZEROS "'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00...'"

enum { SECONDS = 120, CHUNK = 1 << 20, LITTLE = 24 << 20 };

/* ---- writers ------------------------------------------------------------------------------------- */

typedef struct input {
    const void *head;
    size_t head_bytes;
    const void *chunk; /* repeated without end; NULL: the input ends after the head */
    size_t chunk_bytes;
    int waits; /* the input remains open after the head, without further bytes */
} input;

static int send_all(int fd, const char *data, size_t left)
{
    while (left > 0) {
        ssize_t sent = write(fd, data, left);
        if (sent <= 0) return 0;
        data += sent;
        left -= (size_t)sent;
    }
    return 1;
}

/* Starts a process that writes the input. The process ends when no reader remains. */
static pid_t start_writer(const input *in, int fd, const char *fifo)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    alarm(SECONDS);
    if (fifo) fd = open(fifo, O_WRONLY);
    int going = fd >= 0 && send_all(fd, in->head, in->head_bytes);
    while (going && in->chunk) going = send_all(fd, in->chunk, in->chunk_bytes);
    while (going && in->waits) pause();
    _exit(0);
}

static void stop_writer(pid_t child)
{
    (void)kill(child, SIGTERM);
    assert_int_equal(child, waitpid(child, NULL, 0));
}

/* Reads through standard input or a FIFO. */
static spry_status read_input(spry_context *context, spry_matrix **A, const input *in, int by_fifo, spry_error *err)
{
    int ends[2], saved = dup(STDIN_FILENO);
    const char *fifo = by_fifo ? temporary_path("fifo") : NULL;
    pid_t child;
    alarm(SECONDS);
    if (by_fifo) {
        assert_int_equal(0, mkfifo(fifo, 0600));
        child = start_writer(in, -1, fifo);
    } else {
        assert_int_equal(0, pipe(ends));
        child = start_writer(in, ends[1], NULL);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
    }
    spry_status status = spry_matrix_read(context, A, fifo ? fifo : "/dev/stdin", NULL, err);
    dup2(saved, STDIN_FILENO);
    close(saved);
    stop_writer(child);
    if (fifo) assert_int_equal(0, unlink(fifo));
    alarm(0);
    return status;
}

static void expect_refused_by(int ways, const input *in, int64_t most_bytes, spry_status expected, const char *message)
{
    for (int by_fifo = 0; by_fifo < ways; by_fifo++) {
        test_memory h = {.limit = most_bytes};
        spry_context *context = counted_context(&h, 2);
        spry_matrix *A = NULL;
        spry_error err = {0};
        spry_status status = read_input(context, &A, in, by_fifo, &err);
        if (status != expected) fail_msg("status %d, expected %d: %s", status, expected, err.message);
        if (!strstr(err.message, message)) fail_msg("\"%s\", expected \"%s\"", err.message, message);
        if (!by_fifo) assert_true(strncmp(err.message, "/dev/stdin:", 11) == 0);
        assert_null(A);
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
    }
}

static void expect_refused(const input *in, int64_t most_bytes, spry_status expected, const char *message)
{
    expect_refused_by(2, in, most_bytes, expected, message);
}

/* Returns a chunk that consists of complete copies of `text`. The caller frees the chunk. */
static char *repeated(const char *text, size_t length, size_t *bytes)
{
    char *chunk = malloc(CHUNK);
    assert_non_null(chunk);
    *bytes = 0;
    for (; *bytes + length <= CHUNK; *bytes += length) memcpy(chunk + *bytes, text, length);
    return chunk;
}

/* ---- endless ------------------------------------------------------------------------------------- */

typedef struct endless {
    const char *head, *chunk;
    size_t chunk_bytes;
    spry_status status;
    const char *message;
} endless;

#define TEXT(text) text, sizeof(text) - 1

static const endless cases[] = {
    {"", TEXT("\0"), SPRY_BAD_FILE, "/dev/stdin:1: " WANTED ZEROS},
    {"", TEXT("y\n"), SPRY_BAD_FILE, "/dev/stdin:1: " WANTED "'y'"},
    {"", TEXT("\n"), SPRY_BAD_FILE, "/dev/stdin:1: " WANTED "the end of the line"},
    {"", TEXT("%"), SPRY_BAD_FILE, WANTED "'%%%%"},
    {COORDINATE, TEXT("% comment\n"), SPRY_BAD_FILE,
     "comments and blank lines take more than 64 MB, the limit in a pipe"},
    {COORDINATE, TEXT("\n"), SPRY_BAD_FILE, "comments and blank lines take more than 64 MB, the limit in a pipe"},
    {COORDINATE "%", TEXT("comment "), SPRY_BAD_FILE, "long lines take more than 64 MB, the limit in a pipe"},
    {COORDINATE, TEXT("1"), SPRY_BAD_FILE, ":2: the line has more than 65536 characters, the format allows 1024"},
    {COORDINATE, TEXT(" "), SPRY_BAD_FILE, ":2: the line has more than 65536 characters, the format allows 1024"},
    {COORDINATE "2 2 1\n", TEXT("1 1 1\n"), SPRY_BAD_FILE,
     ":4: expected the end of the file after 1 entries, found '1'"},
    {COORDINATE "2 2 1\n1 1 1\n", TEXT("% comment\n"), SPRY_BAD_FILE, "comments and blank lines take more than 64 MB"},
    {COORDINATE "2 2 1\n1 1 1", TEXT(" "), SPRY_BAD_FILE, ":3: the line has more than 65536 characters"},
    {COORDINATE "9 9 9\n1 1 1\n%", TEXT("%"), SPRY_BAD_FILE, "long lines take more than 64 MB, the limit in a pipe"},
    {"\x89SPY\r\n\x1a\n", TEXT("\0"), SPRY_BAD_FILE, "head is damaged"},
    {"\x89", TEXT("\0"), SPRY_BAD_FILE, "is not a Spry container"},
};

static void test_endless(void **state)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *message = cases[c].message;
        if (strncmp(message, "/dev/stdin", 10) == 0) message += 10; /* or the FIFO's name */
        input in = {.head = cases[c].head, .head_bytes = strlen(cases[c].head)};
        in.chunk = repeated(cases[c].chunk, cases[c].chunk_bytes, &in.chunk_bytes);
        expect_refused_by(c < 4 || cases[c].head[0] == '\x89' ? 2 : 1, &in, LITTLE, cases[c].status, message);
        free((void *)(uintptr_t)in.chunk);
    }
}

/* Compressed endless input: one gzip member per chunk. */
static void test_endless_gzip(void **state)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *message = cases[c].message;
        if (cases[c].head[0] == '\x89' || (SAMPLED && c % 2)) continue;
        if (strncmp(message, "/dev/stdin", 10) == 0) message += 10;
        size_t bytes, head_bytes, chunk_bytes;
        char *chunk = repeated(cases[c].chunk, cases[c].chunk_bytes, &bytes);
        unsigned char *head = gzip_of(cases[c].head, strlen(cases[c].head), &head_bytes);
        unsigned char *packed = gzip_of(chunk, bytes, &chunk_bytes);
        input in = {.head = head, .head_bytes = head_bytes, .chunk = packed, .chunk_bytes = chunk_bytes};
        expect_refused_by(1, &in, LITTLE, cases[c].status, message);
        free(packed);
        free(head);
        free(chunk);
    }
    /* Empty members, and zeros after the last member. */
    size_t head_bytes, empty_bytes, bytes;
    unsigned char *head = gzip_of(TEXT(COORDINATE "2 2 1\n1 1 1\n"), &head_bytes);
    unsigned char *empty = gzip_of("", 0, &empty_bytes);
    for (int zeros = 0; zeros < 2; zeros++) {
        char *chunk = repeated(zeros ? "" : (const char *)empty, zeros ? 1 : empty_bytes, &bytes);
        input in = {.head = head, .head_bytes = head_bytes, .chunk = chunk, .chunk_bytes = bytes};
        expect_refused_by(1, &in, LITTLE, SPRY_BAD_FILE, "gzip data of more than 64 MB bring no text");
        free(chunk);
    }
    free(empty);
    free(head);
}

/* A matrix larger than the memory is refused before its data are read completely. */
static void test_great_claim(void **state)
{
    static const char head[] = COORDINATE "9 9 1000000000000\n";
    input in = {.head = head, .head_bytes = sizeof head - 1};
    in.chunk = repeated(TEXT("1 1 1\n"), &in.chunk_bytes);
    expect_refused(&in, 128 << 20, SPRY_OUT_OF_MEMORY, "out of memory");
    free((void *)(uintptr_t)in.chunk);
    in.chunk = NULL; /* if the input ends, the announced number of entries is a fault of the file */
    expect_refused(&in, LITTLE, SPRY_BAD_FILE,
                   "announces 1000000000000 entries, but the rest of the file has room for 0");
}

/* Asserts that input with a wrong beginning is refused while the writer still keeps the input open. */
static void test_nothing_is_waited_for(void **state)
{
    static const char *const heads[] = {"y\n", COORDINATE "1 1 one\n", "\x1f\x8b\x07\x00\x00\x00\x00\x00\x00\x00\x00"};
    static const char *const messages[] = {WANTED "'y'", "expected the number of entries in the size line, found 'one'",
                                           "the gzip data are damaged: unknown compression method"};
    for (int h = 0; h < 3; h++) {
        input in = {.head = heads[h], .head_bytes = h == 2 ? 11 : strlen(heads[h]), .waits = 1};
        expect_refused(&in, LITTLE, SPRY_BAD_FILE, messages[h]);
    }
}

static void test_devices(void **state)
{
    test_memory h = {.limit = LITTLE};
    spry_context *context = counted_context(&h, 2);
    spry_matrix *A = NULL;
    spry_vector v = {0};
    spry_error err = {0};
    alarm(SECONDS);
    assert_int_equal(SPRY_BAD_FILE, spry_matrix_read(context, &A, "/dev/zero", NULL, &err));
    assert_string_equal("/dev/zero:1: " WANTED ZEROS, err.message);
    assert_int_equal(SPRY_BAD_FILE, spry_vector_read(context, &v, "/dev/zero", SPRY_F64, &err));
    assert_string_equal("/dev/zero:1: " WANTED ZEROS, err.message);
    assert_int_equal(SPRY_BAD_FILE, spry_matrix_read(context, &A, "/dev/null", NULL, &err));
    assert_non_null(strstr(err.message, "/dev/null: the file is empty"));
    alarm(0);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* ---- containers ---------------------------------------------------------------------------------- */

/* Asserts that the reader requests the number of bytes that the container's head states, and one more byte. */
static void test_containers(void **state)
{
    test_memory h = {.limit = LITTLE};
    spry_context *context = counted_context(&h, 2);
    spry_matrix *B = NULL;
    size_t bytes, zeros_bytes;
    spry_matrix *A = generate_matrix(context, "grid5,x=50,y=40");
    assert_int_equal(SPRY_OK, spry_matrix_write(A, temporary_path("sent.spry"), NULL, NULL));
    char *file = content_of(temporary_path("sent.spry"), &bytes), *zeros = repeated("", 1, &zeros_bytes);
    for (int by_fifo = 0; by_fifo < 2; by_fifo++) {
        input in = {.head = file, .head_bytes = bytes};
        assert_int_equal(SPRY_OK, read_input(context, &B, &in, by_fifo, NULL));
        assert_same_matrix(A, B);
        spry_matrix_destroy(B);
    }
    expect_refused(&(input){file, bytes, zeros, zeros_bytes, 0}, LITTLE, SPRY_BAD_FILE, "has bytes behind its end");
    expect_refused(&(input){file, bytes - 1, NULL, 0, 0}, LITTLE, SPRY_BAD_FILE, "is cut short");
    expect_refused(&(input){file, 100, NULL, 0, 0}, LITTLE, SPRY_BAD_FILE, "is cut short: 100 bytes, expected a head");
    free(zeros);
    free(file);
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* ---- long valid input ---------------------------------------------------------------------------- */

enum { ROWS = 60000 };

/*
 * Writes comments of `length` characters before the size line, between and after the entries. The caller frees the
 * text.
 */
static char *commented(size_t length, size_t *bytes)
{
    char *text = malloc(4 * (length + 2) + 24 * ROWS + 200), *to = text;
    assert_non_null(text);
    to += sprintf(to, "%s", COORDINATE);
    for (int i = -1; i <= ROWS; i++) {
        int here = i == -1 || i == 1000 || i == 1001 || i == ROWS;
        if (here) {
            *to++ = '%';
            memset(to, '1', length);
            for (size_t c = 7; c < length; c += 13) to[c] = ' ';
            to += length;
            *to++ = '\n';
        }
        to += i == -1 ? sprintf(to, "%d %d %d\n", ROWS, ROWS, ROWS) : i < ROWS ? sprintf(to, "%d 1 %d\n", i + 1, i) : 0;
    }
    *bytes = (size_t)(to - text);
    return text;
}

static void check_rows(spry_matrix *A)
{
    spry_arrays a = arrays_of(A);
    assert_int_equal(ROWS, a.nnz);
    for (int i = 0; i < ROWS; i++) assert_true(((const double *)a.values)[i] == i);
    spry_matrix_destroy(A);
}

/*
 * Asserts that comments of any length are valid at any position, also if they are longer than the reader's blocks. The
 * text comes from a file, memory, gzip and pipes.
 */
static void test_long_comments(void **state)
{
    static const size_t lengths[] = {1022, 65536, 65537, 327680, 327681, 700001, 3000000};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        spry_context *context = context_of(3);
        spry_matrix *A = NULL;
        spry_error err = {0};
        size_t bytes, packed_bytes;
        char *text = commented(lengths[l], &bytes);
        unsigned char *packed = gzip_of(text, bytes, &packed_bytes);
        for (int way = SAMPLED ? (int)l % 3 : 0; way < 6; way += SAMPLED ? 3 : 1) { /* the ways rotate */
            const void *data = way % 2 ? (const void *)packed : text;
            size_t length = way % 2 ? packed_bytes : bytes;
            spry_status status = SPRY_OK;
            if (way < 2) status = spry_matrix_read_memory(context, &A, data, length, "x", NULL, &err);
            if (way / 2 == 1)
                status = spry_matrix_read(context, &A, temporary_file("comments", data, length), NULL, &err);
            if (way / 2 == 2)
                status = read_input(context, &A, &(input){.head = data, .head_bytes = length}, way == 5, &err);
            if (status != SPRY_OK) fail_msg("length %zu, way %d: %s", lengths[l], way, err.message);
            check_rows(A);
        }
        free(packed);
        free(text);
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
    }
}

/* The line number of a fault after long comments is correct. */
static void test_lines_behind_comments(void **state)
{
    size_t bytes;
    char *text = commented(700001, &bytes);
    memcpy(strstr(text, "\n50000 1 ") + 1, "x", 1);
    spry_context *context = context_of(3);
    for (int way = 0; way < 3; way++) {
        spry_matrix *A = NULL;
        spry_error err = {0};
        spry_status status = way == 2 ? spry_matrix_read_memory(context, &A, text, bytes, "x", NULL, &err)
                                      : read_input(context, &A, &(input){.head = text, .head_bytes = bytes}, way, &err);
        assert_int_equal(SPRY_BAD_FILE, status);
        assert_int_equal(50000 + 5, err.line); /* preceded by a banner, a size line and three comments */
    }
    free(text);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endless),       cmocka_unit_test(test_endless_gzip),
        cmocka_unit_test(test_great_claim),   cmocka_unit_test(test_nothing_is_waited_for),
        cmocka_unit_test(test_devices),       cmocka_unit_test(test_containers),
        cmocka_unit_test(test_long_comments), cmocka_unit_test(test_lines_behind_comments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
