/* The inner functions with AVX-512; see packed.h for what each is given. */

#include "formats/csrk/packed_long.tmpl.c"
#include "formats/ell/slots_avx512.tmpl.c"

#undef EXPAND
#undef REDUCE
#undef VECTORS
#if SPRY_IS_F64
#define EXPAND(mask, v) _mm512_maskz_expand_pd(mask, v)
#define REDUCE(v) _mm512_reduce_add_pd(v)
#define VECTORS 4 /* of 32 lanes */
#else
#define EXPAND(mask, v) _mm512_maskz_expand_ps(mask, v)
#define REDUCE(v) _mm512_reduce_add_ps(v)
#define VECTORS 2
#endif

#define INLINE static inline __attribute__((always_inline))

/* A slice as it is multiplied. What is of the next slot moves on with each. */
typedef struct SPRY_FN(piece) {
    const SPRY_V *Ax; /* of the next slot; NULL: all entries are 1 */
    const int32_t *distances;
    const uint16_t *offsets; /* of the next slot, or: */
    const SPRY_J *columns;
    const SPRY_V *x; /* what distances, offsets or columns count from */
    lane_slots slots;
    lanes_by by;
    int width, padded;
    int64_t row;          /* the first */
    uint32_t lanes;       /* that are rows */
    const uint16_t *rows; /* of the lanes, from `row` on; NULL: in order */
} SPRY_FN(piece);

/* ---- y ------------------------------------------------------------------------------------------------- */

INLINE void SPRY_FN(put_in_order)(const spryi_packed_job *job, const SPRY_FN(piece) * p, const VEC *sum)
{
    SPRY_V *y = (SPRY_V *)job->y + p->row;
    const VEC alpha = SET1((SPRY_V)job->alpha);
    if (job->stream_y && p->lanes == UINT32_MAX && (uintptr_t)y % sizeof(VEC) == 0) {
        for (int v = 0; v < VECTORS; v++) STREAM(y + v * LANES, MUL(alpha, sum[v]));
        return;
    }
    for (int v = 0; v < VECTORS; v++) {
        const MASK mask = (MASK)(p->lanes >> v * LANES);
        VEC result = MUL(alpha, sum[v]);
        if (job->beta != 0) result = FMA(SET1((SPRY_V)job->beta), MASKZ_LOAD(mask, y + v * LANES), result);
        MASK_STORE(y + v * LANES, mask, result);
    }
}

/* Rows that are sorted, or of blocks. sum[r*VECTORS ..]: of row r of each lane. */
INLINE void SPRY_FN(put_apart)(const spryi_packed_job *job, const SPRY_FN(piece) * p, const int b, const VEC *sum)
{
    SPRY_V sums[SPRYI_PACKED_MOST_BLOCK * SPRYI_PACKED_LANES], *y = (SPRY_V *)job->y + p->row;
    const SPRY_V alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    for (int v = 0; v < b * VECTORS; v++) STORE(sums + v * LANES, MUL(SET1(alpha), sum[v]));
    for (uint32_t left = p->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        SPRY_V *to = y + (p->rows ? p->rows[l] : l * b);
        for (int r = 0; r < b; r++) {
            const SPRY_V result = sums[r * SPRYI_PACKED_LANES + l];
            to[r] = beta == 0 ? result : result + beta * to[r];
        }
    }
}

/* ---- slots --------------------------------------------------------------------------------------------- */

/* Fetches the values and indices of a slot ahead. */
INLINE void SPRY_FN(fetch)(const SPRY_FN(piece) * p, const int b)
{
    for (int v = 0; p->Ax && v < b * b * VECTORS; v++) spryi_prefetch(p->Ax, v * 64 + SPRYI_AHEAD_STEPPED);
    if (p->offsets) spryi_prefetch(p->offsets, SPRYI_AHEAD_STEPPED);
    for (int n = 0; p->columns && n < (int)sizeof(SPRY_J) * SPRYI_PACKED_LANES; n += 64)
        spryi_prefetch(p->columns, n + SPRYI_AHEAD_STEPPED);
}

/* On to the next slot. */
INLINE void SPRY_FN(advance)(SPRY_FN(piece) * p, int stride, const int b)
{
    if (p->Ax) p->Ax += (int64_t)stride * b * b;
    if (p->offsets) p->offsets += stride;
    if (p->columns) p->columns += stride;
}

/* x of LANES lanes from l on, whose places may all be read. */
INLINE VEC SPRY_FN(x_lanes)(const SPRY_FN(piece) * p, int k, int l, const spryi_packed_kind kind)
{
    if (kind == SPRYI_PACKED_STEPPED) return LOAD(p->x + p->distances[k] + l);
    if (kind == SPRYI_PACKED_WIDE) return GATHER_AT(p->x, p->columns + l);
    return GATHER_AT(p->x, p->offsets + l);
}

/* xs[l] = x of the lanes in the mask, of which each has its index at `k`-th place of them; 0 of the others. */
INLINE void SPRY_FN(spread_x)(const SPRY_FN(piece) * p, uint32_t mask, const spryi_packed_kind kind, SPRY_V *xs)
{
    for (int v = 0; v < VECTORS; v++) STORE(xs + v * LANES, ZERO());
    for (int q = 0; mask; mask &= mask - 1, q++)
        xs[__builtin_ctz(mask)] = p->x[kind == SPRYI_PACKED_WIDE ? (int64_t)p->columns[q] : p->offsets[q]];
}

/* Values of the lanes in the mask, of LANES: each in its lane, or side by side from Ax on. */
INLINE VEC SPRY_FN(values)(const SPRY_V *Ax, MASK mask, int padded)
{
    if (padded) return MASKZ_LOAD(mask, Ax);
    return EXPAND(mask, MASKZ_LOAD((MASK)_bzhi_u32(UINT32_MAX, (unsigned)__builtin_popcount(mask)), Ax));
}

INLINE void SPRY_FN(full_slot)(SPRY_FN(piece) * p, int k, const spryi_packed_kind kind, VEC *sum)
{
    SPRY_FN(fetch)(p, 1);
    for (int v = 0; v < VECTORS; v++) {
        const VEC xs = SPRY_FN(x_lanes)(p, k, v * LANES, kind);
        sum[v] = p->Ax ? FMA(LOAD(p->Ax + v * LANES), xs, sum[v]) : ADD(sum[v], xs);
    }
    SPRY_FN(advance)(p, SPRYI_PACKED_LANES, 1);
}

/* Lanes in the mask. Holes of a padded slot have indices too, of places that may be read. */
INLINE void SPRY_FN(some_slot)(SPRY_FN(piece) * p, int k, uint32_t mask, const spryi_packed_kind kind, VEC *sum)
{
    const int gathers = kind != SPRYI_PACKED_STEPPED, spread = gathers && !p->padded;
    const SPRY_V *Ax = p->Ax;
    SPRY_V xs[SPRYI_PACKED_LANES];
    SPRY_FN(fetch)(p, 1);
    if (spread) SPRY_FN(spread_x)(p, mask, kind, xs);
    for (int v = 0; v < VECTORS; v++) {
        const MASK live = (MASK)(mask >> v * LANES);
        VEC x;
        if (!gathers)
            x = MASKZ_LOAD(live, p->x + p->distances[k] + v * LANES);
        else if (spread)
            x = LOAD(xs + v * LANES);
        else
            x = live ? SPRY_FN(x_lanes)(p, k, v * LANES, kind) : ZERO();
        sum[v] = Ax ? MASK_FMA(SPRY_FN(values)(Ax, live, p->padded), x, sum[v], live) : MASK_ADD(sum[v], live, x);
        if (Ax) Ax += p->padded ? LANES : __builtin_popcount(live);
    }
    SPRY_FN(advance)(p, p->padded ? SPRYI_PACKED_LANES : __builtin_popcount(mask), 1);
}

/* at[l] = where x of lane l's block begins, of those in the mask; of the others, where it may be read. */
INLINE void SPRY_FN(find_blocks)(const SPRY_FN(piece) * p, int k, uint32_t mask, const int b, int64_t *at)
{
    if (p->distances) {
        const int64_t any = mask ? __builtin_ctz(mask) : 0;
        for (int l = 0; l < SPRYI_PACKED_LANES; l++) at[l] = b * (p->distances[k] + (mask >> l & 1 ? l : any));
        return;
    }
    if (mask == UINT32_MAX || p->padded) {
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            at[l] = b * (p->offsets ? (int64_t)p->offsets[l] : (int64_t)p->columns[l]);
        return;
    }
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) at[l] = b * (p->offsets ? (int64_t)*p->offsets : (int64_t)*p->columns);
    for (int q = 0; mask; mask &= mask - 1, q++)
        at[__builtin_ctz(mask)] = b * (p->offsets ? (int64_t)p->offsets[q] : (int64_t)p->columns[q]);
}

/* Blocks of the lanes in the mask; there are values. */
INLINE void SPRY_FN(block_slot)(SPRY_FN(piece) * p, int k, uint32_t mask, const int b, VEC *sum)
{
    const int all = mask == UINT32_MAX, stride = all || p->padded ? SPRYI_PACKED_LANES : __builtin_popcount(mask);
    const SPRY_V *Ax = p->Ax;
    int64_t at[SPRYI_PACKED_LANES];
    SPRY_FN(fetch)(p, b);
    if (mask) SPRY_FN(find_blocks)(p, k, mask, b, at);
    for (int v = 0; v < VECTORS && mask; v++) {
        const MASK live = (MASK)(mask >> v * LANES);
        for (int c = 0; c < b; c++) {
            const VEC xs = GATHER_AT(p->x + c, at + v * LANES);
            for (int r = 0; r < b; r++) {
                VEC *to = &sum[r * VECTORS + v];
                const SPRY_V *values = Ax + (r * b + c) * stride;
                *to = all ? FMA(LOAD(values), xs, *to)
                          : MASK_FMA(SPRY_FN(values)(values, live, p->padded), xs, *to, live);
            }
        }
        Ax += all || p->padded ? LANES : __builtin_popcount(live);
    }
    SPRY_FN(advance)(p, stride, b);
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/* A slice of rows. kind, and whether all lanes have all slots, are constants. */
INLINE void SPRY_FN(rows_slice)(const spryi_packed_job *job, SPRY_FN(piece) * p, const spryi_packed_kind kind,
                                const int full)
{
    VEC sum[VECTORS];
    for (int v = 0; v < VECTORS; v++) sum[v] = ZERO();
    for (int k = 0; k < p->width; k++) {
        const uint32_t mask = full ? UINT32_MAX : lanes_with(&p->slots, k, p->by);
        if (mask == UINT32_MAX)
            SPRY_FN(full_slot)(p, k, kind, sum);
        else
            SPRY_FN(some_slot)(p, k, mask, kind, sum);
    }
    if (p->rows)
        SPRY_FN(put_apart)(job, p, 1, sum);
    else
        SPRY_FN(put_in_order)(job, p, sum);
}

INLINE void SPRY_FN(blocks_slice)(const spryi_packed_job *job, SPRY_FN(piece) * p, const int b)
{
    VEC sum[SPRYI_PACKED_MOST_BLOCK * VECTORS];
    for (int v = 0; v < b * VECTORS; v++) sum[v] = ZERO();
    for (int k = 0; k < p->width; k++) SPRY_FN(block_slot)(p, k, lanes_with(&p->slots, k, p->by), b, sum);
    SPRY_FN(put_apart)(job, p, b, sum);
}

/* Slice k, ready to be multiplied. */
INLINE SPRY_FN(piece) SPRY_FN(open)(const spryi_packed_job *job, int64_t k)
{
    const spryi_packed *s = job->s;
    const spryi_packed_slice *t = &s->slices[k];
    const int b = spryi_packed_b(t), kind = spryi_packed_kind_of(t), full = (t->info & SPRYI_PACKED_FULL) != 0;
    const uint8_t *indices = s->indices + (int64_t)t->indices * SPRYI_PACKED_UNIT;
    const int64_t row = (int64_t)t->row * SPRYI_PACKED_LANES, lanes = (s->a.rows - row) / b;
    SPRY_FN(piece)
    p = {.Ax = s->values ? (const SPRY_V *)s->values + spryi_packed_values_at(t) : NULL,
         .by = BY_ALL,
         .width = spryi_packed_width(t),
         .padded = (t->info & SPRYI_PACKED_PADDED) != 0,
         .row = row,
         .lanes = lanes < SPRYI_PACKED_LANES ? (1u << lanes) - 1 : UINT32_MAX};
    if (kind == SPRYI_PACKED_STEPPED) {
        p.x = (const SPRY_V *)job->x + row;
        p.distances = (const int32_t *)(const void *)indices;
        if (full) return p;
        p.by = p.width <= 8 ? BY_8 : p.width <= 16 ? BY_16 : BY_32;
        p.slots = load_slots(s->indices + (int64_t)(uint32_t)s->extras[k] * SPRYI_PACKED_UNIT, p.by);
        return p;
    }
    if (!full) {
        p.by = BY_LENGTH;
        p.slots = load_slots(indices, BY_LENGTH);
        p.lanes &= lanes_of_rows(&p.slots);
        indices += SPRYI_PACKED_LANES;
    }
    if (t->info & SPRYI_PACKED_SORTED) {
        p.rows = (const uint16_t *)(const void *)indices;
        p.row = row / SPRYI_PACKED_GROUP * SPRYI_PACKED_GROUP;
        indices += SPRYI_PACKED_LANES * sizeof *p.rows;
    }
    p.x = job->x;
    if (kind == SPRYI_PACKED_WIDE) {
        p.columns = (const SPRY_J *)(const void *)indices;
    } else {
        p.x += (int64_t)s->extras[k] * b;
        p.offsets = (const uint16_t *)(const void *)indices;
    }
    return p;
}

static void SPRY_FN(slices)(const spryi_packed_job *job, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++) {
        SPRY_FN(piece) p = SPRY_FN(open)(job, k);
        switch (spryi_packed_b(&job->s->slices[k])) {
        case 1: break;
        case 2: SPRY_FN(blocks_slice)(job, &p, 2); continue;
        case 3: SPRY_FN(blocks_slice)(job, &p, 3); continue;
        case 4: SPRY_FN(blocks_slice)(job, &p, 4); continue;
        default: SPRY_FN(blocks_slice)(job, &p, 5); continue;
        }
        if (p.distances && p.by == BY_ALL)
            SPRY_FN(rows_slice)(job, &p, SPRYI_PACKED_STEPPED, 1);
        else if (p.distances)
            SPRY_FN(rows_slice)(job, &p, SPRYI_PACKED_STEPPED, 0);
        else if (p.offsets)
            SPRY_FN(rows_slice)(job, &p, SPRYI_PACKED_OFFSETS, 0);
        else
            SPRY_FN(rows_slice)(job, &p, SPRYI_PACKED_WIDE, 0);
    }
    if (job->stream_y) _mm_sfence();
}

/* Pieces of long rows, two registers a step. */
static void SPRY_FN(pieces)(const spryi_packed_job *job, int64_t begin, int64_t end)
{
    const spryi_packed *s = job->s;
    const SPRY_J *Aj = s->long_columns;
    const SPRY_V *Ax = s->long_values, *x = job->x;
    for (int64_t n = begin; n < end; n++) {
        VEC sum = ZERO(), other = ZERO();
        int64_t k = s->pieces[n];
        const int64_t stop = s->pieces[n + 1];
        for (; k + 2 * LANES <= stop; k += 2 * LANES) {
            const VEC xs = GATHER_AT(x, Aj + k), more = GATHER_AT(x, Aj + k + LANES);
            sum = Ax ? FMA(LOAD(Ax + k), xs, sum) : ADD(sum, xs);
            other = Ax ? FMA(LOAD(Ax + k + LANES), more, other) : ADD(other, more);
        }
        SPRY_V last = REDUCE(ADD(sum, other));
        for (; k < stop; k++) last += Ax ? Ax[k] * x[Aj[k]] : x[Aj[k]];
        ((SPRY_V *)job->sums)[n] = last;
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_packed_leaves leaves = {SPRY_FN(slices), SPRY_FN(pieces), SPRY_FN(long_rows)};
    return spryi_packed_drive(args, &leaves);
}

#undef INLINE
