/* Swept row blocks back to CSR: entries are counted, then copied in the order of groups, block by block. */
#ifndef SPRY_FN
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/swept/swept_layout.h"
#include "matrix/assemble.h"

#include <string.h>

void spryi_swept_rows_of_sums(const spryi_swept *s, const spryi_swept_block *block, int32_t *row_of)
{
    int32_t sum = 0;
    for (int32_t r = 0; r < block->rows; r++)
        if (s->bitmaps[block->first_bitmap + r / 32].bits >> (r % 32) & 1) row_of[sum++] = r;
    for (int64_t l = block->first_extra; l < block->first_extra + block->extras; l++)
        for (int32_t n = 0; n < s->extras[l].count; n++) row_of[s->extras[l].first + n] = row_of[s->extras[l].sum];
}

#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/swept/swept_to_csr.c" /* its second half */
#include "base/instantiate.h"

typedef int64_t (*count_fn)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at);
typedef void (*unpack_fn)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at,
                          int64_t head, const spry_arrays *A);
static const count_fn counts[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(count);
static const unpack_fn unpacks[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(unpack);

/* Offsets of the rows, and where the entries go of the first row of each block that the one before has begun. */
static void locate_rows(const spryi_swept *s, spry_arrays *a, int64_t *at, int64_t *heads)
{
    const int64_t blocks = s->sizes.blocks;
    for (int64_t b = 0; b < blocks; b++) {
        if (s->blocks[b].head_row < 0) continue;
        const int64_t pieces = at[s->blocks[b].first_row + 1];
        at[s->blocks[b].first_row + 1] += heads[b];
        heads[b] = pieces;
    }
    spryi_scan(at, a->rows);
    for (int64_t b = 0; b < blocks; b++) heads[b] += at[s->blocks[b].first_row];
    for (int64_t i = 0; i <= a->rows; i++) spryi_set_index((void *)(uintptr_t)a->offsets, a->offset_type, i, at[i]);
}

typedef struct block_job {
    const spryi_swept *s;
    const spry_arrays *a;
    count_fn count;
    unpack_fn unpack;
    int64_t *at, *heads;
    int32_t *rows;
} block_job;

static void count_blocks(void *job, int64_t begin, int64_t end, int part)
{
    const block_job *j = job;
    int32_t *row_of = j->rows + part * j->s->sizes.most_sums;
    for (int64_t b = begin; b < end; b++) {
        spryi_swept_rows_of_sums(j->s, &j->s->blocks[b], row_of);
        j->heads[b] = j->count(j->s, &j->s->blocks[b], row_of, j->at);
    }
}

static void unpack_blocks(void *job, int64_t begin, int64_t end, int part)
{
    const block_job *j = job;
    int32_t *row_of = j->rows + part * j->s->sizes.most_sums;
    for (int64_t b = begin; b < end; b++) {
        spryi_swept_rows_of_sums(j->s, &j->s->blocks[b], row_of);
        j->unpack(j->s, &j->s->blocks[b], row_of, j->at, j->heads[b], j->a);
    }
}

spry_status spryi_swept_to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_swept *s = storage;
    const spryi_swept_sizes *h = &s->sizes;
    spry_status status = SPRY_OK;
    int64_t *at = NULL, *heads = NULL;
    int32_t *rows = NULL;
    spry_arrays a = s->types;
    const int threads = spryi_threads(context, a.rows + a.nnz);
    SPRYI_TRY(spryi_new_csr(context, &a, err));
    SPRYI_TRY(SPRYI_NEW(context, &at, a.rows + 1, "positions of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &heads, h->blocks, "positions of shared rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &rows, threads * h->most_sums, "rows of sums", err));
    a.sorted = h->shared_rows == 0 ? SPRY_KNOWN_YES : SPRY_NOT_KNOWN; /* pieces are of rows as they were stored */
    memset(at, 0, (size_t)(a.rows + 1) * sizeof *at);
    block_job j = {s, &a, SPRYI_INSTANCE(counts, &a), SPRYI_INSTANCE(unpacks, &a), at, heads, rows};
    spryi_loop_in_parts(context, threads, h->blocks, 1, count_blocks, &j);
    locate_rows(s, &a, at, heads);
    spryi_loop_in_parts(context, threads, h->blocks, 1, unpack_blocks, &j);
    status = spryi_matrix_adopt(context, csr, &a, a.value_type == SPRY_PATTERN ? SPRYI_FIELD_PATTERN : SPRYI_REAL, err);
    a = s->types; /* they are taken over, also where this fails */
done:
    spryi_release(context, at);
    spryi_release(context, heads);
    spryi_release(context, rows);
    spryi_release_csr(context, &a);
    return status;
}

#else /* once for each value type and pair of index types */

/* at[row + 1]: its entries in the block; those of a first row that the block before has begun are returned instead. */
static int64_t SPRY_FN(count)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at)
{
    const int64_t batch = SPRYI_SWEPT_THREADS * spryi_swept_unroll(s->sizes.value_type), first = block->first_batch;
    const uint32_t padding = spryi_swept_padding(block);
    int64_t head = 0;
    for (int64_t n = first * batch; n < (first + block->batches) * batch; n++) {
        const uint32_t sum = s->indices[n] & padding;
        if (sum == padding) continue;
        if (row_of[sum] == 0 && block->head_row >= 0)
            head++;
        else
            at[block->first_row + row_of[sum] + 1]++;
    }
    return head;
}

/* at[row]: where the row's next entry goes; head: the same of a first row that the block before has begun. */
static void SPRY_FN(unpack)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at,
                            int64_t head, const spry_arrays *A)
{
    const int64_t unroll = spryi_swept_unroll(s->sizes.value_type);
    const int64_t first = block->first_batch * SPRYI_SWEPT_THREADS * unroll;
    const uint32_t padding = spryi_swept_padding(block);
    SPRY_J *columns = (SPRY_J *)(uintptr_t)A->indices;
    SPRY_B *values = (SPRY_B *)(uintptr_t)A->values;
    for (int64_t group = 0; group < block->batches * unroll; group++)
        for (int64_t position = 0; position < SPRYI_SWEPT_THREADS; position++) {
            const int64_t slot = first + spryi_swept_slot(group, position, unroll);
            const uint32_t sum = s->indices[slot] & padding;
            if (sum == padding) continue;
            const int64_t to = row_of[sum] == 0 && block->head_row >= 0 ? head++ : at[block->first_row + row_of[sum]]++;
            columns[to] = (SPRY_J)spryi_swept_column(s, block, block->first_batch + group / unroll, slot);
            if (values) values[to] = ((const SPRY_B *)s->values)[slot];
        }
}

#endif
