/*
 * Direct aggregation along the levels of a Cuthill-McKee ordering.
 *
 *     level  0   1   2   3   4   5           groups lie along the levels, `depth` of them deep, like bricks:
 *                +-----+ +-----+
 *            o   | o o | | o o |             compact groups of s rows would leave s^(1/d) times fewer, thicker levels
 *                | o o | | o o |             in d dimensions, and multiply the bandwidth by that; bricks multiply it
 *            o   +-----+ +-----+             by little more than their depth, whatever their size
 *                | o o | | o o |
 *                +-----+ +-----+
 *
 * In each band of levels: the first node that has no group begins one, which grows breadth first inside the band. A
 * piece smaller than half joins the neighbour it has most links to, or else the last such piece of the band. Bands hold
 * `target` at least, so narrow levels are put together; components smaller than that share one.
 *
 * Bands do not look at each other: threads share them, and the groups are the same. Cost: O(edges).
 */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "reorder/order.h"

#include <string.h>

typedef struct work {
    const spryi_graph *g;
    const spryi_levels *levels;
    const int32_t *weight;
    int64_t target;
    int32_t *group; /* of a node; groups of a band are numbered from the band's first node on */
    int32_t *size;  /* of a group */
    int32_t *queue; /* members in the order in which they came, band by band */
    int32_t *tally; /* links from a piece to a group; zero between pieces */
    int32_t *bands; /* band_count + 1 nodes where bands begin */
    int64_t band_count;
} work;

void spryi_groups_clear(spry_context *context, spryi_groups *groups)
{
    spryi_release(context, groups->of);
    spryi_release(context, groups->starts);
    spryi_release(context, groups->members);
    *groups = (spryi_groups){0};
}

static int64_t weight_of(const work *w, int32_t node)
{
    return w->weight ? w->weight[node] : 1;
}

/* ---- bands ------------------------------------------------------------------------------------------ */

static int64_t weight_between(const work *w, int32_t begin, int32_t end)
{
    if (!w->weight) return end - begin;
    int64_t sum = 0;
    for (int32_t v = begin; v < end; v++) sum += w->weight[v];
    return sum;
}

/* A band ends where it has depth levels and target; the last of a component, if too small, joins the one before. */
static void cut_component(work *w, int64_t first_level, int64_t end_level, int depth)
{
    const int32_t *levels = w->levels->levels;
    const int64_t first_band = w->band_count;
    int64_t size = 0, deep = 0;
    w->bands[w->band_count++] = levels[first_level];
    for (int64_t l = first_level; l < end_level; l++) {
        if (deep >= depth && size >= w->target) {
            w->bands[w->band_count++] = levels[l];
            size = deep = 0;
        }
        size += weight_between(w, levels[l], levels[l + 1]);
        deep++;
    }
    if (2 * size < w->target && w->band_count - first_band > 1) w->band_count--;
}

static void cut_bands(work *w, int depth)
{
    const spryi_levels *levels = w->levels;
    int in_small = 0; /* the last band is one of components smaller than target */
    for (int64_t c = 0; c < levels->component_count; c++) {
        const int64_t first = levels->components[c], end = levels->components[c + 1];
        const int small = weight_between(w, levels->levels[first], levels->levels[end]) < w->target;
        if (small && !in_small) w->bands[w->band_count++] = levels->levels[first];
        if (!small) cut_component(w, first, end, depth);
        in_small = small;
    }
    w->bands[w->band_count] = (int32_t)w->g->nodes;
}

/* ---- groups ----------------------------------------------------------------------------------------- */

/* Takes up nodes without a group, breadth first, until target is reached; returns the end of its part of the queue. */
static int32_t grow(work *w, int32_t id, int32_t first, int32_t root, int32_t begin, int32_t end)
{
    const spryi_graph *g = w->g;
    int32_t next = first;
    w->queue[next++] = root;
    w->group[root] = id;
    int64_t size = weight_of(w, root);
    for (int32_t head = first; head < next && size < w->target; head++) {
        const int32_t u = w->queue[head];
        for (int64_t k = g->offsets[u]; k < g->offsets[u + 1] && size < w->target; k++) {
            const int32_t v = g->adjacent[k];
            if (v < begin || v >= end || w->group[v] >= 0) continue;
            w->group[v] = id;
            w->queue[next++] = v;
            size += weight_of(w, v);
        }
    }
    w->size[id] = (int32_t)size;
    return next;
}

static int fits(const work *w, int32_t into, int32_t id)
{
    return w->size[into] + w->size[id] <= w->target + w->target / 2;
}

/* The group of the band that a piece has most links to and that can take it; -1: none. */
static int32_t best_neighbour(work *w, int32_t id, int32_t first, int32_t next, int32_t begin, int32_t end)
{
    const spryi_graph *g = w->g;
    int32_t best = -1;
    for (int clear = 0; clear < 2; clear++) /* the second time clears the tally */
        for (int32_t q = first; q < next; q++)
            for (int64_t k = g->offsets[w->queue[q]]; k < g->offsets[w->queue[q] + 1]; k++) {
                const int32_t v = g->adjacent[k];
                if (v < begin || v >= end) continue;
                const int32_t other = w->group[v];
                if (other < 0 || other == id || !fits(w, other, id)) continue;
                w->tally[other] = clear ? 0 : w->tally[other] + (g->links ? g->links[k] : 1);
                if (!clear && (best < 0 || w->tally[other] > w->tally[best])) best = other;
            }
    return best;
}

static void group_band(work *w, int32_t begin, int32_t end)
{
    int32_t next = begin, id = begin, open = -1;
    for (int32_t root = begin; root < end; root++) {
        if (w->group[root] >= 0) continue;
        const int32_t first = next;
        next = grow(w, id, first, root, begin, end);
        if (2 * w->size[id] >= w->target) {
            id++;
            continue;
        }
        int32_t into = best_neighbour(w, id, first, next, begin, end);
        if (into < 0 && open >= 0 && fits(w, open, id)) into = open;
        if (into < 0) {
            open = id++;
            continue;
        }
        for (int32_t q = first; q < next; q++) w->group[w->queue[q]] = into;
        w->size[into] += w->size[id];
    }
}

/* Numbers groups by their first members; w->tally serves for the new numbers. */
static void number_groups(spryi_groups *to, work *w)
{
    const int64_t n = w->g->nodes;
    memset(w->tally, 0xff, (size_t)n * sizeof *w->tally);
    memset(to->starts, 0, (size_t)(n + 1) * sizeof *to->starts);
    for (int64_t v = 0; v < n; v++) {
        int32_t *number = &w->tally[w->group[v]];
        if (*number < 0) *number = to->count++;
        to->of[v] = *number;
        to->starts[*number + 1]++;
    }
    for (int32_t c = 0; c < to->count; c++) to->starts[c + 1] += to->starts[c];
    for (int32_t v = 0; v < n; v++) to->members[to->starts[to->of[v]]++] = v;
    for (int32_t c = to->count; c > 0; c--) to->starts[c] = to->starts[c - 1];
    to->starts[0] = 0;
}

static void group_bands(void *job, int64_t begin, int64_t end)
{
    work *w = job;
    for (int64_t b = begin; b < end; b++) group_band(w, w->bands[b], w->bands[b + 1]);
}

spry_status spryi_aggregate(spry_context *context, spryi_groups *groups, const spryi_graph *g,
                            const spryi_levels *levels, int64_t target, int depth, const int32_t *weight,
                            spry_error *err)
{
    const int64_t n = g->nodes;
    const int threads = spryi_threads(context, g->offsets[n]);
    spry_status status = SPRY_OK;
    spryi_groups made = {0};
    work w = {.g = g, .levels = levels, .weight = weight, .target = target};
    SPRYI_TRY(SPRYI_NEW(context, &made.of, n, "groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.starts, n + 1, "groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.members, n, "members of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.group, n, "groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.size, n, "sizes of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.queue, n, "queue", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.tally, n, "links of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.bands, n + 1, "bands", err));
    memset(w.group, 0xff, (size_t)n * sizeof *w.group);
    memset(w.tally, 0, (size_t)n * sizeof *w.tally);
    cut_bands(&w, depth);
    spryi_loop(context, threads, w.band_count, 1, group_bands, &w);
    number_groups(&made, &w);
    *groups = made;
    made = (spryi_groups){0};
done:
    spryi_groups_clear(context, &made);
    spryi_release(context, w.group);
    spryi_release(context, w.size);
    spryi_release(context, w.queue);
    spryi_release(context, w.tally);
    spryi_release(context, w.bands);
    return status;
}
