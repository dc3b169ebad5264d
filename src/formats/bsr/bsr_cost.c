/*
 * The storage size of BSR, and the block size with the fewest bytes. The CUDA plug-in compiles this file too.
 *
 * Detection samples up to 16 groups of 840 rows, evenly spread over the matrix. 840 is divisible by every size up to 8.
 * A matrix of up to 16 groups is sampled completely. Among the block sizes that the padding guard permits, the one with
 * the fewest bytes in the sample is chosen. If two sizes have equal bytes, the smaller one is chosen. The result
 * depends only on the matrix.
 */
#include "base/error.h"
#include "formats/bsr/bsr.h"
#include "formats/shared/storage_limits.h"
#include "spry/matrix.h"

#include <stdio.h>

enum { GROUP_ROWS = 840 };

int64_t spryi_bsr_groups(int64_t rows)
{
    const int64_t all = spryi_blocks_of(rows, GROUP_ROWS);
    return all < SPRYI_BSR_MOST_GROUPS ? all : SPRYI_BSR_MOST_GROUPS;
}

int64_t spryi_bsr_group(int64_t rows, int64_t g, int64_t *end)
{
    const int64_t all = spryi_blocks_of(rows, GROUP_ROWS), begin = all * g / spryi_bsr_groups(rows) * GROUP_ROWS;
    *end = rows - begin < GROUP_ROWS ? rows : begin + GROUP_ROWS;
    return begin;
}

spryi_bsr_head spryi_bsr_head_of(const spry_arrays *A, int64_t block)
{
    return (spryi_bsr_head){
        .rows = A->rows,
        .cols = A->columns,
        .block = block,
        .block_rows = spryi_blocks_of(A->rows, block),
        .block_cols = spryi_blocks_of(A->columns, block),
        .value_type = (int32_t)A->value_type,
        .offset_type = (int32_t)A->offset_type,
        .index_type = (int32_t)A->index_type,
    };
}

double spryi_bsr_sample_bytes(const spry_arrays *A, int64_t block, int64_t blocks, int64_t entries)
{
    const double share = entries > 0 ? (double)A->nnz / (double)entries : 1;
    const int64_t values = blocks * block * block, fill = values - entries;
    if (fill > 0 && fill / SPRYI_MOST_PADDING >= entries) return -1;
    double bytes = (double)values * (double)spry_type_bytes(A->value_type) +
                   (double)blocks * (double)spryi_index_type_bytes(A->index_type) +
                   (fill > 0 ? (double)(blocks * block) * (double)spryi_bsr_mask_bytes(block) : 0);
    return share * bytes + (double)spryi_blocks_of(A->rows, block) * (double)spryi_index_type_bytes(A->offset_type);
}

int64_t spryi_bsr_cheapest(const spry_arrays *A, const int64_t *blocks, const int64_t *entries)
{
    if (entries[1] == 0) return 1; /* nothing was counted */
    int64_t block = 1;
    double least = spryi_bsr_sample_bytes(A, 1, blocks[1], entries[1]);
    for (int64_t r = 2; r <= SPRYI_BSR_MOST_DETECTED; r++) {
        double cost = spryi_bsr_sample_bytes(A, r, blocks[r], entries[r]);
        if (cost < 0 || cost >= least) continue;
        least = cost;
        block = r;
    }
    return block;
}

/* Returns -1 if the count overflows, as in a damaged container. */
int64_t spryi_bsr_value_count(const spryi_bsr_head *h)
{
    int64_t count = 0;
    bool sound = h->blocks >= 0 && h->block >= 0 && h->block <= SPRYI_BSR_MOST_BLOCK &&
                 !__builtin_mul_overflow(h->blocks, h->block * h->block, &count);
    return sound ? count : -1;
}

/* Returns the bytes of the masks, 0 if there is no fill. */
int64_t spryi_bsr_bytes_of_masks(const spryi_bsr_head *h)
{
    const int64_t values = spryi_bsr_value_count(h);
    return values >= 0 && h->nnz < values ? h->blocks * h->block * (int64_t)spryi_bsr_mask_bytes(h->block) : 0;
}

void spryi_bsr_cost(const spryi_bsr *s, spryi_cost *cost)
{
    const spryi_bsr_head *h = &s->head;
    cost->bytes = spryi_bsr_value_count(h) * (int64_t)spry_type_bytes((spry_type)h->value_type) +
                  h->blocks * (int64_t)spryi_index_type_bytes((spry_index_type)h->index_type) +
                  (h->block_rows + 1) * (int64_t)spryi_index_type_bytes((spry_index_type)h->offset_type) +
                  spryi_bsr_bytes_of_masks(h);
    cost->words = spryi_bsr_value_count(h) + h->blocks + h->block_rows + 1 + (spryi_bsr_bytes_of_masks(h) + 3) / 4;
    cost->padding = spryi_bsr_value_count(h) - h->nnz;
    snprintf(cost->parameters, sizeof cost->parameters, "block=%lld", (long long)h->block);
}

spry_status spryi_bsr_check_sums(const spryi_build_request *request, const spryi_bsr_head *h, const spry_arrays *A,
                                 spry_error *err)
{
    if (h->nnz == A->nnz || !spryi_is_mixed(A->value_type, request->options->vector_type)) return SPRY_OK;
    return spryi_fail_value(err, SPRY_UNSUPPORTED, "format", A->nnz - h->nnz, 0,
                            "bsr: %lld entries are duplicates, whose sums would be rounded to %s: sum duplicates "
                            "with spry_matrix_convert, or choose another format",
                            (long long)(A->nnz - h->nnz), spry_type_name(A->value_type));
}
