/*
 * SELL-C-sigma on the CPU (Kreutzer, Hager, Wellein, Fehske, Bishop 2014).
 *
 *     a . b .        c = 2, sigma = 4         rows in the order 0 2 1 3: by falling length within the window
 *     . c . .        chunk 0: rows 0, 2       values  a d  b e      columns  0 0  2 3
 *     d . . e        chunk 1: rows 1, 3       values  c f           columns  1 1
 *     . f . .        offsets  0 4 6           lengths 2 2 1 1
 *
 * Rows are permuted only inside windows of sigma rows (stably, so that equal rows stay in order), then cut into
 * chunks of c, each an ELL of its own: slot s of lane l lies at offsets[chunk] + s*c + l. sigma is 1 (no permutation is
 * kept) or a multiple of c. Entries keep their order within the row. Padding is as in ell.h and never multiplied.
 *
 *   permutation  2 bytes a row: the row within its window
 *   lengths      of the lanes, 4 bytes each; 0 for the lanes past the last row
 *   kinds        a byte a chunk: SCATTERED, IN_ORDER (its rows follow each other), or r: it begins a strided run of
 *                r chunks (see ell.h), all rows of which follow each other
 *   blocks       chunks of about equal cost, found from the offsets; by the matrix alone. A run ends with its block.
 */
#pragma once

#include "formats/ell/ell.h"

enum {
    SPRYI_SELL_CHUNK = 16,      /* rows: sixteen lanes of f32, twice eight of f64 */
    SPRYI_SELL_CUDA_CHUNK = 32, /* a warp */
    SPRYI_SELL_SIGMA = 512,     /* rows: padding falls little further, and y is written farther apart */
    SPRYI_SELL_SORT_SAVES = 2,  /* slots a row, below which rows are not sorted for a GPU */
    SPRYI_SELL_MOST_CHUNK = 256,
    SPRYI_SELL_MOST_SIGMA = 65536, /* what 2 bytes tell */
    SPRYI_SELL_SCATTERED = 0,
    SPRYI_SELL_MOST_RUN = 254, /* chunks */
    SPRYI_SELL_IN_ORDER = 255,
    SPRYI_SELL_BLOCK_COST = 32768, /* slots and rows */
    SPRYI_SELL_LEAST_COST = 4096,
    SPRYI_SELL_BLOCKS = 256, /* that are aimed at between the two */
    SPRYI_SELL_ABREAST = 4,  /* lanes that are multiplied with several columns at a time */
};

/* The storage of format sell. */
typedef struct spryi_sell {
    spry_arrays a; /* sizes and types, as CSR without arrays */
    int64_t c, sigma;
    int64_t chunk_count, slots; /* slots = offsets[chunk_count] */
    int64_t *offsets;           /* chunk_count + 1 */
    void *values, *columns;     /* slots each; a pattern has no values */
    int32_t *lengths;           /* chunk_count * c */
    uint16_t *permutation;      /* rows; NULL: sigma is 1 */
    uint8_t *kinds;             /* chunk_count */
    spryi_windows windows;      /* for the transposed product, else empty */
} spryi_sell;

extern const spryi_format spryi_format_sell;
extern const struct spryi_estimator spryi_sell_estimator; /* sell_work.c */
extern const spryi_kernel spryi_sell_portable_cpu, spryi_sell_avx2_cpu, spryi_sell_avx512_cpu;
extern const spryi_kernel spryi_sell_chunks_cuda;

/* Row of lane l, counted over the whole matrix; l < rows. */
static inline int64_t spryi_sell_row(const spryi_sell *s, int64_t l)
{
    return s->permutation ? l / s->sigma * s->sigma + s->permutation[l] : l;
}

/*
 * sell_cost.c: c and sigma as asked for, sigma rounded to a multiple of c unless it is 1; whether rows may be left
 * unsorted after all, and whether that is better; whether slots can be counted; what so many slots take.
 */
void spryi_sell_resolve(int64_t *c, int64_t *sigma, const spryi_build_request *request);
int spryi_sell_may_leave_rows(const spryi_build_request *request);
int spryi_sell_sorting_pays(const spry_arrays *a, int64_t sorted, int64_t unsorted);
spry_status spryi_sell_check_size(int64_t rows, int64_t longest, int64_t c, spry_error *err);
void spryi_sell_cost(spryi_cost *cost, const spry_arrays *a, int64_t slots, int64_t c, int64_t sigma);

/* Returns the number of blocks that threads share, and the chunk at which block b begins. */
int64_t spryi_sell_block_count(const spryi_sell *s);
int64_t spryi_sell_block_begin(const spryi_sell *s, int64_t b);

/* The number of chunks of the strided run that begins with chunk k, *first = k; where none does 1, *first = -1. */
static inline int64_t spryi_sell_run(const spryi_sell *s, int64_t k, int64_t *first)
{
    const int kind = s->kinds[k], strided = kind > 0 && kind <= SPRYI_SELL_MOST_RUN;
    *first = strided ? k : -1;
    return strided ? kind : 1;
}
