/*
 * Op spgemm: C = A*A, one whole product a run, from the arrays of A on the device to C there, allocations included.
 *
 * A case's first run is checked: the number of entries against the library's exact count, and with up to
 * EXACT_PRODUCTS products the structure and every value, else C*x against A*(A*x) (spry_spgemm_verify). After the
 * timing a deterministic kernel must give the same bits once more. Set-up is what is done once: uploads and handles;
 * first is the first run; time the median of later ones, with memory that allocators keep: C of one run is given back,
 * untimed, before the next. With --calls above 1 our kernels also run as plans (format "plan"): set-up is then the
 * symbolic phase and time the numeric one alone. With a GPU, --device all adds the library's choice there with
 * A and C in host memory (format "host": the bus, both ways, is in its time), and with the device left to the library
 * (format "auto").
 *
 * Timed as other cases are, in turns, but a run may take seconds: a turn ends after turn_us, and has one run at least.
 * bench_options.runs: so many single runs in all, after five that are not timed, shared among the turns.
 *
 * Stages are those of a turn's last run on the CPU, and on a GPU of one more run, which measures them and is not timed.
 */
#pragma once

#include "bench/internal.h"

enum { EXACT_PRODUCTS = 16000000, SPGEMM_TURNS = 5 };

typedef struct spgemm_case {
    record record;
    spry_spgemm_options options;  /* of ours, */
    spry_spgemm_plan *plan;       /* where it is one; */
    const spry_peer_spgemm *peer; /* or a peer's */
    void *peer_state;
    int device;     /* where A and C are: 0 the host, 1 the first GPU */
    spry_matrix *C; /* of our last run */
    uint64_t hash;  /* of the first C: a deterministic kernel must repeat it */
    int64_t batch_runs;
    double *samples;
    int sample_count;
    double stages[RECORD_STAGES][SPGEMM_TURNS]; /* of a run in each turn, those that are known */
    int stage_counts[RECORD_STAGES];
} spgemm_case;

typedef struct spgemm_group {
    bench_session *session;
    const char *wanted;   /* device: "cpu", "cuda", "all" */
    const spry_matrix *A; /* in host memory */
    spry_arrays arrays;
    device_matrix on_gpu; /* when a case needs it */
    record common;
    spry_spgemm_prediction estimate;
    spgemm_case *cases;
    int case_count;
    double children; /* seconds that peers in processes of their own took */
    double others;
} spgemm_group;

/* One product; *us is what it took. 0: it did not succeed, and the record says why. */
int spgemm_run(spgemm_group *group, spgemm_case *c, double *us);
/* Gives the last C back. */
void spgemm_release(spgemm_case *c);

/* The first product, with its time, compared with what it must be. */
void spgemm_check(spgemm_group *group, spgemm_case *c);
/* The same bits as in the first product? */
void spgemm_recheck(spgemm_group *group, spgemm_case *c);

/* Times all cases that passed, in turn. 0: out of memory. */
int spgemm_measure(spgemm_group *group);
