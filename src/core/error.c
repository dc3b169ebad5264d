#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void copy_text(char *to, size_t size, const char *from)
{
    size_t length = from ? strlen(from) : 0;
    if (length >= size) length = size - 1;
    if (length > 0) memcpy(to, from, length);
    to[length] = '\0';
}

static void start(spry_error *err, spry_status status, const char *argument, const char *file)
{
    memset(err, 0, sizeof *err);
    err->status = status;
    copy_text(err->argument, sizeof err->argument, argument);
    copy_text(err->file, sizeof err->file, file);
}

spry_status spryi_fail(spry_error *err, spry_status status, const char *argument, const char *format, ...)
{
    if (!err) return status;
    start(err, status, argument, NULL);
    va_list list;
    va_start(list, format);
    vsnprintf(err->message, sizeof err->message, format, list);
    va_end(list);
    return status;
}

spry_status spryi_fail_value(spry_error *err, spry_status status, const char *argument, int64_t value, int64_t limit,
                             const char *format, ...)
{
    if (!err) return status;
    start(err, status, argument, NULL);
    err->value = value;
    err->limit = limit;
    va_list list;
    va_start(list, format);
    vsnprintf(err->message, sizeof err->message, format, list);
    va_end(list);
    return status;
}

spry_status spryi_fail_file(spry_error *err, spry_status status, const char *file, int64_t line, const char *format,
                            ...)
{
    if (!err) return status;
    start(err, status, NULL, file);
    err->line = line;
    /* A path that fills the message would push out what was wrong: keep its end, which tells files apart. */
    char shown[200];
    size_t length = strlen(file);
    if (length < sizeof shown) {
        copy_text(shown, sizeof shown, file);
    } else {
        snprintf(shown, sizeof shown, "...%s", file + (length - (sizeof shown - 4)));
    }
    int used = line > 0 ? snprintf(err->message, sizeof err->message, "%s:%lld: ", shown, (long long)line)
                        : snprintf(err->message, sizeof err->message, "%s: ", shown);
    va_list list;
    va_start(list, format);
    vsnprintf(err->message + used, sizeof err->message - (size_t)used, format, list);
    va_end(list);
    return status;
}

spry_status spryi_check_struct(size_t struct_size, size_t our_size, const char *type, spry_error *err)
{
    if (struct_size == our_size) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "struct_size", (int64_t)struct_size, (int64_t)our_size,
                            "%s: struct_size is %zu, expected %zu: set it with SPRY_INIT and compile against the "
                            "header of this library, version %d.%d.%d",
                            type, struct_size, our_size, SPRY_VERSION_MAJOR, SPRY_VERSION_MINOR, SPRY_VERSION_PATCH);
}
