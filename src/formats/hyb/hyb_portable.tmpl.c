/* The transposed product: both parts of a range of rows add to one window. */

#include "formats/ell/slots_portable.tmpl.c"

static void SPRY_FN(window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_hyb *s = storage;
    for (int64_t i = part->begin; i < part->end; i += SLOT_LANES) {
        int rows = part->end - i < SLOT_LANES ? (int)(part->end - i) : SLOT_LANES;
        SPRY_FN(scatter)
        ((const SPRY_V *)s->ell.values + i, (const SPRY_J *)s->ell.columns + i, s->a.rows, s->ell.lengths + i, rows,
         (const SPRY_V *)x + i, window, part->low);
    }
    const SPRY_J *Ai = s->rows, *Aj = s->columns;
    const SPRY_V *Ax = s->values;
    const int64_t end = spryi_hyb_rest_of(s, part->end);
    for (int64_t k = spryi_hyb_rest_of(s, part->begin); k < end; k++)
        ((SPRY_V *)window)[Aj[k] - part->low] += Ax[k] * ((const SPRY_V *)x)[Ai[k]];
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_hyb *s = args->storage;
    return spryi_windows_drive(args, &s->windows, s->a.cols, SPRY_FN(window), err);
}
