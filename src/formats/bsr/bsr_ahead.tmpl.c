/*
 * Software prefetch of the vector kernels. Blocks are read in order, but elements of x are read in an order that
 * depends on the matrix, which hardware prefetchers do not predict. bench/README.md has the measured gain.
 */
#include "formats/bsr/bsr_plain.tmpl.c"

/*
 * Returns the prefetch distance in blocks for a block row that ends before block `end`. Returns 0 near the last block.
 */
static inline int64_t SPRY_FN(blocks_ahead)(const spryi_bsr_job *job, int64_t end)
{
    return end + SPRYI_BSR_AHEAD <= job->blocks ? SPRYI_BSR_AHEAD : 0;
}

/* Prefetches values that follow the block at Ax at a distance, and the elements of x of block column J. */
SPRYI_INLINE void SPRY_FN(fetch_ahead)(const spryi_bsr_job *job, const SPRY_S *Ax, int64_t J, const int r)
{
    for (int64_t line = 0; line < (int64_t)sizeof(SPRY_S) * r * r; line += 64)
        spryi_prefetch(Ax, line + SPRYI_AHEAD_STEPPED);
    spryi_prefetch_near((const SPRY_V *)job->args.x + J * r, 0);
}
