/*
 * The benchmark as the command line starts it: options in, records out by a callback. It stands on spry/spry.h alone.
 *
 * Protocol. Every case (a kernel or a peer on one matrix and type) is first checked: y is filled with
 * NaN, one product is made with beta = 0 and compared row by row under the library's error bound; then a
 * product with other alpha and beta. Cases that pass are timed in turns, five times round all of them,
 * so that whatever drifts on the machine drifts for all: a turn is a few untimed runs, which bring the
 * case's data back into the caches, then at least five batches of at least 1 ms. The median, mean,
 * minimum and quartile distance of the batches are kept. Cold: one run a batch, caches flushed before it.
 * Set-up, first run and steady state are told apart. A product whose bits are those of one that was compared
 * before, of the same matrix, x, alpha and beta, is right without a second comparison.
 *
 * Methods that iterate are timed by whole solves (solver.h).
 *
 * In place of turns and batches, bench_options.runs takes a short protocol: untimed runs, then so many timed one by
 * one, one case after the other.
 */
#pragma once

#include "common/record.h"
#include "common/text_list.h"
#include "spry/io.h"
#include "spry/spry.h"

typedef struct bench_source {
    char name[256];
    char path[4096];  /* what spry_matrix_read takes; "": not to be had, */
    char reason[512]; /* for this reason */
} bench_source;

/*
 * What an operation multiplies A, or its transpose, by: a vector (spmv), several (spmm), or A again (spgemm); or the
 * method whose iterations multiply with it (cg, pagerank).
 */
typedef enum bench_factor { BY_A_VECTOR, BY_COLUMNS, BY_A_MATRIX, IN_CG, IN_PAGERANK } bench_factor;
bench_factor bench_factor_of(const char *op);
int bench_iterates(const char *op); /* 1: cg or pagerank */

/* ---- peers: other libraries' kernels, in modules that are loaded ---------------------------------- */

typedef struct bench_peers bench_peers;
/* Loads every module there is and lists those that ought to be there. NULL: out of memory. */
bench_peers *bench_load_peers(void);
void bench_release_peers(bench_peers *peers);
/* The name of kernel number `peer`, NULL behind the last, and what it multiplies A by. */
const char *bench_peer_name(const bench_peers *peers, int peer, bench_factor *factor);

/* ---- a run ---------------------------------------------------------------------------------------- */

/* Types that matrices are measured in, one after the other: of stored values, and of vectors. */
typedef struct bench_types {
    spry_type stored, vectors;
    const char *name; /* "f64", or of two types "f32:f64" */
} bench_types;
enum { BENCH_TYPES = 5 };
extern const bench_types bench_all_types[BENCH_TYPES]; /* f64, f32, f32:f64, bf16:f32, f16:f32 */

/* The plan that "auto" chose, and the default plan in csr for the same number of calls. */
typedef struct bench_choice {
    record taken, csr;
    int taken_case, csr_case; /* indices of the records of the matrix that have the times of the two plans */
    int64_t calls;            /* number of products that both plans were made for; 0: many */
} bench_choice;

/* Matrices of a benchmark, and how they are read. */
typedef struct bench_input {
    const bench_source *sources;
    int source_count;
    spry_index_type index[2];  /* of offsets and of columns */
    spry_read_options reading; /* of edge lists and duplicates; types are the benchmark's */
    int64_t at_once;           /* matrices read and reordered at once, in the preparer's context; 0, 1: one by one */
    spry_context *preparer;    /* of one thread */
} bench_input;

/* The operation, and the numbers of vectors and the types to measure. */
typedef struct bench_operation {
    const char *op;        /* "spmv", "spmv_t", "spmm", "spmm_t", "spgemm", "cg", "pagerank" */
    const int64_t *counts; /* of vectors, with op spmm and spmm_t */
    int counts_length;
    int row_major;            /* 1: vectors are row-major; 0: column-major */
    const bench_types *types; /* the widest first; two types only for products of values with vectors */
    int type_count;
    int pattern; /* 1: values are left out; peers get ones. Not with op "spgemm", "cg" */
} bench_operation;

/* Plans and peers that are measured. */
typedef struct bench_candidates {
    text_list formats;        /* names, with parameters or without, or "auto" */
    int all_kernels;          /* 1: every kernel of every format instead */
    text_list kernels;        /* by name, peers' too */
    const bench_peers *peers; /* NULL: none */
    /*
     * One after another: "none"; an ordering, by which the matrix is reordered for everybody; "plan-" and a method, by
     * which this library's plans renumber x and y themselves; "bandk2", "bandk3" and "bandk4": Band-k of that k, only
     * for csr2, csr3 or csr4; or "by-format": csr2, csr3 and csr4 as given and by Band-k, all others as given and by
     * RCM; "by-k": the same, each by the Band-k of its own k.
     */
    text_list orderings;
    const char *device; /* "cpu", "cuda", "all" */
    int arrays_on_gpu;  /* 1: plans for a GPU get the matrix in its memory. Not with orderings of plans, or for peers */
    int64_t calls;      /* products that plans are to expect; 0: many */
    int64_t updates;    /* and updates of values */
    const char *policy; /* of "auto"; NULL: the library's default */
    int64_t memory_limit; /* bytes that a plan may own, instead of the padding guard; 0: none */
} bench_candidates;

/* How cases are timed. */
typedef struct bench_protocol {
    int64_t runs;               /* runs timed one by one, after 5 that are not; 0: turns and batches */
    int cold;                   /* 1: caches are flushed before every run */
    int skip_bandwidth;         /* 1: the copy bandwidth is not measured, and there is no roof */
    int64_t seconds;            /* after which no matrix is begun, and the rest is skipped; 0: no limit */
    spry_context *const *fewer; /* contexts with fewer threads, for the matrix as given and the CPU */
    int fewer_count;
    /*
     * 1: records for bench/regret.py. All deterministic kernels and published sizes of formats run, and emit_choices
     * reports what "auto" chooses. Records name formats with their parameters, and give the least of three set-up times
     * if set-up is short. Not with op "spgemm", orderings or fewer threads.
     */
    int regret;
} bench_protocol;

/* Functions that receive what the benchmark finds. */
typedef struct bench_receiver {
    /* Called with the records of a matrix, type and ordering when they are complete. Not 0: stop. */
    int (*emit)(void *user, const record *records, int count);
    /* With regret, called after emit: what "auto" chose for the matrix and type. Not 0: stop. */
    int (*emit_choices)(void *user, const bench_choice *choices, int count);
    /* Called with what begins, and with sentences on what the times are worth; NULL: not. */
    void (*progress)(const char *text);
    void (*note)(const char *text);
    /* Called after each turn with the share of turns that are done, of a matrix, type and ordering; NULL: not. */
    void (*turns)(void *user, double share);
    /* Called when a matrix cannot be read (reading 1) or prepared; it has a failed record too. */
    void (*complain)(void *user, const spry_error *err, int reading);
    void *user;
} bench_receiver;

typedef struct bench_options {
    spry_context *context;
    bench_input input;
    bench_operation operation;
    bench_candidates candidates;
    bench_protocol protocol;
    bench_receiver receiver;
} bench_options;

/* 1: the format, or a kernel of it, is named, or all are. Of csr2, csr3 and csr4. */
int bench_asks_for(const bench_options *options, const char *format);

/* SPRY_OK even when cases fail; otherwise what stopped it. */
spry_status bench_run(const bench_options *options, spry_error *err);
