#include "io/mtx_to_csr.h"

#include "core/error.h"
#include "core/memory.h"
#include "io/mtx_to_csr_job.h"

#include <omp.h>
#include <string.h>

#define OFFSET int32_t
#define INDEX int32_t
#define VALUE float
#define HAS_VALUES 1
#define NAME(function) function##_32_32_f32
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int32_t
#define INDEX int32_t
#define VALUE double
#define HAS_VALUES 1
#define NAME(function) function##_32_32_f64
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int32_t
#define INDEX int32_t
#define VALUE char
#define HAS_VALUES 0
#define NAME(function) function##_32_32_pattern
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int64_t
#define INDEX int32_t
#define VALUE float
#define HAS_VALUES 1
#define NAME(function) function##_64_32_f32
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int64_t
#define INDEX int32_t
#define VALUE double
#define HAS_VALUES 1
#define NAME(function) function##_64_32_f64
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int64_t
#define INDEX int32_t
#define VALUE char
#define HAS_VALUES 0
#define NAME(function) function##_64_32_pattern
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int64_t
#define INDEX int64_t
#define VALUE float
#define HAS_VALUES 1
#define NAME(function) function##_64_64_f32
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int64_t
#define INDEX int64_t
#define VALUE double
#define HAS_VALUES 1
#define NAME(function) function##_64_64_f64
#include "io/mtx_to_csr.tmpl.c"
#define OFFSET int64_t
#define INDEX int64_t
#define VALUE char
#define HAS_VALUES 0
#define NAME(function) function##_64_64_pattern
#include "io/mtx_to_csr.tmpl.c"

/* Starting and joining threads costs more than sorting fewer entries. */
enum { ENTRIES_A_THREAD = 100000 };

static const csr_functions *choose(int pair, spry_type stored)
{
    static const csr_functions *const table[SPRYI_INDEX_PAIRS][3] = {
        {&functions_32_32_f32, &functions_32_32_f64, &functions_32_32_pattern},
        {&functions_64_32_f32, &functions_64_32_f64, &functions_64_32_pattern},
        {&functions_64_64_f32, &functions_64_64_f64, &functions_64_64_pattern},
    };
    return table[pair][stored == SPRY_F32 ? 0 : stored == SPRY_F64 ? 1 : 2];
}

/* ---- an array's values to entries -------------------------------------------------------------- */

static int is_zero(const void *values, spry_type type, int64_t k)
{
    return type == SPRY_F32 ? ((const float *)values)[k] == 0 : ((const double *)values)[k] == 0;
}

static void set_index(void *array, spry_index_type type, int64_t k, int64_t index)
{
    if (type == SPRY_I64) {
        ((int64_t *)array)[k] = index;
    } else {
        ((int32_t *)array)[k] = (int32_t)index;
    }
}

/* Values of the dense columns that are not zero, moved together, get their indices. */
static spry_status index_array(spry_context *context, const spryi_mtx *head, spryi_mtx_entries *e, spry_error *err)
{
    int64_t kept = 0, k = 0;
    size_t index_bytes = spry_index_type_bytes(e->index_type), value_bytes = spry_type_bytes(e->value_type);
    for (int64_t v = 0; v < e->count; v++) kept += !is_zero(e->values, e->value_type, v);
    spry_status status = spryi_allocate(context, &e->rows, kept, index_bytes, "row indices of the array", err);
    if (status == SPRY_OK)
        status = spryi_allocate(context, &e->cols, kept, index_bytes, "column indices of the array", err);
    if (status != SPRY_OK) return status;
    kept = 0;
    for (int64_t j = 0; j < head->n && k < e->count; j++) {
        int64_t first = head->symmetry == SPRY_GENERAL ? 0 : head->symmetry == SPRY_SYMMETRIC ? j : j + 1;
        for (int64_t i = first; i < head->m; i++, k++) {
            if (is_zero(e->values, e->value_type, k)) continue;
            set_index(e->rows, e->index_type, kept, i);
            set_index(e->cols, e->index_type, kept, j);
            memmove((char *)e->values + (size_t)kept * value_bytes, (char *)e->values + (size_t)k * value_bytes,
                    value_bytes);
            kept++;
        }
    }
    e->count = kept;
    e->rows_sorted = e->sorted = kept <= 1;
    return SPRY_OK;
}

/* ---- all of it --------------------------------------------------------------------------------- */

static int64_t count_mirrored(const spryi_mtx_entries *e, spry_symmetry symmetry, int threads)
{
    int64_t off_diagonal = 0;
    if (symmetry == SPRY_GENERAL) return e->count;
#pragma omp parallel for num_threads(threads) reduction(+ : off_diagonal)
    for (int64_t k = 0; k < e->count; k++)
        off_diagonal += spryi_index_at(e->rows, e->index_type, k) != spryi_index_at(e->cols, e->index_type, k);
    return e->count + off_diagonal;
}

/* Threads of the counting sort: each brings m counts, which must not outweigh the entries. */
static int sorting_threads(const csr_job *job, size_t offset_bytes)
{
    int64_t most = 16 * job->from->count / ((job->m + 1) * (int64_t)offset_bytes);
    return most < 1 ? 1 : most < job->threads ? (int)most : job->threads;
}

static spry_status sort_entries(csr_job *job, const csr_functions *f, spryi_mtx_entries *e, spry_error *err)
{
    spry_status status = SPRY_OK;
    void *counts = NULL;
    int threads = job->threads;
    size_t index_bytes = spry_index_type_bytes(e->index_type);
    SPRYI_TRY(spryi_allocate(job->context, &job->Aj, job->nnz, index_bytes, "columns", err));
    if (e->values)
        SPRYI_TRY(spryi_allocate(job->context, &job->Ax, job->nnz, spry_type_bytes(e->value_type), "values", err));
    job->threads = sorting_threads(job, f->offset_bytes);
    SPRYI_TRY(spryi_allocate(job->context, &counts, job->m * job->threads, f->offset_bytes, "row counts", err));
    f->sort_by_row(job, counts);
    job->threads = threads;
done:
    spryi_release(job->context, counts);
    return status;
}

static spry_status order_rows(csr_job *job, const csr_functions *f, const spryi_mtx_entries *e, spry_error *err)
{
    spry_status status = SPRY_OK;
    void *indices = NULL, *values = NULL;
    int64_t unsorted, longest, repeated;
    f->inspect(job, &unsorted, &longest, &repeated);
    if (unsorted > 0) {
        int64_t room = job->nnz / longest; /* scratch of all threads: not more than the matrix */
        int threads = room < job->threads ? (int)room : job->threads;
        SPRYI_TRY(spryi_allocate(job->context, &indices, longest * threads, spry_index_type_bytes(e->index_type),
                                 "scratch for sorting", err));
        if (job->Ax)
            SPRYI_TRY(spryi_allocate(job->context, &values, longest * threads, spry_type_bytes(e->value_type),
                                     "scratch for sorting", err));
        f->sort_rows(job, threads, longest, indices, values);
        f->inspect(job, &unsorted, &longest, &repeated);
    }
    if (repeated > 0) f->sum_repeated(job);
done:
    spryi_release(job->context, indices);
    spryi_release(job->context, values);
    return status;
}

static void fill_with_ones(void *values, spry_type type, int64_t count, int threads)
{
    if (type == SPRY_F32) {
        float *Ax = values;
#pragma omp parallel for num_threads(threads)
        for (int64_t k = 0; k < count; k++) Ax[k] = 1;
    } else {
        double *Ax = values;
#pragma omp parallel for num_threads(threads)
        for (int64_t k = 0; k < count; k++) Ax[k] = 1;
    }
}

/* A pattern's duplicates count as their sum, so its ones must exist before they are summed. */
static spry_status settle_values(spry_context *context, spryi_mtx_entries *e, spry_type value_type, int threads,
                                 spry_error *err)
{
    if (value_type == SPRY_PATTERN) { /* of an array they only told where zeros are */
        spryi_release(context, e->values);
        e->values = NULL;
    } else if (!e->values) {
        spry_status status = spryi_allocate(context, &e->values, e->count, spry_type_bytes(value_type), "values", err);
        if (status != SPRY_OK) return status;
        fill_with_ones(e->values, value_type, e->count, threads);
    }
    e->value_type = value_type;
    return SPRY_OK;
}

static spry_status settle_offset_type(const spryi_mtx *head, int64_t nnz, spry_index_type index_type,
                                      spry_index_type *offset_type, spry_error *err)
{
    if (*offset_type == SPRY_I32 && nnz > INT32_MAX)
        return spryi_fail_file(err, SPRY_BAD_FILE, head->name, head->lines,
                               "%lld entries do not fit 32-bit offsets, which hold %d", (long long)nnz, INT32_MAX);
    return spryi_pick_index_types(offset_type, &index_type, head->m, head->n, nnz, err);
}

static spry_status adopt(const csr_job *job, spry_matrix **A, const spryi_mtx *head, const spryi_mtx_entries *e,
                         spry_index_type offset_type, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSR;
    a.rows = head->m;
    a.cols = head->n;
    a.nnz = job->nnz;
    a.offset_type = offset_type;
    a.index_type = e->index_type;
    a.value_type = e->value_type;
    a.offsets = job->Ap;
    a.indices = job->Aj;
    a.values = job->Ax;
    a.sorted = a.unique = SPRY_KNOWN_YES;
    a.symmetry = head->symmetry;
    return spryi_matrix_adopt(job->context, A, &a, head->field, err);
}

spry_status spryi_mtx_to_csr(spry_context *context, spry_matrix **A, const spryi_mtx *head, spryi_mtx_entries *entries,
                             spry_index_type offset_type, spry_type value_type, spry_error *err)
{
    spry_status status = SPRY_OK;
    csr_job job = {.context = context, .m = head->m, .symmetry = head->symmetry, .from = entries};
    int64_t worthwhile = 1 + entries->count / ENTRIES_A_THREAD;
    job.threads = spry_context_threads(context);
    if (job.threads > worthwhile) job.threads = (int)worthwhile;
    if (head->array) SPRYI_TRY(index_array(context, head, entries, err));
    SPRYI_TRY(settle_values(context, entries, value_type, job.threads, err));
    job.nnz = count_mirrored(entries, head->symmetry, job.threads);
    SPRYI_TRY(settle_offset_type(head, job.nnz, entries->index_type, &offset_type, err));
    const csr_functions *f = choose(spryi_index_pair(offset_type, entries->index_type), value_type);

    SPRYI_TRY(spryi_allocate(context, &job.Ap, head->m + 1, f->offset_bytes, "row offsets", err));
    int in_place = head->symmetry == SPRY_GENERAL && entries->rows_sorted;
    if (in_place) {
        f->offsets_of_sorted(&job);
        job.Aj = entries->cols;
        job.Ax = entries->values;
        entries->cols = entries->values = NULL;
    } else {
        SPRYI_TRY(sort_entries(&job, f, entries, err));
    }
    spryi_mtx_release(context, entries);
    if (!in_place || !entries->sorted) SPRYI_TRY(order_rows(&job, f, entries, err));
    status = adopt(&job, A, head, entries, offset_type, err);
    job.Ap = job.Aj = job.Ax = NULL; /* taken over, also on failure */
done:
    spryi_mtx_release(context, entries);
    spryi_release(context, job.Ap);
    spryi_release(context, job.Aj);
    spryi_release(context, job.Ax);
    return status;
}
