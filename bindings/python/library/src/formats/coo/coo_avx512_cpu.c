#ifndef SPRYI_TEMPLATE
/*
 * coo_avx512_cpu: segmented sums with gathered products.
 *
 * Idea: the products of a chunk of entries are made eight at a time and laid in the first-level cache, so that the
 *       loads of x do not wait for the branches of the rows; the sums are then taken from there.
 * Work: a thread takes a block of entries at a time, as in coo_portable_cpu.
 * Cost: bytes of COO, and y once more than in CSR.
 * Source: CSR-Stream (Greathouse and Daga, SC'14) applied to COO on a CPU.
 */
#include "core/simd_x86.h"
#include "formats/coo/coo.h"

enum { CHUNK = 512 };

#define SPRYI_TEMPLATE "formats/coo/coo_avx512_cpu.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_coo_avx512_cpu = {
    .name = "coo_avx512_cpu",
    .format = "coo",
    .device = "cpu",
    .idea = "products made eight at a time into the first-level cache, then summed by row; AVX-512",
    .source = "Greathouse and Daga, Efficient SpMV on GPUs using the CSR storage format, SC'14 (CSR-Stream), on COO",
    .deterministic = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
};

#else /* for each value type and index pair: core/instantiate.h */

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
static inline void SPRY_FN(multiply)(const spryi_coo *s, const SPRY_V *x, int64_t k, int64_t count, SPRY_V *product)
{
    const SPRY_V *Ax = (const SPRY_V *)s->a.values + k;
    const SPRY_J *Ai = (const SPRY_J *)s->a.row_indices + k, *Aj = (const SPRY_J *)s->a.indices + k;
    int64_t p = 0;
    for (; p + 8 <= count; p += 8) {
        spryi_prefetch_entries(Ax, Aj, p, p + 8, sizeof(SPRY_V), sizeof(SPRY_J));
        spryi_prefetch(Ai, p * (int64_t)sizeof(SPRY_J) + SPRYI_AHEAD);
        SPRY_FN(store_products)(product + p, Ax + p, Aj + p, x);
    }
    for (; p < count; p++) product[p] = Ax[p] * x[Aj[p]];
}

/* Adds alpha times each row's sum to y, but returns the sum of the first row, unscaled. */
static SPRY_V SPRY_FN(block)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_coo *s = args->storage;
    const SPRY_J *Ai = s->a.row_indices;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha;
    SPRY_V *y = args->y, product[CHUNK], first = 0, sum = 0;
    SPRY_J row = Ai[begin];
    int in_first = 1;
    for (int64_t k = begin; k < end; k += CHUNK) {
        int64_t count = end - k < CHUNK ? end - k : CHUNK;
        SPRY_FN(multiply)(s, args->x, k, count, product);
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
    if (in_first) return sum;
    y[row] += alpha * sum; /* its other part, if the next block has one, is that block's first row */
    return first;
}

static void SPRY_FN(blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    double *first_rows = args->workspace;
    const int64_t nnz = ((const spryi_coo *)args->storage)->a.nnz;
    for (int64_t b = begin; b < end; b++)
        first_rows[b] = (double)SPRY_FN(block)(args, b * SPRYI_COO_BLOCK, spryi_block_end(b, SPRYI_COO_BLOCK, nnz));
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    return spryi_coo_run_segmented(args, SPRY_FN(blocks), err);
}

#endif
