/*
 * C = P^T*A*P where rows of P are short, as interpolations of multigrid have them: row by row of C, without a stored
 * product of two. Row J of P^T*A is summed in a vector over the columns of A, and which columns it has is listed on
 * the way; times P it is summed in a vector over the columns of C, whose columns are listed the first time and known
 * later, for new values. A sum is zero again when it has been read.
 *
 * Work: sum over entries p_iJ of |A_i|, and over entries (J,k) of P^T*A of |P_k|, about what two stored products do.
 * Where rows of P are long the library's products are faster, which take several entries at a time; where they come in
 * runs with the same columns, galerkin_runs.c is. Gustavson, ACM TOMS 4(3), 1978, once behind the other.
 */
#include "galerkin.h"

/* Entries of a row of P up to which this is faster than two products, in the mean. */
enum { MOST_ENTRIES = 6 };

struct SpryGalerkin {
    Arrays a, p;
    SpryRuns *runs;                     /* does it all, where rows of P come in runs; what follows is NULL then */
    PetscInt *offsets, *rows, *entries; /* of P^T: row of P and place in P of each entry */
    PetscScalar *middle, *sums;         /* over the columns of A and of C; zero between rows */
    PetscInt *seen, *list;              /* over the columns of A: the last row that had each; the row's columns */
    PetscInt *result_offsets, *result_columns;
    PetscScalar *result_values; /* of the present operands, until they are handed out; else NULL */
    PetscBool whole_diagonal;
};

PetscErrorCode SpryGalerkinServes(Mat P, PetscBool *serves)
{
    Arrays p;
    PetscFunctionBegin;
    PetscCall(arrays_of(P, &p));
    *serves = (PetscBool)(p.offsets[p.rows] / MOST_ENTRIES <= p.rows);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* P's entries by columns: a counting sort. */
static PetscErrorCode transpose(SpryGalerkin *g)
{
    const Arrays *const p = &g->p;
    const PetscInt entries = p->offsets[p->rows];
    PetscFunctionBegin;
    PetscCall(PetscCalloc1(p->cols + 2, &g->offsets));
    PetscCall(PetscMalloc2(entries, &g->rows, entries, &g->entries));
    for (PetscInt k = 0; k < entries; k++) g->offsets[p->columns[k] + 2]++;
    for (PetscInt j = 2; j <= p->cols; j++) g->offsets[j + 1] += g->offsets[j];
    for (PetscInt i = 0; i < p->rows; i++)
        for (PetscInt k = p->offsets[i]; k < p->offsets[i + 1]; k++) {
            const PetscInt place = g->offsets[p->columns[k] + 1]++; /* what was column j's beginning becomes its end */
            g->rows[place] = i;
            g->entries[place] = k;
        }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of P^T*A, summed in g->middle and its columns listed; their number. */
static PetscInt middle_row(SpryGalerkin *g, PetscInt row)
{
    const Arrays *const a = &g->a;
    PetscScalar *const sums = g->middle;
    PetscInt *const seen = g->seen, *const list = g->list, count = 0;
    for (PetscInt t = g->offsets[row]; t < g->offsets[row + 1]; t++) {
        const PetscInt i = g->rows[t];
        const PetscScalar factor = g->p.values[g->entries[t]];
        for (PetscInt k = a->offsets[i]; k < a->offsets[i + 1]; k++) {
            const PetscInt column = a->columns[k];
            list[count] = column;
            count += seen[column] != row;
            seen[column] = row;
            sums[column] += factor * a->values[k];
        }
    }
    return count;
}

/* What a column of P^T*A adds to g->sums; columns that row `row` of C had not yet are listed. Their number then. */
static PetscInt add_listing(SpryGalerkin *g, PetscInt column, PetscInt row, PetscInt *seen, PetscInt *list,
                            PetscInt count)
{
    const Arrays *const p = &g->p;
    const PetscScalar factor = g->middle[column];
    g->middle[column] = 0;
    for (PetscInt e = p->offsets[column]; e < p->offsets[column + 1]; e++) {
        const PetscInt J = p->columns[e];
        list[count] = J;
        count += seen[J] != row;
        seen[J] = row;
        g->sums[J] += factor * p->values[e];
    }
    return count;
}

static void add(SpryGalerkin *g, PetscInt column)
{
    const Arrays *const p = &g->p;
    const PetscScalar factor = g->middle[column];
    g->middle[column] = 0;
    for (PetscInt e = p->offsets[column]; e < p->offsets[column + 1]; e++)
        g->sums[p->columns[e]] += factor * p->values[e];
}

static PetscScalar take_sum(SpryGalerkin *g, PetscInt column)
{
    const PetscScalar sum = g->sums[column];
    g->sums[column] = 0;
    return sum;
}

/* Room for `more` entries behind the first `used`. */
static PetscErrorCode grow(SpryGalerkin *g, PetscInt used, PetscInt more, PetscInt *room)
{
    PetscFunctionBegin;
    PetscCheck(used <= PETSC_MAX_INT - more, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the product has more entries than this PETSc's integers count");
    if (used + more <= *room) PetscFunctionReturn(PETSC_SUCCESS);
    *room = *room < PETSC_MAX_INT / 2 ? PetscMax(used + more, *room + *room / 2) : PETSC_MAX_INT;
    PetscCall(PetscRealloc(sizeof *g->result_columns * (size_t)*room, &g->result_columns));
    PetscCall(PetscRealloc(sizeof *g->result_values * (size_t)*room, &g->result_values));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure and values of C. */
static PetscErrorCode find_result(SpryGalerkin *g)
{
    const PetscInt rows = g->p.cols;
    PetscInt *seen, *list, used = 0, room = rows < PETSC_MAX_INT / 8 ? 8 * rows : rows;
    PetscFunctionBegin;
    PetscCall(PetscMalloc2(rows, &seen, rows + 1, &list));
    nothing_seen(seen, rows);
    nothing_seen(g->seen, g->a.cols);
    g->whole_diagonal = PETSC_TRUE;
    PetscCall(PetscMalloc1(rows + 1, &g->result_offsets));
    PetscCall(PetscMalloc1(room, &g->result_columns));
    PetscCall(PetscMalloc1(room, &g->result_values));
    for (PetscInt row = 0; row < rows; row++) {
        const PetscInt columns = middle_row(g, row);
        PetscInt count = 0;
        for (PetscInt k = 0; k < columns; k++) count = add_listing(g, g->list[k], row, seen, list, count);
        if (seen[row] != row) g->whole_diagonal = PETSC_FALSE;
        PetscCall(sort(count, list));
        PetscCall(grow(g, used, count, &room));
        g->result_offsets[row] = used;
        for (PetscInt k = 0; k < count; k++) {
            g->result_columns[used] = list[k];
            g->result_values[used++] = take_sum(g, list[k]);
        }
    }
    g->result_offsets[rows] = used;
    PetscCall(PetscFree2(seen, list));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryGalerkinCreate(Mat A, Mat P, SpryGalerkin **made)
{
    SpryGalerkin *g;
    PetscFunctionBegin;
    PetscCall(PetscNew(&g));
    *made = g;
    PetscCall(arrays_of(A, &g->a));
    PetscCall(arrays_of(P, &g->p));
    if (SpryRunsServe(&g->p)) PetscCall(SpryRunsCreate(&g->a, &g->p, &g->runs));
    if (g->runs) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscCalloc2(g->a.cols, &g->middle, g->p.cols, &g->sums));
    PetscCall(PetscMalloc2(g->a.cols, &g->seen, g->a.cols + 1, &g->list)); /* one more: written before it is counted */
    PetscCall(transpose(g));
    PetscCall(find_result(g));
    PetscFunctionReturn(PETSC_SUCCESS);
}

void SpryGalerkinForget(SpryGalerkin *g)
{
    (void)PetscFree(g->result_values);
}

void SpryGalerkinDestroy(SpryGalerkin *g)
{
    if (!g) return;
    SpryGalerkinForget(g);
    SpryRunsDestroy(g->runs);
    (void)PetscFree(g->result_offsets);
    (void)PetscFree(g->result_columns);
    (void)PetscFree2(g->rows, g->entries);
    (void)PetscFree(g->offsets);
    (void)PetscFree2(g->middle, g->sums);
    (void)PetscFree2(g->seen, g->list);
    (void)PetscFree(g);
}

void SpryGalerkinResult(const SpryGalerkin *g, spry_arrays *result, PetscBool *whole_diagonal)
{
    result->values = g->result_values;
    if (g->runs) {
        SpryRunsResult(g->runs, result, whole_diagonal);
        return;
    }
    result->rows = result->columns = g->p.cols;
    result->nnz = g->result_offsets[g->p.cols];
    result->offset_type = result->index_type = SPRY_PETSC_INDEX;
    result->offsets = g->result_offsets;
    result->indices = g->result_columns;
    *whole_diagonal = g->whole_diagonal;
}

static void run_by_rows(SpryGalerkin *g, PetscScalar *values)
{
    const PetscInt *const offsets = g->result_offsets, *const columns = g->result_columns;
    nothing_seen(g->seen, g->a.cols);
    for (PetscInt row = 0; row < g->p.cols; row++) {
        const PetscInt count = middle_row(g, row);
        for (PetscInt k = 0; k < count; k++) add(g, g->list[k]);
        for (PetscInt k = offsets[row]; k < offsets[row + 1]; k++) values[k] = take_sum(g, columns[k]);
    }
}

static PetscInt entries_of(const SpryGalerkin *g)
{
    spry_arrays result = SPRY_INIT(spry_arrays);
    PetscBool whole;
    SpryGalerkinResult(g, &result, &whole);
    return (PetscInt)result.nnz;
}

PetscErrorCode SpryGalerkinRun(SpryGalerkin *g, PetscScalar *values)
{
    PetscFunctionBegin;
    if (g->result_values) {
        PetscCall(PetscArraycpy(values, g->result_values, entries_of(g)));
        SpryGalerkinForget(g);
    } else if (g->runs) {
        PetscCall(SpryRunsRun(g->runs, values));
    } else {
        run_by_rows(g, values);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryGalerkinFind(SpryGalerkin *g)
{
    PetscScalar *values;
    PetscFunctionBegin;
    if (g->result_values) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscMalloc1(entries_of(g), &values));
    PetscCall(SpryGalerkinRun(g, values));
    g->result_values = values;
    PetscFunctionReturn(PETSC_SUCCESS);
}
