/* relation[i - begin] of the rows begin .. end - 1; the first is never related: its block starts anew. */

/* 1 if c[j] - before[j] == by for each j; looked at in eights, since most rows fail at once. */
static inline int SPRY_FN(all_differ_by)(const SPRY_J *c, const SPRY_J *before, int64_t length, SPRY_J by)
{
    int64_t j = 0;
    for (; j + 8 <= length; j += 8) {
        SPRY_J differs = 0;
        for (int q = 0; q < 8; q++) differs |= (SPRY_J)((c[j + q] - before[j + q]) ^ by);
        if (differs != 0) return 0;
    }
    for (; j < length; j++)
        if (c[j] - before[j] != by) return 0;
    return 1;
}

static void SPRY_FN(relate_rows)(const SPRY_P *Ap, const SPRY_J *Aj, int64_t begin, int64_t end, uint8_t *relation)
{
    relation[0] = UNRELATED;
    for (int64_t i = begin + 1; i < end; i++) {
        int64_t length = Ap[i + 1] - Ap[i];
        /* most rows are looked at in their first column alone: jumps that the processor does not foresee */
        __builtin_prefetch((const void *)((uintptr_t)(Aj + Ap[i]) + AHEAD));
        relation[i - begin] = UNRELATED;
        if (length == 0 || Ap[i] - Ap[i - 1] != length) continue;
        const SPRY_J *c = Aj + Ap[i], *before = c - length;
        if ((c[0] == before[0] || c[0] == before[0] + 1) && SPRY_FN(all_differ_by)(c, before, length, c[0] - before[0]))
            relation[i - begin] = c[0] == before[0] ? SAME : STRIDE;
    }
}
