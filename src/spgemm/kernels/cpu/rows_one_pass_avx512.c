/*
 * One pass with AVX-512, for a single run of a product with 32-bit indices. Rows of C are not counted before they are
 * filled.
 *
 * Idea: C's arrays are reserved with one entry for each product. Only pages that are written use memory. A
 *       thread sums a piece of rows into a buffer that remains in the second-level cache, and copies it to C when all
 *       pieces before it are summed. Meanwhile the thread continues with another buffer. If all buffers are full, the
 *       thread also sums the piece that delays it, because the piece's own thread may have lost its processor. The
 *       thread that finishes first copies the piece. Both threads compute the same bits.
 *       Short rows: the columns of all products are listed. If the list is the list of the row before, shifted by a
 *       constant, the positions of the products are the same. Otherwise, the positions of up to SPRYI_SHORT products
 *       are found by comparisons in registers. A row with more products is summed in a dense window. If its span is too
 *       wide for the window, its columns are ranked, with one bit per column and a count per 64 columns. The rank of a
 *       column is its position in the row of C.
 *       Groups: if B's columns are close together, they are stored as groups of eight with one bit per column
 *       (spgemm_host.c). The values of a group are expanded to their lanes, multiplied, and added to the eight sums of
 *       the group in a dense window, a ring of groups. A byte of bits marks the columns present. Lanes without a column
 *       add +0, which does not change a sum that began at +0. So each c_ij adds the same products in the same order.
 * Work: pieces of rows, fetched in order.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once, with non-temporal stores if it is
 *       large.
 * Source: this library; positions: the chained scan of D. Merrill and M. Garland, 2016.
 */

#ifdef SPRY_V
#if !SPRY_P_IS_64 && !SPRY_J_IS_64

/* ---- rows by groups of columns ---- */

/* Writes the entries of 64 groups, starting at `group`, which is a multiple of 64. Clears the groups. */
static inline int64_t SPRY_FN(emit_groups)(const spryi_group_window *window, uint32_t group, int32_t *restrict Cj,
                                           SPRY_V *restrict Cx)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    unsigned char *restrict bits = window->bits + (group & window->last);
    SPRY_V *restrict all = (SPRY_V *)window->sums + 8 * (size_t)(group & window->last);
    const __m512i bytes = _mm512_loadu_si512(bits);
    int64_t n = 0;
    for (uint64_t met = _mm512_test_epi8_mask(bytes, bytes); met; met &= met - 1) {
        const uint32_t at = (uint32_t)_tzcnt_u64(met);
        const __mmask8 live = bits[at];
        const __m256i columns = _mm256_add_epi32(lanes, _mm256_set1_epi32((int)(8 * (group + at))));
        _mm256_storeu_si256((__m256i *)(void *)(Cj + n), _mm256_maskz_compress_epi32(live, columns));
        TAKE_EIGHT(Cx + n, all + 8 * at, live);
        n += __builtin_popcount(live);
    }
    _mm512_storeu_si512(bits, _mm512_setzero_si512());
    return n;
}

/* Returns true if the window can hold all columns of row i. */
static __attribute__((noinline)) bool SPRY_FN(fits_groups)(const spryi_spgemm_job *job,
                                                           const spryi_group_window *window, int64_t i)
{
    int64_t first, last;
    if ((job->b.columns - 1) / 8 <= window->last) return true;
    SPRY_FN(row_span)(job, i, &first, &last);
    return last / (8 * GROUPS_AT_ONCE) - first / (8 * GROUPS_AT_ONCE) < ((int64_t)window->last + 1) / GROUPS_AT_ONCE;
}

/* Fills row i of C by groups. Returns the number of entries. May write up to seven elements after them. */
static __attribute__((noinline)) int64_t SPRY_FN(fill_grouped)(const spryi_spgemm_job *job,
                                                               const spryi_group_window *window, int64_t i,
                                                               int32_t *restrict Cj, SPRY_V *restrict Cx)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const int32_t *restrict Aj = job->a.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    const uint32_t *restrict groups = job->rows_of_b.column_groups, ring = window->last;
    SPRY_V *restrict sums = window->sums;
    unsigned char *restrict bits = window->bits, *restrict touched = window->touched;
    uint32_t low = UINT32_MAX, high = 0;
    for (int32_t k = Ap[i]; k < Ap[i + 1]; k++) {
        const int32_t begin = Bp[Aj[k]];
        if (begin == Bp[Aj[k] + 1]) continue;
        const SPRY_V a = Ax[k], *restrict x = Bx + begin;
        const uint32_t *restrict g = groups + begin;
        uint32_t group = *g;
        low = low < group >> 9 ? low : group >> 9;
        for (;; group = *++g) {
            const uint32_t at = group >> 9 & ring;
            x = ADD_EIGHT(sums + 8 * (size_t)at, (__mmask8)group, a, x);
            bits[at] |= (unsigned char)group;
            touched[at >> 6] = 1;
            if (group & SPRYI_GROUP_LAST) break;
        }
        high = high > group >> 9 ? high : group >> 9;
    }
    int64_t n = 0;
    for (uint32_t chunk = low & ~(GROUPS_AT_ONCE - 1u); chunk <= high; chunk += GROUPS_AT_ONCE) {
        unsigned char *marks = touched + ((chunk & ring) >> 6);
        const __m512i bytes = _mm512_loadu_si512(marks);
        for (uint64_t met = _mm512_test_epi8_mask(bytes, bytes); met; met &= met - 1)
            n += SPRY_FN(emit_groups)(window, chunk + 64 * (uint32_t)_tzcnt_u64(met), Cj + n, Cx + n);
        _mm512_storeu_si512(marks, _mm512_setzero_si512());
    }
    return n;
}

/* ---- rows by lists of products ---- */

/* Computes the position in the row of C of each product in the list `before`. o->at holds the columns of that row. */
static inline void SPRY_FN(find_positions)(summation *o)
{
    const spryi_product_list *list = &o->w.list;
    const int32_t base = o->at[0];
    for (int64_t k = 0; k < o->n; k++) list->map[o->at[k] - base] = (uint16_t)k;
    for (int64_t p = 0; p < o->count; p++) list->positions[p] = list->map[list->before[p] - base];
    o->placed = true;
}

/* Sets to[k] = from[k] + shift for n columns. Writes up to 15 elements after them. */
static inline void SPRY_FN(move_columns)(int32_t *to, const int32_t *from, int64_t n, int32_t shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t k = 0; k < n; k += 16) _mm512_storeu_si512(to + k, _mm512_add_epi32(_mm512_loadu_si512(from + k), by));
}

/*
 * Finds the columns of the listed row and the positions of its `count` products. If the dense window is
 * used, also fills the row, and the positions remain unknown.
 */
static inline void SPRY_FN(place_products)(const spryi_spgemm_job *job, summation *o, int64_t count,
                                           int32_t *restrict Cj, SPRY_V *restrict Cx)
{
    const int32_t *restrict columns = o->w.list.before;
    const SPRY_V *restrict products = o->w.list.products;
    uint16_t *restrict positions = o->w.list.positions;
    int32_t low, high;
    o->placed = true;
    if (count <= SPRYI_SHORT) {
        o->n = spryi_short_positions(columns, (int)count, positions, Cj);
        return;
    }
    spryi_list_span(columns, count, &low, &high);
    const int64_t base = low & ~63, words = (high >> 6) - (low >> 6) + 1;
    if (words <= job->sizes.windows && words <= SCANNED * count) {
        SPRY_V *restrict sums = o->w.window.sums;
        unsigned char *restrict flags = o->w.window.flags;
        for (int64_t p = 0; p < count; p++) {
            sums[columns[p] - base] += products[p];
            flags[columns[p] - base] = 1;
        }
        o->placed = false;
        o->n = SPRY_FN(emit_flagged)(&o->w.window, words, base, 1, Cj, Cx);
        return;
    }
    mark_ranks(&o->w.ranks, columns, count);
    o->n = resolve_ranks(&o->w.ranks, low >> 6, words, Cj);
    for (int64_t p = 0; p < count; p++) positions[p] = (uint16_t)rank_of(&o->w.ranks, columns[p]);
    for (int64_t p = 0; p < count; p++) o->w.ranks.mask[columns[p] >> 6] = 0;
}

/* Fills a row of at most job->sizes.listed products. Returns the number of its entries. */
static inline int64_t SPRY_FN(fill_listed)(const spryi_spgemm_job *job, summation *o, int64_t i, int64_t count,
                                           int32_t *restrict Cj, SPRY_V *restrict Cx)
{
    const SPRY_V *restrict products = o->w.list.products;
    const uint16_t *restrict positions = o->w.list.positions;
    int32_t *restrict list = o->w.list.columns;
    (void)SPRY_FN(list_columns)(job, i, list, AHEAD);
    SPRY_FN(list_products)(job, i, o->w.list.products);
    const int32_t shift = list[0] - o->w.list.before[0];
    if (count == o->count && spryi_are_moved_32(list, o->w.list.before, count, shift)) {
        if (!o->placed) SPRY_FN(find_positions)(o);
        SPRY_FN(move_columns)(Cj, o->at, o->n, shift);
    } else {
        o->w.list.columns = o->w.list.before;
        o->w.list.before = list;
        o->count = count;
        o->at = Cj;
        SPRY_FN(place_products)(job, o, count, Cj, Cx);
        if (!o->placed) return o->n;
    }
    for (int64_t k = 0; k < o->n; k += LANES) OF(storeu)(Cx + k, OF(setzero)());
    for (int64_t p = 0; p < count; p++) Cx[positions[p]] += products[p];
    return o->n;
}

/* Sums row i, whose columns are ranked. */
static inline void SPRY_FN(sum_ranked)(const spryi_spgemm_job *job, summation *o, int64_t i, SPRY_V *restrict Cx)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const int32_t *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    const spryi_column_ranks ranks = o->w.ranks;
    for (int32_t k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const int32_t end = Bp[Aj[k] + 1];
        for (int32_t t = Bp[Aj[k]]; t < end; t++) Cx[rank_of(&ranks, Bj[t])] += a * Bx[t];
    }
}

/* Marks the columns of row i for ranking. */
static inline void SPRY_FN(mark_ranked)(const spryi_spgemm_job *job, summation *o, int64_t i)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const int32_t *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    for (int32_t k = Ap[i]; k < Ap[i + 1]; k++)
        mark_ranks(&o->w.ranks, Bj + Bp[Aj[k]], (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]));
}

/* Fills a row with more than job->sizes.listed products. Returns the number of its entries. */
static __attribute__((noinline)) int64_t SPRY_FN(fill_long)(const spryi_spgemm_job *job, summation *o, int64_t i,
                                                            int32_t *restrict Cj, SPRY_V *restrict Cx)
{
    int64_t first, last;
    SPRY_FN(row_span)(job, i, &first, &last);
    const int64_t base = first & ~(int64_t)63, low = first / 64, words = last / 64 + 1 - low;
    o->count = 0;
    if (words <= job->sizes.windows) {
        SPRY_FN(add_and_flag)(job, &o->w.window, i, base);
        return SPRY_FN(emit_flagged)(&o->w.window, words, base, 1, Cj, Cx);
    }
    SPRY_FN(mark_ranked)(job, o, i);
    const int64_t n = resolve_ranks(&o->w.ranks, low, words, Cj);
    memset(Cx, 0, (size_t)n * sizeof *Cx);
    SPRY_FN(sum_ranked)(job, o, i, Cx);
    memset(o->w.ranks.mask + low, 0, (size_t)words * sizeof *o->w.ranks.mask);
    return n;
}

/* Returns true for a piece of one row whose entries may exceed a buffer. */
static __attribute__((noinline)) bool SPRY_FN(is_giant)(const spryi_spgemm_job *job, int64_t begin, int64_t end)
{
    int64_t first, last;
    if (end - begin != 1 || SPRY_FN(row_products)(job, begin) <= job->sizes.entries) return false;
    SPRY_FN(row_span)(job, begin, &first, &last);
    return last - first >= job->sizes.entries;
}

/* Sums rows begin .. end-1 into a buffer. */
static __attribute__((noinline)) void SPRY_FN(sum_piece)(const spryi_spgemm_job *job, summation *o,
                                                         spryi_row_buffer *to, int64_t begin, int64_t end)
{
    const int32_t *restrict Ap = job->a.offsets;
    int64_t n = 0;
    o->count = o->w.run.search.from = 0;
    for (int64_t i = begin; i < end; i++) {
        int32_t *Cj = to->columns + n;
        SPRY_V *Cx = (SPRY_V *)to->values + n;
        const int64_t run = spryi_begin_run(job, &o->w.run, i, end);
        int64_t products, entries = 0;
        if (run > 0 && o->w.run.ordered.count > 0) {
            /* the run's order is known */
        } else if (job->rows_of_b.column_groups && Ap[i + 1] - Ap[i] != 1 &&
                   SPRY_FN(fits_groups)(job, &o->w.groups, i)) {
            entries = SPRY_FN(fill_grouped)(job, &o->w.groups, i, Cj, Cx);
        } else if ((products = SPRY_FN(row_products)(job, i)) > 0) {
            if (Ap[i + 1] - Ap[i] == 1 && job->rows_of_b.rise) {
                SPRY_FN(copy_row)(job, i, Cj, Cx, products);
                entries = products;
            } else if (products > job->sizes.listed) {
                entries = SPRY_FN(fill_long)(job, o, i, Cj, Cx);
            } else {
                entries = SPRY_FN(fill_listed)(job, o, i, products, Cj, Cx);
            }
        }
        if (run == 0) {
            to->ends[i - begin] = (int32_t)(n += entries);
            continue;
        }
        if (o->w.run.ordered.count == 0) o->w.run.with->order(job, &o->w.run, i, Cj, entries);
        o->w.run.with->fill(job, &o->w.run, i, Cj, Cx);
        for (int64_t r = 0; r < run; r++) to->ends[i++ - begin] = (int32_t)(n += o->w.run.ordered.n);
        i--;
        o->count = 0; /* the row before has a different list */
    }
    to->n = n;
}

/* Copies a summed piece to its position in C. */
static __attribute__((noinline)) void SPRY_FN(copy_piece)(const spryi_spgemm_job *job, const summation *o,
                                                          const spryi_row_buffer *from, int64_t at)
{
    const int64_t begin = job->pieces.rows[from->piece], end = job->pieces.rows[from->piece + 1], n = from->n;
    const SPRY_V alpha = *(const SPRY_V *)o->alpha;
    SPRY_V *restrict values = from->values;
    for (int64_t i = begin; i < end; i++) job->offsets[i + 1] = at + from->ends[i - begin];
    spryi_stream((int32_t *)job->columns + at, from->columns, n * (int64_t)sizeof(int32_t), o->streams);
    if (alpha != 1)
        for (int64_t k = 0; k < n; k++) values[k] = alpha * values[k];
    spryi_stream((SPRY_V *)job->values + at, values, n * (int64_t)sizeof(SPRY_V), o->streams);
}

/* Copies the thread's buffered pieces whose positions are known. Returns the first piece that is not summed. */
static __attribute__((noinline)) int64_t SPRY_FN(copy_held)(const spryi_spgemm_job *job, summation *o,
                                                            piece_order *order)
{
    const int64_t unknown = first_unknown(order);
    while (o->held > 0 && o->w.buffers[0].piece <= unknown) {
        const spryi_row_buffer done = o->w.buffers[0];
        SPRY_FN(copy_piece)(job, o, &done, atomic_load(&order->positions[done.piece]));
        o->held--;
        for (int b = 0; b < o->held; b++) o->w.buffers[b] = o->w.buffers[b + 1];
        o->w.buffers[o->held] = done;
    }
    return unknown;
}

/* Ranks a giant row, waits until its position is known, and sums it directly in C. No other thread sums the row. */
static void SPRY_FN(fill_giant)(const spryi_spgemm_job *job, summation *o, piece_order *order, int64_t p)
{
    const int64_t i = job->pieces.rows[p];
    int64_t first, last;
    SPRY_FN(row_span)(job, i, &first, &last);
    const int64_t low = first / 64, words = last / 64 + 1 - low;
    SPRY_FN(mark_ranked)(job, o, i);
    const int64_t n = resolve_ranks(&o->w.ranks, low, words, NULL);
    (void)publish(order, p, n);
    while (SPRY_FN(copy_held)(job, o, order) <= p) (void)sched_yield();
    const int64_t at = atomic_load(&order->positions[p]);
    job->offsets[i + 1] = at + n;
    SPRY_V *restrict Cx = (SPRY_V *)job->values + at;
    emit_ranks(&o->w.ranks, low, words, (int32_t *)job->columns + at);
    memset(Cx, 0, (size_t)n * sizeof *Cx);
    SPRY_FN(sum_ranked)(job, o, i, Cx);
    memset(o->w.ranks.mask + low, 0, (size_t)words * sizeof *o->w.ranks.mask);
    const SPRY_V alpha = *(const SPRY_V *)o->alpha;
    for (int64_t k = 0; k < n; k++) Cx[k] = alpha * Cx[k];
}

/* Sums piece p into a free buffer. Keeps the buffer unless another thread was faster. */
static void SPRY_FN(take_piece)(const spryi_spgemm_job *job, summation *o, piece_order *order, int64_t p)
{
    spryi_row_buffer *to = &o->w.buffers[o->held];
    SPRY_FN(sum_piece)(job, o, to, job->pieces.rows[p], job->pieces.rows[p + 1]);
    if (!publish(order, p, to->n)) return;
    to->piece = p;
    o->held++;
}

/* Waits until at most `most` buffers are full. */
static void SPRY_FN(reduce_held)(const spryi_spgemm_job *job, summation *o, piece_order *order, int most)
{
    int64_t late = SPRY_FN(copy_held)(job, o, order);
    for (int waits = 0; o->held > most; late = SPRY_FN(copy_held)(job, o, order)) {
        const bool giant = SPRY_FN(is_giant)(job, job->pieces.rows[late], job->pieces.rows[late + 1]);
        if (giant || ++waits < PATIENCE) {
            if (giant)
                (void)sched_yield(); /* the thread of that piece may need this processor */
            else
                wait_a_little();
            continue;
        }
        waits = 0;
        spryi_row_buffer *to = &o->w.buffers[o->held];
        SPRY_FN(sum_piece)(job, o, to, job->pieces.rows[late], job->pieces.rows[late + 1]);
        to->piece = late;
        if (!publish(order, late, to->n)) continue;
        (void)first_unknown(order);
        SPRY_FN(copy_piece)(job, o, to, atomic_load(&order->positions[late]));
    }
}

/* The work of one thread. */
static void SPRY_FN(sum_pieces)(void *argument, int thread)
{
    static const SPRY_V one = 1;
    const one_pass *pass = argument;
    piece_order *order = pass->order;
    const spryi_spgemm_job *job = pass->job;
    const int64_t entry = sizeof(SPRY_V) + sizeof(int32_t);
    const int most = job->sizes.buffers > 2 ? (int)job->sizes.buffers - 2 : 0;
    summation o = {.alpha = job->alpha, .streams = job->products * entry >= SPRYI_STREAMS_FROM};
    spryi_rows_place(job, thread, &o.w);
    spryi_spgemm_job mine = *job;
    mine.alpha = &one;
    for (int64_t p; (p = atomic_fetch_add(&order->next, 1)) < order->count;) {
        const int64_t begin = mine.pieces.rows[p], end = mine.pieces.rows[p + 1];
        if (SPRY_FN(is_giant)(&mine, begin, end))
            SPRY_FN(fill_giant)(&mine, &o, order, p);
        else
            SPRY_FN(take_piece)(&mine, &o, order, p);
        SPRY_FN(reduce_held)(&mine, &o, order, most);
    }
    SPRY_FN(reduce_held)(&mine, &o, order, 0);
    _mm_sfence();
}

static void SPRY_FN(one_pass)(spryi_spgemm_job *job)
{
    piece_order order = {.count = 0};
    begin_order(&order, &job->pieces);
    job->offsets[0] = 0;
    one_pass pass = {job, &order};
    spryi_parallel(job->pool, spryi_team(job->sizes.threads), SPRY_FN(sum_pieces), &pass);
}
#endif
#else
#include "base/pool.h"
#include "spgemm/kernels/cpu/rows.h"
#include "spgemm/kernels/cpu/short_rows_avx512.h"
#include "spgemm/kernels/cpu/value_vectors_avx512.h"

#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define SPRYI_TEMPLATE "spgemm/kernels/cpu/row_shape.tmpl.h"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "spgemm/kernels/cpu/dense_window.tmpl.h"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "spgemm/kernels/cpu/short_rows_avx512.tmpl.h"
#include "base/instantiate.h"

enum {
    AHEAD = 24,           /* entries of A between a prefetch of a row of B and its use */
    SCANNED = 2,          /* rows that span more words per product are ranked, not scanned */
    PATIENCE = 8,         /* checks of a late piece before the waiting thread sums it */
    GROUPS_AT_ONCE = 4096 /* groups marked by 64 bytes of touched; the ring has a multiple of this number */
};

/*
 * Positions of the pieces of C. Threads fetch pieces in order, and publish the size of each piece they have summed. The
 * position of a piece is known when all pieces before it are summed. Any thread computes positions, so no thread waits
 * for a particular one.
 */
typedef struct piece_order {
    int64_t count;
    _Atomic int64_t next, known; /* next piece to fetch; positions up to about `known` are known */
    _Atomic int64_t *sizes;      /* entries of each piece; -1: not yet summed */
    _Atomic int64_t *positions;  /* count + 1: entries of C before each piece; -1: not yet known */
} piece_order;

static inline void begin_order(piece_order *o, const spryi_work_pieces *pieces)
{
    o->count = pieces->count;
    o->sizes = (_Atomic int64_t *)pieces->sizes;
    o->positions = (_Atomic int64_t *)pieces->positions;
    memset(pieces->sizes, 0xff, (size_t)pieces->count * sizeof *pieces->sizes);
    memset(pieces->positions, 0xff, ((size_t)pieces->count + 1) * sizeof *pieces->positions);
    pieces->positions[0] = 0;
}

/* Publishes the size of a piece. Returns true to the first thread that publishes it, which then copies the piece. */
static inline bool publish(const piece_order *o, int64_t piece, int64_t entries)
{
    int64_t unknown = -1;
    return atomic_compare_exchange_strong(&o->sizes[piece], &unknown, entries);
}

/* Computes all positions that can be computed. Returns the first piece whose size is not known. */
static inline int64_t first_unknown(piece_order *o)
{
    int64_t p = atomic_load(&o->known), size;
    for (; p < o->count && (size = atomic_load(&o->sizes[p])) >= 0; p++)
        atomic_store(&o->positions[p + 1], atomic_load(&o->positions[p]) + size);
    atomic_store(&o->known, p);
    return p;
}

/* Waits for about a tenth of the time to sum a piece. */
static inline void wait_a_little(void)
{
    enum { PAUSES = 128 };
    for (int k = 0; k < PAUSES; k++) _mm_pause();
}

static inline void mark_ranks(const spryi_column_ranks *r, const int32_t *restrict columns, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        r->mask[columns[k] >> 6] |= (uint64_t)1 << (columns[k] & 63);
        r->touched[columns[k] >> 6] = 1;
    }
}

static inline uint32_t rank_of(const spryi_column_ranks *r, int32_t column)
{
    return r->rank[column >> 6] +
           (uint32_t)__builtin_popcountll(_bzhi_u64(r->mask[column >> 6], (unsigned)column & 63));
}

/*
 * Writes the columns of a word's bits. Always writes multiples of four, which avoids a branch that is hard to predict.
 */
static inline int64_t emit_bits(uint64_t bits, int32_t from, int32_t *restrict columns)
{
    const int64_t n = __builtin_popcountll(bits);
    int64_t k = 0;
    do
        for (int s = 0; s < 4; s++, k++, bits &= bits - 1) columns[k] = from + (int32_t)_tzcnt_u64(bits);
    while (k < n);
    return n;
}

/*
 * Computes the ranks of the touched words among `words` words starting at `low`, and clears the marks. Returns the
 * number of columns.
 */
static int64_t resolve_ranks(const spryi_column_ranks *r, int64_t low, int64_t words, int32_t *restrict columns)
{
    int64_t n = 0;
    for (int64_t w = low; w < low + words; w += 64) {
        const __m512i bytes = _mm512_loadu_si512(r->touched + w);
        uint64_t touched = _mm512_test_epi8_mask(bytes, bytes);
        if (!touched) continue;
        _mm512_storeu_si512(r->touched + w, _mm512_setzero_si512());
        for (; touched; touched &= touched - 1) {
            const int64_t word = w + __builtin_ctzll(touched);
            r->rank[word] = (uint32_t)n;
            n += columns ? emit_bits(r->mask[word], (int32_t)(64 * word), columns + n)
                         : __builtin_popcountll(r->mask[word]);
        }
    }
    return n;
}

/* Writes all marked columns, and no elements after them. */
static inline void emit_ranks(const spryi_column_ranks *r, int64_t low, int64_t words, int32_t *restrict columns)
{
    for (int64_t w = low; w < low + words; w++)
        for (uint64_t bits = r->mask[w]; bits; bits &= bits - 1) *columns++ = (int32_t)(64 * w + __builtin_ctzll(bits));
}

typedef struct one_pass {
    const spryi_spgemm_job *job;
    piece_order *order;
} one_pass;

/* State of a thread. */
typedef struct summation {
    spryi_rows_workspace w; /* the first `held` buffers are full, in order */
    int held;
    bool streams;      /* C is large and written with non-temporal stores */
    bool placed;       /* the positions of the list's products are known */
    int64_t count, n;  /* products and entries of the last listed row, which the next row may repeat */
    const int32_t *at; /* columns of that row in the buffer */
    const void *alpha; /* factor alpha, which copies to C apply; the sums use alpha = 1 */
} summation;

#define SPRYI_TEMPLATE "spgemm/kernels/cpu/rows_one_pass_avx512.c"
#include "base/instantiate.h"

const spryi_spgemm_table spryi_rows_one_pass = {{one_pass_f32_32_32}, {one_pass_f64_32_32}};
#endif
