/* Shared by the CPU kernels of windowed: threads, staging buffers for x, and long rows. */
#pragma once

#include "formats/shared/run_blocks.h"
#include "formats/windowed/windowed_reader.h"

/* Computes y for the rows of window w. room: uninitialized buffer of s->staged elements. */
typedef void (*spryi_windowed_fn)(const spryi_run_args *args, int64_t w, void *room);

/* Runs a kernel's function for all windows, and computes the long rows. */
spry_status spryi_windowed_drive(const spryi_run_args *args, spryi_windowed_fn window);

/* Returns the workspace in bytes: sums of pieces of long rows, then a staging buffer for each part of the windows. */
int64_t spryi_windowed_workspace(const void *storage, spry_type vector_type);
