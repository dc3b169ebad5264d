/*
 * C = P^T*A*P by two products, M = A*P and P^T*M. On the CPU the second product transposes P. On another device P is
 * transposed on the device, and each run gathers the values of P^T.
 */
#include "spgemm/triple.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/vector_ops.h"

/* ---- P^T on the device ----------------------------------------------------------------------------------- */

/* Gathers the values of P^T from the values of P. */
static spry_status gather_values(const spry_spgemm_plan *plan, const spry_arrays *p, void *values, spry_error *err)
{
    const spryi_vector_map map = {.to = values,
                                  .from = p->values,
                                  .permutation = plan->triple->products.origins,
                                  .length = p->nnz,
                                  .type = plan->job.type};
    return plan->device->ops->map(plan->device, &map, err);
}

static spry_status copy(const spry_spgemm_plan *plan, void *to, const void *from, int64_t bytes, spryi_copy direction,
                        spry_error *err)
{
    return plan->device->ops->copy(plan->device, to, from, bytes, direction, NULL, err);
}

/* Creates an array of the integers 0 to count - 1 on the device. */
static spry_status create_indices(const spry_spgemm_plan *plan, void **entry_indices, int64_t count, spry_error *err)
{
    const spryi_device *device = plan->device;
    spry_status status = SPRY_OK;
    int32_t *host = NULL;
    const int64_t bytes = count * (int64_t)sizeof *host;
    SPRYI_TRY(SPRYI_NEW(plan->context, &host, count, "entry indices", err));
    for (int64_t k = 0; k < count; k++) host[k] = (int32_t)k;
    SPRYI_TRY(device->ops->allocate(device, entry_indices, bytes, "entry indices", err));
    SPRYI_TRY(copy(plan, *entry_indices, host, bytes, SPRYI_TO_DEVICE, err));
    SPRYI_TRY(device->ops->synchronize(device, NULL, err));
done:
    spryi_release(plan->context, host);
    return status;
}

/* Converts an array of offsets on the device to another integer type. */
static spry_status convert_offsets(const spry_spgemm_plan *plan, void *to, spry_index_type to_type, const void *from,
                                   spry_index_type from_type, int64_t count, spry_error *err)
{
    spry_status status = SPRY_OK;
    void *read = NULL, *written = NULL;
    const int64_t to_bytes = count * (int64_t)spryi_index_type_bytes(to_type);
    const int64_t from_bytes = count * (int64_t)spryi_index_type_bytes(from_type);
    SPRYI_TRY(spryi_allocate(plan->context, &read, from_bytes, 1, "row offsets", err));
    SPRYI_TRY(spryi_allocate(plan->context, &written, to_bytes, 1, "row offsets", err));
    SPRYI_TRY(copy(plan, read, from, from_bytes, SPRYI_FROM_DEVICE, err));
    SPRYI_TRY(plan->device->ops->synchronize(plan->device, NULL, err));
    for (int64_t i = 0; i < count; i++) spryi_set_index(written, to_type, i, spryi_index_at(read, from_type, i));
    SPRYI_TRY(copy(plan, to, written, to_bytes, SPRYI_TO_DEVICE, err));
    SPRYI_TRY(plan->device->ops->synchronize(plan->device, NULL, err));
done:
    spryi_release(plan->context, written);
    spryi_release(plan->context, read);
    return status;
}

/* Returns the device's functions that transpose matrices, or NULL. */
static const spryi_links_passes *passes_of(const spryi_device *device)
{
    const spryi_vector_ops *ops = device->ops->vector_ops ? device->ops->vector_ops(device) : NULL;
    return ops ? ops->links : NULL;
}

/*
 * Arrays of P^T on the device. `offsets` has the type of P's offsets. `converted` has the offset type that the second
 * product needs.
 */
typedef struct device_transpose {
    void *entry_indices, *offsets, *converted, *indices, *values;
} device_transpose;

static spry_status allocate_transpose(spry_spgemm_plan *plan, device_transpose *t, const spry_arrays *p,
                                      spry_index_type offset_type, spry_error *err)
{
    const spryi_device *device = plan->device;
    const int64_t lines = p->columns + 1;
    SPRYI_OK_OR_RETURN(device->ops->allocate(device, &t->offsets,
                                             lines * (int64_t)spryi_index_type_bytes(p->offset_type), "offsets of P^T",
                                             err));
    if (offset_type != p->offset_type)
        SPRYI_OK_OR_RETURN(device->ops->allocate(device, &t->converted,
                                                 lines * (int64_t)spryi_index_type_bytes(offset_type), "offsets of P^T",
                                                 err));
    SPRYI_OK_OR_RETURN(
        device->ops->allocate(device, &t->indices, p->nnz * (int64_t)sizeof(int32_t), "columns of P^T", err));
    SPRYI_OK_OR_RETURN(device->ops->allocate(device, &plan->triple->products.origins, p->nnz * (int64_t)sizeof(int32_t),
                                             "origins of P^T", err));
    return device->ops->allocate(device, &t->values, p->nnz * (int64_t)spry_type_bytes(plan->job.type), "values of P^T",
                                 err);
}

/* Refuses P if P^T cannot be built on the device, or would exceed the memory limit. */
static spry_status check_transpose(const spry_spgemm_plan *plan, const spry_arrays *p, int64_t held, spry_error *err)
{
    const int64_t limit = plan->options.memory_limit_bytes, index = sizeof(int32_t);
    const int64_t bytes = held + p->nnz * (3 * index + (int64_t)spry_type_bytes(plan->job.type)) +
                          (p->columns + 1) * (int64_t)sizeof(int64_t);
    if (!passes_of(plan->device))
        return spryi_fail(err, SPRY_UNSUPPORTED, "device", "spgemm: device %s does not transpose matrices",
                          plan->device->name);
    if (p->nnz > INT32_MAX)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "P", p->nnz, INT32_MAX,
                                "spgemm: P has %lld entries, a GPU transposes at most %lld", (long long)p->nnz,
                                (long long)INT32_MAX);
    if (limit > 0 && bytes > limit)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                                "spgemm: inputs, result and workspace need at least %lld bytes, the limit is %lld",
                                (long long)bytes, (long long)limit);
    return SPRY_OK;
}

/* Builds P^T on the device with offsets of offset_type, which is the type of M's offsets. The device is current. */
static spry_status build_transpose(spry_spgemm_plan *plan, const spry_arrays *p, spry_index_type offset_type,
                                   spry_error *err)
{
    const spryi_device *device = plan->device;
    spry_status status = SPRY_OK;
    device_transpose t = {0};
    spry_arrays numbered = *p;
    SPRYI_TRY(create_indices(plan, &t.entry_indices, p->nnz, err));
    SPRYI_TRY(allocate_transpose(plan, &t, p, offset_type, err));
    numbered.value_type = SPRY_F32; /* values of 4 bytes, which transposition only copies */
    numbered.values = t.entry_indices;
    SPRYI_TRY(
        passes_of(device)->transpose(device, t.offsets, t.indices, plan->triple->products.origins, &numbered, err));
    if (t.converted)
        SPRYI_TRY(convert_offsets(plan, t.converted, offset_type, t.offsets, p->offset_type, p->columns + 1, err));
    SPRYI_TRY(gather_values(plan, p, t.values, err));
    spry_arrays c =
        spryi_types_of(p->columns, p->rows, p->nnz, (int32_t)plan->job.type, (int32_t)offset_type, SPRY_I32);
    void **const offsets = t.converted ? &t.converted : &t.offsets;
    c.device = device->number;
    c.offsets = *offsets;
    c.indices = t.indices;
    c.values = t.values;
    *offsets = t.indices = t.values = NULL; /* owned by the matrix, even after an error */
    SPRYI_TRY(spryi_matrix_adopt(plan->context, &plan->triple->products.transposed, &c, SPRYI_REAL, err));
done:
    (void)device->ops->synchronize(device, NULL, NULL);
    void *const left[] = {t.entry_indices, t.offsets, t.converted, t.indices, t.values};
    for (size_t n = 0; n < sizeof left / sizeof *left; n++) device->ops->release(device, left[n]);
    return status;
}

/* Runs build_transpose with the device current. */
static spry_status transpose_on_device(spry_spgemm_plan *plan, spry_error *err)
{
    int previous;
    const spry_spgemm_plan *first = plan->triple->products.first;
    const spry_arrays *p = spryi_spgemm_uploaded_b(first);
    SPRYI_OK_OR_RETURN(check_transpose(plan, p, spryi_spgemm_held_on_device(first), err));
    SPRYI_OK_OR_RETURN(plan->device->ops->enter(plan->device, &previous, err));
    const spry_status status = build_transpose(plan, p, first->result.C->a.offset_type, err);
    plan->device->ops->leave(plan->device, previous);
    return status;
}

/* ---- both products --------------------------------------------------------------------------------------- */

/* Computes M. If the device is not the CPU, also builds P^T on the device. */
static spry_status compute_first(const spryi_route *r, spry_spgemm_plan *plan, const spryi_spgemm_request *q,
                                 spry_error *err)
{
    const bool on_host = plan->device->driver->host_memory;
    spryi_triple_products *t = &plan->triple->products;
    spry_spgemm_options o = *q->o;
    o.alpha = NULL;
    o.result_device = on_host ? 0 : plan->device->number;
    o.offset_type = SPRY_INDEX_DEFAULT;
    o.drop_zeros = false;
    o.stages = NULL;
    spryi_spgemm_request first = *q;
    first.o = &o;
    SPRYI_OK_OR_RETURN(spryi_spgemm_create_plan(r, &t->first, &first, err));
    if (!on_host) return transpose_on_device(plan, err);
    return q->use == SPRYI_FOR_RUNS ? t->first->steps->fill(t->first, err) : SPRY_OK;
}

/* Returns the bytes held while P^T*M is computed, except those of its operands. */
static int64_t outside_bytes(const spry_spgemm_plan *plan, const spryi_spgemm_request *q)
{
    const bool on_host = plan->device->driver->host_memory;
    const spryi_triple_products *t = &plan->triple->products;
    const int64_t of_a = spryi_arrays_bytes(&q->A->a), of_p = spryi_arrays_bytes(&q->B->a);
    if (q->use == SPRYI_FOR_ONE_RUN) {
        if (on_host) return q->A == q->B ? 0 : of_a;
        return (q->A->a.device > 0 ? of_a : 0) + (q->B->a.device > 0 && q->A != q->B ? of_p : 0);
    }
    const int64_t middle = spryi_arrays_bytes(&t->first->result.C->a);
    if (on_host) return spryi_spgemm_held_on_host(t->first) - middle - of_p;
    return spryi_spgemm_held_on_device(t->first) - middle + t->transposed->a.nnz * (int64_t)sizeof(int32_t);
}

/* Computes C = P^T*M. A single run frees the first plan except M. */
static spry_status compute_last(const spryi_route *r, spry_spgemm_plan *plan, const spryi_spgemm_request *q,
                                spry_error *err)
{
    spry_status status = SPRY_OK;
    const bool on_host = plan->device->driver->host_memory;
    spryi_triple_products *t = &plan->triple->products;
    spry_matrix *middle = spryi_matrix_retain(t->first->result.C);
    spry_spgemm_options o = *q->o;
    o.op_a = on_host ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    o.stream = NULL;
    o.stages = NULL;
    const spryi_spgemm_request last = {.context = q->context,
                                       .A = on_host ? q->B : t->transposed,
                                       .B = middle,
                                       .o = &o,
                                       .type = q->type,
                                       .use = q->use,
                                       .outside_bytes = outside_bytes(plan, q)};
    if (q->use == SPRYI_FOR_ONE_RUN) {
        spry_spgemm_plan_destroy(t->first);
        t->first = NULL;
    }
    SPRYI_TRY(spryi_spgemm_create_plan(r, &t->last, &last, err));
    if (on_host && q->use == SPRYI_FOR_RUNS) SPRYI_TRY(t->last->steps->fill(t->last, err));
done:
    spry_matrix_destroy(middle);
    return status;
}

/* Copies the result and the costs of both products to the plan. */
static void take_over(spry_spgemm_plan *plan, const spryi_spgemm_costs *first, int64_t products)
{
    const spry_spgemm_plan *last = plan->triple->products.last;
    spryi_spgemm_costs *costs = &plan->costs;
    plan->result.C = spryi_matrix_retain(last->result.C);
    plan->result.nnz = last->result.nnz;
    plan->result.offset_type = last->result.offset_type;
    plan->result.chunks = last->result.chunks;
    plan->kernel = last->kernel;
    plan->job.sizes.threads = last->job.sizes.threads;
    plan->job.products = products + last->job.products;
    costs->peak_bytes = first->peak_bytes > last->costs.peak_bytes ? first->peak_bytes : last->costs.peak_bytes;
    costs->upload_us = first->upload_us + last->costs.upload_us;
    costs->run_us = first->run_us + last->costs.run_us;
    costs->download_us = last->costs.download_us;
}

spry_status spryi_triple_compute_products(const spryi_route *r, spry_spgemm_plan *plan, const spryi_spgemm_request *q,
                                          spry_error *err)
{
    plan->steps = &spryi_triple_by_products;
    SPRYI_OK_OR_RETURN(compute_first(r, plan, q, err));
    const spryi_spgemm_costs first = plan->triple->products.first->costs;
    const int64_t products = plan->triple->products.first->job.products;
    SPRYI_OK_OR_RETURN(compute_last(r, plan, q, err));
    take_over(plan, &first, products);
    return SPRY_OK;
}

/* ---- new values ------------------------------------------------------------------------------------------ */

static spry_status gather_on_device(const spry_spgemm_plan *plan, spry_error *err)
{
    int previous;
    const spryi_triple_products *t = &plan->triple->products;
    SPRYI_OK_OR_RETURN(plan->device->ops->enter(plan->device, &previous, err));
    const spry_status status =
        gather_values(plan, spryi_spgemm_uploaded_b(t->first), (void *)(uintptr_t)t->transposed->a.values, err);
    plan->device->ops->leave(plan->device, previous);
    return status;
}

static spry_status fill(spry_spgemm_plan *plan, spry_error *err)
{
    const spryi_triple_products *t = &plan->triple->products;
    spryi_refresh_operands(t->first);
    SPRYI_OK_OR_RETURN(t->first->steps->fill(t->first, err));
    if (t->transposed) SPRYI_OK_OR_RETURN(gather_on_device(plan, err));
    spryi_refresh_operands(t->last);
    t->last->job.alpha = plan->job.alpha;
    t->last->result.values = plan->result.values;
    const spry_status status = t->last->steps->fill(t->last, err);
    t->last->job.alpha = &t->last->alpha;
    plan->costs.download_us = t->last->costs.download_us;
    return status;
}

static void close_plan(spry_spgemm_plan *plan)
{
    spryi_triple_products *t = &plan->triple->products;
    spry_spgemm_plan_destroy(t->last);
    spry_spgemm_plan_destroy(t->first);
    spry_matrix_destroy(t->transposed);
    if (t->origins) plan->device->ops->release(plan->device, t->origins);
}

const spryi_spgemm_steps spryi_triple_by_products = {.fill = fill, .close = close_plan};
