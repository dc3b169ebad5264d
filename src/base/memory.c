#include "base/memory.h"

#include "base/context.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- blocks that are kept ------------------------------------------------------------------------------ */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#endif

enum { HUGE_PAGE = 2 << 20, MOST_SHARE = 8, UNUSED_SHARE = 8 };

/* A block of at least *bytes bytes and hardly more, *bytes then its size, *touched of it used; NULL: there is none. */
static void *take_cached(spry_context *context, size_t *bytes, size_t *touched)
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

/* 1: the block, of malloc's family, is taken over. 0: the caller frees it. */
static int keep_cached(spry_context *context, void *block, size_t bytes, size_t touched)
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
static int keep_cached(spry_context *context, void *block, size_t bytes, size_t touched)
{
    (void)context, (void)block, (void)bytes, (void)touched;
    return 0;
}
#endif

/* Frees the oldest until the context, with so many bytes more, holds no more than it once did, or none is left. */
static void make_room(spry_context *context, size_t bytes)
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

/* Stands in front of every block; its size keeps the block aligned. */
typedef union block_head {
    struct {
        int64_t bytes;   /* that were asked for, head included: what the release hook gets back */
        size_t capacity; /* that there are: more in a block that was cached or reserved */
        size_t touched;  /* that may have pages: less in a block that was reserved */
    };
    char padding[SPRYI_ALIGNMENT];
} block_head;

enum { RESERVED_LARGE_FROM = 1 << 20, HUGE_FROM = 8 << 20, ASK_MACHINE_FROM = 64 << 20 };

/* glibc's, with huge pages: gathers from x and long streams are slower by up to a third without. */
static void *fresh_block(size_t bytes)
{
    if (bytes >= ASK_MACHINE_FROM && (int64_t)bytes > spry_available_memory_bytes()) return NULL;
    size_t alignment = bytes >= HUGE_FROM ? (size_t)2 << 20 : SPRYI_ALIGNMENT;
    void *pointer = NULL;
    if (posix_memalign(&pointer, alignment, bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_FROM) (void)madvise(pointer, bytes & ~(size_t)4095, MADV_HUGEPAGE); /* advice only */
#endif
    return pointer;
}

/* *bytes: what there is then; *touched: what of it has pages already. */
static void *default_allocate(spry_context *context, size_t *bytes, size_t *touched)
{
    void *block = NULL;
    *touched = 0;
    if (*bytes >= HUGE_FROM) {
        block = take_cached(context, bytes, touched);
        if (!block) make_room(context, *bytes);
    }
    if (!block) block = fresh_block(*bytes);
    if (!block) {
        (void)spryi_block_cache_release(context); /* those without pages too: address space may be what is short */
        block = fresh_block(*bytes);
    }
    return block;
}

static void count_bytes(spry_context *context, int64_t bytes)
{
    int64_t now = atomic_fetch_add(&context->bytes, bytes) + bytes;
    int64_t peak = atomic_load(&context->peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&context->peak_bytes, &peak, now)) {
    }
}

/* ---- limits of calls ----------------------------------------------------------------------------------- */

static _Thread_local spryi_memory_limit *own_limit;

spryi_memory_limit *spryi_get_memory_limit(void)
{
    return own_limit;
}

spryi_memory_limit *spryi_set_memory_limit(spryi_memory_limit *limit)
{
    spryi_memory_limit *before = own_limit;
    own_limit = limit;
    return before;
}

static void count_limited(int64_t bytes)
{
    if (own_limit) atomic_fetch_add(&own_limit->held, bytes);
}

/* 1, and the bytes count as held; 0: they are too many. */
static int claim_limited(int64_t bytes)
{
    if (!own_limit) return 1;
    const int64_t held = atomic_fetch_add(&own_limit->held, bytes);
    if (bytes <= own_limit->most - held) return 1;
    atomic_fetch_sub(&own_limit->held, bytes);
    atomic_store(&own_limit->needed, bytes > INT64_MAX - held ? INT64_MAX : held + bytes);
    return 0;
}

/* SPRY_OUT_OF_MEMORY where so many bytes, beside what is held, would pass the thread's limit. */
static spry_status check_own_limit(int64_t bytes, const char *what, spry_error *err)
{
    if (!claim_limited(bytes))
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, what, bytes, own_limit->most,
                                "%s: %lld bytes more would pass the limit of %lld", what, (long long)bytes,
                                (long long)own_limit->most);
    count_limited(-bytes);
    return SPRY_OK;
}

spry_status spryi_note_needs(int64_t least, int64_t enough, const char *what, spry_error *err)
{
    if (!own_limit) return SPRY_OK;
    own_limit->most = own_limit->asked;
    own_limit->enough = enough;
    return check_own_limit(least, what, err);
}

spry_status spryi_check_memory_limit_option(const char *of, int64_t bytes, spry_error *err)
{
    if (bytes >= 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "memory_limit_bytes", bytes, 0,
                            "%s: memory_limit_bytes is %lld, expected 0 or more", of, (long long)bytes);
}

void spryi_begin_memory_limit(spryi_memory_limit *limit, int64_t most)
{
    *limit = (spryi_memory_limit){.most = most, .asked = most};
    limit->before = spryi_set_memory_limit(most > 0 ? limit : NULL);
}

spry_status spryi_end_memory_limit(spryi_memory_limit *limit, spry_status status, spry_error *err)
{
    (void)spryi_set_memory_limit(limit->before);
    const int64_t needed = atomic_load(&limit->needed);
    if (status != SPRY_OUT_OF_MEMORY || needed == 0) return status;
    const int64_t value = needed > limit->enough ? needed : limit->enough;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", value, limit->asked,
                            "%s %lld bytes are needed at once, memory_limit_bytes is %lld",
                            limit->enough > 0 ? "up to" : "at least", (long long)value, (long long)limit->asked);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static spry_status refuse(size_t bytes, const char *what, spry_error *err)
{
    const int64_t available = spry_available_memory_bytes();
    if ((int64_t)bytes <= available) /* as far as could be seen: a limit that only the system knows, or hooks */
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, what, (int64_t)bytes, available,
                                "out of memory: %s needs %s, which were refused", what,
                                spryi_show_size((int64_t)bytes).text);
    return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, what, (int64_t)bytes, available,
                            "out of memory: %s needs %s, about %s are available", what,
                            spryi_show_size((int64_t)bytes).text, spryi_show_size(available).text);
}

/* counted 0: spryi_shrink counts it. */
static spry_status take(spry_context *context, void **pointer, int64_t count, size_t size, int counted,
                        const char *what, spry_error *err)
{
    size_t bytes = 0, touched = 0;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(block_head), &bytes) || bytes > (size_t)INT64_MAX)
        return spryi_fail_value(err, SPRY_TOO_LARGE, what, count, INT64_MAX, "%s: %lld entries of %zu bytes overflow",
                                what, (long long)count, size);
    SPRYI_OK_OR_RETURN(check_own_limit((int64_t)bytes, what, err));
    size_t capacity = bytes;
    /* Address space costs nothing, and as a large block its pages are kept: the heap gives them back each time. */
    if (!counted && bytes >= RESERVED_LARGE_FROM && bytes < HUGE_FROM) capacity = HUGE_FROM;
    block_head *head = context->allocate ? context->allocate(context->user, bytes, SPRYI_ALIGNMENT)
                                         : default_allocate(context, &capacity, &touched);
    if (!head) return refuse(bytes, what, err);
    head->bytes = counted ? (int64_t)bytes : 0;
    head->capacity = capacity;
    head->touched = counted || touched > capacity ? capacity : touched;
    count_bytes(context, head->bytes);
    count_limited(head->bytes);
    *pointer = head + 1;
    return SPRY_OK;
}

spry_status spryi_allocate(spry_context *context, void **pointer, int64_t count, size_t size, const char *what,
                           spry_error *err)
{
    return take(context, pointer, count, size, 1, what, err);
}

spry_status spryi_reserve(spry_context *context, void **pointer, int64_t count, size_t size, const char *what,
                          spry_error *err)
{
    if (context->allocate)
        return spryi_fail(err, SPRY_UNSUPPORTED, what, "%s: memory hooks cannot reserve address space", what);
    return take(context, pointer, count, size, 0, what, err);
}

void spryi_shrink(spry_context *context, void **pointer, int64_t bytes)
{
    block_head *head = (block_head *)*pointer - 1;
    const size_t all = (size_t)bytes + sizeof *head;
    if (head->capacity < HUGE_FROM) {
        block_head *exact = fresh_block(all); /* what is reserved of the heap may have been written by others */
        if (exact) {
            memcpy(exact, head, all);
            free(head);
            head = exact;
            head->capacity = all;
        }
    }
    head->bytes = (int64_t)all;
    if (all > head->touched) head->touched = all;
    count_bytes(context, head->bytes);
    count_limited(head->bytes);
    *pointer = head + 1;
}

void spryi_release(spry_context *context, void *pointer)
{
    if (!pointer) return;
    block_head *head = (block_head *)pointer - 1;
    int64_t bytes = head->bytes;
    const size_t capacity = head->capacity, touched = head->touched;
    atomic_fetch_sub(&context->bytes, bytes);
    count_limited(-bytes);
    if (context->release) {
        context->release(context->user, head, (size_t)bytes);
    } else if (capacity < HUGE_FROM || !keep_cached(context, head, capacity, touched)) {
        free(head);
    }
}
