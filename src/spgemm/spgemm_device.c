/*
 * Sparse times sparse on a device with its own memory: upload of the operands, the device's phases, and C on the device
 * or copied to the host. If a limit or the memory does not allow the whole product, rows are multiplied in chunks with
 * about equal products: twice as many until they fit, or a chunk is a row. All chunks are counted before C is
 * allocated, once and exactly.
 */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "spgemm/spgemm_plan.h"
#include "spry/spgemm.h"

typedef struct spryi_spgemm_there {
    const spryi_spgemm_device_phases *kernel;
    void *inputs[6];    /* device arrays of A and op(B) that the plan owns: offsets, columns, values of each */
    int64_t held;       /* bytes of the device now, inputs and the caller's arrays there included */
    int64_t *scan;      /* products of the rows before each, on the host; NULL while in one piece */
    int64_t *cuts;      /* rows at which chunks begin, chunks + 1; NULL: one chunk */
    int64_t *c_offsets; /* device, rows + 1: of one chunk from its first row on */
    int32_t *c_columns; /* device: C's own, or a chunk's on its way to the host */
    void *c_values;
    int64_t room;   /* entries that these hold */
    int structured; /* 1: C has its offsets and columns, and so has the device */
    spryi_device_product product;
} there;

/* ---- device memory, counted; all work of a product is in the default stream ---------------------------- */

/* Counts bytes that are held from now on. */
static void hold(spry_spgemm_plan *plan, int64_t bytes)
{
    plan->there->held += bytes;
    if (plan->there->held > plan->costs.peak_bytes) plan->costs.peak_bytes = plan->there->held;
}

/* Allocate and release device memory of a product, whose owner is the plan. Kernels call them too. */
static spry_status take(spryi_device_product *product, void **pointer, int64_t bytes, const char *what, spry_error *err)
{
    spry_spgemm_plan *plan = product->memory.owner;
    const int64_t limit = plan->options.memory_limit_bytes, sum = plan->there->held + bytes;
    if (limit > 0 && sum > limit)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", sum, limit,
                                "spgemm: inputs, result and workspace need at least %lld bytes, the limit is %lld",
                                (long long)sum, (long long)limit);
    spry_status status = plan->device->ops->allocate_in_order(plan->device, pointer, bytes, what, err);
    if (status == SPRY_OK) hold(plan, bytes);
    return status;
}

static void give(spryi_device_product *product, void *pointer, int64_t bytes)
{
    const spry_spgemm_plan *plan = product->memory.owner;
    if (!pointer) return;
    plan->device->ops->release_in_order(plan->device, pointer);
    plan->there->held -= bytes;
}

static spry_status copy(const spry_spgemm_plan *plan, void *to, const void *from, int64_t bytes, spryi_copy direction,
                        spry_error *err)
{
    return plan->device->ops->copy(plan->device, to, from, bytes, direction, NULL, err);
}

static spry_status synchronize(const spry_spgemm_plan *plan, spry_error *err)
{
    return plan->device->ops->synchronize(plan->device, NULL, err);
}

/* Runs a step with the device current. */
static spry_status in_device(spry_spgemm_plan *plan, spry_status (*step)(spry_spgemm_plan *, spry_error *),
                             spry_error *err)
{
    int previous;
    SPRYI_OK_OR_RETURN(plan->device->ops->enter(plan->device, &previous, err));
    spry_status status = step(plan, err);
    plan->device->ops->leave(plan->device, previous);
    return status;
}

/* ---- operands -------------------------------------------------------------------------------------- */

/* Copies one operand's arrays to the device, unless they are there. first: of its slots in inputs. */
static spry_status upload(spry_spgemm_plan *plan, spry_arrays *to, int first, spry_error *err)
{
    if (to->device > 0) {
        hold(plan, spryi_arrays_bytes(to));
        return SPRY_OK;
    }
    const void **arrays[] = {&to->offsets, &to->indices, &to->values};
    const int64_t bytes[] = {(to->rows + 1) * (int64_t)spryi_index_type_bytes(to->offset_type), to->nnz * 4,
                             to->nnz * (int64_t)spry_type_bytes(to->value_type)};
    void **inputs = plan->there->inputs + first;
    for (int n = 0; n < 3; n++) {
        SPRYI_OK_OR_RETURN(take(&plan->there->product, &inputs[n], bytes[n], "operand", err));
        SPRYI_OK_OR_RETURN(copy(plan, inputs[n], *arrays[n], bytes[n], SPRYI_TO_DEVICE, err));
        *arrays[n] = inputs[n];
    }
    to->device = plan->device->number;
    return SPRY_OK;
}

/* Copies new values of the operands. */
static spry_status upload_values(spry_spgemm_plan *plan, spry_error *err)
{
    const spry_arrays *from[] = {&plan->job.a, &plan->job.b};
    for (int m = 0; m < 2; m++) {
        void *to = plan->there->inputs[3 * m + 2];
        const int64_t bytes = from[m]->nnz * (int64_t)spry_type_bytes(from[m]->value_type);
        if (to) SPRYI_OK_OR_RETURN(copy(plan, to, from[m]->values, bytes, SPRYI_TO_DEVICE, err));
    }
    return SPRY_OK;
}

static spry_status upload_operands(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_device *device = plan->device;
    spryi_device_product *p = &plan->there->product;
    const double start = spryi_now_us();
    *p = (spryi_device_product){
        .a = plan->job.a,
        .b = plan->job.b,
        .type = plan->job.type,
        .device = device->ordinal,
        .kernel_parameters = plan->kernel_parameters,
        .processor.multiprocessors = device->units,
        .processor.shared_bytes = device->shared_bytes,
        .processor.major = device->major,
        .memory.allocate = take,
        .memory.release = give,
        .memory.owner = plan,
        .row_end = plan->job.a.rows,
        .tell_stages = plan->options.stages && plan->there->kernel->stages,
    };
    hold(plan, plan->costs.outside_bytes);
    SPRYI_TRY(upload(plan, &p->a, 0, err));
    if (plan->b.csr == plan->a.csr)
        p->b = p->a;
    else
        SPRYI_TRY(upload(plan, &p->b, 3, err));
    SPRYI_TRY(synchronize(plan, err));
done:
    plan->costs.upload_us = spryi_now_us() - start;
    return status;
}

/* ---- chunks ------------------------------------------------------------------------------------------- */

/* Frees the kernel's state. */
static void discard(there *t)
{
    if (t->product.state) t->kernel->discard(&t->product);
    t->product.state = NULL;
}

/* Finds the rows at which chunks of about equal products begin. Each chunk has at least one row. */
static void cut_evenly(int64_t *cuts, int64_t chunks, const int64_t *scan, int64_t rows)
{
    int64_t row = 0;
    cuts[0] = 0;
    for (int64_t c = 1; c < chunks; c++) {
        const int64_t until = scan[rows] / chunks * c + scan[rows] % chunks * c / chunks;
        row++;
        while (row < rows - (chunks - c) && scan[row] < until) row++;
        cuts[c] = row;
    }
    cuts[chunks] = rows;
}

/* Cuts twice as many chunks. Counts the products of rows the first time. */
static spry_status cut_finer(spry_spgemm_plan *plan, spry_error *err)
{
    there *t = plan->there;
    const int64_t rows = t->product.a.rows, chunks = 2 * plan->result.chunks < rows ? 2 * plan->result.chunks : rows;
    int64_t *cuts = NULL;
    if (!t->scan) {
        SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &t->scan, rows + 1, "products of the rows", err));
        SPRYI_OK_OR_RETURN(plan->device->ops->spgemm->scan_products(&t->product, t->scan, err));
    }
    SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &cuts, chunks + 1, "chunks", err));
    spryi_release(plan->context, t->cuts);
    t->cuts = cuts;
    plan->result.chunks = chunks;
    cut_evenly(cuts, chunks, t->scan, rows);
    return SPRY_OK;
}

static spry_status count_chunk(spry_spgemm_plan *plan, int64_t chunk, spry_error *err)
{
    const int64_t limit = plan->options.memory_limit_bytes;
    const there *t = plan->there;
    spryi_device_product *p = &plan->there->product;
    p->row_begin = t->cuts ? t->cuts[chunk] : 0;
    p->row_end = t->cuts ? t->cuts[chunk + 1] : p->a.rows;
    p->c_offsets = t->c_offsets;
    p->memory.most_bytes = limit > t->held ? limit - t->held : 0;
    return t->kernel->symbolic(p, err);
}

static void empty_room(spry_spgemm_plan *plan)
{
    there *t = plan->there;
    give(&t->product, t->c_columns, t->room * 4);
    give(&t->product, t->c_values, t->room * (int64_t)spry_type_bytes(plan->job.type));
    t->c_columns = NULL;
    t->c_values = NULL;
    t->room = 0;
}

/* Allocates device memory for the entries of a chunk that is copied to the host. */
static spry_status make_room(spry_spgemm_plan *plan, int64_t nnz, spry_error *err)
{
    there *t = plan->there;
    void *columns = NULL;
    if (t->c_values && t->room >= nnz) return SPRY_OK;
    empty_room(plan);
    SPRYI_OK_OR_RETURN(take(&t->product, &columns, nnz * 4, "columns of C", err));
    t->c_columns = columns;
    t->room = nnz;
    return take(&t->product, &t->c_values, nnz * (int64_t)spry_type_bytes(plan->job.type), "values of C", err);
}

/* Counts all chunks. The state of a single chunk is kept for its numeric phase. */
static spry_status count_all(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    there *t = plan->there;
    plan->result.nnz = plan->job.products = 0;
    for (int64_t c = 0; c < plan->result.chunks; c++) {
        SPRYI_TRY(count_chunk(plan, c, err));
        plan->result.nnz += t->product.nnz;
        plan->job.products += t->product.products;
        if (plan->options.result_device == 0) SPRYI_TRY(make_room(plan, t->product.nnz, err));
        if (plan->result.chunks > 1) discard(t);
    }
done:
    if (status != SPRY_OK) discard(t);
    return status;
}

static spry_status count_there(spry_spgemm_plan *plan, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT; /* of chunks that were too large, which is no failure of the call */
    void *offsets = NULL;
    const int64_t rows = plan->job.a.rows;
    SPRYI_OK_OR_RETURN(upload_operands(plan, err));
    SPRYI_OK_OR_RETURN(take(&plan->there->product, &offsets, (rows + 1) * 8, "row offsets", err));
    plan->there->c_offsets = offsets;
    for (;;) {
        const spry_status status = count_all(plan, &why);
        if (status == SPRY_OK) return SPRY_OK;
        if ((status != SPRY_TOO_LARGE && status != SPRY_OUT_OF_MEMORY) || plan->result.chunks >= rows)
            return spryi_hand_on(err, &why);
        empty_room(plan);
        SPRYI_OK_OR_RETURN(cut_finer(plan, err));
    }
}

static spry_status count(spry_spgemm_plan *plan, spry_error *err)
{
    const char *reason;
    spryi_kernel_functions functions;
    plan->costs.peak_bytes = 0;
    (void)plan->device->ops->find_kernel(plan->device, plan->kernel, &functions, &reason); /* selected: it is there */
    SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &plan->there, 1, "plan", err));
    *plan->there = (there){.kernel = functions.spgemm};
    return in_device(plan, count_there, err);
}

/* ---- C ------------------------------------------------------------------------------------------------- */

/* Allocates C's arrays on the host or the device, and creates C. */
static spry_status make_result(spry_spgemm_plan *plan, spry_error *err)
{
    const int stays = plan->options.result_device > 0;
    const spryi_spgemm_job *job = &plan->job;
    int64_t result_bytes;
    SPRYI_OK_OR_RETURN(spryi_size_result(plan, &result_bytes, err));
    spry_arrays c = spryi_types_of(plan->result.rows, plan->result.columns, plan->result.nnz, (int32_t)job->type,
                                   (int32_t)plan->result.offset_type, SPRY_I32);
    const int64_t bytes[] = {(c.rows + 1) * (int64_t)spryi_index_type_bytes(plan->result.offset_type), c.nnz * 4,
                             c.nnz * (int64_t)spry_type_bytes(job->type)};
    void *made[3] = {NULL, NULL, NULL};
    spry_status status = SPRY_OK;
    for (int n = 0; n < 3 && status == SPRY_OK; n++)
        status = stays ? take(&plan->there->product, &made[n], bytes[n], "C", err)
                       : spryi_allocate(plan->context, &made[n], bytes[n], 1, "C", err);
    for (int n = 0; n < 3 && status != SPRY_OK; n++) {
        if (stays)
            give(&plan->there->product, made[n], bytes[n]);
        else
            spryi_release(plan->context, made[n]);
    }
    if (status != SPRY_OK) return status;
    c.device = stays ? plan->device->number : 0;
    c.offsets = made[0];
    c.indices = made[1];
    c.values = made[2];
    c.sorted = c.unique = SPRY_KNOWN_YES;
    SPRYI_OK_OR_RETURN(spryi_matrix_adopt(plan->context, &plan->result.C, &c, SPRYI_REAL, err));
    plan->result.C->index_base = plan->a.given->index_base;
    return SPRY_OK;
}

/* The chunk's offsets into C's from its first row on, `shift` entries up. */
static spry_status deliver_offsets(spry_spgemm_plan *plan, int64_t shift, spry_error *err)
{
    spry_status status = SPRY_OK;
    const there *t = plan->there;
    const int64_t first = t->product.row_begin, count = t->product.row_end - first + 1;
    const int to_32 = plan->result.offset_type == SPRY_I32;
    void *offsets = (void *)(uintptr_t)plan->result.C->a.offsets;
    if (plan->result.C->a.device > 0)
        return plan->device->ops->spgemm->copy_offsets((char *)offsets + first * (to_32 ? 4 : 8), to_32, t->c_offsets,
                                                       shift, count, NULL, err);
    int64_t *host = NULL;
    SPRYI_TRY(SPRYI_NEW(plan->context, &host, count, "row offsets", err));
    SPRYI_TRY(copy(plan, host, t->c_offsets, count * 8, SPRYI_FROM_DEVICE, err));
    SPRYI_TRY(synchronize(plan, err));
    for (int64_t i = 0; i < count; i++) spryi_set_index(offsets, plan->result.offset_type, first + i, host[i] + shift);
done:
    spryi_release(plan->context, host);
    return status;
}

static void add_stage(double *sum, double us)
{
    if (us >= 0) *sum = us + (*sum > 0 ? *sum : 0);
}

/* What the chunk's stages took, added to those before it. */
static spry_status take_stages(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_device_product *p = &plan->there->product;
    spryi_spgemm_stages *all = &plan->stages, chunk = SPRYI_NO_STAGES;
    if (!p->tell_stages) return SPRY_OK;
    SPRYI_OK_OR_RETURN(plan->there->kernel->stages(p, &chunk, err));
    add_stage(&all->convert_us, chunk.convert_us);
    add_stage(&all->count_us, chunk.count_us);
    add_stage(&all->scan_us, chunk.scan_us);
    add_stage(&all->fill_us, chunk.fill_us);
    add_stage(&all->sort_us, chunk.sort_us);
    return SPRY_OK;
}

/*
 * The chunk that was counted last, its columns and values into C from entry `at` on. While the device computes, pages
 * of a large C are made: in a copy, one thread would wait for each (3 GB/s where the bus has 14).
 */
static spry_status fill_chunk(spry_spgemm_plan *plan, int64_t at, spry_error *err)
{
    enum { WORTH_THREADS = 4 << 20 };
    spry_status status = SPRY_OK;
    there *t = plan->there;
    spryi_device_product *p = &t->product;
    const int64_t size = (int64_t)spry_type_bytes(plan->job.type);
    int32_t *columns = (int32_t *)(uintptr_t)plan->result.C->a.indices + at;
    char *values = (plan->result.values ? (char *)plan->result.values : (char *)(uintptr_t)plan->result.C->a.values) +
                   at * size;
    const int stays = plan->result.C->a.device > 0;
    p->c_columns = stays ? columns : t->c_columns;
    p->c_values = stays ? (void *)values : t->c_values;
    p->alpha = plan->job.alpha;
    p->values_alone = t->structured;
    SPRYI_TRY(t->kernel->numeric(p, err));
    if (!stays && !t->structured && p->nnz >= WORTH_THREADS) {
        spryi_spgemm_touch_pages(plan->context, columns, p->nnz * 4);
        spryi_spgemm_touch_pages(plan->context, values, p->nnz * size);
    }
    SPRYI_TRY(synchronize(plan, err));
    SPRYI_TRY(take_stages(plan, err));
    if (stays) goto done;
    const double start = spryi_now_us();
    if (!p->values_alone) SPRYI_TRY(copy(plan, columns, p->c_columns, p->nnz * 4, SPRYI_FROM_DEVICE, err));
    SPRYI_TRY(copy(plan, values, p->c_values, p->nnz * size, SPRYI_FROM_DEVICE, err));
    SPRYI_TRY(synchronize(plan, err));
    plan->costs.download_us += spryi_now_us() - start;
done:
    return status;
}

/* C in device memory, made in one piece, loses its zeros there. */
static spry_status drop_there(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *from = plan->there->c_offsets;
    const spryi_spgemm_functions *s = plan->device->ops->spgemm;
    spry_arrays *c = &plan->result.C->a;
    void *workspace = NULL;
    const int64_t bytes = s->drop_zeros_bytes(c->value_type, c->rows, c->nnz);
    SPRYI_TRY(take(&plan->there->product, &workspace, bytes, "workspace", err));
    SPRYI_TRY(s->drop_zeros(from, (int32_t *)(uintptr_t)c->indices, (void *)(uintptr_t)c->values, c->value_type,
                            c->rows, &c->nnz, workspace, NULL, err));
    SPRYI_TRY(
        s->copy_offsets((void *)(uintptr_t)c->offsets, c->offset_type == SPRY_I32, from, 0, c->rows + 1, NULL, err));
    SPRYI_TRY(synchronize(plan, err));
done:
    give(&plan->there->product, workspace, bytes);
    return status;
}

static spry_status fill_there(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int stays = plan->options.result_device > 0, drops = plan->options.drop_zeros;
    plan->costs.download_us = 0;
    plan->stages = SPRYI_NO_STAGES;
    if (drops && stays && plan->result.chunks > 1)
        return spryi_fail(err, SPRY_UNSUPPORTED, "drop_zeros",
                          "spgemm: zeros are not dropped from a result in device memory that is made in chunks");
    if (!plan->result.C) SPRYI_TRY(make_result(plan, err));
    if (plan->there->structured) SPRYI_TRY(upload_values(plan, err)); /* they may have changed */
    int64_t at = 0;
    for (int64_t c = 0; c < plan->result.chunks; c++) {
        if (plan->result.chunks > 1) SPRYI_TRY(count_chunk(plan, c, err));
        SPRYI_TRY(fill_chunk(plan, at, err));
        if (!plan->there->structured) SPRYI_TRY(deliver_offsets(plan, at, err));
        at += plan->there->product.nnz;
        if (plan->result.chunks > 1) discard(plan->there);
    }
    if (drops && stays) SPRYI_TRY(drop_there(plan, err));
    if (drops && !stays) spryi_drop_zeros(plan->result.C);
    plan->there->structured = plan->result.chunks == 1;
    plan->costs.workspace_bytes =
        plan->costs.peak_bytes > plan->costs.input_bytes ? plan->costs.peak_bytes - plan->costs.input_bytes : 0;
done:
    if (status != SPRY_OK && plan->result.chunks > 1) discard(plan->there);
    return status;
}

static spry_status fill(spry_spgemm_plan *plan, spry_error *err)
{
    return in_device(plan, fill_there, err);
}

/* Kernels find columns together with values: a first numeric phase, whose values nobody sees. */
static spry_status ready(spry_spgemm_plan *plan, spry_error *err)
{
    if (plan->result.chunks > 1) {
        const int64_t limit = plan->options.memory_limit_bytes;
        const int64_t needed = limit < INT64_MAX / plan->result.chunks ? limit * plan->result.chunks : INT64_MAX;
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", needed, limit,
                                "spgemm: plans are done in one piece, which the limit of %lld bytes does not allow",
                                (long long)limit);
    }
    spry_status status = fill(plan, err);
    plan->costs.download_us = 0;
    return status;
}

static spry_status multiply(spry_spgemm_plan *plan, spry_error *err)
{
    SPRYI_OK_OR_RETURN(count(plan, err));
    const double start = spryi_now_us();
    spry_status status = fill(plan, err);
    plan->costs.run_us = spryi_now_us() - start;
    return status;
}

/* The symbolic phase has run: what it took is known, and C comes to it. */
static spry_status estimate(spry_spgemm_plan *plan, spry_spgemm_estimate_info *estimate, spry_error *err)
{
    (void)err;
    estimate->workspace_bytes =
        plan->costs.peak_bytes > plan->costs.input_bytes ? plan->costs.peak_bytes - plan->costs.input_bytes : 0;
    estimate->peak_bytes = estimate->least_bytes = plan->costs.peak_bytes + estimate->result_bytes;
    return SPRY_OK;
}

static void close_plan(spry_spgemm_plan *plan)
{
    there *t = plan->there;
    int previous;
    if (!t) return;
    if (plan->device->ops->enter(plan->device, &previous, NULL) == SPRY_OK) {
        discard(t);
        plan->device->ops->leave(plan->device, previous);
    }
    void *const arrays[] = {t->c_offsets, t->c_columns, t->c_values};
    for (int n = 0; n < 6; n++) plan->device->ops->release_in_order(plan->device, t->inputs[n]);
    for (int n = 0; n < 3; n++) plan->device->ops->release_in_order(plan->device, arrays[n]);
    (void)synchronize(plan, NULL); /* after a failure: nothing reads the caller's arrays any more */
    spryi_release(plan->context, t->scan);
    spryi_release(plan->context, t->cuts);
    spryi_release(plan->context, t);
    plan->there = NULL;
}

const spry_arrays *spryi_spgemm_uploaded_b(const spry_spgemm_plan *plan)
{
    return &plan->there->product.b;
}

int64_t spryi_spgemm_held_on_device(const spry_spgemm_plan *plan)
{
    return plan->there->held;
}

const spryi_spgemm_steps spryi_spgemm_on_device = {
    .count = count,
    .ready = ready,
    .fill = fill,
    .multiply = multiply,
    .estimate = estimate,
    .close = close_plan,
};
