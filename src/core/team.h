/* How many threads a parallel region may have. Every one of the library asks here, directly or by spryi_threads. */
#ifndef SPRYI_TEAM_H
#define SPRYI_TEAM_H

/*
 * `threads`, or 1 where OpenMP has none for the calling thread: after a fork, whose child gets the thread that forked
 * and none of its team, gcc's OpenMP would wait for that team for ever.
 */
int spryi_team(int threads);

/* As many as OpenMP would take. */
int spryi_most_threads(void);

#endif
