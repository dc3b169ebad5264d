/* Memory: every byte the library keeps passes through the context's allocator and is counted. */
#pragma once

#include "spry/spry.h"

#include <pthread.h>

enum { SPRYI_ALIGNMENT = 64 };

/*
 * *pointer = count * size bytes, aligned to SPRYI_ALIGNMENT, not cleared; count 0 gives a valid pointer.
 * SPRY_OUT_OF_MEMORY names `what` and the bytes; SPRY_TOO_LARGE when the product overflows.
 * Large blocks ask for huge pages and are refused when they are more than spryi_available_memory_bytes tells,
 * since Linux would otherwise grant them and kill the process later.
 */
spry_status spryi_allocate(spry_context *context, void **pointer, int64_t count, size_t size, const char *what,
                           spry_error *err);

/*
 * The same for what may turn out smaller: address space, of which only pages that are written cost memory, and which is
 * not counted until spryi_shrink says how much of it is used. Not with hooks of the user, where all of it might be
 * held. No machine's memory is overdrawn: the caller asks for no more than there is.
 */
spry_status spryi_reserve(spry_context *context, void **pointer, int64_t count, size_t size, const char *what,
                          spry_error *err);

/* The block is of so many bytes from now on; small ones are cut off and may move, which *pointer follows. */
void spryi_shrink(spry_context *context, void **pointer, int64_t bytes);

/*
 * The most bytes that a call may hold at once: its threads count what they allocate and release from the moment that
 * they have it. What would pass it fails as where there is no memory, and `needed` tells why.
 */
typedef struct spryi_memory_limit {
    int64_t most;
    int64_t asked;  /* the caller's limit; most may be more while a file's head is read */
    int64_t enough; /* a limit that suffices; 0: not known */
    _Atomic int64_t held;
    _Atomic int64_t needed; /* at once, where something was refused */
    struct spryi_memory_limit *before;
} spryi_memory_limit;

/* The calling thread's limit until its end, in place of the one before; 0 bytes: none. */
void spryi_begin_memory_limit(spryi_memory_limit *limit, int64_t most);

/*
 * Its end, and what `status` of the call means: SPRY_TOO_LARGE, naming memory_limit_bytes, where the limit was in the
 * way.
 */
spry_status spryi_end_memory_limit(spryi_memory_limit *limit, spry_status status, spry_error *err);

/*
 * Notes a limit that suffices for the rest of the call, which a refusal reports. From here on the caller's limit holds.
 * Returns SPRY_OUT_OF_MEMORY if `least` bytes, which the call holds at once, would pass the limit.
 */
spry_status spryi_note_needs(int64_t least, int64_t enough, const char *what, spry_error *err);

/* The calling thread's, for threads that work for it; NULL: none. Returns the one before. */
spryi_memory_limit *spryi_set_memory_limit(spryi_memory_limit *limit);
spryi_memory_limit *spryi_get_memory_limit(void);

/* SPRY_INVALID_ARGUMENT where a limit in options is negative; `of` says whose. */
spry_status spryi_check_memory_limit_option(const char *of, int64_t bytes, spry_error *err);

/* Returns whether two arrays share a byte. Empty ones share none. */
static inline int spryi_overlap(const void *p, int64_t p_bytes, const void *q, int64_t q_bytes)
{
    const uintptr_t a = (uintptr_t)p, b = (uintptr_t)q;
    return p && q && p_bytes > 0 && q_bytes > 0 && a < b + (uintptr_t)q_bytes && b < a + (uintptr_t)p_bytes;
}

/* Returns a + b, or INT64_MAX if the sum overflows. Both are 0 or more. */
static inline int64_t spryi_add_bytes(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* NULL is fine. */
void spryi_release(spry_context *context, void *pointer);

/* Allocates into a typed pointer: SPRYI_TRY(SPRYI_NEW(context, &Ap, m + 1, "row offsets", err)); */
#define SPRYI_NEW(context, pointer, count, what, err)                                                                  \
    spryi_allocate((context), (void **)(pointer), (count), sizeof **(pointer), (what), (err))

/* Host memory that this process can still allocate: free memory, limits of control groups, limits of the process. */
int64_t spryi_available_memory_bytes(void);

/*
 * The same with the files of the system below `root` ("" for the system's own), and under
 * limits as getrlimit tells them, of address space and of data. INT64_MAX where nothing is known.
 */
int64_t spryi_available_memory_under(const char *root, uint64_t address_limit, uint64_t data_limit);

/* ---- blocks that are kept -------------------------------------------------------------------------------- */

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
enum { SPRYI_MOST_CACHED_BLOCKS = 16 };

typedef struct spryi_block_cache {
    pthread_mutex_t lock;
    int count;
    int64_t bytes; /* of all that may have pages */
    struct {
        void *block;
        size_t bytes, touched;        /* of address space, and from the start on what may have pages */
    } list[SPRYI_MOST_CACHED_BLOCKS]; /* the oldest first */
} spryi_block_cache;

/* Frees all; returns how many bytes. */
int64_t spryi_block_cache_release(spry_context *context);

/* How many bytes that would be. */
int64_t spryi_block_cache_bytes(const spry_context *context);
