/* The inner function with AVX-512; see coo.h for what it is given. */

/* The products of eight entries, their x put together by loads and inserts. */
static inline void SPRY_FN(store_products)(SPRY_V *to, const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x)
{
#if SPRY_IS_F64
    const __m256d xs[2] = {spryi_four_pd(x + Aj[0], x + Aj[1], x + Aj[2], x + Aj[3]),
                           spryi_four_pd(x + Aj[4], x + Aj[5], x + Aj[6], x + Aj[7])};
    _mm512_storeu_pd(to, _mm512_mul_pd(_mm512_loadu_pd(Ax), spryi_join_pd(xs)));
#else
    _mm_storeu_ps(to, _mm_mul_ps(_mm_loadu_ps(Ax), spryi_four_ps(x + Aj[0], x + Aj[1], x + Aj[2], x + Aj[3])));
    _mm_storeu_ps(to + 4, _mm_mul_ps(_mm_loadu_ps(Ax + 4), spryi_four_ps(x + Aj[4], x + Aj[5], x + Aj[6], x + Aj[7])));
#endif
}

/* Products of entries k .. k + count - 1, count <= CHUNK. */
static inline void SPRY_FN(multiply)(const spryi_coo_job *job, int64_t k, int64_t count, SPRY_V *product)
{
    const SPRY_V *Ax = (const SPRY_V *)job->values + k, *x = job->x;
    const SPRY_J *Ai = (const SPRY_J *)job->rows + k, *Aj = (const SPRY_J *)job->columns + k;
    int64_t p = 0;
    for (; p + 8 <= count; p += 8) {
        spryi_prefetch_entries(Ax, Aj, p, p + 8, sizeof(SPRY_V), sizeof(SPRY_J));
        spryi_prefetch(Ai, p * (int64_t)sizeof(SPRY_J) + SPRYI_AHEAD);
        SPRY_FN(store_products)(product + p, Ax + p, Aj + p, x);
    }
    for (; p < count; p++) product[p] = Ax[p] * x[Aj[p]];
}

static double SPRY_FN(block)(const spryi_coo_job *job, int64_t begin, int64_t end)
{
    const SPRY_J *Ai = job->rows;
    const SPRY_V alpha = (SPRY_V)job->alpha;
    SPRY_V *y = job->y, product[CHUNK], first = 0, sum = 0;
    SPRY_J row = Ai[begin];
    int in_first = 1;
    for (int64_t k = begin; k < end; k += CHUNK) {
        int64_t count = end - k < CHUNK ? end - k : CHUNK;
        SPRY_FN(multiply)(job, k, count, product);
        for (int64_t p = 0; p < count; p++) {
            if (Ai[k + p] != row) {
                if (in_first)
                    first = sum;
                else
                    y[row] += alpha * sum;
                in_first = 0;
                row = Ai[k + p];
                sum = 0;
            }
            sum += product[p];
        }
    }
    if (in_first) return (double)sum;
    y[row] += alpha * sum; /* its other part, if the next block has one, is that block's first row */
    return (double)first;
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_coo_drive(args, SPRY_FN(block));
}
