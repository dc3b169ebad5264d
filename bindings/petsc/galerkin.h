/* What the two ways to P^T*A*P have in common: galerkin.c, by rows of C, and galerkin_runs.c, by runs of rows of P. */
#pragma once

#include "spry_petsc.h"

/* A matrix's arrays. */
typedef struct Arrays {
    PetscInt rows, cols;
    const PetscInt *offsets, *columns;
    const PetscScalar *values;
} Arrays;

static inline PetscErrorCode arrays_of(Mat A, Arrays *a)
{
    PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &a->rows, &a->cols));
    PetscCall(MatSeqAIJGetCSRAndMemType(A, &a->offsets, &a->columns, &values, NULL));
    a->values = values;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of C are short, and their columns come nearly sorted. */
static inline PetscErrorCode sort(PetscInt count, PetscInt *list)
{
    enum { SHORT = 32 };
    PetscFunctionBegin;
    if (count > SHORT) {
        PetscCall(PetscSortInt(count, list));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    for (PetscInt k = 1; k < count; k++) {
        const PetscInt column = list[k];
        PetscInt at = k;
        for (; at > 0 && list[at - 1] > column; at--) list[at] = list[at - 1];
        list[at] = column;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void nothing_seen(PetscInt *seen, PetscInt count)
{
    for (PetscInt k = 0; k < count; k++) seen[k] = -1;
}

/* ---- galerkin_runs.c ---- */
typedef struct SpryRuns SpryRuns;

/* Whether most rows of P have the same columns as the next. */
PETSC_INTERN PetscBool SpryRunsServe(const Arrays *p);
/* With C's structure. *made is to be destroyed on failure, too; NULL: a row of C is too long for this. */
PETSC_INTERN PetscErrorCode SpryRunsCreate(const Arrays *a, const Arrays *p, SpryRuns **made);
PETSC_INTERN void SpryRunsDestroy(SpryRuns *runs); /* NULL is fine */
/* C's arrays but for its values, rows sorted; whether its diagonal is whole. */
PETSC_INTERN void SpryRunsResult(const SpryRuns *runs, spry_arrays *result, PetscBool *whole_diagonal);
/* The values into `values`, in the order of C's structure. */
PETSC_INTERN PetscErrorCode SpryRunsRun(SpryRuns *runs, PetscScalar *values);
