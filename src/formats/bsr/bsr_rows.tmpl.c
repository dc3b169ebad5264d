/*
 * y = alpha*A*x + beta*y by block rows, for the kernels of all instruction sets. The including file defines
 * SPRY_FN(sum_row), includes bsr_plain.tmpl.c, and defines the table `panels` of functions of bsr_panels.tmpl.c.
 */
#include "formats/bsr/bsr_transposed.tmpl.c"

static inline void SPRY_FN(put)(const spryi_bsr_job *job, int64_t I, int r, const SPRY_V *sum)
{
    const SPRY_V alpha = SPRY_SCALAR(job->alpha), beta = SPRY_SCALAR(job->beta);
    const int64_t left = job->rows - I * r;
    SPRY_V *y = (SPRY_V *)job->args.y + I * r;
    for (int i = 0; i < r && i < left; i++) y[i] = beta == 0 ? alpha * sum[i] : alpha * sum[i] + beta * y[i];
}

/* Rarely used code has one instance for all block sizes and is not inlined. Inlining would double the code. */
#define SELDOM static __attribute__((noinline, cold)) void

/*
 * These functions sum a block row again in the same order, without fill, after fill may have been multiplied by Inf or
 * NaN.
 */
SELDOM SPRY_FN(sum_again)(const spryi_bsr_job *job, int64_t I, SPRY_V *sum)
{
    SPRY_FN(sum_row)(job, spryi_bsr_columns_of(job), I, (int)job->block, true, sum);
}
SELDOM SPRY_FN(sum_plain_again)(const spryi_bsr_job *job, int64_t I, SPRY_V *sum)
{
    SPRY_FN(sum_plain)(job, spryi_bsr_columns_of(job), I, (int)job->block, true, sum);
}
SELDOM SPRY_FN(column_again)(const spryi_bsr_job *job, int64_t I, int64_t column, void *sum)
{
    spryi_bsr_job own = *job;
    own.args.x = (const SPRY_V *)own.args.x + column;
    (own.block > SPRYI_BSR_MOST_DETECTED ? SPRY_FN(sum_plain_again) : SPRY_FN(sum_again))(&own, I, sum);
}

/*
 * Multiplies block rows. plain: uses sum_plain; otherwise uses the including file's sum_row, for which r is a
 * compile-time constant. wide: 64-bit columns.
 */
SPRYI_INLINE void SPRY_FN(rows_of)(const spryi_bsr_job *job, int64_t begin, int64_t end, const int r, const bool plain,
                                   const bool wide)
{
    const spryi_bsr_columns columns = {job->columns, wide};
    for (int64_t I = begin; I < end; I++) {
        SPRY_V sum[SPRYI_BSR_MOST_BLOCK];
        bool nan = false;
        if (plain)
            SPRY_FN(sum_plain)(job, columns, I, r, false, sum);
        else
            SPRY_FN(sum_row)(job, columns, I, r, false, sum);
        for (int i = 0; i < r; i++) nan |= sum[i] != sum[i];
        if (nan && job->masks) (plain ? SPRY_FN(sum_plain_again) : SPRY_FN(sum_again))(job, I, sum);
        SPRY_FN(put)(job, I, r, sum);
    }
}

/*
 * Multiplies blocks of size 1, which have no fill, as CSR. Most rows are short, so more than one partial sum would be
 * slower.
 */
SPRYI_INLINE void SPRY_FN(rows_single)(const spryi_bsr_job *job, int64_t begin, int64_t end, const bool wide)
{
    const spryi_bsr_columns columns = {job->columns, wide};
    for (int64_t I = begin; I < end; I++) {
        SPRY_V sum;
        SPRY_FN(sum_plain)(job, columns, I, 1, false, &sum);
        SPRY_FN(put)(job, I, 1, &sum);
    }
}

/*
 * Calls rows_of with r as a compile-time constant. If BOTH_WIDTHS(r) is 1, the index width is a constant as well.
 * Testing the width for each block would cost a few percent if the matrix is in the cache.
 */
#define ROWS_OF(r)                                                                                                     \
    if (BOTH_WIDTHS(r) && wide)                                                                                        \
        SPRY_FN(rows_of)(job, begin, end, r, false, true);                                                             \
    else                                                                                                               \
        SPRY_FN(rows_of)(job, begin, end, r, false, BOTH_WIDTHS(r) ? false : wide);

static void SPRY_FN(rows)(const spryi_bsr_job *job, int64_t begin, int64_t end)
{
    const bool wide = job->index_type == SPRY_I64;
    switch (job->block) {
    case 1: SPRYI_BY_WIDTH(wide, SPRY_FN(rows_single), job, begin, end) break;
    case 2: ROWS_OF(2) break;
    case 3: ROWS_OF(3) break;
    case 4: ROWS_OF(4) break;
    case 5: ROWS_OF(5) break;
    case 6: ROWS_OF(6) break;
    case 7: ROWS_OF(7) break;
    case 8: ROWS_OF(8) break;
    default: SPRY_FN(rows_of)(job, begin, end, (int)job->block, true, wide); break;
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
