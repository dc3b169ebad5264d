/* Which matrices spry bench measures: files, suites, and parts of them. */
#include "cli/bench_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    bench_source *grown = realloc(sources->items, (size_t)(sources->count + 1) * sizeof *grown);
    if (!grown) {
        cli_message("out of memory");
        return CLI_UNSUCCESSFUL;
    }
    sources->items = grown;
    bench_source *source = &grown[sources->count];
    *source = (bench_source){0};
    if (strlen(path) >= sizeof source->path) return cli_usage_error("a file name is longer than a path can be");
    bench_matrix_name(source->name, sizeof source->name, path);
    snprintf(source->path, sizeof source->path, "%s", path);
    sources->count++;
    return CLI_GO_ON;
}

int cli_add_suite(cli_sources *sources, const char *suite, const char *folder)
{
    struct stat st;
    if (folder && (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)))
        return cli_usage_error("--matrices is '%s', expected a folder that exists", folder);
    if (!suite) return folder ? cli_usage_error("--matrices goes with --suite: name the files themselves") : CLI_GO_ON;
    if (!folder) folder = getenv("SPRY_MATRIX_DIR");
    if (strcmp(suite, "seed000") == 0 && (!folder || !folder[0]))
        return cli_usage_error("--suite seed000 measures every matrix of a folder: name it with --matrices or "
                               "SPRY_MATRIX_DIR");
    switch (bench_suite_sources(suite, folder, &sources->items, &sources->count)) {
    case 1: return CLI_GO_ON;
    case -2: cli_message("out of memory"); return CLI_UNSUCCESSFUL;
    default: break;
    }
    int index = 0;
    cli_take_name("suite", suite, bench_suite_names, &index);
    return CLI_USAGE;
}

static int by_entries(const void *a, const void *b)
{
    const bench_source *p = a, *q = b;
    return (p->entries > q->entries) - (p->entries < q->entries);
}

void cli_sort_sources(cli_sources *sources)
{
    qsort(sources->items, (size_t)sources->count, sizeof *sources->items, by_entries);
}

int cli_keep_only(cli_sources *sources, const cli_list *names)
{
    int kept = 0;
    for (int i = 0; i < names->count; i++) {
        int there = 0;
        for (int s = 0; s < sources->count; s++) there |= strcmp(sources->items[s].name, names->items[i]) == 0;
        if (!there) return cli_usage_error("--only: there is no matrix '%s' among those to measure", names->items[i]);
    }
    for (int s = 0; s < sources->count; s++) {
        int named = 0;
        for (int i = 0; i < names->count; i++) named |= strcmp(sources->items[s].name, names->items[i]) == 0;
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
