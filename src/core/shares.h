/*
 * Blocks of work that threads share: each has its own, which it meets again in every run, so that they stay in its
 * cache and on its node; one that is done takes of the others' blocks what they have left, so that a processor that
 * other work slows down is not waited for.
 */
#ifndef SPRYI_SHARES_H
#define SPRYI_SHARES_H

#include <stdatomic.h>
#include <stdint.h>

enum { SPRYI_MOST_SHARES = 64 }; /* threads; more take what OpenMP gives them */

/* The blocks of one thread that nobody has taken. */
typedef struct spryi_share {
    _Alignas(64) atomic_llong next; /* a line each: threads write their own */
    int64_t end;
} spryi_share;

static inline void spryi_cut_shares(spryi_share *shares, int threads, int64_t blocks)
{
    for (int t = 0; t < threads; t++) {
        atomic_init(&shares[t].next, blocks * t / threads);
        shares[t].end = blocks * (t + 1) / threads;
    }
}

/* The next block for thread `own`; -1: all are taken. *turn is 0 at first and kept between calls. */
static inline int64_t spryi_take_block(spryi_share *shares, int threads, int own, int *turn)
{
    for (; *turn < threads; ++*turn) {
        spryi_share *from = &shares[(own + *turn) % threads];
        const int64_t block = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
        if (block < from->end) return block;
    }
    return -1;
}

#endif
