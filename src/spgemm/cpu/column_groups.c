#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "spgemm/spgemm.h"

int spryi_spgemm_column_groups_pay(const spry_context *context, const spryi_spgemm_job *job)
{
    const spry_arrays *b = &job->b;
    return b->index_type == SPRY_I32 && b->offset_type == SPRY_I32 && b->cols <= SPRYI_GROUP_COLUMNS &&
           spryi_spgemm_groups_pay(job, 3, 8) && spryi_spgemm_rises(context, b);
}

static void group_columns(void *argument, int64_t first, int64_t last)
{
    const spryi_spgemm_job *job = argument;
    const int32_t *restrict offsets = job->b.offsets, *restrict columns = job->b.indices;
    uint32_t *restrict groups = job->column_groups;
    for (int64_t i = first; i < last; i++) {
        const int32_t begin = offsets[i], end = offsets[i + 1];
        if (begin == end) continue;
        uint32_t at = (uint32_t)columns[begin] >> 3, group = 0;
        int64_t to = begin;
        for (int32_t k = begin; k < end; k++) {
            const uint32_t column = (uint32_t)columns[k], next = column >> 3 != at;
            at = column >> 3;
            to += next;
            group = (next ? 0 : group) | at << 9 | 1u << (column & 7);
            groups[to] = group;
        }
        groups[to] |= SPRYI_GROUP_LAST;
    }
}

spry_status spryi_spgemm_make_column_groups(spry_context *context, spryi_spgemm_job *job, spry_error *err)
{
    const spry_arrays *b = &job->b;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &job->column_groups, b->nnz, "column groups of B", err));
    spryi_loop(context, spryi_threads(context, b->nnz), b->rows, 4096, group_columns, job);
    return SPRY_OK;
}
