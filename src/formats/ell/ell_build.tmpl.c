/* Copying between CSR and the slots, by chunks of rows, which lie in the cache meanwhile. */

/* Rows i whose first l entries, l as of row i - 1, have the columns of row i - 1 plus one. */
static inline int SPRY_FN(steps)(const SPRY_J *c, const SPRY_J *before, int64_t length)
{
    for (int64_t s = 0; s < length; s++)
        if (c[s] - before[s] != 1) return 0;
    return 1;
}

static void SPRY_FN(fill_chunk)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = csr->offsets;
    const SPRY_J *Aj = csr->indices;
    const SPRY_V *Ax = csr->values;
    int64_t first[CHUNK_ROWS], last[CHUNK_ROWS]; /* padding takes the column of the last entry */
    int64_t least = INT64_MAX;
    for (int64_t i = begin; i < end; i++) {
        int64_t length = Ap[i + 1] - Ap[i];
        e->lengths[i] = (int32_t)(length < e->width ? length : e->width);
        first[i - begin] = Ap[i];
        last[i - begin] = length > 0 ? Ap[i] + e->lengths[i] - 1 : 0;
        least = e->lengths[i] < least ? e->lengths[i] : least;
    }
    for (int64_t s = 0; s < e->width; s++) {
        SPRY_V *values = (SPRY_V *)e->values + s * e->a.rows + begin;
        SPRY_J *columns = (SPRY_J *)e->columns + s * e->a.rows + begin;
        if (s < least) {
            for (int64_t r = 0; r < end - begin; r++) columns[r] = Aj[first[r] + s];
            for (int64_t r = 0; r < end - begin; r++) values[r] = Ax[first[r] + s];
            continue;
        }
        for (int64_t r = 0; r < end - begin; r++) {
            int is_entry = s < e->lengths[begin + r];
            int64_t k = is_entry ? first[r] + s : last[r];
            columns[r] = Aj[k];
            values[r] = is_entry ? Ax[k] : 0;
        }
    }
}

/* steps[i - begin], from the second row of a block on. */
static void SPRY_FN(find_steps)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end, int is_first,
                                uint8_t *steps)
{
    const SPRY_P *Ap = csr->offsets;
    const SPRY_J *Aj = csr->indices;
    for (int64_t i = begin; i < end; i++) {
        int64_t length = e->lengths[i];
        steps[i - begin] = (i > begin || !is_first) && length > 0 && e->lengths[i - 1] == length &&
                           SPRY_FN(steps)(Aj + Ap[i], Aj + Ap[i - 1], length);
    }
}

static void SPRY_FN(fill_block)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    uint8_t *run = NULL; /* that may go on */
    for (int64_t i = begin; i < end; i += CHUNK_ROWS) {
        int64_t to = i + CHUNK_ROWS < end ? i + CHUNK_ROWS : end;
        uint8_t steps[CHUNK_ROWS];
        SPRY_FN(fill_chunk)(e, csr, i, to);
        SPRY_FN(find_steps)(e, csr, i, to, i == begin, steps);
        for (int64_t q = i; q < to; q += SPRYI_ELL_SLICE) {
            uint8_t *slice = e->runs + q / SPRYI_ELL_SLICE;
            int stepped = q + SPRYI_ELL_SLICE <= to;
            for (int64_t r = q + 1; stepped && r < q + SPRYI_ELL_SLICE; r++) stepped = steps[r - i];
            *slice = 0;
            if (!stepped) {
                run = NULL;
            } else if (run && *run < SPRYI_ELL_MOST_RUN && steps[q - i]) {
                ++*run;
            } else {
                run = slice;
                *run = 1;
            }
        }
    }
}

/* Entries of row i back to where CSR has them. */
static void SPRY_FN(take_rows)(const spryi_ell *e, const int64_t *offsets, void *to_columns, void *to_values,
                               int64_t begin, int64_t end)
{
    for (int64_t s = 0; s < e->width; s++) {
        const SPRY_V *values = (const SPRY_V *)e->values + s * e->a.rows;
        const SPRY_J *columns = (const SPRY_J *)e->columns + s * e->a.rows;
        for (int64_t i = begin; i < end; i++) {
            if (s >= e->lengths[i]) continue;
            ((SPRY_J *)to_columns)[offsets[i] + s] = columns[i];
            ((SPRY_V *)to_values)[offsets[i] + s] = values[i];
        }
    }
}
