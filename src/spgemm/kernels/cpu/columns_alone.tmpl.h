/*
 * Functions that find the columns of C without values, after rows are counted, for each value type and index pair.
 * Plans call them before any values are known. The methods are the same as for filling, without sums.
 */

/* Copies the columns of row i if its products need not be read. Returns false if they must be read. */
static inline bool SPRY_FN(copy_columns)(const spryi_spgemm_job *job, int64_t begin, int64_t i, SPRY_J *restrict Cj,
                                         int64_t n)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    if (Ap[i + 1] - Ap[i] != 1 || !job->rows_of_b.rise) return SPRY_FN(repeat_columns)(job, begin, i, Cj, n);
    memcpy(Cj, (const SPRY_J *)job->b.indices + Bp[((const SPRY_J *)job->a.indices)[Ap[i]]], (size_t)n * sizeof *Cj);
    return true;
}

static inline void SPRY_FN(mark_window)(const spryi_spgemm_job *job, const spryi_dense_window *window, int64_t i,
                                        int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P end = Bp[Aj[k] + 1];
        for (SPRY_P t = Bp[Aj[k]]; t < end;) {
            const int64_t word = (Bj[t] - base) >> 6;
            uint64_t bits = 0;
            do bits |= (uint64_t)1 << (Bj[t] & 63); /* base is a multiple of 64 */
            while (++t < end && (Bj[t] - base) >> 6 == word);
            window->bits[word] |= bits;
            window->touched[word] = 1;
        }
    }
}

/* Writes the columns of one word's bits in order. Returns the end of the columns written. */
static inline SPRY_J *SPRY_FN(emit_bits)(uint64_t bits, int64_t from, SPRY_J *restrict Cj)
{
#if defined __AVX512F__ && !SPRY_J_IS_64
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const bool few = __builtin_popcountll(bits) < 8;
    for (; bits && !few; bits >>= 16, from += 16) {
        const __m512i columns = _mm512_add_epi32(_mm512_set1_epi32((int32_t)from), lanes);
        const int n = __builtin_popcount((uint16_t)bits);
        _mm512_mask_storeu_epi32(Cj, spryi_upto16(n), _mm512_maskz_compress_epi32((__mmask16)bits, columns));
        Cj += n;
    }
#endif
    for (; bits; bits &= bits - 1) *Cj++ = (SPRY_J)(from + __builtin_ctzll(bits));
    return Cj;
}

/* Writes all marked columns of `words` words in order. Leaves the window zero. */
static inline void SPRY_FN(emit_columns)(const spryi_dense_window *window, int64_t words, int64_t base, SPRY_J *Cj)
{
    for (int64_t w = 0; w < words; w += 8) {
        uint64_t touched;
        if (w % 64 == 0) w = spryi_skip_zeros(window->touched, w, words);
        if (w >= words) break;
        memcpy(&touched, window->touched + w, sizeof touched);
        if (!touched) continue;
        memset(window->touched + w, 0, sizeof touched);
        for (; touched; touched &= touched - 1) {
            const int64_t word = w + spryi_first_byte(touched);
            Cj = SPRY_FN(emit_bits)(window->bits[word], base + 64 * word, Cj);
            window->bits[word] = 0;
        }
    }
}

/* Finds the columns of row i, between `first` and `last`, with one flag per column. Leaves the window zero. */
static inline void SPRY_FN(flag_columns)(const spryi_spgemm_job *job, const spryi_dense_window *window, int64_t i,
                                         int64_t first, int64_t last, SPRY_J *restrict Cj)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const int64_t base = first & ~(int64_t)63, words = (last - base) / 64 + 1;
    unsigned char *restrict flags = window->flags;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) flags[Bj[t] - base] = 1;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t bits = spryi_bits_of(flags + 64 * w);
        if (bits == 0) continue;
        memset(flags + 64 * w, 0, 64);
        Cj = SPRY_FN(emit_bits)(bits, base + 64 * w, Cj);
    }
}

static void SPRY_FN(hash_columns)(const spryi_spgemm_job *job, SPRY_J *restrict keys, int64_t i, SPRY_J *restrict Cj,
                                  int64_t n)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const int64_t slots = spryi_rows_slots(SPRY_FN(row_products)(job, i), job->b.columns);
    const int shift = __builtin_clzll((unsigned long long)slots) + 1;
    int64_t met = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++)
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
            const int64_t slot = SPRY_FN(slot_of)(keys, shift, slots - 1, Bj[t]);
            if (keys[slot] != 0) continue;
            keys[slot] = Bj[t] + 1;
            Cj[met++] = Bj[t];
        }
    SPRY_FN(sort)(Cj, n);
    memset(keys, 0, (size_t)slots * sizeof *keys);
}

/* Finds the columns of row i by reading its products. */
static inline void SPRY_FN(find_columns)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t i,
                                         int64_t first, int64_t last, SPRY_J *Cj, int64_t n)
{
    const int64_t base = first & ~(int64_t)63;
    if (SPRY_FN(is_hashed)(job, i, first, last)) {
        SPRY_FN(hash_columns)(job, w->table.keys, i, Cj, n);
        return;
    }
    if (job->rows_of_b.bitmaps.count == 0 && spryi_rows_words(first, last) < SPRY_FN(row_products)(job, i)) {
        SPRY_FN(flag_columns)(job, &w->window, i, first, last, Cj);
        return;
    }
    if (job->rows_of_b.bitmaps.count > 0)
        SPRY_FN(add_bitmaps)(job, &w->window, i, base);
    else
        SPRY_FN(mark_window)(job, &w->window, i, base);
    SPRY_FN(emit_columns)(&w->window, (last - base) / 64 + 1, base, Cj);
}
