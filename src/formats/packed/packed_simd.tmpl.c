/*
 * The product of packed with vector registers, compiled once for each combination of types by packed_avx2_cpu.c and
 * packed_avx512_cpu.c. These files include base/avx2_lanes.h or base/avx512_lanes.h, and define lanes_by, lane_bits,
 * load_bits, lanes_with and lanes_of_rows, which find the lanes that have a slot. packed_avx512_cpu.c also defines
 * EXPAND.
 */
#undef VECTORS
#undef EACH_VECTOR
#undef IS_SMALL
#define VECTORS (32 / LANES)
/*
 * Rarely used types have one small instance for all kinds of slices. With AVX2, one instance serves all block sizes,
 * since format bsr is faster for blocks.
 */
#if SPRY_J_IS_64 || (!SPRY_IS_F64 && SPRY_IS_MIXED && !defined EXPAND)
#define EACH_VECTOR
#define IS_SMALL 1
#else
#define EACH_VECTOR _Pragma("GCC unroll 8") /* unrolls short loops, so that sums remain in registers */
#define IS_SMALL 0
#endif

/* The slice being multiplied. Addresses point to the data of the next slot, and advance with each slot. */
typedef struct SPRY_FN(cursor) {
    const SPRY_S *Ax; /* values of the next slot; NULL: all values are 1 */
    const int32_t *distances;
    const uint16_t *offsets; /* offsets of the next slot, or NULL */
    const SPRY_J *columns;
    const SPRY_V *x; /* element to which distances, offsets or columns are relative */
    lane_bits bits;
    lanes_by by;
    int width;
    bool padded;
    int64_t row;          /* first row */
    uint32_t lanes;       /* lanes that are rows */
    const uint16_t *rows; /* rows of the lanes, relative to `row`; NULL: natural order */
} SPRY_FN(cursor);

/* Destination of the results. stream: use non-temporal stores, only if beta is 0. */
typedef struct SPRY_FN(target) {
    SPRY_V *y, alpha, beta;
    bool stream;
} SPRY_FN(target);

/* ---- y ------------------------------------------------------------------------------------------------- */

SPRYI_INLINE void SPRY_FN(put_in_order)(const SPRY_FN(target) * t, const SPRY_FN(cursor) * p, const VEC *sum)
{
    SPRY_V *y = t->y + p->row;
    const VEC alpha = SET1(t->alpha);
    if (t->stream && p->lanes == UINT32_MAX && (uintptr_t)y % sizeof(__m128i) == 0) {
        VEC results[VECTORS]; /* a copy: the address of sum is not taken, so sums remain in registers */
        EACH_VECTOR for (int v = 0; v < VECTORS; v++) results[v] = MUL(alpha, sum[v]);
        spryi_stream_parts(y, results, VECTORS * sizeof(VEC) / sizeof(__m128i));
        return;
    }
    EACH_VECTOR for (int v = 0; v < VECTORS; v++)
    {
        const MASK mask = MASK_OF(p->lanes >> v * LANES);
        VEC result = MUL(alpha, sum[v]);
        if (t->beta != 0) result = ADD(result, MUL(SET1(t->beta), MASKZ_LOAD(mask, y + v * LANES)));
        MASK_STORE(y + v * LANES, mask, result);
    }
}

/*
 * Writes y of a slice that is SORTED or has blocks. sums[r*32 + l] is the sum of row r of lane l. It is scaled in
 * place.
 */
SPRYI_INLINE void SPRY_FN(put_scattered)(const SPRY_FN(target) * t, const SPRY_FN(cursor) * p, const int b,
                                         SPRY_V *sums)
{
    SPRY_V *y = t->y + p->row;
    const SPRY_V alpha = t->alpha, beta = t->beta;
    for (int v = 0; v < b * VECTORS; v++) STORE(sums + v * LANES, MUL(SET1(alpha), LOAD(sums + v * LANES)));
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

/* Prefetches the values and indices of a later slot. */
SPRYI_INLINE void SPRY_FN(fetch)(const SPRY_FN(cursor) * p, const int b)
{
    for (int n = 0; p->Ax && n < b * b * (int)sizeof(SPRY_S) * SPRYI_PACKED_LANES; n += 64)
        spryi_prefetch(p->Ax, n + SPRYI_AHEAD_STEPPED);
    if (p->offsets) spryi_prefetch(p->offsets, SPRYI_AHEAD_STEPPED);
    for (int n = 0; p->columns && n < (int)sizeof(SPRY_J) * SPRYI_PACKED_LANES; n += 64)
        spryi_prefetch(p->columns, n + SPRYI_AHEAD_STEPPED);
}

/* Advances to the next slot. */
SPRYI_INLINE void SPRY_FN(advance)(SPRY_FN(cursor) * p, int stride, const int b)
{
    if (p->Ax) p->Ax += (int64_t)stride * b * b;
    if (p->offsets) p->offsets += stride;
    if (p->columns) p->columns += stride;
}

/* Returns the elements of x for LANES lanes from l on. All these lanes must have valid indices. */
SPRYI_INLINE VEC SPRY_FN(x_lanes)(const SPRY_FN(cursor) * p, int k, int l, const spryi_packed_kind kind)
{
    if (kind == SPRYI_PACKED_DIAGONALS) return LOAD(p->x + p->distances[k] + l);
    if (kind == SPRYI_PACKED_COLUMNS) return GATHER_AT(p->x, p->columns + l);
    return GATHER_AT(p->x, p->offsets + l);
}

/*
 * Sets xs[l] to lane l's element of x for lanes in the mask, and to 0 for other lanes. The indices of the
 * mask's lanes are adjacent in memory.
 */
SPRYI_INLINE void SPRY_FN(spread_x)(const SPRY_FN(cursor) * p, uint32_t mask, const spryi_packed_kind kind, SPRY_V *xs)
{
    EACH_VECTOR for (int v = 0; v < VECTORS; v++) STORE(xs + v * LANES, ZERO());
    for (int q = 0; mask; mask &= mask - 1, q++)
        xs[__builtin_ctz(mask)] = p->x[kind == SPRYI_PACKED_COLUMNS ? (int64_t)p->columns[q] : p->offsets[q]];
}

/* Loads adjacent values from Ax on into the lanes of the mask. Other lanes are 0. */
SPRYI_INLINE VEC SPRY_FN(spread_values)(const SPRY_S *Ax, MASK mask)
{
#ifdef EXPAND
    const MASK side_by_side = (MASK)_bzhi_u32(UINT32_MAX, (unsigned)__builtin_popcount(mask));
    return EXPAND(mask, MASKZ_LOAD_VALUES(side_by_side, Ax));
#else
    SPRY_V values[LANES] = {0};
    for (unsigned left = mask; left; left &= left - 1) values[__builtin_ctz(left)] = SPRY_VALUE(*Ax++);
    return LOAD(values);
#endif
}

/*
 * Loads the values of LANES lanes. padded: every lane has a value. Otherwise only the mask's lanes have values, which
 * are adjacent.
 */
SPRYI_INLINE VEC SPRY_FN(values)(const SPRY_S *Ax, MASK mask, bool padded)
{
    return padded ? LOAD_VALUES(Ax) : SPRY_FN(spread_values)(Ax, mask);
}

SPRYI_INLINE void SPRY_FN(full_slot)(SPRY_FN(cursor) * p, int k, const spryi_packed_kind kind, VEC *sum)
{
    SPRY_FN(fetch)(p, 1);
    EACH_VECTOR for (int v = 0; v < VECTORS; v++)
    {
        const VEC xs = SPRY_FN(x_lanes)(p, k, v * LANES, kind);
        sum[v] = p->Ax ? FMA(LOAD_VALUES(p->Ax + v * LANES), xs, sum[v]) : ADD(sum[v], xs);
    }
    SPRY_FN(advance)(p, SPRYI_PACKED_LANES, 1);
}

/* Adds a slot for the lanes in the mask. Missing entries of a padded slot have valid indices. */
SPRYI_INLINE void SPRY_FN(some_slot)(SPRY_FN(cursor) * p, int k, uint32_t mask, const spryi_packed_kind kind, VEC *sum)
{
    const bool gathers = kind != SPRYI_PACKED_DIAGONALS, spread = gathers && !p->padded;
    const SPRY_S *Ax = p->Ax;
    SPRY_V xs[SPRYI_PACKED_LANES];
    SPRY_FN(fetch)(p, 1);
    if (spread) SPRY_FN(spread_x)(p, mask, kind, xs);
    EACH_VECTOR for (int v = 0; v < VECTORS; v++)
    {
        const MASK live = MASK_OF(mask >> v * LANES);
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

/*
 * Sets at[l] to the position in x of lane l's block for lanes in the mask, and to some valid position for other lanes.
 */
SPRYI_INLINE void SPRY_FN(find_blocks)(const SPRY_FN(cursor) * p, int k, uint32_t mask, const int b, int64_t *at)
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

/*
 * Adds the blocks of LANES lanes: of all these lanes if `all` is true, else of the lanes in the mask `live`. Row r of
 * each block is added to sums[r*32 + l].
 */
SPRYI_INLINE void SPRY_FN(add_blocks)(const SPRY_FN(cursor) * p, const SPRY_S *Ax, int stride, const int64_t *at,
                                      MASK live, const bool all, const int b, SPRY_V *sums)
{
    VEC rows[SPRYI_PACKED_MOST_BLOCK];
    EACH_VECTOR for (int r = 0; r < SPRYI_PACKED_MOST_BLOCK; r++) rows[r] = r < b ? LOAD(sums + r * SPRYI_PACKED_LANES)
                                                                                  : ZERO();
    EACH_VECTOR for (int c = 0; c < b; c++)
    {
        const VEC xs = GATHER_AT(p->x + c, at);
        EACH_VECTOR for (int r = 0; r < b; r++)
        {
            const SPRY_S *values = Ax + (r * b + c) * stride;
            rows[r] = all ? FMA(LOAD_VALUES(values), xs, rows[r])
                          : MASK_FMA(SPRY_FN(values)(values, live, p->padded), xs, rows[r], live);
        }
    }
    EACH_VECTOR for (int r = 0; r < b; r++) STORE(sums + r * SPRYI_PACKED_LANES, rows[r]);
}

#ifndef EXPAND
/*
 * Adds a slot of blocks lane by lane, if the values of the mask's lanes are adjacent. Such slots have few lanes, so
 * spreading their values over registers would take longer.
 */
SPRYI_INLINE void SPRY_FN(add_few_blocks)(const SPRY_FN(cursor) * p, const int64_t *at, uint32_t mask, int stride,
                                          const int b, SPRY_V *sums)
{
    const SPRY_S *values = p->Ax;
    for (; mask; mask &= mask - 1, values++) {
        const int l = __builtin_ctz(mask);
        const SPRY_V *x = p->x + at[l];
        for (int r = 0; r < b; r++) {
            SPRY_V *to = sums + r * SPRYI_PACKED_LANES + l, sum = *to;
            for (int c = 0; c < b; c++) sum = SCALAR_FMA(SPRY_VALUE(values[(r * b + c) * stride]), x[c], sum);
            *to = sum;
        }
    }
}
#endif

/* Adds a slot of blocks for the lanes in the mask. Blocks always have values. */
SPRYI_INLINE void SPRY_FN(block_slot)(SPRY_FN(cursor) * p, int k, uint32_t mask, const int b, SPRY_V *sums)
{
    const bool all = mask == UINT32_MAX;
    const int stride = all || p->padded ? SPRYI_PACKED_LANES : __builtin_popcount(mask);
    const SPRY_S *Ax = p->Ax;
    int64_t at[SPRYI_PACKED_LANES];
    SPRY_FN(fetch)(p, b);
    if (mask) SPRY_FN(find_blocks)(p, k, mask, b, at);
#ifndef EXPAND
    if (!all && !p->padded) {
        SPRY_FN(add_few_blocks)(p, at, mask, stride, b, sums);
        mask = 0;
    }
#endif
    for (int v = 0; v < VECTORS && mask; v++) {
        const MASK live = MASK_OF(mask >> v * LANES);
        if (live) SPRY_FN(add_blocks)(p, Ax, stride, at + v * LANES, live, all, b, sums + v * LANES);
        Ax += all || p->padded ? LANES : __builtin_popcount(live);
    }
    SPRY_FN(advance)(p, stride, b);
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/*
 * Multiplies a slice of rows. full: all lanes have all slots. kind and full are compile-time constants, except in small
 * instances.
 */
SPRYI_INLINE void SPRY_FN(rows_slice)(const SPRY_FN(target) * t, SPRY_FN(cursor) * p, const spryi_packed_kind kind,
                                      const bool full)
{
    VEC sum[VECTORS];
    EACH_VECTOR for (int v = 0; v < VECTORS; v++) sum[v] = ZERO();
    for (int k = 0; k < p->width; k++) {
        const uint32_t mask = full ? UINT32_MAX : lanes_with(&p->bits, k, p->by);
        if (mask == UINT32_MAX)
            SPRY_FN(full_slot)(p, k, kind, sum);
        else
            SPRY_FN(some_slot)(p, k, mask, kind, sum);
    }
    if (!p->rows) {
        SPRY_FN(put_in_order)(t, p, sum);
        return;
    }
    SPRY_V sums[SPRYI_PACKED_LANES];
    EACH_VECTOR for (int v = 0; v < VECTORS; v++) STORE(sums + v * LANES, sum[v]);
    SPRY_FN(put_scattered)(t, p, 1, sums);
}

SPRYI_INLINE void SPRY_FN(blocks_slice)(const SPRY_FN(target) * t, SPRY_FN(cursor) * p, const int b)
{
    SPRY_V sums[SPRYI_PACKED_MOST_BLOCK * SPRYI_PACKED_LANES];
    for (int v = 0; v < b * VECTORS; v++) STORE(sums + v * LANES, ZERO());
    for (int k = 0; k < p->width; k++) SPRY_FN(block_slot)(p, k, lanes_with(&p->bits, k, p->by), b, sums);
    SPRY_FN(put_scattered)(t, p, b, sums);
}

/* Opens slice k. */
SPRYI_INLINE SPRY_FN(cursor) SPRY_FN(open)(const spryi_run_args *args, int64_t k)
{
    const spryi_packed *s = args->storage;
    const spryi_packed_view v = spryi_packed_view_of(s, k);
    SPRY_FN(cursor)
    p = {.Ax = s->values ? (const SPRY_S *)s->values + v.values : NULL,
         .x = args->x,
         .distances = v.distances,
         .by = BY_ALL,
         .width = v.width,
         .padded = v.dense,
         .row = v.rows ? v.row / SPRYI_PACKED_GROUP * SPRYI_PACKED_GROUP : v.row,
         .lanes = v.lanes < SPRYI_PACKED_LANES ? (1u << v.lanes) - 1 : UINT32_MAX,
         .rows = v.rows};
    if (v.distances) {
        p.x += v.row;
        if (v.full) return p;
        p.by = v.width <= 8 ? BY_8 : v.width <= 16 ? BY_16 : BY_32;
        p.bits = load_bits(v.masks, p.by);
        return p;
    }
    if (v.lengths) {
        p.by = BY_LENGTH;
        p.bits = load_bits(v.lengths, BY_LENGTH);
        p.lanes &= lanes_of_rows(&p.bits);
    }
    if (v.kind == SPRYI_PACKED_COLUMNS) {
        p.columns = v.columns;
    } else {
        p.x += v.first * v.b;
        p.offsets = v.columns;
    }
    return p;
}

/* Multiplies slice k, of blocks. */
static __attribute__((noinline)) void SPRY_FN(any_blocks)(const spryi_run_args *args, const SPRY_FN(target) * t,
                                                          int64_t k, const int b)
{
    SPRY_FN(cursor) p = SPRY_FN(open)(args, k);
#if !IS_SMALL && defined EXPAND
    switch (b) {
    case 2: SPRY_FN(blocks_slice)(t, &p, 2); return;
    case 3: SPRY_FN(blocks_slice)(t, &p, 3); return;
    case 4: SPRY_FN(blocks_slice)(t, &p, 4); return;
    default: SPRY_FN(blocks_slice)(t, &p, 5); return;
    }
#else
    SPRY_FN(blocks_slice)(t, &p, b);
#endif
}

/* Multiplies slice k, of rows. The cursor remains in registers, since only inlined functions use its address. */
#if IS_SMALL
static __attribute__((noinline)) void SPRY_FN(any_rows)(const spryi_run_args *args, const SPRY_FN(target) * t,
                                                        int64_t k)
{
    SPRY_FN(cursor) p = SPRY_FN(open)(args, k);
    const spryi_packed_kind kind = p.distances ? SPRYI_PACKED_DIAGONALS
                                   : p.offsets ? SPRYI_PACKED_OFFSETS
                                               : SPRYI_PACKED_COLUMNS;
    SPRY_FN(rows_slice)(t, &p, kind, false);
}
#else
SPRYI_INLINE void SPRY_FN(any_rows)(const spryi_run_args *args, const SPRY_FN(target) * t, int64_t k)
{
    SPRY_FN(cursor) p = SPRY_FN(open)(args, k);
    if (p.distances && p.by == BY_ALL)
        SPRY_FN(rows_slice)(t, &p, SPRYI_PACKED_DIAGONALS, true);
    else if (p.distances)
        SPRY_FN(rows_slice)(t, &p, SPRYI_PACKED_DIAGONALS, false);
    else if (p.offsets)
        SPRY_FN(rows_slice)(t, &p, SPRYI_PACKED_OFFSETS, false);
    else
        SPRY_FN(rows_slice)(t, &p, SPRYI_PACKED_COLUMNS, false);
}
#endif

static void SPRY_FN(slices)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_packed *s = args->storage;
    SPRY_FN(target) t = {args->y, *(const SPRY_V *)args->alpha, *(const SPRY_V *)args->beta, false};
    t.stream = t.beta == 0 && spryi_packed_streams_y(s, sizeof(SPRY_V));
    const SPRY_FN(target) *to = &t;
    __asm__("" : "+r"(to)); /* keeps alpha and beta in memory, so that all registers are free for sums */
    for (int64_t k = begin; k < end; k++) {
        const int b = spryi_packed_b(&s->slices[k]);
        if (b > 1)
            SPRY_FN(any_blocks)(args, to, k, b);
        else
            SPRY_FN(any_rows)(args, to, k);
    }
    if (t.stream) _mm_sfence();
}

/* Computes the sums of pieces of long rows, two registers at a time. */
static void SPRY_FN(pieces)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_packed *s = args->storage;
    const SPRY_J *Aj = s->long_rows.columns;
    const SPRY_S *Ax = s->long_rows.values;
    const SPRY_V *x = args->x;
    for (int64_t n = begin; n < end; n++) {
        VEC sum = ZERO(), other = ZERO();
        int64_t k = s->long_rows.pieces[n];
        const int64_t stop = s->long_rows.pieces[n + 1];
        for (; k + 2 * LANES <= stop; k += 2 * LANES) {
            const VEC xs = GATHER_AT(x, Aj + k), more = GATHER_AT(x, Aj + k + LANES);
            sum = Ax ? FMA(LOAD_VALUES(Ax + k), xs, sum) : ADD(sum, xs);
            other = Ax ? FMA(LOAD_VALUES(Ax + k + LANES), more, other) : ADD(other, more);
        }
        SPRY_V last = REDUCE(ADD(sum, other));
        for (; k < stop; k++) last += Ax ? SPRY_VALUE(Ax[k]) * x[Aj[k]] : x[Aj[k]];
        ((SPRY_V *)args->workspace)[n] = last;
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    if (args->columns > 1 && args->x_column_stride == 1)
        return spryi_packed_drive_columns(args, panel_slices, panel_pieces);
    return spryi_packed_drive(args, SPRY_FN(slices), SPRY_FN(pieces));
}
