#include "choose/structure.h"

#include "core/assemble.h"
#include "core/context.h"
#include "core/device.h"
#include "core/error.h"
#include "core/kernel.h"
#include "core/memory.h"
#include "formats/csc/csc.h"

/* *array, in the device's memory, becomes a copy in the host's. */
static spry_status fetch(const spryi_device *d, const void **array, int64_t count, size_t size, spry_error *err)
{
    const void *there = *array;
    void *here = NULL;
    spry_status status = spryi_allocate(d->context, &here, count, size, "host copy of the structure", err);
    *array = here;
    if (status != SPRY_OK || count == 0) return status;
    return d->ops->copy(d, here, there, count * (int64_t)size, SPRYI_FROM_DEVICE, NULL, err);
}

static spry_status fetch_structure(spry_matrix **structure, const spry_matrix *A, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    spry_status status = SPRY_OK;
    spry_arrays a = A->a;
    a.value_type = SPRY_PATTERN;
    a.values = NULL;
    a.device = 0;
    SPRYI_TRY(fetch(d, &a.offsets, a.rows + 1, spry_index_type_bytes(a.offset_type), err));
    SPRYI_TRY(fetch(d, &a.indices, a.nnz, spry_index_type_bytes(a.index_type), err));
    SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    return spryi_matrix_adopt(A->context, structure, &a, A->field, err); /* takes the copies over, also on failure */
done:
    if (a.offsets != A->a.offsets) spryi_release(A->context, (void *)(uintptr_t)a.offsets);
    if (a.indices != A->a.indices) spryi_release(A->context, (void *)(uintptr_t)a.indices);
    return status;
}

spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *pattern = NULL, *of_host = NULL;
    *structure = NULL;
    if (A->a.device == 0 && op == SPRY_NO_TRANSPOSE)
        return spryi_matrix_as_csr(A->context, structure, A, A->a.value_type, err);
    if (A->a.device > 0) {
        SPRYI_TRY(fetch_structure(&of_host, A, err));
        A = of_host;
    }
    if (op == SPRY_NO_TRANSPOSE) {
        *structure = of_host;
        return SPRY_OK;
    }
    SPRYI_TRY(spryi_matrix_without_values(&pattern, A, err));
    SPRYI_TRY(spryi_transposed(A->context, structure, pattern, err));
done:
    spryi_matrix_release(pattern);
    spryi_matrix_release(of_host);
    return status;
}
