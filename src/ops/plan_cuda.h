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
    int uploaded;  /* 1: plan->storage is a struct of device addresses, */
    int converted; /* 1: which was made there and never the host's */
    int64_t array_bytes, auxiliary_bytes;
    void *auxiliary; /* the kernel's */
    void *x, *y;     /* device copies of host vectors; NULL when vectors are on the device */
    void *places;    /* of an ordering, x's and y's, and behind them a zero; NULL: none */
    double upload_us;
} spryi_plan_cuda;

/* plan_convert.c: a storage that was made on the device, or what there is of it after a failure. */
typedef struct spryi_cuda_made {
    void *storage;
    void *arrays[SPRYI_MOST_SECTIONS];
    int array_count;
    int64_t array_bytes;
    char parameters[64];
    double upload_us;
} spryi_cuda_made;

/*
 * Makes the storage of plan->format on the device. *done = 0: the plug-in has no converter that takes this matrix, or
 * the device no memory for it, and the host has to. convert hands it to the plan, convert_again copies the new
 * arrays over the plan's (values changed).
 */
spry_status spryi_cuda_make(struct spry_plan *plan, spryi_cuda_made *made, int *done, spry_error *err);
void spryi_cuda_unmake(const struct spry_plan *plan, spryi_cuda_made *made);
spry_status spryi_cuda_convert(struct spry_plan *plan, int *done, spry_error *err);
spry_status spryi_cuda_convert_again(struct spry_plan *plan, int *done, spry_error *err);

/* The arrays of a storage that a device needs. */
int spryi_cuda_list_sections(const spryi_format *format, void *storage, spryi_section *sections);

/*
 * Moves plan->storage, made on the host, to the device: plan->storage becomes a struct with device addresses. Of a
 * matrix that is in device memory already the arrays stay where they are, and a converted storage is there. Then what
 * the kernel needs beside it.
 */
spry_status spryi_cuda_plan(struct spry_plan *plan, spry_error *err);
/* The values of `fresh`, a host storage of the same structure, into the plan's device arrays. */
spry_status spryi_cuda_update(struct spry_plan *plan, void *fresh, spry_error *err);
/* A host copy of the plan's matrix, whose arrays are in device memory. */
spry_status spryi_cuda_download(const struct spry_plan *plan, spry_matrix **host, spry_error *err);
void spryi_cuda_discard(struct spry_plan *plan);

/*
 * plan_order_cuda.c: of a plan with an ordering (of others nothing is done) the places of x and y to the device; one of
 * the two back, rows of them, for the caller to release; and a product of one column, args in the caller's numbering.
 */
spry_status spryi_cuda_upload_order(struct spry_plan *plan, spry_error *err);
spry_status spryi_cuda_download_places(const struct spry_plan *plan, int32_t **places, spry_error *err);
spry_status spryi_cuda_run_ordered(const struct spry_plan *plan, const spryi_run_args *args, spry_error *err);

/* As spry_plan_run, with checked arguments; alpha and beta are not NULL. */
spry_status spryi_cuda_run(const struct spry_plan *plan, spryi_run_args *args, spry_vector x, spry_vector y,
                           spry_error *err);

#endif
