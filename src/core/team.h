/* The number of threads, and what forks leave of them. */
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

#endif
