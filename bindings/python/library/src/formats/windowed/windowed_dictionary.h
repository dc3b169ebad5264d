/* The distinct columns that the rows of a window meet, on the host: gathered by a hash table, then numbered. */
#ifndef SPRYI_WINDOWED_DICTIONARY_H
#define SPRYI_WINDOWED_DICTIONARY_H

#include "formats/windowed/windowed_layout.h"

enum {
    SPRYI_WINDOWED_MOST_COLUMNS = SPRYI_WINDOWED_LANES * SPRYI_WINDOWED_LONG, /* of a slice's rows */
    SPRYI_WINDOWED_TABLE_BITS = 15,                                           /* of a table twice as large */
};

/* Zero before its first use. */
typedef struct spryi_windowed_dictionary {
    int64_t count;
    int64_t column[SPRYI_WINDOWED_MOST_COLUMNS];    /* in the order in which they came */
    uint16_t slot[SPRYI_WINDOWED_MOST_COLUMNS];     /* of each, in the table */
    uint16_t number[SPRYI_WINDOWED_MOST_COLUMNS];   /* of each, counted by rising columns */
    int64_t rising[SPRYI_WINDOWED_MOST_COLUMNS];    /* the columns by their numbers */
    uint64_t keys[2][SPRYI_WINDOWED_MOST_COLUMNS];  /* while they are sorted */
    uint16_t table[1 << SPRYI_WINDOWED_TABLE_BITS]; /* 1 + the index in `column`; 0: free */
} spryi_windowed_dictionary;

/* The slot of column j, or the free one where it belongs. */
static inline int64_t spryi_windowed_slot(const spryi_windowed_dictionary *d, int64_t j)
{
    const int64_t last = (1 << SPRYI_WINDOWED_TABLE_BITS) - 1;
    int64_t at = (int64_t)((uint64_t)j * 0x9E3779B97F4A7C15u >> (64 - SPRYI_WINDOWED_TABLE_BITS));
    while (d->table[at] != 0 && d->column[d->table[at] - 1] != j) at = (at + 1) & last;
    return at;
}

/* Column j is one of them; there are less than SPRYI_WINDOWED_MOST_COLUMNS before. */
static inline void spryi_windowed_add(spryi_windowed_dictionary *d, int64_t j)
{
    const int64_t at = spryi_windowed_slot(d, j);
    if (d->table[at] != 0) return;
    d->column[d->count] = j;
    d->slot[d->count++] = (uint16_t)at;
    d->table[at] = (uint16_t)d->count;
}

/* The number of column j, which is there; they have been sorted. */
static inline uint16_t spryi_windowed_number(const spryi_windowed_dictionary *d, int64_t j)
{
    return d->number[d->table[spryi_windowed_slot(d, j)] - 1];
}

/* Forgets all columns. */
void spryi_windowed_clear_columns(spryi_windowed_dictionary *d);
/* Fills in rising and number. */
void spryi_windowed_sort_columns(spryi_windowed_dictionary *d);

#endif
