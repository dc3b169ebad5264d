/*
 * BSR, block compressed sparse rows.
 *
 *     a b . . c      block 2:  offsets  0 2 3       block row I holds blocks offsets[I] .. offsets[I+1]-1
 *     d e . . .                columns  0 2 1       block J covers columns 2*J, 2*J + 1
 *     . . f g .                values   a d b e   c . . .   f . g .      (. is fill: a stored zero)
 *                              masks    3 3       1 0       1 1
 *
 * Blocks have `block` x `block` values, column after column. Block rows are sorted by block column. Positions of a
 * block that have no entry of A are fill, also positions past the edges of A. If any block has fill, each column of a
 * block has a mask: bit i is set if row i of the column is an entry. A mask has one byte for block sizes up to 8, and
 * two bytes for larger sizes. Multiple entries of A at one position are summed in stored order in f64, and the sum is
 * rounded once.
 *
 * Fill must not turn Inf or NaN of x into NaN of y. Products include fill, since 0 times a finite number changes
 * nothing. If a result of a block row is NaN, the block row is summed again in the same order, this time only the
 * entries that the masks mark. NaN then remains only where entries produce NaN. The transposed product uses the masks
 * if an element of x in the block row is not finite. Masks are not read if x and all sums are finite. x and y are never
 * accessed past their ends: the last elements of x are read from a copy padded with zeros.
 *
 * Invariants: offsets rise from 0 to the number of blocks. Columns rise within a block row. Fill is 0. Mask bits past
 * the edges are 0. Masks exist only if there is fill.
 */
#pragma once

#include "formats/shared/owned_arrays.h"
#include "formats/shared/run_blocks.h"
#include "matrix/columns.h"

#include <stdbool.h>

enum {
    SPRYI_BSR_MOST_BLOCK = 16,
    SPRYI_BSR_MOST_DETECTED = 8,
    SPRYI_BSR_PARTS = 16,       /* most parts of a transposed product */
    SPRYI_BSR_AHEAD = 32,       /* prefetch distance for x, in blocks */
    SPRYI_BSR_COLLECTED = 2048, /* elements of y that the transposed product sums at a time, in the L1 cache */
};

/*
 * Sizes, and the parts of a transposed product. Part p has the block rows from spryi_bsr_cut(s, p, parts) on. It adds
 * to its own sums for block columns window_begin[p] .. window_end[p] - 1.
 */
typedef struct spryi_bsr_head {
    int64_t rows, cols, nnz, block; /* nnz: entries without fill; duplicates count once */
    int64_t block_rows, block_cols, blocks;
    int32_t value_type, offset_type, index_type, parts;
    int64_t window_begin[SPRYI_BSR_PARTS], window_end[SPRYI_BSR_PARTS];
} spryi_bsr_head;

typedef struct spryi_bsr {
    spry_arrays types; /* sizes and types, as in head; first member, as in every storage */
    spryi_bsr_head head;
    void *offsets; /* block_rows + 1 elements of offset_type */
    void *columns; /* `blocks` elements of index_type */
    void *values;  /* blocks * block * block elements of value_type */
    void *masks;   /* blocks * block elements of uint8_t, or of uint16_t for blocks over 8; unused without fill */
} spryi_bsr;

extern const spryi_format spryi_format_bsr;
extern const struct spryi_estimator spryi_bsr_estimator; /* bsr_work.c */
extern const spryi_kernel spryi_bsr_portable_cpu, spryi_bsr_avx2_cpu, spryi_bsr_avx512_cpu;
extern const spryi_kernel spryi_bsr_blocks_cuda;

/* Arguments of a product's kernel. */
typedef struct spryi_bsr_job {
    spryi_run_args args; /* first member, since the driver passes a pointer to it */
    const void *offsets, *columns, *values;
    const void *masks; /* NULL: no fill */
    spry_index_type offset_type, index_type;
    spryi_scalar alpha, beta;
    int64_t block, rows, blocks, chunks; /* chunks: number of ranges of block rows of about equal work */
    int64_t tail_column;                 /* block column that extends past the end of x; its x is in `tail`; -1: none */
    double tail[SPRYI_BSR_MOST_BLOCK];
    /*
     * Sums block row I times vector `column`, without fill. The order of additions equals that of a product with one
     * vector.
     */
    void (*again)(const struct spryi_bsr_job *job, int64_t I, int64_t column, void *sum);
} spryi_bsr_job;

/* Returns the first block of block row I. */
static inline int64_t spryi_bsr_offset(const spryi_bsr_job *job, int64_t I)
{
    return spryi_index_at(job->offsets, job->offset_type, I);
}

/* Column indices of blocks. Kernels have one instance for both index widths, and test the width for each block. */
typedef struct spryi_bsr_columns {
    const void *at;
    bool is_wide; /* 64-bit indices */
} spryi_bsr_columns;

static inline spryi_bsr_columns spryi_bsr_columns_of(const spryi_bsr_job *job)
{
    return (spryi_bsr_columns){job->columns, job->index_type == SPRY_I64};
}

SPRYI_INLINE int64_t spryi_bsr_column(spryi_bsr_columns columns, int64_t b)
{
    if (__builtin_expect(columns.is_wide, 0)) return ((const int64_t *)columns.at)[b];
    return ((const int32_t *)columns.at)[b];
}

/* Block size and storage size predicted from a sample of rows. */
typedef struct spryi_bsr_guess {
    int64_t block; /* 1: no block size saves bytes */
    double bytes;
} spryi_bsr_guess;

/*
 * Predicts the block size from a sample of rows. longest: length of the longest row. Leaves *guess unchanged if the
 * sample has no entries, or if counting would need too much memory.
 */
struct spryi_column_reader;
spry_status spryi_bsr_guess_of(spry_context *context, spryi_bsr_guess *guess, struct spryi_column_reader *reader,
                               int64_t longest, spryi_effort effort, spry_error *err);

/*
 * spryi_bsr_job_of returns the job of a product, without a tail. spryi_bsr_pad_x sets tail_column and, for a product
 * with one vector, tail.
 */
spryi_bsr_job spryi_bsr_job_of(const spryi_run_args *args);
void spryi_bsr_pad_x(spryi_bsr_job *job);

/* Returns the first block row of part `part` of `parts` of about equal work. */
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

/* Returns the mask of a block's column. at = b * block + j for column j of block b. */
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

/* Scratch memory of one thread for one block row at a time. */
typedef struct spryi_bsr_scratch {
    void *slots;     /* of index_type: position of a block column in `list`, -1 if absent; all -1 between uses */
    int64_t mask;    /* 0: slots is indexed by block column; else slots is a hash table of mask + 1 elements */
    void *list;      /* of index_type: block columns of the block row */
    uint16_t *masks; /* `block` masks for each block */
    double *sums;    /* block * block sums for each block; NULL if values are f64, which are summed in place */
} spryi_bsr_scratch;

/* Conversion steps by type. A block row is `block` rows of A. */
typedef struct spryi_bsr_steps {
    /* Returns the number of blocks of block row I. Adds its number of entries, without duplicates, to *entries. */
    int64_t (*count)(const spry_arrays *A, int64_t block, int64_t I, const spryi_bsr_scratch *work, int64_t *entries);
    void (*fill)(const spryi_bsr *s, const spry_arrays *A, int64_t I, const spryi_bsr_scratch *work);
    /* Sets offsets[row + 1] to the number of entries of each row of block row I. */
    void (*lengths)(const spryi_bsr *s, int64_t *offsets, int64_t I);
    /* Copies the rows of block row I to CSR arrays, at the positions that `offsets` contains. */
    void (*rows)(const spryi_bsr *s, const int64_t *offsets, void *columns, void *values, int64_t I);
    /*
     * Checks a block row read from a file. The caller has checked that s->offsets rise. Returns NULL or the fault. Adds
     * the block row's number of entries to *entries.
     */
    const char *(*fault)(const spryi_bsr *s, int64_t I, int64_t *entries);
} spryi_bsr_steps;

const spryi_bsr_steps *spryi_bsr_steps_of(spry_type value_type, spry_index_type offset_type,
                                          spry_index_type index_type);

/*
 * spryi_bsr_head_of returns the head before blocks are counted. spryi_bsr_cost sets *cost to the storage cost.
 * spryi_bsr_value_count returns the number of stored values, or -1 if the number overflows.
 */
spryi_bsr_head spryi_bsr_head_of(const spry_arrays *A, int64_t block);
void spryi_bsr_cost(const spryi_bsr *s, spryi_cost *cost);
int64_t spryi_bsr_value_count(const spryi_bsr_head *h);
/* Returns SPRY_UNSUPPORTED if A has duplicates and values are stored in a narrower type than the vectors'. */
spry_status spryi_bsr_check_sums(const spryi_build_request *request, const spryi_bsr_head *h, const spry_arrays *A,
                                 spry_error *err);
int64_t spryi_bsr_bytes_of_masks(const spryi_bsr_head *h);

/*
 * Functions for block size detection. spryi_bsr_sample_bytes returns the bytes of all of A with this block size,
 * extrapolated from the blocks and entries of a sample, or -1 if the padding guard would refuse the size.
 * spryi_bsr_groups returns the number of groups of rows to sample. spryi_bsr_group returns the first row of group g and
 * sets *end to the row after its last. spryi_bsr_cheapest returns the block size with the fewest bytes; blocks[r] and
 * entries[r] are the counts of the sample for size r.
 */
enum { SPRYI_BSR_MOST_GROUPS = 16 };
double spryi_bsr_sample_bytes(const spry_arrays *A, int64_t block, int64_t blocks, int64_t entries);
int64_t spryi_bsr_groups(int64_t rows);
int64_t spryi_bsr_group(int64_t rows, int64_t g, int64_t *end);
int64_t spryi_bsr_cheapest(const spry_arrays *A, const int64_t *blocks, const int64_t *entries);
