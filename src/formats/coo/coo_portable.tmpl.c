/* The inner function in plain C; see coo.h for what it is given. */

static double SPRY_FN(block)(const spryi_coo_job *job, int64_t begin, int64_t end)
{
    const SPRY_J *Ai = job->rows, *Aj = job->columns;
    const SPRY_V *Ax = job->values, *x = job->x;
    const SPRY_V alpha = (SPRY_V)job->alpha;
    SPRY_V *y = job->y, first = 0, sum = 0;
    SPRY_J row = Ai[begin];
    int64_t k = begin;
    for (; k < end && Ai[k] == row; k++) first += Ax[k] * x[Aj[k]];
    if (k == end) return (double)first;
    for (row = Ai[k]; k < end; k++) {
        if (Ai[k] != row) {
            y[row] += alpha * sum;
            row = Ai[k];
            sum = 0;
        }
        sum += Ax[k] * x[Aj[k]];
    }
    y[row] += alpha * sum; /* its other part, if the next block has one, is that block's first row */
    return (double)first;
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_coo_drive(args, SPRY_FN(block));
}

static void SPRY_FN(window)(const void *storage, const void *from, const spryi_window *part, void *window)
{
    const spryi_coo *s = storage;
    const SPRY_J *Ai = s->a.row_indices, *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = from;
    SPRY_V *t = window;
    for (int64_t k = part->begin; k < part->end; k++) t[Aj[k] - part->low] += Ax[k] * x[Ai[k]];
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_coo *s = args->storage;
    return spryi_windows_drive(args, &s->windows, s->a.cols, SPRY_FN(window), err);
}
