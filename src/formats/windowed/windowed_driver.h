/* Shared by the CPU kernels of windowed: threads, staged x, and long rows. */
#pragma once

#include "formats/shared/run_blocks.h"
#include "formats/windowed/windowed_reader.h"

/* y of the rows of window w; room: for s->staged numbers, which have no content. */
typedef void (*spryi_windowed_fn)(const spryi_run_args *args, int64_t w, void *room);

/* Runs a kernel's loops; long rows are the driver's. */
spry_status spryi_windowed_drive(const spryi_run_args *args, spryi_windowed_fn window);

/* Bytes: sums of pieces of long rows, then room for staged x of each part of the windows. */
int64_t spryi_windowed_workspace(const void *storage, spry_type vector_type);
