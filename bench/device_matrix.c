/* A copy of a matrix in the memory of the first GPU. */
#include "bench/internal.h"
#include "spry/cuda.h"

spry_status device_matrix_create(device_matrix *copy, spry_context *context, const spry_arrays *host, spry_error *err)
{
    spry_arrays a = *host;
    const bool has_values = a.value_type != SPRY_PATTERN;
    const void *from[3] = {a.offsets, a.indices, a.values};
    spry_status status = SPRY_OK;
    const double start = now_us();
    for (int i = 0; i < 2 + has_values && status == SPRY_OK && !copy->A; i++) {
        const int64_t bytes = csr_part_bytes(&a, i);
        if (copy->arrays[i]) continue;
        status = spry_device_allocate(context, &copy->arrays[i], 1, bytes, err);
        if (status == SPRY_OK && bytes > 0)
            status = spry_device_copy(context, copy->arrays[i], 1, from[i], 0, bytes, NULL, err);
    }
    if (status == SPRY_OK) status = spry_device_synchronize(context, 1, NULL, err);
    if (status != SPRY_OK || copy->A) return status;
    copy->upload_us = now_us() - start;
    a.offsets = copy->arrays[0];
    a.indices = copy->arrays[1];
    a.values = copy->arrays[2];
    a.device = 1;
    a.ownership = SPRY_BORROW;
    return spry_matrix_create(context, &copy->A, &a, err);
}

void device_matrix_release(device_matrix *copy, const spry_context *context)
{
    spry_matrix_destroy(copy->A);
    for (int i = 0; i < 3; i++) spry_device_free(context, 1, copy->arrays[i]);
    *copy = (device_matrix){0};
}
