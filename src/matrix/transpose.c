/*
 * Converts CSR to CSC by counting.
 *
 * Idea: each thread has a part of the rows with about equal work, and counts the part's entries per column. A prefix
 * sum over columns, and within a column over parts, gives the position of each part's next entry per column. Each part
 * then moves its entries in groups of some entries. It computes the positions of a group first and prefetches them, so
 * that their cache lines are loaded before the writes. Parts are independent, and entries of a column are in the order
 * of rows for any number of parts.
 *
 * Cost: columns are read twice, values once, and both are written once. The number of write positions in use is the
 * number of distinct columns in nearby rows, so the conversion is fast if column indices are close to row indices.
 * Workspace: one counter for each part and column. Matrices with far more columns than entries per part have fewer
 * parts.
 */
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "core/kernel.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"

#include <string.h>

typedef struct transposition {
    const spry_arrays *a;
    int parts;
    void *places; /* parts x columns, in the offsets' type: counts, then positions of next entries */
    void *offsets, *rows, *values;
} transposition;

static int64_t part_begin(const transposition *t, int part)
{
    const spry_arrays *a = t->a;
    if (part == t->parts) return a->rows;
    const int64_t first = a->nnz / t->parts * part;
    int64_t i;
    SPRYI_BISECT(i, 0, a->rows, spryi_index_at(a->offsets, a->offset_type, i) < first);
    return i;
}

#define SPRYI_TEMPLATE "matrix/transpose.tmpl.c"
#include "base/instantiate_indices.h"

typedef struct typed_steps {
    void (*count)(const transposition *t, int part);
    int64_t (*sum)(const transposition *t, int64_t begin, int64_t end);
    void (*place)(const transposition *t, int64_t begin, int64_t end, int64_t at);
    void (*move)(const transposition *t, int part);
} typed_steps;

static const typed_steps steps_of_pair[] = {{count_32_32, sum_32_32, place_32_32, move_32_32},
                                            {count_64_32, sum_64_32, place_64_32, move_64_32},
                                            {count_64_64, sum_64_64, place_64_64, move_64_64}};

typedef struct part_job {
    const transposition *t;
    const typed_steps *steps;
    int64_t *sums; /* one per slice of columns: number of entries, then position of the first entry */
} part_job;

static void count_parts(void *job, int64_t begin, int64_t end)
{
    const part_job *j = job;
    for (int part = (int)begin; part < end; part++) j->steps->count(j->t, part);
}

static void sum_slices(void *job, int64_t begin, int64_t end)
{
    const part_job *j = job;
    const int64_t n = j->t->a->columns, parts = j->t->parts;
    for (int64_t q = begin; q < end; q++) j->sums[q] = j->steps->sum(j->t, n * q / parts, n * (q + 1) / parts);
}

static void place_slices(void *job, int64_t begin, int64_t end)
{
    const part_job *j = job;
    const int64_t n = j->t->a->columns, parts = j->t->parts;
    for (int64_t q = begin; q < end; q++) j->steps->place(j->t, n * q / parts, n * (q + 1) / parts, j->sums[q]);
}

static void move_parts(void *job, int64_t begin, int64_t end)
{
    const part_job *j = job;
    for (int part = (int)begin; part < end; part++) j->steps->move(j->t, part);
}

/* Converts counts to positions, with one slice of the columns per part. */
static void place_entries(const spry_context *context, part_job *j)
{
    const transposition *t = j->t;
    int64_t *sums = j->sums;
    spryi_loop(context, t->parts, t->parts, 1, sum_slices, j);
    for (int64_t q = 0, at = 0; q < t->parts; q++) {
        int64_t sum = sums[q];
        sums[q] = at;
        at += sum;
    }
    spryi_loop(context, t->parts, t->parts, 1, place_slices, j);
    spryi_set_index(t->offsets, t->a->offset_type, t->a->columns, t->a->nnz);
}

static int parts_of(const spry_context *context, const spry_arrays *a)
{
    int parts = spryi_threads(context, a->nnz);
    int64_t most = 2 * a->nnz / (a->columns + 1);
    return parts <= most ? parts : most > 1 ? (int)most : 1;
}

spry_status spryi_csc_from_csr(spry_context *context, spry_matrix **csc, const spry_matrix *A, spry_error *err)
{
    const spry_arrays *a = &A->a;
    const size_t offset_bytes = spryi_index_type_bytes(a->offset_type);
    spry_status status = SPRY_OK;
    transposition t = {.a = a, .parts = parts_of(context, a)};
    part_job j = {&t, &steps_of_pair[spryi_index_pair(a->offset_type, a->index_type)], NULL};
    SPRYI_TRY(spryi_allocate(context, &t.offsets, a->columns + 1, offset_bytes, "column offsets", err));
    SPRYI_TRY(spryi_allocate(context, &t.rows, a->nnz, spryi_index_type_bytes(a->index_type), "row indices", err));
    if (a->value_type != SPRY_PATTERN)
        SPRYI_TRY(spryi_allocate(context, &t.values, a->nnz, spry_type_bytes(a->value_type), "values", err));
    SPRYI_TRY(spryi_allocate(context, &t.places, a->columns * t.parts, offset_bytes, "workspace of transposing", err));
    SPRYI_TRY(SPRYI_NEW(context, &j.sums, t.parts, "workspace of transposing", err));
    spryi_loop(context, t.parts, t.parts, 1, count_parts, &j);
    place_entries(context, &j);
    spryi_loop(context, t.parts, t.parts, 1, move_parts, &j);

    spry_arrays made = *a;
    made.layout = SPRY_CSC;
    made.offsets = t.offsets;
    made.indices = t.rows;
    made.values = t.values;
    made.ownership = SPRY_COPY;
    made.sorted = SPRY_KNOWN_YES;         /* rows are read in order, so row indices rise in every column */
    t.offsets = t.rows = t.values = NULL; /* spryi_matrix_adopt takes over the arrays, even if it fails */
    status = spryi_matrix_adopt(context, csc, &made, A->field, err);
done:
    spryi_release(context, t.offsets);
    spryi_release(context, t.rows);
    spryi_release(context, t.values);
    spryi_release(context, t.places);
    spryi_release(context, j.sums);
    return status;
}
