/*
 * Random numbers that are the same on every machine: splitmix64 (G. L. Steele, D. Lea, C. H. Flood, Fast Splittable
 * Pseudorandom Number Generators, OOPSLA 2014). The n-th number is computed directly, so any thread can draw any
 * number.
 */
#pragma once

#include <stdint.h>

/* Difference between the states of consecutive numbers. */
#define SPRYI_RANDOM_STEP 0x9E3779B97F4A7C15u

/* Returns number `count` (from 1) of the sequence that starts with `seed`. */
static inline uint64_t spryi_random(uint64_t seed, uint64_t count)
{
    uint64_t z = seed + count * SPRYI_RANDOM_STEP;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Returns number `count` of the sequence, scaled to 0 <= u < 1. */
static inline double spryi_uniform(uint64_t seed, uint64_t count)
{
    return (double)(spryi_random(seed, count) >> 11) * 0x1p-53;
}
