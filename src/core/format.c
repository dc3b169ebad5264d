/* Functions of storages. Each calls the format's function, or does the default if the format's function is NULL. */
#include "core/kernel.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* Lists the arrays of the sections and the windows. Does not change a storage that is complete. */
static int list_owned(const spryi_format *format, void *storage, spryi_section list[SPRYI_MOST_SECTIONS + 1])
{
    int count = format->layout.sections ? format->layout.sections(storage, list)
                                        : format->layout.device_sections(storage, list);
    if (format->layout.windows_at > 0) {
        spryi_windows *windows = (void *)((char *)storage + format->layout.windows_at);
        list[count++] =
            (spryi_section){"windows", (void **)&windows->parts, NULL, windows->count, sizeof *windows->parts};
    }
    return count;
}

spry_status spryi_storage_build(spry_context *context, const spryi_format *format, void **storage,
                                const spryi_build_request *request, spry_error *err)
{
    void *created = NULL;
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &created, 1, format->layout.size, "storage", err));
    memset(created, 0, format->layout.size);
    const spry_status status = format->build(context, created, request, err);
    if (status == SPRY_OK)
        *storage = created;
    else
        spryi_storage_destroy(context, format, created);
    return status;
}

void spryi_storage_destroy(spry_context *context, const spryi_format *format, void *storage)
{
    spryi_section list[SPRYI_MOST_SECTIONS + 1];
    if (format->destroy) {
        format->destroy(context, storage);
        return;
    }
    for (int n = list_owned(format, storage, list) - 1; n >= 0; n--)
        if (list[n].array) spryi_release(context, *list[n].array);
    spryi_release(context, storage);
}

int64_t spryi_storage_bytes(const spryi_format *format, const void *storage)
{
    spryi_section list[SPRYI_MOST_SECTIONS + 1];
    if (format->storage_bytes) return format->storage_bytes(storage);
    return spryi_listed_bytes(list, list_owned(format, (void *)(uintptr_t)storage, list));
}

int spryi_storage_device_sections(const spryi_format *format, void *storage, spryi_section *list)
{
    if (format->layout.device_sections) return format->layout.device_sections(storage, list);
    const int count = format->layout.sections(storage, list);
    int kept = 0;
    for (int n = 0; n < count; n++)
        if (list[n].array && list[n].count > 0 &&
            !(format->layout.host_only && strcmp(list[n].name, format->layout.host_only) == 0))
            list[kept++] = list[n];
    return kept;
}
