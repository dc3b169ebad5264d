#include "support.h"

#include "catalogue/catalogue.h"
#include "matrix/matrix.h"

sketch sketch_of(int64_t rows, int64_t cols)
{
    sketch k = {rows, cols, 0, 0, calloc((size_t)rows + 1, 4), malloc(SKETCH_ROOM * 4), malloc(SKETCH_ROOM * 8)};
    assert_true(k.Ap && k.Aj && k.Ax);
    return k;
}

void sketch_put(sketch *k, int64_t row, int64_t column)
{
    assert_true(k->nnz < SKETCH_ROOM && row < k->rows && column >= 0 && column < k->cols && row + 1 >= k->begun);
    while (k->begun <= row) k->Ap[k->begun++] = (int32_t)k->nnz;
    k->Aj[k->nnz] = (int32_t)column;
    k->Ax[k->nnz] = (double)(k->nnz % 1021 + 1);
    k->nnz++;
}

void sketch_finish(sketch *k)
{
    while (k->begun <= k->rows) k->Ap[k->begun++] = (int32_t)k->nnz;
}

void sketch_free(sketch *k)
{
    free(k->Ap);
    free(k->Aj);
    free(k->Ax);
}

double *sketch_x(const sketch *k)
{
    double *x = malloc((size_t)(k->cols + 1) * 8);
    assert_non_null(x);
    for (int64_t j = 0; j < k->cols; j++) x[j] = NAN;
    for (int64_t e = 0; e < k->nnz; e++) x[k->Aj[e]] = k->Aj[e] % 7 - 3;
    return x;
}

void check_sketch_product(const sketch *k, const double *x, const double *y, const char *kernel)
{
    for (int64_t i = 0; i < k->rows; i++) {
        double sum = 0;
        for (int32_t e = k->Ap[i]; e < k->Ap[i + 1]; e++) sum += k->Ax[e] * x[k->Aj[e]];
        if (y[i] != sum) fail_msg("%s: row %lld: %g instead of %g", kernel, (long long)i, y[i], sum);
    }
}

void check_sketch(const sketch *k, spry_matrix *back)
{
    assert_int_equal(back->a.nnz, k->nnz);
    assert_memory_equal(back->a.offsets, k->Ap, (size_t)(k->rows + 1) * 4);
    if (k->nnz > 0) assert_memory_equal(back->a.indices, k->Aj, (size_t)k->nnz * 4);
    if (k->nnz > 0) assert_memory_equal(back->a.values, k->Ax, (size_t)k->nnz * 8);
    spry_matrix_destroy(back);
}

int kernel_is_here(const char *name)
{
    spry_context *context = context_of(0);
    const char *reason;
    const spryi_kernel *kernel = spryi_find_kernel(name);
    const int here = kernel && spryi_kernel_available(context, kernel, &reason);
    spry_context_destroy(context);
    return here;
}

spry_spmv_plan *plan_in(spry_context *context, const spry_matrix *A, const char *format, const char *kernel, spry_op op)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.threads = context_threads(context);
    options.format = format;
    options.kernel = kernel;
    options.op = op;
    options.memory_limit_bytes = (int64_t)1 << 30;
    options.keep_value_type = true;
    return create_plan(context, A, &options);
}
