#include "core/assemble.h"
#include "core/context.h"
#include "core/memory.h"
#include "spgemm/spgemm.h"

enum {
    PIECE_WORK = 4096, /* entries and rows of a piece: threads come for the next some thousand times a second */
    BLOCK = 1 << 16    /* entries that are looked at together */
};

static int64_t row_length(const spry_arrays *csr, int64_t i)
{
    return spryi_index_at(csr->offsets, csr->offset_type, i + 1) - spryi_index_at(csr->offsets, csr->offset_type, i);
}

/* The first row at or after which `work` entries and rows begin: offsets[i] + i rises, so halving finds it. */
static int64_t row_at(const spry_arrays *a, int64_t work)
{
    int64_t low = 0, high = a->rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (spryi_index_at(a->offsets, a->offset_type, middle) + middle < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define TOTAL_PRODUCTS(P, J)                                                                                           \
    static int64_t total_products_##P##_##J(const spryi_spgemm_job *job, int64_t begin, int64_t end)                   \
    {                                                                                                                  \
        const P *restrict Bp = job->b.offsets;                                                                         \
        const J *restrict Aj = job->a.indices;                                                                         \
        int64_t sum = 0;                                                                                               \
        for (int64_t k = begin; k < end; k++) sum += (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]);                             \
        return sum;                                                                                                    \
    }
TOTAL_PRODUCTS(int32_t, int32_t)
TOTAL_PRODUCTS(int64_t, int32_t)
TOTAL_PRODUCTS(int64_t, int64_t)

/* Blocks of entries are summed without care, since a block of 2^16 rows of 2^47 entries would be past any memory. */
static int64_t all_products(const spryi_spgemm_job *job, int threads)
{
    int64_t (*const of_block[])(const spryi_spgemm_job *, int64_t, int64_t) = {total_products_int32_t_int32_t,
                                                                               total_products_int64_t_int32_t,
                                                                               total_products_int64_t_int64_t};
    int pair = spryi_index_pair(job->a.offset_type, job->a.index_type);
    int64_t nnz = job->a.nnz, blocks = (nnz + BLOCK - 1) / BLOCK, products = 0;
    int overflow = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) reduction(| : overflow) reduction(+ : products)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t end = (block + 1) * BLOCK < nnz ? (block + 1) * BLOCK : nnz;
        int64_t sum = of_block[pair](job, block * BLOCK, end);
        overflow |= sum > INT64_MAX / (blocks + 1);
        products += overflow ? 0 : sum;
    }
    return overflow ? INT64_MAX : products;
}

spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err)
{
    const spry_arrays *a = &job->a;
    int64_t work = job->piece_work > 0 ? job->piece_work : PIECE_WORK;
    job->pieces.count = (a->nnz + a->rows + work - 1) / work;
    spry_status status = SPRYI_NEW(context, &job->pieces.rows, job->pieces.count + 1, "pieces of rows", err);
    if (status != SPRY_OK) return status;
    int threads = spryi_threads(context, a->nnz);
#pragma omp parallel for num_threads(threads)
    for (int64_t p = 0; p < job->pieces.count; p++) job->pieces.rows[p] = row_at(a, p * work);
    job->pieces.rows[job->pieces.count] = a->rows;
    job->products = all_products(job, threads);
    return SPRY_OK;
}

static int row_rises(const spry_arrays *csr, int64_t i)
{
    int64_t begin = spryi_index_at(csr->offsets, csr->offset_type, i), end = begin + row_length(csr, i);
    int falls = 0;
    if (csr->index_type == SPRY_I32) {
        const int32_t *columns = csr->indices;
        for (int64_t k = begin + 1; k < end; k++) falls |= columns[k] <= columns[k - 1];
    } else {
        const int64_t *columns = csr->indices;
        for (int64_t k = begin + 1; k < end; k++) falls |= columns[k] <= columns[k - 1];
    }
    return !falls;
}

int spryi_spgemm_rises(const spry_context *context, const spry_arrays *csr)
{
    if (csr->sorted == SPRY_KNOWN_YES && csr->unique == SPRY_KNOWN_YES) return 1;
    if (csr->sorted == SPRY_KNOWN_NO || csr->unique == SPRY_KNOWN_NO) return 0;
    int falls = 0;
#pragma omp parallel for num_threads(spryi_threads(context, csr->nnz)) schedule(dynamic, 4096) reduction(| : falls)
    for (int64_t i = 0; i < csr->rows; i++) falls |= !row_rises(csr, i);
    return !falls;
}
