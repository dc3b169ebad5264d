#include "base/types.h"

#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *spry_version(void)
{
    return TEXT(SPRY_VERSION_MAJOR) "." TEXT(SPRY_VERSION_MINOR) "." TEXT(SPRY_VERSION_PATCH);
}

int spry_version_number(void)
{
    return SPRY_VERSION;
}

void spry_struct_init(void *options, size_t size)
{
    memset(options, 0, size);
    memcpy(options, &size, sizeof size); /* struct_size comes first */
}

const char *spry_status_text(spry_status status)
{
    switch (status) {
    case SPRY_OK: return "ok";
    case SPRY_INVALID_ARGUMENT: return "invalid argument";
    case SPRY_INVALID_SIZE: return "sizes do not fit together";
    case SPRY_INVALID_MATRIX: return "arrays are not a matrix";
    case SPRY_UNKNOWN_NAME: return "unknown name";
    case SPRY_FILE_ERROR: return "file cannot be opened, read or written";
    case SPRY_BAD_FILE: return "bad file content";
    case SPRY_OUT_OF_MEMORY: return "out of memory";
    case SPRY_TOO_LARGE: return "too large";
    case SPRY_UNSUPPORTED: return "unsupported";
    case SPRY_NOT_CONVERGED: return "not converged";
    case SPRY_DEVICE_UNAVAILABLE: return "device unavailable";
    case SPRY_DEVICE_FAILED: return "device failed";
    case SPRY_INTERNAL: return "internal error";
    }
    return "unknown status";
}

size_t spry_type_bytes(spry_type type)
{
#define BYTES(name, tag, ctype, ...)                                                                                   \
    if (type == (name)) return sizeof(ctype);
    SPRYI_TYPES(BYTES)
    return 0;
}

const char *spry_type_name(spry_type type)
{
#define NAME(name, tag, ...)                                                                                           \
    if (type == (name)) return #tag;
    SPRYI_TYPES(NAME)
    return type == SPRY_PATTERN ? "pattern" : type == SPRY_TYPE_DEFAULT ? "default" : "unknown";
}

size_t spry_index_type_bytes(spry_index_type type)
{
    return type == SPRY_I32 ? 4 : type == SPRY_I64 ? 8 : 0;
}

int spryi_index_pair(spry_index_type offset_type, spry_index_type index_type)
{
    if (offset_type == SPRY_I32 && index_type == SPRY_I32) return 0;
    if (offset_type == SPRY_I64 && index_type == SPRY_I32) return 1;
    if (offset_type == SPRY_I64 && index_type == SPRY_I64) return 2;
    return -1;
}
