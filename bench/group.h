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

/* ---- for spgemm too ----------------------------------------------------------------------------- */

int bench_list_has(const bench_list *list, const char *item);
int bench_device_wanted(const bench_request *request, const char *device);
int bench_device_is_there(const spry_context *context, const char *kind); /* 1: "cpu" or "cuda" can be used */

/* Measures it once, for all cases on the first GPU; too little memory there is no failure. */
spry_status bench_measure_gpu_copy(bench_session *session, spry_error *err);

spry_status bench_out_of_memory(spry_error *err);
/* The records cannot be handed on, so there is no point in going on. */
spry_status bench_stop(bench_session *session, spry_error *err);

const char *bench_index_name(const spry_arrays *a);                     /* "32/32" */
uint64_t bench_hash_bytes(const void *data, size_t bytes, int threads); /* the same whatever the threads */

/* Processor time in seconds: spent by anyone (or taken by the host), by us, and there in all. */
typedef struct bench_processor_time {
    double busy, own, all;
} bench_processor_time;
bench_processor_time bench_read_processor_time(void);
/*
 * The share of the processors that other programs had since then, but for so many seconds of processes of ours; it is
 * added to a record's reason when it counts.
 */
double bench_others_since(bench_processor_time before, double children);
void bench_note_others(bench_record *record, double others);
void bench_flush_caches(const bench_session *session);

#endif
