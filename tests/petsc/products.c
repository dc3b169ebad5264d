/*
 * Compares sparse products of one process with products of aij and with products that are computed anew. Products are
 * reused after the program changed C or an operand. Some products lack a full diagonal. On multiple ranks, PETSc
 * computes the products by its own rules. The program ends with an error if two results differ.
 */
#include "compare.h"

/* C gets entries that the product lacks. A reused product sets these entries to zero and restores all others. */
static PetscErrorCode more_places(MatProductType type, const Pair *a, const Pair *b)
{
    const Mat left[] = {a->aij, a->ours}, right[] = {b->aij, b->ours};
    Mat C[2];
    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        PetscInt rows, cols;
        PetscCall(multiply(type, left[k], right[k], MAT_INITIAL_MATRIX, &C[k]));
        PetscCall(MatGetSize(C[k], &rows, &cols));
        for (PetscInt i = 0; i < rows; i += 3) PetscCall(MatSetValue(C[k], i, (i * 5 + 1) % cols, 7, ADD_VALUES));
        PetscCall(MatAssemblyBegin(C[k], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(C[k], MAT_FINAL_ASSEMBLY));
        for (int pass = 0; pass < 2; pass++) {
            PetscCall(MatScale(left[k], 0.5));
            PetscCall(multiply(type, left[k], right[k], MAT_REUSE_MATRIX, &C[k]));
        }
    }
    PetscCall(same_matrices(C[0], C[1], "C with more entries"));
    PetscCall(same_products(C[0], C[1], 1, "C with more entries"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&C[k]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * First, three rows of A keep only their diagonal entries. C still has an entry for each product. Then a row of A gets
 * all columns, and some products have no entry in C, so reusing C is an error.
 */
static PetscErrorCode another_operand(MatProductType type, Mat A, Mat B)
{
    const PetscInt rows[] = {3, 4, 5};
    PetscErrorCode code;
    PetscReal distance, norm;
    Mat C, anew;
    PetscInt cols;
    PetscFunctionBegin;
    PetscCall(multiply(type, A, B, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatZeroRows(A, 3, rows, 1, NULL, NULL));
    PetscCall(multiply(type, A, B, MAT_REUSE_MATRIX, &C));
    PetscCall(multiply(type, A, B, MAT_INITIAL_MATRIX, &anew));
    PetscCall(MatNorm(anew, NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(anew, -1, C, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(anew, NORM_FROBENIUS, &distance));
    PetscCheck(distance <= 1e-12 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A with fewer entries: results differ by %g",
               (double)distance);
    PetscCall(MatDestroy(&anew));
    PetscCall(MatGetSize(A, NULL, &cols));
    for (PetscInt j = 0; j < cols; j++) PetscCall(MatSetValue(A, 4, j, 1, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = multiply(type, A, B, MAT_REUSE_MATRIX, &C);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(code == PETSC_ERR_ARG_INCOMP, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "a product that C has no place for ended with %d", (int)code);
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A gets the data of other matrices, twice, so that new arrays may have the old addresses. B and C are full. */
static PetscErrorCode replaced_operand(MatProductType type)
{
    Mat A, B, C, anew;
    PetscFunctionBegin;
    PetscCall(make("aijspry", 120, 120, 3, 1, &A));
    PetscCall(make("aijspry", 120, 60, 0, 1, &B));
    for (PetscInt i = 0; i < 120; i++)
        for (PetscInt j = 0; j < 60; j++)
            PetscCall(MatSetValue(B, i, j, (PetscScalar)(1 + (i + j) % 5), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(multiply(type, A, B, MAT_INITIAL_MATRIX, &C));
    for (PetscInt pass = 2; pass < 12; pass += 2) {
        for (PetscInt seed = pass; seed < pass + 2; seed++) {
            Mat other;
            PetscCall(make("aijspry", 120, 120, 3, seed, &other));
            PetscCall(MatHeaderReplace(A, &other));
        }
        PetscCall(multiply(type, A, B, MAT_REUSE_MATRIX, &C));
        PetscCall(multiply(type, A, B, MAT_INITIAL_MATRIX, &anew));
        PetscCall(same_products(anew, C, 1, "with another matrix's data"));
        PetscCall(MatDestroy(&anew));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row i has entries in columns i + shift and i + shift + 7, if these exist. With `skip`, some rows are empty. */
static PetscErrorCode make_shifted(MatType type, PetscInt shift, PetscInt skip, Mat *A)
{
    enum { SIZE = 60 };
    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_SELF, A));
    PetscCall(MatSetSizes(*A, SIZE, SIZE, SIZE, SIZE));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSeqAIJSetPreallocation(*A, 2, NULL));
    for (PetscInt i = 0; i < SIZE; i++)
        for (PetscInt j = i + shift; j <= i + shift + 7; j += 7)
            if (j >= 0 && j < SIZE && (!skip || i % skip))
                PetscCall(MatSetValue(*A, i, j, (PetscScalar)(1 + i % 7 + j % 3), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * aijspry computes a product if every diagonal entry of the result is stored, even if an operand lacks a diagonal
 * entry. It leaves all other products to PETSc.
 */
static PetscErrorCode products_and_diagonals(MatProductType type)
{
    static const PetscInt cases[][4] = {{0, 0, 0, 0},  {1, 0, 1, 0}, {3, 0, -3, 0}, {-10, 0, 3, 0}, {1, 0, 0, 0},
                                        {-7, 0, 0, 0}, {0, 0, 0, 4}, {0, 3, 0, 0},  {-7, 0, 0, 5},  {-3, 0, -4, 0}};
    PetscFunctionBegin;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Mat A[2], B[2], C[2];
        PetscObject ours;
        PetscBool missing;
        for (int t = 0; t < 2; t++) {
            PetscCall(make_shifted(t ? "seqaijspry" : MATSEQAIJ, cases[k][0], cases[k][1], &A[t]));
            PetscCall(make_shifted(t ? "seqaijspry" : MATSEQAIJ, cases[k][2], cases[k][3], &B[t]));
            PetscCall(multiply(type, A[t], B[t], MAT_INITIAL_MATRIX, &C[t]));
        }
        PetscCall(same_matrices(C[0], C[1], "with and without a diagonal"));
        /* the plug-in must compute A*B^T of an aij A and an aijspry B: PETSc 3.18's code would read invalid memory */
        if (type == MATPRODUCT_ABt) {
            Mat mixed;
            PetscCall(multiply(type, A[0], B[1], MAT_INITIAL_MATRIX, &mixed));
            PetscCall(same_matrices(C[0], mixed, "aij and ours"));
            PetscCall(MatDestroy(&mixed));
        }
        PetscCall(MatMissingDiagonal(C[0], &missing, NULL));
        PetscCall(PetscObjectQuery((PetscObject)C[1], "__spry_product__", &ours));
        PetscCheck(missing == !ours, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, case %d: a diagonal that is %s, done by %s",
                   MatProductTypes[type], (int)k, missing ? "not whole" : "whole", ours ? "Spry" : "PETSc");
        for (int t = 0; t < 2; t++) {
            PetscCall(MatDestroy(&A[t]));
            PetscCall(MatDestroy(&B[t]));
            PetscCall(MatDestroy(&C[t]));
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares values within rounding. NaN and infinities must match. */
static PetscErrorCode same_numbers(Mat expected, Mat found, const char what[])
{
    const PetscInt *offsets[2];
    PetscScalar *values[2];
    PetscInt rows;
    PetscFunctionBegin;
    PetscCall(MatGetSize(expected, &rows, NULL));
    PetscCall(MatSeqAIJGetCSRAndMemType(expected, &offsets[0], NULL, &values[0], NULL));
    PetscCall(MatSeqAIJGetCSRAndMemType(found, &offsets[1], NULL, &values[1], NULL));
    PetscCheck(offsets[0][rows] == offsets[1][rows], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: numbers of entries", what);
    for (PetscInt k = 0; k < offsets[0][rows]; k++) {
        const PetscScalar e = values[0][k], f = values[1][k];
        const PetscBool same = (PetscBool)(e == f || (e != e && f != f) ||
                                           PetscAbsScalar(e - f) <= 1000 * PETSC_MACHINE_EPSILON * PetscAbsScalar(e));
        PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " is %g, expected %g", what, k,
                   (double)f, (double)e);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* P has groups of consecutive rows with the same columns, and some rows are empty. Rows of A within a group differ. */
static PetscErrorCode make_runs(MatType type, PetscInt rows, PetscInt cols, Mat *P)
{
    PetscFunctionBegin;
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, rows, cols, 3, NULL, P));
    for (PetscInt i = 0; i < rows; i++)
        for (PetscInt k = 0; k < i / 8 % 4; k++)
            PetscCall(MatSetValue(*P, i, (i / 8 + 5 * k) % cols, (PetscScalar)(1 + (i + k) % 7), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
    PetscCall(MatConvert(*P, type, MAT_INPLACE_MATRIX, P));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode products_by_runs(void)
{
    enum { ROWS = 4000, COLS = 500 };
    static const MatType types[] = {MATSEQAIJ, "seqaijspry"};
    Mat C[2], P[2];
    PetscObject ours;
    Pair a;
    PetscFunctionBegin;
    PetscCall(pair_make(&a, ROWS, ROWS, 4));
    for (int t = 0; t < 2; t++) {
        const Mat A = t ? a.ours : a.aij;
        PetscCall(make_runs(types[t], ROWS, COLS, &P[t]));
        PetscCall(MatPtAP(A, P[t], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[t]));
        PetscCall(MatScale(A, 3));
        PetscCall(MatPtAP(A, P[t], MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[t]));
    }
    PetscCall(PetscObjectQuery((PetscObject)C[1], "__spry_product__", &ours));
    PetscCheck(ours, PETSC_COMM_SELF, PETSC_ERR_PLIB, "P in runs of rows: PETSc's own product");
    PetscCall(same_numbers(C[0], C[1], "P in runs of rows"));
    for (int t = 0; t < 2; t++) { /* C gets an entry that the product lacks */
        PetscCall(MatSetValue(C[t], 0, COLS - 1, 7, ADD_VALUES));
        PetscCall(MatAssemblyBegin(C[t], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(C[t], MAT_FINAL_ASSEMBLY));
        PetscCall(MatScale(t ? a.ours : a.aij, 0.5));
        PetscCall(MatPtAP(t ? a.ours : a.aij, P[t], MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[t]));
    }
    PetscCall(same_numbers(C[0], C[1], "P in runs of rows, C with more entries"));
    for (int t = 0; t < 2; t++) { /* infinities do not spread to other entries */
        PetscCall(MatSetValue(P[t], 19, 2, (PetscScalar)PETSC_INFINITY * 10, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(P[t], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(P[t], MAT_FINAL_ASSEMBLY));
        PetscCall(MatPtAP(t ? a.ours : a.aij, P[t], MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[t]));
    }
    PetscCall(same_numbers(C[0], C[1], "P with infinity"));
    for (int t = 0; t < 2; t++) {
        PetscCall(MatDestroy(&C[t]));
        PetscCall(MatDestroy(&P[t]));
    }
    PetscCall(pair_destroy(&a));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row of A and of C has more than 2^16 entries. */
static PetscErrorCode long_row(void)
{
    enum { SIZE = 66000 };
    Mat A[2], P[2], C[2];
    PetscInt *lengths;
    PetscFunctionBegin;
    PetscCall(PetscMalloc1(SIZE, &lengths));
    for (PetscInt i = 0; i < SIZE; i++) lengths[i] = i == 7 ? SIZE : 1;
    for (int t = 0; t < 2; t++) {
        PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, SIZE, SIZE, 0, lengths, &A[t]));
        PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, SIZE, SIZE, 1, NULL, &P[t]));
        for (PetscInt i = 0; i < SIZE; i++) {
            PetscCall(MatSetValue(A[t], 7, i, (PetscScalar)(1 + i % 5), INSERT_VALUES));
            PetscCall(MatSetValue(A[t], i, i, (PetscScalar)(2 + i % 3), INSERT_VALUES));
            PetscCall(MatSetValue(P[t], i, SIZE - 1 - i, (PetscScalar)(1 + i % 2), INSERT_VALUES));
        }
        PetscCall(MatAssemblyBegin(A[t], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A[t], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyBegin(P[t], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(P[t], MAT_FINAL_ASSEMBLY));
        if (t) PetscCall(MatConvert(A[t], "seqaijspry", MAT_INPLACE_MATRIX, &A[t]));
        if (t) PetscCall(MatConvert(P[t], "seqaijspry", MAT_INPLACE_MATRIX, &P[t]));
        PetscCall(MatPtAP(A[t], P[t], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[t]));
    }
    PetscCall(same_numbers(C[0], C[1], "a long row"));
    for (int t = 0; t < 2; t++) {
        PetscCall(MatDestroy(&A[t]));
        PetscCall(MatDestroy(&P[t]));
        PetscCall(MatDestroy(&C[t]));
    }
    PetscCall(PetscFree(lengths));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode changed_products(void)
{
    static const MatProductType types[] = {MATPRODUCT_AB, MATPRODUCT_AtB, MATPRODUCT_PtAP, MATPRODUCT_PtAP};
    static const PetscInt per_row[] = {3, 3, 1, 12}; /* short rows of P use a different method than long rows */
    PetscFunctionBegin;
    for (int k = 0; k < 4; k++) {
        Pair a, b;
        PetscCall(pair_make(&a, 120, 120, 4));
        PetscCall(make(MATAIJ, 120, 60, per_row[k], 5, &b.aij));
        PetscCall(make("aijspry", 120, 60, per_row[k], 5, &b.ours));
        PetscCall(more_places(types[k], &a, &b));
        PetscCall(another_operand(types[k], a.ours, b.ours));
        PetscCall(replaced_operand(types[k]));
        PetscCall(products_and_diagonals(types[k]));
        PetscCall(pair_destroy(&a));
        PetscCall(pair_destroy(&b));
    }
    PetscCall(products_and_diagonals(MATPRODUCT_ABt));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(changed_products());
    PetscCall(products_by_runs());
    PetscCall(long_row());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "all results are the same\n"));
    PetscCall(PetscFinalize());
    return 0;
}
