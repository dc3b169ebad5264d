/* Shared by the benchmark's own files; nothing of it is seen outside. */
#pragma once

#include "bench/bench.h"
#include "bench/peer.h"
#include "common/disturbance.h"
#include "common/input.h"
#include "common/parallel.h"

/* ---- a run ---------------------------------------------------------------------------------------- */

typedef struct bench_session {
    const bench_options *options;
    spry_context *context;
    double copy_gbps;     /* NaN: not measured */
    double gpu_copy_gbps; /* of device 1, measured when it is first needed; 0: not yet, NaN: it had no memory for it */
    char *flush;          /* of flush_bytes, NULL when warm */
    int64_t flush_bytes;
    int stopped; /* 1: records could not be handed on */
} bench_session;

/* A peer's kernel, or what is known of one that cannot be had. */
typedef struct bench_peer {
    char module[32], version[32], name[64], format[32], device[32];
    bench_factor factor;            /* what it multiplies A by: a matrix */
    const spry_peer_spgemm *spgemm; /* has this, a method that iterates */
    const spry_peer_solver *solver; /* this, others */
    const spry_peer_kernel *kernel; /* this. All NULL: not to be had, for this reason: */
    char reason[384];
} bench_peer;

struct bench_peers {
    bench_peer *items;
    int count;
    char folder[4096];
};

/* Skipped, where a peer does not offer what is asked of it; else failed. */
record_status bench_status_of_peer(int answer);
/* A call of a peer's prepare. */
typedef struct peer_preparation {
    spry_peer_cost cost;
    spry_peer_error error;
    double start;
    int result;
} peer_preparation;
peer_preparation bench_begin_preparing(int threads, int deterministic);
/* Fills the record from the costs. Returns 0 after a failure: the state is destroyed, the record has the reason. */
int bench_end_preparing(const peer_preparation *p, record *r, const bench_peer *peer, const char *title, void **state,
                        void (*destroy)(void *state));
/* CSR in host memory as peers take it. */
spry_peer_matrix bench_peer_matrix(const spry_arrays *a);

/* Who runs under an ordering: csr2 and csr3, whose groups Band-k makes, or all the others. */
typedef enum bench_part { EVERYBODY, CSRK_ALONE, CSRK_NOT } bench_part;

/* A matrix under an ordering, to be measured. */
typedef struct bench_subject {
    const bench_source *source;
    const spry_matrix *A;        /* CSR in host memory with values */
    const char *ordering;        /* for the records */
    double read_us;              /* of reading the matrix's file, with op spgemm; NaN: not known, or generated */
    double reorder_us;           /* time of finding it and of moving the entries: part of each set-up */
    const spry_ordering *groups; /* of Band-k, for csr2, csr3 and csr4 on groups_device; NULL: none */
    const char *groups_device;   /* whose sizes they have */
    const char *plan_ordering;   /* of this library's plans, on A as given; NULL: none */
    bench_part part;
    int k;              /* 2, 3 or 4: Band-k's of that k (bandk2 and so on), for csr2, csr3 or csr4 alone; 0: any */
    const char *device; /* of the cases */
    int64_t count;      /* vectors, with op spmm and spmm_t; else 0 */
    const bench_types *types; /* of A's values and of vectors */
} bench_subject;

/* ---- choosing cases (choose.c) -------------------------------------------------------------------- */

int bench_device_is_there(const bench_session *session, const char *kind); /* 1: "cpu" or "cuda" can be used */
/*
 * 1: what runs on `kind` belongs to the cases of device `wanted`. With "all", what needs a GPU is not listed where
 * there is none, unless it is named.
 */
int bench_device_fits(const bench_session *session, const char *wanted, const char *kind, int named);
/* 1: the p-th peer runs: it is one of the operation and device, and named where any is named. */
int bench_wants_peer(const bench_session *session, const char *device, int p);
/* Skipped, where the library tells what it cannot do (yet, here, or without wasting memory); else failed. */
record_status bench_status_of(spry_status status);

/* ---- results (result.c) --------------------------------------------------------------------------- */

/* Fills in what is known of a record before its matrix is read. */
void bench_begin_record(const bench_session *session, record *r, const bench_source *source);
/* Fills in the fields that all records of a subject have in common. */
spry_status bench_describe(const bench_session *session, record *r, const bench_subject *subject, spry_error *err);
/*
 * For op "spmv" and others with bench_options.pattern: creates *pattern, the structure of a, and replaces the values of
 * a by *ones, for peers and checks. The caller releases both, also after a failure.
 */
spry_status bench_leave_out_values(const bench_session *session, spry_arrays *a, spry_matrix **pattern, void **ones,
                                   record *common, spry_error *err);

typedef struct bench_summary {
    double median, mean, min, spread;
} bench_summary;

/* 1: the case goes on: nothing went wrong with it. */
static inline int is_live(const record *r)
{
    return r->status == RECORD_OK;
}

/* Sorts values. count >= 1. Quartiles by linear interpolation. */
bench_summary bench_summarise(double *values, int count);
/* Fills in the times of a record by its samples, and the rates by the operations and bytes of a run. */
void bench_fill_times(record *r, double *samples, int count, double operations, double bytes);

/*
 * Hands on the records of `count` cases, structs of `stride` bytes that begin with one. Adds the time of reordering and
 * the share of the processors that others had.
 */
spry_status bench_emit(bench_session *session, const bench_subject *subject, void *cases, size_t stride, int count,
                       double others, spry_error *err);
/* Hands on records as they are. */
spry_status bench_hand_on(bench_session *session, const record *records, int count, spry_error *err);

/* Fills in an error, where one is wanted. Returns its status. */
spry_status bench_fail(spry_error *err, spry_status status, const char *message);
spry_status bench_out_of_memory(spry_error *err);
uint64_t bench_hash_bytes(const void *data, size_t bytes, int threads); /* the same whatever the threads */

/* ---- measuring ------------------------------------------------------------------------------------ */

/* Measures the first GPU's copy bandwidth once for all cases; too little memory there is no failure. */
spry_status bench_measure_gpu_copy(bench_session *session, spry_error *err);
/* Writes every line of the flush buffer, so that no cache holds anything of the matrix. */
void bench_flush_caches(const bench_session *session);

/* All cases of A*x in one type and number of vectors, of A*A (spgemm.c), or of a method (solver.c); their records. */
spry_status bench_spmv(bench_session *session, const bench_subject *subject, spry_error *err);
spry_status bench_spgemm(bench_session *session, const bench_subject *subject, spry_error *err);
spry_status bench_solvers(bench_session *session, const bench_subject *subject, spry_error *err);

/* ---- a matrix on the first GPU (device_matrix.c) ------------------------------------------------------ */

typedef struct device_matrix {
    spry_matrix *A; /* NULL: not made yet */
    void *arrays[3];
    double upload_us;
} device_matrix;

/* From CSR in host memory; nothing is done where it is there. After a failure it may be tried again. */
spry_status device_matrix_make(device_matrix *made, spry_context *context, const spry_arrays *host, spry_error *err);
void device_matrix_release(device_matrix *made, const spry_context *context);

/* ---- A*x: a matrix in one type with its vectors and the cases that run on it ------------------------ */

typedef struct spmv_case {
    record record;
    spry_spmv_plan *plan;         /* ours, */
    const spry_peer_kernel *peer; /* or a peer's */
    void *peer_state;
    const double *told_us; /* where a peer tells the time of its last run; NULL: the clock counts */
    int device;            /* where it runs and its vectors are: 0 the CPU, 1 the first GPU */
    int64_t batch_runs;
    double *samples;
    int sample_count;
    int64_t owned_bytes; /* of a plan, with regret */
    int few_calls;       /* 1: planned in csr for so few calls that its columns were not looked at */
    uint64_t y_hash;     /* of the first y: a deterministic kernel must repeat it */
} spmv_case;

/* A product that was found right: y's bits. */
typedef struct known_product {
    uint64_t hash;
    double alpha, beta, max_error;
} known_product;
enum { MOST_KNOWN_PRODUCTS = 32 };

/* Forms of the matrix of a group. */
typedef struct spmv_matrices {
    const spry_matrix *A; /* in host memory */
    spry_matrix *pattern; /* A if values are left out; else NULL */
    device_matrix on_gpu; /* A in the GPU's memory, for plans there, if that was asked for */
    spry_matrix *wide;    /* A with its values in the vectors' type, if they are stored in another; else NULL */
    spry_matrix *checked; /* A by columns, which many transposed products are compared with; NULL: A is */
    spry_arrays arrays;   /* of the vectors' type, for peers; a pattern has ones */
    void *ones;           /* these; else NULL */
    double csr_bytes;     /* of plain CSR: values, columns, offsets, and all vectors x and y once */
} spmv_matrices;

/* Vectors of a group. */
typedef struct spmv_vectors {
    spry_type type;
    int64_t x_length, y_length;
    int64_t count; /* vectors x, and y */
    int row_major; /* 1: row-major; 0: column-major */
    void *x, *y, *y_before;
    void *column;              /* room for a column of x and y, copied from rows to be compared; NULL: not needed */
    void *device_x, *device_y; /* copies on the first GPU, NULL until a case needs them */
} spmv_vectors;

/* Cases of one matrix, type and ordering. */
typedef struct spmv_group {
    bench_session *session;
    spmv_matrices matrices;
    spmv_vectors vectors;
    record common; /* what all records of the group share */
    spry_op op;
    spry_context *planner; /* cases that are added get its threads */
    known_product known[MOST_KNOWN_PRODUCTS];
    int known_count;
    spmv_case *cases;
    int case_count;
    double others;   /* share of the processors that other programs had while the cases were timed, except */
    double children; /* these seconds of peers that report their times, which may be processes of their own */
} spmv_group;

spry_status spmv_group_open(spmv_group *group, bench_session *session, const bench_subject *subject, spry_error *err);
void spmv_group_close(spmv_group *group);

/*
 * Each plans or prepares, checks, and adds a case; its record tells how that went. 0: out of memory. label NULL: the
 * plan's format; device, a name: of a case that cannot be planned.
 */
int spmv_add_plan(spmv_group *group, const spry_spmv_options *options, const char *label, const char *device);
int spmv_add_peer(spmv_group *group, const bench_peer *peer);
int spmv_add_skipped(spmv_group *group, const char *format, const char *kernel, const char *device, const char *reason);

/*
 * spmv_add_plan, which also answers what the plan tells of itself and the number of its case. With regret, a plan that
 * runs the same as an earlier case is none of its own: *number is that one's.
 */
int spmv_add_choice(spmv_group *group, const spry_spmv_options *options, const char *label, const char *device,
                    record *told, int *number);

/* ---- timing ------------------------------------------------------------------------------------------ */

/* y = alpha*op(A)*x + beta*y on the group's vectors. 0: failed, and the record says why. */
int spmv_run(spmv_group *group, spmv_case *c, double alpha, double beta);
/* Waits until a GPU case's runs are done; nothing for the CPU's. 0: failed, and the record says why. */
int spmv_wait(spmv_group *group, spmv_case *c);
/* After timing: y must have the bits of the first product, or still be within the bound where bits may change. */
void spmv_recheck(spmv_group *group, spmv_case *c);
