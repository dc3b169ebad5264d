/*
 * Operation spgemm: C = A*A. A run is one whole product with its allocations, from A to C in the device's memory.
 *
 * Check: the first run's number of entries is compared with the library's exact count. If A*A has at most
 * EXACT_PRODUCTS products of entries, structure and values are compared. Otherwise C*x is compared with A*(A*x)
 * (spry_spgemm_verify). After timing, a deterministic kernel must repeat the bits.
 *
 * Times: set-up covers uploads and handles, which happen once. time is the median of the runs after the first; these
 * runs reuse memory that allocators keep. C is released, untimed, before the next run. With --calls above 1, Spry's
 * kernels also run as plans (format "plan"): set-up is the symbolic phase and time only the numeric phase. With a GPU,
 * --device all adds two cases. Format "host" is the library's choice on the GPU with A and C in host memory, and its
 * time includes transfers in both directions. Format "auto" runs on the device that the library chooses.
 *
 * Cases run in rounds, as in other operations. Because a run may take seconds, a case's part of a round ends after
 * round_us, with at least one run. Short protocol: bench_protocol.runs single runs are divided among the rounds, after
 * five untimed runs.
 *
 * Stages are those of a round's last run on the CPU, and those of an additional untimed run on a GPU.
 */
#include "bench/internal.h"
#include "spry/cuda.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/study.h"
#include "spry/tune.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_PRODUCTS = 16000000, SPGEMM_ROUNDS = 5 };

typedef struct spgemm_case {
    record record;
    spry_spgemm_options options;  /* for a case of Spry */
    spry_spgemm_plan *plan;       /* NULL: not planned */
    const spry_peer_spgemm *peer; /* NULL: a case of Spry */
    void *peer_state;
    int device;     /* memory of A and C: 0 host, 1 the first GPU */
    spry_matrix *C; /* result of Spry's last run */
    uint64_t hash;  /* hash of the first C, which a deterministic kernel must repeat */
    int64_t batch_runs;
    double *samples;
    int sample_count;
    double stages[RECORD_STAGES][SPGEMM_ROUNDS]; /* times from one run per round; stage s has stage_counts[s] */
    int stage_counts[RECORD_STAGES];
} spgemm_case;

typedef struct spgemm_group {
    bench_session *session;
    const char *wanted;   /* device: "cpu", "cuda", "all" */
    const spry_matrix *A; /* in host memory */
    spry_arrays arrays;
    device_matrix on_gpu; /* copied when a case needs it */
    record common;
    spry_spgemm_estimate_info estimate;
    spry_spgemm_stages times; /* stages of Spry's last run */
    spgemm_case *cases;
    int case_count;
    double children; /* processor seconds of peers' processes, which are no disturbance */
    double disturbance;
} spgemm_group;

/* ---- running ------------------------------------------------------------------------------------ */

static int run_peer(spgemm_group *group, spgemm_case *c, double *us)
{
    spry_peer_error error = {"no reason given"};
    spry_peer_product product = {.us = -1, .peak_bytes = -1};
    const double start = now_us();
    int result = c->peer->run(c->peer_state, &product, &error);
    *us = now_us() - start;
    if (result != SPRY_PEER_OK)
        return record_fail(&c->record, bench_status_of_peer(result), "%s: %s", c->peer->title, error.text);
    if (product.us >= 0) {
        group->children += 1e-6 * *us;
        *us = product.us;
    }
    if (product.peak_bytes >= 0) c->record.product.peak_bytes = product.peak_bytes;
    return 1;
}

static const spry_spgemm_stages no_stages = {sizeof no_stages, -1, -1, -1, -1, -1};

static spry_status run_own(spgemm_group *group, spgemm_case *c, spry_spgemm_info *info, spry_error *err)
{
    spry_context *context = group->session->context;
    const spry_matrix *A = c->device > 0 ? group->on_gpu.A : group->A;
    group->times = no_stages;
    spry_status status = c->plan ? spry_spgemm_plan_run(c->plan, NULL, NULL, err)
                                 : spry_spgemm(context, &c->C, info, A, A, &c->options, err);
    if (status == SPRY_OK && c->device > 0) status = spry_device_synchronize(context, c->device, NULL, err);
    return status;
}

/* Computes one product; *us is its time. Returns 0 after a failure; the record has the reason. */
static int run_product(spgemm_group *group, spgemm_case *c, double *us)
{
    if (c->peer) return run_peer(group, c, us);
    spry_error err = {0};
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    const double start = now_us();
    spry_status status = run_own(group, c, &info, &err);
    *us = now_us() - start;
    if (status != SPRY_OK)
        return record_fail(&c->record,
                           status == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED ? RECORD_SKIPPED : RECORD_FAILED,
                           "%s", err.message);
    if (c->plan) status = spry_spgemm_plan_get_info(c->plan, &info, &err);
    if (status != SPRY_OK) return record_fail(&c->record, RECORD_FAILED, "%s", err.message);
    record *r = &c->record;
    r->product.peak_bytes = info.peak_bytes;
    r->method.deterministic = info.deterministic;
    r->method.threads = info.threads;
    record_take_stages(r, &group->times);
    if (r->reason[0]) return 1;
    snprintf(r->method.kernel, sizeof r->method.kernel, "%s", c->options.kernel ? c->options.kernel : info.kernel);
    snprintf(r->method.device, sizeof r->method.device, "%s", info.device_name);
    snprintf(r->reason, sizeof r->reason, "%s%s", c->plan ? "only the numeric phase of a plan; " : "", info.reason);
    return 1;
}

/* Releases the last C. */
static void release_product(spgemm_case *c)
{
    if (c->peer) c->peer->release(c->peer_state);
    spry_matrix_destroy(c->C);
    c->C = NULL;
}

/* ---- C in host memory --------------------------------------------------------------------------- */

typedef struct host_result {
    spry_arrays arrays;
    void *owned[3]; /* host copies of arrays that are on a GPU */
} host_result;

static void release_copies(host_result *r)
{
    for (int i = 0; i < 3; i++) free(r->owned[i]);
    *r = (host_result){0};
}

static spry_index_type index_type(int bytes)
{
    return bytes == 8 ? SPRY_I64 : SPRY_I32;
}

static int fetch_from_peer(spgemm_case *c, host_result *r)
{
    spry_peer_error error = {"no reason given"};
    spry_peer_matrix m = {0};
    if (c->peer->fetch(c->peer_state, &m, &error) != SPRY_PEER_OK)
        return record_fail(&c->record, RECORD_FAILED, "the result cannot be read: %s", error.text);
    spry_arrays *a = &r->arrays;
    a->layout = SPRY_CSR;
    a->rows = m.rows;
    a->columns = m.cols;
    a->nnz = m.nnz;
    a->offset_type = index_type(m.offset_bytes);
    a->index_type = index_type(m.index_bytes);
    a->value_type = m.value_bytes == 8 ? SPRY_F64 : SPRY_F32;
    a->offsets = m.offsets;
    a->indices = m.columns;
    a->values = m.values;
    return 1;
}

static void touch_pages(void *memory, int64_t begin, int64_t end)
{
    for (int64_t page = begin; page < end; page++) ((volatile char *)memory)[page * 4096] = 0;
}

/*
 * Allocates memory for a copy and touches its pages on all threads. For some GB, page faults of one thread would take
 * longer than the copy. Returns NULL if memory is short.
 */
static void *new_copy(size_t bytes, int threads)
{
    char *memory = allocate_pages(bytes);
    if (!memory) return NULL;
    run_shares(threads, (int64_t)((bytes + 4095) / 4096), touch_pages, memory);
    return memory;
}

static spry_status download(spgemm_group *group, host_result *r, spry_error *err)
{
    spry_arrays *a = &r->arrays;
    const void *from[3] = {a->offsets, a->indices, a->values};
    spry_status status = SPRY_OK;
    for (int i = 0; i < 3 && status == SPRY_OK; i++) {
        const size_t bytes = (size_t)csr_part_bytes(a, i);
        r->owned[i] = new_copy(bytes, pool_threads(group->session->context));
        if (!r->owned[i]) return bench_out_of_memory(err);
        if (bytes > 0)
            status = spry_device_copy(group->session->context, r->owned[i], 0, from[i], a->device, (int64_t)bytes, NULL,
                                      err);
    }
    if (status == SPRY_OK) status = spry_device_synchronize(group->session->context, a->device, NULL, err);
    a->offsets = r->owned[0];
    a->indices = r->owned[1];
    a->values = r->owned[2];
    a->device = 0;
    return status;
}

/* Returns C in host memory. Arrays are valid until release_product, downloaded arrays until release_copies. */
static int fetch(spgemm_group *group, spgemm_case *c, host_result *r)
{
    spry_error err = {0};
    *r = (host_result){.arrays = SPRY_INIT(spry_arrays)};
    if (c->peer) return fetch_from_peer(c, r);
    spry_status status = SPRY_OK;
    if (c->plan && !c->C) status = spry_spgemm_plan_get_result(c->plan, &c->C, &err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(c->C, &r->arrays, &err);
    if (status == SPRY_OK && r->arrays.device > 0) status = download(group, r, &err);
    r->arrays.ownership = 0;
    if (status == SPRY_OK) return 1;
    release_copies(r);
    return record_fail(&c->record, RECORD_FAILED, "the result cannot be read: %s", err.message);
}

static uint64_t hash(const spry_arrays *a, int threads)
{
    const void *parts[3] = {a->offsets, a->indices, a->values};
    uint64_t all = 0;
    for (int i = 0; i < 3; i++)
        all = all * UINT64_C(0x9E3779B97F4A7C15) +
              (parts[i] ? bench_hash_bytes(parts[i], (size_t)csr_part_bytes(a, i), threads) : 0);
    return all;
}

/* ---- comparing ---------------------------------------------------------------------------------- */

enum { BATCH = 1024 };

typedef struct column_job {
    const spry_arrays *a;
    atomic_llong next; /* next row; rows are taken dynamically, because the first rows may have most of the entries */
    atomic_llong wrong, unsorted;
} column_job;

/* Runs on each thread: checks the next BATCH rows until none is left. */
static void check_columns(void *job, int64_t begin, int64_t end)
{
    column_job *j = job;
    const spry_arrays *a = j->a;
    int64_t wrong = 0, unsorted = 0;
    (void)begin, (void)end;
    for (int64_t first; (first = atomic_fetch_add(&j->next, BATCH)) < a->rows;)
        for (int64_t i = first; i < first + BATCH && i < a->rows; i++) {
            const int64_t last = index_at(a->offsets, a->offset_type, i + 1);
            int64_t before = -1;
            for (int64_t k = index_at(a->offsets, a->offset_type, i); k < last; k++) {
                const int64_t column = index_at(a->indices, a->index_type, k);
                wrong += column < 0 || column >= a->columns;
                unsorted += column <= before;
                before = column;
            }
        }
    j->wrong += wrong;
    j->unsorted += unsorted;
}

/* Checks sizes, offsets and the range of columns, which the comparison relies on. Records whether rows are unsorted. */
static int is_valid(spgemm_group *group, spgemm_case *c, const spry_arrays *a)
{
    const record *r = &c->record;
    const int threads = pool_threads(group->session->context);
    int64_t wrong = 0;
    if (a->rows != r->input.rows || a->columns != r->input.columns)
        return record_fail(&c->record, RECORD_WRONG, "C is %lld x %lld, expected %lld x %lld", (long long)a->rows,
                           (long long)a->columns, (long long)r->input.rows, (long long)r->input.columns);
    if (a->nnz != group->estimate.nnz)
        return record_fail(&c->record, RECORD_WRONG, "C has %lld entries, expected %lld", (long long)a->nnz,
                           (long long)group->estimate.nnz);
    wrong += index_at(a->offsets, a->offset_type, 0) != 0 || index_at(a->offsets, a->offset_type, a->rows) != a->nnz;
    for (int64_t i = 0; i < a->rows && wrong == 0; i++)
        wrong += index_at(a->offsets, a->offset_type, i + 1) < index_at(a->offsets, a->offset_type, i);
    if (wrong > 0)
        return record_fail(&c->record, RECORD_WRONG,
                           "the row offsets of C do not increase from 0 to its number of entries");
    column_job j = {.a = a};
    run_shares(threads, threads, check_columns, &j);
    wrong = j.wrong;
    if (wrong > 0) return record_fail(&c->record, RECORD_WRONG, "%lld columns of C are out of range", (long long)wrong);
    c->record.product.unsorted = j.unsorted > 0;
    return 1;
}

/* Creates the matrix C for the comparison. exact: sorts its rows if they are unsorted. */
static spry_status as_matrix(spgemm_group *group, const spgemm_case *c, const spry_arrays *a, bool exact,
                             spry_matrix **C, spry_error *err)
{
    spry_matrix *as_is = NULL;
    spry_arrays given = *a;
    given.symmetry = SPRY_GENERAL;
    given.sorted = c->record.product.unsorted ? SPRY_KNOWN_NO : SPRY_KNOWN_YES;
    given.unique = SPRY_NOT_KNOWN;
    spry_status status = spry_matrix_create(group->session->context, &as_is, &given, err);
    if (status != SPRY_OK || !c->record.product.unsorted || !exact) {
        *C = as_is;
        return status;
    }
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.offset_type = a->offset_type;
    options.keep_duplicates = true;
    status = spry_matrix_convert(group->session->context, C, NULL, as_is, &options, err);
    spry_matrix_destroy(as_is);
    return status;
}

static int compare(spgemm_group *group, spgemm_case *c, const spry_arrays *a)
{
    const bool exact = group->estimate.products <= EXACT_PRODUCTS;
    spry_error err = {0};
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
    spry_matrix *C = NULL;
    spry_status status = as_matrix(group, c, a, exact, &C, &err);
    if (status == SPRY_OK)
        status = spry_spgemm_verify(group->session->context, &v, C, group->A, group->A, &options,
                                    exact ? SPRY_VERIFY_EXACT : SPRY_VERIFY_RANDOM, &err);
    spry_matrix_destroy(C);
    if (status != SPRY_OK) return record_fail(&c->record, RECORD_FAILED, "the check failed: %s", err.message);
    c->record.max_error = v.max_error;
    if (v.wrong_rows == 0) return 1;
    const int base = index_base_of(group->A);
    if (exact && v.first_misshapen >= 0)
        return record_fail(&c->record, RECORD_WRONG,
                           "%lld rows of C are wrong, row %lld (counted from %d) in its positions",
                           (long long)v.wrong_rows, (long long)v.first_misshapen + base, base);
    return record_fail(&c->record, RECORD_WRONG,
                       "%lld rows of C exceed the error bound, the worst is row %lld (counted from %d) with %.3g times "
                       "the bound",
                       (long long)v.wrong_rows, (long long)v.worst_row + base, base, v.max_error);
}

/* Records the bytes of C, and adds to the reason that rows are unsorted. */
static void describe(spgemm_case *c, const spry_arrays *a)
{
    record *r = &c->record;
    r->rates.bytes = csr_part_bytes(a, 0) + csr_part_bytes(a, 1) + csr_part_bytes(a, 2);
    size_t used = strlen(r->reason);
    if (r->product.unsorted) snprintf(r->reason + used, sizeof r->reason - used, "; rows of C are left unsorted");
}

/* Computes, times and checks the first product. */
static void check_first(spgemm_group *group, spgemm_case *c)
{
    host_result result;
    double us = 0;
    const bool on_cpu = c->options.device == SPRY_CPU;
    if (!c->peer && !on_cpu) (void)spry_context_trim(group->session->context); /* peers also empty their pools */
    if (!run_product(group, c, &us)) return;
    c->record.time.first_us = us;
    if (fetch(group, c, &result)) {
        if (is_valid(group, c, &result.arrays) && compare(group, c, &result.arrays)) {
            c->hash = hash(&result.arrays, pool_threads(group->session->context));
            describe(c, &result.arrays);
        }
        release_copies(&result);
    }
    release_product(c);
}

/*
 * Checks another product. If its bits differ from the first C, a deterministic kernel fails. For other
 * kernels, the new C is compared.
 */
static void recheck(spgemm_group *group, spgemm_case *c)
{
    host_result result;
    double us = 0;
    if (!run_product(group, c, &us)) return;
    if (fetch(group, c, &result)) {
        const bool same = hash(&result.arrays, pool_threads(group->session->context)) == c->hash;
        if (!same && c->record.method.deterministic == 1)
            record_fail(&c->record, RECORD_WRONG, "declared deterministic, but the bits changed between runs");
        else if (!same && is_valid(group, c, &result.arrays))
            compare(group, c, &result.arrays);
        release_copies(&result);
    }
    release_product(c);
}

/* ---- times ----------------------------------------------------------------------------------- */

enum { ROUNDS = SPGEMM_ROUNDS, BATCHES = 5, UNTIMED_RUNS = 5 };
static const double batch_us = 1000, gpu_batch_us = 5000, round_us = 300000, most_us = 30e6, warm_us = 50000;

/* Runs `runs` products. *us: sum of the times of the products, without the time of releasing C. */
static int run_many(spgemm_group *group, spgemm_case *c, int64_t runs, double *us)
{
    *us = 0;
    for (int64_t r = 0; r < runs; r++) {
        double one = 0;
        if (group->session->options->protocol.cold) bench_flush_caches(group->session);
        if (!run_product(group, c, &one)) return 0;
        release_product(c);
        *us += one;
    }
    return 1;
}

/* Returns the number of rounds. The short protocol has at most as many rounds as runs. */
static int64_t rounds_of(const spgemm_group *group)
{
    const int64_t runs = group->session->options->protocol.runs;
    return runs > 0 && runs < ROUNDS ? runs : ROUNDS;
}

/* Returns the number of batches, or single runs of the short protocol, per round. */
static int64_t samples_per_round(const spgemm_group *group)
{
    return group->session->options->protocol.runs > 0 ? (group->session->options->protocol.runs + ROUNDS - 1) / ROUNDS
                                                      : BATCHES;
}

/* Runs untimed products, which fill allocators and caches, and sets batch_runs from the fastest. */
static void warm_up(spgemm_group *group, spgemm_case *c)
{
    double fastest = c->record.time.first_us, spent = 0, us = 0;
    const int most = group->session->options->protocol.runs > 0 ? UNTIMED_RUNS : 100;
    for (int r = 0; r < most && spent < warm_us && fastest < 10 * warm_us; r++) {
        if (!run_many(group, c, 1, &us)) return;
        if (us < fastest) fastest = us;
        spent += us;
    }
    double least = c->device > 0 ? gpu_batch_us : batch_us;
    const bool single = group->session->options->protocol.cold || group->session->options->protocol.runs > 0;
    c->batch_runs = single || fastest > least ? 1 : (int64_t)ceil(1.1 * least / fmax(fastest, 0.1));
}

/* Records the stages of one run of Spry. */
static void sample_stages(spgemm_group *group, spgemm_case *c)
{
    double us;
    if (c->peer || !is_live(&c->record)) return;
    if (!c->options.stages) {
        c->options.stages = &group->times;
        const int good = run_many(group, c, 1, &us);
        c->options.stages = NULL;
        if (!good) return;
    }
    for (int s = STAGE_CONVERT; s < RECORD_STAGES; s++)
        if (!isnan(c->record.product.stages[s])) c->stages[s][c->stage_counts[s]++] = c->record.product.stages[s];
}

/*
 * Measures a case in one round. A case with short products starts with untimed runs, because the previous case used the
 * caches.
 */
static void measure_batches(spgemm_group *group, spgemm_case *c, double *total)
{
    double us = 0, spent = 0;
    for (int r = 0; !group->session->options->protocol.cold && r < 8 && spent < warm_us / 10; r++) {
        if (c->record.time.first_us > warm_us) break;
        if (!run_many(group, c, 1, &us)) return;
        spent += us;
    }
    spent = 0;
    for (int b = 0; b < samples_per_round(group) && spent < round_us; b++) {
        if (!run_many(group, c, c->batch_runs, &us)) return;
        c->samples[c->sample_count++] = us / (double)c->batch_runs;
        c->record.time.runs = (c->record.time.runs < 0 ? 0 : c->record.time.runs) + c->batch_runs;
        spent += us;
    }
    sample_stages(group, c);
    *total += spent;
}

static void fill_record(const spgemm_group *group, spgemm_case *c)
{
    const record *r = &c->record;
    spry_arrays result = group->arrays; /* C has the rows and types of A */
    result.nnz = r->product.nnz_c;
    int64_t bytes = 0;
    for (int part = 0; part < 3; part++) bytes += csr_part_bytes(&group->arrays, part) + csr_part_bytes(&result, part);
    for (int s = STAGE_CONVERT; s < RECORD_STAGES; s++)
        if (c->stage_counts[s] > 0)
            c->record.product.stages[s] = bench_summarise(c->stages[s], c->stage_counts[s]).median;
    bench_fill_times(&c->record, c->samples, c->sample_count, 2 * (double)r->product.products, (double)bytes);
}

/* Measures all cases that passed their checks. Returns 0 if memory is short. */
static int measure(spgemm_group *group)
{
    double *totals = calloc((size_t)group->case_count + 1, sizeof *totals);
    if (!totals) return 0;
    processor_time before = read_processor_time();
    group->children = 0;
    int good = 1;
    for (int i = 0; i < group->case_count && good; i++) {
        spgemm_case *c = &group->cases[i];
        if (!is_live(&c->record)) continue;
        c->samples = malloc((size_t)(ROUNDS * samples_per_round(group)) * sizeof *c->samples);
        if (c->samples)
            warm_up(group, c);
        else
            good = 0;
    }
    const int64_t rounds = rounds_of(group);
    for (int round = 0; round < rounds && good; round++)
        for (int i = 0; i < group->case_count; i++) {
            spgemm_case *c = &group->cases[i];
            if (is_live(&c->record) && totals[i] < most_us) measure_batches(group, c, &totals[i]);
            if (is_live(&c->record) && round == rounds - 1) recheck(group, c);
        }
    for (int i = 0; i < group->case_count && good; i++) fill_record(group, &group->cases[i]);
    group->disturbance = disturbance_since(before, group->children);
    free(totals);
    return good;
}

/* ---- predicted times of the studies' kernels ---------------------------------------------------- */

/*
 * Constants of predicted times. A study's kernel does not run if its predicted time exceeds most_seconds. Kernels that
 * compute every dot product take dot_s (CPU) or gpu_step_s (GPU) for each pair of a column of B and a row of A, and for
 * each pair of a column of B and an entry of A. dot_s is 5 ns (Zen 4), gpu_step_s is 4 ps, two steps of 2 ps. The GPU
 * kernel also takes gpu_step_s for each pair of an entry of B and a row of A. Kernels that clear and read a table for
 * each row take table_s (CPU) or gpu_table_s (GPU) for each pair of a row and a column: 2 ns on Zen 4, 4 ps on an H200.
 * gpu_listed_s replaces gpu_table_s if every thread of a warp clears nearly the whole table: 40 ps, an estimate.
 */
static const double most_seconds = 2, dot_s = 5e-9, gpu_step_s = 4e-12, table_s = 2e-9, gpu_table_s = 4e-12;
static const double gpu_listed_s = 4e-11;

/* ---- group -------------------------------------------------------------------------------------- */

static spry_status open_group(spgemm_group *group, bench_session *session, const bench_subject *subject,
                              spry_error *err)
{
    *group = (spgemm_group){.session = session,
                            .wanted = subject->device,
                            .A = subject->A,
                            .arrays = SPRY_INIT(spry_arrays),
                            .estimate = SPRY_INIT(spry_spgemm_estimate_info)};
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    options.device = SPRY_CPU; /* an estimate on the CPU is exact */
    spry_status status = spry_matrix_get_arrays(group->A, &group->arrays, err);
    if (status == SPRY_OK) status = bench_describe(session, &group->common, subject, err);
    if (status == SPRY_OK)
        status = spry_spgemm_estimate(session->context, &group->estimate, group->A, group->A, &options, err);
    record *r = &group->common;
    r->product.products = group->estimate.products;
    r->product.nnz_c = group->estimate.nnz;
    r->product.compression = group->estimate.compression;
    r->product.stages[STAGE_READ] = subject->read_us;
    RECORD_TEXT(r->method.format, "csr");
    return status;
}

static void close_group(spgemm_group *group)
{
    for (int i = 0; i < group->case_count; i++) {
        spgemm_case *c = &group->cases[i];
        spry_spgemm_plan_destroy(c->plan);
        if (c->peer && c->peer_state) c->peer->destroy(c->peer_state);
        free(c->samples);
    }
    free(group->cases);
    device_matrix_release(&group->on_gpu, group->session->context);
}

/* Copies A to the GPU and measures the GPU's copy bandwidth. */
static spry_status upload(spgemm_group *group, spry_error *err)
{
    const spry_status status = bench_measure_gpu_copy(group->session, err);
    return status == SPRY_OK ? device_matrix_create(&group->on_gpu, group->session->context, &group->arrays, err)
                             : status;
}

/* ---- cases -------------------------------------------------------------------------------------- */

static spgemm_case *add_case(spgemm_group *group, const char *kernel, const char *device)
{
    spgemm_case *grown = realloc(group->cases, (size_t)(group->case_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    group->cases = grown;
    spgemm_case *c = &grown[group->case_count++];
    *c = (spgemm_case){.record = group->common, .options = SPRY_INIT(spry_spgemm_options)};
    c->device = strncmp(device, "cuda", 4) == 0;
    RECORD_TEXT(c->record.method.kernel, kernel);
    RECORD_TEXT(c->record.method.device, device);
    return c;
}

/* Checks that twice the memory of Spry's product is free, for a peer's workspace and for the comparison. */
static int fits(const spgemm_group *group, spgemm_case *c)
{
    if (group->estimate.peak_bytes <= available_memory_bytes(group->session->context) / 2) return 1;
    return record_fail(&c->record, RECORD_SKIPPED,
                       "C and its inputs need %lld bytes, and this machine does not have twice that amount free",
                       (long long)group->estimate.peak_bytes);
}

static bool reads_columns(const char *kernel)
{
    return kernel && strcmp(kernel, "spgemm_seed_dot_cpu") == 0;
}

/* Returns the predicted time of kernels whose work grows with rows times columns; 0 for other kernels. */
static double seconds_of(const spgemm_group *group, const char *kernel)
{
    const double rows = (double)group->arrays.rows, cols = (double)group->arrays.columns, cells = rows * cols;
    const double entries = (double)group->arrays.nnz * cols;
    if (reads_columns(kernel)) return dot_s * (cells + entries);
    if (strcmp(kernel, "spgemm_seed_older_cuda") == 0) return gpu_step_s * (cells + entries + entries / cols * rows);
    if (strcmp(kernel, "spgemm_seed_dense_cpu") == 0) return table_s * cells;
    if (strstr(kernel, ":reset=printed")) return gpu_listed_s * cells;
    const int tables = text_is_named(kernel, "spgemm_seed_getvals_cuda") && !strstr(kernel, ":reset=touched");
    return tables || strstr(kernel, ":reset=all") ? gpu_table_s * cells : 0;
}

/* Measures the conversion of B to CSC, which study 002 reports, for a kernel whose product is skipped. */
static void measure_conversion(spgemm_group *group, spgemm_case *c)
{
    enum { TIMES = 5 };
    double us[TIMES];
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = SPRY_CSC;
    for (int t = 0; t < TIMES; t++) {
        spry_matrix *columns = NULL;
        const double start = now_us();
        if (spry_matrix_convert(group->session->context, &columns, NULL, group->A, &options, NULL) != SPRY_OK) return;
        us[t] = now_us() - start;
        spry_matrix_destroy(columns);
    }
    c->record.product.stages[STAGE_CONVERT] = bench_summarise(us, TIMES).median;
}

static spry_status create_plan(spgemm_group *group, spgemm_case *c, spry_error *err)
{
    const spry_matrix *A = c->device > 0 ? group->on_gpu.A : group->A;
    const double start = now_us();
    c->options.stages = &group->times;
    spry_status status = spry_spgemm_plan_create(group->session->context, &c->plan, A, A, &c->options, err);
    c->record.cost.setup_us += now_us() - start;
    return status;
}

/*
 * Ways to call Spry, and their names in the record's format. WHOLE: A and C are in the device's memory. ROUTED: the
 * library chooses the device.
 */
enum { WHOLE, PLANNED, FROM_HOST, ROUTED };
static const char *const call_names[] = {NULL, "plan", "host", "auto"};

/* Adds and checks a case of Spry. kernel NULL: the library's choice. Returns 0 if memory is short. */
static int add_own(spgemm_group *group, const char *kernel, const char *device, int call)
{
    spgemm_case *c = add_case(group, kernel, device);
    if (!c) return 0;
    spry_error err = {0};
    spry_status status = SPRY_OK;
    if (!fits(group, c)) return 1;
    c->record.method.peer = 0;
    c->record.cost.setup_us = c->record.cost.upload_us = 0;
    if (call_names[call]) RECORD_TEXT(c->record.method.format, call_names[call]);
    if (call >= FROM_HOST) c->device = 0;
    c->options.kernel = kernel;
    if (strcmp(device, "auto") == 0)
        c->options.device = SPRY_DEVICE_AUTO;
    else if (c->device == 0) /* if A is on a GPU, the default applies: A's device */
        status = find_device(group->session->context, &c->options.device, device, &err);
    if (c->options.device == SPRY_CPU) c->options.stages = &group->times; /* not on a GPU, where this slows every run */
    c->options.result_device = c->device > 0 ? c->device : SPRY_CPU;
    if (c->device > 0 && status == SPRY_OK) {
        status = upload(group, &err);
        c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
        c->record.cost.setup_us = c->record.cost.upload_us = group->on_gpu.upload_us;
    }
    if (status == SPRY_OK && call == PLANNED) status = create_plan(group, c, &err);
    if (status != SPRY_OK)
        record_fail(&c->record, bench_status_of(status), "%s", err.message);
    else
        check_first(group, c);
    return 1;
}

static int add_skipped(spgemm_group *group, const char *kernel, const char *device, const char *reason)
{
    spgemm_case *c = add_case(group, kernel, device);
    if (c) record_fail(&c->record, RECORD_SKIPPED, "%s", reason);
    return c != NULL;
}

static void prepare_peer(spgemm_group *group, spgemm_case *c, const bench_peer *peer)
{
    const int threads = pool_threads(group->session->context);
    const spry_peer_matrix a = bench_peer_matrix(&group->arrays);
    const spry_peer_spgemm_request request = {a, a, peer->spgemm->variant, threads};
    peer_preparation p = bench_begin_preparing(threads, peer->spgemm->deterministic);
    c->peer = peer->spgemm;
    p.result = c->peer->prepare(&c->peer_state, &request, &p.cost, &p.error);
    if (!bench_end_preparing(&p, &c->record, peer, c->peer->title, &c->peer_state, c->peer->destroy)) return;
    if (c->device > 0 && group->session->gpu_copy_gbps != 0) c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
    check_first(group, c);
}

static int add_peer(spgemm_group *group, const bench_peer *peer)
{
    spgemm_case *c = add_case(group, peer->name, peer->device);
    if (!c) return 0;
    c->record.method.peer = 1;
    if (!peer->spgemm)
        record_fail(&c->record, RECORD_SKIPPED, "%s", peer->reason);
    else if (fits(group, c))
        prepare_peer(group, c, peer);
    return 1;
}

/* ---- selection of cases ------------------------------------------------------------------------- */

/* Adds a kernel. name: its name, optionally with parameters; the group borrows the string. */
static int add_kernel(spgemm_group *group, const spry_kernel_info *kernel, const char *name)
{
    const double seconds = seconds_of(group, name);
    if (!kernel->available) return add_skipped(group, name, kernel->device_kind, kernel->reason);
    if (seconds > most_seconds) {
        char reason[128];
        snprintf(reason, sizeof reason, "a product would take about %.2g s, predicted from rows times columns",
                 seconds);
        if (!add_skipped(group, name, kernel->device_kind, reason)) return 0;
        if (reads_columns(name)) measure_conversion(group, &group->cases[group->case_count - 1]);
        return 1;
    }
    return add_own(group, name, kernel->device_kind, WHOLE) &&
           (group->session->options->candidates.calls <= 1 || add_own(group, name, kernel->device_kind, PLANNED));
}

/*
 * Adds all kernels of the wanted devices, or only the named kernels. A kernel may be named more than once, with
 * different parameters. *own: number of named kernels of Spry.
 */
static int add_kernels(spgemm_group *group, int *own)
{
    const bench_options *options = group->session->options;
    int good = 1;
    spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
    for (int k = 0; good && spry_kernel_get_info(group->session->context, &kernel, k, NULL) == SPRY_OK; k++) {
        if (strcmp(kernel.operations, "spgemm") != 0) continue;
        const text_list *list = &options->candidates.kernels;
        int named = 0;
        for (int i = 0; i < list->count && good; i++) {
            if (!text_is_named(list->items[i], kernel.name)) continue;
            named++;
            if (bench_device_fits(group->session, group->wanted, kernel.device_kind, true))
                good = add_kernel(group, &kernel, list->items[i]);
        }
        *own += named;
        if (good && named == 0 && options->candidates.all_kernels &&
            bench_device_fits(group->session, group->wanted, kernel.device_kind, false))
            good = add_kernel(group, &kernel, kernel.name);
    }
    return good;
}

/*
 * Adds the library's choice of kernel on each wanted device. If "all" devices are wanted and there is a GPU, also adds
 * a product on the GPU with A and C in host memory, and the library's choice of the device.
 */
static int add_choices(spgemm_group *group)
{
    static const char *const devices[] = {"cpu", "cuda"};
    const bench_session *session = group->session;
    int good = 1;
    for (int d = 0; d < 2 && good; d++) {
        /* A missing device that is requested by name gets a case with the reason. */
        if (!bench_device_fits(session, group->wanted, devices[d], false)) continue;
        good = add_own(group, NULL, devices[d], WHOLE);
        if (good && session->options->candidates.calls > 1) good = add_own(group, NULL, devices[d], PLANNED);
    }
    if (strcmp(group->wanted, "all") != 0 || !bench_has_device(session, "cuda")) return good;
    return good && add_own(group, NULL, "cuda", FROM_HOST) && add_own(group, NULL, "auto", ROUTED);
}

/* Adds all cases. The library's choice runs if the formats have "auto" or no kernel of Spry is named. */
static int add_cases(spgemm_group *group)
{
    const bench_options *options = group->session->options;
    const bench_peers *peers = options->candidates.peers;
    int own = 0, good = add_kernels(group, &own);
    if (good && !options->candidates.all_kernels && (own == 0 || text_list_has(&options->candidates.formats, "auto")))
        good = add_choices(group);
    for (int p = 0; peers && p < peers->count && good; p++)
        if (bench_wants_peer(group->session, group->wanted, p)) good = add_peer(group, &peers->items[p]);
    if (good && group->case_count == 0)
        good = add_skipped(group, "", strcmp(group->wanted, "all") == 0 ? "" : group->wanted,
                           "spgemm has no kernel for the chosen device");
    return good;
}

spry_status bench_spgemm(bench_session *session, const bench_subject *subject, spry_error *err)
{
    const bench_options *options = session->options;
    const char *name = subject->source->name;
    spgemm_group group;
    char text[320];
    snprintf(text, sizeof text, "%s: counting products, checking kernels", name);
    options->receiver.progress(text);
    spry_status status = open_group(&group, session, subject, err);
    if (status != SPRY_OK) return status;
    const int good = add_cases(&group);
    snprintf(text, sizeof text, "%s %s: timing %d cases", name, group.common.input.type, group.case_count);
    options->receiver.progress(text);
    if (good && measure(&group))
        status =
            bench_emit(session, subject, group.cases, sizeof *group.cases, group.case_count, group.disturbance, err);
    else
        status = bench_out_of_memory(err);
    close_group(&group);
    return status;
}
