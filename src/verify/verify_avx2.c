#include "verify/row_sum.h"

spryi_row_sum spryi_sum_row_avx2(const spry_arrays *a, const void *x, spry_type type, int64_t i)
{
    return spryi_sum_row(a, x, type, i);
}
