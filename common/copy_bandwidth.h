/*
 * The machine's copy bandwidth: a parallel copy with ordinary stores, read plus written bytes over time. Each of the
 * two arrays is 4 times the last-level cache, as far as 1 GB for both and half of the memory that is left allow.
 */
#ifndef SPRY_COMMON_COPY_BANDWIDTH_H
#define SPRY_COMMON_COPY_BANDWIDTH_H

#include "spry/spry.h"

typedef struct copy_bandwidth {
    double gbps;    /* NaN: there was no memory for the arrays */
    char note[256]; /* "not measured (...)" or "measured with arrays of ..., smaller than ..."; else "" */
} copy_bandwidth;

/* brief: of a quarter of the bytes, for one product. */
copy_bandwidth measure_copy_bandwidth(const spry_context *context, int brief);
/* The same of a GPU, where `device` is the number of one. No memory for the arrays is no failure. */
spry_status measure_device_copy(const spry_context *context, copy_bandwidth *found, int device, int brief,
                                spry_error *err);
/* Bytes of each of its two arrays, by the last-level cache (0: not known) and the memory that can still be taken. */
int64_t copy_array_bytes(int64_t cache, int64_t available, int brief);
/* Bytes of a buffer that replaces all of the last-level cache: twice its size, or half of the memory that is left. */
int64_t cache_flush_bytes(const spry_context *context);

#endif
