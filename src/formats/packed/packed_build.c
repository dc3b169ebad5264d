/*
 * From CSR to packed slices on the host.
 *
 * Every group of rows is gone through twice by the same code (packed_group.c): first its slices are chosen and
 * counted (measure), then, when a scan has told where each array of the group begins, they are stored. No group looks
 * at another one, so both passes are parallel, and the result depends on the matrix alone.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/packed/packed_group.h"
#include "formats/shared/padding_guard.h"
#include "matrix/columns.h"

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
    spryi_packed_plan *plans;
    int stream, share;
} group_job;

static void measure_groups(void *job, int64_t begin, int64_t end)
{
    const group_job *j = job;
    for (int64_t n = begin; n < end; n++) {
        spryi_packed_group g = spryi_packed_group_of(j->csr, j->s->block, &j->plans[n], n);
        spryi_packed_make_slices(&g);
        j->plans[n + 1].at = g.at;
    }
}

static void store_groups(void *job, int64_t begin, int64_t end)
{
    const group_job *j = job;
    for (int64_t n = begin; n < end; n++) {
        spryi_packed_plan *plan = &j->plans[n];
        spryi_packed_group g = spryi_packed_group_of(j->csr, j->s->block, plan, n);
        g.s = j->s;
        g.at = plan->at;
        g.stream = j->stream;
        g.share = j->share;
        spryi_packed_make_slices(&g);
        plan->numbers = g.at.slots - plan->at.slots;
    }
}

/* The sizes of s, otherwise zero, and *plans, which the caller releases. */
static spry_status measure(spry_context *context, spryi_packed *s, spryi_packed_plan **plans, const spry_arrays *csr,
                           spry_error *err)
{
    s->a = *csr;
    s->a.offsets = s->a.indices = s->a.values = NULL;
    s->a.ownership = SPRY_COPY;
    s->a.symmetry = SPRY_GENERAL;
    spryi_column_reader reader = spryi_reader_of(csr);
    SPRYI_OK_OR_RETURN(spryi_packed_find_block(&reader, &s->block, err));
    const int64_t groups = spryi_packed_group_count(csr, s->block);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, plans, groups + 1, "groups of rows", err));
    spryi_packed_plan *p = *plans;
    p[0].at = (spryi_packed_counts){0};
    spryi_loop(context, spryi_threads(context, csr->nnz + csr->rows), groups, 1, measure_groups,
               &(group_job){.csr = csr, .s = s, .plans = p});
    for (int64_t n = 0; n < groups; n++) add(&p[n + 1].at, &p[n].at);
    return spryi_packed_set_sizes(s, &p[groups].at, err);
}

/* share: slices with equal values may have them together (packed_share.c). */
static spry_status store(spry_context *context, spryi_packed *s, spryi_packed_plan *plans, const spry_arrays *csr,
                         int share, spry_error *err)
{
    spryi_section arrays[SPRYI_PACKED_ARRAYS];
    spry_status status = SPRY_OK;
    for (int n = 0, count = spryi_packed_arrays(s, arrays); n < count; n++)
        if (s->a.value_type != SPRY_PATTERN || (arrays[n].array != &s->values && arrays[n].array != &s->long_values))
            SPRYI_TRY(spryi_allocate(context, arrays[n].array, arrays[n].count, (size_t)arrays[n].item_bytes,
                                     arrays[n].name, err));
    const int64_t groups = spryi_packed_group_count(csr, s->block);
    const int stream = s->slots * (int64_t)spry_type_bytes(s->a.value_type) >= SPRYI_PACKED_STREAM_BYTES &&
                       (uintptr_t)s->values % 64 == 0;
    spryi_loop(context, spryi_threads(context, csr->nnz + csr->rows), groups, 1, store_groups,
               &(group_job){csr, s, plans, stream, share});
    s->most_slots = s->slots;
    if (share && s->values) spryi_packed_close_gaps(context, s, plans, groups);
    s->slices[s->slice_count] = spryi_packed_end_record(s);
    s->long_first[s->long_count] = s->piece_count;
    s->pieces[s->piece_count] = s->long_nnz;
done:
    return status;
}

spry_status spryi_packed_predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                                 spry_error *err)
{
    spryi_packed s = {0};
    spryi_packed_plan *plans = NULL;
    const spry_status status = measure(context, &s, &plans, &request->csr->a, err);
    if (status == SPRY_OK) spryi_packed_cost(cost, &s);
    spryi_release(context, plans);
    return status;
}

spry_status spryi_packed_build(spry_context *context, void *storage, const spryi_build_request *request,
                               spry_error *err)
{
    spryi_packed *s = storage;
    const spry_arrays *csr = &request->csr->a;
    spryi_packed_plan *plans = NULL;
    spryi_cost cost = {0};
    spry_status status = SPRY_OK;
    SPRYI_TRY(measure(context, s, &plans, csr, err));
    spryi_packed_cost(&cost, s);
    SPRYI_TRY(spryi_admit(request, "packed", &cost, err));
    SPRYI_TRY(store(context, s, plans, csr, request->stays, err));
    if (request->options->op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_windows_make(context, &s->windows, csr, spryi_packed_group_rows(s->block), err));
done:
    spryi_release(context, plans);
    return status;
}

/* Rows of a group that a sample looks at: of a quick look as many as have enough entries, whole slices. */
static int64_t sampled_rows(const spryi_packed_group *g, spryi_effort effort)
{
    enum { ENOUGH = 1 << 14, SLICES = 4 /* at least */ };
    const int64_t slice = (int64_t)SPRYI_PACKED_LANES * g->b, rows = g->end - g->begin;
    const int64_t entries = spryi_offset_of(g->csr, g->end) - spryi_offset_of(g->csr, g->begin);
    if (effort == SPRYI_FULL || entries <= ENOUGH) return rows;
    const int64_t slices = ENOUGH * rows / (entries * slice), taken = (slices > SLICES ? slices : SLICES) * slice;
    return taken < rows ? taken : rows;
}

/* Group n of the sample, whose rows are to be looked at. */
static spryi_packed_group sampled_group(const spry_arrays *csr, int64_t block, spryi_packed_plan *plan, int64_t n,
                                        int64_t samples, spryi_effort effort)
{
    const int64_t groups = spryi_packed_group_count(csr, block);
    spryi_packed_group g = spryi_packed_group_of(csr, block, plan, groups * n / samples);
    g.end = g.begin + sampled_rows(&g, effort);
    return g;
}

spry_status spryi_packed_guess_of(spryi_packed_guess *guess, spryi_column_reader *reader, spryi_effort effort,
                                  spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const int64_t most = effort == SPRYI_QUICK ? 2 : 32;
    spryi_packed_plan plan;
    spryi_packed_counts sum = {0};
    spryi_packed_pairs pairs = {0};
    int64_t rows = 0, entries = 0, marked = 0, diagonals = 0;
    int64_t block;
    const int has_values = !reader->device && csr->values && csr->value_type != SPRY_PATTERN;
    *guess = (spryi_packed_guess){0};
    SPRYI_OK_OR_RETURN(spryi_packed_find_block(reader, &block, err));
    const int64_t groups = spryi_packed_group_count(csr, block), samples = groups < most ? groups : most;
    const int64_t range = reader->count;
    for (int64_t p = 0; p < samples; p++) {
        const spryi_packed_group g = sampled_group(csr, block, &plan, p, samples, effort);
        (void)spryi_want_rows(reader, g.begin, g.end);
    }
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    for (int64_t p = 0; p < samples; p++) {
        const spry_arrays view = spryi_range_at(reader, range + p);
        spryi_packed_group g = sampled_group(&view, block, &plan, p, samples, effort);
        spryi_packed_make_slices(&g);
        add(&sum, &g.at);
        if (has_values && block == 1) /* holes of blocks are zeros, which seldom repeat */
            spryi_packed_count_pairs(csr, g.begin, g.end, &pairs);
        rows += g.end - g.begin;
        entries += spryi_offset_of(csr, g.end) - spryi_offset_of(csr, g.begin);
        for (int n = 0; n < g.taken; n++) {
            const int is_diagonals = plan.choice[n].kind == SPRYI_PACKED_DIAGONALS;
            marked += plan.choice[n].b == 1 && !is_diagonals;
            diagonals += is_diagonals;
        }
    }
    if (entries == 0) return SPRY_OK;
    const int64_t index_bytes = (int64_t)spry_index_type_bytes(csr->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes(csr->value_type);
    const int64_t bytes = (sum.slots + sum.long_nnz) * value_bytes + sum.units * SPRYI_PACKED_INDEX_UNIT +
                          sum.long_nnz * index_bytes +
                          sum.slices * (int64_t)(sizeof(spryi_packed_slice) + sizeof(int32_t));
    const double slices = sum.slices > 0 ? (double)sum.slices : 1; /* none where all rows are long */
    *guess = (spryi_packed_guess){.bytes = (double)bytes / (double)entries,
                                  .shared = spryi_packed_shared_slices(&pairs) * (double)(sum.slots * value_bytes) /
                                            (double)entries,
                                  .block = block,
                                  .unmarked = 1 - (double)marked / slices,
                                  .strided = (double)diagonals / slices,
                                  .slices = (double)sum.slices * (double)csr->rows / (double)rows};
    return SPRY_OK;
}
