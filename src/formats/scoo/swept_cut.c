/* Cutting rows into blocks: about equal work, no more sums than the shared memory holds, long rows in pieces. */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/scoo/swept.h"

#include <string.h>

enum {
    ROW_SHARE = 4,                    /* a row's sum and y cost as much as 1 / ROW_SHARE entries */
    LEAST_PIECE = 32,                 /* entries: rows are not cut closer to their ends */
    LEAST_BATCHES = 4,                /* of a block, so that small matrices get fewer */
    FURTHER = 2 * SPRYI_SWEPT_THREADS /* sums that long rows want: entries over half of the groups */
};

typedef struct cutting {
    const spry_arrays *a;
    const int64_t *before; /* rows with entries before each */
    int64_t most_sums;     /* rows with entries in a block */
} cutting;

static int64_t entries_before(const cutting *c, int64_t row)
{
    return spryi_index_at(c->a->offsets, c->a->offset_type, row);
}

static int64_t cost_before(const cutting *c, int64_t row)
{
    return ROW_SHARE * entries_before(c, row) + row;
}

/* The last row in low .. high before which there is no more than `most`, of cost or of rows with entries. */
static int64_t last_row(const cutting *c, int64_t low, int64_t high, int64_t most, int by_sums)
{
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if ((by_sums ? c->before[middle] : cost_before(c, middle)) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Where the block from `at` on ends that may cost `most`. */
static spryi_swept_cut next_cut(const cutting *c, spryi_swept_cut at, int64_t most)
{
    const int64_t rows = c->a->rows, wanted = ROW_SHARE * at.entry + at.row + most;
    spryi_swept_cut to = {.row = last_row(c, at.row, rows, wanted, 0)};
    /* one sum is left for a row that is cut */
    const int64_t fits = last_row(c, at.row, rows, c->before[at.row] + c->most_sums - 1, 1);
    if (fits < to.row) to.row = fits;
    to.entry = entries_before(c, to.row);
    if (to.row < rows && to.row < fits + 1) {
        const int64_t begin = to.row == at.row ? at.entry : to.entry, end = entries_before(c, to.row + 1);
        const int64_t taken = (wanted - ROW_SHARE * begin - to.row) / ROW_SHARE;
        if (taken >= LEAST_PIECE && end - begin - taken >= LEAST_PIECE)
            to.entry = begin + taken;
        else if (taken >= LEAST_PIECE)
            to = (spryi_swept_cut){to.row + 1, end};
    }
    if (to.row == at.row && to.entry <= at.entry) to = (spryi_swept_cut){at.row + 1, entries_before(c, at.row + 1)};
    return to;
}

/* Blocks that cost at most `most` each; cuts NULL: how many there are. */
static int64_t cut_by_cost(const cutting *c, int64_t most, spryi_swept_cut *cuts)
{
    spryi_swept_cut at = {0, 0};
    int64_t blocks = 0;
    while (at.row < c->a->rows) {
        if (cuts) cuts[blocks] = at;
        at = next_cut(c, at, most);
        blocks++;
    }
    if (cuts) cuts[blocks] = at;
    return blocks;
}

/* The least cost at which there are no more than `wanted` blocks. */
static int64_t cost_for(const cutting *c, int64_t wanted)
{
    const int64_t total = cost_before(c, c->a->rows);
    int64_t low = total / wanted, high = total;
    if (low > (int64_t)ROW_SHARE * SPRYI_SWEPT_MOST_ENTRIES) low = (int64_t)ROW_SHARE * SPRYI_SWEPT_MOST_ENTRIES;
    if (high > (int64_t)ROW_SHARE * SPRYI_SWEPT_MOST_ENTRIES) high = (int64_t)ROW_SHARE * SPRYI_SWEPT_MOST_ENTRIES;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (cut_by_cost(c, middle, NULL) <= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return high > 0 ? high : 1;
}

static spry_status count_rows(spry_context *context, spryi_swept_making *made, spry_error *err)
{
    const spry_arrays *a = made->a;
    spry_status status = SPRYI_NEW(context, &made->before, a->rows + 1, "rows with entries", err);
    if (status != SPRY_OK) return status;
    made->before[0] = 0;
    const int threads = spryi_threads(context, a->rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < a->rows; i++)
        made->before[i + 1] = spryi_index_at(a->offsets, a->offset_type, i + 1) >
                              spryi_index_at(a->offsets, a->offset_type, i);
    spryi_scan(made->before, a->rows);
    return SPRY_OK;
}

/* Sums that shared memory has room for. */
static int64_t room(const spryi_build_request *request, const spryi_swept_head *h)
{
    const int64_t bytes = request->gpu_shared_bytes > 0 ? request->gpu_shared_bytes : SPRYI_SWEPT_GPU_BYTES;
    const int64_t size = h->value_type == SPRY_F64 ? 8 : 4, most = (bytes - SPRYI_SWEPT_OWN_BYTES) / size;
    const int64_t given = request->parameters[1];
    if (given > 0 && given < most) return given;
    return most < SPRYI_SWEPT_MOST_SUMS - 1 ? most : SPRYI_SWEPT_MOST_SUMS - 1;
}

/* A block a multiprocessor, so that all of them sweep x together; fewer where there would be little in each. */
static int64_t default_blocks(const spryi_swept_head *h, const spryi_build_request *request)
{
    const int64_t devices = request->gpu_multiprocessors > 0 ? request->gpu_multiprocessors : SPRYI_SWEPT_GPU_BLOCKS;
    const int64_t batch = spryi_swept_unroll(h->value_type) * SPRYI_SWEPT_THREADS;
    const int64_t blocks = (h->nnz + h->rows / ROW_SHARE) / (LEAST_BATCHES * batch);
    return blocks < 1 ? 1 : blocks < devices ? blocks : devices;
}

/* What a block shares with its neighbours: chains of the pieces of one row. */
static void link_pieces(spryi_swept_making *made)
{
    spryi_swept *s = made->s;
    spryi_swept_head *h = &s->head;
    const cutting c = {.a = made->a};
    h->chains = h->pieces = 0;
    for (int64_t b = 0; b < h->blocks; b++) {
        const spryi_swept_cut from = made->cuts[b], to = made->cuts[b + 1];
        const int head = from.entry > entries_before(&c, from.row);
        const int tail = to.row < h->rows && to.entry > entries_before(&c, to.row);
        spryi_swept_block *block = &s->blocks[b];
        block->head_chain = block->tail_chain = -1;
        if (head) {
            block->head_chain = (int32_t)h->chains - 1;
            block->head_piece = (int32_t)s->chains[h->chains - 1].pieces++;
            h->pieces++;
        }
        if (!tail || (head && to.row == from.row)) continue; /* a row that goes on had its piece */
        s->chains[h->chains] = (spryi_swept_chain){.row = to.row, .first = h->pieces++, .pieces = 1};
        block->tail_chain = (int32_t)h->chains++;
        block->tail_piece = 0;
    }
}

static void make_blocks(spryi_swept_making *made)
{
    spryi_swept *s = made->s;
    spryi_swept_head *h = &s->head;
    const cutting c = {.a = made->a};
    h->words = 0;
    for (int64_t b = 0; b < h->blocks; b++) {
        const spryi_swept_cut from = made->cuts[b], to = made->cuts[b + 1];
        const int64_t end = to.row + (to.row < h->rows && to.entry > entries_before(&c, to.row));
        spryi_swept_block *block = &s->blocks[b];
        *block = (spryi_swept_block){.first_row = from.row,
                                     .first_word = h->words,
                                     .rows = (int32_t)(end - from.row),
                                     .sums = (int32_t)(made->before[end] - made->before[from.row])};
        h->words += (block->rows + 31) / 32;
    }
}

spry_status spryi_swept_cut_rows(spry_context *context, spryi_swept_making *made, const spryi_build_request *request,
                                 spry_error *err)
{
    spryi_swept *s = made->s;
    spryi_swept_head *h = &s->head;
    spry_status status = SPRY_OK;
    SPRYI_TRY(count_rows(context, made, err));
    h->blocks = request->parameters[0] > 0 ? request->parameters[0] : default_blocks(h, request);
    h->room = room(request, h);
    cutting c = {.a = made->a, .before = made->before, .most_sums = h->room - FURTHER};
    if (c.most_sums < h->room / 4) c.most_sums = h->room / 4;
    if (c.most_sums < 2) c.most_sums = 2;
    /* rounds of as many blocks, where one round's sums would not fit */
    const int64_t least = cut_by_cost(&c, (int64_t)ROW_SHARE * SPRYI_SWEPT_MOST_ENTRIES, NULL), round = h->blocks;
    if (least > round) h->blocks = (least + round - 1) / round * round;
    const int64_t cost = cost_for(&c, h->blocks);
    h->blocks = cut_by_cost(&c, cost, NULL);
    SPRYI_TRY(SPRYI_NEW(context, &made->cuts, h->blocks + 1, "cuts of row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->blocks, h->blocks, "row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->chains, h->blocks, "rows in pieces", err)); /* a block begins one at most */
    cut_by_cost(&c, cost, made->cuts);
    make_blocks(made);
    link_pieces(made);
done:
    return status;
}
