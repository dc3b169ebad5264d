/* Whether other programs took processors while something was timed: such times mean little, and are marked. */
#pragma once

/* Seconds of all processors since the system started, and of this process. */
typedef struct processor_time {
    double busy, own, all;
} processor_time;

processor_time read_processor_time(void);
/*
 * The share of all processors that other programs had since then, but for so many seconds of processes of ours. 0 where
 * too little time has passed to tell, or the system does not tell.
 */
double others_since(processor_time before, double children);

/* From this share on, times are marked as disturbed. */
#define DISTURBED_SHARE 0.05
