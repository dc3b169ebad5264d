/* spry bench: kernels and peers side by side, checked and timed. */
#include "cli/bench_names.h"
#include "cli/bench_regret.h"
#include "cli/bench_sources.h"
#include "cli/bench_tables.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "spry/tools.h"

#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEAMS = 16, MOST_TYPES = 8, MOST_COUNTS = 16 };

typedef struct arguments {
    const char *suite, *folder;
    bench_options o; /* its op: NULL until it is known */
    text_list only, thread_list;
    bench_types types[MOST_TYPES]; /* o.type_count of them */
    int want_peers;
    int64_t columns[MOST_COUNTS]; /* o.column_counts of them */
    const char *layout;           /* NULL: not told */
    int64_t threads;              /* the most of the list */
    int64_t part, parts;          /* parts 0: the whole */
    int from;                     /* 1: of --regret, records are read and nothing is measured */
    cli_json json;
} arguments;

/* A run: what came of it so far. */
typedef struct run_state {
    arguments *a;
    cli_sources sources;
    bench_peers *peers;
    spry_context *context, *preparer; /* with one thread */
    spry_context *fewer[MOST_TEAMS];  /* with fewer threads */
    int fewer_count;
    record *records;
    int record_count, group; /* of these the last matrix's begin there */
    regret_report report;
    text_list texts; /* of records that were read */
    int stopped;     /* 1: records could not be kept or written */
    int status;      /* of matrices that could not be had */
} run_state;

/* ---- options ------------------------------------------------------------------------------------ */

static int take_orderings(void *state, const char *value)
{
    arguments *a = state;
    int index = 0, status = cli_take_list("ordering", value, &a->o.orderings);
    for (int i = 0; status == CLI_GO_ON && i < a->o.orderings.count; i++)
        status = cli_take_word("ordering", a->o.orderings.items[i],
                               "none|rcm|bandk|degree|bfs|plan-rcm|plan-bandk|plan-degree|plan-bfs|by-format|by-k|"
                               "bandk2|bandk3|bandk4",
                               &index);
    return status;
}

/* One or several of the types, "all" for f64 and f32, in the order given. */
static int take_types(void *state, const char *value)
{
    arguments *a = state;
    text_list list = {0};
    int status = cli_take_list("type", value, &list);
    a->o.type_count = 0;
    for (int i = 0; status == CLI_GO_ON && i < list.count; i++) {
        int number = 0;
        status = cli_take_word("type", list.items[i], "f64|f32|f32:f64|bf16:f32|f16:f32|all", &number);
        if (status != CLI_GO_ON) break;
        if (a->o.type_count + 2 > MOST_TYPES) {
            status = cli_usage_error("--type has too many types, expected at most %d", MOST_TYPES);
            break;
        }
        const int all = number == BENCH_TYPES;
        a->types[a->o.type_count++] = bench_all_types[all ? 0 : number];
        if (all) a->types[a->o.type_count++] = bench_all_types[1];
    }
    cli_release_list(&list);
    a->o.types = a->types;
    return status;
}

/* Numbers of threads: the most are the run's. */
static int take_threads(void *state, const char *value)
{
    arguments *a = state;
    int status = cli_take_list("threads", value, &a->thread_list);
    if (status == CLI_GO_ON && a->thread_list.count > MOST_TEAMS)
        return cli_usage_error("--threads has %d numbers, expected at most %d", a->thread_list.count, MOST_TEAMS);
    for (int i = 0; status == CLI_GO_ON && i < a->thread_list.count; i++) {
        int64_t threads = 0;
        status = cli_take_integer("threads", a->thread_list.items[i], 1, 1024, &threads);
        if (threads > a->threads) a->threads = threads;
    }
    return status;
}

/* Numbers of columns. */
static int take_columns(void *state, const char *value)
{
    arguments *a = state;
    text_list list = {0};
    int status = cli_take_list("columns", value, &list);
    if (status == CLI_GO_ON && list.count > MOST_COUNTS)
        status = cli_usage_error("--columns has %d numbers, expected at most %d", list.count, MOST_COUNTS);
    for (int i = 0; status == CLI_GO_ON && i < list.count; i++)
        status = cli_take_columns(list.items[i], &a->columns[i]);
    a->o.column_counts = list.count;
    cli_release_list(&list);
    return status;
}

/* "2/4" */
static int take_part(void *state, const char *value)
{
    arguments *a = state;
    const char *slash = strchr(value, '/');
    char part[32] = "";
    if (slash && (size_t)(slash - value) < sizeof part) memcpy(part, value, (size_t)(slash - value));
    if (!part[0]) return cli_usage_error("--part is '%s', expected I/N, as 1/4 and so on to 4/4", value);
    int status = cli_take_integer("part (behind the slash)", slash + 1, 1, 1000, &a->parts);
    return status == CLI_GO_ON ? cli_take_integer("part (before the slash)", part, 1, a->parts, &a->part) : status;
}

static const cli_option options[] = {
    {"suite", 0, "NAME",
     "a named list of matrices: mesh, scattered, shuffled,\n"
     "unstructured (made by bench/unstructured); or products, which\n"
     "are squared. Studies, with their tables: study/",
     CLI_TEXT, CLI_AT(suite)},
    {"matrices", 0, "DIR", "folder of a suite's matrices (default: SPRY_MATRIX_DIR)", CLI_TEXT, CLI_AT(folder)},
    {"only", 0, "LIST", "of the matrices only these, by name", CLI_LIST, CLI_AT(only), 1},
    {"part", 0, "I/N", "of the matrices the I-th and every N-th after it: N runs make the whole", CLI_OWN,
     .take = take_part},
    {"op", 0, "spmv|spmv_t|spmm|spmm_t|spgemm|cg|pagerank",
     "operation: spmv multiplies with a vector, spmm with several columns,\n"
     "_t transposed; spgemm squares the matrix; cg and pagerank time an\n"
     "iteration of whole solves, docs/solvers.md (default: spmv)",
     CLI_WORD, CLI_AT(o.op)},
    {"columns", 0, "LIST", "of spmm and spmm_t: numbers of columns, one after another (default: 8)", CLI_OWN,
     .take = take_columns},
    CLI_LAYOUT_OPTION("of spmm and spmm_t"),
    {"formats", 0, "all|auto|LIST",
     "the best kernel of each format named, with parameters if wanted\n"
     "(sell:c=16:sigma=4096), auto: what the library chooses,\n"
     "all: every kernel of every format (default: csr,auto)",
     CLI_LIST, CLI_AT(o.formats)},
    {"kernels", 0, "LIST",
     "kernels by name ('spry kernels'), with parameters if wanted\n"
     "(csr_vector_cuda:lanes=32), with --peers also peers'",
     CLI_LIST, CLI_AT(o.kernels)},
    {"ordering", 0, "LIST",
     "none; rcm, bandk, degree, bfs: reorder the matrix first, for peers\n"
     "too: the caller keeps x and y in its numbering, and set-up holds what\n"
     "it took; plan-rcm, plan-bandk, ...: plans renumber x and y in every\n"
     "product, without peers; by-format: none and rcm, of csr2\n"
     "and csr3 none and bandk, of csr4 none and bandk4; by-k: the same\n"
     "with bandk2 for csr2 and bandk3 for csr3; bandk2, bandk3, bandk4:\n"
     "of csr2, of csr3 or of csr4 alone, with as many levels as they have\n"
     "(default: none)",
     CLI_OWN, .take = take_orderings},
    {"device", 0, "cpu|cuda|all", "devices (default: all)", CLI_WORD, CLI_AT(o.device)},
    {"type", 0, "f32|f64|all|TYPES",
     "type of values and vectors, or a list of types; of values stored\n"
     "in another type than vectors f32:f64, bf16:f32, f16:f32 (default: f64)",
     CLI_OWN, .take = take_types},
    {"pattern", 0, NULL, "leave the values out: all are 1 (of peers, too)", CLI_FLAG, CLI_AT(o.pattern)},
    {"arrays", 0, "host|gpu", "where the matrix is that plans for a GPU are made of (default: host)", CLI_CHOICE,
     CLI_AT(o.arrays_on_gpu)},
    {"index", 0, "32/32|64/32|64/64", "bits of offsets/columns (default: 32/32)", CLI_INDEX, CLI_AT(o.index)},
    {"threads", 0, "N[,N...]",
     "threads of a product (default: as many as OpenMP would use); of a\n"
     "list the most, and on the CPU, with the matrix as given, the others\n"
     "as well",
     CLI_OWN, .take = take_threads},
    {"calls", 0, "N",
     "products that plans are told to expect (default: many); of\n"
     "spgemm, above 1: plans too, whose numeric phase is timed alone",
     CLI_INTEGER, CLI_AT(o.calls), 1, INT64_C(1000000000000)},
    {"updates", 0, "N", "updates of the values that plans are told to expect (default: none)", CLI_INTEGER,
     CLI_AT(o.updates), 1, INT64_C(1000000000000)},
    {"policy", 0, "NAME",
     "how auto decides: cost, tree, tree:memory, tree:unpredictable\n"
     "or measure, as far as the library has it (default: cost)",
     CLI_TEXT, CLI_AT(o.policy)},
    CLI_MEMORY_LIMIT_OPTION(o.memory_limit),
    {"runs", 0, "N",
     "a short protocol: N runs timed one by one after 5 that are not, in\n"
     "place of batches in turns; of spgemm too, but in turns",
     CLI_INTEGER, CLI_AT(o.runs), 1, 10000},
    {"time-limit", 0, "SECONDS", "begin no matrix after so long", CLI_INTEGER, CLI_AT(o.seconds), 1, 1000000},
    {"at-once", 0, "N",
     "read and reorder N matrices at once before they are measured, each\n"
     "by one thread, which is the set-up that is told (default: 1, by all)",
     CLI_INTEGER, CLI_AT(o.at_once), 1, 64},
    {"cold", 0, NULL, "flush the caches before every run", CLI_FLAG, CLI_AT(o.cold)},
    {"peers", 0, NULL, "other libraries' kernels too, from peers/ beside the program or SPRY_PEER_DIR", CLI_FLAG,
     CLI_AT(want_peers)},
    {"regret", 0, NULL,
     "what auto loses, told to expect 1, 10, 100, 1000 and many products,\n"
     "against every deterministic kernel, published sizes of formats and\n"
     "csr, and with --peers these; docs/performance.md",
     CLI_FLAG, CLI_AT(o.regret)},
    {"from", 0, NULL, "with --regret: nothing is measured, the FILEs are JSON lines of earlier runs", CLI_FLAG,
     CLI_AT(from)},
    {"json", 0, "FILE",
     "JSON lines to standard output (nothing else there) or FILE, each\n"
     "matrix's when it is done: an interrupted run keeps them",
     CLI_JSON, CLI_AT(json)},
    CLI_END_OF_OPTIONS,
};

static int is_spgemm(const arguments *a)
{
    return bench_factor_of(a->o.op) == BY_A_MATRIX;
}

/* ---- what goes together --------------------------------------------------------------------------- */

static int check_spgemm_formats(const arguments *a)
{
    for (int i = 0; i < a->o.orderings.count; i++)
        if (strncmp(a->o.orderings.items[i], "plan-", 5) == 0)
            return cli_usage_error("--ordering is '%s': only products with a vector have plans that renumber, expected "
                                   "none, rcm, bandk, degree or bfs",
                                   a->o.orderings.items[i]);
    const char *other = a->o.policy             ? "policy"
                        : a->o.updates > 0      ? "updates"
                        : a->o.memory_limit > 0 ? "memory-limit"
                        : a->o.pattern          ? "pattern"
                        : a->o.arrays_on_gpu    ? "arrays"
                                                : NULL;
    if (other) return cli_usage_error("--%s goes with products with a vector, which --op spgemm does not make", other);
    for (int i = 0; i < a->o.formats.count; i++)
        if (strcmp(a->o.formats.items[i], "auto") != 0 && strcmp(a->o.formats.items[i], "all") != 0)
            return cli_usage_error("--formats is '%s': matrices are squared as CSR, expected auto or all; --kernels "
                                   "names kernels",
                                   a->o.formats.items[i]);
    return CLI_GO_ON;
}

/* Methods that iterate make their plans themselves, and all but the first iteration find caches as they left them. */
static int check_solvers(const arguments *a)
{
    const bench_options *o = &a->o;
    const char *other = o->policy             ? "policy"
                        : o->calls > 0        ? "calls"
                        : o->updates > 0      ? "updates"
                        : o->memory_limit > 0 ? "memory-limit"
                        : o->arrays_on_gpu    ? "arrays"
                        : o->cold             ? "cold"
                                              : NULL;
    if (other) return cli_usage_error("--%s is of products, --op %s is a method that iterates", other, o->op);
    for (int i = 0; i < o->orderings.count; i++)
        if (strcmp(o->orderings.items[i], "none") != 0)
            return cli_usage_error("--ordering is '%s': --op %s takes the matrix as it is given, expected none",
                                   o->orderings.items[i], o->op);
    if (o->pattern && bench_factor_of(o->op) == IN_CG)
        return cli_usage_error("--pattern goes with --op pagerank; a matrix of ones alone is no system for --op cg");
    if (a->thread_list.count > 1) return cli_usage_error("--threads is a list, --op %s expects one number", o->op);
    return CLI_GO_ON;
}

/* An ordering of one format, without it, would measure nothing after minutes of ordering. */
static int check_orderings(const arguments *a)
{
    for (int i = 0; i < a->o.orderings.count; i++) {
        const char *ordering = a->o.orderings.items[i];
        char format[8];
        if (strncmp(ordering, "bandk", 5) != 0 || !ordering[5]) continue;
        snprintf(format, sizeof format, "csr%s", ordering + 5);
        if (!bench_asks_for(&a->o, format))
            return cli_usage_error("--ordering is '%s', which is of %s alone, but neither --formats nor --kernels "
                                   "has %s: expected it there, or bandk, which all formats may have",
                                   ordering, format, format);
    }
    return CLI_GO_ON;
}

/* Every kernel runs, and plans are told numbers of calls of its own. */
static int check_regret(const arguments *a)
{
    const bench_options *o = &a->o;
    const char *other = o->formats.count > 0   ? "formats"
                        : o->kernels.count > 0 ? "kernels"
                        : o->calls > 0         ? "calls"
                        : o->updates > 0       ? "updates"
                        : o->memory_limit > 0  ? "memory-limit"
                                               : NULL;
    if (a->from && !o->regret) return cli_usage_error("--from goes with --regret: it makes the report of records");
    if (!o->regret) return CLI_GO_ON;
    if (other) return cli_usage_error("--%s does not go with --regret, which says itself what runs", other);
    if (o->op && bench_factor_of(o->op) != BY_A_VECTOR)
        return cli_usage_error("--regret is of products with a vector, --op is %s: expected spmv or spmv_t", o->op);
    if (o->orderings.count > 1 || (o->orderings.count == 1 && strcmp(o->orderings.items[0], "none") != 0))
        return cli_usage_error("--ordering does not go with --regret: auto takes the matrix as it is given");
    if (a->thread_list.count > 1) return cli_usage_error("--threads is a list, --regret expects one number");
    if (a->from && (a->suite || a->only.count > 0 || a->parts > 0 || a->want_peers))
        return cli_usage_error("--%s does not go with --from, which takes all that the FILEs have",
                               a->suite        ? "suite"
                               : a->want_peers ? "peers"
                               : a->parts > 0  ? "part"
                                               : "only");
    return CLI_GO_ON;
}

/* Two types are of products with vectors, of matrices with values. */
static int check_types(const arguments *a)
{
    for (int t = 0; t < a->o.type_count; t++) {
        if (a->types[t].stored == a->types[t].vectors) continue;
        if (bench_iterates(a->o.op))
            return cli_usage_error("--type %s does not go with --op %s, expected f32, f64 or all", a->types[t].name,
                                   a->o.op);
        if (is_spgemm(a) || a->o.regret || a->o.pattern)
            return cli_usage_error("--type %s does not go with %s, expected f32, f64 or all", a->types[t].name,
                                   is_spgemm(a)  ? "--op spgemm"
                                   : a->o.regret ? "--regret"
                                                 : "--pattern");
    }
    return CLI_GO_ON;
}

static int take_columns_and_layout(arguments *a)
{
    bench_options *o = &a->o;
    const char *other = o->column_counts > 0 ? "columns" : a->layout ? "layout" : NULL;
    if (bench_factor_of(o->op) != BY_COLUMNS)
        return other ? cli_usage_error("--%s is of products with several columns, --op is %s: expected spmm or spmm_t",
                                       other, o->op)
                     : CLI_GO_ON;
    if (o->column_counts == 0) a->columns[o->column_counts++] = 8;
    o->columns = a->columns;
    o->row_major = cli_is_row_major(a->layout);
    return CLI_GO_ON;
}

static int take_defaults(arguments *a)
{
    bench_options *o = &a->o;
    const int products = a->suite && strcmp(a->suite, "products") == 0;
    int status = check_regret(a);
    if (status != CLI_GO_ON) return status;
    if (o->op && products && strcmp(o->op, "spgemm") != 0)
        return cli_usage_error("--suite %s squares matrices, --op is %s: expected spgemm", a->suite, o->op);
    if (!o->op) o->op = products ? "spgemm" : "spmv";
    if (o->type_count == 0) status = take_types(a, "f64");
    if (status == CLI_GO_ON) status = check_types(a);
    if (status == CLI_GO_ON) status = take_columns_and_layout(a);
    if (status == CLI_GO_ON && bench_iterates(o->op)) status = check_solvers(a);
    if (status == CLI_GO_ON && o->orderings.count == 0) status = cli_take_list("ordering", "none", &o->orderings);
    o->all_kernels = o->regret || (o->formats.count == 1 && strcmp(o->formats.items[0], "all") == 0);
    if (o->all_kernels) cli_release_list(&o->formats);
    if (status == CLI_GO_ON && is_spgemm(a)) return check_spgemm_formats(a);
    if (status != CLI_GO_ON || o->all_kernels) return status;
    if (o->formats.count == 0 && o->kernels.count == 0) status = cli_take_list("formats", "csr,auto", &o->formats);
    if (status == CLI_GO_ON) status = cli_bench_check_formats(o);
    return status == CLI_GO_ON ? check_orderings(a) : status;
}

/* ---- the benchmark's callbacks ------------------------------------------------------------------ */

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
    for (int i = 0; run->a->json.wanted && i < count; i++) {
        cJSON *o = cJSON_CreateObject();
        if (!cli_json_line(&run->a->json, o, cli_json_record(o, &records[i]))) return 1;
    }
    if (cli_for_people(&run->a->json) && !run->a->o.regret) {
        cli_print_group(stdout, records, count);
        fflush(stdout);
    }
    run->stopped = 0;
    return 0;
}

/* Behind the records of a matrix and type. */
static int emit_choices(void *user, const regret_choice *choices, int count)
{
    run_state *run = user;
    run->stopped = cli_regret_add(&run->report, run->records + run->group, run->record_count - run->group, choices,
                                  count, &run->a->json) != CLI_GO_ON;
    return run->stopped;
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
    int status = run->status;
    for (int i = 0; i < run->record_count; i++) {
        record_status s = run->records[i].status;
        if ((s == RECORD_WRONG || s == RECORD_FAILED) && status < CLI_UNSUCCESSFUL) status = CLI_UNSUCCESSFUL;
    }
    return status;
}

static int finish_regret(run_state *run)
{
    cli_regret_print_failures(run->records, run->record_count, &run->a->json);
    return cli_regret_finish(&run->report, &run->a->json) == CLI_GO_ON;
}

/* The report of lines that are there. */
static int report_from(run_state *run, int count, char **paths)
{
    cli_json *json = &run->a->json;
    if (count == 0) return cli_usage_error("nothing to report: name FILEs that spry bench --regret --json wrote");
    for (int i = 0; i < count; i++) {
        const int checked = cli_check_output("json", json->path, paths[i]);
        if (checked != CLI_GO_ON) return checked;
    }
    int status = cli_json_open(json);
    if (status != CLI_GO_ON) return status;
    status = cli_regret_read(&run->report, paths, count, &run->texts, json);
    if (status == CLI_GO_ON) status = cli_regret_finish(&run->report, json);
    return cli_json_close(json, status == CLI_GO_ON ? CLI_OK : status);
}

static int measure(run_state *run)
{
    arguments *a = run->a;
    bench_options *o = &a->o;
    o->sources = run->sources.items;
    o->source_count = run->sources.count;
    o->peers = a->want_peers ? run->peers : NULL;
    o->context = run->context;
    o->preparer = run->preparer;
    o->fewer = run->fewer;
    o->fewer_count = run->fewer_count;
    o->emit = emit;
    o->emit_choices = emit_choices;
    o->progress = cli_progress;
    o->note = note;
    o->complain = complain;
    o->user = run;
    spry_error err = {0};
    int status = cli_json_open_stream(&a->json);
    if (status != CLI_GO_ON) return status;
    spry_status result = bench_run(o, &err);
    cli_progress(NULL);
    /* Records that could not be kept or written were told of, or closing the file will tell. */
    status = run->stopped ? CLI_UNSUCCESSFUL : result == SPRY_OK ? CLI_OK : cli_fail(&err);
    if (o->regret && !run->stopped && !finish_regret(run)) status = CLI_UNSUCCESSFUL;
    if (cli_for_people(&a->json) && !o->regret) cli_print_summary(stdout, run->records, run->record_count);
    int records = status_of_records(run);
    return cli_json_close(&a->json, records > status ? records : status);
}

/* Besides the run's own context: one for each smaller number of threads, and one of one thread to prepare with. */
static int open_contexts(run_state *run)
{
    const arguments *a = run->a;
    int status = cli_open_context(&run->context, a->threads);
    if (status == CLI_GO_ON && a->o.at_once > 1) status = cli_open_context(&run->preparer, 1);
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
    if (status == CLI_GO_ON && a->only.count > 0) status = cli_keep_only(&run->sources, &a->only);
    if (status == CLI_GO_ON && a->parts > 0) {
        cli_keep_part(&run->sources, a->part, a->parts);
        if (run->sources.count == 0)
            cli_message("note: --part %lld/%lld is empty: there are fewer matrices", (long long)a->part,
                        (long long)a->parts);
    }
    for (int s = 0; status == CLI_GO_ON && s < run->sources.count; s++)
        status = cli_check_output("json", a->json.path, run->sources.items[s].path);
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
    arguments a = {.o = {.device = "all", .index = {SPRY_I32, SPRY_I32}}};
    run_state state = {.a = &a};
    text_list *const lists[] = {&a.o.formats, &a.o.kernels, &a.o.orderings, &a.only, &a.thread_list, &state.texts};
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = take_defaults(&a);
    if (status == CLI_GO_ON) status = a.from ? report_from(&state, argc, argv) : bench(&state, argc, argv);
    bench_release_peers(state.peers);
    for (int i = 0; i < state.fewer_count; i++) spry_context_destroy(state.fewer[i]);
    spry_context_destroy(state.preparer);
    spry_context_destroy(state.context);
    free(state.sources.items);
    free(state.records);
    regret_release(&state.report);
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) cli_release_list(lists[l]);
    return status;
}

const cli_command cli_bench =
    {.name = "bench",
     .summary = "measure kernels, and other libraries, side by side",
     .usage = "FILE... [--suite NAME [--matrices DIR]] [OPTIONS]",
     .about =
         "Multiplies with every chosen kernel, checks each result under the error bound, and times them in\n"
         "turn: at least 20 batches of at least 1 ms. Ends with status 1 when a case is wrong or failed; one that\n"
         "is skipped says why. Rates count, with a vector, 2 operations an entry and the bytes of plain CSR, x\n"
         "and y once, with several columns the operations, X and Y of all of them, and bytes are the plan's\n"
         "storage; with --op spgemm, 2 operations a product of entries and the bytes of A and C once, and bytes\n"
         "are those of C; with --op cg and pagerank, whole solves are timed and an iteration is told: 2 operations\n"
         "an entry, the bytes of its product and 9 or 4 numbers a row. stages of spgemm's JSON lines are us of reading "
         "the file, converting B to columns, counting\n"
         "C's rows, the scan of the counts, filling and sorting C; null: none, or not told apart. Roof is the\n"
         "share of the copy bandwidth, which is measured in the same run. A FILE that is a folder stands for the\n"
         "matrices in it.",
     .examples = "  spry bench matrix.mtx.gz --formats all --peers\n"
                 "  spry bench --suite mesh --matrices ~/matrices --type all --json=mesh.jsonl\n"
                 "  spry bench matrix.mtx.gz --op spmm --columns 1,8,32 --layout column --peers\n"
                 "  spry bench --suite products --matrices ~/matrices --peers\n"
                 "  spry bench gen:laplace7,x=100,y=100,z=100 --op cg --peers\n"
                 "  spry bench folder/ --regret --peers --type all --json=regret.jsonl\n"
                 "  spry bench --regret --from regret.jsonl\n"
                 "  spry bench --suite mesh --runs 20 --at-once 16 --threads 1,4,16 --time-limit 600\n",
     .options = options,
     .most = -1,
     .positional = "matrix FILEs",
     .run = run};
