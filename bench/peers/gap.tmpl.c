/* The loop in type V, with or without weights. The including file defines V and NAME. */

/* Computes each node's contribution. Returns the sum of the ranks of nodes without links out. */
static double NAME(contribute)(const gap_state *s, const V *scores)
{
    const V *inverse = s->inverse;
    V *contributions = s->contributions;
    double lost = 0;
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(+ : lost)
    for (int64_t i = 0; i < s->n; i++) {
        contributions[i] = scores[i] * inverse[i];
        if (inverse[i] == 0) lost += (double)scores[i];
    }
    return lost;
}

static double NAME(pull_ones)(const gap_state *s, V *scores, V base)
{
    const V *contributions = s->contributions;
    const V alpha = (V)s->alpha;
    double error = 0;
#pragma omp parallel for schedule(dynamic, BLOCK) num_threads(s->threads) reduction(+ : error)
    for (int64_t i = 0; i < s->n; i++) {
        V sum = 0;
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) sum += contributions[s->nodes[k]];
        const V before = scores[i];
        scores[i] = base + alpha * sum;
        error += fabs((double)(scores[i] - before));
    }
    return error;
}

static double NAME(pull_weights)(const gap_state *s, V *scores, V base)
{
    const V *contributions = s->contributions, *weights = s->weights;
    const V alpha = (V)s->alpha;
    double error = 0;
#pragma omp parallel for schedule(dynamic, BLOCK) num_threads(s->threads) reduction(+ : error)
    for (int64_t i = 0; i < s->n; i++) {
        V sum = 0;
        for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) sum += weights[k] * contributions[s->nodes[k]];
        const V before = scores[i];
        scores[i] = base + alpha * sum;
        error += fabs((double)(scores[i] - before));
    }
    return error;
}

static void NAME(rank)(const gap_state *s, V *scores, spry_peer_solution *solution)
{
    const double n = (double)s->n;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < s->n; i++) scores[i] = (V)(1 / n);
    solution->residual = INFINITY;
    while (solution->iterations < s->limit && !(solution->residual <= s->tolerance)) {
        const double lost = NAME(contribute)(s, scores);
        const V base = (V)((1 - s->alpha + s->alpha * lost) / n);
        solution->residual = s->weights ? NAME(pull_weights)(s, scores, base) : NAME(pull_ones)(s, scores, base);
        solution->iterations++;
    }
}

#undef V
#undef NAME
