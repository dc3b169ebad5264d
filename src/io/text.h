/*
 * Text of one input, distributed to multiple threads in blocks of whole lines.
 *
 * A regular file is read with pread into a buffer that remains in the thread's cache. This is as fast as mapping the
 * file. If another program truncates the file meanwhile, the result is an error instead of a SIGBUS. Input in gzip,
 * bzip2, xz and Zstandard, with any number of members, is decompressed. Compressed files and feeds (pipes, devices) are
 * read block by block under a lock, while the other threads parse.
 *
 * A feed may never end, so no function waits for its end. Before a reader allocates memory for the entries that the
 * head announces, it reads ahead until the text can contain them. Bytes without entries (comments, blank lines,
 * compressed data without content) are limited.
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

/*
 * zlib decompresses gzip. libarchive decompresses bzip2, xz and Zstandard and is loaded on first use
 * (docs/decisions.md, 25).
 */
typedef enum spryi_packing { SPRYI_PLAIN, SPRYI_GZIP, SPRYI_BZIP2, SPRYI_XZ, SPRYI_ZSTD } spryi_packing;

/* Returns "gzip", "bzip2", "xz", "Zstandard"; "" for SPRYI_PLAIN. */
const char *spryi_packing_name(spryi_packing packing);

/* Returns the length of a file's name without its ending .gz, .bz2, .xz or .zst. */
size_t spryi_unpacked_length(const char *name);

/* ---- input ------------------------------------------------------------------------------------- */

enum {
    SPRYI_BLOCK_BYTES = 256 << 10, /* text per block; the block and its parsed entries fit in the L2 cache */
    SPRYI_LINE_BYTES = 64 << 10,   /* longest accepted line that is not a comment; Matrix Market allows 1024 */
    SPRYI_AHEAD_BYTES = 64 << 20,  /* most bytes of a feed that spryi_text_read_ahead holds */
    SPRYI_ASIDE_BYTES = 64 << 20,  /* most bytes of a feed that contain no entries */
    SPRYI_SLACK_BYTES = 64         /* bytes after a buffer's text that may be loaded and have no meaning */
};

/*
 * Input that can only be read in order: a pipe, a terminal, a device. Bytes are read on demand. Bytes that were
 * inspected in advance are held until they are consumed.
 */
typedef struct spryi_feed {
    spry_context *context;
    int fd;          /* -1: none */
    bool keeps_open; /* fd belongs to the program */
    bool at_end;     /* the end was reached */
    int64_t total;   /* bytes read so far */
    char *held;      /* buffer; bytes begin .. end - 1 were read but not consumed */
    int64_t begin, end, capacity;
} spryi_feed;

static inline int64_t spryi_feed_held(const spryi_feed *feed)
{
    return feed->end - feed->begin;
}

/* Reads until exactly `bytes` are held, or to the end. */
spry_status spryi_feed_hold(spryi_feed *feed, int64_t bytes, const char *name, spry_error *err);

/*
 * Returns the buffer with all held bytes and removes it from the feed. No byte of the buffer may have been consumed.
 * The caller releases the buffer.
 */
char *spryi_feed_give(spryi_feed *feed);

struct spryi_inflater;

typedef struct spryi_text {
    spry_context *context;
    const char *name;                /* name of the input in messages */
    int fd;                          /* descriptor of a regular file, or -1 */
    const char *memory;              /* the input in memory, or NULL */
    int64_t bytes;                   /* size of the input as it is stored; 0 for a feed */
    struct spryi_inflater *inflater; /* NULL: plain text of a file or in memory */
    spryi_packing packing;           /* how the text is compressed */
    pthread_mutex_t lock;
    /* guarded by lock */
    spryi_feed feed;     /* feed.fd -1: the input is not a feed */
    int64_t start, next; /* plain text: position of the first block, and of the next block */
    int64_t blocks;      /* number of blocks that threads have read so far */
} spryi_text;

/* A block of lines for one thread. A block without lines need not be the last. */
typedef struct spryi_block {
    bool finished;          /* the input has ended, and the block has no text */
    const char *text, *end; /* whole lines; the last may lack its newline */
    const char *loadable;   /* eight bytes may be loaded from any byte before this address */
    int64_t number;         /* number of the block, from 0, in file order; each number is used once */
    int64_t offset;         /* position of the text in uncompressed input */
    char *buffer;           /* NULL: the text is in memory already */
} spryi_block;

/* Opens an input; path "-" is standard input. After a failure the text is closed, and err names the input. */
spry_status spryi_text_open(spry_context *context, spryi_text *text, const char *path, bool may_be_standard_input,
                            spry_error *err);
spry_status spryi_text_open_memory(spry_context *context, spryi_text *text, const void *data, size_t bytes,
                                   const char *name, spry_error *err);
void spryi_text_close(spryi_text *text);

/*
 * Copies the first `bytes` bytes of the input, compressed or not. *got: number of bytes copied, smaller if the input is
 * shorter. The bytes are not consumed.
 */
spry_status spryi_text_peek(spryi_text *text, char *to, int64_t bytes, int64_t *got, spry_error *err);

/* Returns an upper bound of the bytes of text that are left: INT64_MAX / 2 for a feed whose end was not reached. */
int64_t spryi_text_most_left(const spryi_text *text);

/* Returns a memory limit that suffices to read this number of entries and rows, for spryi_note_needs. */
int64_t spryi_text_enough(const spryi_text *text, double entries, int64_t rows, spry_index_type index_type);

/*
 * Reads ahead in a feed until the held bytes can contain `bytes` bytes of text, the feed ends, or SPRYI_AHEAD_BYTES are
 * held.
 */
spry_status spryi_text_read_ahead(spryi_text *text, int64_t bytes, spry_error *err);

spry_status spryi_block_create(const spryi_text *text, spryi_block *block, spry_error *err);
void spryi_block_destroy(const spryi_text *text, spryi_block *block);

/* Reads the next block. A failure also uses a block number. Thread-safe. */
spry_status spryi_text_next(spryi_text *text, spryi_block *block, spry_error *err);

/*
 * Functions that threads call to read a text. Each thread has a block of text and an element of own_bytes bytes,
 * initially zero, for the result of parsing. A thread joins its result after all earlier blocks are joined, so that
 * entries are in file order for any number of threads.
 */
typedef struct spryi_readers {
    size_t own_bytes;
    spry_status (*create)(const void *job, void *own, spry_error *err); /* after a failure, release is called too */
    void (*release)(spry_context *context, void *own);
    spry_status (*parse)(const void *job, const spryi_block *block, void *own, spry_error *err);
    spry_status (*join)(void *job, const spryi_block *block, void *own, spry_error *err); /* one thread at a time */
    void (*copy)(const void *job,
                 const void *own); /* copies joined entries; may run concurrently; NULL: nothing to do */
} spryi_readers;

/*
 * Reads the text with the functions *how until its end or a failure. Uses as many threads as possible with at least two
 * blocks for each thread. Returns the failure of the first failing block in file order.
 */
spry_status spryi_text_share(spryi_text *text, const spryi_readers *how, void *job, spry_error *err);

/*
 * Puts back the part of the latest block that begins at `from`, a start of a line. The next block begins with that part
 * and has number 0. Only for one thread.
 */
void spryi_text_unread(spryi_text *text, const spryi_block *block, const char *from);

/* ---- order among threads ------------------------------------------------------------------------ */

/*
 * Threads work on numbered pieces concurrently and pass on their results in the order of the numbers. The counter *next
 * contains the number of the piece whose result is next.
 */

/*
 * Waits until piece `number` is next. Writes of earlier pieces are then visible. Threads must start the pieces in
 * order.
 */
static inline void spryi_handover_wait(const _Atomic int64_t *next, int64_t number)
{
    for (int spins = 0; atomic_load_explicit(next, memory_order_acquire) != number; spins++) {
        if (spins < 2000) {
            SPRYI_PAUSE();
        } else {
            (void)sched_yield(); /* more threads than processors: let another run */
        }
    }
}

static inline void spryi_handover_done(_Atomic int64_t *next, int64_t number)
{
    atomic_store_explicit(next, number + 1, memory_order_release);
}
