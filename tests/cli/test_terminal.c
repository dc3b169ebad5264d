/* Tests of terminal output: progress is shown after a command has run for a second, and only on a terminal. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
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

/* Starts a shell command, "$SPRY ...", on a pseudo-terminal with `width` columns and TERM set to `kind`. */
static void start_on(terminal *t, const char *command, const char *kind, int width)
{
    const struct winsize size = {.ws_row = 40, .ws_col = (unsigned short)width};
    t->used = 0;
    t->text[0] = '\0';
    t->master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(t->master >= 0 && grantpt(t->master) == 0 && unlockpt(t->master) == 0);
    assert_int_equal(ioctl(t->master, TIOCSWINSZ, &size), 0);
    const char *name = ptsname(t->master);
    assert_non_null(name);
    t->child = fork();
    if (t->child == 0) {
        setsid();
        const int end = open(name, O_RDWR);
        for (int fd = 0; fd < 3; fd++) dup2(end, fd);
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("TERM", kind, 1);
        setenv("SPRY", SPRY_CLI, 1);
        setenv("D", folder(), 1);
        setenv("SPRY_BENCH_COPY_BYTES", "1048576", 1);
        unsetenv("COLUMNS");
        unsetenv("NO_COLOR");
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_true(t->child > 0);
}

/*
 * Starts `spry info FILE` on a pseudo-terminal. with_err: standard error is the terminal, otherwise a file of folder().
 */
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

/* Reads output until none comes for the given milliseconds (returns 1) or the program has ended (returns 0). */
static int listen_for(terminal *t, int milliseconds)
{
    struct pollfd ready = {.fd = t->master, .events = POLLIN};
    while (t->used < MOST_TEXT - 1 && poll(&ready, 1, milliseconds) > 0) {
        const ssize_t got = read(t->master, t->text + t->used, MOST_TEXT - 1 - t->used);
        if (got <= 0) return 0; /* EIO: the other end is closed */
        t->used += (size_t)got;
        t->text[t->used] = '\0';
    }
    return 1;
}

static int finish(terminal *t)
{
    int status = 0;
    if (listen_for(t, 60000)) kill(t->child, SIGKILL); /* the program hangs */
    assert_int_equal(waitpid(t->child, &status, 0), t->child);
    close(t->master);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Opens a pipe. A command that reads the pipe waits until close_pipe writes to it. */
static int open_pipe(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/pipe", folder());
    unlink(path); /* left over from a failed test */
    assert_int_equal(mkfifo(path, 0600), 0);
    return open(path, O_RDWR | O_CLOEXEC); /* O_RDWR does not wait for a writer */
}

static void close_pipe(int pipe, const char *text)
{
    char path[256];
    assert_int_equal(write(pipe, text, strlen(text)), (ssize_t)strlen(text));
    close(pipe);
    snprintf(path, sizeof path, "%s/pipe", folder());
    unlink(path);
}

#define READING CLEAR "reading ..."

/*
 * Returns the text after the progress lines at the beginning of text. At least one line is required. *seconds is set to
 * the seconds in the last line, or to 0. Lines show seconds from 2 on, in increasing order. A busy machine skips lines.
 */
static const char *after_progress(const char *text, int *seconds)
{
    assert_memory_equal(text, READING, strlen(READING));
    *seconds = 0;
    while (strncmp(text, READING, strlen(READING)) == 0) {
        int now = 0, length = 0;
        text += strlen(READING);
        if (sscanf(text, " %d s%n", &now, &length) == 1 && length > 0) assert_true(now >= 2);
        assert_true(now >= *seconds);
        *seconds = now;
        text += length;
    }
    return text;
}

static void wait_for_progress(terminal *t)
{
    int reported;
    for (int wait = 0; wait < 200 && !strstr(t->text, "..."); wait++) assert_true(listen_for(t, 100));
    assert_string_equal(after_progress(t->text, &reported), "");
}

/* Asserts that the progress is erased before `text`, and that no escape sequence follows the erasure. */
static void assert_gone_before(const char *all, const char *text)
{
    int reported;
    const char *rest = after_progress(all, &reported);
    assert_memory_equal(rest, CLEAR, strlen(CLEAR));
    assert_null(strchr(rest + strlen(CLEAR), '\033'));
    assert_non_null(strstr(rest, text));
}

#define MATRIX "%%MatrixMarket matrix coordinate real general\n"

/*
 * Asserts that a step that begins in the first second is shown when this second is over, and erased before the report.
 */
static void long_step(void **state)
{
    static terminal t;
    const int pipe = open_pipe();
    start(&t, "pipe", 1);
    wait_for_progress(&t);
    close_pipe(pipe, MATRIX "2 2 2\n1 1 1\n2 2 1\n");
    assert_int_equal(finish(&t), 0);
    assert_gone_before(t.text, "2 x 2, 2 entries");
}

static void before_a_message(void **state)
{
    static terminal t;
    const int pipe = open_pipe();
    start(&t, "pipe", 1);
    wait_for_progress(&t);
    close_pipe(pipe, MATRIX "2 2 2\n1 1 1\n3 1 1\n");
    assert_int_equal(finish(&t), 2);
    assert_gone_before(t.text, "spry info: ");
}

/* Asserts that no progress is shown in the first second. */
static void short_step(void **state)
{
    static terminal t;
    start(&t, "small.mtx", 1);
    assert_int_equal(finish(&t), 0);
    assert_non_null(strstr(t.text, "4 x 5, 6 entries"));
    /* on a busy machine, the step may take more than a second and show progress */
    if (strchr(t.text, '\033')) assert_gone_before(t.text, "4 x 5, 6 entries");
}

/* Asserts that no progress is shown if standard error is a file. */
static void error_in_a_file(void **state)
{
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

/* Asserts that the progress of a long step shows its seconds. */
static void seconds(void **state)
{
    static terminal t;
    const int pipe = open_pipe();
    start(&t, "pipe", 1);
    wait_for_progress(&t);
    int reported = 0;
    for (int wait = 0; wait < 200 && reported < 3; wait++) {
        assert_true(listen_for(&t, 100));
        after_progress(t.text, &reported);
    }
    assert_in_range(reported, 3, 20);
    close_pipe(pipe, MATRIX "2 2 2\n1 1 1\n2 2 1\n");
    assert_int_equal(finish(&t), 0);
    assert_gone_before(t.text, "2 x 2, 2 entries");
}

/* Returns the visible width of the longest line. Escape sequences and continuation bytes of UTF-8 do not count. */
static int longest_line(const char *text)
{
    int longest = 0, length = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '\033')
            c += strcspn(c, "mK"); /* to the end of the escape sequence */
        else if (*c == '\n' || *c == '\r')
            length = 0;
        else if (((unsigned char)*c & 0xc0) != 0x80)
            length++;
        if (length > longest) longest = length;
    }
    return longest;
}

/* Asserts that no line is wider than the terminal, and that a wide terminal shows more columns. */
static void widths(void **state)
{
    static terminal t;
    static const char *const commands[] = {
        "$SPRY kernels",
        "$SPRY kernels --long",
        "$SPRY devices",
        "$SPRY info gen:rmat16,scale=9",
        "$SPRY explain gen:grid5,x=50,y=50",
        "$SPRY spmv gen:grid5,x=50,y=50 --time",
        "$SPRY spgemm gen:grid5,x=20,y=20 --verify",
        "$SPRY pagerank gen:rmat16,scale=9",
        "$SPRY solve gen:laplace5,x=20,y=20 --time",
        "$SPRY bench gen:grid5,x=50,y=50 gen:rmat16,scale=9 --formats all --runs 2",
        "$SPRY bench gen:grid5,x=20,y=20 --op spgemm --runs 2",
        "$SPRY bench gen:laplace5,x=20,y=20 --op cg --runs 2",
    };
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
        for (int width = 80; width <= 200; width += 120) {
            if (INSTRUMENTED && (c + (size_t)width / 80) % 2) continue; /* with sanitizers, one width per command */
            char command[256];
            snprintf(command, sizeof command, "%s 2>/dev/null", commands[c]);
            start_on(&t, command, "xterm-256color", width);
            assert_int_equal(finish(&t), 0);
            if (longest_line(t.text) > width)
                fail_msg("%s at %d columns: a line of %d", commands[c], width, longest_line(t.text));
        }
    start_on(&t, "$SPRY kernels --format csr", "xterm", 80);
    assert_int_equal(finish(&t), 0);
    assert_non_null(strstr(t.text, "left out: types, indices"));
    start_on(&t, "$SPRY kernels --format csr", "xterm", 200);
    assert_int_equal(finish(&t), 0);
    assert_null(strstr(t.text, "left out"));
    assert_non_null(strstr(t.text, "bf16:f32"));
}

/*
 * Asserts that the fastest kernel is bold if the terminal supports bold, and always marked. Other outputs have no
 * escape sequences.
 */
static void bold(void **state)
{
    static terminal t;
    static const char bench[] = "$SPRY bench gen:grid5,x=50,y=50 --formats csr,coo --device cpu --runs 2 2>/dev/null";
    start_on(&t, bench, "xterm", 80);
    assert_int_equal(finish(&t), 0);
    assert_non_null(strstr(t.text, "\033[1m* "));
    start_on(&t, bench, "dumb", 80);
    assert_int_equal(finish(&t), 0);
    assert_null(strchr(t.text, '\033'));
    assert_non_null(strstr(t.text, "\n* "));
    outcome o = spry("bench gen:grid5,x=50,y=50 --formats csr,coo --device cpu --runs 2");
    assert_null(strchr(o.out, '\033'));
    assert_non_null(strstr(o.out, "\n* "));
    release(&o);
}

/* Asserts that a benchmark of one matrix shows the time left. */
static void time_left(void **state)
{
    static terminal t;
    start_on(&t, "exec $SPRY bench gen:grid5,x=100,y=100 --formats all", "dumb", 80);
    for (int wait = 0; wait < 600 && !strstr(t.text, "left"); wait++) listen_for(&t, 100);
    assert_non_null(strstr(t.text, " %, about "));
    assert_int_equal(kill(t.child, SIGINT), 0);
    int status = 0;
    assert_int_equal(waitpid(t.child, &status, 0), t.child);
    close(t.master);
}

/* Asserts that Ctrl-C ends a reading command by the signal, with a message. All commands read one pipe. */
static void interrupts(void **state)
{
    static const char *const commands[] = {
        "info $D/pipe",           "spmv $D/pipe -o $D/y.mtx",    "spgemm $D/pipe -o $D/c.mtx",  "pagerank $D/pipe",
        "solve $D/pipe",          "convert $D/pipe -o $D/c.mtx", "reorder $D/pipe -o $D/c.mtx", "explain $D/pipe",
        "bench $D/pipe --runs 2", "tune $D/pipe -o $D/t",
    };
    enum { COMMANDS = sizeof commands / sizeof *commands };
    static terminal terminals[COMMANDS];
    const int before = count_files(), pipe = open_pipe();
    for (int c = 0; c < COMMANDS; c++) {
        char command[256];
        snprintf(command, sizeof command, "exec $SPRY %s", commands[c]);
        start_on(&terminals[c], command, "dumb", 80);
    }
    for (int c = 0; c < COMMANDS; c++) {
        terminal *t = &terminals[c];
        int status = 0;
        for (int wait = 0; wait < 300 && !strstr(t->text, " ..."); wait++) listen_for(t, 100);
        if (!strstr(t->text, "reading")) fail_msg("%s shows no progress", commands[c]);
        assert_int_equal(kill(t->child, SIGINT), 0);
        listen_for(t, 60000);
        assert_int_equal(waitpid(t->child, &status, 0), t->child);
        close(t->master);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
        if (!strstr(t->text, ": interrupted: ")) fail_msg("%s: %s", commands[c], t->text);
        assert_int_equal(count_files(), before + 1); /* only the pipe */
    }
    close_pipe(pipe, "");
    assert_int_equal(count_files(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds),          cmocka_unit_test(widths),     cmocka_unit_test(bold),
        cmocka_unit_test(time_left),        cmocka_unit_test(interrupts), cmocka_unit_test(long_step),
        cmocka_unit_test(before_a_message), cmocka_unit_test(short_step), cmocka_unit_test(error_in_a_file),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
