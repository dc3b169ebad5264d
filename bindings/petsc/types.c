/*
 * The types: an aij matrix becomes one of ours in place, by setting the operations that differ and composing the
 * functions that PETSc looks for by name; everything else stays aij's. A type is its name: PETSc looks mixed products
 * up under the exact names of both types, so the names with ours in them are composed too and lead to aij's.
 */
#include "spry_petsc.h"

SpryInherited spry_seqaij, spry_mpiaij;

static PetscErrorCode (*mpiaij_preallocate)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);

typedef struct NamedFunction {
    const char *name;
    PetscErrorCode (*function)(Mat);
} NamedFunction;

/* "seqaijspry" to "seqaij", any other type to itself. */
static PetscErrorCode base_type(Mat A, char type[], size_t size)
{
    MatType name;
    char *end;
    PetscFunctionBegin;
    PetscCall(MatGetType(A, &name));
    PetscCall(PetscStrncpy(type, name, size));
    PetscCall(PetscStrstr(type, "aijspry", &end));
    if (end) end[3] = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product of one of ours and another type: what PETSc has for aij and that type. */
static PetscErrorCode product_as_aij(Mat C)
{
    Mat operands[2];
    char types[2][64], name[192];
    PetscErrorCode (*function)(Mat) = NULL;
    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &operands[0], &operands[1], NULL));
    for (int k = 0; k < 2; k++) PetscCall(base_type(operands[k], types[k], sizeof types[k]));
    PetscCall(PetscSNPrintf(name, sizeof name, "MatProductSetFromOptions_%s_%s_C", types[0], types[1]));
    for (int k = 0; k < 2 && !function; k++)
        PetscCall(PetscObjectQueryFunction((PetscObject)operands[k], name, &function));
    if (function) PetscCall(function(C));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static const NamedFunction seq_products[] = {
    {"MatProductSetFromOptions_seqaijspry_seqaij_C", MatProductSetFromOptions_SeqAIJSpry},
    {"MatProductSetFromOptions_seqaij_seqaijspry_C", MatProductSetFromOptions_SeqAIJSpry},
    {"MatProductSetFromOptions_seqaijspry_seqdense_C", product_as_aij},
    {"MatProductSetFromOptions_seqdense_seqaijspry_C", product_as_aij},
    {"MatProductSetFromOptions_seqaijspry_seqmaij_C", product_as_aij},
    {"MatProductSetFromOptions_is_seqaijspry_C", product_as_aij},
};

static PetscErrorCode product_of_mpiaij(Mat C)
{
    PetscFunctionBegin;
    PetscCall(spry_mpiaij.product_set_from_options(C));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static const NamedFunction mpi_products[] = {
    {"MatProductSetFromOptions_mpiaijspry_mpiaij_C", product_of_mpiaij},
    {"MatProductSetFromOptions_mpiaij_mpiaijspry_C", product_of_mpiaij},
    {"MatProductSetFromOptions_mpiaijspry_mpidense_C", product_as_aij},
    {"MatProductSetFromOptions_mpidense_mpiaijspry_C", product_as_aij},
    {"MatProductSetFromOptions_mpiaijspry_mpimaij_C", product_as_aij},
    {"MatProductSetFromOptions_is_mpiaijspry_C", product_as_aij},
};

enum {
    SEQ_PRODUCTS = sizeof seq_products / sizeof *seq_products,
    MPI_PRODUCTS = sizeof mpi_products / sizeof *mpi_products
};

static PetscErrorCode compose_products(Mat A, const NamedFunction list[], int count, PetscBool ours)
{
    PetscFunctionBegin;
    for (int k = 0; k < count; k++)
        PetscCall(PetscObjectComposeFunction((PetscObject)A, list[k].name, ours ? list[k].function : NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode inherit(Mat A, SpryInherited *base)
{
    PetscFunctionBegin;
    if (base->destroy) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MatGetOperation(A, MATOP_MULT, (SpryOperation *)&base->mult));
    PetscCall(MatGetOperation(A, MATOP_MULT_ADD, (SpryOperation *)&base->mult_add));
    PetscCall(MatGetOperation(A, MATOP_MULT_TRANSPOSE, (SpryOperation *)&base->mult_transpose));
    PetscCall(MatGetOperation(A, MATOP_MULT_TRANSPOSE_ADD, (SpryOperation *)&base->mult_transpose_add));
    PetscCall(MatGetOperation(A, MATOP_VIEW, (SpryOperation *)&base->view));
    PetscCall(MatGetOperation(A, MATOP_PRODUCTSETFROMOPTIONS, (SpryOperation *)&base->product_set_from_options));
    PetscCall(MatGetOperation(A, MATOP_DESTROY, (SpryOperation *)&base->destroy));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_operations(Mat A, const SpryInherited *operations)
{
    PetscFunctionBegin;
    PetscCall(MatSetOperation(A, MATOP_MULT, (SpryOperation)operations->mult));
    PetscCall(MatSetOperation(A, MATOP_MULT_ADD, (SpryOperation)operations->mult_add));
    PetscCall(MatSetOperation(A, MATOP_MULT_TRANSPOSE, (SpryOperation)operations->mult_transpose));
    PetscCall(MatSetOperation(A, MATOP_MULT_TRANSPOSE_ADD, (SpryOperation)operations->mult_transpose_add));
    PetscCall(MatSetOperation(A, MATOP_VIEW, (SpryOperation)operations->view));
    PetscCall(MatSetOperation(A, MATOP_PRODUCTSETFROMOPTIONS, (SpryOperation)operations->product_set_from_options));
    PetscCall(MatSetOperation(A, MATOP_DESTROY, (SpryOperation)operations->destroy));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one process ---- */
static PetscErrorCode seq_leave(Mat A)
{
    PetscFunctionBegin;
    PetscCall(SpryProductDrop(A));
    PetscCall(SpryPlansDrop(A));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijspry_seqaij_C", NULL));
    PetscCall(compose_products(A, seq_products, SEQ_PRODUCTS, PETSC_FALSE));
    PetscCall(set_operations(A, &spry_seqaij));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is converted: a copy of A, A itself, or a matrix that is there already and takes A's values. */
static PetscErrorCode take_over(Mat A, MatReuse reuse, Mat *converted)
{
    PetscFunctionBegin;
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, converted));
    if (reuse == MAT_REUSE_MATRIX) PetscCall(MatCopy(A, *converted, SAME_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJSpry(Mat A)
{
    PetscFunctionBegin;
    PetscCall(seq_leave(A));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_seqaijspry_C", NULL));
    PetscCall(spry_seqaij.destroy(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_SeqAIJSpry_SeqAIJ(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    PetscFunctionBegin;
    (void)type;
    PetscCall(take_over(A, reuse, converted));
    PetscCall(seq_leave(*converted));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_SeqAIJ_SeqAIJSpry(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    Mat B;
    PetscBool ours;
    PetscFunctionBegin;
    (void)type;
    PetscCall(take_over(A, reuse, converted));
    B = *converted;
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJSPRY, &ours));
    if (ours) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(inherit(B, &spry_seqaij));
    PetscCall(
        set_operations(B, &(const SpryInherited){MatMult_SeqAIJSpry, MatMultAdd_SeqAIJSpry, MatMultTranspose_SeqAIJSpry,
                                                 MatMultTransposeAdd_SeqAIJSpry, MatDestroy_SeqAIJSpry,
                                                 MatView_SeqAIJSpry, MatProductSetFromOptions_SeqAIJSpry}));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_seqaijspry_seqaij_C", MatConvert_SeqAIJSpry_SeqAIJ));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_seqaij_seqaijspry_C", MatConvert_SeqAIJ_SeqAIJSpry));
    PetscCall(compose_products(B, seq_products, SEQ_PRODUCTS, PETSC_TRUE));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQAIJSPRY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJSpry(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(MatConvert_SeqAIJ_SeqAIJSpry(A, MATSEQAIJSPRY, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- several ---- */
static PetscErrorCode convert_blocks(Mat A)
{
    Mat blocks[2] = {NULL, NULL};
    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++)
        if (blocks[k])
            PetscCall(MatConvert_SeqAIJ_SeqAIJSpry(blocks[k], MATSEQAIJSPRY, MAT_INPLACE_MATRIX, &blocks[k]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJSetPreallocation_MPIAIJSpry(Mat A, PetscInt d, const PetscInt d_rows[], PetscInt o,
                                                           const PetscInt o_rows[])
{
    PetscFunctionBegin;
    PetscCall(mpiaij_preallocate(A, d, d_rows, o, o_rows));
    PetscCall(convert_blocks(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mpi_leave(Mat A)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijspry_mpiaij_C", NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", mpiaij_preallocate));
    PetscCall(compose_products(A, mpi_products, MPI_PRODUCTS, PETSC_FALSE));
    PetscCall(set_operations(A, &spry_mpiaij));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATMPIAIJ));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJSpry(Mat A)
{
    PetscFunctionBegin;
    PetscCall(mpi_leave(A));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_mpiaijspry_C", NULL));
    PetscCall(spry_mpiaij.destroy(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_MPIAIJSpry_MPIAIJ(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    Mat blocks[2] = {NULL, NULL};
    PetscFunctionBegin;
    (void)type;
    PetscCall(take_over(A, reuse, converted));
    PetscCall(MatMPIAIJGetSeqAIJ(*converted, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++)
        if (blocks[k]) PetscCall(seq_leave(blocks[k]));
    PetscCall(mpi_leave(*converted));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_MPIAIJ_MPIAIJSpry(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    Mat B;
    SpryInherited operations;
    PetscBool ours;
    PetscFunctionBegin;
    (void)type;
    PetscCall(take_over(A, reuse, converted));
    B = *converted;
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATMPIAIJSPRY, &ours));
    if (ours) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(inherit(B, &spry_mpiaij));
    if (!mpiaij_preallocate)
        PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatMPIAIJSetPreallocation_C", &mpiaij_preallocate));
    operations = spry_mpiaij; /* products are mpiaij's, on blocks that are ours */
    operations.destroy = MatDestroy_MPIAIJSpry;
    operations.view = MatView_MPIAIJSpry;
    PetscCall(set_operations(B, &operations));
    PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatMPIAIJSetPreallocation_C",
                                         MatMPIAIJSetPreallocation_MPIAIJSpry));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_mpiaijspry_mpiaij_C", MatConvert_MPIAIJSpry_MPIAIJ));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_mpiaij_mpiaijspry_C", MatConvert_MPIAIJ_MPIAIJSpry));
    PetscCall(compose_products(B, mpi_products, MPI_PRODUCTS, PETSC_TRUE));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJSPRY));
    PetscCall(convert_blocks(B));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJSpry(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATMPIAIJ));
    PetscCall(MatConvert_MPIAIJ_MPIAIJSpry(A, MATMPIAIJSPRY, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(PETSC_SUCCESS);
}
