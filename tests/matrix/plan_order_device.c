#include "plan_order_device.h"
#include "plan/plan.h"

#include "spry/cuda.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "support.h"

static const char *const orderings[] = {"rcm", "bandk", "degree", "bfs"};
static const char *const specs[] = {"grid5,x=20,y=15,shuffle=7",
                                    "rgg20,scale=8,shuffle=5",
                                    "random,rows=70,cols=300,density=0.03",
                                    "random,rows=300,cols=70,density=0.03",
                                    "random,rows=150,cols=150,density=0.02",
                                    "arrow,rows=130",
                                    "empty,rows=5,cols=5",
                                    "empty,rows=4,cols=0",
                                    "empty,rows=0,cols=4",
                                    "empty,rows=0,cols=0",
                                    "dense,rows=1,cols=1"};
const char *tested_device;
mock_state *tested_mock;

static int teardown(void **state)
{
    return close_context(state) || (tested_mock && tested_mock->blocks != 0);
}

/* ---- a matrix of small integers, whose products are exact in any order --------------------------------- */

typedef struct integers {
    spry_arrays a;
    spry_type type;
    void *values;
    spry_matrix *source, *A;
} integers;

static double get(const void *data, spry_type type, int64_t i)
{
    return type == SPRY_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void *room(int64_t count)
{
    void *data = calloc((size_t)count + 1, 8);
    if (!data) abort();
    return data;
}

static void set_values(integers *m, int pass)
{
    for (int64_t k = 0; k < m->a.nnz; k++) test_set(m->values, m->type, k, (double)((k * 7 + pass * 5) % 11 - 5));
}

static integers matrix_of(spry_context *context, const char *spec, spry_type type, spry_index_type offsets)
{
    integers m = {.type = type};
    spry_read_options read = SPRY_INIT(spry_read_options);
    spry_matrix_options as = SPRY_INIT(spry_matrix_options);
    spry_matrix *any = test_generate(context, spec, &read);
    as.layout = SPRY_CSR;
    as.value_type = type;
    as.offset_type = offsets;
    as.index_type = SPRY_I32;
    MUST(spry_matrix_convert(context, &m.source, NULL, any, &as, err));
    spry_matrix_destroy(any);
    m.a = arrays_of(m.source);
    m.a.values = m.values = room(m.a.nnz);
    m.a.ownership = SPRY_BORROW;
    m.a.symmetry = SPRY_GENERAL;
    set_values(&m, 0);
    MUST(spry_matrix_create(context, &m.A, &m.a, err));
    return m;
}

static void discard(integers *m)
{
    spry_matrix_destroy(m->A);
    spry_matrix_destroy(m->source);
    free(m->values);
}

static double x_at(int64_t j)
{
    return (double)(j * 5 % 17 - 8);
}

static double y_at(int64_t i)
{
    return (double)(i * 3 % 13 - 6);
}

static double *product_of(const integers *m, spry_op op)
{
    double *sums = room(m->a.rows + m->a.columns);
    for (int64_t i = 0; i < m->a.rows; i++)
        for (int64_t k = test_offset(&m->a, i); k < test_offset(&m->a, i + 1); k++) {
            const int64_t j = test_index(&m->a, k);
            if (op == SPRY_TRANSPOSE)
                sums[j] += get(m->values, m->type, k) * x_at(i);
            else
                sums[i] += get(m->values, m->type, k) * x_at(j);
        }
    return sums;
}

/* ---- products --------------------------------------------------------------------------------------- */

typedef struct ordered {
    spry_context *context;
    const integers *m;
    spry_op op;
    spry_spmv_plan *plan;
    spry_spmv_plan_info info;
    int64_t x_length, y_length;
    int on_device; /* vectors are on the device */
    char what[200];
} ordered;

static void move(spry_context *context, void *to, int to_device, const void *from, int from_device, int64_t bytes)
{
    if (to_device || from_device)
        MUST(spry_device_copy(context, to, to_device, from, from_device, bytes, NULL, err));
    else
        memcpy(to, from, (size_t)bytes);
}

static spry_vector vector_with(const ordered *p, int64_t length, int device, double (*number)(int64_t), int nan)
{
    void *host = room(length);
    for (int64_t i = 0; i < length; i++) test_set(host, p->m->type, i, nan ? NAN : number(i));
    spry_vector v = create_vector(p->context, length, p->m->type, device);
    move(p->context, v.data, device, host, 0, length * (int64_t)spry_type_bytes(p->m->type));
    free(host);
    return v;
}

/* Checks a product. scalars: alpha and beta are on the device. workspace NULL: the plan uses its own. */
static void check(const ordered *p, double alpha, double beta, int scalars, void *workspace)
{
    const spry_type type = p->m->type;
    const int64_t size = (int64_t)spry_type_bytes(type);
    double host[2] = {0};
    void *device = NULL;
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
    double *expected = product_of(p->m, p->op);
    spry_vector x = vector_with(p, p->x_length, p->on_device, x_at, 0);
    spry_vector y = vector_with(p, p->y_length, p->on_device, y_at, beta == 0);
    test_set(host, type, 0, alpha);
    test_set(host, type, 1, beta);
    if (scalars) {
        MUST(spry_device_allocate(p->context, &device, 1, 16, err));
        move(p->context, device, 1, host, 0, 16);
    }
    const char *numbers = scalars ? device : (const void *)host;
    o.scalar_device = scalars;
    o.workspace = workspace;
    o.workspace_bytes = workspace ? p->info.workspace_bytes : 0;
    MUST(spry_spmv_plan_run(p->plan, y, numbers, spry_vector_as_const(x), numbers + size, &o, err));
    MUST(spry_device_synchronize(p->context, 1, NULL, err));
    void *got = room(p->y_length);
    move(p->context, got, 0, y.data, p->on_device, p->y_length * size);
    for (int64_t i = 0; i < p->y_length; i++) {
        const double wanted = alpha * expected[i] + (beta == 0 ? 0 : beta * y_at(i));
        if (get(got, type, i) != wanted)
            fail_msg("%s, alpha %g, beta %g%s: y[%lld] is %.17g, expected %.17g", p->what, alpha, beta,
                     scalars ? " on the device" : "", (long long)i, get(got, type, i), wanted);
    }
    free(got);
    free(expected);
    spry_device_free(p->context, 1, device);
    spry_vector_destroy(p->context, &x);
    spry_vector_destroy(p->context, &y);
}

static ordered plan_with(spry_context *context, const integers *m, const spry_matrix *A, const spry_spmv_options *o)
{
    ordered p = {.context = context, .m = m, .op = o->op, .on_device = o->vector_device};
    p.info = SPRY_INIT(spry_spmv_plan_info);
    p.x_length = o->op == SPRY_TRANSPOSE ? m->a.rows : m->a.columns;
    p.y_length = o->op == SPRY_TRANSPOSE ? m->a.columns : m->a.rows;
    snprintf(p.what, sizeof p.what, "%s, %s, %s%s, %lld x %lld", o->kernel ? o->kernel : o->format, o->ordering,
             spry_type_name(m->type), o->op == SPRY_TRANSPOSE ? ", transposed" : "", (long long)m->a.rows,
             (long long)m->a.columns);
    MUST(spry_spmv_plan_create(context, &p.plan, A, o, err));
    MUST(spry_spmv_plan_get_info(p.plan, &p.info, err));
    assert_string_equal(p.info.ordering, o->ordering);
    return p;
}

static void *cleared(spry_context *context, int64_t bytes)
{
    void *made = NULL, *zeros = room(bytes / 8 + 1);
    MUST(spry_device_allocate(context, &made, 1, bytes, err));
    move(context, made, 1, zeros, 0, bytes);
    free(zeros);
    return made;
}

static void check_plan(spry_context *context, const integers *m, const spry_spmv_options *o)
{
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-2, 0}, {3, -2}, {0, 2}, {0, 0}};
    ordered p = plan_with(context, m, m->A, o);
    for (int s = 0; s < TEST_COUNT(scalars); s++)
        for (int device = 0; device < 2; device++) check(&p, scalars[s][0], scalars[s][1], device, NULL);
    if (p.info.workspace_bytes > 0) {
        void *space = cleared(context, p.info.workspace_bytes);
        check(&p, 2, 1, 0, space);
        check(&p, 1, 0, 1, space);
        spry_device_free(context, 1, space);
    }
    spry_spmv_plan_destroy(p.plan);
}

/* Returns the next available kernel of the device that supports op, or NULL. *index starts at 0. */
static const char *next_kernel(spry_context *context, spry_op op, int *index)
{
    while (*index < spmv_kernel_count()) {
        spry_kernel_info kernel = kernel_info(context, (*index)++);
        if (!kernel.available || strcmp(kernel.device_kind, tested_device) != 0) continue;
        const int only_transposed = strncmp(kernel.operations, "spmv_t", 6) == 0;
        if (op == SPRY_TRANSPOSE ? strstr(kernel.operations, "spmv_t") != NULL : !only_transposed) return kernel.name;
    }
    return NULL;
}

static spry_spmv_options options_of(const char *kernel, const char *ordering, spry_op op, int vectors)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.device = 1;
    o.kernel = kernel;
    o.ordering = ordering;
    o.op = op;
    o.vector_device = vectors;
    o.allow_nondeterministic = 1;
    o.memory_limit_bytes = INT64_C(1) << 30;
    return o;
}

/*
 * Tests every kernel and ordering, A*x and A^T*x, all types and pairs of index types, square and other matrices,
 * vectors on the host and on the device.
 */
static void every_kernel(void **state)
{
    int ran = 0;
    for (int s = 0; s < TEST_COUNT(specs); s++)
        for (int f = 0; f < 4; f++) {
            if ((f + s) % 4 > TEST_FULL) continue; /* still thousands of plans */
            integers m = matrix_of(*state, specs[s], f % 2 ? SPRY_F32 : SPRY_F64, f / 2 ? SPRY_I64 : SPRY_I32);
            for (int c = 0; c < 8; c++) {
                const spry_op op = c % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
                int index = 0;
                for (const char *kernel; (kernel = next_kernel(*state, op, &index));) {
                    if (SAMPLED && (index + s + c) % 3) continue; /* kernels rotate */
                    spry_spmv_options o = options_of(kernel, orderings[c / 2], op, (s + f + c) % 2);
                    check_plan(*state, &m, &o);
                    ran++;
                }
            }
            discard(&m);
        }
    assert_true(ran >= (SAMPLED ? 4 : 12) * TEST_COUNT(specs));
}

/* Multiplies by multiple vectors. The plan uses one workspace for one vector after another. */
static void columns_of_vectors(void **state)
{
    integers m = matrix_of(*state, specs[0], SPRY_F64, SPRY_I32);
    spry_spmv_options o = options_of(tested_mock ? "csr_plain_mock" : "csr_merge_cuda", "rcm", SPRY_NO_TRANSPOSE, 0);
    ordered p = plan_with(*state, &m, m.A, &o);
    const int64_t n = p.x_length;
    double *x = room(3 * n), *y = room(3 * n), *expected = product_of(&m, SPRY_NO_TRANSPOSE);
    for (int64_t i = 0; i < 3 * n; i++) {
        x[i] = x_at(i % n) * (double)(1 + i / n);
        y[i] = NAN;
    }
    spry_vector xs = {.data = x, .length = n, .type = SPRY_F64, .count = 3, .column_stride = n}, ys = xs;
    ys.data = y;
    MUST(spry_spmv_plan_run(p.plan, ys, NULL, spry_vector_as_const(xs), NULL, NULL, err));
    for (int64_t i = 0; i < 3 * n; i++) assert_true(y[i] == expected[i % n] * (double)(1 + i / n));
    free(x);
    free(y);
    free(expected);
    spry_spmv_plan_destroy(p.plan);
    discard(&m);
}

/* Creates a matrix in device memory with copies of m's arrays. free_on_device frees both. */
static spry_matrix *on_device(spry_context *context, const integers *m, spry_arrays *a)
{
    const int64_t size = (int64_t)spry_type_bytes(m->type);
    const void **arrays[] = {&a->offsets, &a->indices, &a->values};
    const int64_t bytes[] = {(m->a.rows + 1) * 4, m->a.nnz * 4, m->a.nnz * size};
    *a = m->a;
    for (int n = 0; n < 3; n++) {
        void *made = NULL;
        MUST(spry_device_allocate(context, &made, 1, bytes[n], err));
        move(context, made, 1, *arrays[n], 0, bytes[n]);
        *arrays[n] = made;
    }
    a->device = 1;
    return create_matrix(context, a);
}

/* Destroys D, which may be NULL, and frees its arrays. */
static void free_on_device(spry_context *context, spry_matrix *D, const spry_arrays *a)
{
    spry_matrix_destroy(D);
    if (!D) return;
    spry_device_free(context, 1, (void *)(uintptr_t)a->offsets);
    spry_device_free(context, 1, (void *)(uintptr_t)a->indices);
    spry_device_free(context, 1, (void *)(uintptr_t)a->values);
}

/*
 * Updates plans after the values have changed in host or device memory. The groups of Band-k must still exist when an
 * update builds the storage again.
 */
static void new_values(void **state)
{
    for (int s = 0; s < 4; s++)
        for (int device = 0; device < 2; device++)
            for (int c = 0; c < 8; c++) {
                const spry_op op = c % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
                int index = 0;
                for (const char *kernel; (kernel = next_kernel(*state, op, &index));) {
                    if (SAMPLED && (index + s + c + device) % 3) continue;
                    integers m = matrix_of(*state, specs[s], c % 3 ? SPRY_F32 : SPRY_F64, SPRY_I32);
                    spry_arrays placed = {0};
                    spry_matrix *D = device ? on_device(*state, &m, &placed) : NULL;
                    spry_spmv_options o = options_of(kernel, orderings[c / 2], op, 1);
                    ordered p = plan_with(*state, &m, device ? D : m.A, &o);
                    check(&p, 1, 1, 0, NULL);
                    for (int pass = 1; pass < 3; pass++) {
                        set_values(&m, pass);
                        if (device)
                            move(*state, (void *)(uintptr_t)placed.values, 1, m.values, 0,
                                 m.a.nnz * (int64_t)spry_type_bytes(m.type));
                        MUST(spry_spmv_plan_update(p.plan, NULL, err));
                        check(&p, 2, -1, 0, NULL);
                    }
                    spry_spmv_plan_destroy(p.plan);
                    free_on_device(*state, D, &placed);
                    discard(&m);
                }
            }
}

/* ---- transposed products, computed with a stored A^T ----------------------------------------------------- */

/*
 * Returns the name of format `number`. Returns "auto" for the number after the last format, and NULL for larger
 * numbers.
 */
static const char *format_number(int number)
{
    if (number == format_count()) return "auto";
    if (number > format_count()) return NULL;
    spry_format_info format = format_info(number);
    return format.name;
}

/* Runs products and changes the values repeatedly. Returns 0 if the plan cannot be created, else 1. */
static int check_transposed(spry_context *context, integers *m, spry_matrix *A, const spry_arrays *placed,
                            const spry_spmv_options *o)
{
    spry_spmv_plan *plan = NULL;
    spryi_storage predicted = {0};
    const spry_status status = spry_spmv_plan_create(context, &plan, A, o, NULL);
    spry_spmv_plan_destroy(plan);
    if (status != SPRY_OK) assert_true(status == SPRY_UNSUPPORTED || status == SPRY_TOO_LARGE);
    if (status != SPRY_OK) return 0;
    ordered p = plan_with(context, m, A, o);
    assert_int_equal(p.info.op, SPRY_TRANSPOSE);
    if (!placed && strcmp(o->ordering, "none") == 0 && strcmp(o->format, "auto") == 0) {
        MUST(spryi_predict_storage(context, &predicted, A, o, err));
        assert_string_equal(predicted.reason, p.info.reason);
        assert_string_equal(predicted.format, p.info.format);
    }
    for (int pass = 0; pass < 3; pass++) {
        set_values(m, pass);
        if (placed)
            move(context, (void *)(uintptr_t)placed->values, 1, m->values, 0,
                 m->a.nnz * (int64_t)spry_type_bytes(m->type));
        MUST(spry_spmv_plan_update(p.plan, NULL, err));
        check(&p, 2, -1, 0, NULL);
        check(&p, 1, 0, 0, NULL);
    }
    spry_spmv_plan_destroy(p.plan);
    return 1;
}

/*
 * Tests transposed products in every format and with "auto", with and without an ordering, on the CPU and on a device,
 * with arrays on the host and on the device.
 */
static void transposed(void **state)
{
    int ran = 0;
    for (int s = 0; s < TEST_COUNT(specs); s++)
        for (int c = 0; c < 12; c++) {
            const int on = c % 3; /* the CPU, a device with arrays of the host, and a device with its own arrays */
            integers m = matrix_of(*state, specs[s], (s + c) % 2 ? SPRY_F32 : SPRY_F64, SPRY_I32);
            spry_arrays placed = {0};
            spry_matrix *D = on == 2 ? on_device(*state, &m, &placed) : NULL;
            for (int f = 0; format_number(f); f++) {
                if (SAMPLED && (f + s + c / 3) % 3) continue;
                spry_spmv_options o = options_of(NULL, c / 6 ? "rcm" : "none", SPRY_TRANSPOSE, on > 0);
                o.device = on > 0;
                o.format = format_number(f);
                o.memory_limit_bytes = c % 2 ? INT64_MAX : 0;
                o.allow_nondeterministic = 0;
                ran += check_transposed(*state, &m, D ? D : m.A, D ? &placed : NULL, &o);
            }
            free_on_device(*state, D, &placed);
            discard(&m);
        }
    assert_true(ran >= (SAMPLED ? 2 : 12) * 10 * TEST_COUNT(specs));
}

/* ---- figures and refusals --------------------------------------------------------------------------- */

/*
 * Asserts that the permuted copy of the matrix exists only on the device, and that the two permutations need 4 bytes
 * per row each. Runs must allocate nothing.
 */
static void bytes_are_reported(void **state)
{
    integers m = matrix_of(*state, "grid5,x=100,y=70,shuffle=1", SPRY_F64, SPRY_I32);
    spry_spmv_options o = options_of(tested_mock ? "csr_plain_mock" : "csr_merge_cuda", "none", SPRY_NO_TRANSPOSE, 1);
    ordered plain = plan_with(*state, &m, m.A, &o);
    const int64_t vector = (m.a.rows * 8 + 63) / 64 * 64, places = (m.a.rows * 4 + 63) / 64 * 64;
    const int64_t workspace = (plain.info.workspace_bytes + 63) / 64 * 64 + 2 * vector;
    const int64_t before = context_bytes(*state);
    o.ordering = "rcm";
    ordered p = plan_with(*state, &m, m.A, &o);
    assert_true(context_bytes(*state) - before < 8192); /* host memory */
    assert_int_equal(p.info.workspace_bytes, workspace);
    assert_int_equal(p.info.storage_bytes, plain.info.storage_bytes + 2 * places + 64);
    assert_int_equal(p.info.owned_bytes - plain.info.owned_bytes,
                     2 * places + 64 + workspace - plain.info.workspace_bytes);
    assert_true(p.info.upload_us > 0 && p.info.setup_us > p.info.upload_us);
    const int64_t allocations = tested_mock ? tested_mock->allocations : 0, maps = tested_mock ? tested_mock->maps : 0;
    spry_vector x = vector_with(&p, p.x_length, 1, x_at, 0), y = vector_with(&p, p.y_length, 1, y_at, 0);
    for (int r = 0; r < 3; r++) MUST(spry_spmv_plan_run(p.plan, y, NULL, spry_vector_as_const(x), NULL, NULL, err));
    if (tested_mock) {
        assert_int_equal(tested_mock->allocations, allocations + 2); /* x and y */
        assert_int_equal(tested_mock->maps, maps + 6);
    }
    spry_vector_destroy(*state, &x);
    spry_vector_destroy(*state, &y);
    spry_spmv_plan_destroy(p.plan);
    spry_spmv_plan_destroy(plain.plan);
    discard(&m);
}

/*
 * Lets each device allocation fail in turn. Nothing may leak on the host or the device. A plan must make at least
 * `least` allocations.
 */
static void refuse_allocations(void **state, const spry_spmv_options *o, int least)
{
    integers m = matrix_of(*state, specs[0], SPRY_F64, SPRY_I32);
    const int64_t held = context_bytes(*state), blocks = tested_mock->blocks;
    for (int64_t n = 1;; n++) {
        spry_error err = SPRY_ERROR_INIT;
        spry_spmv_plan *plan = NULL;
        tested_mock->fail_at = tested_mock->allocations + n;
        const spry_status status = spry_spmv_plan_create(*state, &plan, m.A, o, &err);
        const int refused = tested_mock->allocations >= tested_mock->fail_at;
        tested_mock->fail_at = 0;
        spry_spmv_plan_destroy(plan);
        assert_int_equal(context_bytes(*state), held);
        assert_int_equal(tested_mock->blocks, blocks);
        if (!refused) {
            assert_int_equal(status, SPRY_OK);
            assert_true(n > least);
            break;
        }
        assert_true(status == SPRY_OUT_OF_MEMORY || o->op == SPRY_TRANSPOSE); /* the host may build instead */
    }
    discard(&m);
}

static void every_device_allocation_refused(void **state)
{
    if (!tested_mock) return; /* test_cuda_memory.c tests this */
    spry_spmv_options o = options_of("csr_plain_mock", "rcm", SPRY_NO_TRANSPOSE, 0);
    refuse_allocations(state, &o, 7); /* three arrays, permutations, workspace, x and y */
    o = options_of(NULL, "none", SPRY_TRANSPOSE, 0);
    o.memory_limit_bytes = 0;
    for (tested_mock->converts = 0; tested_mock->converts < 2; tested_mock->converts++)
        refuse_allocations(state, &o, 6); /* three arrays, workspace, x and y */
    tested_mock->converts = 0;
}

static void scalings_are_refused(void **state)
{
    integers m = matrix_of(*state, specs[0], SPRY_F64, SPRY_I32);
    double *ones = room(m.a.rows);
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = options_of(NULL, "none", SPRY_NO_TRANSPOSE, 0);
    o.column_scaling = ones;
    assert_int_equal(spry_spmv_plan_create(*state, &plan, m.A, &o, &err), SPRY_UNSUPPORTED);
    assert_string_equal(err.argument, "column_scaling");
    assert_null(plan);
    free(ones);
    discard(&m);
}

int plans_with_an_ordering(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kernel, open_context, teardown),
        cmocka_unit_test_setup_teardown(columns_of_vectors, open_context, teardown),
        cmocka_unit_test_setup_teardown(new_values, open_context, teardown),
        cmocka_unit_test_setup_teardown(transposed, open_context, teardown),
        cmocka_unit_test_setup_teardown(bytes_are_reported, open_context, teardown),
        cmocka_unit_test_setup_teardown(every_device_allocation_refused, open_context, teardown),
        cmocka_unit_test_setup_teardown(scalings_are_refused, open_context, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
