/*
 * Decisions about windowed that the host's build and the device's share. Both give the same bits because this code is
 * the same.
 *
 * The steps, each parallel over rows or windows:
 *   1  hash of every row's pattern; the leader of a row is the first row of the same hash, if its pattern is equal,
 *      else the row itself. Rows of over SPRYI_WINDOWED_LONG entries have no leader: they lie apart.
 *   2  run and stride, by a sample of rows (spryi_windowed_sample): the largest run from 2 to MOST_RUN of which 3 in 4
 *      of the rows sampled are made, stride 1 before cols/run; 1 unless there are at most 2 leaders for 3 rows. Of a
 *      square matrix a sampled row counts where half of its runs join columns whose rows have one leader: else a row
 *      of blocks of 2 that follow each other would be one of runs of 3.
 *      After that a row is made of runs, or it is not, whatever it joins.
 *   3  cells, of square matrices, in rounds that all leaders take together: leaders whose seed hash is 0 modulo
 *      `spacing` get their own number as a label; in each of up to SPRYI_WINDOWED_ROUNDS rounds the leaders that got a
 *      label in the round before offer it to the leaders of their columns, and those without a label take, of what
 *      they are offered, the one whose mark is the least. Leaders that are never reached get their own number less its
 *      remainder modulo the window.
 *   4  order: rows by (made of runs first; label of the leader, if there are cells; leader; row).
 *      Cells are kept where they save columns: spryi_windowed_cells_pay, by windows sampled under both orders.
 *   5  windows: rows made of runs are cut at multiples of `window` from the first of them on, the others from the first
 *      of those on. A window of up to `size` rows, size over 32, whose rows meet more than SPRYI_WINDOWED_NUMBERS / run
 *      runs, is cut in two: the first spryi_windowed_half(size) rows, and the rest, of up to size less that; and so on.
 *      The size is nominal: where rows end before, a window has fewer.
 *   6  inside a window: rows by (falling length, order); dictionary; slices.
 */
#pragma once

#include "formats/windowed/windowed.h"

#ifdef __CUDACC__
#define SPRYI_WINDOWED_INLINE static __host__ __device__ __forceinline__
#else
#define SPRYI_WINDOWED_INLINE static inline
#endif

enum {
    SPRYI_WINDOWED_SAMPLES = 256, /* rows, for the run */
    SPRYI_WINDOWED_SAMPLED = 32,  /* windows, for the cells */
    SPRYI_WINDOWED_ROUNDS = 24,
};

/* Orders that may be asked for. */
enum { SPRYI_WINDOWED_NATURAL = 1, SPRYI_WINDOWED_CELLS = 2 };

/* The parts of each array that windows take; summed up over the windows before, where they begin. */
typedef struct spryi_windowed_counts {
    int64_t windows, slices, pages, numbers, units, slots, staged; /* staged: the most of a window */
} spryi_windowed_counts;

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection. */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_hash(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* What entry k of a row, at column j, adds to the hash of the row's pattern, modulo 2^64; a row's hash begins with */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_hash_of_entry(int64_t k, int64_t j)
{
    return spryi_windowed_hash((uint64_t)j * 0x9E3779B97F4A7C15u + (uint64_t)k);
}
/* ... that of its length. */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_hash_of_length(int64_t length)
{
    return spryi_windowed_hash(~(uint64_t)length);
}

/*
 * Rows of a window where none are asked for. A GPU runs SPRYI_WINDOWED_AT_ONCE windows at a time, which take about as
 * long: so many windows that they come in as few rounds as MOST_ROWS allows, each of which is nearly full.
 */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_default_rows(int64_t rows)
{
    const int64_t at_once = SPRYI_WINDOWED_AT_ONCE, lanes = SPRYI_WINDOWED_LANES;
    const int64_t rounds = (rows + at_once * SPRYI_WINDOWED_MOST_ROWS - 1) / (at_once * SPRYI_WINDOWED_MOST_ROWS);
    const int64_t own = rounds > 0 ? (rows + at_once * rounds - 1) / (at_once * rounds) : 0;
    const int64_t window = (own + lanes - 1) / lanes * lanes;
    return window > SPRYI_WINDOWED_LEAST_ROWS ? window : (int64_t)SPRYI_WINDOWED_LEAST_ROWS;
}

/* A seed for so many leaders: two cells a window. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_spacing(int64_t window, int64_t leaders, int64_t rows)
{
    const int64_t spacing = rows > 0 ? window / 2 * leaders / rows : 1;
    return spacing > 1 ? spacing : 1;
}

/* The n-th of `samples` out of `count`, at even distances. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_sample(int64_t count, int64_t n, int64_t samples)
{
    return count * n / samples;
}

/* 1 where so many of the rows that were seen are made of runs that the matrix is. */
SPRYI_WINDOWED_INLINE int spryi_windowed_mostly_runs(int64_t seen, int64_t made)
{
    return seen > 0 && 4 * made >= 3 * seen;
}

/* 1 where so many of a row's runs join columns of one group that they are runs of unknowns. */
SPRYI_WINDOWED_INLINE int spryi_windowed_mostly_joined(int64_t runs, int64_t joined)
{
    return 2 * joined >= runs;
}

/* 1 where groups have rows enough for blocks: at most 2 leaders for 3 rows. */
SPRYI_WINDOWED_INLINE int spryi_windowed_has_groups(int64_t leaders, int64_t rows)
{
    return 3 * leaders <= 2 * rows;
}

SPRYI_WINDOWED_INLINE int spryi_windowed_is_seed(int64_t leader, int64_t spacing)
{
    return spryi_windowed_hash((uint64_t)leader) % (uint64_t)spacing == 0;
}

/*
 * How a leader was reached: the round, and below it the mark of its label, so that the least of what it is offered is
 * what it takes, and what it has taken stays. The mark is a bijection of the label, by the same steps backwards.
 */
static const uint64_t SPRYI_WINDOWED_UNREACHED = UINT64_MAX;

SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_reached(int round, uint32_t label)
{
    uint32_t mark = (label ^ label >> 16) * 0x9E3779B1u;
    mark ^= mark >> 16;
    return (uint64_t)round << 32 | mark;
}

/* What a leader that was reached so offers. */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_offer(uint64_t reached)
{
    return reached + ((uint64_t)1 << 32);
}

SPRYI_WINDOWED_INLINE int spryi_windowed_was_reached_in(uint64_t reached, int round)
{
    return reached >> 32 == (uint64_t)round;
}

/* The cell of a leader. */
SPRYI_WINDOWED_INLINE uint32_t spryi_windowed_cell(uint64_t reached, int64_t leader, int64_t window)
{
    uint32_t mark = (uint32_t)reached;
    if (reached == SPRYI_WINDOWED_UNREACHED) return (uint32_t)(leader - leader % window);
    mark = (mark ^ mark >> 16) * 0x0E8B2F51u;
    return mark ^ mark >> 16;
}

/* Cells need a graph, rows that are columns, and windows that may gain. asked: see SPRYI_WINDOWED_CELLS. */
SPRYI_WINDOWED_INLINE int spryi_windowed_may_have_cells(int64_t rows, int64_t cols, int64_t in_windows, int64_t window,
                                                        int64_t asked)
{
    enum { LEAST = 4 };
    return rows == cols && asked != SPRYI_WINDOWED_NATURAL && in_windows >= LEAST * window;
}

/* Rows of equal keys stay in their order. */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_key(uint32_t cell, uint32_t leader)
{
    return (uint64_t)cell << 32 | leader;
}

/* Columns of sampled windows, of rows in cells and of rows as they are. */
SPRYI_WINDOWED_INLINE int spryi_windowed_cells_pay(int64_t in_cells, int64_t natural)
{
    return in_cells * 10 <= natural * 9;
}

/* Rows of the first half of a window of up to `size` rows. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_half(int64_t size)
{
    return (size + 2 * SPRYI_WINDOWED_LANES - 1) / (2 * SPRYI_WINDOWED_LANES) * SPRYI_WINDOWED_LANES;
}

SPRYI_WINDOWED_INLINE int spryi_windowed_bits(int64_t run, int64_t columns)
{
    return run == 1 && columns <= 1 << SPRYI_WINDOWED_SHORT_BITS ? SPRYI_WINDOWED_SHORT_BITS : 16;
}

/* Words of a group of `length` runs. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_words(int64_t length, int bits)
{
    return (length * bits + 31) / 32;
}

/* Bytes of a slice's indices before its words. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_head_bytes(int groups)
{
    return (groups < SPRYI_WINDOWED_LANES ? SPRYI_WINDOWED_LANES : 0) + (groups + 1) / 2 * 4;
}

SPRYI_WINDOWED_INLINE int64_t spryi_windowed_units(int64_t bytes)
{
    return (bytes + SPRYI_WINDOWED_UNIT - 1) / SPRYI_WINDOWED_UNIT;
}

/* windowed_cost.c: SPRY_TOO_LARGE where the sizes of s pass what its records count; the arrays of s, and their cost. */
spry_status spryi_windowed_check_sizes(const spryi_windowed *s, spry_error *err);
enum { SPRYI_WINDOWED_ARRAYS = 12 };
int spryi_windowed_arrays(void *storage, spryi_section *list);
void spryi_windowed_cost(spryi_cost *cost, const spryi_windowed *s);
/* The window that is asked for, or suits the matrix, in s->window. Parameters of the format in their order: */
enum { SPRYI_WINDOWED_ASKED_WINDOW, SPRYI_WINDOWED_ASKED_ORDER };
void spryi_windowed_resolve(spryi_windowed *s, const spryi_build_request *request);
