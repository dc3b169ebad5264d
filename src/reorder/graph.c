/*
 * Graphs of matrices and breadth-first walks over them, for renumbering and for Cuthill-McKee.
 *
 * Cuthill-McKee walks breadth first from a node at the edge of the graph and visits the neighbours of each node by
 * increasing degree. The reverse order has the same bandwidth and a smaller profile (RCM).
 *
 *     level 0    1      2          3
 *       o  -> o o  ->  o o o  -> o o o o
 *
 * An edge joins nodes of one level or of two consecutive levels, so the bandwidth is at most the size of two levels. If
 * there are more levels, the levels are narrower.
 *
 * The start node is found by the method of George and Liu. Each walk starts at a node of least degree in the last level
 * of the walk before, until the number of levels stops growing. Each walk is a Cuthill-McKee ordering and computes its
 * bandwidth (the largest distance, in positions, of a node to its last new neighbour). The result is one of the last
 * two walks: the walk with more levels, or else the walk with the smaller bandwidth.
 *
 * All threads process wide levels and find the same order as one thread. The positions of a level are divided into one
 * range ("run") per thread. Each new node belongs to the least position whose node is its neighbour, because one thread
 * would find the new node from that position. claim[v] is this position for node v. Each thread counts the nodes that
 * its positions claim. A prefix sum over threads gives the places of these nodes. The threads then write the new nodes
 * of one position after another, sorted by degree if requested.
 *
 *     order   ... | a b c d e f | . . . .        claim[v] = min of the positions next to v: x -> a, y -> b, z -> b
 *                  thread 0|  1   ^ x y z          so x comes first, then y and z in the order of b's row
 *
 * Cost: one walk for renumbering, two to four for Cuthill-McKee, each O(edges). A wide level reads its edges three
 * times. Sources: E. Cuthill, J. McKee, Reducing the Bandwidth of Sparse Symmetric Matrices, 1969; A. George, J. W. H.
 * Liu, An Implementation of a Pseudoperipheral Node Finder, ACM TOMS 5 (1979). Claims by least position: K. I.
 * Karantasis, A. Lenharth, D. Nguyen, M. J. Garzaran, K. Pingali, Parallelization of Reordering Algorithms for
 * Bandwidth and Wavefront Reduction, SC 2014 (leveled RCM).
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "reorder/order.h"

#include <string.h>

#define PREFETCH(address) __builtin_prefetch(address)

/* ---- sorting by degree ------------------------------------------------------------------------------ */

static void sift(uint64_t *keys, int64_t at, int64_t count)
{
    const uint64_t key = keys[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && keys[child + 1] > keys[child]) child++;
        if (keys[child] <= key) break;
        keys[at] = keys[child];
    }
    keys[at] = key;
}

void spryi_sort_keys(uint64_t *keys, int64_t count)
{
    for (int64_t at = count / 2; at-- > 0;) sift(keys, at, count);
    for (int64_t end = count; end-- > 1;) {
        uint64_t largest = keys[0];
        keys[0] = keys[end];
        sift(keys, 0, end);
        keys[end] = largest;
    }
}

void spryi_sort_by_degree(int32_t *nodes, int64_t count, const int32_t *degree, uint64_t *keys)
{
    if (count > SPRYI_FEW) {
        for (int64_t c = 0; c < count; c++) keys[c] = (uint64_t)degree[nodes[c]] << 32 | (uint32_t)nodes[c];
        spryi_sort_keys(keys, count);
        for (int64_t c = 0; c < count; c++) nodes[c] = (int32_t)(keys[c] & UINT32_MAX);
        return;
    }
    for (int64_t c = 1; c < count; c++) {
        const int32_t node = nodes[c], key = degree[node];
        int64_t at = c;
        for (; at > 0 && degree[nodes[at - 1]] > key; at--) nodes[at] = nodes[at - 1];
        nodes[at] = node;
    }
}

/* ---- wide levels ------------------------------------------------------------------------------------ */

/*
 * Least number of nodes of a wide level. With few threads or nodes, three passes with three barriers take longer than
 * one pass of one thread (measured with 4 threads).
 */
enum { LEVEL_NODES = 4096 };

/* Memory of a walk for wide levels. claim is NULL if one thread processes all levels. */
typedef struct level_work {
    const spry_context *context;
    int threads;
    int32_t *claim; /* for each node: least position whose node is a neighbour; INT32_MAX between levels */
    int64_t *found; /* threads + 1 elements: number of new nodes of each thread, later the places of these nodes */
} level_work;

typedef struct level {
    int32_t *order; /* position -> node; the level is head .. end-1, and new nodes follow */
    int32_t head, end;
    uint8_t *mark; /* a node is new if its mark is below `number` */
    int number;
    int32_t *label;        /* if mark is NULL: a node is new if its label is negative; its position becomes its label */
    const int32_t *degree; /* sorts the new nodes of a row by degree; NULL: the row's order remains */
    uint64_t *keys;        /* memory for sorting: one element per position */
    int64_t bandwidth;     /* largest distance so far of a node to the last new node of its row */
} level;

static void clear_level_work(spry_context *context, level_work *work)
{
    spryi_release(context, work->claim);
    spryi_release(context, work->found);
    *work = (level_work){0};
}

static spry_status make_level_work(spry_context *context, level_work *work, int64_t nodes, int threads, spry_error *err)
{
    spry_status status = SPRY_OK;
    level_work built = {.context = context, .threads = threads};
    if (threads >= SPRYI_LEVEL_THREADS && nodes >= LEVEL_NODES) {
        SPRYI_TRY(SPRYI_NEW(context, &built.claim, nodes, "claims", err));
        SPRYI_TRY(SPRYI_NEW(context, &built.found, threads + 1, "counts", err));
        for (int64_t v = 0; v < nodes; v++) built.claim[v] = INT32_MAX;
    }
    *work = built;
    built = (level_work){0};
done:
    clear_level_work(context, &built);
    return status;
}

static inline void claim_least(int32_t *claim, int32_t position)
{
    int32_t now = __atomic_load_n(claim, __ATOMIC_RELAXED);
    while (position < now &&
           !__atomic_compare_exchange_n(claim, &now, position, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static inline int32_t claimed_by(const int32_t *claim)
{
    return __atomic_load_n(claim, __ATOMIC_RELAXED);
}

static inline void set_claim(int32_t *claim, int32_t to)
{
    __atomic_store_n(claim, to, __ATOMIC_RELAXED);
}

typedef struct spread_job {
    const level *l;
    const void *offsets, *indices;
    int32_t *claim;
    int64_t *found, runs;
    atomic_llong bandwidth;
} spread_job;

/* Returns the position in the order at which run `run` begins. A run is the part of the level for one thread. */
static int32_t run_at(const spread_job *j, int64_t run)
{
    return j->l->head + (int32_t)((int64_t)(j->l->end - j->l->head) * run / j->runs);
}

/* ---- walks over a pattern's own arrays -------------------------------------------------------------- */

/* Adjacency of a pattern: A's own arrays if the pattern is symmetric, else arrays built for it. */
typedef struct pattern {
    int64_t nodes, rows; /* nodes from `rows` on are columns of a rectangular matrix */
    int64_t entries;
    spry_index_type offset_type, index_type;
    const void *offsets, *indices; /* may have the diagonal and duplicates */
    spryi_compressed built;        /* arrays built for the pattern */
} pattern;

/* The hash is a 128-bit product whose halves are combined, as in wyhash. */
#define SALT UINT64_C(0x8BB84B93962EACC9)
#define FACTOR UINT64_C(0x9E3779B97F4A7C15)
__extension__ typedef unsigned __int128 wide;

typedef struct mirror_job {
    const void *offsets, *indices;
    atomic_ullong sum;
} mirror_job;

/* Arguments of write_rows: it writes the graph's rows of a level's nodes, which begin at position `head`. */
typedef struct level_rows {
    const pattern *p;
    spryi_local *l;
    const int32_t *label;
    int32_t head;
} level_rows;

#define SPRYI_TEMPLATE "reorder/walk.tmpl.c"
#include "base/instantiate_indices.h"

static const struct {
    void (*fingerprint)(void *job, int64_t begin, int64_t end);
    int32_t (*walk)(const pattern *p, spryi_local *l, int32_t *label, int32_t root, int32_t next,
                    const level_work *work);
} typed[SPRYI_INDEX_PAIRS] = {{fingerprint_32_32, walk_32_32},
                              {fingerprint_64_32, walk_64_32},
                              {fingerprint_64_64, walk_64_64}};

/* ---- the pattern of a matrix ------------------------------------------------------------------------ */

/* Unites sorted lists a and b, without duplicates. Only counts if out is NULL. */
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

/* Unites rows i of A and A^T. */
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

/* Builds the graph of rows and columns. Columns are numbered after the rows. */
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

static spry_status make_graph(spry_context *context, pattern *p, const spry_arrays *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed rows = {0}, columns = {0};
    SPRYI_TRY(spryi_compress(context, &rows, a, SPRY_CSR, SPRY_I32, err));
    SPRYI_TRY(spryi_compress(context, &columns, a, SPRY_CSC, SPRY_I32, err));
    SPRYI_TRY(a->rows == a->columns ? add_transpose(context, &p->built, &rows, &columns, err)
                                    : join_columns(context, &p->built, &rows, &columns, err));
    p->offset_type = SPRY_I64;
    p->index_type = SPRY_I32;
    p->offsets = p->built.offsets;
    p->indices = p->built.indices;
    p->entries = p->built.nnz;
done:
    spryi_compressed_clear(context, &rows);
    spryi_compressed_clear(context, &columns);
    return status;
}

/* Accepts CSR and CSC: the arrays of A as CSC are those of A^T as CSR, and A^T has the same graph. */
bool spryi_pattern_is_symmetric(const spry_context *context, const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    if (a->rows != a->columns || a->layout == SPRY_COO) return false;
    if (a->symmetry != SPRY_GENERAL && A->symmetry_holds) return true;
    mirror_job j = {.offsets = a->offsets, .indices = a->indices};
    spryi_loop(context, spryi_threads(context, a->rows + a->nnz), a->rows, 1024,
               typed[spryi_index_pair(a->offset_type, a->index_type)].fingerprint, &j);
    return j.sum == 0;
}

static spry_status make_pattern(spry_context *context, pattern *p, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    const int64_t nodes = a.rows == a.columns ? a.rows : a.rows + a.columns, most = INT32_MAX - 1;
    if (nodes > most)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "A", nodes, most,
                                "reorder: the graph has %lld nodes, and orderings take up to %lld", (long long)nodes,
                                (long long)most);
    *p = (pattern){.nodes = nodes,
                   .rows = a.rows,
                   .entries = a.nnz,
                   .offset_type = a.offset_type,
                   .index_type = a.index_type,
                   .offsets = a.offsets,
                   .indices = a.indices};
    a.value_type = SPRY_PATTERN;
    a.values = NULL;
    return spryi_pattern_is_symmetric(context, A) ? SPRY_OK : make_graph(context, p, &a, err);
}

/* ---- graphs ----------------------------------------------------------------------------------------- */

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
    spryi_graph built = {.nodes = n};
    SPRYI_TRY(SPRYI_NEW(context, &position, n, "positions", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.offsets, n + 1, "offsets of the graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.adjacent, entries, "graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.degree, n, "degrees", err));
    if (g->links) SPRYI_TRY(SPRYI_NEW(context, &built.links, entries, "links of the graph", err));
    if (g->weight) SPRYI_TRY(SPRYI_NEW(context, &built.weight, n, "weights", err));
    built.offsets[0] = 0;
    for (int64_t p = 0; p < n; p++) {
        const int32_t v = order[p];
        position[v] = (int32_t)p;
        built.degree[p] = g->degree[v];
        built.offsets[p + 1] = built.offsets[p] + g->offsets[v + 1] - g->offsets[v];
        if (g->weight) built.weight[p] = g->weight[v];
    }
    spryi_loop(context, threads, n, 1024, move_rows, &(move_job){&built, g, order, position});
    *to = built;
    built = (spryi_graph){0};
done:
    spryi_release(context, position);
    spryi_graph_clear(context, &built);
    return status;
}

void spryi_local_clear(spry_context *context, spryi_local *local)
{
    spryi_graph_clear(context, &local->graph);
    spryi_release(context, local->original);
    spryi_release(context, local->starts);
    *local = (spryi_local){0};
}

spry_status spryi_localise(spry_context *context, spryi_local *local, const spry_matrix *A, spry_error *err)
{
    spry_status status = SPRY_OK;
    int32_t *label = NULL, next = 0;
    level_work work = {0};
    pattern p = {0};
    spryi_local l = {0};
    SPRYI_TRY(make_pattern(context, &p, A, err));
    const int64_t n = l.graph.nodes = p.nodes;
    /* one more element: if a row has no new node, the walk writes after the last node */
    SPRYI_TRY(SPRYI_NEW(context, &l.graph.offsets, n + 1, "offsets of the graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.graph.adjacent, p.entries + 1, "graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.graph.degree, n, "degrees", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.original, n + 1, "numbers of the nodes", err));
    SPRYI_TRY(SPRYI_NEW(context, &l.starts, n + 1, "components", err));
    SPRYI_TRY(SPRYI_NEW(context, &label, n, "labels", err));
    if (p.nodes != p.rows) SPRYI_TRY(SPRYI_NEW(context, &l.graph.weight, n, "weights", err));
    SPRYI_TRY(make_level_work(context, &work, n, spryi_threads(context, n + p.entries), err));
    memset(label, 0xff, (size_t)n * sizeof *label);
    l.graph.offsets[0] = 0;
    const int pair = spryi_index_pair(p.offset_type, p.index_type);
    for (int32_t root = 0; root < n; root++) {
        if (label[root] >= 0) continue;
        l.starts[l.components++] = next;
        next = typed[pair].walk(&p, &l, label, root, next, &work);
    }
    l.starts[l.components] = next;
    for (int64_t v = 0; v < n && l.graph.weight; v++) /* columns have weight 0, since groups are counted in rows */
        l.graph.weight[v] = l.original[v] < p.rows;
    *local = l;
    l = (spryi_local){0};
done:
    spryi_release(context, label);
    clear_level_work(context, &work);
    spryi_compressed_clear(context, &p.built);
    spryi_local_clear(context, &l);
    return status;
}

/* ---- one walk of Cuthill-McKee ---------------------------------------------------------------------- */

enum { MOST_WALKS = 8, DONE = 255 }; /* maximal walks per component; mark of nodes that have their final position */

/* Kinds of graphs. LARGE_FROM: least number of nodes of a graph that exceeds the caches. */
enum { SMALL, LARGE, WEIGHTED, LARGE_FROM = 1 << 17 };

typedef struct walk {
    int32_t *order;       /* nodes of the component in the order of the walk */
    int32_t *levels;      /* positions at which levels begin */
    int32_t nodes, depth; /* depth: number of levels */
    int64_t bandwidth;    /* in rows */
} walk;

typedef struct walker {
    const spryi_graph *g;
    uint8_t *mark;  /* one per node: number of the last walk that visited the node */
    uint64_t *keys; /* one element per entry of the longest row, or one per node if work.claim exists */
    level_work work;
} walker;

/* Prefetches rows and marks of the next nodes in a queue. */
static inline void fetch_ahead(const spryi_graph *g, const uint8_t *mark, const int32_t *queue, int32_t queued)
{
    enum { OFFSETS_AHEAD = 24, ROWS_AHEAD = 12, MARKS_AHEAD = 4, MOST_MARKS = 32 };
    if (queued <= OFFSETS_AHEAD) return;
    PREFETCH(&g->offsets[queue[OFFSETS_AHEAD]]);
    PREFETCH(&g->adjacent[g->offsets[queue[ROWS_AHEAD]]]);
    const int64_t first = g->offsets[queue[MARKS_AHEAD]], last = g->offsets[queue[MARKS_AHEAD] + 1];
    const int64_t end = last - first < MOST_MARKS ? last : first + MOST_MARKS;
    for (int64_t k = first; k < end; k++) PREFETCH(&mark[g->adjacent[k]]);
}

/*
 * Walks the level at head .. end-1 with all threads. Returns the position after the last new node. The graph has no
 * weights.
 */
static int32_t spread_level(walk *to, const walker *w, int32_t head, int32_t end, int number, int64_t *bandwidth)
{
    level l = {.order = to->order,
               .head = head,
               .end = end,
               .mark = w->mark,
               .number = number,
               .degree = w->g->degree,
               .keys = w->keys,
               .bandwidth = *bandwidth};
    const int32_t tail = spread_64_32(&l, &w->work, w->g->offsets, w->g->adjacent);
    *bandwidth = l.bandwidth;
    return tail;
}

/* Walks from root. `kind` is a constant after inlining. A node is new if its mark is below the walk's number. */
SPRYI_INLINE void walk_from(walk *to, walker *w, int32_t root, int number, int kind)
{
    const bool weighted = kind == WEIGHTED, large = kind == LARGE;
    const spryi_graph *g = w->g;
    const int32_t *adjacent = g->adjacent;
    const int64_t *offsets = g->offsets;
    uint8_t *mark = w->mark;
    int32_t *order = to->order, head = 0, tail = 1, level_end = 1;
    int64_t bandwidth = 0, head_row = 0, tail_row = weighted ? g->weight[root] : 1;
    order[0] = root;
    mark[root] = (uint8_t)number;
    to->levels[0] = 0;
    to->depth = 1;
    for (; head < tail; head++) {
        if (head == level_end) {
            to->levels[to->depth++] = head;
            level_end = tail;
            if (large && w->work.claim && tail - head >= LEVEL_NODES) {
                tail = spread_level(to, w, head, level_end, number, &bandwidth);
                head = level_end - 1;
                head_row = level_end;
                tail_row = tail;
                continue;
            }
        }
        if (large) fetch_ahead(g, mark, order + head, tail - head);
        const int32_t u = order[head], first = tail;
        const int64_t last = offsets[u + 1];
        for (int64_t k = offsets[u]; k < last; k++) {
            const int32_t v = adjacent[k], before = mark[v], fresh = (int32_t)((uint32_t)(before - number) >> 31);
            order[tail] = v;
            mark[v] = (uint8_t)(before ^ ((before ^ number) & -fresh)); /* without a branch, which would be
                                                                         * mispredicted */
            tail += fresh;
        }
        if (tail - first > 1) spryi_sort_by_degree(order + first, tail - first, g->degree, w->keys);
        if (weighted)
            for (int32_t c = first; c < tail; c++) tail_row += g->weight[order[c]];
        else
            tail_row = tail;
        if (tail > first && tail_row - 1 - head_row > bandwidth) bandwidth = tail_row - 1 - head_row;
        head_row += weighted ? g->weight[u] : 1;
    }
    to->nodes = tail;
    to->bandwidth = bandwidth;
}

static void walk_through(walk *to, walker *w, int32_t root, int number)
{
    if (w->g->weight)
        walk_from(to, w, root, number, WEIGHTED);
    else if (w->g->nodes >= LARGE_FROM)
        walk_from(to, w, root, number, LARGE);
    else
        walk_from(to, w, root, number, SMALL);
}

static int32_t far_end(const walk *from, const int32_t *degree)
{
    int32_t best = from->order[from->levels[from->depth - 1]];
    for (int32_t p = from->levels[from->depth - 1] + 1; p < from->nodes; p++) {
        int32_t v = from->order[p];
        if (degree[v] < degree[best] || (degree[v] == degree[best] && v < best)) best = v;
    }
    return best;
}

/*
 * Orders a component and stores the order in *kept. *tried has arrays of the same sizes. Drops a walk that finds fewer
 * nodes than the first walk, which happens only in a directed graph (spryi_pattern_is_symmetric).
 */
static void order_component(walk *kept, walk *tried, walker *w, int32_t root)
{
    walk_through(kept, w, root, 1);
    for (int number = 2; number <= MOST_WALKS && kept->depth > 1; number++) {
        walk_through(tried, w, far_end(kept, w->g->degree), number);
        const bool deeper = tried->depth > kept->depth;
        if (tried->nodes != kept->nodes || (!deeper && tried->bandwidth >= kept->bandwidth)) return;
        walk swapped = *kept;
        *kept = *tried;
        *tried = swapped;
        if (!deeper) return;
    }
}

/* ---- all components --------------------------------------------------------------------------------- */

void spryi_levels_clear(spry_context *context, spryi_levels *levels)
{
    spryi_release(context, levels->order);
    spryi_release(context, levels->levels);
    spryi_release(context, levels->components);
    *levels = (spryi_levels){0};
}

/* Appends a component's order at position `at`. */
static void append_component(spryi_levels *to, const walk *from, int32_t at, uint8_t *mark)
{
    to->components[to->component_count++] = (int32_t)to->level_count;
    for (int32_t l = 0; l < from->depth; l++) to->levels[to->level_count++] = at + from->levels[l];
    for (int32_t p = 0; p < from->nodes; p++) {
        to->order[at + p] = from->order[p];
        mark[from->order[p]] = DONE;
    }
}

/* Stores a range of nodes in *to as one level, in the order of their numbers. */
static void order_as_range(walk *to, int32_t first, int32_t end)
{
    for (int32_t v = first; v < end; v++) to->order[v - first] = v;
    to->levels[0] = 0;
    to->depth = 1;
    to->nodes = end - first;
}

spry_status spryi_cuthill_mckee(spry_context *context, spryi_levels *levels, const spryi_graph *g,
                                const int32_t *starts, spry_error *err)
{
    const int64_t n = g->nodes;
    spry_status status = SPRY_OK;
    walk first_walk = {0}, second_walk = {0};
    walker w = {.g = g};
    spryi_levels built = {0};
    int64_t largest = 0;
    for (int64_t v = 0; v < n; v++)
        if (g->offsets[v + 1] - g->offsets[v] > largest) largest = g->offsets[v + 1] - g->offsets[v];
    SPRYI_TRY(SPRYI_NEW(context, &built.order, n + 1, "ordering", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.levels, n + 1, "levels", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.components, n + 1, "components", err));
    SPRYI_TRY(SPRYI_NEW(context, &first_walk.order, n + 1, "ordering", err));
    SPRYI_TRY(SPRYI_NEW(context, &first_walk.levels, n + 1, "levels", err));
    SPRYI_TRY(SPRYI_NEW(context, &second_walk.order, n + 1, "ordering", err));
    SPRYI_TRY(SPRYI_NEW(context, &second_walk.levels, n + 1, "levels", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.mark, n, "marks", err));
    if (n >= LARGE_FROM && !g->weight)
        SPRYI_TRY(make_level_work(context, &w.work, n, spryi_threads(context, n + g->offsets[n]), err));
    SPRYI_TRY(SPRYI_NEW(context, &w.keys, w.work.claim ? n : largest, "keys", err));
    memset(w.mark, 0, (size_t)n);
    int32_t at = 0, component = 0;
    for (int32_t v = 0; v < n; v++) {
        if (w.mark[v] == DONE) continue;
        const int32_t end = starts ? starts[component + 1] : v + 1;
        order_component(&first_walk, &second_walk, &w, end - 1);
        if (starts && first_walk.nodes != end - v) order_as_range(&first_walk, v, end);
        append_component(&built, &first_walk, at, w.mark);
        at += first_walk.nodes;
        component++;
    }
    built.levels[built.level_count] = at;
    built.components[built.component_count] = (int32_t)built.level_count;
    *levels = built;
    built = (spryi_levels){0};
done:
    spryi_levels_clear(context, &built);
    spryi_release(context, first_walk.order);
    spryi_release(context, first_walk.levels);
    spryi_release(context, second_walk.order);
    spryi_release(context, second_walk.levels);
    spryi_release(context, w.mark);
    spryi_release(context, w.keys);
    clear_level_work(context, &w.work);
    return status;
}
