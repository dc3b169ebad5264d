/*
 * Helpers of the programs in this folder: pairs of an aij matrix and an aijspry matrix, and comparisons of their
 * products.
 */
#pragma once

#include <petscmat.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

/* ---- comparing ---- */
static inline PetscErrorCode same_vectors(Vec expected, Vec found, const char what[])
{
    PetscReal distance, norm;
    Vec difference;
    PetscFunctionBegin;
    PetscCall(VecDuplicate(expected, &difference));
    PetscCall(VecWAXPY(difference, -1, expected, found));
    PetscCall(VecNorm(difference, NORM_INFINITY, &distance));
    PetscCall(VecNorm(expected, NORM_INFINITY, &norm));
    PetscCall(VecDestroy(&difference));
    PetscCheck(distance <= 1e-12 * (1 + norm), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: results differ by %g", what,
               (double)distance);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode same_matrices(Mat expected, Mat found, const char what[])
{
    PetscReal distance, norm;
    Mat difference;
    MatInfo infos[2];
    PetscFunctionBegin;
    PetscCall(MatGetInfo(expected, MAT_GLOBAL_SUM, &infos[0]));
    PetscCall(MatGetInfo(found, MAT_GLOBAL_SUM, &infos[1]));
    PetscCheck(infos[0].nz_used == infos[1].nz_used, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %g entries, expected %g",
               what, infos[1].nz_used, infos[0].nz_used);
    PetscCall(MatConvert(found, MATAIJ, MAT_INITIAL_MATRIX, &difference));
    PetscCall(MatAXPY(difference, -1, expected, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(difference, NORM_FROBENIUS, &distance));
    PetscCall(MatNorm(expected, NORM_FROBENIUS, &norm));
    PetscCall(MatDestroy(&difference));
    PetscCheck(distance <= 1e-12 * (1 + norm), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: results differ by %g", what,
               (double)distance);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrices ---- */

/* Sets `per_row` entries in most rows, at columns derived from `seed`, and the diagonal. */
static inline PetscErrorCode fill(Mat A, PetscInt per_row, PetscInt seed)
{
    PetscInt begin, end, cols;
    PetscFunctionBegin;
    PetscCall(MatGetSize(A, NULL, &cols));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
        if (i % 7 != 3) /* the other rows have at most a diagonal entry */
            for (PetscInt k = 0; k < per_row; k++)
                PetscCall(MatSetValue(A, i, (i * 3 + k * k * 5 + seed * (k + 1)) % cols,
                                      (PetscScalar)(1 + (i + 2 * k + seed) % 9), INSERT_VALUES));
        if (i < cols) PetscCall(MatSetValue(A, i, i, (PetscScalar)(20 + seed), INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a matrix. With multiple ranks, the last rank has no rows, and no columns if the matrix is square. */
static inline PetscErrorCode make(MatType type, PetscInt rows, PetscInt cols, PetscInt per_row, PetscInt seed, Mat *A)
{
    const PetscInt sizes[2] = {rows, cols};
    PetscMPIInt rank, ranks;
    PetscInt mine[2];
    char vectors[64];
    PetscBool named;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    for (int d = 0; d < 2; d++) {
        const PetscInt sharers = ranks > 1 ? ranks - 1 : 1;
        mine[d] = rank == ranks - 1 && ranks > 1 ? 0 : sizes[d] / sharers + (rank < sizes[d] % sharers);
    }
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, mine[0], mine[1], rows, cols));
    PetscCall(MatSetType(*A, type));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-vectors", vectors, sizeof vectors, &named));
    if (named) PetscCall(MatSetVecType(*A, vectors));
    PetscCall(MatSeqAIJSetPreallocation(*A, 12, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 12, NULL, 12, NULL));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(fill(*A, per_row, seed));
    PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct Pair {
    Mat aij, ours;
} Pair;

static inline PetscErrorCode pair_make(Pair *p, PetscInt rows, PetscInt cols, PetscInt seed)
{
    PetscFunctionBegin;
    PetscCall(make(MATAIJ, rows, cols, 6, seed, &p->aij));
    PetscCall(make("aijspry", rows, cols, 6, seed, &p->ours));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode pair_destroy(Pair *p)
{
    PetscFunctionBegin;
    PetscCall(MatDestroy(&p->aij));
    PetscCall(MatDestroy(&p->ours));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares all products with vectors, `rounds` times. */
static inline PetscErrorCode same_products(Mat aij, Mat ours, int rounds, const char what[])
{
    Vec x, y[2], tx, ty[2];
    PetscFunctionBegin;
    PetscCall(MatCreateVecs(aij, &x, &y[0]));
    PetscCall(MatCreateVecs(aij, &ty[0], &tx));
    PetscCall(VecDuplicate(y[0], &y[1]));
    PetscCall(VecDuplicate(ty[0], &ty[1]));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(VecSetRandom(tx, NULL));
    for (int round = 0; round < rounds; round++) {
        PetscCall(MatMult(aij, x, y[0]));
        PetscCall(MatMult(ours, x, y[1]));
        PetscCall(same_vectors(y[0], y[1], what));
        PetscCall(MatMultTranspose(aij, tx, ty[0]));
        PetscCall(MatMultTranspose(ours, tx, ty[1]));
        PetscCall(same_vectors(ty[0], ty[1], what));
        PetscCall(MatMultAdd(aij, x, tx, y[0]));
        PetscCall(MatMultAdd(ours, x, tx, y[1]));
        PetscCall(same_vectors(y[0], y[1], what));
        PetscCall(MatMultAdd(aij, x, y[0], y[0]));
        PetscCall(MatMultAdd(ours, x, y[1], y[1]));
        PetscCall(same_vectors(y[0], y[1], what));
        PetscCall(MatMultTransposeAdd(aij, tx, x, ty[0]));
        PetscCall(MatMultTransposeAdd(ours, tx, x, ty[1]));
        PetscCall(same_vectors(ty[0], ty[1], what));
    }
    for (int k = 0; k < 2; k++) {
        PetscCall(VecDestroy(&y[k]));
        PetscCall(VecDestroy(&ty[k]));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&tx));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode multiply(MatProductType type, Mat A, Mat B, MatReuse reuse, Mat *C)
{
    PetscFunctionBegin;
    switch (type) {
    case MATPRODUCT_AB: PetscCall(MatMatMult(A, B, reuse, PETSC_DEFAULT, C)); break;
    case MATPRODUCT_AtB: PetscCall(MatTransposeMatMult(A, B, reuse, PETSC_DEFAULT, C)); break;
    case MATPRODUCT_ABt: PetscCall(MatMatTransposeMult(A, B, reuse, PETSC_DEFAULT, C)); break;
    default: PetscCall(MatPtAP(A, B, reuse, PETSC_DEFAULT, C)); break;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}
