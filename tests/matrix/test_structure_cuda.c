/*
 * Compares the checks of a matrix's structure on a GPU and on the host. Both must find the same faults, with the same
 * message. Skipped without a GPU.
 */
#include "base/types.h"
#include "spry/cuda.h"
#include "support.h"

enum { GPU = 1 };

/* Copies indices to the GPU in the given type. */
static void *on_gpu(spry_context *context, const int64_t *numbers, int64_t count, spry_index_type type)
{
    const int64_t bytes = count * (int64_t)spryi_index_type_bytes(type);
    int32_t *const narrow = malloc((size_t)count * sizeof *narrow + 1);
    void *on_device = NULL;
    for (int64_t k = 0; k < count; k++) narrow[k] = (int32_t)numbers[k];
    MUST(spry_device_allocate(context, &on_device, GPU, bytes, err));
    MUST(spry_device_copy(context, on_device, GPU, type == SPRY_I32 ? (const void *)narrow : numbers, 0, bytes, NULL,
                          err));
    MUST(spry_device_synchronize(context, GPU, NULL, err));
    free(narrow);
    return on_device;
}

static spry_status check(spry_context *context, spry_arrays arrays, spry_error *err)
{
    spry_matrix *A = create_matrix(context, &arrays);
    const spry_status status = spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, err);
    spry_matrix_destroy(A);
    return status;
}

/* Checks a matrix on the host and on the GPU. The host uses 64-bit indices; the GPU also uses 32-bit indices. */
static void compare(spry_context *context, int64_t rows, int64_t cols, int64_t *offsets, int64_t *indices, int64_t nnz,
                    int sound)
{
    static const spry_index_type types[][2] = {{SPRY_I32, SPRY_I32}, {SPRY_I64, SPRY_I32}, {SPRY_I64, SPRY_I64}};
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSR;
    a.rows = rows, a.columns = cols, a.nnz = nnz;
    a.value_type = SPRY_PATTERN;
    a.offset_type = a.index_type = SPRY_I64;
    a.offsets = offsets, a.indices = indices;
    spry_error host = SPRY_ERROR_INIT, gpu = SPRY_ERROR_INIT;
    assert_int_equal(sound ? SPRY_OK : SPRY_INVALID_MATRIX, check(context, a, &host));
    for (int t = 0; t < 3; t++) {
        spry_arrays on_device = a;
        void *const first = on_gpu(context, offsets, rows + 1, types[t][0]);
        void *const second = on_gpu(context, indices, nnz, types[t][1]);
        on_device.device = GPU;
        on_device.offset_type = types[t][0], on_device.index_type = types[t][1];
        on_device.offsets = first, on_device.indices = second;
        assert_int_equal(host.status, check(context, on_device, &gpu));
        assert_string_equal(host.message, gpu.message);
        spry_device_free(context, GPU, first);
        spry_device_free(context, GPU, second);
    }
}

static void finds_what_the_host_finds(void **state)
{
    enum { ROWS = 70000, EACH = 3, COLS = 50000, NNZ = ROWS * EACH };
    spry_context *context = context_of(0);
    int64_t *const offsets = malloc((ROWS + 1) * sizeof *offsets), *const indices = malloc(NNZ * sizeof *indices);
    for (int64_t i = 0; i <= ROWS; i++) offsets[i] = i * EACH;
    for (int64_t k = 0; k < NNZ; k++) indices[k] = (k * 7919) % COLS;
    compare(context, ROWS, COLS, offsets, indices, NNZ, 1);
    static const int64_t places[] = {0, 1, 131071, NNZ - 1}, wrong[] = {-1, COLS, INT32_MAX, INT32_MIN};
    for (int p = 0; p < TEST_COUNT(places); p++)
        for (int w = 0; w < TEST_COUNT(wrong); w++) {
            const int64_t before = indices[places[p]];
            indices[places[p]] = wrong[w];
            compare(context, ROWS, COLS, offsets, indices, NNZ, 0);
            indices[places[p]] = before;
        }
    static const int64_t rows[] = {1, 40000, ROWS - 1};
    for (int r = 0; r < TEST_COUNT(rows); r++) {
        offsets[rows[r]] += 2 * EACH + 1;
        compare(context, ROWS, COLS, offsets, indices, NNZ, 0);
        offsets[rows[r]] -= 2 * EACH + 1;
    }
    compare(context, ROWS, COLS, offsets, indices, NNZ, 1);
    compare(context, 0, COLS, offsets, indices, 0, 1);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
    free(offsets);
    free(indices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_what_the_host_finds)};
    return has_gpu() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
