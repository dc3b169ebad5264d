/*
 * A*x = b where squares of A's or b's entries underflow or overflow: instead of it Conjugate Gradient solves
 * (2^-a A) x' = 2^-c b, and x = 2^(c-a) x'. Powers of two are exact, so the iterates are those that unlimited exponents
 * would give. This is done on the host, wherever the vectors are: it is rare, and costs a few passes.
 */
#include "solve/cg.h"
#include "solve/solve.h"

#include <math.h>

/* Exponents of the smallest normal number and of the largest one. */
static int least_of(spry_type type)
{
    return ilogb(spryi_limits_of(type).least_normal);
}
static int most_of(spry_type type)
{
    return ilogb(spryi_limits_of(type).largest);
}

static void look_at(spryi_cg_exponents *e, double value)
{
    if (!isfinite(value)) e->finite = 0;
    if (!isfinite(value) || value == 0) return;
    int exponent = ilogb(value);
    if (!e->any || exponent < e->low) e->low = exponent;
    if (!e->any || exponent > e->high) e->high = exponent;
    e->any = 1;
}

/* ---- vectors ------------------------------------------------------------------------------------ */

/* *host: v, or a copy of it, which *copy is to be destroyed for. */
static spry_status bring(spry_context *context, spry_vector *host, spry_vector *copy, const spry_vector *v,
                         void *stream, spry_error *err)
{
    *host = *v;
    if (v->device == 0) return SPRY_OK;
    spry_status status = spryi_solve_copy(context, copy, v, 0, stream, err);
    if (status == SPRY_OK) status = spry_device_synchronize(context, v->device, stream, err);
    *host = *copy;
    return status;
}

spry_status spryi_cg_look_at_vector(spry_context *context, spryi_cg_exponents *e, const spry_vector *v, void *stream,
                                    spry_error *err)
{
    spry_vector host, copy = {0};
    *e = (spryi_cg_exponents){.finite = 1};
    spry_status status = bring(context, &host, &copy, v, stream, err);
    for (int64_t i = 0; status == SPRY_OK && i < v->length; i++) look_at(e, spryi_value_at(host.data, v->type, i));
    spry_vector_destroy(context, &copy);
    return status;
}

int spryi_cg_exponent_of_b(const spryi_cg_exponents *b, spry_type type)
{
    /* A largest entry of up to 2^room does as well as 1. */
    const int room = type == SPRY_F32 ? 16 : 128, exact = b->low - least_of(type);
    if (!b->any || !b->finite) return 0;
    if (exact >= b->high) return b->high;
    return exact > b->high - room ? exact : b->high - room;
}

spry_status spryi_cg_scale_vector(spry_context *context, const spry_vector *v, int exponent, spryi_cg_scaled *told,
                                  void *stream, spry_error *err)
{
    spry_vector host, copy = {0};
    *told = (spryi_cg_scaled){.exact = 1, .e.finite = 1};
    spry_status status = bring(context, &host, &copy, v, stream, err);
    for (int64_t i = 0; status == SPRY_OK && i < v->length; i++) {
        const double before = spryi_value_at(host.data, v->type, i);
        look_at(&told->e, before);
        spryi_set_value(host.data, v->type, i, ldexp(before, exponent));
        if (ldexp(spryi_value_at(host.data, v->type, i), -exponent) != before) told->exact = 0;
    }
    if (status == SPRY_OK && copy.data) status = spryi_solve_copy_to(context, v, &copy, stream, err);
    if (status == SPRY_OK && copy.data) status = spry_device_synchronize(context, v->device, stream, err);
    spry_vector_destroy(context, &copy);
    return status;
}

/* ---- matrices ----------------------------------------------------------------------------------- */

static void look_at_diagonal(spryi_cg_exponents *e, const spry_arrays *a)
{
    if (a->layout == SPRY_COO) {
        for (int64_t k = 0; k < a->nnz; k++)
            if (spryi_row_of(a, k) == spryi_minor_of(a, k)) look_at(e, spryi_value_of(a, k));
        return;
    }
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t end = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < end; k++)
            if (spryi_minor_of(a, k) == i) look_at(e, spryi_value_of(a, k));
    }
}

spry_status spryi_cg_exponent_of_matrix(int *exponent, const spry_matrix *A, int jacobi, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spryi_cg_exponents all = {.finite = 1}, diagonal = {.finite = 1};
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    *exponent = 0;
    if (status != SPRY_OK || a.value_type == SPRY_PATTERN) return status;
    for (int64_t k = 0; k < a.nnz; k++) look_at(&all, spryi_value_of(&a, k));
    if (!all.any || !all.finite) return SPRY_OK;
    if (jacobi) look_at_diagonal(&diagonal, &a);
    const spryi_cg_exponents *e = diagonal.any ? &diagonal : &all;
    const int middle = (e->low + e->high) / 2;
    const int highest = all.low - least_of(a.value_type), lowest = all.high - most_of(a.value_type);
    if (middle > 0 && highest > 0) *exponent = middle < highest ? middle : highest;
    if (middle < 0 && lowest < 0) *exponent = middle > lowest ? middle : lowest;
    return SPRY_OK;
}

spry_status spryi_cg_scale_matrix(spry_context *context, spry_matrix **made, spry_vector *values, const spry_matrix *A,
                                  int exponent, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    SPRYI_OK_OR_RETURN(spry_vector_create(context, values, a.nnz, a.value_type, 0, err));
    for (int64_t k = 0; k < a.nnz; k++)
        spryi_set_value(values->data, a.value_type, k, ldexp(spryi_value_of(&a, k), exponent));
    a.values = values->data;
    a.ownership = SPRY_BORROW;
    return spry_matrix_create(context, made, &a, err);
}
