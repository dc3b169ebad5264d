/* What the files of the simulated plug-in share. */
#ifndef TESTS_SOLVE_GPU_SIMULATED_MEMORY_H
#define TESTS_SOLVE_GPU_SIMULATED_MEMORY_H

#include "simulated.h"

struct spryi_cuda_spgemm;
extern simulated_figures simulated;
extern const struct spryi_cuda_spgemm simulated_spgemm;

/* Between them device memory can be touched; they nest. */
void open_memory(void);
void close_memory(void);

#endif
