/*
 * Copy bandwidth of the machine: bytes read plus bytes written, divided by the time of a parallel copy with ordinary
 * stores. Each of the two arrays is 4 times the last-level cache. Both together are at most 1 GB and at most half of
 * the available memory.
 */
#pragma once

#include "spry/spry.h"

#include <stdbool.h>

typedef struct copy_bandwidth {
    double gbps;    /* NaN: memory for the arrays was short */
    char day[16];   /* "2026-11-27": day of the measurement, if an earlier command remembered it; else "" */
    char note[256]; /* "not measured (...)" or "measured with arrays of ..., smaller than ..."; else "" */
} copy_bandwidth;

/* Measures the CPU's copy bandwidth. brief: uses at most 256 MiB for both arrays, and fewer repetitions. */
copy_bandwidth measure_copy_bandwidth(const spry_context *context, bool brief);
/*
 * Measures the copy bandwidth of a device: the CPU if device <= 0, else a GPU. If memory for the arrays is short, sets
 * gbps to NaN and returns SPRY_OK.
 */
spry_status measure_device_copy(const spry_context *context, copy_bandwidth *found, int device, bool brief,
                                spry_error *err);
/*
 * Returns the remembered bandwidth of this machine, device and number of threads. If none is remembered, measures
 * briefly, and remembers the result unless other programs disturbed it. The file is spry/bandwidth in the user's cache
 * folder. For outputs that use the bandwidth only as a scale.
 */
spry_status recall_device_copy(const spry_context *context, copy_bandwidth *found, int device, spry_error *err);
/* Appends a measured bandwidth to the file. */
void remember_device_copy(const spry_context *context, const copy_bandwidth *found, int device);

/*
 * Returns the bytes of one of the two arrays. cache: bytes of the last-level cache; 0: not known. available: bytes of
 * available memory.
 */
int64_t copy_array_bytes(int64_t cache, int64_t available, bool brief);
/* Returns the size of a buffer that evicts the last-level cache: twice the cache, at most half of available memory. */
int64_t cache_flush_bytes(const spry_context *context);
