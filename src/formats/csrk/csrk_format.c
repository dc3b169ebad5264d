/* Builds the storage of formats csr2, csr3 and csr4: pointers to groups of rows, with borrowed CSR arrays. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/csrk/csrk.h"
#include "formats/shared/storage_limits.h"
#include "matrix/matrix.h"
#include "spry/tune.h"

#include <stdio.h>
#include <string.h>

/* ---- sizes of groups ---------------------------------------------------------------------------------------- */

enum { SRS, SSRS, TUNING, SSSRS = TUNING }; /* indices of the parameters; index 2 is TUNING in csr3 and SSSRS in csr4 */

/*
 * Returns the rule for the sizes of groups. csr2 ignores the rule, and csr4 has only SPRYI_GROUPS_CPU. For csr3,
 * parameter "tuning" gives the rule if it is set. Otherwise CPUs use SPRYI_GROUPS_CPU. A GPU uses request->group_table
 * if this table was fitted to the GPU's generation, else the formula of the generation.
 */
static spryi_group_rule rule_of(const spryi_build_request *request, int levels)
{
    if (levels == 4) return SPRYI_GROUPS_CPU;
    if (request->parameters[TUNING] > 0) return (spryi_group_rule)request->parameters[TUNING];
    if (!request->massively_parallel) return SPRYI_GROUPS_CPU;
    const spryi_group_table *table = request->group_table;
    if (table && table->gpu_major > 0 && request->compute_major == table->gpu_major) return SPRYI_GROUPS_TABLE;
    if (request->compute_major >= 9) return SPRYI_GROUPS_HOPPER;
    return request->compute_major > 0 && request->compute_major < 8 ? SPRYI_GROUPS_VOLTA : SPRYI_GROUPS_AMPERE;
}

spry_status spryi_csrk_find_case(spryi_group_case *group_case, int64_t by, const spry_arrays *a, spry_error *err)
{
    *group_case = spryi_group_case_of(a->rows, a->nnz);
    if (by != SPRYI_CSRK_BY_LONGEST) return SPRY_OK;
    if (a->device != 0 || a->layout != SPRY_CSR)
        return spryi_fail(err, SPRY_UNSUPPORTED, "format", "csr3: by=longest needs a CSR matrix in host memory");
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; i++)
        if (spryi_row_length(a, i) > longest) longest = spryi_row_length(a, i);
    *group_case = spryi_group_case_of_length((double)longest);
    return SPRY_OK;
}

/* Sets counts and sizes of groups to those that an ordering found. */
static spry_status take_groups(spryi_csrk *s, const spry_ordering *from, const spry_arrays *a, int levels,
                               spry_error *err)
{
    if (from->rows != a->rows)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "groups", from->rows, a->rows,
                                "csr%d: the groups' ordering has %lld rows, the matrix has %lld", levels,
                                (long long)from->rows, (long long)a->rows);
    const char *missing = !from->groups.sr_ptr                   ? "super-rows"
                          : levels > 2 && !from->groups.ssr_ptr  ? "super-super-rows"
                          : levels > 3 && !from->groups.sssr_ptr ? "groups of super-super-rows"
                                                                 : NULL;
    if (missing)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "groups",
                          "csr%d: the ordering (%s) has no %s, expected groups of k = %d", levels, from->method,
                          missing, levels);
    s->srs = from->groups.srs;
    s->ssrs = levels > 2 ? from->groups.ssrs : 0;
    s->sssrs = levels > 3 ? from->groups.sssrs : 0;
    s->sr_count = from->groups.sr_count;
    s->ssr_count = levels > 2 ? from->groups.ssr_count : 0;
    s->sssr_count = levels > 3 ? from->groups.sssr_count : 0;
    return SPRY_OK;
}

static int64_t pointers_of(const spryi_csrk *s)
{
    return s->sr_count + 1 + (s->ssrs > 0 ? s->ssr_count + 1 : 0) + (s->sssrs > 0 ? s->sssr_count + 1 : 0);
}

/* Computes the sizes and counts of groups of equal size. */
static spry_status resolve_sizes(spryi_csrk *s, spryi_group_rule rule, const spryi_build_request *request,
                                 const spry_arrays *a, int levels, spry_error *err)
{
    const int64_t *given = request->parameters;
    const spryi_group_table *table = request->group_table;
    if (rule == SPRYI_GROUPS_TABLE && (!table || table->gpu_major == 0))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format",
                          "csr3: tuning=table, but the context has no table with formulas for GPUs: load one with "
                          "spry_context_load_tuning");
    if (levels == 3) SPRYI_OK_OR_RETURN(spryi_csrk_find_case(&s->which, given[SPRYI_CSR3_BY], a, err));
    const spryi_group_sizes found =
        spryi_find_group_sizes(levels == 3 ? rule : SPRYI_GROUPS_CPU, levels, s->which, a->rows, a->nnz, table);
    s->srs = found.srs;
    s->ssrs = found.ssrs;
    if (levels == 2 && request->massively_parallel) /* rows that a block multiplies together */
        s->srs = SPRYI_CSR2_THREADS / spryi_csr2_lanes(a->rows, a->nnz);
    s->sssrs = levels > 3 ? SPRYI_GROUP_SSSRS : 0;
    for (int by = 0; by < 2; by++) { /* the format's parameters override the kernel's */
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

/* Writes the resolved parameters in the form in which a user gives parameters. */
static void write_parameters(char *text, size_t size, const spryi_csrk *s, spryi_group_rule rule, bool by_longest)
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
        snprintf(text + used, size - (size_t)used, "%s%s", formulas[rule], by_longest ? ":by=longest" : "");
}

spry_status spryi_csrk_resolve(spryi_csrk *s, spryi_cost *cost, const spryi_build_request *request,
                               const spry_arrays *a, int levels, spry_error *err)
{
    const spryi_group_rule rule = rule_of(request, levels);
    SPRYI_OK_OR_RETURN(resolve_sizes(s, rule, request, a, levels, err));
    if (request->options->groups) SPRYI_OK_OR_RETURN(take_groups(s, request->options->groups, a, levels, err));
    const int64_t pointers = pointers_of(s);
    const int64_t entry = (int64_t)(spry_type_bytes(a->value_type) + spryi_index_type_bytes(a->index_type));
    cost->bytes = a->nnz * entry + (a->rows + 1) * (int64_t)spryi_index_type_bytes(a->offset_type) +
                  pointers * (int64_t)sizeof(int64_t);
    cost->words = (a->value_type == SPRY_PATTERN ? 1 : 2) * a->nnz + a->rows + 1 + pointers;
    write_parameters(cost->parameters, sizeof cost->parameters, s, rule,
                     levels == 3 && request->parameters[SPRYI_CSR3_BY] == SPRYI_CSRK_BY_LONGEST);
    return SPRY_OK;
}

/* ---- the format --------------------------------------------------------------------------------------------- */

static void destroy(spry_context *context, void *storage)
{
    spryi_csrk *s = storage;
    spryi_matrix_release(s->matrix);
    spryi_csr_release_auxiliary(context, &s->csr);
    spryi_release(context, s->sr_ptr);
    spryi_release(context, s->ssr_ptr);
    spryi_release(context, s->sssr_ptr);
    spryi_release(context, s);
}

/*
 * Builds the pointers of one level. Copies the pointers `found` of an ordering. If `found` is NULL, each group has
 * `size` of the `count` items.
 */
static spry_status build_groups(spry_context *context, int64_t **pointers, const int64_t *found, int64_t groups,
                                int64_t count, int64_t size, const char *name, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, pointers, groups + 1, name, err));
    if (found) {
        memcpy(*pointers, found, (size_t)(groups + 1) * sizeof *found);
        return SPRY_OK;
    }
    for (int64_t g = 0; g < groups; g++) (*pointers)[g] = g * size;
    (*pointers)[groups] = count;
    return SPRY_OK;
}

/* Builds one row block per super-row. The units of static scheduling are the outermost groups. */
static spry_status build_blocks(spry_context *context, spryi_csrk *s, spry_error *err)
{
    spryi_csr_blocks *blocks = &s->csr.blocks;
    blocks->units = s->sssrs > 0 ? s->sssr_count : s->ssrs > 0 ? s->ssr_count : s->sr_count;
    blocks->unit_ptr[0] = s->sssr_ptr ? s->sssr_ptr : s->ssr_ptr;
    blocks->unit_ptr[1] = s->sssr_ptr ? s->ssr_ptr : NULL;
    blocks->count = s->sr_count;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &blocks->list, blocks->count, "blocks of super-rows", err));
    for (int64_t b = 0; b < blocks->count; b++)
        blocks->list[b] = (spryi_csr_block){.begin = s->sr_ptr[b], .end = s->sr_ptr[b + 1], .piece = -1};
    return SPRY_OK;
}

/* Computes the sizes of groups and the cost. Arrays count as borrowed if they are A's own and not a conversion. */
static spry_status resolve(spryi_csrk *shape, spryi_cost *cost, const spryi_build_request *request, int levels,
                           spry_error *err)
{
    spry_status status = spryi_csrk_resolve(shape, cost, request, &request->csr->a, levels, err);
    if (status == SPRY_OK && request->csr == request->A)
        cost->borrowed = cost->bytes - pointers_of(shape) * (int64_t)sizeof(int64_t);
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, int levels,
                         spry_error *err)
{
    static const char *const names[] = {"csr2", "csr3", "csr4"};
    const spry_ordering *found = request->options->groups;
    spryi_csrk *s = storage;
    spryi_cost cost = {0};
    spryi_csrk shape = {0};
    SPRYI_OK_OR_RETURN(resolve(&shape, &cost, request, levels, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, names[levels - 2], &cost, err));
    *s = shape;
    s->csr.a = request->csr->a;
    s->matrix = spryi_matrix_retain(request->csr);
    s->owns_arrays = request->massively_parallel || request->csr != request->A;
    SPRYI_OK_OR_RETURN(build_groups(context, &s->sr_ptr, found ? found->groups.sr_ptr : NULL, s->sr_count,
                                    s->csr.a.rows, s->srs, "super-rows", err));
    if (levels > 2)
        SPRYI_OK_OR_RETURN(build_groups(context, &s->ssr_ptr, found ? found->groups.ssr_ptr : NULL, s->ssr_count,
                                        s->sr_count, s->ssrs, "super-super-rows", err));
    if (levels > 3)
        SPRYI_OK_OR_RETURN(build_groups(context, &s->sssr_ptr, found ? found->groups.sssr_ptr : NULL, s->sssr_count,
                                        s->ssr_count, s->sssrs, "groups of super-super-rows", err));
    s->csr.vector_type = request->options->vector_type;
    if (request->massively_parallel) return SPRY_OK;
    SPRYI_OK_OR_RETURN(build_blocks(context, s, err));
    return spryi_csr_finish(context, &s->csr, request, request->options->op == SPRY_TRANSPOSE, err);
}

static int64_t auxiliary_bytes(const spryi_csrk *s)
{
    return pointers_of(s) * (int64_t)sizeof(int64_t) + s->csr.blocks.count * (int64_t)sizeof *s->csr.blocks.list +
           s->csr.runs.count * (int64_t)sizeof *s->csr.runs.list +
           s->csr.spans.count * (int64_t)sizeof *s->csr.spans.list;
}

static int64_t storage_bytes(const void *storage)
{
    const spryi_csrk *s = storage;
    return spryi_arrays_bytes(&s->csr.a) + auxiliary_bytes(s);
}

static int64_t owned_bytes(const void *storage)
{
    const spryi_csrk *s = storage;
    return auxiliary_bytes(s) + (s->owns_arrays ? spryi_arrays_bytes(&s->csr.a) : 0);
}

static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    return spryi_format_csr.workspace_bytes(&((const spryi_csrk *)storage)->csr, vector_type);
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    (void)context, (void)err;
    *csr = spryi_matrix_retain(((const spryi_csrk *)storage)->matrix);
    return SPRY_OK;
}

static int device_sections(void *storage, spryi_section *sections)
{
    spryi_csrk *s = storage;
    int count = spryi_format_csr.layout.device_sections(&s->csr, sections);
    sections[count++] = (spryi_section){"sr_ptr", (void **)&s->sr_ptr, NULL, s->sr_count + 1, sizeof *s->sr_ptr};
    if (s->ssrs > 0)
        sections[count++] =
            (spryi_section){"ssr_ptr", (void **)&s->ssr_ptr, NULL, s->ssr_count + 1, sizeof *s->ssr_ptr};
    if (s->sssrs > 0)
        sections[count++] =
            (spryi_section){"sssr_ptr", (void **)&s->sssr_ptr, NULL, s->sssr_count + 1, sizeof *s->sssr_ptr};
    return count;
}

#define LEVELS(k)                                                                                                      \
    static spry_status predict_##k(spry_context *context, spryi_cost *cost, const spryi_build_request *request,        \
                                   spry_error *err)                                                                    \
    {                                                                                                                  \
        spryi_csrk shape = {0};                                                                                        \
        (void)context;                                                                                                 \
        return resolve(&shape, cost, request, k, err);                                                                 \
    }                                                                                                                  \
    static spry_status build_##k(spry_context *context, void *storage, const spryi_build_request *request,             \
                                 spry_error *err)                                                                      \
    {                                                                                                                  \
        return build(context, storage, request, k, err);                                                               \
    }
LEVELS(2)
LEVELS(3)
LEVELS(4)

#define SHARED                                                                                                         \
    .destroy = destroy, .storage_bytes = storage_bytes, .owned_bytes = owned_bytes,                                    \
    .workspace_bytes = workspace_bytes, .to_csr = to_csr, .layout.size = sizeof(spryi_csrk),                           \
    .layout.device_sections = device_sections

/* clang-format off */
#define SRS {"srs", 1, SPRYI_MOST_GROUP, "rows per super-row"}
#define SSRS {"ssrs", 1, SPRYI_MOST_GROUP, "super-rows per super-super-row"}
#define SSSRS {"sssrs", 1, SPRYI_MOST_GROUP, "super-super-rows per group"}
/* clang-format on */
const spryi_parameter spryi_csrk_sizes_2[] = {SRS, {0}};
const spryi_parameter spryi_csrk_sizes_3[] = {SRS, SSRS, {0}};
const spryi_parameter spryi_csrk_sizes_4[] = {SRS, SSRS, SSSRS, {0}};
static const spryi_parameter parameters_of_csr3[] = {
    SRS,
    SSRS,
    {"tuning", 0, 0, "rule for sizes that are not given"},
    {"by", 0, 0, "row length that chooses a GPU's kernel and blocks"},
    {0},
};
/* Words in the order of spryi_group_rule and spryi_csrk_by. */
static const char *const tunings[] = {"cpu", "volta", "ampere", "hopper", "table", "volta-ssrs", "ampere-ssrs", NULL};
static const char *const lengths[] = {"mean", "longest", NULL};

/*
 * Returns the kernel that the paper's rule chooses: GPUSpMV-3 for up to 8 entries a row on average, else GPUSpMV-3.5.
 * With by=longest, the longest row replaces the average. If the longest row cannot be found, since A is not CSR in host
 * memory, returns GPUSpMV-3.5.
 */
static const char *gpu_kernel(const spry_matrix *A, const int64_t *parameters)
{
    spryi_group_case group_case;
    if (spryi_csrk_find_case(&group_case, parameters[SPRYI_CSR3_BY], &A->a, NULL) != SPRY_OK)
        group_case = SPRYI_GROUP_CASE_2;
    return group_case == SPRYI_GROUP_CASE_1 ? "csr3_gpuspmv3_cuda" : "csr3_gpuspmv35_cuda";
}

const spryi_format spryi_format_csr2 = {
    .name = "csr2",
    .title = "CSR-2: super-rows over CSR",
    .formula = "csr + (m/SRS + 1) pointers",
    .best_for = "regular matrices, without a copy; rows of similar lengths",
    .parameters.list = spryi_csrk_sizes_2,
    .parameters.text =
        "srs=NUMBER (rows per super-row, default 96; on a GPU the rows that a block multiplies together)",
    .predict = predict_2,
    .build = build_2,
    SHARED,
};

const spryi_format spryi_format_csr3 = {
    .name = "csr3",
    .title = "CSR-3: super-super-rows over CSR",
    .formula = "csr + (m/SRS + 1) + (m/(SRS*SSRS) + 1) pointers",
    .best_for = "regular matrices, without a copy; one more level, for GPUs",
    .parameters.list = parameters_of_csr3,
    .parameters.words = {[TUNING] = tunings, [SPRYI_CSR3_BY] = lengths},
    .parameters.text =
        "srs=NUMBER (rows per super-row); ssrs=NUMBER (super-rows per super-super-row); "
        "tuning=cpu|volta|ampere|hopper|table|volta-ssrs|ampere-ssrs (rule for sizes that are not given; default cpu, "
        "96 and 8; on a GPU table if loaded, else the GPU's generation; -ssrs: another reading of the paper's case 2); "
        "by=mean|longest (row length that chooses a GPU's kernel and blocks; default mean)",
    .predict = predict_3,
    .build = build_3,
    SHARED,
    .choice.gpu_kernel = gpu_kernel,
};

const spryi_format spryi_format_csr4 = {
    .name = "csr4",
    .title = "CSR-4: groups of super-super-rows over CSR",
    .formula = "csr + (m/SRS + 1) + (m/(SRS*SSRS) + 1) + (m/(SRS*SSRS*SSSRS) + 1) pointers",
    .best_for = "comparing numbers of levels, on CPUs",
    .parameters.list = spryi_csrk_sizes_4,
    .parameters.text =
        "srs=NUMBER (rows per super-row, default 96); ssrs=NUMBER (super-rows per super-super-row, default 8); "
        "sssrs=NUMBER (super-super-rows per group, default 8)",
    .predict = predict_4,
    .build = build_4,
    SHARED,
};
