/*
 * How the transposed product is scattered without two threads adding to one y_j. Rows are cut into chunks of about
 * equal work, and which chunks touch which pages of y is found by one reading of the columns (of stepped runs the
 * first row's).
 *
 *   turns    Chunks that have no page in common may go at once, straight into y; each is given the first turn in
 *            which nothing stands against it. Matrices whose rows are near their columns (grids, meshes, bands)
 *            need two to five turns: no memory beside y, and no byte that the plain product has not, but for
 *            reading y. The first to touch a page sets it, so y is not cleared before.
 *   windows  Where every chunk touches everything (graphs), turns would be one chunk each. Then a few
 *            chunks scatter at once, each into its own copy of the columns between its least and its largest; the
 *            copies are added in order. As many chunks as keep all copies within one part in SPRYI_WINDOW_SHARE of the
 *            entries' bytes.
 *
 * All is decided by the matrix, never by the number of threads, so the bits of y do not depend on it.
 * Cost: one reading of the columns; pages and chunks are so few that the rest is microseconds.
 */
#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/csr/csr.h"

#include <string.h>

#define SPRYI_TEMPLATE "formats/csr/csr_chunks.tmpl.c"
#include "core/instantiate_indices.h"

enum {
    LEAST_PAGE = 9,    /* 512 columns, as a power of two */
    MOST_PAGES = 8192, /* larger y have larger pages */
    PROCESSORS = 8,    /* for which turns are judged: a matter of the matrix, whatever this machine has */
    LEAST_SPEEDUP = 4, /* of turns on so many; with less, windows are tried */
    LEAST_BLOCKS = 4   /* fewer are no work for two threads */
};

/* What each of `units`, the finest chunks looked at, touches. */
typedef struct coverage {
    int64_t units, pages, words; /* words of 64 pages a unit */
    int shift;
    uint8_t *touched; /* units x pages */
    uint64_t *bits;   /* units x words: the same, for the chunks that are tried */
} coverage;

/* The chunks of one try: unit u is in chunk u >> doubled. turn[c] of each; counts: chunks a turn. */
typedef struct attempt {
    int64_t chunks, turns;
    int doubled;
    int64_t cost; /* steps of PROCESSORS processors, each of one unit */
    uint8_t turn[SPRYI_MOST_CHUNKS];
} attempt;

static void mark_block(const spryi_csr *s, const spryi_csr_block *block, int shift, uint8_t *touched)
{
    switch (spryi_index_pair(s->a.offset_type, s->a.index_type)) {
    case 0: mark_block_32_32(s, block, shift, touched); break;
    case 1: mark_block_64_32(s, block, shift, touched); break;
    default: mark_block_64_64(s, block, shift, touched); break;
    }
}

static int64_t first_block(const spryi_csr *s, const coverage *v, int64_t unit)
{
    return s->block_count * unit / v->units;
}

static spry_status look_at_columns(spry_context *context, const spryi_csr *s, coverage *v, spry_error *err)
{
    spry_status status = SPRY_OK;
    v->units = s->block_count < SPRYI_MOST_CHUNKS ? s->block_count : SPRYI_MOST_CHUNKS;
    v->shift = LEAST_PAGE;
    while ((s->a.cols - 1) >> v->shift >= MOST_PAGES) v->shift++;
    v->pages = ((s->a.cols - 1) >> v->shift) + 1;
    v->words = (v->pages + 63) / 64;
    SPRYI_TRY(SPRYI_NEW(context, &v->touched, v->units * v->pages, "pages of y (scratch)", err));
    SPRYI_TRY(SPRYI_NEW(context, &v->bits, v->units * v->words, "pages of y (scratch)", err));
    int threads = spryi_threads(context, s->a.nnz);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t u = 0; u < v->units; u++) {
        uint8_t *touched = v->touched + u * v->pages;
        memset(touched, 0, (size_t)v->pages);
        for (int64_t b = first_block(s, v, u); b < first_block(s, v, u + 1); b++)
            mark_block(s, &s->blocks[b], v->shift, touched);
        uint64_t *bits = v->bits + u * v->words;
        memset(bits, 0, (size_t)v->words * sizeof *bits);
        for (int64_t page = 0; page < v->pages; page++) bits[page / 64] |= (uint64_t)touched[page] << page % 64;
    }
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

/* Each chunk gets the first turn in which it meets nobody. taken: SPRYI_MOST_TURNS x words. 0: too many turns. */
static int take_turns(const coverage *v, attempt *t, uint64_t *taken)
{
    int64_t counts[SPRYI_MOST_TURNS] = {0};
    memset(taken, 0, (size_t)(SPRYI_MOST_TURNS * v->words) * sizeof *taken);
    for (int64_t c = 0; c < t->chunks; c++) {
        const uint64_t *bits = v->bits + c * v->words;
        int turn = 0;
        while (turn < SPRYI_MOST_TURNS && overlap(bits, taken + turn * v->words, v->words)) turn++;
        if (turn == SPRYI_MOST_TURNS) return 0;
        for (int64_t w = 0; w < v->words; w++) taken[turn * v->words + w] |= bits[w];
        t->turn[c] = (uint8_t)turn;
        counts[turn]++;
        if (turn >= t->turns) t->turns = turn + 1;
    }
    for (int64_t turn = 0; turn < t->turns; turn++)
        t->cost += ((counts[turn] + PROCESSORS - 1) / PROCESSORS) << t->doubled;
    return 1;
}

/* The chunk size whose turns keep PROCESSORS processors busiest, the largest of equals. Uses v->bits up. */
static attempt best_turns(const coverage *v, uint64_t *taken)
{
    attempt best = {.cost = INT64_MAX}; /* one chunk is always possible, dearer than the units it stands for */
    for (int doubled = 0;; doubled++) {
        attempt t = {.doubled = doubled, .chunks = ((v->units - 1) >> doubled) + 1};
        if (take_turns(v, &t, taken) && t.cost <= best.cost) best = t;
        if (t.chunks == 1) return best;
        join_neighbours(v, t.chunks);
    }
}

/* The columns between the first and the last page that units begin .. end - 1 touch. */
static spryi_csr_range window_of(const spryi_csr *s, const coverage *v, int64_t begin, int64_t end)
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
    return (spryi_csr_range){first << v->shift, to < s->a.cols ? to : s->a.cols};
}

/* As many chunks as windows may have, of nearly equal work; how many, 0 where not even two. */
static int64_t make_windows(spryi_csr *s, const coverage *v, spryi_csr_chunk chunks[SPRYI_MOST_WINDOWS])
{
    const int64_t entry = (int64_t)(spry_type_bytes(s->a.value_type) + spry_index_type_bytes(s->a.index_type));
    const int64_t most = s->a.nnz * entry / SPRYI_WINDOW_SHARE / (int64_t)spry_type_bytes(s->vector_type);
    int64_t count = v->units < SPRYI_MOST_WINDOWS ? v->units : SPRYI_MOST_WINDOWS;
    for (; count > 1; count--) {
        int64_t *numbers = &s->scatter.window_count;
        *numbers = 0;
        for (int64_t c = 0; c < count; c++) {
            int64_t begin = v->units * c / count, end = v->units * (c + 1) / count;
            chunks[c] = (spryi_csr_chunk){.first = first_block(s, v, begin),
                                          .last = first_block(s, v, end),
                                          .window = window_of(s, v, begin, end),
                                          .at = *numbers};
            *numbers += chunks[c].window.end - chunks[c].window.begin;
        }
        if (*numbers <= most) return count;
    }
    s->scatter.window_count = 0;
    return 0;
}

/* Chunks turn by turn; place[c] = where chunk c comes to lie. */
static void place_chunks(spryi_csr *s, const coverage *v, const attempt *a, int64_t *place)
{
    spryi_csr_scatter *t = &s->scatter;
    t->chunk_count = 0;
    t->turn_count = a->turns;
    for (int64_t turn = 0; turn < a->turns; turn++) {
        t->turns[turn] = t->chunk_count;
        for (int64_t c = 0; c < a->chunks; c++) {
            if (a->turn[c] != turn) continue;
            int64_t begin = c << a->doubled, end = (c + 1) << a->doubled;
            t->chunks[t->chunk_count] = (spryi_csr_chunk){.first = first_block(s, v, begin),
                                                          .last = first_block(s, v, end < v->units ? end : v->units)};
            place[c] = t->chunk_count++;
        }
    }
    t->turns[a->turns] = t->chunk_count;
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

/* What each chunk sets before it scatters: its pages, neighbours joined. */
static void make_ranges(spryi_csr *s, const coverage *v, const int32_t *owner)
{
    spryi_csr_scatter *t = &s->scatter;
    for (int64_t c = 0; c < t->chunk_count; c++) t->chunks[c].ranges_end = 0;
    for (int64_t page = 0; page < v->pages; page++)
        if (page == 0 || owner[page] != owner[page - 1]) t->chunks[owner[page]].ranges_end++;
    for (int64_t c = 0, sum = 0; c < t->chunk_count; c++) {
        t->chunks[c].ranges_begin = sum;
        sum += t->chunks[c].ranges_end;
        t->chunks[c].ranges_end = t->chunks[c].ranges_begin;
    }
    for (int64_t page = 0; page < v->pages;) {
        int64_t next = page + 1;
        while (next < v->pages && owner[next] == owner[page]) next++;
        int64_t end = next << v->shift;
        t->ranges[t->chunks[owner[page]].ranges_end++] =
            (spryi_csr_range){page << v->shift, end < s->a.cols ? end : s->a.cols};
        page = next;
    }
}

static int64_t count_ranges(const coverage *v, const int32_t *owner)
{
    int64_t count = 0;
    for (int64_t page = 0; page < v->pages; page++) count += page == 0 || owner[page] != owner[page - 1];
    return count;
}

/* One chunk, on one thread: what too few blocks leave. */
static spry_status one_chunk(spry_context *context, spryi_csr *s, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_csr_scatter *t = &s->scatter;
    SPRYI_TRY(SPRYI_NEW(context, &t->chunks, 1, "chunks", err));
    SPRYI_TRY(SPRYI_NEW(context, &t->ranges, 1, "ranges", err));
    t->chunks[0] = (spryi_csr_chunk){.last = s->block_count, .ranges_end = 1};
    t->ranges[0] = (spryi_csr_range){0, s->a.cols};
    t->turns[1] = t->chunk_count = t->range_count = t->turn_count = 1;
done:
    return status;
}

spry_status spryi_csr_make_chunks(spry_context *context, spryi_csr *s, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_csr_scatter *t = &s->scatter;
    coverage v = {0};
    uint64_t *taken = NULL;
    int32_t *owner = NULL;
    int64_t place[SPRYI_MOST_CHUNKS];
    spryi_csr_chunk windows[SPRYI_MOST_WINDOWS];
    s->scatters = 1;
    if (s->block_count < LEAST_BLOCKS || s->a.cols == 0) return one_chunk(context, s, err);
    SPRYI_TRY(look_at_columns(context, s, &v, err));
    SPRYI_TRY(SPRYI_NEW(context, &taken, SPRYI_MOST_TURNS * v.words, "turns (scratch)", err));
    attempt best = best_turns(&v, taken);
    if (best.cost * LEAST_SPEEDUP > v.units) t->chunk_count = make_windows(s, &v, windows);
    SPRYI_TRY(SPRYI_NEW(context, &t->chunks, t->chunk_count > 0 ? t->chunk_count : best.chunks, "chunks", err));
    if (t->chunk_count > 0) {
        memcpy(t->chunks, windows, (size_t)t->chunk_count * sizeof *windows);
        goto done;
    }
    place_chunks(s, &v, &best, place);
    SPRYI_TRY(SPRYI_NEW(context, &owner, v.pages, "pages of y (scratch)", err));
    find_owners(&v, &best, place, owner);
    t->range_count = count_ranges(&v, owner);
    SPRYI_TRY(SPRYI_NEW(context, &t->ranges, t->range_count, "ranges", err));
    make_ranges(s, &v, owner);
done:
    spryi_release(context, owner);
    spryi_release(context, taken);
    spryi_release(context, v.bits);
    spryi_release(context, v.touched);
    return status;
}

void spryi_csr_release_chunks(spry_context *context, spryi_csr *s)
{
    spryi_release(context, s->scatter.chunks);
    spryi_release(context, s->scatter.ranges);
}
