/* Primitives that compare, scan and copy rows: plain loops, or vectors of 32 or 64 bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "written for little-endian processors"
#endif

/* Returns the index of the first nonzero byte among eight bytes, each 0 or 1. */
static inline int spryi_first_byte(uint64_t bytes)
{
    return __builtin_ctzll(bytes) >> 3;
}

/* Returns true if elements 0 .. n-1 of x equal those of y plus `shift`. */
#define SPRYI_ARE_MOVED(x, y, n, shift)                                                                                \
    _Generic(*(x), int32_t : spryi_are_moved_32, int64_t : spryi_are_moved_64)((x), (y), (n), (shift))

#define ARE_MOVED(name, type)                                                                                          \
    static inline bool name(const type *x, const type *y, int64_t n, type shift)                                       \
    {                                                                                                                  \
        for (int64_t t = 0; t < n; t++)                                                                                \
            if (x[t] - y[t] != shift) return false;                                                                    \
        return true;                                                                                                   \
    }
ARE_MOVED(spryi_are_moved_64, int64_t)

#if defined __AVX512F__
#include <immintrin.h>

/* Returns the mask of the first n lanes, or of all lanes if n >= 16. _bzhi_u32 would use n modulo 256. */
static inline __mmask16 spryi_upto16(int64_t n)
{
    return n < 16 ? (__mmask16)_bzhi_u32(0xffff, (unsigned)n) : (__mmask16)0xffff;
}

static inline bool spryi_are_moved_32(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t t = 0; t < n; t += 16) {
        const __mmask16 live = n - t < 16 ? (__mmask16)((1u << (n - t)) - 1) : (__mmask16)0xffff;
        const __m512i from = _mm512_add_epi32(_mm512_maskz_loadu_epi32(live, y + t), by);
        if (_mm512_mask_cmpneq_epi32_mask(live, _mm512_maskz_loadu_epi32(live, x + t), from)) return false;
    }
    return true;
}

/* Returns the index of the first of n elements of x that differs from y plus `shift`, or n. */
static inline int64_t spryi_first_unlike(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t t = 0; t < n; t += 16) {
        const __mmask16 live = spryi_upto16(n - t);
        const __m512i from = _mm512_add_epi32(_mm512_maskz_loadu_epi32(live, y + t), by);
        const __mmask16 unlike = _mm512_mask_cmpneq_epi32_mask(live, _mm512_maskz_loadu_epi32(live, x + t), from);
        if (unlike) return t + __builtin_ctz(unlike);
    }
    return n;
}

/* Sets to[k] = from[k] + shift for n elements. Writes no other elements. */
static inline void spryi_move_32(int32_t *to, const int32_t *from, int64_t n, int32_t shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t k = 0; k < n; k += 16) {
        const __mmask16 live = spryi_upto16(n - k);
        _mm512_mask_storeu_epi32(to + k, live, _mm512_add_epi32(_mm512_maskz_loadu_epi32(live, from + k), by));
    }
}

/* Returns a mask of 64 bits. Bit c is set if byte c is not 0. */
static inline uint64_t spryi_bits_of(const unsigned char *bytes)
{
    const __m512i all = _mm512_loadu_si512(bytes);
    return _mm512_test_epi8_mask(all, all);
}

/*
 * Returns the first position among w, w + 64, ... at which 64 bytes are not all 0, or fewer than 64 bytes remain before
 * `end`.
 */
static inline int64_t spryi_skip_zeros(const unsigned char *bytes, int64_t w, int64_t end)
{
    while (w + 64 <= end && !_mm512_test_epi8_mask(_mm512_loadu_si512(bytes + w), _mm512_set1_epi8(1))) w += 64;
    return w;
}

#define SPRYI_BYTES 64
#define SPRYI_STREAM(to, from) _mm512_stream_si512((void *)(to), _mm512_loadu_si512(from))
#elif defined __AVX2__
#include <immintrin.h>

/* Returns the mask of the first n of 8 lanes, or of all lanes if n >= 8. The sign bit of an element is its mask. */
static inline __m256i spryi_upto8(int64_t n)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < 8 ? (int32_t)n : 8), lanes);
}

/* Returns the index of the first of n elements of x that differs from y plus `shift`, or n. */
static inline int64_t spryi_first_unlike(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    const __m256i by = _mm256_set1_epi32(shift);
    int64_t t = 0;
    for (; t + 8 <= n; t += 8) {
        const __m256i from = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(y + t)), by);
        const __m256i same = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(x + t)), from);
        const unsigned unlike = ~(unsigned)_mm256_movemask_epi8(same);
        if (unlike) return t + __builtin_ctz(unlike) / 4;
    }
    while (t < n && x[t] - y[t] == shift) t++;
    return t;
}

static inline bool spryi_are_moved_32(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    return spryi_first_unlike(x, y, n, shift) == n;
}

/* Sets to[k] = from[k] + shift for n elements. Writes no other elements. */
static inline void spryi_move_32(int32_t *to, const int32_t *from, int64_t n, int32_t shift)
{
    const __m256i by = _mm256_set1_epi32(shift);
    int64_t k = 0;
    for (; k < n && n >= 8; k += 8) {
        const int64_t at = k + 8 <= n ? k : n - 8; /* the last vector overlaps the vector before */
        const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(from + at));
        _mm256_storeu_si256((__m256i *)(void *)(to + at), _mm256_add_epi32(x, by));
    }
    for (; k < n; k++) to[k] = from[k] + shift;
}

#define SPRYI_BYTES 32
#define SPRYI_STREAM(to, from)                                                                                         \
    _mm256_stream_si256((__m256i *)(void *)(to), _mm256_loadu_si256((const __m256i *)(const void *)(from)))
#else
ARE_MOVED(spryi_are_moved_32, int32_t)
#endif

#ifndef __AVX512F__
static inline uint64_t spryi_bits_of(const unsigned char *bytes)
{
    uint64_t bits = 0, eight;
    for (int k = 0; k < 8; k++) {
        memcpy(&eight, bytes + 8 * k, sizeof eight);
        bits |= (eight * 0x0102040810204080u >> 56) << 8 * k;
    }
    return bits;
}

static inline int64_t spryi_skip_zeros(const unsigned char *bytes, int64_t w, int64_t end)
{
    (void)bytes;
    (void)end;
    return w; /* the caller tests 8 bytes at a time */
}
#endif
#undef ARE_MOVED

#ifdef SPRYI_BYTES
/* Copies bytes. streams: uses non-temporal stores, which do not first read the cache lines of `to`. */
static __attribute__((noinline, unused)) void spryi_stream(void *to, const void *from, int64_t bytes, bool streams)
{
    char *restrict t = to;
    const char *restrict f = from;
    const int64_t head = -(int64_t)(uintptr_t)t & 63;
    if (!streams || bytes < 1024) {
        memcpy(t, f, (size_t)bytes);
        return;
    }
    memcpy(t, f, (size_t)head);
    int64_t k = head;
    for (; k + SPRYI_BYTES <= bytes; k += SPRYI_BYTES) SPRYI_STREAM(t + k, f + k);
    memcpy(t + k, f + k, (size_t)(bytes - k));
}
#endif
