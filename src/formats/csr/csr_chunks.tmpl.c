/* touched[c >> shift] = 1 for the columns c of entries begin .. end - 1. */
static void SPRY_FN(mark_entries)(const SPRY_J *Aj, int64_t begin, int64_t end, int shift, uint8_t *touched)
{
    for (int64_t k = begin; k < end; k++) touched[Aj[k] >> shift] = 1;
}

/* Rows begin .. end - 1 that step: of the columns those of the first row tell all. */
static void SPRY_FN(mark_stepped)(const SPRY_P *Ap, const SPRY_J *Aj, int64_t begin, int64_t end, int shift,
                                  uint8_t *touched)
{
    for (int64_t k = Ap[begin]; k < Ap[begin + 1]; k++)
        for (int64_t page = Aj[k] >> shift; page <= (Aj[k] + (end - begin - 1)) >> shift; page++) touched[page] = 1;
}

static void SPRY_FN(mark_block)(const spryi_csr *s, const spryi_csr_block *block, int shift, uint8_t *touched)
{
    const SPRY_P *Ap = s->a.offsets;
    const SPRY_J *Aj = s->a.indices;
    if (block->piece >= 0) SPRY_FN(mark_entries)(Aj, block->begin, block->end, shift, touched);
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        int64_t begin = block->begin + s->runs[r].begin, end = block->begin + s->runs[r].end;
        if (s->runs[r].kind == SPRYI_RUN_STEPPED)
            SPRY_FN(mark_stepped)(Ap, Aj, begin, end, shift, touched);
        else if (s->runs[r].kind == SPRYI_RUN_SHARED)
            for (int64_t i = begin; i < end; i += s->runs[r].group)
                SPRY_FN(mark_entries)(Aj, Ap[i], Ap[i + 1], shift, touched);
        else
            SPRY_FN(mark_entries)(Aj, Ap[begin], Ap[end], shift, touched);
    }
}
