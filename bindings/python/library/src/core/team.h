/* How many threads a product or parallel region may have. Each of the library asks here, or by spryi_threads. */
#ifndef SPRYI_TEAM_H
#define SPRYI_TEAM_H

/*
 * `threads`, or 1 where OpenMP has none for the calling thread: after a fork, whose child gets the thread that forked
 * and none of its team, gcc's OpenMP would wait for that team for ever.
 */
int spryi_team(int threads);

/* Changes in the child of every fork: what was made under another number had threads that the process has not. */
int spryi_forks(void);

/* As many as OpenMP would take. */
int spryi_most_threads(void);

#endif
