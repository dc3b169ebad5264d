/* Predicted times of products in each format, from the features of a matrix and the rates of a device class. */
#pragma once

#include "choose/features.h"
#include "choose/rates.h"

/* Returns the work for a row of a device's rates. threads: the number of threads whose caches hold x. */
spryi_work spryi_work_of(const spryi_format_rates *rates, const spryi_device_class *device,
                         const spryi_features *features, double threads);

/*
 * spryi_threads_of returns the number of threads for a matrix with these features: 1 on a CPU if the matrix is small,
 * else `threads` (like spryi_threads_for). spryi_product_us returns the time of a product. It omits the time of waking
 * threads if one thread runs the product.
 */
int spryi_threads_of(const spryi_device_class *device, const spryi_features *features, int threads);
double spryi_product_us(const spryi_format_rates *rates, const spryi_work *work, const spryi_device_class *device,
                        const spryi_features *features, int threads);

double spryi_setup_of(const spryi_format_rates *rates, const spryi_features *features, double threads);

typedef struct spryi_estimate {
    const char *format, *kernel; /* kernel NULL: the format's default kernel */
    int index;                   /* spryi_estimated_index of the format */
    double us;                   /* time of a product */
    double setup_us;             /* time of the conversion; for a GPU: of a conversion on the GPU, without the upload */
    double bytes;                /* bytes that a product streams */
    const char *refused;         /* why the format must not be chosen, for people; NULL: it may be chosen */
} spryi_estimate;

/*
 * Number of CPU threads for which formats are compared and rates were fitted. For other numbers of threads, the times
 * of all formats are multiplied by the same factor as the time of csr. The choice, and with it the bits of results, is
 * therefore the same for any number of threads.
 */
enum { SPRYI_COMPARED_THREADS = 2 };

/*
 * Estimates all formats that have rates, in the table's order, csr first. Times are for one vector. threads: CPU
 * threads. columns: number of vectors of a run, for reasons against a format. Returns the number of estimates.
 */
int spryi_estimate_all(spryi_estimate *list, const spryi_device_class *device, const spryi_features *features,
                       int threads, int64_t columns);

/* Formats by predicted time. */
typedef struct spryi_ranking {
    const spryi_device_class *device;
    int threads;             /* number of threads of a product on a CPU */
    int64_t calls;           /* number of products over which set-up is spread */
    int64_t columns;         /* vectors of a product; times and bytes are for all vectors */
    spryi_features features; /* features.guesses points to the array `guesses` */
    spryi_guess guesses[SPRYI_MOST_ESTIMATED];
    int count, allowed;                    /* number of estimates; only the first `allowed` may be chosen */
    spryi_estimate list[SPRYI_MOST_RATES]; /* sorted by the time of a product */
    /*
     * Positions in `list` of the estimates with the least time of set-up, counted 1.25 times, and `calls` products:
     * `taken` among all allowed estimates, `csr` among the estimates of csr.
     */
    int taken, csr;
} spryi_ranking;

/* Number of calls that is assumed if the caller states none. */
enum { SPRYI_MANY_CALLS = 10000 };

/*
 * Returns true if a quick inspection of A costs at most 10 % of the time of `calls` products of csr, or at most 30 us.
 * *effort becomes SPRYI_QUICK, or on a CPU SPRYI_FULL if a full inspection costs at most 3 %. The cost includes copying
 * columns to the host if A is in device memory or if a GPU transposes A. The cost does not include the time of
 * conversions, which the ranking counts.
 */
bool spryi_inspection_pays(spryi_effort *effort, const spry_arrays *a, spry_op op, const spryi_device_class *device,
                           int64_t calls);

/* Input of a ranking: products of op(A) with all columns of x. */
typedef struct spryi_rank_request {
    const spry_matrix *A; /* valid, with entries */
    spry_op op;           /* SPRY_TRANSPOSE: formats are ranked for A^T, which is built as CSR */
    spry_type vector_type;
    const spryi_device_class *device;
    int threads;
    int64_t calls;   /* > 0 */
    int64_t columns; /* number of vectors in x */
    bool row_major;  /* the vectors are stored row-major */
    bool keeps_type; /* plans do not narrow values */
    spryi_effort effort;
} spryi_rank_request;

/* Ranks the formats. A matrix that is not CSR in host memory is converted or copied. */
spry_status spryi_rank(spryi_ranking *ranking, const spryi_rank_request *request, spry_error *err);

/*
 * Returns the csr kernel with the least time for set-up and `calls` products, from the lengths of some rows. Returns
 * NULL, which means the default kernel, if only that kernel has rates or A is not CSR. A has entries. The function
 * takes 2 to 5 us. It takes about 25 us if A is on a device and another kernel may be faster.
 */
const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls);

/*
 * Sets *structure to the entries of A, or of A^T if op is SPRY_TRANSPOSE, as CSR in host memory. Values may be missing.
 * The result is A itself if possible, a copy of offsets and columns if A is CSR in device memory, else a conversion.
 * The caller releases it.
 */
spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err);
