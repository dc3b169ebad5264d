/*
 * The text of one input, handed out in blocks of whole lines, by several threads at once.
 *
 * A regular file is read with pread into a buffer that stays in the thread's cache: as fast as mapping it,
 * and a file cut short meanwhile is an error, no SIGBUS. gzip (any number of members) is inflated block by
 * block under a lock while the other threads parse; pipes are read to their end first, so that how much text
 * there can be is known before anything is allocated for it.
 */
#ifndef SPRYI_TEXT_H
#define SPRYI_TEXT_H

#include "spry/spry.h"

#include <pthread.h>
#include <stddef.h>

enum {
    SPRYI_BLOCK_BYTES = 256 << 10, /* of text a block; it and what is parsed of it stay in the L2 cache */
    SPRYI_LINE_BYTES = 64 << 10,   /* longest line accepted; the format allows 1024 */
    SPRYI_SLACK_BYTES = 64         /* that may be loaded, but mean nothing, behind a buffer's text */
};

struct spryi_inflater;

typedef struct spryi_text {
    spry_context *context;
    const char *name;                /* in messages */
    int fd;                          /* of a regular file, -1: in memory */
    const char *memory;              /* the input in memory */
    char *owned;                     /* it, where it was read from a pipe */
    int64_t bytes;                   /* of the input, compressed or not */
    struct spryi_inflater *inflater; /* NULL: plain text */
    pthread_mutex_t lock;
    /* guarded by lock */
    int64_t start, next; /* plain: where the lines to hand out begin, and where the next block begins */
    int64_t blocks;      /* handed out so far */
} spryi_text;

/* One thread's share. It may hold no line at all and yet not be the last. */
typedef struct spryi_block {
    int finished;           /* 1: the input is at its end, there is no text */
    const char *text, *end; /* whole lines; the last may lack its newline, at the end of the file or when too long */
    const char *loadable;   /* up to here eight bytes may be loaded from any byte */
    int64_t number;         /* of the block, from 0, in file order; every number that is handed out once is used */
    int64_t offset;         /* plain: of text in the input */
    char *buffer;           /* NULL: the text is in memory already */
} spryi_block;

/* path "-" is standard input. On failure nothing is left to close. */
spry_status spryi_text_open(spry_context *context, spryi_text *text, const char *path, spry_error *err);
spry_status spryi_text_open_memory(spry_context *context, spryi_text *text, const void *data, size_t bytes,
                                   const char *name, spry_error *err);
void spryi_text_close(spryi_text *text);

/* No more bytes of text than this can be left to hand out. */
int64_t spryi_text_most_left(const spryi_text *text);

spry_status spryi_block_create(const spryi_text *text, spryi_block *block, spry_error *err);
void spryi_block_destroy(const spryi_text *text, spryi_block *block);

/* The next block, also a number of its own when it fails. Thread-safe. */
spry_status spryi_text_next(spryi_text *text, spryi_block *block, spry_error *err);

/* Gives back what of the latest block lies from `from` on, a start of a line; numbers begin at 0 again. One thread. */
void spryi_text_unread(spryi_text *text, const spryi_block *block, const char *from);

#endif
