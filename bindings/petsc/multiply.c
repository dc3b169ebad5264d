/*
 * Products with vectors: y = A*x, z = y + A*x, and the same two with A's transpose. A plan runs on PETSc's own arrays,
 * in host or GPU memory. Without a plan, PETSc's seqaij code runs.
 */
#include "spry_petsc.h"

#if PETSC_VERSION_GE(3, 19, 0) && defined(PETSC_HAVE_CUDA)
#include <petscdevice.h>
#define HAVE_STREAMS 1
#else
#define HAVE_STREAMS 0
#endif

/* The arrays of x and y for one product. */
typedef struct Operands {
    const PetscScalar *x;
    PetscScalar *y;
    PetscInt x_length, y_length;
    PetscBool add;        /* y is also read */
    PetscBool any_memory; /* the arrays may be in GPU memory; false: in host memory */
    int device;           /* device of the arrays: SPRY_CPU or the GPU of the settings */
} Operands;

static PetscErrorCode operands_take(Operands *o, Vec x, Vec y, PetscBool add)
{
    PetscMemType x_memory = PETSC_MEMTYPE_HOST, y_memory = PETSC_MEMTYPE_HOST;
    PetscFunctionBegin;
    o->add = add;
    o->any_memory = (PetscBool)(spry_settings.device_number != SPRY_CPU);
    o->device = SPRY_CPU;
    PetscCall(VecGetLocalSize(x, &o->x_length));
    PetscCall(VecGetLocalSize(y, &o->y_length));
    if (!o->any_memory) {
        PetscCall(VecGetArrayRead(x, &o->x));
        PetscCall(add ? VecGetArray(y, &o->y) : VecGetArrayWrite(y, &o->y));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecGetArrayReadAndMemType(x, &o->x, &x_memory));
    PetscCall(add ? VecGetArrayAndMemType(y, &o->y, &y_memory) : VecGetArrayWriteAndMemType(y, &o->y, &y_memory));
    if (PetscMemTypeDevice(x_memory) && PetscMemTypeDevice(y_memory)) {
        o->device = spry_settings.device_number;
    } else if (PetscMemTypeDevice(x_memory)) {
        PetscCall(VecRestoreArrayReadAndMemType(x, &o->x));
        PetscCall(VecGetArrayRead(x, &o->x));
    }
    PetscCheck(PetscMemTypeHost(y_memory) || PetscMemTypeDevice(x_memory), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the result is in GPU memory and the operand is in host memory, expected vectors of the same type");
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode operands_give_back(Operands *o, Vec x, Vec y)
{
    PetscFunctionBegin;
    if (!o->any_memory) {
        PetscCall(VecRestoreArrayRead(x, &o->x));
        PetscCall(o->add ? VecRestoreArray(y, &o->y) : VecRestoreArrayWrite(y, &o->y));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(o->device == SPRY_CPU ? VecRestoreArrayRead(x, &o->x) : VecRestoreArrayReadAndMemType(x, &o->x));
    PetscCall(o->add ? VecRestoreArrayAndMemType(y, &o->y) : VecRestoreArrayWriteAndMemType(y, &o->y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static spry_const_vector input_vector(const PetscScalar *data, PetscInt length, int device)
{
    return (spry_const_vector){data, length, 1, 1, length, SPRY_PETSC_VALUE, device, {0, 0}};
}

static spry_vector output_vector(PetscScalar *data, PetscInt length, int device)
{
    return (spry_vector){data, length, 1, 1, length, SPRY_PETSC_VALUE, device, {0, 0}};
}

static PetscErrorCode run(const spry_spmv_plan *plan, spry_vector y, spry_const_vector x, PetscBool add, int device)
{
    spry_spmv_run_options options = SPRY_INIT(spry_spmv_run_options);
    const PetscScalar beta = add ? 1 : 0;
    PetscFunctionBegin;
#if HAVE_STREAMS
    if (device != SPRY_CPU) { /* run in the stream that PETSc uses for its vectors */
        void *stream = NULL;
        PetscCall(PetscDeviceContextGetStreamHandle(NULL, &stream));
        if (stream) options.stream = *(void **)stream;
    }
#else
    (void)device;
#endif
    SpryCall(spry_spmv_plan_run(plan, y, NULL, x, &beta, &options, err));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Runs a plan of the filled rows, the rows with entries. The plain product computes their elements of y in a separate
 * vector and adds them to y. The transposed product first copies their elements of x to that vector.
 */
static PetscErrorCode run_filled_rows(SpryPlans *plans, const spry_spmv_plan *plan, SpryDirection direction,
                                      const Operands *o)
{
    const PetscInt filled = plans->filled, *const rows = plans->filled_rows;
    PetscScalar *const values = plans->filled_values;
    PetscFunctionBegin;
    if (direction == SPRY_TRANSPOSED) {
        for (PetscInt k = 0; k < filled; k++) values[k] = o->x[rows[k]];
        PetscCall(run(plan, output_vector(o->y, o->y_length, SPRY_CPU), input_vector(values, filled, SPRY_CPU), o->add,
                      SPRY_CPU));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(run(plan, output_vector(values, filled, SPRY_CPU), input_vector(o->x, o->x_length, SPRY_CPU), PETSC_FALSE,
                  SPRY_CPU));
    if (!o->add) PetscCall(PetscArrayzero(o->y, o->y_length));
    for (PetscInt k = 0; k < filled; k++) o->y[rows[k]] += values[k];
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes z = op(A)*x, or z = y + op(A)*x. Sets *done to false if PETSc's own code must compute it. */
static PetscErrorCode multiply(Mat A, SpryDirection direction, Vec x, Vec y, Vec z, PetscBool *done)
{
    const PetscBool add = (PetscBool)(y != NULL);
    SpryPlans *plans;
    spry_spmv_plan *plan;
    Operands o;
    PetscFunctionBegin;
    if (spry_settings.device_number == SPRY_CPU) { /* the plan first: if there is none, no array is accessed */
        PetscCall(SpryPlansForProduct(A, direction, SPRY_CPU, &plans, &plan));
        *done = (PetscBool)(plan != NULL);
        if (!plan) PetscFunctionReturn(PETSC_SUCCESS);
        if (add && y != z) PetscCall(VecCopy(y, z));
        PetscCall(operands_take(&o, x, z, add));
    } else {
        if (add && y != z) PetscCall(VecCopy(y, z));
        PetscCall(operands_take(&o, x, z, add));
        PetscCall(SpryPlansForProduct(A, direction, o.device, &plans, &plan));
        *done = (PetscBool)(plan != NULL);
    }
    if (plan && plans->filled_rows)
        PetscCall(run_filled_rows(plans, plan, direction, &o));
    else if (plan)
        PetscCall(run(plan, output_vector(o.y, o.y_length, o.device), input_vector(o.x, o.x_length, o.device), add,
                      o.device));
    PetscCall(operands_give_back(&o, x, z));
    if (plan) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)plans->entries));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_SeqAIJSpry(Mat A, Vec x, Vec y)
{
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(multiply(A, SPRY_PLAIN, x, NULL, y, &done));
    if (!done) PetscCall(spry_seqaij.mult(A, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_SeqAIJSpry(Mat A, Vec x, Vec y)
{
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(multiply(A, SPRY_TRANSPOSED, x, NULL, y, &done));
    if (!done) PetscCall(spry_seqaij.mult_transpose(A, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_SeqAIJSpry(Mat A, Vec x, Vec y, Vec z)
{
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(multiply(A, SPRY_PLAIN, x, y, z, &done));
    if (!done) PetscCall(spry_seqaij.mult_add(A, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_SeqAIJSpry(Mat A, Vec x, Vec y, Vec z)
{
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(multiply(A, SPRY_TRANSPOSED, x, y, z, &done));
    if (!done) PetscCall(spry_seqaij.mult_transpose_add(A, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}
