/* What windowed_staged_cuda knows of a matrix beside its storage, found when a plan is made. */
#pragma once

#include "device/cuda/cuda_common.cuh"

typedef struct windowed_plan {
    uint32_t *order; /* in which windows are begun, on the device; NULL: as they are */
    bool ahead;      /* slices are asked for before a warp comes to them */
} windowed_plan;

/* The prepare and discard of the kernel, of a windowed_plan on the host. */
spry_status spry_cuda_windowed_prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes,
                                       spry_error *err);
void spry_cuda_windowed_discard(const spryi_device *device, void *auxiliary);
