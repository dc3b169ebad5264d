/*
 * Threads work on numbered pieces at the same time and hand their results over in the order of the numbers. The
 * counter holds the number of the piece that is next.
 */
#pragma once

#include "base/pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* Returns when piece `number` is next; what its predecessors wrote is visible then. Pieces are begun in order. */
static inline void spryi_handover_wait(const _Atomic int64_t *next, int64_t number)
{
    for (int spins = 0; atomic_load_explicit(next, memory_order_acquire) != number; spins++) {
        if (spins < 2000) {
            SPRYI_PAUSE();
        } else {
            (void)sched_yield(); /* more threads than processors: let the one waited for run */
        }
    }
}

static inline void spryi_handover_done(_Atomic int64_t *next, int64_t number)
{
    atomic_store_explicit(next, number + 1, memory_order_release);
}
