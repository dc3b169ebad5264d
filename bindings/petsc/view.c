/* Output of -mat_view ::ascii_info in addition to aij's: the plans of a matrix and the reasons for their formats. */
#include "spry_petsc.h"

static PetscErrorCode wants_info(PetscViewer viewer, PetscBool *wanted)
{
    PetscViewerFormat format;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, wanted));
    if (!*wanted) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscViewerGetFormat(viewer, &format));
    *wanted = (PetscBool)(format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the plan of one direction. prefix: text at the beginning of the line, such as "[1] diagonal block, ". */
static PetscErrorCode print_direction(const SpryPlans *plans, SpryDirection direction, const char prefix[],
                                      PetscViewer viewer)
{
    const SpryPlan *const slot = &plans->directions[direction];
    const char *const products = direction == SPRY_TRANSPOSED ? "transposed products" : "products";
    char transfer[64] = "", updates[64] = "", filled[128] = "";
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    PetscFunctionBegin;
    if (!slot->plan) {
        if (slot->calls || slot->refusal[0])
            PetscCall(PetscViewerASCIISynchronizedPrintf(viewer,
                                                         "%sSpry: %" PetscInt64_FMT
                                                         " %s so far, by PETSc's own code%s%s\n",
                                                         prefix, slot->calls, products, slot->refusal[0] ? ": " : "",
                                                         slot->refusal));
        else if (direction == SPRY_PLAIN)
            PetscCall(PetscViewerASCIISynchronizedPrintf(viewer, "%sSpry: no products so far\n", prefix));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    info.struct_size = offsetof(spry_spmv_plan_info, baseline); /* no predictions: they would inspect the matrix */
    SpryCall(spry_spmv_plan_get_info(slot->plan, &info, err));
    if (info.upload_us > 0)
        PetscCall(PetscSNPrintf(transfer, sizeof transfer, " (%.0f of them transfer)", info.upload_us));
    if (slot->updates)
        PetscCall(PetscSNPrintf(updates, sizeof updates, ", new values %" PetscInt64_FMT " times", slot->updates));
    if (plans->filled_rows)
        PetscCall(PetscSNPrintf(filled, sizeof filled,
                                ", over the %" PetscInt_FMT " of %" PetscInt_FMT " rows that have entries",
                                plans->filled, plans->rows));
    PetscCall(PetscViewerASCIISynchronizedPrintf(viewer,
                                                 "%sSpry: %" PetscInt64_FMT
                                                 " %s, format %s, kernel %s on %s: %s; reads %" PetscInt64_FMT
                                                 " bytes, owns %" PetscInt64_FMT ", set-up %.0f us%s%s%s\n",
                                                 prefix, slot->calls, products, info.format, info.kernel,
                                                 info.device_name, info.reason, (PetscInt64)info.storage_bytes,
                                                 (PetscInt64)info.owned_bytes, info.setup_us, transfer, updates,
                                                 filled));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode print_plans(Mat A, const char prefix[], PetscViewer viewer)
{
    SpryPlans *plans;
    PetscFunctionBegin;
    PetscCall(SpryPlansGet(A, &plans));
    PetscCall(print_direction(plans, SPRY_PLAIN, prefix, viewer));
    PetscCall(print_direction(plans, SPRY_TRANSPOSED, prefix, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatView_SeqAIJSpry(Mat A, PetscViewer viewer)
{
    PetscBool wanted;
    PetscMPIInt ranks;
    PetscFunctionBegin;
    PetscCall(spry_seqaij.view(A, viewer));
    PetscCall(wants_info(viewer, &wanted));
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)viewer), &ranks));
    if (!wanted || ranks > 1) PetscFunctionReturn(PETSC_SUCCESS); /* with more ranks, MatView_MPIAIJSpry prints */
    PetscCall(PetscViewerASCIIPushSynchronized(viewer));
    PetscCall(print_plans(A, "  ", viewer));
    PetscCall(PetscViewerFlush(viewer));
    PetscCall(PetscViewerASCIIPopSynchronized(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatView_MPIAIJSpry(Mat A, PetscViewer viewer)
{
    static const char *const names[] = {"diagonal block", "rest"};
    Mat blocks[2] = {NULL, NULL};
    PetscBool wanted, ours;
    PetscMPIInt rank;
    char prefix[64];
    PetscFunctionBegin;
    PetscCall(spry_mpiaij.view(A, viewer));
    PetscCall(wants_info(viewer, &wanted));
    if (!wanted) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    PetscCall(PetscViewerASCIIPushSynchronized(viewer));
    for (int k = 0; k < 2; k++) {
        if (!blocks[k]) continue;
        PetscCall(PetscObjectTypeCompare((PetscObject)blocks[k], MATSEQAIJSPRY, &ours));
        PetscCall(PetscSNPrintf(prefix, sizeof prefix, "  [%d] %s, ", (int)rank, names[k]));
        if (ours) PetscCall(print_plans(blocks[k], prefix, viewer));
    }
    PetscCall(PetscViewerFlush(viewer));
    PetscCall(PetscViewerASCIIPopSynchronized(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
}
