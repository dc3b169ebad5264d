/*
 * The storage of format bsr: block size, build from CSR, conversion to CSR, windows of transposed products, jobs of
 * products, and container checks. bsr_blocks.c handles single block rows for each type.
 *
 * The block size is given or detected. Detection counts the blocks of each size in groups of rows, which bsr_cost.c
 * selects, and chooses the size with the fewest bytes.
 */
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "formats/bsr/bsr.h"
#include "formats/shared/storage_limits.h"
#include "matrix/assemble.h"
#include "matrix/columns.h"
#include "matrix/row_lengths.h"

#include <string.h>

/* ---- scratch memory of a thread ------------------------------------------------------------------------ */

/*
 * Returns an upper bound for the number of blocks of a block row: the smaller of the number of block columns and the
 * number of entries of `block` rows of length `longest`.
 */
static int64_t most_blocks(const spry_arrays *A, int64_t block, int64_t longest)
{
    int64_t blocks = spryi_blocks_of(A->columns, block);
    return longest < blocks / block ? longest * block : blocks;
}

static void release_scratch(spry_context *context, spryi_bsr_scratch *work, int threads)
{
    for (int t = 0; t < threads; t++) {
        spryi_release(context, work[t].slots);
        spryi_release(context, work[t].list);
        spryi_release(context, work[t].masks);
        spryi_release(context, work[t].sums);
    }
    memset(work, 0, (size_t)threads * sizeof *work);
}

enum { WIDE = 16 }; /* a hash table is used if it has less than 1/WIDE of the slots of a table with all block columns */

/* Allocates scratch memory for `threads` threads and block rows of up to `most` blocks. */
static spry_status allocate_scratch(spry_context *context, spryi_bsr_scratch *work, int threads, const spry_arrays *A,
                                    int64_t block, int64_t most, bool with_sums, spry_error *err)
{
    spry_status status = SPRY_OK;
    const size_t index_bytes = spryi_index_type_bytes(A->index_type);
    int64_t columns = spryi_blocks_of(A->columns, block), mask = 0;
    const int64_t wanted = most < INT64_MAX / 4 ? 2 * most : INT64_MAX / 2; /* at most half of a hash table is filled */
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
    if (status != SPRY_OK) release_scratch(context, work, threads);
    return status;
}

/* ---- block size ---------------------------------------------------------------------------------------- */

/* A sample of the rows of A, with the number of blocks and entries in the sample for each wanted block size. */
typedef struct sample {
    spry_arrays groups[SPRYI_BSR_MOST_GROUPS]; /* A with the columns of each group */
    int64_t rows[SPRYI_BSR_MOST_GROUPS];       /* rows of each group that are counted */
    int64_t blocks[SPRYI_BSR_MOST_DETECTED + 1], entries[SPRYI_BSR_MOST_DETECTED + 1];
    bool wanted[SPRYI_BSR_MOST_DETECTED + 1];
} sample;

enum { EIGHTH = 8 };
typedef enum sample_part { WHOLE, AN_EIGHTH, THE_REST } sample_part;

static bool is_in_part(int64_t group, sample_part part)
{
    return part == WHOLE || (group % EIGHTH == 0) == (part == AN_EIGHTH);
}

typedef struct sample_job {
    sample *s;
    sample_part part;
    const spryi_bsr_steps *steps;
    const spryi_bsr_scratch *work; /* with room for the blocks of a block row, for any block size */
    atomic_llong blocks[SPRYI_BSR_MOST_DETECTED + 1], entries[SPRYI_BSR_MOST_DETECTED + 1];
} sample_job;

/* Counts blocks for pairs of a group and a block size. */
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

/* Counts the blocks and entries in one part of the sample. Adds the counts to s->blocks and s->entries. */
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

/*
 * Removes from s->wanted the sizes, except 1, that need clearly more bytes than the best size according to the counts
 * so far.
 */
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

/*
 * Parts of the sample to count. IN_STEPS: counts an eighth of the sample for all sizes, then the rest for the sizes
 * that are still wanted. EIGHTH_ALONE: counts only an eighth.
 */
typedef enum counted { ALL_OF_IT, IN_STEPS, EIGHTH_ALONE } counted;

/*
 * Sets *guess to the block size with the fewest bytes in the sample. The groups of s are already set. Leaves *guess
 * unchanged if the sample has no entries. longest: length of the longest row. work: one element for
 * each of the `threads` threads, without arrays.
 */
static spry_status detect(spry_context *context, sample *s, int64_t longest, spryi_bsr_scratch *work, int threads,
                          counted how, spryi_bsr_guess *guess, spry_error *err)
{
    const spry_arrays *A = s->groups;
    /* most masks of a block row for any block size: one for each column of a block */
    enum { SQUARE = SPRYI_BSR_MOST_DETECTED * SPRYI_BSR_MOST_DETECTED };
    const int64_t most_columns = longest < A->columns / SQUARE ? longest * SQUARE
                                                               : A->columns + SPRYI_BSR_MOST_DETECTED;
    SPRYI_OK_OR_RETURN(allocate_scratch(context, work, threads, A, 1, most_columns, false, err));
    for (int r = 1; r <= SPRYI_BSR_MOST_DETECTED; r++) s->wanted[r] = true;
    count_groups(context, s, how == ALL_OF_IT ? WHOLE : AN_EIGHTH, work, threads);
    if (how == IN_STEPS) {
        drop_costly(A, s);
        count_groups(context, s, THE_REST, work, threads);
    }
    release_scratch(context, work, threads);
    if (s->entries[1] == 0) return SPRY_OK;
    guess->block = spryi_bsr_cheapest(A, s->blocks, s->entries);
    guess->bytes = spryi_bsr_sample_bytes(A, guess->block, s->blocks[guess->block], s->entries[guess->block]);
    return SPRY_OK;
}

/*
 * Returns the number of rows of a group to count: the largest of `counts` for which these rows have at most `most`
 * entries. All `counts` are multiples of most block sizes. Returns 0 if rows are so long that counting would take more
 * time than blocks may save.
 */
static int64_t rows_to_count(const spry_arrays *A, int64_t begin, int64_t end, spryi_effort effort)
{
    static const int64_t counts[] = {840, 120, 24, 8};
    const int64_t most = effort == SPRYI_QUICK ? 1 << 14 : 1 << 18, first = spryi_offset_of(A, begin);
    for (size_t n = effort == SPRYI_QUICK; n < sizeof counts / sizeof *counts; n++) {
        const int64_t last = begin + counts[n] < end ? begin + counts[n] : end;
        if (spryi_offset_of(A, last) - first <= most) return counts[n];
    }
    return 0;
}

/* Sets the groups of s and the number of their rows to count. The last block row may extend past these rows. */
static spry_status fetch_groups(sample *s, spryi_column_reader *reader, spryi_effort effort, spry_error *err)
{
    const spry_arrays *A = reader->csr;
    const int64_t groups = spryi_bsr_groups(A->rows);
    const sample_part part = effort == SPRYI_QUICK ? AN_EIGHTH : WHOLE;
    int64_t range = reader->count, end;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t begin = spryi_bsr_group(A->rows, g, &end);
        s->rows[g] = is_in_part(g, part) ? rows_to_count(A, begin, end, effort) : 0;
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
    enum { FEW = 1 << 16 }; /* with more than WIDE * (nnz + FEW) columns, counting would need too much memory */
    spryi_bsr_scratch work; /* scratch of one thread, since other threads evaluate other formats */
    sample s = {.wanted = {false}};
    if (reader->csr->columns / WIDE > reader->csr->nnz + FEW) return SPRY_OK;
    SPRYI_OK_OR_RETURN(fetch_groups(&s, reader, effort, err));
    return detect(context, &s, longest, &work, 1, effort == SPRYI_QUICK ? EIGHTH_ALONE : IN_STEPS, guess, err);
}

/* ---- number of blocks ---------------------------------------------------------------------------------- */

enum { CHUNK = 1024 };

typedef struct count_job {
    const spryi_bsr *s;
    const spry_arrays *A;
    const spryi_bsr_steps *steps;
    const spryi_bsr_scratch *work;
    int64_t block, *before; /* before: number of blocks before each chunk of block rows */
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
 * Counts the blocks of every block row into s->offsets. *most: largest number of blocks of a block row. Offsets are
 * first computed within each chunk of block rows. The number of blocks in all earlier chunks is then added.
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
    SPRYI_TRY(allocate_scratch(context, work, threads, A, block, most_blocks(A, block, longest), false, err));
    spryi_release(context, s->offsets);
    s->offsets = NULL;
    SPRYI_TRY(spryi_allocate(context, &s->offsets, h->block_rows + 1, spryi_index_type_bytes(A->offset_type),
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
    release_scratch(context, work, threads);
    return status;
}

/*
 * Sets s->head and s->offsets for the request, with the given or detected block size. *most: largest number of blocks
 * of a block row. The caller releases s->offsets, also after a failure.
 */
static spry_status survey(spry_context *context, spryi_bsr *s, int64_t *most, const spryi_build_request *request,
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
        sample all = {.wanted = {false}};
        for (int g = 0; g < SPRYI_BSR_MOST_GROUPS; g++) {
            all.groups[g] = *A;
            all.rows[g] = A->rows;
        }
        SPRYI_TRY(detect(context, &all, longest, work, threads, ALL_OF_IT, &guess, err));
        block = guess.block;
    }
    SPRYI_TRY(count_blocks(context, s, A, block, longest, work, threads, most, err));
    if (request->parameters[0] == 0 && block > 1) { /* uses size 1 if the matrix has too much fill */
        spryi_cost cost = {0};
        spryi_bsr_cost(s, &cost);
        if (spryi_check_storage(request, "bsr", &cost, NULL) != SPRY_OK)
            SPRYI_TRY(count_blocks(context, s, A, 1, longest, work, threads, most, err));
    }
done:
    spryi_release(context, work);
    return status;
}

/* ---- division of work ---------------------------------------------------------------------------------- */

enum { ROW_COST = 2, LEAST_COST = 4096, MOST_COST = 32768, CHUNKS = 256 };

/* Returns the work of the block rows before I, in entries. */
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

/* ---- windows of the transposed product ----------------------------------------------------------------- */

int64_t spryi_bsr_window_at(const spryi_bsr_head *h, int p)
{
    int64_t blocks = 0;
    for (int q = 0; q < p; q++) blocks += h->window_end[q] - h->window_begin[q];
    return blocks * h->block;
}

/* Finds the range of block columns of block rows begin .. end - 1. */
static void find_window(const spryi_bsr *s, int64_t begin, int64_t end, int64_t *first, int64_t *last)
{
    *first = *last = 0;
    bool any = false;
    for (int64_t I = begin; I < end; I++) {
        int64_t b = spryi_index_at(s->offsets, s->types.offset_type, I);
        int64_t stop = spryi_index_at(s->offsets, s->types.offset_type, I + 1);
        if (b == stop) continue;
        int64_t left = spryi_index_at(s->columns, s->types.index_type, b);
        int64_t right = spryi_index_at(s->columns, s->types.index_type, stop - 1) + 1;
        if (!any || left < *first) *first = left;
        if (!any || right > *last) *last = right;
        any = true;
    }
}

/*
 * Joins windows in pairs, which gives the windows for half the number of parts. Part p of the result consists of parts
 * 2*p and 2*p + 1.
 */
static void merge(spryi_bsr_head *h)
{
    h->parts /= 2;
    for (int p = 0; p < h->parts; p++) {
        const int64_t first = h->window_begin[2 * p], last = h->window_end[2 * p];
        const int64_t next = h->window_begin[2 * p + 1], next_last = h->window_end[2 * p + 1];
        const bool empty = first == last, next_empty = next == next_last;
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

/* Returns an upper bound for the elements of all windows. */
static int64_t most_sums(const spryi_bsr_head *h)
{
    const int64_t share = h->blocks * h->block * h->block / SHARE, of_two = 2 * h->block_cols * h->block;
    return share > of_two ? share : of_two;
}

/*
 * Finds parts and windows of a filled storage. The number of parts is halved until the sums are at most a quarter of
 * the stored values, and until parts are large enough. The limit of the sums does not apply if two parts remain.
 */
static void set_windows(const spry_context *context, spryi_bsr *s, int threads)
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

/* ---- sections and build -------------------------------------------------------------------------------- */

static spry_arrays types_of(const spryi_bsr_head *h)
{
    return spryi_types_of(h->rows, h->cols, h->nnz, h->value_type, h->offset_type, h->index_type);
}

static int sections(void *storage, spryi_section *list)
{
    spryi_bsr *s = storage;
    const spryi_bsr_head *h = &s->head;
    if ((int32_t)s->types.value_type != h->value_type) s->types = types_of(h); /* true after a read from a file */
    const int64_t offset_bytes = (int64_t)spryi_index_type_bytes((spry_index_type)h->offset_type);
    const int64_t column_bytes = (int64_t)spryi_index_type_bytes((spry_index_type)h->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes((spry_type)h->value_type);
    list[0] = (spryi_section){"head", NULL, &s->head, 1, sizeof s->head};
    list[1] = (spryi_section){"offsets", &s->offsets, NULL, spryi_size_plus_one(h->block_rows), offset_bytes};
    list[2] = (spryi_section){"columns", &s->columns, NULL, h->blocks, column_bytes};
    list[3] = (spryi_section){"values", &s->values, NULL, spryi_bsr_value_count(h), value_bytes};
    list[4] = (spryi_section){"masks", &s->masks, NULL, spryi_bsr_bytes_of_masks(h), 1};
    return 5;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    spryi_bsr s = {0};
    int64_t most;
    spry_status status = survey(context, &s, &most, request, err);
    if (status == SPRY_OK) spryi_bsr_cost(&s, cost);
    spryi_release_arrays(context, &s, sections);
    return status;
}

typedef struct block_job {
    const spryi_bsr *s;
    const spryi_bsr_steps *steps;
    const spry_arrays *A;    /* source of the values */
    spryi_bsr_scratch *work; /* one for each thread */
    const spryi_compressed *to;
    atomic_llong first, entries; /* first: first block row with a fault */
} block_job;

static block_job job_of(const spryi_bsr *s)
{
    const spry_arrays *t = &s->types;
    return (block_job){.s = s, .steps = spryi_bsr_steps_of(t->value_type, t->offset_type, t->index_type)};
}

static void fill_block_rows(void *job, int64_t begin, int64_t end, int part)
{
    const block_job *j = job;
    for (int64_t I = begin; I < end; I++) j->steps->fill((spryi_bsr *)(uintptr_t)j->s, j->A, I, &j->work[part]);
}

static spry_status fill(spry_context *context, spryi_bsr *s, const spry_arrays *A, int64_t most, spry_error *err)
{
    const spryi_bsr_head *h = &s->head;
    spry_status status = SPRY_OK;
    spryi_bsr_scratch *work = NULL;
    int threads = spryi_threads(context, A->rows + A->nnz);
    SPRYI_TRY(SPRYI_NEW(context, &work, threads, "scratch memory", err));
    SPRYI_TRY(allocate_scratch(context, work, threads, A, h->block, most, h->value_type != SPRY_F64, err));
    block_job j = job_of(s);
    j.A = A;
    j.work = work;
    spryi_loop_in_parts(context, threads, h->block_rows, 0, fill_block_rows, &j);
    release_scratch(context, work, threads);
done:
    spryi_release(context, work);
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    const spry_arrays *A = &request->csr->a;
    spry_matrix *csr = NULL;
    spryi_cost cost = {0};
    spryi_bsr *s = storage;
    spry_status status = SPRY_OK;
    int64_t most = 0;
    SPRYI_TRY(survey(context, s, &most, request, err));
    spryi_bsr_cost(s, &cost);
    cost.extra_workspace = most_sums(&s->head) * (int64_t)spry_type_bytes(request->options->vector_type);
    SPRYI_TRY(spryi_admit(request, "bsr", &cost, err));
    SPRYI_TRY(spryi_bsr_check_sums(request, &s->head, A, err));
    /* Blocks of 1 x 1 do not gain from narrow values, and sums of duplicates may not be exact. */
    const bool may_narrow = s->head.block > 1 && s->head.nnz == A->nnz;
    SPRYI_TRY(spryi_matrix_narrowed(context, &csr, request->csr, may_narrow ? request->narrow_type : 0, err));
    s->head.value_type = (int32_t)csr->a.value_type;
    s->types = types_of(&s->head);
    SPRYI_TRY(spryi_allocate_arrays(context, s, sections, err));
    SPRYI_TRY(fill(context, s, &csr->a, most, err));
    set_windows(context, s, spryi_threads(context, A->rows + A->nnz));
done:
    spryi_matrix_release(csr);
    return status;
}

/* ---- arrays of the caller ---------------------------------------------------------------------------------- */

/*
 * Creates a storage that uses the caller's blocks. Sets *storage to NULL for patterns, for blocks over
 * SPRYI_BSR_MOST_BLOCK, and if block columns do not rise within a block row or are outside the matrix.
 */
static spry_status borrow_blocks(spry_context *context, void **storage, const spry_arrays *a, spry_error *err)
{
    spryi_bsr *s;
    *storage = NULL;
    if (a->block_size > SPRYI_BSR_MOST_BLOCK || spryi_stored_row(a->value_type) < 0) return SPRY_OK;
    const spry_arrays blocks = spryi_block_pattern(a);
    if (!spryi_rows_rise(context, &blocks)) return SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &s, 1, "storage of blocks", err));
    *s = (spryi_bsr){.head = spryi_bsr_head_of(a, a->block_size),
                     .offsets = (void *)(uintptr_t)a->offsets,
                     .columns = (void *)(uintptr_t)a->indices,
                     .values = (void *)(uintptr_t)a->values};
    s->head.nnz = a->nnz;
    s->head.blocks = spryi_index_count(a);
    s->types = types_of(&s->head);
    set_windows(context, s, spryi_threads(context, a->rows + s->head.blocks));
    for (int p = 0; p < s->head.parts; p++) /* a window contains any column that is outside the matrix */
        if (s->head.window_begin[p] < 0 || s->head.window_end[p] > s->head.block_cols) {
            spryi_release(context, s);
            return SPRY_OK;
        }
    *storage = s;
    return SPRY_OK;
}

/* ---- back to CSR --------------------------------------------------------------------------------------- */

static void count_lengths(void *job, int64_t begin, int64_t end)
{
    const block_job *j = job;
    for (int64_t I = begin; I < end; I++) j->steps->lengths(j->s, j->to->offsets, I);
}

static void copy_rows(void *job, int64_t begin, int64_t end)
{
    const block_job *j = job;
    for (int64_t I = begin; I < end; I++) j->steps->rows(j->s, j->to->offsets, j->to->indices, j->to->values, I);
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_bsr *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    block_job j = job_of(s);
    spry_arrays a = s->types;
    a.sorted = a.unique = SPRY_KNOWN_YES;
    if (a.nnz > INT32_MAX) a.offset_type = SPRY_I64; /* s->offsets counts blocks, so it may be narrower */
    SPRYI_TRY(spryi_start_csr(context, &c, &a, err));
    const int threads = spryi_threads(context, a.rows + a.nnz);
    j.to = &c;
    spryi_loop(context, threads, s->head.block_rows, 0, count_lengths, &j);
    spryi_scan(c.offsets, a.rows);
    spryi_loop(context, threads, s->head.block_rows, 0, copy_rows, &j);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* ---- product ------------------------------------------------------------------------------------------- */

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

/* Returns the bytes of the sums of a transposed product. */
static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_bsr_head *h = &((const spryi_bsr *)storage)->head;
    return spryi_bsr_window_at(h, h->parts) * (int64_t)spry_type_bytes(vector_type);
}

/* ---- containers and descriptor ------------------------------------------------------------------------- */

static const char *head_fault(const spryi_bsr_head *h)
{
    enum { MOST = 1 << 10 };
    if (h->rows < 0 || h->cols < 0 || h->nnz < 0 || h->blocks < 0) return "a size is negative";
    if (h->block < 1 || h->block > SPRYI_BSR_MOST_BLOCK) return "the size of blocks is out of range";
    if (h->block_rows != h->rows / h->block + (h->rows % h->block > 0) ||
        h->block_cols != h->cols / h->block + (h->cols % h->block > 0))
        return "the numbers of block rows and block columns do not match the sizes";
    if (h->blocks > INT64_MAX / MOST || h->nnz > spryi_bsr_value_count(h))
        return "the number of blocks does not match the number of entries";
    if (spryi_stored_row((spry_type)h->value_type) < 0 ||
        spryi_index_pair((spry_index_type)h->offset_type, (spry_index_type)h->index_type) < 0)
        return "a type is unknown";
    if (h->index_type == SPRY_I32 && h->cols > INT32_MAX) return "there are more columns than 32-bit indices reach";
    if (h->parts < 1 || h->parts > SPRYI_BSR_PARTS || (h->parts & (h->parts - 1)) != 0)
        return "the number of parts is not a power of two up to 16";
    return NULL;
}

static void find_faults(void *job, int64_t begin, int64_t end)
{
    block_job *j = job;
    int64_t entries = 0;
    for (int64_t I = begin; I < end; I++)
        if (j->steps->fault(j->s, I, &entries)) spryi_lower(&j->first, I);
    atomic_fetch_add(&j->entries, entries);
}

/* Checks offsets, block rows, and the windows of the transposed product. Returns NULL or the fault. */
static const char *structure_fault(const spry_context *context, const spryi_bsr *s)
{
    const spryi_bsr_head *h = &s->head;
    bool rises = spryi_index_at(s->offsets, s->types.offset_type, 0) == 0;
    for (int64_t I = 0; rises && I < h->block_rows; I++)
        rises = spryi_index_at(s->offsets, s->types.offset_type, I) <=
                spryi_index_at(s->offsets, s->types.offset_type, I + 1);
    if (!rises || spryi_index_at(s->offsets, s->types.offset_type, h->block_rows) != h->blocks)
        return "offsets do not rise from 0 to the number of blocks";
    int64_t again = 0;
    block_job j = job_of(s);
    j.first = h->block_rows;
    spryi_loop(context, spryi_threads(context, h->rows + h->blocks), h->block_rows, 0, find_faults, &j);
    if (j.first < h->block_rows) return j.steps->fault(s, j.first, &again);
    if (j.entries != h->nnz) return "the number of entries in the masks differs from the head";
    spryi_bsr found = *s;
    set_windows(context, &found, 1);
    bool same = found.head.parts == h->parts;
    for (int p = 0; same && p < h->parts; p++)
        same = found.head.window_begin[p] == h->window_begin[p] && found.head.window_end[p] == h->window_end[p];
    return same ? NULL : "the windows of the transposed product do not match the blocks";
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    const spryi_bsr *s = storage;
    const char *fault = head_fault(&s->head);
    if (!fault) fault = structure_fault(context, s);
    return fault ? spryi_fail(err, SPRY_BAD_FILE, NULL, "bsr: %s", fault) : SPRY_OK;
}

static const spryi_parameter parameters[] = {
    {"block", 1, SPRYI_BSR_MOST_BLOCK, "rows and columns of a block"},
    {.name = NULL},
};

const spryi_format spryi_format_bsr = {
    .name = "bsr",
    .title = "block compressed sparse rows",
    .formula = "block^2 values and one column per block + (m/block+1) offsets, and masks if blocks have fill",
    .best_for = "dense blocks, as in finite elements with multiple unknowns per node",
    .parameters.list = parameters,
    .parameters.text =
        "block=NUMBER (rows and columns of a block, 1 to 16; default: the size of 1 to 8 with the fewest bytes)",
    .predict = predict,
    .build = build,
    .workspace_bytes = workspace_bytes,
    .to_csr = to_csr,
    .borrow_blocks = borrow_blocks,
    .layout.size = sizeof(spryi_bsr),
    .layout.sections = sections,
    .check = check,
    .choice.estimator = &spryi_bsr_estimator,
};
