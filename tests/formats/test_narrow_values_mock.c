/*
 * Tests of plans that store narrow values in device memory: updates that need the wide type, captured graphs, limits,
 * and failing allocations. Each product is compared with that of a plan that keeps the type.
 */
#include "mock/mock.h"
#include "testing.h"

static const char *const formats[] = {"packed", "sell", "bsr"};
enum { FORMATS = sizeof formats / sizeof *formats };

/* A matrix, its values, which a test changes in place, and vectors. */
typedef struct changing {
    spry_context *context;
    spry_matrix *A;
    spry_arrays a;
    double *values, *x, *y, *expected;
} changing;

static changing changing_matrix(const char *spec)
{
    changing m = {.context = context_of(2)};
    void *values;
    m.A = generate_matrix(m.context, spec);
    MUST(spry_matrix_get_values(m.A, &values, err));
    m.values = values;
    m.a = arrays_of(m.A);
    m.x = malloc((size_t)m.a.columns * sizeof *m.x);
    m.y = malloc((size_t)m.a.rows * sizeof *m.y);
    m.expected = malloc((size_t)m.a.rows * sizeof *m.expected);
    for (int64_t j = 0; j < m.a.columns; j++) m.x[j] = 1 / (double)(j + 3);
    return m;
}

static void destroy(changing *m)
{
    spry_matrix_destroy(m->A);
    free(m->x), free(m->y), free(m->expected);
    assert_int_equal(mock.blocks, 0);
    spry_context_destroy(m->context);
}

/* Sets values that are exact in f32 (divisor 4) or not (3). */
static void set_values(const changing *m, int round, double divisor)
{
    for (int64_t k = 0; k < m->a.nnz; k++) m->values[k] = (double)(k % (5 + round) + 1) / divisor;
}

static spry_spmv_options options_of(const char *format)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.format = format;
    o.device = 1;
    o.vector_device = SPRY_CPU;
    return o;
}

static void run(const changing *m, const spry_spmv_plan *plan, double *y, void *stream)
{
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
    o.stream = stream;
    const spry_vector to = {.data = y, .length = m->a.rows, .type = SPRY_F64, .device = SPRY_CPU};
    const spry_const_vector from = {.data = m->x, .length = m->a.columns, .type = SPRY_F64, .device = SPRY_CPU};
    MUST(spry_spmv_plan_run(plan, to, NULL, from, NULL, &o, err));
}

/* Compares a product with that of a new plan on the device that keeps the values' type. */
static void compare(const changing *m, const spry_spmv_plan *plan, const char *format)
{
    spry_spmv_options o = options_of(format);
    o.keep_value_type = true;
    spry_spmv_plan *wide = create_plan(m->context, m->A, &o);
    assert_int_equal(plan_info(wide).value_type, SPRY_F64);
    run(m, wide, m->expected, NULL);
    run(m, plan, m->y, NULL);
    assert_memory_equal(m->y, m->expected, (size_t)m->a.rows * sizeof *m->y);
    spry_spmv_plan_destroy(wide);
}

/* A plan becomes wide when new values need it, and stays wide. */
static void updates(void **state)
{
    static const double divisors[] = {4, 4, 3, 3, 4};
    changing m = changing_matrix("fem3,x=11,y=11,z=12");
    for (mock.converts = 0; mock.converts < 2; mock.converts++)
        for (int f = 0; f < FORMATS; f++) {
            const spry_spmv_options o = options_of(formats[f]);
            set_values(&m, 0, 4);
            spry_spmv_plan *plan = create_plan(m.context, m.A, &o);
            const int64_t narrow_bytes = plan_info(plan).owned_bytes, blocks = mock.blocks;
            assert_int_equal(plan_info(plan).value_type, SPRY_F32);
            for (int round = 0; round < 5; round++) {
                set_values(&m, round, divisors[round]);
                MUST(spry_spmv_plan_update(plan, NULL, err));
                assert_int_equal(plan_info(plan).value_type, round < 2 ? SPRY_F32 : SPRY_F64);
                assert_true((plan_info(plan).owned_bytes > narrow_bytes) == (round >= 2));
                assert_int_equal(mock.blocks, blocks);
                compare(&m, plan, formats[f]);
            }
            spry_spmv_plan_destroy(plan);
        }
    mock.converts = 0;
    destroy(&m);
}

/* Sets f32 values that are exact in bf16, or only in f16. */
static void set_small_values(float *values, int64_t nnz, bool only_f16)
{
    for (int64_t k = 0; k < nnz; k++) values[k] = (only_f16 ? 1 + 0x1p-10f : 1) * (float)(k % 5 == 4 ? -1 : 1 << k % 5);
}

/* Updates change between bf16 and f16, which have the same size. */
static void types_of_one_size(void **state)
{
    spry_context *context = context_of(2);
    spry_read_options of_f32 = SPRY_INIT(spry_read_options);
    spry_matrix *A;
    void *values;
    of_f32.value_type = SPRY_F32;
    MUST(spry_matrix_generate(context, &A, "fem3,x=11,y=11,z=12", &of_f32, err));
    MUST(spry_matrix_get_values(A, &values, err));
    const spry_arrays a = arrays_of(A);
    float *x = malloc((size_t)a.columns * sizeof *x), *y[2];
    for (int k = 0; k < 2; k++) y[k] = malloc((size_t)a.rows * sizeof *x);
    for (int64_t j = 0; j < a.columns; j++) x[j] = 1 / (float)(j + 3);
    for (mock.converts = 0; mock.converts < 2; mock.converts++)
        for (int f = 0; f < FORMATS; f++) {
            spry_spmv_options o = options_of(formats[f]);
            set_small_values(values, a.nnz, false);
            spry_spmv_plan *plan = create_plan(context, A, &o);
            o.keep_value_type = true;
            for (int round = 0; round < 4; round++) {
                set_small_values(values, a.nnz, round % 2);
                MUST(spry_spmv_plan_update(plan, NULL, err));
                assert_int_equal(plan_info(plan).value_type, round % 2 ? SPRY_F16 : SPRY_BF16);
                spry_spmv_plan *const both[] = {plan, create_plan(context, A, &o)};
                for (int k = 0; k < 2; k++)
                    MUST(spry_spmv_plan_run(both[k], (spry_vector){.data = y[k], .length = a.rows, .type = SPRY_F32},
                                            NULL, (spry_const_vector){.data = x, .length = a.columns, .type = SPRY_F32},
                                            NULL, NULL, err));
                assert_memory_equal(y[0], y[1], (size_t)a.rows * sizeof *x);
                spry_spmv_plan_destroy(both[1]);
            }
            spry_spmv_plan_destroy(plan);
        }
    mock.converts = 0;
    free(x), free(y[0]), free(y[1]);
    spry_matrix_destroy(A);
    assert_int_equal(mock.blocks, 0);
    spry_context_destroy(context);
}

/* An update that a captured graph would not see is refused, and changes nothing. */
static void captured_graphs(void **state)
{
    int stream;
    changing m = changing_matrix("grid7,x=34,y=35,z=34");
    for (mock.converts = 0; mock.converts < 2; mock.converts++)
        for (int keep = 0; keep < 2; keep++) {
            spry_error err = SPRY_ERROR_INIT;
            spry_spmv_options o = options_of("packed");
            o.keep_value_type = keep;
            set_values(&m, 0, 4);
            spry_spmv_plan *plan = create_plan(m.context, m.A, &o);
            mock.captures = 1;
            run(&m, plan, m.y, &stream);
            mock.captures = 0;
            set_values(&m, 1, 4);
            MUST(spry_spmv_plan_update(plan, NULL, err));
            set_values(&m, 2, 3);
            assert_int_equal(spry_spmv_plan_update(plan, NULL, &err), keep ? SPRY_OK : SPRY_UNSUPPORTED);
            if (!keep) {
                assert_string_equal(err.argument, "values");
                assert_non_null(strstr(err.message, "keep_value_type"));
                set_values(&m, 1, 4); /* the values that the plan still has */
            }
            compare(&m, plan, "packed");
            spry_spmv_plan_destroy(plan);
        }
    mock.converts = 0;
    destroy(&m);
}

/* Every allocation of an update to the wide type fails in turn. The plan keeps its values. */
static void without_memory(void **state)
{
    changing m = changing_matrix("grid7,x=34,y=35,z=34");
    for (mock.converts = 0; mock.converts < 2; mock.converts++) {
        const spry_spmv_options o = options_of("packed");
        set_values(&m, 0, 4);
        spry_spmv_plan *plan = create_plan(m.context, m.A, &o);
        const int64_t blocks = mock.blocks;
        int refused = 0;
        for (spry_status status = SPRY_OUT_OF_MEMORY; status != SPRY_OK; refused += status != SPRY_OK) {
            spry_error err = SPRY_ERROR_INIT;
            set_values(&m, 1, 3);
            mock.fail_at = mock.allocations + refused + 1;
            status = spry_spmv_plan_update(plan, NULL, &err);
            mock.fail_at = 0;
            assert_int_equal(mock.blocks, blocks);
            if (status == SPRY_OK) break;
            assert_int_equal(status, SPRY_OUT_OF_MEMORY);
            assert_int_equal(plan_info(plan).value_type, SPRY_F32);
            set_values(&m, 0, 4);
            compare(&m, plan, "packed");
        }
        assert_true(refused > 2 || mock.converts); /* a failing conversion is repeated on the host */
        set_values(&m, 1, 3);
        compare(&m, plan, "packed");
        spry_spmv_plan_destroy(plan);
    }
    mock.converts = 0;
    destroy(&m);
}

/* A limit counts the values in the matrix's type. */
static void memory_limit(void **state)
{
    changing m = changing_matrix("grid7,x=34,y=35,z=34");
    set_values(&m, 0, 4);
    for (mock.converts = 0; mock.converts < 2; mock.converts++)
        for (int f = 0; f < 2; f++) {
            spry_spmv_options o = options_of(formats[f]);
            spry_spmv_plan *plan = create_plan(m.context, m.A, &o);
            const int64_t narrow = plan_info(plan).owned_bytes;
            spry_spmv_plan_destroy(plan);
            spry_error err = SPRY_ERROR_INIT;
            o.memory_limit_bytes = narrow + 1000;
            assert_int_equal(spry_spmv_plan_create(m.context, &plan, m.A, &o, &err), SPRY_TOO_LARGE);
            assert_true(err.value >= narrow + 4 * m.a.nnz);
            o.memory_limit_bytes = err.value;
            plan = create_plan(m.context, m.A, &o);
            assert_int_equal(plan_info(plan).value_type, SPRY_F32);
            set_values(&m, 0, 3);
            MUST(spry_spmv_plan_update(plan, NULL, err));
            assert_int_equal(plan_info(plan).value_type, SPRY_F64);
            assert_true(plan_info(plan).owned_bytes <= o.memory_limit_bytes);
            set_values(&m, 0, 4);
            spry_spmv_plan_destroy(plan);
        }
    mock.converts = 0;
    destroy(&m);
}

/* CG records rounds of iterations, which read narrow values. New values that need the wide type are accepted. */
static void cg_with_recorded_rounds(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "laplace7,x=30,y=31,z=30");
    const spry_arrays a = arrays_of(A);
    void *values;
    double *b = calloc((size_t)a.rows, sizeof *b), *x = calloc((size_t)a.rows, sizeof *x);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result result = SPRY_INIT(spry_cg_result);
    spry_cg_plan *plan = NULL;
    spry_cg_run_options in_stream = SPRY_INIT(spry_cg_run_options);
    int stream;
    MUST(spry_matrix_get_values(A, &values, err));
    in_stream.stream = &stream;
    b[0] = 1;
    o.format = "packed";
    o.device = 1;
    mock.records = 1;
    MUST(spry_cg_plan_create(context, &plan, &result, A, &o, err));
    for (int round = 0; round < 3; round++) {
        const spry_const_vector from = {.data = b, .length = a.rows, .type = SPRY_F64, .device = SPRY_CPU};
        const spry_vector to = {.data = x, .length = a.rows, .type = SPRY_F64, .device = SPRY_CPU};
        memset(x, 0, (size_t)a.rows * sizeof *x);
        mock.captures = 1;
        MUST(spry_cg_plan_run(plan, to, &result, from, &in_stream, err));
        mock.captures = 0;
        assert_int_equal(result.verdict, SPRY_VERDICT_CONVERGED);
        for (int64_t k = 0; k < a.nnz; k++) ((double *)values)[k] *= round == 0 ? 1 / 3.0 : 3;
        MUST(spry_cg_plan_update(plan, &result, err));
    }
    mock.records = 0;
    spry_cg_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(b), free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates),         cmocka_unit_test(types_of_one_size),
        cmocka_unit_test(captured_graphs), cmocka_unit_test(without_memory),
        cmocka_unit_test(memory_limit),    cmocka_unit_test(cg_with_recorded_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
