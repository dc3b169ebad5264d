/* The steps of csc_transpose.c for OFFSET, INDEX and VALUE; values are moved, never computed with. */
#define NAME(x) JOIN(x, PAIR, WIDTH)

#if !HAS_VALUES /* the steps that see no value, once */
static void NAME(count)(const transposition *t, int part)
{
    const OFFSET *Ap = t->a->offsets;
    const INDEX *Aj = t->a->indices;
    OFFSET *count = (OFFSET *)t->places + part * t->a->cols;
    const int64_t end = Ap[part_begin(t, part + 1)];
    memset(count, 0, (size_t)t->a->cols * sizeof *count);
    for (int64_t k = Ap[part_begin(t, part)]; k < end; k++) count[Aj[k]]++;
}

/* Entries in columns begin .. end - 1. */
static int64_t NAME(sum)(const transposition *t, int64_t begin, int64_t end)
{
    int64_t sum = 0;
    for (int part = 0; part < t->parts; part++) {
        const OFFSET *count = (const OFFSET *)t->places + part * t->a->cols;
        for (int64_t j = begin; j < end; j++) sum += count[j];
    }
    return sum;
}

static void NAME(place)(const transposition *t, int64_t begin, int64_t end, int64_t at)
{
    OFFSET *offsets = t->offsets;
    for (int64_t j = begin; j < end; j++) {
        offsets[j] = (OFFSET)at;
        for (int part = 0; part < t->parts; part++) {
            OFFSET *place = (OFFSET *)t->places + part * t->a->cols + j;
            OFFSET count = *place;
            *place = (OFFSET)at;
            at += count;
        }
    }
}
#endif

/*
 * Some entries at a time: first the places of all, whose lines are asked for, then all are written there. One by one,
 * an entry would wait for the line of the one before it.
 */
static void NAME(move)(const transposition *t, int part)
{
    enum { TOGETHER = 64 };
    const OFFSET *Ap = t->a->offsets;
    const INDEX *Aj = t->a->indices;
    OFFSET *place = (OFFSET *)t->places + part * t->a->cols, at[TOGETHER];
    INDEX *rows = t->rows;
#if HAS_VALUES
    const VALUE *Ax = t->a->values;
    VALUE *values = t->values;
#endif
    int64_t i = part_begin(t, part);
    const int64_t last = Ap[part_begin(t, part + 1)];
    for (int64_t k = Ap[i], n; k < last; k += n) {
        n = last - k < TOGETHER ? last - k : TOGETHER;
        for (int64_t q = 0; q < n; q++) {
            at[q] = place[Aj[k + q]]++;
            __builtin_prefetch(rows + at[q], 1);
#if HAS_VALUES
            __builtin_prefetch(values + at[q], 1);
#endif
        }
#if HAS_VALUES
        for (int64_t q = 0; q < n; q++) values[at[q]] = Ax[k + q];
#endif
        for (int64_t q = 0; q < n; i += q < n) { /* row i may go on in the next ones */
            const int64_t end = Ap[i + 1] - k < n ? Ap[i + 1] - k : n;
            for (; q < end; q++) rows[at[q]] = (INDEX)i;
        }
    }
}
#undef NAME
