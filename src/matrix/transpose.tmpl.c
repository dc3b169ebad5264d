/*
 * The steps of transpose.c for one pair of offset and index types. Values are moved by their width, without arithmetic.
 */

static void SPRY_FN(count)(const transposition *t, int part)
{
    const SPRY_P *Ap = t->a->offsets;
    const SPRY_J *Aj = t->a->indices;
    SPRY_P *count = (SPRY_P *)t->places + part * t->a->columns;
    const int64_t end = Ap[part_begin(t, part + 1)];
    memset(count, 0, (size_t)t->a->columns * sizeof *count);
    for (int64_t k = Ap[part_begin(t, part)]; k < end; k++) count[Aj[k]]++;
}

/* Returns the number of entries in columns begin .. end - 1. */
static int64_t SPRY_FN(sum)(const transposition *t, int64_t begin, int64_t end)
{
    int64_t sum = 0;
    for (int part = 0; part < t->parts; part++) {
        const SPRY_P *count = (const SPRY_P *)t->places + part * t->a->columns;
        for (int64_t j = begin; j < end; j++) sum += count[j];
    }
    return sum;
}

static void SPRY_FN(place)(const transposition *t, int64_t begin, int64_t end, int64_t at)
{
    SPRY_P *offsets = t->offsets;
    for (int64_t j = begin; j < end; j++) {
        offsets[j] = (SPRY_P)at;
        for (int part = 0; part < t->parts; part++) {
            SPRY_P *place = (SPRY_P *)t->places + part * t->a->columns + j;
            SPRY_P count = *place;
            *place = (SPRY_P)at;
            at += count;
        }
    }
}

/*
 * Moves TOGETHER entries at a time: computes and prefetches all positions, then writes all entries. If entries were
 * moved one by one, each would wait for the cache line of its position.
 */
SPRYI_INLINE void SPRY_FN(move_of)(const transposition *t, int part, const int width)
{
    enum { TOGETHER = 64 };
    const SPRY_P *Ap = t->a->offsets;
    const SPRY_J *Aj = t->a->indices;
    SPRY_P *place = (SPRY_P *)t->places + part * t->a->columns, at[TOGETHER];
    SPRY_J *rows = t->rows;
    const char *from = t->a->values;
    char *to = t->values;
    int64_t i = part_begin(t, part);
    const int64_t last = Ap[part_begin(t, part + 1)];
    for (int64_t k = Ap[i], n; k < last; k += n) {
        n = last - k < TOGETHER ? last - k : TOGETHER;
        for (int64_t q = 0; q < n; q++) {
            at[q] = place[Aj[k + q]]++;
            __builtin_prefetch(rows + at[q], 1);
            if (width > 0) __builtin_prefetch(to + (int64_t)at[q] * width, 1);
        }
        for (int64_t q = 0; width > 0 && q < n; q++)
            memcpy(to + (int64_t)at[q] * width, from + (k + q) * width, (size_t)width);
        for (int64_t q = 0; q < n; i += q < n) { /* row i may continue in the next group */
            const int64_t end = Ap[i + 1] - k < n ? Ap[i + 1] - k : n;
            for (; q < end; q++) rows[at[q]] = (SPRY_J)i;
        }
    }
}

static void SPRY_FN(move)(const transposition *t, int part)
{
    const int width = (int)spry_type_bytes(t->a->value_type);
    switch (width) {
    case 0: SPRY_FN(move_of)(t, part, 0); break;
    case 4: SPRY_FN(move_of)(t, part, 4); break;
    case 8: SPRY_FN(move_of)(t, part, 8); break;
    default: SPRY_FN(move_of)(t, part, width); break;
    }
}
