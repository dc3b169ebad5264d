#include "core/team.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ALONE __libc_single_threaded
#endif
#endif
#ifndef ALONE
#define ALONE 0 /* not known */
#endif

/*
 * Each thread knows if the process that it is about to copy has other threads, and if it is what a fork left of
 * several. Threads that a child starts were never in a team that is lost, so they keep 0.
 */
static _Thread_local int had_others, lost_team;
static atomic_int forks;

static void before_fork(void)
{
    had_others = !ALONE;
}

static void in_child(void)
{
    atomic_fetch_add(&forks, 1);
    if (had_others) lost_team = 1;
}

/*
 * When the library is loaded: a program may have used OpenMP, and may fork, before it makes a context. That it cannot
 * be registered, for lack of memory, leaves forked children as OpenMP has them.
 */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, NULL, in_child);
}

int spryi_team(int threads)
{
    return lost_team ? 1 : threads;
}

int spryi_forks(void)
{
    return atomic_load(&forks);
}

int spryi_most_threads(void)
{
    return spryi_team(omp_get_max_threads());
}
