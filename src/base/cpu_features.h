/* Features of the processor and the operating system. cpu_features.c is compiled without ISA flags. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Levels of instruction sets, in ascending order. Each level includes the levels before it. AVX2 means avx2, fma and
 * bmi2. AVX512 adds bmi and avx512 f, dq, cd, bw, vl.
 */
typedef enum spryi_simd { SPRYI_PORTABLE = 0, SPRYI_AVX2 = 1, SPRYI_AVX512 = 2 } spryi_simd;

/*
 * Finds the processor's level, limited by the environment variable SPRY_SIMD = portable | avx2 | avx512. Returns false
 * if the variable has another value.
 */
bool spryi_allowed_simd(spryi_simd *level);

static inline const char *spryi_simd_name(spryi_simd level)
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    return names[level];
}

bool spryi_cpu_is_amd(void);          /* the processor's vendor is AMD */
int64_t spryi_memory_bytes(void);     /* physical memory */
int64_t spryi_cache_bytes(int level); /* data or unified cache of level 1 to 3; 0: unknown */
