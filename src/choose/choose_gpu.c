/*
 * Whether a matrix is scattered, for GPUs: neighbouring entries gather x from all over, so that each takes a sector of
 * its own from the second-level cache, and kernels by rows are bound by that. Then row blocks that sweep x are faster,
 * whatever the lengths of the rows.
 *
 * Told by a sample: tiles of consecutive entries, as a block of threads takes them, and the share of distinct sectors
 * of x among their entries. On the lists of docs/performance.md it is 0.87 and more for R-MAT, random and shuffled
 * matrices, 0.35 and less for all others.
 */
#include "choose/choose_gpu.h"

#include <string.h>

static const double SCATTERED = 0.5;
enum {
    TILES = 64,
    TILE = 2048, /* entries */
    SLOTS_BITS = 13,
    SECTOR = 32,             /* bytes */
    LEAST_ENTRIES = 1 << 21, /* fewer leave multiprocessors without a batch or two */
    LEAST_X_BYTES = 1 << 20, /* what first-level caches hold for long is not scattered */
};

/* How many of the entries' columns lie in sectors of x that no entry before them had. */
static int64_t distinct_sectors(const spry_arrays *a, int64_t begin, int64_t end, int64_t per_sector)
{
    int64_t met[1 << SLOTS_BITS], distinct = 0;
    memset(met, -1, sizeof met);
    for (int64_t k = begin; k < end; k++) {
        const int64_t sector = spryi_index_at(a->indices, a->index_type, k) / per_sector;
        uint64_t at = (uint64_t)sector * 0x9E3779B97F4A7C15u >> (64 - SLOTS_BITS);
        while (met[at] >= 0 && met[at] != sector) at = (at + 1) % (1 << SLOTS_BITS);
        distinct += met[at] < 0;
        met[at] = sector;
    }
    return distinct;
}

double spryi_scattered_share(const spry_matrix *A, size_t size)
{
    const spry_arrays *a = &A->a;
    if (a->nnz < LEAST_ENTRIES || a->cols * (int64_t)size < LEAST_X_BYTES || a->layout == SPRY_CSC) return 0;
    int64_t distinct = 0;
    for (int64_t t = 0; t < TILES; t++) {
        const int64_t begin = (a->nnz - TILE) / (TILES - 1) * t;
        distinct += distinct_sectors(a, begin, begin + TILE, SECTOR / (int64_t)size);
    }
    return (double)distinct / ((double)TILES * TILE);
}

int spryi_is_scattered(double share)
{
    return share >= SCATTERED;
}
