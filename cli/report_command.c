/*
 * spry report: draws JSON lines of spry bench as HTML, and compares two runs. The renderer in report/, a Python
 * program, does both. It writes HTML to standard output and its results, one JSON line, to descriptor RESULT_FD. This
 * program writes the files and messages.
 */
#include "cli/report.h"

#include "cli/json.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_FILES = 256, RESULT_FD = 3 };
enum { NO_MATPLOTLIB = 3, OLD_PYTHON = 4, NOT_FOUND = 127 }; /* exit statuses of try_python's program */

typedef struct renderer {
    char program[4096], folder[4096]; /* paths of this program and of report/ */
    char peers_python[4200];          /* Python installed by ./quickstart --peers */
    const char *python;
    bool is_spry; /* false: the program is a test, which cannot draw pictures of matrices */
} renderer;

/* A report to draw, or a comparison of two runs. Members that do not apply are NULL. */
typedef struct job {
    const char *const *records; /* file names; "-": standard input */
    int count;
    const char *name; /* name of the only file in the report; NULL: its file name */
    const char *html, *compare, *matrices;
    bool this_machine; /* the records are from this machine */
    int stdin_fd;      /* descriptor that the renderer reads as "-" */
} job;

/* ---- processes ---------------------------------------------------------------------------------------- */

/*
 * Starts a program with descriptors 0, 1 and RESULT_FD from in, out and result; -1: none. Returns 0 or an errno value.
 */
static int start(pid_t *id, const char *const *arguments, int in, int out, int result)
{
    posix_spawn_file_actions_t actions;
    int fault = posix_spawn_file_actions_init(&actions);
    if (fault) return fault;
    if (in > 0) fault = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!fault && out < 0) fault = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!fault && out > STDOUT_FILENO) fault = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!fault && result >= 0) fault = posix_spawn_file_actions_adddup2(&actions, result, RESULT_FD);
    if (!fault && result < 0)
        fault = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!fault) fault = posix_spawnp(id, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return fault;
}

/* Waits for a process. Returns its exit status, or 128 plus the number of the signal that ended it. */
static int wait_for(pid_t id)
{
    int status = 0;
    while (waitpid(id, &status, 0) < 0)
        if (errno != EINTR) return NOT_FOUND;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- requirements ------------------------------------------------------------------------------------- */

/* Returns 0 if this Python can draw, else NO_MATPLOTLIB, OLD_PYTHON or NOT_FOUND. */
static int try_python(const char *python)
{
    const char *const arguments[] = {python, "-B", "-c",
                                     "import sys\n"
                                     "if sys.version_info < (3, 9): sys.exit(4)\n"
                                     "try: import matplotlib\n"
                                     "except ImportError: sys.exit(3)\n",
                                     NULL};
    pid_t id;
    return start(&id, arguments, -1, -1, -1) ? NOT_FOUND : wait_for(id);
}

static int cannot_draw(const char *python, int why)
{
    static const char get[] = "'apt-get install python3-matplotlib' installs both; SPRY_PYTHON names another Python";
    if (why == NO_MATPLOTLIB)
        cli_message("a report needs Matplotlib, which %s does not have: %s", python, get);
    else if (why == OLD_PYTHON)
        cli_message("a report needs Python 3.9 or later, %s is older: %s", python, get);
    else
        cli_message("a report needs Python with Matplotlib, and %s cannot be run: %s", python, get);
    return CLI_USAGE;
}

/*
 * Finds a Python with Matplotlib: SPRY_PYTHON if set, else python3 in PATH, the Python of ./quickstart --peers, or the
 * system's Python. study/run has the same list.
 */
static int find_python(renderer *r)
{
    const char *const named = getenv("SPRY_PYTHON");
    r->python = named && named[0] ? named : "python3";
    const int why = try_python(r->python);
    if (why == 0) return CLI_GO_ON;
    if (r->python == named) return cannot_draw(named, why);
    snprintf(r->peers_python, sizeof r->peers_python, "%s/../.peers/venv/bin/python", r->folder);
    r->python = r->peers_python;
    if (access(r->python, X_OK) == 0 && try_python(r->python) == 0) return CLI_GO_ON;
    r->python = "/usr/bin/python3";
    const int why_system = try_python(r->python);
    if (why_system == 0) return CLI_GO_ON;
    return why == NOT_FOUND && why_system != NOT_FOUND ? cannot_draw(r->python, why_system)
                                                       : cannot_draw("python3", why);
}

/*
 * Finds the folder report/: SPRY_REPORT_DIR, else next to the program, in the installed folder, or next to the build
 * folder.
 */
static int find_folder(renderer *r)
{
    static const char *const places[] = {"report", SPRY_INSTALLED_REPORT, "../report"};
    const char *const named = getenv("SPRY_REPORT_DIR");
    char path[sizeof r->folder + 16];
    const ssize_t length = readlink("/proc/self/exe", r->program, sizeof r->program - 1);
    r->program[length > 0 ? length : 0] = '\0';
    const char *const slash = strrchr(r->program, '/');
    const int folder_length = slash ? (int)(slash - r->program) : 0;
    r->is_spry = slash && strncmp(slash + 1, "spry", 4) == 0;
    const int count = named && named[0] ? 1 : (int)(sizeof places / sizeof *places);
    for (int p = 0; p < count; p++) {
        const int written =
            named && named[0] ? snprintf(r->folder, sizeof r->folder, "%s", named)
                              : snprintf(r->folder, sizeof r->folder, "%.*s/%s", folder_length, r->program, places[p]);
        snprintf(path, sizeof path, "%s/__main__.py", r->folder);
        if (written < (int)sizeof r->folder && access(path, R_OK) == 0) return CLI_GO_ON;
    }
    if (named && named[0])
        cli_message("SPRY_REPORT_DIR is '%s', which has no __main__.py: expected the folder report/", named);
    else
        cli_message("the renderer of reports was not found in %.*s/" SPRY_INSTALLED_REPORT
                    ": install all of Spry, or set SPRY_REPORT_DIR to its folder report/",
                    folder_length, r->program);
    return CLI_USAGE;
}

static int find_renderer(renderer *r)
{
    const int status = find_folder(r);
    return status == CLI_GO_ON ? find_python(r) : status;
}

/* Finds the renderer for a job. A job without an HTML page does not require Matplotlib. */
static int find_for(renderer *r, const job *j)
{
    int status = find_folder(r);
    if (status != CLI_GO_ON || j->html) return status == CLI_GO_ON ? find_python(r) : status;
    const char *const named = getenv("SPRY_PYTHON");
    r->python = named && named[0] ? named : "python3";
    const int why = try_python(r->python);
    return why == 0 || why == NO_MATPLOTLIB ? CLI_GO_ON : find_python(r);
}

/* ---- drawing ------------------------------------------------------------------------------------------ */

/* Returns the renderer's command line, which the caller frees; NULL if memory is short. */
static const char **build_arguments(const renderer *r, const job *j)
{
    enum { OPTIONS = 20 };
    const char **arguments = calloc((size_t)j->count + OPTIONS, sizeof *arguments);
    int a = 0;
    if (!arguments) return NULL;
    arguments[a++] = r->python;
    arguments[a++] = "-B"; /* write no byte code to the folder */
    arguments[a++] = r->folder;
    arguments[a++] = "--result=3";
    if (r->is_spry) {
        arguments[a++] = "--program";
        arguments[a++] = r->program;
    }
    if (j->compare) {
        arguments[a++] = "--compare";
        arguments[a++] = j->compare;
    }
    if (j->matrices) {
        arguments[a++] = "--matrices";
        arguments[a++] = j->matrices;
    }
    if (j->name) {
        arguments[a++] = "--name";
        arguments[a++] = j->name;
    }
    if (j->this_machine) arguments[a++] = "--here";
    if (!j->html) arguments[a++] = "--no-page";
    arguments[a++] = "--";
    for (int f = 0; f < j->count; f++) arguments[a++] = j->records[f];
    return arguments;
}

/* Reads JSON from a descriptor until its end. Returns NULL if it is not JSON. */
static cJSON *read_json(int from)
{
    enum { MOST = 1 << 24 };
    char *text = NULL;
    size_t length = 0, room = 0;
    for (;;) {
        if (length + 1 >= room) {
            char *larger = room < MOST ? realloc(text, room = room ? 2 * room : 65536) : NULL;
            if (!larger) break;
            text = larger;
        }
        const ssize_t got = read(from, text + length, room - length - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    cJSON *result = text ? cJSON_ParseWithLength(text, length) : NULL;
    free(text);
    return result;
}

/* Copies the page from a temporary file to its output. */
static int put(FILE *page, const char *html)
{
    char block[65536];
    cli_output output;
    int status = cli_output_open(&output, html);
    if (status != CLI_GO_ON) return status;
    rewind(page);
    for (size_t got; (got = fread(block, 1, sizeof block, page)) > 0;)
        if (fwrite(block, 1, got, output.stream) != got) output.error = errno;
    return cli_output_close(&output, CLI_OK);
}

/* Runs the renderer. *result: its JSON line; NULL: none. Returns CLI_GO_ON, or an exit status after a message. */
static int render(const renderer *r, const job *j, FILE *page, cJSON **result)
{
    int ends[2];
    const char **arguments = build_arguments(r, j);
    if (!arguments || pipe(ends) != 0) {
        free(arguments);
        cli_message("the renderer of reports cannot be started: %s", strerror(errno));
        return CLI_UNSUCCESSFUL;
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    cli_progress("drawing the report");
    pid_t id;
    const int fault = start(&id, arguments, j->stdin_fd, page ? fileno(page) : -1, ends[1]);
    free(arguments);
    close(ends[1]);
    if (!fault) *result = read_json(ends[0]);
    close(ends[0]);
    const int ended = fault ? NOT_FOUND : wait_for(id);
    cli_progress(NULL);
    const cJSON *message = cJSON_GetObjectItem(*result, "message"), *status = cJSON_GetObjectItem(*result, "exit");
    if (cJSON_IsString(message)) {
        cli_message("%s", message->valuestring);
        return CLI_USAGE;
    }
    if (!fault && cJSON_IsNumber(status) && (ended == CLI_OK || ended == CLI_UNSUCCESSFUL)) return CLI_GO_ON;
    if (fault)
        cli_message("%s cannot be run: %s", r->python, strerror(fault));
    else
        cli_message("the renderer of reports failed with status %d", ended);
    return CLI_UNSUCCESSFUL;
}

/*
 * Draws a job. Returns CLI_OK or CLI_UNSUCCESSFUL, as the renderer's result says in its field "exit", or the exit
 * status of a failure after a message. The caller deletes *result.
 */
static int draw(const renderer *r, const job *j, cJSON **result)
{
    FILE *page = j->html ? tmpfile() : NULL;
    *result = NULL;
    if (j->html && !page) {
        cli_message("a temporary file for the report cannot be created: %s", strerror(errno));
        return CLI_UNSUCCESSFUL;
    }
    int status = render(r, j, page, result);
    if (status == CLI_GO_ON && page) {
        status = put(page, j->html);
        if (status == CLI_OK) status = CLI_GO_ON;
    }
    if (page) fclose(page);
    if (status != CLI_GO_ON) return status;
    return cJSON_GetObjectItem(*result, "exit")->valueint == CLI_OK ? CLI_OK : CLI_UNSUCCESSFUL;
}

/* ---- for the benchmark -------------------------------------------------------------------------------- */

static const char *folder_of_matrices(const char *named)
{
    const char *folder = named ? named : getenv("SPRY_MATRIX_DIR");
    return folder && folder[0] ? folder : NULL;
}

int cli_report_check(const char *html)
{
    renderer r;
    int status = cli_check_page_name("report", html);
    if (status == CLI_GO_ON) status = cli_check_output("report", html, "gen:"); /* the benchmark checks its inputs */
    return status == CLI_GO_ON ? find_renderer(&r) : status;
}

static int write_report(const char *html, const char *records, int stdin_fd, const char *matrices)
{
    const job j = {.records = &records,
                   .count = 1,
                   .name = "this run",
                   .html = html,
                   .matrices = folder_of_matrices(matrices),
                   .this_machine = true,
                   .stdin_fd = stdin_fd};
    renderer r;
    cJSON *result = NULL;
    int status = find_renderer(&r);
    if (status == CLI_GO_ON) status = draw(&r, &j, &result);
    cJSON_Delete(result);
    return status;
}

int cli_report_write(const char *html, const char *records, const char *matrices)
{
    return write_report(html, records, -1, matrices);
}

int cli_report_write_text(const char *html, const char *lines, const char *matrices)
{
    FILE *file = tmpfile();
    const size_t length = strlen(lines);
    int status = CLI_UNSUCCESSFUL;
    if (file && fwrite(lines, 1, length, file) == length && fflush(file) == 0) {
        rewind(file);
        status = write_report(html, "-", fileno(file), matrices);
    } else {
        cli_message("a temporary file for the report cannot be written: %s", strerror(errno));
    }
    if (file) fclose(file);
    return status;
}

/* ---- the command -------------------------------------------------------------------------------------- */

typedef struct arguments {
    const char *out, *compare, *matrices;
    bool this_machine;
    cli_json json;
} arguments;

static const cli_option options[] = {{"out", 'o', "OUT", "write the report as HTML; '-' is standard output", CLI_TEXT,
                                      CLI_AT(out)},
                                     {"compare", 0, "OLD",
                                      "JSON lines of an earlier run: find cases that are slower by more than\n"
                                      "noise. Exit status 1 if a case is",
                                      CLI_TEXT, CLI_AT(compare)},
                                     {"matrices", 0, "DIR",
                                      "folder of the matrices, for their pictures (default:\n"
                                      "SPRY_MATRIX_DIR)",
                                      CLI_TEXT, CLI_AT(matrices)},
                                     {"here", 0, NULL, "the records are from this machine: describe it in the report",
                                      CLI_FLAG, CLI_AT(this_machine)},
                                     CLI_JSON_OPTION("one JSON object"),
                                     CLI_END_OF_OPTIONS};

/* Returns true if both are the same regular file. */
static bool is_same_file(const char *output, const char *input)
{
    struct stat a, b;
    return !cli_is_dash(output) && !cli_is_dash(input) && stat(output, &a) == 0 && stat(input, &b) == 0 &&
           S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int check(const arguments *a, int count, char **records)
{
    int dashes = a->compare && cli_is_dash(a->compare);
    if (!a->out && !a->compare) return cli_usage_error("expected --out OUT.html for the report, or --compare OLD");
    for (int f = 0; f < count; f++) {
        dashes += cli_is_dash(records[f]);
        if (a->out && is_same_file(a->out, records[f]))
            return cli_usage_error("--out is '%s', an input file: expected another file", a->out);
    }
    int status = cli_check_two_outputs("out", a->out, "json", a->json.path);
    for (int f = 0; f < count && status == CLI_GO_ON; f++) status = cli_check_output("json", a->json.path, records[f]);
    if (status == CLI_GO_ON && a->compare) status = cli_check_output("json", a->json.path, a->compare);
    if (status != CLI_GO_ON) return status;
    if (a->out && a->compare && is_same_file(a->out, a->compare))
        return cli_usage_error("--out is '%s', an input file: expected another file", a->out);
    if (dashes > 1) return cli_usage_error("'-' is given %d times: standard input can be read only once", dashes);
    if (cli_is_dash(a->out) && a->compare)
        return cli_usage_error(
            "--out - and the verdict of --compare both write to standard output: use --out FILE.html");
    if (cli_check_page_name("out", a->out) != CLI_GO_ON) return CLI_USAGE;
    if (a->out && cli_check_output("out", a->out, "gen:") != CLI_GO_ON) return CLI_USAGE;
    return cli_check_stdout(a->out, &a->json);
}

static int whole(const cJSON *result, const char *name)
{
    const cJSON *number = cJSON_GetObjectItem(result, name);
    return cJSON_IsNumber(number) ? number->valueint : -1;
}

static int write_json(cli_json *json, const arguments *a, const cJSON *result)
{
    static const char *const numbers[] = {"cases",  "matrices", "ok",   "skipped",    "bad", "disturbed",
                                          "slower", "faster",   "same", "not_judged", "new", "vanished"};
    const char *const verdict = cJSON_GetStringValue(cJSON_GetObjectItem(result, "verdict"));
    const record_status status = !verdict || strcmp(verdict, "ok") == 0 ? RECORD_OK
                                 : strcmp(verdict, "regression") == 0   ? RECORD_FAILED
                                                                        : RECORD_SKIPPED;
    cJSON *o = cJSON_CreateObject();
    int good = cli_json_begin(o, NULL, status, cJSON_GetStringValue(cJSON_GetObjectItem(result, "reason"))) &&
               cli_json_text(o, "out", a->out) && cli_json_text(o, "verdict", verdict);
    for (size_t n = 0; good && n < sizeof numbers / sizeof *numbers; n++)
        good = cli_json_integer(o, numbers[n], whole(result, numbers[n]));
    return cli_json_line(json, o, good);
}

static int report(arguments *a, const cJSON *result, int status)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItem(result, "text"));
    int opened = cli_json_open(&a->json);
    if (opened != CLI_GO_ON) return opened;
    if (cli_for_people(&a->json) && !cli_is_dash(a->out)) {
        if (text) fputs(text, stdout);
        if (a->out)
            printf("%s: %d cases of %d matri%s, %d of them skipped, %d wrong or failed\n", a->out,
                   whole(result, "cases"), whole(result, "matrices"), whole(result, "matrices") == 1 ? "x" : "ces",
                   whole(result, "skipped"), whole(result, "bad"));
    }
    if (a->json.wanted && !write_json(&a->json, a, result)) status = CLI_UNSUCCESSFUL;
    return cli_json_close(&a->json, status);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    renderer r;
    cJSON *result = NULL;
    int count = argc, status = cli_parse(command, &count, argv, &a);
    if (status == CLI_GO_ON) status = check(&a, count, argv);
    const job j = {.records = (const char *const *)argv,
                   .count = count,
                   .html = a.out,
                   .compare = a.compare,
                   .matrices = folder_of_matrices(a.matrices),
                   .this_machine = a.this_machine,
                   .stdin_fd = -1};
    if (status == CLI_GO_ON) status = find_for(&r, &j);
    if (status != CLI_GO_ON) return status;
    status = draw(&r, &j, &result);
    if (status != CLI_USAGE && cJSON_IsNumber(cJSON_GetObjectItem(result, "cases")))
        status = report(&a, result, status);
    cJSON_Delete(result);
    return status;
}

const cli_command cli_report =
    {.name = "report",
     .summary = "draw measurements as one HTML file, or compare two runs",
     .usage = "FILE... -o OUT.html [--compare OLD] [OPTIONS]",
     .about = "Reads JSON lines of spry bench and draws tables, bars, a performance profile, a roofline,\n"
              "break-even points, the regret of auto, pictures of the matrices, and a list of cases that did\n"
              "not run. The page works without network. --compare compares each case with the same case of an\n"
              "earlier run, by the medians and spreads of both; without -o it only prints the verdict.\n"
              "docs/report.md has the details.",
     .examples = "  spry bench gen:grid7 --formats all --peers --json=run.jsonl\n"
                 "  spry report run.jsonl -o run.html\n"
                 "  spry report run.jsonl --compare earlier.jsonl\n",
     .options = options,
     .least = 1,
     .most = MOST_FILES,
     .positional = "a FILE of JSON lines",
     .run = run};
