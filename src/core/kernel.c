#include "core/kernel.h"

void spryi_scale(void *y, spry_type type, int64_t begin, int64_t end, double beta)
{
    if (beta == 1) return;
    if (type == SPRY_F64) {
        double *v = y;
        for (int64_t i = begin; i < end; i++) v[i] = beta == 0 ? 0 : beta * v[i];
    } else {
        float *v = y, b = (float)beta;
        for (int64_t i = begin; i < end; i++) v[i] = b == 0 ? 0 : b * v[i];
    }
}
