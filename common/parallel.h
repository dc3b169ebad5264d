/* Loops of the program on threads that sleep between loops, so that they disturb nothing that is measured. */
#pragma once

#include <stdint.h>

/*
 * Runs body(job, begin, end) for shares of the items 0 .. items - 1, one share for each of `threads` threads. Calls
 * with the same sizes give each thread the same share. If the system starts fewer threads, they have larger shares. A
 * call during another one runs on the calling thread.
 */
void run_shares(int threads, int64_t items, void (*body)(void *job, int64_t begin, int64_t end), void *job);
