/* One product in host memory whose rows are not counted first: C's arrays are reserved for all products, and shrunk. */
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "ops/spgemm_plan.h"

#include <string.h>

enum {
    MOST_COLUMNS = 64,  /* for each product: beyond, clearing a bit and its rank for each column would be */
    ASK_FROM = 16 << 20 /* bytes for which the machine is asked what it has */
};

int spryi_spgemm_rows_repeat(const spry_arrays *a)
{
    enum { SAMPLE = 64, STRETCH = 8 };
    const size_t size = spry_index_type_bytes(a->index_type);
    int64_t seen = 0, repeated = 0;
    for (int64_t s = 0; s < SAMPLE; s++)
        for (int64_t i = a->rows / SAMPLE * s + 1; i < a->rows / SAMPLE * s + STRETCH && i < a->rows; i++) {
            const int64_t before = spryi_index_at(a->offsets, a->offset_type, i - 1);
            const int64_t begin = spryi_index_at(a->offsets, a->offset_type, i), n = begin - before;
            const int64_t length = spryi_index_at(a->offsets, a->offset_type, i + 1) - begin;
            const char *columns = a->indices;
            seen += length > 1;
            repeated += length > 1 && n == length &&
                        memcmp(columns + (size_t)before * size, columns + (size_t)begin * size, (size_t)n * size) == 0;
        }
    return seen > 0 && repeated * 3 >= seen;
}

/*
 * Bytes of C if no two products met; -1: more than the machine or the limit has, beside `held`.
 */
static int64_t reserved_bytes(const spry_spgemm_plan *plan, int64_t held)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t entry = (int64_t)(spry_type_bytes(job->type) + spry_index_type_bytes(job->b.index_type));
    const int64_t limit = plan->options.memory_limit_bytes;
    if (job->products > INT64_MAX / 64) return -1;
    const int64_t bytes = job->products * entry + (job->a.rows + 1) * (int64_t)sizeof(int64_t);
    if (limit > 0 && held + bytes > limit) return -1;
    return bytes >= ASK_FROM && bytes > spry_available_memory_bytes() ? -1 : bytes;
}

spry_status spryi_spgemm_ready_one_pass(spry_spgemm_plan *plan, int64_t *held, spry_error *err)
{
    spryi_spgemm_job *job = &plan->job;
    const spryi_spgemm_host_phases *kernel = plan->kernel->spgemm;
    *held = 0;
    if (!spryi_spgemm_function(job, kernel->one_pass) || plan->context->allocate) return SPRY_OK;
    if (spryi_spgemm_rows_repeat(&job->a) || job->b.cols / MOST_COLUMNS > job->products + 1) return SPRY_OK;
    job->grouped = spryi_spgemm_column_groups_pay(plan->context, job);
    job->threads = spryi_spgemm_threads(plan);
    job->pool = &plan->context->pool;
    job->sizes = kernel->sizes(job, SPRYI_ONE_PASS, 0);
    const int64_t bytes = job->sizes.bytes, groups = job->grouped ? job->b.nnz * 4 : 0;
    const int64_t cuts = 4 * ((job->products + job->a.rows) / job->sizes.entries + job->pieces.count + 1) * 8;
    if (reserved_bytes(plan, spryi_spgemm_held_bytes(plan) + bytes + groups + cuts) < 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_spgemm_cut_one_pass(plan->context, job, job->sizes.entries, err));
    const int64_t all = spryi_spgemm_held_bytes(plan) + bytes + groups;
    if (reserved_bytes(plan, all) < 0) { /* more pieces pass the limit, which two phases may keep */
        spryi_release(plan->context, job->pieces.rows);
        job->pieces.rows = NULL;
        return spryi_spgemm_cut(plan->context, job, err);
    }
    plan->fill_bytes = bytes;
    *held = all;
    return SPRY_OK;
}

/* All that is held beside C. */
static spry_status take_room(spry_spgemm_plan *plan)
{
    spryi_spgemm_job *job = &plan->job;
    spry_status status = SPRYI_NEW(plan->context, &job->offsets, job->a.rows + 1, "row offsets", NULL);
    if (status == SPRY_OK) status = spryi_spgemm_take_workspace(plan, plan->fill_bytes, NULL);
    if (status == SPRY_OK && job->grouped) status = spryi_spgemm_make_column_groups(plan->context, job, NULL);
    return status;
}

spry_status spryi_spgemm_one_pass(spry_spgemm_plan *plan, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_spgemm_job *job = &plan->job;
    spry_context *context = plan->context;
    const size_t size = spry_type_bytes(job->type), index_size = spry_index_type_bytes(job->b.index_type);
    int64_t held, result_bytes;
    SPRYI_TRY(spryi_spgemm_ready_one_pass(plan, &held, err));
    if (held == 0 ||
        spryi_reserve(context, &job->columns, job->products, index_size, "columns of C", NULL) != SPRY_OK ||
        spryi_reserve(context, &job->values, job->products, size, "values of C", NULL) != SPRY_OK)
        goto done;
    if (take_room(plan) != SPRY_OK) {
        spryi_release(context, job->offsets);
        job->offsets = NULL;
        goto done; /* two phases reserve nothing, and may do with what there is */
    }
    job->b_rises = spryi_spgemm_rises(context, &job->b);
    const double start = spryi_now_us();
    spryi_spgemm_function(job, plan->kernel->spgemm->one_pass)(job);
    plan->stages.fill_us = spryi_now_us() - start;
    plan->nnz = job->offsets[job->a.rows];
    spryi_shrink(context, &job->columns, plan->nnz * (int64_t)index_size);
    spryi_shrink(context, &job->values, plan->nnz * (int64_t)size);
    SPRYI_TRY(spryi_size_result(plan, &result_bytes, err));
    plan->workspace_bytes = held - plan->input_bytes;
    SPRYI_TRY(spryi_spgemm_admit(plan, held + result_bytes, 1, err));
    SPRYI_TRY(spryi_spgemm_adopt(plan, err));
done:
    spryi_release(context, job->column_groups);
    job->column_groups = NULL;
    spryi_spgemm_release_result(plan);
    return status;
}
