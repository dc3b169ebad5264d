/* Parallel loops of the program. Idle threads sleep, so that they do not disturb measurements. */
#pragma once

#include <stdint.h>

/*
 * Divides the items 0 .. items - 1 into `threads` shares and runs body(job, begin, end) for each share on its own
 * thread. Calls with equal `threads` and `items` give each thread the same share. If the system starts fewer threads,
 * shares are larger. A call during another call runs on the calling thread.
 */
void run_shares(int threads, int64_t items, void (*body)(void *job, int64_t begin, int64_t end), void *job);
