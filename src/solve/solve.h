/*
 * Common work of the iterative methods. The methods use the public header and the passes over vectors
 * (device/vector_ops.h).
 */
#pragma once

#include "base/clock.h"
#include "base/element.h"
#include "base/error.h"
#include "core/device.h"
#include "device/vector_ops.h"
#include "matrix/matrix.h"
#include "spry/solve.h"
#include "spry/spry.h"

/*
 * Returns a caller's vector without const; the methods do not write to vectors that the caller gives as const. Device 0
 * is host memory.
 */
spry_vector spryi_solve_vector(spry_const_vector v);

/* Resolves a tolerance: 0 means the default, SPRY_TOLERANCE_ZERO means 0. */
spry_status spryi_solve_tolerance(double *tolerance, double asked, double usual, const char *method, spry_error *err);

/* Rejects a value of an enum above `most`. names: all values, with their numbers. */
spry_status spryi_solve_check_choice(int value, int most, const char *name, const char *names, const char *method,
                                     spry_error *err);
/* Rejects an invalid start. */
spry_status spryi_solve_check_start(spry_start start, const char *method, spry_error *err);

/* Checks that A's values are a pattern, f32 or f64. */
spry_status spryi_solve_check_values(const spry_arrays *a, spry_error *err);
/*
 * Checks vectors of n elements of a type, on the host or on `device`: column-major vectors, or one vector with any
 * stride.
 */
spry_status spryi_solve_check_columns(const spry_vector *v, const char *name, int64_t n, spry_type type, int device,
                                      spry_error *err);
/* Returns the bytes from the first element of checked vectors to the end of the last. */
int64_t spryi_solve_span(const spry_vector *v);
/* Checks that x, which a solver writes, does not overlap an array of A. A may be NULL. */
spry_status spryi_solve_check_result(const spry_vector *x, const spry_matrix *A, const char *method, spry_error *err);
/* Checks one vector: n aligned elements of the type that products with A have, on the host or on `device`. */
spry_status spryi_solve_check_vector(const spry_vector *v, const char *name, int64_t n, const spry_arrays *a,
                                     int device, spry_error *err);
spry_status spryi_solve_check_square(const spry_arrays *a, const char *method, spry_error *err);

/*
 * spryi_solve_create_plan creates a plan for many products with vectors of a type, on the device that does the work. It
 * replaces the requested device, format and kernel in *names by those of the plan, whose texts are constants. Functions
 * below use `stream` only on a GPU; NULL is the default stream.
 */
typedef struct spryi_solve_plan {
    int device; /* as requested; spryi_solve_create_plan replaces it, like format and kernel */
    const char *format, *kernel;
    int64_t columns; /* expected vectors per product; 0 means 1 */
} spryi_solve_plan;
int spryi_solve_device_number(const spry_context *context, const spryi_solve_plan *names, const spry_arrays *a);
spry_status spryi_solve_create_plan(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A, spry_type type,
                                    spryi_solve_plan *names, void *stream, spry_error *err);

/* Creates *made, a copy of v on `device`. Destroy it also after a failure. */
spry_status spryi_solve_copy(spry_context *context, spry_vector *made, const spry_vector *v, int device, void *stream,
                             spry_error *err);
/* Copies a vector to another of its length. Both may be on a GPU, or have strides. */
spry_status spryi_solve_copy_to(const spry_context *context, const spry_vector *to, const spry_vector *from,
                                void *stream, spry_error *err);
/* Moves v, allocated by spry_vector_create, from the host to `device`. Does nothing if v->data is NULL. */
spry_status spryi_solve_move(spry_context *context, spry_vector *v, int device, void *stream, spry_error *err);

/* Sets *host to A, or to a copy in host memory if A is in device memory. The caller releases *host. */
spry_status spryi_solve_fetch(const spry_context *context, spry_matrix **host, const spry_matrix *A, void *stream,
                              spry_error *err);

/*
 * Measures the time of a product y = A*x in microseconds, by additional products. On a GPU, work runs ahead, so an
 * iteration's calls cannot be timed.
 */
spry_status spryi_solve_time_product(const spry_context *context, const spry_spmv_plan *plan, spry_vector x,
                                     spry_vector y, void *stream, double *us, spry_error *err);

/* ---- passes over vectors ------------------------------------------------------------------------ */

/* Chooses passes and threads, and allocates sums and states. Call spryi_vector_work_clear also after a failure. */
spry_status spryi_vector_work_init(spry_context *context, spryi_vector_work *w, int device, void *stream, int64_t n,
                                   int64_t columns, spry_type type, spry_error *err);
void spryi_vector_work_clear(spryi_vector_work *w);

/* spryi_vector_put copies states to the device. spryi_vector_get waits for all started work and copies them back. */
spry_status spryi_vector_put(const spryi_vector_work *w, const void *state, size_t bytes, spry_error *err);
spry_status spryi_vector_get(const spryi_vector_work *w, void *state, size_t bytes, spry_error *err);

/*
 * Returns the number of iterations to start before the states are read. Returns a small number at first, so that at
 * most an eighth of the iterations is wasted.
 */
int64_t spryi_vector_ahead(const spryi_vector_work *w, int64_t iterations);

/*
 * Estimates the iterations that are left, 1 to `most`, if the residual decreases to the goal at the rate of the last
 * `back` iterations. before: the residual before these `back` iterations. Returns `most` if the residual does not
 * decrease. An estimate that is too low costs one more reading of the states, which takes less time than a wasted
 * iteration.
 */
int64_t spryi_vector_left(double residual, double before, int64_t back, double goal, int64_t most);

/*
 * Numbers of rounds in the two recordings of a method. A round is one iteration, or half of one. A device records the
 * work of these rounds once and starts all of it together (spryi_vector_ops.record). Many rounds amortize reading the
 * states, which takes some microseconds. Few rounds waste little near the last iteration. Both numbers are even.
 */
enum { SPRYI_MANY_ROUNDS = 8, SPRYI_FEW_ROUNDS = 2 };
typedef spry_status (*spryi_start_rounds_fn)(void *user, int64_t count, void *stream, spry_error *err);
typedef struct spryi_recording {
    spryi_start_rounds_fn start;
    void *user; /* argument of start */
    int64_t count;
    void *rounds; /* the device's recording; NULL: none */
} spryi_recording;
typedef struct spryi_recorded {
    spryi_recording of[2]; /* many, few */
    int in_flight[2];      /* in_flight[k % 2]: index in `of` of the recording that start k used */
    int64_t started, seen; /* counts of starts, and of starts whose states were read */
} spryi_recorded;

/*
 * Makes two recordings, of SPRYI_MANY_ROUNDS and SPRYI_FEW_ROUNDS rounds. *recorded must keep its address until
 * spryi_vector_forget, also after a failure.
 */
spry_status spryi_vector_record(const spryi_vector_work *w, spryi_recorded *recorded, spryi_start_rounds_fn start,
                                void *user, spry_error *err);

/*
 * Starts recorded rounds while more iterations are `left` than are running, at most two recordings at a time. Reads the
 * states that the oldest started recording has left, so that the device does not wait. If all columns have stopped,
 * waits for all started rounds.
 */
spry_status spryi_vector_advance(const spryi_vector_work *w, spryi_recorded *recorded, int64_t left, void *states,
                                 size_t bytes, bool (*have_stopped)(const void *states, int64_t columns),
                                 spry_error *err);
/* Waits for all started rounds. */
spry_status spryi_vector_drain(const spryi_vector_work *w, spryi_recorded *recorded, void *states, size_t bytes,
                               spry_error *err);
void spryi_vector_forget(const spryi_vector_work *w, spryi_recorded *recorded);
