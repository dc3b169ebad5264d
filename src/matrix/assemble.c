#include "matrix/assemble.h"

#include "base/context.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/kernel.h"

#include <string.h>

/*
 * Grouping in two passes. The first pass distributes entries to at most MAX_BUCKETS ranges of majors (assemble.h). The
 * second pass orders each range, which fits in a cache. Both passes keep the stored order, so the result does not
 * depend on the division into chunks. The entries of each major are then sorted: few entries by insertion, many entries
 * by radix.
 */
enum {
    RADIX_BITS = 8,
    RADIX = 1 << RADIX_BITS,
    SHORT_ROW = 40,      /* insertion sort is faster up to this number of entries */
    MAX_BUCKETS = 1024,  /* the number of write streams that a core follows without missing its second-level TLB */
    SERIAL_BELOW = 16384 /* below this number of entries, starting threads costs more than it saves */
};

typedef struct grouping {
    int chunks, shift;
    bool one_pass; /* a bucket is one major, and entries are written directly to the result */
    int64_t buckets;
    int64_t *cursors;             /* chunks x buckets: position of the chunk's next entry in the bucket */
    int64_t *starts;              /* buckets + 1 */
    void *major, *minor, *values; /* the entries, grouped by bucket */
} grouping;

static int64_t chunk_start(const grouping *g, int64_t nnz, int chunk)
{
    return nnz / g->chunks * chunk + nnz % g->chunks * chunk / g->chunks;
}

#define SPRYI_TEMPLATE "matrix/assemble.tmpl.c"
#define SPRYI_NO_OFFSETS
#define SPRYI_ANY_ROW
#define HAS_VALUES 1
#include "base/instantiate.h"
#undef HAS_VALUES
#define HAS_VALUES 0
#undef SPRY_B
#define SPRY_B char
#define SPRYI_TEMPLATE "matrix/assemble.tmpl.c"
#include "base/instantiate_indices.h"

typedef struct typed_steps {
    void (*spread)(const grouping *g, const spryi_entries *from, int chunk);
    void (*order)(const grouping *g, const spryi_compressed *a, int64_t bucket);
    void (*sort_majors)(const spryi_compressed *a, int64_t begin, int64_t end, void *scratch, void *scratch_values);
    int64_t (*longest_unsorted)(const spryi_compressed *a, int64_t begin, int64_t end, int64_t *repeats);
} typed_steps;

static const typed_steps *steps_of(spry_index_type index_type, spry_type value_type)
{
#define STEPS(s)                                                                                                       \
    {                                                                                                                  \
        spread##s, order##s, sort_majors##s, longest_unsorted##s                                                       \
    }
#define STEPS_OF_ROW(tag, s, v, c, argument) {STEPS(_##tag##_32_32), STEPS(_##tag##_64_64)},
    static const typed_steps ones[2] = {STEPS(_32_32), STEPS(_64_64)};
    static const typed_steps values[SPRYI_VALUE_ROWS][2] = {SPRYI_PLAIN_ROWS(STEPS_OF_ROW, 0)
                                                                SPRYI_MIXED_ROWS(STEPS_OF_ROW, 0)};
#undef STEPS
    const int row = spryi_stored_row(value_type), wide = index_type == SPRY_I64;
    return row < 0 ? &ones[wide] : &values[row][wide];
}

int spryi_threads(const spry_context *context, int64_t work)
{
    return work < SERIAL_BELOW ? 1 : spryi_team(context->threads);
}

/*
 * Returns the requested number of threads. Without a request, gives each thread enough bytes to make waking it
 * worthwhile: waiting for a thread that lost its processor takes longer than a small product.
 */
int spryi_threads_for(const spry_context *context, int64_t storage_bytes, int asked)
{
    const int64_t worth = storage_bytes / SPRYI_BYTES_A_THREAD;
    if (asked > 0) return asked;
    return worth < 1 ? 1 : worth < context->threads ? (int)worth : context->threads;
}

int64_t spryi_assembly_bytes(const spry_context *context, double entries, double lines, spry_index_type index_type,
                             size_t value_bytes)
{
    enum { COPIES = 3, OFFSETS = 5, CURSOR = 16, HEADS = 1 << 16 };
    const double entry = 2 * (double)spryi_index_type_bytes(index_type) + (double)value_bytes;
    const double bytes = entries * (COPIES * entry + CURSOR) + (lines + 1) * OFFSETS * sizeof(int64_t) + HEADS +
                         (double)spryi_team(context->threads) * MAX_BUCKETS * sizeof(int64_t);
    return bytes < (double)(INT64_MAX / 2) ? (int64_t)bytes : INT64_MAX;
}

void spryi_compressed_clear(spry_context *context, spryi_compressed *a)
{
    spryi_release(context, a->offsets);
    spryi_release(context, a->indices);
    spryi_release(context, a->values);
    spryi_release(context, a->labels);
    *a = (spryi_compressed){0};
}

void spryi_scan(int64_t *offsets, int64_t count)
{
    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++) offsets[i + 1] += offsets[i];
}

spry_status spryi_compressed_allocate(spry_context *context, spryi_compressed *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    if (!a->offsets) SPRYI_TRY(SPRYI_NEW(context, &a->offsets, a->majors + 1, "offsets", err));
    SPRYI_TRY(spryi_allocate(context, &a->indices, a->nnz, spryi_index_type_bytes(a->index_type), "indices", err));
    if (a->value_type != SPRY_PATTERN)
        SPRYI_TRY(spryi_allocate(context, &a->values, a->nnz, spry_type_bytes(a->value_type), "values", err));
done:
    return status;
}

/* ---- sorting --------------------------------------------------------------------------------- */

typedef struct sort_job {
    const typed_steps *steps;
    const spryi_compressed *a;
    void *scratch, *scratch_values;
    atomic_llong longest, repeats; /* longest: length of the longest unsorted list */
} sort_job;

static void inspect_majors(void *job, int64_t begin, int64_t end)
{
    sort_job *j = job;
    int64_t repeats = 0;
    spryi_raise(&j->longest, j->steps->longest_unsorted(j->a, begin, end, &repeats));
    atomic_fetch_add(&j->repeats, repeats);
}

static void sort_majors(void *job, int64_t begin, int64_t end)
{
    const sort_job *j = job;
    j->steps->sort_majors(j->a, begin, end, j->scratch, j->scratch_values);
}

spry_status spryi_sort(spry_context *context, spryi_compressed *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int threads = spryi_threads(context, a->nnz);
    enum { MAJORS = 512 };
    sort_job j = {.steps = steps_of(a->index_type, a->value_type), .a = a};
    spryi_loop(context, threads, a->majors, MAJORS, inspect_majors, &j);
    a->distinct = j.longest == 0 && j.repeats == 0;
    if (j.longest == 0) return SPRY_OK;
    if (j.longest > SHORT_ROW) {
        SPRYI_TRY(spryi_allocate(context, &j.scratch, a->nnz, spryi_index_type_bytes(a->index_type),
                                 "workspace of sorting", err));
        SPRYI_TRY(spryi_allocate(context, &j.scratch_values, a->nnz, spry_type_bytes(a->value_type),
                                 "workspace of sorting", err));
    }
    spryi_loop(context, threads, a->majors, MAJORS, sort_majors, &j);
done:
    spryi_release(context, j.scratch);
    spryi_release(context, j.scratch_values);
    return status;
}

/* ---- grouping -------------------------------------------------------------------------------- */

typedef struct order_job {
    const spryi_entries *from;
    atomic_int falls;
} order_job;

static void find_falls(void *job, int64_t begin, int64_t end)
{
    order_job *j = job;
    const void *major = j->from->major;
    const spry_index_type type = j->from->index_type;
    int falls = 0;
    for (int64_t k = begin > 0 ? begin : 1; k < end; k++)
        falls |= spryi_index_at(major, type, k - 1) > spryi_index_at(major, type, k);
    if (falls) atomic_store(&j->falls, 1);
}

static int in_major_order(const spry_context *context, const spryi_entries *from, int threads)
{
    order_job j = {.from = from};
    spryi_loop(context, threads, from->nnz, 0, find_falls, &j);
    return !j.falls;
}

/* Returns *array, an owned array, and sets *array to NULL. */
static void *take_array(const void **array)
{
    void *taken = (void *)(uintptr_t)*array;
    *array = NULL;
    return taken;
}

static void release_owned(spry_context *context, spryi_entries *from)
{
    if (!from->owned) return;
    spryi_release(context, take_array(&from->major));
    spryi_release(context, take_array(&from->minor));
    spryi_release(context, take_array(&from->values));
}

typedef struct keep_job {
    const spryi_compressed *to;
    const spryi_entries *from;
    bool take;
} keep_job;

static void keep_entries(void *job, int64_t begin, int64_t end)
{
    const bool take = ((const keep_job *)job)->take;
    /* local copies, so that writes to arrays force no reload */
    const spryi_compressed made = *((const keep_job *)job)->to, *to = &made;
    const spryi_entries given = *((const keep_job *)job)->from, *from = &given;
    for (int64_t k = begin; k < end; k++) {
        int64_t i = k > 0 ? spryi_index_at(from->major, from->index_type, k - 1) + 1 : 0;
        const int64_t last = k < from->nnz ? spryi_index_at(from->major, from->index_type, k) : to->majors;
        for (; i <= last; i++) to->offsets[i] = k;
        if (k == from->nnz || take) continue;
        spryi_set_index(to->indices, to->index_type, k, spryi_index_at(from->minor, from->index_type, k));
        spryi_move_value(to->values, k, from->values, k, to->value_type);
    }
}

/*
 * Groups entries that are already in the order of majors: computes offsets, and takes over or copies the other arrays.
 */
static spry_status keep_order(spry_context *context, spryi_compressed *to, spryi_entries *from, int threads,
                              spry_error *err)
{
    const bool take = from->owned && from->index_type == to->index_type;
    SPRYI_OK_OR_RETURN(take ? SPRYI_NEW(context, &to->offsets, to->majors + 1, "offsets", err)
                            : spryi_compressed_allocate(context, to, err));
    spryi_loop(context, threads, from->nnz + 1, 0, keep_entries, &(keep_job){to, from, take});
    if (take) {
        to->indices = take_array(&from->minor);
        to->values = take_array(&from->values);
    }
    return from->in_order ? SPRY_OK : spryi_sort(context, to, err);
}

/*
 * Chooses the buckets of *from: one per major if from->local is set and the counters need no more memory than the
 * entries, else up to MAX_BUCKETS.
 */
static spry_status grouping_create(spry_context *context, grouping *g, const spryi_entries *from, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int64_t most = from->nnz < SERIAL_BELOW ? 1 : MAX_BUCKETS, affordable = 2 * from->nnz / (from->majors + 1);
    g->chunks = spryi_threads(context, from->nnz);
    g->one_pass = from->local && affordable > 0;
    if (g->one_pass && g->chunks > affordable) g->chunks = (int)affordable;
    while (!g->one_pass && (from->majors - 1) >> g->shift >= most) g->shift++;
    g->buckets = ((from->majors - 1) >> g->shift) + 1;
    SPRYI_TRY(SPRYI_NEW(context, &g->cursors, g->chunks * g->buckets, "workspace of grouping", err));
    SPRYI_TRY(SPRYI_NEW(context, &g->starts, g->buckets + 1, "workspace of grouping", err));
done:
    return status;
}

static spry_status allocate_buckets(spry_context *context, grouping *g, const spryi_compressed *to, spry_error *err)
{
    static const char what[] = "workspace of grouping";
    const size_t index_bytes = spryi_index_type_bytes(to->index_type);
    spry_status status = spryi_allocate(context, &g->major, to->nnz, index_bytes, what, err);
    if (status == SPRY_OK) status = spryi_allocate(context, &g->minor, to->nnz, index_bytes, what, err);
    if (status != SPRY_OK) return status;
    return spryi_allocate(context, &g->values, to->nnz, spry_type_bytes(to->value_type), what, err);
}

static void grouping_destroy(spry_context *context, grouping *g)
{
    spryi_release(context, g->cursors);
    spryi_release(context, g->starts);
    spryi_release(context, g->major);
    spryi_release(context, g->minor);
    spryi_release(context, g->values);
}

typedef struct group_job {
    const grouping *g;
    const spryi_entries *from;
    const spryi_compressed *to;
    const typed_steps *steps;
} group_job;

static void count_chunks(void *job, int64_t begin, int64_t end)
{
    const grouping *g = ((const group_job *)job)->g;
    /* a local copy, so that writes to arrays force no reload */
    const spryi_entries e = *((const group_job *)job)->from;
    const int shift = g->shift;
    for (int chunk = (int)begin; chunk < end; chunk++) {
        int64_t *count = g->cursors + chunk * g->buckets, last = chunk_start(g, e.nnz, chunk + 1);
        for (int64_t k = chunk_start(g, e.nnz, chunk); k < last; k++) {
            int64_t i = spryi_index_at(e.major, e.index_type, k);
            count[i >> shift]++;
            if (e.symmetry == SPRY_GENERAL) continue;
            int64_t j = spryi_index_at(e.minor, e.index_type, k);
            count[j >> shift] += i != j;
        }
    }
}

static void spread_chunks(void *job, int64_t begin, int64_t end)
{
    const group_job *j = job;
    for (int chunk = (int)begin; chunk < end; chunk++) j->steps->spread(j->g, j->from, chunk);
}

static void order_buckets(void *job, int64_t begin, int64_t end)
{
    const group_job *j = job;
    for (int64_t bucket = begin; bucket < end; bucket++) j->steps->order(j->g, j->to, bucket);
}

/* Counts each chunk's entries per bucket, and converts the counts to positions: by bucket, then by chunk. */
static void place_chunks(const spry_context *context, group_job *j)
{
    const grouping *g = j->g;
    memset(g->cursors, 0, (size_t)g->chunks * (size_t)g->buckets * sizeof *g->cursors);
    spryi_loop(context, g->chunks, g->chunks, 1, count_chunks, j);
    int64_t sum = 0;
    for (int64_t bucket = 0; bucket < g->buckets; bucket++) {
        g->starts[bucket] = sum;
        for (int chunk = 0; chunk < g->chunks; chunk++) {
            int64_t *cursor = &g->cursors[chunk * g->buckets + bucket], count = *cursor;
            *cursor = sum;
            sum += count;
        }
    }
    g->starts[g->buckets] = sum;
}

/* Groups entries in buckets. Releases owned entries after distributing them. */
static spry_status group_in_buckets(spry_context *context, spryi_compressed *to, spryi_entries *from, int threads,
                                    spry_error *err)
{
    spry_status status = SPRY_OK;
    grouping g = {0};
    group_job j = {&g, from, to, steps_of(to->index_type, to->value_type)};
    SPRYI_TRY(grouping_create(context, &g, from, err));
    place_chunks(context, &j);
    to->nnz = g.starts[g.buckets];
    if (g.one_pass) {
        to->offsets = g.starts;
        g.starts = NULL;
        SPRYI_TRY(spryi_compressed_allocate(context, to, err));
        g.minor = to->indices;
        g.values = to->values;
    } else {
        SPRYI_TRY(allocate_buckets(context, &g, to, err));
    }
    spryi_loop(context, g.chunks, g.chunks, 1, spread_chunks, &j);
    release_owned(context, from);
    if (g.one_pass) {
        g.minor = g.values = NULL;
        SPRYI_TRY(spryi_sort(context, to, err));
    } else {
        SPRYI_TRY(spryi_compressed_allocate(context, to, err));
        to->offsets[0] = 0;
        spryi_loop(context, threads, g.buckets, 1, order_buckets, &j);
    }
done:
    grouping_destroy(context, &g);
    return status;
}

spry_status spryi_group(spry_context *context, spryi_compressed *to, spryi_entries *from, spry_index_type index_type,
                        spry_error *err)
{
    const int threads = spryi_threads(context, from->nnz);
    spryi_compressed made = {.majors = from->majors,
                             .minors = from->minors,
                             .nnz = from->nnz,
                             .index_type = index_type,
                             .value_type = from->value_type};
    spry_status status = from->symmetry == SPRY_GENERAL && (from->in_order || in_major_order(context, from, threads))
                             ? keep_order(context, &made, from, threads, err)
                             : group_in_buckets(context, &made, from, threads, err);
    release_owned(context, from);
    if (status == SPRY_OK)
        *to = made;
    else
        spryi_compressed_clear(context, &made);
    return status;
}

/* ---- merging --------------------------------------------------------------------------------- */

/*
 * Returns the number of entries of major i that have the position of the previous entry. type is a constant after
 * inlining.
 */
SPRYI_INLINE int64_t repeats_as(const spryi_compressed *a, int64_t i, spry_index_type type)
{
    const void *indices = a->indices;
    int64_t repeats = 0;
    for (int64_t k = a->offsets[i] + 1, end = a->offsets[i + 1]; k < end; k++)
        repeats += spryi_index_at(indices, type, k) == spryi_index_at(indices, type, k - 1);
    return repeats;
}

static inline int64_t count_repeats(const spryi_compressed *a, int64_t i)
{
    return a->index_type == SPRY_I32 ? repeats_as(a, i, SPRY_I32) : repeats_as(a, i, SPRY_I64);
}

static void merge_major(const spryi_compressed *to, const spryi_compressed *a, int64_t i, spryi_duplicates what)
{
    int64_t at = to->offsets[i];
    for (int64_t k = a->offsets[i], last = a->offsets[i + 1]; k < last; at++) {
        int64_t j = spryi_index_at(a->indices, a->index_type, k);
        double sum = spryi_value_at(a->values, a->value_type, k);
        for (k++; k < last && spryi_index_at(a->indices, a->index_type, k) == j; k++)
            if (what == SPRYI_SUM_ALL) sum += spryi_value_at(a->values, a->value_type, k);
        spryi_set_index(to->indices, to->index_type, at, j);
        spryi_set_value(to->values, to->value_type, at, sum);
    }
}

typedef struct merge_job {
    const spryi_compressed *to, *a;
    spryi_duplicates what;
    void *values;
    spry_type value_type;
    atomic_llong repeats;
} merge_job;

static void change_some_values(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const merge_job *j = job;
    const void *from = j->a->values;
    void *to = j->values;
    const spry_type from_type = j->a->value_type, to_type = j->value_type;
    for (int64_t k = begin; k < end; k++) spryi_set_value(to, to_type, k, spryi_value_at(from, from_type, k));
}

static void count_all_repeats(void *job, int64_t begin, int64_t end)
{
    merge_job *j = job;
    int64_t repeats = 0;
    for (int64_t i = begin; i < end; i++) repeats += count_repeats(j->a, i);
    atomic_fetch_add(&j->repeats, repeats);
}

static void count_merged(void *job, int64_t begin, int64_t end)
{
    const merge_job *j = job;
    for (int64_t i = begin; i < end; i++)
        j->to->offsets[i + 1] = j->a->offsets[i + 1] - j->a->offsets[i] - count_repeats(j->a, i);
}

static void merge_majors(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const merge_job *j = job;
    for (int64_t i = begin; i < end; i++) merge_major(j->to, j->a, i, j->what);
}

static spry_status change_values(spry_context *context, spryi_compressed *a, spry_type value_type, spry_error *err)
{
    void *values = NULL;
    if (value_type != SPRY_PATTERN) {
        spry_status status = spryi_allocate(context, &values, a->nnz, spry_type_bytes(value_type), "values", err);
        if (status != SPRY_OK) return status;
        merge_job j = {.a = a, .values = values, .value_type = value_type};
        spryi_loop(context, spryi_threads(context, a->nnz), a->nnz, 0, change_some_values, &j);
    }
    spryi_release(context, a->values);
    a->values = values;
    a->value_type = value_type;
    return SPRY_OK;
}

spry_status spryi_merge(spry_context *context, spryi_compressed *a, spry_type value_type, spryi_duplicates what,
                        int64_t *duplicates, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed made = *a;
    made.offsets = NULL;
    made.indices = made.values = NULL;
    made.labels = NULL; /* transferred at the end */
    made.value_type = value_type;
    enum { MAJORS = 1024 };
    const int threads = spryi_threads(context, a->nnz);
    merge_job j = {.to = &made, .a = a, .what = what};
    spryi_loop(context, threads, a->distinct ? 0 : a->majors, MAJORS, count_all_repeats, &j);
    const int64_t repeats = j.repeats;
    if (duplicates) *duplicates = repeats;
    if (repeats == 0 || what == SPRYI_KEEP_ALL)
        return value_type == a->value_type ? SPRY_OK : change_values(context, a, value_type, err);

    made.nnz = a->nnz - repeats;
    SPRYI_TRY(spryi_compressed_allocate(context, &made, err));
    spryi_loop(context, threads, a->majors, MAJORS, count_merged, &j);
    spryi_scan(made.offsets, made.majors);
    spryi_loop(context, threads, a->majors, MAJORS, merge_majors, &j);
    made.labels = a->labels;
    a->labels = NULL;
    spryi_compressed_clear(context, a);
    *a = made;
    made = (spryi_compressed){0};
done:
    spryi_compressed_clear(context, &made);
    return status;
}

/* ---- conversion between matrices and compressed arrays --------------------------------------------- */

/*
 * If a matrix has more than this number of rows per entry, offsets for all rows (8 bytes each) cost more than sorting
 * the entries on one thread.
 */
enum { SPARSE_ROWS = 32 };

spry_arrays spryi_compressed_view(const spryi_compressed *a)
{
    spry_arrays view =
        spryi_types_of(a->majors, a->minors, a->nnz, (int32_t)a->value_type, SPRY_I64, (int32_t)a->index_type);
    view.offsets = a->offsets;
    view.indices = a->indices;
    view.values = a->values;
    return view;
}

typedef struct expansion {
    void *indices;
    spry_index_type index_type;
    const void *offsets;
    spry_index_type offset_type;
    const int64_t *labels;
} expansion;

static void expand_majors(void *job, int64_t begin, int64_t end)
{
    const expansion j = *(const expansion *)job; /* a local copy, so that writes to arrays force no reload */
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = spryi_index_at(j.offsets, j.offset_type, i + 1), major = j.labels ? j.labels[i] : i;
        for (int64_t k = spryi_index_at(j.offsets, j.offset_type, i); k < last; k++)
            spryi_set_index(j.indices, j.index_type, k, major);
    }
}

/* Sets (*indices)[k] to the major of entry k, which is labels[i] if labels is not NULL, else i. */
static spry_status expand(spry_context *context, void **indices, const void *offsets, spry_index_type offset_type,
                          const int64_t *labels, int64_t majors, int64_t nnz, spry_index_type index_type,
                          spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_allocate(context, indices, nnz, spryi_index_type_bytes(index_type), "row indices", err));
    spryi_loop(context, spryi_threads(context, majors + nnz), majors, 4096, expand_majors,
               &(expansion){*indices, index_type, offsets, offset_type, labels});
    return SPRY_OK;
}

typedef struct copying {
    void *to;
    spry_index_type to_type;
    const void *from;
    spry_index_type from_type;
} copying;

static void copy_some_indices(void *job, int64_t begin, int64_t end)
{
    const copying j = *(const copying *)job;
    for (int64_t k = begin; k < end; k++) spryi_set_index(j.to, j.to_type, k, spryi_index_at(j.from, j.from_type, k));
}

static void copy_indices(const spry_context *context, void *to, spry_index_type to_type, const void *from,
                         spry_index_type from_type, int64_t count)
{
    spryi_loop(context, spryi_threads(context, count), count, 0, copy_some_indices,
               &(copying){to, to_type, from, from_type});
}

static spry_status copy_sorted(spry_context *context, spryi_compressed *to, const spry_arrays *A,
                               spry_index_type index_type, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t majors = A->layout == SPRY_CSC ? A->columns : A->rows;
    spryi_compressed made = {.majors = majors,
                             .minors = A->layout == SPRY_CSC ? A->rows : A->columns,
                             .nnz = A->nnz,
                             .index_type = index_type,
                             .value_type = A->value_type};
    size_t value_bytes = spry_type_bytes(A->value_type);
    SPRYI_TRY(spryi_compressed_allocate(context, &made, err));
    copy_indices(context, made.offsets, SPRY_I64, A->offsets, A->offset_type, majors + 1);
    copy_indices(context, made.indices, index_type, A->indices, A->index_type, A->nnz);
    if (value_bytes > 0 && A->nnz > 0) memcpy(made.values, A->values, (size_t)A->nnz * value_bytes);
    SPRYI_TRY(spryi_sort(context, &made, err));
    *to = made;
    made = (spryi_compressed){0};
done:
    spryi_compressed_clear(context, &made);
    return status;
}

/* Finds the majors that occur and where their entries begin, from the sorted majors of all entries. */
static void label(spryi_compressed *a, const void *major, spry_index_type type)
{
    a->majors = 0;
    for (int64_t k = 0; k < a->nnz; k++) {
        int64_t i = spryi_index_at(major, type, k);
        if (k > 0 && i == a->labels[a->majors - 1]) continue;
        a->offsets[a->majors] = k;
        a->labels[a->majors++] = i;
    }
    a->offsets[a->majors] = a->nnz;
}

/*
 * Does what spryi_group does, for matrices in which most majors have no entries. Sorts the majors of all entries as one
 * list, whose values are the numbers of the entries. Needs O(nnz) memory and time. Uses one thread, since there are few
 * entries.
 */
static spry_status group_few(spry_context *context, spryi_compressed *to, const spryi_entries *from,
                             spry_index_type index_type, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t nnz = from->nnz, ends[2] = {0, nnz}, *number = NULL;
    size_t width = spry_type_bytes(from->value_type);
    spryi_compressed list = {.majors = 1,
                             .minors = from->majors,
                             .nnz = nnz,
                             .index_type = from->index_type,
                             .value_type = SPRY_F64,
                             .offsets = ends};
    spryi_compressed made = {.minors = from->minors,
                             .nnz = nnz,
                             .index_type = index_type,
                             .value_type = from->value_type,
                             .all_majors = from->majors};
    SPRYI_TRY(spryi_allocate(context, &list.indices, nnz, spryi_index_type_bytes(from->index_type), "row order", err));
    SPRYI_TRY(SPRYI_NEW(context, &number, nnz, "row order", err));
    list.values = number;
    SPRYI_TRY(SPRYI_NEW(context, &made.labels, nnz, "rows with entries", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.offsets, nnz + 1, "offsets", err));
    SPRYI_TRY(spryi_allocate(context, &made.indices, nnz, spryi_index_type_bytes(index_type), "indices", err));
    if (width > 0) SPRYI_TRY(spryi_allocate(context, &made.values, nnz, width, "values", err));
    copy_indices(context, list.indices, from->index_type, from->major, from->index_type, nnz);
    for (int64_t k = 0; k < nnz; k++) number[k] = k;
    SPRYI_TRY(spryi_sort(context, &list, err));
    label(&made, list.indices, from->index_type);
    for (int64_t k = 0; k < nnz; k++) {
        spryi_set_index(made.indices, index_type, k, spryi_index_at(from->minor, from->index_type, number[k]));
        spryi_move_value(made.values, k, from->values, number[k], from->value_type);
    }
    SPRYI_TRY(spryi_sort(context, &made, err));
    *to = made;
    made = (spryi_compressed){0};
done:
    spryi_release(context, list.indices);
    spryi_release(context, number);
    spryi_compressed_clear(context, &made);
    return status;
}

/*
 * Returns whether most consecutive entries have close majors, as in meshes and grids. Inspects STRETCHES samples of
 * LENGTH consecutive entries. The majors of a sample must span at most MOST_MAJORS, whose positions fit in a cache. At
 * most FEW samples may span more.
 */
static bool are_local(const spryi_entries *e)
{
    enum { STRETCHES = 128, LENGTH = 256, MOST_MAJORS = 1 << 15, FEW = STRETCHES / 16 };
    int wide = 0;
    if (e->majors <= MOST_MAJORS) return true;
    for (int n = 0; n < STRETCHES && wide <= FEW; n++) {
        const int64_t begin = (int64_t)((double)e->nnz / STRETCHES * n);
        const int64_t end = begin + LENGTH < e->nnz ? begin + LENGTH : e->nnz;
        int64_t low = INT64_MAX, high = -1;
        for (int64_t k = begin; k < end; k++) {
            const int64_t i = spryi_index_at(e->major, e->index_type, k);
            if (i < low) low = i;
            if (i > high) high = i;
        }
        wide += high - low > MOST_MAJORS;
    }
    return wide <= FEW;
}

spry_status spryi_compress(spry_context *context, spryi_compressed *to, const spry_arrays *A, spry_layout layout,
                           spry_index_type index_type, spry_error *err)
{
    const bool whole = A->triangle == SPRY_ALL_ENTRIES;
    if (A->nnz > 0 && !A->indices)
        return spryi_fail(err, SPRY_INTERNAL, "A", "compress: the matrix is a container's, without arrays");
    if (whole && A->layout == (layout == SPRY_COO ? SPRY_CSR : layout))
        return copy_sorted(context, to, A, index_type, err);
    spry_status status = SPRY_OK;
    void *expanded = NULL;
    const void *rows = A->row_indices, *columns = A->indices;
    if (A->layout != SPRY_COO) {
        SPRYI_TRY(expand(context, &expanded, A->offsets, A->offset_type, NULL,
                         A->layout == SPRY_CSC ? A->columns : A->rows, A->nnz, A->index_type, err));
        rows = A->layout == SPRY_CSC ? A->indices : expanded;
        columns = A->layout == SPRY_CSC ? expanded : A->indices;
    }
    bool by_column = layout == SPRY_CSC;
    spryi_entries entries = {.majors = by_column ? A->columns : A->rows,
                             .minors = by_column ? A->rows : A->columns,
                             .nnz = A->nnz,
                             .index_type = A->index_type,
                             .value_type = A->value_type,
                             .major = by_column ? columns : rows,
                             .minor = by_column ? rows : columns,
                             .values = A->values,
                             .symmetry = whole ? SPRY_GENERAL : A->symmetry};
    entries.local = are_local(&entries);
    bool few = whole && layout == SPRY_COO && entries.majors / SPARSE_ROWS > entries.nnz;
    SPRYI_TRY(few ? group_few(context, to, &entries, index_type, err)
                  : spryi_group(context, to, &entries, index_type, err));
done:
    spryi_release(context, expanded);
    return status;
}

spry_status spryi_compressed_finish(spry_context *context, spry_matrix **A, spryi_compressed *a, spry_layout layout,
                                    spry_index_type offset_type, spry_known unique, spry_symmetry symmetry,
                                    spryi_field field, spry_error *err)
{
    spry_status status = SPRY_OK;
    void *rows = NULL, *narrow = NULL;
    if (layout == SPRY_COO) {
        SPRYI_TRY(expand(context, &rows, a->offsets, SPRY_I64, a->labels, a->majors, a->nnz, a->index_type, err));
    } else if (offset_type == SPRY_I32) {
        SPRYI_TRY(spryi_allocate(context, &narrow, a->majors + 1, sizeof(int32_t), "offsets", err));
        copy_indices(context, narrow, SPRY_I32, a->offsets, SPRY_I64, a->majors + 1);
    }
    if (layout == SPRY_COO || narrow) {
        spryi_release(context, a->offsets);
        a->offsets = NULL;
    }
    int64_t majors = a->labels ? a->all_majors : a->majors;
    spryi_release(context, a->labels);
    a->labels = NULL;
    spry_arrays arrays = spryi_compressed_view(a);
    arrays.layout = layout;
    arrays.rows = layout == SPRY_CSC ? a->minors : majors;
    arrays.columns = layout == SPRY_CSC ? majors : a->minors;
    arrays.offset_type = layout == SPRY_COO ? SPRY_INDEX_DEFAULT : offset_type;
    if (narrow) arrays.offsets = narrow;
    arrays.row_indices = rows;
    arrays.ownership = SPRY_COPY;
    arrays.sorted = SPRY_KNOWN_YES;
    arrays.unique = unique;
    arrays.symmetry = symmetry;
    *a = (spryi_compressed){0}; /* spryi_matrix_adopt takes over the arrays, even if it fails */
    return spryi_matrix_adopt(context, A, &arrays, field, err);
done:
    spryi_compressed_clear(context, a);
    return status;
}
