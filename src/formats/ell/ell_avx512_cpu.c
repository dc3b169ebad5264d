#ifndef SPRYI_TEMPLATE
/*
 * ell_avx512_cpu: ELL with AVX-512.
 *
 * Idea: sixteen rows at a time, one per lane, slot by slot. Lanes past the end of their row are masked. Strided runs
 *       (ell.h) load x and read no columns except the first row's. Each slot is prefetched by software.
 * Work: one thread per block of rows.
 * Cost: bytes of ELL and of the lengths, except the columns of strided runs.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library.
 */
#include "base/simd_x86.h"
#include "formats/ell/ell.h"

enum { AHEAD = 256 }; /* distance of the prefetch in each slot, in bytes */

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/shared/slots_avx512.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/ell/ell_avx512_cpu.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_ell_avx512_cpu = {
    SPRYI_KERNEL_OF("ell", "avx512", "cpu"),
    .idea = "sixteen rows per step, one per lane, padding masked, strided columns not read, software prefetch; AVX-512",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library",
    .simd = SPRYI_AVX512,
    .spmv = &runs,
};

#else /* for each value type and index pair (base/instantiate.h) */

#include "base/avx512_lanes.h"

enum { SPRY_FN(VECTORS) = SPRYI_ELL_SLICE / LANES }; /* registers for the sums of a slice */

/* Writes y of whole registers of rows from i on. stream_y: y is large and not read, so stores are non-temporal. */
SPRYI_INLINE void SPRY_FN(put)(const spryi_run_args *args, int64_t i, bool stream_y, const int vectors, const VEC *sum)
{
    SPRY_V *y = (SPRY_V *)args->y + i;
    const SPRY_V beta = *(const SPRY_V *)args->beta;
    const VEC alpha = SET1(*(const SPRY_V *)args->alpha);
    for (int v = 0; v < vectors; v++, y += LANES) {
        VEC result = MUL(alpha, sum[v]);
        if (stream_y && (uintptr_t)y % 64 == 0) {
            STREAM(y, result);
            continue;
        }
        if (beta != 0) result = ADD(result, MUL(SET1(beta), LOAD(y)));
        STORE(y, result);
    }
}

/* Multiplies the last rows of the matrix, which are fewer than a slice: nothing past them may be read. */
static void SPRY_FN(last_rows)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_ell *s = args->storage;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_J *Aj = s->columns;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = begin; i < end; i++) {
        SPRY_V sum = 0;
        for (int64_t n = 0, k = i; n < s->lengths[i]; n++, k += s->a.rows) sum += Ax[k] * x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
}

static void SPRY_FN(general)(const spryi_run_args *args, int64_t begin, int64_t end, bool stream_y)
{
    const spryi_ell *s = args->storage;
    int64_t i = begin;
    for (; i + SPRYI_ELL_SLICE <= end; i += SPRYI_ELL_SLICE) {
        VEC sum[SPRY_FN(VECTORS)];
        SPRY_FN(general_vectors)
        ((const SPRY_V *)s->values + i, (const SPRY_J *)s->columns + i, s->a.rows, s->lengths + i, args->x,
         SPRY_FN(VECTORS), AHEAD, sum);
        SPRY_FN(put)(args, i, stream_y, SPRY_FN(VECTORS), sum);
    }
    if (i < end) SPRY_FN(last_rows)(args, i, end);
}

/* Multiplies two slices of a strided run at a time, so that a column is read once for 32 rows. */
static void SPRY_FN(strided)(const spryi_run_args *args, int64_t begin, int64_t end, bool stream_y)
{
    const spryi_ell *s = args->storage;
    const SPRY_J *Aj = (const SPRY_J *)s->columns + begin;
    const SPRY_V *Ax = s->values, *x = args->x;
    const int64_t length = s->lengths[begin], stride = s->a.rows;
    VEC sum[2 * SPRY_FN(VECTORS)];
    int64_t i = begin;
    for (; i + 2 * SPRYI_ELL_SLICE <= end; i += 2 * SPRYI_ELL_SLICE) {
        SPRY_FN(strided_vectors)(Ax + i, Aj, stride, length, x + (i - begin), 2 * SPRY_FN(VECTORS), AHEAD, sum);
        SPRY_FN(put)(args, i, stream_y, 2 * SPRY_FN(VECTORS), sum);
    }
    if (i < end) {
        SPRY_FN(strided_vectors)(Ax + i, Aj, stride, length, x + (i - begin), SPRY_FN(VECTORS), AHEAD, sum);
        SPRY_FN(put)(args, i, stream_y, SPRY_FN(VECTORS), sum);
    }
}

static void SPRY_FN(blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_ell *s = args->storage;
    const bool stream_y = *(const SPRY_V *)args->beta == 0 &&
                          s->a.rows * (int64_t)sizeof(SPRY_V) >= SPRYI_ELL_STREAM_BYTES;
    const int64_t last = spryi_block_end(end - 1, s->block_rows, s->a.rows);
    for (int64_t i = begin * s->block_rows, to; i < last; i = to)
        if (spryi_ell_next_is_strided(s, i, last, &to))
            SPRY_FN(strided)(args, i, to, stream_y);
        else
            SPRY_FN(general)(args, i, to, stream_y);
    if (stream_y) _mm_sfence();
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_blocks(args, ((const spryi_ell *)args->storage)->block_count, SPRY_FN(blocks));
}

#endif
