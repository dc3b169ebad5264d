/*
 * The product by rows (rows.h) in portable C, and the only one with 64-bit columns.
 *
 * Idea: each row in the accumulator that suits it: copied, as the row before, a dense window, a hash table.
 * Work: pieces of rows, which threads take one after the other.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library.
 */
#ifdef SPRY_V

static void SPRY_FN(count_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    int64_t words = 0;
    for (int64_t i = begin; i < end; i++) SPRY_FN(count_row)(job, w, begin, i, &words, NULL);
}

static void SPRY_FN(count)(spryi_spgemm_job *job)
{
    job->found = (spryi_spgemm_spans){0};
    spryi_rows_run(job, SPRY_FN(count_piece));
}

/* Row i of a piece, with those identical to it; returns how many rows that were. */
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
        SPRY_FN(hash_row)(job, &w->table, i, Cj, Cx, job->offsets[i + 1] - at, 0);
    else
        SPRY_FN(fill_window)(job, &w->window, i, first, last, Cj, Cx);
    return 1;
}

static void SPRY_FN(fill_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end;) i += SPRY_FN(fill_rows)(job, w, begin, i, end);
}

static void SPRY_FN(fill)(spryi_spgemm_job *job)
{
    spryi_rows_run(job, SPRY_FN(fill_piece));
}

static void SPRY_FN(columns_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = job->offsets[i], n = job->offsets[i + 1] - at;
        SPRY_J *Cj = (SPRY_J *)job->columns + at;
        int64_t first, last;
        if (n == 0 || SPRY_FN(copy_columns)(job, begin, i, Cj, n)) continue;
        SPRY_FN(row_span)(job, i, &first, &last);
        SPRY_FN(find_columns)(job, w, i, first, last, Cj, n);
    }
}

static void SPRY_FN(columns)(spryi_spgemm_job *job)
{
    spryi_rows_run(job, SPRY_FN(columns_piece));
}

static void SPRY_FN(list_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    SPRY_FN(list_rows)(job, w, begin, end);
}

static void SPRY_FN(list)(spryi_spgemm_job *job)
{
    job->found = (spryi_spgemm_spans){0};
    job->sizes.threads = 1; /* pieces follow each other in C */
    spryi_rows_run(job, SPRY_FN(list_piece));
}

#else
#include "spgemm/cpu/rows_shared.h"

#define SPRYI_TEMPLATE "spgemm/cpu/rows_portable_cpu.c"
#include "core/instantiate.h"

static const spryi_spgemm_table count_table = SPRYI_TABLE(count), fill_table = SPRYI_TABLE(fill),
                                columns_table = SPRYI_TABLE(columns), refill_table = SPRYI_TABLE(refill),
                                list_table = SPRYI_TABLE(list);

static spryi_spgemm_sizes sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes)
{
    return spryi_rows_sizes(job, phase, most_bytes, 0);
}

static const spryi_spgemm_host_phases phases = {
    .uses_bitmaps = 1,
    .sizes = sizes,
    .count = &count_table,
    .fill = &fill_table,
    .columns = &columns_table,
    .list = &list_table,
    .refill = &refill_table,
};

const spryi_kernel spryi_spgemm_rows_cpu = {
    .name = "spgemm_rows_cpu",
    .format = "csr",
    .device = "cpu",
    .idea = "row by row in the accumulator that suits the row: copied, the shape of the row before, a dense window "
            "whose bits are the order",
    .source = "F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spgemm = &phases,
};
#endif
