/* The inner functions in plain C; see packed.h for what each is given. */

#include "formats/csrk/packed_long.tmpl.c"

/* A slice as it is multiplied. */
typedef struct SPRY_FN(piece) {
    const SPRY_V *Ax; /* of the next slot; NULL: all entries are 1 */
    const SPRY_V *x;
    const int32_t *distances;
    const uint32_t *masks;
    const uint16_t *offsets; /* of the next slot, or: */
    const SPRY_J *columns;
    const SPRY_V *lane0, *first; /* x of lane 0's own block column, and of FIRST */
    int b, dense;
} SPRY_FN(piece);

/* Rows, all lanes: x in order, gathered from FIRST on, gathered. */
static inline void SPRY_FN(full_slot)(SPRY_FN(piece) * p, int k, SPRY_V *sum)
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
        for (int l = 0; l < LANES; l++) sum[l] += p->Ax[l] * xs[l];
        p->Ax += LANES;
    } else {
        for (int l = 0; l < LANES; l++) sum[l] += xs[l];
    }
}

/* Where x of the slot's q-th lane, l, begins. */
static inline const SPRY_V *SPRY_FN(x_of)(const SPRY_FN(piece) * p, int k, int l, int q)
{
    if (p->distances) return p->lane0 + ((int64_t)p->distances[k] + l) * p->b;
    if (p->offsets) return p->first + (int64_t)p->offsets[q] * p->b;
    return p->x + (int64_t)p->columns[q] * p->b;
}

/* Rows or blocks, the lanes of the mask. sum[r*32 + l]: of row r of lane l. */
static inline void SPRY_FN(slot)(SPRY_FN(piece) * p, int k, uint32_t mask, SPRY_V *sum)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const int count = __builtin_popcount(mask), b = p->b, stride = p->dense ? LANES : count;
    int q = 0;
    for (uint32_t left = mask; left; left &= left - 1, q++) {
        const int l = __builtin_ctz(left);
        const SPRY_V *xs = SPRY_FN(x_of)(p, k, l, p->dense ? l : q);
        for (int r = 0; r < b; r++)
            for (int c = 0; c < b; c++)
                sum[r * LANES + l] += p->Ax ? p->Ax[(r * b + c) * stride + (p->dense ? l : q)] * xs[c] : xs[c];
    }
    if (p->Ax) p->Ax += (int64_t)stride * b * b;
    if (p->offsets) p->offsets += stride;
    if (p->columns) p->columns += stride;
}

static inline uint32_t SPRY_FN(lanes_longer)(const uint8_t *length, int k)
{
    uint32_t mask = 0;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) mask |= (uint32_t)(length[l] > k) << l;
    return mask;
}

static void SPRY_FN(slice)(const spryi_packed_job *job, int64_t k)
{
    enum { LANES = SPRYI_PACKED_LANES };
    const spryi_packed *s = job->s;
    const SPRY_V *x = job->x, alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    SPRY_V sum[LANES * SPRYI_PACKED_MOST_BLOCK], *y = job->y;
    uint8_t length[LANES];
    uint32_t masks[LANES]; /* of the slots */
    spryi_packed_cursor c;
    spryi_packed_open(&c, s, k);
    const uint32_t lanes = spryi_packed_row_mask(&c);
    SPRY_FN(piece)
    p = {.Ax = s->values ? (const SPRY_V *)s->values + c.values : NULL,
         .x = x,
         .distances = c.distances,
         .offsets = c.kind == SPRYI_PACKED_OFFSETS ? c.columns : NULL,
         .columns = c.kind == SPRYI_PACKED_WIDE ? c.columns : NULL,
         .lane0 = x + c.row,
         .first = x + c.first * c.b,
         .b = c.b,
         .dense = c.dense};
    for (int t = 0; c.masks && t < c.width; t++) masks[t] = spryi_packed_slot_mask(&c, t);
    for (int l = 0; c.lengths && l < LANES; l++) length[l] = lanes >> l & 1 ? c.lengths[l] : 0;
    for (int r = 0; r < LANES * c.b; r++) sum[r] = 0;
    for (int t = 0; t < c.width; t++) {
        const uint32_t mask = c.full ? UINT32_MAX : c.masks ? masks[t] : SPRY_FN(lanes_longer)(length, t);
        if (mask == UINT32_MAX && c.b == 1)
            SPRY_FN(full_slot)(&p, t, sum);
        else
            SPRY_FN(slot)(&p, t, mask, sum);
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        for (int r = 0, l = __builtin_ctz(left); r < c.b; r++) {
            SPRY_V *to = y + spryi_packed_row(&c, l) + r;
            *to = beta == 0 ? alpha * sum[r * LANES + l] : alpha * sum[r * LANES + l] + beta * *to;
        }
}

static void SPRY_FN(slices)(const spryi_packed_job *job, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++) SPRY_FN(slice)(job, k);
}

static void SPRY_FN(pieces)(const spryi_packed_job *job, int64_t begin, int64_t end)
{
    const spryi_packed *s = job->s;
    const SPRY_J *Aj = s->long_columns;
    const SPRY_V *Ax = s->long_values, *x = job->x;
    for (int64_t p = begin; p < end; p++) {
        SPRY_V sum = 0;
        for (int64_t e = s->pieces[p]; e < s->pieces[p + 1]; e++) sum += Ax ? Ax[e] * x[Aj[e]] : x[Aj[e]];
        ((SPRY_V *)job->sums)[p] = sum;
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_packed_leaves leaves = {SPRY_FN(slices), SPRY_FN(pieces), SPRY_FN(long_rows)};
    return spryi_packed_drive(args, &leaves);
}
