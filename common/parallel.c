#include "common/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    void (*body)(void *job, int64_t begin, int64_t end);
    void *job;
    int64_t items;
    uint64_t calls;
    int started, shares, left; /* left: number of shares that are not done */
    bool busy;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static void do_share(int share)
{
    const int64_t each = team.items / team.shares, rest = team.items % team.shares;
    const int64_t begin = each * share + (share < rest ? share : rest), end = begin + each + (share < rest);
    if (begin < end) team.body(team.job, begin, end);
}

static void *work(void *number)
{
    const int share = (int)(intptr_t)number;
    uint64_t seen = 0;
    pthread_mutex_lock(&team.lock);
    for (;;) {
        while (team.calls == seen || share >= team.shares) {
            seen = team.calls;
            pthread_cond_wait(&team.begun, &team.lock);
        }
        seen = team.calls;
        pthread_mutex_unlock(&team.lock);
        do_share(share);
        pthread_mutex_lock(&team.lock);
        if (--team.left == 0) pthread_cond_signal(&team.ended);
    }
    return NULL;
}

/*
 * Starts the missing threads. They block all signals, so that the program's first thread handles them. The caller holds
 * the lock.
 */
static void start_threads(int threads)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (team.started < threads - 1 &&
           pthread_create(&thread, NULL, work, (void *)(intptr_t)(team.started + 1)) == 0) {
        team.started++;
        (void)pthread_detach(thread);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void run_shares(int threads, int64_t items, void (*body)(void *job, int64_t begin, int64_t end), void *job)
{
    pthread_mutex_lock(&team.lock);
    if (threads <= 1 || items <= 1 || team.busy) {
        pthread_mutex_unlock(&team.lock);
        if (items > 0) body(job, 0, items);
        return;
    }
    start_threads(threads);
    team.busy = true;
    team.body = body;
    team.job = job;
    team.items = items;
    team.left = team.shares = threads <= team.started ? threads : team.started + 1;
    team.calls++;
    pthread_cond_broadcast(&team.begun);
    pthread_mutex_unlock(&team.lock);
    do_share(0);
    pthread_mutex_lock(&team.lock);
    team.left--;
    while (team.left > 0) pthread_cond_wait(&team.ended, &team.lock);
    team.busy = false;
    team.shares = 0;
    pthread_mutex_unlock(&team.lock);
}
