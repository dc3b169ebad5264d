/*
 * Tests of memory limits of plans, on the CPU and on a device with its own memory. After any update, a plan owns at
 * most its limit. A refusal reports the caller's limit and a sufficient limit.
 */
#include "mock/mock.h"
#include "plan/plan.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "support.h"

enum { TRIALS = SAMPLED ? 40 : 120, UPDATES = 3 };

static uint32_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* Generates a matrix with a random layout and type. *values: its values, or NULL for a pattern. */
static spry_matrix *drawn_matrix(spry_context *context, uint64_t *seed, void **values)
{
    static const char *const specs[] = {"grid5,x=40,y=30",
                                        "grid7,x=9,y=8,z=10",
                                        "rmat,scale=8",
                                        "uniform,rows=900,degree=5",
                                        "uniform,rows=4000,degree=1",
                                        "banded,rows=900,half=3",
                                        "uniform,rows=40,degree=30"};
    static const spry_type types[] = {SPRY_F64, SPRY_F32, SPRY_PATTERN};
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.layout = (spry_layout)(1 + draw(seed) % 3);
    o.value_type = types[draw(seed) % 3];
    spry_matrix *generated = generate_matrix(context, specs[draw(seed) % 7]);
    spry_matrix *A = convert_matrix(context, generated, &o);
    spry_matrix_destroy(generated);
    *values = NULL;
    if (o.value_type != SPRY_PATTERN) assert_int_equal(spry_matrix_get_values(A, values, NULL), SPRY_OK);
    return A;
}

/*
 * Sets the values. kind 0: all values are equal, so slices share them. 1: values are distinct. 2: each is zero or one
 * at random.
 */
static void set_values(const spry_matrix *A, void *values, int kind, uint64_t *seed)
{
    spry_arrays a = arrays_of(A);
    for (int64_t k = 0; values && k < a.nnz; k++) {
        const double value = kind == 0 ? 1 : kind == 1 ? draw(seed) : draw(seed) % 2;
        if (a.value_type == SPRY_F32)
            ((float *)values)[k] = (float)value;
        else
            ((double *)values)[k] = value;
    }
}

static spry_spmv_options drawn_options(char format[64], uint64_t *seed)
{
    static const char *const orderings[] = {"rcm", "bandk", "degree", "bfs"};
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_format_info info = format_info((int)(draw(seed) % (uint32_t)format_count()));
    snprintf(format, 64, "%s%s", info.name, strcmp(info.name, "csr2") == 0 && draw(seed) % 2 ? ":srs=1" : "");
    o.format = draw(seed) % 5 == 0 ? NULL : format;
    o.device = draw(seed) % 3 == 0 ? 1 : SPRY_CPU;
    o.op = (spry_op)(draw(seed) % 2);
    o.both_directions = draw(seed) % 3 == 0;
    o.count = draw(seed) % 3 == 0 ? 1 + draw(seed) % 9 : 0;
    o.row_major = draw(seed) % 4 == 0;
    o.ordering = draw(seed) % 4 == 0 ? orderings[draw(seed) % 4] : NULL;
    o.policy = !o.format && draw(seed) % 3 == 0 ? "measure" : NULL;
    o.measure_budget_us = o.policy ? 1000 : 0;
    o.expected_calls = draw(seed) % 2 ? 0 : 20;
    return o;
}

static int64_t owned_by(const spry_spmv_plan *plan)
{
    spry_spmv_plan_info info = plan_info(plan);
    return info.owned_bytes;
}

/* Builds a plan under *limit. If refused, builds under the reported limit and stores that limit in *limit. */
static spry_spmv_plan *plan_within(spry_context *context, const spry_matrix *A, spry_spmv_options o, int64_t *limit,
                                   const char *what)
{
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    o.memory_limit_bytes = *limit;
    spry_status status = spry_spmv_plan_create(context, &plan, A, &o, &err);
    if (status == SPRY_TOO_LARGE) {
        assert_string_equal(err.argument, "memory_limit_bytes");
        if (err.limit != *limit || err.value <= *limit) fail_msg("%s: %lld: %s", what, (long long)*limit, err.message);
        *limit = o.memory_limit_bytes = err.value;
        status = spry_spmv_plan_create(context, &plan, A, &o, &err);
    }
    if (status != SPRY_OK) fail_msg("%s: %lld: %s", what, (long long)*limit, err.message);
    return plan;
}

static void updates_and_refusals(void **state)
{
    int made = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        uint64_t seed = t * 7919 + 13;
        char format[64], what[128];
        void *values = NULL;
        spry_context *context = context_of(2);
        spry_matrix *A = drawn_matrix(context, &seed, &values);
        spry_spmv_options o = drawn_options(format, &seed);
        spry_spmv_plan *plan = NULL;
        mock.converts = (int)(draw(&seed) % 2);
        set_values(A, values, 0, &seed);
        o.memory_limit_bytes = INT64_MAX;
        snprintf(what, sizeof what, "trial %d, %s", (int)t, o.format ? o.format : "auto");
        const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, NULL);
        const int64_t all = status == SPRY_OK ? owned_by(plan) : 0;
        spry_spmv_plan_destroy(plan);
        for (int q = 0; status == SPRY_OK && q < 4; q++) {
            int64_t limit = q == 0 ? 1 : 1 + (int64_t)draw(&seed) % (all + 1);
            set_values(A, values, 0, &seed);
            plan = plan_within(context, A, o, &limit, what);
            for (int u = 0; u <= UPDATES; u++) {
                if (owned_by(plan) > limit)
                    fail_msg("%s, update %d: over the limit of %lld", what, u, (long long)limit);
                set_values(A, values, (u + 1) % 3, &seed);
                assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
            }
            spry_spmv_plan_destroy(plan);
            made++;
        }
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
    assert_true(made > TRIALS);
}

/*
 * The packed format stores equal values of slices once. The limit that a refusal reports must be enough for values that
 * all differ.
 */
static void shared_values(void **state)
{
    for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
        spry_context *context = context_of(1);
        spry_read_options ones = SPRY_INIT(spry_read_options);
        spry_matrix *A = NULL;
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        void *values = NULL;
        uint64_t seed = 1;
        int64_t limit = 1;
        o.format = "packed";
        o.op = (spry_op)op;
        assert_int_equal(spry_matrix_generate(context, &A, "banded,rows=4000,half=2", &ones, NULL), SPRY_OK);
        assert_int_equal(spry_matrix_get_values(A, &values, NULL), SPRY_OK);
        set_values(A, values, 0, &seed);
        spry_spmv_plan *plan = plan_within(context, A, o, &limit, "packed");
        const int64_t before = owned_by(plan);
        set_values(A, values, 1, &seed);
        assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
        assert_true(before < owned_by(plan) / 2 && owned_by(plan) <= limit);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

/*
 * Asserts that a matrix whose storage cannot fit is refused before sorting and before any allocation for its entries.
 */
static void refused_before_work(void **state)
{
    enum { ROWS = 64, NNZ = 1 << 25 };
    spry_context *context = context_of(1);
    /* The elements of columns are never accessed, so they use no physical memory. */
    int32_t *columns = calloc(NNZ, sizeof *columns), offsets[ROWS + 1];
    float *values = calloc(NNZ, sizeof *values);
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_error err = SPRY_ERROR_INIT;
    assert_true(columns && values);
    for (int i = 0; i <= ROWS; i++) offsets[i] = NNZ / ROWS * i;
    assert_int_equal(spry_matrix_borrow_csr_f32(context, &A, ROWS, 1000, offsets, columns, values, NULL), SPRY_OK);
    o.format = "swept";
    o.memory_limit_bytes = 1 << 20;
    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
    assert_true(err.limit == 1 << 20 && err.value > err.limit);
    assert_true(context_peak_bytes(context) < 1 << 20);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(columns);
    free(values);
}

/*
 * Tests bsr for few entries in very many columns. The prediction of the storage must need little memory, and the
 * product must be right.
 */
static void wide_matrices(void **state)
{
    enum { ROWS = 200, EACH = 8, WIDE = 1 << 21 };
    spry_context *context = context_of(2);
    static int32_t offsets[ROWS + 1], columns[ROWS * EACH];
    static double values[ROWS * EACH], y[ROWS], expected[ROWS];
    double *x = malloc(WIDE * sizeof *x);
    uint64_t seed = 5;
    assert_non_null(x);
    for (int j = 0; j < WIDE; j++) x[j] = j % 7;
    for (int i = 0; i < ROWS; i++) {
        offsets[i + 1] = (i + 1) * EACH;
        for (int k = 0; k < EACH; k++) {
            const int32_t j = i % 2 && k > 0 ? columns[i * EACH + k - 1] + 1 : (int32_t)(draw(&seed) % (WIDE - EACH));
            columns[i * EACH + k] = j;
            values[i * EACH + k] = 1 + draw(&seed) % 5;
            expected[i] += values[i * EACH + k] * x[j];
        }
    }
    for (int size = 0; size < 3; size++) {
        static const char *const formats[] = {"bsr", "bsr:block=2", "bsr:block=5"};
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spryi_storage storage = {0};
        o.format = formats[size];
        o.memory_limit_bytes = INT64_MAX;
        spry_matrix *A = borrow_csr(context, ROWS, INT32_MAX, offsets, columns, values);
        assert_int_equal(spryi_predict_storage(context, &storage, A, &o, NULL), SPRY_OK);
        if (size == 0) assert_true(context_peak_bytes(context) < 4 << 20);
        spry_matrix_destroy(A);
        A = borrow_csr(context, ROWS, WIDE, offsets, columns, values);
        spry_spmv_plan *plan = create_plan(context, A, &o);
        multiply_f64(plan, y, ROWS, x, WIDE);
        assert_memory_equal(y, expected, sizeof y);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
    free(x);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(updates_and_refusals), cmocka_unit_test(shared_values),
                                       cmocka_unit_test(refused_before_work), cmocka_unit_test(wide_matrices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
