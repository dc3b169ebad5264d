/*
 * The library's threads (docs/decisions.md, 16). A call consists of tasks. The calling thread begins immediately and
 * runs the tasks that no other thread claims. It never waits for a thread that has not begun a task. If the system
 * starts no threads, calls only become slower. Waiting threads spin for some microseconds and then sleep.
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

/* The call whose tasks the threads claim. */
typedef struct spryi_pool_call {
    spryi_task_fn task;
    void *argument;
    spryi_float_controls floats; /* controls of the calling thread */
    atomic_int masks;            /* number of elements of `unclaimed` that the call uses */
    atomic_int processor;        /* processor that the calling thread runs on */
} spryi_pool_call;

/*
 * A pool of threads, one per context. The threads work for one call at a time, the call that holds `taken`. Other
 * calls, and calls within tasks, run on their calling thread. Only threads that claimed a task of a call read `call`,
 * and the call waits for these threads.
 */
typedef struct spryi_pool {
    spryi_execute_fn execute; /* the user's executor, used instead of the threads; NULL: none */
    void *executor;
    atomic_int forks; /* number of forks that led to the process that started the threads */
    atomic_int taken;
    double alone_until;             /* clock time, in us, until which calls run only on the calling thread */
    int started, most;              /* number of threads that were started; largest number that can be started */
    bool spins;                     /* idle threads spin before they sleep, since each thread has a processor */
    cpu_set_t allowed;              /* processors allowed to the thread that opened the pool; may be empty */
    _Alignas(64) atomic_uint calls; /* number of calls so far; idle threads poll and sleep on this word */
    atomic_int sleepers, stop;
    atomic_int spin_us; /* time for which idle threads spin */
    atomic_int arrivals;
    spryi_pool_call call;
    _Alignas(64) atomic_uint pending; /* number of tasks not done; the calling thread sleeps on this word */
    atomic_bool waiting;              /* the calling thread may be asleep */
    _Alignas(64) atomic_ullong unclaimed[SPRYI_MOST_THREADS / SPRYI_TASKS_A_MASK]; /* one bit per task */
    pthread_t *threads;                                                            /* SPRYI_MOST_THREADS elements */
} spryi_pool;

/* Bytes of the array `threads` of a pool. */
enum { SPRYI_POOL_ROOM = SPRYI_MOST_THREADS * sizeof(pthread_t) };

/*
 * Opens a pool. Returns the number of threads: options->threads, or the default if that is 0. room: memory for the
 * array `threads`, SPRYI_POOL_ROOM bytes.
 */
int spryi_pool_open(spryi_pool *pool, const spry_context_options *options, void *room);
void spryi_pool_close(spryi_pool *pool);

/*
 * Runs task(argument, t) for t = 0 .. tasks - 1, each once, in any order, with the caller's rounding mode and treatment
 * of denormal numbers. Returns when all tasks are done. If pool is NULL, the calling thread runs all tasks.
 */
void spryi_parallel(spryi_pool *pool, int tasks, spryi_task_fn task, void *argument);

/* Processes blocks begin .. end - 1. */
typedef void (*spryi_range_fn)(const void *argument, int64_t begin, int64_t end);

/*
 * Runs every block once, on at most `threads` threads. Each thread begins with its own blocks, the same in every call,
 * and then takes blocks that are left. If only one thread works, it gets all blocks in one range. In the second
 * function, each thread runs its own blocks from last to first.
 */
void spryi_parallel_blocks(spryi_pool *pool, int threads, int64_t blocks, spryi_range_fn run, const void *argument);
void spryi_parallel_blocks_backwards(spryi_pool *pool, int threads, int64_t blocks, spryi_range_fn run,
                                     const void *argument);

/* Processes items begin .. end - 1 of a loop. */
typedef void (*spryi_loop_fn)(void *job, int64_t begin, int64_t end);

/*
 * Runs body for items 0 .. items - 1, each once, on at most `threads` threads of the context. A range has `grain`
 * items. If grain is 0, a range is about a sixteenth of a thread's share. A thread begins with its own share and then
 * takes ranges that are left, so results must not depend on how items are grouped. If only one thread works, it gets
 * all items in one range.
 */
void spryi_loop(const spry_context *context, int threads, int64_t items, int64_t grain, spryi_loop_fn body, void *job);

/*
 * Like spryi_loop. Also passes to the body `part`, an index from 0 to threads - 1. Calls of the body with the same part
 * never run at the same time, so the body may use scratch memory of its part.
 */
typedef void (*spryi_part_fn)(void *job, int64_t begin, int64_t end, int part);
void spryi_loop_in_parts(const spry_context *context, int threads, int64_t items, int64_t grain, spryi_part_fn body,
                         void *job);

/* Raise *most to `value` if it is smaller; lower *least to `value` if it is larger. Threads of a loop call them. */
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

/* Returns SPRY_INVALID_ARGUMENT unless threads is 0 to SPRYI_MOST_THREADS. `of` names the caller in the message. */
spry_status spryi_check_threads(int threads, const char *of, spry_error *err);

/* Hint to the processor that a loop waits for another thread. */
#if defined(__x86_64__) || defined(__i386__)
#define SPRYI_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define SPRYI_PAUSE() __asm__ volatile("yield")
#else
#define SPRYI_PAUSE() ((void)0)
#endif

/* ---- number of threads ------------------------------------------------------------------------------------ */

/*
 * Returns `threads`, or 1 in the following case: the process is a forked child, its parent had other threads, and the
 * calling thread is the thread that forked. Worker processes of a pool of processes thus use one thread each.
 */
int spryi_team(int threads);
