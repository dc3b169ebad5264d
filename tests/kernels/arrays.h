/* Memory that shows every access outside of it, and matrices and vectors in such memory. */
#pragma once

#include "families.h"

/*
 * AT_END: the last byte is the last of a page before one that cannot be touched; canaries before it.
 * AT_START: the first byte is the first of a page behind one that cannot be touched; canaries after it.
 * ON_HEAP: a block of exactly its size, for AddressSanitizer; with canaries around it without that.
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

/* Writing becomes a fault (not ON_HEAP). */
void guarded_read_only(const guarded *g);

/* How a family is handed over. */
typedef struct form {
    const char *name;
    spry_layout layout;
    spry_known sorted; /* what is claimed, where it is true; SPRY_KNOWN_NO: COO entries are shuffled */
    int pattern;
    placement place;
    int64_t expected_calls;
    int brief; /* 1: with few alpha and beta */
} form;

typedef struct given {
    guarded offsets, rows, indices, values;
    spry_arrays a;
} given;

/* values: one a family's entry, in its order. Everything is made read-only. */
given given_make(const family *f, const double *values, const form *how, spry_type type, int pair);
void given_free(given *g);
int given_intact(const given *g);

/* A vector of `count` numbers copied from `numbers`. */
guarded vector_make(const double *numbers, int64_t count, spry_type type, placement place);

/* Distinct numbers of either sign and different size, exactly of `type`. The caller frees. */
double *random_numbers(int64_t count, spry_type type, uint64_t seed);

extern const char *const pair_names[3];
spry_index_type pair_offset_type(int pair);
spry_index_type pair_index_type(int pair);
