/*
 * NAME.mtx out of a tar.gz. zlib inflates, since it compares the check sum at the end, which libarchive does not;
 * libarchive reads the tar in it.
 */
#include "cli/fetch/module.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_BYTES = 256 << 10 };

typedef struct unpacking {
    gzFile from, to;
    const char *name;
    const fetch_hook *hook;
    int64_t bytes; /* of the tar.gz */
    int stopped;
    char fault[256]; /* of from */
    char buffer[BUFFER_BYTES];
} unpacking;

/* gzip's faults become ours: cut files are found at the end alone. */
static int has_fault(unpacking *u)
{
    int number = 0;
    const char *text = gzerror(u->from, &number);
    if (number == Z_OK || number == Z_STREAM_END) return 0;
    snprintf(u->fault, sizeof u->fault, "is damaged or cut (gzip: %s)", text[0] ? text : "unexpected end of file");
    return 1;
}

static la_ssize_t read_tar(struct archive *archive, void *user, const void **data)
{
    unpacking *u = user;
    u->stopped = u->stopped || u->hook->progress(u->hook->user, gzoffset(u->from), u->bytes);
    if (u->stopped) {
        archive_set_error(archive, EINTR, "stopped");
        return -1;
    }
    const int got = gzread(u->from, u->buffer, sizeof u->buffer);
    *data = u->buffer;
    if (got >= 0 && !(got == 0 && has_fault(u))) return got;
    (void)has_fault(u);
    archive_set_error(archive, EIO, "%s", u->fault);
    return -1;
}

/* "NAME/NAME.mtx", or NAME.mtx anywhere. */
static int is_wanted(struct archive_entry *entry, const char *name)
{
    const char *path = archive_entry_pathname(entry);
    const char *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;
    const size_t length = strlen(name);
    return base && archive_entry_filetype(entry) == AE_IFREG && strncmp(base, name, length) == 0 &&
           strcmp(base + length, ".mtx") == 0;
}

static fetch_result copy_matrix(unpacking *u, struct archive *archive, char *reason, size_t size)
{
    static const char banner[] = "%%MatrixMarket matrix ";
    char part[64 << 10];
    int64_t all = 0;
    for (la_ssize_t got; (got = archive_read_data(archive, part, sizeof part)) != 0; all += got) {
        if (got < 0) {
            snprintf(reason, size, "%s", archive_error_string(archive) ? archive_error_string(archive) : "is damaged");
            return u->stopped ? FETCH_STOPPED : FETCH_BAD_DATA;
        }
        if (all == 0 && (got < (la_ssize_t)sizeof banner || strncasecmp(part, banner, strlen(banner)) != 0)) {
            snprintf(reason, size, "%s.mtx in it is no Matrix Market file", u->name);
            return FETCH_BAD_DATA;
        }
        errno = 0;
        if (gzwrite(u->to, part, (unsigned)got) != (int)got) {
            snprintf(reason, size, "cannot be written: %s", errno ? strerror(errno) : "zlib failed");
            return FETCH_FAILED;
        }
    }
    if (all > 0) return FETCH_DONE;
    snprintf(reason, size, "%s.mtx in it is empty", u->name);
    return FETCH_BAD_DATA;
}

/* All members, to the end of the tar, and of the gzip behind it. */
static fetch_result copy_wanted(unpacking *u, struct archive *archive, char *reason, size_t size)
{
    struct archive_entry *entry;
    int found = 0, next;
    if (archive_read_support_format_tar(archive) != ARCHIVE_OK ||
        archive_read_open(archive, u, NULL, read_tar, NULL) != ARCHIVE_OK) {
        snprintf(reason, size, "is no tar.gz: %s", archive_error_string(archive));
        return u->stopped ? FETCH_STOPPED : FETCH_BAD_DATA;
    }
    while ((next = archive_read_next_header(archive, &entry)) == ARCHIVE_OK || next == ARCHIVE_WARN) {
        if (found || !is_wanted(entry, u->name)) continue;
        found = 1;
        const fetch_result result = copy_matrix(u, archive, reason, size);
        if (result != FETCH_DONE) return result;
    }
    if (next != ARCHIVE_EOF) {
        snprintf(reason, size, "%s", archive_error_string(archive) ? archive_error_string(archive) : "is damaged");
        return u->stopped ? FETCH_STOPPED : FETCH_BAD_DATA;
    }
    int got;
    while ((got = gzread(u->from, u->buffer, sizeof u->buffer)) > 0) continue;
    if (got < 0 || has_fault(u)) {
        (void)has_fault(u);
        snprintf(reason, size, "%s", u->fault);
        return FETCH_BAD_DATA;
    }
    if (found) return FETCH_DONE;
    snprintf(reason, size, "has no %s.mtx", u->name);
    return FETCH_BAD_DATA;
}

/* A FILE of its own on the same file, so that closing it leaves fd. */
static gzFile open_copy(int fd, const char *mode)
{
    const int copy = dup(fd);
    gzFile file = copy >= 0 ? gzdopen(copy, mode) : NULL;
    if (!file && copy >= 0) (void)close(copy);
    return file;
}

fetch_result fetch_unpack(int fd, const char *name, int out, const fetch_hook *hook, char *reason, size_t size)
{
    static unpacking u; /* its buffer is too large for a stack */
    struct stat facts;
    unsigned char magic[2] = {0, 0};
    if (pread(fd, magic, 2, 0) != 2 || magic[0] != 0x1f || magic[1] != 0x8b || lseek(fd, 0, SEEK_SET) != 0) {
        snprintf(reason, size, "what came is no tar.gz");
        return FETCH_BAD_DATA;
    }
    u = (unpacking){.from = open_copy(fd, "rb"), .name = name, .hook = hook};
    /* The fastest level: 6 takes seven times as long and saves 6 percent. */
    u.to = open_copy(out, "wb1");
    if (fstat(fd, &facts) == 0) u.bytes = facts.st_size;
    struct archive *archive = archive_read_new();
    fetch_result result = FETCH_FAILED;
    if (u.from && u.to && archive) {
        (void)gzbuffer(u.from, BUFFER_BYTES);
        result = copy_wanted(&u, archive, reason, size);
    } else {
        snprintf(reason, size, "out of memory");
    }
    if (archive) (void)archive_read_free(archive);
    if (u.from) (void)gzclose_r(u.from);
    errno = 0;
    if (u.to && gzclose_w(u.to) != Z_OK && result == FETCH_DONE) {
        snprintf(reason, size, "cannot be written: %s", errno ? strerror(errno) : "zlib failed");
        result = FETCH_FAILED;
    }
    return result;
}
