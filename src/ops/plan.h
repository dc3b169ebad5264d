#ifndef SPRYI_PLAN_H
#define SPRYI_PLAN_H

#include "core/kernel.h"

struct spry_plan {
    spry_context *context;
    spry_matrix *A; /* kept alive: the storage may borrow its arrays */
    const spryi_format *format;
    const spryi_kernel *kernel;
    spryi_run_fn run;
    void *storage;
    void *workspace;
    int64_t workspace_bytes;
    spry_op op;
    spry_type vector_type;
    int64_t y_length, x_length;
    int threads;
    double setup_us;
    spry_spmv_options options; /* its strings are not kept: device, format, kernel and ordering are NULL */
    char reason[256];
};

/* Microseconds of a clock that never goes back. */
double spryi_now_us(void);

#endif
