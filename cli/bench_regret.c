#include "cli/bench_regret.h"

#include "cli/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "10", "many" */
static const char *calls_text(char text[24], int64_t calls)
{
    snprintf(text, 24, calls == 0 ? "many" : "%lld", (long long)calls);
    return text;
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

#define OF_CHOICE(name, kind, member) CLI_JSON_FIELD(regret_choice, name, kind, member)
#define OF_CASE(name, kind, member) CLI_JSON_FIELD(regret_case, name, kind, member)
#define OF_SUM(name, kind, member) CLI_JSON_FIELD(regret_sum, name, kind, member)
#define OF_PEER(name, kind, member) CLI_JSON_FIELD(regret_peer_sum, name, kind, member)
#define OF_PREDICTION(name, kind) CLI_JSON_FIELD(regret_prediction, #name, kind, name)

static const cli_json_field choice_fields[] = {OF_CHOICE("op", POINTER, op),
                                               OF_CHOICE("matrix", ARRAY, matrix),
                                               OF_CHOICE("type", POINTER, type),
                                               OF_CHOICE("index", POINTER, index),
                                               OF_CHOICE("device", ARRAY, device),
                                               OF_CHOICE("ordering", ARRAY, ordering),
                                               OF_CHOICE("policy", POINTER, policy),
                                               OF_CHOICE("calls", COUNT, calls),
                                               OF_CHOICE("format", ARRAY, format),
                                               OF_CHOICE("kernel", ARRAY, kernel),
                                               OF_CHOICE("setup_us", NUMBER, taken.setup_us),
                                               OF_CHOICE("upload_us", NUMBER, taken.upload_us),
                                               OF_CHOICE("time_us", NUMBER, taken.time_us),
                                               OF_CHOICE("spread_us", NUMBER, taken.spread_us),
                                               OF_CHOICE("baseline_us", NUMBER, baseline_us),
                                               OF_CHOICE("predicted_us", NUMBER, predicted_us),
                                               OF_CHOICE("break_even", COUNT, break_even),
                                               OF_CHOICE("csr_kernel", ARRAY, csr_kernel),
                                               OF_CHOICE("csr_setup_us", NUMBER, csr.setup_us),
                                               OF_CHOICE("csr_upload_us", NUMBER, csr.upload_us),
                                               OF_CHOICE("csr_time_us", NUMBER, csr.time_us),
                                               OF_CHOICE("csr_spread_us", NUMBER, csr.spread_us)},
                            case_fields[] = {OF_CASE("loss", NUMBER, loss), OF_CASE("over_csr", NUMBER, over_csr),
                                             OF_CASE("best_format", ARRAY, best_format),
                                             OF_CASE("best_kernel", ARRAY, best_kernel),
                                             OF_CASE("best_us", NUMBER, best_us)},
                            sum_fields[] = {OF_SUM("cases", INT, cases),
                                            OF_SUM("mean", NUMBER, mean),
                                            OF_SUM("percentile95", NUMBER, percentile95),
                                            OF_SUM("worst", NUMBER, worst),
                                            OF_SUM("worst_matrix", POINTER, worst_matrix),
                                            OF_SUM("csr_mean", NUMBER, csr_mean),
                                            OF_SUM("csr_worst", NUMBER, csr_worst),
                                            OF_SUM("csr_worst_matrix", POINTER, csr_worst_matrix),
                                            OF_SUM("csr_behind", INT, csr_behind)},
                            peer_fields[] = {OF_PEER("peer", POINTER, peer),
                                             OF_PEER("cases", INT, cases),
                                             OF_PEER("mean", NUMBER, mean),
                                             OF_PEER("least", NUMBER, least),
                                             OF_PEER("least_matrix", POINTER, least_matrix),
                                             OF_PEER("slower", INT, slower)},
                            prediction_fields[] = {OF_PREDICTION(cases, INT),
                                                   OF_PREDICTION(within_15, INT),
                                                   OF_PREDICTION(within_2, INT),
                                                   OF_PREDICTION(others, INT),
                                                   OF_PREDICTION(others_within_15, INT),
                                                   OF_PREDICTION(others_within_2, INT),
                                                   OF_PREDICTION(gains, INT),
                                                   OF_PREDICTION(right, INT)};
#define COUNT_OF(fields) ((int)(sizeof(fields) / sizeof *(fields)))

/* What a sum is of. */
static int add_kind(cJSON *o, const regret_choice *of, int with_calls)
{
    return cli_json_text(o, "op", of->op) && cli_json_text(o, "device", of->device) &&
           cli_json_text(o, "type", of->type) && cli_json_text(o, "policy", of->policy) &&
           (!with_calls || cli_json_integer(o, "calls", of->calls));
}

static int write_case(cli_json *json, const regret_case *k)
{
    cJSON *o = cJSON_CreateObject(), *in = cJSON_AddObjectToObject(o, "regret");
    return cli_json_line(json, o,
                         cli_json_add_fields(in, &k->choice, choice_fields, COUNT_OF(choice_fields)) &&
                             cli_json_add_fields(in, k, case_fields, COUNT_OF(case_fields)));
}

/* One line of a sum: the object named `name`. */
static int write_sum(cli_json *json, const char *name, const regret_choice *of, int with_calls, const void *sum,
                     const cli_json_field *fields, int count)
{
    cJSON *o = cJSON_CreateObject(), *in = cJSON_AddObjectToObject(o, name);
    return cli_json_line(json, o, add_kind(in, of, with_calls) && cli_json_add_fields(in, sum, fields, count));
}

/* ---- one matrix ----------------------------------------------------------------------------------- */

/* "sell:c=16:sigma=512 sell_avx2_cpu", the format as far as the kernel's name does not tell it. */
static const char *name_of(char text[192], const char *format, const char *kernel)
{
    snprintf(text, 192, "%s%s%s", strchr(format, ':') ? format : "", strchr(format, ':') ? " " : "",
             kernel[0] ? kernel : format);
    return text;
}

static void print_case(FILE *out, const regret_case *k)
{
    const regret_choice *c = &k->choice;
    char calls[24], taken[192], best[192];
    fprintf(out, "  %6s  %-6s  %-44s", calls_text(calls, c->calls), c->policy, name_of(taken, c->format, c->kernel));
    if (isnan(k->loss)) {
        fputs("  not measured\n", out);
        return;
    }
    /* The same name at less cost: it was named, without a look at the matrix, or it is csr planned for few calls. */
    const int same = strcmp(c->format, k->best_format) == 0 && strcmp(c->kernel, k->best_kernel) == 0;
    fprintf(out, "  %10.0f  %10.1f  %6.3f  %8.3f  %s%s\n", c->taken.setup_us - c->taken.upload_us, c->taken.time_us,
            k->loss, k->over_csr, k->loss > 1 ? name_of(best, k->best_format, k->best_kernel) : "itself",
            k->loss > 1 && same ? ", planned otherwise" : "");
}

static void print_cases(FILE *out, const regret_case *cases, int count)
{
    for (int i = 0; i < count; i++) {
        const regret_choice *c = &cases[i].choice;
        if (i == 0 || strcmp(c->device, cases[i - 1].choice.device) != 0) {
            fprintf(out, "%s: %s, %s, indices %s on %s\n", c->matrix, c->op, c->type, c->index,
                    c->device[0] ? c->device : "a device that could not be planned for");
            fprintf(out, "  %6s  %-6s  %-44s  %10s  %10s  %6s  %8s  %s\n", "calls", "policy", "auto takes", "set-up us",
                    "time us", "loss", "over csr", "least cost");
        }
        print_case(out, &cases[i]);
    }
    fputc('\n', out);
    fflush(out);
}

/* What went wrong; what was skipped stands in the records. */
void cli_regret_print_failures(const record *records, int count, const cli_json *json)
{
    for (int i = 0; cli_for_people(json) && i < count; i++) {
        const record *r = &records[i];
        if (r->status == RECORD_WRONG || r->status == RECORD_FAILED)
            printf("%s: %s %s %s: %s\n", record_status_name(r->status), r->matrix, text_or_empty(r->type),
                   r->kernel[0] ? r->kernel : r->format, r->reason);
    }
}

int cli_regret_add(regret_report *report, const record *records, int count, const regret_choice *choices,
                   int choice_count, cli_json *json)
{
    const int before = report->case_count;
    if (!regret_add(report, records, count, choices, choice_count)) {
        cli_message("out of memory for the report");
        return CLI_UNSUCCESSFUL;
    }
    cli_progress(NULL);
    for (int i = before; json->wanted && i < report->case_count; i++)
        if (!write_case(json, &report->cases[i])) return CLI_UNSUCCESSFUL;
    if (!cli_for_people(json)) return CLI_GO_ON;
    if (report->case_count > before) print_cases(stdout, report->cases + before, report->case_count - before);
    return CLI_GO_ON;
}

/* ---- all matrices --------------------------------------------------------------------------------- */

static void print_sums(FILE *out, const regret_sum *sums, int count)
{
    char calls[24];
    if (count > 0)
        fprintf(out,
                "Loss of auto: set-up without upload and all products, over the least of all deterministic kernels\n"
                "  %-6s  %-6s  %-8s  %-6s  %6s  %5s  %6s  %6s  %6s  %-20s  %8s  %6s  %s\n",
                "op", "device", "type", "policy", "calls", "cases", "mean", "95 %", "worst", "of", "over csr", "worst",
                "over 5 % behind csr");
    for (int s = 0; s < count; s++) {
        const regret_sum *a = &sums[s];
        fprintf(out, "  %-6s  %-6s  %-8s  %-6s  %6s  %5d  %6.3f  %6.3f  %6.3f  %-20s  %8.3f  %6.3f  %d", a->of->op,
                a->of->device, a->of->type, a->of->policy, calls_text(calls, a->of->calls), a->cases, a->mean,
                a->percentile95, a->worst, a->worst_matrix, a->csr_mean, a->csr_worst, a->csr_behind);
        if (a->csr_behind > 0) fprintf(out, ", worst %s", a->csr_worst_matrix);
        fputc('\n', out);
    }
    if (count > 0) fputc('\n', out);
}

static void print_peers(FILE *out, const regret_peer_sum *sums, int count)
{
    char calls[24];
    if (count > 0)
        fprintf(out,
                "A peer's cost over auto's: above 1 auto is ahead\n"
                "  %-6s  %-6s  %-8s  %-22s  %6s  %5s  %6s  %6s  %-20s  %s\n",
                "op", "device", "type", "peer", "calls", "cases", "mean", "least", "of", "auto slower");
    for (int s = 0; s < count; s++) {
        const regret_peer_sum *a = &sums[s];
        fprintf(out, "  %-6s  %-6s  %-8s  %-22s  %6s  %5d  %6.3f  %6.3f  %-20s  %d\n", a->of->op, a->of->device,
                a->of->type, a->peer, calls_text(calls, a->of->calls), a->cases, a->mean, a->least, a->least_matrix,
                a->slower);
    }
    if (count > 0) fputc('\n', out);
}

/* The cases in which auto's product is slower than a peer's. */
static void print_slower(FILE *out, const regret_report *report)
{
    int printed = 0;
    for (int i = 0; i < report->against_count; i++) {
        const regret_against *a = &report->against[i];
        const regret_choice *c = &report->cases[a->of].choice;
        if (!a->slower || c->calls != 0) continue;
        if (!printed++) fputs("Products of auto that are slower than a peer's by over 5 % and the spread:\n", out);
        fprintf(out, "  %s %s %s on %s: %s takes %.2f of %s's time\n", c->matrix, c->op, c->type, c->device, a->peer,
                a->ratio, c->kernel);
    }
    if (report->against_count > 0 && !printed)
        fputs("No product of auto is slower than a peer's by over 5 % and the spread.\n", out);
    if (report->against_count > 0) fputc('\n', out);
}

static void print_predictions(FILE *out, const regret_prediction *list, int count)
{
    if (count > 0)
        fputs("Predicted over measured time, many calls, on a CPU both as a share of csr's; in brackets where auto "
              "takes another format than csr\n",
              out);
    for (int p = 0; p < count; p++) {
        const regret_prediction *a = &list[p];
        fprintf(out,
                "  %s %s %s %s: within 15 %% %d of %d (%d of %d), within a factor of 2 %d (%d); break-even within 1.5 "
                "in %d of %d that gain 10 %%\n",
                a->of->op, a->of->device, a->of->type, a->of->policy, a->within_15, a->cases, a->others_within_15,
                a->others, a->within_2, a->others_within_2, a->right, a->gains);
    }
}

/* One line for each cost of auto that is above a peer's. */
static int write_slower(cli_json *json, const regret_report *report)
{
    int good = 1;
    for (int i = 0; good && i < report->against_count; i++) {
        const regret_against *a = &report->against[i];
        const regret_choice *c = &report->cases[a->of].choice;
        if (!a->slower) continue;
        cJSON *o = cJSON_CreateObject(), *in = cJSON_AddObjectToObject(o, "regret_slower");
        good = cli_json_line(json, o,
                             add_kind(in, c, 1) && cli_json_text(in, "matrix", c->matrix) &&
                                 cli_json_text(in, "peer", a->peer) && cli_json_number(in, "ratio", a->ratio));
    }
    return good;
}

static int write_sums(cli_json *json, const regret_sum *sums, int sum_count, const regret_peer_sum *peers,
                      int peer_count, const regret_prediction *list, int count)
{
    int good = 1;
    for (int s = 0; good && s < sum_count; s++)
        good = write_sum(json, "regret_sum", sums[s].of, 1, &sums[s], sum_fields, COUNT_OF(sum_fields));
    for (int s = 0; good && s < peer_count; s++)
        good = write_sum(json, "regret_peer", peers[s].of, 1, &peers[s], peer_fields, COUNT_OF(peer_fields));
    for (int p = 0; good && p < count; p++)
        good = write_sum(json, "regret_prediction", list[p].of, 0, &list[p], prediction_fields,
                         COUNT_OF(prediction_fields));
    return good;
}

int cli_regret_finish(const regret_report *report, cli_json *json)
{
    int sum_count, peer_count, prediction_count, status = CLI_GO_ON;
    regret_sum *sums = regret_sums(report, &sum_count);
    regret_peer_sum *peers = regret_peer_sums(report, &peer_count);
    regret_prediction *predictions = regret_predictions(report, &prediction_count);
    if (sum_count < 0 || peer_count < 0 || prediction_count < 0) {
        cli_message("out of memory for the report");
        status = CLI_UNSUCCESSFUL;
    }
    if (status == CLI_GO_ON && cli_for_people(json)) {
        print_sums(stdout, sums, sum_count);
        print_peers(stdout, peers, peer_count);
        print_slower(stdout, report);
        print_predictions(stdout, predictions, prediction_count);
    }
    if (status == CLI_GO_ON && json->wanted &&
        (!write_sums(json, sums, sum_count, peers, peer_count, predictions, prediction_count) ||
         !write_slower(json, report)))
        status = CLI_UNSUCCESSFUL;
    free(sums);
    free(peers);
    free(predictions);
    return status;
}

/* ---- lines of an earlier run ---------------------------------------------------------------------- */

/* What was read and is not yet in the report: the records of a matrix and type, and what auto took for it. */
typedef struct block {
    record *records;
    regret_choice *choices;
    int record_count, choice_count;
} block;

typedef struct reading {
    regret_report *report;
    cli_json *json;
    text_list *texts;
    const char *path;
    block block;
    int choices; /* of the file */
} reading;

static int out_of_memory(void)
{
    cli_message("out of memory for the records");
    return CLI_UNSUCCESSFUL;
}

static int close_block(reading *r)
{
    block *b = &r->block;
    int status = CLI_GO_ON;
    if (b->choice_count > 0)
        status = cli_regret_add(r->report, b->records, b->record_count, b->choices, b->choice_count, r->json);
    b->record_count = b->choice_count = 0;
    return status;
}

/* A record of another matrix or type than those before, or behind what auto took, begins another block. */
static int begins_block(const block *b, const record *r)
{
    const record *last = b->record_count > 0 ? &b->records[b->record_count - 1] : NULL;
    return b->choice_count > 0 || (last && (strcmp(last->matrix, r->matrix) != 0 || strcmp(last->type, r->type) != 0 ||
                                            strcmp(last->op, r->op) != 0));
}

static int take_record(reading *r, const cJSON *o)
{
    block *b = &r->block;
    record next;
    if (!cli_json_take_record(o, &next, r->texts)) return out_of_memory();
    if (begins_block(b, &next)) {
        const int status = close_block(r);
        if (status != CLI_GO_ON) return status;
    }
    record *grown = realloc(b->records, (size_t)(b->record_count + 1) * sizeof *grown);
    if (!grown) return out_of_memory();
    b->records = grown;
    grown[b->record_count++] = next;
    return CLI_GO_ON;
}

static int take_choice(reading *r, const cJSON *o)
{
    block *b = &r->block;
    regret_choice *grown = realloc(b->choices, (size_t)(b->choice_count + 1) * sizeof *grown);
    if (!grown) return out_of_memory();
    b->choices = grown;
    if (!cli_json_take_fields(o, &grown[b->choice_count], choice_fields, COUNT_OF(choice_fields), r->texts))
        return out_of_memory();
    b->choice_count++;
    r->choices++;
    return CLI_GO_ON;
}

/* The first time of a line that is none; NULL: there is no such. */
static const cJSON *wrong_time(const cJSON *o)
{
    static const char *const times[] = {"time_us", "setup_us", "upload_us", "spread_us", "predicted_us"};
    static const double MOST_US = 1e12;
    for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
        const cJSON *item = cJSON_GetObjectItem(o, times[t]);
        if (cJSON_IsNumber(item) && !(item->valuedouble >= 0 && item->valuedouble <= MOST_US)) return item;
    }
    return NULL;
}

static int take_line(reading *r, const char *line, int64_t number)
{
    cJSON *o = cJSON_Parse(line);
    const cJSON *choice = cJSON_GetObjectItem(o, "regret"), *wrong = wrong_time(choice ? choice : o);
    int status = CLI_GO_ON;
    if (!cJSON_IsObject(o))
        status = cli_usage_error("%s:%lld: no JSON object, expected lines that spry bench --regret --json wrote",
                                 r->path, (long long)number);
    else if (wrong)
        status = cli_usage_error("%s:%lld: %s is %g, expected microseconds from 0 to 1e12", r->path, (long long)number,
                                 wrong->string, wrong->valuedouble);
    else if (choice)
        status = take_choice(r, choice);
    else if (cJSON_GetObjectItem(o, "matrix") && cJSON_GetObjectItem(o, "kernel") && cJSON_GetObjectItem(o, "time_us"))
        status = take_record(r, o);
    else if (!o->child || strncmp(text_or_empty(o->child->string), "regret_", 7) != 0)
        status = cli_usage_error("%s:%lld: no record of spry bench, which has matrix, kernel and time_us", r->path,
                                 (long long)number);
    cJSON_Delete(o);
    return status;
}

static int read_file(reading *r)
{
    FILE *file = fopen(r->path, "r");
    char *line = NULL;
    size_t room = 0;
    int64_t number = 0;
    int status = CLI_GO_ON;
    if (!file) {
        cli_message("%s: cannot be read: %s", r->path, strerror(errno));
        return CLI_USAGE;
    }
    r->choices = 0;
    while (status == CLI_GO_ON && getline(&line, &room, file) >= 0) {
        number++;
        if (line[strspn(line, " \t\r\n")]) status = take_line(r, line, number);
    }
    if (status == CLI_GO_ON && ferror(file)) {
        cli_message("%s: cannot be read: %s", r->path, strerror(errno));
        status = CLI_USAGE;
    }
    if (status == CLI_GO_ON) status = close_block(r);
    if (status == CLI_GO_ON && r->choices == 0)
        status =
            cli_usage_error("%s: there is no line that tells what auto took: it was not written by --regret --json",
                            r->path);
    free(line);
    (void)fclose(file);
    return status;
}

int cli_regret_read(regret_report *report, char *const *paths, int count, text_list *texts, cli_json *json)
{
    reading r = {.report = report, .json = json, .texts = texts};
    int status = CLI_GO_ON;
    for (int p = 0; status == CLI_GO_ON && p < count; p++) {
        r.path = paths[p];
        status = read_file(&r);
    }
    free(r.block.records);
    free(r.block.choices);
    return status;
}
