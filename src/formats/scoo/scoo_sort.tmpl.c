/* Between CSR and slices, for one slice at a time; included by scoo_format.c. */

/* One slice's entries in one order. */
typedef struct SPRY_FN(list) {
    SPRY_J *columns;
    SPRY_V *values;
    uint16_t *rows;
} SPRY_FN(list);

/* Stable counting sort by one digit of the column, the lowest first: radix sort. */
static void SPRY_FN(sort)(const spryi_scoo *s, const spry_arrays *A, int64_t slice, const sorting *how, char *scratch)
{
    const SPRY_P *Ap = A->offsets;
    const SPRY_J *Aj = A->indices;
    const SPRY_V *Ax = A->values;
    const int64_t begin = slice * s->head.height, last = begin + s->head.height;
    const int64_t end = last < s->head.rows ? last : s->head.rows, first = Ap[begin], count = Ap[end] - first;
    int64_t(*at)[DIGITS] = (int64_t(*)[DIGITS])scratch;
    SPRY_J *columns = (SPRY_J *)(scratch + how->columns_at);
    SPRY_FN(list)
    to = {(SPRY_J *)s->columns + first, (SPRY_V *)s->values + first, (uint16_t *)s->rows + first},
    from = {columns, (SPRY_V *)(scratch + how->values_at), (uint16_t *)(scratch + how->rows_at)};
    const int64_t mask = ((int64_t)1 << how->bits) - 1;

    memset(at, 0, (size_t)how->passes * sizeof *at);
    for (int64_t k = first; k < first + count; k++)
        for (int p = 0; p < how->passes; p++) at[p][(int64_t)Aj[k] >> (p * how->bits) & mask]++;
    for (int p = 0; p < how->passes; p++)
        for (int64_t d = 0, sum = 0; d <= mask; d++) {
            int64_t entries = at[p][d];
            at[p][d] = sum;
            sum += entries;
        }
    if (how->passes % 2 == 0) { /* so that the last pass ends in the storage */
        SPRY_FN(list) swap = to;
        to = from;
        from = swap;
    }
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = Ap[i]; k < Ap[i + 1]; k++) {
            int64_t slot = at[0][(int64_t)Aj[k] & mask]++;
            to.columns[slot] = Aj[k];
            to.values[slot] = Ax[k];
            to.rows[slot] = (uint16_t)(i - begin);
        }
    for (int p = 1; p < how->passes; p++) {
        SPRY_FN(list) swap = to;
        to = from;
        from = swap;
        for (int64_t k = 0; k < count; k++) {
            int64_t slot = at[p][(int64_t)from.columns[k] >> (p * how->bits) & mask]++;
            to.columns[slot] = from.columns[k];
            to.values[slot] = from.values[k];
            to.rows[slot] = from.rows[k];
        }
    }
}

/* The rows of one slice again, sorted: entries of a row are met in the order of their columns. */
static void SPRY_FN(unsort)(const spryi_scoo *s, const spry_arrays *A, int64_t slice)
{
    const SPRY_P *Ap = s->offsets;
    const int64_t begin = slice * s->head.height, last = begin + s->head.height;
    const int64_t end = last < s->head.rows ? last : s->head.rows;
    const uint16_t *Ai = s->rows;
    SPRY_P *at = (SPRY_P *)(uintptr_t)A->offsets + begin + 1; /* of a row: where it begins, then where it ends */
    SPRY_J *columns = (SPRY_J *)(uintptr_t)A->indices;
    SPRY_V *values = (SPRY_V *)(uintptr_t)A->values;
    SPRY_P sum = Ap[slice];
    for (int64_t i = begin; i < end; i++) at[i - begin] = 0;
    for (int64_t k = Ap[slice]; k < Ap[slice + 1]; k++) at[Ai[k]]++;
    for (int64_t i = begin; i < end; i++) {
        SPRY_P entries = at[i - begin];
        at[i - begin] = sum;
        sum += entries;
    }
    for (int64_t k = Ap[slice]; k < Ap[slice + 1]; k++) {
        int64_t slot = at[Ai[k]]++;
        columns[slot] = ((const SPRY_J *)s->columns)[k];
        values[slot] = ((const SPRY_V *)s->values)[k];
    }
}

/* NULL, or what is wrong with a restored slice, whose offsets are known to rise. */
static const char *SPRY_FN(fault)(const spryi_scoo *s, int64_t slice)
{
    const SPRY_P *Ap = s->offsets;
    const SPRY_J *Aj = s->columns;
    const uint16_t *Ai = s->rows;
    const int64_t begin = slice * s->head.height, left = s->head.rows - begin;
    const int64_t rows = left < s->head.height ? left : s->head.height;
    for (int64_t k = Ap[slice]; k < Ap[slice + 1]; k++) {
        if (Aj[k] < 0 || Aj[k] >= s->head.cols) return "a column is out of range";
        if (k > Ap[slice] && Aj[k] < Aj[k - 1]) return "the columns of a slice fall";
        if (Ai[k] >= rows) return "a local row is out of range";
    }
    return NULL;
}
