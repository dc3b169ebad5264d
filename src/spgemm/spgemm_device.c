/*
 * Sparse times sparse on a device with its own memory. Uploads the operands and runs the kernel's phases. C remains on
 * the device or is copied to the host. If a limit or the memory does not allow the whole product, rows are multiplied
 * in chunks with about equal numbers of products. The number of chunks doubles until they fit, or a chunk is one row.
 * All chunks are counted before C is allocated, so C is allocated once, with its exact size.
 */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "spgemm/spgemm_plan.h"
#include "spry/spgemm.h"

typedef struct spryi_spgemm_device_state {
    const spryi_spgemm_device_phases *kernel;
    void *inputs[6];    /* device arrays of A and op(B) that the plan owns: offsets, columns, values of each */
    int64_t held;       /* bytes now held on the device, including inputs and the caller's arrays on the device */
    int64_t *scan;      /* prefix sums of the rows' products, on the host; NULL while there is one chunk */
    int64_t *cuts;      /* first row of each chunk, then the number of rows; NULL: one chunk */
    int64_t *c_offsets; /* device, rows + 1: offsets of one chunk */
    int32_t *c_columns; /* device: columns of one chunk, until they are copied to the host */
    void *c_values;
    int64_t room;    /* capacity of c_columns and c_values, in entries */
    bool structured; /* offsets and columns are complete, in C and on the device */
    spryi_device_product product;
} device_state;

/* ---- device memory, counted; all work of a product is in the default stream ---------------------------- */

/* Adds `bytes` to the bytes held on the device, and updates the peak. */
static void hold(spry_spgemm_plan *plan, int64_t bytes)
{
    plan->device_state->held += bytes;
    if (plan->device_state->held > plan->costs.peak_bytes) plan->costs.peak_bytes = plan->device_state->held;
}

/*
 * Allocates device memory for a product, counted against the plan's limit. Kernels call take and give through
 * product->memory.
 */
static spry_status take(spryi_device_product *product, void **pointer, int64_t bytes, const char *what, spry_error *err)
{
    spry_spgemm_plan *plan = product->memory.owner;
    const int64_t limit = plan->options.memory_limit_bytes, sum = plan->device_state->held + bytes;
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
    plan->device_state->held -= bytes;
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

/* Copies one operand's arrays to the device, unless they are on the device. first: index in inputs. */
static spry_status upload(spry_spgemm_plan *plan, spry_arrays *to, int first, spry_error *err)
{
    if (to->device > 0) {
        hold(plan, spryi_arrays_bytes(to));
        return SPRY_OK;
    }
    const void **arrays[] = {&to->offsets, &to->indices, &to->values};
    const int64_t bytes[] = {(to->rows + 1) * (int64_t)spryi_index_type_bytes(to->offset_type), to->nnz * 4,
                             to->nnz * (int64_t)spry_type_bytes(to->value_type)};
    void **inputs = plan->device_state->inputs + first;
    for (int n = 0; n < 3; n++) {
        SPRYI_OK_OR_RETURN(take(&plan->device_state->product, &inputs[n], bytes[n], "operand", err));
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
        void *to = plan->device_state->inputs[3 * m + 2];
        const int64_t bytes = from[m]->nnz * (int64_t)spry_type_bytes(from[m]->value_type);
        if (to) SPRYI_OK_OR_RETURN(copy(plan, to, from[m]->values, bytes, SPRYI_TO_DEVICE, err));
    }
    return SPRY_OK;
}

static spry_status upload_operands(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_device *device = plan->device;
    spryi_device_product *p = &plan->device_state->product;
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
        .measure_stages = plan->options.stages && plan->device_state->kernel->stages,
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
static void discard(device_state *t)
{
    if (t->product.state) t->kernel->discard(&t->product);
    t->product.state = NULL;
}

/* Finds the first rows of chunks with about equal numbers of products. Each chunk has at least one row. */
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

/* Doubles the number of chunks. The first call counts the products of the rows. */
static spry_status cut_finer(spry_spgemm_plan *plan, spry_error *err)
{
    device_state *t = plan->device_state;
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
    const device_state *t = plan->device_state;
    spryi_device_product *p = &plan->device_state->product;
    p->row_begin = t->cuts ? t->cuts[chunk] : 0;
    p->row_end = t->cuts ? t->cuts[chunk + 1] : p->a.rows;
    p->c_offsets = t->c_offsets;
    p->memory.most_bytes = limit > t->held ? limit - t->held : 0;
    return t->kernel->symbolic(p, err);
}

static void release_chunk(spry_spgemm_plan *plan)
{
    device_state *t = plan->device_state;
    give(&t->product, t->c_columns, t->room * 4);
    give(&t->product, t->c_values, t->room * (int64_t)spry_type_bytes(plan->job.type));
    t->c_columns = NULL;
    t->c_values = NULL;
    t->room = 0;
}

/* Allocates device memory for the entries of a chunk that is copied to the host. */
static spry_status reserve_chunk(spry_spgemm_plan *plan, int64_t nnz, spry_error *err)
{
    device_state *t = plan->device_state;
    void *columns = NULL;
    if (t->c_values && t->room >= nnz) return SPRY_OK;
    release_chunk(plan);
    SPRYI_OK_OR_RETURN(take(&t->product, &columns, nnz * 4, "columns of C", err));
    t->c_columns = columns;
    t->room = nnz;
    return take(&t->product, &t->c_values, nnz * (int64_t)spry_type_bytes(plan->job.type), "values of C", err);
}

/* Counts all chunks. The state of a single chunk is kept for its numeric phase. */
static spry_status count_all(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    device_state *t = plan->device_state;
    plan->result.nnz = plan->job.products = 0;
    for (int64_t c = 0; c < plan->result.chunks; c++) {
        SPRYI_TRY(count_chunk(plan, c, err));
        plan->result.nnz += t->product.nnz;
        plan->job.products += t->product.products;
        if (plan->options.result_device == 0) SPRYI_TRY(reserve_chunk(plan, t->product.nnz, err));
        if (plan->result.chunks > 1) discard(t);
    }
done:
    if (status != SPRY_OK) discard(t);
    return status;
}

static spry_status count_on_device(spry_spgemm_plan *plan, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT; /* why larger chunks failed, which is not an error of the call */
    void *offsets = NULL;
    const int64_t rows = plan->job.a.rows;
    SPRYI_OK_OR_RETURN(upload_operands(plan, err));
    SPRYI_OK_OR_RETURN(take(&plan->device_state->product, &offsets, (rows + 1) * 8, "row offsets", err));
    plan->device_state->c_offsets = offsets;
    for (;;) {
        const spry_status status = count_all(plan, &why);
        if (status == SPRY_OK) return SPRY_OK;
        if ((status != SPRY_TOO_LARGE && status != SPRY_OUT_OF_MEMORY) || plan->result.chunks >= rows)
            return spryi_hand_on(err, &why);
        release_chunk(plan);
        SPRYI_OK_OR_RETURN(cut_finer(plan, err));
    }
}

static spry_status count(spry_spgemm_plan *plan, spry_error *err)
{
    const char *reason;
    spryi_kernel_functions functions;
    plan->costs.peak_bytes = 0;
    (void)plan->device->ops->find_kernel(plan->device, plan->kernel, &functions, &reason); /* selected: it exists */
    SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &plan->device_state, 1, "plan", err));
    *plan->device_state = (device_state){.kernel = functions.spgemm};
    return in_device(plan, count_on_device, err);
}

/* ---- C ------------------------------------------------------------------------------------------------- */

/* Allocates C's arrays on the host or the device, and creates C. */
static spry_status create_result(spry_spgemm_plan *plan, spry_error *err)
{
    const bool on_device = plan->options.result_device > 0;
    const spryi_spgemm_job *job = &plan->job;
    int64_t result_bytes;
    SPRYI_OK_OR_RETURN(spryi_size_result(plan, &result_bytes, err));
    spry_arrays c = spryi_types_of(plan->result.rows, plan->result.columns, plan->result.nnz, (int32_t)job->type,
                                   (int32_t)plan->result.offset_type, SPRY_I32);
    const int64_t bytes[] = {(c.rows + 1) * (int64_t)spryi_index_type_bytes(plan->result.offset_type), c.nnz * 4,
                             c.nnz * (int64_t)spry_type_bytes(job->type)};
    void *arrays[3] = {NULL, NULL, NULL};
    spry_status status = SPRY_OK;
    for (int n = 0; n < 3 && status == SPRY_OK; n++)
        status = on_device ? take(&plan->device_state->product, &arrays[n], bytes[n], "C", err)
                           : spryi_allocate(plan->context, &arrays[n], bytes[n], 1, "C", err);
    for (int n = 0; n < 3 && status != SPRY_OK; n++) {
        if (on_device)
            give(&plan->device_state->product, arrays[n], bytes[n]);
        else
            spryi_release(plan->context, arrays[n]);
    }
    if (status != SPRY_OK) return status;
    c.device = on_device ? plan->device->number : 0;
    c.offsets = arrays[0];
    c.indices = arrays[1];
    c.values = arrays[2];
    c.sorted = c.unique = SPRY_KNOWN_YES;
    SPRYI_OK_OR_RETURN(spryi_matrix_adopt(plan->context, &plan->result.C, &c, SPRYI_REAL, err));
    plan->result.C->index_base = plan->a.given->index_base;
    return SPRY_OK;
}

/* Copies the chunk's offsets plus `shift` to C's offsets, from the chunk's first row on. */
static spry_status deliver_offsets(spry_spgemm_plan *plan, int64_t shift, spry_error *err)
{
    spry_status status = SPRY_OK;
    const device_state *t = plan->device_state;
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

/* Adds the times of the chunk's stages to those of the chunks before. */
static spry_status take_stages(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_device_product *p = &plan->device_state->product;
    spryi_spgemm_stages *all = &plan->stages, chunk = SPRYI_NO_STAGES;
    if (!p->measure_stages) return SPRY_OK;
    SPRYI_OK_OR_RETURN(plan->device_state->kernel->stages(p, &chunk, err));
    add_stage(&all->convert_us, chunk.convert_us);
    add_stage(&all->count_us, chunk.count_us);
    add_stage(&all->scan_us, chunk.scan_us);
    add_stage(&all->fill_us, chunk.fill_us);
    add_stage(&all->sort_us, chunk.sort_us);
    return SPRY_OK;
}

/*
 * Computes the columns and values of the chunk that was counted last. They are stored in C from entry `at` on. While
 * the device computes, threads touch the pages of a large C. Otherwise the copy would wait for each new page, and would
 * reach 3 GB/s instead of 14 GB/s.
 */
static spry_status fill_chunk(spry_spgemm_plan *plan, int64_t at, spry_error *err)
{
    enum { WORTH_THREADS = 4 << 20 };
    spry_status status = SPRY_OK;
    device_state *t = plan->device_state;
    spryi_device_product *p = &t->product;
    const int64_t size = (int64_t)spry_type_bytes(plan->job.type);
    int32_t *columns = (int32_t *)(uintptr_t)plan->result.C->a.indices + at;
    char *values = (plan->result.values ? (char *)plan->result.values : (char *)(uintptr_t)plan->result.C->a.values) +
                   at * size;
    const bool on_device = plan->result.C->a.device > 0;
    p->c_columns = on_device ? columns : t->c_columns;
    p->c_values = on_device ? (void *)values : t->c_values;
    p->alpha = plan->job.alpha;
    p->values_only = t->structured;
    SPRYI_TRY(t->kernel->numeric(p, err));
    if (!on_device && !t->structured && p->nnz >= WORTH_THREADS) {
        spryi_spgemm_touch_pages(plan->context, columns, p->nnz * 4);
        spryi_spgemm_touch_pages(plan->context, values, p->nnz * size);
    }
    SPRYI_TRY(synchronize(plan, err));
    SPRYI_TRY(take_stages(plan, err));
    if (on_device) goto done;
    const double start = spryi_now_us();
    if (!p->values_only) SPRYI_TRY(copy(plan, columns, p->c_columns, p->nnz * 4, SPRYI_FROM_DEVICE, err));
    SPRYI_TRY(copy(plan, values, p->c_values, p->nnz * size, SPRYI_FROM_DEVICE, err));
    SPRYI_TRY(synchronize(plan, err));
    plan->costs.download_us += spryi_now_us() - start;
done:
    return status;
}

/* Removes zeros from C in device memory, which was computed in one chunk. */
static spry_status drop_zeros_on_device(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *from = plan->device_state->c_offsets;
    const spryi_spgemm_functions *s = plan->device->ops->spgemm;
    spry_arrays *c = &plan->result.C->a;
    void *workspace = NULL;
    const int64_t bytes = s->drop_zeros_bytes(c->value_type, c->rows, c->nnz);
    SPRYI_TRY(take(&plan->device_state->product, &workspace, bytes, "workspace", err));
    SPRYI_TRY(s->drop_zeros(from, (int32_t *)(uintptr_t)c->indices, (void *)(uintptr_t)c->values, c->value_type,
                            c->rows, &c->nnz, workspace, NULL, err));
    SPRYI_TRY(
        s->copy_offsets((void *)(uintptr_t)c->offsets, c->offset_type == SPRY_I32, from, 0, c->rows + 1, NULL, err));
    SPRYI_TRY(synchronize(plan, err));
done:
    give(&plan->device_state->product, workspace, bytes);
    return status;
}

static spry_status fill_on_device(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    const bool on_device = plan->options.result_device > 0, drops = plan->options.drop_zeros;
    plan->costs.download_us = 0;
    plan->stages = SPRYI_NO_STAGES;
    if (drops && on_device && plan->result.chunks > 1)
        return spryi_fail(err, SPRY_UNSUPPORTED, "drop_zeros",
                          "spgemm: drop_zeros does not work for a result in device memory that is computed in chunks");
    if (!plan->result.C) SPRYI_TRY(create_result(plan, err));
    if (plan->device_state->structured) SPRYI_TRY(upload_values(plan, err)); /* values may have changed */
    int64_t at = 0;
    for (int64_t c = 0; c < plan->result.chunks; c++) {
        if (plan->result.chunks > 1) SPRYI_TRY(count_chunk(plan, c, err));
        SPRYI_TRY(fill_chunk(plan, at, err));
        if (!plan->device_state->structured) SPRYI_TRY(deliver_offsets(plan, at, err));
        at += plan->device_state->product.nnz;
        if (plan->result.chunks > 1) discard(plan->device_state);
    }
    if (drops && on_device) SPRYI_TRY(drop_zeros_on_device(plan, err));
    if (drops && !on_device) spryi_drop_zeros(plan->result.C);
    plan->device_state->structured = plan->result.chunks == 1;
    plan->costs.workspace_bytes =
        plan->costs.peak_bytes > plan->costs.input_bytes ? plan->costs.peak_bytes - plan->costs.input_bytes : 0;
done:
    if (status != SPRY_OK && plan->result.chunks > 1) discard(plan->device_state);
    return status;
}

static spry_status fill(spry_spgemm_plan *plan, spry_error *err)
{
    return in_device(plan, fill_on_device, err);
}

/*
 * Computes C's structure. Kernels find columns together with values, so a numeric phase runs and its values are
 * discarded.
 */
static spry_status ready(spry_spgemm_plan *plan, spry_error *err)
{
    if (plan->result.chunks > 1) {
        const int64_t limit = plan->options.memory_limit_bytes;
        const int64_t needed = limit < INT64_MAX / plan->result.chunks ? limit * plan->result.chunks : INT64_MAX;
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", needed, limit,
                                "spgemm: a plan computes all rows together, which needs more than the limit of %lld "
                                "bytes",
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

/*
 * Sets the estimate's bytes. The symbolic phase has run, so the plan's peak includes its memory. The bytes of C are
 * added.
 */
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
    device_state *t = plan->device_state;
    int previous;
    if (!t) return;
    if (plan->device->ops->enter(plan->device, &previous, NULL) == SPRY_OK) {
        discard(t);
        plan->device->ops->leave(plan->device, previous);
    }
    void *const arrays[] = {t->c_offsets, t->c_columns, t->c_values};
    for (int n = 0; n < 6; n++) plan->device->ops->release_in_order(plan->device, t->inputs[n]);
    for (int n = 0; n < 3; n++) plan->device->ops->release_in_order(plan->device, arrays[n]);
    (void)synchronize(plan, NULL); /* after an error, started work may still read the caller's arrays */
    spryi_release(plan->context, t->scan);
    spryi_release(plan->context, t->cuts);
    spryi_release(plan->context, t);
    plan->device_state = NULL;
}

const spry_arrays *spryi_spgemm_uploaded_b(const spry_spgemm_plan *plan)
{
    return &plan->device_state->product.b;
}

int64_t spryi_spgemm_held_on_device(const spry_spgemm_plan *plan)
{
    return plan->device_state->held;
}

const spryi_spgemm_steps spryi_spgemm_on_device = {
    .count = count,
    .ready = ready,
    .fill = fill,
    .multiply = multiply,
    .estimate = estimate,
    .close = close_plan,
};
