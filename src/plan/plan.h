/*
 * A plan of products of a sparse matrix with vectors. A plan is built in five steps; each step fills in one struct:
 * check (spryi_plan_request), map (spryi_plan_map), choose (spryi_plan_target), build (spryi_plan_storage), and prepare
 * (spryi_plan_product, spryi_plan_workspace).
 */
#pragma once

#include "choose/choose.h"
#include "core/device.h"
#include "core/kernel.h"
#include "matrix/matrix.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Result of check: the device and the caller's options, with defaults filled in. */
typedef struct spryi_plan_request {
    const spryi_device *device;
    /*
     * The step map adapts op and groups to plan->A. The names of format, kernel, ordering and policy are NULL once the
     * plan is built.
     */
    spry_spmv_options options;
    spry_op op;            /* the caller's */
    spry_ordering *groups; /* a reference to the caller's groups, which updates may use; NULL: none */
    int64_t x_length, y_length;
    spry_type vector_type;
    size_t element_bytes; /* bytes of an element of vector_type */
} spryi_plan_request;

/*
 * Result of map: how the caller's matrix and vectors correspond to those of the storage. The storage is built from
 * plan->A. If is_changed, plan->A is a new matrix B: the caller's matrix after one or more changes. The changes are
 * expansion to both triangles, permutation to P A P^T (to P A if A is not square), and transposition.
 */
typedef struct spryi_plan_map {
    spry_matrix *given; /* the caller's matrix; plan->A is reset to `given` if the storage borrows nothing from B */
    bool is_changed, is_transposed;
    int64_t nnz;          /* entries of plan->A */
    const char *ordering; /* name */
    spry_ordering *found; /* the ordering, kept for the groups of Band-k; NULL once released */
    int32_t *x_from;      /* runs multiply x' with x'[i] = x[x_from[i]]; NULL: they multiply x */
    int32_t *y_from;      /* y[i] = t[y_from[i]] + beta*y[i], where t is the product; NULL: the product is y */
    const void *x_scaling, *y_scaling;
    void *block;      /* device memory that contains x_from and y_from; NULL: both are in host memory */
    const void *zero; /* part of `block` whose bytes are all 0: the value 0 of any type */
    int64_t bytes;    /* bytes of x_from, y_from and the zero */
    double upload_us; /* time of copies to the device */
} spryi_plan_map;

/* Result of choose: the format and the kernel. */
typedef struct spryi_plan_target {
    const spryi_format *format;
    int64_t parameters[SPRYI_PARAMETERS];
    const spryi_kernel *kernel;
    int64_t kernel_parameters[SPRYI_PARAMETERS];
    char kernel_text[96]; /* kernel_parameters in the caller's spelling: "lanes=32" */
    spryi_kernel_functions functions;
    /*
     * Type of the values that the storage is built from: A's. If A is a pattern and the kernel needs values, the
     * vectors' type. The storage may have them in a narrower type.
     */
    spry_type value_type;
    double us, csr_us; /* estimated time of a product in the format and in csr; 0: no estimate */
    spry_reason reason_code;
    char reason[320];
} spryi_plan_target;

/* Result of build: the format's storage, in memory that the device reads. */
typedef struct spryi_plan_storage {
    void *storage;        /* the format's struct, in host memory */
    bool on_device;       /* the struct contains device addresses, and the plan owns the blocks in `arrays` */
    bool built_on_device; /* the device has converted CSR to the format */
    bool from_container;  /* `storage` belongs to the matrix: a container or the caller's blocks */
    char parameters[64];  /* parameters of the format, with defaults filled in */
    void *arrays[SPRYI_MOST_SECTIONS];
    int array_count;
    spry_matrix *source; /* host copy of the matrix, whose arrays `storage` may borrow; or NULL */
    int64_t borrowed;    /* if on_device: bytes of the matrix's device arrays that the storage uses */
    int64_t widening;    /* bytes that the storage grows by if new values need the matrix's type */
    double upload_us;    /* time of copies to the device */
} spryi_plan_storage;

/* Result of prepare: how runs call the kernel. */
typedef struct spryi_plan_product {
    spryi_run_fn run;
    bool joins_rows, joins_columns; /* `run` multiplies multiple row-major (column-major) vectors in one call */
    int threads;
    void *auxiliary; /* the kernel's own data in addition to the storage */
    int64_t auxiliary_bytes;
} spryi_plan_product;

/* Result of prepare: memory that runs write. */
typedef struct spryi_plan_workspace {
    void *memory;
    int64_t bytes;
    int64_t x_at, t_at;    /* offsets in `memory` of the kernel's x and y, if the kernel cannot use the caller's */
    int64_t joined;        /* columns copied to row-major at a time, for kernels that need row-major vectors; 0: none */
    void *x, *y;           /* device copies of host vectors; NULL: the device reads the caller's vectors */
    void *host_x, *host_y; /* contiguous copies of columns of row-major host vectors */
    const void *zero;      /* device memory whose bytes are all 0: the value 0 of any type; NULL: not needed */
    void *zero_block;      /* memory of `zero`; NULL: the map's block contains it */
} spryi_plan_workspace;

typedef struct spryi_span {
    const char *name;
    spryi_array array;
} spryi_span;

/* Caller's memory, except x, that runs read. */
typedef struct spryi_plan_reads {
    spryi_span list[6];
    int count;
} spryi_plan_reads;

typedef struct spryi_plan_times {
    double setup_us;
    double search_us; /* part of setup_us that updates omit: choosing a format, finding an ordering */
    double update_us; /* time of the last update; 0: no update yet */
} spryi_plan_times;

/* A plan of one direction. */
typedef struct spryi_plan {
    spry_context *context;
    spry_matrix *A; /* matrix that the storage was built from; the storage may borrow the matrix's arrays */
    spryi_plan_request request;
    spryi_plan_map map;
    spryi_plan_target target;
    spryi_plan_storage stored;
    spryi_plan_product product;
    spryi_plan_workspace work;
    _Atomic bool is_captured; /* a graph was captured that reads narrow values */
    pthread_mutex_t in_use; /* held by the run that uses the workspace in host memory, or the copies of host vectors */
    spryi_plan_reads reads;
    spryi_plan_times times;
} spryi_plan;

/* State that both directions of a plan share while they are built. */
typedef struct spryi_pairing {
    spry_matrix *copy; /* A in device memory; NULL: no copy */
    double copy_us;
    bool flips; /* the transposed product must run as the plain product of A^T */
} spryi_pairing;

enum { SPRYI_MOST_TRIED = 4 };

/* Result of a trial of formats, for the policy "measure". */
typedef struct spryi_trial {
    bool measure_again; /* measure again, even if a result is remembered */
    int count;          /* number of formats that were timed; 0: no trial */
    struct {
        const char *format, *kernel;
        double us, setup_us;
    } timed[SPRYI_MOST_TRIED];
    char note[160]; /* text appended to the plan's reason, or "" */
} spryi_trial;

/* The caller's plan: one direction or two (directions.c). */
struct spry_spmv_plan {
    spry_context *context;
    spryi_plan forward;    /* multiplies by op(A) */
    spryi_plan *backward;  /* multiplies by the transpose; NULL: one direction; `forward` if A is symmetric */
    spry_matrix *as_given; /* the caller's A, if storages read the arrays of pairing.copy; else NULL */
    spryi_pairing pairing;
    spryi_dependent of_matrix; /* entry in A's list of plans */
    bool is_stale;             /* values that both directions read in place are no longer symmetric */
};

/*
 * Returns whether the options name no format, or "auto". The library then chooses the format, unless the options name a
 * kernel.
 */
static inline bool spryi_format_is_auto(const spry_spmv_options *options)
{
    return !options->format || strcmp(options->format, "auto") == 0;
}

/* Checks options for values that no plan accepts. */
spry_status spryi_check_spmv_options(const spry_spmv_options *options, spry_error *err);

/* Returns the type of the vectors for a product with A: the options' type, by default A's. */
spry_status spryi_vector_type_of(spry_type *type, const spry_matrix *A, const spry_spmv_options *options,
                                 spry_error *err);

/* ---- directions.c ------------------------------------------------------------------------------------- */

/* Replaces plan->A by a copy on the plan's device, if A is CSR in host memory. Both directions share the copy. */
spry_status spryi_share_copy(spryi_plan *plan, spryi_pairing *pairing, spry_error *err);

/* ---- plan.c ------------------------------------------------------------------------------------------ */

/*
 * Plans one direction. After a failure *plan is empty. pairing: state shared by both directions; NULL: the plan has one
 * direction.
 */
spry_status spryi_plan_one(spry_context *context, spryi_plan *plan, const spry_matrix *A,
                           const spry_spmv_options *options, spryi_trial *trial, spryi_pairing *pairing,
                           spry_error *err);

/* Releases the contents of a plan, which may be empty. */
void spryi_discard_plan(spryi_plan *plan);
spry_status spryi_update_one(spryi_plan *plan, const spry_update_options *options, spry_error *err);

/* Refuses new values for a plan of a container. */
spry_status spryi_refuse_new_values(spry_error *err);

/* Builds the plan in a chosen format. After a failure the plan has no storage or workspace. */
spry_status spryi_build_choice(spryi_plan *plan, const spryi_choice *choice, spry_error *err);

/* Releases the storage and workspace that spryi_build_choice built. */
void spryi_discard_built(spryi_plan *plan);

/* Replaces plan->A, a container, by a matrix of its entries. */
spry_status spryi_take_entries(spryi_plan *plan, spry_error *err);

/* Replaces the plan's references to `from` by references to `to`, a matrix of the same structure. */
void spryi_refer_to(spryi_plan *plan, const spry_matrix *from, const spry_matrix *to);

/* Lists the caller's arrays that runs read in addition to x. y must not overlap them. */
void spryi_list_reads(spryi_plan *plan);

/* Returns whether a run with this map multiplies multiple columns in one pass. row_major: the vectors are row-major. */
bool spryi_takes_columns(const spryi_plan *plan, const spryi_plan_map *map, bool row_major);

/* Returns the bytes that this direction of the plan has allocated, or will have allocated when it is complete. */
int64_t spryi_owned_bytes(const spryi_plan *plan);

/*
 * Returns the most bytes that this direction owns after any update. After an update, slices that share equal values now
 * may need values of their own.
 */
int64_t spryi_most_owned_bytes(const spryi_plan *plan);

/* Returns whether the status is a refusal by the caller's memory limit. */
bool spryi_is_over_limit(spry_status status, const spry_error *why);

/* Returns whether a run permutes or scales x. */
static inline bool spryi_changes_x(const spryi_plan_map *map)
{
    return map->x_from || map->x_scaling;
}

static inline bool spryi_changes_y(const spryi_plan_map *map)
{
    return map->y_from || map->y_scaling;
}

/*
 * Returns the elements between the rows of columns that are copied to row-major. On a GPU, rows of more than 8 bytes
 * begin at multiples of 16 bytes.
 */
static inline int64_t spryi_joined_stride(const spryi_plan *plan, int64_t columns)
{
    const int64_t bytes = (int64_t)plan->request.element_bytes, whole = 16 / bytes;
    if (plan->request.device->driver->host_memory || columns * bytes <= 8) return columns;
    return (columns + whole - 1) / whole * whole;
}

/* Returns whether a run of one column copies x to the workspace. */
static inline bool spryi_maps_x(const spryi_plan *plan, const spryi_plan_map *map)
{
    return plan->request.options.row_major || spryi_changes_x(map);
}

static inline bool spryi_maps_y(const spryi_plan *plan, const spryi_plan_map *map)
{
    return plan->request.options.row_major || spryi_changes_y(map);
}

/* ---- plan_storage.c ---------------------------------------------------------------------------------- */

/* Returns the plan's request for a storage. csr and cost are not set. */
spryi_build_request spryi_request_of(const spryi_plan *plan);

/* Sets request->csr, unless the format accepts any layout. The caller releases request->csr. */
spry_status spryi_complete_request(spry_context *context, spryi_build_request *request, const spryi_format *format,
                                   spry_error *err);

/* Chooses the format that a matrix is stored in, with the reason. */
void spryi_choose_stored(spryi_choice *choice, const spryi_stored *stored);

/*
 * Returns a matrix that keeps A alive and has A's blocks as a storage of format bsr. Returns A itself, retained, if A's
 * layout is not SPRY_BSR or the format cannot read the blocks.
 */
spry_status spryi_blocks_as_stored(spry_matrix **made, const spry_matrix *A, spry_error *err);

/* Returns whether a container's values have a narrower type than the matrix. A->stored must not be NULL. */
bool spryi_is_stored_narrow(const spry_matrix *A);

/* Returns whether plans with these options may read A's stored format. A kernel of that format may be missing. */
bool spryi_may_read_stored(const spry_matrix *A, const spry_spmv_options *options);

/* Returns the kernel's function for a storage with these sizes and types, or NULL. */
spryi_run_fn spryi_run_of(const spryi_plan *plan, const spry_arrays *stored);

/*
 * Builds a storage of plan->A in the target format, on the device or on the host. If plan->A is stored in the format,
 * uses that storage.
 */
spry_status spryi_make_storage(const spryi_plan *plan, spryi_plan_storage *stored, spry_error *err);
void spryi_discard_storage(const spryi_plan *plan, spryi_plan_storage *stored);

/* Returns whether runs read the values in the caller's arrays. */
bool spryi_values_in_place(const spryi_plan *plan);

/*
 * Replaces plan->A by a matrix of the same structure. A storage that borrows values reads those of `to` from then on.
 */
void spryi_replace_matrix(spryi_plan *plan, const spry_matrix *to);

/* Copies the current values of plan->A to the storage. A failure leaves the plan unchanged. */
spry_status spryi_renew_storage(spryi_plan *plan, spry_error *err);

/* Predicted sizes of a storage. */
typedef struct spryi_storage {
    const char *format;
    char parameters[64];
    int64_t words;       /* number of values and indices */
    int64_t bytes;       /* bytes of the format's arrays, without workspace and other memory of the plan */
    int64_t padding;     /* stored entries that are not entries of A */
    int64_t owned_bytes; /* part of `bytes` that a plan allocates */
    bool refused;        /* the padding guard or the memory limit refuses the storage */
    char reason[320];    /* reason for the format if "auto" chose it; else "" */
} spryi_storage;

/*
 * Predicts the sizes of options->format without building it. The sizes are exact, except that packed on a CPU needs
 * fewer bytes if values repeat. Cost: O(rows) for most formats, O(nnz) for bsr and for a container.
 */
spry_status spryi_predict_storage(spry_context *context, spryi_storage *storage, const spry_matrix *A,
                                  const spry_spmv_options *options, spry_error *err);

/*
 * Transposes A on the plan's device, as CSR in device memory. *T is NULL if the device cannot transpose A. Adds the
 * time of copying A to *upload_us.
 */
spry_status spryi_transpose_on_device(const spryi_plan *plan, spry_matrix **T, const spry_matrix *A, double *upload_us,
                                      spry_error *err);

/* ---- plan_order.c ------------------------------------------------------------------------------------ */

/* Checks the name of the ordering, and that groups are not combined with an ordering. */
spry_status spryi_check_ordering(const spry_spmv_options *options, spry_error *err);

/*
 * Maps the caller's matrix and vectors: fills in plan->map, and replaces plan->A by the matrix of the storage. pairing
 * may be NULL.
 */
spry_status spryi_map_plan(spryi_plan *plan, spryi_pairing *pairing, spry_error *err);
void spryi_discard_map(spryi_plan *plan);

/*
 * Returns whether the device computes a transposed product of A as the plain product of A^T. That is so if the library
 * chooses the format and prefers A^T, or if the format's kernels have only the plain product. vector_type must be
 * resolved.
 */
bool spryi_multiplies_transposed(const spryi_device *device, const spry_matrix *A, const spry_spmv_options *options);

/* Releases the mapped matrix if the storage borrows nothing from it. */
void spryi_drop_copy(spryi_plan *plan);

/* Returns whether plan->A has arrays of its own, not the caller's. */
bool spryi_has_copy(const spryi_plan *plan);

/* Copies the caller's current values to plan->A, in place or as a new matrix, which spryi_drop_copy releases. */
spry_status spryi_order_values(spryi_plan *plan, spry_error *err);

/*
 * Returns the bytes of the map that a run reads in addition to the storage. owned: adds the bytes of the matrix's copy
 * and of the groups that the plan keeps.
 */
int64_t spryi_ordering_bytes(const spryi_plan *plan, bool owned);

/* Returns whether the plan has expanded the caller's matrix, a triangle or blocks, to all its entries. */
bool spryi_is_expanded(const spryi_plan *plan);

/* Returns whether the storage is built from the caller's blocks. On the CPU, runs read the block structure in place. */
bool spryi_reads_blocks(const spryi_plan *plan);

/* ---- predict.c --------------------------------------------------------------------------------------- */

/*
 * Returns the time in us of a product in csr with all columns, from the measured bandwidth of the device. Returns 0 if
 * the bandwidth cannot be measured. ranked: the time that the rates of the device's class predict; 0: unknown.
 */
double spryi_measured_csr_us(const spryi_device *d, const spry_spmv_options *options, const spry_arrays *a,
                             double ranked);

/* Returns the bytes of the caller's matrix as CSR with `nnz` entries: values, columns and offsets. */
double spryi_csr_bytes(const spry_arrays *given, int64_t nnz);

/* Fills in the baseline and the predictions. Measures the device's bandwidths on the first call. */
void spryi_predict_times(const spry_spmv_plan *plan, spry_spmv_plan_info *info);

/* ---- policy_measure.c --------------------------------------------------------------------------------------- */

/*
 * Builds *plan, whose map is complete, in the remembered or measured format. *done is false if there is nothing to
 * measure or the remembered format is refused; trial->note has the reason and the plan is unchanged.
 */
spry_status spryi_measure_plan(spryi_plan *plan, spryi_trial *trial, bool *done, spry_error *err);

/* ---- run.c ------------------------------------------------------------------------------------------- */

/* Runs one direction, as spry_spmv_plan_run does. options is resolved, or NULL. */
spry_status spryi_run(const spryi_plan *plan, spry_vector y, const void *alpha, spry_const_vector x, const void *beta,
                      const spry_spmv_run_options *options, spry_error *err);
