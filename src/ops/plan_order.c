/*
 * Plans that renumber by themselves. B = P A P^T is multiplied in place of A (A not square: P A), and x and y stay in
 * the caller's numbering: a run gathers x' into the workspace, multiplies it to t there, and y gathers t with beta*y
 * in one pass.
 *
 * Both passes read by an index and write in order, which needs the permutation as well as its inverse. Scattering would
 * do with one of them, but each entry that it misses in the cache is read and written back, 128 bytes for the 64 of a
 * gather, and threads would write into each other's lines. Cost: 4 bytes of an index and 2 numbers each entry of x and
 * of y, one more of y where beta is not 0. On a GPU it is the same (plan_order_cuda.c).
 */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/ordering.h"
#include "core/team.h"
#include "formats/csrk/csrk.h"
#include "ops/plan.h"

#include <string.h>

enum { NONE, RCM, BANDK, DEGREE, NAMES, PARALLEL_FROM = 65536 };
static const char *const names[NAMES] = {"none", "rcm", "bandk", "degree"};

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
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "ordering", "no ordering \"%s\", expected none, rcm, bandk or degree",
                          o->ordering);
    if (method != NONE && o->groups)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "groups",
                          "groups are of the matrix's own numbering, and ordering %s would give it another",
                          names[method]);
    return SPRY_OK;
}

/* ---- making ----------------------------------------------------------------------------------------- */

/* For Band-k: as many levels, and groups as large, as the format that was asked for would take. */
static spry_status aim_at_format(spry_reorder_options *how, const spry_plan *plan, const spry_arrays *a,
                                 const spry_spmv_options *o, spry_error *err)
{
    spryi_build_request request = spryi_request_of(plan);
    const spryi_kernel *kernel = o->kernel ? spryi_find_kernel(o->kernel) : NULL;
    const char *text = o->format && strcmp(o->format, "auto") != 0 ? o->format : kernel ? kernel->format : "csr3";
    const spryi_format *format;
    spryi_csrk shape = {0};
    spryi_figure figure;
    spry_status status = spryi_parse_format(&format, request.parameters, text, err);
    if (status != SPRY_OK) return status;
    how->k = strcmp(format->name, "csr2") == 0 ? 2 : 3;
    if (strcmp(format->name, "csr2") != 0 && strcmp(format->name, "csr3") != 0) return SPRY_OK;
    status = spryi_csrk_settle(&shape, &figure, &plan->context->tuning, &request, a, how->k, err);
    how->srs = shape.srs;
    how->ssrs = shape.ssrs;
    return status;
}

/* x_from and y_from of a permutation of rows, and of columns where the matrix is square. */
static spry_status make_maps(spry_plan *plan, const int64_t *perm, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_plan_order *order = plan->order;
    const spry_arrays *a = &plan->A->a;
    const int square = a->rows == a->cols;
    if (square || plan->op == SPRY_TRANSPOSE) {
        SPRYI_TRY(SPRYI_NEW(plan->context, &order->x_from, a->rows, "places of x", err));
        for (int64_t i = 0; i < a->rows; i++) order->x_from[i] = (int32_t)perm[i];
        order->bytes += a->rows * (int64_t)sizeof *order->x_from;
    }
    if (square || plan->op == SPRY_NO_TRANSPOSE) {
        SPRYI_TRY(SPRYI_NEW(plan->context, &order->y_from, a->rows, "places of y", err));
        for (int64_t i = 0; i < a->rows; i++) order->y_from[perm[i]] = (int32_t)i;
        order->bytes += a->rows * (int64_t)sizeof *order->y_from;
    }
done:
    return status;
}

/* *moved = a scaling in B's numbering; perm NULL: as it is. */
static spry_status move_scaling(spry_plan *plan, void **moved, const void *scaling, const int64_t *perm, int64_t length,
                                spry_error *err)
{
    const size_t size = spry_type_bytes(plan->vector_type);
    if (!scaling || plan->A->a.value_type != SPRY_PATTERN) return SPRY_OK; /* refused later on, where it is not one */
    spry_status status = spryi_allocate(plan->context, moved, length, size, "scaling", err);
    if (status != SPRY_OK) return status;
    plan->order->bytes += length * (int64_t)size;
    for (int64_t i = 0; i < length; i++)
        memcpy((char *)*moved + (size_t)i * size, (const char *)scaling + (size_t)(perm ? perm[i] : i) * size, size);
    return SPRY_OK;
}

spry_status spryi_order_plan(spry_plan *plan, const spry_spmv_options *o, spry_error *err)
{
    const int method = method_of(o);
    if (method == NONE) return SPRY_OK;
    spry_status status = SPRY_OK;
    spry_matrix *A = plan->A, *B = NULL, *host = NULL;
    const int64_t m = A->a.rows, n = A->a.cols;
    spry_reorder_options how = SPRY_INIT(spry_reorder_options);
    if (m > INT32_MAX || n > INT32_MAX)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "ordering", m > n ? m : n, INT32_MAX,
                                "ordering %s is for matrices of up to %d rows and columns, this one is %lld x %lld",
                                names[method], (int)INT32_MAX, (long long)m, (long long)n);
    how.method = names[method];
    if (A->a.device > 0) {
        SPRYI_TRY(spryi_cuda_download(plan, &host, err));
        A = host;
    }
    if (method == BANDK) SPRYI_TRY(aim_at_format(&how, plan, &A->a, o, err));
    SPRYI_TRY(SPRYI_NEW(plan->context, &plan->order, 1, "ordering of a plan", err));
    *plan->order = (spryi_plan_order){.name = names[method], .given = spryi_matrix_retain(plan->A)};
    SPRYI_TRY(spry_reorder(plan->context, &plan->order->ordering, A, &how, err));
    const int64_t *perm = plan->order->ordering->perm;
    SPRYI_TRY(make_maps(plan, perm, err));
    SPRYI_TRY(move_scaling(plan, &plan->order->row_scaling, o->row_scaling, perm, m, err));
    SPRYI_TRY(move_scaling(plan, &plan->order->column_scaling, o->column_scaling, m == n ? perm : NULL, n, err));
    SPRYI_TRY(spry_matrix_permute(plan->context, &B, A, perm, m == n ? perm : NULL, err));
    spryi_release(plan->context, plan->order->ordering->perm); /* the maps have it */
    plan->order->ordering->perm = NULL;
    spryi_matrix_release(plan->A);
    plan->A = B;
    if (method == BANDK) plan->options.groups = plan->order->ordering;
done:
    spryi_matrix_release(host);
    return status;
}

static int64_t padded(const spry_plan *plan, int64_t length)
{
    return (length * (int64_t)spry_type_bytes(plan->vector_type) + 63) / 64 * 64;
}

void spryi_add_ordering(spry_plan *plan)
{
    spryi_plan_order *order = plan->order;
    if (!order) return;
    order->x_at = (plan->workspace_bytes + 63) / 64 * 64;
    order->t_at = order->x_at + (order->x_from ? padded(plan, plan->x_length) : 0);
    plan->workspace_bytes = order->t_at + (order->y_from ? padded(plan, plan->y_length) : 0);
}

/* Values may be borrowed or not, and so may the rest; of a copy in host memory a GPU borrows nothing. */
static int borrows(const spry_plan *plan)
{
    if (plan->cuda) return 0;
    const spry_arrays *s = plan->format->arrays(plan->storage), *a = &plan->A->a;
    return s->offsets == a->offsets || s->indices == a->indices || (a->values && s->values == a->values) ||
           atomic_load(&plan->A->references) > 1;
}

/* 1: values that change are to be built into a storage of the same groups. */
static int has_groups(const spry_plan *plan)
{
    return plan->options.groups && (strcmp(plan->format->name, "csr2") == 0 || strcmp(plan->format->name, "csr3") == 0);
}

void spryi_drop_copy(spry_plan *plan)
{
    spryi_plan_order *order = plan->order;
    if (!order) return;
    if (!(plan->cuda && has_groups(plan))) { /* a storage has its own groups by now, which a GPU's host cannot read */
        spry_ordering_destroy(order->ordering);
        order->ordering = NULL;
        plan->options.groups = NULL;
    }
    if (plan->A == order->given || borrows(plan)) return;
    spryi_matrix_release(plan->A);
    plan->A = spryi_matrix_retain(order->given);
}

int64_t spryi_ordering_bytes(const spry_plan *plan, int owned)
{
    const spryi_plan_order *order = plan->order;
    if (!order) return 0;
    int64_t bytes = order->bytes;
    if (owned && plan->A != order->given) bytes += spryi_arrays_bytes(&plan->A->a);
    if (owned && order->ordering) bytes += 8 * (order->ordering->sr_count + order->ordering->ssr_count + 2);
    return bytes;
}

void spryi_discard_ordering(spry_plan *plan)
{
    spryi_plan_order *order = plan->order;
    if (!order) return;
    spry_ordering_destroy(order->ordering);
    spryi_matrix_release(order->given);
    if (!order->on_device) spryi_release(plan->context, order->x_from);
    if (!order->on_device) spryi_release(plan->context, order->y_from);
    spryi_release(plan->context, order->row_scaling);
    spryi_release(plan->context, order->column_scaling);
    spryi_release(plan->context, order);
    plan->order = NULL;
}

/* ---- values ----------------------------------------------------------------------------------------- */

/* Entries are permuted anew: a map of them would take as much memory as the columns, in every plan. */
spry_status spryi_order_values(spry_plan *plan, spry_error *err)
{
    spryi_plan_order *order = plan->order;
    const spry_arrays *a = &order->given->a;
    spry_status status = SPRY_OK;
    int64_t *perm = NULL;
    int32_t *fetched = NULL;
    spry_matrix *A = order->given, *B = NULL, *host = NULL;
    SPRYI_TRY(SPRYI_NEW(plan->context, &perm, a->rows, "permutation", err));
    if (order->on_device) SPRYI_TRY(spryi_cuda_download_places(plan, &fetched, err));
    const int32_t *places = fetched ? fetched : order->x_from ? order->x_from : order->y_from;
    for (int64_t i = 0; i < a->rows; i++)
        if (order->x_from)
            perm[i] = places[i];
        else
            perm[places[i]] = i;
    if (a->device > 0) {
        SPRYI_TRY(spryi_cuda_download(plan, &host, err)); /* plan->A is the caller's */
        A = host;
    }
    SPRYI_TRY(spry_matrix_permute(plan->context, &B, A, perm, a->rows == a->cols ? perm : NULL, err));
    if (plan->A == order->given) {
        spryi_matrix_release(plan->A);
        plan->A = B;
        B = NULL;
    } else { /* the storage has the addresses of these */
        memcpy((void *)(uintptr_t)plan->A->a.values, B->a.values, (size_t)a->nnz * spry_type_bytes(a->value_type));
    }
done:
    spryi_release(plan->context, fetched);
    spryi_release(plan->context, perm);
    spryi_matrix_release(host);
    spryi_matrix_release(B);
    return status;
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* to_i = from[places_i] */
static void gather(const spry_plan *plan, void *to, const void *from, const int32_t *places, int64_t length)
{
    const int f64 = plan->vector_type == SPRY_F64;
#pragma omp parallel for num_threads(spryi_team(plan->threads)) schedule(static) if (length > PARALLEL_FROM)
    for (int64_t i = 0; i < length; i++)
        if (f64)
            ((double *)to)[i] = ((const double *)from)[places[i]];
        else
            ((float *)to)[i] = ((const float *)from)[places[i]];
}

/* y_i = t[places_i] + beta*y_i */
static void gather_and_add(const spry_plan *plan, void *y, const void *t, const int32_t *places, const void *beta,
                           int64_t length)
{
    const int f64 = plan->vector_type == SPRY_F64;
#pragma omp parallel for num_threads(spryi_team(plan->threads)) schedule(static) if (length > PARALLEL_FROM)
    for (int64_t i = 0; i < length; i++)
        if (f64)
            ((double *)y)[i] = ((const double *)t)[places[i]] + *(const double *)beta * ((double *)y)[i];
        else
            ((float *)y)[i] = ((const float *)t)[places[i]] + *(const float *)beta * ((float *)y)[i];
}

spry_status spryi_run_ordered(const spry_plan *plan, spryi_run_args *args, spry_error *err)
{
    static const double zero = 0; /* of either type */
    const spryi_plan_order *order = plan->order;
    const void *x = args->x, *beta = args->beta;
    void *y = args->y;
    const int writes = plan->vector_type == SPRY_F64 ? *(const double *)beta == 0 : *(const float *)beta == 0;
    if (order->x_from && plan->x_length > 0) {
        void *gathered = (char *)args->workspace + order->x_at;
        gather(plan, gathered, x, order->x_from, plan->x_length);
        args->x = gathered;
    }
    if (order->y_from) {
        args->y = (char *)args->workspace + order->t_at; /* a y of length 0 does not come here */
        args->beta = &zero;
    }
    spry_status status = spryi_run_scaled(plan, args, err);
    if (status == SPRY_OK && order->y_from) {
        if (writes)
            gather(plan, y, args->y, order->y_from, plan->y_length);
        else
            gather_and_add(plan, y, args->y, order->y_from, beta, plan->y_length);
    }
    args->x = x;
    args->y = y;
    args->beta = beta;
    return status;
}
