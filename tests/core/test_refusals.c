/* Tests of refusals: the message names the wrong argument and no other. */
#include "plan/plan.h"
#include "spry/cuda.h"
#include "spry/io.h"
#include "spry/tune.h"
#include "support.h"

static spry_context *context;
static spry_matrix *A;
static sample small;

static int begin(void **state)
{
    context = context_of(1);
    small = sample_make(20, 30);
    A = sample_matrix(context, &small, 0);
    return 0;
}

static int end(void **state)
{
    spry_matrix_destroy(A);
    sample_free(&small);
    spry_context_destroy(context);
    return 0;
}

/* Asserts that the storage prediction refuses invalid options. */
static void bad_predictions(void **state)
{
    spryi_storage storage = {0};
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.format = "csr";
    o.op = (spry_op)7;
    expect_error(spryi_predict_storage(context, &storage, A, &o, &err), SPRY_INVALID_ARGUMENT, "op");
    o.op = SPRY_NO_TRANSPOSE;
    o.vector_type = (spry_type)9;
    expect_error(spryi_predict_storage(context, &storage, A, &o, &err), SPRY_INVALID_ARGUMENT, "vector_type");
    assert_null(storage.format);
}

/* Asserts that a message names the wrong argument, and no other argument or device. */
static void messages_name_what_is_wrong(void **state)
{
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    void *data = NULL;
    assert_int_equal(spry_spmv_plan_create(context, NULL, A, NULL, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.message, "plan is NULL, expected a pointer");
    o.memory_limit_bytes = -5;
    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.message, "memory_limit_bytes is -5, expected 0 or more");
    assert_int_equal(spry_device_allocate(context, &data, 1, -8, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.message, "bytes is -8, expected 0 or more");
    spry_device_info gpu = SPRY_INIT(spry_device_info);
    assert_int_equal(spry_device_get_info(context, &gpu, 1, NULL), SPRY_OK);
    if (gpu.available) return;
    assert_int_equal(spry_device_allocate(context, &data, 1, 8, &err), SPRY_DEVICE_UNAVAILABLE);
    assert_non_null(strstr(err.message, "device cuda cannot be used: "));
    assert_int_equal(spry_device_allocate(context, &data, 5, 8, &err), SPRY_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "device is 5, but there is no GPU that can be used: "));
}

static void unknown_index_types(void **state)
{
    spry_matrix *B = NULL;
    spry_read_options o = SPRY_INIT(spry_read_options);
    o.offset_type = (spry_index_type)9;
    expect_error(spry_matrix_read_memory(context, &B, "", 0, "text", &o, &err), SPRY_INVALID_ARGUMENT, "offset_type");
    o.index_type = SPRY_I64;
    o.offset_type = SPRY_I32;
    expect_error(spry_matrix_read_memory(context, &B, "", 0, "text", &o, &err), SPRY_INVALID_ARGUMENT, "index_type");
    assert_null(B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_predictions),
        cmocka_unit_test(unknown_index_types),
        cmocka_unit_test(messages_name_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
