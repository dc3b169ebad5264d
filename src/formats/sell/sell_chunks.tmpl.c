/*
 * SELL in plain C, sixteen lanes of a chunk in parallel. sell_portable_cpu.c and sell_avx2_cpu.c compile it for their
 * levels, and sell_avx512_cpu.c uses it for chunks that its vector code does not support.
 */
#include "formats/sell/sell_panels.tmpl.c"
#include "formats/shared/slots.tmpl.c"

/* Writes y of lanes l .. l + count - 1, whose rows may be anywhere in their window. */
static inline void SPRY_FN(put)(const spryi_run_args *args, int64_t l, int count, const SPRY_V *sum)
{
    const spryi_sell *s = args->storage;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    if (s->permutation) {
        y += l / s->sigma * s->sigma;
        const uint16_t *row = s->permutation + l;
        for (int r = 0; r < count; r++) y[row[r]] = beta == 0 ? alpha * sum[r] : alpha * sum[r] + beta * y[row[r]];
    } else {
        for (int r = 0; r < count; r++) y[l + r] = beta == 0 ? alpha * sum[r] : alpha * sum[r] + beta * y[l + r];
    }
}

/* Multiplies chunk k, which belongs to the strided run that begins with chunk `first`. first < 0: no run. */
static inline void SPRY_FN(chunk)(const spryi_run_args *args, int64_t k, int64_t first)
{
    const spryi_sell *s = args->storage;
    const SPRY_S *Ax = s->values ? (const SPRY_S *)s->values + s->offsets[k] : NULL;
    for (int64_t r = 0; r < s->c; r += SPRYI_SLOT_LANES) {
        const int64_t l = k * s->c + r, left = s->a.rows - l;
        int lanes = s->c - r < SPRYI_SLOT_LANES ? (int)(s->c - r) : SPRYI_SLOT_LANES;
        SPRY_V sum[SPRYI_SLOT_LANES];
        if (left <= 0) return;
        if (first >= 0 && lanes == SPRYI_SLOT_LANES) SPRY_FN(strided_sums)
        (Ax ? Ax + r : NULL, (const SPRY_J *)s->columns + s->offsets[first], s->c, s->lengths[l],
         (const SPRY_V *)args->x + (l - first * s->c), sum);
        else SPRY_FN(general_sums)(Ax ? Ax + r : NULL, (const SPRY_J *)s->columns + s->offsets[k] + r, s->c,
                                   s->lengths + l, lanes, args->x, sum);
        SPRY_FN(put)(args, l, left < lanes ? (int)left : lanes, sum);
    }
}

static __attribute__((noinline)) void SPRY_FN(chunks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    for (int64_t k = begin, first; k < end;)
        for (int64_t to = k + spryi_sell_run(args->storage, k, &first); k < to; k++) SPRY_FN(chunk)(args, k, first);
}

static void SPRY_FN(blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_sell *s = args->storage;
    SPRY_FN(chunks)(args, spryi_sell_block_begin(s, begin), spryi_sell_block_begin(s, end));
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_blocks(args, spryi_sell_block_count(args->storage),
                            args->columns > 1 ? SPRY_FN(panel_blocks) : SPRY_FN(blocks));
}

static void SPRY_FN(add_window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_sell *s = storage;
    for (int64_t k = part->begin / s->c; k * s->c < part->end; k++)
        for (int64_t r = 0; r < s->c; r += SPRYI_SLOT_LANES) {
            const int64_t l = k * s->c + r;
            int lanes = s->c - r < SPRYI_SLOT_LANES ? (int)(s->c - r) : SPRYI_SLOT_LANES;
            SPRY_V xs[SPRYI_SLOT_LANES] = {0};
            for (int q = 0; q < lanes && l + q < s->a.rows; q++) xs[q] = ((const SPRY_V *)x)[spryi_sell_row(s, l + q)];
            SPRY_FN(scatter)
            (s->values ? (const SPRY_S *)s->values + s->offsets[k] + r : NULL,
             (const SPRY_J *)s->columns + s->offsets[k] + r, s->c, s->lengths + l, lanes, xs, window, part->low);
        }
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_sell *s = args->storage;
    return spryi_run_windows(args, &s->windows, s->a.columns, SPRY_FN(add_window), err);
}
