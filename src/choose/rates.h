/*
 * How fast classes of devices do the work of a product, by format: constants, fitted by least squares of the logarithms
 * of times (cost.c has the work and the formula).
 */
#ifndef SPRYI_CHOOSE_RATES_H
#define SPRYI_CHOOSE_RATES_H

/* us, and bytes a us; of a CPU by one thread. */
typedef struct spryi_format_rates {
    const char *format;
    double launch, sharp;
    double cached, memory;     /* bytes streamed from the second-level cache, and from memory */
    double gather, near;       /* bytes of sectors that warps, and that neighbouring rows together, gather */
    double step, slice, block; /* us of a step, of 32 rows or of one, and of a block: cost_gpu.c, cost_cpu.c */
    double ragged, column;     /* us of a slot that not all rows of a slice have, and of a number of x staged */
    double chain;              /* us of an entry of the longest row */
    double uneven, holes;      /* shares added by the deviation of row lengths, and by blocks with holes */
    double longest, heaviest;  /* shares added by the steps and the work of the heaviest window */
    double ahead;              /* share of the streaming that asking ahead spares */
    double setup, setup_entry; /* us, and us a million: entries, */
    double setup_row;          /* rows, */
    double setup_value;        /* and bytes of values */
} spryi_format_rates;

enum { SPRYI_MOST_RATES = 12 };

typedef struct spryi_device_class {
    const char *name;                /* "h200" */
    const char *title;               /* "NVIDIA H100 and H200" */
    const char *fitted;              /* to what, and when */
    const char *driver;              /* "cpu", "cuda" */
    double cache_bytes;              /* of the last cache; of a CPU what a thread has of it */
    double most_memory;              /* bytes a us that all threads together read from memory */
    double copy;                     /* bytes a us of a copy in memory, read and written; 0: not told */
    const spryi_format_rates *rates; /* csr's first */
    int formats;
} spryi_device_class;

/* Number n of the classes; NULL: there are fewer. */
const spryi_device_class *spryi_device_class_at(int n);

/* NULL: there is none of that name. */
const spryi_device_class *spryi_device_class_named(const char *name);

#endif
