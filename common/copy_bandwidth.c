#include "common/copy_bandwidth.h"

#include "common/disturbance.h"
#include "common/input.h"
#include "common/parallel.h"
#include "spry/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 5, BRIEF_REPEATS = 3, CACHES = 4, PAGE = 4096 };
static const double mib = 1024.0 * 1024.0;
static const int64_t smallest_array = INT64_C(64) << 20, unknown_cache = INT64_C(64) << 20;
/*
 * Limits on the bytes of both arrays together. The limit of a brief measurement is smaller, because touching new pages
 * takes tenths of a second in virtual machines.
 */
static const int64_t most_bytes = INT64_C(1000000000), most_brief_bytes = INT64_C(256) << 20;

int64_t copy_array_bytes(int64_t cache, int64_t available, bool brief)
{
    const int64_t most = (brief ? most_brief_bytes : most_bytes) / 2;
    int64_t bytes = CACHES * (cache > 0 ? cache : unknown_cache);
    if (bytes < smallest_array) bytes = smallest_array;
    if (bytes > most) bytes = most;
    if (bytes > available / 4) bytes = available / 4;
    return bytes / PAGE * PAGE;
}

/*
 * Arguments of copy_words, which copies by to = from ^ key with key 0. Compilers would replace a plain copy by memcpy.
 * memcpy uses non-temporal stores, which do not read the target, and no product reaches their bandwidth.
 */
typedef struct copying {
    uint64_t *to, *from, key;
} copying;

static void copy_words(void *job, int64_t begin, int64_t end)
{
    const copying *c = job;
    uint64_t *restrict to = c->to;
    const uint64_t *restrict from = c->from;
    const uint64_t key = c->key;
    for (int64_t w = begin; w < end; w++) to[w] = from[w] ^ key;
}

/* Writes `from`, so that the copying threads are the first to touch its pages. */
static void write_words(void *job, int64_t begin, int64_t end)
{
    const copying *c = job;
    for (int64_t w = begin; w < end; w++) c->from[w] = (uint64_t)w;
}

/* Returns the bandwidth of a copy in GB/s; NaN if memory is short. bytes: of one array. */
static double measure(size_t bytes, int threads, int repeats)
{
    int64_t words = (int64_t)(bytes / sizeof(uint64_t));
    volatile uint64_t key = 0; /* volatile, so that the compiler cannot assume 0 */
    copying c = {allocate_pages(bytes), allocate_pages(bytes), key};
    double gbps = NAN, times[REPEATS];
    if (c.from && c.to) {
        run_shares(threads, words, write_words, &c);
        run_shares(threads, words, copy_words, &c);
        for (int r = 0; r < repeats; r++) {
            double start = now_us();
            run_shares(threads, words, copy_words, &c);
            times[r] = now_us() - start;
        }
        qsort(times, (size_t)repeats, sizeof *times, by_value);
        gbps = 2e-3 * (double)bytes / times[repeats / 2];
    }
    free(c.from);
    free(c.to);
    return gbps;
}

/*
 * Returns the array size that SPRY_BENCH_COPY_BYTES gives, for tests and slow machines; 0 if it is not set or invalid.
 */
static int64_t forced_bytes(void)
{
    const char *text = getenv("SPRY_BENCH_COPY_BYTES");
    char *end = NULL;
    long long bytes = text ? strtoll(text, &end, 10) : 0;
    return end && *end == '\0' && bytes >= PAGE ? (int64_t)bytes / PAGE * PAGE : 0;
}

/* Returns the size of the CPU's last-level cache; 0: not known. */
static int64_t last_cache_bytes(const spry_context *context)
{
    spry_device_info cpu = SPRY_INIT(spry_device_info);
    return spry_device_get_info(context, &cpu, 0, NULL) == SPRY_OK ? cpu.cache_bytes : 0;
}

copy_bandwidth measure_copy_bandwidth(const spry_context *context, bool brief)
{
    const int64_t cache = last_cache_bytes(context), forced = forced_bytes();
    const int64_t bytes = forced > 0 ? forced : copy_array_bytes(cache, available_memory_bytes(context), brief);
    copy_bandwidth found = {.gbps = NAN};
    if (bytes > 0) found.gbps = measure((size_t)bytes, pool_threads(context), brief ? BRIEF_REPEATS : REPEATS);
    if (isnan(found.gbps))
        snprintf(found.note, sizeof found.note, "not measured (no memory for two arrays of %.0f MiB)",
                 (double)bytes / mib);
    else if (bytes < CACHES * cache)
        snprintf(found.note, sizeof found.note,
                 "measured with arrays of %.0f MiB, smaller than %d times the last-level cache of %.0f MiB",
                 (double)bytes / mib, CACHES, (double)cache / mib);
    return found;
}

spry_status measure_device_copy(const spry_context *context, copy_bandwidth *found, int device, bool brief,
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

/* ---- the file of remembered bandwidths ---------------------------------------------------------- */

enum { MOST_REMEMBERED = 64, LINE = 512 };

/*
 * Writes the path of the file of remembered bandwidths. create: also creates the file's folder. Returns false if no
 * folder is known.
 */
static bool path_of_memory(char *path, size_t size, bool create)
{
    if (!cache_folder(path, size - sizeof "/bandwidth")) return false;
    if (create) {
        char *const last = strrchr(path, '/');
        *last = '\0';
        (void)mkdir(path, 0700);
        *last = '/';
        (void)mkdir(path, 0700);
    }
    strcat(path, "/bandwidth");
    return true;
}

/*
 * Writes the key at the start of a line of the file, "host, device, 2 threads\t". Returns false if the key does not fit
 * or the device is missing.
 */
static bool key_of(const spry_context *context, char *key, size_t size, int device)
{
    char host[64] = "";
    spry_device_info info = SPRY_INIT(spry_device_info);
    if (spry_device_get_info(context, &info, device < 0 ? 0 : device, NULL) != SPRY_OK) return false;
    (void)gethostname(host, sizeof host - 1);
    const int threads = device > 0 ? 0 : pool_threads(context);
    return snprintf(key, size, "%s, %s, %d threads\t", host, info.description, threads) < (int)size;
}

/* Reads the last valid line that begins with `key`. Returns false if the file has no such line. */
static bool recall(const char *path, const char *key, copy_bandwidth *found)
{
    char line[LINE];
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
    bool known = false;
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        char *end = NULL, day[16];
        const double gbps = strtod(line + strlen(key), &end);
        if (*end != '\t' || !(gbps > 1e-2 && gbps < 1e5) || sscanf(end, "\t%15[0-9-]\n", day) != 1) continue;
        found->gbps = gbps;
        snprintf(found->day, sizeof found->day, "%s", day);
        known = true;
    }
    if (file) fclose(file);
    return known;
}

void remember_device_copy(const spry_context *context, const copy_bandwidth *found, int device)
{
    char path[4096], key[LINE], day[16] = "";
    struct tm when;
    struct stat st;
    const time_t now = time(NULL);
    if (isnan(found->gbps) || forced_bytes() > 0 || !key_of(context, key, sizeof key, device)) return;
    if (!path_of_memory(path, sizeof path, true) || !gmtime_r(&now, &when)) return;
    strftime(day, sizeof day, "%Y-%m-%d", &when);
    const bool full = stat(path, &st) == 0 && st.st_size > MOST_REMEMBERED * LINE;
    FILE *file = fopen(path, full ? "w" : "a");
    if (!file) return;
    fprintf(file, "%s%.4g\t%s\n", key, found->gbps, day);
    fclose(file);
}

spry_status recall_device_copy(const spry_context *context, copy_bandwidth *found, int device, spry_error *err)
{
    char path[4096], key[LINE];
    *found = (copy_bandwidth){.gbps = NAN};
    if (forced_bytes() == 0 && path_of_memory(path, sizeof path, false) && key_of(context, key, sizeof key, device) &&
        recall(path, key, found))
        return SPRY_OK;
    const processor_time before = read_processor_time();
    const spry_status status = measure_device_copy(context, found, device, true, err);
    if (status == SPRY_OK && disturbance_since(before, 0) < DISTURBED_SHARE)
        remember_device_copy(context, found, device);
    return status;
}

int64_t cache_flush_bytes(const spry_context *context)
{
    const int64_t cache = last_cache_bytes(context), available = available_memory_bytes(context);
    const int64_t bytes = 2 * (cache > 0 ? cache : unknown_cache);
    if (forced_bytes() > 0) return forced_bytes() / 2;
    return bytes < available / 2 ? bytes : available / 2;
}
