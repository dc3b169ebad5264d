/*
 * Classes of devices: how fast a device does the work of a product, by format. The library has a table for each class.
 * Tables of a context replace the library's tables for their classes (spry_context_load_tuning, spry_rates_fit).
 */
#pragma once

#include "core/estimate.h"

#include <stdbool.h>
#include <string.h>

enum { SPRYI_MOST_RATES = 20 };

typedef struct spryi_device_class {
    const char *name;                /* "h200" */
    const char *title;               /* "NVIDIA H200" */
    const char *fitted;              /* machine and date of the fit */
    const char *driver;              /* "cpu", "cuda" */
    double cache_bytes;              /* size of the last cache; on a CPU, the share of one thread */
    double most_memory;              /* largest number of bytes per us that all threads together read from memory */
    double copy;                     /* speed of a copy in memory, in bytes read and written per us; 0: unknown */
    double faster_memory;            /* factor for the rate `memory` of each format; 0 means 1 */
    const spryi_format_rates *rates; /* the first is for csr */
    int formats;
} spryi_device_class;

/* Returns the library's class with an index or name; NULL if there is none. */
const spryi_device_class *spryi_device_class_at(int n);
const spryi_device_class *spryi_device_class_named(const char *name);

/* Returns whether the devices of the class are CPUs. Messages show times of CPUs as shares of the time of csr. */
static inline bool spryi_class_is_cpu(const spryi_device_class *c)
{
    return strcmp(c->driver, "cpu") == 0;
}

#define SPRYI_MOST_RATE 1e15 /* largest rate in a table */

/* Name of a rate in tables. */
typedef struct spryi_rate_name {
    const char *name;
    size_t offset; /* byte offset of the rate in its struct */
    double least;  /* smallest value that a table may have; a rate of 0 means that the format has no such work */
} spryi_rate_name;

extern const spryi_rate_name spryi_rate_names[];  /* members of spryi_format_rates; the last name is NULL */
extern const spryi_rate_name spryi_class_names[]; /* members of spryi_device_class */

static inline double *spryi_rate(void *of, const spryi_rate_name *name)
{
    return (double *)((char *)of + name->offset);
}

/* ---- tables of a context ---- */

/* A class, with the memory that contains its texts and rates. */
typedef struct spryi_own_class {
    spryi_device_class c;
    spryi_format_rates rates[SPRYI_MOST_RATES];
    char name[32], title[96], fitted[160], driver[16];
} spryi_own_class;

void spryi_copy_class(spryi_own_class *own, const spryi_device_class *c); /* at most SPRYI_MOST_RATES formats */

enum { SPRYI_MOST_OWN_CLASSES = 8 };

/*
 * Adds classes to the context, which owns them from then on. They were allocated by the context's allocator. Each class
 * replaces the context's class of the same name. If the context would have too many classes, adds none and returns
 * SPRY_TOO_LARGE. No other thread may use the context during the call.
 */
spry_status spryi_context_adopt_classes(spry_context *context, spryi_own_class *const *classes, int count,
                                        spry_error *err);

/* Returns the class of a name: the context's, else the library's; NULL if there is none. */
const spryi_device_class *spryi_class_named(const spry_context *context, const char *name);

/* Names of the library's classes, for messages: "h200, h100, ...". */
typedef struct spryi_name_list {
    char text[160];
} spryi_name_list;
spryi_name_list spryi_list_classes(void);

/* Finds the class of a name. Returns SPRY_UNKNOWN_NAME with the known names in the message. */
spry_status spryi_find_class(const spry_context *context, const spryi_device_class **found, const char *name,
                             spry_error *err);
