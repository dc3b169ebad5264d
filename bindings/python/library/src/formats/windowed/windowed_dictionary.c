#include "formats/windowed/windowed_dictionary.h"

#include <string.h>

enum { INDEX_BITS = 14, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };
_Static_assert(1 << INDEX_BITS == SPRYI_WINDOWED_MOST_COLUMNS, "a key has room for an index");

void spryi_windowed_clear_columns(spryi_windowed_dictionary *d)
{
    for (int64_t n = 0; n < d->count; n++) d->table[d->slot[n]] = 0;
    d->count = 0;
}

/* A stable pass by the digit of the keys from bit `shift` on. */
static void sort_pass(const uint64_t *from, uint64_t *to, int64_t count, int shift)
{
    int32_t at[DIGITS + 1] = {0};
    for (int64_t n = 0; n < count; n++) at[(from[n] >> shift & (DIGITS - 1)) + 1]++;
    for (int digit = 0; digit < DIGITS; digit++) at[digit + 1] += at[digit];
    for (int64_t n = 0; n < count; n++) to[at[from[n] >> shift & (DIGITS - 1)]++] = from[n];
}

/* Keys: a column less the lowest one, of 48 bits at most, and its index. */
void spryi_windowed_sort_columns(spryi_windowed_dictionary *d)
{
    uint64_t *keys = d->keys[0], *other = d->keys[1], most = 0;
    int64_t low = INT64_MAX;
    for (int64_t n = 0; n < d->count; n++)
        if (d->column[n] < low) low = d->column[n];
    for (int64_t n = 0; n < d->count; n++) {
        keys[n] = (uint64_t)(d->column[n] - low) << INDEX_BITS | (uint64_t)n;
        most |= keys[n];
    }
    for (int shift = INDEX_BITS; shift < 64 && most >> shift != 0; shift += DIGIT_BITS) {
        sort_pass(keys, other, d->count, shift);
        uint64_t *const swap = keys;
        keys = other;
        other = swap;
    }
    for (int64_t n = 0; n < d->count; n++) {
        d->rising[n] = low + (int64_t)(keys[n] >> INDEX_BITS);
        d->number[keys[n] & (SPRYI_WINDOWED_MOST_COLUMNS - 1)] = (uint16_t)n;
    }
}
