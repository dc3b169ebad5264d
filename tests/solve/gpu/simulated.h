/* What the simulated plug-in counts; tests find it by dlsym as "simulated". */
#ifndef TESTS_SOLVE_GPU_SIMULATED_H
#define TESTS_SOLVE_GPU_SIMULATED_H

#include <stdint.h>

typedef struct simulated_figures {
    int64_t allocations, fail_at; /* the call that is refused, from 1; 0: none */
    int64_t blocks;               /* that are held */
    int64_t copies_back, products, gathers;
    int64_t spgemm_bytes; /* of workspace that a sparse product takes beside its own */
    int64_t spgemm_fails; /* 1: its numeric phase fails */
} simulated_figures;

#endif
