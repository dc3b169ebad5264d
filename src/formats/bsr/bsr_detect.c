/*
 * Resolves the size of blocks, and counts them.
 *
 * Detection counts the blocks that each size would take in the groups of rows of bsr_cost.c, which chooses one.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/bsr/bsr_build.h"
#include "formats/shared/padding_guard.h"
#include "matrix/assemble.h"
#include "matrix/columns.h"
#include "matrix/row_lengths.h"

#include <string.h>

/* No block row takes more blocks than this: rows of `longest` entries in blocks of their own, or all there are. */
static int64_t most_blocks(const spry_arrays *A, int64_t block, int64_t longest)
{
    int64_t blocks = spryi_blocks_of(A->cols, block);
    return longest < blocks / block ? longest * block : blocks;
}

enum { WIDE = 16 }; /* block columns for each element of a hash table, from which the table takes their place */

spry_status spryi_bsr_scratch_make(spry_context *context, spryi_bsr_scratch *work, int threads, const spry_arrays *A,
                                   int64_t block, int64_t most, int with_sums, spry_error *err)
{
    spry_status status = SPRY_OK;
    const size_t index_bytes = spry_index_type_bytes(A->index_type);
    int64_t columns = spryi_blocks_of(A->cols, block), mask = 0;
    const int64_t wanted = most < INT64_MAX / 4 ? 2 * most : INT64_MAX / 2; /* half of a hash table stays free */
    if (wanted < columns / WIDE) {
        while (mask < wanted) mask = 2 * mask + 1;
        columns = mask + 1;
    }
    memset(work, 0, (size_t)threads * sizeof *work);
    for (int t = 0; t < threads; t++) {
        work[t].mask = mask;
        SPRYI_TRY(spryi_allocate(context, &work[t].slots, columns, index_bytes, "slots of block columns", err));
        SPRYI_TRY(spryi_allocate(context, &work[t].list, most, index_bytes, "list of block columns", err));
        SPRYI_TRY(SPRYI_NEW(context, &work[t].masks, most * block, "masks of a block row", err));
        if (with_sums) SPRYI_TRY(SPRYI_NEW(context, &work[t].sums, most * block * block, "sums of a block row", err));
        memset(work[t].slots, 0xff, (size_t)columns * index_bytes); /* -1 */
    }
done:
    if (status != SPRY_OK) spryi_bsr_scratch_release(context, work, threads);
    return status;
}

void spryi_bsr_scratch_release(spry_context *context, spryi_bsr_scratch *work, int threads)
{
    for (int t = 0; t < threads; t++) {
        spryi_release(context, work[t].slots);
        spryi_release(context, work[t].list);
        spryi_release(context, work[t].masks);
        spryi_release(context, work[t].sums);
    }
    memset(work, 0, (size_t)threads * sizeof *work);
}

/* A sample of the rows of A, and what it has of each size that `wanted` has 1 of. */
typedef struct sample {
    spry_arrays groups[SPRYI_BSR_MOST_GROUPS]; /* A with the columns of each group, */
    int64_t rows[SPRYI_BSR_MOST_GROUPS];       /* of which so many rows are counted */
    int64_t blocks[SPRYI_BSR_MOST_DETECTED + 1], entries[SPRYI_BSR_MOST_DETECTED + 1];
    int wanted[SPRYI_BSR_MOST_DETECTED + 1];
} sample;

enum { EIGHTH = 8 };
typedef enum sample_part { WHOLE, AN_EIGHTH, THE_REST } sample_part;

static int is_in_part(int64_t group, sample_part part)
{
    return part == WHOLE || (group % EIGHTH == 0) == (part == AN_EIGHTH);
}

typedef struct sample_job {
    sample *s;
    sample_part part;
    const spryi_bsr_steps *steps;
    const spryi_bsr_scratch *work; /* with room for blocks of any size in the sample */
    atomic_llong blocks[SPRYI_BSR_MOST_DETECTED + 1], entries[SPRYI_BSR_MOST_DETECTED + 1];
} sample_job;

/* Items are pairs of a group and a size. */
static void count_pairs(void *job, int64_t first, int64_t last, int thread)
{
    sample_job *j = job;
    const sample *s = j->s;
    for (int64_t pair = first; pair < last; pair++) {
        const int64_t g = pair / SPRYI_BSR_MOST_DETECTED, r = 1 + pair % SPRYI_BSR_MOST_DETECTED;
        if (!s->wanted[r] || !is_in_part(g, j->part)) continue;
        int64_t end, begin = spryi_bsr_group(s->groups->rows, g, &end), count = 0, found = 0;
        if (end > begin + s->rows[g]) end = begin + s->rows[g];
        for (int64_t I = begin / r; I * r < end; I++)
            count += j->steps->count(&s->groups[g], r, I, &j->work[thread], &found);
        atomic_fetch_add(&j->blocks[r], count);
        atomic_fetch_add(&j->entries[r], found);
    }
}

/* Adds groups of the sample. */
static void count_groups(const spry_context *context, sample *s, sample_part part, const spryi_bsr_scratch *work,
                         int threads)
{
    const spry_arrays *A = s->groups;
    sample_job j = {.s = s, .part = part, .work = work};
    j.steps = spryi_bsr_steps_of(A->value_type, A->offset_type, A->index_type);
    spryi_loop_in_parts(context, threads, spryi_bsr_groups(A->rows) * SPRYI_BSR_MOST_DETECTED, 1, count_pairs, &j);
    for (int r = 1; r <= SPRYI_BSR_MOST_DETECTED; r++) {
        s->blocks[r] += j.blocks[r];
        s->entries[r] += j.entries[r];
    }
}

/* Sizes that take clearly more than the cheapest by what was counted are wanted no more; rows of 1 are. */
static void drop_costly(const spry_arrays *A, sample *s)
{
    static const double CLEARLY = 1.15;
    if (s->entries[1] == 0) return; /* nothing was counted */
    const int64_t best = spryi_bsr_cheapest(A, s->blocks, s->entries);
    const double least = spryi_bsr_sample_bytes(A, best, s->blocks[best], s->entries[best]);
    for (int64_t r = 2; r <= SPRYI_BSR_MOST_DETECTED; r++) {
        const double bytes = spryi_bsr_sample_bytes(A, r, s->blocks[r], s->entries[r]);
        s->wanted[r] = bytes >= 0 && bytes <= CLEARLY * least;
    }
}

/* Which parts of the sample are counted. IN_STEPS: what an eighth leaves, for the rest of it. */
typedef enum counted { ALL_OF_IT, IN_STEPS, EIGHTH_ALONE } counted;

/*
 * *guess: the size of fewest bytes by the sample, whose groups are set and which counts nothing yet; left as it is
 * where there is nothing to count. longest: the longest row; work: for `threads` threads, empty.
 */
static spry_status detect(spry_context *context, sample *s, int64_t longest, spryi_bsr_scratch *work, int threads,
                          counted how, spryi_bsr_guess *guess, spry_error *err)
{
    const spry_arrays *A = s->groups;
    /* columns of blocks of any size, at the width of 1 */
    enum { SQUARE = SPRYI_BSR_MOST_DETECTED * SPRYI_BSR_MOST_DETECTED };
    const int64_t most_columns = longest < A->cols / SQUARE ? longest * SQUARE : A->cols + SPRYI_BSR_MOST_DETECTED;
    SPRYI_OK_OR_RETURN(spryi_bsr_scratch_make(context, work, threads, A, 1, most_columns, 0, err));
    for (int r = 1; r <= SPRYI_BSR_MOST_DETECTED; r++) s->wanted[r] = 1;
    count_groups(context, s, how == ALL_OF_IT ? WHOLE : AN_EIGHTH, work, threads);
    if (how == IN_STEPS) {
        drop_costly(A, s);
        count_groups(context, s, THE_REST, work, threads);
    }
    spryi_bsr_scratch_release(context, work, threads);
    if (s->entries[1] == 0) return SPRY_OK;
    guess->block = spryi_bsr_cheapest(A, s->blocks, s->entries);
    guess->bytes = spryi_bsr_sample_bytes(A, guess->block, s->blocks[guess->block], s->entries[guess->block]);
    return SPRY_OK;
}

/*
 * Rows of a group that a look counts, so that these have no more than so many entries: a multiple of most sizes. 0:
 * rows are so long that a look would take longer than their blocks may spare.
 */
static int64_t rows_looked_at(const spry_arrays *A, int64_t begin, int64_t end, spryi_effort effort)
{
    static const int64_t counts[] = {840, 120, 24, 8};
    const int64_t most = effort == SPRYI_QUICK ? 1 << 14 : 1 << 18, first = spryi_offset_of(A, begin);
    for (size_t n = effort == SPRYI_QUICK; n < sizeof counts / sizeof *counts; n++) {
        const int64_t last = begin + counts[n] < end ? begin + counts[n] : end;
        if (spryi_offset_of(A, last) - first <= most) return counts[n];
    }
    return 0;
}

/* Sets the groups of s and how many of their rows a look counts; the last block may reach beyond these. */
static spry_status fetch_groups(sample *s, spryi_column_reader *reader, spryi_effort effort, spry_error *err)
{
    const spry_arrays *A = reader->csr;
    const int64_t groups = spryi_bsr_groups(A->rows);
    const sample_part part = effort == SPRYI_QUICK ? AN_EIGHTH : WHOLE;
    int64_t range = reader->count, end;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t begin = spryi_bsr_group(A->rows, g, &end);
        s->rows[g] = is_in_part(g, part) ? rows_looked_at(A, begin, end, effort) : 0;
        const int64_t most = begin + s->rows[g] + SPRYI_BSR_MOST_DETECTED;
        if (s->rows[g] > 0) (void)spryi_want_rows(reader, begin, end < most ? end : most);
    }
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    for (int64_t g = 0; g < groups; g++) s->groups[g] = s->rows[g] > 0 ? spryi_range_at(reader, range++) : *A;
    return SPRY_OK;
}

spry_status spryi_bsr_guess_of(spry_context *context, spryi_bsr_guess *guess, spryi_column_reader *reader,
                               int64_t longest, spryi_effort effort, spry_error *err)
{
    enum { FEW = 1 << 16 }; /* columns an entry, beyond some, for which counting would take too much memory */
    spryi_bsr_scratch work; /* of one thread: others look at other things meanwhile */
    sample s = {.wanted = {0}};
    if (reader->csr->cols / WIDE > reader->csr->nnz + FEW) return SPRY_OK;
    SPRYI_OK_OR_RETURN(fetch_groups(&s, reader, effort, err));
    return detect(context, &s, longest, &work, 1, effort == SPRYI_QUICK ? EIGHTH_ALONE : IN_STEPS, guess, err);
}

enum { CHUNK = 1024 };

typedef struct count_job {
    const spryi_bsr *s;
    const spry_arrays *A;
    const spryi_bsr_steps *steps;
    const spryi_bsr_scratch *work;
    int64_t block, *before; /* before: blocks before each chunk of block rows */
    atomic_llong entries, largest;
} count_job;

static void count_chunks(void *job, int64_t first, int64_t last, int thread)
{
    count_job *j = job;
    for (int64_t c = first; c < last; c++) {
        const int64_t end = spryi_block_end(c, CHUNK, j->s->head.block_rows);
        int64_t sum = 0, found = 0, largest = 0;
        for (int64_t I = c * CHUNK; I < end; I++) {
            int64_t blocks = j->steps->count(j->A, j->block, I, &j->work[thread], &found);
            spryi_set_index(j->s->offsets, j->A->offset_type, I, sum);
            sum += blocks;
            largest = blocks > largest ? blocks : largest;
        }
        j->before[c + 1] = sum;
        atomic_fetch_add(&j->entries, found);
        spryi_raise(&j->largest, largest);
    }
}

static void move_chunks(void *job, int64_t first, int64_t last)
{
    const count_job *j = job;
    const spry_index_type type = j->A->offset_type;
    for (int64_t c = first; c < last; c++) {
        const int64_t end = spryi_block_end(c, CHUNK, j->s->head.block_rows);
        for (int64_t I = c * CHUNK; I < end; I++)
            spryi_set_index(j->s->offsets, type, I, j->before[c] + spryi_index_at(j->s->offsets, type, I));
    }
}

/*
 * Counts the blocks of every block row into s->offsets, *most of a block row. Chunks of block rows are summed up each
 * by itself, then moved by the sum of those before.
 */
static spry_status count_blocks(spry_context *context, spryi_bsr *s, const spry_arrays *A, int64_t block,
                                int64_t longest, spryi_bsr_scratch *work, int threads, int64_t *most, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_bsr_head *h = &s->head;
    count_job j = {.s = s, .A = A, .work = work, .block = block};
    j.steps = spryi_bsr_steps_of(A->value_type, A->offset_type, A->index_type);
    *h = spryi_bsr_head_of(A, block);
    const int64_t chunks = spryi_blocks_of(h->block_rows, CHUNK);
    SPRYI_TRY(spryi_bsr_scratch_make(context, work, threads, A, block, most_blocks(A, block, longest), 0, err));
    spryi_release(context, s->offsets);
    s->offsets = NULL;
    SPRYI_TRY(spryi_allocate(context, &s->offsets, h->block_rows + 1, spry_index_type_bytes(A->offset_type),
                             "block row offsets", err));
    SPRYI_TRY(SPRYI_NEW(context, &j.before, chunks + 1, "blocks before chunks", err));
    spryi_loop_in_parts(context, threads, chunks, 1, count_chunks, &j);
    spryi_scan(j.before, chunks);
    spryi_loop(context, threads, chunks, 0, move_chunks, &j);
    spryi_set_index(s->offsets, A->offset_type, h->block_rows, j.before[chunks]);
    h->blocks = j.before[chunks];
    h->nnz = j.entries;
    *most = j.largest;
done:
    spryi_release(context, j.before);
    spryi_bsr_scratch_release(context, work, threads);
    return status;
}

spry_status spryi_bsr_survey(spry_context *context, spryi_bsr *s, int64_t *most, const spryi_build_request *request,
                             spry_error *err)
{
    const spry_arrays *A = &request->csr->a;
    spry_status status = SPRY_OK;
    spryi_bsr_scratch *work = NULL;
    int64_t block = request->parameters[0];
    const int64_t longest = spryi_longest_row(context, A);
    int threads = spryi_threads(context, A->rows + A->nnz);
    s->head = spryi_bsr_head_of(A, 1);
    SPRYI_TRY(SPRYI_NEW(context, &work, threads, "scratch memory", err));
    if (block == 0) {
        spryi_bsr_guess guess = {.block = 1};
        sample all = {.wanted = {0}};
        for (int g = 0; g < SPRYI_BSR_MOST_GROUPS; g++) {
            all.groups[g] = *A;
            all.rows[g] = A->rows;
        }
        SPRYI_TRY(detect(context, &all, longest, work, threads, ALL_OF_IT, &guess, err));
        block = guess.block;
    }
    SPRYI_TRY(count_blocks(context, s, A, block, longest, work, threads, most, err));
    if (request->parameters[0] == 0 && block > 1) { /* the sample may have been too kind */
        spryi_cost cost = {0};
        spryi_bsr_cost(s, &cost);
        if (spryi_check_padding(request, "bsr", &cost, NULL) != SPRY_OK)
            SPRYI_TRY(count_blocks(context, s, A, 1, longest, work, threads, most, err));
    }
done:
    spryi_release(context, work);
    return status;
}
