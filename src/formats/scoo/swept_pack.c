/* Entries of swept row blocks to their slots: sorted by columns, then each to the first group that can have it. */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/scoo/swept.h"

#include <omp.h>
#include <string.h>

enum {
    DIGIT_BITS = 11,
    WINDOW = 256, /* groups that are open at once: a row with more entries near each other costs padding */
};

/* Of a row with entries, while a task is packed. */
typedef struct row_state {
    int32_t entries, turns, turn; /* turns: its sums, used in turn */
    int32_t further;              /* the second of them, the others follow */
    int32_t group;                /* of its last entry */
} row_state;

/* What a thread packs a block in. */
typedef struct packing {
    char *entries; /* twice most_entries, of the template's type */
    int64_t most_entries;
    uint32_t *sum_of;  /* an entry, in stored order */
    row_state *rows;   /* a row with entries */
    int32_t *last;     /* a sum: the group that had it last */
    int64_t most_sums; /* that a task may have */
    int64_t base[WINDOW];
    int32_t filled[WINDOW];
    int too_many;
} packing;

/* Groups open .. to - 1 take no more entries; their places are for groups to come. */
static int64_t close_until(packing *p, int64_t open, int64_t to)
{
    for (; open < to; open++) p->filled[open % WINDOW] = 0;
    return open;
}

/* Sums for the rows of a task of so many entries: further ones where a row has more than 3/4 of the groups. */
static void share_sums(spryi_swept_task *t, int64_t count, int64_t capacity, int64_t in_batch, packing *p)
{
    const int64_t rows = t->sums, groups = ((count + capacity - 1) / capacity + in_batch - 1) / in_batch * in_batch;
    int64_t most = groups * 3 / 4 > 0 ? groups * 3 / 4 : 1, sums, longs;
    do {
        sums = rows;
        longs = 0;
        for (int64_t r = 0; r < rows; r++) {
            const int64_t turns = (p->rows[r].entries + most - 1) / most;
            p->rows[r].turns = turns > 1 ? (int32_t)turns : 1;
            p->rows[r].further = (int32_t)sums;
            longs += turns > 1;
            sums += turns > 1 ? turns - 1 : 0;
        }
        most *= 2;
    } while (sums > p->most_sums && longs > 0);
    t->sums = (int32_t)sums;
    t->longs = (int32_t)longs;
    for (int64_t r = 0; r < rows; r++) p->rows[r].turn = p->rows[r].group = 0;
    for (int64_t n = 0; n < sums; n++) p->last[n] = -1;
}

#define SPRYI_TEMPLATE "formats/scoo/swept_pack.tmpl.c"
#include "core/instantiate.h"

typedef void (*pack_fn)(const spryi_swept_making *made, int64_t block, packing *p);
typedef void (*fill_fn)(const spryi_swept_making *made, int64_t block);
static const pack_fn packs[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(pack);
static const fill_fn fills[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill);

static int64_t bits_of(int64_t number)
{
    int64_t bits = 0;
    while (number >> bits > 0) bits++;
    return bits;
}

/* What is sorted is no larger than this. */
typedef struct widest_entry {
    int64_t column, place;
} widest_entry;

static int64_t rounded(int64_t bytes)
{
    return (bytes + SPRYI_ALIGNMENT - 1) / SPRYI_ALIGNMENT * SPRYI_ALIGNMENT;
}

static int64_t packing_bytes(const packing *p, int64_t most_rows)
{
    return rounded(2 * p->most_entries * (int64_t)sizeof(widest_entry)) +
           rounded(p->most_entries * (int64_t)sizeof *p->sum_of) + rounded(most_rows * (int64_t)sizeof *p->rows) +
           rounded(p->most_sums * (int64_t)sizeof *p->last);
}

static packing packing_at(char *memory, const packing *sizes, int64_t most_rows)
{
    packing p = *sizes;
    p.entries = memory;
    memory += rounded(2 * p.most_entries * (int64_t)sizeof(widest_entry));
    p.sum_of = (uint32_t *)memory;
    memory += rounded(p.most_entries * (int64_t)sizeof *p.sum_of);
    p.rows = (row_state *)memory;
    memory += rounded(most_rows * (int64_t)sizeof *p.rows);
    p.last = (int32_t *)memory;
    return p;
}

/* Sizes that follow from the tasks. */
static void add_up(spryi_swept *s)
{
    spryi_swept_head *h = &s->head;
    h->batches = h->longs = h->most_sums = 0;
    for (int64_t t = 0; t < h->blocks * h->parts; t++) {
        spryi_swept_task *task = &s->tasks[t];
        task->first_batch = h->batches;
        task->first_long = h->longs;
        h->batches += task->batches;
        h->longs += task->longs;
        if (task->sums > h->most_sums) h->most_sums = task->sums;
    }
}

static int threads_for(const spry_context *context, const spryi_swept_head *h)
{
    int threads = spryi_threads(context, h->rows + h->nnz);
    return threads < h->blocks ? threads : h->blocks > 0 ? (int)h->blocks : 1;
}

spry_status spryi_swept_pack(spry_context *context, spryi_swept_making *made, spry_error *err)
{
    spryi_swept *s = made->s;
    spryi_swept_head *h = &s->head;
    spry_status status = SPRY_OK;
    void *scratch = NULL;
    int64_t most_rows = 0, too_many = 0;
    packing sizes = {0};
    for (int64_t b = 0; b < h->blocks; b++) {
        const int64_t entries = made->cuts[b + 1].entry - made->cuts[b].entry;
        if (entries > sizes.most_entries) sizes.most_entries = entries;
        if (s->blocks[b].sums > most_rows) most_rows = s->blocks[b].sums;
    }
    /* with few groups a task's rows may want as many further sums as it has entries, else twice a group's */
    int64_t further = 2 * h->depth * SPRYI_SWEPT_THREADS;
    if (further > sizes.most_entries) further = sizes.most_entries;
    sizes.most_sums = most_rows + further < made->most_sums ? most_rows + further : made->most_sums;
    if (sizes.most_sums < most_rows) sizes.most_sums = most_rows;
    h->row_bits = bits_of(sizes.most_sums);
    int64_t bytes = packing_bytes(&sizes, most_rows);
    const int threads = threads_for(context, h);
    SPRYI_TRY(SPRYI_NEW(context, &s->tasks, h->blocks * h->parts, "tasks of row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &made->targets, h->nnz, "slots of entries", err));
    SPRYI_TRY(spryi_allocate(context, &scratch, threads, (size_t)bytes, "scratch memory of sorting", err));
    const pack_fn pack =
        packs[spryi_value_slot(made->a->value_type)][spryi_index_pair(made->a->offset_type, made->a->index_type)];
#pragma omp parallel num_threads(threads) reduction(+ : too_many)
    {
        packing p = packing_at((char *)scratch + omp_get_thread_num() * bytes, &sizes, most_rows);
#pragma omp for schedule(dynamic, 1)
        for (int64_t b = 0; b < h->blocks; b++) pack(made, b, &p);
        too_many += p.too_many;
    }
    if (too_many > 0) status = spryi_fail(err, SPRY_TOO_LARGE, NULL, "swept: a row block has more than 2^32 slots");
    add_up(s);
done:
    spryi_release(context, scratch);
    return status;
}

/* ---- filling ------------------------------------------------------------------------------------------- */

/* Rows with entries of block b, a bit each. */
static void fill_present(const spryi_swept_making *made, int64_t b)
{
    const spryi_swept_block *block = &made->s->blocks[b];
    const int64_t *before = made->before + block->first_row;
    for (int32_t r = 0; r < block->rows; r += 32) {
        spryi_swept_word word = {.before = (uint32_t)(before[r] - before[0])};
        for (int32_t bit = 0; bit < 32 && r + bit < block->rows; bit++)
            word.bits |= (uint32_t)(before[r + bit + 1] > before[r + bit]) << bit;
        made->s->present[block->first_word + r / 32] = word;
    }
}

/* Whose further sums are whose, from where the entries went; owner: a further sum of any of the block's tasks. */
static void fill_longs(const spryi_swept_making *made, int64_t b, int32_t *owner)
{
    spryi_swept *s = made->s;
    const spryi_swept_head *h = &s->head;
    const spryi_swept_block *block = &s->blocks[b];
    const spryi_swept_task *tasks = &s->tasks[b * h->parts];
    const int64_t batch = SPRYI_SWEPT_THREADS * spryi_swept_unroll(h->value_type);
    int64_t row = block->first_row, at = 0;
    for (int64_t k = made->cuts[b].entry; k < made->cuts[b + 1].entry; k++) {
        const spryi_swept_target target = made->targets[k];
        while (spryi_index_at(made->a->offsets, made->a->offset_type, row + 1) <= k) row++;
        if (target.sum < (uint32_t)block->sums) continue;
        int64_t part = 0, first = 0;
        for (; target.slot / batch >= tasks[part].first_batch + tasks[part].batches - tasks[0].first_batch; part++)
            first += tasks[part].sums - block->sums;
        owner[first + target.sum - block->sums] = (int32_t)(made->before[row] - made->before[block->first_row]);
    }
    for (int64_t part = 0; part < h->parts; part++) {
        const spryi_swept_task *t = &tasks[part];
        const int64_t further = t->sums - block->sums;
        for (int64_t n = 0, found = 0; n < further; n++) {
            const int is_new = n == 0 || owner[at + n] != owner[at + n - 1];
            if (is_new)
                s->longs[t->first_long + found++] =
                    (spryi_swept_long){.sum = owner[at + n], .first = (int32_t)(block->sums + n)};
            s->longs[t->first_long + found - 1].count++;
        }
        at += further;
    }
}

spry_status spryi_swept_fill(spry_context *context, spryi_swept_making *made, spry_error *err)
{
    spryi_swept *s = made->s;
    const spryi_swept_head *h = &s->head;
    spry_status status = SPRY_OK;
    int32_t *owner = NULL;
    int64_t most = 0;
    for (int64_t b = 0; b < h->blocks; b++) {
        int64_t further = 0;
        for (int64_t part = 0; part < h->parts; part++)
            further += s->tasks[b * h->parts + part].sums - s->blocks[b].sums;
        if (further > most) most = further;
    }
    const int threads = threads_for(context, h);
    SPRYI_TRY(SPRYI_NEW(context, &owner, threads * (most + 1), "rows of further sums", err));
    const fill_fn fill =
        fills[spryi_value_slot(made->a->value_type)][spryi_index_pair(made->a->offset_type, made->a->index_type)];
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t b = 0; b < h->blocks; b++) {
        fill_present(made, b);
        fill_longs(made, b, owner + omp_get_thread_num() * (most + 1));
        fill(made, b);
    }
done:
    spryi_release(context, owner);
    return status;
}
