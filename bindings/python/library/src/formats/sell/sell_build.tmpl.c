/* Copies between CSR and the chunks. The functions of shared/slots_fill.tmpl.c are instantiated before. */

/* lengths[r] of rows begin .. begin + count - 1; *least and *most of them. */
static void SPRY_FN(row_lengths)(const spry_arrays *csr, int64_t begin, int64_t count, int32_t *lengths, int32_t *least,
                                 int32_t *most)
{
    const SPRY_P *Ap = (const SPRY_P *)csr->offsets + begin;
    int32_t low = INT32_MAX, high = 0;
    for (int64_t r = 0; r < count; r++) {
        const int32_t length = (int32_t)(Ap[r + 1] - Ap[r]);
        lengths[r] = length;
        low = length < low ? length : low;
        high = length > high ? length : high;
    }
    *least = low;
    *most = high;
}

static void SPRY_FN(fill_chunk)(const spryi_sell *e, const spry_arrays *csr, int64_t chunk)
{
    const SPRY_P *Ap = csr->offsets;
    const int64_t c = e->c, lane = chunk * c;
    SPRY_P first[SPRYI_SELL_MOST_CHUNK];
    int32_t least = INT32_MAX;
    for (int64_t l = 0; l < c; l++) {
        const int32_t length = e->lengths[lane + l];
        first[l] = length > 0 ? Ap[spryi_sell_row(e, lane + l)] : 0;
        least = length < least ? length : least;
    }
    const SPRY_FN(lanes) lanes = {.Aj = csr->indices,
                                  .Ax = csr->values,
                                  .first = first,
                                  .lengths = e->lengths + lane,
                                  .count = c,
                                  .columns = (SPRY_J *)e->columns + e->offsets[chunk],
                                  .values = csr->values ? (SPRY_B *)e->values + e->offsets[chunk] : NULL,
                                  .stride = c};
    SPRY_FN(fill_lanes)
    (&lanes, (e->offsets[chunk + 1] - e->offsets[chunk]) / c, least, csr->nnz > 0 ? *(const SPRY_J *)csr->indices : 0);
}

/* 1 if the `count` rows from i on, i > 0, have the columns of the row before them plus one; all are of one length. */
static int SPRY_FN(steps)(const spry_arrays *csr, int64_t i, int64_t count)
{
    const SPRY_P *Ap = csr->offsets;
    const int64_t length = Ap[i] - Ap[i - 1];
    const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[i];
    SPRY_J other = 0;
    for (int64_t k = 0; k < count * length; k++) other |= (Aj[k] - Aj[k - length]) ^ 1;
    return other == 0;
}

/* 1 if the lanes of a chunk are rows that follow each other; *one_length: of one length, not 0. */
static int SPRY_FN(is_in_order)(const spryi_sell *e, int64_t first, int *one_length)
{
    const int32_t *lengths = e->lengths + first;
    int32_t differs = 0;
    *one_length = 0;
    if (first + e->c > e->a.rows) return 0;
    for (int64_t l = 1; e->permutation && l < e->c; l++)
        differs |= e->permutation[first + l] - e->permutation[first + l - 1] - 1;
    if (differs) return 0;
    for (int64_t l = 1; l < e->c; l++) differs |= lengths[l] ^ lengths[0];
    *one_length = !differs && lengths[0] > 0;
    return 1;
}

/* Finds the kinds of chunks begin .. end - 1, a block. */
static void SPRY_FN(find_kinds)(const spryi_sell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    uint8_t *run = NULL; /* that may go on */
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t first = chunk * e->c;
        int one_length, in_order = SPRY_FN(is_in_order)(e, first, &one_length);
        e->kinds[chunk] = in_order ? SPRYI_SELL_IN_ORDER : SPRYI_SELL_SCATTERED;
        const int64_t i = in_order ? spryi_sell_row(e, first) : 0;
        if (!one_length || (e->c > 1 && !SPRY_FN(steps)(csr, i + 1, e->c - 1))) {
            run = NULL;
            continue;
        }
        if (run && *run < SPRYI_SELL_MOST_RUN && i == spryi_sell_row(e, first - 1) + 1 &&
            e->lengths[first] == e->lengths[first - 1] && SPRY_FN(steps)(csr, i, 1)) {
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
            if (values) ((SPRY_B *)values)[to + s] = ((const SPRY_B *)e->values)[from + s * e->c];
        }
    }
}
