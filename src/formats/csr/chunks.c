/*
 * Pages of y are marked for the finest chunks there may be, the units. Then chunks of one, two, four, ... units are
 * tried: each gets the first phase in which it meets nobody. Pages and chunks are so few that this takes microseconds.
 */
#include "formats/csr/chunks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"

#include <string.h>

enum {
    LEAST_PAGE = 9,    /* 512 columns, as a power of two */
    MOST_PAGES = 8192, /* larger y have larger pages */
    PROCESSORS = 8,    /* for which phases are judged: a matter of the matrix, whatever this machine has */
    LEAST_SPEEDUP = 4, /* of phases on so many; with less, windows are tried */
    LEAST_BLOCKS = 4   /* fewer are no work for two threads */
};

/* The pages of y that each unit touches. */
typedef struct coverage {
    const spry_arrays *csr;
    const spryi_csr_blocks *blocks;
    const spryi_csr_runs *runs;
    int64_t units, pages, words; /* words of 64 pages a unit */
    int shift;
    uint8_t *touched; /* units x pages */
    uint64_t *bits;   /* units x words: the same, for the chunks that are tried */
} coverage;

/* The chunks of one try: unit u is in chunk u >> doubled, which goes in phase[u >> doubled]. */
typedef struct attempt {
    int64_t chunks, phases;
    int doubled;
    int64_t cost; /* steps of PROCESSORS processors, each of one unit */
    uint8_t phase[SPRYI_MOST_CHUNKS];
} attempt;

/* touched[page] = 1 for the pages of the columns of entries begin .. end - 1. */
static void mark_entries(const coverage *v, int64_t begin, int64_t end, uint8_t *touched)
{
    const int32_t *narrow = v->csr->indices;
    const int64_t *wide = v->csr->indices;
    if (v->csr->index_type == SPRY_I32)
        for (int64_t k = begin; k < end; k++) touched[narrow[k] >> v->shift] = 1;
    else
        for (int64_t k = begin; k < end; k++) touched[wide[k] >> v->shift] = 1;
}

/* Rows begin .. end - 1 of constant stride: the columns of the first row tell all. */
static void mark_strided(const coverage *v, int64_t begin, int64_t end, uint8_t *touched)
{
    for (int64_t k = spryi_offset_of(v->csr, begin); k < spryi_offset_of(v->csr, begin + 1); k++) {
        const int64_t column = spryi_minor_of(v->csr, k);
        for (int64_t page = column >> v->shift; page <= (column + (end - begin - 1)) >> v->shift; page++)
            touched[page] = 1;
    }
}

static void mark_block(const coverage *v, const spryi_csr_block *block, uint8_t *touched)
{
    if (block->piece >= 0) mark_entries(v, block->begin, block->end, touched);
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        const spryi_csr_run *run = &v->runs->list[r];
        const int64_t begin = block->begin + run->begin, end = block->begin + run->end;
        if (run->kind == SPRYI_RUN_STRIDED)
            mark_strided(v, begin, end, touched);
        else if (run->kind == SPRYI_RUN_SHARED)
            for (int64_t i = begin; i < end; i += run->group)
                mark_entries(v, spryi_offset_of(v->csr, i), spryi_offset_of(v->csr, i + 1), touched);
        else
            mark_entries(v, spryi_offset_of(v->csr, begin), spryi_offset_of(v->csr, end), touched);
    }
}

static int64_t first_block(const coverage *v, int64_t unit)
{
    return v->blocks->count * unit / v->units;
}

static void mark_units(void *job, int64_t begin, int64_t end)
{
    const coverage *v = job;
    for (int64_t u = begin; u < end; u++) {
        uint8_t *touched = v->touched + u * v->pages;
        memset(touched, 0, (size_t)v->pages);
        for (int64_t b = first_block(v, u); b < first_block(v, u + 1); b++) mark_block(v, &v->blocks->list[b], touched);
        uint64_t *bits = v->bits + u * v->words;
        memset(bits, 0, (size_t)v->words * sizeof *bits);
        for (int64_t page = 0; page < v->pages; page++) bits[page / 64] |= (uint64_t)touched[page] << page % 64;
    }
}

static spry_status look_at_columns(spry_context *context, coverage *v, spry_error *err)
{
    spry_status status = SPRY_OK;
    v->units = v->blocks->count < SPRYI_MOST_CHUNKS ? v->blocks->count : SPRYI_MOST_CHUNKS;
    if (v->units < LEAST_BLOCKS) v->units = 1;
    v->shift = LEAST_PAGE;
    while ((v->csr->cols - 1) >> v->shift >= MOST_PAGES) v->shift++;
    v->pages = ((v->csr->cols - 1) >> v->shift) + 1;
    v->words = (v->pages + 63) / 64;
    SPRYI_TRY(SPRYI_NEW(context, &v->touched, v->units * v->pages, "pages of y (scratch)", err));
    SPRYI_TRY(SPRYI_NEW(context, &v->bits, v->units * v->words, "pages of y (scratch)", err));
    spryi_loop(context, spryi_threads(context, v->csr->nnz), v->units, 1, mark_units, v);
done:
    return status;
}

/* bits, of `chunks` chunks, becomes that of half as many: neighbours joined. */
static void join_neighbours(const coverage *v, int64_t chunks)
{
    for (int64_t c = 0; c < chunks; c++)
        for (int64_t w = 0; w < v->words; w++) {
            uint64_t bits = v->bits[c * v->words + w];
            if (c % 2 == 0)
                v->bits[c / 2 * v->words + w] = bits;
            else
                v->bits[c / 2 * v->words + w] |= bits;
        }
}

static int overlap(const uint64_t *a, const uint64_t *b, int64_t words)
{
    for (int64_t w = 0; w < words; w++)
        if (a[w] & b[w]) return 1;
    return 0;
}

/* Each chunk gets the first phase in which it meets nobody. taken: SPRYI_MOST_PHASES x words. 0: too many phases. */
static int assign_phases(const coverage *v, attempt *t, uint64_t *taken)
{
    int64_t counts[SPRYI_MOST_PHASES] = {0};
    memset(taken, 0, (size_t)(SPRYI_MOST_PHASES * v->words) * sizeof *taken);
    for (int64_t c = 0; c < t->chunks; c++) {
        const uint64_t *bits = v->bits + c * v->words;
        int phase = 0;
        while (phase < SPRYI_MOST_PHASES && overlap(bits, taken + phase * v->words, v->words)) phase++;
        if (phase == SPRYI_MOST_PHASES) return 0;
        for (int64_t w = 0; w < v->words; w++) taken[phase * v->words + w] |= bits[w];
        t->phase[c] = (uint8_t)phase;
        counts[phase]++;
        if (phase >= t->phases) t->phases = phase + 1;
    }
    for (int64_t phase = 0; phase < t->phases; phase++)
        t->cost += ((counts[phase] + PROCESSORS - 1) / PROCESSORS) << t->doubled;
    return 1;
}

/* The chunk size whose phases keep PROCESSORS processors busiest, the largest of equals. Uses v->bits up. */
static attempt best_phases(const coverage *v, uint64_t *taken)
{
    attempt best = {.cost = INT64_MAX}; /* one chunk is always possible, dearer than the units it stands for */
    for (int doubled = 0;; doubled++) {
        attempt t = {.doubled = doubled, .chunks = ((v->units - 1) >> doubled) + 1};
        if (assign_phases(v, &t, taken) && t.cost <= best.cost) best = t;
        if (t.chunks == 1) return best;
        join_neighbours(v, t.chunks);
    }
}

/* The columns between the first and the last page that units begin .. end - 1 touch. */
static spryi_csr_range window_of(const coverage *v, int64_t begin, int64_t end)
{
    int64_t first = v->pages, last = -1;
    for (int64_t u = begin; u < end; u++) {
        const uint8_t *touched = v->touched + u * v->pages;
        int64_t page = 0;
        while (page < first && !touched[page]) page++;
        first = page;
        for (page = v->pages - 1; page > last && !touched[page];) page--;
        last = page;
    }
    if (last < first) return (spryi_csr_range){0};
    int64_t to = (last + 1) << v->shift;
    return (spryi_csr_range){first << v->shift, to < v->csr->cols ? to : v->csr->cols};
}

/* As many chunks as windows may have, of nearly equal work; how many, 0 where not even two. */
static int64_t make_windows(const coverage *v, spry_type vector_type, spryi_csr_chunk list[SPRYI_MOST_WINDOWS],
                            int64_t *numbers)
{
    const spry_arrays *a = v->csr;
    const int64_t entry = (int64_t)(spry_type_bytes(a->value_type) + spry_index_type_bytes(a->index_type));
    const int64_t most = a->nnz * entry / SPRYI_WINDOW_SHARE / (int64_t)spry_type_bytes(vector_type);
    for (int64_t count = v->units < SPRYI_MOST_WINDOWS ? v->units : SPRYI_MOST_WINDOWS; count > 1; count--) {
        *numbers = 0;
        for (int64_t c = 0; c < count; c++) {
            const int64_t begin = v->units * c / count, end = v->units * (c + 1) / count;
            list[c] = (spryi_csr_chunk){.first = first_block(v, begin),
                                        .last = first_block(v, end),
                                        .window = window_of(v, begin, end),
                                        .at = *numbers};
            *numbers += list[c].window.end - list[c].window.begin;
        }
        if (*numbers <= most) return count;
    }
    return *numbers = 0;
}

/* Chunks phase by phase; place[c] = where chunk c comes to lie. */
static void place_chunks(spryi_csr_chunks *chunks, const coverage *v, const attempt *a, int64_t *place)
{
    chunks->phase_count = a->phases;
    for (int64_t phase = 0; phase < a->phases; phase++) {
        chunks->phases[phase] = chunks->count;
        for (int64_t c = 0; c < a->chunks; c++) {
            if (a->phase[c] != phase) continue;
            const int64_t begin = c << a->doubled, end = (c + 1) << a->doubled;
            chunks->list[chunks->count] = (spryi_csr_chunk){.first = first_block(v, begin),
                                                            .last = first_block(v, end < v->units ? end : v->units)};
            place[c] = chunks->count++;
        }
    }
    chunks->phases[a->phases] = chunks->count;
}

/* owner[page]: the chunk, by its place, that touches it first; pages that none touches go with the page before. */
static void find_owners(const coverage *v, const attempt *a, const int64_t *place, int32_t *owner)
{
    for (int64_t page = 0; page < v->pages; page++) owner[page] = INT32_MAX;
    for (int64_t u = 0; u < v->units; u++) {
        const uint8_t *touched = v->touched + u * v->pages;
        const int32_t at = (int32_t)place[u >> a->doubled];
        for (int64_t page = 0; page < v->pages; page++)
            if (touched[page] && at < owner[page]) owner[page] = at;
    }
    for (int64_t page = 0; page < v->pages; page++)
        if (owner[page] == INT32_MAX) owner[page] = page > 0 ? owner[page - 1] : 0;
}

/* The ranges of pages with one owner: counted for each chunk, then laid out chunk by chunk. */
static spry_status make_ranges(spry_context *context, spryi_csr_chunks *chunks, const coverage *v, const int32_t *owner,
                               spry_error *err)
{
    for (int64_t page = 0; page < v->pages; page++)
        if (page == 0 || owner[page] != owner[page - 1]) chunks->list[owner[page]].ranges_end++;
    for (int64_t c = 0; c < chunks->count; c++) {
        spryi_csr_chunk *chunk = &chunks->list[c];
        chunk->ranges_begin = chunks->range_count;
        chunks->range_count += chunk->ranges_end;
        chunk->ranges_end = chunk->ranges_begin;
    }
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &chunks->ranges, chunks->range_count, "ranges", err));
    for (int64_t page = 0, next; page < v->pages; page = next) {
        for (next = page + 1; next < v->pages && owner[next] == owner[page];) next++;
        const int64_t end = next << v->shift;
        chunks->ranges[chunks->list[owner[page]].ranges_end++] =
            (spryi_csr_range){page << v->shift, end < v->csr->cols ? end : v->csr->cols};
    }
    return SPRY_OK;
}

static spry_status with_phases(spry_context *context, spryi_csr_chunks *chunks, const coverage *v, const attempt *best,
                               spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t place[SPRYI_MOST_CHUNKS];
    int32_t *owner = NULL;
    SPRYI_TRY(SPRYI_NEW(context, &chunks->list, best->chunks, "chunks", err));
    place_chunks(chunks, v, best, place);
    SPRYI_TRY(SPRYI_NEW(context, &owner, v->pages, "pages of y (scratch)", err));
    find_owners(v, best, place, owner);
    status = make_ranges(context, chunks, v, owner, err);
done:
    spryi_release(context, owner);
    return status;
}

spry_status spryi_csr_chunks_make(spry_context *context, spryi_csr_chunks *chunks, const spry_arrays *csr,
                                  const spryi_csr_blocks *blocks, const spryi_csr_runs *runs, spry_type vector_type,
                                  spry_error *err)
{
    spry_status status = SPRY_OK;
    coverage v = {.csr = csr, .blocks = blocks, .runs = runs};
    uint64_t *taken = NULL;
    spryi_csr_chunk windows[SPRYI_MOST_WINDOWS];
    SPRYI_TRY(look_at_columns(context, &v, err));
    SPRYI_TRY(SPRYI_NEW(context, &taken, SPRYI_MOST_PHASES * v.words, "phases (scratch)", err));
    const attempt best = best_phases(&v, taken);
    const int tries = best.cost * LEAST_SPEEDUP > v.units;
    const int64_t count = tries ? make_windows(&v, vector_type, windows, &chunks->window_numbers) : 0;
    if (count > 0) {
        SPRYI_TRY(SPRYI_NEW(context, &chunks->list, count, "chunks", err));
        memcpy(chunks->list, windows, (size_t)count * sizeof *windows);
        chunks->count = count;
    } else {
        status = with_phases(context, chunks, &v, &best, err);
    }
done:
    spryi_release(context, taken);
    spryi_release(context, v.bits);
    spryi_release(context, v.touched);
    return status;
}

void spryi_csr_chunks_release(spry_context *context, spryi_csr_chunks *chunks)
{
    spryi_release(context, chunks->list);
    spryi_release(context, chunks->ranges);
}
