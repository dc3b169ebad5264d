/* From CSR to chunks and back, and the blocks of chunks that threads take. */
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/sell/sell.h"
#include "formats/shared/slots.h"

#include <string.h>

#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/shared/slots_fill.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/sell/sell_build.tmpl.c"
#include "base/instantiate.h"

typedef void (*chunk_fn)(const spryi_sell *e, const spry_arrays *csr, int64_t chunk);
typedef void (*take_fn)(const spryi_sell *e, const int64_t *offsets, void *columns, void *values, int64_t chunk);
static const chunk_fn fill_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_chunk);
static const take_fn take_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(take_chunk);

/* 1 if the lanes of a chunk are rows that follow each other; *one_length: of one length, not 0. */
static int is_in_order(const spryi_sell *e, int64_t first, int *one_length)
{
    const int32_t *lengths = e->lengths + first;
    int32_t differs = 0;
    *one_length = 0;
    if (first + e->c > e->a.rows) return 0;
    for (int64_t l = 1; e->permutation && l < e->c; l++)
        differs |= e->permutation[first + l] - e->permutation[first + l - 1] - 1;
    if (differs) return 0;
    for (int64_t l = 1; l < e->c; l++) differs |= lengths[l] ^ lengths[0];
    *one_length = !differs && lengths[0] > 0;
    return 1;
}

#define SPRYI_TEMPLATE "formats/sell/sell_kinds.tmpl.c"
#include "base/instantiate_indices.h"

/* ---- blocks ---------------------------------------------------------------------------------------- */

/* Slots and rows before chunk k. */
static int64_t cost_of(const spryi_sell *s, int64_t k)
{
    return s->offsets[k] + s->c * k;
}

static int64_t block_cost(const spryi_sell *s)
{
    int64_t cost = cost_of(s, s->chunk_count) / SPRYI_SELL_BLOCKS;
    return cost < SPRYI_SELL_LEAST_COST   ? SPRYI_SELL_LEAST_COST
           : cost > SPRYI_SELL_BLOCK_COST ? SPRYI_SELL_BLOCK_COST
                                          : cost;
}

int64_t spryi_sell_block_count(const spryi_sell *s)
{
    return spryi_blocks_of(cost_of(s, s->chunk_count), block_cost(s));
}

int64_t spryi_sell_block_begin(const spryi_sell *s, int64_t b)
{
    const int64_t cost = b * block_cost(s);
    if (cost == 0) return 0;
    if (cost >= cost_of(s, s->chunk_count)) return s->chunk_count;
    int64_t k;
    SPRYI_BISECT(k, 0, s->chunk_count, cost_of(s, k) < cost);
    return k;
}

/* ---- sorting --------------------------------------------------------------------------------------- */

/* A thread's memory for sorting a window. */
typedef struct scratch {
    int32_t *lengths;         /* of the window's rows */
    uint16_t *order, *before; /* rows within the window */
} scratch;

static int64_t window_rows(int64_t c, int64_t sigma)
{
    return sigma > 1 ? sigma : c;
}

/*
 * t->order = the window's rows, counted from its first, by falling length, equal ones in their order; by t->lengths,
 * of which the longest is given. A radix sort by bytes of the length: mostly one pass.
 */
static void sort_window(scratch *t, int64_t count, int32_t longest)
{
    for (int64_t r = 0; r < count; r++) t->order[r] = (uint16_t)r;
    for (int shift = 0; shift < 32 && longest >> shift > 0; shift += 8) {
        int32_t at[257] = {0};
        for (int64_t r = 0; r < count; r++) at[256 - (t->lengths[r] >> shift & 255)]++;
        for (int b = 0; b < 256; b++) at[b + 1] += at[b]; /* at[255 - byte]: where its rows begin */
        for (int64_t r = 0; r < count; r++) {
            uint16_t row = t->order[r];
            t->before[at[255 - (t->lengths[row] >> shift & 255)]++] = row;
        }
        uint16_t *swapped = t->order;
        t->order = t->before;
        t->before = swapped;
    }
}

/* Permutation, lengths and, as the width of each chunk so far, offsets of the window from row begin on. */
static void lay_window(scratch *t, spryi_sell *s, const spry_arrays *csr, int64_t begin, int64_t count)
{
    int32_t least, most;
    SPRYI_BY_PAIR(csr, row_lengths, csr, begin, count, t->lengths, &least, &most);
    uint16_t *permutation = s->permutation ? s->permutation + begin : NULL;
    int32_t *lengths = s->lengths + begin;
    if (!permutation || least == most) {
        memcpy(lengths, t->lengths, (size_t)count * sizeof *lengths);
        for (int64_t l = 0; permutation && l < count; l++) permutation[l] = (uint16_t)l;
    } else {
        sort_window(t, count, most);
        memcpy(permutation, t->order, (size_t)count * sizeof *permutation);
        for (int64_t l = 0; l < count; l++) lengths[l] = t->lengths[t->order[l]];
    }
    const int64_t lanes = (count + s->c - 1) / s->c * s->c;
    for (int64_t l = count; l < lanes; l++) lengths[l] = 0;
    for (int64_t l = 0; l < lanes; l += s->c) {
        int32_t width = lengths[l];
        for (int64_t q = l + 1; !permutation && q < l + s->c; q++) width = lengths[q] > width ? lengths[q] : width;
        s->offsets[(begin + l) / s->c + 1] = width * s->c;
    }
}

typedef struct window_job {
    spryi_sell *s;
    const spry_arrays *csr;
    int64_t rows; /* of a window */
    int32_t *lengths;
    uint16_t *orders;
} window_job;

static void lay_windows(void *job, int64_t first, int64_t last, int part)
{
    const window_job *j = job;
    const int64_t rows = j->rows, all = j->csr->rows;
    for (int64_t begin = first * rows; begin < last * rows && begin < all; begin += rows) {
        uint16_t *order = j->orders + 2 * part * rows;
        scratch t = {j->lengths + part * rows, order, order + rows};
        lay_window(&t, j->s, j->csr, begin, begin + rows < all ? rows : all - begin);
    }
}

spry_status spryi_sell_survey(spry_context *context, spryi_sell *s, const spry_arrays *csr, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int64_t rows = window_rows(s->c, s->sigma), windows = spryi_blocks_of(csr->rows, rows);
    const int threads = spryi_threads(context, csr->rows);
    window_job j = {.s = s, .csr = csr, .rows = rows};
    s->chunk_count = spryi_blocks_of(csr->rows, s->c);
    SPRYI_TRY(SPRYI_NEW(context, &s->offsets, s->chunk_count + 1, "chunk offsets", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->lengths, s->chunk_count * s->c, "row lengths", err));
    if (s->sigma > 1) SPRYI_TRY(SPRYI_NEW(context, &s->permutation, csr->rows, "row permutation", err));
    SPRYI_TRY(SPRYI_NEW(context, &j.lengths, rows * threads, "row lengths (scratch)", err));
    SPRYI_TRY(SPRYI_NEW(context, &j.orders, 2 * rows * threads, "row order (scratch)", err));
    spryi_loop_in_parts(context, threads, windows, 0, lay_windows, &j);
    spryi_scan(s->offsets, s->chunk_count);
    s->slots = s->offsets[s->chunk_count];
done:
    spryi_release(context, j.lengths);
    spryi_release(context, j.orders);
    return status;
}

typedef struct chunk_job {
    const spryi_sell *s;
    const spry_arrays *csr;
    chunk_fn fill;
    take_fn take;
    const spryi_compressed *c;
} chunk_job;

static void fill_blocks(void *job, int64_t first, int64_t last)
{
    const chunk_job *j = job;
    for (int64_t b = first; b < last; b++) {
        const int64_t begin = spryi_sell_block_begin(j->s, b), end = spryi_sell_block_begin(j->s, b + 1);
        for (int64_t chunk = begin; chunk < end; chunk++) j->fill(j->s, j->csr, chunk);
        SPRYI_BY_PAIR(j->csr, find_kinds, j->s, j->csr, begin, end);
    }
}

static void take_chunks(void *job, int64_t begin, int64_t end)
{
    const chunk_job *j = job;
    for (int64_t chunk = begin; chunk < end; chunk++) j->take(j->s, j->c->offsets, j->c->indices, j->c->values, chunk);
}

spry_status spryi_sell_make(spry_context *context, spryi_sell *s, const spry_arrays *csr, spry_error *err)
{
    spry_status status = SPRY_OK;
    chunk_job j = {.s = s, .csr = csr, .fill = SPRYI_INSTANCE(fill_table, csr)};
    SPRYI_TRY(spryi_allocate_arrays(context, s, spryi_sell_list, err));
    spryi_loop(context, spryi_threads(context, csr->rows + s->slots), spryi_sell_block_count(s), 1, fill_blocks, &j);
done:
    return status;
}

spry_status spryi_sell_to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_sell *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    for (int64_t l = 0; l < s->a.rows; l++) c.offsets[spryi_sell_row(s, l) + 1] = s->lengths[l];
    spryi_scan(c.offsets, s->a.rows);
    spryi_loop(context, spryi_threads(context, s->slots), s->chunk_count, 0, take_chunks,
               &(chunk_job){.s = s, .take = SPRYI_INSTANCE(take_table, &s->a), .c = &c});
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}
