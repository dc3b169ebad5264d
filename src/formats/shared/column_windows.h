/*
 * Transposed products of formats that go by rows: y = alpha*A^T*x + beta*y without atomics.
 *
 * Idea: consecutive rows are cut into a few parts, by the matrix alone. Each part has a window of its own in the
 *       workspace, as long as the range of columns that the part meets, and adds its products up there; then each y
 *       takes the sums of its windows in order.
 * Work: a thread takes a part at a time, then 2048 numbers of y at a time.
 * Cost: the windows are written and read once beside the matrix; on meshes they are little longer than y altogether.
 */
#pragma once

#include "core/kernel.h"

enum {
    SPRYI_WINDOW_PARTS = 16,    /* where windows overlap little: they take ... */
    SPRYI_WINDOW_WIDE = 2,      /* ... up to so many times the columns ... */
    SPRYI_WINDOW_FEW = 4,       /* parts where they overlap more */
    SPRYI_WINDOW_LEAST = 16384, /* entries of a part */
};

/* Parts of csr that begin at multiples of `unit` rows. After a failure the set is empty, and to be cleared too. */
spry_status spryi_windows_make(spry_context *context, spryi_windows *windows, const spry_arrays *csr, int64_t unit,
                               spry_error *err);
/* Parts of equally many entries of coo, so that a row may lie in several. */
spry_status spryi_windows_of_entries(spry_context *context, spryi_windows *windows, const spry_arrays *coo,
                                     spry_error *err);
void spryi_windows_clear(spry_context *context, spryi_windows *windows);

/* Bytes of workspace that the windows take for y of vector_type. */
int64_t spryi_windows_workspace(const spryi_windows *windows, spry_type vector_type);

/* Adds the products of a part with x to its window, which is zero: window[j - low] += a_ij * x_i. */
typedef void (*spryi_window_fn)(const void *storage, const void *x, const spryi_window *part, void *window);

/* y of n numbers = alpha * (sums of the windows) + beta*y, on args->threads threads. */
spry_status spryi_run_windows(const spryi_run_args *args, const spryi_windows *windows, int64_t n, spryi_window_fn add,
                              spry_error *err);
