/* spry bench: kernels and peers next to each other, checked and timed. */
#include "bench/bench.h"
#include "cli/bench_sources.h"
#include "cli/bench_tables.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/report.h"
#include "spry/spgemm.h"
#include "spry/tune.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- arguments ----------------------------------------------------------------------------------- */

enum { BENCH_MOST_TEAMS = 16, BENCH_MOST_TYPES = 8, BENCH_MOST_COUNTS = 16 };

typedef struct arguments {
    const char *suite, *folder;
    bench_options o; /* its op: NULL until it is known */
    text_list only, thread_list;
    bench_types types[BENCH_MOST_TYPES]; /* o.type_count of them */
    int want_peers;
    int64_t counts[BENCH_MOST_COUNTS]; /* o.operation.counts_length of them */
    const char *layout;                /* NULL: not told */
    int64_t threads;                   /* the most of the list */
    int64_t part, parts;               /* parts 0: the whole */
    int transpose;                     /* 1: spmv is spmv_t, spmm is spmm_t */
    const char *report;                /* NULL: none is drawn */
    int sorted;                        /* 1: tables go by time */
    cli_json json;
} arguments;

/* ---- names of formats, kernels and policies, with their parameters --------------------------- */

enum { MOST_NAMES = 256 };
typedef struct name_list {
    const char *names[MOST_NAMES];
    int count;
} name_list;

static int check_names(const char *option, const char *what, const text_list *list, const name_list *known)
{
    for (int i = 0; i < list->count; i++) {
        int found = 0;
        for (int k = 0; k < known->count; k++) found |= text_is_named(list->items[i], known->names[k]);
        if (found) continue;
        const char *nearest = cli_nearest(list->items[i], known->names, known->count);
        if (nearest)
            return cli_usage_error("--%s: there is no %s '%s'; did you mean '%s'?", option, what, list->items[i],
                                   nearest);
        return cli_usage_error("--%s: there is no %s '%s'; 'spry kernels' lists them", option, what, list->items[i]);
    }
    return CLI_GO_ON;
}

/* Checks the names of --formats. CLI_GO_ON, or an exit status after a message. */
static int check_formats(const bench_options *o)
{
    name_list known = {.names = {"auto"}, .count = 1};
    spry_format_info info = SPRY_INIT(spry_format_info);
    for (int f = 0; known.count < MOST_NAMES && spry_format_get_info(&info, f, NULL) == SPRY_OK; f++)
        known.names[known.count++] = info.name;
    if (text_list_has(&o->candidates.formats, "all"))
        return cli_usage_error("--formats: 'all' stands alone, not in a list");
    return check_names("formats", "format", &o->candidates.formats, &known);
}

static spry_status try_options(spry_context *context, const spry_matrix *A, const spry_spmv_options *options,
                               spry_error *err)
{
    spry_spmv_plan *plan = NULL;
    const spry_status status = spry_spmv_plan_create(context, &plan, A, options, err);
    spry_spmv_plan_destroy(plan);
    return status;
}

static int try_policy(const char *policy, spry_context *context, const spry_matrix *A)
{
    spry_error err = {0};
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.policy = policy;
    const spry_status found = try_options(context, A, &options, &err);
    return found == SPRY_UNKNOWN_NAME ? cli_usage_error("--policy: %s", err.message) : CLI_GO_ON;
}

/* A kernel of products with vectors, on A. */
static spry_status try_kernel(const char *name, spry_context *context, const spry_matrix *A, spry_error *err)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.kernel = name;
    options.allow_nondeterministic = true;
    return try_options(context, A, &options, err);
}

/* One of sparse products. */
static spry_status try_square(const char *name, spry_context *context, const spry_matrix *A, spry_error *err)
{
    spry_matrix *C = NULL;
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.kernel = name;
    const spry_status status = spry_spgemm(context, &C, NULL, A, A, &options, err);
    spry_matrix_destroy(C);
    return status;
}

/* Of what follows a kernel's name; one that cannot run here is looked at where it can. */
static int check_kernel_parameters(const bench_options *o, spry_context *context, const spry_matrix *A)
{
    const text_list *kernels = &o->candidates.kernels;
    for (int i = 0; i < kernels->count; i++) {
        spry_error err = {0};
        const char *name = kernels->items[i];
        if (!strchr(name, ':')) continue;
        const spry_status status = bench_factor_of(o->operation.op) == BY_A_MATRIX ? try_square(name, context, A, &err)
                                                                                   : try_kernel(name, context, A, &err);
        if (status == SPRY_UNKNOWN_NAME || status == SPRY_INVALID_ARGUMENT)
            return cli_usage_error("--kernels: %s", err.message);
    }
    return CLI_GO_ON;
}

/* Tries parameters and the policy on a matrix without rows: wrong parameters are bad usage, not a failed case. */
static int check_parameters(const bench_options *o, spry_context *context)
{
    static const int32_t offsets[1] = {0};
    spry_error err = {0};
    spry_matrix *A = NULL;
    if (spry_matrix_borrow_csr_f64(context, &A, 0, 0, offsets, NULL, NULL, &err) != SPRY_OK) return cli_fail(&err);
    int status = CLI_GO_ON;
    for (int i = 0; i < o->candidates.formats.count && status == CLI_GO_ON; i++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = o->candidates.formats.items[i];
        if (!strchr(options.format, ':')) continue;
        const spry_status found = try_options(context, A, &options, &err);
        if (found == SPRY_UNKNOWN_NAME || found == SPRY_INVALID_ARGUMENT)
            status = cli_usage_error("--formats: %s", err.message);
    }
    if (status == CLI_GO_ON) status = check_kernel_parameters(o, context, A);
    if (status == CLI_GO_ON && o->candidates.policy) status = try_policy(o->candidates.policy, context, A);
    spry_matrix_destroy(A);
    return status;
}

/* A kernel of another kind of product would be left out without a word. */
static int check_operation(const char *kernel, bench_factor factor, const char *op)
{
    if (factor == bench_factor_of(op)) return CLI_GO_ON;
    if (factor == BY_A_MATRIX)
        return cli_usage_error("--kernels: '%s' multiplies two sparse matrices; add --op spgemm", kernel);
    if (factor == BY_COLUMNS)
        return cli_usage_error("--kernels: '%s' multiplies with several vectors; add --op spmm", kernel);
    if (factor == IN_CG) return cli_usage_error("--kernels: '%s' solves by CG; add --op cg", kernel);
    if (factor == IN_PAGERANK) return cli_usage_error("--kernels: '%s' ranks nodes; add --op pagerank", kernel);
    if (bench_iterates(op))
        return cli_usage_error("--kernels: '%s' is a peer's product, which --op %s does not time", kernel, op);
    return cli_usage_error("--kernels: '%s' multiplies with a vector, which --op %s does not", kernel, op);
}

/* Checks the names of --kernels. Names of peers are valid only if peers are wanted. */
static int check_kernels(const bench_options *o, spry_context *context, const bench_peers *peers, int want_peers)
{
    name_list known = {.count = 0};
    const bench_factor wanted = bench_factor_of(o->operation.op),
                       of_plans = wanted == BY_A_MATRIX ? BY_A_VECTOR : wanted;
    bench_factor factors[MOST_NAMES];
    int elsewhere[MOST_NAMES] = {0}, status, fitting = 0;
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    for (int k = 0; known.count < MOST_NAMES && spry_kernel_get_info(context, &info, k, NULL) == SPRY_OK; k++) {
        /* plans multiply with any number of vectors */
        factors[known.count] = strcmp(info.operations, "spgemm") == 0 ? BY_A_MATRIX : of_plans;
        elsewhere[known.count] = strcmp(o->candidates.device, "all") != 0 &&
                                 strcmp(o->candidates.device, info.device_kind) != 0;
        known.names[known.count++] = info.name;
    }
    const char *name;
    for (int p = 0; known.count < MOST_NAMES && (name = bench_peer_name(peers, p, &factors[known.count])) != NULL;
         p++) {
        if (!want_peers && text_list_has(&o->candidates.kernels, name))
            return cli_usage_error("--kernels: '%s' is a peer's kernel; add --peers", name);
        if (want_peers) known.names[known.count++] = name;
    }
    status = check_names("kernels", "kernel", &o->candidates.kernels, &known);
    for (int k = 0; status == CLI_GO_ON && k < known.count; k++)
        if (text_list_names(&o->candidates.kernels, known.names[k])) {
            status = check_operation(known.names[k], factors[k], o->operation.op);
            fitting += !elsewhere[k];
        }
    if (status == CLI_GO_ON && fitting == 0 && o->candidates.kernels.count > 0 && o->candidates.formats.count == 0)
        return cli_usage_error("--device is '%s', on which none of --kernels runs", o->candidates.device);
    return status;
}

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

/* Reads numbers of vectors. */
static int take_counts(void *state, const char *value)
{
    arguments *a = state;
    text_list list = {0};
    int status = cli_take_list("count", value, &list);
    if (status == CLI_GO_ON && list.count > BENCH_MOST_COUNTS)
        status = cli_usage_error("--count has %d numbers, expected at most %d", list.count, BENCH_MOST_COUNTS);
    for (int i = 0; status == CLI_GO_ON && i < list.count; i++) status = cli_take_count(list.items[i], &a->counts[i]);
    a->o.operation.counts_length = list.count;
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
     "operation: spmv multiplies with a vector, spmm with several vectors,\n"
     "_t transposed; spgemm squares the matrix; cg and pagerank time an\n"
     "iteration of whole solves, docs/solvers.md (default: spmv)",
     CLI_WORD, CLI_AT(o.operation.op)},
    {"transpose", 't', NULL, "multiply with the transposed matrix: spmv_t for spmv, spmm_t for spmm", CLI_FLAG,
     CLI_AT(transpose)},
    {"count", 0, "LIST", "of spmm and spmm_t: numbers of vectors, one after another (default: 8)", CLI_OWN,
     .take = take_counts},
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

static int take_counts_and_layout(arguments *a)
{
    bench_options *o = &a->o;
    const char *other = o->operation.counts_length > 0 ? "count" : a->layout ? "layout" : NULL;
    if (bench_factor_of(o->operation.op) != BY_COLUMNS)
        return other ? cli_usage_error("--%s is of products with several vectors, --op is %s: expected spmm or spmm_t",
                                       other, o->operation.op)
                     : CLI_GO_ON;
    if (o->operation.counts_length == 0) a->counts[o->operation.counts_length++] = 8;
    o->operation.counts = a->counts;
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

/* Fills in what was left out and refuses what does not go together. */
static int take_defaults(arguments *a)
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
    if (status == CLI_GO_ON) status = take_counts_and_layout(a);
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
    if (status == CLI_GO_ON) status = check_formats(o);
    return status == CLI_GO_ON ? check_orderings(a) : status;
}

static void release_arguments(arguments *a)
{
    text_list *const lists[] = {&a->o.candidates.formats, &a->o.candidates.kernels, &a->o.candidates.orderings,
                                &a->only, &a->thread_list};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) cli_release_list(lists[l]);
}

/* ---- a run ----------------------------------------------------------------------------------- */

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
    const int counts = o->operation.counts_length > 0 ? o->operation.counts_length : 1;
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
    if (run->peers) return check_kernels(&run->a->o, run->context, run->peers, run->a->want_peers);
    cli_message("out of memory");
    return CLI_UNSUCCESSFUL;
}

static int bench(run_state *run, int count, char **paths)
{
    int status = choose_sources(run, count, paths);
    if (status == CLI_GO_ON) status = open_contexts(run);
    if (status == CLI_GO_ON) status = check_parameters(&run->a->o, run->context);
    if (status == CLI_GO_ON) status = load_peers(run);
    return status == CLI_GO_ON ? measure(run) : status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.o = {.candidates.device = "all", .input.index = {SPRY_I32, SPRY_I32}}};
    run_state state = {.a = &a};
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = take_defaults(&a);
    if (status == CLI_GO_ON && a.report) status = cli_report_check(a.report);
    if (status == CLI_GO_ON) status = bench(&state, argc, argv);
    bench_release_peers(state.peers);
    for (int i = 0; i < state.fewer_count; i++) spry_context_destroy(state.fewer[i]);
    spry_context_destroy(state.preparer);
    spry_context_destroy(state.context);
    free(state.sources.items);
    free(state.records);
    release_arguments(&a);
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
              "vectors all of them); roof is the share of the copy bandwidth, which is measured in the\n"
              "same run. With --op spgemm they count 2 operations a product of entries, and A and C\n"
              "once. With --op cg and pagerank whole solves are timed and an iteration is told.",
     .examples = "  spry bench matrix.mtx.gz --formats all --peers\n"
                 "  spry bench --suite mesh --matrices ~/matrices --type all --json=mesh.jsonl\n"
                 "  spry bench matrix.mtx.gz --op spmm --count 1,8,32 --layout column --peers\n"
                 "  spry bench --suite products --matrices ~/matrices --peers\n"
                 "  spry bench gen:laplace7,x=100,y=100,z=100 --op cg --peers\n"
                 "  spry bench matrix.mtx.gz --formats all --peers --report report.html\n"
                 "  spry bench folder/ --regret --peers --type all --json=regret.jsonl\n"
                 "  spry bench --suite mesh --runs 20 --at-once 16 --threads 1,4,16 --time-limit 600\n",
     .options = options,
     .most = -1,
     .positional = "matrix FILEs",
     .run = run};
