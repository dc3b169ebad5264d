/* y = alpha*A*x + beta*y for CSR arrays without copies: 64-bit offsets, 32-bit columns, values in single precision. */
#include <spry/spry.h>
#include <stdio.h>

int main(void)
{
    /*     4 0 1
     * A = 0 3 0
     *     1 0 2 */
    const int64_t offsets[] = {0, 2, 3, 5};
    const int32_t columns[] = {0, 2, 1, 0, 2};
    const float values[] = {4, 1, 3, 1, 2}, x[] = {1, 2, 3}, alpha = 2, beta = -1;
    float y[] = {1, 1, 1};
    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;

    spry_arrays arrays = SPRY_INIT(spry_arrays);
    arrays.layout = SPRY_CSR;
    arrays.rows = arrays.columns = 3;
    arrays.nnz = offsets[3];
    arrays.offset_type = SPRY_I64;
    arrays.index_type = SPRY_I32;
    arrays.value_type = SPRY_F32;
    arrays.offsets = offsets;
    arrays.indices = columns;
    arrays.values = values;
    arrays.ownership = SPRY_BORROW;

    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "csr"; /* uses the arrays without copies; by default the library chooses a format */

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_create(context, &A, &arrays, &err) != SPRY_OK ||
        spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &err) !=
            SPRY_OK || /* products do not check indices, so check arrays from other sources */
        spry_spmv_plan_create(context, &plan, A, &options, &err) != SPRY_OK ||
        spry_spmv_plan_run(plan, spry_vector_f32(y, 3), &alpha, spry_const_vector_f32(x, 3), &beta, NULL, &err) !=
            SPRY_OK)
        goto done;
    printf("%g %g %g\n", y[0], y[1], y[2]); /* 2*(7 6 7) - (1 1 1) */
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
