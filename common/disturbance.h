/* Detects whether other programs used processors during a measurement. Disturbed times are marked. */
#pragma once

/*
 * Processor seconds. busy, all: used and total seconds of all processors since the machine started. own: seconds that
 * this process used.
 */
typedef struct processor_time {
    double busy, own, all;
} processor_time;

processor_time read_processor_time(void);
/*
 * Returns the share of all processor time that other programs used since `before`. children: processor seconds of child
 * processes, which are excluded. Returns 0 if less than 0.1 processor seconds passed or /proc is missing.
 */
double disturbance_since(processor_time before, double children);

/* Times are marked as disturbed if the share is at least this. */
#define DISTURBED_SHARE 0.05
