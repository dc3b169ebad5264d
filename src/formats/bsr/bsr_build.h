/* The steps that make BSR of CSR. */
#pragma once

#include "formats/bsr/bsr.h"

/* A thread's scratch memory for one block row at a time. */
typedef struct spryi_bsr_scratch {
    void *slots;     /* of index_type: where a block column is in list; -1: not there. Left at -1 */
    int64_t mask;    /* 0: slots has one element a block column; else it is a hash table of mask + 1 elements */
    void *list;      /* of index_type: the block columns of the row */
    uint16_t *masks; /* block of each */
    double *sums;    /* block * block of each, for types narrower than f64; NULL for f64 */
} spryi_bsr_scratch;

/* bsr_blocks.c: the steps, by type. A block row is `block` rows of A. */
typedef struct spryi_bsr_steps {
    /* how many blocks block row I takes; *entries += its entries, those at one position once */
    int64_t (*count)(const spry_arrays *A, int64_t block, int64_t I, const spryi_bsr_scratch *work, int64_t *entries);
    void (*fill)(const spryi_bsr *s, const spry_arrays *A, int64_t I, const spryi_bsr_scratch *work);
    /* entries of each row of block row I into offsets[row + 1]; then, offsets summed up, the rows themselves */
    void (*lengths)(const spryi_bsr *s, int64_t *offsets, int64_t I);
    void (*rows)(const spryi_bsr *s, const int64_t *offsets, void *columns, void *values, int64_t I);
    /* NULL, or what is wrong with a restored block row, whose offsets are known to rise; *entries += its entries */
    const char *(*fault)(const spryi_bsr *s, int64_t I, int64_t *entries);
} spryi_bsr_steps;

const spryi_bsr_steps *spryi_bsr_steps_of(spry_type value_type, spry_index_type offset_type,
                                          spry_index_type index_type);

/*
 * bsr_detect.c: resolves s->head and s->offsets (owned by the caller, also on failure) for the request: block as
 * given, or detected. Nothing else of s is touched. *most: blocks of a block row.
 */
spry_status spryi_bsr_survey(spry_context *context, spryi_bsr *s, int64_t *most, const spryi_build_request *request,
                             spry_error *err);

/* bsr_detect.c: scratch for `threads` threads of block rows of up to `most` blocks, and back. */
spry_status spryi_bsr_scratch_make(spry_context *context, spryi_bsr_scratch *work, int threads, const spry_arrays *A,
                                   int64_t block, int64_t most, int with_sums, spry_error *err);
void spryi_bsr_scratch_release(spry_context *context, spryi_bsr_scratch *work, int threads);

/* bsr_cost.c: a head without blocks yet, and what one with them takes; -1: more than can be counted. */
spryi_bsr_head spryi_bsr_head_of(const spry_arrays *A, int64_t block);
void spryi_bsr_cost(const spryi_bsr *s, spryi_cost *cost);
int64_t spryi_bsr_value_count(const spryi_bsr_head *h);
/* SPRY_UNSUPPORTED where A has entries at one position, whose sum would be rounded to less than vectors are. */
spry_status spryi_bsr_check_sums(const spryi_build_request *request, const spryi_bsr_head *h, const spry_arrays *A,
                                 spry_error *err);
int64_t spryi_bsr_bytes_of_masks(const spryi_bsr_head *h);

/*
 * bsr_cost.c: bytes that blocks of this size take of all of A, or -1 where the padding guard would refuse them;
 * blocks and entries are of the sample. Then the groups of rows that detection looks at, each from the first to
 * *end - 1; and the size of fewest bytes, given blocks[r] and entries[r] of the groups for each size r up to
 * SPRYI_BSR_MOST_DETECTED.
 */
enum { SPRYI_BSR_MOST_GROUPS = 16 };
double spryi_bsr_sample_bytes(const spry_arrays *A, int64_t block, int64_t blocks, int64_t entries);
int64_t spryi_bsr_groups(int64_t rows);
int64_t spryi_bsr_group(int64_t rows, int64_t g, int64_t *end);
int64_t spryi_bsr_cheapest(const spry_arrays *A, const int64_t *blocks, const int64_t *entries);
