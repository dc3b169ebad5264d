#include "base/error.h"

#include "base/types.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static void copy_text(char *to, size_t size, const char *from)
{
    size_t length = from ? strlen(from) : 0;
    if (length >= size) length = size - 1;
    if (length > 0) memcpy(to, from, length);
    to[length] = '\0';
}

int spryi_write_list(char *text, size_t size, const char *format, va_list list)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* newlocale does not allocate for the C locale */
    const locale_t callers = plain ? uselocale(plain) : (locale_t)0;
    const int length = vsnprintf(text, size, format, list);
    if (callers) (void)uselocale(callers);
    if (plain) freelocale(plain);
    return length;
}

int spryi_write(char *text, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = spryi_write_list(text, size, format, list);
    va_end(list);
    return length;
}

/* Writes one byte. Control characters become escapes of C, which keep file names on one line. Returns the length. */
static int show_byte(char shown[5], char byte)
{
    unsigned char c = (unsigned char)byte;
    if (c >= ' ' && c != 0x7f) return snprintf(shown, 5, "%c", c);
    if (c == '\n') return snprintf(shown, 5, "\\n");
    return snprintf(shown, 5, "\\x%02x", c);
}

/* Copies as much of `from` as fits, with control characters as escapes. */
static void copy_shown(char *to, size_t size, const char *from)
{
    size_t used = 0;
    for (; *from; from++) {
        char shown[5];
        size_t length = (size_t)show_byte(shown, *from);
        if (used + length >= size) break;
        memcpy(to + used, shown, length);
        used += length;
    }
    to[used] = '\0';
}

/* Writes the message from position `used` on. */
static void write_message(spry_error *err, int used, const char *format, va_list list)
{
    char text[sizeof err->message];
    (void)spryi_write_list(text, sizeof text, format, list);
    copy_shown(err->message + used, sizeof err->message - (size_t)used, text);
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
    write_message(err, 0, format, list);
    va_end(list);
    return status;
}

spry_status spryi_fail_missing(spry_error *err, const char *argument)
{
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, argument, "%s is NULL, expected a pointer", argument);
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
    write_message(err, 0, format, list);
    va_end(list);
    return status;
}

/* Writes "FILE:LINE: " or "FILE: " to the message. Returns its length. */
static int write_place(spry_error *err, const char *file, int64_t line)
{
    /* A long path would leave no room for the text. Keep the end of the path, which distinguishes files. */
    char shown[197];
    const char *from = file;
    size_t length = 0;
    for (const char *c = file; *c; c++) length += (size_t)show_byte(shown, *c);
    for (; length >= sizeof shown; from++) length -= (size_t)show_byte(shown, *from);
    copy_shown(shown, sizeof shown, from);
    const char *cut = from > file ? "..." : "";
    return line > 0 ? snprintf(err->message, sizeof err->message, "%s%s:%lld: ", cut, shown, (long long)line)
                    : snprintf(err->message, sizeof err->message, "%s%s: ", cut, shown);
}

spry_status spryi_check_range(const char *who, const char *name, int64_t value, int64_t least, int64_t most,
                              const char *expected, spry_error *err)
{
    if (value >= least && value <= most) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, value, most == INT64_MAX ? least : most,
                            "%s%s%s is %lld, expected %s", who ? who : "", who ? ": " : "", name, (long long)value,
                            expected);
}

spry_status spryi_fail_file(spry_error *err, spry_status status, const char *file, int64_t line, const char *format,
                            ...)
{
    if (!err) return status;
    start(err, status, NULL, file);
    err->line = line;
    int used = write_place(err, file, line);
    va_list list;
    va_start(list, format);
    write_message(err, used, format, list);
    va_end(list);
    return status;
}

spry_status spryi_name_file(spry_error *err, spry_status status, const char *file)
{
    char text[sizeof err->message];
    if (!err || status == SPRY_OK || err->file[0]) return status;
    copy_text(err->file, sizeof err->file, file);
    copy_text(text, sizeof text, err->message);
    int used = write_place(err, file, 0);
    copy_text(err->message + used, sizeof err->message - (size_t)used, text);
    return status;
}

spryi_reason spryi_errno_reason(int number)
{
    spryi_reason reason;
    char room[sizeof reason.text];
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
    const char *text = strerror_r(number, room, sizeof room);
#else
    const char *text = strerror_r(number, room, sizeof room) == 0 ? room : "unknown error";
#endif
    copy_text(reason.text, sizeof reason.text, text);
    return reason;
}

spryi_size spryi_show_size(int64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    spryi_size size;
    double value = (double)bytes / 1000;
    int unit = 0;
    for (; value >= 999.5 && unit < 5; unit++) value /= 1000;
    if (bytes < 1000)
        spryi_write(size.text, sizeof size.text, "%lld bytes", (long long)bytes);
    else
        spryi_write(size.text, sizeof size.text, "%.3g %s", value, units[unit]);
    return size;
}

spry_status spryi_hand_on(spry_error *err, const spry_error *kept)
{
    if (err) *err = *kept;
    return kept->status;
}

spry_status spryi_fail_errno(spry_error *err, const char *file, const char *action, int number)
{
    return spryi_fail_file(err, SPRY_FILE_ERROR, file, 0, "%s: %s", action, spryi_errno_reason(number).text);
}

enum { MOST_STRUCT_BYTES = 1 << 16 };

/* Reads struct_size, the first member. */
static size_t size_of(const void *options)
{
    size_t size;
    memcpy(&size, options, sizeof size);
    return size;
}

spry_status spryi_check_struct(const void *wanted, const char *name, spry_error *err)
{
    /* NULL passes the check. The size of every public struct is a multiple of sizeof(size_t). */
    const size_t size = wanted ? size_of(wanted) : 2 * sizeof(size_t);
    if (size > sizeof(size_t) && size <= MOST_STRUCT_BYTES && size % sizeof(size_t) == 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "struct_size", (int64_t)size, MOST_STRUCT_BYTES,
                            "%s: struct_size is %zu, expected the size of the struct: set it with SPRY_INIT", name,
                            size);
}

spry_status spryi_take_struct(void *ours, size_t our_size, const void *options, const char *name, spry_error *err)
{
    if (!options) {
        memset(ours, 0, our_size);
        memcpy(ours, &our_size, sizeof our_size);
        return SPRY_OK;
    }
    SPRYI_OK_OR_RETURN(spryi_check_struct(options, name, err));
    const size_t size = size_of(options), shared_bytes = size < our_size ? size : our_size;
    for (size_t b = our_size; b < size; b++)
        if (((const unsigned char *)options)[b] != 0)
            return spryi_fail_value(err, SPRY_UNSUPPORTED, "struct_size", (int64_t)size, (int64_t)our_size,
                                    "%s: a field is set that this library, version %s, does not know", name,
                                    spry_version());
    memcpy(ours, options, shared_bytes);
    memset((char *)ours + shared_bytes, 0, our_size - shared_bytes);
    memcpy(ours, &our_size, sizeof our_size);
    return SPRY_OK;
}

void spryi_give_struct(void *wanted, const void *ours, size_t our_size)
{
    const size_t size = size_of(wanted), shared_bytes = size < our_size ? size : our_size;
    memcpy((char *)wanted + sizeof size, (const char *)ours + sizeof size, shared_bytes - sizeof size);
    memset((char *)wanted + shared_bytes, 0, size - shared_bytes);
}

spry_status spryi_check_reserved(const spry_const_vector *v, const char *name, spry_error *err)
{
    const int64_t value = v->reserved[0] ? v->reserved[0] : v->reserved[1];
    if (value == 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, value, 0, "%s.reserved has %lld, expected 0", name,
                            (long long)value);
}

spry_status spryi_check_stride(int64_t stride, int64_t count, const char *name, const char *field, spry_error *err)
{
    if (stride >= 0 && (count < 2 || stride <= INT64_MAX / 16 / count)) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_SIZE, name, stride, 1,
                            "%s: %s is %lld, expected 1 or more, within memory", name, field, (long long)stride);
}

/* ---- texts and sizes of public types -------------------------------------------------------------------- */

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
#define BYTES(name, tag, ctype, ...)                                                                                   \
    if (type == (name)) return sizeof(ctype);
    SPRYI_TYPES(BYTES)
    return (int)type == SPRYI_TABLE8 ? sizeof(spryi_table8) : (int)type == SPRYI_TABLE16 ? sizeof(spryi_table16) : 0;
}

const char *spry_type_name(spry_type type)
{
#define NAME(name, tag, ...)                                                                                           \
    if (type == (name)) return #tag;
    SPRYI_TYPES(NAME)
    if ((int)type == SPRYI_TABLE8) return "table8";
    if ((int)type == SPRYI_TABLE16) return "table16";
    return type == SPRY_PATTERN ? "pattern" : type == SPRY_TYPE_DEFAULT ? "default" : "unknown";
}

size_t spryi_index_type_bytes(spry_index_type type)
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
