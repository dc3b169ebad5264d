#include "core/block_cache.h"

#include "core/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#endif

enum { HUGE_PAGE = 2 << 20, MOST_SHARE = 8, UNUSED_SHARE = 8 };

void *spryi_block_cache_take(spry_context *context, size_t *bytes, size_t *touched)
{
    spryi_block_cache *s = &context->cached_blocks;
    void *block = NULL;
    int best = -1;
    pthread_mutex_lock(&s->lock);
    for (int b = 0; b < s->count; b++) {
        const size_t size = s->list[b].bytes;
        if (size < *bytes || size - *bytes > size / UNUSED_SHARE) continue;
        if (best < 0 || size < s->list[best].bytes) best = b;
    }
    if (best >= 0) {
        block = s->list[best].block;
        *bytes = s->list[best].bytes;
        *touched = s->list[best].touched;
        s->bytes -= (int64_t)*touched;
        s->count--;
        memmove(s->list + best, s->list + best + 1, (size_t)(s->count - best) * sizeof *s->list);
    }
    pthread_mutex_unlock(&s->lock);
    return block;
}

#if !defined(WATCHED)
static int64_t most_bytes(const spry_context *context)
{
    const int64_t beside = atomic_load(&context->peak_bytes) - atomic_load(&context->bytes);
    const int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) / MOST_SHARE * (int64_t)sysconf(_SC_PAGESIZE);
    return beside < machine ? beside : machine;
}

int spryi_block_cache_keep(spry_context *context, void *block, size_t bytes, size_t touched)
{
    spryi_block_cache *s = &context->cached_blocks;
    if (context->no_caches) return 0;
    pthread_mutex_lock(&s->lock);
    int kept = s->count < SPRYI_MOST_CACHED_BLOCKS && s->bytes + (int64_t)touched <= most_bytes(context);
    if (kept) {
#ifdef MADV_FREE
        (void)madvise(block, bytes & ~(size_t)(HUGE_PAGE - 1), MADV_FREE); /* advice only */
#endif
        s->list[s->count].block = block;
        s->list[s->count].touched = touched;
        s->list[s->count++].bytes = bytes;
        s->bytes += (int64_t)touched;
    }
    pthread_mutex_unlock(&s->lock);
    return kept;
}
#else
int spryi_block_cache_keep(spry_context *context, void *block, size_t bytes, size_t touched)
{
    (void)context, (void)block, (void)bytes, (void)touched;
    return 0;
}
#endif

void spryi_block_cache_make_room(spry_context *context, size_t bytes)
{
    spryi_block_cache *s = &context->cached_blocks;
    pthread_mutex_lock(&s->lock);
    const int64_t room = atomic_load(&context->peak_bytes) - atomic_load(&context->bytes) - (int64_t)bytes;
    int64_t goes = 0;
    int gone = 0;
    for (; gone < s->count && s->bytes - goes > room; gone++) {
        goes += (int64_t)s->list[gone].touched;
        free(s->list[gone].block);
    }
    s->bytes -= goes;
    s->count -= gone;
    memmove(s->list, s->list + gone, (size_t)s->count * sizeof *s->list);
    pthread_mutex_unlock(&s->lock);
}

int64_t spryi_block_cache_bytes(const spry_context *context)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&context->cached_blocks.lock;
    pthread_mutex_lock(lock);
    const int64_t bytes = context->cached_blocks.bytes;
    pthread_mutex_unlock(lock);
    return bytes;
}

int64_t spryi_block_cache_release(spry_context *context)
{
    spryi_block_cache *s = &context->cached_blocks;
    pthread_mutex_lock(&s->lock);
    const int64_t bytes = s->bytes;
    while (s->count > 0) free(s->list[--s->count].block);
    s->bytes = 0;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}
