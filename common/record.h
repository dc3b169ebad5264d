/* A record: what became of one kernel on one matrix. The fields are those of the JSON lines, in their order. */
#pragma once

#include "spry/spry.h"
#include "spry/tools.h"

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

/*
 * Unknown: an empty string, -1 for whole numbers and flags, NaN for the rest. With op spmv and spmv_t, gflops count two
 * operations an entry, gbps the bytes of plain CSR, x and y once, and bytes the plan's storage; with op spmm and spmm_t
 * the operations and the bytes of x and y are those of all columns. With op spgemm, gflops count two operations a
 * product of entries, gbps the bytes of A and C once, and bytes those of C. With op cg and pagerank all of them and the
 * times are those of an iteration: gflops count the product's operations, gbps its bytes and those that the method's
 * vectors take at the least; first_us is the whole first solve.
 */
typedef struct record {
    const char *op;     /* "spmv", "spmv_t", "spmm", "spmm_t", "spgemm", "cg", "pagerank" */
    int64_t columns;    /* of x and y: of op spmm and spmm_t alone, as */
    const char *layout; /* "row" or "column", which lie one behind the other; NULL: another op */
    char matrix[256];
    const char *path; /* that the matrix was read from, "gen:..." or a file; NULL: not known */
    int64_t rows, cols, nnz;
    const char *class_name; /* "regular", "irregular" or "" */
    int twin;               /* 1: generated in the place of a real matrix */
    const char *type, *index;
    char device[32];
    int threads;
    char format[64], kernel[128], ordering[32]; /* format and kernel may have their parameters behind them */
    int peer, deterministic;
    double setup_us, upload_us;
    double baseline_us, predicted_us; /* predictions of a run, in csr and in the plan */
    double update_us;                 /* of the last update, predicted where there was none */
    int64_t break_even;               /* runs; -1: never, or not known */
    const char *policy;               /* by which "auto" decided: "cost", "tree", ...; NULL: the format was named */
    int disturbed;                    /* 1: other programs had a good part of the processors while it was timed */
    double first_us, time_us, mean_us, min_us, spread_us;
    int64_t iterations; /* of op cg and pagerank: of a solve, so many of which are timed, as */
    int64_t runs;
    const char *state; /* "warm", "cold" */
    double gflops, gbps, copy_gbps, roof;
    int64_t bytes;
    double max_error;
    record_status status;
    char reason[512];
    int64_t products, nnz_c; /* these and the next three: of op spgemm alone */
    double compression;
    int64_t peak_bytes;
    double stages[RECORD_STAGES]; /* us; medians of some runs, which need not be those of time_us */
    /* Not in the JSON lines: */
    int fewer_threads; /* 1: made with fewer threads than the run's */
    int unsorted;      /* 1: rows of C were left unsorted; the reason tells */
} record;

void record_init(record *r);
/* The sizes, class, type and index pair of a matrix. */
spry_status record_describe(record *r, const spry_matrix *A, spry_error *err);
/* What a plan tells of itself, its format included. */
spry_status record_take_plan(record *r, const spry_spmv_plan *plan, spry_error *err);
/* The stages of a product, but for reading. */
void record_take_stages(record *r, const spry_spgemm_info *info);
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
