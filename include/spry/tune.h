/*
 * Spry: how formats are chosen, measuring, lists.
 * SPDX-License-Identifier: Apache-2.0
 *
 * docs/choosing.md has the model of times and the rules.
 */
#ifndef SPRY_TUNE_H
#define SPRY_TUNE_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Formats, kernels, classes of devices: index from 0, SPRY_UNKNOWN_NAME after the last ---- */

typedef struct spry_format_info {
    size_t struct_size;
    const char *name;       /* "csr" */
    const char *title;      /* "compressed sparse rows" */
    const char *storage;    /* "nnz values + nnz columns + (m+1) offsets" */
    const char *best_for;   /* one line */
    const char *parameters; /* "c=NUMBER (rows of a chunk); sigma=NUMBER (...)", or "" */
    int kernels;
} spry_format_info;

SPRY_API spry_status spry_format_get_info(spry_format_info *info, int index, spry_error *err);

typedef struct spry_kernel_info {
    size_t struct_size;
    const char *name;        /* "csr_avx512_cpu" */
    const char *format;      /* "csr" */
    const char *device_kind; /* "cpu" or "cuda" */
    const char *operations;  /* "spmv", "spmv spmv_t", "spgemm" */
    const char *types;       /* of values and vectors: "f32 f64", "f32:f64", "pattern" */
    const char *indices;     /* "32/32 64/32 64/64" */
    bool deterministic;
    bool available;     /* on this machine */
    const char *reason; /* if not available */
    const char *idea;
    const char *source;     /* publication, or "this library" */
    bool is_study;          /* only used by name */
    const char *parameters; /* "lanes=NUMBER (a row)", or "" */
} spry_kernel_info;

SPRY_API spry_status spry_kernel_get_info(const spry_context *context, spry_kernel_info *info, int index,
                                          spry_error *err);

/* A class of devices with the same rates, the constants of the time model. */
typedef struct spry_device_class_info {
    size_t struct_size;
    const char *name; /* "h200", "avx512" */
    const char *title;
    const char *device_kind; /* "cpu", "cuda" */
    const char *fitted;      /* what the rates were fitted to */
} spry_device_class_info;

SPRY_API spry_status spry_device_class_get_info(spry_device_class_info *info, int index, spry_error *err);

/* ---- Explanation of a choice ---- */

typedef struct spry_explain_options {
    size_t struct_size;
    const spry_spmv_options *spmv; /* of the plan; format, kernel and ordering are ignored; NULL: defaults */
    const char *device_class;      /* any class; NULL: the plan's device */
    const char *storage_of; /* a format, with parameters or not, or "all": computes sizes, as slowly as a conversion */
} spry_explain_options;

typedef struct spry_explanation spry_explanation;

typedef struct spry_explanation_info {
    size_t struct_size;
    const char *device_class, *fitted;
    const char *format; /* chosen by "auto" */
    const char *kernel; /* if the format has several ranked kernels, else "" */
    spry_reason reason_code;
    const char *reason; /* one sentence */
    int64_t calls;      /* that set-up is divided by */
    int threads;        /* 0 on a GPU */
    int candidates, features;
} spry_explanation_info;

/* A format. Allowed formats come first, by predicted_us. Times are of a run with spmv->count vectors. */
typedef struct spry_candidate {
    size_t struct_size;
    const char *format;
    const char *kernel;       /* if the format has several ranked kernels, else "" */
    const char *refused;      /* why the format cannot be chosen, or "" */
    double predicted_us;      /* of a run; 0: not predicted */
    double setup_us;          /* predicted, of conversion and preparation */
    double total_us;          /* predicted, of set-up and all calls, without the inspection of A */
    int64_t break_even_calls; /* as in spry_spmv_plan_info, from these predictions, with baseline csr */
    double bytes;             /* that a run moves */
    double roof;              /* time of csr's bytes at copy bandwidth / predicted_us; 0: not known */
    double measured_us;       /* of a run, with policy "measure"; else 0 */
    double measured_setup_us; /* with copies to the device */
    const char *parameters;   /* with storage_of: of the format, else "" */
    int64_t storage_bytes;    /* with storage_of: of the format's arrays; packed may take less; -1: not computed */
    int64_t owned_bytes;      /* part of storage_bytes that a plan allocates, without work lists and workspace */
    int64_t elements;         /* stored values and indices */
    int64_t padding;          /* stored zeros that are not entries */
    bool over_limit;          /* refused for its padding or the memory limit */
} spry_candidate;

typedef struct spry_feature {
    size_t struct_size;
    const char *name; /* "slots" */
    const char *text; /* one line */
    double value;
} spry_feature;

/*
 * Ranks the formats for A as "auto" does. With the policy "measure" a plan is created and timed. SPRY_TOO_LARGE: no
 * format keeps to memory_limit_bytes. The explanation does not refer to A.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_explain(spry_context *context, spry_explanation **explanation,
                                                       const spry_matrix *A, const spry_explain_options *options,
                                                       spry_error *err);
SPRY_API void spry_explanation_destroy(spry_explanation *explanation);

SPRY_API spry_status spry_explanation_get_info(const spry_explanation *explanation, spry_explanation_info *info,
                                               spry_error *err);
SPRY_API spry_status spry_explanation_get_candidate(const spry_explanation *explanation, spry_candidate *candidate,
                                                    int index, spry_error *err);
SPRY_API spry_status spry_explanation_get_feature(const spry_explanation *explanation, spry_feature *feature, int index,
                                                  spry_error *err);

/* ---- Measuring and verification ---- */

/* Times of a run. */
typedef struct spry_measurement {
    size_t struct_size;
    double first_us; /* first run, caches cold */
    double median_us, mean_us, min_us;
    double spread_us; /* third quartile - first quartile */
    int64_t runs;
    double gflops; /* 2*nnz / median */
    double gbps;   /* bytes of csr, x and y / median */
} spry_measurement;

/* Times runs with own vectors. Exclusive use of the plan. */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_plan_measure(spry_spmv_plan *plan, spry_measurement *measurement,
                                                            spry_error *err);

/* Measures the copy bandwidth of a GPU in GB/s, read plus written bytes. */
SPRY_MUST_CHECK SPRY_API spry_status spry_device_measure_copy(const spry_context *context, double *gbps, int device,
                                                              spry_error *err);

typedef struct spry_spmv_verification {
    size_t struct_size;
    double max_error;   /* largest error, as a share of the bound of spry_spmv_plan_create */
    int64_t worst_row;  /* row of max_error */
    int64_t wrong_rows; /* rows over the bound; 0: y is right */
} spry_spmv_verification;

/*
 * Compares y with alpha*op(A)*x + beta*y_before in about twice the precision. Single vectors in host memory. y_before
 * may be empty if beta is 0. Returns SPRY_OK also if y is wrong (wrong_rows).
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spmv_verify(spry_context *context, spry_spmv_verification *verification,
                                                      const spry_matrix *A, spry_op op, const void *alpha,
                                                      spry_const_vector x, const void *beta, spry_const_vector y_before,
                                                      spry_const_vector y, spry_error *err);

/* ---- Rates, measured choices, memory. These calls need exclusive use of the context ---- */

/* A measured time. */
typedef struct spry_observation {
    size_t struct_size;
    const spry_explanation *explanation; /* of the matrix, for the class */
    const char *format, *kernel;         /* that ran; kernel may be NULL */
    double time_us;                      /* of a run, > 0 */
    double setup_us;                     /* without copies; 0: not known */
} spry_observation;

/* Agreement of predictions and observations, before and after fitting. */
typedef struct spry_rates_fit_info {
    size_t struct_size;
    int64_t cases;              /* explanations */
    double error, error_before; /* median of |log(predicted / measured)| */
    double loss, loss_before;   /* time of the predicted format / least time, mean */
    double worst_loss, worst_loss_before;
} spry_rates_fit_info;

/*
 * Fits the rates of a class to observations, in seconds. Later plans use them. fitted describes the observations in at
 * most 159 characters without #. info may be NULL.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_rates_fit(spry_context *context, spry_rates_fit_info *info,
                                                    const char *device_class, const spry_observation *observations,
                                                    int64_t count, const char *fitted, spry_error *err);

/* Writes the rates of a class as text, a part of files of `spry tune`. SPRY_TOO_LARGE: size must exceed *length. */
SPRY_MUST_CHECK SPRY_API spry_status spry_rates_print(const spry_context *context, char *text, int64_t size,
                                                      int64_t *length, const char *device_class, spry_error *err);

/* Reads rates and group sizes from a file of `spry tune`. Later plans use them. */
SPRY_MUST_CHECK SPRY_API spry_status spry_context_load_tuning(spry_context *context, const char *path, spry_error *err);

/* A remembered result of the policy "measure". */
typedef struct spry_choice_info {
    size_t struct_size;
    char fingerprint[24]; /* of structure, types, device, threads and options */
    int64_t rows, columns, nnz;
    spry_op op;
    char device[64]; /* "cuda NVIDIA H200" */
    char types[32];  /* values, vectors, offsets/columns: "f64 f64 32/32" */
    int64_t calls;   /* that set-up was divided by; 0: none */
    char format[96]; /* "sell:c=16:sigma=4096" */
    char kernel[64];
    double measured_us, csr_us;            /* of a run; 0: not measured */
    double predicted_us, predicted_csr_us; /* of a run, by the policy "cost" */
    char date[16];                         /* "2026-11-25" */
} spry_choice_info;

/*
 * Reads remembered choices from a file, which may be missing, and writes each new choice to it. Processes may share the
 * file. path NULL: no file. spry_spmv_plan_info.reason reports a choice that could not be written.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_context_set_choices(spry_context *context, const char *path, spry_error *err);
SPRY_API spry_status spry_choice_get_info(const spry_context *context, spry_choice_info *info, int index,
                                          spry_error *err);

/* Forgets all choices of the context and its file; with a path, those of that file. */
SPRY_MUST_CHECK SPRY_API spry_status spry_context_clear_choices(spry_context *context, const char *path,
                                                                spry_error *err);

/* Releases the cached memory of the context and its GPUs. Returns the bytes. */
SPRY_API int64_t spry_context_trim(spry_context *context);

#ifdef __cplusplus
}
#endif
#endif
