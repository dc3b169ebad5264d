/*
 * Sizes of groups in constant time, from the mean row length alone.
 *
 *     SSRS = [a - b ln d]    SRS = [c - e ln d]    d entries a row; [] rounds to the nearest, halves up
 *
 * a, b, c, e were fitted once a machine (Lane and Booth 2022, section 4.1) for GPUSpMV-3, a thread a row; where
 * GPUSpMV-3.5 runs instead, with other shapes of blocks, the case's adjustments follow. The logarithm passes below zero
 * at long rows, so both sizes are held at 1 or above, before the adjustments as well as after them.
 *
 * Hopper's formula is this library's, of the same form: the one that loses least time on an H200 over ten matrices in
 * both types against the best of 30 pairs of sizes. In place of the cases' adjustments sizes are whole eights, from 8
 * to 32: the blocks of both kernels take eight rows at a time, and a super-row of nine costs them as much as one of
 * sixteen.
 */
#include "formats/csrk/csrk.h"

#include <math.h>

static const spryi_tuning hopper = {.gpu_major = 9,
                                    .ssrs = {.constant = 44, .fall = 8, .factor = {1, 1, 1}},
                                    .srs = {.constant = -12, .fall = -12, .factor = {1, 1, 1}},
                                    .step = 8,
                                    .most = 32};

static double rounded(double x)
{
    return floor(x + 0.5);
}

static double at_least_1(double x)
{
    return x < 1 ? 1 : x;
}

/*
 * The paper's "SRSS" in case 2 is read as SRS, with of_ssrs as the adjusted SSRS; SRS of cases 3 and 4 is of the
 * adjusted SSRS.
 */
static void adjust_for_volta(double *ssrs, double *srs, spryi_csrk_case which, int of_ssrs)
{
    if (which == SPRYI_CSRK_CASE_1) return;
    if (which == SPRYI_CSRK_CASE_2) {
        *ssrs = rounded(*ssrs * 1.5);
        *srs = 2 * (of_ssrs ? *ssrs : *srs);
        return;
    }
    *ssrs *= which == SPRYI_CSRK_CASE_3 ? 4 : 5;
    *srs = floor(*ssrs / 2);
}

static void adjust_for_ampere(double *ssrs, double *srs, spryi_csrk_case which, int of_ssrs)
{
    if (which == SPRYI_CSRK_CASE_2) *srs = 4 * (of_ssrs ? *ssrs : *srs);
    if (which == SPRYI_CSRK_CASE_3) {
        *ssrs = rounded(*ssrs * 2.5);
        *srs = *ssrs * 3;
    }
    if (which == SPRYI_CSRK_CASE_4) {
        *ssrs *= 2;
        *srs = *ssrs * 2;
    }
}

static int64_t size_by(const spryi_tuning *table, const spryi_size_formula *formula, double log_density,
                       spryi_csrk_case which)
{
    const double step = table->step > 0 ? (double)table->step : 1;
    const double most = table->step > 0 ? (double)table->most : SPRYI_CSRK_MOST;
    double size = at_least_1(rounded(formula->constant - formula->fall * log_density));
    if (which != SPRYI_CSRK_CASE_1) size = at_least_1(rounded(size * formula->factor[which - SPRYI_CSRK_CASE_2]));
    size = fmax(step, step * rounded(size / step));
    return (int64_t)fmin(size, most);
}

static double log_density_of(int64_t rows, int64_t nnz)
{
    return rows > 0 && nnz > 0 ? log((double)nnz / (double)rows) : 0;
}

void spryi_csrk_tune_by(int64_t *ssrs, int64_t *srs, const spryi_tuning *table, spryi_csrk_case which, int64_t rows,
                        int64_t nnz)
{
    const double log_density = log_density_of(rows, nnz);
    *ssrs = size_by(table, &table->ssrs, log_density, which);
    *srs = size_by(table, &table->srs, log_density, which);
}

void spryi_csrk_tune(int64_t *ssrs, int64_t *srs, spryi_csrk_tuning tuning, spryi_csrk_case which, int64_t rows,
                     int64_t nnz)
{
    if (tuning == SPRYI_CSRK_CPU) {
        *ssrs = SPRYI_CSRK_SSRS;
        *srs = SPRYI_CSRK_SRS;
        return;
    }
    if (tuning == SPRYI_CSRK_HOPPER) {
        spryi_csrk_tune_by(ssrs, srs, &hopper, which, rows, nnz);
        return;
    }
    const int volta = tuning == SPRYI_CSRK_VOLTA || tuning == SPRYI_CSRK_VOLTA_SSRS;
    const int of_ssrs = tuning == SPRYI_CSRK_VOLTA_SSRS || tuning == SPRYI_CSRK_AMPERE_SSRS;
    const double log_density = log_density_of(rows, nnz);
    double super = at_least_1(rounded(volta ? 8.900 - 1.25 * log_density : 9.175 - 1.32 * log_density));
    double rows_each = at_least_1(rounded(volta ? 10.146 - 1.50 * log_density : 20.500 - 3.50 * log_density));
    if (volta)
        adjust_for_volta(&super, &rows_each, which, of_ssrs);
    else
        adjust_for_ampere(&super, &rows_each, which, of_ssrs);
    *ssrs = (int64_t)at_least_1(super);
    *srs = (int64_t)at_least_1(rows_each);
}
