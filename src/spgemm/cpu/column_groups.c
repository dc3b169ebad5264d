#include "core/assemble.h"
#include "core/context.h"
#include "core/memory.h"
#include "spgemm/spgemm.h"

enum {
    FEW_USES = 4,  /* times that a row of b is read on average, below which the groups cost more than they save */
    SAMPLE = 4096, /* entries of b that are looked at */
    STRETCH = 64   /* at once */
};

/* 1: a sample of the entries, in stretches over the matrix, falls into at most 3/8 as many groups of eight columns. */
static int lie_close(const spry_arrays *b)
{
    const int32_t *columns = b->indices;
    int64_t seen = 0, groups = 0;
    for (int64_t s = 0; s < SAMPLE / STRETCH; s++) {
        const int64_t begin = b->nnz / (SAMPLE / STRETCH) * s, end = begin + STRETCH;
        seen += STRETCH;
        groups += 1;
        for (int64_t k = begin + 1; k < end; k++) groups += columns[k] >> 3 != columns[k - 1] >> 3;
    }
    return groups * 8 <= seen * 3;
}

int spryi_spgemm_column_groups_pay(const spry_context *context, const spryi_spgemm_job *job)
{
    const spry_arrays *b = &job->b;
    return b->index_type == SPRY_I32 && b->offset_type == SPRY_I32 && b->nnz >= SAMPLE &&
           b->cols <= SPRYI_GROUP_COLUMNS && job->products / FEW_USES >= b->nnz && lie_close(b) &&
           spryi_spgemm_rises(context, b);
}

spry_status spryi_spgemm_make_column_groups(spry_context *context, spryi_spgemm_job *job, spry_error *err)
{
    const spry_arrays *b = &job->b;
    const int32_t *restrict offsets = b->offsets, *restrict columns = b->indices;
    spry_status status = SPRYI_NEW(context, &job->column_groups, b->nnz, "column groups of B", err);
    if (status != SPRY_OK) return status;
    uint32_t *restrict groups = job->column_groups;
#pragma omp parallel for num_threads(spryi_threads(context, b->nnz)) schedule(dynamic, 4096)
    for (int64_t i = 0; i < b->rows; i++) {
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
    return SPRY_OK;
}
