/* C = A*A: which kernels and peers run on a matrix, and what they are given. */
#include "bench/spgemm_cases.h"
#include "spry/tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Seconds that a run of a seed's kernel may take, and what those take that form every dot product: 5 ns for each of
 * the rows and entries and each column (Zen 4), on a GPU twice 2 ps for each step along a row and a column; or that
 * clear and read a table of all columns for each row: 2 ns a cell (Zen 4), 4 ps on a GPU (H200).
 */
static const double most_seconds = 2, dot_s = 5e-9, gpu_step_s = 4e-12, table_s = 2e-9, gpu_table_s = 4e-12;

/* ---- group -------------------------------------------------------------------------------------- */

static spry_status open_group(spgemm_group *group, bench_session *session, const bench_subject *subject,
                              spry_error *err)
{
    *group = (spgemm_group){.session = session,
                            .wanted = subject->device,
                            .A = subject->A,
                            .arrays = SPRY_INIT(spry_arrays),
                            .estimate = SPRY_INIT(spry_spgemm_prediction)};
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.device = SPRY_CPU; /* where it is exact */
    spry_status status = spry_matrix_get_arrays(group->A, &group->arrays, err);
    if (status == SPRY_OK) status = bench_describe(session, &group->common, subject, err);
    if (status == SPRY_OK)
        status = spry_spgemm_predict(session->context, &group->estimate, group->A, group->A, &options, err);
    record *r = &group->common;
    r->product.products = group->estimate.products;
    r->product.nnz_c = group->estimate.nnz;
    r->product.compression = group->estimate.compression;
    r->product.stages[STAGE_READ] = subject->read_us;
    RECORD_TEXT(r->method.format, "csr");
    return status;
}

static void close_group(spgemm_group *group)
{
    for (int i = 0; i < group->case_count; i++) {
        spgemm_case *c = &group->cases[i];
        spry_spgemm_plan_destroy(c->plan);
        if (c->peer && c->peer_state) c->peer->destroy(c->peer_state);
        free(c->samples);
    }
    free(group->cases);
    device_matrix_release(&group->on_gpu, group->session->context);
}

/* A's arrays on the GPU, and the GPU's bandwidth for the records. */
static spry_status upload(spgemm_group *group, spry_error *err)
{
    const spry_status status = bench_measure_gpu_copy(group->session, err);
    return status == SPRY_OK ? device_matrix_make(&group->on_gpu, group->session->context, &group->arrays, err)
                             : status;
}

/* ---- cases -------------------------------------------------------------------------------------- */

static spgemm_case *add_case(spgemm_group *group, const char *kernel, const char *device)
{
    spgemm_case *grown = realloc(group->cases, (size_t)(group->case_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    group->cases = grown;
    spgemm_case *c = &grown[group->case_count++];
    *c = (spgemm_case){.record = group->common, .options = SPRY_INIT(spry_spgemm_options)};
    c->device = strncmp(device, "cuda", 4) == 0;
    RECORD_TEXT(c->record.method.kernel, kernel);
    RECORD_TEXT(c->record.method.device, device);
    return c;
}

/* Twice what our product holds: room for a peer's workspace, and for the comparison. */
static int fits(const spgemm_group *group, spgemm_case *c)
{
    if (group->estimate.peak_bytes <= spry_available_memory_bytes() / 2) return 1;
    return record_fail(&c->record, RECORD_SKIPPED,
                       "C and its inputs take %lld bytes, twice of which this machine has not free",
                       (long long)group->estimate.peak_bytes);
}

static int reads_columns(const char *kernel)
{
    return kernel && strcmp(kernel, "spgemm_seed_dot_cpu") == 0;
}

/* The time that grows with rows times columns; 0 for kernels that follow the products. */
static double seconds_of(const spgemm_group *group, const char *kernel)
{
    const double rows = (double)group->arrays.rows, cols = (double)group->arrays.cols, cells = rows * cols;
    const double entries = (double)group->arrays.nnz * cols;
    if (reads_columns(kernel)) return dot_s * (cells + entries);
    if (strcmp(kernel, "spgemm_seed_older_cuda") == 0) return gpu_step_s * (cells + entries + entries / cols * rows);
    if (strcmp(kernel, "spgemm_seed_dense_cpu") == 0) return table_s * cells;
    const int tables = text_is_named(kernel, "spgemm_seed_getvals_cuda") && !strstr(kernel, ":reset=touched");
    return tables || strstr(kernel, ":reset=all") ? gpu_table_s * cells : 0;
}

/* Conversion against none, a figure of seed 002: what B by columns costs where the product is skipped. */
static void measure_conversion(spgemm_group *group, spgemm_case *c)
{
    enum { TIMES = 5 };
    double us[TIMES];
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    options.layout = SPRY_CSC;
    for (int t = 0; t < TIMES; t++) {
        spry_matrix *columns = NULL;
        const double start = now_us();
        if (spry_matrix_convert(group->session->context, &columns, group->A, &options, NULL) != SPRY_OK) return;
        us[t] = now_us() - start;
        spry_matrix_destroy(columns);
    }
    c->record.product.stages[STAGE_CONVERT] = bench_summarise(us, TIMES).median;
}

static spry_status make_plan(spgemm_group *group, spgemm_case *c, spry_error *err)
{
    const spry_matrix *A = c->device > 0 ? group->on_gpu.A : group->A;
    const double start = now_us();
    c->options.tell_stages = c->device > 0;
    spry_status status = spry_spgemm_plan_create(group->session->context, &c->plan, A, A, &c->options, err);
    c->record.cost.setup_us += now_us() - start;
    return status;
}

/* How one of ours is called; the names are the records' format, NULL for a whole product where A is. */
enum { WHOLE, PLANNED, FROM_HOST, ROUTED };
static const char *const call_names[] = {NULL, "plan", "host", "auto"};

/* kernel NULL: the library's choice. Checked at once. 0: out of memory. */
static int add_ours(spgemm_group *group, const char *kernel, const char *device, int call)
{
    spgemm_case *c = add_case(group, kernel, device);
    if (!c) return 0;
    spry_error err = {0};
    spry_status status = SPRY_OK;
    if (!fits(group, c)) return 1;
    c->record.method.peer = 0;
    c->record.cost.setup_us = c->record.cost.upload_us = 0;
    if (call_names[call]) RECORD_TEXT(c->record.method.format, call_names[call]);
    if (call >= FROM_HOST) c->device = 0;
    c->options.kernel = kernel;
    if (strcmp(device, "auto") == 0)
        c->options.device = SPRY_DEVICE_AUTO;
    else if (c->device == 0) /* else where A is */
        status = number_of_device(group->session->context, &c->options.device, device, &err);
    c->options.result_device = c->device > 0 ? c->device : SPRY_CPU;
    if (c->device > 0 && status == SPRY_OK) {
        status = upload(group, &err);
        c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
        c->record.cost.setup_us = c->record.cost.upload_us = group->on_gpu.upload_us;
    }
    if (status == SPRY_OK && call == PLANNED) status = make_plan(group, c, &err);
    if (status != SPRY_OK)
        record_fail(&c->record, bench_status_of(status), "%s", err.message);
    else
        spgemm_check(group, c);
    return 1;
}

static int add_skipped(spgemm_group *group, const char *kernel, const char *device, const char *reason)
{
    spgemm_case *c = add_case(group, kernel, device);
    if (c) record_fail(&c->record, RECORD_SKIPPED, "%s", reason);
    return c != NULL;
}

static void prepare_peer(spgemm_group *group, spgemm_case *c, const bench_peer *peer)
{
    const int threads = spry_context_threads(group->session->context);
    const spry_peer_matrix a = bench_peer_matrix(&group->arrays);
    const spry_peer_spgemm_request request = {a, a, peer->spgemm->variant, threads};
    peer_preparation p = bench_begin_preparing(threads, peer->spgemm->deterministic);
    c->peer = peer->spgemm;
    p.result = c->peer->prepare(&c->peer_state, &request, &p.cost, &p.error);
    if (!bench_end_preparing(&p, &c->record, peer, c->peer->title, &c->peer_state, c->peer->destroy)) return;
    if (c->device > 0 && group->session->gpu_copy_gbps != 0) c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
    spgemm_check(group, c);
}

static int add_peer(spgemm_group *group, const bench_peer *peer)
{
    spgemm_case *c = add_case(group, peer->name, peer->device);
    if (!c) return 0;
    c->record.method.peer = 1;
    if (!peer->spgemm)
        record_fail(&c->record, RECORD_SKIPPED, "%s", peer->reason);
    else if (fits(group, c))
        prepare_peer(group, c, peer);
    return 1;
}

/* ---- which cases -------------------------------------------------------------------------------- */

/* name: the kernel's, parameters may follow it; its text lives as long as the group. */
static int add_kernel(spgemm_group *group, const spry_kernel_info *kernel, const char *name)
{
    const double seconds = seconds_of(group, name);
    if (!kernel->available) return add_skipped(group, name, kernel->device_kind, kernel->reason);
    if (seconds > most_seconds) {
        char reason[128];
        snprintf(reason, sizeof reason, "it would take about %.2g s a product, by rows times columns", seconds);
        if (!add_skipped(group, name, kernel->device_kind, reason)) return 0;
        if (reads_columns(name)) measure_conversion(group, &group->cases[group->case_count - 1]);
        return 1;
    }
    return add_ours(group, name, kernel->device_kind, WHOLE) &&
           (group->session->options->candidates.calls <= 1 || add_ours(group, name, kernel->device_kind, PLANNED));
}

/*
 * Every kernel of the wanted devices, or those named, each as often as the list has it, with other parameters; *ours:
 * how many of ours were named.
 */
static int add_kernels(spgemm_group *group, int *ours)
{
    const bench_options *options = group->session->options;
    int good = 1;
    for (int k = 0; k < spry_spgemm_kernel_count() && good; k++) {
        spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
        if (spry_spgemm_kernel_get_info(group->session->context, &kernel, k, NULL) != SPRY_OK) continue;
        const text_list *list = &options->candidates.kernels;
        int named = 0;
        for (int i = 0; i < list->count && good; i++) {
            if (!text_is_named(list->items[i], kernel.name)) continue;
            named++;
            if (bench_device_fits(group->session, group->wanted, kernel.device_kind, 1))
                good = add_kernel(group, &kernel, list->items[i]);
        }
        *ours += named;
        if (good && named == 0 && options->candidates.all_kernels &&
            bench_device_fits(group->session, group->wanted, kernel.device_kind, 0))
            good = add_kernel(group, &kernel, kernel.name);
    }
    return good;
}

/* The library's choice on each wanted device that is there, and of the device where there is one. */
static int add_choices(spgemm_group *group)
{
    static const char *const devices[] = {"cpu", "cuda"};
    const bench_session *session = group->session;
    int good = 1;
    for (int d = 0; d < 2 && good; d++) {
        /* asked for by name, it says why it is not there */
        if (!bench_device_fits(session, group->wanted, devices[d], 0)) continue;
        good = add_ours(group, NULL, devices[d], WHOLE);
        if (good && session->options->candidates.calls > 1) good = add_ours(group, NULL, devices[d], PLANNED);
    }
    if (strcmp(group->wanted, "all") != 0 || !bench_device_is_there(session, "cuda")) return good;
    return good && add_ours(group, NULL, "cuda", FROM_HOST) && add_ours(group, NULL, "auto", ROUTED);
}

/* "auto" in the list of formats is the library's choice; it is what runs when no kernel of ours is named. */
static int add_cases(spgemm_group *group)
{
    const bench_options *options = group->session->options;
    const bench_peers *peers = options->candidates.peers;
    int ours = 0, good = add_kernels(group, &ours);
    if (good && !options->candidates.all_kernels && (ours == 0 || text_list_has(&options->candidates.formats, "auto")))
        good = add_choices(group);
    for (int p = 0; peers && p < peers->count && good; p++)
        if (bench_wants_peer(group->session, group->wanted, p)) good = add_peer(group, &peers->items[p]);
    if (good && group->case_count == 0)
        good = add_skipped(group, "", strcmp(group->wanted, "all") == 0 ? "" : group->wanted,
                           "no kernel is there for the chosen device");
    return good;
}

spry_status bench_spgemm(bench_session *session, const bench_subject *subject, spry_error *err)
{
    const bench_options *options = session->options;
    const char *name = subject->source->name;
    spgemm_group group;
    char text[320];
    snprintf(text, sizeof text, "%s: counting products, checking kernels", name);
    options->receiver.progress(text);
    spry_status status = open_group(&group, session, subject, err);
    if (status != SPRY_OK) return status;
    const int good = add_cases(&group);
    snprintf(text, sizeof text, "%s %s: timing %d cases", name, group.common.input.type, group.case_count);
    options->receiver.progress(text);
    if (good && spgemm_measure(&group))
        status = bench_emit(session, subject, group.cases, sizeof *group.cases, group.case_count, group.others, err);
    else
        status = bench_out_of_memory(err);
    close_group(&group);
    return status;
}
