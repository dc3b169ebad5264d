#ifndef SPRYI_PLAN_H
#define SPRYI_PLAN_H

#include "core/kernel.h"
#include "ops/plan_cuda.h"

/* Of a plan that renumbers rows and columns by itself: x and y are the caller's, the storage is of B = P A P^T. */
typedef struct spryi_plan_order {
    const char *name;
    spry_matrix *given;      /* the caller's; plan->A is B while the storage borrows of it, else the same as this */
    spry_ordering *ordering; /* of Band-k, for its groups; NULL: not needed any more */
    int32_t *x_from;         /* B multiplies x'[i] = x[x_from[i]]; NULL: x as it is, */
    int32_t *y_from;         /* to t, and y[i] becomes t[y_from[i]] + beta*y[i]; NULL: t is y */
    int on_device;           /* 1: these two are device addresses, in the plan's cuda->places */
    void *row_scaling, *column_scaling; /* the options', in B's numbering; NULL: none */
    int64_t bytes;                      /* of the arrays above */
    int64_t x_at, t_at;                 /* where x' and t lie in the workspace */
} spryi_plan_order;

struct spry_plan {
    spry_context *context;
    spry_matrix *A;          /* kept alive: the storage may borrow its arrays */
    spryi_plan_order *order; /* NULL: none */
    const spryi_format *format;
    const spryi_kernel *kernel;
    spryi_run_fn run;
    spryi_plan_cuda *cuda; /* NULL: on the CPU */
    void *storage;
    void *workspace;
    int64_t workspace_bytes;
    spry_op op;
    spry_type vector_type;
    int64_t y_length, x_length;
    int threads;
    double setup_us;
    spry_spmv_options options; /* its strings are not kept: device, format, kernel and ordering are NULL */
    int64_t scaling_at;        /* where scaled vectors begin in the workspace; of use where there is scaling */
    spry_type value_type;      /* stored: vector_type, or SPRY_PATTERN */
    int64_t parameters[SPRYI_PARAMETERS];
    char parameter_text[64]; /* as the format settled them */
    char reason[320];
};

/* What the plan's storage is to be made of; csr and figure are left out. */
spryi_build_request spryi_request_of(const spry_plan *plan);
/* Makes what request leaves out: its csr, unless the format takes any layout. The caller releases request->csr. */
spry_status spryi_complete_request(spry_context *context, spryi_build_request *request, const spryi_format *format,
                                   spry_error *err);

/* Type of the vectors for a product with A: as options say, else A's. */
spry_status spryi_vector_type_of(spry_type *type, const spry_matrix *A, const spry_spmv_options *options,
                                 spry_error *err);

/*
 * scaling.c: checks the options' row_scaling and column_scaling and adds the workspace they need; then runs the
 * product between them, where there are any.
 */
spry_status spryi_add_scaling(spry_plan *plan, spry_error *err);
spry_status spryi_run_scaled(const spry_plan *plan, spryi_run_args *args, spry_error *err);

/*
 * plan_order.c. check: names, and what contradicts itself. order_plan: finds the ordering that the options name and
 * puts the permuted copy in plan->A's place. add: the workspace that renumbered vectors need. drop_copy: where the
 * storage borrows nothing of the copy, it goes. run: args in the caller's numbering. values: puts A's values as they
 * are now into plan->A, in place or as a new copy, which drop_copy takes away again.
 */
spry_status spryi_check_ordering(const spry_spmv_options *options, spry_error *err);
spry_status spryi_order_plan(spry_plan *plan, const spry_spmv_options *options, spry_error *err);
void spryi_add_ordering(spry_plan *plan);
void spryi_drop_copy(spry_plan *plan);
spry_status spryi_run_ordered(const spry_plan *plan, spryi_run_args *args, spry_error *err);
spry_status spryi_order_values(spry_plan *plan, spry_error *err);
/* What a run reads of it beside the storage; owned: what the plan allocated for it, but for the storage's own. */
int64_t spryi_ordering_bytes(const spry_plan *plan, int owned);
void spryi_discard_ordering(spry_plan *plan);

/* Microseconds of a clock that never goes back. */
double spryi_now_us(void);

#endif
