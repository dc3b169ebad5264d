/*
 * The library's threads (docs/decisions.md, 16). A call hands out tasks. The calling thread begins immediately and does
 * the tasks that no other thread takes, so it never waits for a thread that has not begun, and a system that starts no
 * threads only makes calls slower. Threads that wait spin for some microseconds and then sleep.
 */
#pragma once

#include "base/float_env.h"
#include "spry/spry.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SPRYI_MOST_THREADS = 4096, SPRYI_TASKS_A_MASK = 64 };

typedef void (*spryi_task_fn)(void *argument, int index);
typedef void (*spryi_execute_fn)(void *user, int tasks, spryi_task_fn task, void *argument);

/* The call whose tasks are handed out. */
typedef struct spryi_pool_call {
    spryi_task_fn task;
    void *argument;
    spryi_float_controls floats; /* the caller's */
    atomic_int masks;            /* words of unclaimed */
    atomic_int processor;        /* the caller's */
} spryi_pool_call;

/*
 * One a context. One call at a time has its threads (`taken`); the tasks of others, and of calls within tasks, run on
 * the threads that call. What a call hands out is read by those alone who took a task of it, and it waits for these.
 */
typedef struct spryi_pool {
    spryi_execute_fn execute; /* the caller's own, in place of the threads; NULL: none */
    void *executor;
    atomic_int forks; /* of which process its threads are: forks before it */
    atomic_int taken;
    double alone_until;             /* the clock's time until which calls work alone */
    int started, most;              /* threads; no more than `most` can be had */
    bool spins;                     /* there is a processor for each thread */
    cpu_set_t allowed;              /* processors for the threads: those of the thread that made the context; or none */
    _Alignas(64) atomic_uint calls; /* made so far: idle threads look here, and sleep on it */
    atomic_int sleepers, stop;
    atomic_int spin_us; /* that idle threads spin */
    atomic_int arrivals;
    spryi_pool_call call;
    _Alignas(64) atomic_uint pending; /* tasks that are not done; the caller sleeps on it */
    atomic_int waiting;               /* 1: it may sleep */
    _Alignas(64) atomic_ullong unclaimed[SPRYI_MOST_THREADS / SPRYI_TASKS_A_MASK]; /* a bit a task */
    pthread_t *threads;                                                            /* room for all */
} spryi_pool;

/* Bytes that follow the pool's owner, for its threads. */
enum { SPRYI_POOL_ROOM = SPRYI_MOST_THREADS * sizeof(pthread_t) };

/* Returns the number of threads: the options', else the default. */
int spryi_pool_open(spryi_pool *pool, const spry_context_options *options, void *room);
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

/* Handles items begin .. end - 1 of a loop. */
typedef void (*spryi_loop_fn)(void *job, int64_t begin, int64_t end);

/*
 * Runs body for items 0 .. items - 1, each once, on up to `threads` threads of the context, in ranges of `grain` items;
 * 0: of a sixteenth of a thread's share. A thread begins with its own share and then takes ranges that are left, so
 * results must not depend on how items are put together. One thread gets all items in one range.
 */
void spryi_loop(const spry_context *context, int threads, int64_t items, int64_t grain, spryi_loop_fn body, void *job);

/*
 * Runs a loop whose body has scratch memory for each part, 0 .. threads - 1. Ranges of one part never run at the same
 * time.
 */
typedef void (*spryi_part_fn)(void *job, int64_t begin, int64_t end, int part);
void spryi_loop_in_parts(const spry_context *context, int threads, int64_t items, int64_t grain, spryi_part_fn body,
                         void *job);

/* Raises *most to value, or lowers *least to value. For results of loops. */
static inline void spryi_raise(atomic_llong *most, int64_t value)
{
    long long now = atomic_load_explicit(most, memory_order_relaxed);
    while (now < value && !atomic_compare_exchange_weak(most, &now, value)) continue;
}

static inline void spryi_lower(atomic_llong *least, int64_t value)
{
    long long now = atomic_load_explicit(least, memory_order_relaxed);
    while (now > value && !atomic_compare_exchange_weak(least, &now, value)) continue;
}

/* SPRY_INVALID_ARGUMENT unless threads is 0 to SPRYI_MOST_THREADS; `of` says whose. */
spry_status spryi_check_threads(int threads, const char *of, spry_error *err);

/* Tells the processor that a loop waits for another thread. */
#if defined(__x86_64__) || defined(__i386__)
#define SPRYI_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define SPRYI_PAUSE() __asm__ volatile("yield")
#else
#define SPRYI_PAUSE() ((void)0)
#endif

/* ---- the number of threads -------------------------------------------------------------------------------- */

/*
 * Returns `threads`, or 1 on the thread that forked, in a child of a process that had other threads: such a child works
 * alone, as a pool of processes wants it.
 */
int spryi_team(int threads);
