/* Output files, which get their final name when complete, and records, which are written one by one. */
#include "cli/cli.h"
#include "cli/json.h"

#include "common/input.h"
#include "spry/io.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot(const char *verb, const char *path)
{
    cli_message("%s: cannot be %s: %s", path, verb, strerror(errno));
    return CLI_USAGE;
}

/*
 * Creates a temporary file that a signal removes. Signals are blocked until the file is registered for removal. Returns
 * -1 and sets errno if this fails.
 */
static int create_temporary(char *name)
{
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    const int file = mkstemp(name), saved = errno;
    if (file >= 0) cli_remove_when_interrupted(name);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return file;
}

/* Opens a temporary file in the target's folder, with the permissions of the target or of a new file. */
static int open_temporary(cli_output *output, const struct stat *old)
{
    char real[sizeof output->path];
    if (old) { /* resolve a symbolic link, so that the link is not replaced */
        char *resolved = realpath(output->path, NULL);
        if (!resolved) return cannot("written", output->path);
        snprintf(real, sizeof real, "%s", resolved);
        free(resolved);
        if (access(real, W_OK) != 0) return cannot("written", output->path);
        memcpy(output->path, real, sizeof real);
    }
    int length = snprintf(output->temporary, sizeof output->temporary, "%.4080s.tmpXXXXXX", output->path);
    int file = length < (int)sizeof output->temporary ? create_temporary(output->temporary) : -1;
    if (file < 0) {
        output->temporary[0] = '\0';
        return cannot("written", output->path);
    }
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(file, old ? old->st_mode & 07777 : 0666 & ~mask) != 0 || !(output->stream = fdopen(file, "w"))) {
        int status = cannot("written", output->path);
        close(file);
        unlink(output->temporary);
        cli_remove_when_interrupted(NULL);
        output->temporary[0] = '\0';
        return status;
    }
    return CLI_GO_ON;
}

/* Opens an output. direct: writes under the final name, without a temporary file. */
static int open_output(cli_output *output, const char *path, bool direct)
{
    struct stat st;
    cli_progress(NULL);
    *output = (cli_output){.stream = stdout};
    if (!path || strcmp(path, "-") == 0) return CLI_GO_ON;
    output->stream = NULL;
    if (strlen(path) >= sizeof output->path) {
        errno = ENAMETOOLONG;
        return cannot("written", path);
    }
    snprintf(output->path, sizeof output->path, "%s", path);
    int exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT) return cannot("written", path);
    if (exists && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return cannot("written", path);
    }
    if (!direct && (!exists || S_ISREG(st.st_mode))) return open_temporary(output, exists ? &st : NULL);
    output->stream = fopen(path, "w");
    return output->stream ? CLI_GO_ON : cannot("written", path);
}

int cli_output_open(cli_output *output, const char *path)
{
    return open_output(output, path, false);
}

static int stat_input(const char *input, struct stat *st)
{
    if (strncmp(input, "gen:", 4) == 0) return 0;
    return (strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, st) : stat(input, st)) == 0;
}

bool cli_is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Returns true if a file can be created in the folder of `output`, else sets errno. */
static bool is_folder_open(const char *output)
{
    const char *slash = strrchr(output, '/');
    char *folder = !slash ? strdup(".") : slash == output ? strdup("/") : strndup(output, (size_t)(slash - output));
    const bool good = !folder || access(folder, W_OK | X_OK) == 0; /* if memory is short, assumes that it can */
    const int saved = errno;
    free(folder);
    errno = saved;
    return good;
}

/* Compares device and inode, so that other names and links of the input are refused. */
int cli_check_output(const char *option, const char *output, const char *input)
{
    struct stat out, in;
    if (!output || cli_is_dash(output)) return CLI_GO_ON;
    if (stat(output, &out) != 0) return is_folder_open(output) ? CLI_GO_ON : cannot("written", output);
    if (S_ISDIR(out.st_mode)) {
        errno = EISDIR;
        return cannot("written", output);
    }
    if (!S_ISREG(out.st_mode)) return CLI_GO_ON;
    if (!stat_input(input, &in) || in.st_dev != out.st_dev || in.st_ino != out.st_ino) return CLI_GO_ON;
    return cli_usage_error("--%s is '%s', the input matrix: expected another file", option, output);
}

int cli_check_two_outputs(const char *option, const char *output, const char *other, const char *path)
{
    struct stat a, b;
    if (!output || !path || cli_is_dash(output) || cli_is_dash(path)) return CLI_GO_ON;
    const bool exist = stat(output, &a) == 0 && stat(path, &b) == 0;
    if (exist && !S_ISREG(a.st_mode)) return CLI_GO_ON;
    if (exist ? a.st_dev == b.st_dev && a.st_ino == b.st_ino : strcmp(output, path) == 0)
        return cli_usage_error("--%s and --%s both write '%s'", option, other, path);
    return CLI_GO_ON;
}

int cli_check_outputs(const char *out, const cli_json *json, const char *input)
{
    int status = cli_check_two_outputs("out", out, "json", json->path);
    if (status == CLI_GO_ON) status = cli_check_output("out", out, input);
    return status == CLI_GO_ON ? cli_check_output("json", json->path, input) : status;
}

int cli_check_stdout(const char *out, const cli_json *json)
{
    if (!cli_is_dash(out) || cli_for_people(json)) return CLI_GO_ON;
    return cli_usage_error("--out - and --json both write to standard output; use --json=FILE");
}

bool cli_ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), of_end = strlen(end);
    return length > of_end && strcmp(text + length - of_end, end) == 0;
}

/* Returns true if the first `length` characters of a name end in `end`, ignoring case, and are longer than `end`. */
static bool has_ending(const char *name, size_t length, const char *end)
{
    const size_t of_end = strlen(end);
    return length > of_end && strncasecmp(name + length - of_end, end, of_end) == 0;
}

const char *cli_output_kind(const char *path)
{
    struct stat facts;
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    const bool gzip = has_ending(name, length, ".gz");
    if (gzip) length -= 3;
    if (!gzip && has_ending(name, length, ".spry")) return "container";
    if (has_ending(name, length, ".csv")) return gzip ? "CSV, gzip" : "CSV";
    const bool has_none = length < 2 || !memchr(name + 1, '.', length - 1);
    if (has_none || has_ending(name, length, ".mtx") || (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)))
        return gzip ? "Matrix Market, gzip" : "Matrix Market";
    return NULL;
}

bool cli_is_csv(const char *path)
{
    const char *const kind = cli_output_kind(path);
    return kind && strcmp(kind, "CSV") == 0;
}

int cli_check_vector_name(const char *option, const char *path)
{
    const char *const kind = path ? cli_output_kind(path) : NULL;
    if (!path || cli_is_csv(path) || (kind && strcmp(kind, "Matrix Market") == 0)) return CLI_GO_ON;
    return cli_usage_error("--%s is '%s': a vector is written as plain text, expected a name that ends in .mtx or "
                           ".csv, or has no ending",
                           option, path);
}

int cli_check_vector_output(const char *out, const cli_json *json)
{
    const int status = cli_check_vector_name("out", out);
    return status == CLI_GO_ON ? cli_check_stdout(out, json) : status;
}

spry_status cli_write_vector(spry_context *context, spry_const_vector v, const char *path, const char *row,
                             const char *value, int base, spry_error *err)
{
    spry_write_options options = SPRY_INIT(spry_write_options);
    if (cli_is_csv(path)) {
        options.row_name = row;
        options.value_name = value;
        options.index_base = base;
    }
    return spry_vector_write(context, v, path, &options, err);
}

int cli_check_matrix_name(const char *output)
{
    if (!output || cli_output_kind(output)) return CLI_GO_ON;
    return cli_usage_error("--out is '%s': expected a name that ends in .mtx, .mtx.gz, .csv, .csv.gz or .spry, or has "
                           "no ending",
                           output);
}

int cli_check_page_name(const char *option, const char *path)
{
    const char *const slash = path ? strrchr(path, '/') : NULL, *const name = slash ? slash + 1 : path;
    if (!path || !name[0] || !strrchr(name + 1, '.') || cli_ends_with(name, ".html") || cli_ends_with(name, ".htm"))
        return CLI_GO_ON;
    return cli_usage_error("--%s is '%s': a report is a page in HTML, expected a name that ends in .html", option,
                           path);
}

int cli_output_close(cli_output *output, int status)
{
    static bool stdout_failed; /* is reported only once: another flush at the program's end fails again */
    bool good = true;
    if (!output->stream) return status;
    errno = output->error ? output->error : ferror(output->stream) ? EIO : 0;
    if (output->stream == stdout) {
        good = fflush(stdout) == 0 && !ferror(stdout);
        if (stdout_failed) return status > CLI_USAGE ? status : CLI_USAGE;
        stdout_failed = !good;
        snprintf(output->path, sizeof output->path, "standard output");
    } else {
        int earlier = errno;
        good = !ferror(output->stream);
        good &= fclose(output->stream) == 0;
        if (earlier) errno = earlier;
    }
    output->stream = NULL;
    if (output->temporary[0]) {
        good = good && rename(output->temporary, output->path) == 0;
        int saved = errno;
        if (!good) unlink(output->temporary);
        cli_remove_when_interrupted(NULL);
        errno = saved;
    }
    if (good) return status;
    int failed = cannot("written", output->path);
    return failed > status ? failed : status;
}

/* ---- JSON lines --------------------------------------------------------------------------------- */

/* The option --json of the command line, for the JSON line of a failed command. */
static struct {
    bool wanted, opened;
    const char *path;  /* NULL: standard output */
    const char *input; /* NULL: not known */
} request;

void cli_json_expect(int count, char **arguments)
{
    for (int a = 0; a < count && strcmp(arguments[a], "--") != 0; a++) {
        if (strcmp(arguments[a], "--json") == 0) request.wanted = true;
        if (strncmp(arguments[a], "--json=", 7) != 0) continue;
        request.path = arguments[a] + 7;
        request.wanted = request.path[0] != '\0';
    }
}

void cli_json_set_input(const char *path)
{
    request.input = path;
}

/*
 * Returns true if the JSON line of a failed command may replace the file. The file must be empty, or begin with the
 * line of a command, or not exist and be possible to create. Records of bench begin differently, so they are kept.
 */
static bool may_hold_lines(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return is_folder_open(path);
    static const char line_start[] = "{\"command\":\"";
    char begin[sizeof line_start - 1];
    FILE *file = S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
    if (!file) return false;
    const size_t length = fread(begin, 1, sizeof begin, file);
    fclose(file);
    return length == 0 || (length == sizeof begin && memcmp(begin, line_start, sizeof begin) == 0);
}

int cli_json_refuse(int status)
{
    const bool is_bench = strcmp(cli_command_name(), "bench") == 0;
    char matrix[256] = "";
    cli_json json = {.wanted = true, .path = request.path};
    if (status == CLI_OK || !request.wanted || request.opened) return status;
    if (request.path && !cli_is_dash(request.path) && (is_bench || !may_hold_lines(request.path))) return status;
    if (cli_json_open(&json) != CLI_GO_ON) return status;
    cJSON *o = cJSON_CreateObject();
    if (request.input) matrix_name(matrix, sizeof matrix, request.input);
    cli_json_line(&json, o, cli_json_begin(o, matrix, RECORD_FAILED, cli_first_message()));
    return cli_json_close(&json, status);
}

int cli_json_open(cli_json *json)
{
    request.opened |= json->wanted;
    cli_progress(NULL); /* without JSON, text for people follows */
    if (!json->wanted) return CLI_GO_ON;
    return cli_output_open(&json->output, json->path);
}

int cli_json_open_stream(cli_json *json)
{
    static char buffer[1 << 16]; /* larger than any record, so that one system call writes a record */
    if (!json->wanted) return CLI_GO_ON;
    request.opened = true;
    int status = open_output(&json->output, json->path, true);
    if (status == CLI_GO_ON) (void)setvbuf(json->output.stream, buffer, _IOFBF, sizeof buffer);
    return status;
}

int cli_json_close(cli_json *json, int status)
{
    return json->wanted ? cli_output_close(&json->output, status) : status;
}

bool cli_for_people(const cli_json *json)
{
    return !json->wanted || (json->path && !cli_is_dash(json->path));
}

bool cli_json_line(cli_json *json, cJSON *object, bool good)
{
    char *text = good ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (!text) {
        cli_message("out of memory for a JSON record");
        return false;
    }
    const bool written = fprintf(json->output.stream, "%s\n", text) > 0 && fflush(json->output.stream) == 0;
    if (!written) json->output.error = errno;
    cJSON_free(text);
    return written;
}
