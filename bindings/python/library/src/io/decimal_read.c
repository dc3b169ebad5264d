#include "io/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Digits of a number that can matter: a tie between two f64 has at most 767, then one more tells its side. */
enum { MOST_DIGITS = 800, MOST_EXPONENT = 1000000 };

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind the word in p..end, whatever its case; NULL if it is another. word is in lower case. */
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
    int64_t point = 0; /* digits behind the point that are in d->digits, minus those before it that are not */
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

/* The value as "digits e exponent": no decimal point, so no locale. A 1 stands for all digits past the last that
 * can matter on their own. */
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
    int64_t exponent = d->exponent - (digits > 19 ? digits - 19 : 0); /* d->exponent goes with 19 digits at most */
    if (more) {
        text[digits++] = '1';
        exponent--;
    }
    snprintf(text + digits, size - (size_t)digits, "e%lld", (long long)exponent);
}

/* By the C library; a float of type f32 is exact as a double. */
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
    /* The value lies between digits and digits + 1: 19 of them, so the sum does not overflow. */
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
