#include "core/kernel.h"

#include "core/error.h"

spry_status spryi_check_memory_limit(const spry_spmv_options *options, const char *format, int64_t bytes,
                                     spry_error *err)
{
    int64_t limit = options->memory_limit_bytes;
    if (limit == 0 || bytes <= limit) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                            "format %s would take %lld bytes, over the limit of %lld", format, (long long)bytes,
                            (long long)limit);
}

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
