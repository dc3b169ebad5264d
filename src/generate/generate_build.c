#include "generate/generator.h"
#include "spry/io.h"

#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"

#include <string.h>

enum { RELABELLED_SEED = 7, ROWS_A_BLOCK = 1024 };

spry_status spryi_square_shape(spryi_generation *g, int64_t a, int64_t b, int64_t c, int64_t d, spry_error *err)
{
    int64_t n = a;
    if (__builtin_mul_overflow(n, b, &n) || __builtin_mul_overflow(n, c, &n) || __builtin_mul_overflow(n, d, &n) ||
        n > INT64_MAX / 64)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %s would have %.3g rows",
                          g->generator->info.name, (double)a * (double)b * (double)c * (double)d);
    g->rows = g->cols = n;
    return SPRY_OK;
}

/* Asks for the memory of the result before any time is spent on it. */
static spry_status check_memory(spryi_generation *g, spry_index_type offset_type, spry_index_type index_type,
                                spry_type value_type, spry_error *err)
{
    double bytes = g->entries * (double)(spry_index_type_bytes(index_type) + spry_type_bytes(value_type)) +
                   (double)g->rows * (double)spry_index_type_bytes(offset_type);
    if (bytes >= 0x1p62)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %s would have %.3g entries in %.3g bytes",
                          g->generator->info.name, g->entries, bytes);
    const double lines = (double)(g->rows > g->cols ? g->rows : g->cols);
    const int64_t enough = spryi_assembly_bytes(g->context, 2 * g->entries, 2 * lines, index_type, sizeof(double));
    SPRYI_OK_OR_RETURN(spryi_note_needs(0, enough, "generated matrix", err));
    void *trial = NULL;
    spry_status status = spryi_allocate(g->context, &trial, (int64_t)bytes, 1, "generated matrix", err);
    spryi_release(g->context, trial);
    return status;
}

/* ---- structure ------------------------------------------------------------------------------- */

typedef struct build_job {
    const spryi_generation *g;
    const spryi_compressed *a, *made; /* made: relabelled */
    const int64_t *to;                /* labels */
    int64_t *degree;
    uint64_t seed;
} build_job;

static void count_rows(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const build_job *j = job;
    for (int64_t i = begin; i < end; i++) {
        spryi_sink sink = {0};
        j->g->generator->kind->row(j->g, i, &sink);
        j->a->offsets[i + 1] = sink.at;
    }
}

static void fill_rows(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const build_job *j = job;
    const spryi_compressed *a = j->a;
    for (int64_t i = begin; i < end; i++) {
        spryi_sink sink = {.indices = a->indices,
                           .values = a->values,
                           .index_type = a->index_type,
                           .value_type = a->value_type,
                           .at = a->offsets[i]};
        j->g->generator->kind->row(j->g, i, &sink);
    }
}

static spry_status build_rows(spryi_generation *g, spryi_compressed *a, spry_error *err)
{
    const int threads = spryi_threads(g->context, g->rows + (int64_t)g->entries);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(g->context, &a->offsets, a->majors + 1, "row offsets", err));
    build_job j = {.g = g, .a = a};
    spryi_loop(g->context, threads, a->majors, ROWS_A_BLOCK, count_rows, &j);
    spryi_scan(a->offsets, a->majors);
    a->nnz = a->offsets[a->majors];
    SPRYI_OK_OR_RETURN(
        spryi_allocate(g->context, &a->indices, a->nnz, spry_index_type_bytes(a->index_type), "columns", err));
    if (a->value_type != SPRY_PATTERN)
        SPRYI_OK_OR_RETURN(
            spryi_allocate(g->context, &a->values, a->nnz, spry_type_bytes(a->value_type), "values", err));
    spryi_loop(g->context, threads, a->majors, ROWS_A_BLOCK, fill_rows, &j);
    if (g->generator->kind->loose) {
        SPRYI_OK_OR_RETURN(spryi_sort(g->context, a, err));
        SPRYI_OK_OR_RETURN(spryi_merge(g->context, a, a->value_type, SPRYI_SUM_ALL, NULL, err));
    }
    return SPRY_OK;
}

static void release_work(spryi_generation *g)
{
    for (int w = 0; w < 4; w++) {
        spryi_release(g->context, g->work[w]);
        g->work[w] = NULL;
    }
}

static spry_status build_list(spryi_generation *g, spryi_compressed *a, spry_error *err)
{
    spryi_entries entries = {.majors = g->rows,
                             .minors = g->cols,
                             .index_type = SPRY_I32,
                             .value_type = SPRY_PATTERN,
                             .owned = 1};
    SPRYI_OK_OR_RETURN(g->generator->kind->list(g, &entries.nnz, err));
    entries.major = g->work[0];
    entries.minor = g->work[1];
    g->work[0] = g->work[1] = NULL;
    release_work(g);
    SPRYI_OK_OR_RETURN(spryi_group(g->context, a, &entries, a->index_type, err));
    return spryi_merge(g->context, a, SPRY_PATTERN, SPRYI_SUM_ALL, NULL, err);
}

/* ---- new labels ------------------------------------------------------------------------------ */

static void move_lengths(void *job, int64_t begin, int64_t end)
{
    const build_job *j = job;
    for (int64_t i = begin; i < end; i++) j->made->offsets[j->to[i] + 1] = j->a->offsets[i + 1] - j->a->offsets[i];
}

static void move_rows(void *job, int64_t begin, int64_t end)
{
    const build_job *j = job;
    const spryi_compressed *a = j->a, *made = j->made;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = made->offsets[j->to[i]];
        for (int64_t k = a->offsets[i]; k < a->offsets[i + 1]; k++, at++) {
            spryi_set_index(made->indices, made->index_type, at, j->to[spryi_index_at(a->indices, a->index_type, k)]);
            if (made->values)
                spryi_set_value(made->values, made->value_type, at, spryi_value_at(a->values, a->value_type, k));
        }
    }
}

/* Row and column i become row and column to[i]. */
static spry_status relabel(spry_context *context, spryi_compressed *a, const int64_t *to, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed made = *a;
    made.offsets = NULL;
    made.indices = made.values = NULL;
    SPRYI_TRY(spryi_compressed_allocate(context, &made, err));
    const int threads = spryi_threads(context, a->majors + a->nnz);
    build_job j = {.a = a, .made = &made, .to = to};
    spryi_loop(context, threads, a->majors, 0, move_lengths, &j);
    spryi_scan(made.offsets, made.majors);
    spryi_loop(context, threads, a->majors, ROWS_A_BLOCK, move_rows, &j);
    spryi_compressed_clear(context, a);
    *a = made;
    made = (spryi_compressed){0};
    SPRYI_TRY(spryi_sort(context, a, err));
done:
    spryi_compressed_clear(context, &made);
    return status;
}

/* A random permutation: Fisher and Yates, from the end. */
static void shuffle(int64_t *to, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) to[i] = i;
    uint64_t count = 0;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(spryi_random(seed, ++count) % ((uint64_t)i + 1)), kept = to[i];
        to[i] = to[j];
        to[j] = kept;
    }
}

static void count_columns(void *job, int64_t begin, int64_t end)
{
    const build_job *j = job;
    const void *indices = j->a->indices;
    const spry_index_type type = j->a->index_type;
    int64_t *degree = j->degree;
    for (int64_t k = begin; k < end; k++)
        __atomic_fetch_add(&degree[spryi_index_at(indices, type, k)], 1, __ATOMIC_RELAXED);
}

/* The most used column first; equally used ones keep their order. */
static spry_status label_by_degree(spry_context *context, int64_t *to, const spryi_compressed *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *degree = NULL, *next = NULL, most = 0;
    SPRYI_TRY(SPRYI_NEW(context, &degree, a->minors, "column degrees", err));
    for (int64_t j = 0; j < a->minors; j++) degree[j] = 0;
    spryi_loop(context, spryi_threads(context, a->nnz), a->nnz, 0, count_columns,
               &(build_job){.a = a, .degree = degree});
    for (int64_t j = 0; j < a->minors; j++) most = degree[j] > most ? degree[j] : most;
    SPRYI_TRY(SPRYI_NEW(context, &next, most + 2, "column degrees", err));
    memset(next, 0, (size_t)(most + 2) * sizeof *next);
    for (int64_t j = 0; j < a->minors; j++) next[most - degree[j] + 1]++;
    spryi_scan(next, most + 1);
    for (int64_t j = 0; j < a->minors; j++) to[j] = next[most - degree[j]]++;
done:
    spryi_release(context, degree);
    spryi_release(context, next);
    return status;
}

static spry_status relabel_as_asked(spryi_generation *g, spryi_compressed *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *to = NULL;
    if (g->n[SPRYI_KEY_SHUFFLE] == 0 && g->n[SPRYI_KEY_ORDER] == 0) return SPRY_OK;
    SPRYI_TRY(SPRYI_NEW(g->context, &to, a->majors, "permutation", err));
    if (g->n[SPRYI_KEY_SHUFFLE] != 0) {
        shuffle(to, a->majors, (uint64_t)g->n[SPRYI_KEY_SHUFFLE]);
        SPRYI_TRY(relabel(g->context, a, to, err));
    }
    if (g->n[SPRYI_KEY_ORDER] != 0) {
        SPRYI_TRY(label_by_degree(g->context, to, a, err));
        SPRYI_TRY(relabel(g->context, a, to, err));
    }
done:
    spryi_release(g->context, to);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void draw_some_values(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    const build_job *j = job;
    const int weights = j->g->generator->kind->weights;
    for (int64_t k = begin; k < end; k++) {
        const double u = spryi_uniform(j->seed, (uint64_t)k + 1);
        spryi_set_value(j->a->values, j->a->value_type, k, weights ? 1 - u : u - 0.5);
    }
}

/* Drawn in the order of the entries: a structure relabelled gets other values. */
static spry_status draw_values(spryi_generation *g, spryi_compressed *a, spry_type value_type, spry_error *err)
{
    if (value_type == SPRY_PATTERN) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &a->values, a->nnz, spry_type_bytes(value_type), "values", err));
    a->value_type = value_type;
    uint64_t seed = g->generator->kind->value_seed;
    if (seed == 0) seed = (uint64_t)g->n[SPRYI_KEY_SEED];
    if (g->n[SPRYI_KEY_SHUFFLE] != 0 || g->n[SPRYI_KEY_ORDER] != 0) seed = RELABELLED_SEED;
    spryi_loop(g->context, spryi_threads(g->context, a->nnz), a->nnz, 0, draw_some_values,
               &(build_job){.g = g, .a = a, .seed = seed});
    return SPRY_OK;
}

static spry_symmetry symmetry_of(const spryi_generation *g, spry_type value_type)
{
    spryi_mirror mirror = g->generator->kind->mirror;
    if (g->rows != g->cols) return SPRY_GENERAL;
    return mirror == SPRYI_MIRROR_VALUES || (mirror == SPRYI_MIRROR_PATTERN && value_type == SPRY_PATTERN)
               ? SPRY_SYMMETRIC
               : SPRY_GENERAL;
}

spry_status spryi_generate(spryi_generation *g, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spryi_kind *kind = g->generator->kind;
    spryi_compressed a = {.value_type = SPRY_PATTERN};
    spry_type value_type = options && options->value_type ? options->value_type : SPRY_F64;
    spry_index_type offset_type = options ? options->offset_type : SPRY_INDEX_DEFAULT;
    spry_index_type index_type = options ? options->index_type : SPRY_INDEX_DEFAULT;

    SPRYI_TRY(kind->shape(g, err));
    spry_index_type first_offset = offset_type, first_index = index_type;
    int64_t foreseen = g->entries < 0x1p62 ? (int64_t)g->entries : INT64_MAX / 2;
    SPRYI_TRY(spryi_pick_index_types(&first_offset, &first_index, g->rows, g->cols, foreseen, err));
    SPRYI_TRY(check_memory(g, first_offset, first_index, value_type, err));

    a.majors = g->rows;
    a.minors = g->cols;
    a.index_type = first_index;
    if (kind->own_values) a.value_type = value_type;
    if (kind->prepare) SPRYI_TRY(kind->prepare(g, err));
    SPRYI_TRY(kind->list ? build_list(g, &a, err) : build_rows(g, &a, err));
    release_work(g);
    SPRYI_TRY(relabel_as_asked(g, &a, err));
    if (!kind->own_values) SPRYI_TRY(draw_values(g, &a, value_type, err));

    index_type = first_index;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, a.majors, a.minors, a.nnz, err));
    SPRYI_TRY(spryi_compressed_finish(g->context, A, &a, SPRY_CSR, offset_type, SPRY_KNOWN_YES,
                                      symmetry_of(g, value_type),
                                      value_type == SPRY_PATTERN ? SPRYI_FIELD_PATTERN : SPRYI_REAL, err));
    (*A)->symmetry_holds = true;
done:
    release_work(g);
    spryi_compressed_clear(g->context, &a);
    return status;
}
