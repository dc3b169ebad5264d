static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_ell *s = args->storage;
    const SPRY_J *Aj = s->columns;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0; i < s->a.rows; i++) {
        SPRY_V sum = 0;
        for (int64_t k = i; k < s->lengths[i] * s->a.rows + i; k += s->a.rows) sum += Ax[k] * x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}
