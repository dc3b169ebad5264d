/* Regular grids: points numbered x first, then y, then z, with dof unknowns at each. */
#include "io/generate.h"

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
