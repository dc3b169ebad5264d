/*
 * A set of integers from 0 to 2^40 - 1 that is emptied in constant time. A slot of the hash table stores an integer in
 * its low 40 bits and a mark in its high bits. The slot is used if its mark is the set's current mark, otherwise free.
 * Samplers use the set to count distinct columns, or distinct sectors (32-byte parts) of x.
 */
#pragma once

#include "base/memory.h"

#include <string.h>

enum { SPRYI_SET_MARK_SHIFT = 40 };

typedef struct spryi_number_set {
    uint64_t *slots, mark; /* mark: 1 or more */
    int64_t count;
    int bits; /* the set has 2^bits slots and uses at most three quarters; a full set ignores further integers */
} spryi_number_set;

/* Creates an empty set. The caller releases its slots with spryi_release. */
static inline spry_status spryi_number_set_make(spry_context *context, spryi_number_set *set, int bits,
                                                const char *label, spry_error *err)
{
    *set = (spryi_number_set){.mark = 1, .bits = bits};
    const spry_status status =
        spryi_allocate(context, (void **)&set->slots, INT64_C(1) << bits, sizeof *set->slots, label, err);
    if (status == SPRY_OK) memset(set->slots, 0, sizeof *set->slots << bits);
    return status;
}

/* Empties the set. The marks overflow after 2^24 calls, a hundred times as many as one sampling needs. */
static inline void spryi_number_set_empty(spryi_number_set *set)
{
    set->mark++;
    set->count = 0;
}

static inline bool spryi_number_set_is_full(const spryi_number_set *set)
{
    return 4 * set->count >= 3 << set->bits;
}

/* Returns true if the number was added, false if it was in the set or the set is full. */
static inline bool spryi_number_set_add(spryi_number_set *set, int64_t number)
{
    const uint64_t own = set->mark << SPRYI_SET_MARK_SHIFT | (uint64_t)number, last = (UINT64_C(1) << set->bits) - 1;
    uint64_t *const slots = set->slots;
    uint64_t at = (uint64_t)number * 0x9E3779B97F4A7C15u >> (64 - set->bits), there;
    for (; (there = slots[at]) >> SPRYI_SET_MARK_SHIFT == set->mark; at = (at + 1) & last)
        if (there == own) return false;
    if (spryi_number_set_is_full(set)) return false;
    slots[at] = own;
    set->count++;
    return true;
}
