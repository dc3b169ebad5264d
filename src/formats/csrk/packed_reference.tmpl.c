static void SPRY_FN(put)(const spryi_run_args *args, int64_t i, SPRY_V sum)
{
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
}

static void SPRY_FN(slice)(const spryi_run_args *args, int64_t k)
{
    const spryi_packed *s = args->storage;
    const SPRY_V *Ax = s->values, *x = args->x;
    SPRY_V sum[SPRYI_PACKED_LANES * SPRYI_PACKED_MOST_BLOCK] = {0};
    spryi_packed_cursor c;
    spryi_packed_open(&c, s, k);
    const uint32_t lanes = spryi_packed_row_mask(&c);
    while (spryi_packed_next(&c))
        for (int l = 0, q = 0; l < SPRYI_PACKED_LANES; l++) {
            if (!(c.mask >> l & 1)) continue;
            for (int e = 0; e < c.b * c.b; e++) {
                const SPRY_V xj = x[c.column[l] * c.b + e % c.b];
                sum[l * c.b + e / c.b] += Ax ? Ax[c.at + (int64_t)e * c.stride + (c.dense ? l : q)] * xj : xj;
            }
            q++;
        }
    for (int l = 0; l < SPRYI_PACKED_LANES; l++)
        for (int r = 0; lanes >> l & 1 && r < c.b; r++)
            SPRY_FN(put)(args, spryi_packed_row(&c, l) + r, sum[l * c.b + r]);
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_packed *s = args->storage;
    const SPRY_J *Aj = s->long_columns;
    const SPRY_V *Ax = s->long_values, *x = args->x;
    for (int64_t k = 0; k < s->slice_count; k++) SPRY_FN(slice)(args, k);
    for (int64_t n = 0; n < s->long_count; n++) {
        SPRY_V sum = 0;
        for (int64_t e = s->pieces[s->long_first[n]]; e < s->pieces[s->long_first[n + 1]]; e++)
            sum += Ax ? Ax[e] * x[Aj[e]] : x[Aj[e]];
        SPRY_FN(put)(args, s->long_rows[n], sum);
    }
    return SPRY_OK;
}
