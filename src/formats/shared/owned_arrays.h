/*
 * Functions for formats whose storage owns its arrays. A format lists its arrays in `sections` (core/kernel.h). This
 * list is used to allocate, free, count and upload the arrays, and to save them in containers.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/column_windows.h"
#include "matrix/assemble.h"

typedef int (*spryi_sections_fn)(void *storage, spryi_section *list);

/* Allocates the listed arrays that are NULL. After a failure the caller releases the arrays. */
spry_status spryi_allocate_arrays(spry_context *context, void *storage, spryi_sections_fn sections, spry_error *err);

/* Frees the listed arrays and sets their pointers to NULL. */
void spryi_release_arrays(spry_context *context, void *storage, spryi_sections_fn sections);

/* ---- storages that begin with spry_arrays: the sizes and types of a CSR matrix, without its arrays ----- */

spry_arrays spryi_shape_of(const spry_arrays *csr);

/* Appends the three sections of the shape in `a` to the list, at *count, and increases *count. */
void spryi_list_shape(spry_arrays *a, spryi_section *list, int *count);

/* Return SPRY_BAD_FILE if a restored shape is not valid, or if some of `count` columns are out of range. */
spry_status spryi_check_shape(const spry_arrays *a, const char *format, spry_error *err);
spry_status spryi_check_columns(const spry_arrays *a, const void *columns, int64_t count, const char *format,
                                spry_error *err);

/* Return a * b and count + 1, or -1 if the result is not a valid size. Sizes from a damaged file must not overflow. */
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
 * Conversion to CSR. spryi_start_csr allocates the arrays of c for a matrix of shape a, and the caller fills them.
 * spryi_finish_csr creates the matrix, which takes over the arrays. In the end the caller clears c, also after a
 * failure.
 */
spry_status spryi_start_csr(spry_context *context, spryi_compressed *c, const spry_arrays *a, spry_error *err);
spry_status spryi_finish_csr(spry_context *context, spry_matrix **csr, spryi_compressed *c, const spry_arrays *a,
                             spry_error *err);
