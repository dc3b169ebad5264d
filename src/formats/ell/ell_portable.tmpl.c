/* The inner functions in plain C; see ell.h for what each is given. */

#include "formats/ell/slots_portable.tmpl.c"

static inline void SPRY_FN(put)(const spryi_ell_job *job, int64_t i, int count, const SPRY_V *sum)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    const SPRY_V alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    if (beta == 0)
        for (int r = 0; r < count; r++) y[r] = alpha * sum[r];
    else
        for (int r = 0; r < count; r++) y[r] = alpha * sum[r] + beta * y[r];
}

static void SPRY_FN(rows)(const spryi_ell_job *job, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i += SLOT_LANES) {
        int rows = end - i < SLOT_LANES ? (int)(end - i) : SLOT_LANES;
        SPRY_V sum[SLOT_LANES];
        SPRY_FN(general_sums)
        ((const SPRY_V *)job->values + i, (const SPRY_J *)job->columns + i, job->stride, job->lengths + i, rows, job->x,
         sum);
        SPRY_FN(put)(job, i, rows, sum);
    }
}

static void SPRY_FN(stepped)(const spryi_ell_job *job, int64_t begin, int64_t end)
{
    const SPRY_J *Aj = (const SPRY_J *)job->columns + begin;
    for (int64_t i = begin; i < end; i += SLOT_LANES) {
        SPRY_V sum[SLOT_LANES];
        SPRY_FN(stepped_sums)
        ((const SPRY_V *)job->values + i, Aj, job->stride, job->lengths[begin], (const SPRY_V *)job->x + (i - begin),
         sum);
        SPRY_FN(put)(job, i, SLOT_LANES, sum);
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_ell_leaves leaves = {SPRY_FN(rows), SPRY_FN(stepped)};
    return spryi_ell_drive(args, &leaves);
}

/* ---- transposed ------------------------------------------------------------------------------------ */

static void SPRY_FN(window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_ell *s = storage;
    for (int64_t i = part->begin; i < part->end; i += SLOT_LANES) {
        int rows = part->end - i < SLOT_LANES ? (int)(part->end - i) : SLOT_LANES;
        SPRY_FN(scatter)
        ((const SPRY_V *)s->values + i, (const SPRY_J *)s->columns + i, s->a.rows, s->lengths + i, rows,
         (const SPRY_V *)x + i, window, part->low);
    }
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_ell *s = args->storage;
    return spryi_windows_drive(args, &s->windows, s->a.cols, SPRY_FN(window), err);
}
