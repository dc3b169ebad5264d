/*
 * Part of rows_avx512_cpu.c: what both phases at once (rows_once.tmpl.c) need of any types. A rank is a column's place
 * among the columns of a row: how many came before its word of 64, and how many bits of the word are below its own.
 */
#ifndef SPRYI_SPGEMM_ROWS_RANKS_H
#define SPRYI_SPGEMM_ROWS_RANKS_H

#include "spgemm/rows.h"

#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* Of words of 64 columns, all 0 between rows; rank counts only where mask is not 0. */
typedef struct spryi_ranks {
    uint64_t *restrict mask;
    uint32_t *restrict rank;
    unsigned char *restrict touched;
} spryi_ranks;

static inline void spryi_mark_ranks(const spryi_ranks *r, const int32_t *restrict columns, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        r->mask[columns[k] >> 6] |= (uint64_t)1 << (columns[k] & 63);
        r->touched[columns[k] >> 6] = 1;
    }
}

static inline uint32_t spryi_rank_of(const spryi_ranks *r, int32_t column)
{
    return r->rank[column >> 6] +
           (uint32_t)__builtin_popcountll(_bzhi_u64(r->mask[column >> 6], (unsigned)column & 63));
}

/* The columns of a word's bits; up to four are written in any case, which spares a branch that few words agree on. */
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
static int64_t spryi_settle_ranks(const spryi_ranks *r, int64_t low, int64_t words, int32_t *restrict columns)
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
static void spryi_emit_ranks(const spryi_ranks *r, int64_t low, int64_t words, int32_t *restrict columns)
{
    for (int64_t w = low; w < low + words; w++)
        for (uint64_t bits = r->mask[w]; bits; bits &= bits - 1) *columns++ = (int32_t)(64 * w + __builtin_ctzll(bits));
}

/*
 * Where the pieces of C go. They are taken in order; whoever has summed one publishes its size, and its place is known
 * when those of all before it are. Nobody waits for a turn: places are worked out by whoever looks, all alike.
 */
typedef struct spryi_order {
    int64_t count;
    _Atomic int64_t next, known; /* the next to be taken; places up to about this one are known */
    _Atomic int64_t *sizes;      /* entries of each piece, -1 while it is not summed */
    _Atomic int64_t *places;     /* entries of C before each, count + 1; -1 while that is not known */
} spryi_order;

static void spryi_begin_order(spryi_order *o, const spryi_spgemm_pieces *pieces)
{
    o->count = pieces->count;
    o->sizes = (_Atomic int64_t *)pieces->sizes;
    o->places = (_Atomic int64_t *)pieces->places;
    memset(pieces->sizes, 0xff, (size_t)pieces->count * sizeof *pieces->sizes);
    memset(pieces->places, 0xff, ((size_t)pieces->count + 1) * sizeof *pieces->places);
    pieces->places[0] = 0;
}

/* 1: it is the first to say so, and has to copy the piece. */
static int spryi_publish(const spryi_order *o, int64_t piece, int64_t entries)
{
    int64_t unknown = -1;
    return atomic_compare_exchange_strong(&o->sizes[piece], &unknown, entries);
}

/* Works out what places it can; the first piece whose size is not known. */
static int64_t spryi_first_unknown(spryi_order *o)
{
    int64_t p = atomic_load(&o->known), size;
    for (; p < o->count && (size = atomic_load(&o->sizes[p])) >= 0; p++)
        atomic_store(&o->places[p + 1], atomic_load(&o->places[p]) + size);
    atomic_store(&o->known, p);
    return p;
}

/* About as long as it takes to sum a tenth of a piece. */
static inline void spryi_wait_a_little(void)
{
    enum { PAUSES = 128 };
    for (int k = 0; k < PAUSES; k++) _mm_pause();
}

/* Copies; past the caches, which would read the lines of `to` first, where it is not needed soon. */
static __attribute__((noinline)) void spryi_stream(void *to, const void *from, int64_t bytes, int past_caches)
{
    char *restrict t = to;
    const char *restrict f = from;
    const int64_t head = -(int64_t)(uintptr_t)t & 63;
    if (!past_caches || bytes < 1024) {
        memcpy(t, f, (size_t)bytes);
        return;
    }
    memcpy(t, f, (size_t)head);
    int64_t k = head;
    for (; k + 64 <= bytes; k += 64) _mm512_stream_si512((void *)(t + k), _mm512_loadu_si512(f + k));
    memcpy(t + k, f + k, (size_t)(bytes - k));
}

#endif
