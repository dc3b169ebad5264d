/* The record of one kernel on one matrix, written as one JSON line. */
#pragma once

#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/spry.h"
#include "spry/study.h"

#include <stdbool.h>
#include <stdio.h>

/* Stages of a product of two matrices: reading the file, then the stages of spry_spgemm_stages. */
typedef enum record_stage {
    STAGE_READ,
    STAGE_CONVERT,
    STAGE_COUNT,
    STAGE_SCAN,
    STAGE_FILL,
    STAGE_SORT,
    RECORD_STAGES
} record_stage;
extern const char *const record_stage_names[RECORD_STAGES]; /* "read", ... */

typedef enum record_status { RECORD_OK = 0, RECORD_WRONG, RECORD_SKIPPED, RECORD_FAILED } record_status;

/* The matrix of a record. */
typedef struct record_input {
    char name[256];
    const char *path; /* "gen:..." or a file; NULL: not known */
    int64_t rows, columns, nnz;
    int64_t distinct_values; /* values with different bits; -1: over 4096, no values, or not in host memory */
    const char *class_name;  /* "regular", "irregular" or "" */
    int twin;                /* 1: generated in place of a real matrix */
    const char *type, *index;
} record_input;

/* The plan of Spry, or the kernel of another library (peer), that was timed. */
typedef struct record_method {
    char device[32], format[64], kernel[128], ordering[32]; /* parameters may follow the format and the kernel */
    int threads, peer, deterministic;
    const char *policy; /* policy of "auto": "cost", "tree", ...; NULL: the format was named */
    bool fewer_threads; /* the run used fewer threads than the benchmark; not in the JSON lines */
} record_method;

/* Set-up and predictions, in us. */
typedef struct record_cost {
    double setup_us, upload_us;
    double baseline_us, predicted_us; /* predicted times of one run, with csr and with the plan */
    double update_us;                 /* measured time of one update; NaN: not measured */
    int64_t break_even; /* runs until the plan is ahead of csr, set-up included; -1: never, or not known */
} record_cost;

/* Measured times of one run; with op cg and pagerank, of one iteration. */
typedef struct record_time {
    int disturbed; /* 1: other programs used at least DISTURBED_SHARE of the processors */
    double first_us, median_us, mean_us, min_us, spread_us;
    int64_t iterations; /* iterations of one solve, with op cg and pagerank */
    int64_t runs;
    const char *state; /* "warm", "cold" */
} record_time;

/*
 * Rates of one run. copy_gbps is the copy bandwidth of the device. roof is gbps / copy_gbps.
 *
 * spmv, spmv_t: gflops count two operations per entry. gbps counts the bytes of plain CSR, x and y once. bytes is the
 * size of the plan's storage.
 *
 * spmm, spmm_t: operations and bytes of x and y are counted for all vectors.
 *
 * spgemm: gflops count two operations per product of entries. gbps counts the bytes of A and C once. bytes is the size
 * of C.
 *
 * cg, pagerank: gflops count the operations of the product. gbps counts the bytes of the product and the least traffic
 * of the method's vectors.
 */
typedef struct record_rates {
    double gflops, gbps, copy_gbps, roof;
    int64_t bytes;
} record_rates;

/* The product of two matrices. */
typedef struct record_product {
    int64_t products, nnz_c;
    double compression;
    int64_t peak_bytes;
    double stages[RECORD_STAGES]; /* medians in us; the runs may differ from those of time.median_us */
    bool unsorted;                /* rows of C were left unsorted, as record.reason states; not in the JSON lines */
} record_product;

/* Unknown fields are an empty string, -1 (integers and flags) or NaN. */
typedef struct record {
    const char *op;     /* "spmv", "spmv_t", "spmm", "spmm_t", "spgemm", "cg", "pagerank" */
    int64_t count;      /* number of vectors, with op spmm and spmm_t */
    const char *layout; /* "row" or "column" (the contiguous direction) with op spmm and spmm_t; else NULL */
    record_input input;
    record_method method;
    record_cost cost;
    record_time time;
    record_rates rates;
    double max_error;
    record_status status;
    char reason[512];
    record_product product;
} record;

/* Sets all fields to unknown. */
void record_init(record *r);
/* Fills in the sizes, class, type and index pair of a matrix. */
spry_status record_describe(record *r, const spry_matrix *A, spry_error *err);
/*
 * Updates a plan, so that its info has the time of an update. Plans of containers refuse updates, so their info has no
 * such time.
 */
void measure_update(spry_spmv_plan *plan);
/* Fills in the method, costs and storage of a plan. */
spry_status record_take_plan(record *r, const spry_spmv_plan *plan, spry_error *err);
/* Fills in the stages of a product, except reading. */
void record_take_stages(record *r, const spry_spgemm_stages *stages);
/* Sets the status and its reason. Returns 0, for callers that return 0 for a case that cannot be measured. */
int record_fail(record *r, record_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *record_status_name(record_status status);

/* Returns "regular" if the variance of the row lengths is at most 10 (the CSR-k study's rule), else "irregular". */
const char *row_length_class(const spry_matrix_stats *stats);
const char *index_pair_name(const spry_arrays *a); /* "32/32" */

/* Copies text to a char array, truncated to its size; NULL counts as "". */
#define RECORD_TEXT(field, text) snprintf((field), sizeof(field), "%s", text_or_empty(text))
static inline const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/*
 * Returns true for a kernel of another library. Returns false for the peer csr_plain, which is Spry's own textbook
 * loop.
 */
bool record_is_rival(const record *r);

/*
 * Returns the number of products after which r has taken less time than base, set-up times of r and base included.
 * Returns 0 if r never takes more time, -1 if r never takes less time, and -2 if this is not known.
 */
int64_t record_break_even(const record *r, const record *base);
