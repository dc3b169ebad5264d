#include "io/feed.h"

#include "core/error.h"
#include "core/memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 64 << 10 };

void spryi_feed_open(spry_context *context, spryi_feed *feed, int fd, int keeps_open)
{
    *feed = (spryi_feed){.context = context, .fd = fd, .keeps_open = keeps_open};
}

void spryi_feed_close(spryi_feed *feed)
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
