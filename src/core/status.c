#include "spry/spry.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *spry_version(void)
{
    return TEXT(SPRY_VERSION_MAJOR) "." TEXT(SPRY_VERSION_MINOR) "." TEXT(SPRY_VERSION_PATCH);
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
    switch (type) {
    case SPRY_F32: return 4;
    case SPRY_F64: return 8;
    case SPRY_PATTERN:
    case SPRY_TYPE_DEFAULT: return 0;
    }
    return 0;
}

const char *spry_type_name(spry_type type)
{
    switch (type) {
    case SPRY_TYPE_DEFAULT: return "default";
    case SPRY_F32: return "f32";
    case SPRY_F64: return "f64";
    case SPRY_PATTERN: return "pattern";
    }
    return "unknown";
}

size_t spry_index_type_bytes(spry_index_type type)
{
    return type == SPRY_I32 ? 4 : type == SPRY_I64 ? 8 : 0;
}
