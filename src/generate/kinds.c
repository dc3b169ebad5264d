/*
 * Kinds of generators: regular grids; diagonal, banded, arrow, dense, uniformly random and empty matrices; graphs
 * (roads, geometric neighbours, R-MAT, de Bruijn, uniform degrees); circuits, whose values have both signs.
 */
#include "generate/generator.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"

#include <math.h>
#include <string.h>

/* Sets rows = cols = a b c d. Returns SPRY_OUT_OF_MEMORY if the product overflows. */
static spry_status square_shape(spryi_generation *g, int64_t a, int64_t b, int64_t c, int64_t d, spry_error *err)
{
    int64_t n = a;
    if (__builtin_mul_overflow(n, b, &n) || __builtin_mul_overflow(n, c, &n) || __builtin_mul_overflow(n, d, &n) ||
        n > INT64_MAX / 64)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %s would have %.3g rows",
                          g->generator->info.name, (double)a * (double)b * (double)c * (double)d);
    g->rows = g->cols = n;
    return SPRY_OK;
}

/* ---- regular grids ------------------------------------------------------------------------------- */

static spry_status grid_shape(spryi_generation *g, spry_error *err)
{
    const int64_t *n = g->n;
    return square_shape(g, n[SPRYI_KEY_X], n[SPRYI_KEY_Y], n[SPRYI_KEY_Z], n[SPRYI_KEY_DOF], err);
}

/* Entries: each point with its two neighbours along each axis. */
static spry_status star_shape(spryi_generation *g, spry_error *err)
{
    double x = (double)g->n[SPRYI_KEY_X], y = (double)g->n[SPRYI_KEY_Y], z = (double)g->n[SPRYI_KEY_Z];
    double dof = (double)g->n[SPRYI_KEY_DOF];
    g->entries = (7 * x * y * z - 2 * (y * z + x * z + x * y)) * dof * dof;
    return grid_shape(g, err);
}

/* Entries: each point with all surrounding points, corners included. */
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
                                       .own_values = true,
                                       .mirror = SPRYI_MIRROR_VALUES};

/* ---- simple matrices ----------------------------------------------------------------------------- */

static spry_status rows_shape(spryi_generation *g, double entries_a_row, spry_error *err)
{
    g->entries = entries_a_row * (double)g->n[SPRYI_KEY_ROWS];
    return square_shape(g, g->n[SPRYI_KEY_ROWS], 1, 1, 1, err);
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
    return rows_shape(g, 1 + (double)half, err); /* a lower bound if half <= n */
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
 * A row is divided into pieces with about PIECE_MEAN expected entries each. The number of entries of a piece is drawn
 * from the binomial distribution, whose table is computed with only + - * and division. Positions in the piece are
 * drawn until they all differ. work[0]: two tables, for whole pieces and for the rest of a row.
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

/* Computes table[c], the probability of at most c entries in `width` positions. */
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

/* Draws `count` distinct positions below width, sorted. */
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

/* ---- road: a square lattice without 30 % of its edges -------------------------------------------- */

static const double road_share = .7;

static spry_status road_shape(spryi_generation *g, spry_error *err)
{
    int64_t side = g->n[SPRYI_KEY_SIDE];
    g->entries = 2 * (double)side * (double)side - 2 * (double)side; /* half of the entries with all edges */
    if (g->entries < 64) g->entries = 0;
    return square_shape(g, side, side, 1, 1, err);
}

/*
 * Returns whether the edge to the right exists. Random numbers are drawn point by point, in rows. A point draws a
 * number for the edge to the right, then one for the edge below. An edge outside the lattice draws none.
 */
static bool road_right(const spryi_generation *g, int64_t x, int64_t y)
{
    int64_t side = g->n[SPRYI_KEY_SIDE];
    if (x + 1 >= side) return false;
    int64_t count = y * (2 * side - 1) + (y + 1 < side ? 2 * x : x) + 1;
    return spryi_uniform((uint64_t)g->n[SPRYI_KEY_SEED], (uint64_t)count) < road_share;
}
static bool road_down(const spryi_generation *g, int64_t x, int64_t y)
{
    int64_t side = g->n[SPRYI_KEY_SIDE];
    if (y + 1 >= side) return false;
    int64_t count = y * (2 * side - 1) + 2 * x + (x + 1 < side ? 2 : 1);
    return spryi_uniform((uint64_t)g->n[SPRYI_KEY_SEED], (uint64_t)count) < road_share;
}

static void road_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t side = g->n[SPRYI_KEY_SIDE], x = i % side, y = i / side;
    if (y > 0 && road_down(g, x, y - 1)) spryi_put(sink, i - side, 0);
    if (x > 0 && road_right(g, x - 1, y)) spryi_put(sink, i - 1, 0);
    if (road_right(g, x, y)) spryi_put(sink, i + 1, 0);
    if (road_down(g, x, y)) spryi_put(sink, i + side, 0);
}

const spryi_kind spryi_kind_road = {.shape = road_shape,
                                    .row = road_row,
                                    .weights = true,
                                    .value_seed = 7,
                                    .mirror = SPRYI_MIRROR_PATTERN};

/* ---- rgg: points of the unit square, joined if nearer than 0.55 sqrt(ln n / n) ------------------ */

/*
 * ln 2 in two parts. The first lacks the last 11 bits, so its product with a scale is exact, and ln n is the same on
 * every machine.
 */
static const double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;

static double rgg_radius(const spryi_generation *g)
{
    double scale = (double)g->n[SPRYI_KEY_SCALE], ln_n = scale * ln2_high + scale * ln2_low;
    return 0.55 * sqrt(ln_n / (double)g->rows);
}

static int64_t rgg_cell(double t, int64_t cells)
{
    int64_t c = (int64_t)(t * (double)cells);
    return c >= cells ? cells - 1 : c;
}

static spry_status rgg_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = (int64_t)1 << g->n[SPRYI_KEY_SCALE];
    g->entries = n >= 1024 ? 4 * (double)n : 0;
    return square_shape(g, n, 1, 1, 1, err);
}

typedef struct rgg_point {
    double x, y;
} rgg_point;

static bool comes_before(rgg_point a, rgg_point b)
{
    return a.x != b.x ? a.x < b.x : a.y < b.y;
}

/* Sorts points by cell, row of cells by row; within a cell by x, then y, then as drawn. */
static void rgg_number(rgg_point *points, int64_t *first, const rgg_point *drawn, int64_t n, int64_t cells)
{
    memset(first, 0, (size_t)(cells * cells + 1) * sizeof *first);
    for (int64_t i = 0; i < n; i++) first[rgg_cell(drawn[i].y, cells) * cells + rgg_cell(drawn[i].x, cells) + 1]++;
    spryi_scan(first, cells * cells);
    for (int64_t i = 0; i < n; i++)
        points[first[rgg_cell(drawn[i].y, cells) * cells + rgg_cell(drawn[i].x, cells)]++] = drawn[i];
    for (int64_t c = cells * cells; c > 0; c--) first[c] = first[c - 1];
    first[0] = 0;
    for (int64_t c = 0; c < cells * cells; c++)
        for (int64_t k = first[c] + 1; k < first[c + 1]; k++) {
            rgg_point moved = points[k];
            int64_t to = k;
            for (; to > first[c] && comes_before(moved, points[to - 1]); to--) points[to] = points[to - 1];
            points[to] = moved;
        }
}

typedef struct draw_job {
    rgg_point *drawn;
    uint64_t seed;
} draw_job;

static void draw_points(void *job, int64_t begin, int64_t end)
{
    const draw_job *j = job;
    for (int64_t i = begin; i < end; i++) {
        j->drawn[i].x = spryi_uniform(j->seed, 2 * (uint64_t)i + 1);
        j->drawn[i].y = spryi_uniform(j->seed, 2 * (uint64_t)i + 2);
    }
}

/* work[0]: points; work[1]: position of each cell's first point. A cell is at least as wide as the radius. */
static spry_status rgg_prepare(spryi_generation *g, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t n = g->rows, cells = g->count[0] = (int64_t)(1 / rgg_radius(g));
    rgg_point *drawn = NULL;
    SPRYI_TRY(spryi_allocate(g->context, &g->work[0], n, sizeof(rgg_point), "points", err));
    SPRYI_TRY(spryi_allocate(g->context, &g->work[1], cells * cells + 1, sizeof(int64_t), "cells", err));
    SPRYI_TRY(SPRYI_NEW(g->context, &drawn, n, "points", err));
    spryi_loop(g->context, spryi_threads(g->context, n), n, 0, draw_points,
               &(draw_job){drawn, (uint64_t)g->n[SPRYI_KEY_SEED]});
    rgg_number(g->work[0], g->work[1], drawn, n, cells);
done:
    spryi_release(g->context, drawn);
    return status;
}

static void rgg_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    const rgg_point *points = g->work[0], p = points[i];
    const int64_t *first = g->work[1], cells = g->count[0], cx = rgg_cell(p.x, cells), cy = rgg_cell(p.y, cells);
    const int64_t left = cx > 0 ? cx - 1 : 0, right = cx + 1 < cells ? cx + 1 : cx;
    const double r = rgg_radius(g), limit = r * r;
    for (int64_t y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < cells; y++)
        for (int64_t j = first[y * cells + left]; j < first[y * cells + right + 1]; j++) {
            double dx = p.x - points[j].x, dy = p.y - points[j].y;
            if (j != i && dx * dx + dy * dy < limit) spryi_put(sink, j, 0);
        }
}

const spryi_kind spryi_kind_rgg = {.shape = rgg_shape,
                                   .prepare = rgg_prepare,
                                   .row = rgg_row,
                                   .weights = true,
                                   .value_seed = 7,
                                   .mirror = SPRYI_MIRROR_PATTERN};

/* ---- rmat: recursive quadrants .57 .19 .19 .05 (Chakrabarti, Zhan, Faloutsos, SDM 2004), shuffled ---- */

static spry_status rmat_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = (int64_t)1 << g->n[SPRYI_KEY_SCALE];
    g->entries = n >= 65536 ? 0.25 * (double)n * (double)g->n[SPRYI_KEY_EDGES] : 0; /* duplicates are removed */
    return square_shape(g, n, 1, 1, 1, err);
}

static spry_status list_create(spryi_generation *g, int64_t nnz, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &g->work[0], nnz, sizeof(int32_t), "edges", err));
    return spryi_allocate(g->context, &g->work[1], nnz, sizeof(int32_t), "edges", err);
}

typedef struct rmat_job {
    const spryi_generation *g;
    const int32_t *label;
} rmat_job;

static void draw_edges(void *job, int64_t begin, int64_t end)
{
    const rmat_job *j = job;
    const int scale = (int)j->g->n[SPRYI_KEY_SCALE];
    const uint64_t seed = (uint64_t)j->g->n[SPRYI_KEY_SEED], n = (uint64_t)j->g->rows;
    const uint64_t a = (uint64_t)(.57 * 0x1p53), ab = (uint64_t)(.76 * 0x1p53), abc = (uint64_t)(.95 * 0x1p53);
    int32_t *rows = j->g->work[0], *cols = j->g->work[1];
    for (int64_t k = begin; k < end; k++) {
        uint64_t count = n + (uint64_t)k * (uint64_t)scale;
        uint32_t row = 0, col = 0;
        for (int b = 0; b < scale; b++) {
            uint64_t u = spryi_random(seed, count++) >> 11;
            row = row << 1 | (u >= ab);
            col = col << 1 | ((u >= a) ^ (u >= ab) ^ (u >= abc));
        }
        rows[k] = j->label[row];
        cols[k] = j->label[col];
    }
}

static spry_status rmat_list(spryi_generation *g, int64_t *nnz, spry_error *err)
{
    spry_status status = SPRY_OK;
    const uint64_t seed = (uint64_t)g->n[SPRYI_KEY_SEED], n = (uint64_t)g->rows;
    int32_t *label = NULL;
    *nnz = g->rows * g->n[SPRYI_KEY_EDGES];
    SPRYI_TRY(list_create(g, *nnz, err));
    SPRYI_TRY(SPRYI_NEW(g->context, &label, g->rows, "labels", err));
    for (uint64_t i = 0; i < n; i++) label[i] = (int32_t)i;
    for (uint64_t i = n - 1; i > 0; i--) {
        uint64_t j = spryi_random(seed, n - i) % (i + 1);
        int32_t kept = label[i];
        label[i] = label[j];
        label[j] = kept;
    }
    spryi_loop(g->context, spryi_threads(g->context, *nnz), *nnz, 0, draw_edges, &(rmat_job){g, label});
done:
    spryi_release(g->context, label);
    return status;
}

const spryi_kind spryi_kind_rmat = {.shape = rmat_shape, .list = rmat_list, .weights = true, .value_seed = 7};

/* ---- uniform: `degree` columns drawn for each row ---------------------------------------------- */

static spry_status uniform_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = g->n[SPRYI_KEY_ROWS], degree = g->n[SPRYI_KEY_DEGREE];
    const double draws = (double)n * (double)degree, most_draws = 1e9;
    if (degree > n && draws > most_draws) /* few entries, but many draws */
        return spryi_fail_value(err, SPRY_TOO_LARGE, "degree", degree, n,
                                "uniform: %lld draws for each of %lld rows, expected a degree of %lld or less",
                                (long long)degree, (long long)n, (long long)n);
    g->entries = 0.5 * (double)n * (double)(degree < n ? degree : n);
    return square_shape(g, n, 1, 1, 1, err);
}

static void uniform_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    uint64_t seed = (uint64_t)g->n[SPRYI_KEY_SEED], degree = (uint64_t)g->n[SPRYI_KEY_DEGREE];
    for (uint64_t j = 1; j <= degree; j++)
        spryi_put(sink, (int64_t)(spryi_random(seed, (uint64_t)i * degree + j) % (uint64_t)g->rows), 0);
}

const spryi_kind spryi_kind_uniform = {.shape = uniform_shape,
                                       .row = uniform_row,
                                       .loose = true,
                                       .weights = true,
                                       .value_seed = 7};

/* ---- circuit: short rows near the diagonal, six nearly dense rows and columns ------------------ */

static spry_status circuit_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = g->n[SPRYI_KEY_ROWS];
    if (n > INT32_MAX) /* the list of entries has 32-bit indices */
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "rows", n, INT32_MAX,
                                "gen:%s: rows is '%lld', expected a whole number from 0 to %d", g->generator->info.name,
                                (long long)n, INT32_MAX);
    g->entries = 2 * (double)n;
    return square_shape(g, n, 1, 1, 1, err);
}

/*
 * Lists the entries, or counts them if rows is NULL. Runs on one thread, since the random numbers of an entry depend on
 * all entries before it.
 */
static int64_t circuit_walk(int64_t n, uint64_t seed, int32_t *rows, int32_t *cols)
{
    int64_t nnz = 0;
    uint64_t count = 0;
#define ENTRY(i, j)                                                                                                    \
    do {                                                                                                               \
        if (rows) {                                                                                                    \
            rows[nnz] = (int32_t)(i);                                                                                  \
            cols[nnz] = (int32_t)(j);                                                                                  \
        }                                                                                                              \
        nnz++;                                                                                                         \
    } while (0)
    for (int64_t i = 0; i < n; i++) {
        ENTRY(i, i);
        for (uint64_t left = 2 + spryi_random(seed, ++count) % 6; left > 0; left--) {
            int64_t j = i + (int64_t)(spryi_random(seed, ++count) % 2001) - 1000;
            if (j >= 0 && j < n) ENTRY(i, j);
        }
    }
    for (int dense = 0; dense < 6 && n > 0; dense++) {
        int64_t hub = (int64_t)(spryi_random(seed, ++count) % (uint64_t)n);
        for (int64_t i = 0; i < n; i += 2 + (int64_t)(spryi_random(seed, ++count) % 3)) {
            ENTRY(hub, i);
            ENTRY(i, hub);
        }
    }
#undef ENTRY
    return nnz;
}

static spry_status circuit_list(spryi_generation *g, int64_t *nnz, spry_error *err)
{
    uint64_t seed = (uint64_t)g->n[SPRYI_KEY_SEED];
    *nnz = circuit_walk(g->rows, seed, NULL, NULL);
    spry_status status = list_create(g, *nnz, err);
    if (status == SPRY_OK) circuit_walk(g->rows, seed, g->work[0], g->work[1]);
    return status;
}

const spryi_kind spryi_kind_circuit = {.shape = circuit_shape, .list = circuit_list, .value_seed = 7};

/* ---- debruijn: words of `length` symbols; a word is followed by the words without its first symbol ---- */

static spry_status debruijn_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = 1;
    for (int64_t l = 0; l < g->n[SPRYI_KEY_LENGTH]; l++)
        if (__builtin_mul_overflow(n, g->n[SPRYI_KEY_SYMBOLS], &n)) n = INT64_MAX;
    g->entries = (double)n * (double)g->n[SPRYI_KEY_SYMBOLS];
    return square_shape(g, n, 1, 1, 1, err);
}

static void debruijn_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t symbols = g->n[SPRYI_KEY_SYMBOLS], first = i % (g->rows / symbols) * symbols;
    for (int64_t letter = 0; letter < symbols; letter++) spryi_put(sink, first + letter, 0);
}

const spryi_kind spryi_kind_debruijn = {.shape = debruijn_shape, .row = debruijn_row, .weights = true};
