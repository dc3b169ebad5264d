/*
 * Tests of the policy "measure" on a device with its own memory. Formats are built on the device or on the host, and
 * vectors are in device memory or in host memory.
 */
#include "choices_support.h"
#include "choose/choose.h"
#include "choose/rank.h"
#include "matrix/matrix.h"
#include "mock/mock.h"
#include "spry/tune.h"

/*
 * Builds a plan for B and returns the reason code. If vectors are in host memory, the plan's product must equal A's. If
 * vectors are in device memory, only the trial of the policy runs products.
 */
static spry_reason plan_on_device(spry_context *context, const spry_matrix *B, const spry_matrix *A, spry_op op,
                                  int vectors_on_device)
{
    spry_spmv_options o = measuring(PLENTY);
    spry_error err = SPRY_ERROR_INIT;
    o.device = 1;
    o.vector_device = vectors_on_device ? 1 : SPRY_CPU;
    o.op = op;
    spry_spmv_plan *plan = create_plan(context, B, &o);
    spry_spmv_plan_info info = plan_info(plan);
    if (!vectors_on_device) check_product(context, plan, A, op);
    if (info.reason_code == SPRY_REASON_MEASURED) assert_non_null(strstr(info.reason, " formats in "));
    assert_int_equal(spry_spmv_plan_update(plan, NULL, &err), SPRY_OK);
    if (!vectors_on_device) check_product(context, plan, A, op);
    const spry_reason code = info.reason_code;
    spry_spmv_plan_destroy(plan);
    return code;
}

static void on_a_device(void **state)
{
    for (int converts = 0; converts < 2; converts++) {
        spry_context *context = context_of(2);
        spry_matrix *A = generate_matrix(context, GRID);
        spry_arrays arrays;
        mock.converts = converts;
        spry_matrix *B = matrix_on_device(context, A, &arrays);
        const int64_t blocks = mock.blocks;
        for (int op = 0; op < 2; op++)
            for (int vectors = 0; vectors < 2; vectors++)
                for (int place = 0; place < 2; place++) {
                    const int count = choice_count(context);
                    const spry_matrix *M = place ? B : A;
                    const spry_op asked = op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
                    const int known = op == 1 && place == 1; /* the choice for A^T is the same wherever A is stored */
                    assert_int_equal(plan_on_device(context, M, A, asked, vectors),
                                     known ? SPRY_REASON_REMEMBERED : SPRY_REASON_MEASURED);
                    assert_int_equal(choice_count(context), known ? count : count + 1);
                    assert_int_equal(strncmp(newest(context).device, "mock ", 5), 0);
                    assert_int_equal(plan_on_device(context, M, A, asked, vectors), SPRY_REASON_REMEMBERED);
                    assert_int_equal(mock.blocks, blocks);
                }
        spry_matrix_destroy(B);
        free_on_device(context, &arrays);
        spry_matrix_destroy(A);
        spry_context_destroy(context);
        assert_int_equal(mock.blocks, 0);
    }
    mock.converts = 0;
}

/*
 * Refuses each allocation on the device in turn. Either the plan must be right or the status SPRY_OUT_OF_MEMORY. All
 * memory must be freed.
 */
static void refused_on_device(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "grid5,x=12,y=10");
    for (int64_t n = 1, more = 1; more; n++) {
        spry_spmv_options o = measuring(20000);
        spry_spmv_plan *plan = NULL;
        spry_error err = SPRY_ERROR_INIT;
        o.device = 1;
        o.vector_device = SPRY_CPU;
        const int64_t before = mock.allocations;
        mock.fail_at = before + n;
        const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, &err);
        more = mock.allocations - before >= n;
        mock.fail_at = 0;
        if (status == SPRY_OK)
            check_product(context, plan, A, o.op);
        else
            check_error(status, &err, SPRY_OUT_OF_MEMORY, NULL, __FILE__, __LINE__);
        spry_spmv_plan_destroy(plan);
        assert_int_equal(mock.blocks, 0);
        assert_int_equal(spry_context_clear_choices(context, NULL, NULL), SPRY_OK);
    }
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/*
 * Asserts that, for few products, the row lengths decide which csr kernel is used, for arrays on the host and on the
 * device. For arrays on the device the lengths are not inspected for one short product.
 */
static void few_products_of_device_arrays(void **state)
{
    static const struct {
        const char *spec;
        int64_t calls;
        const char *on_host, *on_device;
    } cases[] = {{"gen:rgg20,scale=16", 1, "csr_vector_cuda", "csr_vector_cuda"},
                 {"gen:arrow,rows=100000", 1, "csr_merge_cuda", "csr_vector_cuda"},
                 {"gen:arrow,rows=100000", 100, "csr_merge_cuda", "csr_merge_cuda"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_context *context = context_of(2);
        const spryi_device_class *h100 = spryi_class_named(context, "h100");
        spry_matrix *A = generate_matrix(context, cases[c].spec);
        spry_arrays arrays;
        spry_matrix *B = matrix_on_device(context, A, &arrays);
        const int64_t copied = mock.copies_back;
        assert_string_equal(spryi_kernel_for_few(A, SPRY_F64, h100, cases[c].calls), cases[c].on_host);
        assert_string_equal(spryi_kernel_for_few(B, SPRY_F64, h100, cases[c].calls), cases[c].on_device);
        assert_int_equal(mock.copies_back, copied); /* no array was copied to the host */
        spry_matrix_destroy(B);
        spry_matrix_destroy(A);
        free_on_device(context, &arrays);
        spry_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_products_of_device_arrays), cmocka_unit_test(on_a_device),
                                       cmocka_unit_test(refused_on_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
