/* Finding a range of columns in a slice; shared by the kernels. */

/* First entry of begin .. end - 1 whose column is at least j. */
static inline int64_t SPRY_FN(first_at)(const SPRY_J *Aj, int64_t begin, int64_t end, int64_t j)
{
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (Aj[middle] < j)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}
