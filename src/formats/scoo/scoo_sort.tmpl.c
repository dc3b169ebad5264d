/* From CSR to a slice and back; scoo_format.c instantiates it. */

/* One slice's entries in one order. */
typedef struct SPRY_FN(list) {
    SPRY_J *columns;
    SPRY_V *values;
    uint16_t *rows;
} SPRY_FN(list);

/* The first and the last column that `count` entries meet. */
static void SPRY_FN(span)(const SPRY_J *Aj, int64_t count, int64_t *low, int64_t *high)
{
    SPRY_J least = count > 0 ? Aj[0] : 0, most = least;
    for (int64_t k = 0; k < count; k++) {
        least = Aj[k] < least ? Aj[k] : least;
        most = Aj[k] > most ? Aj[k] : most;
    }
    *low = least;
    *high = most;
}

/* Turns counts into where the counted begin. */
static void SPRY_FN(begin_at)(int64_t *at, int64_t count)
{
    for (int64_t d = 0, sum = 0; d < count; d++) {
        int64_t entries = at[d];
        at[d] = sum;
        sum += entries;
    }
}

/* Sorts a bucket, in `from`, stably by the low digits of its columns, `low` taken off; the last pass ends in `to`. */
static void SPRY_FN(sort_bucket)(SPRY_FN(list) from, SPRY_FN(list) to, int64_t count, int64_t low, const digits *how,
                                 int64_t (*at)[DIGITS])
{
    const int64_t mask = ((int64_t)1 << how->bits) - 1;
    for (int p = 0; p < how->passes; p++) memset(at[p], 0, (size_t)(mask + 1) * sizeof **at);
    for (int64_t k = 0; k < count; k++)
        for (int p = 0; p < how->passes; p++) at[p][((int64_t)from.columns[k] - low) >> (p * how->bits) & mask]++;
    for (int p = 0; p < how->passes; p++) {
        SPRY_FN(begin_at)(at[p], mask + 1);
        for (int64_t k = 0; k < count; k++) {
            int64_t slot = at[p][((int64_t)from.columns[k] - low) >> (p * how->bits) & mask]++;
            to.columns[slot] = from.columns[k];
            to.values[slot] = from.values[k];
            to.rows[slot] = from.rows[k];
        }
        SPRY_FN(list) swap = to;
        to = from;
        from = swap;
    }
}

/* A slice: spread over buckets by the high digit of the column, then each bucket, which fits a cache, by the rest. */
static void SPRY_FN(sort)(const spryi_scoo *s, const spry_arrays *A, int64_t slice, const sorting *memory,
                          char *scratch)
{
    const SPRY_J *Aj = A->indices;
    const SPRY_V *Ax = A->values;
    const int64_t begin = slice * s->head.height, end = spryi_block_end(slice, s->head.height, s->head.rows);
    const int64_t first = spryi_offset_of(A, begin), count = spryi_offset_of(A, end) - first;
    int64_t(*at)[DIGITS] = (int64_t(*)[DIGITS])scratch, *bucket = at[MOST_PASSES], low, high;
    const SPRY_FN(list) made = {(SPRY_J *)s->columns + first, (SPRY_V *)s->values + first, (uint16_t *)s->rows + first},
                        beside = {(SPRY_J *)(scratch + memory->columns_at), (SPRY_V *)(scratch + memory->values_at),
                                  (uint16_t *)(scratch + memory->rows_at)};
    SPRY_FN(span)(Aj + first, count, &low, &high);
    const digits how = digits_of(count, high - low);
    const SPRY_FN(list) spread = how.passes % 2 == 0 ? made : beside; /* so that the last pass ends in the storage */

    memset(bucket, 0, (size_t)(how.buckets + 1) * sizeof *bucket);
    for (int64_t k = first; k < first + count; k++) bucket[((int64_t)Aj[k] - low) >> how.shift]++;
    SPRY_FN(begin_at)(bucket, how.buckets + 1);
    int64_t k = first;
    for (int64_t i = begin; i < end; i++)
        for (const int64_t stop = spryi_offset_of(A, i + 1); k < stop; k++) {
            int64_t slot = bucket[((int64_t)Aj[k] - low) >> how.shift]++;
            spread.columns[slot] = Aj[k];
            spread.values[slot] = Ax[k];
            spread.rows[slot] = (uint16_t)(i - begin);
        }
    for (int64_t b = 0; how.passes > 0 && b < how.buckets; b++) {
        const int64_t from = b > 0 ? bucket[b - 1] : 0;
        if (from == bucket[b]) continue;
        const SPRY_FN(list) of = {spread.columns + from, spread.values + from, spread.rows + from};
        const SPRY_FN(list) other = {(how.passes % 2 == 0 ? beside : made).columns + from,
                                     (how.passes % 2 == 0 ? beside : made).values + from,
                                     (how.passes % 2 == 0 ? beside : made).rows + from};
        SPRY_FN(sort_bucket)(of, other, bucket[b] - from, low, &how, at);
    }
}

/* The rows of one slice into CSR, sorted: entries of a row are met in the order of their columns. */
static void SPRY_FN(unsort)(const spryi_scoo *s, spryi_compressed *c, int64_t slice)
{
    const int64_t first = offset(s, slice), last = offset(s, slice + 1);
    const uint16_t *Ai = s->rows;
    const int64_t begin = slice * s->head.height, rows = spryi_block_end(slice, s->head.height, s->head.rows) - begin;
    int64_t *at = c->offsets + begin + 1; /* where a row begins, then where it ends */
    for (int64_t i = 0; i < rows; i++) at[i] = 0;
    for (int64_t k = first; k < last; k++) at[Ai[k]]++;
    SPRY_FN(begin_at)(at, rows);
    for (int64_t i = 0; i < rows; i++) at[i] += first;
    for (int64_t k = first; k < last; k++) {
        int64_t slot = at[Ai[k]]++;
        ((SPRY_J *)c->indices)[slot] = ((const SPRY_J *)s->columns)[k];
        ((SPRY_V *)c->values)[slot] = ((const SPRY_V *)s->values)[k];
    }
}

/* NULL, or what is wrong with a restored slice, whose offsets are known to rise. */
static const char *SPRY_FN(fault)(const spryi_scoo *s, int64_t slice)
{
    const int64_t first = offset(s, slice), last = offset(s, slice + 1);
    const SPRY_J *Aj = s->columns;
    const uint16_t *Ai = s->rows;
    const int64_t rows = spryi_block_end(slice, s->head.height, s->head.rows) - slice * s->head.height;
    for (int64_t k = first; k < last; k++) {
        if (Aj[k] < 0 || Aj[k] >= s->head.cols) return "a column is out of range";
        if (k > first && Aj[k] < Aj[k - 1]) return "the columns of a slice fall";
        if (Ai[k] >= rows) return "a local row is out of range";
    }
    return NULL;
}
