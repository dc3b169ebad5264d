/*
 * Sparse products on a GPU, compared with a triple loop and with the CPU. Tests each kernel, repeated runs, memory
 * limits and results in GPU memory.
 */
#include "spgemm/support.h"

#include "matrix/matrix.h"
#include "spry/io.h"
#include "spry/spgemm.h"
#include "spry/study.h"
#include "spry/tune.h"

enum { TRIALS = 64 };

static spry_context *context;

/* Returns the name of the next GPU kernel from *index on, or NULL. */
static const char *next_kernel(int *index)
{
    while (*index < spgemm_kernel_count()) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        assert_int_equal(get_spgemm_kernel(context, &info, (*index)++, NULL), SPRY_OK);
        if (strcmp(info.device_kind, "cuda") == 0) return info.name;
    }
    return NULL;
}

static spry_spgemm_options options_for(const char *kernel)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = 1;
    o.kernel = kernel;
    return o;
}

static void one_trial(const char *kernel, uint64_t trial)
{
    uint64_t state = trial * 7919 + 1;
    const int64_t m = test_below(&state, 90), k = 1 + test_below(&state, 90), n = 1 + test_below(&state, 4000);
    test_kind kinds[] = {TEST_UNIFORM, TEST_BANDED,     TEST_STENCIL, TEST_GROUPED,
                         TEST_ONE_ROW, TEST_ONE_COLUMN, TEST_DENSE,   TEST_SHUFFLED};
    test_entries a = test_make(kinds[trial % 8], m, k, 1 + (double)test_below(&state, 12), &state);
    test_entries b = test_make(kinds[trial / 8 % 8], k, n, 1 + (double)test_below(&state, 40), &state);
    const test_form form = {SPRY_CSR, trial % 2 ? SPRY_F32 : SPRY_F64, trial % 3 ? SPRY_I32 : SPRY_I64, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form), *B = test_matrix(context, &b, form), *C = NULL;
    const double two = 2;
    const float two_f32 = 2;
    spry_spgemm_options o = options_for(kernel);
    o.alpha = trial % 4 ? NULL : trial % 2 ? (const void *)&two_f32 : (const void *)&two;
    o.drop_zeros = trial % 5 == 4;
    spry_error err;
    if (spry_spgemm(context, &C, NULL, A, B, &o, &err) != SPRY_OK)
        fail_msg("%s, trial %d: %s", kernel, (int)trial, err.message);
    test_dense d = test_multiply(&a, &b, SPRY_NO_TRANSPOSE, trial % 4 ? 1 : 2, 0, 0);
    test_equal(C, &d, o.drop_zeros, kernel);
    spry_matrix *D = multiply_matrices(context, A, B, &o);
    assert_true(test_same_bits(C, D));
    spry_matrix_destroy(D);
    spry_matrix_destroy(C);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
    test_dense_free(&d);
    test_discard(&a);
    test_discard(&b);
}

static void random_products(void **unused)
{
    int index = 0, kernels = 0;
    for (const char *kernel; (kernel = next_kernel(&index)); kernels++)
        for (int trial = 0; trial < TRIALS; trial++) one_trial(kernel, (uint64_t)trial);
    assert_true(kernels >= TEST_STUDY(4, 1));
}

#ifdef SPRY_STUDIES
/*
 * Tests parameters of the seed's kernels (study/kernels/seed_cuda.cu). lanes: groups smaller than a warp, of one warp
 * and of multiple warps. claim, reset, sort: various values.
 */
static void ways_of_the_seed(void **unused)
{
    static const char *const names[] = {
        "spgemm_seed_getvals_cuda:rows=8:lanes=4:count=4",
        "spgemm_seed_getvals_cuda:rows=32:lanes=32:count=16:blocks=1",
        "spgemm_seed_getvals_cuda:rows=8:lanes=128:count=64:claim=1",
        "spgemm_seed_getvals_cuda:rows=2:lanes=512:count=512:blocks=2:sort=32",
        "spgemm_seed_getvals_cuda:claim=5:blocks=32:sort=256",
        "spgemm_seed_getvals_cuda:reset=touched:sort=128",
        "spgemm_seed_getvals_cuda:reset=printed",
        "spgemm_seed_getvals_cuda:reset=repaired:blocks=2:sort=32",
        "spgemm_seed_getvals_cuda:reset=touched:rows=16:lanes=8:claim=3",
        "spgemm_seed_together_cuda:lanes=64:rows=16",
        "spgemm_seed_together_cuda:reset=all:claim=0:count=128:rows=1",
    };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (int trial = 0; trial < TRIALS / 2; trial++) one_trial(names[n], (uint64_t)trial);
}

/* Parameters that exceed a block's resources are refused. The message states the values. */
static void wrong_ways(void **unused)
{
    static const char *const cases[][2] = {
        {"spgemm_seed_getvals_cuda:rows=8:lanes=256", "rows times lanes is 2048, expected at most 1024"},
        {"spgemm_seed_getvals_cuda:rows=32:count=64", "rows times count is 2048, expected at most 1024"},
        {"spgemm_seed_getvals_cuda:reset=printed:rows=4", "rows, lanes, count or claim with a listing's reset"},
        {"spgemm_seed_together_cuda:reset=repaired", "rows, lanes, count or claim with a listing's reset"},
        {"spgemm_seed_together_cuda:rows=33", "expected rows=NUMBER from 1 to 32"},
        {"spgemm_seed_together_cuda:lanes=5", "expected lanes=4|8|16|32|64|128|256|512 (threads"},
        {"spgemm_seed_older_cuda:rows=1", "expected none"},
    };
    uint64_t state = 3;
    test_entries a = test_make(TEST_UNIFORM, 20, 20, 3, &state);
    const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form), *C = NULL;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_error err = SPRY_ERROR_INIT;
        const spry_spgemm_options o = options_for(cases[c][0]);
        assert_int_not_equal(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_OK);
        if (!strstr(err.message, cases[c][1])) fail_msg("%s: %s", cases[c][0], err.message);
        assert_null(C);
    }
    spry_matrix_destroy(A);
    test_discard(&a);
}

/* Returns 1 if structures and f64 values are equal. The sign of zero may differ, because some sums start with 0. */
static int same_numbers(const spry_matrix *C, const spry_matrix *D)
{
    const double *c = C->a.values, *d = D->a.values;
    if (C->a.nnz != D->a.nnz || memcmp(C->a.offsets, D->a.offsets, (size_t)(C->a.rows + 1) * sizeof(int32_t)) != 0 ||
        memcmp(C->a.indices, D->a.indices, (size_t)C->a.nnz * sizeof(int32_t)) != 0)
        return 0;
    for (int64_t k = 0; k < C->a.nnz; k++)
        if (c[k] != d[k]) return 0;
    return 1;
}

/*
 * Tests rows from empty to full, so that groups of threads end at very different times. Each plan runs twice, each time
 * with new values. Sums are exact.
 */
static void seeds_of_irregular_rows(void **unused)
{
    static const char *const names[] = {"spgemm_seed_older_cuda", "spgemm_seed_getvals_cuda",
                                        "spgemm_seed_getvals_cuda:reset=printed",
                                        "spgemm_seed_getvals_cuda:rows=4:lanes=16:claim=2",
                                        "spgemm_seed_together_cuda"};
    uint64_t state = 23;
    test_entries a = test_make(TEST_ONE_ROW, 3000, 3000, 9, &state);
    const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form), *C = NULL, *D = NULL;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        spry_error err;
        const spry_spgemm_options o = options_for(names[n]);
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, A, &o);
        for (int run = 0; run < 2; run++) {
            for (int64_t k = 0; k < A->a.nnz; k += 3) ((double *)(uintptr_t)A->a.values)[k] += 1;
            assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, &err), SPRY_OK);
            assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
            D = multiply_matrices(context, A, A, NULL);
            assert_int_equal(C->a.offset_type, SPRY_I32);
            assert_int_equal(D->a.offset_type, SPRY_I32);
            if (!same_numbers(C, D)) fail_msg("%s, run %d", names[n], run);
            spry_matrix_destroy(C);
            spry_matrix_destroy(D);
        }
        spry_spgemm_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    test_discard(&a);
}

/*
 * The stage times of a seed kernel sum to less than the time of the product, in one piece or in chunks. Other kernels
 * report no stage times.
 */
static void stages_of_the_seed(void **unused)
{
    static const char *const names[] = {"spgemm_seed_older_cuda", "spgemm_seed_getvals_cuda",
                                        "spgemm_seed_together_cuda", "spgemm_rows_cuda"};
    uint64_t state = 29;
    test_entries a = test_make(TEST_UNIFORM, 2000, 2000, 12, &state);
    const test_form form = {SPRY_CSR, SPRY_F32, SPRY_I32, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form), *C = NULL;
    for (int n = 0; n < 4; n++) {
        spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
        spry_spgemm_stages stages = SPRY_INIT(spry_spgemm_stages);
        spry_spgemm_options o = options_for(names[n]);
        o.stages = &stages;
        for (int limited = 0; limited < 2; limited++) {
            o.memory_limit_bytes = limited ? info.peak_bytes * 4 / 5 : 0;
            C = multiply_with_info(context, &info, A, A, &o);
            spry_matrix_destroy(C);
            if (n == 3) {
                assert_true(stages.count_us == -1 && stages.fill_us == -1 && stages.sort_us == -1);
                continue;
            }
            const double times[] = {stages.count_us, stages.scan_us, stages.fill_us, stages.sort_us};
            double sum = n == 0 ? stages.convert_us : 0;
            for (int s = 0; s < 4; s++) {
                assert_true(times[s] > 0 || (n == 0 && s == 3 && times[s] == 0));
                sum += times[s];
            }
            assert_true(n == 0 ? stages.convert_us > 0 : stages.convert_us == -1);
            assert_true(sum < info.setup_us + info.run_us);
        }
    }
    spry_matrix_destroy(A);
    test_discard(&a);
}
#endif

/* Compares rows for each method of spgemm_rows_cuda with the CPU. The longest rows need multiple windows of columns. */
static void large_rows(void **unused)
{
    static const int64_t cols[] = {3000, 40000, 70000, 1600000};
    for (int c = 0; c < 4; c++) {
        uint64_t state = 11 + (uint64_t)c;
        test_entries a = test_make(TEST_ONE_ROW, 300, 2000, 6, &state);
        test_entries b = test_make(TEST_UNIFORM, 2000, cols[c], 70, &state);
        const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
        spry_matrix *A = test_matrix(context, &a, form), *B = test_matrix(context, &b, form);
        spry_spgemm_options o = options_for("spgemm_rows_cuda");
        spry_matrix *C = multiply_matrices(context, A, B, &o);
        spry_matrix *D = multiply_matrices(context, A, B, NULL); /* sums of small integers are exact */
        assert_true(test_same_bits(C, D));
        spry_matrix_destroy(D);
        spry_matrix_destroy(C);
        spry_matrix_destroy(B);
        spry_matrix_destroy(A);
        test_discard(&a);
        test_discard(&b);
    }
}

/*
 * Returns the matrix of a grid. Consecutive rows have equal columns except for a shift by 1. About one in `holes`
 * entries is missing, so that such runs of rows end anywhere.
 */
static test_entries make_grid(int64_t width, int64_t rows, int64_t holes, uint64_t *state)
{
    const int64_t offsets[] = {-width, -1, 0, 1, width};
    test_entries e = {rows, rows, 0, malloc(40 * (size_t)rows), malloc(40 * (size_t)rows), malloc(40 * (size_t)rows)};
    assert_true(e.i && e.j && e.value);
    for (int64_t i = 0; i < rows; i++) {
        for (int n = 0; n < 5; n++) {
            const int64_t j = i + offsets[n];
            if (j < 0 || j >= rows || test_below(state, holes) == 0) continue;
            e.i[e.nnz] = i;
            e.j[e.nnz] = j;
            e.value[e.nnz++] = (double)(test_below(state, 7) - 3);
        }
    }
    return e;
}

/*
 * Tests matrices in which consecutive rows have the same order of products. The GPU computes the product in one piece
 * and in chunks. The results are compared with the CPU's. Sums are exact.
 */
static void runs_of_rows(void **unused)
{
    static const int64_t widths[] = {2, 37, 140, 700}, holes[] = {1 << 30, 3000, 150};
    for (int trial = 0; trial < 24; trial++) {
        uint64_t state = (uint64_t)trial + 3;
        test_entries a = make_grid(widths[trial % 4], 2000 + 37 * trial, holes[trial / 4 % 3], &state);
        const test_form form = {SPRY_CSR, trial < 12 ? SPRY_F64 : SPRY_F32, trial % 2 ? SPRY_I32 : SPRY_I64, SPRY_I32};
        spry_matrix *A = test_matrix(context, &a, form);
        spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
        spry_spgemm_options o = options_for("spgemm_rows_cuda");
        spry_matrix *C = multiply_with_info(context, &info, A, A, &o);
        spry_matrix *D = multiply_matrices(context, A, A, NULL);
        if (!test_same_bits(C, D)) fail_msg("trial %d", trial);
        o.memory_limit_bytes = info.peak_bytes * 3 / 4;
        spry_matrix *E = multiply_with_info(context, &info, A, A, &o);
        assert_true(info.chunks > 1);
        if (!test_same_bits(E, D)) fail_msg("trial %d, %d chunks", trial, (int)info.chunks);
        spry_matrix_destroy(E);
        spry_matrix_destroy(D);
        spry_matrix_destroy(C);
        spry_matrix_destroy(A);
        test_discard(&a);
    }
}

/* Products in chunks equal the whole product. */
static void chunks(void **unused)
{
    uint64_t state = 5;
    test_entries a = test_make(TEST_UNIFORM, 3000, 3000, 20, &state);
    const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = options_for("spgemm_rows_cuda");
    spry_matrix *C = multiply_with_info(context, &info, A, A, &o);
    assert_int_equal(info.chunks, 1);
    o.memory_limit_bytes = info.peak_bytes / 3;
    spry_matrix *D = multiply_with_info(context, &info, A, A, &o);
    assert_true(info.chunks > 1);
    assert_true(info.peak_bytes <= o.memory_limit_bytes);
    assert_true(test_same_bits(C, D));
    spry_matrix_destroy(D);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    test_discard(&a);
}

/*
 * The matrices select four methods: rows sorted by warps, sorting networks, runs found by a sample, and counting by
 * pairs. The result is verified. Two other ways to compute C must give the same bits: products in chunks, which do not
 * store orders, and the second run of a plan, which knows the structure.
 */
static void ways_of_short_rows(void **unused)
{
    static const char *const matrices[] = {"gen:random,rows=20000,cols=20000,density=4e-4",
                                           "gen:random,rows=300000,cols=300000,density=1.5e-5",
                                           "gen:random,rows=20000,cols=20000,density=1e-3",
                                           "gen:road,side=600",
                                           "gen:grid5,x=600,y=500",
                                           "gen:rgg,scale=17",
                                           "gen:grid9,x=400,y=400"};
    for (size_t m = 0; m < 2 * sizeof matrices / sizeof *matrices; m++) {
        spry_matrix *A = NULL, *C = NULL, *D = NULL;
        spry_read_options read = SPRY_INIT(spry_read_options);
        spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
        spry_spgemm_options o = options_for("spgemm_rows_cuda");
        spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
        spry_error err;
        read.value_type = m % 2 ? SPRY_F32 : SPRY_F64;
        MUST(spry_matrix_generate(context, &A, matrices[m / 2], &read, err));
        if (spry_spgemm(context, &C, &info, A, A, &o, &err) != SPRY_OK)
            fail_msg("%s: %s", matrices[m / 2], err.message);
        assert_int_equal(spry_spgemm_verify(context, &v, C, A, A, NULL, SPRY_VERIFY_EXACT, &err), SPRY_OK);
        if (v.wrong_rows > 0) fail_msg("%s: %d rows are wrong", matrices[m / 2], (int)v.wrong_rows);
        o.memory_limit_bytes = info.peak_bytes;
        do { /* as the limit falls, no data is kept between the phases, and then C is divided into chunks */
            o.memory_limit_bytes = o.memory_limit_bytes / 4 * 3;
            if (spry_spgemm(context, &D, &info, A, A, &o, &err) != SPRY_OK)
                fail_msg("%s: %s", matrices[m / 2], err.message);
            if (!test_same_bits(C, D)) fail_msg("%s, %d chunks", matrices[m / 2], (int)info.chunks);
            spry_matrix_destroy(D);
        } while (info.chunks == 1);
        o.memory_limit_bytes = 0;
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, A, &o);
        spry_arrays s = SPRY_INIT(spry_arrays);
        assert_int_equal(spry_spgemm_plan_get_structure(plan, &s, NULL), SPRY_OK);
        assert_memory_equal(s.offsets, C->a.offsets, (size_t)(s.rows + 1) * spryi_index_type_bytes(s.offset_type));
        assert_memory_equal(s.indices, C->a.indices, (size_t)s.nnz * 4);
        for (int run = 0; run < 2; run++) assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, &err), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &D, NULL), SPRY_OK);
        if (!test_same_bits(C, D)) fail_msg("%s, from a plan", matrices[m / 2]);
        spry_spgemm_plan_destroy(plan);
        spry_matrix_destroy(D);
        spry_matrix_destroy(C);
        spry_matrix_destroy(A);
    }
}

/*
 * Tests plans whose operands get new values, also before the first run. The host converts the operands for the GPU.
 * Sums are exact.
 */
static void plans_of_new_values(void **unused)
{
    static const spry_layout layouts[] = {SPRY_CSR, SPRY_COO, SPRY_CSC};
    static const test_kind kinds[] = {TEST_UNIFORM, TEST_BANDED, TEST_GROUPED, TEST_ONE_ROW};
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t state = (uint64_t)trial + 99;
        const spry_op op = trial / 3 % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        /* A and B are square, so A can also be transposed */
        const spry_op op_a = trial % 5 == 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        test_entries a = test_make(trial % 4 ? TEST_SHUFFLED : TEST_UNIFORM, 70, 70, 6, &state);
        test_entries b = test_make(kinds[trial % 4], 70, 70, 6, &state);
        const test_form forms[] = {{SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32},
                                   {layouts[trial % 3], SPRY_F64, trial % 2 ? SPRY_I64 : SPRY_I32, SPRY_I32}};
        spry_matrix *A = test_matrix(context, &a, forms[0]), *B = test_matrix(context, &b, forms[1]);
        spry_matrix *both[] = {A, B}, *C = NULL, *D = NULL;
        spry_spgemm_options o = options_for("spgemm_rows_cuda"), on_cpu = SPRY_INIT(spry_spgemm_options);
        o.op_a = on_cpu.op_a = op_a;
        o.op_b = on_cpu.op_b = op;
        spry_spgemm_plan *plan = NULL;
        spry_error err;
        if (spry_spgemm_plan_create(context, &plan, A, B, &o, &err) != SPRY_OK)
            fail_msg("trial %d: %s", trial, err.message);
        for (int run = 0; run < 3; run++) {
            for (int m = 0; m < 2 && run + trial % 2 > 0; m++)
                for (int64_t k = 0; k < both[m]->a.nnz; k++)
                    ((double *)(uintptr_t)both[m]->a.values)[k] += (double)(test_below(&state, 7) - 3);
            if (spry_spgemm_plan_run(plan, NULL, NULL, &err) != SPRY_OK) fail_msg("trial %d: %s", trial, err.message);
            assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
            D = multiply_matrices(context, A, B, &on_cpu);
            if (!test_same_bits(C, D)) fail_msg("trial %d, run %d", trial, run);
            spry_matrix_destroy(C);
            spry_matrix_destroy(D);
        }
        spry_spgemm_plan_destroy(plan);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        test_discard(&a);
        test_discard(&b);
    }
}

/*
 * Tests memory limits from 1 byte to a sufficient limit. The call is refused, or its peak is within the limit. After
 * each call, the context holds as many bytes as before the call.
 */
static void limits_from_nothing(void **unused)
{
    enum { STEPS = 6 };
    uint64_t state = 17;
    test_entries a = test_make(TEST_UNIFORM, 100, 100, 10, &state);
    const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    int index = 0;
    for (const char *kernel; (kernel = next_kernel(&index));) {
        spry_matrix *A = test_matrix(context, &a, form);
        spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
        spry_spgemm_options o = options_for(kernel);
        spry_matrix *C = multiply_with_info(context, &info, A, A, &o);
        spry_matrix_destroy(C);
        const int64_t most = info.peak_bytes, held = context_bytes(context);
        int refused = 0;
        for (int step = 0; step <= STEPS; step++) {
            spry_error err = SPRY_ERROR_INIT;
            o.memory_limit_bytes = 1 + most * step / STEPS;
            C = NULL;
            const spry_status status = spry_spgemm(context, &C, &info, A, A, &o, &err);
            if (status != SPRY_OK && status != SPRY_TOO_LARGE) fail_msg("%s, step %d: %s", kernel, step, err.message);
            assert_true((status == SPRY_OK) == (C != NULL));
            if (status == SPRY_OK) assert_true(info.peak_bytes <= o.memory_limit_bytes);
            refused += status != SPRY_OK;
            spry_matrix_destroy(C);
            assert_int_equal(context_bytes(context), held);
        }
        assert_true(refused > 0);
        spry_matrix_destroy(A);
    }
    test_discard(&a);
}

/* Copies large operands and a large result over the bus, with a given device and with device "auto". */
static void large_copies(void **unused)
{
    spry_context *many = context_of(5);
    spry_spgemm_options o = options_for("spgemm_rows_cuda");
    spry_matrix *A = generate_matrix(many, "gen:laplace5,x=1000,y=1000");
    spry_matrix *C = multiply_matrices(many, A, A, &o);
    spry_matrix *D = multiply_matrices(many, A, A, NULL);
    assert_true(test_same_bits(C, D)); /* integers: sums are exact in any order */
    spry_matrix_destroy(D);
    spry_matrix_destroy(C);
    o.kernel = NULL; /* chosen by the library: a GPU that is already started, or the CPU */
    o.device = SPRY_DEVICE_AUTO;
    C = multiply_matrices(many, A, A, &o);
    assert_int_equal(C->a.nnz, 12980004);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(many), 0);
    spry_context_destroy(many);
}

int main(void)
{
    context = context_of(2);
    if (!has_gpu()) {
        spry_context_destroy(context);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_products),
#ifdef SPRY_STUDIES
                                       cmocka_unit_test(ways_of_the_seed),
                                       cmocka_unit_test(wrong_ways),
                                       cmocka_unit_test(seeds_of_irregular_rows),
                                       cmocka_unit_test(stages_of_the_seed),
#endif
                                       cmocka_unit_test(large_rows),
                                       cmocka_unit_test(runs_of_rows),
                                       cmocka_unit_test(ways_of_short_rows),
                                       cmocka_unit_test(chunks),
                                       cmocka_unit_test(plans_of_new_values),
                                       cmocka_unit_test(limits_from_nothing),
                                       cmocka_unit_test(large_copies)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spry_context_destroy(context);
    return failed;
}
