#include "matrix/group_sizes.h"

#include <math.h>
#include <stddef.h>

/* Sizes of super-rows and super-super-rows on Hopper GPUs (H100, H200). */
static const spryi_group_table hopper = {.gpu_major = 9,
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
 * Adjusts both sizes by the cases of Lane and Booth (group_sizes.h). Their case 2 uses an undefined name, "SRSS", which
 * is read as SRS, or as the adjusted SSRS if of_ssrs is 1. In cases 3 and 4, SRS depends on the adjusted SSRS.
 */
static void adjust_for_volta(double *ssrs, double *srs, spryi_group_case length_case, int of_ssrs)
{
    if (length_case == SPRYI_GROUP_CASE_1) return;
    if (length_case == SPRYI_GROUP_CASE_2) {
        *ssrs = rounded(*ssrs * 1.5);
        *srs = 2 * (of_ssrs ? *ssrs : *srs);
        return;
    }
    *ssrs *= length_case == SPRYI_GROUP_CASE_3 ? 4 : 5;
    *srs = floor(*ssrs / 2);
}

static void adjust_for_ampere(double *ssrs, double *srs, spryi_group_case length_case, int of_ssrs)
{
    if (length_case == SPRYI_GROUP_CASE_2) *srs = 4 * (of_ssrs ? *ssrs : *srs);
    if (length_case == SPRYI_GROUP_CASE_3) {
        *ssrs = rounded(*ssrs * 2.5);
        *srs = *ssrs * 3;
    }
    if (length_case == SPRYI_GROUP_CASE_4) {
        *ssrs *= 2;
        *srs = *ssrs * 2;
    }
}

static int64_t size_by(const spryi_group_table *table, const spryi_size_formula *formula, double log_density,
                       spryi_group_case length_case)
{
    const double step = table->step > 0 ? (double)table->step : 1;
    const double most = table->step > 0 ? (double)table->most : SPRYI_MOST_GROUP;
    double size = at_least_1(rounded(formula->constant - formula->fall * log_density));
    if (length_case != SPRYI_GROUP_CASE_1)
        size = at_least_1(rounded(size * formula->factor[length_case - SPRYI_GROUP_CASE_2]));
    size = fmax(step, step * rounded(size / step));
    return (int64_t)fmin(size, most);
}

static double log_density_of(int64_t rows, int64_t nnz)
{
    return rows > 0 && nnz > 0 ? log((double)nnz / (double)rows) : 0;
}

static spryi_group_sizes sizes_by_table(const spryi_group_table *table, spryi_group_case length_case,
                                        double log_density)
{
    return (spryi_group_sizes){.srs = size_by(table, &table->srs, log_density, length_case),
                               .ssrs = size_by(table, &table->ssrs, log_density, length_case)};
}

static spryi_group_sizes sizes_on_cpu(const spryi_group_table *table, int k)
{
    const int64_t srs = !table ? 0 : k > 2 ? table->csr3_srs : table->csr2_srs, ssrs = table ? table->csr3_ssrs : 0;
    return (spryi_group_sizes){.srs = srs > 0 ? srs : SPRYI_GROUP_SRS,
                               .ssrs = k == 2     ? 0
                                       : ssrs > 0 ? ssrs
                                                  : SPRYI_GROUP_SSRS};
}

spryi_group_sizes spryi_find_group_sizes(spryi_group_rule rule, int k, spryi_group_case length_case, int64_t rows,
                                         int64_t nnz, const spryi_group_table *table)
{
    const double log_density = log_density_of(rows, nnz);
    if (rule == SPRYI_GROUPS_CPU) return sizes_on_cpu(table, k);
    if (rule == SPRYI_GROUPS_TABLE) return sizes_by_table(table, length_case, log_density);
    if (rule == SPRYI_GROUPS_HOPPER) return sizes_by_table(&hopper, length_case, log_density);
    const int volta = rule == SPRYI_GROUPS_VOLTA || rule == SPRYI_GROUPS_VOLTA_SSRS;
    const int of_ssrs = rule == SPRYI_GROUPS_VOLTA_SSRS || rule == SPRYI_GROUPS_AMPERE_SSRS;
    double super = at_least_1(rounded(volta ? 8.900 - 1.25 * log_density : 9.175 - 1.32 * log_density));
    double rows_each = at_least_1(rounded(volta ? 10.146 - 1.50 * log_density : 20.500 - 3.50 * log_density));
    if (volta)
        adjust_for_volta(&super, &rows_each, length_case, of_ssrs);
    else
        adjust_for_ampere(&super, &rows_each, length_case, of_ssrs);
    return (spryi_group_sizes){.srs = (int64_t)at_least_1(rows_each), .ssrs = (int64_t)at_least_1(super)};
}
