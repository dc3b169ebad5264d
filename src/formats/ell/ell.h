/*
 * ELL on the CPU (ELLPACK).
 *
 *     a . b .        width 2, the longest row       values   a c d  b - e     slot 0 of all rows, then slot 1: entry s
 *     . c . .        lengths  2 1 2                 columns  0 1 0  2 1 3     of row i is at s*rows + i
 *     d . . e
 *
 * Entries keep their order within the row. Padding has the value 0 and the column of the row's last entry, or the
 * column of the matrix's first entry if the row is empty, so that x can be gathered for any slot. Kernels use the
 * lengths and never multiply padding, because 0 times an Inf or NaN in x would change y.
 *
 * In addition to the two arrays the storage has the lengths, 4 bytes per row, and the runs, one byte per slice of 16
 * rows. spryi_cost.bytes counts both, and spryi_cost.words counts neither.
 *
 *   runs    r > 0: a strided run of r slices begins with the slice. Its rows have equal lengths, and each row's columns
 *           are the previous row's plus one (grids, bands, diagonals). Kernels read only the columns of the run's first
 *           row, and load x instead of gathering it. A run ends with its block. 0: no run begins with the slice, but
 *           the slice may be within a run.
 *   blocks  block_rows rows each: the unit of work of threads. Only the matrix decides the size.
 */
#pragma once

#include "formats/shared/column_windows.h"
#include "formats/shared/owned_arrays.h"
#include "formats/shared/run_blocks.h"

#include <stdbool.h>

enum {
    SPRYI_ELL_SLICE = 16,
    SPRYI_ELL_MOST_RUN = 255,          /* maximum slices of a run, since their number is stored in a byte */
    SPRYI_ELL_BLOCK_ENTRIES = 32768,   /* target entries of a block */
    SPRYI_ELL_BLOCKS = 256,            /* target number of blocks of a small matrix, to give work to more threads */
    SPRYI_ELL_LEAST_ROWS = 256,        /* minimum rows of a block */
    SPRYI_ELL_STREAM_BYTES = 16 << 20, /* minimum bytes of y for non-temporal stores */
    SPRYI_SLOT_LANES = 16,             /* rows that kernels of ell, sell and hyb multiply together */
    SPRYI_TILE_SLOTS = 8,              /* slots that the builds of ell and sell fill together */
};

/* The storage of format ell. */
typedef struct spryi_ell {
    spry_arrays a; /* sizes and types of the matrix; nnz excludes padding */
    int64_t width;
    int64_t block_rows, block_count;
    void *values, *columns; /* rows * width elements each */
    int32_t *lengths;       /* one per row */
    uint8_t *runs;          /* one per slice */
    spryi_windows windows;  /* windows of y for the transposed product; empty in plans without it */
} spryi_ell;

extern const spryi_format spryi_format_ell;
extern const struct spryi_estimator spryi_ell_estimator; /* ell_work.c */
extern const spryi_kernel spryi_ell_portable_cpu, spryi_ell_avx2_cpu, spryi_ell_avx512_cpu;
extern const spryi_kernel spryi_ell_slots_cuda;

/*
 * Sets cost->bytes (with lengths and runs) and cost->words (without them) for rows * width slots. Does not set
 * cost->padding. Returns SPRY_TOO_LARGE if no memory could hold the slots.
 */
spry_status spryi_ell_cost(spryi_cost *cost, int64_t width, const spry_arrays *csr, spry_error *err);

/*
 * Builds the storage *s, which must be zeroed, from the first `width` entries of each row of csr. s->a.nnz counts these
 * entries. Does not build windows. After a failure the caller releases the arrays.
 */
spry_status spryi_ell_build(spry_context *context, spryi_ell *s, const spry_arrays *csr, int64_t width,
                            spry_error *err);

/* Copies the entries to CSR, each row to its position offsets[i]. */
void spryi_ell_copy_entries(spry_context *context, const spryi_ell *s, const int64_t *offsets, void *columns,
                            void *values);

/*
 * Returns true if a strided run begins at row i, the first row of a slice. Sets *to to the end of the run, or of the
 * slices before the next run, at most `end`.
 */
static inline bool spryi_ell_next_is_strided(const spryi_ell *s, int64_t i, int64_t end, int64_t *to)
{
    const uint8_t *runs = s->runs + i / SPRYI_ELL_SLICE;
    const int64_t slices = (end - i + SPRYI_ELL_SLICE - 1) / SPRYI_ELL_SLICE;
    int64_t n = *runs;
    const bool strided = n > 0;
    while (!strided && n < slices && runs[n] == 0) n++;
    *to = n < slices ? i + n * SPRYI_ELL_SLICE : end;
    return strided;
}
