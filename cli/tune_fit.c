#include "cli/tune_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double noise = 1.01;

/* ---- sizes -------------------------------------------------------------------------------------- */

/* 2^i and 1.5 * 2^i, i from first to last. */
static int powers(int *sizes, int first, int last)
{
    int count = 0;
    for (int i = first; i <= last; i++) {
        sizes[count++] = 1 << i;
        sizes[count++] = 3 << (i - 1);
    }
    return count;
}

static int product(tune_trial *trials, const int *srs, int srs_count, const int *ssrs, int ssrs_count)
{
    int count = 0;
    for (int a = 0; a < srs_count; a++)
        for (int b = 0; b < ssrs_count; b++) trials[count++] = (tune_trial){.srs = srs[a], .ssrs = ssrs[b]};
    return count;
}

int tune_cpu_sizes(tune_trial *trials, int levels)
{
    static const int one[] = {1}, ssrs[] = {2, 4, 8, 16, 32};
    int srs[18];
    const int count = powers(srs, 3, 11);
    return levels == 2 ? product(trials, srs, count, one, 1) : product(trials, srs, count, ssrs, 5);
}

int tune_gpu_sizes(tune_trial *trials)
{
    int sizes[8];
    const int count = powers(sizes, 2, 5);
    return product(trials, sizes, count, sizes, count);
}

void tune_best(tune_point *point, const tune_trial *trials, int count)
{
    double best = INFINITY, srs = 0, ssrs = 0;
    int taken = 0;
    for (int t = 0; t < count; t++)
        if (trials[t].us > 0 && trials[t].us < best) best = trials[t].us;
    for (int t = 0; t < count; t++) {
        if (!(trials[t].us > 0 && trials[t].us <= noise * best)) continue;
        srs += log(trials[t].srs);
        ssrs += log(trials[t].ssrs);
        taken++;
    }
    point->best_us = taken > 0 ? best : 0;
    point->srs = taken > 0 ? exp(srs / taken) : 1;
    point->ssrs = taken > 0 ? exp(ssrs / taken) : 1;
}

/* ---- fitting ------------------------------------------------------------------------------------ */

static double size_of(const tune_point *p, int super)
{
    return super ? p->ssrs : p->srs;
}

int tune_constant(const tune_point *points, int count, int super)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += log(size_of(&points[i], super));
    return (int)floor(exp(sum / count) + 0.5);
}

int tune_size(const tune_formula *formula, double density)
{
    const double size = floor(formula->constant - formula->fall * log(density) + 0.5);
    const double steps = floor(size / TUNE_STEP + 0.5);
    return TUNE_STEP * (int)fmin(fmax(steps, 1), (double)TUNE_MOST / TUNE_STEP);
}

/* ---- searching ---------------------------------------------------------------------------------- */

enum { STEPS = TUNE_MOST / TUNE_STEP, MOST_CANDIDATES = 2048 };

/* Logarithms of times over the least one: [SSRS][SRS], in steps. 0: a pair has no time. */
static int relate(double loss[STEPS][STEPS], const tune_sweep *sweep)
{
    double least = INFINITY;
    for (int a = 0; a < STEPS; a++)
        for (int b = 0; b < STEPS; b++) loss[a][b] = NAN;
    for (int t = 0; t < sweep->count; t++) {
        const tune_trial *trial = &sweep->trials[t];
        const int a = trial->ssrs / TUNE_STEP - 1, b = trial->srs / TUNE_STEP - 1;
        if (trial->ssrs % TUNE_STEP || trial->srs % TUNE_STEP || a < 0 || a >= STEPS || b < 0 || b >= STEPS) continue;
        if (trial->us > 0) loss[a][b] = log(trial->us);
    }
    for (int a = 0; a < STEPS; a++)
        for (int b = 0; b < STEPS; b++) {
            if (isnan(loss[a][b])) return 0;
            least = fmin(least, loss[a][b]);
        }
    for (int a = 0; a < STEPS; a++)
        for (int b = 0; b < STEPS; b++) loss[a][b] -= least;
    return 1;
}

/* A formula, and the sizes that it gives the matrices, in steps less one. */
typedef struct candidate {
    tune_formula formula;
    unsigned char sizes[TUNE_MOST_SIZES];
} candidate;

/* Formulas of a grid, flat ones first, each only where its sizes are new. Returns how many. */
static int list_candidates(candidate *list, const tune_sweep *sweeps, int count)
{
    int found = 0;
    for (int fall = 0; fall <= 32; fall++)
        for (int constant = -32; constant <= 64 && found < MOST_CANDIDATES; constant += 2) {
            candidate *c = &list[found];
            if (constant == 0) continue; /* a table would not tell it from none */
            c->formula = (tune_formula){constant, fall % 2 ? (fall + 1) / 2 : -fall / 2};
            for (int i = 0; i < count; i++)
                c->sizes[i] = (unsigned char)(tune_size(&c->formula, sweeps[i].density) / TUNE_STEP - 1);
            int known = 0;
            while (known < found && memcmp(list[known].sizes, c->sizes, (size_t)count) != 0) known++;
            found += known == found;
        }
    return found;
}

double tune_search(tune_formula *ssrs, tune_formula *srs, const tune_sweep *sweeps, int count)
{
    double(*losses)[STEPS][STEPS] = malloc((size_t)count * sizeof *losses), least = INFINITY;
    candidate *list = malloc(MOST_CANDIDATES * sizeof *list);
    int good = losses && list;
    for (int i = 0; good && i < count; i++) good = relate(losses[i], &sweeps[i]);
    const int found = good ? list_candidates(list, sweeps, count) : 0;
    for (int a = 0; a < found; a++)
        for (int b = 0; b < found; b++) {
            double sum = 0;
            for (int i = 0; i < count && sum < least; i++) sum += losses[i][list[a].sizes[i]][list[b].sizes[i]];
            if (sum >= least) continue;
            least = sum;
            *ssrs = list[a].formula;
            *srs = list[b].formula;
        }
    free(losses);
    free(list);
    return found > 0 ? exp(least / count) : NAN;
}
