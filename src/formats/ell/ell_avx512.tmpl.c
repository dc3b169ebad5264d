/* The inner functions with AVX-512; see ell.h for what each is given. */

#include "formats/ell/slots_avx512.tmpl.c"

/* Whole registers of rows from i on. */
static inline __attribute__((always_inline)) void SPRY_FN(put)(const spryi_ell_job *job, int64_t i, const int vectors,
                                                               const VEC *sum)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    const VEC alpha = SET1((SPRY_V)job->alpha);
    for (int v = 0; v < vectors; v++, y += LANES) {
        VEC result = MUL(alpha, sum[v]);
        if (job->stream_y && (uintptr_t)y % 64 == 0) {
            STREAM(y, result);
            continue;
        }
        if (job->beta != 0) result = FMA(SET1((SPRY_V)job->beta), LOAD(y), result);
        STORE(y, result);
    }
}

/* The last rows of the matrix, too few for a slice: nothing past them may be read. */
static void SPRY_FN(last_rows)(const spryi_ell_job *job, int64_t begin, int64_t end)
{
    const SPRY_V *Ax = job->values, *x = job->x;
    const SPRY_J *Aj = job->columns;
    const SPRY_V alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    SPRY_V *y = job->y;
    for (int64_t i = begin; i < end; i++) {
        SPRY_V sum = 0;
        for (int64_t s = 0, k = i; s < job->lengths[i]; s++, k += job->stride) sum += Ax[k] * x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
}

static void SPRY_FN(rows)(const spryi_ell_job *job, int64_t begin, int64_t end)
{
    enum { VECTORS = SPRYI_ELL_SLICE / LANES };
    int64_t i = begin;
    for (; i + SPRYI_ELL_SLICE <= end; i += SPRYI_ELL_SLICE) {
        VEC sum[VECTORS];
        SPRY_FN(general_vectors)
        ((const SPRY_V *)job->values + i, (const SPRY_J *)job->columns + i, job->stride, job->lengths + i, job->x,
         VECTORS, AHEAD, sum);
        SPRY_FN(put)(job, i, VECTORS, sum);
    }
    if (i < end) SPRY_FN(last_rows)(job, i, end);
    if (job->stream_y) _mm_sfence();
}

/* Two slices at a time, so that a column is looked up once for 32 rows. */
static void SPRY_FN(stepped)(const spryi_ell_job *job, int64_t begin, int64_t end)
{
    enum { VECTORS = SPRYI_ELL_SLICE / LANES };
    const SPRY_J *Aj = (const SPRY_J *)job->columns + begin;
    const SPRY_V *Ax = job->values, *x = job->x;
    const int64_t length = job->lengths[begin];
    VEC sum[2 * VECTORS];
    int64_t i = begin;
    for (; i + 2 * SPRYI_ELL_SLICE <= end; i += 2 * SPRYI_ELL_SLICE) {
        SPRY_FN(stepped_vectors)(Ax + i, Aj, job->stride, length, x + (i - begin), 2 * VECTORS, AHEAD, sum);
        SPRY_FN(put)(job, i, 2 * VECTORS, sum);
    }
    if (i < end) {
        SPRY_FN(stepped_vectors)(Ax + i, Aj, job->stride, length, x + (i - begin), VECTORS, AHEAD, sum);
        SPRY_FN(put)(job, i, VECTORS, sum);
    }
    if (job->stream_y) _mm_sfence();
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_ell_leaves leaves = {SPRY_FN(rows), SPRY_FN(stepped)};
    return spryi_ell_drive(args, &leaves);
}
