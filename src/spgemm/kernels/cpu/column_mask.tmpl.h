/*
 * The symbolic accumulator, for each index pair: one bit for each column of C. Bits of consecutive columns are gathered
 * in a register while they belong to one word.
 */

/* Marks the columns of row i, given B's rows as bitmaps. Returns the number of columns. */
static inline int64_t SPRY_FN(mark_bitmaps)(const spryi_spgemm_job *job, uint64_t *restrict mask, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const spryi_spgemm_bitmaps *bitmaps = &job->rows_of_b.bitmaps;
    int64_t count = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (int64_t w = bitmaps->offsets[Aj[k]]; w < bitmaps->offsets[Aj[k] + 1]; w++) {
            const uint64_t before = mask[bitmaps->index[w]];
            count += __builtin_popcountll(bitmaps->bits[w] & ~before);
            mask[bitmaps->index[w]] = before | bitmaps->bits[w];
        }
    return count;
}

static inline void SPRY_FN(unmark_bitmaps)(const spryi_spgemm_job *job, uint64_t *restrict mask, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const spryi_spgemm_bitmaps *bitmaps = &job->rows_of_b.bitmaps;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (int64_t w = bitmaps->offsets[Aj[k]]; w < bitmaps->offsets[Aj[k] + 1]; w++) mask[bitmaps->index[w]] = 0;
}

/* Marks the columns of row i column by column. Returns the number of columns. */
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

/* Returns the number of entries of row i, which spans columns `first` to `last`. Leaves the mask zero. */
static inline int64_t SPRY_FN(count_columns)(const spryi_spgemm_job *job, uint64_t *restrict mask, int64_t i,
                                             int64_t first, int64_t last, int64_t products)
{
    const int64_t low = first / 64, words = last / 64 + 1 - low;
    const bool bitmaps = job->rows_of_b.bitmaps.count > 0;
    const int64_t n = bitmaps ? SPRY_FN(mark_bitmaps)(job, mask, i) : SPRY_FN(mark)(job, mask, i);
    if (words <= 16 || words * 4 < products)
        memset(mask + low, 0, (size_t)words * sizeof *mask);
    else if (bitmaps)
        SPRY_FN(unmark_bitmaps)(job, mask, i);
    else
        SPRY_FN(unmark)(job, mask, i);
    return n;
}

/* Counts a row of at most SPRYI_SHORT products. Sets the first and last column. */
typedef int64_t (*SPRY_FN(count_short_fn))(const spryi_spgemm_job *job, int64_t i, int64_t *first, int64_t *last);

/*
 * Counts row i of a piece that begins with row `begin`, and records its span in w->seen. *words: number of words that
 * row i - 1 spans; set to the number of words that row i spans. count_short, a
 * compile-time constant, counts short rows if it is not NULL.
 */
SPRYI_INLINE void SPRY_FN(count_row)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t i,
                                     int64_t *words, SPRY_FN(count_short_fn) count_short)
{
    int64_t *restrict counts = job->offsets + 1;
    SPRY_J shift;
    int64_t first, last;
    if (i > begin && SPRY_FN(repeats)(job, i, &shift)) {
        counts[i] = counts[i - 1];
        spryi_rows_note_repeated(&w->seen, *words, shift == 0);
        return;
    }
    const int64_t products = SPRY_FN(row_products)(job, i);
    counts[i] = *words = 0;
    if (products == 0) return;
    if (count_short && products <= SPRYI_SHORT) {
        counts[i] = count_short(job, i, &first, &last);
    } else {
        SPRY_FN(row_span)(job, i, &first, &last);
        counts[i] = SPRY_FN(count_columns)(job, w->mask, i, first, last, products);
    }
    *words = spryi_rows_words(first, last);
    spryi_rows_note_span(job, &w->seen, *words, products);
}
