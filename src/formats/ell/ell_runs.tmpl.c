/* Finds runs of slices, once for each pair of index types. */

/* 1 if rows i .. i + count - 1 are of one length, not 0, and each has the columns of the row before it plus one. */
static int SPRY_FN(step)(const spryi_ell *e, const spry_arrays *csr, int64_t i, int64_t count)
{
    const SPRY_P *Ap = csr->offsets;
    const int32_t length = e->lengths[i];
    int32_t differs = length == 0 || e->lengths[i - 1] != length;
    for (int64_t r = i + 1; r < i + count; r++) differs |= e->lengths[r] ^ length;
    if (differs) return 0;
    const int64_t entries = count * length;
    if (Ap[i + count - 1] - Ap[i - 1] == entries) { /* one after the other, as where no row is cut at the width */
        const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[i];
        SPRY_J other = 0;
        for (int64_t k = 0; k < entries; k++) other |= (Aj[k] - Aj[k - length]) ^ 1;
        return other == 0;
    }
    for (int64_t r = i; r < i + count; r++) {
        const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[r], *before = (const SPRY_J *)csr->indices + Ap[r - 1];
        for (int64_t k = 0; k < length; k++)
            if (Aj[k] - before[k] != 1) return 0;
    }
    return 1;
}

/* The runs of slices of rows begin .. end - 1, a block. */
static void SPRY_FN(find_runs)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    uint8_t *run = NULL; /* that may go on */
    for (int64_t i = begin; i < end; i += SPRYI_ELL_SLICE) {
        uint8_t *slice = e->runs + i / SPRYI_ELL_SLICE;
        *slice = 0;
        if (i + SPRYI_ELL_SLICE > end || !SPRY_FN(step)(e, csr, i + 1, SPRYI_ELL_SLICE - 1)) {
            run = NULL;
        } else if (run && *run < SPRYI_ELL_MOST_RUN && SPRY_FN(step)(e, csr, i, 1)) {
            ++*run;
        } else {
            run = slice;
            *run = 1;
        }
    }
}
