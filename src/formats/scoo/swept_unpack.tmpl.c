/* Entries of a block's slots to their rows again, in the order of groups; included by swept_format.c. */

/* at[row + 1] += its entries in the block. */
static void SPRY_FN(count)(const spryi_swept *s, int64_t b, int32_t *row_of, int64_t *at, const spry_arrays *A)
{
    const spryi_swept_head *h = &s->head;
    const int64_t batch = SPRYI_SWEPT_THREADS * spryi_swept_unroll(h->value_type);
    const uint32_t padding = (uint32_t)(((uint64_t)1 << h->row_bits) - 1);
    (void)A;
    for (int64_t part = 0; part < h->parts; part++) {
        const spryi_swept_task *t = &s->tasks[b * h->parts + part];
        spryi_swept_rows_of_sums(s, b, part, row_of);
        for (int64_t n = t->first_batch * batch; n < (t->first_batch + t->batches) * batch; n++)
            if ((s->indices[n] & padding) != padding)
                at[row_of[s->indices[n] & padding] + s->blocks[b].first_row + 1]++;
    }
}

/* at[row]: where the row's next entry goes. */
static void SPRY_FN(unpack)(const spryi_swept *s, int64_t b, int32_t *row_of, int64_t *at, const spry_arrays *A)
{
    const spryi_swept_head *h = &s->head;
    const int64_t unroll = spryi_swept_unroll(h->value_type), capacity = h->depth * SPRYI_SWEPT_THREADS;
    const uint32_t padding = (uint32_t)(((uint64_t)1 << h->row_bits) - 1);
    SPRY_J *columns = (SPRY_J *)(uintptr_t)A->indices;
    SPRY_V *values = (SPRY_V *)(uintptr_t)A->values;
    for (int64_t part = 0; part < h->parts; part++) {
        const spryi_swept_task *t = &s->tasks[b * h->parts + part];
        const int64_t first = t->first_batch * SPRYI_SWEPT_THREADS * unroll;
        spryi_swept_rows_of_sums(s, b, part, row_of);
        for (int64_t group = 0; group < t->batches * unroll / h->depth; group++)
            for (int64_t place = 0; place < capacity; place++) {
                const int64_t slot = first + spryi_swept_slot(group, place, h->depth, unroll);
                const uint32_t sum = s->indices[slot] & padding;
                if (sum == padding) continue;
                const int64_t to = at[row_of[sum] + s->blocks[b].first_row]++;
                columns[to] = (SPRY_J)(s->bases[t->first_batch + group * h->depth / unroll] +
                                       (int64_t)((uint64_t)s->indices[slot] >> h->row_bits));
                values[to] = ((const SPRY_V *)s->values)[slot];
            }
    }
}
