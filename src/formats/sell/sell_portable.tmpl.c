/* The inner functions in plain C; see sell.h for what each is given. */

#include "formats/ell/slots_portable.tmpl.c"

/* Lanes l .. l + count - 1, whose rows are anywhere in their window. */
static inline void SPRY_FN(put)(const spryi_sell_job *job, int64_t l, int count, const SPRY_V *sum)
{
    const SPRY_V alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    SPRY_V *y = job->y;
    if (job->s->permutation) {
        y += l / job->s->sigma * job->s->sigma;
        const uint16_t *row = job->s->permutation + l;
        for (int r = 0; r < count; r++) y[row[r]] = beta == 0 ? alpha * sum[r] : alpha * sum[r] + beta * y[row[r]];
    } else {
        for (int r = 0; r < count; r++) y[l + r] = beta == 0 ? alpha * sum[r] : alpha * sum[r] + beta * y[l + r];
    }
}

/* Of chunk k, which belongs to the stepped run that begins with chunk `first`, or to none: first < 0. */
static inline void SPRY_FN(chunk)(const spryi_sell_job *job, int64_t k, int64_t first)
{
    const spryi_sell *s = job->s;
    const SPRY_V *Ax = s->values ? (const SPRY_V *)s->values + s->offsets[k] : NULL;
    for (int64_t r = 0; r < s->c; r += SLOT_LANES) {
        const int64_t l = k * s->c + r, left = s->a.rows - l;
        int lanes = s->c - r < SLOT_LANES ? (int)(s->c - r) : SLOT_LANES;
        SPRY_V sum[SLOT_LANES];
        if (left <= 0) return;
        if (first >= 0 && lanes == SLOT_LANES) SPRY_FN(stepped_sums)
        (Ax ? Ax + r : NULL, (const SPRY_J *)s->columns + s->offsets[first], s->c, s->lengths[l],
         (const SPRY_V *)job->x + (l - first * s->c), sum);
        else SPRY_FN(general_sums)(Ax ? Ax + r : NULL, (const SPRY_J *)s->columns + s->offsets[k] + r, s->c,
                                   s->lengths + l, lanes, job->x, sum);
        SPRY_FN(put)(job, l, left < lanes ? (int)left : lanes, sum);
    }
}

static void SPRY_FN(block)(const spryi_sell_job *job, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end;) {
        int kind = job->s->kinds[k];
        int64_t to = kind > 0 && kind <= SPRYI_SELL_MOST_RUN ? k + kind : k + 1;
        for (int64_t first = kind > 0 && kind <= SPRYI_SELL_MOST_RUN ? k : -1; k < to; k++)
            SPRY_FN(chunk)(job, k, first);
    }
}

static __attribute__((unused)) spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_sell_drive(args, SPRY_FN(block));
}

/* ---- transposed ------------------------------------------------------------------------------------ */

static void SPRY_FN(window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_sell *s = storage;
    for (int64_t k = part->begin / s->c; k * s->c < part->end; k++)
        for (int64_t r = 0; r < s->c; r += SLOT_LANES) {
            const int64_t l = k * s->c + r;
            int lanes = s->c - r < SLOT_LANES ? (int)(s->c - r) : SLOT_LANES;
            SPRY_V xs[SLOT_LANES] = {0};
            for (int q = 0; q < lanes && l + q < s->a.rows; q++) xs[q] = ((const SPRY_V *)x)[spryi_sell_row(s, l + q)];
            SPRY_FN(scatter)
            (s->values ? (const SPRY_V *)s->values + s->offsets[k] + r : NULL,
             (const SPRY_J *)s->columns + s->offsets[k] + r, s->c, s->lengths + l, lanes, xs, window, part->low);
        }
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_sell *s = args->storage;
    return spryi_windows_drive(args, &s->windows, s->a.cols, SPRY_FN(window), err);
}
