/*
 * Stable insertion sort by key, for short lists. Included by files that have set INDEX, VALUE, HAS_VALUES and
 * NAME(x), as core/assemble.tmpl.c tells; value is not looked at where HAS_VALUES is 0.
 */
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
