/* Entries of one block to slots, and back; included by swept_pack.c. */

/* What is sorted. */
typedef struct SPRY_FN(entry) {
    SPRY_J column;
    uint32_t place; /* in the block, as stored */
} SPRY_FN(entry);

/* Stably, by column: `from` has the entries in the end where 0 is returned, else `to`. at: a counter for each digit. */
static int SPRY_FN(sort_columns)(SPRY_FN(entry) * from, SPRY_FN(entry) * to, int64_t count, int64_t cols, int64_t *at)
{
    int passes = 0;
    for (int shift = 0; shift < 63 && (cols - 1) >> shift > 0; shift += DIGIT_BITS, passes++) {
        memset(at, 0, (1 << DIGIT_BITS) * sizeof *at);
        for (int64_t k = 0; k < count; k++) at[(int64_t)from[k].column >> shift & ((1 << DIGIT_BITS) - 1)]++;
        for (int64_t d = 0, sum = 0; d < 1 << DIGIT_BITS; d++) {
            const int64_t entries = at[d];
            at[d] = sum;
            sum += entries;
        }
        for (int64_t k = 0; k < count; k++)
            to[at[(int64_t)from[k].column >> shift & ((1 << DIGIT_BITS) - 1)]++] = from[k];
        SPRY_FN(entry) *swap = from;
        from = to;
        to = swap;
    }
    return passes % 2;
}

/*
 * The block's entries, in the order of columns, to groups. An entry goes to the first group that can have it; the first
 * open one is closed when it is full, when a column is too far from its batch's base, or when AHEAD entries are in
 * groups behind it. So a group has the first entries that the groups before left and that share no sum: the device's
 * build goes group by group to the same result.
 */
static void SPRY_FN(pack_sorted)(const SPRY_FN(entry) * entries, int64_t count, spryi_swept_block *block, packing *p,
                                 spryi_swept_target *targets)
{
    const int64_t unroll = UNROLL(SPRY_V), widest = (int64_t)1 << (32 - block->sum_bits);
    int64_t open = 0, groups = 0; /* groups before `open` take nothing more; so many have entries */
    int64_t held = 0;             /* entries of open groups */
    for (int64_t e = 0; e < count; e++) {
        const int64_t column = entries[e].column;
        int64_t sum = p->sum_of[entries[e].place], group = p->last[sum] + 1;
        row_state *row = group > TAKES_TURNS + 1 ? NULL : &p->rows[sum];
        if (row) {
            group = 1 + (row->turn == 0 ? row->first : p->last[row->further + row->turn - 1]);
            if (group < row->group) group = row->group;
        }
        /* a batch that this column is too far from is closed, and with it those before */
        while (open < groups && column - p->base[open / unroll % WINDOW] >= widest)
            for (int64_t end = (open / unroll + 1) * unroll; open < end; open++) held -= close_group(p, open);
        if (group < open) group = open;
        while (group < groups && p->filled[group % WINDOW] == SPRYI_SWEPT_THREADS) group++;
        if (group >= groups) {
            if (group / unroll >= (groups + unroll - 1) / unroll) p->base[group / unroll % WINDOW] = column;
            groups = group + 1;
        }
        const int64_t place = p->filled[group % WINDOW]++;
        held++;
        if (row)
            sum = take_turn(p, row, sum, (int32_t)group);
        else
            p->last[sum] = (int32_t)group;
        targets[entries[e].place] =
            (spryi_swept_target){.slot = (uint32_t)spryi_swept_slot(group, place, unroll), .sum = (uint32_t)sum};
        for (int32_t filled; open < groups && ((filled = p->filled[open % WINDOW]) == SPRYI_SWEPT_THREADS ||
                                               held - filled >= SPRYI_SWEPT_AHEAD);
             open++)
            held -= close_group(p, open);
    }
    block->batches = (int32_t)((groups + unroll - 1) / unroll);
}

static void SPRY_FN(pack)(const spryi_swept_making *made, int64_t b, packing *p)
{
    const spryi_swept *s = made->s;
    const SPRY_P *Ap = made->a->offsets;
    const SPRY_J *Aj = made->a->indices;
    spryi_swept_block *block = &s->blocks[b];
    const int64_t begin = made->cuts[b].entry, end = made->cuts[b + 1].entry, count = end - begin;
    SPRY_FN(entry) *entries = (SPRY_FN(entry) *)p->entries, *other = entries + p->most_entries;
    for (int64_t k = begin; k < end; k++) entries[k - begin] = (SPRY_FN(entry)){Aj[k], (uint32_t)(k - begin)};
    memset(p->rows, 0, (size_t)block->sums * sizeof *p->rows);
    for (int64_t i = block->first_row; i < block->first_row + block->rows; i++) {
        const int64_t from = Ap[i] > begin ? Ap[i] : begin, to = Ap[i + 1] < end ? Ap[i + 1] : end;
        const uint32_t sum = (uint32_t)(made->before[i] - made->before[block->first_row]);
        for (int64_t k = from; k < to; k++) p->sum_of[k - begin] = sum;
        if (from < to) p->rows[sum].entries = (int32_t)(to - from);
    }
    if (SPRY_FN(sort_columns)(entries, other, count, made->a->cols, p->base)) entries = other;
    memset(p->counts, 0, (size_t)block->sums * sizeof *p->counts);
    for (int64_t e = 0; e < count; e++) count_entry(&p->counts[p->sum_of[entries[e].place]], e);
    share_sums(block, count, spryi_swept_unroll(s->head.value_type), p);
    memset(p->filled, 0, WINDOW * sizeof *p->filled);
    SPRY_FN(pack_sorted)(entries, count, block, p, made->targets + begin);
}

/* The block's slots, which padding fills where no entry does. */
static void SPRY_FN(fill)(const spryi_swept_making *made, int64_t b)
{
    spryi_swept *s = made->s;
    const SPRY_J *Aj = made->a->indices;
    const SPRY_V *Ax = made->a->values;
    const int64_t in_batch = SPRYI_SWEPT_THREADS * UNROLL(SPRY_V);
    const int64_t begin = s->blocks[b].first_batch, end = begin + s->blocks[b].batches;
    uint32_t *indices = s->indices + begin * in_batch;
    SPRY_V *values = (SPRY_V *)s->values + begin * in_batch;
    const uint32_t padding = spryi_swept_padding(&s->blocks[b]);
    for (int64_t n = 0; n < (end - begin) * in_batch; n++) {
        indices[n] = padding;
        values[n] = 0;
    }
    for (int64_t n = begin; n < end; n++) s->bases[n] = INT64_MAX; /* then the least column */
    for (int64_t k = made->cuts[b].entry; k < made->cuts[b + 1].entry; k++) {
        int64_t *base = &s->bases[begin + made->targets[k].slot / in_batch];
        if (Aj[k] < *base) *base = Aj[k];
    }
    for (int64_t k = made->cuts[b].entry; k < made->cuts[b + 1].entry; k++) {
        const spryi_swept_target target = made->targets[k];
        const uint32_t column = (uint32_t)(Aj[k] - s->bases[begin + target.slot / in_batch]);
        indices[target.slot] = column << s->blocks[b].sum_bits | target.sum;
        values[target.slot] = Ax[k];
    }
}
