/*
 * Compares this plug-in with aij. Both types are measured alternately in each round. A time is the processor time of
 * the slowest rank. The output has the median and quartiles of the rounds, and aij's median divided by the plug-in's.
 * With -against, for example aijcusparse, vectors have the type of that matrix and times are wall-clock times, because
 * a GPU works while the processor waits.
 *
 *   PETSC_OPTIONS="-dll_prepend .../libspry-petsc.so" [mpirun -n 2] spry-petsc-measure -matrix gen:grid5,x=1000,y=1000
 *
 * Values in parentheses are defaults.
 *
 *   -matrix SOURCE   file or generator (gen:...), as for the program spry: square, and SPD for the solvers
 *   -block D         block size of the matrix (1)
 *   -against TYPE    type to compare with (aij)
 *   -turns K         number of rounds (9)
 *   -cases LIST      some of mult,transpose,square,ptap,jacobi,gamg (all)
 */
#include <petscksp.h>
#include <spry/io.h>
#include <spry/spry.h>
#include <time.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

enum { TYPES = 2, MOST_ROUNDS = 99, WARM_UP = 300 };
static char type_names[TYPES][64] = {MATAIJ, "aijspry"};
static PetscBool wall_clock = PETSC_FALSE;

typedef struct Times {
    PetscReal of[TYPES][MOST_ROUNDS];
    PetscInt rounds;
} Times;

#define SpryCall(call)                                                                                                 \
    do {                                                                                                               \
        spry_error spry_error_, *const err = &spry_error_;                                                             \
        if ((call) != SPRY_OK) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", err->message);                            \
    } while (0)

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(wall_clock ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the time since `begun` on the slowest rank. */
static PetscErrorCode since(double begun, PetscReal *seconds)
{
    PetscReal mine = (PetscReal)(now() - begun);
    PetscFunctionBegin;
    PetscCallMPI(MPI_Allreduce(&mine, seconds, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode print_times(const char what[], Times *t, const char more[])
{
    PetscReal q[TYPES][3];
    int places;
    PetscFunctionBegin;
    for (int k = 0; k < TYPES; k++) {
        PetscCall(PetscSortReal(t->rounds, t->of[k]));
        for (int i = 0; i < 3; i++) q[k][i] = (PetscReal)1e6 * t->of[k][t->rounds * (i + 1) / 4];
    }
    places = q[0][1] < 10 ? 3 : 1;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%-16s %s %10.*f us (%.*f to %.*f)  ours %10.*f us (%.*f to %.*f)  %.2f%s\n", what,
                          type_names[0], places, (double)q[0][1], places, (double)q[0][0], places, (double)q[0][2],
                          places, (double)q[1][1], places, (double)q[1][0], places, (double)q[1][2],
                          (double)(q[0][1] / q[1][1]), more));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrices ---- */

/* Reads or generates the matrix. Each rank reads the whole source and inserts its own rows. */
static PetscErrorCode load(const char source[], PetscInt block, MatType type, Mat *A)
{
    spry_context *context;
    spry_matrix *matrix;
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    PetscInt rows = PETSC_DECIDE, begin, *lengths, *columns = NULL, most = 0;
    PetscScalar *ones = NULL;
    PetscFunctionBegin;
    SpryCall(spry_context_create(&context, NULL, err));
    if (strncmp(source, "gen:", 4) == 0)
        SpryCall(spry_matrix_generate(context, &matrix, source, NULL, err));
    else
        SpryCall(spry_matrix_read(context, &matrix, source, NULL, err));
    SpryCall(spry_matrix_get_arrays(matrix, &arrays, err));
    PetscCheck(arrays.layout == SPRY_CSR && arrays.offset_type == SPRY_I32 && arrays.triangle == SPRY_ALL_ENTRIES,
               PETSC_COMM_SELF, PETSC_ERR_SUP, "%s: expected CSR with 32-bit offsets and all entries", source);
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)arrays.rows, (PetscInt)arrays.columns));
    PetscCall(MatSetBlockSize(*A, block));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetUp(*A));
    PetscCall(MatGetOwnershipRange(*A, &begin, &rows));
    rows -= begin;
    {
        const int32_t *const offsets = (const int32_t *)arrays.offsets + begin, *const indices = arrays.indices;
        PetscCall(PetscMalloc1(rows + 1, &lengths));
        for (PetscInt i = 0; i <= rows; i++) lengths[i] = offsets[i] - offsets[0];
        for (PetscInt i = 0; i < rows; i++) most = PetscMax(most, lengths[i + 1] - lengths[i]);
        PetscCall(PetscMalloc2(lengths[rows], &columns, lengths[rows], &ones));
        for (PetscInt k = 0; k < lengths[rows]; k++) {
            columns[k] = indices[offsets[0] + k];
            ones[k] = arrays.value_type == SPRY_F64   ? (PetscScalar)((const double *)arrays.values)[offsets[0] + k]
                      : arrays.value_type == SPRY_F32 ? (PetscScalar)((const float *)arrays.values)[offsets[0] + k]
                                                      : 1;
        }
    }
    PetscCall(MatSeqAIJSetPreallocationCSR(*A, lengths, columns, ones));
    PetscCall(MatMPIAIJSetPreallocationCSR(*A, lengths, columns, ones));
    PetscCall(PetscFree2(columns, ones));
    PetscCall(PetscFree(lengths));
    spry_matrix_destroy(matrix);
    spry_context_destroy(context);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Builds a prolongation like smoothed aggregation: aggregates of eight consecutive points, one step of damped Jacobi.
 */
static PetscErrorCode prolongation(Mat A, Mat *P)
{
    Mat aggregates, scaled;
    Vec diagonal;
    PetscInt begin, end, block, count;
    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    PetscCall(MatGetBlockSize(A, &block));
    count = ((end - begin) / block + 7) / 8 * block;
    PetscCall(MatCreate(PETSC_COMM_WORLD, &aggregates));
    PetscCall(MatSetSizes(aggregates, end - begin, count, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetType(aggregates, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(aggregates, 1, NULL));
    PetscCall(MatMPIAIJSetPreallocation(aggregates, 1, NULL, 0, NULL));
    PetscCall(MatGetOwnershipRangeColumn(aggregates, &count, NULL));
    for (PetscInt i = begin; i < end; i++) {
        const PetscInt local = i - begin;
        PetscCall(MatSetValue(aggregates, i, count + local / block / 8 * block + local % block, 1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(aggregates, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(aggregates, MAT_FINAL_ASSEMBLY));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &scaled));
    PetscCall(MatCreateVecs(A, &diagonal, NULL));
    PetscCall(MatGetDiagonal(A, diagonal));
    PetscCall(VecReciprocal(diagonal));
    PetscCall(VecScale(diagonal, (PetscScalar)-0.66));
    PetscCall(MatDiagonalScale(scaled, diagonal, NULL));
    PetscCall(MatShift(scaled, 1));
    PetscCall(MatMatMult(scaled, aggregates, MAT_INITIAL_MATRIX, PETSC_DEFAULT, P));
    PetscCall(VecDestroy(&diagonal));
    PetscCall(MatDestroy(&scaled));
    PetscCall(MatDestroy(&aggregates));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cases ---- */

/* Waits for the GPU by computing a norm, which the host needs. */
static PetscErrorCode finish(Vec y)
{
    PetscReal norm;
    PetscFunctionBegin;
    if (wall_clock) PetscCall(VecNorm(y, NORM_2, &norm));
    PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct Subject {
    Mat A[TYPES], P[TYPES];
    Vec x, y;
    PetscInt rounds;
} Subject;

static PetscErrorCode measure_mult(Subject *s, const char what[], PetscErrorCode (*multiply)(Mat, Vec, Vec))
{
    Times t = {.rounds = s->rounds};
    PetscInt rows, runs;
    PetscFunctionBegin;
    PetscCall(MatGetSize(s->A[0], &rows, NULL));
    runs = rows <= 10000 ? 10000 : wall_clock ? 200 : 5;
    for (int k = 0; k < TYPES; k++)
        for (int i = 0; i < WARM_UP; i++) PetscCall(multiply(s->A[k], s->x, s->y));
    for (PetscInt round = 0; round < t.rounds; round++)
        for (int k = 0; k < TYPES; k++) {
            double begun;
            PetscCall(finish(s->y));
            begun = now();
            for (PetscInt i = 0; i < runs; i++) PetscCall(multiply(s->A[k], s->x, s->y));
            PetscCall(finish(s->y));
            PetscCall(since(begun, &t.of[k][round]));
            t.of[k][round] /= (PetscReal)runs;
        }
    PetscCall(print_times(what, &t, ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Measures the first product, A*A or P^T*A*P, and a second product after a change of A's values, not its structure. */
static PetscErrorCode measure_product(Subject *s, PetscBool ptap)
{
    Times first = {.rounds = s->rounds}, again = {.rounds = s->rounds};
    PetscFunctionBegin;
    for (PetscInt round = 0; round < s->rounds; round++)
        for (int k = 0; k < TYPES; k++) {
            Mat C;
            double begun = now();
            if (ptap)
                PetscCall(MatPtAP(s->A[k], s->P[k], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
            else
                PetscCall(MatMatMult(s->A[k], s->A[k], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
            PetscCall(since(begun, &first.of[k][round]));
            PetscCall(MatScale(s->A[k], -1));
            begun = now();
            if (ptap)
                PetscCall(MatPtAP(s->A[k], s->P[k], MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
            else
                PetscCall(MatMatMult(s->A[k], s->A[k], MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
            PetscCall(since(begun, &again.of[k][round]));
            PetscCall(MatDestroy(&C));
        }
    PetscCall(print_times(ptap ? "ptap, first" : "square, first", &first, ""));
    PetscCall(print_times(ptap ? "ptap, again" : "square, again", &again, ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Measures set-up of the preconditioner and the solve, on a new copy of the matrix. */
static PetscErrorCode measure_solve(Subject *s, PCType preconditioner)
{
    Times t = {.rounds = s->rounds};
    PetscInt iterations[TYPES] = {0, 0};
    char more[64];
    PetscFunctionBegin;
    for (PetscInt round = 0; round < s->rounds; round++)
        for (int k = 0; k < TYPES; k++) {
            Mat A;
            KSP ksp;
            PC pc;
            double begun;
            PetscCall(MatDuplicate(s->A[k], MAT_COPY_VALUES, &A));
            begun = now();
            PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
            PetscCall(KSPSetType(ksp, KSPCG));
            PetscCall(KSPGetPC(ksp, &pc));
            PetscCall(PCSetType(pc, preconditioner));
            PetscCall(KSPSetOperators(ksp, A, A));
            PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 500));
            PetscCall(KSPSetFromOptions(ksp));
            PetscCall(KSPSolve(ksp, s->x, s->y));
            PetscCall(since(begun, &t.of[k][round]));
            PetscCall(KSPGetIterationNumber(ksp, &iterations[k]));
            PetscCall(KSPDestroy(&ksp));
            PetscCall(MatDestroy(&A));
        }
    PetscCall(PetscSNPrintf(more, sizeof more, "  iterations %" PetscInt_FMT " and %" PetscInt_FMT, iterations[0],
                            iterations[1]));
    PetscCall(print_times(preconditioner, &t, more));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode has(const char list[], const char what[], PetscBool *yes)
{
    char *found;
    PetscFunctionBegin;
    PetscCall(PetscStrstr(list, what, &found));
    *yes = (PetscBool)(found != NULL);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode measure(Subject *s, const char cases[])
{
    PetscBool yes;
    PetscFunctionBegin;
    PetscCall(has(cases, "mult", &yes));
    if (yes) PetscCall(measure_mult(s, "mult", MatMult));
    PetscCall(has(cases, "transpose", &yes));
    if (yes) PetscCall(measure_mult(s, "transpose", MatMultTranspose));
    PetscCall(has(cases, "square", &yes));
    if (yes) PetscCall(measure_product(s, PETSC_FALSE));
    PetscCall(has(cases, "ptap", &yes));
    if (yes) {
        PetscCall(prolongation(s->A[0], &s->P[0]));
        PetscCall(MatConvert(s->P[0], type_names[1], MAT_INITIAL_MATRIX, &s->P[1]));
        PetscCall(measure_product(s, PETSC_TRUE));
        for (int k = 0; k < TYPES; k++) PetscCall(MatDestroy(&s->P[k]));
    }
    PetscCall(has(cases, "jacobi", &yes));
    if (yes) PetscCall(measure_solve(s, PCJACOBI));
    PetscCall(has(cases, "gamg", &yes));
    if (yes) PetscCall(measure_solve(s, PCGAMG));
    PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
    Subject s = {.rounds = 9};
    PetscInt block = 1;
    char source[PETSC_MAX_PATH_LEN] = "gen:grid5,x=1000,y=1000", cases[256] = "mult,transpose,square,ptap,jacobi,gamg";
    PetscCall(PetscInitialize(&argc, &argv, NULL, "Measures Spry's matrix types against aij.\n"));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", source, sizeof source, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-cases", cases, sizeof cases, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-against", type_names[0], sizeof type_names[0], &wall_clock));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-block", &block, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-turns", &s.rounds, NULL));
    PetscCheck(s.rounds >= 1 && s.rounds <= MOST_ROUNDS, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
               "-turns: expected 1 to 99");
    for (int k = 0; k < TYPES; k++) PetscCall(load(source, block, type_names[k], &s.A[k]));
    PetscCall(MatCreateVecs(s.A[0], &s.x, &s.y));
    if (wall_clock) {
        VecType vectors;
        PetscCall(VecGetType(s.x, &vectors));
        PetscCall(MatSetVecType(s.A[1], vectors));
    }
    PetscCall(VecSetRandom(s.x, NULL));
    PetscCall(measure(&s, cases));
    for (int k = 0; k < TYPES; k++) PetscCall(MatDestroy(&s.A[k]));
    PetscCall(VecDestroy(&s.x));
    PetscCall(VecDestroy(&s.y));
    PetscCall(PetscFinalize());
    return 0;
}
