#include "formats/shared/run_blocks.h"

#include "base/pool.h"

typedef struct step_under_way {
    const spryi_run_args *args;
    spryi_block_fn run;
} step_under_way;

static void run_range(const void *argument, int64_t begin, int64_t end)
{
    const step_under_way *step = argument;
    step->run(step->args, begin, end);
}

spry_status spryi_run_blocks(const spryi_run_args *args, int64_t blocks, spryi_block_fn run)
{
    const step_under_way step = {args, run};
    if (args->threads > 1 && blocks > 1)
        spryi_parallel_blocks(args->pool, args->threads, blocks, run_range, &step);
    else if (blocks > 0)
        run(args, 0, blocks);
    return SPRY_OK;
}

spryi_run_args spryi_vector_of(const spryi_run_args *args, int64_t c)
{
    const int64_t bytes = c * (int64_t)spry_type_bytes(args->vector_type);
    spryi_run_args one = *args;
    one.x = (const char *)args->x + bytes * args->x_column_stride;
    one.y = (char *)args->y + bytes * args->y_column_stride;
    one.columns = 1;
    return one;
}

typedef struct shares {
    const spryi_run_args *args;
    spryi_block_fn run;
    int64_t units;
    int count;
} shares;

static void run_share(void *argument, int index)
{
    const shares *s = argument;
    s->run(s->args, s->units * index / s->count, s->units * (index + 1) / s->count);
}

spry_status spryi_run_shares(const spryi_run_args *args, int64_t units, spryi_block_fn run)
{
    const int threads = args->threads > 1 ? args->threads : 1;
    shares s = {args, run, units, units < threads ? (int)units : threads};
    spryi_parallel(args->pool, s.count, run_share, &s);
    return SPRY_OK;
}

spry_status spryi_run_steps(const spryi_run_args *args, const spryi_step *steps, int count)
{
    for (int s = 0; s < count; s++) spryi_run_blocks(args, steps[s].blocks, steps[s].run);
    return SPRY_OK;
}
