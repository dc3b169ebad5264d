#include "ops/plan_cuda.h"

#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "ops/plan.h"

#include <string.h>

int spryi_cuda_list_sections(const spryi_format *format, void *storage, spryi_section *sections)
{
    return format->device_sections ? format->device_sections(storage, sections) : format->sections(storage, sections);
}

/* Copies the storage struct and uploads its arrays behind it; the host's storage is destroyed. */
static spry_status upload(spry_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_plan_cuda *c = plan->cuda;
    const spryi_format *format = plan->format;
    spryi_section sections[SPRYI_MOST_SECTIONS];
    void *copy = NULL;
    double start = spryi_now_us();
    SPRYI_TRY(spryi_allocate(plan->context, &copy, 1, format->storage_size, "storage", err));
    memcpy(copy, plan->storage, format->storage_size);
    int count = spryi_cuda_list_sections(format, copy, sections);
    for (int s = 0; s < count; s++) {
        if (!sections[s].array) continue;
        int64_t bytes = sections[s].count * sections[s].item_bytes;
        void *host = *sections[s].array, *device = NULL;
        SPRYI_TRY(c->plugin->allocate(c->device, &device, bytes, sections[s].name, err));
        c->arrays[c->array_count++] = device;
        c->array_bytes += bytes;
        if (bytes > 0) SPRYI_TRY(c->plugin->copy(c->device, device, host, bytes, SPRYI_TO_DEVICE, NULL, err));
        *sections[s].array = device;
    }
    SPRYI_TRY(c->plugin->synchronize(c->device, NULL, err));
    c->upload_us = spryi_now_us() - start;
    format->destroy(plan->context, plan->storage);
    plan->storage = copy;
    c->uploaded = 1;
    copy = NULL;
done:
    spryi_release(plan->context, copy);
    return status;
}

spry_status spryi_cuda_update(spry_plan *plan, void *fresh, spry_error *err)
{
    const spryi_plan_cuda *c = plan->cuda;
    spryi_section from[SPRYI_MOST_SECTIONS], to[SPRYI_MOST_SECTIONS];
    int count = spryi_cuda_list_sections(plan->format, fresh, from);
    spryi_cuda_list_sections(plan->format, plan->storage, to);
    spry_status status = SPRY_OK;
    for (int s = 0; s < count; s++)
        if (from[s].array)
            SPRYI_TRY(c->plugin->copy(c->device, *to[s].array, *from[s].array, from[s].count * from[s].item_bytes,
                                      SPRYI_TO_DEVICE, NULL, err));
    SPRYI_TRY(c->plugin->synchronize(c->device, NULL, err));
done:
    return status;
}

/* One array of A into host memory, *array becoming the host's. */
static spry_status fetch(const spry_plan *plan, const void **array, int64_t count, size_t size, spry_error *err)
{
    const spryi_plan_cuda *c = plan->cuda;
    void *host = NULL;
    spry_status status = spryi_allocate(plan->context, &host, count, size, "host copy of the matrix", err);
    const void *device = *array;
    *array = host;
    if (status != SPRY_OK || count == 0) return status;
    return c->plugin->copy(c->device, host, device, count * (int64_t)size, SPRYI_FROM_DEVICE, NULL, err);
}

spry_status spryi_cuda_download(const spry_plan *plan, spry_matrix **host, spry_error *err)
{
    const spry_matrix *A = plan->A;
    spry_arrays a = A->a;
    spry_status status = SPRY_OK;
    int got = 0; /* arrays of `a` that are host memory now */
    SPRYI_TRY(fetch(plan, &a.offsets, a.rows + 1, spry_index_type_bytes(a.offset_type), err));
    got = 1;
    SPRYI_TRY(fetch(plan, &a.indices, a.nnz, spry_index_type_bytes(a.index_type), err));
    got = 2;
    if (a.value_type != SPRY_PATTERN) SPRYI_TRY(fetch(plan, &a.values, a.nnz, spry_type_bytes(a.value_type), err));
    a.device = 0;
    got = 0; /* adopt takes them over, also on failure */
    SPRYI_TRY(spryi_matrix_adopt(plan->context, host, &a, A->field, err));
done:
    if (status != SPRY_OK && a.device > 0) { /* the one that failed is NULL or host memory */
        spryi_release(plan->context, (void *)(uintptr_t)a.offsets);
        if (got >= 1) spryi_release(plan->context, (void *)(uintptr_t)a.indices);
        if (got >= 2) spryi_release(plan->context, (void *)(uintptr_t)a.values);
    }
    return status;
}

spry_status spryi_cuda_plan(spry_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_plan_cuda *c = plan->cuda;
    size_t size = spry_type_bytes(plan->vector_type);
    int previous = 0;
    /* offsets tell whether csr took a device matrix's arrays as they are: patterns have no values to tell by */
    if (!c->converted && (plan->A->a.device == 0 || plan->format->arrays(plan->storage)->offsets != plan->A->a.offsets))
        SPRYI_TRY(upload(plan, err));
    const spryi_cuda_prepare request = {.storage = plan->storage,
                                        .vector_type = plan->vector_type,
                                        .op = plan->op,
                                        .device = c->device};
    if (c->kernel->prepare) {
        SPRYI_TRY(c->plugin->enter(c->device, &previous, err));
        status = c->kernel->prepare(&request, &c->auxiliary, &c->auxiliary_bytes, err);
        c->plugin->leave(previous);
        if (status != SPRY_OK) goto done;
        SPRYI_TRY(c->plugin->synchronize(c->device, NULL, err)); /* streams of the caller may not wait for that one */
    }
    plan->workspace_bytes = c->kernel->workspace_bytes ? c->kernel->workspace_bytes(&request, c->auxiliary) : 0;
    SPRYI_TRY(spryi_cuda_upload_order(plan, err));
    spryi_add_ordering(plan);
    if (plan->workspace_bytes > 0)
        SPRYI_TRY(c->plugin->allocate(c->device, &plan->workspace, plan->workspace_bytes, "workspace", err));
    if (plan->workspace_bytes > 0) SPRYI_TRY(c->plugin->clear(c->device, plan->workspace, plan->workspace_bytes, err));
    if (plan->options.vector_device == 0) {
        SPRYI_TRY(c->plugin->allocate(c->device, &c->x, plan->x_length * (int64_t)size, "x", err));
        SPRYI_TRY(c->plugin->allocate(c->device, &c->y, plan->y_length * (int64_t)size, "y", err));
    }
done:
    return status;
}

void spryi_cuda_discard(spry_plan *plan)
{
    spryi_plan_cuda *c = plan->cuda;
    if (c->kernel->discard && c->auxiliary) c->kernel->discard(c->device, c->auxiliary);
    for (int a = 0; a < c->array_count; a++) c->plugin->release(c->device, c->arrays[a]);
    if (plan->workspace) c->plugin->release(c->device, plan->workspace);
    c->plugin->release(c->device, c->x);
    c->plugin->release(c->device, c->y);
    c->plugin->release(c->device, c->places);
    plan->workspace = NULL;
    /* before the upload the storage is the host's own, afterwards a struct of device addresses */
    if (plan->storage && c->uploaded) {
        spryi_release(plan->context, plan->storage);
        plan->storage = NULL;
    }
}

/* One column, device addresses in args. */
static spry_status run_column(const spry_plan *plan, const spryi_run_args *args, spry_error *err)
{
    const spryi_plan_cuda *c = plan->cuda;
    if (!args->scalars_on_device && spryi_value_at(args->alpha, plan->vector_type, 0) == 0)
        return c->plugin->scale(c->device, args->y, plan->vector_type, plan->y_length,
                                spryi_value_at(args->beta, plan->vector_type, 0), args->stream, err);
    return plan->order ? spryi_cuda_run_ordered(plan, args, err) : plan->run(args, err);
}

/* Host vectors: up, product, down. */
static spry_status run_staged(const spry_plan *plan, spryi_run_args *args, const void *x, void *y, spry_error *err)
{
    const spryi_plan_cuda *c = plan->cuda;
    spry_status status = SPRY_OK;
    int64_t size = (int64_t)spry_type_bytes(plan->vector_type);
    int reads_y = args->scalars_on_device || spryi_value_at(args->beta, plan->vector_type, 0) != 0;
    SPRYI_TRY(c->plugin->copy(c->device, c->x, x, plan->x_length * size, SPRYI_TO_DEVICE, args->stream, err));
    if (reads_y)
        SPRYI_TRY(c->plugin->copy(c->device, c->y, y, plan->y_length * size, SPRYI_TO_DEVICE, args->stream, err));
    args->x = c->x;
    args->y = c->y;
    SPRYI_TRY(run_column(plan, args, err));
    SPRYI_TRY(c->plugin->copy(c->device, y, c->y, plan->y_length * size, SPRYI_FROM_DEVICE, args->stream, err));
    SPRYI_TRY(c->plugin->synchronize(c->device, args->stream, err));
done:
    return status;
}

spry_status spryi_cuda_run(const spry_plan *plan, spryi_run_args *args, spry_vector x, spry_vector y, spry_error *err)
{
    const spryi_plan_cuda *c = plan->cuda;
    int64_t columns = x.columns == 0 ? 1 : x.columns;
    size_t size = spry_type_bytes(plan->vector_type);
    int previous;
    args->device = c->device;
    args->auxiliary = c->auxiliary;
    spry_status status = c->plugin->enter(c->device, &previous, err);
    if (status != SPRY_OK) return status;
    for (int64_t column = 0; column < columns && status == SPRY_OK; column++) {
        const void *from = (const char *)x.data + (size_t)(column * (x.stride ? x.stride : x.length)) * size;
        void *to = (char *)y.data + (size_t)(column * (y.stride ? y.stride : y.length)) * size;
        if (plan->options.vector_device == 0) {
            status = run_staged(plan, args, from, to, err);
        } else {
            args->x = from;
            args->y = to;
            status = run_column(plan, args, err);
        }
    }
    c->plugin->leave(previous);
    return status;
}
