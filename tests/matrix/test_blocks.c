/*
 * Tests of matrices that store blocks. Plans in the format bsr use the arrays without a copy. All other functions build
 * CSR from the blocks.
 */
#include "operations.h"

enum { BLOCK = 3, ROWS = 12, COLUMNS = 9 };

/* Block rows with 2, 0, 3 and 1 blocks. */
static const int32_t offsets[] = {0, 2, 2, 5, 6}, columns[] = {0, 2, 0, 1, 2, 1};
static double values[6 * BLOCK * BLOCK];

static spry_arrays block_arrays(void)
{
    spry_arrays a = csr_arrays(4, COLUMNS, offsets, columns, values, SPRY_F64);
    a.layout = SPRY_BSR;
    a.rows = ROWS;
    a.nnz = 6 * BLOCK * BLOCK;
    a.block_size = BLOCK;
    for (int k = 0; k < 6 * BLOCK * BLOCK; k++) values[k] = k % 7 - 3;
    return a;
}

static dense dense_blocks(void)
{
    dense d = dense_new(ROWS, COLUMNS);
    for (int I = 0; I < 4; I++)
        for (int k = offsets[I]; k < offsets[I + 1]; k++)
            for (int e = 0; e < BLOCK * BLOCK; e++) {
                const int at = (I * BLOCK + e % BLOCK) * COLUMNS + columns[k] * BLOCK + e / BLOCK;
                d.value[at] += values[k * BLOCK * BLOCK + e];
                d.stored[at]++;
            }
    return d;
}

static void become_other_layouts(void **state)
{
    const spry_arrays a = block_arrays();
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++) {
        spry_matrix *A = create_matrix(*state, &a), *B = NULL;
        spry_matrix_options o = SPRY_INIT(spry_matrix_options);
        o.layout = (spry_layout)layout;
        dense d = dense_blocks(), t = dense_transpose(&d);
        MUST(spry_matrix_check(A, NULL, SPRY_CHECK_ALL, err));
        MUST(spry_matrix_convert(*state, &B, NULL, A, &o, err));
        expect_matrix(B, &d, &o, "convert");
        MUST(spry_matrix_transpose(*state, &B, A, &o, err));
        expect_matrix(B, &t, &o, "transpose");
        double found[COLUMNS];
        d = dense_blocks();
        MUST(spry_matrix_diagonal(A, spry_vector_f64(found, COLUMNS), err));
        for (int i = 0; i < COLUMNS; i++) assert_true(found[i] == d.value[i * COLUMNS + i]);
        dense_free(&d);
        spry_arrays shown = arrays_of(A);
        assert_true(shown.layout == SPRY_BSR && shown.block_size == BLOCK && shown.values == values);
        spry_matrix_destroy(A);
    }
}

static void check_product(const spry_spmv_plan *plan, const double *factors, spry_op op)
{
    dense d = dense_blocks();
    double x[ROWS], y[ROWS];
    const int64_t m = op ? COLUMNS : ROWS, n = op ? ROWS : COLUMNS;
    for (int i = 0; i < ROWS; i++) x[i] = factors[i];
    multiply_f64(plan, y, m, x, n);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += d.value[op ? j * COLUMNS + i : i * COLUMNS + j] * x[j];
        assert_true(y[i] == sum);
    }
    dense_free(&d);
}

static void change_values(int by)
{
    for (int k = 0; k < 6 * BLOCK * BLOCK; k++) values[k] = (k + by) % 5 - 1;
}

/* Creates a plan and multiplies before and after a change of the values. Returns false if no kernel exists. */
static bool follows_the_values(spry_context *context, spry_matrix *A, const spry_spmv_options *o, bool in_place)
{
    static const double x[ROWS] = {1, -2, 3, 4, 5, -6, 7, 8, 9, 1, 2, 3};
    spry_spmv_plan *plan = NULL;
    spry_error err = {0};
    if (spry_spmv_plan_create(context, &plan, A, o, &err) != SPRY_OK) {
        assert_int_equal(SPRY_UNSUPPORTED, err.status);
        return false;
    }
    const spry_spmv_plan_info info = plan_info(plan);
    assert_int_equal(!in_place, info.expanded);
    assert_int_equal(in_place, info.values_in_place);
    if (!in_place) assert_non_null(strstr(info.reason, "; the plan has built CSR of the blocks"));
    check_product(plan, x, o->op);
    change_values(1);
    MUST(spry_matrix_values_changed(A, NULL, err));
    check_product(plan, x, o->op);
    double others[6 * BLOCK * BLOCK], kept[6 * BLOCK * BLOCK];
    memcpy(kept, values, sizeof kept);
    change_values(2);
    memcpy(others, values, sizeof others);
    memcpy(values, kept, sizeof kept);
    spry_update_options update = SPRY_INIT(spry_update_options);
    update.values = others;
    MUST(spry_spmv_plan_update(plan, &update, err));
    change_values(2);
    check_product(plan, x, o->op);
    spry_spmv_plan_destroy(plan);
    return true;
}

/* Tests every format, with and without an ordering, for A*x and A^T*x. */
static void plans_follow_the_values(void **state)
{
    for (int f = 0; f < format_count(); f++)
        for (int op = 0; op < 2; op++)
            for (int ordered = 0; ordered < 2; ordered++) {
                const spry_arrays a = block_arrays();
                spry_matrix *A = create_matrix(*state, &a);
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                o.format = format_info(f).name;
                o.op = (spry_op)op;
                o.memory_limit_bytes = INT64_MAX;
                if (ordered) o.ordering = "degree";
                follows_the_values(*state, A, &o, strcmp(o.format, "bsr") == 0 && !ordered);
                spry_matrix_destroy(A);
            }
}

static void plans_borrow_the_blocks(void **state)
{
    static const struct {
        const char *format;
        bool in_place;
    } cases[] = {{"auto", true}, {"bsr", true}, {"bsr:block=3", true}, {"bsr:block=2", false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int op = 0; op < 2; op++) {
            const spry_arrays a = block_arrays();
            spry_matrix *A = create_matrix(*state, &a);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.format = cases[c].format;
            o.op = (spry_op)op;
            assert_true(follows_the_values(*state, A, &o, cases[c].in_place));
            spry_matrix_destroy(A);
        }
    const spry_arrays a = block_arrays();
    spry_matrix *A = create_matrix(*state, &a);
    spry_spmv_plan *plan;
    MUST(spry_spmv_plan_create(*state, &plan, A, NULL, err));
    const spry_spmv_plan_info info = plan_info(plan);
    assert_string_equal("bsr", info.format);
    assert_string_equal("block=3", info.parameters);
    assert_string_equal("the arrays are blocks of 3 x 3, which format bsr reads in place", info.reason);
    assert_int_equal(SPRY_REASON_STORED, info.reason_code);
    assert_true(info.owned_bytes < (int64_t)sizeof values);
    spry_matrix_destroy(A); /* the plan holds its own reference */
    static const double x[ROWS] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    check_product(plan, x, SPRY_NO_TRANSPOSE);
    spry_spmv_plan_destroy(plan);
}

/* Asserts that plans convert blocks larger than 16 x 16, and blocks whose columns are in descending order. */
static void others_are_converted(void **state)
{
    enum { LARGE = 17 };
    static const int32_t falling[] = {0, 2, 2, 0, 1, 1}, one[] = {0, 1}, zero[] = {0};
    static double large[LARGE * LARGE];
    spry_arrays a = block_arrays();
    a.indices = falling;
    spry_matrix *A = create_matrix(*state, &a);
    spry_spmv_plan *plan;
    MUST(spry_spmv_plan_create(*state, &plan, A, NULL, err));
    assert_true(plan_info(plan).expanded);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    a = csr_arrays(1, LARGE, one, zero, large, SPRY_F64);
    a.layout = SPRY_BSR;
    a.block_size = a.rows = a.columns = LARGE;
    a.nnz = LARGE * LARGE;
    for (int k = 0; k < LARGE * LARGE; k++) large[k] = k;
    double x[LARGE] = {1}, y[LARGE];
    A = create_matrix(*state, &a);
    MUST(spry_spmv_plan_create(*state, &plan, A, NULL, err));
    assert_true(plan_info(plan).expanded);
    multiply_f64(plan, y, LARGE, x, LARGE);
    for (int i = 0; i < LARGE; i++) assert_true(y[i] == i);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

/* Tests a plan for both directions. The prediction of explain must equal the plan's figures. */
static void both_directions(void **state)
{
    const spry_arrays a = block_arrays();
    spry_matrix *A = create_matrix(*state, &a);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan;
    o.both_directions = true;
    MUST(spry_spmv_plan_create(*state, &plan, A, &o, err));
    double x[ROWS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, y[COLUMNS];
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
    run.transpose = true;
    for (int round = 0; round < 2; round++) {
        dense d = dense_blocks();
        MUST(spry_spmv_plan_run(plan, spry_vector_f64(y, COLUMNS), NULL, spry_const_vector_f64(x, ROWS), NULL, &run,
                                err));
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0;
            for (int i = 0; i < ROWS; i++) sum += d.value[i * COLUMNS + j] * x[i];
            assert_true(y[j] == sum);
        }
        dense_free(&d);
        change_values(3);
        MUST(spry_matrix_values_changed(A, NULL, err));
    }
    spry_spmv_plan_destroy(plan);
    spry_explanation *e;
    spry_explanation_info reported = SPRY_INIT(spry_explanation_info);
    MUST(spry_spmv_explain(*state, &e, A, NULL, err));
    MUST(spry_explanation_get_info(e, &reported, err));
    assert_string_equal("bsr", reported.format);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
}

/* Tests copied arrays with index base 1 and 64-bit indices, and an empty matrix. */
static void other_forms(void **state)
{
    int64_t wide_offsets[5], wide_columns[6];
    for (int i = 0; i < 5; i++) wide_offsets[i] = offsets[i] + 1;
    for (int k = 0; k < 6; k++) wide_columns[k] = columns[k] + 1;
    spry_arrays a = block_arrays();
    a.offsets = wide_offsets;
    a.indices = wide_columns;
    a.offset_type = a.index_type = SPRY_I64;
    a.index_base = 1;
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(*state, &a), *B = NULL;
    for (int i = 0; i < 5; i++) wide_offsets[i] = -1;
    dense d = dense_blocks();
    MUST(spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, err));
    MUST(spry_matrix_extract(*state, &B, A, NULL, NULL, NULL, err));
    assert_int_equal(1, B->index_base);
    expect_matrix(B, &d, NULL, "extract");
    spry_matrix_destroy(A);
    static const int32_t none[] = {0};
    a = csr_arrays(0, 0, none, NULL, NULL, SPRY_F64);
    a.layout = SPRY_BSR;
    a.block_size = 4;
    A = create_matrix(*state, &a);
    d = dense_new(0, 0);
    MUST(spry_matrix_convert(*state, &B, NULL, A, NULL, err));
    expect_matrix(B, &d, NULL, "convert");
    spry_matrix_destroy(A);
}

static void solves(void **state)
{
    static const int32_t rows[] = {0, 1, 2}, diagonal[] = {0, 1};
    static const double spd[] = {4, 1, 1, 3, 5, -1, -1, 2};
    spry_arrays a = csr_arrays(2, 2, rows, diagonal, spd, SPRY_F64);
    a.layout = SPRY_BSR;
    a.block_size = 2;
    a.rows = a.columns = 4;
    a.nnz = 8;
    for (int p = 0; p < 2; p++) {
        spry_matrix *A = create_matrix(*state, &a);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        double x[4] = {0}, b[4] = {5, 4, 4, 1};
        o.precond = p ? SPRY_PRECOND_BLOCK_JACOBI : SPRY_PRECOND_JACOBI;
        MUST(spry_cg(*state, spry_vector_f64(x, 4), NULL, A, spry_const_vector_f64(b, 4), &o, err));
        for (int i = 0; i < 4; i++) assert_true(fabs(x[i] - 1) < 1e-6);
        spry_matrix *C = NULL;
        expect_error(spry_spgemm(*state, &C, NULL, A, A, NULL, &err), SPRY_UNSUPPORTED, "A");
        spry_matrix_destroy(A);
    }
}

#define REFUSED_ARRAYS(change, wanted, name, text)                                                                     \
    do {                                                                                                               \
        spry_arrays a = block_arrays();                                                                                \
        spry_matrix *B = NULL;                                                                                         \
        change;                                                                                                        \
        REFUSED(spry_matrix_create(*state, &B, &a, &err), wanted, name, text);                                         \
    } while (0)

/*
 * Asserts that the report of a check counts faults of blocks and of elements, and that the check records whether blocks
 * are sorted.
 */
static void reports(void **state)
{
    static const int32_t outside[] = {0, 2, 3, 0, 1, 1}, falling[] = {0, 2, 2, 0, 1, 1},
                         repeated[] = {0, 0, 0, 1, 2, 1};
    spry_arrays a = block_arrays();
    a.indices = outside;
    spry_matrix *A = create_matrix(*state, &a);
    spry_matrix_report r = SPRY_INIT(spry_matrix_report);
    spry_error err = {0};
    assert_int_equal(SPRY_INVALID_MATRIX, spry_matrix_check(A, &r, SPRY_CHECK_ALL, &err));
    assert_true(strncmp(err.message, "in CSR of the blocks: ", 22) == 0);
    assert_int_equal(1, r.out_of_range);
    assert_int_equal(2, r.first_out_of_range);
    assert_int_equal(2, r.first_out_of_range_major);
    assert_int_equal(-1, r.first_duplicate);
    spry_matrix_destroy(A);
    a = block_arrays();
    a.indices = falling;
    a.sorted = SPRY_KNOWN_YES;
    A = create_matrix(*state, &a);
    expect_error(spry_matrix_check(A, &r, SPRY_CHECK_ALL, &err), SPRY_INVALID_MATRIX, "sorted");
    assert_int_equal(1, r.unsorted);
    spry_matrix_destroy(A);
    a = block_arrays();
    a.indices = repeated;
    A = create_matrix(*state, &a);
    values[2 * BLOCK * BLOCK + 4] = INFINITY; /* element (1, 1) of block 2, in row 2 * BLOCK + 1 */
    MUST(spry_matrix_check(A, &r, SPRY_CHECK_ALL, err));
    assert_int_equal(1, r.duplicates);
    assert_int_equal(1, r.not_finite);
    assert_int_equal(2 * BLOCK * BLOCK + 4, r.first_not_finite);
    assert_int_equal(2 * BLOCK + 1, r.first_not_finite_major);
    assert_true(arrays_of(A).sorted == SPRY_KNOWN_YES && arrays_of(A).unique == SPRY_KNOWN_NO);
    spry_matrix_destroy(A);
}

/*
 * Asserts that explain and plans agree on a memory limit. Blocks are used without a copy, but a plan owns the CSR
 * arrays that it builds from blocks.
 */
static void limits(void **state)
{
    enum { NODES = 60 };
    static int32_t rows[NODES + 1], node[NODES];
    static double ones[NODES * BLOCK * BLOCK];
    for (int i = 0; i < NODES; i++) rows[i + 1] = i + 1, node[i] = i;
    for (int k = 0; k < NODES * BLOCK * BLOCK; k++) ones[k] = 1;
    spry_arrays a = csr_arrays(NODES, NODES * BLOCK, rows, node, ones, SPRY_F64);
    a.layout = SPRY_BSR;
    a.block_size = BLOCK;
    a.rows = NODES * BLOCK;
    a.nnz = NODES * BLOCK * BLOCK;
    spry_matrix *A = create_matrix(*state, &a);
    for (int64_t limit = 4000; limit < 20000; limit += 1000) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spry_explain_options how = SPRY_INIT(spry_explain_options);
        spry_explanation_info reported = SPRY_INIT(spry_explanation_info);
        spry_candidate c = SPRY_INIT(spry_candidate);
        spry_explanation *e = NULL;
        spry_spmv_plan *plan = NULL;
        spry_error err = {0};
        o.memory_limit_bytes = limit;
        how.spmv = &o;
        how.storage_of = "csr";
        const spry_status status = spry_spmv_plan_create(*state, &plan, A, &o, &err);
        assert_int_equal(status, spry_spmv_explain(*state, &e, A, &how, &err));
        if (status != SPRY_OK) continue;
        MUST(spry_explanation_get_info(e, &reported, err));
        assert_string_equal(plan_info(plan).format, reported.format);
        for (int k = 0; spry_explanation_get_candidate(e, &c, k, NULL) == SPRY_OK; k++)
            if (strcmp(c.format, "csr") == 0) assert_int_equal(c.storage_bytes, c.owned_bytes);
        spry_explanation_destroy(e);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
}

static void refusals(void **state)
{
    static const int32_t wrong[] = {0, 2, 2, 5, 7}, outside[] = {0, 2, 3, 0, 1, 1};
    REFUSED_ARRAYS(a.block_size = 0, SPRY_INVALID_ARGUMENT, "block_size",
                   "arrays: block_size is 0, expected 1 to 65536 for SPRY_BSR");
    REFUSED_ARRAYS(a.layout = SPRY_CSR, SPRY_INVALID_ARGUMENT, "block_size",
                   "arrays: block_size is 3, expected 0 unless the layout is SPRY_BSR");
    REFUSED_ARRAYS(a.rows = 13, SPRY_INVALID_SIZE, "rows",
                   "arrays: rows is 13, expected a multiple of 3 for blocks of 3 x 3");
    REFUSED_ARRAYS(a.nnz = 57, SPRY_INVALID_SIZE, "nnz",
                   "arrays: nnz is 57, expected a multiple of 9 for blocks of 3 x 3");
    REFUSED_ARRAYS(a.offsets = wrong, SPRY_INVALID_MATRIX, "offsets",
                   "offsets[4] is 7, expected the number of blocks = 6");
    spry_arrays a = block_arrays();
    a.indices = outside;
    spry_matrix *A = create_matrix(*state, &a);
    expect_error(spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &err), SPRY_INVALID_MATRIX, "indices");
    expect_error(spry_matrix_check(A, NULL, SPRY_CHECK_ALL, &err), SPRY_INVALID_MATRIX, "indices");
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(become_other_layouts),
        cmocka_unit_test(plans_follow_the_values),
        cmocka_unit_test(plans_borrow_the_blocks),
        cmocka_unit_test(others_are_converted),
        cmocka_unit_test(both_directions),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(solves),
        cmocka_unit_test(reports),
        cmocka_unit_test(limits),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
