/*
 * BSR times multiple vectors, for the kernels of all instruction sets. A register holds one row of a panel of vectors.
 * Two or three rows of a block are summed together, so that a row of x is loaded once for them. The blocks of a block
 * row remain in the first-level cache for all its rows and panels. The order of additions equals that of the product
 * with one vector (panels.h): FOUR_SUMS(r) is 1 if that product has four partial sums with fused multiply-add. If fill
 * may have been multiplied by Inf or NaN, the block row is summed again by the function for one vector.
 */
#include "formats/shared/panels.tmpl.c"

/* A block row times `count` <= PANEL_LANES vectors from vector c on. */
typedef struct SPRY_FN(row_of_blocks) {
    const spryi_bsr_job *job;
    int64_t begin, end, c;
    int count;
    spry_index_type index_type;
    SPRY_V padded[SPRYI_BSR_MOST_BLOCK * PANEL_LANES]; /* the last rows of x, then zeros */
} SPRY_FN(row_of_blocks);

static __attribute__((noinline, cold)) void SPRY_FN(panel_pad)(SPRY_FN(row_of_blocks) * row)
{
    const spryi_run_args *args = &row->job->args;
    const spryi_bsr_head *h = &((const spryi_bsr *)args->storage)->head;
    const SPRY_V *x = (const SPRY_V *)args->x + row->c;
    memset(row->padded, 0, sizeof row->padded);
    for (int64_t j = row->job->tail_column * h->block, at = 0; j < h->cols; j++, at += PANEL_LANES)
        for (int l = 0; l < row->count; l++) row->padded[at + l] = x[j * args->x_stride + l];
}

/* Returns the rows of x for block b. *stride: number of elements between these rows. */
SPRYI_INLINE const SPRY_V *SPRY_FN(panel_x)(const SPRY_FN(row_of_blocks) * row, int64_t b, int64_t r, int64_t *stride)
{
    const int64_t J = spryi_index_at(row->job->columns, row->index_type, b), x_stride = row->job->args.x_stride;
    const SPRY_V *x = (const SPRY_V *)row->job->args.x + row->c;
    *stride = J == row->job->tail_column ? PANEL_LANES : x_stride;
    return J == row->job->tail_column ? row->padded : x + J * r * x_stride;
}

/* Sets sum[i] to row `from` + i of the block row times the vectors, for i < rows. */
SPRYI_INLINE void SPRY_FN(panel_one_sum)(const SPRY_FN(row_of_blocks) * row, int from, const int rows, PANEL *sum)
{
    const int64_t r = row->job->block, end = row->end;
    PANEL v[3] = {{0}};
    for (int64_t b = row->begin; b < end; b++) {
        const SPRY_S *Ax = (const SPRY_S *)row->job->values + b * r * r + from;
        int64_t stride;
        const SPRY_V *x = SPRY_FN(panel_x)(row, b, r, &stride);
        for (int64_t j = 0; j < r; j++, Ax += r, x += stride) {
            const PANEL xj = PANEL_LOAD(x, row->count);
            for (int i = 0; i < rows; i++) v[i] += SPRY_VALUE(Ax[i]) * xj;
        }
    }
    for (int i = 0; i < rows; i++) sum[i] = v[i];
}

/* Sums the rows of a block row in groups of two and three. Blocks of size 1 have a group of one. */
SPRYI_INLINE void SPRY_FN(panel_sums)(const SPRY_FN(row_of_blocks) * row, PANEL *sum)
{
    const int r = (int)row->job->block;
    for (int i = 0, rows; i < r; i += rows, sum += rows) {
        rows = r - i == 2 || r - i == 4 ? 2 : r - i == 1 ? 1 : 3;
        if (rows == 3)
            SPRY_FN(panel_one_sum)(row, i, 3, sum);
        else if (rows == 2)
            SPRY_FN(panel_one_sum)(row, i, 2, sum);
        else
            SPRY_FN(panel_one_sum)(row, i, 1, sum);
    }
}

#if FOUR_SUMS(2)

/*
 * Does the same as panel_one_sum for blocks of constant size r. Column j of a block is added to partial sum j modulo 4.
 */
SPRYI_INLINE void SPRY_FN(panel_four_sums)(const SPRY_FN(row_of_blocks) * row, int from, const int r, const int rows,
                                           const bool full, PANEL *sum)
{
    const int64_t end = row->end;
    const int count = row->count;
    PANEL v[4][3] = {{{0}}};
    for (int64_t b = row->begin; b < end; b++) {
        const SPRY_S *Ax = (const SPRY_S *)row->job->values + b * r * r + from;
        int64_t stride;
        const SPRY_V *x = SPRY_FN(panel_x)(row, b, r, &stride);
        for (int j = 0; j < r; j++, x += stride) {
            const PANEL xj = full ? SPRY_FN(panel_all)(x) : PANEL_LOAD(x, count);
            for (int i = 0; i < rows; i++) v[j & 3][i] = PANEL_FUSED(SPRY_VALUE(Ax[j * r + i]), xj, v[j & 3][i]);
        }
    }
    for (int i = 0; i < rows; i++) sum[i] = (v[0][i] + v[1][i]) + (v[2][i] + v[3][i]);
}

SPRYI_INLINE void SPRY_FN(panel_rows_of)(const SPRY_FN(row_of_blocks) * row, const int r, const bool full, PANEL *sum)
{
    const int threes = r % 3 == 1 ? r / 3 - 1 : r / 3; /* 4 = 2 + 2 */
    for (int n = 0; n < threes; n++) SPRY_FN(panel_four_sums)(row, 3 * n, r, 3, full, sum + 3 * n);
    for (int i = 3 * threes; i < r; i += 2) SPRY_FN(panel_four_sums)(row, i, r, 2, full, sum + i);
}

SPRYI_INLINE void SPRY_FN(panel_four)(const SPRY_FN(row_of_blocks) * row, const bool full, PANEL *sum)
{
    switch (row->job->block) {
    case 2: SPRY_FN(panel_rows_of)(row, 2, full, sum); break;
    case 3: SPRY_FN(panel_rows_of)(row, 3, full, sum); break;
    case 4: SPRY_FN(panel_rows_of)(row, 4, full, sum); break;
    case 5: SPRY_FN(panel_rows_of)(row, 5, full, sum); break;
    case 6: SPRY_FN(panel_rows_of)(row, 6, full, sum); break;
    case 7: SPRY_FN(panel_rows_of)(row, 7, full, sum); break;
    default: SPRY_FN(panel_rows_of)(row, 8, full, sum); break;
    }
}

#endif

/* Computes sums that are NaN again, without fill, for each vector that has such a sum. */
static __attribute__((noinline, cold)) void SPRY_FN(panel_again)(const SPRY_FN(row_of_blocks) * row, int64_t I,
                                                                 PANEL *sum)
{
    const int r = (int)row->job->block;
    for (int l = 0; l < row->count; l++) {
        SPRY_V again[SPRYI_BSR_MOST_BLOCK];
        bool nan = false;
        for (int i = 0; i < r; i++) nan |= sum[i][l] != sum[i][l];
        if (nan) row->job->again(row->job, I, row->c + l, again);
        for (int i = 0; i < r && nan; i++) sum[i][l] = again[i];
    }
}

/* Multiplies block row I, panel after panel. */
static void SPRY_FN(panel_row)(SPRY_FN(row_of_blocks) * row, int64_t I, bool stream)
{
    const spryi_bsr_job *job = row->job;
    const SPRY_V alpha = SPRY_SCALAR(job->alpha), beta = SPRY_SCALAR(job->beta);
    const int64_t r = job->block, stride = job->args.y_stride, columns = job->args.columns;
    const int64_t rows = job->rows - I * r < r ? job->rows - I * r : r;
    const bool is_last = row->end > row->begin &&
                         spryi_index_at(job->columns, row->index_type, row->end - 1) == job->tail_column;
    for (row->c = 0; row->c < columns; row->c += PANEL_LANES) {
        SPRY_V *y = (SPRY_V *)job->args.y + I * r * stride + row->c;
        PANEL sum[SPRYI_BSR_MOST_BLOCK], infinite = {0};
        SPRY_V any = 0;
        row->count = columns - row->c < PANEL_LANES ? (int)(columns - row->c) : PANEL_LANES;
        if (is_last) SPRY_FN(panel_pad)(row);
#if FOUR_SUMS(2)
        if (FOUR_SUMS(r) && row->count == PANEL_LANES)
            SPRY_FN(panel_four)(row, true, sum);
        else if (FOUR_SUMS(r))
            SPRY_FN(panel_four)(row, false, sum);
        else
#endif
            SPRY_FN(panel_sums)(row, sum);
        for (int64_t i = 0; i < r && job->masks; i++) infinite += sum[i] - sum[i]; /* 0 if the sums are finite */
        for (int l = 0; l < PANEL_LANES; l++) any += infinite[l];
        if (any != 0) SPRY_FN(panel_again)(row, I, sum);
        for (int64_t i = 0; i < rows; i++) SPRY_FN(panel_put)(y + i * stride, row->count, sum[i], alpha, beta, stream);
    }
}

static void SPRY_FN(panel_chunks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_bsr_job *job = (const spryi_bsr_job *)args;
    const spryi_bsr *s = args->storage;
    const int64_t block_bytes = s->head.block * s->head.block * (int64_t)sizeof(SPRY_S);
    const bool stream = spryi_panels_stream(args, s->head.rows, SPRYI_STREAM_PART) != SPRYI_STREAMS_NOTHING;
    const int64_t first = spryi_bsr_cut(s, begin, job->chunks), last = spryi_bsr_cut(s, end, job->chunks);
    SPRY_FN(row_of_blocks) row;
    row.job = job;
    row.index_type = s->types.index_type;
    row.end = spryi_bsr_offset(job, first);
    for (int64_t I = first; I < last; I++) {
        row.begin = row.end;
        row.end = spryi_bsr_offset(job, I + 1);
        spryi_panels_prefetch((const char *)s->values + row.begin * block_bytes, (row.end - row.begin) * block_bytes);
        SPRY_FN(panel_row)(&row, I, stream);
    }
    spryi_panels_done(stream);
}
