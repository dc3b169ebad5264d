/*
 * Part of rows_fill.tmpl.c where it is compiled for AVX-512: both phases at once, for one run of a product.
 *
 * Idea: C's arrays are reserved for as many entries as there are products, of which only what is written costs memory.
 * A piece of rows is summed into a buffer that stays in the second-level cache, and copied when it is known where it
 * goes: when those before it are summed. No row is counted first, whatever the number of threads. Until then a thread
 * goes on with another buffer; and where all its buffers are full it sums the piece that keeps it waiting itself, whose
 * thread may have lost its processor. The first to have summed a piece copies it: the bits are the same.
 * Short rows: the columns of all products are listed one after the other. Where the list is that of the row before,
 * moved by a constant, each product goes to the place where it went there. Else up to FEW products find their places by
 * comparing in registers, more by a dense window, or, where they span too much, by rank: a bit a column, and for each
 * 64 columns how many came before, which is where the sum stands in the row of C.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once, past them where it is large.
 * Source: this library; the places are the chained scan of D. Merrill and M. Garland, 2016.
 */

/* A piece that is summed. */
typedef struct SPRY_FN(summed) {
    int64_t piece, n;
    int32_t *ends; /* of its rows in: */
    SPRY_J *columns;
    SPRY_V *values;
} SPRY_FN(summed);

typedef struct SPRY_FN(lists) {
    SPRY_FN(lane) lane; /* its window alone */
    spryi_ranks ranks;
    int32_t *list, *before; /* columns of the products of a row, and of the row that others may repeat */
    SPRY_V *products;
    uint16_t *places, *map; /* where each product of `before` goes; places of columns of the window */
    SPRY_FN(summed) buffers[SPRYI_ONCE_BUFFERS]; /* the first `held` are full, in order; the others were used last */
    int held;
    int64_t count, n;   /* products and entries of the row that may be repeated */
    const SPRY_J *at;   /* its columns in the buffer */
    int placed;         /* places are known */
    SPRY_V *group_sums; /* where B has groups: eight sums each, which of them there are, and a byte for 64 groups */
    unsigned char *group_bits, *group_touched;
    uint32_t ring; /* groups of the window, less 1 */
    SPRY_V alpha;  /* of the product; the job's own is 1 here, since it is applied on the way to C */
    SPRY_FN(run) run;
} SPRY_FN(lists);

static void SPRY_FN(place_lists)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, int thread)
{
    *o = (SPRY_FN(lists)){.count = 0};
    unsigned char *at = (unsigned char *)job->workspace + thread * spryi_rows_once_bytes(job);
    const int64_t windows = job->windows, words = spryi_rows_mask_words(job);
#define TAKE(pointer, number)                                                                                          \
    (pointer) = (void *)at;                                                                                            \
    at += SPRYI_ONCE_PAD((number) * (int64_t)sizeof *(pointer))
    TAKE(o->lane.sums, 64 * windows);
    TAKE(o->group_sums, 8 * job->ring);
    TAKE(o->group_bits, job->ring);
    TAKE(o->group_touched, job->ring / 64);
    o->ring = (uint32_t)job->ring - 1;
    TAKE(o->lane.bits, windows);
    TAKE(o->lane.flags, 64 * windows);
    TAKE(o->map, 64 * windows);
    TAKE(o->ranks.mask, words);
    TAKE(o->ranks.rank, words);
    TAKE(o->ranks.touched, words + 64);
    TAKE(o->list, job->listed + 16);
    TAKE(o->before, job->listed + 16);
    TAKE(o->products, job->listed + 16);
    TAKE(o->places, job->listed + 16);
    for (int b = 0; b < spryi_rows_once_buffers(job); b++) {
        TAKE(o->buffers[b].ends, job->entries);
        TAKE(o->buffers[b].columns, job->entries + 64);
        TAKE(o->buffers[b].values, job->entries + 64);
    }
#undef TAKE
    SPRY_FN(place_run)(job, &o->run, at);
}

#include "spgemm/rows_groups.tmpl.c"

/* Columns of all products of row i, in their order. The rows of B some entries on are asked for meanwhile. */
static inline void SPRY_FN(list_columns)(const spryi_spgemm_job *job, int64_t i, int32_t *restrict to)
{
    enum { AHEAD = 24 };
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Bx = job->b.values;
    const SPRY_P last = (SPRY_P)(job->a.nnz - 1), stop = Ap[i + 1];
    for (SPRY_P k = Ap[i]; k < stop; k++) {
        const SPRY_P begin = Bp[Aj[k]], next = Bp[Aj[k + AHEAD < last ? k + AHEAD : last]];
        const int length = (int)(Bp[Aj[k] + 1] - begin);
        _mm_prefetch((const char *)(Bj + next), _MM_HINT_T0);
        _mm_prefetch((const char *)(Bx + next), _MM_HINT_T0);
        for (int t = 0; t < length; t += 16) {
            const __mmask16 here = SPRY_FN(upto16)(length - t);
            _mm512_storeu_si512(to + t, _mm512_maskz_loadu_epi32(here, Bj + begin + t));
        }
        to += length;
    }
}

/*
 * Places of up to FEW products, which are few enough that each one's columns can be compared with all; their columns in
 * order. Returns how many.
 */
static inline int64_t SPRY_FN(few_places)(const int32_t *restrict list, int count, uint16_t *restrict places,
                                          SPRY_J *restrict columns)
{
    const uint32_t valid = (uint32_t)_bzhi_u64(0xffffffffu, (unsigned)count);
    const __m512i past = _mm512_set1_epi32(INT32_MAX), one = _mm512_set1_epi32(1);
    const __m512i v0 = _mm512_mask_loadu_epi32(past, (__mmask16)valid, list);
    const __m512i v1 = _mm512_mask_loadu_epi32(past, (__mmask16)(valid >> 16), list + 16);
    __m512i at0 = _mm512_setzero_si512(), at1 = at0;
    int32_t leaders[16 + 16];
    __m512i met = _mm512_conflict_epi32(v0);
    __mmask16 first = _mm512_mask_testn_epi32_mask((__mmask16)valid, met, met);
    int n = __builtin_popcount(first);
    _mm512_storeu_si512(leaders, _mm512_mask_compress_epi32(past, first, v0));
    if (count <= 16) {
        for (int q = 0; q < n; q++)
            at0 = _mm512_mask_add_epi32(at0, _mm512_cmpgt_epi32_mask(v0, _mm512_set1_epi32(leaders[q])), at0, one);
    } else {
        uint32_t again = 0;
        for (int q = 0; q < n; q++) {
            const __m512i x = _mm512_set1_epi32(leaders[q]);
            again |= _mm512_cmpeq_epi32_mask(v1, x);
            at0 = _mm512_mask_add_epi32(at0, _mm512_cmpgt_epi32_mask(v0, x), at0, one);
            at1 = _mm512_mask_add_epi32(at1, _mm512_cmpgt_epi32_mask(v1, x), at1, one);
        }
        met = _mm512_conflict_epi32(v1);
        first = (__mmask16)(_mm512_mask_testn_epi32_mask((__mmask16)(valid >> 16), met, met) & ~again);
        const int more = __builtin_popcount(first);
        _mm512_storeu_si512(leaders, _mm512_mask_compress_epi32(past, first, v1));
        for (int q = 0; q < more; q++) {
            const __m512i x = _mm512_set1_epi32(leaders[q]);
            at0 = _mm512_mask_add_epi32(at0, _mm512_cmpgt_epi32_mask(v0, x), at0, one);
            at1 = _mm512_mask_add_epi32(at1, _mm512_cmpgt_epi32_mask(v1, x), at1, one);
        }
        n += more;
        _mm256_storeu_si256((__m256i *)(void *)(places + 16), _mm512_cvtepi32_epi16(at1));
    }
    _mm256_storeu_si256((__m256i *)(void *)places, _mm512_cvtepi32_epi16(at0));
    for (int p = 0; p < count; p++) columns[places[p]] = list[p];
    return n;
}

/* Least and most of the columns. */
static inline void SPRY_FN(list_span)(const int32_t *list, int64_t count, int32_t *low, int32_t *high)
{
    __m512i least = _mm512_set1_epi32(INT32_MAX), most = _mm512_set1_epi32(-1);
    for (int64_t p = 0; p < count; p += 16) {
        const __mmask16 here = SPRY_FN(upto16)(count - p);
        const __m512i v = _mm512_maskz_loadu_epi32(here, list + p);
        least = _mm512_mask_min_epi32(least, here, least, v);
        most = _mm512_mask_max_epi32(most, here, most, v);
    }
    *low = _mm512_reduce_min_epi32(least);
    *high = _mm512_reduce_max_epi32(most);
}

/* Rows whose list repeats `before`: finds out where its products went. The window has its columns. */
static inline void SPRY_FN(find_places)(SPRY_FN(lists) * o)
{
    const int32_t base = o->at[0];
    for (int64_t k = 0; k < o->n; k++) o->map[o->at[k] - base] = (uint16_t)k;
    for (int64_t p = 0; p < o->count; p++) o->places[p] = o->map[o->before[p] - base];
    o->placed = 1;
}

/* Up to 15 columns behind them are written too. */
static inline void SPRY_FN(move_columns)(SPRY_J *to, const SPRY_J *from, int64_t n, SPRY_J shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t k = 0; k < n; k += 16) _mm512_storeu_si512(to + k, _mm512_add_epi32(_mm512_loadu_si512(from + k), by));
}

/* A row of at most job->listed products; returns its entries. */
static inline int64_t SPRY_FN(once_listed)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, int64_t i, int64_t count,
                                           SPRY_J *restrict Cj, SPRY_V *restrict Cx)
{
    SPRY_FN(list_columns)(job, i, o->list);
    SPRY_FN(few_values)(job, i, o->products);
    const int32_t shift = o->list[0] - o->before[0];
    if (count == o->count && SPRY_FN(moved)(o->list, o->before, count, shift)) {
        if (!o->placed) SPRY_FN(find_places)(o);
        SPRY_FN(move_columns)(Cj, o->at, o->n, shift);
    } else {
        int32_t *restrict list = o->list;
        o->list = o->before;
        o->before = list;
        o->count = count;
        o->at = Cj;
        o->placed = 1;
        if (count <= FEW) {
            o->n = SPRY_FN(few_places)(list, (int)count, o->places, Cj);
        } else {
            int32_t low, high;
            SPRY_FN(list_span)(list, count, &low, &high);
            const int64_t base = low & ~63, words = (high >> 6) - (low >> 6) + 1;
            if (words <= job->windows && words <= SPRYI_ONCE_SCANNED * count) {
                for (int64_t p = 0; p < count; p++) {
                    o->lane.sums[list[p] - base] += o->products[p];
                    o->lane.flags[list[p] - base] = 1;
                }
                o->placed = 0;
                return o->n = SPRY_FN(emit_flagged)(&o->lane, words, base, 1, Cj, Cx);
            }
            spryi_mark_ranks(&o->ranks, list, count);
            o->n = spryi_settle_ranks(&o->ranks, low >> 6, words, Cj);
            for (int64_t p = 0; p < count; p++) o->places[p] = (uint16_t)spryi_rank_of(&o->ranks, list[p]);
            for (int64_t p = 0; p < count; p++) o->ranks.mask[list[p] >> 6] = 0;
        }
    }
    const SPRY_V *restrict products = o->products;
    const uint16_t *restrict places = o->places;
    for (int64_t k = 0; k < o->n; k += 64 / (int64_t)sizeof *Cx) _mm512_storeu_si512(Cx + k, _mm512_setzero_si512());
    for (int64_t p = 0; p < count; p++) Cx[places[p]] += products[p];
    return o->n;
}

/* The sums of row i, whose columns are ranked. */
static inline void SPRY_FN(once_sums)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, int64_t i, SPRY_V *restrict Cx)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    const spryi_ranks ranks = o->ranks;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const SPRY_P end = Bp[Aj[k] + 1];
        for (SPRY_P t = Bp[Aj[k]]; t < end; t++) Cx[spryi_rank_of(&ranks, Bj[t])] += a * Bx[t];
    }
}

/* Marks the columns of row i in the ranks. */
static inline void SPRY_FN(once_mark)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        spryi_mark_ranks(&o->ranks, Bj + Bp[Aj[k]], (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]));
}

/* A row of more products than are listed. */
static __attribute__((noinline)) int64_t SPRY_FN(once_long)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, int64_t i,
                                                            SPRY_J *restrict Cj, SPRY_V *restrict Cx)
{
    int64_t first, last;
    SPRY_FN(ends)(job, i, &first, &last);
    const int64_t base = first & ~(int64_t)63, low = first / 64, words = last / 64 + 1 - low;
    o->count = 0;
    if (words <= job->windows) {
        SPRY_FN(add_and_flag)(job, &o->lane, i, base);
        return SPRY_FN(emit_flagged)(&o->lane, words, base, 1, Cj, Cx);
    }
    SPRY_FN(once_mark)(job, o, i);
    const int64_t n = spryi_settle_ranks(&o->ranks, low, words, Cj);
    memset(Cx, 0, (size_t)n * sizeof *Cx);
    SPRY_FN(once_sums)(job, o, i, Cx);
    memset(o->ranks.mask + low, 0, (size_t)words * sizeof *o->ranks.mask);
    return n;
}

/* 1: a row whose entries may be more than a buffer holds. */
static __attribute__((noinline)) int SPRY_FN(is_giant)(const spryi_spgemm_job *job, int64_t begin, int64_t end)
{
    int64_t first, last;
    if (end - begin != 1 || SPRY_FN(products_of)(job, begin) <= job->entries) return 0;
    SPRY_FN(ends)(job, begin, &first, &last);
    return last - first >= job->entries;
}

/* Rows begin .. end-1 into a buffer. */
static __attribute__((noinline)) void SPRY_FN(sum_piece)(const spryi_spgemm_job *job, SPRY_FN(lists) * o,
                                                         SPRY_FN(summed) * to, int64_t begin, int64_t end)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    int64_t n = 0;
    o->count = o->run.from = 0;
    for (int64_t i = begin; i < end; i++) {
        SPRY_J *Cj = to->columns + n;
        SPRY_V *Cx = to->values + n;
        const int64_t run = SPRY_FN(begin_run)(job, &o->run, i, end);
        int64_t products, entries = 0;
        if (run > 0 && o->run.count > 0) {
            /* its order is known */
        } else if (job->groups && Ap[i + 1] - Ap[i] != 1 && SPRY_FN(in_ring)(job, o, i)) {
            entries = SPRY_FN(once_grouped)(job, o, i, Cj, Cx);
        } else if ((products = SPRY_FN(products_of)(job, i)) > 0) {
            if (Ap[i + 1] - Ap[i] == 1 && job->b_rises) {
                SPRY_FN(copy_row)(job, i, Cj, Cx, products);
                entries = products;
            } else if (products > job->listed) {
                entries = SPRY_FN(once_long)(job, o, i, Cj, Cx);
            } else {
                entries = SPRY_FN(once_listed)(job, o, i, products, Cj, Cx);
            }
        }
        if (run == 0) {
            to->ends[i - begin] = (int32_t)(n += entries);
            continue;
        }
        if (o->run.count == 0) SPRY_FN(order_run)(job, &o->run, i, Cj, entries);
        SPRY_FN(fill_run)(job, &o->run, i, Cj, Cx);
        for (int64_t r = 0; r < run; r++) to->ends[i++ - begin] = (int32_t)(n += o->run.n);
        i--;
        o->count = 0; /* the row before has another list */
    }
    to->n = n;
}

/* A summed piece to its place in C. */
static __attribute__((noinline)) void SPRY_FN(copy_piece)(const spryi_spgemm_job *job, const SPRY_FN(summed) * from,
                                                          SPRY_V alpha, int64_t at)
{
    const int64_t begin = job->pieces.rows[from->piece], end = job->pieces.rows[from->piece + 1], n = from->n;
    SPRY_V *restrict values = from->values;
    for (int64_t i = begin; i < end; i++) job->offsets[i + 1] = at + from->ends[i - begin];
    spryi_stream((SPRY_J *)job->columns + at, from->columns, n * (int64_t)sizeof(SPRY_J), job->streams);
    if (alpha != 1)
        for (int64_t k = 0; k < n; k++) values[k] = alpha * values[k];
    spryi_stream((SPRY_V *)job->values + at, values, n * (int64_t)sizeof(SPRY_V), job->streams);
}

/* Copies the pieces that it holds as far as their places are known; returns the first piece that is not summed. */
static __attribute__((noinline)) int64_t SPRY_FN(copy_held)(const spryi_spgemm_job *job, SPRY_FN(lists) * o,
                                                            spryi_order *order)
{
    const int64_t unknown = spryi_first_unknown(order);
    while (o->held > 0 && o->buffers[0].piece <= unknown) {
        const SPRY_FN(summed) done = o->buffers[0];
        SPRY_FN(copy_piece)(job, &done, o->alpha, atomic_load(&order->places[done.piece]));
        o->held--;
        for (int b = 0; b < o->held; b++) o->buffers[b] = o->buffers[b + 1];
        o->buffers[o->held] = done;
    }
    return unknown;
}

/* A giant row is ranked, waits for its place, and is summed in C itself. Nobody else sums it meanwhile. */
static void SPRY_FN(once_giant)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, spryi_order *order, int64_t p)
{
    const int64_t i = job->pieces.rows[p];
    int64_t first, last;
    SPRY_FN(ends)(job, i, &first, &last);
    const int64_t low = first / 64, words = last / 64 + 1 - low;
    SPRY_FN(once_mark)(job, o, i);
    const int64_t n = spryi_settle_ranks(&o->ranks, low, words, NULL);
    (void)spryi_publish(order, p, n);
    while (SPRY_FN(copy_held)(job, o, order) <= p) (void)sched_yield();
    const int64_t at = atomic_load(&order->places[p]);
    job->offsets[i + 1] = at + n;
    SPRY_V *restrict Cx = (SPRY_V *)job->values + at;
    spryi_emit_ranks(&o->ranks, low, words, (int32_t *)job->columns + at);
    memset(Cx, 0, (size_t)n * sizeof *Cx);
    SPRY_FN(once_sums)(job, o, i, Cx);
    memset(o->ranks.mask + low, 0, (size_t)words * sizeof *o->ranks.mask);
    for (int64_t k = 0; k < n; k++) Cx[k] = o->alpha * Cx[k];
}

/* Piece p into a free buffer; holds it, unless another thread was faster. */
static void SPRY_FN(once_piece)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, spryi_order *order, int64_t p)
{
    SPRY_FN(summed) *to = &o->buffers[o->held];
    SPRY_FN(sum_piece)(job, o, to, job->pieces.rows[p], job->pieces.rows[p + 1]);
    if (!spryi_publish(order, p, to->n)) return;
    to->piece = p;
    o->held++;
}

/* Comes back with no more than `most` pieces on hold. */
static void SPRY_FN(hold_no_more)(const spryi_spgemm_job *job, SPRY_FN(lists) * o, spryi_order *order, int most)
{
    int64_t late = SPRY_FN(copy_held)(job, o, order);
    for (int waits = 0; o->held > most; late = SPRY_FN(copy_held)(job, o, order)) {
        const int giant = SPRY_FN(is_giant)(job, job->pieces.rows[late], job->pieces.rows[late + 1]);
        if (giant || ++waits < SPRYI_ONCE_PATIENCE) {
            if (giant)
                (void)sched_yield(); /* its thread may want this processor */
            else
                spryi_wait_a_little();
            continue;
        }
        waits = 0;
        SPRY_FN(summed) *to = &o->buffers[o->held];
        SPRY_FN(sum_piece)(job, o, to, job->pieces.rows[late], job->pieces.rows[late + 1]);
        to->piece = late;
        if (!spryi_publish(order, late, to->n)) continue;
        (void)spryi_first_unknown(order);
        SPRY_FN(copy_piece)(job, to, o->alpha, atomic_load(&order->places[late]));
    }
}

static void SPRY_FN(once)(spryi_spgemm_job *job)
{
    spryi_order order = {.count = 0};
    spryi_begin_order(&order, &job->pieces);
    job->offsets[0] = 0;
#pragma omp parallel num_threads(spryi_team(job->threads))
    {
        SPRY_FN(lists) o;
        SPRY_FN(place_lists)(job, &o, omp_get_thread_num());
        spryi_spgemm_job mine = *job;
        const int most = spryi_rows_once_buffers(job) - 2;
        o.alpha = (SPRY_V)job->alpha;
        mine.alpha = 1;
        for (int64_t p; (p = atomic_fetch_add(&order.next, 1)) < order.count;) {
            const int64_t begin = mine.pieces.rows[p], end = mine.pieces.rows[p + 1];
            if (SPRY_FN(is_giant)(&mine, begin, end))
                SPRY_FN(once_giant)(&mine, &o, &order, p);
            else
                SPRY_FN(once_piece)(&mine, &o, &order, p);
            SPRY_FN(hold_no_more)(&mine, &o, &order, most > 0 ? most : 0);
        }
        SPRY_FN(hold_no_more)(&mine, &o, &order, 0);
        _mm_sfence();
    }
}
