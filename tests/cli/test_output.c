/* Tests of outputs: JSON lines, files that appear only when complete, devices and FIFOs, standard output. */
#include "cli/cli.h"
#include "spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    return path;
}

static void json_to_file(void **state)
{
    /* The table is on standard output, the records are in the file, and no other file remains. */
    int before = count_files();
    expect("bench $D/small.mtx --device cpu --json=$D/out.jsonl 2>/dev/null", 0, "GFLOP/s", NULL);
    assert_int_equal(count_files(), before + 1);
    char *text = read_file("out.jsonl");
    if (!text) fail();
    assert_int_equal(count_lines(text), 2);
    cJSON *line = json_line(text, 1);
    assert_string_equal(cJSON_GetObjectItem(line, "status")->valuestring, "ok");
    cJSON_Delete(line);
    free(text);
    unlink(in_folder("out.jsonl"));
}

static void json_to_stdout(void **state)
{
    static const char *const commands[] = {"bench $D/small.mtx --json 2>/dev/null",
                                           "bench $D/small.mtx --json=- 2>/dev/null",
                                           "spmv $D/small.mtx --json 2>/dev/null",
                                           "info $D/small.mtx --json",
                                           "devices --json",
                                           "kernels --json"};
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        outcome o = spry("%s", commands[c]);
        assert_int_equal(o.status, 0);
        assert_true(count_lines(o.out) > 0);
        for (int l = 0; l < count_lines(o.out); l++) {
            cJSON *line = json_line(o.out, l);
            assert_true(cJSON_IsObject(line));
            cJSON_Delete(line);
        }
        assert_string_equal(o.err, "");
        release(&o);
    }
}

static void targets_that_cannot_be_written(void **state)
{
    int before = count_files();
    expect("info $D/small.mtx --json=$D/none/out.jsonl", 2, NULL, "none/out.jsonl: cannot be written: No such file");
    expect("info $D/small.mtx --json=$D", 2, NULL, "cannot be written: Is a directory");
    expect("info $D/small.mtx --json=", 2, NULL, "--json is empty, expected FILE");
    expect("info $D/small.mtx --json --json", 2, NULL, "--json is given twice");
    static const char *const commands[] = {"info $D/small.mtx", "info $D/small.mtx --json",
                                           "gen --list --json", "kernels --json",
                                           "devices",           "bench $D/small.mtx --json",
                                           "bench $D/small.mtx"};
    /* each command reports the failure exactly once */
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        outcome o = spry("%s > /dev/full", commands[c]);
        assert_int_equal(o.status, 2);
        const char *reported = strstr(o.err, "standard output: cannot be written: No space left");
        assert_non_null(reported);
        assert_null(strstr(strchr(reported, '\n'), "cannot be written"));
        assert_null(strstr(o.err, "records"));
        release(&o);
    }
    expect("info $D/small.mtx --json=/dev/full >/dev/null", 2, NULL, "/dev/full: cannot be written: No space left");
    expect("spmv gen:grid5,x=200,y=200 -o /dev/full >/dev/null", 2, NULL,
           "/dev/full: cannot be written: No space left");
    assert_int_equal(count_files(), before);
}

/* Asserts that an output that is also an input, under any name, is refused before any data is lost. */
static void targets_that_are_read(void **state)
{
    write_file("in.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    assert_int_equal(symlink("in.mtx", in_folder("soft.mtx")), 0);
    static const char *const commands[] = {
        "info $D/in.mtx --json=$D/in.mtx",
        "info $D/in.mtx --json=$D/soft.mtx",
        "info $D/soft.mtx --json=$D/in.mtx",
        "info - --json=$D/in.mtx < $D/in.mtx",
        "spmv $D/in.mtx --json=$D/in.mtx",
        "spmv $D/in.mtx -o $D/../${D##*/}/in.mtx",
        "bench $D/small.mtx $D/in.mtx --json=$D/in.mtx",
        "convert $D/in.mtx -o $D/in.mtx",
    };
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        expect(commands[c], 2, NULL, "the input matrix: expected another file");
        char *text = read_file("in.mtx");
        assert_non_null(strstr(text, "MatrixMarket matrix coordinate"));
        free(text);
    }
    unlink(in_folder("soft.mtx"));
    unlink(in_folder("in.mtx"));
}

/*
 * Asserts that an existing target keeps its permissions, and that a symbolic link remains. `command` writes to
 * link.jsonl.
 */
static void expect_kept_rights(const char *command)
{
    struct stat st;
    write_file("old.jsonl", "old\n");
    assert_int_equal(chmod(in_folder("old.jsonl"), 0640), 0);
    assert_int_equal(symlink("old.jsonl", in_folder("link.jsonl")), 0);
    expect(command, 0, NULL, NULL);
    assert_int_equal(lstat(in_folder("link.jsonl"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(in_folder("old.jsonl"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    char *text = read_file("old.jsonl");
    if (!text) fail();
    assert_non_null(strstr(text, "\"matrix\":\"small\""));
    assert_null(strstr(text, "old\n"));
    free(text);
    unlink(in_folder("link.jsonl"));
    unlink(in_folder("old.jsonl"));
}

/* Asserts that a failed run leaves the old content. */
static void targets_that_exist(void **state)
{
    expect_kept_rights("info $D/small.mtx --json=$D/link.jsonl >/dev/null");
    write_file("old.jsonl", "old\n");
    expect("info $D/bad.mtx --json=$D/old.jsonl", 2, NULL, "bad.mtx:4");
    char *text = read_file("old.jsonl");
    assert_string_equal(text, "old\n");
    free(text);
    unlink(in_folder("old.jsonl"));
}

/* Writes to devices and FIFOs directly. Each must keep its type. */
static void devices_and_fifos(void **state)
{
    struct stat st;
    expect("info $D/small.mtx --json=/dev/null >/dev/null", 0, NULL, NULL);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    expect("info $D/small.mtx --json=$D/pipe >/dev/null & cat $D/pipe; wait", 0, "\"matrix\":\"small\"", NULL);
    expect("spmv $D/small.mtx -o $D/pipe >/dev/null 2>&1 & cat $D/pipe; wait", 0, "matrix array real general\n4 1\n",
           NULL);
    expect("convert $D/small.mtx -o $D/pipe & cat $D/pipe; wait", 0, "general\n4 5 6\n", NULL);
    assert_int_equal(stat(in_folder("pipe"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    /* A FIFO can also be read. */
    expect("info $D/pipe & cat $D/small.mtx > $D/pipe; wait", 0, "4 x 5, 6 entries", NULL);
    unlink(in_folder("pipe"));
}

static void vector_out(void **state)
{
    expect("spmv $D/small.mtx --x ones -o - 2>/dev/null", 0,
           "%%MatrixMarket matrix array real general\n4 1\n1.5\n3\n0\n104.125\n", NULL);
    expect("spmv $D/small.mtx --x ones --alpha 2 --beta -1 -o $D/y.mtx 2>/dev/null", 0, "y written to", NULL);
    char *text = read_file("y.mtx");
    assert_string_equal(text, "%%MatrixMarket matrix array real general\n4 1\n2\n5\n-1\n207.25\n");
    free(text);
    expect("spmv $D/small.mtx --x ones --type f32 --alpha 0.5 -o - 2>/dev/null", 0, "\n0.75\n1.5\n0\n52.0625\n", NULL);
    /* The random x is the same on every machine, with any number of threads. */
    outcome one = spry("spmv gen:grid5,x=40,y=40 --threads 1 -o - 2>/dev/null");
    outcome two = spry("spmv gen:grid5,x=40,y=40 --threads 2 -o - 2>/dev/null");
    assert_int_equal(one.status, 0);
    assert_int_equal(count_lines(one.out), 1602);
    assert_string_equal(one.out, two.out);
    release(&one);
    release(&two);
    expect("spmv $D/small.mtx -o $D/y.mtx.gz", 2, NULL, "expected a name that ends in .mtx or .csv");
    expect("spmv $D/small.mtx -o - --json", 2, NULL, "both write to standard output");
    unlink(in_folder("y.mtx"));
}

/*
 * Asserts that the result is written if the bandwidth cannot be measured. The arrays would need four times the memory
 * limit.
 */
static void no_memory_to_measure_with(void **state)
{
    static const char few[] = "small.mtx --threads 2 --x ones";
    const char *limited = "ulimit -v 1000000; SPRY_BENCH_COPY_BYTES=2000000000 exec \"$SPRY\"";
    char command[512];
    if (INSTRUMENTED) skip(); /* shadow memory reserves terabytes */
    snprintf(command, sizeof command, "%s spmv $D/%s --time -o $D/y.mtx", limited, few);
    outcome o = shell(command);
    if (o.status != 0) fail_msg("status %d\n%s\n%s", o.status, o.out, o.err);
    assert_non_null(strstr(o.out, "the copy bandwidth was not measured (no memory for two arrays of 1907 MiB)"));
    assert_non_null(strstr(o.out, "y written to"));
    release(&o);
    char *text = read_file("y.mtx");
    assert_string_equal(text, "%%MatrixMarket matrix array real general\n4 1\n1.5\n3\n0\n104.125\n");
    free(text);
    unlink(in_folder("y.mtx"));
    static const char *const uses[] = {"spmv --time", "bench"};
    for (int u = 0; u < 2; u++) {
        snprintf(command, sizeof command, "%s %s $D/small.mtx --threads 2 --json", limited, uses[u]);
        o = shell(command);
        assert_int_equal(o.status, 0);
        assert_non_null(strstr(o.err, "note: the copy bandwidth is not measured (no memory"));
        cJSON *line = json_line(o.out, 0);
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "copy_gbps")));
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "roof")));
        assert_true(cJSON_GetObjectItem(line, "time_us")->valuedouble > 0);
        cJSON_Delete(line);
        release(&o);
    }
    snprintf(command, sizeof command, "%s bench $D/small.mtx --threads 2", limited);
    o = shell(command);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "roof: none, because the copy bandwidth was not measured\n"));
    assert_null(strstr(o.out, "nan"));
    release(&o);
    /* If SPRY_BENCH_COPY_BYTES is not set, the arrays fit into the available address space. */
    snprintf(command, sizeof command, "ulimit -v 400000; unset SPRY_BENCH_COPY_BYTES; exec \"$SPRY\" spmv --time $D/%s",
             few);
    o = shell(command);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "% of the copy bandwidth"));
    release(&o);
}

static void remembered_bandwidth(void **state)
{
    char path[512];
    outcome o = shell("env -u SPRY_BENCH_COPY_BYTES XDG_CACHE_HOME=$D \"$SPRY\" devices --measure --threads 1");
    const int measured = o.status == 0;
    release(&o);
    if (!measured) skip(); /* not enough memory for the arrays */
    char *text = read_file("spry/bandwidth");
    assert_non_null(text);
    assert_non_null(strstr(text, ", 1 threads\t"));
    free(text);
    o = shell("env -u SPRY_BENCH_COPY_BYTES XDG_CACHE_HOME=$D \"$SPRY\" spmv gen:grid5,x=40,y=40 --time --threads 1");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, " GB/s, measured 20"));
    release(&o);
    /* Lines without a valid bandwidth are ignored, without an error. */
    snprintf(path, sizeof path, "%s/spry/bandwidth", folder());
    write_file("spry/bandwidth", "garbage\n\t\t\n");
    o = shell("env -u SPRY_BENCH_COPY_BYTES XDG_CACHE_HOME=$D \"$SPRY\" spmv gen:grid5,x=40,y=40 --time --threads 1");
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.out, "measured 20"));
    release(&o);
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void messages_do_not_mix(void **state)
{
    /* Only the report: without a terminal there is no progress and no escape sequence. */
    outcome o = spry("spmv $D/small.mtx --time");
    assert_int_equal(o.status, 0);
    assert_null(strchr(o.out, '\033'));
    assert_null(strchr(o.err, '\033'));
    assert_non_null(strstr(o.err, "note: the copy bandwidth is measured with arrays of 1 MiB"));
    /* A second note may report other work on the machine. */
    for (const char *line = o.err; *line; line = strchr(line, '\n') + 1)
        assert_int_equal(strncmp(line, "spry spmv: note: ", 17), 0);
    release(&o);
}

/* Asserts that, for every file name, a message is one line without control characters, and JSON is UTF-8. */
static void strange_names(void **state)
{
    static const char *const commands[] = {"info \"$(printf 'no\\nsuch\\033[2J')\"",
                                           "spmv \"$(printf 'no\\nsuch\\033[2J')\"",
                                           "bench \"$(printf 'no\\nsuch\\033[2J')\"",
                                           "info $D/small.mtx --json=\"$(printf 'none/no\\nsuch\\033[2J')\""};
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        outcome o = spry("%s", commands[c]);
        assert_int_equal(o.status, 2);
        assert_int_equal(count_lines(o.err), 1);
        assert_non_null(strstr(o.err, "no\\nsuch\\x1b[2J"));
        release(&o);
    }
    write_file("latin\xe9.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    outcome o = spry("info --json $D/latin\xe9.mtx");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "\"matrix\":\"latin\xef\xbf\xbd\","));
    release(&o);
    unlink(in_folder("latin\xe9.mtx"));
}

/* Asserts that an interrupted command leaves no temporary file. */
static void interrupted(void **state)
{
    const int before = count_files();
    write_file("never.txt", "old\n");
    pid_t child = fork();
    if (child == 0) {
        static cli_output output;
        if (cli_output_open(&output, in_folder("never.txt")) != CLI_GO_ON) _exit(1);
        fputs("half of a line", output.stream);
        for (;;) pause();
    }
    for (int wait = 0; wait < 1000 && count_files() < before + 2; wait++) usleep(10000);
    assert_int_equal(count_files(), before + 2);
    kill(child, SIGTERM);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(count_files(), before + 1);
    char *text = read_file("never.txt");
    assert_string_equal(text, "old\n");
    free(text);
    unlink(in_folder("never.txt"));
}

/* Starts a benchmark of many matrices. Its records go to "records" in folder(), by --json=FILE or by redirection. */
static pid_t start_bench(int redirected)
{
    pid_t child = fork();
    if (child != 0) return child;
    char json[300], matrix[] = "gen:grid5,x=40,y=40";
    const int null = open("/dev/null", O_WRONLY);
    const int out = redirected ? open(in_folder("records"), O_WRONLY | O_CREAT | O_TRUNC, 0600) : null;
    snprintf(json, sizeof json, redirected ? "--json" : "--json=%s", in_folder("records"));
    dup2(out, STDOUT_FILENO);
    dup2(redirected ? null : open(in_folder("messages"), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    setenv("SPRY_BENCH_COPY_BYTES", "1048576", 1);
    execl(SPRY_CLI, "spry", "bench", json, "--formats", "csr", matrix, matrix, matrix, matrix, matrix, matrix, matrix,
          matrix, matrix, matrix, (char *)NULL);
    _exit(127);
}

/* Returns the number of lines of "records". Each line must be a complete record. */
static int count_records(void)
{
    char *text = read_file("records");
    const int lines = text ? count_lines(text) : 0;
    for (int l = 0; l < lines; l++) {
        cJSON *line = json_line(text, l);
        assert_string_equal(cJSON_GetObjectItem(line, "status")->valuestring, "ok");
        cJSON_Delete(line);
    }
    if (lines > 0) assert_int_equal(text[strlen(text) - 1], '\n');
    free(text);
    return lines;
}

/* Asserts that, after any signal, the records of finished cases are kept and no other file remains. */
static void interrupted_benchmark(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    const int before = count_files();
    for (int s = 0; s < 4; s++) {
        const int number = signals[s % 3];
        write_file("records", "old\n");
        pid_t child = start_bench(s == 3);
        int lines = 0, status = 0;
        for (int wait = 0; wait < 3000 && lines == 0; wait++) {
            char *text = read_file("records");
            lines = text && text[0] == '{' ? count_lines(text) : 0;
            free(text);
            usleep(10000);
        }
        kill(child, number);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), number);
        assert_true(lines >= 1 && count_records() >= lines);
        if (s < 2) { /* the message names the kept records */
            char *messages = read_file("messages");
            assert_non_null(strstr(messages, " of 10 matrices "));
            assert_non_null(strstr(messages, "kept in "));
            free(messages);
        }
        unlink(in_folder("messages"));
        assert_int_equal(count_files(), before + 1);
        unlink(in_folder("records"));
    }
}

/* Asserts that an existing file of records is unchanged if the benchmark is refused. */
static void refused_benchmark(void **state)
{
    static const char *const commands[] = {"bench $D/small.mtx --formats crs --json=$D/old.jsonl",
                                           "bench $D/small.mtx --kernels none_cpu --json=$D/old.jsonl",
                                           "bench $D/small.mtx $D/none.mtx --json=$D/old.jsonl",
                                           "bench $D/small.mtx --formats sell:c=0 --json=$D/old.jsonl"};
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        write_file("old.jsonl", "old\n");
        outcome o = spry("%s", commands[c]);
        assert_int_equal(o.status, 2);
        release(&o);
        char *text = read_file("old.jsonl");
        assert_string_equal(text, "old\n");
        free(text);
    }
    unlink(in_folder("old.jsonl"));
    expect_kept_rights("bench $D/small.mtx --formats csr --json=$D/link.jsonl >/dev/null 2>/dev/null");
}

/* Returns 1 if the process has a file open in folder(), with or without a name. */
static int has_file_open(pid_t process)
{
    char path[64], target[512];
    for (int fd = 3; fd < 32; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, fd);
        ssize_t length = readlink(path, target, sizeof target);
        if (length > (ssize_t)strlen(folder()) && strncmp(target, folder(), strlen(folder())) == 0) return 1;
    }
    return 0;
}

/*
 * Asserts that an interrupted write by the library, which has no signal handler, leaves no file. Requires a file system
 * with unnamed files.
 */
static void interrupted_in_the_library(void **state)
{
    int nameless = open(folder(), O_WRONLY | O_TMPFILE, 0600), before = count_files();
    if (nameless < 0) skip();
    close(nameless);
    write_file("big.mtx", "old\n");
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    static const char *const targets[] = {"big.mtx", "new.mtx", "new.mtx.gz"};
    for (int s = 0; s < 3; s++) {
        pid_t child = fork();
        if (child == 0) {
            execl(SPRY_CLI, "spry", "gen", "grid5,x=2000,y=2000", "-o", in_folder(targets[s]), (char *)NULL);
            _exit(127);
        }
        for (int wait = 0; wait < 6000 && !has_file_open(child); wait++) usleep(5000);
        kill(child, signals[s]);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status)); /* otherwise the program ended before the signal */
        assert_int_equal(count_files(), before + 1);
    }
    char *text = read_file("big.mtx");
    assert_string_equal(text, "old\n");
    free(text);
    unlink(in_folder("big.mtx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_to_file),
        cmocka_unit_test(json_to_stdout),
        cmocka_unit_test(targets_that_cannot_be_written),
        cmocka_unit_test(targets_that_are_read),
        cmocka_unit_test(targets_that_exist),
        cmocka_unit_test(devices_and_fifos),
        cmocka_unit_test(vector_out),
        cmocka_unit_test(no_memory_to_measure_with),
        cmocka_unit_test(remembered_bandwidth),
        cmocka_unit_test(messages_do_not_mix),
        cmocka_unit_test(strange_names),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(interrupted_benchmark),
        cmocka_unit_test(refused_benchmark),
        cmocka_unit_test(interrupted_in_the_library),
    };
    unsetenv("SPRY_BENCH_COPY_BYTES");
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
