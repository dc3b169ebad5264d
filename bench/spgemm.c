/* C = A*A: which kernels and peers run on a matrix, and what they are given. */
#include "bench/spgemm.h"
#include "bench/group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Seconds that a run of a seed's kernel may take, and what those take that form every dot product, 5 ns for each of the
 * rows and entries and each column (Zen 4), or that clear and read a table of all columns for each row: 2 ns a place
 * (Zen 4), 4 ps on a GPU (H200).
 */
static const double most_seconds = 2, dot_s = 5e-9, table_s = 2e-9, gpu_table_s = 4e-12;

/* ---- group -------------------------------------------------------------------------------------- */

static void fill_common(spgemm_group *group, const spry_matrix_stats *stats, const bench_source *source,
                        const char *ordering)
{
    bench_record *r = &group->common;
    const spry_spgemm_estimate *e = &group->estimate;
    bench_record_init(r);
    r->op = "spgemm";
    BENCH_SET_TEXT(r->matrix, source->name);
    r->rows = group->arrays.rows;
    r->cols = group->arrays.cols;
    r->nnz = group->arrays.nnz;
    r->class_name = bench_class_name(stats);
    r->twin = source->twin;
    r->type = spry_type_name(group->arrays.value_type);
    r->index = bench_index_name(&group->arrays);
    r->state = group->session->cold ? "cold" : "warm";
    r->copy_gbps = group->session->copy_gbps;
    r->products = e->products;
    r->nnz_c = e->nnz;
    r->compression = e->compression;
    BENCH_SET_TEXT(r->format, "csr");
    BENCH_SET_TEXT(r->ordering, ordering);
}

static spry_status open_group(spgemm_group *group, bench_session *session, const spry_matrix *A,
                              const bench_source *source, const char *ordering, spry_error *err)
{
    *group = (spgemm_group){.session = session,
                            .A = A,
                            .arrays = SPRY_INIT(spry_arrays),
                            .estimate = SPRY_INIT(spry_spgemm_estimate)};
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.device = "cpu"; /* where it is exact */
    spry_status status = spry_matrix_get_arrays(A, &group->arrays, err);
    if (status == SPRY_OK) status = spry_matrix_get_stats(A, &stats, err);
    if (status == SPRY_OK) status = spry_estimate_spgemm(session->context, &group->estimate, A, A, &options, err);
    if (status == SPRY_OK) fill_common(group, &stats, source, ordering);
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
    spry_matrix_destroy(group->device_A);
    for (int i = 0; i < 3; i++) spry_device_free(group->session->context, 1, group->device_arrays[i]);
}

/* A's arrays on the GPU, and the GPU's bandwidth for the records. */
static spry_status upload(spgemm_group *group, spry_error *err)
{
    spry_arrays a = group->arrays;
    const void *from[3] = {a.offsets, a.indices, a.values};
    const int64_t bytes[3] = {(a.rows + 1) * (int64_t)spry_index_type_bytes(a.offset_type),
                              a.nnz * (int64_t)spry_index_type_bytes(a.index_type),
                              a.nnz * (int64_t)spry_type_bytes(a.value_type)};
    const spry_context *context = group->session->context;
    spry_status status = bench_measure_gpu_copy(group->session, err);
    const double start = bench_now_us();
    for (int i = 0; i < 3 && status == SPRY_OK && !group->device_A; i++) {
        if (group->device_arrays[i]) continue;
        status = spry_device_allocate(context, &group->device_arrays[i], 1, bytes[i], err);
        if (status == SPRY_OK && bytes[i] > 0)
            status = spry_device_copy(context, group->device_arrays[i], 1, from[i], 0, bytes[i], NULL, err);
    }
    if (status == SPRY_OK) status = spry_device_synchronize(context, 1, NULL, err);
    if (status != SPRY_OK || group->device_A) return status;
    group->upload_us = bench_now_us() - start;
    a.offsets = group->device_arrays[0];
    a.indices = group->device_arrays[1];
    a.values = group->device_arrays[2];
    a.device = 1;
    a.ownership = 0;
    return spry_matrix_create(group->session->context, &group->device_A, &a, err);
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
    BENCH_SET_TEXT(c->record.kernel, kernel);
    BENCH_SET_TEXT(c->record.device, device);
    return c;
}

/* Twice what our product holds: room for a peer's workspace, and for the comparison. */
static int fits(const spgemm_group *group, spgemm_case *c)
{
    const double there = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double cached = 0.5 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double limit = there > cached ? there : cached; /* memory of the file cache counts as free */
    if (2.0 * (double)group->estimate.peak_bytes <= limit) return 1;
    return bench_set_status(&c->record, BENCH_SKIPPED,
                            "C and its inputs take %lld bytes, twice of which this machine has not free",
                            (long long)group->estimate.peak_bytes);
}

static int reads_columns(const char *kernel)
{
    return kernel && strstr(kernel, "_dot_") != NULL;
}

/* Of what grows with rows times columns; 0 for kernels that follow the products. */
static double seconds_of(const spgemm_group *group, const char *kernel)
{
    const double places = (double)group->arrays.rows * (double)group->arrays.cols;
    if (reads_columns(kernel)) return dot_s * (places + (double)group->arrays.nnz * (double)group->arrays.cols);
    if (strcmp(kernel, "spgemm_seed_dense_cpu") == 0) return table_s * places;
    const int tables = strncmp(kernel, "spgemm_seed_", 12) == 0 && strstr(kernel, "_cuda") &&
                       !strstr(kernel, "_reset_");
    return tables ? gpu_table_s * places : 0;
}

/* Conversion against none, a figure of seed 002: what B by columns costs, also where the product is skipped. */
static void measure_conversion(spgemm_group *group, spgemm_case *c)
{
    enum { TIMES = 5 };
    double us[TIMES];
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    options.layout = SPRY_CSC;
    for (int t = 0; t < TIMES; t++) {
        spry_matrix *columns = NULL;
        const double start = bench_now_us();
        if (spry_matrix_convert(group->session->context, &columns, group->A, &options, NULL) != SPRY_OK) return;
        us[t] = bench_now_us() - start;
        spry_matrix_destroy(columns);
    }
    bench_record *r = &c->record;
    const size_t used = strlen(r->reason);
    r->convert_us = bench_summarise(us, TIMES).median;
    snprintf(r->reason + used, sizeof r->reason - used, "; B by columns takes %.1f us", r->convert_us);
}

static spry_status make_plan(spgemm_group *group, spgemm_case *c, spry_error *err)
{
    const spry_matrix *A = c->device > 0 ? group->device_A : group->A;
    const double start = bench_now_us();
    spry_status status = spry_plan_spgemm(group->session->context, &c->plan, A, A, &c->options, err);
    c->record.setup_us += bench_now_us() - start;
    return status;
}

static bench_status status_of(spry_status status)
{
    return status == SPRY_UNSUPPORTED || status == SPRY_UNKNOWN_NAME || status == SPRY_DEVICE_UNAVAILABLE ||
                   status == SPRY_TOO_LARGE
               ? BENCH_SKIPPED
               : BENCH_FAILED;
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
    c->record.peer = 0;
    c->record.setup_us = c->record.upload_us = 0;
    if (call_names[call]) BENCH_SET_TEXT(c->record.format, call_names[call]);
    if (call >= FROM_HOST) c->device = 0;
    c->options.kernel = kernel;
    c->options.device = c->device > 0 ? NULL : device; /* NULL: where A is */
    c->options.result_device = c->device;
    if (c->device > 0) {
        status = upload(group, &err);
        c->record.copy_gbps = group->session->gpu_copy_gbps;
        c->record.setup_us = c->record.upload_us = group->upload_us;
    }
    if (status == SPRY_OK && call == PLANNED) status = make_plan(group, c, &err);
    if (status != SPRY_OK)
        bench_set_status(&c->record, status_of(status), "%s", err.message);
    else
        spgemm_check(group, c);
    if (c->record.status == BENCH_OK && c->device == 0 && reads_columns(kernel)) measure_conversion(group, c);
    return 1;
}

static int add_skipped(spgemm_group *group, const char *kernel, const char *device, const char *reason)
{
    spgemm_case *c = add_case(group, kernel, device);
    if (c) bench_set_status(&c->record, BENCH_SKIPPED, "%s", reason);
    return c != NULL;
}

static spry_peer_matrix as_peer_matrix(const spry_arrays *a)
{
    return (spry_peer_matrix){a->rows,
                              a->cols,
                              a->nnz,
                              (int)spry_type_bytes(a->value_type),
                              (int)spry_index_type_bytes(a->offset_type),
                              (int)spry_index_type_bytes(a->index_type),
                              a->offsets,
                              a->indices,
                              a->values};
}

static void prepare_peer(spgemm_group *group, spgemm_case *c, const bench_peer *peer)
{
    const int threads = spry_context_threads(group->session->context);
    const spry_peer_matrix a = as_peer_matrix(&group->arrays);
    const spry_peer_spgemm_request request = {a, a, threads};
    spry_peer_cost cost = {.threads = threads, .deterministic = peer->spgemm->deterministic};
    bench_record *r = &c->record;
    char error[256] = "no reason given";
    const double start = bench_now_us();
    const int result = peer->spgemm->prepare(&c->peer_state, &request, &cost, error, sizeof error);
    r->setup_us = bench_now_us() - start - cost.startup_us;
    if (result != SPRY_PEER_OK) {
        c->peer_state = NULL;
        bench_set_status(&c->record, result == SPRY_PEER_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED, "%s", error);
        return;
    }
    c->peer = peer->spgemm;
    snprintf(r->reason, sizeof r->reason, "%s, version %s", peer->spgemm->title,
             cost.version[0] ? cost.version : peer->version);
    r->upload_us = cost.upload_us;
    r->threads = cost.threads;
    r->deterministic = cost.deterministic;
    if (c->device > 0 && group->session->gpu_copy_gbps != 0) r->copy_gbps = group->session->gpu_copy_gbps;
    spgemm_check(group, c);
}

static int add_peer(spgemm_group *group, const bench_peer *peer)
{
    spgemm_case *c = add_case(group, peer->name, peer->device);
    if (!c) return 0;
    c->record.peer = 1;
    if (!peer->spgemm)
        bench_set_status(&c->record, BENCH_SKIPPED, "%s", peer->reason);
    else if (fits(group, c))
        prepare_peer(group, c, peer);
    return 1;
}

/* ---- which cases -------------------------------------------------------------------------------- */

static int add_kernels(spgemm_group *group, const bench_request *request)
{
    const spry_context *context = group->session->context;
    const int64_t calls = group->session->calls;
    int good = 1;
    for (int k = 0; k < spry_spgemm_kernel_count() && good; k++) {
        spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
        if (spry_spgemm_kernel_get_info(context, k, &kernel, NULL) != SPRY_OK) continue;
        const int named = bench_list_has(&request->kernels, kernel.name);
        if (!bench_device_wanted(request, kernel.device) || !(named || request->all_kernels)) continue;
        if (!named && !bench_device_is_there(context, kernel.device) && strcmp(request->device, "all") == 0) continue;
        if (!kernel.available) {
            good = add_skipped(group, kernel.name, kernel.device, kernel.reason);
        } else if (seconds_of(group, kernel.name) > most_seconds) {
            char reason[128];
            snprintf(reason, sizeof reason, "it would take about %.2g s a product, by rows times columns",
                     seconds_of(group, kernel.name));
            good = add_skipped(group, kernel.name, kernel.device, reason);
            if (good && reads_columns(kernel.name)) measure_conversion(group, &group->cases[group->case_count - 1]);
        } else {
            good = add_ours(group, kernel.name, kernel.device, WHOLE);
            if (good && calls > 1) good = add_ours(group, kernel.name, kernel.device, PLANNED);
        }
    }
    return good;
}

/* The library's choice on each wanted device that is there, and of the device where there is one. */
static int add_choices(spgemm_group *group, const bench_request *request)
{
    static const char *const devices[] = {"cpu", "cuda"};
    const spry_context *context = group->session->context;
    int good = 1;
    for (int d = 0; d < 2 && good; d++) {
        const int named = strcmp(request->device, devices[d]) == 0; /* asked for by name, it says why it is not there */
        if (!named && (strcmp(request->device, "all") != 0 || !bench_device_is_there(context, devices[d]))) continue;
        good = add_ours(group, NULL, devices[d], WHOLE);
        if (good && group->session->calls > 1) good = add_ours(group, NULL, devices[d], PLANNED);
    }
    if (strcmp(request->device, "all") != 0 || !bench_device_is_there(context, "cuda")) return good;
    if (good) good = add_ours(group, NULL, "cuda", FROM_HOST);
    if (good) good = add_ours(group, NULL, "auto", ROUTED);
    return good;
}

/* All peers of the wanted devices, or those named. */
static int add_peers(spgemm_group *group, const bench_request *request)
{
    const bench_peers *peers = request->peers;
    int named = 0, good = 1;
    for (int p = 0; peers && p < peers->count; p++) named |= bench_list_has(&request->kernels, peers->items[p].name);
    for (int p = 0; peers && p < peers->count && good; p++) {
        const bench_peer *peer = &peers->items[p];
        if (!peer->multiplies_matrices || !bench_device_wanted(request, peer->device)) continue;
        if (named && !bench_list_has(&request->kernels, peer->name)) continue;
        if (!named && strcmp(request->device, "all") == 0 &&
            !bench_device_is_there(group->session->context, peer->device))
            continue;
        good = add_peer(group, peer);
    }
    return good;
}

/* "auto" in the list of kernels is the library's choice; it is what runs when no kernel of ours is named. */
static int add_cases(spgemm_group *group, const bench_request *request)
{
    int ours = 0;
    for (int k = 0; k < spry_spgemm_kernel_count(); k++) {
        spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
        if (spry_spgemm_kernel_get_info(group->session->context, k, &kernel, NULL) == SPRY_OK)
            ours |= bench_list_has(&request->kernels, kernel.name);
    }
    int good = add_kernels(group, request);
    if (good && !request->all_kernels && (!ours || bench_list_has(&request->formats, "auto")))
        good = add_choices(group, request);
    if (good) good = add_peers(group, request);
    if (good && group->case_count == 0)
        good = add_skipped(group, "", strcmp(request->device, "all") == 0 ? "" : request->device,
                           "no kernel is there for the chosen device");
    return good;
}

/* Everybody got the reordered matrix, and what that took is part of each set-up. */
static void add_reordering(spgemm_group *group, double reorder_us)
{
    for (int i = 0; i < group->case_count; i++) group->cases[i].record.setup_us += reorder_us; /* NaN stays NaN */
}

static int emit(spgemm_group *group, const bench_request *request)
{
    bench_record *records = malloc((size_t)(group->case_count + 1) * sizeof *records);
    if (!records) return -1;
    for (int i = 0; i < group->case_count; i++) records[i] = group->cases[i].record;
    const int stopped = request->emit(request->user, records, group->case_count);
    free(records);
    return stopped;
}

spry_status bench_spgemm(bench_session *session, const bench_request *request, const spry_matrix *A,
                         const bench_source *source, const char *ordering, double reorder_us, spry_error *err)
{
    spgemm_group group;
    char text[320];
    snprintf(text, sizeof text, "%s: counting products, checking kernels", source->name);
    request->progress(request->user, text);
    spry_status status = open_group(&group, session, A, source, ordering, err);
    if (status != SPRY_OK) return status;
    int good = add_cases(&group, request), stopped = 0;
    add_reordering(&group, reorder_us);
    snprintf(text, sizeof text, "%s %s: timing %d cases", source->name, group.common.type, group.case_count);
    request->progress(request->user, text);
    if (good) good = spgemm_measure(&group);
    if (good && group.others >= 0.05) request->disturbed(request->user, source->name, group.others);
    if (good) stopped = emit(&group, request);
    close_group(&group);
    if (!good || stopped < 0) return bench_out_of_memory(err);
    return stopped ? bench_stop(session, err) : SPRY_OK;
}
