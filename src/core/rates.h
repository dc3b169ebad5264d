/*
 * How fast classes of devices do the work of a product, by format: the constants of choose/cost.c. The library has a
 * table for each class (choose/rate_tables.c); a context may hold tables of its own, which count in their place
 * (spry_context_load_tuning, spry_rates_fit).
 */
#pragma once

#include "spry/spry.h"

#include <string.h>

/* us, and bytes a us; of a CPU by one thread. */
typedef struct spryi_format_rates {
    const char *format; /* as the catalogue names it, */
    const char *kernel; /* NULL: the one that the format takes by itself */
    double launch, sharp;
    double cached, memory;     /* bytes streamed from the last cache, and from memory */
    double gather, near;       /* bytes of sectors that warps, and that neighbouring rows together, gather, */
    double far;                /* and of the latter those far from the diagonal */
    double step, slice, block; /* us of a step, of 32 rows or of one, and of a block: <family>_work.c */
    double ragged, column;     /* us of a slot that not all rows of a slice have, and of a number of x staged */
    double chain;              /* us of an entry of the longest row */
    double uneven, holes;      /* shares added by the deviation of row lengths, and by blocks with holes */
    double longest, heaviest;  /* shares added by the steps and the work of the heaviest window */
    double ahead;              /* share of the streaming that prefetching spares */
    double setup, setup_entry; /* us, and us a million: entries, */
    double setup_row;          /* rows, */
    double setup_value;        /* and bytes of values */
} spryi_format_rates;

/* Rates of a format in a table of choose/rate_tables.c, which sets rates.format. */
typedef struct spryi_rates_row {
    const char *table;
    spryi_format_rates rates;
} spryi_rates_row;

enum { SPRYI_MOST_RATES = 20 };

typedef struct spryi_device_class {
    const char *name;                /* "h200" */
    const char *title;               /* "NVIDIA H200" */
    const char *fitted;              /* to what, and when */
    const char *driver;              /* "cpu", "cuda" */
    double cache_bytes;              /* of the last cache; of a CPU what a thread has of it */
    double most_memory;              /* bytes a us that all threads together read from memory */
    double copy;                     /* bytes a us of a copy in memory, read and written; 0: not told */
    double faster_memory;            /* what all rates of memory are multiplied by; 0: 1 */
    const spryi_format_rates *rates; /* csr's first */
    int formats;
} spryi_device_class;

/* choose/rate_tables.c: number n of the library's classes; NULL: there are fewer. Or by name; NULL: there is none. */
const spryi_device_class *spryi_device_class_at(int n);
const spryi_device_class *spryi_device_class_named(const char *name);

/* 1: of CPUs, whose times are compared as shares of csr's; 0: of GPUs. */
static inline int spryi_class_is_cpu(const spryi_device_class *c)
{
    return strcmp(c->driver, "cpu") == 0;
}

#define SPRYI_MOST_RATE 1e15 /* that a table may say */

/* A rate by its name in tables. */
typedef struct spryi_rate_name {
    const char *name;
    size_t offset; /* of the number in the struct */
    double least;  /* that a table may say; 0 stands for "there is no such work" */
} spryi_rate_name;

extern const spryi_rate_name spryi_rate_names[];  /* of spryi_format_rates; end with a name of NULL */
extern const spryi_rate_name spryi_class_names[]; /* of spryi_device_class */

static inline double *spryi_rate(void *of, const spryi_rate_name *name)
{
    return (double *)((char *)of + name->offset);
}

/* ---- tables of a context ---- */

/* A class with the memory of its texts and rates. */
typedef struct spryi_own_class {
    spryi_device_class c;
    spryi_format_rates rates[SPRYI_MOST_RATES];
    char name[32], title[96], fitted[160], driver[16];
} spryi_own_class;

void spryi_copy_class(spryi_own_class *own, const spryi_device_class *c); /* of at most SPRYI_MOST_RATES formats */

enum { SPRYI_MOST_OWN_CLASSES = 8 };

/*
 * Takes classes, blocks of the context's, each in place of one of its name; all of them or, where they would be too
 * many, none. Not while another thread uses the context.
 */
spry_status spryi_context_adopt_classes(spry_context *context, spryi_own_class *const *classes, int count,
                                        spry_error *err);
void spryi_context_release_classes(spry_context *context);
