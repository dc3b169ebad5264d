/* What ELL takes for a shape. The CUDA plug-in compiles this file too. */
#include "core/error.h"
#include "formats/ell/ell.h"

int64_t spryi_ell_product(int64_t a, int64_t b)
{
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

int64_t spryi_ell_beside_bytes(int64_t rows)
{
    return rows * (int64_t)sizeof(int32_t) + (rows + SPRYI_ELL_SLICE - 1) / SPRYI_ELL_SLICE;
}

spry_status spryi_ell_figure(spryi_figure *figure, int64_t width, const spry_arrays *csr, spry_error *err)
{
    int64_t slots, bytes;
    int64_t size = (int64_t)(spry_type_bytes(csr->value_type) + spry_index_type_bytes(csr->index_type));
    if (width > INT32_MAX || __builtin_mul_overflow(csr->rows, width, &slots) ||
        __builtin_mul_overflow(slots, size, &bytes) || bytes > INT64_MAX / 2)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "format", width, INT32_MAX,
                                "ell of %lld rows and width %lld is larger than any memory", (long long)csr->rows,
                                (long long)width);
    figure->words = 2 * slots;
    figure->bytes = bytes + spryi_ell_beside_bytes(csr->rows);
    return SPRY_OK;
}
