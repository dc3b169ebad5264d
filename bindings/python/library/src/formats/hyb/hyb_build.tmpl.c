/* Rows begin .. end - 1: what is past the width goes to entries k, k + 1, ... of COO. */
static void SPRY_FN(fill_rest)(const spryi_hyb *h, const spry_arrays *csr, int64_t begin, int64_t end, int64_t k)
{
    const SPRY_P *Ap = csr->offsets;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = Ap[i] + h->ell.width, count = Ap[i + 1] - from;
        if (count <= 0) continue;
        memcpy((SPRY_J *)h->columns + k, (const SPRY_J *)csr->indices + from, (size_t)count * sizeof(SPRY_J));
        memcpy((SPRY_V *)h->values + k, (const SPRY_V *)csr->values + from, (size_t)count * sizeof(SPRY_V));
        for (int64_t e = k; e < k + count; e++) ((SPRY_J *)h->rows)[e] = (SPRY_J)i;
        k += count;
    }
}

/* Entries k .. end - 1 of COO, of whole rows, to behind their rows' first entries. */
static void SPRY_FN(take_rest)(const spryi_hyb *h, const int64_t *offsets, void *columns, void *values, int64_t k,
                               int64_t end)
{
    const SPRY_J *Ai = h->rows;
    while (k < end) {
        int64_t i = Ai[k], to = offsets[i] + h->ell.width;
        for (; k < end && Ai[k] == i; k++, to++) {
            ((SPRY_J *)columns)[to] = ((const SPRY_J *)h->columns)[k];
            ((SPRY_V *)values)[to] = ((const SPRY_V *)h->values)[k];
        }
    }
}
