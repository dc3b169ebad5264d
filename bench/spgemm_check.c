/* One product, and whether it is the right one. */
#include "bench/spgemm_cases.h"
#include "spry/tools.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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

static spry_status run_ours(spgemm_group *group, spgemm_case *c, spry_error *err)
{
    spry_context *context = group->session->context;
    const spry_matrix *A = c->device > 0 ? group->on_gpu.A : group->A;
    spry_status status = c->plan ? spry_spgemm_plan_run(c->plan, NULL, err)
                                 : spry_spgemm(context, &c->C, A, A, &c->options, err);
    if (status == SPRY_OK && c->device > 0) status = spry_device_synchronize(context, c->device, NULL, err);
    return status;
}

int spgemm_run(spgemm_group *group, spgemm_case *c, double *us)
{
    if (c->peer) return run_peer(group, c, us);
    spry_error err = {0};
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    c->options.info = &info;
    const double start = now_us();
    spry_status status = run_ours(group, c, &err);
    *us = now_us() - start;
    c->options.info = NULL;
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
    record_take_stages(r, &info);
    if (r->reason[0]) return 1;
    snprintf(r->method.kernel, sizeof r->method.kernel, "%s", c->options.kernel ? c->options.kernel : info.kernel);
    snprintf(r->method.device, sizeof r->method.device, "%s", info.device_name);
    snprintf(r->reason, sizeof r->reason, "%s%s", c->plan ? "the numeric phase of a plan alone; " : "", info.reason);
    return 1;
}

void spgemm_release(spgemm_case *c)
{
    if (c->peer) c->peer->release(c->peer_state);
    spry_matrix_destroy(c->C);
    c->C = NULL;
}

/* ---- C in host memory --------------------------------------------------------------------------- */

typedef struct host_result {
    spry_arrays arrays;
    void *owned[3]; /* copies of what is on a GPU */
} host_result;

static void forget(host_result *r)
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
    a->cols = m.cols;
    a->nnz = m.nnz;
    a->offset_type = index_type(m.offset_bytes);
    a->index_type = index_type(m.index_bytes);
    a->value_type = m.value_bytes == 8 ? SPRY_F64 : SPRY_F32;
    a->offsets = m.offsets;
    a->indices = m.columns;
    a->values = m.values;
    return 1;
}

static void touch_pages(void *room, int64_t begin, int64_t end)
{
    for (int64_t page = begin; page < end; page++) ((volatile char *)room)[page * 4096] = 0;
}

/*
 * Room for a copy, its pages taken by all threads: of some GB, one thread alone would spend longer on that than the
 * copy takes. NULL: out of memory.
 */
static void *new_copy(size_t bytes, int threads)
{
    char *room = allocate_pages(bytes);
    if (!room) return NULL;
    run_shares(threads, (int64_t)((bytes + 4095) / 4096), touch_pages, room);
    return room;
}

static spry_status download(spgemm_group *group, host_result *r, spry_error *err)
{
    spry_arrays *a = &r->arrays;
    const void *from[3] = {a->offsets, a->indices, a->values};
    spry_status status = SPRY_OK;
    for (int i = 0; i < 3 && status == SPRY_OK; i++) {
        const size_t bytes = (size_t)csr_part_bytes(a, i);
        r->owned[i] = new_copy(bytes, spry_context_threads(group->session->context));
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

/* The arrays live until spgemm_release, those downloaded until forget. */
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
    forget(r);
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

static int64_t at(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

enum { BATCH = 1024 };

typedef struct column_job {
    const spry_arrays *a;
    atomic_llong next; /* row; those that come first may have most of the entries, and do in matrices of powers */
    atomic_llong wrong, unsorted;
} column_job;

/* Runs on each thread, which takes the rows that are next. */
static void check_columns(void *job, int64_t begin, int64_t end)
{
    column_job *j = job;
    const spry_arrays *a = j->a;
    int64_t wrong = 0, unsorted = 0;
    (void)begin, (void)end;
    for (int64_t first; (first = atomic_fetch_add(&j->next, BATCH)) < a->rows;)
        for (int64_t i = first; i < first + BATCH && i < a->rows; i++) {
            const int64_t last = at(a->offsets, a->offset_type, i + 1);
            int64_t before = -1;
            for (int64_t k = at(a->offsets, a->offset_type, i); k < last; k++) {
                const int64_t column = at(a->indices, a->index_type, k);
                wrong += column < 0 || column >= a->cols;
                unsorted += column <= before;
                before = column;
            }
        }
    j->wrong += wrong;
    j->unsorted += unsorted;
}

/* Offsets that never fall and columns in range, which the comparison relies on; notes rows that are not sorted. */
static int is_sound(spgemm_group *group, spgemm_case *c, const spry_arrays *a)
{
    const record *r = &c->record;
    const int threads = spry_context_threads(group->session->context);
    int64_t wrong = 0;
    if (a->rows != r->input.rows || a->cols != r->input.cols)
        return record_fail(&c->record, RECORD_WRONG, "C is %lld x %lld, expected %lld x %lld", (long long)a->rows,
                           (long long)a->cols, (long long)r->input.rows, (long long)r->input.cols);
    if (a->nnz != group->estimate.nnz)
        return record_fail(&c->record, RECORD_WRONG, "C has %lld entries, expected %lld", (long long)a->nnz,
                           (long long)group->estimate.nnz);
    wrong += at(a->offsets, a->offset_type, 0) != 0 || at(a->offsets, a->offset_type, a->rows) != a->nnz;
    for (int64_t i = 0; i < a->rows && wrong == 0; i++)
        wrong += at(a->offsets, a->offset_type, i + 1) < at(a->offsets, a->offset_type, i);
    if (wrong > 0)
        return record_fail(&c->record, RECORD_WRONG, "the row offsets of C do not rise from 0 to its entries");
    column_job j = {.a = a};
    run_shares(threads, threads, check_columns, &j);
    wrong = j.wrong;
    if (wrong > 0) return record_fail(&c->record, RECORD_WRONG, "%lld columns of C are out of range", (long long)wrong);
    c->record.product.unsorted = j.unsorted > 0;
    return 1;
}

/* C as a matrix for the comparison: its rows sorted, where they are not and the structure is compared. */
static spry_status as_matrix(spgemm_group *group, const spgemm_case *c, const spry_arrays *a, int exact,
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
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    options.keep_duplicates = 1;
    status = spry_matrix_convert(group->session->context, C, as_is, &options, err);
    spry_matrix_destroy(as_is);
    return status;
}

static int compare(spgemm_group *group, spgemm_case *c, const spry_arrays *a)
{
    const int exact = group->estimate.products <= EXACT_PRODUCTS;
    spry_error err = {0};
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
    spry_matrix *C = NULL;
    spry_status status = as_matrix(group, c, a, exact, &C, &err);
    if (status == SPRY_OK)
        status = spry_spgemm_verify(group->session->context, &v, C, group->A, group->A, &options,
                                    exact ? SPRY_VERIFY_EXACT : SPRY_VERIFY_RANDOM, &err);
    spry_matrix_destroy(C);
    if (status != SPRY_OK) return record_fail(&c->record, RECORD_FAILED, "the check itself failed: %s", err.message);
    c->record.max_error = v.max_error;
    if (v.wrong_rows == 0) return 1;
    const int base = spry_matrix_index_base(group->A);
    if (exact && v.first_misshapen >= 0)
        return record_fail(&c->record, RECORD_WRONG,
                           "%lld rows of C are wrong, row %lld (counted from %d) in its positions",
                           (long long)v.wrong_rows, (long long)v.first_misshapen + base, base);
    return record_fail(&c->record, RECORD_WRONG,
                       "%lld rows of C are past the error bound, worst at row %lld (counted from %d) with %.3g times "
                       "it",
                       (long long)v.wrong_rows, (long long)v.worst_row + base, base, v.max_error);
}

/* bytes, and what a reader must know of a result whose rows were left as they came. */
static void describe(spgemm_case *c, const spry_arrays *a)
{
    record *r = &c->record;
    r->rates.bytes = csr_part_bytes(a, 0) + csr_part_bytes(a, 1) + csr_part_bytes(a, 2);
    size_t used = strlen(r->reason);
    if (r->product.unsorted) snprintf(r->reason + used, sizeof r->reason - used, "; rows of C are left unsorted");
}

void spgemm_check(spgemm_group *group, spgemm_case *c)
{
    host_result result;
    double us = 0;
    const int on_cpu = c->options.device == SPRY_CPU;
    if (!c->peer && !on_cpu) (void)spry_context_trim(group->session->context); /* as peers empty their pool */
    if (!spgemm_run(group, c, &us)) return;
    c->record.time.first_us = us;
    if (fetch(group, c, &result)) {
        if (is_sound(group, c, &result.arrays) && compare(group, c, &result.arrays)) {
            c->hash = hash(&result.arrays, spry_context_threads(group->session->context));
            describe(c, &result.arrays);
        }
        forget(&result);
    }
    spgemm_release(c);
}

void spgemm_recheck(spgemm_group *group, spgemm_case *c)
{
    host_result result;
    double us = 0;
    if (!spgemm_run(group, c, &us)) return;
    if (fetch(group, c, &result)) {
        const int same = hash(&result.arrays, spry_context_threads(group->session->context)) == c->hash;
        if (!same && c->record.method.deterministic == 1)
            record_fail(&c->record, RECORD_WRONG, "said to be deterministic, but the bits changed between runs");
        else if (!same && is_sound(group, c, &result.arrays))
            compare(group, c, &result.arrays);
        forget(&result);
    }
    spgemm_release(c);
}
