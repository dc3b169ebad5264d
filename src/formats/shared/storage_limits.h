/* Limits of the memory that a plan owns, checked before allocation: the padding guard and memory_limit_bytes. */
#pragma once

#include "core/kernel.h"

/* Returns the bytes of a format's arrays that the plan would own. */
int64_t spryi_bytes_to_own(const spryi_build_request *request, const spryi_cost *cost);

/* Returns SPRY_TOO_LARGE if a plan in `format` that owns `bytes` bytes would pass options->memory_limit_bytes. */
spry_status spryi_check_memory_limit(const spry_spmv_options *options, const char *format, int64_t bytes,
                                     spry_error *err);

/*
 * Checks a format's arrays before they are allocated. Returns SPRY_TOO_LARGE in two cases:
 *  - options->memory_limit_bytes is less than the bytes that the plan would own of the arrays. err->value is a limit
 *    that suffices for a plan that has no ordering and no copies of vectors.
 *  - There is no limit, and padding is over SPRYI_MOST_PADDING * nnz + 4096 entries (the padding guard).
 */
enum { SPRYI_MOST_PADDING = 2 };
spry_status spryi_check_storage(const spryi_build_request *request, const char *format, const spryi_cost *cost,
                                spry_error *err);

/*
 * Stores the cost in *request->cost, unless request->cost is NULL, and checks the storage against the limits
 * (spryi_check_storage). A format's build calls this function before it allocates arrays.
 */
spry_status spryi_admit(const spryi_build_request *request, const char *format, const spryi_cost *cost,
                        spry_error *err);
