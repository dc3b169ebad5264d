/* Entries of swept row blocks to their slots: sorted by columns, then each to the first group that can have it. */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/scoo/swept_part.h"

#include <omp.h>
#include <string.h>

enum {
    DIGIT_BITS = 11,
    WINDOW = 2 * SPRYI_SWEPT_AHEAD, /* groups that may be open at once, and more: each behind the first has an entry */
    MOST_STRETCHES = SPRYI_SWEPT_MOST_ENTRIES / (SPRYI_SWEPT_STRETCH * SPRYI_SWEPT_THREADS) + 1,
    TAKES_TURNS = -2, /* in place of a group: the row has several sums */
};

/* Of a row with entries, while its block is packed. */
typedef struct row_state {
    int32_t entries, turns, turn; /* turns: its sums, used in turn */
    int32_t further;              /* the second of them, the others follow */
    int32_t group, first;         /* of its last entry; the last that had its first sum */
} row_state;

/* Counted entry by entry, so it is small: the last stretch a row has entries in, how many, and the most of any. */
typedef struct row_stretch {
    uint16_t last, near, most;
} row_stretch;
_Static_assert(SPRYI_SWEPT_STRETCH *SPRYI_SWEPT_THREADS <= UINT16_MAX && MOST_STRETCHES < UINT16_MAX,
               "a row's counts in 16 bits");

/* What a thread packs a block in. */
typedef struct packing {
    char *entries; /* twice most_entries, of the template's type */
    int64_t most_entries;
    uint32_t *sum_of; /* an entry, in stored order */
    row_state *rows;  /* a row with entries */
    row_stretch *counts;
    int32_t *last;     /* a sum: the group that had it last, or TAKES_TURNS in a row's first */
    int64_t most_sums; /* that a block may have */
    int64_t *base;     /* WINDOW: the first column of batches; while columns are sorted, where the next goes */
    int32_t *filled;   /* WINDOW: entries of open groups */
} packing;
_Static_assert(WINDOW >= 1 << DIGIT_BITS, "a counter for each digit");

/* The group takes no more entries, of which it has so many; its place is for a group to come. */
static int32_t close_group(packing *p, int64_t group)
{
    const int32_t filled = p->filled[group % WINDOW];
    p->filled[group % WINDOW] = 0;
    return filled;
}

/* Entry number `e` of the block, in the order of columns, is the row's. */
static void count_entry(row_stretch *row, int64_t e)
{
    const uint16_t stretch = (uint16_t)(spryi_swept_stretch(e) + 1);
    row->near = (uint16_t)(row->last == stretch ? row->near + 1 : 1);
    row->last = stretch;
    if (row->near > row->most) row->most = row->near;
}

/* Sums for the rows of a block of so many entries. */
static void share_sums(spryi_swept_block *block, int64_t count, int64_t unroll, packing *p)
{
    const int64_t rows = block->sums;
    spryi_swept_share share = spryi_swept_first_share(count, unroll);
    int64_t sums, longs;
    do {
        sums = rows;
        longs = 0;
        for (int64_t r = 0; r < rows; r++) {
            row_state *row = &p->rows[r];
            row->turns = (int32_t)spryi_swept_turns(row->entries, p->counts[r].most, &share);
            row->further = (int32_t)sums;
            longs += row->turns > 1;
            sums += row->turns - 1;
        }
        share.most *= 2;
        share.near *= 2;
    } while (sums > p->most_sums && longs > 0);
    block->all_sums = (int32_t)sums;
    block->sum_bits = spryi_swept_sum_bits(sums);
    block->longs = (int32_t)longs;
    for (int64_t n = 0; n < sums; n++) p->last[n] = -1;
    for (int64_t r = 0; r < rows; r++) {
        p->rows[r].turn = p->rows[r].group = 0;
        p->rows[r].first = -1;
        if (p->rows[r].turns > 1) p->last[r] = TAKES_TURNS;
    }
}

/* The group takes the row's sum whose turn it is, which is returned; `sum` is the first of them. */
static int64_t take_turn(packing *p, row_state *row, int64_t sum, int32_t group)
{
    if (row->turn == 0)
        row->first = group;
    else
        p->last[sum = row->further + row->turn - 1] = group;
    row->group = group;
    row->turn = row->turn + 1 < row->turns ? row->turn + 1 : 0;
    return sum;
}

/* spryi_swept_unroll as a constant: entry by entry, divisions would take as long as all else. */
#define UNROLL(V) (SPRYI_SWEPT_BATCH_BYTES / (int64_t)sizeof(V))

#define SPRYI_TEMPLATE "formats/scoo/swept_pack.tmpl.c"
#include "core/instantiate.h"

typedef void (*pack_fn)(const spryi_swept_making *made, int64_t block, packing *p);
typedef void (*fill_fn)(const spryi_swept_making *made, int64_t block);
static const pack_fn packs[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(pack);
static const fill_fn fills[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill);

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
           rounded(most_rows * (int64_t)sizeof *p->counts) + rounded(p->most_sums * (int64_t)sizeof *p->last) +
           rounded(WINDOW * (int64_t)sizeof *p->base) + rounded(WINDOW * (int64_t)sizeof *p->filled);
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
    p.counts = (row_stretch *)memory;
    memory += rounded(most_rows * (int64_t)sizeof *p.counts);
    p.last = (int32_t *)memory;
    memory += rounded(p.most_sums * (int64_t)sizeof *p.last);
    p.base = (int64_t *)memory;
    memory += rounded(WINDOW * (int64_t)sizeof *p.base);
    p.filled = (int32_t *)memory;
    return p;
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
    int64_t most_rows = 0;
    packing sizes = {0};
    for (int64_t b = 0; b < h->blocks; b++) {
        const int64_t entries = made->cuts[b + 1].entry - made->cuts[b].entry;
        if (entries > sizes.most_entries) sizes.most_entries = entries;
        if (s->blocks[b].sums > most_rows) most_rows = s->blocks[b].sums;
    }
    sizes.most_sums = spryi_swept_most_sums(s, made->cuts);
    int64_t bytes = packing_bytes(&sizes, most_rows);
    const int threads = threads_for(context, h);
    SPRYI_TRY(SPRYI_NEW(context, &made->targets, h->nnz, "slots of entries", err));
    SPRYI_TRY(spryi_allocate(context, &scratch, threads, (size_t)bytes, "scratch memory of sorting", err));
    const pack_fn pack =
        packs[spryi_value_slot(made->a->value_type)][spryi_index_pair(made->a->offset_type, made->a->index_type)];
#pragma omp parallel num_threads(threads)
    {
        packing p = packing_at((char *)scratch + omp_get_thread_num() * bytes, &sizes, most_rows);
#pragma omp for schedule(dynamic, 1)
        for (int64_t b = 0; b < h->blocks; b++) pack(made, b, &p);
    }
    SPRYI_TRY(spryi_swept_add_up(s, err));
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

/* Whose further sums are whose, from where the entries went; owner: a further sum of the block. */
static void fill_longs(const spryi_swept_making *made, int64_t b, int32_t *owner)
{
    spryi_swept *s = made->s;
    const spryi_swept_block *block = &s->blocks[b];
    const uint32_t first = (uint32_t)block->sums, further = (uint32_t)(block->all_sums - block->sums);
    int64_t row = block->first_row, found = block->first_long - 1;
    for (int64_t k = made->cuts[b].entry; further > 0 && k < made->cuts[b + 1].entry; k++) {
        while (spryi_index_at(made->a->offsets, made->a->offset_type, row + 1) <= k) row++;
        if (made->targets[k].sum >= first)
            owner[made->targets[k].sum - first] = (int32_t)(made->before[row] - made->before[block->first_row]);
    }
    for (uint32_t n = 0; n < further; n++) {
        if (n == 0 || owner[n] != owner[n - 1])
            s->longs[++found] = (spryi_swept_long){.sum = owner[n], .first = (int32_t)(first + n)};
        s->longs[found].count++;
    }
}

spry_status spryi_swept_fill(spry_context *context, spryi_swept_making *made, spry_error *err)
{
    spryi_swept *s = made->s;
    const spryi_swept_head *h = &s->head;
    spry_status status = SPRY_OK;
    int32_t *owner = NULL;
    int64_t most = 0;
    for (int64_t b = 0; b < h->blocks; b++)
        if (s->blocks[b].all_sums - s->blocks[b].sums > most) most = s->blocks[b].all_sums - s->blocks[b].sums;
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
