/* Tests of plans for both directions on the CPU. */
#include "both_support.h"

#include "matrix/matrix.h"
#include "spry/io.h"
#include "spry/tune.h"

#include <unistd.h>

/* Builds plans with a kernel name, a scaled pattern and an ordering. Both directions must use each option. */
static void other_options(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "rmat,scale=9");
    static const char *const kernels[] = {"csr_portable_cpu", "packed_portable_cpu", "ell_portable_cpu"};
    for (int k = 0; k < 4; k++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.both_directions = 1;
        o.memory_limit_bytes = INT64_MAX; /* replaces the padding guard */
        if (k < 3) o.kernel = kernels[k];
        if (k == 3) o.ordering = "rcm";
        spry_spmv_plan *plan = create_plan(context, A, &o);
        double x[512], y[512], alpha = 2;
        for (int i = 0; i < 512; i++) x[i] = 1.0 / (i + 1);
        for (int t = 0; t < 2; t++) {
            spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
            spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
            run.transpose = t;
            assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 512), &alpha, spry_const_vector_f64(x, 512),
                                                NULL, &run, NULL),
                             SPRY_OK);
            assert_int_equal(spry_spmv_verify(context, &v, A, t ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE, &alpha,
                                              spry_const_vector_f64(x, 512), NULL, (spry_const_vector){0},
                                              spry_const_vector_f64(y, 512), NULL),
                             SPRY_OK);
            assert_int_equal(v.wrong_rows, 0);
        }
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Two borrowed CSC matrices with the same positions. CSC arrays of A, read as CSR, describe A^T, so a plan may multiply
 * by A^T without a copy.
 */
typedef struct by_columns {
    spry_matrix *A, *B; /* A borrows the array `values`, B borrows `others`. A may be falsely declared symmetric. */
    int64_t nnz;
    double *values, *others;
} by_columns;

static by_columns by_columns_of(spry_context *context, const spry_matrix *G, spry_symmetry claim)
{
    by_columns c = {.nnz = G->a.nnz};
    spry_arrays a = G->a;
    c.values = malloc((size_t)c.nnz * 8);
    c.others = malloc((size_t)c.nnz * 8);
    for (int64_t k = 0; k < c.nnz; k++) {
        c.values[k] = 1 + (double)(k % 17);
        c.others[k] = 3 * c.values[k] - 0.1 * (double)(k % 5);
    }
    a.struct_size = sizeof a;
    a.layout = SPRY_CSC;
    a.ownership = SPRY_BORROW;
    a.values = c.others;
    assert_int_equal(spry_matrix_create(context, &c.B, &a, NULL), SPRY_OK);
    a.values = c.values;
    a.symmetry = claim;
    assert_int_equal(spry_matrix_create(context, &c.A, &a, NULL), SPRY_OK);
    return c;
}

static void clear(by_columns *c)
{
    spry_matrix_destroy(c->A);
    spry_matrix_destroy(c->B);
    free(c->values);
    free(c->others);
}

/* Asserts that an update uses the new array, does not write the first array, and never reads the first array again. */
static void check_update(spry_context *context, by_columns *c, const spry_spmv_options *o)
{
    const char *name = o->kernel ? o->kernel : "auto";
    const spry_op back = o->op == SPRY_TRANSPOSE ? SPRY_NO_TRANSPOSE : SPRY_TRANSPOSE;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_update_options u = SPRY_INIT(spry_update_options);
    u.values = c->others;
    if (spry_spmv_plan_create(context, &plan, c->A, o, &err) != SPRY_OK) return; /* unsupported product */
    if (spry_spmv_plan_update(plan, &u, &err) != SPRY_OK) fail_msg("%s: %s", name, err.message);
    for (int64_t k = 0; k < c->nnz; k++) {
        if (c->values[k] != 1 + (double)(k % 17)) fail_msg("%s: the first array has changed", name);
        c->values[k] = NAN;
    }
    for (int pass = 0; pass < 2; pass++) {
        check_run(context, plan, c->B, o->op, 0);
        if (o->both_directions) check_run(context, plan, c->B, back, 1);
        for (int64_t k = 0; k < c->nnz; k++) c->others[k] += pass == 0;
        assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
    }
    spry_spmv_plan_destroy(plan);
}

static void values_by_columns(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *G = generate_matrix(context, "grid5,x=9,y=7");
    for (int k = -1; k < spmv_kernel_count(); k++)
        for (int c = 0; c < 8; c++) {
            spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
            if (k >= 0) assert_int_equal(spry_kernel_get_info(context, &kernel, k, NULL), SPRY_OK);
            if (k >= 0 && strcmp(kernel.device_kind, "cpu") != 0) continue;
            by_columns by = by_columns_of(context, G, c & 1 ? SPRY_SKEW_SYMMETRIC : SPRY_GENERAL);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.kernel = kernel.name;
            o.op = c & 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            o.both_directions = c / 4;
            o.policy = k < 0 && !o.both_directions ? "measure" : NULL;
            o.memory_limit_bytes = INT64_MAX;
            check_update(context, &by, &o);
            clear(&by);
        }
    spry_matrix_destroy(G);
    spry_context_destroy(context);
}

/*
 * Tests a container, whose arrays are memory-mapped. These arrays, like borrowed arrays, do not count in owned_bytes.
 */
static void a_container_by_columns(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *G = generate_matrix(context, "grid5,x=60,y=50"), *A = NULL;
    by_columns by = by_columns_of(context, G, SPRY_GENERAL);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_update_options u = SPRY_INIT(spry_update_options);
    char path[64];
    snprintf(path, sizeof path, "/tmp/spry_both_%d.spry", (int)getpid());
    assert_int_equal(spry_matrix_write(by.A, path, NULL, NULL), SPRY_OK);
    A = read_matrix(context, path, NULL);
    unlink(path);
    assert_int_equal(A->a.layout, SPRY_CSC);
    o.both_directions = 1;
    o.kernel = "csr_portable_cpu";
    spry_spmv_plan *plan = create_plan(context, A, &o);
    spry_spmv_plan_info info = plan_info(plan);
    assert_true(info.owned_bytes < 3 * spryi_arrays_bytes(&A->a) / 2); /* the plan owns only a CSR copy of A */
    assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
    for (int t = 0; t < 2; t++) check_run(context, plan, A, t ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE, t);
    u.values = by.others;
    assert_int_equal(spry_spmv_plan_update(plan, &u, NULL), SPRY_OK);
    for (int t = 0; t < 2; t++) check_run(context, plan, by.B, t ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE, t);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(G);
    clear(&by);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* Asserts that refused values change neither direction, and that the plan never reads the refused array again. */
static void refused_updates(void **state)
{
    static const char *const formats[] = {"csr", "sell", "packed"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        spry_status status = SPRY_OUT_OF_MEMORY;
        for (int64_t n = 1; status != SPRY_OK; n++) {
            test_memory memory = {0};
            spry_context *context = counted_context(&memory, 1);
            spry_matrix *G = generate_matrix(context, "grid5,x=9,y=7");
            by_columns by = by_columns_of(context, G, SPRY_GENERAL);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            spry_update_options u = SPRY_INIT(spry_update_options);
            o.both_directions = true;
            o.format = formats[f];
            spry_spmv_plan *plan = create_plan(context, by.A, &o);
            u.values = by.others;
            fail_call(&memory, n, 0);
            status = spry_spmv_plan_update(plan, &u, NULL);
            fail_call(&memory, 0, 0);
            for (int t = 0; t < 2; t++)
                check_run(context, plan, status == SPRY_OK ? by.B : by.A, t ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE, t);
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(G);
            clear(&by);
            spry_context_destroy(context);
        }
    }
}

/*
 * Asserts that all runs are refused if both directions read the values in place and the values are no longer symmetric.
 * Runs work again after the values are made symmetric.
 */
static void unsymmetric_in_place(void **state)
{
    int32_t offsets[] = {0, 2, 4}, columns[] = {0, 1, 0, 1};
    double values[] = {2, 1, 1, 3}, x[] = {1, 1}, y[2];
    spry_context *context = context_of(1);
    spry_arrays a = csr_arrays(2, 2, offsets, columns, values, SPRY_F64);
    a.symmetry = SPRY_SYMMETRIC;
    spry_matrix *matrix = create_matrix(context, &a);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_spmv_run_options transposed = SPRY_INIT(spry_spmv_run_options);
    o.both_directions = true;
    o.format = "csr";
    transposed.transpose = true;
    spry_spmv_plan *plan = create_plan(context, matrix, &o);
    const spry_vector into = spry_vector_f64(y, 2);
    const spry_const_vector from = spry_const_vector_f64(x, 2);
    values[1] = 7;
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(spry_matrix_values_changed(matrix, NULL, &err), SPRY_INVALID_MATRIX);
    assert_int_equal(spry_spmv_plan_run(plan, into, NULL, from, NULL, NULL, &err), SPRY_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "not symmetric"));
    assert_int_equal(spry_spmv_plan_run(plan, into, NULL, from, NULL, &transposed, &err), SPRY_INVALID_ARGUMENT);
    values[2] = 7;
    assert_int_equal(spry_matrix_values_changed(matrix, NULL, &err), SPRY_OK);
    assert_int_equal(spry_spmv_plan_run(plan, into, NULL, from, NULL, &transposed, &err), SPRY_OK);
    assert_true(y[0] == 9 && y[1] == 10);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(matrix);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_by_columns),
                                       cmocka_unit_test(a_container_by_columns),
                                       cmocka_unit_test(both_ways),
                                       cmocka_unit_test(one_storage_of_symmetric),
                                       cmocka_unit_test(other_values),
                                       cmocka_unit_test(limits_and_refusals),
                                       cmocka_unit_test(other_options),
                                       cmocka_unit_test(refused_updates),
                                       cmocka_unit_test(unsymmetric_in_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
