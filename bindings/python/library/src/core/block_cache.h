/*
 * Large blocks that are given back stay with their context for its next large ones. The system clears each page that
 * it hands out, which takes as long as filling it: half of the time that a plan's storage takes to make.
 *
 * Cached blocks are offered to the system (MADV_FREE), which takes their pages, without asking, when memory is short;
 * they are no part of spry_context_bytes. At most SPRYI_MOST_CACHED_BLOCKS blocks and an eighth of the machine's
 * memory; with them a context holds no more than its peak, and an eighth more where blocks serve for smaller ones.
 * Never where the user's hooks allocate, in a context without caches, nor under AddressSanitizer, which would miss that
 * a block is used after it was released.
 */
#ifndef SPRYI_BLOCK_CACHE_H
#define SPRYI_BLOCK_CACHE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { SPRYI_MOST_CACHED_BLOCKS = 16 };

struct spry_context;

typedef struct spryi_block_cache {
    pthread_mutex_t lock;
    int count;
    int64_t bytes; /* of all that may have pages */
    struct {
        void *block;
        size_t bytes, touched;        /* of address space, and from the start on what may have pages */
    } list[SPRYI_MOST_CACHED_BLOCKS]; /* the oldest first */
} spryi_block_cache;

/* A block of at least *bytes bytes and hardly more, *bytes then its size, *touched of it used; NULL: there is none. */
void *spryi_block_cache_take(struct spry_context *context, size_t *bytes, size_t *touched);

/* 1: the block, of malloc's family, is taken over. 0: the caller frees it. */
int spryi_block_cache_keep(struct spry_context *context, void *block, size_t bytes, size_t touched);

/* Frees the oldest until the context, with so many bytes more, holds no more than it once did, or none is left. */
void spryi_block_cache_make_room(struct spry_context *context, size_t bytes);

/* Frees all; returns how many bytes. */
int64_t spryi_block_cache_release(struct spry_context *context);

/* How many bytes that would be. */
int64_t spryi_block_cache_bytes(const struct spry_context *context);

#endif
