#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ALONE __libc_single_threaded
#endif
#endif
#ifndef ALONE
#define ALONE 0 /* not known */
#endif

/* cpu.max of a group and of all above it: "max 100000", or microseconds a period. path is cut. */
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

int spryi_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than the set has room for */
    return online > 0 ? (int)online : 1;
}

int spryi_allowed_processors(void)
{
    static const char mount[] = "/sys/fs/cgroup";
    char path[1024], line[sizeof path - sizeof mount];
    const int processors = spryi_processors();
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

/* Runs when the library is loaded. If there is no memory for the registration, forked children start threads. */
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

/* The first number of OMP_NUM_THREADS, which may list one for each level; 0: the variable has no number that counts. */
static int threads_of_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end = NULL;
    const long threads = text ? strtol(text, &end, 10) : 0;
    if (threads < 1 || threads > SPRYI_MOST_THREADS) return 0;
    end += strspn(end, " \t");
    return *end == '\0' || *end == ',' ? (int)threads : 0;
}

int spryi_default_threads(void)
{
    const int asked = threads_of_environment(), processors = spryi_processors();
    return asked > 0 ? asked : processors < SPRYI_MOST_THREADS ? processors : SPRYI_MOST_THREADS;
}
