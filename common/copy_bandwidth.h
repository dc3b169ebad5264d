/*
 * The machine's copy bandwidth: a parallel copy with ordinary stores, read plus written bytes over time. Each of the
 * two arrays is 4 times the last-level cache, as far as 1 GB for both and half of the memory that is left allow.
 */
#pragma once

#include "spry/spry.h"

typedef struct copy_bandwidth {
    double gbps;    /* NaN: there was no memory for the arrays */
    char day[16];   /* "2026-11-27", where it was measured by an earlier command and remembered; else "" */
    char note[256]; /* "not measured (...)" or "measured with arrays of ..., smaller than ..."; else "" */
} copy_bandwidth;

/* brief: of a quarter of the bytes, for one product. */
copy_bandwidth measure_copy_bandwidth(const spry_context *context, int brief);
/* The same of a GPU, where `device` is the number of one. No memory for the arrays is no failure. */
spry_status measure_device_copy(const spry_context *context, copy_bandwidth *found, int device, int brief,
                                spry_error *err);
/*
 * The same, but measured once: what was measured is remembered by machine, device and threads in spry/bandwidth of the
 * user's cache folder (XDG_CACHE_HOME, else ~/.cache), unless other programs disturbed it. Of use where the bandwidth
 * is a scale beside an answer, not a measurement of its own.
 */
spry_status recall_device_copy(const spry_context *context, copy_bandwidth *found, int device, spry_error *err);
/* Remembers a bandwidth that was measured. */
void remember_device_copy(const spry_context *context, const copy_bandwidth *found, int device);

/* Bytes of each of its two arrays, by the last-level cache (0: not known) and the memory that can still be taken. */
int64_t copy_array_bytes(int64_t cache, int64_t available, int brief);
/* Bytes of a buffer that replaces all of the last-level cache: twice its size, or half of the memory that is left. */
int64_t cache_flush_bytes(const spry_context *context);
