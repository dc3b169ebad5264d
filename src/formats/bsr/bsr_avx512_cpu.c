#ifndef SPRYI_TEMPLATE
/*
 * bsr_avx512_cpu: dense blocks with AVX-512.
 *
 * Idea: a column of a block is one masked register of eight lanes, multiplied by its x in all of them; sums of several
 *       columns run side by side. Nothing is fetched ahead by software: blocks come in order, and it cost a tenth.
 * Work: as in bsr_portable_cpu, whose loops also do blocks above 8 and the transposed product, with FMA.
 * Cost: as there.
 * Source: register blocking of Sparsity (Im, Yelick and Vuduc 2004); the vector steps are this library's.
 */
#include "core/simd_x86.h"
#include "formats/bsr/bsr.h"

#include <string.h>

#define SPRYI_TEMPLATE "formats/bsr/bsr_plain.tmpl.c"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "formats/bsr/bsr_avx512_cpu.c"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "formats/bsr/bsr_rows.tmpl.c"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "formats/bsr/bsr_transposed.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_bsr_avx512_cpu = {
    .name = "bsr_avx512_cpu",
    .format = "bsr",
    .device = "cpu",
    .idea = "a masked register a column of a block, its x in all lanes; AVX-512",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .deterministic = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &runs_t,
};

#else /* for each value type and index pair: core/instantiate.h */

/* sum = block row I times x, the columns of a block on up to four sums; masked: entries alone, in the same order. */
static inline __attribute__((always_inline)) void SPRY_FN(sum_row)(const spryi_bsr_job *job, int64_t I, const int r,
                                                                   const int masked, SPRY_V *sum)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const __mmask8 lanes = (__mmask8)((1u << r) - 1);
    SPRYI_TYPED(eight) v[4] = {EIGHT(setzero)(), EIGHT(setzero)(), EIGHT(setzero)(), EIGHT(setzero)()};
    for (int64_t b = Ap[I]; b < Ap[I + 1]; b++) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + b * r * r, *x = SPRY_FN(x_of)(job, Aj[b], r);
        for (int j = 0; j < r; j++) {
            SPRYI_TYPED(eight) column = r == 8 ? EIGHT(loadu)(Ax + j * r) : EIGHT(maskz_loadu)(lanes, Ax + j * r);
            if (masked)
                v[j & 3] = EIGHT(mask3_fmadd)(column, EIGHT(set1)(x[j]), v[j & 3],
                                              (__mmask8)spryi_bsr_mask(job->masks, r, b * r + j));
            else
                v[j & 3] = EIGHT(fmadd)(column, EIGHT(set1)(x[j]), v[j & 3]);
        }
    }
    EIGHT(storeu)(sum, EIGHT(add)(EIGHT(add)(v[0], v[1]), EIGHT(add)(v[2], v[3])));
}

#endif
