/*
 * Text of one input, handed out in blocks of whole lines to several threads.
 *
 * A regular file is read with pread into a buffer that remains in the thread's cache. This is as fast as a mapping,
 * and a file that is cut short meanwhile is an error instead of a SIGBUS. gzip, bzip2, xz and Zstandard (any number
 * of members) are decompressed. Compressed files and feeds (pipes, devices) are read block by block under a lock,
 * while the other threads parse.
 *
 * A feed may never end, so nothing waits for its end. A reader reads ahead until the text can be as long as its head
 * claims. Bytes without entries (comments, blank lines, compressed data without content) are limited.
 */
#pragma once

#include "base/pool.h"
#include "spry/spry.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- compression ------------------------------------------------------------------------------- */

/* zlib inflates gzip. libarchive reads the others; it is loaded when such a file is read (docs/decisions.md, 25). */
typedef enum spryi_packing { SPRYI_PLAIN, SPRYI_GZIP, SPRYI_BZIP2, SPRYI_XZ, SPRYI_ZSTD } spryi_packing;

/* Returns "gzip", "bzip2", "xz", "Zstandard"; "" for SPRYI_PLAIN. */
const char *spryi_packing_name(spryi_packing packing);

/* Returns the length of a file's name without its ending .gz, .bz2, .xz or .zst. */
size_t spryi_unpacked_length(const char *name);

/* ---- input ------------------------------------------------------------------------------------- */

enum {
    SPRYI_BLOCK_BYTES = 256 << 10, /* of text a block; it and what is parsed of it stay in the L2 cache */
    SPRYI_LINE_BYTES = 64 << 10,   /* longest line accepted that is no comment; the format allows 1024 */
    SPRYI_AHEAD_BYTES = 64 << 20,  /* of a feed that are held at most to see whether more can be there */
    SPRYI_ASIDE_BYTES = 64 << 20,  /* of a feed that may bring no entries */
    SPRYI_SLACK_BYTES = 64         /* that may be loaded, but mean nothing, behind a buffer's text */
};

/*
 * Input that can only be read in order: a pipe, a terminal, a device. Bytes are read when they are needed. Bytes that
 * were inspected in advance are held until they are taken.
 */
typedef struct spryi_feed {
    spry_context *context;
    int fd;         /* -1: there is none */
    int keeps_open; /* it is the program's, not ours */
    int at_end;     /* nothing more is to be read */
    int64_t total;  /* bytes read so far */
    char *held;     /* of which begin .. end - 1 were not taken */
    int64_t begin, end, capacity;
} spryi_feed;

static inline int64_t spryi_feed_held(const spryi_feed *feed)
{
    return feed->end - feed->begin;
}

/* Reads until `bytes` are held (then no more than these) or the end. */
spry_status spryi_feed_hold(spryi_feed *feed, int64_t bytes, const char *name, spry_error *err);

/* The block with all that is held, of which nothing may have been taken: the caller's to release. */
char *spryi_feed_give(spryi_feed *feed);

struct spryi_inflater;

typedef struct spryi_text {
    spry_context *context;
    const char *name;                /* in messages */
    int fd;                          /* of a regular file, or -1 */
    const char *memory;              /* the input in memory, or NULL */
    int64_t bytes;                   /* of the input, compressed or not; of a feed not known: 0 */
    struct spryi_inflater *inflater; /* NULL: plain text of a file or in memory */
    spryi_packing packing;           /* how the text is compressed */
    pthread_mutex_t lock;
    /* guarded by lock */
    spryi_feed feed;     /* fd -1: none */
    int64_t start, next; /* plain: where the lines to hand out begin, and where the next block begins */
    int64_t blocks;      /* handed out so far */
} spryi_text;

/* One thread's part. It may hold no line at all and yet not be the last. */
typedef struct spryi_block {
    int finished;           /* 1: the input is at its end, there is no text */
    const char *text, *end; /* whole lines; the last may lack its newline, at the end of the file or when too long */
    const char *loadable;   /* up to here eight bytes may be loaded from any byte */
    int64_t number;         /* of the block, from 0, in file order; every number that is handed out once is used */
    int64_t offset;         /* plain: of text in the input */
    char *buffer;           /* NULL: the text is in memory already */
} spryi_block;

/* path "-" is standard input. On failure nothing is left to close, and err names the input. */
spry_status spryi_text_open(spry_context *context, spryi_text *text, const char *path, bool may_be_standard_input,
                            spry_error *err);
spry_status spryi_text_open_memory(spry_context *context, spryi_text *text, const void *data, size_t bytes,
                                   const char *name, spry_error *err);
void spryi_text_close(spryi_text *text);

/* The first `bytes` bytes of the input, compressed or not, or fewer where it is shorter; they are still to be read. */
spry_status spryi_text_peek(spryi_text *text, char *to, int64_t bytes, int64_t *got, spry_error *err);

/* Returns the most bytes of text that can be left to hand out. A feed whose end is not in sight can have any number. */
int64_t spryi_text_most_left(const spryi_text *text);

/* Returns a limit that suffices to read so many entries of so many rows, for spryi_note_needs. */
int64_t spryi_text_enough(const spryi_text *text, double entries, int64_t rows, spry_index_type index_type);

/* Reads ahead in a feed until `bytes` of text can be left, or its end is in sight, or SPRYI_AHEAD_BYTES are held. */
spry_status spryi_text_look_ahead(spryi_text *text, int64_t bytes, spry_error *err);

spry_status spryi_block_create(const spryi_text *text, spryi_block *block, spry_error *err);
void spryi_block_destroy(const spryi_text *text, spryi_block *block);

/* The next block, also a number of its own when it fails. Thread-safe. */
spry_status spryi_text_next(spryi_text *text, spryi_block *block, spry_error *err);

/*
 * How threads read a text: each has a block and an array element of own_bytes bytes, cleared, to parse into, and waits
 * until the blocks before have been joined. So entries stand in file order whatever the number of threads.
 */
typedef struct spryi_readers {
    size_t own_bytes;
    spry_status (*create)(const void *job, void *own, spry_error *err); /* release also follows a failure */
    void (*release)(spry_context *context, void *own);
    spry_status (*parse)(const void *job, const spryi_block *block, void *own, spry_error *err);
    spry_status (*join)(void *job, const spryi_block *block, void *own, spry_error *err); /* one thread at a time */
    void (*copy)(const void *job, const void *own); /* what was joined, while others go on; NULL: nothing is left */
} spryi_readers;

/*
 * Runs on all threads that have two blocks or more to read, until the end or a failure. Returns the failure of the
 * first block in file order that has one.
 */
spry_status spryi_text_share(spryi_text *text, const spryi_readers *how, void *job, spry_error *err);

/* Gives back what of the latest block lies from `from` on, a start of a line; numbers begin at 0 again. One thread. */
void spryi_text_unread(spryi_text *text, const spryi_block *block, const char *from);

/* ---- order among threads ------------------------------------------------------------------------ */

/*
 * Threads work on numbered pieces at the same time and hand their results over in the order of the numbers. The
 * counter holds the number of the next piece.
 */

/* Returns when piece `number` is next; what its predecessors wrote is visible then. Pieces are begun in order. */
static inline void spryi_handover_wait(const _Atomic int64_t *next, int64_t number)
{
    for (int spins = 0; atomic_load_explicit(next, memory_order_acquire) != number; spins++) {
        if (spins < 2000) {
            SPRYI_PAUSE();
        } else {
            (void)sched_yield(); /* more threads than processors: let the one waited for run */
        }
    }
}

static inline void spryi_handover_done(_Atomic int64_t *next, int64_t number)
{
    atomic_store_explicit(next, number + 1, memory_order_release);
}
