/*
 * The benchmark's interface: options in, records out by a callback. The benchmark uses only public headers of Spry.
 *
 * Protocol. A case is a kernel of Spry or of another library (a peer), run on one matrix and type.
 * Check: y is filled with NaN, then one product with beta = 0 is compared row by row with a reference, within the
 * library's error bound. For kernels of Spry, a product with other alpha and beta is also compared. If a case repeats
 * the bits of a compared product of the same matrix, x, alpha and beta, it is correct without a comparison.
 * Timing: cases that pass are timed in five rounds over all cases, so that drift of the machine affects all cases. In
 * each round a case has a few untimed runs, which fill the caches, then at least five batches of at least 1 ms. Records
 * have the median, mean, minimum and quartile distance of the batches, and separate times of set-up and first run.
 * Cold: each batch is one run, with caches flushed before it.
 *
 * Iterative methods are timed by whole solves (solver.c).
 *
 * The short protocol (bench_protocol.runs) measures products with vectors case by case, without rounds. A case has
 * untimed runs, then at most bench_protocol.runs timed samples. A sample is one run on the CPU, or a short batch of
 * runs on a GPU.
 */
#pragma once

#include "common/record.h"
#include "common/text_list.h"
#include "spry/io.h"
#include "spry/spry.h"

typedef struct bench_source {
    char name[256];
    char path[4096];  /* path for open_matrix; "": the matrix is not available */
    char reason[512]; /* why it is not available */
} bench_source;

/*
 * What an operation does with A or its transpose. It multiplies the matrix by a vector (spmv), by multiple vectors
 * (spmm) or by A (spgemm), or runs an iterative method with the matrix (cg, pagerank).
 */
typedef enum bench_factor { BY_A_VECTOR, BY_COLUMNS, BY_A_MATRIX, IN_CG, IN_PAGERANK } bench_factor;
bench_factor bench_factor_of(const char *op);
bool bench_adds(const char *op);     /* returns true for spmv_add, y = A*x + y */
bool bench_iterates(const char *op); /* returns true for cg and pagerank */

/* ---- peers: kernels of other libraries, in loaded modules ----------------------------------------- */

typedef struct bench_peers bench_peers;
/* Loads all modules and lists missing ones. Returns NULL if memory is short. */
bench_peers *bench_load_peers(void);
void bench_release_peers(bench_peers *peers);
/* Returns the name of kernel number `peer` and stores its factor in *factor. Returns NULL after the last kernel. */
const char *bench_peer_name(const bench_peers *peers, int peer, bench_factor *factor);

/* ---- a run ---------------------------------------------------------------------------------------- */

/* Types of the stored values and of the vectors in one measurement. */
typedef struct bench_types {
    spry_type stored, vectors;
    const char *name; /* "f64", or "f32:f64" for two types */
} bench_types;
enum { BENCH_TYPES = 5 };
extern const bench_types bench_all_types[BENCH_TYPES]; /* f64, f32, f32:f64, bf16:f32, f16:f32 */

/* The plan that "auto" chose, and, for comparison, the default plan in csr for the same number of calls. */
typedef struct bench_choice {
    record chosen, csr;
    int chosen_case, csr_case; /* indices, among the matrix's records, of the two records with the plans' times */
    int64_t calls;             /* number of products that both plans expect; 0: many */
} bench_choice;

/* Matrices of a benchmark, and options for reading them. */
typedef struct bench_input {
    const bench_source *sources;
    int source_count;
    spry_index_type index[2];  /* types of offsets and columns */
    spry_read_options reading; /* for edge lists and duplicates; the benchmark sets the types */
    int64_t at_once;           /* number of matrices prepared in parallel by the preparer; 0 or 1: one by one */
    spry_context *preparer;    /* context with one thread, in which matrices are prepared in parallel */
} bench_input;

/* The operation, and the numbers of vectors and the types to measure. */
typedef struct bench_operation {
    const char *op;        /* "spmv", "spmv_t", "spmv_add", "spmm", "spmm_t", "spgemm", "cg", "pagerank" */
    const int64_t *counts; /* numbers of vectors, with op spmm and spmm_t */
    int counts_length;
    bool row_major;           /* true: multiple vectors are row-major; false: column-major */
    const bench_types *types; /* widest first; stored and vectors may differ only in products with vectors */
    int type_count;
    /* A's values are dropped, and peers get values that are all 1. Not with op "spgemm" or "cg". */
    bool pattern;
} bench_operation;

/* Plans and peers to measure. */
typedef struct bench_candidates {
    text_list formats;        /* names, optionally with parameters, or "auto" */
    bool all_kernels;         /* measure every kernel of every format, not `formats` */
    text_list kernels;        /* names of kernels of Spry and of peers */
    const bench_peers *peers; /* NULL: none */
    /*
     * Orderings, measured one after another.
     * "none": cases run on the matrix as given.
     * "rcm" or another method: all cases run on the reordered matrix.
     * "plan-rcm" and so on: plans of Spry reorder the matrix, and permute x and y in each product.
     * "bandk2", "bandk3", "bandk4": only csr2, csr3 or csr4 runs, on the matrix reordered by Band-k with this k.
     * "by-format": all formats run on the matrix as given. Then csr2, csr3 and csr4 run with Band-k, others with RCM.
     * "by-k": like by-format, but Band-k has 2, 3 or 4 levels for csr2, csr3 or csr4.
     */
    text_list orderings;
    const char *device;   /* "cpu", "cuda", "all" */
    int arrays_on_gpu;    /* set by CLI_CHOICE; 1: GPU plans get A in GPU memory. Not for peers and plan-* orderings */
    int64_t calls;        /* number of products that each plan expects; 0: many */
    int64_t updates;      /* number of value updates that each plan expects */
    const char *policy;   /* policy of "auto"; NULL: the library's default */
    int64_t memory_limit; /* memory limit of a plan in bytes. It replaces the limit on padding. 0: none */
} bench_candidates;

/* Timing of cases. */
typedef struct bench_protocol {
    int64_t runs;        /* timed samples of the short protocol, after 5 untimed runs; 0: not the short protocol */
    bool cold;           /* caches are flushed before every run */
    bool skip_bandwidth; /* the copy bandwidth is not measured, and record_rates.roof is not known */
    int64_t seconds;     /* time limit: matrices that would start later are skipped; 0: no limit */
    /* Contexts with fewer threads. The CPU's cases run again with each of them. */
    spry_context *const *fewer;
    int fewer_count;
    /*
     * Measures what bench/regret.py needs. All deterministic kernels run, and also formats with parameters from
     * publications. emit_choices reports the choices of "auto". Records name formats with their parameters. If set-up
     * is short, records have the least of three set-up times. Not with op "spgemm", orderings or fewer threads.
     */
    bool regret;
} bench_protocol;

/* Callbacks for the results. */
typedef struct bench_receiver {
    /* Called with the complete records of a matrix, type and ordering. A result other than 0 stops the run. */
    int (*emit)(void *user, const record *records, int count);
    /* With regret, called after emit with the choices of "auto". A result other than 0 stops the run. */
    int (*emit_choices)(void *user, const bench_choice *choices, int count);
    /*
     * progress is called with the name of each step that begins. note is called with warnings about times. Each may be
     * NULL.
     */
    void (*progress)(const char *text);
    void (*note)(const char *text);
    /* Called after each round with the completed share of the rounds of a matrix, type and ordering. May be NULL. */
    void (*rounds)(void *user, double share);
    /*
     * Called if a matrix cannot be read (reading is 1) or prepared (reading is 0). Such a matrix also has a failed
     * record.
     */
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

/*
 * Returns true if the options select `format` (csr2, csr3 or csr4) by its name, by one of its kernels, or by
 * all_kernels.
 */
bool bench_asks_for(const bench_options *options, const char *format);

/* Runs the benchmark. Returns SPRY_OK after a complete run, even if cases failed, else the error that stopped it. */
spry_status bench_run(const bench_options *options, spry_error *err);
