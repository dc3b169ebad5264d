/*
 * The bytes of what can be read in order alone: a pipe, a terminal, a device. They may never end, so they are read as
 * they are needed; those looked at in advance are held until they are taken.
 */
#ifndef SPRYI_FEED_H
#define SPRYI_FEED_H

#include "spry/spry.h"

#include <stdint.h>

typedef struct spryi_feed {
    spry_context *context;
    int fd;         /* -1: there is none */
    int keeps_open; /* it is the program's, not ours */
    int at_end;     /* nothing more is to be read */
    int64_t total;  /* bytes read so far */
    char *held;     /* of which begin .. end - 1 were not taken */
    int64_t begin, end, capacity;
} spryi_feed;

void spryi_feed_open(spry_context *context, spryi_feed *feed, int fd, int keeps_open);
void spryi_feed_close(spryi_feed *feed);

static inline int64_t spryi_feed_held(const spryi_feed *feed)
{
    return feed->end - feed->begin;
}

/* Reads until `bytes` are held (then no more than these) or the end. */
spry_status spryi_feed_hold(spryi_feed *feed, int64_t bytes, const char *name, spry_error *err);

/* The next bytes, at most `most`; *got 0 at the end. Returns 0, or an errno. */
int spryi_feed_take(spryi_feed *feed, char *to, int64_t most, int64_t *got);

/* The block with all that is held, of which nothing may have been taken: the caller's to release. */
char *spryi_feed_give(spryi_feed *feed);

#endif
