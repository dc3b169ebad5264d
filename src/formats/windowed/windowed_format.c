/* The format windowed: descriptor, arrays, conversion to CSR, and the check of a container. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/shared/long_rows.h"
#include "formats/shared/owned_arrays.h"
#include "formats/windowed/windowed_driver.h"
#include "formats/windowed/windowed_layout.h"
#include "formats/windowed/windowed_reader.h"

#include <string.h>

/* Sums over the windows checked so far. staged is a maximum. */
typedef struct totals {
    int64_t entries, rows, staged;
    uint64_t hash; /* sum of the hashes of the row indices */
} totals;

/* Returns what is wrong with the record and the dictionary of window w, or NULL. */
static const char *check_window(const spryi_windowed *s, int64_t w, totals *sum)
{
    const spryi_windowed_window *own = &s->windows[w], *next = own + 1;
    const int64_t first = (int64_t)own->dictionary * SPRYI_WINDOWED_DICTIONARY;
    int64_t before = -1;
    if (next->slice < own->slice || next->slice > s->slice_count || next->page < own->page ||
        next->page > s->page_count || first + own->columns > s->numbers)
        return "its parts exceed the arrays";
    const int64_t slices = next->slice - own->slice, staged = (int64_t)own->columns * own->run;
    if (slices > SPRYI_WINDOWED_MOST_ROWS / SPRYI_WINDOWED_LANES ||
        staged > (slices > 1 ? SPRYI_WINDOWED_NUMBERS : SPRYI_WINDOWED_LANES * SPRYI_WINDOWED_LONG))
        return "it has too many rows or columns";
    if ((own->run != 1 && own->run != s->run) || own->bits != spryi_windowed_bits(own->run, own->columns))
        return "its run or bits are invalid";
    if (own->columns > 0 && own->page == next->page) return "it has columns, but no page";
    for (int64_t p = own->page; p < next->page; p++)
        if (s->pages[p].first >= own->columns ||
            (p == own->page ? s->pages[p].first != 0 : s->pages[p].first <= s->pages[p - 1].first))
            return "its pages do not begin at 0 and increase";
    int64_t page = own->page;
    for (int64_t d = 0; d < own->columns; d++) {
        if (page + 1 < next->page && s->pages[page + 1].first == d) page++;
        const int64_t column = (int64_t)s->pages[page].high << SPRYI_WINDOWED_PAGE_BITS | s->dictionary[first + d];
        if (column <= before || column + (own->run - 1) * (own->run > 1 ? s->stride : 1) >= s->a.columns)
            return "its columns do not increase, or exceed the matrix";
        before = column;
    }
    if (sum->staged < staged) sum->staged = staged;
    return NULL;
}

/* Returns what is wrong with the groups of a slice, or NULL. The caller has checked that the lengths fit in `bytes`. */
static const char *check_groups(const spryi_windowed_view *v, int64_t bytes)
{
    int64_t words = 0;
    for (int l = 0; v->group && l < SPRYI_WINDOWED_LANES; l++)
        if (l == 0 ? v->group[l] != 0 : v->group[l] != v->group[l - 1] && v->group[l] != v->group[l - 1] + 1)
            return "groups of lanes are not consecutive";
    if (v->group && v->group[SPRYI_WINDOWED_LANES - 1] != v->groups - 1) return "a group has no lanes";
    for (int g = 0; g < v->groups; g++) {
        if (v->length[g] * v->run > SPRYI_WINDOWED_LONG || (g > 0 && v->length[g] > v->length[g - 1]))
            return "lengths of groups increase or exceed the limit";
        words += spryi_windowed_words(v->length[g], v->bits);
    }
    if (v->width != v->length[0] || v->whole != v->length[v->groups - 1]) return "the width of a slice is wrong";
    return spryi_windowed_head_bytes(v->groups) + 4 * words > bytes ? "the indices of a slice exceed its part" : NULL;
}

static const char *check_rows(const spryi_windowed *s, const spryi_windowed_view *v, totals *sum)
{
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l++) {
        const uint32_t row = v->rows[l];
        if (row != SPRYI_WINDOWED_NO_ROW && (int64_t)row >= s->a.rows) return "a row exceeds the matrix";
        if (row == SPRYI_WINDOWED_NO_ROW && v->length[spryi_windowed_group(v, l)] > 0)
            return "a lane without a row has entries";
        if (row == SPRYI_WINDOWED_NO_ROW) continue;
        sum->rows++;
        sum->hash += spryi_windowed_hash(row);
    }
    return NULL;
}

/* Returns what is wrong with slice k of window w, or NULL. */
static const char *check_slice(const spryi_windowed *s, const spryi_windowed_window *w, int64_t k, totals *sum)
{
    const spryi_windowed_slice *own = &s->slices[k], *next = own + 1;
    if (own->groups < 1 || own->groups > SPRYI_WINDOWED_LANES || (own->zero[0] | own->zero[1] | own->zero[2]) != 0 ||
        next->values < own->values || next->indices < own->indices || next->indices > s->units ||
        (int64_t)next->values * SPRYI_WINDOWED_ALIGN > s->slots)
        return "a slice exceeds the arrays";
    const int64_t bytes = (int64_t)(next->indices - own->indices) * SPRYI_WINDOWED_UNIT;
    if (spryi_windowed_head_bytes(own->groups) > bytes) return "the lengths of a slice exceed its part";
    const spryi_windowed_view v = spryi_windowed_view_of(s, w, k);
    const char *wrong = check_groups(&v, bytes);
    if (!wrong) wrong = check_rows(s, &v, sum);
    if (wrong) return wrong;
    spryi_windowed_reader r;
    int64_t entries = 0;
    spryi_windowed_open(&r, &v);
    for (int t = 0; spryi_windowed_next(&r); t++) {
        for (int g = 0; g < v.groups && v.length[g] > t; g++)
            if (r.number[g] >= w->columns) return "an index exceeds the dictionary";
        entries += (int64_t)v.run * spryi_windowed_lanes(&v, t);
    }
    sum->entries += entries;
    return v.values + entries > (int64_t)next->values * SPRYI_WINDOWED_ALIGN ? "the values of slices overlap" : NULL;
}

static spry_status check_long_rows(const spryi_windowed *s, totals *sum, spry_error *err)
{
    const spryi_long_rows r = s->long_rows;
    for (int64_t n = 0; n < r.count; n++) sum->hash += spryi_windowed_hash((uint64_t)r.rows[n]);
    sum->rows += r.count;
    sum->entries += r.nnz;
    return spryi_check_long_rows(&r, &s->a, "windowed", err);
}

/* Checks the sizes and the end records. */
static spry_status check_sizes(const spryi_windowed *s, spry_error *err)
{
    const spryi_windowed_window *end = &s->windows[s->window_count];
    const spryi_windowed_slice *last = &s->slices[s->slice_count];
    const int64_t cols = s->a.columns;
    const bool good = spryi_windowed_check_sizes(s, NULL) == SPRY_OK && s->run >= 1 &&
                      s->run <= SPRYI_WINDOWED_MOST_RUN && s->stride >= 1 && s->stride <= cols + 1 &&
                      end->slice == s->slice_count && end->page == s->page_count &&
                      (int64_t)end->dictionary * SPRYI_WINDOWED_DICTIONARY == s->numbers &&
                      (int64_t)last->values * SPRYI_WINDOWED_ALIGN == s->slots && last->indices == s->units &&
                      (s->window_count > 0 ? s->windows[0].slice == 0 : s->slice_count == 0);
    if (good) return SPRY_OK;
    return spryi_fail(err, SPRY_BAD_FILE, NULL,
                      "windowed: %lld windows, %lld slices and %lld values do not match the arrays",
                      (long long)s->window_count, (long long)s->slice_count, (long long)s->slots);
}

/*
 * Checks windows from a file before any other code reads them. All addresses must be within the arrays, all columns in
 * the matrix, and the numbers of rows and entries must equal the matrix's. The row indices are checked by the sum of
 * their hashes, which needs no memory. A malicious file may pass with duplicate rows. Products and to_csr tolerate
 * duplicate rows.
 */
static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    const spryi_windowed *s = storage;
    totals sum = {0};
    uint64_t expected = 0;
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_check_shape(&s->a, "windowed", err));
    SPRYI_TRY(check_sizes(s, err));
    SPRYI_TRY(check_long_rows(s, &sum, err));
    SPRYI_TRY(spryi_check_columns(&s->a, s->long_rows.columns, s->long_rows.nnz, "windowed", err));
    for (int64_t w = 0; w < s->window_count; w++) {
        const char *wrong = check_window(s, w, &sum);
        for (int64_t k = s->windows[w].slice; !wrong && k < s->windows[w + 1].slice; k++)
            wrong = check_slice(s, &s->windows[w], k, &sum);
        if (wrong)
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, w, 0, "windowed: window %lld: %s", (long long)w, wrong);
    }
    for (int64_t i = 0; i < s->a.rows && sum.rows == s->a.rows; i++) expected += spryi_windowed_hash((uint64_t)i);
    if (sum.rows != s->a.rows || sum.hash != expected || sum.staged != s->staged)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, sum.rows, s->a.rows,
                                "windowed: its rows or staged elements are not those of a matrix of %lld rows",
                                (long long)s->a.rows);
    if (sum.entries != s->a.nnz)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, sum.entries, s->a.nnz,
                                "windowed: %lld entries, expected %lld", (long long)sum.entries, (long long)s->a.nnz);
done:
    return status;
}

/* ---- back to CSR --------------------------------------------------------------------------------- */

/* Sets offsets[i + 1] to the number of entries of row i, for the rows of the slice. */
static void count_rows(const spryi_windowed_view *v, int64_t *offsets)
{
    for (int l = 0; l < SPRYI_WINDOWED_LANES; l++)
        if (v->rows[l] != SPRYI_WINDOWED_NO_ROW)
            offsets[v->rows[l] + 1] = (int64_t)v->run * v->length[spryi_windowed_group(v, l)];
}

/* Returns SPRY_BAD_FILE if the number of entries is wrong because a row is missing or duplicate. */
static spry_status check_offsets(const spryi_compressed *c, spry_error *err)
{
    if (c->offsets[c->majors] == c->nnz) return SPRY_OK;
    return spryi_fail_value(err, SPRY_BAD_FILE, NULL, c->offsets[c->majors], c->nnz,
                            "windowed: %lld entries in its rows, expected %lld", (long long)c->offsets[c->majors],
                            (long long)c->nnz);
}

/* Returns the position in its row of entry c of run t of a lane. */
static int64_t entry_at(const spryi_windowed_view *v, int lane, int t, int c)
{
    return v->stride == 1 ? (int64_t)t * v->run + c : (int64_t)c * v->length[spryi_windowed_group(v, lane)] + t;
}

static void copy_slice(const spryi_windowed *s, const spryi_windowed_window *w, const spryi_windowed_view *v,
                       const spryi_compressed *to)
{
    spryi_windowed_reader r;
    int64_t at = v->values;
    spryi_windowed_open(&r, v);
    for (int t = 0; spryi_windowed_next(&r); t++) {
        const int lanes = spryi_windowed_lanes(v, t);
        for (int c = 0; c < v->run; c++)
            for (int l = 0; l < lanes; l++, at++) {
                const int64_t k = to->offsets[v->rows[l]] + entry_at(v, l, t, c);
                const int64_t column = spryi_windowed_column(s, w, r.number[spryi_windowed_group(v, l)]);
                if (k >= to->offsets[v->rows[l] + 1]) continue; /* duplicate row in a file */
                spryi_set_index(to->indices, to->index_type, k, column + c * v->stride);
                if (to->values) spryi_move_value(to->values, k, s->values, at, to->value_type);
            }
    }
}

typedef struct window_job {
    const spryi_windowed *s;
    const spryi_compressed *c;
} window_job;

static void count_windows(void *job, int64_t begin, int64_t end)
{
    const window_job *j = job;
    for (int64_t w = begin; w < end; w++)
        for (int64_t k = j->s->windows[w].slice; k < j->s->windows[w + 1].slice; k++) {
            const spryi_windowed_view v = spryi_windowed_view_of(j->s, &j->s->windows[w], k);
            count_rows(&v, j->c->offsets);
        }
}

static void copy_windows(void *job, int64_t begin, int64_t end)
{
    const window_job *j = job;
    for (int64_t w = begin; w < end; w++)
        for (int64_t k = j->s->windows[w].slice; k < j->s->windows[w + 1].slice; k++) {
            const spryi_windowed_view v = spryi_windowed_view_of(j->s, &j->s->windows[w], k);
            copy_slice(j->s, &j->s->windows[w], &v, j->c);
        }
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_windowed *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    memset(c.offsets, 0, (size_t)(s->a.rows + 1) * sizeof *c.offsets);
    const int threads = spryi_threads(context, s->a.nnz + s->a.rows);
    window_job j = {s, &c};
    spryi_loop(context, threads, s->window_count, 4, count_windows, &j);
    for (int64_t n = 0; n < s->long_rows.count; n++)
        c.offsets[s->long_rows.rows[n] + 1] = s->long_rows.pieces[s->long_rows.first[n + 1]] -
                                              s->long_rows.pieces[s->long_rows.first[n]];
    spryi_scan(c.offsets, s->a.rows);
    SPRYI_TRY(check_offsets(&c, err));
    spryi_loop(context, threads, s->window_count, 4, copy_windows, &j);
    spryi_copy_long_rows(&s->long_rows, &s->a, &c);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- descriptor ---------------------------------------------------------------------------------- */

static int sections(void *storage, spryi_section *list)
{
    spryi_windowed *s = storage;
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    /* one section with the members from window to long_rows.nnz */
    list[count++] = (spryi_section){"windowed", NULL, &s->window, 14, sizeof s->window};
    return count + spryi_windowed_arrays(s, list + count);
}

static const spryi_parameter parameters[] = {
    {"window", 1, SPRYI_WINDOWED_MOST_ROWS, "rows a window, rounded up to a multiple of 32"},
    {"order", 1, 2, "order of rows; cells are cells of the matrix's graph"},
    {0},
};
static const char *const orders[] = {"natural", "cells", NULL};

const spryi_format spryi_format_windowed = {
    .name = "windowed",
    .title = "windowed: windows of rows that stage their part of x",
    .formula = "nnz values + 12 bits an entry (16 a block) + 2 bytes a column of each window + 7 bytes a row",
    .best_for = "unstructured finite elements and volumes, blocks wherever their rows are",
    .parameters.list = parameters,
    .parameters.words = {NULL, orders},
    .parameters.text =
        "window=NUMBER (rows a window, default 128 to 1024); order=natural|cells (of rows, default by the "
        "columns that windows save)",
    .predict = spryi_windowed_predict,
    .build = spryi_windowed_build,
    .workspace_bytes = spryi_windowed_workspace,
    .to_csr = to_csr,
    .layout.size = sizeof(spryi_windowed),
    .layout.sections = sections,
    .check = check,
    .choice.estimator = &spryi_windowed_estimator,
};
