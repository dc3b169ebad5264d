#include "core/assemble.h"
#include "formats/sell/sell.h"

/* Slots and rows before chunk k. */
static int64_t cost_of(const spryi_sell *s, int64_t k)
{
    return s->offsets[k] + s->c * k;
}

static int64_t block_cost(const spryi_sell *s)
{
    int64_t cost = cost_of(s, s->chunk_count) / SPRYI_SELL_BLOCKS;
    return cost < SPRYI_SELL_LEAST_COST   ? SPRYI_SELL_LEAST_COST
           : cost > SPRYI_SELL_BLOCK_COST ? SPRYI_SELL_BLOCK_COST
                                          : cost;
}

int64_t spryi_sell_block_count(const spryi_sell *s)
{
    return (cost_of(s, s->chunk_count) + block_cost(s) - 1) / block_cost(s);
}

int64_t spryi_sell_block_begin(const spryi_sell *s, int64_t b)
{
    int64_t low = 0, high = s->chunk_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (cost_of(s, middle) < b * block_cost(s))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

spry_status spryi_sell_drive(const spryi_run_args *args, spryi_sell_leaf leaf)
{
    const spryi_sell *s = args->storage;
    const spryi_sell_job job = {
        .s = s,
        .x = args->x,
        .y = args->y,
        .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
        .beta = spryi_value_at(args->beta, args->vector_type, 0),
    };
    const int64_t blocks = spryi_sell_block_count(s);
    int threads = args->threads < blocks ? args->threads : (int)blocks;
    if (threads <= 1) {
        leaf(&job, 0, s->chunk_count);
        return SPRY_OK;
    }
    /* static: a thread meets the same rows in every run, so they stay in its cache and on its node */
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++) leaf(&job, spryi_sell_block_begin(s, b), spryi_sell_block_begin(s, b + 1));
    return SPRY_OK;
}
