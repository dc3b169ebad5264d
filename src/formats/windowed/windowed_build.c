/*
 * Builds windowed from CSR on the host, by the steps of windowed_layout.h.
 *
 * Steps 1 to 3 find groups of rows, runs of columns, and cells. Step 4 orders the rows. Each step begins when the
 * previous step is complete. Steps 5 and 6 cut the ordered rows into windows. They run twice: first to count, then to
 * store. Between them a scan computes the position of each window in the arrays. No window reads another window. All
 * loops are parallel, and the result depends only on the matrix.
 */
#include "base/context.h"
#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/shared/owned_arrays.h"
#include "formats/shared/storage_limits.h"
#include "formats/windowed/windowed_driver.h"
#include "formats/windowed/windowed_layout.h"

#include <string.h>

/* Order of the rows in windows. */
typedef struct row_order {
    int64_t count;    /* number of rows that are not long */
    int64_t of_runs;  /* number of rows that consist of runs; they come first, in windows of their own */
    uint32_t *row;    /* the `count` rows in their new order */
    uint32_t *leader; /* leader of each row of the matrix; SPRYI_WINDOWED_NO_ROW if the row is long */
} row_order;

/* State shared by the steps that order the rows. */
typedef struct ordering {
    spry_context *context;
    const spry_arrays *csr;
    row_order *order;
    spryi_windowed *s;
    uint64_t *hash;        /* hash of each row's pattern, later the row's sort key */
    uint64_t *reached;     /* state of each row that is a leader, see windowed_layout.h */
    uint8_t *without_runs; /* 1 for each row that does not consist of runs */
    int64_t leaders;
    int threads;
    atomic_llong count; /* sum that the current loop computes */
    int round;
    int64_t spacing; /* leaders per seed */
} ordering;

static const uint32_t none = SPRYI_WINDOWED_NO_ROW;

/* ---- rows and their patterns --------------------------------------------------------------------------- */

static uint64_t hash_of_row(const spry_arrays *csr, int64_t i)
{
    const int64_t begin = spryi_offset_of(csr, i), length = spryi_row_length(csr, i);
    uint64_t hash = spryi_windowed_hash_of_length(length);
    for (int64_t k = 0; k < length; k++) hash += spryi_windowed_hash_of_entry(k, spryi_minor_of(csr, begin + k));
    return hash;
}

static bool same_pattern(const spry_arrays *csr, int64_t i, int64_t row)
{
    const size_t bytes = spryi_index_type_bytes(csr->index_type);
    const char *columns = csr->indices;
    const int64_t length = spryi_row_length(csr, i);
    return spryi_row_length(csr, row) == length &&
           (length == 0 || memcmp(columns + (size_t)spryi_offset_of(csr, i) * bytes,
                                  columns + (size_t)spryi_offset_of(csr, row) * bytes, (size_t)length * bytes) == 0);
}

static bool is_of_runs(const spry_arrays *csr, int64_t i, int64_t run, int64_t stride)
{
    const int64_t begin = spryi_offset_of(csr, i), length = spryi_row_length(csr, i), count = length / run;
    if (length % run != 0) return false;
    for (int64_t t = 0; t < count; t++) {
        const int64_t first = spryi_minor_of(csr, begin + (stride == 1 ? t * run : t));
        if (stride > 1 && first >= stride) return false;
        for (int64_t c = 1; c < run; c++)
            if (spryi_minor_of(csr, begin + (stride == 1 ? t * run + c : c * count + t)) != first + c * stride)
                return false;
    }
    return true;
}

/* Sets *least to the minimum of *least and value, atomically. */
static void lower(uint64_t *least, uint64_t value)
{
    uint64_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(least, &old, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Offers the label of leader i to leader[j] for each column j of row i. */
static void offer_label(const spry_arrays *csr, int64_t i, const uint32_t *leader, uint64_t *reached)
{
    const int64_t end = spryi_offset_of(csr, i + 1);
    const uint64_t offer = spryi_windowed_offer(reached[i]);
    for (int64_t k = spryi_offset_of(csr, i); k < end; k++) {
        const uint32_t of_column = leader[spryi_minor_of(csr, k)];
        if (of_column != SPRYI_WINDOWED_NO_ROW) lower(&reached[of_column], offer);
    }
}

/* Marks the columns of row i with `mark`. Returns the number of newly marked columns. */
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

/* ---- step 1: groups of rows ---------------------------------------------------------------------------- */

/* Sets leader[i] to the first row that has the hash of row i. */
static spry_status first_of_hash(ordering *m, spry_error *err)
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

/* Runs body for all rows. Returns the sum that body adds to m->count. */
static int64_t for_rows(ordering *m, spryi_loop_fn body)
{
    m->count = 0;
    spryi_loop(m->context, m->threads, m->csr->rows, 0, body, m);
    return m->count;
}

static void hash_rows(void *job, int64_t begin, int64_t end)
{
    ordering *m = job;
    int64_t count = 0;
    for (int64_t i = begin; i < end; i++) {
        const bool is_long = spryi_row_length(m->csr, i) > SPRYI_WINDOWED_LONG;
        m->order->leader[i] = is_long ? none : 0;
        count += !is_long;
        if (!is_long) m->hash[i] = hash_of_row(m->csr, i);
    }
    m->count += count;
}

static void compare_with_leaders(void *job, int64_t begin, int64_t end)
{
    ordering *m = job;
    uint32_t *leader = m->order->leader;
    int64_t leaders = 0;
    for (int64_t i = begin; i < end; i++) {
        if (leader[i] == none) continue;
        if (leader[i] != i && !same_pattern(m->csr, i, leader[i])) leader[i] = (uint32_t)i;
        leaders += leader[i] == i;
    }
    m->count += leaders;
}

static spry_status find_groups(ordering *m, spry_error *err)
{
    m->order->count = for_rows(m, hash_rows);
    SPRYI_OK_OR_RETURN(first_of_hash(m, err));
    m->leaders = for_rows(m, compare_with_leaders);
    return SPRY_OK;
}

/* ---- step 2: runs of columns --------------------------------------------------------------------------- */

/*
 * Returns true if at least half of the runs of row i are joined. A run is joined if the rows whose indices are the
 * run's first and last column belong to one group. Always returns true for matrices that are not square.
 */
static bool joins_groups(const ordering *m, int64_t i, int64_t run, int64_t stride)
{
    if (m->csr->rows != m->csr->columns) return true;
    const int64_t begin = spryi_offset_of(m->csr, i), count = spryi_row_length(m->csr, i) / run;
    int64_t joined = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t first = spryi_minor_of(m->csr, begin + (stride == 1 ? t * run : t));
        joined += m->order->leader[first] == m->order->leader[first + (run - 1) * stride];
    }
    return spryi_windowed_mostly_joined(count, joined);
}

/* Returns true if at least 3 of 4 sampled rows with entries consist of runs of this length and stride. */
static bool mostly_of_runs(const ordering *m, int64_t run, int64_t stride)
{
    const int64_t rows = m->csr->rows, samples = rows < SPRYI_WINDOWED_SAMPLES ? rows : SPRYI_WINDOWED_SAMPLES;
    int64_t seen = 0, matching = 0;
    for (int64_t n = 0; n < samples; n++) {
        const int64_t i = spryi_windowed_sample(rows, n, samples);
        if (m->order->leader[i] == none || spryi_row_length(m->csr, i) == 0) continue;
        seen++;
        matching += is_of_runs(m->csr, i, run, stride) && joins_groups(m, i, run, stride);
    }
    return spryi_windowed_mostly_runs(seen, matching);
}

static void find_runs(ordering *m)
{
    spryi_windowed *s = m->s;
    s->run = s->stride = 1;
    if (!spryi_windowed_has_groups(m->leaders, m->order->count)) return;
    for (int strided = 0; strided < 2; strided++)
        for (int64_t run = SPRYI_WINDOWED_MOST_RUN; run > 1; run--) {
            const int64_t stride = strided ? m->csr->columns / run : 1;
            if (strided && (m->csr->columns % run != 0 || stride == 1)) continue;
            if (!mostly_of_runs(m, run, stride)) continue;
            s->run = run;
            s->stride = stride;
            return;
        }
}

/* Sets without_runs[i] for all rows. Counts the rows that consist of runs. */
static void mark_without_runs(void *job, int64_t begin, int64_t end)
{
    ordering *m = job;
    int64_t of_runs = 0;
    for (int64_t i = begin; i < end; i++) {
        m->without_runs[i] = 0;
        if (m->order->leader[i] == none) continue;
        if (m->s->run > 1) m->without_runs[i] = (uint8_t)!is_of_runs(m->csr, i, m->s->run, m->s->stride);
        of_runs += !m->without_runs[i];
    }
    m->count += of_runs;
}

/* ---- step 3: cells ------------------------------------------------------------------------------------- */

static void plant_seeds(void *job, int64_t begin, int64_t end)
{
    const ordering *m = job;
    for (int64_t i = begin; i < end; i++)
        m->reached[i] = m->order->leader[i] == i && spryi_windowed_is_seed(i, m->spacing)
                            ? spryi_windowed_reached(0, (uint32_t)i)
                            : SPRYI_WINDOWED_UNREACHED;
}

static void offer_labels(void *job, int64_t begin, int64_t end)
{
    ordering *m = job;
    int64_t offered = 0;
    for (int64_t i = begin; i < end; i++) {
        if (!spryi_windowed_was_reached_in(__atomic_load_n(&m->reached[i], __ATOMIC_RELAXED), m->round)) continue;
        offer_label(m->csr, i, m->order->leader, m->reached);
        offered++;
    }
    m->count += offered;
}

static void find_cells(ordering *m)
{
    m->spacing = spryi_windowed_spacing(m->s->window, m->leaders, m->order->count);
    (void)for_rows(m, plant_seeds);
    for (m->round = 0; m->round < SPRYI_WINDOWED_ROUNDS; m->round++)
        if (for_rows(m, offer_labels) == 0) break;
}

/* ---- step 4: order ------------------------------------------------------------------------------------- */

/* Sorts rows, stably, by 16 bits of their keys. */
static void sort_order_pass(const ordering *m, uint32_t *from, uint32_t *to, int shift, int64_t *at)
{
    enum { DIGITS = 1 << 16 };
    memset(at, 0, (DIGITS + 1) * sizeof *at);
    for (int64_t n = 0; n < m->order->count; n++) at[(m->hash[from[n]] >> shift & (DIGITS - 1)) + 1]++;
    for (int d = 0; d < DIGITS; d++) at[d + 1] += at[d];
    for (int64_t n = 0; n < m->order->count; n++) to[at[m->hash[from[n]] >> shift & (DIGITS - 1)]++] = from[n];
}

static void swap_rows(uint32_t **a, uint32_t **b)
{
    uint32_t *const swap = *a;
    *a = *b;
    *b = swap;
}

/*
 * Sorts order->row. Rows that consist of runs come first. Rows of each kind are sorted by cell (if `cells`), leader and
 * row.
 */
static spry_status sort_order(ordering *m, bool cells, spry_error *err)
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
        sort_order_pass(m, m->order->row, to, shift, at);
        swap_rows(&m->order->row, &to);
    }
    n = 0;
    for (int without = 0; without < 2; without++) /* stable sort by kind: rows of runs first */
        for (int64_t k = 0; k < m->order->count; k++)
            if (m->without_runs[m->order->row[k]] == without) to[n++] = m->order->row[k];
    swap_rows(&m->order->row, &to);
done:
    spryi_release(m->context, to);
    spryi_release(m->context, at);
    return status;
}

/* Counts the distinct columns of each sampled window. Sets *sum to the total. */
static spry_status sampled_columns(const ordering *m, int64_t *sum, spry_error *err)
{
    const int64_t windows = m->order->count / m->s->window;
    uint32_t *seen = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(m->context, &seen, m->csr->columns, "columns seen", err));
    memset(seen, 0, (size_t)m->csr->columns * sizeof *seen);
    *sum = 0;
    for (int64_t k = 0; k < SPRYI_WINDOWED_SAMPLED; k++) {
        const int64_t first = spryi_windowed_sample(windows, k, SPRYI_WINDOWED_SAMPLED) * m->s->window;
        for (int64_t n = first; n < first + m->s->window; n++)
            *sum += new_columns(m->csr, m->order->row[n], seen, (uint32_t)k + 1);
    }
    spryi_release(m->context, seen);
    return SPRY_OK;
}

/*
 * Orders the rows. asked: the parameter order. If asked is 0, tries natural order and cells, and keeps cells if windows
 * then have clearly fewer columns.
 */
static spry_status order_rows(ordering *m, int64_t asked, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t natural = 0, in_cells = 0;
    const bool may = spryi_windowed_may_have_cells(m->csr->rows, m->csr->columns, m->order->count, m->s->window, asked);
    if (!may) return sort_order(m, false, err);
    find_cells(m);
    if (asked == 0) {
        SPRYI_TRY(sort_order(m, false, err));
        SPRYI_TRY(sampled_columns(m, &natural, err));
    }
    SPRYI_TRY(sort_order(m, true, err));
    m->s->cells = 1;
    if (asked == 0) {
        SPRYI_TRY(sampled_columns(m, &in_cells, err));
        m->s->cells = spryi_windowed_cells_pay(in_cells, natural);
        if (!m->s->cells) SPRYI_TRY(sort_order(m, false, err));
    }
done:
    return status;
}

/*
 * Sets the order of csr's rows, and s->run, stride and cells. s->window is already set. The caller releases the order.
 */
static spry_status find_order(spry_context *context, row_order *order, spryi_windowed *s, const spry_arrays *csr,
                              int64_t asked, spry_error *err)
{
    const int64_t rows = csr->rows;
    ordering m = {.context = context,
                  .csr = csr,
                  .order = order,
                  .s = s,
                  .threads = spryi_threads(context, csr->nnz + rows)};
    spry_status status = SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &order->leader, rows, "leaders of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &m.hash, rows, "patterns of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &m.reached, rows, "cells of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &m.without_runs, rows, "kinds of rows", err));
    SPRYI_TRY(find_groups(&m, err));
    SPRYI_TRY(SPRYI_NEW(context, &order->row, order->count, "rows", err));
    find_runs(&m);
    order->of_runs = for_rows(&m, mark_without_runs);
    SPRYI_TRY(order_rows(&m, asked, err));
done:
    spryi_release(context, m.hash);
    spryi_release(context, m.reached);
    spryi_release(context, m.without_runs);
    return status;
}

/* ---- dictionary of a window ---------------------------------------------------------------------------- */

enum {
    MOST_COLUMNS = SPRYI_WINDOWED_LANES * SPRYI_WINDOWED_LONG, /* most columns of the rows of one slice */
    TABLE_BITS = 15, /* bits of an index in the hash table, which has 2*MOST_COLUMNS slots */
    INDEX_BITS = 14,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS
};
_Static_assert(1 << INDEX_BITS == MOST_COLUMNS, "a key has room for an index");

/* The distinct columns of the rows of a window, gathered by a hash table. Must be zero before its first use. */
typedef struct dictionary {
    int64_t count;
    int64_t column[MOST_COLUMNS];    /* columns in order of first occurrence */
    uint16_t slot[MOST_COLUMNS];     /* slot of each column in the table */
    uint16_t number[MOST_COLUMNS];   /* position of each column in `rising` */
    int64_t rising[MOST_COLUMNS];    /* columns in increasing order */
    uint64_t keys[2][MOST_COLUMNS];  /* for sorting */
    uint16_t table[1 << TABLE_BITS]; /* 1 + the index in `column`; 0: free */
} dictionary;

/* Returns the slot of column j, or the free slot for it. */
static inline int64_t slot_of(const dictionary *d, int64_t j)
{
    const int64_t last = (1 << TABLE_BITS) - 1;
    int64_t at = (int64_t)((uint64_t)j * 0x9E3779B97F4A7C15u >> (64 - TABLE_BITS));
    while (d->table[at] != 0 && d->column[d->table[at] - 1] != j) at = (at + 1) & last;
    return at;
}

/* Adds column j. The dictionary must have fewer than MOST_COLUMNS columns. */
static inline void add_column(dictionary *d, int64_t j)
{
    const int64_t at = slot_of(d, j);
    if (d->table[at] != 0) return;
    d->column[d->count] = j;
    d->slot[d->count++] = (uint16_t)at;
    d->table[at] = (uint16_t)d->count;
}

/* Returns the position of column j in d->rising. sort_columns must have been called. */
static inline uint16_t number_of(const dictionary *d, int64_t j)
{
    return d->number[d->table[slot_of(d, j)] - 1];
}

static void clear_columns(dictionary *d)
{
    for (int64_t n = 0; n < d->count; n++) d->table[d->slot[n]] = 0;
    d->count = 0;
}

/* Sorts keys, stably, by the digit that begins at bit `shift`. */
static void sort_pass(const uint64_t *from, uint64_t *to, int64_t count, int shift)
{
    int32_t at[DIGITS + 1] = {0};
    for (int64_t n = 0; n < count; n++) at[(from[n] >> shift & (DIGITS - 1)) + 1]++;
    for (int digit = 0; digit < DIGITS; digit++) at[digit + 1] += at[digit];
    for (int64_t n = 0; n < count; n++) to[at[from[n] >> shift & (DIGITS - 1)]++] = from[n];
}

/* Fills rising and number. A key holds the column minus the least column (at most 48 bits) and the column's index. */
static void sort_columns(dictionary *d)
{
    uint64_t *keys = d->keys[0], *other = d->keys[1], most = 0;
    int64_t low = INT64_MAX;
    for (int64_t n = 0; n < d->count; n++)
        if (d->column[n] < low) low = d->column[n];
    for (int64_t n = 0; n < d->count; n++) {
        keys[n] = (uint64_t)(d->column[n] - low) << INDEX_BITS | (uint64_t)n;
        most |= keys[n];
    }
    for (int shift = INDEX_BITS; shift < 64 && most >> shift != 0; shift += DIGIT_BITS) {
        sort_pass(keys, other, d->count, shift);
        uint64_t *const swap = keys;
        keys = other;
        other = swap;
    }
    for (int64_t n = 0; n < d->count; n++) {
        d->rising[n] = low + (int64_t)(keys[n] >> INDEX_BITS);
        d->number[keys[n] & (MOST_COLUMNS - 1)] = (uint16_t)n;
    }
}

/* ---- step 6: inside a window --------------------------------------------------------------------------- */

/* Scratch memory of a thread that builds windows. Must be zero before its first use. */
typedef struct scratch {
    dictionary columns;                        /* first columns of the window's runs */
    uint32_t row[SPRYI_WINDOWED_MOST_ROWS];    /* rows of the window by decreasing length */
    uint16_t length[SPRYI_WINDOWED_MOST_ROWS]; /* length of each of these rows, in runs */
} scratch;

typedef struct window_pass {
    const spry_arrays *csr;
    const row_order *order;
    spryi_windowed *s; /* receives the sizes and, if the pass stores, the arrays */
    bool stores;
} window_pass;

/* A slice before it is stored. Lengths are in runs. */
typedef struct slice_draft {
    int64_t row[SPRYI_WINDOWED_LANES]; /* -1: none */
    int length[SPRYI_WINDOWED_LANES];
    int group[SPRYI_WINDOWED_LANES];          /* group of each lane */
    int first_lane[SPRYI_WINDOWED_LANES + 1]; /* first lane of each group */
    int groups, width, whole, bits;
    int64_t run, stride, entries;
} slice_draft;

/* Sets the rows and groups of a slice. Its first row is row `from` of the window. */
static void draft_slice(slice_draft *n, const window_pass *pass, const scratch *scratch, int from, int rows)
{
    uint32_t leader = SPRYI_WINDOWED_NO_ROW;
    n->groups = 0;
    n->entries = 0;
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) {
        const bool is_row = from + l < rows;
        n->row[l] = is_row ? (int64_t)scratch->row[from + l] : -1;
        n->length[l] = is_row ? scratch->length[from + l] : 0;
        n->entries += n->length[l] * n->run;
        const uint32_t own = is_row ? pass->order->leader[n->row[l]] : SPRYI_WINDOWED_NO_ROW;
        if (l == 0 || own != leader) n->first_lane[n->groups++] = l;
        leader = own;
        n->group[l] = n->groups - 1;
    }
    n->first_lane[n->groups] = SPRYI_WINDOWED_LANES;
    n->width = n->length[0];
    n->whole = n->length[SPRYI_WINDOWED_LANES - 1];
}

static int groups_with_word(const slice_draft *n, int64_t q)
{
    int count = 0;
    while (count < n->groups && (int64_t)n->length[n->first_lane[count]] * n->bits > 32 * q) count++;
    return count;
}

static int64_t index_bytes(const slice_draft *n)
{
    int64_t words = 0;
    for (int g = 0; g < n->groups; g++) words += spryi_windowed_words(n->length[n->first_lane[g]], n->bits);
    return spryi_windowed_head_bytes(n->groups) + 4 * words;
}

/*
 * Stores the head of the slice's indices: the group of each lane and the length of each group. Returns the address of
 * the words.
 */
static uint32_t *store_head(const slice_draft *n, uint8_t *to)
{
    if (n->groups < SPRYI_WINDOWED_LANES) {
        for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) to[l] = (uint8_t)n->group[l];
        to += SPRYI_WINDOWED_LANES;
    }
    for (int g = 0; g < n->groups; g++) ((uint16_t *)(void *)to)[g] = (uint16_t)n->length[n->first_lane[g]];
    return (uint32_t *)(void *)(to + (n->groups + 1) / 2 * 4);
}

/* Stores the window's record, pages and dictionary if pass->stores. Returns the number of pages. */
static int64_t store_dictionary(const window_pass *pass, const int64_t *columns, int64_t count, int64_t run,
                                const spryi_windowed_counts *at)
{
    spryi_windowed *s = pass->s;
    int64_t pages = 0, high = -1;
    if (pass->stores)
        s->windows[at->windows] =
            (spryi_windowed_window){.slice = (uint32_t)at->slices,
                                    .dictionary = (uint32_t)(at->numbers / SPRYI_WINDOWED_DICTIONARY),
                                    .page = (uint32_t)at->pages,
                                    .columns = (uint16_t)count,
                                    .run = (uint8_t)run,
                                    .bits = (uint8_t)spryi_windowed_bits(run, count)};
    for (int64_t d = 0; d < count; d++) {
        if (columns[d] >> SPRYI_WINDOWED_PAGE_BITS != high) {
            high = columns[d] >> SPRYI_WINDOWED_PAGE_BITS;
            if (pass->stores) s->pages[at->pages + pages] = (spryi_windowed_page){(uint32_t)d, (uint32_t)high};
            pages++;
        }
        if (pass->stores) s->dictionary[at->numbers + d] = (uint16_t)columns[d];
    }
    for (int64_t d = count; pass->stores && d % SPRYI_WINDOWED_DICTIONARY != 0; d++) s->dictionary[at->numbers + d] = 0;
    return pages;
}

/* Returns the first column of run t of the row whose entries begin at `begin`. */
static inline int64_t run_start(const spry_arrays *csr, int64_t begin, int64_t t, int64_t run, int64_t stride)
{
    return spryi_minor_of(csr, begin + (stride == 1 ? t * run : t));
}

/*
 * Collects the first columns of the runs of rows first .. end - 1 in scratch->columns. Returns false if there are more
 * than `most` columns.
 */
static bool find_columns(const window_pass *pass, scratch *scratch, int64_t first, int64_t end, int64_t run,
                         int64_t most)
{
    const spry_arrays *csr = pass->csr;
    const int64_t stride = run > 1 ? pass->s->stride : 1;
    clear_columns(&scratch->columns);
    for (int64_t p = first; p < end; p++) {
        const int64_t row = pass->order->row[p];
        if (p > first && pass->order->leader[row] == pass->order->leader[pass->order->row[p - 1]]) continue;
        const int64_t begin = spryi_offset_of(csr, row), runs = spryi_row_length(csr, row) / run;
        for (int64_t t = 0; t < runs; t++) add_column(&scratch->columns, run_start(csr, begin, t, run, stride));
        if (scratch->columns.count > most) return false;
    }
    return true;
}

/* Sorts the rows of a window by decreasing length, stably. */
static void sort_rows(const window_pass *pass, scratch *scratch, int64_t first, int64_t end, int64_t run)
{
    int32_t at[SPRYI_WINDOWED_LONG + 2] = {0}; /* position of the first row of LONG - n entries */
    for (int64_t p = first; p < end; p++) {
        const int64_t row = pass->order->row[p];
        at[SPRYI_WINDOWED_LONG - spryi_row_length(pass->csr, row) + 1]++;
    }
    for (int n = 0; n <= SPRYI_WINDOWED_LONG; n++) at[n + 1] += at[n];
    for (int64_t p = first; p < end; p++) {
        const int64_t row = pass->order->row[p], length = spryi_row_length(pass->csr, row);
        const int32_t to = at[SPRYI_WINDOWED_LONG - length]++;
        scratch->row[to] = (uint32_t)row;
        scratch->length[to] = (uint16_t)(length / run);
    }
}

static void store_words(const slice_draft *n, const window_pass *pass, const dictionary *columns, uint32_t *to)
{
    const int64_t words = spryi_windowed_words(n->width, n->bits);
    for (int64_t q = 0; q < words; q++) {
        const int count = groups_with_word(n, q);
        for (int g = 0; g < count; g++) {
            const int lane = n->first_lane[g];
            const int64_t begin = spryi_offset_of(pass->csr, n->row[lane]);
            uint64_t word = 0;
            for (int64_t t = 32 * q / n->bits; t < n->length[lane] && t * n->bits < 32 * (q + 1); t++) {
                const uint64_t own = number_of(columns, run_start(pass->csr, begin, t, n->run, n->stride));
                const int64_t bit = t * n->bits - 32 * q;
                word |= bit < 0 ? own >> -bit : own << bit;
            }
            *to++ = (uint32_t)word;
        }
    }
}

static void store_values(const slice_draft *n, const window_pass *pass, int64_t at)
{
    int64_t begin[SPRYI_WINDOWED_LANES];
    for (int l = 0; l < SPRYI_WINDOWED_LANES && n->row[l] >= 0; l++) begin[l] = spryi_offset_of(pass->csr, n->row[l]);
    const spry_type type = pass->csr->value_type;
    for (int64_t t = 0; t < n->width; t++)
        for (int64_t c = 0; c < n->run; c++)
            for (int l = 0; l < SPRYI_WINDOWED_LANES && n->length[l] > t; l++) {
                const int64_t entry = n->stride == 1 ? t * n->run + c : c * n->length[l] + t;
                spryi_move_value(pass->s->values, at++, pass->csr->values, begin[l] + entry, type);
            }
    for (; at % SPRYI_WINDOWED_ALIGN != 0; at++) spryi_set_value(pass->s->values, type, at, 0);
}

/* Counts or stores one window. Its columns must be in scratch->columns. */
static void add_window(const window_pass *pass, scratch *scratch, int64_t first, int64_t end, int64_t run,
                       spryi_windowed_counts *at)
{
    spryi_windowed *s = pass->s;
    const int64_t columns = scratch->columns.count;
    const int rows = (int)(end - first);
    sort_columns(&scratch->columns);
    sort_rows(pass, scratch, first, end, run);
    const int64_t pages = store_dictionary(pass, scratch->columns.rising, columns, run, at);
    for (int from = 0; from < rows; from += SPRYI_WINDOWED_LANES) {
        slice_draft n = {.run = run, .stride = run > 1 ? s->stride : 1, .bits = spryi_windowed_bits(run, columns)};
        draft_slice(&n, pass, scratch, from, rows);
        const int64_t bytes = index_bytes(&n), units = spryi_windowed_units(bytes);
        if (pass->stores) {
            uint8_t *indices = s->indices + at->units * SPRYI_WINDOWED_UNIT;
            memset(indices, 0, (size_t)units * SPRYI_WINDOWED_UNIT);
            s->slices[at->slices] = (spryi_windowed_slice){.values = (uint32_t)(at->slots / SPRYI_WINDOWED_ALIGN),
                                                           .indices = (uint32_t)at->units,
                                                           .width = (uint16_t)n.width,
                                                           .whole = (uint16_t)n.whole,
                                                           .groups = (uint8_t)n.groups};
            for (int l = 0; l < SPRYI_WINDOWED_LANES; l++)
                s->rows[at->slices * SPRYI_WINDOWED_LANES + l] = n.row[l] < 0 ? SPRYI_WINDOWED_NO_ROW
                                                                              : (uint32_t)n.row[l];
            store_words(&n, pass, &scratch->columns, store_head(&n, indices));
            if (s->values) store_values(&n, pass, at->slots);
        }
        at->slices++;
        at->units += units;
        at->slots += (n.entries + SPRYI_WINDOWED_ALIGN - 1) / SPRYI_WINDOWED_ALIGN * SPRYI_WINDOWED_ALIGN;
    }
    at->windows++;
    at->pages += pages;
    at->numbers += (columns + SPRYI_WINDOWED_DICTIONARY - 1) / SPRYI_WINDOWED_DICTIONARY * SPRYI_WINDOWED_DICTIONARY;
    if (at->staged < columns * run) at->staged = columns * run;
}

/* ---- step 5: windows ----------------------------------------------------------------------------------- */

/*
 * Counts or stores the windows of rows first .. end - 1 of the order, up to `size` rows each. A window with too many
 * columns is halved. Adds the sizes of the windows to *at.
 */
static void add_windows(const window_pass *pass, scratch *scratch, int64_t first, int64_t end, int64_t size,
                        int64_t run, spryi_windowed_counts *at)
{
    if (first >= end) return;
    const int64_t most = size > SPRYI_WINDOWED_LANES ? SPRYI_WINDOWED_NUMBERS / run : MOST_COLUMNS;
    if (find_columns(pass, scratch, first, end, run, most)) {
        add_window(pass, scratch, first, end, run, at);
        return;
    }
    const int64_t half = spryi_windowed_half(size), middle = first + half < end ? first + half : end;
    add_windows(pass, scratch, first, middle, half, run, at);
    add_windows(pass, scratch, middle, end, size - half, run, at);
}

/* ---- the two passes ------------------------------------------------------------------------------------ */

/* State of a build between its passes. */
typedef struct builder {
    spry_context *context;
    const spry_arrays *csr;
    spryi_windowed *s;
    row_order order;
    int64_t pieces, pieces_of_runs; /* number of parts of `window` rows; number of those with rows of runs */
    spryi_windowed_counts *at;      /* pieces + 1 elements: sizes of all windows before each piece */
    scratch *scratch;               /* one per thread */
    int threads;
} builder;

static void add(spryi_windowed_counts *sum, const spryi_windowed_counts *more)
{
    sum->windows += more->windows;
    sum->slices += more->slices;
    sum->pages += more->pages;
    sum->numbers += more->numbers;
    sum->units += more->units;
    sum->slots += more->slots;
    if (sum->staged < more->staged) sum->staged = more->staged;
}

static spry_status new_scratch(builder *b, spry_error *err)
{
    const spry_status status = SPRYI_NEW(b->context, &b->scratch, b->threads, "windows", err);
    if (status == SPRY_OK) memset(b->scratch, 0, (size_t)b->threads * sizeof *b->scratch);
    return status;
}

static void clear(builder *b)
{
    spryi_release(b->context, b->scratch);
    spryi_release(b->context, b->at);
    spryi_release(b->context, b->order.row);
    spryi_release(b->context, b->order.leader);
}

typedef struct pass_job {
    builder *b;
    window_pass pass;
} pass_job;

static void add_pieces(void *job, int64_t begin, int64_t end_of_pieces, int part)
{
    const pass_job *j = job;
    builder *b = j->b;
    const int64_t window = b->s->window;
    for (int64_t n = begin; n < end_of_pieces; n++) {
        const bool of_runs = n < b->pieces_of_runs;
        const int64_t end = of_runs ? b->order.of_runs : b->order.count;
        const int64_t first = of_runs ? n * window : b->order.of_runs + (n - b->pieces_of_runs) * window;
        spryi_windowed_counts at = j->pass.stores ? b->at[n] : (spryi_windowed_counts){0};
        add_windows(&j->pass, &b->scratch[part], first, first + window < end ? first + window : end, window,
                    of_runs ? b->s->run : 1, &at);
        if (!j->pass.stores) b->at[n + 1] = at;
    }
}

/*
 * Measures or stores all windows. When measuring, at[n + 1] receives the sizes of piece n. When storing, at[n] is the
 * position of piece n.
 */
static void run_pass(builder *b, bool stores)
{
    pass_job j = {b, {b->csr, &b->order, b->s, stores}};
    spryi_loop_in_parts(b->context, b->threads, b->pieces, 4, add_pieces, &j);
}

/* Computes the sizes of s. The caller clears b, also after an error. */
static spry_status measure(builder *b, const spryi_build_request *request, spry_error *err)
{
    spryi_windowed *s = b->s;
    spry_status status = SPRY_OK;
    s->a = spryi_shape_of(b->csr);
    spryi_windowed_resolve(s, request);
    SPRYI_TRY(spryi_windowed_check_sizes(s, err)); /* limits of rows and columns */
    SPRYI_TRY(find_order(b->context, &b->order, s, b->csr, request->parameters[SPRYI_WINDOWED_ASKED_ORDER], err));
    b->pieces_of_runs = (b->order.of_runs + s->window - 1) / s->window;
    b->pieces = b->pieces_of_runs + (b->order.count - b->order.of_runs + s->window - 1) / s->window;
    SPRYI_TRY(SPRYI_NEW(b->context, &b->at, b->pieces + 1, "windows", err));
    SPRYI_TRY(new_scratch(b, err));
    b->at[0] = (spryi_windowed_counts){0};
    run_pass(b, false);
    for (int64_t n = 0; n < b->pieces; n++) add(&b->at[n + 1], &b->at[n]);
    const spryi_windowed_counts *sum = &b->at[b->pieces];
    s->window_count = sum->windows;
    s->slice_count = sum->slices;
    s->page_count = sum->pages;
    s->numbers = sum->numbers;
    s->units = sum->units;
    s->slots = sum->slots;
    s->staged = sum->staged;
    for (int64_t i = 0; b->order.count < s->a.rows && i < s->a.rows; i++) {
        const int64_t length = spryi_row_length(b->csr, i);
        if (length <= SPRYI_WINDOWED_LONG) continue;
        s->long_rows.count++;
        s->long_rows.piece_count += (length + SPRYI_WINDOWED_PIECE - 1) / SPRYI_WINDOWED_PIECE;
        s->long_rows.nnz += length;
    }
    SPRYI_TRY(spryi_windowed_check_sizes(s, err));
done:
    return status;
}

static void store_long_rows(const builder *b)
{
    spryi_windowed *s = b->s;
    const size_t index_bytes = spryi_index_type_bytes(s->a.index_type), value_bytes = spry_type_bytes(s->a.value_type);
    int64_t rows = 0, pieces = 0, at = 0;
    for (int64_t i = 0; s->long_rows.count > 0 && i < s->a.rows; i++) {
        const int64_t length = spryi_row_length(b->csr, i);
        const size_t from = (size_t)spryi_index_at(b->csr->offsets, b->csr->offset_type, i);
        if (length <= SPRYI_WINDOWED_LONG) continue;
        s->long_rows.rows[rows] = i;
        s->long_rows.first[rows++] = pieces;
        for (int64_t k = 0; k < length; k += SPRYI_WINDOWED_PIECE) s->long_rows.pieces[pieces++] = at + k;
        memcpy((char *)s->long_rows.columns + (size_t)at * index_bytes,
               (const char *)b->csr->indices + from * index_bytes, (size_t)length * index_bytes);
        if (s->long_rows.values)
            memcpy((char *)s->long_rows.values + (size_t)at * value_bytes,
                   (const char *)b->csr->values + from * value_bytes, (size_t)length * value_bytes);
        at += length;
    }
    s->long_rows.first[rows] = pieces;
    s->long_rows.pieces[pieces] = at;
}

static spry_status store(builder *b, spry_error *err)
{
    spryi_windowed *s = b->s;
    SPRYI_OK_OR_RETURN(spryi_allocate_arrays(b->context, s, spryi_windowed_arrays, err));
    run_pass(b, true);
    s->windows[s->window_count] = (spryi_windowed_window){
        .slice = (uint32_t)s->slice_count,
        .dictionary = (uint32_t)(s->numbers / SPRYI_WINDOWED_DICTIONARY),
        .page = (uint32_t)s->page_count,
    };
    s->slices[s->slice_count] =
        (spryi_windowed_slice){.values = (uint32_t)(s->slots / SPRYI_WINDOWED_ALIGN), .indices = (uint32_t)s->units};
    store_long_rows(b);
    return SPRY_OK;
}

spry_status spryi_windowed_predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                                   spry_error *err)
{
    spryi_windowed s = {0};
    builder b = {.context = context, .csr = &request->csr->a, .s = &s};
    b.threads = spryi_threads(context, b.csr->nnz + b.csr->rows);
    const spry_status status = measure(&b, request, err);
    if (status == SPRY_OK) spryi_windowed_cost(cost, &s);
    clear(&b);
    return status;
}

spry_status spryi_windowed_build(spry_context *context, void *storage, const spryi_build_request *request,
                                 spry_error *err)
{
    spryi_windowed *s = storage;
    builder b = {.context = context, .csr = &request->csr->a, .s = s};
    spryi_cost cost = {0};
    spry_status status = SPRY_OK;
    b.threads = spryi_threads(context, b.csr->nnz + b.csr->rows);
    SPRYI_TRY(measure(&b, request, err));
    spryi_windowed_cost(&cost, s);
    cost.extra_workspace = spryi_windowed_workspace(s, request->options->vector_type);
    SPRYI_TRY(spryi_admit(request, "windowed", &cost, err));
    SPRYI_TRY(store(&b, err));
done:
    clear(&b);
    return status;
}
