/* What a terminal sees: progress once a command has taken a second, and no trace of it in anything else. */
#include "spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_TEXT = 65536 };
#define CLEAR "\r\033[K"

typedef struct terminal {
    int master;
    pid_t child;
    char text[MOST_TEXT];
    size_t used;
} terminal;

/* `spry info FILE` on a pseudo-terminal; with standard error on it, or in a file of folder(). */
static void start(terminal *t, const char *file, int with_err)
{
    char path[256], err[256];
    t->used = 0;
    t->text[0] = '\0';
    t->master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(t->master >= 0 && grantpt(t->master) == 0 && unlockpt(t->master) == 0);
    const char *name = ptsname(t->master);
    assert_non_null(name);
    snprintf(path, sizeof path, "%s/%s", folder(), file);
    snprintf(err, sizeof err, "%s/err", folder());
    t->child = fork();
    if (t->child == 0) {
        const int out = open(name, O_RDWR | O_NOCTTY);
        dup2(out, STDOUT_FILENO);
        dup2(with_err ? out : open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        setenv("LC_ALL", "C.UTF-8", 1);
        execl(SPRY_CLI, "spry", "info", path, (char *)NULL);
        _exit(127);
    }
    assert_true(t->child > 0);
}

/* Takes what is written in so many milliseconds, or until the program has ended. 0: it has. */
static int listen_for(terminal *t, int milliseconds)
{
    struct pollfd ready = {.fd = t->master, .events = POLLIN};
    while (t->used < MOST_TEXT - 1 && poll(&ready, 1, milliseconds) > 0) {
        const ssize_t got = read(t->master, t->text + t->used, MOST_TEXT - 1 - t->used);
        if (got <= 0) return 0; /* EIO: nobody has the other end open any more */
        t->used += (size_t)got;
        t->text[t->used] = '\0';
    }
    return 1;
}

static int finish(terminal *t)
{
    int status = 0;
    if (listen_for(t, 60000)) kill(t->child, SIGKILL); /* it hangs */
    assert_int_equal(waitpid(t->child, &status, 0), t->child);
    close(t->master);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Reading, which is begun at once, lasts until the pipe has been written. */
static int open_pipe(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/pipe", folder());
    assert_int_equal(mkfifo(path, 0600), 0);
    return open(path, O_RDWR | O_CLOEXEC); /* which waits for nobody */
}

static void close_pipe(int pipe, const char *text)
{
    char path[256];
    assert_int_equal(write(pipe, text, strlen(text)), (ssize_t)strlen(text));
    close(pipe);
    snprintf(path, sizeof path, "%s/pipe", folder());
    unlink(path);
}

static void wait_for_progress(terminal *t)
{
    for (int wait = 0; wait < 200 && !strstr(t->text, "..."); wait++) assert_true(listen_for(t, 100));
    assert_string_equal(t->text, CLEAR "reading ...");
}

#define MATRIX "%%MatrixMarket matrix coordinate real general\n"

/* A step that is begun in the first second is shown when the second has passed, and gone before the report. */
static void long_step(void **state)
{
    (void)state;
    static terminal t;
    const int pipe = open_pipe();
    start(&t, "pipe", 1);
    wait_for_progress(&t);
    assert_true(listen_for(&t, 300)); /* shown once */
    assert_string_equal(t.text, CLEAR "reading ...");
    close_pipe(pipe, MATRIX "2 2 2\n1 1 1\n2 2 1\n");
    assert_int_equal(finish(&t), 0);
    static const char begin[] = CLEAR "reading ..." CLEAR;
    assert_memory_equal(t.text, begin, sizeof begin - 1);
    assert_null(strchr(t.text + sizeof begin - 1, '\033'));
    assert_null(strstr(t.text + sizeof begin - 1, "reading"));
    assert_non_null(strstr(t.text, "2 x 2, 2 entries"));
}

static void before_a_message(void **state)
{
    (void)state;
    static terminal t;
    const int pipe = open_pipe();
    start(&t, "pipe", 1);
    wait_for_progress(&t);
    close_pipe(pipe, MATRIX "2 2 2\n1 1 1\n3 1 1\n");
    assert_int_equal(finish(&t), 2);
    static const char begin[] = CLEAR "reading ..." CLEAR "spry info: ";
    assert_memory_equal(t.text, begin, sizeof begin - 1);
    assert_null(strchr(t.text + sizeof begin - 1, '\033'));
}

/* In less than a second nothing is shown. */
static void short_step(void **state)
{
    (void)state;
    static terminal t;
    start(&t, "small.mtx", 1);
    assert_int_equal(finish(&t), 0);
    assert_non_null(strstr(t.text, "4 x 5, 6 entries"));
    const char *escape = strchr(t.text, '\033'); /* a machine may be so busy that it takes a second */
    if (escape) assert_memory_equal(t.text, CLEAR "reading ..." CLEAR, strlen(CLEAR "reading ..." CLEAR));
}

/* Nor where standard error is no terminal. */
static void error_in_a_file(void **state)
{
    (void)state;
    static terminal t;
    const int pipe = open_pipe();
    start(&t, "pipe", 0);
    assert_true(listen_for(&t, 1500));
    close_pipe(pipe, MATRIX "2 2 2\n1 1 1\n2 2 1\n");
    assert_int_equal(finish(&t), 0);
    assert_null(strchr(t.text, '\033'));
    char *err = read_file("err");
    assert_string_equal(err, "");
    free(err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_step),
        cmocka_unit_test(before_a_message),
        cmocka_unit_test(short_step),
        cmocka_unit_test(error_in_a_file),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
