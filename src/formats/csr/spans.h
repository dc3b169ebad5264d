/*
 * Spans: x by registers instead of by columns, for kernels with AVX-512.
 *
 *     columns 7 9 10 30 31        spans {7, lanes 0 2 3}, {30, lanes 0 1}
 *
 * A span is what a register loaded from x at a column has for the next entries of a row, or of a group of rows that
 * share their columns. General and shared runs (runs.h) whose columns lie close enough are multiplied by their spans
 * and read no columns: 8 bytes a span in place of 4 or 8 bytes an entry, and one load of x in place of one an entry.
 */
#pragma once

#include "formats/csr/runs.h"

/* Up to a register's lanes of x from a column on: bit l of `lanes` is set where column + l has an entry. */
typedef struct spryi_csr_span {
    int32_t column;
    uint16_t lanes, count; /* count: bits that are set */
} spryi_csr_span;

enum { SPRYI_MAX_LEAST_SPANS = 4 }; /* spans that each row may be given, so that rows end alike */

typedef struct spryi_csr_spans {
    spryi_csr_span *list; /* slots: a run uses as many of its own as its rows need */
    int64_t count;
} spryi_csr_spans;

/* spans_avx512.c: the spans that pay, for x of vector_type; the runs that have some are told. */
spry_status spryi_csr_spans_find(spry_context *context, spryi_csr_spans *spans, spryi_csr_runs *runs,
                                 const spryi_csr_blocks *blocks, const spry_arrays *csr, spry_type vector_type,
                                 spry_error *err);
