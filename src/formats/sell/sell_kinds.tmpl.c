/* Lengths of rows and kinds of chunks, once for each pair of index types. */

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

/* Finds the kinds of chunks begin .. end - 1, a block. */
static void SPRY_FN(find_kinds)(const spryi_sell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    uint8_t *run = NULL; /* that may go on */
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t first = chunk * e->c;
        int one_length, in_order = is_in_order(e, first, &one_length);
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
