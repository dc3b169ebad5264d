static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_sell *s = args->storage;
    const SPRY_J *Aj = s->columns;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t l = 0; l < s->a.rows; l++) {
        int64_t k = s->offsets[l / s->c] + l % s->c, i = spryi_sell_row(s, l);
        SPRY_V sum = 0;
        for (int64_t e = 0; e < s->lengths[l]; e++, k += s->c) sum += Ax ? Ax[k] * x[Aj[k]] : x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}
