/* The GPU's side of a plan: its storage in device memory, and runs that may have to carry vectors there. */
#ifndef SPRYI_PLAN_CUDA_H
#define SPRYI_PLAN_CUDA_H

#include "core/cuda_plugin.h"

struct spry_plan;

/* NULL in plans of the CPU. */
typedef struct spryi_plan_cuda {
    const spryi_cuda_plugin *plugin;
    const spryi_cuda_kernel *kernel;
    int device;                        /* CUDA's number */
    void *arrays[SPRYI_MOST_SECTIONS]; /* device arrays that the plan owns */
    int array_count;
    int uploaded; /* 1: plan->storage is a struct of device addresses */
    int64_t array_bytes, auxiliary_bytes;
    void *auxiliary; /* the kernel's */
    void *x, *y;     /* device copies of host vectors; NULL when vectors are on the device */
    double upload_us;
} spryi_plan_cuda;

/*
 * Moves plan->storage, made on the host, to the device: plan->storage becomes a struct with device addresses. Of a
 * matrix that is in device memory already the arrays stay where they are.
 */
spry_status spryi_cuda_plan(struct spry_plan *plan, spry_error *err);
/* The values of `fresh`, a host storage of the same structure, into the plan's device arrays. */
spry_status spryi_cuda_update(struct spry_plan *plan, void *fresh, spry_error *err);
/* A host copy of the plan's matrix, whose arrays are in device memory. */
spry_status spryi_cuda_download(const struct spry_plan *plan, spry_matrix **host, spry_error *err);
void spryi_cuda_discard(struct spry_plan *plan);

/* As spry_plan_run, with checked arguments; alpha and beta are not NULL. */
spry_status spryi_cuda_run(const struct spry_plan *plan, spryi_run_args *args, spry_vector x, spry_vector y,
                           spry_error *err);

#endif
