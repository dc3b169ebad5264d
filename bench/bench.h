/*
 * The benchmark engine, linked into the program. It stands on spry/spry.h alone.
 *
 * Protocol. Every case (a kernel or a peer on one matrix and type) is first checked: y is filled with
 * NaN, one product is made with beta = 0 and compared row by row under the library's error bound; then a
 * product with other alpha and beta. Cases that pass are timed in turns, five times round all of them,
 * so that whatever drifts on the machine drifts for all: a turn is a few untimed runs, which bring the
 * case's data back into the caches, then at least five batches of at least 1 ms. The median, mean,
 * minimum and quartile distance of the batches are kept. Cold: one run a batch, caches flushed before it.
 * Set-up, first run and steady state are separate figures. A product whose bits are those of one that was compared
 * before, of the same matrix, x, alpha and beta, is right without a second comparison.
 *
 * In place of turns and batches, bench_session.runs takes the CSR-k study's protocol, which is short: untimed runs,
 * then so many timed one by one, one case after the other.
 */
#ifndef SPRY_BENCH_H
#define SPRY_BENCH_H

#include "bench/peer.h"
#include "spry/spry.h"

#include <stdio.h>

/* ---- records ------------------------------------------------------------------------------------ */

typedef enum bench_status { BENCH_OK = 0, BENCH_WRONG, BENCH_SKIPPED, BENCH_FAILED } bench_status;

/* One case. Unknown: an empty string, -1 for whole numbers and flags, NaN for the rest. */
typedef struct bench_record {
    const char *op;
    char matrix[256];
    int64_t rows, cols, nnz;
    const char *class_name; /* "regular", "irregular" or "" */
    int twin;
    const char *type, *index;
    char device[32];
    int threads;
    char format[32], kernel[64], ordering[32];
    int peer, deterministic;
    double setup_us, upload_us, first_us, time_us, mean_us, min_us, spread_us;
    int64_t runs;
    const char *state; /* "warm", "cold" */
    double gflops, gbps, copy_gbps, roof;
    int64_t bytes;
    double max_error;
    bench_status status;
    char reason[512];
    int fewer_threads; /* 1: of a scalability study, with fewer threads than the run's; not in the JSON lines */
    /* spgemm alone, where bytes are those of C, gflops count the products and gbps the bytes of A, B and C once */
    int64_t products, nnz_c, peak_bytes;
    double compression;
    int unsorted;      /* 1: rows of C were left unsorted; in JSON the reason tells */
    double convert_us; /* of a kernel that reads B by columns, what making them takes; in JSON the reason tells */
} bench_record;

void bench_record_init(bench_record *record);
const char *bench_status_name(bench_status status);
/* "regular": the variance of the row lengths is at most 10, as the CSR-k study has it; else "irregular". */
const char *bench_class_name(const spry_matrix_stats *stats);
/* A field that is an array, cut where it is too short; NULL counts as "". */
#define BENCH_SET_TEXT(field, text) snprintf((field), sizeof(field), "%s", (text) ? (text) : "")
/* The status and why. Returns 0, as what could not be measured does. */
int bench_set_status(bench_record *record, bench_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Whole figures as JSON, in the order of the fields above, the last ones where op is spgemm; adds to `object` (a cJSON
 * object). 0: out of memory.
 */
struct cJSON;
int bench_record_to_json(const bench_record *record, struct cJSON *object);

/* Numbers for cJSON: NaN and unknown become null, infinity the largest double, others 7 significant digits. */
int bench_json_number(struct cJSON *object, const char *name, double value);
int bench_json_integer(struct cJSON *object, const char *name, int64_t value);  /* negative: null */
int bench_json_text(struct cJSON *object, const char *name, const char *value); /* NULL or "": null */

/* ---- statistics --------------------------------------------------------------------------------- */

typedef struct bench_summary {
    double median, mean, min, spread;
} bench_summary;

/* Sorts values. count >= 1. Quartiles by linear interpolation. */
bench_summary bench_summarise(double *values, int count);
double bench_now_us(void); /* monotonic */

/* ---- peers -------------------------------------------------------------------------------------- */

/* A peer's kernel, or what is known of one that cannot be had. */
typedef struct bench_peer {
    char module[32], version[32], name[64], format[32], device[32];
    int multiplies_matrices;        /* 1: for op spgemm, which */
    const spry_peer_spgemm *spgemm; /* has this, others */
    const spry_peer_kernel *kernel; /* this. Both NULL: not to be had, for this reason: */
    char reason[384];
} bench_peer;

typedef struct bench_peers {
    bench_peer *items;
    int count;
    char folder[4096];
} bench_peers;

/* Loads every module there is and lists those that ought to be; or one module alone, unless NULL. 0: out of memory. */
int bench_peers_load(bench_peers *peers, const char *module);
void bench_peers_release(bench_peers *peers);

/* ---- one matrix --------------------------------------------------------------------------------- */

/* What is the same for all matrices of a run. */
typedef struct bench_session {
    spry_context *context;
    const char *op;       /* "spmv", "spmv_t", "spgemm" */
    int64_t calls;        /* products that plans are told to expect; 0: many */
    int cold;             /* 1: caches are flushed before every run */
    int runs;             /* so many runs timed one by one, after 5 that are not; 0: turns and batches */
    int stopped;          /* 1: records could not be handed on */
    double copy_gbps;     /* NaN: not measured */
    double gpu_copy_gbps; /* of device 1, measured when it is first needed; 0: not yet, NaN: it had no memory for it */
    void *flush;          /* of flush_bytes, NULL when warm */
    size_t flush_bytes;
} bench_session;

/*
 * Measures the copy bandwidth (bench_measure_copy) and, for cold runs, makes the flush buffer. 0: out of memory for
 * the latter.
 */
int bench_session_open(bench_session *session, spry_context *context, char *note, size_t note_size);
/*
 * Sets copy_gbps of a session that has a context: NaN where there was no memory for its arrays. brief: of a quarter of
 * the bytes, for one product. note gets what there is to tell of "the copy bandwidth is ...": why it was not measured,
 * or that the arrays had to be smaller than the protocol asks; else "".
 */
void bench_measure_copy(bench_session *session, int brief, char *note, size_t note_size);
/* Bytes of each of its two arrays, by the last-level cache (0: not known) and the memory that can still be taken. */
int64_t bench_copy_bytes(int64_t cache, int64_t available, int brief);
void bench_session_close(bench_session *session);

typedef struct bench_case {
    bench_record record;
    spry_error err;               /* of planning, when that failed */
    spry_plan *plan;              /* ours, */
    const spry_peer_kernel *peer; /* or a peer's */
    void *peer_state;
    int device; /* where it runs and its vectors are: 0 the CPU, 1 the first GPU */
    int64_t batch_runs;
    double *samples;
    int sample_count;
    uint64_t y_hash; /* of the first y: a deterministic kernel must repeat it */
} bench_case;

/* A product that was found right: y's bits. */
typedef struct bench_known {
    uint64_t hash;
    double alpha, beta, max_error;
} bench_known;
enum { BENCH_MOST_KNOWN = 32 };

/* A matrix in one type with its vectors and the cases that run on it. Read-only for callers, but for planner. */
typedef struct bench_group {
    bench_session *session;
    const spry_matrix *A;
    spry_arrays arrays;
    bench_record common; /* what all records of the group share */
    int transpose;
    const spry_ordering *groups; /* of Band-k, for csr2 and csr3 on groups_device; NULL: none */
    const char *groups_device;   /* whose sizes they have */
    const char *plan_ordering;   /* of this library's plans, on A as given; NULL: none */
    spry_context *planner;       /* cases that are added get its threads; NULL: the session's */
    bench_known known[BENCH_MOST_KNOWN];
    int known_count;
    int64_t x_length, y_length;
    void *x, *y, *y_before;
    void *device_x, *device_y; /* copies on the first GPU, NULL until a case needs them */
    double csr_bytes;          /* of plain CSR: values, columns, offsets, x and y once */
    bench_case *cases;
    int case_count;
    double others; /* share of the processors that other programs had while the cases were timed */
} bench_group;

/* A is CSR in host memory with values; name is for the records. */
spry_status bench_group_open(bench_group *group, bench_session *session, const spry_matrix *A, const char *name,
                             spry_error *err);
void bench_group_close(bench_group *group);

/*
 * Plans, checks, and adds a case; its record tells how that went. label is for record.format, NULL: the
 * plan's own. 0: out of memory.
 */
int bench_add_plan(bench_group *group, const spry_spmv_options *options, const char *label);
int bench_add_peer(bench_group *group, const bench_peer *peer);
/* Adds a case that is not run. */
int bench_add_skipped(bench_group *group, const char *format, const char *kernel, const char *device,
                      const char *reason);

/* Times all cases that passed their checks, in turn. 0: out of memory. */
int bench_measure(bench_group *group);

/* Products after which a case's set-up has paid against base: 0 at once, -1 never, -2 not known. */
int64_t bench_break_even(const bench_record *record, const bench_record *base);

/* Distinct numbers of both signs, a quarter to one in size, so that no wrong index goes unseen; any threads. */
void bench_fill_random(void *data, int64_t length, spry_type type, uint64_t seed, int threads);

/* ---- many matrices ------------------------------------------------------------------------------ */

typedef struct bench_source {
    char name[256];
    char path[4096];  /* what spry_matrix_read takes; "": not to be had, */
    char reason[512]; /* for this reason */
    int twin;         /* 1: generated in the place of a real matrix */
    int64_t entries;  /* about; 0: not known before it is read */
} bench_source;

typedef struct bench_list {
    char **items;
    int count;
} bench_list;

typedef struct bench_request {
    const bench_source *sources;
    int source_count;
    bench_list formats; /* names or "auto" */
    int all_kernels;    /* 1: every kernel of every format instead */
    bench_list kernels; /* by name, peers' too */
    /*
     * One after another: "none"; a method of spry_reorder, by which the matrix is reordered for everybody; or "plan-"
     * and a method, by which this library's plans renumber x and y themselves. Empty: all that the CSR-k study
     * compares, csr2 and csr3 as given and by Band-k, everybody else as given and by RCM.
     */
    bench_list orderings;
    const char *device; /* "cpu", "cuda", "all" */
    /* With fewer threads too, on the matrix as given and the CPU: a context each. */
    spry_context *const *fewer;
    int fewer_count;
    /* Matrices read and reordered at once, each in this context, of one thread; at most 1: one by one, by all. */
    int at_once;
    spry_context *preparer;
    int64_t limit_nnz; /* 0: none; what has more entries is skipped */
    double seconds;    /* 0: no limit; after so many no matrix is begun, and the rest is skipped */
    int f32, f64;
    spry_index_type offset_type, index_type;
    const bench_peers *peers; /* NULL: none */
    /* Called with the records of a matrix and type when they are complete. Not 0: stop. */
    int (*emit)(void *user, const bench_record *records, int count);
    void (*progress)(void *user, const char *text);
    /* Called when other programs disturbed the timing of a matrix: their share of the processors. */
    void (*disturbed)(void *user, const char *matrix, double share);
    /* Called when a matrix cannot be had for a reason other than a missing suite file. */
    void (*complain)(void *user, const spry_error *err);
    void *user;
} bench_request;

/* spry_matrix_read into CSR, which peers take: a container may hold another layout, which is converted. */
spry_status bench_read_csr(spry_context *context, spry_matrix **A, const char *path, const spry_read_options *options,
                           spry_error *err);

/* SPRY_OK even when cases fail; otherwise what stopped it. */
spry_status bench_run(bench_session *session, const bench_request *request, spry_error *err);

/*
 * seed000 is every .mtx and .mtx.gz of the folder; csrk64 takes a twin for what is not there; spgemm002 is generated;
 * the others are lists. 1: suite known and its matrices appended; 0: no such suite; -2: out of memory.
 */
int bench_suite_sources(const char *suite, const char *folder, bench_source **sources, int *count);
extern const char *const bench_suite_names[]; /* NULL-terminated, those that exist */

/* A matrix of a study by its printed figures. Symmetry is of the pattern, in per cent; the rest is gen:twin's. */
typedef struct bench_study_matrix {
    const char *id, *name;
    int64_t rows, entries, longest;
    int symmetry;
    const char *kind;
    int diagonal, dof;
} bench_study_matrix;

enum { BENCH_CSRK64 = 64 };
extern const bench_study_matrix bench_csrk64[BENCH_CSRK64];
/* What generates its twin: "gen:twin,rows=...". */
void bench_twin_spec(char *spec, size_t size, const bench_study_matrix *matrix);

/* "dir/G3_circuit.mtx.gz" -> "G3_circuit", "gen:grid7" -> "grid7", "-" -> "stdin". */
void bench_matrix_name(char *name, size_t size, const char *path);

/* ---- for people --------------------------------------------------------------------------------- */

/* The records of one matrix and type as a block of a table. */
void bench_print_group(FILE *out, const bench_record *records, int count);
/* The same of op spgemm. */
void bench_print_spgemm(FILE *out, const bench_record *records, int count);
/* Geometric means by class and over all, performance profile, and every case that is not ok. */
void bench_print_summary(FILE *out, const bench_record *records, int count);
/* The tables of suite seed000, Evtushenko 2019, of records that include the baseline csr_plain. */
void bench_print_seed000(FILE *out, const bench_record *records, int count);
/* The figures of suite spgemm002, Rose 2013, of records that include the seed's kernels. */
void bench_print_spgemm002(FILE *out, const bench_record *records, int count);
/* The figures of the CSR-k study, of records of its 64 matrices. */
void bench_print_csrk64(FILE *out, const bench_record *records, int count);

#endif
