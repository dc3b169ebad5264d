/* One line with care: every form that is legal, and for every other one what is wrong with it. */
#include "base/error.h"
#include "io/decimal.h"
#include "io/mtx.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *spryi_line_end(const char *p, const char *end)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return newline ? newline : end;
}

spryi_shown spryi_mtx_show(const char *p, const char *end)
{
    spryi_shown shown;
    const spryi_word w = spryi_next_word(&p, end);
    if (w.p == w.end) {
        snprintf(shown.text, sizeof shown.text, "the end of the line");
        return shown;
    }
    char *to = shown.text, *last = shown.text + sizeof shown.text - 10;
    *to++ = '\'';
    const char *c = w.p;
    for (; c < w.end && to < last; c++) {
        if (*c > ' ' && *c <= '~') {
            *to++ = *c;
        } else {
            to += snprintf(to, 5, "\\x%02x", (unsigned)(unsigned char)*c);
        }
    }
    snprintf(to, 5, c < w.end ? "...'" : "'");
    return shown;
}

spryi_line spryi_bad_line(spryi_fault *fault, const char *format, ...)
{
    if (fault) {
        va_list list;
        va_start(list, format);
        (void)spryi_write_list(fault->text, sizeof fault->text, format, list);
        va_end(list);
    }
    return SPRYI_LINE_BAD;
}

/* A whole word as an index from 1 to limit. Returns behind it, NULL when it is none. */
static const char *read_index(const char *p, const char *end, int64_t limit, const char *what, int64_t *index,
                              spryi_fault *fault)
{
    const spryi_word w = spryi_next_word(&p, end);
    const int shown = w.end - w.p > 40 ? 40 : (int)(w.end - w.p);
    const char sign = w.p == w.end ? '0' : w.p[0], *digits = w.p + (sign == '-' || sign == '+');
    int64_t value;
    int past;
    const char *stop = spryi_read_digits(digits, w.end, &value, &past);
    if (stop == digits || stop < w.end) {
        (void)spryi_bad_line(fault, "expected a %s index, found %s", what, spryi_mtx_show(w.p, w.end).text);
        return NULL;
    }
    if (sign == '-' || (value == 0 && !past)) {
        (void)spryi_bad_line(fault, "%s index %.*s is below 1, the first %s", what, shown, w.p, what);
        return NULL;
    }
    if (past || value > limit) {
        (void)spryi_bad_line(fault, "%s index %.*s is past the last %s %lld", what, shown, w.p, what, (long long)limit);
        return NULL;
    }
    *index = value - 1;
    return stop;
}

static const char *read_value(const spryi_mtx *head, const char *p, const char *end, spryi_entry *entry,
                              spryi_fault *fault)
{
    const spryi_word w = spryi_next_word(&p, end);
    spryi_decimal d;
    int integer = head->field == SPRYI_INTEGER;
    if (w.p == w.end || spryi_decimal_scan(w.p, w.end, &d) != w.end) {
        (void)spryi_bad_line(fault, "expected %s, found %s", integer ? "an integer" : "a number",
                             spryi_mtx_show(w.p, w.end).text);
        return NULL;
    }
    if (integer && !d.integer) {
        (void)spryi_bad_line(fault, "expected an integer, as the banner says, found %s",
                             spryi_mtx_show(w.p, w.end).text);
        return NULL;
    }
    entry->f64 = spryi_decimal_f64(&d);
    entry->f32 = spryi_decimal_f32(&d);
    return p;
}

spryi_line spryi_mtx_line(const spryi_mtx *head, const char *p, const char *end, spryi_entry *entry, spryi_fault *fault)
{
    const char *start = p;
    while (start < end && spryi_is_blank(*start)) start++;
    if (start < end && *start == '%') return SPRYI_LINE_EMPTY;
    if (end - p > SPRYI_LINE_BYTES)
        return spryi_bad_line(fault, "the line has more than %d characters, the format allows 1024", SPRYI_LINE_BYTES);
    if (start == end) return SPRYI_LINE_EMPTY;
    p = start;
    *entry = (spryi_entry){0};
    if (!head->array) {
        p = read_index(p, end, head->m, "row", &entry->i, fault);
        if (!p) return SPRYI_LINE_BAD;
        p = read_index(p, end, head->n, "column", &entry->j, fault);
        if (!p) return SPRYI_LINE_BAD;
    }
    if (head->field != SPRYI_FIELD_PATTERN) {
        p = read_value(head, p, end, entry, fault);
        if (!p) return SPRYI_LINE_BAD;
    }
    if (spryi_next_word(&(const char *){p}, end).p < end)
        return spryi_bad_line(fault, "expected the end of the line after the %s, found %s",
                              head->field == SPRYI_FIELD_PATTERN ? "column index" : "value",
                              spryi_mtx_show(p, end).text);
    if (!head->array && head->symmetry == SPRY_SKEW_SYMMETRIC && entry->i == entry->j && !(entry->f64 == 0))
        return spryi_bad_line(fault, "diagonal entry (%lld, %lld) is %g, but a skew-symmetric matrix has zeros there",
                              (long long)entry->i + 1, (long long)entry->j + 1, entry->f64);
    return SPRYI_LINE_ENTRY;
}
