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
