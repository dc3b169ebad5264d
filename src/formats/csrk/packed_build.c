/*
 * From CSR to packed slices and back.
 *
 * Every super-super-row is gone along twice by the same code: first what its slices are is settled and counted
 * (survey), then, when a scan has told where its share of each array begins, written (make). Neither looks at
 * another's, so both are parallel, and the result depends on the matrix alone.
 */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/csrk/packed_part.h"
#include "formats/ell/ell.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A cache line to where it belongs; stream: past the caches, where it would not stay, so that nothing is read there. */
static inline void put_line(void *to, const void *line, int stream)
{
#ifdef __SSE2__
    if (stream) {
        for (int q = 0; q < 4; q++) _mm_stream_si128((__m128i *)to + q, ((const __m128i *)line)[q]);
        return;
    }
#endif
    memcpy(to, line, 64);
}

/* Lines that were streamed are there for other threads. */
static inline void after_lines(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Lines of b x b blocks, and the columns that go with them. */
static inline void fetch(spryi_packed_ahead *a, int b)
{
    for (int e = 0; a->values && e < b * b; e++, a->values += 64) __builtin_prefetch((const void *)a->values, 0, 2);
    if (a->columns) __builtin_prefetch((const void *)a->columns, 0, 2);
    if (a->columns) a->columns += a->column_bytes;
}

enum { FEW = 8 };

/* Whether a distance is one of the first FEW. */
static inline int is_among(const int32_t *distances, int32_t distance)
{
#ifdef __SSE2__
    const __m128i *list = (const __m128i *)(const void *)distances, one = _mm_set1_epi32(distance);
    const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(list), one);
    return _mm_movemask_epi8(_mm_or_si128(low, _mm_cmpeq_epi32(_mm_loadu_si128(list + 1), one))) != 0;
#else
    int among = 0;
    for (int q = 0; q < FEW; q++) among |= distances[q] == distance;
    return among;
#endif
}

static inline uint32_t first_bits(int count)
{
    return count >= 32 ? UINT32_MAX : (1u << count) - 1;
}

/* In lane l's mask of 1, 2 or 4 bytes, little-endian as the processors are. */
static inline void set_bit(uint8_t *masks, int bytes, int l, int bit)
{
    masks[l * bytes + bit / 8] = (uint8_t)(masks[l * bytes + bit / 8] | 1u << bit % 8);
}

/* Zeros for numbers begin .. end - 1. */
static inline void clear_values(const spryi_packed *s, int64_t begin, int64_t end)
{
    const size_t size = spry_type_bytes(s->a.value_type);
    if (s->values) memset((char *)s->values + (size_t)begin * size, 0, (size_t)(end - begin) * size);
}

/* What the survey settled of the slice; and what it is to remember. */
static inline void recall(spryi_packed_lanes *n, const spryi_packed_settled *r)
{
    n->kind = r->kind;
    n->full = r->full;
    n->width = r->width;
    n->shared = r->shared;
    n->padded = r->padded;
    n->low = r->low;
}

static inline spryi_packed_settled settled_of(const spryi_packed_lanes *n)
{
    return (spryi_packed_settled){.low = n->low,
                                  .kind = (uint8_t)n->kind,
                                  .full = (uint8_t)n->full,
                                  .width = (uint8_t)n->width,
                                  .shared = (uint8_t)n->shared,
                                  .padded = (uint8_t)n->padded,
                                  .b = (uint8_t)n->b};
}

#define SPRYI_TEMPLATE "formats/csrk/packed_build.tmpl.c"
#include "core/instantiate.h"

typedef void (*walk_fn)(spryi_packed_walk *w);
typedef void (*take_fn)(const spryi_packed_cursor *c, const int64_t *offsets, int32_t *next, void *columns,
                        void *values);
static const walk_fn walk_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(walk);
static const take_fn take_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(take_slot);

/* A pattern has no values: any slot does. */
static int slot_of(const spry_arrays *a)
{
    return a->value_type == SPRY_PATTERN ? 0 : spryi_value_slot(a->value_type);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Whether rows i .. i + b - 1 are dense blocks; *empty: there is nothing to be seen. */
static int are_blocks(const spry_arrays *csr, int64_t i, int64_t b, int *empty)
{
    const int64_t begin = spryi_index_at(csr->offsets, csr->offset_type, i);
    const int64_t length = spryi_index_at(csr->offsets, csr->offset_type, i + 1) - begin;
    *empty = spryi_index_at(csr->offsets, csr->offset_type, i + b) == begin;
    if (length % b != 0 || length > b * SPRYI_PACKED_MOST_WIDTH) return 0;
    for (int64_t r = 1; r < b; r++)
        if (spryi_index_at(csr->offsets, csr->offset_type, i + r + 1) != begin + (r + 1) * length) return 0;
    for (int64_t k = 0; k < b * length; k++) {
        const int64_t first = begin + k % length / b * b; /* of its block, in the first row */
        const int64_t j = spryi_index_at(csr->indices, csr->index_type, first);
        if (j % b != 0 || spryi_index_at(csr->indices, csr->index_type, begin + k) != j + k % b) return 0;
    }
    return 1;
}

/*
 * The largest b of which nearly all block rows are made, by samples at even distances; 1: none. Patterns are not looked
 * at: without values blocks spare little, and kernels would be needed twice.
 */
static int find_block(const spry_arrays *csr)
{
    if (csr->value_type == SPRY_PATTERN) return 1;
    for (int b = SPRYI_PACKED_MOST_BLOCK; b > 1; b--) {
        const int64_t rows = csr->rows / b, samples = rows < SPRYI_PACKED_SAMPLES ? rows : SPRYI_PACKED_SAMPLES;
        int64_t seen = 0, blocks = 0;
        for (int64_t n = 0; n < samples; n++) {
            int empty, found = are_blocks(csr, rows * n / samples * b, b, &empty);
            seen += !empty;
            blocks += found && !empty;
        }
        if (spryi_packed_are_blocks(seen, blocks)) return b;
    }
    return 1;
}

/* ---- survey -------------------------------------------------------------------------------------------- */

/* The way along group g. */
static spryi_packed_walk walk_of(const spryi_packed *s, const spry_arrays *csr, spryi_packed_surveyed *part, int64_t g)
{
    const int64_t rows = spryi_packed_group(s->block);
    return (spryi_packed_walk){
        .csr = csr,
        .b = (int)s->block,
        .begin = g * rows,
        .end = (g + 1) * rows < csr->rows ? (g + 1) * rows : csr->rows,
        .surveyed = part,
    };
}

static void add(spryi_packed_part *sum, const spryi_packed_part *part)
{
    sum->slices += part->slices;
    sum->indexed += part->indexed;
    sum->slots += part->slots;
    sum->units += part->units;
    sum->long_rows += part->long_rows;
    sum->pieces += part->pieces;
    sum->long_nnz += part->long_nnz;
}

spry_status spryi_packed_survey(spry_context *context, spryi_packed *s, spryi_packed_surveyed **parts,
                                const spry_arrays *csr, spry_error *err)
{
    s->a = *csr;
    s->a.offsets = s->a.indices = s->a.values = NULL;
    s->a.ownership = SPRY_COPY;
    s->a.symmetry = SPRY_GENERAL;
    s->block = find_block(csr);
    const int64_t groups = spryi_packed_groups(csr, s->block);
    const walk_fn walk = walk_table[slot_of(csr)][spryi_index_pair(csr->offset_type, csr->index_type)];
    spry_status status = SPRYI_NEW(context, parts, groups + 1, "super-super-rows", err);
    if (status != SPRY_OK) return status;
    spryi_packed_surveyed *p = *parts;
    p[0].at = (spryi_packed_part){0};
    int threads = spryi_threads(context, csr->nnz + csr->rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t g = 0; g < groups; g++) {
        spryi_packed_walk w = walk_of(s, csr, &p[g], g);
        walk(&w);
        p[g + 1].at = w.at;
    }
    for (int64_t g = 0; g < groups; g++) add(&p[g + 1].at, &p[g].at);
    spryi_packed_set_sizes(s, &p[groups].at);
    return spryi_packed_check_sizes(s, err);
}

spryi_packed_guess spryi_packed_guess_of(const spry_arrays *csr)
{
    enum { PLACES = 32 };
    const spryi_packed s = {.block = find_block(csr)};
    const int64_t groups = spryi_packed_groups(csr, s.block), places = groups < PLACES ? groups : PLACES;
    const walk_fn walk = walk_table[slot_of(csr)][spryi_index_pair(csr->offset_type, csr->index_type)];
    spryi_packed_part sum = {0};
    int64_t entries = 0, marked = 0, stepped = 0;
    for (int64_t p = 0; p < places; p++) {
        spryi_packed_surveyed part;
        spryi_packed_walk w = walk_of(&s, csr, &part, groups * p / places);
        walk(&w);
        add(&sum, &w.at);
        entries += spryi_index_at(csr->offsets, csr->offset_type, w.end) -
                   spryi_index_at(csr->offsets, csr->offset_type, w.begin);
        for (int n = 0; n < w.taken; n++) {
            const int steps = part.settled[n].kind == SPRYI_PACKED_STEPPED;
            marked += part.settled[n].b == 1 && !steps;
            stepped += steps;
        }
    }
    if (entries == 0) return (spryi_packed_guess){0};
    const int64_t index_bytes = (int64_t)spry_index_type_bytes(csr->index_type);
    const int64_t bytes = (sum.slots + sum.long_nnz) * (int64_t)spry_type_bytes(csr->value_type) +
                          sum.units * SPRYI_PACKED_UNIT + sum.long_nnz * index_bytes +
                          sum.slices * (int64_t)(sizeof(spryi_packed_slice) + sizeof(int32_t));
    return (spryi_packed_guess){.bytes = (double)bytes / (double)entries,
                                .block = s.block,
                                .unmarked = 1 - (double)marked / (double)sum.slices,
                                .stepped = (double)stepped / (double)sum.slices,
                                .slices = (double)sum.slices * (double)groups / (double)places};
}

/* ---- making -------------------------------------------------------------------------------------------- */

static spry_status allocate(spry_context *context, spryi_packed *s, spry_error *err)
{
    spry_status status = SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &s->slices, s->slice_count + 1, "packed slices", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->extras, s->slice_count, "packed slices", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->indices, s->units * SPRYI_PACKED_UNIT, "packed indices", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->long_rows, s->long_count, "long rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->long_first, s->long_count + 1, "long rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->pieces, s->piece_count + 1, "pieces of long rows", err));
    SPRYI_TRY(spryi_allocate(context, &s->long_columns, s->long_nnz, spry_index_type_bytes(s->a.index_type),
                             "columns of long rows", err));
    if (s->a.value_type == SPRY_PATTERN) return SPRY_OK;
    SPRYI_TRY(spryi_allocate(context, &s->values, s->slots, spry_type_bytes(s->a.value_type), "packed values", err));
    SPRYI_TRY(spryi_allocate(context, &s->long_values, s->long_nnz, spry_type_bytes(s->a.value_type),
                             "values of long rows", err));
done:
    return status;
}

spry_status spryi_packed_make(spry_context *context, spryi_packed *s, spryi_packed_surveyed *parts,
                              const spry_arrays *csr, spry_error *err)
{
    const spry_status status = allocate(context, s, err);
    if (status != SPRY_OK) return status;
    const int64_t groups = spryi_packed_groups(csr, s->block);
    const walk_fn walk = walk_table[slot_of(csr)][spryi_index_pair(csr->offset_type, csr->index_type)];
    const int stream = s->slots * (int64_t)spry_type_bytes(s->a.value_type) >= SPRYI_PACKED_STREAM_BYTES &&
                       (uintptr_t)s->values % 64 == 0;
    int threads = spryi_threads(context, csr->nnz + csr->rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t g = 0; g < groups; g++) {
        spryi_packed_walk w = walk_of(s, csr, &parts[g], g);
        w.s = s;
        w.at = parts[g].at;
        w.stream = stream;
        walk(&w);
    }
    s->slices[s->slice_count] = spryi_packed_last_record(s);
    s->long_first[s->long_count] = s->piece_count;
    s->pieces[s->piece_count] = s->long_nnz;
    return SPRY_OK;
}

/* ---- back ---------------------------------------------------------------------------------------------- */

/* offsets[i + 1] = the entries of row i of the slice. */
static void count_rows(const spryi_packed *s, int64_t slice, int64_t *offsets)
{
    spryi_packed_cursor c;
    int32_t length[SPRYI_PACKED_LANES] = {0};
    spryi_packed_open(&c, s, slice);
    const uint32_t lanes = spryi_packed_row_mask(&c);
    while (spryi_packed_next(&c))
        for (int l = 0; l < SPRYI_PACKED_LANES; l++) length[l] += (int32_t)(c.mask >> l & 1);
    for (int l = 0; l < SPRYI_PACKED_LANES; l++)
        for (int r = 0; lanes >> l & 1 && r < c.b; r++) offsets[spryi_packed_row(&c, l) + r + 1] = length[l] * c.b;
}

static void take_long_rows(const spryi_packed *s, const spryi_compressed *c)
{
    const size_t index_bytes = spry_index_type_bytes(s->a.index_type), value_bytes = spry_type_bytes(s->a.value_type);
    for (int64_t n = 0; n < s->long_count; n++) {
        const int64_t from = s->pieces[s->long_first[n]], to = c->offsets[s->long_rows[n]];
        const size_t length = (size_t)(s->pieces[s->long_first[n + 1]] - from);
        memcpy((char *)c->indices + (size_t)to * index_bytes, (char *)s->long_columns + (size_t)from * index_bytes,
               length * index_bytes);
        if (c->values)
            memcpy((char *)c->values + (size_t)to * value_bytes, (char *)s->long_values + (size_t)from * value_bytes,
                   length * value_bytes);
    }
}

spry_status spryi_packed_to_csr(spry_context *context, spry_matrix **csr, const spryi_packed *s, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    const take_fn take = take_table[slot_of(&s->a)][spryi_index_pair(s->a.offset_type, s->a.index_type)];
    SPRYI_TRY(spryi_ell_start_csr(context, &c, &s->a, err));
    int threads = spryi_threads(context, s->a.nnz + s->a.rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < s->slice_count; k++) count_rows(s, k, c.offsets);
    for (int64_t n = 0; n < s->long_count; n++)
        c.offsets[s->long_rows[n] + 1] = s->pieces[s->long_first[n + 1]] - s->pieces[s->long_first[n]];
    spryi_scan(c.offsets, s->a.rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < s->slice_count; k++) {
        spryi_packed_cursor cursor;
        int32_t next[SPRYI_PACKED_LANES] = {0};
        spryi_packed_open(&cursor, s, k);
        while (spryi_packed_next(&cursor)) take(&cursor, c.offsets, next, c.indices, c.values);
    }
    take_long_rows(s, &c);
    SPRYI_TRY(spryi_ell_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}
