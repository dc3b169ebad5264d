static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_coo *s = args->storage;
    const SPRY_J *Ai = s->a.row_indices, *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    spryi_scale(y, s->a.value_type, 0, s->a.rows, (double)beta);
    if (!isfinite(alpha)) spryi_coo_spoil_empty_rows(s, y);
    for (int64_t k = 0; k < s->a.nnz;) {
        SPRY_J row = Ai[k];
        SPRY_V sum = 0;
        for (; k < s->a.nnz && Ai[k] == row; k++) sum += Ax[k] * x[Aj[k]];
        y[row] += alpha * sum;
    }
    return SPRY_OK;
}
