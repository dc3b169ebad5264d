/*
 * Packed times multiple row-major vectors, for the kernels of all instruction sets, lane by lane (packed_lanes.h).
 *
 * Idea: a lane's entries are listed once for all vectors. Each entry is multiplied by one or two registers of its row
 *       of x. For blocks, which are dense, a row of x is loaded once for all b rows. A slice remains in the first-level
 *       cache for all its lanes. The products of a row are added in order, with fused multiply-add if the instruction
 *       set has it. The entries of a piece of a long row are added in the same order as in the product with one vector.
 * Work: as for one vector (packed_driver.c). Pieces of long rows are summed for SPRYI_PACKED_SUMS vectors at a time.
 * Cost: bytes of packed once, bytes of x and y for each vector.
 * Source: this library.
 *
 * One instance serves all index types: the width of an index is tested for each entry.
 */
#include "formats/shared/panels.tmpl.c"
#if !SPRY_J_IS_64

#ifndef PACKED_ROLLED
#ifdef __clang__
#define PACKED_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define PACKED_ROLLED _Pragma("GCC unroll 1")
#endif
#endif

/* Positions of a lane's entries, for the vectors of one step. */
typedef struct SPRY_FN(panel_entries) {
    const SPRY_V *x;
    const SPRY_S *values; /* NULL: all values are 1 */
    const int64_t *x_at;
    const int32_t *value, *stride;
    int64_t blocks, x_stride;
} SPRY_FN(panel_entries);

/*
 * Sets sum[2r] to row r of the lane times a register of vectors. If twice, sets sum[2r + 1] to row r times the next
 * register of vectors.
 */
SPRYI_INLINE void SPRY_FN(panel_sums)(const SPRY_FN(panel_entries) * at, int count, const int b, const int twice,
                                      PANEL *sum)
{
    const SPRY_S one = SPRY_ROUNDED(1);
    const SPRY_FN(panel_entries) own = *at; /* a copy that no store can change */
    const bool has_values = SPRY_IS_MIXED || own.values;
    const SPRY_S *values = has_values ? own.values : &one;
    PANEL low[SPRYI_PACKED_MOST_BLOCK] = {{0}}, high[SPRYI_PACKED_MOST_BLOCK] = {{0}};
    for (int64_t n = 0; n < own.blocks; n++) {
        const SPRY_V *row = own.x + own.x_at[n];
        const SPRY_S *Ax = values + (has_values ? own.value[n] : 0);
        const int64_t stride = b > 1 ? own.stride[n] : 0;
        PACKED_ROLLED for (int j = 0; j < b; j++, row += own.x_stride, Ax += stride)
        {
            const PANEL first = twice ? SPRY_FN(panel_all)(row) : PANEL_LOAD(row, count);
            const PANEL second = twice ? SPRY_FN(panel_all)(row + PANEL_LANES) : first;
            for (int r = 0; r < b; r++) {
                const SPRY_V value = SPRY_VALUE(Ax[r * b * stride]);
                low[r] = PANEL_FUSED(value, first, low[r]);
                if (twice) high[r] = PANEL_FUSED(value, second, high[r]);
            }
        }
    }
    for (int r = 0; r < b; r++) sum[2 * r] = low[r];
    for (int r = 0; r < b; r++) sum[2 * r + 1] = high[r];
}

/*
 * panel_once multiplies with one register of vectors, for any b. panel_twice multiplies with two, for b up to
 * TWICE_UP_TO. Larger blocks already use each load of x for many rows.
 */
#undef TWICE_UP_TO
#define TWICE_UP_TO (SPRY_IS_MIXED ? 1 : 3)

SPRYI_INLINE void SPRY_FN(panel_once)(const SPRY_FN(panel_entries) * at, int count, int b, PANEL *sum)
{
    switch (b) {
    case 1: SPRY_FN(panel_sums)(at, count, 1, false, sum); break;
    case 2: SPRY_FN(panel_sums)(at, count, 2, false, sum); break;
    case 3: SPRY_FN(panel_sums)(at, count, 3, false, sum); break;
    case 4: SPRY_FN(panel_sums)(at, count, 4, false, sum); break;
    default: SPRY_FN(panel_sums)(at, count, 5, false, sum); break;
    }
}

SPRYI_INLINE void SPRY_FN(panel_twice)(const SPRY_FN(panel_entries) * at, int b, PANEL *sum)
{
    if (b == 1)
        SPRY_FN(panel_sums)(at, PANEL_LANES, 1, true, sum);
    else if (TWICE_UP_TO >= 2 && b == 2)
        SPRY_FN(panel_sums)(at, PANEL_LANES, 2, true, sum);
    else if (TWICE_UP_TO >= 3)
        SPRY_FN(panel_sums)(at, PANEL_LANES, 3, true, sum);
}

/* Multiplies the b rows of lane l, one or two registers of vectors at a time. */
static __attribute__((noinline)) void SPRY_FN(panel_lane)(const spryi_run_args *args, const spryi_packed_lanes *lane,
                                                          int l, bool stream)
{
    const spryi_packed *s = args->storage;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const int b = lane->v.b;
    SPRY_V *y = (SPRY_V *)args->y + spryi_packed_row(&lane->v, l) * args->y_stride;
    SPRY_FN(panel_entries)
    at = {.x = (const SPRY_V *)args->x + lane->x_base,
          .values = s->values ? (const SPRY_S *)s->values + lane->values : NULL,
          .x_at = lane->x_at,
          .value = lane->value,
          .stride = lane->stride,
          .blocks = lane->count,
          .x_stride = args->x_stride};
    PANEL sum[2 * SPRYI_PACKED_MOST_BLOCK];
    for (int64_t left = args->columns; left > 0;) {
        const bool twice = left >= 2 * PANEL_LANES && b <= TWICE_UP_TO;
        const int count = left < PANEL_LANES ? (int)left : PANEL_LANES, step = twice ? 2 * PANEL_LANES : count;
        if (twice)
            SPRY_FN(panel_twice)(&at, b, sum);
        else
            SPRY_FN(panel_once)(&at, count, b, sum);
        PACKED_ROLLED for (int n = 0; n < 2 * b; n += 2 - twice)
        {
            SPRY_V *to = y + n / 2 * args->y_stride + n % 2 * PANEL_LANES;
            SPRY_FN(panel_put)(to, count, sum[n], alpha, beta, stream);
        }
        left -= step;
        at.x += step;
        y += step;
    }
}

static void SPRY_FN(panel_slices)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_packed *s = args->storage;
    const spryi_streams streams = spryi_panels_stream(args, s->a.rows, SPRYI_STREAM_PART);
    spryi_packed_lanes lanes;
    for (int64_t k = begin; k < end; k++) {
        spryi_packed_open_lanes(&lanes, s, k, args->x_stride);
        const bool stream = lanes.v.rows ? streams == SPRYI_STREAMS_ANY_ORDER : streams != SPRYI_STREAMS_NOTHING;
        if (s->values)
            spryi_panels_prefetch((const SPRY_S *)s->values + lanes.v.values,
                                  lanes.value_count * (int64_t)sizeof(SPRY_S));
        for (uint32_t left = lanes.rows; left; left &= left - 1) {
            const int l = __builtin_ctz(left);
            spryi_packed_select_lane(&lanes, l);
            SPRY_FN(panel_lane)(args, &lanes, l, stream);
        }
    }
    spryi_panels_done(streams != SPRYI_STREAMS_NOTHING);
}

/*
 * Number of partial sums of a piece in the product with one vector: with AVX2 the number of elements of two registers,
 * else 1. In each step, the second half of the sums is added to the first half, until one sum remains.
 */
#undef PIECE_SUMS
#ifdef __AVX2__
#define PIECE_SUMS (2 * PANEL_LANES)
#else
#define PIECE_SUMS 1
#endif

/*
 * Returns the sums of piece p for `count` vectors from vector c on. Products are added in the order of the product with
 * one vector.
 */
static PANEL SPRY_FN(panel_piece)(const spryi_run_args *args, int64_t p, int64_t c, int count)
{
    const spryi_packed *s = args->storage;
    const SPRY_S *Ax = s->long_rows.values;
    const SPRY_V *x = (const SPRY_V *)args->x + c;
    const int64_t begin = s->long_rows.pieces[p], end = s->long_rows.pieces[p + 1], rest = (end - begin) % PIECE_SUMS;
    PANEL sums[PIECE_SUMS] = {{0}};
    for (int64_t e = begin; e < end - rest; e++) {
        const int64_t j = spryi_index_at(s->long_rows.columns, s->a.index_type, e);
        PANEL *sum = &sums[(e - begin) % PIECE_SUMS];
        *sum = PANEL_FUSED(Ax ? SPRY_VALUE(Ax[e]) : 1, PANEL_LOAD(x + j * args->x_stride, count), *sum);
    }
    for (int n = PIECE_SUMS / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++) sums[i] += sums[i + n];
    for (int64_t e = end - rest; e < end; e++) {
        const int64_t j = spryi_index_at(s->long_rows.columns, s->a.index_type, e);
        sums[0] += (Ax ? SPRY_VALUE(Ax[e]) : 1) * PANEL_LOAD(x + j * args->x_stride, count);
    }
    return sums[0];
}

/* Computes the sums of pieces of long rows. The sums of one piece, one for each vector, are adjacent. */
static void SPRY_FN(panel_pieces)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const int64_t columns = args->columns;
    for (int64_t p = begin; p < end; p++)
        for (int64_t c = 0; c < columns; c += PANEL_LANES) {
            const int count = columns - c < PANEL_LANES ? (int)(columns - c) : PANEL_LANES;
            const PANEL sum = SPRY_FN(panel_piece)(args, p, c, count);
            SPRY_FN(panel_put)((SPRY_V *)args->workspace + p * columns + c, count, sum, 1, 0, false);
        }
}

#endif
