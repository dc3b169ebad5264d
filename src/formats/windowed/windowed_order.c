/*
 * Groups of rows, runs of columns and cells of windowed on the host, see windowed_layout.h. Every step looks at what
 * the step before has finished, so that the result depends on the matrix alone.
 */
#include "formats/windowed/windowed_order.h"
#include "base/context.h"
#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* What the steps share. */
typedef struct maker {
    spry_context *context;
    const spry_arrays *csr;
    spryi_windowed_order *order;
    spryi_windowed *s;
    uint64_t *hash;    /* of each row's pattern; later the sort key */
    uint64_t *reached; /* of each row that is a leader: its cell, see windowed_layout.h */
    uint8_t *other;    /* of each row: 1 if it is not made of runs */
    int64_t leaders;
    int threads;
    atomic_llong count; /* of what a loop finds */
    int round;
    int64_t spacing; /* of seeds */
} maker;

static const uint32_t none = SPRYI_WINDOWED_NO_ROW;

/* ---- rows --------------------------------------------------------------------------------------------- */

static uint64_t hash_of_row(const spry_arrays *csr, int64_t i)
{
    const int64_t begin = spryi_offset_of(csr, i), length = spryi_row_length(csr, i);
    uint64_t hash = spryi_windowed_hash_of_length(length);
    for (int64_t k = 0; k < length; k++) hash += spryi_windowed_hash_of_entry(k, spryi_minor_of(csr, begin + k));
    return hash;
}

static int same_pattern(const spry_arrays *csr, int64_t i, int64_t other)
{
    const size_t bytes = spry_index_type_bytes(csr->index_type);
    const char *columns = csr->indices;
    const int64_t length = spryi_row_length(csr, i);
    return spryi_row_length(csr, other) == length &&
           (length == 0 || memcmp(columns + (size_t)spryi_offset_of(csr, i) * bytes,
                                  columns + (size_t)spryi_offset_of(csr, other) * bytes, (size_t)length * bytes) == 0);
}

static int is_of_runs(const spry_arrays *csr, int64_t i, int64_t run, int64_t stride)
{
    const int64_t begin = spryi_offset_of(csr, i), length = spryi_row_length(csr, i), count = length / run;
    if (length % run != 0) return 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t first = spryi_minor_of(csr, begin + (stride == 1 ? t * run : t));
        if (stride > 1 && first >= stride) return 0;
        for (int64_t c = 1; c < run; c++)
            if (spryi_minor_of(csr, begin + (stride == 1 ? t * run + c : c * count + t)) != first + c * stride)
                return 0;
    }
    return 1;
}

/* *least = value, unless it is less. */
static void lower(uint64_t *least, uint64_t value)
{
    uint64_t there = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (value < there && !__atomic_compare_exchange_n(least, &there, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Offers the label of leader i to the leaders of its columns. */
static void offer_label(const spry_arrays *csr, int64_t i, const uint32_t *leader, uint64_t *reached)
{
    const int64_t end = spryi_offset_of(csr, i + 1);
    const uint64_t offer = spryi_windowed_offer(reached[i]);
    for (int64_t k = spryi_offset_of(csr, i); k < end; k++) {
        const uint32_t of_column = leader[spryi_minor_of(csr, k)];
        if (of_column != SPRYI_WINDOWED_NO_ROW) lower(&reached[of_column], offer);
    }
}

/* Columns of row i that are not yet marked with `mark`, and are now. */
static int64_t new_columns(const spry_arrays *csr, int64_t i, uint32_t *seen, uint32_t mark)
{
    const int64_t end = spryi_offset_of(csr, i + 1);
    int64_t count = 0;
    for (int64_t k = spryi_offset_of(csr, i); k < end; k++) {
        uint32_t *own = &seen[spryi_minor_of(csr, k)];
        count += *own != mark;
        *own = mark;
    }
    return count;
}

/* ---- groups ------------------------------------------------------------------------------------------- */

/* leader[i] = the first row with the hash of row i. */
static spry_status first_of_hash(maker *m, spry_error *err)
{
    const int64_t rows = m->csr->rows;
    uint32_t *leader = m->order->leader, *table = NULL;
    int64_t size = 16;
    while (size < 2 * rows) size *= 2;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(m->context, &table, size, "patterns of rows", err));
    memset(table, 0xff, (size_t)size * sizeof *table);
    for (int64_t i = 0; i < rows; i++) {
        if (leader[i] == none) continue;
        int64_t at = (int64_t)(m->hash[i] & (uint64_t)(size - 1));
        while (table[at] != none && m->hash[table[at]] != m->hash[i]) at = (at + 1) & (size - 1);
        if (table[at] == none) table[at] = (uint32_t)i;
        leader[i] = table[at];
    }
    spryi_release(m->context, table);
    return SPRY_OK;
}

/* Runs body for all rows; returns the sum of what it adds to m->count. */
static int64_t for_rows(maker *m, spryi_loop_fn body)
{
    m->count = 0;
    spryi_loop(m->context, m->threads, m->csr->rows, 0, body, m);
    return m->count;
}

static void hash_rows(void *job, int64_t begin, int64_t end)
{
    maker *m = job;
    int64_t count = 0;
    for (int64_t i = begin; i < end; i++) {
        const int is_long = spryi_row_length(m->csr, i) > SPRYI_WINDOWED_LONG;
        m->order->leader[i] = is_long ? none : 0;
        count += !is_long;
        if (!is_long) m->hash[i] = hash_of_row(m->csr, i);
    }
    m->count += count;
}

static void compare_with_leaders(void *job, int64_t begin, int64_t end)
{
    maker *m = job;
    uint32_t *leader = m->order->leader;
    int64_t leaders = 0;
    for (int64_t i = begin; i < end; i++) {
        if (leader[i] == none) continue;
        if (leader[i] != i && !same_pattern(m->csr, i, leader[i])) leader[i] = (uint32_t)i;
        leaders += leader[i] == i;
    }
    m->count += leaders;
}

static spry_status find_groups(maker *m, spry_error *err)
{
    m->order->count = for_rows(m, hash_rows);
    SPRYI_OK_OR_RETURN(first_of_hash(m, err));
    m->leaders = for_rows(m, compare_with_leaders);
    return SPRY_OK;
}

/* ---- runs --------------------------------------------------------------------------------------------- */

/* 1 if most runs of row i, which is made of them, join columns of one group; matrices that are not square have none. */
static int joins_groups(const maker *m, int64_t i, int64_t run, int64_t stride)
{
    if (m->csr->rows != m->csr->cols) return 1;
    const int64_t begin = spryi_offset_of(m->csr, i), count = spryi_row_length(m->csr, i) / run;
    int64_t joined = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t first = spryi_minor_of(m->csr, begin + (stride == 1 ? t * run : t));
        joined += m->order->leader[first] == m->order->leader[first + (run - 1) * stride];
    }
    return spryi_windowed_mostly_joined(count, joined);
}

/* 1 if 3 in 4 of the rows sampled that have entries are made of such runs. */
static int mostly_of_runs(const maker *m, int64_t run, int64_t stride)
{
    const int64_t rows = m->csr->rows, samples = rows < SPRYI_WINDOWED_SAMPLES ? rows : SPRYI_WINDOWED_SAMPLES;
    int64_t seen = 0, made = 0;
    for (int64_t n = 0; n < samples; n++) {
        const int64_t i = spryi_windowed_sample(rows, n, samples);
        if (m->order->leader[i] == none || spryi_row_length(m->csr, i) == 0) continue;
        seen++;
        made += is_of_runs(m->csr, i, run, stride) && joins_groups(m, i, run, stride);
    }
    return spryi_windowed_mostly_runs(seen, made);
}

static void find_runs(maker *m)
{
    spryi_windowed *s = m->s;
    s->run = s->stride = 1;
    if (!spryi_windowed_has_groups(m->leaders, m->order->count)) return;
    for (int is_apart = 0; is_apart < 2; is_apart++)
        for (int64_t run = SPRYI_WINDOWED_MOST_RUN; run > 1; run--) {
            const int64_t stride = is_apart ? m->csr->cols / run : 1;
            if (is_apart && (m->csr->cols % run != 0 || stride == 1)) continue;
            if (!mostly_of_runs(m, run, stride)) continue;
            s->run = run;
            s->stride = stride;
            return;
        }
}

/* other[i] of all rows; counts the rows that are made of runs. */
static void mark_others(void *job, int64_t begin, int64_t end)
{
    maker *m = job;
    int64_t of_runs = 0;
    for (int64_t i = begin; i < end; i++) {
        m->other[i] = 0;
        if (m->order->leader[i] == none) continue;
        if (m->s->run > 1) m->other[i] = (uint8_t)!is_of_runs(m->csr, i, m->s->run, m->s->stride);
        of_runs += !m->other[i];
    }
    m->count += of_runs;
}

/* ---- cells -------------------------------------------------------------------------------------------- */

static void plant_seeds(void *job, int64_t begin, int64_t end)
{
    const maker *m = job;
    for (int64_t i = begin; i < end; i++)
        m->reached[i] = m->order->leader[i] == i && spryi_windowed_is_seed(i, m->spacing)
                            ? spryi_windowed_reached(0, (uint32_t)i)
                            : SPRYI_WINDOWED_UNREACHED;
}

static void offer_labels(void *job, int64_t begin, int64_t end)
{
    maker *m = job;
    int64_t offered = 0;
    for (int64_t i = begin; i < end; i++) {
        if (!spryi_windowed_was_reached_in(__atomic_load_n(&m->reached[i], __ATOMIC_RELAXED), m->round)) continue;
        offer_label(m->csr, i, m->order->leader, m->reached);
        offered++;
    }
    m->count += offered;
}

static void find_cells(maker *m)
{
    m->spacing = spryi_windowed_spacing(m->s->window, m->leaders, m->order->count);
    (void)for_rows(m, plant_seeds);
    for (m->round = 0; m->round < SPRYI_WINDOWED_ROUNDS; m->round++)
        if (for_rows(m, offer_labels) == 0) break;
}

/* ---- order -------------------------------------------------------------------------------------------- */

/* A stable sort of order->row by 16 bits of the keys, which are by row. */
static void sort_pass(const maker *m, uint32_t *from, uint32_t *to, int shift, int64_t *at)
{
    enum { DIGITS = 1 << 16 };
    memset(at, 0, (DIGITS + 1) * sizeof *at);
    for (int64_t n = 0; n < m->order->count; n++) at[(m->hash[from[n]] >> shift & (DIGITS - 1)) + 1]++;
    for (int d = 0; d < DIGITS; d++) at[d + 1] += at[d];
    for (int64_t n = 0; n < m->order->count; n++) to[at[m->hash[from[n]] >> shift & (DIGITS - 1)]++] = from[n];
}

/* order->row by (made of runs first; cell where cells; leader; row). */
static spry_status sort_rows(maker *m, int cells, spry_error *err)
{
    enum { DIGITS = 1 << 16 };
    const int64_t rows = m->csr->rows;
    uint32_t *to = NULL;
    int64_t *at = NULL, n = 0;
    spry_status status = SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(m->context, &to, m->order->count, "rows", err));
    SPRYI_TRY(SPRYI_NEW(m->context, &at, DIGITS + 1, "digits of rows", err));
    for (int64_t i = 0; i < rows; i++) {
        const uint32_t leader = m->order->leader[i];
        if (leader == none) continue;
        m->order->row[n++] = (uint32_t)i;
        const uint32_t cell = cells ? spryi_windowed_cell(m->reached[leader], leader, m->s->window) : leader;
        m->hash[i] = spryi_windowed_key(cell, leader);
    }
    uint64_t most = 0;
    for (int64_t k = 0; k < n; k++) most |= m->hash[m->order->row[k]];
    for (int shift = 0; shift < 64; shift += 16) {
        if ((most >> shift & (DIGITS - 1)) == 0) continue;
        sort_pass(m, m->order->row, to, shift, at);
        uint32_t *const swap = m->order->row;
        m->order->row = to;
        to = swap;
    }
    n = 0;
    for (int others = 0; others < 2; others++) /* stably, made of runs first */
        for (int64_t k = 0; k < m->order->count; k++)
            if (m->other[m->order->row[k]] == others) to[n++] = m->order->row[k];
    uint32_t *const swap = m->order->row;
    m->order->row = to;
    to = swap;
done:
    spryi_release(m->context, to);
    spryi_release(m->context, at);
    return status;
}

/* Distinct columns of the windows that are sampled, summed up. */
static spry_status sampled_columns(const maker *m, int64_t *sum, spry_error *err)
{
    const int64_t windows = m->order->count / m->s->window;
    uint32_t *seen = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(m->context, &seen, m->csr->cols, "columns seen", err));
    memset(seen, 0, (size_t)m->csr->cols * sizeof *seen);
    *sum = 0;
    for (int64_t k = 0; k < SPRYI_WINDOWED_SAMPLED; k++) {
        const int64_t first = spryi_windowed_sample(windows, k, SPRYI_WINDOWED_SAMPLED) * m->s->window;
        for (int64_t n = first; n < first + m->s->window; n++)
            *sum += new_columns(m->csr, m->order->row[n], seen, (uint32_t)k + 1);
    }
    spryi_release(m->context, seen);
    return SPRY_OK;
}

/* Both orders where nothing is asked for, and the better one of them. */
static spry_status order_rows(maker *m, int64_t asked, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t natural = 0, in_cells = 0;
    const int may = spryi_windowed_may_have_cells(m->csr->rows, m->csr->cols, m->order->count, m->s->window, asked);
    if (!may) return sort_rows(m, 0, err);
    find_cells(m);
    if (asked == 0) {
        SPRYI_TRY(sort_rows(m, 0, err));
        SPRYI_TRY(sampled_columns(m, &natural, err));
    }
    SPRYI_TRY(sort_rows(m, 1, err));
    m->s->cells = 1;
    if (asked == 0) {
        SPRYI_TRY(sampled_columns(m, &in_cells, err));
        m->s->cells = spryi_windowed_cells_pay(in_cells, natural);
        if (!m->s->cells) SPRYI_TRY(sort_rows(m, 0, err));
    }
done:
    return status;
}

void spryi_windowed_clear_order(spry_context *context, spryi_windowed_order *order)
{
    spryi_release(context, order->row);
    spryi_release(context, order->leader);
    *order = (spryi_windowed_order){0};
}

spry_status spryi_windowed_find_order(spry_context *context, spryi_windowed_order *order, spryi_windowed *s,
                                      const spry_arrays *csr, int64_t asked, spry_error *err)
{
    const int64_t rows = csr->rows;
    maker m = {.context = context,
               .csr = csr,
               .order = order,
               .s = s,
               .threads = spryi_threads(context, csr->nnz + rows)};
    spry_status status = SPRY_OK;
    *order = (spryi_windowed_order){0};
    SPRYI_TRY(SPRYI_NEW(context, &order->leader, rows, "leaders of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &m.hash, rows, "patterns of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &m.reached, rows, "cells of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &m.other, rows, "kinds of rows", err));
    SPRYI_TRY(find_groups(&m, err));
    SPRYI_TRY(SPRYI_NEW(context, &order->row, order->count, "rows", err));
    find_runs(&m);
    order->of_runs = for_rows(&m, mark_others);
    SPRYI_TRY(order_rows(&m, asked, err));
done:
    spryi_release(context, m.hash);
    spryi_release(context, m.reached);
    spryi_release(context, m.other);
    return status;
}
