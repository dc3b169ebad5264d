/* Sorts the columns of a row, for one integer type of columns. Most rows of C are short or nearly sorted. */
#if SPRY_FIRST_J
static void SPRY_FNJ(insert_columns)(SPRY_J *list, int64_t count, int64_t gap)
{
    for (int64_t k = gap; k < count; k++) {
        const SPRY_J column = list[k];
        int64_t at = k;
        for (; at >= gap && list[at - gap] > column; at -= gap) list[at] = list[at - gap];
        list[at] = column;
    }
}

/* Shell sort: at most about n^1.5 steps. */
static void SPRY_FNJ(sort_by_gaps)(SPRY_J *list, int64_t count)
{
    int64_t gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) SPRY_FNJ(insert_columns)(list, count, gap);
}

/* Quicksort. Parts that would need more than `levels` levels of recursion are sorted by Shell sort. */
static void SPRY_FNJ(sort_in_levels)(SPRY_J *list, int64_t count, int levels)
{
    enum { SHORT = 32 };
    while (count > SHORT) {
        if (levels-- == 0) {
            SPRY_FNJ(sort_by_gaps)(list, count);
            return;
        }
        const SPRY_J a = list[0], b = list[count / 2], c = list[count - 1];
        const SPRY_J low = a < b ? a : b, high = a < b ? b : a, pivot = c < low ? low : c > high ? high : c;
        int64_t left = 0, right = count - 1;
        while (left <= right) {
            while (list[left] < pivot) left++;
            while (list[right] > pivot) right--;
            if (left > right) break;
            const SPRY_J moved = list[left];
            list[left++] = list[right];
            list[right--] = moved;
        }
        SPRY_FNJ(sort_in_levels)(list, right + 1, levels);
        list += left;
        count -= left;
    }
    SPRY_FNJ(insert_columns)(list, count, 1);
}

static void SPRY_FNJ(sort_columns)(SPRY_J *list, int64_t count)
{
    enum { LEVELS = 40 };
    SPRY_FNJ(sort_in_levels)(list, count, LEVELS);
}
#endif
