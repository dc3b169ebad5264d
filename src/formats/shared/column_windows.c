#ifndef SPRYI_TEMPLATE
#include "formats/shared/column_windows.h"

#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/shared/run_blocks.h"
#include "matrix/assemble.h"

#include <string.h>

void spryi_windows_clear(spry_context *context, spryi_windows *windows)
{
    spryi_release(context, windows->parts);
    *windows = (spryi_windows){0};
}

/*
 * Sets part->low to the least column of entries k .. end - 1, and part->high to the greatest column plus 1. Sets both
 * to 0 if there are no entries.
 */
static void find_range(spryi_window *part, const spry_arrays *csr, int64_t k, int64_t end)
{
    int64_t low = INT64_MAX, high = 0;
    if (csr->index_type == SPRY_I32) {
        const int32_t *Aj = csr->indices;
        int32_t least = INT32_MAX, most = -1;
        for (int64_t e = k; e < end; e++) {
            least = Aj[e] < least ? Aj[e] : least;
            most = Aj[e] > most ? Aj[e] : most;
        }
        low = least;
        high = (int64_t)most + 1;
    } else {
        const int64_t *Aj = csr->indices;
        for (int64_t e = k; e < end; e++) {
            low = Aj[e] < low ? Aj[e] : low;
            high = Aj[e] >= high ? Aj[e] + 1 : high;
        }
    }
    part->low = high > 0 ? low : 0;
    part->high = high;
}

/* Joins neighbouring parts into `count` parts, and places their windows one after the other in the workspace. */
static void join(spryi_windows *w, int64_t count)
{
    for (int64_t p = 0; p < count; p++) {
        spryi_window joined = w->parts[w->count * p / count];
        for (int64_t q = w->count * p / count; q < w->count * (p + 1) / count; q++) {
            const spryi_window *part = &w->parts[q];
            joined.end = part->end;
            if (part->high == 0) continue;
            if (joined.high == 0 || part->low < joined.low) joined.low = part->low;
            if (part->high > joined.high) joined.high = part->high;
        }
        w->parts[p] = joined;
    }
    w->count = count;
    w->numbers = 0;
    for (int64_t p = 0; p < count; p++) {
        w->parts[p].at = w->numbers;
        w->numbers += (w->parts[p].high - w->parts[p].low + 15) / 16 * 16;
    }
}

/*
 * Returns the first multiple of `unit` whose preceding rows have at least k entries, at most the number of rows.
 */
static int64_t row_of_entry(const spry_arrays *csr, int64_t k, int64_t unit)
{
    int64_t u;
    SPRYI_BISECT(u, 0, spryi_blocks_of(csr->rows, unit), spryi_index_at(csr->offsets, csr->offset_type, u * unit) < k);
    return u * unit < csr->rows ? u * unit : csr->rows;
}

static spry_status new_parts(spry_context *context, spryi_windows *windows, int64_t nnz, spry_error *err)
{
    int64_t most = nnz / SPRYI_WINDOW_LEAST + 1;
    windows->count = most < SPRYI_WINDOW_PARTS ? most : SPRYI_WINDOW_PARTS;
    spry_status status = SPRYI_NEW(context, &windows->parts, windows->count, "column windows", err);
    if (status != SPRY_OK) windows->count = 0;
    return status;
}

/* Places the windows of all parts. If they would be long, joins the parts into SPRYI_WINDOW_FEW parts. */
static void resolve(spryi_windows *windows, int64_t cols)
{
    const int64_t count = windows->count;
    join(windows, count);
    if (count > SPRYI_WINDOW_FEW && windows->numbers > SPRYI_WINDOW_WIDE * cols) join(windows, SPRYI_WINDOW_FEW);
}

typedef struct window_job {
    spryi_window *parts;
    const spry_arrays *a;
} window_job;

static void find_ranges_of_rows(void *job, int64_t begin, int64_t end)
{
    const window_job *j = job;
    for (spryi_window *part = j->parts + begin; part < j->parts + end; part++)
        find_range(part, j->a, spryi_index_at(j->a->offsets, j->a->offset_type, part->begin),
                   spryi_index_at(j->a->offsets, j->a->offset_type, part->end));
}

static void find_ranges(void *job, int64_t begin, int64_t end)
{
    const window_job *j = job;
    for (spryi_window *part = j->parts + begin; part < j->parts + end; part++)
        find_range(part, j->a, part->begin, part->end);
}

spry_status spryi_windows_build(spry_context *context, spryi_windows *windows, const spry_arrays *csr, int64_t unit,
                                spry_error *err)
{
    SPRYI_OK_OR_RETURN(new_parts(context, windows, csr->nnz, err));
    const int64_t count = windows->count;
    for (int64_t p = 0, begin = 0; p < count; p++) {
        int64_t end = p + 1 < count ? row_of_entry(csr, csr->nnz * (p + 1) / count, unit) : csr->rows;
        windows->parts[p] = (spryi_window){.begin = begin, .end = end > begin ? end : begin};
        begin = windows->parts[p].end;
    }
    spryi_loop(context, spryi_threads(context, csr->nnz), count, 1, find_ranges_of_rows,
               &(window_job){windows->parts, csr});
    resolve(windows, csr->columns);
    return SPRY_OK;
}

spry_status spryi_windows_of_entries(spry_context *context, spryi_windows *windows, const spry_arrays *coo,
                                     spry_error *err)
{
    SPRYI_OK_OR_RETURN(new_parts(context, windows, coo->nnz, err));
    const int64_t count = windows->count;
    for (int64_t p = 0; p < count; p++)
        windows->parts[p] = (spryi_window){.begin = coo->nnz * p / count, .end = coo->nnz * (p + 1) / count};
    spryi_loop(context, spryi_threads(context, coo->nnz), count, 1, find_ranges, &(window_job){windows->parts, coo});
    resolve(windows, coo->columns);
    return SPRY_OK;
}

int64_t spryi_windows_workspace(const spryi_windows *windows, spry_type vector_type)
{
    return windows->numbers * (int64_t)spry_type_bytes(vector_type);
}

/* ---- the product ----------------------------------------------------------------------------------- */

enum { CHUNK = 2048 }; /* elements of y that a thread computes together; their sums fit in the L1 cache */

typedef struct product {
    spryi_run_args args; /* first member: the functions below cast a pointer to it to a pointer to the struct */
    const spryi_windows *windows;
    int64_t n;
    spryi_window_fn add;
} product;

static void fill_windows(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const product *p = (const product *)args;
    const int64_t size = (int64_t)spry_type_bytes(args->vector_type);
    for (int64_t w = begin; w < end; w++) {
        const spryi_window *part = &p->windows->parts[w];
        if (part->high == part->low) continue;
        char *window = (char *)args->workspace + part->at * size;
        memset(window, 0, (size_t)((part->high - part->low) * size));
        p->add(args->storage, args->x, part, window);
    }
}

#define SPRYI_TEMPLATE "formats/shared/column_windows.c" /* its second half */
#include "base/instantiate_types.h"

static void add_windows_of_chunks(const spryi_run_args *args, int64_t begin, int64_t end)
{
    for (int64_t c = begin; c < end; c++) {
        const int64_t stop = spryi_block_end(c, CHUNK, ((const product *)args)->n);
        SPRYI_BY_TYPE(args->vector_type, add_windows, (args, c * CHUNK, stop));
    }
}

spry_status spryi_run_windows(const spryi_run_args *args, const spryi_windows *windows, int64_t n, spryi_window_fn add,
                              spry_error *err)
{
    if (windows->count == 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "op", "this storage was not built for transposed products");
    const product p = {*args, windows, n, add};
    const spryi_step steps[] = {{windows->count, fill_windows}, {spryi_blocks_of(n, CHUNK), add_windows_of_chunks}};
    return spryi_run_steps(&p.args, steps, 2);
}

#else /* for each vector type (base/instantiate_types.h) */

static void SPRY_FN(add_windows)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_windows *w = ((const product *)args)->windows;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y, sum[CHUNK] = {0};
    for (int64_t p = 0; p < w->count; p++) {
        const spryi_window *part = &w->parts[p];
        if (part->high == part->low) continue;
        const SPRY_V *window = (const SPRY_V *)args->workspace + part->at;
        int64_t from = part->low > begin ? part->low : begin, to = part->high < end ? part->high : end;
        for (int64_t j = from; j < to; j++) sum[j - begin] += window[j - part->low];
    }
    for (int64_t j = begin; j < end; j++)
        y[j] = beta == 0 ? alpha * sum[j - begin] : alpha * sum[j - begin] + beta * y[j];
}

#endif
