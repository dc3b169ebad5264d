/*
 * A level's nodes are cut into one run of positions a thread. Each new node is claimed by the least position whose row
 * names it, which is the one that the walk of one thread finds it from; each position counts what it has claimed, a
 * scan over threads tells where that goes, and it is written, row by row, sorted by degree if wanted.
 *
 *     order   ... | a b c d e f | . . . .        claim[v] = min of the positions beside v: x -> a, y -> b, z -> b
 *                  thread 0|  1   ^ x y z          so x comes first, then y and z in the order of b's row
 *
 * Cost: three looks at the level's edges, one at marks and claims by atomics without order. The idea of claims by least
 * position: K. I. Karantasis, A. Lenharth, D. Nguyen, M. J. Garzaran, K. Pingali, Parallelization of Reordering
 * Algorithms for Bandwidth and Wavefront Reduction, SC 2014 (their leveled RCM).
 */
#include "reorder/level.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "reorder/order.h"

spry_status spryi_level_work_make(spry_context *context, spryi_level_work *work, int64_t nodes, int threads,
                                  spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_level_work made = {.context = context, .threads = threads};
    if (threads >= SPRYI_LEVEL_THREADS && nodes >= SPRYI_LEVEL_NODES) {
        SPRYI_TRY(SPRYI_NEW(context, &made.claim, nodes, "claims", err));
        SPRYI_TRY(SPRYI_NEW(context, &made.found, threads + 1, "counts", err));
        for (int64_t v = 0; v < nodes; v++) made.claim[v] = INT32_MAX;
    }
    *work = made;
    made = (spryi_level_work){0};
done:
    spryi_level_work_clear(context, &made);
    return status;
}

void spryi_level_work_clear(spry_context *context, spryi_level_work *work)
{
    spryi_release(context, work->claim);
    spryi_release(context, work->found);
    *work = (spryi_level_work){0};
}

static inline void claim_least(int32_t *claim, int32_t position)
{
    int32_t now = __atomic_load_n(claim, __ATOMIC_RELAXED);
    while (position < now &&
           !__atomic_compare_exchange_n(claim, &now, position, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static inline int32_t claimed_by(const int32_t *claim)
{
    return __atomic_load_n(claim, __ATOMIC_RELAXED);
}

static inline void set_claim(int32_t *claim, int32_t to)
{
    __atomic_store_n(claim, to, __ATOMIC_RELAXED);
}

typedef struct spread_job {
    const spryi_level *l;
    const void *offsets, *indices;
    int32_t *claim;
    int64_t *found, runs;
    atomic_llong bandwidth;
} spread_job;

/* The first position of a run. */
static int32_t run_at(const spread_job *j, int64_t run)
{
    return j->l->head + (int32_t)((int64_t)(j->l->end - j->l->head) * run / j->runs);
}

#define SPRYI_TEMPLATE "reorder/level.tmpl.c"
#include "base/instantiate_indices.h"
