/* The table of storage in `spry info`: words and bytes of each format, predicted without building any. */
#include "cli/cli.h"
#include "cli/json.h"
#include "spry/tools.h"

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

/* Textbooks bound hyb by 3 nnz and 2 m K words; uniform rows take less than the former. */
static void print_hyb_bounds(const spry_arrays *a, int64_t longest)
{
    printf("  %-8s %25s words; textbooks: over 3 nnz = %s, under 2 m K = %s\n", "", "", cli_count(3 * a->nnz).s,
           cli_count(2 * a->rows * longest).s);
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
    printf("\n  storage  %20s  %12s  %8s\n", "words", "bytes", "of csr");
    printf("  %-8s %20.15g  %12s  %7.0f %%\n", "dense", dense,
           cli_bytes(dense * value < 9e18 ? (int64_t)(dense * value) : INT64_MAX).s,
           csr.bytes > 0 ? 100 * dense * value / (double)csr.bytes : 0);
    for (int f = 0; f < spry_format_count(); f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        if (spry_format_get_info(&info, f, NULL) != SPRY_OK || predict(&s, context, A, info.name) != SPRY_OK) continue;
        printf("  %-8s %20s  %12s  %7.0f %%", s.format, cli_count(s.words).s, cli_bytes(s.bytes).s,
               csr.bytes > 0 ? 100 * (double)s.bytes / (double)csr.bytes : 0);
        if (s.parameters[0]) printf("  %s", s.parameters);
        if (s.padding > 0) printf("  %.0f %% padding", 100 * (double)s.padding / (double)(s.padding + a.nnz));
        printf("%s\n", s.refused ? "  refused by the padding guard" : "");
        if (strcmp(s.format, "hyb") == 0) print_hyb_bounds(&a, stats.max_row);
    }
    if (predict(&s, context, A, "auto") == SPRY_OK) printf("\n  auto picks %s\n", s.reason);
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
