/* What rows are compared, looked through and copied with; plain loops, or 32 or 64 bytes at once. */
#pragma once

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "written for little-endian processors"
#endif

/* Which byte of eight, each 0 or 1, is the first that is set. */
static inline int spryi_first_byte(uint64_t bytes)
{
    return __builtin_ctzll(bytes) >> 3;
}

/* Entries 0 .. n-1 of x are those of y plus `shift`. */
#define SPRYI_ARE_MOVED(x, y, n, shift)                                                                                \
    _Generic(*(x), int32_t : spryi_are_moved_32, int64_t : spryi_are_moved_64)((x), (y), (n), (shift))

#define ARE_MOVED(name, type)                                                                                          \
    static inline int name(const type *x, const type *y, int64_t n, type shift)                                        \
    {                                                                                                                  \
        for (int64_t t = 0; t < n; t++)                                                                                \
            if (x[t] - y[t] != shift) return 0;                                                                        \
        return 1;                                                                                                      \
    }
ARE_MOVED(spryi_are_moved_64, int64_t)

#if defined __AVX512F__
#include <immintrin.h>

/* The first n lanes; all where there are more: _bzhi_u32 alone looks at n modulo 256. */
static inline __mmask16 spryi_upto16(int64_t n)
{
    return n < 16 ? (__mmask16)_bzhi_u32(0xffff, (unsigned)n) : (__mmask16)0xffff;
}

static inline int spryi_are_moved_32(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t t = 0; t < n; t += 16) {
        const __mmask16 here = n - t < 16 ? (__mmask16)((1u << (n - t)) - 1) : (__mmask16)0xffff;
        const __m512i from = _mm512_add_epi32(_mm512_maskz_loadu_epi32(here, y + t), by);
        if (_mm512_mask_cmpneq_epi32_mask(here, _mm512_maskz_loadu_epi32(here, x + t), from)) return 0;
    }
    return 1;
}

/* The first of n entries of x that is not that of y plus `shift`; n: there is none. */
static inline int64_t spryi_first_unlike(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t t = 0; t < n; t += 16) {
        const __mmask16 here = spryi_upto16(n - t);
        const __m512i from = _mm512_add_epi32(_mm512_maskz_loadu_epi32(here, y + t), by);
        const __mmask16 other = _mm512_mask_cmpneq_epi32_mask(here, _mm512_maskz_loadu_epi32(here, x + t), from);
        if (other) return t + __builtin_ctz(other);
    }
    return n;
}

/* to[k] = from[k] + shift for n entries, and no more. */
static inline void spryi_move_32(int32_t *to, const int32_t *from, int64_t n, int32_t shift)
{
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t k = 0; k < n; k += 16) {
        const __mmask16 here = spryi_upto16(n - k);
        _mm512_mask_storeu_epi32(to + k, here, _mm512_add_epi32(_mm512_maskz_loadu_epi32(here, from + k), by));
    }
}

/* Bit c is set where byte c of 64, each 0 or 1, is 1. */
static inline uint64_t spryi_bits_of(const unsigned char *bytes)
{
    const __m512i all = _mm512_loadu_si512(bytes);
    return _mm512_test_epi8_mask(all, all);
}

/* The first multiple of 64 from w on, itself one, where not all of the next 64 bytes, before `end`, are 0. */
static inline int64_t spryi_skip_zeros(const unsigned char *bytes, int64_t w, int64_t end)
{
    while (w + 64 <= end && !_mm512_test_epi8_mask(_mm512_loadu_si512(bytes + w), _mm512_set1_epi8(1))) w += 64;
    return w;
}

#define SPRYI_BYTES 64
#define SPRYI_STREAM(to, from) _mm512_stream_si512((void *)(to), _mm512_loadu_si512(from))
#elif defined __AVX2__
#include <immintrin.h>

/* The first n of 8 lanes, all of them where there are more: the sign tells. */
static inline __m256i spryi_upto8(int64_t n)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < 8 ? (int32_t)n : 8), lanes);
}

/* The first of n entries of x that is not that of y plus `shift`; n: there is none. */
static inline int64_t spryi_first_unlike(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    const __m256i by = _mm256_set1_epi32(shift);
    int64_t t = 0;
    for (; t + 8 <= n; t += 8) {
        const __m256i from = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(y + t)), by);
        const __m256i same = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(x + t)), from);
        const unsigned other = ~(unsigned)_mm256_movemask_epi8(same);
        if (other) return t + __builtin_ctz(other) / 4;
    }
    while (t < n && x[t] - y[t] == shift) t++;
    return t;
}

static inline int spryi_are_moved_32(const int32_t *x, const int32_t *y, int64_t n, int32_t shift)
{
    return spryi_first_unlike(x, y, n, shift) == n;
}

/* to[k] = from[k] + shift for n entries, and no more. */
static inline void spryi_move_32(int32_t *to, const int32_t *from, int64_t n, int32_t shift)
{
    const __m256i by = _mm256_set1_epi32(shift);
    int64_t k = 0;
    for (; k < n && n >= 8; k += 8) {
        const int64_t at = k + 8 <= n ? k : n - 8; /* the last ones with some before them */
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
    return w; /* the caller looks at 8 bytes at once */
}
#endif
#undef ARE_MOVED

#ifdef SPRYI_BYTES
/* Copies; past the caches, which would read the lines of `to` first, where it is not needed soon. */
static __attribute__((noinline, unused)) void spryi_stream(void *to, const void *from, int64_t bytes, int past_caches)
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
    for (; k + SPRYI_BYTES <= bytes; k += SPRYI_BYTES) SPRYI_STREAM(t + k, f + k);
    memcpy(t + k, f + k, (size_t)(bytes - k));
}
#endif
