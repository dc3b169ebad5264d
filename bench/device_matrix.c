/* A matrix in the first GPU's memory. */
#include "bench/internal.h"
#include "spry/cuda.h"

spry_status device_matrix_create(device_matrix *made, spry_context *context, const spry_arrays *host, spry_error *err)
{
    spry_arrays a = *host;
    const int has_values = a.value_type != SPRY_PATTERN;
    const void *from[3] = {a.offsets, a.indices, a.values};
    spry_status status = SPRY_OK;
    const double start = now_us();
    for (int i = 0; i < 2 + has_values && status == SPRY_OK && !made->A; i++) {
        const int64_t bytes = csr_part_bytes(&a, i);
        if (made->arrays[i]) continue;
        status = spry_device_allocate(context, &made->arrays[i], 1, bytes, err);
        if (status == SPRY_OK && bytes > 0)
            status = spry_device_copy(context, made->arrays[i], 1, from[i], 0, bytes, NULL, err);
    }
    if (status == SPRY_OK) status = spry_device_synchronize(context, 1, NULL, err);
    if (status != SPRY_OK || made->A) return status;
    made->upload_us = now_us() - start;
    a.offsets = made->arrays[0];
    a.indices = made->arrays[1];
    a.values = made->arrays[2];
    a.device = 1;
    a.ownership = SPRY_BORROW;
    return spry_matrix_create(context, &made->A, &a, err);
}

void device_matrix_release(device_matrix *made, const spry_context *context)
{
    spry_matrix_destroy(made->A);
    for (int i = 0; i < 3; i++) spry_device_free(context, 1, made->arrays[i]);
    *made = (device_matrix){0};
}
