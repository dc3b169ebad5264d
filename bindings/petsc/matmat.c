/*
 * Sparse products of one process, A*B, A^T*B, A*B^T and P^T*A*P: the library's plan finds C's structure, which PETSc
 * gets once, in the symbolic phase; the numeric phase runs the plan into C's own values, again for new ones. What was
 * asked of PETSc by name (-matmatmult_via, -mat_product_algorithm and their like), and all else, is PETSc's.
 */
#include "spry_petsc.h"

#define PRODUCT_NAME "__spry_product__"

/* What C carries. P^T*A*P is two products: A*P, whose values stay with the library, and P^T times it. */
typedef struct Product {
    spry_matrix *left, *right, *transposed, *middle;
    spry_spgemm_plan *first, *last; /* one plan alone is `last` */
    const PetscInt *offsets[2];     /* of both operands, to see when they have others */
    const PetscScalar *values[2];
    PetscObjectState states[2]; /* of the operands when A*P was computed */
} Product;

static void product_release(void *data)
{
    Product *const p = (Product *)data;
    spry_spgemm_plan_destroy(p->last);
    spry_matrix_destroy(p->middle);
    spry_spgemm_plan_destroy(p->first);
    spry_matrix_destroy(p->transposed);
    spry_matrix_destroy(p->right);
    spry_matrix_destroy(p->left);
}

PetscErrorCode SpryProductDrop(Mat C)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectCompose((PetscObject)C, PRODUCT_NAME, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* *changed: an operand has other values than when this was asked before. */
static PetscErrorCode operands_changed(Mat C, Product *p, PetscBool *changed)
{
    Mat operands[2];
    PetscObjectState state;
    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &operands[0], &operands[1], NULL));
    *changed = PETSC_FALSE;
    for (int k = 0; k < 2; k++) {
        PetscCall(PetscObjectStateGet((PetscObject)operands[k], &state));
        if (state != p->states[k]) *changed = PETSC_TRUE;
        p->states[k] = state;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode operand_arrays(Mat C, const PetscInt *offsets[2], const PetscScalar *values[2])
{
    Mat operands[2];
    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &operands[0], &operands[1], NULL));
    for (int k = 0; k < 2; k++) {
        PetscScalar *numbers;
        PetscCall(MatSeqAIJGetCSRAndMemType(operands[k], &offsets[k], NULL, &numbers, NULL));
        values[k] = numbers;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_plans(Product *p, MatProductType type)
{
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    PetscFunctionBegin;
    options.device = SPRY_CPU;
    options.offset_type = SPRY_PETSC_INDEX;
    if (type == MATPRODUCT_ABt) options.op_b = SPRY_TRANSPOSE;
    if (type != MATPRODUCT_PtAP) {
        SpryCall(spry_spgemm_plan_create(spry_settings.context, &p->last, p->left, p->right, &options, err));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    SpryCall(spry_spgemm_plan_create(spry_settings.context, &p->first, p->left, p->right, &options, err));
    SpryCall(spry_spgemm_plan_run(p->first, NULL, err));
    SpryCall(spry_spgemm_plan_get_result(p->first, &p->middle, err));
    SpryCall(spry_spgemm_plan_create(spry_settings.context, &p->last, p->transposed, p->middle, &options, err));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plans for C's operands, composed with C. */
static PetscErrorCode product_make(Mat C, Product **made)
{
    MatProductType type;
    Mat A, B;
    Product *p;
    PetscBool changed;
    PetscFunctionBegin;
    PetscCall(MatProductGetType(C, &type));
    PetscCall(MatProductGetMats(C, &A, &B, NULL));
    PetscCall(PetscNew(&p));
    PetscCall(SpryCompose((PetscObject)C, PRODUCT_NAME, p, product_release));
    PetscCall(SpryMatrixBorrow(A, (PetscBool)(type == MATPRODUCT_AtB), &p->left));
    PetscCall(SpryMatrixBorrow(B, PETSC_FALSE, &p->right));
    if (type == MATPRODUCT_PtAP) PetscCall(SpryMatrixBorrow(B, PETSC_TRUE, &p->transposed));
    PetscCall(operand_arrays(C, p->offsets, p->values));
    PetscCall(operands_changed(C, p, &changed));
    PetscCall(make_plans(p, type));
    *made = p;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plans that C has, or new ones where its operands lie elsewhere now. */
static PetscErrorCode product_get(Mat C, Product **found)
{
    const PetscInt *offsets[2];
    const PetscScalar *values[2];
    Product *p;
    PetscBool changed;
    PetscFunctionBegin;
    PetscCall(SpryComposed((PetscObject)C, PRODUCT_NAME, &p));
    PetscCall(operand_arrays(C, offsets, values));
    if (!p || offsets[0] != p->offsets[0] || offsets[1] != p->offsets[1] || values[0] != p->values[0] ||
        values[1] != p->values[1])
        PetscCall(product_make(C, &p));
    PetscCall(operands_changed(C, p, &changed));
    if (p->first && changed) SpryCall(spry_spgemm_plan_run(p->first, NULL, err));
    *found = p;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_Spry(Mat C)
{
    spry_spgemm_run_options options = SPRY_INIT(spry_spgemm_run_options);
    Product *p = NULL;
    PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(spry_settings.numeric, C, 0, 0, 0));
    PetscCall(product_get(C, &p));
    PetscCall(MatSeqAIJGetArrayWrite(C, &values));
    options.values = values;
    SpryCall(spry_spgemm_plan_run(p->last, &options, err));
    PetscCall(MatSeqAIJRestoreArrayWrite(C, &values));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscLogEventEnd(spry_settings.numeric, C, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* C's structure by copying arrays: MatSeqAIJSetPreallocationCSR would insert row by row, in three times the time. */
static PetscErrorCode set_structure(Mat C, const spry_arrays *structure)
{
    const PetscInt rows = (PetscInt)structure->rows, *const offsets = (const PetscInt *)structure->offsets;
    PetscInt *lengths;
    PetscFunctionBegin;
    PetscCall(PetscMalloc1(rows, &lengths));
    for (PetscInt i = 0; i < rows; i++) lengths[i] = offsets[i + 1] - offsets[i];
    PetscCall(MatSeqAIJSetPreallocation(C, 0, lengths));
    PetscCall(PetscFree(lengths));
    if (structure->nnz) PetscCall(MatSeqAIJSetColumnIndices(C, (PetscInt *)structure->indices));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE)); /* as products of aij have it */
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * MAT_FORCE_DIAGONAL_ENTRIES asks for the whole diagonal, and PETSc does not tell whether it was set: where the product
 * alone would leave out a part of it, PETSc's own code decides.
 */
static PetscBool lacks_diagonal(const spry_arrays *structure)
{
    const PetscInt *const offsets = (const PetscInt *)structure->offsets;
    const PetscInt *const columns = (const PetscInt *)structure->indices;
    if (structure->rows != structure->cols) return PETSC_FALSE;
    for (PetscInt i = 0; i < (PetscInt)structure->rows; i++) {
        PetscInt low = offsets[i], high = offsets[i + 1];
        while (low < high) {
            const PetscInt middle = low + (high - low) / 2;
            if (columns[middle] < i)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == offsets[i + 1] || columns[low] != i) return PETSC_TRUE;
    }
    return PETSC_FALSE;
}

static PetscErrorCode symbolic_as_aij(Mat C)
{
    PetscErrorCode (*symbolic)(Mat) = NULL;
    PetscFunctionBegin;
    PetscCall(SpryProductDrop(C));
    PetscCall(spry_seqaij.product_set_from_options(C));
    PetscCall(MatGetOperation(C, MATOP_PRODUCTSYMBOLIC, (SpryOperation *)&symbolic));
    PetscCall(symbolic(C));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multigrid finds the unknowns of a point by the block sizes of its products. */
static PetscErrorCode set_block_sizes(Mat C, MatProductType type)
{
    Mat A, B;
    PetscInt a[2], b[2], rows, cols;
    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &A, &B, NULL));
    PetscCall(MatGetBlockSizes(A, &a[0], &a[1]));
    PetscCall(MatGetBlockSizes(B, &b[0], &b[1]));
    rows = type == MATPRODUCT_PtAP ? b[1] : type == MATPRODUCT_AtB ? a[1] : a[0];
    cols = type == MATPRODUCT_ABt ? b[0] : b[1];
    PetscCall(MatSetBlockSizes(C, rows, cols));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_Spry(Mat C)
{
    spry_arrays structure = SPRY_INIT(spry_arrays);
    Product *p = NULL;
    MatProductType type;
    PetscInt rows, cols;
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(spry_settings.symbolic, C, 0, 0, 0));
    PetscCall(product_make(C, &p));
    SpryCall(spry_spgemm_plan_get_structure(p->last, &structure, err));
    if (lacks_diagonal(&structure)) {
        PetscCall(symbolic_as_aij(C));
        PetscCall(PetscLogEventEnd(spry_settings.symbolic, C, 0, 0, 0));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(structure.offset_type == SPRY_PETSC_INDEX && structure.index_type == SPRY_PETSC_INDEX, PETSC_COMM_SELF,
               PETSC_ERR_SUP, "the product has more entries than this PETSc's integers count");
    rows = (PetscInt)structure.rows;
    cols = (PetscInt)structure.cols;
    PetscCall(MatSetSizes(C, rows, cols, rows, cols));
    PetscCall(MatProductGetType(C, &type));
    PetscCall(set_block_sizes(C, type));
    PetscCall(MatSetType(C, MATSEQAIJSPRY));
    PetscCall(set_structure(C, &structure));
    PetscCall(MatSetOperation(C, MATOP_PRODUCTNUMERIC, (SpryOperation)MatProductNumeric_Spry));
    PetscCall(PetscLogEventEnd(spry_settings.symbolic, C, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the options name one of PETSc's algorithms for this product. */
static PetscErrorCode algorithm_is_named(Mat C, MatProductType type, PetscBool *named)
{
    const char *const general = "-mat_product_algorithm";
    const char *own = NULL, *prefix;
    PetscFunctionBegin;
    if (type == MATPRODUCT_AB) own = "-matmatmult_via";
    if (type == MATPRODUCT_AtB) own = "-mattransposematmult_via";
    if (type == MATPRODUCT_ABt) own = "-matmattransmult_via";
    if (type == MATPRODUCT_PtAP) own = "-matptap_via";
    PetscCall(MatGetOptionsPrefix(C, &prefix));
    PetscCall(PetscOptionsHasName(NULL, prefix, general, named));
    if (!*named && own) PetscCall(PetscOptionsHasName(NULL, prefix, own, named));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_SeqAIJSpry(Mat C)
{
    MatProductType type;
    PetscBool named = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(MatProductGetType(C, &type));
    if (spry_settings.products) PetscCall(algorithm_is_named(C, type, &named));
    if (spry_settings.products && !named &&
        (type == MATPRODUCT_AB || type == MATPRODUCT_AtB || type == MATPRODUCT_ABt || type == MATPRODUCT_PtAP))
        PetscCall(MatSetOperation(C, MATOP_PRODUCTSYMBOLIC, (SpryOperation)MatProductSymbolic_Spry));
    else
        PetscCall(spry_seqaij.product_set_from_options(C));
    PetscFunctionReturn(PETSC_SUCCESS);
}
