/* The hash of containers: XXH3 with 64 bits and no seed, whose result is the same on every machine. */
#ifndef SPRYI_HASH_H
#define SPRYI_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t spryi_hash(const void *data, size_t bytes);

#endif
