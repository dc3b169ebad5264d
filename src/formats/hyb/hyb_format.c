/* The storage of format hyb: the width of its ELL part, its size, its build, and what containers need. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/hyb/hyb.h"
#include "formats/shared/padding_guard.h"

#include <stdio.h>

enum { WIDTH, SHARE }; /* indices in the list of parameters */

/* Rounded, halves up. */
static int64_t mean_row(const spry_arrays *a)
{
    return a->rows > 0 ? a->nnz / a->rows + (a->nnz % a->rows >= a->rows - a->nnz % a->rows) : 0;
}

/* Sets *width as given or to the mean row. If *share > 0, the width follows from the share instead. */
static spry_status resolve_parameters(int64_t *width, int64_t *share, const spryi_build_request *request,
                                      const spry_arrays *a, spry_error *err)
{
    const int64_t *parameters = request->parameters;
    if (parameters[WIDTH] != 0 && parameters[SHARE] > 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format", "format hyb: width and share are two rules, give one");
    *share = parameters[SHARE];
    *width = parameters[WIDTH] > 0 ? parameters[WIDTH] : parameters[WIDTH] == SPRYI_GIVEN_ZERO ? 0 : mean_row(a);
    return SPRY_OK;
}

static spry_status cost_of(spryi_cost *cost, const spry_arrays *a, int64_t width, int64_t rest, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_ell_cost(cost, width, a, err));
    cost->words += 3 * rest;
    cost->bytes += rest * (int64_t)(spry_type_bytes(a->value_type) + 2 * spry_index_type_bytes(a->index_type));
    cost->padding = a->rows * width - (a->nnz - rest);
    snprintf(cost->parameters, sizeof cost->parameters, "width=%lld", (long long)width);
    return SPRY_OK;
}

static spry_status resolve(spry_context *context, spryi_cost *cost, int64_t *width, int64_t *rest,
                           const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spry_status status = SPRY_OK;
    int64_t share = 0;
    SPRYI_TRY(resolve_parameters(width, &share, request, a, err));
    if (share > 0) SPRYI_TRY(spryi_hyb_width_of_share(context, width, a, share, err));
    *rest = spryi_hyb_rest(context, a, *width);
    SPRYI_TRY(cost_of(cost, a, *width, *rest, err));
done:
    return status;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    int64_t width, rest;
    return resolve(context, cost, &width, &rest, request, err);
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spryi_hyb *s = storage;
    spryi_cost cost = {0};
    int64_t width = 0, rest = 0;
    SPRYI_OK_OR_RETURN(resolve(context, &cost, &width, &rest, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "hyb", &cost, err));
    SPRYI_OK_OR_RETURN(spryi_hyb_make(context, s, a, width, rest, err));
    if (request->options->op == SPRY_TRANSPOSE) SPRYI_OK_OR_RETURN(spryi_windows_make(context, &s->windows, a, 1, err));
    return SPRY_OK;
}

static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_hyb *s = storage;
    if (s->windows.count > 0) return spryi_windows_workspace(&s->windows, vector_type);
    const spryi_coo rest = spryi_hyb_coo(s);
    return spryi_format_coo.workspace_bytes(&rest, vector_type);
}

int spryi_hyb_list(void *storage, spryi_section *list)
{
    spryi_hyb *s = storage;
    const int64_t index_bytes = (int64_t)spry_index_type_bytes(s->a.index_type);
    int count = 0;
    list[count++] = (spryi_section){"rest", NULL, &s->rest, 1, sizeof s->rest};
    spryi_ell_sections(&s->a, &s->ell, list, &count);
    list[count++] = (spryi_section){"rest_rows", &s->rows, NULL, s->rest, index_bytes};
    list[count++] = (spryi_section){"rest_columns", &s->columns, NULL, s->rest, index_bytes};
    list[count++] =
        (spryi_section){"rest_values", &s->values, NULL, s->rest, (int64_t)spry_type_bytes(s->a.value_type)};
    return count;
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    const spryi_hyb *s = storage;
    spry_status status = SPRY_OK;
    if (s->rest < 0 || s->rest > s->a.nnz)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, s->rest, s->a.nnz, "hyb: %lld of %lld entries in COO",
                                (long long)s->rest, (long long)s->a.nnz);
    const spryi_ell first = spryi_hyb_ell(s);
    SPRYI_TRY(spryi_ell_check(&first, err));
    SPRYI_TRY(spryi_check_columns(&s->a, s->columns, s->rest, "hyb", err));
    for (int64_t k = 0, before = 0; k < s->rest; k++) {
        int64_t i = spryi_index_at(s->rows, s->a.index_type, k);
        if (i < before || i >= s->a.rows || first.lengths[i] != first.width)
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, i, s->a.rows,
                                    "hyb: entry %lld of the rest is in row %lld (counted from 0), expected rising rows "
                                    "that fill ELL",
                                    (long long)k, (long long)i);
        before = i;
    }
done:
    return status;
}

static const spryi_parameter parameters[] = {
    {"width", 0, INT32_MAX, "entries of a row in the ELL part"},
    {"share", 1, 100, "percent of the rows that the ELL part holds whole"},
    {0},
};

const spryi_format spryi_format_hyb = {
    .name = "hyb",
    .title = "hybrid: ELL, and COO for what is longer",
    .storage = "m*w values + m*w columns + m lengths + 3 arrays of the rest, w the mean row rounded",
    .best_for = "rows of nearly one length, but for some that are far longer",
    .parameters = parameters,
    .parameter_text = "width=NUMBER (of the ELL part; default the mean row, rounded); "
                      "share=NUMBER (or: percent of the rows that it holds whole)",
    .predict = predict,
    .build = build,
    .workspace_bytes = workspace_bytes,
    .to_csr = spryi_hyb_to_csr,
    .storage_size = sizeof(spryi_hyb),
    .windows_at = offsetof(spryi_hyb, windows),
    .host_only = "runs",
    .transposed_apart = 1,
    .sections = spryi_hyb_list,
    .check = check,
    .estimator = &spryi_hyb_estimator,
    .tree_answers = SPRYI_TREE_UNPREDICTABLE | SPRYI_TREE_FEW_LONG,
};
