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

#else
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "matrix/assemble.h"
#include "matrix/row_lengths.h"
#include "spgemm/spgemm.h"

#define SPRYI_TEMPLATE "spgemm/cpu/work_pieces.c"
#include "base/instantiate_indices.h"

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

typedef struct piece_job {
    const spryi_spgemm_job *job;
    const spry_arrays *a;
    int64_t work;
    atomic_llong products;
    atomic_int overflow;
} piece_job;

static void cut_rows(void *argument, int64_t begin, int64_t end)
{
    const piece_job *j = argument;
    for (int64_t p = begin; p < end; p++) j->job->pieces.rows[p] = row_at(j->a, p * j->work);
}

static void count_in_pieces(void *argument, int64_t begin, int64_t end)
{
    int64_t (*const products_of[])(const spryi_spgemm_job *, int64_t, int64_t) = {products_32_32, products_64_32,
                                                                                  products_64_64};
    piece_job *j = argument;
    const spryi_work_pieces pieces = j->job->pieces;
    const int pair = spryi_index_pair(j->a->offset_type, j->a->index_type);
    for (int64_t p = begin; p < end; p++) {
        pieces.products[p] = products_of[pair](j->job, pieces.rows[p], pieces.rows[p + 1]);
        if (pieces.products[p] > INT64_MAX / (pieces.count + 1))
            atomic_store(&j->overflow, 1);
        else
            atomic_fetch_add(&j->products, pieces.products[p]);
    }
}

/* Pieces are summed without care: one of 2^16 entries in rows of 2^47 entries would be past any memory. */
static int64_t count_products(const spry_context *context, spryi_spgemm_job *job, int threads)
{
    piece_job j = {.job = job, .a = &job->a};
    spryi_loop(context, threads, job->pieces.count, 16, count_in_pieces, &j);
    return j.overflow ? INT64_MAX : j.products;
}

spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err)
{
    const spry_arrays *a = &job->a;
    int64_t work = job->piece_work > 0 ? job->piece_work : PIECE_WORK;
    job->pieces.count = (a->nnz + a->rows + work - 1) / work;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &job->pieces.rows, 2 * job->pieces.count + 1, "pieces of rows", err));
    job->pieces.products = job->pieces.rows + job->pieces.count + 1;
    int threads = spryi_threads(context, a->nnz);
    spryi_loop(context, threads, job->pieces.count, 0, cut_rows, &(piece_job){.job = job, .a = a, .work = work});
    job->pieces.rows[job->pieces.count] = a->rows;
    job->products = count_products(context, job, threads);
    return SPRY_OK;
}

/* Two pieces beside each other have more than `most` rows and products, so there are no more than this. */
static int64_t most_pieces(const spryi_work_pieces *pieces, int64_t p, int64_t most)
{
    const int64_t rows = pieces->rows[p + 1] - pieces->rows[p], pairs = (pieces->products[p] + rows) / most;
    return 2 * pairs + 1 < rows ? 2 * pairs + 1 : rows;
}

typedef struct cut_job {
    const spryi_spgemm_job *job;
    int64_t most, *starts, *cut, *pieces;
} cut_job;

static void cut_pieces(void *argument, int64_t first, int64_t last)
{
    int64_t (*const cut_piece[])(const spryi_spgemm_job *, int64_t, int64_t, int64_t,
                                 int64_t *) = {cut_piece_32_32, cut_piece_64_32, cut_piece_64_64};
    const cut_job *j = argument;
    const spryi_spgemm_job *job = j->job;
    const int pair = spryi_index_pair(job->a.offset_type, job->a.index_type);
    for (int64_t p = first; p < last; p++) {
        const int64_t begin = job->pieces.rows[p], end = job->pieces.rows[p + 1];
        const int whole = begin < end && job->pieces.products[p] <= j->most - (end - begin);
        if (whole) j->cut[j->starts[p]] = begin;
        j->pieces[p] = whole ? 1 : cut_piece[pair](job, begin, end, j->most, j->cut + j->starts[p]);
    }
}

spry_status spryi_spgemm_cut_one_pass(spry_context *context, spryi_spgemm_job *job, int64_t most, spry_error *err)
{
    const spryi_work_pieces from = job->pieces;
    int64_t *starts = NULL, *cut = NULL, *made = NULL, count = 0;
    spry_status status = SPRY_OK;
    const int threads = spryi_threads(context, job->a.nnz);
    SPRYI_TRY(SPRYI_NEW(context, &starts, from.count + 1, "pieces of rows", err));
    for (int64_t p = 0; p < from.count; p++) starts[p + 1] = most_pieces(&from, p, most);
    spryi_scan(starts, from.count);
    SPRYI_TRY(SPRYI_NEW(context, &cut, starts[from.count] + from.count, "pieces of rows", err));
    int64_t *const pieces = cut + starts[from.count];
    spryi_loop(context, threads, from.count, 4, cut_pieces, &(cut_job){job, most, starts, cut, pieces});
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
    return spryi_rows_rise(context, csr);
}
#endif
