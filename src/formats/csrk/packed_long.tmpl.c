/*
 * What all kernels of packed on the CPU share: long rows from the sums of their pieces, and the transposed product,
 * which goes through the slices one slot after the other (formats/ell/windows.h).
 */

static void SPRY_FN(long_rows)(const spryi_packed_job *job, int64_t begin, int64_t end)
{
    const spryi_packed *s = job->s;
    const SPRY_V alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    for (int64_t n = begin; n < end; n++) {
        SPRY_V sum = 0, *y = (SPRY_V *)job->y + s->long_rows[n];
        for (int64_t p = s->long_first[n]; p < s->long_first[n + 1]; p++) sum += ((const SPRY_V *)job->sums)[p];
        *y = beta == 0 ? alpha * sum : alpha * sum + beta * *y;
    }
}

/* ---- transposed ------------------------------------------------------------------------------------ */

static void SPRY_FN(scatter_slice)(const spryi_packed *s, int64_t k, const SPRY_V *x, SPRY_V *to)
{
    const SPRY_V *Ax = s->values;
    spryi_packed_cursor c;
    spryi_packed_open(&c, s, k);
    while (spryi_packed_next(&c))
        for (int l = 0, q = 0; l < SPRYI_PACKED_LANES; l++) {
            if (!(c.mask >> l & 1)) continue;
            for (int r = 0; r < c.b; r++) {
                const SPRY_V xi = x[spryi_packed_row(&c, l) + r];
                SPRY_V *at = to + c.column[l] * c.b;
                for (int e = 0; e < c.b; e++)
                    at[e] += Ax ? Ax[c.at + (int64_t)(r * c.b + e) * c.stride + (c.dense ? l : q)] * xi : xi;
            }
            q++;
        }
}

static void SPRY_FN(window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_packed *s = storage;
    SPRY_V *to = window;
    const int64_t end = spryi_packed_slice_of(s, part->end);
    to -= part->low;
    for (int64_t k = spryi_packed_slice_of(s, part->begin); k < end; k++) SPRY_FN(scatter_slice)(s, k, x, to);
    for (int64_t n = 0; n < s->long_count; n++) {
        const int64_t i = s->long_rows[n];
        if (i < part->begin || i >= part->end) continue;
        const SPRY_V xi = ((const SPRY_V *)x)[i], *Ax = s->long_values;
        const SPRY_J *Aj = s->long_columns;
        for (int64_t e = s->pieces[s->long_first[n]]; e < s->pieces[s->long_first[n + 1]]; e++)
            to[Aj[e]] += Ax ? Ax[e] * xi : xi;
    }
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_packed *s = args->storage;
    return spryi_windows_drive(args, &s->windows, s->a.cols, SPRY_FN(window), err);
}
