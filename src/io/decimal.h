/*
 * Conversion between decimal text and binary floating point, correctly rounded and independent of the locale.
 *
 * Reading: a number is at most 19 significant digits w and a power of ten q. The product of w and the first 128 bits of
 * 5^q decides how the number rounds (D. Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and
 * Experience 51 (8), 2021). A number with more digits is between w * 10^q and (w + 1) * 10^q, which usually round to
 * the same value. If they do not, strtod converts the digits, written without a decimal point so that the locale does
 * not matter.
 */
#pragma once

#include "spry/spry.h"

#include <stdint.h>
#include <string.h>

enum { SPRYI_FIRST_POWER = -342, SPRYI_LAST_POWER = 324 };
extern const uint64_t spryi_powers_of_five[SPRYI_LAST_POWER - SPRYI_FIRST_POWER + 1][2];

__extension__ typedef unsigned __int128 spryi_u128;

typedef struct spryi_decimal {
    uint64_t digits;  /* the first 19 significant digits */
    int64_t exponent; /* magnitude = digits * 10^exponent, plus less than 10^exponent if cut is 1 */
    int negative;
    int cut;                /* 1: there are more digits, and they are not all 0 */
    int integer;            /* the text has neither point nor exponent */
    int special;            /* 0, or 'i' for infinity, 'n' for not a number */
    const char *text, *end; /* the number's characters after its sign */
} spryi_decimal;

/*
 * Reads the number at the beginning of p..end. Returns the end of the number, or NULL if there is none. Accepts a sign,
 * digits with a decimal point at any place, and an exponent after e, E, d or D. Also accepts inf, infinity and nan in
 * upper or lower case.
 */
const char *spryi_decimal_scan(const char *p, const char *end, spryi_decimal *d);

double spryi_decimal_f64(const spryi_decimal *d);
float spryi_decimal_f32(const spryi_decimal *d);

/*
 * Largest number of characters that one call of a function below writes. The functions write the shortest digits that
 * read back as the same value, and no NUL. Each returns the end of the text.
 */
enum { SPRYI_NUMBER_CHARS = 32 };
char *spryi_decimal_write_f64(char *to, double value);
char *spryi_decimal_write_f32(char *to, float value);
char *spryi_decimal_write_i64(char *to, int64_t value);
/* Writes element k of an array of values of this type. */
char *spryi_decimal_write_value(char *to, const void *values, spry_type type, int64_t k);

/* ---- eight digits together ---------------------------------------------------------------------- */

/* Returns eight characters, the first in the lowest byte. */
static inline uint64_t spryi_load8(const char *p)
{
    uint64_t chars;
    memcpy(&chars, p, sizeof chars);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    chars = __builtin_bswap64(chars);
#endif
    return chars;
}

/* Converts characters to digits. spryi_not_digits returns the high bit of every byte that is not a digit. */
static inline uint64_t spryi_as_digits(uint64_t chars)
{
    return chars ^ 0x3030303030303030u;
}
static inline uint64_t spryi_not_digits(uint64_t digits)
{
    /*
     * Adding 0x76 sets the high bit of a byte of 10 or more. A carry only changes bytes after a byte that is not a
     * digit.
     */
    return ((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u;
}

/*
 * Returns the number that eight digits form. Joins the digits to pairs, the pairs to groups of four, and these to
 * eight.
 */
static inline uint64_t spryi_join_digits(uint64_t digits)
{
    const uint64_t mask = 0x000000ff000000ffu;
    digits = digits * 10 + (digits >> 8);
    return (((digits & mask) * (100 + (1000000ull << 32))) + (((digits >> 16) & mask) * (1 + (10000ull << 32)))) >> 32;
}

/* ---- digits * 10^exponent ---------------------------------------------------------------------- */

/* Constants of f64 and f32. */
typedef struct spryi_float_shape {
    int fraction_bits, bias, infinite_power;
    int least_exponent, most_exponent; /* exponents of ten; smaller exponents give 0, larger exponents infinity */
    int least_tie, most_tie;           /* exponents of ten between which a product may be half way between two floats */
} spryi_float_shape;

#define SPRYI_SHAPE_F64 ((spryi_float_shape){52, 1023, 0x7ff, -342, 308, -4, 23})
#define SPRYI_SHAPE_F32 ((spryi_float_shape){23, 127, 0xff, -65, 38, -17, 10})

/*
 * Returns the bits of the float that is nearest to digits * 10^exponent, with sign bit 0. Sets *sure to 0 if 128 bits
 * of the power do not decide the rounding.
 */
static inline uint64_t spryi_nearest_bits(uint64_t digits, int64_t exponent, spryi_float_shape shape, int *sure)
{
    const uint64_t infinity = (uint64_t)shape.infinite_power << shape.fraction_bits;
    if (digits == 0 || exponent < shape.least_exponent) return 0;
    if (exponent > shape.most_exponent) return infinity;

    int zeros = __builtin_clzll(digits);
    digits <<= zeros;
    const uint64_t *power = spryi_powers_of_five[exponent - SPRYI_FIRST_POWER];
    spryi_u128 product = (spryi_u128)digits * power[0];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    const uint64_t rest = UINT64_MAX >> (shape.fraction_bits + 3);
    if ((high & rest) == rest) { /* the lower half of the power may carry into the bits of the result */
        uint64_t more = (uint64_t)(((spryi_u128)digits * power[1]) >> 64);
        low += more;
        high += low < more;
        if (low == UINT64_MAX && (exponent < -27 || exponent > 55)) *sure = 0;
    }

    int top = (int)(high >> 63), shift = top + 64 - shape.fraction_bits - 3;
    uint64_t fraction = high >> shift;
    int binary = (int)((217706 * exponent) >> 16) + 63 + top - zeros + shape.bias; /* 217706/65536 ~ log2(10) */
    if (binary <= 0) {                                                             /* subnormal or zero */
        if (binary <= -63) return 0;
        fraction >>= 1 - binary;
        fraction += fraction & 1;
        return fraction >> 1; /* rounding up to the least normal number gives the correct bits */
    }
    if (low <= 1 && exponent >= shape.least_tie && exponent <= shape.most_tie && (fraction & 3) == 1 &&
        fraction << shift == high)
        fraction &= ~(uint64_t)1; /* half way: rounds to even */
    fraction += fraction & 1;
    fraction >>= 1;
    if (fraction >= (uint64_t)2 << shape.fraction_bits) {
        fraction = (uint64_t)1 << shape.fraction_bits;
        binary++;
    }
    if (binary >= shape.infinite_power) return infinity;
    fraction &= ~((uint64_t)1 << shape.fraction_bits);
    return fraction | (uint64_t)binary << shape.fraction_bits;
}

/*
 * Convert at most 19 digits, for inner loops. negative is 0 or 1. Return 0 if the result is undecided; *value may then
 * be wrong. There is no branch on the sign or on the number of digits, since both are unpredictable for random numbers
 * and a misprediction costs more than the product. (Clinger's method, which divides exactly if digits is below 2^53,
 * would cost a misprediction in files that mix numbers of 16 and 17 digits.)
 */
static inline int spryi_nearest_f64(uint64_t digits, int64_t exponent, int negative, double *value)
{
    int sure = 1;
    uint64_t bits;
    if (exponent == 0 && digits <= (uint64_t)1 << 53) { /* integers need no table */
        double whole = (double)digits;
        memcpy(&bits, &whole, sizeof bits);
    } else {
        bits = spryi_nearest_bits(digits, exponent, SPRYI_SHAPE_F64, &sure);
    }
    bits |= (uint64_t)(unsigned)negative << 63;
    memcpy(value, &bits, sizeof *value);
    return sure;
}

static inline int spryi_nearest_f32(uint64_t digits, int64_t exponent, int negative, float *value)
{
    int sure = 1;
    uint32_t bits = (uint32_t)spryi_nearest_bits(digits, exponent, SPRYI_SHAPE_F32, &sure);
    bits |= (uint32_t)negative << 31;
    memcpy(value, &bits, sizeof *value);
    return sure;
}
