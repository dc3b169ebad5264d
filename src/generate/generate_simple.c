/* Regular grids; diagonal, banded, arrow, dense, uniformly random and empty matrices. */
#include "base/error.h"
#include "base/memory.h"
#include "generate/generator.h"

static spry_status grid_shape(spryi_generation *g, spry_error *err)
{
    const int64_t *n = g->n;
    return spryi_square_shape(g, n[SPRYI_KEY_X], n[SPRYI_KEY_Y], n[SPRYI_KEY_Z], n[SPRYI_KEY_DOF], err);
}

/* Each point and its two neighbours along each axis. */
static spry_status star_shape(spryi_generation *g, spry_error *err)
{
    double x = (double)g->n[SPRYI_KEY_X], y = (double)g->n[SPRYI_KEY_Y], z = (double)g->n[SPRYI_KEY_Z];
    double dof = (double)g->n[SPRYI_KEY_DOF];
    g->entries = (7 * x * y * z - 2 * (y * z + x * z + x * y)) * dof * dof;
    return grid_shape(g, err);
}

/* Each point and all around it, corners too. */
static spry_status full_shape(spryi_generation *g, spry_error *err)
{
    double x = (double)g->n[SPRYI_KEY_X], y = (double)g->n[SPRYI_KEY_Y], z = (double)g->n[SPRYI_KEY_Z];
    double dof = (double)g->n[SPRYI_KEY_DOF];
    g->entries = (3 * x - 2) * (3 * y - 2) * (3 * z - 2) * dof * dof;
    return grid_shape(g, err);
}

static void put_point(const spryi_generation *g, int64_t point, spryi_sink *sink)
{
    int64_t dof = g->n[SPRYI_KEY_DOF];
    for (int64_t e = 0; e < dof; e++) spryi_put(sink, point * dof + e, 0);
}

static void star_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t X = g->n[SPRYI_KEY_X], Y = g->n[SPRYI_KEY_Y], Z = g->n[SPRYI_KEY_Z];
    int64_t point = i / g->n[SPRYI_KEY_DOF], x = point % X, y = point / X % Y, z = point / X / Y;
    if (z > 0) put_point(g, point - X * Y, sink);
    if (y > 0) put_point(g, point - X, sink);
    if (x > 0) put_point(g, point - 1, sink);
    put_point(g, point, sink);
    if (x + 1 < X) put_point(g, point + 1, sink);
    if (y + 1 < Y) put_point(g, point + X, sink);
    if (z + 1 < Z) put_point(g, point + X * Y, sink);
}

static void full_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t X = g->n[SPRYI_KEY_X], Y = g->n[SPRYI_KEY_Y], Z = g->n[SPRYI_KEY_Z];
    int64_t point = i / g->n[SPRYI_KEY_DOF], x = point % X, y = point / X % Y, z = point / X / Y;
    for (int64_t dz = z > 0 ? -1 : 0; dz <= (z + 1 < Z); dz++)
        for (int64_t dy = y > 0 ? -1 : 0; dy <= (y + 1 < Y); dy++)
            for (int64_t dx = x > 0 ? -1 : 0; dx <= (x + 1 < X); dx++)
                put_point(g, point + (dz * Y + dy) * X + dx, sink);
}

/* Finite differences of -(ax u_xx + ay u_yy + az u_zz), u = 0 on the border: symmetric positive definite. */
static void laplace_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t X = g->n[SPRYI_KEY_X], Y = g->n[SPRYI_KEY_Y], Z = g->n[SPRYI_KEY_Z];
    int64_t x = i % X, y = i / X % Y, z = i / X / Y;
    double ax = g->real[SPRYI_KEY_AX], ay = g->real[SPRYI_KEY_AY], az = g->real[SPRYI_KEY_AZ];
    if (z > 0) spryi_put(sink, i - X * Y, -az);
    if (y > 0) spryi_put(sink, i - X, -ay);
    if (x > 0) spryi_put(sink, i - 1, -ax);
    spryi_put(sink, i, 2 * (ax + ay + az)); /* az is 0 in two dimensions */
    if (x + 1 < X) spryi_put(sink, i + 1, -ax);
    if (y + 1 < Y) spryi_put(sink, i + X, -ay);
    if (z + 1 < Z) spryi_put(sink, i + X * Y, -az);
}

const spryi_kind spryi_kind_grid_star = {.shape = star_shape, .row = star_row, .mirror = SPRYI_MIRROR_PATTERN};
const spryi_kind spryi_kind_grid_full = {.shape = full_shape, .row = full_row, .mirror = SPRYI_MIRROR_PATTERN};
const spryi_kind spryi_kind_laplace = {.shape = star_shape,
                                       .row = laplace_row,
                                       .own_values = 1,
                                       .mirror = SPRYI_MIRROR_VALUES};

/* ---- simple matrices ----------------------------------------------------------------------------- */

static spry_status rows_shape(spryi_generation *g, double entries_a_row, spry_error *err)
{
    g->entries = entries_a_row * (double)g->n[SPRYI_KEY_ROWS];
    return spryi_square_shape(g, g->n[SPRYI_KEY_ROWS], 1, 1, 1, err);
}

static void rectangle_shape(spryi_generation *g, double share)
{
    g->rows = g->n[SPRYI_KEY_ROWS];
    g->cols = g->n[SPRYI_KEY_COLS];
    g->entries = share * (double)g->rows * (double)g->cols;
}

/* ---- banded: |i - j| <= half; diagonal: half is 0 ---------------------------------------------- */

static spry_status banded_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = g->n[SPRYI_KEY_ROWS], half = g->n[SPRYI_KEY_HALF];
    if (half > n) half = n;
    return rows_shape(g, 1 + (double)half, err); /* at least that many where half <= n */
}

static void banded_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t half = g->n[SPRYI_KEY_HALF], first = i > half ? i - half : 0;
    int64_t last = half < g->cols - 1 - i ? i + half : g->cols - 1;
    for (int64_t j = first; j <= last; j++) spryi_put(sink, j, 0);
}

const spryi_kind spryi_kind_diagonal = {.shape = banded_shape, .row = banded_row, .mirror = SPRYI_MIRROR_VALUES};
const spryi_kind spryi_kind_banded = {.shape = banded_shape, .row = banded_row, .mirror = SPRYI_MIRROR_PATTERN};

/* ---- arrow: the first rows and columns, and the diagonal --------------------------------------- */

static spry_status arrow_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = g->n[SPRYI_KEY_ROWS], width = g->n[SPRYI_KEY_WIDTH];
    return rows_shape(g, (double)(width < n ? width : n), err);
}

static void arrow_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t width = g->n[SPRYI_KEY_WIDTH], end = i < width || width > g->cols ? g->cols : width;
    for (int64_t j = 0; j < end; j++) spryi_put(sink, j, 0);
    if (i >= end) spryi_put(sink, i, 0);
}

const spryi_kind spryi_kind_arrow = {.shape = arrow_shape, .row = arrow_row, .mirror = SPRYI_MIRROR_PATTERN};

/* ---- dense, empty ---------------------------------------------------------------------------- */

static spry_status dense_shape(spryi_generation *g, spry_error *err)
{
    (void)err;
    rectangle_shape(g, 1);
    return SPRY_OK;
}

static void dense_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    (void)i;
    for (int64_t j = 0; j < g->cols; j++) spryi_put(sink, j, 0);
}

static spry_status empty_shape(spryi_generation *g, spry_error *err)
{
    (void)err;
    rectangle_shape(g, 0);
    return SPRY_OK;
}

static void empty_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    (void)g;
    (void)i;
    (void)sink;
}

const spryi_kind spryi_kind_dense = {.shape = dense_shape, .row = dense_row, .mirror = SPRYI_MIRROR_PATTERN};
const spryi_kind spryi_kind_empty = {.shape = empty_shape, .row = empty_row, .mirror = SPRYI_MIRROR_VALUES};

/* ---- random: every position is stored with the same probability -------------------------------- */

/*
 * A row is cut into pieces in which about PIECE_MEAN positions are expected. How many are stored in a piece is
 * drawn from the binomial distribution, tabulated with + - * / alone; which ones, by drawing until all differ.
 * work[0]: the two tables, for whole pieces and for what is left at the end of a row.
 */
enum { PIECE_MEAN = 8, PIECE_MOST = 63, TABLE = PIECE_MOST + 1 };

static spry_status random_shape(spryi_generation *g, spry_error *err)
{
    (void)err;
    double density = g->real[SPRYI_KEY_DENSITY];
    rectangle_shape(g, density);
    g->entries = g->entries < 1e4 ? 0 : g->entries / 2;
    double width = density > 0 ? PIECE_MEAN / density + 1 : (double)g->cols;
    g->count[0] = width < (double)g->cols ? (int64_t)width : g->cols;
    return SPRY_OK;
}

/* table[c] = probability of at most c of `width` positions. */
static void tabulate(double *table, int64_t width, double density)
{
    double missing = 1 - density, power = missing, none = 1, sum = 0;
    for (int64_t w = width; w > 0; w >>= 1, power *= power)
        if (w & 1) none *= power;
    for (int c = 0; c < TABLE; c++) {
        sum += none;
        table[c] = sum;
        none *= c < width ? (double)(width - c) / (c + 1) * (density / missing) : 0;
    }
}

static spry_status random_prepare(spryi_generation *g, spry_error *err)
{
    spry_status status = spryi_allocate(g->context, &g->work[0], (int64_t)2 * TABLE, sizeof(double), "tables", err);
    double density = g->real[SPRYI_KEY_DENSITY];
    if (status != SPRY_OK || density <= 0 || density >= 1 || g->cols == 0) return status;
    double *tables = g->work[0];
    tabulate(tables, g->count[0], density);
    tabulate(tables + TABLE, g->cols % g->count[0], density);
    return SPRY_OK;
}

/* Draws `count` different positions below width, sorted. */
static void draw_positions(int64_t *positions, int64_t count, int64_t width, uint64_t seed, uint64_t *numbers)
{
    for (int64_t drawn = 0; drawn < count;) {
        int64_t j = (int64_t)(spryi_random(seed, ++*numbers) % (uint64_t)width), at = drawn;
        while (at > 0 && positions[at - 1] > j) at--;
        if (at > 0 && positions[at - 1] == j) continue;
        for (int64_t k = drawn++; k > at; k--) positions[k] = positions[k - 1];
        positions[at] = j;
    }
}

static void random_piece(const double *table, int64_t base, int64_t width, uint64_t seed, uint64_t *numbers,
                         spryi_sink *sink)
{
    int64_t positions[PIECE_MOST], count = 0, most = width < PIECE_MOST ? width : PIECE_MOST;
    double u = spryi_uniform(seed, ++*numbers);
    while (count < most && u >= table[count]) count++;
    if (2 * count <= width) {
        draw_positions(positions, count, width, seed, numbers);
        for (int64_t c = 0; c < count; c++) spryi_put(sink, base + positions[c], 0);
        return;
    }
    int64_t left_out = width - count, next = 0;
    draw_positions(positions, left_out, width, seed, numbers);
    for (int64_t j = 0; j < width; j++) {
        if (next < left_out && positions[next] == j)
            next++;
        else
            spryi_put(sink, base + j, 0);
    }
}

static void random_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    double density = g->real[SPRYI_KEY_DENSITY];
    const double *tables = g->work[0];
    uint64_t seed = spryi_random((uint64_t)g->n[SPRYI_KEY_SEED], (uint64_t)i + 1), numbers = 0;
    if (density <= 0) return;
    if (density >= 1) {
        dense_row(g, i, sink);
        return;
    }
    int64_t width = g->count[0], j = 0;
    for (; j + width <= g->cols && width > 0; j += width) random_piece(tables, j, width, seed, &numbers, sink);
    if (j < g->cols) random_piece(tables + TABLE, j, g->cols - j, seed, &numbers, sink);
}

const spryi_kind spryi_kind_random = {.shape = random_shape,
                                      .prepare = random_prepare,
                                      .row = random_row,
                                      .value_seed = 7};
