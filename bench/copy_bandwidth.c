/*
 * What the machine's memory gives: a parallel copy with ordinary stores, read plus written bytes over
 * time. The arrays are at least 4 times the last-level cache, or as large as free memory sensibly allows.
 */
#include "bench/bench.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REPEATS = 5, CACHES = 4 };
static const double mib = 1024.0 * 1024.0;
static const int64_t smallest_array = INT64_C(64) << 20, unknown_cache = INT64_C(64) << 20;

/* Bytes that can be used without pushing anything out; 0 where it cannot be told. */
static int64_t available_bytes(void)
{
    char line[256];
    long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    if (file) {
        while (fgets(line, sizeof line, file))
            if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1) break;
        fclose(file);
    }
    if (kib > 0) return (int64_t)kib * 1024;
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (int64_t)pages * page : 0;
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

static double measure(size_t bytes, int threads)
{
    int64_t words = (int64_t)(bytes / sizeof(uint64_t));
    uint64_t *from = map_bytes(bytes), *to = map_bytes(bytes);
    double gbps = -1, times[REPEATS];
    if (from && to) {
        /* First touch by the threads that copy; the value only has to be no constant of the compiler's. */
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t w = 0; w < words; w++) from[w] = (uint64_t)w;
        volatile uint64_t key = 0;
        copy_words(to, from, words, key, threads);
        for (int r = 0; r < REPEATS; r++) {
            double start = bench_now_us();
            copy_words(to, from, words, key, threads);
            times[r] = bench_now_us() - start;
        }
        gbps = 2e-3 * (double)bytes / bench_summarise(times, REPEATS).median;
    }
    if (from) munmap(from, bytes);
    if (to) munmap(to, bytes);
    return gbps;
}

/* SPRY_BENCH_COPY_BYTES: smaller arrays, for tests and slow machines; 0 when not set. */
static int64_t forced_bytes(void)
{
    const char *text = getenv("SPRY_BENCH_COPY_BYTES");
    char *end = NULL;
    long long bytes = text ? strtoll(text, &end, 10) : 0;
    return end && *end == '\0' && bytes >= 4096 ? (int64_t)bytes : 0;
}

int bench_session_open(bench_session *session, spry_context *context, char *note, size_t note_size)
{
    spry_device_info cpu = SPRY_INIT(spry_device_info);
    int64_t cache = 0;
    if (spry_device_get_info(context, 0, &cpu, NULL) == SPRY_OK) cache = cpu.cache_bytes;
    int64_t wanted = CACHES * (cache > 0 ? cache : unknown_cache), available = available_bytes(), bytes = wanted;
    if (note_size > 0) note[0] = '\0';
    if (bytes < smallest_array) bytes = smallest_array;
    if (available > 0 && bytes > available / 4) bytes = available / 4;
    if (forced_bytes() > 0) bytes = forced_bytes();
    bytes = bytes / 4096 * 4096;
    if (bytes < wanted)
        snprintf(note, note_size,
                 "the copy bandwidth is measured with arrays of %.0f MiB, not the %.0f MiB that are 4 times the "
                 "last-level cache: %s",
                 (double)bytes / mib, (double)wanted / mib,
                 forced_bytes() > 0 ? "SPRY_BENCH_COPY_BYTES says so" : "memory does not allow more");
    session->context = context;
    session->flush = NULL;
    session->flush_bytes = 0;
    session->copy_gbps = measure((size_t)bytes, spry_context_threads(context));
    if (session->copy_gbps < 0) return 0;
    if (session->cold) {
        size_t flush = (size_t)(bytes < wanted ? bytes : wanted) / 2;
        session->flush = map_bytes(flush);
        if (!session->flush) return 0;
        session->flush_bytes = flush;
        memset(session->flush, 1, flush);
    }
    return 1;
}

void bench_session_close(bench_session *session)
{
    if (session->flush) munmap(session->flush, session->flush_bytes);
    session->flush = NULL;
}
