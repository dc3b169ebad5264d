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
#include "core/error.h"
#include "core/ordering.h"
#include "formats/csrk/csrk.h"
#include "spry/io.h"

#include <math.h>
#include <stdio.h>

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

/* ---- sizes of a request -------------------------------------------------------------------------- */

enum { SRS, SSRS, TUNING, SSSRS = TUNING }; /* indices of the parameters; csr3 has a tuning, csr4 SSSRS */

/* The context's table where it tells of this device; else the formula of its age, Ampere's where that is not known. */
static spryi_csrk_tuning tuning_of(const spryi_tuning *table, const spryi_build_request *request, int levels)
{
    if (levels == 4) return SPRYI_CSRK_CPU;
    if (request->parameters[TUNING] > 0) return (spryi_csrk_tuning)request->parameters[TUNING];
    if (!request->massively_parallel) return SPRYI_CSRK_CPU;
    if (table->gpu_major > 0 && request->compute_major == table->gpu_major) return SPRYI_CSRK_TABLE;
    if (request->compute_major >= 9) return SPRYI_CSRK_HOPPER;
    return request->compute_major > 0 && request->compute_major < 8 ? SPRYI_CSRK_VOLTA : SPRYI_CSRK_AMPERE;
}

void spryi_csrk_tune_cpu(int64_t *ssrs, int64_t *srs, const spryi_tuning *table, int levels)
{
    const int64_t told = levels > 2 ? table->csr3_srs : table->csr2_srs;
    *srs = told > 0 ? told : SPRYI_CSRK_SRS;
    *ssrs = levels == 2 ? 0 : table->csr3_ssrs > 0 ? table->csr3_ssrs : SPRYI_CSRK_SSRS;
}

spry_status spryi_csrk_find_case(spryi_csrk_case *which, int64_t by, const spry_arrays *a, spry_error *err)
{
    *which = spryi_csrk_case_of(a->rows, a->nnz);
    if (by != SPRYI_CSRK_BY_LONGEST) return SPRY_OK;
    if (a->device != 0 || a->layout != SPRY_CSR)
        return spryi_fail(err, SPRY_UNSUPPORTED, "format",
                          "csr3: by=longest looks at the rows of CSR in host memory, and the matrix is not there");
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t length = spryi_offset_of(a, i + 1) - spryi_offset_of(a, i);
        if (length > longest) longest = length;
    }
    *which = spryi_csrk_case_of_length((double)longest);
    return SPRY_OK;
}

/* Counts and sizes of groups that an ordering found, in place of equal ones. */
static spry_status take_groups(spryi_csrk *s, const spry_ordering *from, const spry_arrays *a, int levels,
                               spry_error *err)
{
    if (from->rows != a->rows)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "groups", from->rows, a->rows,
                                "csr%d: groups are of an ordering of %lld rows, the matrix has %lld", levels,
                                (long long)from->rows, (long long)a->rows);
    const char *missing = !from->sr_ptr                   ? "super-rows"
                          : levels > 2 && !from->ssr_ptr  ? "super-super-rows"
                          : levels > 3 && !from->sssr_ptr ? "groups of super-super-rows"
                                                          : NULL;
    if (missing)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "groups",
                          "csr%d: the ordering (%s) has no %s, expected groups of k = %d", levels, from->method,
                          missing, levels);
    s->srs = from->srs;
    s->ssrs = levels > 2 ? from->ssrs : 0;
    s->sssrs = levels > 3 ? from->sssrs : 0;
    s->sr_count = from->sr_count;
    s->ssr_count = levels > 2 ? from->ssr_count : 0;
    s->sssr_count = levels > 3 ? from->sssr_count : 0;
    return SPRY_OK;
}

int64_t spryi_csrk_pointers(const spryi_csrk *s)
{
    return s->sr_count + 1 + (s->ssrs > 0 ? s->ssr_count + 1 : 0) + (s->sssrs > 0 ? s->sssr_count + 1 : 0);
}

/* Of equal groups. */
static spry_status resolve_sizes(spryi_csrk *s, spryi_csrk_tuning tuning, const spryi_tuning *table,
                                 const spryi_build_request *request, const spry_arrays *a, int levels, spry_error *err)
{
    const int64_t *given = request->parameters;
    if (tuning == SPRYI_CSRK_TABLE && table->gpu_major == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format",
                          "csr3: tuning=table, but the context has no table with formulas for GPUs: load one with "
                          "spry_context_load_tuning");
    if (levels == 3) SPRYI_OK_OR_RETURN(spryi_csrk_find_case(&s->which, given[SPRYI_CSR3_BY], a, err));
    if (levels == 3 && tuning == SPRYI_CSRK_TABLE)
        spryi_csrk_tune_by(&s->ssrs, &s->srs, table, s->which, a->rows, a->nnz);
    else if (levels == 3 && tuning != SPRYI_CSRK_CPU)
        spryi_csrk_tune(&s->ssrs, &s->srs, tuning, s->which, a->rows, a->nnz);
    else
        spryi_csrk_tune_cpu(&s->ssrs, &s->srs, table, levels);
    if (levels == 2 && request->massively_parallel) /* the rows that a block has at once */
        s->srs = SPRYI_CSR2_THREADS / spryi_csr2_lanes(a->rows, a->nnz);
    s->sssrs = levels > 3 ? SPRYI_CSRK_SSSRS : 0;
    for (int by = 0; by < 2; by++) { /* the format's go before the kernel's */
        const int64_t *sizes = by == 0 ? request->kernel_parameters : given;
        if (sizes[SRS] > 0) s->srs = sizes[SRS];
        if (levels > 2 && sizes[SSRS] > 0) s->ssrs = sizes[SSRS];
        if (levels > 3 && sizes[SSSRS] > 0) s->sssrs = sizes[SSSRS];
    }
    s->sr_count = spryi_blocks_of(a->rows, s->srs);
    s->ssr_count = s->ssrs > 0 ? spryi_blocks_of(s->sr_count, s->ssrs) : 0;
    s->sssr_count = s->sssrs > 0 ? spryi_blocks_of(s->ssr_count, s->sssrs) : 0;
    return SPRY_OK;
}

static void tell_parameters(char *text, size_t size, const spryi_csrk *s, spryi_csrk_tuning tuning, int by_longest)
{
    static const char *const formulas[] = {"",
                                           "",
                                           ":tuning=volta",
                                           ":tuning=ampere",
                                           ":tuning=hopper",
                                           ":tuning=table",
                                           ":tuning=volta-ssrs",
                                           ":tuning=ampere-ssrs"};
    int used = snprintf(text, size, "srs=%lld", (long long)s->srs);
    if (s->ssrs > 0) used += snprintf(text + used, size - (size_t)used, ":ssrs=%lld", (long long)s->ssrs);
    if (s->sssrs > 0)
        snprintf(text + used, size - (size_t)used, ":sssrs=%lld", (long long)s->sssrs);
    else if (s->ssrs > 0)
        snprintf(text + used, size - (size_t)used, "%s%s", formulas[tuning], by_longest ? ":by=longest" : "");
}

spry_status spryi_csrk_resolve(spryi_csrk *s, spryi_cost *cost, const spryi_tuning *table,
                               const spryi_build_request *request, const spry_arrays *a, int levels, spry_error *err)
{
    const spryi_csrk_tuning tuning = tuning_of(table, request, levels);
    SPRYI_OK_OR_RETURN(resolve_sizes(s, tuning, table, request, a, levels, err));
    if (request->options->groups) SPRYI_OK_OR_RETURN(take_groups(s, request->options->groups, a, levels, err));
    const int64_t pointers = spryi_csrk_pointers(s);
    const int64_t entry = (int64_t)(spry_type_bytes(a->value_type) + spry_index_type_bytes(a->index_type));
    cost->bytes = a->nnz * entry + (a->rows + 1) * (int64_t)spry_index_type_bytes(a->offset_type) +
                  pointers * (int64_t)sizeof(int64_t);
    cost->words = (a->value_type == SPRY_PATTERN ? 1 : 2) * a->nnz + a->rows + 1 + pointers;
    tell_parameters(cost->parameters, sizeof cost->parameters, s, tuning,
                    levels == 3 && request->parameters[SPRYI_CSR3_BY] == SPRYI_CSRK_BY_LONGEST);
    return SPRY_OK;
}
