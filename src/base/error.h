/* Errors: one way to report, one way out of a function. */
#pragma once

#include "spry/spry.h"

#include <stdarg.h>

/* vsnprintf and snprintf of numbers that are the same in every locale. */
int spryi_write_list(char *text, size_t size, const char *format, va_list list) __attribute__((format(printf, 3, 0)));
int spryi_write(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Fills err (if there is one) and returns status, so that a precondition is one line:
 *     if (n < 0) return spryi_fail(err, SPRY_INVALID_SIZE, "cols", "cols is %lld, expected >= 0", n);
 * argument may be NULL. The innermost function that knows the facts reports; callers pass it on. Control characters
 * are shown as in C, \n or \x1b: a message is one line.
 */
spry_status spryi_fail(spry_error *err, spry_status status, const char *argument, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* SPRY_INVALID_ARGUMENT: this argument is NULL. */
spry_status spryi_fail_missing(spry_error *err, const char *argument);

/* As spryi_fail, with the offending value and the limit it broke. */
spry_status spryi_fail_value(spry_error *err, spry_status status, const char *argument, int64_t value, int64_t limit,
                             const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * Returns SPRY_INVALID_ARGUMENT unless value is least .. most: "WHO: NAME is VALUE, expected EXPECTED". who NULL: the
 * message begins with the name. The error's limit is most, or least if most is INT64_MAX.
 */
spry_status spryi_check_range(const char *who, const char *name, int64_t value, int64_t least, int64_t most,
                              const char *expected, spry_error *err);

/* A fault of an input file. line 0: none. The message becomes "FILE:LINE: text" ("FILE: text" without a line). */
spry_status spryi_fail_file(spry_error *err, spry_status status, const char *file, int64_t line, const char *format,
                            ...) __attribute__((format(printf, 5, 6)));

/* Puts the file into an error that came from where it is not known, memory above all; returns status. */
spry_status spryi_name_file(spry_error *err, spry_status status, const char *file);

/* Reports the error of a try that was kept apart, since another try might have succeeded; returns its status. */
spry_status spryi_hand_on(spry_error *err, const spry_error *kept);

/* The system's text for an errno. */
typedef struct spryi_reason {
    char text[128];
} spryi_reason;
spryi_reason spryi_errno_reason(int number);

/* A number of bytes for persons: "16 GB", "1.5 MB" (powers of 1000), "900 bytes". */
typedef struct spryi_size {
    char text[24];
} spryi_size;
spryi_size spryi_show_size(int64_t bytes);

/* SPRY_FILE_ERROR "FILE: what: reason". */
spry_status spryi_fail_errno(spry_error *err, const char *file, const char *what, int number);

/* Needs `spry_status status` and a label `done` in the function. */
#define SPRYI_TRY(call)                                                                                                \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != SPRY_OK) goto done;                                                                              \
    } while (0)

/* Refuses a vector with reserved fields other than 0. */
spry_status spryi_check_reserved(const spry_const_vector *v, const char *name, spry_error *err);

/* Returns a failure of the call at once. For functions that hold nothing to release at that point. */
#define SPRYI_OK_OR_RETURN(call)                                                                                       \
    do {                                                                                                               \
        const spry_status failure = (call);                                                                            \
        if (failure != SPRY_OK) return failure;                                                                        \
    } while (0)

/*
 * Structs pass between headers of several versions. Options of the caller's, maybe NULL, into one of ours: what an
 * older header lacks is 0, and what a newer one has beyond ours must be.
 */
spry_status spryi_take_struct(void *ours, size_t our_size, const void *options, const char *name, spry_error *err);
#define SPRYI_TAKE(ours, options, err) spryi_take_struct((ours), sizeof *(ours), (options), #options, (err))

/* A struct that the caller wants filled, or NULL, has a size that can be one. */
spry_status spryi_check_struct(const void *wanted, const char *name, spry_error *err);
#define SPRYI_CHECK_OUTPUT(wanted, err) spryi_check_struct((wanted), #wanted, (err))

/* Fills the caller's struct as far as it goes, and clears what ours lacks of it. Its struct_size stays. */
void spryi_give_struct(void *wanted, const void *ours, size_t our_size);
#define SPRYI_GIVE(wanted, ours) spryi_give_struct((wanted), (ours), sizeof *(ours))
