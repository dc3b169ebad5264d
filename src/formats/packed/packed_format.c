/*
 * The storage of format packed: build from CSR, reader of slices, conversion to CSR, and container checks.
 *
 * The build visits every group of rows twice (packed_group.h). The first pass measures the groups. A scan of their
 * sizes gives the position of each group in each array. The second pass writes the groups. No group reads another
 * group, so both passes are parallel, and the result depends only on the matrix.
 */
#ifndef SPRYI_TEMPLATE
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/packed/packed_driver.h"
#include "formats/packed/packed_group.h"
#include "formats/packed/packed_reader.h"
#include "formats/shared/long_rows.h"
#include "formats/shared/owned_arrays.h"
#include "formats/shared/storage_limits.h"

#include <stdatomic.h>
#include <string.h>

/* ---- build --------------------------------------------------------------------------------------------- */

/* A group between the passes: its position in the arrays, its choices, and the number of its values. */
typedef struct group_plan {
    spryi_packed_counts at;
    int64_t taken; /* values written; fewer than measured if slices share values */
    spryi_packed_choices choices;
} group_plan;

static void add(spryi_packed_counts *sum, const spryi_packed_counts *more)
{
    sum->slices += more->slices;
    sum->indexed += more->indexed;
    sum->slots += more->slots;
    sum->units += more->units;
    sum->long_rows += more->long_rows;
    sum->pieces += more->pieces;
    sum->long_nnz += more->long_nnz;
}

typedef struct group_job {
    const spry_arrays *csr;
    spryi_packed *s;
    group_plan *plans;
    bool stream, share;
    char *scratch; /* narrow values of one group for each thread; NULL: values keep their type */
    size_t scratch_bytes;
    _Atomic bool is_changed; /* a value is not exact in the narrow type */
} group_job;

static void measure_groups(void *job, int64_t begin, int64_t end)
{
    const group_job *j = job;
    for (int64_t n = begin; n < end; n++) {
        const spryi_packed_group g = spryi_packed_group_of(j->csr, j->s->block, n);
        j->plans[n + 1].at = spryi_packed_measure(&g, &j->plans[n].choices);
    }
}

/* Points csr->values at `to`, to which the values of the group are narrowed. Returns false if one of them changes. */
static bool narrow_group(spry_arrays *csr, void *to, const spryi_packed_group *g, const spry_arrays *wide)
{
    const int64_t first = spryi_offset_of(wide, g->begin), count = spryi_offset_of(wide, g->end) - first;
    const size_t size = spry_type_bytes(csr->value_type), wide_size = spry_type_bytes(wide->value_type);
    csr->values = (const void *)((uintptr_t)to - (uintptr_t)first * size);
    return spryi_narrow_values(to, csr->value_type, (const char *)wide->values + (size_t)first * wide_size,
                               wide->value_type, count);
}

static void write_groups(void *job, int64_t begin, int64_t end, int part)
{
    group_job *j = job;
    spry_arrays csr = *j->csr;
    csr.value_type = j->s->a.value_type;
    for (int64_t n = begin; n < end; n++) {
        group_plan *plan = &j->plans[n];
        const spryi_packed_group g = spryi_packed_group_of(&csr, j->s->block, n);
        if (j->scratch && !narrow_group(&csr, j->scratch + (size_t)part * j->scratch_bytes, &g, j->csr)) {
            j->is_changed = true;
            return;
        }
        plan->taken = spryi_packed_write(&g, &plan->choices, j->s, &plan->at, j->stream, j->share);
    }
}

/* Sets the sizes of s, which must be zero, and *plans, which the caller must release. */
static spry_status measure(spry_context *context, spryi_packed *s, group_plan **plans, const spry_arrays *csr,
                           spry_error *err)
{
    s->a = spryi_shape_of(csr);
    spryi_column_reader reader = spryi_reader_of(csr);
    SPRYI_OK_OR_RETURN(spryi_packed_find_block(&reader, &s->block, err));
    const int64_t groups = spryi_packed_group_count(csr, s->block);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, plans, groups + 1, "groups of rows", err));
    group_plan *p = *plans;
    p[0].at = (spryi_packed_counts){0};
    spryi_loop(context, spryi_threads(context, csr->nnz + csr->rows), groups, 1, measure_groups,
               &(group_job){.csr = csr, .s = s, .plans = p});
    for (int64_t n = 0; n < groups; n++) add(&p[n + 1].at, &p[n].at);
    return spryi_packed_set_sizes(s, &p[groups].at, err);
}

/*
 * Moves the values of all groups into a smaller array if at most half of the values are used. If the allocation fails,
 * nothing changes.
 */
static void close_gaps(spry_context *context, spryi_packed *s, const group_plan *plans, int64_t groups)
{
    enum { PART = 2 }; /* values are moved if at most 1 / PART of them are used */
    const size_t size = spry_type_bytes(s->a.value_type);
    int64_t taken = 0;
    void *values = NULL;
    for (int64_t n = 0; n < groups; n++) taken += plans[n].taken;
    if (s->slots == 0 || taken > s->slots / PART ||
        spryi_allocate(context, &values, taken, size, "values", NULL) != SPRY_OK)
        return;
    int64_t to = 0;
    for (int64_t n = 0; n < groups; n++) {
        const int64_t from = plans[n].at.slots;
        memcpy((char *)values + (size_t)to * size, (const char *)s->values + (size_t)from * size,
               (size_t)plans[n].taken * size);
        for (int64_t k = plans[n].at.slices; k < plans[n + 1].at.slices; k++)
            spryi_packed_set_values_at(&s->slices[k], spryi_packed_values_at(&s->slices[k]) - from + to);
        to += plans[n].taken;
    }
    spryi_release(context, s->values);
    s->values = values;
    s->slots = taken;
}

/* Returns the largest number of entries of a group of rows. */
static int64_t most_entries(const spry_arrays *csr, int64_t block)
{
    int64_t most = 0;
    for (int64_t n = 0; n < spryi_packed_group_count(csr, block); n++) {
        const spryi_packed_group g = spryi_packed_group_of(csr, block, n);
        const int64_t count = spryi_offset_of(csr, g.end) - spryi_offset_of(csr, g.begin);
        if (count > most) most = count;
    }
    return most;
}

/*
 * Fills the arrays of a measured s, whose value type may be narrower than that of csr. Sets *done to false, and fills
 * nothing, if a value is not exact in that type. If only CPUs read s, slices may share values.
 */
static spry_status store(spry_context *context, spryi_packed *s, group_plan *plans, const spryi_build_request *request,
                         bool *done, spry_error *err)
{
    enum { PAST = 64 }; /* vector loads may read past a group's values */
    const spry_arrays *csr = &request->csr->a;
    const bool share = request->only_cpu_reads;
    const int64_t groups = spryi_packed_group_count(csr, s->block);
    const int threads = spryi_threads(context, csr->nnz + csr->rows);
    group_job job = {.csr = csr, .s = s, .plans = plans, .share = share};
    const size_t size = spry_type_bytes(s->a.value_type);
    void *scratch = NULL;
    *done = true;
    SPRYI_OK_OR_RETURN(spryi_allocate_arrays(context, s, spryi_packed_arrays, err));
    job.stream = s->slots * (int64_t)size >= SPRYI_PACKED_STREAM_BYTES && (uintptr_t)s->values % 64 == 0;
    if (s->a.value_type != csr->value_type) {
        job.scratch_bytes = ((size_t)most_entries(csr, s->block) * size + 2 * PAST) / PAST * PAST;
        SPRYI_OK_OR_RETURN(
            spryi_allocate(context, &scratch, threads, job.scratch_bytes, "values in a narrower type", err));
        job.scratch = scratch;
    }
    spryi_loop_in_parts(context, threads, groups, 1, write_groups, &job);
    spryi_release(context, scratch);
    if (job.is_changed) {
        spryi_release_arrays(context, s, spryi_packed_arrays);
        *done = false;
        return SPRY_OK;
    }
    s->most_slots = s->slots;
    if (share && s->values) close_gaps(context, s, plans, groups);
    s->slices[s->slice_count] = spryi_packed_end_record(s);
    s->long_rows.first[s->long_rows.count] = s->long_rows.piece_count;
    s->long_rows.pieces[s->long_rows.piece_count] = s->long_rows.nnz;
    return SPRY_OK;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    spryi_packed s = {0};
    group_plan *plans = NULL;
    const spry_status status = measure(context, &s, &plans, &request->csr->a, err);
    if (status == SPRY_OK) spryi_packed_cost(cost, &s);
    spryi_release(context, plans);
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    spryi_packed *s = storage;
    const spry_arrays *csr = &request->csr->a;
    group_plan *plans = NULL;
    spryi_cost cost = {0};
    spry_status status = SPRY_OK;
    bool is_stored;
    SPRYI_TRY(measure(context, s, &plans, csr, err));
    spryi_packed_cost(&cost, s);
    SPRYI_TRY(spryi_admit(request, "packed", &cost, err));
    if (request->narrow_type) s->a.value_type = request->narrow_type;
    SPRYI_TRY(store(context, s, plans, request, &is_stored, err));
    if (!is_stored) {
        s->a.value_type = csr->value_type;
        SPRYI_TRY(store(context, s, plans, request, &is_stored, err));
    }
    if (request->options->op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_windows_build(context, &s->windows, csr, spryi_packed_group_rows(s->block), err));
done:
    spryi_release(context, plans);
    return status;
}

/* ---- reader of slices ---------------------------------------------------------------------------------- */

uint32_t spryi_packed_row_mask(const spryi_packed_view *v)
{
    uint32_t lanes = v->lanes == SPRYI_PACKED_LANES ? UINT32_MAX : (1u << v->lanes) - 1;
    for (int l = 0; v->lengths && l < v->lanes; l++)
        if (v->lengths[l] == SPRYI_PACKED_LONG_ROW) lanes &= ~(1u << l);
    return lanes;
}

uint32_t spryi_packed_slot_mask(const spryi_packed_view *v, int k)
{
    if (v->full) return UINT32_MAX;
    const int bytes = spryi_packed_mask_bytes(v->width);
    uint32_t mask = 0;
    for (int l = 0; v->masks && l < SPRYI_PACKED_LANES; l++)
        mask |= (uint32_t)(v->masks[l * bytes + k / 8] >> k % 8 & 1) << l;
    for (int l = 0; v->lengths && l < SPRYI_PACKED_LANES; l++)
        mask |= (uint32_t)(v->lengths[l] > k && v->lengths[l] != SPRYI_PACKED_LONG_ROW) << l;
    return mask;
}

void spryi_packed_open(spryi_packed_reader *r, const spryi_packed *s, int64_t slice)
{
    r->s = s;
    r->v = spryi_packed_view_of(s, slice);
    r->before = r->count = 0;
    r->slot = -1;
}

bool spryi_packed_next(spryi_packed_reader *r)
{
    const spryi_packed_view *v = &r->v;
    r->before += r->count;
    if (++r->slot >= v->width) return false;
    const int64_t first = v->dense ? r->slot * (int64_t)SPRYI_PACKED_LANES : r->before; /* first entry or block */
    r->mask = spryi_packed_slot_mask(v, r->slot);
    r->at = v->values + first * v->b * v->b;
    r->count = 0;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) {
        if (!(r->mask >> l & 1)) continue;
        r->rank[l] = v->dense ? l : r->count;
        r->count++;
        const int64_t k = first + r->rank[l];
        if (v->kind == SPRYI_PACKED_DIAGONALS)
            r->column[l] = v->row / v->b + l + v->distances[r->slot];
        else if (v->kind == SPRYI_PACKED_OFFSETS)
            r->column[l] = v->first + ((const uint16_t *)v->columns)[k];
        else
            r->column[l] = spryi_index_at(v->columns, r->s->a.index_type, k);
    }
    r->stride = v->dense ? SPRYI_PACKED_LANES : r->count;
    return true;
}

/* ---- conversion to CSR --------------------------------------------------------------------------------- */

#define SPRYI_NO_OFFSETS
#define SPRYI_STORED_ROWS
#define SPRYI_TEMPLATE "formats/packed/packed_format.c" /* the second half of this file */
#include "base/instantiate.h"

typedef void (*copy_fn)(const spryi_packed_reader *r, const int64_t *offsets, int32_t *next, void *columns,
                        void *values);
static const copy_fn copy_table[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(copy_slot);

/* Sets offsets[i + 1] to the number of entries of each row i of the slice. */
static void count_rows(const spryi_packed *s, int64_t slice, int64_t *offsets)
{
    const spryi_packed_view v = spryi_packed_view_of(s, slice);
    const uint32_t lanes = spryi_packed_row_mask(&v);
    int32_t length[SPRYI_PACKED_LANES] = {0};
    for (int k = 0; k < v.width; k++) {
        const uint32_t mask = spryi_packed_slot_mask(&v, k);
        for (int l = 0; l < SPRYI_PACKED_LANES; l++) length[l] += (int32_t)(mask >> l & 1);
    }
    for (int l = 0; l < SPRYI_PACKED_LANES; l++)
        for (int r = 0; lanes >> l & 1 && r < v.b; r++) offsets[spryi_packed_row(&v, l) + r + 1] = length[l] * v.b;
}

typedef struct slice_job {
    const spryi_packed *s;
    const spryi_compressed *c;
} slice_job;

static void count_slices(void *job, int64_t begin, int64_t end)
{
    const slice_job *j = job;
    for (int64_t k = begin; k < end; k++) count_rows(j->s, k, j->c->offsets);
}

static void copy_slices(void *job, int64_t begin, int64_t end)
{
    const slice_job *j = job;
    for (int64_t k = begin; k < end; k++) {
        const copy_fn copy = SPRYI_INSTANCE(copy_table, &j->s->a);
        spryi_packed_reader reader;
        int32_t next[SPRYI_PACKED_LANES] = {0};
        spryi_packed_open(&reader, j->s, k);
        while (spryi_packed_next(&reader)) copy(&reader, j->c->offsets, next, j->c->indices, j->c->values);
    }
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_packed *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    slice_job j = {s, &c};
    SPRYI_TRY(spryi_start_csr(context, &c, &s->a, err));
    const int threads = spryi_threads(context, s->a.nnz + s->a.rows);
    spryi_loop(context, threads, s->slice_count, 0, count_slices, &j);
    for (int64_t n = 0; n < s->long_rows.count; n++)
        c.offsets[s->long_rows.rows[n] + 1] = s->long_rows.pieces[s->long_rows.first[n + 1]] -
                                              s->long_rows.pieces[s->long_rows.first[n]];
    spryi_scan(c.offsets, s->a.rows);
    spryi_loop(context, threads, s->slice_count, 0, copy_slices, &j);
    spryi_copy_long_rows(&s->long_rows, &s->a, &c);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &s->a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- containers ---------------------------------------------------------------------------------------- */

/* Returns true if `bytes` bytes from unit `at` on are within the indices. */
static bool has_bytes(const spryi_packed *s, int64_t at, int64_t bytes)
{
    return at * SPRYI_PACKED_INDEX_UNIT + bytes <= s->units * SPRYI_PACKED_INDEX_UNIT;
}

/* Returns the bytes of the slice's columns. The slice's lengths must be within `indices`. */
static int64_t column_bytes(const spryi_packed *s, const spryi_packed_view *v)
{
    int64_t entries = 0;
    for (int k = 0; k < v->width; k++)
        entries += v->dense ? SPRYI_PACKED_LANES : __builtin_popcount(spryi_packed_slot_mask(v, k));
    return entries * (v->kind == SPRYI_PACKED_OFFSETS ? 2 : (int64_t)spryi_index_type_bytes(s->a.index_type));
}

/* Returns the bytes of lengths and rows before the columns. */
static int64_t head_bytes(const spryi_packed_slice *t)
{
    return (t->info & SPRYI_PACKED_FULL ? 0 : SPRYI_PACKED_LANES) +
           (t->info & SPRYI_PACKED_SORTED ? 2 * SPRYI_PACKED_LANES : 0) /* DIAGONALS have no lengths and no rows */;
}

/* Checks that the record of slice k points into the arrays. Returns NULL or the fault. */
static const char *check_record(const spryi_packed *s, int64_t k)
{
    const spryi_packed_slice *t = &s->slices[k];
    const int b = spryi_packed_b(t), width = spryi_packed_width(t), kind = spryi_packed_kind_of(t);
    const bool full = (t->info & SPRYI_PACKED_FULL) != 0;
    const int64_t row = (int64_t)t->row * SPRYI_PACKED_LANES, end = (int64_t)t[1].row * SPRYI_PACKED_LANES;
    if (b != 1 && b != s->block) return "the block size differs from the header";
    if (row >= s->a.rows || end - row > (int64_t)SPRYI_PACKED_LANES * b || end <= row ||
        (end < s->a.rows && end - row != (int64_t)SPRYI_PACKED_LANES * b) || (row % b != 0) ||
        (end > s->a.rows && (s->a.rows - row) % b != 0))
        return "the rows do not match the block size";
    if (kind == SPRYI_PACKED_KIND_BITS || width > SPRYI_PACKED_MOST_WIDTH) return "the kind or the width is unknown";
    if (width > 0 && full && s->a.rows - row < (int64_t)SPRYI_PACKED_LANES * b)
        return "the slice is marked full, but has fewer rows";
    if (kind == SPRYI_PACKED_DIAGONALS) {
        if (width > SPRYI_PACKED_LANES || !has_bytes(s, t->indices, 4 * width) ||
            (!full && !has_bytes(s, (uint32_t)s->extras[k], SPRYI_PACKED_LANES * spryi_packed_mask_bytes(width))))
            return "distances or masks are outside the indices";
    } else if (s->extras[k] < 0 || !has_bytes(s, t->indices, head_bytes(t))) {
        return "lengths are outside the indices";
    }
    if (kind != SPRYI_PACKED_DIAGONALS && t->info & SPRYI_PACKED_SORTED && s->block > 1)
        return "the slice is sorted, but the matrix has blocks";
    return NULL;
}

/* Checks the lengths of slice v. Adds the number of its long rows to *next_long. */
static const char *check_lengths(const spryi_packed *s, const spryi_packed_view *v, int64_t *next_long)
{
    for (int l = 0; v->lengths && l < SPRYI_PACKED_LANES; l++) {
        if (v->lengths[l] == SPRYI_PACKED_LONG_ROW) {
            if (v->b > 1 || l >= v->lanes || *next_long >= s->long_rows.count ||
                s->long_rows.rows[*next_long] != spryi_packed_row(v, l))
                return "a row is marked long, but is not among the long rows";
            ++*next_long;
        } else if (v->lengths[l] > v->width) {
            return "a row is longer than the slice";
        }
    }
    return NULL;
}

/* Checks the entries of slice k. Adds its counts to *nnz, *next_long and *indexed. */
static const char *check_entries(const spryi_packed *s, int64_t k, int64_t *nnz, int64_t *next_long, int64_t *indexed)
{
    spryi_packed_reader r;
    spryi_packed_open(&r, s, k);
    const spryi_packed_view *v = &r.v;
    const uint32_t rows = spryi_packed_row_mask(v);
    const char *wrong = check_lengths(s, v, next_long);
    if (wrong) return wrong;
    if (v->columns && !has_bytes(s, s->slices[k].indices, head_bytes(&s->slices[k]) + column_bytes(s, v)))
        return "columns are outside the indices";
    for (int d = 1; v->distances && d < v->width; d++)
        if (v->distances[d] <= v->distances[d - 1]) return "distances do not rise";
    while (spryi_packed_next(&r)) {
        if (r.mask & ~rows) return "an entry belongs to no row";
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            if (r.mask >> l & 1 && (r.column[l] < 0 || r.column[l] * v->b + v->b > s->a.columns))
                return "a column is not in the matrix";
    }
    if (v->dense && v->width > 0 && v->values % SPRYI_PACKED_LANES != 0)
        return "values of a full slice do not begin at a multiple of 32";
    const int64_t slots = v->dense ? v->width * (int64_t)SPRYI_PACKED_LANES : r.before;
    *nnz += r.before * v->b * v->b;
    *indexed += v->columns != NULL;
    return v->values + slots * v->b * v->b > spryi_packed_values_at(&s->slices[k + 1]) ? "values overlap" : NULL;
}

static bool is_sorted(const spryi_packed_slice *t)
{
    return spryi_packed_kind_of(t) != SPRYI_PACKED_DIAGONALS && (t->info & SPRYI_PACKED_SORTED);
}

/*
 * Checks that each row of a sorted group occurs once. seen: mask of the rows that the group's slices before slice k
 * contain.
 */
static const char *check_order(const spryi_packed *s, int64_t k, uint32_t seen[SPRYI_PACKED_GROUP / 32])
{
    const int64_t row = (int64_t)s->slices[k].row * SPRYI_PACKED_LANES;
    const bool begins = row % SPRYI_PACKED_GROUP == 0, sorted = is_sorted(&s->slices[k]);
    if (begins) memset(seen, 0, SPRYI_PACKED_GROUP / 8);
    if (!begins && sorted != is_sorted(&s->slices[k - 1])) return "only some slices of the group are sorted";
    const spryi_packed_view v = spryi_packed_view_of(s, k);
    for (int l = 0; v.rows && l < v.lanes; l++) {
        const unsigned r = v.rows[l];
        if (r >= SPRYI_PACKED_GROUP || spryi_packed_row(&v, l) >= s->a.rows || seen[r / 32] >> r % 32 & 1)
            return "a row is out of range or occurs twice";
        seen[r / 32] |= 1u << r % 32;
    }
    return NULL;
}

/*
 * Checks slices from a file: all positions are within the arrays, each row occurs once, columns are in the matrix, and
 * the number of entries equals the matrix's.
 */
static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    (void)context;
    const spryi_packed *s = storage;
    int64_t nnz = 0, next_long = 0, indexed = 0;
    uint32_t seen[SPRYI_PACKED_GROUP / 32];
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_check_shape(&s->a, "packed", err));
    const spryi_packed_slice *end = &s->slices[s->slice_count];
    if (s->block < 1 || s->block > SPRYI_PACKED_MOST_BLOCK ||
        end->row != s->a.rows / SPRYI_PACKED_LANES + (s->a.rows % SPRYI_PACKED_LANES != 0) ||
        spryi_packed_values_at(end) != s->slots || (s->slice_count > 0 ? s->slices[0].row != 0 : s->a.rows != 0))
        return spryi_fail(err, SPRY_BAD_FILE, NULL,
                          "packed: %lld slices with blocks of size %lld do not match %lld rows",
                          (long long)s->slice_count, (long long)s->block, (long long)s->a.rows);
    SPRYI_TRY(spryi_check_long_rows(&s->long_rows, &s->a, "packed", err));
    SPRYI_TRY(spryi_check_columns(&s->a, s->long_rows.columns, s->long_rows.nnz, "packed", err));
    for (int64_t k = 0; k < s->slice_count; k++) {
        const char *wrong = check_record(s, k);
        if (!wrong) wrong = check_order(s, k, seen);
        if (!wrong) wrong = check_entries(s, k, &nnz, &next_long, &indexed);
        if (wrong)
            return spryi_fail_value(err, SPRY_BAD_FILE, NULL, k, 0, "packed: slice %lld: %s", (long long)k, wrong);
    }
    if (next_long != s->long_rows.count || indexed != s->indexed || nnz + s->long_rows.nnz != s->a.nnz)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, nnz + s->long_rows.nnz, s->a.nnz,
                                "packed: %lld entries, expected %lld", (long long)(nnz + s->long_rows.nnz),
                                (long long)s->a.nnz);
done:
    return status;
}

/* ---- descriptor ---------------------------------------------------------------------------------------- */

/*
 * Returns the number of bytes by which an update of the values may enlarge `values`. Slices that share values now may
 * have different values after the update.
 */
static int64_t growth_bytes(const void *storage)
{
    const spryi_packed *s = storage;
    return s->most_slots > s->slots ? (s->most_slots - s->slots) * (int64_t)spry_type_bytes(s->a.value_type) : 0;
}

static int sections(void *storage, spryi_section *list)
{
    spryi_packed *s = storage;
    int count = 0;
    spryi_list_shape(&s->a, list, &count);
    /* one section with the members from block to long_rows.nnz */
    list[count++] = (spryi_section){"packed", NULL, &s->block, 8, sizeof s->block};
    return count + spryi_packed_arrays(s, list + count);
}

const spryi_format spryi_format_packed = {
    .name = "packed",
    .title = "packed CSR-k: slices of 32 rows with few or no indices",
    .formula = "nnz values + 20 bytes per 32 rows + indices: none on grids, usually at most 2 bytes per entry",
    .best_for = "meshes and grids, matrices of dense blocks, columns that are near each other",
    .predict = predict,
    .build = build,
    .growth_bytes = growth_bytes,
    .workspace_bytes = spryi_packed_workspace,
    .to_csr = to_csr,
    .layout.size = sizeof(spryi_packed),
    .layout.windows_at = offsetof(spryi_packed, windows),
    .layout.sections_lack_columns = 1,
    .layout.sections = sections,
    .check = check,
    .choice.estimator = &spryi_packed_estimator,
};

#else /* for each stored type and index type of columns: base/instantiate.h */

/* Copies the entries of the reader's slot. next[l]: entries of lane l copied so far. */
static void SPRY_FN(copy_slot)(const spryi_packed_reader *r, const int64_t *offsets, int32_t *next, void *columns,
                               void *values)
{
    const SPRY_B *Vx = r->s->values;
    const int b = r->v.b;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) {
        if (!(r->mask >> l & 1)) continue;
        for (int e = 0; e < b * b; e++) {
            const int64_t to = offsets[spryi_packed_row(&r->v, l) + e / b] + (int64_t)next[l] * b + e % b;
            ((SPRY_J *)columns)[to] = (SPRY_J)(r->column[l] * b + e % b);
            if (values) ((SPRY_B *)values)[to] = Vx[r->at + (int64_t)e * r->stride + r->rank[l]];
        }
        next[l]++;
    }
}

#endif
