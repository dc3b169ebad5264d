/* y = A*x and z = A^T*y for a rectangular matrix, with one plan per direction. */
#include <spry/spry.h>
#include <stdio.h>

int main(void)
{
    /* A = 1 2 0
     *     0 3 4 */
    const int32_t offsets[] = {0, 2, 4}, columns[] = {0, 1, 1, 2};
    const double values[] = {1, 2, 3, 4}, x[] = {1, 1, 1};
    double y[2], z[3];
    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_spmv_plan *forth = NULL, *back = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options transposed = SPRY_INIT(spry_spmv_options);
    transposed.op = SPRY_TRANSPOSE;

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_borrow_csr_f64(context, &A, 2, 3, offsets, columns, values, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &forth, A, NULL, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &back, A, &transposed, &err) != SPRY_OK ||
        spry_spmv_plan_run(forth, spry_vector_f64(y, 2), NULL, spry_const_vector_f64(x, 3), NULL, NULL, &err) !=
            SPRY_OK ||
        spry_spmv_plan_run(back, spry_vector_f64(z, 3), NULL, spry_const_vector_f64(y, 2), NULL, NULL, &err) != SPRY_OK)
        goto done;
    printf("%g %g\n%g %g %g\n", y[0], y[1], z[0], z[1], z[2]); /* 3 7, and 3 27 28 */
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spmv_plan_destroy(back);
    spry_spmv_plan_destroy(forth);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
