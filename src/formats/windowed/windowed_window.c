/* Windows of windowed: cut, sorted, and stored slice by slice; steps 5 and 6 of windowed_layout.h. */
#include "formats/windowed/windowed_window.h"
#include "base/element.h"

#include <string.h>

enum { INDEX_BITS = 14, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };
_Static_assert(1 << INDEX_BITS == SPRYI_WINDOWED_MOST_COLUMNS, "a key has room for an index");

/* The slot of column j, or the free one where it belongs. */
static inline int64_t slot_of(const spryi_windowed_dictionary *d, int64_t j)
{
    const int64_t last = (1 << SPRYI_WINDOWED_TABLE_BITS) - 1;
    int64_t at = (int64_t)((uint64_t)j * 0x9E3779B97F4A7C15u >> (64 - SPRYI_WINDOWED_TABLE_BITS));
    while (d->table[at] != 0 && d->column[d->table[at] - 1] != j) at = (at + 1) & last;
    return at;
}

/* Column j is one of them; there are less than SPRYI_WINDOWED_MOST_COLUMNS before. */
static inline void add_column(spryi_windowed_dictionary *d, int64_t j)
{
    const int64_t at = slot_of(d, j);
    if (d->table[at] != 0) return;
    d->column[d->count] = j;
    d->slot[d->count++] = (uint16_t)at;
    d->table[at] = (uint16_t)d->count;
}

/* The number of column j, which is there; they have been sorted. */
static inline uint16_t number_of(const spryi_windowed_dictionary *d, int64_t j)
{
    return d->number[d->table[slot_of(d, j)] - 1];
}

/* Forgets all columns. */
static void clear_columns(spryi_windowed_dictionary *d)
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

/* Fills in rising and number. Keys: a column less the lowest one, of 48 bits at most, and its index. */
static void sort_columns(spryi_windowed_dictionary *d)
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

/* ---- windows ------------------------------------------------------------------------------------- */

/* A slice before it is stored. Lengths are in runs. */
typedef struct slice_draft {
    int64_t row[SPRYI_WINDOWED_LANES]; /* -1: none */
    int length[SPRYI_WINDOWED_LANES];
    int group[SPRYI_WINDOWED_LANES];          /* of a lane */
    int first_lane[SPRYI_WINDOWED_LANES + 1]; /* of a group */
    int groups, width, whole, bits;
    int64_t run, stride, entries;
} slice_draft;

/* The rows of lanes 32*k and on of the window, and their groups. */
static void draft_slice(slice_draft *n, const spryi_windowed_pass *pass, const spryi_windowed_scratch *scratch,
                        int from, int rows)
{
    uint32_t leader = SPRYI_WINDOWED_NO_ROW;
    n->groups = 0;
    n->entries = 0;
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) {
        const int is_row = from + l < rows;
        n->row[l] = is_row ? (int64_t)scratch->row[from + l] : -1;
        n->length[l] = is_row ? scratch->length[from + l] : 0;
        n->entries += n->length[l] * n->run;
        const uint32_t own = is_row ? pass->order->leader[n->row[l]] : SPRYI_WINDOWED_NO_ROW;
        if (l == 0 || own != leader) n->first_lane[n->groups++] = l;
        leader = own;
        n->group[l] = n->groups - 1;
    }
    n->first_lane[n->groups] = SPRYI_WINDOWED_LANES;
    n->width = n->length[0];
    n->whole = n->length[SPRYI_WINDOWED_LANES - 1];
}

/* Groups that have word q. They are the first ones. */
static int groups_with_word(const slice_draft *n, int64_t q)
{
    int count = 0;
    while (count < n->groups && (int64_t)n->length[n->first_lane[count]] * n->bits > 32 * q) count++;
    return count;
}

static int64_t index_bytes(const slice_draft *n)
{
    int64_t words = 0;
    for (int g = 0; g < n->groups; g++) words += spryi_windowed_words(n->length[n->first_lane[g]], n->bits);
    return spryi_windowed_head_bytes(n->groups) + 4 * words;
}

/* The head of the slice's indices; returns where its words begin. */
static uint32_t *store_head(const slice_draft *n, uint8_t *to)
{
    if (n->groups < SPRYI_WINDOWED_LANES) {
        for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) to[l] = (uint8_t)n->group[l];
        to += SPRYI_WINDOWED_LANES;
    }
    for (int g = 0; g < n->groups; g++) ((uint16_t *)(void *)to)[g] = (uint16_t)n->length[n->first_lane[g]];
    return (uint32_t *)(void *)(to + (n->groups + 1) / 2 * 4);
}

/* The window's record and pages, of columns that are sorted. Returns the pages. */
static int64_t store_dictionary(const spryi_windowed_pass *pass, const int64_t *columns, int64_t count, int64_t run,
                                const spryi_windowed_counts *at)
{
    spryi_windowed *s = pass->s;
    int64_t pages = 0, high = -1;
    if (pass->stores)
        s->windows[at->windows] =
            (spryi_windowed_window){.slice = (uint32_t)at->slices,
                                    .dictionary = (uint32_t)(at->numbers / SPRYI_WINDOWED_DICTIONARY),
                                    .page = (uint32_t)at->pages,
                                    .columns = (uint16_t)count,
                                    .run = (uint8_t)run,
                                    .bits = (uint8_t)spryi_windowed_bits(run, count)};
    for (int64_t d = 0; d < count; d++) {
        if (columns[d] >> SPRYI_WINDOWED_PAGE_BITS != high) {
            high = columns[d] >> SPRYI_WINDOWED_PAGE_BITS;
            if (pass->stores) s->pages[at->pages + pages] = (spryi_windowed_page){(uint32_t)d, (uint32_t)high};
            pages++;
        }
        if (pass->stores) s->dictionary[at->numbers + d] = (uint16_t)columns[d];
    }
    for (int64_t d = count; pass->stores && d % SPRYI_WINDOWED_DICTIONARY != 0; d++) s->dictionary[at->numbers + d] = 0;
    return pages;
}

/* The first column of run t of the row whose entries begin at `begin`. */
static inline int64_t run_start(const spry_arrays *csr, int64_t begin, int64_t t, int64_t run, int64_t stride)
{
    return spryi_minor_of(csr, begin + (stride == 1 ? t * run : t));
}

/* 1: scratch->columns has the runs that these rows meet; 0: they are more than `most`, and it has some. */
static int find_columns(const spryi_windowed_pass *pass, spryi_windowed_scratch *scratch, int64_t first, int64_t end,
                        int64_t run, int64_t most)
{
    const spry_arrays *csr = pass->csr;
    const int64_t stride = run > 1 ? pass->s->stride : 1;
    clear_columns(&scratch->columns);
    for (int64_t p = first; p < end; p++) {
        const int64_t row = pass->order->row[p];
        if (p > first && pass->order->leader[row] == pass->order->leader[pass->order->row[p - 1]]) continue;
        const int64_t begin = spryi_offset_of(csr, row), runs = spryi_row_length(csr, row) / run;
        for (int64_t t = 0; t < runs; t++) add_column(&scratch->columns, run_start(csr, begin, t, run, stride));
        if (scratch->columns.count > most) return 0;
    }
    return 1;
}

/* Rows by falling length, stably. */
static void sort_rows(const spryi_windowed_pass *pass, spryi_windowed_scratch *scratch, int64_t first, int64_t end,
                      int64_t run)
{
    int32_t at[SPRYI_WINDOWED_LONG + 2] = {0}; /* where rows of LONG - n entries begin */
    for (int64_t p = first; p < end; p++) {
        const int64_t row = pass->order->row[p];
        at[SPRYI_WINDOWED_LONG - spryi_row_length(pass->csr, row) + 1]++;
    }
    for (int n = 0; n <= SPRYI_WINDOWED_LONG; n++) at[n + 1] += at[n];
    for (int64_t p = first; p < end; p++) {
        const int64_t row = pass->order->row[p], length = spryi_row_length(pass->csr, row);
        const int32_t to = at[SPRYI_WINDOWED_LONG - length]++;
        scratch->row[to] = (uint32_t)row;
        scratch->length[to] = (uint16_t)(length / run);
    }
}

static void store_words(const slice_draft *n, const spryi_windowed_pass *pass, const spryi_windowed_dictionary *columns,
                        uint32_t *to)
{
    const int64_t words = spryi_windowed_words(n->width, n->bits);
    for (int64_t q = 0; q < words; q++) {
        const int count = groups_with_word(n, q);
        for (int g = 0; g < count; g++) {
            const int lane = n->first_lane[g];
            const int64_t begin = spryi_offset_of(pass->csr, n->row[lane]);
            uint64_t word = 0;
            for (int64_t t = 32 * q / n->bits; t < n->length[lane] && t * n->bits < 32 * (q + 1); t++) {
                const uint64_t own = number_of(columns, run_start(pass->csr, begin, t, n->run, n->stride));
                const int64_t bit = t * n->bits - 32 * q;
                word |= bit < 0 ? own >> -bit : own << bit;
            }
            *to++ = (uint32_t)word;
        }
    }
}

static void store_values(const slice_draft *n, const spryi_windowed_pass *pass, int64_t at)
{
    int64_t begin[SPRYI_WINDOWED_LANES];
    for (int l = 0; l < SPRYI_WINDOWED_LANES && n->row[l] >= 0; l++) begin[l] = spryi_offset_of(pass->csr, n->row[l]);
    const spry_type type = pass->csr->value_type;
    for (int64_t t = 0; t < n->width; t++)
        for (int64_t c = 0; c < n->run; c++)
            for (int l = 0; l < SPRYI_WINDOWED_LANES && n->length[l] > t; l++) {
                const int64_t entry = n->stride == 1 ? t * n->run + c : c * n->length[l] + t;
                spryi_move_value(pass->s->values, at++, pass->csr->values, begin[l] + entry, type);
            }
    for (; at % SPRYI_WINDOWED_ALIGN != 0; at++) spryi_set_value(pass->s->values, type, at, 0);
}

/* One window, which is not cut any more. */
static void make_window(const spryi_windowed_pass *pass, spryi_windowed_scratch *scratch, int64_t first, int64_t end,
                        int64_t run, spryi_windowed_counts *at)
{
    spryi_windowed *s = pass->s;
    const int64_t columns = scratch->columns.count;
    const int rows = (int)(end - first);
    sort_columns(&scratch->columns);
    sort_rows(pass, scratch, first, end, run);
    const int64_t pages = store_dictionary(pass, scratch->columns.rising, columns, run, at);
    for (int from = 0; from < rows; from += SPRYI_WINDOWED_LANES) {
        slice_draft n = {.run = run, .stride = run > 1 ? s->stride : 1, .bits = spryi_windowed_bits(run, columns)};
        draft_slice(&n, pass, scratch, from, rows);
        const int64_t bytes = index_bytes(&n), units = spryi_windowed_units(bytes);
        if (pass->stores) {
            uint8_t *indices = s->indices + at->units * SPRYI_WINDOWED_UNIT;
            memset(indices, 0, (size_t)units * SPRYI_WINDOWED_UNIT);
            s->slices[at->slices] = (spryi_windowed_slice){.values = (uint32_t)(at->slots / SPRYI_WINDOWED_ALIGN),
                                                           .indices = (uint32_t)at->units,
                                                           .width = (uint16_t)n.width,
                                                           .whole = (uint16_t)n.whole,
                                                           .groups = (uint8_t)n.groups};
            for (int l = 0; l < SPRYI_WINDOWED_LANES; l++)
                s->rows[at->slices * SPRYI_WINDOWED_LANES + l] = n.row[l] < 0 ? SPRYI_WINDOWED_NO_ROW
                                                                              : (uint32_t)n.row[l];
            store_words(&n, pass, &scratch->columns, store_head(&n, indices));
            if (s->values) store_values(&n, pass, at->slots);
        }
        at->slices++;
        at->units += units;
        at->slots += (n.entries + SPRYI_WINDOWED_ALIGN - 1) / SPRYI_WINDOWED_ALIGN * SPRYI_WINDOWED_ALIGN;
    }
    at->windows++;
    at->pages += pages;
    at->numbers += (columns + SPRYI_WINDOWED_DICTIONARY - 1) / SPRYI_WINDOWED_DICTIONARY * SPRYI_WINDOWED_DICTIONARY;
    if (at->staged < columns * run) at->staged = columns * run;
}

/* Windows of up to `size` rows, cut where they meet too many columns. */
static void make_windows(const spryi_windowed_pass *pass, spryi_windowed_scratch *scratch, int64_t first, int64_t end,
                         int64_t size, int64_t run, spryi_windowed_counts *at)
{
    if (first >= end) return;
    const int64_t most = size > SPRYI_WINDOWED_LANES ? SPRYI_WINDOWED_NUMBERS / run : SPRYI_WINDOWED_MOST_COLUMNS;
    if (find_columns(pass, scratch, first, end, run, most)) {
        make_window(pass, scratch, first, end, run, at);
        return;
    }
    const int64_t half = spryi_windowed_half(size), middle = first + half < end ? first + half : end;
    make_windows(pass, scratch, first, middle, half, run, at);
    make_windows(pass, scratch, middle, end, size - half, run, at);
}

void spryi_windowed_make(const spryi_windowed_pass *pass, spryi_windowed_scratch *scratch, int64_t first, int64_t end,
                         int64_t run, spryi_windowed_counts *at)
{
    make_windows(pass, scratch, first, end, pass->s->window, run, at);
}
