/*
 * The part of assemble.c that depends on the width of an index and of a value. Included once for each pair:
 *   INDEX        int32_t or int64_t
 *   VALUE        uint32_t or uint64_t: values are moved here, never computed with
 *   HAS_VALUES   0: there are none
 *   NAME(x)      gives x its suffix
 */
/* Stable, for short lists. */
static void NAME(insertion_sort)(INDEX *key, VALUE *value, int64_t n)
{
    for (int64_t k = 1; k < n; k++) {
        INDEX moved = key[k];
        int64_t to = k;
#if HAS_VALUES
        VALUE moved_value = value[k];
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

static int NAME(is_sorted)(const INDEX *key, int64_t n)
{
    for (int64_t k = 1; k < n; k++)
        if (key[k] < key[k - 1]) return 0;
    return 1;
}

/* One pass of a radix sort by the digit at `shift`; 0 when all have the same digit and nothing was moved. */
static int NAME(radix_pass)(INDEX *to, VALUE *to_value, const INDEX *key, const VALUE *value, int64_t n, int shift)
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

/* Stable. key2 and value2 are workspace for n entries, needed from SHORT_ROW + 1 entries on. */
static void NAME(sort_entries)(INDEX *key, VALUE *value, int64_t n, INDEX *key2, VALUE *value2)
{
    if (NAME(is_sorted)(key, n)) return;
    if (n <= SHORT_ROW) {
        NAME(insertion_sort)(key, value, n);
        return;
    }
    uint64_t largest = 0;
    for (int64_t k = 0; k < n; k++) largest |= (uint64_t)key[k];
    INDEX *from = key, *to = key2;
    VALUE *from_value = value, *to_value = value2;
    for (int shift = 0; shift < 64 && largest >> shift; shift += RADIX_BITS) {
        if (!NAME(radix_pass)(to, to_value, from, from_value, n, shift)) continue;
        INDEX *swap = from;
        from = to;
        to = swap;
        VALUE *swap_value = from_value;
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
/* The bits of -value; NaN stays as it is. */
static VALUE NAME(negated)(VALUE value)
{
    const int bits = 8 * sizeof(VALUE), fraction_bits = sizeof(VALUE) == 8 ? 52 : 23;
    const VALUE twice_infinity = (VALUE) ~(VALUE)0 << (fraction_bits + 1), sign = (VALUE)1 << (bits - 1);
    return (VALUE)(value << 1) > twice_infinity ? value : value ^ sign;
}
#endif

/* First pass of grouping: a chunk's entries to their buckets, in stored order, each image behind its entry. */
static void NAME(spread)(const grouping *g, const spryi_entries *from, int chunk)
{
    INDEX *major = g->major, *minor = g->minor;
#if HAS_VALUES
    VALUE *values = g->values;
#endif
    int64_t *cursor = g->cursors + chunk * g->buckets;
    const spryi_entries e = *from; /* a copy that no store can change */
    const int mirror = e.symmetry != SPRY_GENERAL, shift = g->shift;
    const int64_t last = chunk_start(g, e.nnz, chunk + 1);
    for (int64_t k = chunk_start(g, e.nnz, chunk); k < last; k++) {
        int64_t i = spryi_index_at(e.major, e.index_type, k);
        int64_t j = spryi_index_at(e.minor, e.index_type, k), at = cursor[i >> shift]++;
        if (major) major[at] = (INDEX)i;
        minor[at] = (INDEX)j;
#if HAS_VALUES
        VALUE value = ((const VALUE *)e.values)[k];
        values[at] = value;
#endif
        if (!mirror || i == j) continue;
        at = cursor[j >> shift]++;
        if (major) major[at] = (INDEX)j;
        minor[at] = (INDEX)i;
#if HAS_VALUES
        values[at] = e.symmetry == SPRY_SKEW_SYMMETRIC ? NAME(negated)(value) : value;
#endif
    }
}

/* Second pass: a bucket's entries to their majors, then each major's sorted. A bucket fits a cache. */
static void NAME(order)(const grouping *g, const spryi_compressed *a, int64_t bucket)
{
    const INDEX *major = g->major;
    INDEX *minor = g->minor, *indices = a->indices;
    VALUE *moved = g->values, *values = a->values;
    int64_t first = g->starts[bucket], last = g->starts[bucket + 1];
    int64_t begin = bucket << g->shift, end = begin + ((int64_t)1 << g->shift);
    if (end > a->majors) end = a->majors;

    /* next[i] is where i's next entry goes; when all are placed, that is offsets[i + 1]. */
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
    for (int64_t i = begin, k = first; i < end; k = next[i++]) NAME(sort_entries)
    (indices + k, HAS_VALUES ? values + k : NULL, next[i] - k, minor + k, HAS_VALUES ? moved + k : NULL);
}

/* Sorts the entries of majors begin .. end - 1; scratch as long as a's arrays, or NULL where rows are short. */
static void NAME(sort_majors)(const spryi_compressed *a, int64_t begin, int64_t end, void *scratch,
                              void *scratch_values)
{
    INDEX *indices = a->indices, *indices2 = scratch;
    VALUE *values = a->values, *values2 = scratch_values;
    for (int64_t i = begin; i < end; i++) {
        int64_t k = a->offsets[i];
        NAME(sort_entries)
        (indices + k, HAS_VALUES ? values + k : NULL, a->offsets[i + 1] - k, scratch ? indices2 + k : NULL,
         HAS_VALUES && scratch ? values2 + k : NULL);
    }
}

/* Length of the longest unsorted list of entries, 0 if all are sorted; *repeats grows by neighbours that are equal. */
static int64_t NAME(longest_unsorted)(const spryi_compressed *a, int64_t begin, int64_t end, int64_t *repeats)
{
    const INDEX *key = a->indices;
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

#undef INDEX
#undef VALUE
#undef HAS_VALUES
#undef NAME
