#include "base/pool.h"

#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- number of threads -------------------------------------------------------------------------------------- */

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ALONE __libc_single_threaded
#endif
#endif
#ifndef ALONE
#define ALONE 0 /* unknown */
#endif

/*
 * Returns the least of `processors` and the quotas, in processors, of a control group and all groups above it. The file
 * cpu.max of a group has "max 100000" (no quota), or quota and period in microseconds. path is changed.
 */
static int least_quota(char *path, size_t mount, int processors)
{
    for (;;) {
        char name[1100];
        long long quota = 0, period = 0;
        snprintf(name, sizeof name, "%s/cpu.max", path);
        FILE *file = fopen(name, "re");
        if (file && fscanf(file, "%lld %lld", &quota, &period) == 2 && period > 0 && quota / period < processors)
            processors = quota / period > 1 ? (int)(quota / period) : 1;
        if (file) fclose(file);
        char *last = strrchr(path + mount, '/');
        if (!last) return processors;
        *last = '\0';
    }
}

/* Returns the number of processors in the calling thread's affinity. At least 1. */
static int processors_of_thread(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* the system has more processors than cpu_set_t has bits */
    return online > 0 ? (int)online : 1;
}

/*
 * Returns the number of processors that the calling thread may use: its affinity, limited by the quotas of its control
 * groups (version 2). At least 1.
 */
static int allowed_processors(void)
{
    static const char mount[] = "/sys/fs/cgroup";
    char path[1024], line[sizeof path - sizeof mount];
    const int processors = processors_of_thread();
    FILE *file = fopen("/proc/self/cgroup", "re");
    snprintf(path, sizeof path, "%s", mount);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0 && !strstr(line, "/..")) snprintf(path, sizeof path, "%s%s", mount, line + 3);
    }
    if (file) fclose(file);
    return least_quota(path, sizeof mount - 1, processors);
}

/*
 * had_threads: other threads existed when this thread last forked. lost_team: this thread runs in the child process of
 * such a fork, and the other threads do not exist in it. Both flags are false in threads that a child starts.
 */
static _Thread_local bool had_threads, lost_team;
static atomic_int forks;

static void before_fork(void)
{
    had_threads = !ALONE;
}

static void in_child(void)
{
    atomic_fetch_add(&forks, 1);
    if (had_threads) lost_team = true;
}

/* Runs when the library is loaded. If there is no memory for the registration, forked children start threads. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, NULL, in_child);
}

int spryi_team(int threads)
{
    return lost_team ? 1 : threads;
}

/*
 * Returns the number of forks that led to this process. A thread of a pool that was started when this number was
 * different exists only in a parent process.
 */
static int forks_so_far(void)
{
    return atomic_load(&forks);
}

/* Returns the first number of OMP_NUM_THREADS, which may list one number per nesting level; 0: no usable number. */
static int threads_of_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end = NULL;
    const long threads = text ? strtol(text, &end, 10) : 0;
    if (threads < 1 || threads > SPRYI_MOST_THREADS) return 0;
    end += strspn(end, " \t");
    return *end == '\0' || *end == ',' ? (int)threads : 0;
}

/*
 * Returns the number of threads of a context if the caller requests none: OMP_NUM_THREADS, else the number of
 * processors, at most SPRYI_MOST_THREADS.
 */
static int default_threads(void)
{
    const int asked = threads_of_environment(), processors = processors_of_thread();
    return asked > 0 ? asked : processors < SPRYI_MOST_THREADS ? processors : SPRYI_MOST_THREADS;
}

/* ---- constants ------------------------------------------------------------------------------------------ */

enum {
    IDLE_SPIN_US = 50,   /* after a product: about as long as the work between two products of a solver */
    LOOP_SPIN_US = 1000, /* after a loop: longer than the serial work between two loops of most set-ups and orderings */
    CALLER_SPIN_US = 20,
    PAUSES = 16,       /* pauses of a spinning thread between two readings of the clock */
    WOKEN_AT_ONCE = 4, /* number of threads that one thread wakes; each woken thread wakes the same number */
    LATE = 4,      /* a wait over LATE * (tasks - 1) times the caller's work means that a thread lost its processor */
    ALONE_FOR = 8, /* after such a wait, calls run only on the calling thread for ALONE_FOR times the wait */
    STACK_BYTES = 1 << 20
};

/* ---- sleeping ------------------------------------------------------------------------------------------ */

/* Sleeps until another thread wakes this thread. Does not sleep if *word differs from `seen`. May return early. */
static void sleep_on(atomic_uint *word, unsigned seen)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void wake(atomic_uint *word, int threads)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

/* Spins until *word differs from `seen` or the time `until` has come. Returns whether *word changed. */
static bool changes_until(const atomic_uint *word, unsigned seen, double until)
{
    do {
        for (int p = 0; p < PAUSES; p++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen) return true;
            SPRYI_PAUSE();
        }
    } while (spryi_now_us() < until);
    return false;
}

/* ---- tasks --------------------------------------------------------------------------------------------- */

/* Claims a task of the current call, if possible task `own`. Returns the index of the task; -1: all are claimed. */
static int claim(spryi_pool *pool, int own)
{
    const int masks = atomic_load_explicit(&pool->call.masks, memory_order_relaxed);
    for (int k = 0; k < masks; k++) {
        const int at = (own / SPRYI_TASKS_A_MASK + k) % masks;
        for (;;) {
            const uint64_t bits = atomic_load_explicit(&pool->unclaimed[at], memory_order_relaxed);
            if (bits == 0) break;
            uint64_t bit = (uint64_t)1 << own % SPRYI_TASKS_A_MASK;
            if (at != own / SPRYI_TASKS_A_MASK || !(bits & bit)) bit = bits & (~bits + 1);
            if (atomic_fetch_and_explicit(&pool->unclaimed[at], ~bit, memory_order_acq_rel) & bit)
                return at * SPRYI_TASKS_A_MASK + __builtin_ctzll(bit);
        }
    }
    return -1;
}

/*
 * Claims and runs tasks until all are claimed. If a next call begins meanwhile, its tasks are also run. Returns the
 * number of tasks run.
 */
static unsigned do_tasks(spryi_pool *pool, int own)
{
    unsigned done = 0;
    for (int index; (index = claim(pool, own)) >= 0; done++) {
        spryi_set_float_controls(pool->call.floats);
        pool->call.task(pool->call.argument, index);
    }
    return done;
}

/* A task that runs on a thread of the user's executor. */
typedef struct executor_task {
    spryi_task_fn task;
    void *argument;
    spryi_float_controls floats;
} executor_task;

static void run_executor_task(void *argument, int index)
{
    const executor_task *t = argument;
    SPRYI_FLOATS_OF(t->floats);
    t->task(t->argument, index);
}

/*
 * Moves this thread of the pool away from `processor`, where it would slow down the calling thread. While the other
 * processors are busy, the system would not move the thread. After the move, the thread shares a processor with other
 * programs instead of the calling thread.
 */
static void leave(int processor, const cpu_set_t *allowed)
{
    cpu_set_t other_processors = *allowed;
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getcpu() != processor) return;
    CPU_CLR((size_t)processor, &other_processors);
    if (CPU_COUNT(&other_processors) > 0) (void)sched_setaffinity(0, sizeof other_processors, &other_processors);
}

static void *work(void *argument)
{
    spryi_pool *pool = argument;
    const int own = atomic_fetch_add(&pool->arrivals, 1) + 1;
    (void)fesetenv(FE_DFL_ENV); /* the thread that started this thread may have enabled floating-point traps */
    if (CPU_COUNT(&pool->allowed) > 0) (void)sched_setaffinity(0, sizeof pool->allowed, &pool->allowed);
    for (;;) {
        const unsigned seen = atomic_load(&pool->calls); /* read first, so that no call and no stop is missed */
        if (atomic_load(&pool->stop)) return NULL;
        leave(atomic_load_explicit(&pool->call.processor, memory_order_relaxed), &pool->allowed);
        const unsigned done = do_tasks(pool, own);
        if (done > 0 && atomic_fetch_sub(&pool->pending, done) == done && atomic_load(&pool->waiting))
            wake(&pool->pending, 1);
        const int spin_us = atomic_load(&pool->spin_us);
        if (spin_us > 0 && changes_until(&pool->calls, seen, spryi_now_us() + spin_us)) continue;
        atomic_fetch_add(&pool->sleepers, 1);
        while (atomic_load(&pool->calls) == seen) sleep_on(&pool->calls, seen);
        if (atomic_fetch_sub(&pool->sleepers, 1) > 1) wake(&pool->calls, WOKEN_AT_ONCE);
    }
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/*
 * Starts threads until the pool has tasks - 1 threads, or as many as the system permits. The new threads block all
 * signals, which are for the program's own threads.
 */
static void start_threads(spryi_pool *pool, int tasks)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pool->started >= tasks - 1 || pool->started >= pool->most || pthread_attr_init(&attributes) != 0) return;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pool->spins = allowed_processors() >= tasks;
    while (pool->started < tasks - 1 && pool->started < pool->most)
        if (pthread_create(&pool->threads[pool->started], &attributes, work, pool) == 0)
            pool->started++;
        else
            pool->most = pool->started;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/*
 * Returns whether the calling process may use the pool. In a forked child, first resets the pool, because the pool's
 * threads and its calls exist only in the parent. Returns false while another thread resets the pool.
 */
static bool is_of_this_process(spryi_pool *pool)
{
    enum { CHANGING = -1 };
    int before = atomic_load(&pool->forks);
    if (before == forks_so_far()) return true;
    if (before == CHANGING || !atomic_compare_exchange_strong(&pool->forks, &before, CHANGING)) return false;
    pool->started = 0;
    pool->most = SPRYI_MOST_THREADS - 1;
    pool->alone_until = 0;
    atomic_store(&pool->arrivals, 0);
    atomic_store(&pool->sleepers, 0);
    atomic_store(&pool->waiting, false);
    atomic_store(&pool->taken, 0);
    for (int m = 0; m < SPRYI_MOST_THREADS / SPRYI_TASKS_A_MASK; m++) atomic_store(&pool->unclaimed[m], 0);
    atomic_store(&pool->forks, forks_so_far());
    return true;
}

/*
 * Waits until all tasks are done. judged: if the wait shows that a thread lost its processor (LATE), the next judged
 * calls run only on the calling thread for a while (ALONE_FOR).
 */
static void wait_for_tasks(spryi_pool *pool, int tasks, double began, bool judged)
{
    const double worked = spryi_now_us();
    for (unsigned left; (left = atomic_load(&pool->pending)) != 0;) {
        if (changes_until(&pool->pending, left, worked + CALLER_SPIN_US)) continue;
        atomic_store(&pool->waiting, true);
        sleep_on(&pool->pending, left);
    }
    atomic_store(&pool->waiting, false);
    const double now = spryi_now_us(), waited = now - worked;
    if (judged && waited > CALLER_SPIN_US && waited > LATE * (tasks - 1) * (worked - began))
        pool->alone_until = now + ALONE_FOR * waited;
}

/* Runs the tasks on the pool's threads and the calling thread, which holds `taken`. */
static void share(spryi_pool *pool, int tasks, spryi_task_fn task, void *argument, bool judged)
{
    const double began = spryi_now_us();
    const int masks = (tasks + SPRYI_TASKS_A_MASK - 1) / SPRYI_TASKS_A_MASK;
    pool->call.task = task;
    pool->call.argument = argument;
    pool->call.floats = spryi_get_float_controls();
    atomic_store_explicit(&pool->call.processor, sched_getcpu(), memory_order_relaxed);
    atomic_store(&pool->pending, (unsigned)tasks);
    atomic_store_explicit(&pool->spin_us,
                          !pool->spins ? 0
                          : judged     ? IDLE_SPIN_US
                                       : LOOP_SPIN_US,
                          memory_order_relaxed);
    for (int m = 0; m < masks; m++) {
        const int count = m < masks - 1 ? SPRYI_TASKS_A_MASK : tasks - m * SPRYI_TASKS_A_MASK;
        /* the caller runs task 0 */
        const uint64_t all = ~(uint64_t)0 >> (SPRYI_TASKS_A_MASK - count);
        atomic_store_explicit(&pool->unclaimed[m], m > 0 ? all : all - 1, memory_order_release);
    }
    atomic_store(&pool->call.masks, masks);
    atomic_fetch_add(&pool->calls, 1);
    if (atomic_load(&pool->sleepers) > 0) wake(&pool->calls, WOKEN_AT_ONCE);
    task(argument, 0);
    const unsigned done = 1 + do_tasks(pool, 0);
    if (atomic_fetch_sub(&pool->pending, done) != done) wait_for_tasks(pool, tasks, began, judged);
}

static void call(spryi_pool *pool, int tasks, spryi_task_fn task, void *argument, bool judged)
{
    if (pool && tasks > 1) {
        if (pool->execute) {
            executor_task executor_work = {task, argument, spryi_get_float_controls()};
            pool->execute(pool->executor, tasks, run_executor_task, &executor_work);
            return;
        }
        if (is_of_this_process(pool) && atomic_exchange(&pool->taken, 1) == 0) {
            const bool shared = !judged || pool->alone_until == 0 || spryi_now_us() > pool->alone_until;
            if (shared) {
                if (judged) pool->alone_until = 0;
                start_threads(pool, tasks);
                share(pool, tasks, task, argument, judged);
            }
            atomic_store(&pool->taken, 0);
            if (shared) return;
        }
    }
    for (int t = 0; t < tasks; t++) task(argument, t);
}

void spryi_parallel(spryi_pool *pool, int tasks, spryi_task_fn task, void *argument)
{
    call(pool, tasks, task, argument, true);
}

int spryi_pool_open(spryi_pool *pool, const spry_context_options *options, void *room)
{
    memset(pool, 0, sizeof *pool); /* zero is the initial value of all atomics in the pool */
    pool->execute = options->execute;
    pool->executor = options->execute_user;
    pool->most = SPRYI_MOST_THREADS - 1;
    pool->threads = room;
    if (sched_getaffinity(0, sizeof pool->allowed, &pool->allowed) != 0) CPU_ZERO(&pool->allowed);
    atomic_store(&pool->forks, forks_so_far());
    return options->threads > 0 ? options->threads : default_threads();
}

void spryi_pool_close(spryi_pool *pool)
{
    if (atomic_load(&pool->forks) != forks_so_far()) return; /* the threads exist only in the parent process */
    atomic_store(&pool->stop, 1);
    atomic_fetch_add(&pool->calls, 1);
    wake(&pool->calls, INT_MAX);
    for (int t = 0; t < pool->started; t++) (void)pthread_join(pool->threads[t], NULL);
}

spry_status spryi_check_threads(int threads, const char *of, spry_error *err)
{
    if (threads >= 0 && threads <= SPRYI_MOST_THREADS) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "threads", threads, SPRYI_MOST_THREADS,
                            "%s: threads is %d, expected 0 to %d", of, threads, SPRYI_MOST_THREADS);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/*
 * Blocks of work are divided into one queue per thread. A thread's queue has the same blocks in every run, so the
 * blocks remain in the thread's cache and on its NUMA node. A thread whose queue is empty takes blocks from other
 * queues, so that nobody waits for a slow processor.
 */
enum { MOST_QUEUES = 64 }; /* with more threads, each thread has a fixed share of the blocks instead of a queue */

/* Blocks of one thread that are not yet taken. */
typedef struct work_queue {
    _Alignas(64) atomic_llong next; /* a cache line per queue: each thread mostly writes to its own queue */
    int64_t begin, end;
} work_queue;

static void fill_queues(work_queue *queues, int threads, int64_t blocks)
{
    for (int t = 0; t < threads; t++) {
        queues[t].begin = blocks * t / threads;
        queues[t].end = blocks * (t + 1) / threads;
        atomic_init(&queues[t].next, queues[t].begin);
    }
}

/*
 * Returns the next block for thread `own`, or -1 if all blocks are taken. *queue is the number of the queue to take
 * from, counted from the thread's own queue. The caller sets *queue to 0 initially and keeps it between calls.
 * backwards: takes the blocks of a queue from last to first.
 */
static inline int64_t take_block(work_queue *queues, int threads, int own, bool backwards, int *queue)
{
    for (; *queue < threads; ++*queue) {
        work_queue *from = &queues[(own + *queue) % threads];
        const int64_t block = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
        if (block < from->end) return backwards ? from->begin + from->end - 1 - block : block;
    }
    return -1;
}

/* Blocks for threads to take. Without queues, each thread has a fixed share. */
typedef struct dealt_blocks {
    spryi_range_fn run; /* NULL: a block is a range of `grain` loop items for body or body_of_part */
    const void *argument;
    spryi_loop_fn body;
    spryi_part_fn body_of_part;
    void *job;
    int64_t items, grain;
    int64_t blocks;
    int threads;
    bool backwards;
    atomic_bool empty; /* all queues are empty */
    work_queue *queues;
} dealt_blocks;

static void do_range(const dealt_blocks *d, int64_t begin, int64_t end, int part)
{
    if (d->body)
        d->body(d->job, begin, end);
    else
        d->body_of_part(d->job, begin, end, part);
}

static void do_block(const dealt_blocks *d, int64_t b, int part)
{
    if (d->run)
        d->run(d->argument, b, b + 1);
    else
        do_range(d, b * d->grain, b + 1 < d->blocks ? (b + 1) * d->grain : d->items, part);
}

static void work_off(void *argument, int own)
{
    dealt_blocks *d = argument;
    int queue = 0;
    if (atomic_load_explicit(&d->empty, memory_order_relaxed)) return;
    for (int64_t b; (b = take_block(d->queues, d->threads, own, d->backwards, &queue)) >= 0;) do_block(d, b, own);
    atomic_store_explicit(&d->empty, true, memory_order_relaxed);
}

/* Runs a thread's fixed share of the blocks, if there are more threads than MOST_QUEUES. */
static void work_off_own(void *argument, int own)
{
    const dealt_blocks *d = argument;
    int64_t first = d->blocks * own / d->threads, end = d->blocks * (own + 1) / d->threads;
    while (first < end) do_block(d, d->backwards ? --end : first++, own);
}

/* Runs the blocks on d->threads threads. There are at least two threads and at least one block per thread. */
static void deal(spryi_pool *pool, dealt_blocks *d)
{
    if (d->threads > MOST_QUEUES) {
        call(pool, d->threads, work_off_own, d, d->run != NULL);
    } else {
        work_queue queues[MOST_QUEUES];
        fill_queues(queues, d->threads, d->blocks);
        d->queues = queues;
        call(pool, d->threads, work_off, d, d->run != NULL);
    }
}

static void run_blocks(spryi_pool *pool, dealt_blocks d)
{
    if (d.blocks < d.threads) d.threads = (int)d.blocks;
    if (pool && d.threads > 1)
        deal(pool, &d);
    else if (d.blocks > 0)
        d.run(d.argument, 0, d.blocks);
}

void spryi_parallel_blocks(spryi_pool *pool, int threads, int64_t blocks, spryi_range_fn run, const void *argument)
{
    run_blocks(pool, (dealt_blocks){.run = run, .argument = argument, .blocks = blocks, .threads = threads});
}

void spryi_parallel_blocks_backwards(spryi_pool *pool, int threads, int64_t blocks, spryi_range_fn run,
                                     const void *argument)
{
    run_blocks(pool, (dealt_blocks){.run = run,
                                    .argument = argument,
                                    .blocks = blocks,
                                    .threads = threads,
                                    .backwards = true});
}

static void run_loop(const spry_context *context, dealt_blocks d)
{
    /* RANGES: ranges per thread if grain is 0. Sizes of ranges above UNIT are multiples of UNIT. */
    enum { RANGES = 16, UNIT = 64 };
    if (d.items <= 0) return;
    if (d.grain <= 0) {
        d.grain = d.items / d.threads / RANGES + 1;
        if (d.grain > UNIT) d.grain = d.grain / UNIT * UNIT;
    }
    d.blocks = (d.items - 1) / d.grain + 1;
    if (d.blocks < d.threads) d.threads = (int)d.blocks;
    if (d.threads > 1)
        deal((spryi_pool *)&context->pool, &d);
    else
        do_range(&d, 0, d.items, 0);
}

void spryi_loop(const spry_context *context, int threads, int64_t items, int64_t grain, spryi_loop_fn body, void *job)
{
    run_loop(context, (dealt_blocks){.body = body, .job = job, .items = items, .grain = grain, .threads = threads});
}

void spryi_loop_in_parts(const spry_context *context, int threads, int64_t items, int64_t grain, spryi_part_fn body,
                         void *job)
{
    run_loop(context,
             (dealt_blocks){.body_of_part = body, .job = job, .items = items, .grain = grain, .threads = threads});
}
