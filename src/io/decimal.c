/* Decimal numbers: exact reading and shortest writing. */
#include "io/decimal.h"

#include "base/element.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- reading ----------------------------------------------------------------------------------------- */

/*
 * MOST_DIGITS: more significant digits do not affect the rounding. A value half way between two f64 has at most 767
 * digits, and one more digit decides.
 */
enum { MOST_DIGITS = 800, MOST_EXPONENT = 1000000 };

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/*
 * Returns the end of `word` in p..end if the text begins with it, in upper or lower case, else NULL. word is in lower
 * case.
 */
static const char *match(const char *p, const char *end, const char *word)
{
    for (; *word != '\0'; word++, p++)
        if (p == end || (*p | 0x20) != *word) return NULL;
    return p;
}

static const char *scan_special(const char *p, const char *end, spryi_decimal *d)
{
    const char *stop;
    if ((stop = match(p, end, "infinity")) || (stop = match(p, end, "inf"))) {
        d->special = 'i';
    } else if ((stop = match(p, end, "nan"))) {
        d->special = 'n';
    }
    d->end = stop;
    d->integer = 0;
    return stop;
}

const char *spryi_decimal_scan(const char *p, const char *end, spryi_decimal *d)
{
    *d = (spryi_decimal){.integer = 1};
    if (p < end && (*p == '-' || *p == '+')) d->negative = *p++ == '-';
    d->text = p;
    int any = 0, significant = 0;
    int64_t point = 0; /* digits after the point that d->digits has, minus digits before the point that it lacks */
    for (int behind = 0; p < end; p++) {
        if (*p == '.' && !behind) {
            behind = 1;
            d->integer = 0;
            continue;
        }
        if (!is_digit(*p)) break;
        any = 1;
        if (significant < 19) {
            d->digits = d->digits * 10 + (uint64_t)(*p - '0');
            significant += d->digits != 0;
            point += behind;
        } else {
            d->cut |= *p != '0';
            point -= !behind;
        }
    }
    if (!any) return d->integer ? scan_special(d->text, end, d) : NULL;
    d->end = p;
    d->exponent = -point;
    if (p == end || (*p != 'e' && *p != 'E' && *p != 'd' && *p != 'D')) return p;

    p++;
    d->integer = 0;
    int negative = 0;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p == end || !is_digit(*p)) return NULL;
    int64_t exponent = 0;
    for (; p < end && is_digit(*p); p++)
        if (exponent < MOST_EXPONENT) exponent = exponent * 10 + (*p - '0');
    d->exponent += negative ? -exponent : exponent;
    return p;
}

/*
 * Writes the number as "digits e exponent", a text without a decimal point that reads the same in every locale. If
 * digits after the first MOST_DIGITS are not all 0, a single 1 stands for them.
 */
static void spell(const spryi_decimal *d, char *text, size_t size)
{
    int digits = 0, more = 0;
    for (const char *p = d->text; p < d->end; p++) {
        if (!is_digit(*p) || (digits == 0 && *p == '0')) continue;
        if (digits < MOST_DIGITS) {
            text[digits++] = *p;
        } else {
            more |= *p != '0';
        }
    }
    int64_t exponent = d->exponent - (digits > 19 ? digits - 19 : 0); /* d->exponent belongs to the first 19 digits */
    if (more) {
        text[digits++] = '1';
        exponent--;
    }
    snprintf(text + digits, size - (size_t)digits, "e%lld", (long long)exponent);
}

/* Converts with the C library. If type is f32, the result is an f32 value in a double. */
static double undecided(const spryi_decimal *d, spry_type type)
{
    char text[MOST_DIGITS + 40];
    spell(d, text, sizeof text);
    int saved = errno;
    double value = type == SPRY_F64 ? strtod(text, NULL) : (double)strtof(text, NULL);
    errno = saved;
    return d->negative ? -value : value;
}

static double special(const spryi_decimal *d)
{
    double value = d->special == 'i' ? INFINITY : NAN;
    return d->negative ? -value : value;
}

double spryi_decimal_f64(const spryi_decimal *d)
{
    if (d->special) return special(d);
    double value, next;
    if (!spryi_nearest_f64(d->digits, d->exponent, d->negative, &value)) return undecided(d, SPRY_F64);
    if (!d->cut) return value;
    /* The value is between digits and digits + 1. digits has 19 digits, so the sum does not overflow. */
    if (!spryi_nearest_f64(d->digits + 1, d->exponent, d->negative, &next) || next != value)
        return undecided(d, SPRY_F64);
    return value;
}

float spryi_decimal_f32(const spryi_decimal *d)
{
    if (d->special) return (float)special(d);
    float value, next;
    if (!spryi_nearest_f32(d->digits, d->exponent, d->negative, &value)) return (float)undecided(d, SPRY_F32);
    if (!d->cut) return value;
    if (!spryi_nearest_f32(d->digits + 1, d->exponent, d->negative, &next) || next != value)
        return (float)undecided(d, SPRY_F32);
    return value;
}

/* ---- writing ----------------------------------------------------------------------------------------- */

/*
 * The shortest decimal that reads back as the same binary number. If multiple decimals are equally short, the nearest
 * one. Source: R. Giulietti, The Schubfach Way to Render Doubles, 2020. A power of ten scales the interval of decimals
 * that round to the value. The scaled interval contains at least one integer but few multiples of ten. Products are
 * rounded to odd, so that they compare like exact products.
 */
typedef struct shortest {
    uint64_t digits;
    int exponent; /* value = digits * 10^exponent */
} shortest;

/*
 * The functions return floor(e * log10(2)), floor(log10(3/4 * 2^e)) and floor(e * log2(10)), exactly for all exponents
 * of f64.
 */
static int floor_log10_pow2(int e)
{
    return (int)((e * INT64_C(661971961083)) >> 41);
}
static int floor_log10_three_quarters_pow2(int e)
{
    return (int)((e * INT64_C(661971961083) - INT64_C(274743187321)) >> 41);
}
static int floor_log2_pow10(int e)
{
    return (int)((e * INT64_C(913124641741)) >> 38);
}

/* Returns the first 126 bits of 10^power, truncated, plus 1. */
static spryi_u128 scaled_power(int power)
{
    const uint64_t *bits = spryi_powers_of_five[power - SPRYI_FIRST_POWER];
    spryi_u128 wide = (spryi_u128)bits[0] << 64 | bits[1];
    if (power < 0 && power >= -27) wide--; /* truncates: the table rounds these powers up */
    return (wide >> 2) + 1;
}

/* Returns g * count / 2^127, rounded to odd. The error of g is smaller than the lowest bit that is used. */
static uint64_t round_to_odd(spryi_u128 g, uint64_t count)
{
    spryi_u128 low = (spryi_u128)(uint64_t)g * count;
    spryi_u128 high = (spryi_u128)(uint64_t)(g >> 64) * count + (uint64_t)(low >> 64);
    uint64_t rest = (uint64_t)high & (UINT64_MAX >> 1);
    return (uint64_t)(high >> 63) | (rest != 0);
}

/*
 * Finds the shortest decimal for fraction * 2^exponent. narrow_below: the next smaller float is half as far away as the
 * next larger float.
 */
static shortest find_shortest(uint64_t fraction, int exponent, int narrow_below)
{
    int k = narrow_below ? floor_log10_three_quarters_pow2(exponent) : floor_log10_pow2(exponent);
    int shift = exponent + floor_log2_pow10(-k) + 2;
    spryi_u128 g = scaled_power(-k);
    uint64_t odd = fraction & 1; /* the interval of an odd fraction excludes its ends */
    uint64_t middle = round_to_odd(g, (4 * fraction) << shift);
    uint64_t lower = round_to_odd(g, (4 * fraction - (narrow_below ? 1 : 2)) << shift) + odd;
    uint64_t upper = round_to_odd(g, (4 * fraction + 2) << shift) - odd;

    uint64_t below = middle / 4;
    if (below >= 10) {
        uint64_t tens = below / 10;
        int low_inside = lower <= 40 * tens, high_inside = 40 * tens + 40 <= upper;
        if (low_inside != high_inside) return (shortest){tens + (uint64_t)high_inside, k + 1};
    }
    int low_inside = lower <= 4 * below, high_inside = 4 * below + 4 <= upper;
    if (low_inside != high_inside) return (shortest){below + (uint64_t)high_inside, k};
    uint64_t half = 4 * below + 2;
    int up = middle > half || (middle == half && (below & 1));
    return (shortest){below + (uint64_t)up, k};
}

static char *write_digits(char *to, uint64_t value)
{
    static const char pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                   "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                   "8081828384858687888990919293949596979899";
    char text[20], *p = text + sizeof text;
    while (value >= 100) {
        p -= 2;
        memcpy(p, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        p -= 2;
        memcpy(p, pairs + value * 2, 2);
    } else {
        *--p = (char)('0' + value);
    }
    size_t length = (size_t)(text + sizeof text - p);
    memcpy(to, p, length);
    return to + length;
}

char *spryi_decimal_write_i64(char *to, int64_t value)
{
    if (value < 0) *to++ = '-';
    return write_digits(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Writes the number without an exponent if that is short, else as d.ddde-dd. */
static char *write_decimal(char *to, shortest s)
{
    while (s.digits % 10 == 0) {
        s.digits /= 10;
        s.exponent++;
    }
    char text[20];
    int count = (int)(write_digits(text, s.digits) - text), leading = count + s.exponent - 1;
    if (leading < -5 || leading > 16) {
        *to++ = text[0];
        if (count > 1) {
            *to++ = '.';
            memcpy(to, text + 1, (size_t)count - 1);
            to += count - 1;
        }
        *to++ = 'e';
        *to++ = leading < 0 ? '-' : '+';
        return write_digits(to, (uint64_t)(leading < 0 ? -leading : leading));
    }
    if (leading < 0) {
        memcpy(to, "0.0000", 6);
        to += 1 - leading;
        memcpy(to, text, (size_t)count);
        return to + count;
    }
    int whole = leading + 1, shown = whole < count ? whole : count;
    memcpy(to, text, (size_t)shown);
    to += shown;
    for (; shown < whole; shown++) *to++ = '0';
    if (whole < count) {
        *to++ = '.';
        memcpy(to, text + whole, (size_t)(count - whole));
        to += count - whole;
    }
    return to;
}

static char *write_word(char *to, const char *word)
{
    memcpy(to, word, 3);
    return to + 3;
}

/* biased: exponent field; fraction_bits and bias as in spryi_float_shape. */
static char *write_float(char *to, int negative, int biased, uint64_t fraction, spryi_float_shape shape)
{
    if (negative) *to++ = '-';
    if (biased == shape.infinite_power) return write_word(to, fraction ? "nan" : "inf");
    if (biased == 0 && fraction == 0) {
        *to++ = '0';
        return to;
    }
    int narrow_below = fraction == 0 && biased > 1, least = 1 - shape.bias - shape.fraction_bits;
    int exponent = biased == 0 ? least : least + biased - 1;
    if (biased > 0) fraction |= (uint64_t)1 << shape.fraction_bits;
    if (exponent <= 0 && exponent >= -shape.fraction_bits &&
        (fraction & (((uint64_t)1 << -exponent) - 1)) == 0) /* an integer */
        return write_digits(to, fraction >> -exponent);
    return write_decimal(to, find_shortest(fraction, exponent, narrow_below));
}

char *spryi_decimal_write_f64(char *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return write_float(to, (int)(bits >> 63), (int)(bits >> 52 & 0x7ff), bits & (((uint64_t)1 << 52) - 1),
                       SPRYI_SHAPE_F64);
}

char *spryi_decimal_write_f32(char *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return write_float(to, (int)(bits >> 31), (int)(bits >> 23 & 0xff), bits & ((1u << 23) - 1), SPRYI_SHAPE_F32);
}

char *spryi_decimal_write_value(char *to, const void *values, spry_type type, int64_t k)
{
    return type == SPRY_F64 ? spryi_decimal_write_f64(to, ((const double *)values)[k])
                            : spryi_decimal_write_f32(to, (float)spryi_value_at(values, type, k));
}
