/* The work of windowed's products and their rates. */
#include "core/estimate.h"
#include "formats/windowed/windowed.h"
#include "formats/windowed/windowed_guess.h"

#include <math.h>

/* clang-format off */
static const spryi_rates_row rates[] = {
    /*                          launch sharp  cached   memory   gather   near  far   step       slice     block
        ragged     column     chain uneven holes longest  heaviest ahead   setup     entry    row      value */
    {"hopper", {NULL, NULL,     3.863, 1.464, 4.203e6, 2.956e6, 4.606e6, 0,    0,    2.788e-5,  6.307e-5, 6.456e-6,
        0.0001549, 2.03e-6,   0,    0,     0,    0.02731, 0.9946,  0.2634, 450,      15.86,   795.7,   4.945}},
    {"avx512", {NULL, NULL,     2.119, 1,     4.954e4, 6.717e4, 3.538e4, 0,    0,    0.0005574, 0.00207,  0.0004574,
        0,         0.0002746, 0,    0,     0,    0,       0,       0,      0.06967,  1892,    7.691e5, 2186}},
    {"avx2", {NULL, NULL,       9.446, 1,     6.378e4, 3.564e4, 1.629e4, 1e12, 1e12, 0.0009414, 0.002862, 0.0003023,
        0,         0.0008343, 0,    0,     0,    0,       0,       0,      0.09058,  3.463e4, 5.589e5, 1154}},
    {"avx512_amd", {NULL, NULL, 3.502, 1,     1.373e5, 6.617e4, 6.579e4, 0,    0,    0.0002394, 0.001993, 0.0002031,
        0,         0.0002621, 0,    0,     0,    0,       0,       0,      0,        2065,    4.169e5, 1185}},
    {"avx2_amd", {NULL, NULL,   18.2,  1,     1.111e4, 9149,    1.793e4, 1e12, 1e12, 5.081e-5,  0.0054,   0.0002889,
        0,         0.001447,  0,    0,     0,    0,       0,       0,      0.002618, 5.363e4, 4.692e5, 2770}},
    {0},
};
/* clang-format on */

_Static_assert(sizeof(spryi_windowed_guess) <= sizeof(spryi_guess), "a guess holds it");

static spry_status guess_windows(spry_context *context, void *guess, const spryi_features *f,
                                 spryi_column_reader *reader, spry_error *err)
{
    return spryi_windowed_guess_of(context, guess, reader, f->effort, err);
}

static int report(spryi_feature_value *list, const spryi_features *f, const void *guess)
{
    const spryi_windowed_guess *g = guess;
    (void)f;
    list[0] = (spryi_feature_value){"window_columns", "numbers of x an entry that windows stage", g->columns};
    list[1] = (spryi_feature_value){"window_group", "rows of one pattern, the median", (double)g->group};
    return 2;
}

/* Columns and sectors of windows of cells of rows, over those of the balls of rows that the guess samples. */
static const double CELL_COLUMNS = 1.45, CELL_SECTORS = 1.42;
static const double MOST_STAGED = 4096; /* elements of x of a window */
static const double ROW_BYTES = 4.7;

/* Windows that stage too much are cut: the number of parts in two dimensions. */
static double parts_of(const spryi_windowed_guess *g)
{
    return fmax(1, (g->cells ? CELL_COLUMNS : 1) * g->staged / MOST_STAGED);
}

/* Work that CPUs and GPUs share; each window's edge grows by the square root of the parts. */
static spryi_work work_of(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const spryi_windowed_guess *g = p->guess;
    const double n = (double)f->nnz, run = (double)g->run, cut = sqrt(parts_of(g));
    const double columns = (g->cells ? CELL_COLUMNS : 1) * g->columns * cut;
    const double index = run > 1 ? 2 / (run * (double)g->group) : 1.5 / (double)g->group;
    return (spryi_work){.bytes = n * (f->value_bytes + index + 2 * columns / run) + ROW_BYTES * (double)f->rows +
                                 spryi_vector_bytes(f),
                        .sectors = (g->cells ? CELL_SECTORS : 1) * g->sectors * n * cut,
                        .columns = columns * n,
                        .unknown = g->columns <= 0};
}

static spryi_work cpu_work(const spryi_product *p)
{
    const spryi_features *f = p->features;
    const spryi_windowed_guess *g = p->guess;
    spryi_work w = work_of(p);
    w.steps = (double)f->nnz;
    w.slices = (double)f->rows;
    w.blocks = 32 * g->ragged * (double)f->nnz;
    return w;
}

static spryi_work gpu_work(const spryi_product *p)
{
    enum { LANES = 32 };
    static const double AT_ONCE = 528; /* windows that a GPU processes at a time */
    const spryi_features *f = p->features;
    const spryi_windowed_guess *g = p->guess;
    const double n = (double)f->nnz, windows = g->windows * parts_of(g), rounds = fmax(1, windows / AT_ONCE);
    const double idle = fmax(1, AT_ONCE / windows); /* if there are fewer windows than room for them */
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
    const spryi_windowed_guess *g = p->guess;
    if (g->columns <= 0) return "its windows cannot be told by a sample";
    if (!p->on_gpu) return NULL;
    if (f->lengths.longest > SPRYI_WINDOWED_LONG) return "a row is longer than its windows take whole";
    return f->nnz < LEAST_ENTRIES ? "fewer than 524288 entries are too few windows" : NULL;
}

const spryi_estimator spryi_windowed_estimator = {
    .rates = rates,
    .work = {cpu_work, gpu_work},
    .why_not = why_not,
    .guess = guess_windows,
    .guess_stores_ones = true,
    .report = report,
};
