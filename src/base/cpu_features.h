/* What the processor and the operating system offer. This file's code is built without ISA flags. */
#pragma once

#include <stdint.h>

/* Ordered: a level includes those before it. AVX2 means avx2 + fma + bmi2; AVX512 means f + dq + bw + vl beside. */
typedef enum spryi_simd { SPRYI_PORTABLE = 0, SPRYI_AVX2 = 1, SPRYI_AVX512 = 2 } spryi_simd;

/*
 * Finds the processor's level, lowered by the environment variable SPRY_SIMD = portable | avx2 | avx512. Returns 0 if
 * the variable has another value.
 */
int spryi_allowed_simd(spryi_simd *level);

static inline const char *spryi_simd_name(spryi_simd level)
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    return names[level];
}

int spryi_cpu_is_amd(void);           /* 1: the processor's vendor is AMD */
int64_t spryi_memory_bytes(void);     /* physical memory */
int64_t spryi_cache_bytes(int level); /* data or unified cache; 0: unknown */
