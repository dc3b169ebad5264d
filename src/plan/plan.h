/* A plan of sparse matrix times vector: the parts that making, updating and running it share. */
#pragma once

#include "core/device.h"
#include "core/kernel.h"

#include <pthread.h>
#include <string.h>

/* A storage of the plan's format where its device reads it. */
typedef struct spryi_plan_storage {
    void *storage; /* the format's struct */
    /* 1: the arrays of the struct are device addresses. Then `storage` is this block alone, and the plan owns: */
    int on_device;
    void *arrays[SPRYI_MOST_SECTIONS];
    int array_count;
    int made_there;      /* 1: by the device, from CSR; 0: on the host, and copied */
    int mapped;          /* 1: `storage` is that of the container that the matrix was read from */
    spry_matrix *source; /* host copy of the matrix, whose arrays `storage` may borrow until it is copied; or NULL */
    int64_t borrowed;    /* on_device: bytes of the matrix's own arrays */
    double upload_us;    /* that copies to the device took */
    char parameters[64]; /* as the format resolved them */
} spryi_plan_storage;

/*
 * The storage is of a matrix made of the caller's. Rows and columns are renumbered: x and y are the caller's, the
 * storage is of B = P A P^T (A not square: P A). Or A is one triangle, B both, and where no ordering was asked for
 * (name "none") there are no permutations. Or B, in either case or of A as it is, is transposed for a transposed
 * product, which then is the plain one of B: op of the plan's options is SPRY_NO_TRANSPOSE.
 */
typedef struct spryi_plan_order {
    const char *name;
    spry_matrix *given;      /* the caller's; plan->A is B while the storage borrows of it, else the same as this */
    int flipped;             /* 1: B is transposed besides */
    double upload_us;        /* of copies to the device that making A^T took */
    spry_ordering *ordering; /* of Band-k, for its groups; NULL: not needed any more */
    int32_t *x_from;         /* B multiplies x'[i] = x[x_from[i]]; NULL: x as it is, */
    int32_t *y_from;         /* to t, and y[i] becomes t[y_from[i]] + beta*y[i]; NULL: t is y */
    void *block;             /* of the device, in which these two lie; NULL: they are the host's */
    const void *zero;        /* in the block, a number 0 of any type */
    int64_t bytes;           /* of the two */
} spryi_plan_order;

/* Bytes that a run reads. */
typedef struct spryi_span {
    const char *name;
    spryi_array array;
} spryi_span;

struct spry_spmv_plan {
    spry_context *context;
    const spryi_device *device;
    spry_matrix *A;          /* kept alive: the storage may borrow its arrays */
    int64_t nnz;             /* entries, of both triangles */
    spryi_plan_order *order; /* NULL: none */
    spry_ordering *groups;   /* the caller's, kept: updates may make groups anew; NULL: none */
    const spryi_format *format;
    const spryi_kernel *kernel;
    int64_t kernel_parameters[SPRYI_PARAMETERS];
    char kernel_text[96];             /* the same as they were given: "lanes=32" */
    spryi_kernel_functions functions; /* of the kernel */
    spryi_run_fn run;
    int several, several_apart; /* 1: run takes several columns at once, row by row; column by column */
    spryi_plan_storage stored;
    void *auxiliary; /* the kernel's, beside the storage */
    int64_t auxiliary_bytes;
    void *workspace;
    pthread_mutex_t in_use; /* held by the run that has the workspace in host memory, or the copies of host vectors */
    int64_t workspace_bytes;
    int64_t x_at, t_at;    /* in the workspace: x and y as the storage has them, where they are not the caller's */
    int64_t brought;       /* columns that are brought into rows there: they lie apart, the kernel takes rows */
    void *x, *y;           /* the device's copies of host vectors; NULL: it reads the caller's */
    void *host_x, *host_y; /* columns of those, gathered; NULL where their entries lie one behind the other */
    const void *zero;      /* a number 0 of any type in a device's own memory, for plans that need one there */
    void *zero_block;      /* that holds it, where it is the plan's; NULL: it is the order's */
    spry_op op;            /* the caller's; of the storage: options.op */
    spry_type vector_type;
    int64_t y_length, x_length;
    size_t number_bytes; /* of a number of vector_type */
    int threads;
    spryi_span read[6]; /* of the caller's, beside x */
    int read_count;
    double setup_us;
    double search_us;          /* of it, what an update does without: choosing, finding an ordering */
    spry_spmv_options options; /* its strings are not kept: format, kernel, ordering and policy are NULL */
    spry_type value_type;      /* stored: the matrix's, or vector_type where a kernel needs a pattern's ones */
    int64_t parameters[SPRYI_PARAMETERS];
    double update_us;                      /* of the last update, 0 before the first */
    double estimated_us, estimated_csr_us; /* of a product in the format chosen, and in csr; 0: there was no estimate */
    spry_reason reason_code;
    char reason[320];
    spry_spmv_plan *other; /* of the other direction (both.c): this one where A^T is A; NULL: there is one direction */
    spry_matrix *as_given; /* with another: A, where storages refer to the copy on the device, `shared`; else NULL */
    spry_matrix *shared;
    double shared_us; /* that copying it took */
};

/* 1: the options leave the format to the library, as far as no kernel is named. */
static inline int spryi_format_is_auto(const spry_spmv_options *options)
{
    return !options->format || strcmp(options->format, "auto") == 0;
}

/* Of values that every plan refuses. */
spry_status spryi_check_spmv_options(const spry_spmv_options *options, spry_error *err);

/* Type of the vectors for a product with A: as options say, else A's. */
spry_status spryi_vector_type_of(spry_type *type, const spry_matrix *A, const spry_spmv_options *options,
                                 spry_error *err);

/* ---- both.c ------------------------------------------------------------------------------------------ */

/* What the two directions of a plan share while they are made. */
typedef struct spryi_pairing {
    spry_matrix *copy; /* A on the device, made by the first; NULL: there is none */
    double copy_us;
    int flips; /* 1: a transposed product is to be the plain one of A^T in any case */
} spryi_pairing;

/* A plan with both directions. */
spry_status spryi_plan_both(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                            const spry_spmv_options *options, spry_error *err);

/* Puts the copy on plan's device in the place of plan->A, which is CSR in host memory, where that will be converted. */
spry_status spryi_share_copy(spry_spmv_plan *plan, spryi_pairing *pairing, spry_error *err);

/* spry_spmv_plan_update of both. */
spry_status spryi_update_both(spry_spmv_plan *plan, const spry_update_options *options, spry_error *err);

/* Lets go of the other direction and of what is shared. */
void spryi_discard_both(spry_spmv_plan *plan);

/* Fills in what plans with both directions tell of them. */
void spryi_tell_both(const spry_spmv_plan *plan, spry_spmv_plan_info *info);

/* plan.c: as spry_spmv_plan_create, of one direction; pairing may be NULL. */
struct spryi_trial;
spry_status spryi_plan_one(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A,
                           const spry_spmv_options *options, struct spryi_trial *trial, spryi_pairing *pairing,
                           spry_error *err);
spry_status spryi_update_one(spry_spmv_plan *plan, const spry_update_options *options, spry_error *err);

/* Makes the plan refer to `to` where it referred to `from`, a matrix of the same structure. */
void spryi_refer_to(spry_spmv_plan *plan, const spry_matrix *from, const spry_matrix *to);

/* ---- owned.c ----------------------------------------------------------------------------------------- */

enum { SPRYI_ZERO_BYTES = 64 };

/* Returns whether the plan has a number 0 in its device's own memory, in addition to an ordering's. */
int spryi_has_zero_block(const spry_spmv_plan *plan);

/* Returns whether runs copy host vectors to the device and back. */
int spryi_has_copies(const spry_spmv_plan *plan);

/* Returns the bytes that this direction of the plan allocated, or will when it is complete. */
int64_t spryi_owned_bytes(const spry_spmv_plan *plan);

/* Returns the most bytes that this direction owns after any update. Values that slices share may become distinct. */
int64_t spryi_most_owned_bytes(const spry_spmv_plan *plan);

/* Returns whether a refusal is for the caller's memory limit. */
int spryi_is_over_limit(spry_status status, const spry_error *why);

/* Hands on a refusal of the format's arrays, with a bound of what the plan would own in addition. */
spry_status spryi_refuse_storage(const spry_spmv_plan *plan, const spry_error *why, spry_error *err);

/* ---- plan_storage.c ---------------------------------------------------------------------------------- */

/* What a device asks for of a storage of A; csr, cost, kernel, value type and parameters are left out. */
spryi_build_request spryi_request_for(const spryi_device *device, const spry_matrix *A,
                                      const spry_spmv_options *options);

/* The plan's request for a storage; csr and cost are left out. */
spryi_build_request spryi_request_of(const spry_spmv_plan *plan);

/* Makes what a request leaves out: its csr, unless the format takes any layout. The caller releases request->csr. */
spry_status spryi_complete_request(spry_context *context, spryi_build_request *request, const spryi_format *format,
                                   spry_error *err);

/* Why a plan has a container's format, as one sentence. */
void spryi_tell_stored(char *reason, size_t size, const spryi_stored *stored);

/* 1: A is a container in a format, which serves plans with these options as it is, as long as there is a kernel. */
int spryi_may_read_stored(const spry_matrix *A, const spry_spmv_options *options);

/* A storage of plan->A in plan->format, by the device or by the host; where plan->A is one, that one. */
spry_status spryi_make_storage(const spry_spmv_plan *plan, spryi_plan_storage *stored, spry_error *err);
void spryi_discard_storage(const spry_spmv_plan *plan, spryi_plan_storage *stored);

/* 1: runs read the values of the caller's matrix where they are, and no update has to check them. */
int spryi_values_in_place(const spry_spmv_plan *plan);

/* Replaces plan->A by a matrix of the same structure. A storage without values of its own reads those of `to`. */
void spryi_replace_matrix(spry_spmv_plan *plan, const spry_matrix *to);

/* Takes over the values of plan->A as they are now. On failure the plan is as it was. */
spry_status spryi_renew_storage(spry_spmv_plan *plan, spry_error *err);

/* *copy = A, which is CSR in host memory, in the memory of the device. */
spry_status spryi_copy_to_device(const spryi_device *d, spry_matrix **copy, const spry_matrix *A, spry_error *err);

/*
 * *T = A transposed, as CSR in the memory of the plan's device, which makes it; NULL: it cannot. *upload_us: of copying
 * A there.
 */
spry_status spryi_transpose_on_device(const spry_spmv_plan *plan, spry_matrix **T, const spry_matrix *A,
                                      double *upload_us, spry_error *err);

/* ---- plan_order.c ------------------------------------------------------------------------------------ */

/* Checks the names of options. */
spry_status spryi_check_ordering(const spry_spmv_options *options, spry_error *err);

/* Finds the ordering that the options name, and puts the permuted copy in plan->A's place, or both triangles. */
spry_status spryi_order_plan(spry_spmv_plan *plan, const spry_spmv_options *options, spry_error *err);

/*
 * 1: a transposed product of A on the device is to be the plain one of A^T: where the library is to choose and looks,
 * and in formats whose kernels there have that alone. The options' vector_type is one of vectors.
 */
int spryi_multiplies_transposed(const spryi_device *device, const spry_matrix *A, const spry_spmv_options *options);

/* Puts the transposed of plan->A in its place, so that a transposed product is the plain one of the storage. */
spry_status spryi_flip_plan(spry_spmv_plan *plan, spry_error *err);

/* Brings the permutations to where the device reads them. */
spry_status spryi_place_order(spry_spmv_plan *plan, spry_error *err);

/* Lets go of the permuted copy where the storage borrows nothing of it. */
void spryi_drop_copy(spry_spmv_plan *plan);

/* Returns whether plan->A has arrays of its own, not those of the caller's matrix. */
bool spryi_has_copy(const spry_spmv_plan *plan);

/* Puts A's values as they are now into plan->A, in place or as a new copy, which drop_copy takes away again. */
spry_status spryi_order_values(spry_spmv_plan *plan, spry_error *err);

/*
 * Bytes that a run reads of the ordering beside the storage; owned: what the plan keeps for it, which it has once the
 * storage is made (drop_copy).
 */
int64_t spryi_ordering_bytes(const spry_spmv_plan *plan, int owned);

/* 1: the caller's matrix is one triangle, of which the plan has made both. */
int spryi_is_expanded(const spry_spmv_plan *plan);

void spryi_discard_ordering(spry_spmv_plan *plan);

/* ---- predict.c --------------------------------------------------------------------------------------- */

/*
 * Returns the time of a product in csr with all columns on a device that is present; 0: its rates cannot be measured.
 * ranked: the time by the table of the device's class.
 */
double spryi_csr_us_here(const spryi_device *d, const spry_spmv_options *options, const spry_arrays *a, double ranked);

/* Bytes of CSR of the caller's matrix, of `nnz` entries in all: values, columns and offsets. */
double spryi_csr_bytes(const spry_arrays *given, int64_t nnz);

/* Fills in the baseline and the predictions; bandwidths that nobody has measured yet are measured. */
void spryi_predict_times(const spry_spmv_plan *plan, spry_spmv_plan_info *info);

/* ---- measure.c --------------------------------------------------------------------------------------- */

/* *us: what so many runs took, and waiting for the device. */
spry_status spryi_time_runs(const spry_spmv_plan *plan, spry_vector x, spry_vector y, int64_t runs, double *us,
                            spry_error *err);

/* ---- run.c ------------------------------------------------------------------------------------------- */

/* Lists the caller's arrays that runs read beside x, which y must not overlap. */
void spryi_list_read(spry_spmv_plan *plan);

/*
 * 1: a run of several columns, which lie row by row or (row_major 0) column by column, reads the matrix once for them,
 * in that order (NULL: none).
 */
int spryi_takes_columns(const spry_spmv_plan *plan, const spryi_plan_order *order, int row_major);

/* 1: a run in that order (NULL: none) of one column brings x into the workspace first; y takes a pass of its own. */
int spryi_maps_x(const spry_spmv_plan *plan, const spryi_plan_order *order);
int spryi_maps_y(const spry_spmv_plan *plan, const spryi_plan_order *order);

/* 1: a run in that order (NULL: none) permutes or scales x; y. */
int spryi_changes_x(const spry_spmv_plan *plan, const spryi_plan_order *order);
int spryi_changes_y(const spry_spmv_plan *plan, const spryi_plan_order *order);

/* Checks the scalings, lists what runs read, and adds the workspace of vectors that are permuted or scaled. */
spry_status spryi_add_maps(spry_spmv_plan *plan, spry_error *err);
