/* Downloads a matrix by HTTP and unpacks NAME.mtx from a tar.gz. */
#include "cli/fetch/module.h"

#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- download ------------------------------------------------------------------------------------ */

/*
 * Partial downloads are continued. The request asks for the rest on the condition that the server's file has the same
 * version as the received data (If-Range). Otherwise the server sends the whole file.
 */
enum { TAG_BYTES = 256, CONNECT_SECONDS = 30, MOST_REDIRECTIONS = 10 };

typedef struct download {
    const fetch_source *source;
    const fetch_hook *hook;
    CURL *curl;
    int64_t held;         /* bytes in the file */
    int64_t offset;       /* bytes in the file at the start of the answer */
    char tag[TAG_BYTES];  /* version of the bytes in the file; "": not known, so not continued */
    char next[TAG_BYTES]; /* version of the answer: its ETag, else its date */
    int64_t range_start;  /* first byte of the answer; -1: the whole file */
    int64_t range_total;  /* size of the server's file; -1: not given */
    bool begun;           /* data of the answer has arrived */
    bool mismatch;        /* the server sent another range than requested */
    int number;           /* errno of a failed write; 0: none */
} download;

/* ---- tags ---------------------------------------------------------------------------------------- */

static void read_tag(download *d)
{
    d->tag[0] = '\0';
    const int fd = open(d->source->tag, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t got = read(fd, d->tag, sizeof d->tag - 1);
    d->tag[got > 0 ? got : 0] = '\0';
    d->tag[strcspn(d->tag, "\r\n")] = '\0';
    (void)close(fd);
}

/* Writes the version file. Without this file, an interrupted download later starts again at the first byte. */
static void write_tag(download *d)
{
    snprintf(d->tag, sizeof d->tag, "%s", d->next);
    (void)unlink(d->source->tag);
    if (!d->tag[0]) return;
    const int fd = open(d->source->tag, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const size_t length = strlen(d->tag);
    if (fd < 0) return;
    if (write(fd, d->tag, length) != (ssize_t)length) (void)unlink(d->source->tag);
    (void)close(fd);
}

/* ---- callbacks of curl ---------------------------------------------------------------------------- */

/* Returns the value of a header line, after `name` and blanks. Returns NULL if the line is another header. */
static const char *header(const char *line, const char *name)
{
    const size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0) return NULL;
    return line + length + strspn(line + length, " \t");
}

/* Copies a value without its end of line. Ignores a value that does not fit. */
static void take(char *to, const char *value)
{
    const size_t length = strcspn(value, "\r\n");
    if (length < TAG_BYTES) snprintf(to, TAG_BYTES, "%.*s", (int)length, value);
}

static size_t take_header(char *data, size_t size, size_t count, void *user)
{
    download *d = user;
    char line[512];
    const char *value;
    snprintf(line, sizeof line, "%.*s", (int)(size * count), data);
    if (strncmp(line, "HTTP/", 5) == 0) { /* a new answer, possibly after a redirection */
        d->next[0] = '\0';
        d->range_start = d->range_total = -1;
    } else if ((value = header(line, "etag:"))) {
        if (strncmp(value, "W/", 2) != 0) take(d->next, value); /* no weak tags: equal ones do not imply equal bytes */
    } else if ((value = header(line, "last-modified:"))) {
        if (!d->next[0]) take(d->next, value);
    } else if ((value = header(line, "content-range: bytes "))) {
        char *end;
        if (*value != '*') d->range_start = strtoll(value, NULL, 10);
        const char *slash = strchr(value, '/');
        if (slash && slash[1] != '*') d->range_total = strtoll(slash + 1, &end, 10);
    }
    return size * count;
}

/*
 * Handles the first data of an answer: continues or restarts the file. Returns false if the data must not be written,
 * for example because it is the text of an error.
 */
static bool begin(download *d)
{
    long code = 0;
    (void)curl_easy_getinfo(d->curl, CURLINFO_RESPONSE_CODE, &code);
    d->begun = true;
    if (code == 206 && d->range_start == d->held) {
        d->offset = d->held;
        return true;
    }
    d->mismatch = code == 206;
    if (code != 200 && code != 0) return false; /* the text of an error */
    d->held = d->offset = 0;
    if (ftruncate(d->source->fd, 0) != 0) d->number = errno;
    write_tag(d);
    return d->number == 0;
}

static size_t take_data(char *data, size_t size, size_t count, void *user)
{
    download *d = user;
    size_t left = size * count;
    long code = 0;
    if (!d->begun && !begin(d)) return d->number || d->mismatch ? 0 : size * count;
    (void)curl_easy_getinfo(d->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code >= 300) return size * count;
    while (left > 0) {
        const ssize_t written = pwrite(d->source->fd, data, left, d->held);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            d->number = errno;
            return 0;
        }
        data += written;
        d->held += written;
        left -= (size_t)written;
    }
    return size * count;
}

static int report_progress(void *user, curl_off_t total, curl_off_t done, curl_off_t up_total, curl_off_t up)
{
    const download *d = user;
    (void)up_total;
    (void)up;
    return d->hook->progress(d->hook->user, d->offset + done, total > 0 ? d->offset + total : -1);
}

/* ---- one request ---------------------------------------------------------------------------------- */

static int set_up(download *d, struct curl_slist **headers, char *message)
{
    const fetch_source *s = d->source;
    const bool is_file = strncasecmp(s->url, "file:", 5) == 0, is_safe = strncasecmp(s->url, "https:", 6) == 0;
    char range[32], condition[TAG_BYTES + 16];
    CURLcode bad = CURLE_OK;
    message[0] = '\0';
#define SET(option, value)                                                                                             \
    if (bad == CURLE_OK) bad = curl_easy_setopt(d->curl, option, value)
    SET(CURLOPT_URL, s->url);
    SET(CURLOPT_ERRORBUFFER, message);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "spry");
    SET(CURLOPT_FOLLOWLOCATION, 1L);
    SET(CURLOPT_MAXREDIRS, (long)MOST_REDIRECTIONS);
    SET(CURLOPT_PROTOCOLS_STR, is_file && s->may_be_file ? "file" : "http,https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, is_safe ? "https" : "http,https");
    SET(CURLOPT_CONNECTTIMEOUT, s->stall_seconds < CONNECT_SECONDS ? s->stall_seconds : (long)CONNECT_SECONDS);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, s->stall_seconds);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, d);
    SET(CURLOPT_WRITEFUNCTION, take_data);
    SET(CURLOPT_WRITEDATA, d);
    SET(CURLOPT_XFERINFOFUNCTION, report_progress);
    SET(CURLOPT_XFERINFODATA, d);
    SET(CURLOPT_NOPROGRESS, 0L);
    if (d->held > 0) {
        snprintf(range, sizeof range, "%lld-", (long long)d->held);
        snprintf(condition, sizeof condition, "If-Range: %s", d->tag);
        *headers = curl_slist_append(NULL, condition);
        if (!*headers) return 0;
        SET(CURLOPT_RANGE, range);
        SET(CURLOPT_HTTPHEADER, *headers);
    }
#undef SET
    return bad == CURLE_OK;
}

/* Writes the reason of an error of curl: no connection, a timeout, an incomplete answer, a failed write. */
static fetch_result explain_failure(const download *d, CURLcode code, const char *message, char *reason, size_t size)
{
    const long stall = d->source->stall_seconds;
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK: snprintf(reason, size, "stopped"); return FETCH_STOPPED;
    case CURLE_FILE_COULDNT_READ_FILE: snprintf(reason, size, "there is no such file"); return FETCH_NOT_FOUND;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
        snprintf(reason, size, "the server cannot be reached; check the network (%s)",
                 message[0] ? message : curl_easy_strerror(code));
        return FETCH_FAILED;
    case CURLE_OPERATION_TIMEDOUT: snprintf(reason, size, "no data arrived for %ld s", stall); return FETCH_FAILED;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
        snprintf(reason, size, "the connection ended before the end of the file");
        return FETCH_FAILED;
    case CURLE_WRITE_ERROR:
        if (d->number == 0) break;
        snprintf(reason, size, "cannot be written: %s", strerror(d->number));
        return FETCH_FAILED;
    default: break;
    }
    snprintf(reason, size, "%s", message[0] ? message : curl_easy_strerror(code));
    return FETCH_FAILED;
}

/*
 * Sends one request. Sets *again if the bytes in the file did not belong to the server's file. They are removed then,
 * and the caller sends another request.
 */
static fetch_result request(download *d, bool *again, char *reason, size_t size)
{
    char message[CURL_ERROR_SIZE];
    struct curl_slist *headers = NULL;
    long answer = 0;
    const int64_t before = d->held;
    d->begun = d->mismatch = false;
    d->number = 0;
    d->offset = 0;
    d->range_start = d->range_total = -1;
    d->next[0] = '\0';
    CURLcode code = CURLE_FAILED_INIT;
    d->curl = curl_easy_init();
    if (d->curl && set_up(d, &headers, message)) code = curl_easy_perform(d->curl);
    if (d->curl) (void)curl_easy_getinfo(d->curl, CURLINFO_RESPONSE_CODE, &answer);
    curl_easy_cleanup(d->curl);
    curl_slist_free_all(headers);
    *again = before > 0 && (d->mismatch || (answer == 416 && d->range_total != before));
    if (*again) {
        d->held = 0;
        if (ftruncate(d->source->fd, 0) != 0) *again = false;
    }
    if (*again || answer == 416) {
        snprintf(reason, size, "the server cannot continue the download");
        return *again || d->range_total != before ? FETCH_FAILED : FETCH_DONE; /* done: it was complete */
    }
    if (code != CURLE_OK) return explain_failure(d, code, message, reason, size);
    if (answer == 404 || answer == 410) {
        snprintf(reason, size, "the server has no such file");
        return FETCH_NOT_FOUND;
    }
    if (answer != 0 && answer != 200 && answer != 206) {
        snprintf(reason, size, "the server answers %ld", answer);
        return FETCH_FAILED;
    }
    if (d->begun) return FETCH_DONE;
    snprintf(reason, size, "the file is empty");
    return FETCH_BAD_DATA;
}

static fetch_result download_file(const fetch_source *source, const fetch_hook *hook, char *reason, size_t size)
{
    struct stat facts;
    bool again = false;
    download d = {.source = source, .hook = hook};
    if (fstat(source->fd, &facts) == 0) d.held = facts.st_size;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        snprintf(reason, size, "libcurl cannot be started");
        return FETCH_FAILED;
    }
    read_tag(&d);
    if (!d.tag[0]) d.held = 0;
    fetch_result result = request(&d, &again, reason, size);
    if (again) result = request(&d, &again, reason, size);
    curl_global_cleanup();
    return result;
}

/* ---- unpacking ------------------------------------------------------------------------------------ */

/* zlib inflates, because it compares the checksum at the end and libarchive does not. libarchive reads the tar. */
enum { BUFFER_BYTES = 256 << 10 };

typedef struct unpacking {
    gzFile from, to;
    const char *name;
    const fetch_hook *hook;
    int64_t bytes; /* size of the tar.gz */
    bool stopped;
    char fault[256]; /* error of reading `from` */
    char buffer[BUFFER_BYTES];
} unpacking;

/* Returns true and sets u->fault after an error of zlib. A truncated file is detected only at its end. */
static bool has_fault(unpacking *u)
{
    int number = 0;
    const char *text = gzerror(u->from, &number);
    if (number == Z_OK || number == Z_STREAM_END) return false;
    snprintf(u->fault, sizeof u->fault, "is damaged or cut (gzip: %s)", text[0] ? text : "unexpected end of file");
    return true;
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

/* Returns true for a file NAME.mtx in any folder of the tar. */
static bool is_wanted(struct archive_entry *entry, const char *name)
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
            snprintf(reason, size, "%s.mtx in the archive is not a Matrix Market file", u->name);
            return FETCH_BAD_DATA;
        }
        errno = 0;
        if (gzwrite(u->to, part, (unsigned)got) != (int)got) {
            snprintf(reason, size, "cannot be written: %s", errno ? strerror(errno) : "zlib failed");
            return FETCH_FAILED;
        }
    }
    if (all > 0) return FETCH_DONE;
    snprintf(reason, size, "%s.mtx in the archive is empty", u->name);
    return FETCH_BAD_DATA;
}

/* Copies NAME.mtx, then reads to the end of the tar and of the gzip stream. */
static fetch_result copy_wanted(unpacking *u, struct archive *archive, char *reason, size_t size)
{
    struct archive_entry *entry;
    int found = 0, next;
    if (archive_read_support_format_tar(archive) != ARCHIVE_OK ||
        archive_read_open(archive, u, NULL, read_tar, NULL) != ARCHIVE_OK) {
        snprintf(reason, size, "is not a tar.gz: %s", archive_error_string(archive));
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

/* Opens a copy of fd, so that closing the result does not close fd. */
static gzFile open_copy(int fd, const char *mode)
{
    const int copy = dup(fd);
    gzFile file = copy >= 0 ? gzdopen(copy, mode) : NULL;
    if (!file && copy >= 0) (void)close(copy);
    return file;
}

static fetch_result unpack(int fd, const char *name, int out, const fetch_hook *hook, char *reason, size_t size)
{
    static unpacking u; /* too large for the stack */
    struct stat facts;
    unsigned char magic[2] = {0, 0};
    if (pread(fd, magic, 2, 0) != 2 || magic[0] != 0x1f || magic[1] != 0x8b || lseek(fd, 0, SEEK_SET) != 0) {
        snprintf(reason, size, "the received data is not a tar.gz");
        return FETCH_BAD_DATA;
    }
    u = (unpacking){.from = open_copy(fd, "rb"), .name = name, .hook = hook};
    /* Level 1 is the fastest. Level 6 takes seven times as long and saves 6 percent of the bytes. */
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

__attribute__((visibility("default"))) const fetch_module *spry_fetch_module(void);

const fetch_module *spry_fetch_module(void)
{
    static const fetch_module module = {.abi = FETCH_ABI, .download = download_file, .unpack = unpack};
    return &module;
}
