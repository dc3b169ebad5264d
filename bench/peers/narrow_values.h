/* Exact conversion of values to a narrower type, for peers that multiply by wider vectors. */
#pragma once

#include "bench/peer.h"

typedef struct peer_narrow_type {
    const char *name;
    int vector_bytes, bytes; /* bytes of an element of the vectors, and of a value in this type */
    /* Stores element k of values in the array. Returns 0 if the value is not finite or not exact in the type. */
    int (*put)(void *array, int64_t k, const void *values);
} peer_narrow_type;

extern const peer_narrow_type peer_f32, peer_f16, peer_bf16; /* f32 for f64 vectors, f16 and bf16 for f32 vectors */

/*
 * Converts the matrix's values to the type; the caller frees *stored. Returns UNSUPPORTED with an error if the vectors
 * have another type, or if a value is not exact in the type, because the product would differ.
 */
int peer_narrow(void **stored, const spry_peer_matrix *a, const peer_narrow_type *type, spry_peer_error *error);
