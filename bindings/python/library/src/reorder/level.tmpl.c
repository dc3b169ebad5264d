/* The three looks at a level, for each pair of index types. core/instantiate_indices.h says what SPRY_P, SPRY_J are. */

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

int32_t SPRY_FN(spryi_spread)(spryi_level *level, const spryi_level_work *work, const void *offsets,
                              const void *indices)
{
    const SPRY_P *Ap = offsets;
    const SPRY_J *Aj = indices;
    const spryi_level l = *level;
    int64_t bandwidth = l.bandwidth, *found = work->found;
    int used = 1;
#pragma omp parallel num_threads(work->threads) reduction(max : bandwidth)
    {
        const int thread = omp_get_thread_num(), team = omp_get_num_threads();
        const int32_t first = l.head + (int32_t)((int64_t)(l.end - l.head) * thread / team),
                      last = l.head + (int32_t)((int64_t)(l.end - l.head) * (thread + 1) / team);
        SPRY_FN(claim)(&l, work->claim, Ap, Aj, first, last);
#pragma omp barrier
        found[thread + 1] = SPRY_FN(count)(&l, work->claim, Ap, Aj, first, last);
#pragma omp barrier
#pragma omp single
        {
            found[0] = l.end;
            for (int t = 0; t < team; t++) found[t + 1] += found[t];
            used = team;
        }
        const int64_t far = SPRY_FN(write)(&l, work->claim, Ap, Aj, first, last, (int32_t)found[thread]);
        if (far > bandwidth) bandwidth = far;
    }
    level->bandwidth = bandwidth;
    return (int32_t)found[used];
}
