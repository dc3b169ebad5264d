/* A plan of sparse times sparse. spry_spgemm creates one for a single run. */
#pragma once

#include "base/pool.h"
#include "core/device.h"
#include "matrix/assemble.h"
#include "spgemm/kernels/spgemm.h"
#include "spry/spgemm.h"

/* A or op(B) as the kernels need it. */
typedef struct spryi_operand {
    spry_matrix *given; /* retained: its arrays may be borrowed below */
    spry_matrix *csr;   /* given itself, another view of its arrays, or a conversion of it */
    int64_t bytes;      /* that csr owns, and `from`; of given, if it is a triangle's expansion */
    int64_t *from;      /* where the value of entry k of csr is among given's, ~n: the negative of entry n; NULL: the */
                        /* same arrays, or a pattern */
} spryi_operand;

/*
 * The steps of a plan on a device that uses host memory (spgemm_host.c) or has its own (spgemm_device.c). They count
 * the bytes that they hold, and fail with SPRY_TOO_LARGE past the limit.
 */
typedef struct spryi_spgemm_steps {
    spry_status (*count)(spry_spgemm_plan *plan, spry_error *err); /* the entries of C, and the products */
    spry_status (*ready)(spry_spgemm_plan *plan, spry_error *err); /* after count: C's structure, and all runs need */
    spry_status (*fill)(spry_spgemm_plan *plan, spry_error *err); /* after ready: the values, where plan->values says */
    /* All of one run: C, and run_us. */
    spry_status (*multiply)(spry_spgemm_plan *plan, spry_error *err);
    /* After count: workspace, peak and least bytes of one run. */
    spry_status (*estimate)(spry_spgemm_plan *plan, spry_spgemm_estimate_info *estimate, spry_error *err);
    void (*close)(spry_spgemm_plan *plan); /* whatever the plan has come to */
} spryi_spgemm_steps;

extern const spryi_spgemm_steps spryi_spgemm_on_host, spryi_spgemm_on_device;

/* The result C. */
typedef struct spryi_spgemm_result {
    spry_index_type offset_type;
    spry_matrix *C;
    void *values; /* the caller's, which this run writes; NULL: C's own */
    int64_t rows, columns;
    int64_t nnz; /* of C's structure */
    int64_t fill_bytes;
    int64_t chunks; /* of rows, in which C is computed */
    int runs;       /* 1: C's own values are of some run */
} spryi_spgemm_result;

/* Bytes and times that the plan reports. */
typedef struct spryi_spgemm_costs {
    int64_t input_bytes;   /* outside_bytes included */
    int64_t outside_bytes; /* held for this product outside of the plan, within its memory limit */
    int64_t converted_bytes, peak_bytes, workspace_bytes;
    int64_t operand_bytes; /* most bytes held while operands are converted, inputs and scratch included */
    double setup_us, upload_us, run_us, download_us;
} spryi_spgemm_costs;

/* Properties of the kernel that the options name; all false if they name none. */
typedef struct spryi_named_kernel {
    bool needs_csc, sequential;
} spryi_named_kernel;

struct spry_spgemm_plan {
    spry_context *context;
    const spryi_device *device; /* that does the work */
    const spryi_spgemm_steps *steps;
    spryi_operand a, b;
    spryi_operand columns;       /* op(B) as CSC, for kernels that ask for it; given is b.csr */
    spry_spgemm_options options; /* alpha and kernel are not kept */
    const spryi_kernel *kernel;
    int64_t kernel_parameters[SPRYI_PARAMETERS];
    int single_run;              /* 1: what only later runs need is not kept */
    const spry_arrays *shown[2]; /* A's and B's as they were given; only while the plan is created */
    spryi_named_kernel named;
    spryi_scalar alpha;   /* of the job's type */
    spryi_spgemm_job job; /* on devices with memory of their own: the operands, products and types */
    spryi_spgemm_result result;
    spryi_spgemm_costs costs;
    spryi_spgemm_stages stages;
    char reason[200];
    struct spryi_spgemm_there *there; /* what the device's steps keep */
    struct spryi_triple *triple;      /* of C = P^T*A*P (triple.h): what its steps keep */
};

/* The purpose of a plan. A single product need not be counted before it is filled. */
typedef enum spryi_plan_use { SPRYI_FOR_RUNS, SPRYI_FOR_ESTIMATE, SPRYI_FOR_ONE_RUN } spryi_plan_use;

/* A product whose options and shapes are checked. */
typedef struct spryi_spgemm_request {
    spry_context *context;
    const spry_matrix *A, *B;
    const spry_spgemm_options *o;
    spry_type type; /* of C */
    spryi_plan_use use;
    int64_t outside_bytes; /* held outside of the plan, within its memory limit */
} spryi_spgemm_request;

/* The device of a product, and the reason. */
typedef struct spryi_route {
    const spryi_device *device;
    const char *why; /* NULL: the device was asked for, or A, B or C is on it */
    bool chosen;     /* the device is a GPU that the prediction chose; if it fails, the CPU computes */
} spryi_route;

/* ---- spgemm_plan.c ------------------------------------------------------------------------------------- */

/* Copies the caller's options, or the defaults. Resolves result_device to 0 for host memory. */
spry_status spryi_spgemm_take_options(spry_spgemm_options *o, const spry_spgemm_options *options, const spry_matrix *A,
                                      spry_error *err);
spry_status spryi_spgemm_check_options(const spry_spgemm_options *o, spry_error *err);

/* Checks shapes and value types. *type = the value type of C. right: name of B in messages. */
spry_status spryi_spgemm_check_operands(spry_type *type, const spry_matrix *A, const spry_matrix *B,
                                        const spry_spgemm_options *o, const char *right, spry_error *err);

/* Decides where the product is computed, from sizes. Converts nothing. */
spry_status spryi_spgemm_find_route(spryi_route *r, const spryi_spgemm_request *q, spry_error *err);

/* Creates a plan that has only the request. */
spry_status spryi_spgemm_new_plan(spry_spgemm_plan **plan, const spryi_spgemm_request *q, spry_error *err);

/* Creates a plan on the route's device. */
spry_status spryi_spgemm_make_plan(const spryi_route *r, spry_spgemm_plan **plan, const spryi_spgemm_request *q,
                                   spry_error *err);

/* Writes the times of the stages to options.stages, if it is not NULL. */
void spryi_spgemm_tell_stages(const spry_spgemm_plan *plan);

/* Writes the reason after a failure of the GPU: the error's sentence, or its status if the sentence is too long. */
void spryi_spgemm_tell_failure(spry_spgemm_plan *plan, const spry_error *told);

/* Computes the index types and bytes of C, whose nnz is known. Fails if C does not fit. */
spry_status spryi_size_result(spry_spgemm_plan *plan, int64_t *result_bytes, spry_error *err);

/* Removes entries whose value is 0, in place. C has no other user yet. */
void spryi_drop_zeros(spry_matrix *C);

/* Writes to every page with all threads: a first write waits until the system provides the page. */
void spryi_spgemm_touch_pages(const spry_context *context, void *memory, int64_t bytes);

/* Returns the threads that have work in a product on a CPU. asked: options.threads; rows: of C. */
static inline int spryi_spgemm_threads(const spry_context *context, int asked, int64_t rows, int64_t products)
{
    enum { PIECE = 1 << 15 };
    const int64_t work = products < INT64_MAX - rows ? products + rows : products;
    const int threads = asked > 0 ? spryi_team(asked) : spryi_threads(context, work);
    return work / PIECE + 1 < threads ? (int)(work / PIECE + 1) : threads;
}

/* ---- triple_runs.c ------------------------------------------------------------------------------------- */

/* Returns the multiplications of C = P^T*A*P. By runs, takes a pass over A. */
int64_t spryi_triple_count_products(const spry_spgemm_plan *plan);

/* ---- spgemm_operands.c --------------------------------------------------------------------------------- */

/* Checks that op_a and op_b are values of spry_op. */
spry_status spryi_check_ops(const spry_spgemm_options *options, spry_error *err);

/*
 * Makes both operands. Their value types agree already. Arrays in device memory are used as they are, or refused. Frees
 * nothing, also on failure: spryi_drop_operands does.
 */
spry_status spryi_make_operands(spry_spgemm_plan *plan, spry_error *err);
spry_status spryi_make_columns(spry_spgemm_plan *plan, spry_error *err); /* for kernels that need op(B) as CSC */
void spryi_drop_operands(spry_spgemm_plan *plan);

/* Copies changed values of the given matrices to converted operands. */
void spryi_refresh_operands(spry_spgemm_plan *plan);

/*
 * Estimates the number of products of op(A)*op(B), in host memory, from a sample of A's entries. If B's offsets do not
 * count the entries of rows, all rows of B count as the mean row.
 */
int64_t spryi_spgemm_guess_products(const spry_matrix *A, const spry_matrix *B, const spry_spgemm_options *o);

/*
 * Checks what a phase holds at once. Past the limit it returns SPRY_TOO_LARGE with a limit that suffices: `bytes` if
 * they are exact, else a bound.
 */
spry_status spryi_spgemm_admit(spry_spgemm_plan *plan, int64_t bytes, int exact, spry_error *err);

/* ---- spgemm_device.c ----------------------------------------------------------------------------------- */

/* Returns the arrays of op(B) on the device. The plan has counted. */
const spry_arrays *spryi_spgemm_uploaded_b(const spry_spgemm_plan *plan);

/* Returns the device bytes that the plan holds, inputs and result included. */
int64_t spryi_spgemm_held_on_device(const spry_spgemm_plan *plan);

/* ---- spgemm_host.c ------------------------------------------------------------------------------------- */

/* Returns the bytes that the plan holds between runs, inputs and result included. */
int64_t spryi_spgemm_held_on_host(const spry_spgemm_plan *plan);

/* Creates C, which takes over the job's columns and values. On failure, what C did not take remains in the job. */
spry_status spryi_spgemm_adopt(spry_spgemm_plan *plan, spry_error *err);

/* Cuts the rows of job->a into pieces, and counts all products (INT64_MAX if they overflow). */
spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err);

/* Returns whether each row's columns increase. Reads all columns unless the arrays state it. */
int spryi_spgemm_rises(const spry_context *context, const spry_arrays *csr);

/* Returns whether job->column_groups pay. */
int spryi_spgemm_column_groups_pay(const spry_context *context, const spryi_spgemm_job *job);
