/*
 * Checks whether a square product of two matrices has all entries of its diagonal, from the operands' structures and
 * before multiplication. If both operands have whole diagonals, the check takes one binary search per row and operand.
 * If rows are not sorted, the result may be false although the diagonal is whole.
 */
#include "spry_petsc.h"

typedef struct Structure {
    PetscInt rows, cols;
    const PetscInt *offsets, *columns;
} Structure;

static PetscErrorCode structure_of(Mat A, Structure *s)
{
    PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &s->rows, &s->cols));
    PetscCall(MatSeqAIJGetCSRAndMemType(A, &s->offsets, &s->columns, &values, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool has(const Structure *s, PetscInt row, PetscInt column)
{
    PetscInt low = s->offsets[row], high = s->offsets[row + 1];
    while (low < high) {
        const PetscInt middle = low + (high - low) / 2;
        if (s->columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return (PetscBool)(low < s->offsets[row + 1] && s->columns[low] == column);
}

/* C = A*B: C has (i, i) if A has (i, k) and B has (k, i) for some k. */
static PetscBool of_product(const Structure *a, const Structure *b)
{
    for (PetscInt i = 0; i < a->rows; i++) {
        PetscInt k = a->offsets[i];
        if (i < a->cols && has(a, i, i) && has(b, i, i)) continue;
        while (k < a->offsets[i + 1] && !has(b, a->columns[k], i)) k++;
        if (k == a->offsets[i + 1]) return PETSC_FALSE;
    }
    return PETSC_TRUE;
}

/* Returns the next column, from positions *p and *q on, that row `row` of both matrices has; -1: none. */
static PetscInt next_common(const Structure *a, const Structure *b, PetscInt row, PetscInt *p, PetscInt *q)
{
    while (*p < a->offsets[row + 1] && *q < b->offsets[row + 1]) {
        const PetscInt left = a->columns[*p], right = b->columns[*q];
        *p += left <= right;
        *q += right <= left;
        if (left == right) return left;
    }
    return -1;
}

/* C = A*B^T: C has (i, i) if rows i of A and B share a column. */
static PetscBool of_transposed_right(const Structure *a, const Structure *b)
{
    for (PetscInt i = 0; i < a->rows; i++) {
        PetscInt p = a->offsets[i], q = b->offsets[i];
        if (next_common(a, b, i, &p, &q) < 0) return PETSC_FALSE;
    }
    return PETSC_TRUE;
}

/* C = A^T*B: C has (i, i) if column i occurs in the same row of A and B. */
static PetscErrorCode of_transposed_left(const Structure *a, const Structure *b, PetscBool *whole)
{
    PetscInt found = 0, column;
    PetscBool *seen;
    PetscFunctionBegin;
    PetscCall(PetscCalloc1(a->cols, &seen));
    for (PetscInt row = 0; row < a->rows && found < a->cols; row++) {
        PetscInt p = a->offsets[row], q = b->offsets[row];
        while ((column = next_common(a, b, row, &p, &q)) >= 0) {
            found += !seen[column];
            seen[column] = PETSC_TRUE;
        }
    }
    *whole = (PetscBool)(found == a->cols);
    PetscCall(PetscFree(seen));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool SpryHasDiagonal(PetscInt rows, const PetscInt *offsets, const PetscInt *columns)
{
    const Structure s = {rows, rows, offsets, columns};
    for (PetscInt i = 0; i < rows; i++)
        if (!has(&s, i, i)) return PETSC_FALSE;
    return PETSC_TRUE;
}

PetscErrorCode SpryDiagonalIsWhole(Mat A, Mat B, MatProductType type, PetscBool *whole)
{
    Structure a, b;
    PetscInt rows, cols;
    PetscFunctionBegin;
    PetscCall(structure_of(A, &a));
    PetscCall(structure_of(B, &b));
    rows = type == MATPRODUCT_AtB ? a.cols : a.rows;
    cols = type == MATPRODUCT_ABt ? b.rows : b.cols;
    *whole = PETSC_TRUE;
    if (rows != cols) PetscFunctionReturn(PETSC_SUCCESS);
    if (type == MATPRODUCT_AB) *whole = of_product(&a, &b);
    if (type == MATPRODUCT_ABt) *whole = of_transposed_right(&a, &b);
    if (type == MATPRODUCT_AtB) PetscCall(of_transposed_left(&a, &b, whole));
    PetscFunctionReturn(PETSC_SUCCESS);
}
