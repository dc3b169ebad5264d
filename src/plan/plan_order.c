/*
 * Plans that renumber by themselves. B = P A P^T is multiplied in place of A (A not square: P A), and x and y stay in
 * the caller's numbering: a run gathers x' into the workspace, multiplies it to t there, and y gathers t with beta*y
 * in one pass (run.c).
 *
 * Both passes read by an index and write in order, which needs the permutation as well as its inverse. Scattering would
 * do with one of them, but each entry that it misses in the cache is read and written back, 128 bytes for the 64 of a
 * gather, and threads would write into each other's lines. Cost: 4 bytes of an index and 2 numbers each entry of x and
 * of y, one more of y where beta is not 0.
 */
#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/ordering.h"
#include "formats/csc/csc.h"
#include "formats/csrk/csrk.h"
#include "plan/plan.h"
#include "plan/select.h"
#include "spry/tools.h"

#include <string.h>

enum { NONE, RCM, BANDK, DEGREE, BFS, NAMES };
static const char *const names[NAMES] = {"none", "rcm", "bandk", "degree", "bfs"};

/* NAMES: no such. */
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
                          "groups are of the matrix's own numbering, and ordering %s would give it another",
                          names[method]);
    return SPRY_OK;
}

/* ---- making ----------------------------------------------------------------------------------------- */

/* For Band-k: as many levels, and groups as large, as the format that was asked for would take. */
static spry_status aim_at_format(spry_ordering_options *how, const spry_spmv_plan *plan, const spry_arrays *a,
                                 const spry_spmv_options *o, spry_error *err)
{
    spryi_build_request request = spryi_request_of(plan);
    const spryi_kernel *kernel = o->kernel ? spryi_find_kernel(o->kernel) : NULL;
    const char *text = !spryi_format_is_auto(o) ? o->format : kernel ? kernel->format : "csr3";
    const spryi_format *format;
    spryi_csrk shape = {0};
    spryi_cost cost;
    SPRYI_OK_OR_RETURN(spryi_parse_format(&format, request.parameters, text, err));
    how->k = spryi_csrk_levels(format->name);
    if (how->k == 0) return SPRY_OK;
    if (a->layout != SPRY_CSR || a->device != 0) request.parameters[SPRYI_CSR3_BY] = 0; /* no rows to look at yet */
    spry_status status = spryi_csrk_resolve(&shape, &cost, &plan->context->tuning, &request, a, how->k, err);
    how->srs = shape.srs;
    how->ssrs = shape.ssrs;
    how->sssrs = shape.sssrs;
    return status;
}

/* The permutations of x and of y, from a permutation of rows, and of columns where the matrix is square. */
static spry_status make_maps(spry_spmv_plan *plan, const int64_t *perm, spry_error *err)
{
    spryi_plan_order *order = plan->order;
    const spry_arrays *a = &plan->A->a;
    const int square = a->rows == a->cols;
    if (square || plan->op == SPRY_TRANSPOSE) {
        SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &order->x_from, a->rows, "permutation of x", err));
        for (int64_t i = 0; i < a->rows; i++) order->x_from[i] = (int32_t)perm[i];
        order->bytes += a->rows * (int64_t)sizeof *order->x_from;
    }
    if (square || plan->op == SPRY_NO_TRANSPOSE) {
        SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &order->y_from, a->rows, "permutation of y", err));
        for (int64_t i = 0; i < a->rows; i++) order->y_from[perm[i]] = (int32_t)i;
        order->bytes += a->rows * (int64_t)sizeof *order->y_from;
    }
    return SPRY_OK;
}

/* B = A in the order that `how` gives. */
static spry_status permute_by(spry_spmv_plan *plan, spry_matrix **B, const spry_matrix *A,
                              const spry_ordering_options *how, spry_error *err)
{
    spry_ordering **ordering = &plan->order->ordering;
    const double start = spryi_now_us();
    SPRYI_OK_OR_RETURN(spry_ordering_create(plan->context, ordering, A, how, err));
    plan->search_us += spryi_now_us() - start;
    const int64_t *perm = (*ordering)->perm;
    SPRYI_OK_OR_RETURN(make_maps(plan, perm, err));
    SPRYI_OK_OR_RETURN(spry_matrix_permute(plan->context, B, A, perm, A->a.rows == A->a.cols ? perm : NULL, err));
    spryi_release(plan->context, (*ordering)->perm); /* the maps have it */
    (*ordering)->perm = NULL;
    return SPRY_OK;
}

spry_status spryi_order_plan(spry_spmv_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const int method = method_of(o), expands = plan->A->a.triangle != SPRY_ALL_ENTRIES;
    if (method == NONE && !expands) return SPRY_OK;
    spry_status status = SPRY_OK;
    spry_matrix *A = plan->A, *B = NULL, *host = NULL;
    const int64_t m = A->a.rows, n = A->a.cols;
    spry_ordering_options how = SPRY_INIT(spry_ordering_options);
    if (method != NONE && (m > INT32_MAX || n > INT32_MAX))
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "ordering", m > n ? m : n, INT32_MAX,
                                "ordering %s is for matrices of up to %d rows and columns, this one is %lld x %lld",
                                names[method], (int)INT32_MAX, (long long)m, (long long)n);
    how.method = names[method];
    if (A->a.device > 0) {
        SPRYI_TRY(spryi_matrix_fetch(plan->device, &host, A, err));
        A = host;
    } else if (expands) {
        SPRYI_TRY(spryi_matrix_entries(plan->A, &host, err));
        A = host;
    }
    if (method == BANDK) SPRYI_TRY(aim_at_format(&how, plan, &A->a, o, err));
    SPRYI_TRY(SPRYI_NEW(plan->context, &plan->order, 1, "ordering of a plan", err));
    *plan->order = (spryi_plan_order){.name = names[method], .given = spryi_matrix_retain(plan->A)};
    if (method != NONE)
        SPRYI_TRY(permute_by(plan, &B, A, &how, err));
    else
        B = spryi_matrix_retain(A);
    spryi_matrix_release(plan->A);
    plan->A = B;
    if (method == BANDK) plan->options.groups = plan->order->ordering;
done:
    spryi_matrix_release(host);
    return status;
}

/* ---- transposed --------------------------------------------------------------------------------------- */

int spryi_multiplies_transposed(const spryi_device *d, const spry_matrix *A, const spry_spmv_options *o)
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

/* *T = A transposed, by the device where that can, else by the host. */
static spry_status transpose(spry_spmv_plan *plan, spry_matrix **T, const spry_matrix *A, spry_error *err)
{
    spry_matrix *host = NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_transpose_on_device(plan, T, A, &plan->order->upload_us, err));
    if (*T) return SPRY_OK;
    if (A->a.device > 0) SPRYI_TRY(spryi_matrix_fetch(plan->device, &host, A, err));
    status = spryi_transposed(plan->context, T, host ? host : A, err);
done:
    spryi_matrix_release(host);
    return status;
}

/* 1: B is its own transposed. */
static int is_symmetric(const spryi_plan_order *order)
{
    const spry_arrays *given = &order->given->a;
    return given->triangle != SPRY_ALL_ENTRIES && given->symmetry == SPRY_SYMMETRIC;
}

spry_status spryi_flip_plan(spry_spmv_plan *plan, spry_error *err)
{
    spry_matrix *T = NULL;
    if (!plan->order) {
        SPRYI_OK_OR_RETURN(SPRYI_NEW(plan->context, &plan->order, 1, "transposed matrix of a plan", err));
        *plan->order = (spryi_plan_order){.name = names[NONE], .given = spryi_matrix_retain(plan->A)};
    }
    if (!is_symmetric(plan->order)) {
        SPRYI_OK_OR_RETURN(transpose(plan, &T, plan->A, err));
        spryi_matrix_release(plan->A);
        plan->A = T;
        plan->order->flipped = 1;
    }
    plan->options.op = SPRY_NO_TRANSPOSE;
    plan->options.groups = NULL; /* of the rows that are columns now */
    return SPRY_OK;
}

/* ---- on the device ------------------------------------------------------------------------------------- */

static int64_t padded_bytes(const int32_t *permutation, int64_t length)
{
    return permutation ? (length * (int64_t)sizeof *permutation + 63) / 64 * 64 : 0;
}

/* One block of device memory: the permutation of x, that of y, and a number 0. */
spry_status spryi_place_order(spry_spmv_plan *plan, spry_error *err)
{
    const spryi_device *d = plan->device;
    spryi_plan_order *order = plan->order;
    spry_status status = SPRY_OK;
    void *block = NULL;
    if (!order || order->block || d->driver->host_memory || !(order->x_from || order->y_from)) return SPRY_OK;
    const double start = spryi_now_us();
    const int64_t x_bytes = padded_bytes(order->x_from, plan->x_length);
    const int64_t y_bytes = padded_bytes(order->y_from, plan->y_length);
    SPRYI_TRY(d->ops->allocate(d, &block, x_bytes + y_bytes + 64, "permutations of x and y", err));
    char *to = block;
    SPRYI_TRY(d->ops->clear(d, to + x_bytes + y_bytes, 64, err));
    if (x_bytes > 0) SPRYI_TRY(d->ops->copy(d, to, order->x_from, plan->x_length * 4, SPRYI_TO_DEVICE, NULL, err));
    if (y_bytes > 0)
        SPRYI_TRY(d->ops->copy(d, to + x_bytes, order->y_from, plan->y_length * 4, SPRYI_TO_DEVICE, NULL, err));
    SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    spryi_release(plan->context, order->x_from);
    spryi_release(plan->context, order->y_from);
    if (order->x_from) order->x_from = block;
    if (order->y_from) order->y_from = (int32_t *)(void *)(to + x_bytes);
    order->zero = to + x_bytes + y_bytes;
    order->block = block;
    order->bytes = x_bytes + y_bytes + 64;
    block = NULL;
    plan->stored.upload_us += spryi_now_us() - start;
done:
    d->ops->release(d, block);
    return status;
}

/* Values may be borrowed or not, and so may the rest; of a copy in host memory a GPU borrows nothing. */
static int borrows(const spry_spmv_plan *plan)
{
    if (plan->stored.on_device) return plan->A->a.device > 0 && plan->stored.borrowed > 0;
    const spry_arrays *s = spryi_storage_arrays(plan->format, plan->stored.storage), *a = &plan->A->a;
    return s->offsets == a->offsets || s->indices == a->indices || (a->values && s->values == a->values) ||
           atomic_load(&plan->A->references) > 1;
}

/* 1: values that change are to be built into a storage of the same groups. */
static int has_groups(const spry_spmv_plan *plan)
{
    return plan->options.groups && spryi_csrk_levels(plan->format->name) > 0;
}

/* A storage has groups of its own, which the host cannot read where they are a GPU's. */
static int keeps_groups(const spry_spmv_plan *plan)
{
    return plan->stored.on_device && has_groups(plan);
}

void spryi_drop_copy(spry_spmv_plan *plan)
{
    spryi_plan_order *order = plan->order;
    if (!order) return;
    if (!keeps_groups(plan)) {
        spry_ordering_destroy(order->ordering);
        order->ordering = NULL;
        plan->options.groups = NULL;
    }
    if (plan->A == order->given || borrows(plan)) return;
    spryi_matrix_release(plan->A);
    plan->A = spryi_matrix_retain(order->given);
}

bool spryi_has_copy(const spry_spmv_plan *plan)
{
    return plan->order && plan->A->a.offsets != plan->order->given->a.offsets;
}

int spryi_is_expanded(const spry_spmv_plan *plan)
{
    return plan->order && plan->order->given->a.triangle != SPRY_ALL_ENTRIES;
}

int64_t spryi_ordering_bytes(const spry_spmv_plan *plan, int owned)
{
    const spryi_plan_order *order = plan->order;
    if (!order) return 0;
    int64_t bytes = order->bytes;
    if (owned && spryi_has_copy(plan) && borrows(plan)) bytes += spryi_arrays_bytes(&plan->A->a);
    const spry_ordering *o = order->ordering;
    if (owned && o && keeps_groups(plan))
        bytes += 8 * (o->sr_count + o->ssr_count + 2 + (o->sssr_ptr ? o->sssr_count + 1 : 0));
    return bytes;
}

void spryi_discard_ordering(spry_spmv_plan *plan)
{
    spryi_plan_order *order = plan->order;
    if (!order) return;
    spry_ordering_destroy(order->ordering);
    spryi_matrix_release(order->given);
    if (order->block) {
        plan->device->ops->release(plan->device, order->block);
    } else {
        spryi_release(plan->context, order->x_from);
        spryi_release(plan->context, order->y_from);
    }
    spryi_release(plan->context, order);
    plan->order = NULL;
}

/* ---- values ----------------------------------------------------------------------------------------- */

/* *B = A, on the host, in the plan's order. */
static spry_status permute_again(const spry_spmv_plan *plan, spry_matrix **B, const spry_matrix *A, spry_error *err)
{
    const spryi_plan_order *order = plan->order;
    const spryi_device *d = plan->device;
    const int64_t rows = A->a.rows;
    spry_status status = SPRY_OK;
    int64_t *perm = NULL;
    int32_t *map = NULL;
    SPRYI_TRY(SPRYI_NEW(plan->context, &perm, rows, "permutation", err));
    SPRYI_TRY(SPRYI_NEW(plan->context, &map, rows, "permutation", err));
    SPRYI_TRY(d->ops->copy(d, map, order->x_from ? order->x_from : order->y_from, rows * (int64_t)sizeof *map,
                           SPRYI_FROM_DEVICE, NULL, err));
    SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    for (int64_t i = 0; i < rows; i++)
        if (order->x_from)
            perm[i] = map[i];
        else
            perm[map[i]] = i;
    SPRYI_TRY(spry_matrix_permute(plan->context, B, A, perm, rows == A->a.cols ? perm : NULL, err));
done:
    spryi_release(plan->context, map);
    spryi_release(plan->context, perm);
    return status;
}

/* *B: of the values of the caller's matrix as they are now. */
static spry_status make_again(spry_spmv_plan *plan, spry_matrix **B, spry_error *err)
{
    const spryi_plan_order *order = plan->order;
    const int permutes = order->x_from || order->y_from, expands = order->given->a.triangle != SPRY_ALL_ENTRIES;
    spry_status status = SPRY_OK;
    spry_matrix *A = NULL, *permuted = NULL;
    if (order->flipped && !permutes && !expands) return transpose(plan, B, order->given, err);
    SPRYI_TRY(order->given->a.device > 0 ? spryi_matrix_fetch(plan->device, &A, order->given, err)
                                         : spryi_matrix_entries(order->given, &A, err));
    if (permutes)
        SPRYI_TRY(permute_again(plan, &permuted, A, err));
    else
        permuted = spryi_matrix_retain(A);
    if (order->flipped)
        SPRYI_TRY(transpose(plan, B, permuted, err));
    else
        *B = spryi_matrix_retain(permuted);
done:
    spryi_matrix_release(A);
    spryi_matrix_release(permuted);
    return status;
}

/* Entries are permuted anew: a map of them would take as much memory as the columns, in every plan. */
spry_status spryi_order_values(spry_spmv_plan *plan, spry_error *err)
{
    const spryi_device *d = plan->device;
    spry_status status = SPRY_OK;
    spry_matrix *B = NULL;
    SPRYI_TRY(make_again(plan, &B, err));
    const int64_t bytes = B->a.nnz * (int64_t)spry_type_bytes(B->a.value_type);
    if (!spryi_has_copy(plan)) {
        spryi_replace_matrix(plan, B);
    } else if (plan->A->a.device == 0) { /* the storage has the addresses of these */
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
