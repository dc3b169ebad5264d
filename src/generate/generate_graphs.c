/* Graphs: roads, geometric neighbours, R-MAT, de Bruijn, uniform degrees. Circuits, whose values have both signs. */
#include "generate/generator.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"

#include <math.h>
#include <string.h>

/* ---- road: a square lattice of which 30 % of the edges are missing ----------------------------- */

static const double road_share = .7;

static spry_status road_shape(spryi_generation *g, spry_error *err)
{
    int64_t side = g->n[SPRYI_KEY_SIDE];
    g->entries = 2 * (double)side * (double)side - 2 * (double)side; /* half of what all edges would be */
    if (g->entries < 64) g->entries = 0;
    return spryi_square_shape(g, side, side, 1, 1, err);
}

/* Numbers are drawn row by row: for each point one for the edge to the right, then one for that below, if any. */
static int road_right(const spryi_generation *g, int64_t x, int64_t y)
{
    int64_t side = g->n[SPRYI_KEY_SIDE];
    if (x + 1 >= side) return 0;
    int64_t count = y * (2 * side - 1) + (y + 1 < side ? 2 * x : x) + 1;
    return spryi_uniform((uint64_t)g->n[SPRYI_KEY_SEED], (uint64_t)count) < road_share;
}
static int road_down(const spryi_generation *g, int64_t x, int64_t y)
{
    int64_t side = g->n[SPRYI_KEY_SIDE];
    if (y + 1 >= side) return 0;
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
                                    .weights = 1,
                                    .value_seed = 7,
                                    .mirror = SPRYI_MIRROR_PATTERN};

/* ---- rgg: points of the unit square, joined when nearer than 0.55 sqrt(ln n / n) --------------- */

/* ln 2 in two parts; the first, 11 bits short, is exact when multiplied by a scale: so ln n is the same everywhere. */
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
    return spryi_square_shape(g, n, 1, 1, 1, err);
}

typedef struct rgg_point {
    double x, y;
} rgg_point;

static int comes_before(rgg_point a, rgg_point b)
{
    return a.x != b.x ? a.x < b.x : a.y < b.y;
}

/* Points in order of their cell, row of cells by row; within a cell by x, then y, then as drawn. */
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

/* work[0]: points; work[1]: where each cell's begin. A cell is at least as wide as the radius. */
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
                                   .weights = 1,
                                   .value_seed = 7,
                                   .mirror = SPRYI_MIRROR_PATTERN};

/* ---- rmat: recursive quadrants .57 .19 .19 .05 (Chakrabarti, Zhan, Faloutsos, SDM 2004), shuffled ---- */

static spry_status rmat_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = (int64_t)1 << g->n[SPRYI_KEY_SCALE];
    g->entries = n >= 65536 ? 0.25 * (double)n * (double)g->n[SPRYI_KEY_EDGES] : 0; /* repeated ones fall away */
    return spryi_square_shape(g, n, 1, 1, 1, err);
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

const spryi_kind spryi_kind_rmat = {.shape = rmat_shape, .list = rmat_list, .weights = 1, .value_seed = 7};

/* ---- uniform: `degree` columns drawn for each row ---------------------------------------------- */

static spry_status uniform_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = g->n[SPRYI_KEY_ROWS], degree = g->n[SPRYI_KEY_DEGREE];
    const double draws = (double)n * (double)degree, most_draws = 1e9;
    if (degree > n && draws > most_draws) /* the entries are few, but not the time */
        return spryi_fail_value(err, SPRY_TOO_LARGE, "degree", degree, n,
                                "uniform: %lld draws for each of %lld rows, expected a degree of %lld or less",
                                (long long)degree, (long long)n, (long long)n);
    g->entries = 0.5 * (double)n * (double)(degree < n ? degree : n);
    return spryi_square_shape(g, n, 1, 1, 1, err);
}

static void uniform_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    uint64_t seed = (uint64_t)g->n[SPRYI_KEY_SEED], degree = (uint64_t)g->n[SPRYI_KEY_DEGREE];
    for (uint64_t j = 1; j <= degree; j++)
        spryi_put(sink, (int64_t)(spryi_random(seed, (uint64_t)i * degree + j) % (uint64_t)g->rows), 0);
}

const spryi_kind spryi_kind_uniform = {.shape = uniform_shape,
                                       .row = uniform_row,
                                       .loose = 1,
                                       .weights = 1,
                                       .value_seed = 7};

/* ---- circuit: short rows near the diagonal, six nearly dense rows and columns ------------------ */

static spry_status circuit_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = g->n[SPRYI_KEY_ROWS];
    if (n > INT32_MAX) /* its list of entries has 32-bit indices */
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "rows", n, INT32_MAX,
                                "gen:%s: rows is '%lld', expected a whole number from 0 to %d", g->generator->info.name,
                                (long long)n, INT32_MAX);
    g->entries = 2 * (double)n;
    return spryi_square_shape(g, n, 1, 1, 1, err);
}

/* How many random numbers an entry takes depends on those before it: one thread, once to count, once to write. */
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

/* ---- debruijn: words of `length` letters; each is followed by those that drop its first letter -- */

static spry_status debruijn_shape(spryi_generation *g, spry_error *err)
{
    int64_t n = 1;
    for (int64_t l = 0; l < g->n[SPRYI_KEY_LENGTH]; l++)
        if (__builtin_mul_overflow(n, g->n[SPRYI_KEY_SYMBOLS], &n)) n = INT64_MAX;
    g->entries = (double)n * (double)g->n[SPRYI_KEY_SYMBOLS];
    return spryi_square_shape(g, n, 1, 1, 1, err);
}

static void debruijn_row(const spryi_generation *g, int64_t i, spryi_sink *sink)
{
    int64_t symbols = g->n[SPRYI_KEY_SYMBOLS], first = i % (g->rows / symbols) * symbols;
    for (int64_t letter = 0; letter < symbols; letter++) spryi_put(sink, first + letter, 0);
}

const spryi_kind spryi_kind_debruijn = {.shape = debruijn_shape, .row = debruijn_row, .weights = 1};
