/*
 * Part of rows_fill.tmpl.c where it is compiled for AVX-512: runs of rows that share one order of products.
 *
 * Idea: in a run each row of A, or group of rows with the same columns, is the one before moved by a constant, and so
 * are the rows of B that they meet: then C's columns are those of the first, moved, and every entry of C adds the same
 * products, in the same order. That order is found once, and again only where the next run has another. The values of A
 * and B are turned so that each entry has the rows of the run side by side, which are summed as lanes of a vector; C's
 * values are turned back. B's rows are taken as tracks, neighbours that several entries of A meet, and turned once.
 * Work: a piece's rows, a tile of 8 to 64 (16 to 128 of f32) at a time.
 * Cost: a quarter of a cycle a product (f64), half a cycle an entry that is turned, the bytes of C and of B's tracks.
 * Source: this library; as on the GPU (gpu_runs_cuda.cu).
 */
#if SPRY_IS_F64
#define VECTOR __m512d
#define OF(operation) _mm512_##operation##_pd
#define LANES 8
#define UPTO(n) ((__mmask8)SPRY_FN(upto16)(n))
#else
#define VECTOR __m512
#define OF(operation) _mm512_##operation##_ps
#define LANES 16
#define UPTO(n) SPRY_FN(upto16)(n)
#endif
#define FULL (4 * LANES) /* rows of a tile where there is room */

typedef struct SPRY_FN(run) {
    SPRY_V *values; /* tracks of B, then A: an entry after the other, each with the lanes of a tile */
    SPRY_V *staged; /* rows of a tile on their way to C, and their columns; NULL where C is a buffer */
    int32_t *staged_columns;
    spryi_run_product *order; /* products by entry of C */
    int32_t *list, *columns;  /* of the row that was ordered: columns of its products, of its entries */
    int32_t *ends;            /* where the products of an entry end, and 0 before */
    uint16_t *places;
    int32_t *bases[2], *lengths[2]; /* SPRYI_RUN_LENGTH each; of B's rows: where in values, how long */
    spryi_run_track *tracks;        /* SPRYI_RUN_TRACKS */
    /* Of the row that was ordered: entries of A, products (0: none was), entries of C, lanes, and where A was. */
    int64_t length, count, n, ordered_lanes, ordered_a;
    int64_t from;                    /* a run cannot begin before this row */
    int now, track_count;            /* which of bases and lengths are the order's */
    int64_t groups, twins, lanes, a; /* of the run: groups of rows with the same columns, lanes of a tile, where A is */
    int32_t shift, moved;            /* columns of C from group to group, and from the row that was ordered */
} SPRY_FN(run);

static void SPRY_FN(place_run)(const spryi_spgemm_job *job, SPRY_FN(run) * run, unsigned char *at)
{
    *run = (SPRY_FN(run)){.count = 0};
    if (job->run_products == 0) return;
#define TAKE(pointer, number)                                                                                          \
    (pointer) = (void *)at;                                                                                            \
    at += SPRYI_ONCE_PAD((number) * (int64_t)sizeof *(pointer))
    TAKE(run->values, job->run_values);
    TAKE(run->order, job->run_products);
    TAKE(run->list, job->run_products + 16);
    TAKE(run->columns, job->run_products + 16);
    TAKE(run->ends, job->run_products + 16);
    TAKE(run->places, job->run_products + 16);
    TAKE(run->staged, job->run_staged + 16);
    TAKE(run->staged_columns, job->run_staged + 16);
    for (int k = 0; k < 2; k++) {
        TAKE(run->bases[k], SPRYI_RUN_LENGTH);
        TAKE(run->lengths[k], SPRYI_RUN_LENGTH);
    }
    TAKE(run->tracks, SPRYI_RUN_TRACKS);
#undef TAKE
}

/* ---- turning ---------------------------------------------------------------------------------------- */

/* A square of LANES vectors becomes its transpose. */
static inline __attribute__((always_inline)) void SPRY_FN(turn)(VECTOR r[LANES])
{
#if SPRY_IS_F64
    VECTOR t[8];
    for (int k = 0; k < 8; k += 2) {
        t[k] = _mm512_unpacklo_pd(r[k], r[k + 1]);
        t[k + 1] = _mm512_unpackhi_pd(r[k], r[k + 1]);
    }
    for (int e = 0; e < 2; e++) {
        const VECTOR a = _mm512_shuffle_f64x2(t[e], t[2 + e], 0x88), b = _mm512_shuffle_f64x2(t[4 + e], t[6 + e], 0x88);
        const VECTOR c = _mm512_shuffle_f64x2(t[e], t[2 + e], 0xdd), d = _mm512_shuffle_f64x2(t[4 + e], t[6 + e], 0xdd);
        r[e] = _mm512_shuffle_f64x2(a, b, 0x88);
        r[2 + e] = _mm512_shuffle_f64x2(c, d, 0x88);
        r[4 + e] = _mm512_shuffle_f64x2(a, b, 0xdd);
        r[6 + e] = _mm512_shuffle_f64x2(c, d, 0xdd);
    }
#else
    __m512d q[16];
    for (int k = 0; k < 16; k += 4) {
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[k], r[k + 1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpacklo_ps(r[k + 2], r[k + 3]));
        const __m512d c = _mm512_castps_pd(_mm512_unpackhi_ps(r[k], r[k + 1]));
        const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[k + 2], r[k + 3]));
        q[k] = _mm512_unpacklo_pd(a, b);
        q[k + 1] = _mm512_unpackhi_pd(a, b);
        q[k + 2] = _mm512_unpacklo_pd(c, d);
        q[k + 3] = _mm512_unpackhi_pd(c, d);
    }
    for (int e = 0; e < 4; e++) {
        const __m512d a = _mm512_shuffle_f64x2(q[e], q[4 + e], 0x88),
                      b = _mm512_shuffle_f64x2(q[8 + e], q[12 + e], 0x88);
        const __m512d c = _mm512_shuffle_f64x2(q[e], q[4 + e], 0xdd),
                      d = _mm512_shuffle_f64x2(q[8 + e], q[12 + e], 0xdd);
        r[e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(a, b, 0x88));
        r[4 + e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(c, d, 0x88));
        r[8 + e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(a, b, 0xdd));
        r[12 + e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(c, d, 0xdd));
    }
#endif
}

/* `lanes` rows of `width` values each, one behind the other, become `width` rows of `stride`. */
static __attribute__((noinline)) void SPRY_FN(turn_rows)(const SPRY_V *restrict from, int64_t lanes, int64_t width,
                                                         SPRY_V *restrict to, int64_t stride)
{
    for (int64_t l = 0; l < lanes; l += LANES)
        for (int64_t c = 0; c < width; c += LANES) {
            VECTOR r[LANES];
            const int rows = lanes - l < LANES ? (int)(lanes - l) : LANES;
            const int columns = width - c < LANES ? (int)(width - c) : LANES;
            const SPRY_V *restrict corner = from + l * width + c;
            for (int k = 0; k < LANES; k++)
                r[k] = OF(maskz_loadu)(UPTO(columns), corner + (k < rows ? k : 0) * width); /* some row, not beyond */
            SPRY_FN(turn)(r);
            SPRY_V *restrict out = to + c * stride + l;
            for (int k = 0; k < LANES; k++)
                if (k < columns) OF(storeu)(out + k * stride, r[k]);
        }
}

/* At most LANES columns of a square of LANES times LANES become rows of `width` values, `stride` apart. */
static __attribute__((noinline)) void SPRY_FN(turn_tile)(const SPRY_V *restrict from, SPRY_V *restrict to, int width,
                                                         int64_t columns, int64_t stride)
{
    VECTOR t[LANES];
    for (int e = 0; e < LANES; e++) t[e] = OF(load)(from + e * LANES);
    SPRY_FN(turn)(t);
    for (int l = 0; l < LANES; l++)
        if (l < columns) OF(mask_storeu)(to + l * stride, UPTO(width), t[l]);
}

/* ---- finding ---------------------------------------------------------------------------------------- */

/*
 * How many times, at most `most`, `step` rows from `first` on are the ones before moved by `shift`, the first time
 * included. Lengths and columns are compared 16 at once, whatever row they are in.
 */
static __attribute__((noinline)) int64_t SPRY_FN(periods)(const spry_arrays *csr, int64_t first, int64_t step,
                                                          int32_t shift, int64_t most)
{
    const SPRY_P *restrict offsets = csr->offsets;
    const SPRY_J *restrict columns = csr->indices;
    if (most > (csr->rows - first) / step) most = (csr->rows - first) / step;
    if (most <= 1) return most;
    const SPRY_P begin = offsets[first], period = offsets[first + step] - begin;
    const __m512i same = _mm512_set1_epi32(period), by = _mm512_set1_epi32(shift);
    for (int64_t j = 0, count = (most - 1) * step + 1; j < count; j += 16) {
        const __mmask16 here = SPRY_FN(upto16)(count - j);
        const __m512i x = _mm512_maskz_loadu_epi32(here, offsets + first + step + j);
        const __m512i y = _mm512_maskz_loadu_epi32(here, offsets + first + j);
        const __mmask16 other = _mm512_mask_cmpneq_epi32_mask(here, _mm512_sub_epi32(x, y), same);
        if (!other) continue;
        most = (j + __builtin_ctz(other) - 1) / step + 1;
        break;
    }
    for (int64_t p = 0, count = (most - 1) * period; p < count; p += 16) {
        const __mmask16 here = SPRY_FN(upto16)(count - p);
        const __m512i x = _mm512_maskz_loadu_epi32(here, columns + begin + period + p);
        const __m512i y = _mm512_maskz_loadu_epi32(here, columns + begin + p);
        const __mmask16 other = _mm512_mask_cmpneq_epi32_mask(here, _mm512_sub_epi32(x, y), by);
        if (other) return (p + __builtin_ctz(other)) / period + 1;
    }
    return most;
}

/* Tracks of B that the rows from i on meet, and how many groups they serve; 0: too many, or too few groups. */
static int64_t SPRY_FN(find_tracks)(const spryi_spgemm_job *job, SPRY_FN(run) * run, int64_t i, int64_t step)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = (const SPRY_J *)job->a.indices + Ap[i], *restrict Bj = job->b.indices;
    const int64_t length = (int64_t)(Ap[i + 1] - Ap[i]), rows = job->b.rows;
    const int64_t least = run->twins > 1 ? SPRYI_RUN_LEAST : SPRYI_RUN_ALONE;
    int64_t groups = run->groups, total = run->twins * length;
    int known = 0;
    spryi_run_track *track = run->tracks;
    int tracks = 0;
    for (int64_t k = 0; k < length; k++) {
        if (k > 0 && Aj[k] >= track->first && Aj[k] - track->first <= LANES * step) {
            if (Aj[k] > track->last) track->last = Aj[k];
            continue;
        }
        if (tracks == SPRYI_RUN_TRACKS || Aj[k] + step > rows) return 0;
        track = run->tracks + tracks++;
        *track = (spryi_run_track){Aj[k], Aj[k], 0, 0, 0};
    }
    run->track_count = tracks;
    for (track = run->tracks; track < run->tracks + tracks; track++) {
        const SPRY_P begin = Bp[track->first];
        track->period = (int64_t)(Bp[track->first + step] - begin);
        track->beyond = (track->last - track->first) / step;
        total += track->period;
        if (track->period > 0 && !known && begin + track->period < job->b.nnz) {
            run->shift = Bj[begin + track->period] - Bj[begin];
            known = 1;
        }
        const int64_t most = SPRY_FN(periods)(&job->b, track->first, step, run->shift, track->beyond + groups);
        if (most - track->beyond < groups) groups = most - track->beyond;
        if (groups < least) return groups;
    }
    run->lanes = groups > LANES && total * (FULL + LANES) <= job->run_values ? FULL : LANES;
    return total * (run->lanes + LANES) <= job->run_values ? groups : 0;
}

/* Where in values the rows of B lie that row i meets. 1: that, and the order, is as of the row that was ordered. */
static int SPRY_FN(place_tracks)(const spryi_spgemm_job *job, SPRY_FN(run) * run, int64_t i, int64_t step)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = (const SPRY_J *)job->a.indices + Ap[i], *restrict Bj = job->b.indices;
    const int64_t length = (int64_t)(Ap[i + 1] - Ap[i]), stride = run->lanes + LANES;
    int32_t *restrict bases = run->bases[!run->now], *restrict lengths = run->lengths[!run->now];
    spryi_run_track *track = run->tracks;
    int64_t at = 0, count = 0, met = 0;
    for (int t = 0; t < run->track_count; t++) {
        run->tracks[t].at = at;
        at += run->tracks[t].period * stride;
    }
    const int32_t a = (int32_t)at;
    int same = run->count > 0 && length == run->length && a == run->ordered_a && run->lanes == run->ordered_lanes;
    for (int64_t k = 0; k < length; k++) {
        if (k > 0 && (Aj[k] < track->first || Aj[k] > track->last)) track++;
        const int64_t period = (Aj[k] - track->first) / step;
        const int64_t within = (int64_t)(Bp[Aj[k]] - Bp[track->first]) - period * track->period;
        bases[k] = (int32_t)(track->at + within * stride + period);
        lengths[k] = (int32_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]);
        count += lengths[k];
    }
    run->a = a;
    if (count == 0 || count > job->run_products) return -1;
    same = same && count == run->count && memcmp(bases, run->bases[run->now], (size_t)length * sizeof *bases) == 0 &&
           memcmp(lengths, run->lengths[run->now], (size_t)length * sizeof *lengths) == 0;
    for (int64_t k = 0; same && k < length; met += lengths[k++]) {
        if (lengths[k] == 0) continue;
        if (met == 0) run->moved = Bj[Bp[Aj[k]]] - run->list[0];
        same = SPRY_FN(moved)(Bj + Bp[Aj[k]], run->list + met, lengths[k], run->moved);
    }
    if (same) return 1;
    run->now = !run->now;
    run->length = length;
    run->ordered_lanes = run->lanes;
    run->ordered_a = a;
    run->count = 0;
    return 0;
}

/*
 * Rows from i on, before `end`, that make a run; 0: none. It can be filled at once where run->count is not 0; otherwise
 * order_run wants to know the columns of row i first.
 */
static __attribute__((noinline)) int64_t SPRY_FN(find_run)(const spryi_spgemm_job *job, SPRY_FN(run) * run, int64_t i,
                                                           int64_t end)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *restrict Aj = (const SPRY_J *)job->a.indices + Ap[i];
    const int64_t length = (int64_t)(Ap[i + 1] - Ap[i]);
    int64_t twins = 1;
    while (twins < SPRYI_RUN_TWINS && i + twins < end && Ap[i + twins + 1] - Ap[i + twins] == length &&
           SPRY_FN(moved)(Aj + twins * length, Aj, length, 0))
        twins++;
    run->from = i + twins;
    const int64_t least = twins > 1 ? SPRYI_RUN_LEAST : SPRYI_RUN_ALONE;
    if (i + twins * least > end || Ap[i + twins + 1] - Ap[i + twins] != length) return 0;
    const int32_t step = Aj[twins * length] - Aj[0];
    if (step < 1 || length > SPRYI_RUN_LENGTH) return 0;
    run->twins = twins;
    run->groups = SPRY_FN(periods)(&job->a, i, twins, step, (end - i) / twins);
    if (run->groups >= least) run->groups = SPRY_FN(find_tracks)(job, run, i, step);
    if (run->groups < least) {
        if (twins == 1 && run->groups > 2) run->from = i + run->groups - 1; /* what ends it would end theirs */
        return 0;
    }
    return SPRY_FN(place_tracks)(job, run, i, step) < 0 ? 0 : run->groups * twins;
}

/* Most rows begin no run, which lengths tell: without a branch for each, since none can be foretold. */
static inline int64_t SPRY_FN(begin_run)(const spryi_spgemm_job *job, SPRY_FN(run) * run, int64_t i, int64_t end)
{
    enum { HALF = SPRYI_RUN_ALONE / 2, ALL = SPRYI_RUN_ALONE }; /* rows that every run has */
    const SPRY_P *restrict Ap = job->a.offsets;
    if (i < run->from || i + ALL > end || job->run_products == 0) return 0;
    const int64_t at = Ap[i], length = Ap[i + 1] - at;
    if ((length < 2) | ((Ap[i + 2] - Ap[i + 1]) ^ length) | ((Ap[i + HALF] - at) ^ (HALF * length)) |
        ((Ap[i + ALL] - at) ^ (ALL * length)))
        return 0;
    const SPRY_J *restrict Aj = (const SPRY_J *)job->a.indices + at;
    const int64_t step = Aj[length] - Aj[0];
    if (step < 0 || Aj[2 * length - 1] - Aj[length - 1] != step) return 0;
    if (step > 0 && Aj[(ALL - 1) * length] - Aj[0] != (ALL - 1) * step) return 0;
    return SPRY_FN(find_run)(job, run, i, end);
}

/* The order of row i's products, whose n columns are known. */
static __attribute__((noinline)) void SPRY_FN(order_run)(const spryi_spgemm_job *job, SPRY_FN(run) * run, int64_t i,
                                                         const SPRY_J *restrict columns, int64_t n)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = (const SPRY_J *)job->a.indices + Ap[i], *restrict Bj = job->b.indices;
    const int32_t *restrict bases = run->bases[run->now], *restrict lengths = run->lengths[run->now];
    const int32_t stride = (int32_t)run->lanes + LANES;
    int32_t *restrict ends = run->ends;
    int64_t p = 0;
    memcpy(run->columns, columns, (size_t)n * sizeof *columns);
    memset(ends, 0, (size_t)(n + 1) * sizeof *ends);
    for (int64_t k = 0; k < run->length; k++)
        for (int32_t t = 0; t < lengths[k]; t++, p++) {
            const int32_t column = Bj[Bp[Aj[k]] + t];
            int64_t low = 0;
            for (int64_t left = n; left > 1;) { /* without branches: which half is nobody's guess */
                const int64_t half = left / 2;
                low += columns[low + half] <= column ? half : 0;
                left -= half;
            }
            run->list[p] = column;
            run->places[p] = (uint16_t)low;
            ends[low + 1]++;
        }
    run->count = p;
    for (int64_t c = 0; c < n; c++) ends[c + 1] += ends[c];
    p = 0;
    for (int64_t k = 0; k < run->length; k++)
        for (int32_t t = 0; t < lengths[k]; t++)
            run->order[ends[run->places[p++]]++] =
                (spryi_run_product){(uint32_t)(run->a + k * run->lanes), (uint32_t)(bases[k] + t * stride)};
    for (int64_t c = n; c > 0; c--) ends[c] = ends[c - 1];
    ends[0] = 0;
    run->n = n;
    run->moved = 0;
}

/* ---- summing ---------------------------------------------------------------------------------------- */

/*
 * Sums of `rows` neighbours in each group, `vectors` times LANES groups side by side; `groups` of these are there. a
 * and b: how far their lanes are in values. Cx: the first of these rows.
 */
static inline __attribute__((always_inline)) void SPRY_FN(sum_lanes)(const SPRY_FN(run) * run, const int vectors,
                                                                     const int rows, int64_t a, int64_t b,
                                                                     int64_t groups, SPRY_V alpha, SPRY_V *restrict Cx)
{
    const SPRY_V *restrict values = run->values;
    const spryi_run_product *restrict order = run->order;
    const int32_t *restrict ends = run->ends;
    const int64_t n = run->n, next = run->length * run->lanes, stride = run->twins * n;
    const VECTOR scale = OF(set1)(alpha);
    for (int64_t c = 0; c < n; c += LANES) {
        SPRY_V tile[4][LANES][LANES] __attribute__((aligned(64)));
        const int width = n - c < LANES ? (int)(n - c) : LANES;
        for (int e = 0; e < width; e++) {
            VECTOR sums[4] = {OF(setzero)(), OF(setzero)(), OF(setzero)(), OF(setzero)()};
            for (int32_t p = ends[c + e]; p < ends[c + e + 1]; p++) {
                const SPRY_V *restrict from_a = values + order[p].a + a, *restrict from_b = values + order[p].b + b;
                for (int v = 0; v < vectors; v++) {
                    const VECTOR x = OF(loadu)(from_b + v * LANES);
                    for (int r = 0; r < rows; r++)
                        sums[r * vectors + v] =
                            OF(add)(sums[r * vectors + v], OF(mul)(OF(loadu)(from_a + r * next + v * LANES), x));
                }
            }
            for (int v = 0; v < vectors * rows; v++) OF(store)(tile[v][e], OF(mul)(scale, sums[v]));
        }
        for (int v = 0; v < vectors * rows; v++) {
            const int64_t first = v % vectors * LANES;
            SPRY_FN(turn_tile)(tile[v][0], Cx + v / vectors * n + first * stride + c, width, groups - first, stride);
        }
    }
}

static __attribute__((noinline)) void SPRY_FN(sum_tile)(const SPRY_FN(run) * run, int64_t groups, SPRY_V alpha,
                                                        SPRY_V *restrict Cx)
{
    const int64_t n = run->n, next = run->length * run->lanes;
    if (run->twins == 1 && groups > 3 * LANES) {
        SPRY_FN(sum_lanes)(run, 4, 1, 0, 0, groups, alpha, Cx);
        return;
    }
    for (int64_t g = 0; g < groups; g += LANES)
        for (int64_t r = 0, left = run->twins, some; left > 0; r += some, left -= some) {
            SPRY_V *restrict to = Cx + (g * run->twins + r) * n;
            some = left >= 3 ? 3 : 1;
            if (some == 3)
                SPRY_FN(sum_lanes)(run, 1, 3, r * next + g, g, groups - g, alpha, to);
            else
                SPRY_FN(sum_lanes)(run, 1, 1, r * next + g, g, groups - g, alpha, to);
        }
}

/* The run that begins with row i; what is beyond its columns and values is written next, or nobody's. */
static __attribute__((noinline)) void SPRY_FN(fill_run)(const spryi_spgemm_job *job, const SPRY_FN(run) * run,
                                                        int64_t i, SPRY_J *restrict Cj, SPRY_V *restrict Cx)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_V *restrict Ax = (const SPRY_V *)job->a.values + Ap[i], *restrict Bx = job->b.values;
    const int64_t n = run->n, twins = run->twins, width = twins * run->length;
    const int staged = job->run_staged >= run->lanes * twins * n;
    for (int64_t g = 0; g < run->groups; g += run->lanes) {
        const int64_t groups = run->groups - g < run->lanes ? run->groups - g : run->lanes;
        for (int t = 0; t < run->track_count; t++) {
            const spryi_run_track *track = run->tracks + t;
            SPRY_FN(turn_rows)
            (Bx + Bp[track->first] + g * track->period, groups + track->beyond, track->period, run->values + track->at,
             run->lanes + LANES);
        }
        SPRY_FN(turn_rows)(Ax + g * width, groups, width, run->values + run->a, run->lanes);
        const int64_t at = g * twins * n, entries = groups * twins * n;
        SPRY_J *restrict columns = staged ? run->staged_columns : Cj + at;
        SPRY_FN(sum_tile)(run, groups, (SPRY_V)job->alpha, staged ? run->staged : Cx + at);
        for (int64_t r = 0; r < groups; r++) {
            const __m512i by = _mm512_set1_epi32(run->moved + (int32_t)(g + r) * run->shift);
            for (int64_t twin = 0; twin < twins; twin++, columns += n)
                for (int64_t c = 0; c < n; c += 16)
                    _mm512_mask_storeu_epi32(columns + c, SPRY_FN(upto16)(n - c),
                                             _mm512_add_epi32(_mm512_loadu_si512(run->columns + c), by));
        }
        if (staged) {
            spryi_stream(Cj + at, run->staged_columns, entries * (int64_t)sizeof *Cj, job->streams);
            spryi_stream(Cx + at, run->staged, entries * (int64_t)sizeof *Cx, job->streams);
        }
    }
}
#undef VECTOR
#undef OF
#undef LANES
#undef UPTO
#undef FULL
