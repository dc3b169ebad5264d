/* Vectors that the library allocates. */
#include "base/error.h"
#include "core/device.h"

spry_status spry_vector_create(spry_context *context, spry_vector *v, int64_t length, spry_type type, int device,
                               spry_error *err)
{
    if (!context || !v)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "v", "vector: %s is NULL",
                          !context ? "context" : "v");
    if (spryi_value_slot(type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "type", type, SPRY_F64,
                                "vector: type is %d, expected SPRY_F32 or SPRY_F64", (int)type);
    if (length < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "length", length, 0, "vector: length is %lld, expected >= 0",
                                (long long)length);
    if (length > INT64_MAX / 8)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "length", length, INT64_MAX / 8,
                                "vector: %lld entries overflow what can be addressed", (long long)length);
    void *data = NULL;
    device = spryi_device_number(device);
    const spryi_device *d = spryi_device_at(context, 0);
    const int64_t bytes = length * (int64_t)spry_type_bytes(type);
    spry_status status = device == 0 ? SPRY_OK : spryi_device_usable(context, &d, device, err);
    if (status == SPRY_OK) status = d->ops->allocate(d, &data, bytes, "vector", err);
    if (status != SPRY_OK) return status;
    status = d->ops->clear(d, data, bytes, err);
    if (status != SPRY_OK) {
        d->ops->release(d, data);
        return status;
    }
    *v = (spry_vector){.data = data,
                       .length = length,
                       .columns = 1,
                       .row_stride = 1,
                       .column_stride = length,
                       .type = type,
                       .device = device};
    return SPRY_OK;
}

void spry_vector_destroy(spry_context *context, spry_vector *v)
{
    if (!context || !v) return;
    const spryi_device *d = spryi_device_at(context, spryi_device_number(v->device));
    if (d && d->ops) d->ops->release(d, v->data);
    *v = (spry_vector){0};
}
