#include "io/unpacker.h"

#include "base/error.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

/* ---- packings ------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *suffix, *add;
    int64_t ratio;
    int filter; /* libarchive's number of it */
} packings[] = {[SPRYI_PLAIN] = {"", "", NULL, 1, 0},
                [SPRYI_GZIP] = {"gzip", ".gz", NULL, 1032, 1},
                [SPRYI_BZIP2] = {"bzip2", ".bz2", "archive_read_support_filter_bzip2", 2 << 20, 2},
                [SPRYI_XZ] = {"xz", ".xz", "archive_read_support_filter_xz", 16 << 10, 6},
                [SPRYI_ZSTD] = {"Zstandard", ".zst", "archive_read_support_filter_zstd", 64 << 10, 14}};

enum { PACKINGS = sizeof packings / sizeof *packings };

spryi_packing spryi_packing_of(const char *head, int64_t bytes)
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

int64_t spryi_packing_ratio(spryi_packing packing)
{
    return packings[packing].ratio;
}

size_t spryi_unpacked_length(const char *name)
{
    const size_t length = strlen(name);
    for (int p = SPRYI_GZIP; p < PACKINGS; p++) {
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
typedef struct functions {
    struct archive *(*archive_read_new)(void);
    int (*archive_read_free)(struct archive *);
    int (*archive_read_support_format_raw)(struct archive *);
    int (*archive_read_support_format_empty)(struct archive *);
    int (*archive_read_open)(struct archive *, void *user, int (*open)(struct archive *, void *),
                             ssize_t (*read)(struct archive *, void *, const void **),
                             int (*close)(struct archive *, void *));
    int (*archive_read_next_header)(struct archive *, struct archive_entry **);
    int (*archive_read_data_block)(struct archive *, const void **, size_t *, int64_t *);
    int (*archive_filter_code)(struct archive *, int);
    int64_t (*archive_filter_bytes)(struct archive *, int);
    int (*archive_errno)(struct archive *);
    const char *(*archive_error_string)(struct archive *);
} functions;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static void *library; /* NULL: missing, or functions are */
static functions archive;

static void load(void)
{
#define FIND(name) all &= (*(void **)&archive.name = dlsym(found, #name)) != NULL
    void *found = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int all = found != NULL;
    if (!found) return;
    FIND(archive_read_new);
    FIND(archive_read_free);
    FIND(archive_read_support_format_raw);
    FIND(archive_read_support_format_empty);
    FIND(archive_read_open);
    FIND(archive_read_next_header);
    FIND(archive_read_data_block);
    FIND(archive_filter_code);
    FIND(archive_filter_bytes);
    FIND(archive_errno);
    FIND(archive_error_string);
    if (all) library = found;
#undef FIND
}

/* ---- an unpacker --------------------------------------------------------------------------------- */

struct spryi_unpacker {
    struct archive *archive;
    spryi_packing packing;
    spryi_unpacker_input input;
    void *user;
    int64_t taken;    /* packed bytes that libarchive was given */
    int input_failed; /* the input function reported a failure */
    int opened;       /* the head of the packed data was read */
    const char *text; /* unpacked bytes that were not handed out, in libarchive's memory */
    int64_t left;     /* and their number */
};

static ssize_t feed(struct archive *of, void *user, const void **data)
{
    spryi_unpacker *u = user;
    const char *bytes = NULL;
    const int64_t got = u->input(u->user, &bytes);
    (void)of;
    *data = bytes;
    if (got < 0) u->input_failed = 1;
    if (got > 0) u->taken += got;
    return got < 0 ? ARCHIVE_FATAL : (ssize_t)got;
}

static spry_status unsupported(spryi_packing packing, const char *name, spry_error *err)
{
    return spryi_fail_file(err, SPRY_UNSUPPORTED, name, 0,
                           "is compressed by %s, which is read through libarchive; %s: %s, or unpack the file first",
                           packings[packing].name,
                           library ? "the libarchive found does not read it" : LIBRARY " is missing",
                           library ? "install a newer one" : "install it (Debian, Ubuntu: libarchive13)");
}

/* A filter that libarchive could only run as another program is not used. */
static int add_filter(struct archive *a, spryi_packing packing)
{
    int (*add)(struct archive *);
    *(void **)&add = dlsym(library, packings[packing].add);
    return add && add(a) == ARCHIVE_OK;
}

spry_status spryi_unpacker_create(spry_context *context, spryi_unpacker **unpacker, spryi_packing packing,
                                  const char *name, spryi_unpacker_input input, void *user, spry_error *err)
{
    spryi_unpacker *u = NULL;
    spry_status status = SPRY_OK;
    (void)pthread_once(&loaded, load);
    if (!library) return unsupported(packing, name, err);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &u, 1, "unpacker", err));
    *u = (spryi_unpacker){.archive = archive.archive_read_new(), .packing = packing, .input = input, .user = user};
    if (!u->archive || archive.archive_read_support_format_raw(u->archive) != ARCHIVE_OK ||
        archive.archive_read_support_format_empty(u->archive) != ARCHIVE_OK)
        SPRYI_TRY(spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: libarchive's buffers"));
    if (!add_filter(u->archive, packing)) SPRYI_TRY(unsupported(packing, name, err));
    *unpacker = u;
done:
    if (status != SPRY_OK) spryi_unpacker_destroy(context, u);
    return status;
}

void spryi_unpacker_destroy(spry_context *context, spryi_unpacker *unpacker)
{
    if (!unpacker) return;
    if (unpacker->archive) (void)archive.archive_read_free(unpacker->archive);
    spryi_release(context, unpacker);
}

/* Reports what libarchive returned. */
static int64_t fail(const spryi_unpacker *u, spry_status *status, char *fault, size_t size)
{
    const char *why = archive.archive_error_string(u->archive);
    const int no_memory = archive.archive_errno(u->archive) == ENOMEM;
    *status = no_memory ? SPRY_OUT_OF_MEMORY : SPRY_BAD_FILE;
    if (u->input_failed) {
        fault[0] = '\0';
    } else if (no_memory) {
        snprintf(fault, size, "out of memory: the buffers of %s", packings[u->packing].name);
    } else {
        snprintf(fault, size, "the %s data are damaged or cut short: %s", packings[u->packing].name,
                 why ? why : "unknown fault");
    }
    return -1;
}

/* Reads the head of the packed data. Returns libarchive's result. */
static int open_data(spryi_unpacker *u)
{
    struct archive_entry *entry;
    const int result = archive.archive_read_open(u->archive, u, NULL, feed, NULL);
    u->opened = 1;
    return result == ARCHIVE_OK ? archive.archive_read_next_header(u->archive, &entry) : result;
}

/* libarchive stops without an error where bytes follow that begin no further member. */
static int64_t check_end(spryi_unpacker *u, spry_status *status, char *fault, size_t size)
{
    const char *more;
    int64_t got = 0;
    if (archive.archive_filter_bytes(u->archive, -1) == u->taken && (got = u->input(u->user, &more)) == 0) return 0;
    *status = SPRY_BAD_FILE;
    snprintf(fault, size, "bytes that are no %s follow the end of the %s data", packings[u->packing].name,
             packings[u->packing].name);
    if (got < 0) fault[0] = '\0';
    return -1;
}

int64_t spryi_unpacker_read(spryi_unpacker *u, char *to, int64_t most, spry_status *status, char *fault, size_t size)
{
    int result = ARCHIVE_OK;
    if (!u->opened) {
        result = open_data(u);
        if (result == ARCHIVE_OK && archive.archive_filter_code(u->archive, 0) != packings[u->packing].filter)
            return fail(u, status, fault, size);
    }
    while (u->left == 0 && (result == ARCHIVE_OK || result == ARCHIVE_WARN)) {
        const void *block = NULL;
        size_t bytes = 0;
        int64_t offset;
        result = archive.archive_read_data_block(u->archive, &block, &bytes, &offset);
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) break;
        u->text = block;
        u->left = (int64_t)bytes;
    }
    if (u->left == 0) return result == ARCHIVE_EOF ? check_end(u, status, fault, size) : fail(u, status, fault, size);
    const int64_t count = u->left < most ? u->left : most;
    memcpy(to, u->text, (size_t)count);
    u->text += count;
    u->left -= count;
    return count;
}
