/*
 * Lets each allocation of the reader and the writer fail in turn. The status must be SPRY_OUT_OF_MEMORY, and nothing
 * may leak.
 */
#include "catalogue/catalogue.h"
#include "files.h"
#include "io/container.h"
#include "spry/io.h"
#include "spry/tune.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const texts[] = {
    "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 3 3\n",
    "%%MatrixMarket matrix coordinate real general\n3 40 30\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n3 1\n1 1\n",
    "%%MatrixMarket matrix array real general\n2 2\n1\n0\n2\n3\n",
};

/* The second text has unsorted entries with duplicates. */
static char *text_of(int which)
{
    char *text = calloc(1, 4000), *to = text + strlen(texts[which]);
    if (!text) abort();
    memcpy(text, texts[which], strlen(texts[which]));
    if (which == 1)
        for (int k = 0; k < 30; k++) to += sprintf(to, "1 %d %d\n", 40 - k + k % 5, k);
    return text;
}

/* Converts the text's matrix to a container. The caller frees the result. */
static char *container_of(const char *text, const char *format, size_t *bytes)
{
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_write_options options = SPRY_INIT(spry_write_options);
    const char *path = temporary_path("source.spry");
    options.format = format;
    assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, text, strlen(text), "x", NULL, NULL));
    assert_int_equal(SPRY_OK, spry_matrix_write(A, path, &options, NULL));
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return content_of(path, bytes);
}

typedef struct setting {
    int text, file, gzip, threads, write; /* file: 0 memory, 1 a file, 2 a pipe */
    const char *format;                   /* format of the container that is read and written; NULL: Matrix Market */
    /* Set by fail_every_call. */
    const char *path, *out, *name; /* file that is read, file that is written, name of the first file in messages */
    const void *data;
    size_t bytes;
} setting;

static spry_status read_and_write(spry_context *context, const setting *s, spry_error *err)
{
    const char *path = s->path;
    spry_matrix *A = NULL;
    int saved = -1;
    pid_t child = -1;
    if (s->file == 2) {
        int ends[2];
        assert_int_equal(0, pipe(ends));
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(ends[0]);
            _exit(write(ends[1], s->data, s->bytes) != (ssize_t)s->bytes); /* SIGPIPE ends the child if reading fails */
        }
        close(ends[1]);
        saved = dup(STDIN_FILENO);
        assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
        close(ends[0]);
        path = "/dev/stdin";
    }
    spry_status status = s->file ? spry_matrix_read(context, &A, path, NULL, err)
                                 : spry_matrix_read_memory(context, &A, s->data, s->bytes, "x", NULL, err);
    spry_write_options options = SPRY_INIT(spry_write_options);
    options.format = s->format;
    if (saved >= 0) {
        assert_true(dup2(saved, STDIN_FILENO) >= 0);
        close(saved);
        waitpid(child, NULL, 0);
    }
    if (status == SPRY_OK && s->write) status = spry_matrix_write(A, s->out, &options, err);
    spry_matrix_destroy(A);
    return status;
}

/* Reads and writes. If reading or writing fails, the message must name the file, and no new file may remain. */
static spry_status attempt(spry_context *context, const void *input, spry_error *err)
{
    const setting *s = input;
    char read[600], written[600];
    (void)remove(s->out);
    const int files = count_files();
    const spry_status status = read_and_write(context, s, err);
    if (status == SPRY_OK) return status;
    snprintf(read, sizeof read, "%s: out of memory", s->name);
    snprintf(written, sizeof written, "%s: out of memory", s->out);
    assert_true(strncmp(err->message, read, strlen(read)) == 0 || strncmp(err->message, written, strlen(written)) == 0);
    assert_true(strcmp(err->file, s->name) == 0 || strcmp(err->file, s->out) == 0);
    assert_int_equal(files, count_files());
    return status;
}

static void fail_every_call(setting s)
{
    char *text = text_of(s.text);
    s.bytes = strlen(text);
    unsigned char *packed = gzip_of(text, s.bytes, &s.bytes);
    s.data = s.gzip ? (const void *)packed : (const void *)text;
    if (!s.gzip) s.bytes = strlen(text);
    char *container = s.format ? container_of(text, s.format, &s.bytes) : NULL;
    if (container) s.data = container;
    s.path = temporary_file("in", s.data, s.bytes);
    s.name = s.file == 2 ? "/dev/stdin" : s.file ? s.path : "x";
    s.out = temporary_path(s.format ? "out.spry" : s.gzip ? "out.mtx.gz" : "out.mtx");
    assert_true(fail_every_allocation(attempt, &s, s.threads) > 3);
    free(container);
    free(packed);
    free(text);
}

static void test_containers(void **state)
{
    for (int f = 0; f < format_count(); f++) {
        if (!spryi_container_stores(spryi_format_at(f))) continue;
        spry_format_info info = format_info(f);
        for (int way = 0; way < 6; way++)
            fail_every_call((setting){.file = way % 3, .threads = way >= 3 ? 3 : 1, .write = 1, .format = info.name});
    }
}

static void test_all(void **state)
{
    for (int text = 0; text < 4; text++)
        for (int way = 0; way < 12; way++)
            fail_every_call(
                (setting){.text = text, .file = way % 3, .gzip = way / 3 & 1, .threads = way >= 6 ? 3 : 1, .write = 1});
}

/* Uses a matrix that is large enough for multiple threads to parse and write. */
static void test_multiple_threads(void **state)
{
    enum { LINES = 60000 };
    char *text = malloc(LINES * 24 + 100), *to = text;
    assert_non_null(text);
    to += sprintf(to, "%%%%MatrixMarket matrix coordinate real general\n%d 50 %d\n", LINES, LINES);
    for (int k = 0; k < LINES; k++) to += sprintf(to, "%d %d 0.5\n", LINES - k, k % 50 + 1);
    const char *path = temporary_file("many", text, (size_t)(to - text)), *out = temporary_path("many.mtx.gz");
    const setting s = {.file = 1, .write = 1, .path = path, .name = path, .out = out};
    assert_true(fail_every_allocation(attempt, &s, 3) > 3);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_multiple_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
