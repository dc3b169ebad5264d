/*
 * Formats whose storage owns its arrays share this: a format lists them once, in its `sections` (core/kernel.h), and is
 * allocated, released, counted, uploaded and kept in containers by that list.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/column_windows.h"
#include "matrix/assemble.h"

typedef int (*spryi_sections_fn)(void *storage, spryi_section *list);

/* Allocates the listed arrays that are not there yet. After a failure the caller releases. */
spry_status spryi_allocate_arrays(spry_context *context, void *storage, spryi_sections_fn sections, spry_error *err);

/* Releases the listed arrays, those that are there, and leaves NULL. */
void spryi_release_arrays(spry_context *context, void *storage, spryi_sections_fn sections);

/* ---- storages that begin with spry_arrays: the sizes and types of a CSR matrix, without its arrays ----- */

spry_arrays spryi_shape_of(const spry_arrays *csr);

/* Appends the three sections of the shape in a to the list, from *count on. */
void spryi_list_shape(spry_arrays *a, spryi_section *list, int *count);

/* SPRY_BAD_FILE where a restored shape makes no sense, or where some of `count` columns are out of range. */
spry_status spryi_check_shape(const spry_arrays *a, const char *format, spry_error *err);
spry_status spryi_check_columns(const spry_arrays *a, const void *columns, int64_t count, const char *format,
                                spry_error *err);

/* Return a * b and count + 1, or -1 if that is no size. Counts of a damaged file must not overflow. */
static inline int64_t spryi_size_product(int64_t a, int64_t b)
{
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

static inline int64_t spryi_size_plus_one(int64_t count)
{
    return count < 0 || count == INT64_MAX ? -1 : count + 1;
}

/*
 * Back to CSR: start allocates c's arrays for the shape a, with the offsets to be filled in; finish makes the matrix of
 * c, which it takes. The caller clears c after both, also where they fail.
 */
spry_status spryi_start_csr(spry_context *context, spryi_compressed *c, const spry_arrays *a, spry_error *err);
spry_status spryi_finish_csr(spry_context *context, spry_matrix **csr, spryi_compressed *c, const spry_arrays *a,
                             spry_error *err);
