/*
 * swept_reference_cpu: swept row blocks on one thread, block by block and slot by slot.
 *
 * Idea: each product is added to the sum of its row, or of its column in the transposed product. Padding is skipped.
 *       The kernel is a reference for tests, and serves machines without a GPU.
 * Cost: bytes of the layout at one thread's bandwidth; additions are scattered over a block's rows.
 */
#ifndef SPRY_FN
#include "formats/swept/swept.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/swept/swept_reference_cpu.c" /* the second half of this file */
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_swept_reference_cpu = {
    SPRYI_KERNEL_OF("swept", "reference", "cpu"),
    .idea = "slot by slot, each product added to its row's sum, on one thread",
    .source = "SCOO: Dang and Schmidt 2012; groups without conflicts: this library",
    .pattern = 1,
    .one_thread = 1,
    .spmv = &runs,
    .spmv_t = &runs_t,
};

#else /* once for each value type and pair of index types */

/* Adds one block's products to t[row], or to t[column] if transposed. */
static void SPRY_FN(multiply)(const spryi_swept *s, const spryi_swept_block *block, const int32_t *row_of,
                              const SPRY_V *x, SPRY_V *t, bool transposed)
{
    const int64_t slots = SPRYI_SWEPT_THREADS * spryi_swept_unroll(s->sizes.value_type), first = block->first_batch;
    const uint32_t padding = spryi_swept_padding(block);
    const SPRY_S *values = s->values;
    for (int64_t n = first; n < first + block->batches; n++)
        for (int64_t k = n * slots; k < (n + 1) * slots; k++) {
            const uint32_t sum = s->indices[k] & padding;
            if (sum == padding) continue;
            const int64_t i = block->first_row + row_of[sum], j = spryi_swept_column(s, block, n, k);
            const SPRY_V value = values ? SPRY_VALUE(values[k]) : 1;
            if (transposed)
                t[j] += value * x[i];
            else
                t[i] += value * x[j];
        }
}

static void SPRY_FN(product)(const spryi_run_args *args, bool transposed)
{
    const spryi_swept *s = args->storage;
    const spryi_swept_sizes *h = &s->sizes;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const int64_t length = transposed ? h->cols : h->rows;
    SPRY_V *t = args->workspace, *y = args->y;
    int32_t *row_of = (int32_t *)(t + (h->rows > h->cols ? h->rows : h->cols));
    for (int64_t i = 0; i < length; i++) t[i] = 0;
    for (int64_t b = 0; b < h->blocks; b++) {
        spryi_swept_rows_of_sums(s, &s->blocks[b], row_of);
        SPRY_FN(multiply)(s, &s->blocks[b], row_of, args->x, t, transposed);
    }
    for (int64_t i = 0; i < length; i++) y[i] = beta == 0 ? alpha * t[i] : alpha * t[i] + beta * y[i];
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    SPRY_FN(product)(args, false);
    return SPRY_OK;
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    SPRY_FN(product)(args, true);
    return SPRY_OK;
}

#endif
