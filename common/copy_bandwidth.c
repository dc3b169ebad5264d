#include "common/copy_bandwidth.h"

#include "common/input.h"
#include "spry/tools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 5, BRIEF_REPEATS = 3, CACHES = 4, PAGE = 4096 };
static const double mib = 1024.0 * 1024.0;
static const int64_t smallest_array = INT64_C(64) << 20, unknown_cache = INT64_C(64) << 20;
/* The most for both arrays; brief is less, for fresh pages take tenths of a second in a virtual machine. */
static const int64_t most_bytes = INT64_C(1000000000), most_brief_bytes = INT64_C(256) << 20;

int64_t copy_array_bytes(int64_t cache, int64_t available, int brief)
{
    const int64_t most = (brief ? most_brief_bytes : most_bytes) / 2;
    int64_t bytes = CACHES * (cache > 0 ? cache : unknown_cache);
    if (bytes < smallest_array) bytes = smallest_array;
    if (bytes > most) bytes = most;
    if (bytes > available / 4) bytes = available / 4;
    return bytes / PAGE * PAGE;
}

/*
 * to = from ^ key with key 0, which no compiler can turn into memcpy: that would use streaming stores,
 * which save the read of the target and so measure something that no product can reach.
 */
__attribute__((noinline)) static void copy_words(uint64_t *restrict to, const uint64_t *restrict from, int64_t words,
                                                 uint64_t key, int threads)
{
#pragma omp parallel for simd schedule(static) num_threads(threads)
    for (int64_t w = 0; w < words; w++) to[w] = from[w] ^ key;
}

/* NaN: no memory. */
static double measure(size_t bytes, int threads, int repeats)
{
    int64_t words = (int64_t)(bytes / sizeof(uint64_t));
    uint64_t *from = allocate_pages(bytes), *to = allocate_pages(bytes);
    double gbps = NAN, times[REPEATS];
    if (from && to) {
        /* First touch by the threads that copy; the value only has to be no constant of the compiler's. */
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t w = 0; w < words; w++) from[w] = (uint64_t)w;
        volatile uint64_t key = 0;
        copy_words(to, from, words, key, threads);
        for (int r = 0; r < repeats; r++) {
            double start = now_us();
            copy_words(to, from, words, key, threads);
            times[r] = now_us() - start;
        }
        qsort(times, (size_t)repeats, sizeof *times, by_value);
        gbps = 2e-3 * (double)bytes / times[repeats / 2];
    }
    free(from);
    free(to);
    return gbps;
}

/* SPRY_BENCH_COPY_BYTES: arrays of another size, for tests and slow machines; 0 when not set. */
static int64_t forced_bytes(void)
{
    const char *text = getenv("SPRY_BENCH_COPY_BYTES");
    char *end = NULL;
    long long bytes = text ? strtoll(text, &end, 10) : 0;
    return end && *end == '\0' && bytes >= PAGE ? (int64_t)bytes / PAGE * PAGE : 0;
}

/* The size of the CPU's last cache; 0: not known. */
static int64_t last_cache_bytes(const spry_context *context)
{
    spry_device_info cpu = SPRY_INIT(spry_device_info);
    return spry_device_get_info(context, &cpu, 0, NULL) == SPRY_OK ? cpu.cache_bytes : 0;
}

copy_bandwidth measure_copy_bandwidth(const spry_context *context, int brief)
{
    const int64_t cache = last_cache_bytes(context), forced = forced_bytes();
    const int64_t bytes = forced > 0 ? forced : copy_array_bytes(cache, spry_available_memory_bytes(), brief);
    copy_bandwidth found = {.gbps = NAN};
    if (bytes > 0) found.gbps = measure((size_t)bytes, spry_context_threads(context), brief ? BRIEF_REPEATS : REPEATS);
    if (isnan(found.gbps))
        snprintf(found.note, sizeof found.note, "not measured (no memory for two arrays of %.0f MiB)",
                 (double)bytes / mib);
    else if (bytes < CACHES * cache)
        snprintf(found.note, sizeof found.note,
                 "measured with arrays of %.0f MiB, smaller than %d times the last-level cache of %.0f MiB",
                 (double)bytes / mib, CACHES, (double)cache / mib);
    return found;
}

spry_status measure_device_copy(const spry_context *context, copy_bandwidth *found, int device, int brief,
                                spry_error *err)
{
    *found = (copy_bandwidth){.gbps = NAN};
    if (device <= 0) {
        *found = measure_copy_bandwidth(context, brief);
        return SPRY_OK;
    }
    spry_status status = spry_device_measure_copy(context, &found->gbps, device, err);
    if (status != SPRY_OUT_OF_MEMORY) return status;
    *found = (copy_bandwidth){.gbps = NAN, .note = "not measured (no memory for two arrays on the GPU)"};
    return SPRY_OK;
}

int64_t cache_flush_bytes(const spry_context *context)
{
    const int64_t cache = last_cache_bytes(context), available = spry_available_memory_bytes();
    const int64_t bytes = 2 * (cache > 0 ? cache : unknown_cache);
    if (forced_bytes() > 0) return forced_bytes() / 2;
    return bytes < available / 2 ? bytes : available / 2;
}
