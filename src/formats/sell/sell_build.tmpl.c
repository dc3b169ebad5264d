/* Copying between CSR and the chunks. */

static void SPRY_FN(fill_chunk)(const spryi_sell *e, const spry_arrays *csr, int64_t chunk)
{
    const SPRY_P *Ap = csr->offsets;
    const SPRY_J *Aj = csr->indices;
    const SPRY_V *Ax = csr->values;
    const int32_t *lengths = e->lengths + chunk * e->c;
    const int64_t width = (e->offsets[chunk + 1] - e->offsets[chunk]) / e->c;
    int64_t first[SPRYI_SELL_MOST_CHUNK], last[SPRYI_SELL_MOST_CHUNK]; /* padding takes the last one's column */
    for (int64_t l = 0; l < e->c; l++) {
        int64_t lane = chunk * e->c + l;
        first[l] = lengths[l] > 0 ? Ap[spryi_sell_row(e, lane)] : 0;
        last[l] = lengths[l] > 0 ? first[l] + lengths[l] - 1 : 0;
    }
    SPRY_J *columns = (SPRY_J *)e->columns + e->offsets[chunk];
    SPRY_V *values = Ax ? (SPRY_V *)e->values + e->offsets[chunk] : NULL;
    for (int64_t s = 0; s < width; s++, columns += e->c) {
        for (int64_t l = 0; l < e->c; l++) columns[l] = Aj[s < lengths[l] ? first[l] + s : last[l]];
        if (!values) continue;
        for (int64_t l = 0; l < e->c; l++) values[l] = s < lengths[l] ? Ax[first[l] + s] : 0;
        values += e->c;
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
