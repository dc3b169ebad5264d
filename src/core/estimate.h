/*
 * How the choice among formats predicts the time of a product.
 *
 * The choice inspects a matrix and computes its features. A family of formats computes from the features the work of a
 * product in its format (spryi_estimator, defined in <family>_work.c). The choice computes the time of the work from
 * the rates of a class of devices (choose/rank.c). A format without an estimator is never chosen by cost.
 */
#pragma once

#include "core/kernel.h"

#include <stdbool.h>

/* Factors of spryi_work members. Except for `ahead`, a time t becomes t * (1 + factor * member of the same name). */
typedef struct spryi_share_rates {
    double uneven;   /* for the deviation of row lengths */
    double holes;    /* for blocks with zeros, or for the share of empty rows */
    double longest;  /* for the steps by which the longest window exceeds the mean window */
    double heaviest; /* for the work by which the heaviest window exceeds the mean window */
    double ahead;    /* share of the streaming that prefetching hides */
} spryi_share_rates;

/* Time of set-up in us: a constant `us`, and times per million entries, million rows and million bytes of values. */
typedef struct spryi_setup_rates {
    double us, entry, row, value;
} spryi_setup_rates;

/* Rates of a kernel. Times are in us, speeds in bytes per us. Rates of a CPU are for one thread. */
typedef struct spryi_format_rates {
    const char *format; /* name in the catalogue */
    const char *kernel; /* NULL: the format's default kernel */
    double launch, sharp;
    double cached, memory;     /* speed of streaming from the last cache, and from memory */
    double gather, near;       /* speeds of gathering the sectors that spryi_work.sectors and spryi_work.near count */
    double far;                /* speed of gathering the sectors that spryi_work.far counts, far from the diagonal */
    double step, slice, block; /* times of a step, slice (32 rows or one) and block, as <family>_work.c counts them */
    double ragged, column;     /* times per unit of spryi_work.ragged and spryi_work.columns */
    double chain;              /* time of an entry of the longest row */
    spryi_share_rates shares;
    spryi_setup_rates setup;
} spryi_format_rates;

/* Rates of a format in a table of choose/rates.c, which sets rates.format. */
typedef struct spryi_rates_row {
    const char *table;
    spryi_format_rates rates;
} spryi_rates_row;

/* Lengths of the rows of a matrix. */
typedef struct spryi_row_profile {
    double mean, longest;  /* entries */
    int64_t longest_row;   /* index of a row with `longest` entries */
    double deviation;      /* standard deviation of the lengths divided by their mean */
    double body_deviation; /* `deviation` without the longest hundredth of the rows */
    double empty;          /* share of rows without entries */
    double long_rows;      /* number of rows that are longer than SPRYI_LONG_ROW times the mean */
    double excess;         /* sum over these long rows of: length - SPRYI_LONG_ROW times the mean */
    double beyond_mean;    /* sum over all rows of: max(0, length - rounded mean) */
    double variance;
    double quantiles[3]; /* median, 90th and 99th percentile */
} spryi_row_profile;

#define SPRYI_VECTORS_STEP_US 0.15 /* us per entry of the longest row, in packed and bsr */
#define SPRYI_LONG_ROW 8           /* a row is long if its length is over this many times the mean */
#define SPRYI_UNIFORM 0.5          /* largest body_deviation of uniform rows */

/* Similarity of neighbouring rows. Each member is a number of entries divided by the number of all entries. */
typedef struct spryi_row_relations {
    double adjacent; /* entries (i, j) for which (i, j + 1) is also an entry */
    double repeated; /* entries of rows that have the columns of the row before, or all these columns plus 1 */
    double moved;    /* entries of rows that have all columns of the row before plus 1 */
} spryi_row_relations;

typedef struct spryi_column_reader spryi_column_reader; /* matrix/columns.h */

enum { SPRYI_MOST_ESTIMATED = 12, SPRYI_GUESS_BYTES = 128 };

/* Memory for the result of spryi_estimator.guess. Each family stores its own struct in it. */
typedef union spryi_guess {
    double align;
    char bytes[SPRYI_GUESS_BYTES];
} spryi_guess;

/* Predicted bytes of a stored value, for kernels with SPRYI_NARROWS_FLOATS, and with SPRYI_NARROWS_TO_TABLES. */
typedef struct spryi_narrow_bytes {
    int floats, tables; /* the matrix's value_bytes if no narrower type suits the sample */
} spryi_narrow_bytes;

/* Features of a CSR matrix. A sector is 32 bytes of x. A slot is an entry or padding. */
typedef struct spryi_features {
    spryi_effort effort;
    spryi_simd simd; /* level of CPU kernels */
    int64_t rows, cols, nnz;
    int value_bytes; /* bytes of a value of the matrix; 0: the matrix is a pattern */
    spryi_narrow_bytes narrow;
    int number_bytes; /* bytes of an element of x and y */
    int index_bytes, offset_bytes;
    spryi_row_profile lengths;
    spryi_row_relations relations;
    double slots;         /* slots per entry in padded slices of 32 rows, after sorting each 256 rows by length */
    double ragged;        /* share of these slots that are beyond the end of the shortest row of the slice */
    double slot_sectors;  /* per entry: distinct sectors that the n-th entries of 32 consecutive rows read */
    double warp_sectors;  /* per entry: distinct sectors that 32 consecutive entries read */
    double near_sectors;  /* per entry: distinct sectors that 128 consecutive rows read */
    double far_sectors;   /* per entry: the near sectors that are over 512 KB of x away from the diagonal */
    bool scattered;       /* neighbouring entries read distant sectors of x (choose/features.c) */
    spryi_guess *guesses; /* one per format, at spryi_estimated_index; NULL: none */
} spryi_features;

/* Bytes of a value in formats that store the value 1 for each entry of a pattern. */
static inline int spryi_bytes_with_ones(const spryi_features *f)
{
    return f->value_bytes > 0 ? f->value_bytes : f->number_bytes;
}

/* Bytes of x and y. */
static inline double spryi_vector_bytes(const spryi_features *f)
{
    return (double)(f->rows + f->cols) * f->number_bytes;
}

/* Work of one product: bytes streamed, sectors gathered, and the counts that the rates of the same names multiply. */
typedef struct spryi_work {
    double bytes, sectors, near, far, steps, slices, blocks, ragged, columns, chain, uneven, holes, longest, heaviest;
    bool ahead;   /* prefetching hides a part of the streaming */
    bool unknown; /* the features do not determine the work; only fits use the other members */
} spryi_work;

/* Returns why a format with this many slots per entry is refused, or NULL. The padding guard refuses over 3 slots. */
static inline const char *spryi_why_padded(double slots)
{
    return slots > 2.5 ? "over 2.5 slots an entry: padding" : NULL;
}

/* Returns the work that all GPU kernels that process rows have in common. */
static inline spryi_work spryi_gpu_row_work(const spryi_features *f)
{
    enum { LANES = 32 };
    const double n = (double)f->nnz;
    return (spryi_work){.near = f->near_sectors * n,
                        .steps = n / LANES,
                        .slices = (double)f->rows / LANES,
                        .uneven = f->lengths.body_deviation};
}

/* Description of a product in a format: the argument of the functions of an estimator. */
typedef struct spryi_product {
    const spryi_features *features;
    const void *guess;  /* written by the format's guess; zeros if it has none */
    const char *kernel; /* NULL: the format's default kernel */
    double cache_bytes; /* size of the device's last cache */
    bool on_gpu;
    spryi_narrows narrows;
    int64_t columns; /* number of vectors; 0 in `work` */
} spryi_product;

/* Returns the predicted bytes that narrow values save per stored value; 0 if the kernel does not narrow values. */
static inline double spryi_narrowing(const spryi_product *p)
{
    const spryi_features *f = p->features;
    if (p->narrows == SPRYI_NARROWS_NOTHING) return 0;
    return f->value_bytes - (p->narrows == SPRYI_NARROWS_TO_TABLES ? f->narrow.tables : f->narrow.floats);
}

/* How a kernel multiplies multiple vectors. */
typedef enum spryi_vectors_way {
    SPRYI_ONE_BY_ONE, /* a product per vector */
    SPRYI_ROW_MAJOR,  /* together, if they are stored row-major */
    SPRYI_ANY_LAYOUT  /* together, in any layout */
} spryi_vectors_way;

/*
 * Returns whether a GPU kernel that needs row-major vectors should multiply copies of column-major vectors, and not one
 * vector after another. The copies read and write each vector once more, but the matrix is read only once. Arguments:
 * the number of vectors, bytes of the matrix, and bytes of one x and one y.
 */
static inline bool spryi_copies_pay(double columns, double matrix, double vectors)
{
    return 2 * columns * vectors < (columns - 1) * matrix;
}

/* Rates of a GPU product with multiple vectors, fitted to an H200. */
typedef struct spryi_vectors_rates {
    double matrix;     /* factor of the time to stream the matrix */
    double entry, row; /* time per entry and time per row, in 1e-6 us */
    double vectors;    /* factor of the time to stream x and y */
    double x;          /* bytes of x per us that first-level caches deliver */
    double sector;     /* time per sector of x in 1e-6 us, if columns are scattered */
    double odd;        /* factor of the total time, if the bytes of a row of x are not a multiple of 16 */
    double step;       /* time per entry of the longest row in us */
} spryi_vectors_rates;

/* A feature that explain reports. */
typedef struct spryi_feature_value {
    const char *name, *text;
    double value;
} spryi_feature_value;

enum { SPRYI_CPU, SPRYI_GPU, SPRYI_DEVICE_KINDS, SPRYI_MOST_FAMILY_FEATURES = 4 };

/* Functions and data with which a family describes one of its formats to the choice. */
typedef struct spryi_estimator {
    const spryi_rates_row *rates; /* the last row has the table NULL */
    /* Computes the work of a product. NULL: the format is not ranked on that kind of device. */
    spryi_work (*work[SPRYI_DEVICE_KINDS])(const spryi_product *product);
    /* Returns a reason if the format is not suitable, else NULL. If why_not is NULL, the format is always suitable. */
    const char *(*why_not)(const spryi_product *product);
    /* Inspects a sample of the matrix and fills in the family's struct *guess, which the caller clears. NULL: none. */
    spry_status (*guess)(spry_context *context, void *guess, const spryi_features *features,
                         spryi_column_reader *reader, spry_error *err);
    int64_t setup_calls;    /* the build reads the entries only if at least this many calls are expected; 0: always */
    bool guess_stores_ones; /* guess reads a pattern as a matrix with values, since the format stores values of 1 */
    bool guess_needs_relations; /* features->relations must be known before the guess */
    /* Writes the format's parameters that the guess found. NULL: the format decides. */
    void (*set_parameters)(int64_t *parameters, const void *guess);
    /* Writes at most SPRYI_MOST_FAMILY_FEATURES features and returns their number. NULL: none. */
    int (*report)(spryi_feature_value *list, const spryi_features *features, const void *guess);

    /* Products with multiple vectors. */
    spryi_vectors_way (*limit_way)(const spryi_product *product); /* replaces SPRYI_ANY_LAYOUT; NULL: no limit */
    int vectors_in_place; /* number of column-major vectors that a CPU kernel multiplies together; 0: none */
    /*
     * Time of a later column-major vector divided by the time of the first. NULL: CPU kernels do not multiply by one
     * vector after another while a part of the matrix is in a cache.
     */
    double (*later_vector)(const spryi_product *product);
    double cpu_vectors_factor; /* CPU time divided by the time to stream the bytes; 0: a default (choose/rank.c) */
    bool always_together;      /* CPU kernels never multiply row-major vectors one by one */
    /* Returns the rates on a GPU. NULL: no GPU kernel multiplies vectors together. */
    spryi_vectors_rates (*vectors_rates)(const spryi_product *product);
} spryi_estimator;
