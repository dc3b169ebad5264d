/*
 * A file that appears under its name when it is complete. Before, it has no name, or a temporary name in the same
 * folder if the file system lacks nameless files. Devices, FIFOs and standard output are written directly.
 */
#pragma once

#include "spry/io.h"
#include "spry/spry.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct spryi_output {
    const char *name; /* in messages */
    int fd;
    int direct;            /* written in place: nothing to rename or to remove */
    char target[PATH_MAX]; /* what path leads to, behind symbolic links */
    char beside[PATH_MAX]; /* the temporary file's name, "" while it has none */
} spryi_output;

/* Kinds of content, by the ending of a file's name. */
typedef enum spryi_output_kind { SPRYI_OUTPUT_MTX, SPRYI_OUTPUT_CSV, SPRYI_OUTPUT_CONTAINER } spryi_output_kind;

/*
 * Finds the kind by the ending, in any case: .mtx, .csv or .spry, and .gz behind the first two. Matrix Market: also a
 * name without an ending, "-", and what is no regular file. SPRY_INVALID_ARGUMENT: another ending, with those known.
 */
spry_status spryi_output_kind_of(const char *path, spryi_output_kind *kind, bool *gzip, spry_error *err);

/* Refuses options that files of this kind do not have. */
spry_status spryi_check_write_options(const spry_write_options *options, const char *path, spryi_output_kind kind,
                                      bool of_vector, spry_error *err);

/*
 * Resolves symbolic links. The last link may lead to a file that does not exist. Returns 0 with errno if the result
 * is too long or the links form a ring.
 */
int spryi_output_target(char target[PATH_MAX], const char *path);

/* path "-" is standard output. fd is to be -1 before, and is after a failure. */
spry_status spryi_output_open(spryi_output *output, const char *path, spry_error *err);
spry_status spryi_output_write(const spryi_output *output, const void *data, size_t bytes, spry_error *err);

/*
 * Closes what is open. The file appears under its name if status is SPRY_OK and closing succeeds; else nothing of it
 * remains. Returns status, or what closing has come to.
 */
spry_status spryi_output_close(spryi_output *output, spry_status status, spry_error *err);
