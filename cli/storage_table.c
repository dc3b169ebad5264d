/* The table of storage in `spry info`: words and bytes of each format, predicted without building any. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "spry/tools.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* SPRY_OK with the figure; a format that cannot be asked (out of memory) is left out. */
static spry_status predict(spry_storage *storage, spry_context *context, const spry_matrix *A, const char *format)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    *storage = SPRY_INIT(spry_storage);
    options.format = format;
    return spry_spmv_predict_storage(context, storage, A, &options, NULL);
}

static const cli_column columns[] = {{"storage", 1, 0}, {"words", 0, 0},   {"bytes", 0, 0},
                                     {"of csr", 0, 0},  {"padding", 0, 1}, {"sizes", 1, 2}};

static void add_sizes(cli_table *t, const char *name, double words, double bytes, double csr_bytes)
{
    cli_table_row(t, ' ');
    cli_table_cell(t, "%s", name);
    cli_table_cell(t, "%s", words < 9e18 ? cli_count((int64_t)words).s : "very many");
    cli_table_cell(t, "%s", cli_bytes(bytes < 9e18 ? (int64_t)bytes : INT64_MAX).s);
    cli_table_cell(t, "%s %%", cli_count((int64_t)(csr_bytes > 0 ? fmin(100 * bytes / csr_bytes, 9e17) + 0.5 : 0)).s);
}

void cli_print_storage(spry_context *context, const spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    spry_storage csr, s;
    if (spry_matrix_get_arrays(A, &a, NULL) != SPRY_OK || spry_matrix_get_stats(A, &stats, NULL) != SPRY_OK ||
        predict(&csr, context, A, "csr") != SPRY_OK)
        return;
    const double value = a.value_type == SPRY_PATTERN ? 8 : (double)spry_type_bytes(a.value_type);
    const double dense = (double)a.rows * (double)a.cols;
    cli_table t;
    char refused[256] = "";
    cli_table_begin(&t, columns, sizeof columns / sizeof *columns);
    add_sizes(&t, "dense", dense, dense * value, (double)csr.bytes);
    for (int f = 0; f < spry_format_count(); f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        if (spry_format_get_info(&info, f, NULL) != SPRY_OK || predict(&s, context, A, info.name) != SPRY_OK) continue;
        add_sizes(&t, s.format, (double)s.words, (double)s.bytes, (double)csr.bytes);
        if (s.padding > 0)
            cli_table_cell(&t, "%.0f %%", 100 * (double)s.padding / (double)(s.padding + a.nnz));
        else
            cli_table_cell(&t, "%s", "");
        cli_table_cell(&t, "%s", s.parameters);
        const size_t used = strlen(refused);
        if (s.refused) snprintf(refused + used, sizeof refused - used, "%s%s", used ? ", " : "", s.format);
    }
    putchar('\n');
    cli_table_print(stdout, &t);
    if (refused[0]) cli_print_line(stdout, "refused", "%s: too much padding, unless a memory limit allows it", refused);
    if (predict(&s, context, A, "auto") == SPRY_OK) cli_print_line(stdout, "auto picks", "%s", s.reason);
}

int cli_json_storage(struct cJSON *o, spry_context *context, const spry_matrix *A)
{
    cJSON *list = cJSON_AddArrayToObject(o, "storage");
    spry_storage s;
    for (int f = 0; list && f < spry_format_count(); f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        if (spry_format_get_info(&info, f, NULL) != SPRY_OK || predict(&s, context, A, info.name) != SPRY_OK) continue;
        cJSON *item = cli_json_item(list);
        if (!cli_json_text(item, "format", s.format) || !cli_json_text(item, "parameters", s.parameters) ||
            !cli_json_integer(item, "words", s.words) || !cli_json_integer(item, "bytes", s.bytes) ||
            !cli_json_integer(item, "padding", s.padding) || !cJSON_AddBoolToObject(item, "refused", s.refused))
            return 0;
    }
    if (!list || predict(&s, context, A, "auto") != SPRY_OK) return list != NULL;
    return cli_json_text(o, "auto", s.format) && cli_json_text(o, "auto_reason", s.reason);
}
