/*
 * Sparse times sparse on a device with memory of its own: operands to it, the device's phases, C there or on its way
 * to the host. Where a limit, or the memory that there is, does not allow the whole, rows are done in chunks of about
 * equal products: twice as many until one fits, or a chunk is a row. Chunks are counted first, so that C is allocated
 * once and exactly.
 */
#include "core/assemble.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "ops/spgemm_plan.h"

/* ---- device memory, counted; all work of a product is in the default stream ---------------------------------- */

static spry_status take(spry_spgemm_plan *plan, void **pointer, int64_t bytes, const char *what, spry_error *err)
{
    spryi_spgemm_gpu *g = plan->gpu;
    if (g->limit > 0 && g->held + bytes > g->limit)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", g->held + bytes, g->limit,
                                "spgemm: inputs, result and workspace need at least %lld bytes, the limit is %lld",
                                (long long)(g->held + bytes), (long long)g->limit);
    spry_status status = plan->device->ops->allocate_in_order(plan->device, pointer, bytes, what, err);
    if (status != SPRY_OK) return status;
    g->held += bytes;
    if (g->held > g->most) g->most = g->held;
    return SPRY_OK;
}

static void give(spry_spgemm_plan *plan, void *pointer, int64_t bytes)
{
    if (!pointer) return;
    plan->device->ops->release_in_order(plan->device, pointer);
    plan->gpu->held -= bytes;
}

static spry_status kernel_takes(spryi_cuda_product *product, void **pointer, int64_t bytes, const char *what,
                                spry_error *err)
{
    return take(product->owner, pointer, bytes, what, err);
}

static void kernel_gives(spryi_cuda_product *product, void *pointer, int64_t bytes)
{
    give(product->owner, pointer, bytes);
}

/* ---- operands -------------------------------------------------------------------------------------- */

spry_status spryi_spgemm_open_device(spry_spgemm_plan *plan, spry_error *err)
{
    if (!plan->device->ops->spgemm)
        return spryi_fail(err, SPRY_UNSUPPORTED, "device", "spgemm: the CUDA plug-in was built without kernels for it");
    spry_status status = SPRYI_NEW(plan->context, &plan->gpu, 1, "plan", err);
    if (status == SPRY_OK) *plan->gpu = (spryi_spgemm_gpu){.limit = plan->options.memory_limit_bytes};
    return status;
}

/* One operand's arrays to the device, slots of inputs from `first` on; those that are there stay. */
static spry_status upload(spry_spgemm_plan *plan, spry_arrays *to, int first, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    if (to->device > 0) {
        g->held += spryi_arrays_bytes(to);
        if (g->held > g->most) g->most = g->held;
        return SPRY_OK;
    }
    const void **arrays[] = {&to->offsets, &to->indices, &to->values};
    const int64_t bytes[] = {(to->rows + 1) * (int64_t)spry_index_type_bytes(to->offset_type), to->nnz * 4,
                             to->nnz * (int64_t)spry_type_bytes(to->value_type)};
    for (int n = 0; n < 3; n++) {
        SPRYI_TRY(take(plan, &g->inputs[first + n], bytes[n], "operand", err));
        SPRYI_TRY(plan->device->ops->copy(plan->device, g->inputs[first + n], *arrays[n], bytes[n], SPRYI_TO_DEVICE,
                                          NULL, err));
        *arrays[n] = g->inputs[first + n];
    }
    to->device = plan->device->number;
done:
    return status;
}

/* New values of the operands, structures unchanged. */
static spry_status upload_values(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_spgemm_gpu *g = plan->gpu;
    const spry_arrays *from[] = {&plan->job.a, &plan->job.b};
    for (int m = 0; m < 2; m++) {
        void *to = g->inputs[3 * m + 2];
        const int64_t bytes = from[m]->nnz * (int64_t)spry_type_bytes(from[m]->value_type);
        if (to)
            SPRYI_TRY(plan->device->ops->copy(plan->device, to, from[m]->values, bytes, SPRYI_TO_DEVICE, NULL, err));
    }
done:
    return status;
}

static spry_status upload_operands(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    spryi_cuda_product *p = &g->product;
    const double start = spryi_now_us();
    *p = (spryi_cuda_product){.a = plan->job.a,
                              .b = plan->job.b,
                              .type = plan->job.type,
                              .device = plan->device->ordinal};
    SPRYI_TRY(upload(plan, &p->a, 0, err));
    if (plan->b.csr == plan->a.csr)
        p->b = p->a;
    else
        SPRYI_TRY(upload(plan, &p->b, 3, err));
    SPRYI_TRY(plan->device->ops->synchronize(plan->device, NULL, err));
    p->multiprocessors = plan->device->units;
    p->shared_bytes = plan->device->shared_bytes;
    p->major = plan->device->major;
    p->allocate = kernel_takes;
    p->release = kernel_gives;
    p->owner = plan;
    p->row_end = p->a.rows;
done:
    plan->upload_us = spryi_now_us() - start;
    return status;
}

/* ---- chunks ------------------------------------------------------------------------------------------- */

/* A phase of the plug-in, with the device current. */
static spry_status in_device(spry_spgemm_plan *plan, spry_status (*phase)(spryi_cuda_product *, spry_error *),
                             spry_error *err)
{
    int previous;
    spry_status status = plan->device->ops->enter(plan->device, &previous, err);
    if (status != SPRY_OK) return status;
    status = phase(&plan->gpu->product, err);
    plan->device->ops->leave(plan->device, previous);
    return status;
}

static void discard(spry_spgemm_plan *plan)
{
    spryi_spgemm_gpu *g = plan->gpu;
    int previous;
    if (!g->product.state || plan->device->ops->enter(plan->device, &previous, NULL) != SPRY_OK) return;
    g->kernel->discard(&g->product);
    g->product.state = NULL;
    plan->device->ops->leave(plan->device, previous);
}

static spry_status scan_phase(spryi_cuda_product *product, spry_error *err)
{
    const spry_spgemm_plan *plan = product->owner;
    return plan->device->ops->spgemm->scan_products(product, plan->gpu->scan, err);
}

/* Rows at which chunks of about equal products begin; each has a row at least. */
static void cut_evenly(spryi_spgemm_gpu *g, int64_t rows, int64_t chunks)
{
    const int64_t all = g->scan[rows];
    int64_t row = 0;
    g->chunks = chunks;
    g->cuts[0] = 0;
    for (int64_t c = 1; c < chunks; c++) {
        const int64_t until = all / chunks * c + all % chunks * c / chunks;
        row++;
        while (row < rows - (chunks - c) && g->scan[row] < until) row++;
        g->cuts[c] = row;
    }
    g->cuts[chunks] = rows;
}

/* Twice as many chunks, with the products of the rows looked up the first time. */
static spry_status cut_finer(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    const int64_t rows = g->product.a.rows, chunks = 2 * g->chunks < rows ? 2 * g->chunks : rows;
    int64_t *cuts = NULL;
    if (!g->scan) {
        SPRYI_TRY(SPRYI_NEW(plan->context, &g->scan, rows + 1, "products of the rows", err));
        SPRYI_TRY(in_device(plan, scan_phase, err));
    }
    SPRYI_TRY(SPRYI_NEW(plan->context, &cuts, chunks + 1, "chunks", err));
    spryi_release(plan->context, g->cuts);
    g->cuts = cuts;
    cut_evenly(g, rows, chunks);
done:
    return status;
}

static spry_status count_chunk(spry_spgemm_plan *plan, int64_t chunk, spry_error *err)
{
    spryi_spgemm_gpu *g = plan->gpu;
    spryi_cuda_product *p = &g->product;
    p->row_begin = g->chunks > 1 ? g->cuts[chunk] : 0;
    p->row_end = g->chunks > 1 ? g->cuts[chunk + 1] : p->a.rows;
    p->c_offsets = g->c_offsets;
    p->most_bytes = g->limit > g->held ? g->limit - g->held : 0;
    return in_device(plan, g->kernel->symbolic, err);
}

static void empty_room(spry_spgemm_plan *plan)
{
    spryi_spgemm_gpu *g = plan->gpu;
    give(plan, g->c_columns, g->room * 4);
    give(plan, g->c_values, g->room * (int64_t)spry_type_bytes(plan->job.type));
    g->c_columns = NULL;
    g->c_values = NULL;
    g->room = 0;
}

/* Room for the entries of a chunk on its way to the host. */
static spry_status make_room(spry_spgemm_plan *plan, int64_t nnz, spry_error *err)
{
    spryi_spgemm_gpu *g = plan->gpu;
    if (g->c_values && g->room >= nnz) return SPRY_OK;
    empty_room(plan);
    void *columns = NULL, *values = NULL;
    spry_status status = take(plan, &columns, nnz * 4, "columns of C", err);
    if (status != SPRY_OK) return status;
    status = take(plan, &values, nnz * (int64_t)spry_type_bytes(plan->job.type), "values of C", err);
    if (status != SPRY_OK) {
        give(plan, columns, nnz * 4);
        return status;
    }
    g->c_columns = columns;
    g->c_values = values;
    g->room = nnz;
    return SPRY_OK;
}

/* Counts all chunks; one chunk's state stays for its numeric phase. */
static spry_status count_all(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    plan->nnz = plan->job.products = 0;
    for (int64_t c = 0; c < g->chunks; c++) {
        SPRYI_TRY(count_chunk(plan, c, err));
        plan->nnz += g->product.nnz;
        plan->job.products += g->product.products;
        if (plan->options.result_device == 0) SPRYI_TRY(make_room(plan, g->product.nnz, err));
        if (g->chunks > 1) discard(plan);
    }
done:
    if (status != SPRY_OK) discard(plan);
    return status;
}

spry_status spryi_spgemm_count_there(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    void *offsets = NULL;
    g->kernel = spryi_find_device_spgemm_kernel(plan->device, plan->kernel->name);
    SPRYI_TRY(upload_operands(plan, err));
    SPRYI_TRY(take(plan, &offsets, (g->product.a.rows + 1) * 8, "row offsets", err));
    g->c_offsets = offsets;
    g->chunks = 1;
    for (;;) {
        status = count_all(plan, err);
        if (status != SPRY_TOO_LARGE && status != SPRY_OUT_OF_MEMORY) break;
        if (g->chunks >= g->product.a.rows) break;
        empty_room(plan);
        SPRYI_TRY(cut_finer(plan, err));
    }
    plan->peak_bytes = g->most;
done:
    return status;
}

/* ---- C ----------------------------------------------------------------------------------------------------- */

/* C's arrays, on the host or the device; adopted at once. */
static spry_status make_result(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_spgemm_gpu *g = plan->gpu;
    const int on_gpu = plan->options.result_device > 0;
    const spry_arrays *a = &g->product.a;
    int64_t result_bytes;
    spry_status status = spryi_size_result(plan, &result_bytes, err);
    if (status != SPRY_OK) return status;
    spry_arrays c = spryi_types_of(a->rows, g->product.b.cols, plan->nnz, (int32_t)plan->job.type,
                                   (int32_t)plan->offset_type, SPRY_I32);
    const int64_t counts[] = {a->rows + 1, plan->nnz, plan->nnz};
    const size_t sizes[] = {spry_index_type_bytes(plan->offset_type), 4, spry_type_bytes(plan->job.type)};
    void *made[3] = {NULL, NULL, NULL};
    for (int n = 0; n < 3 && status == SPRY_OK; n++)
        status = on_gpu ? take(plan, &made[n], counts[n] * (int64_t)sizes[n], "C", err)
                        : spryi_allocate(plan->context, &made[n], counts[n], sizes[n], "C", err);
    if (status != SPRY_OK) {
        for (int n = 0; n < 3; n++) {
            if (on_gpu)
                give(plan, made[n], counts[n] * (int64_t)sizes[n]);
            else
                spryi_release(plan->context, made[n]);
        }
        return status;
    }
    c.device = on_gpu ? plan->device->number : 0;
    c.offsets = made[0];
    c.indices = made[1];
    c.values = made[2];
    c.sorted = c.unique = SPRY_KNOWN_YES;
    return spryi_matrix_adopt(plan->context, &plan->C, &c, SPRYI_REAL, err);
}

/* The chunk's offsets into C's from its first row on, `shift` entries up. */
static spry_status deliver_offsets(spry_spgemm_plan *plan, int64_t shift, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_spgemm_gpu *g = plan->gpu;
    const int64_t first = g->product.row_begin, count = g->product.row_end - first + 1;
    const int to_32 = plan->offset_type == SPRY_I32;
    void *offsets = (void *)(uintptr_t)plan->C->a.offsets;
    if (plan->C->a.device > 0)
        return plan->device->ops->spgemm->copy_offsets(plan->device->ordinal, (char *)offsets + first * (to_32 ? 4 : 8),
                                                       to_32, g->c_offsets, shift, count, NULL, err);
    int64_t *host = NULL;
    SPRYI_TRY(SPRYI_NEW(plan->context, &host, count, "row offsets", err));
    SPRYI_TRY(plan->device->ops->copy(plan->device, host, g->c_offsets, count * 8, SPRYI_FROM_DEVICE, NULL, err));
    SPRYI_TRY(plan->device->ops->synchronize(plan->device, NULL, err));
    for (int64_t i = 0; i < count; i++) spryi_set_index(offsets, plan->offset_type, first + i, host[i] + shift);
done:
    spryi_release(plan->context, host);
    return status;
}

/*
 * Pages that memory does not have yet, by all threads while the GPU computes: in a copy, one thread would wait for each
 * (3 GB/s where the bus has 14; docs/results/spgemm002-2026-11-22.md).
 */
static void touch_pages(const spry_context *context, char *memory, int64_t bytes)
{
    enum { PAGE = 4096, WORTH_THREADS = 16 << 20 };
    if (bytes < WORTH_THREADS) return;
    const int threads = spryi_threads(context, bytes);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t p = 0; p < bytes / PAGE; p++) memory[p * PAGE] = 0;
}

/* The chunk that was counted last, its columns and values into C from entry `at` on. */
static spry_status fill_chunk(spry_spgemm_plan *plan, int64_t at, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    spryi_cuda_product *p = &g->product;
    const int64_t size = (int64_t)spry_type_bytes(plan->job.type);
    int32_t *columns = (int32_t *)(uintptr_t)plan->C->a.indices + at;
    char *values = (char *)(uintptr_t)plan->C->a.values + at * size;
    const int on_gpu = plan->C->a.device > 0;
    p->c_columns = on_gpu ? columns : g->c_columns;
    p->c_values = on_gpu ? (void *)values : g->c_values;
    p->alpha = plan->job.alpha;
    p->values_alone = plan->runs > 0;
    SPRYI_TRY(in_device(plan, g->kernel->numeric, err));
    if (!on_gpu && plan->runs == 0) {
        touch_pages(plan->context, (char *)columns, p->nnz * 4);
        touch_pages(plan->context, values, p->nnz * size);
    }
    SPRYI_TRY(plan->device->ops->synchronize(plan->device, NULL, err));
    if (on_gpu) goto done;
    const double start = spryi_now_us();
    if (!p->values_alone)
        SPRYI_TRY(
            plan->device->ops->copy(plan->device, columns, p->c_columns, p->nnz * 4, SPRYI_FROM_DEVICE, NULL, err));
    SPRYI_TRY(plan->device->ops->copy(plan->device, values, p->c_values, p->nnz * size, SPRYI_FROM_DEVICE, NULL, err));
    SPRYI_TRY(plan->device->ops->synchronize(plan->device, NULL, err));
    plan->download_us += spryi_now_us() - start;
done:
    return status;
}

/* C in device memory, made in one piece, loses its zeros there. */
static spry_status drop_on_device(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    const spryi_cuda_spgemm *s = plan->device->ops->spgemm;
    spry_arrays *c = &plan->C->a;
    void *workspace = NULL;
    const int64_t bytes = s->drop_zeros_bytes(c->value_type, c->rows, c->nnz);
    SPRYI_TRY(take(plan, &workspace, bytes, "workspace", err));
    SPRYI_TRY(s->drop_zeros(plan->device->ordinal, g->c_offsets, (int32_t *)(uintptr_t)c->indices,
                            (void *)(uintptr_t)c->values, c->value_type, c->rows, &c->nnz, workspace, NULL, err));
    SPRYI_TRY(s->copy_offsets(plan->device->ordinal, (void *)(uintptr_t)c->offsets, c->offset_type == SPRY_I32,
                              g->c_offsets, 0, c->rows + 1, NULL, err));
    SPRYI_TRY(plan->device->ops->synchronize(plan->device, NULL, err));
done:
    give(plan, workspace, bytes);
    return status;
}

spry_status spryi_spgemm_fill_there(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_gpu *g = plan->gpu;
    const int stays = plan->options.result_device > 0;
    plan->download_us = 0;
    if (plan->options.drop_zeros && stays && g->chunks > 1)
        return spryi_fail(err, SPRY_UNSUPPORTED, "drop_zeros",
                          "spgemm: zeros are not dropped from a result in device memory that is made in chunks");
    if (!plan->C) SPRYI_TRY(make_result(plan, err));
    if (!plan->once) SPRYI_TRY(upload_values(plan, err)); /* they may have changed since the plan was made */
    int64_t at = 0;
    for (int64_t c = 0; c < g->chunks; c++) {
        if (g->chunks > 1) SPRYI_TRY(count_chunk(plan, c, err));
        SPRYI_TRY(fill_chunk(plan, at, err));
        if (plan->runs == 0) SPRYI_TRY(deliver_offsets(plan, at, err));
        at += g->product.nnz;
        if (g->chunks > 1) discard(plan);
    }
    if (plan->options.drop_zeros && stays) SPRYI_TRY(drop_on_device(plan, err));
    if (plan->options.drop_zeros && !stays) spryi_drop_zeros(plan->C);
    plan->runs = 1;
    plan->peak_bytes = g->most;
    plan->workspace_bytes = g->most > plan->input_bytes ? g->most - plan->input_bytes : 0;
done:
    if (status != SPRY_OK && g->chunks > 1) discard(plan);
    return status;
}

void spryi_spgemm_close_device(spry_spgemm_plan *plan)
{
    spryi_spgemm_gpu *g = plan->gpu;
    if (!g) return;
    if (g->kernel) discard(plan);
    for (int n = 0; n < 6; n++) plan->device->ops->release_in_order(plan->device, g->inputs[n]);
    plan->device->ops->release_in_order(plan->device, g->c_offsets);
    plan->device->ops->release_in_order(plan->device, g->c_columns);
    plan->device->ops->release_in_order(plan->device, g->c_values);
    (void)plan->device->ops->synchronize(plan->device, NULL,
                                         NULL); /* after a failure: nothing reads the caller's arrays any more */
    spryi_release(plan->context, g->scan);
    spryi_release(plan->context, g->cuts);
    spryi_release(plan->context, g);
    plan->gpu = NULL;
}
