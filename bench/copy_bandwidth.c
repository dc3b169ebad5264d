/*
 * What the machine's memory gives: a parallel copy with ordinary stores, read plus written bytes over time. Each of
 * the two arrays is 4 times the last-level cache, as far as 1 GB for both and half of the memory that is left allow.
 */
#include "bench/bench.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REPEATS = 5, BRIEF_REPEATS = 3, CACHES = 4, PAGE = 4096 };
static const double mib = 1024.0 * 1024.0;
static const int64_t smallest_array = INT64_C(64) << 20, unknown_cache = INT64_C(64) << 20;
/* Of both arrays together; brief: fresh pages take most of the time, in a virtual machine tenths of a second. */
static const int64_t most_bytes = INT64_C(1000000000), most_brief_bytes = INT64_C(256) << 20;

int64_t bench_copy_bytes(int64_t cache, int64_t available, int brief)
{
    const int64_t most = (brief ? most_brief_bytes : most_bytes) / 2;
    int64_t bytes = CACHES * (cache > 0 ? cache : unknown_cache);
    if (bytes < smallest_array) bytes = smallest_array;
    if (bytes > most) bytes = most;
    if (bytes > available / 4) bytes = available / 4;
    return bytes / PAGE * PAGE;
}

/* Large pages where the system has them, as the library asks for its own arrays. */
static uint64_t *map_bytes(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
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
    uint64_t *from = map_bytes(bytes), *to = map_bytes(bytes);
    double gbps = NAN, times[REPEATS];
    if (from && to) {
        /* First touch by the threads that copy; the value only has to be no constant of the compiler's. */
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t w = 0; w < words; w++) from[w] = (uint64_t)w;
        volatile uint64_t key = 0;
        copy_words(to, from, words, key, threads);
        for (int r = 0; r < repeats; r++) {
            double start = bench_now_us();
            copy_words(to, from, words, key, threads);
            times[r] = bench_now_us() - start;
        }
        gbps = 2e-3 * (double)bytes / bench_summarise(times, repeats).median;
    }
    if (from) munmap(from, bytes);
    if (to) munmap(to, bytes);
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

/* Of the CPU; 0: not known. */
static int64_t cache_of(const spry_context *context)
{
    spry_device_info cpu = SPRY_INIT(spry_device_info);
    return spry_device_get_info(context, 0, &cpu, NULL) == SPRY_OK ? cpu.cache_bytes : 0;
}

void bench_measure_copy(bench_session *session, int brief, char *note, size_t note_size)
{
    const int64_t cache = cache_of(session->context), forced = forced_bytes();
    const int64_t bytes = forced > 0 ? forced : bench_copy_bytes(cache, spry_available_memory_bytes(), brief);
    if (note_size > 0) note[0] = '\0';
    session->copy_gbps = NAN;
    if (bytes > 0)
        session->copy_gbps =
            measure((size_t)bytes, spry_context_threads(session->context), brief ? BRIEF_REPEATS : REPEATS);
    if (isnan(session->copy_gbps))
        snprintf(note, note_size, "not measured (no memory for two arrays of %.0f MiB)", (double)bytes / mib);
    else if (bytes < CACHES * cache)
        snprintf(note, note_size,
                 "measured with arrays of %.0f MiB, smaller than %d times the last-level cache of %.0f MiB",
                 (double)bytes / mib, CACHES, (double)cache / mib);
}

/* Twice the last-level cache, or half of what is left. */
static int make_flush_buffer(bench_session *session)
{
    const int64_t cache = cache_of(session->context), available = spry_available_memory_bytes();
    int64_t bytes = 2 * (cache > 0 ? cache : unknown_cache);
    if (bytes > available / 2) bytes = available / 2;
    if (forced_bytes() > 0) bytes = forced_bytes() / 2;
    session->flush = bytes > 0 ? map_bytes((size_t)bytes) : NULL;
    if (!session->flush) return 0;
    session->flush_bytes = (size_t)bytes;
    memset(session->flush, 1, (size_t)bytes);
    return 1;
}

int bench_session_open(bench_session *session, spry_context *context, char *note, size_t note_size)
{
    session->context = context;
    session->flush = NULL;
    session->flush_bytes = 0;
    bench_measure_copy(session, 0, note, note_size);
    return !session->cold || make_flush_buffer(session);
}

void bench_session_close(bench_session *session)
{
    if (session->flush) munmap(session->flush, session->flush_bytes);
    session->flush = NULL;
}
