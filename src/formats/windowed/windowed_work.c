/*
 * Estimator of windowed for the choice "auto": a guess from a sample, the work of its products, and their rates.
 *
 * The guess samples windows of consecutive rows, and balls: the rows that are nearest to a sampled row in the matrix's
 * graph. Balls stand for cells. To find groups, the guess compares the pattern of a sampled row with those of the
 * adjacent rows, and of rows at distances of rows/2 to rows/5.
 */
#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number_set.h"
#include "core/estimate.h"
#include "formats/windowed/windowed_layout.h"
#include "matrix/columns.h"
#include "matrix/row_lengths.h"

#include <math.h>

/* Estimate of windowed from a sample of CSR. */
typedef struct windowed_guess {
    double columns,
        sectors;   /* per entry: elements of x that windows stage, and 32-byte sectors with such elements; 0: unknown */
    double staged; /* elements of x per window */
    double steps, ragged; /* per entry: steps of the kernel's warps, and slots that only some rows of a slice have */
    double heaviest;      /* entries plus elements of x of the heaviest sampled window, divided by the mean */
    double longest;       /* steps of the longest sampled window, divided by the mean */
    double windows;
    int64_t group;    /* median number of rows with one pattern */
    int64_t run;      /* columns per dictionary index */
    int64_t distance; /* distance in rows between consecutive rows of a group */
    bool cells;       /* windows have fewer columns if rows are ordered by cells */
} windowed_guess;

_Static_assert(sizeof(windowed_guess) <= sizeof(spryi_guess), "a guess holds it");

/* ---- guess: windows of consecutive rows and balls ------------------------------------------------------ */

enum { MOST_WINDOWS = 16 /* most sampled windows of consecutive rows, and most balls */ };

/* Sizes of the samples. */
typedef struct sample_sizes {
    int64_t windows, least; /* largest and smallest number of sampled windows of each kind */
    int64_t entries;        /* approximate number of entries of all sampled windows */
    int64_t grouped;        /* rows sampled to find groups of one pattern */
    int set_bits;           /* bits of an index in the sets of columns */
} sample_sizes;

static const sample_sizes *sizes_of(spryi_effort effort)
{
    static const sample_sizes quick = {2, 1, 1 << 13, 32, 13},
                              full = {MOST_WINDOWS, 6, 3 << 16, SPRYI_WINDOWED_SAMPLES, 14};
    return effort == SPRYI_FULL ? &full : &quick;
}

/* Rows of a window. ranges: for each of the first `wanted` rows, the index of the reader's range with its columns. */
typedef struct row_list {
    uint32_t *rows; /* buffer for a window */
    int64_t *ranges;
    int64_t count, wanted;
} row_list;

/*
 * The rows nearest to a row in the matrix's graph, breadth first. Columns of the rows before `head` are already in the
 * ball.
 */
typedef struct ball {
    row_list list;
    spryi_number_set found;
    int64_t head;
} ball;

/*
 * A sampled row, and the rows of equal length at multiples of `distance` from it. These rows may have its pattern. In
 * arrays of 2, [0] is for the rows after the sampled row, [1] for the rows before it.
 */
typedef struct like_rows {
    int64_t row, distance, length;
    int64_t range;       /* index of the reader's range with the row's columns */
    int64_t range_of[2]; /* index of the reader's range with the first row on each side */
    int64_t fetched[2];  /* number of rows requested */
    int64_t same[2];     /* number of rows, from the first, with the pattern */
} like_rows;

typedef struct guesser {
    spryi_column_reader *reader;
    const spry_arrays *csr; /* the reader's matrix */
    spryi_number_set columns, sectors;
    row_list natural[MOST_WINDOWS];
    ball balls[MOST_WINDOWS];
    like_rows *samples; /* `sampled` rows for each number of parts, see distance_of */
    int64_t sampled;
    int64_t *lengths; /* lengths of the rows of a window */
    int64_t windows;  /* number of sampled windows of each kind */
    int64_t window, run;
    int sector_bits;     /* a sector of x has 2^sector_bits elements */
    int64_t most;        /* limit of the entries counted per window */
    int64_t all_columns; /* index of the reader's range with all columns; -1: not requested */
} guesser;

/* Sums over the sampled windows of one kind. */
typedef struct window_sums {
    double windows, rows, entries, columns, sectors, steps, ragged, slots;
    double most_work, most_steps; /* maximum over the windows */
} window_sums;

/*
 * Adds the steps of a window's slices, whose rows are sorted by length. One step handles multiple runs if all rows have
 * the runs. A step with runs that only some rows have counts as three.
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
 * Adds the rows of a list as a window. Counting stops after g->most entries, or when the set of columns is full. The
 * remaining entries are assumed to add new columns at the same rate.
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
            if (spryi_number_set_add(&g->columns, j)) (void)spryi_number_set_add(&g->sectors, j >> g->sector_bits);
        }
    }
    sums->windows++;
    sums->rows += (double)list->count;
    sums->entries += (double)entries;
    double more = counted > 0 ? (double)entries / (double)counted : 1;
    if (more * (double)g->columns.count > (double)g->csr->columns)
        more = (double)g->csr->columns / (double)g->columns.count;
    sums->columns += more * (double)g->columns.count;
    sums->sectors += more * (double)g->sectors.count;
    add_steps(g, sums, list->count);
    const double work = (double)entries + more * (double)g->columns.count;
    if (work > sums->most_work) sums->most_work = work;
}

static int64_t want_row(guesser *g, int64_t i)
{
    if (spryi_row_length(g->csr, i) > SPRYI_WINDOWED_LONG) return 0; /* long rows are not read */
    return g->all_columns >= 0 ? g->all_columns : spryi_want_rows(g->reader, i, i + 1);
}

/* Requests the first `rows` rows of a list. */
static void want_first(guesser *g, row_list *list, int64_t rows)
{
    for (; list->wanted < rows; list->wanted++) list->ranges[list->wanted] = want_row(g, list->rows[list->wanted]);
}

/* Requests the rows that add_window reads. */
static void want_counted(guesser *g, row_list *list)
{
    int64_t entries = 0, rows = 0;
    for (; rows < list->count && entries < g->most; rows++) {
        const int64_t length = spryi_row_length(g->csr, list->rows[rows]);
        entries += length > SPRYI_WINDOWED_LONG ? 0 : length;
    }
    want_first(g, list, rows);
}

static bool is_grown(const guesser *g, const ball *b)
{
    return b->head == b->list.count || b->list.count == g->window;
}

static void add_to_ball(ball *b, int64_t row)
{
    if (spryi_number_set_add(&b->found, row)) b->list.rows[b->list.count++] = (uint32_t)row;
}

/* Adds the columns of all rows that the ball had before the call. */
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

/* Begins each ball with a row, and requests the first level. */
static void begin_balls(guesser *g)
{
    if (g->csr->rows != g->csr->columns) return;
    for (int64_t n = 0; n < g->windows; n++)
        add_to_ball(&g->balls[n], spryi_windowed_sample(g->csr->rows, 2 * n + 1, 2 * g->windows));
    want_level(g);
}

/*
 * Grows all balls by one level at a time. Fetching the columns of a level takes the time in which a large copy moves
 * LEVEL bytes. If balls still grow after so many levels that one copy of all columns would have taken the same time
 * (the matrix is like a chain), all columns are fetched.
 */
static spry_status grow_balls(guesser *g, spry_error *err)
{
    enum { LEVEL = 1 << 18 };
    const int64_t most_levels = g->csr->nnz * (int64_t)spryi_index_type_bytes(g->csr->index_type) / LEVEL;
    bool growing = true;
    for (int64_t level = 0; growing; level++) {
        growing = false;
        if (level == most_levels) g->all_columns = spryi_want_entries(g->reader, 0, g->csr->nnz);
        want_level(g); /* the first level is already requested */
        SPRYI_OK_OR_RETURN(spryi_fetch_wanted(g->reader, err));
        for (int64_t n = 0; n < g->windows; n++) {
            grow_level(g, &g->balls[n]);
            growing |= !is_grown(g, &g->balls[n]);
        }
    }
    for (int64_t n = 0; n < g->windows; n++) want_counted(g, &g->balls[n].list);
    return spryi_fetch_wanted(g->reader, err);
}

/* ---- guess: rows of one pattern ------------------------------------------------------------------------ */

enum {
    MOST_GROUP = SPRYI_WINDOWED_LANES,
    AT_FIRST = 4 /* rows fetched on each side of every sample */
};

/*
 * Requests up to `most` rows on one side of the sampled row (0: after it, 1: before it), up to the first row of another
 * length.
 */
static void want_side(spryi_column_reader *reader, like_rows *l, int side, int64_t most)
{
    const spry_arrays *csr = reader->csr;
    const int64_t step = side ? -l->distance : l->distance;
    int64_t count = 0;
    l->range_of[side] = reader->count;
    for (int64_t r = l->row + step; r >= 0 && r < csr->rows && count < most; r += step, count++) {
        if (spryi_row_length(csr, r) != l->length) break;
        (void)spryi_want_rows(reader, r, r + 1);
    }
    l->fetched[side] = count;
}

static bool is_candidate(const like_rows *l)
{
    return l->length > 0 && l->length <= SPRYI_WINDOWED_LONG;
}

static like_rows want_like(spryi_column_reader *reader, int64_t row, int64_t distance)
{
    like_rows l = {.row = row, .distance = distance, .length = spryi_row_length(reader->csr, row)};
    if (!is_candidate(&l)) return l;
    l.range = spryi_want_rows(reader, row, row + 1);
    for (int side = 0; side < 2; side++) want_side(reader, &l, side, AT_FIRST);
    return l;
}

static bool same_pattern(const spryi_column_reader *reader, const like_rows *l, int side, int64_t n)
{
    const int64_t other = l->row + (side ? -l->distance : l->distance) * (n + 1);
    const int64_t begin = spryi_offset_of(reader->csr, l->row), at = spryi_offset_of(reader->csr, other);
    for (int64_t k = 0; k < l->length; k++)
        if (spryi_column_at(reader, l->range, begin + k) != spryi_column_at(reader, l->range_of[side] + n, at + k))
            return false;
    return true;
}

static void count_same(const spryi_column_reader *reader, like_rows *l, int side)
{
    l->same[side] = 0;
    while (l->same[side] < l->fetched[side] && same_pattern(reader, l, side, l->same[side])) l->same[side]++;
}

/* Returns the median size of the samples' groups. Ignores empty and long rows. */
static int64_t median_group(const like_rows *samples, int64_t count)
{
    int64_t sizes[MOST_GROUP + 1] = {0}, seen = 0, below = 0, median = 0;
    for (int64_t n = 0; n < count; n++) {
        const int64_t all = 1 + samples[n].same[0] + samples[n].same[1];
        if (!is_candidate(&samples[n])) continue;
        sizes[all < MOST_GROUP ? all : MOST_GROUP]++;
        seen++;
    }
    while (2 * below < seen) below += sizes[++median];
    return median;
}

/*
 * Returns the distance between rows of a group: 1 for one part, else the number of rows of each of `parts` equal parts.
 * Returns 0 if the rows do not divide into such parts.
 */
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

/*
 * Compares the AT_FIRST rows on each side of all samples. If all rows on a side match, fetches and compares more rows
 * there, up to the largest group size.
 */
static spry_status compare_groups(guesser *g, spry_error *err)
{
    for (int round = 0; round < 2; round++) {
        const int64_t before = round == 0 ? 0 : AT_FIRST;
        for (int64_t parts = 1; parts <= SPRYI_WINDOWED_MOST_RUN; parts++)
            for (int64_t n = 0; n < 2 * g->sampled && distance_of(g->csr, parts) > 0; n++) {
                like_rows *l = sample_of(g, parts, n / 2);
                const int side = (int)(n % 2);
                if (!is_candidate(l) || l->fetched[side] <= before) continue;
                count_same(g->reader, l, side);
                if (round == 0 && l->same[side] == AT_FIRST) want_side(g->reader, l, side, MOST_GROUP - 1);
            }
        SPRYI_OK_OR_RETURN(spryi_fetch_wanted(g->reader, err));
    }
    return SPRY_OK;
}

/* Sets guess->group to the largest of the median group sizes at all distances, and guess->distance to its distance. */
static spry_status find_groups(guesser *g, windowed_guess *guess, spry_error *err)
{
    guess->group = guess->distance = 1;
    SPRYI_OK_OR_RETURN(compare_groups(g, err));
    for (int64_t parts = 1; parts <= SPRYI_WINDOWED_MOST_RUN; parts++) {
        if (distance_of(g->csr, parts) == 0) continue;
        const int64_t median = median_group(sample_of(g, parts, 0), g->sampled);
        if (median <= guess->group) continue;
        guess->group = median;
        guess->distance = distance_of(g->csr, parts);
    }
    return SPRY_OK;
}

/* Returns the number of columns of a run, assuming that rows of one pattern are the unknowns of a node. */
static int64_t run_of(int64_t group)
{
    int64_t run = SPRYI_WINDOWED_MOST_RUN;
    while (group % run != 0) run--;
    return run;
}

/* ---- guess: sizes -------------------------------------------------------------------------------------- */

/* Sets the number of sampled windows, and the number of entries counted in each. */
static void set_sizes(guesser *g, spryi_effort effort)
{
    const double mean = (double)g->csr->nnz / (double)g->csr->rows;
    const sample_sizes *sizes = sizes_of(effort);
    const int64_t most = (int64_t)((double)sizes->entries / ((double)g->window * (mean > 1 ? mean : 1)));
    const int64_t enough = most > sizes->least ? most : sizes->least;
    g->windows = enough < sizes->windows ? enough : sizes->windows;
    g->most = 2 * sizes->entries / g->windows;
}

/*
 * Returns the first row of window n. Windows are in the middle of equal parts of the rows, since the first and last
 * rows of a matrix differ from the rest.
 */
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
    enum { ROWS_BITS = 12 }; /* a set of SPRYI_WINDOWED_MOST_ROWS rows fits 2^12 slots */
    const spry_arrays *csr = reader->csr;
    const int bits = sizes_of(effort)->set_bits;
    const int64_t window = spryi_windowed_default_rows(csr->rows);
    g->reader = reader;
    g->csr = csr;
    g->window = window < csr->rows ? window : csr->rows;
    g->sector_bits = csr->value_type == SPRY_F32 ? 3 : 2;
    g->sampled = sizes_of(effort)->grouped;
    set_sizes(g, effort);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &g->samples, SPRYI_WINDOWED_MOST_RUN * g->sampled, "sampled rows", err));
    SPRYI_OK_OR_RETURN(spryi_number_set_make(context, &g->columns, bits, "a sample of columns", err));
    SPRYI_OK_OR_RETURN(spryi_number_set_make(context, &g->sectors, bits, "a sample of sectors", err));
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &g->lengths, g->window, "lengths of rows", err));
    for (int64_t n = 0; n < g->windows; n++) {
        SPRYI_OK_OR_RETURN(prepare_list(&g->natural[n], context, g->window, err));
        if (csr->rows != csr->columns) continue;
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

static void take_sums(windowed_guess *guess, const window_sums *w)
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

static spry_status guess_windows(spry_context *context, void *to, const spryi_features *f, spryi_column_reader *reader,
                                 spry_error *err)
{
    windowed_guess *guess = to;
    guesser g = {.all_columns = -1};
    window_sums natural = {0}, balls = {0};
    spry_status status = SPRY_OK;
    const spry_arrays *csr = reader->csr;
    *guess = (windowed_guess){0};
    if (csr->nnz == 0 || csr->rows >= UINT32_MAX || csr->columns >= UINT32_MAX) return SPRY_OK;
    SPRYI_TRY(prepare(&g, context, reader, f->effort, err));
    want_groups(&g);
    want_windows(&g);
    begin_balls(&g);
    SPRYI_TRY(spryi_fetch_wanted(reader, err));
    SPRYI_TRY(find_groups(&g, guess, err));
    g.run = guess->run = run_of(guess->group);
    for (int64_t n = 0; n < g.windows; n++) add_window(&g, &natural, &g.natural[n]);
    if (csr->rows == csr->columns) {
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

/* ---- work and rates ------------------------------------------------------------------------------------ */

/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near  far   step       slice     block
        ragged     column     chain uneven holes longest  heaviest ahead   setup     entry    row      value */
    {"hopper", {NULL, NULL,     3.863, 1.464, 4.203e6, 2.956e6, 4.606e6, 0,    0,    2.788e-5,  6.307e-5, 6.456e-6,
        0.0001549, 2.03e-6,   0,    {0,     0,    0.02731, 0.9946,  0.2634}, {450,      15.86,   795.7,   4.945}}},
    {"avx512", {NULL, NULL,     2.119, 1,     4.954e4, 6.717e4, 3.538e4, 0,    0,    0.0005574, 0.00207,  0.0004574,
        0,         0.0002746, 0,    {0,     0,    0,       0,       0},      {0.06967,  1892,    7.691e5, 2186}}},
    {"avx2", {NULL, NULL,       9.446, 1,     6.378e4, 3.564e4, 1.629e4, 1e12, 1e12, 0.0009414, 0.002862, 0.0003023,
        0,         0.0008343, 0,    {0,     0,    0,       0,       0},      {0.09058,  3.463e4, 5.589e5, 1154}}},
    {"avx512-amd", {NULL, NULL, 3.502, 1,     1.373e5, 6.617e4, 6.579e4, 0,    0,    0.0002394, 0.001993, 0.0002031,
        0,         0.0002621, 0,    {0,     0,    0,       0,       0},      {0,        2065,    4.169e5, 1185}}},
    {"avx2-amd", {NULL, NULL,   9.864, 1,     4.312e4, 1.327e4, 3.772e4, 1e12, 1e12, 0.0001069, 0.001694, 0.0002647,
        0,         0.0004954, 0,    {0,     0,    0,       0,       0},      {0.002618, 1.11e4,  2.9e5,   969.3}}},
    {0},
};
/* clang-format on */

static int report(spryi_feature_value *list, const spryi_features *f, const void *guess)
{
    const windowed_guess *g = guess;
    (void)f;
    list[0] = (spryi_feature_value){"window_columns", "elements of x per entry that windows stage", g->columns};
    list[1] = (spryi_feature_value){"window_group", "median number of rows with one pattern", (double)g->group};
    return 2;
}

/* Columns and sectors of windows of cells, divided by the columns and sectors of the balls that the guess samples. */
static const double CELL_COLUMNS = 1.45, CELL_SECTORS = 1.42;
static const double MOST_STAGED = 4096; /* elements of x per window */
static const double ROW_BYTES = 4.7;

/* Returns the number of parts into which a window that stages too many elements of x is cut. */
static double parts_of(const windowed_guess *g)
{
    return fmax(1, (g->cells ? CELL_COLUMNS : 1) * g->staged / MOST_STAGED);
}

/*
 * Returns the work that is the same on CPUs and GPUs. Windows are assumed to be parts of a surface, so cutting them
 * multiplies columns and sectors by the square root of the number of parts.
 */
static spryi_work work_of(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const windowed_guess *g = p->guess;
    const double n = (double)f->nnz, run = (double)g->run, cut = sqrt(parts_of(g));
    const double columns = (g->cells ? CELL_COLUMNS : 1) * g->columns * cut;
    const double index = run > 1 ? 2 / (run * (double)g->group) : 1.5 / (double)g->group;
    return (spryi_work){.bytes = n * (f->value_bytes - spryi_narrowing(p) + index + 2 * columns / run) +
                                 ROW_BYTES * (double)f->rows + spryi_vector_bytes(f),
                        .sectors = (g->cells ? CELL_SECTORS : 1) * g->sectors * n * cut,
                        .columns = columns * n,
                        .unknown = g->columns <= 0};
}

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const windowed_guess *g = p->guess;
    spryi_work w = work_of(p);
    w.steps = (double)f->nnz;
    w.slices = (double)f->rows;
    w.blocks = 32 * g->ragged * (double)f->nnz;
    return w;
}

static spryi_work gpu_work(const spryi_product *p)
{
    enum { LANES = 32 };
    static const double AT_ONCE = SPRYI_WINDOWED_AT_ONCE; /* windows that a GPU runs concurrently */
    const spryi_features *f = p->features;
    const windowed_guess *g = p->guess;
    const double n = (double)f->nnz, windows = g->windows * parts_of(g), rounds = fmax(1, windows / AT_ONCE);
    const double idle = fmax(1, AT_ONCE / windows); /* over 1 if there are fewer windows than the GPU can run */
    spryi_work w = work_of(p);
    w.steps = g->steps * n * idle;
    w.slices = (double)f->rows / LANES * idle;
    w.ragged = g->ragged * n * idle;
    w.columns *= idle;
    w.holes = f->lengths.empty;
    w.longest = (g->longest - 1) / rounds;
    w.heaviest = (g->heaviest - 1) / rounds;
    w.ahead = w.bytes >= p->cache_bytes / 3 && w.bytes <= p->cache_bytes * 15 / 16;
    return w;
}

static const char *why_not(const spryi_product *p)
{
    enum { LEAST_ENTRIES = 1 << 19 };
    const spryi_features *f = p->features;
    const windowed_guess *g = p->guess;
    if (g->columns <= 0) return "a sample did not determine its windows";
    if (!p->on_gpu) return NULL;
    if (f->lengths.longest > SPRYI_WINDOWED_LONG) return "a row has more than 512 entries, the limit of its windows";
    return f->nnz < LEAST_ENTRIES ? "a GPU needs at least 524288 entries to fill its windows" : NULL;
}

const spryi_estimator spryi_windowed_estimator = {
    .rates = rates,
    .work = {cpu_work, gpu_work},
    .why_not = why_not,
    .guess = guess_windows,
    .guess_stores_ones = true,
    .report = report,
};
