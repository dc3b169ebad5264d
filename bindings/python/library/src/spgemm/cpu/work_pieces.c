/* Work pieces: how rows are cut for threads, and how many products there are. */
#ifdef SPRY_P

static int64_t SPRY_FN(products)(const spryi_spgemm_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    int64_t sum = 0;
    for (SPRY_P k = Ap[begin]; k < Ap[end]; k++) sum += (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]);
    return sum;
}

/* Pieces that rows begin .. end-1 make, whose first rows go to `to`. */
static int64_t SPRY_FN(cut_piece)(const spryi_spgemm_job *job, int64_t begin, int64_t end, int64_t most, int64_t *to)
{
    int64_t pieces = 0, filled = most;
    for (int64_t i = begin; i < end; i++) {
        const int64_t products = SPRY_FN(products)(job, i, i + 1);
        const int64_t work = (products < job->b.cols ? products : job->b.cols) + 1;
        filled += work;
        if (filled <= most) continue;
        to[pieces++] = i;
        filled = work;
    }
    return pieces;
}

/* 1: some column of row i is not greater than the one before. */
static int SPRY_FN(falls)(const spry_arrays *csr, int64_t i)
{
    const SPRY_P *restrict offsets = csr->offsets;
    const SPRY_J *restrict columns = csr->indices;
    int falls = 0;
    for (SPRY_P k = offsets[i] + 1; k < offsets[i + 1]; k++) falls |= columns[k] <= columns[k - 1];
    return falls;
}

#else
#include "core/assemble.h"
#include "core/bisect.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "spgemm/spgemm.h"

#define SPRYI_TEMPLATE "spgemm/cpu/work_pieces.c"
#include "core/instantiate_indices.h"

enum {
    PIECE_WORK = 4096 /* entries and rows of a piece: threads come for the next some thousand times a second */
};

/* The first row at or after which `work` entries and rows begin. */
static int64_t row_at(const spry_arrays *a, int64_t work)
{
    int64_t i;
    SPRYI_BISECT(i, 0, a->rows, spryi_index_at(a->offsets, a->offset_type, i) + i < work);
    return i;
}

/* Pieces are summed without care: one of 2^16 entries in rows of 2^47 entries would be past any memory. */
static int64_t count_products(spryi_spgemm_job *job, int threads)
{
    int64_t (*const products_of[])(const spryi_spgemm_job *, int64_t, int64_t) = {products_32_32, products_64_32,
                                                                                  products_64_64};
    const int pair = spryi_index_pair(job->a.offset_type, job->a.index_type);
    const spryi_work_pieces pieces = job->pieces;
    int64_t products = 0;
    int overflow = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) reduction(| : overflow) reduction(+ : products)
    for (int64_t p = 0; p < pieces.count; p++) {
        pieces.products[p] = products_of[pair](job, pieces.rows[p], pieces.rows[p + 1]);
        overflow |= pieces.products[p] > INT64_MAX / (pieces.count + 1);
        products += overflow ? 0 : pieces.products[p];
    }
    return overflow ? INT64_MAX : products;
}

spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err)
{
    const spry_arrays *a = &job->a;
    int64_t work = job->piece_work > 0 ? job->piece_work : PIECE_WORK;
    job->pieces.count = (a->nnz + a->rows + work - 1) / work;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &job->pieces.rows, 2 * job->pieces.count + 1, "pieces of rows", err));
    job->pieces.products = job->pieces.rows + job->pieces.count + 1;
    int threads = spryi_threads(context, a->nnz);
#pragma omp parallel for num_threads(threads)
    for (int64_t p = 0; p < job->pieces.count; p++) job->pieces.rows[p] = row_at(a, p * work);
    job->pieces.rows[job->pieces.count] = a->rows;
    job->products = count_products(job, threads);
    return SPRY_OK;
}

/* Two pieces beside each other have more than `most` rows and products, so there are no more than this. */
static int64_t most_pieces(const spryi_work_pieces *pieces, int64_t p, int64_t most)
{
    const int64_t rows = pieces->rows[p + 1] - pieces->rows[p], pairs = (pieces->products[p] + rows) / most;
    return 2 * pairs + 1 < rows ? 2 * pairs + 1 : rows;
}

spry_status spryi_spgemm_cut_one_pass(spry_context *context, spryi_spgemm_job *job, int64_t most, spry_error *err)
{
    int64_t (*const cut_piece[])(const spryi_spgemm_job *, int64_t, int64_t, int64_t,
                                 int64_t *) = {cut_piece_32_32, cut_piece_64_32, cut_piece_64_64};
    const int pair = spryi_index_pair(job->a.offset_type, job->a.index_type);
    const spryi_work_pieces from = job->pieces;
    int64_t *starts = NULL, *cut = NULL, *made = NULL, count = 0;
    spry_status status = SPRY_OK;
    const int threads = spryi_threads(context, job->a.nnz);
    SPRYI_TRY(SPRYI_NEW(context, &starts, from.count + 1, "pieces of rows", err));
    for (int64_t p = 0; p < from.count; p++) starts[p + 1] = most_pieces(&from, p, most);
    spryi_scan(starts, from.count);
    SPRYI_TRY(SPRYI_NEW(context, &cut, starts[from.count] + from.count, "pieces of rows", err));
    int64_t *const pieces = cut + starts[from.count];
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int64_t p = 0; p < from.count; p++) {
        const int64_t begin = from.rows[p], end = from.rows[p + 1];
        const int whole = begin < end && from.products[p] <= most - (end - begin);
        if (whole) cut[starts[p]] = begin;
        pieces[p] = whole ? 1 : cut_piece[pair](job, begin, end, most, cut + starts[p]);
    }
    for (int64_t p = 0; p < from.count; p++) count += pieces[p];
    SPRYI_TRY(SPRYI_NEW(context, &made, 3 * count + 2, "pieces of rows", err));
    int64_t *to = made;
    for (int64_t p = 0; p < from.count; p++)
        for (int64_t k = 0; k < pieces[p]; k++) *to++ = cut[starts[p] + k];
    *to++ = job->a.rows;
    spryi_release(context, from.rows);
    job->pieces = (spryi_work_pieces){count, made, NULL, to, to + count};
done:
    spryi_release(context, cut);
    spryi_release(context, starts);
    return status;
}

int spryi_spgemm_rises(const spry_context *context, const spry_arrays *csr)
{
    if (csr->sorted == SPRY_KNOWN_YES && csr->unique == SPRY_KNOWN_YES) return 1;
    if (csr->sorted == SPRY_KNOWN_NO || csr->unique == SPRY_KNOWN_NO) return 0;
    int (*const falls_of[])(const spry_arrays *, int64_t) = {falls_32_32, falls_64_32, falls_64_64};
    const int pair = spryi_index_pair(csr->offset_type, csr->index_type);
    int falls = 0;
#pragma omp parallel for num_threads(spryi_threads(context, csr->nnz)) schedule(dynamic, 4096) reduction(| : falls)
    for (int64_t i = 0; i < csr->rows; i++) falls |= falls_of[pair](csr, i);
    return !falls;
}
#endif
