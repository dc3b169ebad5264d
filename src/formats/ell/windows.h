/*
 * Transposed products of formats that go by rows: y = alpha*A^T*x + beta*y without atomics.
 *
 * Consecutive rows are cut into a few parts, by the matrix alone. A part adds its products up in a window of its own,
 * as long as the range of columns that it meets, in the workspace; then each y takes its windows' sums in order.
 * Cost: the windows once written and read beside the matrix; on meshes they are little longer than y altogether.
 */
#ifndef SPRYI_WINDOWS_H
#define SPRYI_WINDOWS_H

#include "core/kernel.h"

typedef struct spryi_window {
    int64_t begin, end; /* rows; of spryi_windows_of_entries entries */
    int64_t low, high;  /* columns that they meet: low <= j < high */
    int64_t at;         /* where the window lies in the workspace, in numbers */
} spryi_window;

typedef struct spryi_windows {
    spryi_window *parts;
    int64_t count, numbers; /* of parts; of all windows together */
} spryi_windows;

enum {
    SPRYI_WINDOW_PARTS = 16,    /* when windows overlap little ... */
    SPRYI_WINDOW_WIDE = 2,      /* ... that is, take up to so many times the columns; ... */
    SPRYI_WINDOW_FEW = 4,       /* ... else */
    SPRYI_WINDOW_LEAST = 16384, /* entries of a part */
};

/* Parts of csr that begin at multiples of `unit` rows. An empty set, to be cleared too, on failure. */
spry_status spryi_windows_make(spry_context *context, spryi_windows *windows, const spry_arrays *csr, int64_t unit,
                               spry_error *err);
/* Parts of as many entries of coo, so that a row may lie in several. */
spry_status spryi_windows_of_entries(spry_context *context, spryi_windows *windows, const spry_arrays *coo,
                                     spry_error *err);
void spryi_windows_clear(spry_context *context, spryi_windows *windows);

/* Adds the products of a part with x to its window, which is zero: window[j - low] += a_ij * x_i. */
typedef void (*spryi_window_leaf)(const void *storage, const void *x, const spryi_window *part, void *window);

/* y of n numbers = alpha * the sums + beta*y, on args->threads threads. */
spry_status spryi_windows_drive(const spryi_run_args *args, const spryi_windows *windows, int64_t n,
                                spryi_window_leaf leaf, spry_error *err);

#endif
