/*
 * The matrix types. An aij matrix is converted in place: some operations are replaced, and functions that PETSc
 * searches by name are composed with it. All other operations remain those of aij. For conversions and for products
 * with other types, PETSc searches a function by the type's name. If PETSc finds none, functions of this file use the
 * functions of aij.
 */
#include "spry_petsc.h"

SpryInherited spry_seqaij, spry_mpiaij;

static PetscErrorCode (*mpiaij_preallocate)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
static PetscErrorCode (*seqaij_retrieve)(Mat);

/*
 * Name of the function that PETSc queries from a product's operands if PETSc knows no function for the names of their
 * types.
 */
#define PRODUCT_OF_ANY_TYPE "MatProductSetFromOptions_anytype_C"
static PetscErrorCode product_as_aij(Mat C);

/* ---- products with other types ---- */

/* Returns the type's name without "spry": "seqaijspry" gives "seqaij". Other names are returned unchanged. */
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

/*
 * Sets *all to whether all operands have seqaij's data structure (seqaijperm also has it), so that seqaij's products
 * work.
 */
static PetscErrorCode all_are_seqaij(Mat *const operands[], int count, PetscBool *all)
{
    PetscFunctionBegin;
    *all = PETSC_TRUE;
    for (int k = 0; k < count; k++) {
        SpryOperation function;
        PetscCall(MatGetOperation(*operands[k], MATOP_PRODUCTSETFROMOPTIONS, &function));
        if (!function || (function != (SpryOperation)MatProductSetFromOptions_SeqAIJSpry &&
                          function != (SpryOperation)spry_seqaij.product_set_from_options))
            *all = PETSC_FALSE;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the function that an operand has composed under `name`. Ignores product_as_aij. NULL: none is found. */
static PetscErrorCode query_operands(Mat *const operands[], int count, const char name[],
                                     PetscErrorCode (**function)(Mat))
{
    PetscFunctionBegin;
    *function = NULL;
    for (int k = 0; k < count && !*function; k++) {
        PetscCall(PetscObjectQueryFunction((PetscObject)*operands[k], name, function));
        if (*function == product_as_aij) *function = NULL;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Sets up a product of one of our types and another type if PETSc has no function for the pair. Uses the function that
 * PETSc has for aij and the other type.
 */
static PetscErrorCode product_as_aij(Mat C)
{
    Mat A, B, third;
    Mat *const operands[] = {&A, &B, &third};
    char types[3][64] = {"", "", ""}, name[256];
    PetscErrorCode (*function)(Mat);
    MatProductType type;
    PetscBool seqaij;
    int count;
    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &A, &B, &third));
    PetscCall(MatProductGetType(C, &type));
    count = type == MATPRODUCT_ABC ? 3 : 2;
    PetscCall(all_are_seqaij(operands, count, &seqaij));
    if (seqaij) {
        PetscCall(MatProductSetFromOptions_SeqAIJSpry(C));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    for (int k = 0; k < count; k++) PetscCall(base_type(*operands[k], types[k], sizeof types[k]));
    PetscCall(PetscSNPrintf(name, sizeof name, "MatProductSetFromOptions_%s_%s%s%s_C", types[0], types[1],
                            count == 3 ? "_" : "", types[2]));
    PetscCall(query_operands(operands, count, name, &function));
    if (!function) PetscCall(query_operands(operands, count, PRODUCT_OF_ANY_TYPE, &function));
    if (function) PetscCall(function(C));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Composes the product functions with A. PETSc queries them before the functions of the transpose type, which do not
 * apply.
 */
static PetscErrorCode compose_products(Mat A, PetscErrorCode (*function)(Mat))
{
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, PRODUCT_OF_ANY_TYPE, function));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_transpose_seqaijspry_seqaijspry_C",
                                         function));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_transpose_mpiaijspry_mpiaijspry_C",
                                         function));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operations ---- */
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
    PetscCall(MatGetOperation(A, MATOP_CONVERT, (SpryOperation *)&base->convert));
    PetscCall(MatGetOperation(A, MATOP_CONVERT_FROM, (SpryOperation *)&base->convert_from));
    PetscCall(MatGetOperation(A, MATOP_CREATE_SUBMATRICES, (SpryOperation *)&base->create_submatrices));
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
    PetscCall(MatSetOperation(A, MATOP_CONVERT, (SpryOperation)operations->convert));
    PetscCall(MatSetOperation(A, MATOP_CONVERT_FROM, (SpryOperation)operations->convert_from));
    PetscCall(MatSetOperation(A, MATOP_CREATE_SUBMATRICES, (SpryOperation)operations->create_submatrices));
    PetscCall(MatSetOperation(A, MATOP_DESTROY, (SpryOperation)operations->destroy));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- conversions to and from other types ---- */
static PetscErrorCode MatConvert_SeqAIJSpry_SeqAIJ(Mat, MatType, MatReuse, Mat *);
static PetscErrorCode MatConvert_MPIAIJSpry_MPIAIJ(Mat, MatType, MatReuse, Mat *);

/* Converts A to plain aij, as a copy or in place. */
static PetscErrorCode to_aij(Mat A, MatReuse reuse, Mat *converted)
{
    PetscBool seq;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJSPRY, &seq));
    PetscCall(seq ? MatConvert_SeqAIJSpry_SeqAIJ(A, MATSEQAIJ, reuse, converted)
                  : MatConvert_MPIAIJSpry_MPIAIJ(A, MATMPIAIJ, reuse, converted));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets *yes to whether the type has aij's data structure: "aij", "seqaijperm" and similar types. */
static PetscErrorCode is_aij(MatType type, PetscBool *yes)
{
    static const char *const beginnings[] = {"aij", "seqaij", "mpiaij"};
    PetscFunctionBegin;
    *yes = PETSC_FALSE;
    for (int k = 0; k < 3 && !*yes; k++) PetscCall(PetscStrbeginswith(type, beginnings[k], yes));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Converts A to a type for which PETSc knows no conversion from ours. Uses PETSc's conversion from aij on A itself.
 * Types with aij's data structure would keep our operations, so they are converted from a copy that is plain aij.
 */
static PetscErrorCode MatConvert_AIJSpry(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    static const char *const prefixes[] = {"seq", "mpi", ""};
    PetscErrorCode (*function)(Mat, MatType, MatReuse, Mat *) = NULL;
    char base[64], name[256];
    PetscBool aij;
    Mat copy;
    PetscFunctionBegin;
    if (reuse == MAT_INPLACE_MATRIX) {
        PetscCall(to_aij(A, MAT_INPLACE_MATRIX, &A));
        PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, converted));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(base_type(A, base, sizeof base));
    PetscCall(is_aij(type, &aij));
    for (int k = 0; k < 3 && !function && !aij; k++) {
        PetscCall(PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s%s_C", base, prefixes[k], type));
        PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &function));
    }
    if (function) {
        PetscCall(function(A, type, reuse, converted));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(to_aij(A, MAT_INITIAL_MATRIX, &copy));
    PetscCall(MatPropagateSymmetryOptions(A, copy));
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(MatConvert(copy, type, MAT_REUSE_MATRIX, converted));
        PetscCall(MatDestroy(&copy));
    } else {
        PetscCall(MatConvert(copy, type, MAT_INPLACE_MATRIX, &copy));
        *converted = copy;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * True while a matrix of another type is converted to aij before it is converted to ours. With -mat_seqaij_type or
 * -matconvert_type, PETSc creates one of our types at that point. It must not call convert_from again, so
 * such a matrix keeps aij's convert_from operation.
 */
static PetscBool is_converting = PETSC_FALSE;

/* Converts A from any type that PETSc can convert to aij. */
static PetscErrorCode convert_from(Mat A, MatType aij, MatType ours, MatReuse reuse, Mat *converted)
{
    Mat created = A;
    PetscErrorCode code;
    PetscFunctionBegin;
    is_converting = PETSC_TRUE;
    code = MatConvert(A, aij, reuse == MAT_REUSE_MATRIX ? MAT_INITIAL_MATRIX : reuse, &created);
    is_converting = PETSC_FALSE;
    PetscCall(code);
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(MatCopy(created, *converted, DIFFERENT_NONZERO_PATTERN));
        PetscCall(MatDestroy(&created));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MatConvert(created, ours, MAT_INPLACE_MATRIX, &created));
    *converted = created;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvertFrom_SeqAIJSpry(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    PetscFunctionBegin;
    (void)type;
    PetscCall(convert_from(A, MATSEQAIJ, MATSEQAIJSPRY, reuse, converted));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvertFrom_MPIAIJSpry(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    PetscFunctionBegin;
    (void)type;
    PetscCall(convert_from(A, MATMPIAIJ, MATMPIAIJSPRY, reuse, converted));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- seqaijspry ---- */

/*
 * Increases A's state. PETSc 3.18 sometimes writes values without increasing the state, and plans with a copy of the
 * values would miss the change.
 */
static PetscErrorCode increase_state(Mat A)
{
    PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetArray(A, &values));
    PetscCall(MatSeqAIJRestoreArray(A, &values));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRetrieveValues_SeqAIJSpry(Mat A)
{
    PetscFunctionBegin;
    PetscCall(seqaij_retrieve(A));
    PetscCall(increase_state(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode seq_leave(Mat A)
{
    PetscFunctionBegin;
    PetscCall(SpryProductDrop(A));
    PetscCall(SpryPlansDrop(A));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijspry_seqaij_C", NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C", seqaij_retrieve));
    PetscCall(compose_products(A, NULL));
    PetscCall(set_operations(A, &spry_seqaij));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares *converted: a copy of A, A itself, or an existing matrix that receives A's values. */
static PetscErrorCode prepare_converted(Mat A, MatReuse reuse, Mat *converted)
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
    PetscCall(prepare_converted(A, reuse, converted));
    PetscCall(seq_leave(*converted));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_SeqAIJ_SeqAIJSpry(Mat A, MatType type, MatReuse reuse, Mat *converted)
{
    SpryInherited operations;
    Mat B;
    PetscBool ours;
    PetscFunctionBegin;
    (void)type;
    PetscCall(prepare_converted(A, reuse, converted));
    B = *converted;
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJSPRY, &ours));
    if (ours) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(inherit(B, &spry_seqaij));
    if (!seqaij_retrieve) PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatRetrieveValues_C", &seqaij_retrieve));
    PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatRetrieveValues_C", MatRetrieveValues_SeqAIJSpry));
    operations = spry_seqaij;
    operations.mult = MatMult_SeqAIJSpry;
    operations.mult_add = MatMultAdd_SeqAIJSpry;
    operations.mult_transpose = MatMultTranspose_SeqAIJSpry;
    operations.mult_transpose_add = MatMultTransposeAdd_SeqAIJSpry;
    operations.destroy = MatDestroy_SeqAIJSpry;
    operations.view = MatView_SeqAIJSpry;
    operations.product_set_from_options = MatProductSetFromOptions_SeqAIJSpry;
    operations.convert = MatConvert_AIJSpry;
    if (!is_converting) operations.convert_from = MatConvertFrom_SeqAIJSpry;
    PetscCall(set_operations(B, &operations));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_seqaijspry_seqaij_C", MatConvert_SeqAIJSpry_SeqAIJ));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_seqaij_seqaijspry_C", MatConvert_SeqAIJ_SeqAIJSpry));
    PetscCall(compose_products(B, product_as_aij));
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

/* ---- mpiaijspry ---- */
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

/* Creates submatrices. Increases the state of existing ones, to which PETSc 3.18 writes without increasing it. */
static PetscErrorCode MatCreateSubMatrices_MPIAIJSpry(Mat A, PetscInt count, const IS rows[], const IS cols[],
                                                      MatReuse reuse, Mat *submatrices[])
{
    PetscFunctionBegin;
    PetscCall(spry_mpiaij.create_submatrices(A, count, rows, cols, reuse, submatrices));
    for (PetscInt k = 0; k < count && reuse == MAT_REUSE_MATRIX; k++) {
        PetscBool ours;
        PetscCall(PetscObjectTypeCompare((PetscObject)(*submatrices)[k], MATSEQAIJSPRY, &ours));
        if (ours) PetscCall(increase_state((*submatrices)[k]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mpi_leave(Mat A)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijspry_mpiaij_C", NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", mpiaij_preallocate));
    PetscCall(compose_products(A, NULL));
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
    PetscCall(prepare_converted(A, reuse, converted));
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
    PetscCall(prepare_converted(A, reuse, converted));
    B = *converted;
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATMPIAIJSPRY, &ours));
    if (ours) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(inherit(B, &spry_mpiaij));
    if (!mpiaij_preallocate)
        PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatMPIAIJSetPreallocation_C", &mpiaij_preallocate));
    operations = spry_mpiaij; /* keeps mpiaij's products, which call those of the seqaijspry blocks */
    operations.create_submatrices = MatCreateSubMatrices_MPIAIJSpry;
    operations.destroy = MatDestroy_MPIAIJSpry;
    operations.view = MatView_MPIAIJSpry;
    operations.convert = MatConvert_AIJSpry;
    if (!is_converting) operations.convert_from = MatConvertFrom_MPIAIJSpry;
    PetscCall(set_operations(B, &operations));
    PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatMPIAIJSetPreallocation_C",
                                         MatMPIAIJSetPreallocation_MPIAIJSpry));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_mpiaijspry_mpiaij_C", MatConvert_MPIAIJSpry_MPIAIJ));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)B, "MatConvert_mpiaij_mpiaijspry_C", MatConvert_MPIAIJ_MPIAIJSpry));
    PetscCall(compose_products(B, product_as_aij));
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
