/* What the processor and the operating system offer. This file's code is built without ISA flags. */
#pragma once

#include <stdint.h>

/* Ordered: a level includes those before it. AVX2 means avx2 + fma + bmi2; AVX512 means f + dq + bw + vl beside. */
typedef enum spryi_simd { SPRYI_PORTABLE = 0, SPRYI_AVX2 = 1, SPRYI_AVX512 = 2 } spryi_simd;

/* The same lowered by the environment variable SPRY_SIMD = portable | avx2 | avx512. 0: it says something else. */
int spryi_allowed_simd(spryi_simd *level);

const char *spryi_simd_name(spryi_simd level);

int spryi_cpu_is_amd(void); /* 1: the processor says so of itself */

/* "Intel(R) Xeon(R) Processor"; "unknown processor" if it cannot be told. Constant string. */
const char *spryi_cpu_name(void);
int64_t spryi_memory_bytes(void);     /* physical */
int64_t spryi_cache_bytes(int level); /* data or unified cache; 0 where unknown */
