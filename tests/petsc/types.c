/*
 * A program of PETSc that does everything with aij and with aijspry and compares: products before and after values and
 * structure change, of duplicates, of stored values, of matrices converted to and from other types, of rectangular
 * ones and of ranks without rows, sparse products with their structure kept, or changed by the program in between,
 * mixed products, solves. It runs on any number of ranks and ends with an error where two results differ. The plug-in
 * is loaded by PETSC_OPTIONS, as a user loads it. With -vectors cuda its vectors are a GPU's, where this PETSc has
 * such.
 */
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

enum { PRODUCTS = 5, ROUNDS = 40 }; /* enough products for every stage of planning */

/* ---- comparing ---- */
static PetscErrorCode same_vectors(Vec expected, Vec found, const char what[])
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

static PetscErrorCode same_matrices(Mat expected, Mat found, const char what[])
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

/* rows x cols with `per_row` entries a row at places that follow from `seed`; rank `empty` has no rows. */
static PetscErrorCode fill(Mat A, PetscInt per_row, PetscInt seed)
{
    PetscInt begin, end, cols;
    PetscFunctionBegin;
    PetscCall(MatGetSize(A, NULL, &cols));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
        if (i % 7 != 3) /* some rows are empty */
            for (PetscInt k = 0; k < per_row; k++)
                PetscCall(MatSetValue(A, i, (i * 3 + k * k * 5 + seed * (k + 1)) % cols,
                                      (PetscScalar)(1 + (i + 2 * k + seed) % 9), INSERT_VALUES));
        if (i < cols) PetscCall(MatSetValue(A, i, i, (PetscScalar)(20 + seed), INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last of several ranks has no rows, and of a square matrix no columns. */
static PetscErrorCode make(MatType type, PetscInt rows, PetscInt cols, PetscInt per_row, PetscInt seed, Mat *A)
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

static PetscErrorCode pair_make(Pair *p, PetscInt rows, PetscInt cols, PetscInt seed)
{
    PetscFunctionBegin;
    PetscCall(make(MATAIJ, rows, cols, 6, seed, &p->aij));
    PetscCall(make("aijspry", rows, cols, 6, seed, &p->ours));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pair_destroy(Pair *p)
{
    PetscFunctionBegin;
    PetscCall(MatDestroy(&p->aij));
    PetscCall(MatDestroy(&p->ours));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* All products with vectors, `rounds` times. */
static PetscErrorCode same_products(Mat aij, Mat ours, int rounds, const char what[])
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

/* ---- cases ---- */
static PetscErrorCode values_and_structure_change(void)
{
    Pair p;
    PetscFunctionBegin;
    PetscCall(pair_make(&p, 211, 211, 1));
    PetscCall(same_products(p.aij, p.ours, ROUNDS, "new"));
    for (int turn = 0; turn < 6; turn++) {
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
    PetscCall(MatTranspose(p.aij, MAT_INPLACE_MATRIX, &p.aij)); /* the header takes another matrix's data */
    PetscCall(MatTranspose(p.ours, MAT_INPLACE_MATRIX, &p.ours));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "transposed in place"));
    PetscCall(MatHeaderReplace(p.ours, &copy));
    PetscCall(MatTranspose(p.aij, MAT_INPLACE_MATRIX, &p.aij));
    PetscCall(same_products(p.aij, p.ours, PRODUCTS, "replaced"));
    PetscCall(pair_destroy(&p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that are stored, lost and retrieved. */
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

static PetscErrorCode multiply(MatProductType type, Mat A, Mat B, MatReuse reuse, Mat *C)
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
        for (int turn = 0; turn < 3; turn++) {
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

/* C gets entries that the product does not have; they become zero, and all others what they were. */
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
        for (int turn = 0; turn < 2; turn++) {
            PetscCall(MatScale(left[k], 0.5));
            PetscCall(multiply(type, left[k], right[k], MAT_REUSE_MATRIX, &C[k]));
        }
    }
    PetscCall(same_matrices(C[0], C[1], "C with more entries"));
    PetscCall(same_products(C[0], C[1], 1, "C with more entries"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&C[k]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A loses rows: there is a place for all that is left. Then it gets more than there is a place for, an error. */
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

/* A takes the data of other matrices, twice, so that its arrays may lie where they lay. B is full, and C with it. */
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
    for (PetscInt turn = 2; turn < 12; turn += 2) {
        for (PetscInt seed = turn; seed < turn + 2; seed++) {
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

/* Row i has entries in columns i + shift and i + shift + 7, where there are such; with `skip` some rows have none. */
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

/* Products that have their whole diagonal, though operands have not, are ours; others are PETSc's. */
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

static PetscErrorCode changed_products(void)
{
    static const MatProductType types[] = {MATPRODUCT_AB, MATPRODUCT_AtB, MATPRODUCT_PtAP, MATPRODUCT_PtAP};
    static const PetscInt per_row[] = {3, 3, 1, 12}; /* short rows of P take another way than long ones */
    PetscMPIInt ranks;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    if (ranks > 1) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc's own products, which have their own rules */
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

/* To other types and from them, by a copy, into a matrix that is there, and in place. Products of the others are
   PETSc's own, of which sell's are not all right where rows are empty (3.18). */
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

/* With a type that is aij's too. */
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
    for (int turn = 0; turn < 3; turn++) {
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
    PetscCall(MatView(p.ours, PETSC_VIEWER_STDOUT_WORLD)); /* with -mat_view ::ascii_info alone it says little */
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
    PetscCall(other_types());
    PetscCall(sparse_products());
    PetscCall(changed_products());
    PetscCall(mixed_products());
    PetscCall(dense_products());
    PetscCall(solves());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "all results are the same\n"));
    PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
    PetscCall(PetscFinalize());
    return 0;
}
