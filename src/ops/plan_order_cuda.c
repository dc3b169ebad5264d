/*
 * Plans with an ordering on a GPU, the other half of plan_order.c. The permuted copy is made on the host and lives on
 * the device alone; a run is a gather of x into the workspace, the product there, and a gather into y. All of it is
 * started in the caller's stream, nothing is waited for or allocated, and beta, also one that lies on the device, is
 * the last gather's.
 */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "ops/plan.h"

enum { ALIGNMENT = 64 };

static int64_t bytes_of(const int32_t *places, int64_t length)
{
    return places ? (length * (int64_t)sizeof *places + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : 0;
}

/* The host's places are let go of. */
spry_status spryi_cuda_upload_order(spry_plan *plan, spry_error *err)
{
    spryi_plan_order *order = plan->order;
    spryi_plan_cuda *c = plan->cuda;
    spry_status status = SPRY_OK;
    if (!order || order->on_device) return SPRY_OK;
    const double start = spryi_now_us();
    const int64_t x_bytes = bytes_of(order->x_from, plan->x_length), y_bytes = bytes_of(order->y_from, plan->y_length);
    const int64_t bytes = x_bytes + y_bytes + ALIGNMENT;
    if (!c->places) SPRYI_TRY(c->plugin->allocate(c->device, &c->places, bytes, "places of x and y", err));
    char *to = c->places;
    SPRYI_TRY(c->plugin->clear(c->device, to + x_bytes + y_bytes, ALIGNMENT, err));
    if (x_bytes > 0)
        SPRYI_TRY(c->plugin->copy(c->device, to, order->x_from, plan->x_length * (int64_t)sizeof *order->x_from,
                                  SPRYI_TO_DEVICE, NULL, err));
    if (y_bytes > 0)
        SPRYI_TRY(c->plugin->copy(c->device, to + x_bytes, order->y_from,
                                  plan->y_length * (int64_t)sizeof *order->y_from, SPRYI_TO_DEVICE, NULL, err));
    SPRYI_TRY(c->plugin->synchronize(c->device, NULL, err));
    if (order->x_from) spryi_release(plan->context, order->x_from);
    if (order->y_from) spryi_release(plan->context, order->y_from);
    if (order->x_from) order->x_from = (int32_t *)(void *)to;
    if (order->y_from) order->y_from = (int32_t *)(void *)(to + x_bytes);
    order->on_device = 1;
    order->bytes = bytes;
    c->upload_us += spryi_now_us() - start;
done:
    return status;
}

spry_status spryi_cuda_download_places(const spry_plan *plan, int32_t **places, spry_error *err)
{
    const spryi_plan_order *order = plan->order;
    const spryi_plan_cuda *c = plan->cuda;
    const int64_t rows = order->given->a.rows;
    spry_status status = SPRYI_NEW(plan->context, places, rows, "places of rows", err);
    if (status != SPRY_OK || rows == 0) return status;
    return c->plugin->copy(c->device, *places, order->x_from ? order->x_from : order->y_from,
                           rows * (int64_t)sizeof **places, SPRYI_FROM_DEVICE, NULL, err);
}

spry_status spryi_cuda_run_ordered(const spry_plan *plan, const spryi_run_args *args, spry_error *err)
{
    static const double zero = 0; /* of either type */
    const spryi_plan_order *order = plan->order;
    const spryi_plan_cuda *c = plan->cuda;
    spry_status status = SPRY_OK;
    spryi_run_args inner = *args;
    spryi_cuda_gather gather = {.type = plan->vector_type, .stream = args->stream};
    if (order->x_from && plan->x_length > 0) {
        inner.x = gather.to = (char *)args->workspace + order->x_at;
        gather.from = args->x;
        gather.places = order->x_from;
        gather.length = plan->x_length;
        SPRYI_TRY(c->plugin->gather(&gather, err));
    }
    if (!order->y_from) return plan->run(&inner, err);
    inner.y = (char *)args->workspace + order->t_at;
    inner.beta = &zero;
    if (args->scalars_on_device)
        inner.beta = (char *)c->places + bytes_of(order->x_from, plan->x_length) +
                     bytes_of(order->y_from, plan->y_length);
    SPRYI_TRY(plan->run(&inner, err));
    gather.to = args->y;
    gather.from = inner.y;
    gather.places = order->y_from;
    gather.length = plan->y_length;
    gather.beta = args->beta;
    gather.beta_on_device = args->scalars_on_device;
    status = c->plugin->gather(&gather, err);
done:
    return status;
}
