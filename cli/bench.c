/* spry bench: kernels and peers side by side, checked and timed. */
#include "cli/bench_sources.h"
#include "cli/bench_spgemm.h"
#include "cli/cli.h"

#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_SUITE,
    OPTION_MATRICES,
    OPTION_ONLY,
    OPTION_PART,
    OPTION_OP,
    OPTION_FORMATS,
    OPTION_KERNELS,
    OPTION_ORDERING,
    OPTION_DEVICE,
    OPTION_TYPE,
    OPTION_INDEX,
    OPTION_THREADS,
    OPTION_CALLS,
    OPTION_RUNS,
    OPTION_LIMIT_NNZ,
    OPTION_TIME_LIMIT,
    OPTION_AT_ONCE,
    OPTION_COLD,
    OPTION_PEERS,
    OPTION_JSON
};

static const cli_option options[] =
    {{"suite", 0, CLI_REQUIRED, "NAME",
      "a named list of matrices: mesh, scattered, shuffled; products,\n"
      "which are squared; or spgemm002: the random matrices of that\n"
      "study, squared by its kernels, and its tables; or\n"
      "seed000: every matrix of the folder, with that study's kernels\n"
      "and tables; csrk64: the 64 matrices of the CSR-k study, and its\n"
      "tables; twins, marked, are generated for those not in the folder"},
     {"matrices", 0, CLI_REQUIRED, "DIR", "folder of the real matrices of a suite (default: SPRY_MATRIX_DIR)"},
     {"only", 0, CLI_REQUIRED, "LIST", "of the matrices only these, by name"},
     {"part", 0, CLI_REQUIRED, "I/N",
      "of the matrices the I-th and every N-th after it (csrk64: small ones\n"
      "first): N runs make the whole, and bench/csrk64_tables.py its tables"},
     {"op", 0, CLI_REQUIRED, "spmv|spmv_t|spgemm", "operation; spgemm squares the matrix (default: spmv)"},
     {"formats", 0, CLI_REQUIRED, "all|auto|LIST",
      "the best kernel of each format named, with parameters if wanted\n"
      "(sell:c=16:sigma=4096), auto: what the library chooses,\n"
      "all: every kernel of every format (default: csr,auto)"},
     {"kernels", 0, CLI_REQUIRED, "LIST", "kernels by name ('spry kernels'), with --peers also peers'"},
     {"ordering", 0, CLI_REQUIRED, "LIST",
      "none; rcm, bandk, degree: reorder the matrix first, for peers too:\n"
      "the caller keeps x and y in its numbering, and set-up holds what\n"
      "it took; plan-rcm, plan-bandk, plan-degree: plans renumber x and y\n"
      "in every product, without peers (default: none; csrk64: none and\n"
      "rcm, of csr2 and csr3 none and bandk)"},
     {"device", 0, CLI_REQUIRED, "cpu|cuda|all", "devices (default: all)"},
     {"type", 0, CLI_REQUIRED, "f32|f64|all", "type of values and vectors (default: f64)"},
     {"index", 0, CLI_REQUIRED, "32/32|64/32|64/64", "bits of offsets/columns (default: 32/32)"},
     {"threads", 0, CLI_REQUIRED, "N[,N...]",
      "threads of a product (default: as many as OpenMP would use); of a\n"
      "list the most, and on the CPU, with the matrix as given, the others\n"
      "as well: csrk64 ends with a table of them"},
     {"calls", 0, CLI_REQUIRED, "N",
      "products that plans are told to expect (default: many); of\n"
      "spgemm, above 1: plans too, whose numeric phase is timed alone"},
     {"runs", 0, CLI_REQUIRED, "N",
      "the CSR-k study's short protocol: N runs timed one by one after 5\n"
      "that are not (the study: 20), in place of batches in turns; of\n"
      "spgemm too, but in turns"},
     {"limit-nnz", 0, CLI_REQUIRED, "N", "csrk64: leave out matrices of more entries"},
     {"time-limit", 0, CLI_REQUIRED, "SECONDS", "begin no matrix after so long; small ones first"},
     {"at-once", 0, CLI_REQUIRED, "N",
      "read and reorder N matrices at once before they are measured, each\n"
      "by one thread, which is the set-up that is told (default: 1, by all)"},
     {"cold", 0, CLI_NONE, NULL, "flush the caches before every run"},
     {"peers", 0, CLI_NONE, NULL, "other libraries' kernels too, from peers/ beside the program or SPRY_PEER_DIR"},
     {"json", 0, CLI_OPTIONAL, "FILE",
      "JSON lines to standard output (nothing else there) or FILE, each\n"
      "matrix's when it is done: an interrupted run keeps them"},
     {0}};

typedef struct arguments {
    const char *suite, *folder, *op, *device; /* op: NULL until it is known */
    cli_list formats, kernels, orderings, only;
    int f32, f64, type_given, cold, want_peers;
    int seed_kernels; /* 1: the library's choice and the kernels of seed 002 */
    spry_index_type offset_type, index_type;
    cli_list thread_list;
    int64_t threads, calls, runs, limit_nnz, time_limit, at_once; /* threads: the most of the list */
    int64_t part, parts;                                          /* parts 0: the whole */
    cli_json json;
} arguments;

enum { MOST_TEAMS = 16 };

/* A run: what came of it so far. */
typedef struct run_state {
    arguments *a;
    cli_sources sources;
    bench_peers peers;
    spry_context *fewer[MOST_TEAMS], *preparer; /* with fewer threads; with one */
    int fewer_count;
    bench_record *records;
    int record_count;
    int status; /* of matrices that could not be had */
} run_state;

/* ---- options ------------------------------------------------------------------------------------ */

static int take_type(arguments *a, const char *value)
{
    static const char *const names[] = {"f32", "f64", "all", NULL};
    int index = 0;
    if (!cli_take_name("type", value, names, &index)) return CLI_USAGE;
    a->type_given = 1;
    a->f32 = index != 1;
    a->f64 = index != 0;
    return CLI_GO_ON;
}

static int take_word(const char **word, const char *option, const char *value, const char *const *names)
{
    int index = 0;
    if (!cli_take_name(option, value, names, &index)) return CLI_USAGE;
    *word = names[index];
    return CLI_GO_ON;
}

static int take_orderings(arguments *a, const char *value)
{
    static const char *const names[] = {"none",     "rcm",        "bandk",       "degree",
                                        "plan-rcm", "plan-bandk", "plan-degree", NULL};
    int index = 0;
    if (!cli_take_list("ordering", value, &a->orderings)) return CLI_USAGE;
    for (int i = 0; i < a->orderings.count; i++)
        if (!cli_take_name("ordering", a->orderings.items[i], names, &index)) return CLI_USAGE;
    return CLI_GO_ON;
}

static int take_count(int64_t *count, const char *option, const char *value, int64_t most)
{
    return cli_take_integer(option, value, 1, most, count) ? CLI_GO_ON : CLI_USAGE;
}

/* Numbers of threads: the most are the run's. */
static int take_threads(arguments *a, const char *value)
{
    if (!cli_take_list("threads", value, &a->thread_list)) return CLI_USAGE;
    if (a->thread_list.count > MOST_TEAMS)
        return cli_usage_error("--threads has %d numbers, expected at most %d", a->thread_list.count, MOST_TEAMS);
    a->threads = 0;
    for (int i = 0; i < a->thread_list.count; i++) {
        int64_t threads = 0;
        if (take_count(&threads, "threads", a->thread_list.items[i], 1024) != CLI_GO_ON) return CLI_USAGE;
        if (threads > a->threads) a->threads = threads;
    }
    return CLI_GO_ON;
}

/* "2/4" */
static int take_part(arguments *a, const char *value)
{
    const char *slash = strchr(value, '/');
    char part[32] = "";
    if (slash && (size_t)(slash - value) < sizeof part) memcpy(part, value, (size_t)(slash - value));
    if (!part[0]) return cli_usage_error("--part is '%s', expected I/N, as 1/4 and so on to 4/4", value);
    if (take_count(&a->parts, "part (behind the slash)", slash + 1, 1000) != CLI_GO_ON) return CLI_USAGE;
    return take_count(&a->part, "part (before the slash)", part, a->parts);
}

static int apply(void *state, int option, const char *value)
{
    static const char *const ops[] = {"spmv", "spmv_t", "spgemm", NULL};
    static const char *const devices[] = {"cpu", "cuda", "all", NULL};
    arguments *a = state;
    switch (option) {
    case OPTION_SUITE: a->suite = value; break;
    case OPTION_MATRICES: a->folder = value; break;
    case OPTION_ONLY: return cli_take_list("only", value, &a->only) ? CLI_GO_ON : CLI_USAGE;
    case OPTION_PART: return take_part(a, value);
    case OPTION_OP: return take_word(&a->op, "op", value, ops);
    case OPTION_FORMATS: return cli_take_list("formats", value, &a->formats) ? CLI_GO_ON : CLI_USAGE;
    case OPTION_KERNELS: return cli_take_list("kernels", value, &a->kernels) ? CLI_GO_ON : CLI_USAGE;
    case OPTION_ORDERING: return take_orderings(a, value);
    case OPTION_DEVICE: return take_word(&a->device, "device", value, devices);
    case OPTION_TYPE: return take_type(a, value);
    case OPTION_INDEX: return cli_take_index(value, &a->offset_type, &a->index_type);
    case OPTION_THREADS: return take_threads(a, value);
    case OPTION_CALLS: return take_count(&a->calls, "calls", value, INT64_C(1000000000000));
    case OPTION_RUNS: return take_count(&a->runs, "runs", value, 10000);
    case OPTION_LIMIT_NNZ: return take_count(&a->limit_nnz, "limit-nnz", value, INT64_MAX);
    case OPTION_TIME_LIMIT: return take_count(&a->time_limit, "time-limit", value, 1000000);
    case OPTION_AT_ONCE: return take_count(&a->at_once, "at-once", value, 64);
    case OPTION_COLD: a->cold = 1; break;
    case OPTION_PEERS: a->want_peers = 1; break;
    default:
        a->json.wanted = 1;
        a->json.path = value;
        break;
    }
    return CLI_GO_ON;
}

/* ---- names -------------------------------------------------------------------------------------- */

enum { MOST_NAMES = 256 };
typedef struct name_list {
    const char *names[MOST_NAMES];
    int count;
} name_list;

static int check_names(const char *option, const char *what, const cli_list *list, const name_list *known)
{
    for (int i = 0; i < list->count; i++) {
        int found = 0;
        size_t length = strcspn(list->items[i], ":"); /* without a format's parameters */
        for (int k = 0; k < known->count; k++)
            found |= strlen(known->names[k]) == length && strncmp(list->items[i], known->names[k], length) == 0;
        if (found) continue;
        const char *nearest = cli_nearest(list->items[i], known->names, known->count);
        if (nearest)
            return cli_usage_error("--%s: there is no %s '%s'; did you mean '%s'?", option, what, list->items[i],
                                   nearest);
        return cli_usage_error("--%s: there is no %s '%s'; 'spry kernels' lists them", option, what, list->items[i]);
    }
    return CLI_GO_ON;
}

static int check_formats(const arguments *a)
{
    name_list known = {.names = {"auto"}, .count = 1};
    for (int f = 0; f < spry_format_count() && known.count < MOST_NAMES; f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        if (spry_format_get_info(f, &info, NULL) == SPRY_OK) known.names[known.count++] = info.name;
    }
    for (int i = 0; i < a->formats.count; i++)
        if (strcmp(a->formats.items[i], "all") == 0)
            return cli_usage_error("--formats: 'all' stands alone, not in a list");
    return check_names("formats", "format", &a->formats, &known);
}

/* Parameters are tried on a matrix without rows: wrong ones are bad usage, no case that failed. */
static int check_parameters(const arguments *a, spry_context *context)
{
    static const int32_t offsets[1] = {0};
    spry_error err = {0};
    spry_matrix *A = NULL;
    if (spry_matrix_borrow_csr_f64(context, &A, 0, 0, offsets, NULL, NULL, &err) != SPRY_OK) return cli_fail(&err);
    int status = CLI_GO_ON;
    for (int i = 0; i < a->formats.count && status == CLI_GO_ON; i++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_storage storage = SPRY_INIT(spry_storage);
        options.format = a->formats.items[i];
        if (!strchr(options.format, ':')) continue;
        spry_status found = spry_predict_storage(context, &storage, A, &options, &err);
        if (found == SPRY_UNKNOWN_NAME || found == SPRY_INVALID_ARGUMENT)
            status = cli_usage_error("--formats: %s", err.message);
    }
    spry_matrix_destroy(A);
    return status;
}

static int check_kernels(const arguments *a, spry_context *context, const bench_peers *peers)
{
    name_list known = {.count = 0};
    for (int k = 0; k < spry_kernel_count() && known.count < MOST_NAMES; k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        if (spry_kernel_get_info(context, k, &info, NULL) == SPRY_OK) known.names[known.count++] = info.name;
    }
    for (int k = 0; k < spry_spgemm_kernel_count() && known.count < MOST_NAMES; k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        if (spry_spgemm_kernel_get_info(context, k, &info, NULL) == SPRY_OK) known.names[known.count++] = info.name;
    }
    for (int p = 0; p < peers->count; p++) {
        for (int i = 0; !a->want_peers && i < a->kernels.count; i++)
            if (strcmp(a->kernels.items[i], peers->items[p].name) == 0)
                return cli_usage_error("--kernels: '%s' is a peer's kernel; add --peers", a->kernels.items[i]);
        if (a->want_peers && known.count < MOST_NAMES) known.names[known.count++] = peers->items[p].name;
    }
    return check_names("kernels", "kernel", &a->kernels, &known);
}

static int is_suite(const arguments *a, const char *name)
{
    return a->suite && strcmp(a->suite, name) == 0;
}

static int is_spgemm(const arguments *a)
{
    return strcmp(a->op, "spgemm") == 0;
}

/* ---- the engine's callbacks --------------------------------------------------------------------- */

static int emit(void *user, const bench_record *records, int count)
{
    run_state *run = user;
    bench_record *grown = realloc(run->records, (size_t)(run->record_count + count) * sizeof *grown);
    if (!grown && run->record_count + count > 0) {
        cli_message("out of memory for the records");
        return 1;
    }
    run->records = grown;
    memcpy(grown + run->record_count, records, (size_t)count * sizeof *records);
    run->record_count += count;
    cli_progress(NULL);
    for (int i = 0; run->a->json.wanted && i < count; i++) {
        cJSON *o = cJSON_CreateObject();
        if (!cli_json_line(&run->a->json, o, bench_record_to_json(&records[i], o))) return 1;
    }
    if (cli_for_people(&run->a->json)) {
        (is_spgemm(run->a) ? bench_print_spgemm : bench_print_group)(stdout, records, count);
        fflush(stdout);
    }
    return 0;
}

static void progress(void *user, const char *text)
{
    (void)user;
    cli_progress(text);
}

static void disturbed(void *user, const char *matrix, double share)
{
    (void)user;
    cli_message("note: %s: other programs had %.0f %% of the processors meanwhile, so its times mean little", matrix,
                100 * share);
}

static void complain(void *user, const spry_error *err)
{
    run_state *run = user;
    int status = cli_fail(err);
    if (status > run->status) run->status = status;
}

/* ---- command ------------------------------------------------------------------------------------ */

static int status_of_records(const run_state *run)
{
    int status = run->status;
    for (int i = 0; i < run->record_count; i++) {
        bench_status s = run->records[i].status;
        if ((s == BENCH_WRONG || s == BENCH_FAILED) && status < CLI_UNSUCCESSFUL) status = CLI_UNSUCCESSFUL;
    }
    return status;
}

static int measure(run_state *run, bench_session *session)
{
    arguments *a = run->a;
    bench_request request = {.sources = run->sources.items,
                             .source_count = run->sources.count,
                             .formats = {a->formats.items, a->formats.count},
                             .kernels = {a->kernels.items, a->kernels.count},
                             .orderings = {a->orderings.items, a->orderings.count},
                             .device = a->device,
                             .f32 = a->f32,
                             .f64 = a->f64,
                             .offset_type = a->offset_type,
                             .index_type = a->index_type,
                             .fewer = run->fewer,
                             .fewer_count = run->fewer_count,
                             .at_once = (int)a->at_once,
                             .preparer = run->preparer,
                             .limit_nnz = a->limit_nnz,
                             .seconds = (double)a->time_limit,
                             .peers = a->want_peers ? &run->peers : NULL,
                             .emit = emit,
                             .progress = progress,
                             .disturbed = disturbed,
                             .complain = complain,
                             .user = run};
    if (a->formats.count == 1 && strcmp(a->formats.items[0], "all") == 0) {
        request.all_kernels = 1;
        request.formats.count = 0;
    }
    spry_error err = {0};
    int status = cli_json_open_stream(&a->json);
    if (status != CLI_GO_ON) return status;
    spry_status result = bench_run(session, &request, &err);
    cli_progress(NULL);
    /* Records that could not be kept or written were told of, or closing the file will tell. */
    status = session->stopped ? CLI_UNSUCCESSFUL : result == SPRY_OK ? CLI_OK : cli_fail(&err);
    if (cli_for_people(&a->json) && is_suite(a, "seed000"))
        bench_print_seed000(stdout, run->records, run->record_count);
    if (cli_for_people(&a->json) && is_suite(a, "csrk64")) bench_print_csrk64(stdout, run->records, run->record_count);
    if (cli_for_people(&a->json) && is_suite(a, "spgemm002"))
        bench_print_spgemm002(stdout, run->records, run->record_count);
    if (cli_for_people(&a->json)) bench_print_summary(stdout, run->records, run->record_count);
    int records = status_of_records(run);
    return cli_json_close(&a->json, records > status ? records : status);
}

static int prepare_and_measure(run_state *run, spry_context *context)
{
    arguments *a = run->a;
    char note[256];
    if (!bench_peers_load(&run->peers, NULL)) {
        cli_message("out of memory");
        return CLI_UNSUCCESSFUL;
    }
    int status = a->seed_kernels ? cli_add_seed_kernels(&a->formats, &a->kernels, a->device, context) : CLI_GO_ON;
    if (status == CLI_GO_ON) status = check_kernels(a, context, &run->peers);
    if (status == CLI_GO_ON) status = cli_check_operation(&a->kernels, is_spgemm(a), context, &run->peers);
    if (status != CLI_GO_ON) return status;
    bench_session session = {.op = a->op, .calls = a->calls, .cold = a->cold, .runs = (int)a->runs};
    cli_progress("measuring the copy bandwidth");
    if (!bench_session_open(&session, context, note, sizeof note)) {
        cli_message("out of memory for the buffer that flushes the caches");
        return CLI_UNSUCCESSFUL;
    }
    if (note[0]) cli_message("note: the copy bandwidth is %s", note);
    status = measure(run, &session);
    bench_session_close(&session);
    return status;
}

/*
 * The study's kernels, in the order of its tables, beside its baseline and what it compared with. On the CPU there is
 * no such list: the best kernel of each of its formats.
 */
static int take_seed000(arguments *a)
{
    static const char gpu[] = "csr_scalar_cuda,csr_vector_shared_cuda,csr_vector_cuda,csr_adaptive_atomic_cuda,"
                              "csr_adaptive_cuda,ell_slots_cuda,coo_atomic_cuda,coo_segmented_cuda,scoo_shared_cuda,"
                              "hyb_atomic_cuda,hyb_segmented_cuda,cusparse_csr_alg1";
    static const char formats[] = "csr,ell,coo,scoo,hyb";
    int on_cpu = strcmp(a->device, "cpu") == 0, given = a->formats.count + a->kernels.count > 0;
    a->want_peers = 1;
    if (!a->type_given) a->f32 = a->f64 = 1;
    if (!given &&
        !(on_cpu ? cli_take_list("formats", formats, &a->formats) : cli_take_list("kernels", gpu, &a->kernels)))
        return CLI_UNSUCCESSFUL;
    for (int i = 0; i < a->kernels.count; i++)
        if (strcmp(a->kernels.items[i], "csr_plain") == 0) return CLI_GO_ON;
    return cli_add_to_list(&a->kernels, "csr_plain", strlen("csr_plain")) ? CLI_GO_ON : CLI_UNSUCCESSFUL;
}

/* The study's formats beside plain CSR and everybody else's. */
static int take_csrk64(arguments *a)
{
    a->want_peers = 1;
    if (a->formats.count + a->kernels.count > 0) return CLI_GO_ON;
    return cli_take_list("formats", "csr,csr2,csr3", &a->formats) ? CLI_GO_ON : CLI_UNSUCCESSFUL;
}

static int take_defaults(arguments *a)
{
    const int squares = is_suite(a, "products") || is_suite(a, "spgemm002");
    if (a->op && squares && strcmp(a->op, "spgemm") != 0)
        return cli_usage_error("--suite %s squares matrices, --op is %s: expected spgemm", a->suite, a->op);
    if (a->limit_nnz > 0 && !is_suite(a, "csrk64"))
        return cli_usage_error("--limit-nnz goes with --suite csrk64: other matrices are read before it is known how "
                               "many entries they have");
    if (!a->op) a->op = squares ? "spgemm" : "spmv";
    if (a->orderings.count == 0 && !is_suite(a, "csrk64") && !cli_take_list("ordering", "none", &a->orderings))
        return CLI_UNSUCCESSFUL;
    if (is_suite(a, "spgemm002")) { /* its figures compare everybody; plans keep its stages apart */
        a->want_peers = 1;
        if (a->calls == 0) a->calls = 2;
        a->seed_kernels = a->formats.count + a->kernels.count == 0;
    }
    if (is_spgemm(a)) return cli_check_spgemm_formats(&a->formats, &a->orderings);
    if (is_suite(a, "csrk64") && take_csrk64(a) != CLI_GO_ON) return CLI_UNSUCCESSFUL;
    if (is_suite(a, "seed000") && take_seed000(a) != CLI_GO_ON) return CLI_UNSUCCESSFUL;
    static const char defaults[] = "csr,auto";
    if (a->formats.count == 0 && a->kernels.count == 0 && !cli_take_list("formats", defaults, &a->formats))
        return CLI_UNSUCCESSFUL;
    if (a->formats.count == 1 && strcmp(a->formats.items[0], "all") == 0) return CLI_GO_ON;
    return check_formats(a);
}

/* Besides the run's own context: one for each smaller number of threads, and one of one thread to prepare with. */
static int open_contexts(run_state *run)
{
    const arguments *a = run->a;
    int status = a->at_once > 1 ? cli_open_context(&run->preparer, 1) : CLI_GO_ON;
    for (int i = 0; status == CLI_GO_ON && i < a->thread_list.count; i++) {
        int64_t threads = 0;
        if (!cli_take_integer("threads", a->thread_list.items[i], 1, 1024, &threads)) return CLI_USAGE;
        if (threads == a->threads) continue;
        status = cli_open_context(&run->fewer[run->fewer_count], threads);
        run->fewer_count += status == CLI_GO_ON;
    }
    return status;
}

static void close_contexts(run_state *run)
{
    for (int i = 0; i < run->fewer_count; i++) spry_context_destroy(run->fewer[i]);
    spry_context_destroy(run->preparer);
}

/* Files and the suite, or what is wanted of them; small ones first where time or parts are to be shared out. */
static int choose_sources(run_state *run, int count, char **paths)
{
    const arguments *a = run->a;
    int status = CLI_GO_ON;
    for (int i = 0; status == CLI_GO_ON && i < count; i++) status = cli_add_file(&run->sources, paths[i]);
    if (status == CLI_GO_ON) status = cli_add_suite(&run->sources, a->suite, a->folder);
    if (status == CLI_GO_ON && a->only.count > 0) status = cli_keep_only(&run->sources, &a->only);
    if (is_suite(a, "csrk64") && (a->time_limit > 0 || a->at_once > 1 || a->parts > 0)) cli_sort_sources(&run->sources);
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

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.device = "all", .f64 = 1, .offset_type = SPRY_I32, .index_type = SPRY_I32};
    run_state state = {.a = &a};
    spry_context *context = NULL;
    int status = cli_parse(command, &argc, argv, apply, &a);
    if (status == CLI_GO_ON) status = take_defaults(&a);
    if (status == CLI_GO_ON && argc == 0 && !a.suite)
        status = cli_usage_error("nothing to measure: name a matrix FILE or a --suite");
    if (status == CLI_GO_ON) status = choose_sources(&state, argc, argv);
    if (status == CLI_GO_ON) status = cli_open_context(&context, a.threads);
    if (status == CLI_GO_ON) status = open_contexts(&state);
    if (status == CLI_GO_ON) status = check_parameters(&a, context);
    if (status == CLI_GO_ON) status = prepare_and_measure(&state, context);
    bench_peers_release(&state.peers);
    close_contexts(&state);
    spry_context_destroy(context);
    free(state.sources.items);
    free(state.records);
    cli_release_list(&a.thread_list);
    cli_release_list(&a.formats);
    cli_release_list(&a.kernels);
    cli_release_list(&a.orderings);
    cli_release_list(&a.only);
    return status;
}

const cli_command cli_bench =
    {.name = "bench",
     .summary = "measure kernels, and other libraries, side by side",
     .usage = "FILE... [--suite NAME [--matrices DIR]] [OPTIONS]",
     .about = "Multiplies with every chosen kernel, checks each result under the error bound, and times them in\n"
              "turn: at least 20 batches of at least 1 ms. Rates count 2 operations an entry and the bytes of plain\n"
              "CSR; roof is the share of the copy bandwidth, which is measured in the same run. Ends with status 1\n"
              "when a case is wrong or failed; one that is skipped says why.",
     .examples = "  spry bench matrix.mtx.gz --formats all --peers\n"
                 "  spry bench --suite mesh --matrices ~/matrices --type all --json=mesh.jsonl\n"
                 "  spry bench --suite seed000 --matrices ~/matrices\n"
                 "  spry bench --suite products --matrices ~/matrices --peers\n"
                 "  spry bench --suite csrk64 --runs 20 --at-once 16 --threads 1,4,16 --time-limit 600\n",
     .options = options,
     .least = 0,
     .most = -1,
     .positional = "matrix FILEs",
     .run = run};
