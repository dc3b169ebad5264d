#ifndef SPRYI_PLAN_H
#define SPRYI_PLAN_H

#include "core/kernel.h"
#include "ops/plan_cuda.h"

struct spry_plan {
    spry_context *context;
    spry_matrix *A; /* kept alive: the storage may borrow its arrays */
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
 * scaling.c: checks the options' row_scaling and column_scaling and adds the workspace they need; then, where a plan
 * has either, runs the product between them.
 */
spry_status spryi_add_scaling(spry_plan *plan, spry_error *err);
spry_status spryi_run_scaled(const spry_plan *plan, spryi_run_args *args, spry_error *err);

/* Microseconds of a clock that never goes back. */
double spryi_now_us(void);

#endif
