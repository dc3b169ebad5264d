/*
 * Sparse products of one process, A*B, A^T*B, A*B^T and P^T*A*P. The symbolic phase builds a plan of the library and
 * copies C's structure to PETSc. Each numeric phase writes C's values. If the program has added entries to C, the
 * product's values are copied to their positions and added entries become zero. PETSc computes all other products. It
 * also computes products for which an option names a PETSc algorithm (-matmatmult_via, -mat_product_algorithm and
 * similar).
 */
#include "spry/spgemm.h"
#include "spry_petsc.h"

#define PRODUCT_NAME "__spry_product__"

/*
 * State of both operands, to detect changes of arrays, structure or values. A matrix that took another matrix's data
 * (MatHeaderReplace) has another id, although its arrays and counters may be equal.
 */
typedef struct Operands {
    PetscObjectId ids[2];
    PetscInt entries[2];
    const PetscInt *offsets[2];
    const PetscScalar *values[2];
    PetscObjectState nonzero_states[2], states[2];
} Operands;

/* Data that the plug-in keeps with C. */
typedef struct Product {
    spry_matrix *left, *right;
    spry_spgemm_plan *plan;
    spry_matrix *computed;          /* result for the current operands, already computed; NULL: run the plan */
    Operands operands;              /* state at the last run */
    PetscBool compared;             /* same_structure is known, if C's state is still nonzero_state */
    PetscBool same_structure;       /* C has the product's structure, so a run writes C's values directly */
    PetscObjectState nonzero_state; /* C's state when the structures were compared */
} Product;

static void product_release(void *data)
{
    Product *const p = (Product *)data;
    spry_matrix_destroy(p->computed);
    spry_spgemm_plan_destroy(p->plan);
    spry_matrix_destroy(p->right);
    spry_matrix_destroy(p->left);
}

PetscErrorCode SpryProductDrop(Mat C)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectCompose((PetscObject)C, PRODUCT_NAME, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode operands_of(Mat C, Operands *o)
{
    Mat operands[2];
    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &operands[0], &operands[1], NULL));
    for (int k = 0; k < 2; k++) {
        PetscScalar *values;
        PetscInt rows;
        PetscCall(PetscObjectGetId((PetscObject)operands[k], &o->ids[k]));
        PetscCall(MatSeqAIJGetCSRAndMemType(operands[k], &o->offsets[k], NULL, &values, NULL));
        PetscCall(MatGetNonzeroState(operands[k], &o->nonzero_states[k]));
        PetscCall(PetscObjectStateGet((PetscObject)operands[k], &o->states[k]));
        PetscCall(MatGetLocalSize(operands[k], &rows, NULL));
        o->entries[k] = o->offsets[k][rows];
        o->values[k] = values;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build_plan(Product *p, MatProductType type)
{
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    PetscFunctionBegin;
    options.device = SPRY_CPU;
    options.offset_type = SPRY_PETSC_INDEX;
    if (type == MATPRODUCT_ABt) options.op_b = SPRY_TRANSPOSE;
    if (type == MATPRODUCT_PtAP)
        SpryCall(spry_spgemm_triple(spry_settings.context, &p->computed, &p->plan, p->left, p->right, &options, err));
    else
        SpryCall(spry_spgemm_plan_create(spry_settings.context, &p->plan, p->left, p->right, &options, err));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Builds the plan for C's operands and composes it with C. */
static PetscErrorCode product_build(Mat C, Product **built)
{
    MatProductType type;
    Mat A, B;
    Product *p;
    PetscFunctionBegin;
    PetscCall(MatProductGetType(C, &type));
    PetscCall(MatProductGetMats(C, &A, &B, NULL));
    PetscCall(PetscNew(&p));
    PetscCall(SpryCompose((PetscObject)C, PRODUCT_NAME, p, product_release));
    PetscCall(operands_of(C, &p->operands));
    *built = p;
    PetscCall(SpryMatrixBorrow(A, (PetscBool)(type == MATPRODUCT_AtB), &p->left));
    PetscCall(SpryMatrixBorrow(B, PETSC_FALSE, &p->right));
    PetscCall(build_plan(p, type));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the computed result. */
static void drop_computed(Product *p)
{
    spry_matrix_destroy(p->computed);
    p->computed = NULL;
}

static PetscBool structure_changed(const Operands *now, const Operands *before)
{
    PetscBool changed = PETSC_FALSE;
    for (int k = 0; k < 2; k++)
        if (now->ids[k] != before->ids[k] || now->entries[k] != before->entries[k] ||
            now->offsets[k] != before->offsets[k] || now->values[k] != before->values[k] ||
            now->nonzero_states[k] != before->nonzero_states[k])
            changed = PETSC_TRUE;
    return changed;
}

/* Returns C's product. Builds it again if the operands' arrays or structures changed. */
static PetscErrorCode product_get(Mat C, Product **found)
{
    Operands now;
    Product *p;
    PetscFunctionBegin;
    PetscCall(SpryComposed((PetscObject)C, PRODUCT_NAME, &p));
    PetscCall(operands_of(C, &now));
    if (!p || structure_changed(&now, &p->operands)) {
        PetscCall(product_build(C, &p));
    } else if (now.states[0] != p->operands.states[0] || now.states[1] != p->operands.states[1]) {
        drop_computed(p);
    }
    p->operands = now;
    *found = p;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets p->same_structure to whether C has the product's structure. The program may have changed C. */
static PetscErrorCode compare_structure(Mat C, Product *p)
{
    spry_arrays structure;
    PetscObjectState state;
    const PetscInt *offsets, *columns;
    PetscInt rows, cols;
    PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(MatGetNonzeroState(C, &state));
    if (p->compared && state == p->nonzero_state) PetscFunctionReturn(PETSC_SUCCESS);
    structure = SPRY_INIT(spry_arrays);
    SpryCall(spry_spgemm_plan_get_structure(p->plan, &structure, err));
    PetscCall(MatGetLocalSize(C, &rows, &cols));
    PetscCheck(rows == (PetscInt)structure.rows && cols == (PetscInt)structure.columns, PETSC_COMM_SELF,
               PETSC_ERR_ARG_SIZ,
               "C has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns, expected the product's %" PetscInt_FMT
               " and %" PetscInt_FMT,
               rows, cols, (PetscInt)structure.rows, (PetscInt)structure.columns);
    PetscCall(MatSeqAIJGetCSRAndMemType(C, &offsets, &columns, &values, NULL));
    PetscCall(PetscArraycmp(offsets, (const PetscInt *)structure.offsets, rows + 1, &p->same_structure));
    if (p->same_structure)
        PetscCall(PetscArraycmp(columns, (const PetscInt *)structure.indices, offsets[rows], &p->same_structure));
    p->nonzero_state = state;
    p->compared = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies the product's values to C, which has more entries. The other entries become zero. */
static PetscErrorCode scatter_values(const spry_arrays *product, const PetscInt *offsets, const PetscInt *columns,
                                     PetscScalar *values)
{
    const PetscInt *const starts = (const PetscInt *)product->offsets, *const indices =
                                                                           (const PetscInt *)product->indices;
    const PetscScalar *const product_values = (const PetscScalar *)product->values;
    PetscFunctionBegin;
    for (PetscInt i = 0; i < (PetscInt)product->rows; i++) {
        PetscInt k = offsets[i];
        for (PetscInt e = starts[i]; e < starts[i + 1]; e++) {
            for (; k < offsets[i + 1] && columns[k] < indices[e]; k++) values[k] = 0;
            PetscCheck(k < offsets[i + 1] && columns[k] == indices[e], PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
                       "the product has an entry in row %" PetscInt_FMT " and column %" PetscInt_FMT
                       ", expected an entry at this position in the reused C",
                       i, indices[e]);
            values[k++] = product_values[e];
        }
        for (; k < offsets[i + 1]; k++) values[k] = 0;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs the plan into its own result and copies the values to C's entries. */
static PetscErrorCode run_and_scatter(Mat C, Product *p)
{
    spry_arrays product = SPRY_INIT(spry_arrays);
    const PetscInt *offsets, *columns;
    PetscScalar *values;
    PetscFunctionBegin;
    if (!p->computed) {
        SpryCall(spry_spgemm_plan_run(p->plan, NULL, NULL, err));
        SpryCall(spry_spgemm_plan_get_result(p->plan, &p->computed, err));
    }
    SpryCall(spry_matrix_get_arrays(p->computed, &product, err));
    PetscCall(MatSeqAIJGetCSRAndMemType(C, &offsets, &columns, NULL, NULL));
    PetscCall(MatSeqAIJGetArrayWrite(C, &values));
    PetscCall(scatter_values(&product, offsets, columns, values));
    PetscCall(MatSeqAIJRestoreArrayWrite(C, &values));
    drop_computed(p);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes C's values: copies the computed result or runs the plan. */
static PetscErrorCode run_into_values(Mat C, Product *p)
{
    PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetArrayWrite(C, &values));
    if (p->computed) {
        spry_arrays product = SPRY_INIT(spry_arrays);
        SpryCall(spry_matrix_get_arrays(p->computed, &product, err));
        PetscCall(PetscArraycpy(values, (const PetscScalar *)product.values, product.nnz));
        drop_computed(p);
    } else {
        SpryCall(spry_spgemm_plan_run(p->plan, values, NULL, err));
    }
    PetscCall(MatSeqAIJRestoreArrayWrite(C, &values));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_Spry(Mat C)
{
    Product *p = NULL;
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(spry_settings.numeric, C, 0, 0, 0));
    PetscCall(product_get(C, &p));
    PetscCall(compare_structure(C, p));
    PetscCall(p->same_structure ? run_into_values(C, p) : run_and_scatter(C, p));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscLogEventEnd(spry_settings.numeric, C, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Sets C's structure by copying arrays. MatSeqAIJSetPreallocationCSR inserts rows one by one and takes 3 times as long.
 */
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
    PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE)); /* as in aij's products */
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Runs PETSc's own symbolic phase, for products that lack a part of their diagonal. MAT_FORCE_DIAGONAL_ENTRIES requires
 * the whole diagonal, and PETSc does not report whether it is set.
 */
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

/*
 * Sets *fails for products in which PETSc 3.18 reads invalid memory: A*B^T where A is seqaij and B has a type derived
 * from seqaij.
 */
static PetscErrorCode petsc_fails(MatProductType type, Mat A, Mat B, PetscBool *fails)
{
    PetscBool left, right;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &left));
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJ, &right));
    *fails = (PetscBool)(type == MATPRODUCT_ABt && left && !right);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets C's block sizes. Multigrid reads the number of unknowns per point from the block sizes of its products. */
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

/* Sets *whole to whether C = P^T*A*P has its whole diagonal. */
static PetscErrorCode result_has_diagonal(const Product *p, PetscBool *whole)
{
    spry_arrays structure = SPRY_INIT(spry_arrays);
    PetscFunctionBegin;
    SpryCall(spry_spgemm_plan_get_structure(p->plan, &structure, err));
    *whole = SpryHasDiagonal((PetscInt)structure.rows, (const PetscInt *)structure.offsets,
                             (const PetscInt *)structure.indices);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Builds C's product, or returns NULL if C lacks a part of its diagonal and PETSc's own product works. For P^T*A*P the
 * diagonal is known only after planning.
 */
static PetscErrorCode build_with_diagonal(Mat C, MatProductType type, Product **p)
{
    Mat A, B;
    PetscBool whole = PETSC_FALSE, fails = PETSC_FALSE;
    PetscFunctionBegin;
    *p = NULL;
    PetscCall(MatProductGetMats(C, &A, &B, NULL));
    if (type == MATPRODUCT_PtAP) {
        PetscCall(product_build(C, p));
        PetscCall(result_has_diagonal(*p, &whole));
        if (!whole) *p = NULL; /* symbolic_as_aij frees it */
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(SpryDiagonalIsWhole(A, B, type, &whole));
    PetscCall(petsc_fails(type, A, B, &fails));
    if (whole || fails) PetscCall(product_build(C, p));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_Spry(Mat C)
{
    spry_arrays structure;
    Product *p = NULL;
    MatProductType type;
    PetscInt rows, cols;
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(spry_settings.symbolic, C, 0, 0, 0));
    PetscCall(MatProductGetType(C, &type));
    PetscCall(build_with_diagonal(C, type, &p));
    if (!p) {
        PetscCall(symbolic_as_aij(C));
        PetscCall(PetscLogEventEnd(spry_settings.symbolic, C, 0, 0, 0));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    structure = SPRY_INIT(spry_arrays);
    SpryCall(spry_spgemm_plan_get_structure(p->plan, &structure, err));
    PetscCheck(structure.offset_type == SPRY_PETSC_INDEX && structure.index_type == SPRY_PETSC_INDEX, PETSC_COMM_SELF,
               PETSC_ERR_SUP, "the product has more entries than this PETSc's integers can count");
    rows = (PetscInt)structure.rows;
    cols = (PetscInt)structure.columns;
    PetscCall(MatSetSizes(C, rows, cols, rows, cols));
    PetscCall(set_block_sizes(C, type));
    PetscCall(MatSetType(C, MATSEQAIJSPRY));
    PetscCall(set_structure(C, &structure));
    PetscCall(MatGetNonzeroState(C, &p->nonzero_state));
    p->compared = p->same_structure = PETSC_TRUE;
    PetscCall(MatSetOperation(C, MATOP_PRODUCTNUMERIC, (SpryOperation)MatProductNumeric_Spry));
    PetscCall(PetscLogEventEnd(spry_settings.symbolic, C, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets *named to whether an option or the program names one of PETSc's algorithms for this product. */
static PetscErrorCode algorithm_is_named(Mat C, MatProductType type, PetscBool *named)
{
    const char *const general = "-mat_product_algorithm";
    const char *own = NULL, *prefix;
    PetscFunctionBegin;
#if PETSC_VERSION_GE(3, 21, 0) /* earlier versions cannot report the algorithm set by MatProductSetAlgorithm */
    {
        MatProductAlgorithm algorithm;
        PetscBool standard;
        PetscCall(MatProductGetAlgorithm(C, &algorithm));
        PetscCall(PetscStrcmp(algorithm, MATPRODUCTALGORITHMDEFAULT, &standard));
        if (algorithm && !standard) {
            *named = PETSC_TRUE;
            PetscFunctionReturn(PETSC_SUCCESS);
        }
    }
#endif
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
