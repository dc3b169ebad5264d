/*
 * Spry: generated matrices, checks, statistics, predictions, verification, converting, reordering, lists, measuring.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_TOOLS_H
#define SPRY_TOOLS_H

#include "spry/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ *
 * Generated matrices
 * ------------------------------------------------------------------------------------------------ */

typedef struct spry_generator_info {
    size_t struct_size;
    const char *name;        /* "grid7" */
    const char *parameters;  /* "x=140,y=140,z=140": the keys and their defaults */
    const char *description; /* one line */
} spry_generator_info;

/* Lists the generators: index from 0; SPRY_UNKNOWN_NAME past the last. */
SPRY_API int spry_generator_count(void);
SPRY_API spry_status spry_generator_get_info(spry_generator_info *info, int index, spry_error *err);

/*
 * spec is "NAME" or "NAME,key=value,...", with or without "gen:" before it. The same matrix on every machine.
 * Values are random, one drawn for each entry: "grid7" and the like are symmetric in pattern alone. Graphs ("road",
 * "rgg", "rmat", "uniform", "debruijn" and their presets) have the weights of links, above 0 and at most 1; others have
 * values from -0.5 to 0.5. Only "laplace5", "laplace7", "grid5a" and "grid7a" have the values of finite differences,
 * and are symmetric positive definite.
 */
SPRY_API spry_status spry_matrix_generate(spry_context *context, spry_matrix **A, const char *spec,
                                          const spry_read_options *options, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Checking, figures, verification
 * ------------------------------------------------------------------------------------------------ */

/* Faults of a matrix's arrays. A count of 0 leaves its positions at -1. "Major" is the row (CSR, COO), column (CSC). */
typedef struct spry_matrix_report {
    size_t struct_size;
    int64_t bad_ends;                 /* 1 or 2: offsets do not start at 0, do not end at nnz */
    int64_t falling_offsets;          /* offsets smaller than the one before or past nnz */
    int64_t first_falling;            /* i of the first: offsets[i+1] is at fault */
    int64_t out_of_range;             /* indices below 0 or past the last row or column */
    int64_t first_out_of_range;       /* entry of the first ... */
    int64_t first_out_of_range_major; /* ... and its major index */
    int64_t first_out_of_range_value; /* ... and the index found there */
    int64_t unsorted;                 /* entries smaller than the one before them in their row (COO: in row order) */
    int64_t first_unsorted, first_unsorted_major;
    int64_t duplicates; /* entries whose position is stored earlier */
    int64_t first_duplicate, first_duplicate_major;
    int64_t not_finite; /* values that are Inf or NaN */
    int64_t first_not_finite, first_not_finite_major;
} spry_matrix_report;

/*
 * Looks at every entry. SPRY_INVALID_MATRIX when a structural fault makes products undefined (offsets,
 * ranges), with the first one in the message, or when a claim made at creation (sorted, unique, symmetry) is
 * false; unsorted, duplicate and non-finite entries are legal and only reported. What it learns of order and
 * uniqueness becomes known of A: exclusive use of A. report may be NULL.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_check(spry_matrix *A, spry_matrix_report *report, spry_error *err);

enum { SPRY_HISTOGRAM_BINS = 40 };

/* Figures of a matrix's structure. Row lengths count stored entries. */
typedef struct spry_matrix_stats {
    size_t struct_size;
    int64_t rows, cols, nnz;
    int64_t min_row, max_row, empty_rows;
    int64_t longest_row;                           /* index of the first row of max_row entries */
    double mean_row, variance_row;                 /* variance over rows, divided by rows */
    int64_t bandwidth;                             /* max |i - j| */
    int64_t profile;                               /* sum over rows of i - (smallest column <= i of the row, or i) */
    int64_t diagonal_entries;                      /* rows whose (i,i) is stored */
    spry_known pattern_symmetric, value_symmetric; /* of square matrices; KNOWN_NO for others */
    /* rows of length 0; 1; 2..3; 4..7; ... bin b > 0 counts lengths 2^(b-1) .. 2^b - 1 */
    int64_t histogram[SPRY_HISTOGRAM_BINS];
    /* Of square matrices, the share of the entries off the diagonal whose mirror image is stored, from 0 to 1 (1 where
       there are none); duplicates count once. 0 for others. In value_symmetric duplicates count as their sum in f64,
       and each of a pattern as 1 */
    double pattern_symmetry;
} spry_matrix_stats;

/* O(nnz). A must be sound (spry_matrix_check); CSR, COO or CSC in host memory. */
SPRY_API spry_status spry_matrix_get_stats(const spry_matrix *A, spry_matrix_stats *stats, spry_error *err);

/* What a format takes for a matrix. */
typedef struct spry_storage {
    size_t struct_size;
    const char *format;  /* "ell" */
    char parameters[64]; /* as the format would resolve them, "" where it has none */
    int64_t words;       /* values and indices alike, each counted once: the unit of textbook formulas */
    int64_t bytes;       /* of the same arrays; what a plan adds beside them (row blocks, workspace) is left out */
    int64_t padding;     /* stored entries that are none of A's */
    int refused;         /* 1: the padding guard refuses to build it, or the memory limit owned_bytes; what a plan */
                         /* adds to these may be over the limit yet */
    char reason[320];    /* of "auto": why this format; else "" */
    int64_t owned_bytes; /* of `bytes`, what a plan would own: all but arrays that it borrows of A */
} spry_storage;

/*
 * Predicts, without building it, what options->format (a name, or "auto") takes, exactly, but for packed on a CPU,
 * which takes less where values repeat (docs/formats.md). O(rows) from CSR for most formats, O(nnz) for bsr and for a
 * container in a format, of which CSR is made; A is sound. options->op, vector_type and device count, kernel and
 * ordering do not: on a GPU the plan owns copies of what it would borrow in host memory. The policy "measure" counts as
 * "cost".
 */
SPRY_API spry_status spry_spmv_predict_storage(spry_context *context, spry_storage *storage, const spry_matrix *A,
                                               const spry_spmv_options *options, spry_error *err);

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

/* Density picture: counts[r*width + c] = entries that fall in cell (r, c) of a height x width grid over A. O(nnz). */
SPRY_API spry_status spry_matrix_spy(const spry_matrix *A, int64_t *counts, int height, int width, spry_error *err);

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

typedef enum spry_thoroughness {
    SPRY_VERIFY_RANDOM = 0, /* C*x = alpha*A*(op(B)*x) for a random x, row by row: time and memory of three SpMVs */
    SPRY_VERIFY_EXACT = 1   /* the structure and every value, against the product in about twice the precision */
} spry_thoroughness;

typedef struct spry_spgemm_verification {
    size_t struct_size;
    double max_error;  /* largest |computed - reference| as a share of the bound of spry_spgemm; NaN or Inf: infinite */
    int64_t worst_row; /* where; -1: C has no rows */
    int64_t wrong_rows;      /* rows past the bound, or with a wrong structure */
    int64_t first_misshapen; /* exact: first row that lacks a position, or has one too many or out of order; -1: none */
} spry_spgemm_verification;

/*
 * Recomputes the product of options (alpha, op_a, op_b, drop_zeros count) and compares. A, B and C: host memory, sound.
 * Returns SPRY_OK when it could compare: wrong_rows == 0 is the verdict. SPRY_VERIFY_RANDOM sums the bounds of a row,
 * with the entries of A's row for t_ij, so it lets smaller faults pass than SPRY_VERIFY_EXACT does.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_spgemm_verify(spry_context *context, spry_spgemm_verification *verification,
                                                        const spry_matrix *C, const spry_matrix *A,
                                                        const spry_matrix *B, const spry_spgemm_options *options,
                                                        spry_thoroughness how, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Converting and reordering a matrix
 * ------------------------------------------------------------------------------------------------ */

/* What a conversion did to the values. Products of the new matrix keep their bound against the new values. */
typedef struct spry_rounding {
    size_t struct_size;
    int64_t rounded;    /* entries whose value is another one now, of which */
    int64_t overflowed; /* were finite and are infinite, and */
    int64_t vanished;   /* were not 0 and are */
    double largest;     /* |new - old| / |old|, the largest of those that did not overflow; 1 where one vanished */
    int64_t largest_row, largest_col;       /* of the first entry that has it; -1: there is none */
    int64_t overflowed_row, overflowed_col; /* of the first that overflowed; -1: none did */
} spry_rounding;

typedef struct spry_convert_options {
    size_t struct_size;
    spry_layout layout; /* default CSR */
    /* default: as A. Each entry of a pattern counts 1, so duplicates sum up; into a pattern, positions alone survive */
    spry_type value_type;
    spry_index_type offset_type; /* default: as A where it has offsets, else the smallest that holds nnz */
    spry_index_type index_type;  /* default: as A */
    int keep_duplicates; /* 1: keep entries at one position apart; 0: sum them in f64, in stored order, rounded once */
    /* Filled when the call succeeds, its struct_size set before: how values, or such sums, were rounded to value_type.
       NULL: nobody asks. It takes 8 bytes an entry while it converts. */
    spry_rounding *rounding;
} spry_convert_options;

/*
 * Makes an owned matrix of another layout or type, sorted; A stays as it is and must be sound. options may be NULL. B
 * has A's claim of symmetry, except if duplicates of A are summed into values or kept in another type: their sums may
 * differ from their images after rounding. A pattern of a skew-symmetric A is claimed symmetric.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_convert(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                                         const spry_convert_options *options, spry_error *err);

/*
 * perm[new] = old. Of a square matrix rows and columns take one ordering, found on the pattern of A + A^T: B = P A P^T,
 * and with x'[i] = x[perm[i]], B*x' is (A*x)[perm[i]]. Of others only rows move. docs/csr-k.md has methods and costs.
 */
typedef struct spry_ordering_options {
    size_t struct_size;
    /* "rcm" (NULL): a narrow band; "bandk": one made of CSR-k's groups (docs/csr-k.md); "degree": longest rows first;
       "bfs": breadth first, a wider band than rcm's, but as good for products, in about half of its time */
    const char *method;
    int k;              /* bandk: 2 (super-rows alone), 3, or 4 (groups of super-super-rows too); 0: 3 */
    int64_t srs, ssrs;  /* bandk: rows a super-row and super-rows a super-super-row, about; 0: those of `tuning` */
    const char *tuning; /* "cpu" (NULL), "volta", "ampere", "hopper", "table", "volta-ssrs", "ampere-ssrs": as in */
                        /* csr3; the context's table counts */
    int64_t sssrs;      /* bandk with k = 4: super-super-rows a group of them, about; 0: 8 */
} spry_ordering_options;
/* A: sound, in host memory, under 2^31 - 1 rows (not square: and columns). The same for any number of threads. */
SPRY_API spry_status spry_ordering_create(spry_context *context, spry_ordering **ordering, const spry_matrix *A,
                                          const spry_ordering_options *options, spry_error *err);
SPRY_API void spry_ordering_destroy(spry_ordering *ordering);
/*
 * CSR-k's groups of the caller, as Lane and Booth draw them (2022, figure 1): super-row s holds rows sr_ptr[s] ..
 * sr_ptr[s+1]-1, super-super-row t super-rows ssr_ptr[t] .. ssr_ptr[t+1]-1. Each pointer has its count + 1 numbers,
 * which rise from 0 to the number of what it groups.
 */
typedef struct spry_groups {
    size_t struct_size;
    int64_t rows;
    int64_t sr_count;
    const int64_t *sr_ptr;
    int64_t ssr_count;
    const int64_t *ssr_ptr; /* NULL with count 0: none */
    int64_t sssr_count;
    const int64_t *sssr_ptr; /* of super-super-rows, for csr4; NULL with count 0: none */
} spry_groups;
/*
 * An ordering "groups" that leaves rows where they are, for spry_spmv_options.groups of a matrix of so many rows. The
 * pointers are copied. SPRY_INVALID_ARGUMENT or SPRY_INVALID_SIZE, with the pointer and the place, where they do not
 * rise or do not fit each other.
 */
SPRY_API spry_status spry_ordering_create_groups(spry_context *context, spry_ordering **ordering,
                                                 const spry_groups *groups, spry_error *err);
typedef struct spry_ordering_info {
    size_t struct_size;
    const char *method;
    int64_t rows, cols;
    const int64_t *row_perm, *col_perm; /* one array, the ordering's own; col_perm is NULL where columns stay */
    int64_t components;                 /* connected parts of the graph; 0: not looked for */
    int64_t sr_count, ssr_count; /* bandk, groups: super-row s of B holds rows sr_ptr[s] .. sr_ptr[s+1]-1, and ... */
    const int64_t *sr_ptr, *ssr_ptr; /* ... ssr_ptr likewise super-rows; NULL where there are none */
    int64_t srs, ssrs;               /* sizes aimed at */
    double setup_us;                 /* time that spry_ordering_create or spry_ordering_create_groups took */
    int64_t sssr_count;              /* k = 4: as many groups of super-super-rows, */
    const int64_t *sssr_ptr;         /* group g holds super-super-rows sssr_ptr[g] .. sssr_ptr[g+1]-1; NULL: none */
    int64_t sssrs;                   /* size aimed at */
} spry_ordering_info;
SPRY_API spry_status spry_ordering_get_info(const spry_ordering *ordering, spry_ordering_info *info, spry_error *err);
typedef struct spry_ordering_stats {
    size_t struct_size;
    int64_t bandwidth_before, bandwidth_after, profile_before, profile_after; /* as in spry_matrix_stats */
    /* Sectors of x an entry, a sector being 4 numbers that lie together (32 bytes of f64): 32 rows that follow each
       other meet each of theirs once. From 0.25 / rows that share a column, where x is met in order, to 1, where it is
       scattered. 0 without entries. */
    double sectors_before, sectors_after;
} spry_ordering_stats;
/* Of A as it is and in that order, without making B. O(nnz). A has the sizes of the matrix that was ordered. */
SPRY_API spry_status spry_ordering_get_stats(const spry_ordering *ordering, spry_ordering_stats *figures,
                                             const spry_matrix *A, spry_error *err);
/* B: owned, sorted CSR, b_ij = a_row_perm[i],col_perm[j]; NULL: stays. Types, field, duplicates (and, where both sides
   move alike, symmetry) are A's. */
SPRY_API spry_status spry_matrix_permute(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                         const int64_t *row_perm, const int64_t *col_perm, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Formats and kernels
 * ------------------------------------------------------------------------------------------------ */

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

/* ------------------------------------------------------------------------------------------------ *
 * Measuring
 * ------------------------------------------------------------------------------------------------ */

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

#ifdef __cplusplus
}
#endif
#endif
