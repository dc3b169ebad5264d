/* Memory that reveals accesses out of bounds, and matrices and vectors in such memory. */
#pragma once

#include "families.h"

/*
 * AT_END: the memory ends at the end of a page, and the next page is inaccessible. Canaries are before the memory.
 * AT_START: the memory begins at the start of a page, and the page before is inaccessible. Canaries are after the
 *     memory.
 * ON_HEAP: a block of exactly the size, for AddressSanitizer. Without AddressSanitizer, canaries surround the block.
 */
typedef enum placement { AT_END, AT_START, ON_HEAP } placement;

typedef struct guarded {
    void *data;
    size_t bytes;
    placement place;
    unsigned char *block;
    size_t block_bytes;
} guarded;

guarded guarded_make(size_t bytes, placement place);
void guarded_free(guarded *g);
int guarded_intact(const guarded *g); /* 1: no canary has changed */

/* Makes the memory read-only, except ON_HEAP. */
void guarded_read_only(const guarded *g);

/* How a family is passed to the library: the layout, what the caller states about the order, and the memory. */
typedef struct form {
    const char *name;
    spry_layout layout;
    spry_known sorted; /* stated order; given_make replaces a false YES by NO. SPRY_KNOWN_NO also shuffles COO */
    int pattern;
    placement place;
    int64_t expected_calls;
    int brief; /* 1: tests run few pairs of alpha and beta */
} form;

typedef struct given {
    guarded offsets, rows, indices, values;
    spry_arrays a;
} given;

/* Copies the family to read-only memory. values: one per entry, in the family's order. */
given given_make(const family *f, const double *values, const form *how, spry_type type, int pair);
void given_free(given *g);
int given_intact(const given *g);

/* Creates a vector from `count` elements of `numbers`. */
guarded vector_make(const double *numbers, int64_t count, spry_type type, placement place);

/*
 * Returns random values of both signs and different magnitudes that `type` represents exactly. The caller frees them.
 */
double *random_numbers(int64_t count, spry_type type, uint64_t seed);

extern const char *const pair_names[3];
spry_index_type pair_offset_type(int pair);
spry_index_type pair_index_type(int pair);
