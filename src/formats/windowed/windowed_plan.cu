/* The order in which windowed_staged_cuda begins windows, and whether it asks for slices ahead. */
#include "formats/windowed/windowed_plan.cuh"

#include "device/cuda/reduce.cuh"

#include <stdlib.h>

extern "C" {
#include "formats/windowed/windowed_layout.h"
}

enum { LANES = SPRYI_WINDOWED_LANES, ORDER_THREADS = 1024, LEVELS = 16 };

/* ---- order of windows --------------------------------------------------------------------------------- */

/* What a window takes, about. */
static __device__ __forceinline__ uint32_t weight_of(const spryi_windowed &s, int64_t w)
{
    const spryi_windowed_window own = s.windows[w], next = s.windows[w + 1];
    const uint32_t entries = (s.slices[next.slice].values - s.slices[own.slice].values) * SPRYI_WINDOWED_ALIGN;
    return entries + own.columns * own.run;
}

/*
 * order = the windows by falling weight, in LEVELS steps, those of a level as they are: windows that were cut in two
 * come last, and fill the gaps. Behind them, 1 where that pays: where the mean window is less than 3/4 of the largest;
 * windows of about one weight lose 2 %. Measured on an H200. By one block, a stretch of windows a thread.
 */
static __global__ void __launch_bounds__(ORDER_THREADS) order_windows(const spryi_windowed s, uint32_t *order)
{
    __shared__ uint32_t most;
    __shared__ unsigned long long total;
    const int64_t begin = s.window_count * threadIdx.x / ORDER_THREADS;
    const int64_t end = s.window_count * (threadIdx.x + 1) / ORDER_THREADS;
    unsigned long long weight = 0;
    if (threadIdx.x == 0) most = 1, total = 0;
    __syncthreads();
    for (int64_t w = begin; w < end; w++) {
        weight += weight_of(s, w);
        atomicMax(&most, weight_of(s, w));
    }
    atomicAdd(&total, weight);
    __syncthreads();
    if (threadIdx.x == 0) order[s.window_count] = 4 * total < 3 * most * (unsigned long long)s.window_count;
    int64_t at = 0;
    for (uint32_t level = LEVELS; level-- > 0;) {
        int own = 0, all;
        for (int64_t w = begin; w < end; w++) own += (uint64_t)weight_of(s, w) * (LEVELS - 1) / most == level;
        int64_t to = at + sum_before(own, &all);
        for (int64_t w = begin; w < end; w++)
            if ((uint64_t)weight_of(s, w) * (LEVELS - 1) / most == level) order[to++] = (uint32_t)w;
        at += all;
    }
}

/* plan->order, and its bytes, where it pays; all windows at once have none. */
static spry_status find_order(const spryi_prepare_request *request, windowed_plan *plan, int64_t *bytes,
                              spry_error *err)
{
    const spryi_windowed *s = (const spryi_windowed *)request->storage;
    const int64_t order_bytes = (s->window_count + 1) * (int64_t)sizeof(uint32_t);
    uint32_t *order = NULL, pays = 0;
    if (s->window_count <= SPRYI_WINDOWED_AT_ONCE) return SPRY_OK;
    spry_status status = spry_cuda_new(request->device, (void **)&order, order_bytes, "order of windows", err);
    if (status != SPRY_OK) return status;
    order_windows<<<1, ORDER_THREADS>>>(*s, order);
    status = launched(err, "windowed_staged_cuda: order");
    const cudaError_t code = cudaMemcpy(&pays, order + s->window_count, sizeof pays, cudaMemcpyDeviceToHost);
    if (status == SPRY_OK && code != cudaSuccess) status = spry_cuda_fail(err, code, "windowed_staged_cuda: order");
    if (status != SPRY_OK || !pays) {
        spry_cuda_free(request->device, order);
        return status;
    }
    plan->order = order;
    *bytes = order_bytes;
    return SPRY_OK;
}

/* ---- slices ahead ------------------------------------------------------------------------------------- */

/*
 * Whether a product's bytes fill the second-level cache, which has two halves, between a third and 15/16. What is
 * asked for ahead then comes near in time, which gains up to a fifth. Less is near as it is; more comes from memory,
 * and is asked for in vain: up to a third is lost. Measured on an H200.
 */
static bool pays_ahead(const spryi_prepare_request *request)
{
    const spryi_windowed *s = (const spryi_windowed *)request->storage;
    const int64_t of_value = s->a.value_type == SPRY_PATTERN ? 0 : (int64_t)spry_type_bytes(s->a.value_type);
    const int64_t of_lane = LANES * (int64_t)sizeof *s->rows;
    const int64_t stored = s->slots * of_value + s->units * SPRYI_WINDOWED_UNIT + s->slice_count * of_lane +
                           s->numbers * (int64_t)sizeof *s->dictionary;
    const int64_t vectors = (s->a.rows + s->a.cols) * (int64_t)spry_type_bytes(request->vector_type);
    const int64_t cache = request->device->cache_bytes;
    return stored + vectors >= cache / 3 && stored + vectors <= cache / 16 * 15;
}

void spry_cuda_windowed_discard(const spryi_device *device, void *auxiliary)
{
    windowed_plan *plan = (windowed_plan *)auxiliary;
    if (!plan) return;
    spry_cuda_free(device, plan->order);
    free(plan);
}

spry_status spry_cuda_windowed_prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes,
                                       spry_error *err)
{
    *auxiliary = NULL;
    *bytes = 0;
    windowed_plan *plan = (windowed_plan *)calloc(1, sizeof *plan);
    if (!plan) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: plan of windows");
    plan->ahead = pays_ahead(request);
    const spry_status status = find_order(request, plan, bytes, err);
    if (status == SPRY_OK)
        *auxiliary = plan;
    else
        spry_cuda_windowed_discard(request->device, plan);
    return status;
}
