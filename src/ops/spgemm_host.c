/* The steps of sparse times sparse in host memory: count, allocate C exactly, fill. */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"
#include "ops/spgemm_plan.h"

#include <string.h>

/* 1: in a sample, a third of the rows have the columns of the row before: what was found for it serves them too. */
static int rows_repeat(const spry_arrays *a)
{
    enum { SAMPLE = 64, STRETCH = 8 };
    const size_t size = spry_index_type_bytes(a->index_type);
    int64_t seen = 0, repeated = 0;
    for (int64_t s = 0; s < SAMPLE; s++)
        for (int64_t i = a->rows / SAMPLE * s + 1; i < a->rows / SAMPLE * s + STRETCH && i < a->rows; i++) {
            const int64_t before = spryi_index_at(a->offsets, a->offset_type, i - 1);
            const int64_t begin = spryi_index_at(a->offsets, a->offset_type, i), n = begin - before;
            const int64_t length = spryi_index_at(a->offsets, a->offset_type, i + 1) - begin;
            const char *columns = a->indices;
            seen += length > 1;
            repeated += length > 1 && n == length &&
                        memcmp(columns + (size_t)before * size, columns + (size_t)begin * size, (size_t)n * size) == 0;
        }
    return seen > 0 && repeated * 3 >= seen;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* The limit less what is held already; 0: none. Never below 1. */
static int64_t room(const spry_spgemm_plan *plan, int64_t held)
{
    if (plan->options.memory_limit_bytes == 0) return 0;
    return plan->options.memory_limit_bytes > held ? plan->options.memory_limit_bytes - held : 1;
}

spry_status spryi_spgemm_admit(spry_spgemm_plan *plan, int64_t bytes, int exact, spry_error *err)
{
    const int64_t limit = plan->options.memory_limit_bytes;
    if (limit > 0 && bytes > limit) {
        const int64_t most = exact ? bytes : spryi_spgemm_most_bytes(plan), value = most > bytes ? most : bytes;
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", value, limit,
                                "spgemm: inputs, result and workspace need %s%lld bytes, the limit is %lld",
                                exact ? "" : "up to ", (long long)value, (long long)limit);
    }
    if (bytes > plan->peak_bytes) plan->peak_bytes = bytes;
    return SPRY_OK;
}

/* Bytes of a phase's workspace; least 1: with one thread, what is needed at least. */
static int64_t workspace_of(const spry_spgemm_plan *plan, spryi_spgemm_phase phase, int least)
{
    return plan->kernel->spgemm->sizes(&plan->job, phase, least).bytes;
}

/* cleared */
static spry_status take_workspace(spry_spgemm_plan *plan, int64_t bytes, spry_error *err)
{
    spryi_release(plan->context, plan->job.workspace);
    plan->job.workspace = NULL;
    spry_status status = spryi_allocate(plan->context, &plan->job.workspace, bytes, 1, "workspace", err);
    if (status == SPRY_OK) memset(plan->job.workspace, 0, (size_t)bytes);
    return status;
}

/* Bytes of the operands, given and converted, and of the job's offsets and pieces. */
static int64_t held_bytes(const spry_spgemm_plan *plan)
{
    const spryi_work_pieces *p = &plan->job.pieces;
    const int64_t numbers = plan->job.a.rows + 1 + (p->products ? 2 * p->count + 1 : 3 * p->count + 2);
    return plan->input_bytes + plan->converted_bytes + numbers * (int64_t)sizeof(int64_t);
}

int spryi_spgemm_threads(const spry_context *context, int asked, int64_t rows, int64_t products)
{
    enum { PIECE = 1 << 15 };
    const int64_t work = products < INT64_MAX - rows ? products + rows : products;
    const int threads = asked > 0 ? spryi_team(asked) : spryi_threads(context, work);
    return work / PIECE + 1 < threads ? (int)(work / PIECE + 1) : threads;
}

/* ---- the steps ------------------------------------------------------------------------------------------- */

/* A phase's function for the types of the job; NULL: there is none. */
static spryi_spgemm_fn function_of(const spryi_spgemm_job *job, const spryi_spgemm_table *phase)
{
    return phase ? (*phase)[spryi_value_slot(job->type)][spryi_index_pair(job->a.offset_type, job->a.index_type)]
                 : NULL;
}

/* Runs a phase that fills C; its time and that of sorting, where it is told apart. */
static void run_filling(spry_spgemm_plan *plan, const spryi_spgemm_table *phase)
{
    spryi_spgemm_job *job = &plan->job;
    const double start = spryi_now_us();
    job->sort_us = -1;
    function_of(job, phase)(job);
    plan->stages.fill_us = spryi_now_us() - start - (job->sort_us > 0 ? job->sort_us : 0);
    plan->stages.sort_us = job->sort_us;
}

/* 1: in a sample, half of A's rows end and begin as far from the row before: such rows make runs. */
static int rows_move(const spry_arrays *a)
{
    enum { SAMPLE = 64, STRETCH = 8 };
    int64_t seen = 0, moved = 0;
    for (int64_t s = 0; s < SAMPLE; s++)
        for (int64_t i = a->rows / SAMPLE * s + 1; i < a->rows / SAMPLE * s + STRETCH && i < a->rows; i++) {
            const int64_t before = spryi_index_at(a->offsets, a->offset_type, i - 1);
            const int64_t begin = spryi_index_at(a->offsets, a->offset_type, i), n = begin - before;
            if (n < 2) continue;
            seen++;
            if (spryi_index_at(a->offsets, a->offset_type, i + 1) - begin != n) continue;
            moved += spryi_index_at(a->indices, a->index_type, begin) -
                         spryi_index_at(a->indices, a->index_type, before) ==
                     spryi_index_at(a->indices, a->index_type, begin + n - 1) -
                         spryi_index_at(a->indices, a->index_type, begin - 1);
        }
    return seen > 0 && moved * 2 >= seen;
}

/*
 * 1: columns may be listed while rows are counted, which saves half of the symbolic phase. They go where there is room
 * for all products: address space, of which entries of C get pages. One thread lists them in C's own array; several
 * leave gaps between their pieces, which are copied together. Where rows make runs that would cost more.
 */
static int may_list(const spry_spgemm_plan *plan)
{
    const spryi_spgemm_job *job = &plan->job;
    if (!plan->kernel->spgemm->list || job->products == 0 || job->products == INT64_MAX) return 0;
    if (plan->options.memory_limit_bytes > 0 || plan->context->allocate) return 0;
    return job->threads == 1 || job->sizes.run_values == 0 || !rows_move(&job->a);
}

/* Bytes of the lists of columns that threads fill in addition to C. */
static int64_t listed_bytes(const spry_spgemm_plan *plan)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t size = (int64_t)spry_index_type_bytes(job->b.index_type);
    return job->threads > 1 && may_list(plan) ? job->products * size : 0;
}

/* Room for columns that are listed; 0: there is none. */
static int reserve_columns(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    const size_t size = spry_index_type_bytes(job->b.index_type);
    int64_t before = 0;
    if (!may_list(plan)) return 0;
    if (job->threads == 1)
        return spryi_reserve(plan->context, &job->columns, job->products, size, "columns of C", NULL) == SPRY_OK;
    if (spryi_allocate(plan->context, &job->listed, job->products, size, "columns of C", NULL) != SPRY_OK) return 0;
    plan->workspace_bytes += listed_bytes(plan);
    for (int64_t p = 0; p < job->pieces.count; p++) {
        const int64_t products = job->pieces.products[p];
        job->pieces.products[p] = before;
        before += products;
    }
    return 1;
}

static void join_pieces(void *argument, int64_t begin, int64_t end)
{
    const spryi_spgemm_job *job = argument;
    const size_t size = spry_index_type_bytes(job->b.index_type);
    for (int64_t p = begin; p < end; p++) {
        const int64_t at = job->offsets[job->pieces.rows[p]], n = job->offsets[job->pieces.rows[p + 1]] - at;
        memcpy((char *)job->columns + (size_t)at * size,
               (const char *)job->listed + (size_t)job->pieces.products[p] * size, (size_t)n * size);
    }
}

/* Copies the columns that the threads listed into C. */
static void join_listed(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    spryi_loop(plan->context, job->threads, job->pieces.count, 16, join_pieces, job);
    spryi_release(plan->context, job->listed);
    job->listed = NULL;
}

/* 1: B's rows as bitmaps are worth trying; listed rows of few products are not looked through word by word. */
static int may_use_bitmaps(const spry_spgemm_plan *plan, int lists)
{
    enum { FEW = 64 };
    const spryi_spgemm_job *job = &plan->job;
    if (!plan->kernel->spgemm->uses_bitmaps || rows_repeat(&job->a)) return 0;
    return !lists || job->products / FEW > job->a.rows;
}

/* Counts C's rows: offsets and nnz; with `lists` their columns too where it may. */
static spry_status count_rows(spry_spgemm_plan *plan, int lists, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    const spryi_spgemm_host_phases *kernel = plan->kernel->spgemm;
    SPRYI_OK_OR_RETURN(spryi_make_columns(plan, err));
    plan->operand_bytes = plan->peak_bytes;
    job->threads =
        kernel->sequential ? 1 : spryi_spgemm_threads(plan->context, plan->options.threads, job->a.rows, job->products);
    job->pool = &plan->context->pool;
    const int64_t held = held_bytes(plan);
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, held + workspace_of(plan, SPRYI_COUNT, 1), 0, err));
    job->sizes = kernel->sizes(job, SPRYI_COUNT, room(plan, held));
    const int64_t bytes = job->sizes.bytes;
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, held + bytes, 0, err));
    lists = lists && may_list(plan);
    if (may_use_bitmaps(plan, lists))
        SPRYI_OK_OR_RETURN(spryi_spgemm_make_bitmaps(plan->context, job, room(plan, held + bytes), err));
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, held + bytes + job->bitmaps.bytes, 0, err));
    SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &job->offsets, job->a.rows + 1, "row offsets", err));
    SPRYI_OK_OR_RETURN(take_workspace(plan, bytes, err));
    plan->workspace_bytes = held - plan->input_bytes + bytes + job->bitmaps.bytes;
    job->b_rises = spryi_spgemm_rises(plan->context, &job->b);
    const double start = spryi_now_us();
    function_of(job, lists && reserve_columns(plan) ? kernel->list : kernel->count)(job);
    const double counted = spryi_now_us();
    spryi_scan(job->offsets, job->a.rows);
    if (job->columns)
        spryi_shrink(plan->context, &job->columns,
                     job->offsets[job->a.rows] * (int64_t)spry_index_type_bytes(job->b.index_type));
    plan->stages.count_us = counted - start;
    plan->stages.scan_us = spryi_now_us() - counted;
    plan->nnz = job->offsets[job->a.rows];
    return SPRY_OK;
}

static spry_status count(spry_spgemm_plan *plan, spry_error *err)
{
    return count_rows(plan, !plan->single_run, err);
}

/* C's own offsets: the job's narrowed, or a copy. */
static spry_status make_offsets(const spry_spgemm_plan *plan, void **offsets, spry_error *err)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t n = job->a.rows + 1;
    SPRYI_OK_OR_RETURN(
        spryi_allocate(plan->context, offsets, n, spry_index_type_bytes(plan->offset_type), "row offsets of C", err));
    if (plan->offset_type == SPRY_I64)
        memcpy(*offsets, job->offsets, (size_t)n * sizeof *job->offsets);
    else
        for (int64_t i = 0; i < n; i++) ((int32_t *)*offsets)[i] = (int32_t)job->offsets[i];
    return SPRY_OK;
}

/* C of the job's columns and values, which are its own then, or NULL, and of its offsets, which stay. */
static spry_status adopt(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    spry_arrays c = spryi_types_of(job->a.rows, job->b.cols, plan->nnz, (int32_t)job->type, (int32_t)plan->offset_type,
                                   (int32_t)job->b.index_type);
    void *offsets;
    SPRYI_OK_OR_RETURN(make_offsets(plan, &offsets, err));
    c.offsets = offsets;
    c.indices = job->columns;
    c.values = job->values;
    c.sorted = c.unique = SPRY_KNOWN_YES;
    job->columns = job->values = NULL; /* adopted now, also on failure */
    SPRYI_OK_OR_RETURN(spryi_matrix_adopt(plan->context, &plan->C, &c, SPRYI_REAL, err));
    plan->C->index_base = plan->a.given->index_base;
    job->columns = (void *)(uintptr_t)plan->C->a.indices;
    job->values = (void *)(uintptr_t)plan->C->a.values;
    return SPRY_OK;
}

/* the job's columns and values, unless C has them */
static void release_result(spry_spgemm_plan *plan)
{
    if (plan->C) return;
    spryi_release(plan->context, plan->job.columns);
    spryi_release(plan->context, plan->job.values);
    plan->job.columns = plan->job.values = NULL;
}

enum { PAGE = 4096 };

static void touch_pages(void *memory, int64_t begin, int64_t end)
{
    char *pages = memory;
    for (int64_t p = begin; p < end; p++) pages[p * PAGE] = 0;
}

void spryi_spgemm_touch_pages(const spry_context *context, void *memory, int64_t bytes)
{
    spryi_loop(context, spryi_threads(context, bytes), bytes / PAGE, 0, touch_pages, memory);
}

/* Allocates C and the numeric phase's workspace. */
static spry_status make_room(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    int64_t result_bytes;
    SPRYI_TRY(spryi_size_result(plan, &result_bytes, err));
    spryi_release(plan->context, job->workspace); /* the symbolic phase's, before C is there */
    job->workspace = NULL;
    int64_t held = held_bytes(plan) + result_bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + workspace_of(plan, SPRYI_FILL, 1), 1, err));
    const int64_t limit = plan->options.memory_limit_bytes;
    if (limit > 0 && held + job->bitmaps.bytes + workspace_of(plan, SPRYI_FILL, 0) > limit)
        spryi_spgemm_drop_bitmaps(plan->context, job); /* it can be done without them */
    held += job->bitmaps.bytes + (job->listed ? listed_bytes(plan) : 0);
    job->sizes = plan->kernel->spgemm->sizes(job, SPRYI_FILL, room(plan, held));
    plan->fill_bytes = job->sizes.bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + plan->fill_bytes, 1, err));
    const int64_t workspace = held - plan->input_bytes - result_bytes + plan->fill_bytes;
    if (workspace > plan->workspace_bytes) plan->workspace_bytes = workspace;
    if (!job->columns)
        SPRYI_TRY(spryi_allocate(plan->context, &job->columns, plan->nnz, spry_index_type_bytes(job->b.index_type),
                                 "columns of C", err));
    SPRYI_TRY(spryi_allocate(plan->context, &job->values, plan->nnz, spry_type_bytes(job->type), "values of C", err));
    SPRYI_TRY(take_workspace(plan, plan->fill_bytes, err));
    SPRYI_TRY(adopt(plan, err));
    if (job->listed) join_listed(plan);
done:
    release_result(plan);
    return status;
}

static spry_status ready(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    const int listed = job->columns || job->listed;
    SPRYI_OK_OR_RETURN(make_room(plan, err));
    if (!listed) function_of(job, plan->kernel->spgemm->columns)(job);
    spryi_spgemm_drop_bitmaps(plan->context, job); /* values alone need none */
    spryi_spgemm_touch_pages(plan->context, job->values, plan->nnz * (int64_t)spry_type_bytes(job->type));
    return SPRY_OK;
}

static spry_status fill(spry_spgemm_plan *plan, spry_error *err)
{
    (void)err;
    spryi_spgemm_job *job = &plan->job;
    job->values = plan->values ? plan->values : (void *)(uintptr_t)plan->C->a.values;
    run_filling(plan, plan->kernel->spgemm->refill);
    return SPRY_OK;
}

/* ---- one pass ------------------------------------------------------------------------------------------ */

/* One product whose rows are not counted first: C's arrays are reserved for all products, and shrunk. */

enum {
    MOST_COLUMNS = 64,  /* for each product: beyond, clearing a bit and its rank for each column would be */
    ASK_FROM = 16 << 20 /* bytes for which the machine is asked what it has */
};

/*
 * Bytes of C if no two products met; -1: more than the machine or the limit has, beside `held`.
 */
static int64_t reserved_bytes(const spry_spgemm_plan *plan, int64_t held)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t entry = (int64_t)(spry_type_bytes(job->type) + spry_index_type_bytes(job->b.index_type));
    const int64_t limit = plan->options.memory_limit_bytes;
    if (job->products > INT64_MAX / 64) return -1;
    const int64_t bytes = job->products * entry + (job->a.rows + 1) * (int64_t)sizeof(int64_t);
    if (limit > 0 && held + bytes > limit) return -1;
    return bytes >= ASK_FROM && bytes > spry_available_memory_bytes() ? -1 : bytes;
}

/* *held = bytes that it holds beside C; 0: it goes by two phases. Cuts the rows for it. */
static spry_status ready_one_pass(spry_spgemm_plan *plan, int64_t *held, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    const spryi_spgemm_host_phases *kernel = plan->kernel->spgemm;
    *held = 0;
    if (!function_of(job, kernel->one_pass) || plan->context->allocate) return SPRY_OK;
    if (rows_repeat(&job->a) || job->b.cols / MOST_COLUMNS > job->products + 1) return SPRY_OK;
    job->grouped = spryi_spgemm_column_groups_pay(plan->context, job);
    job->threads = spryi_spgemm_threads(plan->context, plan->options.threads, job->a.rows, job->products);
    job->pool = &plan->context->pool;
    job->sizes = kernel->sizes(job, SPRYI_ONE_PASS, 0);
    const int64_t bytes = job->sizes.bytes, groups = job->grouped ? job->b.nnz * 4 : 0;
    const int64_t cuts = 4 * ((job->products + job->a.rows) / job->sizes.entries + job->pieces.count + 1) * 8;
    if (reserved_bytes(plan, held_bytes(plan) + bytes + groups + cuts) < 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_spgemm_cut_one_pass(plan->context, job, job->sizes.entries, err));
    const int64_t all = held_bytes(plan) + bytes + groups;
    if (reserved_bytes(plan, all) < 0) { /* more pieces pass the limit, which two phases may keep */
        spryi_release(plan->context, job->pieces.rows);
        job->pieces.rows = NULL;
        return spryi_spgemm_cut(plan->context, job, err);
    }
    plan->fill_bytes = bytes;
    *held = all;
    return SPRY_OK;
}

/* All that is held beside C. */
static spry_status take_room(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    spry_status status = SPRYI_NEW(plan->context, &job->offsets, job->a.rows + 1, "row offsets", NULL);
    if (status == SPRY_OK) status = take_workspace(plan, plan->fill_bytes, NULL);
    if (status == SPRY_OK && job->grouped) status = spryi_spgemm_make_column_groups(plan->context, job, NULL);
    return status;
}

/*
 * C counted and filled in one pass. plan->C stays NULL where two phases are better: the kernel has none for these
 * types, too many products meet in an entry, or memory is short.
 */
static spry_status multiply_in_one_pass(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    spry_context *context = plan->context;
    const size_t size = spry_type_bytes(job->type), index_size = spry_index_type_bytes(job->b.index_type);
    int64_t held, result_bytes;
    SPRYI_TRY(ready_one_pass(plan, &held, err));
    if (held == 0 ||
        spryi_reserve(context, &job->columns, job->products, index_size, "columns of C", NULL) != SPRY_OK ||
        spryi_reserve(context, &job->values, job->products, size, "values of C", NULL) != SPRY_OK)
        goto done;
    if (take_room(plan) != SPRY_OK) {
        spryi_release(context, job->offsets);
        job->offsets = NULL;
        goto done; /* two phases reserve nothing, and may do with what there is */
    }
    job->b_rises = spryi_spgemm_rises(context, &job->b);
    const double start = spryi_now_us();
    function_of(job, plan->kernel->spgemm->one_pass)(job);
    plan->stages.fill_us = spryi_now_us() - start;
    plan->nnz = job->offsets[job->a.rows];
    spryi_shrink(context, &job->columns, plan->nnz * (int64_t)index_size);
    spryi_shrink(context, &job->values, plan->nnz * (int64_t)size);
    SPRYI_TRY(spryi_size_result(plan, &result_bytes, err));
    plan->workspace_bytes = held - plan->input_bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + result_bytes, 1, err));
    SPRYI_TRY(adopt(plan, err));
done:
    spryi_release(context, job->column_groups);
    job->column_groups = NULL;
    release_result(plan);
    return status;
}

#define DROP(V, J)                                                                                                     \
    static int64_t drop_##V##_##J(const spry_arrays *c, int64_t to, int64_t begin, int64_t end)                        \
    {                                                                                                                  \
        J *columns = (J *)(uintptr_t)c->indices;                                                                       \
        V *values = (V *)(uintptr_t)c->values;                                                                         \
        for (int64_t k = begin; k < end; k++) {                                                                        \
            columns[to] = columns[k];                                                                                  \
            values[to] = values[k];                                                                                    \
            to += values[k] != 0;                                                                                      \
        }                                                                                                              \
        return to;                                                                                                     \
    }
DROP(float, int32_t)
DROP(float, int64_t)
DROP(double, int32_t)
DROP(double, int64_t)

void spryi_drop_zeros(spry_matrix *C)
{
    int64_t (*const drop[2][2])(const spry_arrays *, int64_t, int64_t,
                                int64_t) = {{drop_float_int32_t, drop_float_int64_t},
                                            {drop_double_int32_t, drop_double_int64_t}};
    spry_arrays *c = &C->a;
    void *offsets = (void *)(uintptr_t)c->offsets;
    int64_t to = 0, begin = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        const int64_t end = spryi_index_at(offsets, c->offset_type, i + 1);
        to = drop[spryi_value_slot(c->value_type)][c->index_type == SPRY_I64](c, to, begin, end);
        begin = end;
        spryi_set_index(offsets, c->offset_type, i + 1, to);
    }
    c->nnz = to;
}

/* ---- all of a run -------------------------------------------------------------------------------- */

static spry_status multiply(spry_spgemm_plan *plan, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_make_columns(plan, err));
    double start = spryi_now_us();
    SPRYI_OK_OR_RETURN(multiply_in_one_pass(plan, err));
    if (!plan->C) {
        SPRYI_OK_OR_RETURN(count_rows(plan, 1, err));
        start = spryi_now_us();
        const int listed = plan->job.columns || plan->job.listed;
        SPRYI_OK_OR_RETURN(make_room(plan, err));
        run_filling(plan, listed ? plan->kernel->spgemm->refill : plan->kernel->spgemm->fill);
    }
    if (plan->options.drop_zeros) spryi_drop_zeros(plan->C);
    plan->run_us = spryi_now_us() - start;
    return SPRY_OK;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static spry_status estimate(spry_spgemm_plan *plan, spry_spgemm_prediction *estimate, spry_error *err)
{
    const int64_t held = held_bytes(plan), result = estimate->result_bytes;
    const int64_t fill_bytes = workspace_of(plan, SPRYI_FILL, 0) + plan->job.bitmaps.bytes + listed_bytes(plan);
    const int64_t count_bytes = held + workspace_of(plan, SPRYI_COUNT, 1);
    estimate->least_bytes =
        larger(larger(plan->operand_bytes, count_bytes), held + result + workspace_of(plan, SPRYI_FILL, 1));
    estimate->workspace_bytes = larger(held - plan->input_bytes + fill_bytes, plan->workspace_bytes);
    estimate->peak_bytes = larger(held + result + fill_bytes, plan->peak_bytes);
    int64_t one_pass;
    spry_status status = ready_one_pass(plan, &one_pass, err);
    if (status != SPRY_OK || one_pass == 0) return status;
    estimate->workspace_bytes = one_pass - plan->input_bytes;
    estimate->peak_bytes = one_pass + result;
    return SPRY_OK;
}

static void close_plan(spry_spgemm_plan *plan)
{
    spryi_spgemm_drop_bitmaps(plan->context, &plan->job);
    spryi_release(plan->context, plan->job.offsets);
    spryi_release(plan->context, plan->job.listed);
    spryi_release(plan->context, plan->job.workspace);
}

const spryi_spgemm_steps spryi_spgemm_on_host = {
    .count = count,
    .ready = ready,
    .fill = fill,
    .multiply = multiply,
    .estimate = estimate,
    .close = close_plan,
};
