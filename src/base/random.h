/*
 * Random numbers that are the same on every machine: splitmix64 (G. L. Steele, D. Lea, C. H. Flood, Fast Splittable
 * Pseudorandom Number Generators, OOPSLA 2014). Its n-th number needs none before it, so any thread can draw any one.
 */
#pragma once

#include <stdint.h>

/* From the state of one number to that of the next. */
#define SPRYI_RANDOM_STEP 0x9E3779B97F4A7C15u

/* Number `count` (from 1) of the sequence that starts with `seed`. */
static inline uint64_t spryi_random(uint64_t seed, uint64_t count)
{
    uint64_t z = seed + count * SPRYI_RANDOM_STEP;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The same number as 0 <= u < 1. */
static inline double spryi_uniform(uint64_t seed, uint64_t count)
{
    return (double)(spryi_random(seed, count) >> 11) * 0x1p-53;
}
