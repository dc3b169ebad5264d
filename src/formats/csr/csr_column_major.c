/*
 * Products with multiple column-major vectors, for all CPU kernels of csr.
 *
 * Idea: each entry is multiplied by x of up to four vectors, so that the matrix is read once per four vectors. An entry
 *       then reads four cache lines of x, while row-major vectors need one. This reduces time if rows are short and
 *       nearby rows use the same lines, as on meshes. Otherwise the plan copies the vectors to row-major (plan/run.c).
 * Work: one thread per block of rows. No row of the matrix may be cut into pieces.
 * Cost: bytes of CSR once per four vectors, X and Y once. Source: this library.
 */
#ifndef SPRY_FN
#include "formats/csr/csr_driver.h"
#include "formats/shared/run_blocks.h"
#include "matrix/row_lengths.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_column_major.c" /* its second half */
#include "base/instantiate.h"

const spryi_run_table spryi_csr_column_major = SPRYI_TABLE(column_major);

/* Inserts `line` into a sorted list of `count` distinct lines, unless the list has it. Returns the new count. */
static int add_line(int64_t *lines, int count, int64_t line)
{
    int at = count;
    while (at > 0 && lines[at - 1] > line) at--;
    if (at > 0 && lines[at - 1] == line) return count;
    for (int n = count; n > at; n--) lines[n] = lines[n - 1];
    lines[at] = line;
    return count + 1;
}

/*
 * Inspects up to 32 samples of 8 consecutive rows. Returns 1 if, on average, at least two entries of a sample use each
 * cache line of x that the sample uses. Otherwise returns 0. Also returns 0 if rows are cut into pieces or the mean row
 * is too long.
 */
int spryi_csr_supports_column_major(const void *storage, int64_t columns)
{
    (void)columns;
    enum {
        PLACES = 32,
        ROWS = 8,
        ENTRIES = 16 /* entries inspected per row */,
        ELEMENTS = 8 /* elements per cache line */
    };
    const spryi_csr *s = storage;
    const spry_arrays *a = &s->a;
    if (s->blocks.piece_count > 0 || a->nnz > SPRYI_CSR_COLUMN_MAJOR_MEAN * a->rows) return 0;
    const int64_t places = a->rows < PLACES ? a->rows : PLACES;
    int64_t entries = 0, distinct = 0;
    for (int64_t p = 0; p < places; p++) {
        const int64_t first = spryi_range_of_rows(a->rows, p, places);
        int64_t lines[ROWS * ENTRIES];
        int count = 0;
        for (int64_t i = first; i < first + ROWS && i < a->rows; i++) {
            const int64_t begin = spryi_index_at(a->offsets, a->offset_type, i);
            const int64_t end = spryi_index_at(a->offsets, a->offset_type, i + 1);
            for (int64_t k = begin; k < end && k < begin + ENTRIES; k++, entries++)
                count = add_line(lines, count, spryi_index_at(a->indices, a->index_type, k) / ELEMENTS);
        }
        distinct += count;
    }
    return 2 * distinct <= entries;
}

#else /* once for each combination of types and indices */

/* Multiplies rows begin .. end - 1 by `count` vectors, beginning with vector c. */
SPRYI_INLINE void SPRY_FN(column_major_rows)(const spryi_run_args *args, int64_t begin, int64_t end, int64_t c,
                                             const int has_values, const int count)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const SPRY_P *Ap = a->offsets;
    const SPRY_J *Aj = a->indices;
    const SPRY_S *Ax = a->values;
    const SPRY_V *x = (const SPRY_V *)args->x + c * args->x_column_stride;
    SPRY_V *y = (SPRY_V *)args->y + c * args->y_column_stride;
    const int64_t x_column_stride = args->x_column_stride, y_column_stride = args->y_column_stride;
    for (int64_t i = begin; i < end; i++) {
        SPRY_V sum[SPRYI_CSR_COLUMN_MAJOR] = {0};
        for (int64_t k = Ap[i]; k < Ap[i + 1]; k++)
            for (int l = 0; l < count; l++)
                sum[l] += has_values ? SPRY_VALUE(Ax[k]) * x[l * x_column_stride + Aj[k]]
                                     : x[l * x_column_stride + Aj[k]];
        for (int l = 0; l < count; l++) {
            SPRY_V *to = y + l * y_column_stride + i;
            *to = beta == 0 ? alpha * sum[l] : alpha * sum[l] + beta * *to;
        }
    }
}

SPRYI_INLINE void SPRY_FN(column_major_vectors)(const spryi_run_args *args, int64_t begin, int64_t end,
                                                const int has_values)
{
    enum { MOST = SPRYI_CSR_COLUMN_MAJOR };
    int64_t c = 0;
    for (; c + MOST <= args->columns; c += MOST) SPRY_FN(column_major_rows)(args, begin, end, c, has_values, MOST);
    for (; c + 2 <= args->columns; c += 2) SPRY_FN(column_major_rows)(args, begin, end, c, has_values, 2);
    for (; c < args->columns; c++) SPRY_FN(column_major_rows)(args, begin, end, c, has_values, 1);
}

static void SPRY_FN(column_major_blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_csr *s = args->storage;
    for (int64_t b = begin; b < end; b++) {
        const spryi_csr_block *block = &s->blocks.list[b];
        if (s->a.value_type == SPRY_PATTERN)
            SPRY_FN(column_major_vectors)(args, block->begin, block->end, 0);
        else
            SPRY_FN(column_major_vectors)(args, block->begin, block->end, 1);
    }
}

static spry_status SPRY_FN(column_major)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_blocks(args, ((const spryi_csr *)args->storage)->blocks.count, SPRY_FN(column_major_blocks));
}

#endif
