/*
 * Runs of rows that share one order of products, with the vectors of a processor level. A source of that level includes
 * its value_vectors_*.h, defines RUN_FUNCTIONS as the name of the functions' table, and includes this file once.
 *
 * Idea: in a run, each row of A has the columns of the row before plus a constant. The rows of B that it selects have
 *       the columns of the rows of B that the row before selects, plus a constant. Instead of single rows, groups of
 *       rows with equal columns may be shifted. Then C's columns are the first row's columns plus a constant, and every
 *       row adds its products in the same order. The order is found once, and again only if a
 *       later run has a different order. The values of A and B are transposed, so that each entry stores the rows of
 *       the run contiguously. The rows are summed as lanes of a vector, and C's values are transposed back. Rows of B
 *       are handled as tracks: consecutive rows that multiple entries of A select. A track is transposed once.
 * Work: the rows of a piece, in tiles. A tile has one group for each lane of one vector or of four vectors.
 * Cost: with AVX-512, a quarter of a cycle per product (f64) and half a cycle per transposed entry. The tracks are
 *       read, and C is written.
 * Source: this library; same method as on the GPU (runs_cuda.cu).
 */
#ifndef SPRYI_TEMPLATE
#include "spgemm/kernels/cpu/row_runs.h"

/* ---- staging ---------------------------------------------------------------------------------------- */

/* A buffer for non-temporal stores, which collects whole cache lines. Partial lines would first be read from memory. */
typedef struct spryi_stage {
    char *to, *staged; /* staged: the buffer, or NULL to write directly to `to` */
    int64_t kept;      /* bytes in the buffer */
} spryi_stage;

static inline void *spryi_on_stage(const spryi_stage *s)
{
    return s->staged ? s->staged + s->kept : s->to;
}

/*
 * Called after `bytes` bytes were written at the address spryi_on_stage(s). Copies whole cache lines from the buffer to
 * `to`; the buffer keeps a partial line. last: copies all bytes.
 */
static inline void spryi_from_stage(spryi_stage *s, int64_t bytes, bool last)
{
    enum { LINE = 64 };
    int64_t whole = s->kept + bytes;
    if (s->staged) {
        const int64_t all = whole, beyond = (int64_t)((uintptr_t)(s->to + all) % LINE);
        if (!last) whole = all > beyond ? all - beyond : 0;
        spryi_stream(s->to, s->staged, whole, true);
        s->kept = all - whole;
        memmove(s->staged, s->staged + whole, (size_t)s->kept);
    }
    s->to += whole;
}

/* ---- finding ---------------------------------------------------------------------------------------- */

/*
 * Returns the number of groups of `step` rows, starting at row `first`, each of which is the group before shifted by
 * `shift`. Includes the first group, and returns at most `most`. Compares lengths and columns in vectors, across row
 * boundaries.
 */
static __attribute__((noinline)) int64_t count_periods(const spry_arrays *csr, int64_t first, int64_t step,
                                                       int32_t shift, int64_t most)
{
    enum { FEW = 64 };
    const int32_t *restrict offsets = csr->offsets;
    const int32_t *restrict columns = csr->indices;
    if (most > (csr->rows - first) / step) most = (csr->rows - first) / step;
    if (most <= 1) return most;
    const int32_t begin = offsets[first], period = offsets[first + step] - begin;
    for (int64_t done = 1, until; done < most; done = until) { /* a few groups first, which often suffice */
        until = done == 1 && most > FEW ? FEW : most;
        int64_t from = (done - 1) * step, count = (until - 1) * step + 1;
        const int32_t *restrict starts = offsets + first;
        from += spryi_first_unlike(starts + step + from, starts + from, count - from, period);
        if (from < count) most = until = (from - 1) / step + 1;
        from = (done - 1) * period;
        count = (until - 1) * period;
        from += spryi_first_unlike(columns + begin + period + from, columns + begin + from, count - from, shift);
        if (from < count) return from / period + 1;
    }
    return most;
}

/*
 * Finds the tracks of B that the rows from i on select. Returns the number of groups, from row i on, whose
 * selected rows of B are shifted copies of those of the first group; 0: too many tracks or values.
 */
static int64_t find_tracks(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t step)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const int32_t *restrict Aj = (const int32_t *)job->a.indices + Ap[i], *restrict Bj = job->b.indices;
    const int64_t length = Ap[i + 1] - Ap[i], rows = job->b.rows, width = run->width;
    const int64_t least = run->identical > 1 ? SPRYI_RUN_LEAST : SPRYI_RUN_ALONE;
    int64_t groups = run->groups, total = run->identical * length;
    spryi_run_track *track = run->memory.tracks;
    int tracks = 0;
    bool known = false;
    for (int64_t k = 0; k < length; k++) {
        if (k > 0 && Aj[k] >= track->first && Aj[k] - track->first <= width * step) {
            if (Aj[k] > track->last) track->last = Aj[k];
            continue;
        }
        if (tracks == SPRYI_RUN_TRACKS || Aj[k] + step > rows) return 0;
        track = run->memory.tracks + tracks++;
        *track = (spryi_run_track){Aj[k], Aj[k], 0, 0, 0};
    }
    run->track_count = tracks;
    for (track = run->memory.tracks; track < run->memory.tracks + tracks; track++) {
        track->period = Bp[track->first + step] - Bp[track->first];
        total += track->period;
    }
    if (total * 2 * width > run->most_values) return 0; /* tested first: comparing the rows of B takes longer */
    for (track = run->memory.tracks; track < run->memory.tracks + tracks; track++) {
        const int32_t begin = Bp[track->first];
        track->beyond = (track->last - track->first) / step;
        if (track->period > 0 && !known && begin + track->period < job->b.nnz) {
            run->shift = Bj[begin + track->period] - Bj[begin];
            known = true;
        }
        const int64_t most = count_periods(&job->b, track->first, step, run->shift, track->beyond + groups);
        if (most - track->beyond < groups) groups = most - track->beyond;
        if (groups < least) return groups;
    }
    run->lanes = groups > width && total * 5 * width <= run->most_values ? 4 * width : width;
    return total * (run->lanes + width) <= run->most_values ? groups : 0;
}

/*
 * Finds the position in spryi_run_memory.values of each row of B that row i selects. Returns 1 if the positions and the
 * order equal those of the ordered row, 0 if the order must be computed, -1 if there are too many products or none.
 */
static int place_tracks(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t step)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const int32_t *restrict Aj = (const int32_t *)job->a.indices + Ap[i], *restrict Bj = job->b.indices;
    const int64_t length = Ap[i + 1] - Ap[i], stride = run->lanes + run->width;
    int32_t *restrict bases = run->memory.bases[!run->now], *restrict lengths = run->memory.lengths[!run->now];
    spryi_run_track *track = run->memory.tracks;
    int64_t at = 0, count = 0, met = 0;
    for (int t = 0; t < run->track_count; t++) {
        run->memory.tracks[t].at = at;
        at += run->memory.tracks[t].period * stride;
    }
    const int32_t a = (int32_t)at;
    bool same = run->ordered.count > 0 && length == run->ordered.length && a == run->ordered.a &&
                run->lanes == run->ordered.lanes;
    for (int64_t k = 0; k < length; k++) {
        if (k > 0 && (Aj[k] < track->first || Aj[k] > track->last)) track++;
        const int64_t period = (Aj[k] - track->first) / step;
        const int64_t within = Bp[Aj[k]] - Bp[track->first] - period * track->period;
        bases[k] = (int32_t)(track->at + within * stride + period);
        lengths[k] = Bp[Aj[k] + 1] - Bp[Aj[k]];
        count += lengths[k];
    }
    run->a = a;
    if (count == 0 || count > run->most_products) return -1;
    same = same && count == run->ordered.count &&
           memcmp(bases, run->memory.bases[run->now], (size_t)length * sizeof *bases) == 0 &&
           memcmp(lengths, run->memory.lengths[run->now], (size_t)length * sizeof *lengths) == 0;
    for (int64_t k = 0; same && k < length; met += lengths[k++]) {
        if (lengths[k] == 0) continue;
        if (met == 0) run->moved = Bj[Bp[Aj[k]]] - run->memory.list[0];
        same = spryi_are_moved_32(Bj + Bp[Aj[k]], run->memory.list + met, lengths[k], run->moved);
    }
    if (same) return 1;
    run->now = !run->now;
    run->ordered.length = length;
    run->ordered.lanes = run->lanes;
    run->ordered.a = a;
    run->ordered.count = 0;
    return 0;
}

static int64_t find_run(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, int64_t end)
{
    const int32_t *restrict Ap = job->a.offsets;
    const int32_t *restrict Aj = (const int32_t *)job->a.indices + Ap[i];
    const int64_t length = Ap[i + 1] - Ap[i];
    int64_t identical = 1;
    while (identical < SPRYI_RUN_IDENTICAL && i + identical < end &&
           Ap[i + identical + 1] - Ap[i + identical] == length &&
           spryi_are_moved_32(Aj + identical * length, Aj, length, 0))
        identical++;
    run->search.from = i + identical;
    const int64_t least = identical > 1 ? SPRYI_RUN_LEAST : SPRYI_RUN_ALONE;
    if (i + identical * least > end || Ap[i + identical + 1] - Ap[i + identical] != length) return 0;
    const int32_t step = Aj[identical * length] - Aj[0];
    if (step < 1 || length > SPRYI_RUN_LENGTH) return 0;
    run->identical = identical;
    if (i < run->search.moved_from ||
        i + 1 >= run->search.moved_until) { /* otherwise these rows of A are known to be shifted */
        run->groups = count_periods(&job->a, i, identical, step, (end - i) / identical);
        run->search.moved_from = i;
        run->search.moved_until = identical == 1 ? i + run->groups : i;
    } else {
        run->groups = run->search.moved_until - i;
    }
    if (run->groups >= least) run->groups = find_tracks(job, run, i, step);
    if (run->groups < least) {
        if (identical == 1 && run->groups > 2)
            run->search.from = i + run->groups - 1; /* a run from a row in between would end at the same row */
        return 0;
    }
    return place_tracks(job, run, i, step) < 0 ? 0 : run->groups * identical;
}

static void order_run(const spryi_spgemm_job *job, spryi_row_run *run, int64_t i, const int32_t *restrict columns,
                      int64_t n)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const int32_t *restrict Aj = (const int32_t *)job->a.indices + Ap[i], *restrict Bj = job->b.indices;
    const int32_t *restrict bases = run->memory.bases[run->now], *restrict lengths = run->memory.lengths[run->now];
    const int32_t stride = (int32_t)(run->lanes + run->width);
    int32_t *restrict ends = run->memory.ends;
    int64_t p = 0;
    memcpy(run->memory.columns, columns, (size_t)n * sizeof *columns);
    memset(ends, 0, (size_t)(n + 1) * sizeof *ends);
    for (int64_t k = 0; k < run->ordered.length; k++)
        for (int32_t t = 0; t < lengths[k]; t++, p++) {
            const int32_t column = Bj[Bp[Aj[k]] + t];
            int64_t low = 0;
            for (int64_t left = n; left > 1;) { /* without branches, which could not be predicted */
                const int64_t half = left / 2;
                low += columns[low + half] <= column ? half : 0;
                left -= half;
            }
            run->memory.list[p] = column;
            run->memory.positions[p] = (uint16_t)low;
            ends[low + 1]++;
        }
    run->ordered.count = p;
    for (int64_t c = 0; c < n; c++) ends[c + 1] += ends[c];
    p = 0;
    for (int64_t k = 0; k < run->ordered.length; k++)
        for (int32_t t = 0; t < lengths[k]; t++)
            run->memory.order[ends[run->memory.positions[p++]]++] =
                (spryi_run_product){(uint32_t)(run->a + k * run->lanes), (uint32_t)(bases[k] + t * stride)};
    for (int64_t c = n; c > 0; c--) ends[c] = ends[c - 1];
    ends[0] = 0;
    run->ordered.n = n;
    run->moved = 0;
}

#define SPRYI_TEMPLATE "spgemm/kernels/cpu/row_runs.tmpl.h"
#include "base/instantiate.h"

static void fill_run(const spryi_spgemm_job *job, const spryi_row_run *run, int64_t i, int32_t *Cj, void *Cx)
{
    if (job->type == SPRY_F64)
        fill_run_f64_32_32(job, run, i, Cj, Cx);
    else
        fill_run_f32_32_32(job, run, i, Cj, Cx);
}

static void finish(void)
{
    _mm_sfence();
}

const spryi_run_functions RUN_FUNCTIONS = {
    .bytes = sizeof(spryi_vector_f64),
    .find = find_run,
    .order = order_run,
    .fill = fill_run,
    .finish = finish,
};

/* Only 32-bit indices have runs. */
#elif !SPRY_P_IS_64 && !SPRY_J_IS_64
/* ---- transposing ---------------------------------------------------------------------------------------- */

/* Transposes a block of at most LANES rows and columns. `columns` is a compile-time constant if it is LANES. */
SPRYI_INLINE void SPRY_FN(transpose_corner)(const SPRY_V *restrict from, int64_t width, int64_t rows, int columns,
                                            SPRY_V *restrict to, int64_t stride)
{
    VECTOR r[LANES];
    for (int k = 0; k < LANES; k++) {
        const SPRY_V *restrict row = from + (k < rows ? k : 0) * width; /* valid memory in place of missing rows */
        r[k] = columns == LANES ? OF(loadu)(row) : LOAD_UPTO(columns, row);
    }
    TRANSPOSE(r);
    for (int k = 0; k < LANES; k++)
        if (k < columns) OF(storeu)(to + k * stride, r[k]);
}

/*
 * Transposes `lanes` consecutive rows of `width` values to `width` rows of `stride` values. In long rows, the last
 * block overlaps the block before.
 */
static __attribute__((noinline)) void SPRY_FN(transpose_rows)(const SPRY_V *restrict from, int64_t lanes, int64_t width,
                                                              SPRY_V *restrict to, int64_t stride)
{
    for (int64_t l = 0; l < lanes; l += LANES) {
        const SPRY_V *restrict rows = from + l * width;
        for (int64_t c = 0; c < width; c += LANES) {
            const int64_t at = c + LANES <= width || width < LANES ? c : width - LANES;
            if (width < LANES)
                SPRY_FN(transpose_corner)(rows, width, lanes - l, (int)width, to + l, stride);
            else
                SPRY_FN(transpose_corner)(rows + at, width, lanes - l, LANES, to + at * stride + l, stride);
        }
    }
}

/* Transposes at most LANES columns of a LANES x LANES tile to rows of `width` values, with distance `stride`. */
static __attribute__((noinline)) void SPRY_FN(transpose_tile)(const SPRY_V *restrict from, SPRY_V *restrict to,
                                                              int width, int64_t columns, int64_t stride)
{
    VECTOR t[LANES];
    for (int e = 0; e < LANES; e++) t[e] = OF(load)(from + e * LANES);
    TRANSPOSE(t);
    for (int l = 0; l < LANES; l++)
        if (l < columns) STORE_UPTO(width, to + l * stride, t[l]);
}

/* ---- summing ---------------------------------------------------------------------------------------- */

/*
 * Sums `rows` consecutive rows of each group, for `vectors` * LANES groups, of which the first `groups` exist. a, b:
 * offsets to add to the positions of A's and B's values. Cx: values of the first row in C.
 */
SPRYI_INLINE void SPRY_FN(sum_lanes)(const spryi_row_run *run, const int vectors, const int rows, int64_t a, int64_t b,
                                     int64_t groups, SPRY_V alpha, SPRY_V *restrict Cx)
{
    const SPRY_V *restrict values = run->memory.values;
    const spryi_run_product *restrict order = run->memory.order;
    const int32_t *restrict ends = run->memory.ends;
    const int64_t n = run->ordered.n, next = run->ordered.length * run->lanes, stride = run->identical * n;
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
            SPRY_FN(transpose_tile)
            (tile[v][0], Cx + v / vectors * n + first * stride + c, width, groups - first, stride);
        }
    }
}

static __attribute__((noinline)) void SPRY_FN(sum_tile)(const spryi_row_run *run, int64_t groups, SPRY_V alpha,
                                                        SPRY_V *restrict Cx)
{
    const int64_t n = run->ordered.n, next = run->ordered.length * run->lanes;
    if (run->identical == 1 && groups > 3 * LANES) {
        SPRY_FN(sum_lanes)(run, 4, 1, 0, 0, groups, alpha, Cx);
        return;
    }
    for (int64_t g = 0; g < groups; g += LANES)
        for (int64_t r = 0, left = run->identical, some; left > 0; r += some, left -= some) {
            SPRY_V *restrict to = Cx + (g * run->identical + r) * n;
            some = left >= 3 ? 3 : 1;
            if (some == 3)
                SPRY_FN(sum_lanes)(run, 1, 3, r * next + g, g, groups - g, alpha, to);
            else
                SPRY_FN(sum_lanes)(run, 1, 1, r * next + g, g, groups - g, alpha, to);
        }
}

/* Transposes B's tracks and A, from group g on, so that an entry's values in all groups of a tile are contiguous. */
static inline void SPRY_FN(transpose_factors)(const spryi_spgemm_job *job, const spryi_row_run *run, int64_t i,
                                              int64_t g, int64_t groups)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_V *restrict Ax = (const SPRY_V *)job->a.values + Ap[i], *restrict Bx = job->b.values;
    const int64_t width = run->identical * run->ordered.length;
    SPRY_V *const values = run->memory.values;
    for (int t = 0; t < run->track_count; t++) {
        const spryi_run_track *track = run->memory.tracks + t;
        SPRY_FN(transpose_rows)
        (Bx + Bp[track->first] + g * track->period, groups + track->beyond, track->period, values + track->at,
         run->lanes + LANES);
    }
    SPRY_FN(transpose_rows)(Ax + g * width, groups, width, values + run->a, run->lanes);
}

/* Fills the run that begins with row i. Non-temporal stores use staging buffers. */
static __attribute__((noinline)) void SPRY_FN(fill_run)(const spryi_spgemm_job *job, const spryi_row_run *run,
                                                        int64_t i, int32_t *restrict Cj, SPRY_V *restrict Cx)
{
    const int64_t n = run->ordered.n, identical = run->identical;
    const bool staged = run->streams && run->most_staged >= run->lanes * identical * n;
    spryi_stage values = {(char *)Cx, staged ? run->memory.staged : NULL, 0};
    spryi_stage columns = {(char *)Cj, staged ? (char *)run->memory.staged_columns : NULL, 0};
    for (int64_t g = 0; g < run->groups; g += run->lanes) {
        const int64_t groups = run->groups - g < run->lanes ? run->groups - g : run->lanes;
        const int64_t entries = groups * identical * n;
        const bool last = g + groups == run->groups;
        SPRY_FN(transpose_factors)(job, run, i, g, groups);
        SPRY_FN(sum_tile)(run, groups, *(const SPRY_V *)job->alpha, spryi_on_stage(&values));
        spryi_from_stage(&values, entries * (int64_t)sizeof *Cx, last);
        if (!Cj) continue;
        int32_t *to = spryi_on_stage(&columns);
        for (int64_t r = 0; r < groups; r++) {
            const int32_t shift = run->moved + (int32_t)(g + r) * run->shift;
            for (int64_t row = 0; row < identical; row++, to += n) spryi_move_32(to, run->memory.columns, n, shift);
        }
        spryi_from_stage(&columns, entries * (int64_t)sizeof *Cj, last);
    }
}
#endif
