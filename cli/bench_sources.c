/* Which matrices spry bench measures: files, suites, and parts of them. */
#include "cli/bench_sources.h"

#include "common/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order of the names below: "gen:..." or the name of a file. */
enum { MOST_OF_A_SUITE = 72 };
static const char *const suites[][MOST_OF_A_SUITE] = {
    {"gen:grid5", "gen:grid7", "gen:grid27", "gen:fem3", "gen:road", "gen:rgg21", "G3_circuit"},
    {"gen:rmat20", "gen:rmat22", "gen:uni18", "gen:circuit", "cnr-2000", "boyd1_kkt"},
    {"gen:rgg21p", "gen:grid7p"},
    {"gen:grid5", "gen:grid7", "gen:grid27s", "gen:fem3s", "gen:road", "gen:rgg20", "gen:rmat16", "gen:rmat17",
     "gen:rmat18", "G3_circuit", "cnr-2000", "Andrews", "cont-300_kkt", "soc-Slashdot0902"},
    /* Those of bench/unstructured/suite.tsv, and real ones. */
    {"p1_ball",          "p1_drilled",    "p1_box",           "p1_bracket",    "p2_ball",        "p2_pipe",
     "p2_drilled",       "p2_box",        "p3_pipe",          "p3_ball",       "edge1_pipe",     "edge_ball",
     "edge1_ball",       "edge_drilled",  "hdiv_ball",        "hdiv_pipe",     "facet_pipe",     "facet_ball",
     "elast_p2_bracket", "elast_p2_pipe", "elast_box",        "elast_drilled", "apart_ball",     "apart_torus",
     "fixed_bracket",    "fixed_torus",   "periodic_elast",   "periodic_box",  "bound_torus",    "bound_box",
     "hex_bracket",      "hex_q2",        "hex_elast",        "shell_tube",    "shell_torus",    "surface_torus",
     "surface_tube",     "plate_p1",      "circle_p1",        "circle_morley", "plate_p2",       "plate_elast",
     "circle_elast",     "graded_box",    "graded_bracket",   "flow_pipe",     "flow_plate",     "flow_apart",
     "dg20_torus",       "dg4_torus",     "dg6_plate",        "dg10_torus",    "euler3_bracket", "euler_sparse",
     "euler3_torus",     "euler_airfoil", "volumes_periodic", "volumes_box",   "bcsstk17",       "s3rmq4m1",
     "G3_circuit",       "delaunay_n16",  "cont-300_kkt"},
};
static const char suite_names[] = "mesh|scattered|shuffled|products|unstructured";
/* Each is a script of its own in study/, with its tables. */
static const char *const studies[] = {"seed000", "csrk64", "spgemm002"};

static bench_source *append(cli_sources *sources, const char *matrix)
{
    bench_source *grown = realloc(sources->items, (size_t)(sources->count + 1) * sizeof *grown);
    if (!grown) {
        cli_message("out of memory");
        return NULL;
    }
    sources->items = grown;
    bench_source *source = &grown[sources->count++];
    *source = (bench_source){0};
    matrix_name(source->name, sizeof source->name, matrix);
    return source;
}

/* ---- files -------------------------------------------------------------------------------------- */

/* A name mistyped should be told before minutes are spent on the others. */
static int check_path(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0 || strncmp(path, "gen:", 4) == 0) return CLI_GO_ON;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if (access(path, R_OK) == 0)
        return CLI_GO_ON;
    cli_message("%s: cannot be read: %s", path, strerror(errno));
    return CLI_USAGE;
}

int cli_add_file(cli_sources *sources, const char *path)
{
    int status = check_path(path);
    if (status != CLI_GO_ON) return status;
    bench_source *source = append(sources, path);
    if (!source) return CLI_UNSUCCESSFUL;
    if (strlen(path) >= sizeof source->path) return cli_usage_error("a file name is longer than a path can be");
    RECORD_TEXT(source->path, path);
    return CLI_GO_ON;
}

/* ---- suites ------------------------------------------------------------------------------------- */

/* Where the collections put a matrix: NAME.mtx.gz (or .mtx, .spry), or in a folder of its own. */
static void find_file(bench_source *source, const char *folder)
{
    static const char *const endings[] = {".spry", ".mtx.gz", ".mtx"};
    if (!folder || !folder[0]) {
        snprintf(source->reason, sizeof source->reason,
                 "%.200s is no generated matrix: name the folder that has %.200s.mtx.gz or .spry with --matrices or "
                 "SPRY_MATRIX_DIR",
                 source->name, source->name);
        return;
    }
    for (int own = 0; own < 2; own++)
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
            struct stat st;
            char path[sizeof source->path];
            int length = snprintf(path, sizeof path, "%s/%s%s%s%s", folder, own ? source->name : "", own ? "/" : "",
                                  source->name, endings[e]);
            if (length >= (int)sizeof path || stat(path, &st) != 0 || S_ISDIR(st.st_mode)) continue;
            memcpy(source->path, path, sizeof path);
            return;
        }
    snprintf(source->reason, sizeof source->reason,
             "there is no %.100s.mtx.gz, .mtx or .spry in %.200s (bench/unstructured makes those of that suite)",
             source->name, folder);
}

static int append_suite(cli_sources *sources, const char *const *suite, const char *folder)
{
    for (int i = 0; suite[i]; i++) {
        bench_source *source = append(sources, suite[i]);
        if (!source) return CLI_UNSUCCESSFUL;
        if (strncmp(suite[i], "gen:", 4) == 0)
            RECORD_TEXT(source->path, suite[i]);
        else
            find_file(source, folder);
    }
    return CLI_GO_ON;
}

int cli_add_suite(cli_sources *sources, const char *suite, const char *folder)
{
    struct stat st;
    int index = 0;
    if (folder && (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)))
        return cli_usage_error("--matrices is '%s', expected a folder that exists", folder);
    if (!suite) return folder ? cli_usage_error("--matrices goes with --suite: name the files themselves") : CLI_GO_ON;
    for (size_t s = 0; s < sizeof studies / sizeof *studies; s++)
        if (strcmp(suite, studies[s]) == 0)
            return cli_usage_error("--suite %s is a study: study/%s.py measures its matrices with this program and "
                                   "prints its tables",
                                   suite, suite);
    if (cli_take_word("suite", suite, suite_names, &index) != CLI_GO_ON) return CLI_USAGE;
    return append_suite(sources, suites[index], folder ? folder : getenv("SPRY_MATRIX_DIR"));
}

/* ---- parts -------------------------------------------------------------------------------------- */

int cli_keep_only(cli_sources *sources, const text_list *names)
{
    int kept = 0;
    for (int i = 0; i < names->count; i++) {
        int there = 0;
        for (int s = 0; s < sources->count; s++) there |= strcmp(sources->items[s].name, names->items[i]) == 0;
        if (!there) return cli_usage_error("--only: there is no matrix '%s' among those to measure", names->items[i]);
    }
    for (int s = 0; s < sources->count; s++)
        if (text_list_has(names, sources->items[s].name)) sources->items[kept++] = sources->items[s];
    sources->count = kept;
    return CLI_GO_ON;
}

void cli_keep_part(cli_sources *sources, int64_t part, int64_t parts)
{
    int kept = 0;
    for (int s = 0; s < sources->count; s++)
        if (s % parts == part - 1) sources->items[kept++] = sources->items[s];
    sources->count = kept;
}
