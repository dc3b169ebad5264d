/*
 * The transposed product in plain C, for the kernels of all instruction sets. Parts of the block rows add to their own
 * windows of y, which are then added in order. The block size r is a compile-time constant if functions are inlined.
 */

/* Adds the products of a block row, without fill, to window t. first: first block column of the window. */
static __attribute__((noinline, cold)) void SPRY_FN(part_masked)(const spryi_bsr_job *job, int64_t I, int64_t first,
                                                                 SPRY_V *t, const SPRY_V *x)
{
    const spryi_bsr_columns columns = spryi_bsr_columns_of(job);
    const int r = (int)job->block;
    for (int64_t b = spryi_bsr_offset(job, I), end = spryi_bsr_offset(job, I + 1); b < end; b++) {
        const SPRY_S *Ax = (const SPRY_S *)job->values + b * r * r;
        SPRY_V *to = t + (spryi_bsr_column(columns, b) - first) * r;
        for (int j = 0; j < r; j++) {
            const unsigned mask = spryi_bsr_mask(job->masks, r, b * r + j);
            SPRY_V sum = 0;
            for (int i = 0; i < r; i++)
                if (mask >> i & 1) sum += SPRY_VALUE(Ax[j * r + i]) * x[i];
            to[j] += sum;
        }
    }
}

/*
 * Adds the products of block rows begin .. end - 1 to window t. Uses the masks only if an element of x in a block row
 * is not finite.
 */
SPRYI_INLINE void SPRY_FN(part_of)(const spryi_bsr_job *job, int64_t begin, int64_t end, int64_t first, SPRY_V *t,
                                   const int r)
{
    const spryi_bsr_columns columns = spryi_bsr_columns_of(job);
    for (int64_t I = begin; I < end; I++) {
        const int64_t left = job->rows - I * r;
        SPRY_V x[SPRYI_BSR_MOST_BLOCK] = {0};
        bool finite = true;
        for (int i = 0; i < r && i < left; i++) {
            x[i] = ((const SPRY_V *)job->args.x)[I * r + i];
            finite &= x[i] - x[i] == 0; /* neither Inf nor NaN */
        }
        if (!finite && job->masks) {
            SPRY_FN(part_masked)(job, I, first, t, x);
            continue;
        }
        for (int64_t b = spryi_bsr_offset(job, I), last = spryi_bsr_offset(job, I + 1); b < last; b++) {
            const SPRY_S *Ax = (const SPRY_S *)job->values + b * r * r;
            SPRY_V *to = t + (spryi_bsr_column(columns, b) - first) * r;
            for (int j = 0; j < r; j++) {
                SPRY_V sum = 0;
                for (int i = 0; i < r; i++) sum += SPRY_VALUE(Ax[j * r + i]) * x[i];
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

static void SPRY_FN(parts)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_bsr *s = args->storage;
    const spryi_bsr_head *h = &s->head;
    for (int p = (int)begin; p < (int)end; p++) {
        SPRY_V *t = (SPRY_V *)args->workspace + spryi_bsr_window_at(h, p);
        const int64_t sums = (h->window_end[p] - h->window_begin[p]) * h->block;
        if (sums > 0) memset(t, 0, (size_t)sums * sizeof *t); /* without sums the workspace may be NULL */
        SPRY_FN(part)
        ((const spryi_bsr_job *)args, spryi_bsr_cut(s, p, h->parts), spryi_bsr_cut(s, p + 1, h->parts),
         h->window_begin[p], t);
    }
}

static void SPRY_FN(collect)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_bsr_head *h = &((const spryi_bsr *)args->storage)->head;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y, total[SPRYI_BSR_COLLECTED];
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t j = chunk * SPRYI_BSR_COLLECTED, stop = spryi_block_end(chunk, SPRYI_BSR_COLLECTED, h->cols);
        const SPRY_V *t = args->workspace;
        for (int64_t c = 0; c < stop - j; c++) total[c] = 0;
        for (int p = 0; p < h->parts; p++) {
            const int64_t first = h->window_begin[p] * h->block, last = h->window_end[p] * h->block;
            const int64_t from = first > j ? first : j, to = last < stop ? last : stop;
            for (int64_t c = from; c < to; c++) total[c - j] += t[c - first];
            t += last - first;
        }
        for (int64_t c = j; c < stop; c++) y[c] = beta == 0 ? alpha * total[c - j] : alpha * total[c - j] + beta * y[c];
    }
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_bsr_job job = spryi_bsr_job_of(args);
    const spryi_bsr_head *h = &((const spryi_bsr *)args->storage)->head;
    const spryi_step steps[] = {{h->parts, SPRY_FN(parts)},
                                {spryi_blocks_of(h->cols, SPRYI_BSR_COLLECTED), SPRY_FN(collect)}};
    return spryi_run_steps(&job.args, steps, 2);
}
