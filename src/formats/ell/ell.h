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
 * Beside the two arrays there are the lengths, 4 bytes a row, and for each slice of 16 rows a byte of the
 * runs; both are counted in bytes, but not in the lecture's words:
 *
 *   runs    0: nothing is known of the slice. r > 0: it begins a stepped run of r slices, whose rows have one length
 *           and columns that are those of the row before plus one (grids, bands, diagonals): the columns of the
 *           run's first row are enough, and x is loaded, not gathered. A run ends with its block.
 *   blocks  block_rows rows each, by the matrix alone: the unit that threads share.
 */
#ifndef SPRYI_ELL_H
#define SPRYI_ELL_H

#include "core/assemble.h"
#include "core/kernel.h"
#include "formats/ell/windows.h"

enum {
    SPRYI_ELL_SLICE = 16,
    SPRYI_ELL_MOST_RUN = 255,          /* slices, what a byte holds */
    SPRYI_ELL_BLOCK_ENTRIES = 32768,   /* that a block aims at */
    SPRYI_ELL_BLOCKS = 256,            /* that small matrices aim at, or few threads would find one */
    SPRYI_ELL_LEAST_ROWS = 256,        /* of a block */
    SPRYI_TILE_SLOTS = 8,              /* filled at a time, of SELL too (slots_fill.tmpl.c) */
    SPRYI_ELL_STREAM_BYTES = 16 << 20, /* from this size y is streamed, as in csr.h */
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
extern const spryi_kernel spryi_ell_reference_cpu, spryi_ell_portable_cpu, spryi_ell_avx2_cpu, spryi_ell_avx512_cpu;
extern const spryi_kernel spryi_ell_slots_cuda;

/*
 * Bytes, lengths and runs included, and words, those left out, of rows * width slots; SPRY_TOO_LARGE
 * where nothing could hold them. padding is left as it is.
 */
int64_t spryi_ell_beside_bytes(int64_t rows); /* of lengths and runs */
spry_status spryi_ell_figure(spryi_figure *figure, int64_t width, const spry_arrays *csr, spry_error *err);

/*
 * Fills a zeroed *s with the first `width` entries of each row of csr; no windows. s->a.nnz counts those. On
 * failure the caller clears. spryi_ell_clear releases what s owns and leaves s alone.
 */
spry_status spryi_ell_make(spry_context *context, spryi_ell *s, const spry_arrays *csr, int64_t width, spry_error *err);
void spryi_ell_clear(spry_context *context, spryi_ell *s);

/*
 * Back to CSR, for formats that keep the order of entries: start allocates c's arrays, the offsets to be filled in;
 * take copies the slots to where offsets say; finish makes the matrix of c, which it takes. On failure of start or
 * after, the caller clears c.
 */
spry_status spryi_ell_start_csr(spry_context *context, spryi_compressed *c, const spry_arrays *a, spry_error *err);
void spryi_ell_take(spry_context *context, const spryi_ell *s, const int64_t *offsets, void *columns, void *values);
spry_status spryi_ell_finish_csr(spry_context *context, spry_matrix **csr, spryi_compressed *c, const spry_arrays *a,
                                 spry_error *err);

int64_t spryi_ell_bytes(const spryi_ell *s); /* of all its arrays */

/* For containers: appends to sections, from *count on, with the shape in a; whether a restored s is safe to run. */
void spryi_ell_sections(spry_arrays *a, spryi_ell *s, spryi_section *sections, int *count);
spry_status spryi_ell_check(const spryi_ell *s, spry_error *err);

/* The same for what padded formats have in common: sizes and types in a, three sections; a sound a and columns. */
void spryi_ell_shape_sections(spry_arrays *a, spryi_section *sections, int *count);
spry_status spryi_ell_check_shape(const spry_arrays *a, const char *format, spry_error *err);
spry_status spryi_ell_check_columns(const spry_arrays *a, const void *columns, int64_t count, const char *format,
                                    spry_error *err);
int64_t spryi_ell_product(int64_t a, int64_t b); /* -1 where it is none of a size: sections must not overflow */

/* What the inner functions of a kernel work on. alpha and beta hold an f32 exactly. */
typedef struct spryi_ell_job {
    const void *values, *columns, *x;
    const int32_t *lengths;
    int64_t stride; /* from slot to slot */
    void *y;
    double alpha, beta;
    int stream_y; /* y is large and not read */
} spryi_ell_job;

/* The inner functions, one set a SIMD level, value type and index pair. They write y = alpha*A*x + beta*y. */
typedef struct spryi_ell_leaves {
    void (*rows)(const spryi_ell_job *job, int64_t begin, int64_t end);
    void (*stepped)(const spryi_ell_job *job, int64_t begin, int64_t end); /* whole slices */
} spryi_ell_leaves;

/* ell_driver.c: runs the leaves over the blocks on args->threads threads. */
spry_status spryi_ell_drive(const spryi_run_args *args, const spryi_ell_leaves *leaves);

#endif
