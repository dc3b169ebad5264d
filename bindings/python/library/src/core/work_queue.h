/*
 * Blocks of work are dealt out to threads: each has a queue of its own, with the same blocks in every run, so that they
 * stay in its cache and on its node. A thread that is done takes what the others have left, so that nobody waits for a
 * processor that other work slows down.
 */
#ifndef SPRYI_WORK_QUEUE_H
#define SPRYI_WORK_QUEUE_H

#include <stdatomic.h>
#include <stdint.h>

enum { SPRYI_MOST_WORK_QUEUES = 64 }; /* threads; more have no queues */

/* The blocks of one thread that nobody has taken. */
typedef struct spryi_work_queue {
    _Alignas(64) atomic_llong next; /* a line each: threads write their own */
    int64_t begin, end;
} spryi_work_queue;

static inline void spryi_fill_work_queues(spryi_work_queue *queues, int threads, int64_t blocks)
{
    for (int t = 0; t < threads; t++) {
        queues[t].begin = blocks * t / threads;
        queues[t].end = blocks * (t + 1) / threads;
        atomic_init(&queues[t].next, queues[t].begin);
    }
}

/*
 * The next block for thread `own`; -1: all are taken. *queue is the one to take from, counted from the own one: 0 at
 * first, and kept between calls. Backwards, a queue's last block is its first.
 */
static inline int64_t spryi_take_block(spryi_work_queue *queues, int threads, int own, int backwards, int *queue)
{
    for (; *queue < threads; ++*queue) {
        spryi_work_queue *from = &queues[(own + *queue) % threads];
        const int64_t block = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
        if (block < from->end) return backwards ? from->begin + from->end - 1 - block : block;
    }
    return -1;
}

#endif
