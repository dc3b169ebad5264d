/*
 * What was fitted for a machine: sizes of csr2's and csr3's groups (formats/csrk/csrk_tuning.c says how they are used).
 * A context has one table, empty unless spry_context_load_tuning fills it.
 */
#pragma once

#include <stdint.h>

enum { SPRYI_MOST_GROUP = 1 << 15 }; /* rows or super-rows: those of a block are counted in 32 bits */

/* Of a mean row length d: constant - fall * ln d, rounded, times the factor of the case of d from the second on. */
typedef struct spryi_size_formula {
    double constant, fall, factor[3];
} spryi_size_formula;

typedef struct spryi_tuning {
    int64_t csr2_srs, csr3_srs, csr3_ssrs; /* on CPUs; 0: nothing is told */
    int gpu_major;                         /* compute capability that the formulas are for; 0: there are none */
    spryi_size_formula ssrs, srs;
    int64_t step, most; /* both sizes are whole steps, from one up to `most`; 0: any up to SPRYI_MOST_GROUP */
} spryi_tuning;
