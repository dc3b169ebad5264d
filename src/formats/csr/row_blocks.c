#include "formats/csr/row_blocks.h"

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

enum {
    LEAST_COST = 4096, /* small matrices get smaller blocks, or few threads would find one */
    BLOCKS = 256       /* that are aimed at in between */
};

static int64_t total_cost(const spry_arrays *csr)
{
    return csr->nnz + SPRYI_CSR_ROW_COST * csr->rows;
}

static int64_t block_cost_of(const spry_arrays *csr)
{
    const int64_t cost = total_cost(csr) / BLOCKS;
    if (cost < LEAST_COST) return LEAST_COST;
    return cost > SPRYI_CSR_MOST_COST ? SPRYI_CSR_MOST_COST : cost;
}

/* Pieces of nearly equal size, none over `cost`. */
static void cut_long_row(const spry_arrays *csr, int64_t i, int64_t cost, spryi_csr_blocks *made)
{
    const int64_t k = spryi_offset_of(csr, i), length = spryi_offset_of(csr, i + 1) - k;
    const int64_t pieces = (length + cost - 1) / cost;
    if (made->long_rows)
        made->long_rows[made->long_count] = (spryi_csr_long_row){.row = i, .first = made->piece_count, .count = pieces};
    for (int64_t p = 0; made->list && p < pieces; p++)
        made->list[made->count + p] = (spryi_csr_block){.begin = k + length * p / pieces,
                                                        .end = k + length * (p + 1) / pieces,
                                                        .piece = made->piece_count + p,
                                                        .row = i};
    made->long_count++;
    made->count += pieces;
    made->piece_count += pieces;
}

/*
 * Cuts where the cost passes multiples of a block's. A row longer than that can only be the last before a cut, so only
 * that one is looked at. Without arrays it only counts, so that both passes cut alike.
 */
static void cut(const spry_arrays *csr, spryi_csr_blocks *made)
{
    const int64_t block_cost = block_cost_of(csr), total = total_cost(csr);
    made->count = made->long_count = made->piece_count = 0;
    for (int64_t cost = block_cost, begin = 0, end = csr->rows; begin < csr->rows; cost += block_cost, begin = end) {
        end = csr->rows;
        if (cost < total) SPRYI_BISECT(end, 0, csr->rows, spryi_offset_of(csr, end) + SPRYI_CSR_ROW_COST * end < cost);
        if (end == begin) continue;
        const int is_long = spryi_offset_of(csr, end) - spryi_offset_of(csr, end - 1) > block_cost;
        const int64_t whole = is_long ? end - 1 : end;
        if (whole > begin) {
            if (made->list) made->list[made->count] = (spryi_csr_block){.begin = begin, .end = whole, .piece = -1};
            made->count++;
        }
        if (is_long) cut_long_row(csr, whole, block_cost, made);
    }
}

spry_status spryi_csr_blocks_make(spry_context *context, spryi_csr_blocks *blocks, const spry_arrays *csr,
                                  spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_csr_blocks counts = {0};
    cut(csr, &counts);
    SPRYI_TRY(SPRYI_NEW(context, &blocks->list, counts.count, "row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &blocks->long_rows, counts.long_count, "long rows", err));
    cut(csr, blocks);
done:
    return status;
}

void spryi_csr_blocks_release(spry_context *context, spryi_csr_blocks *blocks)
{
    spryi_release(context, blocks->list);
    spryi_release(context, blocks->long_rows);
}
