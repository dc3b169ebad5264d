/* What a product takes in each format: its work, by the features of a matrix, at the rates of a class of devices. */
#pragma once

#include "choose/features.h"
#include "choose/rates.h"

/* The work of a row of the table of a device, threads of whose cache x may fill. */
spryi_work spryi_work_of(const spryi_format_rates *rates, const spryi_device_class *device,
                         const spryi_features *features, double threads);

/* Returns why a format, with a kernel that has its own rates, is not suitable; NULL if it is. */
const char *spryi_why_refused(const spryi_format_rates *rates, const spryi_device_class *device,
                              const spryi_features *features, bool vectorized);

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
    int index;                   /* of the format, spryi_estimated_index */
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

/*
 * Estimates all formats that have rates, in the table's order, csr first; on a CPU with this number of threads.
 * vectorized: the CPU has AVX2. Returns the number of estimates.
 */
int spryi_estimate_all(spryi_estimate *list, const spryi_device_class *device, const spryi_features *features,
                       int threads, bool vectorized);

/* The question to a format's estimator. index: of the format. */
spryi_product spryi_product_of(int index, const char *kernel, const spryi_device_class *device,
                               const spryi_features *features, bool vectorized);
