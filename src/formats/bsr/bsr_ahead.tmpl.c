/*
 * What the vector kernels fetch ahead: blocks come in order, but x in the order of the mesh, which no prefetcher of the
 * processor foresees. bench/README.md has what it gained.
 */
#include "formats/bsr/bsr_plain.tmpl.c"

/* Returns the distance in blocks of the x to fetch, for a block row that ends before block `end`. */
static inline int64_t SPRY_FN(blocks_ahead)(const spryi_bsr_job *job, int64_t end)
{
    return end + SPRYI_BSR_AHEAD <= job->blocks ? SPRYI_BSR_AHEAD : 0;
}

/* With the block at Ax: blocks farther on, and the x of block column J. */
SPRYI_INLINE void SPRY_FN(fetch_ahead)(const spryi_bsr_job *job, const SPRY_S *Ax, int64_t J, const int r)
{
    for (int64_t line = 0; line < (int64_t)sizeof(SPRY_S) * r * r; line += 64)
        spryi_prefetch(Ax, line + SPRYI_AHEAD_STEPPED);
    spryi_prefetch_near((const SPRY_V *)job->args.x + J * r, 0);
}
