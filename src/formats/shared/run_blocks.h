/*
 * The driver of CPU kernels: runs blocks of work on the threads of one product.
 *
 * A kernel cuts its work into blocks that depend only on the matrix, and has a function that computes a range of
 * blocks. The result of a block must not depend on the thread, so any number of threads gives the same bits. Each
 * thread begins with blocks of its own, the same in every run, and then takes blocks that other threads have not begun
 * (base/pool.h). With one thread, all blocks are one range.
 *
 *     static void SPRY_FN(rows)(const spryi_run_args *args, int64_t begin, int64_t end) { ... }
 *
 *     static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
 *     {
 *         return spryi_run_blocks(args, block_count, SPRY_FN(rows));
 *     }
 *
 * A kernel that needs more data than args defines a struct whose first member is args, and casts the pointer.
 */
#pragma once

#include "core/kernel.h"

/* Computes blocks begin .. end - 1. */
typedef void (*spryi_block_fn)(const spryi_run_args *args, int64_t begin, int64_t end);

/* A step of a product. It begins after all blocks of the previous step are done. */
typedef struct spryi_step {
    int64_t blocks;
    spryi_block_fn run;
} spryi_step;

/* Run one step, or multiple steps in order, on at most args->threads threads. They always return SPRY_OK. */
spry_status spryi_run_blocks(const spryi_run_args *args, int64_t blocks, spryi_block_fn run);
spry_status spryi_run_steps(const spryi_run_args *args, const spryi_step *steps, int count);

/* Returns the arguments of a product with vector c of column-major vectors. */
spryi_run_args spryi_vector_of(const spryi_run_args *args, int64_t c);

/*
 * Static scheduling: cuts the units into equal, consecutive shares, one per thread, the same in every run. Threads do
 * not take work from each other, so uneven units cause imbalance. Only kernels whose papers use static scheduling call
 * this function.
 */
spry_status spryi_run_shares(const spryi_run_args *args, int64_t units, spryi_block_fn run);

/* Bounds of blocks: `count` items are cut into blocks of `size`; the last may be smaller. */
static inline int64_t spryi_blocks_of(int64_t count, int64_t size)
{
    return count / size + (count % size > 0);
}

static inline int64_t spryi_block_end(int64_t b, int64_t size, int64_t count)
{
    return (b + 1) * size < count ? (b + 1) * size : count;
}

/* Calls function(..., 1) if `wide` is true, else function(..., 0), so that the function gets a constant. */
#define SPRYI_BY_WIDTH(wide, function, ...)                                                                            \
    if (wide)                                                                                                          \
        function(__VA_ARGS__, 1);                                                                                      \
    else                                                                                                               \
        function(__VA_ARGS__, 0);
