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
    spry_status (*estimate)(spry_spgemm_plan *plan, spry_spgemm_prediction *estimate, spry_error *err);
    void (*close)(spry_spgemm_plan *plan); /* whatever the plan has come to */
} spryi_spgemm_steps;

extern const spryi_spgemm_steps spryi_spgemm_on_host, spryi_spgemm_on_device;

/* The result C. */
typedef struct spryi_spgemm_result {
    spry_index_type offset_type;
    spry_matrix *C;
    void *values; /* the caller's, which this run writes; NULL: C's own */
    int64_t nnz;  /* of C's structure */
    int64_t fill_bytes;
    int64_t chunks; /* of rows, in which C is computed */
    int runs;       /* 1: C's own values are of some run */
} spryi_spgemm_result;

/* Bytes and times that the plan reports. */
typedef struct spryi_spgemm_costs {
    int64_t input_bytes, converted_bytes, peak_bytes, workspace_bytes;
    int64_t operand_bytes; /* most bytes held while operands are converted, inputs and scratch included */
    double setup_us, upload_us, run_us, download_us;
} spryi_spgemm_costs;

struct spry_spgemm_plan {
    spry_context *context;
    const spryi_device *device; /* that does the work */
    const spryi_spgemm_steps *steps;
    spryi_operand a, b;
    spryi_operand columns;       /* op(B) as CSC, for kernels that ask for it; given is b.csr */
    spry_spgemm_options options; /* its pointers are not kept */
    const spryi_kernel *kernel;
    int64_t kernel_parameters[SPRYI_PARAMETERS];
    int single_run;              /* 1: what only later runs need is not kept */
    const spry_arrays *shown[2]; /* A's and B's as they were given; only while the plan is created */
    int needs_csc, sequential;   /* of the kernel that is named */
    spryi_scalar alpha;          /* of the job's type */
    spryi_spgemm_job job;        /* on devices with memory of their own: the operands, products and types */
    spryi_spgemm_result result;
    spryi_spgemm_costs costs;
    spryi_spgemm_stages stages;
    char reason[200];
    struct spryi_spgemm_there *there; /* what the device's steps keep */
};

/* ---- spgemm_plan.c ------------------------------------------------------------------------------------- */

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

/* ---- spgemm_host.c ------------------------------------------------------------------------------------- */

/* Cuts the rows of job->a into pieces, and counts all products (INT64_MAX if they overflow). */
spry_status spryi_spgemm_cut(spry_context *context, spryi_spgemm_job *job, spry_error *err);

/* Returns whether each row's columns increase. Reads all columns unless the arrays state it. */
int spryi_spgemm_rises(const spry_context *context, const spry_arrays *csr);

/* Returns whether job->column_groups pay. */
int spryi_spgemm_column_groups_pay(const spry_context *context, const spryi_spgemm_job *job);
