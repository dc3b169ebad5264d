/* Common work of the iterative methods, which use the public header and the passes of vectors (device/vector_ops.h). */
#pragma once

#include "base/clock.h"
#include "base/element.h"
#include "base/error.h"
#include "core/device.h"
#include "device/vector_ops.h"
#include "matrix/matrix.h"
#include "spry/solve.h"
#include "spry/spry.h"

/* A caller's vector as the methods carry it, without const where it is read alone; device 0 is host memory. */
spry_vector spryi_solve_vector(spry_const_vector v);

/* What a method stops at: what was asked for, 0 for SPRY_TOLERANCE_ZERO, the default for 0. */
spry_status spryi_solve_tolerance(double *tolerance, double asked, double usual, const char *method, spry_error *err);

/* Refuses a value of an enum above `most`. names: the values that there are, with their numbers. */
spry_status spryi_solve_check_choice(int value, int most, const char *name, const char *names, const char *method,
                                     spry_error *err);
/* Refuses a start that is no spry_start. */
spry_status spryi_solve_check_start(spry_start start, const char *method, spry_error *err);

/* A's values are none, f32 or f64. */
spry_status spryi_solve_check_values(const spry_arrays *a, spry_error *err);
/* Checks vectors of n elements of a type, on the host or on `device`: column-major, or one with any stride. */
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
/* Copies a vector to another of its length. Either may be on a GPU, and may have a stride. */
spry_status spryi_solve_copy_to(const spry_context *context, const spry_vector *to, const spry_vector *from,
                                void *stream, spry_error *err);
/* v, allocated by spry_vector_create, goes from the host to `device`. v->data NULL: nothing to do. */
spry_status spryi_solve_move(spry_context *context, spry_vector *v, int device, void *stream, spry_error *err);

/* Returns A in host memory, to release: A itself, or a copy of a matrix in device memory. */
spry_status spryi_solve_fetch(const spry_context *context, spry_matrix **host, const spry_matrix *A, void *stream,
                              spry_error *err);

/*
 * Microseconds of a product, y = A*x. Where work runs ahead, clocks around the calls of an iteration tell nothing:
 * some more products are timed by themselves.
 */
spry_status spryi_solve_time_product(const spry_context *context, const spry_spmv_plan *plan, spry_vector x,
                                     spry_vector y, void *stream, double *us, spry_error *err);

/* ---- passes over vectors ------------------------------------------------------------------------ */

/* Chooses passes and threads, and allocates sums and states. Call spryi_vector_work_clear also after a failure. */
spry_status spryi_vector_work_init(spry_context *context, spryi_vector_work *w, int device, void *stream, int64_t n,
                                   int64_t columns, spry_type type, spry_error *err);
void spryi_vector_work_clear(spryi_vector_work *w);

/* Copy states to the device, and back after all work that was started. */
spry_status spryi_vector_put(const spryi_vector_work *w, const void *state, size_t bytes, spry_error *err);
spry_status spryi_vector_look(const spryi_vector_work *w, void *state, size_t bytes, spry_error *err);

/* Returns the iterations to start before the states are read: few at first, so that at most an eighth is in vain. */
int64_t spryi_vector_ahead(const spryi_vector_work *w, int64_t iterations);

/*
 * Estimates the iterations that are left, 1 to `most`, if the residual falls to the goal at the rate of the last `back`
 * iterations, before which it was `before`. Returns `most` if the residual does not fall. An estimate that is too low
 * costs a reading of the states, which takes less time than an iteration in vain.
 */
int64_t spryi_vector_left(double residual, double before, int64_t back, double goal, int64_t most);

/*
 * Two recordings of rounds: many, since reading the states after them takes some microseconds, and few, of which little
 * is in vain near the last iteration. Even numbers.
 */
enum { SPRYI_MANY_ROUNDS = 8, SPRYI_FEW_ROUNDS = 2 };
typedef spry_status (*spryi_start_rounds_fn)(void *user, int64_t count, void *stream, spry_error *err);
typedef struct spryi_recording {
    spryi_start_rounds_fn start;
    void *user; /* of start */
    int64_t count;
    void *rounds; /* the device's; NULL: nothing is recorded */
} spryi_recording;
typedef struct spryi_recorded {
    spryi_recording of[2]; /* many, few */
    int on_way[2];         /* which of them was started: start k is in [k % 2] */
    int64_t started, seen; /* starts, and those whose states were read */
} spryi_recorded;

/* Records both numbers of rounds. *recorded keeps its address until spryi_vector_forget, also after a failure. */
spry_status spryi_vector_record(const spryi_vector_work *w, spryi_recorded *recorded, spryi_start_rounds_fn start,
                                void *user, spry_error *err);

/*
 * Starts recorded rounds while more iterations are `left` than are running, at most two recordings, and reads the
 * states that the oldest has left, so that the device does not wait. When all states say stop, all that was started
 * has ended.
 */
spry_status spryi_vector_advance(const spryi_vector_work *w, spryi_recorded *recorded, int64_t left, void *states,
                                 size_t bytes, int (*have_stopped)(const void *states, int64_t columns),
                                 spry_error *err);
/* Waits for all that was started. */
spry_status spryi_vector_drain(const spryi_vector_work *w, spryi_recorded *recorded, void *states, size_t bytes,
                               spry_error *err);
void spryi_vector_forget(const spryi_vector_work *w, spryi_recorded *recorded);
