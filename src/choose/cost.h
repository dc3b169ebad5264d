/* What a product takes in each format: its work, by the features of a matrix, at the rates of a class of devices. */
#pragma once

#include "choose/features.h"
#include "core/rates.h"

/* What a product does in a format: bytes streamed, sectors gathered, and the counts of the rates of the same names. */
typedef struct spryi_work {
    double bytes, sectors, near, far, steps, slices, blocks, ragged, columns, chain, uneven, holes, longest, heaviest;
    int ahead;
} spryi_work;

/* cost_gpu.c, cost_cpu.c; of a format, and kernel, that has rates there. */
spryi_work spryi_work_on_gpu(const spryi_format_rates *rates, const spryi_features *features, double cache_bytes);
spryi_work spryi_work_on_cpu(const spryi_format_rates *rates, const spryi_features *features);

/* The work of a row of the table of a device, threads of whose cache x may fill. */
spryi_work spryi_work_of(const spryi_format_rates *rates, const spryi_device_class *device,
                         const spryi_features *features, double threads);

/* 1: a GPU's kernel that gives each row to a few lanes would wait for its longest row. */
int spryi_waits_for_rows(const spryi_format_rates *rates, const spryi_row_profile *rows);

/* By one row of a table, on so many threads. */
double spryi_time_of(const spryi_format_rates *rates, const spryi_work *work, const spryi_device_class *device,
                     double threads);

/*
 * Threads that a matrix of these features is for, where others have `threads`: so small a one on a CPU is one thread's
 * (spryi_threads_for). And us of its product: one thread has no others to wake.
 */
int spryi_threads_of(const spryi_device_class *device, const spryi_features *features, int threads);
double spryi_product_us(const spryi_format_rates *rates, const spryi_work *work, const spryi_device_class *device,
                        const spryi_features *features, int threads);

double spryi_setup_of(const spryi_format_rates *rates, const spryi_features *features, double threads);

typedef struct spryi_estimate {
    const char *format, *kernel; /* kernel: NULL where the format takes it by itself */
    double us;                   /* of a product */
    double setup_us;             /* of the conversion, on a GPU by itself and without the upload */
    double bytes;                /* that a product streams */
    const char *refused;         /* why the format is not to be taken, for people; NULL: it may be */
} spryi_estimate;

/*
 * Formats are compared on a CPU as by so many threads, which the rates were fitted to; other numbers of threads scale
 * all times as they scale csr's: what is taken, and with it the bits of results, is the same for any number of threads.
 */
enum { SPRYI_COMPARED_THREADS = 2 };

/* Estimates of all that has rates, in the table's order, csr first; of a CPU by so many threads. */
int spryi_estimate_all(spryi_estimate *list, const spryi_device_class *device, const spryi_features *features,
                       int threads);
