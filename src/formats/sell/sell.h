/*
 * SELL-C-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop 2014).
 *
 *     a b . .        c = 2, sigma = 4         rows in the order 0 2 1 3: by falling length within the window
 *     . c . .        chunk 0: rows 0, 2       values  a d  b e      columns  0 0  2 3
 *     d . . e        chunk 1: rows 1, 3       values  c f           columns  1 1
 *     . f . .        offsets  0 4 6           lengths 2 2 1 1
 *
 * Rows are sorted by falling length, stably and only inside windows of sigma rows, and then cut into chunks of c rows.
 * Each chunk is an ELL matrix: slot s of lane l is at offsets[chunk] + s*c + l. sigma is 1 (no permutation is stored)
 * or a multiple of c. Entries keep their order within the row. Padding is stored as in ell.h and never multiplied.
 *
 *   permutation  2 bytes per row: for each lane, its row within the window
 *   lengths      4 bytes per lane: number of entries; 0 for lanes past the last row
 *   kinds        1 byte per chunk: IN_ORDER (its rows are consecutive), SCATTERED (they are not), or r: the chunk
 *                begins a strided run of r chunks (see ell.h), whose rows are consecutive
 *   blocks       groups of chunks with about equal cost, computed from the offsets. A run ends with its block.
 */
#pragma once

#include "formats/ell/ell.h"

#include <stdbool.h>

enum {
    SPRYI_SELL_CHUNK = 16,      /* default rows of a chunk: one register of 16 f32, or two of 8 f64 */
    SPRYI_SELL_CUDA_CHUNK = 32, /* default rows of a chunk on a GPU: a warp */
    SPRYI_SELL_SIGMA = 512,     /* default rows of a window; larger windows save little padding and scatter y more */
    SPRYI_SELL_SORT_SAVES = 2,  /* minimum slots per row that sorting must save on a GPU */
    SPRYI_SELL_MOST_CHUNK = 256,
    SPRYI_SELL_MOST_SIGMA = 65536, /* largest window whose rows fit 2 bytes */
    SPRYI_SELL_SCATTERED = 0,
    SPRYI_SELL_MOST_RUN = 254, /* chunks */
    SPRYI_SELL_IN_ORDER = 255,
    SPRYI_SELL_BLOCK_COST = 32768, /* largest target cost of a block: its slots plus its lanes */
    SPRYI_SELL_LEAST_COST = 4096,
    SPRYI_SELL_BLOCKS = 256, /* number of blocks if their cost is between the two limits */
    SPRYI_SELL_ABREAST = 4,  /* lanes that products with multiple vectors process together */
};

/* The storage of format sell. */
typedef struct spryi_sell {
    spry_arrays a; /* sizes and types of the matrix */
    int64_t c, sigma;
    int64_t chunk_count, slots; /* slots = offsets[chunk_count] */
    int64_t *offsets;           /* chunk_count + 1 */
    void *values, *columns;     /* slots each; a pattern has no values */
    int32_t *lengths;           /* chunk_count * c */
    uint16_t *permutation;      /* one per row; NULL: sigma is 1 */
    uint8_t *kinds;             /* chunk_count */
    spryi_windows windows;      /* windows of y for the transposed product; empty in plans without it */
} spryi_sell;

extern const spryi_format spryi_format_sell;
extern const struct spryi_estimator spryi_sell_estimator; /* sell_work.c */
extern const spryi_kernel spryi_sell_portable_cpu, spryi_sell_avx2_cpu, spryi_sell_avx512_cpu;
extern const spryi_kernel spryi_sell_chunks_cuda;

/* Returns the row of lane l. Lanes are counted over the whole matrix, and l is less than the number of rows. */
static inline int64_t spryi_sell_row(const spryi_sell *s, int64_t l)
{
    return s->permutation ? l / s->sigma * s->sigma + s->permutation[l] : l;
}

/*
 * Functions of sell_cost.c. spryi_sell_resolve sets c and sigma as requested, with sigma rounded to a multiple of c
 * unless it is 1. spryi_sell_may_leave_rows returns true if the request permits unsorted rows. spryi_sell_sorting_pays
 * returns true if sorting, which reduces the slots from `unsorted` to `sorted`, saves enough slots.
 * spryi_sell_check_size fails if the number of slots may be too large to count. spryi_sell_cost sets *cost to the cost
 * of a storage with `slots` slots.
 */
void spryi_sell_resolve(int64_t *c, int64_t *sigma, const spryi_build_request *request);
bool spryi_sell_may_leave_rows(const spryi_build_request *request);
bool spryi_sell_sorting_pays(const spry_arrays *a, int64_t sorted, int64_t unsorted);
spry_status spryi_sell_check_size(int64_t rows, int64_t longest, int64_t c, spry_error *err);
void spryi_sell_cost(spryi_cost *cost, const spry_arrays *a, int64_t slots, int64_t c, int64_t sigma);

/* Return the number of blocks, and the first chunk of block b. Threads share the blocks. */
int64_t spryi_sell_block_count(const spryi_sell *s);
int64_t spryi_sell_block_begin(const spryi_sell *s, int64_t b);

/*
 * Returns the number of chunks of the strided run that begins with chunk k, and sets *first = k. If no run begins with
 * chunk k, returns 1 and sets *first = -1.
 */
static inline int64_t spryi_sell_run(const spryi_sell *s, int64_t k, int64_t *first)
{
    const int kind = s->kinds[k];
    const bool strided = kind > 0 && kind <= SPRYI_SELL_MOST_RUN;
    *first = strided ? k : -1;
    return strided ? kind : 1;
}
