/* The bytes that ELL takes for a shape. */
#include "core/error.h"
#include "formats/ell/ell.h"

spry_status spryi_ell_cost(spryi_cost *cost, int64_t width, const spry_arrays *csr, spry_error *err)
{
    int64_t slots, bytes;
    int64_t size = (int64_t)(spry_type_bytes(csr->value_type) + spry_index_type_bytes(csr->index_type));
    if (width > INT32_MAX || __builtin_mul_overflow(csr->rows, width, &slots) ||
        __builtin_mul_overflow(slots, size, &bytes) || bytes > INT64_MAX / 2)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "format", width, INT32_MAX,
                                "ell of %lld rows and width %lld is larger than any memory", (long long)csr->rows,
                                (long long)width);
    cost->words = 2 * slots;
    cost->bytes = bytes + csr->rows * (int64_t)sizeof(int32_t) +
                  spryi_blocks_of(csr->rows, SPRYI_ELL_SLICE); /* lengths, runs */
    return SPRY_OK;
}
