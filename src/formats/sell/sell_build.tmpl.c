/* Copies between CSR and the chunks. The functions of shared/slots_fill.tmpl.c are instantiated before. */

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
