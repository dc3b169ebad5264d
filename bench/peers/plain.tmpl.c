/* The loop for one set of types. V: values. P: offsets. I: columns. NAME(verb): name of the function. */

static void NAME(multiply)(const spry_peer_matrix *a, double alpha, const void *x_data, double beta, void *y_data)
{
    const P *Ap = a->offsets;
    const I *Aj = a->columns;
    const V *Ax = a->values, *x = x_data;
    V *y = y_data;
    for (int64_t i = 0; i < a->rows; i++) {
        V sum = 0;
        for (P k = Ap[i]; k < Ap[i + 1]; k++) sum += Ax[k] * x[Aj[k]];
        y[i] = beta == 0 ? (V)alpha * sum : (V)alpha * sum + (V)beta * y[i];
    }
}

static void NAME(transposed)(const spry_peer_matrix *a, double alpha, const void *x_data, double beta, void *y_data)
{
    const P *Ap = a->offsets;
    const I *Aj = a->columns;
    const V *Ax = a->values, *x = x_data;
    V *y = y_data;
    for (int64_t j = 0; j < a->cols; j++) y[j] = beta == 0 ? 0 : (V)beta * y[j];
    for (int64_t i = 0; i < a->rows; i++)
        for (P k = Ap[i]; k < Ap[i + 1]; k++) y[Aj[k]] += (V)alpha * Ax[k] * x[i];
}

#undef V
#undef P
#undef I
#undef NAME
