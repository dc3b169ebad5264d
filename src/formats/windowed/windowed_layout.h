/*
 * Decisions that the host's and the device's build of windowed share, so that both build the same bits.
 *
 * The steps, each parallel over rows or windows:
 *   1  Hash the pattern of every row. The leader of a row is the first row with an equal hash if their patterns are
 *      equal, else the row itself. Rows with more than SPRYI_WINDOWED_LONG entries have no leader and are stored as
 *      CSR.
 *   2  Find run and stride from a sample of rows (spryi_windowed_sample). The run is the largest from 2 to MOST_RUN
 *      such that at least 3 of 4 sampled rows consist of runs. Stride 1 is tried before stride cols/run. The run is 1
 *      if there are more than 2 leaders per 3 rows. In a square matrix, a sampled row only counts if for at least half
 *      of its runs the rows of the run's columns have one leader. Without this condition, a row of consecutive blocks
 *      of 2 would count as a row of runs of 3. In later steps, only the row's own pattern decides whether the row
 *      consists of runs.
 *   3  Build cells, for square matrices. Leaders whose seed hash is 0 modulo `spacing` get their row index as label. In
 *      each of up to SPRYI_WINDOWED_ROUNDS rounds, leaders that got a label in the previous round offer it to the
 *      leaders of their columns. Leaders without a label accept the offered label with the smallest mark (a hash of the
 *      label). Leaders that are never reached get their row index, rounded down to a multiple of the window, as label.
 *   4  Sort rows by (consists of runs; label of the leader, if there are cells; leader; row). Rows of runs come first.
 *      Cells are kept if sampled windows have clearly fewer columns than in natural order: spryi_windowed_cells_pay.
 *   5  Cut windows. Rows of runs are cut into windows of `window` rows, beginning with the first such row. The
 *      remaining rows are cut in the same way, beginning with the first of them. If a window of nominal size `size` >
 *      32 has more than SPRYI_WINDOWED_NUMBERS / run runs, it is cut in two, recursively: the first
 *      spryi_windowed_half(size) rows, and a rest of nominal size `size` minus that half. The last window may have
 *      fewer rows than its nominal size.
 *   6  In each window: sort rows by (decreasing length, order); build the dictionary and the slices.
 */
#pragma once

#include "formats/windowed/windowed.h"

#ifdef __CUDACC__
#define SPRYI_WINDOWED_INLINE static __host__ __device__ __forceinline__
#else
#define SPRYI_WINDOWED_INLINE static inline
#endif

enum {
    SPRYI_WINDOWED_SAMPLES = 256, /* rows sampled to find the run */
    SPRYI_WINDOWED_SAMPLED = 32,  /* windows sampled to decide about cells */
    SPRYI_WINDOWED_ROUNDS = 24,
};

/* Values of the parameter order. */
enum { SPRYI_WINDOWED_NATURAL = 1, SPRYI_WINDOWED_CELLS = 2 };

/* Sizes of a window. A prefix sum over windows gives the position of each window in the arrays. */
typedef struct spryi_windowed_counts {
    int64_t windows, slices, pages, numbers, units, slots, staged; /* staged: maximum over windows, not a sum */
} spryi_windowed_counts;

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection. */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_hash(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/*
 * Returns the contribution of entry k of a row, at column j, to the hash of the row's pattern. A row's hash is the sum
 * of its entries' contributions and of spryi_windowed_hash_of_length, modulo 2^64.
 */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_hash_of_entry(int64_t k, int64_t j)
{
    return spryi_windowed_hash((uint64_t)j * 0x9E3779B97F4A7C15u + (uint64_t)k);
}
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_hash_of_length(int64_t length)
{
    return spryi_windowed_hash(~(uint64_t)length);
}

/*
 * Returns the default rows of a window. A GPU runs SPRYI_WINDOWED_AT_ONCE windows concurrently, each in about the same
 * time. With the default, the GPU runs all windows in the least number of full rounds that MOST_ROWS allows.
 */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_default_rows(int64_t rows)
{
    const int64_t at_once = SPRYI_WINDOWED_AT_ONCE, lanes = SPRYI_WINDOWED_LANES;
    const int64_t rounds = (rows + at_once * SPRYI_WINDOWED_MOST_ROWS - 1) / (at_once * SPRYI_WINDOWED_MOST_ROWS);
    const int64_t own = rounds > 0 ? (rows + at_once * rounds - 1) / (at_once * rounds) : 0;
    const int64_t window = (own + lanes - 1) / lanes * lanes;
    return window > SPRYI_WINDOWED_LEAST_ROWS ? window : (int64_t)SPRYI_WINDOWED_LEAST_ROWS;
}

/* Returns the number of leaders per seed, such that a window has two cells on average. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_spacing(int64_t window, int64_t leaders, int64_t rows)
{
    const int64_t spacing = rows > 0 ? window / 2 * leaders / rows : 1;
    return spacing > 1 ? spacing : 1;
}

/* Returns the index of sample n of `samples`, equally spaced in `count`. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_sample(int64_t count, int64_t n, int64_t samples)
{
    return count * n / samples;
}

/* Returns true if enough sampled rows consist of runs for the matrix to have runs. */
SPRYI_WINDOWED_INLINE bool spryi_windowed_mostly_runs(int64_t seen, int64_t matching)
{
    return seen > 0 && 4 * matching >= 3 * seen;
}

/*
 * Returns true if at least half of a row's runs are joined. A run is joined if the rows of its columns belong to one
 * group, as the unknowns of a node do.
 */
SPRYI_WINDOWED_INLINE bool spryi_windowed_mostly_joined(int64_t runs, int64_t joined)
{
    return 2 * joined >= runs;
}

/* Returns true if groups have enough rows for blocks: at most 2 leaders per 3 rows. */
SPRYI_WINDOWED_INLINE bool spryi_windowed_has_groups(int64_t leaders, int64_t rows)
{
    return 3 * leaders <= 2 * rows;
}

SPRYI_WINDOWED_INLINE bool spryi_windowed_is_seed(int64_t leader, int64_t spacing)
{
    return spryi_windowed_hash((uint64_t)leader) % (uint64_t)spacing == 0;
}

/*
 * The state of a leader in step 3: the round in which it got its label, and in the low 32 bits the mark of the label.
 * A leader keeps the least state that is offered to it. States of earlier rounds are smaller, so they remain. The mark
 * is a bijection of the label. spryi_windowed_cell inverts it.
 */
static const uint64_t SPRYI_WINDOWED_UNREACHED = UINT64_MAX;

SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_reached(int round, uint32_t label)
{
    uint32_t mark = (label ^ label >> 16) * 0x9E3779B1u;
    mark ^= mark >> 16;
    return (uint64_t)round << 32 | mark;
}

/* Returns the state that a leader in state `reached` offers to its neighbours. */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_offer(uint64_t reached)
{
    return reached + ((uint64_t)1 << 32);
}

SPRYI_WINDOWED_INLINE bool spryi_windowed_was_reached_in(uint64_t reached, int round)
{
    return reached >> 32 == (uint64_t)round;
}

/* Returns the cell of a leader. */
SPRYI_WINDOWED_INLINE uint32_t spryi_windowed_cell(uint64_t reached, int64_t leader, int64_t window)
{
    uint32_t mark = (uint32_t)reached;
    if (reached == SPRYI_WINDOWED_UNREACHED) return (uint32_t)(leader - leader % window);
    mark = (mark ^ mark >> 16) * 0x0E8B2F51u;
    return mark ^ mark >> 16;
}

/* Returns true if cells may be built: square matrix, at least LEAST windows of rows, natural order not requested. */
SPRYI_WINDOWED_INLINE bool spryi_windowed_may_have_cells(int64_t rows, int64_t cols, int64_t in_windows, int64_t window,
                                                         int64_t asked)
{
    enum { LEAST = 4 };
    return rows == cols && asked != SPRYI_WINDOWED_NATURAL && in_windows >= LEAST * window;
}

/* Sort key of a row. The sort is stable. */
SPRYI_WINDOWED_INLINE uint64_t spryi_windowed_key(uint32_t cell, uint32_t leader)
{
    return (uint64_t)cell << 32 | leader;
}

/*
 * Returns true if cells save enough columns. in_cells, natural: number of columns of the sampled windows with rows
 * ordered by cells, and in natural order.
 */
SPRYI_WINDOWED_INLINE bool spryi_windowed_cells_pay(int64_t in_cells, int64_t natural)
{
    return in_cells * 10 <= natural * 9;
}

/* Returns the number of rows of the first half of a window of nominal size `size`. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_half(int64_t size)
{
    return (size + 2 * SPRYI_WINDOWED_LANES - 1) / (2 * SPRYI_WINDOWED_LANES) * SPRYI_WINDOWED_LANES;
}

SPRYI_WINDOWED_INLINE int spryi_windowed_bits(int64_t run, int64_t columns)
{
    return run == 1 && columns <= 1 << SPRYI_WINDOWED_SHORT_BITS ? SPRYI_WINDOWED_SHORT_BITS : 16;
}

/* Returns the number of words that hold the indices of a group of `length` runs. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_words(int64_t length, int bits)
{
    return (length * bits + 31) / 32;
}

/* Returns the bytes of a slice's indices before its words. */
SPRYI_WINDOWED_INLINE int64_t spryi_windowed_head_bytes(int groups)
{
    return (groups < SPRYI_WINDOWED_LANES ? SPRYI_WINDOWED_LANES : 0) + (groups + 1) / 2 * 4;
}

SPRYI_WINDOWED_INLINE int64_t spryi_windowed_units(int64_t bytes)
{
    return (bytes + SPRYI_WINDOWED_UNIT - 1) / SPRYI_WINDOWED_UNIT;
}

/*
 * Returns SPRY_TOO_LARGE if the sizes of s exceed what its records can count. windowed_cost.c defines these functions.
 */
spry_status spryi_windowed_check_sizes(const spryi_windowed *s, spry_error *err);
enum { SPRYI_WINDOWED_ARRAYS = 12 };
int spryi_windowed_arrays(void *storage, spryi_section *list);
void spryi_windowed_cost(spryi_cost *cost, const spryi_windowed *s);
/* spryi_windowed_resolve sets s->window to the requested or default window. Positions of the format's parameters: */
enum { SPRYI_WINDOWED_ASKED_WINDOW, SPRYI_WINDOWED_ASKED_ORDER };
void spryi_windowed_resolve(spryi_windowed *s, const spryi_build_request *request);
