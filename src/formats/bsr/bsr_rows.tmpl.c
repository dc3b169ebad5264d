/* What the kernels share, in plain C: `r`, the size of blocks, is a constant wherever these are inlined. */

static inline const SPRY_V *SPRY_FN(x_of)(const spryi_bsr_job *job, int64_t J, int r)
{
    return J == job->tail_column ? (const SPRY_V *)job->tail : (const SPRY_V *)job->x + J * r;
}

/* sum = block row I times x; masked: entries alone. */
static inline __attribute__((always_inline)) void SPRY_FN(sum_plain)(const spryi_bsr_job *job, int64_t I, const int r,
                                                                     const int masked, SPRY_V *sum)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    for (int i = 0; i < r; i++) sum[i] = 0;
    for (int64_t b = Ap[I]; b < Ap[I + 1]; b++) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + b * r * r, *x = SPRY_FN(x_of)(job, Aj[b], r);
        for (int j = 0; j < r; j++) {
            const unsigned mask = masked ? spryi_bsr_mask(job->masks, r, b * r + j) : 0;
            for (int i = 0; i < r; i++)
                if (!masked || mask >> i & 1) sum[i] += Ax[j * r + i] * x[j];
        }
    }
}

static inline void SPRY_FN(put)(const spryi_bsr_job *job, int64_t I, int r, const SPRY_V *sum)
{
    const SPRY_V alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    const int64_t left = job->y_length - I * r;
    SPRY_V *y = (SPRY_V *)job->y + I * r;
    for (int i = 0; i < r && i < left; i++) y[i] = beta == 0 ? alpha * sum[i] : alpha * sum[i] + beta * y[i];
}

/* What is seldom wanted is there once, for blocks of any size, and not inlined: it would be half of the code. */
#define SELDOM static __attribute__((noinline, cold)) void

/* Column sums of a block row, of entries alone. */
SELDOM SPRY_FN(part_masked)(const spryi_bsr_job *job, int64_t I, int64_t first, SPRY_V *t, const SPRY_V *x)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const int r = (int)job->block;
    for (int64_t b = Ap[I]; b < Ap[I + 1]; b++) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + b * r * r;
        SPRY_V *to = t + (Aj[b] - first) * r;
        for (int j = 0; j < r; j++) {
            const unsigned mask = spryi_bsr_mask(job->masks, r, b * r + j);
            SPRY_V sum = 0;
            for (int i = 0; i < r; i++)
                if (mask >> i & 1) sum += Ax[j * r + i] * x[i];
            to[j] += sum;
        }
    }
}

/* Column sums of the block rows; masked only where an x of a block row is not finite. */
static inline __attribute__((always_inline)) void SPRY_FN(part_of)(const spryi_bsr_job *job, int64_t begin, int64_t end,
                                                                   int64_t first, SPRY_V *t, const int r)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    for (int64_t I = begin; I < end; I++) {
        const int64_t left = job->x_length - I * r;
        SPRY_V x[SPRYI_BSR_MOST_BLOCK] = {0};
        int finite = 1;
        for (int i = 0; i < r && i < left; i++) {
            x[i] = ((const SPRY_V *)job->x)[I * r + i];
            finite &= x[i] - x[i] == 0; /* not Inf or NaN */
        }
        if (!finite && job->masks) {
            SPRY_FN(part_masked)(job, I, first, t, x);
            continue;
        }
        for (int64_t b = Ap[I]; b < Ap[I + 1]; b++) {
            const SPRY_V *Ax = (const SPRY_V *)job->values + b * r * r;
            SPRY_V *to = t + (Aj[b] - first) * r;
            for (int j = 0; j < r; j++) {
                SPRY_V sum = 0;
                for (int i = 0; i < r; i++) sum += Ax[j * r + i] * x[i];
                to[j] += sum;
            }
        }
    }
}

static void SPRY_FN(part)(const spryi_bsr_job *job, int64_t begin, int64_t end, int64_t first, void *t)
{
    switch (job->block) {
    case 1: SPRY_FN(part_of)(job, begin, end, first, t, 1); break;
    case 2: SPRY_FN(part_of)(job, begin, end, first, t, 2); break;
    case 3: SPRY_FN(part_of)(job, begin, end, first, t, 3); break;
    case 4: SPRY_FN(part_of)(job, begin, end, first, t, 4); break;
    case 5: SPRY_FN(part_of)(job, begin, end, first, t, 5); break;
    case 6: SPRY_FN(part_of)(job, begin, end, first, t, 6); break;
    case 8: SPRY_FN(part_of)(job, begin, end, first, t, 8); break;
    default: SPRY_FN(part_of)(job, begin, end, first, t, (int)job->block); break;
    }
}

static void SPRY_FN(collect)(const spryi_bsr_job *job, const spryi_bsr_head *head, const void *sums, int64_t begin,
                             int64_t end)
{
    enum { STEP = 512 };
    const SPRY_V alpha = (SPRY_V)job->alpha, beta = (SPRY_V)job->beta;
    SPRY_V *y = job->y, total[STEP];
    for (int64_t j = begin; j < end; j += STEP) {
        const int64_t stop = end - j < STEP ? end : j + STEP;
        const SPRY_V *t = sums;
        for (int64_t c = 0; c < stop - j; c++) total[c] = 0;
        for (int p = 0; p < head->parts; p++) {
            const int64_t first = head->window_begin[p] * head->block, last = head->window_end[p] * head->block;
            const int64_t from = first > j ? first : j, to = last < stop ? last : stop;
            for (int64_t c = from; c < to; c++) total[c - j] += t[c - first];
            t += last - first;
        }
        for (int64_t c = j; c < stop; c++) y[c] = beta == 0 ? alpha * total[c - j] : alpha * total[c - j] + beta * y[c];
    }
}

/* A block row again, of entries alone, where fill may have met Inf or NaN: in the order in which it was summed. */
SELDOM SPRY_FN(sum_again)(const spryi_bsr_job *job, int64_t I, SPRY_V *sum)
{
    SUM_ROW(job, I, (int)job->block, 1, sum);
}
SELDOM SPRY_FN(sum_large_again)(const spryi_bsr_job *job, int64_t I, SPRY_V *sum)
{
    SPRY_FN(sum_plain)(job, I, (int)job->block, 1, sum);
}

/* Block rows by SUM_ROW, which has r as a constant. */
static inline __attribute__((always_inline)) void SPRY_FN(rows_of)(const spryi_bsr_job *job, int64_t begin, int64_t end,
                                                                   const int r)
{
    for (int64_t I = begin; I < end; I++) {
        SPRY_V sum[SPRYI_BSR_MOST_BLOCK];
        int nan = 0;
        SUM_ROW(job, I, r, 0, sum);
        for (int i = 0; i < r; i++) nan |= sum[i] != sum[i];
        if (nan && job->masks) SPRY_FN(sum_again)(job, I, sum);
        SPRY_FN(put)(job, I, r, sum);
    }
}

/* Blocks of one entry, which have no fill: CSR. Rows are mostly short, so that more sums than one, or lanes, lose. */
static void SPRY_FN(rows_single)(const spryi_bsr_job *job, int64_t begin, int64_t end)
{
    for (int64_t I = begin; I < end; I++) {
        SPRY_V sum;
        SPRY_FN(sum_plain)(job, I, 1, 0, &sum);
        SPRY_FN(put)(job, I, 1, &sum);
    }
}

static void SPRY_FN(rows)(const spryi_bsr_job *job, int64_t begin, int64_t end)
{
    switch (job->block) {
    case 1: SPRY_FN(rows_single)(job, begin, end); break;
    case 2: SPRY_FN(rows_of)(job, begin, end, 2); break;
    case 3: SPRY_FN(rows_of)(job, begin, end, 3); break;
    case 4: SPRY_FN(rows_of)(job, begin, end, 4); break;
    case 5: SPRY_FN(rows_of)(job, begin, end, 5); break;
    case 6: SPRY_FN(rows_of)(job, begin, end, 6); break;
    case 7: SPRY_FN(rows_of)(job, begin, end, 7); break;
    case 8: SPRY_FN(rows_of)(job, begin, end, 8); break;
    default:
        for (int64_t I = begin; I < end; I++) {
            SPRY_V sum[SPRYI_BSR_MOST_BLOCK];
            const int r = (int)job->block;
            int nan = 0;
            SPRY_FN(sum_plain)(job, I, r, 0, sum);
            for (int i = 0; i < r; i++) nan |= sum[i] != sum[i];
            if (nan && job->masks) SPRY_FN(sum_large_again)(job, I, sum);
            SPRY_FN(put)(job, I, r, sum);
        }
        break;
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_bsr_leaves leaves = {SPRY_FN(rows), SPRY_FN(part), SPRY_FN(collect)};
    return spryi_bsr_drive(args, &leaves);
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_bsr_leaves leaves = {SPRY_FN(rows), SPRY_FN(part), SPRY_FN(collect)};
    return spryi_bsr_drive_transposed(args, &leaves);
}

#undef SELDOM
