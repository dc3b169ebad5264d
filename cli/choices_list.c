/* Measured choices: the file that keeps them, its list and its removal. */
#include "cli/cli.h"
#include "cli/json.h"
#include "spry/io.h"
#include "spry/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(const char *file)
{
    const char *usual = getenv("SPRY_CHOICES");
    return file ? file : usual && usual[0] ? usual : NULL;
}

static int is_measured(const cli_policy *p)
{
    return p->name && strcmp(p->name, "measure") == 0;
}

int cli_check_policy(const cli_policy *p)
{
    if (is_measured(p) || (!p->cache && p->budget_us == 0)) return CLI_GO_ON;
    return cli_usage_error("--%s requires --policy measure", p->cache ? "cache" : "budget");
}

void cli_apply_policy(const cli_policy *p, spry_spmv_options *options)
{
    options->policy = p->name;
    options->measure_budget_us = p->budget_us;
}

int cli_use_choices(spry_context *context, const cli_policy *p)
{
    spry_error err = {0};
    const char *path = path_of(p->cache);
    if (!is_measured(p) || !path || spry_context_set_choices(context, path, &err) == SPRY_OK) return CLI_GO_ON;
    return cli_fail(&err);
}

/* ---- listing --------------------------------------------------------------------------------------------- */

static void print_choice(const spry_choice_info *c)
{
    char csr[64] = "";
    if (c->csr_us > 0) snprintf(csr, sizeof csr, ", csr %s", cli_time(c->csr_us).s);
    printf("%s  %s  %s: %s%s\n", c->fingerprint, c->date, c->format, cli_time(c->measured_us).s, csr);
    printf("  %s, %s x %s, %s entries, %s, %s", c->op == SPRY_TRANSPOSE ? "A^T" : "A", cli_count(c->rows).s,
           cli_count(c->columns).s, cli_count(c->nnz).s, c->types, c->device);
    if (c->calls > 0) printf(", set-up counted over %s", cli_count(c->calls).s);
    printf("\n");
}

static int json_choice(cli_json *json, const spry_choice_info *c)
{
    cJSON *o = cJSON_CreateObject();
    const int good = cli_json_begin(o, NULL, RECORD_OK, NULL) && cli_json_text(o, "fingerprint", c->fingerprint) &&
                     cli_json_integer(o, "rows", c->rows) && cli_json_integer(o, "columns", c->columns) &&
                     cli_json_integer(o, "nnz", c->nnz) &&
                     cli_json_text(o, "op", c->op == SPRY_TRANSPOSE ? "spmv_t" : "spmv") &&
                     cli_json_text(o, "device", c->device) && cli_json_text(o, "types", c->types) &&
                     cli_json_integer(o, "calls", c->calls) && cli_json_text(o, "format", c->format) &&
                     cli_json_text(o, "kernel", c->kernel) && cli_json_number(o, "measured_us", c->measured_us) &&
                     cli_json_number(o, "csr_us", c->csr_us > 0 ? c->csr_us : (double)NAN) &&
                     cli_json_number(o, "predicted_us", c->predicted_us) &&
                     cli_json_number(o, "predicted_csr_us", c->predicted_csr_us) && cli_json_text(o, "date", c->date);
    return cli_json_line(json, o, good);
}

static int list_choices(const spry_context *context, const char *path, cli_json *json)
{
    int status = cli_json_open(json);
    if (status != CLI_GO_ON) return status;
    status = CLI_OK;
    int count = 0;
    spry_choice_info c = SPRY_INIT(spry_choice_info);
    for (; status == CLI_OK && spry_choice_get_info(context, &c, count, NULL) == SPRY_OK; count++) {
        if (json->wanted && !json_choice(json, &c)) status = CLI_UNSUCCESSFUL;
        if (status == CLI_OK && cli_for_people(json)) print_choice(&c);
    }
    if (status == CLI_OK && cli_for_people(json)) printf("%d choice%s in %s\n", count, count == 1 ? "" : "s", path);
    return cli_json_close(json, status);
}

int cli_manage_choices(const char *file, bool clear, cli_json *json)
{
    const char *path = path_of(file);
    spry_context *context = NULL;
    spry_error err = {0};
    if (!path) return cli_usage_error("--cache FILE is missing, and SPRY_CHOICES is not set");
    int status = cli_open_context(&context, 1);
    if (status != CLI_GO_ON) return status;
    const spry_status done = clear ? spry_context_clear_choices(context, path, &err)
                                   : spry_context_set_choices(context, path, &err);
    if (done != SPRY_OK)
        status = cli_fail(&err);
    else if (clear)
        status = CLI_OK;
    else
        status = list_choices(context, path, json);
    spry_context_destroy(context);
    return status;
}
