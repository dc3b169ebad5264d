#include "base/memory.h"

#include "base/context.h"
#include "base/cpu_features.h"
#include "base/error.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- available memory ----------------------------------------------------------------------------------- */

/*
 * Available memory is the least of three numbers: the available memory of the machine (MemAvailable), the bytes that
 * the process's control groups (version 1 or 2) still permit, as in a container, and the bytes that the limits of the
 * process (ulimit -v and -d) still permit. Reading these small files takes less time than the page faults that the
 * caller's large block will cause.
 */
enum { TEXT_BYTES = 4096, PATH_BYTES = 1024 }; /* sizes of buffers on the stack, which is small in some threads */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Reads a small file as text. Returns false if that fails. */
static bool read_text(char text[TEXT_BYTES], const char *root, const char *path, const char *name)
{
    char full[2 * PATH_BYTES];
    int length = snprintf(full, sizeof full, "%s%s%s", root, path, name);
    int file = length < (int)sizeof full ? open(full, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return false;
    size_t used = 0;
    for (ssize_t got; used < TEXT_BYTES - 1 && (got = read(file, text + used, TEXT_BYTES - 1 - used)) > 0;)
        used += (size_t)got;
    close(file);
    text[used] = '\0';
    return used > 0;
}

/* Returns the integer that the text begins with, or -1 if there is none, as in the text "max". */
static int64_t number_of(const char *text)
{
    char *end = NULL;
    long long number = strtoll(text, &end, 10);
    return end != text && number >= 0 ? (int64_t)number : -1;
}

/* Returns the integer after a name at the beginning of a line; -1: none. */
static int64_t number_after(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0) return number_of(line + length);
    }
    return -1;
}

/* Names of the folder and files of one version of control groups. */
typedef struct hierarchy {
    const char *mount, *limit, *use;
    const char *reclaimable[3]; /* lines of memory.stat: pages that the kernel drops before it refuses an allocation */
} hierarchy;

static const hierarchy version2 = {"/sys/fs/cgroup",
                                   "/memory.max",
                                   "/memory.current",
                                   {"inactive_file ", "active_file ", "slab_reclaimable "}};
static const hierarchy version1 = {"/sys/fs/cgroup/memory",
                                   "/memory.limit_in_bytes",
                                   "/memory.usage_in_bytes",
                                   {"total_inactive_file ", "total_active_file ", NULL}};

/* Returns the bytes that a group may still allocate; INT64_MAX: no limit. */
static int64_t left_in_group(const char *root, const hierarchy *h, const char *path)
{
    char text[TEXT_BYTES];
    const int64_t limit = read_text(text, root, path, h->limit) ? number_of(text) : -1;
    if (limit < 0 || limit > INT64_MAX / 2) return INT64_MAX;
    int64_t used = read_text(text, root, path, h->use) ? number_of(text) : 0;
    if (used > 0 && read_text(text, root, path, "/memory.stat"))
        for (int r = 0; r < 3 && h->reclaimable[r]; r++) {
            const int64_t bytes = number_after(text, h->reclaimable[r]);
            if (bytes > 0) used -= smaller(bytes, used);
        }
    return used < limit ? limit - used : 0;
}

/*
 * Returns the least number of bytes that a group or a group above it may still allocate. In a container, the path may
 * be a path of the host, which does not exist in the container. The files at the mount point then have the container's
 * limit.
 */
static int64_t left_in_groups(const char *root, const hierarchy *h, const char *group, size_t length)
{
    char path[PATH_BYTES];
    const size_t mount = strlen(h->mount);
    int64_t left = INT64_MAX;
    if (mount + length >= sizeof path) length = 0;
    memcpy(path, h->mount, mount);
    memcpy(path + mount, group, length);
    path[mount + length] = '\0';
    if (strstr(path, "/..")) path[mount] = '\0'; /* outside of the mount */
    for (;;) {
        left = smaller(left, left_in_group(root, h, path));
        char *last = strrchr(path + mount, '/');
        if (!last) return left;
        *last = '\0';
    }
}

/* Returns whether a list of controllers contains "memory". */
static bool has_memory(const char *controllers, size_t length)
{
    for (const char *name = controllers, *end = controllers + length; name < end;) {
        const size_t size = strcspn(name, ",:");
        if (size == 6 && strncmp(name, "memory", size) == 0) return true;
        name += size + 1;
    }
    return false;
}

/* Lines of /proc/self/cgroup are id:controllers:path; version 2 has id 0 and no controllers. */
static int64_t left_by_groups(const char *root)
{
    char text[TEXT_BYTES];
    int64_t left = INT64_MAX;
    if (!read_text(text, root, "/proc/self/cgroup", "")) return left;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) break;
        controllers++;
        const size_t length = strcspn(path + 1, "\n");
        if (path == controllers)
            left = smaller(left, left_in_groups(root, &version2, path + 1, length));
        else if (has_memory(controllers, (size_t)(path - controllers)))
            left = smaller(left, left_in_groups(root, &version1, path + 1, length));
    }
    return left;
}

static int64_t left_below(uint64_t limit, int64_t pages)
{
    const int64_t used = pages * (int64_t)sysconf(_SC_PAGESIZE);
    if (limit > INT64_MAX) return INT64_MAX;
    return (int64_t)limit > used ? (int64_t)limit - used : 0;
}

/* /proc/self/statm counts pages: all, resident, shared, text, libraries, data with stack, dirty. */
static int64_t left_by_limits(const char *root, uint64_t address_limit, uint64_t data_limit)
{
    char text[TEXT_BYTES];
    long long all = 0, data = 0;
    if (address_limit > INT64_MAX && data_limit > INT64_MAX) return INT64_MAX;
    if (!read_text(text, root, "/proc/self/statm", "") || sscanf(text, "%lld %*s %*s %*s %*s %lld", &all, &data) != 2)
        all = data = 0;
    return smaller(left_below(address_limit, all), left_below(data_limit, data));
}

int64_t spryi_available_memory_under(const char *root, uint64_t address_limit, uint64_t data_limit)
{
    char text[TEXT_BYTES];
    const int64_t kib = read_text(text, root, "/proc/meminfo", "") ? number_after(text, "MemAvailable:") : -1;
    int64_t left = kib < 0 || kib > INT64_MAX / 1024 ? INT64_MAX : kib * 1024;
    left = smaller(left, left_by_groups(root));
    return smaller(left, left_by_limits(root, address_limit, data_limit));
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    return limit.rlim_cur;
}

int64_t spryi_available_memory_bytes(void)
{
    return smaller(spryi_memory_bytes(), spryi_available_memory_under("", limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA)));
}

/* ---- cached blocks -------------------------------------------------------------------------------------- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#endif

enum { HUGE_PAGE = 2 << 20, MOST_SHARE = 8, UNUSED_SHARE = 8 };

/*
 * Takes the smallest cached block that has at least *bytes bytes and of which at most an eighth would remain unused.
 * Sets *bytes to the block's size and *touched to the number of its bytes that may have memory pages. Returns NULL if
 * there is no such block.
 */
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
    const int64_t below_peak = atomic_load(&context->peak_bytes) - atomic_load(&context->bytes);
    const int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) / MOST_SHARE * (int64_t)sysconf(_SC_PAGESIZE);
    return below_peak < machine ? below_peak : machine;
}

/* Adds a block to the cache. Returns false if it was not added; the caller then frees it. */
static bool keep_cached(spry_context *context, void *block, size_t bytes, size_t touched)
{
    spryi_block_cache *s = &context->cached_blocks;
    if (context->no_caches) return false;
    pthread_mutex_lock(&s->lock);
    const bool kept = s->count < SPRYI_MOST_CACHED_BLOCKS && s->bytes + (int64_t)touched <= most_bytes(context);
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
static bool keep_cached(spry_context *context, void *block, size_t bytes, size_t touched)
{
    (void)context, (void)block, (void)bytes, (void)touched;
    return false;
}
#endif

/*
 * Frees the oldest cached blocks. Stops when the context, with `bytes` more bytes, would hold at most its peak, or when
 * no cached block is left.
 */
static void make_room(spry_context *context, size_t bytes)
{
    spryi_block_cache *s = &context->cached_blocks;
    pthread_mutex_lock(&s->lock);
    const int64_t room = atomic_load(&context->peak_bytes) - atomic_load(&context->bytes) - (int64_t)bytes;
    int64_t freed_bytes = 0;
    int freed = 0;
    for (; freed < s->count && s->bytes - freed_bytes > room; freed++) {
        freed_bytes += (int64_t)s->list[freed].touched;
        free(s->list[freed].block);
    }
    s->bytes -= freed_bytes;
    s->count -= freed;
    memmove(s->list, s->list + freed, (size_t)s->count * sizeof *s->list);
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

/* Header of every block. Its size keeps the block aligned. */
typedef union block_head {
    struct {
        int64_t bytes;   /* requested bytes plus this header, as counted; 0: a reserved block that is not counted yet */
        size_t capacity; /* allocated bytes: more than requested if the block was cached or reserved */
        size_t touched;  /* bytes that may have memory pages: fewer than capacity in a reserved block */
    };
    char padding[SPRYI_ALIGNMENT];
} block_head;

enum { RESERVED_LARGE_FROM = 1 << 20, HUGE_FROM = 8 << 20, ASK_MACHINE_FROM = 64 << 20 };

/*
 * Allocates with posix_memalign. Large blocks use huge pages: without them, gathers from x and long streams are up to a
 * third slower.
 */
static void *fresh_block(size_t bytes)
{
    if (bytes >= ASK_MACHINE_FROM && (int64_t)bytes > spryi_available_memory_bytes()) return NULL;
    size_t alignment = bytes >= HUGE_FROM ? (size_t)2 << 20 : SPRYI_ALIGNMENT;
    void *pointer = NULL;
    if (posix_memalign(&pointer, alignment, bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_FROM) (void)madvise(pointer, bytes & ~(size_t)4095, MADV_HUGEPAGE); /* advice only */
#endif
    return pointer;
}

/* Allocates a block. Sets *bytes to its size and *touched to the number of bytes that may already have memory pages. */
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
        (void)spryi_block_cache_release(context); /* cached blocks use address space even without memory pages */
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

/* Counts the bytes as held and returns true, or returns false if they would exceed the limit. */
static bool claim_limited(int64_t bytes)
{
    if (!own_limit) return true;
    const int64_t held = atomic_fetch_add(&own_limit->held, bytes);
    if (bytes <= own_limit->most - held) return true;
    atomic_fetch_sub(&own_limit->held, bytes);
    atomic_store(&own_limit->needed, bytes > INT64_MAX - held ? INT64_MAX : held + bytes);
    return false;
}

/* Returns SPRY_OUT_OF_MEMORY if `bytes`, in addition to the bytes held, would exceed the thread's limit. */
static spry_status check_own_limit(int64_t bytes, const char *label, spry_error *err)
{
    if (!claim_limited(bytes))
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, label, bytes, own_limit->most,
                                "%s: %lld bytes more would exceed the limit of %lld", label, (long long)bytes,
                                (long long)own_limit->most);
    count_limited(-bytes);
    return SPRY_OK;
}

spry_status spryi_note_needs(int64_t least, int64_t enough, const char *label, spry_error *err)
{
    if (!own_limit) return SPRY_OK;
    own_limit->most = own_limit->asked;
    own_limit->enough = enough;
    return check_own_limit(least, label, err);
}

spry_status spryi_check_memory_limit_option(const char *of, int64_t bytes, spry_error *err)
{
    return spryi_check_range(of, "memory_limit_bytes", bytes, 0, INT64_MAX, "0 or more", err);
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
                            "%s %lld bytes are needed at the same time, but memory_limit_bytes is %lld",
                            limit->enough > 0 ? "up to" : "at least", (long long)value, (long long)limit->asked);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static spry_status refuse(size_t bytes, const char *label, spry_error *err)
{
    const int64_t available = spryi_available_memory_bytes();
    if ((int64_t)bytes <= available) /* refused by the caller's hooks, or by a limit that only the system knows */
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, label, (int64_t)bytes, available,
                                "out of memory: %s needs %s, but the allocation was refused", label,
                                spryi_show_size((int64_t)bytes).text);
    return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, label, (int64_t)bytes, available,
                            "out of memory: %s needs %s, but only about %s are available", label,
                            spryi_show_size((int64_t)bytes).text, spryi_show_size(available).text);
}

/* Allocates a block. If counted is false, the block is not counted yet; spryi_shrink will count it. */
static spry_status allocate_block(spry_context *context, void **pointer, int64_t count, size_t size, bool counted,
                                  const char *label, spry_error *err)
{
    size_t bytes = 0, touched = 0;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(block_head), &bytes) || bytes > (size_t)INT64_MAX)
        return spryi_fail_value(err, SPRY_TOO_LARGE, label, count, INT64_MAX, "%s: %lld entries of %zu bytes overflow",
                                label, (long long)count, size);
    SPRYI_OK_OR_RETURN(check_own_limit((int64_t)bytes, label, err));
    size_t capacity = bytes;
    /* Enlarge a reservation to HUGE_FROM bytes: address space costs nothing, and smaller blocks are not cached. */
    if (!counted && bytes >= RESERVED_LARGE_FROM && bytes < HUGE_FROM) capacity = HUGE_FROM;
    block_head *head = context->allocate ? context->allocate(context->user, bytes, SPRYI_ALIGNMENT)
                                         : default_allocate(context, &capacity, &touched);
    if (!head) return refuse(bytes, label, err);
    head->bytes = counted ? (int64_t)bytes : 0;
    head->capacity = capacity;
    head->touched = counted || touched > capacity ? capacity : touched;
    count_bytes(context, head->bytes);
    count_limited(head->bytes);
    *pointer = head + 1;
    return SPRY_OK;
}

spry_status spryi_allocate(spry_context *context, void **pointer, int64_t count, size_t size, const char *label,
                           spry_error *err)
{
    return allocate_block(context, pointer, count, size, true, label, err);
}

spry_status spryi_reserve(spry_context *context, void **pointer, int64_t count, size_t size, const char *label,
                          spry_error *err)
{
    if (context->allocate)
        return spryi_fail(err, SPRY_UNSUPPORTED, label, "%s: cannot reserve address space with memory hooks", label);
    return allocate_block(context, pointer, count, size, false, label, err);
}

void spryi_shrink(spry_context *context, void **pointer, int64_t bytes)
{
    block_head *head = (block_head *)*pointer - 1;
    const size_t all = (size_t)bytes + sizeof *head;
    if (head->capacity < HUGE_FROM) {
        block_head *exact = fresh_block(all); /* the unused part may already have pages: copy to a smaller block */
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
