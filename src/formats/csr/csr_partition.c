#include "core/error.h"
#include "core/memory.h"
#include "formats/csr/csr.h"

static int64_t offset(const spryi_csr *s, int64_t i)
{
    return spryi_index_at(s->a.offsets, s->a.offset_type, i);
}

static int64_t total_cost(const spryi_csr *s)
{
    return s->a.nnz + SPRYI_CSR_ROW_COST * s->a.rows;
}

/* First row that begins at or after `cost`, where rows before i cost offsets[i] + SPRYI_CSR_ROW_COST * i. */
static int64_t row_at_cost(const spryi_csr *s, int64_t cost)
{
    int64_t low = 0, high = s->a.rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (offset(s, middle) + SPRYI_CSR_ROW_COST * middle < cost)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct cut_count {
    int64_t blocks, long_rows, pieces;
} cut_count;

/* Pieces of nearly equal size, none over a block's cost. */
static void cut_long_row(const spryi_csr *s, int64_t i, spryi_csr_block *blocks, spryi_csr_long_row *long_rows,
                         cut_count *n)
{
    int64_t k = offset(s, i), length = offset(s, i + 1) - k;
    int64_t pieces = (length + s->block_cost - 1) / s->block_cost;
    if (long_rows) long_rows[n->long_rows] = (spryi_csr_long_row){.row = i, .first = n->pieces, .count = pieces};
    for (int64_t p = 0; blocks && p < pieces; p++)
        blocks[n->blocks + p] = (spryi_csr_block){.begin = k + length * p / pieces,
                                                  .end = k + length * (p + 1) / pieces,
                                                  .piece = n->pieces + p};
    n->long_rows++;
    n->blocks += pieces;
    n->pieces += pieces;
}

/*
 * Cuts where the cost passes multiples of a block's. A row longer than that can only be the last before a
 * cut, so only that one is looked at: the whole is a binary search a block. With NULL arrays it only
 * counts, so that both passes cut alike.
 */
static cut_count cut(const spryi_csr *s, spryi_csr_block *blocks, spryi_csr_long_row *long_rows)
{
    cut_count n = {0};
    int64_t total = total_cost(s);
    for (int64_t cost = s->block_cost, begin = 0; begin < s->a.rows; cost += s->block_cost) {
        int64_t end = cost < total ? row_at_cost(s, cost) : s->a.rows;
        if (end == begin) continue;
        int is_long = offset(s, end) - offset(s, end - 1) > s->block_cost;
        int64_t whole = is_long ? end - 1 : end;
        if (whole > begin) {
            if (blocks) blocks[n.blocks] = (spryi_csr_block){.begin = begin, .end = whole, .piece = -1};
            n.blocks++;
        }
        if (is_long) cut_long_row(s, whole, blocks, long_rows, &n);
        begin = end;
    }
    return n;
}

spry_status spryi_csr_partition(spry_context *context, spryi_csr *s, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t cost = total_cost(s) / SPRYI_CSR_BLOCKS;
    s->block_cost = cost < SPRYI_CSR_LEAST_COST  ? SPRYI_CSR_LEAST_COST
                    : cost > SPRYI_CSR_MOST_COST ? SPRYI_CSR_MOST_COST
                                                 : cost;
    cut_count n = cut(s, NULL, NULL);
    SPRYI_TRY(SPRYI_NEW(context, &s->blocks, n.blocks, "row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->long_rows, n.long_rows, "long rows", err));
    s->block_count = n.blocks;
    s->long_count = n.long_rows;
    s->piece_count = n.pieces;
    cut(s, s->blocks, s->long_rows);
done:
    return status;
}
