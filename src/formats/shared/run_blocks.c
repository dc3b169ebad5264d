#include "formats/shared/run_blocks.h"

#include "core/work_queue.h"

#include <omp.h>

/* Each step has queues of its own in turn: one thread fills the next step's while nobody reads them. */
static void run_queued(const spryi_run_args *args, const spryi_step *steps, int count, int threads)
{
    spryi_work_queue queues[2][SPRYI_MOST_WORK_QUEUES];
    spryi_fill_work_queues(queues[0], threads, steps[0].blocks);
#pragma omp parallel num_threads(threads)
    {
        const int own = omp_get_thread_num();
        for (int s = 0; s < count; s++) {
            if (own == 0 && s + 1 < count) spryi_fill_work_queues(queues[(s + 1) % 2], threads, steps[s + 1].blocks);
            int queue = 0;
            for (int64_t b; (b = spryi_take_block(queues[s % 2], threads, own, &queue)) >= 0;)
                steps[s].run(args, b, b + 1);
            if (s + 1 < count) {
#pragma omp barrier
            }
        }
    }
}

/* More threads than there are queues for. */
static void run_static(const spryi_run_args *args, const spryi_step *steps, int count, int threads)
{
#pragma omp parallel num_threads(threads)
    for (int s = 0; s < count; s++) {
#pragma omp for schedule(static)
        for (int64_t b = 0; b < steps[s].blocks; b++) steps[s].run(args, b, b + 1);
    }
}

spry_status spryi_run_steps(const spryi_run_args *args, const spryi_step *steps, int count)
{
    int64_t most = 1;
    for (int s = 0; s < count; s++) most = steps[s].blocks > most ? steps[s].blocks : most;
    const int threads = args->threads < most ? args->threads : (int)most;
    if (threads > SPRYI_MOST_WORK_QUEUES)
        run_static(args, steps, count, threads);
    else if (threads > 1)
        run_queued(args, steps, count, threads);
    else
        for (int s = 0; s < count; s++)
            if (steps[s].blocks > 0) steps[s].run(args, 0, steps[s].blocks);
    return SPRY_OK;
}

spry_status spryi_run_blocks(const spryi_run_args *args, int64_t blocks, spryi_block_fn run)
{
    const spryi_step step = {blocks, run};
    return spryi_run_steps(args, &step, 1);
}
