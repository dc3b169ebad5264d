/*
 * The storage of format sell: blocks of chunks, the sort of rows inside windows, build from CSR, conversion to CSR, and
 * container checks.
 */
#ifndef SPRYI_TEMPLATE
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/sell/sell.h"
#include "formats/shared/storage_limits.h"
#include "matrix/row_lengths.h"

#include <string.h>

#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/shared/slots_fill.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/sell/sell_format.c" /* the last part of this file */
#include "base/instantiate.h"

typedef void (*chunk_fn)(const spryi_sell *e, const spry_arrays *csr, int64_t chunk);
typedef void (*copy_fn)(const spryi_sell *e, const int64_t *offsets, void *columns, void *values, int64_t chunk);
static const chunk_fn fill_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_chunk);
static const copy_fn copy_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(copy_chunk);

/*
 * Returns true if the lanes of a chunk are consecutive rows. Sets *one_length to true if, in addition, all lengths are
 * equal and not 0.
 */
static bool is_in_order(const spryi_sell *e, int64_t first, bool *one_length)
{
    const int32_t *lengths = e->lengths + first;
    int32_t differs = 0;
    *one_length = false;
    if (first + e->c > e->a.rows) return false;
    for (int64_t l = 1; e->permutation && l < e->c; l++)
        differs |= e->permutation[first + l] - e->permutation[first + l - 1] - 1;
    if (differs) return false;
    for (int64_t l = 1; l < e->c; l++) differs |= lengths[l] ^ lengths[0];
    *one_length = !differs && lengths[0] > 0;
    return true;
}

#define SPRYI_TEMPLATE "formats/sell/sell_format.c" /* the second part of this file */
#include "base/instantiate_indices.h"

/* ---- sections ------------------------------------------------------------------------------------------ */

/*
 * Excludes a section's array, which the storage does not have. Its pointer then remains NULL, also in a restored
 * storage.
 */
static void exclude(spryi_section *section, void *storage)
{
    section->array = NULL;
    section->inside = storage;
}

static int list_sections(void *storage, spryi_section *list)
{
    spryi_sell *s = storage;
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    list[count++] = (spryi_section){"chunks", NULL, &s->c, 4, sizeof s->c}; /* c, sigma, chunk_count, slots */
    const int64_t chunks = s->chunk_count, lanes = spryi_size_product(chunks, s->c);
    const int64_t index_bytes = (int64_t)spryi_index_type_bytes(s->a.index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(s->a.value_type);
    const bool has_values = value_bytes > 0;
    list[count++] =
        (spryi_section){"offsets", (void **)&s->offsets, NULL, spryi_size_plus_one(chunks), sizeof *s->offsets};
    list[count++] = (spryi_section){"lengths", (void **)&s->lengths, NULL, lanes, sizeof *s->lengths};
    list[count++] = (spryi_section){"permutation", (void **)&s->permutation, NULL, s->sigma > 1 ? s->a.rows : 0,
                                    sizeof *s->permutation};
    if (s->sigma == 1) exclude(&list[count - 1], s);
    list[count++] = (spryi_section){"kinds", (void **)&s->kinds, NULL, chunks, sizeof *s->kinds};
    list[count++] = (spryi_section){"columns", &s->columns, NULL, s->slots, index_bytes};
    list[count++] =
        (spryi_section){"values", &s->values, NULL, has_values ? s->slots : 0, has_values ? value_bytes : 1};
    if (s->a.value_type == SPRY_PATTERN) exclude(&list[count - 1], s);
    return count;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Returns the number of slots plus the number of lanes before chunk k. */
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

/* ---- sort ---------------------------------------------------------------------------------------------- */

/* Memory of a thread for sorting a window. */
typedef struct scratch {
    int32_t *lengths;         /* lengths of the window's rows */
    uint16_t *order, *before; /* rows within the window */
} scratch;

static int64_t window_rows(int64_t c, int64_t sigma)
{
    return sigma > 1 ? sigma : c;
}

/*
 * Sets t->order to the window's rows, relative to its first row, by falling t->lengths. Rows of equal length keep their
 * order. A radix sort by bytes of the length, whose maximum is `longest`: usually one pass.
 */
static void sort_window(scratch *t, int64_t count, int32_t longest)
{
    for (int64_t r = 0; r < count; r++) t->order[r] = (uint16_t)r;
    for (int shift = 0; shift < 32 && longest >> shift > 0; shift += 8) {
        int32_t at[257] = {0};
        for (int64_t r = 0; r < count; r++) at[256 - (t->lengths[r] >> shift & 255)]++;
        for (int b = 0; b < 256; b++) at[b + 1] += at[b]; /* at[255 - byte]: first position of rows with this byte */
        for (int64_t r = 0; r < count; r++) {
            uint16_t row = t->order[r];
            t->before[at[255 - (t->lengths[row] >> shift & 255)]++] = row;
        }
        uint16_t *swapped = t->order;
        t->order = t->before;
        t->before = swapped;
    }
}

/*
 * Fills the permutation and the lengths of the window that begins with row `begin`. Sets offsets[k + 1] to the number
 * of slots of chunk k, for each chunk k of the window.
 */
static void arrange_window(scratch *t, spryi_sell *s, const spry_arrays *csr, int64_t begin, int64_t count)
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
    int64_t rows; /* rows of a window */
    int32_t *lengths;
    uint16_t *orders;
} window_job;

static void arrange_windows(void *job, int64_t first, int64_t last, int part)
{
    const window_job *j = job;
    const int64_t rows = j->rows, all = j->csr->rows;
    for (int64_t begin = first * rows; begin < last * rows && begin < all; begin += rows) {
        uint16_t *order = j->orders + 2 * part * rows;
        scratch t = {j->lengths + part * rows, order, order + rows};
        arrange_window(&t, j->s, j->csr, begin, begin + rows < all ? rows : all - begin);
    }
}

/*
 * Sorts the rows of csr into s, in which only a, c and sigma are set. Sets permutation, lengths, offsets and slots.
 * After a failure the caller releases the arrays.
 */
static spry_status arrange_rows(spry_context *context, spryi_sell *s, const spry_arrays *csr, spry_error *err)
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
    spryi_loop_in_parts(context, threads, windows, 0, arrange_windows, &j);
    spryi_scan(s->offsets, s->chunk_count);
    s->slots = s->offsets[s->chunk_count];
done:
    spryi_release(context, j.lengths);
    spryi_release(context, j.orders);
    return status;
}

/* Sorts the rows, or keeps their order if sorting would not save enough slots. */
static spry_status sort_rows(spry_context *context, spryi_sell *s, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spryi_sell unsorted = {.a = s->a, .c = s->c, .sigma = 1};
    spry_status status = arrange_rows(context, s, a, err);
    if (status != SPRY_OK || !spryi_sell_may_leave_rows(request)) return status;
    status = arrange_rows(context, &unsorted, a, err);
    if (status == SPRY_OK && !spryi_sell_sorting_pays(a, s->slots, unsorted.slots)) {
        const spryi_sell sorted = *s;
        *s = unsorted;
        unsorted = sorted;
    }
    spryi_release_arrays(context, &unsorted, list_sections);
    return status;
}

/* Sorts the rows into a zeroed *s and computes the cost. The caller releases the arrays, also after a failure. */
static spry_status survey(spry_context *context, spryi_sell *s, spryi_cost *cost, const spryi_build_request *request,
                          spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    s->a = spryi_shape_of(a);
    spryi_sell_resolve(&s->c, &s->sigma, request);
    spry_status status = spryi_sell_check_size(a->rows, spryi_longest_row(context, a), s->c, err);
    if (status == SPRY_OK) status = sort_rows(context, s, request, err);
    if (status == SPRY_OK) spryi_sell_cost(cost, a, s->slots, s->c, s->sigma);
    return status;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    spryi_sell s = {0};
    spry_status status = survey(context, &s, cost, request, err);
    spryi_release_arrays(context, &s, list_sections);
    return status;
}

/* ---- build --------------------------------------------------------------------------------------------- */

typedef struct chunk_job {
    const spryi_sell *s;
    const spry_arrays *csr;
    const spryi_compressed *to;
} chunk_job;

static void fill_blocks(void *job, int64_t first, int64_t last)
{
    const chunk_job *j = job;
    for (int64_t b = first; b < last; b++) {
        const int64_t begin = spryi_sell_block_begin(j->s, b), end = spryi_sell_block_begin(j->s, b + 1);
        for (int64_t chunk = begin; chunk < end; chunk++) SPRYI_INSTANCE(fill_table, j->csr)(j->s, j->csr, chunk);
        SPRYI_BY_PAIR(j->csr, find_kinds, j->s, j->csr, begin, end);
    }
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *a = &request->csr->a;
    spry_matrix *csr = NULL;
    spryi_sell *s = storage;
    spryi_cost cost = {0};
    spry_status status = SPRY_OK;
    SPRYI_TRY(survey(context, s, &cost, request, err));
    SPRYI_TRY(spryi_admit(request, "sell", &cost, err));
    SPRYI_TRY(spryi_matrix_narrowed(context, &csr, request->csr, request->narrow_type, err));
    s->a.value_type = csr->a.value_type;
    SPRYI_TRY(spryi_allocate_arrays(context, s, list_sections, err));
    spryi_loop(context, spryi_threads(context, a->rows + s->slots), spryi_sell_block_count(s), 1, fill_blocks,
               &(chunk_job){.s = s, .csr = &csr->a});
    if (request->options->op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_windows_build(context, &s->windows, a, s->sigma > 1 ? s->sigma : s->c, err));
done:
    spryi_matrix_release(csr);
    return status;
}

/* ---- conversion to CSR --------------------------------------------------------------------------------- */

static void copy_chunks(void *job, int64_t begin, int64_t end)
{
    const chunk_job *j = job;
    for (int64_t chunk = begin; chunk < end; chunk++)
        SPRYI_INSTANCE(copy_table, &j->s->a)(j->s, j->to->offsets, j->to->indices, j->to->values, chunk);
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_sell *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    for (int64_t l = 0; l < s->a.rows; l++) c.offsets[spryi_sell_row(s, l) + 1] = s->lengths[l];
    spryi_scan(c.offsets, s->a.rows);
    spryi_loop(context, spryi_threads(context, s->slots), s->chunk_count, 0, copy_chunks,
               &(chunk_job){.s = s, .to = &c});
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- containers and descriptor ------------------------------------------------------------------------- */

static spry_status bad_chunk(const char *what, int64_t chunk, spry_error *err)
{
    return spryi_fail_value(err, SPRY_BAD_FILE, NULL, chunk, 0, "sell: chunk %lld: %s", (long long)chunk, what);
}

/* Checks that every row of each window occurs once. */
static spry_status check_permutation(const spryi_sell *s, spry_error *err)
{
    static const size_t bytes = SPRYI_SELL_MOST_SIGMA / 8;
    uint8_t seen[SPRYI_SELL_MOST_SIGMA / 8];
    for (int64_t begin = 0; begin < s->a.rows; begin += s->sigma) {
        int64_t count = s->a.rows - begin < s->sigma ? s->a.rows - begin : s->sigma;
        memset(seen, 0, bytes);
        for (int64_t l = begin; l < begin + count; l++) {
            unsigned row = s->permutation[l], bit = 1u << row % 8;
            if (row >= count || (seen[row / 8] & bit))
                return spryi_fail_value(err, SPRY_BAD_FILE, NULL, row, count,
                                        "sell: lane %lld has row %u, which is outside its window of %lld rows or "
                                        "occurs twice",
                                        (long long)l, row, (long long)count);
            seen[row / 8] = (uint8_t)(seen[row / 8] | bit);
        }
    }
    return SPRY_OK;
}

/* Returns true if the columns of the lane are those of the previous lane plus 1. */
static bool lane_steps(const spryi_sell *s, int64_t lane)
{
    int64_t at = s->offsets[lane / s->c] + lane % s->c;
    int64_t before = s->offsets[(lane - 1) / s->c] + (lane - 1) % s->c;
    if (s->lengths[lane] != s->lengths[lane - 1]) return false;
    for (int64_t k = 0; k < s->lengths[lane] * s->c; k += s->c)
        if (spryi_index_at(s->columns, s->a.index_type, at + k) !=
            spryi_index_at(s->columns, s->a.index_type, before + k) + 1)
            return false;
    return true;
}

static spry_status check_kinds(const spryi_sell *s, spry_error *err)
{
    for (int64_t b = 0; b < spryi_sell_block_count(s); b++) {
        int64_t end = spryi_sell_block_begin(s, b + 1), chunks = 1;
        for (int64_t chunk = spryi_sell_block_begin(s, b); chunk < end; chunk += chunks) {
            const int kind = s->kinds[chunk];
            const bool strided = kind > 0 && kind <= SPRYI_SELL_MOST_RUN;
            chunks = strided ? kind : 1;
            if (kind == SPRYI_SELL_SCATTERED) continue;
            if (chunk + chunks > end || (chunk + chunks) * s->c > s->a.rows)
                return bad_chunk("a strided run ends outside of its block or of the matrix", chunk, err);
            for (int64_t l = chunk * s->c + 1; l < (chunk + chunks) * s->c; l++)
                if (spryi_sell_row(s, l) != spryi_sell_row(s, l - 1) + 1 || (strided && !lane_steps(s, l)))
                    return bad_chunk("rows or columns are not consecutive, although the kind states it", chunk, err);
        }
    }
    return SPRY_OK;
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    const spryi_sell *s = storage;
    spry_status status = SPRY_OK;
    int64_t nnz = 0;
    SPRYI_TRY(spryi_check_shape(&s->a, "sell", err));
    if (s->c < 1 || s->c > SPRYI_SELL_MOST_CHUNK || s->sigma < 1 || s->sigma > SPRYI_SELL_MOST_SIGMA ||
        (s->sigma > 1 && s->sigma % s->c != 0) || s->chunk_count != s->a.rows / s->c + (s->a.rows % s->c != 0))
        return spryi_fail(err, SPRY_BAD_FILE, NULL,
                          "sell: %lld chunks of %lld rows and windows of %lld do not match %lld rows",
                          (long long)s->chunk_count, (long long)s->c, (long long)s->sigma, (long long)s->a.rows);
    if (s->offsets[0] != 0 || s->offsets[s->chunk_count] != s->slots)
        return bad_chunk("the offsets do not lead from 0 to the number of slots", 0, err);
    for (int64_t chunk = 0; chunk < s->chunk_count; chunk++) {
        int64_t slots = s->offsets[chunk + 1] - s->offsets[chunk];
        if (slots < 0 || s->offsets[chunk + 1] > s->slots || slots % s->c != 0)
            return bad_chunk("the offsets fall, exceed the slots, or differ by no multiple of c", chunk, err);
        for (int64_t l = chunk * s->c; l < (chunk + 1) * s->c; l++) {
            if (s->lengths[l] < 0 || s->lengths[l] > (l < s->a.rows ? slots / s->c : 0))
                return bad_chunk("a row is longer than the chunk", chunk, err);
            nnz += s->lengths[l];
        }
    }
    if (nnz != s->a.nnz) return bad_chunk("the lengths do not add up to the number of entries", s->chunk_count, err);
    if (s->sigma > 1) SPRYI_TRY(check_permutation(s, err));
    SPRYI_TRY(spryi_check_columns(&s->a, s->columns, s->slots, "sell", err));
    SPRYI_TRY(check_kinds(s, err));
done:
    return status;
}

static const spryi_parameter parameters[] = {
    {"c", 1, SPRYI_SELL_MOST_CHUNK, "rows of a chunk"},
    {"sigma", 1, SPRYI_SELL_MOST_SIGMA, "rows of a window in which rows are sorted by length; 1: not sorted"},
    {0},
};

const spryi_format spryi_format_sell = {
    .name = "sell",
    .title = "SELL-C-sigma: ELL by chunks of rows of similar length",
    .formula = "slots values + slots columns + (m/c+1) offsets + m permutation + m lengths",
    .best_for = "unstructured meshes, rows of moderately different lengths",
    .parameters.list = parameters,
    .parameters.text = "c=NUMBER (rows of a chunk, default 16); sigma=NUMBER (rows of a sorted window, default 512)",
    .predict = predict,
    .build = build,
    .to_csr = to_csr,
    .layout.size = sizeof(spryi_sell),
    .layout.windows_at = offsetof(spryi_sell, windows),
    .layout.host_only = "kinds",
    .layout.sections_lack_columns = 1,
    .layout.sections = list_sections,
    .check = check,
    .choice.estimator = &spryi_sell_estimator,
};

#elif !defined SPRYI_ROW /* for each pair of index types: base/instantiate_indices.h */

/* Sets lengths[r] for rows begin .. begin + count - 1, and the least and greatest length. */
static void SPRY_FN(row_lengths)(const spry_arrays *csr, int64_t begin, int64_t count, int32_t *lengths, int32_t *least,
                                 int32_t *most)
{
    const SPRY_P *Ap = (const SPRY_P *)csr->offsets + begin;
    int32_t low = INT32_MAX, high = 0;
    for (int64_t r = 0; r < count; r++) {
        const int32_t length = (int32_t)(Ap[r + 1] - Ap[r]);
        lengths[r] = length;
        low = length < low ? length : low;
        high = length > high ? length : high;
    }
    *least = low;
    *most = high;
}

/*
 * Returns true if each of `count` rows from i on, i > 0, has the columns of the previous row plus one. The lengths of
 * all these rows must be equal.
 */
static bool SPRY_FN(steps)(const spry_arrays *csr, int64_t i, int64_t count)
{
    const SPRY_P *Ap = csr->offsets;
    const int64_t length = Ap[i] - Ap[i - 1];
    const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[i];
    SPRY_J other = 0;
    for (int64_t k = 0; k < count * length; k++) other |= (Aj[k] - Aj[k - length]) ^ 1;
    return other == 0;
}

/* Finds the kinds of chunks begin .. end - 1, which are one block. */
static void SPRY_FN(find_kinds)(const spryi_sell *e, const spry_arrays *csr, int64_t begin, int64_t end)
{
    uint8_t *run = NULL; /* run that may continue */
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t first = chunk * e->c;
        bool one_length;
        const bool in_order = is_in_order(e, first, &one_length);
        e->kinds[chunk] = in_order ? SPRYI_SELL_IN_ORDER : SPRYI_SELL_SCATTERED;
        const int64_t i = in_order ? spryi_sell_row(e, first) : 0;
        if (!one_length || (e->c > 1 && !SPRY_FN(steps)(csr, i + 1, e->c - 1))) {
            run = NULL;
            continue;
        }
        if (run && *run < SPRYI_SELL_MOST_RUN && i == spryi_sell_row(e, first - 1) + 1 &&
            e->lengths[first] == e->lengths[first - 1] && SPRY_FN(steps)(csr, i, 1)) {
            ++*run;
        } else {
            run = e->kinds + chunk;
            *run = 1;
        }
    }
}

#else /* for each stored type and pair of index types: base/instantiate.h */

static void SPRY_FN(fill_chunk)(const spryi_sell *e, const spry_arrays *csr, int64_t chunk)
{
    const SPRY_P *Ap = csr->offsets;
    const int64_t c = e->c, lane = chunk * c;
    SPRY_P first[SPRYI_SELL_MOST_CHUNK];
    int32_t least = INT32_MAX;
    for (int64_t l = 0; l < c; l++) {
        const int32_t length = e->lengths[lane + l];
        first[l] = length > 0 ? Ap[spryi_sell_row(e, lane + l)] : 0;
        least = length < least ? length : least;
    }
    const SPRY_FN(lanes) lanes = {.Aj = csr->indices,
                                  .Ax = csr->values,
                                  .first = first,
                                  .lengths = e->lengths + lane,
                                  .count = c,
                                  .columns = (SPRY_J *)e->columns + e->offsets[chunk],
                                  .values = csr->values ? (SPRY_B *)e->values + e->offsets[chunk] : NULL,
                                  .stride = c};
    SPRY_FN(fill_lanes)
    (&lanes, (e->offsets[chunk + 1] - e->offsets[chunk]) / c, least, csr->nnz > 0 ? *(const SPRY_J *)csr->indices : 0);
}

static void SPRY_FN(copy_chunk)(const spryi_sell *e, const int64_t *offsets, void *columns, void *values, int64_t chunk)
{
    for (int64_t l = chunk * e->c; l < (chunk + 1) * e->c && l < e->a.rows; l++) {
        int64_t from = e->offsets[chunk] + l - chunk * e->c, to = offsets[spryi_sell_row(e, l)];
        for (int64_t s = 0; s < e->lengths[l]; s++) {
            ((SPRY_J *)columns)[to + s] = ((const SPRY_J *)e->columns)[from + s * e->c];
            if (values) ((SPRY_B *)values)[to + s] = ((const SPRY_B *)e->values)[from + s * e->c];
        }
    }
}

#endif
