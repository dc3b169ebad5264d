/*
 * y = alpha*A*x + beta*y by block rows, for the kernels of all levels. SPRY_FN(sum_row), the level's own, the
 * functions of bsr_plain.tmpl.c and the table `panels` of those of bsr_panels.tmpl.c are there before.
 */
#include "formats/bsr/bsr_transposed.tmpl.c"

static inline void SPRY_FN(put)(const spryi_bsr_job *job, int64_t I, int r, const SPRY_V *sum)
{
    const SPRY_V alpha = SPRY_SCALAR(job->alpha), beta = SPRY_SCALAR(job->beta);
    const int64_t left = job->rows - I * r;
    SPRY_V *y = (SPRY_V *)job->args.y + I * r;
    for (int i = 0; i < r && i < left; i++) y[i] = beta == 0 ? alpha * sum[i] : alpha * sum[i] + beta * y[i];
}

/* Code that is seldom wanted is there once, for blocks of any size, and not inlined: it would be half of the code. */
#define SELDOM static __attribute__((noinline, cold)) void

/* A block row again, of entries alone, where fill may have met Inf or NaN: in the order in which it was summed. */
SELDOM SPRY_FN(sum_again)(const spryi_bsr_job *job, int64_t I, SPRY_V *sum)
{
    SPRY_FN(sum_row)(job, spryi_bsr_columns_of(job), I, (int)job->block, 1, sum);
}
SELDOM SPRY_FN(sum_plain_again)(const spryi_bsr_job *job, int64_t I, SPRY_V *sum)
{
    SPRY_FN(sum_plain)(job, spryi_bsr_columns_of(job), I, (int)job->block, 1, sum);
}
SELDOM SPRY_FN(column_again)(const spryi_bsr_job *job, int64_t I, int64_t column, void *sum)
{
    spryi_bsr_job own = *job;
    own.args.x = (const SPRY_V *)own.args.x + column;
    (own.block > SPRYI_BSR_MOST_DETECTED ? SPRY_FN(sum_plain_again) : SPRY_FN(sum_again))(&own, I, sum);
}

/* Block rows by the sums of the level, which have r as a constant, or (plain) by sum_plain. wide: 64-bit columns. */
SPRYI_INLINE void SPRY_FN(rows_of)(const spryi_bsr_job *job, int64_t begin, int64_t end, const int r, const int plain,
                                   const int wide)
{
    const spryi_bsr_columns columns = {job->columns, wide};
    for (int64_t I = begin; I < end; I++) {
        SPRY_V sum[SPRYI_BSR_MOST_BLOCK];
        int nan = 0;
        if (plain)
            SPRY_FN(sum_plain)(job, columns, I, r, 0, sum);
        else
            SPRY_FN(sum_row)(job, columns, I, r, 0, sum);
        for (int i = 0; i < r; i++) nan |= sum[i] != sum[i];
        if (nan && job->masks) (plain ? SPRY_FN(sum_plain_again) : SPRY_FN(sum_again))(job, I, sum);
        SPRY_FN(put)(job, I, r, sum);
    }
}

/* Blocks of one entry, which have no fill: CSR. Rows are mostly short, so that more sums than one, or lanes, lose. */
SPRYI_INLINE void SPRY_FN(rows_single)(const spryi_bsr_job *job, int64_t begin, int64_t end, const int wide)
{
    const spryi_bsr_columns columns = {job->columns, wide};
    for (int64_t I = begin; I < end; I++) {
        SPRY_V sum;
        SPRY_FN(sum_plain)(job, columns, I, 1, 0, &sum);
        SPRY_FN(put)(job, I, 1, &sum);
    }
}

/*
 * Blocks of a constant size r. BOTH_WIDTHS(r), of the level, is 1 if the width of columns is a constant, too: asking
 * for it once a block would take several percent of the time of a matrix in the caches.
 */
#define ROWS_OF(r)                                                                                                     \
    if (BOTH_WIDTHS(r) && wide)                                                                                        \
        SPRY_FN(rows_of)(job, begin, end, r, 0, 1);                                                                    \
    else                                                                                                               \
        SPRY_FN(rows_of)(job, begin, end, r, 0, BOTH_WIDTHS(r) ? 0 : wide);

static void SPRY_FN(rows)(const spryi_bsr_job *job, int64_t begin, int64_t end)
{
    const int wide = job->index_type == SPRY_I64;
    switch (job->block) {
    case 1: SPRYI_BY_WIDTH(wide, SPRY_FN(rows_single), job, begin, end) break;
    case 2: ROWS_OF(2) break;
    case 3: ROWS_OF(3) break;
    case 4: ROWS_OF(4) break;
    case 5: ROWS_OF(5) break;
    case 6: ROWS_OF(6) break;
    case 7: ROWS_OF(7) break;
    case 8: ROWS_OF(8) break;
    default: SPRY_FN(rows_of)(job, begin, end, (int)job->block, 1, wide); break;
    }
}

#undef ROWS_OF

static void SPRY_FN(chunks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_bsr_job *job = (const spryi_bsr_job *)args;
    SPRY_FN(rows)
    (job, spryi_bsr_cut(args->storage, begin, job->chunks), spryi_bsr_cut(args->storage, end, job->chunks));
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    spryi_bsr_job job = spryi_bsr_job_of(args);
    spryi_bsr_pad_x(&job);
    if (args->columns > 1) {
        const int row = spryi_value_row(((const spryi_bsr *)args->storage)->head.value_type, args->vector_type);
        job.again = SPRY_FN(column_again);
        return spryi_run_blocks(&job.args, job.chunks, panels[row]);
    }
    return spryi_run_blocks(&job.args, job.chunks, SPRY_FN(chunks));
}

#undef SELDOM
