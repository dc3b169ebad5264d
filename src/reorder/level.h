/* One level of a breadth-first walk by several threads. Nodes come in the very order in which one thread finds them. */
#pragma once

#include "spry/spry.h"

/*
 * Three looks at the level's edges and as many waits for all threads, for one look by one thread: measured slower with
 * 4 threads.
 */
enum { SPRYI_LEVEL_THREADS = 8, SPRYI_LEVEL_NODES = 4096 };

/* Memory of a walk for its wide levels. claim is NULL where one thread does all of them. */
typedef struct spryi_level_work {
    const spry_context *context;
    int threads;
    int32_t
        *claim; /* nodes, INT32_MAX between levels: the position whose row is the first of its level to name a node */
    int64_t *found; /* threads + 1 */
} spryi_level_work;

/* Nothing is allocated for few threads. */
spry_status spryi_level_work_make(spry_context *context, spryi_level_work *work, int64_t nodes, int threads,
                                  spry_error *err);
void spryi_level_work_clear(spry_context *context, spryi_level_work *work);

typedef struct spryi_level {
    int32_t *order; /* position -> node; the level lies at head .. end-1, what is found goes behind it */
    int32_t head, end;
    uint8_t *mark; /* a node is new while its mark is below number ... */
    int number;
    int32_t *label;        /* ... or, where mark is NULL, while its label is negative; its position becomes its label */
    const int32_t *degree; /* by which the nodes found in a row are sorted; NULL: they stay in the row's order ... */
    uint64_t *keys;        /* ... for which there is a key for each position */
    int64_t bandwidth;     /* raised to the distance of a node to the last one found in its row */
} spryi_level;

/* Returns the position behind the last node found. */
typedef int32_t spryi_spread_fn(spryi_level *level, const spryi_level_work *work, const void *offsets,
                                const void *indices);
spryi_spread_fn spryi_spread_32_32, spryi_spread_64_32, spryi_spread_64_64;
