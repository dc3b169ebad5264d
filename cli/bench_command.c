/* spry bench: checks and times kernels and peers on the same matrices. */
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
    bench_options o; /* operation.op is NULL until take_defaults */
    text_list only, thread_list;
    bench_types types[BENCH_MOST_TYPES]; /* length o.operation.type_count */
    bool want_peers;
    int64_t counts[BENCH_MOST_COUNTS]; /* length o.operation.counts_length */
    const char *layout;                /* NULL: not given */
    int64_t threads;                   /* largest of thread_list */
    int64_t part, parts;               /* part number `part` of `parts`; parts 0: all matrices */
    bool transpose;                    /* spmv means spmv_t, spmm means spmm_t */
    const char *report;                /* NULL: no report */
    int sorted;                        /* set by CLI_CHOICE; 1: tables are sorted by time */
    cli_json json;
} arguments;

/* ---- names of formats, kernels and policies, with their parameters --------------------------- */

enum { MOST_NAMES = 256 };
typedef struct name_list {
    const char *names[MOST_NAMES];
    int count;
} name_list;

static int check_names(const char *option, const char *noun, const text_list *list, const name_list *known)
{
    for (int i = 0; i < list->count; i++) {
        int found = 0;
        for (int k = 0; k < known->count; k++) found |= text_is_named(list->items[i], known->names[k]);
        if (found) continue;
        const char *nearest = cli_nearest(list->items[i], known->names, known->count);
        if (nearest)
            return cli_usage_error("--%s: there is no %s '%s'; did you mean '%s'?", option, noun, list->items[i],
                                   nearest);
        return cli_usage_error("--%s: there is no %s '%s'; 'spry kernels' lists them", option, noun, list->items[i]);
    }
    return CLI_GO_ON;
}

/* Checks the names of --formats. Returns CLI_GO_ON, or an exit status after a message. */
static int check_formats(const bench_options *o)
{
    name_list known = {.names = {"auto"}, .count = 1};
    spry_format_info info = SPRY_INIT(spry_format_info);
    for (int f = 0; known.count < MOST_NAMES && spry_format_get_info(&info, f, NULL) == SPRY_OK; f++)
        known.names[known.count++] = info.name;
    if (text_list_has(&o->candidates.formats, "all"))
        return cli_usage_error("--formats: 'all' cannot be combined with other formats");
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

/* Creates a plan for a product of A and a vector with the kernel. */
static spry_status try_kernel(const char *name, spry_context *context, const spry_matrix *A, spry_error *err)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.kernel = name;
    options.allow_nondeterministic = true;
    return try_options(context, A, &options, err);
}

/* Computes A*A with the kernel. */
static spry_status try_square(const char *name, spry_context *context, const spry_matrix *A, spry_error *err)
{
    spry_matrix *C = NULL;
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.kernel = name;
    const spry_status status = spry_spgemm(context, &C, NULL, A, A, &options, err);
    spry_matrix_destroy(C);
    return status;
}

/* Checks the parameters of kernels by using the kernels for A. Kernels that this machine cannot run are not checked. */
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

/* Tries parameters and the policy on a matrix without rows. So mistakes are bad usage and not failed cases. */
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

/* Refuses a kernel of another operation, which would be left out silently. */
static int check_operation(const char *kernel, bench_factor factor, const char *op)
{
    if (factor == bench_factor_of(op)) return CLI_GO_ON;
    if (factor == BY_A_MATRIX)
        return cli_usage_error("--kernels: '%s' multiplies two sparse matrices; add --op spgemm", kernel);
    if (factor == BY_COLUMNS)
        return cli_usage_error("--kernels: '%s' multiplies with multiple vectors; add --op spmm", kernel);
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
    bool other_device[MOST_NAMES] = {0};
    int status, fitting = 0;
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    for (int k = 0; known.count < MOST_NAMES && spry_kernel_get_info(context, &info, k, NULL) == SPRY_OK; k++) {
        /* Kernels of plans fit every operation except spgemm. */
        factors[known.count] = strcmp(info.operations, "spgemm") == 0 ? BY_A_MATRIX : of_plans;
        other_device[known.count] = strcmp(o->candidates.device, "all") != 0 &&
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
            fitting += !other_device[k];
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

/* Parses a list of types; "all" means f64 and f32. */
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

/* Parses numbers of threads. The run's context has the largest of them. */
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

/* Parses numbers of vectors. */
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

/* Parses "2/4". */
static int take_part(void *state, const char *value)
{
    arguments *a = state;
    const char *slash = strchr(value, '/');
    char part[32] = "";
    if (slash && (size_t)(slash - value) < sizeof part) memcpy(part, value, (size_t)(slash - value));
    if (!part[0]) return cli_usage_error("--part is '%s', expected I/N, such as 1/4 to 4/4", value);
    int status = cli_take_integer("part (after the slash)", slash + 1, 1, 1000, &a->parts);
    return status == CLI_GO_ON ? cli_take_integer("part (before the slash)", part, 1, a->parts, &a->part) : status;
}

static const cli_option options[] = {
    {"suite", 0, "NAME",
     "a named list of matrices: mesh, scattered, shuffled, values\n"
     "(meshes with few distinct values), unstructured (generated by\n"
     "bench/unstructured), or products (for spgemm). study/ has the\n"
     "suites of studies",
     CLI_TEXT, CLI_AT(suite)},
    {"matrices", 0, "DIR", "folder of a suite's matrices (default: SPRY_MATRIX_DIR)", CLI_TEXT, CLI_AT(folder)},
    {"only", 0, "LIST", "measure only the matrices of these names", CLI_LIST, CLI_AT(only), 1},
    {"part", 0, "I/N", "measure the I-th matrix and every N-th after it: N runs cover all", CLI_OWN, .take = take_part},
    {"op", 0, "spmv|spmv_t|spmv_add|spmm|spmm_t|spgemm|cg|pagerank",
     "operation: spmv multiplies with a vector, spmm with multiple vectors,\n"
     "_t with the transposed matrix; spmv_add computes y = A*x + y; spgemm\n"
     "squares the matrix; cg and pagerank solve and report the time per\n"
     "iteration, docs/solvers.md (default: spmv)",
     CLI_WORD, CLI_AT(o.operation.op)},
    {"transpose", 't', NULL, "multiply with the transposed matrix: spmv_t for spmv, spmm_t for spmm", CLI_FLAG,
     CLI_AT(transpose)},
    {"count", 0, "LIST", "spmm and spmm_t: numbers of vectors to measure (default: 8)", CLI_OWN, .take = take_counts},
    CLI_LAYOUT_OPTION("spmm and spmm_t"),
    {"formats", 0, "all|auto|LIST",
     "LIST: the best kernel of each named format, optionally with parameters\n"
     "(sell:c=16:sigma=4096); auto: the library's choice; all: every kernel\n"
     "of every format (default: csr,auto)",
     CLI_LIST, CLI_AT(o.candidates.formats)},
    {"kernels", 0, "LIST",
     "kernels by name ('spry kernels'), optionally with parameters\n"
     "(csr_vector_cuda:lanes=32); with --peers also kernels of peers",
     CLI_LIST, CLI_AT(o.candidates.kernels)},
    {"ordering", 0, "LIST",
     "none: the matrix as given (default). rcm, bandk, degree, bfs: reorder\n"
     "the matrix before planning, also for peers; x and y are in the new\n"
     "order, and set-up includes the time of reordering. plan-rcm,\n"
     "plan-bandk, ...: plans permute x and y in every product; not for\n"
     "peers. bandk2, bandk3, bandk4: only for csr2, csr3 or csr4, with 2, 3\n"
     "or 4 levels. by-format: none and rcm, except none and bandk for csr2\n"
     "and csr3, none and bandk4 for csr4. by-k: as by-format, with bandk2\n"
     "for csr2 and bandk3 for csr3",
     CLI_OWN, .take = take_orderings},
    {"device", 0, "cpu|cuda|all", "devices (default: all)", CLI_WORD, CLI_AT(o.candidates.device)},
    {"type", 0, "f32|f64|all|TYPES",
     "type of values and vectors, or a list of types. f32:f64, bf16:f32 and\n"
     "f16:f32 store values in another type than vectors (default: f64)",
     CLI_OWN, .take = take_types},
    {"pattern", 0, NULL, "drop the values: all are 1 (peers get ones)", CLI_FLAG, CLI_AT(o.operation.pattern)},
    {"arrays", 0, "host|gpu", "memory of the matrix from which GPU plans are built (default: host)", CLI_CHOICE,
     CLI_AT(o.candidates.arrays_on_gpu)},
    {"index", 0, "32/32|64/32|64/64", "bits of offsets/columns (default: 32/32)", CLI_INDEX, CLI_AT(o.input.index)},
    {"threads", 0, "N[,N...]",
     "threads of a product (default: OMP_NUM_THREADS, else all). With a\n"
     "list, the largest number is used; products on the CPU are also\n"
     "measured with the smaller numbers",
     CLI_OWN, .take = take_threads},
    {"calls", 0, "N",
     "number of products for which plans are chosen (default: 10 000).\n"
     "spgemm: above 1, also times the numeric phase of plans",
     CLI_INTEGER, CLI_AT(o.candidates.calls), 1, INT64_C(1000000000000)},
    {"updates", 0, "N", "number of value updates for which plans are chosen (default: 0)", CLI_INTEGER,
     CLI_AT(o.candidates.updates), 1, INT64_C(1000000000000)},
    {"policy", 0, "NAME",
     "how auto decides: cost, tree, tree:memory, tree:unpredictable\n"
     "or measure (default: cost)",
     CLI_TEXT, CLI_AT(o.candidates.policy)},
    CLI_MEMORY_LIMIT_OPTION(o.candidates.memory_limit),
    {"runs", 0, "N",
     "short protocol: N runs, each timed, after 5 warm-up runs, instead of\n"
     "interleaved batches; spgemm still interleaves kernels",
     CLI_INTEGER, CLI_AT(o.protocol.runs), 1, 10000},
    {"time-limit", 0, "SECONDS", "start no further matrix after this time", CLI_INTEGER, CLI_AT(o.protocol.seconds), 1,
     1000000},
    {"at-once", 0, "N",
     "read and reorder N matrices in parallel before measuring, each by one\n"
     "thread; set-up is then the time of one thread (default: 1, by all)",
     CLI_INTEGER, CLI_AT(o.input.at_once), 1, 64},
    {"cold", 0, NULL, "flush the caches before every run", CLI_FLAG, CLI_AT(o.protocol.cold)},
    {"peers", 0, NULL, "also measure other libraries, from SPRY_PEER_DIR or the program's peers/", CLI_FLAG,
     CLI_AT(want_peers)},
    {"regret", 0, NULL,
     "with --json: measure every deterministic kernel and published sizes\n"
     "of formats, and record the choice of auto for 1, 10, 100, 1000 and\n"
     "many products; 'bench/regret.py FILE' prints the loss of auto",
     CLI_FLAG, CLI_AT(o.protocol.regret)},
    {"report", 0, "FILE.html",
     "write tables, figures and pictures of the run to one HTML file. Needs\n"
     "Python with Matplotlib, which is checked before measuring.\n"
     "'spry report' draws a report from JSON lines, or compares two runs",
     CLI_TEXT, CLI_AT(report)},
    CLI_READING_OPTIONS,
    {"sort", 0, "given|time", "order of rows in tables (default: given)", CLI_CHOICE, CLI_AT(sorted)},
    {"json", 0, "FILE",
     "JSON lines to standard output (without tables) or FILE, written after\n"
     "each matrix: an interrupted run keeps them",
     CLI_JSON, CLI_AT(json)},
    CLI_END_OF_OPTIONS,
};

static int is_spgemm(const arguments *a)
{
    return bench_factor_of(a->o.operation.op) == BY_A_MATRIX;
}

/* ---- combinations of options ----------------------------------------------------------------------- */

static int check_spgemm_formats(const arguments *a)
{
    for (int i = 0; i < a->o.candidates.orderings.count; i++)
        if (strncmp(a->o.candidates.orderings.items[i], "plan-", 5) == 0)
            return cli_usage_error("--ordering is '%s', which only products with a vector have: expected none, rcm, "
                                   "bandk, degree or bfs",
                                   a->o.candidates.orderings.items[i]);
    const char *conflict = a->o.candidates.policy             ? "policy"
                           : a->o.candidates.updates > 0      ? "updates"
                           : a->o.candidates.memory_limit > 0 ? "memory-limit"
                           : a->o.operation.pattern           ? "pattern"
                           : a->o.candidates.arrays_on_gpu    ? "arrays"
                                                              : NULL;
    if (conflict) return cli_usage_error("--%s is for products with a vector, not for --op spgemm", conflict);
    for (int i = 0; i < a->o.candidates.formats.count; i++)
        if (strcmp(a->o.candidates.formats.items[i], "auto") != 0 &&
            strcmp(a->o.candidates.formats.items[i], "all") != 0)
            return cli_usage_error("--formats is '%s', but --op spgemm uses CSR: expected auto or all; --kernels "
                                   "selects kernels",
                                   a->o.candidates.formats.items[i]);
    return CLI_GO_ON;
}

/* Refuses options of plans (iterative methods create their own) and cold caches (iterations warm the caches). */
static int check_solvers(const arguments *a)
{
    const bench_options *o = &a->o;
    const char *conflict = o->candidates.policy             ? "policy"
                           : o->candidates.calls > 0        ? "calls"
                           : o->candidates.updates > 0      ? "updates"
                           : o->candidates.memory_limit > 0 ? "memory-limit"
                           : o->candidates.arrays_on_gpu    ? "arrays"
                           : o->protocol.cold               ? "cold"
                                                            : NULL;
    if (conflict) return cli_usage_error("--%s is for products, not for --op %s", conflict, o->operation.op);
    for (int i = 0; i < o->candidates.orderings.count; i++)
        if (strcmp(o->candidates.orderings.items[i], "none") != 0)
            return cli_usage_error("--ordering is '%s', but --op %s uses the matrix as given: expected none",
                                   o->candidates.orderings.items[i], o->operation.op);
    if (o->operation.pattern && bench_factor_of(o->operation.op) == IN_CG)
        return cli_usage_error("--pattern is not for --op cg, which needs values: expected --op pagerank");
    if (a->thread_list.count > 1)
        return cli_usage_error("--threads is a list, --op %s expects one number", o->operation.op);
    return CLI_GO_ON;
}

/* Refuses bandk2 to bandk4 without their format csr2 to csr4, since nothing would run after minutes of ordering. */
static int check_orderings(const arguments *a)
{
    for (int i = 0; i < a->o.candidates.orderings.count; i++) {
        const char *ordering = a->o.candidates.orderings.items[i];
        char format[8];
        if (strncmp(ordering, "bandk", 5) != 0 || !ordering[5]) continue;
        snprintf(format, sizeof format, "csr%s", ordering + 5);
        if (!bench_asks_for(&a->o, format))
            return cli_usage_error("--ordering is '%s', which only %s has, but neither --formats nor --kernels "
                                   "selects %s: add it, or use bandk, which works for all formats",
                                   ordering, format, format);
    }
    return CLI_GO_ON;
}

/* Refuses options that --regret sets: it runs every kernel and uses its own numbers of calls. */
static int check_regret(const arguments *a)
{
    const bench_options *o = &a->o;
    const char *conflict = o->candidates.formats.count > 0   ? "formats"
                           : o->candidates.kernels.count > 0 ? "kernels"
                           : o->candidates.calls > 0         ? "calls"
                           : o->candidates.updates > 0       ? "updates"
                           : o->candidates.memory_limit > 0  ? "memory-limit"
                                                             : NULL;
    if (!o->protocol.regret) return CLI_GO_ON;
    if (conflict) return cli_usage_error("--%s cannot be used with --regret, which selects all kernels", conflict);
    if (o->operation.op && bench_factor_of(o->operation.op) != BY_A_VECTOR)
        return cli_usage_error("--regret is for products with a vector, but --op is %s: expected spmv or spmv_t",
                               o->operation.op);
    if (o->candidates.orderings.count > 1 ||
        (o->candidates.orderings.count == 1 && strcmp(o->candidates.orderings.items[0], "none") != 0))
        return cli_usage_error("--ordering cannot be used with --regret: auto uses the matrix as given");
    if (a->thread_list.count > 1) return cli_usage_error("--threads is a list, --regret expects one number");
    if (!a->json.wanted)
        return cli_usage_error("--regret records choices of auto for bench/regret.py: expected --json=FILE");
    return CLI_GO_ON;
}

/* Refuses different types of values and vectors for iterative methods, --op spgemm, --regret and --pattern. */
static int check_types(const arguments *a)
{
    for (int t = 0; t < a->o.operation.type_count; t++) {
        if (a->types[t].stored == a->types[t].vectors) continue;
        if (bench_iterates(a->o.operation.op))
            return cli_usage_error("--type %s cannot be used with --op %s: expected f32, f64 or all", a->types[t].name,
                                   a->o.operation.op);
        if (is_spgemm(a) || a->o.protocol.regret || a->o.operation.pattern)
            return cli_usage_error("--type %s cannot be used with %s: expected f32, f64 or all", a->types[t].name,
                                   is_spgemm(a)           ? "--op spgemm"
                                   : a->o.protocol.regret ? "--regret"
                                                          : "--pattern");
    }
    return CLI_GO_ON;
}

static int take_counts_and_layout(arguments *a)
{
    bench_options *o = &a->o;
    const char *conflict = o->operation.counts_length > 0 ? "count" : a->layout ? "layout" : NULL;
    if (bench_factor_of(o->operation.op) != BY_COLUMNS)
        return conflict
                   ? cli_usage_error("--%s is for products with multiple vectors, but --op is %s: expected spmm or "
                                     "spmm_t",
                                     conflict, o->operation.op)
                   : CLI_GO_ON;
    if (o->operation.counts_length == 0) a->counts[o->operation.counts_length++] = 8;
    o->operation.counts = a->counts;
    o->operation.row_major = cli_is_row_major(a->layout);
    return CLI_GO_ON;
}

/* Applies --transpose: spmv becomes spmv_t and spmm becomes spmm_t. */
static int take_transpose(arguments *a)
{
    if (!a->transpose || strstr(a->o.operation.op, "_t")) return CLI_GO_ON;
    if (strcmp(a->o.operation.op, "spmv") == 0)
        a->o.operation.op = "spmv_t";
    else if (strcmp(a->o.operation.op, "spmm") == 0)
        a->o.operation.op = "spmm_t";
    else
        return cli_usage_error("--transpose is for --op spmv and spmm, but --op is %s", a->o.operation.op);
    return CLI_GO_ON;
}

/* Refuses --policy without format auto. */
static int check_policy(const arguments *a)
{
    const bench_options *o = &a->o;
    int has_auto = o->candidates.all_kernels;
    for (int f = 0; f < o->candidates.formats.count; f++)
        has_auto |= strcmp(o->candidates.formats.items[f], "auto") == 0;
    if (!o->candidates.policy || has_auto) return CLI_GO_ON;
    return cli_usage_error("--policy is for format auto, which --formats does not select: add auto");
}

/* Sets defaults and refuses invalid combinations of options. */
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

/* State of a run. */
typedef struct run_state {
    arguments *a;
    cli_sources sources;
    bench_peers *peers;
    spry_context *context, *preparer;      /* preparer: one thread */
    spry_context *fewer[BENCH_MOST_TEAMS]; /* fewer threads than context */
    int fewer_count;
    record *records;
    int record_count, group; /* group: index of the last group's first record */
    char records_path[4096]; /* file for the records of a report without --json; "": none */
    int matrices;            /* matrices with records */
    int groups;              /* number of groups of records that the last matrix has so far */
    double done;             /* share of the work that has records */
    bool stopped;            /* records could not be kept or written */
    int status;              /* exit status for matrices that could not be read */
} run_state;

/* ---- the benchmark's callbacks ------------------------------------------------------------------ */

/* Returns the number of groups of records of a matrix. */
static int groups_of(const run_state *run)
{
    const bench_options *o = &run->a->o;
    const int counts = o->operation.counts_length > 0 ? o->operation.counts_length : 1;
    return o->operation.type_count * counts * (o->candidates.orderings.count > 0 ? o->candidates.orderings.count : 1);
}

/* Reports progress within a group: planning and checking count as one half, measuring as the other half. */
static void report_rounds(void *user, double share)
{
    const run_state *run = user;
    cli_progress_share(run->done + (1 + share) / 2 / groups_of(run) / run->sources.count);
}

/* Reports progress, with equal shares for all matrices, and sets the message for an interruption. */
static void report_share(run_state *run, const char *matrix)
{
    const int groups = groups_of(run);
    const bool same_matrix = run->group > 0 && strcmp(run->records[run->group - 1].input.name, matrix) == 0;
    run->groups = same_matrix ? run->groups + 1 : 1;
    run->matrices += !same_matrix;
    const double last = run->groups < groups ? (double)run->groups / groups : 1;
    cli_progress_share(run->done = (run->matrices - 1 + last) / run->sources.count);
    if (run->a->json.wanted)
        cli_when_interrupted("%d record%s of %d of %d matrices %s kept%s%s", run->record_count,
                             run->record_count == 1 ? "" : "s", run->matrices, run->sources.count,
                             run->record_count == 1 ? "is" : "are", run->a->json.path ? " in " : "",
                             run->a->json.path ? run->a->json.path : "");
    else
        cli_when_interrupted("%d of %d matrices were measured, see the tables above; --json=FILE keeps records",
                             run->matrices, run->sources.count);
}

static int emit(void *user, const record *records, int count)
{
    run_state *run = user;
    record *grown = realloc(run->records, (size_t)(run->record_count + count + 1) * sizeof *grown);
    run->stopped = true;
    if (!grown) {
        cli_message("out of memory for the records");
        return 1;
    }
    run->records = grown;
    memcpy(grown + run->record_count, records, (size_t)count * sizeof *records);
    run->group = run->record_count;
    run->record_count += count;
    cli_progress(NULL);
    if (count > 0) report_share(run, records[0].input.name);
    for (int i = 0; run->a->json.wanted && i < count; i++) {
        cJSON *o = cJSON_CreateObject();
        if (!cli_json_line(&run->a->json, o, cli_json_record(o, &records[i]))) return 1;
    }
    if (cli_for_people(&run->a->json)) {
        cli_print_group(stdout, records, count, run->a->sorted);
        fflush(stdout);
    }
    run->stopped = false;
    return 0;
}

#define OF_AUTO(name, kind, member) CLI_JSON_FIELD(bench_choice, #name, kind, chosen.member)
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
    run->stopped = true;
    for (int i = 0; i < count; i++) {
        cJSON *o = cJSON_CreateObject(), *in = cJSON_AddObjectToObject(o, "regret");
        const int good =
            cli_json_add_fields(in, &choices[i], choice_fields, sizeof choice_fields / sizeof *choice_fields);
        if (!cli_json_line(&run->a->json, o, good)) return 1;
    }
    run->stopped = false;
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
    cli_message("nothing was measured: every case was skipped, for the reasons above");
    return CLI_UNSUCCESSFUL;
}

/* Opens the output of records. For a report without --json it is REPORT.jsonl, which is removed after drawing. */
static int open_records(run_state *run)
{
    arguments *a = run->a;
    if (a->report && !a->json.wanted) {
        snprintf(run->records_path, sizeof run->records_path, "%.4080s.jsonl", a->report);
        if (access(run->records_path, F_OK) == 0)
            return cli_usage_error("%s exists, but --report would write its records there: remove it, or name another "
                                   "file by --json=FILE; 'spry report' draws records of an earlier run",
                                   run->records_path);
        a->json.wanted = true;
        a->json.path = run->records_path;
    }
    return cli_json_open_stream(&a->json);
}

/* Returns all records as JSON lines; NULL if memory is short. The caller frees them. */
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

/* Draws the report, and keeps the records if drawing fails. Returns an exit status. */
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
    o->receiver.rounds = report_rounds;
    o->receiver.complain = complain;
    o->receiver.user = run;
    spry_error err = {0};
    int status = open_records(run);
    if (status != CLI_GO_ON) return status;
    cli_when_interrupted("no matrix was measured yet");
    spry_status result = bench_run(o, &err);
    cli_progress(NULL);
    /* If stopped, the failure was reported, or cli_json_close reports it. */
    status = run->stopped ? CLI_UNSUCCESSFUL : result == SPRY_OK ? CLI_OK : cli_fail(&err);
    if (cli_for_people(&a->json)) cli_print_summary(stdout, run->records, run->record_count);
    int records = status_of_records(run);
    status = cli_json_close(&a->json, records > status ? records : status);
    records = run->stopped ? CLI_OK : draw_report(run);
    return records > status ? records : status;
}

/* Opens the run's context, contexts with fewer threads, and a context with one thread that prepares matrices. */
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

/* Adds files and the suite, applies --only and --part, and checks outputs against the inputs. */
static int choose_sources(run_state *run, int count, char **paths)
{
    const arguments *a = run->a;
    int status = CLI_GO_ON;
    if (count == 0 && !a->suite) return cli_usage_error("nothing to measure: name a matrix FILE or a --suite");
    for (int i = 0; status == CLI_GO_ON && i < count; i++) status = cli_add_file(&run->sources, paths[i]);
    if (status == CLI_GO_ON) status = cli_add_suite(&run->sources, a->suite, a->folder);
    if (status == CLI_GO_ON) status = cli_make_sources_distinct(&run->sources);
    if (status == CLI_GO_ON && a->only.count > 0) status = cli_keep_only(&run->sources, &a->only);
    if (status == CLI_GO_ON && a->parts > 0) {
        cli_keep_part(&run->sources, a->part, a->parts);
        if (run->sources.count == 0)
            cli_message("note: --part %lld/%lld is empty: the list has fewer matrices", (long long)a->part,
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
     .summary = "measure kernels and other libraries on the same matrices",
     .usage = "FILE... [--suite NAME [--matrices DIR]] [OPTIONS]",
     .about = "Multiplies with every chosen kernel, checks each result against the error bound, and\n"
              "times all kernels in turn: at least 20 batches of at least 1 ms. A FILE that is a folder\n"
              "means the matrices in it. Exit status 1: a case is wrong or failed, or nothing could be\n"
              "measured. Skipped cases are listed with the reason.\n\n"
              "Rates count 2 operations per entry, and the bytes of plain CSR and of all vectors once.\n"
              "Roof is the share of the copy bandwidth, which is measured in the same run. With --op\n"
              "spgemm, rates count 2 operations per product of entries, and the bytes of A and C once.\n"
              "With --op cg and pagerank, times are those of an iteration, the mean of a whole solve.",
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
