/* Parameters of SELL-C-sigma and its storage size. The CUDA plug-in compiles this file too. */
#include "base/error.h"
#include "formats/sell/sell.h"

#include <stdio.h>

enum { CHUNK, SIGMA }; /* indices in the list of parameters */

void spryi_sell_resolve(int64_t *c, int64_t *sigma, const spryi_build_request *request)
{
    *c = request->parameters[CHUNK] > 0 ? request->parameters[CHUNK]
         : request->massively_parallel  ? SPRYI_SELL_CUDA_CHUNK
                                        : SPRYI_SELL_CHUNK;
    *sigma = request->parameters[SIGMA] > 0 ? request->parameters[SIGMA] : SPRYI_SELL_SIGMA;
    if (*sigma == 1) return;
    *sigma = (*sigma + *c - 1) / *c * *c;
    if (*sigma > SPRYI_SELL_MOST_SIGMA) *sigma -= *c;
}

bool spryi_sell_may_leave_rows(const spryi_build_request *request)
{
    return request->massively_parallel && request->parameters[SIGMA] == 0;
}

/*
 * For a GPU, rows are sorted only if sorting saves at least SPRYI_SELL_SORT_SAVES slots per row on average, or more
 * than nnz / 2 slots. One more slot per row takes less time than scattered reads of x and writes of y (measured on an
 * H200).
 */
bool spryi_sell_sorting_pays(const spry_arrays *a, int64_t sorted, int64_t unsorted)
{
    return unsorted - sorted >= SPRYI_SELL_SORT_SAVES * a->rows || unsorted - sorted > a->nnz / 2;
}

spry_status spryi_sell_check_size(int64_t rows, int64_t longest, int64_t c, spry_error *err)
{
    const int64_t lanes = (rows + c - 1) / c * c, slots = spryi_size_product(lanes, longest);
    if (longest <= INT32_MAX && slots >= 0 && slots <= INT64_MAX / 32) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "format", longest, INT32_MAX,
                            "sell: %lld rows, the longest with %lld entries, may need more slots than can be counted",
                            (long long)rows, (long long)longest);
}

void spryi_sell_cost(spryi_cost *cost, const spry_arrays *a, int64_t slots, int64_t c, int64_t sigma)
{
    const int64_t chunks = (a->rows + c - 1) / c;
    cost->words = (a->value_type == SPRY_PATTERN ? 1 : 2) * slots + chunks + 1 + (sigma > 1 ? a->rows : 0);
    cost->bytes = slots * (int64_t)(spry_type_bytes(a->value_type) + spryi_index_type_bytes(a->index_type)) +
                  (chunks + 1) * (int64_t)sizeof(int64_t) + chunks * c * (int64_t)sizeof(int32_t) + chunks +
                  (sigma > 1 ? a->rows * (int64_t)sizeof(uint16_t) : 0);
    cost->padding = slots - a->nnz;
    snprintf(cost->parameters, sizeof cost->parameters, "c=%lld:sigma=%lld", (long long)c, (long long)sigma);
}
