/* How the work of BSR is cut for threads, by the matrix alone. */
#include "base/bisect.h"
#include "base/pool.h"
#include "formats/bsr/bsr.h"

#include <string.h>

enum { ROW_COST = 2, LEAST_COST = 4096, MOST_COST = 32768, CHUNKS = 256 };

/* Work of the block rows before I, in entries. */
static int64_t cost_before(const spryi_bsr *s, int64_t I)
{
    return spryi_index_at(s->offsets, s->types.offset_type, I) * s->head.block * s->head.block +
           ROW_COST * s->head.block * I;
}

static int64_t chunk_count(const spryi_bsr *s)
{
    int64_t cost = cost_before(s, s->head.block_rows), chunk = cost / CHUNKS;
    chunk = chunk < LEAST_COST ? LEAST_COST : chunk > MOST_COST ? MOST_COST : chunk;
    return cost / chunk + 1;
}

int64_t spryi_bsr_cut(const spryi_bsr *s, int64_t part, int64_t parts)
{
    const int64_t rows = s->head.block_rows, total = cost_before(s, rows);
    const int64_t cost = total / parts * part + total % parts * part / parts;
    int64_t I;
    if (part >= parts) return rows;
    SPRYI_BISECT(I, 0, rows, cost_before(s, I) < cost);
    return I;
}

spryi_bsr_job spryi_bsr_job_of(const spryi_run_args *args)
{
    const spryi_bsr *s = args->storage;
    const size_t size = spry_type_bytes(args->vector_type);
    spryi_bsr_job job = {
        .args = *args,
        .offsets = s->offsets,
        .offset_type = s->types.offset_type,
        .index_type = s->types.index_type,
        .columns = s->columns,
        .values = s->values,
        .masks = spryi_bsr_masks(s),
        .block = s->head.block,
        .rows = s->head.rows,
        .blocks = s->head.blocks,
        .chunks = chunk_count(s),
        .tail_column = -1,
    };
    if (args->columns <= 1) job.args.x_stride = 1;
    memcpy(&job.alpha, args->alpha, size);
    memcpy(&job.beta, args->beta, size);
    return job;
}

void spryi_bsr_pad_x(spryi_bsr_job *job)
{
    const spryi_bsr_head *h = &((const spryi_bsr *)job->args.storage)->head;
    const size_t size = spry_type_bytes(job->args.vector_type), left = (size_t)(h->cols % h->block);
    if (left == 0) return;
    job->tail_column = h->block_cols - 1;
    if (job->args.columns > 1) return;
    memcpy(job->tail, (const char *)job->args.x + (size_t)(job->tail_column * h->block) * size, left * size);
}

/* ---- windows of the transposed product ------------------------------------------------------------- */

int64_t spryi_bsr_window_at(const spryi_bsr_head *h, int p)
{
    int64_t blocks = 0;
    for (int q = 0; q < p; q++) blocks += h->window_end[q] - h->window_begin[q];
    return blocks * h->block;
}

/* Finds the block columns that block rows begin .. end - 1 meet. */
static void find_window(const spryi_bsr *s, int64_t begin, int64_t end, int64_t *first, int64_t *last)
{
    *first = *last = 0;
    for (int64_t I = begin, any = 0; I < end; I++) {
        int64_t b = spryi_index_at(s->offsets, s->types.offset_type, I);
        int64_t stop = spryi_index_at(s->offsets, s->types.offset_type, I + 1);
        if (b == stop) continue;
        int64_t left = spryi_index_at(s->columns, s->types.index_type, b);
        int64_t right = spryi_index_at(s->columns, s->types.index_type, stop - 1) + 1;
        if (!any || left < *first) *first = left;
        if (!any || right > *last) *last = right;
        any = 1;
    }
}

/* The finest windows are found once; those of half as many parts are theirs, two by two, since cuts coincide. */
static void merge(spryi_bsr_head *h)
{
    h->parts /= 2;
    for (int p = 0; p < h->parts; p++) {
        const int64_t first = h->window_begin[2 * p], last = h->window_end[2 * p];
        const int64_t next = h->window_begin[2 * p + 1], next_last = h->window_end[2 * p + 1];
        const int empty = first == last, next_empty = next == next_last;
        h->window_begin[p] = empty ? next : next_empty || first < next ? first : next;
        h->window_end[p] = empty ? next_last : next_empty || last > next_last ? last : next_last;
    }
    for (int p = h->parts; p < 2 * h->parts; p++) h->window_begin[p] = h->window_end[p] = 0;
}

static void find_windows(void *job, int64_t begin, int64_t end)
{
    spryi_bsr *s = job;
    for (int64_t p = begin; p < end; p++)
        find_window(s, spryi_bsr_cut(s, p, SPRYI_BSR_PARTS), spryi_bsr_cut(s, p + 1, SPRYI_BSR_PARTS),
                    &s->head.window_begin[p], &s->head.window_end[p]);
}

enum { LEAST_VALUES = 4096, SHARE = 4 };

int64_t spryi_bsr_most_sums(const spryi_bsr_head *h)
{
    const int64_t share = h->blocks * h->block * h->block / SHARE, of_two = 2 * h->block_cols * h->block;
    return share > of_two ? share : of_two;
}

/* Halved until the sums are at most a quarter of the stored values, and parts large enough to start. */
void spryi_bsr_find_windows(const spry_context *context, spryi_bsr *s, int threads)
{
    spryi_bsr_head *h = &s->head;
    const int64_t values = h->blocks * h->block * h->block;
    h->parts = SPRYI_BSR_PARTS;
    spryi_loop(context, threads, SPRYI_BSR_PARTS, 1, find_windows, s);
    for (; h->parts > 1; merge(h)) {
        const int64_t sums = spryi_bsr_window_at(h, h->parts);
        if (values / h->parts >= LEAST_VALUES && (sums <= values / SHARE || h->parts == 2)) return;
    }
}
