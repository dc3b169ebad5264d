/* The inner functions with AVX-512; see sell.h for what each is given. */

#include "formats/ell/slots_avx512.tmpl.c"
#include "formats/sell/sell_portable.tmpl.c"

/* Lanes l .. l + vectors * LANES - 1, of which `count` have rows. */
static inline __attribute__((always_inline)) void SPRY_FN(put_vectors)(const spryi_sell_job *job, int64_t l,
                                                                       int64_t count, const int vectors, int in_order,
                                                                       const VEC *sum)
{
    if (!in_order) {
        SPRY_V sums[SLOT_LANES];
        for (int v = 0; v < vectors; v++) STORE(sums + v * LANES, sum[v]);
        SPRY_FN(put)(job, l, count < vectors * LANES ? (int)count : vectors * LANES, sums);
        return;
    }
    SPRY_V *y = (SPRY_V *)job->y + spryi_sell_row(job->s, l);
    for (int v = 0; v < vectors; v++, y += LANES) {
        VEC result = MUL(SET1((SPRY_V)job->alpha), sum[v]);
        if (job->beta != 0) result = FMA(SET1((SPRY_V)job->beta), LOAD(y), result);
        STORE(y, result);
    }
}

/* As `chunk`, of which c is a multiple of vectors * LANES. */
static inline __attribute__((always_inline)) void SPRY_FN(chunk_vectors)(const spryi_sell_job *job,
                                                                         const SPRY_V *values, int64_t k, int64_t first,
                                                                         int in_order, const int vectors)
{
    const spryi_sell *s = job->s;
    for (int64_t r = 0; r < s->c; r += vectors * LANES) {
        const int64_t l = k * s->c + r;
        const SPRY_V *Ax = values ? values + s->offsets[k] + r : NULL;
        VEC sum[2];
        if (first >= 0) SPRY_FN(stepped_vectors)
        (Ax, (const SPRY_J *)s->columns + s->offsets[first], s->c, s->lengths[l],
         (const SPRY_V *)job->x + (l - first * s->c), vectors, AHEAD, sum);
        else SPRY_FN(general_vectors)(Ax, (const SPRY_J *)s->columns + s->offsets[k] + r, s->c, s->lengths + l, job->x,
                                      vectors, AHEAD, sum);
        SPRY_FN(put_vectors)(job, l, s->a.rows - l, vectors, in_order, sum);
    }
}

static inline __attribute__((always_inline)) void SPRY_FN(chunks)(const spryi_sell_job *job, const SPRY_V *values,
                                                                  int64_t begin, int64_t end, const int vectors)
{
    for (int64_t k = begin; k < end;) {
        int kind = job->s->kinds[k];
        if (kind > 0 && kind <= SPRYI_SELL_MOST_RUN) {
            const int64_t first = k;
            for (; k < first + kind; k++) SPRY_FN(chunk_vectors)(job, values, k, first, 1, vectors);
        } else {
            SPRY_FN(chunk_vectors)(job, values, k, -1, kind == SPRYI_SELL_IN_ORDER, vectors);
            k++;
        }
    }
}

static void SPRY_FN(block_512)(const spryi_sell_job *job, int64_t begin, int64_t end)
{
    const SPRY_V *values = job->s->values;
    if (job->s->c % SLOT_LANES == 0) {
        if (values)
            SPRY_FN(chunks)(job, values, begin, end, SLOT_LANES / LANES);
        else
            SPRY_FN(chunks)(job, NULL, begin, end, SLOT_LANES / LANES);
    } else if (job->s->c % LANES == 0) {
        if (values)
            SPRY_FN(chunks)(job, values, begin, end, 1);
        else
            SPRY_FN(chunks)(job, NULL, begin, end, 1);
    } else {
        SPRY_FN(block)(job, begin, end);
    }
}

static spry_status SPRY_FN(run_512)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_sell_drive(args, SPRY_FN(block_512));
}
