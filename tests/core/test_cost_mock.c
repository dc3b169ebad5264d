/*
 * Tests of the costs of plans on a device with its own memory. The plan owns its copies on the device, and the
 * predicted time includes transfers.
 */
#include "mock/mock.h"
#include "plan/plan.h"
#include "spry/cuda.h"
#include "spry/tune.h"
#include "support.h"

static spry_spmv_plan_info info_with(spry_context *context, const spry_matrix *A, spry_spmv_options o)
{
    spry_spmv_plan *plan = create_plan(context, A, &o);
    spry_spmv_plan_info info = plan_info(plan);
    spry_spmv_plan_destroy(plan);
    return info;
}

static void on_a_device(void **state)
{
    static const char *const formats[] = {"csr", "coo", "csr2", "ell", "sell"};
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "grid5,x=70,y=50");
    const int64_t vectors = 8 * (spry_matrix_rows(A) + spry_matrix_columns(A)), blocks = mock.blocks;
    for (int converts = 0; converts < 2; converts++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            spryi_storage figure = {0};
            spry_error err = SPRY_ERROR_INIT;
            spry_spmv_plan *plan = NULL;
            mock.converts = converts;
            o.device = o.vector_device = 1;
            o.format = formats[f];
            o.memory_limit_bytes = INT64_MAX;
            const spry_spmv_plan_info on_device = info_with(context, A, o);
            const int64_t stored = on_device.storage_bytes + on_device.workspace_bytes;
            assert_int_equal(on_device.owned_bytes, stored + 64); /* the mock allocates 64 bytes for a kernel */
            assert_true(on_device.predicted_us > 0 && on_device.baseline_us > 0);
            assert_int_equal(on_device.break_even_calls == 0, f == 0);
            assert_int_equal(spryi_predict_storage(context, &figure, A, &o, NULL), SPRY_OK);
            assert_int_equal(figure.owned_bytes, figure.bytes);
            o.vector_device = SPRY_CPU;
            const spry_spmv_plan_info host = info_with(context, A, o);
            assert_int_equal(host.owned_bytes, on_device.owned_bytes + vectors);
            assert_true(host.predicted_us > on_device.predicted_us);
            o.memory_limit_bytes = host.owned_bytes;
            (void)info_with(context, A, o);
            o.memory_limit_bytes--; /* one byte less than storage and copies of x and y need */
            assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
            assert_string_equal(err.argument, "memory_limit_bytes");
            assert_true(err.value == host.owned_bytes && err.limit == host.owned_bytes - 1);
            o.memory_limit_bytes = figure.bytes - 1;
            assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
            assert_true(err.value >= host.owned_bytes && err.limit == figure.bytes - 1);
            assert_int_equal(mock.blocks, blocks);
        }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static const void *on_the_device(spry_context *context, const void *host, int64_t bytes)
{
    void *on_device = NULL;
    assert_int_equal(spry_device_allocate(context, &on_device, 1, bytes, NULL), SPRY_OK);
    assert_int_equal(spry_device_copy(context, on_device, 1, host, 0, bytes, NULL, NULL), SPRY_OK);
    return on_device;
}

/* Plans from arrays in device memory. csr borrows the arrays; csr2 copies them, so the plan owns the copy. */
static void arrays_on_device(void **state)
{
    spry_context *context = context_of(1);
    sample s = sample_make(300, 200);
    spry_arrays a = sample_arrays(&s, 0);
    a.offsets = on_the_device(context, s.offsets, 4 * (s.rows + 1));
    a.indices = on_the_device(context, s.columns, 4 * s.nnz);
    a.values = on_the_device(context, s.values, 8 * s.nnz);
    a.device = 1;
    spry_matrix *A = create_matrix(context, &a);
    for (int converts = 0; converts < 2; converts++)
        for (int f = 0; f < 2; f++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            mock.converts = converts;
            o.format = f == 0 ? "csr" : "csr2";
            o.memory_limit_bytes = INT64_MAX;
            const spry_spmv_plan_info info = info_with(context, A, o);
            const int64_t own = info.workspace_bytes + 64;
            assert_int_equal(info.owned_bytes, f == 0 ? own : own + info.storage_bytes);
            assert_true(info.predicted_us > 0);
            o.memory_limit_bytes = info.owned_bytes;
            (void)info_with(context, A, o);
        }
    spry_matrix_destroy(A);
    spry_device_free(context, 1, (void *)(uintptr_t)a.offsets);
    spry_device_free(context, 1, (void *)(uintptr_t)a.indices);
    spry_device_free(context, 1, (void *)(uintptr_t)a.values);
    sample_free(&s);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_a_device), cmocka_unit_test(arrays_on_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
