/*
 * Registration. After loading libspry-petsc.so, PETSc calls PetscDLLibraryRegister_spry_petsc, whose name it derives
 * from the file's name. PETSc silently ignores the file under another name.
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
 * Checks that the program's PETSc matches the headers that the plug-in was compiled with. Functions have the same names
 * in all builds of PETSc. So either the plug-in calls the functions of the program's PETSc, or it loads a second PETSc,
 * which is not initialized.
 */
static PetscErrorCode check_build(void)
{
    size_t integer, real;
    PetscInt version[4];
    PetscFunctionBegin;
    if (PETSC_COMM_WORLD == MPI_COMM_NULL) { /* PETSc is not initialized and would print no error */
        fprintf(stderr,
                "the plug-in of Spry is for PETSc %d.%d with integers of %d bits and scalars of %d bits; the program "
                "uses another PETSc\n",
                PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)(8 * sizeof(PetscInt)), (int)(8 * sizeof(PetscReal)));
        PetscFunctionReturn(PETSC_ERR_ARG_INCOMP);
    }
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &integer));
    PetscCall(PetscDataTypeGetSize(PETSC_REAL, &real));
    PetscCheck(integer == sizeof(PetscInt) && real == sizeof(PetscReal), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "the plug-in of Spry is for a PETSc with integers of %d bits and scalars of %d bits; the program's has "
               "%d and %d bits",
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
    PetscCall(PetscOptionsString("-mat_spry_format", "Format of plans: a name of spry kernels, or auto", "aijspry",
                                 s->format, s->format, sizeof s->format, NULL));
    PetscCall(PetscOptionsString("-mat_spry_device", "Device of products: cpu, cuda, cuda:1, ...", "aijspry", s->device,
                                 s->device, sizeof s->device, NULL));
    PetscCall(PetscOptionsInt("-mat_spry_threads", "Threads of a rank", "aijspry", s->threads, &s->threads, NULL));
    PetscCall(PetscOptionsInt("-mat_spry_calls", "Expected products per matrix; 0: estimated from those so far",
                              "aijspry", s->calls, &s->calls, NULL));
    PetscCall(PetscOptionsBool("-mat_spry_products", "Use Spry for sparse products", "aijspry", s->products,
                               &s->products, NULL));
    PetscOptionsEnd();
    PetscCheck(s->threads >= 1 && s->threads <= 4096, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-mat_spry_threads is %" PetscInt_FMT ", expected 1 to 4096", s->threads);
    PetscCheck(s->calls >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-mat_spry_calls is %" PetscInt_FMT ", expected 0 or more products", s->calls);
    PetscCall(PetscStrcmp(s->format, "auto", &s->format_named));
    s->format_named = (PetscBool)!s->format_named;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the device. For "cuda" or "gpu" without an index, ranks are distributed over the GPUs like PETSc's vectors. */
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

/* Builds a plan of a matrix with one entry, to report a wrong format at start instead of in the first product. */
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
    spry_settings.context = NULL; /* the next PetscInitialize then registers again, with its options */
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
