/* The storage of format scoo: the height of slices, the size, the build, and the conversion to CSR. */
#ifndef SPRYI_TEMPLATE
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "formats/scoo/scoo.h"
#include "formats/shared/run_blocks.h"
#include "formats/shared/storage_limits.h"
#include "matrix/assemble.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Returns the height at which a slice has SPRYI_SCOO_SLICE_BYTES of y, halved while there are fewer than
 * SPRYI_SCOO_SLICES slices.
 */
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
 * Returns the height of slices for a GPU, in whole sectors of y. The target is one slice per multiprocessor of a large
 * GPU, so that all multiprocessors read the same part of x at about the same time. If rows are long enough, slices are
 * twice as high and are cut into two parts: the saved reads of x then outweigh the addition of the two parts. If the
 * sums of a slice exceed SPRYI_SCOO_GPU_SLICE_BYTES, slices are lower: a multiprocessor has two slices at a time, in
 * one or more rounds. lanes: number of sums per row that the user sets for the kernel; 0: the kernel chooses.
 */
static int64_t gpu_height(int64_t rows, int64_t nnz, spry_type value_type, int64_t lanes)
{
    const int64_t sums = lanes > 0 ? lanes : 1;
    const int64_t most = SPRYI_SCOO_GPU_SLICE_BYTES / (int64_t)spry_type_bytes(value_type) / sums;
    int64_t height = quotient_up(rows, SPRYI_SCOO_GPU_SLICES);
    if (2 * height <= most && rows > 0 && nnz / rows >= SPRYI_SCOO_GPU_DOUBLED_MEAN) height *= 2;
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
        .cols = a->columns,
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
                         spryi_index_type_bytes((spry_index_type)h->index_type);
    cost->bytes = h->nnz * (int64_t)entry +
                  (h->slices + 1) * (int64_t)spryi_index_type_bytes((spry_index_type)h->offset_type);
    cost->words = 3 * h->nnz + h->slices + 1;
    snprintf(cost->parameters, sizeof cost->parameters, "height=%lld", (long long)h->height);
}

/*
 * The entries of a slice are sorted by column minus the slice's least column. First they are distributed to buckets by
 * the highest digit. The number of buckets is limited to the number that a core can write to in parallel. Then each
 * bucket, which fits in the L2 cache, is sorted by passes over the lower digits.
 */
enum {
    DIGIT_BITS = 11, /* the counters of a digit fit in the L1 cache */
    DIGITS = 1 << DIGIT_BITS,
    MOST_PASSES = 7,         /* enough passes for 63 bits */
    BUCKET_ENTRIES = 1 << 12 /* target entries of a bucket */
};

typedef struct digits {
    int shift;        /* bits by which a column is shifted to get its bucket */
    int passes, bits; /* number of lower digits, and bits of each */
    int64_t buckets;
} digits;

/* Returns the digits for `count` entries whose columns exceed the least column by at most `span`. */
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

/* Byte positions of a thread's arrays in its scratch memory, where they follow the counters. */
typedef struct sorting {
    int64_t columns_at, values_at, rows_at, bytes;
} sorting;

static int64_t offset(const spryi_scoo *s, int64_t slice)
{
    return spryi_index_at(s->offsets, s->types.offset_type, slice);
}

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/scoo/scoo_format.c" /* its second half */
#include "base/instantiate.h"

typedef void (*sort_fn)(const spryi_scoo *s, const spry_arrays *A, int64_t slice, const sorting *how, char *scratch);
typedef void (*unsort_fn)(const spryi_scoo *s, spryi_compressed *c, int64_t slice);
typedef const char *(*fault_fn)(const spryi_scoo *s, int64_t slice);
static const sort_fn sorts[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(sort);
static const unsort_fn unsorts[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(unsort);
static const fault_fn faults[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(fault);

static spry_arrays types_of(const spryi_scoo_head *h)
{
    return spryi_types_of(h->rows, h->cols, h->nnz, h->value_type, h->offset_type, h->index_type);
}

static int sections(void *storage, spryi_section *list)
{
    spryi_scoo *s = storage;
    const spryi_scoo_head *h = &s->head;
    if ((int32_t)s->types.value_type != h->value_type)
        s->types = types_of(h); /* the head was restored from a container */
    const int64_t offset_bytes = (int64_t)spryi_index_type_bytes((spry_index_type)h->offset_type);
    const int64_t column_bytes = (int64_t)spryi_index_type_bytes((spry_index_type)h->index_type);
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

/* Plans the scratch memory for the largest slice. */
static sorting plan_sorting(const spryi_scoo *s)
{
    int64_t most = 0;
    for (int64_t b = 0; b < s->head.slices; b++) {
        int64_t entries = offset(s, b + 1) - offset(s, b);
        if (entries > most) most = entries;
    }
    most = (most + 31) / 32 * 32; /* keeps the arrays aligned */
    sorting how = {.columns_at = (MOST_PASSES + 1) * DIGITS * (int64_t)sizeof(int64_t) + SPRYI_ALIGNMENT};
    how.values_at = how.columns_at + most * (int64_t)spryi_index_type_bytes(s->types.index_type);
    how.rows_at = how.values_at + most * (int64_t)spry_type_bytes(s->types.value_type);
    how.bytes = how.rows_at + most * (int64_t)sizeof(uint16_t);
    return how;
}

typedef struct slice_job {
    const spryi_scoo *s;
    const spry_arrays *a;
    const sorting *how;
    char *scratch;
    spryi_compressed *to;
    atomic_llong first; /* first slice with a fault */
} slice_job;

static void sort_slices(void *job, int64_t begin, int64_t end, int part)
{
    const slice_job *j = job;
    for (int64_t b = begin; b < end; b++)
        SPRYI_INSTANCE(sorts, j->a)(j->s, j->a, b, j->how, j->scratch + part * j->how->bytes);
}

static void unsort_slices(void *job, int64_t begin, int64_t end)
{
    const slice_job *j = job;
    for (int64_t b = begin; b < end; b++) SPRYI_INSTANCE(unsorts, &j->s->types)(j->s, j->to, b);
}

/* Returns what is wrong with a restored slice, or NULL. The slice offsets must rise. */
static const char *fault_of(const spryi_scoo *s, int64_t slice)
{
    return SPRYI_INSTANCE(faults, &s->types)(s, slice);
}

static void find_faults(void *job, int64_t begin, int64_t end)
{
    slice_job *j = job;
    for (int64_t b = begin; b < end; b++)
        if (b < j->first && fault_of(j->s, b)) spryi_lower(&j->first, b);
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
    spryi_loop_in_parts(context, threads, h->slices, 1, sort_slices,
                        &(slice_job){.s = s, .a = a, .how = &how, .scratch = scratch});
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
    spryi_loop(context, spryi_threads(context, a.rows + a.nnz), s->head.slices, 1, unsort_slices,
               &(slice_job){.s = s, .to = &c});
    SPRYI_TRY(spryi_finish_csr(context, csr, &c, &a, err));
done:
    spryi_compressed_clear(context, &c);
    return status;
}

/* Returns the bytes of the sums that a product needs if beta is not 0: one per row, or per column if transposed. */
static int64_t workspace_bytes(const void *storage, spry_type vector_type)
{
    const spryi_scoo_head *h = &((const spryi_scoo *)storage)->head;
    return (h->rows > h->cols ? h->rows : h->cols) * (int64_t)spry_type_bytes(vector_type);
}

static const char *head_fault(const spryi_scoo_head *h)
{
    if (h->rows < 0 || h->cols < 0 || h->nnz < 0) return "a size is negative";
    if (h->height < 1 || h->height > SPRYI_SCOO_MOST_HEIGHT) return "the height of slices is out of range";
    if (h->slices != h->rows / h->height + (h->rows % h->height > 0))
        return "the number of slices does not match rows and height";
    if (spryi_value_slot((spry_type)h->value_type) < 0 ||
        spryi_index_pair((spry_index_type)h->offset_type, (spry_index_type)h->index_type) < 0)
        return "a type is unknown";
    if (h->index_type == SPRY_I32 && h->cols > INT32_MAX) return "the number of columns exceeds the index type";
    return NULL;
}

static spry_status check(const spry_context *context, const void *storage, spry_error *err)
{
    const spryi_scoo *s = storage;
    const spryi_scoo_head *h = &s->head;
    const char *fault = head_fault(h);
    if (fault) return spryi_fail(err, SPRY_BAD_FILE, NULL, "scoo: %s", fault);
    bool rises = spryi_index_at(s->offsets, (spry_index_type)h->offset_type, 0) == 0;
    for (int64_t b = 0; rises && b < h->slices; b++) rises = offset(s, b) <= offset(s, b + 1);
    if (!rises || offset(s, h->slices) != h->nnz)
        return spryi_fail(err, SPRY_BAD_FILE, NULL, "scoo: slice offsets do not rise from 0 to %lld",
                          (long long)h->nnz);
    slice_job j = {.s = s, .first = h->slices};
    spryi_loop(context, spryi_threads(context, h->rows + h->nnz), h->slices, 1, find_faults, &j);
    const int64_t first = j.first;
    if (first < h->slices)
        return spryi_fail_value(err, SPRY_BAD_FILE, NULL, first, 0, "scoo: slice %lld: %s", (long long)first,
                                fault_of(s, first));
    return SPRY_OK;
}

static const spryi_parameter parameters[] = {
    {"height", 1, SPRYI_SCOO_MOST_HEIGHT, "rows per slice"},
    {.name = NULL},
};

const spryi_format spryi_format_scoo = {
    .name = "scoo",
    .title = "sliced coordinates",
    .formula = "nnz values + nnz columns + nnz rows of 16 bits + (slices+1) offsets",
    .best_for = "scattered columns in matrices whose x is larger than the caches",
    .parameters.list = parameters,
    .parameters.text = "height=NUMBER (rows per slice, up to 65536; default: 256 KB of y, less in small matrices; "
                       "on GPUs one slice per multiprocessor, up to 96 KB)",
    .predict = predict,
    .build = build,
    .workspace_bytes = workspace_bytes,
    .to_csr = to_csr,
    .layout.size = sizeof(spryi_scoo),
    .layout.sections = sections,
    .check = check,
    .choice.estimator = &spryi_scoo_estimator,
};

#else /* for each value type and pair of index types (base/instantiate.h) */

/* Arrays of a slice's entries. */
typedef struct SPRY_FN(list) {
    SPRY_J *columns;
    SPRY_V *values;
    uint16_t *rows;
} SPRY_FN(list);

/* Finds the least and the greatest column of `count` entries. */
static void SPRY_FN(span)(const SPRY_J *Aj, int64_t count, int64_t *low, int64_t *high)
{
    SPRY_J least = count > 0 ? Aj[0] : 0, most = least;
    for (int64_t k = 0; k < count; k++) {
        least = Aj[k] < least ? Aj[k] : least;
        most = Aj[k] > most ? Aj[k] : most;
    }
    *low = least;
    *high = most;
}

/* Replaces counts by their exclusive prefix sums. */
static void SPRY_FN(begin_at)(int64_t *at, int64_t count)
{
    for (int64_t d = 0, sum = 0; d < count; d++) {
        int64_t entries = at[d];
        at[d] = sum;
        sum += entries;
    }
}

/*
 * Sorts the bucket `from` stably by the lower digits of column - low. If the number of passes is odd, the result is in
 * `to`, else in `from`.
 */
static void SPRY_FN(sort_bucket)(SPRY_FN(list) from, SPRY_FN(list) to, int64_t count, int64_t low, const digits *how,
                                 int64_t (*at)[DIGITS])
{
    const int64_t mask = ((int64_t)1 << how->bits) - 1;
    for (int p = 0; p < how->passes; p++) memset(at[p], 0, (size_t)(mask + 1) * sizeof **at);
    for (int64_t k = 0; k < count; k++)
        for (int p = 0; p < how->passes; p++) at[p][((int64_t)from.columns[k] - low) >> (p * how->bits) & mask]++;
    for (int p = 0; p < how->passes; p++) {
        SPRY_FN(begin_at)(at[p], mask + 1);
        for (int64_t k = 0; k < count; k++) {
            int64_t slot = at[p][((int64_t)from.columns[k] - low) >> (p * how->bits) & mask]++;
            to.columns[slot] = from.columns[k];
            to.values[slot] = from.values[k];
            to.rows[slot] = from.rows[k];
        }
        SPRY_FN(list) swap = to;
        to = from;
        from = swap;
    }
}

/*
 * Sorts a slice: distributes its entries to buckets by the highest digit, then sorts each bucket by the lower digits.
 */
static void SPRY_FN(sort)(const spryi_scoo *s, const spry_arrays *A, int64_t slice, const sorting *memory,
                          char *scratch)
{
    const SPRY_J *Aj = A->indices;
    const SPRY_V *Ax = A->values;
    const int64_t begin = slice * s->head.height, end = spryi_block_end(slice, s->head.height, s->head.rows);
    const int64_t first = spryi_offset_of(A, begin), count = spryi_offset_of(A, end) - first;
    int64_t(*at)[DIGITS] = (int64_t(*)[DIGITS])scratch, *bucket = at[MOST_PASSES], low, high;
    const SPRY_FN(list)
        stored = {(SPRY_J *)s->columns + first, (SPRY_V *)s->values + first, (uint16_t *)s->rows + first},
        temporary = {(SPRY_J *)(scratch + memory->columns_at), (SPRY_V *)(scratch + memory->values_at),
                     (uint16_t *)(scratch + memory->rows_at)};
    SPRY_FN(span)(Aj + first, count, &low, &high);
    const digits how = digits_of(count, high - low);
    const SPRY_FN(list) spread = how.passes % 2 == 0 ? stored
                                                     : temporary; /* so that the last pass writes to the storage */

    memset(bucket, 0, (size_t)(how.buckets + 1) * sizeof *bucket);
    for (int64_t k = first; k < first + count; k++) bucket[((int64_t)Aj[k] - low) >> how.shift]++;
    SPRY_FN(begin_at)(bucket, how.buckets + 1);
    int64_t k = first;
    for (int64_t i = begin; i < end; i++)
        for (const int64_t stop = spryi_offset_of(A, i + 1); k < stop; k++) {
            int64_t slot = bucket[((int64_t)Aj[k] - low) >> how.shift]++;
            spread.columns[slot] = Aj[k];
            spread.values[slot] = Ax[k];
            spread.rows[slot] = (uint16_t)(i - begin);
        }
    for (int64_t b = 0; how.passes > 0 && b < how.buckets; b++) {
        const int64_t from = b > 0 ? bucket[b - 1] : 0;
        if (from == bucket[b]) continue;
        const SPRY_FN(list) of = {spread.columns + from, spread.values + from, spread.rows + from};
        const SPRY_FN(list) target = {(how.passes % 2 == 0 ? temporary : stored).columns + from,
                                      (how.passes % 2 == 0 ? temporary : stored).values + from,
                                      (how.passes % 2 == 0 ? temporary : stored).rows + from};
        SPRY_FN(sort_bucket)(of, target, bucket[b] - from, low, &how, at);
    }
}

/* Copies the rows of one slice to CSR. The entries of a row are found in the order of their columns. */
static void SPRY_FN(unsort)(const spryi_scoo *s, spryi_compressed *c, int64_t slice)
{
    const int64_t first = offset(s, slice), last = offset(s, slice + 1);
    const uint16_t *Ai = s->rows;
    const int64_t begin = slice * s->head.height, rows = spryi_block_end(slice, s->head.height, s->head.rows) - begin;
    int64_t *at = c->offsets + begin + 1; /* start of each row, then its end */
    for (int64_t i = 0; i < rows; i++) at[i] = 0;
    for (int64_t k = first; k < last; k++) at[Ai[k]]++;
    SPRY_FN(begin_at)(at, rows);
    for (int64_t i = 0; i < rows; i++) at[i] += first;
    for (int64_t k = first; k < last; k++) {
        int64_t slot = at[Ai[k]]++;
        ((SPRY_J *)c->indices)[slot] = ((const SPRY_J *)s->columns)[k];
        ((SPRY_V *)c->values)[slot] = ((const SPRY_V *)s->values)[k];
    }
}

static const char *SPRY_FN(fault)(const spryi_scoo *s, int64_t slice)
{
    const int64_t first = offset(s, slice), last = offset(s, slice + 1);
    const SPRY_J *Aj = s->columns;
    const uint16_t *Ai = s->rows;
    const int64_t rows = spryi_block_end(slice, s->head.height, s->head.rows) - slice * s->head.height;
    for (int64_t k = first; k < last; k++) {
        if (Aj[k] < 0 || Aj[k] >= s->head.cols) return "a column is out of range";
        if (k > first && Aj[k] < Aj[k - 1]) return "the columns of a slice do not rise";
        if (Ai[k] >= rows) return "a local row is out of range";
    }
    return NULL;
}

#endif
