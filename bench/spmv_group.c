/* Cases of one matrix in one type and number of vectors: vectors, planning, and checks. */
#include "bench/internal.h"
#include "spry/cuda.h"
#include "spry/matrix.h"
#include "spry/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_PLANNINGS = 3, INSPECTING_CALLS = 3 /* least expected_calls for which csr inspects columns (spry.h) */ };
static const double short_planning_us = 50000;

/* ---- vectors ------------------------------------------------------------------------------------ */

static int threads_of(const spmv_group *group)
{
    return pool_threads(group->session->context);
}

static spry_vector vector(const spmv_group *group, void *data, int64_t length, int device)
{
    return (spry_vector){.data = data,
                         .length = length,
                         .type = group->vectors.type,
                         .count = group->vectors.count,
                         .row_stride = group->vectors.row_major ? group->vectors.count : 1,
                         .column_stride = group->vectors.row_major ? 1 : length,
                         .device = device};
}

/* Returns the bytes of vectors.count vectors with `length` elements each. */
static size_t vector_bytes(const spmv_group *group, int64_t length)
{
    return (size_t)length * (size_t)group->vectors.count * spry_type_bytes(group->vectors.type);
}

static uint64_t hash_of_y(const spmv_group *group)
{
    return bench_hash_bytes(group->vectors.y, vector_bytes(group, group->vectors.y_length), threads_of(group));
}

/* ---- group -------------------------------------------------------------------------------------- */

/* Converts the stored, rounded values to the vectors' type, for peers. */
static spry_status widen_values(spmv_group *group, const bench_types *types, spry_error *err)
{
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.value_type = types->vectors;
    options.offset_type = group->matrices.arrays.offset_type;
    options.keep_duplicates = true;
    group->common.input.type = types->name;
    spry_status status =
        spry_matrix_convert(group->session->context, &group->matrices.wide, NULL, group->matrices.A, &options, err);
    return status == SPRY_OK ? spry_matrix_get_arrays(group->matrices.wide, &group->matrices.arrays, err) : status;
}

/* Returns true if the check copies each vector from row-major to contiguous memory. */
static bool are_gathered(const spmv_group *group)
{
    return group->vectors.row_major && group->vectors.count > 1;
}

/* Allocates and fills x, y and y_before. Computes the bytes in double, because they may exceed 64 bits. */
static spry_status create_vectors(spmv_group *group, spry_error *err)
{
    const double entries = (double)group->vectors.x_length + 2 * (double)group->vectors.y_length;
    const double bytes = entries * (double)(group->vectors.count + are_gathered(group)) *
                         (double)spry_type_bytes(group->vectors.type);
    char text[200];
    if (bytes > (double)available_memory_bytes(group->session->context)) {
        snprintf(text, sizeof text,
                 "out of memory in the benchmark: x, y and a copy of y with %lld column%s need %.0f bytes, more than "
                 "this machine has free",
                 (long long)group->vectors.count, group->vectors.count == 1 ? "" : "s", bytes);
        return bench_fail(err, SPRY_OUT_OF_MEMORY, text);
    }
    group->vectors.x = allocate_pages(vector_bytes(group, group->vectors.x_length));
    group->vectors.y = allocate_pages(vector_bytes(group, group->vectors.y_length));
    group->vectors.y_before = allocate_pages(vector_bytes(group, group->vectors.y_length));
    if (are_gathered(group))
        group->vectors.column = allocate_pages((size_t)entries * spry_type_bytes(group->vectors.type));
    if (!group->vectors.x || !group->vectors.y || !group->vectors.y_before ||
        (are_gathered(group) && !group->vectors.column))
        return bench_out_of_memory(err);
    fill_random(group->vectors.x, group->vectors.x_length * group->vectors.count, group->vectors.type, 1,
                threads_of(group));
    fill_random(group->vectors.y_before, group->vectors.y_length * group->vectors.count, group->vectors.type, 2,
                threads_of(group));
    return SPRY_OK;
}

spry_status spmv_group_open(spmv_group *group, bench_session *session, const bench_subject *subject, spry_error *err)
{
    *group = (spmv_group){.session = session,
                          .matrices.A = subject->A,
                          .planner = session->context,
                          .vectors.count = subject->count > 0 ? subject->count : 1,
                          .vectors.row_major = subject->count > 0 && session->options->operation.row_major,
                          .matrices.arrays = SPRY_INIT(spry_arrays)};
    spry_status status = spry_matrix_get_arrays(group->matrices.A, &group->matrices.arrays, err);
    if (status == SPRY_OK) status = bench_describe(session, &group->common, subject, err);
    group->vectors.type = subject->types->vectors;
    if (status == SPRY_OK && subject->types->stored != group->vectors.type)
        status = widen_values(group, subject->types, err);
    if (status == SPRY_OK && session->options->operation.pattern) {
        status = bench_leave_out_values(session, &group->matrices.arrays, &group->matrices.pattern,
                                        &group->matrices.ones, &group->common, err);
        group->matrices.A = group->matrices.pattern;
    }
    if (status != SPRY_OK) {
        spmv_group_close(group);
        return status;
    }
    const spry_arrays *a = &group->matrices.arrays;
    const bool transpose = strstr(session->options->operation.op, "_t") != NULL;
    group->op = transpose ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    group->vectors.x_length = transpose ? a->rows : a->columns;
    group->vectors.y_length = transpose ? a->columns : a->rows;
    group->matrices.csr_bytes = (double)(a->rows + a->columns) * (double)group->vectors.count *
                                (double)spry_type_bytes(group->vectors.type);
    for (int part = 0; part < 2; part++) group->matrices.csr_bytes += (double)csr_part_bytes(a, part);
    if (!group->matrices.pattern)
        group->matrices.csr_bytes += (double)a->nnz * (double)spry_type_bytes(subject->types->stored);
    status = create_vectors(group, err);
    if (status != SPRY_OK) spmv_group_close(group);
    return status;
}

void spmv_group_close(spmv_group *group)
{
    for (int i = 0; i < group->case_count; i++) {
        spmv_case *c = &group->cases[i];
        spry_spmv_plan_destroy(c->plan);
        if (c->peer && c->peer_state) c->peer->destroy(c->peer_state);
        free(c->samples);
    }
    spry_device_free(group->session->context, 1, group->vectors.device_x);
    spry_device_free(group->session->context, 1, group->vectors.device_y);
    device_matrix_release(&group->matrices.on_gpu, group->session->context);
    spry_matrix_destroy(group->matrices.pattern);
    spry_matrix_destroy(group->matrices.wide);
    spry_matrix_destroy(group->matrices.checked);
    free(group->vectors.column);
    free(group->matrices.ones);
    free(group->cases);
    free(group->vectors.x);
    free(group->vectors.y);
    free(group->vectors.y_before);
}

/* ---- running and checking ----------------------------------------------------------------------- */

/* A scalar in both types; the library reads the member that has the vectors' type. */
typedef struct scalar {
    float f32;
    double f64;
} scalar;

static const void *scalar_pointer(const scalar *s, spry_type type)
{
    return type == SPRY_F32 ? (const void *)&s->f32 : (const void *)&s->f64;
}

static void *x_of(const spmv_group *group, const spmv_case *c)
{
    return c->device > 0 ? group->vectors.device_x : group->vectors.x;
}

static void *y_of(const spmv_group *group, const spmv_case *c)
{
    return c->device > 0 ? group->vectors.device_y : group->vectors.y;
}

int spmv_run(spmv_group *group, spmv_case *c, double alpha, double beta)
{
    if (c->peer) {
        if (c->peer->run(c->peer_state, alpha, x_of(group, c), beta, y_of(group, c)) == SPRY_PEER_OK) return 1;
        return record_fail(&c->record, RECORD_FAILED, "%s failed in a product", c->peer->name);
    }
    spry_error err = {0};
    spry_type type = group->vectors.type;
    scalar a = {(float)alpha, alpha}, b = {(float)beta, beta};
    spry_status status =
        spry_spmv_plan_run(c->plan, vector(group, y_of(group, c), group->vectors.y_length, c->device),
                           scalar_pointer(&a, type),
                           spry_vector_as_const(vector(group, x_of(group, c), group->vectors.x_length, c->device)),
                           scalar_pointer(&b, type), NULL, &err);
    if (status == SPRY_OK) return 1;
    return record_fail(&c->record, RECORD_FAILED, "%s", err.message);
}

int spmv_wait(spmv_group *group, spmv_case *c)
{
    spry_error err = {0};
    if (c->device == 0 || spry_device_synchronize(group->session->context, c->device, NULL, &err) == SPRY_OK) return 1;
    return record_fail(&c->record, RECORD_FAILED, "%s", err.message);
}

spry_status bench_measure_gpu_copy(bench_session *session, spry_error *err)
{
    if (session->gpu_copy_gbps != 0) return SPRY_OK;
    spry_status status = spry_device_measure_copy(session->context, &session->gpu_copy_gbps, 1, err);
    if (status != SPRY_OUT_OF_MEMORY) return status;
    session->gpu_copy_gbps = NAN; /* no error, because products may still fit */
    return SPRY_OK;
}

/* Copies x to the GPU, allocates y on the GPU, and measures the GPU's bandwidth for the record. */
static int create_device_vectors(spmv_group *group, spmv_case *c)
{
    spry_error err = {0};
    const spry_context *context = group->session->context;
    int64_t x_bytes = (int64_t)vector_bytes(group, group->vectors.x_length);
    int64_t y_bytes = (int64_t)vector_bytes(group, group->vectors.y_length);
    spry_status status = SPRY_OK;
    if (!group->vectors.device_x) {
        status = spry_device_allocate(context, &group->vectors.device_x, c->device, x_bytes, &err);
        if (status == SPRY_OK)
            status = spry_device_allocate(context, &group->vectors.device_y, c->device, y_bytes, &err);
        if (status == SPRY_OK)
            status =
                spry_device_copy(context, group->vectors.device_x, c->device, group->vectors.x, 0, x_bytes, NULL, &err);
    }
    if (status == SPRY_OK) status = bench_measure_gpu_copy(group->session, &err);
    c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
    if (status == SPRY_OK) return 1;
    /*
     * The case is skipped if Spry's GPU plug-in cannot use the GPU, although the peer's library may be able to use it.
     */
    return record_fail(&c->record, status == SPRY_DEVICE_UNAVAILABLE ? RECORD_SKIPPED : RECORD_FAILED, "%s",
                       err.message);
}

/* Copies y to the GPU or back, for GPU cases. Returns 0 after a failure. */
static int move_y(spmv_group *group, spmv_case *c, bool to_device)
{
    spry_error err = {0};
    if (c->device == 0) return 1;
    void *to = to_device ? group->vectors.device_y : group->vectors.y,
         *from = to_device ? group->vectors.y : group->vectors.device_y;
    spry_status status = spry_device_copy(group->session->context, to, to_device ? c->device : 0, from,
                                          to_device ? 0 : c->device,
                                          (int64_t)vector_bytes(group, group->vectors.y_length), NULL, &err);
    if (status == SPRY_OK) return spmv_wait(group, c);
    return record_fail(&c->record, RECORD_FAILED, "%s", err.message);
}

static void keep_error(spmv_case *c, double error)
{
    if (isnan(c->record.max_error) || error > c->record.max_error) c->record.max_error = error;
}

/* Returns true if the product with these scalars and bits was compared and is correct. */
static bool is_known(const known_product *known, uint64_t hash, double alpha, double beta)
{
    return known->hash == hash && known->alpha == alpha && known->beta == beta;
}

/*
 * Returns column c of vectors in host memory. If the vectors are row-major, first copies the column to vectors.column,
 * beginning at element `position`.
 */
static spry_const_vector column_of(const spmv_group *group, void *data, int64_t length, int64_t c, int64_t position)
{
    const int64_t bytes = (int64_t)spry_type_bytes(group->vectors.type);
    char *at = are_gathered(group) ? (char *)group->vectors.column + position * bytes
                                   : (char *)data + c * length * bytes;
    if (are_gathered(group))
        gather_column(at, data, length, group->vectors.count, c, group->vectors.type, threads_of(group));
    return (spry_const_vector){.data = at, .length = length, .type = group->vectors.type, .count = 1};
}

/*
 * Returns the matrix with which results are compared: A, or for transposed products with multiple vectors A in CSC, so
 * that threads can share the rows of A^T.
 */
static const spry_matrix *checked_matrix(spmv_group *group)
{
    if (group->op == SPRY_TRANSPOSE && group->vectors.count > 1 && !group->matrices.checked) {
        spry_matrix_options options = SPRY_INIT(spry_matrix_options);
        options.layout = SPRY_CSC;
        if (spry_matrix_convert(group->session->context, &group->matrices.checked, NULL, group->matrices.A, &options,
                                NULL) != SPRY_OK)
            group->matrices.checked = NULL; /* memory is short: one thread compares with A */
    }
    return group->matrices.checked ? group->matrices.checked : group->matrices.A;
}

/* Compares all vectors y with the reference. *wrong: the first vector with a row beyond the bound; -1: none. */
static spry_status verify_vectors(spmv_group *group, double alpha, double beta, spry_spmv_verification *worst,
                                  int64_t *wrong, spry_error *err)
{
    const spry_type type = group->vectors.type;
    const scalar a = {(float)alpha, alpha}, b = {(float)beta, beta};
    const int64_t m = group->vectors.y_length, n = group->vectors.x_length;
    const spry_matrix *A = checked_matrix(group);
    spry_status status = SPRY_OK;
    *wrong = -1;
    for (int64_t c = 0; c < group->vectors.count && status == SPRY_OK && *wrong < 0; c++) {
        spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
        spry_const_vector before = {0};
        if (beta != 0) before = column_of(group, group->vectors.y_before, m, c, n + m);
        status = spry_spmv_verify(group->session->context, &v, A, group->op, scalar_pointer(&a, type),
                                  column_of(group, group->vectors.x, n, c, 0), scalar_pointer(&b, type), before,
                                  column_of(group, group->vectors.y, m, c, n), err);
        if (v.wrong_rows > 0) *wrong = c;
        if (c == 0 || *wrong == c || v.max_error > worst->max_error) *worst = v;
    }
    return status;
}

/*
 * Compares y with the reference, unless an earlier case had the same bits and was correct. title: name of the product
 * in the reason of a failure.
 */
static int verify(spmv_group *group, spmv_case *c, double alpha, double beta, const char *title)
{
    spry_error err = {0};
    char column[40] = "";
    int64_t wrong = -1;
    const uint64_t hash = hash_of_y(group);
    for (int k = 0; k < group->known_count; k++)
        if (is_known(&group->known[k], hash, alpha, beta)) {
            keep_error(c, group->known[k].max_error);
            return 1;
        }
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    const spry_status status = verify_vectors(group, alpha, beta, &v, &wrong, &err);
    if (status != SPRY_OK) return record_fail(&c->record, RECORD_FAILED, "the check failed: %s", err.message);
    keep_error(c, v.max_error);
    if (wrong < 0) {
        if (group->known_count < MOST_KNOWN_PRODUCTS)
            group->known[group->known_count++] = (known_product){hash, alpha, beta, v.max_error};
        return 1;
    }
    if (group->vectors.count > 1) snprintf(column, sizeof column, ", vector %lld", (long long)wrong);
    const int base = index_base_of(group->matrices.A);
    return record_fail(&c->record, RECORD_WRONG,
                       "%s%s: %lld rows exceed the error bound, the worst is row %lld (counted from %d) with %.3g "
                       "times "
                       "the bound",
                       title, column, (long long)v.wrong_rows, (long long)v.worst_row + base, base, v.max_error);
}

static void copy_bytes(void *job, int64_t begin, int64_t end)
{
    const spmv_group *group = job;
    memcpy((char *)group->vectors.y + begin, (const char *)group->vectors.y_before + begin, (size_t)(end - begin));
}

static void copy_y_before(spmv_group *group)
{
    run_shares(threads_of(group), (int64_t)vector_bytes(group, group->vectors.y_length), copy_bytes, group);
}

/*
 * Checks and times the first product. For plans, also checks a product with other scalars, which peers need not
 * support.
 */
static void check(spmv_group *group, spmv_case *c)
{
    if (c->device > 0 && !create_device_vectors(group, c)) return;
    fill_constant(group->vectors.y, group->vectors.y_length * group->vectors.count, group->vectors.type, NAN,
                  threads_of(group));
    if (!move_y(group, c, true)) return;
    double start = now_us();
    if (!spmv_run(group, c, 1, 0) || !spmv_wait(group, c)) return;
    c->record.time.first_us = c->reported_us ? *c->reported_us : now_us() - start;
    if (!move_y(group, c, false)) return;
    c->y_hash = hash_of_y(group);
    if (!verify(group, c, 1, 0, "alpha 1, beta 0") || c->peer) return;
    copy_y_before(group);
    if (move_y(group, c, true) && spmv_run(group, c, -1.75, 0.625) && move_y(group, c, false))
        verify(group, c, -1.75, 0.625, "alpha -1.75, beta 0.625");
}

void spmv_recheck(spmv_group *group, spmv_case *c)
{
    if (bench_adds(group->session->options->operation.op) && (!spmv_run(group, c, 1, 0) || !spmv_wait(group, c)))
        return;
    if (!move_y(group, c, false)) return;
    if (hash_of_y(group) == c->y_hash) return;
    if (c->record.method.deterministic == 1)
        record_fail(&c->record, RECORD_WRONG, "declared deterministic, but the bits changed between runs");
    else
        verify(group, c, 1, 0, "after timing");
}

/* ---- cases -------------------------------------------------------------------------------------- */

static spmv_case *add_case(spmv_group *group, const char *format, const char *kernel, const char *device)
{
    spmv_case *grown = realloc(group->cases, (size_t)(group->case_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    group->cases = grown;
    spmv_case *c = &grown[group->case_count++];
    *c = (spmv_case){.record = group->common};
    c->record.method.fewer_threads = group->planner != group->session->context;
    c->device = device && strncmp(device, "cuda", 4) == 0;
    RECORD_TEXT(c->record.method.format, format);
    RECORD_TEXT(c->record.method.kernel, kernel);
    RECORD_TEXT(c->record.method.device, device);
    return c;
}

int spmv_add_skipped(spmv_group *group, const char *format, const char *kernel, const char *device, const char *reason)
{
    spmv_case *c = add_case(group, format, kernel, device);
    if (c) record_fail(&c->record, RECORD_SKIPPED, "%s", reason);
    return c != NULL;
}

/* Records the properties by which plans are compared: the format with parameters, and the owned bytes. */
static spry_status identify(spmv_case *c, spry_error *err)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_status status = spry_spmv_plan_get_info(c->plan, &info, err);
    if (status != SPRY_OK) return status;
    c->owned_bytes = info.owned_bytes;
    snprintf(c->record.method.format, sizeof c->record.method.format, "%s%s%s", info.format,
             info.parameters[0] ? ":" : "", info.parameters);
    return SPRY_OK;
}

/* Returns the matrix for the plan of a case. */
static const spry_matrix *matrix_of(const spmv_group *group, const spmv_case *c)
{
    return c->device > 0 && group->matrices.on_gpu.A ? group->matrices.on_gpu.A : group->matrices.A;
}

/* If creating the plan was short, creates it twice more and records the least set-up time. Stops after a failure. */
static void plan_again(const spmv_group *group, spmv_case *c, const spry_spmv_options *options)
{
    for (int p = 1; p < SHORT_PLANNINGS && c->record.cost.setup_us < short_planning_us; p++) {
        spry_spmv_plan *plan = NULL;
        record again = c->record;
        spry_status status = spry_spmv_plan_create(group->planner, &plan, matrix_of(group, c), options, NULL);
        if (status == SPRY_OK) status = record_take_plan(&again, plan, NULL);
        spry_spmv_plan_destroy(plan);
        if (status != SPRY_OK) return;
        if (again.cost.setup_us - again.cost.upload_us >= c->record.cost.setup_us - c->record.cost.upload_us) continue;
        c->record.cost.setup_us = again.cost.setup_us;
        c->record.cost.upload_us = again.cost.upload_us;
        c->record.cost.break_even = again.cost.break_even;
    }
}

/*
 * Returns true if the plans run alike: they have the same format, parameters, kernel and device, and both or neither
 * inspected the columns. Equal owned bytes imply that both or neither store A^T.
 */
static bool is_same(const spmv_case *a, const spmv_case *b)
{
    return is_live(&a->record) && !a->record.method.peer && a->few_calls == b->few_calls &&
           a->owned_bytes == b->owned_bytes && strcmp(a->record.method.format, b->record.method.format) == 0 &&
           strcmp(a->record.method.kernel, b->record.method.kernel) == 0 &&
           strcmp(a->record.method.device, b->record.method.device) == 0;
}

/* Drops the last case if an earlier case is equal (is_same), and returns that case's index, else the last index. */
static int drop_repeated(spmv_group *group)
{
    const int last = group->case_count - 1;
    spmv_case *c = &group->cases[last];
    for (int i = 0; i < last; i++)
        if (is_same(&group->cases[i], c)) {
            spry_spmv_plan_destroy(c->plan);
            group->case_count--;
            return i;
        }
    return last;
}

static spry_status plan_case(spmv_group *group, spmv_case *c, const spry_spmv_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    if (c->device > 0 && group->session->options->candidates.arrays_on_gpu) {
        spry_arrays arrays = SPRY_INIT(spry_arrays);
        status = spry_matrix_get_arrays(group->matrices.A, &arrays, err);
        if (status == SPRY_OK)
            status = device_matrix_create(&group->matrices.on_gpu, group->session->context, &arrays, err);
    }
    if (status == SPRY_OK) status = spry_spmv_plan_create(group->planner, &c->plan, matrix_of(group, c), options, err);
    if (status == SPRY_OK) measure_update(c->plan);
    if (status == SPRY_OK) status = record_take_plan(&c->record, c->plan, err);
    if (status != SPRY_OK || !group->session->options->protocol.regret) return status;
    c->few_calls = c->device == 0 && strcmp(c->record.method.format, "csr") == 0 && options->expected_calls > 0 &&
                   options->expected_calls < INSPECTING_CALLS;
    status = identify(c, err);
    if (status == SPRY_OK) plan_again(group, c, options);
    return status;
}

/* Returns SPRY_OK, or the reason why products cannot run on the GPU. */
static spry_status device_is_usable(const spmv_group *group, int device, spry_error *err)
{
    spry_device_info info = SPRY_INIT(spry_device_info);
    if (device <= 0) return SPRY_OK;
    const spry_status status = spry_device_get_info(group->planner, &info, device, err);
    if (status != SPRY_OK || info.available) return status;
    return bench_fail(err, SPRY_DEVICE_UNAVAILABLE, info.reason);
}

int spmv_add_choice(spmv_group *group, const spry_spmv_options *options, const char *label, const char *device,
                    record *plan, int *index)
{
    spmv_case *c = add_case(group, label ? label : options->format, options->kernel, device);
    if (!c) return 0;
    const bool regret = group->session->options->protocol.regret;
    RECORD_TEXT(c->record.method.ordering, options->ordering ? options->ordering : "none");
    spry_spmv_options given = *options;
    spry_error err = {0};
    given.vector_device = c->device > 0 ? c->device : SPRY_CPU;
    given.vector_type = group->vectors.type;
    spry_status status = device_is_usable(group, c->device, &err);
    if (status == SPRY_OK) status = plan_case(group, c, &given, &err);
    if (label && !regret) RECORD_TEXT(c->record.method.format, label);
    if (label && strcmp(label, "auto") == 0) c->record.method.policy = given.policy ? given.policy : "cost";
    if (status != SPRY_OK) record_fail(&c->record, bench_status_of(status), "%s", err.message);
    const int last = group->case_count - 1;
    *plan = c->record;
    *index = status == SPRY_OK && regret ? drop_repeated(group) : last;
    if (status == SPRY_OK && *index == last) check(group, c);
    return 1;
}

int spmv_add_plan(spmv_group *group, const spry_spmv_options *options, const char *label, const char *device)
{
    record plan;
    int index;
    return spmv_add_choice(group, options, label, device, &plan, &index);
}

int spmv_add_peer(spmv_group *group, const bench_peer *peer)
{
    spmv_case *c = add_case(group, peer->format, peer->name, peer->device);
    if (!c) return 0;
    int threads = pool_threads(group->planner);
    RECORD_TEXT(c->record.method.ordering, "none");
    c->record.method.peer = 1;
    if (!peer->kernel) {
        record_fail(&c->record, RECORD_SKIPPED, "%s", peer->reason);
        return 1;
    }
    spry_peer_request request = {.matrix = bench_peer_matrix(&group->matrices.arrays),
                                 .variant = peer->kernel->variant,
                                 .transpose = group->op == SPRY_TRANSPOSE,
                                 .columns = group->vectors.count,
                                 .row_major = group->vectors.row_major,
                                 .threads = threads,
                                 .expected_calls = group->session->options->candidates.calls > 0
                                                       ? group->session->options->candidates.calls
                                                       : 1000};
    peer_preparation p = bench_begin_preparing(threads, peer->kernel->deterministic);
    c->peer = peer->kernel;
    p.result = c->peer->prepare(&c->peer_state, &request, &p.cost, &p.error);
    if (!bench_end_preparing(&p, &c->record, peer, c->peer->title, &c->peer_state, c->peer->destroy)) return 1;
    c->reported_us = p.cost.us;
    check(group, c);
    return 1;
}
