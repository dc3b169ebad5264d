/*
 * Tests of plans of sparse products: C's structure before the first run, runs that write values to the caller's array,
 * and transposed operands.
 */
#include "support.h"

#include "matrix/matrix.h"
#include "spry/io.h"
#include "spry/spgemm.h"

/* Compares the plan's structure before the first run with a product's. */
static void check_structure(const spry_spgemm_plan *plan, const spry_matrix *C, const char *what)
{
    spry_arrays s = SPRY_INIT(spry_arrays);
    assert_int_equal(spry_spgemm_plan_get_structure(plan, &s, NULL), SPRY_OK);
    assert_int_equal(s.layout, SPRY_CSR);
    assert_int_equal(s.ownership, SPRY_BORROW);
    assert_int_equal(s.device, 0);
    assert_null(s.values);
    assert_int_equal(s.value_type, C->a.value_type);
    assert_true(s.sorted == SPRY_KNOWN_YES && s.unique == SPRY_KNOWN_YES);
    if (s.rows != C->a.rows || s.columns != C->a.columns || s.nnz != C->a.nnz || s.offset_type != C->a.offset_type ||
        s.index_type != C->a.index_type ||
        memcmp(s.offsets, C->a.offsets, (size_t)(s.rows + 1) * spryi_index_type_bytes(s.offset_type)) != 0 ||
        memcmp(s.indices, C->a.indices, (size_t)s.nnz * spryi_index_type_bytes(s.index_type)) != 0)
        fail_msg("%s: the structure is not that of the product", what);
}

/* Tests each kernel, shape and index pair, without a limit and with the least limit, which narrows column windows. */
static void structures(void **unused)
{
    static const char *const kernels[] = {NULL, "spgemm_rows_cpu", TEST_STUDY("spgemm_smmp_cpu", NULL),
                                          TEST_STUDY("spgemm_seed_dense_cpu", NULL)};
    spry_context *context = context_of(3);
    for (int trial = 0; trial < (INSTRUMENTED ? 8 : 16) * TEST_SPECS; trial++) {
        spry_read_options read = SPRY_INIT(spry_read_options);
        read.value_type = trial / 2 % 2 ? SPRY_F32 : SPRY_F64;
        if (trial % 3 == 2) read.offset_type = SPRY_I64;
        if (trial % 7 == 2) read.index_type = SPRY_I64;
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.kernel = kernels[trial / TEST_SPECS % 4];
        const char *spec = test_specs[trial % TEST_SPECS];
        /* too slow, because seed kernels read all columns */
        if (o.kernel && strstr(o.kernel, "seed") && strstr(spec, "uni18")) continue;
        spry_matrix *A = NULL, *D = NULL;
        assert_int_equal(spry_matrix_generate(context, &A, spec, &read, NULL), SPRY_OK);
        spry_matrix *C = multiply_matrices(context, A, A, &o);
        if (trial / TEST_SPECS % 8 > 3) {
            spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
            assert_int_equal(spry_spgemm_estimate(context, &e, A, A, &o, NULL), SPRY_OK);
            o.memory_limit_bytes = e.least_bytes;
        }
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, A, &o);
        check_structure(plan, C, spec);
        for (int run = 0; run < 2; run++) assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &D, NULL), SPRY_OK);
        if (!test_same_bits(C, D)) fail_msg("%s, trial %d", spec, trial);
        spry_spgemm_plan_destroy(plan);
        spry_matrix_destroy(D);
        spry_matrix_destroy(C);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/*
 * Runs that write C's values to the caller's array. The plan then frees its own array of values. It allocates this
 * array again if a later run needs it.
 */
static void values_of_the_caller(void **unused)
{
    for (int m = 0; m < TEST_SPECS; m++) {
        test_memory memory = {0};
        spry_context *context = counted_context(&memory, 2);
        double alphas[] = {3, 5};
        spry_matrix *A = test_generate(context, m), *wanted[2], *C = NULL;
        spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
        for (int k = 0; k < 2; k++) {
            options.alpha = &alphas[k];
            wanted[k] = test_square(context, A, &options);
        }
        options.alpha = &alphas[0];
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, A, &options);
        const size_t bytes = (size_t)wanted[0]->a.nnz * sizeof(double);
        char *room = malloc(bytes + 2 * sizeof(double));
        double *values = (double *)(void *)(room + sizeof(double)); /* only aligned to the type */
        spry_spgemm_run_options into = SPRY_INIT(spry_spgemm_run_options);
        into.stream = &memory; /* the CPU ignores the stream */
        const int64_t blocks = atomic_load(&memory.blocks), calls = atomic_load(&memory.calls);
        for (int run = 0; run < 4; run++) {
            into.alpha = run % 2 ? &alphas[1] : NULL;
            memset(room, 0xff, bytes + 2 * sizeof(double));
            assert_int_equal(spry_spgemm_plan_run(plan, values, &into, NULL), SPRY_OK);
            assert_memory_equal(values, wanted[run % 2]->a.values, bytes);
            for (size_t b = 0; b < sizeof(double); b++) /* no byte before or after the values is written */
                assert_true(room[b] == (char)0xff && room[bytes + sizeof(double) + b] == (char)0xff);
            assert_int_equal(atomic_load(&memory.blocks), blocks - 1);
            assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_INVALID_ARGUMENT);
            check_structure(plan, wanted[0], test_specs[m]);
        }
        assert_int_equal(atomic_load(&memory.calls), calls);
        fail_call(&memory, 1, 0); /* allocates the plan's own values, which this run needs */
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OUT_OF_MEMORY);
        fail_call(&memory, 0, 0);
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_int_equal(atomic_load(&memory.calls), calls + 2);
        into.alpha = &alphas[1];
        /* a run into the caller's array does not change the values in the plan's array */
        assert_int_equal(spry_spgemm_plan_run(plan, values, &into, NULL), SPRY_OK);
        spry_arrays s = SPRY_INIT(spry_arrays);
        assert_int_equal(spry_spgemm_plan_get_structure(plan, &s, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
        spry_spgemm_plan_destroy(plan);
        assert_ptr_equal(s.indices, C->a.indices);
        assert_true(test_same_bits(C, wanted[0]));
        assert_memory_equal(values, wanted[1]->a.values, bytes);
        spry_matrix *all[] = {A, wanted[0], wanted[1], C};
        for (int k = 0; k < 4; k++) spry_matrix_destroy(all[k]);
        free(room);
        spry_context_destroy(context);
        assert_int_equal(atomic_load(&memory.blocks), 0);
    }
}

/* Tests op(A)*op(B) of one matrix and of two matrices by all calls. Some layouts are transposed without a copy. */
static void transposed(void **unused)
{
    spry_context *context = context_of(2);
    for (int trial = 0; trial < 24; trial++) {
        uint64_t state = (uint64_t)trial + 5;
        const int both = trial / 4 % 2; /* 1: A is both operands, as in A*A^T */
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.op_a = trial % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        o.op_b = trial / 2 % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        const int64_t n = both && o.op_a == o.op_b ? 50 : 40;
        test_entries a = test_make(TEST_UNIFORM, 50, n, 7, &state);
        const test_entries left = o.op_a ? test_transposed(&a) : a;
        test_entries b = test_make(TEST_BANDED, left.cols, 60, 5, &state);
        const test_entries given = o.op_b ? test_transposed(&b) : b;
        const test_form form = {trial / 8 == 1 ? SPRY_CSC : SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
        spry_matrix *A = test_matrix(context, &a, form), *C = NULL, *D = NULL;
        spry_matrix *B = both ? spryi_matrix_retain(A) : test_matrix(context, &given, form);
        test_dense d = test_multiply(&left, both ? &a : &b, both ? o.op_b : SPRY_NO_TRANSPOSE, 1, 0, 0);
        spry_error err = SPRY_ERROR_INIT;
        if (spry_spgemm(context, &C, NULL, A, B, &o, &err) != SPRY_OK) fail_msg("trial %d: %s", trial, err.message);
        test_equal(C, &d, 0, "transposed");
        spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
        assert_int_equal(spry_spgemm_estimate(context, &e, A, B, &o, NULL), SPRY_OK);
        assert_true(e.rows == d.rows && e.columns == d.cols && e.nnz == d.nnz && e.products == d.products);
        for (int how = 0; how < 2; how++) {
            spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
            assert_int_equal(spry_spgemm_verify(context, &v, C, A, B, &o, (spry_thoroughness)how, NULL), SPRY_OK);
            assert_int_equal(v.wrong_rows, 0);
        }
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, B, &o);
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &D, NULL), SPRY_OK);
        assert_true(test_same_bits(C, D));
        spry_spgemm_plan_destroy(plan);
        spry_matrix *all[] = {A, B, C, D};
        for (int k = 0; k < 4; k++) spry_matrix_destroy(all[k]);
        test_dense_free(&d);
        test_discard(&a);
        test_discard(&b);
    }
    spry_context_destroy(context);
}

/* Maps each block of 3 x 3 nodes of a grid of side x side nodes to one coarse node. */
static spry_matrix *prolongation(spry_context *context, int side)
{
    const int coarse = (side + 2) / 3, rows = side * side;
    int32_t *offsets = malloc(((size_t)rows + 1) * sizeof *offsets), *columns = malloc((size_t)rows * sizeof *columns);
    for (int k = 0; k < rows; k++) {
        offsets[k] = k;
        columns[k] = k / side / 3 * coarse + k % side / 3;
    }
    offsets[rows] = rows;
    spry_arrays p = csr_arrays(rows, (int64_t)coarse * coarse, offsets, columns, NULL, SPRY_PATTERN);
    p.ownership = SPRY_COPY;
    spry_matrix *P = create_matrix(context, &p);
    free(offsets);
    free(columns);
    return P;
}

/* Prints the times of the first and later runs, and compares C's bits with a product's. */
static void first_run(void **unused)
{
    const int side = INSTRUMENTED ? 60 : 700;
    char spec[64];
    spry_context *context = context_of(1);
    spry_matrix *P = prolongation(context, side), *C = NULL;
    snprintf(spec, sizeof spec, "gen:grid5,x=%d,y=%d", side, side);
    spry_matrix *A = generate_matrix(context, spec);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    double run_us[4];
    spry_spgemm_plan *plan = create_spgemm_plan(context, A, P, NULL);
    for (int run = 0; run < 4; run++) {
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
        run_us[run] = info.run_us;
    }
    print_message("A*P of %d x %d nodes: creation %.1f ms, runs %.1f %.1f %.1f %.1f ms\n", side, side,
                  info.setup_us / 1e3, run_us[0] / 1e3, run_us[1] / 1e3, run_us[2] / 1e3, run_us[3] / 1e3);
    assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
    spry_matrix *D = multiply_matrices(context, A, P, NULL);
    assert_true(test_same_bits(C, D));
    spry_spgemm_plan_destroy(plan);
    spry_matrix *all[] = {A, P, C, D};
    for (int k = 0; k < 4; k++) spry_matrix_destroy(all[k]);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(structures), cmocka_unit_test(values_of_the_caller),
                                       cmocka_unit_test(transposed), cmocka_unit_test(first_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
