/*
 * SELL times multiple row-major vectors, for the kernels of all levels. Four lanes of a chunk are processed together:
 * one entry of each lane is multiplied by one or two registers of its row of x. Remaining entries of longer rows are
 * processed lane by lane. A chunk remains in the first-level cache for all its lanes and vectors. In strided runs only
 * the columns of the run's first row are read. The order of additions equals that of the product with one vector; fused
 * is true if that product uses FMA intrinsics (panels.h). All slots of a pattern read the same values, which are ones.
 * abreast: number of lanes that are processed together, four, or one in rarely used code. Plain C uses PLAIN_ABREAST.
 */
#include "formats/shared/panels.tmpl.c"

/* Entries of some lanes, and x of the first vector. */
typedef struct SPRY_FN(slots) {
    const SPRY_S *Ax;
    const SPRY_V *x;
    const SPRY_J *Aj;
    /* distances between slots in Ax and in Aj, and between rows of x */
    int64_t values_stride, columns_stride, x_stride;
    int64_t window; /* first row of the permutation's window */
    int lanes;
    bool strided, stream;
} SPRY_FN(slots);

/*
 * Adds slots begin .. end - 1 of lane l, times one register of vectors from c on, to sum[2l]. twice: also adds these
 * slots, times the next register of vectors, to sum[2l + 1].
 */
SPRYI_INLINE void SPRY_FN(panel_slots)(const SPRY_FN(slots) * at, int64_t begin, int64_t end, int64_t c, int count,
                                       const bool fused, const int lanes, const bool strided, const bool twice,
                                       PANEL *sum)
{
    const SPRY_FN(slots) own = *at; /* a copy that no store can change */
    const SPRY_V *x = own.x + c;
    PANEL low[SPRYI_SELL_ABREAST], high[SPRYI_SELL_ABREAST];
    for (int l = 0; l < lanes; l++) low[l] = sum[2 * l];
    for (int l = 0; l < lanes; l++) high[l] = sum[2 * l + 1];
    for (int64_t s = begin; s < end; s++) {
        const SPRY_S *Ax = own.Ax + s * own.values_stride;
        const SPRY_J *Aj = own.Aj + s * own.columns_stride;
        if (lanes > 1) spryi_panels_prefetch(Ax, sizeof *Ax);
        if (lanes > 1 && !strided) spryi_panels_prefetch(Aj, sizeof *Aj);
        for (int l = 0; l < lanes; l++) {
            const SPRY_V *row = x + (strided ? (int64_t)Aj[0] + l : (int64_t)Aj[l]) * own.x_stride;
            const PANEL first = twice ? SPRY_FN(panel_all)(row) : PANEL_LOAD(row, count);
            const PANEL second = twice ? SPRY_FN(panel_all)(row + PANEL_LANES) : first;
            if (fused) {
                low[l] = PANEL_FUSED(SPRY_VALUE(Ax[l]), first, low[l]);
                if (twice) high[l] = PANEL_FUSED(SPRY_VALUE(Ax[l]), second, high[l]);
            } else {
                low[l] += SPRY_VALUE(Ax[l]) * first;
                if (twice) high[l] += SPRY_VALUE(Ax[l]) * second;
            }
        }
    }
    for (int l = 0; l < lanes; l++) sum[2 * l] = low[l];
    for (int l = 0; l < lanes; l++) sum[2 * l + 1] = high[l];
}

/* Multiplies lanes from l on by one or two registers of vectors from c on. */
SPRYI_INLINE void SPRY_FN(panel_lanes)(const spryi_run_args *args, const SPRY_FN(slots) * at, int64_t l, int64_t c,
                                       int count, const bool fused, const int abreast, const bool twice)
{
    const spryi_sell *s = args->storage;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const int32_t *length = s->lengths + l;
    PANEL sum[2 * SPRYI_SELL_ABREAST] = {{0}};
    int32_t least = 0;
    if (at->lanes == abreast) {
        least = length[0];
        for (int r = 1; r < abreast; r++) least = length[r] < least ? length[r] : least;
        if (at->strided)
            SPRY_FN(panel_slots)(at, 0, least, c, count, fused, abreast, true, twice, sum);
        else
            SPRY_FN(panel_slots)(at, 0, least, c, count, fused, abreast, false, twice, sum);
    }
    for (int r = 0; r < at->lanes; r++) {
        const int64_t row = at->window + (s->permutation ? s->permutation[l + r] : l + r);
        SPRY_V *y = (SPRY_V *)args->y + row * args->y_stride + c;
        if (abreast > 1 && length[r] > least) {
            SPRY_FN(slots) lane = *at;
            lane.Ax += s->values ? r : 0;
            lane.Aj += r;
            SPRY_FN(panel_slots)(&lane, least, length[r], c, count, fused, 1, false, twice, sum + 2 * r);
        }
        SPRY_FN(panel_put)(y, count, sum[2 * r], alpha, beta, at->stream);
        if (twice) SPRY_FN(panel_put)(y + PANEL_LANES, count, sum[2 * r + 1], alpha, beta, at->stream);
    }
}

/*
 * Returns at most `abreast` lanes of chunk k from lane r on. first: first chunk of the strided run, < 0 if there is no
 * run.
 */
SPRYI_INLINE SPRY_FN(slots)
    SPRY_FN(slots_at)(const spryi_run_args *args, int64_t k, int64_t first, int64_t r, const int abreast)
{
#if SPRY_IS_MIXED
    const SPRY_S *const ones = NULL; /* a pattern has a plain row of types */
#else
    static const SPRY_S ones[SPRYI_SELL_ABREAST] = {1, 1, 1, 1};
#endif
    const spryi_sell *s = args->storage;
    const int64_t l = k * s->c + r, left = s->a.rows - l, in_chunk = s->c - r;
    const int64_t lanes = left < in_chunk ? left : in_chunk;
    SPRY_FN(slots)
    at = {
        .Ax = s->values ? (const SPRY_S *)s->values + s->offsets[k] + r : ones,
        .Aj = (const SPRY_J *)s->columns + s->offsets[k] + r,
        .x = args->x,
        .values_stride = s->values ? s->c : 0,
        .columns_stride = s->c,
        .x_stride = args->x_stride,
        .lanes = lanes < abreast ? (int)lanes : abreast,
        .strided = first >= 0 && r / SPRYI_SLOT_LANES < s->c / SPRYI_SLOT_LANES,
    };
    if (at.strided) {
        at.Aj = (const SPRY_J *)s->columns + s->offsets[first];
        at.x += (l - first * s->c) * args->x_stride;
    }
    return at;
}

/* Multiplies chunk k. A group of lanes is multiplied by all vectors before the next group. */
SPRYI_INLINE void SPRY_FN(panel_chunk)(const spryi_run_args *args, int64_t k, int64_t first, bool stream,
                                       const bool fused, const int abreast)
{
    const spryi_sell *s = args->storage;
    const int64_t columns = args->columns, window = s->permutation ? k * s->c / s->sigma * s->sigma : 0;
    for (int64_t r = 0; r < s->c && k * s->c + r < s->a.rows; r += abreast) {
        SPRY_FN(slots) at = SPRY_FN(slots_at)(args, k, first, r, abreast);
        const int64_t l = k * s->c + r;
        int64_t c = 0;
        at.window = window;
        at.stream = stream;
        for (; abreast > 1 && c + 2 * PANEL_LANES <= columns; c += 2 * PANEL_LANES)
            SPRY_FN(panel_lanes)(args, &at, l, c, PANEL_LANES, fused, abreast, true);
        for (; c < columns; c += PANEL_LANES) {
            const int64_t left = columns - c;
            SPRY_FN(panel_lanes)(args, &at, l, c, left < PANEL_LANES ? (int)left : PANEL_LANES, fused, abreast, false);
        }
    }
}

SPRYI_INLINE void SPRY_FN(panel_blocks_of)(const spryi_run_args *args, int64_t begin, int64_t end, const bool fused,
                                           const int abreast)
{
    const spryi_sell *s = args->storage;
    const int64_t to = spryi_sell_block_begin(s, end);
    const spryi_streams streams = spryi_panels_stream(args, s->a.rows, SPRYI_STREAM_PART);
    const bool stream = s->permutation ? streams == SPRYI_STREAMS_ANY_ORDER : streams != SPRYI_STREAMS_NOTHING;
    for (int64_t k = spryi_sell_block_begin(s, begin), first; k < to;)
        for (int64_t last = k + spryi_sell_run(s, k, &first); k < last; k++)
            SPRY_FN(panel_chunk)(args, k, first, stream, fused, abreast);
    spryi_panels_done(stream);
}

static void SPRY_FN(panel_blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    SPRY_FN(panel_blocks_of)(args, begin, end, false, PLAIN_ABREAST);
}
