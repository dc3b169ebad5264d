/*
 * Functions that read a pattern's arrays, for each pair of index types: the hash for symmetry, the walk of a wide level
 * by all threads, and the walk that renumbers. base/instantiate_indices.h defines SPRY_P and SPRY_J.
 */

/*
 * Sums a hash of each entry's position. Positions (i, j) and (j, i) have the same hash, which is added above the
 * diagonal and subtracted below. The sum is 0 if the pattern is symmetric.
 */
static void SPRY_FN(fingerprint)(void *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = ((const mirror_job *)job)->offsets;
    const SPRY_J *Aj = ((const mirror_job *)job)->indices;
    uint64_t sum = 0;
    for (int64_t i = begin; i < end; i++) {
        uint64_t row = 0;
        for (int64_t k = (int64_t)Ap[i]; k < (int64_t)Ap[i + 1]; k++) {
            int64_t j = (int64_t)Aj[k];
            wide h = (wide)(((uint64_t)(j < i ? j : i) << 32 | (uint64_t)(j < i ? i : j)) ^ SALT) * FACTOR;
            uint64_t folded = (uint64_t)(h >> 64) ^ (uint64_t)h;
            row += j > i ? folded : j < i ? -folded : 0;
        }
        sum += row;
    }
    atomic_fetch_add(&((mirror_job *)job)->sum, sum);
}

static void SPRY_FN(claim)(const level *l, int32_t *claim, const SPRY_P *Ap, const SPRY_J *Aj, int32_t first,
                           int32_t last)
{
    for (int32_t p = first; p < last; p++) {
        const int32_t u = l->order[p];
        for (int64_t k = (int64_t)Ap[u]; k < (int64_t)Ap[u + 1]; k++) {
            const SPRY_J v = Aj[k];
            if (l->mark ? l->mark[v] < l->number : l->label[v] < 0) claim_least(&claim[v], p);
        }
    }
}

/*
 * Counts the nodes whose claim is one of the positions first .. last - 1. If a node is counted at
 * position p, its claim becomes ~p, so that duplicates in a row count once.
 */
static int64_t SPRY_FN(count)(const level *l, int32_t *claim, const SPRY_P *Ap, const SPRY_J *Aj, int32_t first,
                              int32_t last)
{
    int64_t count = 0;
    for (int32_t p = first; p < last; p++) {
        const int32_t u = l->order[p];
        for (int64_t k = (int64_t)Ap[u]; k < (int64_t)Ap[u + 1]; k++) {
            const SPRY_J v = Aj[k];
            if (claimed_by(&claim[v]) != p) continue;
            set_claim(&claim[v], ~p);
            count++;
        }
    }
    return count;
}

/*
 * Writes the new nodes of positions first .. last - 1 to l->order, from position `at` on. Returns the largest distance
 * of a position to its last new node.
 */
static int64_t SPRY_FN(write)(const level *l, int32_t *claim, const SPRY_P *Ap, const SPRY_J *Aj, int32_t first,
                              int32_t last, int32_t at)
{
    int64_t bandwidth = 0;
    for (int32_t p = first; p < last; p++) {
        const int32_t u = l->order[p], begin = at;
        for (int64_t k = (int64_t)Ap[u]; k < (int64_t)Ap[u + 1]; k++) {
            const SPRY_J v = Aj[k];
            if (claimed_by(&claim[v]) != ~p) continue;
            set_claim(&claim[v], INT32_MAX);
            if (l->mark) l->mark[v] = (uint8_t)l->number;
            l->order[at++] = (int32_t)v;
        }
        if (at == begin) continue;
        if (l->degree && at - begin > 1) spryi_sort_by_degree(l->order + begin, at - begin, l->degree, l->keys + begin);
        if (l->label)
            for (int32_t c = begin; c < at; c++) l->label[l->order[c]] = c;
        if (at - 1 - p > bandwidth) bandwidth = at - 1 - p;
    }
    return bandwidth;
}

static void SPRY_FN(claim_runs)(void *job, int64_t begin, int64_t end)
{
    const spread_job *j = job;
    SPRY_FN(claim)(j->l, j->claim, j->offsets, j->indices, run_at(j, begin), run_at(j, end));
}

static void SPRY_FN(count_runs)(void *job, int64_t begin, int64_t end)
{
    const spread_job *j = job;
    for (int64_t r = begin; r < end; r++)
        j->found[r + 1] = SPRY_FN(count)(j->l, j->claim, j->offsets, j->indices, run_at(j, r), run_at(j, r + 1));
}

static void SPRY_FN(write_runs)(void *job, int64_t begin, int64_t end)
{
    spread_job *j = job;
    spryi_raise(&j->bandwidth, SPRY_FN(write)(j->l, j->claim, j->offsets, j->indices, run_at(j, begin), run_at(j, end),
                                              (int32_t)j->found[begin]));
}

/* Walks a level with all threads. Returns the position after the last new node. */
static int32_t SPRY_FN(spread)(level *to, const level_work *work, const void *offsets, const void *indices)
{
    const level l = *to;
    const int runs = work->threads;
    spread_job j = {&l, offsets, indices, work->claim, work->found, runs, l.bandwidth};
    spryi_loop(work->context, runs, runs, 1, SPRY_FN(claim_runs), &j);
    spryi_loop(work->context, runs, runs, 1, SPRY_FN(count_runs), &j);
    j.found[0] = l.end;
    for (int r = 0; r < runs; r++) j.found[r + 1] += j.found[r];
    spryi_loop(work->context, runs, runs, 1, SPRY_FN(write_runs), &j);
    to->bandwidth = j.bandwidth;
    return (int32_t)j.found[runs];
}

static void SPRY_FN(count_neighbours)(void *job, int64_t begin, int64_t end)
{
    const level_rows *r = job;
    const SPRY_P *Ap = r->p->offsets;
    const SPRY_J *Aj = r->p->indices;
    const int32_t *queue = r->l->original, *label = r->label;
    for (int32_t q = r->head + (int32_t)begin; q < r->head + end; q++) {
        int32_t neighbours = 0;
        for (int64_t k = (int64_t)Ap[queue[q]]; k < (int64_t)Ap[queue[q] + 1]; k++) neighbours += label[Aj[k]] != q;
        r->l->graph.degree[q] = neighbours;
    }
}

static void SPRY_FN(copy_neighbours)(void *job, int64_t begin, int64_t end)
{
    const level_rows *r = job;
    const SPRY_P *Ap = r->p->offsets;
    const SPRY_J *Aj = r->p->indices;
    const int32_t *queue = r->l->original, *label = r->label;
    int32_t *adjacent = r->l->graph.adjacent;
    for (int32_t q = r->head + (int32_t)begin; q < r->head + end; q++) {
        int64_t at = r->l->graph.offsets[q];
        for (int64_t k = (int64_t)Ap[queue[q]]; k < (int64_t)Ap[queue[q] + 1]; k++) {
            const int32_t neighbour = label[Aj[k]];
            if (neighbour != q) adjacent[at++] = neighbour;
        }
    }
}

/* Writes the rows of a level's nodes with all threads. All their neighbours have labels. */
static void SPRY_FN(write_rows)(const pattern *p, spryi_local *l, const int32_t *label, int32_t head, int32_t end,
                                const level_work *work)
{
    level_rows r = {p, l, label, head};
    int64_t *offsets = l->graph.offsets;
    spryi_loop(work->context, work->threads, end - head, 0, SPRY_FN(count_neighbours), &r);
    for (int32_t q = head; q < end; q++) offsets[q + 1] = offsets[q] + l->graph.degree[q];
    spryi_loop(work->context, work->threads, end - head, 0, SPRY_FN(copy_neighbours), &r);
}

/*
 * Walks breadth first from root, whose label is `next`. Nodes get labels in the order in which they are found. A row is
 * written after its nodes are labelled. Returns the next label. The inner loop has no branches that depend on data;
 * rows of later nodes in the queue are prefetched.
 */
static int32_t SPRY_FN(walk)(const pattern *p, spryi_local *l, int32_t *label, int32_t root, int32_t next,
                             const level_work *work)
{
    enum { OFFSETS_AHEAD = 24, ROWS_AHEAD = 12, LABELS_AHEAD = 4 };
    const SPRY_P *Ap = p->offsets;
    const SPRY_J *Aj = p->indices;
    int32_t *queue = l->original, *adjacent = l->graph.adjacent;
    int64_t *offsets = l->graph.offsets, at = offsets[next];
    int32_t head = next, tail = next, level_end;
    queue[tail] = root;
    label[root] = tail++;
    level_end = tail;
    for (; head < tail; head++) {
        if (head == level_end) {
            level_end = tail;
            if (work->claim && tail - head >= LEVEL_NODES) {
                level wide = {.order = queue, .head = head, .end = level_end, .label = label};
                tail = SPRY_FN(spread)(&wide, work, Ap, Aj);
                SPRY_FN(write_rows)(p, l, label, head, level_end, work);
                at = offsets[level_end];
                head = level_end - 1;
                continue;
            }
        }
        if (tail - head > OFFSETS_AHEAD) {
            PREFETCH(&Ap[queue[head + OFFSETS_AHEAD]]);
            const SPRY_J *row = &Aj[Ap[queue[head + ROWS_AHEAD]]];
            PREFETCH(row);
            PREFETCH((const char *)row + 64);
            int32_t soon = queue[head + LABELS_AHEAD];
            int64_t first = (int64_t)Ap[soon], last = (int64_t)Ap[soon + 1];
            if (last - first > 32) last = first + 32;
            for (int64_t k = first; k < last; k++) PREFETCH(&label[Aj[k]]);
        }
        int32_t u = queue[head];
        const int64_t last = (int64_t)Ap[u + 1], first = at;
        for (int64_t k = (int64_t)Ap[u]; k < last; k++) {
            const int32_t v = (int32_t)Aj[k], before = label[v], fresh = (int32_t)((uint32_t)before >> 31);
            const int32_t neighbour = before ^ ((before ^ tail) & -fresh);
            queue[tail] = v;
            label[v] = neighbour;
            tail += fresh;
            adjacent[at] = neighbour;
            at += neighbour != head;
        }
        offsets[head + 1] = at;
        l->graph.degree[head] = (int32_t)(at - first);
    }
    return tail;
}
