/* The width of HYB's ELL part, and what both parts take. */
#include "core/error.h"
#include "formats/hyb/hyb.h"

#include <stdio.h>

enum { WIDTH, SHARE }; /* indices in the list of parameters */

/* Rounded, halves up. */
static int64_t mean_row(const spry_arrays *a)
{
    return a->rows > 0 ? a->nnz / a->rows + (a->nnz % a->rows >= a->rows - a->nnz % a->rows) : 0;
}

spry_status spryi_hyb_resolve(int64_t *width, int64_t *share, const spryi_build_request *request, const spry_arrays *a,
                              spry_error *err)
{
    const int64_t *parameters = request->parameters;
    if (parameters[WIDTH] != 0 && parameters[SHARE] > 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "format", "format hyb: width and share are two rules, give one");
    *share = parameters[SHARE];
    *width = parameters[WIDTH] > 0 ? parameters[WIDTH] : parameters[WIDTH] == SPRYI_GIVEN_ZERO ? 0 : mean_row(a);
    return SPRY_OK;
}

spry_status spryi_hyb_cost(spryi_cost *cost, const spry_arrays *a, int64_t width, int64_t rest, spry_error *err)
{
    const spry_status status = spryi_ell_cost(cost, width, a, err);
    if (status != SPRY_OK) return status;
    cost->words += 3 * rest;
    cost->bytes += rest * (int64_t)(spry_type_bytes(a->value_type) + 2 * spry_index_type_bytes(a->index_type));
    cost->padding = a->rows * width - (a->nnz - rest);
    snprintf(cost->parameters, sizeof cost->parameters, "width=%lld", (long long)width);
    return SPRY_OK;
}
