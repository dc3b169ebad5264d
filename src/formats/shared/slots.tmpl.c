/*
 * Functions that sum rows, in plain C. Entry s of row r (its slot s) is Ax[s*stride + r], in column Aj[s*stride + r].
 * Loops over SPRYI_SLOT_LANES rows have constant length, so that the compiler vectorizes them. Templates of ELL and
 * SELL include this file; HYB instantiates it.
 */

/*
 * Multiplies SPRYI_SLOT_LANES rows of a strided run, in which each column is the previous row's plus one. Reads only
 * the columns of row 0, and consecutive elements of x. If Ax is NULL, all entries are 1.
 */
static inline void SPRY_FN(strided_sums)(const SPRY_S *Ax, const SPRY_J *Aj, int64_t stride, int64_t length,
                                         const SPRY_V *x, SPRY_V sum[SPRYI_SLOT_LANES])
{
    for (int r = 0; r < SPRYI_SLOT_LANES; r++) sum[r] = 0;
    for (int64_t s = 0; s < length; s++) {
        const SPRY_V *xs = x + Aj[s * stride];
        if (Ax)
            for (int r = 0; r < SPRYI_SLOT_LANES; r++) sum[r] += SPRY_VALUE(Ax[s * stride + r]) * xs[r];
        else
            for (int r = 0; r < SPRYI_SLOT_LANES; r++) sum[r] += xs[r];
    }
}

/* Multiplies up to SPRYI_SLOT_LANES rows with the given lengths. If Ax is NULL, all entries are 1. */
static inline void SPRY_FN(general_sums)(const SPRY_S *Ax, const SPRY_J *Aj, int64_t stride, const int32_t *lengths,
                                         int rows, const SPRY_V *x, SPRY_V sum[SPRYI_SLOT_LANES])
{
    int32_t least = rows == SPRYI_SLOT_LANES ? INT32_MAX : 0, most = 0;
    for (int r = 0; r < rows; r++) {
        least = lengths[r] < least ? lengths[r] : least;
        most = lengths[r] > most ? lengths[r] : most;
    }
    for (int r = 0; r < SPRYI_SLOT_LANES; r++) sum[r] = 0;
    int64_t s = 0;
    for (; s < least; s++)
        for (int r = 0; r < SPRYI_SLOT_LANES; r++) {
            SPRY_V xs = x[Aj[s * stride + r]];
            sum[r] += Ax ? SPRY_VALUE(Ax[s * stride + r]) * xs : xs;
        }
    for (; s < most; s++)
        for (int r = 0; r < rows; r++) {
            if (s >= lengths[r]) continue;
            SPRY_V xs = x[Aj[s * stride + r]];
            sum[r] += Ax ? SPRY_VALUE(Ax[s * stride + r]) * xs : xs;
        }
}

/* Transposed product of up to SPRYI_SLOT_LANES rows: adds each entry times x of its row to to[column - low]. */
static inline void SPRY_FN(scatter)(const SPRY_S *Ax, const SPRY_J *Aj, int64_t stride, const int32_t *lengths,
                                    int rows, const SPRY_V *x, SPRY_V *to, int64_t low)
{
    int32_t most = 0;
    for (int r = 0; r < rows; r++) most = lengths[r] > most ? lengths[r] : most;
    for (int64_t s = 0; s < most; s++)
        for (int r = 0; r < rows; r++) {
            if (s >= lengths[r]) continue;
            to[Aj[s * stride + r] - low] += Ax ? SPRY_VALUE(Ax[s * stride + r]) * x[r] : x[r];
        }
}
