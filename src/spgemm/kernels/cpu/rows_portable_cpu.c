/*
 * The product by rows (rows.h) in portable C. Only these instances have 64-bit columns.
 *
 * Idea: if a row of A has one entry, a multiple of a row of B is stored. If the columns of a row of C are those of the
 *       row before plus a constant, only values are computed. All other rows are summed in a dense window or a hash
 *       table.
 * Work: pieces of rows. Idle threads fetch the next piece.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library.
 */
#ifdef SPRY_V

/* Fills row i of a piece. May also fill the next rows, if their columns in A are equal. Returns the number of rows. */
static int64_t SPRY_FN(fill_rows)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t begin, int64_t i,
                                  int64_t end)
{
    const int64_t known = SPRY_FN(fill_known)(job, w, begin, i, end), at = job->offsets[i];
    SPRY_J *Cj = (SPRY_J *)job->columns + at;
    SPRY_V *Cx = (SPRY_V *)job->values + at;
    int64_t first, last;
    if (known > 0) return known;
    SPRY_FN(row_span)(job, i, &first, &last);
    if (SPRY_FN(is_hashed)(job, i, first, last))
        SPRY_FN(hash_row)(job, &w->table, i, Cj, Cx, job->offsets[i + 1] - at, false);
    else
        SPRY_FN(fill_window)(job, &w->window, i, first, last, Cj, Cx);
    return 1;
}

static void SPRY_FN(columns_row)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t begin, int64_t i)
{
    const int64_t at = job->offsets[i], n = job->offsets[i + 1] - at;
    SPRY_J *Cj = (SPRY_J *)job->columns + at;
    int64_t first, last;
    if (n == 0 || SPRY_FN(copy_columns)(job, begin, i, Cj, n)) return;
    SPRY_FN(row_span)(job, i, &first, &last);
    SPRY_FN(find_columns)(job, w, i, first, last, Cj, n);
}

#else
#include "spgemm/kernels/cpu/rows_shared.h"

#define SPRYI_TEMPLATE "spgemm/kernels/cpu/rows_portable_cpu.c"
#include "base/instantiate.h"
#define COUNT_SHORT NULL
#define SPRYI_TEMPLATE "spgemm/kernels/cpu/rows_in_runs.tmpl.h"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "spgemm/kernels/cpu/listed_rows.tmpl.h"
#include "base/instantiate.h"

const spryi_spgemm_table spryi_rows_count = SPRYI_TABLE(count), spryi_rows_fill = SPRYI_TABLE(fill),
                         spryi_rows_columns = SPRYI_TABLE(columns), spryi_rows_renew = SPRYI_TABLE(renew),
                         spryi_rows_list = SPRYI_TABLE(list);

static spryi_spgemm_sizes sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes)
{
    return spryi_rows_sizes(job, phase, most_bytes, NULL);
}

static const spryi_spgemm_host_phases phases = {
    .uses_bitmaps = true,
    .sizes = sizes,
    .count = &spryi_rows_count,
    .fill = &spryi_rows_fill,
    .columns = &spryi_rows_columns,
    .list = &spryi_rows_list,
    .refill = &spryi_rows_renew,
};

const spryi_kernel spryi_spgemm_rows_cpu = {
    .name = "spgemm_rows_cpu",
    .format = "csr",
    .device = "cpu",
    .idea = "row by row in the accumulator that suits the row: copied, the shape of the row before, a dense window "
            "whose bits are the order",
    .source = "F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library",
    .pattern = 1,
    .spgemm = &phases,
};
#endif
