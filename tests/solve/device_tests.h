/*
 * Tests of the solvers that compare a GPU with the CPU. The real GPU and the mock device run the same tests. Products
 * on the device use tested_kernel unless a test says otherwise.
 */
#pragma once

#include "spry/solve.h"
#include "support.h"

extern const char *tested_device, *tested_kernel; /* name of device 1, and one of its kernels of csr */

spry_matrix *graph_of(spry_context *own, const char *spec, spry_type type); /* structure with every link 1 */

int open_contexts(void **state); /* group set-up and tear-down */
int close_contexts(void **state);

void cg_as_on_the_cpu(void **state);
void cg_verdicts(void **state);
void cg_stops_where_it_says(void **state);
void cg_guesses_and_observers(void **state);
void cg_of_extreme_magnitude(void **state);
void cg_plans_run_again(void **state);
void cg_columns_side_by_side(void **state);
void cg_with_f32_inside(void **state);
void cg_with_callbacks(void **state);
void pagerank_as_on_the_cpu(void **state);
void pagerank_dangling_nodes(void **state);
void pagerank_personalization(void **state);
void pagerank_bad_weights(void **state);
void pagerank_links(void **state);
void pagerank_bad_links(void **state);
void pagerank_stops_where_it_says(void **state);
void data_in_device_memory(void **state);
void the_same_bits_again(void **state);
void strided_vectors(void **state);
void bad_places(void **state);

/* ---- what device_tests.c, device_plans.c and device_ranks.c share -------------------------------- */

extern spry_context *tested_context;

enum { MOST_HISTORY = 4000 };
typedef struct observation {
    int64_t seen, stop; /* stop: iteration after which the observer requests a stop; 0: none */
    double residual[MOST_HISTORY];
} observation;
extern observation observed;
/* Observer that records into `observed` and checks the order of iterations. */
int watch(void *user, int64_t iteration, double residual);
enum { MOST_AHEAD = 16 }; /* most iterations that run after the observer's request: two recordings of 8 iterations */

spry_vector new_vector(int64_t n, spry_type type);

spry_vector right_side(int64_t n, spry_type type);
spry_matrix *generated(const char *spec, spry_type type);
spry_cg_options on_gpu(void); /* with watch as observer */
/* Returns ||b - A*x|| / ||b|| in f64. Sets *weight to ||(|A| |x|)|| / ||b||, which bounds the rounding error. */
double residual_of(const spry_matrix *A, const spry_vector *b, const spry_vector *x, double *weight);

spry_pagerank_options rank_on_gpu(void); /* links are from column to row, and zero columns are refused */
spry_status rank(spry_pagerank_result *r, spry_vector x, const spry_matrix *A, const spry_pagerank_options *o,
                 spry_error *err);
void ranks_with_data_on_device(void);

/* Copies A's arrays to the GPU and returns the matrix. free_device_matrix frees *on_device. */
spry_matrix *matrix_to_device(const spry_matrix *A, spry_arrays *on_device);
void free_device_matrix(const spry_arrays *on_device);
void download(void *to, const spry_vector *v);
