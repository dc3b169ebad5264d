/*
 * Defines the function IN_REGISTERS(job, columns, I, r, masked, sum) for bsr_avx512_cpu. It sums a block row in
 * registers of type REGISTER (FOUR or EIGHT). A column of a block has up to LANES rows.
 */

/*
 * Sets sum to block row I times x. Column j of a block is added to partial sum j modulo 4. masked: adds only entries,
 * in the same order.
 */
SPRYI_INLINE void SPRY_FN(IN_REGISTERS)(const spryi_bsr_job *job, spryi_bsr_columns columns, int64_t I, const int r,
                                        const bool masked, SPRY_V *sum)
{
    typedef SPRYI_TYPED(SPRYI_JOIN(REGISTER, type)) vector;
    const int64_t ahead = SPRY_FN(blocks_ahead)(job, spryi_bsr_offset(job, I + 1));
    SPRY_V copy[SPRYI_BSR_MOST_BLOCK];
    const __mmask8 lanes = (__mmask8)((1u << r) - 1);
    vector v[4] = {REGISTER(setzero)(), REGISTER(setzero)(), REGISTER(setzero)(), REGISTER(setzero)()};
    for (int64_t b = spryi_bsr_offset(job, I), end = spryi_bsr_offset(job, I + 1); b < end; b++) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + b * r * r;
        const SPRY_V *x = SPRY_FN(x_of)(job, spryi_bsr_column(columns, b), r, masked, copy);
        SPRY_FN(fetch_ahead)(job, Ax, spryi_bsr_column(columns, b + ahead), r);
        for (int j = 0; j < r; j++) {
            const SPRY_V *from = Ax + j * r;
            const vector column = r == LANES ? REGISTER(loadu)(from) : REGISTER(maskz_loadu)(lanes, from);
            const vector xj = REGISTER(set1)(x[j]);
            if (masked)
                v[j & 3] =
                    REGISTER(mask3_fmadd)(column, xj, v[j & 3], (__mmask8)spryi_bsr_mask(job->masks, r, b * r + j));
            else
                v[j & 3] = REGISTER(fmadd)(column, xj, v[j & 3]);
        }
    }
    REGISTER(storeu)(sum, REGISTER(add)(REGISTER(add)(v[0], v[1]), REGISTER(add)(v[2], v[3])));
}

#undef IN_REGISTERS
#undef REGISTER
#undef LANES
