/*
 * packed_reference_cpu: slot by slot, one thread.
 *
 * Idea: the definition of the layout; packed_reader.h tells which lanes have an entry in a slot and at which column.
 * Cost: bytes of packed.
 */
#ifndef SPRY_FN
#include "formats/packed/packed_reader.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "study/kernels/packed_reference_cpu.c" /* its second half */
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_packed_reference_cpu = {
    .name = "packed_reference_cpu",
    .format = "packed",
    .device = "cpu",
    .idea = "slot by slot on one thread",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .study = 1,
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};

#else /* once for each value type and type of columns */

static void SPRY_FN(put)(const spryi_run_args *args, int64_t i, SPRY_V sum)
{
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
}

static void SPRY_FN(slice)(const spryi_run_args *args, int64_t k)
{
    const spryi_packed *s = args->storage;
    const SPRY_V *Ax = s->values, *x = args->x;
    SPRY_V sum[SPRYI_PACKED_LANES * SPRYI_PACKED_MOST_BLOCK] = {0};
    spryi_packed_reader reader;
    spryi_packed_open(&reader, s, k);
    const int b = reader.v.b;
    while (spryi_packed_next(&reader))
        for (int l = 0; l < SPRYI_PACKED_LANES; l++)
            for (int e = 0; reader.mask >> l & 1 && e < b * b; e++) {
                const SPRY_V xj = x[reader.column[l] * b + e % b];
                sum[l * b + e / b] += Ax ? Ax[reader.at + (int64_t)e * reader.stride + reader.rank[l]] * xj : xj;
            }
    const uint32_t lanes = spryi_packed_row_mask(&reader.v);
    for (int l = 0; l < SPRYI_PACKED_LANES; l++)
        for (int r = 0; lanes >> l & 1 && r < b; r++)
            SPRY_FN(put)(args, spryi_packed_row(&reader.v, l) + r, sum[l * b + r]);
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_packed *s = args->storage;
    const SPRY_J *Aj = s->long_columns;
    const SPRY_V *Ax = s->long_values, *x = args->x;
    for (int64_t k = 0; k < s->slice_count; k++) SPRY_FN(slice)(args, k);
    for (int64_t n = 0; n < s->long_count; n++) {
        SPRY_V sum = 0;
        for (int64_t e = s->pieces[s->long_first[n]]; e < s->pieces[s->long_first[n + 1]]; e++)
            sum += Ax ? Ax[e] * x[Aj[e]] : x[Aj[e]];
        SPRY_FN(put)(args, s->long_rows[n], sum);
    }
    return SPRY_OK;
}

#endif
