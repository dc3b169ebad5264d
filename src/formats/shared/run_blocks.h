/*
 * The driver of CPU kernels: runs blocks of work on the threads of one product.
 *
 * A kernel cuts its work into blocks by the matrix alone and writes a function that works off a range of them; nothing
 * that a block computes may depend on who runs it, so any number of threads gives the same bits. Each thread begins
 * with blocks of its own, the same in every run, and then takes what others have left (base/pool.h). One thread gets
 * all blocks in one range.
 *
 *     static void SPRY_FN(rows)(const spryi_run_args *args, int64_t begin, int64_t end) { ... }
 *
 *     static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
 *     {
 *         return spryi_run_blocks(args, block_count, SPRY_FN(rows));
 *     }
 *
 * A kernel that needs more than args makes them the first member of a struct of its own and casts.
 */
#pragma once

#include "core/kernel.h"

/* Works off blocks begin .. end - 1. */
typedef void (*spryi_block_fn)(const spryi_run_args *args, int64_t begin, int64_t end);

/* A step of a product. It begins when all blocks of the step before are done. */
typedef struct spryi_step {
    int64_t blocks;
    spryi_block_fn run;
} spryi_step;

/* Both run on at most args->threads threads and cannot fail: they return SPRY_OK. */
spry_status spryi_run_blocks(const spryi_run_args *args, int64_t blocks, spryi_block_fn run);
spry_status spryi_run_steps(const spryi_run_args *args, const spryi_step *steps, int count);

/*
 * Static: as many equal, consecutive shares of the units as there are threads, the same in every run. Nobody takes what
 * is another's share, so a thread whose units are more work is waited for: for kernels of papers that do so.
 */
spry_status spryi_run_shares(const spryi_run_args *args, int64_t units, spryi_block_fn run);

/* The bounds of block b where `count` items are cut into blocks of `size`, the last of which may be shorter. */
static inline int64_t spryi_blocks_of(int64_t count, int64_t size)
{
    return count / size + (count % size > 0);
}

static inline int64_t spryi_block_end(int64_t b, int64_t size, int64_t count)
{
    return (b + 1) * size < count ? (b + 1) * size : count;
}

/* function(..., wide) with wide, 0 or 1, as a constant. */
#define SPRYI_BY_WIDTH(wide, function, ...)                                                                            \
    if (wide)                                                                                                          \
        function(__VA_ARGS__, 1);                                                                                      \
    else                                                                                                               \
        function(__VA_ARGS__, 0);
