/*
 * Twins: matrices that replace real matrices that are not available. Parameters are the number of rows and entries, the
 * length of the longest row, the percentage of entries whose mirror image is also stored, and the kind of structure.
 * The twin matches the first four exactly, unless the kind cannot place that many entries.
 *
 * Entries are drawn one by one, with their mirror images until the percentage is reached. An entry is kept if its
 * position is free and no row becomes longer than the longest. One row, the hub, is first filled to that length. A hash
 * table with 2 to 4 slots per pair holds the pairs drawn, so a twin of 60 million entries takes seconds. Kind words has
 * no hub if the longest row has 4 entries: with all entries it is the de Bruijn graph itself (generator debr).
 *
 *     kind        entries connect a point to
 *     mesh2/3     the nearest neighbours on a square or cubic grid, in order of distance, with a random part of the
 *                 last distance; `dof` unknowns per point
 *     triangles   neighbours on a square grid in which each square has one random diagonal
 *     hexagons    three neighbours of a brick wall
 *     road        the four neighbours on a square grid, each with the same probability
 *     words       points 2i and 2i + 1 modulo the number of points (de Bruijn graph)
 *     ball2/3     random points in a disc or ball around the point; `dof` unknowns per point
 *     kkt         as mesh3, except that one in twenty rows, at random, remains short
 *     circuit     random points among the nearest 2000 indices
 *     web         random points among the nearest 1000 indices; one in three is a popular point
 *     social      popular points; the connected point itself is a popular one
 *     citation    any other point
 */
#include "study/kernels/study_generators.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { NEAR_CIRCUIT = 1000, NEAR_WEB = 500, SHORT_ROW = 8, SHORT_EVERY = 20, PATIENCE = 40, WORDS_NEIGHBOURS = 4 };

/*
 * Kinds of structure, in the order of `words`. Kinds before BALL2 are grids. Kinds from CIRCUIT on have irregular rows.
 */
typedef enum twin_kind {
    MESH2,
    MESH3,
    KKT,
    TRIANGLES,
    HEXAGONS,
    ROAD,
    WORDS,
    BALL2,
    BALL3,
    CIRCUIT,
    WEB,
    SOCIAL,
    CITATION
} twin_kind;
static const char *const words[] = {"mesh2", "mesh3", "kkt",     "triangles", "hexagons", "road",     "words",
                                    "ball2", "ball3", "circuit", "web",       "social",   "citation", NULL};

/* The twin being drawn. Entries (i,j) and (j,i) are one pair, which is drawn at most once. */
typedef struct twin {
    int64_t n, hub, longest, nnz;
    int64_t pairs_left, singles_left; /* pairs still to draw, with and without a mirror image */
    int32_t *rows, *cols;
    int32_t *length; /* current length of each row */
    uint64_t *taken; /* hash table of mask + 1 slots: pair + 1, or 0 if free */
    uint64_t mask;
    uint64_t seed, count;
    int64_t side, dof; /* points per side of the grid; unknowns per point */
    double reach;      /* radius of the disc or ball */
    twin_kind kind;
} twin;

static spry_status twin_shape(spryi_generation *g, spry_error *err)
{
    const int64_t n = g->n[SPRYI_KEY_ROWS], nnz = g->n[SPRYI_KEY_ENTRIES], longest = g->n[SPRYI_KEY_LONGEST];
    if (n > INT32_MAX)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "rows", n, INT32_MAX,
                                "gen:%s: rows is '%lld', expected a whole number from 0 to %d", g->generator->info.name,
                                (long long)n, INT32_MAX);
    if (longest > n || nnz < longest || (double)nnz > (double)n * (double)longest)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "entries", nnz, longest,
                                "gen:%s: %lld entries in %lld rows, the longest of %lld: expected a longest row of at "
                                "most %lld, and entries from its length to rows times it",
                                g->generator->info.name, (long long)nnz, (long long)n, (long long)longest,
                                (long long)n);
    g->entries = (double)nnz;
    g->rows = g->cols = n;
    return SPRY_OK;
}

/* ---- adding an entry ----------------------------------------------------------------------------- */

static void put(twin *t, int64_t i, int64_t j)
{
    t->rows[t->nnz] = (int32_t)i;
    t->cols[t->nnz++] = (int32_t)j;
    t->length[i]++;
}

/* Returns the slot of the pair, or the free slot where it belongs. */
static uint64_t *slot_of(const twin *t, uint64_t pair)
{
    uint64_t at = (pair * 0x9E3779B97F4A7C15u) >> 20 & t->mask;
    while (t->taken[at] != 0 && t->taken[at] != pair + 1) at = (at + 1) & t->mask;
    return &t->taken[at];
}

static bool is_short(const twin *t, int64_t i)
{
    return t->kind == KKT && t->length[i] >= SHORT_ROW && spryi_random(t->seed ^ 1, (uint64_t)i + 1) % SHORT_EVERY == 0;
}

/*
 * Adds entry (i,j) unless its pair was drawn, or a row that gets an entry is full, or a row must remain short. If
 * pairs_left > 0, also adds the mirror image.
 */
static void join(twin *t, int64_t i, int64_t j)
{
    const bool mirrored = t->pairs_left > 0;
    if (i == j || j < 0 || j >= t->n || i < 0 || i >= t->n || t->pairs_left + t->singles_left <= 0) return;
    if (t->length[i] >= t->longest || (mirrored && t->length[j] >= t->longest)) return;
    if (is_short(t, i) || is_short(t, j)) return;
    const int64_t low = i < j ? i : j, high = i < j ? j : i;
    uint64_t *slot = slot_of(t, (uint64_t)low * (uint64_t)t->n + (uint64_t)high);
    if (*slot) return;
    *slot = (uint64_t)low * (uint64_t)t->n + (uint64_t)high + 1;
    put(t, i, j);
    if (mirrored) put(t, j, i);
    *(mirrored ? &t->pairs_left : &t->singles_left) -= 1;
}

static double chance(twin *t)
{
    return spryi_uniform(t->seed, ++t->count);
}

/* Returns a random integer from 0 to limit - 1. */
static int64_t draw(twin *t, int64_t limit)
{
    return (int64_t)(spryi_random(t->seed, ++t->count) % (uint64_t)limit);
}

/* ---- the hub ------------------------------------------------------------------------------------- */

/* Fills the hub: with neighbours on both sides in grids and balls, else with columns spread over the matrix. */
static void fill_hub(twin *t)
{
    int64_t missing = t->longest - t->length[t->hub];
    const int64_t step = t->kind < CIRCUIT || missing == 0 ? 1 : (t->n - 1) / missing;
    for (int64_t d = 1; d < t->n && t->length[t->hub] < t->longest; d++) {
        join(t, t->hub, (t->hub + d * step) % t->n);
        if (step == 1 && t->length[t->hub] < t->longest) join(t, t->hub, (t->hub + t->n - d) % t->n);
    }
}

/* ---- grids, in order of distance ----------------------------------------------------------------- */

/* Offset to a neighbour in the grid. */
typedef struct ring {
    int x, y, z;
} ring;

static const ring rings2[] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {-1, 1, 0}, {2, 0, 0}, {0, 2, 0}, {2, 1, 0}, {1, 2, 0}};
static const ring rings3[] = {{1, 0, 0},  {0, 1, 0}, {0, 0, 1},  {1, 1, 0}, {-1, 1, 0}, {1, 0, 1},
                              {-1, 0, 1}, {0, 1, 1}, {0, -1, 1}, {1, 1, 1}, {-1, 1, 1}, {1, -1, 1},
                              {1, 1, -1}, {2, 0, 0}, {0, 2, 0},  {0, 0, 2}};

/* Returns the number of entries still to draw. */
static int64_t wanted(const twin *t)
{
    return 2 * t->pairs_left + t->singles_left;
}

/* Connects all unknowns of points p and q. If p == q, connects the point's unknowns with each other. */
static void join_points(twin *t, int64_t p, int64_t q)
{
    for (int64_t a = 0; a < t->dof; a++)
        for (int64_t b = p == q ? a + 1 : 0; b < t->dof; b++) {
            const bool backwards = t->pairs_left == 0 && chance(t) < .5;
            join(t, (backwards ? q : p) * t->dof + (backwards ? b : a),
                 (backwards ? p : q) * t->dof + (backwards ? a : b));
        }
}

/* Returns the neighbour of point p at offset r, or -1 outside of the grid. */
static int64_t across(const twin *t, int64_t p, ring r, int64_t points)
{
    const int64_t side = t->side, x = p % side + r.x, rest = p / side;
    const bool flat = t->kind == MESH2;
    const int64_t y = flat ? rest + r.y : rest % side + r.y, z = flat ? 0 : rest / side + r.z;
    if (x < 0 || x >= side || y < 0 || z < 0 || (!flat && y >= side)) return -1;
    const int64_t q = (z * side + y) * side + x;
    return q < points ? q : -1;
}

/*
 * Connects points to the neighbours at each offset in turn. At the last offset that is needed, connects only a random
 * part of the points.
 */
static void draw_rings(twin *t, const ring *rings, int count)
{
    const int64_t points = t->n / t->dof, a_ring = points * t->dof * t->dof * 2;
    for (int64_t p = 0; p < points; p++) join_points(t, p, p);
    for (int r = 0; r < count; r++) {
        const double share = (double)wanted(t) / (double)a_ring;
        for (int64_t p = 0; p < points; p++) {
            const int64_t q = share >= 1 || chance(t) < share ? across(t, p, rings[r], points) : -1;
            if (q >= 0) join_points(t, p, q);
        }
    }
}

/* Draws road, triangles and hexagons: edges to the right, down, and along a diagonal of the point's square. */
static void draw_squares(twin *t)
{
    const double share = t->kind == ROAD ? (double)wanted(t) / (4.0 * (double)t->n) : 1;
    for (int64_t p = 0; p < t->n; p++) {
        const int64_t x = p % t->side, y = p / t->side;
        const bool last = x + 1 == t->side;
        if (!last && chance(t) < share) join(t, p, p + 1);
        if ((t->kind != HEXAGONS || (x + y) % 2 == 0) && chance(t) < share) join(t, p, p + t->side);
        if (t->kind == TRIANGLES && !last) {
            if (chance(t) < .5)
                join(t, p, p + t->side + 1);
            else
                join(t, p + 1, p + t->side);
        }
    }
}

static void draw_words(twin *t)
{
    for (int64_t p = 0; p < t->n; p++)
        for (int64_t letter = 0; letter < 2; letter++) join(t, p, (2 * p + letter) % t->n);
}

/* ---- random points ------------------------------------------------------------------------------- */

/* Returns a random point. Popular points have a higher probability; their indices are scattered over the matrix. */
static int64_t popular(twin *t)
{
    const double u = chance(t);
    const int64_t rank = (int64_t)((double)t->n * u * u);
    return (int64_t)((uint64_t)(rank < t->n ? rank : t->n - 1) * 2654435761u % (uint64_t)t->n);
}

/* Returns a random grid point within reach of point p, which may be outside the matrix; -1 after PATIENCE tries. */
static int64_t inside_ball(twin *t, int64_t p)
{
    const bool flat = t->kind == BALL2;
    for (int tries = 0; tries < PATIENCE; tries++) {
        const double x = rint((2 * chance(t) - 1) * t->reach), y = rint((2 * chance(t) - 1) * t->reach);
        const double z = flat ? 0 : rint((2 * chance(t) - 1) * t->reach);
        if (x * x + y * y + z * z <= t->reach * t->reach)
            return p + (int64_t)x + t->side * ((int64_t)y + (flat ? 0 : t->side * (int64_t)z));
    }
    return -1;
}

static void draw_one(twin *t, int64_t i)
{
    switch (t->kind) {
    case CIRCUIT: join(t, i, i + draw(t, 2 * NEAR_CIRCUIT + 1) - NEAR_CIRCUIT); return;
    case WEB: {
        const int64_t from = chance(t) < .5 ? i : popular(t);
        join(t, from, draw(t, 3) == 0 ? popular(t) : from + draw(t, 2 * NEAR_WEB + 1) - NEAR_WEB);
        return;
    }
    case SOCIAL: {
        const int64_t from = popular(t);
        join(t, from, popular(t));
        return;
    }
    case CITATION: join(t, i, draw(t, t->n)); return;
    default: break;
    }
    const int64_t q = inside_ball(t, i / t->dof), points = t->n / t->dof;
    if (q < 0 || q >= points || q == i / t->dof) return;
    join_points(t, i / t->dof, q);
}

/*
 * Draws the remaining entries at random, until none is left or a whole round of tries adds none. In grids, the row and
 * the column of such an entry differ by at most NEAR_WEB.
 */
static void draw_by_chance(twin *t)
{
    for (int64_t before = -1; wanted(t) > 0 && wanted(t) != before;) {
        before = wanted(t);
        const int64_t tries = PATIENCE * (before / (t->dof * t->dof) + 1);
        for (int64_t k = 0; k < tries && wanted(t) > 0; k++) {
            const int64_t i = draw(t, t->n);
            if (t->kind < BALL2)
                join(t, i, i + draw(t, 2 * NEAR_WEB + 1) - NEAR_WEB);
            else
                draw_one(t, i);
        }
    }
}

/* ---- all kinds ----------------------------------------------------------------------------------- */

static void draw_twin(twin *t)
{
    switch (t->kind) {
    case MESH2: draw_rings(t, rings2, sizeof rings2 / sizeof *rings2); break;
    case MESH3:
    case KKT: draw_rings(t, rings3, sizeof rings3 / sizeof *rings3); break;
    case ROAD:
    case TRIANGLES:
    case HEXAGONS: draw_squares(t); break;
    case WORDS: draw_words(t); break;
    default: break;
    }
    draw_by_chance(t);
}

/* Computes the side of the grid and the radius of the ball. */
static void set_sizes(twin *t)
{
    const double points = (double)(t->n / t->dof), neighbours = (double)wanted(t) / (double)t->n / (double)t->dof;
    const bool cubic = t->kind == MESH3 || t->kind == BALL3 || t->kind == KKT;
    t->side = 1;
    while ((double)t->side * (double)t->side * (cubic ? (double)t->side : 1) < points) t->side++;
    /*
     * The ball has eight times as many points as are drawn from it. Solves pi r^2 = room or 4/3 pi r^3 = room for r by
     * bisection, without pow and cbrt.
     */
    const double room = 8 * neighbours + 6;
    double low = 1, high = 1000;
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2, held = middle * middle * (cubic ? 4.19 * middle : 3.14);
        *(held < room ? &low : &high) = middle;
    }
    t->reach = low;
}

static spry_status twin_list(spryi_generation *g, int64_t *nnz, spry_error *err)
{
    const int64_t n = g->rows, entries = g->n[SPRYI_KEY_ENTRIES];
    twin t = {.n = n,
              .hub = n / 2,
              .longest = g->n[SPRYI_KEY_LONGEST],
              .seed = (uint64_t)g->n[SPRYI_KEY_SEED],
              .dof = g->n[SPRYI_KEY_DOF],
              .kind = (twin_kind)g->n[SPRYI_KEY_KIND]};
    int64_t diagonal = g->n[SPRYI_KEY_DIAGONAL] ? (n < entries ? n : entries) : 0;
    t.pairs_left = (entries - diagonal) * g->n[SPRYI_KEY_SYMMETRY] / 200;
    t.singles_left = entries - diagonal - 2 * t.pairs_left;
    if (g->n[SPRYI_KEY_SYMMETRY] == 100 && t.singles_left == 1)
        t.singles_left = 0; /* leave out the last entry, for which there is no mirror image */
    *nnz = 0;
    if (t.dof > n) t.dof = 1;
    while (t.mask + 1 < 2 * (uint64_t)(t.pairs_left + t.singles_left) + 2) t.mask = 2 * t.mask + 1;
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &g->work[0], entries, sizeof(int32_t), "edges", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &g->work[1], entries, sizeof(int32_t), "edges", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &g->work[2], n, sizeof(int32_t), "row lengths", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &g->work[3], (int64_t)t.mask + 1, sizeof(uint64_t), "pairs", err));
    t.rows = g->work[0];
    t.cols = g->work[1];
    t.length = memset(g->work[2], 0, (size_t)n * sizeof(int32_t));
    t.taken = memset(g->work[3], 0, (t.mask + 1) * sizeof(uint64_t));
    for (int64_t i = 0; i < diagonal; i++) put(&t, i, i);
    if (n > 0) {
        set_sizes(&t);
        if (t.kind != WORDS || t.longest > WORDS_NEIGHBOURS) fill_hub(&t);
        draw_twin(&t);
    }
    *nnz = t.nnz;
    return SPRY_OK;
}

const spryi_kind spryi_kind_twin = {.shape = twin_shape, .list = twin_list, .value_seed = 7, .words = words};
