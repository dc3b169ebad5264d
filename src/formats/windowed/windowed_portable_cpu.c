/*
 * windowed_portable_cpu: plain C.
 *
 * Idea: copies the elements of x that a window's dictionary lists into a buffer that remains in the first- or
 *       second-level cache. Computes the 32 lanes of a slice together.
 * Work: a task is a part of the windows, or a group of pieces of long rows (windowed_driver.c).
 * Cost: bytes of windowed, plus one write and reads of the staged x in cache.
 * Source: x of a part of the rows staged: Chen, Explicit caching HYB, 2022; the rest: this library.
 */
#ifndef SPRY_FN
#include "formats/windowed/windowed_driver.h"

#define SPRYI_TEMPLATE "formats/windowed/windowed_portable_cpu.c" /* the second half of this file */
#include "base/instantiate_types.h"

static const spryi_run_table runs = SPRYI_TABLE_OF_TYPES(run);

const spryi_kernel spryi_windowed_portable_cpu = {
    SPRYI_KERNEL_OF("windowed", "portable", "cpu"),
    .idea = "x of a window in a near cache, 32 lanes of a slice side by side; plain C",
    .source = "this library; x of parts of the rows staged: Chen 2022; slices: Monakov et al. 2010",
    .pattern = 1,
    .spmv = &runs,
};

#else /* for each type of vectors: base/instantiate_types.h */

/* Sets xs[d*run + c] = x of column c of the run at dictionary index d. */
static void SPRY_FN(stage)(const spryi_windowed *s, const spryi_windowed_window *w, const SPRY_V *x, SPRY_V *xs)
{
    const uint16_t *low = s->dictionary + (int64_t)w->dictionary * SPRYI_WINDOWED_DICTIONARY;
    for (int64_t p = w->page; p < w[1].page; p++) {
        const SPRY_V *of_page = x + ((int64_t)s->pages[p].high << SPRYI_WINDOWED_PAGE_BITS);
        const int64_t end = p + 1 < w[1].page ? s->pages[p + 1].first : w->columns;
        for (int64_t d = s->pages[p].first; d < end; d++)
            for (int c = 0; c < w->run; c++) xs[d * w->run + c] = of_page[low[d] + c * (w->run > 1 ? s->stride : 1)];
    }
}

/* Sets sum[l] to the sum of lane l of a slice. */
static void SPRY_FN(slice)(const spryi_windowed *s, const spryi_windowed_view *v, const SPRY_V *xs, SPRY_V *sum)
{
    const SPRY_V *Ax = s->values ? (const SPRY_V *)s->values + v->values : NULL;
    spryi_windowed_reader r;
    uint8_t group[SPRYI_WINDOWED_LANES];
    int lanes = SPRYI_WINDOWED_LANES; /* number of lanes that have the run */
    spryi_windowed_open(&r, v);
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) {
        group[l] = (uint8_t)spryi_windowed_group(v, l);
        sum[l] = 0;
    }
    for (int t = 0; spryi_windowed_next(&r); t++) {
        while (lanes > 0 && v->length[group[lanes - 1]] <= t) lanes--;
        for (int c = 0; c < v->run; c++) {
            for (int l = 0; l < lanes; l++) {
                const SPRY_V b = xs[r.number[group[l]] * v->run + c];
                sum[l] += Ax ? Ax[l] * b : b;
            }
            if (Ax) Ax += lanes;
        }
    }
}

static void SPRY_FN(window)(const spryi_run_args *args, int64_t n, void *room)
{
    const spryi_windowed *s = args->storage;
    const spryi_windowed_window *w = &s->windows[n];
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V sum[SPRYI_WINDOWED_LANES], *y = args->y;
    SPRY_FN(stage)(s, w, args->x, room);
    for (int64_t k = w->slice; k < w[1].slice; k++) {
        const spryi_windowed_view v = spryi_windowed_view_of(s, w, k);
        SPRY_FN(slice)(s, &v, room, sum);
        for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) {
            if (v.rows[l] == SPRYI_WINDOWED_NO_ROW) continue;
            SPRY_V *to = y + v.rows[l];
            const SPRY_V own = alpha == 0 ? 0 : alpha * sum[l];
            *to = beta == 0 ? own : own + beta * *to;
        }
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_windowed_drive(args, SPRY_FN(window));
}

#endif
