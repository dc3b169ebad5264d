/* Copies between CSR and the slots, by chunks of rows, which lie in the cache meanwhile. */

/* lengths[i] = entries of row i in the slots, and their sum; *least of them. */
static int64_t SPRY_FN(take_lengths)(const spryi_ell *e, const SPRY_P *Ap, int64_t begin, int64_t end, int32_t *least)
{
    const SPRY_P width = (SPRY_P)e->width;
    int32_t low = INT32_MAX;
    int64_t sum = 0;
    for (int64_t i = begin; i < end; i++) {
        SPRY_P length = Ap[i + 1] - Ap[i] < width ? Ap[i + 1] - Ap[i] : width;
        e->lengths[i] = (int32_t)length;
        low = (int32_t)length < low ? (int32_t)length : low;
        sum += length;
    }
    *least = low;
    return sum;
}

/* Fills a block; returns its entries. */
static int64_t SPRY_FN(fill_block)(const spryi_ell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    const int64_t chunk = e->width <= SPRYI_TILE_SLOTS ? FEW_ROWS : MANY_ROWS;
    int64_t entries = 0;
    for (int64_t i = begin; i < end; i += chunk) {
        const int64_t to = i + chunk < end ? i + chunk : end;
        int32_t least;
        entries += SPRY_FN(take_lengths)(e, csr->offsets, i, to, &least);
        const SPRY_FN(lanes) rows = {.Aj = csr->indices,
                                     .Ax = csr->values,
                                     .first = (const SPRY_P *)csr->offsets + i,
                                     .lengths = e->lengths + i,
                                     .count = to - i,
                                     .columns = (SPRY_J *)e->columns + i,
                                     .values = (SPRY_B *)e->values + i,
                                     .stride = e->a.rows};
        SPRY_FN(fill_lanes)(&rows, e->width, least, csr->nnz > 0 ? *(const SPRY_J *)csr->indices : 0);
    }
    return entries;
}

/* Entries of row i back to where CSR has them. */
static void SPRY_FN(take_rows)(const spryi_ell *e, const int64_t *offsets, void *to_columns, void *to_values,
                               int64_t begin, int64_t end)
{
    for (int64_t s = 0; s < e->width; s++) {
        const SPRY_B *values = (const SPRY_B *)e->values + s * e->a.rows;
        const SPRY_J *columns = (const SPRY_J *)e->columns + s * e->a.rows;
        for (int64_t i = begin; i < end; i++) {
            if (s >= e->lengths[i]) continue;
            ((SPRY_J *)to_columns)[offsets[i] + s] = columns[i];
            ((SPRY_B *)to_values)[offsets[i] + s] = values[i];
        }
    }
}
