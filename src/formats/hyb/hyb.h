/*
 * HYB on the CPU (Bell and Garland 2009): ELL for the first entries of each row, COO for the rest.
 *
 *     a . b .        width 1      ELL values   a c d      COO rows     0 2
 *     . c . .                         columns  0 1 0          columns  2 3
 *     d . . e                         lengths  1 1 1          values   b e
 *
 * The user can give the width. If the user gives `share`, the width is the least one with which the ELL part holds at
 * least `share` percent of the rows completely. By default the width is the mean row length, rounded to the nearest
 * integer, halves up. So a long row causes no padding in other rows. Entries beyond the width are COO, sorted by row.
 * With m rows, values and indices take 2*m*width + 3*rest words.
 */
#pragma once

#include "formats/coo/coo.h"
#include "formats/ell/ell.h"

/* The storage of format hyb. */
typedef struct spryi_hyb {
    spryi_ell ell;                 /* ell.a has the sizes of the whole matrix; see spryi_hyb_ell */
    int64_t rest;                  /* number of entries in COO */
    void *rows, *columns, *values; /* `rest` elements each */
    spryi_windows windows;         /* windows of both parts for the transposed product; empty in plans without it */
} spryi_hyb;

enum { SPRYI_HYB_WIDTH }; /* index of the parameter "width" of kernels that have it */

extern const spryi_format spryi_format_hyb;
extern const struct spryi_estimator spryi_hyb_estimator; /* hyb_work.c */
extern const spryi_kernel spryi_hyb_portable_cpu, spryi_hyb_avx2_cpu, spryi_hyb_avx512_cpu;
extern const spryi_kernel spryi_hyb_segmented_cuda;

/* Return the ELL part and the COO part as storages of formats ell and coo, which borrow the arrays of s. */
static inline spryi_ell spryi_hyb_ell(const spryi_hyb *s)
{
    spryi_ell ell = s->ell;
    ell.a.nnz -= s->rest;
    return ell;
}

static inline spryi_coo spryi_hyb_coo(const spryi_hyb *s)
{
    const int64_t blocks = spryi_blocks_of(s->rest, SPRYI_COO_BLOCK);
    spryi_coo coo = {s->ell.a, NULL, NULL, blocks, {0}};
    coo.a.layout = SPRY_COO;
    coo.a.nnz = s->rest;
    coo.a.row_indices = s->rows;
    coo.a.indices = s->columns;
    coo.a.values = s->values;
    return coo;
}

/* Returns the index of the first COO entry whose row is at least i. */
int64_t spryi_hyb_rest_begin(const spryi_hyb *s, int64_t i);
