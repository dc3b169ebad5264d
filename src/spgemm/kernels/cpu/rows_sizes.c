#include "spgemm/kernels/cpu/rows.h"

#include "base/pool.h"

/*
 * Limits of the dense window. The widest window has 2^16 words of 64 columns. It needs 32 MB per thread for f64, which
 * is about the size of the last-level cache. Wider rows use the hash table. A memory limit reduces the width. Rows
 * with equal columns in A are summed together if their sums about fit in the second-level cache. Rows of C with the
 * columns of the row before plus a constant need no scan, so the window is used even if they have few products.
 */
enum { WIDEST_BIN = 16, WIDEST_IDENTICAL = 2048, WIDEST_REPEATED = 8192 };

static int64_t most_of(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static int64_t least_of(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* ---- layout --------------------------------------------------------------------------------------------- */

/* Assigns a thread's arrays in its part of the workspace, aligned to cache lines. start NULL: only counts bytes. */
typedef struct layout {
    unsigned char *start;
    int64_t bytes;
} layout;

static void *take(layout *l, int64_t count, int64_t size)
{
    void *array = l->start ? l->start + l->bytes : NULL;
    l->bytes += (count * size + 63) / 64 * 64;
    return array;
}

static void lay_out_run(layout *l, const spryi_spgemm_sizes *s, int64_t value, spryi_row_run *run)
{
    enum { INDEX = sizeof(int32_t) };
    const int64_t products = s->run_products + 16, staged = s->run_staged + 16; /* 16 more for whole vectors */
    *run = (spryi_row_run){.with = s->runs,
                           .most_products = s->run_products,
                           .most_values = s->run_values,
                           .most_staged = s->run_staged,
                           .width = s->runs ? s->runs->bytes / value : 0};
    if (s->run_products == 0) return;
    run->memory.values = take(l, s->run_values, value);
    run->memory.order = take(l, s->run_products, sizeof *run->memory.order);
    run->memory.list = take(l, products, INDEX);
    run->memory.columns = take(l, products, INDEX);
    run->memory.ends = take(l, products, INDEX);
    run->memory.positions = take(l, products, sizeof *run->memory.positions);
    run->memory.staged = take(l, staged, value);
    run->memory.staged_columns = take(l, staged, INDEX);
    for (int k = 0; k < 2; k++) {
        run->memory.bases[k] = take(l, SPRYI_RUN_LENGTH, INDEX);
        run->memory.lengths[k] = take(l, SPRYI_RUN_LENGTH, INDEX);
    }
    run->memory.tracks = take(l, SPRYI_RUN_TRACKS, sizeof *run->memory.tracks);
}

static void lay_out_one_pass(layout *l, const spryi_spgemm_sizes *s, int64_t value, spryi_rows_workspace *w)
{
    const int64_t listed = s->listed + 16, entries = s->entries + 64; /* vectors read and write after the end */
    w->groups.sums = take(l, 8 * s->ring, value);
    w->groups.bits = take(l, s->ring, 1);
    w->groups.touched = take(l, s->ring / 64, 1);
    w->groups.last = (uint32_t)s->ring - 1;
    w->ranks.mask = w->mask;
    w->ranks.rank = take(l, s->mask, sizeof *w->ranks.rank);
    w->ranks.touched = take(l, s->mask + 64, 1);
    w->list.map = take(l, 64 * s->windows, sizeof *w->list.map);
    w->list.columns = take(l, listed, sizeof *w->list.columns);
    w->list.before = take(l, listed, sizeof *w->list.before);
    w->list.products = take(l, listed, value);
    w->list.positions = take(l, listed, sizeof *w->list.positions);
    for (int64_t b = 0; b < s->buffers; b++) {
        w->buffers[b].ends = take(l, s->entries, sizeof *w->buffers[b].ends);
        w->buffers[b].columns = take(l, entries, sizeof *w->buffers[b].columns);
        w->buffers[b].values = take(l, entries, value);
    }
}

/* Divides a thread's part of the workspace. Returns its bytes. No other function knows the layout. */
static int64_t lay_out(const spryi_spgemm_job *job, const spryi_spgemm_sizes *s, void *start, spryi_rows_workspace *w)
{
    const int64_t value = (int64_t)spry_type_bytes(job->type);
    layout l = {.start = start};
    w->mask = take(&l, s->mask, sizeof *w->mask);
    w->marked = take(&l, (s->mask + 63) / 64, sizeof *w->marked);
    w->window.sums = take(&l, 64 * s->windows, value);
    w->window.bits = take(&l, s->windows, sizeof *w->window.bits);
    w->window.touched = take(&l, s->windows, 1);
    w->window.flags = take(&l, 64 * s->windows, 1);
    w->table.sums = take(&l, s->slots, value);
    w->table.keys = take(&l, s->slots, (int64_t)spryi_index_type_bytes(job->b.index_type));
    if (s->buffers > 0) lay_out_one_pass(&l, s, value, w);
    lay_out_run(&l, s, value, &w->run);
    return l.bytes;
}

void spryi_rows_place(const spryi_spgemm_job *job, int thread, spryi_rows_workspace *w)
{
    const spryi_spgemm_sizes *s = &job->sizes;
    *w = (spryi_rows_workspace){0};
    (void)lay_out(job, s, (unsigned char *)job->workspace + thread * s->thread_bytes, w);
}

/* ---- sizes ---------------------------------------------------------------------------------------------- */

/*
 * Returns s with the number of threads and the bytes of the workspace. Uses fewer threads if the workspace would exceed
 * most_bytes. INT64_MAX / 2 means more than any memory.
 */
static spryi_spgemm_sizes add_up(const spryi_spgemm_job *job, spryi_spgemm_sizes s, int64_t most_bytes)
{
    spryi_rows_workspace w;
    s.thread_bytes = lay_out(job, &s, NULL, &w);
    s.threads = job->threads;
    if (s.thread_bytes <= INT64_MAX / 2 / s.threads)
        while (s.threads > 1 && most_bytes > 0 && s.thread_bytes * s.threads > most_bytes) s.threads--;
    s.bytes = s.thread_bytes <= INT64_MAX / 2 / s.threads ? s.thread_bytes * s.threads : INT64_MAX / 2;
    return s;
}

static int64_t mask_words(const spryi_spgemm_job *job)
{
    return (job->b.columns / 64 + 8) / 8 * 8;
}

/* Returns true if the first and last columns of a sampled row of A are those of the row before plus a constant. */
static bool has_moved_rows(const spry_arrays *a)
{
    enum { SAMPLE = 64, STRETCH = 8 };
    const int32_t *offsets = a->offsets, *columns = a->indices;
    for (int64_t s = 0; s < SAMPLE; s++)
        for (int64_t i = a->rows / SAMPLE * s + 1; i < a->rows / SAMPLE * s + STRETCH && i < a->rows; i++) {
            const int32_t *before = columns + offsets[i - 1], *row = columns + offsets[i];
            const int64_t n = offsets[i] - offsets[i - 1];
            if (n < 2 || offsets[i + 1] - offsets[i] != n || row[0] < before[0]) continue;
            if ((int64_t)row[n - 1] - before[n - 1] == (int64_t)row[0] - before[0]) return true;
        }
    return false;
}

/*
 * Returns sizes with memory only for runs. Returns zeros if runs are not possible, or if the product is so small that
 * clearing the memory costs more than runs save.
 */
static spryi_spgemm_sizes run_sizes(const spryi_spgemm_job *job, const spryi_run_functions *runs, int64_t staged)
{
    enum { LEAST_PRODUCTS = 1024, MOST_PRODUCTS = 8192, MOST_VALUES = 72 << 10 };
    spryi_spgemm_sizes s = {0};
    if (!runs || job->products < LEAST_PRODUCTS || spryi_index_pair(job->a.offset_type, job->a.index_type) != 0)
        return s;
    if (!has_moved_rows(&job->a)) return s;
    s.runs = runs;
    s.run_products = least_of(job->products, MOST_PRODUCTS);
    s.run_values = job->products < MOST_VALUES / 8 ? 8 * job->products : MOST_VALUES;
    s.run_staged = least_of(job->products, staged);
    return s;
}

/* Adds a window for rows of bins 0 to `bin` (spryi_spgemm_spans), and a hash table for wider rows. */
static spryi_spgemm_sizes with_window(const spryi_spgemm_job *job, spryi_spgemm_sizes s, int bin)
{
    const spryi_spgemm_spans *found = &job->found;
    int64_t widest = 0, busiest = found->scattered;
    for (int b = 0; b < SPRYI_SPAN_BINS; b++) {
        if (b <= bin) widest = most_of(widest, found->widest[b]);
        if (b > bin) busiest = most_of(busiest, found->busiest[b]);
    }
    if (bin == WIDEST_BIN && found->identical <= WIDEST_IDENTICAL)
        widest = most_of(widest, SPRYI_IDENTICAL_ROWS * found->identical);
    if (bin == WIDEST_BIN && found->repeated <= WIDEST_REPEATED) widest = most_of(widest, found->repeated);
    s.windows = (widest + 63) / 64 * 64; /* a multiple of 64, because 64 words are scanned at a time */
    s.slots = spryi_rows_slots(busiest, job->b.columns);
    if (s.slots > 0) s.slots = most_of(s.slots, 64);
    return add_up(job, s, 0);
}

/*
 * Returns the sizes of fill. To stay within most_bytes, first removes the memory for runs, then narrows the window if
 * that saves memory in spite of the hash table, then reduces the number of threads.
 */
static spryi_spgemm_sizes fill_sizes(const spryi_spgemm_job *job, int64_t most_bytes, const spryi_run_functions *runs)
{
    enum { STAGED = 20 << 10 };
    spryi_spgemm_sizes s = run_sizes(job, runs, STAGED);
    spryi_spgemm_sizes best = with_window(job, s, WIDEST_BIN);
    if (most_bytes == 0 || best.bytes <= most_bytes) return best;
    s = (spryi_spgemm_sizes){0};
    best = with_window(job, s, WIDEST_BIN);
    for (int bin = best.bytes > most_bytes ? WIDEST_BIN - 1 : -1; bin >= 0; bin--) {
        const spryi_spgemm_sizes less = with_window(job, s, bin);
        if (less.bytes < best.bytes) best = less;
    }
    return add_up(job, best, most_bytes);
}

/*
 * Returns the sizes of one pass. Small products use small buffers, so that every thread gets several pieces. Lists are
 * read 32 columns at a time.
 */
static spryi_spgemm_sizes one_pass_sizes(const spryi_spgemm_job *job, const spryi_run_functions *runs)
{
    enum { PIECES = 8, LEAST_ENTRIES = 4096, LEAST_RING = 1 << 12, MOST_RING = 1 << 17 };
    const int64_t share = job->products / PIECES / job->threads;
    spryi_spgemm_sizes s = run_sizes(job, runs, 0);
    s.mask = mask_words(job);
    s.windows = least_of(s.mask, SPRYI_ONE_PASS_WINDOWS);
    s.listed = least_of(job->products, SPRYI_LISTED - 32) + 32;
    s.entries = job->threads == 1 ? SPRYI_BUFFER_ENTRIES
                                  : most_of(least_of(share, SPRYI_BUFFER_ENTRIES), LEAST_ENTRIES);
    s.buffers = job->threads > 1 ? SPRYI_BUFFERS : 1;
    s.ring = job->rows_of_b.grouped ? LEAST_RING : 0;
    while (s.ring > 0 && s.ring < MOST_RING && s.ring * 8 < job->b.columns) s.ring *= 2;
    if (job->products < s.entries) s.entries = least_of(s.entries, job->products + job->a.rows + 1);
    return add_up(job, s, 0);
}

spryi_spgemm_sizes spryi_rows_sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes,
                                    const spryi_run_functions *runs)
{
    if (phase == SPRYI_FILL) return fill_sizes(job, most_bytes, runs);
    if (phase == SPRYI_ONE_PASS) return one_pass_sizes(job, runs);
    spryi_spgemm_sizes s = {.mask = mask_words(job)};
    s.run_values = run_sizes(job, runs, 0).run_values; /* counting runs needs no other memory */
    s.runs = runs;
    return add_up(job, s, most_bytes);
}

/* ---- phases --------------------------------------------------------------------------------------------- */

static void merge_spans(spryi_spgemm_spans *all, const spryi_spgemm_spans *seen)
{
    for (int b = 0; b < SPRYI_SPAN_BINS; b++) {
        all->widest[b] = most_of(seen->widest[b], all->widest[b]);
        all->busiest[b] = most_of(seen->busiest[b], all->busiest[b]);
    }
    all->identical = most_of(seen->identical, all->identical);
    all->repeated = most_of(seen->repeated, all->repeated);
    all->scattered = most_of(seen->scattered, all->scattered);
    all->in_runs += seen->in_runs;
}

typedef struct rows_under_way {
    spryi_spgemm_job *job;
    spryi_rows_piece_fn piece;
    atomic_llong next;
    pthread_mutex_t found; /* locks the job's member `found` */
} rows_under_way;

static void run_pieces(void *argument, int thread)
{
    rows_under_way *r = argument;
    const spryi_work_pieces *pieces = &r->job->pieces;
    spryi_rows_workspace w;
    spryi_rows_place(r->job, thread, &w);
    while ((w.piece = atomic_fetch_add(&r->next, 1)) < pieces->count)
        r->piece(r->job, &w, pieces->rows[w.piece], pieces->rows[w.piece + 1]);
    pthread_mutex_lock(&r->found);
    merge_spans(&r->job->found, &w.seen);
    pthread_mutex_unlock(&r->found);
}

void spryi_rows_run(spryi_spgemm_job *job, spryi_rows_piece_fn piece)
{
    rows_under_way r = {.job = job, .piece = piece};
    pthread_mutex_init(&r.found, NULL); /* cannot fail with default attributes on the supported systems */
    spryi_parallel(job->pool, spryi_team(job->sizes.threads), run_pieces, &r);
    pthread_mutex_destroy(&r.found);
}
