/* Copying between CSR and the chunks. */

/* Lane by lane: a row is read in order, and the slots of a chunk, though strided, lie in the cache. */
static void SPRY_FN(fill_chunk)(const spryi_sell *e, const spry_arrays *csr, int64_t chunk)
{
    const SPRY_P *Ap = csr->offsets;
    const int64_t c = e->c, slots = e->offsets[chunk + 1] - e->offsets[chunk];
    for (int64_t l = 0; l < c; l++) {
        const int64_t length = e->lengths[chunk * c + l], end = length * c;
        const int64_t first = length > 0 ? Ap[spryi_sell_row(e, chunk * c + l)] : 0;
        const SPRY_J *Aj = (const SPRY_J *)csr->indices + first;
        SPRY_J *columns = (SPRY_J *)e->columns + e->offsets[chunk] + l;
        for (int64_t s = 0, k = 0; s < end; s += c, k++) columns[s] = Aj[k];
        for (int64_t s = end; s < slots; s += c) columns[s] = Aj[length > 0 ? length - 1 : 0];
        if (!csr->values) continue;
        const SPRY_V *Ax = (const SPRY_V *)csr->values + first;
        SPRY_V *values = (SPRY_V *)e->values + e->offsets[chunk] + l;
        for (int64_t s = 0, k = 0; s < end; s += c, k++) values[s] = Ax[k];
        for (int64_t s = end; s < slots; s += c) values[s] = 0;
    }
}

/* 1 if the entries of lane l have the columns of those of the lane before plus one; both are of one length. */
static int SPRY_FN(steps)(const spry_arrays *csr, int64_t i, int64_t before)
{
    const SPRY_P *Ap = csr->offsets;
    const SPRY_J *c = (const SPRY_J *)csr->indices + Ap[i], *b = (const SPRY_J *)csr->indices + Ap[before];
    for (int64_t k = 0; k < Ap[i + 1] - Ap[i]; k++)
        if (c[k] - b[k] != 1) return 0;
    return 1;
}

/* What chunks begin .. end - 1, a block, are. */
static void SPRY_FN(find_kinds)(const spryi_sell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    uint8_t *run = NULL; /* that may go on */
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t first = chunk * e->c;
        int in_order = first + e->c <= e->a.rows, stepped = in_order && e->lengths[first] > 0;
        for (int64_t l = first + 1; in_order && l < first + e->c; l++) {
            int64_t i = spryi_sell_row(e, l), before = spryi_sell_row(e, l - 1);
            in_order = i == before + 1;
            stepped = stepped && in_order && e->lengths[l] == e->lengths[l - 1] && SPRY_FN(steps)(csr, i, before);
        }
        stepped = stepped && in_order;
        e->kinds[chunk] = in_order ? SPRYI_SELL_IN_ORDER : SPRYI_SELL_SCATTERED;
        if (!stepped) {
            run = NULL;
            continue;
        }
        int64_t i = spryi_sell_row(e, first), before = run ? spryi_sell_row(e, first - 1) : 0;
        if (run && *run < SPRYI_SELL_MOST_RUN && i == before + 1 && e->lengths[first] == e->lengths[first - 1] &&
            SPRY_FN(steps)(csr, i, before)) {
            ++*run;
        } else {
            run = e->kinds + chunk;
            *run = 1;
        }
    }
}

static void SPRY_FN(take_chunk)(const spryi_sell *e, const int64_t *offsets, void *columns, void *values, int64_t chunk)
{
    for (int64_t l = chunk * e->c; l < (chunk + 1) * e->c && l < e->a.rows; l++) {
        int64_t from = e->offsets[chunk] + l - chunk * e->c, to = offsets[spryi_sell_row(e, l)];
        for (int64_t s = 0; s < e->lengths[l]; s++) {
            ((SPRY_J *)columns)[to + s] = ((const SPRY_J *)e->columns)[from + s * e->c];
            if (values) ((SPRY_V *)values)[to + s] = ((const SPRY_V *)e->values)[from + s * e->c];
        }
    }
}
