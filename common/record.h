/* A record: what became of one kernel on one matrix, as the JSON lines show it. */
#pragma once

#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/spry.h"
#include "spry/study.h"

#include <stdbool.h>
#include <stdio.h>

/* Stages of a product of two matrices, as spry_spgemm_info has them, and reading the matrix's file before it. */
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
    const char *class_name; /* "regular", "irregular" or "" */
    int twin;               /* 1: generated in the place of a real matrix */
    const char *type, *index;
} record_input;

/* The plan or the peer that was timed. */
typedef struct record_method {
    char device[32], format[64], kernel[128], ordering[32]; /* format and kernel may be followed by parameters */
    int threads, peer, deterministic;
    const char *policy; /* by which "auto" decided: "cost", "tree", ...; NULL: the format was named */
    int fewer_threads;  /* 1: with fewer threads than the benchmark's; not in the JSON lines */
} record_method;

/* Set-up and predictions, in us. */
typedef struct record_cost {
    double setup_us, upload_us;
    double baseline_us, predicted_us; /* of a run, in csr and in the plan */
    double update_us;                 /* of an update; NaN: not measured */
    int64_t break_even;               /* runs; -1: never, or not known */
} record_cost;

/* Measured times of a run, or with op cg and pagerank of an iteration. */
typedef struct record_time {
    int disturbed; /* 1: other programs used a good part of the processors meanwhile */
    double first_us, median_us, mean_us, min_us, spread_us;
    int64_t iterations; /* of a solve, with op cg and pagerank */
    int64_t runs;
    const char *state; /* "warm", "cold" */
} record_time;

/*
 * Rates of a run. With op spmv and spmv_t, gflops count two operations per entry, gbps the bytes of plain CSR, x and y
 * once, and bytes the plan's storage. With op spmm and spmm_t, operations and bytes of x and y are those of all
 * vectors. With op spgemm, gflops count two operations per product of entries, gbps the bytes of A and C once, and
 * bytes those of C. With op cg and pagerank, gflops count the product's operations, gbps its bytes and the least that
 * the method's vectors take.
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
    double stages[RECORD_STAGES]; /* us; medians of some runs, which need not be those of time.median_us */
    int unsorted;                 /* 1: rows of C were left unsorted, for the given reason; not in the JSON lines */
} record_product;

/* Unknown: an empty string, -1 for whole numbers and flags, NaN for the rest. */
typedef struct record {
    const char *op;     /* "spmv", "spmv_t", "spmm", "spmm_t", "spgemm", "cg", "pagerank" */
    int64_t count;      /* vectors x and y, with op spmm and spmm_t */
    const char *layout; /* "row" or "column", whichever is contiguous, with op spmm and spmm_t; else NULL */
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

void record_init(record *r);
/* The sizes, class, type and index pair of a matrix. */
spry_status record_describe(record *r, const spry_matrix *A, spry_error *err);
/* Updates a plan, so that its info has the time of an update. Plans of containers refuse updates and have none. */
void measure_update(spry_spmv_plan *plan);
/* Fills in a plan's info, its format included. */
spry_status record_take_plan(record *r, const spry_spmv_plan *plan, spry_error *err);
/* The stages of a product, but for reading. */
void record_take_stages(record *r, const spry_spgemm_stages *stages);
/* The status and why. Returns 0, as a case that cannot be measured does. */
int record_fail(record *r, record_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *record_status_name(record_status status);

/* "regular": the variance of the row lengths is at most 10, as the CSR-k study has it; else "irregular". */
const char *row_length_class(const spry_matrix_stats *stats);
const char *index_pair_name(const spry_arrays *a); /* "32/32" */

/* A field that is an array, cut where it is too short; NULL counts as "". */
#define RECORD_TEXT(field, text) snprintf((field), sizeof(field), "%s", text_or_empty(text))
static inline const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/* True for a kernel of another library. csr_plain is a peer module, but Spry's own textbook loop. */
bool record_is_rival(const record *r);

/* Products after which a case's set-up has paid against base: 0 at once, -1 never, -2 not known. */
int64_t record_break_even(const record *r, const record *base);
