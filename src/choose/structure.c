#include "choose/structure.h"

#include "core/device.h"
#include "core/error.h"
#include "core/kernel.h"
#include "core/memory.h"
#include "formats/csc/csc.h"

spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    spry_status status = SPRY_OK;
    spry_matrix *pattern = NULL, *here = NULL;
    *structure = NULL;
    if (A->a.device == 0 && op == SPRY_NO_TRANSPOSE)
        return spryi_matrix_as_csr(A->context, structure, A, A->a.value_type, err);
    SPRYI_TRY(spryi_matrix_without_values(&pattern, A, err));
    if (A->a.device > 0)
        SPRYI_TRY(spryi_matrix_fetch(d, &here, pattern, err));
    else
        here = spryi_matrix_retain(pattern);
    if (op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_transposed(A->context, structure, here, err));
    else
        *structure = spryi_matrix_retain(here);
done:
    spryi_matrix_release(pattern);
    spryi_matrix_release(here);
    return status;
}

/* ---- samples of columns that lie on a device ---------------------------------------------------------------- */

static int64_t columns_bytes(const spry_arrays *a)
{
    return a->nnz * (int64_t)spry_index_type_bytes(a->index_type);
}

static int64_t offsets_bytes(const spry_arrays *a)
{
    return (a->rows + 1) * (int64_t)spry_index_type_bytes(a->offset_type);
}

/* Entries that a look fetches, about: samples of so many entries, and of so many rows. */
static double sampled_entries(const spry_arrays *a, spryi_effort effort)
{
    static const struct {
        double entries, rows;
    } samples[] = {[SPRYI_QUICK] = {90e3, 2e3}, [SPRYI_FULL] = {600e3, 70e3}};
    return samples[effort].entries + samples[effort].rows * (double)a->nnz / (double)a->rows;
}

/* 1: A's columns are sampled where they are: all of them would take longer to copy. */
static int is_sampled(const spry_arrays *a, spry_op op, spryi_effort effort)
{
    enum { WHOLE_BYTES = 2 << 20 };
    return a->device > 0 && op == SPRY_NO_TRANSPOSE && columns_bytes(a) > WHOLE_BYTES &&
           2 * sampled_entries(a, effort) < (double)a->nnz;
}

static spry_status open_sampled(spryi_looked_at *at, const spry_matrix *A, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    at->csr = A->a;
    at->csr.device = 0;
    at->device = d;
    const spry_status status =
        spryi_fetch_array(d, &at->csr.offsets, A->a.rows + 1, spry_index_type_bytes(A->a.offset_type), err);
    return status == SPRY_OK ? d->ops->synchronize(d, NULL, err) : status;
}

spry_status spryi_open_look(spryi_looked_at *at, const spry_matrix *A, spry_op op, spryi_effort effort, spry_error *err)
{
    *at = (spryi_looked_at){.context = A->context};
    if (is_sampled(&A->a, op, effort)) {
        const spry_status status = open_sampled(at, A, err);
        if (status != SPRY_OK) spryi_close_look(at);
        return status;
    }
    SPRYI_OK_OR_RETURN(spryi_structure_of(&at->whole, A, op, err));
    at->csr = at->whole->a;
    return SPRY_OK;
}

void spryi_close_look(spryi_looked_at *at)
{
    if (at->device) spryi_release(at->context, (void *)(uintptr_t)at->csr.offsets);
    spryi_matrix_release(at->whole);
    *at = (spryi_looked_at){0};
}

spryi_fetched spryi_fetched_for_look(const spry_arrays *a, spry_op op, spryi_effort effort)
{
    static const double COPIES[] = {[SPRYI_QUICK] = 12, [SPRYI_FULL] = 16};
    const double columns = (double)columns_bytes(a), offsets = (double)offsets_bytes(a);
    if (a->device == 0) return (spryi_fetched){op == SPRY_TRANSPOSE ? columns : 0, 0}; /* A^T is made there */
    if (!is_sampled(a, op, effort)) return (spryi_fetched){offsets + columns, 2};
    return (spryi_fetched){offsets + columns * sampled_entries(a, effort) / (double)a->nnz, 1 + COPIES[effort]};
}
