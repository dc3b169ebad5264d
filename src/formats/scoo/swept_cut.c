/* Cutting rows into blocks: about equal work, no more sums than the shared memory holds, long rows in pieces. */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "formats/scoo/swept_part.h"

typedef struct cutting {
    const spry_arrays *a;
    const int64_t *before; /* rows with entries before each */
    int64_t most_sums;     /* rows with entries in a block */
} cutting;

static int64_t entries_before(const cutting *c, int64_t row)
{
    return spryi_index_at(c->a->offsets, c->a->offset_type, row);
}

/* The last row in low .. high before which there is no more than `most`, of cost or of rows with entries. */
static int64_t last_row(const cutting *c, int64_t low, int64_t high, int64_t most, int by_sums)
{
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if ((by_sums ? c->before[middle] : spryi_swept_cost(entries_before(c, middle), middle)) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Where the block from `at` on ends that may cost `most`. */
static spryi_swept_cut next_cut(const cutting *c, const spryi_swept_cut *at, int64_t most)
{
    spryi_swept_cut to;
    const int64_t rows = c->a->rows, wanted = spryi_swept_wanted(at, most);
    /* one sum is left for a row that is cut */
    const int64_t sums = c->before[at->row] + c->most_sums - 1;
    int64_t row = last_row(c, at->row, rows, wanted, 0);
    if (c->before[row] > sums) row = last_row(c, at->row, row, sums, 1);
    spryi_swept_end(&to, at, rows, wanted, row, entries_before(c, row), entries_before(c, row < rows ? row + 1 : row));
    to.row_begin = entries_before(c, to.row);
    to.before = c->before[to.row];
    return to;
}

/* Blocks that cost at most `most` each; cuts NULL: how many there are. */
static int64_t cut_by_cost(const cutting *c, int64_t most, spryi_swept_cut *cuts)
{
    spryi_swept_cut at = {0};
    int64_t blocks = 0;
    while (at.row < c->a->rows) {
        if (cuts) cuts[blocks] = at;
        at = next_cut(c, &at, most);
        blocks++;
    }
    if (cuts) cuts[blocks] = at;
    return blocks;
}

static int64_t cost_for(const cutting *c, spryi_swept_search search)
{
    if (cut_by_cost(c, search.narrow, NULL) <= search.wanted) search.high = search.narrow;
    while (search.high - search.low > search.near)
        spryi_swept_halve(&search, cut_by_cost(c, search.low + (search.high - search.low) / 2, NULL) <= search.wanted);
    return search.high > 0 ? search.high : 1;
}

static spry_status count_rows(spry_context *context, spryi_swept_making *made, spry_error *err)
{
    const spry_arrays *a = made->a;
    spry_status status = SPRYI_NEW(context, &made->before, a->rows + 1, "rows with entries", err);
    if (status != SPRY_OK) return status;
    made->before[0] = 0;
    const int threads = spryi_threads(context, a->rows);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < a->rows; i++)
        made->before[i + 1] = spryi_index_at(a->offsets, a->offset_type, i + 1) >
                              spryi_index_at(a->offsets, a->offset_type, i);
    spryi_scan(made->before, a->rows);
    return SPRY_OK;
}

spry_status spryi_swept_cut_rows(spry_context *context, spryi_swept_making *made, spry_error *err)
{
    spryi_swept *s = made->s;
    spryi_swept_head *h = &s->head;
    spry_status status = SPRY_OK;
    SPRYI_TRY(count_rows(context, made, err));
    const cutting c = {.a = made->a, .before = made->before, .most_sums = spryi_swept_most_rows(h)};
    const int64_t least = spryi_swept_may_need_more(h) ? cut_by_cost(&c, spryi_swept_most_cost(), NULL) : 0;
    const int64_t cost = cost_for(&c, spryi_swept_search_for(h, least));
    h->blocks = cut_by_cost(&c, cost, NULL);
    SPRYI_TRY(SPRYI_NEW(context, &made->cuts, h->blocks + 1, "cuts of row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->blocks, h->blocks, "row blocks", err));
    SPRYI_TRY(SPRYI_NEW(context, &s->chains, h->blocks, "rows in pieces", err)); /* a block begins one at most */
    cut_by_cost(&c, cost, made->cuts);
    spryi_swept_link(s, made->cuts);
done:
    return status;
}
