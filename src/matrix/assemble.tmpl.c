/*
 * The part of assemble.c for one index type SPRY_J and, if HAS_VALUES is 1, one value type. Values are moved as
 * integers SPRY_B.
 */

/* Sorts short lists stably. */
static void SPRY_FN(insertion_sort)(SPRY_J *key, SPRY_B *value, int64_t n)
{
    for (int64_t k = 1; k < n; k++) {
        SPRY_J moved = key[k];
        int64_t to = k;
#if HAS_VALUES
        SPRY_B moved_value = value[k];
#endif
        for (; to > 0 && key[to - 1] > moved; to--) {
            key[to] = key[to - 1];
#if HAS_VALUES
            value[to] = value[to - 1];
#endif
        }
        key[to] = moved;
#if HAS_VALUES
        value[to] = moved_value;
#endif
    }
    (void)value;
}

static int SPRY_FN(is_sorted)(const SPRY_J *key, int64_t n)
{
    for (int64_t k = 1; k < n; k++)
        if (key[k] < key[k - 1]) return 0;
    return 1;
}

/*
 * Runs one pass of a radix sort by the digit at `shift`. Returns 0 without moving entries if all have the same digit.
 */
static int SPRY_FN(radix_pass)(SPRY_J *to, SPRY_B *to_value, const SPRY_J *key, const SPRY_B *value, int64_t n,
                               int shift)
{
    int64_t start[RADIX] = {0};
    for (int64_t k = 0; k < n; k++) start[((uint64_t)key[k] >> shift) % RADIX]++;
    if (start[((uint64_t)key[0] >> shift) % RADIX] == n) return 0;
    int64_t sum = 0;
    for (int d = 0; d < RADIX; d++) {
        int64_t count = start[d];
        start[d] = sum;
        sum += count;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t at = start[((uint64_t)key[k] >> shift) % RADIX]++;
        to[at] = key[k];
#if HAS_VALUES
        to_value[at] = value[k];
#endif
    }
    (void)to_value;
    (void)value;
    return 1;
}

/* Sorts stably. key2 and value2 are workspace for n entries, which lists longer than SHORT_ROW need. */
static void SPRY_FN(sort_entries)(SPRY_J *key, SPRY_B *value, int64_t n, SPRY_J *key2, SPRY_B *value2)
{
    if (SPRY_FN(is_sorted)(key, n)) return;
    if (n <= SHORT_ROW) {
        SPRY_FN(insertion_sort)(key, value, n);
        return;
    }
    uint64_t largest = 0;
    for (int64_t k = 0; k < n; k++) largest |= (uint64_t)key[k];
    SPRY_J *from = key, *to = key2;
    SPRY_B *from_value = value, *to_value = value2;
    for (int shift = 0; shift < 64 && largest >> shift; shift += RADIX_BITS) {
        if (!SPRY_FN(radix_pass)(to, to_value, from, from_value, n, shift)) continue;
        SPRY_J *swap = from;
        from = to;
        to = swap;
        SPRY_B *swap_value = from_value;
        from_value = to_value;
        to_value = swap_value;
    }
    if (from == key) return;
    memcpy(key, from, (size_t)n * sizeof *key);
#if HAS_VALUES
    memcpy(value, from_value, (size_t)n * sizeof *value);
#endif
}

#if HAS_VALUES
/* Returns the bits of -value, or of NaN unchanged. */
static SPRY_B SPRY_FN(negated)(SPRY_B bits)
{
    SPRY_S stored;
    memcpy(&stored, &bits, sizeof stored);
    const SPRY_C value = SPRY_VALUE(stored);
    return value == value ? (SPRY_B)(bits ^ (SPRY_B)((SPRY_B)1 << (8 * sizeof bits - 1))) : bits;
}
#endif

/*
 * First pass of grouping: moves a chunk's entries to their buckets in stored order. In symmetric matrices, the mirror
 * image of an entry is moved directly after the entry.
 */
static void SPRY_FN(spread)(const grouping *g, const spryi_entries *from, int chunk)
{
    SPRY_J *major = g->major, *minor = g->minor;
#if HAS_VALUES
    SPRY_B *values = g->values;
#endif
    int64_t *cursor = g->cursors + chunk * g->buckets;
    const spryi_entries e = *from; /* a local copy, so that writes to arrays force no reload */
    const int mirror = e.symmetry != SPRY_GENERAL, shift = g->shift;
    const int64_t last = chunk_start(g, e.nnz, chunk + 1);
    for (int64_t k = chunk_start(g, e.nnz, chunk); k < last; k++) {
        int64_t i = spryi_index_at(e.major, e.index_type, k);
        int64_t j = spryi_index_at(e.minor, e.index_type, k), at = cursor[i >> shift]++;
        if (major) major[at] = (SPRY_J)i;
        minor[at] = (SPRY_J)j;
#if HAS_VALUES
        SPRY_B value = ((const SPRY_B *)e.values)[k];
        values[at] = value;
#endif
        if (!mirror || i == j) continue;
        at = cursor[j >> shift]++;
        if (major) major[at] = (SPRY_J)j;
        minor[at] = (SPRY_J)i;
#if HAS_VALUES
        values[at] = e.symmetry == SPRY_SKEW_SYMMETRIC ? SPRY_FN(negated)(value) : value;
#endif
    }
}

/* Second pass: moves a bucket's entries to their majors, then sorts each major's entries. A bucket fits in a cache. */
static void SPRY_FN(order)(const grouping *g, const spryi_compressed *a, int64_t bucket)
{
    const SPRY_J *major = g->major;
    SPRY_J *minor = g->minor, *indices = a->indices;
    SPRY_B *moved = g->values, *values = a->values;
    int64_t first = g->starts[bucket], last = g->starts[bucket + 1];
    int64_t begin = bucket << g->shift, end = begin + ((int64_t)1 << g->shift);
    if (end > a->majors) end = a->majors;

    /* next[i] is the position of the next entry of major i; after the last entry it is offsets[i + 1] */
    int64_t *next = a->offsets + 1, sum = first;
    for (int64_t i = begin; i < end; i++) next[i] = 0;
    for (int64_t k = first; k < last; k++) next[major[k]]++;
    for (int64_t i = begin; i < end; i++) {
        int64_t count = next[i];
        next[i] = sum;
        sum += count;
    }
    for (int64_t k = first; k < last; k++) {
        int64_t at = next[major[k]]++;
        indices[at] = minor[k];
#if HAS_VALUES
        values[at] = moved[k];
#endif
    }
    for (int64_t i = begin, k = first; i < end; k = next[i++]) SPRY_FN(sort_entries)
    (indices + k, HAS_VALUES ? values + k : NULL, next[i] - k, minor + k, HAS_VALUES ? moved + k : NULL);
}

/* Sorts the entries of majors begin .. end - 1. scratch: arrays as long as a's, or NULL if rows are short. */
static void SPRY_FN(sort_majors)(const spryi_compressed *a, int64_t begin, int64_t end, void *scratch,
                                 void *scratch_values)
{
    SPRY_J *indices = a->indices, *indices2 = scratch;
    SPRY_B *values = a->values, *values2 = scratch_values;
    for (int64_t i = begin; i < end; i++) {
        int64_t k = a->offsets[i];
        SPRY_FN(sort_entries)
        (indices + k, HAS_VALUES ? values + k : NULL, a->offsets[i + 1] - k, scratch ? indices2 + k : NULL,
         HAS_VALUES && scratch ? values2 + k : NULL);
    }
}

/*
 * Returns the length of the longest unsorted list of entries, 0 if all are sorted. Adds the number of equal neighbours
 * to *repeats.
 */
static int64_t SPRY_FN(longest_unsorted)(const spryi_compressed *a, int64_t begin, int64_t end, int64_t *repeats)
{
    const SPRY_J *key = a->indices;
    int64_t longest = 0, equal = 0;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = a->offsets[i], last = a->offsets[i + 1];
        int falls = 0;
        for (int64_t k = first + 1; k < last; k++) {
            falls |= key[k] < key[k - 1];
            equal += key[k] == key[k - 1];
        }
        if (falls && last - first > longest) longest = last - first;
    }
    *repeats += equal;
    return longest;
}
