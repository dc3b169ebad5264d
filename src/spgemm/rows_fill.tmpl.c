/* Part of rows_cpu.c and its likes: the numeric phase. */
#if !defined(__AVX512F__) || !SPRY_J_IS_64 /* see rows_instances.h */
#include "spgemm/rows_shape.tmpl.c"

/* A thread's dense window, which stands over columns base .. base + 64 * windows - 1 while a row is summed. */
typedef struct SPRY_FN(lane) {
    SPRY_V *restrict sums;
    uint64_t *restrict bits;
    unsigned char *restrict touched;
    unsigned char *restrict flags; /* a byte a column: of rows that are dense in what they span, in place of bits */
    /* and its hash table: sums, and columns + 1, 0 where there is none */
    SPRY_V *restrict slot_sums;
    SPRY_J *restrict slot_keys;
} SPRY_FN(lane);

static SPRY_FN(lane) SPRY_FN(lane_of)(const spryi_spgemm_job *job, int thread)
{
    const int64_t windows = job->windows;
    unsigned char *start = (unsigned char *)job->workspace + thread * spryi_rows_lane_bytes(job);
    SPRY_V *sums = (SPRY_V *)(void *)start;
    uint64_t *bits = (uint64_t *)(void *)(sums + 64 * windows);
    unsigned char *touched = (unsigned char *)(bits + windows);
    unsigned char *flags = touched + windows, *table = flags + 64 * windows;
    SPRY_J *keys = (SPRY_J *)(void *)table; /* the wider of both first, for their alignment */
    SPRY_V *slots = (SPRY_V *)(void *)table;
    if (sizeof *keys > sizeof *slots)
        slots = (SPRY_V *)(void *)(keys + job->slots);
    else
        keys = (SPRY_J *)(void *)(slots + job->slots);
    return (SPRY_FN(lane)){sums, bits, touched, flags, slots, keys};
}

/* sums += a_ik * row k of B, for each k of row i, `base` columns back. */
static inline void SPRY_FN(add_products)(const spryi_spgemm_job *job, SPRY_V *restrict sums, int64_t i, int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const SPRY_P end = Bp[Aj[k] + 1];
        SPRY_P t = Bp[Aj[k]];
        for (; t + 4 <= end; t += 4) { /* in order: a column may stand in a row twice */
            sums[Bj[t] - base] += a * Bx[t];
            sums[Bj[t + 1] - base] += a * Bx[t + 1];
            sums[Bj[t + 2] - base] += a * Bx[t + 2];
            sums[Bj[t + 3] - base] += a * Bx[t + 3];
        }
        for (; t < end; t++) sums[Bj[t] - base] += a * Bx[t];
    }
}

/* The same, and marks what it meets. */
static inline void SPRY_FN(add_and_mark)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane, int64_t i,
                                         int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const SPRY_P end = Bp[Aj[k] + 1];
        for (SPRY_P t = Bp[Aj[k]]; t < end;) {
            int64_t c = Bj[t] - base;
            const int64_t word = c >> 6;
            uint64_t bits = 0;
            do {
                lane->sums[c] += a * Bx[t];
                bits |= (uint64_t)1 << (c & 63);
                if (++t == end) break;
                c = Bj[t] - base;
            } while (c >> 6 == word);
            lane->bits[word] |= bits;
            lane->touched[word] = 1;
        }
    }
}

/* Marks all columns of row i by B's rows as words. */
static inline void SPRY_FN(mark_words_of)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane, int64_t i,
                                          int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const spryi_spgemm_words *words = &job->words;
    uint64_t *restrict bits = lane->bits;
    unsigned char *restrict touched = lane->touched;
    const int64_t from = base / 64;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (int64_t w = words->offsets[Aj[k]]; w < words->offsets[Aj[k] + 1]; w++) {
            bits[words->index[w] - from] |= words->bits[w];
            touched[words->index[w] - from] = 1;
        }
}

#ifdef __AVX512F__
/* The same with a flag a column: a store in place of what a bit takes. */
static inline void SPRY_FN(add_and_flag)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane, int64_t i,
                                         int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    SPRY_V *restrict sums = lane->sums;
    unsigned char *restrict flags = lane->flags;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const SPRY_P end = Bp[Aj[k] + 1];
        for (SPRY_P t = Bp[Aj[k]]; t < end; t++) {
            const int64_t c = Bj[t] - base;
            sums[c] += a * Bx[t];
            flags[c] = 1;
        }
    }
}
#endif

/* Entries with the bits of one word, in order; returns how many. */
static inline int64_t SPRY_FN(emit_word)(const SPRY_FN(lane) * lane, int64_t word, int64_t base, SPRY_V alpha,
                                         SPRY_J *restrict Cj, SPRY_V *restrict Cx)
{
    uint64_t bits = lane->bits[word];
    SPRY_V *restrict sums = lane->sums + 64 * word;
    const SPRY_J from = (SPRY_J)(base + 64 * word);
    int64_t n = 0;
    lane->bits[word] = 0;
    for (; bits; bits &= bits - 1, n++) {
        const int c = __builtin_ctzll(bits);
        Cj[n] = (SPRY_J)(from + c);
        Cx[n] = alpha * sums[c];
        sums[c] = 0;
    }
    return n;
}

#ifdef __AVX512F__
/* All that was flagged in `windows` words, in order, and how many; leaves the lane cleared. */
static inline int64_t SPRY_FN(emit_flagged)(const SPRY_FN(lane) * lane, int64_t windows, int64_t base, SPRY_V alpha,
                                            SPRY_J *Cj, SPRY_V *Cx)
{
    const SPRY_J *const start = Cj;
    for (int64_t w = 0; w < windows; w++) {
        const __m512i flags = _mm512_loadu_si512(lane->flags + 64 * w);
        lane->bits[w] = _mm512_test_epi8_mask(flags, flags);
        if (lane->bits[w] == 0) continue;
        _mm512_storeu_si512(lane->flags + 64 * w, _mm512_setzero_si512());
        const int64_t n = SPRY_FN(emit_word)(lane, w, base, alpha, Cj, Cx);
        Cj += n;
        Cx += n;
    }
    return Cj - start;
}
#endif

/* All that was met in `windows` words, in order; leaves the lane cleared. */
static inline void SPRY_FN(emit)(const SPRY_FN(lane) * lane, int64_t windows, int64_t base, SPRY_V alpha, SPRY_J *Cj,
                                 SPRY_V *Cx)
{
    for (int64_t w = 0; w < windows; w += 8) {
        uint64_t touched;
#ifdef __AVX512F__
        if (w % 64 == 0)
            while (w + 64 <= windows &&
                   !_mm512_test_epi8_mask(_mm512_loadu_si512(lane->touched + w), _mm512_set1_epi8(1)))
                w += 64;
        if (w >= windows) break;
#endif
        memcpy(&touched, lane->touched + w, sizeof touched);
        if (!touched) continue;
        memset(lane->touched + w, 0, sizeof touched);
        for (; touched; touched &= touched - 1) {
            const int64_t n = SPRY_FN(emit_word)(lane, w + SPRYI_BYTE_OF(touched), base, alpha, Cj, Cx);
            Cj += n;
            Cx += n;
        }
    }
}

/* ---- hash ------------------------------------------------------------------------------------------- */

/* The slot of a column, or the empty one where it would be. */
static inline int64_t SPRY_FN(slot_of)(const SPRY_J *restrict keys, int shift, int64_t mask, SPRY_J column)
{
    int64_t slot = (int64_t)((uint64_t)column * 0x9e3779b97f4a7c15u >> shift);
    while (keys[slot] != 0 && keys[slot] != column + 1) slot = (slot + 1) & mask;
    return slot;
}

/* Rising order, in place: by insertion while short, else by a heap. The columns are all different. */
static void SPRY_FN(sort)(SPRY_J *list, int64_t n)
{
    if (n <= 32) {
        for (int64_t k = 1; k < n; k++) {
            const SPRY_J x = list[k];
            int64_t to = k;
            for (; to > 0 && list[to - 1] > x; to--) list[to] = list[to - 1];
            list[to] = x;
        }
        return;
    }
    for (int64_t start = n / 2 - 1, end = n; end > 1;) {
        SPRY_J x;
        int64_t hole = start;
        if (start >= 0) {
            x = list[start--];
        } else {
            x = list[--end];
            list[end] = list[0];
            hole = 0;
        }
        for (int64_t child; (child = 2 * hole + 1) < end; hole = child) {
            child += child + 1 < end && list[child + 1] > list[child];
            if (list[child] <= x) break;
            list[hole] = list[child];
        }
        list[hole] = x;
    }
}

/* Row i by the hash table; with its columns known (n of them in Cj) only the values. Leaves the table cleared. */
static void SPRY_FN(hash_row)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane, int64_t i, int64_t products,
                              SPRY_J *restrict Cj, SPRY_V *restrict Cx, int64_t n, int known)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values, alpha = (SPRY_V)job->alpha;
    const int64_t slots = spryi_rows_slots(products, job->b.cols), mask = slots - 1;
    const int shift = __builtin_clzll((unsigned long long)slots) + 1;
    SPRY_J *restrict keys = lane->slot_keys;
    SPRY_V *restrict sums = lane->slot_sums;
    int64_t met = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
            const int64_t slot = SPRY_FN(slot_of)(keys, shift, mask, Bj[t]);
            if (keys[slot] == 0) {
                keys[slot] = Bj[t] + 1;
                if (!known) Cj[met++] = Bj[t];
            }
            sums[slot] += a * Bx[t];
        }
    }
    if (!known) SPRY_FN(sort)(Cj, n);
    for (int64_t k = 0; k < n; k++) Cx[k] = alpha * sums[SPRY_FN(slot_of)(keys, shift, mask, Cj[k])];
    memset(keys, 0, (size_t)slots * sizeof *keys);
    memset(sums, 0, (size_t)slots * sizeof *sums);
}

static inline int64_t SPRY_FN(products_of)(const spryi_spgemm_job *job, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    int64_t products = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) products += (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]);
    return products;
}

/* ---- values alone --------------------------------------------------------------------------------------- */

/* Values of the n columns Cj, which rise; leaves the sums cleared. */
static inline void SPRY_FN(gather)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane, int64_t i,
                                   SPRY_J *restrict Cj, SPRY_V *restrict Cx, int64_t n)
{
    const int64_t base = Cj[0] & ~(int64_t)63, words = spryi_rows_words(Cj[0], Cj[n - 1]);
    const SPRY_V alpha = (SPRY_V)job->alpha;
    SPRY_V *restrict sums = lane->sums;
    if (words > job->windows) {
        SPRY_FN(hash_row)(job, lane, i, SPRY_FN(products_of)(job, i), Cj, Cx, n, 1);
        return;
    }
    SPRY_FN(add_products)(job, sums, i, base);
    for (int64_t k = 0; k < n; k++) {
        Cx[k] = alpha * sums[Cj[k] - base];
        sums[Cj[k] - base] = 0;
    }
}

/* Rows from i on, before `end`, with the columns of row i in A: 1 to SPRYI_TWINS, row i among them. */
static inline int SPRY_FN(count_twins)(const spryi_spgemm_job *job, int64_t i, int64_t end)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *Aj = job->a.indices;
    const SPRY_P n = Ap[i + 1] - Ap[i];
    int twins = 1;
    while (twins < SPRYI_TWINS && i + twins < end && Ap[i + twins + 1] - Ap[i + twins] == n &&
           memcmp(Aj + Ap[i], Aj + Ap[i + twins], (size_t)n * sizeof *Aj) == 0)
        twins++;
    return twins;
}

/* Values of rows i .. i + twins - 1, which share their columns: each entry of B is read once for all of them. */
static inline void SPRY_FN(gather_twins)(const spryi_spgemm_job *job, SPRY_V *restrict sums, int64_t i, int twins,
                                         const SPRY_J *restrict columns, int64_t n)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values, alpha = (SPRY_V)job->alpha;
    const int64_t base = columns[0] & ~(int64_t)63;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        SPRY_V a[SPRYI_TWINS] = {0};
        for (int r = 0; r < twins; r++) a[r] = Ax[Ap[i + r] + (k - Ap[i])];
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
            SPRY_V *restrict to = sums + SPRYI_TWINS * (Bj[t] - base);
            for (int r = 0; r < SPRYI_TWINS; r++) to[r] += a[r] * Bx[t];
        }
    }
    SPRY_V *restrict Cx = (SPRY_V *)job->values + job->offsets[i];
    for (int64_t k = 0; k < n; k++) {
        SPRY_V *restrict from = sums + SPRYI_TWINS * (columns[k] - base);
        for (int r = 0; r < twins; r++) Cx[r * n + k] = alpha * from[r];
        for (int r = 0; r < SPRYI_TWINS; r++) from[r] = 0;
    }
}

/* Values of row i, whose columns are there, and columns and values of its twins; returns how many rows that were. */
static __attribute__((noinline)) int64_t SPRY_FN(gather_some)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane,
                                                              int64_t i, int64_t end)
{
    const int64_t at = job->offsets[i], n = job->offsets[i + 1] - at;
    SPRY_J *restrict Cj = (SPRY_J *)job->columns + at;
    const int64_t wide = SPRYI_TWINS * spryi_rows_words(Cj[0], Cj[n - 1]);
    const int twins = wide <= job->windows ? SPRY_FN(count_twins)(job, i, end) : 1;
    if (twins == 1) {
        SPRY_FN(gather)(job, lane, i, Cj, (SPRY_V *)job->values + at, n);
        return 1;
    }
    for (int r = 1; r < twins; r++) memcpy(Cj + r * n, Cj, (size_t)n * sizeof *Cj);
    SPRY_FN(gather_twins)(job, lane->sums, i, twins, Cj, n);
    return twins;
}

/* Row i of A has one entry, rows of B rise: the row of C is that of B times it. */
static inline void SPRY_FN(copy_row)(const spryi_spgemm_job *job, int64_t i, SPRY_J *restrict Cj, SPRY_V *restrict Cx,
                                     int64_t n)
{
    const SPRY_P k = ((const SPRY_P *)job->a.offsets)[i];
    const SPRY_P from = ((const SPRY_P *)job->b.offsets)[((const SPRY_J *)job->a.indices)[k]];
    const SPRY_J *restrict Bj = (const SPRY_J *)job->b.indices + from;
    const SPRY_V *restrict Bx = (const SPRY_V *)job->b.values + from;
    const SPRY_V a = ((const SPRY_V *)job->a.values)[k], alpha = (SPRY_V)job->alpha;
    for (int64_t t = 0; t < n; t++) {
        Cj[t] = Bj[t];
        Cx[t] = alpha * (a * Bx[t] + 0); /* as a sum that began at 0: never -0 */
    }
}

/* First and last column of row i of C, which has some. */
static __attribute__((noinline)) void SPRY_FN(ends)(const spryi_spgemm_job *job, int64_t i, int64_t *first,
                                                    int64_t *last)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    int64_t low = INT64_MAX, high = -1;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P begin = Bp[Aj[k]], end = Bp[Aj[k] + 1], step = job->b_rises ? end - begin - 1 : 1;
        for (SPRY_P t = begin; t<end; t += step> 0 ? step : 1) {
            low = Bj[t] < low ? Bj[t] : low;
            high = Bj[t] > high ? Bj[t] : high;
        }
    }
    *first = low;
    *last = high;
}

#if defined(__AVX512F__) && !SPRY_J_IS_64
#include "spgemm/rows_few_avx512.tmpl.c"

/* a_ik * b_kj of row i, in the order of few_columns. */
static inline void SPRY_FN(few_values)(const spryi_spgemm_job *job, int64_t i, SPRY_V *restrict to)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P begin = Bp[Aj[k]];
        const int length = (int)(Bp[Aj[k] + 1] - begin);
#if SPRY_IS_F64
        const __m512d a = _mm512_set1_pd(Ax[k]);
        for (int t = 0; t < length; t += 8) {
            const __mmask8 here = (__mmask8)SPRY_FN(upto16)(length - t);
            _mm512_storeu_pd(to + t, _mm512_mul_pd(a, _mm512_maskz_loadu_pd(here, Bx + begin + t)));
        }
#else
        const __m512 a = _mm512_set1_ps(Ax[k]);
        for (int t = 0; t < length; t += 16) {
            const __mmask16 here = SPRY_FN(upto16)(length - t);
            _mm512_storeu_ps(to + t, _mm512_mul_ps(a, _mm512_maskz_loadu_ps(here, Bx + begin + t)));
        }
#endif
        to += length;
    }
}

/* Each product to the sum of its column, which stands where as many leaders are smaller. */
static inline void SPRY_FN(few_sums)(const SPRY_FN(few) * few, const SPRY_V *restrict values, SPRY_J *restrict columns,
                                     SPRY_V *restrict sums)
{
    const __m512i v[2] = {_mm512_loadu_si512(few->columns), _mm512_loadu_si512(few->columns + 16)};
    const uint32_t leaders = SPRY_FN(few_leaders)(few, v);
    for (int p = 0; p < few->count; p++) {
        const int at = __builtin_popcount(SPRY_FN(few_less)(v, few->columns[p]) & leaders);
        columns[at] = few->columns[p];
        sums[at] += values[p];
    }
}

/* Row i, of 1 to FEW products and n entries. */
static inline void SPRY_FN(fill_few)(const spryi_spgemm_job *job, int64_t i, SPRY_J *restrict Cj, SPRY_V *restrict Cx,
                                     int64_t n)
{
    SPRY_FN(few) few;
    SPRY_V values[FEW + 16], sums[FEW] = {0};
    SPRY_J columns[FEW];
    const SPRY_V alpha = (SPRY_V)job->alpha;
    SPRY_FN(few_columns)(job, i, &few);
    SPRY_FN(few_values)(job, i, values);
    SPRY_FN(few_sums)(&few, values, columns, sums);
    for (int64_t k = 0; k < n; k++) {
        Cj[k] = columns[k];
        Cx[k] = alpha * sums[k];
    }
}
#endif

#if defined(__AVX512F__) && !SPRY_J_IS_64 && !SPRY_P_IS_64
#include "spgemm/rows_runs.tmpl.c"
#define HAS_RUNS 1
#else
typedef int SPRY_FN(run);
#define HAS_RUNS 0
#endif

/* Row i of a piece, with its twins; returns how many rows that were. */
static int64_t SPRY_FN(fill_row)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane, int64_t begin, int64_t i,
                                 int64_t end)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    SPRY_J *restrict Cj = job->columns, shift;
    SPRY_V *restrict Cx = job->values;
    const SPRY_V alpha = (SPRY_V)job->alpha;
    const int64_t at = job->offsets[i], n = job->offsets[i + 1] - at;
    if (n == 0) return 1;
    if (Ap[i + 1] - Ap[i] == 1 && job->b_rises) {
        SPRY_FN(copy_row)(job, i, Cj + at, Cx + at, n);
        return 1;
    }
    if (i > begin && at - job->offsets[i - 1] == n && SPRY_FN(repeats)(job, i, &shift)) {
        for (int64_t k = 0; k < n; k++) Cj[at + k] = (SPRY_J)(Cj[at - n + k] + shift);
        return SPRY_FN(gather_some)(job, lane, i, end);
    }
#if defined(__AVX512F__) && !SPRY_J_IS_64
    if (n <= FEW && SPRY_FN(products_of)(job, i) <= FEW) {
        SPRY_FN(fill_few)(job, i, Cj + at, Cx + at, n);
        return 1;
    }
#endif
    int64_t first, last;
    SPRY_FN(ends)(job, i, &first, &last);
    const int64_t base = first & ~(int64_t)63, words = spryi_rows_words(first, last);
    if (words > SPRYI_FEW_WORDS || words > job->windows) {
        const int64_t products = SPRY_FN(products_of)(job, i);
        if (words > job->windows || spryi_rows_scattered(words, products)) {
            SPRY_FN(hash_row)(job, lane, i, products, Cj + at, Cx + at, n, 0);
            return 1;
        }
    }
#ifdef __AVX512F__
    if (job->words.count == 0 && words < SPRY_FN(products_of)(job, i)) {
        SPRY_FN(add_and_flag)(job, lane, i, base);
        SPRY_FN(emit_flagged)(lane, (last - base) / 64 + 1, base, alpha, Cj + at, Cx + at);
        return 1;
    }
#endif
    if (job->words.count > 0) {
        SPRY_FN(mark_words_of)(job, lane, i, base);
        SPRY_FN(add_products)(job, lane->sums, i, base);
    } else {
        SPRY_FN(add_and_mark)(job, lane, i, base);
    }
    SPRY_FN(emit)(lane, (last - base) / 64 + 1, base, alpha, Cj + at, Cx + at);
    return 1;
}

static void SPRY_FN(fill_piece)(const spryi_spgemm_job *job, const SPRY_FN(lane) * lane, SPRY_FN(run) * run,
                                int64_t begin, int64_t end)
{
#if HAS_RUNS
    run->from = begin;
#endif
    for (int64_t i = begin, rows; i < end; i += rows) {
#if HAS_RUNS
        rows = SPRY_FN(begin_run)(job, run, i, end);
        if (rows > 0) {
            const int64_t at = job->offsets[i];
            SPRY_J *Cj = (SPRY_J *)job->columns + at;
            if (run->count == 0) {
                (void)SPRY_FN(fill_row)(job, lane, i, i, i + 1);
                SPRY_FN(order_run)(job, run, i, Cj, job->offsets[i + 1] - at);
            }
            SPRY_FN(fill_run)(job, run, i, Cj, (SPRY_V *)job->values + at);
            continue;
        }
#endif
        rows = SPRY_FN(fill_row)(job, lane, begin, i, end);
    }
    (void)run;
}

static void SPRY_FN(fill)(spryi_spgemm_job *job)
{
#if HAS_RUNS
    job->streams = job->offsets[job->a.rows] >= SPRYI_STREAMS_FROM / (int64_t)(sizeof(SPRY_V) + sizeof(SPRY_J));
#endif
#pragma omp parallel num_threads(spryi_team(job->threads))
    {
        const SPRY_FN(lane) lane = SPRY_FN(lane_of)(job, omp_get_thread_num());
        SPRY_FN(run) run;
#if HAS_RUNS
        SPRY_FN(place_run)
        (job, &run,
         (unsigned char *)job->workspace + (omp_get_thread_num() + 1) * spryi_rows_lane_bytes(job) -
             spryi_rows_run_bytes(job));
#endif
#pragma omp for schedule(dynamic, 1)
        for (int64_t p = 0; p < job->pieces.count; p++)
            SPRY_FN(fill_piece)(job, &lane, &run, job->pieces.rows[p], job->pieces.rows[p + 1]);
#if HAS_RUNS
        _mm_sfence();
#endif
    }
}

static void SPRY_FN(refill)(spryi_spgemm_job *job)
{
#pragma omp parallel num_threads(spryi_team(job->threads))
    {
        const SPRY_FN(lane) lane = SPRY_FN(lane_of)(job, omp_get_thread_num());
#pragma omp for schedule(dynamic, 1)
        for (int64_t p = 0; p < job->pieces.count; p++)
            for (int64_t i = job->pieces.rows[p]; i < job->pieces.rows[p + 1];)
                i += job->offsets[i + 1] == job->offsets[i]
                         ? 1
                         : SPRY_FN(gather_some)(job, &lane, i, job->pieces.rows[p + 1]);
    }
}
#if defined(__AVX512F__) && !SPRY_J_IS_64 && !SPRY_P_IS_64
#include "spgemm/rows_once.tmpl.c"
#endif
#undef FEW
#undef HAS_RUNS
#endif
