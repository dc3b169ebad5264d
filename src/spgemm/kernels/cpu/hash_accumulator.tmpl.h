/* A hash table for each value type and index pair. It is the accumulator of rows that are too wide for a window. */

/* Returns the slot of a column, or the empty slot for it. */
static inline int64_t SPRY_FN(slot_of)(const SPRY_J *restrict keys, int shift, int64_t mask, SPRY_J column)
{
    int64_t slot = (int64_t)((uint64_t)column * 0x9e3779b97f4a7c15u >> shift);
    while (keys[slot] != 0 && keys[slot] != column + 1) slot = (slot + 1) & mask;
    return slot;
}

/*
 * Sorts at most SPRYI_SHORT columns, all different. The position of a column is the number of smaller columns. No
 * branch depends on the columns.
 */
static inline void SPRY_FN(sort_short)(SPRY_J *list, int64_t n)
{
    enum { STRIDE = 8 };
    SPRY_J all[SPRYI_SHORT];
    const int64_t padded = (n + STRIDE - 1) / STRIDE * STRIDE;
    for (int64_t k = 0; k < n; k++) all[k] = list[k];
    for (int64_t k = n; k < padded; k++) all[k] = (SPRY_J)(SPRY_J_IS_64 ? INT64_MAX : INT32_MAX);
    for (int64_t k = 0; k < n; k++) {
        const SPRY_J x = all[k];
        SPRY_J smaller = 0;
        for (int64_t t = 0; t < padded; t += STRIDE)
            for (int u = 0; u < STRIDE; u++) smaller += all[t + u] < x;
        list[smaller] = x;
    }
}

/* Sorts different columns in increasing order, in place: by counting if the list is short, else by a heap. */
static void SPRY_FN(sort)(SPRY_J *list, int64_t n)
{
    if (n <= SPRYI_SHORT) {
        SPRY_FN(sort_short)(list, n);
        return;
    }
    for (int64_t start = n / 2 - 1, end = n; end > 1;) {
        SPRY_J x;
        int64_t hole = start;
        if (start >= 0) {
            x = list[start--];
        } else {
            x = list[--end];
            list[end] = list[0];
            hole = 0;
        }
        for (int64_t child; (child = 2 * hole + 1) < end; hole = child) {
            child += child + 1 < end && list[child + 1] > list[child];
            if (list[child] <= x) break;
            list[hole] = list[child];
        }
        list[hole] = x;
    }
}

/*
 * Fills row i with the hash table. known: the n columns in Cj are given, only values are computed. Leaves the table
 * zero.
 */
static void SPRY_FN(hash_row)(const spryi_spgemm_job *job, const spryi_hash_table *table, int64_t i,
                              SPRY_J *restrict Cj, SPRY_V *restrict Cx, int64_t n, bool known)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values, alpha = *(const SPRY_V *)job->alpha;
    const int64_t slots = spryi_rows_slots(SPRY_FN(row_products)(job, i), job->b.columns), mask = slots - 1;
    const int shift = __builtin_clzll((unsigned long long)slots) + 1;
    SPRY_J *restrict keys = table->keys;
    SPRY_V *restrict sums = table->sums;
    int64_t met = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        for (SPRY_P t = Bp[Aj[k]]; t < Bp[Aj[k] + 1]; t++) {
            const int64_t slot = SPRY_FN(slot_of)(keys, shift, mask, Bj[t]);
            if (keys[slot] == 0) {
                keys[slot] = Bj[t] + 1;
                if (!known) Cj[met++] = Bj[t];
            }
            sums[slot] += a * Bx[t];
        }
    }
    if (!known) SPRY_FN(sort)(Cj, n);
    for (int64_t k = 0; k < n; k++) Cx[k] = alpha * sums[SPRY_FN(slot_of)(keys, shift, mask, Cj[k])];
    memset(keys, 0, (size_t)slots * sizeof *keys);
    memset(sums, 0, (size_t)slots * sizeof *sums);
}

/* Returns true if row i, with columns `first` to `last`, uses the hash table. */
static inline bool SPRY_FN(is_hashed)(const spryi_spgemm_job *job, int64_t i, int64_t first, int64_t last)
{
    const int64_t words = spryi_rows_words(first, last);
    return words > job->sizes.windows ||
           (words > SPRYI_FEW_WORDS && spryi_rows_scattered(words, SPRY_FN(row_products)(job, i)));
}
