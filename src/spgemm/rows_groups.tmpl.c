/*
 * Part of rows_once.tmpl.c: rows of C where B's columns lie close together.
 *
 * Idea: B's columns are kept as groups of eight, a bit for each (groups.c). The values of a group are spread to their
 * lanes, multiplied, and added at once to the eight sums of the group in a dense window; a byte of the same bits says
 * which there are. Lanes without a column add +0, which leaves a sum that began at +0 as it is: each c_ij adds what it
 * adds column by column, in the same order.
 * The window is a ring of o->ring + 1 groups: all columns, or rows of C that span no more. A byte for each 64 groups
 * tells where to look for what was met.
 * Cost: groups of all products, 64 bytes read and written in the caches each, and as much for each group of C.
 * Source: this library.
 */
enum { SPRY_FN(CHUNK) = 4096 }; /* groups that a look at 64 of those bytes covers; divides the ring */

/* sums += a * values of the group; returns the values behind. Stored in full: a masked store delays the next load. */
static inline const SPRY_V *SPRY_FN(add_group)(SPRY_V *restrict sums, uint32_t group, SPRY_V a,
                                               const SPRY_V *restrict x)
{
    const __mmask8 here = (__mmask8)group;
#if SPRY_IS_F64
    const __m512d product = _mm512_maskz_mul_pd(here, _mm512_set1_pd(a), _mm512_maskz_expandloadu_pd(here, x));
    _mm512_store_pd(sums, _mm512_add_pd(_mm512_load_pd(sums), product));
#else
    const __m256 product = _mm256_maskz_mul_ps(here, _mm256_set1_ps(a), _mm256_maskz_expandloadu_ps(here, x));
    _mm256_store_ps(sums, _mm256_add_ps(_mm256_load_ps(sums), product));
#endif
    return x + __builtin_popcount(group & 0xff);
}

/* Entries of 64 groups from `group` on, which is a multiple of 64; leaves them cleared. */
static inline int64_t SPRY_FN(emit_groups)(const SPRY_FN(lists) * o, uint32_t group, SPRY_J *restrict Cj,
                                           SPRY_V *restrict Cx)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    unsigned char *restrict bits = o->group_bits + (group & o->ring);
    SPRY_V *restrict all = o->group_sums + 8 * (size_t)(group & o->ring);
    const __m512i bytes = _mm512_loadu_si512(bits);
    int64_t n = 0;
    for (uint64_t met = _mm512_test_epi8_mask(bytes, bytes); met; met &= met - 1) {
        const uint32_t at = (uint32_t)_tzcnt_u64(met);
        const __mmask8 here = bits[at];
        SPRY_V *restrict sums = all + 8 * at;
        const __m256i columns = _mm256_add_epi32(lanes, _mm256_set1_epi32((int)(8 * (group + at))));
        _mm256_storeu_si256((__m256i *)(void *)(Cj + n), _mm256_maskz_compress_epi32(here, columns));
#if SPRY_IS_F64
        _mm512_storeu_pd(Cx + n, _mm512_maskz_compress_pd(here, _mm512_load_pd(sums)));
        _mm512_store_pd(sums, _mm512_setzero_pd());
#else
        _mm256_storeu_ps(Cx + n, _mm256_maskz_compress_ps(here, _mm256_load_ps(sums)));
        _mm256_store_ps(sums, _mm256_setzero_ps());
#endif
        n += __builtin_popcount(here);
    }
    _mm512_storeu_si512(bits, _mm512_setzero_si512());
    return n;
}

/* 1: the columns of row i are all in the window at once. */
static __attribute__((noinline)) int SPRY_FN(in_ring)(const spryi_spgemm_job *job, const SPRY_FN(lists) * o, int64_t i)
{
    int64_t first, last;
    if ((job->b.cols - 1) / 8 <= o->ring) return 1;
    SPRY_FN(ends)(job, i, &first, &last);
    return last / (8 * SPRY_FN(CHUNK)) - first / (8 * SPRY_FN(CHUNK)) < ((int64_t)o->ring + 1) / SPRY_FN(CHUNK);
}

/* Row i of C; returns its entries. Up to seven places behind them are written. */
static __attribute__((noinline)) int64_t SPRY_FN(once_grouped)(const spryi_spgemm_job *job, const SPRY_FN(lists) * o,
                                                               int64_t i, SPRY_J *restrict Cj, SPRY_V *restrict Cx)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    const uint32_t *restrict groups = job->groups, ring = o->ring;
    SPRY_V *restrict sums = o->group_sums;
    unsigned char *restrict bits = o->group_bits, *restrict touched = o->group_touched;
    uint32_t low = UINT32_MAX, high = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P begin = Bp[Aj[k]];
        if (begin == Bp[Aj[k] + 1]) continue;
        const SPRY_V a = Ax[k], *restrict x = Bx + begin;
        const uint32_t *restrict g = groups + begin;
        uint32_t group = *g;
        low = low < group >> 9 ? low : group >> 9;
        for (;; group = *++g) {
            const uint32_t at = group >> 9 & ring;
            x = SPRY_FN(add_group)(sums + 8 * (size_t)at, group, a, x);
            bits[at] |= (unsigned char)group;
            touched[at >> 6] = 1;
            if (group & SPRYI_GROUP_LAST) break;
        }
        high = high > group >> 9 ? high : group >> 9;
    }
    int64_t n = 0;
    for (uint32_t chunk = low & ~(SPRY_FN(CHUNK) - 1u); chunk <= high; chunk += SPRY_FN(CHUNK)) {
        unsigned char *there = touched + ((chunk & ring) >> 6);
        const __m512i bytes = _mm512_loadu_si512(there);
        for (uint64_t met = _mm512_test_epi8_mask(bytes, bytes); met; met &= met - 1)
            n += SPRY_FN(emit_groups)(o, chunk + 64 * (uint32_t)_tzcnt_u64(met), Cj + n, Cx + n);
        _mm512_storeu_si512(there, _mm512_setzero_si512());
    }
    return n;
}
