#include "support.h"
#include "spry/matrix.h"

spry_context *context;

int set_up(void **state)
{
    return open_context((void **)&context);
}

int tear_down(void **state)
{
    return close_context((void **)&context);
}

dense dense_make(int n)
{
    dense d = {n, calloc((size_t)n * (size_t)n + 1, sizeof *d.a)};
    if (!d.a) abort();
    return d;
}

void dense_free(dense *d)
{
    free(d->a);
    *d = (dense){0};
}

void dense_solve(const dense *d, const double *b, double *x)
{
    int n = d->n;
    dense w = dense_make(n);
    memcpy(w.a, d->a, (size_t)n * (size_t)n * sizeof *w.a);
    memcpy(x, b, (size_t)n * sizeof *x);
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c + 1; i < n; i++)
            if (fabs(w.a[i * n + c]) > fabs(w.a[pivot * n + c])) pivot = i;
        assert_true(w.a[pivot * n + c] != 0);
        for (int j = 0; j < n; j++) {
            double swap = w.a[c * n + j];
            w.a[c * n + j] = w.a[pivot * n + j];
            w.a[pivot * n + j] = swap;
        }
        double swap = x[c];
        x[c] = x[pivot];
        x[pivot] = swap;
        for (int i = c + 1; i < n; i++) {
            double factor = w.a[i * n + c] / w.a[c * n + c];
            for (int j = c; j < n; j++) w.a[i * n + j] -= factor * w.a[c * n + j];
            x[i] -= factor * x[c];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) x[i] -= w.a[i * n + j] * x[j];
        x[i] /= w.a[i * n + i];
    }
    dense_free(&w);
}

spry_matrix *sparse_of(spry_context *context, const dense *d, spry_layout layout, spry_type type)
{
    int n = d->n, most = n * n + 1;
    int32_t *rows = calloc((size_t)most, 4), *cols = calloc((size_t)most, 4);
    double *f64 = calloc((size_t)most, 8);
    float *f32 = calloc((size_t)most, 4);
    if (!rows || !cols || !f64 || !f32) abort();
    int64_t nnz = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (d->a[i * n + j] == 0) continue;
            rows[nnz] = i;
            cols[nnz] = j;
            f32[nnz] = (float)d->a[i * n + j];
            f64[nnz++] = d->a[i * n + j];
        }
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_COO;
    a.rows = a.columns = n;
    a.nnz = nnz;
    a.index_type = SPRY_I32;
    a.value_type = type;
    a.row_indices = rows;
    a.indices = cols;
    if (type != SPRY_PATTERN) a.values = type == SPRY_F32 ? (void *)f32 : (void *)f64;
    spry_matrix_options convert = SPRY_INIT(spry_matrix_options);
    convert.layout = layout;
    spry_matrix *coo = create_matrix(context, &a);
    spry_matrix *A = convert_matrix(context, coo, &convert);
    spry_matrix_destroy(coo);
    free(rows);
    free(cols);
    free(f64);
    free(f32);
    return A;
}

spry_vector vector_of(spry_context *own, const double *values, int n, spry_type type)
{
    spry_vector v = create_vector(own, n, type, 0);
    for (int i = 0; i < n; i++) set_entry(&v, i, values[i]);
    return v;
}

double entry(const spry_vector *v, int64_t i)
{
    return v->type == SPRY_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

void set_entry(const spry_vector *v, int64_t i, double value)
{
    if (v->type == SPRY_F32)
        ((float *)v->data)[i] = (float)value;
    else
        ((double *)v->data)[i] = value;
}

double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 2147483648.0;
}

double distance(const spry_vector *x, const double *y)
{
    double most = 0;
    for (int64_t i = 0; i < x->length; i++) {
        double at = x->type == SPRY_F32 ? (double)((float *)x->data)[i] : ((double *)x->data)[i];
        if (!(fabs(at - y[i]) <= most)) most = fabs(at - y[i]);
    }
    return most;
}

void expect_status(spry_status got, const spry_error *err, spry_status wanted, const char *text)
{
    if (got != wanted || (got != SPRY_OK && (err->status != got || !strstr(err->message, text))))
        fail_msg("status %d, expected %d with '%s'; message '%s'", (int)got, (int)wanted, text, err->message);
}

spry_status solve_by_products(spry_context *own, spry_vector x, spry_cg_result *result, const spry_operator *A,
                              spry_const_vector b, const spry_cg_options *options, spry_error *err)
{
    spry_cg_options o = options ? *options : SPRY_INIT(spry_cg_options);
    o.products = A;
    return spry_cg(own, x, result, NULL, b, &o, err);
}
