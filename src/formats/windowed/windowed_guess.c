/*
 * What windowed would be, by a sample: windows of rows as they are, and balls of rows around sampled ones, as cells
 * are. Rows of one pattern are looked for beside a row and rows/2 to rows/5 apart.
 */
#include "formats/windowed/windowed_guess.h"
#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number_set.h"
#include "formats/windowed/windowed_layout.h"
#include "matrix/row_lengths.h"

enum { SECTOR = 32 /* bytes */, MOST_WINDOWS = 16 /* under each order */ };

/* Sizes of the samples. */
typedef struct sample_sizes {
    int64_t windows, least; /* under each order, */
    int64_t entries;        /* so that there are about so many in all of them */
    int64_t grouped;        /* rows, for groups of one pattern */
    int set_bits;           /* of the sets of columns */
} sample_sizes;

static const sample_sizes *sizes_of(spryi_effort effort)
{
    static const sample_sizes quick = {2, 1, 1 << 13, 32, 13},
                              full = {MOST_WINDOWS, 6, 3 << 16, SPRYI_WINDOWED_SAMPLES, 14};
    return effort == SPRYI_FULL ? &full : &quick;
}

/* Rows of a window in an order, and the ranges of the reader that their columns are in: of the first `wanted` rows. */
typedef struct row_list {
    uint32_t *rows; /* room for a window */
    int64_t *ranges;
    int64_t count, wanted;
} row_list;

/* Rows around one, breadth first: those before `head` have been gone through for others. */
typedef struct ball {
    row_list list;
    spryi_number_set found;
    int64_t head;
} ball;

/* Sampled rows, and those that may have the pattern of each, since they are as long: at distances of `apart`. */
typedef struct like_rows {
    int64_t row, apart, length;
    int64_t range;       /* of the row; those of rows behind it and before it: */
    int64_t range_of[2]; /* the first */
    int64_t fetched[2];  /* how many, */
    int64_t same[2];     /* of which the first so many have the pattern */
} like_rows;

typedef struct guesser {
    spryi_column_reader *reader;
    const spry_arrays *csr; /* the reader's */
    spryi_number_set columns, sectors;
    row_list natural[MOST_WINDOWS];
    ball balls[MOST_WINDOWS];
    like_rows *samples; /* `sampled` of each distance */
    int64_t sampled;
    int64_t *lengths; /* of the rows of a window */
    int64_t windows;  /* under each order */
    int64_t window, per_sector, run;
    int64_t most;        /* entries of a window that are counted */
    int64_t all_columns; /* the range of all of them; -1: there is none */
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
 * The rows of a list as a window. Where it has very many entries or the set of columns becomes full, the entries behind
 * that are taken to meet as many new ones as those before.
 */
static void add_window(guesser *g, window_sums *sums, const row_list *list)
{
    int64_t entries = 0, counted = 0;
    spryi_number_set_empty(&g->columns);
    spryi_number_set_empty(&g->sectors);
    for (int64_t n = 0; n < list->count; n++) {
        const int64_t begin = spryi_offset_of(g->csr, list->rows[n]), length = spryi_row_length(g->csr, list->rows[n]);
        g->lengths[n] = length > SPRYI_WINDOWED_LONG ? 0 : length;
        if (length > SPRYI_WINDOWED_LONG) continue;
        entries += length;
        if (counted >= g->most || spryi_number_set_is_full(&g->columns)) continue;
        counted += length;
        const spry_arrays view = spryi_range_at(g->reader, list->ranges[n]);
        for (int64_t k = begin; k < begin + length; k++) {
            const int64_t j = spryi_minor_of(&view, k);
            if (spryi_number_set_add(&g->columns, j)) (void)spryi_number_set_add(&g->sectors, j / g->per_sector);
        }
    }
    sums->windows++;
    sums->rows += (double)list->count;
    sums->entries += (double)entries;
    double more = counted > 0 ? (double)entries / (double)counted : 1;
    if (more * (double)g->columns.count > (double)g->csr->cols) more = (double)g->csr->cols / (double)g->columns.count;
    sums->columns += more * (double)g->columns.count;
    sums->sectors += more * (double)g->sectors.count;
    add_steps(g, sums, list->count);
    const double work = (double)entries + more * (double)g->columns.count;
    if (work > sums->most_work) sums->most_work = work;
}

static int64_t want_row(guesser *g, int64_t i)
{
    if (spryi_row_length(g->csr, i) > SPRYI_WINDOWED_LONG) return 0; /* it is not read */
    return g->all_columns >= 0 ? g->all_columns : spryi_want_rows(g->reader, i, i + 1);
}

/* The first rows of a list that are not wanted yet. */
static void want_first(guesser *g, row_list *list, int64_t rows)
{
    for (; list->wanted < rows; list->wanted++) list->ranges[list->wanted] = want_row(g, list->rows[list->wanted]);
}

/* Those that add_window reads. */
static void want_counted(guesser *g, row_list *list)
{
    int64_t entries = 0, rows = 0;
    for (; rows < list->count && entries < g->most; rows++) {
        const int64_t length = spryi_row_length(g->csr, list->rows[rows]);
        entries += length > SPRYI_WINDOWED_LONG ? 0 : length;
    }
    want_first(g, list, rows);
}

static int is_grown(const guesser *g, const ball *b)
{
    return b->head == b->list.count || b->list.count == g->window;
}

static void add_to_ball(ball *b, int64_t row)
{
    if (spryi_number_set_add(&b->found, row)) b->list.rows[b->list.count++] = (uint32_t)row;
}

/* Goes through the rows that are found, which finds others. */
static void grow_level(guesser *g, ball *b)
{
    const int64_t end = b->list.count;
    for (; b->head < end && b->list.count < g->window; b->head++) {
        const int64_t i = b->list.rows[b->head], begin = spryi_offset_of(g->csr, i),
                      length = spryi_row_length(g->csr, i);
        if (length > SPRYI_WINDOWED_LONG) continue;
        for (int64_t k = begin; k < begin + length && b->list.count < g->window; k++)
            add_to_ball(b, spryi_column_at(g->reader, b->list.ranges[b->head], k));
    }
}

static void want_level(guesser *g)
{
    for (int64_t n = 0; n < g->windows; n++)
        if (!is_grown(g, &g->balls[n])) want_first(g, &g->balls[n].list, g->balls[n].list.count);
}

/* Each has a row; the first level is wanted. */
static void begin_balls(guesser *g)
{
    if (g->csr->rows != g->csr->cols) return;
    for (int64_t n = 0; n < g->windows; n++)
        add_to_ball(&g->balls[n], spryi_windowed_sample(g->csr->rows, 2 * n + 1, 2 * g->windows));
    want_level(g);
}

/*
 * All balls, a level at a time. A level takes as long to fetch as LEVEL bytes more of a large copy: where there have
 * been as many levels as the columns have such pieces, as of a chain, all columns are fetched.
 */
static spry_status grow_balls(guesser *g, spry_error *err)
{
    enum { LEVEL = 1 << 18 };
    const int64_t most_levels = g->csr->nnz * (int64_t)spry_index_type_bytes(g->csr->index_type) / LEVEL;
    int growing = 1;
    for (int64_t level = 0; growing; level++) {
        growing = 0;
        if (level == most_levels) g->all_columns = spryi_want_entries(g->reader, 0, g->csr->nnz);
        want_level(g); /* of the first all is wanted already */
        SPRYI_OK_OR_RETURN(spryi_fetch_wanted(g->reader, err));
        for (int64_t n = 0; n < g->windows; n++) {
            grow_level(g, &g->balls[n]);
            growing |= !is_grown(g, &g->balls[n]);
        }
    }
    for (int64_t n = 0; n < g->windows; n++) want_counted(g, &g->balls[n].list);
    return spryi_fetch_wanted(g->reader, err);
}

/* ---- rows of one pattern -------------------------------------------------------------------------------- */

enum { MOST_GROUP = SPRYI_WINDOWED_LANES, AT_FIRST = 4 /* rows on either side that are fetched together for all */ };

/* Up to `most` rows on one side (0: behind, 1: before) that are as long as the row. */
static void want_side(spryi_column_reader *reader, like_rows *l, int side, int64_t most)
{
    const spry_arrays *csr = reader->csr;
    const int64_t step = side ? -l->apart : l->apart;
    int64_t count = 0;
    l->range_of[side] = reader->count;
    for (int64_t r = l->row + step; r >= 0 && r < csr->rows && count < most; r += step, count++) {
        if (spryi_row_length(csr, r) != l->length) break;
        (void)spryi_want_rows(reader, r, r + 1);
    }
    l->fetched[side] = count;
}

static int is_looked_at(const like_rows *l)
{
    return l->length > 0 && l->length <= SPRYI_WINDOWED_LONG;
}

static like_rows want_like(spryi_column_reader *reader, int64_t row, int64_t apart)
{
    like_rows l = {.row = row, .apart = apart, .length = spryi_row_length(reader->csr, row)};
    if (!is_looked_at(&l)) return l;
    l.range = spryi_want_rows(reader, row, row + 1);
    for (int side = 0; side < 2; side++) want_side(reader, &l, side, AT_FIRST);
    return l;
}

static int same_pattern(const spryi_column_reader *reader, const like_rows *l, int side, int64_t n)
{
    const int64_t other = l->row + (side ? -l->apart : l->apart) * (n + 1);
    const int64_t begin = spryi_offset_of(reader->csr, l->row), at = spryi_offset_of(reader->csr, other);
    for (int64_t k = 0; k < l->length; k++)
        if (spryi_column_at(reader, l->range, begin + k) != spryi_column_at(reader, l->range_of[side] + n, at + k))
            return 0;
    return 1;
}

static void count_same(const spryi_column_reader *reader, like_rows *l, int side)
{
    l->same[side] = 0;
    while (l->same[side] < l->fetched[side] && same_pattern(reader, l, side, l->same[side])) l->same[side]++;
}

/* The median size of groups of rows of one pattern by samples, of rows that are not empty and not long. */
static int64_t median_group(const like_rows *samples, int64_t count)
{
    int64_t sizes[MOST_GROUP + 1] = {0}, seen = 0, below = 0, median = 0;
    for (int64_t n = 0; n < count; n++) {
        const int64_t all = 1 + samples[n].same[0] + samples[n].same[1];
        if (!is_looked_at(&samples[n])) continue;
        sizes[all < MOST_GROUP ? all : MOST_GROUP]++;
        seen++;
    }
    while (2 * below < seen) below += sizes[++median];
    return median;
}

/* Rows of a group lie side by side, or, of a matrix of `parts` equal parts, in each at one place. 0: there are none. */
static int64_t distance_of(const spry_arrays *csr, int64_t parts)
{
    if (parts == 1) return 1;
    return csr->rows % parts == 0 ? csr->rows / parts : 0;
}

static like_rows *sample_of(const guesser *g, int64_t parts, int64_t n)
{
    return &g->samples[(parts - 1) * g->sampled + n];
}

static void want_groups(guesser *g)
{
    for (int64_t parts = 1; parts <= SPRYI_WINDOWED_MOST_RUN; parts++)
        for (int64_t n = 0; n < g->sampled && distance_of(g->csr, parts) > 0; n++)
            *sample_of(g, parts, n) =
                want_like(g->reader, spryi_windowed_sample(g->csr->rows, n, g->sampled), distance_of(g->csr, parts));
}

/* Where all rows at first have the pattern, as many as a group may have are fetched, at once for all samples. */
static spry_status compare_groups(guesser *g, spry_error *err)
{
    for (int round = 0; round < 2; round++) {
        const int64_t before = round == 0 ? 0 : AT_FIRST;
        for (int64_t parts = 1; parts <= SPRYI_WINDOWED_MOST_RUN; parts++)
            for (int64_t n = 0; n < 2 * g->sampled && distance_of(g->csr, parts) > 0; n++) {
                like_rows *l = sample_of(g, parts, n / 2);
                const int side = (int)(n % 2);
                if (!is_looked_at(l) || l->fetched[side] <= before) continue;
                count_same(g->reader, l, side);
                if (round == 0 && l->same[side] == AT_FIRST) want_side(g->reader, l, side, MOST_GROUP - 1);
            }
        SPRYI_OK_OR_RETURN(spryi_fetch_wanted(g->reader, err));
    }
    return SPRY_OK;
}

/* The largest median of all distances. */
static spry_status find_groups(guesser *g, spryi_windowed_guess *guess, spry_error *err)
{
    guess->group = guess->apart = 1;
    SPRYI_OK_OR_RETURN(compare_groups(g, err));
    for (int64_t parts = 1; parts <= SPRYI_WINDOWED_MOST_RUN; parts++) {
        if (distance_of(g->csr, parts) == 0) continue;
        const int64_t median = median_group(sample_of(g, parts, 0), g->sampled);
        if (median <= guess->group) continue;
        guess->group = median;
        guess->apart = distance_of(g->csr, parts);
    }
    return SPRY_OK;
}

/* The columns of a run, where rows of one pattern are the unknowns of a node. */
static int64_t run_of(int64_t group)
{
    int64_t run = SPRYI_WINDOWED_MOST_RUN;
    while (group % run != 0) run--;
    return run;
}

/* How many windows are sampled, and how much of each. */
static void set_sizes(guesser *g, spryi_effort effort)
{
    const double mean = (double)g->csr->nnz / (double)g->csr->rows;
    const sample_sizes *sizes = sizes_of(effort);
    const int64_t most = (int64_t)((double)sizes->entries / ((double)g->window * (mean > 1 ? mean : 1)));
    const int64_t enough = most > sizes->least ? most : sizes->least;
    g->windows = enough < sizes->windows ? enough : sizes->windows;
    g->most = 2 * sizes->entries / g->windows;
}

/* In the middle of equal parts: ends are unlike the rest. */
static int64_t window_at(const guesser *g, int64_t n)
{
    return spryi_windowed_sample(g->csr->rows - g->window, 2 * n + 1, 2 * g->windows);
}

static void want_windows(guesser *g)
{
    for (int64_t n = 0; n < g->windows; n++) {
        row_list *list = &g->natural[n];
        for (; list->count < g->window; list->count++)
            list->rows[list->count] = (uint32_t)(window_at(g, n) + list->count);
        want_counted(g, list);
    }
}

static spry_status prepare_list(row_list *list, spry_context *context, int64_t window, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &list->rows, window, "rows of a window", err));
    return SPRYI_NEW(context, &list->ranges, window, "ranges of rows", err);
}

static spry_status prepare(guesser *g, spry_context *context, spryi_column_reader *reader, spryi_effort effort,
                           spry_error *err)
{
    enum { ROWS_BITS = 12 }; /* for SPRYI_WINDOWED_MOST_ROWS */
    const spry_arrays *csr = reader->csr;
    const int bits = sizes_of(effort)->set_bits;
    const int64_t window = spryi_windowed_default_rows(csr->rows);
    g->reader = reader;
    g->csr = csr;
    g->window = window < csr->rows ? window : csr->rows;
    g->per_sector = SECTOR / (csr->value_type == SPRY_F32 ? 4 : 8);
    g->sampled = sizes_of(effort)->grouped;
    set_sizes(g, effort);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &g->samples, SPRYI_WINDOWED_MOST_RUN * g->sampled, "sampled rows", err));
    SPRYI_OK_OR_RETURN(spryi_number_set_make(context, &g->columns, bits, "a sample of columns", err));
    SPRYI_OK_OR_RETURN(spryi_number_set_make(context, &g->sectors, bits, "a sample of sectors", err));
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &g->lengths, g->window, "lengths of rows", err));
    for (int64_t n = 0; n < g->windows; n++) {
        SPRYI_OK_OR_RETURN(prepare_list(&g->natural[n], context, g->window, err));
        if (csr->rows != csr->cols) continue;
        SPRYI_OK_OR_RETURN(prepare_list(&g->balls[n].list, context, g->window, err));
        SPRYI_OK_OR_RETURN(spryi_number_set_make(context, &g->balls[n].found, ROWS_BITS, "a ball of rows", err));
    }
    return SPRY_OK;
}

static void release(const guesser *g, spry_context *context)
{
    spryi_release(context, g->columns.slots);
    spryi_release(context, g->sectors.slots);
    spryi_release(context, g->samples);
    spryi_release(context, g->lengths);
    for (int n = 0; n < MOST_WINDOWS; n++) {
        spryi_release(context, g->natural[n].rows);
        spryi_release(context, g->natural[n].ranges);
        spryi_release(context, g->balls[n].list.rows);
        spryi_release(context, g->balls[n].list.ranges);
        spryi_release(context, g->balls[n].found.slots);
    }
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

spry_status spryi_windowed_guess_of(spry_context *context, spryi_windowed_guess *guess, spryi_column_reader *reader,
                                    spryi_effort effort, spry_error *err)
{
    guesser g = {.all_columns = -1};
    window_sums natural = {0}, balls = {0};
    spry_status status = SPRY_OK;
    const spry_arrays *csr = reader->csr;
    *guess = (spryi_windowed_guess){0};
    if (csr->nnz == 0 || csr->rows >= UINT32_MAX || csr->cols >= UINT32_MAX) return SPRY_OK;
    SPRYI_TRY(prepare(&g, context, reader, effort, err));
    want_groups(&g);
    want_windows(&g);
    begin_balls(&g);
    SPRYI_TRY(spryi_fetch_wanted(reader, err));
    SPRYI_TRY(find_groups(&g, guess, err));
    g.run = guess->run = run_of(guess->group);
    for (int64_t n = 0; n < g.windows; n++) add_window(&g, &natural, &g.natural[n]);
    if (csr->rows == csr->cols) {
        SPRYI_TRY(grow_balls(&g, err));
        for (int64_t n = 0; n < g.windows; n++) add_window(&g, &balls, &g.balls[n].list);
    }
    guess->cells = balls.entries > 0 && 10 * balls.columns * natural.entries <= 9 * natural.columns * balls.entries;
    guess->windows = (double)csr->rows / (double)g.window;
    take_sums(guess, guess->cells ? &balls : &natural);
done:
    release(&g, context);
    return status;
}
