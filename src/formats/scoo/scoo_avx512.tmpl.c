/* The inner functions with AVX-512; see scoo.h for what each is given. */
#include "formats/scoo/scoo_range.tmpl.c"

#undef STORE_PRODUCTS
#undef STORE_LOCAL
#if SPRY_IS_F64
#define STORE_LOCAL(to, Ax, Ai, x)                                                                                     \
    _mm512_storeu_pd(to, _mm512_mul_pd(_mm512_loadu_pd(Ax),                                                            \
                                       _mm512_i32gather_pd(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(Ai))), \
                                                           x, 8)))
#if SPRY_J_IS_64
#define STORE_PRODUCTS(to, Ax, Aj, x)                                                                                  \
    _mm512_storeu_pd(to, _mm512_mul_pd(_mm512_loadu_pd(Ax), _mm512_i64gather_pd(_mm512_loadu_si512(Aj), x, 8)))
#else
#define STORE_PRODUCTS(to, Ax, Aj, x)                                                                                  \
    _mm512_storeu_pd(to, _mm512_mul_pd(_mm512_loadu_pd(Ax),                                                            \
                                       _mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)(Aj)), x, 8)))
#endif
#else
#define STORE_LOCAL(to, Ax, Ai, x)                                                                                     \
    _mm256_storeu_ps(to,                                                                                               \
                     _mm256_mul_ps(_mm256_loadu_ps(Ax),                                                                \
                                   _mm256_i32gather_ps(x, _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(Ai))),  \
                                                       4)))
#if SPRY_J_IS_64
#define STORE_PRODUCTS(to, Ax, Aj, x)                                                                                  \
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_loadu_ps(Ax), _mm512_i64gather_ps(_mm512_loadu_si512(Aj), x, 4)))
#else
#define STORE_PRODUCTS(to, Ax, Aj, x)                                                                                  \
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_loadu_ps(Ax),                                                            \
                                       _mm256_i32gather_ps(x, _mm256_loadu_si256((const __m256i *)(Aj)), 4)))
#endif
#endif

/* Eight entries from k, their streams fetched ahead. */
static inline __attribute__((always_inline)) void SPRY_FN(fetch)(const SPRY_V *Ax, const SPRY_J *Aj, const uint16_t *Ai,
                                                                 int64_t k)
{
    spryi_prefetch_entries(Ax, Aj, k, k + 8, sizeof(SPRY_V), sizeof(SPRY_J));
    spryi_prefetch_near(Ai, k * (int64_t)sizeof *Ai + SPRYI_AHEAD_NEAR);
}

static void SPRY_FN(slice)(const spryi_scoo_job *job, int64_t begin, int64_t end, void *sums)
{
    const SPRY_J *Aj = job->columns;
    const SPRY_V *Ax = job->values, *x = job->x;
    const uint16_t *Ai = job->rows;
    SPRY_V *t = sums, product[8];
    int64_t k = begin;
    for (; k + 8 <= end; k += 8) {
        SPRY_FN(fetch)(Ax, Aj, Ai, k);
        STORE_PRODUCTS(product, Ax + k, Aj + k, x);
        for (int p = 0; p < 8; p++) t[Ai[k + p]] += product[p];
    }
    for (; k < end; k++) t[Ai[k]] += Ax[k] * x[Aj[k]];
}

static void SPRY_FN(range)(const spryi_scoo_job *job, int64_t s, int64_t left, int64_t right, void *sums)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const SPRY_V *Ax = job->values, *x = (const SPRY_V *)job->x + s * job->height;
    const uint16_t *Ai = job->rows;
    SPRY_V *t = sums, product[8];
    int64_t k = SPRY_FN(first_at)(Aj, Ap[s], Ap[s + 1], left), end = SPRY_FN(first_at)(Aj, k, Ap[s + 1], right);
    for (; k + 8 <= end; k += 8) {
        SPRY_FN(fetch)(Ax, Aj, Ai, k);
        STORE_LOCAL(product, Ax + k, Ai + k, x);
        for (int p = 0; p < 8; p++) t[Aj[k + p]] += product[p];
    }
    for (; k < end; k++) t[Aj[k]] += Ax[k] * x[Ai[k]];
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_scoo_leaves leaves = {SPRY_FN(slice), SPRY_FN(range)};
    return spryi_scoo_drive(args, &leaves);
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_scoo_leaves leaves = {SPRY_FN(slice), SPRY_FN(range)};
    return spryi_scoo_drive_transposed(args, &leaves);
}
