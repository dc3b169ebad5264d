/*
 * Compares aijspry with aij in a PETSc program. It tests products before and after values and structure change,
 * duplicates, stored values, conversions to and from other types, rectangular matrices, and ranks without rows. It also
 * tests sparse products with a reused structure, mixed products and solves. The program runs on any number of ranks and
 * ends with an error if two results differ. PETSC_OPTIONS loads the plug-in, as for a user. With -vectors cuda, vectors
 * are on a GPU if PETSc supports GPUs.
 */
#include "compare.h"
#include <petscksp.h>

enum { PRODUCTS = 5, ROUNDS = 40 }; /* enough products for every stage of planning */

/* ---- cases ---- */
static PetscErrorCode values_and_structure_change(void)
{
    Pair p;
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 211, 211, 1));
    PetscCall(same_products(p.aij, p.ours, ROUNDS, "new"));
    for (int pass = 0; pass < 6; pass++) {
        PetscCall(MatScale(p.aij, 0.5));
        PetscCall(MatScale(p.ours, 0.5));
        PetscCall(same_products(p.aij, p.ours, 2, "scaled"));
    }
    PetscCall(MatShift(p.aij, 3));
    PetscCall(MatShift(p.ours, 3));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "shifted"));
    PetscCall(fill(p.aij, 9, 2));
    PetscCall(fill(p.ours, 9, 2));
    PetscCall(same_products(p.aij, p.ours, ROUNDS, "with another structure"));
    PetscCall(MatZeroEntries(p.aij));
    PetscCall(MatZeroEntries(p.ours));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "zero"));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode shapes(void)
{
    static const PetscInt sizes[][2] = {{97, 40}, {40, 97}, {1, 30}, {30, 1}, {1, 1}, {5, 5}};
    PetscFunctionBegin;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        Pair p;
        PetscCall(pair_make(&p, sizes[k][0], sizes[k][1], (PetscInt)k));
        PetscCall(same_products(p.aij, p.ours, PRODUCTS, "rectangular"));
        PetscCall(pair_destroy(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode duplicates_and_conversions(void)
{
    Pair p;
    Mat copy, back;
    PetscBool same;
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 150, 150, 3));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "original"));
    PetscCall(MatDuplicate(p.ours, MAT_COPY_VALUES, &copy));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)copy, &same, "seqaijspry", "mpiaijspry", ""));
    PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "a duplicate has lost its type");
    PetscCall(MatScale(copy, 2));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "original beside its duplicate"));
    PetscCall(MatScale(copy, 0.5));
    PetscCall(same_products(p.aij, copy, PRODUCTS, "duplicate"));
    PetscCall(MatConvert(copy, MATAIJ, MAT_INITIAL_MATRIX, &back));
    PetscCall(same_products(p.aij, back, PRODUCTS, "converted to aij"));
    PetscCall(MatConvert(back, "aijspry", MAT_INPLACE_MATRIX, &back));
    PetscCall(same_products(p.aij, back, PRODUCTS, "converted in place"));
    PetscCall(MatConvert(back, MATAIJ, MAT_INPLACE_MATRIX, &back));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)back, &same, MATSEQAIJ, MATMPIAIJ, ""));
    PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "a converted matrix is not aij");
    PetscCall(same_products(p.aij, back, PRODUCTS, "converted back in place"));
    PetscCall(MatDestroy(&back));
    PetscCall(MatTranspose(p.aij, MAT_INPLACE_MATRIX, &p.aij)); /* the matrix object gets the data of another matrix */
    PetscCall(MatTranspose(p.ours, MAT_INPLACE_MATRIX, &p.ours));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "transposed in place"));
    PetscCall(MatHeaderReplace(p.ours, &copy));
    PetscCall(MatTranspose(p.aij, MAT_INPLACE_MATRIX, &p.aij));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "replaced"));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores, overwrites and retrieves values. */
static PetscErrorCode retrieved_values(void)
{
    Pair p;
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 150, 150, 3));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatSetOption(k ? p.ours : p.aij, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
        PetscCall(MatStoreValues(k ? p.ours : p.aij));
        PetscCall(MatZeroEntries(k ? p.ours : p.aij));
    }
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "values lost"));
    PetscCall(MatRetrieveValues(p.aij));
    PetscCall(MatRetrieveValues(p.ours));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "values retrieved"));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removes all entries of a matrix, then sets other entries. */
static PetscErrorCode emptied_matrix(void)
{
    Pair p;
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 150, 150, 3));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "filled"));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatResetPreallocation(k ? p.ours : p.aij));
        PetscCall(MatAssemblyBegin(k ? p.ours : p.aij, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(k ? p.ours : p.aij, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "emptied"));
    PetscCall(MatSetOption(p.aij, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(p.ours, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(fill(p.aij, 4, 6));
    PetscCall(fill(p.ours, 4, 6));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "filled again"));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies the whole matrix to each rank, and again after the matrix changed. */
static PetscErrorCode whole_matrices(void)
{
    Pair p;
    IS all;
    Mat *copies[2];
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 90, 90, 2));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, 90, 0, 1, &all));
    PetscCall(MatCreateSubMatrices(p.aij, 1, &all, &all, MAT_INITIAL_MATRIX, &copies[0]));
    PetscCall(MatCreateSubMatrices(p.ours, 1, &all, &all, MAT_INITIAL_MATRIX, &copies[1]));
    for (int pass = 0; pass < 3; pass++) {
        PetscCall(same_products(copies[0][0], copies[1][0], PRODUCTS, "the whole matrix on each rank"));
        PetscCall(MatScale(p.aij, 0.5));
        PetscCall(MatScale(p.ours, 0.5));
        PetscCall(MatCreateSubMatrices(p.aij, 1, &all, &all, MAT_REUSE_MATRIX, &copies[0]));
        PetscCall(MatCreateSubMatrices(p.ours, 1, &all, &all, MAT_REUSE_MATRIX, &copies[1]));
    }
    for (int k = 0; k < 2; k++) PetscCall(MatDestroySubMatrices(1, &copies[k]));
    PetscCall(ISDestroy(&all));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode same_block_sizes(Mat expected, Mat found, const char what[])
{
    PetscInt sizes[2][2];
    PetscFunctionBegin;
    PetscCall(MatGetBlockSizes(expected, &sizes[0][0], &sizes[0][1]));
    PetscCall(MatGetBlockSizes(found, &sizes[1][0], &sizes[1][1]));
    PetscCheck(sizes[0][0] == sizes[1][0] && sizes[0][1] == sizes[1][1], PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%s: blocks of %" PetscInt_FMT " x %" PetscInt_FMT ", expected %" PetscInt_FMT " x %" PetscInt_FMT, what,
               sizes[1][0], sizes[1][1], sizes[0][0], sizes[0][1]);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sparse_products(void)
{
    static const MatProductType types[] = {MATPRODUCT_AB, MATPRODUCT_AtB, MATPRODUCT_PtAP, MATPRODUCT_ABt};
    PetscMPIInt ranks;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    for (int k = 0; k < (ranks > 1 ? 3 : 4); k++) { /* PETSc has no A*B^T over ranks */
        const char *const what = MatProductTypes[types[k]];
        Pair a, b;
        Mat expected, found, mixed;
        PetscCall(pair_make(&a, 120, 120, 4));
        PetscCall(pair_make(&b, 120, types[k] == MATPRODUCT_ABt ? 120 : 40, 5));
        PetscCall(MatSetBlockSizes(b.aij, 1, types[k] == MATPRODUCT_ABt ? 1 : 5));
        PetscCall(MatSetBlockSizes(b.ours, 1, types[k] == MATPRODUCT_ABt ? 1 : 5));
        PetscCall(multiply(types[k], a.aij, b.aij, MAT_INITIAL_MATRIX, &expected));
        PetscCall(multiply(types[k], a.ours, b.ours, MAT_INITIAL_MATRIX, &found));
        PetscCall(same_matrices(expected, found, what));
        PetscCall(same_block_sizes(expected, found, what));
        PetscCall(same_products(expected, found, PRODUCTS, what));
        for (int pass = 0; pass < 3; pass++) {
            PetscCall(MatScale(a.aij, 1.5));
            PetscCall(MatScale(a.ours, 1.5));
            PetscCall(MatScale(b.aij, 0.75));
            PetscCall(MatScale(b.ours, 0.75));
            PetscCall(multiply(types[k], a.aij, b.aij, MAT_REUSE_MATRIX, &expected));
            PetscCall(multiply(types[k], a.ours, b.ours, MAT_REUSE_MATRIX, &found));
            PetscCall(same_matrices(expected, found, what));
            PetscCall(same_products(expected, found, 1, what));
        }
        PetscCall(multiply(types[k], a.ours, b.aij, MAT_INITIAL_MATRIX, &mixed));
        PetscCall(same_matrices(expected, mixed, what));
        PetscCall(MatDestroy(&mixed));
        PetscCall(MatDestroy(&expected));
        PetscCall(MatDestroy(&found));
        PetscCall(pair_destroy(&a));
        PetscCall(pair_destroy(&b));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode symmetrize(Pair *p)
{
    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        const Mat A = k ? p->ours : p->aij;
        Mat transposed;
        PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &transposed));
        PetscCall(MatAXPY(A, 1, transposed, DIFFERENT_NONZERO_PATTERN));
        PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
        PetscCall(MatDestroy(&transposed));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Converts to and from other types, by a copy, into an existing matrix, and in place. PETSc computes the products of
 * the other types. PETSc 3.18's products of sell are wrong for some matrices with empty rows.
 */
static PetscErrorCode other_types(void)
{
    static const MatType types[] = {MATBAIJ, MATSBAIJ, MATDENSE, MATIS, MATSELL, "aijperm", "aijcrl"};
    PetscFunctionBegin;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        Pair p;
        Mat other, back;
        PetscCall(make(MATAIJ, 90, 90, 6, 6, &p.aij));
        PetscCall(make("aijspry", 90, 90, 6, 6, &p.ours));
        if (k == 1) PetscCall(symmetrize(&p));
        PetscCall(MatConvert(p.ours, types[k], MAT_INITIAL_MATRIX, &other));
        PetscCall(MatConvert(other, "aijspry", MAT_INITIAL_MATRIX, &back));
        PetscCall(same_products(p.aij, back, PRODUCTS, types[k]));
        PetscCall(MatScale(p.aij, 2));
        PetscCall(MatScale(other, 2));
        PetscCall(MatConvert(other, "aijspry", MAT_REUSE_MATRIX, &back));
        PetscCall(same_products(p.aij, back, PRODUCTS, types[k]));
        PetscCall(MatConvert(back, types[k], MAT_INPLACE_MATRIX, &back));
        PetscCall(MatConvert(back, "aijspry", MAT_INPLACE_MATRIX, &back));
        PetscCall(same_products(p.aij, back, PRODUCTS, types[k]));
        PetscCall(MatDestroy(&other));
        PetscCall(MatDestroy(&back));
        PetscCall(pair_destroy(&p));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with a matrix of a type derived from aij. */
static PetscErrorCode mixed_products(void)
{
    Pair p;
    Mat other, expected, found;
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 90, 90, 6));
    PetscCall(MatConvert(p.aij, "aijperm", MAT_INITIAL_MATRIX, &other));
    PetscCall(MatMatMult(p.aij, p.aij, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
    for (int first = 0; first < 2; first++) {
        PetscCall(
            MatMatMult(first ? other : p.ours, first ? p.ours : other, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &found));
        PetscCall(same_matrices(expected, found, "with aijperm"));
        PetscCall(MatDestroy(&found));
    }
    PetscCall(MatDestroy(&expected));
    PetscCall(MatDestroy(&other));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode dense_products(void)
{
    Pair p;
    Mat dense, expected, found;
    PetscInt mine;
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 90, 90, 6));
    PetscCall(MatGetLocalSize(p.aij, NULL, &mine));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, mine, PETSC_DECIDE, 90, 4, NULL, &dense));
    PetscCall(MatSetRandom(dense, NULL));
    PetscCall(MatMatMult(p.aij, dense, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
    PetscCall(MatMatMult(p.ours, dense, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &found));
    PetscCall(same_products(expected, found, 1, "times dense"));
    PetscCall(MatDestroy(&expected));
    PetscCall(MatDestroy(&found));
    PetscCall(MatDestroy(&dense));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solves(void)
{
    Pair p;
    Vec b, x[2];
    PetscInt iterations[2];
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 200, 200, 7));
    PetscCall(MatShift(p.aij, 40));
    PetscCall(MatShift(p.ours, 40));
    PetscCall(MatCreateVecs(p.aij, &x[0], &b));
    PetscCall(VecDuplicate(x[0], &x[1]));
    PetscCall(VecSet(b, 1));
    PetscCall(MatView(p.ours, PETSC_VIEWER_STDOUT_WORLD)); /* as -mat_view prints a matrix when it is assembled */
    for (int pass = 0; pass < 3; pass++) {
        for (int k = 0; k < 2; k++) {
            KSP ksp;
            const Mat A = k ? p.ours : p.aij;
            PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
            PetscCall(KSPSetOperators(ksp, A, A));
            PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
            PetscCall(KSPSetFromOptions(ksp));
            PetscCall(KSPSolve(ksp, b, x[k]));
            PetscCall(KSPGetIterationNumber(ksp, &iterations[k]));
            PetscCall(KSPDestroy(&ksp));
            PetscCall(MatScale(A, 1.25));
        }
        PetscCheck(iterations[0] == iterations[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB,
                   "%" PetscInt_FMT " iterations with aij, %" PetscInt_FMT " with aijspry", iterations[0],
                   iterations[1]);
        PetscCall(same_vectors(x[0], x[1], "solved"));
    }
    PetscCall(MatView(p.ours, PETSC_VIEWER_STDOUT_WORLD));
    for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO));
    PetscCall(values_and_structure_change());
    PetscCall(shapes());
    PetscCall(duplicates_and_conversions());
    PetscCall(retrieved_values());
    PetscCall(emptied_matrix());
    PetscCall(whole_matrices());
    PetscCall(other_types());
    PetscCall(sparse_products());
    PetscCall(mixed_products());
    PetscCall(dense_products());
    PetscCall(solves());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "all results are the same\n"));
    PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
    PetscCall(PetscFinalize());
    return 0;
}
