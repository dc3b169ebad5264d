static spry_status SPRY_FN(gather)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_csr *s = args->storage;
    const SPRY_P *Ap = s->a.offsets;
    const SPRY_J *Aj = s->a.indices;
    const SPRY_S *Ax = s->a.values;
    const SPRY_V *x = args->x;
    const SPRY_C alpha = (SPRY_C) * (const SPRY_V *)args->alpha, beta = (SPRY_C) * (const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0; i < s->a.rows; i++) {
        SPRY_C sum = 0;
        for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) sum += Ax ? SPRY_VALUE(Ax[k]) * (SPRY_C)x[Aj[k]] : (SPRY_C)x[Aj[k]];
        y[i] = (SPRY_V)(beta == 0 ? alpha * sum : alpha * sum + beta * (SPRY_C)y[i]);
    }
    return SPRY_OK;
}

static spry_status SPRY_FN(scatter)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_csr *s = args->storage;
    const SPRY_P *Ap = s->a.offsets;
    const SPRY_J *Aj = s->a.indices;
    const SPRY_S *Ax = s->a.values;
    const SPRY_V *x = args->x;
    const SPRY_C alpha = (SPRY_C) * (const SPRY_V *)args->alpha, beta = (SPRY_C) * (const SPRY_V *)args->beta;
    SPRY_V *y = args->y, *sums = args->workspace; /* at least s->a.columns elements */
    for (int64_t j = 0; j < s->a.columns; j++) sums[j] = 0;
    for (int64_t i = 0; i < s->a.rows; i++)
        for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
            sums[Aj[k]] = (SPRY_V)((SPRY_C)sums[Aj[k]] + (Ax ? SPRY_VALUE(Ax[k]) * (SPRY_C)x[i] : (SPRY_C)x[i]));
    for (int64_t j = 0; j < s->a.columns; j++) {
        const SPRY_C sum = (SPRY_C)sums[j];
        y[j] = (SPRY_V)(beta == 0 ? alpha * sum : alpha * sum + beta * (SPRY_C)y[j]);
    }
    return SPRY_OK;
}
