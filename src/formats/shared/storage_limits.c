#include "formats/shared/storage_limits.h"

#include "base/error.h"
#include "base/memory.h"
#include "matrix/matrix.h"

#include <stdbool.h>
#include <string.h>

int64_t spryi_bytes_to_own(const spryi_build_request *request, const spryi_cost *cost)
{
    return request->copied ? cost->bytes : cost->bytes - cost->borrowed;
}

spry_status spryi_check_memory_limit(const spry_spmv_options *options, const char *format, int64_t bytes,
                                     spry_error *err)
{
    int64_t limit = options->memory_limit_bytes;
    if (limit == 0 || bytes <= limit) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                            "a plan in %s would own %lld bytes, over the limit of %lld", format, (long long)bytes,
                            (long long)limit);
}

/*
 * Returns an upper bound of the bytes that a plan in `format` owns in addition to the format's arrays: row blocks,
 * runs, spans, windows of columns and workspace. An ordering and copies of vectors are not counted.
 */
static int64_t most_auxiliary(const spryi_build_request *request, const char *format, const spryi_cost *cost)
{
    enum {
        FIXED = 1 << 10,
        ENTRY = 5,
        LINE = 8,
        LINE_OF_GROUPS = 80,
        SCATTERED_LINE = 40,
        SCATTERED_ENTRY = 8,
        SCATTERED_FIXED = 1 << 12
    };
    static const int64_t MOST = INT64_MAX / 1024;
    const spry_arrays *a = &request->A->a;
    const bool scatters = (request->options->op == SPRY_TRANSPOSE) != (strcmp(format, "csc") == 0);
    const bool has_groups = strncmp(format, "csr", 3) == 0 && format[3] != 0;
    const int64_t lines = a->rows > a->columns ? a->rows : a->columns;
    if (lines > MOST || a->nnz > MOST) return INT64_MAX;
    int64_t bytes = FIXED + ENTRY * a->nnz + (has_groups ? LINE_OF_GROUPS : LINE) * lines;
    if (scatters) bytes += SCATTERED_FIXED + SCATTERED_LINE * lines + SCATTERED_ENTRY * a->nnz + cost->bytes / 4;
    return spryi_add_bytes(bytes, cost->extra_workspace);
}

spry_status spryi_check_storage(const spryi_build_request *request, const char *format, const spryi_cost *cost,
                                spry_error *err)
{
    enum { SMALL = 4096 }; /* entries of padding that are always accepted */
    int64_t nnz = request->A->a.nnz;
    if (request->options->memory_limit_bytes > 0) {
        const int64_t least = spryi_bytes_to_own(request, cost), limit = request->options->memory_limit_bytes;
        if (least <= limit) return SPRY_OK;
        const int64_t most = spryi_add_bytes(least, most_auxiliary(request, format, cost));
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", most, limit,
                                "a plan in %s would own up to %lld bytes, over the limit of %lld", format,
                                (long long)most, (long long)limit);
    }
    if (cost->padding <= SMALL || (cost->padding - SMALL) / SPRYI_MOST_PADDING <= nnz) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "format", cost->bytes, 0,
                            "format %s would take %lld bytes, %lld of %lld slots padding: refused by the padding "
                            "guard",
                            format, (long long)cost->bytes, (long long)cost->padding, (long long)(cost->padding + nnz));
}

spry_status spryi_admit(const spryi_build_request *request, const char *format, const spryi_cost *cost, spry_error *err)
{
    if (request->cost) *request->cost = *cost;
    return spryi_check_storage(request, format, cost, err);
}
