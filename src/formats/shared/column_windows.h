/*
 * Transposed products of formats that store rows: y = alpha*A^T*x + beta*y without atomics.
 *
 * Idea: the rows are cut into a few consecutive parts; only the matrix decides where. Each part has a window in the
 *       workspace: one element for each column between the part's least and greatest column. A part adds its products
 *       to its window. Then each element of y adds up the elements of the windows for its column, in order.
 * Work: one thread per part, then one thread per 2048 elements of y.
 * Cost: in addition to the matrix, the windows are written and read once. On meshes their total length is little more
 *       than that of y.
 */
#pragma once

#include "core/kernel.h"

enum {
    SPRYI_WINDOW_PARTS = 16, /* maximum parts if windows are short */
    SPRYI_WINDOW_WIDE = 2, /* windows are short if together they have at most twice as many elements as A has columns */
    SPRYI_WINDOW_FEW = 4,  /* maximum parts if windows are longer */
    SPRYI_WINDOW_LEAST = 16384, /* a matrix has at most nnz / SPRYI_WINDOW_LEAST + 1 parts */
};

/* Cuts csr into parts that begin at multiples of `unit` rows. The caller clears *windows, also after a failure. */
spry_status spryi_windows_build(spry_context *context, spryi_windows *windows, const spry_arrays *csr, int64_t unit,
                                spry_error *err);
/* Cuts coo into parts with equal numbers of entries, so that a row may be in multiple parts. */
spry_status spryi_windows_of_entries(spry_context *context, spryi_windows *windows, const spry_arrays *coo,
                                     spry_error *err);
void spryi_windows_clear(spry_context *context, spryi_windows *windows);

/* Returns the bytes of workspace that the windows need for y of vector_type. */
int64_t spryi_windows_workspace(const spryi_windows *windows, spry_type vector_type);

/* Adds the products of a part's entries and x to the part's window: window[j - low] += a_ij * x_i. */
typedef void (*spryi_window_fn)(const void *storage, const void *x, const spryi_window *part, void *window);

/* Computes y = alpha * (sums of the windows) + beta*y, for n elements of y, on args->threads threads. */
spry_status spryi_run_windows(const spryi_run_args *args, const spryi_windows *windows, int64_t n, spryi_window_fn add,
                              spry_error *err);
