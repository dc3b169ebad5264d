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

/* ---- memory that is available -------------------------------------------------------------------- */

/*
 * The smallest of three numbers: what the machine has (MemAvailable), what the control groups of the process leave (a
 * container's limit, versions 1 and 2), and what its own limits leave (ulimit -v and -d). A dozen small files are read,
 * which takes less time than the pages of one large block.
 */
enum { TEXT_BYTES = 4096, PATH_BYTES = 1024 }; /* small, for the stacks of threads */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Reads a small file as text. Returns 0 if it cannot be read. */
static int read_text(char text[TEXT_BYTES], const char *root, const char *path, const char *name)
{
    char full[2 * PATH_BYTES];
    int length = snprintf(full, sizeof full, "%s%s%s", root, path, name);
    int file = length < (int)sizeof full ? open(full, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    size_t used = 0;
    for (ssize_t got; used < TEXT_BYTES - 1 && (got = read(file, text + used, TEXT_BYTES - 1 - used)) > 0;)
        used += (size_t)got;
    close(file);
    text[used] = '\0';
    return used > 0;
}

/* Returns the whole number that text begins with; -1: none, as in "max". */
static int64_t number_of(const char *text)
{
    char *end = NULL;
    long long number = strtoll(text, &end, 10);
    return end != text && number >= 0 ? (int64_t)number : -1;
}

/* Returns the number behind a name at the beginning of a line; -1: none. */
static int64_t number_after(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0) return number_of(line + length);
    }
    return -1;
}

/* Folder and file names of a version of control groups. */
typedef struct hierarchy {
    const char *mount, *limit, *use;
    const char *reclaimable[3]; /* lines of memory.stat: the kernel drops these pages before it refuses others */
} hierarchy;

static const hierarchy version2 = {"/sys/fs/cgroup",
                                   "/memory.max",
                                   "/memory.current",
                                   {"inactive_file ", "active_file ", "slab_reclaimable "}};
static const hierarchy version1 = {"/sys/fs/cgroup/memory",
                                   "/memory.limit_in_bytes",
                                   "/memory.usage_in_bytes",
                                   {"total_inactive_file ", "total_active_file ", NULL}};

/* Returns the bytes that one group leaves; INT64_MAX: no limit. */
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
 * Returns the least that the group and all groups above it leave. In a container the path may be the host's, which does
 * not exist; then the mount's own files have the container's limit.
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
    if (strstr(path, "/..")) path[mount] = '\0'; /* outside of what is mounted */
    for (;;) {
        left = smaller(left, left_in_group(root, h, path));
        char *last = strrchr(path + mount, '/');
        if (!last) return left;
        *last = '\0';
    }
}

/* Returns whether "memory" is in a list of controllers, up to the colon. */
static int has_memory(const char *controllers, size_t length)
{
    for (const char *name = controllers, *end = controllers + length; name < end;) {
        const size_t size = strcspn(name, ",:");
        if (size == 6 && strncmp(name, "memory", size) == 0) return 1;
        name += size + 1;
    }
    return 0;
}

/* Lines of /proc/self/cgroup are number:controllers:path; version 2 has number 0 and no controllers. */
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
    if (bytes >= ASK_MACHINE_FROM && (int64_t)bytes > spryi_available_memory_bytes()) return NULL;
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
                            "%s %lld bytes are needed at once, memory_limit_bytes is %lld",
                            limit->enough > 0 ? "up to" : "at least", (long long)value, (long long)limit->asked);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static spry_status refuse(size_t bytes, const char *what, spry_error *err)
{
    const int64_t available = spryi_available_memory_bytes();
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
