#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/pool.h"
#include "spry/tools.h"

#include <string.h>

/* A band of 0 .. parts - 1 for each index below count. */
static int64_t band_of(int64_t index, int64_t count, int parts)
{
    if (count <= INT32_MAX) return (int64_t)((uint64_t)index * (uint64_t)parts / (uint64_t)count);
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)index * (wide)parts / (wide)count);
}

static void draw_compressed(const spry_arrays *a, int64_t *counts, int64_t begin, int64_t end, int height, int width)
{
    int csc = a->layout == SPRY_CSC;
    int64_t majors = csc ? a->cols : a->rows, minors = csc ? a->rows : a->cols;
    for (int64_t i = begin; i < end; i++) {
        int64_t major_band = band_of(i, majors, csc ? width : height);
        int64_t last = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < last; k++) {
            int64_t minor = spryi_minor_of(a, k);
            int64_t minor_band = band_of(minor, minors, csc ? height : width);
            counts[csc ? minor_band * width + major_band : major_band * width + minor_band]++;
        }
    }
}

static void draw_coo(const spry_arrays *a, int64_t *counts, int64_t begin, int64_t end, int height, int width)
{
    for (int64_t k = begin; k < end; k++) {
        int64_t i = spryi_row_of(a, k);
        int64_t j = spryi_minor_of(a, k);
        counts[band_of(i, a->rows, height) * width + band_of(j, a->cols, width)]++;
    }
}

typedef struct drawing {
    const spry_arrays *a;
    int64_t *pictures; /* one for each part, which are added up */
    int height, width;
} drawing;

static void draw(void *job, int64_t begin, int64_t end, int part)
{
    const drawing *d = job;
    int64_t *mine = d->pictures + (int64_t)part * d->height * d->width;
    if (d->a->layout == SPRY_COO)
        draw_coo(d->a, mine, begin, end, d->height, d->width);
    else
        draw_compressed(d->a, mine, begin, end, d->height, d->width);
}

enum { CELLS_TO_SHARE = 1 << 20 }; /* a larger picture is drawn by one thread */

spry_status spry_matrix_spy(const spry_matrix *A, int64_t *counts, int height, int width, spry_error *err)
{
    if (!A || !counts) return spryi_fail_missing(err, !A ? "A" : "counts");
    if (height < 1 || width < 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, height < 1 ? "height" : "width",
                                height < 1 ? height : width, 1, "spy: %s is %d, expected 1 or more",
                                height < 1 ? "height" : "width", height < 1 ? height : width);
    if (A->a.device != 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "spy: the matrix is in device memory, not host memory");

    int64_t cells = (int64_t)height * width, *pictures = NULL;
    int threads = cells > CELLS_TO_SHARE ? 1 : spryi_threads(A->context, A->a.nnz);
    spry_matrix *entries = NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    if (threads > 1) {
        SPRYI_TRY(SPRYI_NEW(A->context, &pictures, threads * cells, "pictures", err));
        memset(pictures, 0, (size_t)threads * (size_t)cells * sizeof *pictures);
    }
    memset(counts, 0, (size_t)cells * sizeof *counts);
    const spry_arrays *a = &entries->a;
    spryi_loop_in_parts(A->context, threads,
                        a->layout == SPRY_COO   ? a->nnz
                        : a->layout == SPRY_CSC ? a->cols
                                                : a->rows,
                        1024, draw, &(drawing){a, pictures ? pictures : counts, height, width});
    for (int t = 0; t < threads && pictures; t++)
        for (int64_t c = 0; c < cells; c++) counts[c] += pictures[t * cells + c];
done:
    spryi_release(A->context, pictures);
    spryi_matrix_release(entries);
    return status;
}
