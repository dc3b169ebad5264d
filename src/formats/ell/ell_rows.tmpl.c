/* ELL in plain C, sixteen rows at a time. ell_portable_cpu.c and ell_avx2_cpu.c compile it for their levels. */
#include "formats/shared/slots.tmpl.c"

static inline void SPRY_FN(put)(SPRY_V *y, int count, SPRY_V alpha, SPRY_V beta, const SPRY_V *sum)
{
    if (beta == 0)
        for (int r = 0; r < count; r++) y[r] = alpha * sum[r];
    else
        for (int r = 0; r < count; r++) y[r] = alpha * sum[r] + beta * y[r];
}

/* general and strided are not inlined, so that each can use all registers. */
static __attribute__((noinline)) void SPRY_FN(general)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_ell *s = args->storage;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    for (int64_t i = begin; i < end; i += SPRYI_SLOT_LANES) {
        int rows = end - i < SPRYI_SLOT_LANES ? (int)(end - i) : SPRYI_SLOT_LANES;
        SPRY_V sum[SPRYI_SLOT_LANES];
        SPRY_FN(general_sums)
        ((const SPRY_V *)s->values + i, (const SPRY_J *)s->columns + i, s->a.rows, s->lengths + i, rows, args->x, sum);
        SPRY_FN(put)((SPRY_V *)args->y + i, rows, alpha, beta, sum);
    }
}

/* Multiplies whole slices of a strided run. Reads only the columns of the first row. */
static __attribute__((noinline)) void SPRY_FN(strided)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_ell *s = args->storage;
    const SPRY_J *Aj = (const SPRY_J *)s->columns + begin;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const int64_t length = s->lengths[begin];
    for (int64_t i = begin; i < end; i += SPRYI_SLOT_LANES) {
        SPRY_V sum[SPRYI_SLOT_LANES];
        SPRY_FN(strided_sums)
        ((const SPRY_V *)s->values + i, Aj, s->a.rows, length, (const SPRY_V *)args->x + (i - begin), sum);
        SPRY_FN(put)((SPRY_V *)args->y + i, SPRYI_SLOT_LANES, alpha, beta, sum);
    }
}

static void SPRY_FN(blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_ell *s = args->storage;
    const int64_t last = spryi_block_end(end - 1, s->block_rows, s->a.rows);
    for (int64_t i = begin * s->block_rows, to; i < last; i = to)
        if (spryi_ell_next_is_strided(s, i, last, &to))
            SPRY_FN(strided)(args, i, to);
        else
            SPRY_FN(general)(args, i, to);
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_blocks(args, ((const spryi_ell *)args->storage)->block_count, SPRY_FN(blocks));
}

static void SPRY_FN(add_window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_ell *s = storage;
    for (int64_t i = part->begin; i < part->end; i += SPRYI_SLOT_LANES) {
        int rows = part->end - i < SPRYI_SLOT_LANES ? (int)(part->end - i) : SPRYI_SLOT_LANES;
        SPRY_FN(scatter)
        ((const SPRY_V *)s->values + i, (const SPRY_J *)s->columns + i, s->a.rows, s->lengths + i, rows,
         (const SPRY_V *)x + i, window, part->low);
    }
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_ell *s = args->storage;
    return spryi_run_windows(args, &s->windows, s->a.columns, SPRY_FN(add_window), err);
}
