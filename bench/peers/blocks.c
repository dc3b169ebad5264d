/* Counts the non-empty blocks for every size. Stops counting early for matrices without blocks. */
#include "bench/peers/blocks.h"

#include <stdio.h>
#include <stdlib.h>

static const double most_fill = 1.5;

/*
 * Returns the number of non-empty blocks of size * size, or any number above `most` if there are more. last: workspace
 * of cols / size elements.
 */
static int64_t count_blocks(const spry_peer_matrix *a, int size, int64_t most, int32_t *last)
{
    const int32_t *Ap = a->offsets, *Aj = a->columns;
    int64_t count = 0;
    for (int64_t j = 0; j < a->cols / size; j++) last[j] = -1;
    for (int64_t i = 0; i < a->rows && count <= most; i++) {
        int32_t block_row = (int32_t)(i / size);
        for (int32_t k = Ap[i]; k < Ap[i + 1]; k++) {
            int32_t block_column = Aj[k] / size;
            count += last[block_column] != block_row;
            last[block_column] = block_row;
        }
    }
    return count;
}

int peer_blocks_find(peer_blocks *blocks, const spry_peer_matrix *a, spry_peer_error *error)
{
    int64_t fewest = INT64_MAX;
    *blocks = (peer_blocks){0};
    int32_t *last = malloc((size_t)(a->cols / PEER_BLOCKS_SMALLEST + 1) * sizeof *last);
    if (!last) return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory");
    for (int size = PEER_BLOCKS_SMALLEST; size <= PEER_BLOCKS_LARGEST; size++) {
        if (a->nnz == 0 || a->rows % size != 0 || a->cols % size != 0) continue;
        int64_t most = (int64_t)(most_fill * (double)a->nnz / (size * size));
        int64_t count = count_blocks(a, size, most, last);
        int64_t bytes = count * (size * size * a->value_bytes + a->index_bytes) + a->rows / size * a->offset_bytes;
        if (count > most || bytes >= fewest) continue;
        fewest = bytes;
        *blocks = (peer_blocks){size, count};
    }
    free(last);
    if (blocks->size > 0) return SPRY_PEER_OK;
    return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                          "the matrix has no blocks: no size of %d to %d divides rows and columns and stores at most "
                          "%.1f values per entry",
                          PEER_BLOCKS_SMALLEST, PEER_BLOCKS_LARGEST, most_fill);
}
