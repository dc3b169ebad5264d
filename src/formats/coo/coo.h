/*
 * COO on the CPU.
 *
 *     a . b .        rows     0 0 1 2 2
 *     . c . .        columns  0 2 1 0 3
 *     d . . e        values   a b c d e
 *
 * Sorted by row. Of a CSR matrix only the rows are made, columns and values stay the user's; a COO matrix
 * known to be sorted is used as it is; anything else is sorted into a copy.
 *
 * Entries are cut into blocks of a constant number, whatever the threads. A block whose first row began in
 * the block before keeps that row's sum apart; those sums are added in order when all blocks are done.
 * Transposed: formats/ell/windows.h, parts of as many entries.
 */
#ifndef SPRYI_COO_H
#define SPRYI_COO_H

#include "core/kernel.h"
#include "formats/ell/windows.h"

enum { SPRYI_COO_BLOCK = 32768 };

typedef struct spryi_coo {
    spry_arrays a;      /* COO sorted by row */
    spry_matrix *owned; /* of a conversion, or NULL */
    void *rows;         /* made here beside borrowed columns and values, or NULL */
    int64_t block_count;
    spryi_windows windows; /* for the transposed product, else empty */
} spryi_coo;

extern const spryi_format spryi_format_coo;
extern const spryi_kernel spryi_coo_reference_cpu, spryi_coo_portable_cpu, spryi_coo_avx512_cpu;
extern const spryi_kernel spryi_coo_atomic_cuda, spryi_coo_segmented_cuda;

/* alpha and beta hold an f32 exactly. */
typedef struct spryi_coo_job {
    const void *rows, *columns, *values, *x;
    void *y;
    double alpha, beta;
} spryi_coo_job;

/*
 * One block, of a SIMD level, value type and index pair: adds alpha times each row's sum to y, but returns the
 * sum of its first row, unscaled, instead of adding it.
 */
typedef double (*spryi_coo_block)(const spryi_coo_job *job, int64_t begin, int64_t end);

/* coo_driver.c: rows without entries become NaN, as alpha*0 is where alpha is not finite and no entry says so. */
void spryi_coo_spoil_empty_rows(const spryi_coo *s, void *y);

/* coo_driver.c: y = beta*y, then the blocks on args->threads threads. */
spry_status spryi_coo_drive(const spryi_run_args *args, spryi_coo_block block);

#endif
