#include "base/cpu_features.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t xgetbv0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Uses cpuid and xgetbv. */
static spryi_simd cpu_simd(void)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return SPRYI_PORTABLE;
    const uint32_t fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28;
    if ((c & (fma | osxsave | avx)) != (fma | osxsave | avx)) return SPRYI_PORTABLE;
    uint64_t kept = xgetbv0(); /* saved registers: bits 1 and 2 for xmm and ymm, bits 5 to 7 for masks and zmm */
    if ((kept & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return SPRYI_PORTABLE;
    const uint32_t bmi = 1u << 3, avx2 = 1u << 5, bmi2 = 1u << 8;
    const uint32_t avx512f = 1u << 16, avx512dq = 1u << 17, avx512cd = 1u << 28, avx512bw = 1u << 30,
                   avx512vl = 1u << 31;
    if (!(b & avx2) || !(b & bmi2)) return SPRYI_PORTABLE;
    const uint32_t all512 = avx512f | avx512dq | avx512cd | avx512bw | avx512vl | bmi;
    return (kept & 0xe0) == 0xe0 && (b & all512) == all512 ? SPRYI_AVX512 : SPRYI_AVX2;
}

bool spryi_cpu_is_amd(void)
{
    uint32_t a, b, c, d;
    const uint32_t auth = 0x68747541; /* first four letters of "AuthenticAMD" */
    return __get_cpuid(0, &a, &b, &c, &d) && b == auth;
}
#else
spryi_simd cpu_simd(void)
{
    return SPRYI_PORTABLE;
}

bool spryi_cpu_is_amd(void)
{
    return false;
}
#endif

bool spryi_allowed_simd(spryi_simd *level)
{
    *level = cpu_simd();
    const char *wanted = getenv("SPRY_SIMD");
    if (!wanted || !wanted[0]) return true;
    for (int l = 0; l < 3; l++)
        if (strcmp(wanted, spryi_simd_name((spryi_simd)l)) == 0) {
            if (l < (int)*level) *level = (spryi_simd)l;
            return true;
        }
    return false;
}

int64_t spryi_memory_bytes(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

/* Reads "level", "type" or "size" of a cache of processor 0 from Linux's list. Sets text to "" if it is missing. */
static void read_about_cache(char text[16], int index, const char *property)
{
    char name[96];
    (void)snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, property);
    FILE *file = fopen(name, "re");
    text[0] = 0;
    if (!file) return;
    if (fscanf(file, "%15s", text) != 1) text[0] = 0;
    (void)fclose(file);
}

/* Returns 0 if Linux does not list the cache. */
static int64_t listed_cache_bytes(int level)
{
    enum { MOST_CACHES = 8 };
    char text[16];
    for (int index = 0; index < MOST_CACHES; index++) {
        read_about_cache(text, index, "level");
        if (strtol(text, NULL, 10) != level) continue;
        read_about_cache(text, index, "type");
        if (strcmp(text, "Instruction") == 0) continue;
        read_about_cache(text, index, "size"); /* "32768K" */
        return 1024 * (int64_t)strtol(text, NULL, 10);
    }
    return 0;
}

/*
 * Returns the size of a cache. Stores the size for later calls, since every context calls this function. Reads Linux's
 * list first: on some processors the C library reports the sum of all caches of the socket, but a core can use only a
 * part of them.
 */
int64_t spryi_cache_bytes(int level)
{
    static const int names[] = {0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    static atomic_llong known[sizeof names / sizeof *names]; /* 0: not found yet */
    if (level < 1 || level > 3) return 0;
    int64_t bytes = atomic_load(&known[level]);
    if (bytes > 0) return bytes;
    bytes = listed_cache_bytes(level);
    if (bytes <= 0) bytes = sysconf(names[level]);
    if (bytes <= 0) return 0;
    atomic_store(&known[level], bytes);
    return bytes;
}
