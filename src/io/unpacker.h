/*
 * Compressed input. zlib inflates gzip (inflater.c). libarchive reads bzip2, xz and Zstandard; it is loaded when the
 * first such file is read (docs/decisions.md, 25).
 */
#pragma once

#include "spry/spry.h"

#include <stddef.h>
#include <stdint.h>

typedef enum spryi_packing { SPRYI_PLAIN, SPRYI_GZIP, SPRYI_BZIP2, SPRYI_XZ, SPRYI_ZSTD } spryi_packing;

enum { SPRYI_PACKING_BYTES = 10 }; /* of a file's head that tell all packings */

/* Returns the packing that the first bytes of a file show. */
spryi_packing spryi_packing_of(const char *head, int64_t bytes);

/* Returns "gzip", "bzip2", "xz", "Zstandard"; "" for SPRYI_PLAIN. */
const char *spryi_packing_name(spryi_packing packing);

/* Returns an upper bound of the bytes of text that one packed byte becomes. */
int64_t spryi_packing_ratio(spryi_packing packing);

/* Returns the length of a file's name without its ending .gz, .bz2, .xz or .zst. */
size_t spryi_unpacked_length(const char *name);

typedef struct spryi_unpacker spryi_unpacker;

/* Sets *data to the next packed bytes. Returns their number; 0 at the end, -1 after a failure. */
typedef int64_t (*spryi_unpacker_input)(void *user, const char **data);

/*
 * Creates an unpacker of bzip2, xz or Zstandard; `name` is the file's, for messages. SPRY_UNSUPPORTED: libarchive is
 * missing or does not read this packing.
 */
spry_status spryi_unpacker_create(spry_context *context, spryi_unpacker **unpacker, spryi_packing packing,
                                  const char *name, spryi_unpacker_input input, void *user, spry_error *err);
void spryi_unpacker_destroy(spry_context *context, spryi_unpacker *unpacker);

/*
 * Writes the next bytes of text to `to`, at most `most`. Returns their number; 0 at the end; -1 after a failure, with
 * *status and its reason in `fault`. If the input function failed, fault is empty.
 */
int64_t spryi_unpacker_read(spryi_unpacker *unpacker, char *to, int64_t most, spry_status *status, char *fault,
                            size_t size);
