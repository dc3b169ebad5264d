/* One matrix in one type: its vectors, its cases, and the check of every case. */
#include "bench/group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- vectors ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void bench_fill_random(void *data, int64_t length, spry_type type, uint64_t seed, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (length > 1 << 16)
    for (int64_t i = 0; i < length; i++) {
        uint64_t bits = mix((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15) + seed);
        double value = 0.25 + 0.75 * (double)(bits >> 11) * 0x1p-53;
        if (bits & 1) value = -value;
        if (type == SPRY_F32)
            ((float *)data)[i] = (float)value;
        else
            ((double *)data)[i] = value;
    }
}

static void fill_nan(void *data, int64_t length, spry_type type, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < length; i++)
        if (type == SPRY_F32)
            ((float *)data)[i] = NAN;
        else
            ((double *)data)[i] = NAN;
}

/* Eight bytes a step. */
static uint64_t hash_piece(const unsigned char *p, size_t bytes)
{
    uint64_t hash = bytes, word;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    for (; bytes > 0; bytes--, p++) hash = (hash ^ *p) * UINT64_C(0x100000001B3);
    return hash;
}

/* Of pieces of a fixed size by several threads: it runs a few times a case, and would take longer than the case. */
uint64_t bench_hash_bytes(const void *data, size_t bytes, int threads)
{
    const size_t piece = (size_t)1 << 20;
    const int64_t pieces = (int64_t)((bytes + piece - 1) / piece);
    uint64_t hash = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : hash)
    for (int64_t k = 0; k < pieces; k++) {
        const size_t from = (size_t)k * piece, length = bytes - from < piece ? bytes - from : piece;
        hash += mix(hash_piece((const unsigned char *)data + from, length) + (uint64_t)k);
    }
    return hash;
}

static int threads_of(const bench_group *group)
{
    return spry_context_threads(group->session->context);
}

static spry_vector vector(const bench_group *group, void *data, int64_t length)
{
    return (spry_vector){.data = data, .length = length, .type = group->arrays.value_type, .columns = 1};
}

static spry_vector vector_on(const bench_group *group, void *data, int64_t length, int device)
{
    spry_vector v = vector(group, data, length);
    v.device = device;
    return v;
}

static size_t vector_bytes(const bench_group *group, int64_t length)
{
    return (size_t)length * spry_type_bytes(group->arrays.value_type);
}

/* In large pages where the system has them, for every kernel and peer alike, as the matrices of the library. */
static void *new_vector(size_t bytes)
{
    const size_t large = (size_t)2 << 20;
    void *memory = NULL;
    if (posix_memalign(&memory, bytes < large ? 64 : large, bytes + 8) != 0) return NULL;
    if (bytes >= large) (void)madvise(memory, bytes, MADV_HUGEPAGE); /* advice only */
    return memory;
}

static uint64_t hash_of_y(const bench_group *group)
{
    return bench_hash_bytes(group->y, vector_bytes(group, group->y_length), threads_of(group));
}

/* ---- group -------------------------------------------------------------------------------------- */

const char *bench_index_name(const spry_arrays *a)
{
    if (a->offset_type == SPRY_I32) return "32/32";
    return a->index_type == SPRY_I32 ? "64/32" : "64/64";
}

static void fill_common(bench_group *group, const spry_matrix_stats *stats, const char *name)
{
    bench_record *r = &group->common;
    bench_record_init(r);
    r->op = group->session->op;
    snprintf(r->matrix, sizeof r->matrix, "%s", name);
    r->rows = group->arrays.rows;
    r->cols = group->arrays.cols;
    r->nnz = group->arrays.nnz;
    r->class_name = bench_class_name(stats);
    r->twin = 0;
    r->type = spry_type_name(group->arrays.value_type);
    r->index = bench_index_name(&group->arrays);
    r->state = group->session->cold ? "cold" : "warm";
    r->copy_gbps = group->session->copy_gbps;
}

static spry_status fail(spry_error *err, spry_status status, const char *message)
{
    if (err) {
        *err = (spry_error){.status = status};
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return status;
}

spry_status bench_group_open(bench_group *group, bench_session *session, const spry_matrix *A, const char *name,
                             spry_error *err)
{
    *group = (bench_group){.session = session, .A = A, .arrays = SPRY_INIT(spry_arrays)};
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    spry_status status = spry_matrix_get_arrays(A, &group->arrays, err);
    if (status == SPRY_OK) status = spry_matrix_get_stats(A, &stats, err);
    if (status != SPRY_OK) return status;
    const spry_arrays *a = &group->arrays;
    fill_common(group, &stats, name);
    group->transpose = strcmp(session->op, "spmv_t") == 0;
    group->x_length = group->transpose ? a->rows : a->cols;
    group->y_length = group->transpose ? a->cols : a->rows;
    double value = (double)spry_type_bytes(a->value_type);
    group->csr_bytes = (double)a->nnz * (value + (double)spry_index_type_bytes(a->index_type)) +
                       (double)(a->rows + 1) * (double)spry_index_type_bytes(a->offset_type) +
                       (double)(a->rows + a->cols) * value;
    group->x = new_vector(vector_bytes(group, group->x_length));
    group->y = new_vector(vector_bytes(group, group->y_length));
    group->y_before = new_vector(vector_bytes(group, group->y_length));
    if (!group->x || !group->y || !group->y_before) {
        bench_group_close(group);
        return fail(err, SPRY_OUT_OF_MEMORY, "out of memory for the vectors of the benchmark");
    }
    const int threads = spry_context_threads(group->session->context);
    bench_fill_random(group->x, group->x_length, a->value_type, 1, threads);
    bench_fill_random(group->y_before, group->y_length, a->value_type, 2, threads);
    return SPRY_OK;
}

void bench_group_close(bench_group *group)
{
    for (int i = 0; i < group->case_count; i++) {
        bench_case *c = &group->cases[i];
        spry_plan_destroy(c->plan);
        if (c->peer && c->peer_state) c->peer->destroy(c->peer_state);
        free(c->samples);
    }
    if (group->session) {
        spry_device_free(group->session->context, 1, group->device_x);
        spry_device_free(group->session->context, 1, group->device_y);
    }
    free(group->cases);
    free(group->x);
    free(group->y);
    free(group->y_before);
    *group = (bench_group){0};
}

/* ---- running and checking ----------------------------------------------------------------------- */

/* A scalar of the compute type, as the library takes it. */
typedef struct scalar {
    float f32;
    double f64;
} scalar;

static const void *scalar_pointer(const scalar *s, spry_type type)
{
    return type == SPRY_F32 ? (const void *)&s->f32 : (const void *)&s->f64;
}

static void *x_of(const bench_group *group, const bench_case *c)
{
    return c->device > 0 ? group->device_x : group->x;
}

static void *y_of(const bench_group *group, const bench_case *c)
{
    return c->device > 0 ? group->device_y : group->y;
}

int bench_case_run(bench_group *group, bench_case *c, double alpha, double beta)
{
    if (c->peer) {
        if (c->peer->run(c->peer_state, alpha, x_of(group, c), beta, y_of(group, c)) == SPRY_PEER_OK) return 1;
        return bench_set_status(&c->record, BENCH_FAILED, "%s failed in a product", c->peer->name);
    }
    spry_error err = {0};
    spry_type type = group->arrays.value_type;
    scalar a = {(float)alpha, alpha}, b = {(float)beta, beta};
    spry_status status = spry_plan_run(c->plan, scalar_pointer(&a, type),
                                       vector_on(group, x_of(group, c), group->x_length, c->device),
                                       scalar_pointer(&b, type),
                                       vector_on(group, y_of(group, c), group->y_length, c->device), NULL, &err);
    if (status == SPRY_OK) return 1;
    return bench_set_status(&c->record, BENCH_FAILED, "%s", err.message);
}

int bench_case_wait(bench_group *group, bench_case *c)
{
    spry_error err = {0};
    if (c->device == 0 || spry_device_synchronize(group->session->context, c->device, NULL, &err) == SPRY_OK) return 1;
    return bench_set_status(&c->record, BENCH_FAILED, "%s", err.message);
}

spry_status bench_measure_gpu_copy(bench_session *session, spry_error *err)
{
    if (session->gpu_copy_gbps != 0) return SPRY_OK;
    spry_status status = spry_device_measure_copy(session->context, 1, &session->gpu_copy_gbps, err);
    if (status != SPRY_OUT_OF_MEMORY) return status;
    session->gpu_copy_gbps = NAN; /* products may fit all the same */
    return SPRY_OK;
}

/* The group's x and room for y on the GPU, and the GPU's bandwidth for the records. */
static int make_device_vectors(bench_group *group, bench_case *c)
{
    spry_error err = {0};
    const spry_context *context = group->session->context;
    int64_t x_bytes = (int64_t)vector_bytes(group, group->x_length);
    int64_t y_bytes = (int64_t)vector_bytes(group, group->y_length);
    spry_status status = SPRY_OK;
    if (!group->device_x) {
        status = spry_device_allocate(context, &group->device_x, c->device, x_bytes, &err);
        if (status == SPRY_OK) status = spry_device_allocate(context, &group->device_y, c->device, y_bytes, &err);
        if (status == SPRY_OK)
            status = spry_device_copy(context, group->device_x, c->device, group->x, 0, x_bytes, NULL, &err);
    }
    if (status == SPRY_OK) status = bench_measure_gpu_copy(group->session, &err);
    c->record.copy_gbps = group->session->gpu_copy_gbps;
    if (status == SPRY_OK) return 1;
    /* A peer may be able to use a GPU that the library's own plug-in cannot. */
    return bench_set_status(&c->record, status == SPRY_DEVICE_UNAVAILABLE ? BENCH_SKIPPED : BENCH_FAILED, "%s",
                            err.message);
}

/* Between group->y and the GPU's y, for cases that run there. */
static int move_y(bench_group *group, bench_case *c, int to_device)
{
    spry_error err = {0};
    if (c->device == 0) return 1;
    void *to = to_device ? group->device_y : group->y, *from = to_device ? group->y : group->device_y;
    spry_status status = spry_device_copy(group->session->context, to, to_device ? c->device : 0, from,
                                          to_device ? 0 : c->device, (int64_t)vector_bytes(group, group->y_length),
                                          NULL, &err);
    if (status == SPRY_OK) return bench_case_wait(group, c);
    return bench_set_status(&c->record, BENCH_FAILED, "%s", err.message);
}

static void keep_error(bench_case *c, double error)
{
    if (isnan(c->record.max_error) || error > c->record.max_error) c->record.max_error = error;
}

/* 1: of this product these bits are known to be right. */
static int is_known(const bench_known *known, uint64_t hash, double alpha, double beta)
{
    return known->hash == hash && known->alpha == alpha && known->beta == beta;
}

/*
 * Compares group->y with the reference, unless a case before gave the same bits. what names the product in the
 * reason.
 */
static int verify(bench_group *group, bench_case *c, double alpha, double beta, const char *what)
{
    spry_error err = {0};
    const uint64_t hash = hash_of_y(group);
    for (int k = 0; k < group->known_count; k++)
        if (is_known(&group->known[k], hash, alpha, beta)) {
            keep_error(c, group->known[k].max_error);
            return 1;
        }
    spry_verification v = SPRY_INIT(spry_verification);
    spry_type type = group->arrays.value_type;
    scalar a = {(float)alpha, alpha}, b = {(float)beta, beta};
    spry_vector before = beta == 0 ? (spry_vector){0} : vector(group, group->y_before, group->y_length);
    spry_status status =
        spry_verify_spmv(group->session->context, &v, group->A, group->transpose ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE,
                         scalar_pointer(&a, type), vector(group, group->x, group->x_length), scalar_pointer(&b, type),
                         before, vector(group, group->y, group->y_length), &err);
    if (status != SPRY_OK)
        return bench_set_status(&c->record, BENCH_FAILED, "the check itself failed: %s", err.message);
    keep_error(c, v.max_error);
    if (v.wrong_rows == 0) {
        if (group->known_count < BENCH_MOST_KNOWN)
            group->known[group->known_count++] = (bench_known){hash, alpha, beta, v.max_error};
        return 1;
    }
    return bench_set_status(&c->record, BENCH_WRONG,
                            "%s: %lld rows past the error bound, worst at row %lld with %.3g times the bound", what,
                            (long long)v.wrong_rows, (long long)v.worst_row, v.max_error);
}

static void copy_y_before(bench_group *group)
{
    const int threads = threads_of(group);
    const size_t bytes = vector_bytes(group, group->y_length), share = bytes / (size_t)threads + 1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        const size_t from = (size_t)t * share;
        if (from < bytes)
            memcpy((char *)group->y + from, (const char *)group->y_before + from,
                   bytes - from < share ? bytes - from : share);
    }
}

/* The first product, with its time, and one with other scalars, which a peer need not offer as well. */
static void check(bench_group *group, bench_case *c)
{
    if (c->device > 0 && !make_device_vectors(group, c)) return;
    fill_nan(group->y, group->y_length, group->arrays.value_type, threads_of(group));
    if (!move_y(group, c, 1)) return;
    double start = bench_now_us();
    if (!bench_case_run(group, c, 1, 0) || !bench_case_wait(group, c)) return;
    c->record.first_us = bench_now_us() - start;
    if (!move_y(group, c, 0)) return;
    c->y_hash = hash_of_y(group);
    if (!verify(group, c, 1, 0, "alpha 1, beta 0") || c->peer) return;
    copy_y_before(group);
    if (move_y(group, c, 1) && bench_case_run(group, c, -1.75, 0.625) && move_y(group, c, 0))
        verify(group, c, -1.75, 0.625, "alpha -1.75, beta 0.625");
}

void bench_case_recheck(bench_group *group, bench_case *c)
{
    if (!move_y(group, c, 0)) return;
    if (hash_of_y(group) == c->y_hash) return;
    if (c->record.deterministic == 1)
        bench_set_status(&c->record, BENCH_WRONG, "said to be deterministic, but the bits changed between runs");
    else
        verify(group, c, 1, 0, "after timing");
}

/* ---- cases -------------------------------------------------------------------------------------- */

static bench_case *add_case(bench_group *group)
{
    bench_case *grown = realloc(group->cases, (size_t)(group->case_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    group->cases = grown;
    bench_case *c = &grown[group->case_count++];
    *c = (bench_case){.record = group->common};
    c->record.fewer_threads = group->planner != NULL;
    return c;
}

int bench_add_skipped(bench_group *group, const char *format, const char *kernel, const char *device,
                      const char *reason)
{
    bench_case *c = add_case(group);
    if (!c) return 0;
    BENCH_SET_TEXT(c->record.format, format);
    BENCH_SET_TEXT(c->record.kernel, kernel);
    BENCH_SET_TEXT(c->record.device, device);
    bench_set_status(&c->record, BENCH_SKIPPED, "%s", reason);
    return 1;
}

/* What the library cannot do (yet, here, or without wasting memory) is skipped; the rest is a failure. */
static bench_status status_of_plan(spry_status status)
{
    switch (status) {
    case SPRY_UNSUPPORTED:
    case SPRY_UNKNOWN_NAME:
    case SPRY_DEVICE_UNAVAILABLE:
    case SPRY_TOO_LARGE: return BENCH_SKIPPED;
    default: return BENCH_FAILED;
    }
}

static void fill_from_plan(bench_case *c, const char *label)
{
    spry_plan_info info = SPRY_INIT(spry_plan_info);
    spry_error err = {0};
    if (spry_plan_get_info(c->plan, &info, &err) != SPRY_OK) {
        bench_set_status(&c->record, BENCH_FAILED, "%s", err.message);
        return;
    }
    bench_record *r = &c->record;
    BENCH_SET_TEXT(r->format, label ? label : info.format);
    BENCH_SET_TEXT(r->kernel, info.kernel);
    BENCH_SET_TEXT(r->device, info.device);
    BENCH_SET_TEXT(r->ordering, info.ordering);
    BENCH_SET_TEXT(r->reason, info.reason);
    r->threads = info.threads;
    r->deterministic = info.deterministic;
    r->setup_us = info.setup_us;
    r->upload_us = info.upload_us;
    r->bytes = info.storage_bytes;
}

int bench_add_plan(bench_group *group, const spry_spmv_options *options, const char *label)
{
    bench_case *c = add_case(group);
    if (!c) return 0;
    BENCH_SET_TEXT(c->record.format, label ? label : options->format);
    BENCH_SET_TEXT(c->record.kernel, options->kernel);
    BENCH_SET_TEXT(c->record.device, options->device);
    BENCH_SET_TEXT(c->record.ordering, options->ordering ? options->ordering : "none");
    spry_spmv_options given = *options;
    c->device = given.vector_device = options->device && strncmp(options->device, "cuda", 4) == 0;
    spry_context *context = group->planner ? group->planner : group->session->context;
    spry_status status = spry_plan_spmv(context, &c->plan, group->A, &given, &c->err);
    if (status != SPRY_OK) {
        c->plan = NULL;
        bench_set_status(&c->record, status_of_plan(status), "%s", c->err.message);
        return 1;
    }
    fill_from_plan(c, label);
    if (c->record.status == BENCH_OK) check(group, c);
    return 1;
}

int bench_add_peer(bench_group *group, const bench_peer *peer)
{
    bench_case *c = add_case(group);
    if (!c) return 0;
    const spry_arrays *a = &group->arrays;
    int threads = spry_context_threads(group->planner ? group->planner : group->session->context);
    BENCH_SET_TEXT(c->record.format, peer->format);
    BENCH_SET_TEXT(c->record.kernel, peer->name);
    BENCH_SET_TEXT(c->record.device, peer->device);
    BENCH_SET_TEXT(c->record.ordering, "none");
    c->record.peer = 1;
    c->device = strcmp(peer->device, "cuda") == 0;
    if (!peer->kernel) {
        bench_set_status(&c->record, BENCH_SKIPPED, "%s", peer->reason);
        return 1;
    }
    spry_peer_request request = {.matrix = {a->rows, a->cols, a->nnz, (int)spry_type_bytes(a->value_type),
                                            (int)spry_index_type_bytes(a->offset_type),
                                            (int)spry_index_type_bytes(a->index_type), a->offsets, a->indices,
                                            a->values},
                                 .transpose = group->transpose,
                                 .threads = threads,
                                 .expected_calls = group->session->calls > 0 ? group->session->calls : 1000};
    spry_peer_cost cost = {.threads = threads, .deterministic = peer->kernel->deterministic};
    char error[256] = "no reason given";
    double start = bench_now_us();
    int result = peer->kernel->prepare(&c->peer_state, &request, &cost, error, sizeof error);
    double setup_us = bench_now_us() - start;
    if (result != SPRY_PEER_OK) {
        c->peer_state = NULL;
        bench_set_status(&c->record, result == SPRY_PEER_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED, "%s", error);
        return 1;
    }
    c->peer = peer->kernel;
    snprintf(c->record.reason, sizeof c->record.reason, "%s, version %s", peer->kernel->title, peer->version);
    c->record.setup_us = setup_us - cost.startup_us;
    c->record.upload_us = cost.upload_us;
    c->record.threads = cost.threads;
    c->record.deterministic = cost.deterministic;
    c->record.bytes = cost.bytes > 0 ? cost.bytes : -1;
    check(group, c);
    return 1;
}
