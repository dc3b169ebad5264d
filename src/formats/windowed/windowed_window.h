/*
 * One window of rows from CSR to slices on the host, the same code in two passes: first windows are cut and counted,
 * then, when it is known where they go, stored.
 */
#pragma once

#include "formats/windowed/windowed_layout.h"
#include "formats/windowed/windowed_order.h"

enum {
    SPRYI_WINDOWED_MOST_COLUMNS = SPRYI_WINDOWED_LANES * SPRYI_WINDOWED_LONG, /* of a slice's rows */
    SPRYI_WINDOWED_TABLE_BITS = 15,                                           /* of a table twice as large */
};

/* The distinct columns of the rows of a window, gathered by a hash table. Zero before its first use. */
typedef struct spryi_windowed_dictionary {
    int64_t count;
    int64_t column[SPRYI_WINDOWED_MOST_COLUMNS];    /* in the order in which they came */
    uint16_t slot[SPRYI_WINDOWED_MOST_COLUMNS];     /* of each, in the table */
    uint16_t number[SPRYI_WINDOWED_MOST_COLUMNS];   /* of each, counted by rising columns */
    int64_t rising[SPRYI_WINDOWED_MOST_COLUMNS];    /* the columns by their numbers */
    uint64_t keys[2][SPRYI_WINDOWED_MOST_COLUMNS];  /* while they are sorted */
    uint16_t table[1 << SPRYI_WINDOWED_TABLE_BITS]; /* 1 + the index in `column`; 0: free */
} spryi_windowed_dictionary;

/* What a thread needs while it makes windows. Zero before its first use. */
typedef struct spryi_windowed_scratch {
    spryi_windowed_dictionary columns;         /* of the window: first ones of runs */
    uint32_t row[SPRYI_WINDOWED_MOST_ROWS];    /* by falling length */
    uint16_t length[SPRYI_WINDOWED_MOST_ROWS]; /* of those, in runs */
} spryi_windowed_scratch;

typedef struct spryi_windowed_pass {
    const spry_arrays *csr;
    const spryi_windowed_order *order;
    spryi_windowed *s; /* sizes and, in the second pass, arrays */
    int stores;
} spryi_windowed_pass;

/*
 * The windows of rows first .. end - 1 of the order, end - first <= s->window, made of runs of `run`: measured, or
 * stored behind those before. *at is raised by what they take.
 */
void spryi_windowed_make(const spryi_windowed_pass *pass, spryi_windowed_scratch *scratch, int64_t first, int64_t end,
                         int64_t run, spryi_windowed_counts *at);
