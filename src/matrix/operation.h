/* Common steps of operations on matrices: options, operands, results on the host and on a device. */
#pragma once

#include "matrix/assemble.h"
#include "matrix/matrix.h"
#include "spry/matrix.h"

#include <stdbool.h>

/* Fails if a pointer of a call is NULL. */
#define SPRYI_NEEDS(pointer, err)                                                                                      \
    do {                                                                                                               \
        if (!(pointer)) return spryi_fail_missing((err), #pointer);                                                    \
    } while (0)

/*
 * Copies and checks options of the operation `who` on A, and fills in the layout and the index type. value_type and
 * offset_type may still be defaults.
 */
spry_status spryi_take_matrix_options(spry_matrix_options *o, const spry_matrix_options *options, const char *who,
                                      const spry_matrix *A, spry_error *err);

/* Checks that the types of o can represent a result of this size with at least `nnz` entries. */
spry_status spryi_check_result(const spry_matrix_options *o, int64_t rows, int64_t columns, int64_t nnz,
                               spry_error *err);

/* Returns SPRY_UNSUPPORTED unless arithmetic is possible with the type: f32, f64 or a pattern. */
spry_status spryi_check_arithmetic(const char *who, const char *name, spry_type type, spry_error *err);

/*
 * Checks a vector of an operation on A: one vector of f32 or f64 with `length` elements, on the device of A's arrays.
 * Fills in the strides that are 0.
 */
spry_status spryi_check_operand_vector(spry_const_vector *v, const char *who, const char *name, int64_t length,
                                       const spry_matrix *A, spry_error *err);

/*
 * Sets *rows to A as CSR. A is in host memory and has all entries. Builds a copy in *made if A has another layout, or
 * if rows must be sorted and are not.
 */
spry_status spryi_show_rows(spry_context *context, spry_arrays *rows, spryi_compressed *made, const spry_matrix *A,
                            bool sorted, spry_error *err);

/*
 * Returns the field with which a result is written to files: A's field, unless value_type or sums of duplicates need
 * another. merged: duplicates were summed.
 */
spryi_field spryi_field_of(const spry_matrix *A, spry_type value_type, bool merged);

/*
 * Creates the matrix of *c, which is sorted and has the majors of o->layout: sums duplicates, converts values and
 * chooses the offset type. symmetry: symmetry of the result, unless rounded sums of duplicates break it. Takes over c's
 * arrays, also on failure.
 */
spry_status spryi_deliver(spry_context *context, spry_matrix **B, spryi_compressed *c, const spry_matrix_options *o,
                          const spry_matrix *A, spry_symmetry symmetry, spry_error *err);

/* Does what spryi_deliver does, for *c whose majors are rows and whose entries may be in any order. */
spry_status spryi_deliver_rows(spry_context *context, spry_matrix **B, spryi_compressed *c,
                               const spry_matrix_options *o, const spry_matrix *A, spry_symmetry symmetry,
                               spry_error *err);
