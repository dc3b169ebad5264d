/* The number of threads, what forks leave of them, and the processors for them. */
#ifndef SPRYI_TEAM_H
#define SPRYI_TEAM_H

/*
 * Returns `threads`, or 1 on the thread that forked, in a child of a process that had other threads: such a child works
 * alone, as a pool of processes wants it.
 */
int spryi_team(int threads);

/* Changes in the child of every fork: the threads of what was made under another number stayed in the parent. */
int spryi_forks(void);

/* Threads of a context that asks for no number: OMP_NUM_THREADS from 1 to SPRYI_MOST_THREADS, else the processors. */
int spryi_default_threads(void);

/* Processors of the calling thread's affinity. At least 1. */
int spryi_processors(void);

/*
 * Processors that the calling thread may use: those of its affinity, and no more than the quotas of its control groups
 * (version 2) are worth. At least 1.
 */
int spryi_allowed_processors(void);

#endif
