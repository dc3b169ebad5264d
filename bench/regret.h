/*
 * What the choice of "auto" loses: the arithmetic, on records alone.
 *
 * The cost of N calls is the set-up, without the upload of data to a device, and N times the time of a product. auto
 * makes a plan for N calls; its loss is its cost over the least one of all deterministic kernels that ran on the same
 * matrix. auto's own plan and the default plan in csr are among them, so no loss is below 1. For many calls the time of
 * a product alone counts.
 */
#ifndef SPRY_BENCH_REGRET_H
#define SPRY_BENCH_REGRET_H

#include "common/record.h"

/* Calls that auto is told, each a column of the report; 0: many. */
enum { REGRET_CALLS = 5 };
extern const int64_t regret_calls[REGRET_CALLS];

/* What a plan took to make, with the upload in it, and what a product takes. */
typedef struct regret_plan {
    double setup_us, upload_us, time_us, spread_us;
} regret_plan;

/* What auto took for a matrix and a number of calls. Texts that are pointers live as long as the report. */
typedef struct regret_choice {
    const char *op, *type, *index;
    char matrix[256], device[32], ordering[32];
    const char *policy;
    int64_t calls;
    char format[64], kernel[128]; /* the format with its parameters */
    char csr_kernel[128];
    regret_plan taken, csr; /* csr: the default plan in that format, told of as many calls */
    double predicted_us, baseline_us;
    int64_t break_even; /* as predicted; -1: never */
} regret_choice;

/* A choice and what it loses; NaN: not known, since it was not measured. */
typedef struct regret_case {
    regret_choice choice;
    double loss, over_csr;
    char best_format[64], best_kernel[128]; /* of the least cost */
    double best_us;                         /* that cost: of all calls, or of one where they are many */
} regret_case;

/* A peer's cost over auto's for one case. */
typedef struct regret_against {
    int of; /* the case's number */
    char peer[64];
    double ratio;
    int slower; /* 1: auto costs over 5 % more, and more than the spread of either */
} regret_against;

typedef struct regret_report {
    regret_case *cases;
    int case_count;
    regret_against *against;
    int against_count;
} regret_report;

/* Of `calls` products, or of one where they are many (0). */
double regret_cost(const regret_plan *plan, int64_t calls);
double regret_geometric_mean(const double *values, int count);     /* NaN where there are none */
double regret_percentile(double *values, int count, double share); /* sorts; between neighbours by their distance */

/*
 * Adds the choices of one matrix and type, whose records are all that ran on it. Of the policies the first is the one
 * that peers are compared with. 0: out of memory.
 */
int regret_add(regret_report *report, const record *records, int count, const regret_choice *choices, int choice_count);
void regret_release(regret_report *report);

/* ---- sums ----------------------------------------------------------------------------------------- */

/* All cases of an operation, device, type, policy and number of calls. */
typedef struct regret_sum {
    const regret_choice *of; /* one of them */
    int cases;
    double mean, percentile95, worst;
    double csr_mean, csr_worst; /* auto's cost over csr's */
    int csr_behind;             /* cases that are over 5 % behind csr */
    const char *worst_matrix, *csr_worst_matrix;
} regret_sum;

/* A peer beside all of these. */
typedef struct regret_peer_sum {
    const regret_choice *of;
    const char *peer;
    int cases, slower;
    double mean, least;
    const char *least_matrix;
} regret_peer_sum;

/*
 * How right predictions are, of one operation, device, type and policy, for many calls: the predicted time over the
 * measured one, on a CPU each as a share of csr's.
 */
typedef struct regret_prediction {
    const regret_choice *of;
    int cases, within_15, within_2;                /* within 15 %, and a factor of 2 */
    int others, others_within_15, others_within_2; /* where another format than csr was taken */
    int gains, right; /* cases that gain 10 % or more over csr; of these, break-even right within 1.5 */
} regret_prediction;

/* Each makes a list in the order of first appearance, to be freed. NULL with *count 0: none; with -1: out of memory. */
regret_sum *regret_sums(const regret_report *report, int *count);
regret_peer_sum *regret_peer_sums(const regret_report *report, int *count);
regret_prediction *regret_predictions(const regret_report *report, int *count);

/* The predicted time over the measured one; NaN: not known. */
double regret_prediction_error(const regret_choice *c);
/* 1: the predicted break-even is within 1.5 of the one by times measured; 0: it is not; -1: auto gains too little. */
int regret_break_even_is_right(const regret_choice *c);

#endif
