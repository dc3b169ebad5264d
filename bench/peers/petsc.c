/*
 * petsc_cg: PETSc's KSPCG without preconditioner on the caller's CSR arrays (MatCreateSeqAIJWithArrays). It stops at
 * ||r|| <= tolerance * ||b||. PETSc is parallel only by MPI, so this is one process on one core. A PETSc with real f64
 * and 32-bit indices, such as Debian's, supports only matrices of these types.
 */
#include "bench/peer.h"
#include "common/wall_clock.h"

#include <petscksp.h>
#include <stdlib.h>

typedef struct petsc_state {
    Mat A;
    KSP ksp;
    Vec x, b;
} petsc_state;

static int answer(PetscErrorCode code, const char *call, spry_peer_error *error)
{
    const char *text = NULL;
    if (code == 0) return SPRY_PEER_OK;
    (void)PetscErrorMessage((int)code, &text, NULL);
    return spry_peer_fail(error, SPRY_PEER_FAILED, "%s: %s", call, text ? text : "an error of PETSc");
}

#define TRY(call, name) SPRY_PEER_TRY(answer(call, name, error))

static void finish(void)
{
    (void)PetscFinalize();
}

/* Initializes PETSc once per process. Without mpirun, MPI has only this process and needs no daemon. */
static int start(spry_peer_error *error)
{
    PetscBool is_present = PETSC_FALSE;
    (void)PetscInitialized(&is_present);
    if (is_present) return SPRY_PEER_OK;
    (void)setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    TRY(PetscInitializeNoArguments(), "PetscInitialize");
    (void)PetscPopSignalHandler();
    TRY(PetscPushErrorHandler(PetscReturnErrorHandler, NULL), "PetscPushErrorHandler");
    (void)atexit(finish);
    return SPRY_PEER_OK;
}

static int make_solver(petsc_state *s, const spry_peer_solver_request *request, spry_peer_error *error)
{
    PC preconditioner;
    TRY(KSPCreate(PETSC_COMM_SELF, &s->ksp), "KSPCreate");
    TRY(KSPSetType(s->ksp, KSPCG), "KSPSetType");
    TRY(KSPGetPC(s->ksp, &preconditioner), "KSPGetPC");
    TRY(PCSetType(preconditioner, PCNONE), "PCSetType");
    TRY(KSPSetNormType(s->ksp, KSP_NORM_UNPRECONDITIONED), "KSPSetNormType");
    TRY(KSPSetTolerances(s->ksp, request->tolerance, 0, 1e300, (PetscInt)request->max_iterations), "KSPSetTolerances");
    TRY(KSPSetOperators(s->ksp, s->A, s->A), "KSPSetOperators");
    return answer(KSPSetUp(s->ksp), "KSPSetUp", error);
}

static int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    const int index_bytes = (int)sizeof(PetscInt);
    const PetscInt n = (PetscInt)a->rows;
    if (a->value_bytes != (int)sizeof(PetscScalar))
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "this PETSc has numbers of %d bytes alone",
                              (int)sizeof(PetscScalar));
    if (a->offset_bytes != index_bytes || a->index_bytes != index_bytes)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "this PETSc has indices of %d bits alone", 8 * index_bytes);
    petsc_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    const double begin = now_us();
    SPRY_PEER_TRY(start(error));
    cost->startup_us = now_us() - begin;
    cost->threads = 1;
    cost->bytes = a->nnz * (a->value_bytes + a->index_bytes) + (a->rows + 1) * a->offset_bytes;
    /* PETSc's prototypes have no const, but PETSc does not write the caller's arrays. */
    TRY(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, (PetscInt *)(uintptr_t)a->offsets,
                                  (PetscInt *)(uintptr_t)a->columns, (PetscScalar *)(uintptr_t)a->values, &s->A),
        "MatCreateSeqAIJWithArrays");
    TRY(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s->x), "VecCreateSeqWithArray");
    TRY(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s->b), "VecCreateSeqWithArray");
    return make_solver(s, request, error);
}

/* Runs the solver. Its vectors use the caller's arrays. */
static int run(petsc_state *s, spry_peer_solution *solution, spry_peer_error *error)
{
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    PetscInt iterations = 0;
    PetscReal norm = 0, norm_b = 1;
    TRY(KSPSolve(s->ksp, s->b, s->x), "KSPSolve");
    TRY(KSPGetConvergedReason(s->ksp, &reason), "KSPGetConvergedReason");
    TRY(KSPGetIterationNumber(s->ksp, &iterations), "KSPGetIterationNumber");
    TRY(KSPGetResidualNorm(s->ksp, &norm), "KSPGetResidualNorm");
    TRY(VecNorm(s->b, NORM_2, &norm_b), "VecNorm");
    solution->iterations = iterations;
    solution->residual = norm / norm_b;
    if (reason == KSP_DIVERGED_INDEFINITE_MAT || reason == KSP_DIVERGED_INDEFINITE_PC)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "PETSc finds that the matrix is not positive definite");
    if (reason < 0 && reason != KSP_DIVERGED_ITS)
        return spry_peer_fail(error, SPRY_PEER_FAILED, "KSPSolve ended by %s", KSPConvergedReasons[reason]);
    return SPRY_PEER_OK;
}

static int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    petsc_state *s = state;
    TRY(VecPlaceArray(s->x, x), "VecPlaceArray");
    int result = answer(VecPlaceArray(s->b, b), "VecPlaceArray", error);
    if (result == SPRY_PEER_OK) result = run(s, solution, error);
    (void)VecResetArray(s->x);
    (void)VecResetArray(s->b);
    return result;
}

static void destroy(void *state)
{
    petsc_state *s = state;
    (void)KSPDestroy(&s->ksp);
    (void)VecDestroy(&s->x);
    (void)VecDestroy(&s->b);
    (void)MatDestroy(&s->A);
    free(s);
}

static const spry_peer_solver solvers[] = {{"petsc_cg", "cpu", "PETSc's KSPCG with PCNONE, one process without threads",
                                            SPRY_PEER_CG, 1, prepare, solve, destroy, 0}};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static char version[32];
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "petsc",
                                            .version = version,
                                            .solver_count = sizeof solvers / sizeof *solvers,
                                            .solvers = solvers};
    PetscInt major = 0, minor = 0, subminor = 0, release = 0;
    (void)error;
    (void)PetscGetVersionNumber(&major, &minor, &subminor, &release);
    snprintf(version, sizeof version, "%d.%d.%d", (int)major, (int)minor, (int)subminor);
    return &module;
}
