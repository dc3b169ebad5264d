/* spry fetch: downloads matrices of the SuiteSparse Matrix Collection to a folder. */
#include "cli/cli.h"
#include "cli/fetch/module.h"
#include "cli/json.h"

#include "common/input.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define COLLECTION "https://sparse.tamu.edu"

typedef struct arguments {
    const char *cache;
    double timeout_us;
    cli_json json;
} arguments;

static const cli_option options[] = {
    {"cache", 0, "DIR",
     "folder of the matrices (default: SPRY_MATRIX_DIR, else spry in\n"
     "XDG_CACHE_HOME, else ~/.cache/spry)",
     CLI_TEXT, CLI_AT(cache)},
    {"timeout", 0, "TIME", "give up if no data arrives for this time (default: 30s)", CLI_TIME, CLI_AT(timeout_us)},
    CLI_JSON_OPTION("JSON lines"),
    CLI_END_OF_OPTIONS,
};

/* The download of one matrix. */
typedef struct fetching {
    const char *folder;
    char matrix[128], group[64], name[64]; /* "HB/1138_bus" and its parts */
    char url[1024], out[1024];
    char part[1024], tag[1024],
        fresh[1024];  /* files of the received data, of its version, and of the incomplete result */
    const char *step; /* "fetching", "unpacking" */
    double started;   /* start of the step, seconds */
    int64_t first;    /* bytes present at the start of the step; -1: not known yet */
    const char *status;
    char reason[1280];
    int64_t bytes; /* size of out */
} fetching;

/* ---- the module ----------------------------------------------------------------------------------- */

static const char installed[] = SPRY_INSTALLED_FETCH, module_file[] = "spry-fetch.so";

/*
 * Loads the module from the program's folder, else from its installed folder, never from the current directory. Returns
 * NULL after a message.
 */
static const fetch_module *load_module(void)
{
    char program[2048], path[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    snprintf(path, sizeof path, "%s/%s", program, module_file);
    if (access(path, F_OK) != 0) snprintf(path, sizeof path, "%s/%s/%s", program, installed, module_file);
    if (access(path, F_OK) != 0) {
        cli_message("this spry was built without libcurl and libarchive, which fetch needs (Debian, Ubuntu: "
                    "libcurl4-openssl-dev, libarchive-dev); or download matrices from " COLLECTION " by a browser");
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        cli_message("the module of fetch cannot be loaded: %s", dlerror());
        return NULL;
    }
    /* memcpy, because ISO C does not convert object pointers to function pointers. POSIX permits it. */
    fetch_module_fn get = NULL;
    void *symbol = dlsym(library, FETCH_ENTRY);
    memcpy(&get, &symbol, sizeof get);
    const fetch_module *module = get ? get() : NULL;
    if (module && module->abi == FETCH_ABI) return module;
    cli_message("%s is from another build: build and install it together with the program", path);
    return NULL;
}

/* ---- names and places ------------------------------------------------------------------------------ */

static bool is_word(const char *text, size_t length)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.";
    return length > 0 && length < 64 && text[0] != '.' && text[0] != '-' && strspn(text, allowed) >= length;
}

/* Parses "GROUP/NAME", or the address of the matrix's page in the collection. */
static int take_name(fetching *f, const char *text)
{
    static const char page[] = COLLECTION "/";
    const char *rest = strncmp(text, page, strlen(page)) == 0 ? text + strlen(page) : text;
    const char *slash = strchr(rest, '/');
    if (!slash || !is_word(rest, (size_t)(slash - rest)) || !is_word(slash + 1, strlen(slash + 1)))
        return cli_usage_error("%s: expected GROUP/NAME, such as HB/1138_bus; " COLLECTION " lists the names", text);
    snprintf(f->group, sizeof f->group, "%.*s", (int)(slash - rest), rest);
    snprintf(f->name, sizeof f->name, "%s", slash + 1);
    snprintf(f->matrix, sizeof f->matrix, "%s/%s", f->group, f->name);
    return CLI_GO_ON;
}

bool cli_folder_of_matrices(const char *given, char *folder, size_t size)
{
    const char *named = given ? given : getenv("SPRY_MATRIX_DIR");
    if (!named || !named[0]) return cache_folder(folder, size);
    return snprintf(folder, size, "%s", named) < (int)size;
}

/* Creates a folder and its parents. */
static int create_folder(const char *folder)
{
    char path[768];
    snprintf(path, sizeof path, "%s", folder);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    if (mkdir(path, 0777) == 0 || errno == EEXIST) {
        if (access(path, W_OK | X_OK) == 0) return CLI_GO_ON;
    }
    cli_message("%s: the folder for matrices cannot be created or written: %s", folder, strerror(errno));
    return CLI_USAGE;
}

/* ---- stored matrices ------------------------------------------------------------------------------- */

/* Returns true if the file is this matrix: the collection's files have the line "% name: HB/1138_bus". */
static bool is_of(const char *path, const char *matrix)
{
    static const char mark[] = "\n% name: ";
    char head[4096];
    gzFile file = gzopen(path, "rb");
    const int got = file ? gzread(file, head, sizeof head - 1) : 0;
    if (file) (void)gzclose_r(file);
    head[got > 0 ? got : 0] = '\0';
    const char *name = strstr(head, mark);
    if (!name) return false;
    name += strlen(mark);
    const size_t length = strcspn(name, " \r\n");
    return strlen(matrix) == length && strncmp(name, matrix, length) == 0;
}

/*
 * Returns true if the matrix is stored in FOLDER/GROUP, or in FOLDER (the place of earlier versions) with its name in
 * the file. Sets f->out.
 */
static bool is_stored(fetching *f)
{
    static const char *const endings[] = {".mtx.gz", ".mtx"};
    struct stat facts;
    for (int old = 0; old < 2; old++)
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
            snprintf(f->out, sizeof f->out, "%s/%s%s%s%s", f->folder, old ? "" : f->group, old ? "" : "/", f->name,
                     endings[e]);
            if (stat(f->out, &facts) != 0 || (old && !is_of(f->out, f->matrix))) continue;
            f->bytes = facts.st_size;
            f->status = "skipped";
            snprintf(f->reason, sizeof f->reason, "it is already stored");
            return true;
        }
    snprintf(f->out, sizeof f->out, "%s/%s/%s.mtx.gz", f->folder, f->group, f->name);
    return false;
}

/* ---- progress and interruption --------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    interrupted = signal_number;
}

static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupt};
    for (size_t s = 0; s < sizeof signals / sizeof *signals; s++) {
        struct sigaction old;
        if (sigaction(signals[s], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(signals[s], &action, NULL);
    }
}

static int show_progress(void *user, int64_t done, int64_t total)
{
    fetching *f = user;
    char text[320];
    if (interrupted) return 1;
    if (f->first < 0) f->first = done;
    const double seconds = 1e-6 * now_us() - f->started, share = total > 0 ? (double)done / (double)total : 0;
    const double rate = seconds > 0 ? (double)(done - f->first) / seconds : 0;
    int length = snprintf(text, sizeof text, "%s: %s, %s", f->matrix, f->step, cli_bytes(done).s);
    if (total > 0) length += snprintf(text + length, sizeof text - (size_t)length, " (%.0f%%)", 100 * share);
    if (total > 0 && rate > 0 && seconds > 0.5)
        snprintf(text + length, sizeof text - (size_t)length, ", %.0f s left", (double)(total - done) / rate);
    cli_progress(text);
    return 0;
}

static fetch_hook begin_step(fetching *f, const char *step)
{
    f->step = step;
    f->started = 1e-6 * now_us();
    f->first = -1;
    return (fetch_hook){show_progress, f};
}

/* ---- one matrix ------------------------------------------------------------------------------------ */

static void fail(fetching *f, const char *text)
{
    f->status = "failed";
    snprintf(f->reason, sizeof f->reason, "%s", text);
}

/* Adds the size of kept data, which the next call continues, to the reason. */
static void report_kept(fetching *f, int fd)
{
    struct stat facts;
    const size_t length = strlen(f->reason);
    if (fstat(fd, &facts) != 0 || facts.st_size == 0 || access(f->tag, F_OK) != 0) return;
    snprintf(f->reason + length, sizeof f->reason - length, "; %s are kept, and the same command continues",
             cli_bytes(facts.st_size).s);
}

static void report_failure(fetching *f, fetch_result result, const char *why, int fd)
{
    char text[1280];
    if (result == FETCH_NOT_FOUND)
        snprintf(text, sizeof text, "%s: %s; " COLLECTION " lists all matrices", f->url, why);
    else if (result == FETCH_STOPPED)
        snprintf(text, sizeof text, "interrupted");
    else
        snprintf(text, sizeof text, "%s: %s", f->url, why);
    fail(f, text);
    struct stat facts;
    const bool empty = fstat(fd, &facts) == 0 && facts.st_size == 0;
    if (result == FETCH_BAD_DATA || result == FETCH_NOT_FOUND || empty) {
        (void)unlink(f->part);
        (void)unlink(f->tag);
    } else {
        report_kept(f, fd);
    }
}

/* Unpacks the matrix from the received data, and renames it when complete. */
static fetch_result unpack(fetching *f, const fetch_module *module, int fd, char *why, size_t size)
{
    const fetch_hook hook = begin_step(f, "unpacking");
    struct stat facts;
    const int out = open(f->fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out < 0) {
        snprintf(why, size, "cannot be written: %s", strerror(errno));
        return FETCH_FAILED;
    }
    fetch_result result = module->unpack(fd, f->name, out, &hook, why, size);
    if (result == FETCH_DONE && fstat(out, &facts) == 0) f->bytes = facts.st_size;
    if (close(out) != 0 || (result == FETCH_DONE && rename(f->fresh, f->out) != 0)) {
        snprintf(why, size, "cannot be written: %s", strerror(errno));
        result = FETCH_FAILED;
    }
    if (result != FETCH_DONE) (void)unlink(f->fresh);
    return result;
}

static void fetch(fetching *f, const fetch_module *module, const char *base, long stall_seconds)
{
    char why[512] = "";
    const int length = snprintf(f->url, sizeof f->url, "%s/%s.tar.gz", base, f->matrix);
    char group[1024];
    snprintf(group, sizeof group, "%s/%s", f->folder, f->group);
    (void)mkdir(group, 0777); /* if this fails, opening a file in the folder fails */
    snprintf(f->part, sizeof f->part, "%s/%s/.%s.tar.gz.part", f->folder, f->group, f->name);
    snprintf(f->tag, sizeof f->tag, "%s/%s/.%s.tar.gz.tag", f->folder, f->group, f->name);
    snprintf(f->fresh, sizeof f->fresh, "%s/%s/.%s.mtx.gz.part", f->folder, f->group, f->name);
    if (length >= (int)sizeof f->url) {
        fail(f, "the address in SPRY_FETCH_URL is too long");
        return;
    }
    const int fd = open(f->part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        snprintf(why, sizeof why, "%.400s: cannot be written: %s", f->part, strerror(errno));
        fail(f, why);
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        fail(f, "another process is fetching it");
    } else {
        const fetch_hook hook = begin_step(f, "fetching");
        const fetch_source source = {f->url, fd, f->tag, stall_seconds, getenv("SPRY_FETCH_URL") != NULL};
        fetch_result result = module->download(&source, &hook, why, sizeof why);
        if (result == FETCH_DONE) result = unpack(f, module, fd, why, sizeof why);
        if (result == FETCH_DONE) {
            f->status = "ok";
            (void)unlink(f->part);
            (void)unlink(f->tag);
        } else {
            report_failure(f, result, why, fd);
        }
    }
    (void)close(fd);
    if (strcmp(f->status, "failed") == 0) (void)rmdir(group); /* succeeds only if empty */
}

static int report(const fetching *f, cli_json *json)
{
    const bool failed = strcmp(f->status, "failed") == 0;
    cli_progress(NULL);
    if (f->reason[0]) cli_message("%s%s: %s", failed ? "" : "note: ", f->matrix, f->reason);
    if (!failed && cli_for_people(json)) {
        printf("%s\n", f->out);
        fflush(stdout);
    }
    if (!json->wanted) return failed ? CLI_UNSUCCESSFUL : CLI_OK;
    cJSON *o = cJSON_CreateObject();
    const int good = cli_json_text(o, "command", "fetch") && cli_json_text(o, "matrix", f->matrix) &&
                     cli_json_text(o, "status", f->status) && cli_json_text(o, "reason", f->reason) &&
                     cli_json_text(o, "path", failed ? NULL : f->out) &&
                     cli_json_integer(o, "bytes", failed ? -1 : f->bytes);
    return cli_json_line(json, o, good) && !failed ? CLI_OK : CLI_UNSUCCESSFUL;
}

/* ---- the command ------------------------------------------------------------------------------------ */

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.timeout_us = 30e6};
    char folder[768];
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON && !cli_folder_of_matrices(a.cache, folder, sizeof folder))
        status = cli_usage_error("no folder for matrices is known, or its name is too long: use --cache DIR");
    for (int m = 0; status == CLI_GO_ON && m < argc; m++) status = take_name(&(fetching){0}, argv[m]);
    if (status == CLI_GO_ON) status = create_folder(folder);
    if (status == CLI_GO_ON) status = cli_json_open_stream(&a.json);
    if (status != CLI_GO_ON) return status;
    const char *base = getenv("SPRY_FETCH_URL");
    const fetch_module *module = NULL;
    const long stall_seconds = a.timeout_us < 1e6 ? 1 : (long)(a.timeout_us / 1e6);
    catch_signals();
    status = CLI_OK;
    for (int m = 0; m < argc && !interrupted; m++) {
        fetching f = {.folder = folder, .bytes = -1};
        (void)take_name(&f, argv[m]);
        const bool stored = is_stored(&f);
        if (!stored && !module) module = load_module();
        if (!stored && module) fetch(&f, module, base && base[0] ? base : COLLECTION "/MM", stall_seconds);
        if (!stored && !module) fail(&f, "this build cannot fetch matrices");
        const int reported = report(&f, &a.json);
        status = reported > status ? reported : status;
        if (!stored && !module) break;
    }
    return cli_json_close(&a.json, status);
}

const cli_command cli_fetch =
    {.name = "fetch",
     .summary = "download matrices of the SuiteSparse Matrix Collection",
     .usage = "GROUP/NAME... [OPTIONS]",
     .about = "Downloads matrices of the SuiteSparse Matrix Collection (" COLLECTION "), stores each as\n"
              "GROUP/NAME.mtx.gz, which every command reads, and prints its path. Stored matrices are not downloaded\n"
              "again. Interrupted downloads are continued. SPRY_FETCH_URL names another server with the collection's\n"
              "GROUP/NAME.tar.gz in Matrix Market form.",
     .examples = "  spry fetch HB/1138_bus\n"
                 "  spry spmv $(spry fetch HB/1138_bus)\n"
                 "  spry fetch Williams/cant SNAP/wiki-Vote --cache matrices\n",
     .options = options,
     .least = 1,
     .most = -1,
     .positional = "GROUP/NAME",
     .run = run};
