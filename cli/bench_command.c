/* spry bench: kernels and peers side by side, checked and timed. */
#include "cli/bench_arguments.h"
#include "cli/bench_names.h"
#include "cli/bench_sources.h"
#include "cli/bench_tables.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/report.h"
#include "spry/tools.h"

#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef cli_bench_arguments arguments;

/* A run: what came of it so far. */
typedef struct run_state {
    arguments *a;
    cli_sources sources;
    bench_peers *peers;
    spry_context *context, *preparer;      /* with one thread */
    spry_context *fewer[BENCH_MOST_TEAMS]; /* with fewer threads */
    int fewer_count;
    record *records;
    int record_count, group; /* of these the last matrix's begin there */
    char records_path[4096]; /* of a report without --json; "": none */
    int matrices;            /* whose records there are, */
    int groups;              /* and groups of records of the last of them */
    double done;             /* the share of the work whose records there are */
    int stopped;             /* 1: records could not be kept or written */
    int status;              /* of matrices that could not be had */
} run_state;

/* ---- the benchmark's callbacks ------------------------------------------------------------------ */

/* Groups of records of a matrix. */
static int groups_of(const run_state *run)
{
    const bench_options *o = &run->a->o;
    const int counts = o->operation.column_counts > 0 ? o->operation.column_counts : 1;
    return o->operation.type_count * counts * (o->candidates.orderings.count > 0 ? o->candidates.orderings.count : 1);
}

/* Within a group, planning and checking count as one half and the turns as the other. */
static void tell_turns(void *user, double share)
{
    const run_state *run = user;
    cli_progress_share(run->done + (1 + share) / 2 / groups_of(run) / run->sources.count);
}

/* How much is done, as far as matrices of a list take alike, and what an interruption would leave. */
static void tell_share(run_state *run, const char *matrix)
{
    const int groups = groups_of(run);
    const int goes_on = run->group > 0 && strcmp(run->records[run->group - 1].input.name, matrix) == 0;
    run->groups = goes_on ? run->groups + 1 : 1;
    run->matrices += !goes_on;
    const double last = run->groups < groups ? (double)run->groups / groups : 1;
    cli_progress_share(run->done = (run->matrices - 1 + last) / run->sources.count);
    if (run->a->json.wanted)
        cli_when_interrupted("%d record%s of %d of %d matrices %s kept%s%s", run->record_count,
                             run->record_count == 1 ? "" : "s", run->matrices, run->sources.count,
                             run->record_count == 1 ? "is" : "are", run->a->json.path ? " in " : "",
                             run->a->json.path ? run->a->json.path : "");
    else
        cli_when_interrupted("%d of %d matrices are done, as the tables above have them; --json=FILE keeps records",
                             run->matrices, run->sources.count);
}

static int emit(void *user, const record *records, int count)
{
    run_state *run = user;
    record *grown = realloc(run->records, (size_t)(run->record_count + count + 1) * sizeof *grown);
    run->stopped = 1;
    if (!grown) {
        cli_message("out of memory for the records");
        return 1;
    }
    run->records = grown;
    memcpy(grown + run->record_count, records, (size_t)count * sizeof *records);
    run->group = run->record_count;
    run->record_count += count;
    cli_progress(NULL);
    if (count > 0) tell_share(run, records[0].input.name);
    for (int i = 0; run->a->json.wanted && i < count; i++) {
        cJSON *o = cJSON_CreateObject();
        if (!cli_json_line(&run->a->json, o, cli_json_record(o, &records[i]))) return 1;
    }
    if (cli_for_people(&run->a->json)) {
        cli_print_group(stdout, records, count, run->a->sorted);
        fflush(stdout);
    }
    run->stopped = 0;
    return 0;
}

#define OF_AUTO(name, kind, member) CLI_JSON_FIELD(bench_choice, #name, kind, taken.member)
#define OF_CSR(name, kind, member) CLI_JSON_FIELD(bench_choice, "csr_" #name, kind, csr.member)

static const cli_json_field choice_fields[] = {OF_AUTO(op, POINTER, op),
                                               OF_AUTO(matrix, ARRAY, input.name),
                                               OF_AUTO(type, POINTER, input.type),
                                               OF_AUTO(index, POINTER, input.index),
                                               OF_AUTO(device, ARRAY, method.device),
                                               OF_AUTO(ordering, ARRAY, method.ordering),
                                               OF_AUTO(policy, POINTER, method.policy),
                                               CLI_JSON_FIELD(bench_choice, "calls", COUNT, calls),
                                               OF_AUTO(format, ARRAY, method.format),
                                               OF_AUTO(kernel, ARRAY, method.kernel),
                                               OF_AUTO(setup_us, NUMBER, cost.setup_us),
                                               OF_AUTO(upload_us, NUMBER, cost.upload_us),
                                               OF_AUTO(time_us, NUMBER, time.median_us),
                                               OF_AUTO(spread_us, NUMBER, time.spread_us),
                                               OF_AUTO(baseline_us, NUMBER, cost.baseline_us),
                                               OF_AUTO(predicted_us, NUMBER, cost.predicted_us),
                                               OF_AUTO(break_even, COUNT, cost.break_even),
                                               OF_CSR(kernel, ARRAY, method.kernel),
                                               OF_CSR(setup_us, NUMBER, cost.setup_us),
                                               OF_CSR(upload_us, NUMBER, cost.upload_us),
                                               OF_CSR(time_us, NUMBER, time.median_us),
                                               OF_CSR(spread_us, NUMBER, time.spread_us)};

/* Writes a line {"regret": {...}} for each choice, after the records of the matrix and type. */
static int emit_choices(void *user, const bench_choice *choices, int count)
{
    run_state *run = user;
    run->stopped = 1;
    for (int i = 0; i < count; i++) {
        cJSON *o = cJSON_CreateObject(), *in = cJSON_AddObjectToObject(o, "regret");
        const int good =
            cli_json_add_fields(in, &choices[i], choice_fields, sizeof choice_fields / sizeof *choice_fields);
        if (!cli_json_line(&run->a->json, o, good)) return 1;
    }
    run->stopped = 0;
    return 0;
}

static void note(const char *text)
{
    cli_message("note: %s", text);
}

static void complain(void *user, const spry_error *err, int reading)
{
    run_state *run = user;
    int status = reading ? cli_fail_reading(err) : cli_fail(err);
    if (status > run->status) run->status = status;
}

/* ---- command ------------------------------------------------------------------------------------ */

static int status_of_records(const run_state *run)
{
    int status = run->status, measured = 0;
    for (int i = 0; i < run->record_count; i++) {
        record_status s = run->records[i].status;
        if ((s == RECORD_WRONG || s == RECORD_FAILED) && status < CLI_UNSUCCESSFUL) status = CLI_UNSUCCESSFUL;
        measured |= s == RECORD_OK;
    }
    if (measured || run->sources.count == 0 || status != CLI_OK || run->stopped) return status;
    cli_message("nothing was measured: every case was skipped, for the reasons told");
    return CLI_UNSUCCESSFUL;
}

/* The report's records, where they have no file of their own: beside it, until it is drawn. */
static int open_records(run_state *run)
{
    arguments *a = run->a;
    if (a->report && !a->json.wanted) {
        snprintf(run->records_path, sizeof run->records_path, "%.4080s.jsonl", a->report);
        if (access(run->records_path, F_OK) == 0)
            return cli_usage_error("%s is there, where the records of --report would go: 'spry report' draws those "
                                   "of an earlier run; remove it, or name another place with --json=FILE",
                                   run->records_path);
        a->json.wanted = 1;
        a->json.path = run->records_path;
    }
    return cli_json_open_stream(&a->json);
}

/* All records as JSON lines; NULL: out of memory. */
static char *lines_of(const run_state *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    int good = memory != NULL;
    for (int i = 0; good && i < run->record_count; i++) {
        cJSON *o = cJSON_CreateObject();
        char *line = cli_json_record(o, &run->records[i]) ? cJSON_PrintUnformatted(o) : NULL;
        good = line && fprintf(memory, "%s\n", line) > 0;
        cJSON_free(line);
        cJSON_Delete(o);
    }
    if (memory && fclose(memory) != 0) good = 0;
    if (good) return text;
    free(text);
    return NULL;
}

/* An exit status. What was measured is not lost where it cannot be drawn. */
static int draw_report(const run_state *run)
{
    const arguments *a = run->a;
    if (!a->report || run->record_count == 0) return CLI_OK;
    cli_progress("drawing the report");
    int status;
    if (a->json.path && !cli_is_dash(a->json.path)) {
        status = cli_report_write(a->report, a->json.path, a->folder);
    } else {
        char *lines = lines_of(run);
        status = lines ? cli_report_write_text(a->report, lines, a->folder) : CLI_UNSUCCESSFUL;
        if (!lines) cli_message("out of memory for the report");
        free(lines);
    }
    cli_progress(NULL);
    if (status == CLI_OK && run->records_path[0]) unlink(run->records_path);
    if (status != CLI_OK && run->records_path[0]) cli_message("the records are kept in %s", run->records_path);
    if (status == CLI_OK && cli_for_people(&a->json)) printf("\nThe report is %s\n", a->report);
    return status;
}

static int measure(run_state *run)
{
    arguments *a = run->a;
    bench_options *o = &a->o;
    o->input.reading = cli_reading(SPRY_TYPE_DEFAULT);
    o->input.sources = run->sources.items;
    o->input.source_count = run->sources.count;
    o->candidates.peers = a->want_peers ? run->peers : NULL;
    o->context = run->context;
    o->input.preparer = run->preparer;
    o->protocol.fewer = run->fewer;
    o->protocol.fewer_count = run->fewer_count;
    o->receiver.emit = emit;
    o->receiver.emit_choices = emit_choices;
    o->receiver.progress = cli_progress;
    o->receiver.note = note;
    o->receiver.turns = tell_turns;
    o->receiver.complain = complain;
    o->receiver.user = run;
    spry_error err = {0};
    int status = open_records(run);
    if (status != CLI_GO_ON) return status;
    cli_when_interrupted("no matrix was done, so there is nothing to keep");
    spry_status result = bench_run(o, &err);
    cli_progress(NULL);
    /* Records that could not be kept or written were told of, or closing the file will tell. */
    status = run->stopped ? CLI_UNSUCCESSFUL : result == SPRY_OK ? CLI_OK : cli_fail(&err);
    if (cli_for_people(&a->json)) cli_print_summary(stdout, run->records, run->record_count);
    int records = status_of_records(run);
    status = cli_json_close(&a->json, records > status ? records : status);
    records = run->stopped ? CLI_OK : draw_report(run);
    return records > status ? records : status;
}

/* Besides the run's own context: one for each smaller number of threads, and one of one thread to prepare with. */
static int open_contexts(run_state *run)
{
    const arguments *a = run->a;
    int status = cli_open_context(&run->context, a->threads);
    if (status == CLI_GO_ON && a->o.input.at_once > 1) status = cli_open_context(&run->preparer, 1);
    for (int i = 0; status == CLI_GO_ON && i < a->thread_list.count; i++) {
        const int64_t threads = strtoll(a->thread_list.items[i], NULL, 10);
        if (threads == a->threads) continue;
        status = cli_open_context(&run->fewer[run->fewer_count], threads);
        run->fewer_count += status == CLI_GO_ON;
    }
    return status;
}

/* Files and the suite, or what is wanted of them. */
static int choose_sources(run_state *run, int count, char **paths)
{
    const arguments *a = run->a;
    int status = CLI_GO_ON;
    if (count == 0 && !a->suite) return cli_usage_error("nothing to measure: name a matrix FILE or a --suite");
    for (int i = 0; status == CLI_GO_ON && i < count; i++) status = cli_add_file(&run->sources, paths[i]);
    if (status == CLI_GO_ON) status = cli_add_suite(&run->sources, a->suite, a->folder);
    if (status == CLI_GO_ON) status = cli_tell_sources_apart(&run->sources);
    if (status == CLI_GO_ON && a->only.count > 0) status = cli_keep_only(&run->sources, &a->only);
    if (status == CLI_GO_ON && a->parts > 0) {
        cli_keep_part(&run->sources, a->part, a->parts);
        if (run->sources.count == 0)
            cli_message("note: --part %lld/%lld is empty: there are fewer matrices", (long long)a->part,
                        (long long)a->parts);
    }
    for (int s = 0; status == CLI_GO_ON && s < run->sources.count; s++) {
        status = cli_check_output("json", a->json.path, run->sources.items[s].path);
        if (status == CLI_GO_ON) status = cli_check_output("report", a->report, run->sources.items[s].path);
    }
    if (status == CLI_GO_ON) status = cli_check_two_outputs("report", a->report, "json", a->json.path);
    if (status == CLI_GO_ON && cli_is_dash(a->report))
        status = cli_usage_error("--report is '-': tables go to standard output, expected a FILE.html");
    return status;
}

static int load_peers(run_state *run)
{
    run->peers = bench_load_peers();
    if (run->peers) return cli_bench_check_kernels(&run->a->o, run->context, run->peers, run->a->want_peers);
    cli_message("out of memory");
    return CLI_UNSUCCESSFUL;
}

static int bench(run_state *run, int count, char **paths)
{
    int status = choose_sources(run, count, paths);
    if (status == CLI_GO_ON) status = open_contexts(run);
    if (status == CLI_GO_ON) status = cli_bench_check_parameters(&run->a->o, run->context);
    if (status == CLI_GO_ON) status = load_peers(run);
    return status == CLI_GO_ON ? measure(run) : status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.o = {.candidates.device = "all", .input.index = {SPRY_I32, SPRY_I32}}};
    run_state state = {.a = &a};
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = cli_bench_take_defaults(&a);
    if (status == CLI_GO_ON && a.report) status = cli_report_check(a.report);
    if (status == CLI_GO_ON) status = bench(&state, argc, argv);
    bench_release_peers(state.peers);
    for (int i = 0; i < state.fewer_count; i++) spry_context_destroy(state.fewer[i]);
    spry_context_destroy(state.preparer);
    spry_context_destroy(state.context);
    free(state.sources.items);
    free(state.records);
    cli_bench_release_arguments(&a);
    return status;
}

const cli_command cli_bench =
    {.name = "bench",
     .summary = "measure kernels, and other libraries, side by side",
     .usage = "FILE... [--suite NAME [--matrices DIR]] [OPTIONS]",
     .about = "Multiplies with every chosen kernel, checks each result under the error bound, and\n"
              "times them in turns: at least 20 batches of at least 1 ms. A FILE that is a folder\n"
              "stands for the matrices in it. Ends with status 1 when a case is wrong or failed, or\n"
              "when nothing could be measured; a case that is skipped says why.\n\n"
              "Rates count 2 operations an entry and the bytes of plain CSR, x and y once (of several\n"
              "columns all of them); roof is the share of the copy bandwidth, which is measured in the\n"
              "same run. With --op spgemm they count 2 operations a product of entries, and A and C\n"
              "once. With --op cg and pagerank whole solves are timed and an iteration is told.",
     .examples = "  spry bench matrix.mtx.gz --formats all --peers\n"
                 "  spry bench --suite mesh --matrices ~/matrices --type all --json=mesh.jsonl\n"
                 "  spry bench matrix.mtx.gz --op spmm --columns 1,8,32 --layout column --peers\n"
                 "  spry bench --suite products --matrices ~/matrices --peers\n"
                 "  spry bench gen:laplace7,x=100,y=100,z=100 --op cg --peers\n"
                 "  spry bench matrix.mtx.gz --formats all --peers --report report.html\n"
                 "  spry bench folder/ --regret --peers --type all --json=regret.jsonl\n"
                 "  spry bench --suite mesh --runs 20 --at-once 16 --threads 1,4,16 --time-limit 600\n",
     .options = cli_bench_options,
     .most = -1,
     .positional = "matrix FILEs",
     .run = run};
