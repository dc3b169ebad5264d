/* Part of rows_cpu.c and its likes: the symbolic phase. */
#if !defined(__AVX512F__) || !SPRY_J_IS_64 /* see rows_instances.h */
#include "spgemm/rows_shape.tmpl.c"

typedef struct SPRY_FN(span) {
    int64_t first, last;
} SPRY_FN(span);

/* First and last column that row i of C can have; last < first where it has none. */
static inline SPRY_FN(span) SPRY_FN(span_of)(const spryi_spgemm_job *job, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    int64_t first = INT64_MAX, last = -1;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P begin = Bp[Aj[k]], end = Bp[Aj[k] + 1];
        if (begin == end) continue;
        if (job->b_rises) {
            first = Bj[begin] < first ? Bj[begin] : first;
            last = Bj[end - 1] > last ? Bj[end - 1] : last;
            continue;
        }
        for (SPRY_P t = begin; t < end; t++) {
            first = Bj[t] < first ? Bj[t] : first;
            last = Bj[t] > last ? Bj[t] : last;
        }
    }
    return (SPRY_FN(span)){first, last};
}

/* The same as mark and unmark, of B's rows as words. */
static inline int64_t SPRY_FN(mark_words)(const spryi_spgemm_job *job, uint64_t *restrict mask, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const spryi_spgemm_words *words = &job->words;
    int64_t count = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (int64_t w = words->offsets[Aj[k]]; w < words->offsets[Aj[k] + 1]; w++) {
            const uint64_t before = mask[words->index[w]];
            count += __builtin_popcountll(words->bits[w] & ~before);
            mask[words->index[w]] = before | words->bits[w];
        }
    return count;
}

static inline void SPRY_FN(unmark_words)(const spryi_spgemm_job *job, uint64_t *restrict mask, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const spryi_spgemm_words *words = &job->words;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (int64_t w = words->offsets[Aj[k]]; w < words->offsets[Aj[k] + 1]; w++) mask[words->index[w]] = 0;
}

/* Bits are gathered in a register while they fall into one word: columns that follow each other do. */
static inline int64_t SPRY_FN(mark)(const spryi_spgemm_job *job, uint64_t *restrict mask, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    int64_t count = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P end = Bp[Aj[k] + 1];
        for (SPRY_P t = Bp[Aj[k]]; t < end;) {
            const SPRY_J word = Bj[t] >> 6;
            uint64_t bits = 0;
            do bits |= (uint64_t)1 << (Bj[t] & 63);
            while (++t < end && Bj[t] >> 6 == word);
            const uint64_t before = mask[word];
            count += __builtin_popcountll(bits & ~before);
            mask[word] = before | bits;
        }
    }
    return count;
}

static inline void SPRY_FN(unmark)(const spryi_spgemm_job *job, uint64_t *restrict mask, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) mask[Bj[t] >> 6] = 0;
}

static inline int64_t SPRY_FN(row_products)(const spryi_spgemm_job *job, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    int64_t products = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) products += (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]);
    return products;
}

static inline void SPRY_FN(note_span)(const spryi_spgemm_job *job, spryi_spgemm_spans *spans, int64_t words,
                                      int64_t products)
{
    const int64_t most = products < job->b.cols ? products : job->b.cols;
    if (spryi_rows_scattered(words, products)) {
        if (most > spans->scattered) spans->scattered = most;
        return;
    }
    const int bin = spryi_rows_bin(words);
    if (words > spans->widest[bin]) spans->widest[bin] = words;
    if (most > spans->busiest[bin]) spans->busiest[bin] = most;
}

#if defined(__AVX512F__) && !SPRY_J_IS_64
#include "spgemm/rows_few_avx512.tmpl.c"

/* Entries of row i, which has 1 to FEW products, and its span. */
static inline int64_t SPRY_FN(count_few)(const spryi_spgemm_job *job, int64_t i, SPRY_FN(span) * span)
{
    SPRY_FN(few) few;
    SPRY_FN(few_columns)(job, i, &few);
    const __m512i v[2] = {_mm512_loadu_si512(few.columns), _mm512_loadu_si512(few.columns + 16)};
    const uint32_t valid = (uint32_t)_bzhi_u64(0xffffffffu, (unsigned)few.count);
    const __m512i least = _mm512_set1_epi32(INT32_MAX), most = _mm512_set1_epi32(-1);
    __m512i low = _mm512_mask_mov_epi32(least, (__mmask16)valid, v[0]);
    __m512i high = _mm512_mask_mov_epi32(most, (__mmask16)valid, v[0]);
    low = _mm512_mask_min_epi32(low, (__mmask16)(valid >> 16), low, v[1]);
    high = _mm512_mask_max_epi32(high, (__mmask16)(valid >> 16), high, v[1]);
    span->first = _mm512_reduce_min_epi32(low);
    span->last = _mm512_reduce_max_epi32(high);
    return __builtin_popcount(SPRY_FN(few_leaders)(&few, v));
}
#endif

/* Counts rows begin .. end-1, notes their spans and raises *longest. */
static void SPRY_FN(count_piece)(const spryi_spgemm_job *job, int64_t begin, int64_t end, uint64_t *mask,
                                 spryi_spgemm_spans *spans, int64_t *longest)
{
    int64_t *restrict counts = job->offsets + 1;
    int64_t words_before = 0;
    for (int64_t i = begin; i < end; i++) {
        SPRY_J shift;
        if (i > begin && SPRY_FN(repeats)(job, i, &shift)) {
            counts[i] = counts[i - 1];
            if (shift == 0 && words_before > spans->twins) spans->twins = words_before;
            if (words_before > spans->repeated) spans->repeated = words_before;
            continue;
        }
        const int64_t products = SPRY_FN(row_products)(job, i);
        counts[i] = words_before = 0;
        if (products == 0) continue;
#if defined(__AVX512F__) && !SPRY_J_IS_64
        if (products <= FEW) {
            SPRY_FN(span) few;
            counts[i] = SPRY_FN(count_few)(job, i, &few);
            words_before = spryi_rows_words(few.first, few.last);
            SPRY_FN(note_span)(job, spans, words_before, products);
            if (counts[i] > *longest) *longest = counts[i];
            continue;
        }
#endif
        const SPRY_FN(span) span = SPRY_FN(span_of)(job, i);
        const int64_t low = span.first / 64, words = span.last / 64 + 1 - low;
        counts[i] = job->words.count > 0 ? SPRY_FN(mark_words)(job, mask, i) : SPRY_FN(mark)(job, mask, i);
        if (words <= 16 || words * 4 < products)
            memset(mask + low, 0, (size_t)words * sizeof *mask);
        else if (job->words.count > 0)
            SPRY_FN(unmark_words)(job, mask, i);
        else
            SPRY_FN(unmark)(job, mask, i);
        words_before = spryi_rows_words(span.first, span.last);
        SPRY_FN(note_span)(job, spans, words_before, products);
        if (counts[i] > *longest) *longest = counts[i];
    }
}

static void SPRY_FN(count)(spryi_spgemm_job *job)
{
    job->spans = (spryi_spgemm_spans){.scattered = 0};
    job->longest = 0;
#pragma omp parallel num_threads(spryi_team(job->threads))
    {
        uint64_t *mask = (uint64_t *)job->workspace + omp_get_thread_num() * spryi_rows_mask_words(job);
        spryi_spgemm_spans spans = {.scattered = 0};
        int64_t longest = 0;
#pragma omp for schedule(dynamic, 1)
        for (int64_t p = 0; p < job->pieces.count; p++)
            SPRY_FN(count_piece)(job, job->pieces.rows[p], job->pieces.rows[p + 1], mask, &spans, &longest);
#pragma omp critical(spryi_spgemm_count)
        spryi_rows_merge_spans(job, &spans, longest);
    }
}
#undef FEW
#endif
