/* Values in a narrower type, for peers that store them so beside wider vectors. */
#pragma once

#include "bench/peer.h"

typedef struct peer_narrow_type {
    const char *name;
    int vector_bytes, bytes; /* of the vectors' numbers that it goes with, and of its own */
    /* Puts number k of values in the array; 0: it is none of the type's finite numbers. */
    int (*put)(void *array, int64_t k, const void *values);
} peer_narrow_type;

extern const peer_narrow_type peer_f32, peer_f16, peer_bf16; /* f32 beside f64 vectors, the others beside f32 ones */

/*
 * *stored becomes the matrix's values as numbers of the type, to be freed. UNSUPPORTED, with the reason in error, where
 * they are of another type than its vectors or one of them is no number of it: it would be another matrix's product.
 */
int peer_narrow(void **stored, const spry_peer_matrix *a, const peer_narrow_type *type, spry_peer_error *error);
