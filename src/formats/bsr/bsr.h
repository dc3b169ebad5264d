/*
 * BSR, block compressed sparse rows, on the CPU.
 *
 *     a b . . c      block 2:  offsets  0 2 3       block row I holds blocks offsets[I] .. offsets[I+1]-1
 *     d e . . .                columns  0 2 1       block J covers columns 2*J, 2*J + 1
 *     . . f g .                values   a d b e   c . . .   f . g .      (. is fill: a stored zero)
 *                              masks    3 3       1 0       1 1
 *
 * Blocks of `block` x `block` entries, column after column, in block rows sorted by block column. Rows and columns that
 * are missing at the edges count as fill, and so does whatever A does not store; where any block has fill, masks tell
 * which rows of each block's column are entries (bit i: row i), one byte a column up to blocks of 8, two above.
 * Entries at one position are summed, in stored order, in f64, rounded once.
 *
 * Fill must not turn Inf or NaN of an x into NaN of y. Products run over fill, since 0 times a finite number changes
 * nothing; a block row whose result is NaN is summed again by the masks, in the same order, which leaves NaN where
 * entries made it. The transposed product goes by the masks where one of the block row's own x is not finite.
 * So masks are read only when something is not finite. x and y are never touched past their ends: the last columns
 * of x are used from a copy padded with zeros.
 *
 * Invariants: offsets rise from 0 to the number of blocks; columns rise within a block row; fill is 0; mask bits past
 * the edges are 0; masks are there exactly where there is fill.
 */
#pragma once

#include "formats/shared/owned_arrays.h"
#include "formats/shared/run_blocks.h"
#include "matrix/columns.h"

enum {
    SPRYI_BSR_MOST_BLOCK = 16,
    SPRYI_BSR_MOST_DETECTED = 8,
    SPRYI_BSR_PARTS = 16,       /* of a transposed product */
    SPRYI_BSR_AHEAD = 32,       /* blocks, at which x is fetched */
    SPRYI_BSR_COLLECTED = 2048, /* its y's that are added up at a time, in the first-level cache */
};

/*
 * Part p of a transposed product is the block rows from spryi_bsr_cut(s, p, parts) on; it writes the block columns
 * window_begin[p] .. window_end[p] - 1, into sums of its own.
 */
typedef struct spryi_bsr_head {
    int64_t rows, cols, nnz, block; /* nnz: entries, duplicates summed, fill left out */
    int64_t block_rows, block_cols, blocks;
    int32_t value_type, offset_type, index_type, parts;
    int64_t window_begin[SPRYI_BSR_PARTS], window_end[SPRYI_BSR_PARTS];
} spryi_bsr_head;

typedef struct spryi_bsr {
    spry_arrays types; /* of the head; first, as in every storage */
    spryi_bsr_head head;
    void *offsets; /* block_rows + 1, of offset_type */
    void *columns; /* blocks, of index_type */
    void *values;  /* blocks * block * block, of value_type */
    void *masks;   /* blocks * block of uint8_t, over 8 uint16_t; of no meaning without fill */
} spryi_bsr;

extern const spryi_format spryi_format_bsr;
extern const struct spryi_estimator spryi_bsr_estimator; /* bsr_work.c */
extern const spryi_kernel spryi_bsr_portable_cpu, spryi_bsr_avx2_cpu, spryi_bsr_avx512_cpu;
extern const spryi_kernel spryi_bsr_blocks_cuda;

/* A product as the kernels see it. */
typedef struct spryi_bsr_job {
    spryi_run_args args; /* first, for the driver */
    const void *offsets, *columns, *values;
    const void *masks; /* NULL: no fill */
    spry_index_type offset_type, index_type;
    spryi_scalar alpha, beta;
    int64_t block, rows, blocks, chunks; /* chunks of block rows of about equal work */
    int64_t tail_column;                 /* the block column whose x is in tail, because x ends in it; -1: none */
    double tail[SPRYI_BSR_MOST_BLOCK];
    /* Of several columns: the sums of block row I, of entries alone, as the product with that column has them. */
    void (*again)(const struct spryi_bsr_job *job, int64_t I, int64_t column, void *sum);
} spryi_bsr_job;

/* The first block of block row I. */
static inline int64_t spryi_bsr_offset(const spryi_bsr_job *job, int64_t I)
{
    return spryi_index_at(job->offsets, job->offset_type, I);
}

/* Block columns. Kernels have one instance for both widths, which they ask for once a block. */
typedef struct spryi_bsr_columns {
    const void *at;
    int wide; /* 1: of 64 bits */
} spryi_bsr_columns;

static inline spryi_bsr_columns spryi_bsr_columns_of(const spryi_bsr_job *job)
{
    return (spryi_bsr_columns){job->columns, job->index_type == SPRY_I64};
}

SPRYI_INLINE int64_t spryi_bsr_column(spryi_bsr_columns columns, int64_t b)
{
    if (__builtin_expect(columns.wide, 0)) return ((const int64_t *)columns.at)[b];
    return ((const int32_t *)columns.at)[b];
}

/* A prediction by a sample of rows: the size of blocks where none is asked for, and the bytes in all. */
typedef struct spryi_bsr_guess {
    int64_t block; /* 1: no blocks would save bytes */
    double bytes;
} spryi_bsr_guess;

/* Predicts by a sample of rows. longest: the length of the longest row. */
struct spryi_column_reader;
spry_status spryi_bsr_guess_of(spry_context *context, spryi_bsr_guess *guess, struct spryi_column_reader *reader,
                               int64_t longest, spryi_effort effort, spry_error *err);

/* Returns the job of a product, without a tail. pad_x sets the tail; for several columns, only the tail's column. */
spryi_bsr_job spryi_bsr_job_of(const spryi_run_args *args);
void spryi_bsr_pad_x(spryi_bsr_job *job);

/* Returns the first block row at or after `part` of `parts` of the work. */
int64_t spryi_bsr_cut(const spryi_bsr *s, int64_t part, int64_t parts);

/* Returns the element of the workspace at which window p begins. */
int64_t spryi_bsr_window_at(const spryi_bsr_head *h, int p);

/* Returns NULL if there is no fill. */
static inline const void *spryi_bsr_masks(const spryi_bsr *s)
{
    return s->head.nnz < s->head.blocks * s->head.block * s->head.block ? s->masks : NULL;
}

static inline size_t spryi_bsr_mask_bytes(int64_t block)
{
    return block <= 8 ? 1 : 2;
}

/* Returns the mask of entries in a block's column. `at` counts such columns through all blocks. */
static inline unsigned spryi_bsr_mask(const void *masks, int64_t block, int64_t at)
{
    return block <= 8 ? ((const uint8_t *)masks)[at] : ((const uint16_t *)masks)[at];
}

static inline void spryi_bsr_set_mask(void *masks, int64_t block, int64_t at, unsigned mask)
{
    if (block <= 8)
        ((uint8_t *)masks)[at] = (uint8_t)mask;
    else
        ((uint16_t *)masks)[at] = (uint16_t)mask;
}

/* ---- conversion ------------------------------------------------------------------------------------- */

/* A thread's scratch memory for one block row at a time. */
typedef struct spryi_bsr_scratch {
    void *slots;     /* of index_type: where a block column is in list; -1: not there. Left at -1 */
    int64_t mask;    /* 0: slots has one element a block column; else it is a hash table of mask + 1 elements */
    void *list;      /* of index_type: the block columns of the row */
    uint16_t *masks; /* block of each */
    double *sums;    /* block * block of each, for types narrower than f64; NULL for f64 */
} spryi_bsr_scratch;

/* Steps of conversions, by type. A block row is `block` rows of A. */
typedef struct spryi_bsr_steps {
    /* Returns the blocks of block row I. Raises *entries by its entries, counting a position once. */
    int64_t (*count)(const spry_arrays *A, int64_t block, int64_t I, const spryi_bsr_scratch *work, int64_t *entries);
    void (*fill)(const spryi_bsr *s, const spry_arrays *A, int64_t I, const spryi_bsr_scratch *work);
    /* Sets offsets[row + 1] to the entries of each row of block row I. */
    void (*lengths)(const spryi_bsr *s, int64_t *offsets, int64_t I);
    /* Copies the rows to the positions that summed offsets give. */
    void (*rows)(const spryi_bsr *s, const int64_t *offsets, void *columns, void *values, int64_t I);
    /* Returns NULL or what is wrong with a restored block row, whose offsets rise. Raises *entries by its entries. */
    const char *(*fault)(const spryi_bsr *s, int64_t I, int64_t *entries);
} spryi_bsr_steps;

const spryi_bsr_steps *spryi_bsr_steps_of(spry_type value_type, spry_index_type offset_type,
                                          spry_index_type index_type);

/* Returns a head without blocks; the cost of blocks; the values of blocks, -1 if too many to count. */
spryi_bsr_head spryi_bsr_head_of(const spry_arrays *A, int64_t block);
void spryi_bsr_cost(const spryi_bsr *s, spryi_cost *cost);
int64_t spryi_bsr_value_count(const spryi_bsr_head *h);
/* Returns SPRY_UNSUPPORTED if A has entries at one position and values have a narrower type than vectors. */
spry_status spryi_bsr_check_sums(const spryi_build_request *request, const spryi_bsr_head *h, const spry_arrays *A,
                                 spry_error *err);
int64_t spryi_bsr_bytes_of_masks(const spryi_bsr_head *h);

/*
 * Detection. sample_bytes: bytes of all of A in blocks of this size, by the blocks and entries of the sample; -1 if the
 * padding guard would refuse them. group: the first row of group g, and *end. cheapest: the size of fewest bytes, from
 * blocks[r] and entries[r] of the groups for each size r up to SPRYI_BSR_MOST_DETECTED.
 */
enum { SPRYI_BSR_MOST_GROUPS = 16 };
double spryi_bsr_sample_bytes(const spry_arrays *A, int64_t block, int64_t blocks, int64_t entries);
int64_t spryi_bsr_groups(int64_t rows);
int64_t spryi_bsr_group(int64_t rows, int64_t g, int64_t *end);
int64_t spryi_bsr_cheapest(const spry_arrays *A, const int64_t *blocks, const int64_t *entries);
