/*
 * Refuses each allocation in turn. The status must be SPRY_OUT_OF_MEMORY, with outputs unchanged and all memory freed.
 */
#include "spry/matrix.h"
#include "spry/tune.h"
#include "support.h"

typedef struct job {
    const sample *s;
    int input;
    const char *kernel;
    spry_layout layout;
    double *y;
} job;

/* ---- jobs ----------------------------------------------------------------------------------------- */

static spry_status create_copy(spry_context *context, const void *input, spry_error *err)
{
    const job *j = input;
    spry_arrays a = sample_arrays(j->s, j->input);
    a.ownership = SPRY_COPY;
    spry_matrix *mark = (spry_matrix *)(uintptr_t)1, *A = mark;
    spry_status status = spry_matrix_create(context, &A, &a, err);
    if (status != SPRY_OK)
        assert_ptr_equal(A, mark);
    else
        spry_matrix_destroy(A);
    return status;
}

/* Creates the matrix in another context with the default allocator, so that only later allocations are refused. */
static spry_matrix *matrix_of(const job *j, spry_context **other)
{
    *other = context_of(2);
    return sample_matrix(*other, j->s, j->input);
}

static spry_status make_plan(spry_context *context, const job *j, spry_matrix *A, spry_spmv_plan **plan,
                             spry_error *err)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.kernel = j->kernel;
    options.memory_limit_bytes = (int64_t)256 << 20; /* replaces the padding guard */
    spry_spmv_plan *mark = (spry_spmv_plan *)(uintptr_t)1;
    *plan = mark;
    spry_status status = spry_spmv_plan_create(context, plan, A, &options, err);
    if (status == SPRY_OK) return status;
    assert_ptr_equal(*plan, mark);
    *plan = NULL;
    return status;
}

static spry_status plan_and_run(spry_context *context, const void *input, spry_error *err)
{
    const job *j = input;
    spry_context *other;
    spry_matrix *A = matrix_of(j, &other);
    spry_spmv_plan *plan;
    spry_status status = make_plan(context, j, A, &plan, err);
    if (status == SPRY_OK) {
        spry_vector x = spry_vector_f64(j->s->x, j->s->cols), y = spry_vector_f64(j->y, j->s->rows);
        status = spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, err);
        if (status == SPRY_OK) assert_true(is_product(j->s, j->input, j->y));
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(other);
    return status;
}

static spry_status one_shot(spry_context *context, const void *input, spry_error *err)
{
    const job *j = input;
    spry_context *other;
    spry_matrix *A = matrix_of(j, &other);
    spry_vector x = spry_vector_f64(j->s->x, j->s->cols), y = spry_vector_f64(j->y, j->s->rows);
    for (int64_t i = 0; i < j->s->rows; i++) j->y[i] = 77;
    spry_status status = spry_spmv(context, y, NULL, A, spry_vector_as_const(x), NULL, err);
    if (status == SPRY_OK) assert_true(is_product(j->s, j->input, j->y));
    for (int64_t i = 0; status != SPRY_OK && i < j->s->rows; i++) assert_true(j->y[i] == 77);
    spry_matrix_destroy(A);
    spry_context_destroy(other);
    return status;
}

static spry_status verify(spry_context *context, const void *input, spry_error *err)
{
    const job *j = input;
    spry_context *other;
    spry_matrix *A = matrix_of(j, &other);
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    v.max_error = 77;
    spry_vector x = spry_vector_f64(j->s->x, j->s->cols), y = spry_vector_f64(j->s->exact, j->s->rows);
    spry_status status = spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, spry_vector_as_const(x), NULL,
                                          spry_const_vector_f64(NULL, 0), spry_vector_as_const(y), err);
    assert_true(status == SPRY_OK ? v.wrong_rows == 0 : v.max_error == 77);
    spry_matrix_destroy(A);
    spry_context_destroy(other);
    return status;
}

static spry_status convert(spry_context *context, const void *input, spry_error *err)
{
    const job *j = input;
    spry_context *other;
    spry_matrix *A = matrix_of(j, &other), *mark = (spry_matrix *)(uintptr_t)1, *B = mark;
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = j->layout;
    spry_status status = spry_matrix_convert(context, &B, NULL, A, &options, err);
    if (status != SPRY_OK)
        assert_ptr_equal(B, mark);
    else
        spry_matrix_destroy(B);
    spry_matrix_destroy(A);
    spry_context_destroy(other);
    return status;
}

/* ---- the tests ------------------------------------------------------------------------------------ */

static sample sample_of_memory; /* has a row that is cut into pieces, so plans need a workspace */
static double *room_for_y;

static int make_sample(void **state)
{
    sample_of_memory = sample_make(60, 40000);
    room_for_y = calloc(60, sizeof *room_for_y);
    return room_for_y == NULL;
}

static int free_sample(void **state)
{
    sample_free(&sample_of_memory);
    free(room_for_y);
    return 0;
}

static void context_itself(void **state)
{
    test_memory h = {0};
    spry_context *made = counted_context(&h, 1); /* asserts that context creation works */
    spry_context_destroy(made);
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.blocks, 0);
}

static void copying_a_matrix(void **state)
{
    for (int input = 0; input < INPUTS; input++) {
        job j = {.s = &sample_of_memory, .input = input};
        assert_int_equal(fail_every_allocation(create_copy, &j, 2), input == 4 ? 3 : 4);
    }
}

static void every_kernels_plan(void **state)
{
    spry_context *context = context_of(1);
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(context, k);
        for (int input = 0; kernel.available && input < INPUTS; input++) {
            if (!TEST_FULL && (k + input) % INPUTS != 0) continue; /* tests one input per kernel */
            job j = {&sample_of_memory, input, kernel.name, SPRY_CSR, room_for_y};
            assert_true(fail_every_allocation(plan_and_run, &j, 2) >= 3); /* at least plan, storage and workspace */
        }
    }
    spry_context_destroy(context);
}

static void one_shots(void **state)
{
    for (int input = 0; input < INPUTS; input++) {
        job j = {&sample_of_memory, input, NULL, SPRY_CSR, room_for_y};
        fail_every_allocation(one_shot, &j, 2);
    }
}

static void verification(void **state)
{
    int64_t refused = 0; /* allocations for all inputs; CSR needs none */
    for (int input = 0; input < 4; input++) {
        job j = {&sample_of_memory, input, NULL, SPRY_CSR, room_for_y};
        refused += fail_every_allocation(verify, &j, 2);
    }
    assert_true(refused >= 1);
}

static void conversion(void **state)
{
    for (int input = 0; input < INPUTS; input++)
        for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++) {
            job j = {&sample_of_memory, input, NULL, (spry_layout)layout, room_for_y};
            assert_true(fail_every_allocation(convert, &j, 2) >= 3);
        }
}

/* Refuses each allocation of an update. The plan's info and product must not change. */
static void update_of_values(void **state)
{
    const sample *s = &sample_of_memory;
    for (int input = 0; input < 4; input++)
        for (int64_t n = 1, refused = 1; refused; n++) {
            test_memory h = {0};
            spry_context *context = counted_context(&h, 2);
            spry_matrix *A = sample_matrix(context, s, input);
            spry_spmv_plan *plan = create_plan(context, A, NULL);
            int64_t held = context_bytes(context);
            fail_call(&h, n, 1);
            spry_error err = {0};
            spry_status status = spry_spmv_plan_update(plan, NULL, &err);
            refused = call_failed(&h);
            if (refused) check_error(status, &err, SPRY_OUT_OF_MEMORY, NULL, __FILE__, __LINE__);
            if (!refused) assert_int_equal(status, SPRY_OK);
            assert_int_equal(context_bytes(context), held);
            spry_vector x = spry_vector_f64(s->x, s->cols), y = spry_vector_f64(room_for_y, s->rows);
            assert_int_equal(spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, NULL), SPRY_OK);
            assert_true(is_product(s, input, room_for_y));
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(A);
            assert_int_equal(context_bytes(context), 0);
            spry_context_destroy(context);
            assert_int_equal(h.blocks, 0);
            assert_int_equal(h.faults, 0);
        }
}

static void measuring(void **state)
{
    sample s = sample_make(30, 20);
    test_memory h = {0};
    spry_context *context = counted_context(&h, 1);
    spry_matrix *A = sample_matrix(context, &s, 0);
    spry_spmv_plan *plan = create_plan(context, A, NULL);
    int64_t held = context_bytes(context), refused = 0;
    for (int64_t n = 1;; n++) {
        fail_call(&h, n, 1);
        spry_measurement m = SPRY_INIT(spry_measurement);
        m.median_us = -77;
        spry_error err = {0};
        spry_status status = spry_spmv_plan_measure(plan, &m, &err);
        assert_int_equal(context_bytes(context), held);
        if (!call_failed(&h)) {
            assert_int_equal(status, SPRY_OK);
            break;
        }
        check_error(status, &err, SPRY_OUT_OF_MEMORY, NULL, __FILE__, __LINE__);
        assert_true(m.median_us == -77);
        refused++;
    }
    assert_int_equal(refused, 2); /* one allocation per vector */
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    assert_int_equal(h.blocks, 0);
    sample_free(&s);
}

/* Asserts that runs never call the context's allocation functions. */
static void running_allocates_nothing(void **state)
{
    const sample *s = &sample_of_memory;
    test_memory h = {0};
    spry_context *context = counted_context(&h, 2);
    for (int k = 0; k < spmv_kernel_count(); k++) {
        spry_kernel_info kernel = kernel_info(context, k);
        if (!kernel.available) continue;
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.kernel = kernel.name;
        options.memory_limit_bytes = (int64_t)256 << 20; /* replaces the padding guard */
        spry_matrix *A = sample_matrix(context, s, 0);
        spry_spmv_plan *plan = create_plan(context, A, &options);
        int64_t calls = h.calls, blocks = h.blocks, peak = context_peak_bytes(context);
        spry_vector x = spry_vector_f64(s->x, s->cols), y = spry_vector_f64(room_for_y, s->rows);
        for (int n = 0; n < 3; n++) {
            double alpha = n == 2 ? 0 : 2, beta = n;
            assert_int_equal(spry_spmv_plan_run(plan, y, &alpha, spry_vector_as_const(x), &beta, NULL, NULL), SPRY_OK);
        }
        assert_int_equal(h.calls, calls);
        assert_int_equal(h.blocks, blocks);
        assert_int_equal(context_peak_bytes(context), peak);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
    assert_int_equal(context_bytes(context), 0);
    assert_true(context_peak_bytes(context) > 0);
    spry_context_destroy(context);
    assert_int_equal(h.blocks, 0);
    assert_int_equal(h.faults, 0);
}

/* Allocation function that refuses the first block, which the context itself needs. */
static void *refuse(void *user, size_t bytes, size_t alignment)
{
    ++*(int *)user;
    return NULL;
}
static void never(void *user, void *pointer, size_t bytes)
{
    *(int *)user = -1000;
}

static void context_refused(void **state)
{
    int calls = 0;
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.allocate = refuse;
    options.release = never;
    options.user = &calls;
    spry_context *mark = (spry_context *)(uintptr_t)1, *context = mark;
    expect_error(spry_context_create(&context, &options, &err), SPRY_OUT_OF_MEMORY, NULL);
    assert_ptr_equal(context, mark);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_itself),   cmocka_unit_test(context_refused),
        cmocka_unit_test(copying_a_matrix), cmocka_unit_test(every_kernels_plan),
        cmocka_unit_test(one_shots),        cmocka_unit_test(verification),
        cmocka_unit_test(conversion),       cmocka_unit_test(update_of_values),
        cmocka_unit_test(measuring),        cmocka_unit_test(running_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, make_sample, free_sample);
}
