/* The matrices that spry bench measures: files, suites, and parts of them. */
#include "cli/bench_sources.h"

#include "common/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Matrices of each suite, in the order of suite_names: "gen:..." or the name of a file. */
static const char *const suites[][16] = {
    {"gen:grid5", "gen:grid7", "gen:grid27", "gen:fem3", "gen:road", "gen:rgg21", "G3_circuit"},
    {"gen:rmat20", "gen:rmat22", "gen:uni18", "gen:circuit", "cnr-2000", "boyd1_kkt"},
    {"gen:rgg21p", "gen:grid7p"},
    {"gen:grid5", "gen:grid7", "gen:grid27s", "gen:fem3s", "gen:road", "gen:rgg20", "gen:rmat16", "gen:rmat17",
     "gen:rmat18", "G3_circuit", "cnr-2000", "Andrews", "cont-300_kkt", "soc-Slashdot0902"},
    {"gen:grid7", "gen:grid7,distinct=4096", "gen:grid7,distinct=256", "gen:grid7,bits=24", "gen:grid27",
     "gen:grid27,distinct=256", "gen:grid27,bits=24", "gen:fem3", "gen:fem3,distinct=256", "gen:fem3,bits=24",
     "G3_circuit"},
    {"bcsstk17", "s3rmq4m1", "G3_circuit", "delaunay_n16", "cont-300_kkt"},
};
enum { UNSTRUCTURED = 5 };
static const char suite_names[] = "mesh|scattered|shuffled|products|values|unstructured";
/* Generated matrices of "unstructured", which precede its real matrices. Names and order are those of suite.tsv. */
static const char *const unstructured_names[] =
    {"p1_ball",          "p1_drilled",      "p1_box",           "p1_bracket",    "p2_ball",      "p2_pipe",
     "p2_drilled",       "p2_box",          "p3_pipe",          "p3_ball",       "elast_wing",   "p1_wing",
     "edge1_pipe",       "edge_ball",       "edge1_ball",       "edge_drilled",  "hdiv_ball",    "hdiv_pipe",
     "facet_pipe",       "facet_ball",      "elast_p2_bracket", "elast_p2_pipe", "elast_pipe",   "elast_box",
     "elast_drilled",    "apart_ball",      "apart_torus",      "fixed_bracket", "fixed_torus",  "periodic_elast",
     "periodic_box",     "bound_torus",     "bound_box",        "hex_bracket",   "hex_q2",       "hex_elast",
     "shell_tube",       "shell_torus",     "surface_torus",    "surface_tube",  "plate_p1",     "circle_p1",
     "circle_morley",    "plate_p2",        "plate_elast",      "circle_elast",  "graded_box",   "graded_bracket",
     "flow_pipe",        "flow_plate",      "flow_apart",       "dg20_torus",    "dg4_torus",    "dg6_plate",
     "dg3_torus",        "dg10_torus",      "euler3_bracket",   "euler_sparse",  "euler3_torus", "euler_airfoil",
     "volumes_periodic", "volumes_bracket", "volumes_box"};
/* Suites of the studies, and for each suite the argument of `study/run`. */
static const struct {
    const char *suite, *seed;
} studies[] = {{"seed000", "000"}, {"csrk64", "001"}, {"spgemm002", "002"}};

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

/* Refuses a file that cannot be read, before other matrices are measured. */
static int check_path(const char *path)
{
    if (strcmp(path, "-") == 0 || strncmp(path, "gen:", 4) == 0 || access(path, R_OK) == 0) return CLI_GO_ON;
    cli_message("%s: cannot be read: %s", path, strerror(errno));
    return CLI_USAGE;
}

static int is_matrix(const struct dirent *entry)
{
    static const char *const endings[] = {".mtx", ".spry", ".npz", ".edges", ".el", ".csv", ".tsv"};
    const size_t length = unpacked_length(entry->d_name);
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        const size_t cut = strlen(endings[e]);
        if (length > cut && strncmp(entry->d_name + length - cut, endings[e], cut) == 0) return 1;
    }
    return 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_matrix_market(const struct dirent *entry)
{
    return cli_ends_with(entry->d_name, ".mtx") || cli_ends_with(entry->d_name, ".mtx.gz");
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int path_in(char *path, size_t size, const char *folder, const char *name)
{
    const size_t length = strlen(folder);
    const char *const slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    if (snprintf(path, size, "%s%s%s", folder, slash, name) < (int)size) return CLI_GO_ON;
    return cli_usage_error("a file name is longer than a path can be");
}

/* Adds the matrices of a folder that `choose` accepts. Unless `within`, also adds Matrix Market files of subfolders. */
static int add_entries(cli_sources *sources, const char *folder, int (*choose)(const struct dirent *), bool within)
{
    struct dirent **entries = NULL;
    int status = CLI_GO_ON;
    const int count = scandir(folder, &entries, choose, by_bytes);
    if (count < 0 && within) return CLI_GO_ON; /* skip subfolders that cannot be read */
    if (count < 0) {
        cli_message("%s: cannot be read: %s", folder, strerror(errno));
        return CLI_USAGE;
    }
    for (int i = 0; i < count; i++) {
        char path[sizeof sources->items->path];
        struct stat st;
        if (status == CLI_GO_ON) status = path_in(path, sizeof path, folder, entries[i]->d_name);
        if (status == CLI_GO_ON && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            if (!within) status = add_entries(sources, path, is_matrix_market, true);
        } else if (status == CLI_GO_ON && is_matrix(entries[i])) {
            status = cli_add_file(sources, path);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int add_folder(cli_sources *sources, const char *folder)
{
    const int before = sources->count, status = add_entries(sources, folder, is_visible, false);
    if (status != CLI_GO_ON || sources->count > before) return status;
    return cli_usage_error("%s: there is no matrix in this folder: .mtx, .spry, .npz, .edges, .el, .csv or .tsv",
                           folder);
}

int cli_add_file(cli_sources *sources, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return add_folder(sources, path);
    int status = check_path(path);
    if (status != CLI_GO_ON) return status;
    bench_source *source = append(sources, path);
    if (!source) return CLI_UNSUCCESSFUL;
    if (strlen(path) >= sizeof source->path) return cli_usage_error("a file name is longer than a path can be");
    RECORD_TEXT(source->path, path);
    return CLI_GO_ON;
}

/* ---- suites ------------------------------------------------------------------------------------- */

/* Sets the source's path to FOLDER/WITHIN/NAME with the ending. Returns false if the file does not exist. */
static bool found(bench_source *source, const char *folder, const char *within, const char *ending)
{
    struct stat st;
    char path[sizeof source->path];
    int length = snprintf(path, sizeof path, "%s/%s%s%s%s", folder, within, within[0] ? "/" : "", source->name, ending);
    if (length >= (int)sizeof path || stat(path, &st) != 0 || S_ISDIR(st.st_mode)) return false;
    memcpy(source->path, path, sizeof path);
    return true;
}

/*
 * Sets the path to FOLDER/GROUP/NAME, where spry fetch stores the matrix, if one group has it. Returns the number of
 * such groups, at most 2. If there is more than one, sets the reason instead.
 */
static int found_in_groups(bench_source *source, const char *folder)
{
    struct dirent **entries = NULL;
    int groups = 0;
    const int count = scandir(folder, &entries, is_visible, by_bytes);
    for (int i = 0; i < count; i++) {
        const char *const group = entries[i]->d_name;
        groups += found(source, folder, group, ".mtx.gz") || found(source, folder, group, ".mtx");
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    if (groups < 2) return groups;
    source->path[0] = '\0';
    snprintf(source->reason, sizeof source->reason, "%d folders in %.200s have %.100s: name its file", groups, folder,
             source->name);
    return 2;
}

/* Finds a real matrix: NAME.mtx.gz, NAME/NAME.mtx.gz (archives of collections) or GROUP/NAME.mtx.gz (spry fetch). */
static void find_real(bench_source *source, const char *folder)
{
    if (!folder || !folder[0]) {
        snprintf(source->reason, sizeof source->reason,
                 "%.200s is a real matrix: name the folder that has %.200s.mtx.gz with --matrices or SPRY_MATRIX_DIR",
                 source->name, source->name);
        return;
    }
    const char *const within[] = {"", source->name};
    for (int w = 0; w < 2; w++)
        if (found(source, folder, within[w], ".mtx.gz") || found(source, folder, within[w], ".mtx")) return;
    if (found_in_groups(source, folder)) return;
    snprintf(source->reason, sizeof source->reason, "there is no %.100s.mtx.gz or %.100s.mtx in %.200s", source->name,
             source->name, folder);
}

/* Finds a matrix that bench/unstructured/matrices.py generates. */
static void find_unstructured(bench_source *source, const char *folder)
{
    const int is_named = folder && folder[0];
    if (is_named && (found(source, folder, "", ".spry") || found(source, folder, "", ".mtx.gz"))) return;
    snprintf(source->reason, sizeof source->reason,
             "there is no %.60s.spry%s%.120s: bench/unstructured/matrices.py TABLES %.120s %.60s generates it",
             source->name, is_named ? " in " : ", since --matrices or SPRY_MATRIX_DIR names no folder",
             is_named ? folder : "", is_named ? folder : "DIR", source->name);
}

static int append_unstructured(cli_sources *sources, const char *folder)
{
    for (size_t i = 0; i < sizeof unstructured_names / sizeof *unstructured_names; i++) {
        bench_source *source = append(sources, unstructured_names[i]);
        if (!source) return CLI_UNSUCCESSFUL;
        find_unstructured(source, folder);
    }
    return CLI_GO_ON;
}

static int append_suite(cli_sources *sources, const char *const *suite, const char *folder)
{
    for (int i = 0; suite[i]; i++) {
        bench_source *source = append(sources, suite[i]);
        if (!source) return CLI_UNSUCCESSFUL;
        if (strncmp(suite[i], "gen:", 4) == 0)
            RECORD_TEXT(source->path, suite[i]);
        else
            find_real(source, folder);
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
        if (strcmp(suite, studies[s].suite) == 0)
            return cli_usage_error("--suite %s is a study: study/run %s measures its matrices with this program and "
                                   "writes its tables",
                                   suite, studies[s].seed);
    if (cli_take_word("suite", suite, suite_names, &index) != CLI_GO_ON) return CLI_USAGE;
    char usual[4096];
    if (!folder && cli_folder_of_matrices(NULL, usual, sizeof usual) &&
        (getenv("SPRY_MATRIX_DIR") || stat(usual, &st) == 0))
        folder = usual; /* the folder of spry fetch */
    int status = index == UNSTRUCTURED ? append_unstructured(sources, folder) : CLI_GO_ON;
    return status == CLI_GO_ON ? append_suite(sources, suites[index], folder) : status;
}

int cli_make_sources_distinct(cli_sources *sources)
{
    named_matrix *m = malloc((size_t)(sources->count + 1) * sizeof *m);
    for (int s = 0; m && s < sources->count; s++)
        m[s] = (named_matrix){sources->items[s].name, sizeof sources->items[s].name, sources->items[s].path};
    const bool good = m && make_names_distinct(m, sources->count);
    free(m);
    if (!good) cli_message("out of memory");
    return good ? CLI_GO_ON : CLI_UNSUCCESSFUL;
}

/* ---- parts -------------------------------------------------------------------------------------- */

/*
 * Returns the number of list items, from `first`, that form the name when joined by commas. Names of generated matrices
 * contain commas. Returns 0 if the items do not form the name.
 */
static int items_of(const text_list *list, int first, const char *name)
{
    for (int i = first; i < list->count; i++) {
        const size_t length = strlen(list->items[i]);
        if (strncmp(list->items[i], name, length) != 0) return 0;
        if (name[length] == '\0') return i + 1 - first;
        if (name[length] != ',') return 0;
        name += length + 1;
    }
    return 0;
}

/* Returns the largest number of items, from `first`, that form the name of a source; 0: none. */
static int longest_of(const cli_sources *sources, const text_list *list, int first)
{
    int most = 0;
    for (int s = 0; s < sources->count; s++) {
        const int items = items_of(list, first, sources->items[s].name);
        if (items > most) most = items;
    }
    return most;
}

int cli_keep_only(cli_sources *sources, const text_list *names)
{
    int kept = 0;
    for (int i = 0, items; i < names->count; i += items) {
        items = longest_of(sources, names, i);
        if (items == 0)
            return cli_usage_error("--only: there is no matrix '%s' among those to measure", names->items[i]);
    }
    for (int s = 0; s < sources->count; s++) {
        int named = 0;
        for (int i = 0; i < names->count; i += longest_of(sources, names, i))
            named |= items_of(names, i, sources->items[s].name) == longest_of(sources, names, i);
        if (named) sources->items[kept++] = sources->items[s];
    }
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
