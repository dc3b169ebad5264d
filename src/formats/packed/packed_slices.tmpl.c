/* The product of packed in plain C, compiled by packed_portable_cpu.c. */
#include <string.h>

/* The slice being multiplied. */
typedef struct SPRY_FN(cursor) {
    const SPRY_S *Ax; /* values of the next slot; NULL: all values are 1 */
    const SPRY_V *x;
    const int32_t *distances;
    const uint32_t *masks;
    const uint16_t *offsets; /* offsets of the next slot, or NULL */
    const SPRY_J *columns;
    const SPRY_V *lane0, *first; /* x at the index of lane 0's row, and at the first column of OFFSETS */
    int b;
    bool dense;
} SPRY_FN(cursor);

/* Adds a slot that all lanes have, if lanes are rows. x is read in order, or gathered by offsets or columns. */
static inline void SPRY_FN(full_slot)(SPRY_FN(cursor) * p, int k, SPRY_V *sum)
{
    enum { LANES = SPRYI_PACKED_LANES };
    SPRY_V xs[LANES];
    if (p->distances) {
        memcpy(xs, p->lane0 + p->distances[k], sizeof xs);
    } else if (p->offsets) {
        for (int l = 0; l < LANES; l++) xs[l] = p->first[p->offsets[l]];
        p->offsets += LANES;
    } else {
        for (int l = 0; l < LANES; l++) xs[l] = p->x[p->columns[l]];
        p->columns += LANES;
    }
    if (p->Ax) {
        for (int l = 0; l < LANES; l++) sum[l] += SPRY_VALUE(p->Ax[l]) * xs[l];
        p->Ax += LANES;
    } else {
        for (int l = 0; l < LANES; l++) sum[l] += xs[l];
    }
}

/* Returns the address of x for lane l, which is the q-th lane of the slot. */
static inline const SPRY_V *SPRY_FN(x_of)(const SPRY_FN(cursor) * p, int k, int l, int q)
{
    if (p->distances) return p->lane0 + ((int64_t)p->distances[k] + l) * p->b;
    if (p->offsets) return p->first + (int64_t)p->offsets[q] * p->b;
    return p->x + (int64_t)p->columns[q] * p->b;
}

/* Adds a slot of entries or blocks for the lanes in the mask. sum[r*32 + l]: sum of row r of lane l. */
static inline void SPRY_FN(slot)(SPRY_FN(cursor) * p, int k, uint32_t mask, SPRY_V *sum)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const int count = __builtin_popcount(mask), b = p->b, stride = p->dense ? LANES : count;
    int q = 0;
    for (uint32_t left = mask; left; left &= left - 1, q++) {
        const int l = __builtin_ctz(left);
        const SPRY_V *xs = SPRY_FN(x_of)(p, k, l, p->dense ? l : q);
        for (int r = 0; r < b; r++)
            for (int c = 0; c < b; c++)
                sum[r * LANES + l] += p->Ax ? SPRY_VALUE(p->Ax[(r * b + c) * stride + (p->dense ? l : q)]) * xs[c]
                                            : xs[c];
    }
    if (p->Ax) p->Ax += (int64_t)stride * b * b;
    if (p->offsets) p->offsets += stride;
    if (p->columns) p->columns += stride;
}

/* Adds a slot that all lanes have, if its entries are blocks. */
static inline void SPRY_FN(full_blocks)(SPRY_FN(cursor) * p, int k, SPRY_V *sum)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const SPRY_V *at[LANES];
    const int b = p->b;
    for (int l = 0; l < LANES; l++) at[l] = SPRY_FN(x_of)(p, k, l, l);
    for (int c = 0; c < b; c++) {
        SPRY_V xs[LANES];
        for (int l = 0; l < LANES; l++) xs[l] = at[l][c];
        for (int r = 0; r < b; r++) {
            const SPRY_S *values = p->Ax ? p->Ax + (r * b + c) * LANES : NULL;
            SPRY_V *to = sum + r * LANES;
            for (int l = 0; l < LANES && values; l++) to[l] += SPRY_VALUE(values[l]) * xs[l];
            for (int l = 0; l < LANES && !values; l++) to[l] += xs[l];
        }
    }
    if (p->Ax) p->Ax += (int64_t)LANES * b * b;
    if (p->offsets) p->offsets += LANES;
    if (p->columns) p->columns += LANES;
}

static void SPRY_FN(slice)(const spryi_run_args *args, int64_t k)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const spryi_packed *s = args->storage;
    const SPRY_V *x = args->x, alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V sum[LANES * SPRYI_PACKED_MOST_BLOCK], *y = args->y;
    uint8_t length[LANES];
    uint32_t masks[LANES]; /* mask of the lanes of each slot */
    const spryi_packed_view v = spryi_packed_view_of(s, k);
    const uint32_t lanes = spryi_packed_row_mask(&v);
    SPRY_FN(cursor)
    p = {.Ax = s->values ? (const SPRY_S *)s->values + v.values : NULL,
         .x = x,
         .distances = v.distances,
         .offsets = v.kind == SPRYI_PACKED_OFFSETS ? v.columns : NULL,
         .columns = v.kind == SPRYI_PACKED_COLUMNS ? v.columns : NULL,
         .lane0 = x + v.row,
         .first = x + v.first * v.b,
         .b = v.b,
         .dense = v.dense};
    for (int t = 0; v.masks && t < v.width; t++) masks[t] = spryi_packed_slot_mask(&v, t);
    for (int l = 0; v.lengths && l < LANES; l++) length[l] = lanes >> l & 1 ? v.lengths[l] : 0;
    for (int r = 0; r < LANES * v.b; r++) sum[r] = 0;
    for (int t = 0; t < v.width; t++) {
        const uint32_t mask = v.full ? UINT32_MAX : v.masks ? masks[t] : spryi_packed_lanes_longer(length, t);
        if (mask == UINT32_MAX && v.b == 1)
            SPRY_FN(full_slot)(&p, t, sum);
        else if (mask == UINT32_MAX)
            SPRY_FN(full_blocks)(&p, t, sum);
        else
            SPRY_FN(slot)(&p, t, mask, sum);
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        for (int r = 0, l = __builtin_ctz(left); r < v.b; r++) {
            SPRY_V *to = y + spryi_packed_row(&v, l) + r;
            *to = beta == 0 ? alpha * sum[r * LANES + l] : alpha * sum[r * LANES + l] + beta * *to;
        }
}

static void SPRY_FN(slices)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++) SPRY_FN(slice)(args, k);
}

static void SPRY_FN(pieces)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_packed *s = args->storage;
    const SPRY_J *Aj = s->long_rows.columns;
    const SPRY_S *Ax = s->long_rows.values;
    const SPRY_V *x = args->x;
    for (int64_t p = begin; p < end; p++) {
        SPRY_V sum = 0;
        for (int64_t e = s->long_rows.pieces[p]; e < s->long_rows.pieces[p + 1]; e++)
            sum += Ax ? SPRY_VALUE(Ax[e]) * x[Aj[e]] : x[Aj[e]];
        ((SPRY_V *)args->workspace)[p] = sum;
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    if (args->columns > 1 && args->x_column_stride == 1)
        return spryi_packed_drive_columns(args, panel_slices, panel_pieces);
    return spryi_packed_drive(args, SPRY_FN(slices), SPRY_FN(pieces));
}
