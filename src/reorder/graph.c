#include "reorder/graph.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "reorder/level.h"

#include <string.h>

#define PREFETCH(address) __builtin_prefetch(address)

/* The hash is a product of 128 bits whose halves are folded, as in wyhash. */
#define SALT UINT64_C(0x8BB84B93962EACC9)
#define FACTOR UINT64_C(0x9E3779B97F4A7C15)
__extension__ typedef unsigned __int128 wide;

typedef struct mirror_job {
    const void *offsets, *indices;
    atomic_ullong sum;
} mirror_job;

/* Rows of a level's nodes head .. . */
typedef struct level_rows {
    const spryi_pattern *p;
    spryi_local *l;
    const int32_t *label;
    int32_t head;
} level_rows;

#define SPRYI_TEMPLATE "reorder/walk.tmpl.c"
#include "base/instantiate_indices.h"

static const struct {
    void (*fingerprint)(void *job, int64_t begin, int64_t end);
    int32_t (*walk)(const spryi_pattern *p, spryi_local *l, int32_t *label, int32_t root, int32_t next,
                    const spryi_level_work *work);
} typed[SPRYI_INDEX_PAIRS] = {{fingerprint_32_32, walk_32_32},
                              {fingerprint_64_32, walk_64_32},
                              {fingerprint_64_64, walk_64_64}};

/* ---- the pattern ------------------------------------------------------------------------------------ */

/* Sorted lists a and b as one, each number once; out NULL only counts. */
static int64_t unite(int32_t *out, const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count)
{
    int64_t count = 0, last = -1, p = 0, q = 0;
    while (p < a_count || q < b_count) {
        int32_t next = q == b_count || (p < a_count && a[p] <= b[q]) ? a[p++] : b[q++];
        if (next == last) continue;
        if (out) out[count] = next;
        last = next;
        count++;
    }
    return count;
}

/* Row i of the result: rows i of A and A^T together. */
static int64_t united_row(int32_t *out, const spryi_compressed *A, const spryi_compressed *T, int64_t i)
{
    const int32_t *Aj = A->indices, *Tj = T->indices;
    return unite(out, Aj + A->offsets[i], A->offsets[i + 1] - A->offsets[i], Tj + T->offsets[i],
                 T->offsets[i + 1] - T->offsets[i]);
}

typedef struct unite_job {
    const spryi_compressed *sum, *A, *T;
} unite_job;

static void count_united(void *job, int64_t begin, int64_t end)
{
    const unite_job *j = job;
    for (int64_t i = begin; i < end; i++) j->sum->offsets[i + 1] = united_row(NULL, j->A, j->T, i);
}

static void unite_rows(void *job, int64_t begin, int64_t end)
{
    const unite_job *j = job;
    int32_t *indices = j->sum->indices;
    for (int64_t i = begin; i < end; i++) united_row(indices + j->sum->offsets[i], j->A, j->T, i);
}

static spry_status add_transpose(spry_context *context, spryi_compressed *sum, const spryi_compressed *A,
                                 const spryi_compressed *T, spry_error *err)
{
    const int64_t n = A->majors;
    const int threads = spryi_threads(context, n + A->nnz);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &sum->offsets, n + 1, "offsets of the graph", err));
    unite_job j = {sum, A, T};
    spryi_loop(context, threads, n, 1024, count_united, &j);
    spryi_scan(sum->offsets, n);
    sum->nnz = sum->offsets[n];
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &sum->indices, sum->nnz, sizeof(int32_t), "graph", err));
    spryi_loop(context, threads, n, 1024, unite_rows, &j);
    return SPRY_OK;
}

/* Rows, then columns; columns are numbered behind the rows. */
static spry_status join_columns(spry_context *context, spryi_compressed *graph, const spryi_compressed *A,
                                const spryi_compressed *T, spry_error *err)
{
    const int64_t m = A->majors, n = A->minors, nnz = A->nnz;
    const int32_t *Aj = A->indices;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &graph->offsets, m + n + 1, "offsets of the graph", err));
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &graph->indices, 2 * nnz, sizeof(int32_t), "graph", err));
    int32_t *indices = graph->indices;
    graph->nnz = 2 * nnz;
    memcpy(graph->offsets, A->offsets, (size_t)(m + 1) * sizeof *graph->offsets);
    for (int64_t j = 1; j <= n; j++) graph->offsets[m + j] = nnz + T->offsets[j];
    for (int64_t k = 0; k < nnz; k++) indices[k] = (int32_t)(m + Aj[k]);
    if (nnz > 0) memcpy(indices + nnz, T->indices, (size_t)nnz * sizeof *indices);
    return SPRY_OK;
}

static spry_status make_graph(spry_context *context, spryi_pattern *p, const spry_arrays *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed rows = {0}, columns = {0};
    SPRYI_TRY(spryi_compress(context, &rows, a, SPRY_CSR, SPRY_I32, err));
    SPRYI_TRY(spryi_compress(context, &columns, a, SPRY_CSC, SPRY_I32, err));
    SPRYI_TRY(a->rows == a->cols ? add_transpose(context, &p->made, &rows, &columns, err)
                                 : join_columns(context, &p->made, &rows, &columns, err));
    p->offset_type = SPRY_I64;
    p->index_type = SPRY_I32;
    p->offsets = p->made.offsets;
    p->indices = p->made.indices;
    p->entries = p->made.nnz;
done:
    spryi_compressed_clear(context, &rows);
    spryi_compressed_clear(context, &columns);
    return status;
}

/* Offsets by column serve as well: they are those of A^T, whose graph is the same. */
int spryi_pattern_is_symmetric(const spry_context *context, const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    if (a->rows != a->cols || a->layout == SPRY_COO) return 0;
    if (a->symmetry != SPRY_GENERAL && A->symmetry_holds) return 1;
    mirror_job j = {.offsets = a->offsets, .indices = a->indices};
    spryi_loop(context, spryi_threads(context, a->rows + a->nnz), a->rows, 1024,
               typed[spryi_index_pair(a->offset_type, a->index_type)].fingerprint, &j);
    return j.sum == 0;
}

spry_status spryi_pattern_make(spry_context *context, spryi_pattern *pattern, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    const int square = a.rows == a.cols;
    const int64_t nodes = square ? a.rows : a.rows + a.cols, most = INT32_MAX - 1;
    if (nodes > most)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "A", nodes, most,
                                "reorder: the graph has %lld nodes, and orderings take up to %lld", (long long)nodes,
                                (long long)most);
    *pattern = (spryi_pattern){.nodes = nodes, .rows = a.rows, .entries = a.nnz};
    a.value_type = SPRY_PATTERN;
    a.values = NULL;
    if (!spryi_pattern_is_symmetric(context, A)) {
        spry_status status = make_graph(context, pattern, &a, err);
        if (status != SPRY_OK) spryi_pattern_clear(context, pattern);
        return status;
    }
    pattern->offset_type = a.offset_type;
    pattern->index_type = a.index_type;
    pattern->offsets = a.offsets;
    pattern->indices = a.indices;
    return SPRY_OK;
}

void spryi_pattern_clear(spry_context *context, spryi_pattern *pattern)
{
    spryi_compressed_clear(context, &pattern->made);
    *pattern = (spryi_pattern){0};
}

/* ---- its graph, renumbered -------------------------------------------------------------------------- */

void spryi_graph_clear(spry_context *context, spryi_graph *g)
{
    spryi_release(context, g->offsets);
    spryi_release(context, g->adjacent);
    spryi_release(context, g->links);
    spryi_release(context, g->degree);
    spryi_release(context, g->weight);
    *g = (spryi_graph){0};
}

typedef struct move_job {
    const spryi_graph *to, *g;
    const int32_t *order, *position;
} move_job;

static void move_rows(void *job, int64_t begin, int64_t end)
{
    enum { ROWS_AHEAD = 8 };
    const spryi_graph *to = ((const move_job *)job)->to, *g = ((const move_job *)job)->g;
    const int32_t *order = ((const move_job *)job)->order, *position = ((const move_job *)job)->position;
    const int64_t n = g->nodes;
    for (int64_t p = begin; p < end; p++) {
        if (p + ROWS_AHEAD < n) PREFETCH(&g->adjacent[g->offsets[order[p + ROWS_AHEAD]]]);
        const int64_t first = g->offsets[order[p]], at = to->offsets[p], count = to->offsets[p + 1] - at;
        for (int64_t k = 0; k < count; k++) to->adjacent[at + k] = position[g->adjacent[first + k]];
        if (g->links && count > 0) memcpy(to->links + at, g->links + first, (size_t)count * sizeof *g->links);
    }
}

spry_status spryi_renumber(spry_context *context, spryi_graph *to, const spryi_graph *g, const int32_t *order,
                           spry_error *err)
{
    const int64_t n = g->nodes, entries = g->offsets[n];
    const int threads = spryi_threads(context, n + entries);
    spry_status status = SPRY_OK;
    int32_t *position = NULL;
    spryi_graph made = {.nodes = n};
    SPRYI_TRY(SPRYI_NEW(context, &position, n, "positions", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.offsets, n + 1, "offsets of the graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.adjacent, entries, "graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.degree, n, "degrees", err));
    if (g->links) SPRYI_TRY(SPRYI_NEW(context, &made.links, entries, "links of the graph", err));
    if (g->weight) SPRYI_TRY(SPRYI_NEW(context, &made.weight, n, "weights", err));
    made.offsets[0] = 0;
    for (int64_t p = 0; p < n; p++) {
        const int32_t v = order[p];
        position[v] = (int32_t)p;
        made.degree[p] = g->degree[v];
        made.offsets[p + 1] = made.offsets[p] + g->offsets[v + 1] - g->offsets[v];
        if (g->weight) made.weight[p] = g->weight[v];
    }
    spryi_loop(context, threads, n, 1024, move_rows, &(move_job){&made, g, order, position});
    *to = made;
    made = (spryi_graph){0};
done:
    spryi_release(context, position);
    spryi_graph_clear(context, &made);
    return status;
}

void spryi_local_clear(spry_context *context, spryi_local *local)
{
    spryi_graph_clear(context, &local->graph);
    spryi_release(context, local->original);
    spryi_release(context, local->starts);
    *local = (spryi_local){0};
}

/* Columns of a rectangular matrix weigh nothing: groups are counted in rows. */
static void weigh(spryi_local *l, int64_t rows)
{
    for (int64_t v = 0; v < l->graph.nodes; v++) l->graph.weight[v] = l->original[v] < rows;
}

spry_status spryi_localise(spry_context *context, spryi_local *local, const spryi_pattern *pattern, spry_error *err)
{
    const int64_t n = pattern->nodes;
    spry_status status = SPRY_OK;
    int32_t *label = NULL;
    spryi_level_work work = {0};
    spryi_local l = {.graph = {.nodes = n}};
    /* one more than there are: where nothing new is found, the walk writes behind the last */
    SPRYI_TRY(SPRYI_NEW(context, &l.graph.offsets, n + 1, "offsets of the graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.graph.adjacent, pattern->entries + 1, "graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.graph.degree, n, "degrees", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.original, n + 1, "numbers of the nodes", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.starts, n + 1, "components", err));
    SPRYI_TRY(SPRYI_NEW(context, &label, n, "labels", err));
    if (pattern->nodes != pattern->rows) SPRYI_TRY(SPRYI_NEW(context, &l.graph.weight, n, "weights", err));
    SPRYI_TRY(spryi_level_work_make(context, &work, n, spryi_threads(context, n + pattern->entries), err));
    memset(label, 0xff, (size_t)n * sizeof *label);
    l.graph.offsets[0] = 0;
    int32_t next = 0;
    const int pair = spryi_index_pair(pattern->offset_type, pattern->index_type);
    for (int32_t root = 0; root < n; root++) {
        if (label[root] >= 0) continue;
        l.starts[l.components++] = next;
        next = typed[pair].walk(pattern, &l, label, root, next, &work);
    }
    l.starts[l.components] = next;
    if (l.graph.weight) weigh(&l, pattern->rows);
    *local = l;
    l = (spryi_local){0};
done:
    spryi_release(context, label);
    spryi_level_work_clear(context, &work);
    spryi_local_clear(context, &l);
    return status;
}
