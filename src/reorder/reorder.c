/* spry_ordering_create: options, methods, and the permutation of the matrix's rows. */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "choose/state.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"
#include "reorder/order.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/study.h"
#include "spry/tune.h"

#include <string.h>

/* ---- by degree ----------------------------------------------------------------------------------------- */

typedef struct degree_job {
    int64_t *degree;
    const spry_arrays *a;
    const void *indices;
} degree_job;

/* Adds the lengths of rows or columns. Sums of integers are the same in any order. */
static void add_some_lengths(void *job, int64_t begin, int64_t end)
{
    const spry_arrays a = *((const degree_job *)job)->a; /* a local copy: writes to degree cannot change it */
    int64_t *degree = ((const degree_job *)job)->degree;
    for (int64_t i = begin; i < end; i++) degree[i] += spryi_offset_of(&a, i + 1) - spryi_offset_of(&a, i);
}

static void add_some_indices(void *job, int64_t begin, int64_t end)
{
    const degree_job j = *(const degree_job *)job;
    const spry_index_type type = j.a->index_type;
    for (int64_t k = begin; k < end; k++)
        __atomic_fetch_add(&j.degree[spryi_index_at(j.indices, type, k)], 1, __ATOMIC_RELAXED);
}

/*
 * Computes the degrees. If the pattern is symmetric, counts only rows: this halves all degrees and keeps their order.
 */
static void count_degrees(const spry_context *context, int64_t *degree, const spry_arrays *a, bool symmetric,
                          int threads)
{
    const bool square = a->rows == a->columns, by_column = a->layout == SPRY_CSC;
    degree_job j = {degree, a, a->row_indices};
    memset(degree, 0, (size_t)a->rows * sizeof *degree);
    if (a->layout == SPRY_CSR || (by_column && square)) spryi_loop(context, threads, a->rows, 0, add_some_lengths, &j);
    if (a->layout == SPRY_COO) spryi_loop(context, threads, a->nnz, 0, add_some_indices, &j);
    j.indices = a->indices;
    if (square ? !symmetric : by_column) spryi_loop(context, threads, a->nnz, 0, add_some_indices, &j);
}

/*
 * Orders rows by falling number of entries in row and column i, or only in row i if the matrix is not square. Rows with
 * equal numbers keep their order. The elements of x that a scattered matrix reads most often are then close together.
 */
static spry_status order_by_degree(spry_context *context, int64_t *perm, const spry_matrix *A, spry_error *err)
{
    const int64_t m = A->a.rows;
    const int threads = spryi_threads(context, m + A->a.nnz);
    spry_status status = SPRY_OK;
    int64_t *degree = NULL, *next = NULL, most = 0;
    SPRYI_TRY(SPRYI_NEW(context, &degree, m, "degrees", err));
    count_degrees(context, degree, &A->a, spryi_pattern_is_symmetric(context, A), threads);
    for (int64_t i = 0; i < m; i++)
        if (degree[i] > most) most = degree[i];
    SPRYI_TRY(SPRYI_NEW(context, &next, most + 2, "rows by degree", err));
    memset(next, 0, (size_t)(most + 2) * sizeof *next);
    for (int64_t i = 0; i < m; i++) next[most - degree[i] + 1]++;
    spryi_scan(next, most + 1);
    for (int64_t i = 0; i < m; i++) perm[next[most - degree[i]]++] = i;
done:
    spryi_release(context, degree);
    spryi_release(context, next);
    return status;
}

/* ---- options ---------------------------------------------------------------------------------------- */

typedef enum method { RCM, BANDK, DEGREE, BFS, METHODS } method;
static const char *const method_names[METHODS] = {"rcm", "bandk", "degree", "bfs"};
/* Names of the values of spryi_group_rule from SPRYI_GROUPS_CPU on, in their order. */
static const char *const tuning_names[] = {"cpu", "volta", "ampere", "hopper", "table", "volta-ssrs", "ampere-ssrs"};
enum { TUNINGS = sizeof tuning_names / sizeof *tuning_names };

typedef struct settings {
    method how;
    int64_t sizes[SPRYI_BANDK_LEVELS]; /* srs, ssrs, sssrs; 0 if k has no such level */
} settings;

/* Returns the index of a name; 0 for NULL, -1 for an unknown name. */
static int index_of(const char *name, const char *const *names, int count)
{
    if (!name) return 0;
    for (int n = 0; n < count; n++)
        if (strcmp(name, names[n]) == 0) return n;
    return -1;
}

static spry_status check_size(const char *name, int64_t size, spry_error *err)
{
    if (size >= 0 && size <= SPRYI_MOST_GROUP) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, size, SPRYI_MOST_GROUP,
                            "reorder: %s is %lld, expected 1 to %d (0: the default)", name, (long long)size,
                            SPRYI_MOST_GROUP);
}

/* Sets the sizes of Band-k's groups to the sizes that the user gives, else to the sizes of the tuning. */
static spry_status resolve_sizes(settings *s, const spry_ordering_options *o, spryi_group_rule by, const spry_arrays *a,
                                 const spryi_group_table *table, spry_error *err)
{
    const int k = o->k == 0 ? 3 : o->k;
    const spryi_group_case group_case = spryi_group_case_of(a->rows, a->nnz);
    if (k == 2 && o->ssrs != 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "ssrs", o->ssrs, 0,
                                "reorder: ssrs is %lld, but with k = 2 there are no super-super-rows",
                                (long long)o->ssrs);
    if (k < 4 && o->sssrs != 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "sssrs", o->sssrs, 0,
                                "reorder: sssrs is %lld, but with k = %d there are no groups of super-super-rows",
                                (long long)o->sssrs, k);
    if (by == SPRYI_GROUPS_TABLE && (!table || table->gpu_major == 0))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "tuning",
                          "reorder: tuning is table, but the context has no table with formulas for GPUs: load one "
                          "with spry_context_load_tuning");
    const spryi_group_sizes found = spryi_find_group_sizes(by, k, group_case, a->rows, a->nnz, table);
    s->sizes[0] = o->srs > 0 ? o->srs : found.srs;
    s->sizes[1] = k < 3 ? 0 : o->ssrs > 0 ? o->ssrs : found.ssrs;
    s->sizes[2] = k < 4 ? 0 : o->sssrs > 0 ? o->sssrs : SPRYI_GROUP_SSSRS;
    return SPRY_OK;
}

static spry_status resolve(settings *s, const spry_ordering_options *o, const spry_arrays *a,
                           const spryi_group_table *table, spry_error *err)
{
    const int how = index_of(o->method, method_names, METHODS), tuning = index_of(o->tuning, tuning_names, TUNINGS);
    if (how < 0)
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "method",
                          "reorder: no method is called '%s'; there are rcm, bandk, degree and bfs", o->method);
    if (tuning < 0)
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "tuning",
                          "reorder: no tuning is called '%s'; there are cpu, volta, ampere, hopper, table, volta-ssrs "
                          "and ampere-ssrs",
                          o->tuning);
    if (o->k != 0 && (o->k < 2 || o->k > 4))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "k", o->k, 4, "reorder: k is %d, expected 2, 3 or 4", o->k);
    SPRYI_OK_OR_RETURN(check_size("srs", o->srs, err));
    SPRYI_OK_OR_RETURN(check_size("ssrs", o->ssrs, err));
    SPRYI_OK_OR_RETURN(check_size("sssrs", o->sssrs, err));
    *s = (settings){.how = (method)how};
    if (how == BANDK) return resolve_sizes(s, o, (spryi_group_rule)(tuning + SPRYI_GROUPS_CPU), a, table, err);
    if (o->k != 0 || o->srs != 0 || o->ssrs != 0 || o->sssrs != 0 || o->tuning)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "method",
                          "reorder: k, srs, ssrs, sssrs and tuning are bandk's; %s has no groups", method_names[how]);
    return SPRY_OK;
}

/* ---- methods ---------------------------------------------------------------------------------------- */

/*
 * Writes the rows of the matrix to perm, in the given order of the graph's nodes. order NULL: nodes by increasing
 * number, which is the order of a breadth-first walk. Skips nodes that are columns of a rectangular matrix.
 */
static void name_rows(int64_t *perm, const int32_t *order, const spryi_local *local, int64_t rows)
{
    int64_t at = 0;
    for (int64_t p = 0; p < local->graph.nodes; p++) {
        const int32_t node = local->original[order ? order[p] : p];
        if (node < rows) perm[at++] = node;
    }
}

static spry_status order_by_graph(spry_context *context, spry_ordering *to, const spry_matrix *A, const settings *s,
                                  spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_local local = {0};
    spryi_levels levels = {0};
    int32_t *order = NULL;
    SPRYI_TRY(spryi_localise(context, &local, A, err));
    if (s->how == RCM) {
        SPRYI_TRY(spryi_cuthill_mckee(context, &levels, &local.graph, local.starts, err));
        name_rows(to->perm, levels.order, &local, to->rows);
        for (int64_t p = 0, q = to->rows - 1; p < q; p++, q--) {
            const int64_t swap = to->perm[p];
            to->perm[p] = to->perm[q];
            to->perm[q] = swap;
        }
    } else if (s->how == BFS) {
        name_rows(to->perm, NULL, &local, to->rows);
    } else {
        SPRYI_TRY(SPRYI_NEW(context, &order, local.graph.nodes, "ordering", err));
        SPRYI_TRY(spryi_bandk_make(context, to, order, &local, s->sizes, err));
        name_rows(to->perm, order, &local, to->rows);
    }
    to->components = local.components;
done:
    spryi_local_clear(context, &local);
    spryi_levels_clear(context, &levels);
    spryi_release(context, order);
    return status;
}

void spry_ordering_destroy(spry_ordering *ordering)
{
    if (!ordering || atomic_fetch_sub(&ordering->others, 1) > 0) return;
    spry_context *context = ordering->context;
    spryi_release(context, ordering->perm);
    spryi_release(context, (void *)(uintptr_t)ordering->groups.sr_ptr);
    spryi_release(context, (void *)(uintptr_t)ordering->groups.ssr_ptr);
    spryi_release(context, (void *)(uintptr_t)ordering->groups.sssr_ptr);
    spryi_release(context, ordering);
    spryi_context_release(context);
}

spry_status spry_ordering_get_info(const spry_ordering *ordering, spry_ordering_info *info, spry_error *err)
{
    if (!ordering || !info) return spryi_fail_missing(err, !ordering ? "ordering" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spry_ordering_info description = {
        .struct_size = sizeof description,
        .method = ordering->method,
        .rows = ordering->rows,
        .columns = ordering->cols,
        .row_perm = ordering->perm,
        .column_perm = ordering->rows == ordering->cols ? ordering->perm : NULL,
        .components = ordering->components,
        .groups = &ordering->groups,
        .setup_us = ordering->setup_us,
    };
    SPRYI_GIVE(info, &description);
    return SPRY_OK;
}

/* ---- the user's groups of CSR-k: rows keep their order ------------------------------------------------------ */

/* Checks one level: ptr[0 .. count] increase from 0 to `end`, the number of `members`. */
static spry_status check_level(const char *name, const int64_t *ptr, int64_t count, int64_t end, const char *members,
                               spry_error *err)
{
    if (count < 0 || count > end)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, count, end,
                                "groups: %s has %lld groups, expected 0 to %lld, the number of %s", name,
                                (long long)count, (long long)end, members);
    if (!ptr) return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "groups: %s is NULL", name);
    if (ptr[0] != 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, ptr[0], 0, "groups: %s[0] is %lld, expected 0", name,
                                (long long)ptr[0]);
    for (int64_t g = 0; g < count; g++)
        if (ptr[g + 1] <= ptr[g])
            return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, ptr[g + 1], ptr[g],
                                    "groups: %s[%lld] is %lld, expected more than %lld, the one before: a group has "
                                    "one "
                                    "member or more",
                                    name, (long long)(g + 1), (long long)ptr[g + 1], (long long)ptr[g]);
    if (ptr[count] != end)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, ptr[count], end,
                                "groups: %s[%lld], the last, is %lld, expected %lld, the number of %s", name,
                                (long long)count, (long long)ptr[count], (long long)end, members);
    return SPRY_OK;
}

static spry_status check(const spry_groups *g, spry_error *err)
{
    if (g->rows < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "rows", g->rows, 0, "groups: rows is %lld, expected 0 or more",
                                (long long)g->rows);
    SPRYI_OK_OR_RETURN(check_level("sr_ptr", g->sr_ptr, g->sr_count, g->rows, "rows", err));
    if (g->ssr_ptr || g->ssr_count != 0)
        SPRYI_OK_OR_RETURN(check_level("ssr_ptr", g->ssr_ptr, g->ssr_count, g->sr_count, "super-rows", err));
    if (!g->sssr_ptr && g->sssr_count == 0) return SPRY_OK;
    if (!g->ssr_ptr)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "ssr_ptr",
                          "groups: sssr_ptr groups super-super-rows, but ssr_ptr is NULL");
    return check_level("sssr_ptr", g->sssr_ptr, g->sssr_count, g->ssr_count, "super-super-rows", err);
}

static spry_status copy_level(spry_context *context, const int64_t **to, const int64_t *from, int64_t count,
                              const char *members, spry_error *err)
{
    int64_t *copy;
    if (!from) return SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &copy, count + 1, members, err));
    memcpy(copy, from, (size_t)(count + 1) * sizeof *from);
    *to = copy;
    return SPRY_OK;
}

/* Returns the mean size of groups, rounded up; 1 if there are no groups; 0 if the level does not exist (ptr NULL). */
static int64_t mean_size(const int64_t *ptr, int64_t count)
{
    if (!ptr) return 0;
    return count > 0 ? ptr[count] / count + (ptr[count] % count > 0) : 1;
}

static spry_status create_from_groups(spry_context *context, spry_ordering **ordering, const spry_groups *groups,
                                      spry_error *err)
{
    const double start = spryi_now_us();
    spry_status status = SPRY_OK;
    spry_ordering *created = NULL;
    spry_groups g = SPRY_INIT(spry_groups);
    SPRYI_TRY(SPRYI_TAKE(&g, groups, err));
    SPRYI_TRY(check(&g, err));
    SPRYI_TRY(SPRYI_NEW(context, &created, 1, "ordering handle", err));
    *created = (spry_ordering){.context = spryi_context_retain(context),
                               .method = "groups",
                               .rows = g.rows,
                               .cols = g.rows,
                               .groups = {.struct_size = sizeof g,
                                          .rows = g.rows,
                                          .sr_count = g.sr_count,
                                          .ssr_count = g.ssr_count,
                                          .sssr_count = g.sssr_count,
                                          .srs = mean_size(g.sr_ptr, g.sr_count),
                                          .ssrs = mean_size(g.ssr_ptr, g.ssr_count),
                                          .sssrs = mean_size(g.sssr_ptr, g.sssr_count)}};
    SPRYI_TRY(SPRYI_NEW(context, &created->perm, created->rows, "permutation", err));
    for (int64_t i = 0; i < created->rows; i++) created->perm[i] = i;
    SPRYI_TRY(copy_level(context, &created->groups.sr_ptr, g.sr_ptr, g.sr_count, "sr_ptr", err));
    SPRYI_TRY(copy_level(context, &created->groups.ssr_ptr, g.ssr_ptr, g.ssr_count, "ssr_ptr", err));
    SPRYI_TRY(copy_level(context, &created->groups.sssr_ptr, g.sssr_ptr, g.sssr_count, "sssr_ptr", err));
    created->setup_us = spryi_now_us() - start;
    *ordering = created;
    created = NULL;
done:
    spry_ordering_destroy(created);
    return status;
}

/* ---- orderings ----------------------------------------------------------------------------------------- */

spry_status spry_ordering_create(spry_context *context, spry_ordering **ordering, const spry_matrix *A,
                                 const spry_ordering_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !ordering ? "ordering" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    const double start = spryi_now_us();
    spry_status status = SPRY_OK;
    spry_ordering *created = NULL;
    spry_matrix *entries = NULL;
    settings s;
    spry_ordering_options o = SPRY_INIT(spry_ordering_options);
    SPRYI_TRY(SPRYI_TAKE(&o, options, err));
    if (o.groups) return create_from_groups(context, ordering, o.groups, err);
    if (!A) return spryi_fail_missing(err, "A");
    if (A->a.device != 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "reorder: the matrix is in device memory, not host memory");
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    A = entries;
    SPRYI_TRY(resolve(&s, &o, &A->a, spryi_loaded_groups(context), err));
    SPRYI_TRY(SPRYI_NEW(context, &created, 1, "ordering handle", err));
    *created = (spry_ordering){.context = spryi_context_retain(context),
                               .method = method_names[s.how],
                               .rows = A->a.rows,
                               .cols = A->a.columns,
                               .groups = {.struct_size = sizeof(spry_groups),
                                          .rows = A->a.rows,
                                          .srs = s.sizes[0],
                                          .ssrs = s.sizes[1],
                                          .sssrs = s.sizes[2]}};
    SPRYI_TRY(SPRYI_NEW(context, &created->perm, created->rows, "permutation", err));
    SPRYI_TRY(s.how == DEGREE ? order_by_degree(context, created->perm, A, err)
                              : order_by_graph(context, created, A, &s, err));
    created->setup_us = spryi_now_us() - start;
    *ordering = created;
    created = NULL;
done:
    spryi_matrix_release(entries);
    spry_ordering_destroy(created);
    return status;
}
