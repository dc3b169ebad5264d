/*
 * ELL on the CPU (ELLPACK).
 *
 *     a . b .        width 2, the longest row       values   a c d  b - e     slot 0 of all rows, then slot 1: entry s
 *     . c . .        lengths  2 1 2                 columns  0 1 0  2 1 3     of row i lies at s*rows + i
 *     d . . e
 *
 * Entries keep their order within the row. Padding has the value 0 and the column of the row's last entry (of the
 * matrix's first entry where the row has none), so that any slot may be gathered; it is never multiplied, since
 * an Inf or NaN there would reach y: kernels go by the lengths.
 *
 * Beside the two arrays there are the lengths, 4 bytes a row, and for each slice of 16 rows a byte of the runs; both
 * are counted in bytes, but not in words:
 *
 *   runs    0: nothing is known of the slice. r > 0: it begins a strided run of r slices, whose rows have one length
 *           and columns that are those of the row before plus one (grids, bands, diagonals): the columns of the
 *           run's first row are enough, and x is loaded, not gathered. A run ends with its block.
 *   blocks  block_rows rows each, by the matrix alone: the unit that threads share.
 */
#pragma once

#include "formats/shared/column_windows.h"
#include "formats/shared/owned_arrays.h"
#include "formats/shared/run_blocks.h"

enum {
    SPRYI_ELL_SLICE = 16,
    SPRYI_ELL_MOST_RUN = 255,          /* slices, what a byte holds */
    SPRYI_ELL_BLOCK_ENTRIES = 32768,   /* that a block aims at */
    SPRYI_ELL_BLOCKS = 256,            /* that small matrices aim at, or few threads would find one */
    SPRYI_ELL_LEAST_ROWS = 256,        /* of a block */
    SPRYI_ELL_STREAM_BYTES = 16 << 20, /* from this size y is streamed, as in csr.h */
    SPRYI_SLOT_LANES = 16,             /* rows that kernels of ell, sell and hyb multiply together */
    SPRYI_TILE_SLOTS = 8,              /* slots that the builds of ell and sell fill together */
};

/* The storage of format ell. */
typedef struct spryi_ell {
    spry_arrays a; /* sizes and types, as CSR without arrays; nnz counts A's entries, not the padding */
    int64_t width;
    int64_t block_rows, block_count;
    void *values, *columns; /* rows * width each */
    int32_t *lengths;       /* rows */
    uint8_t *runs;          /* one a slice */
    spryi_windows windows;  /* for the transposed product, else empty */
} spryi_ell;

extern const spryi_format spryi_format_ell;
extern const struct spryi_estimator spryi_ell_estimator; /* ell_work.c */
extern const spryi_kernel spryi_ell_portable_cpu, spryi_ell_avx2_cpu, spryi_ell_avx512_cpu;
extern const spryi_kernel spryi_ell_slots_cuda;

/*
 * Sets bytes, with lengths and runs, and words, without them, of rows * width slots; leaves padding as it is. Returns
 * SPRY_TOO_LARGE if no memory could hold the slots.
 */
spry_status spryi_ell_cost(spryi_cost *cost, int64_t width, const spry_arrays *csr, spry_error *err);

/*
 * Fills a zeroed *s, without windows, with the first `width` entries of each row of csr. s->a.nnz counts these entries.
 * After a failure the caller releases the arrays.
 */
spry_status spryi_ell_make(spry_context *context, spryi_ell *s, const spry_arrays *csr, int64_t width, spry_error *err);

/* Copies the slots to the positions in CSR that offsets give. */
void spryi_ell_take(spry_context *context, const spryi_ell *s, const int64_t *offsets, void *columns, void *values);

/*
 * Returns 1 if the slices from row i on are a strided run, and 0 if none is known. *to: the row where the run or the
 * stretch without runs ends, at most `end`. i begins a slice.
 */
static inline int spryi_ell_next_is_strided(const spryi_ell *s, int64_t i, int64_t end, int64_t *to)
{
    const uint8_t *runs = s->runs + i / SPRYI_ELL_SLICE;
    const int64_t slices = (end - i + SPRYI_ELL_SLICE - 1) / SPRYI_ELL_SLICE;
    int64_t n = *runs;
    const int strided = n > 0;
    while (!strided && n < slices && runs[n] == 0) n++;
    *to = n < slices ? i + n * SPRYI_ELL_SLICE : end;
    return strided;
}
