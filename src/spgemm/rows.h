/*
 * The CPU's product by rows (Gustavson), each in the accumulator that suits it.
 *
 * A dense window: sums of the columns from the row's first (rounded down to 64) to its last, a bit for each column
 * that is met, a byte for each 64 of those that says where to look. The bits are the sort: they are emitted in order.
 * The window is as wide as the widest row of C spans, which in banded matrices is little, and no wider than the limit;
 * rows that span more go through a hash table.
 * Rows of one entry are copied; rows that repeat the one before (rows_shape.tmpl.c) know their columns: no bits.
 * Every accumulator starts at 0 and adds a*b, rounded, in the order of A's row: the bits are the same in all.
 *
 * Work: pieces of rows with about equal entries of A, which threads take as they get free.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; the repeating rows: this library.
 */
#ifndef SPRYI_SPGEMM_ROWS_H
#define SPRYI_SPGEMM_ROWS_H

#include "spgemm/spgemm.h"

extern const spryi_spgemm_kernel spryi_spgemm_rows_cpu, spryi_spgemm_rows_avx512_cpu;

/* The bytes functions of both. */
int64_t spryi_rows_count_bytes(spryi_spgemm_job *job);
int64_t spryi_rows_fill_bytes(spryi_spgemm_job *job);

/* A thread's part of the count phase's workspace: a bit a column of C. */
static inline int64_t spryi_rows_mask_words(const spryi_spgemm_job *job)
{
    return (job->b.cols / 64 + 8) / 8 * 8;
}

/* Of the fill phase's: `windows` of 64 sums, then as many words of bits, then as many bytes. */
static inline int64_t spryi_rows_windows(const spryi_spgemm_job *job)
{
    return (job->widest / 64 + 64) / 64 * 64;
}
static inline int64_t spryi_rows_lane_bytes(const spryi_spgemm_job *job)
{
    return spryi_rows_windows(job) * (64 * (int64_t)spry_type_bytes(job->type) + 9);
}

#endif
