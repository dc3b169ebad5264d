/*
 * Maps the caller's matrix and vectors to those of the storage: expands one triangle to both triangles, applies an
 * ordering, and transposes. With an ordering, runs multiply by B = P A P^T (P A if A is not square). A run gathers x to
 * x' in the workspace, computes t = B x' in the workspace, and gathers t to y, adding beta*y in the same pass (run.c).
 * Both gathers read by an index and write in order. Scattering would need no inverse permutation, but moves more bytes,
 * and threads would write to each other's cache lines.
 */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "formats/csrk/csrk.h"
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "spry/matrix.h"

#include <string.h>

enum { NONE, RCM, BANDK, DEGREE, BFS, NAMES };
static const char *const names[NAMES] = {"none", "rcm", "bandk", "degree", "bfs"};

/* Returns the index of the ordering's name, or NAMES if the name is unknown. */
static int method_of(const spry_spmv_options *o)
{
    int n = NONE;
    if (o->ordering)
        while (n < NAMES && strcmp(o->ordering, names[n]) != 0) n++;
    return n;
}

spry_status spryi_check_ordering(const spry_spmv_options *o, spry_error *err)
{
    const int method = method_of(o);
    if (method == NAMES)
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "ordering",
                          "no ordering \"%s\", expected none, rcm, bandk, degree or bfs", o->ordering);
    if (method != NONE && o->groups)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "groups",
                          "groups refer to the matrix's own order of rows, which ordering %s would change",
                          names[method]);
    return SPRY_OK;
}

/* ---- creation --------------------------------------------------------------------------------------- */

/* Sets the levels and sizes of Band-k's groups to those of the requested format. */
static spry_status aim_at_format(spry_ordering_options *how, const spryi_plan *plan, const spry_arrays *a,
                                 spry_error *err)
{
    const spry_spmv_options *o = &plan->request.options;
    spryi_build_request request = spryi_request_of(plan);
    const spryi_kernel *kernel = o->kernel ? spryi_find_kernel(o->kernel) : NULL;
    const char *text = !spryi_format_is_auto(o) ? o->format : kernel ? kernel->format : "csr3";
    const spryi_format *format;
    spryi_csrk shape = {0};
    spryi_cost cost;
    SPRYI_OK_OR_RETURN(spryi_parse_format(&format, request.parameters, text, err));
    how->k = spryi_csrk_levels(format->name);
    if (how->k == 0) return SPRY_OK;
    if (a->layout != SPRY_CSR || a->device != 0)
        request.parameters[SPRYI_CSR3_BY] = 0; /* the default: rows of this matrix cannot be inspected */
    spry_status status = spryi_csrk_resolve(&shape, &cost, &request, a, how->k, err);
    how->srs = shape.srs;
    how->ssrs = shape.ssrs;
    how->sssrs = shape.sssrs;
    return status;
}

/*
 * Creates the permutations of the vectors. If the matrix is square, the rows' permutation applies to both x and y, else
 * only to the vector of the rows' length.
 */
static spry_status create_permutations(spryi_plan *plan, const int64_t *perm, spry_error *err)
{
    spryi_plan_map *map = &plan->map;
    const int64_t rows = plan->A->a.rows;
    const bool square = rows == plan->A->a.columns;
    if (square || plan->request.options.op == SPRY_TRANSPOSE) {
        SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &map->x_from, rows, "permutation of x", err));
        for (int64_t i = 0; i < rows; i++) map->x_from[i] = (int32_t)perm[i];
        map->bytes += rows * (int64_t)sizeof *map->x_from;
    }
    if (square || plan->request.options.op == SPRY_NO_TRANSPOSE) {
        SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &map->y_from, rows, "permutation of y", err));
        for (int64_t i = 0; i < rows; i++) map->y_from[perm[i]] = (int32_t)i;
        map->bytes += rows * (int64_t)sizeof *map->y_from;
    }
    return SPRY_OK;
}

/* Extracts the rows of A in the order `perm`, and the columns if A is square. Keeps the width of A's offsets. */
static spry_status permute(spry_context *context, spry_matrix **B, const spry_matrix *A, const int64_t *perm,
                           spry_error *err)
{
    spry_selection rows = SPRY_INIT(spry_selection);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    rows.list = perm;
    rows.count = A->a.rows;
    options.offset_type = A->a.offset_type;
    options.keep_duplicates = true;
    return spry_matrix_extract(context, B, A, &rows, A->a.rows == A->a.columns ? &rows : NULL, &options, err);
}

/* Permutes A to B by an ordering with the options `how`. */
static spry_status permute_by(spryi_plan *plan, spry_matrix **B, const spry_matrix *A, const spry_ordering_options *how,
                              spry_error *err)
{
    spry_ordering **found = &plan->map.found;
    const double start = spryi_now_us();
    SPRYI_OK_OR_RETURN(spry_ordering_create(plan->context, found, A, how, err));
    plan->times.search_us += spryi_now_us() - start;
    const int64_t *perm = (*found)->perm;
    SPRYI_OK_OR_RETURN(create_permutations(plan, perm, err));
    SPRYI_OK_OR_RETURN(permute(plan->context, B, A, perm, err));
    spryi_release(plan->context, (*found)->perm); /* the map has the permutation */
    (*found)->perm = NULL;
    return SPRY_OK;
}

/* Replaces plan->A by a matrix of both triangles or of the blocks' elements, in the order that the options name. */
static spry_status order(spryi_plan *plan, spry_error *err)
{
    const int method = method_of(&plan->request.options);
    const bool expands = spryi_is_compact(&plan->A->a);
    if (method == NONE && !expands) return SPRY_OK;
    spry_status status = SPRY_OK;
    spry_matrix *A = plan->A, *B = NULL, *entries = NULL;
    const int64_t m = A->a.rows, n = A->a.columns;
    spry_ordering_options how = SPRY_INIT(spry_ordering_options);
    if (method != NONE && (m > INT32_MAX || n > INT32_MAX))
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "ordering", m > n ? m : n, INT32_MAX,
                                "ordering %s is for matrices of up to %d rows and columns, this one is %lld x %lld",
                                names[method], (int)INT32_MAX, (long long)m, (long long)n);
    how.method = names[method];
    SPRYI_TRY(method == NONE ? spryi_matrix_entries(A, &entries, err) : spryi_matrix_host_entries(A, &entries, err));
    A = entries;
    if (method == BANDK) SPRYI_TRY(aim_at_format(&how, plan, &A->a, err));
    if (method != NONE)
        SPRYI_TRY(permute_by(plan, &B, A, &how, err));
    else
        B = spryi_matrix_retain(A);
    spryi_matrix_release(plan->A);
    plan->A = B;
    plan->map.is_changed = true;
done:
    spryi_matrix_release(entries);
    return status;
}

/* Replaces plan->A by its blocks as a storage, if plans with these options can read the blocks. */
static spry_status take_blocks(spryi_plan *plan, spry_error *err)
{
    spry_matrix *stored;
    SPRYI_OK_OR_RETURN(spryi_blocks_as_stored(&stored, plan->A, err));
    const bool reads = spryi_may_read_stored(stored, &plan->request.options);
    spryi_matrix_release(reads ? plan->A : stored);
    if (reads) plan->A = stored;
    return SPRY_OK;
}

/* ---- transposed --------------------------------------------------------------------------------------- */

bool spryi_multiplies_transposed(const spryi_device *d, const spry_matrix *A, const spry_spmv_options *o)
{
    spryi_selection_request request = {.operation = SPRYI_OP_SPMV_T,
                                       .allow_nondeterministic = o->allow_nondeterministic,
                                       .row = spryi_value_row(A->a.value_type, o->vector_type)};
    const spryi_format *format;
    const spryi_kernel *kernel;
    int64_t parameters[SPRYI_PARAMETERS];
    if (o->op != SPRY_TRANSPOSE || o->kernel || A->stored || !d->ops) return 0;
    if (spryi_format_is_auto(o)) return spryi_wants_transposed(A, o, spryi_class_of(d));
    if (o->groups || spryi_parse_format(&format, parameters, o->format, NULL) != SPRY_OK) return 0;
    if (spryi_select_kernel(d, &kernel, format, NULL, &request, NULL) == SPRY_OK) return 0;
    request.operation = SPRYI_OP_SPMV;
    return spryi_select_kernel(d, &kernel, format, NULL, &request, NULL) == SPRY_OK;
}

/* Transposes A to *T, on the device if possible, else on the host. */
static spry_status transpose(spryi_plan *plan, spry_matrix **T, const spry_matrix *A, spry_error *err)
{
    spry_matrix *host = NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_transpose_on_device(plan, T, A, &plan->map.upload_us, err));
    if (*T) return SPRY_OK;
    if (A->a.device > 0) SPRYI_TRY(spryi_matrix_fetch(plan->request.device, &host, A, err));
    status = spryi_transposed(plan->context, T, host ? host : A, err);
done:
    spryi_matrix_release(host);
    return status;
}

/* Replaces plan->A by its transpose, so that a transposed product is the plain product of the storage. */
static spry_status flip(spryi_plan *plan, spry_error *err)
{
    const spry_arrays *given = &plan->map.given->a;
    const bool is_own_transpose = given->triangle != SPRY_ALL_ENTRIES && given->symmetry == SPRY_SYMMETRIC;
    spry_matrix *T = NULL;
    if (!is_own_transpose) {
        SPRYI_OK_OR_RETURN(transpose(plan, &T, plan->A, err));
        spryi_matrix_release(plan->A);
        plan->A = T;
        plan->map.is_changed = plan->map.is_transposed = true;
    }
    plan->request.options.op = SPRY_NO_TRANSPOSE;
    plan->request.options.groups = NULL; /* groups of rows, which are columns now */
    return SPRY_OK;
}

/* ---- permutations on the device ----------------------------------------------------------------------- */

static int64_t padded_bytes(const int32_t *permutation, int64_t length)
{
    return permutation ? (length * (int64_t)sizeof *permutation + 63) / 64 * 64 : 0;
}

/* Moves the permutations to one block of device memory, followed by a zero. */
static spry_status place(spryi_plan *plan, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const int64_t x_length = plan->request.x_length, y_length = plan->request.y_length;
    spryi_plan_map *map = &plan->map;
    spry_status status = SPRY_OK;
    void *block = NULL;
    if (d->driver->host_memory || !(map->x_from || map->y_from)) return SPRY_OK;
    const double start = spryi_now_us();
    const int64_t x_bytes = padded_bytes(map->x_from, x_length), y_bytes = padded_bytes(map->y_from, y_length);
    SPRYI_TRY(d->ops->allocate(d, &block, x_bytes + y_bytes + 64, "permutations of x and y", err));
    char *to = block;
    SPRYI_TRY(d->ops->clear(d, to + x_bytes + y_bytes, 64, err));
    if (x_bytes > 0) SPRYI_TRY(d->ops->copy(d, to, map->x_from, x_length * 4, SPRYI_TO_DEVICE, NULL, err));
    if (y_bytes > 0) SPRYI_TRY(d->ops->copy(d, to + x_bytes, map->y_from, y_length * 4, SPRYI_TO_DEVICE, NULL, err));
    SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    spryi_release(plan->context, map->x_from);
    spryi_release(plan->context, map->y_from);
    if (map->x_from) map->x_from = block;
    if (map->y_from) map->y_from = (int32_t *)(void *)(to + x_bytes);
    map->zero = to + x_bytes + y_bytes;
    map->block = block;
    map->bytes = x_bytes + y_bytes + 64;
    block = NULL;
    map->upload_us += spryi_now_us() - start;
done:
    d->ops->release(d, block);
    return status;
}

spry_status spryi_map_plan(spryi_plan *plan, spryi_pairing *pairing, spry_error *err)
{
    spry_spmv_options *o = &plan->request.options;
    const bool transposes = o->op == SPRY_TRANSPOSE, flips = pairing && pairing->flips && transposes;
    if (plan->A->stored && (flips || !spryi_may_read_stored(plan->A, o)))
        SPRYI_OK_OR_RETURN(spryi_take_entries(plan, err));
    if (pairing) SPRYI_OK_OR_RETURN(spryi_share_copy(plan, pairing, err));
    plan->map = (spryi_plan_map){.given = spryi_matrix_retain(plan->A),
                                 .ordering = names[method_of(o)],
                                 .x_scaling = transposes ? o->row_scaling : o->column_scaling,
                                 .y_scaling = transposes ? o->column_scaling : o->row_scaling};
    if (plan->A->a.layout == SPRY_BSR && !flips) SPRYI_OK_OR_RETURN(take_blocks(plan, err));
    if (!plan->A->stored) SPRYI_OK_OR_RETURN(order(plan, err));
    if (flips || spryi_multiplies_transposed(plan->request.device, plan->A, o))
        SPRYI_OK_OR_RETURN(flip(plan, err));
    else if (method_of(o) == BANDK)
        o->groups = plan->map.found;
    plan->map.nnz = plan->A->a.nnz;
    return place(plan, err);
}

void spryi_discard_map(spryi_plan *plan)
{
    spryi_plan_map *map = &plan->map;
    spry_ordering_destroy(map->found);
    spryi_matrix_release(map->given);
    if (map->block) {
        plan->request.device->ops->release(plan->request.device, map->block);
    } else {
        spryi_release(plan->context, map->x_from);
        spryi_release(plan->context, map->y_from);
    }
    *map = (spryi_plan_map){0};
}

/* ---- the mapped matrix ---------------------------------------------------------------------------------- */

/*
 * Returns whether the storage borrows values or structure from plan->A. A GPU borrows nothing from a copy in host
 * memory.
 */
static bool borrows(const spryi_plan *plan)
{
    if (plan->stored.on_device) return plan->A->a.device > 0 && plan->stored.borrowed > 0;
    const spry_arrays *s = spryi_storage_arrays(plan->stored.storage), *a = &plan->A->a;
    return s->offsets == a->offsets || s->indices == a->indices || (a->values && s->values == a->values) ||
           atomic_load(&plan->A->references) > 1;
}

/* Returns whether the storage has groups that an update must use again. */
static bool has_groups(const spryi_plan *plan)
{
    return plan->request.options.groups && spryi_csrk_levels(plan->target.format->name) > 0;
}

/* Returns whether the plan keeps its groups, since the host cannot read the groups of a GPU's storage. */
static bool keeps_groups(const spryi_plan *plan)
{
    return plan->stored.on_device && has_groups(plan);
}

void spryi_drop_copy(spryi_plan *plan)
{
    spryi_plan_map *map = &plan->map;
    if (!map->is_changed) return;
    if (!keeps_groups(plan)) {
        spry_ordering_destroy(map->found);
        map->found = NULL;
        plan->request.options.groups = NULL;
    }
    if (plan->A == map->given || borrows(plan)) return;
    spryi_matrix_release(plan->A);
    plan->A = spryi_matrix_retain(map->given);
}

bool spryi_has_copy(const spryi_plan *plan)
{
    return !plan->A->stored && plan->A->a.offsets != plan->map.given->a.offsets;
}

bool spryi_is_expanded(const spryi_plan *plan)
{
    return spryi_is_compact(&plan->map.given->a) && !spryi_reads_blocks(plan);
}

bool spryi_reads_blocks(const spryi_plan *plan)
{
    return plan->A->stored && plan->A->stored->from_arrays;
}

int64_t spryi_ordering_bytes(const spryi_plan *plan, bool owned)
{
    int64_t bytes = plan->map.bytes;
    if (!owned) return bytes;
    if (spryi_has_copy(plan) && borrows(plan)) bytes += spryi_arrays_bytes(&plan->A->a);
    const spry_ordering *o = plan->map.found;
    if (o && keeps_groups(plan))
        bytes += 8 *
                 (o->groups.sr_count + o->groups.ssr_count + 2 + (o->groups.sssr_ptr ? o->groups.sssr_count + 1 : 0));
    return bytes;
}

/* ---- values ----------------------------------------------------------------------------------------- */

/* Permutes A to B on the host, in the plan's order. */
static spry_status permute_again(const spryi_plan *plan, spry_matrix **B, const spry_matrix *A, spry_error *err)
{
    const spryi_plan_map *map = &plan->map;
    const spryi_device *d = plan->request.device;
    const int64_t rows = A->a.rows;
    spry_status status = SPRY_OK;
    int64_t *perm = NULL;
    int32_t *from = NULL;
    SPRYI_TRY(SPRYI_NEW(plan->context, &perm, rows, "permutation", err));
    SPRYI_TRY(SPRYI_NEW(plan->context, &from, rows, "permutation", err));
    SPRYI_TRY(d->ops->copy(d, from, map->x_from ? map->x_from : map->y_from, rows * (int64_t)sizeof *from,
                           SPRYI_FROM_DEVICE, NULL, err));
    SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    for (int64_t i = 0; i < rows; i++)
        if (map->x_from)
            perm[i] = from[i];
        else
            perm[from[i]] = i;
    SPRYI_TRY(permute(plan->context, B, A, perm, err));
done:
    spryi_release(plan->context, from);
    spryi_release(plan->context, perm);
    return status;
}

/* Builds *B from the current values of the caller's matrix. */
static spry_status map_again(spryi_plan *plan, spry_matrix **B, spry_error *err)
{
    const spryi_plan_map *map = &plan->map;
    const bool permutes = map->x_from || map->y_from, expands = spryi_is_compact(&map->given->a);
    spry_status status = SPRY_OK;
    spry_matrix *A = NULL, *permuted = NULL;
    if (map->is_transposed && !permutes && !expands) return transpose(plan, B, map->given, err);
    SPRYI_TRY(permutes ? spryi_matrix_host_entries(map->given, &A, err) : spryi_matrix_entries(map->given, &A, err));
    if (permutes)
        SPRYI_TRY(permute_again(plan, &permuted, A, err));
    else
        permuted = spryi_matrix_retain(A);
    if (map->is_transposed)
        SPRYI_TRY(transpose(plan, B, permuted, err));
    else
        *B = spryi_matrix_retain(permuted);
done:
    spryi_matrix_release(A);
    spryi_matrix_release(permuted);
    return status;
}

/*
 * Permutes all entries again, with the new values. A map from A's entries to those of plan->A would be faster, but
 * in every plan it would take as much memory as the column indices.
 */
spry_status spryi_order_values(spryi_plan *plan, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    spry_status status = SPRY_OK;
    spry_matrix *B = NULL;
    SPRYI_TRY(map_again(plan, &B, err));
    const int64_t bytes = B->a.nnz * (int64_t)spry_type_bytes(B->a.value_type);
    if (!spryi_has_copy(plan)) {
        spryi_replace_matrix(plan, B);
    } else if (plan->A->a.device == 0) { /* the storage reads the values at this address */
        memcpy((void *)(uintptr_t)plan->A->a.values, B->a.values, (size_t)bytes);
    } else if (bytes > 0) {
        SPRYI_TRY(d->ops->copy(d, (void *)(uintptr_t)plan->A->a.values, B->a.values, bytes,
                               B->a.device > 0 ? SPRYI_WITHIN_DEVICE : SPRYI_TO_DEVICE, NULL, err));
        SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    }
done:
    spryi_matrix_release(B);
    return status;
}
