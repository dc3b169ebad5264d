/*
 * The sums of a block row in plain C, for the kernels of all instruction sets. If these functions are inlined, the
 * block size r is a compile-time constant.
 */

/* Returns the r elements of x of block column J. If masked, returns a copy, since x may be strided. */
static inline const SPRY_V *SPRY_FN(x_of)(const spryi_bsr_job *job, int64_t J, int r, const bool masked, SPRY_V *copy)
{
    const spryi_bsr_head *h = &((const spryi_bsr *)job->args.storage)->head;
    for (int64_t j = 0; j < r && masked; j++)
        copy[j] = J * r + j < h->cols ? ((const SPRY_V *)job->args.x)[(J * r + j) * job->args.x_stride] : 0;
    if (masked) return copy;
    return J == job->tail_column ? (const SPRY_V *)job->tail : (const SPRY_V *)job->args.x + J * r;
}

/* Sets sum to block row I times x. masked: adds only entries, without fill. */
SPRYI_INLINE void SPRY_FN(sum_plain)(const spryi_bsr_job *job, spryi_bsr_columns columns, int64_t I, const int r,
                                     const bool masked, SPRY_V *sum)
{
    SPRY_V copy[SPRYI_BSR_MOST_BLOCK];
    for (int i = 0; i < r; i++) sum[i] = 0;
    for (int64_t b = spryi_bsr_offset(job, I), end = spryi_bsr_offset(job, I + 1); b < end; b++) {
        const SPRY_S *Ax = (const SPRY_S *)job->values + b * r * r;
        const SPRY_V *x = SPRY_FN(x_of)(job, spryi_bsr_column(columns, b), r, masked, copy);
        for (int j = 0; j < r; j++) {
            const unsigned mask = masked ? spryi_bsr_mask(job->masks, r, b * r + j) : 0;
            for (int i = 0; i < r; i++)
                if (!masked || mask >> i & 1) sum[i] += SPRY_VALUE(Ax[j * r + i]) * x[j];
        }
    }
}
