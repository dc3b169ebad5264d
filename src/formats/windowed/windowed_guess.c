/*
 * What windowed would be, by a sample: windows of rows as they are, and balls of rows around sampled ones, as cells
 * are. Rows of one pattern are looked for beside a row and rows/2 to rows/5 apart.
 */
#include "formats/windowed/windowed_guess.h"
#include "core/context.h"
#include "core/element.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/number_set.h"
#include "core/row_lengths.h"
#include "formats/windowed/windowed_layout.h"

enum { SECTOR = 32 /* bytes */ };

/* Sizes of the samples. */
typedef struct sample_sizes {
    int64_t windows, least; /* under each order, */
    int64_t entries;        /* so that there are about so many in all of them */
    int64_t grouped;        /* rows, for groups of one pattern */
    int set_bits;           /* of the sets of columns */
} sample_sizes;

static const sample_sizes *sizes_of(spryi_effort effort)
{
    static const sample_sizes quick = {2, 1, 1 << 13, 32, 13}, full = {16, 6, 3 << 16, SPRYI_WINDOWED_SAMPLES, 14};
    return effort == SPRYI_FULL ? &full : &quick;
}

typedef struct guesser {
    const spry_arrays *csr;
    spryi_number_set columns, sectors, rows;
    uint32_t *queue;  /* of a ball: window rows */
    int64_t *lengths; /* of the rows of a window */
    int64_t window, per_sector, run;
    int64_t most; /* entries of a window that are counted */
} guesser;

/* What windows under one order take, added up. */
typedef struct window_sums {
    double windows, rows, entries, columns, sectors, steps, ragged, slots;
    double most_work, most_steps; /* of a window */
} window_sums;

/*
 * The steps of a window's slices, whose rows are sorted: several runs that all rows have in one step, or those that
 * only some have, which takes as long as three of the others.
 */
static void add_steps(guesser *g, window_sums *sums, int64_t count)
{
    const int64_t at_once = g->run == 1 ? 8 : g->run <= 3 ? 4 : 2;
    double steps = 0;
    spryi_sort_lengths(g->lengths, count);
    for (int64_t n = 0; n < count; n += SPRYI_WINDOWED_LANES) {
        const int64_t last = n + SPRYI_WINDOWED_LANES <= count ? n + SPRYI_WINDOWED_LANES - 1 : count - 1;
        const int64_t width = g->lengths[n] / g->run, whole = g->lengths[last] / g->run,
                      rest = width - whole / at_once * at_once;
        steps += (double)(whole / at_once) + 3 * (double)((rest + at_once - 1) / at_once);
        sums->ragged += (double)(width - whole);
        sums->slots += (double)width;
    }
    sums->steps += steps;
    if (steps > sums->most_steps) sums->most_steps = steps;
}

/*
 * Rows first .. first + count - 1 of a list, or of the matrix where there is none, as a window. Where it has very many
 * entries or the set of columns becomes full, the entries behind that are taken to meet as many new ones as those
 * before.
 */
static void add_window(guesser *g, window_sums *sums, const uint32_t *list, int64_t first, int64_t count)
{
    int64_t entries = 0, counted = 0;
    spryi_number_set_empty(&g->columns);
    spryi_number_set_empty(&g->sectors);
    for (int64_t n = first; n < first + count; n++) {
        const int64_t i = list ? (int64_t)list[n] : n, length = spryi_row_length(g->csr, i);
        g->lengths[n - first] = length > SPRYI_WINDOWED_LONG ? 0 : length;
        if (length > SPRYI_WINDOWED_LONG) continue;
        const int64_t begin = spryi_offset_of(g->csr, i);
        entries += length;
        if (counted >= g->most || spryi_number_set_is_full(&g->columns)) continue;
        counted += length;
        for (int64_t k = begin; k < begin + length; k++) {
            const int64_t j = spryi_minor_of(g->csr, k);
            if (spryi_number_set_add(&g->columns, j)) (void)spryi_number_set_add(&g->sectors, j / g->per_sector);
        }
    }
    sums->windows++;
    sums->rows += (double)count;
    sums->entries += (double)entries;
    double more = counted > 0 ? (double)entries / (double)counted : 1;
    if (more * (double)g->columns.count > (double)g->csr->cols) more = (double)g->csr->cols / (double)g->columns.count;
    sums->columns += more * (double)g->columns.count;
    sums->sectors += more * (double)g->sectors.count;
    add_steps(g, sums, count);
    const double work = (double)entries + more * (double)g->columns.count;
    if (work > sums->most_work) sums->most_work = work;
}

/* The rows of a ball around a row, breadth first; how many there are. */
static int64_t grow_ball(guesser *g, int64_t center)
{
    int64_t head = 0, count = 0;
    spryi_number_set_empty(&g->rows);
    (void)spryi_number_set_add(&g->rows, center);
    g->queue[count++] = (uint32_t)center;
    while (head < count && count < g->window) {
        const int64_t i = g->queue[head++], begin = spryi_offset_of(g->csr, i), length = spryi_row_length(g->csr, i);
        if (length > SPRYI_WINDOWED_LONG) continue;
        for (int64_t k = begin; k < begin + length && count < g->window; k++) {
            const int64_t j = spryi_minor_of(g->csr, k);
            if (spryi_number_set_add(&g->rows, j)) g->queue[count++] = (uint32_t)j;
        }
    }
    return count;
}

static int same_pattern(const spry_arrays *csr, int64_t i, int64_t other)
{
    const int64_t length = spryi_row_length(csr, i), begin = spryi_offset_of(csr, i), at = spryi_offset_of(csr, other);
    if (spryi_row_length(csr, other) != length) return 0;
    for (int64_t k = 0; k < length; k++)
        if (spryi_minor_of(csr, begin + k) != spryi_minor_of(csr, at + k)) return 0;
    return 1;
}

/* Rows of the pattern of row i that lie side by side, or `apart` rows from each other. */
static int64_t group_size(const spry_arrays *csr, int64_t i, int64_t apart)
{
    enum { MOST = SPRYI_WINDOWED_LANES };
    int64_t size = 1;
    for (int64_t r = i + apart; r < csr->rows && size < MOST && same_pattern(csr, i, r); r += apart) size++;
    for (int64_t r = i - apart; r >= 0 && size < MOST && same_pattern(csr, i, r); r -= apart) size++;
    return size;
}

/* The median size of groups of rows of one pattern by sampled rows; *apart: they lie so many rows apart. */
static int64_t median_group(const spry_arrays *csr, int64_t samples, int64_t *apart)
{
    int64_t best = 1;
    *apart = 1;
    for (int64_t parts = 1; parts <= SPRYI_WINDOWED_MOST_RUN; parts++) {
        const int64_t step = parts == 1 ? 1 : csr->rows / parts;
        int64_t sizes[SPRYI_WINDOWED_LANES + 1] = {0}, seen = 0, below = 0, median = 0;
        if (csr->rows % parts != 0 || step == 0) continue;
        for (int64_t n = 0; n < samples; n++) {
            const int64_t i = spryi_windowed_sample(csr->rows, n, samples);
            const int64_t length = spryi_row_length(csr, i);
            if (length == 0 || length > SPRYI_WINDOWED_LONG) continue;
            sizes[group_size(csr, i, step)]++;
            seen++;
        }
        while (2 * below < seen) below += sizes[++median];
        if (median <= best) continue;
        best = median;
        *apart = step;
    }
    return best;
}

/* The columns of a run, where rows of one pattern are the unknowns of a node. */
static int64_t run_of(int64_t group)
{
    int64_t run = SPRYI_WINDOWED_MOST_RUN;
    while (group % run != 0) run--;
    return run;
}

static void sample_windows(guesser *g, window_sums *natural, window_sums *balls, spryi_effort effort)
{
    const spry_arrays *a = g->csr;
    const double mean = (double)a->nnz / (double)a->rows;
    const sample_sizes *sizes = sizes_of(effort);
    const int64_t most = (int64_t)((double)sizes->entries / ((double)g->window * (mean > 1 ? mean : 1)));
    const int64_t enough = most > sizes->least ? most : sizes->least;
    const int64_t windows = enough < sizes->windows ? enough : sizes->windows;
    g->most = 2 * sizes->entries / windows;
    for (int64_t n = 0; n < windows; n++) {
        /* in the middle of equal parts: ends are unlike the rest */
        const int64_t first = spryi_windowed_sample(a->rows - g->window, 2 * n + 1, 2 * windows);
        add_window(g, natural, NULL, first, g->window);
        if (a->rows != a->cols) continue;
        const int64_t count = grow_ball(g, spryi_windowed_sample(a->rows, 2 * n + 1, 2 * windows));
        add_window(g, balls, g->queue, 0, count);
    }
}

static spry_status prepare(guesser *g, spry_context *context, const spry_arrays *csr, spryi_effort effort,
                           spry_error *err)
{
    enum { ROWS_BITS = 12 }; /* for SPRYI_WINDOWED_MOST_ROWS */
    spry_status status = SPRY_OK;
    const int64_t window = spryi_windowed_default_rows(csr->rows);
    g->csr = csr;
    g->window = window < csr->rows ? window : csr->rows;
    g->per_sector = SECTOR / (csr->value_type == SPRY_F32 ? 4 : 8);
    SPRYI_TRY(spryi_number_set_make(context, &g->columns, sizes_of(effort)->set_bits, "a sample of columns", err));
    SPRYI_TRY(spryi_number_set_make(context, &g->sectors, sizes_of(effort)->set_bits, "a sample of sectors", err));
    SPRYI_TRY(spryi_number_set_make(context, &g->rows, ROWS_BITS, "a sample of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &g->queue, g->window, "a ball of rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &g->lengths, g->window, "lengths of rows", err));
done:
    return status;
}

static void take_sums(spryi_windowed_guess *guess, const window_sums *w)
{
    if (w->entries == 0) return;
    guess->columns = w->columns / w->entries;
    guess->sectors = w->sectors / w->entries;
    guess->staged = w->columns / w->windows;
    guess->heaviest = w->most_work * w->windows / (w->entries + w->columns);
    guess->longest = w->steps > 0 ? w->most_steps * w->windows / w->steps : 1;
    guess->steps = w->steps / w->entries;
    guess->ragged = w->ragged / w->entries;
}

spry_status spryi_windowed_guess_of(spry_context *context, spryi_windowed_guess *guess, const spry_arrays *csr,
                                    spryi_effort effort, spry_error *err)
{
    guesser g = {0};
    window_sums natural = {0}, balls = {0};
    spry_status status = SPRY_OK;
    *guess = (spryi_windowed_guess){0};
    if (csr->nnz == 0 || csr->rows >= UINT32_MAX || csr->cols >= UINT32_MAX) return SPRY_OK;
    SPRYI_TRY(prepare(&g, context, csr, effort, err));
    guess->group = median_group(csr, sizes_of(effort)->grouped, &guess->apart);
    g.run = guess->run = run_of(guess->group);
    sample_windows(&g, &natural, &balls, effort);
    guess->cells = balls.entries > 0 && 10 * balls.columns * natural.entries <= 9 * natural.columns * balls.entries;
    guess->windows = (double)csr->rows / (double)g.window;
    take_sums(guess, guess->cells ? &balls : &natural);
done:
    spryi_release(context, g.columns.slots);
    spryi_release(context, g.sectors.slots);
    spryi_release(context, g.rows.slots);
    spryi_release(context, g.queue);
    spryi_release(context, g.lengths);
    return status;
}
