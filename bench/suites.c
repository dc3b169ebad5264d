/* Named lists of matrices: generated ones, and real files from a folder that the user names. */
#include "bench/bench.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct suite {
    const char *name;
    const char *matrices[16]; /* "gen:..." or the name of a file */
} suite;

static const suite suites[] = {
    {"mesh", {"gen:grid5", "gen:grid7", "gen:grid27", "gen:fem3", "gen:road", "gen:rgg21", "G3_circuit"}},
    {"scattered", {"gen:rmat20", "gen:rmat22", "gen:uni18", "gen:circuit", "cnr-2000", "boyd1_kkt"}},
    {"shuffled", {"gen:rgg21p", "gen:grid7p"}},
    {"products",
     {"gen:grid5", "gen:grid7", "gen:grid27s", "gen:fem3s", "gen:road", "gen:rgg20", "gen:rmat16", "gen:rmat17",
      "gen:rmat18", "G3_circuit", "cnr-2000", "Andrews", "cont-300_kkt", "soc-Slashdot0902"}},
};

const char *const bench_suite_names[] = {"mesh",    "scattered", "shuffled",  "products",
                                         "seed000", "csrk64",    "spgemm002", NULL};

void bench_matrix_name(char *name, size_t size, const char *path)
{
    if (strcmp(path, "-") == 0) path = "stdin";
    if (strncmp(path, "gen:", 4) == 0) {
        snprintf(name, size, "%s", path + 4);
        return;
    }
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash && slash[1] ? slash + 1 : path);
    static const char *const endings[] = {".gz", ".mtx"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        size_t length = strlen(name), cut = strlen(endings[e]);
        if (length > cut && strcmp(name + length - cut, endings[e]) == 0) name[length - cut] = '\0';
    }
}

static int is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Where the collections put a matrix: NAME.mtx.gz, or in a folder of its own. */
static void find_file(bench_source *source, const char *folder)
{
    if (!folder || !folder[0]) {
        snprintf(source->reason, sizeof source->reason,
                 "%.200s is a real matrix: name the folder that has %.200s.mtx.gz with --matrices or SPRY_MATRIX_DIR",
                 source->name, source->name);
        return;
    }
    static const char *const endings[] = {".mtx.gz", ".mtx"};
    for (int own = 0; own < 2; own++)
        for (int e = 0; e < 2; e++) {
            char path[sizeof source->path];
            int length = snprintf(path, sizeof path, "%s/%s%s%s%s", folder, own ? source->name : "", own ? "/" : "",
                                  source->name, endings[e]);
            if (length >= (int)sizeof path || !is_file(path)) continue;
            memcpy(source->path, path, sizeof path);
            return;
        }
    snprintf(source->reason, sizeof source->reason, "there is no %.100s.mtx.gz or %.100s.mtx in %.200s", source->name,
             source->name, folder);
}

static bench_source *append_empty(bench_source **sources, int *count)
{
    bench_source *grown = realloc(*sources, (size_t)(*count + 1) * sizeof *grown);
    if (!grown) return NULL;
    *sources = grown;
    grown[*count] = (bench_source){0};
    return &grown[(*count)++];
}

static int append(bench_source **sources, int *count, const char *matrix, const char *folder)
{
    bench_source *source = append_empty(sources, count);
    if (!source) return 0;
    bench_matrix_name(source->name, sizeof source->name, matrix);
    if (strncmp(matrix, "gen:", 4) == 0)
        snprintf(source->path, sizeof source->path, "%s", matrix);
    else
        find_file(source, folder);
    return 1;
}

/* ---- every matrix of a folder ------------------------------------------------------------------- */

static int ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

/* A file of a matrix, or a folder that may hold one of its own name. */
static int may_be_matrix(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (ends_with(entry->d_name, ".mtx") || ends_with(entry->d_name, ".mtx.gz") || !strchr(entry->d_name, '.'));
}

/* In the order of their names. 0: out of memory. */
static int append_folder(bench_source **sources, int *count, const char *folder)
{
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, may_be_matrix, alphasort), good = found >= 0;
    for (int e = 0; e < found; e++) {
        bench_source *source = good ? append_empty(sources, count) : NULL;
        good = source != NULL;
        if (source) {
            bench_matrix_name(source->name, sizeof source->name, entries[e]->d_name);
            find_file(source, folder);
            if (!source->path[0]) --*count; /* a folder of something else */
        }
        free(entries[e]);
    }
    free(entries);
    return good;
}

/* 0: out of memory. */
static int append_csrk64(bench_source **sources, int *count, const char *folder)
{
    for (int m = 0; m < BENCH_CSRK64; m++) {
        if (!append(sources, count, bench_csrk64[m].name, folder)) return 0;
        bench_source *source = &(*sources)[*count - 1];
        source->entries = bench_csrk64[m].entries;
        if (source->path[0]) continue;
        source->twin = 1;
        source->reason[0] = '\0';
        bench_twin_spec(source->path, sizeof source->path, &bench_csrk64[m]);
    }
    return 1;
}

/* 0: out of memory. */
static int append_random(bench_source **sources, int *count, int size, double density)
{
    char matrix[128];
    snprintf(matrix, sizeof matrix, "gen:random,rows=%d,cols=%d,density=%g", size, size, density);
    return append(sources, count, matrix, NULL);
}

/* Rose 2013: three densities over sizes, here past the 65 536 of the study; 4096 x 4096 over densities. */
static int append_spgemm002(bench_source **sources, int *count)
{
    static const double over_sizes[] = {1e-3, 1e-4, 1e-5};
    static const int largest[] = {65536, 262144, 1048576};
    static const double over_densities[] = {3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2};
    int good = 1;
    for (int d = 0; d < 3; d++)
        for (int size = 256; size <= largest[d] && good; size *= 2)
            good = append_random(sources, count, size, over_sizes[d]);
    for (size_t d = 0; d < sizeof over_densities / sizeof *over_densities && good; d++)
        if (over_densities[d] != 1e-3 && over_densities[d] != 1e-4) /* which are there already */
            good = append_random(sources, count, 4096, over_densities[d]);
    return good;
}

int bench_suite_sources(const char *name, const char *folder, bench_source **sources, int *count)
{
    if (strcmp(name, "seed000") == 0) return !folder || !folder[0] ? 1 : append_folder(sources, count, folder) ? 1 : -2;
    if (strcmp(name, "csrk64") == 0) return append_csrk64(sources, count, folder) ? 1 : -2;
    if (strcmp(name, "spgemm002") == 0) return append_spgemm002(sources, count) ? 1 : -2;
    for (size_t s = 0; s < sizeof suites / sizeof *suites; s++) {
        if (strcmp(name, suites[s].name) != 0) continue;
        for (int i = 0; suites[s].matrices[i]; i++)
            if (!append(sources, count, suites[s].matrices[i], folder)) return -2;
        return 1;
    }
    return 0;
}
