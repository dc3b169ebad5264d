/* Sums in the workspace, then y from them. */
static void SPRY_FN(finish)(const spryi_run_args *args, const SPRY_V *t, int64_t length)
{
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0; i < length; i++) y[i] = beta == 0 ? alpha * t[i] : alpha * t[i] + beta * y[i];
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_scoo *s = args->storage;
    const SPRY_P *Ap = s->offsets;
    const SPRY_J *Aj = s->columns;
    const uint16_t *Ai = s->rows;
    const SPRY_V *Ax = s->values, *x = args->x;
    SPRY_V *t = args->workspace;
    for (int64_t i = 0; i < s->head.rows; i++) t[i] = 0;
    for (int64_t b = 0; b < s->head.slices; b++)
        for (int64_t k = Ap[b]; k < Ap[b + 1]; k++) t[b * s->head.height + Ai[k]] += Ax[k] * x[Aj[k]];
    SPRY_FN(finish)(args, t, s->head.rows);
    return SPRY_OK;
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_scoo *s = args->storage;
    const SPRY_P *Ap = s->offsets;
    const SPRY_J *Aj = s->columns;
    const uint16_t *Ai = s->rows;
    const SPRY_V *Ax = s->values, *x = args->x;
    SPRY_V *t = args->workspace;
    for (int64_t j = 0; j < s->head.cols; j++) t[j] = 0;
    for (int64_t b = 0; b < s->head.slices; b++)
        for (int64_t k = Ap[b]; k < Ap[b + 1]; k++) t[Aj[k]] += Ax[k] * x[b * s->head.height + Ai[k]];
    SPRY_FN(finish)(args, t, s->head.cols);
    return SPRY_OK;
}
