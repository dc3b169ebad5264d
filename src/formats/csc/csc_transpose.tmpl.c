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

static void NAME(move)(const transposition *t, int part)
{
    const OFFSET *Ap = t->a->offsets;
    const INDEX *Aj = t->a->indices;
    OFFSET *place = (OFFSET *)t->places + part * t->a->cols;
    INDEX *rows = t->rows;
#if HAS_VALUES
    const VALUE *Ax = t->a->values;
    VALUE *values = t->values;
#endif
    const int64_t end = part_begin(t, part + 1);
    for (int64_t i = part_begin(t, part); i < end; i++)
        for (OFFSET k = Ap[i]; k < Ap[i + 1]; k++) {
            const OFFSET at = place[Aj[k]]++;
            rows[at] = (INDEX)i;
#if HAS_VALUES
            values[at] = Ax[k];
#endif
        }
}
#undef NAME
