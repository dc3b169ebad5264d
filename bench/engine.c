/* Goes through matrices, types, kernels and peers, and hands out a record for every case. */
#include "bench/bench.h"
#include "bench/group.h"
#include "bench/spgemm.h"

#include <stdlib.h>
#include <string.h>

int bench_list_has(const bench_list *list, const char *item)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) == 0) return 1;
    return 0;
}

int bench_device_wanted(const bench_request *request, const char *device)
{
    return strcmp(request->device, "all") == 0 || strcmp(request->device, device) == 0;
}

static spry_spmv_options plan_options(const bench_group *group)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.op = group->transpose ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    options.expected_calls = group->session->calls;
    options.allow_nondeterministic = 1;
    options.ordering = group->plan_ordering;
    return options;
}

/* ---- which cases -------------------------------------------------------------------------------- */

/* 1: csr2 or csr3, whose groups Band-k makes. */
static int is_csrk(const char *name)
{
    return strncmp(name, "csr2", 4) == 0 || strncmp(name, "csr3", 4) == 0;
}

/* Who runs under an ordering. */
typedef enum part { EVERYBODY, CSRK_ALONE, CSRK_NOT } part;

static int is_part(part which, const char *format)
{
    return which == EVERYBODY || (which == CSRK_ALONE) == is_csrk(format);
}

int bench_device_is_there(const spry_context *context, const char *kind)
{
    for (int d = 0; d < spry_device_count(context); d++) {
        spry_device_info device = SPRY_INIT(spry_device_info);
        if (spry_device_get_info(context, d, &device, NULL) == SPRY_OK && device.available &&
            strcmp(device.name, kind) == 0)
            return 1;
    }
    return 0;
}

/* Sizes given as parameters are kept to: equal groups. */
static const spry_ordering *groups_for(const bench_group *group, const char *format, const char *device)
{
    if (!group->groups || !is_csrk(format) || strchr(format, ':')) return NULL;
    return strcmp(group->groups_device, device) == 0 ? group->groups : NULL;
}

static int add_kernel(bench_group *group, const spry_kernel_info *kernel)
{
    if (!kernel->available)
        return bench_add_skipped(group, kernel->format, kernel->name, kernel->device, kernel->reason);
    spry_spmv_options options = plan_options(group);
    options.kernel = kernel->name;
    options.format = kernel->format;
    options.device = kernel->device;
    options.groups = groups_for(group, kernel->format, kernel->device);
    return bench_add_plan(group, &options, NULL);
}

/* Every kernel of the wanted devices, or those named. */
static int add_kernels(bench_group *group, const bench_request *request, part which, int all)
{
    for (int k = 0; k < spry_kernel_count(); k++) {
        spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
        if (spry_kernel_get_info(group->session->context, k, &kernel, NULL) != SPRY_OK) continue;
        if (!bench_device_wanted(request, kernel.device) || !is_part(which, kernel.format)) continue;
        if (all && strcmp(request->device, "all") == 0 &&
            !bench_device_is_there(group->session->context, kernel.device))
            continue;
        if (!all && !bench_list_has(&request->kernels, kernel.name)) continue;
        if (!add_kernel(group, &kernel)) return 0;
    }
    return 1;
}

/*
 * The best kernel of a format on each wanted device. auto is decided with every device open to it, so it
 * is one case unless one device is asked for.
 */
static int add_format(bench_group *group, const bench_request *request, const char *format)
{
    spry_spmv_options options = plan_options(group);
    options.format = format;
    options.allow_nondeterministic = 0;
    if (strcmp(format, "auto") == 0 || strcmp(request->device, "all") != 0) {
        options.device = strcmp(request->device, "all") == 0 ? NULL : request->device;
        if (options.device) options.groups = groups_for(group, format, options.device);
        return bench_add_plan(group, &options, format);
    }
    int added = 0;
    for (int d = 0; d < spry_device_count(group->session->context); d++) {
        spry_device_info device = SPRY_INIT(spry_device_info);
        if (spry_device_get_info(group->session->context, d, &device, NULL) != SPRY_OK) continue;
        if (strchr(device.name, ':')) continue; /* a second device of a kind */
        if (!device.available) continue;        /* all there are: a GPU that cannot be used is asked for by its name */
        options.device = device.name;
        options.groups = groups_for(group, format, device.name);
        if (!bench_add_plan(group, &options, format)) return 0;
        added++;
    }
    return added > 0 || bench_add_skipped(group, format, "", "", "no device is listed");
}

/* 1: a format of that name is in the list, with parameters or without. */
static int has_format(const bench_list *list, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, length) == 0 &&
            (list->items[i][length] == '\0' || list->items[i][length] == ':'))
            return 1;
    return 0;
}

/* Peers of the chosen formats and devices; those named alone when any is named. */
static int add_peers(bench_group *group, const bench_request *request)
{
    const bench_peers *peers = request->peers;
    int named = 0;
    if (!peers || group->plan_ordering) return 1;
    for (int p = 0; p < peers->count; p++) named |= bench_list_has(&request->kernels, peers->items[p].name);
    for (int p = 0; p < peers->count; p++) {
        const bench_peer *peer = &peers->items[p];
        if (peer->multiplies_matrices) continue;
        int wanted = request->all_kernels || has_format(&request->formats, peer->format) ||
                     bench_list_has(&request->formats, "auto");
        for (int i = 0; !wanted && i < group->case_count; i++)
            wanted = strcmp(group->cases[i].record.format, peer->format) == 0;
        if (named) wanted = bench_list_has(&request->kernels, peer->name);
        if (!wanted || !bench_device_wanted(request, peer->device)) continue;
        /* all there are: what needs a GPU is not listed where there is none, unless it is asked for */
        if (!named && strcmp(request->device, "all") == 0 &&
            !bench_device_is_there(group->session->context, peer->device))
            continue;
        if (!bench_add_peer(group, peer)) return 0;
    }
    return 1;
}

static int add_cases(bench_group *group, const bench_request *request, part which)
{
    int good = 1;
    if (request->all_kernels) good = add_kernels(group, request, which, 1);
    for (int f = 0; good && f < request->formats.count; f++)
        if (is_part(which, request->formats.items[f])) good = add_format(group, request, request->formats.items[f]);
    if (good && request->kernels.count > 0 && !request->all_kernels) good = add_kernels(group, request, which, 0);
    if (good && which != CSRK_ALONE) good = add_peers(group, request);
    if (good && group->case_count == 0 && which == EVERYBODY)
        good = bench_add_skipped(group, "", "", strcmp(request->device, "all") == 0 ? "" : request->device,
                                 "no kernel of the chosen formats is there for the chosen device");
    return good;
}

/* ---- matrices ----------------------------------------------------------------------------------- */

spry_status bench_out_of_memory(spry_error *err)
{
    if (err) {
        *err = (spry_error){.status = SPRY_OUT_OF_MEMORY};
        snprintf(err->message, sizeof err->message, "out of memory in the benchmark");
    }
    return SPRY_OUT_OF_MEMORY;
}

spry_status bench_stop(bench_session *session, spry_error *err)
{
    session->stopped = 1;
    if (err) {
        *err = (spry_error){.status = SPRY_FILE_ERROR};
        snprintf(err->message, sizeof err->message, "the records cannot be written");
    }
    return SPRY_FILE_ERROR;
}

/* One record for a matrix that nothing ran on. */
static spry_status emit_without_matrix(bench_session *session, const bench_request *request, const bench_source *source,
                                       const char *type, bench_status status, const char *reason, spry_error *err)
{
    bench_record r;
    bench_record_init(&r);
    r.op = session->op;
    r.type = type;
    r.state = session->cold ? "cold" : "warm";
    r.copy_gbps = session->copy_gbps;
    r.status = status;
    r.peer = -1;
    snprintf(r.matrix, sizeof r.matrix, "%s", source->name);
    snprintf(r.reason, sizeof r.reason, "%s", reason);
    return request->emit(request->user, &r, 1) == 0 ? SPRY_OK : bench_stop(session, err);
}

/* Everybody, peers too, got the reordered matrix, and what that took is part of each set-up. */
static void note_ordering(bench_group *group, const char *ordering, double reorder_us)
{
    for (int i = 0; i < group->case_count; i++) {
        bench_record *r = &group->cases[i].record;
        snprintf(r->ordering, sizeof r->ordering, "%s", ordering);
        r->setup_us += reorder_us; /* NaN stays NaN */
    }
}

/* The CPU's cases once more for each smaller number of threads. */
static int add_fewer(bench_group *group, const bench_request *request)
{
    bench_request on_cpu = *request;
    int good = 1;
    on_cpu.device = "cpu";
    if (strcmp(request->device, "cuda") == 0) return 1;
    for (int f = 0; good && f < request->fewer_count; f++) {
        group->planner = request->fewer[f];
        good = add_cases(group, &on_cpu, EVERYBODY);
    }
    group->planner = NULL;
    return good;
}

/* A numbering that matrices are measured in; the ordering is found for the first type and serves the second. */
typedef struct numbering {
    const char *ordering; /* for the records */
    const char *of_plans; /* plans renumber by this method, the matrix stays as given; NULL: not that */
    part which;
    const char *device;    /* of the cases; NULL: the request's */
    spry_ordering *handle; /* NULL: as given, or not found yet */
    double us;             /* that finding it took */
    spry_status status;    /* of that, */
    spry_error fault;      /* and what went wrong */
} numbering;
enum { MOST_NUMBERINGS = 8 };

/* All cases of a matrix in one type and numbering. */
static spry_status run_group(bench_session *session, const bench_request *request, const spry_matrix *A,
                             const bench_source *source, const numbering *n, double reorder_us, spry_error *err)
{
    bench_group group;
    const char *name = source->name;
    if (strcmp(session->op, "spgemm") == 0)
        return bench_spgemm(session, request, A, source, n->ordering, reorder_us, err);
    spry_status status = bench_group_open(&group, session, A, name, err);
    if (status != SPRY_OK) return status;
    group.common.twin = source->twin;
    group.plan_ordering = n->of_plans;
    bench_request narrowed = *request;
    if (n->device) narrowed.device = n->device;
    if (strcmp(n->ordering, "bandk") == 0) {
        group.groups = n->handle;
        group.groups_device = strcmp(narrowed.device, "cuda") == 0 ? "cuda" : "cpu";
    }
    char text[320];
    bench_record *records = NULL;
    snprintf(text, sizeof text, "%s %s: planning and checking", name, group.common.type);
    request->progress(request->user, text);
    int good = add_cases(&group, &narrowed, n->which);
    if (good && strcmp(n->ordering, "none") == 0) good = add_fewer(&group, &narrowed);
    note_ordering(&group, n->ordering, reorder_us);
    snprintf(text, sizeof text, "%s %s: timing %d cases", name, group.common.type, group.case_count);
    request->progress(request->user, text);
    if (good) good = bench_measure(&group);
    if (good && group.others >= 0.05) request->disturbed(request->user, name, group.others);
    if (good) records = malloc((size_t)(group.case_count + 1) * sizeof *records);
    if (records) {
        for (int i = 0; i < group.case_count; i++) records[i] = group.cases[i].record;
        status = request->emit(request->user, records, group.case_count) == 0 ? SPRY_OK : bench_stop(session, err);
    } else {
        status = bench_out_of_memory(err);
    }
    free(records);
    bench_group_close(&group);
    return status;
}

spry_status bench_read_csr(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                           spry_error *err)
{
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_matrix *csr = NULL;
    spry_status status = spry_matrix_read(context, A, path, options, err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(*A, &arrays, err);
    if (status != SPRY_OK || arrays.layout == SPRY_CSR) return status;
    status = spry_matrix_convert(context, &csr, *A, NULL, err);
    spry_matrix_destroy(*A);
    *A = csr; /* NULL if that failed */
    return status;
}

/* The matrix is read once; a second type is converted from it. */
static spry_status read_matrix(spry_context *context, const bench_request *request, const bench_source *source,
                               spry_matrix **A, spry_error *err)
{
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = request->f64 ? SPRY_F64 : SPRY_F32;
    options.offset_type = request->offset_type;
    options.index_type = request->index_type;
    return bench_read_csr(context, A, source->path, &options, err);
}

/* Whose sizes groups for the first GPU have where no table tells: as format csr3. */
static const char *tuning_for_gpu(spry_context *context)
{
    spry_device_info device = SPRY_INIT(spry_device_info);
    if (spry_device_get_info(context, 1, &device, NULL) != SPRY_OK || !device.available) return "ampere";
    if (device.compute_capability >= 90) return "hopper";
    return device.compute_capability >= 80 ? "ampere" : "volta";
}

/* For GPUs Band-k's groups have the sizes of the context's table, where it has some, or else the library's own. */
static spry_status find_ordering(spry_context *context, const bench_request *request, const spry_matrix *A,
                                 numbering *n, spry_error *err)
{
    const char *device = n->device ? n->device : request->device;
    const double start = bench_now_us();
    const int for_gpu = strcmp(n->ordering, "bandk") == 0 && strcmp(device, "cuda") == 0;
    spry_reorder_options options = SPRY_INIT(spry_reorder_options);
    options.method = n->ordering;
    options.tuning = for_gpu ? "table" : NULL;
    spry_status status = spry_reorder(context, &n->handle, A, &options, err);
    if (for_gpu && status == SPRY_INVALID_ARGUMENT) {
        options.tuning = tuning_for_gpu(context);
        status = spry_reorder(context, &n->handle, A, &options, err);
    }
    n->us = bench_now_us() - start;
    return status;
}

/* A in one numbering. Set-up holds what finding it and moving the entries took. */
static spry_status run_numbering(bench_session *session, const bench_request *request, const spry_matrix *A,
                                 const bench_source *source, numbering *n, spry_error *err)
{
    if (n->of_plans || strcmp(n->ordering, "none") == 0) return run_group(session, request, A, source, n, 0, err);
    spry_matrix *B = NULL;
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    const double start = bench_now_us();
    spry_status status = spry_ordering_get_info(n->handle, &info, err);
    if (status == SPRY_OK) status = spry_matrix_permute(session->context, &B, A, info.row_perm, info.col_perm, err);
    const double us = n->us + bench_now_us() - start;
    if (status == SPRY_OK) status = run_group(session, request, B, source, n, us, err);
    spry_matrix_destroy(B);
    return status;
}

/* The numberings that are asked for; returns how many. */
static int list_numberings(numbering *list, const bench_session *session, const bench_request *request)
{
    int count = 0, csrk = request->all_kernels;
    const int one_device = strcmp(request->device, "all") != 0 || !bench_device_is_there(session->context, "cuda");
    for (; count < request->orderings.count && count < MOST_NUMBERINGS; count++) {
        const char *name = request->orderings.items[count];
        list[count] = (numbering){.ordering = name, .of_plans = strncmp(name, "plan-", 5) == 0 ? name + 5 : NULL};
    }
    if (count > 0) return count;
    for (int i = 0; i < request->formats.count; i++) csrk |= is_csrk(request->formats.items[i]);
    for (int i = 0; i < request->kernels.count; i++) csrk |= is_csrk(request->kernels.items[i]);
    list[count++] = (numbering){.ordering = "none"};
    list[count++] = (numbering){.ordering = "rcm", .which = CSRK_NOT};
    if (!csrk) return count;
    list[count++] = (numbering){.ordering = "bandk", .which = CSRK_ALONE, .device = one_device ? NULL : "cpu"};
    if (!one_device) list[count++] = (numbering){.ordering = "bandk", .which = CSRK_ALONE, .device = "cuda"};
    return count;
}

static spry_status convert_to_f32(const bench_session *session, spry_matrix **A, spry_error *err)
{
    spry_matrix *B = NULL;
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    options.value_type = SPRY_F32;
    spry_status status = spry_matrix_convert(session->context, &B, *A, &options, err);
    if (status != SPRY_OK) return status;
    spry_matrix_destroy(*A);
    *A = B;
    return SPRY_OK;
}

/* A matrix that was read, and its orderings. */
typedef struct prepared {
    const bench_source *source;
    spry_matrix *A;
    numbering list[MOST_NUMBERINGS];
    int count;
    spry_status status; /* of all that, */
    spry_error fault;   /* and what went wrong */
} prepared;

static void read_source(prepared *p, spry_context *context, const bench_session *session, const bench_request *request)
{
    p->status = SPRY_OK;
    if (!p->source->path[0]) return;
    p->count = list_numberings(p->list, session, request);
    p->status = read_matrix(context, request, p->source, &p->A, &p->fault);
}

/* The n-th of its numberings; what went wrong is kept aside, for several may be looked for at once. */
static void find_numbering(prepared *p, int n, spry_context *context, const bench_request *request)
{
    if (n < p->count && p->status == SPRY_OK && !p->list[n].of_plans && strcmp(p->list[n].ordering, "none") != 0)
        p->list[n].status = find_ordering(context, request, p->A, &p->list[n], &p->list[n].fault);
}

/* Without all of them nothing is measured: the first that was not found tells why. */
static void close_preparation(prepared *p)
{
    for (int n = 0; n < p->count && p->status == SPRY_OK; n++) {
        p->status = p->list[n].status;
        p->fault = p->list[n].fault;
    }
}

static void release(prepared *p)
{
    for (int n = 0; n < p->count; n++) spry_ordering_destroy(p->list[n].handle);
    spry_matrix_destroy(p->A);
    *p = (prepared){0};
}

static spry_status measure(bench_session *session, const bench_request *request, prepared *p, spry_error *err)
{
    const char *first_type = request->f64 ? "f64" : "f32";
    spry_status status = p->status;
    if (!p->source->path[0])
        return emit_without_matrix(session, request, p->source, first_type, BENCH_SKIPPED, p->source->reason, err);
    for (int n = 0; status == SPRY_OK && request->f64 && n < p->count; n++)
        status = run_numbering(session, request, p->A, p->source, &p->list[n], &p->fault);
    if (status == SPRY_OK && request->f64 && request->f32) {
        first_type = "f32";
        status = convert_to_f32(session, &p->A, &p->fault);
    }
    for (int n = 0; status == SPRY_OK && request->f32 && n < p->count; n++)
        status = run_numbering(session, request, p->A, p->source, &p->list[n], &p->fault);
    if (status == SPRY_OK) return SPRY_OK;
    if (session->stopped) {
        if (err) *err = p->fault;
        return status;
    }
    request->complain(request->user, &p->fault); /* one bad matrix does not stop the others */
    return emit_without_matrix(session, request, p->source, first_type, BENCH_FAILED, p->fault.message, err);
}

/* Why a matrix is not to be begun: reason stays "" where it is. */
static void refuse(char *reason, size_t size, const bench_request *request, const bench_source *source, double start_us)
{
    reason[0] = '\0';
    if (request->limit_nnz > 0 && source->entries > request->limit_nnz)
        snprintf(reason, size, "it has about %lld entries, more than the limit of %lld", (long long)source->entries,
                 (long long)request->limit_nnz);
    else if (request->seconds > 0 && bench_now_us() - start_us > 1e6 * request->seconds)
        snprintf(reason, size, "the time limit of %.0f s had passed", request->seconds);
}

/* Sources from `first` on that are prepared together; what is refused between them is told of. Returns the next. */
static int take_batch(bench_session *session, const bench_request *request, prepared *batch, int *taken, int first,
                      double start_us, spry_status *status, spry_error *err)
{
    const int most = request->at_once > 1 ? request->at_once : 1;
    int s = first;
    char reason[160];
    for (*taken = 0; s < request->source_count && *taken < most && *status == SPRY_OK; s++) {
        const bench_source *source = &request->sources[s];
        refuse(reason, sizeof reason, request, source, start_us);
        if (reason[0])
            *status =
                emit_without_matrix(session, request, source, request->f64 ? "f64" : "f32", BENCH_SKIPPED, reason, err);
        else
            batch[(*taken)++] = (prepared){.source = source, .fault = {0}};
    }
    return s;
}

/*
 * Each matrix, and then each ordering, by one thread where there are several: orderings are mostly one thread's work,
 * and so are twins. Large ones, which come last, are begun first, so that none is left over when the others are done.
 */
static void prepare_batch(prepared *batch, int count, const bench_session *session, const bench_request *request)
{
    char text[320];
    snprintf(text, sizeof text, "%s%s: reading and reordering", batch[0].source->name, count > 1 ? " and others" : "");
    request->progress(request->user, text);
    if (request->at_once <= 1) {
        read_source(&batch[0], session->context, session, request);
        for (int n = 0; n < batch[0].count; n++) find_numbering(&batch[0], n, session->context, request);
    } else {
#pragma omp parallel num_threads(request->at_once)
        {
#pragma omp for schedule(dynamic, 1)
            for (int b = 0; b < count; b++) read_source(&batch[count - 1 - b], request->preparer, session, request);
#pragma omp for schedule(dynamic, 1)
            for (int k = 0; k < count * MOST_NUMBERINGS; k++)
                find_numbering(&batch[count - 1 - k / MOST_NUMBERINGS], k % MOST_NUMBERINGS, request->preparer,
                               request);
        }
    }
    for (int b = 0; b < count; b++) close_preparation(&batch[b]);
}

/* A matrix of a batch whose turn comes too late is refused as well. */
static spry_status measure_in_time(bench_session *session, const bench_request *request, prepared *p, double start_us,
                                   spry_error *err)
{
    char reason[160];
    refuse(reason, sizeof reason, request, p->source, start_us);
    if (!reason[0]) return measure(session, request, p, err);
    return emit_without_matrix(session, request, p->source, request->f64 ? "f64" : "f32", BENCH_SKIPPED, reason, err);
}

spry_status bench_run(bench_session *session, const bench_request *request, spry_error *err)
{
    const double start = bench_now_us();
    const int most = request->at_once > 1 ? request->at_once : 1;
    spry_status status = SPRY_OK;
    prepared *batch = calloc((size_t)most, sizeof *batch);
    if (!batch) return bench_out_of_memory(err);
    for (int s = 0, taken = 0; status == SPRY_OK && s < request->source_count;) {
        s = take_batch(session, request, batch, &taken, s, start, &status, err);
        if (taken == 0) continue;
        prepare_batch(batch, taken, session, request);
        for (int b = 0; b < taken; b++) {
            if (status == SPRY_OK) status = measure_in_time(session, request, &batch[b], start, err);
            release(&batch[b]);
        }
    }
    free(batch);
    return status;
}
