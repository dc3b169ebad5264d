/* A plan of sparse times sparse. spry_spgemm creates one for a single run. */
#pragma once

#include "base/pool.h"
#include "core/device.h"
#include "matrix/assemble.h"
#include "spgemm/kernels/spgemm.h"
#include "spry/spgemm.h"

/* An operand A or op(B) in the form that kernels need. */
typedef struct spryi_operand {
    spry_matrix *given; /* retained: csr may borrow its arrays */
    spry_matrix *csr;   /* `given`, another view of its arrays, or a conversion */
    int64_t bytes;      /* bytes owned by csr and `from`, and by `given` if it is an expanded triangle */
    /*
     * For each entry of csr: index of the entry of `given` that has its value. ~n: the value is the negative of entry
     * n. NULL: both matrices have equal value arrays, or are patterns.
     */
    int64_t *from;
} spryi_operand;

/*
 * The steps of a plan on a device that uses host memory (spgemm_host.c) or has its own memory (spgemm_device.c). Steps
 * count the bytes held, and return SPRY_TOO_LARGE beyond the limit.
 */
typedef struct spryi_spgemm_steps {
    spry_status (*count)(spry_spgemm_plan *plan, spry_error *err); /* counts C's entries and the products */
    spry_status (*ready)(spry_spgemm_plan *plan, spry_error *err); /* after count: computes C's structure */
    spry_status (*fill)(spry_spgemm_plan *plan, spry_error *err);  /* after ready: computes C's values */
    /* Computes C in a single run, and sets run_us. */
    spry_status (*multiply)(spry_spgemm_plan *plan, spry_error *err);
    /* Sets the workspace, peak and least bytes of one run. Called after count. */
    spry_status (*estimate)(spry_spgemm_plan *plan, spry_spgemm_estimate_info *estimate, spry_error *err);
    void (*close)(spry_spgemm_plan *plan); /* the plan may be in any state */
} spryi_spgemm_steps;

extern const spryi_spgemm_steps spryi_spgemm_on_host, spryi_spgemm_on_device;

/* The result C. */
typedef struct spryi_spgemm_result {
    spry_index_type offset_type;
    spry_matrix *C;
    void *values; /* the caller's array, which this run writes; NULL: C's own */
    int64_t rows, columns;
    int64_t nnz; /* entries of C's structure */
    int64_t fill_bytes;
    int64_t chunks; /* chunks of rows that C is computed in */
    bool runs;      /* a run has written C's own values */
} spryi_spgemm_result;

/* Bytes and times that the plan reports. */
typedef struct spryi_spgemm_costs {
    int64_t input_bytes;   /* bytes of inputs, including outside_bytes; peak_bytes includes them */
    int64_t outside_bytes; /* bytes held outside of the plan that count against its memory limit */
    int64_t converted_bytes, peak_bytes, workspace_bytes;
    int64_t operand_bytes; /* maximal bytes held while operands are converted, including inputs and scratch */
    double setup_us, upload_us, run_us, download_us;
} spryi_spgemm_costs;

/* Properties of the kernel that the options name; all false if they name none. */
typedef struct spryi_named_kernel {
    bool needs_csc, sequential;
} spryi_named_kernel;

struct spry_spgemm_plan {
    spry_context *context;
    const spryi_device *device; /* the device that computes */
    const spryi_spgemm_steps *steps;
    spryi_operand a, b;
    spryi_operand columns;       /* op(B) as CSC, for kernels that need it; columns.given is b.csr */
    spry_spgemm_options options; /* alpha and kernel are NULL */
    const spryi_kernel *kernel;
    int64_t kernel_parameters[SPRYI_PARAMETERS];
    bool single_run;             /* the plan runs at most once, so data for later runs is not kept */
    const spry_arrays *shown[2]; /* A's and B's arrays as given; only while the plan is created */
    spryi_named_kernel named;
    spryi_scalar alpha;   /* value of the job's type */
    spryi_spgemm_job job; /* complete on a CPU; on a GPU only operands, products and types are set */
    spryi_spgemm_result result;
    spryi_spgemm_costs costs;
    spryi_spgemm_stages stages;
    char reason[200];
    struct spryi_spgemm_device_state *device_state; /* data of the device's steps */
    struct spryi_triple *triple;                    /* data of the steps of C = P^T*A*P (triple.h) */
};

/* The purpose of a plan. If it is one run, C may be counted and filled in one step. */
typedef enum spryi_plan_use { SPRYI_FOR_RUNS, SPRYI_FOR_ESTIMATE, SPRYI_FOR_ONE_RUN } spryi_plan_use;

/* A product whose options and shapes are checked. */
typedef struct spryi_spgemm_request {
    spry_context *context;
    const spry_matrix *A, *B;
    const spry_spgemm_options *o;
    spry_type type; /* value type of C */
    spryi_plan_use use;
    int64_t outside_bytes; /* bytes held outside of the plan that count against its memory limit */
} spryi_spgemm_request;

/* The device of a product, and the reason. */
typedef struct spryi_route {
    const spryi_device *device;
    const char *why; /* NULL: the caller named the device, or A, B or C is on it */
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

/* Creates a plan in which only the request's data is set. */
spry_status spryi_spgemm_new_plan(spry_spgemm_plan **plan, const spryi_spgemm_request *q, spry_error *err);

/* Creates a plan on the route's device. */
spry_status spryi_spgemm_create_plan(const spryi_route *r, spry_spgemm_plan **plan, const spryi_spgemm_request *q,
                                     spry_error *err);

/* Writes the times of the stages to options.stages, if it is not NULL. */
void spryi_spgemm_report_stages(const spry_spgemm_plan *plan);

/* Writes the reason after a failure of the GPU: the error's sentence, or its status if the sentence is too long. */
void spryi_spgemm_report_failure(spry_spgemm_plan *plan, const spry_error *cause);

/* Computes the index types and bytes of C, whose nnz is known. Returns an error if C does not fit. */
spry_status spryi_size_result(spry_spgemm_plan *plan, int64_t *result_bytes, spry_error *err);

/* Removes entries whose value is 0, in place. C has no other user yet. */
void spryi_drop_zeros(spry_matrix *C);

/* Writes to every page of `memory` with all threads. The first write to a page waits until the system provides it. */
void spryi_spgemm_touch_pages(const spry_context *context, void *memory, int64_t bytes);

/* Returns the number of threads that have work in a product on a CPU. asked: options.threads; rows: rows of C. */
static inline int spryi_spgemm_threads(const spry_context *context, int asked, int64_t rows, int64_t products)
{
    enum { PIECE = 1 << 15 };
    const int64_t work = products < INT64_MAX - rows ? products + rows : products;
    const int threads = asked > 0 ? spryi_team(asked) : spryi_threads(context, work);
    return work / PIECE + 1 < threads ? (int)(work / PIECE + 1) : threads;
}

/* ---- triple_runs.c ------------------------------------------------------------------------------------- */

/* Returns the number of multiplications in C = P^T*A*P. Reads A once if the method is by runs. */
int64_t spryi_triple_count_products(const spry_spgemm_plan *plan);

/* ---- spgemm_operands.c --------------------------------------------------------------------------------- */

/* Checks that op_a and op_b are values of spry_op. */
spry_status spryi_check_ops(const spry_spgemm_options *options, spry_error *err);

/*
 * Builds both operands, whose value types are already equal. Arrays in device memory are used unchanged, or refused.
 * Frees nothing, even after an error: spryi_drop_operands does.
 */
spry_status spryi_build_operands(spry_spgemm_plan *plan, spry_error *err);
spry_status spryi_build_columns(spry_spgemm_plan *plan, spry_error *err); /* for kernels that need op(B) as CSC */
void spryi_drop_operands(spry_spgemm_plan *plan);

/* Copies changed values of the given matrices to converted operands. */
void spryi_refresh_operands(spry_spgemm_plan *plan);

/*
 * Estimates the number of products of op(A)*op(B), in host memory, from a sample of A's entries. If B's offsets do not
 * give the lengths of op(B)'s rows, assumes that each row has the mean length.
 */
int64_t spryi_spgemm_guess_products(const spry_matrix *A, const spry_matrix *B, const spry_spgemm_options *o);

/*
 * Checks the bytes that a phase holds. If they exceed the limit, returns SPRY_TOO_LARGE. The error states a limit that
 * suffices: `bytes` if exact, else an upper bound.
 */
spry_status spryi_spgemm_admit(spry_spgemm_plan *plan, int64_t bytes, bool exact, spry_error *err);

/* ---- spgemm_device.c ----------------------------------------------------------------------------------- */

/* Returns the arrays of op(B) on the device. Requires that the plan's step `count` has run. */
const spry_arrays *spryi_spgemm_uploaded_b(const spry_spgemm_plan *plan);

/* Returns the device bytes that the plan holds, inputs and result included. */
int64_t spryi_spgemm_held_on_device(const spry_spgemm_plan *plan);

/* ---- spgemm_host.c ------------------------------------------------------------------------------------- */

/* Returns the bytes that the plan holds between runs, inputs and result included. */
int64_t spryi_spgemm_held_on_host(const spry_spgemm_plan *plan);

/*
 * Creates C, which takes ownership of the job's columns and values. After an error, arrays that C does not own remain
 * in the job.
 */
spry_status spryi_spgemm_adopt(spry_spgemm_plan *plan, spry_error *err);

/* Cuts the rows of job->a into pieces, and counts all products (INT64_MAX if they overflow). */
spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err);

/* Returns true if each row's columns increase. Reads all columns unless csr->sorted and csr->unique give the answer. */
bool spryi_spgemm_rises(const spry_context *context, const spry_arrays *csr);

/* Returns true if job->rows_of_b.column_groups would save time. */
bool spryi_spgemm_column_groups_pay(const spry_context *context, const spryi_spgemm_job *job);
