/* Predicted times of products in each format, from the features of a matrix and the rates of a device class. */
#pragma once

#include "choose/features.h"
#include "choose/rates.h"

/* The work of a row of the table of a device, threads of whose cache x may fill. */
spryi_work spryi_work_of(const spryi_format_rates *rates, const spryi_device_class *device,
                         const spryi_features *features, double threads);

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

/* Formats by predicted time. */
typedef struct spryi_ranking {
    const spryi_device_class *device;
    int threads;             /* of a product on a CPU */
    int64_t calls;           /* over which set-up is counted */
    int64_t columns;         /* of a product: times and bytes are of all of them */
    spryi_features features; /* its guesses are those below */
    spryi_guess guesses[SPRYI_MOST_ESTIMATED];
    int count, allowed;                    /* the first `allowed` may be taken, */
    spryi_estimate list[SPRYI_MOST_RATES]; /* by the time of a product */
    int taken, csr;                        /* places in the list: of the least time with set-up, and of csr */
} spryi_ranking;

/* Expected calls, where the caller expects no number. */
enum { SPRYI_MANY_CALLS = 10000 };

/*
 * 1: a look at A costs at most 3 % of what so many products of csr take there, or 30 us, and *effort is the largest
 * that does; of a matrix in device memory, and of one that a GPU transposes, columns are copied to the host for that.
 * Then a ranking may be made; the time of a conversion counts there.
 */
int spryi_looking_pays(spryi_effort *effort, const spry_arrays *a, spry_op op, const spryi_device_class *device,
                       int64_t calls);

/* What is ranked: products of op(A) with x of vector_type, of all its columns. */
typedef struct spryi_rank_request {
    const spry_matrix *A; /* has entries and is sound */
    spry_op op;           /* SPRY_TRANSPOSE: with a copy of A^T as CSR */
    spry_type vector_type;
    const spryi_device_class *device;
    int threads;
    int64_t calls;   /* > 0 */
    int64_t columns; /* of x; row_major: they lie row by row */
    int row_major;
    spryi_effort effort;
} spryi_rank_request;

/* What is not CSR in host memory is converted or copied. */
spry_status spryi_rank(spryi_ranking *ranking, const spryi_rank_request *request, spry_error *err);

/*
 * Of the kernels of csr that have rates there, the one of the least set-up and `calls` products, by the lengths of some
 * rows; NULL: the one that csr takes by itself, where only that has rates or A is no CSR. Takes 2 to 5 us, and some 25
 * where the arrays lie on a device, if there may be more to gain. A has entries.
 */
const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls);

/*
 * *structure: A's entries as CSR in host memory, whose values need not be there. A itself where it is that; of CSR in
 * device memory a copy of offsets and columns; else a conversion. The same of A^T where op is SPRY_TRANSPOSE. The
 * caller releases it.
 */
spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err);
