#include "io/text.h"

#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "io/inflater.h"
#include "io/ordered_handover.h"
#include "matrix/assemble.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what can be read in order alone ------------------------------------------------------------------- */

enum { FIRST_BYTES = 64 << 10 };

static void close_feed(spryi_feed *feed)
{
    if (feed->fd < 0) return;
    if (!feed->keeps_open) (void)close(feed->fd);
    spryi_release(feed->context, feed->held);
    *feed = (spryi_feed){.fd = -1};
}

/* One read; 0, or an errno. */
static int read_some(spryi_feed *feed, char *to, int64_t most, int64_t *got)
{
    ssize_t count = 0;
    *got = 0;
    if (feed->at_end) return 0;
    do count = read(feed->fd, to, (size_t)most);
    while (count < 0 && errno == EINTR);
    if (count < 0) return errno;
    feed->at_end = count == 0; /* a terminal would have to be told its end again */
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

int spryi_feed_take(spryi_feed *feed, char *to, int64_t most, int64_t *got)
{
    int64_t held = spryi_feed_held(feed);
    if (held == 0) return read_some(feed, to, most, got);
    *got = held < most ? held : most;
    memcpy(to, feed->held + feed->begin, (size_t)*got);
    feed->begin += *got;
    if (spryi_feed_held(feed) > 0) return 0;
    spryi_release(feed->context, feed->held);
    feed->held = NULL;
    feed->begin = feed->end = feed->capacity = 0;
    return 0;
}

char *spryi_feed_give(spryi_feed *feed)
{
    char *block = feed->held;
    feed->held = NULL;
    feed->begin = feed->end = feed->capacity = 0;
    return block;
}

enum { BUFFER_BYTES = 1 + SPRYI_BLOCK_BYTES + SPRYI_LINE_BYTES, TAIL_BYTES = 4 << 10 };

/* Reads until `bytes` or the end of the file. */
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

/* The first bytes tell the packing; two tell most text from packed data, and a pipe may have no more yet. */
static spry_status recognise(spryi_text *text, spry_error *err)
{
    char head[SPRYI_PACKING_BYTES];
    int64_t got = 0;
    SPRYI_OK_OR_RETURN(spryi_text_peek(text, head, 2, &got, err));
    if (got == 2 && (memcmp(head, "BZ", 2) == 0 || (unsigned char)head[0] > 0x7f || head[0] == '('))
        SPRYI_OK_OR_RETURN(spryi_text_peek(text, head, sizeof head, &got, err));
    text->packing = spryi_packing_of(head, got);
    if (text->packing == SPRYI_PLAIN && text->feed.fd < 0) return SPRY_OK;
    return spryi_inflater_create(text, &text->inflater, err);
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
    } else { /* standard input may be a file read half by someone before us: from here on */
        text->feed = (spryi_feed){.context = text->context, .fd = fd, .keeps_open = standard};
        fd = -1;
    }
    if (fd >= 0 && !standard) (void)close(fd);
    return status;
}

spry_status spryi_text_open(spry_context *context, spryi_text *text, const char *path, int may_be_standard_input,
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
    spryi_inflater_destroy(text->context, text->inflater);
    if (text->fd >= 0) (void)close(text->fd);
    close_feed(&text->feed);
    pthread_mutex_destroy(&text->lock);
    text->fd = -1;
    text->inflater = NULL;
}

int64_t spryi_text_most_left(const spryi_text *text)
{
    if (text->inflater) return spryi_inflater_most_left(text->inflater, text);
    return text->bytes - text->next;
}

int64_t spryi_text_enough(const spryi_text *text, double entries, int64_t rows, spry_index_type index_type)
{
    enum { LEAST_LINE = 4, MOST_PARSED = 3 * sizeof(int64_t), FIXED = 1 << 20 }; /* bytes of a line, and parsed */
    const int64_t reader = BUFFER_BYTES + (BUFFER_BYTES / LEAST_LINE + 1) * MOST_PARSED;
    const int64_t readers = spry_context_threads(text->context) * reader;
    const int64_t feed = text->feed.fd < 0 ? 0 : 2 * (int64_t)SPRYI_AHEAD_BYTES;
    return spryi_add_bytes(FIXED + readers + feed,
                           spryi_assembly_bytes(text->context, entries, (double)rows, index_type, sizeof(double)));
}

spry_status spryi_text_look_ahead(spryi_text *text, int64_t bytes, spry_error *err)
{
    if (text->feed.fd < 0) return SPRY_OK;
    int64_t wanted = spryi_inflater_input_for(text->inflater, text, bytes);
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

/* Behind the first newline at or after p; NULL if there is none before end. */
static const char *next_line(const char *p, const char *end)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return newline ? newline + 1 : NULL;
}

/*
 * Finds, in data..data_end, which begins one byte before the range (or with it, at the text's start), the lines that
 * begin in the range. complete: data_end is the end of the file. 0: more data are needed to know the end.
 */
static int cut(spryi_block *block, const char *data, const char *data_end, int at_start, int64_t range, int complete)
{
    const char *first = at_start ? data : next_line(data, data_end);
    const char *range_end = data + (at_start ? 0 : 1) + range; /* lines that begin before it are ours */
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
        int complete = have < want || want == BUFFER_BYTES; /* a line past a full buffer is too long anyway */
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

static spry_status inflate_next(spryi_text *text, spryi_block *block, spry_error *err)
{
    int64_t have = 0;
    spry_status status = spryi_inflater_next(text, block->buffer, BUFFER_BYTES, &have, err);
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
        spryi_inflater_put_back(text->inflater, from, block->end - from);
    } else if (text->memory) {
        text->start = text->next = from - text->memory;
    } else {
        text->start = text->next = block->offset + (from - block->text);
    }
}

/* ---- reading by several threads ---------------------------------------------------------------- */

typedef struct reading {
    spryi_text *text;
    const spryi_readers *how;
    void *job;
    spryi_block *blocks;        /* one of each reader */
    char *own;                  /* of how->own_bytes bytes each */
    spryi_memory_limit *limit;  /* the caller's */
    _Atomic int64_t next_block; /* the one that may be joined now */
    _Atomic int stop;
    /* belong to the thread that has the next block */
    spry_status status;
    spry_error error;
} reading;

/* Takes blocks until there are none, or one has failed. */
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

/* zlib allocates where a reader first inflates. */
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
    int threads = spry_context_threads(context), made = 0;
    if (threads > (blocks + 1) / 2) threads = (int)((blocks + 1) / 2); /* two blocks each at least */
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
