/* Y = A*X for eight vectors in row-major order: the eight elements of a row of X are adjacent. */
#include <spry/spry.h>
#include <stdio.h>

enum { N = 3, COLUMNS = 8 };

int main(void)
{
    const int32_t offsets[] = {0, 2, 3, 5}, columns[] = {0, 2, 1, 0, 2};
    const double values[] = {4, 1, 3, 1, 2};
    double X[N][COLUMNS], Y[N][COLUMNS];
    for (int i = 0; i < N; i++)
        for (int c = 0; c < COLUMNS; c++) X[i][c] = (i + 1) * (c + 1);
    const spry_const_vector x =
        {.data = X, .length = N, .count = COLUMNS, .row_stride = COLUMNS, .column_stride = 1, .type = SPRY_F64};
    const spry_vector y =
        {.data = Y, .length = N, .count = COLUMNS, .row_stride = COLUMNS, .column_stride = 1, .type = SPRY_F64};
    spry_context *context = NULL;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.count = COLUMNS;
    options.row_major = 1;

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_borrow_csr_f64(context, &A, N, N, offsets, columns, values, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, &options, &err) != SPRY_OK ||
        spry_spmv_plan_run(plan, y, NULL, x, NULL, NULL, &err) != SPRY_OK)
        goto done;
    for (int i = 0; i < N; i++)
        for (int c = 0; c < COLUMNS; c++) printf("%g%c", Y[i][c], c == COLUMNS - 1 ? '\n' : ' ');
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
