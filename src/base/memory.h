/* Memory: all memory that the library keeps comes from the context's allocator and is counted. */
#pragma once

#include "spry/spry.h"

#include <pthread.h>
#include <stdbool.h>

enum { SPRYI_ALIGNMENT = 64 };

/*
 * Allocates count * size bytes, aligned to SPRYI_ALIGNMENT, not cleared. count 0 gives a valid pointer. Returns
 * SPRY_OUT_OF_MEMORY with `label` and the bytes in the message, or SPRY_TOO_LARGE if the product overflows. Large
 * blocks use huge pages. They are refused if they exceed spryi_available_memory_bytes, since Linux would otherwise
 * grant them and kill the process later.
 */
spry_status spryi_allocate(spry_context *context, void **pointer, int64_t count, size_t size, const char *label,
                           spry_error *err);

/*
 * Reserves address space for an array whose final size is unknown. Only pages that are written use memory. The block is
 * not counted until spryi_shrink sets its size. Returns SPRY_UNSUPPORTED if the user's hooks allocate, since they might
 * allocate memory for the whole block. Refuses reservations that exceed the available memory.
 */
spry_status spryi_reserve(spry_context *context, void **pointer, int64_t count, size_t size, const char *label,
                          spry_error *err);

/*
 * Sets the size of a reserved block. The block is counted from then on. A small block is copied to a block of that
 * size, so *pointer may change.
 */
void spryi_shrink(spry_context *context, void **pointer, int64_t bytes);

/*
 * Limit of the bytes that a call may hold at the same time. The threads of the call count what they allocate and
 * release. An allocation that would exceed the limit fails with SPRY_OUT_OF_MEMORY and sets `needed`.
 */
typedef struct spryi_memory_limit {
    int64_t most;
    int64_t asked;  /* the caller's limit; `most` may be larger while the head of a file is read */
    int64_t enough; /* a limit that suffices; 0: not known */
    _Atomic int64_t held;
    _Atomic int64_t needed; /* bytes that a refused allocation would have needed in total; 0: none was refused */
    struct spryi_memory_limit *before;
} spryi_memory_limit;

/* Sets the calling thread's limit until spryi_end_memory_limit, in place of the previous limit. most 0: no limit. */
void spryi_begin_memory_limit(spryi_memory_limit *limit, int64_t most);

/*
 * Restores the previous limit. Returns SPRY_TOO_LARGE, naming memory_limit_bytes, if the limit caused a failure of the
 * call; otherwise returns `status`, the status of the call.
 */
spry_status spryi_end_memory_limit(spryi_memory_limit *limit, spry_status status, spry_error *err);

/*
 * Stores `enough`, a limit that suffices for the rest of the call, for the message of a refusal. Sets the limit to
 * `asked`, the caller's limit. Returns SPRY_OUT_OF_MEMORY if `least` bytes, in addition to the bytes held, would exceed
 * the limit.
 */
spry_status spryi_note_needs(int64_t least, int64_t enough, const char *label, spry_error *err);

/* Gives the calling thread the limit of the thread that it works for; NULL: no limit. Returns the previous limit. */
spryi_memory_limit *spryi_set_memory_limit(spryi_memory_limit *limit);
spryi_memory_limit *spryi_get_memory_limit(void);

/* Returns SPRY_INVALID_ARGUMENT if a limit in options is negative. `of` names the options in the message. */
spry_status spryi_check_memory_limit_option(const char *of, int64_t bytes, spry_error *err);

/* Returns whether two arrays share a byte. Empty arrays share none. */
static inline bool spryi_overlap(const void *p, int64_t p_bytes, const void *q, int64_t q_bytes)
{
    const uintptr_t a = (uintptr_t)p, b = (uintptr_t)q;
    return p && q && p_bytes > 0 && q_bytes > 0 && a < b + (uintptr_t)q_bytes && b < a + (uintptr_t)p_bytes;
}

/* Returns a + b, or INT64_MAX if the sum overflows. a and b are 0 or more. */
static inline int64_t spryi_add_bytes(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* pointer may be NULL. */
void spryi_release(spry_context *context, void *pointer);

/* Allocates into a typed pointer: SPRYI_TRY(SPRYI_NEW(context, &Ap, m + 1, "row offsets", err)); */
#define SPRYI_NEW(context, pointer, count, label, err)                                                                 \
    spryi_allocate((context), (void **)(pointer), (count), sizeof **(pointer), (label), (err))

/*
 * Returns the host memory that this process can still allocate, the least of free memory, limits of control groups and
 * limits of the process.
 */
int64_t spryi_available_memory_bytes(void);

/*
 * Like spryi_available_memory_bytes, but reads the system's files below the folder `root` ("" for the real files) and
 * uses the given limits of address space and data. UINT64_MAX means no limit. Returns INT64_MAX if nothing is known.
 */
int64_t spryi_available_memory_under(const char *root, uint64_t address_limit, uint64_t data_limit);

/* ---- cached blocks -------------------------------------------------------------------------------------- */

/*
 * A context keeps large freed blocks ("cached blocks") for its next large allocations. The system must clear the pages
 * of a new block. Clearing takes as long as filling the block, so it takes half of the time to build a plan's storage.
 *
 * Cached blocks are offered to the system (MADV_FREE), which takes their pages when memory is short. They do not count
 * in spry_context_info.bytes. The cache has at most SPRYI_MOST_CACHED_BLOCKS blocks and an eighth of the machine's
 * memory. The bytes in use and the cache together are at most the peak of the bytes in use. They may exceed the peak by
 * an eighth if cached blocks serve smaller requests. Nothing is cached if the user's hooks allocate, if the context has
 * no caches, or under AddressSanitizer, which would miss uses after release.
 */
enum { SPRYI_MOST_CACHED_BLOCKS = 16 };

typedef struct spryi_block_cache {
    pthread_mutex_t lock;
    int count;
    int64_t bytes; /* sum of `touched` */
    struct {
        void *block;
        size_t bytes, touched;        /* size of the block; bytes from its start that may have memory pages */
    } list[SPRYI_MOST_CACHED_BLOCKS]; /* oldest first */
} spryi_block_cache;

/* Frees all cached blocks. Returns the number of their bytes that may have had memory pages. */
int64_t spryi_block_cache_release(spry_context *context);

/* Returns the number of bytes of all cached blocks that may have memory pages. */
int64_t spryi_block_cache_bytes(const spry_context *context);
