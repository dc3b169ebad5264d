/* The three looks at a level, for each pair of index types. base/instantiate_indices.h says what SPRY_P, SPRY_J are. */

static void SPRY_FN(claim)(const spryi_level *l, int32_t *claim, const SPRY_P *Ap, const SPRY_J *Aj, int32_t first,
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

/* A node that its row names twice counts once: from then on its claim is ~p. */
static int64_t SPRY_FN(count)(const spryi_level *l, int32_t *claim, const SPRY_P *Ap, const SPRY_J *Aj, int32_t first,
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

/* Returns the largest distance of a position to the last node found from it. */
static int64_t SPRY_FN(write)(const spryi_level *l, int32_t *claim, const SPRY_P *Ap, const SPRY_J *Aj, int32_t first,
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

int32_t SPRY_FN(spryi_spread)(spryi_level *level, const spryi_level_work *work, const void *offsets,
                              const void *indices)
{
    const spryi_level l = *level;
    const int runs = work->threads;
    spread_job j = {&l, offsets, indices, work->claim, work->found, runs, l.bandwidth};
    spryi_loop(work->context, runs, runs, 1, SPRY_FN(claim_runs), &j);
    spryi_loop(work->context, runs, runs, 1, SPRY_FN(count_runs), &j);
    j.found[0] = l.end;
    for (int r = 0; r < runs; r++) j.found[r + 1] += j.found[r];
    spryi_loop(work->context, runs, runs, 1, SPRY_FN(write_runs), &j);
    level->bandwidth = j.bandwidth;
    return (int32_t)j.found[runs];
}
