/*
 * One window of rows from CSR to slices on the host, the same code in two passes: first windows are cut and counted,
 * then, when it is known where they go, stored.
 */
#ifndef SPRYI_WINDOWED_WINDOW_H
#define SPRYI_WINDOWED_WINDOW_H

#include "formats/windowed/windowed_dictionary.h"
#include "formats/windowed/windowed_order.h"

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

#endif
