#include "spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char own_folder[64];

const char *folder(void)
{
    if (!own_folder[0]) {
        snprintf(own_folder, sizeof own_folder, "/tmp/spry-test-XXXXXX");
        if (!mkdtemp(own_folder)) abort();
        setenv("XDG_CACHE_HOME", "/dev/null/none", 1); /* keeps choices and bandwidths of one test from the next */
    }
    return own_folder;
}

int count_files(void)
{
    int count = 0;
    DIR *d = opendir(folder());
    for (struct dirent *e; d && (e = readdir(d));) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

int remove_folder(void **state)
{
    DIR *d = opendir(folder());
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder(), e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(path) != 0) rmdir(path);
    }
    if (d) closedir(d);
    rmdir(folder());
    own_folder[0] = '\0';
    return 0;
}

void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char *read_stream(FILE *file)
{
    size_t size = 0, room = 4096;
    char *text = malloc(room);
    for (size_t got; text && (got = fread(text + size, 1, room - size - 1, file)) > 0;) {
        size += got;
        if (room - size < 2) text = realloc(text, room *= 2);
    }
    if (!text) abort();
    text[size] = '\0';
    return text;
}

char *read_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    char *text = read_stream(file);
    fclose(file);
    return text;
}

/* Runs the command by the shell, for quoting and redirection. Input and output use temporary files. */
static outcome run(const char *input, const char *command)
{
    FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
    if (!in || !out || !err) abort();
    fputs(input, in);
    rewind(in);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(in), STDIN_FILENO);
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        setenv("SPRY", SPRY_CLI, 1);
        setenv("D", folder(), 1);
        setenv("SPRY_BENCH_COPY_BYTES", "1048576", 0);
        setenv("LC_ALL", "C.UTF-8", 0);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) abort();
    rewind(out);
    rewind(err);
    outcome o = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_stream(out), read_stream(err)};
    fclose(in);
    fclose(out);
    fclose(err);
    return o;
}

static outcome run_arguments(const char *input, const char *format, va_list arguments)
{
    char command[4096] = "exec \"$SPRY\" ";
    size_t used = strlen(command);
    vsnprintf(command + used, sizeof command - used, format, arguments);
    return run(input, command);
}

outcome spry(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    outcome o = run_arguments("", format, arguments);
    va_end(arguments);
    return o;
}

outcome shell(const char *command)
{
    return run("", command);
}

outcome spry_with_input(const char *input, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    outcome o = run_arguments(input, format, arguments);
    va_end(arguments);
    return o;
}

void release(outcome *o)
{
    free(o->out);
    free(o->err);
    *o = (outcome){0};
}

/* Returns 1 if a command with --json wrote its one line for a refusal. */
static int is_refusal(const char *command, const char *out)
{
    const char *json = strstr(command, " --json");
    if (!json || (json[7] != '\0' && json[7] != ' ') || count_lines(out) != 1) return 0;
    cJSON *line = json_line(out, 0);
    const cJSON *status = cJSON_GetObjectItem(line, "status");
    const int good = cJSON_IsString(status) && strcmp(status->valuestring, "failed") == 0 &&
                     cJSON_IsString(cJSON_GetObjectItem(line, "reason"));
    cJSON_Delete(line);
    return good;
}

static void check_outcome(const char *command, outcome o, int status, const char *in_out, const char *in_err)
{
    const int good = o.status == status && (in_out ? strstr(o.out, in_out) != NULL : o.out[0] == '\0') &&
                     (in_err ? strstr(o.err, in_err) != NULL : o.err[0] == '\0');
    if (!good)
        print_error("%s\n  status %d, expected %d\n  stdout (expected '%s'):\n%s\n  stderr (expected '%s'):\n%s\n",
                    command, o.status, status, in_out ? in_out : "nothing", o.out, in_err ? in_err : "nothing", o.err);
    release(&o);
    assert_true(good);
}

void expect_outcome(outcome o, int status, const char *in_out, const char *in_err)
{
    check_outcome("", o, status, in_out, in_err);
}

void expect(const char *command, int status, const char *in_out, const char *in_err)
{
    outcome o = spry("%s", command);
    const int refused = status != 0 && o.out[0] && is_refusal(command, o.out);
    check_outcome(command, o, status, in_out ? in_out : refused ? "" : NULL, in_err);
}

void expect_text(const char *command, const char *text)
{
    outcome o = spry("%s", command);
    if (o.status != 0 || strcmp(o.out, text) != 0)
        fail_msg("spry %s: %d\n%s\n%s\nexpected\n%s", command, o.status, o.out, o.err, text);
    release(&o);
}

void expect_mistakes(const char *command, const mistake *mistakes, size_t count)
{
    for (size_t m = 0; m < count; m++) {
        char line[256];
        const int length = snprintf(line, sizeof line, "%s %s", command, mistakes[m].options);
        assert_in_range(length, 1, sizeof line - 1);
        expect(line, 2, NULL, mistakes[m].message);
    }
}

int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

cJSON *json_line(const char *text, int line)
{
    for (; line > 0; line--) {
        text = strchr(text, '\n');
        if (!text) return NULL;
        text++;
    }
    size_t length = strcspn(text, "\n");
    if (length == 0) return NULL;
    const char *end = NULL;
    cJSON *object = cJSON_ParseWithOpts(text, &end, 0);
    if (!object || end != text + length) {
        print_error("not one JSON object: %.*s\n", (int)length, text);
        fail();
    }
    return object;
}

int make_matrices(void **state)
{
    write_file("small.mtx", "%%MatrixMarket matrix coordinate real general\n4 5 6\n"
                            "1 1 2.5\n1 5 -1\n2 2 3\n4 1 0.125\n4 3 4\n4 4 1e2\n");
    write_file("sym.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 4\n2 1 -1\n2 2 4\n3 3 4\n");
    write_file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n");
    return 0;
}
