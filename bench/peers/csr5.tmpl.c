/* The product for one type. V: type of values. LANES: values per register. NAME(verb): name of a function. */

typedef V NAME(vector) __attribute__((vector_size(REGISTER)));

/* State of a thread that multiplies its tiles. A row that continues in the next tile is open. */
typedef struct NAME(walk) {
    const csr5 *s;
    const V *x;
    V *y, alpha, beta, sum;
    int64_t row; /* the open row; -1: none yet */
    int begun;   /* 1: the open row begins in this thread's tiles */
    carry *left; /* receives the first row's sum if the row begins in another thread's tiles */
} NAME(walk);

static void NAME(finish_row)(NAME(walk) * w)
{
    if (w->row < 0) return;
    if (!w->begun)
        *w->left = (carry){w->row, (double)w->sum};
    else
        w->y[w->row] = w->beta == 0 ? w->alpha * w->sum : w->alpha * w->sum + w->beta * w->y[w->row];
}

static void NAME(begin_row)(NAME(walk) * w, int64_t row, V sum)
{
    NAME(finish_row)(w);
    w->row = row;
    w->begun = 1;
    w->sum = sum;
}

static void NAME(multiply_tile)(NAME(walk) * w, int64_t t)
{
    const csr5 *s = w->s;
    const tile *d = &s->descriptors[t];
    const V *values = (const V *)s->values + t * (LANES * SIGMA);
    const int32_t *columns = s->columns + t * (LANES * SIGMA), *list = d->list >= 0 ? s->rows_begun + d->list : NULL;
    NAME(vector) sum = {0};
    V head[LANES];   /* sum of a lane before its first flag */
    int open[LANES]; /* index of the lane's open row among the tile's rows; -1: none */
    for (int l = 0; l < LANES; l++) open[l] = -1;
    for (int k = 0; k < SIGMA; k++) {
        for (unsigned flags = d->flags[k]; flags; flags &= flags - 1) {
            const int l = __builtin_ctz(flags);
            if (open[l] < 0) {
                head[l] = sum[l];
                open[l] = d->before[l];
            } else {
                const int64_t row = list ? list[open[l]] : d->next_row + open[l];
                w->y[row] = w->beta == 0 ? w->alpha * sum[l] : w->alpha * sum[l] + w->beta * w->y[row];
                open[l]++;
            }
            sum[l] = 0;
        }
        NAME(vector) gathered, value;
        for (int l = 0; l < LANES; l++) gathered[l] = w->x[columns[k * LANES + l]];
        memcpy(&value, values + k * LANES, sizeof value);
        sum += value * gathered;
    }
    if (w->row < 0) w->row = d->first_row;
    for (int l = 0; l < LANES; l++) {
        if (open[l] < 0) {
            w->sum += sum[l];
            continue;
        }
        /* The head of a lane belongs to the open row, unless the tile's first row begins with the first entry. */
        if (w->row == (list ? list[d->before[l]] : d->next_row + d->before[l]))
            w->row = -1;
        else
            w->sum += head[l];
        NAME(begin_row)(w, list ? list[open[l]] : d->next_row + open[l], sum[l]);
    }
}

static void NAME(multiply_tail)(NAME(walk) * w)
{
    const csr5 *s = w->s;
    const int64_t done = s->tiles * (LANES * SIGMA);
    const V *values = s->values;
    if (w->row < 0 && done < s->a.nnz) { /* this thread had no tile */
        w->row = s->row_of_tail[0];
        w->begun = spry_peer_offset(&s->a, w->row) == done;
    }
    for (int64_t k = done; k < s->a.nnz; k++) {
        const int64_t row = s->row_of_tail[k - done];
        const V product = values[k] * w->x[s->columns[k]];
        if (row == w->row)
            w->sum += product;
        else
            NAME(begin_row)(w, row, product);
    }
}

static void NAME(multiply)(const csr5 *s, double alpha, const void *x, double beta, void *y_data)
{
    carry carries[MOST_THREADS];
    V *y = y_data;
    for (int i = 0; i < s->threads; i++) carries[i].row = -1;
#pragma omp parallel num_threads(s->threads)
    {
        const int me = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t first = s->tiles * me / team, end = s->tiles * (me + 1) / team;
        NAME(walk) w = {.s = s, .x = x, .y = y, .alpha = (V)alpha, .beta = (V)beta, .row = -1, .left = &carries[me]};
        for (int64_t t = first; t < end; t++) NAME(multiply_tile)(&w, t);
        if (me == team - 1) NAME(multiply_tail)(&w);
        NAME(finish_row)(&w);
#pragma omp for schedule(static)
        for (int64_t e = 0; e < s->empty_count; e++) {
            const int32_t i = s->empty_rows[e];
            y[i] = beta == 0 ? 0 : (V)beta * y[i];
        }
    }
    for (int i = 0; i < s->threads; i++)
        if (carries[i].row >= 0) y[carries[i].row] += (V)alpha * (V)carries[i].sum;
}

#undef V
#undef LANES
#undef NAME
