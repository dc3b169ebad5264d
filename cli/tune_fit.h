/*
 * Sizes of csr2's and csr3's groups for a machine: from the best sizes of some matrices to a constant (CPUs) or a
 * formula over the mean row length (GPUs).
 *
 * "Best" is the geometric mean of the sizes within 1 % of the fastest: times closer than that are noise. On a GPU, of
 * all formulas on a grid of constants and falls, those are taken whose sizes lose least of the times of the sweep.
 * Sizes are rounded to whole eights: every block takes eight of a super-row at a time.
 */
#ifndef SPRY_CLI_TUNE_FIT_H
#define SPRY_CLI_TUNE_FIT_H

enum { TUNE_MOST_SIZES = 512, TUNE_STEP = 8, TUNE_MOST = 32 };

/* A size that was tried, and its time. ssrs is 1 where there is none. */
typedef struct tune_trial {
    int srs, ssrs;
    double us;
} tune_trial;

/* A matrix: its density, and its best sizes. */
typedef struct tune_point {
    double density, srs, ssrs, best_us;
} tune_point;

/* constant - fall * ln(density), rounded to whole steps from one up to TUNE_MOST */
typedef struct tune_formula {
    double constant, fall;
} tune_formula;

/* The sizes that the study tries. Each returns how many it wrote, at most TUNE_MOST_SIZES. */
int tune_cpu_sizes(tune_trial *trials, int levels); /* csr2: SRS from 8 to 3072; csr3: with SSRS from 2 to 32 */
int tune_gpu_sizes(tune_trial *trials);             /* SSRS and SRS from 4 to 48 */

/* Sets best_us, srs and ssrs of a point from trials, count >= 1; trials without a time (us <= 0) do not count. */
void tune_best(tune_point *point, const tune_trial *trials, int count);

/* The geometric mean of the best sizes, rounded; super: of SSRS. count >= 1. */
int tune_constant(const tune_point *points, int count, int super);

/* A matrix of a sweep; trials hold at least every pair of whole steps up to TUNE_MOST, each with its time. */
typedef struct tune_sweep {
    double density;
    const tune_trial *trials;
    int count;
} tune_sweep;

/*
 * Both formulas at once; returns the geometric mean of what their sizes take over the least of those pairs, NaN where a
 * pair has no time. count from 1 to TUNE_MOST_SIZES.
 */
double tune_search(tune_formula *ssrs, tune_formula *srs, const tune_sweep *sweeps, int count);

/* The size that the library computes by a formula. */
int tune_size(const tune_formula *formula, double density);

#endif
