#include "formats/ell/windows.h"

#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

void spryi_windows_clear(spry_context *context, spryi_windows *windows)
{
    spryi_release(context, windows->parts);
    *windows = (spryi_windows){0};
}

/* Columns that entries k .. end - 1 meet; none: low = high = 0. */
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

/* Parts in equal numbers made one; where the windows lie. */
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

/* First multiple of unit, at most rows, before which there are at least k entries. */
static int64_t row_of_entry(const spry_arrays *csr, int64_t k, int64_t unit)
{
    int64_t low = 0, high = (csr->rows + unit - 1) / unit;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (spryi_index_at(csr->offsets, csr->offset_type, middle * unit) < k)
            low = middle + 1;
        else
            high = middle;
    }
    return low * unit < csr->rows ? low * unit : csr->rows;
}

static spry_status new_parts(spry_context *context, spryi_windows *windows, int64_t nnz, spry_error *err)
{
    int64_t most = nnz / SPRYI_WINDOW_LEAST + 1;
    windows->count = most < SPRYI_WINDOW_PARTS ? most : SPRYI_WINDOW_PARTS;
    spry_status status = SPRYI_NEW(context, &windows->parts, windows->count, "column windows", err);
    if (status != SPRY_OK) windows->count = 0;
    return status;
}

/* Few parts where the windows of many would be long. */
static void settle(spryi_windows *windows, int64_t cols)
{
    const int64_t count = windows->count;
    join(windows, count);
    if (count > SPRYI_WINDOW_FEW && windows->numbers > SPRYI_WINDOW_WIDE * cols) join(windows, SPRYI_WINDOW_FEW);
}

spry_status spryi_windows_make(spry_context *context, spryi_windows *windows, const spry_arrays *csr, int64_t unit,
                               spry_error *err)
{
    spry_status status = new_parts(context, windows, csr->nnz, err);
    if (status != SPRY_OK) return status;
    const int64_t count = windows->count;
    for (int64_t p = 0, begin = 0; p < count; p++) {
        int64_t end = p + 1 < count ? row_of_entry(csr, csr->nnz * (p + 1) / count, unit) : csr->rows;
        windows->parts[p] = (spryi_window){.begin = begin, .end = end > begin ? end : begin};
        begin = windows->parts[p].end;
    }
    int threads = spryi_threads(context, csr->nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t p = 0; p < count; p++)
        find_range(&windows->parts[p], csr, spryi_index_at(csr->offsets, csr->offset_type, windows->parts[p].begin),
                   spryi_index_at(csr->offsets, csr->offset_type, windows->parts[p].end));
    settle(windows, csr->cols);
    return SPRY_OK;
}

spry_status spryi_windows_of_entries(spry_context *context, spryi_windows *windows, const spry_arrays *coo,
                                     spry_error *err)
{
    spry_status status = new_parts(context, windows, coo->nnz, err);
    if (status != SPRY_OK) return status;
    const int64_t count = windows->count;
    int threads = spryi_threads(context, coo->nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t p = 0; p < count; p++) {
        spryi_window *part = &windows->parts[p];
        *part = (spryi_window){.begin = coo->nnz * p / count, .end = coo->nnz * (p + 1) / count};
        find_range(part, coo, part->begin, part->end);
    }
    settle(windows, coo->cols);
    return SPRY_OK;
}

/* ---- the product ----------------------------------------------------------------------------------- */

enum { CHUNK = 2048 }; /* of y, summed up in the first-level cache */

#define TAKE_SUMS(type)                                                                                                \
    static void take_sums_##type(const spryi_windows *w, const spryi_run_args *args, int64_t begin, int64_t end)       \
    {                                                                                                                  \
        const type alpha = *(const type *)args->alpha, beta = *(const type *)args->beta;                               \
        type *y = args->y, sum[CHUNK] = {0};                                                                           \
        for (int64_t p = 0; p < w->count; p++) {                                                                       \
            const spryi_window *part = &w->parts[p];                                                                   \
            if (part->high == part->low) continue;                                                                     \
            const type *window = (const type *)args->workspace + part->at;                                             \
            int64_t from = part->low > begin ? part->low : begin, to = part->high < end ? part->high : end;            \
            for (int64_t j = from; j < to; j++) sum[j - begin] += window[j - part->low];                               \
        }                                                                                                              \
        for (int64_t j = begin; j < end; j++)                                                                          \
            y[j] = beta == 0 ? alpha * sum[j - begin] : alpha * sum[j - begin] + beta * y[j];                          \
    }
TAKE_SUMS(double)
TAKE_SUMS(float)

spry_status spryi_windows_drive(const spryi_run_args *args, const spryi_windows *windows, int64_t n,
                                spryi_window_leaf leaf, spry_error *err)
{
    if (windows->count == 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "op", "this storage was not made for the transposed product");
    const int64_t size = (int64_t)spry_type_bytes(args->vector_type), chunks = (n + CHUNK - 1) / CHUNK;
    const int64_t most = windows->count > chunks ? windows->count : chunks;
    int threads = args->threads < most ? args->threads : (int)(most > 0 ? most : 1);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (int64_t p = 0; p < windows->count; p++) {
            const spryi_window *part = &windows->parts[p];
            if (part->high == part->low) continue;
            char *window = (char *)args->workspace + part->at * size;
            memset(window, 0, (size_t)((part->high - part->low) * size));
            leaf(args->storage, args->x, part, window);
        }
#pragma omp for schedule(static)
        for (int64_t c = 0; c < chunks; c++) {
            int64_t end = (c + 1) * CHUNK < n ? (c + 1) * CHUNK : n;
            if (args->vector_type == SPRY_F64)
                take_sums_double(windows, args, c * CHUNK, end);
            else
                take_sums_float(windows, args, c * CHUNK, end);
        }
    }
    return SPRY_OK;
}
