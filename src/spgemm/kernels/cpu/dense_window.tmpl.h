/*
 * The dense window, for each value type and index pair. It has a sum and a bit for each column, and a byte for each 64
 * bits. A byte is 1 if its bits may be nonzero.
 */

/* sums += a_ik * row k of B, for each k of row i. Element 0 of the window is column `base`. */
static inline void SPRY_FN(add_products)(const spryi_spgemm_job *job, SPRY_V *restrict sums, int64_t i, int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const SPRY_P end = Bp[Aj[k] + 1];
        SPRY_P t = Bp[Aj[k]];
        for (; t + 4 <= end; t += 4) { /* in order: a row may contain a column twice */
            sums[Bj[t] - base] += a * Bx[t];
            sums[Bj[t + 1] - base] += a * Bx[t + 1];
            sums[Bj[t + 2] - base] += a * Bx[t + 2];
            sums[Bj[t + 3] - base] += a * Bx[t + 3];
        }
        for (; t < end; t++) sums[Bj[t] - base] += a * Bx[t];
    }
}

/* Like add_products, and marks the columns. */
static inline void SPRY_FN(add_and_mark)(const spryi_spgemm_job *job, const spryi_dense_window *window, int64_t i,
                                         int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    SPRY_V *restrict sums = window->sums;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const SPRY_P end = Bp[Aj[k] + 1];
        for (SPRY_P t = Bp[Aj[k]]; t < end;) {
            int64_t c = Bj[t] - base;
            const int64_t word = c >> 6;
            uint64_t bits = 0;
            do {
                sums[c] += a * Bx[t];
                bits |= (uint64_t)1 << (c & 63);
                if (++t == end) break;
                c = Bj[t] - base;
            } while (c >> 6 == word);
            window->bits[word] |= bits;
            window->touched[word] = 1;
        }
    }
}

/* Marks all columns of row i, given B's rows as bitmaps. */
static inline void SPRY_FN(add_bitmaps)(const spryi_spgemm_job *job, const spryi_dense_window *window, int64_t i,
                                        int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const spryi_spgemm_bitmaps *bitmaps = &job->rows_of_b.bitmaps;
    uint64_t *restrict bits = window->bits;
    unsigned char *restrict touched = window->touched;
    const int64_t from = base / 64;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (int64_t w = bitmaps->offsets[Aj[k]]; w < bitmaps->offsets[Aj[k] + 1]; w++) {
            bits[bitmaps->index[w] - from] |= bitmaps->bits[w];
            touched[bitmaps->index[w] - from] = 1;
        }
}

/* Writes the entries of one word's bits in order. Returns their number. Leaves the word zero. */
static inline int64_t SPRY_FN(emit_word)(const spryi_dense_window *window, int64_t word, int64_t base, SPRY_V alpha,
                                         SPRY_J *restrict Cj, SPRY_V *restrict Cx)
{
    uint64_t bits = window->bits[word];
    SPRY_V *restrict sums = (SPRY_V *)window->sums + 64 * word;
    const SPRY_J from = (SPRY_J)(base + 64 * word);
    int64_t n = 0;
    window->bits[word] = 0;
    for (; bits; bits &= bits - 1, n++) {
        const int c = __builtin_ctzll(bits);
        Cj[n] = (SPRY_J)(from + c);
        Cx[n] = alpha * sums[c];
        sums[c] = 0;
    }
    return n;
}

/* Writes all entries of `words` words in order. Leaves the window zero. */
static inline void SPRY_FN(emit)(const spryi_dense_window *window, int64_t words, int64_t base, SPRY_V alpha,
                                 SPRY_J *Cj, SPRY_V *Cx)
{
    for (int64_t w = 0; w < words; w += 8) {
        uint64_t touched;
        if (w % 64 == 0) w = spryi_skip_zeros(window->touched, w, words);
        if (w >= words) break;
        memcpy(&touched, window->touched + w, sizeof touched);
        if (!touched) continue;
        memset(window->touched + w, 0, sizeof touched);
        for (; touched; touched &= touched - 1) {
            const int64_t n = SPRY_FN(emit_word)(window, w + spryi_first_byte(touched), base, alpha, Cj, Cx);
            Cj += n;
            Cx += n;
        }
    }
}

/* Fills row i of C, with columns `first` to `last`, with the window. */
static inline void SPRY_FN(fill_window)(const spryi_spgemm_job *job, const spryi_dense_window *window, int64_t i,
                                        int64_t first, int64_t last, SPRY_J *Cj, SPRY_V *Cx)
{
    const int64_t base = first & ~(int64_t)63;
    if (job->rows_of_b.bitmaps.count > 0) {
        SPRY_FN(add_bitmaps)(job, window, i, base);
        SPRY_FN(add_products)(job, window->sums, i, base);
    } else {
        SPRY_FN(add_and_mark)(job, window, i, base);
    }
    SPRY_FN(emit)(window, (last - base) / 64 + 1, base, *(const SPRY_V *)job->alpha, Cj, Cx);
}
