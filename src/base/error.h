/* Errors: reporting a failure and leaving a function after one. */
#pragma once

#include "spry/spry.h"

#include <stdarg.h>

/* vsnprintf and snprintf in the C locale, so that numbers look the same in every locale. */
int spryi_write_list(char *text, size_t size, const char *format, va_list list) __attribute__((format(printf, 3, 0)));
int spryi_write(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Fills err unless it is NULL. Returns status, so that the check of a precondition fits on one line:
 *
 *     if (n < 0) return spryi_fail(err, SPRY_INVALID_SIZE, "cols", "cols is %lld, expected >= 0", n);
 *
 * argument may be NULL. The innermost function that knows the facts reports the failure. Its callers only return the
 * status. Control characters of the text are written as in C (\n, \x1b), so a message is one line.
 */
spry_status spryi_fail(spry_error *err, spry_status status, const char *argument, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns SPRY_INVALID_ARGUMENT with the message that the argument is NULL. */
spry_status spryi_fail_missing(spry_error *err, const char *argument);

/* Like spryi_fail; also stores the offending value and the limit that it broke. */
spry_status spryi_fail_value(spry_error *err, spry_status status, const char *argument, int64_t value, int64_t limit,
                             const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * Returns SPRY_INVALID_ARGUMENT unless least <= value <= most, with the message "WHO: NAME is VALUE, expected
 * EXPECTED". If who is NULL, the message begins with the name. The error's limit is most, or least if most is
 * INT64_MAX.
 */
spry_status spryi_check_range(const char *who, const char *name, int64_t value, int64_t least, int64_t most,
                              const char *expected, spry_error *err);

/* Reports a fault of an input file. The message is "FILE:LINE: text", or "FILE: text" if line is 0. */
spry_status spryi_fail_file(spry_error *err, spry_status status, const char *file, int64_t line, const char *format,
                            ...) __attribute__((format(printf, 5, 6)));

/*
 * Adds the file name to an error of a function that does not know the file, such as an allocation. Does nothing if err
 * already names a file. Returns status.
 */
spry_status spryi_name_file(spry_error *err, spry_status status, const char *file);

/* Copies `kept`, the error of an earlier call, to err unless err is NULL. Returns the status of `kept`. */
spry_status spryi_hand_on(spry_error *err, const spry_error *kept);

/* The system's message for an errno value. */
typedef struct spryi_reason {
    char text[128];
} spryi_reason;
spryi_reason spryi_errno_reason(int number);

/* A byte count for display: "16 GB", "1.5 MB" (powers of 1000), "900 bytes". */
typedef struct spryi_size {
    char text[24];
} spryi_size;
spryi_size spryi_show_size(int64_t bytes);

/* Returns SPRY_FILE_ERROR with the message "FILE: ACTION: reason". */
spry_status spryi_fail_errno(spry_error *err, const char *file, const char *action, int number);

/*
 * Stores the call's status in `status` and jumps to the label `done` if the call failed. The function that uses the
 * macro declares `spry_status status` and has the label.
 */
#define SPRYI_TRY(call)                                                                                                \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != SPRY_OK) goto done;                                                                              \
    } while (0)

/* Returns SPRY_INVALID_ARGUMENT if a reserved field of the vector is not 0. */
spry_status spryi_check_reserved(const spry_const_vector *v, const char *name, spry_error *err);

/*
 * Returns SPRY_INVALID_SIZE if stride, the value of `field` in the vector `name`, is negative, or if `count` strides
 * are more elements than memory can hold.
 */
spry_status spryi_check_stride(int64_t stride, int64_t count, const char *name, const char *field, spry_error *err);

/* Returns from the function if the call failed. Use it where the function has nothing to release. */
#define SPRYI_OK_OR_RETURN(call)                                                                                       \
    do {                                                                                                               \
        const spry_status failure = (call);                                                                            \
        if (failure != SPRY_OK) return failure;                                                                        \
    } while (0)

/*
 * Copies the caller's options to the library's struct, or clears the struct if options is NULL. The caller's header may
 * be of another version. If it is older, the fields that it lacks become 0. If it is newer, the fields that the library
 * does not know must be 0.
 */
spry_status spryi_take_struct(void *ours, size_t our_size, const void *options, const char *name, spry_error *err);
#define SPRYI_TAKE(ours, options, err) spryi_take_struct((ours), sizeof *(ours), (options), #options, (err))

/* Checks the struct_size of a struct that the caller wants filled. wanted may be NULL. */
spry_status spryi_check_struct(const void *wanted, const char *name, spry_error *err);
#define SPRYI_CHECK_OUTPUT(wanted, err) spryi_check_struct((wanted), #wanted, (err))

/*
 * Copies `ours` to the caller's struct `wanted`, up to the size of the smaller struct, and clears the rest of `wanted`.
 * The struct_size of `wanted` does not change.
 */
void spryi_give_struct(void *wanted, const void *ours, size_t our_size);
#define SPRYI_GIVE(wanted, ours) spryi_give_struct((wanted), (ours), sizeof *(ours))
