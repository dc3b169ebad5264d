/* Sizes of swept row blocks, and sizes that follow from the cuts. The CUDA plug-in compiles this file too. */
#include "base/error.h"
#include "formats/swept/swept_layout.h"

#include <stdio.h>

enum {
    LEAST_BATCHES = 4,                /* least number of batches of a block; small matrices have fewer blocks */
    FURTHER = 2 * SPRYI_SWEPT_THREADS /* number of sums of a block that are reserved as further sums */
};

/* Returns the limit of a block's sums: the number that fits the shared memory, or the given limit if smaller. */
static int64_t sum_limit(const spryi_build_request *request)
{
    const int64_t bytes = request->shared_bytes > 0 ? request->shared_bytes : SPRYI_SWEPT_GPU_BYTES;
    const int64_t most = (bytes - SPRYI_SWEPT_OWN_BYTES) / (int64_t)spry_type_bytes(request->options->vector_type);
    const int64_t given = request->parameters[1];
    if (given > 0 && given < most) return given;
    return most < SPRYI_SWEPT_MOST_SUMS - 1 ? most : SPRYI_SWEPT_MOST_SUMS - 1;
}

/* Returns the number of multiprocessors, so that all blocks run at the same time. Returns less for small matrices. */
static int64_t default_blocks(const spryi_swept_sizes *h, const spryi_build_request *request)
{
    const int64_t devices = request->units > 0 ? request->units : SPRYI_SWEPT_GPU_BLOCKS;
    const int64_t batch = spryi_swept_unroll(h->value_type) * SPRYI_SWEPT_THREADS;
    const int64_t blocks = (h->nnz + h->rows / SPRYI_SWEPT_ENTRY_COST) / (LEAST_BATCHES * batch);
    return blocks < 1 ? 1 : blocks < devices ? blocks : devices;
}

spryi_swept_sizes spryi_swept_sizes_of(const spryi_build_request *request, const spry_arrays *a)
{
    spryi_swept_sizes h = {.rows = a->rows,
                           .cols = a->columns,
                           .nnz = a->nnz,
                           .value_type = (int32_t)a->value_type,
                           .offset_type = (int32_t)a->offset_type,
                           .index_type = (int32_t)a->index_type};
    h.blocks = request->parameters[0] > 0 ? request->parameters[0] : default_blocks(&h, request);
    h.sum_limit = sum_limit(request);
    return h;
}

int64_t spryi_swept_most_rows(const spryi_swept_sizes *h)
{
    const int64_t most = h->sum_limit - FURTHER > h->sum_limit / 4 ? h->sum_limit - FURTHER : h->sum_limit / 4;
    return most > 2 ? most : 2;
}

int64_t spryi_swept_most_cost(void)
{
    return (int64_t)SPRYI_SWEPT_ENTRY_COST * SPRYI_SWEPT_MOST_ENTRIES;
}

bool spryi_swept_may_need_more(const spryi_swept_sizes *h)
{
    /*
     * of_cost: least cost of a block that the limit of costs ends. The cost may be a little below the limit, since a
     * row is not cut within LEAST_PIECE entries of its ends.
     */
    const int64_t of_cost = spryi_swept_most_cost() - SPRYI_SWEPT_ENTRY_COST * (SPRYI_SWEPT_LEAST_PIECE + 1);
    return h->rows / (spryi_swept_most_rows(h) - 1) + spryi_swept_cost_before(h->nnz, h->rows) / of_cost + 2 >
           h->blocks;
}

spryi_swept_search spryi_swept_search_for(const spryi_swept_sizes *h, int64_t least)
{
    enum { PARTS = 512 /* parts of a block's cost; a difference of one part is negligible */ };
    const int64_t round = h->blocks, total = spryi_swept_cost_before(h->nnz, h->rows), most = spryi_swept_most_cost();
    /* a multiple of the blocks of one round, if the limits require more blocks than one round has */
    const int64_t wanted = least > round ? (least + round - 1) / round * round : round, mean = total / wanted;
    spryi_swept_search search = {.wanted = wanted,
                                 .low = mean < most ? mean : most,
                                 .high = total < most ? total : most};
    search.narrow = 2 * search.low + 1 < search.high ? 2 * search.low + 1 : search.high;
    search.near = search.low / PARTS;
    return search;
}

/* Finds the rows that blocks share, and assigns a piece to each sharing block. */
static void link_pieces(spryi_swept *s, const spryi_swept_cut *cuts)
{
    spryi_swept_sizes *h = &s->sizes;
    h->shared_rows = h->pieces = 0;
    for (int64_t b = 0; b < h->blocks; b++) {
        const spryi_swept_cut from = cuts[b], to = cuts[b + 1];
        const bool head = from.entry > from.row_begin, tail = to.entry > to.row_begin;
        spryi_swept_block *block = &s->blocks[b];
        block->head_row = block->tail_row = -1;
        if (head) {
            block->head_row = (int32_t)h->shared_rows - 1;
            block->head_piece = (int32_t)s->shared_rows[h->shared_rows - 1].pieces++;
            h->pieces++;
        }
        if (!tail || (head && to.row == from.row)) continue; /* no shared row begins in the block */
        s->shared_rows[h->shared_rows] = (spryi_swept_shared_row){.row = to.row, .first = h->pieces++, .pieces = 1};
        block->tail_row = (int32_t)h->shared_rows++;
        block->tail_piece = 0;
    }
}

void spryi_swept_build_blocks(spryi_swept *s, const spryi_swept_cut *cuts)
{
    spryi_swept_sizes *h = &s->sizes;
    h->bitmaps = 0;
    for (int64_t b = 0; b < h->blocks; b++) {
        const spryi_swept_cut from = cuts[b], to = cuts[b + 1];
        const bool tail = to.entry > to.row_begin;
        s->blocks[b] = (spryi_swept_block){.first_row = from.row,
                                           .first_bitmap = h->bitmaps,
                                           .rows = (int32_t)(to.row + tail - from.row),
                                           .sums = (int32_t)(to.before + tail - from.before)};
        h->bitmaps += (s->blocks[b].rows + 31) / 32;
    }
    link_pieces(s, cuts);
}

int64_t spryi_swept_most_sums(const spryi_swept *s, const spryi_swept_cut *cuts)
{
    int64_t most_rows = 0, most_entries = 0;
    for (int64_t b = 0; b < s->sizes.blocks; b++) {
        const int64_t entries = cuts[b + 1].entry - cuts[b].entry;
        if (entries > most_entries) most_entries = entries;
        if (s->blocks[b].sums > most_rows) most_rows = s->blocks[b].sums;
    }
    /* upper bound of the further sums */
    int64_t further = most_entries / (SPRYI_SWEPT_STRETCH * 3 / 4) + 2 * SPRYI_SWEPT_THREADS;
    if (further > most_entries) further = most_entries;
    const int64_t most = most_rows + further < s->sizes.sum_limit ? most_rows + further : s->sizes.sum_limit;
    return most > most_rows ? most : most_rows;
}

spry_status spryi_swept_count_all(spryi_swept *s, spry_error *err)
{
    spryi_swept_sizes *h = &s->sizes;
    h->batches = h->extras = h->most_sums = 0;
    for (int64_t b = 0; b < h->blocks; b++) {
        spryi_swept_block *block = &s->blocks[b];
        if (block->batches * spryi_swept_unroll(h->value_type) >= SPRYI_SWEPT_MOST_GROUPS)
            return spryi_fail(err, SPRY_TOO_LARGE, NULL, "swept: a row block has more than 2^32 slots");
        block->first_batch = h->batches;
        block->first_extra = h->extras;
        h->batches += block->batches;
        h->extras += block->extras;
        if (block->all_sums > h->most_sums) h->most_sums = block->all_sums;
    }
    return SPRY_OK;
}

int spryi_swept_arrays(void *storage, spryi_section *list)
{
    spryi_swept *s = storage;
    const spryi_swept_sizes *h = &s->sizes;
    const int64_t slots = spryi_swept_slots(h), value_bytes = (int64_t)spry_type_bytes((spry_type)h->value_type);
    const spryi_section arrays[] = {
        {"blocks", (void **)&s->blocks, NULL, h->blocks, sizeof *s->blocks},
        {"bitmaps", (void **)&s->bitmaps, NULL, h->bitmaps, sizeof *s->bitmaps},
        {"extras", (void **)&s->extras, NULL, h->extras, sizeof *s->extras},
        {"shared_rows", (void **)&s->shared_rows, NULL, h->shared_rows, sizeof *s->shared_rows},
        {"bases", (void **)&s->bases, NULL, h->batches, sizeof *s->bases},
        {"indices", (void **)&s->indices, NULL, slots, sizeof *s->indices},
        {"values", &s->values, NULL, slots, value_bytes},
    };
    const int count = value_bytes > 0 ? SPRYI_SWEPT_ARRAYS : SPRYI_SWEPT_ARRAYS - 1;
    for (int n = 0; n < count; n++) list[n] = arrays[n];
    return count;
}

void spryi_swept_cost(const spryi_swept *s, spryi_cost *cost)
{
    spryi_swept sizes = *s;
    spryi_section list[SPRYI_SWEPT_ARRAYS];
    const spryi_swept_sizes *h = &s->sizes;
    const int64_t slots = spryi_swept_slots(h);
    cost->bytes = spryi_listed_bytes(list, spryi_swept_arrays(&sizes, list));
    const int64_t words = h->value_type == SPRY_PATTERN ? 1 : 2; /* words of a slot */
    cost->words = words * slots + h->batches + 2 * h->bitmaps + 3 * h->extras + 3 * h->shared_rows + 14 * h->blocks;
    cost->padding = slots - h->nnz;
    /* a matrix without rows has no block, but the parameter is at least 1 */
    snprintf(cost->parameters, sizeof cost->parameters, "blocks=%lld:sums=%lld",
             (long long)(h->blocks > 0 ? h->blocks : 1), (long long)h->sum_limit);
}
