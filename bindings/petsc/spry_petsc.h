/*
 * What the files of the plug-in for PETSc share. The plug-in adds three matrix types to a PETSc that is there already:
 *
 *   seqaijspry   seqaij, whose products are Spry's
 *   mpiaijspry   mpiaij, whose two blocks on each rank are seqaijspry
 *   aijspry      one of both, by the number of ranks
 *
 * register.c      what PETSc calls when it loads the plug-in: types, options, events
 * types.c         how an aij matrix becomes one of these types and back
 * plans.c         when a matrix gets a plan, and when the plan is made again or updated
 * multiply.c      products with vectors
 * matmat.c        sparse products
 * diagonal.c      whether a product has its whole diagonal
 * view.c          what -mat_view tells
 *
 * Public headers of PETSc alone are used, so that one source serves its versions. A function returns PETSc's error
 * code; what the library refuses becomes PETSc's error with the library's message.
 */
#pragma once

#include <petscmat.h>
#include <petscviewer.h>
#include <spry/spry.h>

#if defined(PETSC_USE_COMPLEX)
#error "Spry multiplies real numbers; this PETSc has complex ones"
#endif
#if !defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_REAL_SINGLE)
#error "Spry multiplies numbers of 64 and of 32 bits; this PETSc has others"
#endif

/* ---- versions of PETSc ---- */
#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

/* Not in a public header before any version, though exported: the number that grows with each change of an object. */
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

/* Calls the library with `err` as its last argument and hands its error on to PETSc. */
#define SpryCall(call)                                                                                                 \
    do {                                                                                                               \
        spry_error spry_error_;                                                                                        \
        spry_error *const err = &spry_error_;                                                                          \
        if (PetscUnlikely((call) != SPRY_OK))                                                                          \
            SETERRQ(PETSC_COMM_SELF, SpryErrorCode(err->status), "Spry: %s", err->message);                            \
    } while (0)

PETSC_INTERN PetscErrorCode SpryErrorCode(spry_status status);

/* ---- what the whole process has: register.c ---- */
typedef struct SprySettings {
    spry_context *context;
    char format[64];        /* -mat_spry_format */
    char device[64];        /* -mat_spry_device, as the library calls it */
    PetscBool format_named; /* it is not auto */
    int device_number;      /* its number; SPRY_CPU but for GPUs */
    PetscInt threads;       /* -mat_spry_threads */
    PetscInt calls;         /* -mat_spry_calls; 0: not said */
    PetscBool products;     /* -mat_spry_products */
    PetscLogEvent planning, updating, symbolic, numeric;
} SprySettings;

PETSC_INTERN SprySettings spry_settings;

/* ---- plans: plans.c ---- */
typedef enum { SPRY_PLAIN = 0, SPRY_TRANSPOSED = 1 } SpryDirection;

typedef struct SpryPlan {
    spry_spmv_plan *plan; /* NULL: PETSc multiplies */
    /* A program may do more products than PetscInt counts. */
    PetscInt64 calls, updates;               /* products with this structure, new values in it */
    PetscInt64 calls_before, updates_before; /* of them, those before the plan was made */
    PetscInt64 next_review,
        next_update_review; /* after so many products, and so many updates of it, it is asked for anew */
    int vector_device;      /* where the vectors were that it was made for */
    char refusal[256];      /* why there is none, or none anew, though one was due; "": nothing was refused */
} SpryPlan;

/* What a seqaijspry matrix carries. */
typedef struct SpryPlans {
    Mat owner; /* the matrix that this was made for: PETSc may give it to another one (MatHeaderMerge) */
    PetscObjectState state, nonzero_state;
    const PetscInt *offsets, *columns; /* the matrix's own arrays, to see when they are others */
    const PetscScalar *values;
    PetscInt rows, cols, entries;
    spry_matrix *matrix; /* of these arrays; NULL: none yet */
    /*
     * A block whose rows are mostly empty, as what a rank needs of others: its rows with entries alone make the matrix.
     * filled is their number; NULL arrays: the matrix has all rows.
     */
    PetscInt filled, *filled_rows, *filled_offsets;
    PetscScalar *filled_numbers; /* a vector over these rows */
    SpryPlan directions[2];
} SpryPlans;

/* The plans of A, made empty if there were none. They belong to A. */
PETSC_INTERN PetscErrorCode SpryPlansGet(Mat A, SpryPlans **plans);

/* Counts a product of A in that direction, whose vectors are in host memory (SPRY_CPU) or on a GPU (its number); *plan is
   what it goes through, for the present values, or NULL: PETSc's own code is to do it. */
PETSC_INTERN PetscErrorCode SpryPlansForProduct(Mat A, SpryDirection direction, int vector_device, SpryPlans **plans,
                                                spry_spmv_plan **plan);

/* Gives back what A carries. */
PETSC_INTERN PetscErrorCode SpryPlansDrop(Mat A);

/* The matrix of CSR or CSC arrays, which are borrowed. */
PETSC_INTERN PetscErrorCode SpryArraysBorrow(spry_layout layout, PetscInt rows, PetscInt cols, const PetscInt *offsets,
                                             const PetscInt *indices, const PetscScalar *values, spry_matrix **matrix);

/* The matrix of A's arrays, or of its transpose, which are borrowed. */
PETSC_INTERN PetscErrorCode SpryMatrixBorrow(Mat A, PetscBool transposed, spry_matrix **matrix);

/* Composes `data` with `object` under `name`; release(data) is called when it goes. */
PETSC_INTERN PetscErrorCode SpryCompose(PetscObject object, const char name[], void *data, void (*release)(void *));
PETSC_INTERN PetscErrorCode SpryComposed(PetscObject object, const char name[], void *data);

/* ---- diagonals of products: diagonal.c ---- */

/* Sets *whole to whether each place of the diagonal of a product of two has an entry. True if it is not square. */
PETSC_INTERN PetscErrorCode SpryDiagonalIsWhole(Mat A, Mat B, MatProductType type, PetscBool *whole);

/* Returns whether a matrix with sorted rows has each place of its diagonal. */
PETSC_INTERN PetscBool SpryHasDiagonal(PetscInt rows, const PetscInt *offsets, const PetscInt *columns);

/* ---- operations of aij that ours stand before: types.c ---- */
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

/* ---- our operations ---- */
PETSC_INTERN PetscErrorCode MatMult_SeqAIJSpry(Mat, Vec, Vec); /* multiply.c */
PETSC_INTERN PetscErrorCode MatMultAdd_SeqAIJSpry(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_SeqAIJSpry(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_SeqAIJSpry(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJSpry(Mat); /* matmat.c */
PETSC_INTERN PetscErrorCode SpryProductDrop(Mat C);
PETSC_INTERN PetscErrorCode MatView_SeqAIJSpry(Mat, PetscViewer); /* view.c */
PETSC_INTERN PetscErrorCode MatView_MPIAIJSpry(Mat, PetscViewer);
