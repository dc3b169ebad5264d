/*
 * Shared declarations of the plug-in for PETSc. The plug-in adds three matrix types to an installed PETSc:
 *
 *   seqaijspry   seqaij with Spry's products
 *   mpiaijspry   mpiaij whose two blocks on each rank are seqaijspry
 *   aijspry      seqaijspry on one rank, mpiaijspry on more
 *
 * register.c      registration of types, options and events when PETSc loads the plug-in
 * types.c         conversion of aij matrices to these types and back
 * plans.c         creation, update and replacement of a matrix's plans
 * multiply.c      products with vectors
 * matmat.c        sparse products
 * diagonal.c      check whether a product has its whole diagonal
 * view.c          output of -mat_view
 *
 * The plug-in uses only PETSc's public headers, so one source serves all versions. Functions return PETSc's error
 * code. An error of the library becomes an error of PETSc with the library's message.
 */
#pragma once

#include <petscmat.h>
#include <petscviewer.h>
#include <spry/spry.h>

#if defined(PETSC_USE_COMPLEX)
#error "Spry needs a PETSc with real scalars, this PETSc has complex scalars"
#endif
#if !defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_REAL_SINGLE)
#error "Spry needs a PETSc with double or single precision, this PETSc has another precision"
#endif

/* ---- versions of PETSc ---- */
#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

/* Returns a counter that grows with each change of an object. PETSc exports it without a public declaration. */
PETSC_EXTERN PetscErrorCode PetscObjectStateGet(PetscObject, PetscObjectState *);

typedef void (*SpryOperation)(void);

/* ---- types ---- */
#define MATSEQAIJSPRY "seqaijspry"
#define MATMPIAIJSPRY "mpiaijspry"
#define MATAIJSPRY "aijspry"

#if defined(PETSC_USE_64BIT_INDICES)
#define SPRY_PETSC_INDEX SPRY_I64
#else
#define SPRY_PETSC_INDEX SPRY_I32
#endif
#if defined(PETSC_USE_REAL_SINGLE)
#define SPRY_PETSC_VALUE SPRY_F32
#else
#define SPRY_PETSC_VALUE SPRY_F64
#endif

/* Calls the library. `call` passes `err` as its last argument. A library error becomes an error of PETSc. */
#define SpryCall(call)                                                                                                 \
    do {                                                                                                               \
        spry_error spry_error_;                                                                                        \
        spry_error *const err = &spry_error_;                                                                          \
        if (PetscUnlikely((call) != SPRY_OK))                                                                          \
            SETERRQ(PETSC_COMM_SELF, SpryErrorCode(err->status), "Spry: %s", err->message);                            \
    } while (0)

PETSC_INTERN PetscErrorCode SpryErrorCode(spry_status status);

/* ---- settings of the process: register.c ---- */
typedef struct SprySettings {
    spry_context *context;
    char format[64];        /* -mat_spry_format */
    char device[64];        /* -mat_spry_device, as a name of the library */
    PetscBool format_named; /* format is not auto */
    int device_number;      /* the library's id of device; SPRY_CPU unless it is a GPU */
    PetscInt threads;       /* -mat_spry_threads */
    PetscInt calls;         /* -mat_spry_calls; 0: not given */
    PetscBool products;     /* -mat_spry_products */
    PetscLogEvent planning, updating, symbolic, numeric;
} SprySettings;

PETSC_INTERN SprySettings spry_settings;

/* ---- plans: plans.c ---- */
typedef enum { SPRY_PLAIN = 0, SPRY_TRANSPOSED = 1 } SpryDirection;

typedef struct SpryPlan {
    spry_spmv_plan *plan; /* NULL: PETSc computes the products */
    /* 64 bits, because a program may compute more products than PetscInt counts. */
    PetscInt64 calls, updates;               /* products and changes of values with the current structure */
    PetscInt64 calls_before, updates_before; /* calls and updates when the plan was built */
    PetscInt64 next_review;                  /* number of calls after which the choice is repeated */
    PetscInt64 next_update_review;           /* number of updates of the plan after which the choice is repeated */
    int vector_device;                       /* device of the vectors that the plan was built for */
    char refusal[256];                       /* why a plan that was due could not be built; "": no refusal */
} SpryPlan;

/* Data that the plug-in keeps with a seqaijspry matrix. */
typedef struct SpryPlans {
    Mat owner; /* the matrix that the plans belong to: PETSc may attach them to another matrix (MatHeaderMerge) */
    PetscObjectState state, nonzero_state;
    const PetscInt *offsets, *columns; /* the matrix's arrays, to detect that they were replaced */
    const PetscScalar *values;
    PetscInt rows, cols, entries;
    spry_matrix *matrix; /* borrows the three arrays; NULL: not created */
    /*
     * If more than half of the rows are empty, as in an off-diagonal block, the matrix has only the rows with entries.
     * filled is their number. filled_rows is NULL if the matrix has all rows.
     */
    PetscInt filled, *filled_rows, *filled_offsets;
    PetscScalar *filled_values; /* a vector with one element for each filled row */
    SpryPlan directions[2];
} SpryPlans;

/* Returns the plans of A, which belong to A. Creates empty plans if A has none. */
PETSC_INTERN PetscErrorCode SpryPlansGet(Mat A, SpryPlans **plans);

/*
 * Counts a product of A in the given direction. vector_device: the id of the vectors' GPU, or SPRY_CPU. *plan receives
 * the plan to run, with A's current values, or NULL if PETSc's own code must compute the product.
 */
PETSC_INTERN PetscErrorCode SpryPlansForProduct(Mat A, SpryDirection direction, int vector_device, SpryPlans **plans,
                                                spry_spmv_plan **plan);

/* Frees the plans of A. */
PETSC_INTERN PetscErrorCode SpryPlansDrop(Mat A);

/* Creates a library matrix that borrows CSR or CSC arrays. */
PETSC_INTERN PetscErrorCode SpryArraysBorrow(spry_layout layout, PetscInt rows, PetscInt cols, const PetscInt *offsets,
                                             const PetscInt *indices, const PetscScalar *values, spry_matrix **matrix);

/* Creates a library matrix that borrows A's arrays and is A or its transpose. */
PETSC_INTERN PetscErrorCode SpryMatrixBorrow(Mat A, PetscBool transposed, spry_matrix **matrix);

/* Composes `data` with `object` under `name`. release(data) runs before PETSc frees `data`. */
PETSC_INTERN PetscErrorCode SpryCompose(PetscObject object, const char name[], void *data, void (*release)(void *));
PETSC_INTERN PetscErrorCode SpryComposed(PetscObject object, const char name[], void *data);

/* ---- diagonals of products: diagonal.c ---- */

/*
 * Sets *whole to whether a product of two matrices has all entries of its diagonal. True if the product is not square.
 */
PETSC_INTERN PetscErrorCode SpryDiagonalIsWhole(Mat A, Mat B, MatProductType type, PetscBool *whole);

/* Returns whether a square matrix with sorted rows has all entries of its diagonal. */
PETSC_INTERN PetscBool SpryHasDiagonal(PetscInt rows, const PetscInt *offsets, const PetscInt *columns);

/* ---- operations of aij that the plug-in replaces: types.c ---- */
typedef struct SpryInherited {
    PetscErrorCode (*mult)(Mat, Vec, Vec);
    PetscErrorCode (*mult_add)(Mat, Vec, Vec, Vec);
    PetscErrorCode (*mult_transpose)(Mat, Vec, Vec);
    PetscErrorCode (*mult_transpose_add)(Mat, Vec, Vec, Vec);
    PetscErrorCode (*create_submatrices)(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
    PetscErrorCode (*destroy)(Mat);
    PetscErrorCode (*view)(Mat, PetscViewer);
    PetscErrorCode (*product_set_from_options)(Mat);
    PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);
    PetscErrorCode (*convert_from)(Mat, MatType, MatReuse, Mat *);
} SpryInherited;

PETSC_INTERN SpryInherited spry_seqaij, spry_mpiaij;

PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJSpry(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJSpry(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJSpry(Mat);

/* ---- operations of the plug-in ---- */
PETSC_INTERN PetscErrorCode MatMult_SeqAIJSpry(Mat, Vec, Vec); /* multiply.c */
PETSC_INTERN PetscErrorCode MatMultAdd_SeqAIJSpry(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_SeqAIJSpry(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_SeqAIJSpry(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJSpry(Mat); /* matmat.c */
PETSC_INTERN PetscErrorCode SpryProductDrop(Mat C);
PETSC_INTERN PetscErrorCode MatView_SeqAIJSpry(Mat, PetscViewer); /* view.c */
PETSC_INTERN PetscErrorCode MatView_MPIAIJSpry(Mat, PetscViewer);
