/*
 * The functions that read a pattern's own arrays, for each pair of index types. base/instantiate_indices.h says what
 * SPRY_P and SPRY_J are.
 */

/* A hash that two positions share exactly when they mirror each other, counted up above the diagonal, down below. */
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

static void SPRY_FN(count_others)(void *job, int64_t begin, int64_t end)
{
    const level_rows *r = job;
    const SPRY_P *Ap = r->p->offsets;
    const SPRY_J *Aj = r->p->indices;
    const int32_t *queue = r->l->original, *label = r->label;
    for (int32_t q = r->head + (int32_t)begin; q < r->head + end; q++) {
        int32_t others = 0;
        for (int64_t k = (int64_t)Ap[queue[q]]; k < (int64_t)Ap[queue[q] + 1]; k++) others += label[Aj[k]] != q;
        r->l->graph.degree[q] = others;
    }
}

static void SPRY_FN(copy_others)(void *job, int64_t begin, int64_t end)
{
    const level_rows *r = job;
    const SPRY_P *Ap = r->p->offsets;
    const SPRY_J *Aj = r->p->indices;
    const int32_t *queue = r->l->original, *label = r->label;
    int32_t *adjacent = r->l->graph.adjacent;
    for (int32_t q = r->head + (int32_t)begin; q < r->head + end; q++) {
        int64_t at = r->l->graph.offsets[q];
        for (int64_t k = (int64_t)Ap[queue[q]]; k < (int64_t)Ap[queue[q] + 1]; k++) {
            const int32_t known = label[Aj[k]];
            if (known != q) adjacent[at++] = known;
        }
    }
}

/* The rows of a level's nodes, all of whose neighbours have labels by now, by all threads. */
static void SPRY_FN(write_rows)(const spryi_pattern *p, spryi_local *l, const int32_t *label, int32_t head, int32_t end,
                                const spryi_level_work *work)
{
    level_rows r = {p, l, label, head};
    int64_t *offsets = l->graph.offsets;
    spryi_loop(work->context, work->threads, end - head, 0, SPRY_FN(count_others), &r);
    for (int32_t q = head; q < end; q++) offsets[q + 1] = offsets[q] + l->graph.degree[q];
    spryi_loop(work->context, work->threads, end - head, 0, SPRY_FN(copy_others), &r);
}

/*
 * Breadth first from root, whose label is `next`: nodes get labels in the order in which they are found, and a row is
 * written with its new labels as soon as it has been looked through, since all it names are labelled by then.
 * Returns the next label. No branch depends on what is found; rows ahead in the queue are fetched before their turn.
 */
static int32_t SPRY_FN(walk)(const spryi_pattern *p, spryi_local *l, int32_t *label, int32_t root, int32_t next,
                             const spryi_level_work *work)
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
            if (work->claim && tail - head >= SPRYI_LEVEL_NODES) {
                spryi_level level = {.order = queue, .head = head, .end = level_end, .label = label};
                tail = SPRY_FN(spryi_spread)(&level, work, Ap, Aj);
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
            const int32_t known = before ^ ((before ^ tail) & -fresh);
            queue[tail] = v;
            label[v] = known;
            tail += fresh;
            adjacent[at] = known;
            at += known != head;
        }
        offsets[head + 1] = at;
        l->graph.degree[head] = (int32_t)(at - first);
    }
    return tail;
}
