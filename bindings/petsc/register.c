/*
 * What PETSc calls when it has loaded the plug-in. PETSc finds the function by the file's name: libspry-petsc.so has
 * PetscDLLibraryRegister_spry_petsc, and a file of another name would be ignored without a word.
 */
#include "spry_petsc.h"
#include <stdio.h>

static const SprySettings defaults = {.format = "auto", .device = "cpu", .threads = 1, .products = PETSC_TRUE};
SprySettings spry_settings;

PetscErrorCode SpryErrorCode(spry_status status)
{
    switch (status) {
    case SPRY_OUT_OF_MEMORY: return PETSC_ERR_MEM;
    case SPRY_INVALID_SIZE: return PETSC_ERR_ARG_SIZ;
    case SPRY_INVALID_ARGUMENT:
    case SPRY_INVALID_MATRIX: return PETSC_ERR_ARG_WRONG;
    case SPRY_UNKNOWN_NAME: return PETSC_ERR_ARG_UNKNOWN_TYPE;
    case SPRY_TOO_LARGE:
    case SPRY_UNSUPPORTED: return PETSC_ERR_SUP;
    case SPRY_DEVICE_UNAVAILABLE:
    case SPRY_DEVICE_FAILED: return PETSC_ERR_GPU;
    default: return PETSC_ERR_LIB;
    }
}

/*
 * This PETSc is the one whose headers the plug-in was compiled with. Another one's functions have the same names: where
 * the program's are found first they are called, else the plug-in's own PETSc is loaded beside it, which nobody began.
 */
static PetscErrorCode check_build(void)
{
    size_t integer, real;
    PetscInt version[4];
    PetscFunctionBegin;
    if (PETSC_COMM_WORLD == MPI_COMM_NULL) { /* errors of a PETSc that nobody began are not printed */
        fprintf(stderr,
                "the plug-in of Spry is for PETSc %d.%d with integers of %d bits and numbers of %d; the program's "
                "PETSc is another one\n",
                PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)(8 * sizeof(PetscInt)), (int)(8 * sizeof(PetscReal)));
        PetscFunctionReturn(PETSC_ERR_ARG_INCOMP);
    }
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &integer));
    PetscCall(PetscDataTypeGetSize(PETSC_REAL, &real));
    PetscCheck(integer == sizeof(PetscInt) && real == sizeof(PetscReal), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "the plug-in of Spry is for a PETSc with integers of %d bits and numbers of %d; the program's has %d "
               "and %d",
               (int)(8 * sizeof(PetscInt)), (int)(8 * sizeof(PetscReal)), (int)(8 * integer), (int)(8 * real));
    PetscCall(PetscGetVersionNumber(&version[0], &version[1], &version[2], &version[3]));
    PetscCheck(version[0] == PETSC_VERSION_MAJOR && version[1] == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_ARG_INCOMP, "the plug-in of Spry is for PETSc %d.%d; the program's is %d.%d",
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)version[0], (int)version[1]);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_options(SprySettings *s)
{
    PetscFunctionBegin;
    PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Options of Spry's matrix types", "Mat");
    PetscCall(PetscOptionsString("-mat_spry_format", "Format of plans, as spry kernels lists them, or auto", "aijspry",
                                 s->format, s->format, sizeof s->format, NULL));
    PetscCall(PetscOptionsString("-mat_spry_device", "Where products run: cpu, cuda, cuda:1, ...", "aijspry", s->device,
                                 s->device, sizeof s->device, NULL));
    PetscCall(PetscOptionsInt("-mat_spry_threads", "Threads of a rank", "aijspry", s->threads, &s->threads, NULL));
    PetscCall(PetscOptionsInt("-mat_spry_calls", "Products expected of a matrix; 0: judged by those it has done",
                              "aijspry", s->calls, &s->calls, NULL));
    PetscCall(
        PetscOptionsBool("-mat_spry_products", "Sparse products by Spry", "aijspry", s->products, &s->products, NULL));
    PetscOptionsEnd();
    PetscCheck(s->threads >= 1 && s->threads <= 4096, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-mat_spry_threads %" PetscInt_FMT ": 1 to 4096 were expected", s->threads);
    PetscCheck(s->calls >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-mat_spry_calls %" PetscInt_FMT ": a number of products was expected", s->calls);
    PetscCall(PetscStrcmp(s->format, "auto", &s->format_named));
    s->format_named = (PetscBool)!s->format_named;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* "cuda" (or "gpu") alone: with several GPUs ranks take them in turns, as PETSc's own vectors do. */
static PetscErrorCode find_device(SprySettings *s)
{
    PetscBool any, gpu;
    int number = SPRY_CPU;
    PetscFunctionBegin;
    PetscCall(PetscStrcmp(s->device, "cuda", &any));
    PetscCall(PetscStrcmp(s->device, "gpu", &gpu));
    if (gpu) PetscCall(PetscStrncpy(s->device, "cuda", sizeof s->device));
    SpryCall(spry_device_find(s->context, &number, s->device, err));
    if (any || gpu) number = 1 + (int)PetscGlobalRank % (spry_device_count(s->context) - 1);
    s->device_number = number;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A wrong format is told at once, and not in the middle of a product: a matrix of one entry is planned. */
static PetscErrorCode check_format(const SprySettings *s)
{
    static const PetscInt offsets[2] = {0, 1}, column = 0;
    static const PetscScalar value = 1;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_matrix *matrix;
    spry_spmv_plan *plan = NULL;
    spry_error error;
    spry_status status;
    PetscFunctionBegin;
    if (!s->format_named) PetscFunctionReturn(PETSC_SUCCESS);
    options.format = s->format;
    options.device = s->device_number;
    PetscCall(SpryArraysBorrow(SPRY_CSR, 1, 1, offsets, &column, &value, &matrix));
    status = spry_spmv_plan_create(s->context, &plan, matrix, &options, &error);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(matrix);
    if (status != SPRY_OK) SETERRQ(PETSC_COMM_SELF, SpryErrorCode(status), "-mat_spry_format: Spry: %s", error.message);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode finalize(void)
{
    PetscFunctionBegin;
    spry_context_destroy(spry_settings.context);
    spry_settings.context = NULL; /* PETSc may be begun again, with other options */
    PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_spry_petsc(void);
PetscErrorCode PetscDLLibraryRegister_spry_petsc(void)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    PetscClassId class_id;
    PetscFunctionBegin;
    if (spry_settings.context) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(check_build());
    spry_settings = defaults;
    PetscCall(read_options(&spry_settings));
    options.threads = (int)spry_settings.threads;
    SpryCall(spry_context_create(&spry_settings.context, &options, err));
    PetscCall(PetscRegisterFinalize(finalize));
    PetscCall(find_device(&spry_settings));
    PetscCall(check_format(&spry_settings));
    PetscCall(MatRegisterRootName(MATAIJSPRY, MATSEQAIJSPRY, MATMPIAIJSPRY));
    PetscCall(MatRegister(MATSEQAIJSPRY, MatCreate_SeqAIJSpry));
    PetscCall(MatRegister(MATMPIAIJSPRY, MatCreate_MPIAIJSpry));
    PetscCall(MatSeqAIJRegister(MATSEQAIJSPRY, MatConvert_SeqAIJ_SeqAIJSpry));
    PetscCall(PetscClassIdRegister("Spry", &class_id));
    PetscCall(PetscLogEventRegister("SpryPlan", class_id, &spry_settings.planning));
    PetscCall(PetscLogEventRegister("SpryUpdate", class_id, &spry_settings.updating));
    PetscCall(PetscLogEventRegister("SpryProductSym", class_id, &spry_settings.symbolic));
    PetscCall(PetscLogEventRegister("SpryProductNum", class_id, &spry_settings.numeric));
    PetscFunctionReturn(PETSC_SUCCESS);
}
