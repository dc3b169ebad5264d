/* In which order threads sum the pieces of C, and where each goes that was not counted before. */
#pragma once

#include "spgemm/kernels/spgemm.h"

#include <immintrin.h>
#include <stdatomic.h>
#include <string.h>

/*
 * Where the pieces of C go. They are taken in order; whoever has summed one publishes its size, and its place is known
 * when those of all before it are. Nobody waits: positions are worked out by whoever looks, all alike.
 */
typedef struct spryi_piece_order {
    int64_t count;
    _Atomic int64_t next, known; /* the next to be taken; positions up to about this one are known */
    _Atomic int64_t *sizes;      /* entries of each piece, -1 while it is not summed */
    _Atomic int64_t *positions;  /* entries of C before each, count + 1; -1 while that is not known */
} spryi_piece_order;

static inline void spryi_begin_order(spryi_piece_order *o, const spryi_work_pieces *pieces)
{
    o->count = pieces->count;
    o->sizes = (_Atomic int64_t *)pieces->sizes;
    o->positions = (_Atomic int64_t *)pieces->positions;
    memset(pieces->sizes, 0xff, (size_t)pieces->count * sizeof *pieces->sizes);
    memset(pieces->positions, 0xff, ((size_t)pieces->count + 1) * sizeof *pieces->positions);
    pieces->positions[0] = 0;
}

/* 1: it is the first to say so, and has to copy the piece. */
static inline int spryi_publish(const spryi_piece_order *o, int64_t piece, int64_t entries)
{
    int64_t unknown = -1;
    return atomic_compare_exchange_strong(&o->sizes[piece], &unknown, entries);
}

/* Works out what positions it can; the first piece whose size is not known. */
static inline int64_t spryi_first_unknown(spryi_piece_order *o)
{
    int64_t p = atomic_load(&o->known), size;
    for (; p < o->count && (size = atomic_load(&o->sizes[p])) >= 0; p++)
        atomic_store(&o->positions[p + 1], atomic_load(&o->positions[p]) + size);
    atomic_store(&o->known, p);
    return p;
}

/* About as long as it takes to sum a tenth of a piece. */
static inline void spryi_wait_a_little(void)
{
    enum { PAUSES = 128 };
    for (int k = 0; k < PAUSES; k++) _mm_pause();
}
