/* C = P^T*A*P: checks, the choice among three methods (triple.h), and functions that the methods share. */
#include "spgemm/triple.h"

#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "catalogue/catalogue.h"

#include <stdio.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------------------- */

spry_status spryi_triple_hold(spryi_triple_memory *memory, int64_t bytes, spry_error *err)
{
    const int64_t held = atomic_fetch_add(&memory->held, bytes) + bytes;
    int64_t peak = atomic_load(&memory->peak);
    if (memory->limit > 0 && held > memory->limit) {
        atomic_fetch_sub(&memory->held, bytes);
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", held, memory->limit,
                                "spgemm: inputs, result and workspace need at least %lld bytes, the limit is %lld",
                                (long long)held, (long long)memory->limit);
    }
    while (held > peak && !atomic_compare_exchange_weak(&memory->peak, &peak, held)) continue;
    return SPRY_OK;
}

spry_status spryi_triple_take(spryi_triple_memory *memory, spryi_triple_array *array, int64_t count, size_t size,
                              spry_error *err)
{
    const int64_t bytes = count * (int64_t)size;
    SPRYI_OK_OR_RETURN(spryi_triple_hold(memory, bytes, err));
    const spry_status status = spryi_allocate(memory->context, &array->at, count, size, "triple product", err);
    if (status == SPRY_OK)
        array->bytes = bytes;
    else
        atomic_fetch_sub(&memory->held, bytes);
    return status;
}

void spryi_triple_give(spryi_triple_memory *memory, spryi_triple_array *array)
{
    if (!array->at) return;
    spryi_release(memory->context, array->at);
    if (!array->reserved) atomic_fetch_sub(&memory->held, array->bytes);
    *array = (spryi_triple_array){0};
}

/*
 * Reserves address space for an array, without counting its bytes. Returns false if there is a memory limit, or if the
 * context cannot reserve.
 */
static bool reserve(const spryi_triple_memory *memory, spryi_triple_array *array, int64_t count, size_t size)
{
    if (memory->limit > 0 || spryi_reserve(memory->context, &array->at, count, size, "triple product", NULL) != SPRY_OK)
        return false;
    array->bytes = count * (int64_t)size;
    array->reserved = true;
    return true;
}

spry_status spryi_triple_grow(spryi_triple_memory *memory, spryi_triple_array *array, int64_t used, int64_t more,
                              size_t size, spry_error *err)
{
    enum { FIRST = 1024, FIRST_RESERVED = 1 << 17, FACTOR = 4 };
    const int64_t room = array->bytes / (int64_t)size, least = used + more;
    if (more <= room - used) return SPRY_OK;
    const int64_t larger = room + room / 2 + FIRST, reserved = FACTOR * room + FIRST_RESERVED;
    spryi_triple_array created = {0};
    if (!reserve(memory, &created, least > reserved ? least : reserved, size))
        SPRYI_OK_OR_RETURN(spryi_triple_take(memory, &created, least > larger ? least : larger, size, err));
    if (used > 0) memcpy(created.at, array->at, (size_t)used * size);
    spryi_triple_give(memory, array);
    *array = created;
    return SPRY_OK;
}

bool spryi_triple_hand_over(spryi_triple_memory *memory, spryi_triple_array *array, int64_t count, size_t size,
                            void **to)
{
    if (!array->reserved) return false;
    *to = array->at;
    *array = (spryi_triple_array){0};
    spryi_shrink(memory->context, to, count * (int64_t)size);
    return true;
}

spry_status spryi_triple_settle(spryi_triple_memory *memory, spryi_triple_array *array, int64_t count, size_t size,
                                spry_error *err)
{
    void *at;
    if (!spryi_triple_hand_over(memory, array, count, size, &at)) return SPRY_OK;
    array->at = at;
    array->bytes = count * (int64_t)size;
    array->reserved = true; /* not counted if the next call fails */
    SPRYI_OK_OR_RETURN(spryi_triple_hold(memory, array->bytes, err));
    array->reserved = false;
    return SPRY_OK;
}

spry_status spryi_triple_create_result(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    const int64_t nnz = plan->result.nnz;
    int64_t bytes;
    SPRYI_TRY(spryi_size_result(plan, &bytes, err));
    SPRYI_TRY(spryi_triple_hold(&plan->triple->memory, bytes, err));
    if (!job->columns)
        SPRYI_TRY(spryi_allocate(plan->context, &job->columns, nnz, spryi_index_type_bytes(job->b.index_type),
                                 "columns of C", err));
    if (!job->values)
        SPRYI_TRY(spryi_allocate(plan->context, &job->values, nnz, spry_type_bytes(job->type), "values of C", err));
    SPRYI_TRY(spryi_spgemm_adopt(plan, err));
done:
    if (!plan->result.C) {
        spryi_release(plan->context, job->columns);
        spryi_release(plan->context, job->values);
        job->columns = job->values = NULL;
    }
    return status;
}

/* ---- threads --------------------------------------------------------------------------------------------- */

int spryi_triple_threads(const spry_spgemm_plan *plan, int64_t work)
{
    return spryi_spgemm_threads(plan->context, plan->options.threads, plan->result.rows, work);
}

int spryi_triple_threads_that_fit(const spryi_triple_memory *memory, int threads, int64_t bytes)
{
    enum { RESERVE = 2 /* half of the remaining memory is for C */ };
    const int64_t left = memory->limit - atomic_load(&memory->held);
    if (memory->limit == 0 || bytes == 0) return threads;
    const int64_t fitting = left / RESERVE / bytes;
    return fitting < 1 ? 1 : fitting < threads ? (int)fitting : threads;
}

/* ---- the choice ------------------------------------------------------------------------------------------ */

/* Descriptors of the methods. Their names are used in info and options.kernel. */
static const spryi_kernel by_rows = {.name = "spgemm_triple_rows_cpu", .format = "csr", .device = "cpu"};
static const spryi_kernel by_runs = {.name = "spgemm_triple_runs_cpu", .format = "csr", .device = "cpu"};

/* Returns the method that options.kernel names, or NULL. */
static const spryi_kernel *named_method(const spry_spgemm_options *o)
{
    if (o->kernel && strcmp(o->kernel, by_rows.name) == 0) return &by_rows;
    if (o->kernel && strcmp(o->kernel, by_runs.name) == 0) return &by_runs;
    return NULL;
}

/* Returns true if rows of P are short enough to compute C without storing a product of two matrices. */
static bool has_short_rows(const spry_arrays *p)
{
    enum { MOST_ENTRIES = 6 };
    return p->nnz / MOST_ENTRIES <= p->rows;
}

/* Builds the operands on the host, and chooses the method. For the method by runs, also finds C's structure. */
static spry_status choose_method(spry_spgemm_plan *plan, const spryi_kernel *named, spry_error *err)
{
    spryi_triple_memory *memory = &plan->triple->memory;
    bool fits = false;
    SPRYI_OK_OR_RETURN(spryi_build_operands(plan, err));
    atomic_store(&memory->held, plan->costs.input_bytes + plan->costs.converted_bytes);
    atomic_store(&memory->peak, plan->costs.peak_bytes);
    plan->steps = &spryi_triple_by_runs;
    if (named == &by_runs || (!named && spryi_triple_has_runs(&plan->job.b)))
        SPRYI_OK_OR_RETURN(spryi_triple_find_runs(plan, &fits, err));
    if (named == &by_runs && !fits)
        return spryi_fail(err, SPRY_UNSUPPORTED, "kernel",
                          "spgemm: a row of C has more than %d entries, the limit of %s", UINT16_MAX, by_runs.name);
    plan->kernel = fits ? &by_runs : &by_rows;
    if (!fits) plan->steps = &spryi_triple_by_rows;
    const char *why = named  ? "its kernel was asked for"
                      : fits ? "most rows of P have the columns of the next row, so runs of rows are computed together"
                             : "rows of P are short, so C is computed row by row";
    snprintf(plan->reason, sizeof plan->reason, "cpu: %s", why);
    return SPRY_OK;
}

/* Computes C on the host without storing a product of two matrices. */
static spry_status multiply_at_once(spry_spgemm_plan *plan, const spryi_kernel *named, spry_error *err)
{
    SPRYI_OK_OR_RETURN(choose_method(plan, named, err));
    const double start = spryi_now_us();
    SPRYI_OK_OR_RETURN(plan->steps->multiply(plan, err));
    plan->costs.run_us = spryi_now_us() - start;
    const int64_t peak = atomic_load(&plan->triple->memory.peak);
    if (peak > plan->costs.peak_bytes) plan->costs.peak_bytes = peak;
    if (plan->options.drop_zeros) spryi_drop_zeros(plan->result.C);
    return SPRY_OK;
}

/* Computes C by two products, and writes the reason. */
static spry_status multiply_twice(const spryi_route *r, spry_spgemm_plan *plan, const spryi_spgemm_request *q,
                                  spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_triple_compute_products(r, plan, q, err));
    if (q->o->kernel)
        snprintf(plan->reason, sizeof plan->reason, "kernel %s was asked for, which computes A*P and then P^T*(A*P)",
                 q->o->kernel);
    else
        snprintf(plan->reason, sizeof plan->reason, "%s: %s, so A*P and then P^T*(A*P) are computed",
                 plan->device->driver->name,
                 plan->device->driver->host_memory ? "rows of P are long" : "the product is computed on this device");
    return SPRY_OK;
}

/* Creates a plan on the route's device, and computes C. */
static spry_status create_triple(const spryi_route *r, spry_spgemm_plan **plan, const spryi_spgemm_request *q,
                                 const spryi_kernel *named, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spgemm_plan *created = NULL;
    const double start = spryi_now_us();
    SPRYI_TRY(spryi_spgemm_new_plan(&created, q, err));
    SPRYI_TRY(SPRYI_NEW(q->context, &created->triple, 1, "plan", err));
    *created->triple = (spryi_triple){.memory = {.context = q->context, .limit = q->o->memory_limit_bytes}};
    created->shown[0] = created->shown[1] = NULL; /* no memory bounds: they would be for one product */
    created->device = r->device;
    created->result.rows = created->result.columns = q->B->a.columns;
    if (r->device->driver->host_memory && !q->o->kernel && (named || has_short_rows(&q->B->a)))
        SPRYI_TRY(multiply_at_once(created, named, err));
    else
        SPRYI_TRY(multiply_twice(r, created, q, err));
    const int64_t given_and_result = created->costs.input_bytes + spryi_arrays_bytes(&created->result.C->a);
    created->costs.workspace_bytes =
        created->costs.peak_bytes > given_and_result ? created->costs.peak_bytes - given_and_result : 0;
    created->costs.setup_us = spryi_now_us() - start - created->costs.run_us;
    spryi_spgemm_report_stages(created);
    created->result.C->index_base = q->A->index_base;
    *plan = created;
    created = NULL;
done:
    spry_spgemm_plan_destroy(created);
    return status;
}

/* ---- the public function --------------------------------------------------------------------------------- */

static spry_status check_triple(const spry_matrix *A, const spry_matrix *P, const spry_spgemm_options *o, bool kept,
                                spry_error *err)
{
    const spry_op ops[] = {o->op_a, o->op_b};
    for (int m = 0; m < 2; m++)
        if (ops[m] != SPRY_NO_TRANSPOSE)
            return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, m == 0 ? "op_a" : "op_b", ops[m], SPRY_NO_TRANSPOSE,
                                    "spgemm: %s is %d, expected SPRY_NO_TRANSPOSE in P^T*A*P", m == 0 ? "op_a" : "op_b",
                                    (int)ops[m]);
    if (A->a.rows != A->a.columns)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "A", A->a.rows, A->a.columns,
                                "spgemm: A has %lld rows and %lld columns, expected a square matrix in P^T*A*P",
                                (long long)A->a.rows, (long long)A->a.columns);
    if (P->a.rows != A->a.columns)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "P", P->a.rows, A->a.columns,
                                "spgemm: A has %lld columns, but P has %lld rows", (long long)A->a.columns,
                                (long long)P->a.rows);
    if (kept && o->drop_zeros)
        return spryi_fail(err, SPRY_UNSUPPORTED, "drop_zeros",
                          "spgemm: a kept plan has one structure, which must not depend on values: drop_zeros needs "
                          "plan to be NULL");
    return SPRY_OK;
}

/* Refuses an unknown kernel. If o->kernel names a method of this file, chooses the CPU and clears o->kernel. */
static spry_status check_kernel(const spryi_kernel *named, spry_spgemm_options *o, spry_error *err)
{
    spry_error cause = SPRY_ERROR_INIT;
    const spryi_kernel *found;
    int64_t parameters[SPRYI_PARAMETERS];
    if (o->kernel && !named && spryi_parse_kernel(&found, parameters, o->kernel, SPRYI_OP_SPGEMM, &cause) != SPRY_OK)
        return spryi_fail(err, cause.status, "kernel", "%s; P^T*A*P also has %s and %s", cause.message, by_rows.name,
                          by_runs.name);
    if (!named) return SPRY_OK;
    if (o->device > 0)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "kernel", o->device, SPRY_CPU,
                                "kernel %s runs on the CPU, device %d was asked for", named->name, o->device);
    o->kernel = NULL;
    o->device = SPRY_CPU;
    return SPRY_OK;
}

spry_status spry_spgemm_triple(spry_context *context, spry_matrix **C, spry_spgemm_plan **plan, const spry_matrix *A,
                               const spry_matrix *P, const spry_spgemm_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !C ? "C" : !A ? "A" : !P ? "P" : NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_error cause = SPRY_ERROR_INIT;
    spryi_route r = {0};
    spry_spgemm_plan *created = NULL;
    if (missing) return spryi_fail_missing(err, missing);
    SPRYI_OK_OR_RETURN(spryi_spgemm_take_options(&o, options, A, err));
    SPRYI_OK_OR_RETURN(spryi_spgemm_check_options(&o, err));
    SPRYI_OK_OR_RETURN(check_triple(A, P, &o, plan != NULL, err));
    const spryi_kernel *named = named_method(&o);
    SPRYI_OK_OR_RETURN(check_kernel(named, &o, err));
    spryi_spgemm_request q = {.context = context,
                              .A = A,
                              .B = P,
                              .o = &o,
                              .use = plan ? SPRYI_FOR_RUNS : SPRYI_FOR_ONE_RUN};
    SPRYI_OK_OR_RETURN(spryi_spgemm_check_operands(&q.type, A, P, &o, "P", err));
    SPRYI_OK_OR_RETURN(spryi_spgemm_find_route(&r, &q, err));
    spry_status status = create_triple(&r, &created, &q, named, r.chosen ? &cause : err);
    if (status != SPRY_OK && r.chosen) {
        r = (spryi_route){.device = spryi_device_at(context, 0)};
        status = create_triple(&r, &created, &q, named, err);
        if (status == SPRY_OK) spryi_spgemm_report_failure(created, &cause);
    }
    if (status != SPRY_OK) return status;
    *C = spryi_matrix_retain(created->result.C);
    if (plan)
        *plan = created;
    else
        spry_spgemm_plan_destroy(created);
    return SPRY_OK;
}
