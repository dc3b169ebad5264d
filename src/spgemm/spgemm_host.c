/*
 * Sparse times sparse in host memory. Rows of A are cut into pieces with about equal work; idle threads fetch the next
 * piece. Two phases count the entries of C, allocate C exactly, and fill it. A single product may count and fill in one
 * pass, into memory that is reserved for all products.
 */
#include "base/bisect.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"
#include "matrix/row_lengths.h"
#include "spgemm/spgemm_plan.h"
#include "spry/spgemm.h"

#include <string.h>

/* ---- pieces of rows -------------------------------------------------------------------------------------- */

#define COUNT_PRODUCTS(P, J)                                                                                           \
    static int64_t products_##P##_##J(const spryi_spgemm_job *job, int64_t begin, int64_t end)                         \
    {                                                                                                                  \
        const P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;                                          \
        const J *restrict Aj = job->a.indices;                                                                         \
        int64_t sum = 0;                                                                                               \
        for (P k = Ap[begin]; k < Ap[end]; k++) sum += (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]);                           \
        return sum;                                                                                                    \
    }
COUNT_PRODUCTS(int32_t, int32_t)
COUNT_PRODUCTS(int64_t, int32_t)
COUNT_PRODUCTS(int64_t, int64_t)

/* Counts the products of rows begin to end - 1. */
typedef int64_t (*count_fn)(const spryi_spgemm_job *job, int64_t begin, int64_t end);

static count_fn count_function(const spryi_spgemm_job *job)
{
    static const count_fn functions[] = {products_int32_t_int32_t, products_int64_t_int32_t, products_int64_t_int64_t};
    return functions[spryi_index_pair(job->a.offset_type, job->a.index_type)];
}

/* Returns the first row before which the numbers of entries and rows add up to at least `work`. */
static int64_t row_at(const spry_arrays *a, int64_t work)
{
    int64_t i;
    SPRYI_BISECT(i, 0, a->rows, spryi_offset_of(a, i) + i < work);
    return i;
}

typedef struct piece_job {
    const spryi_spgemm_job *job;
    int64_t work; /* entries plus rows of a piece */
    atomic_llong products;
    atomic_int overflow;
} piece_job;

static void find_pieces(void *argument, int64_t begin, int64_t end)
{
    const piece_job *j = argument;
    for (int64_t p = begin; p < end; p++) j->job->pieces.rows[p] = row_at(&j->job->a, p * j->work);
}

static void count_in_pieces(void *argument, int64_t begin, int64_t end)
{
    piece_job *j = argument;
    const spryi_work_pieces pieces = j->job->pieces;
    const count_fn count = count_function(j->job);
    for (int64_t p = begin; p < end; p++) {
        pieces.products[p] = count(j->job, pieces.rows[p], pieces.rows[p + 1]);
        if (pieces.products[p] > INT64_MAX / (pieces.count + 1))
            atomic_store(&j->overflow, 1);
        else
            atomic_fetch_add(&j->products, pieces.products[p]);
    }
}

/* A piece's number of products does not overflow: 2^16 entries of A would need rows of B with 2^47 entries each. */
spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err)
{
    enum { PIECE_WORK = 4096 }; /* a thread fetches some thousand pieces per second */
    const spry_arrays *a = &job->a;
    spryi_work_pieces *pieces = &job->pieces;
    piece_job j = {.job = job, .work = job->piece_work > 0 ? job->piece_work : PIECE_WORK};
    const int threads = spryi_threads(context, a->nnz);
    pieces->count = (a->nnz + a->rows + j.work - 1) / j.work;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &pieces->rows, 2 * pieces->count + 1, "pieces of rows", err));
    pieces->products = pieces->rows + pieces->count + 1;
    spryi_loop(context, threads, pieces->count, 0, find_pieces, &j);
    pieces->rows[pieces->count] = a->rows;
    spryi_loop(context, threads, pieces->count, 16, count_in_pieces, &j);
    job->products = j.overflow ? INT64_MAX : j.products;
    return SPRY_OK;
}

/*
 * Returns an upper bound on the number of pieces that piece p is cut into. Any two adjacent new pieces have together
 * more than `most` rows plus products.
 */
static int64_t most_pieces(const spryi_work_pieces *pieces, int64_t p, int64_t most)
{
    const int64_t rows = pieces->rows[p + 1] - pieces->rows[p], pairs = (pieces->products[p] + rows) / most;
    return 2 * pairs + 1 < rows ? 2 * pairs + 1 : rows;
}

typedef struct cut_job {
    const spryi_spgemm_job *job;
    int64_t most, *starts, *cut, *pieces;
} cut_job;

/* Cuts rows begin to end - 1 into pieces and stores the first row of each. Returns the number of pieces. */
static int64_t cut_piece(const cut_job *j, int64_t begin, int64_t end, int64_t *to)
{
    const count_fn count = count_function(j->job);
    int64_t pieces = 0, filled = j->most;
    for (int64_t i = begin; i < end; i++) {
        const int64_t products = count(j->job, i, i + 1);
        const int64_t work = (products < j->job->b.columns ? products : j->job->b.columns) + 1;
        filled += work;
        if (filled <= j->most) continue;
        to[pieces++] = i;
        filled = work;
    }
    return pieces;
}

static void cut_pieces(void *argument, int64_t first, int64_t last)
{
    const cut_job *j = argument;
    const spryi_work_pieces *from = &j->job->pieces;
    for (int64_t p = first; p < last; p++) {
        const int64_t begin = from->rows[p], end = from->rows[p + 1];
        const bool whole = begin < end && from->products[p] <= j->most - (end - begin);
        if (whole) j->cut[j->starts[p]] = begin;
        j->pieces[p] = whole ? 1 : cut_piece(j, begin, end, j->cut + j->starts[p]);
    }
}

/*
 * Cuts the rows again for one pass. Each new piece is one row, or has at most `most` rows plus products. If a row has
 * more products than C has columns, only the number of columns counts.
 */
static spry_status cut_one_pass(spry_context *context, spryi_spgemm_job *job, int64_t most, spry_error *err)
{
    const spryi_work_pieces from = job->pieces;
    int64_t *starts = NULL, *cut = NULL, *built = NULL, count = 0;
    spry_status status = SPRY_OK;
    const int threads = spryi_threads(context, job->a.nnz);
    SPRYI_TRY(SPRYI_NEW(context, &starts, from.count + 1, "pieces of rows", err));
    for (int64_t p = 0; p < from.count; p++) starts[p + 1] = most_pieces(&from, p, most);
    spryi_scan(starts, from.count);
    SPRYI_TRY(SPRYI_NEW(context, &cut, starts[from.count] + from.count, "pieces of rows", err));
    int64_t *const pieces = cut + starts[from.count];
    spryi_loop(context, threads, from.count, 4, cut_pieces, &(cut_job){job, most, starts, cut, pieces});
    for (int64_t p = 0; p < from.count; p++) count += pieces[p];
    SPRYI_TRY(SPRYI_NEW(context, &built, 3 * count + 2, "pieces of rows", err));
    int64_t *to = built;
    for (int64_t p = 0; p < from.count; p++)
        for (int64_t k = 0; k < pieces[p]; k++) *to++ = cut[starts[p] + k];
    *to++ = job->a.rows;
    spryi_release(context, from.rows);
    job->pieces = (spryi_work_pieces){count, built, NULL, to, to + count};
done:
    spryi_release(context, cut);
    spryi_release(context, starts);
    return status;
}

/* ---- samples of A ---------------------------------------------------------------------------------------- */

/*
 * Compares a row with the row before. Returns 1 if they are alike, 0 if they differ, -1 if the row must be left out of
 * the sample.
 */
typedef int (*compare_fn)(const spry_arrays *a, int64_t before, int64_t begin, int64_t end);

/* Returns the share of sampled rows that are like the row before. The sample is spread over the matrix. */
static double share_alike(const spry_arrays *a, compare_fn compare)
{
    enum { SAMPLE = 64, STRETCH = 8 };
    int64_t seen = 0, alike = 0;
    for (int64_t s = 0; s < SAMPLE; s++)
        for (int64_t i = a->rows / SAMPLE * s + 1; i < a->rows / SAMPLE * s + STRETCH && i < a->rows; i++) {
            const int found = compare(a, spryi_offset_of(a, i - 1), spryi_offset_of(a, i), spryi_offset_of(a, i + 1));
            seen += found >= 0;
            alike += found > 0;
        }
    return seen > 0 ? (double)alike / (double)seen : 0;
}

static int has_equal_columns(const spry_arrays *a, int64_t before, int64_t begin, int64_t end)
{
    const size_t size = spryi_index_type_bytes(a->index_type);
    const char *columns = a->indices;
    if (end - begin < 2) return -1;
    return begin - before == end - begin &&
           memcmp(columns + (size_t)before * size, columns + (size_t)begin * size, (size_t)(end - begin) * size) == 0;
}

static int has_moved_ends(const spry_arrays *a, int64_t before, int64_t begin, int64_t end)
{
    if (begin - before < 2) return -1;
    return end - begin == begin - before && spryi_minor_of(a, begin) - spryi_minor_of(a, before) ==
                                                spryi_minor_of(a, end - 1) - spryi_minor_of(a, begin - 1);
}

/* Returns true if rows often have the same columns as the row before, so that results for one row serve the next. */
static bool rows_repeat(const spry_arrays *a)
{
    return share_alike(a, has_equal_columns) >= 1.0 / 3;
}

/* Returns true if the first and last columns of most rows are those of the row before plus a constant, as in runs. */
static bool rows_move(const spry_arrays *a)
{
    return share_alike(a, has_moved_ends) >= 0.5;
}

bool spryi_spgemm_rises(const spry_context *context, const spry_arrays *csr)
{
    if (csr->sorted == SPRY_KNOWN_YES && csr->unique == SPRY_KNOWN_YES) return true;
    if (csr->sorted == SPRY_KNOWN_NO || csr->unique == SPRY_KNOWN_NO) return false;
    return spryi_rows_rise(context, csr);
}

/* ---- rows of B as bitmaps -------------------------------------------------------------------------------- */

/* Counts the groups of 2^shift columns that contain entries begin to end - 1 of one row. */
static inline int64_t count_groups(const spry_arrays *b, int64_t begin, int64_t end, int shift)
{
    int64_t groups = begin < end;
    if (b->index_type == SPRY_I32) {
        const int32_t *columns = b->indices;
        for (int64_t k = begin + 1; k < end; k++) groups += columns[k] >> shift != columns[k - 1] >> shift;
        return groups;
    }
    for (int64_t k = begin + 1; k < end; k++)
        groups += spryi_minor_of(b, k) >> shift != spryi_minor_of(b, k - 1) >> shift;
    return groups;
}

/*
 * Returns true if groups of 2^shift columns save time. This needs two conditions. A row of B is read at least four
 * times on average. The number of groups that sampled entries of B occupy is at most 3/parts of the number of entries.
 * The sample consists of stretches of consecutive entries, spread over B.
 */
static bool groups_pay(const spryi_spgemm_job *job, int shift, int parts)
{
    enum { FEW_USES = 4, SAMPLE = 4096, STRETCH = 64 };
    const spry_arrays *b = &job->b;
    int64_t groups = 0;
    if (job->products / FEW_USES < b->nnz || b->nnz < SAMPLE) return false;
    for (int64_t s = 0; s < SAMPLE / STRETCH; s++) {
        const int64_t begin = b->nnz / (SAMPLE / STRETCH) * s;
        groups += count_groups(b, begin, begin + STRETCH, shift);
    }
    return groups * parts <= SAMPLE * 3;
}

typedef struct bitmap_job {
    const spryi_spgemm_bitmaps *built;
    const spry_arrays *b;
} bitmap_job;

static void count_words(void *job, int64_t begin, int64_t end)
{
    const bitmap_job *j = job;
    for (int64_t i = begin; i < end; i++)
        j->built->offsets[i + 1] = count_groups(j->b, spryi_offset_of(j->b, i), spryi_offset_of(j->b, i + 1), 6);
}

static void fill_words(void *job, int64_t begin, int64_t end)
{
    const spry_arrays *b = ((const bitmap_job *)job)->b;
    const spryi_spgemm_bitmaps *built = ((const bitmap_job *)job)->built;
    for (int64_t i = begin; i < end; i++) {
        const int64_t last_entry = spryi_offset_of(b, i + 1);
        int64_t to = built->offsets[i] - 1, last = -1;
        for (int64_t k = spryi_offset_of(b, i); k < last_entry; k++) {
            const int64_t word = spryi_minor_of(b, k) >> 6;
            if (word != last) built->bits[++to] = 0;
            built->index[to] = (int32_t)word;
            built->bits[to] |= (uint64_t)1 << (spryi_minor_of(b, k) & 63);
            last = word;
        }
    }
}

static void drop_bitmaps(spry_context *context, spryi_spgemm_bitmaps *bitmaps)
{
    spryi_release(context, bitmaps->bits);
    spryi_release(context, bitmaps->index);
    spryi_release(context, bitmaps->offsets);
    *bitmaps = (spryi_spgemm_bitmaps){0};
}

/* Creates job->rows_of_b.bitmaps if they save time and need at most most_bytes (0: no limit). */
static spry_status build_bitmaps(spry_context *context, spryi_spgemm_job *job, int64_t most_bytes, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spry_arrays *b = &job->b;
    spryi_spgemm_bitmaps built = {0};
    const int threads = spryi_threads(context, b->nnz);
    const int64_t rows = b->rows, head = (rows + 1) * (int64_t)sizeof *built.offsets;
    if (b->columns / 64 > INT32_MAX || !groups_pay(job, 6, 5)) return SPRY_OK;
    if (most_bytes > 0 && head > most_bytes) return SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &built.offsets, rows + 1, "bitmaps of B", err));
    bitmap_job j = {&built, b};
    spryi_loop(context, threads, rows, 4096, count_words, &j);
    spryi_scan(built.offsets, rows);
    built.count = built.offsets[rows];
    built.bytes = head + built.count * (int64_t)(sizeof *built.index + sizeof *built.bits);
    if (most_bytes > 0 && built.bytes > most_bytes) goto done;
    SPRYI_TRY(SPRYI_NEW(context, &built.index, built.count, "bitmaps of B", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.bits, built.count, "bitmaps of B", err));
    spryi_loop(context, threads, rows, 4096, fill_words, &j);
    job->rows_of_b.bitmaps = built;
    built = (spryi_spgemm_bitmaps){0};
done:
    drop_bitmaps(context, &built);
    return status;
}

/* ---- rows of B as groups of columns ---------------------------------------------------------------------- */

bool spryi_spgemm_column_groups_pay(const spry_context *context, const spryi_spgemm_job *job)
{
    const spry_arrays *b = &job->b;
    return b->index_type == SPRY_I32 && b->offset_type == SPRY_I32 && b->columns <= SPRYI_GROUP_COLUMNS &&
           groups_pay(job, 3, 8) && spryi_spgemm_rises(context, b);
}

static void group_columns(void *argument, int64_t first, int64_t last)
{
    const spryi_spgemm_job *job = argument;
    const int32_t *restrict offsets = job->b.offsets, *restrict columns = job->b.indices;
    uint32_t *restrict groups = job->rows_of_b.column_groups;
    for (int64_t i = first; i < last; i++) {
        const int32_t begin = offsets[i], end = offsets[i + 1];
        if (begin == end) continue;
        uint32_t at = (uint32_t)columns[begin] >> 3, group = 0;
        int64_t to = begin;
        for (int32_t k = begin; k < end; k++) {
            const uint32_t column = (uint32_t)columns[k], next = column >> 3 != at;
            at = column >> 3;
            to += next;
            group = (next ? 0 : group) | at << 9 | 1u << (column & 7);
            groups[to] = group;
        }
        groups[to] |= SPRYI_GROUP_LAST;
    }
}

static spry_status build_column_groups(spry_context *context, spryi_spgemm_job *job)
{
    const spry_arrays *b = &job->b;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &job->rows_of_b.column_groups, b->nnz, "column groups of B", NULL));
    spryi_loop(context, spryi_threads(context, b->nnz), b->rows, 4096, group_columns, job);
    return SPRY_OK;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Returns the memory limit minus the bytes held, at least 1; 0 if there is no limit. */
static int64_t room(const spry_spgemm_plan *plan, int64_t held)
{
    if (plan->options.memory_limit_bytes == 0) return 0;
    return plan->options.memory_limit_bytes > held ? plan->options.memory_limit_bytes - held : 1;
}

/* Returns the bytes of a phase's workspace. least: 1 for the smallest workspace, which one thread uses; 0 otherwise. */
static int64_t workspace_of(const spry_spgemm_plan *plan, spryi_spgemm_phase phase, int least)
{
    return plan->kernel->spgemm->sizes(&plan->job, phase, least).bytes;
}

/* Replaces the workspace by a new one, cleared to 0. */
static spry_status take_workspace(spry_spgemm_plan *plan, int64_t bytes, spry_error *err)
{
    spryi_release(plan->context, plan->job.workspace);
    plan->job.workspace = NULL;
    spry_status status = spryi_allocate(plan->context, &plan->job.workspace, bytes, 1, "workspace", err);
    if (status == SPRY_OK) memset(plan->job.workspace, 0, (size_t)bytes);
    return status;
}

/* Returns the bytes of the operands, given and converted, and of the job's offsets and pieces. */
static int64_t held_bytes(const spry_spgemm_plan *plan)
{
    const spryi_work_pieces *p = &plan->job.pieces;
    const int64_t numbers = plan->job.a.rows + 1 + (p->products ? 2 * p->count + 1 : 3 * p->count + 2);
    return plan->costs.input_bytes + plan->costs.converted_bytes + numbers * (int64_t)sizeof(int64_t);
}

/* ---- two phases ------------------------------------------------------------------------------------------ */

/* Returns a phase's function for the job's types, or NULL. */
static spryi_spgemm_fn function_of(const spryi_spgemm_job *job, const spryi_spgemm_table *phase)
{
    return phase ? (*phase)[spryi_value_slot(job->type)][spryi_index_pair(job->a.offset_type, job->a.index_type)]
                 : NULL;
}

/* Runs a phase that fills C. Stores the time of filling and, if the kernel measures it, the time of sorting. */
static void run_filling(spry_spgemm_plan *plan, const spryi_spgemm_table *phase)
{
    spryi_spgemm_job *job = &plan->job;
    const double start = spryi_now_us();
    job->sort_us = -1;
    function_of(job, phase)(job);
    plan->stages.fill_us = spryi_now_us() - start - (job->sort_us > 0 ? job->sort_us : 0);
    plan->stages.sort_us = job->sort_us;
}

/*
 * Returns true if columns may be listed while rows are counted, which halves the time of the symbolic phase. The list
 * can hold all products, but only written pages use memory. One thread lists columns in C's own array. Several threads
 * list them in job->listed, where unused memory remains after each piece, so the columns are copied to C afterwards. If
 * rows form runs, the copy takes more time than listing saves.
 */
static bool may_list(const spry_spgemm_plan *plan)
{
    const spryi_spgemm_job *job = &plan->job;
    if (!plan->kernel->spgemm->list || job->products == 0 || job->products == INT64_MAX) return false;
    if (plan->options.memory_limit_bytes > 0 || plan->context->allocate) return false;
    return job->threads == 1 || job->sizes.run_values == 0 || !rows_move(&job->a);
}

/* Returns the bytes of job->listed, to which several threads write columns before C exists; 0 if it is not used. */
static int64_t listed_bytes(const spry_spgemm_plan *plan)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t size = (int64_t)spryi_index_type_bytes(job->b.index_type);
    return job->threads > 1 && may_list(plan) ? job->products * size : 0;
}

/* Reserves memory for listed columns. Returns false if columns cannot be listed. */
static bool reserve_columns(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    const size_t size = spryi_index_type_bytes(job->b.index_type);
    int64_t before = 0;
    if (!may_list(plan)) return false;
    if (job->threads == 1)
        return spryi_reserve(plan->context, &job->columns, job->products, size, "columns of C", NULL) == SPRY_OK;
    if (spryi_allocate(plan->context, &job->listed, job->products, size, "columns of C", NULL) != SPRY_OK) return false;
    plan->costs.workspace_bytes += listed_bytes(plan);
    for (int64_t p = 0; p < job->pieces.count; p++) {
        const int64_t products = job->pieces.products[p];
        job->pieces.products[p] = before;
        before += products;
    }
    return true;
}

static void join_pieces(void *argument, int64_t begin, int64_t end)
{
    const spryi_spgemm_job *job = argument;
    const size_t size = spryi_index_type_bytes(job->b.index_type);
    for (int64_t p = begin; p < end; p++) {
        const int64_t at = job->offsets[job->pieces.rows[p]], n = job->offsets[job->pieces.rows[p + 1]] - at;
        memcpy((char *)job->columns + (size_t)at * size,
               (const char *)job->listed + (size_t)job->pieces.products[p] * size, (size_t)n * size);
    }
}

/* Copies the listed columns from job->listed to C, and frees job->listed. */
static void join_listed(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    spryi_loop(plan->context, job->threads, job->pieces.count, 16, join_pieces, job);
    spryi_release(plan->context, job->listed);
    job->listed = NULL;
}

/*
 * Returns true if bitmaps of B's rows may save time. Rows with few products do not read bitmaps if columns are listed.
 */
static bool may_use_bitmaps(const spry_spgemm_plan *plan, bool lists)
{
    enum { FEW = 64 };
    const spryi_spgemm_job *job = &plan->job;
    if (!plan->kernel->spgemm->uses_bitmaps || rows_repeat(&job->a)) return false;
    return !lists || job->products / FEW > job->a.rows;
}

/* Counts the entries of C's rows, and sets offsets and nnz. lists: also lists the columns if that is possible. */
static spry_status count_rows(spry_spgemm_plan *plan, bool lists, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    const spryi_spgemm_host_phases *kernel = plan->kernel->spgemm;
    SPRYI_OK_OR_RETURN(spryi_build_columns(plan, err));
    plan->costs.operand_bytes = plan->costs.peak_bytes;
    job->threads =
        kernel->sequential ? 1 : spryi_spgemm_threads(plan->context, plan->options.threads, job->a.rows, job->products);
    job->pool = &plan->context->pool;
    const int64_t held = held_bytes(plan);
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, held + workspace_of(plan, SPRYI_COUNT, 1), false, err));
    job->sizes = kernel->sizes(job, SPRYI_COUNT, room(plan, held));
    const int64_t bytes = job->sizes.bytes;
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, held + bytes, false, err));
    lists = lists && may_list(plan);
    if (may_use_bitmaps(plan, lists))
        SPRYI_OK_OR_RETURN(build_bitmaps(plan->context, job, room(plan, held + bytes), err));
    SPRYI_OK_OR_RETURN(spryi_spgemm_admit(plan, held + bytes + job->rows_of_b.bitmaps.bytes, false, err));
    SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &job->offsets, job->a.rows + 1, "row offsets", err));
    SPRYI_OK_OR_RETURN(take_workspace(plan, bytes, err));
    plan->costs.workspace_bytes = held - plan->costs.input_bytes + bytes + job->rows_of_b.bitmaps.bytes;
    job->rows_of_b.rise = spryi_spgemm_rises(plan->context, &job->b);
    const double start = spryi_now_us();
    function_of(job, lists && reserve_columns(plan) ? kernel->list : kernel->count)(job);
    const double counted = spryi_now_us();
    spryi_scan(job->offsets, job->a.rows);
    if (job->columns)
        spryi_shrink(plan->context, &job->columns,
                     job->offsets[job->a.rows] * (int64_t)spryi_index_type_bytes(job->b.index_type));
    plan->stages.count_us = counted - start;
    plan->stages.scan_us = spryi_now_us() - counted;
    plan->result.nnz = job->offsets[job->a.rows];
    return SPRY_OK;
}

/* ---- C's arrays ------------------------------------------------------------------------------------------ */

/* Creates C's offsets: the job's offsets converted to C's type. */
static spry_status create_offsets(const spry_spgemm_plan *plan, void **offsets, spry_error *err)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t n = plan->result.rows + 1;
    SPRYI_OK_OR_RETURN(spryi_allocate(plan->context, offsets, n, spryi_index_type_bytes(plan->result.offset_type),
                                      "row offsets of C", err));
    if (plan->result.offset_type == SPRY_I64)
        memcpy(*offsets, job->offsets, (size_t)n * sizeof *job->offsets);
    else
        for (int64_t i = 0; i < n; i++) ((int32_t *)*offsets)[i] = (int32_t)job->offsets[i];
    return SPRY_OK;
}

spry_status spryi_spgemm_adopt(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    spry_arrays c = spryi_types_of(plan->result.rows, plan->result.columns, plan->result.nnz, (int32_t)job->type,
                                   (int32_t)plan->result.offset_type, (int32_t)job->b.index_type);
    void *offsets;
    SPRYI_OK_OR_RETURN(create_offsets(plan, &offsets, err));
    c.offsets = offsets;
    c.indices = job->columns;
    c.values = job->values;
    c.sorted = c.unique = SPRY_KNOWN_YES;
    job->columns = job->values = NULL; /* owned by C, even after an error */
    SPRYI_OK_OR_RETURN(spryi_matrix_adopt(plan->context, &plan->result.C, &c, SPRYI_REAL, err));
    plan->result.C->index_base = plan->a.given->index_base;
    job->columns = (void *)(uintptr_t)plan->result.C->a.indices;
    job->values = (void *)(uintptr_t)plan->result.C->a.values;
    return SPRY_OK;
}

/* Frees the job's columns and values, unless C owns them. */
static void release_result(spry_spgemm_plan *plan)
{
    if (plan->result.C) return;
    spryi_release(plan->context, plan->job.columns);
    spryi_release(plan->context, plan->job.values);
    plan->job.columns = plan->job.values = NULL;
}

/* Allocates C and the numeric phase's workspace. */
static spry_status allocate_result(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    int64_t result_bytes;
    SPRYI_TRY(spryi_size_result(plan, &result_bytes, err));
    spryi_release(plan->context, job->workspace); /* the symbolic phase's workspace is freed before C is allocated */
    job->workspace = NULL;
    int64_t held = held_bytes(plan) + result_bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + workspace_of(plan, SPRYI_FILL, 1), true, err));
    const int64_t limit = plan->options.memory_limit_bytes;
    if (limit > 0 && held + job->rows_of_b.bitmaps.bytes + workspace_of(plan, SPRYI_FILL, 0) > limit)
        drop_bitmaps(plan->context, &job->rows_of_b.bitmaps); /* filling works without bitmaps */
    held += job->rows_of_b.bitmaps.bytes + (job->listed ? listed_bytes(plan) : 0);
    job->sizes = plan->kernel->spgemm->sizes(job, SPRYI_FILL, room(plan, held));
    plan->result.fill_bytes = job->sizes.bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + plan->result.fill_bytes, true, err));
    const int64_t workspace = held - plan->costs.input_bytes - result_bytes + plan->result.fill_bytes;
    if (workspace > plan->costs.workspace_bytes) plan->costs.workspace_bytes = workspace;
    if (!job->columns)
        SPRYI_TRY(spryi_allocate(plan->context, &job->columns, plan->result.nnz,
                                 spryi_index_type_bytes(job->b.index_type), "columns of C", err));
    SPRYI_TRY(
        spryi_allocate(plan->context, &job->values, plan->result.nnz, spry_type_bytes(job->type), "values of C", err));
    SPRYI_TRY(take_workspace(plan, plan->result.fill_bytes, err));
    SPRYI_TRY(spryi_spgemm_adopt(plan, err));
    if (job->listed) join_listed(plan);
done:
    release_result(plan);
    return status;
}

/* ---- one pass -------------------------------------------------------------------------------------------- */

enum {
    MOST_COLUMNS = 64,  /* maximal columns of C per product. With more, clearing bits and ranks takes too long */
    ASK_FROM = 16 << 20 /* bytes of C from which the machine's available memory is checked */
};

/*
 * Returns the bytes that C would need if every product were a separate entry. Returns -1 if these bytes plus `held`
 * exceed the limit or the machine's memory.
 */
static int64_t reserved_bytes(const spry_spgemm_plan *plan, int64_t held)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t entry = (int64_t)(spry_type_bytes(job->type) + spryi_index_type_bytes(job->b.index_type));
    const int64_t limit = plan->options.memory_limit_bytes;
    if (job->products > INT64_MAX / 64) return -1;
    const int64_t bytes = job->products * entry + (job->a.rows + 1) * (int64_t)sizeof(int64_t);
    if (limit > 0 && held + bytes > limit) return -1;
    return bytes >= ASK_FROM && bytes > spryi_available_memory_bytes() ? -1 : bytes;
}

/*
 * Prepares one pass: cuts the rows. Sets *held to the bytes held in addition to C, or to 0 if two phases must be used.
 */
static spry_status ready_one_pass(spry_spgemm_plan *plan, int64_t *held, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    const spryi_spgemm_host_phases *kernel = plan->kernel->spgemm;
    *held = 0;
    if (!function_of(job, kernel->one_pass) || plan->context->allocate) return SPRY_OK;
    if (rows_repeat(&job->a) || job->b.columns / MOST_COLUMNS > job->products + 1) return SPRY_OK;
    job->rows_of_b.grouped = spryi_spgemm_column_groups_pay(plan->context, job);
    job->threads = spryi_spgemm_threads(plan->context, plan->options.threads, job->a.rows, job->products);
    job->pool = &plan->context->pool;
    job->sizes = kernel->sizes(job, SPRYI_ONE_PASS, 0);
    const int64_t bytes = job->sizes.bytes, groups = job->rows_of_b.grouped ? job->b.nnz * 4 : 0;
    const int64_t cuts = 4 * ((job->products + job->a.rows) / job->sizes.entries + job->pieces.count + 1) * 8;
    if (reserved_bytes(plan, held_bytes(plan) + bytes + groups + cuts) < 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(cut_one_pass(plan->context, job, job->sizes.entries, err));
    const int64_t all = held_bytes(plan) + bytes + groups;
    if (reserved_bytes(plan, all) < 0) { /* with the additional pieces, one pass would exceed the memory */
        spryi_release(plan->context, job->pieces.rows);
        job->pieces.rows = NULL;
        return spryi_spgemm_cut(plan->context, job, err);
    }
    plan->result.fill_bytes = bytes;
    *held = all;
    return SPRY_OK;
}

/* Allocates all memory that one pass needs in addition to C. */
static spry_status allocate_one_pass(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    spry_status status = SPRYI_NEW(plan->context, &job->offsets, job->a.rows + 1, "row offsets", NULL);
    if (status == SPRY_OK) status = take_workspace(plan, plan->result.fill_bytes, NULL);
    if (status == SPRY_OK && job->rows_of_b.grouped) status = build_column_groups(plan->context, job);
    return status;
}

/*
 * Counts and fills C in one pass. plan->result.C remains NULL if two phases are better. Reasons are: the kernel has no
 * one-pass function for these types, C has many columns per product, rows repeat, or memory is short.
 */
static spry_status multiply_in_one_pass(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    spry_context *context = plan->context;
    const size_t size = spry_type_bytes(job->type), index_size = spryi_index_type_bytes(job->b.index_type);
    int64_t held, result_bytes;
    SPRYI_TRY(ready_one_pass(plan, &held, err));
    if (held == 0 ||
        spryi_reserve(context, &job->columns, job->products, index_size, "columns of C", NULL) != SPRY_OK ||
        spryi_reserve(context, &job->values, job->products, size, "values of C", NULL) != SPRY_OK)
        goto done;
    if (allocate_one_pass(plan) != SPRY_OK) {
        spryi_release(context, job->offsets);
        job->offsets = NULL;
        goto done; /* two phases need less memory */
    }
    job->rows_of_b.rise = spryi_spgemm_rises(context, &job->b);
    const double start = spryi_now_us();
    function_of(job, plan->kernel->spgemm->one_pass)(job);
    plan->stages.fill_us = spryi_now_us() - start;
    plan->result.nnz = job->offsets[job->a.rows];
    spryi_shrink(context, &job->columns, plan->result.nnz * (int64_t)index_size);
    spryi_shrink(context, &job->values, plan->result.nnz * (int64_t)size);
    SPRYI_TRY(spryi_size_result(plan, &result_bytes, err));
    plan->costs.workspace_bytes = held - plan->costs.input_bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + result_bytes, true, err));
    SPRYI_TRY(spryi_spgemm_adopt(plan, err));
done:
    spryi_release(context, job->rows_of_b.column_groups);
    job->rows_of_b.column_groups = NULL;
    release_result(plan);
    return status;
}

int64_t spryi_spgemm_held_on_host(const spry_spgemm_plan *plan)
{
    return held_bytes(plan) + plan->result.fill_bytes + spryi_arrays_bytes(&plan->result.C->a);
}

/* ---- the steps of a plan --------------------------------------------------------------------------------- */

static spry_status count(spry_spgemm_plan *plan, spry_error *err)
{
    return count_rows(plan, !plan->single_run, err);
}

static spry_status ready(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    const bool listed = job->columns || job->listed;
    SPRYI_OK_OR_RETURN(allocate_result(plan, err));
    if (!listed) function_of(job, plan->kernel->spgemm->columns)(job);
    drop_bitmaps(plan->context, &job->rows_of_b.bitmaps); /* later calls only compute values, without bitmaps */
    spryi_spgemm_touch_pages(plan->context, job->values, plan->result.nnz * (int64_t)spry_type_bytes(job->type));
    return SPRY_OK;
}

static spry_status fill(spry_spgemm_plan *plan, spry_error *err)
{
    (void)err;
    spryi_spgemm_job *job = &plan->job;
    job->values = plan->result.values ? plan->result.values : (void *)(uintptr_t)plan->result.C->a.values;
    run_filling(plan, plan->kernel->spgemm->refill);
    return SPRY_OK;
}

static spry_status multiply(spry_spgemm_plan *plan, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_build_columns(plan, err));
    double start = spryi_now_us();
    SPRYI_OK_OR_RETURN(multiply_in_one_pass(plan, err));
    if (!plan->result.C) {
        SPRYI_OK_OR_RETURN(count_rows(plan, true, err));
        start = spryi_now_us();
        const bool listed = plan->job.columns || plan->job.listed;
        SPRYI_OK_OR_RETURN(allocate_result(plan, err));
        run_filling(plan, listed ? plan->kernel->spgemm->refill : plan->kernel->spgemm->fill);
    }
    if (plan->options.drop_zeros) spryi_drop_zeros(plan->result.C);
    plan->costs.run_us = spryi_now_us() - start;
    return SPRY_OK;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static spry_status estimate(spry_spgemm_plan *plan, spry_spgemm_estimate_info *estimate, spry_error *err)
{
    const int64_t held = held_bytes(plan), result = estimate->result_bytes;
    const int64_t fill_bytes = workspace_of(plan, SPRYI_FILL, 0) + plan->job.rows_of_b.bitmaps.bytes +
                               listed_bytes(plan);
    const int64_t count_bytes = held + workspace_of(plan, SPRYI_COUNT, 1);
    estimate->least_bytes =
        larger(larger(plan->costs.operand_bytes, count_bytes), held + result + workspace_of(plan, SPRYI_FILL, 1));
    estimate->workspace_bytes = larger(held - plan->costs.input_bytes + fill_bytes, plan->costs.workspace_bytes);
    estimate->peak_bytes = larger(held + result + fill_bytes, plan->costs.peak_bytes);
    int64_t one_pass;
    spry_status status = ready_one_pass(plan, &one_pass, err);
    if (status != SPRY_OK || one_pass == 0) return status;
    estimate->workspace_bytes = one_pass - plan->costs.input_bytes;
    estimate->peak_bytes = one_pass + result;
    return SPRY_OK;
}

static void close_plan(spry_spgemm_plan *plan)
{
    drop_bitmaps(plan->context, &plan->job.rows_of_b.bitmaps);
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
