/* Common work of the methods, which stand on the public header, some headers of core and the passes of vectors. */
#pragma once

#include "base/clock.h"
#include "base/element.h"
#include "base/error.h"
#include "core/device.h"
#include "spry/spry.h"

/* A caller's vector as the methods carry it, without const where it is read alone; device 0 is host memory. */
spry_vector spryi_solve_vector(spry_const_vector v);

/* What a method stops at: what was asked for, 0 for SPRY_TOLERANCE_ZERO, the default for 0. */
spry_status spryi_solve_tolerance(double *tolerance, double asked, double usual, const char *method, spry_error *err);

/* A's values are none, f32 or f64. */
spry_status spryi_solve_check_values(const spry_arrays *a, spry_error *err);
/* Columns of n entries of that type, aligned to it, one behind the other, on the host or on `device`. */
spry_status spryi_solve_check_columns(const spry_vector *v, const char *name, int64_t n, spry_type type, int device,
                                      spry_error *err);
/* One column of n entries and of the type that products with A take, aligned to it, on the host or on `device`. */
spry_status spryi_solve_check_vector(const spry_vector *v, const char *name, int64_t n, const spry_arrays *a,
                                     int device, spry_error *err);
spry_status spryi_solve_check_square(const spry_arrays *a, const char *method, spry_error *err);

/*
 * What follows takes the stream of a GPU, NULL for the default one; on the CPU it means nothing.
 *
 * A plan for many products with vectors of that type, which lie on the device that does the work; its format and
 * kernel, which are constants. The number of the device is predicted from the names, whether or not there is one.
 */
typedef struct spryi_solve_plan {
    int device; /* asked for, then resolved, as the names are */
    const char *format, *kernel;
    int64_t columns; /* vectors that a product will mostly have; 0: 1 */
} spryi_solve_plan;
int spryi_solve_device_number(const spry_context *context, const spryi_solve_plan *names, const spry_arrays *a);
spry_status spryi_solve_make_plan(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A, spry_type type,
                                  spryi_solve_plan *names, void *stream, spry_error *err);

/* *made: a vector on `device` with the content of v, to destroy (also when it failed). */
spry_status spryi_solve_copy(spry_context *context, spry_vector *made, const spry_vector *v, int device, void *stream,
                             spry_error *err);
/* Into an existing one; either may be on a GPU. */
spry_status spryi_solve_copy_to(const spry_context *context, const spry_vector *to, const spry_vector *from,
                                void *stream, spry_error *err);
/* v, allocated by spry_vector_create, goes from the host to `device`. v->data NULL: nothing to do. */
spry_status spryi_solve_move(spry_context *context, spry_vector *v, int device, void *stream, spry_error *err);

/* A matrix in device memory, copied to the host to be looked at. A NULL: it is on the host as it is. */
typedef struct spryi_host_copy {
    spry_matrix *A;
    spry_vector arrays[3];
} spryi_host_copy;
spry_status spryi_solve_fetch(spry_context *context, spryi_host_copy *copy, const spry_matrix *A, void *stream,
                              spry_error *err);
void spryi_solve_fetch_clear(spry_context *context, spryi_host_copy *copy);

/*
 * Microseconds of a product, y = A*x. Where work runs ahead, clocks around the calls of an iteration tell nothing:
 * some more products are timed by themselves.
 */
spry_status spryi_solve_time_product(const spry_context *context, const spry_spmv_plan *plan, spry_vector x,
                                     spry_vector y, void *stream, double *us, spry_error *err);
