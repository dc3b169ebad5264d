/* Entries of a block's slots to their rows again, in the order of groups; included by swept_format.c. */

/* at[row + 1]: its entries in the block; those of a first row that the block before has begun are returned instead. */
static int64_t SPRY_FN(count)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at)
{
    const int64_t batch = SPRYI_SWEPT_THREADS * spryi_swept_unroll(s->head.value_type), first = block->first_batch;
    const uint32_t padding = spryi_swept_padding(block);
    int64_t head = 0;
    for (int64_t n = first * batch; n < (first + block->batches) * batch; n++) {
        const uint32_t sum = s->indices[n] & padding;
        if (sum == padding) continue;
        if (row_of[sum] == 0 && block->head_chain >= 0)
            head++;
        else
            at[block->first_row + row_of[sum] + 1]++;
    }
    return head;
}

/* at[row]: where the row's next entry goes; head: the same of a first row that the block before has begun. */
static void SPRY_FN(unpack)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of, int64_t *at,
                            int64_t head, const spry_arrays *A)
{
    const int64_t unroll = spryi_swept_unroll(s->head.value_type);
    const int64_t first = block->first_batch * SPRYI_SWEPT_THREADS * unroll;
    const uint32_t padding = spryi_swept_padding(block);
    SPRY_J *columns = (SPRY_J *)(uintptr_t)A->indices;
    SPRY_V *values = (SPRY_V *)(uintptr_t)A->values;
    for (int64_t group = 0; group < block->batches * unroll; group++)
        for (int64_t place = 0; place < SPRYI_SWEPT_THREADS; place++) {
            const int64_t slot = first + spryi_swept_slot(group, place, unroll);
            const uint32_t sum = s->indices[slot] & padding;
            if (sum == padding) continue;
            const int64_t to = row_of[sum] == 0 && block->head_chain >= 0 ? head++
                                                                          : at[block->first_row + row_of[sum]]++;
            columns[to] = (SPRY_J)spryi_swept_column(s, block, block->first_batch + group / unroll, slot);
            values[to] = ((const SPRY_V *)s->values)[slot];
        }
}
