/*
 * Rows and groups of rows by spans, see csr.h: one load of x a span, in which the values take the lanes of their
 * columns. No column is read, and lanes without an entry read neither x nor a value.
 */

/* sum plus the products of a span, whose values begin at Ax. */
static inline __attribute__((always_inline)) VEC SPRY_FN(span_terms)(const SPRY_V *Ax, const SPRY_V *x,
                                                                     const spryi_csr_span *s, VEC sum)
{
    const MASK lanes = (MASK)s->lanes;
    spryi_prefetch_near(Ax, SPRYI_AHEAD_NEAR);
    return FMA(EXPAND_LOAD(lanes, Ax), MASKZ_LOAD(lanes, x + s->column), sum);
}

/* Rows i .. i + rows - 1, one after the other; returns the spans of the row after. */
static inline __attribute__((always_inline)) const spryi_csr_span *
SPRY_FN(span_row_group)(const spryi_csr_job *job, int64_t i, int rows, const spryi_csr_span *s, const int least)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *Ax = job->values, *x = job->x;
    VEC sum[LANES];
    if (rows < LANES)
        for (int r = 0; r < LANES; r++) sum[r] = ZERO();
    for (int r = 0; r < rows; r++) {
        int64_t k = Ap[i + r];
        const int64_t end = Ap[i + r + 1];
        VEC total = ZERO();
        spryi_prefetch_near(s, SPRYI_AHEAD_NEAR);
        for (int q = 0; q < least; q++, k += s->count, s++) total = SPRY_FN(span_terms)(Ax + k, x, s, total);
        for (; k < end; k += s->count, s++) total = SPRY_FN(span_terms)(Ax + k, x, s, total);
        sum[r] = total;
    }
    SPRY_FN(put)(job, i, rows, SUM_ROWS(sum));
    return s;
}

static inline __attribute__((always_inline)) void
SPRY_FN(span_rows_of)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *s, const int least)
{
    int64_t i = SPRY_FN(head)(job, begin, end);
    if (i > begin) s = SPRY_FN(span_row_group)(job, begin, (int)(i - begin), s, least);
    for (; i < end; i += LANES) s = SPRY_FN(span_row_group)(job, i, end - i < LANES ? (int)(end - i) : LANES, s, least);
}

/* As many spans a row as nearly all have are taken without asking where the row ends. */
static void SPRY_FN(span_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *s, int least)
{
    switch (least) {
    case 1: SPRY_FN(span_rows_of)(job, begin, end, s, 1); break;
    case 2: SPRY_FN(span_rows_of)(job, begin, end, s, 2); break;
    case 3: SPRY_FN(span_rows_of)(job, begin, end, s, 3); break;
    default: SPRY_FN(span_rows_of)(job, begin, end, s, SPRYI_MOST_LEAST); break;
    }
    if (job->stream_y) _mm_sfence();
}

/* A span's columns have no gaps: values are loaded as they lie. `group` is a constant where inlined. */
static inline __attribute__((always_inline)) void
SPRY_FN(span_groups_of)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *s, const int group)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *x = job->x;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t length = Ap[i + 1] - Ap[i];
        const SPRY_V *Ax = (const SPRY_V *)job->values + Ap[i];
        VEC sum[8] = {ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO()};
        for (int64_t j = 0; j < length; j += s->count, s++) {
            const MASK lanes = (MASK)s->lanes;
            const VEC xs = MASKZ_LOAD(lanes, x + s->column);
            for (int r = 0; r < group; r++) {
                spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
                sum[r] = FMA(MASKZ_LOAD(lanes, Ax + r * length + j), xs, sum[r]);
            }
        }
        SPRY_FN(put)(job, i, group, SUM_GROUP(sum));
    }
}

static void SPRY_FN(span_groups)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *s,
                                 int group)
{
    switch (group) {
    case 2: SPRY_FN(span_groups_of)(job, begin, end, s, 2); break;
    case 3: SPRY_FN(span_groups_of)(job, begin, end, s, 3); break;
    case 4: SPRY_FN(span_groups_of)(job, begin, end, s, 4); break;
    case 5: SPRY_FN(span_groups_of)(job, begin, end, s, 5); break;
    case 6: SPRY_FN(span_groups_of)(job, begin, end, s, 6); break;
    case 7: SPRY_FN(span_groups_of)(job, begin, end, s, 7); break;
    default: SPRY_FN(span_groups_of)(job, begin, end, s, 8); break;
    }
    if (job->stream_y) _mm_sfence();
}
