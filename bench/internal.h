/* Internal header of the benchmark. */
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
    double copy_gbps;     /* copy bandwidth of the CPU; NaN: not measured */
    double gpu_copy_gbps; /* copy bandwidth of the first GPU; 0: not measured yet; NaN: GPU memory was short */
    char *flush;          /* buffer of flush_bytes bytes; NULL if caches stay warm */
    int64_t flush_bytes;
    bool stopped; /* the receiver refused records */
} bench_session;

/* A peer's kernel. One of spgemm, solver and kernel is set; all are NULL if the peer is not available. */
typedef struct bench_peer {
    char module[32], version[32], name[64], format[32], device[32];
    bench_factor factor;
    const spry_peer_spgemm *spgemm; /* for factor BY_A_MATRIX */
    const spry_peer_solver *solver; /* for iterative methods */
    const spry_peer_kernel *kernel; /* for products with vectors */
    char reason[384];               /* why the peer is not available */
} bench_peer;

struct bench_peers {
    bench_peer *items;
    int count;
    char folder[4096];
};

/* Returns RECORD_SKIPPED if the peer does not support the request, else RECORD_FAILED. */
record_status bench_status_of_peer(int answer);
/* A call of a peer's prepare. */
typedef struct peer_preparation {
    spry_peer_cost cost;
    spry_peer_error error;
    double start;
    int result;
} peer_preparation;
peer_preparation bench_begin_preparing(int threads, int deterministic);
/* Fills the record from the costs. After a failure, destroys the state, stores the reason and returns 0. */
int bench_end_preparing(const peer_preparation *p, record *r, const bench_peer *peer, const char *title, void **state,
                        void (*destroy)(void *state));
/* Converts the description of a CSR matrix in host memory to a peer's struct. Shares the arrays. */
spry_peer_matrix bench_peer_matrix(const spry_arrays *a);

/*
 * The formats that run under an ordering. ONLY_CSRK: csr2 and csr3, which use groups of Band-k. EXCEPT_CSRK: all except
 * csr2, csr3 and csr4.
 */
typedef enum bench_part { ALL_FORMATS, ONLY_CSRK, EXCEPT_CSRK } bench_part;

/* A matrix under an ordering, to be measured. */
typedef struct bench_subject {
    const bench_source *source;
    const spry_matrix *A;        /* CSR in host memory with values */
    const char *ordering;        /* name for the records */
    double read_us;              /* time of reading the file, with op spgemm; NaN: not known, or generated */
    double reorder_us;           /* time of computing the ordering and of reordering A; included in each set-up time */
    const spry_ordering *groups; /* groups of Band-k, for csr2, csr3 and csr4 on groups_device; NULL: none */
    const char *groups_device;   /* device for which the sizes of groups were chosen */
    const char *plan_ordering;   /* ordering that Spry's plans apply; A itself is in the given order; NULL: none */
    bench_part part;
    int k;              /* 2, 3 or 4: the ordering is Band-k with this k, and only csr2, csr3 or csr4 runs; else 0 */
    const char *device; /* device of the cases */
    int64_t count;      /* number of vectors with op spmm and spmm_t, else 0 */
    const bench_types *types;
} bench_subject;

/* ---- selection of cases (selection.c) ------------------------------------------------------------- */

bool bench_has_device(const bench_session *session, const char *kind); /* returns true if "cpu" or "cuda" works */
/*
 * Returns true if a case on device `kind` belongs to the requested device `wanted`. If `wanted` is "all" and `kind` is
 * missing, returns `named`, which is true if the user named a kernel.
 */
bool bench_device_fits(const bench_session *session, const char *wanted, const char *kind, bool named);
/* Returns true if peer number p has the operation and the device. If the user named peers, p must be one of them. */
bool bench_wants_peer(const bench_session *session, const char *device, int p);
/* Returns RECORD_SKIPPED for a request that the library does not support or refuses, else RECORD_FAILED. */
record_status bench_status_of(spry_status status);

/* ---- results (result.c) --------------------------------------------------------------------------- */

/* Fills in the fields of a record that are known before its matrix is read. */
void bench_begin_record(const bench_session *session, record *r, const bench_source *source);
/* Fills in the fields that all records of a subject have in common. */
spry_status bench_describe(const bench_session *session, record *r, const bench_subject *subject, spry_error *err);
/*
 * If bench_operation.pattern is set: creates *pattern, the structure of a, and replaces the values of a by *ones, for
 * peers and checks. The caller releases *pattern and *ones, also after a failure.
 */
spry_status bench_leave_out_values(const bench_session *session, spry_arrays *a, spry_matrix **pattern, void **ones,
                                   record *common, spry_error *err);

typedef struct bench_summary {
    double median, mean, min, spread;
} bench_summary;

/* Returns true if the case has not failed. */
static inline bool is_live(const record *r)
{
    return r->status == RECORD_OK;
}

/* Summarises count >= 1 values, and sorts them. Quartiles are interpolated linearly. */
bench_summary bench_summarise(double *values, int count);
/* Fills in the times of a record from its samples, and the rates from the operations and bytes of a run. */
void bench_fill_times(record *r, double *samples, int count, double operations, double bytes);

/*
 * Emits the records of `count` cases: structs of `stride` bytes whose first member is the record. Adds the time of
 * reordering and the disturbance.
 */
spry_status bench_emit(bench_session *session, const bench_subject *subject, void *cases, size_t stride, int count,
                       double disturbance, spry_error *err);
/* Emits records unchanged. */
spry_status bench_emit_records(bench_session *session, const record *records, int count, spry_error *err);

/* Fills in an error unless err is NULL. Returns its status. */
spry_status bench_fail(spry_error *err, spry_status status, const char *message);
spry_status bench_out_of_memory(spry_error *err);
uint64_t bench_hash_bytes(const void *data, size_t bytes, int threads); /* independent of the number of threads */

/* ---- measuring ------------------------------------------------------------------------------------ */

/* Measures the first GPU's copy bandwidth once for all cases. If GPU memory is short, sets it to NaN, without error. */
spry_status bench_measure_gpu_copy(bench_session *session, spry_error *err);
/* Writes every cache line of the flush buffer, which evicts the matrix from the caches. */
void bench_flush_caches(const bench_session *session);

/* Run all cases of an operation and emit their records: products with vectors, A*A, iterative methods (solver.c). */
spry_status bench_spmv(bench_session *session, const bench_subject *subject, spry_error *err);
spry_status bench_spgemm(bench_session *session, const bench_subject *subject, spry_error *err);
spry_status bench_solvers(bench_session *session, const bench_subject *subject, spry_error *err);

/* ---- a matrix on the first GPU (device_matrix.c) ------------------------------------------------------ */

typedef struct device_matrix {
    spry_matrix *A; /* NULL: not created yet */
    void *arrays[3];
    double upload_us;
} device_matrix;

/* Copies CSR in host memory to the GPU, unless copy->A exists. May be called again after a failure. */
spry_status device_matrix_create(device_matrix *copy, spry_context *context, const spry_arrays *host, spry_error *err);
void device_matrix_release(device_matrix *copy, const spry_context *context);

/* ---- products with vectors: a matrix in one type, its vectors and its cases ------------------------- */

typedef struct spmv_case {
    record record;
    spry_spmv_plan *plan;         /* plan of Spry; NULL for a peer */
    const spry_peer_kernel *peer; /* NULL for a plan */
    void *peer_state;
    const double *reported_us; /* time of the last run as the peer reports it; NULL: the benchmark measures it */
    int device;                /* device of the kernel and its vectors: 0 the CPU, 1 the first GPU */
    int64_t batch_runs;
    double *samples;
    int sample_count;
    int64_t owned_bytes; /* memory of a plan, with regret */
    bool few_calls;      /* the plan is in csr and expects so few calls that A's columns were not inspected */
    uint64_t y_hash;     /* hash of the first y, which a deterministic kernel must repeat */
} spmv_case;

/* A product that was compared and is correct. hash: hash of the bits of y. */
typedef struct known_product {
    uint64_t hash;
    double alpha, beta, max_error;
} known_product;
enum { MOST_KNOWN_PRODUCTS = 32 };

/* The matrix of an spmv_group, in all forms that its cases need. */
typedef struct spmv_matrices {
    const spry_matrix *A; /* in host memory */
    spry_matrix *pattern; /* A without values, if they are dropped; else NULL */
    device_matrix on_gpu; /* A in GPU memory, for GPU plans with arrays_on_gpu */
    spry_matrix *wide;    /* A with values of the vectors' type, if A stores another type; else NULL */
    spry_matrix *checked; /* A in CSC, the reference for transposed products with multiple vectors; NULL: use A */
    spry_arrays arrays;   /* A with values of the vectors' type, for peers; a pattern has ones */
    void *ones;           /* values of a pattern in `arrays`; else NULL */
    double csr_bytes;     /* bytes of A in plain CSR and of all vectors x and y */
} spmv_matrices;

/* Vectors of a group. */
typedef struct spmv_vectors {
    spry_type type;
    int64_t x_length, y_length;
    int64_t count;  /* number of vectors x, and of y */
    bool row_major; /* else column-major */
    void *x, *y, *y_before;
    void *column;              /* workspace: a contiguous column of x and of y for the check; NULL: not needed */
    void *device_x, *device_y; /* copies on the first GPU; NULL until a case needs them */
} spmv_vectors;

/* Cases of one matrix, type and ordering. */
typedef struct spmv_group {
    bench_session *session;
    spmv_matrices matrices;
    spmv_vectors vectors;
    record common; /* fields with equal values in all records */
    spry_op op;
    spry_context *planner; /* context in which added cases create their plans; its threads run the plans */
    known_product known[MOST_KNOWN_PRODUCTS];
    int known_count;
    spmv_case *cases;
    int case_count;
    double disturbance; /* share of the processors that other programs used during timing; excludes `children` */
    double children;    /* processor seconds of peers' processes, which are no disturbance */
} spmv_group;

spry_status spmv_group_open(spmv_group *group, bench_session *session, const bench_subject *subject, spry_error *err);
void spmv_group_close(spmv_group *group);

/*
 * Each function adds a case: creates its plan or prepares its peer, and checks its product. The case's record has the
 * status and reason. Returns 0 if memory is short. label: name of the format in the record; NULL: the plan's format.
 * device: name of the device in the record if the case cannot be planned.
 */
int spmv_add_plan(spmv_group *group, const spry_spmv_options *options, const char *label, const char *device);
int spmv_add_peer(spmv_group *group, const bench_peer *peer);
int spmv_add_skipped(spmv_group *group, const char *format, const char *kernel, const char *device, const char *reason);

/*
 * Adds a plan like spmv_add_plan. Sets *plan to the plan's record and *index to the index of its case. With regret, a
 * plan that runs like an earlier case is not added, and *index is the index of the earlier case.
 */
int spmv_add_choice(spmv_group *group, const spry_spmv_options *options, const char *label, const char *device,
                    record *plan, int *index);

/* ---- timing ------------------------------------------------------------------------------------------ */

/*
 * Computes y = alpha*op(A)*x + beta*y on the group's vectors. Returns 0 after a failure, with the reason in the record.
 */
int spmv_run(spmv_group *group, spmv_case *c, double alpha, double beta);
/* Waits for the runs of a GPU case. Returns 0 after a failure, with the reason in the record. */
int spmv_wait(spmv_group *group, spmv_case *c);
/*
 * Checks y after timing. If the bits of y differ from the first y, a deterministic kernel fails. For other kernels, y
 * is compared with the reference.
 */
void spmv_recheck(spmv_group *group, spmv_case *c);
