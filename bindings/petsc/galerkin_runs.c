/*
 * C = P^T*A*P where most rows of P have the same columns as the next: points within one aggregate that follow each
 * other, or unknowns of one point. Such rows make a run. A run's rows of A*P are summed one after the other, over the
 * columns that the run has there. Each is added, times its row of P, to a small full block, and the block is added to C
 * at the end of the run. Where each number of the block belongs is found once, with C's structure: new values look for
 * nothing.
 *
 *     rows of P   x x . .     rows of A*P   y y y     block   b b b   goes to the row of C of P's first column,
 *                 x x . .                   y y y             b b b   and to that of its second
 *
 * Work: for each entry a_ik the row P_k; for each row, its entries in P times the run's columns; for each run, its block
 * into C. With runs of one row it is Gustavson's algorithm (ACM TOMS 4(3), 1978) by rows of A, whose structure takes
 * longer to find than galerkin.c takes for structure and values.
 */
#include "galerkin.h"
#include <limits.h>

/* Rows of a run, so that what is summed for it stays in the processor's first cache. */
enum { MOST_ROWS = 64 };

/* A list that grows. */
typedef struct List {
    PetscInt used, room, *of;
} List;

struct SpryRuns {
    Arrays a, p;
    List begins;            /* first rows of runs, and the number of rows behind the last */
    List ends;              /* of each run, where its columns end */
    List columns;           /* columns of A*P, run by run */
    unsigned short *places; /* where in its row of C each number of the blocks belongs, run by run */
    PetscInt *numbers;      /* over the columns of P: a column's number in the run, or in the row of C */
    PetscScalar *sums;      /* a row of A*P */
    PetscInt *touched;      /* its columns, where that matters */
    PetscScalar *block;
    PetscInt *result_offsets;
    List result_columns;
    PetscBool whole_diagonal;
};

/* Room for `more` behind what is used. */
static PetscErrorCode grow(List *list, PetscInt more)
{
    PetscFunctionBegin;
    if (PetscLikely(more <= list->room - list->used)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCheck(list->used <= PETSC_MAX_INT - more, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the product has more entries than this PETSc's integers count");
    list->room = list->room < PETSC_MAX_INT / 2 ? PetscMax(list->used + more, list->room + list->room / 2)
                                                : PETSC_MAX_INT;
    PetscCall(PetscRealloc(sizeof *list->of * (size_t)list->room, &list->of));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode append(List *list, PetscInt number)
{
    PetscFunctionBegin;
    PetscCall(grow(list, 1));
    list->of[list->used++] = number;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- runs ---- */

static PetscInt length_of(const Arrays *a, PetscInt row)
{
    return a->offsets[row + 1] - a->offsets[row];
}

static PetscBool same_columns(const Arrays *p, PetscInt i, PetscInt j)
{
    const PetscInt *const left = p->columns + p->offsets[i], *const right = p->columns + p->offsets[j];
    const PetscInt count = length_of(p, i);
    if (length_of(p, j) != count) return PETSC_FALSE;
    for (PetscInt k = 0; k < count; k++)
        if (left[k] != right[k]) return PETSC_FALSE;
    return PETSC_TRUE;
}

/* Of some thousand rows: an odd step meets all places of a pattern that repeats. */
PetscBool SpryRunsServe(const Arrays *p)
{
    enum { SAMPLES = 4096 };
    const PetscInt step = (p->rows / SAMPLES) | 1;
    PetscInt asked = 0, same = 0;
    for (PetscInt i = 0; i < p->rows - 1; i += step) {
        asked++;
        if (same_columns(p, i, i + 1)) same++;
    }
    return (PetscBool)(2 * same > asked);
}

/* Numbers rows of P: a row has its neighbour's number where it has the same columns. How many numbers there are. */
static PetscInt find_kinds(const Arrays *p, PetscInt *kinds)
{
    PetscInt kind = 0;
    for (PetscInt i = 0; i < p->rows; i++) {
        if (i > 0) kind += same_columns(p, i - 1, i) ? 0 : 1;
        kinds[i] = kind;
    }
    return kind + 1;
}

/* What a search for runs holds. */
typedef struct Search {
    PetscInt *kinds, *seen_kinds; /* of rows of P; the last run that had each kind */
    PetscInt *list, count;        /* a row of P of each kind that the present run needs */
    PetscInt *seen;               /* over the columns of P: the last run, or row of C, that had each */
} Search;

static void add_kinds(Search *s, const Arrays *a, PetscInt row, PetscInt run)
{
    for (PetscInt k = a->offsets[row]; k < a->offsets[row + 1]; k++) {
        const PetscInt kind = s->kinds[a->columns[k]];
        if (s->seen_kinds[kind] == run) continue; /* a branch that is foreseen costs less than a store */
        s->seen_kinds[kind] = run;
        s->list[s->count++] = a->columns[k];
    }
}

/* The columns of the run that ends: those of the rows of P that it needs. */
static PetscErrorCode end_run(SpryRuns *g, Search *s)
{
    const Arrays *const p = &g->p;
    const PetscInt run = g->begins.used;
    PetscFunctionBegin;
    for (PetscInt k = 0; k < s->count; k++) {
        const PetscInt row = s->list[k];
        PetscCall(grow(&g->columns, length_of(p, row)));
        for (PetscInt e = p->offsets[row]; e < p->offsets[row + 1]; e++) {
            const PetscInt column = p->columns[e];
            if (s->seen[column] == run) continue;
            s->seen[column] = run;
            g->columns.of[g->columns.used++] = column;
        }
    }
    PetscCall(append(&g->ends, g->columns.used));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the row goes on with the run: not if the run then needs twice the rows of P that a row of A has entries, since
   most of the full block would be for other rows. */
static PetscBool goes_on(Search *s, const Arrays *a, PetscInt row, PetscInt run, PetscInt *least)
{
    const PetscInt before = s->count;
    add_kinds(s, a, row, run);
    *least = PetscMin(*least, length_of(a, row));
    if (s->count <= 2 * *least) return PETSC_TRUE;
    s->count = before;
    return PETSC_FALSE;
}

static PetscErrorCode find_runs(SpryRuns *g, Search *s)
{
    const Arrays *const a = &g->a;
    PetscInt first = 0, least = 0;
    PetscFunctionBegin;
    for (PetscInt i = 0; i < a->rows; i++) {
        const PetscBool empty = (PetscBool)(length_of(&g->p, i) == 0);
        if (i > 0 && s->kinds[i] == s->kinds[i - 1]) {
            if (empty || (i - first < MOST_ROWS && goes_on(s, a, i, g->begins.used, &least))) continue;
        }
        if (i > 0) PetscCall(end_run(g, s));
        PetscCall(append(&g->begins, i));
        first = i;
        least = length_of(a, i);
        s->count = 0;
        if (!empty) add_kinds(s, a, i, g->begins.used);
    }
    if (a->rows) PetscCall(end_run(g, s));
    PetscCall(append(&g->begins, a->rows));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- structure of C ---- */

/* A run: its rows, its columns of A*P, and the columns of P that its rows have. */
typedef struct Run {
    PetscInt first, last, width, height;
    const PetscInt *columns, *rows;
} Run;

static Run run_of(const SpryRuns *g, PetscInt run)
{
    const PetscInt first = g->begins.of[run], begin = run ? g->ends.of[run - 1] : 0;
    return (Run){.first = first,
                 .last = g->begins.of[run + 1],
                 .width = g->ends.of[run] - begin,
                 .height = length_of(&g->p, first),
                 .columns = g->columns.of + begin,
                 .rows = g->p.columns + g->p.offsets[first]};
}

/* Runs by the columns of P that they have. */
typedef struct Transposed {
    PetscInt *offsets, *runs;
    size_t *places; /* where the run's places in that row of C begin */
} Transposed;

static PetscErrorCode transpose(SpryRuns *g, Transposed *t)
{
    PetscInt most = 0, entries = 0;
    size_t places = 0, most_block = 0;
    PetscFunctionBegin;
    PetscCall(PetscCalloc1(g->p.cols + 2, &t->offsets));
    for (PetscInt run = 0; run < g->ends.used; run++) {
        const Run r = run_of(g, run);
        const size_t block = (size_t)r.height * (size_t)r.width;
        places += block;
        entries += r.height;
        most = PetscMax(most, r.width);
        most_block = PetscMax(most_block, block);
        for (PetscInt j = 0; j < r.height; j++) t->offsets[r.rows[j] + 2]++;
    }
    for (PetscInt j = 2; j <= g->p.cols; j++) t->offsets[j + 1] += t->offsets[j];
    PetscCall(PetscMalloc2(entries, &t->runs, entries, &t->places));
    PetscCall(PetscMalloc1(places, &g->places));
    PetscCall(PetscMalloc3(most, &g->sums, most, &g->touched, most_block, &g->block));
    places = 0;
    for (PetscInt run = 0; run < g->ends.used; run++) {
        const Run r = run_of(g, run);
        for (PetscInt j = 0; j < r.height; j++, places += (size_t)r.width) {
            const PetscInt at = t->offsets[r.rows[j] + 1]++; /* what was column j's beginning becomes its end */
            t->runs[at] = run;
            t->places[at] = places;
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of the row of C into `list`; their number. */
static PetscInt find_columns(const SpryRuns *g, const Transposed *t, PetscInt row, PetscInt *seen, PetscInt *list)
{
    PetscInt count = 0;
    for (PetscInt at = t->offsets[row]; at < t->offsets[row + 1]; at++) {
        const Run r = run_of(g, t->runs[at]);
        for (PetscInt k = 0; k < r.width; k++) {
            const PetscInt column = r.columns[k];
            if (seen[column] == row) continue;
            seen[column] = row;
            list[count++] = column;
        }
    }
    return count;
}

/* Where in the row of C the numbers of blocks belong. */
static void find_places(SpryRuns *g, const Transposed *t, PetscInt row)
{
    for (PetscInt at = t->offsets[row]; at < t->offsets[row + 1]; at++) {
        const Run r = run_of(g, t->runs[at]);
        unsigned short *const places = g->places + t->places[at];
        for (PetscInt k = 0; k < r.width; k++) places[k] = (unsigned short)g->numbers[r.columns[k]];
    }
}

/* *fits: each row of C has few enough entries for the numbers in `places`. */
static PetscErrorCode find_result(SpryRuns *g, PetscInt *seen, PetscBool *fits)
{
    const PetscInt rows = g->p.cols;
    List *const columns = &g->result_columns;
    PetscInt *list, count = 0;
    Transposed t;
    PetscFunctionBegin;
    PetscCall(transpose(g, &t));
    PetscCall(PetscMalloc1(rows, &list));
    PetscCall(PetscMalloc1(rows + 1, &g->result_offsets));
    nothing_seen(seen, rows);
    g->whole_diagonal = PETSC_TRUE;
    for (PetscInt row = 0; row < rows && count <= USHRT_MAX; row++) {
        count = find_columns(g, &t, row, seen, list);
        if (seen[row] != row) g->whole_diagonal = PETSC_FALSE;
        PetscCall(sort(count, list));
        PetscCall(grow(columns, count));
        g->result_offsets[row] = columns->used;
        for (PetscInt k = 0; k < count; k++) {
            columns->of[columns->used++] = list[k];
            g->numbers[list[k]] = k;
        }
        find_places(g, &t, row);
    }
    *fits = (PetscBool)(count <= USHRT_MAX);
    g->result_offsets[rows] = columns->used;
    PetscCall(PetscFree(list));
    PetscCall(PetscFree(t.offsets));
    PetscCall(PetscFree2(t.runs, t.places));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryRunsCreate(const Arrays *a, const Arrays *p, SpryRuns **made)
{
    SpryRuns *g;
    Search s = {.count = 0};
    PetscInt kinds;
    PetscBool fits = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscNew(&g));
    *made = g;
    g->a = *a;
    g->p = *p;
    PetscCall(PetscMalloc1(g->p.rows, &s.kinds));
    kinds = find_kinds(&g->p, s.kinds);
    PetscCall(PetscMalloc3(kinds, &s.seen_kinds, kinds, &s.list, g->p.cols, &s.seen));
    nothing_seen(s.seen_kinds, kinds);
    nothing_seen(s.seen, g->p.cols);
    PetscCall(find_runs(g, &s));
    PetscCall(PetscMalloc1(g->p.cols, &g->numbers));
    PetscCall(find_result(g, s.seen, &fits));
    PetscCall(PetscFree3(s.seen_kinds, s.list, s.seen));
    PetscCall(PetscFree(s.kinds));
    if (!fits) {
        SpryRunsDestroy(g);
        *made = NULL;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

void SpryRunsDestroy(SpryRuns *g)
{
    if (!g) return;
    (void)PetscFree(g->begins.of);
    (void)PetscFree(g->ends.of);
    (void)PetscFree(g->columns.of);
    (void)PetscFree(g->places);
    (void)PetscFree(g->numbers);
    (void)PetscFree3(g->sums, g->touched, g->block);
    (void)PetscFree(g->result_offsets);
    (void)PetscFree(g->result_columns.of);
    (void)PetscFree(g);
}

void SpryRunsResult(const SpryRuns *g, spry_arrays *result, PetscBool *whole_diagonal)
{
    result->rows = result->columns = g->p.cols;
    result->nnz = g->result_offsets[g->p.cols];
    result->offset_type = result->index_type = SPRY_PETSC_INDEX;
    result->offsets = g->result_offsets;
    result->indices = g->result_columns.of;
    *whole_diagonal = g->whole_diagonal;
}

/* ---- values ---- */

/* The row of A*P, by the numbers of its columns in the run. */
static void sum_row(const Arrays *a, const Arrays *p, const PetscInt *restrict numbers, PetscInt row, PetscInt width,
                    PetscScalar *restrict sums)
{
    const PetscInt *const offsets = p->offsets, *const columns = p->columns;
    const PetscScalar *const values = p->values;
    for (PetscInt k = 0; k < width; k++) sums[k] = 0;
    for (PetscInt k = a->offsets[row]; k < a->offsets[row + 1]; k++) {
        const PetscScalar factor = a->values[k];
        const PetscInt end = offsets[a->columns[k] + 1];
        for (PetscInt e = offsets[a->columns[k]]; e < end; e++) sums[numbers[columns[e]]] += factor * values[e];
    }
}

/* Adds the row of A*P, times the `height` factors of its row of P, to the block, in which these lie side by side. */
static inline void add_product(PetscInt height, PetscInt width, const PetscScalar *restrict factors,
                               const PetscScalar *restrict sums, PetscScalar *restrict block)
{
    for (PetscInt k = 0; k < width; k++)
        for (PetscInt j = 0; j < height; j++) block[k * height + j] += factors[j] * sums[k];
}

/* The same with short loops that the compiler unrolls. */
static void add_row(PetscInt height, PetscInt width, const PetscScalar *factors, const PetscScalar *sums,
                    PetscScalar *block)
{
    switch (height) {
    case 1: add_product(1, width, factors, sums, block); break;
    case 2: add_product(2, width, factors, sums, block); break;
    case 3: add_product(3, width, factors, sums, block); break;
    case 4: add_product(4, width, factors, sums, block); break;
    case 5: add_product(5, width, factors, sums, block); break;
    case 6: add_product(6, width, factors, sums, block); break;
    default: add_product(height, width, factors, sums, block); break;
    }
}

/* The same for the row's own columns alone. */
static void add_own_columns(const SpryRuns *g, const Run *r, PetscInt row, const PetscScalar *factors)
{
    const Arrays *const a = &g->a, *const p = &g->p;
    for (PetscInt k = 0; k < r->width; k++) g->touched[k] = 0;
    for (PetscInt k = a->offsets[row]; k < a->offsets[row + 1]; k++)
        for (PetscInt e = p->offsets[a->columns[k]]; e < p->offsets[a->columns[k] + 1]; e++)
            g->touched[g->numbers[p->columns[e]]] = 1;
    for (PetscInt k = 0; k < r->width; k++)
        for (PetscInt j = 0; j < r->height && g->touched[k]; j++)
            g->block[k * r->height + j] += factors[j] * g->sums[k];
}

/* All values; with `own` no zero is multiplied that a row of A*P has for the sake of others in its run. */
static PetscErrorCode run_all(SpryRuns *g, PetscBool own, PetscScalar *values)
{
    const Arrays *const p = &g->p;
    const unsigned short *places = g->places;
    PetscFunctionBegin;
    PetscCall(PetscArrayzero(values, g->result_offsets[p->cols]));
    for (PetscInt run = 0; run < g->ends.used; run++) {
        const Run r = run_of(g, run);
        for (PetscInt k = 0; k < r.width; k++) g->numbers[r.columns[k]] = k;
        for (PetscInt k = 0; k < r.height * r.width; k++) g->block[k] = 0;
        for (PetscInt i = r.first; i < r.last && r.height; i++) {
            const PetscScalar *const factors = p->values + p->offsets[i];
            sum_row(&g->a, p, g->numbers, i, r.width, g->sums);
            if (own)
                add_own_columns(g, &r, i, factors);
            else
                add_row(r.height, r.width, factors, g->sums, g->block);
        }
        for (PetscInt j = 0; j < r.height; j++, places += r.width) {
            PetscScalar *const row = values + g->result_offsets[r.rows[j]];
            for (PetscInt k = 0; k < r.width; k++) row[places[k]] += g->block[k * r.height + j];
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Infinity in P times a zero of the full block is no number where C may have one: it is found out then. */
PetscErrorCode SpryRunsRun(SpryRuns *g, PetscScalar *values)
{
    const PetscInt entries = g->result_offsets[g->p.cols];
    int no_number = 0;
    PetscFunctionBegin;
    PetscCall(run_all(g, PETSC_FALSE, values));
    for (PetscInt k = 0; k < entries; k++) no_number |= values[k] != values[k];
    if (no_number) PetscCall(run_all(g, PETSC_TRUE, values));
    PetscFunctionReturn(PETSC_SUCCESS);
}
