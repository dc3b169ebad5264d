/* One task's products: of rows into t by row, transposed into t by column. */
static void SPRY_FN(task)(const spryi_swept *s, int64_t b, int64_t part, const int32_t *row_of, const SPRY_V *x,
                          SPRY_V *t, int transposed)
{
    const spryi_swept_head *h = &s->head;
    const spryi_swept_task *task = &s->tasks[b * h->parts + part];
    const int64_t batch = SPRYI_SWEPT_THREADS * spryi_swept_unroll(h->value_type), first = s->blocks[b].first_row;
    const uint32_t padding = (uint32_t)(((uint64_t)1 << h->row_bits) - 1);
    const SPRY_V *values = s->values;
    for (int64_t n = task->first_batch; n < task->first_batch + task->batches; n++)
        for (int64_t k = n * batch; k < (n + 1) * batch; k++) {
            const uint32_t sum = s->indices[k] & padding;
            if (sum == padding) continue;
            const int64_t i = first + row_of[sum], j = s->bases[n] + (int64_t)((uint64_t)s->indices[k] >> h->row_bits);
            if (transposed)
                t[j] += values[k] * x[i];
            else
                t[i] += values[k] * x[j];
        }
}

static void SPRY_FN(product)(const spryi_run_args *args, int transposed)
{
    const spryi_swept *s = args->storage;
    const spryi_swept_head *h = &s->head;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const int64_t length = transposed ? h->cols : h->rows;
    SPRY_V *t = args->workspace, *y = args->y;
    int32_t *row_of = (int32_t *)(t + (h->rows > h->cols ? h->rows : h->cols));
    for (int64_t i = 0; i < length; i++) t[i] = 0;
    for (int64_t b = 0; b < h->blocks; b++)
        for (int64_t part = 0; part < h->parts; part++) {
            spryi_swept_rows_of_sums(s, b, part, row_of);
            SPRY_FN(task)(s, b, part, row_of, args->x, t, transposed);
        }
    for (int64_t i = 0; i < length; i++) y[i] = beta == 0 ? alpha * t[i] : alpha * t[i] + beta * y[i];
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    SPRY_FN(product)(args, 0);
    return SPRY_OK;
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    SPRY_FN(product)(args, 1);
    return SPRY_OK;
}
