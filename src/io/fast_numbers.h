/*
 * Fast reading of numbers in lines of text, with a mask or word by word. mtx_read.c describes both ways. The functions
 * are in a header so that they become part of a reader's loop.
 */
#pragma once

#include "base/element.h"
#include "io/decimal.h"
#include "io/text.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { MASKED_BYTES = 64 };

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

SPRYI_INLINE void store_index(void *array, int wide, int64_t k, uint64_t index)
{
    if (wide) {
        ((int64_t *)array)[k] = (int64_t)index;
    } else {
        ((int32_t *)array)[k] = (int32_t)index;
    }
}

SPRYI_INLINE int store_value(uint64_t digits, int64_t exponent, int negative, spry_type type, void *values, int64_t k)
{
    return type == SPRY_F64 ? spryi_nearest_f64(digits, exponent, negative, (double *)values + k)
                            : spryi_nearest_f32(digits, exponent, negative, (float *)values + k);
}

/* ---- with a mask ------------------------------------------------------------------------------- */

/*
 * mask_of_words inspects 64 characters and returns a mask in which bit c is set if p[c] is not a digit. not_digits_16
 * does this for 16 characters.
 */
#if defined(__SSE2__)
SPRYI_INLINE uint64_t not_digits_16(const char *p)
{
    const __m128i nine = _mm_set1_epi8(9);
    __m128i digits = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
    __m128i is_digit = _mm_cmpeq_epi8(_mm_max_epu8(digits, nine), nine);
    return (uint32_t)_mm_movemask_epi8(is_digit) ^ 0xffffu;
}
SPRYI_INLINE uint64_t mask_of_words(const char *p)
{
    return not_digits_16(p) | not_digits_16(p + 16) << 16 | not_digits_16(p + 32) << 32 | not_digits_16(p + 48) << 48;
}
#else
SPRYI_INLINE uint64_t mask_of_words(const char *p)
{
    uint64_t mask = 0;
    for (int c = 0; c < MASKED_BYTES; c += 8) {
        uint64_t digits = spryi_as_digits(spryi_load8(p + c));
        uint64_t high = (((digits & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | digits) & 0x8080808080808080u;
        mask |= ((high >> 7) * 0x0102040810204080u >> 56) << c;
    }
    return mask;
}
#endif

/* Returns the number that the first `count` digits at p form. count: 0 to 7. */
SPRYI_INLINE uint64_t some_digits(const char *p, unsigned count)
{
    return spryi_join_digits(spryi_as_digits(spryi_load8(p)) << (56 - 8 * count) << 8);
}

/* Returns the number that the first `count` digits at p form. count: 1 to 8. */
SPRYI_INLINE uint64_t one_to_eight_digits(const char *p, unsigned count)
{
    return spryi_join_digits(spryi_as_digits(spryi_load8(p)) << (64 - 8 * count));
}

SPRYI_INLINE uint64_t eight_digits(const char *p)
{
    return spryi_join_digits(spryi_as_digits(spryi_load8(p)));
}

/*
 * Returns the number that the first `count` digits at p form. count: at most 19. Reads count % 8 digits first and then
 * full groups of eight, so that no factor depends on count.
 */
SPRYI_INLINE uint64_t up_to_19_digits(const char *p, unsigned count)
{
    const uint64_t e8 = 100000000;
    if (LIKELY(count >= 16)) {
        unsigned odd = count - 16;
        return (some_digits(p, odd) * e8 + eight_digits(p + odd)) * e8 + eight_digits(p + odd + 8);
    }
    if (count >= 8) {
        unsigned odd = count - 8;
        return some_digits(p, odd) * e8 + eight_digits(p + odd);
    }
    return some_digits(p, count);
}

/* clang-format off */
static const uint64_t powers_of_ten[20] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
    1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
    1000000000000000000, 10000000000000000000u,
};
/* clang-format on */

/* FIRST: position of the first character that is not a digit. DROP_FIRST removes the bit of that character. */
#define FIRST(mask) ((unsigned)__builtin_ctzll(mask))
#define DROP_FIRST(mask) ((mask) & ((mask)-1))

/*
 * Returns the exponent after the e at p + at, the position of the first bit of *mask. Removes the bits of the e and of
 * a sign from *mask. Sets *mask to 0 if the form of the exponent is unusual.
 */
SPRYI_INLINE int64_t masked_exponent(const char *p, unsigned at, uint64_t *mask)
{
    uint64_t rest = DROP_FIRST(*mask);
    int minus = p[at + 1] == '-', sign = minus || p[at + 1] == '+';
    if (sign && rest) rest = DROP_FIRST(rest);
    unsigned begin = at + 1 + (unsigned)sign, count = rest ? FIRST(rest) - begin : 0;
    *mask = count >= 1 && count <= 4 ? rest : 0;
    int64_t exponent = (int64_t)some_digits(p + begin, count <= 4 ? count : 0);
    return minus ? -exponent : exponent;
}

/*
 * Reads the value at p if array is 1, else the value after the blank at the first bit of mask. Returns the end of the
 * value, or 0 if its form is unusual. If the mask shows that the character after the blank is not a digit, that
 * character is the sign. A search for '-' would make the next line wait for a load.
 */
SPRYI_INLINE unsigned masked_value(const char *p, int array, uint64_t mask, int integer, spry_type type, void *values,
                                   int64_t k)
{
    uint64_t blank = array ? 0 : mask & (0 - mask), sign_place = array ? 1 : blank << 1, sign = mask & sign_place;
    unsigned at = array ? 0 : FIRST(mask) + 1, negative = (unsigned)(mask >> (at & 63)) & 1;
    mask ^= blank | sign;
    if (!mask) return 0;
    if (negative & (unsigned)(p[at] != '-')) return 0; /* rarely taken; the sign itself needs no branch */
    at += negative;
    unsigned end = FIRST(mask), whole = end - at, behind = 0;
    if (whole == 0 || whole > 8) return 0;
    uint64_t digits = whole == 1 ? (uint64_t)(p[at] - '0') : one_to_eight_digits(p + at, whole);
    int64_t exponent = 0;
    if (LIKELY(p[end] == '.')) {
        unsigned point = end;
        mask = DROP_FIRST(mask);
        if (!mask || integer) return 0;
        end = FIRST(mask);
        behind = end - point - 1;
        if (behind + whole - (digits == 0) > 19 || behind > 19) return 0;
        digits = digits * powers_of_ten[behind] + up_to_19_digits(p + point + 1, behind);
    }
    if (p[end] != '\n' && ((p[end] | 0x20) == 'e' || (p[end] | 0x20) == 'd')) {
        if (integer) return 0;
        exponent = masked_exponent(p, end, &mask);
        if (!mask) return 0;
        end = FIRST(mask);
    }
    return store_value(digits, exponent - (int64_t)behind, (int)negative, type, values, k) ? end : 0;
}

/* ---- word by word ------------------------------------------------------------------------------ */

/* Reads up to 15 digits. Returns NULL if there is no digit at p, or more than 15. */
static inline const char *fast_index(const char *p, uint64_t *index)
{
    uint64_t digits = spryi_as_digits(spryi_load8(p)), stop = spryi_not_digits(digits);
    if (__builtin_expect(stop != 0, 1)) {
        unsigned bits = (unsigned)__builtin_ctzll(stop) & ~7u;
        if (bits == 0) return NULL;
        *index = spryi_join_digits(digits << (64 - bits));
        return p + (bits >> 3);
    }
    uint64_t value = spryi_join_digits(digits);
    for (int k = 8; k < 16; k++) {
        unsigned digit = (unsigned char)p[k] - (unsigned)'0';
        if (digit > 9) {
            *index = value;
            return p + k;
        }
        value = value * 10 + digit;
    }
    return NULL;
}

static inline const char *fast_blanks(const char *p)
{
    if (*p != ' ' && *p != '\t') return NULL;
    p++;
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/*
 * Appends the digits at p to *value and adds their number to *count. Loads eight characters at a time, which may go
 * past the digits.
 */
static inline const char *fast_digits(const char *p, uint64_t *value, int *count)
{
    for (;;) {
        uint64_t digits = spryi_as_digits(spryi_load8(p)), stop = spryi_not_digits(digits);
        if (stop != 0) {
            unsigned bits = (unsigned)__builtin_ctzll(stop) & ~7u;
            if (bits == 0) return p;
            *value = *value * powers_of_ten[bits >> 3] + spryi_join_digits(digits << (64 - bits));
            *count += (int)(bits >> 3);
            return p + (bits >> 3);
        }
        *value = *value * 100000000 + spryi_join_digits(digits);
        *count += 8;
        p += 8;
        if (*count > 32) return p; /* too many: the caller checks the count */
    }
}

/* Reads a number of at most 19 digits to values[k]. Returns its end, or NULL if its form is unusual. */
static inline const char *fast_value(const char *p, int integer, spry_type type, void *values, int64_t k)
{
    uint64_t digits = 0;
    int count = 0, negative = *p == '-';
    int64_t exponent = 0;
    p += negative;
    const char *begin = p;
    unsigned first = (unsigned char)*p - (unsigned)'0';
    if (first <= 9 && p[1] == '.') { /* the most frequent form */
        digits = first;
        count = first != 0;
        p++;
    } else {
        p = fast_digits(p, &digits, &count);
    }
    if (*p == '.') {
        int before = count;
        p = fast_digits(p + 1, &digits, &count);
        exponent = before - count;
        if (integer || p == begin + 1) return NULL;
    } else if (p == begin) {
        return NULL;
    }
    if (count > 19) return NULL;
    if ((*p | 0x20) == 'e' || (*p | 0x20) == 'd') {
        if (integer) return NULL;
        p++;
        int minus = *p == '-';
        p += minus || *p == '+';
        int written = 0, length = 0;
        for (; (unsigned char)*p - (unsigned)'0' <= 9; p++, length++) {
            if (length == 5) return NULL;
            written = written * 10 + (*p - '0');
        }
        if (length == 0) return NULL;
        exponent += minus ? -written : written;
    }
    return store_value(digits, exponent, negative, type, values, k) ? p : NULL;
}

/*
 * Returns the last start of a line in the block (or its end) such that `ahead` bytes can be loaded from the start of
 * every earlier line.
 */
static inline const char *last_line_start(const spryi_block *block, int64_t ahead)
{
    const char *end = block->end;
    if (block->loadable - end < ahead)
        end = block->loadable - block->text > ahead ? block->loadable - ahead : block->text;
    while (end > block->text && end[-1] != '\n') end--;
    return end;
}
