#include "both_support.h"

#include "matrix/matrix.h"
#include "spry/tune.h"

int both_device = SPRY_CPU;

static spry_spmv_options both_options(spry_op op, const char *format)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.op = op;
    o.format = format;
    o.device = both_device;
    o.both_directions = 1;
    return o;
}

static spry_spmv_plan *plan_of(spry_context *context, const spry_matrix *A, const spry_spmv_options *o)
{
    return create_plan(context, A, o);
}

void check_run(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, spry_op op, int transpose)
{
    const double alpha = 1.5, beta = -0.5;
    const int64_t m = op == SPRY_TRANSPOSE ? A->a.columns : A->a.rows,
                  n = op == SPRY_TRANSPOSE ? A->a.rows : A->a.columns;
    double *x = malloc((size_t)(n + 1) * 8), *y = malloc((size_t)(m + 1) * 8), *before = malloc((size_t)(m + 1) * 8);
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
    spry_error err = SPRY_ERROR_INIT;
    run.transpose = transpose;
    for (int64_t j = 0; j < n; j++) x[j] = 1 / (1.5 + (double)(j % 101)) - 0.1;
    for (int64_t i = 0; i < m; i++) y[i] = before[i] = (double)(i % 7) - 3.1;
    MUST(spry_spmv_plan_run(plan, spry_vector_f64(y, m), &alpha, spry_const_vector_f64(x, n), &beta, &run, err));
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    if (spry_spmv_verify(context, &v, A, op, &alpha, spry_const_vector_f64(x, n), &beta,
                         spry_const_vector_f64(before, m), spry_const_vector_f64(y, m), &err) != SPRY_OK ||
        v.wrong_rows > 0)
        fail_msg("%d rows are wrong, %s", (int)v.wrong_rows, err.message);
    free(x);
    free(y);
    free(before);
}

static void check_both(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, spry_op op)
{
    const spry_op back = op == SPRY_TRANSPOSE ? SPRY_NO_TRANSPOSE : SPRY_TRANSPOSE;
    for (int again = 0; again < 2; again++) {
        check_run(context, plan, A, op, 0);
        check_run(context, plan, A, back, 1);
    }
}

static const char *const matrices[] = {"grid5,x=60,y=50", "rmat,scale=10", "fem3,x=6,y=6,z=5",
                                       "uniform,rows=3000,degree=5"};
static const char *const formats[] = {NULL, "csr", "packed", "sell"};

void both_ways(void **state)
{
    for (int n = 0; n < 4; n++) {
        spry_context *context = context_of(1 + n % 2);
        spry_matrix *A = generate_matrix(context, matrices[n]);
        for (int f = 0; f < 4; f++)
            for (int t = 0; t < 2; t++) {
                const spry_op op = t ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
                const spry_spmv_options o = both_options(op, formats[f]);
                spry_spmv_plan *plan = plan_of(context, A, &o);
                check_both(context, plan, A, op);
                spry_spmv_plan_info info = plan_info(plan);
                assert_true(info.other_format[0] && info.other_kernel[0]);
                assert_true(info.owned_bytes > 0);
                spry_spmv_plan_destroy(plan);
            }
        spry_matrix_destroy(A);
        assert_int_equal(context_bytes(context), 0);
        spry_context_destroy(context);
    }
}

void one_storage_of_symmetric(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "laplace5,x=60,y=50");
    const spry_spmv_options o = both_options(SPRY_NO_TRANSPOSE, "packed");
    spry_spmv_options single = o;
    single.both_directions = 0;
    spry_spmv_plan *plan = plan_of(context, A, &o), *one = plan_of(context, A, &single);
    check_both(context, plan, A, SPRY_NO_TRANSPOSE);
    spry_spmv_plan_info info = plan_info(plan);
    spry_spmv_plan_info of_one = plan_info(one);
    assert_int_equal(info.owned_bytes, of_one.owned_bytes);
    assert_string_equal(of_one.other_format, "");
    spry_spmv_plan_destroy(one);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Changes the values in place, then updates from another array. */
void other_values(void **state)
{
    for (int f = 0; f < 4; f++) {
        spry_context *context = context_of(1);
        spry_matrix *G = generate_matrix(context, "grid5,x=60,y=50");
        spry_arrays a = G->a;
        double *values = malloc((size_t)a.nnz * 8), *others = malloc((size_t)a.nnz * 8);
        memcpy(values, a.values, (size_t)a.nnz * 8);
        for (int64_t k = 0; k < a.nnz; k++) others[k] = values[k] * 3 - 0.1;
        a.ownership = SPRY_BORROW;
        a.struct_size = sizeof a;
        a.values = values;
        spry_matrix *A = create_matrix(context, &a);
        a.values = others;
        spry_matrix *B = create_matrix(context, &a);
        const spry_spmv_options o = both_options(SPRY_NO_TRANSPOSE, formats[f]);
        spry_spmv_plan *plan = plan_of(context, A, &o);
        check_both(context, plan, A, SPRY_NO_TRANSPOSE);
        for (int64_t k = 0; k < a.nnz; k++) values[k] = -2 * values[k] + 0.25;
        spry_error err = SPRY_ERROR_INIT;
        MUST(spry_spmv_plan_update(plan, NULL, err));
        check_both(context, plan, A, SPRY_NO_TRANSPOSE);
        spry_update_options update = SPRY_INIT(spry_update_options);
        update.values = others;
        MUST(spry_spmv_plan_update(plan, &update, err));
        check_both(context, plan, B, SPRY_NO_TRANSPOSE);
        for (int64_t k = 0; k < a.nnz; k++) others[k] = others[k] + 1;
        assert_int_equal(spry_spmv_plan_update(plan, NULL, &err), SPRY_OK);
        check_both(context, plan, B, SPRY_NO_TRANSPOSE);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        spry_matrix_destroy(G);
        free(values);
        free(others);
        assert_int_equal(context_bytes(context), 0);
        spry_context_destroy(context);
    }
}

void limits_and_refusals(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "rmat,scale=10");
    spry_spmv_options o = both_options(SPRY_NO_TRANSPOSE, "sell");
    spry_spmv_plan *plan = plan_of(context, A, &o);
    spry_error err = SPRY_ERROR_INIT;
    double x[1024] = {0}, y[1024] = {0};
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
    spry_spmv_plan_info info = plan_info(plan);
    spry_spmv_plan_destroy(plan);
    plan = NULL;
    o.memory_limit_bytes = info.owned_bytes - 1; /* limit for both directions together */
    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
    assert_null(plan);
    o.memory_limit_bytes = 0;
    o.both_directions = false;
    plan = plan_of(context, A, &o);
    run.transpose = 1;
    assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 1024), NULL, spry_const_vector_f64(x, 1024), NULL,
                                        &run, &err),
                     SPRY_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "both_directions"));
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}
