/*
 * C = P^T*A*P if most rows of P have the same columns as the next row. Examples are adjacent points of one aggregate,
 * and the unknowns of one point. Rows with equal columns form a run. The rows of A*P of a run are summed one after
 * another, over the columns of the run. Row i of A*P is multiplied by the entries of row i of P and added to a small
 * full block. At the end of the run, the block is added to C. The position of each element of the block in C is found
 * once, when C's structure is computed.
 *
 *      rows of P   x x . .     rows of A*P   y y y     block   b b b   is added to the row of C of P's first column,
 *                  x x . .                   y y y             b b b   and to the row of its second
 *
 * Work: each entry a_ik of A reads row k of P. The number of multiplications for a row of P is its number of entries
 * times the number of columns of its run. Each run adds its block to C. If each run has one row, this is the method of
 * Gustavson, ACM TOMS 4(3), 1978, by rows of A.
 *
 * Each thread has a share of the rows of C and computes the runs that add to them. Several threads may compute the same
 * run. An element of C is summed in the order of the runs, so any number of threads gives the same bits. One thread
 * finds the structure.
 */
#include "spgemm/triple.h"

#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"

#include <string.h>

enum { MOST_ROWS = 64 /* maximal rows of a run, so that its sums remain in the first-level cache */ };

/* Workspace of the search for runs and of C's structure. */
typedef struct search {
    spryi_triple_array kinds;      /* kind of each row of P; adjacent rows with equal columns have the same kind */
    spryi_triple_array seen_kinds; /* for each kind: last run that needs rows of P of the kind */
    spryi_triple_array list;       /* one row of P of each kind that the run needs; later the columns of a row of C */
    spryi_triple_array seen;       /* for each column of P: last run that has it; later last row of C that has it */
    spryi_triple_array positions;  /* for each column of P: its position in the row of C */
    spryi_triple_array columns_of_c;
    int64_t count;   /* elements used in list */
    int64_t columns; /* elements used in spryi_triple_runs.columns */
} search;

/* For each column of P, a list of the runs that have the column. */
typedef struct transposed {
    spryi_triple_array offsets, runs; /* int64_t */
    spryi_triple_array starts;        /* int64_t: for each element of `runs`, start in spryi_triple_runs.places */
    int64_t entries, places;
} transposed;

#define SPRYI_TEMPLATE "spgemm/sort_columns.tmpl.h"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "spgemm/triple_runs.tmpl.c"
#include "base/instantiate.h"

typedef bool (*same_fn)(const spry_arrays *p, int64_t i, int64_t j);
typedef int64_t (*kinds_fn)(const spry_arrays *p, void *kinds);
typedef spry_status (*search_fn)(const spry_spgemm_plan *plan, search *s, spry_error *err);
typedef void (*count_fn)(spry_spgemm_plan *plan, transposed *r);
typedef int64_t (*middle_fn)(const spryi_spgemm_job *job);
typedef void (*list_fn)(const spry_spgemm_plan *plan, transposed *r);
typedef spry_status (*result_fn)(spry_spgemm_plan *plan, const transposed *r, search *s, bool *fits, spry_error *err);
typedef void (*ranges_fn)(const spry_spgemm_plan *plan, spryi_triple_share *shares, int count);
typedef void (*fill_fn)(const spryi_spgemm_job *job, const spryi_triple_runs *t, const spryi_triple_share *share);

static const same_fn sames[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(same_columns);
static const kinds_fn kinds[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(find_kinds);
static const search_fn searches[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(find_runs);
static const count_fn counts[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(count_runs);
static const middle_fn middles[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(count_middle);
static const list_fn lists[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(list_runs);
static const result_fn results[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(find_result);
static const ranges_fn ranges[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(find_ranges);
static const fill_fn fills[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_share);

/* Selects the instance for the types of the job. */
#define INSTANCE(table, job)                                                                                           \
    (table)[spryi_value_slot((job)->type)][spryi_index_pair((job)->b.offset_type, (job)->b.index_type)]

/* ---- runs ------------------------------------------------------------------------------------------------ */

bool spryi_triple_has_runs(const spry_arrays *p)
{
    enum { SAMPLES = 4096 };
    const int64_t step = (p->rows / SAMPLES) | 1; /* an odd step samples all positions of a repeating pattern */
    const same_fn same_columns = sames[0][spryi_index_pair(p->offset_type, p->index_type)];
    int64_t seen = 0, same = 0;
    for (int64_t i = 0; i < p->rows - 1; i += step, seen++) same += same_columns(p, i, i + 1);
    return 2 * same > seen;
}

static void give_search(spryi_triple_memory *memory, search *s)
{
    spryi_triple_array *const arrays[] = {&s->kinds, &s->seen_kinds, &s->list,
                                          &s->seen,  &s->positions,  &s->columns_of_c};
    for (size_t n = 0; n < sizeof arrays / sizeof *arrays; n++) spryi_triple_give(memory, arrays[n]);
}

static void give_transposed(spryi_triple_memory *memory, transposed *r)
{
    spryi_triple_give(memory, &r->offsets);
    spryi_triple_give(memory, &r->runs);
    spryi_triple_give(memory, &r->starts);
}

/* Finds the runs and their columns. */
static spry_status find_runs(spry_spgemm_plan *plan, search *s, spry_error *err)
{
    const spryi_spgemm_job *job = &plan->job;
    spryi_triple_memory *memory = &plan->triple->memory;
    const size_t size = spryi_index_type_bytes(job->b.index_type);
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &s->kinds, job->b.rows, size, err));
    const int64_t count = INSTANCE(kinds, job)(&job->b, s->kinds.at), columns = job->b.columns;
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &s->seen_kinds, count, size, err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &s->list, count > columns ? count : columns, size, err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &s->seen, columns, size, err));
    memset(s->seen_kinds.at, 0xff, (size_t)s->seen_kinds.bytes); /* -1 */
    memset(s->seen.at, 0xff, (size_t)s->seen.bytes);
    SPRYI_OK_OR_RETURN(INSTANCE(searches, job)(plan, s, err));
    spryi_triple_runs *t = &plan->triple->runs;
    SPRYI_OK_OR_RETURN(spryi_triple_settle(memory, &t->begins, t->count + 1, sizeof(int64_t), err));
    SPRYI_OK_OR_RETURN(spryi_triple_settle(memory, &t->ends, t->count, sizeof(int64_t), err));
    SPRYI_OK_OR_RETURN(spryi_triple_settle(memory, &t->columns, s->columns, size, err));
    spryi_triple_give(memory, &s->kinds);
    spryi_triple_give(memory, &s->seen_kinds);
    return spryi_triple_take(memory, &s->positions, columns, size, err);
}

/* ---- structure of C -------------------------------------------------------------------------------------- */

static spry_status transpose(spry_spgemm_plan *plan, transposed *r, spry_error *err)
{
    spryi_triple_memory *memory = &plan->triple->memory;
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &r->offsets, plan->result.rows + 2, sizeof(int64_t), err));
    INSTANCE(counts, &plan->job)(plan, r);
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &r->runs, r->entries, sizeof(int64_t), err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &r->starts, r->entries, sizeof(int64_t), err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &plan->triple->runs.places, r->places, sizeof(uint16_t), err));
    INSTANCE(lists, &plan->job)(plan, r);
    return SPRY_OK;
}

/* Creates C with the columns that the search found. */
static spry_status create_result(spry_spgemm_plan *plan, search *s, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    spryi_triple_memory *memory = &plan->triple->memory;
    const size_t size = spryi_index_type_bytes(job->b.index_type);
    plan->result.nnz = job->offsets[plan->result.rows];
    const bool handed_over = spryi_triple_hand_over(memory, &s->columns_of_c, plan->result.nnz, size, &job->columns);
    SPRYI_OK_OR_RETURN(spryi_triple_create_result(plan, err));
    if (!handed_over && plan->result.nnz > 0) memcpy(job->columns, s->columns_of_c.at, (size_t)plan->result.nnz * size);
    return SPRY_OK;
}

/* Frees the results of the search, so that C can be computed by rows. */
static void drop_runs(spry_spgemm_plan *plan)
{
    spryi_triple_memory *memory = &plan->triple->memory;
    spryi_triple_runs *t = &plan->triple->runs;
    for (int n = 0; t->shares.at && n < plan->job.threads; n++)
        spryi_triple_give(memory, &((spryi_triple_share *)t->shares.at)[n].space);
    spryi_triple_array *const arrays[] = {&t->begins, &t->ends, &t->columns, &t->places, &t->shares};
    for (size_t n = 0; n < sizeof arrays / sizeof *arrays; n++) spryi_triple_give(memory, arrays[n]);
    *t = (spryi_triple_runs){0};
    plan->job.products = 0;
}

spry_status spryi_triple_find_runs(spry_spgemm_plan *plan, bool *fits, spry_error *err)
{
    spry_status status = SPRY_OK;
    search s = {0};
    transposed r = {0};
    spryi_triple_memory *memory = &plan->triple->memory;
    spryi_triple_array offsets = {0};
    *fits = true;
    SPRYI_TRY(find_runs(plan, &s, err));
    SPRYI_TRY(transpose(plan, &r, err));
    SPRYI_TRY(spryi_triple_take(memory, &offsets, plan->result.rows + 1, sizeof(int64_t), err));
    plan->job.offsets = offsets.at;
    plan->job.offsets[0] = 0;
    SPRYI_TRY(INSTANCE(results, &plan->job)(plan, &r, &s, fits, err));
    give_transposed(memory, &r);
    if (*fits) {
        SPRYI_TRY(create_result(plan, &s, err));
    } else {
        drop_runs(plan);
        plan->job.offsets = NULL;
        spryi_triple_give(memory, &offsets);
    }
done:
    give_transposed(memory, &r);
    give_search(memory, &s);
    return status;
}

/* ---- shares ---------------------------------------------------------------------------------------------- */

/* Allocates the workspace of a share. */
static spry_status open_share(spry_spgemm_plan *plan, spryi_triple_share *share, spry_error *err)
{
    const spryi_triple_runs *t = &plan->triple->runs;
    const spryi_spgemm_job *job = &plan->job;
    const int64_t number = (int64_t)spry_type_bytes(job->type);
    const int64_t positions = spryi_triple_aligned(job->b.columns * (int64_t)spryi_index_type_bytes(job->b.index_type));
    const int64_t sums = spryi_triple_aligned(t->widest * number), block = spryi_triple_aligned(t->largest * number);
    SPRYI_OK_OR_RETURN(
        spryi_triple_take(&plan->triple->memory, &share->space, positions + sums + block + t->widest, 1, err));
    share->positions = share->space.at;
    share->sums = (char *)share->positions + positions;
    share->block = (char *)share->sums + sums;
    share->touched = (unsigned char *)share->block + block;
    return SPRY_OK;
}

/* Divides the rows of C into shares with about equal numbers of entries, one share for each thread. */
static spry_status open_shares(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_triple_runs *t = &plan->triple->runs;
    spryi_spgemm_job *job = &plan->job;
    const int64_t rows = plan->result.rows, nnz = plan->result.nnz;
    const int64_t bytes = job->b.columns * (int64_t)spryi_index_type_bytes(job->b.index_type) +
                          (2 * t->widest + t->largest) * (int64_t)spry_type_bytes(job->type);
    int count = spryi_triple_threads_that_fit(&plan->triple->memory, spryi_triple_threads(plan, job->products), bytes);
    if (count > rows) count = rows > 0 ? (int)rows : 1;
    job->threads = job->sizes.threads = count;
    SPRYI_OK_OR_RETURN(spryi_triple_take(&plan->triple->memory, &t->shares, count, sizeof(spryi_triple_share), err));
    memset(t->shares.at, 0, (size_t)t->shares.bytes);
    spryi_triple_share *shares = t->shares.at;
    int64_t row = 0;
    for (int n = 0; n < count; n++) {
        const int64_t until = n + 1 < count ? nnz / count * (n + 1) : nnz;
        shares[n].first_row = row;
        SPRYI_BISECT(row, shares[n].first_row, rows, job->offsets[row] < until);
        if (n + 1 == count) row = rows;
        shares[n].last_row = row;
        SPRYI_OK_OR_RETURN(open_share(plan, &shares[n], err));
    }
    INSTANCE(ranges, job)(plan, shares, count);
    return SPRY_OK;
}

int64_t spryi_triple_count_products(const spry_spgemm_plan *plan)
{
    if (plan->steps != &spryi_triple_by_runs) return plan->job.products;
    return plan->job.products + INSTANCE(middles, &plan->job)(&plan->job);
}

/* ---- the steps of a plan --------------------------------------------------------------------------------- */

static void fill_one_share(void *plan, int n)
{
    const spryi_triple_runs *t = &((const spry_spgemm_plan *)plan)->triple->runs;
    const spryi_spgemm_job *job = &((const spry_spgemm_plan *)plan)->job;
    INSTANCE(fills, job)(job, t, (const spryi_triple_share *)t->shares.at + n);
}

static spry_status fill(spry_spgemm_plan *plan, spry_error *err)
{
    (void)err;
    spryi_spgemm_job *job = &plan->job;
    job->values = plan->result.values ? plan->result.values : (void *)(uintptr_t)plan->result.C->a.values;
    spryi_parallel(&plan->context->pool, job->threads, fill_one_share, plan);
    return SPRY_OK;
}

static spry_status multiply(spry_spgemm_plan *plan, spry_error *err)
{
    SPRYI_OK_OR_RETURN(open_shares(plan, err));
    return fill(plan, err);
}

static void close_plan(spry_spgemm_plan *plan)
{
    drop_runs(plan);
    spryi_release(plan->context, plan->job.offsets);
}

const spryi_spgemm_steps spryi_triple_by_runs = {.multiply = multiply, .fill = fill, .close = close_plan};
