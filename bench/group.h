/* What the engine's own files share beyond bench.h. */
#ifndef SPRY_BENCH_GROUP_H
#define SPRY_BENCH_GROUP_H

#include "bench/bench.h"

/* y = alpha*op(A)*x + beta*y on the group's vectors. 0: failed, and the record says why. */
int bench_case_run(bench_group *group, bench_case *c, double alpha, double beta);

/* Waits until a GPU case's runs are done; nothing for the CPU's. 0: failed, and the record says why. */
int bench_case_wait(bench_group *group, bench_case *c);

/* After timing: y must have the bits of the first product, or still be within the bound where bits may change. */
void bench_case_recheck(bench_group *group, bench_case *c);

#endif
