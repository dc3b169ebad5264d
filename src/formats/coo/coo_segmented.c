/* The segmented product of COO around the blocks of a kernel: y is scaled before, shared rows are added after. */
#include "core/assemble.h"
#include "formats/coo/coo.h"

#include <math.h>

enum { SCALE_ROWS = 65536 }; /* of y, scaled at a time */

static void scale(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const int64_t rows = ((const spryi_coo *)args->storage)->a.rows;
    spryi_scale(args->y, args->vector_type, begin * SCALE_ROWS, spryi_block_end(end - 1, SCALE_ROWS, rows), args->beta);
}

/* Each block's first row, in order; a row that fills several blocks gets its sums one after the other. */
static void add_first_rows(const spryi_run_args *args)
{
    const spryi_coo *s = args->storage;
    const double alpha = spryi_value_at(args->alpha, args->vector_type, 0), *sums = args->workspace;
    for (int64_t b = 0; b < s->block_count;) {
        int64_t i = spryi_index_at(s->a.row_indices, s->a.index_type, b * SPRYI_COO_BLOCK);
        double sum = sums[b];
        for (b++; b < s->block_count; b++) {
            if (spryi_index_at(s->a.row_indices, s->a.index_type, b * SPRYI_COO_BLOCK) != i) break;
            sum += sums[b];
        }
        spryi_set_value(args->y, args->vector_type, i, spryi_value_at(args->y, args->vector_type, i) + alpha * sum);
    }
}

spry_status spryi_coo_run_segmented(const spryi_run_args *args, spryi_block_fn blocks, spry_error *err)
{
    const spryi_coo *s = args->storage;
    /* Infinite alpha times the parts of a row is not infinite alpha times their sum. */
    if (!isfinite(spryi_value_at(args->alpha, args->vector_type, 0))) {
        const int slot = spryi_value_slot(args->vector_type), pair = spryi_index_pair(s->a.index_type, s->a.index_type);
        return spryi_coo_runs_by_rows[slot][pair](args, err);
    }
    const spryi_step steps[] = {{spryi_blocks_of(s->a.rows, SCALE_ROWS), scale}, {s->block_count, blocks}};
    spryi_run_steps(args, steps, 2);
    add_first_rows(args);
    return SPRY_OK;
}
