/*
 * C = P^T*A*P if rows of P are short, as in the interpolations of multigrid. Computes one row of C after another,
 * without storing the product of two matrices. Row J of P^T*A is summed in a vector over the columns of A, and its
 * columns are listed. This row times P is summed in a vector over the columns of C. The first run lists and sorts the
 * columns of C; later runs reuse these columns.
 *
 * Work: each entry p_iJ of P reads row i of A, and each entry (J,k) of P^T*A reads row k of P. Computing and storing
 * two products takes about twice as long. If rows of P are long, two products are faster, because their kernels process
 * several entries at a time. Source: Gustavson, ACM TOMS 4(3), 1978, applied twice.
 *
 * Threads fetch pieces, which are ranges of rows of C. One thread computes a row, in the order of P's and A's entries.
 * Any number of threads gives the same bits.
 */
#include "spgemm/triple.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"

#include <string.h>

/* One pass over the rows of C. */
typedef struct rows_job {
    spryi_spgemm_job *job;
    spryi_triple *triple;
    spry_error *err;
    atomic_int status;
} rows_job;

/* Enlarges the thread's arrays for `more` entries. */
static spry_status grow_part(rows_job *r, spryi_triple_part *part, int64_t more, spry_error *err)
{
    spryi_triple_memory *memory = &r->triple->memory;
    const size_t index = spryi_index_type_bytes(r->job->b.index_type), number = spry_type_bytes(r->job->type);
    SPRYI_OK_OR_RETURN(spryi_triple_grow(memory, &part->columns, part->used, more, index, err));
    SPRYI_OK_OR_RETURN(spryi_triple_grow(memory, &part->values, part->used, more, number, err));
    const int64_t columns = part->columns.bytes / (int64_t)index, values = part->values.bytes / (int64_t)number;
    part->room = columns < values ? columns : values;
    return SPRY_OK;
}

#define SPRYI_TEMPLATE "spgemm/sort_columns.tmpl.h"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "spgemm/triple_rows.tmpl.c"
#include "base/instantiate.h"

typedef void (*transpose_fn)(const spryi_spgemm_job *job, spryi_triple_rows *t);
typedef spry_status (*find_fn)(rows_job *r, spryi_triple_part *part, int64_t begin, int64_t end, spry_error *err);
typedef void (*fill_fn)(const spryi_spgemm_job *job, const spryi_triple_rows *t, spryi_triple_part *part, int64_t begin,
                        int64_t end);
typedef void (*clear_fn)(void *seen, int64_t count);

static const transpose_fn transposes[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(transpose);
static const find_fn finds[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(find_rows);
static const fill_fn fills[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fill_rows);
static const clear_fn clears[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(clear_seen);

/* ---- pieces ---------------------------------------------------------------------------------------------- */

/* Cuts the rows of C into pieces with about equal numbers of entries of P^T. Returns the number of pieces. */
static int64_t cut_pieces(const spryi_triple_rows *t, spry_index_type type, int64_t rows, int64_t *pieces)
{
    enum { PIECE_ENTRIES = 512 };
    int64_t count = 0, filled = PIECE_ENTRIES;
    for (int64_t row = 0; row < rows; row++) {
        if (filled >= PIECE_ENTRIES) {
            if (pieces) pieces[count] = row;
            count++;
            filled = 0;
        }
        filled += spryi_index_at(t->offsets.at, type, row + 1) - spryi_index_at(t->offsets.at, type, row) + 1;
    }
    if (pieces) pieces[count] = rows;
    return count;
}

/* Transposes P and cuts the rows of C into pieces. */
static spry_status prepare(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    spryi_triple_memory *memory = &plan->triple->memory;
    spryi_triple_rows *t = &plan->triple->rows;
    const spry_index_type type = job->b.offset_type;
    const int64_t rows = plan->result.rows, nnz = job->b.nnz;
    spryi_triple_array offsets = {0};
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &offsets, rows + 1, sizeof *job->offsets, err));
    job->offsets = offsets.at; /* released with the plan */
    job->offsets[0] = 0;
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &t->offsets, rows + 2, spryi_index_type_bytes(type), err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &t->rows, nnz, spryi_index_type_bytes(job->b.index_type), err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &t->entries, nnz, spryi_index_type_bytes(type), err));
    transposes[spryi_value_slot(job->type)][spryi_index_pair(type, job->b.index_type)](job, t);
    t->piece_count = cut_pieces(t, type, rows, NULL);
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &t->pieces, t->piece_count + 1, sizeof(int64_t), err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &t->owners, t->piece_count, sizeof(int64_t), err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &t->starts, t->piece_count, sizeof(int64_t), err));
    (void)cut_pieces(t, type, rows, t->pieces.at);
    return SPRY_OK;
}

/* ---- workspace ------------------------------------------------------------------------------------------- */

/*
 * Bytes of the arrays of one thread. The lists have an additional element: an element is written before it is counted.
 */
typedef struct part_sizes {
    int64_t middle, sums, seen, list, seen_of_c, list_of_c;
} part_sizes;

static part_sizes sizes_of(const spryi_spgemm_job *job)
{
    const int64_t number = (int64_t)spry_type_bytes(job->type),
                  index = (int64_t)spryi_index_type_bytes(job->b.index_type);
    const int64_t of_a = job->a.columns, of_c = job->b.columns;
    return (part_sizes){
        .middle = spryi_triple_aligned(of_a * number),
        .sums = spryi_triple_aligned(of_c * number),
        .seen = spryi_triple_aligned(of_a * index),
        .list = spryi_triple_aligned((of_a + 1) * index),
        .seen_of_c = spryi_triple_aligned(of_c * index),
        .list_of_c = spryi_triple_aligned((of_c + 1) * index),
    };
}

static void clear(const spryi_spgemm_job *job, void *seen, int64_t count)
{
    clears[spryi_value_slot(job->type)][spryi_index_pair(job->b.offset_type, job->b.index_type)](seen, count);
}

/* Allocates one thread's workspace, including the arrays that only the first run needs. */
static spry_status open_part(spry_spgemm_plan *plan, spryi_triple_part *part, spry_error *err)
{
    const spryi_spgemm_job *job = &plan->job;
    spryi_triple_memory *memory = &plan->triple->memory;
    const part_sizes s = sizes_of(job);
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &part->space, s.middle + s.sums + s.seen + s.list, 1, err));
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &part->finding, s.seen_of_c + s.list_of_c, 1, err));
    part->middle = part->space.at;
    part->sums = (char *)part->middle + s.middle;
    part->seen = (char *)part->sums + s.sums;
    part->list = (char *)part->seen + s.seen;
    part->seen_of_c = part->finding.at;
    part->list_of_c = (char *)part->seen_of_c + s.seen_of_c;
    memset(part->middle, 0, (size_t)(s.middle + s.sums));
    clear(job, part->seen, job->a.columns);
    clear(job, part->seen_of_c, job->b.columns);
    return SPRY_OK;
}

/*
 * Chooses the number of threads and allocates their workspaces. All workspaces together have at most about twice the
 * bytes of the inputs, and fit into the memory limit.
 */
static spry_status open_parts(spry_spgemm_plan *plan, spry_error *err)
{
    enum { MOST_INPUTS = 2 /* maximal bytes of all workspaces, as a multiple of the inputs' bytes */ };
    spryi_spgemm_job *job = &plan->job;
    spryi_triple_memory *memory = &plan->triple->memory;
    spryi_triple_rows *t = &plan->triple->rows;
    const part_sizes s = sizes_of(job);
    const double mean = (double)job->a.nnz / (double)(job->a.rows > 0 ? job->a.rows : 1);
    const int64_t work = (int64_t)(2 * mean * (double)job->b.nnz);
    const int64_t bytes = s.middle + s.sums + s.seen + s.list + s.seen_of_c + s.list_of_c;
    const int64_t most = MOST_INPUTS * plan->costs.input_bytes / (bytes + 1) + 1;
    const int wanted = spryi_triple_threads(plan, work);
    const int threads = spryi_triple_threads_that_fit(memory, wanted < most ? wanted : (int)most, bytes);
    t->threads = threads > t->piece_count && t->piece_count > 0 ? (int)t->piece_count : threads;
    job->threads = job->sizes.threads = t->threads;
    SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &t->parts, t->threads, sizeof(spryi_triple_part), err));
    memset(t->parts.at, 0, (size_t)t->parts.bytes);
    for (int p = 0; p < t->threads; p++) SPRYI_OK_OR_RETURN(open_part(plan, (spryi_triple_part *)t->parts.at + p, err));
    return SPRY_OK;
}

/* ---- structure and values together ----------------------------------------------------------------------- */

static void find_pieces(void *argument, int64_t begin, int64_t end, int p)
{
    rows_job *r = argument;
    const spryi_triple_rows *t = &r->triple->rows;
    const spryi_spgemm_job *job = r->job;
    spryi_triple_part *part = (spryi_triple_part *)t->parts.at + p;
    const find_fn find = finds[spryi_value_slot(job->type)][spryi_index_pair(job->b.offset_type, job->b.index_type)];
    const int64_t *rows = t->pieces.at;
    for (int64_t piece = begin; piece < end && atomic_load(&r->status) == SPRY_OK; piece++) {
        spry_error err = SPRY_ERROR_INIT;
        ((int64_t *)t->owners.at)[piece] = p;
        ((int64_t *)t->starts.at)[piece] = part->used;
        const spry_status status = find(r, part, rows[piece], rows[piece + 1], &err);
        int none = SPRY_OK;
        if (status != SPRY_OK && atomic_compare_exchange_strong(&r->status, &none, (int)status) && r->err)
            *r->err = err;
    }
}

/* Copies the pieces from the threads' arrays to C. */
static void copy_pieces(void *argument, int64_t begin, int64_t end)
{
    const rows_job *r = argument;
    const spryi_triple_rows *t = &r->triple->rows;
    const spryi_spgemm_job *job = r->job;
    const int64_t *rows = t->pieces.at, *owners = t->owners.at, *starts = t->starts.at;
    const size_t index = spryi_index_type_bytes(job->b.index_type), number = spry_type_bytes(job->type);
    for (int64_t piece = begin; piece < end; piece++) {
        const spryi_triple_part *part = (const spryi_triple_part *)t->parts.at + owners[piece];
        const size_t to = (size_t)job->offsets[rows[piece]], from = (size_t)starts[piece];
        const size_t count = (size_t)job->offsets[rows[piece + 1]] - to;
        if (count == 0) continue;
        memcpy((char *)job->columns + to * index, (const char *)part->columns.at + from * index, count * index);
        memcpy((char *)job->values + to * number, (const char *)part->values.at + from * number, count * number);
    }
}

/* Releases the arrays that only the first run needs. */
static void end_finding(spryi_triple *triple)
{
    spryi_triple_rows *t = &triple->rows;
    for (int p = 0; p < t->threads && t->parts.at; p++) {
        spryi_triple_part *part = (spryi_triple_part *)t->parts.at + p;
        spryi_triple_give(&triple->memory, &part->finding);
        spryi_triple_give(&triple->memory, &part->columns);
        spryi_triple_give(&triple->memory, &part->values);
    }
    spryi_triple_give(&triple->memory, &t->owners);
    spryi_triple_give(&triple->memory, &t->starts);
}

/* Makes the arrays of a single thread the columns and values of C, without a copy, if these arrays are reserved. */
static void hand_over(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    spryi_triple_memory *memory = &plan->triple->memory;
    spryi_triple_part *part = plan->triple->rows.parts.at;
    if (plan->triple->rows.threads > 1 || !part->columns.reserved || !part->values.reserved) return;
    (void)spryi_triple_hand_over(memory, &part->columns, part->used, spryi_index_type_bytes(job->b.index_type),
                                 &job->columns);
    (void)spryi_triple_hand_over(memory, &part->values, part->used, spry_type_bytes(job->type), &job->values);
}

/* Counts the multiplications of P^T*A. */
static int64_t middle_products(const spryi_spgemm_job *job)
{
    int64_t products = 0;
    for (int64_t i = 0; i < job->b.rows; i++)
        products += (spryi_offset_of(&job->b, i + 1) - spryi_offset_of(&job->b, i)) *
                    (spryi_offset_of(&job->a, i + 1) - spryi_offset_of(&job->a, i));
    return products;
}

/* Counts the multiplications. Includes in the peak the bytes of reserved memory that the threads have written. */
static spry_status count_found(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_triple_memory *memory = &plan->triple->memory;
    const spryi_triple_rows *t = &plan->triple->rows;
    const int64_t entry = (int64_t)(spry_type_bytes(plan->job.type) + spryi_index_type_bytes(plan->job.b.index_type));
    int64_t bytes = 0;
    plan->job.products = middle_products(&plan->job);
    for (int p = 0; p < t->threads; p++) {
        const spryi_triple_part *part = (const spryi_triple_part *)t->parts.at + p;
        plan->job.products += part->products;
        if (part->values.reserved) bytes += part->used * entry;
    }
    SPRYI_OK_OR_RETURN(spryi_triple_hold(memory, bytes, err));
    atomic_fetch_sub(&memory->held, bytes);
    return SPRY_OK;
}

static spry_status multiply(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    spryi_triple_rows *t = &plan->triple->rows;
    rows_job r = {.job = job, .triple = plan->triple, .err = err, .status = SPRY_OK};
    SPRYI_TRY(prepare(plan, err));
    SPRYI_TRY(open_parts(plan, err));
    spryi_loop_in_parts(plan->context, t->threads, t->piece_count, 1, find_pieces, &r);
    SPRYI_TRY((spry_status)atomic_load(&r.status));
    SPRYI_TRY(count_found(plan, err));
    spryi_scan(job->offsets, plan->result.rows);
    plan->result.nnz = job->offsets[plan->result.rows];
    hand_over(plan);
    const bool handed_over = job->values != NULL;
    SPRYI_TRY(spryi_triple_create_result(plan, err));
    if (!handed_over) spryi_loop(plan->context, t->threads, t->piece_count, 0, copy_pieces, &r);
done:
    end_finding(plan->triple);
    return status;
}

/* ---- new values ------------------------------------------------------------------------------------------ */

static void fill_pieces(void *argument, int64_t begin, int64_t end, int p)
{
    const rows_job *r = argument;
    const spryi_triple_rows *t = &r->triple->rows;
    const spryi_spgemm_job *job = r->job;
    spryi_triple_part *part = (spryi_triple_part *)t->parts.at + p;
    const int64_t *rows = t->pieces.at;
    if (part->fills != r->triple->fills) clear(job, part->seen, job->a.columns);
    part->fills = r->triple->fills;
    fills[spryi_value_slot(job->type)][spryi_index_pair(job->b.offset_type, job->b.index_type)](job, t, part,
                                                                                                rows[begin], rows[end]);
}

static spry_status fill(spry_spgemm_plan *plan, spry_error *err)
{
    (void)err;
    spryi_spgemm_job *job = &plan->job;
    rows_job r = {.job = job, .triple = plan->triple};
    job->values = plan->result.values ? plan->result.values : (void *)(uintptr_t)plan->result.C->a.values;
    plan->triple->fills++;
    spryi_loop_in_parts(plan->context, plan->triple->rows.threads, plan->triple->rows.piece_count, 1, fill_pieces, &r);
    return SPRY_OK;
}

static void close_plan(spry_spgemm_plan *plan)
{
    spryi_triple_memory *memory = &plan->triple->memory;
    spryi_triple_rows *t = &plan->triple->rows;
    end_finding(plan->triple);
    for (int p = 0; p < t->threads && t->parts.at; p++)
        spryi_triple_give(memory, &((spryi_triple_part *)t->parts.at)[p].space);
    spryi_triple_array *const arrays[] = {&t->offsets, &t->rows, &t->entries, &t->pieces, &t->parts};
    for (size_t n = 0; n < sizeof arrays / sizeof *arrays; n++) spryi_triple_give(memory, arrays[n]);
    spryi_release(plan->context, plan->job.offsets);
}

const spryi_spgemm_steps spryi_triple_by_rows = {.multiply = multiply, .fill = fill, .close = close_plan};
