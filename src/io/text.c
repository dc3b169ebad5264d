/*
 * Input as text. A feed reads input of unknown length. An inflater decompresses the input and cuts it into blocks of
 * whole lines. Threads share the blocks of one text.
 */
#include "io/text.h"

#include "base/context.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "io/gzip.h"
#include "matrix/assemble.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- feeds: pipes, terminals, devices ------------------------------------------------------------ */

enum {
    BUFFER_BYTES = 1 + SPRYI_BLOCK_BYTES + SPRYI_LINE_BYTES, /* size of the buffer of a block */
    TAIL_BYTES = 4 << 10,   /* bytes read after a block, repeated until its last line ends */
    FIRST_BYTES = 64 << 10, /* first allocation of a feed */
    INPUT_BYTES = 128 << 10 /* compressed bytes per read */
};

static void close_feed(spryi_feed *feed)
{
    if (feed->fd < 0) return;
    if (!feed->keeps_open) (void)close(feed->fd);
    spryi_release(feed->context, feed->held);
    *feed = (spryi_feed){.fd = -1};
}

/* Reads once. Returns 0 or an errno. */
static int read_some(spryi_feed *feed, char *to, int64_t most, int64_t *got)
{
    ssize_t count = 0;
    *got = 0;
    if (feed->at_end) return 0;
    do count = read(feed->fd, to, (size_t)most);
    while (count < 0 && errno == EINTR);
    if (count < 0) return errno;
    feed->at_end = count == 0; /* not read again: a user would have to type the end again */
    feed->total += count;
    *got = count;
    return 0;
}

static spry_status grow(spryi_feed *feed, spry_error *err)
{
    int64_t held = spryi_feed_held(feed), larger = held < FIRST_BYTES / 2 ? FIRST_BYTES : 2 * held;
    char *fresh = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(feed->context, &fresh, larger, "bytes read from a pipe", err));
    if (held > 0) memcpy(fresh, feed->held + feed->begin, (size_t)held);
    spryi_release(feed->context, feed->held);
    feed->held = fresh;
    feed->begin = 0;
    feed->end = held;
    feed->capacity = larger;
    return SPRY_OK;
}

spry_status spryi_feed_hold(spryi_feed *feed, int64_t bytes, const char *name, spry_error *err)
{
    while (spryi_feed_held(feed) < bytes && !feed->at_end) {
        SPRYI_OK_OR_RETURN(feed->end == feed->capacity ? grow(feed, err) : SPRY_OK);
        int64_t room = feed->capacity - feed->end, missing = bytes - spryi_feed_held(feed), got;
        int number = read_some(feed, feed->held + feed->end, missing < room ? missing : room, &got);
        if (number != 0) return spryi_fail_errno(err, name, "cannot be read", number);
        feed->end += got;
    }
    return SPRY_OK;
}

char *spryi_feed_give(spryi_feed *feed)
{
    char *block = feed->held;
    feed->held = NULL;
    feed->begin = feed->end = feed->capacity = 0;
    return block;
}

/* Consumes the next bytes, at most `most`. *got is 0 at the end. Returns 0 or an errno. */
static int take_feed(spryi_feed *feed, char *to, int64_t most, int64_t *got)
{
    int64_t held = spryi_feed_held(feed);
    if (held == 0) return read_some(feed, to, most, got);
    *got = held < most ? held : most;
    memcpy(to, feed->held + feed->begin, (size_t)*got);
    feed->begin += *got;
    if (spryi_feed_held(feed) == 0) spryi_release(feed->context, spryi_feed_give(feed));
    return 0;
}

/* ---- packings ------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *suffix, *add;
    int64_t ratio;
    int filter; /* libarchive's id of the format */
} packings[] = {[SPRYI_PLAIN] = {"", "", NULL, 1, 0},
                [SPRYI_GZIP] = {"gzip", ".gz", NULL, 1032, 1},
                [SPRYI_BZIP2] = {"bzip2", ".bz2", "archive_read_support_filter_bzip2", 2 << 20, 2},
                [SPRYI_XZ] = {"xz", ".xz", "archive_read_support_filter_xz", 16 << 10, 6},
                [SPRYI_ZSTD] = {"Zstandard", ".zst", "archive_read_support_filter_zstd", 64 << 10, 14}};

static spryi_packing packing_of(const char *head, int64_t bytes)
{
    if (bytes >= 2 && memcmp(head, "\x1f\x8b", 2) == 0) return SPRYI_GZIP;
    if (bytes >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0) return SPRYI_ZSTD;
    if (bytes >= 6 && memcmp(head, "\xfd\x37zXZ\0", 6) == 0) return SPRYI_XZ;
    if (bytes >= 10 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' && head[3] <= '9' &&
        (memcmp(head + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0 || memcmp(head + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0))
        return SPRYI_BZIP2;
    return SPRYI_PLAIN;
}

const char *spryi_packing_name(spryi_packing packing)
{
    return packings[packing].name;
}

size_t spryi_unpacked_length(const char *name)
{
    const size_t length = strlen(name);
    for (int p = SPRYI_GZIP; p <= SPRYI_ZSTD; p++) {
        const size_t suffix = strlen(packings[p].suffix);
        if (length > suffix && strcasecmp(name + length - suffix, packings[p].suffix) == 0) return length - suffix;
    }
    return length;
}

/* ---- libarchive ---------------------------------------------------------------------------------- */

#define LIBRARY "libarchive.so.13" /* since 2013 */

enum { ARCHIVE_EOF = 1, ARCHIVE_OK = 0, ARCHIVE_WARN = -20, ARCHIVE_FATAL = -30 };

struct archive;
struct archive_entry;

/* Functions of libarchive, with the types that <archive.h> declares. */
#define FUNCTIONS(DO)                                                                                                  \
    DO(struct archive *, archive_read_new, (void))                                                                     \
    DO(int, archive_read_free, (struct archive *))                                                                     \
    DO(int, archive_read_support_format_raw, (struct archive *))                                                       \
    DO(int, archive_read_support_format_empty, (struct archive *))                                                     \
    DO(int, archive_read_open,                                                                                         \
       (struct archive *, void *user, int (*)(struct archive *, void *),                                               \
        ssize_t (*)(struct archive *, void *, const void **), int (*)(struct archive *, void *)))                      \
    DO(int, archive_read_next_header, (struct archive *, struct archive_entry **))                                     \
    DO(int, archive_read_data_block, (struct archive *, const void **, size_t *, int64_t *))                           \
    DO(int, archive_filter_code, (struct archive *, int))                                                              \
    DO(int64_t, archive_filter_bytes, (struct archive *, int))                                                         \
    DO(int, archive_errno, (struct archive *))                                                                         \
    DO(const char *, archive_error_string, (struct archive *))

#define MEMBER(type, name, arguments) type(*name) arguments;
static struct {
    FUNCTIONS(MEMBER)
} archive;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static void *library; /* NULL: the library or one of its functions is missing */

static void load(void)
{
#define FIND(type, name, arguments) all &= (*(void **)&archive.name = dlsym(found, #name)) != NULL;
    void *const found = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool all = true;
    if (!found) return;
    FUNCTIONS(FIND)
    if (all) library = found;
}

/* ---- decompression ------------------------------------------------------------------------------- */

/* Plain text counts as one member. */
typedef enum stage { IN_MEMBER, BETWEEN_MEMBERS, AT_END, BROKEN } stage;

typedef struct spryi_inflater {
    z_stream z; /* zlib's state for gzip; next_in and avail_in are used for all packings */
    stage stage;
    spryi_text *text;
    spryi_packing packing; /* SPRYI_PLAIN: the input is the text */
    bool begun;            /* text was given to a reader */
    bool in_long_line;     /* the next bytes belong to a line whose beginning was given to a reader */
    int64_t taken;         /* bytes of the input that were read */
    int64_t carried;       /* number of bytes in carry; the next block begins with them */
    int64_t barren;        /* bytes of the input that were read since text was last produced */
    int64_t left_out;      /* skipped bytes of long lines */
    char fault[160];       /* reason if BROKEN */
    spry_status status;    /* status if BROKEN */
    /* bzip2, xz and Zstandard */
    struct archive *archive;
    int64_t archive_taken; /* compressed bytes passed to libarchive */
    bool opened;           /* libarchive has read the head of the compressed data */
    const char *unpacked;  /* bytes in libarchive's memory that were not given to a reader */
    int64_t unpacked_left; /* number of these bytes */
    char input[INPUT_BYTES];
    char carry[BUFFER_BYTES];
} inflater;

static spry_status unsupported(const inflater *in, spry_error *err)
{
    return spryi_fail_file(err, SPRY_UNSUPPORTED, in->text->name, 0,
                           "is compressed by %s, which is read through libarchive; %s: %s, or unpack the file first",
                           packings[in->packing].name,
                           library ? "the libarchive found does not read it" : LIBRARY " is missing",
                           library ? "install a newer one" : "install it (Debian, Ubuntu: libarchive13)");
}

/* Creates libarchive's reader for the packing. Rejects a packing that needs another program. */
static spry_status create_archive(inflater *in, spry_error *err)
{
    int (*add)(struct archive *);
    (void)pthread_once(&loaded, load);
    if (!library) return unsupported(in, err);
    in->archive = archive.archive_read_new();
    if (!in->archive || archive.archive_read_support_format_raw(in->archive) != ARCHIVE_OK ||
        archive.archive_read_support_format_empty(in->archive) != ARCHIVE_OK)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: libarchive's buffers");
    *(void **)&add = dlsym(library, packings[in->packing].add);
    return add && add(in->archive) == ARCHIVE_OK ? SPRY_OK : unsupported(in, err);
}

static void destroy_inflater(spry_context *context, inflater *in)
{
    if (!in) return;
    if (in->packing == SPRYI_GZIP) (void)inflateEnd(&in->z);
    if (in->archive) (void)archive.archive_read_free(in->archive);
    spryi_release(context, in);
}

/* Creates the inflater of text->packing. For SPRYI_PLAIN, text->feed contains the uncompressed text. */
static spry_status create_inflater(spryi_text *text, spry_error *err)
{
    inflater *in = NULL;
    spry_status status = SPRY_OK;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(text->context, &in, 1, "gzip buffers", err));
    memset(in, 0, offsetof(inflater, input));
    in->text = text;
    in->packing = text->packing;
    spryi_gzip_allocate_with(&in->z, text->context);
    if (in->packing == SPRYI_GZIP) {
        const int result = inflateInit2(&in->z, 15 + 16); /* largest window, gzip head and checksum */
        if (result != Z_OK) status = spryi_gzip_fail(result, err);
    } else if (in->packing != SPRYI_PLAIN) {
        status = create_archive(in, err);
    }
    if (status == SPRY_OK)
        text->inflater = in;
    else
        destroy_inflater(text->context, in);
    return status;
}

/* Returns an upper bound of the bytes of text that are left, from the largest ratio to which the packing compresses. */
static int64_t most_inflated(const inflater *in)
{
    const spryi_feed *feed = &in->text->feed;
    int64_t input = in->text->bytes;
    if (feed->fd >= 0) {
        if (!feed->at_end) return INT64_MAX / 2;
        if (in->packing == SPRYI_PLAIN) return in->carried + spryi_feed_held(feed);
        input = feed->total;
    }
    const int64_t ratio = packings[in->packing].ratio;
    return in->carried + (input < INT64_MAX / 2 / ratio ? input * ratio : INT64_MAX / 2);
}

/* Returns how many bytes the feed must hold so that they can contain `bytes` bytes of text. */
static int64_t input_for(const inflater *in, int64_t bytes)
{
    const spryi_feed *feed = &in->text->feed;
    const int64_t missing = bytes - in->carried;
    if (in->packing == SPRYI_PLAIN) return missing;
    return missing / packings[in->packing].ratio + 1 - (feed->total - spryi_feed_held(feed));
}

/* Records a failure, so that the text ends after the bytes that were read. Keeps the first failure. */
__attribute__((format(printf, 3, 4))) static void broken(inflater *in, spry_status status, const char *format, ...)
{
    va_list list;
    if (in->stage == BROKEN) return;
    in->stage = BROKEN;
    in->status = status;
    va_start(list, format);
    (void)spryi_write_list(in->fault, sizeof in->fault, format, list);
    va_end(list);
}

/* Adds `bytes` bytes without entries to *count. Returns whether a feed has exceeded the limit for such bytes. */
static bool passes_limit(const inflater *in, int64_t *count, int64_t bytes)
{
    *count += bytes;
    return in->text->feed.fd >= 0 && *count > SPRYI_ASIDE_BYTES;
}

static void count_barren(inflater *in, int64_t bytes)
{
    if (passes_limit(in, &in->barren, bytes))
        broken(in, SPRY_BAD_FILE, "%s data of more than 64 MB bring no text, the limit in a pipe",
               packings[in->packing].name);
}

static void cannot_be_read(inflater *in, int number)
{
    broken(in, SPRY_FILE_ERROR, "cannot be read: %s", spryi_errno_reason(number).text);
}

/* Reads more compressed bytes if none are left. At the end of the input, avail_in remains 0. */
static void refill(inflater *in)
{
    if (in->z.avail_in > 0) return;
    int64_t left = in->text->bytes - in->taken;
    if (left > INPUT_BYTES) left = INPUT_BYTES;
    if (in->text->memory) {
        /* zlib does not write to its input; older headers lack the const */
        in->z.next_in = (Bytef *)(uintptr_t)(in->text->memory + in->taken);
    } else {
        int number = 0;
        if (in->text->feed.fd >= 0) {
            number = take_feed(&in->text->feed, in->input, INPUT_BYTES, &left);
        } else if (left > 0) {
            do left = pread(in->text->fd, in->input, (size_t)left, in->taken);
            while (left < 0 && errno == EINTR);
            number = left < 0 ? errno : 0;
        }
        if (number != 0) {
            cannot_be_read(in, number);
            left = 0;
        }
        in->z.next_in = (Bytef *)in->input;
    }
    in->z.avail_in = (uInt)left;
    in->taken += left;
}

/* Finds the next member or the end. Skips zeros, which some tapes and archives append. */
static void find_member(inflater *in)
{
    while (in->stage == BETWEEN_MEMBERS) {
        refill(in);
        if (in->stage == BROKEN) return;
        if (in->z.avail_in == 0) {
            in->stage = AT_END;
        } else if (*in->z.next_in == 0) {
            in->z.next_in++;
            in->z.avail_in--;
            count_barren(in, 1);
        } else if (*in->z.next_in != 0x1f) {
            broken(in, SPRY_BAD_FILE, "bytes that are not gzip follow the end of the gzip data");
        } else {
            (void)inflateReset(&in->z);
            in->stage = IN_MEMBER;
        }
    }
}

/* Calls zlib once. Returns the number of bytes that are then in the buffer. */
static int64_t inflate_some(inflater *in, char *buffer, int64_t have, int64_t want)
{
    int64_t before = have, given = in->z.avail_in;
    int at_end = given == 0;
    in->z.next_out = (Bytef *)buffer + have;
    in->z.avail_out = (uInt)(want - have);
    int result = inflate(&in->z, Z_NO_FLUSH);
    have = (char *)in->z.next_out - buffer;
    if (result == Z_STREAM_END) {
        in->stage = BETWEEN_MEMBERS;
    } else if (result == Z_MEM_ERROR) {
        broken(in, SPRY_OUT_OF_MEMORY, "out of memory: the gzip window");
    } else if (result == Z_BUF_ERROR && at_end) {
        broken(in, SPRY_BAD_FILE, "the gzip data end too early: the file was cut short");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
        broken(in, SPRY_BAD_FILE, "the gzip data are damaged: %s", in->z.msg ? in->z.msg : "unknown fault");
    }
    if (have > before) in->barren = 0;
    count_barren(in, have > before ? 0 : given - in->z.avail_in);
    return have;
}

/* Inflates until buffer holds `want` bytes. Stops early at the end of the text or at the first fault. */
static int64_t inflate_up_to(inflater *in, char *buffer, int64_t have, int64_t want)
{
    while (have < want) {
        if (in->stage == BETWEEN_MEMBERS) find_member(in);
        if (in->stage != IN_MEMBER) break;
        refill(in);
        if (in->stage == BROKEN) break;
        have = inflate_some(in, buffer, have, want);
    }
    return have;
}

/* Consumes the compressed bytes that were read. Returns their number, or -1 after a failure. */
static int64_t take_compressed(inflater *in, const void **data)
{
    refill(in);
    const int64_t bytes = in->z.avail_in;
    *data = in->z.next_in;
    in->z.avail_in = 0;
    count_barren(in, bytes);
    return in->stage == BROKEN ? -1 : bytes;
}

/* Function that libarchive calls to read compressed bytes. */
static ssize_t give_compressed(struct archive *of, void *user, const void **data)
{
    inflater *in = user;
    const int64_t got = take_compressed(in, data);
    (void)of;
    if (got > 0) in->archive_taken += got;
    return got < 0 ? ARCHIVE_FATAL : (ssize_t)got;
}

/* Stores the reason of libarchive's failure, unless the input has failed before. */
static void archive_failed(inflater *in)
{
    const char *const why = archive.archive_error_string(in->archive), *const packing = packings[in->packing].name;
    if (archive.archive_errno(in->archive) == ENOMEM)
        broken(in, SPRY_OUT_OF_MEMORY, "out of memory: the buffers of %s", packing);
    else
        broken(in, SPRY_BAD_FILE, "the %s data are damaged or cut short: %s", packing, why ? why : "unknown fault");
}

/* Ends the text after the last member. If other bytes follow, reports them, since libarchive does not. */
static void end_archive(inflater *in)
{
    const void *more;
    const char *const packing = packings[in->packing].name;
    if (archive.archive_filter_bytes(in->archive, -1) == in->archive_taken && take_compressed(in, &more) == 0)
        in->stage = AT_END;
    else
        broken(in, SPRY_BAD_FILE, "bytes that are not %s follow the end of the %s data", packing, packing);
}

/* Lets libarchive unpack its next block. */
static void unpack_block(inflater *in)
{
    int result = ARCHIVE_OK;
    if (!in->opened) {
        struct archive_entry *entry;
        in->opened = true;
        result = archive.archive_read_open(in->archive, in, NULL, give_compressed, NULL);
        if (result == ARCHIVE_OK) result = archive.archive_read_next_header(in->archive, &entry);
        if (result == ARCHIVE_OK && archive.archive_filter_code(in->archive, 0) != packings[in->packing].filter)
            result = ARCHIVE_FATAL;
    }
    while (in->unpacked_left == 0 && (result == ARCHIVE_OK || result == ARCHIVE_WARN)) {
        const void *block = NULL;
        size_t bytes = 0;
        int64_t offset;
        result = archive.archive_read_data_block(in->archive, &block, &bytes, &offset);
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) break;
        in->unpacked = block;
        in->unpacked_left = (int64_t)bytes;
    }
    if (in->unpacked_left > 0) return;
    if (result == ARCHIVE_EOF)
        end_archive(in);
    else
        archive_failed(in);
}

/* Unpacks until buffer holds `want` bytes. Stops early at the end of the text or at the first fault. */
static int64_t unpack_up_to(inflater *in, char *buffer, int64_t have, int64_t want)
{
    while (have < want && in->stage == IN_MEMBER) {
        if (in->unpacked_left == 0) unpack_block(in);
        if (in->unpacked_left == 0) break;
        const int64_t count = in->unpacked_left < want - have ? in->unpacked_left : want - have;
        memcpy(buffer + have, in->unpacked, (size_t)count);
        in->unpacked += count;
        in->unpacked_left -= count;
        have += count;
        in->barren = 0;
    }
    return have;
}

/* Copies plain text. The first call returns after the first line, so that a wrong first line is rejected early. */
static int64_t copy_up_to(inflater *in, char *buffer, int64_t have, int64_t want)
{
    while (have < want && in->stage == IN_MEMBER) {
        int64_t got = 0;
        int number = take_feed(&in->text->feed, buffer + have, want - have, &got);
        if (number != 0) {
            cannot_be_read(in, number);
        } else if (got == 0) {
            in->stage = AT_END;
        }
        have += got;
        if (!in->begun && got > 0 && memchr(buffer + have - got, '\n', (size_t)got)) break;
    }
    return have;
}

static int64_t fill(inflater *in, char *buffer, int64_t have, int64_t want)
{
    if (in->packing == SPRYI_PLAIN) return copy_up_to(in, buffer, have, want);
    return in->packing == SPRYI_GZIP ? inflate_up_to(in, buffer, have, want) : unpack_up_to(in, buffer, have, want);
}

/* ---- whole lines of a feed or of compressed input ------------------------------------------------ */

/* Skips the rest of a long line. Returns the number of bytes after the line that are in the buffer. */
static int64_t pass_long_line(inflater *in, char *buffer, int64_t filled)
{
    while (in->in_long_line) {
        if (filled == 0) filled = fill(in, buffer, 0, SPRYI_BLOCK_BYTES);
        const char *newline = memchr(buffer, '\n', (size_t)filled);
        int64_t passed = newline ? newline + 1 - buffer : filled;
        if (passes_limit(in, &in->left_out, passed))
            broken(in, SPRY_BAD_FILE, "long lines take more than 64 MB, the limit in a pipe");
        in->in_long_line = !newline && in->stage != AT_END && in->stage != BROKEN;
        filled -= passed;
        memmove(buffer, buffer + passed, (size_t)filled);
    }
    return filled;
}

/* Stores bytes of the last block in carry, which can hold a whole block. The next block begins with these bytes. */
static void put_back(inflater *in, const char *from, int64_t bytes)
{
    memmove(in->carry + bytes, in->carry, (size_t)in->carried);
    memcpy(in->carry, from, (size_t)bytes);
    in->carried += bytes;
}

/*
 * Writes whole lines to buffer and sets *have to their number of bytes, 0 at the end of the text. If a line fills the
 * buffer, writes only its beginning and skips the rest of the line. If the input has a fault, first returns the whole
 * lines before the fault, and reports it in the next call.
 */
static spry_status inflate_block(inflater *in, char *buffer, int64_t *have, spry_error *err)
{
    int64_t filled = in->carried;
    memcpy(buffer, in->carry, (size_t)filled);
    in->carried = 0;
    filled = pass_long_line(in, buffer, filled);
    const char *newline = NULL;
    for (int64_t want = SPRYI_BLOCK_BYTES;; want = BUFFER_BYTES) {
        filled = fill(in, buffer, filled, want);
        newline = filled > 0 ? memrchr(buffer, '\n', (size_t)filled) : NULL;
        if (newline || want == BUFFER_BYTES || in->stage == AT_END || in->stage == BROKEN) break;
    }
    in->begun = true;
    int64_t whole = newline ? newline + 1 - buffer : 0;
    in->in_long_line = whole == 0 && in->stage != AT_END && in->stage != BROKEN;
    if (in->stage == AT_END || in->in_long_line) whole = filled; /* the last line, or the beginning of a long one */
    *have = whole;
    if (whole == 0 && in->stage == BROKEN)
        return in->status == SPRY_OUT_OF_MEMORY ? spryi_fail(err, in->status, NULL, "%s", in->fault)
                                                : spryi_fail_file(err, in->status, in->text->name, 0, "%s", in->fault);
    if (in->stage != BROKEN) put_back(in, buffer + whole, filled - whole);
    return SPRY_OK;
}

/* Reads `bytes` bytes, or fewer if the file ends. */
static spry_status read_at(const spryi_text *text, char *to, int64_t bytes, int64_t offset, int64_t *got,
                           spry_error *err)
{
    *got = 0;
    while (*got < bytes) {
        ssize_t count = pread(text->fd, to + *got, (size_t)(bytes - *got), offset + *got);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return spryi_fail_errno(err, text->name, "cannot be read", errno);
        if (count == 0) break;
        *got += count;
    }
    return SPRY_OK;
}

/* ---- opening ----------------------------------------------------------------------------------- */

spry_status spryi_text_peek(spryi_text *text, char *to, int64_t bytes, int64_t *got, spry_error *err)
{
    if (text->feed.fd >= 0) {
        spry_status status = spryi_feed_hold(&text->feed, bytes, text->name, err);
        *got = spryi_feed_held(&text->feed) < bytes ? spryi_feed_held(&text->feed) : bytes;
        if (status == SPRY_OK && *got > 0) memcpy(to, text->feed.held + text->feed.begin, (size_t)*got);
        return status;
    }
    if (!text->memory) return read_at(text, to, bytes, 0, got, err);
    *got = text->bytes < bytes ? text->bytes : bytes;
    memcpy(to, text->memory, (size_t)*got);
    return SPRY_OK;
}

/*
 * Detects the packing by the first bytes. Reads only two bytes at first, because they distinguish most text from
 * compressed data, and a pipe may not have more yet.
 */
static spry_status recognise(spryi_text *text, spry_error *err)
{
    char head[10]; /* length of the longest signature */
    int64_t got = 0;
    SPRYI_OK_OR_RETURN(spryi_text_peek(text, head, 2, &got, err));
    if (got == 2 && (memcmp(head, "BZ", 2) == 0 || (unsigned char)head[0] > 0x7f || head[0] == '('))
        SPRYI_OK_OR_RETURN(spryi_text_peek(text, head, sizeof head, &got, err));
    text->packing = packing_of(head, got);
    if (text->packing == SPRYI_PLAIN && text->feed.fd < 0) return SPRY_OK;
    return create_inflater(text, err);
}

static void begin(spry_context *context, spryi_text *text, const char *name)
{
    *text = (spryi_text){.context = context, .name = name, .fd = -1, .feed = {.fd = -1}};
    pthread_mutex_init(&text->lock, NULL);
}

static spry_status open_regular(spryi_text *text, const char *path, int standard, spry_error *err)
{
    spry_status status = SPRY_OK;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return spryi_fail_errno(err, path, "cannot be opened", errno);
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        status = spryi_fail_errno(err, text->name, "cannot be read", errno);
    } else if (S_ISDIR(facts.st_mode)) {
        status = spryi_fail_file(err, SPRY_FILE_ERROR, text->name, 0, "is a directory, expected a file with a matrix");
    } else if (S_ISREG(facts.st_mode) && !standard) {
        text->bytes = facts.st_size;
        text->fd = fd;
        fd = -1;
    } else { /* standard input may be a partly read file, so reading starts at its position */
        text->feed = (spryi_feed){.context = text->context, .fd = fd, .keeps_open = standard};
        fd = -1;
    }
    if (fd >= 0 && !standard) (void)close(fd);
    return status;
}

spry_status spryi_text_open(spry_context *context, spryi_text *text, const char *path, bool may_be_standard_input,
                            spry_error *err)
{
    const int standard = may_be_standard_input && strcmp(path, "-") == 0;
    begin(context, text, standard ? "standard input" : path);
    spry_status status = open_regular(text, path, standard, err);
    if (status == SPRY_OK) status = recognise(text, err);
    if (status != SPRY_OK) spryi_text_close(text);
    return spryi_name_file(err, status, text->name);
}

spry_status spryi_text_open_memory(spry_context *context, spryi_text *text, const void *data, size_t bytes,
                                   const char *name, spry_error *err)
{
    begin(context, text, name);
    text->memory = data ? data : "";
    text->bytes = (int64_t)bytes;
    spry_status status = recognise(text, err);
    if (status != SPRY_OK) spryi_text_close(text);
    return spryi_name_file(err, status, text->name);
}

void spryi_text_close(spryi_text *text)
{
    destroy_inflater(text->context, text->inflater);
    if (text->fd >= 0) (void)close(text->fd);
    close_feed(&text->feed);
    pthread_mutex_destroy(&text->lock);
    text->fd = -1;
    text->inflater = NULL;
}

int64_t spryi_text_most_left(const spryi_text *text)
{
    if (text->inflater) return most_inflated(text->inflater);
    return text->bytes - text->next;
}

int64_t spryi_text_enough(const spryi_text *text, double entries, int64_t rows, spry_index_type index_type)
{
    enum { LEAST_LINE = 4, MOST_PARSED = 3 * sizeof(int64_t), FIXED = 1 << 20 }; /* bytes */
    const int64_t reader = BUFFER_BYTES + (BUFFER_BYTES / LEAST_LINE + 1) * MOST_PARSED;
    const int64_t readers = spryi_team(text->context->threads) * reader;
    const int64_t feed = text->feed.fd < 0 ? 0 : 2 * (int64_t)SPRYI_AHEAD_BYTES;
    return spryi_add_bytes(FIXED + readers + feed,
                           spryi_assembly_bytes(text->context, entries, (double)rows, index_type, sizeof(double)));
}

spry_status spryi_text_read_ahead(spryi_text *text, int64_t bytes, spry_error *err)
{
    if (text->feed.fd < 0) return SPRY_OK;
    int64_t wanted = input_for(text->inflater, bytes);
    if (wanted > SPRYI_AHEAD_BYTES) wanted = SPRYI_AHEAD_BYTES;
    return spryi_feed_hold(&text->feed, wanted, text->name, err);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

spry_status spryi_block_create(const spryi_text *text, spryi_block *block, spry_error *err)
{
    *block = (spryi_block){0};
    if (text->memory && !text->inflater) return SPRY_OK;
    spry_status status = SPRYI_NEW(text->context, &block->buffer, BUFFER_BYTES + SPRYI_SLACK_BYTES, "text block", err);
    if (status == SPRY_OK) memset(block->buffer + BUFFER_BYTES, 0, SPRYI_SLACK_BYTES);
    return status;
}

void spryi_block_destroy(const spryi_text *text, spryi_block *block)
{
    spryi_release(text->context, block->buffer);
    block->buffer = NULL;
}

/* Returns the position after the first newline at or after p, or NULL if there is none before end. */
static const char *next_line(const char *p, const char *end)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return newline ? newline + 1 : NULL;
}

/*
 * Finds the lines that begin in the next `range` bytes of the text. data starts one byte before these bytes, or with
 * them if at_start is 1. complete: data_end is the end of the file. Returns 0 if data does not contain the end of the
 * last line.
 */
static int cut(spryi_block *block, const char *data, const char *data_end, int at_start, int64_t range, int complete)
{
    const char *first = at_start ? data : next_line(data, data_end);
    const char *range_end = data + (at_start ? 0 : 1) + range; /* lines that begin before it belong to this range */
    block->text = block->end = data;
    if (!first && !complete && data_end < range_end) return 0;
    if (!first || first >= range_end) return 1;
    const char *end = range_end - 1 < data_end ? next_line(range_end - 1, data_end) : NULL;
    if (!end && !complete) return 0;
    block->text = first;
    block->end = end ? end : data_end;
    return 1;
}

static spry_status read_range(const spryi_text *text, spryi_block *block, int64_t offset, int64_t range,
                              spry_error *err)
{
    int at_start = offset == text->start;
    int64_t from = at_start ? offset : offset - 1;
    if (text->memory) {
        int64_t most = (at_start ? 0 : 1) + range + SPRYI_LINE_BYTES, left = text->bytes - from;
        const char *data = text->memory + from;
        (void)cut(block, data, data + (left < most ? left : most), at_start, range, 1);
        block->loadable = text->memory + text->bytes - 8;
        return SPRY_OK;
    }
    int64_t have = 0;
    for (int64_t want = (at_start ? 0 : 1) + range + TAIL_BYTES;; want += TAIL_BYTES) {
        if (want > BUFFER_BYTES) want = BUFFER_BYTES;
        int64_t got;
        SPRYI_OK_OR_RETURN(read_at(text, block->buffer + have, want - have, from + have, &got, err));
        have += got;
        int complete = have < want || want == BUFFER_BYTES; /* a line that exceeds a full buffer is too long anyway */
        if (have < want && from + have < text->bytes)
            return spryi_fail_file(err, SPRY_FILE_ERROR, text->name, 0,
                                   "became shorter while it was read: %lld bytes instead of %lld",
                                   (long long)(from + have), (long long)text->bytes);
        if (cut(block, block->buffer, block->buffer + have, at_start, range, complete)) break;
    }
    memset(block->buffer + have, 0, SPRYI_SLACK_BYTES);
    block->loadable = block->buffer + have + SPRYI_SLACK_BYTES - 8;
    return SPRY_OK;
}

static spry_status inflate_next(const spryi_text *text, spryi_block *block, spry_error *err)
{
    int64_t have = 0;
    spry_status status = inflate_block(text->inflater, block->buffer, &have, err);
    block->text = block->buffer;
    block->end = block->buffer + have;
    block->finished = have == 0;
    memset(block->buffer + have, 0, SPRYI_SLACK_BYTES);
    block->loadable = block->buffer + have + SPRYI_SLACK_BYTES - 8;
    return status;
}

spry_status spryi_text_next(spryi_text *text, spryi_block *block, spry_error *err)
{
    spry_status status = SPRY_OK;
    block->text = block->end = NULL;
    block->finished = 0;
    pthread_mutex_lock(&text->lock);
    block->number = text->blocks++;
    if (text->inflater) {
        status = inflate_next(text, block, err);
        pthread_mutex_unlock(&text->lock);
        return status;
    }
    int64_t offset = text->next, range = text->bytes - offset;
    if (range > SPRYI_BLOCK_BYTES) range = SPRYI_BLOCK_BYTES;
    text->next += range;
    pthread_mutex_unlock(&text->lock);
    block->finished = range == 0;
    if (range == 0) return SPRY_OK;
    status = read_range(text, block, offset, range, err);
    block->offset = (offset == text->start ? offset : offset - 1);
    if (!text->memory && status == SPRY_OK) block->offset += block->text - block->buffer;
    return status;
}

void spryi_text_unread(spryi_text *text, const spryi_block *block, const char *from)
{
    text->blocks = 0;
    if (text->inflater) {
        put_back(text->inflater, from, block->end - from);
    } else if (text->memory) {
        text->start = text->next = from - text->memory;
    } else {
        text->start = text->next = block->offset + (from - block->text);
    }
}

/* ---- reading by multiple threads ---------------------------------------------------------------- */

typedef struct reading {
    spryi_text *text;
    const spryi_readers *how;
    void *job;
    spryi_block *blocks;        /* one per reader */
    char *own;                  /* how->own_bytes bytes per reader */
    spryi_memory_limit *limit;  /* the caller's memory limit */
    _Atomic int64_t next_block; /* number of the block to join next */
    _Atomic int stop;
    /* used only by the thread whose block is next_block */
    spry_status status;
    spry_error error;
} reading;

/* Reads blocks until none are left or one has failed. */
static void read_blocks(reading *r, spryi_block *block, void *own)
{
    while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
        spry_error error = {0};
        spry_status status = spryi_text_next(r->text, block, &error);
        const int finished = block->finished;
        if (status == SPRY_OK && !finished) status = r->how->parse(r->job, block, own, &error);
        spryi_handover_wait(&r->next_block, block->number);
        const int mine = r->status == SPRY_OK;
        if (mine && status == SPRY_OK && !finished) status = r->how->join(r->job, block, own, &error);
        if (mine && status != SPRY_OK) {
            r->status = status;
            r->error = error;
        }
        if (!mine || status != SPRY_OK) atomic_store_explicit(&r->stop, 1, memory_order_relaxed);
        spryi_handover_done(&r->next_block, block->number);
        if (status != SPRY_OK || finished || !mine) return;
        if (r->how->copy) r->how->copy(r->job, own);
    }
}

/* Runs a reader on a thread, under the caller's memory limit. A reader's first inflation allocates memory in zlib. */
static void read_all(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    reading *r = job;
    spryi_memory_limit *before = spryi_set_memory_limit(r->limit);
    for (int64_t t = begin; t < end; t++) read_blocks(r, &r->blocks[t], r->own + (size_t)t * r->how->own_bytes);
    (void)spryi_set_memory_limit(before);
}

spry_status spryi_text_share(spryi_text *text, const spryi_readers *how, void *job, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_context *context = text->context;
    const int64_t blocks = spryi_text_most_left(text) / SPRYI_BLOCK_BYTES + 1;
    int threads = spryi_team(context->threads), made = 0;
    if (threads > (blocks + 1) / 2) threads = (int)((blocks + 1) / 2); /* at least two blocks each */
    reading r = {.text = text, .how = how, .job = job, .limit = spryi_get_memory_limit()};
    void *own = NULL;
    SPRYI_TRY(SPRYI_NEW(context, &r.blocks, threads, "readers", err));
    SPRYI_TRY(spryi_allocate(context, &own, threads, how->own_bytes, "readers", err));
    r.own = memset(own, 0, (size_t)threads * how->own_bytes);
    while (made < threads) {
        const int t = made++;
        SPRYI_TRY(spryi_block_create(text, &r.blocks[t], err));
        SPRYI_TRY(how->create(job, r.own + (size_t)t * how->own_bytes, err));
    }
    spryi_loop(context, threads, threads, 1, read_all, &r);
    status = r.status;
    if (status != SPRY_OK && err) *err = r.error;
done:
    for (int t = 0; t < made; t++) {
        spryi_block_destroy(text, &r.blocks[t]);
        how->release(context, r.own + (size_t)t * how->own_bytes);
    }
    spryi_release(context, own);
    spryi_release(context, r.blocks);
    return status;
}
