/* Plans, limits, determinism, failures and verification of sparse products. */
#include "support.h"

#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"
#include "spgemm/kernels/cpu/rows.h"
#include "spgemm/spgemm_plan.h"
#include "spry/spgemm.h"

/* All numbers of threads, row methods and limits give the same bits. */
static void same_bits(void **unused)
{
    spry_context *contexts[] = {context_of(1), context_of(2), context_of(5)};
    for (int m = 0; m < TEST_SPECS; m++) {
        spry_matrix *A = test_generate(contexts[0], m), *first = test_square(contexts[0], A, NULL);
        for (int c = RACES_ALONE; c < 3; c++)
            for (int k = 0; k < TEST_KERNELS; k++) {
                if (SAMPLED && (c + k + m) % 3) continue; /* alternates between contexts */
                spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
                options.kernel = test_kernels[k];
                spry_matrix *C = NULL;
                spry_error err = SPRY_ERROR_INIT;
                spry_status status = spry_spgemm(contexts[c], &C, NULL, A, A, &options, &err);
                if (status == SPRY_DEVICE_UNAVAILABLE) continue;
                assert_int_equal(status, SPRY_OK);
                if (!test_same_bits(first, C))
                    fail_msg("%s: %s differs with context %d", test_specs[m], test_kernels[k], c);
                spry_matrix_destroy(C);
            }
        spry_matrix_destroy(first);
        spry_matrix_destroy(A);
    }
    for (int c = 0; c < 3; c++) spry_context_destroy(contexts[c]);
}

/*
 * Tests rows with more products than a thread's buffer holds, in 60000, 30000 and 500 columns. Other rows are short or
 * empty.
 */
static void long_rows(void **unused)
{
    uint64_t state = 7;
    spry_context *contexts[] = {context_of(1), context_of(2), context_of(5)};
    const int64_t widths[] = {60000, 30000, 500};
    for (int w = 0; w < 3; w++) {
        const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
        test_entries a = test_make(TEST_ONE_ROW, 40, 3000, 3, &state);
        test_entries b = test_make(w == 1 ? TEST_SHUFFLED : TEST_UNIFORM, 3000, widths[w], 14, &state);
        spry_matrix *A = test_matrix(contexts[0], &a, form), *B = test_matrix(contexts[0], &b, form), *first = NULL;
        double alpha = 3;
        for (int c = RACES_ALONE; c < 3; c++)
            for (int k = 0; k < TEST_KERNELS; k++) {
                if (INSTRUMENTED && (c + k + w) % 2) continue; /* alternates */
                spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
                options.kernel = test_kernels[k];
                options.alpha = &alpha;
                spry_matrix *C = NULL;
                spry_error err = SPRY_ERROR_INIT;
                spry_status status = spry_spgemm(contexts[c], &C, NULL, A, B, &options, &err);
                if (status == SPRY_DEVICE_UNAVAILABLE) continue;
                if (status != SPRY_OK) fail_msg("%s", err.message);
                if (!first) first = spryi_matrix_retain(C);
                if (!test_same_bits(first, C)) fail_msg("%s differs with context %d, shape %d", test_kernels[k], c, w);
                spry_matrix_destroy(C);
            }
        spry_matrix_destroy(first);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        test_discard(&a);
        test_discard(&b);
    }
    for (int c = 0; c < 3; c++) spry_context_destroy(contexts[c]);
}

/* All limits down to the estimate's least_bytes give the same bits. A limit of one byte less is refused. */
static void limits(void **unused)
{
    for (int m = 0; m < TEST_SPECS; m++) {
        test_memory memory = {0};
        spry_context *context = counted_context(&memory, 2);
        spry_matrix *A = test_generate(context, m), *whole = test_square(context, A, NULL);
        const int64_t before = atomic_load(&memory.bytes), blocks = atomic_load(&memory.blocks);
        spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
        assert_int_equal(spry_spgemm_estimate(context, &e, A, A, NULL, NULL), SPRY_OK);
        assert_int_equal(e.exact, 1);
        spry_arrays c = arrays_of(whole);
        assert_int_equal(e.nnz, c.nnz);
        assert_true(e.least_bytes <= e.peak_bytes);
        const int64_t limits_tried[] = {e.peak_bytes, (e.peak_bytes + e.least_bytes) / 2, e.least_bytes};
        for (int l = 0; l < 3; l++) {
            spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
            spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
            options.memory_limit_bytes = limits_tried[l];
            atomic_store(&memory.most_bytes, atomic_load(&memory.bytes));
            spry_matrix *C = multiply_with_info(context, &info, A, A, &options);
            assert_true(info.peak_bytes <= limits_tried[l]);
            /* most bytes that the call held; peak_bytes also counts the inputs, but no handles */
            const int64_t held = atomic_load(&memory.most_bytes) - before;
            if (held > info.peak_bytes - e.input_bytes + 8192)
                fail_msg("%s: %lld bytes held, %lld told", test_specs[m], (long long)held,
                         (long long)(info.peak_bytes - e.input_bytes));
            if (!test_same_bits(whole, C)) fail_msg("%s: limit %d changes bits", test_specs[m], l);
            spry_matrix_destroy(C);
        }
        spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
        const int64_t refused[] = {e.least_bytes - 1, e.input_bytes, 1};
        for (int r = 0; r < 3; r++) {
            spry_matrix *C = NULL;
            spry_error err = SPRY_ERROR_INIT;
            options.memory_limit_bytes = refused[r];
            assert_int_equal(spry_spgemm(context, &C, NULL, A, A, &options, &err), SPRY_TOO_LARGE);
            assert_string_equal(err.argument, "memory_limit_bytes");
            assert_true(err.value > refused[r]);
            assert_null(C);
        }
        assert_int_equal(atomic_load(&memory.blocks), blocks);
        spry_matrix_destroy(whole);
        spry_matrix_destroy(A);
        assert_int_equal(atomic_load(&memory.blocks), 1);
        spry_context_destroy(context);
        assert_int_equal(atomic_load(&memory.blocks), 0);
    }
}

/*
 * Runs the phases of one kernel separately. The rows of A are divided into pieces of consecutive rows. In each piece,
 * the number of rows plus the number of entries is about `work`.
 */
static void check_pieces(spry_context *context, const spry_matrix *A, const spry_matrix *wanted, const char *name,
                         int64_t work)
{
    const double one = 1;
    const spryi_kernel *kernel = spryi_find_kernel(name);
    const char *reason;
    if (!kernel || !spryi_kernel_available(context, kernel, &reason)) return;
    spryi_spgemm_job job = {.a = A->a, .b = A->a, .type = SPRY_F64, .alpha = &one, .threads = 3, .piece_work = work};
    assert_int_equal(spryi_spgemm_cut(context, &job, NULL), SPRY_OK);
    assert_true(work > 1 || job.pieces.count >= A->a.rows);
    job.rows_of_b.rise = spryi_spgemm_rises(context, &job.b);
    job.offsets = calloc((size_t)A->a.rows + 1, sizeof *job.offsets);
    job.sizes = kernel->spgemm->sizes(&job, SPRYI_COUNT, 0);
    job.workspace = calloc(1, (size_t)job.sizes.bytes + 64);
    (*kernel->spgemm->count)[1][0](&job);
    free(job.workspace);
    spryi_scan(job.offsets, A->a.rows);
    assert_int_equal(job.offsets[A->a.rows], wanted->a.nnz);
    job.columns = malloc((size_t)wanted->a.nnz * 4);
    job.values = malloc((size_t)wanted->a.nnz * 8);
    job.sizes = kernel->spgemm->sizes(&job, SPRYI_FILL, 0);
    const size_t bytes = (size_t)job.sizes.bytes, part = (size_t)job.sizes.thread_bytes;
    job.workspace = calloc(1, bytes + 64);
    (*kernel->spgemm->fill)[1][0](&job);
    spryi_rows_workspace first;
    spryi_rows_place(&job, 0, &first);
    const unsigned char *workspace = job.workspace, *runs = first.run.memory.values;
    const size_t clean = runs ? (size_t)(runs - workspace) : part;
    /* the kernel clears the workspace of each thread, except its end, which the method for runs of rows uses */
    for (size_t b = 0; b < bytes; b++)
        if (b % part < clean && workspace[b] != 0) fail_msg("%s leaves its workspace unclean", name);
    assert_memory_equal(job.columns, wanted->a.indices, (size_t)wanted->a.nnz * 4);
    assert_memory_equal(job.values, wanted->a.values, (size_t)wanted->a.nnz * 8);
    memset(job.columns, 0xff, (size_t)wanted->a.nnz * 4);
    (*kernel->spgemm->columns)[1][0](&job);
    assert_memory_equal(job.columns, wanted->a.indices, (size_t)wanted->a.nnz * 4);
    for (size_t b = 0; b < bytes; b++)
        if (b % part < clean && workspace[b] != 0) fail_msg("%s leaves its workspace unclean", name);
    memset(job.values, 0xff, (size_t)wanted->a.nnz * 8);
    (*kernel->spgemm->refill)[1][0](&job);
    assert_memory_equal(job.values, wanted->a.values, (size_t)wanted->a.nnz * 8);
    free(job.workspace);
    free(job.columns);
    free(job.values);
    free(job.offsets);
    spryi_release(context, job.pieces.rows);
}

/* Pieces of one row and of all rows give the same result. The kernels clear their workspace. */
static void pieces(void **unused)
{
    spry_context *context = context_of(3);
    for (int m = 0; m < TEST_SPECS; m++) {
        spry_matrix *A = test_generate(context, m), *whole = test_square(context, A, NULL);
        for (int k = 1; k < TEST_KERNELS; k++) {
            if (!SAMPLED || (k + m) % 2) check_pieces(context, A, whole, test_kernels[k], 1);
            if (SAMPLED && (k + m) % 2) continue;
            check_pieces(context, A, whole, test_kernels[k], k == 1 ? (int64_t)1 << 40 : 300);
        }
        spry_matrix_destroy(whole);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/* With new values and the same structure, a plan's next run equals a new product and allocates nothing. */
static void values_change(void **unused)
{
    test_memory memory = {0};
    spry_context *context = counted_context(&memory, 2);
    static const spry_layout layouts[] = {SPRY_CSR, SPRY_COO, SPRY_CSC};
    for (int trial = 0; trial < (INSTRUMENTED ? 30 : 120); trial++) {
        uint64_t state = (uint64_t)trial;
        test_entries a = test_make((test_kind)(trial % TEST_KINDS), 60, 50, 6, &state);
        test_entries b = test_make((test_kind)(trial / 7 % TEST_KINDS), 50, 60, 6, &state);
        const spry_op op = trial % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        const spry_op op_a = trial / 2 % 3 == 1 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        const test_entries given = op_a == SPRY_TRANSPOSE ? test_transposed(&a) : a;
        const test_form forms[] = {{layouts[trial % 3], SPRY_F64, SPRY_I32, SPRY_I32},
                                   {layouts[trial / 3 % 3], SPRY_F64, SPRY_I64, SPRY_I32}};
        spry_matrix *A = test_matrix(context, &given, forms[0]), *C = NULL, *D = NULL;
        spry_matrix *B = test_matrix(context, op == SPRY_TRANSPOSE ? &a : &b, forms[1]);
        spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
        options.op_a = op_a;
        options.op_b = op;
        if (trial % 5 == 4)
            options.kernel = TEST_STUDY(trial % 2 ? "spgemm_seed_dot_cpu" : "spgemm_smmp_cpu", "spgemm_rows_cpu");
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, B, &options);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_INVALID_ARGUMENT);
        spry_matrix *both[] = {A, B};
        for (int run = 0; run < 3; run++) {
            double alpha = run + 1;
            /* changes the values before each run, but before the first run only in odd trials */
            for (int m = 0; m < 2 && run + trial % 2 > 0; m++)
                for (int64_t k = 0; k < both[m]->a.nnz; k++)
                    ((double *)(uintptr_t)both[m]->a.values)[k] += (double)(test_below(&state, 7) - 3) / 3;
            const int64_t calls = atomic_load(&memory.calls);
            spry_spgemm_run_options with_alpha = SPRY_INIT(spry_spgemm_run_options);
            with_alpha.alpha = &alpha;
            assert_int_equal(spry_spgemm_plan_run(plan, NULL, run == 1 ? &with_alpha : NULL, NULL), SPRY_OK);
            assert_int_equal(atomic_load(&memory.calls), calls);
            if (run != 1) alpha = 1;
            options.alpha = &alpha;
            D = multiply_matrices(context, A, B, &options);
            assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
            if (!test_same_bits(C, D)) fail_msg("trial %d, run %d", trial, run);
            spry_matrix_destroy(C);
            spry_matrix_destroy(D);
        }
        spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
        assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
        assert_true(info.deterministic && info.peak_bytes > 0);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
        spry_spgemm_plan_destroy(plan);
        assert_true(C->a.nnz == info.nnz); /* C outlives the plan */
        spry_matrix_destroy(C);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        test_discard(&a);
        test_discard(&b);
    }
    spry_context_destroy(context);
    assert_int_equal(atomic_load(&memory.blocks), 0);
}

/* The info reports conversions and the source of the values. */
static void conversions_are_reported(void **unused)
{
    test_memory memory = {0};
    spry_context *context = counted_context(&memory, 1);
    uint64_t state = 11;
    test_entries a = test_make(TEST_UNIFORM, 2000, 3000, 40, &state), b = test_make(TEST_UNIFORM, 3000, 5, 2, &state);
    spry_matrix *A = test_matrix(context, &a, (test_form){SPRY_CSC, SPRY_F32, SPRY_I32, SPRY_I32});
    spry_matrix *B = test_matrix(context, &b, (test_form){SPRY_CSR, SPRY_F32, SPRY_I32, SPRY_I32});
    const int64_t inputs = spryi_arrays_bytes(&A->a) + spryi_arrays_bytes(&B->a), before = atomic_load(&memory.bytes);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_error err = SPRY_ERROR_INIT;
    atomic_store(&memory.most_bytes, before);
    spry_spgemm_plan *plan = create_spgemm_plan(context, A, B, NULL);
    assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
    const int64_t held = atomic_load(&memory.most_bytes) - before, reported = info.peak_bytes - inputs;
    if (held > reported + 8 * 4096) /* handles and row counts are not counted */
        fail_msg("%lld bytes held, %lld told", (long long)held, (long long)reported);
    spry_spgemm_plan_destroy(plan);
    plan = NULL;
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.memory_limit_bytes = info.peak_bytes - 1;
    assert_int_equal(spry_spgemm_plan_create(context, &plan, A, B, &options, &err), SPRY_TOO_LARGE);
    options.memory_limit_bytes = info.peak_bytes;
    plan = create_spgemm_plan(context, A, B, &options);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    test_discard(&a);
    test_discard(&b);
    spry_context_destroy(context);
    assert_int_equal(atomic_load(&memory.blocks), 0);
}

/* ---- failures ------------------------------------------------------------------------------------------- */

typedef struct factors {
    spry_matrix *A, *B;
} factors;

static spry_status all_calls(spry_context *context, const void *input, spry_error *err)
{
    const spry_matrix *A = ((const factors *)input)->A, *B = ((const factors *)input)->B;
    spry_matrix *C = NULL, *D = NULL;
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_estimate_info estimate = SPRY_INIT(spry_spgemm_estimate_info);
    spry_spgemm_verification found = SPRY_INIT(spry_spgemm_verification);
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.op_b = SPRY_TRANSPOSE;
    spry_status status = spry_spgemm(context, &C, NULL, A, B, &options, err);
    if (status == SPRY_OK) status = spry_spgemm_estimate(context, &estimate, A, B, &options, err);
    if (status == SPRY_OK) status = spry_spgemm_plan_create(context, &plan, A, B, &options, err);
    if (status == SPRY_OK) status = spry_spgemm_plan_run(plan, NULL, NULL, err);
    if (status == SPRY_OK) status = spry_spgemm_verify(context, &found, C, A, B, &options, SPRY_VERIFY_RANDOM, err);
    if (status == SPRY_OK) status = spry_spgemm_verify(context, &found, C, A, B, &options, SPRY_VERIFY_EXACT, err);
    options.kernel = TEST_STUDY("spgemm_seed_dot_cpu", "spgemm_rows_cpu");
    if (status == SPRY_OK) status = spry_spgemm(context, &D, NULL, A, B, &options, err);
    if (status != SPRY_OK) assert_null(D);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(C);
    spry_matrix_destroy(D);
    return status;
}

static void every_allocation_fails(void **unused)
{
    spry_context *context = context_of(2);
    uint64_t state = 5;
    test_entries a = test_make(TEST_SHUFFLED, 30, 40, 5, &state);
    factors f = {test_matrix(context, &a, (test_form){SPRY_COO, SPRY_F64, SPRY_I32, SPRY_I32}),
                 test_matrix(context, &a, (test_form){SPRY_CSC, SPRY_F64, SPRY_I64, SPRY_I32})};
    assert_true(fail_every_allocation(all_calls, &f, 2) > 30);
    spry_matrix_destroy(f.A);
    spry_matrix_destroy(f.B);
    test_discard(&a);
    spry_context_destroy(context);
}

#define EXPECT(call, wanted, name)                                                                                     \
    do {                                                                                                               \
        err = (spry_error)SPRY_ERROR_INIT;                                                                             \
        assert_int_equal((call), (wanted));                                                                            \
        assert_int_equal(err.status, (wanted));                                                                        \
        assert_string_equal(err.argument, (name));                                                                     \
        assert_true(strlen(err.message) > 10);                                                                         \
    } while (0)

/* With the most columns and the most threads, the number of bytes does not overflow. */
static void bytes_past_64_bits(void **unused)
{
    const spryi_kernel *kernel = spryi_find_kernel("spgemm_rows_cpu");
    spryi_spgemm_job job = {.b = {.columns = INT64_MAX / 64}, .threads = 1024};
    assert_true(kernel->spgemm->sizes(&job, SPRYI_COUNT, 0).bytes >= INT64_MAX / 2);
}

static void bad_arguments(void **unused)
{
    spry_context *context = context_of(1);
    uint64_t state = 5;
    test_entries a = test_make(TEST_UNIFORM, 30, 40, 5, &state);
    spry_matrix *A = test_matrix(context, &a, (test_form){SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32}), *C = NULL;
    spry_matrix *F = test_matrix(context, &a, (test_form){SPRY_CSR, SPRY_F32, SPRY_I32, SPRY_I32});
    spry_error err = SPRY_ERROR_INIT;
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    EXPECT(spry_spgemm(NULL, &C, NULL, A, A, NULL, &err), SPRY_INVALID_ARGUMENT, "context");
    EXPECT(spry_spgemm(context, NULL, NULL, A, A, NULL, &err), SPRY_INVALID_ARGUMENT, "C");
    EXPECT(spry_spgemm(context, &C, NULL, NULL, A, NULL, &err), SPRY_INVALID_ARGUMENT, "A");
    EXPECT(spry_spgemm(context, &C, NULL, A, NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "B");
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_INVALID_SIZE, "B");
    o.op_b = SPRY_TRANSPOSE;
    EXPECT(spry_spgemm(context, &C, NULL, A, F, &o, &err), SPRY_UNSUPPORTED, "B");
    o.value_type = SPRY_F32;
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_UNSUPPORTED, "value_type");
    o.value_type = SPRY_PATTERN;
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_INVALID_ARGUMENT, "value_type");
    o.value_type = SPRY_TYPE_DEFAULT;
    o.memory_limit_bytes = -1;
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_INVALID_ARGUMENT, "memory_limit_bytes");
    o.memory_limit_bytes = 0;
    o.drop_zeros = 1;
    EXPECT(spry_spgemm_plan_create(context, &plan, A, A, &o, &err), SPRY_UNSUPPORTED, "drop_zeros");
    o.drop_zeros = 0;
    o.kernel = "spgemm_no_cpu";
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_UNKNOWN_NAME, "kernel");
    o.kernel = "csr_portable_cpu"; /* a kernel for products with vectors */
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_UNSUPPORTED, "kernel");
    spry_spmv_plan *product = NULL;
    spry_spmv_options spmv = SPRY_INIT(spry_spmv_options);
    spmv.kernel = "spgemm_rows_cpu";
    EXPECT(spry_spmv_plan_create(context, &product, A, &spmv, &err), SPRY_UNSUPPORTED, "kernel");
    o.kernel = NULL;
    o.offset_type = (spry_index_type)9;
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_INVALID_ARGUMENT, "offset_type");
    o.offset_type = SPRY_I64;
    C = multiply_matrices(context, A, A, &o);
    assert_int_equal(C->a.offset_type, SPRY_I64);
    spry_matrix_destroy(C);
    o.device = SPRY_DEVICE_AUTO; /* chooses the CPU: no GPU is present, or a GPU is slower for this small product */
    C = multiply_matrices(context, A, A, &o);
    spry_spgemm_verification found = SPRY_INIT(spry_spgemm_verification);
    spry_spgemm_run_options run = SPRY_INIT(spry_spgemm_run_options);
    spry_arrays structure = SPRY_INIT(spry_arrays);
    plan = create_spgemm_plan(context, A, A, &o);
    EXPECT(spry_spgemm_plan_run(NULL, NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "plan");
    EXPECT(spry_spgemm_plan_run(plan, (char *)(void *)&structure + 1, NULL, &err), SPRY_INVALID_ARGUMENT, "values");
    run.struct_size = 0;
    EXPECT(spry_spgemm_plan_run(plan, NULL, &run, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    EXPECT(spry_spgemm_plan_get_structure(NULL, &structure, &err), SPRY_INVALID_ARGUMENT, "plan");
    EXPECT(spry_spgemm_plan_get_structure(plan, NULL, &err), SPRY_INVALID_ARGUMENT, "structure");
    structure.struct_size = 0;
    EXPECT(spry_spgemm_plan_get_structure(plan, &structure, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    spry_spgemm_plan_destroy(plan);
    o.op_a = SPRY_TRANSPOSE;
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_INVALID_SIZE, "B");
    o.op_a = (spry_op)3;
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_INVALID_ARGUMENT, "op_a");
    EXPECT(spry_spgemm_verify(context, &found, C, A, A, &o, SPRY_VERIFY_EXACT, &err), SPRY_INVALID_ARGUMENT, "op_a");
    o.op_a = SPRY_NO_TRANSPOSE;
    o.op_b = (spry_op)2;
    EXPECT(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_INVALID_ARGUMENT, "op_b");
    EXPECT(spry_spgemm_verify(context, &found, C, A, A, &o, SPRY_VERIFY_EXACT, &err), SPRY_INVALID_ARGUMENT, "op_b");
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    spry_matrix_destroy(F);
    test_discard(&a);
    spry_context_destroy(context);
}

/* 4.9e9 products and the same number of entries of C: counted in 64 bits, and refused if they do not fit. */
static void past_32_bits(void **unused)
{
    enum { N = 70000 };
    spry_context *context = context_of(2);
    test_entries column = {.rows = N, .cols = 1}, row = {.rows = 1, .cols = N};
    column.nnz = row.nnz = N;
    column.i = row.j = malloc(N * sizeof *row.j);
    column.j = row.i = calloc(N, sizeof *row.i);
    column.value = row.value = calloc(N, sizeof *row.value);
    for (int64_t k = 0; k < N; k++) row.j[k] = k;
    /* built directly, because test_matrix is too slow for this size */
    int32_t *rising = malloc((N + 1) * sizeof *rising), *zeros = calloc(N + 1, sizeof *zeros), ends[] = {0, N};
    for (int32_t k = 0; k <= N; k++) rising[k] = k;
    spry_matrix *C = NULL;
    spry_matrix *A = borrow_csr(context, N, 1, rising, zeros, column.value);
    spry_matrix *B = borrow_csr(context, 1, N, ends, rising, row.value);
    spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
    assert_int_equal(spry_spgemm_estimate(context, &e, A, B, NULL, NULL), SPRY_OK);
    assert_int_equal(e.products, (int64_t)N * N);
    assert_int_equal(e.nnz, (int64_t)N * N);
    assert_true(e.result_bytes >= 12 * (int64_t)N * N);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_error err = SPRY_ERROR_INIT;
    o.memory_limit_bytes = (int64_t)1 << 30;
    EXPECT(spry_spgemm(context, &C, NULL, A, B, &o, &err), SPRY_TOO_LARGE, "memory_limit_bytes");
    assert_true(err.value > 12 * (int64_t)N * N);
    o.offset_type = SPRY_I32;
    EXPECT(spry_spgemm(context, &C, NULL, A, B, &o, &err), SPRY_TOO_LARGE, "offset_type");
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    free(rising);
    free(zeros);
    free(row.j);
    free(row.i);
    free(row.value);
    spry_context_destroy(context);
}

/* ---- verification --------------------------------------------------------------------------------------- */

static spry_spgemm_verification verify(spry_context *context, const spry_matrix *C, const spry_matrix *A,
                                       spry_thoroughness how, int drop_zeros)
{
    spry_spgemm_verification found = SPRY_INIT(spry_spgemm_verification);
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.drop_zeros = drop_zeros;
    MUST(spry_spgemm_verify(context, &found, C, A, A, &options, how, err));
    return found;
}

/* Inf in A multiplies only an empty row of B, so no product and no entry of C is infinite or NaN. */
static void infinite_over_nothing(void **unused)
{
    static const int32_t a_offsets[] = {0, 2}, a_columns[] = {0, 1}, b_offsets[] = {0, 0, 1}, b_columns[] = {0};
    static const double a_values[] = {INFINITY, 2}, b_values[] = {3};
    spry_context *context = context_of(1);
    spry_matrix *A = borrow_csr(context, 1, 2, a_offsets, a_columns, a_values);
    spry_matrix *B = borrow_csr(context, 2, 1, b_offsets, b_columns, b_values);
    spry_matrix *C = multiply_matrices(context, A, B, NULL);
    assert_true(((const double *)C->a.values)[0] == 6);
    for (int how = 0; how < 2; how++) {
        spry_spgemm_verification found = SPRY_INIT(spry_spgemm_verification);
        assert_int_equal(spry_spgemm_verify(context, &found, C, A, B, NULL, (spry_thoroughness)how, NULL), SPRY_OK);
        assert_int_equal(found.wrong_rows, 0);
    }
    spry_matrix_destroy(C);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* If alpha is infinite or NaN, entries of alpha*(A*B) are Inf or NaN, and rows without entries remain empty. */
static void alpha_beyond_numbers(void **unused)
{
    static const int32_t offsets[] = {0, 1, 1, 3}, columns[] = {0, 1, 2};
    static const double values[] = {2, 3, -4}, alphas[] = {INFINITY, -INFINITY, NAN};
    spry_context *context = context_of(1);
    spry_matrix *C = NULL;
    spry_matrix *A = borrow_csr(context, 3, 3, offsets, columns, values);
    for (int n = 0; n < 3; n++) {
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.alpha = &alphas[n];
        C = multiply_matrices(context, A, A, &o);
        for (int wrong = 0; wrong < 2; wrong++) {
            if (wrong) ((double *)(uintptr_t)C->a.values)[0] = 1;
            for (int how = 0; how < 2; how++) {
                spry_spgemm_verification found = SPRY_INIT(spry_spgemm_verification);
                assert_int_equal(spry_spgemm_verify(context, &found, C, A, A, &o, (spry_thoroughness)how, NULL),
                                 SPRY_OK);
                assert_int_equal(found.wrong_rows, wrong);
            }
        }
        spry_matrix_destroy(C);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* A has 2^31 - 1 columns, so the offsets of A^T exceed the limit. A*A^T reports the bytes before it builds A^T. */
static void more_rows_than_memory(void **unused)
{
    static const int32_t offsets[] = {0, 1, 2}, columns[] = {0, INT32_MAX - 1};
    static const double values[] = {2, 3};
    spry_context *context = context_of(1);
    spry_matrix *C = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.op_b = SPRY_TRANSPOSE;
    o.memory_limit_bytes = (int64_t)1 << 30;
    spry_matrix *A = borrow_csr(context, 2, INT32_MAX, offsets, columns, values);
    assert_int_equal(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_TOO_LARGE);
    assert_true(err.value > (int64_t)8 << 30 && context_peak_bytes(context) < 1 << 20);
    o.memory_limit_bytes = 0;
    if (spryi_available_memory_bytes() < (int64_t)24 << 30) {
        assert_int_equal(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_OUT_OF_MEMORY);
        assert_true(context_peak_bytes(context) < 1 << 20);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void verification(void **unused)
{
    spry_context *context = context_of(2);
    for (int m = 0; m < TEST_SPECS - 1; m++) {
        spry_matrix *A = test_generate(context, m), *C = test_square(context, A, NULL);
        for (int how = 0; how < 2; how++) {
            const spry_spgemm_verification found = verify(context, C, A, (spry_thoroughness)how, 0);
            if (found.wrong_rows != 0) fail_msg("%s: %g of the bound", test_specs[m], found.max_error);
            assert_int_equal(found.first_misshapen, -1);
        }
        /* one corrupted value; the exact check also detects a change in the last bits */
        double *values = (double *)(uintptr_t)C->a.values;
        int64_t k = C->a.nnz / 3;
        const double kept = values[k];
        values[k] = kept * (1 + 1e-9) + 1e-9;
        assert_int_equal(verify(context, C, A, SPRY_VERIFY_EXACT, 0).wrong_rows, 1);
        assert_int_equal(verify(context, C, A, SPRY_VERIFY_RANDOM, 0).wrong_rows, 1);
        values[k] = kept;
        /* a column that the row does not have, then a missing entry */
        int32_t *columns = (int32_t *)(uintptr_t)C->a.indices;
        while (columns[k] + 1 >= C->a.columns || columns[k + 1] == columns[k] + 1 || columns[k + 1] < columns[k]) k++;
        columns[k]++;
        assert_true(verify(context, C, A, SPRY_VERIFY_EXACT, 0).first_misshapen >= 0);
        assert_true(verify(context, C, A, SPRY_VERIFY_EXACT, 1).first_misshapen >= 0);
        spry_matrix_destroy(C);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(limits),
        cmocka_unit_test(values_change),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(past_32_bits),
        cmocka_unit_test(conversions_are_reported),
        cmocka_unit_test(every_allocation_fails),
        cmocka_unit_test(infinite_over_nothing),
        cmocka_unit_test(alpha_beyond_numbers),
        cmocka_unit_test(more_rows_than_memory),
        cmocka_unit_test(bytes_past_64_bits),
        cmocka_unit_test(verification),
        cmocka_unit_test(pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
