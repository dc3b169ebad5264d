/* Tests of plans that store values in a narrower type: which type, equal bits, updates, memory limits. */
#include "testing.h"

#include "base/cpu_features.h"
#include "base/types.h"
#include "catalogue/catalogue.h"
#include "plan/plan.h"

/* Its values take over 1 MiB, also in f32; plans keep the type of fewer values. */
#define GRID "grid7,x=34,y=35,z=34"

/* Returns whether the library may use vector instructions. Other kernels keep the type. */
static bool has_vectors(void)
{
    spryi_simd level = SPRYI_PORTABLE;
    return spryi_allowed_simd(&level) && level >= SPRYI_AVX2;
}

static const char *packed_kernel(void)
{
    return has_vectors() ? "packed_avx2_cpu" : "packed_portable_cpu";
}

/* Returns a matrix with the structure of a generated one and these values, repeated. */
static spry_matrix *with_values(spry_context *context, const char *spec, spry_type type, const void *some, int count)
{
    spry_matrix *made = generate_matrix(context, spec);
    spry_arrays a = arrays_of(made);
    const size_t size = spry_type_bytes(type);
    char *values = malloc((size_t)a.nnz * size);
    for (int64_t k = 0; k < a.nnz; k++)
        memcpy(values + (size_t)k * size, (const char *)some + (size_t)(k * 7 % count) * size, size);
    a.value_type = type;
    a.values = values;
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(context, &a);
    free(values);
    spry_matrix_destroy(made);
    return A;
}

static spry_spmv_plan *plan_of(spry_context *context, const spry_matrix *A, const char *kernel, spry_op op, bool keep)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.kernel = kernel;
    o.op = op;
    o.count = 5;
    o.row_major = true;
    o.keep_value_type = keep;
    o.memory_limit_bytes = 1 << 30; /* no format is refused only for its padding */
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    if (spry_spmv_plan_create(context, &plan, A, &o, &err) == SPRY_OK) return plan;
    assert_int_equal(err.status, SPRY_UNSUPPORTED);
    return NULL;
}

/* Multiplies `count` row-major vectors, whose elements are NaN before a run with beta = 0. */
static void run(const spry_spmv_plan *plan, void *y, const void *x, int64_t rows, int64_t columns, int count,
                spry_type type)
{
    const spry_vector to =
        {.data = y, .length = rows, .count = count, .row_stride = count, .column_stride = 1, .type = type};
    const spry_const_vector from =
        {.data = x, .length = columns, .count = count, .row_stride = count, .column_stride = 1, .type = type};
    memset(y, 255, (size_t)(rows * count) * spry_type_bytes(type));
    MUST(spry_spmv_plan_run(plan, to, NULL, from, NULL, NULL, err));
}

/* Compares all bits of products by a plan with narrow and a plan with wide values. Returns the narrow plan's type. */
static spry_type compare(spry_context *context, const spry_matrix *A, const char *kernel, spry_op op)
{
    const spry_arrays a = arrays_of(A);
    const int64_t rows = op == SPRY_TRANSPOSE ? a.columns : a.rows, columns = op == SPRY_TRANSPOSE ? a.rows : a.columns;
    const spry_type type = spryi_usual_vectors(a.value_type);
    const size_t size = spry_type_bytes(type);
    spry_spmv_plan *plans[2] = {plan_of(context, A, kernel, op, false), plan_of(context, A, kernel, op, true)};
    spry_type found = SPRY_PATTERN;
    assert_int_equal(plans[0] == NULL, plans[1] == NULL);
    if (plans[0]) {
        void *y[2] = {malloc((size_t)rows * 5 * size), malloc((size_t)rows * 5 * size)};
        void *x = malloc((size_t)columns * 5 * size);
        uint64_t random = 7;
        for (int64_t j = 0; j < columns * 5; j++)
            spryi_set_value(x, type, j, (double)(next_random(&random) % 2001) / 1000 - 1);
        for (int count = 1; count <= 5; count += 4) {
            for (int p = 0; p < 2; p++) run(plans[p], y[p], x, rows, columns, count, type);
            if (memcmp(y[0], y[1], (size_t)(rows * count) * size) != 0)
                fail_msg("%s, %s and %s, op %d, %d vectors: the bits differ", kernel, plan_info(plans[0]).parameters,
                         plan_info(plans[1]).parameters, (int)op, count);
        }
        found = plan_info(plans[0]).value_type;
        assert_int_equal(plan_info(plans[1]).value_type, a.value_type);
        if (found != a.value_type) assert_true(plan_info(plans[0]).storage_bytes < plan_info(plans[1]).storage_bytes);
        free(y[0]), free(y[1]), free(x);
    }
    spry_spmv_plan_destroy(plans[0]);
    spry_spmv_plan_destroy(plans[1]);
    return found;
}

static void equal_bits(void **state)
{
    static const char *const matrices[] = {GRID, "grid27,x=23,y=23,z=23", "fem3,x=11,y=11,z=12", "rmat,scale=15",
                                           "arrow,rows=100000"};
    static const double values[] = {0.5, -1.25, 3, 0x1.ffp-9, -0.0, 96, 0.0, -0x1.1p5};
    static float singles[sizeof values / sizeof *values];
    int narrowed[2] = {0};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) singles[v] = (float)values[v];
    for (int threads = 1; threads <= 4; threads += 3) {
        spry_context *context = context_of(threads);
        for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
            for (int f64 = 0; f64 < 2; f64++) {
                spry_matrix *A = with_values(context, matrices[m], f64 ? SPRY_F64 : SPRY_F32,
                                             f64 ? (const void *)values : singles, sizeof values / sizeof *values);
                for (int k = 0; k < spmv_kernel_count(); k++) {
                    const spry_kernel_info info = kernel_info(context, k);
                    if (!spryi_find_kernel(info.name)->narrows || !info.available) continue;
                    for (int op = 0; op < 2; op++) {
                        const spry_type type = compare(context, A, info.name, op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE);
                        narrowed[f64] += type == (f64 ? SPRY_F32 : SPRY_F16);
                    }
                }
                spry_matrix_destroy(A);
            }
        spry_context_destroy(context);
    }
    assert_int_equal(narrowed[0] > 0 && narrowed[1] > 0, has_vectors());
}

/* Returns the type in which a plan of packed stores these values of a grid. */
static spry_type stored_type(spry_context *context, spry_type type, const void *some, int count)
{
    spry_matrix *A = with_values(context, GRID, type, some, count);
    const spry_type found = compare(context, A, packed_kernel(), SPRY_NO_TRANSPOSE);
    spry_matrix_destroy(A);
    return found;
}

#define STORED(type, ...) stored_type(*state, type, (__VA_ARGS__), (int)(sizeof(__VA_ARGS__) / spry_type_bytes(type)))

static void only_exact_values(void **state)
{
    const spry_type f32 = has_vectors() ? SPRY_F32 : SPRY_F64, bf16 = has_vectors() ? SPRY_BF16 : SPRY_F32,
                    f16 = has_vectors() ? SPRY_F16 : SPRY_F32;
    assert_int_equal(STORED(SPRY_F64, (double[]){0.0}), f32);
    assert_int_equal(STORED(SPRY_F64, (double[]){1.5, -0.0, 0.0, FLT_MAX, -FLT_MIN, 0x1.fffffep-126}), f32);
    assert_int_equal(STORED(SPRY_F64, (double[]){1.5, 1 + 0x1p-24}), SPRY_F64); /* too many bits */
    assert_int_equal(STORED(SPRY_F64, (double[]){1.5, 0x1p128}), SPRY_F64);     /* too large */
    assert_int_equal(STORED(SPRY_F64, (double[]){1.5, -0x1p-127}), SPRY_F64);   /* a small number of f32 */
    assert_int_equal(STORED(SPRY_F64, (double[]){1.5, 0x1p-1000, 0x1p-1074}), SPRY_F64);
    assert_int_equal(STORED(SPRY_F64, (double[]){1.5, HUGE_VAL}), SPRY_F64);
    assert_int_equal(STORED(SPRY_F64, (double[]){1.5, NAN}), SPRY_F64);
    assert_int_equal(STORED(SPRY_F32, (float[]){1.5f, -0.0f, 0x1.fep127f, 0x1p-133f, INFINITY, NAN}), bf16);
    assert_int_equal(STORED(SPRY_F32, (float[]){1 + 0x1p-10f, -0.0f, 0.0f, 65504, -0x1p-14f}), f16);
    assert_int_equal(STORED(SPRY_F32, (float[]){1 + 0x1p-11f}), SPRY_F32);
    assert_int_equal(STORED(SPRY_F32, (float[]){1 + 0x1p-10f, 65536}), SPRY_F32);
    assert_int_equal(STORED(SPRY_F32, (float[]){1 + 0x1p-10f, 0x1p-15f}), SPRY_F32);
    assert_int_equal(STORED(SPRY_F32, (float[]){1 + 0x1p-10f, INFINITY}), SPRY_F32);
}

/* One value of many does not fit, anywhere in the matrix. */
static void one_other_value(void **state)
{
    spry_matrix *made = generate_matrix(*state, GRID);
    spry_arrays a = arrays_of(made);
    double *values = malloc((size_t)a.nnz * sizeof *values);
    for (int64_t k = 0; k < a.nnz; k++) values[k] = (double)(k % 17) - 8;
    a.values = values;
    const int64_t places[] = {0, 1, a.nnz / 3, a.nnz - 1};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        values[places[p]] = 0.1;
        spry_matrix *A = create_matrix(*state, &a);
        assert_int_equal(compare(*state, A, packed_kernel(), SPRY_NO_TRANSPOSE), SPRY_F64);
        spry_matrix_destroy(A);
        values[places[p]] = 1;
    }
    free(values);
    spry_matrix_destroy(made);
}

static void small_matrices_keep_their_type(void **state)
{
    static const double one = 1;
    spry_matrix *A = with_values(*state, "grid5,x=120,y=110", SPRY_F64, &one, 1);
    assert_int_equal(compare(*state, A, packed_kernel(), SPRY_NO_TRANSPOSE), SPRY_F64);
    spry_matrix_destroy(A);
}

/* A matrix with duplicates, whose sums may need more bits than the values. */
static void duplicates(void **state)
{
    spry_matrix *made = generate_matrix(*state, "fem3,x=11,y=11,z=12");
    spry_arrays a = arrays_of(made);
    double *values = malloc((size_t)a.nnz * sizeof *values);
    int32_t *columns = malloc((size_t)a.nnz * sizeof *columns);
    memcpy(columns, a.indices, (size_t)a.nnz * sizeof *columns);
    for (int64_t k = 0; k < a.nnz; k++) values[k] = k % 2 ? 1 : 0x1p-30;
    for (int64_t k = 1; k < 40; k += 2) columns[k] = columns[k - 1];
    a.values = values;
    a.indices = columns;
    a.sorted = a.unique = SPRY_NOT_KNOWN;
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(*state, &a);
    if (has_vectors()) (void)compare(*state, A, "bsr_avx2_cpu", SPRY_NO_TRANSPOSE);
    (void)compare(*state, A, packed_kernel(), SPRY_NO_TRANSPOSE);
    spry_matrix_destroy(A);
    spry_matrix_destroy(made);
    free(values), free(columns);
}

/* A build that keeps the type after all leaves the caller's error unchanged. */
static void no_error_from_success(void **state)
{
    static const double values[] = {0.5, 2};
    static const char *const kernels[] = {"bsr_avx2_cpu", "sell_avx2_cpu", "packed_avx2_cpu"};
    spry_matrix *A = with_values(*state, GRID, SPRY_F64, values, 2);
    double *Ax = (double *)(uintptr_t)arrays_of(A).values;
    for (int k = 0; k < 3 && has_vectors(); k++) {
        spry_spmv_plan *plan = plan_of(*state, A, kernels[k], SPRY_NO_TRANSPOSE, false);
        for (int round = 0; round < 2; round++) {
            spry_error err = SPRY_ERROR_INIT, before = err;
            Ax[1] = round == 0 ? 0.1 : 0.5; /* the sample does not see this value */
            assert_int_equal(spry_spmv_plan_update(plan, NULL, &err), SPRY_OK);
            assert_memory_equal(&err, &before, sizeof err);
            const bool narrow = round == 1 && k > 0; /* blocks of 1 x 1 are not narrowed */
            assert_int_equal(plan_info(plan).value_type, narrow ? SPRY_F32 : SPRY_F64);
        }
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
}

/* New values enter and leave the narrow type. Each product has the bits of a new plan. */
static void updates(void **state)
{
    spry_matrix *made = generate_matrix(*state, GRID);
    spry_arrays a = arrays_of(made);
    double *values = malloc((size_t)a.nnz * sizeof *values), *x = malloc((size_t)a.columns * 8);
    double *y = malloc((size_t)a.rows * 8), *wanted = malloc((size_t)a.rows * 8);
    for (int64_t j = 0; j < a.columns; j++) x[j] = 1 / (double)(j + 3);
    a.values = values;
    a.ownership = SPRY_BORROW;
    for (int64_t k = 0; k < a.nnz; k++) values[k] = (double)(k % 5);
    spry_matrix *A = create_matrix(*state, &a);
    spry_spmv_plan *plan = plan_of(*state, A, packed_kernel(), SPRY_NO_TRANSPOSE, false);
    for (int round = 0; round < 6; round++) {
        const bool fits = round % 2 == 1;
        for (int64_t k = 0; k < a.nnz; k++) values[k] = (double)(k % (5 + round)) / (fits ? 4 : 3);
        MUST(spry_spmv_plan_update(plan, NULL, err));
        assert_int_equal(plan_info(plan).value_type, fits && has_vectors() ? SPRY_F32 : SPRY_F64);
        spry_spmv_plan *fresh = plan_of(*state, A, packed_kernel(), SPRY_NO_TRANSPOSE, true);
        run(plan, y, x, a.rows, a.columns, 1, SPRY_F64);
        run(fresh, wanted, x, a.rows, a.columns, 1, SPRY_F64);
        assert_memory_equal(y, wanted, (size_t)a.rows * 8);
        spry_spmv_plan_destroy(fresh);
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(made);
    free(values), free(x), free(y), free(wanted);
}

/* Returns the predicted bytes of a product in a format, and the feature narrow_bytes in *narrow. */
static double predicted_bytes(spry_context *context, const spry_matrix *A, const char *format, bool keep,
                              double *narrow)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_explain_options request = SPRY_INIT(spry_explain_options);
    spry_explanation *e;
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    spry_candidate candidate = SPRY_INIT(spry_candidate);
    spry_feature feature = SPRY_INIT(spry_feature);
    o.keep_value_type = keep;
    request.spmv = &o;
    MUST(spry_spmv_explain(context, &e, A, &request, err));
    MUST(spry_explanation_get_info(e, &info, err));
    for (int f = 0; f == 0 || strcmp(feature.name, "narrow_bytes") != 0; f++)
        MUST(spry_explanation_get_feature(e, &feature, f, err));
    for (int c = 0; c == 0 || strcmp(candidate.format, format) != 0; c++)
        MUST(spry_explanation_get_candidate(e, &candidate, c, err));
    *narrow = feature.value;
    spry_explanation_destroy(e);
    return candidate.bytes;
}

/* The choice predicts which formats store values in a narrower type, and how many bytes this saves. */
static void choice(void **state)
{
    static const double exact[] = {0.5, 2, 7}, others[] = {0.1, 2, 7};
    static const char *const formats[] = {"packed", "sell", "csr"};
    double narrow;
    for (int f = 0; f < 3; f++)
        for (int fits = 0; fits < 2; fits++) {
            spry_matrix *A = with_values(*state, GRID, SPRY_F64, fits ? exact : others, 3);
            const double wide = predicted_bytes(*state, A, formats[f], true, &narrow);
            assert_true(narrow == 8);
            const double saved = wide - predicted_bytes(*state, A, formats[f], false, &narrow);
            assert_true(narrow == (fits ? 4 : 8));
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.format = formats[f];
            spry_spmv_plan *plan = create_plan(*state, A, &o);
            const int64_t nnz = arrays_of(A).nnz;
            if (plan_info(plan).value_type == SPRY_F32)
                assert_in_range((int64_t)saved, 4 * nnz, 4 * nnz + nnz / 4); /* padding saves bytes too */
            else
                assert_true(saved == 0);
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(A);
        }
}

/* A limit counts the values in the matrix's type, which an update may need. */
static void memory_limit(void **state)
{
    static const double one = 1;
    spry_matrix *A = with_values(*state, GRID, SPRY_F64, &one, 1);
    spry_spmv_plan *plan = plan_of(*state, A, packed_kernel(), SPRY_NO_TRANSPOSE, true);
    const int64_t wide = plan_info(plan).owned_bytes;
    spry_spmv_plan_destroy(plan);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.kernel = packed_kernel();
    o.memory_limit_bytes = wide / 2 + 1000;
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(spry_spmv_plan_create(*state, &plan, A, &o, &err), SPRY_TOO_LARGE);
    o.memory_limit_bytes = err.value;
    plan = create_plan(*state, A, &o);
    assert_int_equal(plan_info(plan).value_type, has_vectors() ? SPRY_F32 : SPRY_F64);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bits),
        cmocka_unit_test_setup_teardown(only_exact_values, open_context, close_context),
        cmocka_unit_test_setup_teardown(one_other_value, open_context, close_context),
        cmocka_unit_test_setup_teardown(small_matrices_keep_their_type, open_context, close_context),
        cmocka_unit_test_setup_teardown(duplicates, open_context, close_context),
        cmocka_unit_test_setup_teardown(no_error_from_success, open_context, close_context),
        cmocka_unit_test_setup_teardown(updates, open_context, close_context),
        cmocka_unit_test_setup_teardown(choice, open_context, close_context),
        cmocka_unit_test_setup_teardown(memory_limit, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
