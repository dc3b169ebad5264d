/* Structure of one chunk of a section: items first .. last - 1. Each returns 1 where all is well. */

/* Offsets that never fall; the first is 0 and the last nnz. */
static int SPRY_FN(offsets_rise)(const spry_arrays *a, int64_t first, int64_t last)
{
    const SPRY_P *p = a->offsets;
    int64_t falls = 0;
    if (first == 0 && p[0] != 0) return 0;
    for (int64_t i = first > 0 ? first : 1; i < last; i++) falls += p[i] < p[i - 1];
    return falls == 0;
}

static int SPRY_FN(in_range)(const void *indices, int64_t bound, int64_t first, int64_t last)
{
    const SPRY_J *index = indices;
    SPRY_J bad = 0;
    for (int64_t k = first; k < last; k++) bad |= (SPRY_J)(index[k] < 0) | (SPRY_J)(index[k] >= (SPRY_J)bound);
    return bad == 0;
}

static inline int SPRY_FN(falls_at)(const SPRY_J *index, int64_t k, int strict)
{
    return (index[k] < index[k - 1]) | (strict & (index[k] == index[k - 1]));
}

/* Descents of the whole chunk, which a vector loop counts, against those where a row begins, which are legal. */
static int SPRY_FN(rows_rise)(const spry_arrays *a, int64_t first, int64_t last)
{
    const SPRY_P *p = a->offsets;
    const SPRY_J *index = a->indices;
    int strict = a->unique == SPRY_KNOWN_YES; /* 0: equal ones may follow */
    int64_t majors = a->layout == SPRY_CSC ? a->cols : a->rows, falls = 0;
    for (int64_t k = first > 0 ? first : 1; k < last; k++) falls += SPRY_FN(falls_at)(index, k, strict);
    if (falls == 0) return 1;
    int64_t low = 0, high = majors;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (p[middle] < first)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t i = low; i < majors && p[i] < last; i++) {
        int64_t k = p[i];
        if (k > 0 && k < p[i + 1]) falls -= SPRY_FN(falls_at)(index, k, strict);
    }
    return falls == 0;
}

static int SPRY_FN(entries_rise)(const spry_arrays *a, int64_t first, int64_t last)
{
    const SPRY_J *row = a->row_indices, *index = a->indices;
    int strict = a->unique == SPRY_KNOWN_YES;
    int64_t falls = 0;
    for (int64_t k = first > 0 ? first : 1; k < last; k++)
        falls += (row[k] < row[k - 1]) | ((row[k] == row[k - 1]) & SPRY_FN(falls_at)(index, k, strict));
    return falls == 0;
}
