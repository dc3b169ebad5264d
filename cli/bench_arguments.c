#include "cli/bench_arguments.h"
#include "cli/bench_names.h"
#include "spry/tools.h"

#include <stdlib.h>
#include <string.h>

typedef cli_bench_arguments arguments;

/* ---- options ------------------------------------------------------------------------------------ */

static int take_orderings(void *state, const char *value)
{
    arguments *a = state;
    int index = 0, status = cli_take_list("ordering", value, &a->o.candidates.orderings);
    for (int i = 0; status == CLI_GO_ON && i < a->o.candidates.orderings.count; i++)
        status = cli_take_word("ordering", a->o.candidates.orderings.items[i],
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
    a->o.operation.type_count = 0;
    for (int i = 0; status == CLI_GO_ON && i < list.count; i++) {
        int number = 0;
        status = cli_take_word("type", list.items[i], "f64|f32|f32:f64|bf16:f32|f16:f32|all", &number);
        if (status != CLI_GO_ON) break;
        if (a->o.operation.type_count + 2 > BENCH_MOST_TYPES) {
            status = cli_usage_error("--type has too many types, expected at most %d", BENCH_MOST_TYPES);
            break;
        }
        const int all = number == BENCH_TYPES;
        a->types[a->o.operation.type_count++] = bench_all_types[all ? 0 : number];
        if (all) a->types[a->o.operation.type_count++] = bench_all_types[1];
    }
    cli_release_list(&list);
    a->o.operation.types = a->types;
    return status;
}

/* Numbers of threads: the most are the run's. */
static int take_threads(void *state, const char *value)
{
    arguments *a = state;
    int status = cli_take_list("threads", value, &a->thread_list);
    if (status == CLI_GO_ON && a->thread_list.count > BENCH_MOST_TEAMS)
        return cli_usage_error("--threads has %d numbers, expected at most %d", a->thread_list.count, BENCH_MOST_TEAMS);
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
    if (status == CLI_GO_ON && list.count > BENCH_MOST_COUNTS)
        status = cli_usage_error("--columns has %d numbers, expected at most %d", list.count, BENCH_MOST_COUNTS);
    for (int i = 0; status == CLI_GO_ON && i < list.count; i++)
        status = cli_take_columns(list.items[i], &a->columns[i]);
    a->o.operation.column_counts = list.count;
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

const cli_option cli_bench_options[] = {
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
     CLI_WORD, CLI_AT(o.operation.op)},
    {"transpose", 't', NULL, "multiply with the transposed matrix: spmv_t for spmv, spmm_t for spmm", CLI_FLAG,
     CLI_AT(transpose)},
    {"columns", 0, "LIST", "of spmm and spmm_t: numbers of columns, one after another (default: 8)", CLI_OWN,
     .take = take_columns},
    CLI_LAYOUT_OPTION("of spmm and spmm_t"),
    {"formats", 0, "all|auto|LIST",
     "the best kernel of each format named, with parameters if wanted\n"
     "(sell:c=16:sigma=4096), auto: what the library chooses,\n"
     "all: every kernel of every format (default: csr,auto)",
     CLI_LIST, CLI_AT(o.candidates.formats)},
    {"kernels", 0, "LIST",
     "kernels by name ('spry kernels'), with parameters if wanted\n"
     "(csr_vector_cuda:lanes=32), with --peers also peers'",
     CLI_LIST, CLI_AT(o.candidates.kernels)},
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
    {"device", 0, "cpu|cuda|all", "devices (default: all)", CLI_WORD, CLI_AT(o.candidates.device)},
    {"type", 0, "f32|f64|all|TYPES",
     "type of values and vectors, or a list of types; of values stored\n"
     "in another type than vectors f32:f64, bf16:f32, f16:f32 (default: f64)",
     CLI_OWN, .take = take_types},
    {"pattern", 0, NULL, "leave the values out: all are 1 (of peers, too)", CLI_FLAG, CLI_AT(o.operation.pattern)},
    {"arrays", 0, "host|gpu", "where the matrix is that plans for a GPU are made of (default: host)", CLI_CHOICE,
     CLI_AT(o.candidates.arrays_on_gpu)},
    {"index", 0, "32/32|64/32|64/64", "bits of offsets/columns (default: 32/32)", CLI_INDEX, CLI_AT(o.input.index)},
    {"threads", 0, "N[,N...]",
     "threads of a product (default: OMP_NUM_THREADS, else all); of a\n"
     "list the most, and on the CPU, with the matrix as given, the others\n"
     "as well",
     CLI_OWN, .take = take_threads},
    {"calls", 0, "N",
     "products that plans are told to expect (default: 10 000); of\n"
     "spgemm, above 1: plans too, whose numeric phase is timed alone",
     CLI_INTEGER, CLI_AT(o.candidates.calls), 1, INT64_C(1000000000000)},
    {"updates", 0, "N", "updates of the values that plans are told to expect (default: none)", CLI_INTEGER,
     CLI_AT(o.candidates.updates), 1, INT64_C(1000000000000)},
    {"policy", 0, "NAME",
     "how auto decides: cost, tree, tree:memory, tree:unpredictable\n"
     "or measure, as far as the library has it (default: cost)",
     CLI_TEXT, CLI_AT(o.candidates.policy)},
    CLI_MEMORY_LIMIT_OPTION(o.candidates.memory_limit),
    {"runs", 0, "N",
     "a short protocol: N runs timed one by one after 5 that are not, in\n"
     "place of batches in turns; of spgemm too, but in turns",
     CLI_INTEGER, CLI_AT(o.protocol.runs), 1, 10000},
    {"time-limit", 0, "SECONDS", "begin no matrix after so long", CLI_INTEGER, CLI_AT(o.protocol.seconds), 1, 1000000},
    {"at-once", 0, "N",
     "read and reorder N matrices at once before they are measured, each\n"
     "by one thread, which is the set-up that is told (default: 1, by all)",
     CLI_INTEGER, CLI_AT(o.input.at_once), 1, 64},
    {"cold", 0, NULL, "flush the caches before every run", CLI_FLAG, CLI_AT(o.protocol.cold)},
    {"peers", 0, NULL, "other libraries' kernels too, from peers/ beside the program or SPRY_PEER_DIR", CLI_FLAG,
     CLI_AT(want_peers)},
    {"regret", 0, NULL,
     "with --json: measure every deterministic kernel and published sizes\n"
     "of formats, and record what auto chooses for 1, 10, 100, 1000 and\n"
     "many products; 'bench/regret.py FILE' prints what auto loses",
     CLI_FLAG, CLI_AT(o.protocol.regret)},
    {"report", 0, "FILE.html",
     "a page of the run without network: tables, figures, pictures; drawn\n"
     "by Python with Matplotlib, which is looked for before any measuring.\n"
     "'spry report' makes one of JSON lines, or compares two runs",
     CLI_TEXT, CLI_AT(report)},
    CLI_READING_OPTIONS,
    {"sort", 0, "given|time", "the order of rows in tables (default: given)", CLI_CHOICE, CLI_AT(sorted)},
    {"json", 0, "FILE",
     "JSON lines to standard output (nothing else there) or FILE, each\n"
     "matrix's when it is done: an interrupted run keeps them",
     CLI_JSON, CLI_AT(json)},
    CLI_END_OF_OPTIONS,
};

static int is_spgemm(const arguments *a)
{
    return bench_factor_of(a->o.operation.op) == BY_A_MATRIX;
}

/* ---- what goes together --------------------------------------------------------------------------- */

static int check_spgemm_formats(const arguments *a)
{
    for (int i = 0; i < a->o.candidates.orderings.count; i++)
        if (strncmp(a->o.candidates.orderings.items[i], "plan-", 5) == 0)
            return cli_usage_error("--ordering is '%s': only products with a vector have plans that renumber, expected "
                                   "none, rcm, bandk, degree or bfs",
                                   a->o.candidates.orderings.items[i]);
    const char *other = a->o.candidates.policy             ? "policy"
                        : a->o.candidates.updates > 0      ? "updates"
                        : a->o.candidates.memory_limit > 0 ? "memory-limit"
                        : a->o.operation.pattern           ? "pattern"
                        : a->o.candidates.arrays_on_gpu    ? "arrays"
                                                           : NULL;
    if (other) return cli_usage_error("--%s goes with products with a vector, which --op spgemm does not make", other);
    for (int i = 0; i < a->o.candidates.formats.count; i++)
        if (strcmp(a->o.candidates.formats.items[i], "auto") != 0 &&
            strcmp(a->o.candidates.formats.items[i], "all") != 0)
            return cli_usage_error("--formats is '%s': matrices are squared as CSR, expected auto or all; --kernels "
                                   "names kernels",
                                   a->o.candidates.formats.items[i]);
    return CLI_GO_ON;
}

/* Methods that iterate make their plans themselves, and all but the first iteration find caches as they left them. */
static int check_solvers(const arguments *a)
{
    const bench_options *o = &a->o;
    const char *other = o->candidates.policy             ? "policy"
                        : o->candidates.calls > 0        ? "calls"
                        : o->candidates.updates > 0      ? "updates"
                        : o->candidates.memory_limit > 0 ? "memory-limit"
                        : o->candidates.arrays_on_gpu    ? "arrays"
                        : o->protocol.cold               ? "cold"
                                                         : NULL;
    if (other) return cli_usage_error("--%s is of products, --op %s is a method that iterates", other, o->operation.op);
    for (int i = 0; i < o->candidates.orderings.count; i++)
        if (strcmp(o->candidates.orderings.items[i], "none") != 0)
            return cli_usage_error("--ordering is '%s': --op %s takes the matrix as it is given, expected none",
                                   o->candidates.orderings.items[i], o->operation.op);
    if (o->operation.pattern && bench_factor_of(o->operation.op) == IN_CG)
        return cli_usage_error("--pattern goes with --op pagerank; a matrix of ones alone is no system for --op cg");
    if (a->thread_list.count > 1)
        return cli_usage_error("--threads is a list, --op %s expects one number", o->operation.op);
    return CLI_GO_ON;
}

/* An ordering of one format, without it, would measure nothing after minutes of ordering. */
static int check_orderings(const arguments *a)
{
    for (int i = 0; i < a->o.candidates.orderings.count; i++) {
        const char *ordering = a->o.candidates.orderings.items[i];
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
    const char *other = o->candidates.formats.count > 0   ? "formats"
                        : o->candidates.kernels.count > 0 ? "kernels"
                        : o->candidates.calls > 0         ? "calls"
                        : o->candidates.updates > 0       ? "updates"
                        : o->candidates.memory_limit > 0  ? "memory-limit"
                                                          : NULL;
    if (!o->protocol.regret) return CLI_GO_ON;
    if (other) return cli_usage_error("--%s does not go with --regret, which says itself what runs", other);
    if (o->operation.op && bench_factor_of(o->operation.op) != BY_A_VECTOR)
        return cli_usage_error("--regret is of products with a vector, --op is %s: expected spmv or spmv_t",
                               o->operation.op);
    if (o->candidates.orderings.count > 1 ||
        (o->candidates.orderings.count == 1 && strcmp(o->candidates.orderings.items[0], "none") != 0))
        return cli_usage_error("--ordering does not go with --regret: auto takes the matrix as it is given");
    if (a->thread_list.count > 1) return cli_usage_error("--threads is a list, --regret expects one number");
    if (!a->json.wanted)
        return cli_usage_error("--regret records what auto chooses, for bench/regret.py: expected --json=FILE as well");
    return CLI_GO_ON;
}

/* Two types are of products with vectors, of matrices with values. */
static int check_types(const arguments *a)
{
    for (int t = 0; t < a->o.operation.type_count; t++) {
        if (a->types[t].stored == a->types[t].vectors) continue;
        if (bench_iterates(a->o.operation.op))
            return cli_usage_error("--type %s does not go with --op %s, expected f32, f64 or all", a->types[t].name,
                                   a->o.operation.op);
        if (is_spgemm(a) || a->o.protocol.regret || a->o.operation.pattern)
            return cli_usage_error("--type %s does not go with %s, expected f32, f64 or all", a->types[t].name,
                                   is_spgemm(a)           ? "--op spgemm"
                                   : a->o.protocol.regret ? "--regret"
                                                          : "--pattern");
    }
    return CLI_GO_ON;
}

static int take_columns_and_layout(arguments *a)
{
    bench_options *o = &a->o;
    const char *other = o->operation.column_counts > 0 ? "columns" : a->layout ? "layout" : NULL;
    if (bench_factor_of(o->operation.op) != BY_COLUMNS)
        return other ? cli_usage_error("--%s is of products with several columns, --op is %s: expected spmm or spmm_t",
                                       other, o->operation.op)
                     : CLI_GO_ON;
    if (o->operation.column_counts == 0) a->columns[o->operation.column_counts++] = 8;
    o->operation.columns = a->columns;
    o->operation.row_major = cli_is_row_major(a->layout);
    return CLI_GO_ON;
}

/* --transpose, as other commands have it, is one more name of the operations with _t. */
static int take_transpose(arguments *a)
{
    if (!a->transpose || strstr(a->o.operation.op, "_t")) return CLI_GO_ON;
    if (strcmp(a->o.operation.op, "spmv") == 0)
        a->o.operation.op = "spmv_t";
    else if (strcmp(a->o.operation.op, "spmm") == 0)
        a->o.operation.op = "spmm_t";
    else
        return cli_usage_error("--transpose is of --op spmv and spmm, --op is %s", a->o.operation.op);
    return CLI_GO_ON;
}

/* A policy decides where "auto" is asked for, and nowhere else. */
static int check_policy(const arguments *a)
{
    const bench_options *o = &a->o;
    int has_auto = o->candidates.all_kernels;
    for (int f = 0; f < o->candidates.formats.count; f++)
        has_auto |= strcmp(o->candidates.formats.items[f], "auto") == 0;
    if (!o->candidates.policy || has_auto) return CLI_GO_ON;
    return cli_usage_error("--policy is of format auto, which --formats does not have: expected auto there, too");
}

int cli_bench_take_defaults(arguments *a)
{
    bench_options *o = &a->o;
    const int products = a->suite && strcmp(a->suite, "products") == 0;
    int status = check_regret(a);
    if (status != CLI_GO_ON) return status;
    if (o->operation.op && products && strcmp(o->operation.op, "spgemm") != 0)
        return cli_usage_error("--suite %s squares matrices, --op is %s: expected spgemm", a->suite, o->operation.op);
    if (!o->operation.op) o->operation.op = products ? "spgemm" : "spmv";
    status = take_transpose(a);
    if (status != CLI_GO_ON) return status;
    if (o->operation.type_count == 0) status = take_types(a, "f64");
    if (status == CLI_GO_ON) status = check_types(a);
    if (status == CLI_GO_ON) status = take_columns_and_layout(a);
    if (status == CLI_GO_ON && bench_iterates(o->operation.op)) status = check_solvers(a);
    if (status == CLI_GO_ON && o->candidates.orderings.count == 0)
        status = cli_take_list("ordering", "none", &o->candidates.orderings);
    o->candidates.all_kernels =
        o->protocol.regret || (o->candidates.formats.count == 1 && strcmp(o->candidates.formats.items[0], "all") == 0);
    if (o->candidates.all_kernels) cli_release_list(&o->candidates.formats);
    if (status == CLI_GO_ON && is_spgemm(a)) return check_spgemm_formats(a);
    if (status != CLI_GO_ON || o->candidates.all_kernels) return status;
    if (o->candidates.formats.count == 0 && o->candidates.kernels.count == 0)
        status = cli_take_list("formats", "csr,auto", &o->candidates.formats);
    if (status == CLI_GO_ON) status = check_policy(a);
    if (status == CLI_GO_ON) status = cli_bench_check_formats(o);
    return status == CLI_GO_ON ? check_orderings(a) : status;
}

void cli_bench_release_arguments(arguments *a)
{
    text_list *const lists[] = {&a->o.candidates.formats, &a->o.candidates.kernels, &a->o.candidates.orderings,
                                &a->only, &a->thread_list};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) cli_release_list(lists[l]);
}
