#include <spry/spry.h>
#include <stdio.h>

int main(void)
{
    int32_t offsets[] = {0, 2, 3, 5}, columns[] = {0, 2, 1, 0, 2};
    double values[] = {4, 1, 3, 1, 2}, x[] = {1, 2, 3}, y[3];
    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_borrow_csr_f64(context, &A, 3, 3, offsets, columns, values, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, NULL, &err) != SPRY_OK ||
        spry_spmv_plan_run(plan, NULL, spry_vector_f64(x, 3), NULL, spry_vector_f64(y, 3), NULL, &err) != SPRY_OK)
        goto done;
    printf("%g\n%g\n%g\n", y[0], y[1], y[2]); /* y = A*x = 7 6 7 */

    values[0] = 400; /* A plan may hold a copy of the values, so after a change it has to be told. */
    if (spry_spmv_plan_update(plan, &err) != SPRY_OK ||
        spry_spmv_plan_run(plan, NULL, spry_vector_f64(x, 3), NULL, spry_vector_f64(y, 3), NULL, &err) != SPRY_OK)
        goto done;
    printf("%g\n%g\n%g\n", y[0], y[1], y[2]); /* 403 6 7 */
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
