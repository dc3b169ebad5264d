/* The inner functions in plain C; see scoo.h for what each is given. */

/* First entry of begin .. end - 1 whose column is at least j. */
static inline int64_t SPRY_FN(first_at)(const SPRY_J *Aj, int64_t begin, int64_t end, int64_t j)
{
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (Aj[middle] < j)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static void SPRY_FN(slice)(const spryi_scoo_job *job, int64_t begin, int64_t end, void *sums)
{
    const SPRY_J *restrict Aj = job->columns;
    const SPRY_V *restrict Ax = job->values, *restrict x = job->x;
    const uint16_t *restrict Ai = job->rows;
    SPRY_V *restrict t = sums;
    for (int64_t k = begin; k < end; k++) t[Ai[k]] += Ax[k] * x[Aj[k]];
}

static void SPRY_FN(range)(const spryi_scoo_job *job, int64_t s, int64_t left, int64_t right, void *sums)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *restrict Aj = job->columns;
    const SPRY_V *restrict Ax = job->values, *restrict x = (const SPRY_V *)job->x + s * job->height;
    const uint16_t *restrict Ai = job->rows;
    SPRY_V *restrict t = sums;
    int64_t begin = SPRY_FN(first_at)(Aj, Ap[s], Ap[s + 1], left), end = SPRY_FN(first_at)(Aj, begin, Ap[s + 1], right);
    for (int64_t k = begin; k < end; k++) t[Aj[k]] += Ax[k] * x[Ai[k]];
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_scoo_leaves leaves = {SPRY_FN(slice), SPRY_FN(range)};
    return spryi_scoo_drive(args, &leaves);
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_scoo_leaves leaves = {SPRY_FN(slice), SPRY_FN(range)};
    return spryi_scoo_drive_transposed(args, &leaves);
}
