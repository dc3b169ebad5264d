/* Sparse times sparse: validate, resolve the operands, count, allocate C exactly, fill. */
#include "ops/spgemm_plan.h"

#include "core/assemble.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/team.h"
#include "plan/select.h"

#include <stdio.h>
#include <string.h>

/* ---- validation ---------------------------------------------------------------------------------- */

static spry_status check_options(const spry_spgemm_options *o, spry_error *err)
{
    if (o->op_b != SPRY_NO_TRANSPOSE && o->op_b != SPRY_TRANSPOSE)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "op_b", o->op_b, SPRY_TRANSPOSE,
                                "spgemm: op_b is %d, expected SPRY_NO_TRANSPOSE or SPRY_TRANSPOSE", (int)o->op_b);
    if (o->value_type != SPRY_TYPE_DEFAULT && spryi_value_slot(o->value_type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "value_type", o->value_type, SPRY_F64,
                                "spgemm: value_type is %d, expected SPRY_F32 or SPRY_F64", (int)o->value_type);
    if (o->offset_type < SPRY_INDEX_DEFAULT || o->offset_type > SPRY_I64)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "offset_type", o->offset_type, SPRY_I64,
                                "spgemm: offset_type is %d, expected SPRY_I32 or SPRY_I64", (int)o->offset_type);
    if (o->memory_limit_bytes < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "memory_limit_bytes", o->memory_limit_bytes, 0,
                                "spgemm: memory_limit_bytes is %lld, expected 0 (no limit) or more",
                                (long long)o->memory_limit_bytes);
    if (o->drop_zeros != 0 && o->drop_zeros != 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "drop_zeros", o->drop_zeros, 1,
                                "spgemm: drop_zeros is %d, expected 0 or 1", o->drop_zeros);
    if (o->result_device < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "result_device", o->result_device, 0,
                                "spgemm: result_device is %d, expected 0 (host memory) or a GPU's number",
                                o->result_device);
    return SPRY_OK;
}

/* Shapes that fit, and the value type of C. */
static spry_status check_operands(spry_type *type, const spry_matrix *A, const spry_matrix *B,
                                  const spry_spgemm_options *o, spry_error *err)
{
    const int turned = o->op_b == SPRY_TRANSPOSE;
    const int64_t inner = turned ? B->a.cols : B->a.rows;
    if (A->a.cols != inner)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "B", inner, A->a.cols,
                                "spgemm: A has %lld columns, but %s has %lld rows", (long long)A->a.cols,
                                turned ? "the transpose of B" : "B", (long long)inner);
    const spry_type a = A->a.value_type, b = B->a.value_type;
    if (a != SPRY_PATTERN && b != SPRY_PATTERN && a != b)
        return spryi_fail(err, SPRY_UNSUPPORTED, "B",
                          "spgemm: A has %s values and B %s: convert one of them with spry_matrix_convert",
                          spry_type_name(a), spry_type_name(b));
    const spry_type stored = a != SPRY_PATTERN ? a : b;
    if (stored != SPRY_PATTERN && o->value_type != SPRY_TYPE_DEFAULT && o->value_type != stored)
        return spryi_fail(err, SPRY_UNSUPPORTED, "value_type",
                          "spgemm: value_type is %s, but the values of A and B are %s: convert them first",
                          spry_type_name(o->value_type), spry_type_name(stored));
    *type = stored != SPRY_PATTERN ? stored : o->value_type != SPRY_TYPE_DEFAULT ? o->value_type : SPRY_F64;
    return SPRY_OK;
}

/* ---- device and kernel --------------------------------------------------------------------------------- */

/* plan->device; *either = 1: the CPU for now, to be decided when the work is known. */
static spry_status select_device(spry_spgemm_plan *plan, const spry_spgemm_options *o, int *either, spry_error *err)
{
    const spryi_spgemm_kernel *kernel = o->kernel ? spryi_find_spgemm_kernel(o->kernel) : NULL;
    const int a = plan->a.given->a.device, b = plan->b.given->a.device, there = a > 0 ? a : b;
    const int is_auto = o->device && strcmp(o->device, "auto") == 0;
    spryi_selection_request request = {
        .device = is_auto ? NULL : o->device,
        .operand_device = there > 0 ? there : o->result_device,
        .result_device = o->result_device,
        .operand = "spgemm: a matrix",
        .result_argument = "result_device",
        .result = "spgemm: result_device",
        .result_place = "the device that computes",
    };
    *either = is_auto && !kernel && there == 0 && o->result_device == 0;
    if (!request.device && kernel && request.operand_device == 0) request.device = kernel->device;
    if (o->result_device > 0 && !spryi_device_at(plan->context, o->result_device))
        return spryi_device_usable(plan->context, NULL, o->result_device, err);
    if (there == 0) request.operand_device = 0;
    if (!request.device && there == 0 && o->result_device > 0)
        request.device = spryi_device_at(plan->context, o->result_device)->name;
    spry_status status = spryi_select_device(plan->context, &plan->device, &request, err);
    if (status == SPRY_OK && a > 0 && b > 0 && a != b)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "device", b, plan->device->number,
                                "spgemm: a matrix is in memory of device %d, the product was asked for on %s", b,
                                plan->device->name);
    return status;
}

/* why: the device was chosen; NULL: it was not. */
static spry_status select_kernel(spry_spgemm_plan *plan, const spry_spgemm_options *o, const char *why, spry_error *err)
{
    const char *reason, *device = plan->device->driver->name;
    if (o->kernel) {
        const spryi_spgemm_kernel *kernel = spryi_find_spgemm_kernel(o->kernel);
        if (!kernel)
            return spryi_fail(err, SPRY_UNKNOWN_NAME, "kernel", "spgemm: no kernel \"%s\"; `spry kernels` lists them",
                              o->kernel);
        if (!spryi_spgemm_kernel_available(plan->context, kernel, &reason))
            return spryi_fail(err, SPRY_DEVICE_UNAVAILABLE, "kernel", "kernel %s: %s", kernel->name, reason);
        if (strcmp(kernel->device, device) != 0)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, "kernel", "kernel %s runs on %s, but device is %s",
                              kernel->name, kernel->device, device);
        plan->kernel = kernel;
        snprintf(plan->reason, sizeof plan->reason, "kernel %s was asked for", kernel->name);
        return SPRY_OK;
    }
    for (int k = spry_spgemm_kernel_count() - 1; k >= 0 && !plan->kernel; k--)
        if (strcmp(spryi_spgemm_kernel_at(k)->device, device) == 0 &&
            spryi_spgemm_kernel_available(plan->context, spryi_spgemm_kernel_at(k), &reason))
            plan->kernel = spryi_spgemm_kernel_at(k);
    if (!plan->kernel)
        return spryi_fail(err, SPRY_UNSUPPORTED, "device", "spgemm: the CUDA plug-in was built without kernels for it");
    snprintf(plan->reason, sizeof plan->reason, "%s: %s", device,
             why                                      ? why
             : o->device && strcmp(o->device, "auto") ? "it was asked for"
             : plan->gpu                              ? "A, B or C is there"
                                                      : "A is in host memory");
    return SPRY_OK;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* The limit less what is held already; 0: none. Never below 1. */
static int64_t room(const spry_spgemm_plan *plan, int64_t held)
{
    if (plan->options.memory_limit_bytes == 0) return 0;
    return plan->options.memory_limit_bytes > held ? plan->options.memory_limit_bytes - held : 1;
}

/* Says what a phase holds at once; SPRY_TOO_LARGE past the limit. */
spry_status spryi_spgemm_admit(spry_spgemm_plan *plan, int64_t bytes, int exact, spry_error *err)
{
    const int64_t limit = plan->options.memory_limit_bytes;
    if (limit > 0 && bytes > limit)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                                "spgemm: inputs, result and workspace need %s%lld bytes, the limit is %lld",
                                exact ? "" : "at least ", (long long)bytes, (long long)limit);
    if (bytes > plan->peak_bytes) plan->peak_bytes = bytes;
    return SPRY_OK;
}

/* Bytes of a phase with one thread, for what is needed at least. */
static int64_t least_of(const spry_spgemm_plan *plan, spryi_spgemm_phase phase)
{
    return plan->kernel->sizes(&plan->job, phase, 1).bytes;
}

spry_status spryi_spgemm_take_workspace(spry_spgemm_plan *plan, int64_t bytes, spry_error *err)
{
    spryi_release(plan->context, plan->job.workspace);
    plan->job.workspace = NULL;
    spry_status status = spryi_allocate(plan->context, &plan->job.workspace, bytes, 1, "workspace", err);
    if (status == SPRY_OK) memset(plan->job.workspace, 0, (size_t)bytes);
    return status;
}

int64_t spryi_spgemm_offset_bytes(const spry_spgemm_plan *plan)
{
    const spryi_work_pieces *p = &plan->job.pieces;
    return (plan->job.a.rows + 1 + (p->products ? 2 * p->count + 1 : 3 * p->count + 2)) * (int64_t)sizeof(int64_t);
}

int spryi_spgemm_threads(const spry_context *context, const spryi_spgemm_job *job)
{
    enum { PIECE = 1 << 15 };
    const int64_t work = job->products < INT64_MAX - job->a.rows ? job->products + job->a.rows : job->products;
    const int threads = spryi_threads(context, work);
    return work / PIECE + 1 < threads ? (int)(work / PIECE + 1) : threads;
}

/* ---- the phases ------------------------------------------------------------------------------------------ */

/* Counts C's rows: offsets and nnz. */
static spry_status count(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    const int64_t inputs = plan->input_bytes + plan->converted_bytes;
    job->threads = plan->kernel->sequential ? 1 : spryi_spgemm_threads(plan->context, job);
    const int64_t held = inputs + spryi_spgemm_offset_bytes(plan);
    SPRYI_TRY(spryi_spgemm_admit(plan, held + least_of(plan, SPRYI_COUNT), 0, err));
    job->sizes = plan->kernel->sizes(job, SPRYI_COUNT, room(plan, held));
    const int64_t bytes = job->sizes.bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + bytes, 0, err));
    if (plan->kernel->uses_bitmaps && !spryi_spgemm_has_twins(&job->a))
        SPRYI_TRY(spryi_spgemm_make_bitmaps(plan->context, job, room(plan, held + bytes), err));
    SPRYI_TRY(spryi_spgemm_admit(plan, held + bytes + job->bitmaps.bytes, 0, err));
    SPRYI_TRY(SPRYI_NEW(plan->context, &job->offsets, job->a.rows + 1, "row offsets", err));
    SPRYI_TRY(spryi_spgemm_take_workspace(plan, bytes, err));
    plan->workspace_bytes = plan->converted_bytes + spryi_spgemm_offset_bytes(plan) + bytes + job->bitmaps.bytes;
    job->b_rises = spryi_spgemm_rises(plan->context, &job->b);
    (*plan->kernel->count)[spryi_value_slot(job->type)][spryi_index_pair(job->a.offset_type, job->a.index_type)](job);
    spryi_scan(job->offsets, job->a.rows);
    plan->nnz = job->offsets[job->a.rows];
done:
    return status;
}

/* Index types and bytes of C, and whether it fits. */
spry_status spryi_size_result(spry_spgemm_plan *plan, int64_t *result_bytes, spry_error *err)
{
    const spryi_spgemm_job *job = &plan->job;
    spry_index_type index_type = job->b.index_type;
    plan->offset_type = plan->options.offset_type;
    spry_status status =
        spryi_pick_index_types(&plan->offset_type, &index_type, job->a.rows, job->b.cols, plan->nnz, err);
    if (status != SPRY_OK) return status;
    const int64_t entry = (int64_t)(spry_type_bytes(job->type) + spry_index_type_bytes(index_type));
    *result_bytes = plan->nnz * entry + (job->a.rows + 1) * (int64_t)spry_index_type_bytes(plan->offset_type);
    return SPRY_OK;
}

/* C's own offsets: the job's narrowed, or a copy. */
static spry_status make_offsets(const spry_spgemm_plan *plan, void **offsets, spry_error *err)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t n = job->a.rows + 1;
    spry_status status =
        spryi_allocate(plan->context, offsets, n, spry_index_type_bytes(plan->offset_type), "row offsets of C", err);
    if (status != SPRY_OK) return status;
    if (plan->offset_type == SPRY_I64)
        memcpy(*offsets, job->offsets, (size_t)n * sizeof *job->offsets);
    else
        for (int64_t i = 0; i < n; i++) ((int32_t *)*offsets)[i] = (int32_t)job->offsets[i];
    return SPRY_OK;
}

/* C of the job's columns and values, which are its own then, or NULL, and of its offsets, which stay. */
spry_status spryi_spgemm_adopt(spry_spgemm_plan *plan, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    spry_arrays c = spryi_types_of(job->a.rows, job->b.cols, plan->nnz, (int32_t)job->type, (int32_t)plan->offset_type,
                                   (int32_t)job->b.index_type);
    void *offsets;
    spry_status status = make_offsets(plan, &offsets, err);
    if (status != SPRY_OK) return status;
    c.offsets = offsets;
    c.indices = job->columns;
    c.values = job->values;
    c.sorted = c.unique = SPRY_KNOWN_YES;
    job->columns = job->values = NULL; /* adopted now, also on failure */
    status = spryi_matrix_adopt(plan->context, &plan->C, &c, SPRYI_REAL, err);
    if (status != SPRY_OK) return status;
    job->columns = (void *)(uintptr_t)plan->C->a.indices;
    job->values = (void *)(uintptr_t)plan->C->a.values;
    return SPRY_OK;
}

/* Allocates C and the numeric phase's workspace. */
static spry_status prepare_fill(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    int64_t result_bytes;
    SPRYI_TRY(spryi_size_result(plan, &result_bytes, err));
    spryi_release(plan->context, job->workspace); /* the symbolic phase's, before C is there */
    job->workspace = NULL;
    int64_t held = plan->input_bytes + plan->converted_bytes + spryi_spgemm_offset_bytes(plan) + result_bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + least_of(plan, SPRYI_FILL), 1, err));
    const int64_t limit = plan->options.memory_limit_bytes;
    if (limit > 0 && held + job->bitmaps.bytes + plan->kernel->sizes(job, SPRYI_FILL, 0).bytes > limit)
        spryi_spgemm_drop_bitmaps(plan->context, job); /* it can be done without them */
    held += job->bitmaps.bytes;
    job->sizes = plan->kernel->sizes(job, SPRYI_FILL, room(plan, held));
    plan->fill_bytes = job->sizes.bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + plan->fill_bytes, 1, err));
    const int64_t workspace = held - plan->input_bytes - result_bytes + plan->fill_bytes;
    if (workspace > plan->workspace_bytes) plan->workspace_bytes = workspace;
    SPRYI_TRY(spryi_allocate(plan->context, &job->columns, plan->nnz, spry_index_type_bytes(job->b.index_type),
                             "columns of C", err));
    SPRYI_TRY(spryi_allocate(plan->context, &job->values, plan->nnz, spry_type_bytes(job->type), "values of C", err));
    SPRYI_TRY(spryi_spgemm_take_workspace(plan, plan->fill_bytes, err));
    SPRYI_TRY(spryi_spgemm_adopt(plan, err));
done:
    if (!plan->C) {
        spryi_release(plan->context, job->columns);
        spryi_release(plan->context, job->values);
        job->columns = job->values = NULL;
    }
    return status;
}

static void fill(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    const int value = spryi_value_slot(job->type), pair = spryi_index_pair(job->a.offset_type, job->a.index_type);
    const spryi_spgemm_table *phase = plan->runs > 0 ? plan->kernel->refill : plan->kernel->fill;
    (*phase)[value][pair](job);
    plan->runs = 1;
    spryi_spgemm_drop_bitmaps(plan->context, job); /* values alone need none */
}

/* ---- plans ------------------------------------------------------------------------------------------------ */

/* What a plan is made for: one product need not be counted before it is filled. */
typedef enum plan_use { FOR_RUNS, FOR_ESTIMATE, FOR_ONE_RUN } plan_use;

/* Counts on a GPU, and for one run makes C there as well. */
static spry_status work_there(spry_spgemm_plan *plan, plan_use use, spry_error *err)
{
    spry_status status = spryi_spgemm_count_there(plan, err);
    if (status == SPRY_OK && use == FOR_RUNS && plan->gpu->chunks > 1)
        return spryi_fail(err, SPRY_TOO_LARGE, "memory_limit_bytes",
                          "spgemm: plans are done in one piece, which the limit does not allow");
    if (status != SPRY_OK || use != FOR_ONE_RUN) return status;
    const double start = spryi_now_us();
    status = spryi_spgemm_fill_there(plan, err);
    plan->run_us = spryi_now_us() - start;
    return status;
}

/* *routed = 1: on a GPU that was chosen, not asked for. */
static spry_status try_plan(spry_context *context, spry_spgemm_plan **plan, const spry_matrix *A, const spry_matrix *B,
                            const spry_spgemm_options *o, plan_use use, int *routed, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spgemm_plan *made = NULL;
    spry_type type = SPRY_F64;
    const double start = spryi_now_us();
    SPRYI_TRY(check_options(o, err));
    SPRYI_TRY(check_operands(&type, A, B, o, err));
    SPRYI_TRY(SPRYI_NEW(context, &made, 1, "plan", err));
    *made = (spry_spgemm_plan){
        .context = context,
        .a.given = spryi_matrix_retain(A),
        .b.given = spryi_matrix_retain(B),
        .options = *o,
        .once = use != FOR_RUNS,
        .job = {.type = type, .alpha = o->alpha ? spryi_value_at(o->alpha, type, 0) : 1},
        .input_bytes = spryi_arrays_bytes(&A->a) + (A == B ? 0 : spryi_arrays_bytes(&B->a)),
    };
    made->options.alpha = made->options.device = made->options.kernel = NULL;
    made->options.info = NULL;
    int either;
    const char *why = NULL;
    SPRYI_TRY(select_device(made, o, &either, err));
    if (!made->device->driver->host_memory) SPRYI_TRY(spryi_spgemm_open_device(made, err));
    SPRYI_TRY(spryi_make_operands(made, err));
    if (made->job.a.device == 0 && made->job.b.device == 0) SPRYI_TRY(spryi_spgemm_cut(context, &made->job, err));
    const spryi_device *there = NULL;
    if (either && spryi_spgemm_route(made, &there, &why)) {
        *routed = 1;
        if (made->job.a.index_type != SPRY_I32 || !spryi_spgemm_rises(context, &made->b.csr->a)) {
            spry_spgemm_plan_destroy(made); /* a GPU wants other operands */
            spry_spgemm_options named = *o;
            named.device = there->name;
            status = try_plan(context, plan, A, B, &named, use, routed, err);
            if (status == SPRY_OK) snprintf((*plan)->reason, sizeof(*plan)->reason, "%s: %s", there->driver->name, why);
            return status;
        }
        made->device = there;
        SPRYI_TRY(spryi_spgemm_open_device(made, err));
    }
    SPRYI_TRY(select_kernel(made, o, why, err));
    SPRYI_TRY(spryi_make_columns(made, err));
    if (made->gpu)
        SPRYI_TRY(work_there(made, use, err));
    else if (use != FOR_ONE_RUN)
        SPRYI_TRY(count(made, err));
    *plan = made;
    made->setup_us = spryi_now_us() - start - made->run_us;
    made = NULL;
done:
    spry_spgemm_plan_destroy(made);
    return status;
}

/* A chosen GPU that fails, for lack of memory above all, leaves the work to the CPU. */
static spry_status make_plan(spry_context *context, spry_spgemm_plan **plan, const spry_matrix *A, const spry_matrix *B,
                             const spry_spgemm_options *o, plan_use use, spry_error *err)
{
    spry_error told = SPRY_ERROR_INIT;
    spry_spgemm_options here = *o;
    int routed = 0;
    spry_status status = try_plan(context, plan, A, B, o, use, &routed, &told);
    if (status != SPRY_OK && !routed && err) *err = told;
    if (status == SPRY_OK || !routed) return status;
    here.device = "cpu";
    status = try_plan(context, plan, A, B, &here, use, &routed, err);
    if (status == SPRY_OK)
        snprintf((*plan)->reason, sizeof(*plan)->reason, "cpu: the GPU could not: %.150s", told.message);
    return status;
}

static spry_status null_argument(const void *context, const void *out, const char *name, const spry_matrix *A,
                                 const spry_matrix *B, spry_error *err)
{
    const char *missing = !context ? "context" : !out ? name : !A ? "A" : !B ? "B" : NULL;
    if (!missing) return SPRY_OK;
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, missing, "spgemm: %s must not be NULL", missing);
}

spry_status spry_plan_spgemm(spry_context *context, spry_spgemm_plan **plan, const spry_matrix *A, const spry_matrix *B,
                             const spry_spgemm_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spgemm_plan *made = NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    SPRYI_TRY(null_argument(context, plan, "plan", A, B, err));
    SPRYI_TRY(SPRYI_CHECK_OPTIONS(options, err));
    if (options) o = *options;
    if (o.drop_zeros)
        return spryi_fail(err, SPRY_UNSUPPORTED, "drop_zeros",
                          "spgemm: a plan keeps one structure, which must not depend on values: drop_zeros is for "
                          "spry_spgemm");
    SPRYI_TRY(make_plan(context, &made, A, B, &o, FOR_RUNS, err));
    const double start = spryi_now_us();
    if (!made->gpu) SPRYI_TRY(prepare_fill(made, err));
    made->setup_us += spryi_now_us() - start;
    *plan = made;
    made = NULL;
done:
    spry_spgemm_plan_destroy(made);
    return status;
}

spry_status spry_spgemm_plan_run(spry_spgemm_plan *plan, const void *alpha, spry_error *err)
{
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "plan must not be NULL");
    const double start = spryi_now_us(), usual = plan->job.alpha;
    spryi_refresh_operands(plan); /* before the first run too: values may have changed since the plan was made */
    if (alpha) plan->job.alpha = spryi_value_at(alpha, plan->job.type, 0);
    spry_status status = SPRY_OK;
    if (plan->gpu)
        status = spryi_spgemm_fill_there(plan, err);
    else
        fill(plan);
    plan->job.alpha = usual;
    plan->run_us = spryi_now_us() - start;
    return status;
}

spry_status spry_spgemm_plan_get_result(const spry_spgemm_plan *plan, spry_matrix **C, spry_error *err)
{
    if (!plan || !C) return spryi_fail(err, SPRY_INVALID_ARGUMENT, !plan ? "plan" : "C", "plan and C must not be NULL");
    if (plan->runs == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "spgemm: the plan has no result before its first run");
    *C = spryi_matrix_retain(plan->C);
    return SPRY_OK;
}

static void tell(const spry_spgemm_plan *plan, spry_spgemm_info *info)
{
    const spryi_spgemm_job *job = &plan->job;
    *info = (spry_spgemm_info){
        .struct_size = sizeof *info,
        .device = plan->kernel->device,
        .kernel = plan->kernel->name,
        .deterministic = plan->kernel->deterministic,
        .threads = plan->gpu ? 0 : spryi_team(job->sizes.threads),
        .rows = job->a.rows,
        .cols = job->b.cols,
        .nnz = plan->C ? plan->C->a.nnz : plan->nnz,
        .products = job->products,
        .compression = plan->nnz > 0 ? (double)job->products / (double)plan->nnz : 0,
        .chunks = plan->gpu ? plan->gpu->chunks : 1,
        .peak_bytes = plan->peak_bytes,
        .workspace_bytes = plan->workspace_bytes,
        .setup_us = plan->setup_us,
        .upload_us = plan->upload_us,
        .run_us = plan->run_us,
        .download_us = plan->download_us,
    };
    snprintf(info->reason, sizeof info->reason, "%s", plan->reason);
}

spry_status spry_spgemm_plan_get_info(const spry_spgemm_plan *plan, spry_spgemm_info *info, spry_error *err)
{
    if (!plan || !info)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !plan ? "plan" : "info", "plan and info must not be NULL");
    spry_status status = SPRYI_CHECK_OPTIONS(info, err);
    if (status == SPRY_OK) tell(plan, info);
    return status;
}

void spry_spgemm_plan_destroy(spry_spgemm_plan *plan)
{
    if (!plan) return;
    spryi_spgemm_close_device(plan);
    spryi_drop_operands(plan);
    spry_matrix_destroy(plan->C);
    spryi_spgemm_drop_bitmaps(plan->context, &plan->job);
    spryi_release(plan->context, plan->job.pieces.rows);
    spryi_release(plan->context, plan->job.offsets);
    spryi_release(plan->context, plan->job.workspace);
    spryi_release(plan->context, plan);
}

/* ---- one product --------------------------------------------------------------------------------------------- */

spry_status spry_spgemm(spry_context *context, spry_matrix **C, const spry_matrix *A, const spry_matrix *B,
                        const spry_spgemm_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    SPRYI_TRY(null_argument(context, C, "C", A, B, err));
    SPRYI_TRY(SPRYI_CHECK_OPTIONS(options, err));
    if (options) o = *options;
    SPRYI_TRY(SPRYI_CHECK_OPTIONS(o.info, err));
    SPRYI_TRY(make_plan(context, &plan, A, B, &o, FOR_ONE_RUN, err));
    if (!plan->gpu) {
        double start = spryi_now_us();
        SPRYI_TRY(spryi_spgemm_at_once(plan, err));
        if (!plan->C) {
            SPRYI_TRY(count(plan, err));
            plan->setup_us += spryi_now_us() - start;
            start = spryi_now_us();
            SPRYI_TRY(prepare_fill(plan, err));
            fill(plan);
        }
        if (o.drop_zeros) spryi_drop_zeros(plan->C);
        plan->run_us = spryi_now_us() - start;
    }
    if (o.info) tell(plan, o.info);
    *C = plan->C;
    plan->C = NULL;
done:
    spry_spgemm_plan_destroy(plan);
    return status;
}

/* The symbolic phase has run: what it took is known, and what the numeric phase adds. */
static void tell_gpu_estimate(const spry_spgemm_plan *plan, spry_spgemm_estimate *estimate, int64_t result_bytes)
{
    const int64_t workspace = plan->gpu->most - plan->input_bytes, peak = plan->gpu->most + result_bytes;
    *estimate = (spry_spgemm_estimate){
        .struct_size = sizeof *estimate,
        .rows = plan->job.a.rows,
        .cols = plan->job.b.cols,
        .products = plan->job.products,
        .nnz = plan->nnz,
        .nnz_bound = plan->nnz,
        .exact = 1,
        .compression = plan->nnz > 0 ? (double)plan->job.products / (double)plan->nnz : 0,
        .input_bytes = plan->input_bytes,
        .result_bytes = result_bytes,
        .workspace_bytes = workspace > 0 ? workspace : 0,
        .peak_bytes = peak,
        .least_bytes = peak,
        .device = plan->kernel->device,
        .kernel = plan->kernel->name,
    };
}

spry_status spry_estimate_spgemm(spry_context *context, spry_spgemm_estimate *estimate, const spry_matrix *A,
                                 const spry_matrix *B, const spry_spgemm_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    int64_t result_bytes;
    SPRYI_TRY(null_argument(context, estimate, "estimate", A, B, err));
    SPRYI_TRY(SPRYI_CHECK_OPTIONS(options, err));
    SPRYI_TRY(SPRYI_CHECK_OPTIONS(estimate, err));
    if (options) o = *options;
    o.memory_limit_bytes = 0;
    SPRYI_TRY(make_plan(context, &plan, A, B, &o, FOR_ESTIMATE, err));
    SPRYI_TRY(spryi_size_result(plan, &result_bytes, err));
    if (plan->gpu) {
        tell_gpu_estimate(plan, estimate, result_bytes);
        goto done;
    }
    spryi_spgemm_job *job = &plan->job;
    const int64_t held = plan->input_bytes + plan->converted_bytes + spryi_spgemm_offset_bytes(plan);
    const int64_t least_count = held + least_of(plan, SPRYI_COUNT);
    const int64_t least_fill = held + result_bytes + least_of(plan, SPRYI_FILL);
    const int64_t fill_bytes = plan->kernel->sizes(job, SPRYI_FILL, 0).bytes + job->bitmaps.bytes;
    int64_t peak = held + result_bytes + fill_bytes, workspace = held - plan->input_bytes + fill_bytes, at_once;
    if (workspace < plan->workspace_bytes) workspace = plan->workspace_bytes;
    if (peak < plan->peak_bytes) peak = plan->peak_bytes;
    SPRYI_TRY(spryi_spgemm_ready_once(plan, &at_once, err));
    if (at_once > 0) workspace = at_once - plan->input_bytes;
    if (at_once > 0) peak = at_once + result_bytes;
    *estimate = (spry_spgemm_estimate){
        .struct_size = sizeof *estimate,
        .rows = job->a.rows,
        .cols = job->b.cols,
        .products = job->products,
        .nnz = plan->nnz,
        .nnz_bound = plan->nnz,
        .exact = 1,
        .compression = plan->nnz > 0 ? (double)job->products / (double)plan->nnz : 0,
        .input_bytes = plan->input_bytes,
        .result_bytes = result_bytes,
        .workspace_bytes = workspace,
        .peak_bytes = peak,
        .least_bytes = least_count > least_fill ? least_count : least_fill,
        .device = plan->kernel->device,
        .kernel = plan->kernel->name,
    };
done:
    spry_spgemm_plan_destroy(plan);
    return status;
}
