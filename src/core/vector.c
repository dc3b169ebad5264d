/* Vectors that the library allocates. */
#include "core/cuda_plugin.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

static spry_status create_on_gpu(const spry_context *context, spry_vector *v, int64_t length, spry_type type,
                                 int device, spry_error *err)
{
    void *data = NULL;
    if (length > INT64_MAX / 8)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "length", length, INT64_MAX / 8,
                                "vector: %lld entries are past what can be addressed", (long long)length);
    int64_t bytes = length * (int64_t)spry_type_bytes(type);
    spry_status status = spry_device_allocate(context, &data, device, bytes, err);
    if (status == SPRY_OK) status = spryi_cuda(context, NULL)->clear(device - 1, data, bytes, err);
    if (status != SPRY_OK) {
        spry_device_free(context, device, data);
        return status;
    }
    *v = (spry_vector){.data = data, .length = length, .type = type, .columns = 1, .stride = length, .device = device};
    return SPRY_OK;
}

spry_status spry_vector_create(spry_context *context, spry_vector *v, int64_t length, spry_type type, int device,
                               spry_error *err)
{
    if (!context || !v)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "v", "vector: %s is NULL",
                          !context ? "context" : "v");
    if (type != SPRY_F32 && type != SPRY_F64)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "type", type, SPRY_F64,
                                "vector: type is %d, expected SPRY_F32 or SPRY_F64", (int)type);
    if (length < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "length", length, 0, "vector: length is %lld, expected >= 0",
                                (long long)length);
    void *data = NULL;
    if (device != 0) return create_on_gpu(context, v, length, type, device, err);
    spry_status status = spryi_allocate(context, &data, length, spry_type_bytes(type), "vector", err);
    if (status != SPRY_OK) return status;
    memset(data, 0, (size_t)length * spry_type_bytes(type));
    *v = (spry_vector){.data = data, .length = length, .type = type, .columns = 1, .stride = length};
    return SPRY_OK;
}

void spry_vector_destroy(spry_context *context, spry_vector *v)
{
    if (!context || !v) return;
    if (v->device > 0)
        spry_device_free(context, v->device, v->data);
    else
        spryi_release(context, v->data);
    *v = (spry_vector){0};
}
