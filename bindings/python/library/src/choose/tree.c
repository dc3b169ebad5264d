/*
 * The decision tree of Sparse Methods (docs/formats.md tells how its words are read), nothing overridden:
 *
 *     column operations?       yes: CSC
 *     memory-constrained?      yes: CSR
 *     unpredictable?           yes: HYB
 *     rows uniform?  yes: longest ~ mean?  yes: ELL     no: HYB
 *                    no:  very sparse?     yes: COO     no: CSR
 *
 *   column operations   the transposed product
 *   memory-constrained, unpredictable   what the caller says: "tree:memory", "tree:unpredictable"
 *   uniform      the longest hundredth of the rows left out (a few long rows are HYB's own case), the deviation of
 *                the row lengths is at most UNIFORM of their mean
 *   longest ~    the longest row of all is at most NEAR times the mean
 *   very sparse  the mean row has fewer than SPARSE entries, or at least EMPTY of the rows have none
 */
#include "choose/tree.h"

#include "choose/rows.h"
#include "choose/structure.h"
#include "core/error.h"

#include <string.h>

static const double UNIFORM = SPRYI_UNIFORM, NEAR = 1.5, SPARSE = 2, EMPTY = 0.5;

int spryi_is_tree(const char *policy)
{
    return policy && strncmp(policy, "tree", 4) == 0;
}

static void choose_by_rows(spryi_choice *choice, const spryi_row_profile *rows)
{
    if (spryi_rows_are_uniform(rows)) {
        int near = rows->longest <= NEAR * rows->mean;
        spryi_choose(choice, near ? "ell" : "hyb", SPRY_REASON_UNIFORM_ROWS,
                     "rows are uniform (deviation %.2f of the mean <= %.2g without the longest 1 %%) and the longest, "
                     "%.0f, is %s %.2g times the mean %.1f",
                     rows->body_deviation, UNIFORM, rows->longest, near ? "within" : "over", NEAR, rows->mean);
        return;
    }
    int sparse = rows->mean < SPARSE || rows->empty >= EMPTY;
    spryi_choose(choice, sparse ? "coo" : "csr", sparse ? SPRY_REASON_VERY_SPARSE : SPRY_REASON_IRREGULAR_ROWS,
                 "row lengths vary (deviation %.2f of the mean, uniform: <= %.2g), and the mean row %.1f (very sparse: "
                 "< %.2g), empty rows %.0f %% (>= %.0f %%) are %svery sparse",
                 rows->body_deviation, UNIFORM, rows->mean, SPARSE, 100 * rows->empty, 100 * EMPTY,
                 sparse ? "" : "not ");
}

spry_status spryi_follow_tree(spryi_choice *choice, const spry_matrix *A, const spry_spmv_options *options,
                              spry_error *err)
{
    spry_matrix *structure = NULL;
    spryi_row_profile rows;
    spry_status status = SPRY_OK;
    if (options->op == SPRY_TRANSPOSE)
        spryi_choose(choice, "csc", SPRY_REASON_TRANSPOSED, "the transposed product works by columns");
    else if (strcmp(options->policy, "tree:memory") == 0)
        spryi_choose(choice, "csr", SPRY_REASON_MEMORY, "memory is scarce, by the policy asked for");
    else if (strcmp(options->policy, "tree:unpredictable") == 0)
        spryi_choose(choice, "hyb", SPRY_REASON_IRREGULAR_ROWS, "rows are unpredictable, by the policy asked for");
    else if (A->a.nnz == 0)
        spryi_choose(choice, "csr", SPRY_REASON_EMPTY, "no entries");
    if (choice->format) return SPRY_OK;
    SPRYI_TRY(spryi_structure_of(&structure, A, SPRY_NO_TRANSPOSE, err));
    SPRYI_TRY(spryi_find_row_profile(&rows, A->context, &structure->a, SPRYI_FULL, err));
    choose_by_rows(choice, &rows);
done:
    spryi_matrix_release(structure);
    return status;
}
