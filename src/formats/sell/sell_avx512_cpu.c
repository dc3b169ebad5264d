#ifndef SPRYI_TEMPLATE
/*
 * sell_avx512_cpu: SELL with AVX-512.
 *
 * Idea: each lane of a register multiplies one row, slot by slot, so lanes need not be added up at the end. Lanes past
 *       their row's end are masked. x is loaded element by element, because gather instructions are slow on some
 *       processors. The loops of sell_portable_cpu multiply chunks whose number of rows is not a multiple of a
 *       register's lanes, and compute the transposed product. Multiple vectors: sell_panels.tmpl.c.
 * Work: a thread has one block of chunks at a time.
 * Cost: bytes of SELL without the columns of strided runs.
 * Source: Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014.
 */
#include "base/simd_x86.h"
#include "formats/sell/sell.h"
#include "formats/shared/panels.h"

enum { AHEAD = 2048 }; /* prefetch distance in bytes */

#define SPRYI_NO_OFFSETS
#define PLAIN_ABREAST 1 /* for chunks whose number of rows is not a multiple of a register's lanes */
#define SPRYI_TEMPLATE "formats/sell/sell_chunks.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/shared/slots_avx512.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/sell/sell_avx512_cpu.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run_512), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_sell_avx512_cpu = {
    SPRYI_KERNEL_OF("sell", "avx512", "cpu"),
    .idea = "a lane per row, sixteen rows at a time, padding masked, software prefetch; AVX-512",
    .source = "Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014",
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
};

#else /* for each value type and index pair: base/instantiate.h */

#include "base/avx512_lanes.h"

/* Writes y of lanes l .. l + vectors * LANES - 1, of which `count` have rows. */
SPRYI_INLINE void SPRY_FN(put_vectors)(const spryi_run_args *args, int64_t l, int64_t count, const int vectors,
                                       bool in_order, SPRY_V alpha, SPRY_V beta, const VEC *sum)
{
    if (!in_order) {
        SPRY_V sums[SPRYI_SLOT_LANES];
        for (int v = 0; v < vectors; v++) STORE(sums + v * LANES, sum[v]);
        SPRY_FN(put)(args, l, count < vectors * LANES ? (int)count : vectors * LANES, sums);
        return;
    }
    SPRY_V *y = (SPRY_V *)args->y + spryi_sell_row(args->storage, l);
    for (int v = 0; v < vectors; v++, y += LANES) {
        VEC result = MUL(SET1(alpha), sum[v]);
        if (beta != 0) result = ADD(result, MUL(SET1(beta), LOAD(y)));
        STORE(y, result);
    }
}

/*
 * Does the same as `chunk` if c is a multiple of vectors * LANES. `vectors`, and whether values is NULL, are constants.
 */
SPRYI_INLINE void SPRY_FN(chunk_vectors)(const spryi_run_args *args, const SPRY_V *values, int64_t k, int64_t first,
                                         bool in_order, SPRY_V alpha, SPRY_V beta, const int vectors)
{
    const spryi_sell *s = args->storage;
    for (int64_t r = 0; r < s->c; r += vectors * LANES) {
        const int64_t l = k * s->c + r;
        const SPRY_V *Ax = values ? values + s->offsets[k] + r : NULL;
        VEC sum[2];
        if (first >= 0) SPRY_FN(strided_vectors)
        (Ax, (const SPRY_J *)s->columns + s->offsets[first], s->c, s->lengths[l],
         (const SPRY_V *)args->x + (l - first * s->c), vectors, AHEAD, sum);
        else SPRY_FN(general_vectors)(Ax, (const SPRY_J *)s->columns + s->offsets[k] + r, s->c, s->lengths + l, args->x,
                                      vectors, AHEAD, sum);
        SPRY_FN(put_vectors)(args, l, s->a.rows - l, vectors, in_order, alpha, beta, sum);
    }
}

SPRYI_INLINE void SPRY_FN(chunks_512)(const spryi_run_args *args, const SPRY_V *values, int64_t begin, int64_t end,
                                      const int vectors)
{
    const spryi_sell *s = args->storage;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    for (int64_t k = begin, first; k < end;) {
        const int64_t to = k + spryi_sell_run(s, k, &first);
        if (first < 0) {
            SPRY_FN(chunk_vectors)(args, values, k, -1, s->kinds[k] == SPRYI_SELL_IN_ORDER, alpha, beta, vectors);
            k++;
        }
        for (; k < to; k++) SPRY_FN(chunk_vectors)(args, values, k, first, true, alpha, beta, vectors);
    }
}

static void SPRY_FN(blocks_512)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_sell *s = args->storage;
    const int64_t from = spryi_sell_block_begin(s, begin), to = spryi_sell_block_begin(s, end);
    const bool both = s->c % SPRYI_SLOT_LANES == 0; /* a step has sixteen lanes: one register of f32 or two of f64 */
    if (both && s->values)
        SPRY_FN(chunks_512)(args, s->values, from, to, SPRYI_SLOT_LANES / LANES);
    else if (both)
        SPRY_FN(chunks_512)(args, NULL, from, to, SPRYI_SLOT_LANES / LANES);
    else if (s->values)
        SPRY_FN(chunks_512)(args, s->values, from, to, 1);
    else
        SPRY_FN(chunks_512)(args, NULL, from, to, 1);
}

static void SPRY_FN(panel_blocks_512)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    SPRY_FN(panel_blocks_of)(args, begin, end, true, SPRYI_SELL_ABREAST);
}

static spry_status SPRY_FN(run_512)(const spryi_run_args *args, spry_error *err)
{
    const spryi_sell *s = args->storage;
    if (s->c % LANES != 0) return SPRY_FN(run)(args, err);
    return spryi_run_blocks(args, spryi_sell_block_count(s),
                            args->columns > 1 ? SPRY_FN(panel_blocks_512) : SPRY_FN(blocks_512));
}

#endif
