#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "matrix/assemble.h"
#include "spgemm/spgemm.h"

static int64_t offset(const spry_arrays *b, int64_t i)
{
    return spryi_index_at(b->offsets, b->offset_type, i);
}

static int64_t column(const spry_arrays *b, int64_t k)
{
    return spryi_index_at(b->indices, b->index_type, k);
}

/* Groups of 2^shift columns that entries begin .. end-1 of one row fall into. */
static inline int64_t count_groups(const spry_arrays *b, int64_t begin, int64_t end, int shift)
{
    int64_t groups = begin < end;
    if (b->index_type == SPRY_I32) {
        const int32_t *columns = b->indices;
        for (int64_t k = begin + 1; k < end; k++) groups += columns[k] >> shift != columns[k - 1] >> shift;
        return groups;
    }
    for (int64_t k = begin + 1; k < end; k++) groups += column(b, k) >> shift != column(b, k - 1) >> shift;
    return groups;
}

/*
 * row_bitmaps.c: 1: rows of b are read four times or more on average, and a sample of its entries, in stretches over
 * the matrix, falls into at most 3/parts as many groups of 2^shift columns.
 */
static int groups_pay(const spryi_spgemm_job *job, int shift, int parts)
{
    enum { FEW_USES = 4, SAMPLE = 4096, STRETCH = 64 }; /* entries that are looked at, and in one stretch */
    const spry_arrays *b = &job->b;
    int64_t groups = 0;
    if (job->products / FEW_USES < b->nnz || b->nnz < SAMPLE) return 0;
    for (int64_t s = 0; s < SAMPLE / STRETCH; s++) {
        const int64_t begin = b->nnz / (SAMPLE / STRETCH) * s;
        groups += count_groups(b, begin, begin + STRETCH, shift);
    }
    return groups * parts <= SAMPLE * 3;
}

static void fill_row(const spryi_spgemm_bitmaps *made, const spry_arrays *b, int64_t i)
{
    int64_t to = made->offsets[i] - 1, last = -1;
    for (int64_t k = offset(b, i); k < offset(b, i + 1); k++) {
        const int64_t word = column(b, k) >> 6;
        if (word != last) made->bits[++to] = 0;
        made->index[to] = (int32_t)word;
        made->bits[to] |= (uint64_t)1 << (column(b, k) & 63);
        last = word;
    }
}

typedef struct bitmap_job {
    const spryi_spgemm_bitmaps *made;
    const spry_arrays *b;
} bitmap_job;

static void count_words(void *job, int64_t begin, int64_t end)
{
    const bitmap_job *j = job;
    for (int64_t i = begin; i < end; i++)
        j->made->offsets[i + 1] = count_groups(j->b, offset(j->b, i), offset(j->b, i + 1), 6);
}

static void fill_rows(void *job, int64_t begin, int64_t end)
{
    const bitmap_job *j = job;
    for (int64_t i = begin; i < end; i++) fill_row(j->made, j->b, i);
}

spry_status spryi_spgemm_make_bitmaps(spry_context *context, spryi_spgemm_job *job, int64_t most_bytes, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spry_arrays *b = &job->b;
    spryi_spgemm_bitmaps made = {0};
    const int threads = spryi_threads(context, b->nnz);
    const int64_t rows = b->rows, head = (rows + 1) * (int64_t)sizeof *made.offsets;
    if (b->cols / 64 > INT32_MAX || !groups_pay(job, 6, 5)) return SPRY_OK;
    if (most_bytes > 0 && head > most_bytes) return SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(context, &made.offsets, rows + 1, "bitmaps of B", err));
    bitmap_job j = {&made, b};
    spryi_loop(context, threads, rows, 4096, count_words, &j);
    spryi_scan(made.offsets, rows);
    made.count = made.offsets[rows];
    made.bytes = head + made.count * (int64_t)(sizeof *made.index + sizeof *made.bits);
    if (most_bytes > 0 && made.bytes > most_bytes) goto done;
    SPRYI_TRY(SPRYI_NEW(context, &made.index, made.count, "bitmaps of B", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.bits, made.count, "bitmaps of B", err));
    spryi_loop(context, threads, rows, 4096, fill_rows, &j);
    job->bitmaps = made;
    made = (spryi_spgemm_bitmaps){0};
done:
    spryi_release(context, made.bits);
    spryi_release(context, made.index);
    spryi_release(context, made.offsets);
    return status;
}

void spryi_spgemm_drop_bitmaps(spry_context *context, spryi_spgemm_job *job)
{
    spryi_release(context, job->bitmaps.bits);
    spryi_release(context, job->bitmaps.index);
    spryi_release(context, job->bitmaps.offsets);
    job->bitmaps = (spryi_spgemm_bitmaps){0};
}

/* ---- rows of B as groups of columns -------------------------------------------------------------------- */

int spryi_spgemm_column_groups_pay(const spry_context *context, const spryi_spgemm_job *job)
{
    const spry_arrays *b = &job->b;
    return b->index_type == SPRY_I32 && b->offset_type == SPRY_I32 && b->cols <= SPRYI_GROUP_COLUMNS &&
           groups_pay(job, 3, 8) && spryi_spgemm_rises(context, b);
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
