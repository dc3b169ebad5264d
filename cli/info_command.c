/* spry info: shows properties of a matrix. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "common/density.h"
#include "common/input.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of storage ------------------------------------------------------------------------------- */

/* Explains the choice for A, with the sizes of all formats. Returns NULL after a failure. */
static spry_explanation *explain(spry_context *context, const spry_matrix *A)
{
    spry_explain_options options = SPRY_INIT(spry_explain_options);
    spry_explanation *e = NULL;
    options.storage_of = "all";
    return spry_spmv_explain(context, &e, A, &options, NULL) == SPRY_OK ? e : NULL;
}

/* Finds the candidate of a format. Returns false if its sizes are not known. */
static bool find_storage(spry_candidate *storage, const spry_explanation *e, const char *format)
{
    for (int k = 0;; k++) {
        *storage = SPRY_INIT(spry_candidate);
        if (spry_explanation_get_candidate(e, storage, k, NULL) != SPRY_OK) return false;
        if (strcmp(storage->format, format) == 0) return storage->storage_bytes >= 0;
    }
}

/*
 * Calls visit for each format with known sizes, in the order of spry_format_get_info. Returns false if visit returns
 * false.
 */
static bool for_each_storage(const spry_explanation *e, bool (*visit)(void *user, const spry_candidate *storage),
                             void *user)
{
    spry_format_info info = SPRY_INIT(spry_format_info);
    spry_candidate storage;
    for (int f = 0; spry_format_get_info(&info, f, NULL) == SPRY_OK; f++)
        if (find_storage(&storage, e, info.name) && !visit(user, &storage)) return false;
    return true;
}

static const cli_column columns[] = {{"storage", 1, 0}, {"words", 0, 0},   {"bytes", 0, 0},
                                     {"of csr", 0, 0},  {"padding", 0, 1}, {"sizes", 1, 2}};

typedef struct storage_table {
    cli_table table;
    double csr_bytes;
    int64_t nnz;
    char refused[256];
} storage_table;

static void add_sizes(storage_table *t, const char *name, double words, double bytes)
{
    const double percent = t->csr_bytes > 0 ? fmin(100 * bytes / t->csr_bytes, 9e17) + 0.5 : 0;
    cli_table_row(&t->table, ' ');
    cli_table_cell(&t->table, "%s", name);
    cli_table_cell(&t->table, "%s", words < 9e18 ? cli_count((int64_t)words).s : "very many");
    cli_table_cell(&t->table, "%s", cli_bytes(bytes < 9e18 ? (int64_t)bytes : INT64_MAX).s);
    cli_table_cell(&t->table, "%s %%", cli_count((int64_t)percent).s);
}

static bool add_row(void *user, const spry_candidate *s)
{
    storage_table *t = user;
    add_sizes(t, s->format, (double)s->elements, (double)s->storage_bytes);
    if (s->padding > 0)
        cli_table_cell(&t->table, "%.0f %%", 100 * (double)s->padding / (double)(s->padding + t->nnz));
    else
        cli_table_cell(&t->table, "%s", "");
    cli_table_cell(&t->table, "%s", s->parameters);
    const size_t used = strlen(t->refused);
    if (s->over_limit) snprintf(t->refused + used, sizeof t->refused - used, "%s%s", used ? ", " : "", s->format);
    return true;
}

/* Prints the sizes of A in each format, and the choice of "auto". */
static void print_storage(spry_context *context, const spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_explanation_info chosen = SPRY_INIT(spry_explanation_info);
    spry_candidate csr;
    spry_explanation *e = explain(context, A);
    if (e && spry_matrix_get_arrays(A, &a, NULL) == SPRY_OK && find_storage(&csr, e, "csr") &&
        spry_explanation_get_info(e, &chosen, NULL) == SPRY_OK) {
        const double value = a.value_type == SPRY_PATTERN ? 8 : (double)spry_type_bytes(a.value_type);
        const double dense = (double)a.rows * (double)a.columns;
        storage_table t = {.csr_bytes = (double)csr.storage_bytes, .nnz = a.nnz};
        cli_table_begin(&t.table, columns, sizeof columns / sizeof *columns);
        add_sizes(&t, "dense", dense, dense * value);
        (void)for_each_storage(e, add_row, &t);
        putchar('\n');
        cli_table_print(stdout, &t.table);
        if (t.refused[0])
            cli_print_line(stdout, "refused", "%s: too much padding, unless a memory limit allows it", t.refused);
        cli_print_line(stdout, "auto picks", "%s", chosen.reason);
    }
    spry_explanation_destroy(e);
}

static bool add_item(void *list, const spry_candidate *s)
{
    cJSON *item = cli_json_item(list);
    return cli_json_text(item, "format", s->format) && cli_json_text(item, "parameters", s->parameters) &&
           cli_json_integer(item, "words", s->elements) && cli_json_integer(item, "bytes", s->storage_bytes) &&
           cli_json_integer(item, "padding", s->padding) && cJSON_AddBoolToObject(item, "refused", s->over_limit);
}

/* Adds the sizes of A in each format, and the choice of "auto", to a JSON object. Returns false if memory is short. */
static bool add_storage(struct cJSON *o, spry_context *context, const spry_matrix *A)
{
    cJSON *list = cJSON_AddArrayToObject(o, "storage");
    spry_explanation_info chosen = SPRY_INIT(spry_explanation_info);
    spry_explanation *e = list ? explain(context, A) : NULL;
    bool added = list != NULL;
    if (e && spry_explanation_get_info(e, &chosen, NULL) == SPRY_OK)
        added = for_each_storage(e, add_item, list) && cli_json_text(o, "auto", chosen.format) &&
                cli_json_text(o, "auto_reason", chosen.reason);
    spry_explanation_destroy(e);
    return added;
}

enum { SPY_WIDTH = 56, SPY_HEIGHT = 24, BAR_WIDTH = 40 };

typedef struct arguments {
    spry_type type;
    int64_t picture;
    cli_json json;
} arguments;

static const cli_option options[] = {
    {"type", 0, "f32|f64|pattern|bf16|f16", "type of the values, for the storage figures (default: f64)", CLI_CHOICE,
     CLI_AT(type), SPRY_F32},
    {"picture", 0, "N", "JSON: add the number of entries in each of N x N parts; fewer for small matrices", CLI_INTEGER,
     CLI_AT(picture), 1, 1024},
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("one JSON object"),
    CLI_END_OF_OPTIONS,
};

typedef struct facts {
    cli_input input;
    spry_matrix_stats s;
    spry_matrix_report r;
    spry_source_info source; /* properties of the file */
    int64_t picture;         /* number of parts per side of the picture in JSON; 0: no picture */
} facts;

/* ---- for people --------------------------------------------------------------------------------- */

static const char *symmetry_text(const facts *f)
{
    if (f->input.arrays.nnz == 0) return "no entries, so nothing to be symmetric";
    if (f->input.arrays.symmetry == SPRY_SKEW_SYMMETRIC) return "skew-symmetric, as the file says";
    if (f->input.arrays.symmetry == SPRY_SYMMETRIC) return "symmetric, as the file says";
    if (f->s.value_symmetric == SPRY_KNOWN_YES) return "symmetric in pattern and values";
    if (f->s.pattern_symmetric == SPRY_KNOWN_YES) return "symmetric in pattern, not in values";
    if (f->s.pattern_symmetric == SPRY_KNOWN_NO) return "not symmetric";
    return "not known";
}

static int last_bin(const spry_matrix_stats *s)
{
    int last = SPRY_HISTOGRAM_BINS - 1;
    while (last > 0 && s->histogram[last] == 0) last--;
    return last;
}

static void print_histogram(const spry_matrix_stats *s)
{
    const int last = last_bin(s);
    int64_t most = 1;
    for (int b = 0; b <= last; b++)
        if (s->histogram[b] > most) most = s->histogram[b];
    printf("\n  rows by their number of entries\n");
    for (int b = 0; b <= last; b++) {
        char range[112];
        if (b < 2)
            snprintf(range, sizeof range, "%d", b);
        else
            snprintf(range, sizeof range, "%s - %s", cli_count(INT64_C(1) << (b - 1)).s,
                     cli_count((INT64_C(1) << b) - 1).s);
        printf("  %19s  %13s%s", range, cli_count(s->histogram[b]).s, s->histogram[b] > 0 ? "  " : "");
        cli_print_bar(stdout, (double)s->histogram[b] / (double)most, BAR_WIDTH);
        putchar('\n');
    }
}

/* Prints a picture with the matrix's proportions. A character is about twice as high as wide. */
static int print_picture(const facts *f)
{
    const int64_t rows = f->input.arrays.rows, cols = f->input.arrays.columns;
    if (rows == 0 || cols == 0) return 1;
    int width = SPY_WIDTH, height = SPY_HEIGHT;
    double ratio = (double)rows / (double)cols;
    if (ratio < 1) height = (int)(width * ratio / 2 + 0.5);
    if (ratio > 1) width = (int)(2 * height / ratio + 0.5);
    if (height < 1) height = 1;
    if (height > SPY_HEIGHT) height = SPY_HEIGHT;
    if (width < 2) width = 2;
    if (height > rows) height = (int)rows;
    if (width > cols) width = (int)cols;
    printf("\n  where entries lie; a character is %s x %s, rows x columns\n", cli_count((rows + height - 1) / height).s,
           cli_count((cols + width - 1) / width).s);
    return cli_print_spy(stdout, f->input.A, height, width, 2);
}

/* Prints "Matrix Market, gzip: coordinate, real, symmetric; 6 entries, by column, no duplicates". */
static void print_source(const spry_source_info *s)
{
    char text[512];
    int used = snprintf(text, sizeof text, "%s%s%s: %s", s->kind, s->packing[0] ? ", " : "", s->packing, s->layout);
    const char *const more[] = {s->field, s->symmetry};
    for (int m = 0; m < 2; m++)
        if (more[m][0]) used += snprintf(text + used, sizeof text - (size_t)used, ", %s", more[m]);
    if (s->entries >= 0)
        used += snprintf(text + used, sizeof text - (size_t)used, "; %s entries", cli_count(s->entries).s);
    if (s->by_row == SPRY_KNOWN_YES || s->by_column == SPRY_KNOWN_YES)
        used += snprintf(text + used, sizeof text - (size_t)used, ", by %s",
                         s->by_row == SPRY_KNOWN_YES ? "row" : "column");
    else if (s->by_row == SPRY_KNOWN_NO && s->by_column == SPRY_KNOWN_NO)
        used += snprintf(text + used, sizeof text - (size_t)used, ", in no order");
    if (s->duplicates != SPRY_NOT_KNOWN)
        snprintf(text + used, sizeof text - (size_t)used, ", %s",
                 s->duplicates == SPRY_KNOWN_YES ? "some at one place" : "no duplicates");
    if (s->kind[0] && strcmp(s->kind, "generated") != 0) cli_print_line(stdout, "file", "%s", text);
}

static void print_facts(const facts *f)
{
    const spry_arrays *a = &f->input.arrays;
    const spry_matrix_stats *s = &f->s;
    printf("%s\n", f->input.name);
    cli_print_line(stdout, "size", "%s x %s, %s entries", cli_count(a->rows).s, cli_count(a->columns).s,
                   cli_count(a->nnz).s);
    print_source(&f->source);
    cli_print_line(stdout, "symmetry", "%s", symmetry_text(f));
    cli_print_line(stdout, "in memory", "sorted: %s; duplicates: %s; values: %s; indices: %d/%d bits",
                   cli_known(a->sorted),
                   a->unique == SPRY_KNOWN_YES  ? "none"
                   : a->unique == SPRY_KNOWN_NO ? "some"
                                                : "not known",
                   spry_type_name(a->value_type), 8 * index_type_bytes(a->offset_type),
                   8 * index_type_bytes(a->index_type));
    char where[96] = ""; /* empty if the matrix has no rows */
    if (s->longest_row >= 0)
        snprintf(where, sizeof where, " (row %s, counted from %d)", cli_count(s->longest_row + f->input.base).s,
                 f->input.base);
    cli_print_line(stdout, "row lengths", "min %s, mean %.3f, max %s%s, variance %.3f: %s", cli_count(s->min_row).s,
                   s->mean_row, cli_count(s->max_row).s, where, s->variance_row, row_length_class(s));
    cli_print_line(stdout, "empty rows", "%s", cli_count(s->empty_rows).s);
    cli_print_line(stdout, "diagonal", "%s of %s stored", cli_count(s->diagonal_entries).s,
                   cli_count(a->rows < a->columns ? a->rows : a->columns).s);
    cli_print_line(stdout, "bandwidth", "%s, as far as an entry lies from the diagonal", cli_count(s->bandwidth).s);
    cli_print_line(stdout, "profile", "%s, the same to the left, summed over rows", cli_count(s->profile).s);
    if (f->r.not_finite > 0)
        cli_print_line(stdout, "not finite", "%s values, the first in row %lld (counted from %d)",
                       cli_count(f->r.not_finite).s, (long long)f->r.first_not_finite_major + f->input.base,
                       f->input.base);
}

/* ---- JSON --------------------------------------------------------------------------------------- */

/* Adds the bins up to the last non-empty bin. */
static int json_histogram(cJSON *o, const spry_matrix_stats *s)
{
    const int last = last_bin(s);
    cJSON *list = cJSON_AddArrayToObject(o, "histogram");
    for (int b = 0; list && b <= last; b++) {
        cJSON *item = cli_json_item(list);
        if (!cli_json_integer(item, "from", b < 2 ? b : INT64_C(1) << (b - 1)) ||
            !cli_json_integer(item, "to", b < 2 ? b : (INT64_C(1) << b) - 1) ||
            !cli_json_integer(item, "rows", s->histogram[b]))
            return 0;
    }
    return list != NULL;
}

/*
 * Adds the number of entries in each part of the picture, row by row; null if not requested or if the matrix has no
 * rows or columns.
 */
static int json_picture(cJSON *o, const facts *f)
{
    const int64_t rows = f->input.arrays.rows, cols = f->input.arrays.columns;
    const int height = (int)(rows < f->picture ? rows : f->picture);
    const int width = (int)(cols < f->picture ? cols : f->picture);
    if (height == 0 || width == 0) return cJSON_AddNullToObject(o, "picture") != NULL;
    cJSON *lines = cJSON_AddArrayToObject(o, "picture");
    int64_t *counts = calloc((size_t)height * (size_t)width, sizeof *counts);
    int good = lines && counts && count_density(f->input.A, counts, height, width, NULL) == SPRY_OK;
    for (int r = 0; good && r < height; r++) {
        cJSON *line = cJSON_CreateArray();
        good = line && cJSON_AddItemToArray(lines, line);
        for (int c = 0; good && c < width; c++) {
            cJSON *number = cJSON_CreateNumber((double)counts[r * width + c]);
            good = number && cJSON_AddItemToArray(line, number);
        }
    }
    free(counts);
    return good;
}

static int json_known(cJSON *o, const char *name, spry_known k)
{
    return cli_json_flag(o, name, k == SPRY_NOT_KNOWN ? -1 : k == SPRY_KNOWN_YES);
}

/* Adds the object "file"; null for generated matrices. */
static int json_source(cJSON *o, const spry_source_info *s)
{
    if (!s->kind[0] || strcmp(s->kind, "generated") == 0) return cJSON_AddNullToObject(o, "file") != NULL;
    cJSON *file = cJSON_AddObjectToObject(o, "file");
    return file && cli_json_text(file, "kind", s->kind) && cli_json_text(file, "packing", s->packing) &&
           cli_json_text(file, "layout", s->layout) && cli_json_text(file, "field", s->field) &&
           cli_json_text(file, "symmetry", s->symmetry) && cli_json_integer(file, "rows", s->rows) &&
           cli_json_integer(file, "columns", s->columns) && cli_json_integer(file, "entries", s->entries) &&
           json_known(file, "by_row", s->by_row) && json_known(file, "by_column", s->by_column) &&
           json_known(file, "duplicates", s->duplicates);
}

static int json_facts(cJSON *o, const facts *f)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    const spry_arrays *a = &f->input.arrays;
    const spry_matrix_stats *s = &f->s;
    return cli_json_begin(o, f->input.name, RECORD_OK, NULL) && cli_json_integer(o, "rows", a->rows) &&
           cli_json_integer(o, "columns", a->columns) && cli_json_integer(o, "nnz", a->nnz) &&
           cli_json_text(o, "class", row_length_class(s)) && cli_json_text(o, "type", spry_type_name(a->value_type)) &&
           cli_json_text(o, "index", index_pair_name(a)) && cli_json_text(o, "symmetry", symmetries[a->symmetry]) &&
           json_known(o, "pattern_symmetric", s->pattern_symmetric) &&
           cli_json_number(o, "pattern_symmetry", s->pattern_symmetry) &&
           json_known(o, "value_symmetric", s->value_symmetric) && json_known(o, "sorted", a->sorted) &&
           json_known(o, "unique", a->unique) && cli_json_integer(o, "min_row", s->min_row) &&
           cli_json_number(o, "mean_row", s->mean_row) && cli_json_integer(o, "max_row", s->max_row) &&
           cli_json_integer(o, "index_base", f->input.base) &&
           cli_json_integer(o, "longest_row", s->longest_row < 0 ? -1 : s->longest_row + f->input.base) &&
           cli_json_number(o, "variance_row", s->variance_row) && cli_json_integer(o, "empty_rows", s->empty_rows) &&
           cli_json_integer(o, "diagonal_entries", s->diagonal_entries) &&
           cli_json_integer(o, "bandwidth", s->bandwidth) && cli_json_integer(o, "profile", s->profile) &&
           cli_json_integer(o, "not_finite", f->r.not_finite) && add_storage(o, f->input.context, f->input.A) &&
           json_histogram(o, s) && json_picture(o, f) && json_source(o, &f->source);
}

/* ---- command ------------------------------------------------------------------------------------ */

static int show(const facts *f, cli_json *json)
{
    int good = 1, status = cli_json_open(json);
    if (status != CLI_GO_ON) return status;
    if (json->wanted) {
        cJSON *o = cJSON_CreateObject();
        good = cli_json_line(json, o, json_facts(o, f));
    }
    if (good && cli_for_people(json)) {
        print_facts(f);
        print_storage(f->input.context, f->input.A);
        good = print_picture(f);
        if (f->input.arrays.rows > 0) print_histogram(&f->s);
    }
    return cli_json_close(json, good ? CLI_OK : CLI_UNSUCCESSFUL);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    facts f = {.s = SPRY_INIT(spry_matrix_stats),
               .r = SPRY_INIT(spry_matrix_report),
               .source = SPRY_INIT(spry_source_info)};
    spry_error err = {0};
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = cli_check_output("json", a.json.path, argv[0]);
    if (status != CLI_GO_ON) return status;
    status = cli_open_input(&f.input, argv[0], a.type, 0);
    if (status == CLI_GO_ON && (spry_matrix_check(f.input.A, &f.r, SPRY_CHECK_ALL, &err) != SPRY_OK ||
                                spry_matrix_get_stats(f.input.A, &f.s, &err) != SPRY_OK ||
                                spry_matrix_get_source(f.input.A, &f.source, &err) != SPRY_OK))
        status = cli_fail(&err);
    f.picture = a.picture;
    if (status == CLI_GO_ON) status = show(&f, &a.json);
    cli_close_input(&f.input);
    return status;
}

const cli_command cli_info =
    {.name = "info",
     .summary = "show properties of a matrix: sizes, row lengths, picture",
     .usage = "FILE [OPTIONS]",
     .about = "Shows the sizes, symmetry, row lengths, bandwidth and storage of a matrix, a picture of its\n"
              "entries, and a histogram of its row lengths. Regular: the variance of the row lengths is at\n"
              "most 10. Words: the number of stored values and indices.",
     .examples = "  spry info matrix.mtx.gz\n"
                 "  spry info gen:rmat16 --json\n",
     .options = options,
     .run = run};
