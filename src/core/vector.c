/* Vectors that the library allocates. */
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

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
    if (device != 0)
        return spryi_fail_value(err, SPRY_DEVICE_UNAVAILABLE, "device", device, 0,
                                "vector: device %d is not available, expected 0, host memory", device);
    void *data = NULL;
    spry_status status = spryi_allocate(context, &data, length, spry_type_bytes(type), "vector", err);
    if (status != SPRY_OK) return status;
    memset(data, 0, (size_t)length * spry_type_bytes(type));
    *v = (spry_vector){.data = data, .length = length, .type = type, .columns = 1, .stride = length};
    return SPRY_OK;
}

void spry_vector_destroy(spry_context *context, spry_vector *v)
{
    if (!context || !v) return;
    spryi_release(context, v->data);
    *v = (spry_vector){0};
}
