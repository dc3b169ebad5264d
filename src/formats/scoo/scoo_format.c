/* The storage of format scoo: the height of its slices, its size, its build, and CSR of it. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/scoo/scoo.h"
#include "formats/shared/run_blocks.h"
#include "matrix/assemble.h"

#include <stdio.h>
#include <string.h>

/* Slices of SPRYI_SCOO_SLICE_BYTES of y; lower, in steps of two, where the matrix would give few. */
static int64_t default_height(int64_t rows, spry_type value_type)
{
    int64_t height = SPRYI_SCOO_SLICE_BYTES / (int64_t)spry_type_bytes(value_type);
    while (height > SPRYI_SCOO_LEAST_HEIGHT && rows / height < SPRYI_SCOO_SLICES) height /= 2;
    return height;
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/*
 * A slice a multiprocessor, so that all of them sweep x together; twice as high where the kernel's two parts a slice,
 * whose sums meet, cost less than the sectors of x they save; in rounds of two a multiprocessor where that would be
 * too much for shared memory. Whole sectors of y. lanes: sums a row that the kernel is asked for; 0: what fits.
 */
static int64_t gpu_height(int64_t rows, int64_t nnz, spry_type value_type, int64_t lanes)
{
    const int64_t sums = lanes > 0 ? lanes : 1;
    const int64_t most = SPRYI_SCOO_GPU_SLICE_BYTES / (int64_t)spry_type_bytes(value_type) / sums;
    int64_t height = quotient_up(rows, SPRYI_SCOO_GPU_SLICES);
    if (2 * height <= most && rows > 0 && nnz / rows >= SPRYI_SCOO_GPU_MEETING) height *= 2;
    if (height > most) {
        const int64_t rounds = quotient_up(rows, 2 * SPRYI_SCOO_GPU_SLICES * most);
        height = quotient_up(rows, 2 * SPRYI_SCOO_GPU_SLICES * rounds);
    }
    const int64_t least = SPRYI_SCOO_GPU_LEAST_HEIGHT;
    return height < least ? least : quotient_up(height, least) * least;
}

static spryi_scoo_head head_of(const spryi_build_request *request, const spry_arrays *a)
{
    const int64_t word = request->kernel_parameters[SPRYI_SCOO_LANES], lanes = word > 0 ? INT64_C(1) << (word - 1) : 0;
    int64_t height = request->parameters[0] > 0    ? request->parameters[0]
                     : request->massively_parallel ? gpu_height(a->rows, a->nnz, a->value_type, lanes)
                                                   : default_height(a->rows, a->value_type);
    return (spryi_scoo_head){
        .rows = a->rows,
        .cols = a->cols,
        .nnz = a->nnz,
        .height = height,
        .slices = a->rows / height + (a->rows % height > 0),
        .value_type = (int32_t)a->value_type,
        .offset_type = (int32_t)a->offset_type,
        .index_type = (int32_t)a->index_type,
    };
}

static void cost_of(const spryi_scoo_head *h, spryi_cost *cost)
{
    const size_t entry = spry_type_bytes((spry_type)h->value_type) + sizeof(uint16_t) +
                         spry_index_type_bytes((spry_index_type)h->index_type);
    cost->bytes = h->nnz * (int64_t)entry +
                  (h->slices + 1) * (int64_t)spry_index_type_bytes((spry_index_type)h->offset_type);
    cost->words = 3 * h->nnz + h->slices + 1;
    snprintf(cost->parameters, sizeof cost->parameters, "height=%lld", (long long)h->height);
}

/*
 * Slices are sorted by columns, counted from their least: first into buckets, as many streams of writes as a core
 * follows, then each bucket, small enough for a second-level cache, by passes over the digits below.
 */
enum {
    DIGIT_BITS = 11, /* counters of a digit fit a first-level cache */
    DIGITS = 1 << DIGIT_BITS,
    MOST_PASSES = 7,         /* 63 bits */
    BUCKET_ENTRIES = 1 << 12 /* that are aimed at */
};

typedef struct digits {
    int shift;        /* of the column, to its bucket */
    int passes, bits; /* over the digits below */
    int64_t buckets;
} digits;

/* For `count` entries whose columns span `span` after the least. */
static digits digits_of(int64_t count, int64_t span)
{
    int bits = 0, high = 0;
    while (span >> bits > 0) bits++;
    while (high < DIGIT_BITS && high < bits && count >> high > BUCKET_ENTRIES) high++;
    digits how = {.shift = bits - high, .passes = (bits - high + DIGIT_BITS - 2) / (DIGIT_BITS - 1)};
    how.bits = how.passes > 0 ? (how.shift + how.passes - 1) / how.passes : 0;
    how.buckets = (span >> how.shift) + 1;
    return how;
}

/* Where the arrays lie in the memory that a thread sorts in, behind its counters. */
typedef struct sorting {
    int64_t columns_at, values_at, rows_at, bytes;
} sorting;

static int64_t offset(const spryi_scoo *s, int64_t slice)
{
    return spryi_index_at(s->offsets, s->types.offset_type, slice);
}

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/scoo/scoo_sort.tmpl.c"
#include "base/instantiate.h"
#include "formats/shared/padding_guard.h"

typedef void (*sort_fn)(const spryi_scoo *s, const spry_arrays *A, int64_t slice, const sorting *how, char *scratch);
typedef void (*unsort_fn)(const spryi_scoo *s, spryi_compressed *c, int64_t slice);
typedef const char *(*fault_fn)(const spryi_scoo *s, int64_t slice);
static const sort_fn sorts[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(sort);
static const unsort_fn unsorts[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(unsort);
static const fault_fn faults[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fault);

static int pair_of(const spryi_scoo_head *h)
{
    return spryi_index_pair((spry_index_type)h->offset_type, (spry_index_type)h->index_type);
}

static spry_arrays types_of(const spryi_scoo_head *h)
{
    return spryi_types_of(h->rows, h->cols, h->nnz, h->value_type, h->offset_type, h->index_type);
}

static int sections(void *storage, spryi_section *list)
{
    spryi_scoo *s = storage;
    const spryi_scoo_head *h = &s->head;
    if ((int32_t)s->types.value_type != h->value_type) s->types = types_of(h); /* of a head that was restored */
    const int64_t offset_bytes = (int64_t)spry_index_type_bytes((spry_index_type)h->offset_type);
    const int64_t column_bytes = (int64_t)spry_index_type_bytes((spry_index_type)h->index_type);
    const int64_t value_bytes = (int64_t)spry_type_bytes((spry_type)h->value_type);
    list[0] = (spryi_section){"head", NULL, &s->head, 1, sizeof s->head};
    list[1] = (spryi_section){"offsets", &s->offsets, NULL, spryi_size_plus_one(h->slices), offset_bytes};
    list[2] = (spryi_section){"columns", &s->columns, NULL, h->nnz, column_bytes};
    list[3] = (spryi_section){"rows", &s->rows, NULL, h->nnz, sizeof(uint16_t)};
    list[4] = (spryi_section){"values", &s->values, NULL, h->nnz, value_bytes};
    return 5;
}

static spry_status predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request, spry_error *err)
{
    (void)context, (void)err;
    const spryi_scoo_head h = head_of(request, &request->csr->a);
    cost_of(&h, cost);
    return SPRY_OK;
}

/* Scratch memory for the largest slice. */
static sorting plan_sorting(const spryi_scoo *s)
{
    int64_t most = 0;
    for (int64_t b = 0; b < s->head.slices; b++) {
        int64_t entries = offset(s, b + 1) - offset(s, b);
        if (entries > most) most = entries;
    }
    most = (most + 31) / 32 * 32; /* keeps the arrays aligned */
    sorting how = {.columns_at = (MOST_PASSES + 1) * DIGITS * (int64_t)sizeof(int64_t) + SPRYI_ALIGNMENT};
    how.values_at = how.columns_at + most * (int64_t)spry_index_type_bytes(s->types.index_type);
    how.rows_at = how.values_at + most * (int64_t)spry_type_bytes(s->types.value_type);
    how.bytes = how.rows_at + most * (int64_t)sizeof(uint16_t);
    return how;
}

typedef struct slice_job {
    const spryi_scoo *s;
    const spry_arrays *a;
    const sorting *how;
    sort_fn sort;
    char *scratch;
    unsort_fn unsort;
    spryi_compressed *c;
    fault_fn fault;
    atomic_llong first; /* slice with a fault */
} slice_job;

static void sort_slices(void *job, int64_t begin, int64_t end, int part)
{
    const slice_job *j = job;
    for (int64_t b = begin; b < end; b++) j->sort(j->s, j->a, b, j->how, j->scratch + part * j->how->bytes);
}

static void unsort_slices(void *job, int64_t begin, int64_t end)
{
    const slice_job *j = job;
    for (int64_t b = begin; b < end; b++) j->unsort(j->s, j->c, b);
}

static void find_faults(void *job, int64_t begin, int64_t end)
{
    slice_job *j = job;
    for (int64_t b = begin; b < end; b++)
        if (b < j->first && j->fault(j->s, b)) spryi_lower(&j->first, b);
}

static spry_status fill(spry_context *context, spryi_scoo *s, const spry_arrays *a, spry_error *err)
{
    const spryi_scoo_head *h = &s->head;
    spry_status status = SPRY_OK;
    void *scratch = NULL;
    for (int64_t b = 0; b <= h->slices; b++) {
        int64_t row = b < h->slices ? b * h->height : h->rows;
        spryi_set_index(s->offsets, a->offset_type, b, spryi_index_at(a->offsets, a->offset_type, row));
    }
    const sorting how = plan_sorting(s);
    int threads = spryi_threads(context, h->rows + h->nnz);
    if (threads > h->slices) threads = h->slices > 0 ? (int)h->slices : 1;
    SPRYI_TRY(spryi_allocate(context, &scratch, threads, (size_t)how.bytes, "scratch memory of sorting", err));
    slice_job j = {.s = s, .a = a, .how = &how, .scratch = scratch};
    j.sort = sorts[spryi_value_slot(a->value_type)][pair_of(h)];
    spryi_loop_in_parts(context, threads, h->slices, 1, sort_slices, &j);
done:
    spryi_release(context, scratch);
    return status;
}

static spry_status build(spry_context *context, void *storage, const spryi_build_request *request, spry_error *err)
{
    spryi_scoo *s = storage;
    spryi_cost cost = {0};
    SPRYI_OK_OR_RETURN(predict(context, &cost, request, err));
    SPRYI_OK_OR_RETURN(spryi_admit(request, "scoo", &cost, err));
    *s = (spryi_scoo){.head = head_of(request, &request->csr->a)};
    s->types = types_of(&s->head);
    SPRYI_OK_OR_RETURN(spryi_allocate_arrays(context, s, sections, err));
    SPRYI_OK_OR_RETURN(fill(context, s, &request->csr->a, err));
    return SPRY_OK;
}

static spry_status to_csr(spry_context *context, spry_matrix **csr, const void *storage, spry_error *err)
{
    const spryi_scoo *s = storage;
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    spry_arrays a = s->types;
    a.sorted = SPRY_KNOWN_YES;
    SPRYI_TRY(spryi_start_csr(context, &c, &a, err));
    c.offsets[0] = 0;
    slice_job j = {.s = s, .c = &c, .unsort = unsorts[spryi_value_slot(a.value_type)][pair_of(&s->head)]};
    spryi_loop(context, spryi_threads(context, a.rows + a.nnz), s->head.slices, 1, unsort_slices, &j);
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* Sums of rows, or of columns, where beta is not 0. */
static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_scoo_head *h = &((const spryi_scoo *)storage)->head;
    return (h->rows > h->cols ? h->rows : h->cols) * (int64_t)spry_type_bytes(vector_type);
}

static const char *head_fault(const spryi_scoo_head *h)
{
    if (h->rows < 0 || h->cols < 0 || h->nnz < 0) return "a size is negative";
    if (h->height < 1 || h->height > SPRYI_SCOO_MOST_HEIGHT) return "the height of slices is out of range";
    if (h->slices != h->rows / h->height + (h->rows % h->height > 0)) return "the number of slices does not fit";
    if (spryi_value_slot((spry_type)h->value_type) < 0 || pair_of(h) < 0) return "a type is unknown";
    if (h->index_type == SPRY_I32 && h->cols > INT32_MAX) return "the columns pass their index type";
    return NULL;
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    const spryi_scoo *s = storage;
    const spryi_scoo_head *h = &s->head;
    const char *fault = head_fault(h);
    if (fault) return spryi_fail(err, SPRY_BAD_FILE, NULL, "scoo: %s", fault);
    int rises = spryi_index_at(s->offsets, (spry_index_type)h->offset_type, 0) == 0;
    for (int64_t b = 0; rises && b < h->slices; b++) rises = offset(s, b) <= offset(s, b + 1);
    if (!rises || offset(s, h->slices) != h->nnz)
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "scoo: slice offsets do not rise from 0 to %lld",
                          (long long)h->nnz);
    slice_job j = {.s = s, .fault = faults[spryi_value_slot(s->types.value_type)][pair_of(h)], .first = h->slices};
    spryi_loop(context, spryi_threads(context, h->rows + h->nnz), h->slices, 1, find_faults, &j);
    const int64_t first = j.first;
    if (first < h->slices)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, first, 0, "scoo: slice %lld: %s", (long long)first,
                                j.fault(s, first));
    return SPRY_OK;
}

static const spryi_parameter parameters[] = {
    {"height", 1, SPRYI_SCOO_MOST_HEIGHT, "rows a slice"},
    {.name = NULL},
};

const spryi_format spryi_format_scoo = {
    .name = "scoo",
    .title = "sliced coordinates",
    .storage = "nnz values + nnz columns + nnz rows of 16 bits + (slices+1) offsets",
    .best_for = "scattered columns in matrices whose x is larger than the caches",
    .parameters = parameters,
    .parameter_text = "height=NUMBER (rows a slice, up to 65536; default: 256 KB of y, less in small matrices; "
                      "on GPUs a slice a multiprocessor, up to 96 KB)",
    .predict = predict,
    .build = build,
    .workspace_bytes = workspace_bytes,
    .to_csr = to_csr,
    .storage_size = sizeof(spryi_scoo),
    .sections = sections,
    .check = check,
    .estimator = &spryi_scoo_estimator,
};
