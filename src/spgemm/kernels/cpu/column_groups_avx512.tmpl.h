/*
 * Rows of C where B's columns lie close together, for each value type.
 *
 * Idea: B's columns are kept as groups of eight, a bit for each (spgemm_host.c). The values of a group are spread to
 * their lanes, multiplied, and added at once to the eight sums of the group in a dense window; a byte of the same bits
 * says which there are. Lanes without a column add +0, which leaves a sum that began at +0 as it is: each c_ij adds
 * what it adds column by column, in the same order.
 * The window is a ring of groups: all columns, or rows of C that span no more. A byte for each 64 groups tells where to
 * look for what was met.
 * Cost: groups of all products, 64 bytes read and written in the caches each, and as much for each group of C.
 * Source: this library.
 */
#if !SPRY_P_IS_64 && !SPRY_J_IS_64
#define GROUPS_AT_ONCE 4096 /* that a look at 64 of the bytes covers; divides the ring */

/* Entries of 64 groups from `group` on, which is a multiple of 64; leaves them cleared. */
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
        const __mmask8 here = bits[at];
        const __m256i columns = _mm256_add_epi32(lanes, _mm256_set1_epi32((int)(8 * (group + at))));
        _mm256_storeu_si256((__m256i *)(void *)(Cj + n), _mm256_maskz_compress_epi32(here, columns));
        TAKE_EIGHT(Cx + n, all + 8 * at, here);
        n += __builtin_popcount(here);
    }
    _mm512_storeu_si512(bits, _mm512_setzero_si512());
    return n;
}

/* 1: the columns of row i are all in the window at once. */
static __attribute__((noinline)) int SPRY_FN(fits_groups)(const spryi_spgemm_job *job, const spryi_group_window *window,
                                                          int64_t i)
{
    int64_t first, last;
    if ((job->b.cols - 1) / 8 <= window->last) return 1;
    SPRY_FN(row_span)(job, i, &first, &last);
    return last / (8 * GROUPS_AT_ONCE) - first / (8 * GROUPS_AT_ONCE) < ((int64_t)window->last + 1) / GROUPS_AT_ONCE;
}

/* Row i of C; returns its entries. Up to seven positions behind them are written. */
static __attribute__((noinline)) int64_t SPRY_FN(fill_grouped)(const spryi_spgemm_job *job,
                                                               const spryi_group_window *window, int64_t i,
                                                               int32_t *restrict Cj, SPRY_V *restrict Cx)
{
    const int32_t *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const int32_t *restrict Aj = job->a.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    const uint32_t *restrict groups = job->column_groups, ring = window->last;
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
        unsigned char *there = touched + ((chunk & ring) >> 6);
        const __m512i bytes = _mm512_loadu_si512(there);
        for (uint64_t met = _mm512_test_epi8_mask(bytes, bytes); met; met &= met - 1)
            n += SPRY_FN(emit_groups)(window, chunk + 64 * (uint32_t)_tzcnt_u64(met), Cj + n, Cx + n);
        _mm512_storeu_si512(there, _mm512_setzero_si512());
    }
    return n;
}
#endif
