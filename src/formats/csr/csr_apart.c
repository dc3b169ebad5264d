/*
 * Several columns of x and y that lie apart, for all CPU kernels of csr.
 *
 * Idea: an entry is multiplied with its x of up to four columns, so that the matrix is read once for all of them. That
 *       takes four lines of x where columns that lie side by side would take one: it pays where rows near each other
 *       have the same lines, as meshes do, and few entries. Else the plan brings the columns side by side (plan/run.c).
 * Work: one thread a block of rows at a time. Rows in pieces are not for this.
 * Cost: bytes of CSR once for four columns, X and Y once. Source: this library.
 */
#ifndef SPRY_FN
#include "formats/csr/csr_driver.h"
#include "formats/shared/run_blocks.h"
#include "matrix/row_lengths.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_apart.c" /* its second half */
#include "base/instantiate.h"

const spryi_run_table spryi_csr_apart = SPRYI_TABLE(apart);

/* Puts `line` into the first `count` of a rising list, unless it is there; returns how many there are then. */
static int add_line(int64_t *lines, int count, int64_t line)
{
    int at = count;
    while (at > 0 && lines[at - 1] > line) at--;
    if (at > 0 && lines[at - 1] == line) return count;
    for (int n = count; n > at; n--) lines[n] = lines[n - 1];
    lines[at] = line;
    return count + 1;
}

int spryi_csr_takes_apart(const void *storage)
{
    enum { PLACES = 32, ROWS = 8, ENTRIES = 16 /* of a row */, NUMBERS = 8 /* of a line */ };
    const spryi_csr *s = storage;
    const spry_arrays *a = &s->a;
    if (s->blocks.piece_count > 0 || a->nnz > SPRYI_CSR_APART_MEAN * a->rows) return 0;
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
                count = add_line(lines, count, spryi_index_at(a->indices, a->index_type, k) / NUMBERS);
        }
        distinct += count;
    }
    return 2 * distinct <= entries;
}

#else /* once for each row of types and pair of indices */

/* Rows begin .. end - 1, `count` columns from c on. */
SPRYI_INLINE void SPRY_FN(apart_rows)(const spryi_run_args *args, int64_t begin, int64_t end, int64_t c,
                                      const int has_values, const int count)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const SPRY_P *Ap = a->offsets;
    const SPRY_J *Aj = a->indices;
    const SPRY_S *Ax = a->values;
    const SPRY_V *x = (const SPRY_V *)args->x + c * args->x_apart;
    SPRY_V *y = (SPRY_V *)args->y + c * args->y_apart;
    const int64_t x_apart = args->x_apart, y_apart = args->y_apart;
    for (int64_t i = begin; i < end; i++) {
        SPRY_V sum[SPRYI_CSR_APART] = {0};
        for (int64_t k = Ap[i]; k < Ap[i + 1]; k++)
            for (int l = 0; l < count; l++)
                sum[l] += has_values ? SPRY_VALUE(Ax[k]) * x[l * x_apart + Aj[k]] : x[l * x_apart + Aj[k]];
        for (int l = 0; l < count; l++) {
            SPRY_V *to = y + l * y_apart + i;
            *to = beta == 0 ? alpha * sum[l] : alpha * sum[l] + beta * *to;
        }
    }
}

SPRYI_INLINE void SPRY_FN(apart_columns)(const spryi_run_args *args, int64_t begin, int64_t end, const int has_values)
{
    enum { MOST = SPRYI_CSR_APART };
    int64_t c = 0;
    for (; c + MOST <= args->columns; c += MOST) SPRY_FN(apart_rows)(args, begin, end, c, has_values, MOST);
    for (; c + 2 <= args->columns; c += 2) SPRY_FN(apart_rows)(args, begin, end, c, has_values, 2);
    for (; c < args->columns; c++) SPRY_FN(apart_rows)(args, begin, end, c, has_values, 1);
}

static void SPRY_FN(apart_blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_csr *s = args->storage;
    for (int64_t b = begin; b < end; b++) {
        const spryi_csr_block *block = &s->blocks.list[b];
        if (s->a.value_type == SPRY_PATTERN)
            SPRY_FN(apart_columns)(args, block->begin, block->end, 0);
        else
            SPRY_FN(apart_columns)(args, block->begin, block->end, 1);
    }
}

static spry_status SPRY_FN(apart)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_blocks(args, ((const spryi_csr *)args->storage)->blocks.count, SPRY_FN(apart_blocks));
}

#endif
