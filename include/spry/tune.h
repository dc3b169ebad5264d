/*
 * Spry: what the choice among formats rests on: predictions, rates, measured choices, lists.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_TUNE_H
#define SPRY_TUNE_H

#include "spry/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gives cached memory of the context and its GPUs (spry_context_info.cached_bytes) back. Returns the bytes. */
SPRY_API int64_t spry_context_trim(spry_context *context);

/* ---- why "auto" takes what it takes ---- */

/* A class of devices that times are predicted for, by a table of rates (docs/choosing.md). */
typedef struct spry_device_class_info {
    size_t struct_size;
    const char *name;        /* "h200", "avx512" */
    const char *title;       /* "NVIDIA H100 and H200" */
    const char *device_kind; /* "cpu", "cuda" */
    const char *fitted;      /* to what its rates were fitted, and when */
} spry_device_class_info;

SPRY_API int spry_device_class_count(void);
SPRY_API spry_status spry_device_class_get_info(spry_device_class_info *info, int index, spry_error *err);

typedef struct spry_explain_options {
    size_t struct_size;
    /*
     * Of the plan that is asked about; NULL: the defaults. Format, kernel and ordering do not count. With the policy
     * "measure" a plan is made on its device, whose trial is told (spry_candidate.measured_us) and remembered; a choice
     * that is remembered already is measured anew.
     */
    const spry_spmv_options *spmv;
    /* The name of a class of devices; this machine need not have one. NULL: the class of the plan's device. Times of
       this machine's CPU are then at least what the bandwidth of its memory allows, which a process measures once. Not
       with "measure". */
    const char *device_class;
    const char *storage_of; /* a format, or "all": its candidate has sizes. Costs up to a conversion; NULL: none */
} spry_explain_options;

typedef struct spry_explanation spry_explanation;

/* The choice. */
typedef struct spry_explanation_info {
    size_t struct_size;
    const char *device_class, *fitted;
    const char *format; /* that "auto" takes */
    spry_reason reason_code;
    const char *reason; /* one sentence */
    int64_t calls;      /* over which set-up is counted */
    int threads;        /* of a product on a CPU, that times are told for; 0 on a GPU */
    int candidates, features;
    const char *kernel; /* of that format, where "auto" takes one of several; "": the one it takes by itself */
} spry_explanation_info;

/*
 * A format: those that may be taken come first, by the time of a product; then those that are refused. A product has
 * all columns of spmv->columns, in times and bytes.
 */
typedef struct spry_candidate {
    size_t struct_size;
    const char *format;
    const char *refused; /* why it is not to be taken; "" where it may be */
    double predicted_us; /* of a product of vectors on the device; 0: not predicted. spry_spmv_plan_info.predicted_us */
                         /* adds orderings, scalings and copies of vectors to it */
    double setup_us;     /* of the conversion, without moving data to a device */
    double total_us;     /* of both, over the calls */
    double bytes;        /* that a product moves */
    double roof;         /* time that a product of plain CSR, which is read once for all columns, would take at the */
                         /* device's copy bandwidth, as a share of predicted_us; 0: not known */
    int64_t break_even_calls; /* from how many products on it is ahead of csr; 0: from the first; SPRY_NEVER */
    const char *kernel;       /* of a format with several that are ranked apart; "": the one it takes by itself */
    double measured_us;       /* of a product, by policy "measure"; 0: not measured */
    double measured_setup_us; /* of the set-up then, moving data to a device counted in */
    const char *parameters;   /* with storage_of: of the format, else "" */
    int64_t storage_bytes;    /* with storage_of: exact size of the format's arrays; -1: not computed */
    int64_t owned_bytes;      /* part of storage_bytes that a plan allocates */
    int64_t elements;         /* stored values and indices */
    int64_t padding;          /* stored entries that are not entries of A */
    bool over_limit;          /* the padding or memory limit refuses the format */
} spry_candidate;

/* A number that the prediction rests on. */
typedef struct spry_feature {
    size_t struct_size;
    const char *name; /* "slots" */
    const char *text; /* one line */
    double value;
} spry_feature;

/*
 * Ranks the formats for A as "auto" does, and looks at A in any case, also where "auto" would not for want of calls.
 * A is sound. O(rows) and samples of the columns; what is not CSR in host memory is converted or copied for that.
 * The explanation is the caller's and refers to nothing of A.
 * Where not even csr keeps to memory_limit_bytes, it fails with SPRY_TOO_LARGE as the plan does, and the message names
 * the format that would own less, if there is one. On a class that is named a plan owns at least its storage and
 * copies of vectors in host memory; what kernels keep beside them is counted where the device is the plan's own.
 */
SPRY_API spry_status spry_spmv_explain(spry_context *context, spry_explanation **explanation, const spry_matrix *A,
                                       const spry_explain_options *options, spry_error *err);
SPRY_API void spry_explanation_destroy(spry_explanation *explanation); /* NULL is fine */

/* Strings live as long as the explanation. */
SPRY_API spry_status spry_explanation_get_info(const spry_explanation *explanation, spry_explanation_info *info,
                                               spry_error *err);
SPRY_API spry_status spry_explanation_get_candidate(const spry_explanation *explanation, spry_candidate *candidate,
                                                    int index, spry_error *err);
SPRY_API spry_status spry_explanation_get_feature(const spry_explanation *explanation, spry_feature *feature, int index,
                                                  spry_error *err);

/* ---- rates: what predictions rest on ---- */

/* A time that was measured. */
typedef struct spry_observation {
    size_t struct_size;
    /* Of the matrix, for the class that is fitted: its features and, on a CPU, its threads predict the time */
    const spry_explanation *explanation;
    const char *format, *kernel; /* that ran; kernel: "" or NULL where it is not known */
    double time_us;              /* of a product, > 0 */
    double setup_us;             /* of the plan without upload; 0: not known */
} spry_observation;

/* How near predictions are to the observations, before fitting and after. */
typedef struct spry_rates_fit_info {
    size_t struct_size;
    int64_t cases; /* explanations */
    /* Median of |log(predicted / measured)|, on a CPU both as shares of csr's */
    double error, error_before;
    /* Time of the format of the least prediction over the least time measured: geometric mean, and the worst case */
    double loss, loss_before, worst_loss, worst_loss_before;
} spry_rates_fit_info;

/*
 * Fits the rates of a class of devices to observations, starting from those that the context has. Plans of the
 * context follow them from then on. `fitted` says to what, for people: a line of at most 159 characters without a #.
 * Formats without an observation keep their rates. Takes seconds. Not while another thread uses the context.
 * Explanations are of this context and class, struct_size is that of spry_observation, time_us from 0.001 to 1e12 and
 * setup_us from 0 to 1e12; SPRY_INVALID_ARGUMENT names the first observation that is not so, or of a format without
 * rates or a kernel that is none of the format. count >= 1. info may be NULL.
 */
SPRY_API spry_status spry_rates_fit(spry_context *context, const char *device_class,
                                    const spry_observation *observations, int64_t count, const char *fitted,
                                    spry_rates_fit_info *info, spry_error *err);

/*
 * The rates of a class as lines of a table that spry_context_load_tuning reads, behind a first line, "spry-tuning 3",
 * and before a last one, "end N", N being the lines between them; into text of `size` bytes, 0 at the end. *length:
 * bytes without that 0, also where they do not fit, which is SPRY_TOO_LARGE; text may be NULL with size 0.
 */
SPRY_API spry_status spry_rates_print(const spry_context *context, const char *device_class, char *text, int64_t size,
                                      int64_t *length, spry_error *err);

typedef struct spry_spmv_verification {
    size_t struct_size;
    double max_error;   /* largest |computed - reference| as a share of the bound; NaN or Inf: infinite */
    int64_t worst_row;  /* where */
    int64_t wrong_rows; /* rows past the bound */
} spry_spmv_verification;

/*
 * Recomputes alpha*op(A)*x + beta*y_before in about twice the precision and compares y row by row under the bound of
 * spry_spmv_plan_create. Vectors have one column in host memory, its entries one behind the other. y_before may be an
 * empty vector (data NULL) when beta is 0 or NULL. alpha, beta and eps are of the type of the vectors. Returns
 * SPRY_OK when it could compare: wrong_rows == 0 is the verdict. An entry whose reference is not finite must be the
 * same infinity, or NaN, in y: the reference's whose entries at one position are multiplied one by one, or are added
 * up first.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_verify(spry_context *context, spry_spmv_verification *verification,
                                                      const spry_matrix *A, spry_op op, const void *alpha,
                                                      spry_const_vector x, const void *beta, spry_const_vector y_before,
                                                      spry_const_vector y, spry_error *err);

typedef struct spry_format_info {
    size_t struct_size;
    const char *name;     /* "csr" */
    const char *title;    /* "compressed sparse rows" */
    const char *storage;  /* formula in words: "nnz values + nnz columns + (m+1) offsets" */
    const char *best_for; /* one line */
    /* "c=NUMBER (rows a slice); sigma=NUMBER (...)": what may follow the name in options; "" where there are none */
    const char *parameters;
    int kernels; /* how many kernels there are */
} spry_format_info;

SPRY_API int spry_format_count(void);
SPRY_API spry_status spry_format_get_info(spry_format_info *info, int index, spry_error *err);

typedef struct spry_kernel_info {
    size_t struct_size;
    const char *name;        /* "csr_avx512_cpu" */
    const char *format;      /* "csr" */
    const char *device_kind; /* "cpu" or "cuda" */
    const char *operations;  /* "spmv", "spmv spmv_t" or "spgemm" */
    const char *types;       /* of values and vectors, "f32 f64", or of values:vectors, "f32:f64"; "pattern" */
    const char *indices;     /* "32/32 64/32 64/64" */
    int deterministic;
    int available;      /* 1: this machine can run it */
    const char *reason; /* why not, "" if it can */
    const char *idea;   /* one sentence */
    const char *source; /* paper and section, or "this library" */
    int study;          /* 1: kept for comparison, taken by name alone: another of its format is faster */
    /* "lanes=NUMBER (a row)": what may follow the name in options; "" where there are none */
    const char *parameters;
} spry_kernel_info;

/* Every kernel of products with vectors that the library knows, also those that this machine cannot run. */
SPRY_API int spry_kernel_count(void);
SPRY_API spry_status spry_kernel_get_info(const spry_context *context, spry_kernel_info *info, int index,
                                          spry_error *err);

/* The same of sparse products' kernels: their operation is "spgemm", their format "csr". */
SPRY_API int spry_spgemm_kernel_count(void);
SPRY_API spry_status spry_spgemm_kernel_get_info(const spry_context *context, spry_kernel_info *info, int index,
                                                 spry_error *err);

typedef struct spry_measurement {
    size_t struct_size;
    double first_us;                   /* the first run of this call, nothing warmed up */
    double median_us, mean_us, min_us; /* of the batches, per run */
    double spread_us;                  /* third quartile - first quartile of the batches */
    int64_t runs;                      /* timed runs in all */
    double gflops;                     /* 2*nnz / median */
    double gbps;                       /* bytes of plain CSR / median: values, columns, offsets, x once, y once */
} spry_measurement;

/*
 * Measures the plan on vectors of its own, where the plan's are: at least 20 batches of at least 1 ms, warm. It takes a
 * fraction of a second, and allocates the two vectors. Other runs at that time disturb it.
 */
SPRY_API spry_status spry_spmv_plan_measure(spry_spmv_plan *plan, spry_measurement *measurement, spry_error *err);

/* Copy bandwidth of a GPU in GB/s, read plus written, arrays of 8 times its last cache: under a second. */
SPRY_API spry_status spry_device_measure_copy(const spry_context *context, double *gbps, int device, spry_error *err);

/*
 * Reads a table of tuning: the rates that "auto" predicts times by (`spry tune`, docs/choosing.md), of one or several
 * classes of devices, and sizes for csr2 and csr3 where none are given (docs/csr-k.md). Plans made from then on
 * follow it: sizes on the CPU and on GPUs of the compute capability that they were fitted for, rates on devices of
 * their class. Not while another thread uses the context. SPRY_BAD_FILE, with the line, leaves the context as it was.
 * That is told also of a table that is cut (the last line is "end N", N being the facts before it), of one of another
 * version, which `spry tune` makes anew, and of a class that spry_device_class_get_info (tools.h) does not list, or
 * lists with another kind of device.
 */
SPRY_API spry_status spry_context_load_tuning(spry_context *context, const char *path, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Choices that were measured
 * ------------------------------------------------------------------------------------------------ */

/*
 * What plans of policy "measure" took. A plan finds its choice by a fingerprint: of the matrix's structure (sizes,
 * offsets, indices, whatever its layout; of large ones a sample), types, the product, where vectors are, the device and
 * its vector instructions, threads, the memory limit, the order of magnitude of the products expected, and the
 * library's version. Values do not count. Two that are alike by chance cost time at most: the format is made as if it
 * had been named, and where that is refused the one that "cost" takes is.
 */
typedef struct spry_choice_info {
    size_t struct_size;
    char fingerprint[24];       /* 16 hexadecimal digits */
    int64_t rows, columns, nnz; /* of the matrix as it is stored: with both triangles, of a transposed product A^T */
    spry_op op;                 /* the caller's */
    char device[64];            /* "cpu avx512 Intel(R) Xeon(R) Processor", "cuda NVIDIA H200" */
    char types[32];             /* values, vectors, offsets/columns: "f64 f64 32/32" */
    int64_t calls;              /* products over which the set-up was counted; 0: it was not */
    char format[96];            /* "sell:c=16:sigma=4096" */
    char kernel[64];
    double measured_us;                    /* a product */
    double csr_us;                         /* the same in csr; 0: csr was not measured */
    double predicted_us, predicted_csr_us; /* both from the table of rates that "cost" uses */
    char date[16];                         /* "2026-11-25", UTC */
} spry_choice_info;

/*
 * Lets the context remember choices in a file: reads those that are there, in place of what it remembers, and writes
 * each new one into the file at once. The file may be empty, and need not be there where its folder takes new files;
 * behind a symbolic link it is made where the link leads. One that can be read but not replaced serves, too: its
 * choices are taken, and new ones are not written. It is text, a choice a line and a checksum of all lines, the newest
 * last, at most 4096 of them, and is replaced as a whole under a lock (of its folder): processes may share it. path
 * NULL: none any more; what the context remembers stays. Not while another thread uses the context.
 * SPRY_BAD_FILE, with the line, where the file is damaged, cut, foreign, or written by another version of the library;
 * SPRY_FILE_ERROR where it cannot be read, or is not there and cannot be made: the context is as it was. When a choice
 * cannot be written later (nobody may write there, the disk is full, the file is damaged, the lock is held for a
 * second), the plan is made all the same, the context remembers it, and spry_spmv_plan_info.reason tells what was wrong
 * ("; not kept: ...").
 */
SPRY_API spry_status spry_context_set_choices(spry_context *context, const char *path, spry_error *err);

/* How many choices the context remembers, at most 4096: the oldest make way. Each has about 450 bytes of its memory. */
SPRY_API int spry_choice_count(const spry_context *context);

/* index: from 0, the oldest, to spry_choice_count - 1. Other threads' plans may add some and move the others. */
SPRY_API spry_status spry_choice_get_info(const spry_context *context, spry_choice_info *info, int index,
                                          spry_error *err);

/*
 * Forgets all choices of the context and, where it has one, of its file. With a path, those of that file too, also
 * where spry_context_set_choices refuses it for its version or a damage; a file that is none of choices is
 * SPRY_BAD_FILE and stays, one that is not there SPRY_FILE_ERROR. Not while another thread uses the context.
 */
SPRY_API spry_status spry_context_clear_choices(spry_context *context, const char *path, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
