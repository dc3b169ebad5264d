/* The order in which rows come into windows, on the host: steps 1 to 4 of windowed_layout.h. */
#pragma once

#include "formats/windowed/windowed_layout.h"

typedef struct spryi_windowed_order {
    int64_t count;    /* rows that are not long */
    int64_t of_runs;  /* the first so many are made of runs; the others come in windows of their own */
    uint32_t *row;    /* count: rows, in order */
    uint32_t *leader; /* of each row of the matrix; SPRYI_WINDOWED_NO_ROW where it is long */
} spryi_windowed_order;

/*
 * The order of csr's rows, and s->run, stride and cells; s->window is resolved. asked: SPRYI_WINDOWED_NATURAL, _CELLS
 * or 0. The caller clears the order, also after a failure.
 */
spry_status spryi_windowed_find_order(spry_context *context, spryi_windowed_order *order, spryi_windowed *s,
                                      const spry_arrays *csr, int64_t asked, spry_error *err);
void spryi_windowed_clear_order(spry_context *context, spryi_windowed_order *order);
