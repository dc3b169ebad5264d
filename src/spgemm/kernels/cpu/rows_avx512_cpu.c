/*
 * The product by rows (rows.h) with AVX-512. 64-bit columns gain little and use the portable instances.
 *
 * Idea: runs of rows that share one order of products are computed together. Other rows have three cases. If the row
 *       of A has one entry, a multiple of a row of B is stored. If the columns of C are those of the row
 *       before plus a constant, only values are computed. All other rows are summed in two registers, in a dense window
 *       with bits or flags, or in a hash table.
 * Work: pieces of rows. Idle threads fetch the next piece.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library.
 */
#ifdef SPRY_V
#if SPRY_J_IS_64
static void SPRY_FN(count)(spryi_spgemm_job *job)
{
    (*spryi_spgemm_rows_cpu.spgemm->count)[SPRY_IS_F64][2](job);
}

static void SPRY_FN(fill)(spryi_spgemm_job *job)
{
    (*spryi_spgemm_rows_cpu.spgemm->fill)[SPRY_IS_F64][2](job);
}

static void SPRY_FN(columns)(spryi_spgemm_job *job)
{
    (*spryi_spgemm_rows_cpu.spgemm->columns)[SPRY_IS_F64][2](job);
}

static void SPRY_FN(renew)(spryi_spgemm_job *job)
{
    SPRY_FN(refill)(job);
}
#else

/* Fills row i of a piece. May also fill the next rows, if their columns in A are equal. Returns the number of rows. */
static int64_t SPRY_FN(fill_rows)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t begin, int64_t i,
                                  int64_t end)
{
    const int64_t known = SPRY_FN(fill_known)(job, w, begin, i, end), at = job->offsets[i];
    const int64_t n = job->offsets[i + 1] - at;
    SPRY_J *Cj = (SPRY_J *)job->columns + at;
    SPRY_V *Cx = (SPRY_V *)job->values + at;
    int64_t first, last;
    if (known > 0) return known;
    const int64_t products = SPRY_FN(row_products)(job, i);
    if (products <= SPRYI_SHORT) {
        SPRY_FN(fill_short)(job, i, Cj, Cx);
        return 1;
    }
    SPRY_FN(row_span)(job, i, &first, &last);
    if (SPRY_FN(is_hashed)(job, i, first, last)) {
        SPRY_FN(hash_row)(job, &w->table, i, Cj, Cx, n, false);
    } else if (job->rows_of_b.bitmaps.count == 0 && spryi_rows_words(first, last) < products) {
        const int64_t base = first & ~(int64_t)63;
        SPRY_FN(add_and_flag)(job, &w->window, i, base);
        SPRY_FN(emit_flagged)(&w->window, (last - base) / 64 + 1, base, *(const SPRY_V *)job->alpha, Cj, Cx);
    } else {
        SPRY_FN(fill_window)(job, &w->window, i, first, last, Cj, Cx);
    }
    return 1;
}

static void SPRY_FN(columns_row)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t begin, int64_t i)
{
    const int64_t at = job->offsets[i], n = job->offsets[i + 1] - at;
    SPRY_J *Cj = (SPRY_J *)job->columns + at;
    int64_t first, last;
    if (n == 0 || SPRY_FN(copy_columns)(job, begin, i, Cj, n)) return;
    const int64_t products = SPRY_FN(row_products)(job, i);
    if (products <= SPRYI_SHORT) {
        int32_t list[SPRYI_SHORT + 16];
        uint16_t positions[SPRYI_SHORT];
        const int count = (int)SPRY_FN(list_columns)(job, i, list, 0);
        (void)spryi_short_positions(list, count, positions, Cj);
        return;
    }
    SPRY_FN(row_span)(job, i, &first, &last);
    SPRY_FN(find_columns)(job, w, i, first, last, Cj, n);
}
#endif
#else
#include "spgemm/kernels/cpu/rows_shared.h"
#include "spgemm/kernels/cpu/short_rows_avx512.h"
#include "spgemm/kernels/cpu/value_vectors_avx512.h"

#define SPRYI_TEMPLATE "spgemm/kernels/cpu/short_rows_avx512.tmpl.h"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "spgemm/kernels/cpu/rows_avx512_cpu.c"
#include "base/instantiate.h"
#define COUNT_SHORT SPRY_FN(count_short)
#define SPRYI_TEMPLATE "spgemm/kernels/cpu/rows_in_runs.tmpl.h"
#include "base/instantiate.h"

static const spryi_spgemm_table count_table = SPRYI_TABLE(count), fill_table = SPRYI_TABLE(fill),
                                columns_table = SPRYI_TABLE(columns), renew_table = SPRYI_TABLE(renew);

static spryi_spgemm_sizes sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes)
{
    return spryi_rows_sizes(job, phase, most_bytes, &spryi_runs_avx512);
}

static const spryi_spgemm_host_phases phases = {
    .uses_bitmaps = true,
    .sizes = sizes,
    .count = &count_table,
    .fill = &fill_table,
    .columns = &columns_table,
    .refill = &renew_table,
    .one_pass = &spryi_rows_one_pass,
};

const spryi_kernel spryi_spgemm_rows_avx512_cpu = {
    .name = "spgemm_rows_avx512_cpu",
    .format = "csr",
    .device = "cpu",
    .idea = "the same with AVX-512: row by row in the accumulator that suits the row: copied, the shape of the row "
            "before, a dense window whose bits are the order",
    .source = "F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library",
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spgemm = &phases,
};
#endif
