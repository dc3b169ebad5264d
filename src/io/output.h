/*
 * Output to a file that appears under its name only when the file is complete. An incomplete file has no name, or a
 * temporary name in the same folder if the file system has no nameless files. Devices, FIFOs and standard output are
 * written directly.
 */
#pragma once

#include "spry/io.h"
#include "spry/spry.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct spryi_output {
    const char *name; /* name of the output in messages */
    int fd;
    bool direct;              /* data is written to the final name: nothing to rename or remove */
    char target[PATH_MAX];    /* the path after symbolic links are resolved */
    char temporary[PATH_MAX]; /* temporary name in the target's folder; "" while there is none */
} spryi_output;

/* Kinds of content, by the ending of a file's name. */
typedef enum spryi_output_kind { SPRYI_OUTPUT_MTX, SPRYI_OUTPUT_CSV, SPRYI_OUTPUT_CONTAINER } spryi_output_kind;

/*
 * Finds the kind of content by the name's ending in upper or lower case: .mtx, .csv or .spry, and .gz after the first
 * two. Names without an ending, "-", and files that are not regular are Matrix Market. Returns SPRY_INVALID_ARGUMENT
 * with a list of endings if the name has another ending.
 */
spry_status spryi_output_kind_of(const char *path, spryi_output_kind *kind, bool *gzip, spry_error *err);

/* Rejects options that files of this kind do not have. */
spry_status spryi_check_write_options(const spry_write_options *options, const char *path, spryi_output_kind kind,
                                      bool of_vector, spry_error *err);

/*
 * Resolves symbolic links. The target of the last link need not exist. Returns 0 with errno if the result is too long
 * or the links form a cycle.
 */
int spryi_output_target(char target[PATH_MAX], const char *path);

/* Opens the output; path "-" is standard output. fd must be -1 before the call, and is -1 after a failure. */
spry_status spryi_output_open(spryi_output *output, const char *path, spry_error *err);
spry_status spryi_output_write(const spryi_output *output, const void *data, size_t bytes, spry_error *err);

/*
 * Closes the output. The file appears under its name if status is SPRY_OK and closing succeeds; otherwise it is
 * removed. Returns status, or the status of closing.
 */
spry_status spryi_output_close(spryi_output *output, spry_status status, spry_error *err);
