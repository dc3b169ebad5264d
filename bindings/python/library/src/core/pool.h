/*
 * The threads of what runs: products of kept plans, vector passes, rows of sparse products. A call hands out tasks; the
 * calling thread begins at once and does by itself what nobody else comes for, so it never waits for a thread that has
 * not begun. Threads that wait spin for some microseconds and then sleep. Set-up, readers and conversions use OpenMP
 * (core/team.h; docs/decisions/0004).
 */
#ifndef SPRYI_POOL_H
#define SPRYI_POOL_H

#include "core/float_env.h"
#include "spry/spry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { SPRYI_MOST_THREADS = 4096, SPRYI_TASKS_A_MASK = 64 };

typedef void (*spryi_task_fn)(void *argument, int index);
typedef void (*spryi_execute_fn)(void *user, int tasks, spryi_task_fn task, void *argument);

/*
 * One a context. One call at a time has its threads (`taken`); the tasks of others, and of calls within tasks, run on
 * the threads that call. What a call hands out is read by those alone who took a task of it, and it waits for these.
 */
typedef struct spryi_pool {
    spry_threading threading;
    spryi_execute_fn execute; /* the caller's own, in place of the threads; NULL: none */
    void *executor;
    atomic_int forks; /* of which process its threads are (spryi_forks) */
    atomic_int taken;
    double alone_until;             /* the clock's time until which calls work alone */
    int started, most;              /* threads; no more than `most` can be had */
    _Alignas(64) atomic_uint calls; /* made so far: idle threads look here, and sleep on it */
    atomic_int sleepers, stop;
    atomic_int spin_us; /* that idle threads spin */
    atomic_int arrivals;
    spryi_task_fn task; /* of the call */
    void *argument;
    spryi_float_controls floats;      /* the caller's */
    atomic_int masks, processor;      /* the caller's */
    _Alignas(64) atomic_uint pending; /* tasks that are not done; the caller sleeps on it */
    atomic_int waiting;               /* 1: it may sleep */
    _Alignas(64) atomic_ullong unclaimed[SPRYI_MOST_THREADS / SPRYI_TASKS_A_MASK]; /* a bit a task */
    pthread_t *threads;                                                            /* room for all */
} spryi_pool;

/* Bytes that follow the pool's owner, for its threads. */
enum { SPRYI_POOL_ROOM = SPRYI_MOST_THREADS * sizeof(pthread_t) };

void spryi_pool_open(spryi_pool *pool, const spry_context_options *options, void *room);
void spryi_pool_close(spryi_pool *pool);

/*
 * task(argument, 0 .. tasks - 1), each once, in any order, with the caller's rounding and denormal numbers; all are
 * done on return. pool may be NULL: one by one.
 */
void spryi_parallel(spryi_pool *pool, int tasks, spryi_task_fn task, void *argument);

/* Works off blocks begin .. end - 1. */
typedef void (*spryi_range_fn)(const void *argument, int64_t begin, int64_t end);

/*
 * Every block once, on up to so many threads, each of which begins with blocks of its own, the same in every call, and
 * then takes what others have left. One thread gets all blocks in one range. backwards: from the last of the own.
 */
void spryi_parallel_blocks(spryi_pool *pool, int threads, int64_t blocks, spryi_range_fn run, const void *argument);
void spryi_parallel_blocks_backwards(spryi_pool *pool, int threads, int64_t blocks, spryi_range_fn run,
                                     const void *argument);

/* SPRY_INVALID_ARGUMENT unless threads is 0 to SPRYI_MOST_THREADS; `of` says whose. */
spry_status spryi_check_threads(int threads, const char *of, spry_error *err);

#endif
