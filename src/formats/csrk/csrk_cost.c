/* Sizes of the groups of CSR-2 and CSR-3, and what their pointers take. The CUDA plug-in compiles this file too. */
#include "core/error.h"
#include "core/ordering.h"
#include "formats/csrk/csrk.h"
#include "spry/io.h"

#include <stdio.h>

enum { SRS, SSRS, TUNING }; /* indices of the parameters */

/* The context's table where it tells of this device; else the formula of its age, Ampere's where that is not known. */
static spryi_csrk_tuning tuning_of(const spryi_tuning *table, const spryi_build_request *request)
{
    if (request->parameters[TUNING] > 0) return (spryi_csrk_tuning)request->parameters[TUNING];
    if (!request->massively_parallel) return SPRYI_CSRK_CPU;
    if (table->gpu_major > 0 && request->compute_major == table->gpu_major) return SPRYI_CSRK_TABLE;
    if (request->compute_major >= 9) return SPRYI_CSRK_HOPPER;
    return request->compute_major > 0 && request->compute_major < 8 ? SPRYI_CSRK_VOLTA : SPRYI_CSRK_AMPERE;
}

void spryi_csrk_tune_cpu(int64_t *ssrs, int64_t *srs, const spryi_tuning *table, int levels)
{
    const int64_t told = levels == 3 ? table->csr3_srs : table->csr2_srs;
    *srs = told > 0 ? told : SPRYI_CSRK_SRS;
    *ssrs = levels == 2 ? 0 : table->csr3_ssrs > 0 ? table->csr3_ssrs : SPRYI_CSRK_SSRS;
}

/* Counts and sizes of groups that an ordering found, in place of equal ones. */
static spry_status take_groups(spryi_csrk *s, const spry_ordering *from, const spry_arrays *a, int levels,
                               spry_error *err)
{
    if (from->rows != a->rows)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "groups", from->rows, a->rows,
                                "csr%d: groups are of an ordering of %lld rows, the matrix has %lld", levels,
                                (long long)from->rows, (long long)a->rows);
    if (!from->sr_ptr || (levels == 3 && !from->ssr_ptr))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "groups", "csr%d: the ordering (%s) has no %s", levels,
                          from->method, from->sr_ptr ? "super-super-rows: expected bandk with k = 3" : "super-rows");
    s->srs = from->srs;
    s->ssrs = levels == 3 ? from->ssrs : 0;
    s->sr_count = from->sr_count;
    s->ssr_count = levels == 3 ? from->ssr_count : 0;
    return SPRY_OK;
}

int64_t spryi_csrk_pointers(const spryi_csrk *s)
{
    return s->sr_count + 1 + (s->ssrs > 0 ? s->ssr_count + 1 : 0);
}

spry_status spryi_csrk_resolve(spryi_csrk *s, spryi_cost *cost, const spryi_tuning *table,
                               const spryi_build_request *request, const spry_arrays *a, int levels, spry_error *err)
{
    static const char *const formulas[] =
        {"", "", ":tuning=volta", ":tuning=ampere", ":tuning=hopper", ":tuning=table"};
    const int64_t *given = request->parameters;
    const spryi_csrk_tuning tuning = tuning_of(table, request);
    if (tuning == SPRYI_CSRK_TABLE && table->gpu_major == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format",
                          "csr3: tuning=table, but the context has no table with formulas for GPUs: load one with "
                          "spry_context_load_tuning");
    if (levels == 3 && tuning == SPRYI_CSRK_TABLE)
        spryi_csrk_tune_by(&s->ssrs, &s->srs, table, a->rows, a->nnz);
    else if (levels == 3 && tuning != SPRYI_CSRK_CPU)
        spryi_csrk_tune(&s->ssrs, &s->srs, tuning, a->rows, a->nnz);
    else
        spryi_csrk_tune_cpu(&s->ssrs, &s->srs, table, levels);
    if (levels == 2 && request->massively_parallel) /* the rows that a block has at once */
        s->srs = SPRYI_CSR2_THREADS / spryi_csr2_lanes(a->rows, a->nnz);
    if (given[SRS] > 0) s->srs = given[SRS];
    if (levels == 3 && given[SSRS] > 0) s->ssrs = given[SSRS];
    s->sr_count = spryi_blocks_of(a->rows, s->srs);
    s->ssr_count = s->ssrs > 0 ? spryi_blocks_of(s->sr_count, s->ssrs) : 0;
    if (request->options->groups) {
        spry_status status = take_groups(s, request->options->groups, a, levels, err);
        if (status != SPRY_OK) return status;
    }
    const int64_t pointers = spryi_csrk_pointers(s);
    const int64_t entry = (int64_t)(spry_type_bytes(a->value_type) + spry_index_type_bytes(a->index_type));
    cost->bytes = a->nnz * entry + (a->rows + 1) * (int64_t)spry_index_type_bytes(a->offset_type) +
                  pointers * (int64_t)sizeof(int64_t);
    cost->words = (a->value_type == SPRY_PATTERN ? 1 : 2) * a->nnz + a->rows + 1 + pointers;
    if (levels == 2)
        snprintf(cost->parameters, sizeof cost->parameters, "srs=%lld", (long long)s->srs);
    else
        snprintf(cost->parameters, sizeof cost->parameters, "srs=%lld:ssrs=%lld%s", (long long)s->srs,
                 (long long)s->ssrs, formulas[tuning]);
    return SPRY_OK;
}
