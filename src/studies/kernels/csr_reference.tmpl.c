static spry_status SPRY_FN(gather)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_csr *s = args->storage;
    const SPRY_P *Ap = s->a.offsets;
    const SPRY_J *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0; i < s->a.rows; i++) {
        SPRY_V sum = 0;
        for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) sum += Ax ? Ax[k] * x[Aj[k]] : x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}

static spry_status SPRY_FN(scatter)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_csr *s = args->storage;
    const SPRY_P *Ap = s->a.offsets;
    const SPRY_J *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y, *sums = args->workspace; /* of s->a.cols numbers at least */
    for (int64_t j = 0; j < s->a.cols; j++) sums[j] = 0;
    for (int64_t i = 0; i < s->a.rows; i++)
        for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) sums[Aj[k]] += Ax ? Ax[k] * x[i] : x[i];
    for (int64_t j = 0; j < s->a.cols; j++) y[j] = beta == 0 ? alpha * sums[j] : alpha * sums[j] + beta * y[j];
    return SPRY_OK;
}
