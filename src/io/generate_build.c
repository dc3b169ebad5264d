#include "io/generate.h"
#include "spry/io.h"

#include "core/error.h"
#include "core/float_env.h"
#include "core/memory.h"

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
    void *trial = NULL;
    spry_status status = spryi_allocate(g->context, &trial, (int64_t)bytes, 1, "generated matrix", err);
    spryi_release(g->context, trial);
    return status;
}

/* ---- structure ------------------------------------------------------------------------------- */

static spry_status build_rows(spryi_generation *g, spryi_compressed *a, spry_error *err)
{
    const spryi_kind *kind = g->generator->kind;
    int threads = spryi_threads(g->context, g->rows + (int64_t)g->entries);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(g->context, &a->offsets, a->majors + 1, "row offsets", err));
#pragma omp parallel num_threads(threads)
    {
        SPRYI_DEFAULT_FLOATS;
#pragma omp for schedule(dynamic, ROWS_A_BLOCK)
        for (int64_t i = 0; i < a->majors; i++) {
            spryi_sink sink = {0};
            kind->row(g, i, &sink);
            a->offsets[i + 1] = sink.at;
        }
    }
    spryi_scan(a->offsets, a->majors);
    a->nnz = a->offsets[a->majors];
    SPRYI_OK_OR_RETURN(
        spryi_allocate(g->context, &a->indices, a->nnz, spry_index_type_bytes(a->index_type), "columns", err));
    if (a->value_type != SPRY_PATTERN)
        SPRYI_OK_OR_RETURN(
            spryi_allocate(g->context, &a->values, a->nnz, spry_type_bytes(a->value_type), "values", err));
#pragma omp parallel num_threads(threads)
    {
        SPRYI_DEFAULT_FLOATS;
#pragma omp for schedule(dynamic, ROWS_A_BLOCK)
        for (int64_t i = 0; i < a->majors; i++) {
            spryi_sink sink = {.indices = a->indices,
                               .values = a->values,
                               .index_type = a->index_type,
                               .value_type = a->value_type,
                               .at = a->offsets[i]};
            kind->row(g, i, &sink);
        }
    }
    if (kind->loose) {
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

/* Row and column i become row and column to[i]. */
static spry_status relabel(spry_context *context, spryi_compressed *a, const int64_t *to, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed made = *a;
    made.offsets = NULL;
    made.indices = made.values = NULL;
    SPRYI_TRY(spryi_compressed_allocate(context, &made, err));
    int threads = spryi_threads(context, a->majors + a->nnz);
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < a->majors; i++) made.offsets[to[i] + 1] = a->offsets[i + 1] - a->offsets[i];
    spryi_scan(made.offsets, made.majors);
#pragma omp parallel for num_threads(threads) schedule(dynamic, ROWS_A_BLOCK)
    for (int64_t i = 0; i < a->majors; i++) {
        int64_t at = made.offsets[to[i]];
        for (int64_t k = a->offsets[i]; k < a->offsets[i + 1]; k++, at++) {
            spryi_set_index(made.indices, made.index_type, at, to[spryi_index_at(a->indices, a->index_type, k)]);
            if (made.values)
                spryi_set_value(made.values, made.value_type, at, spryi_value_at(a->values, a->value_type, k));
        }
    }
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

/* The most used column first; equally used ones keep their order. */
static spry_status label_by_degree(spry_context *context, int64_t *to, const spryi_compressed *a, spry_error *err)
{
    spry_status status = SPRY_OK;
    int64_t *degree = NULL, *next = NULL, most = 0;
    SPRYI_TRY(SPRYI_NEW(context, &degree, a->minors, "column degrees", err));
    for (int64_t j = 0; j < a->minors; j++) degree[j] = 0;
    int threads = spryi_threads(context, a->nnz);
#pragma omp parallel for num_threads(threads)
    for (int64_t k = 0; k < a->nnz; k++) {
        int64_t j = spryi_index_at(a->indices, a->index_type, k);
#pragma omp atomic
        degree[j]++;
    }
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

/* Drawn in the order of the entries: a structure relabelled gets other values. */
static spry_status draw_values(spryi_generation *g, spryi_compressed *a, spry_type value_type, spry_error *err)
{
    if (value_type == SPRY_PATTERN) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_allocate(g->context, &a->values, a->nnz, spry_type_bytes(value_type), "values", err));
    a->value_type = value_type;
    uint64_t seed = g->generator->kind->value_seed;
    if (seed == 0) seed = (uint64_t)g->n[SPRYI_KEY_SEED];
    if (g->n[SPRYI_KEY_SHUFFLE] != 0 || g->n[SPRYI_KEY_ORDER] != 0) seed = RELABELLED_SEED;
    const int weights = g->generator->kind->weights;
    int threads = spryi_threads(g->context, a->nnz);
#pragma omp parallel num_threads(threads)
    {
        SPRYI_DEFAULT_FLOATS;
#pragma omp for
        for (int64_t k = 0; k < a->nnz; k++) {
            const double u = spryi_uniform(seed, (uint64_t)k + 1);
            spryi_set_value(a->values, value_type, k, weights ? 1 - u : u - 0.5);
        }
    }
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
