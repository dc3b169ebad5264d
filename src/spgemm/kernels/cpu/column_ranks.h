/*
 * The order of a row's columns by ranks. A rank is a column's place among the columns of the row: how many came before
 * its word of 64, and how many bits of the word are below its own.
 */
#pragma once

#include <stdint.h>

/* Of words of 64 columns, all 0 between rows; rank counts only where mask is not 0. */
typedef struct spryi_column_ranks {
    uint64_t *restrict mask;
    uint32_t *restrict rank;
    unsigned char *restrict touched;
} spryi_column_ranks;

#ifdef __AVX512F__
#include <immintrin.h>

static inline void spryi_mark_ranks(const spryi_column_ranks *r, const int32_t *restrict columns, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        r->mask[columns[k] >> 6] |= (uint64_t)1 << (columns[k] & 63);
        r->touched[columns[k] >> 6] = 1;
    }
}

static inline uint32_t spryi_rank_of(const spryi_column_ranks *r, int32_t column)
{
    return r->rank[column >> 6] +
           (uint32_t)__builtin_popcountll(_bzhi_u64(r->mask[column >> 6], (unsigned)column & 63));
}

/* The columns of a word's bits; up to four are written in any case, which saves a branch that few words agree on. */
static inline int64_t spryi_emit_bits(uint64_t bits, int32_t from, int32_t *restrict columns)
{
    const int64_t n = __builtin_popcountll(bits);
    int64_t k = 0;
    do
        for (int s = 0; s < 4; s++, k++, bits &= bits - 1) columns[k] = from + (int32_t)_tzcnt_u64(bits);
    while (k < n);
    return n;
}

/* Ranks the words that were touched among `words` from `low` on, and forgets that they were; returns all columns. */
static __attribute__((unused)) int64_t spryi_resolve_ranks(const spryi_column_ranks *r, int64_t low, int64_t words,
                                                           int32_t *restrict columns)
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
            n += columns ? spryi_emit_bits(r->mask[word], (int32_t)(64 * word), columns + n)
                         : __builtin_popcountll(r->mask[word]);
        }
    }
    return n;
}

/* All columns that are marked, exactly as many: what lies behind them is another's. */
static inline void spryi_emit_ranks(const spryi_column_ranks *r, int64_t low, int64_t words, int32_t *restrict columns)
{
    for (int64_t w = low; w < low + words; w++)
        for (uint64_t bits = r->mask[w]; bits; bits &= bits - 1) *columns++ = (int32_t)(64 * w + __builtin_ctzll(bits));
}
#endif
